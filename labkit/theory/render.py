"""A derivation as Markdown or HTML: title, statements, formulas, and the machine's checks in folds.

LaTeX is written for MathJax; each formula of the HTML carries its plain text for a screen reader. The words stand in
`labkit.theory.words`.
"""

from __future__ import annotations

import html as escaping
import os
from collections.abc import Iterator

import sympy as sp

from labkit.theory.derivation import Checked, Derivation, Step
from labkit.theory.printers import Tex, plain, tex
from labkit.theory.rules import Cite, Evaluate, Rearrange, Substitute
from labkit.theory.rules_calculus import Antiderivative, InvertTransform
from labkit.theory.rules_sums import Telescope
from labkit.theory.words import LANGUAGES, WORDS, common, words_of

LEFT = 'style="text-align:left"'


def language() -> str:
    """The reader's language: `LABKIT_LANG`, Chinese unless it says "en"."""
    return "en" if os.environ.get("LABKIT_LANG") == "en" else "zh"


def _by(derivation: Derivation, place: int, found: Step, lang: str) -> str:
    """How the step follows, in words: the rule and the steps that it uses."""
    say = common(lang)
    numbers = {s.name: i + 1 for i, s in enumerate(derivation.steps)}
    rule = found.rule
    text = say["rule.move" if isinstance(rule, Rearrange) and rule.factor == 1 else f"rule.{rule.word}"]
    if isinstance(rule, Cite):
        title = words_of(rule.source.name, "title", lang)
        return say["by.cite"].format(title=title, step=_number(rule.source, rule.step))
    alone = not rule.symbolic or getattr(rule, "alone", False)
    into = [] if alone else [numbers[rule.of] if rule.of else place]
    used = [numbers[name] for name in rule.using]

    def named(steps: list[int]) -> str:
        return say["and"].join(say["step"].format(n=n) for n in dict.fromkeys(steps))

    if isinstance(rule, Substitute):
        return say["by.substitute"].format(used=named(used), into=named(into))
    return say["by"].format(rule=text, steps=named(into + used)) if into + used else text


def _number(derivation: Derivation, name: str) -> int:
    return next(i for i, s in enumerate(derivation.steps, 1) if s.name == name)


def _certificate(derivation: Derivation, found: Step, lang: str) -> tuple[str, str] | None:
    """What the machine was given to verify a sum or an integral with: words and LaTeX."""
    rule, printer, say = found.rule, Tex(derivation.assume), common(lang)
    if isinstance(rule, Telescope):
        return say["with.sum"], f"G = {printer.doprint(rule.g)}"
    if isinstance(rule, (Antiderivative, InvertTransform)):
        return say["with.integrate"], f"F = {printer.doprint(rule.f)}"
    if isinstance(rule, Rearrange) and rule.factor != 1:
        return say["with.factor"], printer.doprint(rule.factor)
    if isinstance(rule, Evaluate):
        pairs = (f"{printer.doprint(k)} = {printer.doprint(sp.sympify(v))}" for k, v in rule.values.items())
        return say["with.values"], r",\; ".join(pairs)
    return None


def checks(derivation: Derivation, found: Step, done: Checked, lang: str) -> str:
    """One sentence on what the machine did for a step."""
    say = common(lang)
    error = say["exact"] if done.error == 0 else say["error"].format(error=f"{done.error:.0e}")
    key = "proved" if done.symbolic else "premise"
    if isinstance(found.rule, Evaluate) and all(sp.sympify(v).is_number for v in found.rule.values.values()):
        key = "proved.at"  # the points are those of the step
    return say[key].format(points=done.points, error=error)


def _rows(derivation: Derivation, lang: str) -> Iterator[tuple[str, Step, str, str, tuple[str, str] | None]]:
    for place, (found, done) in enumerate(zip(derivation.steps, derivation.check(), strict=True)):
        statement = words_of(derivation.name, found.name, lang)
        by, said = _by(derivation, place, found, lang), checks(derivation, found, done, lang)
        yield statement, found, by, said, _certificate(derivation, found, lang)


def _language(lang: str) -> str:
    if lang not in LANGUAGES:
        raise ValueError(f"language: given {lang!r}, expected one of {', '.join(LANGUAGES)}")
    return lang


def _foreword(derivation: Derivation, lang: str) -> list[str]:
    """Under what conditions it holds, where it says so, and its source."""
    say = common(lang)
    lines = [say["source"].format(source=derivation.source)]
    if "conditions" in WORDS[derivation.name]:
        lines.insert(0, say["conditions"].format(conditions=words_of(derivation.name, "conditions", lang)))
    return lines


