import ast
import inspect
import shutil
import subprocess
import sys
import typing
import warnings
import zipfile
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
def wheel(tmp_path_factory):
    """What is installed from the index, built without asking the network."""
    pytest.importorskip("setuptools", "77")
    work = tmp_path_factory.mktemp("wheel")
    for name in ("src", "pyproject.toml", "README.md", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            unwanted = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(source, work / name, ignore=unwanted)
        else:
            shutil.copy(source, work)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation",
         "--wheel-dir", "dist", "."],
        cwd=work, check=True, capture_output=True,
    )  # fmt: skip
    (built,) = (work / "dist").glob("*.whl")
    return zipfile.ZipFile(built).namelist()


def test_the_wheel_holds_every_file_of_the_package(wheel):
    package = ROOT / "src" / "cellformer"
    files = {
        file.relative_to(package.parent).as_posix()
        for file in package.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {"cellformer/py.typed", "cellformer/__init__.pyi"} <= files
    assert any(name.startswith("cellformer/report/templates/") for name in files)
    assert any(name.startswith("cellformer/explorer/page/") for name in files)
    assert files <= set(wheel)


@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's own use of it
def test_every_public_name_is_there_and_documented():
    for name in cf.__all__:
        value = getattr(cf, name)
        assert value.__doc__ or name in ("PRESETS", "Lifting"), name
