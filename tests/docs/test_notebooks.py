"""The cells of the notebooks run in order, and what a cell ends with can be shown."""

import ast
import json
import shutil
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "src/cellformer/examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
FORMS = ("_repr_html_", "_repr_svg_")


def run_cell(source, names, where):
    """Runs a cell as a notebook does; the picture or text of its last expression."""
    *statements, last = ast.parse(source).body
    shown = isinstance(last, ast.Expr)
    body = ast.Module(statements if shown else [*statements, last], [])
    exec(compile(body, where, "exec"), names)
    if not shown:
        return None
    value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    forms = (getattr(value, form, None) for form in FORMS)
    return next((form() for form in forms if form is not None), repr(value))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_from_its_first_cell_to_its_last(path, tmp_path, monkeypatch):
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    monkeypatch.chdir(tmp_path / "examples")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)  # what it has found already
    cells = json.loads(path.read_text("utf-8"))["cells"]
    names = {}
    shown = [
        run_cell("".join(cell["source"]), names, f"{path.name}, cell {number}")
        for number, cell in enumerate(cells)
        if cell["cell_type"] == "code"
    ]
    assert [value for value in shown if value and value.startswith("<svg")]
    assert [value for value in shown if value and "<table" in value]


def test_notebooks_are_kept_without_their_outputs():
    assert NOTEBOOKS
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text("utf-8"))["cells"]:
            assert not cell.get("outputs"), path.name
            assert cell.get("execution_count") is None
