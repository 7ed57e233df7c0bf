"""A figure on a page."""

from dataclasses import dataclass

from benchmarks.kept import ROOT


@dataclass(frozen=True)
class Claim:
    """Words that stand on a page, with figures that were computed."""

    page: str
    """The page, relative to the root of the repository."""
    words: str
    """What it says, as far as it is computed; spaces and line ends are alike."""
    source: str
    """The files, below results/."""

    @property
    def stands(self) -> bool:
        """Whether the page says so."""
        text = (ROOT / self.page).read_text(encoding="utf-8")
        return " ".join(self.words.split()) in " ".join(text.split())
