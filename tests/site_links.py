"""What is wrong with the links of a folder of HTML pages."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what a browser loads for it."""

    def __init__(self, file):
        super().__init__()
        self.anchors, self.links, self.loaded = {"", "top"}, [], []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.update(values[name] for name in ("id", "name") if values.get(name))
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if LOADED.get(tag) in values and values.get("rel") != "canonical":
            self.loaded.append(values[LOADED[tag]])


def faults(folder):
    """One line for every dead link, missing anchor or file, and load from elsewhere."""
    pages = {file.resolve(): Page(file) for file in sorted(Path(folder).rglob("*.html"))}
    found = []
    for file, page in pages.items():
        where = file.relative_to(Path(folder).resolve())
        for address in page.links + page.loaded:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loaded and parts.scheme != "data":
                    found.append(f"{where} loads {address}")
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if not target.is_file():
                found.append(f"{where}: there is no {address}")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{where}: there is no anchor {address}")
    return found
