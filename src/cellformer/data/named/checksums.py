"""Checksums of files whose publisher states none: recorded when first fetched."""

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

from cellformer.basics.files import replace_atomically
from cellformer.data.named.download import FetchError

logger = logging.getLogger(__name__)

RECORD = "checksums.json"


def check_recorded(folder: Path, name: str, sha256: str, url: str) -> None:
    """Records a checksum, with a warning, or compares it with the one recorded before.

    Raises FetchError if it differs: the file at its source is not the one it was.
    """
    path = folder / RECORD
    try:
        known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except ValueError as error:
        raise FetchError(f"{path} is damaged ({error}); remove it") from None
    if name in known:
        if known[name]["sha256"] != sha256:
            raise FetchError(
                f"{url} gave a file with SHA-256 {sha256}; when it was fetched on "
                f"{known[name]['date']} it was {known[name]['sha256']}. If you trust the new "
                f"one, remove the entry {name!r} from {path}"
            )
        return
    logger.warning(
        "No checksum of %s is published; trusted on first use: SHA-256 %s, recorded in %s",
        url,
        sha256,
        path,
    )
    known[name] = {"sha256": sha256, "url": url, "date": datetime.now(UTC).date().isoformat()}
    with replace_atomically(path) as unfinished:
        unfinished.write_text(json.dumps(known, indent=1, sort_keys=True), encoding="utf-8")
