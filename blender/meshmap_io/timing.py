# SPDX-License-Identifier: GPL-3.0-or-later
"""The snapshots that a frame shows, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import floor, isfinite

USUAL_RATE = 24.0
"""Snapshots per second of files that do not store times."""
NEAR = 1e-4
"""A frame this near to a snapshot shows exactly the snapshot."""


@dataclass
class Pace:
    """The mapping from frames to snapshots."""

    first_frame: float = 1.0
    speed: float = 1.0
    offset: float = 0.0
    """Snapshots that are skipped at the first frame."""
    wrap: str = "CLAMP"
    """`CLAMP`, `LOOP` or `PING_PONG`."""
    is_linear: bool = True
    """False shows the nearest snapshot."""

    def place(self, frame: float, fps: float, step: float) -> float:
        """The place of a frame, counted in snapshots from the first."""
        return self.offset + (frame - self.first_frame) * self.per_frame(fps, step)

    def per_frame(self, fps: float, step: float) -> float:
        """Snapshots per frame."""
        return self.speed / (fps * step)


@dataclass(frozen=True)
class Sample:
    """A point between two snapshots."""

    first: int
    second: int
    fraction: float


def sample(place: float, count: int, pace: Pace) -> Sample:
    """The snapshots around a place, with the place before the first and after the last wrapped."""
    last = count - 1
    if not isfinite(place) or last < 1:
        return Sample(0, 0, 0.0)
    if abs(place - round(place)) < NEAR:
        place = float(round(place))
    if not pace.is_linear:
        place = float(floor(place + 0.5))
    if pace.wrap == "LOOP":
        place %= count
    elif pace.wrap == "PING_PONG":
        place %= 2 * last
        place = 2 * last - place if place > last else place
    else:
        place = min(max(place, 0.0), float(last))
    first = min(int(place), last)
    fraction = place - first
    if fraction == 0:
        return Sample(first, first, 0.0)
    second = first + 1 if first < last else (0 if pace.wrap == "LOOP" else last)
    return Sample(first, second, fraction)
