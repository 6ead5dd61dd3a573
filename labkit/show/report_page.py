"""A report as one HTML page that needs nothing else: no script, no network, every text from outside escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from labkit.show.picture import Picture
from labkit.show.report_layout import Section
from labkit.show.report_numbers import printable
from labkit.show.text import language, t

CSS = """
:root { color-scheme: light dark; --ink: #1a1a1a; --faint: #555; --paper: #fff; --line: #c9c9c9; --band: #f4f4f2; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ececec; --faint: #b4b4b4; --paper: #16181b; --line: #4a4d52; --band: #202327; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 74rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.6 system-ui, "Noto Sans SC", "PingFang SC", "Microsoft YaHei", "Noto Sans CJK SC", sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .3rem; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.6rem 0 .8rem; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
p.faint { color: var(--faint); margin: .2rem 0; overflow-wrap: anywhere; }
nav ul { columns: 2; padding-left: 1.2rem; margin: .4rem 0; }
nav a { color: inherit; }
figure { margin: 0 0 1.6rem; }
figure img { display: block; max-width: 100%; height: auto; border-radius: 6px; background: #fff; }
section { margin: 0 0 2.2rem; }
.table { overflow-x: auto; }
.table:focus-visible { outline: 2px solid #0072b2; outline-offset: 2px; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; line-height: 1.4; }
caption { text-align: left; white-space: nowrap; font-weight: 600; font-size: 1.02rem; padding: .3rem 0 .5rem; }
th, td { padding: .36rem .8rem; text-align: right; vertical-align: baseline; border-bottom: 1px solid var(--line); }
th:first-child, td.words, thead th.words { text-align: left; }
thead th { background: var(--band); font-weight: 600; vertical-align: bottom; }
tbody th { font-weight: 500; min-width: 8rem; }
th, td { max-width: 22rem; overflow-wrap: break-word; white-space: nowrap; }
tbody th, td.words { white-space: normal; word-break: keep-all; }
section p { color: var(--faint); font-size: .92rem; max-width: 58rem; margin: .5rem 0 0; }
@media print {
  :root { --ink: #000; --faint: #333; --paper: #fff; --line: #999; --band: #eee; }
  body { padding: 0; max-width: none; font-size: 9.5pt; }
  nav { display: none; }
  .table { overflow: visible; }
  table { font-size: 8pt; } th, td { padding: .2rem .4rem; }
  figure, tr { break-inside: avoid; } h2, caption { break-after: avoid; }
}
@media (max-width: 40rem) {
  nav ul { columns: 1; } body { padding: 1rem .8rem 3rem; }
  figure { overflow-x: auto; } figure img { min-width: 40rem; }  /* or its words are too small to read */
}
"""


def page(
    title: str, lead: Sequence[str], pictures: Sequence[tuple[str, Picture]], sections: Sequence[Section]
) -> str:
    """The whole page, in the reader's language."""
    lang = {"zh": "zh-CN", "en": "en"}[language()]
    shown = html.escape(title)
    places = _places(sections)
    contents = [(f"figure-{key}", _title(picture)) for key, picture in pictures]
    contents += [(place, section.table.caption) for place, section in zip(places, sections, strict=True)]
    links = "".join(f'<li><a href="#{key}">{html.escape(text)}</a></li>' for key, text in contents)
    figures = "".join(
        f'<figure id="figure-{key}" tabindex="0">{picture.html()}</figure>' for key, picture in pictures
    )
    tables = "".join(_section(place, section) for place, section in zip(places, sections, strict=True))
    said = "".join(f'<p class="faint">{html.escape(line)}</p>' for line in lead)
    return printable(
        f'<!DOCTYPE html>\n<html lang="{lang}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{shown}</title><style>{CSS}</style></head>\n<body><header><h1>{shown}</h1>{said}</header>\n"
        f'<nav aria-label="{html.escape(t("report.contents"))}"><ul>{links}</ul></nav>\n'
        f"<main><h2>{html.escape(t('report.figures'))}</h2>\n{figures}\n"
        f"<h2>{html.escape(t('report.tables'))}</h2>\n{tables}</main></body></html>\n"
    )


def _places(sections: Iterable[Section]) -> list[str]:
    """A name for each to link to; those that come once a run are numbered."""
    seen: dict[str, int] = {}
    out = []
    for section in sections:
        seen[section.key] = seen.get(section.key, 0) + 1
        out.append(section.key if seen[section.key] == 1 else f"{section.key}-{seen[section.key]}")
    return out


def _title(picture: Picture) -> str:
    return picture.texts[0].get_text()


def _section(place: str, section: Section) -> str:
    table = section.table
    words = [_in_words(row[i] for row in table.rows if i < len(row)) for i in range(len(table.head))]
    head = "".join(
        f'<th scope="col"{_class(w)}>{html.escape(c)}</th>' for c, w in zip(table.head, words, strict=True)
    )
    rows = []
    for first, *rest in table.rows:
        cells = "".join(
            f"<td{_class(w)}>{html.escape(c)}</td>" for c, w in zip(rest, words[1:], strict=False)
        )
        rows.append(f'<tr><th scope="row">{html.escape(first)}</th>{cells}</tr>')
    caption = html.escape(table.caption)
    note = f"<p>{html.escape(section.note)}</p>" if section.note else ""
    # A table wider than the page scrolls, also by keyboard.
    return (
        f'<section id="{place}"><div class="table" tabindex="0" role="region" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        f"{note}</section>\n"
    )


def _class(words: bool) -> str:
    return ' class="words"' if words else ""


def _in_words(cells: Iterable[str]) -> bool:
    """A column of words stands to the left; one of numbers, of which some may be undefined, to the right."""
    said = [cell for cell in cells if cell not in ("–", t("report.undefined"))]
    return bool(said) and not any(cell.lstrip("≥ -")[:1].isdigit() for cell in said)
