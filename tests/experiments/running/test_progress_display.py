import logging

from cellformer.experiments.running import progress_display as boards
from cellformer.experiments.running.progress_display import Standing, progress_display, standing


def test_a_log_says_where_trainings_are_and_how_far(tmp_path, caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(boards, "SECONDS_BETWEEN_LINES", 0.0)
    assert standing(tmp_path) == Standing(0, "")
    (tmp_path / "curve.csv").write_text("epoch,val_loss,val_mae\n0,1.0,0.5\n1,1.0,0.25\n")
    assert standing(tmp_path) == Standing(2, "val_mae 0.25")
    with progress_display("Trainings", 3) as shown:
        shown.started("one", "here", tmp_path, 9)
        shown.refresh()
        shown.started("one", "there", tmp_path, 9)
        shown.finished("one")
        shown.refresh()
    assert [record.getMessage() for record in caplog.records] == [
        "one: started on here",
        "Trainings: 0 of 3 ended; one 2/9 val_mae 0.25",
        "one: goes on on there",
        "Trainings: 1 of 3 ended; none is running",
    ]


def test_a_terminal_shows_a_bar_for_each_that_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    with progress_display("Trainings", 2) as shown:
        shown.started("one", "here", tmp_path, 9)
        shown.refresh()
        shown.finished("one")
        shown.finished("two")  # never seen to start
    told = capsys.readouterr().err
    assert "Trainings" in told
    assert "2/2" in told
