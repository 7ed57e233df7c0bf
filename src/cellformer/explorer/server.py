"""The web server of the explorer: a page, the questions that it asks, and one for programs."""

import asyncio
import io
import json
import logging
import secrets
import socket
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from cellformer.basics.suggestions import did_you_mean
from cellformer.data.tables.table import read_table
from cellformer.data.tables.writing import write_delimited
from cellformer.drawing.inline import INLINE, INLINE_DARK, inline_svg
from cellformer.drawing.theme import LIGHT
from cellformer.explorer.access import HEADERS, Impatient, SameHeaders, TokenGuard
from cellformer.explorer.inspection import Explorer
from cellformer.explorer.maps import drawing_of, map_of, neighbors_of
from cellformer.explorer.rows import check_count, predict_rows, too_long
from cellformer.explorer.views import View, show
from cellformer.training.answers.predict import predict_with

logger = logging.getLogger(__name__)

MOST_BYTES = 2_000_000
"""Of a question to the server."""

Answer = dict[str, Any]
PAGE = Path(__file__).parent / "page"


def make_app(
    explorer: Explorer, token: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
) -> Starlette:
    """The application; it answers only who knows the token and names one of ``hosts``."""
    # Neither torch's settings nor matplotlib's are made for several threads.
    one_at_a_time = asyncio.Lock()

    def answer(
        work: Callable[[Explorer, Answer], Answer],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            try:
                question = await _question(request)
                async with one_at_a_time:
                    found = await run_in_threadpool(work, explorer, question)
                return JSONResponse(found)
            except ValueError as error:
                return JSONResponse({"error": str(error)}, 422)
            except Exception:
                logger.exception("the explorer could not answer %s", request.url.path)
                told = {"error": "something went wrong here; the terminal shows what"}
                return JSONResponse(told, 500)

        return endpoint

    async def about(request: Request) -> Response:
        return JSONResponse(explorer.about())

    async def page(request: Request) -> Response:
        text = (PAGE / "index.html").read_text(encoding="utf-8")
        return Response(text, media_type="text/html")

    return Starlette(
        routes=[
            Route("/", page),
            Route("/api/about", about),
            Route("/api/predict", answer(_predict), methods=["POST"]),
            Route("/api/picture", answer(_picture), methods=["POST"]),
            Route("/api/table", answer(_table), methods=["POST"]),
            Route("/api/map", answer(_map), methods=["POST"]),
            Route("/api/neighbors", answer(_neighbors), methods=["POST"]),
            Route("/api/drawing", answer(_drawing), methods=["POST"]),
            Route("/predict", answer(predict_rows), methods=["POST"]),
            Mount("/page", StaticFiles(directory=PAGE)),
        ],
        middleware=[
            Middleware(SameHeaders, headers=HEADERS),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts)),
            Middleware(TokenGuard, token=token),
        ],
    )


def serve(explorer: Explorer, host: str, port: int) -> None:
    """Serves until interrupted; ``port`` 0 takes a free one. Raises OSError if it is taken.

    The address that the log tells has a token in it, a new one each time, without which nobody is
    answered: other users of this machine can open the port too.
    """
    token = secrets.token_urlsafe(24)
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        told = f"http://{host}:{listening.getsockname()[1]}/?token={token}"
        logger.info("The explorer is at %s (Ctrl-C ends it)", told)
        app = make_app(explorer, token, ("127.0.0.1", "localhost", host))
        config = uvicorn.Config(app, http=Impatient, log_level="warning")
        uvicorn.Server(config).run(sockets=[listening])


async def _question(request: Request) -> Answer:
    """The JSON object that was sent; ValueError if it is too large or something else.

    Other types of content are refused because other sites' pages can send them.
    """
    if request.headers.get("content-type", "").split(";")[0] != "application/json":
        raise ValueError("questions are sent as application/json")
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise ValueError(f"this is more than {MOST_BYTES // 1_000_000} MB; send less at once")
    try:
        question = json.loads(body)
    except (ValueError, RecursionError):
        raise ValueError("the question is not JSON") from None
    if not isinstance(question, dict):
        raise ValueError("the question is not a JSON object")
    return question


