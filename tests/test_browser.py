import pytest

import browser


@pytest.mark.parametrize(("ci", "ended"), [("true", pytest.fail.Exception),
                                           ("", pytest.skip.Exception)])  # fmt: skip
def test_without_a_browser_tests_of_pages_are_skipped_but_fail_in_ci(ci, ended, monkeypatch):
    monkeypatch.setenv("CI", ci)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(ended, match="scripts/browser installs both"), browser.chromium():
        pass


@pytest.mark.parametrize(("driver", "fits"), [("133.0.1", True), ("99.0.1", False)])
def test_a_browser_needs_a_driver_of_its_own_version(driver, fits, tmp_path, monkeypatch):
    for name, told in (("google-chrome", "Google Chrome 133.0.6"),
                       ("chromedriver", f"ChromeDriver {driver}")):  # fmt: skip
        (tmp_path / name).write_text(f"#!/bin/sh\necho {told}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = (str(tmp_path / "google-chrome"), str(tmp_path / "chromedriver"))
    assert browser.programs() == (found if fits else None)
