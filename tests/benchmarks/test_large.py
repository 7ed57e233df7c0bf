import sys
from itertools import islice

import pytest
from benchmarks.enumerated import enumerated
from benchmarks.large import Row, picture, sizes_up_to
from benchmarks.watched import environment, watch
from rdkit import Chem

BASES = ["CCO", "OCC", "C[C@H](N)c1ccccc1", "c1ccncc1"]


def test_molecules_are_enumerated_each_once_and_the_same_every_time():
    found = [*islice(enumerated(BASES), 40)]
    texts = [text for text, _ in found]
    assert set(texts[:3]) == {Chem.CanonSmiles(base) for base in BASES}
    assert len({Chem.CanonSmiles(text) for text in texts}) == 40
    assert texts == [text for text, _ in islice(enumerated(BASES), 40)]
    assert texts != [text for text, _ in islice(enumerated(BASES, seed=1), 40)]
    assert dict(found)["CCO"] == pytest.approx(1 / 3)


def test_enumeration_ends_where_no_molecule_has_a_change_left():
    assert len([*enumerated(["CO"])]) == 6  # itself, and one for each group


def test_a_command_is_watched_with_what_it_starts(tmp_path):
    program = (
        "import subprocess, sys, time; kept = b'x' * 60_000_000; "
        "subprocess.run([sys.executable, '-c', 'import time; kept = b\"x\" * 90_000_000;"
        "time.sleep(.5)'])"
    )
    found = watch([sys.executable, "-c", program], environment(tmp_path))
    assert 60e6 < found.main_bytes < 90e6 < found.worker_bytes < 120e6
    assert round(found.seconds, 2) >= found.samples[-1][0] > 0.3
    with pytest.raises(SystemExit, match="ValueError: no"):
        watch([sys.executable, "-c", "raise ValueError('no')"], environment(tmp_path))


def test_every_size_is_a_line_of_each_step(tmp_path):
    assert sizes_up_to(10_000) == [10_000]
    assert sizes_up_to(400_000) == [10_000, 100_000, 400_000]
    rows = [
        Row("", step, size, 1.0, 1.0, 1.0, 1, most, 0, 9, [(0.1, 4, 0), (1.0, most, 0)], 1)
        for step, most in (("prepare", 5_000_000), ("train", 50_000_000))
        for size in (10_000, 100_000)
    ]
    axes = picture(rows).axes
    assert [ax.get_title() for ax in axes] == ["prepare", "train"]
    assert axes[0].get_ylim()[0] == 0
    assert 50 < axes[0].get_ylim()[1] == axes[1].get_ylim()[1] < 60
    assert [line.get_label() for line in axes[0].lines] == ["10,000", "100,000"]
