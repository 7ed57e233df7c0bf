from cellformer.cli.main import main


def test_examples_are_copied_and_nothing_of_the_users_is_replaced(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["examples"]) == 0
    told = capsys.readouterr().out.split()
    assert told == [f"examples/{name}" for name in
                    ("boiling.csv", "first-steps.ipynb", "molecules.csv")]  # fmt: skip
    (tmp_path / "examples/molecules.csv").unlink()
    assert main(["examples"]) == 0  # what is missing
    assert (tmp_path / "examples/molecules.csv").read_text().startswith("name")
    (tmp_path / "examples/boiling.csv").write_text("mine")
    (tmp_path / "examples/molecules.csv").unlink()
    assert main(["examples"]) == 1
    assert "examples/boiling.csv is not the example" in capsys.readouterr().err
    assert (tmp_path / "examples/boiling.csv").read_text() == "mine"
    assert not (tmp_path / "examples/molecules.csv").exists()
    assert main(["examples", "else where"]) == 0
    assert (tmp_path / "else where/boiling.csv").exists()
