import ast
import importlib
import inspect
import os
import pickle
import re
import shutil
import subprocess
import sys
import tomllib
import typing
import warnings
from pathlib import Path

import pytest

import cellformer as cf

ROOT = Path(__file__).parents[1]


def test_no_class_or_alias_is_named_twice():
    places = {}
    for file in (ROOT / "src").rglob("*.py"):
        for statement in ast.parse(file.read_text("utf-8")).body:
            if isinstance(statement, ast.ClassDef):
                places.setdefault(statement.name, []).append(file.name)
            elif isinstance(statement, ast.AnnAssign) and "TypeAlias" in ast.dump(statement):
                places.setdefault(statement.target.id, []).append(file.name)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def errors_with_arguments():
    """All exceptions that are made of something else than a message."""
    for file in sorted((ROOT / "src").rglob("*.py")):
        for statement in ast.parse(file.read_text("utf-8")).body:
            if isinstance(statement, ast.ClassDef) and any(
                isinstance(base, ast.Name) and re.search("Error|Exception|Interrupt", base.id)
                for base in statement.bases
            ):
                module = ".".join(file.relative_to(ROOT / "src").with_suffix("").parts)
                found = getattr(importlib.import_module(module), statement.name)
                if "__init__" in vars(found):
                    yield found


def test_every_error_can_be_sent_to_another_process():
    """Or the process that waits for it learns nothing but that it could not be read."""
    given = {str: "told", int: 3, Path: Path("folder")}
    errors = list(errors_with_arguments())
    assert len(errors) > 4
    for kind in errors:
        hints = typing.get_type_hints(kind.__init__)
        hints.pop("return", None)
        error = kind(*(given.get(hint, ((3, "reason"),)) for hint in hints.values()))
        sent = pickle.loads(pickle.dumps(error))
        assert (str(sent), vars(sent)) == (str(error), vars(error)), kind


def test_no_public_name_is_that_of_a_folder():
    """An import of the folder would put it in the place of what is meant."""
    folders = {path.parent.name for path in (ROOT / "src/cellformer").glob("*/__init__.py")}
    assert folders.isdisjoint(cf.__all__)


def test_every_function_takes_paths_as_text_too():
    with warnings.catch_warnings(action="ignore"):  # of libraries, when they are imported
        functions = [getattr(cf, name) for name in cf.__all__]
    for function in filter(inspect.isfunction, functions):
        for name, parameter in inspect.signature(function).parameters.items():
            kinds = typing.get_args(parameter.annotation) or (parameter.annotation,)
            assert Path not in kinds or str in kinds, f"{function.__name__}: {name}"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The folder into which the package is installed, without asking the network.

    From the wheel that is made of the source archive, so that both hold what they should.
    """
    pytest.importorskip("setuptools", "77")
    work = tmp_path_factory.mktemp("wheel")
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, work / name, ignore=unwanted)
        else:
            shutil.copy(source, work)
    build = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    subprocess.run([sys.executable, "-c", build], cwd=work, check=True, capture_output=True)
    (archive,) = (work / "dist").iterdir()
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
         "--no-compile", "--target", "installed", str(archive)],
        cwd=work, check=True, capture_output=True,
    )  # fmt: skip
    return work / "installed"


def test_the_wheel_holds_every_file_of_the_package(installed):
    package = ROOT / "src" / "cellformer"
    files = {
        file.relative_to(package.parent).as_posix()
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {"cellformer/py.typed", "cellformer/__init__.pyi"} <= files
    assert any(name.startswith("cellformer/report/templates/") for name in files)
    assert any(name.startswith("cellformer/explorer/page/") for name in files)
    assert files <= {file.relative_to(installed).as_posix() for file in installed.rglob("*")}


def test_the_command_and_its_examples_work_from_the_wheel(installed, tmp_path):
    """The whole first page of the documentation is gone through by scripts/release."""
    words = [["examples"], ["lift", "examples/molecules.csv"]]
    done = subprocess.run(
        [sys.executable, "-P", "-c", "from cellformer.cli.main import main\n"
         f"for words in {words}:\n    assert main(words) == 0, words"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(installed)}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "examples/boiling.csv" in done.stdout


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_extras_that_errors_and_pages_name_exist():
    files = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    named = set()
    for file in files:
        for extras in re.findall(r"cellformer\[([a-z,]+)\]", file.read_text("utf-8")):
            named |= set(extras.split(","))
    assert {"explore", "xlsx"} <= named <= set(PROJECT["optional-dependencies"])


def test_other_ways_to_install_have_the_same_version_and_requirements():
    recipe = (ROOT / "packaging/recipe.yaml").read_text("utf-8")
    for text in (recipe, (ROOT / "CITATION.cff").read_text("utf-8")):
        assert f"version: {PROJECT['version']}\n" in text
    names = {"torch": "pytorch", "matplotlib": "matplotlib-base"}
    for requirement in PROJECT["dependencies"]:
        name, bound = re.fullmatch(r"([\w-]+)(?:\[\w+\])?(.*)", requirement).groups()
        assert f"    - {names.get(name, name)} {bound}\n" in recipe, name
    assert cf.__version__ == PROJECT["version"]


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's own use of it
def test_every_public_name_is_there_and_documented():
    for name in cf.__all__:
        value = getattr(cf, name)
        assert value.__doc__ or name in ("PRESETS", "Lifting"), name
