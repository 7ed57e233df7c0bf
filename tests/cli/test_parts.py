import sys

import pytest

from cellformer.basics.parts.catalog import Listed
from cellformer.cli.main import main
from cellformer.model.catalogs import ATTENTIONS, READOUTS


def told(capsys, *words):
    """What is said, without the spaces, at which lines end."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["train", "lift", "draw", "reproduce", "tune"])
def test_help_knows_a_new_attention_from_its_line_in_the_list(command, capsys, monkeypatch):
    monkeypatch.setitem(ATTENTIONS.parts, "one-way", Listed("cellformer.model.plans:one_way"))
    assert "general-dense,one-way,package.module:Name" in told(capsys, command, "--help")


def test_help_knows_a_new_readout_from_its_line_in_the_list(capsys, monkeypatch):
    monkeypatch.setitem(READOUTS.parts, "largest", Listed("cellformer.model.readout:Largest"))
    assert "network,largest,package.module:Name" in told(capsys, "train", "--help")


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (("lift", "nci", "--attention", "pairwise-mixt"), "'pairwise-mixed'"),
        (("draw", "-o", "x.png", "--attention", "pairwise-spares"), "'pairwise-sparse'"),
        (("train", "nci", "--attention", "pairwise-mixt"), "'pairwise-mixed'"),
        (("train", "nci", "--model.readout", "netwrok"), "'network'"),
    ],
)
def test_a_misspelt_part_gets_the_nearest_right_one(words, hint, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert f"{words[-1]!r}; did you mean {hint}?" in error
    assert "package.module:Name" in error


def test_so_does_one_of_several(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "--attentions", "general-sparse", "general-dens"])
    assert ended.value.code == 2
    assert "'general-dens'; did you mean 'general-dense'?" in capsys.readouterr().err


def test_the_diagram_of_an_attention_of_one_s_own_is_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.basics.parts.trust._allowed", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    file = tmp_path / f"drawn_{tmp_path.name}.py"
    file.write_text("import cellformer as cf\n\n\ndef solid():\n    return cf.general_dense(3)\n")
    picture = tmp_path / "diagram.png"
    words = ["--what", "diagram", "--attention", f"{file}:solid"]
    assert main(["draw", "-o", str(picture), *words]) == 0
    assert picture.exists()
    sys.modules.pop(file.stem)
