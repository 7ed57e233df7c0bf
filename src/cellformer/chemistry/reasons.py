"""Why RDKit has no answer for a molecule, in one line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

SHOWN_CHARACTERS = 80


def quoted(smiles: str) -> str:
    """A SMILES for messages: in quotes, and cut where it is long."""
    if len(smiles) <= SHOWN_CHARACTERS:
        return repr(smiles)
    return f"{smiles[:SHOWN_CHARACTERS]!r}... ({len(smiles)} characters)"


@contextmanager
def one_reason(smiles: str) -> Iterator[None]:
    """Raises ValueError, of one line, for whatever RDKit raises about a molecule.

    A ValueError stays as it is, and so does a lack of memory, which says nothing of the molecule.
    """
    try:
        yield
    except (ValueError, MemoryError):
        raise
    except Exception as error:
        raise ValueError(f"RDKit fails on {quoted(smiles)}: {_first_words(error)}") from error


def captured(work: Callable[[], object]) -> str:
    """What RDKit logs as errors meanwhile; nothing with releases of before 2026."""
    try:
        from rdkit.rdBase import CaptureErrorLog
    except ImportError:
        return ""
    with CaptureErrorLog() as log:
        work()
    return str(log.messages)


def _first_words(error: Exception) -> str:
    """What an error says. RDKit's own ones name a kind, what is wrong, then lines of its source."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return ": ".join(lines[:2]) if lines else type(error).__name__
