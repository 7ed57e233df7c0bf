"""A browser without a window, as a user's browser that tells what it asked for."""

import json
import os
import re
import shutil
import subprocess
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def without_browser():
    """Skips a test, loudly where nobody would look: in CI it fails."""
    reason = (
        "no Chromium or Chrome with a chromedriver of the same version is installed "
        "(scripts/browser installs both on Debian)"
    )
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


def programs():
    """A browser and a driver of the same version; None where there are none."""
    driver = shutil.which("chromedriver")
    for browser in filter(None, map(shutil.which, BROWSERS if driver else ())):
        if version(browser) == version(driver):
            return browser, driver
    return None


def version(program):
    told = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d+", told.stdout)
    return found and found[0]


@contextmanager
def chromium():
    """A Selenium driver; see `without_browser`."""
    program, driver = programs() or without_browser()
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = program
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu",
                     "--disable-background-networking", "--disable-component-update",
                     "--no-first-run", "--window-size=1280,900"):  # fmt: skip
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(driver))
    try:
        yield browser
    finally:
        browser.quit()


def complaints(browser):
    """What the page wrote to the console since the last look, warnings and errors."""
    return [
        line["message"]
        for line in browser.get_log("browser")
        if line["level"] in ("WARNING", "SEVERE")
    ]


def addresses(browser):
    """Every address that was asked for since the last look."""
    asked = []
    for line in browser.get_log("performance"):
        message = json.loads(line["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
    return asked


def resize(browser, width, height=900, dark=False):
    """The size of the page, and whether the user's system is dark."""
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
    )
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]},
    )


def overflow(browser):
    """By how many pixels the page is wider than its window."""
    return browser.execute_script(
        "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )


def until(browser, condition):
    """Waits, at most a minute, for something to become true."""
    from selenium.webdriver.support.ui import WebDriverWait

    WebDriverWait(browser, 60).until(lambda _: condition())
