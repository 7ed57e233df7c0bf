"""The reference of the public names: what there is, and signatures as the source writes them."""

import ast
import dataclasses
import functools
import inspect
import textwrap
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.ext.napoleon import GoogleDocstring
from sphinx.pycode import ModuleAnalyzer

import cellformer

STUB = Path(cellformer.__file__).with_suffix(".pyi")
ADDED = "set_fit_request, set_predict_request, set_score_request"  # to estimators, by scikit-learn
# Its docstring tells the parameters.
BASE = "cellformer.training.sklearn_estimators._CellularEstimator"


def names() -> dict[str, dict[str, str]]:
    """By package, the public names that the stub exports and the module of each."""
    found: dict[str, dict[str, str]] = {}
    for statement in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module:
            package = statement.module.split(".")[0]
            for alias in statement.names:
                found.setdefault(package, {})[alias.name] = f"cellformer.{statement.module}"
    return found


def package(name: str) -> str:
    """The classes, functions and values of one package, for autodoc to describe."""
    lines = ["```{eval-rst}", ".. currentmodule:: cellformer", ""]
    for public, module in sorted(names()[name].items(), key=lambda item: item[0].lower()):
        value = getattr(cellformer, public)
        if inspect.isclass(value):
            hidden = ADDED
            if dataclasses.is_dataclass(value):  # the signature has them
                hidden = ", ".join(field.name for field in dataclasses.fields(value))
            lines += [f".. autoclass:: {public}", "   :members:", f"   :exclude-members: {hidden}"]
            if BASE in [f"{base.__module__}.{base.__name__}" for base in value.__bases__]:
                told = GoogleDocstring(inspect.cleandoc(value.__bases__[-1].__doc__)).lines()
                lines += ["", *(f"   {line}" for line in told)]
        elif inspect.isfunction(value):
            lines += [f".. autofunction:: {public}"]
        else:
            told = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", public), [])
            lines += [f".. py:data:: {public}", "", *(f"   {line}" for line in told)]
        lines += [""]
    return "\n".join([*lines, "```"])


def as_written(
    app: Sphinx, what: str, name: str, value: object, options: object, signature: str, returns: str
) -> tuple[str, str | None] | None:
    """The signature as the source has it: aliases by their names, shapes in full."""
    if what not in ("class", "function", "method"):
        return None
    parsed = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]
    if isinstance(parsed, ast.FunctionDef):
        return _of_function(parsed)
    assert isinstance(parsed, ast.ClassDef)
    for statement in parsed.body:
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            return _of_function(statement)[0], None
    if dataclasses.is_dataclass(value):
        fields = [line for line in parsed.body if isinstance(line, ast.AnnAssign)]
        return f"({', '.join(map(_field, fields))})", None
    return None


def _of_function(function: ast.FunctionDef) -> tuple[str, str | None]:
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        argument.annotation = _unquoted(argument.annotation)
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        del arguments.args[0]
    returns = _unquoted(function.returns)
    return f"({ast.unparse(arguments)})", None if returns is None else ast.unparse(returns)


def _field(field: ast.AnnAssign) -> str:
    told = ast.unparse(field.target) + ": " + ast.unparse(field.annotation)
    default = field.value
    if default is None:
        return told
    if isinstance(default, ast.Call) and ast.unparse(default.func) == "field":
        words = {word.arg: ast.unparse(word.value) for word in default.keywords}
        return f"{told} = {words.get('default') or words['default_factory'] + '()'}"
    return f"{told} = {ast.unparse(default)}"


def _unquoted(annotation: ast.expr | None) -> ast.expr | None:
    """A forward reference without its quotes."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return ast.parse(annotation.value, mode="eval").body
    return annotation


@functools.cache
def _defined() -> frozenset[str]:
    """Every name that the source defines anywhere, and those of its files."""
    found = set()
    for file in STUB.parent.rglob("*.py"):
        found.add(file.stem)
        for statement in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                found.add(statement.name)
            elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                found.add(statement.target.id)
    return frozenset(found)


def internal(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Node
) -> nodes.Node | None:
    """A docstring may name what is not public, and so has no place to go to; but it must exist."""
    known = node["reftype"] == "obj" and _defined().issuperset(node["reftarget"].split("."))
    return content if known else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", as_written)
    app.connect("missing-reference", internal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
