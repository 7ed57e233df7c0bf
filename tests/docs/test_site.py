"""The site builds without a warning, and all its links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from site_links import faults

ROOT = Path(__file__).parents[2]


def test_the_site_builds_without_warnings_or_dead_links(tmp_path):
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "-n", "--keep-going", "-E", "-q", "-b", "html",
         "-d", str(tmp_path / "doctrees"), str(ROOT / "docs"), str(site)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert faults(site) == []
    styles = "".join(file.read_text("utf-8") for file in site.rglob("*.css"))
    assert not re.search(r"(@import|url\()[\s\"']*(https?:)?//", styles)
    commands = (site / "commands.html").read_text("utf-8")
    assert "cellformer predict" in commands
    assert "% made" not in "".join(file.read_text("utf-8") for file in site.rglob("*.html"))


def test_the_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)", text)
    inside = [link for link in links if "://" not in link]
    assert "docs/images/cells.png" in inside
    assert [link for link in inside if not (ROOT / link).exists()] == []


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ('<a href="other.html#here">x</a>', None),
        ('<a href="#own"><p id="own">x</a>', None),
        ('<a href="other.html#gone">x</a>', "no anchor"),
        ('<a href="gone.html">x</a>', "there is no"),
        ('<img src="gone.svg">', "there is no"),
        ('<script src="https://example.org/x.js"></script>', "loads"),
        ('<img src="//example.org/x.png">', "loads"),
        ('<a href="https://example.org">x</a>', None),
    ],
)
def test_a_dead_link_is_found(body, fault, tmp_path):
    (tmp_path / "page.html").write_text(body)
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>')
    found = faults(tmp_path)
    assert (fault in found[0]) if fault else found == []
