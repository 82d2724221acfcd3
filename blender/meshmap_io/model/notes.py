# SPDX-License-Identifier: GPL-3.0-or-later
"""Lines of the report: parts that are left out, and numbers that are changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import meshmap

T = TypeVar("T")


class Unusable(ValueError):
    """Nothing of the file can be imported. The text says why, and what to do."""


class Notes:
    """Collects lines about one file."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def add(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)

    def count(self, number: int, one: str, many: str) -> None:
        """Adds a line with a number, unless it is 0."""
        if number:
            self.add(f"{number:,} {one if number == 1 else many}")

    def intact(self, part: str, read: Callable[[], T]) -> T | None:
        """The value of `read`, or None and a line if that part of the file is damaged."""
        try:
            return read()
        except meshmap.Error as error:
            self.add(f"{part} is left out: {error}")
            return None
