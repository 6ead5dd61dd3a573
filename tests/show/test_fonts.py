import matplotlib.font_manager
import pytest
from fontTools.ttLib import TTFont

from labkit.show.fonts import CHARACTERS, FAMILY, FONT, build, covered

LICENCE = FONT.with_name("OFL.txt")


def test_every_visible_chinese_character_is_in_the_font():
    gaps = build.missing()
    assert not gaps, f"run `python -m labkit.show.fonts.build`: {gaps}"


def test_the_list_of_characters_is_what_the_font_holds():
    assert {chr(code) for code in TTFont(FONT).getBestCmap()} == covered()


def test_a_new_character_is_found_by_name(tmp_path):
    folder = tmp_path / "notebooks"
    folder.mkdir()
    (folder / "new.ipynb").write_text(
        '{"cells": [{"source": ["龘 and 靐"]}]}', encoding="utf-8", newline="\n"
    )
    assert build.missing(tmp_path)["new.ipynb"] == "靐龘"


def test_the_font_is_small_and_has_a_name_of_its_own():
    assert FONT.stat().st_size < 400_000
    assert matplotlib.font_manager.FontProperties(fname=FONT).get_name() == FAMILY
    names = {str(record) for record in TTFont(FONT)["name"].names if record.nameID in (1, 4, 6, 16)}
    assert not any("Noto" in name for name in names)


def test_licence_and_changes_lie_beside_it():
    licence = LICENCE.read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert licence.startswith("Copyright 2014-2021 Adobe")
    assert "Noto Sans SC" in FONT.with_name("README.md").read_text(encoding="utf-8")


def test_docstrings_and_keys_are_not_visible_but_labels_are():
    source = '"""文"""\ndef f():\n    """档"""\n    return "标签"\n'
    assert "".join(build.literals(source)) == "标签"


def test_building_twice_gives_the_same_bytes():
    source = pytest.importorskip(
        "pylopdf_fonts_zh_cn", reason="the package with the original font is not here"
    )
    assert source
    characters = CHARACTERS.read_text(encoding="utf-8").replace("\n", "")
    first, kept = build.subset(build.packaged_source(), characters)
    second, _ = build.subset(build.packaged_source(), characters)
    assert first == second
    assert kept == characters
