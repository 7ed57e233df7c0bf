import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from browser import addresses, complaints, overflow, resize, until
from cell_runs import heights_run
from cellformer.explorer.inspection import Explorer
from evil import SCRIPT
from explorer_server import TOKEN, serving

WORDS = [f"column_{number}" for number in range(12)]


@pytest.fixture
def page(browser, address, entrance):
    resize(browser, 1280)
    addresses(browser), complaints(browser)
    browser.get(entrance)
    until(browser, lambda: of(browser, "run").text == "run")
    yield browser
    assert complaints(browser) == []
    outside = [url for url in addresses(browser) if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
    assert browser.title == "cellformer explorer"  # no script of the data has run


def of(browser, name):
    return browser.find_element(By.ID, name)


def type_smiles(page, text):
    field = of(page, "smiles")
    field.clear()
    field.send_keys(text, Keys.ENTER)


def shown(page, beginning):
    until(page, lambda: of(page, "caption").text.startswith(beginning))
    return of(page, "picture").find_element(By.TAG_NAME, "svg")


def test_a_molecule_is_predicted_and_seen_in_every_view(page):
    type_smiles(page, "c1ccc2ccccc2c1")
    assert shown(page, "The complex of c1ccc2ccccc2c1").get_attribute("role") == "img"
    value = of(page, "values").find_elements(By.CSS_SELECTOR, "tbody td")
    assert "to" in value[2].text  # the interval
    assert "<script>" in value[0].text  # the target's name, as text
    Select(page.find_element(By.NAME, "encoding")).select_by_value("hodgelap")
    shown(page, "The complex")
    page.find_element(By.CSS_SELECTOR, "[value=attention]").click()
    shown(page, "Attention of layer 0, the mean of all heads, from atoms to atoms")
    Select(page.find_element(By.NAME, "arrow")).select_by_value("2 -> 1")
    shown(page, "Attention of layer 0, the mean of all heads, from rings to bonds")
    Select(page.find_element(By.NAME, "head")).select_by_value("1")
    Select(page.find_element(By.NAME, "form")).select_by_value("matrix")
    shown(page, "Attention of layer 0, head 1, from rings to bonds")
    page.find_element(By.CSS_SELECTOR, "[value=contributions]").click()
    shown(page, "Contribution of each cell")
    assert not page.find_element(By.NAME, "arrow").is_displayed()
    for button in ("save-svg", "save-csv"):
        of(page, button).click()


def test_errors_are_shown_in_the_page_and_the_next_question_is_answered(page):
    for text, message in (
        ("C1CC", "is not a SMILES"),
        ("C" * 2000, "2000 heavy atoms"),
        (SCRIPT, "is not a SMILES"),
    ):
        page.execute_script("arguments[0].value = arguments[1]", of(page, "smiles"), text)
        of(page, "go").click()
        until(page, lambda message=message: message in of(page, "error").text)
        assert of(page, "error").get_attribute("role") == "alert"
        assert not of(page, "prediction").is_displayed()
        codes = [line for line in complaints(page) if "422" not in line]
        assert codes == []  # the browser itself notes the status of an answer
    type_smiles(page, "CCO")
    shown(page, "The complex of CCO")
    assert not of(page, "error").is_displayed()


def test_a_row_is_picked_and_a_table_is_read(page, tmp_path):
    Select(of(page, "example")).select_by_index(1)
    shown(page, "The complex of")
    assert "true" in of(page, "values").text
    table = tmp_path / "new.csv"
    table.write_text(f"note,smiles\nx,c1ccccc1\ny,{SCRIPT}\n", encoding="utf-8")
    of(page, "csv").send_keys(str(table))
    until(page, lambda: len(of(page, "rows").find_elements(By.CSS_SELECTOR, "tbody tr")) == 2)
    assert SCRIPT in of(page, "rows").text
    assert "note" in of(page, "rows").text
    numbers = of(page, "rows").find_elements(By.CSS_SELECTOR, "td.number")
    assert numbers
    lines = [each.value_of_css_property("white-space") for each in numbers]
    assert set(lines) == {"nowrap"}
    of(page, "rows").find_element(By.TAG_NAME, "button").click()
    shown(page, "The complex of c1ccccc1")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (420, False), (360, True)])
def test_it_fits_a_wide_and_a_narrow_window(page, tmp_path, width, dark):
    resize(page, width, dark=dark)
    type_smiles(page, "Cn1cnc2c1c(=O)n(C)c(=O)n2C")
    shown(page, "The complex of Cn1cnc2")
    table = tmp_path / "new.csv"
    table.write_text(f"smiles,{','.join(WORDS)}\nCCO,{','.join(WORDS)}\n", encoding="utf-8")
    of(page, "csv").send_keys(str(table))
    until(page, lambda: len(of(page, "rows").find_elements(By.CSS_SELECTOR, "tbody tr")) == 1)
    assert overflow(page) <= 0
    for name in ("values", "rows"):
        box = of(page, name).rect
        assert width > 1000 or box["x"] + box["width"] <= width


def test_it_starts_with_an_example(page):
    shown(page, "The complex of")
    chosen = Select(of(page, "example")).first_selected_option.text
    assert of(page, "subject").text.startswith(chosen.partition(": ")[2])
    assert "atoms" in of(page, "subject").text
    assert "true" in of(page, "values").text


