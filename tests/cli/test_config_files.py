"""Configuration files that are none, as campaigns found them: each is told in one line."""

import pytest

from cellformer.cli.main import main


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "c.yaml: fields are needed, as in {training: {epochs: 5}}"),
        (b"- 1\n", "c.yaml: fields are needed"),
        (b"a: b: c\n", "c.yaml: not to be read as YAML: mapping values are not allowed"),
        (b"{" * 3000, "c.yaml: not to be read as YAML: it is nested too deeply"),
        (b"training: {seed: 1}\nmodel: {}\ntraining: {seed: 2}\n",
         "c.yaml: not to be read as YAML: 'training' is there twice, line 3; keep one"),
        (b"model: {width: 8, width: 16}\n", "'width' is there twice, line 1; keep one"),
        (b"model: \xe7\n", "c.yaml: its byte 7 is not of UTF-8; save it as UTF-8"),
        (b"training: {epochs: 1", "c.yaml: not to be read as YAML: while parsing a flow mapping, "
         "line 1, column 11; expected ',' or '}', but got the end, line 1, column 21\n"),
        (b"1: 2\n", "c.yaml: the name of a field is 1, but all are texts"),
        (b"model: {dropout: yes}\n", "model.dropout: expected a number, got true"),
        (b"model: null\n", "c.yaml: model has fields, so it cannot be null; leave it out"),
        (b"training: [1]\n", "c.yaml: training has fields, so it cannot be [1]; leave it out"),
        (b"model: {heads: null}\n", "c.yaml: model.heads cannot be null; leave it out"),
        (b"data: {encodings: null}\n", "c.yaml: data.encodings cannot be null; leave it out"),
        (b"attention: null\n", "c.yaml: attention cannot be null; leave it out"),
        (b"target: null\n", "c.yaml: target cannot be null; leave it out"),
        (b"model: {width: 8.5}\n", "c.yaml: model.width: expected a whole number, got 8.5"),
        (b"model: {width: 7}\n", "width (7) must be a multiple of heads (8)"),
    ],
)  # fmt: skip
def test_a_file_that_is_no_configuration_is_told_in_a_line(raw, words, tmp_path, capsys,
                                                           monkeypatch):  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.yaml").write_bytes(raw)
    try:
        status = main(["train", "nci", "--config", "c.yaml", "-o", "run"])
    except SystemExit as ended:
        status = ended.code
    assert status == 2
    told = capsys.readouterr().err
    assert words in told
    assert len(told.splitlines()) == 1
    assert not (tmp_path / "run").exists()
