import json
import shutil

import pytest

from browser import addresses, complaints, overflow, resize, until
from cellformer.basics.sealed import without_checksum
from cellformer.report.write import write_report


@pytest.fixture(scope="module")
def page(run):
    return write_report(run)


def test_the_page_has_every_section_and_asks_for_nothing(page):
    text = page.read_text(encoding="utf-8")
    for word in ("Result", "Learning curves", "Predicted against true", "Calibration",
                 "The worst errors", "Size and time", "Configuration",
                 "model.<wbr>width"):  # fmt: skip
        assert word in text
    for outside in ('src="', "http://", "https://", "@import", "url(http"):
        found = text.replace("http://www.w3.org/", "")
        assert outside not in found, outside
    assert text.count("<script>") == 1  # its own
    assert "&lt;script&gt;document.title" in text


def test_the_scores_are_those_of_the_summary(page, run):
    summary = json.loads((run / "summary.json").read_text())
    text = page.read_text(encoding="utf-8")
    for scores in (*summary["scores"].values(), summary["baseline"]):
        for values in scores.values():
            assert f"{values['mae']:.4f}" in text


def test_the_page_works_in_a_browser_at_every_width(page, browser):
    for width, dark in ((1280, False), (400, True)):
        resize(browser, width, dark=dark)
        browser.get(page.as_uri())
        assert overflow(browser) <= 0
        assert browser.title == "run: report of a run"  # no script of the data has run
    assert complaints(browser) == []
    assert all(url.startswith(("file:", "data:")) for url in addresses(browser))
    assert len(browser.find_elements("css selector", ".card svg.sketch")) == 12
    assert browser.find_elements("css selector", "#failures td.value")


def test_a_click_on_a_header_sorts_and_another_turns_the_order(page, browser):
    resize(browser, 1280)
    browser.get(page.as_uri())
    errors = (
        "return [...document.querySelectorAll('#predictions td:last-child')]"
        ".map(cell => Number(cell.dataset.value))"
    )
    before = browser.execute_script(errors)
    assert before == sorted(before, reverse=True)
    button = browser.find_elements("css selector", "#predictions th button")[-1]
    button.click()
    assert browser.execute_script(errors) == sorted(before)
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    button.click()
    assert browser.execute_script(errors) == before
    names = browser.find_elements("css selector", "#predictions th button")[1]
    names.click()
    words = browser.execute_script(
        "return [...document.querySelectorAll('#predictions .name')].map(c => c.textContent)"
    )
    assert sorted(words, key=str.lower)[0] == words[0]


def test_rows_and_dots_show_their_complex(page, browser):
    from selenium.webdriver import ActionChains

    resize(browser, 1280)
    browser.get(page.as_uri())
    tip = browser.find_element("id", "tip")
    assert not tip.is_displayed()
    dot = browser.find_element("css selector", "#points use")
    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
    ActionChains(browser).move_to_element(dot).perform()
    until(browser, tip.is_displayed)
    assert tip.find_element("css selector", "svg.sketch")
    row = browser.find_element("css selector", "#predictions tbody tr")
    browser.execute_script("arguments[0].focus()", row)  # as the Tab key does
    name = row.find_element("css selector", ".name").text
    until(browser, lambda: tip.text.endswith(name))  # before it, the letters of the drawing
    ActionChains(browser).send_keys("\ue00c").perform()  # Escape
    assert not tip.is_displayed()
    assert complaints(browser) == []


def test_without_its_data_a_run_still_has_a_report(run, tmp_path, monkeypatch):
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    config = without_checksum(json.loads((copy / "config.json").read_text()))
    config["data"]["source"] = "gone.csv"
    (copy / "config.json").write_text(json.dumps(config))
    text = write_report(copy).read_text(encoding="utf-8")
    assert "there is no file gone.csv" in text
    assert "Learning curves" in text


def test_a_folder_without_a_result_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a run folder"):
        write_report(tmp_path)
