"""The page of licenses names every package that is installed, with what it says of itself."""

import importlib
import tomllib
from email.message import Message
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs" / "extension")
        yield importlib.import_module("licenses")


def test_every_dependency_is_listed_with_its_version_and_license(page):
    rows = [line.split(" | ") for line in page.licenses().splitlines()[2:]]
    listed = {name.removeprefix("| ").lower().replace("_", "-"): rest for name, *rest in rows}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for text in project["dependencies"]:
        name = Requirement(text).name
        version, words, why = listed[name.lower()]
        assert version == metadata.version(name)
        assert words
        assert why == "always |"
    assert listed["starlette"][2] == "extra `explore` |"
    assert "markupsafe" in listed  # which jinja2 needs
    assert not {"pytest", "sphinx"} & set(listed)


@pytest.mark.parametrize(
    ("headers", "words"),
    [
        ([("License-Expression", "MIT"), ("License", "see file")], "MIT"),
        ([("Classifier", "License :: OSI Approved :: BSD License")], "BSD License"),
        ([("Classifier", "License :: OSI Approved"), ("License", "Apache 2.0\nall of it")],
         "Apache 2.0"),
        ([], "see its own files"),
    ],
)  # fmt: skip
def test_the_license_is_what_a_package_says_in_a_few_words(page, headers, words):
    told = Message()
    for name, value in headers:
        told[name] = value
    assert page.license_of(told) == words