def test_a_run_that_predicts_cells_is_colored(browser, tmp_path):
    explorer = Explorer.open(heights_run(tmp_path))
    assert explorer.about()["kinds"] == ["predictions", "complex", "attention"]
    with serving(explorer) as own:
        browser.get(f"{own}/?token={TOKEN}")
        shown(browser, "graph 0 colored by height")
        drawn = of(browser, "picture").text
        for word in ("true", "predicted", "error"):
            assert word in drawn
        assert "16 vertices" in of(browser, "values").text
        assert "16 vertices, 33 edges, 18 faces" in of(browser, "subject").text
        assert not browser.find_element(By.CSS_SELECTOR, "[value=contributions]").is_displayed()
        compare(browser)
        assert len(dots(browser)) == len(dots(browser, "places")) == 16
        of(browser, "map").send_keys(Keys.ARROW_RIGHT)
        assert of(browser, "card-text").text.startswith("vertex 0")
        assert len(of(browser, "places").find_elements(By.CLASS_NAME, "near")) == 8
        assert not of(browser, "nearest").is_displayed()
        browser.find_element(By.CSS_SELECTOR, "[value=complex]").click()
        shown(browser, "The complex of graph 0")
    assert complaints(browser) == []


def test_all_is_reached_by_the_keyboard_and_named(page):
    type_smiles(page, "CCO")
    shown(page, "The complex of CCO")
    for field in page.find_elements(By.CSS_SELECTOR, "input, select, button"):
        if field.is_displayed():
            assert field.accessible_name
            assert field.get_attribute("tabindex") in (None, "0")
    of(page, "smiles").click()
    seen = []
    for _ in range(12):
        ActionChains(page).send_keys(Keys.TAB).perform()
        seen.append(page.switch_to.active_element.get_attribute("id")
                    or page.switch_to.active_element.get_attribute("name"))  # fmt: skip
    for name in ("go", "example", "csv", "kind", "encoding", "save-svg"):
        assert name in seen


def compare(page):
    of(page, "compare").click()
    until(page, lambda: of(page, "alike-all").is_displayed() and not of(page, "alike-busy").text)


def dots(page, name="map"):
    return of(page, name).find_elements(By.CLASS_NAME, "dot")


def test_neighbors_and_the_map_lead_to_other_rows(page, explorer):
    shown(page, "The complex of")
    compare(page)
    near = of(page, "neighbors").find_elements(By.TAG_NAME, "button")
    assert len(near) == 8
    assert all(each.find_elements(By.CSS_SELECTOR, "svg.sketch") for each in near)
    assert len(dots(page)) == len(explorer.compared.numbers)
    assert of(page, "map").find_elements(By.CLASS_NAME, "mark")
    other = next(each for each in near if "distance 0:" not in each.accessible_name)
    row = int(other.accessible_name.split()[2])
    other.click()
    until(page, lambda: of(page, "subject").text.startswith(f"{explorer.subject_name(row)} ("))
    shown(page, "The complex of")
    until(page, lambda: f"row {row} " not in of(page, "neighbors").text)
    until(page, lambda: not of(page, "alike-busy").text)
    dot = dots(page)[5]
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", dot)
    ActionChains(page).move_to_element(dot).perform()
    until(page, lambda: of(page, "card").find_elements(By.CSS_SELECTOR, "svg.sketch"))
    told = of(page, "card-text").text
    row = int(told.split()[1])
    assert explorer.subject_name(row) in told
    assert "predicted" in told
    assert f"true {row % 7}" in told
    ActionChains(page).click().perform()
    until(page, lambda: of(page, "subject").text.startswith(f"{explorer.subject_name(row)} ("))


def test_the_map_is_walked_by_the_keyboard_and_colored(page):
    type_smiles(page, "c1ccc2ccccc2c1")
    shown(page, "The complex of c1ccc2ccccc2c1")
    compare(page)
    of(page, "map").send_keys(Keys.ARROW_RIGHT)
    first = of(page, "card-text").text
    assert first.startswith("row 0")
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_LEFT, Keys.ARROW_UP, Keys.ARROW_DOWN):
        of(page, "map").send_keys(key)
    assert of(page, "map").find_elements(By.CLASS_NAME, "chosen")
    told = {}
    for by in ("prediction", "truth", "error", "part"):
        Select(of(page, "shade")).select_by_value(by)
        told[by] = of(page, "legend").text
    assert len(set(told.values())) == 3  # prediction and truth share a bar
    assert told["part"].split() == ["train", "val", "test"]
    assert Select(of(page, "shade")).first_selected_option.text == "part"
    row = of(page, "card-text").text.split()[1]
    of(page, "map").send_keys(Keys.ENTER)
    until(page, lambda: of(page, "subject").text.partition(" (")[0] != "c1ccc2ccccc2c1")
    assert of(page, "card-text").text.split()[1] == row


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (420, True)])
def test_neighbors_and_map_fit_the_window(page, width, dark):
    resize(page, width, dark=dark)
    compare(page)
    assert overflow(page) <= 0
    for name in ("map", "card", "neighbors"):
        box = of(page, name).rect
        assert box["x"] + box["width"] <= width
    boxes = [each.rect for each in dots(page)]
    frame = of(page, "map").rect
    assert min(box["x"] for box in boxes) > frame["x"]
    assert max(box["x"] + box["width"] for box in boxes) < frame["x"] + frame["width"]
