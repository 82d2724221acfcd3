# SPDX-License-Identifier: GPL-3.0-or-later
"""Open CGeo files, whose decoded snapshots share one cache."""

from __future__ import annotations

import meshmap
import numpy as np

from ..model.data import Floats
from ..timing import USUAL_RATE, Pace, Sample, sample

AHEAD = 3
"""The number of frames that are decoded ahead, in threads of the package."""
MIB = 1 << 20


def step_of(scene: meshmap.Scene) -> float:
    """The seconds from one snapshot to the next."""
    shapes = list(scene.shapes)
    return (shapes[0].step if shapes else None) or 1 / USUAL_RATE


class Clip:
    """An open file. Positions are float32, and not to be changed."""

    def __init__(self, path: str, cache: meshmap.SnapshotCache) -> None:
        file = meshmap.open(path)
        if not isinstance(file, meshmap.CGeoFile):
            raise ValueError(f"{path} is not a CGeo file: choose the file that the mesh was imported from")
        self.file = file
        self.scene = meshmap.scene(file)
        self.cache = cache
        self.count = len(file.snapshots)
        self.step = step_of(self.scene)
        self.shapes: dict[int, int] = {}

    def snapshot(self, index: int) -> Floats:
        return self.cache.get(self.file, index, parts="positions").positions

    def positions(self, at: Sample) -> Floats:
        """Between two snapshots, vertices move in straight lines."""
        first = self.snapshot(at.first)
        if at.fraction == 0:
            return first
        if self.shape(at.first) != self.shape(at.second):
            return first
        second = self.snapshot(at.second)
        # As the package: first + (second - first) * fraction, in single precision.
        between = np.subtract(second, first)
        between *= np.float32(at.fraction)
        between += first
        return between

    def shape(self, index: int) -> int:
        """The first snapshot with the same triangles. Differences have the triangles of snapshot 0; others are compared once."""
        if index not in self.shapes:
            self.shapes[index] = self.find_shape(index)
        return self.shapes[index]

    def find_shape(self, index: int) -> int:
        if index == 0 or not self.file.snapshots[index].is_complete:
            return 0
        own = self.corners(index)
        known = sorted(set(self.shapes.values()) | {0})
        return next((other for other in known if np.array_equal(self.corners(other), own)), index)

    def corners(self, index: int) -> np.ndarray:
        return self.file.snapshots[index].decode(parts="triangles").triangles.positions

    def velocities(self, place: float, pace: Pace) -> Floats:
        """Lengths per second around a place."""
        before, after = (sample(place + half, self.count, pace) for half in (-0.5, 0.5))
        start, end = self.positions(before), self.positions(after)
        if start.shape != end.shape:
            return np.zeros_like(start)
        return (end - start) * np.float32(pace.speed / self.step)

    def prefetch(self, place: float, per_frame: float, pace: Pace) -> None:
        """Begins to decode the snapshots of the next frames."""
        ahead = [sample(place + per_frame * number, self.count, pace) for number in range(1, AHEAD + 1)]
        wanted = dict.fromkeys(index for each in ahead for index in (each.first, each.second))
        self.cache.prefetch(self.file, list(wanted), parts="positions")


class Clips:
    """The files that meshes play, opened once each."""

    def __init__(self) -> None:
        self.cache = meshmap.SnapshotCache(1024 * MIB)
        self.by_path: dict[str, Clip] = {}

    def get(self, path: str) -> Clip:
        """Raises `OSError`, `ValueError` or `meshmap.Error` if the file cannot be played."""
        clip = self.by_path.get(path)
        if clip is not None and clip.file.is_stale():
            self.drop(path)
            clip = None
        if clip is None:
            clip = self.by_path[path] = Clip(path, self.cache)
        return clip

    def drop(self, path: str) -> None:
        clip = self.by_path.pop(path, None)
        if clip is not None:
            self.cache.remove(clip.file)
            clip.file.close()

    def close(self) -> None:
        for path in list(self.by_path):
            self.drop(path)

    def resize(self, mib: int) -> None:
        """Another size of the cache. Files are opened again when they are needed."""
        self.close()
        self.cache = meshmap.SnapshotCache(mib * MIB)
