"""A derivation as Markdown or HTML: title, statements, formulas, and the machine's checks in folds.

LaTeX is written for MathJax; each formula of the HTML carries its plain text for a screen reader. The words stand in
`labkit.theory.words`.
"""

from __future__ import annotations

import html as escaping
import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from labkit.theory.algebra import is_positive
from labkit.theory.derivation import Checked, Derivation, Step
from labkit.theory.rules import Antiderivative, Cite, Claim, Evaluate, InvertTransform, Rearrange, Substitute, Telescope
from labkit.theory.words import LANGUAGES, common, words_of

RELATIONS = {"=": "=", "<=": r"\le"}
SHORT = 10**6  # denominators whose decimals end within six digits


def language() -> str:
    """The reader's language: `LABKIT_LANG`, Chinese unless it says "en"."""
    return "en" if os.environ.get("LABKIT_LANG") == "en" else "zh"


class Tex(LatexPrinter):
    """LaTeX that shows differences as the derivation assumes them: μ − λ stays so where λ < μ."""

    def __init__(self, assume: Any) -> None:
        super().__init__({"mul_symbol": None, "ln_notation": False})
        self._assume = dict(assume)

    def _flipped(self, part: sp.Expr) -> bool:
        return part.is_Add and is_positive(-part, self._assume)

    def _print_Add(self, expr: sp.Add, order: Any = None) -> str:  # noqa: N802
        terms = sorted(self._as_ordered_terms(expr, order=order), key=lambda t: t.could_extract_minus_sign())
        text = ""
        for term in terms:
            minus = term.could_extract_minus_sign()
            body = self._print(-term if minus else term)
            if (-term if minus else term).is_Add:
                body = rf"\left({body}\right)"
            text += (" - " if minus else " + ") + body if text else ("- " if minus else "") + body
        return text

    def _print_Mul(self, expr: sp.Mul) -> str:  # noqa: N802
        number, rest = expr.as_coeff_Mul()
        parts = sp.Mul.make_args(rest)
        flips = [p for p in parts if self._flipped(p.base if p.is_Pow and p.exp.is_Integer else p)]
        if not flips:
            return str(super()._print_Mul(expr))
        for part in flips:
            if not (part.is_Pow and part.exp % 2 == 0):
                number = -number
        turned = [self._turn(p) if p in flips else p for p in parts]
        kept = [*([] if abs(number) == 1 else [abs(number)]), *turned]
        body = kept[0] if len(kept) == 1 else sp.Mul(*kept, evaluate=False)
        return ("- " if number < 0 else "") + str(self._print(body) if len(kept) == 1 else super()._print_Mul(body))

    @staticmethod
    def _turn(part: sp.Expr) -> sp.Expr:
        return sp.Pow(-part.base, part.exp, evaluate=False) if part.is_Pow else -part

    def _print_Function(self, expr: Any, exp: Any = None) -> str:  # noqa: N802
        """Tails are named with a dot (and a ring) where their arguments go."""
        name = expr.func.__name__
        if r"\cdot" not in name:
            return str(super()._print_Function(expr, exp))
        for mark, argument in zip((r"\cdot", r"\circ"), expr.args, strict=False):
            name = name.replace(mark, self._print(argument))
        return name

    def _print_Derivative(self, expr: Any) -> str:  # noqa: N802
        [(variable, _)] = expr.variable_count
        sign = "d" if len(expr.expr.free_symbols) == 1 else r"\partial"
        return rf"\frac{{{sign}}}{{{sign} {self._print(variable)}}} {self._print(expr.expr)}"


def tex(derivation: Derivation, claim: Claim) -> str:
    """A claim in LaTeX."""
    printer = Tex(derivation.assume)
    sides = printer.doprint(claim.left), printer.doprint(claim.right)
    return f"{sides[0]} {RELATIONS[claim.relation]} {sides[1]}{_decimal(claim.right)}"


