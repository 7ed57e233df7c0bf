"""Look at predictions of a run on a page of this machine."""

from collections.abc import Sequence

from jsonargparse import Namespace

from cellformer.cli.parsing import Parser, add_run


def add_arguments(parser: Parser, arguments: Sequence[str]) -> None:
    """The arguments of ``cellformer explore``."""
    add_run(parser)
    parser.add_argument("--port", type=int, default=8765, help="of the page; 0 takes a free one")
    parser.add_argument(
        "--host",
        type=str,
        default="127.0.0.1",
        help="address to listen on; any but the default lets other machines in",
    )
    parser.add_argument(
        "--weights",
        choices=("best", "last"),
        default="best",
        help="those of the best validation epoch or of the last epoch",
    )


def run(arguments: Namespace) -> int:
    """Serves the page until interrupted."""
    if not 0 <= arguments.port <= 65535:
        raise ValueError(f"--port is a number from 0 to 65535, got {arguments.port}")
    try:
        from cellformer.explorer.server import serve
    except ModuleNotFoundError as error:
        if error.name not in ("starlette", "uvicorn"):
            raise
        raise ImportError(
            f"the explorer needs {error.name}: pip install 'cellformer[explore]'"
        ) from error
    from cellformer.explorer.inspection import Explorer

    serve(Explorer.open(arguments.run, arguments.weights), arguments.host, arguments.port)
    return 0
