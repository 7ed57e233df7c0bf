"""Download a file so that it is whole and the right one, or not there at all."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cellformer.basics.files import replace_atomically
from cellformer.basics.progress import progress
from cellformer.basics.sealed import sha256_of

logger = logging.getLogger(__name__)

CHUNK = 1 << 16
RETRIED_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})


class FetchError(OSError):
    """A file could not be fetched; says why and what to do."""


@dataclass(frozen=True)
class Patience:
    """How long a server may keep us waiting.

    Args:
        stall: Seconds without data after which a connection is given up.
        attempts: Connections to try before giving up.
        pause: Seconds before the second attempt; each further pause is twice as long.
    """

    stall: float = 30.0
    attempts: int = 4
    pause: float = 1.0


class _Temporary(Exception):  # noqa: N818 - a reason to try again, never seen outside
    pass


def download(
    url: str,
    target: Path,
    sha256: str | None = None,
    size: int | None = None,
    *,
    patience: Patience | None = None,
    shown: bool = True,
) -> str:
    """Downloads a URL to a file that does not exist yet and returns its SHA-256.

    The file appears under its name only when it is complete and has the given checksum and size.
    An interrupted download goes on where it stopped, in this call or a later one, provided that
    the server names the version of the file (an ETag or a date) and it is still the same; what is
    kept for this lies in a hidden file beside the target. Nothing else is left behind. Of several
    processes one downloads and the others wait for it.

    Raises FetchError, naming the URL, for a server that stays silent or stalls, for a transfer cut
    short, an error status, endless redirects, or content other than expected.
    """
    from filelock import FileLock

    target.parent.mkdir(parents=True, exist_ok=True)
    lock = target.with_name(f".{target.name}.lock")
    partial = _Partial(target.with_name(f".{target.name}.part"), url)
    with FileLock(lock):
        try:
            if target.exists():  # another process was faster
                return sha256_of(target)
            _attempts(partial, size, patience or Patience(), f"Fetching {target.name}", shown)
            found = _check(partial, sha256, size)
            partial.file.replace(target)
            partial.forget()
            return found
        except FetchError as error:
            raise FetchError(f"{error}, or put the file itself at {target}") from None
        finally:
            lock.unlink(missing_ok=True)


class _Partial:
    """What has arrived so far, and of which version of the file it is."""

    def __init__(self, file: Path, url: str):
        self.file = file
        self.url = url
        self.note = file.with_name(f"{file.name}.json")

    def arrived(self) -> tuple[int, str | None]:
        """Bytes that can be kept, and the version that they belong to."""
        try:
            note = json.loads(self.note.read_text(encoding="utf-8"))
            if note["url"] == self.url and isinstance(note["version"], str):
                return self.file.stat().st_size, note["version"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        self.forget()
        return 0, None

    def begin(self, version: str | None) -> None:
        """Starts from nothing."""
        self.forget()
        if version is not None:
            with replace_atomically(self.note) as unfinished:
                unfinished.write_text(json.dumps({"url": self.url, "version": version}), "utf-8")

    def forget(self) -> None:
        """Removes all traces."""
        self.file.unlink(missing_ok=True)
        self.note.unlink(missing_ok=True)


def _attempts(
    partial: _Partial, size: int | None, patience: Patience, title: str, shown: bool
) -> None:
    pause = patience.pause
    for attempt in range(1, patience.attempts + 1):
        try:
            _receive(partial, size, patience.stall, title, shown)
            return
        except _Temporary as trouble:
            kept, _ = partial.arrived()
            if attempt == patience.attempts:
                again = "try again later, it goes on from there" if kept else "try again later"
                raise FetchError(
                    f"{partial.url} could not be fetched: {trouble} (in the last of {attempt} "
                    f"attempts; {kept:,} bytes are kept); {again}"
                ) from None
            logger.warning("%s: %s; trying again", partial.url, trouble)
            time.sleep(pause)
            pause *= 2


def _receive(partial: _Partial, size: int | None, stall: float, title: str, shown: bool) -> None:
    """One connection; what has arrived stays in the partial file, also when this raises."""
    import requests

    arrived, version = partial.arrived()
    headers = {"Accept-Encoding": "identity", "User-Agent": "cellformer"}
    if arrived and version is not None:
        headers |= {"Range": f"bytes={arrived}-", "If-Range": version}
    try:
        with requests.get(partial.url, headers=headers, stream=True, timeout=stall) as answer:
            _check_answer(partial, answer)
            if answer.status_code == 416:  # what has arrived is no beginning of this file
                partial.forget()
                raise _Temporary("the server has another version of the file than before")
            if answer.status_code != 206 or not _continues(answer, arrived):
                arrived = 0
                partial.begin(_version(answer))
            length = answer.headers.get("Content-Length")
            total = arrived + int(length) if length is not None and length.isdigit() else size
            with (
                progress(title, total, shown, unit="bytes", done=arrived) as tell,
                partial.file.open("ab") as stream,
            ):
                received = _copy(answer, stream.write, tell)
    except (requests.exceptions.InvalidURL, requests.exceptions.InvalidSchema,
            requests.exceptions.MissingSchema) as error:  # fmt: skip
        raise FetchError(
            f"{partial.url} is no address to fetch from ({error}); correct it"
        ) from None
    except requests.exceptions.TooManyRedirects:
        raise FetchError(
            f"{partial.url} redirects without end; the server is misconfigured, use a mirror"
        ) from None
    except requests.exceptions.SSLError as error:
        raise FetchError(
            f"{partial.url}: the server's certificate is not trusted ({error}); set "
            "REQUESTS_CA_BUNDLE if your network has its own"
        ) from None
    except requests.exceptions.Timeout:
        raise _Temporary(f"the server sent nothing for {stall:g} seconds") from None
    except requests.exceptions.ConnectionError as error:
        raise _Temporary(_reason(error, stall)) from None
    except requests.exceptions.RequestException as error:
        raise _Temporary(f"the transfer broke off ({error})") from None
    if total is not None and arrived + received < total:
        raise _Temporary(f"the transfer ended after {arrived + received:,} of {total:,} bytes")


def _copy(answer: Any, write: Callable[[bytes], object], tell: Callable[[int], None]) -> int:
    """All of the body as it was sent, not decoded; urllib3's errors as those of requests."""
    import requests
    import urllib3

    received = 0
    try:
        for chunk in answer.raw.stream(CHUNK, decode_content=False):
            write(chunk)
            received += len(chunk)
            tell(len(chunk))
    except urllib3.exceptions.ReadTimeoutError as error:
        raise requests.exceptions.ReadTimeout(error) from None
    except urllib3.exceptions.HTTPError as error:
        raise _Temporary(f"the transfer broke off after {received:,} bytes ({error})") from None
    return received


