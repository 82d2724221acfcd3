"""The corners of the triangles that a door shows, upright and in metres."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Moment(NamedTuple):
    """A state of a file: at rest, a frame of a clip, a snapshot, a place between two snapshots, or another level of detail."""

    kind: str
    clip: int = 0
    frame: float = 0.0
    seconds: float = 0.0
    # The name of the clip, and whether it is the first of this name; or the name of the level.
    name: str = ""
    is_named: bool = False

    def __str__(self) -> str:
        if self.kind == "rest":
            return "rest"
        if self.kind == "clip":
            return f"frame {self.frame:g} of clip {self.clip}"
        if self.kind == "names":
            return "names"
        if self.kind == "level":
            return self.name
        return f"snapshot {self.frame:g}"


REST = Moment("rest")


@dataclass
class Corners:
    """The corners of triangles, or points: arrays of [triangles, 3 corners, numbers], with one corner for each point.

    Y points up, lengths are metres, fronts are counter-clockwise, V counts from the upper edge, and colours are linear light with
    alpha. NaN stands for a number that a part of the file does not have; an array is None if no part has it.
    """

    positions: Array
    normals: Array | None = None
    colors: Array | None = None
    texcoords: Array | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def select(self, rows: Array) -> "Corners":
        def of(array: Array | None) -> Array | None:
            return None if array is None else array[rows]

        return Corners(self.positions[rows], of(self.normals), of(self.colors), of(self.texcoords))

    def are_points(self) -> bool:
        return bool(self.positions.shape[1] == 1)


class Absent(Exception):
    """A door does not have a file, or a moment of it. The message is the reason that the door gives."""


class Door(Protocol):
    """A file as a door shows it."""

    def at(self, moment: Moment) -> Corners:
        """The corners at a moment. Raises `Absent` if the door does not have it."""
        ...

    def names(self) -> set[str] | None:
        """The names of materials, and the file names of images; None if the door has none."""
        ...


@runtime_checkable
class Pictures(Protocol):
    """A door that has pictures instead of corners."""

    def compare(self, moment: Moment, expected: Corners) -> Any:
        """The `Result` of comparing a picture. Raises `Absent` if no picture of the moment can be compared."""
        ...


def joined(parts: list[Corners]) -> Corners:
    """All parts one after another. Points are left out if there are triangles."""
    parts = [part for part in parts if len(part)]
    if any(not part.are_points() for part in parts):
        parts = [part for part in parts if not part.are_points()]
    if not parts:
        return Corners(np.zeros((0, 3, 3)))

    def of(name: str, numbers: int) -> Array | None:
        arrays = [getattr(part, name) for part in parts]
        if all(array is None for array in arrays):
            return None
        missing = [np.full((*part.positions.shape[:2], numbers), np.nan) for part in parts]
        return np.concatenate([none if array is None else array for array, none in zip(arrays, missing)])

    positions = np.concatenate([part.positions for part in parts])
    return Corners(positions, of("normals", 3), of("colors", 4), of("texcoords", 2))


def unit(vectors: Array) -> Array:
    """Vectors of length 1; NaN for those without a length."""
    with np.errstate(all="ignore"):
        # In two steps, because squares of tiny numbers are 0.
        largest = np.abs(vectors).max(axis=-1, keepdims=True)
        scaled = vectors / np.where(largest > 0, largest, np.nan)
        return np.asarray(scaled / np.linalg.norm(scaled, axis=-1, keepdims=True))


def move(points: Array, matrix: Array) -> Array:
    """Points through a matrix for columns, of 4 x 4 numbers."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def move_normals(normals: Array, matrix: Array) -> Array:
    """Normals of a surface whose points a matrix moves: by its cofactors, so that unequal scales do not tilt them."""
    a, b, c = np.asarray(matrix, float)[:3, :3]
    cofactors = np.stack([np.cross(b, c), np.cross(c, a), np.cross(a, b)])
    return unit(normals @ cofactors.T)
