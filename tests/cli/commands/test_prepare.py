import logging

import yaml

from cellformer.cli.main import main


def test_what_is_prepared_is_found_by_training_from_a_configuration_file(tmp_path, capsys, caplog):
    table = tmp_path / "molecules.csv"
    rows = "\n".join(f"{'C' * n}O,{n}.5" for n in range(1, 21))
    table.write_text(f"smiles,size\n{rows}\nC1CC,3\n")
    assert main(["prepare", str(table), "--data.encodings", "rwpe:2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("20 complexes with ")
    assert "row 20 has no complex" in told

    config = tmp_path / "best.yaml"
    values = {
        "data": {"source": str(table), "target": ["size"], "encodings": "rwpe:2"},
        "model": {"width": 8, "layers": 1, "heads": 1},
        "training": {"epochs": 1, "device": "cpu"},
    }
    config.write_text(yaml.safe_dump(values))
    caplog.set_level(logging.INFO)
    assert main(["train", "--config", str(config), "-o", str(tmp_path / "run")]) == 0
    assert "Preparing" not in capsys.readouterr().err


def test_what_one_machine_has_put_at_a_url_another_trains_from(tmp_path, capsys, monkeypatch):
    table, there = tmp_path / "molecules.csv", f"file://{tmp_path}/there"
    rows = "\n".join(f"{'C' * n}O,{n}.5" for n in range(1, 21))
    table.write_text(f"smiles,size\n{rows}\nC1CC,3\n")
    options = [
        "--target=size", "--data.encodings=rwpe:2", "--data.molecule_descriptors=none",
    ]  # fmt: skip
    training = [
        "--model.width=8", "--model.layers=1", "--model.heads=1", "--training.epochs=2",
        "--training.window=5",
    ]  # fmt: skip
    scores = []
    for machine, elsewhere in (("first", None), ("second", there), ("third", f"{there}-not")):
        monkeypatch.setenv("CELLFORMER_CACHE", str(tmp_path / machine))
        if elsewhere is None:
            assert main(["prepare", str(table), *options, "--to", there]) == 0
            assert f"CELLFORMER_REMOTE={there}" in capsys.readouterr().out
        else:
            monkeypatch.setenv("CELLFORMER_REMOTE", elsewhere)
        run = tmp_path / f"run of {machine}"
        assert main(["train", str(table), *options, *training, "-o", str(run)]) == 0
        assert ("Preparing" in capsys.readouterr().err) == (machine == "third")
        scores.append((run / "last.safetensors").read_bytes())
    assert len({*scores}) == 1
    assert [*(tmp_path / "second" / "remote" / "parts").glob("*-000000000")]
    assert not [*(tmp_path / "second" / "prepared").glob("*/*.npy")]


def test_nothing_is_trained_without_a_source(capsys):
    assert main(["train"]) == 1
    assert "give either a source" in capsys.readouterr().err
