import sys

import pytest

from cellformer.basics.parts.catalog import Listed
from cellformer.cli.main import main
from cellformer.model.catalogs import ATTENTIONS, READOUTS
from own_parts import TEXT

pytestmark = pytest.mark.usefixtures("no_parts_named")


def told(capsys, *words):
    """What is said, without the spaces, at which lines end."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 0
    return "".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("command", ["train", "lift", "draw", "reproduce", "tune"])
def test_help_knows_a_new_attention_from_its_line_in_the_list(command, capsys, monkeypatch):
    monkeypatch.setitem(ATTENTIONS.parts, "one-way", Listed("cellformer.model.plans.named:one_way"))
    assert "general-dense,one-way,package.module:Name" in told(capsys, command, "--help")


def test_help_knows_a_new_readout_from_its_line_in_the_list(capsys, monkeypatch):
    monkeypatch.setitem(
        READOUTS.parts, "largest", Listed("cellformer.model.readouts.readout:Largest")
    )
    assert "network,largest,package.module:Name" in told(capsys, "train", "--help-all")


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


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.setattr("cellformer.basics.parts.trust._allowed", {})
    monkeypatch.setattr(sys, "path", [*sys.path])
    written = tmp_path / f"listed_{tmp_path.name}.py"
    written.write_text(TEXT)
    yield written
    sys.modules.pop(written.stem, None)


def test_help_lists_the_parts_of_a_module_that_is_named_beside_each_option(file, capsys):
    for words in (
        ("--import", str(file)),
        (f"--import={file}",),
        ("--data.reader", f"{file}:read"),
    ):
        text = told(capsys, "train", *words, "--help-all")
        for beginning in (
            "cliques,{}:SmallRings,package", "slepians,{}:Degrees,package",
            "general-dense,{0}:near,{0}:Twice,package", "Choices:network,{}:Largest,package",
            "quantile,{0}:cubed,{0}:worst,package", "Choices:{}:read,package",
            "mcc,{0}:cubed,{0}:worst,package",
        ):  # fmt: skip
            assert beginning.format(file.stem) in text


def test_help_imports_nothing_that_is_not_named(file, tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert file.stem not in told(capsys, "train", "--help-all")
    config = tmp_path / "theirs.yaml"
    config.write_text(f"data: {{lifting: '{file.stem}:SmallRings'}}\n")
    assert file.stem not in told(capsys, "train", "--config", str(config), "--help-all")
    assert file.stem not in sys.modules


def test_a_module_that_does_not_exist_is_told_instead_of_help(capsys, monkeypatch):
    monkeypatch.setattr("cellformer.basics.parts.trust._allowed", {})
    assert main(["train", "--import", "nowhere.parts", "--help"]) == 1
    assert "there is no module 'nowhere.parts'" in capsys.readouterr().err
