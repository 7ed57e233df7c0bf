"""A table as Markdown and as LaTeX."""

import math

import pandas as pd

from cellformer.experiments.grid.scores import DECIMALS
from cellformer.experiments.grid.tables import Entry, Number, ScoreTable

SUPERSCRIPTS = {1: "¹", 2: "²", 3: "³"}
COLORS = {1: "ForestGreen", 2: "blue", 3: "orange"}  # those of the paper, each with its number
PACKAGES = r"% \usepackage{booktabs}, \usepackage[dvipsnames]{xcolor}, \usepackage{graphicx}"
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "≥": r"$\geq$",
    "<": r"$<$", ">": r"$>$", "|": r"$|$",
}  # fmt: skip


def markdown(table: ScoreTable) -> str:
    """A pipe table, with its notes below."""
    lines = [f"# {table.title}", "", _row(table.columns), "|" + " --- |" * len(table.columns)]
    lines += [_row([_plain(entry) for entry in row]) for row in table.rows]
    if not table.rows:
        lines += ["", "Nothing is finished yet."]
    return "\n".join([*lines, "", *(f"- {_cell(note)}" for note in table.notes)]) + "\n"


def latex(table: ScoreTable) -> str:
    """A ``table`` environment, which needs the packages that its first line names."""
    columns = list(map(escaped, table.columns))
    frame = pd.DataFrame([list(map(_typeset, row)) for row in table.rows], columns=columns)
    text = frame.style.hide(axis="index").to_latex(
        hrules=True,
        position_float="centering",
        caption=f"{escaped(table.title)}. {escaped(' '.join(table.notes))}",
        label=f"tab:cellformer_{table.name}",
        column_format="l" * len(columns),
    )
    fitted = text.replace(r"\begin{tabular}", "\\resizebox{\\textwidth}{!}{%\n\\begin{tabular}")
    return "\n".join([PACKAGES, fitted.replace(r"\end{tabular}", r"\end{tabular}}")])


def escaped(text: str) -> str:
    """Text that LaTeX prints as it stands."""
    return "".join(_SPECIAL.get(letter, letter) for letter in text)


def written(number: Number) -> str:
    """A number without its place."""
    if math.isnan(number.value):
        return "undefined"
    text = f"{number.value:{'+' if number.signed else ''}.{DECIMALS}f}"
    text = text.replace("-", "\N{MINUS SIGN}")
    if not math.isnan(number.deviation):
        text += f" ± {number.deviation:.{DECIMALS}f}"
    return text


def _plain(entry: Entry) -> str:
    if isinstance(entry, str):
        return entry
    text = written(entry)
    if entry.place is not None:
        text = f"**{text}**" if entry.place == 1 else text
        text += f" {SUPERSCRIPTS[entry.place]}"
    return f"{text} ({entry.remark})" if entry.remark else text


def _row(entries: "list[str] | tuple[str, ...]") -> str:
    return "| " + " | ".join(_cell(entry) for entry in entries) + " |"


def _cell(text: str) -> str:
    """Text that neither ends a cell nor is taken for HTML."""
    return text.replace("|", "\\|").replace("<", "&lt;")


def _typeset(entry: Entry) -> str:
    if isinstance(entry, str):
        return escaped(entry)
    text = escaped(written(entry)).replace("\N{MINUS SIGN}", "$-$")
    if entry.place is not None:
        inner = rf"\textbf{{{text}}}" if entry.place == 1 else text
        text = rf"\textcolor{{{COLORS[entry.place]}}}{{{inner}}}$^{entry.place}$"
    return f"{text} ({escaped(entry.remark)})" if entry.remark else text
