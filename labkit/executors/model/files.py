"""The small files in a checkpoint's folder, as text: regular ones alone, and no more of them than fits in memory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MOST_BYTES = 256 << 20  # the largest tokenizers are a tenth of this


def text_of(file: Path) -> str:
    """All of a UTF-8 file.

    Raises:
        OSError: it is not there or cannot be read; FileNotFoundError too where a link leads nowhere.
        ValueError: it is no regular file (a pipe would wait for ever, a device never ends), too long, or not UTF-8.
    """
    found = os.stat(file)
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ValueError("it is a pipe or a device, expected a file")
    if found.st_size > MOST_BYTES:
        raise ValueError(f"it has {found.st_size} bytes, expected at most {MOST_BYTES >> 20} MiB")
    return file.read_text(encoding="utf-8")
