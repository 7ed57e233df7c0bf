"""What the words on a command line are that a trained model is to read."""

from collections.abc import Sequence


def named_source(words: Sequence[str]) -> str | Sequence[str]:
    """The only word where it names a source; else all are SMILES, which are told row by row.

    Raises ValueError for a source beside other words, FileNotFoundError for a mistyped path.
    """
    from cellformer.chemistry.smiles import parse_smiles
    from cellformer.data.sources import is_source, no_source

    sources = [word for word in words if is_source(word)]
    if len(words) == 1 and sources:
        return words[0]
    if sources:
        raise ValueError(f"give one file or data set, or SMILES alone; {sources[0]!r} is a source")
    for word in words:
        try:
            parse_smiles(word)
        except ValueError as reason:
            missing = no_source(word, str(reason))
            if len(words) == 1 or isinstance(missing, FileNotFoundError):
                raise missing from None
    return list(words)