def _check_answer(partial: _Partial, answer: Any) -> None:
    """Raises for a status that is no success, and for a redirect that gives up encryption."""
    schemes = [urlsplit(one.url).scheme for one in (*answer.history, answer)]
    if "https" in schemes and schemes[-1] != "https":
        raise FetchError(
            f"{partial.url} redirects to {answer.url}, which is not encrypted; use a mirror"
        )
    status = answer.status_code
    if status in RETRIED_STATUS:
        raise _Temporary(f"the server answered {status} {answer.reason}")
    if status not in (200, 206, 416):
        raise FetchError(
            f"{partial.url} cannot be fetched: the server answered {status} {answer.reason}; the "
            "file may have moved, use a mirror"
        )


def _version(answer: Any) -> str | None:
    """What the server calls this version of the file; a weak ETag does not promise equal bytes."""
    tag = answer.headers.get("ETag")
    if tag and not tag.startswith("W/"):
        return str(tag)
    date = answer.headers.get("Last-Modified")
    return str(date) if date else None


def _continues(answer: Any, arrived: int) -> bool:
    return str(answer.headers.get("Content-Range", "")).startswith(f"bytes {arrived}-")


def _check(partial: _Partial, sha256: str | None, size: int | None) -> str:
    """The checksum of the complete file; removes a wrong one and raises FetchError."""
    length, found = partial.file.stat().st_size, sha256_of(partial.file)
    with partial.file.open("rb") as stream:
        start = stream.read(256).lstrip().lower()
    page = start.startswith((b"<!doctype html", b"<html"))
    if page or (size is not None and size != length) or (sha256 is not None and sha256 != found):
        partial.forget()
        what = (
            "a web page instead of the file"
            if page
            else f"{length:,} bytes with SHA-256 {found}; expected were "
            + " and ".join(
                [f"{size:,} bytes"] * (size is not None) + [f"{sha256}"] * (sha256 is not None)
            )
        )
        raise FetchError(
            f"{partial.url} gave {what}. The server has another file, or it was changed on the "
            "way; nothing was kept. Try again, use a mirror"
        )
    return found


def _reason(error: Exception, stall: float) -> str:
    if "Read timed out" in str(error):
        return f"the server sent nothing for {stall:g} seconds"
    return f"there is no connection to the server ({error})"
