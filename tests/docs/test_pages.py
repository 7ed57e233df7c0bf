"""The code of the README and of every page of the documentation runs as it is written there.

Blocks of ``python`` and ``bash`` are run, in order, in one folder per page, which has the
package's ``examples``. What takes long or needs a cluster stands in blocks of ``console``: its
lines are not run, but their options must exist.
"""

import contextlib
import io
import itertools
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from cellformer.cli.main import build_parser, main

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = re.compile(r"[|<>;&`$]")
QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"")


def statements(block):
    """The commands of a block, long ones put together again, each with its here-document."""
    lines = iter(re.sub(r"\\\n\s*", " ", block).splitlines())
    found = []
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            document = re.search(r"<<'(\w+)'", line)
            rest = itertools.takewhile(document[1].__ne__, lines) if document else ()
            found.append("\n".join([line, *rest, document[1]]) if document else line)
    return found


def run_command(line):
    """Runs a line; a plain ``cellformer`` one within this process, which is much faster."""
    words = shlex.split(line, comments=True)
    if words[0] == "cellformer" and not SHELL.search(QUOTED.sub("", line).split("#")[0]):
        printed = io.StringIO()
        with warnings.catch_warnings(), contextlib.redirect_stderr(printed):
            warnings.simplefilter("default")  # as for a user
            try:
                status = main(words[1:])
            except SystemExit as ended:  # --help and the like
                status = ended.code
        assert not status, f"{line}\n{printed.getvalue()}"
        return
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def run_block(example):
    for line in statements(example.parsed):
        run_command(line)


def parse_block(example):
    """Options of commands that are not run."""
    for line in statements(example.parsed):
        if line.startswith("$ "):
            check_command(line.removeprefix("$ "))


def check_command(line):
    words = shlex.split(line.split(" | ")[0], comments=True)
    if "cellformer" in words:
        arguments = words[words.index("cellformer") + 1 :]
        if "--config" in arguments:  # a file that an earlier command would have made
            at = arguments.index("--config")
            del arguments[at : at + 2]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            build_parser(arguments).parse_args(arguments)
            return
        assert "--help" in arguments or "--print_config" in arguments, line
    for word, following in itertools.pairwise(words):
        if word == "-m" and following.startswith("benchmarks."):
            module = ROOT / following.replace(".", "/")
            assert module.with_suffix(".py").exists() or (module / "__main__.py").exists(), line
    if words[0].startswith(("scripts/", "benchmarks/")):
        assert (ROOT / words[0]).exists(), line


DOCUMENT = Sybil(
    parsers=[
        PythonCodeBlockParser(),
        CodeBlockParser(language="bash", evaluator=run_block),
        CodeBlockParser(language="console", evaluator=parse_block),
    ]
)


@pytest.fixture
def folder(tmp_path, no_parts_named, monkeypatch):
    shutil.copytree(ROOT / "src/cellformer/examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    # Shell commands find this checkout and this interpreter's environment.
    program = tmp_path / ".bin" / "cellformer"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cellformer "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    paths = [str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return tmp_path


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if "```python\n" in (text := page.read_text("utf-8"))
     or "```bash\n" in text or "```console\n" in text],
    ids=lambda page: str(page.relative_to(ROOT)),
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")  # PyG's own use of it
def test_the_code_of_a_page_runs_as_written(page, folder):
    for example in DOCUMENT.parse(page).examples():
        example.evaluate()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("cellformer train nci --model.widht 3", True),
        ("cellformer train nci --model.width 3", False),
        ("OMP_NUM_THREADS=1 cellformer predict run in.csv --intervall 0.9 | head", True),
        ("python -m benchmarks.nothing", True),
        ("scripts/nothing", True),
        ("scripts/docs", False),
    ],
)
def test_a_command_that_went_stale_is_found(line, fault):
    with pytest.raises(AssertionError) if fault else contextlib.nullcontext():
        check_command(line)
