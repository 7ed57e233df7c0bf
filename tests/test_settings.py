"""What GitHub and pre-commit read is of the form that they read, and starts what there is."""

from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]


def read(file):
    return yaml.safe_load((ROOT / file).read_text("utf-8"))


def test_public_ci_runs_the_command_that_contributors_run_on_supported_pythons():
    (job,) = read(".github/workflows/ci.yml")["jobs"].values()
    runs = [step["run"] for step in job["steps"] if "run" in step]
    assert runs == ["scripts/test"]
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    for python in job["strategy"]["matrix"]["python"]:
        assert f"Programming Language :: Python :: {python}" in text


def test_pre_commit_runs_the_checks_of_the_test_command():
    (repository,) = read(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    told = (ROOT / "scripts/test").read_text("utf-8").replace('"$bin/', "").replace('"', "")
    for hook in repository["hooks"]:
        folder, program = hook["entry"].split("/bin/")
        assert folder == ".venv-test"
        assert program in told, hook["id"]


@pytest.mark.parametrize("name", ["problem", "idea"])
def test_forms_for_issues_have_what_github_demands(name):
    form = read(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert {"name", "description", "body"} <= set(form)
    for item in form["body"]:
        assert item["type"] == "textarea"
        assert item["attributes"]["label"]
