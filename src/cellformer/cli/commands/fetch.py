"""Download benchmark sets beforehand, for machines without network."""

import sys
from collections.abc import Sequence
from pathlib import Path

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer fetch``."""
    parser.add_argument(
        "names",
        type=str,
        nargs="*",
        default=[],
        help="names of sets; none: list them and where they are",
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=None,
        help="where to put them (default: the cache); CELLFORMER_DATA can name this folder",
    )
    parser.add_argument(
        "--mirror",
        type=str,
        default=None,
        help="an address below which files of the same names lie, instead of the official ones",
    )
    parser.add_argument("--again", action="store_true", help="fetch sets that are there already")
    parser.add_argument(
        "--stall",
        type=float,
        default=30.0,
        help="seconds without data after which a connection is given up",
    )
    parser.add_argument(
        "--attempts", type=int, default=4, help="connections to try before giving up"
    )
    parser.add_argument(
        "--card", action="store_true", help="only print what is known of the named sets"
    )


def run(arguments: Namespace) -> int:
    """Fetches each set in turn; with an unknown name, none."""
    from cellformer.data.named.benchmark_set import NamedSet, fetch, location
    from cellformer.data.named.cards import card
    from cellformer.data.named.catalogue import NAMED_SETS, named_set
    from cellformer.data.named.download import Patience

    chosen: list[NamedSet] = [named_set(name) for name in arguments.names]
    if arguments.card:
        print("\n".join(card(named) for named in chosen or NAMED_SETS.values()), end="")
        return 0
    if not chosen:
        for named in NAMED_SETS.values():
            print(f"{named.name:15} {location(named) or '-'}\n{'':15} {named.title}")
        return 0
    patience = Patience(stall=arguments.stall, attempts=arguments.attempts)
    for named in chosen:
        path = fetch(
            named,
            arguments.folder,
            mirror=arguments.mirror,
            again=arguments.again,
            patience=patience,
        )
        print(f"{named.name} is in {path}; its license: {named.license}")
    if arguments.folder is not None:
        print(f"To use it, set CELLFORMER_DATA={arguments.folder.resolve()}", file=sys.stderr)
    return 0
