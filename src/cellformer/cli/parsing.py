"""A parser whose errors name the nearest right word."""

import difflib
import re
import sys
from collections.abc import Iterable
from typing import NoReturn

from jsonargparse import ArgumentParser

USAGE_ERROR = 2


class Parser(ArgumentParser):
    """jsonargparse's parser with one-line errors and suggestions for misspelt options."""

    vocabulary: tuple[str, ...] = ()

    def error(self, message: str, ex: Exception | None = None) -> NoReturn:
        """Prints what is wrong and ends with exit code 2."""
        print(f"cellformer: {message}{suggestion(message, self.vocabulary)}", file=sys.stderr)
        sys.exit(USAGE_ERROR)


def suggestion(message: str, vocabulary: Iterable[str]) -> str:
    """The nearest known word for each unknown option or choice that a parser's message names."""
    known = {word.lstrip("-"): word for word in vocabulary}
    unknown = re.findall(r"--([\w.-]+)|option '([\w.-]+)'|invalid choice: '([\w.-]+)'", message)
    hints = []
    for word in (next(filter(None, groups)) for groups in unknown):
        near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
        if near and word not in known:
            hints.append(known[near[0]])
    return f"\nDid you mean {' and '.join(hints)}?" if hints else ""