def _predict(explorer: Explorer, question: Answer) -> Answer:
    subject = explorer.subject(*_which(question))
    return {
        "name": subject.name,
        "cells": list(subject.cells.num_cells),
        "told": subject.told,
        "predictions": explorer.predict(subject),
    }


def _picture(explorer: Explorer, question: Answer) -> Answer:
    subject = explorer.subject(*_which(question))
    given = question.get("view", {})
    kinds: dict[str, Any] = {field.name: field.type for field in fields(View)}
    if not isinstance(given, dict):
        raise ValueError("view is not a JSON object")
    for name, value in given.items():
        if name not in kinds:
            raise ValueError(f"a view has no {name!r}{did_you_mean(name, kinds)}")
        if isinstance(value, bool) or not isinstance(value, kinds[name]):
            raise ValueError(f"{name} of a view cannot be {value!r}")
    view = View(**given)
    shown = show(explorer, subject, view, INLINE_DARK if question.get("dark") is True else INLINE)
    paper = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        show(explorer, subject, view, LIGHT).figure.savefig(paper, format="svg")
    return {
        "svg": "".join(
            inline_svg(figure, f"{shown.description} {word}".strip())
            for word, figure in (shown.panels or {"": shown.figure}).items()
        ),
        "description": shown.description,
        "arrows": shown.arrows,
        "file": paper.getvalue(),
        "csv": shown.table.to_csv(index=False, float_format="%.6g"),
    }


def _table(explorer: Explorer, question: Answer) -> Answer:
    text = question.get("csv")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("the table is empty")
    with tempfile.TemporaryDirectory(prefix="cellformer-") as folder:
        file = Path(folder) / "table.csv"
        file.write_text(text, encoding="utf-8", newline="")
        try:
            table = read_table(file)
            column = table.smiles_column(explorer.run.config.data.smiles_column)
            check_count(len(table), "the table has")
            smiles = list(table.column(column))
            for row, text in enumerate(smiles):
                if reason := too_long(text):
                    raise ValueError(f"row {row} has {reason}")
            frame = predict_with(explorer.alone, str(file), interval=explorer.interval).frame
        except ValueError as error:
            raise ValueError(str(error).replace(str(file), "the table")) from error
    rows = frame.astype(object).where(frame.notna(), "").to_numpy().tolist()
    # A run that predicts cells answers with a row for each of them.
    of_row = range(len(frame)) if column in frame else frame["row"].tolist()
    return {
        "columns": list(frame.columns),
        "rows": [[_written(value) for value in row] for row in rows],
        "smiles": [smiles[row] for row in of_row],
        "csv": _download(frame),
    }


def _map(explorer: Explorer, question: Answer) -> Answer:
    of_cells = explorer.run.recipe.task.rank is not None
    subject = explorer.subject(*_which(question)) if of_cells else None
    theme = INLINE_DARK if question.get("dark") is True else INLINE
    return map_of(explorer, subject, _whole(question, "target", 0), theme)


def _neighbors(explorer: Explorer, question: Answer) -> Answer:
    smiles, row = _which(question)
    subject = explorer.subject(smiles, row)
    return neighbors_of(explorer, subject, row, _whole(question, "target", 0))


def _drawing(explorer: Explorer, question: Answer) -> Answer:
    return drawing_of(explorer, _whole(question, "row"))


def _download(frame: pd.DataFrame) -> str:
    text = io.StringIO(newline="")
    write_delimited(frame, text)
    return text.getvalue()


def _written(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float | np.floating) else str(value)


def _which(question: Answer) -> tuple[str | None, int | None]:
    """The SMILES or the row that is asked about."""
    smiles = question.get("smiles")
    row = None if question.get("row") is None else _whole(question, "row")
    if row is None and not isinstance(smiles, str):
        raise ValueError("type a SMILES, or pick a row")
    return smiles, row


def _whole(question: Answer, name: str, default: int | None = None) -> int:
    value = question.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name} is not a whole number")
    return value
