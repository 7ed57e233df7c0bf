import re

import numpy as np
import pandas as pd
import pytest

from browser import overflow, resize
from cell_runs import FACES, heights_run, kinds_run
from cellformer.cli.main import main
from cellformer.report.outcome import outcome_of
from cellformer.report.write import write_report
from cellformer.training.answers.trained_run import TrainedRun


@pytest.fixture(scope="module")
def heights(tmp_path_factory):
    return heights_run(tmp_path_factory.mktemp("heights"))


@pytest.fixture(scope="module")
def kinds(tmp_path_factory):
    return kinds_run(tmp_path_factory.mktemp("kinds"))


def test_the_report_counts_cells_and_numbers_them(heights):
    text = write_report(heights).read_text("utf-8")
    table = pd.read_csv(heights / "predictions.csv")
    test = table[table["part"] == "test"]
    (told,) = re.findall(r'id="cells">([^<]*)<', text)
    assert f"rank 0; with a known value there are {16 - len(table)} for training" in told
    assert f"{len(test)} for testing" in told
    listed = re.findall(r'data-label="cell">(\d+)<', text)
    assert sorted(map(int, listed)) == sorted(test["cell"])
    assert "graph 0, vertex" in text


@pytest.mark.parametrize("run", ["heights", "kinds"])
def test_complexes_are_colored_by_truth_prediction_and_error(run, request):
    text = write_report(request.getfixturevalue(run)).read_text("utf-8")
    section = text[text.index('id="colored"') : text.index('id="worst"')]
    for theme in ("light", "dark"):
        assert section.count(f'class="panels {theme}"') == section.count("<figure")
    for word in ("true", "predicted", "error"):
        assert f">{word}</text>" in section
    assert ("&lt;b&gt;flat" in section) == (run == "kinds")
    assert "<b>flat" not in text


def test_all_known_cells_are_true_in_the_picture_of_a_mesh_that_is_split_within(heights):
    outcome = outcome_of(TrainedRun.open(heights))
    truth = outcome.truth_of(0)
    assert truth.shape == (16, 1)
    assert np.isfinite(truth).all()
    part = outcome.parts["test"].of_complex(0)
    assert len(part.outputs) == 16
    assert np.isfinite(part.targets).sum() == outcome.labeled("test")


def test_a_class_is_judged_by_the_cell(kinds):
    outcome = outcome_of(TrainedRun.open(kinds))
    assert outcome.labeled("test") == 2 * len(FACES)
    assert outcome.parts["test"].cells.max() == len(FACES) - 1


def test_draw_colors_cells_from_the_command_line(heights, kinds, tmp_path, capsys):
    folder = heights.parent / "hill"
    labeled, single = tmp_path / "labeled.svg", tmp_path / "single.svg"
    for run, source, path in (
        (heights, folder, labeled),
        (heights, folder / "hill.off", single),
        (kinds, kinds.parent / "faces", tmp_path / "kinds.png"),
    ):
        words = ["draw", str(source), "--run", str(run), "--what", "predictions", "-o", str(path)]
        assert main(words) == 0
    assert labeled.stat().st_size > 2 * single.stat().st_size  # three panels, and one
    missing = ["--what", "predictions", "--of-output", "3", "-o", str(tmp_path / "x.png")]
    assert main(["draw", str(folder), "--run", str(heights), *missing]) == 1
    assert "there is no target 3; the targets are height" in capsys.readouterr().err


@pytest.mark.parametrize("dark", [False, True])
def test_no_table_is_cut_in_a_narrow_window(kinds, browser, dark):
    page = write_report(kinds).as_uri()
    for width in (420, 1280):
        resize(browser, width, dark=dark)
        browser.get(page)
        assert overflow(browser) <= 0
        wide = browser.execute_script(
            "return [...document.querySelectorAll('table')].map(t => t.getBoundingClientRect())"
            ".map(box => box.right - document.documentElement.clientWidth)"
        )
        assert max(wide) <= 0
        assert browser.execute_script(
            "return [...document.querySelectorAll('.scroll')].every("
            "e => e.scrollWidth <= e.clientWidth + 1)"
        )
        panels = browser.execute_script(
            "return [...document.querySelectorAll('.panels svg')].map(s => "
            "s.getBoundingClientRect()).filter(box => box.width).map(box => [box.left, box.width])"
        )
        assert len({round(left) for left, _ in panels}) == (1 if width == 420 else 3)
        assert min(width for _, width in panels) > 300  # letters can be read
        shown = [each.is_displayed() for each in browser.find_elements("css selector", ".dark svg")]
        assert set(shown) == {dark}
    used = browser.execute_script(
        "return document.getElementById('results').getBoundingClientRect().width"
    )
    assert used > 1150  # the whole width of the wide window


@pytest.mark.parametrize(
    ("limit", "pictures"), [("cell_pictures.MOST_LINES", 2), ("write.MOST_COLORED", 0)]
)
def test_large_complexes_are_pixels_and_the_largest_left_out(heights, monkeypatch, limit, pictures):
    monkeypatch.setattr(f"cellformer.report.{limit}", 10)
    text = write_report(heights).read_text("utf-8")
    assert text.count('class="panels') == pictures
    assert ("data:image/png" in text) == (pictures > 0)
