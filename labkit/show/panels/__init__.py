"""Panels: a few sliders over one figure.

A panel is a function from parameters to a picture and its words; `panel.py` says what one is and gives its
still form, `widget.py` puts it on the page with sliders (the only file here that imports widgets), the
others are panels.
"""
