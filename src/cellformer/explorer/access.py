"""Who is answered by the explorer: whoever has the address with its token, by no other page."""

import asyncio
import hashlib
import hmac
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds for a request to arrive."""

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self' "
    "'unsafe-inline'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Of every answer, refusals and files too."""


class SameHeaders:
    """Gives every answer of an application the same headers."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]):
        self.app = app
        self.headers = headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, with_headers)


class TokenGuard:
    """Answers requests that know the token: as a parameter of the address, or as a cookie.

    The page itself, asked for with the parameter, sets the cookie and leads to the address
    without it, so that the token is in no history. A request that tells another origin than the
    host that it names comes from a page of another site, and is refused in any case.
    """

    def __init__(self, app: ASGIApp, token: str):
        self.app = app
        self.token = token.encode()
        # Cookies are those of a host whatever the port, and several explorers may be open.
        self.cookie = f"cellformer-{hashlib.sha256(self.token).hexdigest()[:12]}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request, or refuses it with the status 403."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request = Request(scope)
        given = request.query_params.get("token")
        if not _own_origin(request.headers):
            told = {"error": "pages of other sites are not answered"}
            await JSONResponse(told, 403)(scope, receive, send)
        elif given is not None and self._known(given):
            if request.method == "GET" and request.url.path == "/":
                led = RedirectResponse("/", 303)
                led.set_cookie(self.cookie, given, httponly=True, samesite="strict")
                await led(scope, receive, send)
            else:
                await self.app(scope, receive, send)
        elif self._known(request.cookies.get(self.cookie, "")):
            await self.app(scope, receive, send)
        else:
            told = {"error": "open the address with the token that the terminal shows"}
            await JSONResponse(told, 403)(scope, receive, send)

    def _known(self, token: str) -> bool:
        return hmac.compare_digest(token.encode(), self.token)


class Impatient(H11Protocol):
    """A connection that is closed where no whole request has come within `PATIENCE` seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begins to wait."""
        super().connection_made(transport)
        self.waiting = self.loop.call_later(PATIENCE, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        """Waits no longer."""
        self.waiting.cancel()
        super().connection_lost(exc)

    def _look(self) -> None:
        cycle: Any = self.cycle
        answering = cycle is not None and not cycle.response_complete
        if answering and not cycle.more_body:
            self.waiting = self.loop.call_later(PATIENCE, self._look)
        else:
            self.transport.close()


def _own_origin(headers: Headers) -> bool:
    origin = headers.get("origin")
    return origin is None or origin in {
        f"{way}://{headers.get('host')}" for way in ("http", "https")
    }