def _symbol_rows(derivation: Derivation, lang: str) -> list[tuple[str, str, str, str]]:
    printer = Tex(derivation.assume)
    rows = []
    for q in derivation.quantities:
        symbol = q.symbol if isinstance(q.symbol, sp.Basic) else None
        name = printer.doprint(symbol) if symbol is not None else q.symbol.__name__
        name = name.replace(r"\cdot", "t").replace(r"\circ", r"\beta")
        rows.append((name, q.zh if lang == "zh" else q.en, q.labkit, q.unit or "–"))
    return rows


def markdown(derivation: Derivation, lang: str) -> str:
    """The derivation as Markdown; it is checked first.

    Raises:
        Refused: a step does not hold.
        ValueError: there is no such language.
    """
    say = common(_language(lang))
    lines = [f"#### {words_of(derivation.name, 'title', lang)}", ""]
    lines += [part for line in _foreword(derivation, lang) for part in (line, "")]
    for number, (statement, found, by, said, given) in enumerate(_rows(derivation, lang), 1):
        lines += [f"**{number}.** {statement}", "", f"$${tex(derivation, found.claim)}$$", ""]
        lines += [
            f"<details><summary>{by}</summary>",
            "",
            *([f"{given[0]} ${given[1]}$", ""] if given else []),
        ]
        lines += [said, "", "</details>", ""]
    lines += [f"<details><summary>{say['symbols']}</summary>", ""]
    lines += [
        "| " + " | ".join(say[f"symbols.{c}"] for c in ("symbol", "what", "labkit", "unit")) + " |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| ${name}$ | {what} | `{labkit}` | {unit} |"
        for name, what, labkit, unit in _symbol_rows(derivation, lang)
    ]
    return "\n".join([*lines, "", "</details>", "", _summary(derivation, lang), ""])


def html(derivation: Derivation, lang: str) -> str:
    """The derivation as HTML for a notebook's output; it is checked first.

    Raises:
        Refused: a step does not hold.
        ValueError: there is no such language.
    """
    say, text = common(_language(lang)), escaping.escape
    title = text(words_of(derivation.name, "title", lang))
    parts = [
        f'<section class="labkit-derivation" lang="{"zh-Hans" if lang == "zh" else "en"}" aria-label="{title}">',
        f"<h4>{title}</h4>",
        *(f"<p>{text(line)}</p>" for line in _foreword(derivation, lang)),
        "<ol>",
    ]
    for statement, found, by, said, given in _rows(derivation, lang):
        formula = text(tex(derivation, found.claim))
        more = f"<p>{text(given[0])} ${text(given[1])}$</p>" if given else ""
        parts.append(
            f'<li style="margin-bottom:1em"><p>{text(statement)}</p>'
            f'<div role="math" aria-label="{text(plain(found.claim))}" style="overflow-x:auto;overflow-y:hidden">'
            f"$${formula}$$</div>"
            f"<details><summary>{text(by)}</summary>{more}<p>{text(said)}</p></details></li>"
        )
    head = "".join(
        f'<th scope="col" {LEFT}>{text(say[f"symbols.{c}"])}</th>'
        for c in ("symbol", "what", "labkit", "unit")
    )
    rows = "".join(
        f'<tr><th scope="row" {LEFT}>${text(name)}$</th><td {LEFT}>{text(what)}</td>'
        f"<td {LEFT}><code>{text(labkit)}</code></td><td {LEFT}>{text(unit)}</td></tr>"
        for name, what, labkit, unit in _symbol_rows(derivation, lang)
    )
    parts += [
        "</ol>",
        f"<details><summary>{text(say['symbols'])}</summary><table {LEFT}><thead><tr>{head}</tr></thead>",
        f"<tbody>{rows}</tbody></table></details>",
        f"<p>{text(_summary(derivation, lang))}</p>",
        "</section>",
    ]
    return "".join(parts)


def _summary(derivation: Derivation, lang: str) -> str:
    done = derivation.check()
    proved, worst = sum(c.symbolic for c in done), max(c.error for c in done)
    say = common(lang)
    error = say["exact"] if worst == 0 else say["error"].format(error=f"{worst:.0e}")
    return say["summary"].format(steps=len(done), proved=proved, premises=len(done) - proved, error=error)
