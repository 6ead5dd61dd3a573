import re
import string
from pathlib import Path

import pytest

from labkit.show import text

SHOW = Path(text.__file__).parent


def fields(template):
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("key", text.STRINGS)
def test_both_languages_take_the_same_values(key):
    entry = text.STRINGS[key]
    assert set(entry) == set(text.LANGUAGES)
    assert fields(entry["zh"]) == fields(entry["en"])


@pytest.mark.parametrize("key", text.STRINGS)
def test_english_is_free_of_chinese(key):
    assert not re.search(r"[\u3000-\u9fff\uff00-\uffef]", text.STRINGS[key]["en"])


def _read(widget):
    return (SHOW / widget / "widget.py").read_text(encoding="utf-8")


def test_every_key_is_used_and_every_used_key_is_there():
    files = [*SHOW.rglob("*.py"), *(SHOW.parent / "grade").rglob("*.py")]
    sources = "\n".join(
        p.read_text(encoding="utf-8") for p in files if p.name not in ("text.py", "grade_words.py")
    )
    used = set(re.findall(r"""["']([a-z_]+(?:\.[a-z_0-9]+)+)["']""", sources))
    asked = set(re.findall(r'\bt\(\s*"([a-z_.0-9]+)"', sources))
    used |= {f"hardware.{key}" for key in re.findall(r'\("([a-z]+)", ', sources)}
    for widget in ("panels", "predict"):  # the words that a widget hands to its script, as a tuple of keys
        words = re.search(r"^WORDS = \((.*?)^\)|^WORDS = \((.*?)\)$", _read(widget), re.DOTALL | re.MULTILINE)
        room = widget.removesuffix("s")
        used |= {f"{room}.{key}" for key in re.findall(r'"([a-z]+)"', words[0])}
    used |= {f"predict.{key}" for key in ("question", "guess", "computed", "error")}  # a table's head
    families = re.findall(r"""\bf"([a-z_.]+\.)\{|'([a-z_.]+\.)' ~""", sources)
    for prefix in map("".join, families):  # a family, of which one is picked at run time
        used |= {key for key in text.STRINGS if key.startswith(prefix)}
    assert set(text.STRINGS) - used == set()
    assert asked - set(text.STRINGS) == set()


def test_a_missing_key_is_named():
    with pytest.raises(KeyError, match=r"nowhere\.title"):
        text.t("nowhere.title")


def test_language_comes_from_the_environment(monkeypatch):
    monkeypatch.setenv("LABKIT_LANG", "en")
    assert text.t("axis.seat", seat=1) == "Seat 1"
    monkeypatch.setenv("LABKIT_LANG", "nonsense")
    assert text.t("axis.seat", seat=1) == "座位 1"
    assert text.t("axis.seat", lang="en", seat=1) == "Seat 1"