def _decimal(side: sp.Expr) -> str:
    """A number that is not whole as a decimal too: = where that is exact, ≈ with four digits where not."""
    if not side.is_number or side.is_Integer:
        return ""
    if side.is_Rational and SHORT % int(side.q) == 0:
        return f" = {Decimal(int(side.p)) / Decimal(int(side.q))}"
    return rf" \approx {float(side):.4g}"


def plain(claim: Claim) -> str:
    """A claim as text for a screen reader: sympy's own, LaTeX commands stripped from the names."""
    said = str(claim).replace(r"\mathrm", "").replace(r"\mathbb", "").replace(r"\overline", "mean ")
    for mark in ("\\", "{", "}"):
        said = said.replace(mark, "")
    return said.replace("**", "^").replace("<=", "≤")


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
    return say["proved" if done.symbolic else "premise"].format(points=done.points, error=error)


def _rows(derivation: Derivation, lang: str) -> Iterator[tuple[str, Step, str, str, tuple[str, str] | None]]:
    for place, (found, done) in enumerate(zip(derivation.steps, derivation.check(), strict=True)):
        statement = words_of(derivation.name, found.name, lang)
        by, said = _by(derivation, place, found, lang), checks(derivation, found, done, lang)
        yield statement, found, by, said, _certificate(derivation, found, lang)


def _language(lang: str) -> str:
    if lang not in LANGUAGES:
        raise ValueError(f"language: given {lang!r}, expected one of {', '.join(LANGUAGES)}")
    return lang


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
    lines = [f"#### {words_of(derivation.name, 'title', lang)}", "", say["source"].format(source=derivation.source), ""]
    for number, (statement, found, by, said, given) in enumerate(_rows(derivation, lang), 1):
        lines += [f"**{number}.** {statement}", "", f"$${tex(derivation, found.claim)}$$", ""]
        lines += [f"<details><summary>{by}</summary>", "", *([f"{given[0]} ${given[1]}$", ""] if given else [])]
        lines += [said, "", "</details>", ""]
    lines += [f"<details><summary>{say['symbols']}</summary>", ""]
    lines += ["| " + " | ".join(say[f"symbols.{c}"] for c in ("symbol", "what", "labkit", "unit")) + " |", "|---|---|---|---|"]
    lines += [f"| ${name}$ | {what} | `{labkit}` | {unit} |" for name, what, labkit, unit in _symbol_rows(derivation, lang)]
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
        f"<h4>{title}</h4>", f"<p>{text(say['source'].format(source=derivation.source))}</p>", "<ol>",
    ]  # fmt: skip
    for statement, found, by, said, given in _rows(derivation, lang):
        formula = text(tex(derivation, found.claim))
        more = f"<p>{text(given[0])} ${text(given[1])}$</p>" if given else ""
        parts.append(
            f"<li><p>{text(statement)}</p>"
            f'<div role="math" aria-label="{text(plain(found.claim))}" style="overflow-x:auto;overflow-y:hidden">'
            f"$${formula}$$</div>"
            f"<details><summary>{text(by)}</summary>{more}<p>{text(said)}</p></details></li>"
        )
    head = "".join(f'<th scope="col">{text(say[f"symbols.{c}"])}</th>' for c in ("symbol", "what", "labkit", "unit"))
    rows = "".join(
        f'<tr><th scope="row">${text(name)}$</th><td>{text(what)}</td><td><code>{text(labkit)}</code></td><td>{text(unit)}</td></tr>'
        for name, what, labkit, unit in _symbol_rows(derivation, lang)
    )
    parts += [
        "</ol>", f"<details><summary>{text(say['symbols'])}</summary><table><thead><tr>{head}</tr></thead>",
        f"<tbody>{rows}</tbody></table></details>", f"<p>{text(_summary(derivation, lang))}</p>", "</section>",
    ]  # fmt: skip
    return "".join(parts)


def _summary(derivation: Derivation, lang: str) -> str:
    done = derivation.check()
    proved, worst = sum(c.symbolic for c in done), max(c.error for c in done)
    say = common(lang)
    error = say["exact"] if worst == 0 else say["error"].format(error=f"{worst:.0e}")
    return say["summary"].format(steps=len(done), proved=proved, premises=len(done) - proved, error=error)
