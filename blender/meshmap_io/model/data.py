# SPDX-License-Identifier: GPL-3.0-or-later
"""A file as plain arrays, before Blender sees it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int32]


@dataclass
class Channel:
    """Values per vertex or, through `corners`, per corner of each triangle."""

    name: str
    values: Floats
    """`[n, components]`; colours are linear light."""
    corners: Ints | None = None
    """`[triangles, 3]`, indices of `values`; None if there is one value per vertex."""


@dataclass
class Attribute:
    """A generic attribute: one value per vertex or per triangle."""

    name: str
    values: NDArray[np.generic]
    domain: str = "POINT"
    """`POINT` or `FACE`."""


@dataclass
class MeshData:
    """One mesh. Vertices that follow joints are in the bind pose, others are exactly the file's."""

    name: str
    positions: Floats
    triangles: Ints
    """`[triangles, 3]`, counter-clockwise, all in range and with three different corners."""
    normals: Channel | None = None
    uvs: list[Channel] = field(default_factory=list)
    """V points up, as in Blender."""
    colors: list[Channel] = field(default_factory=list)
    attributes: list[Attribute] = field(default_factory=list)
    material_ids: Ints | None = None
    """The material of each triangle; None if there is one material for all."""
    material_names: dict[int, str] = field(default_factory=dict)
    """Names by material ID. IDs without a name are named after the number."""
    tints: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    """The colours in sRGB of the materials by their IDs, for files that store no colours and no images; of ID 0 without IDs."""
    texture: str | None = None
    """The name of the image for the first UV map."""
    joints: Ints | None = None
    """`[vertices, 4]`, indices of joints."""
    weights: Floats | None = None
    """`[vertices, 4]`."""
    collection: str | None = None
    """The collection of its level of detail, or of the geometry for physics."""
    is_smooth: bool = False
    """True if surfaces without custom normals are shaded smooth."""
    is_hidden: bool = False
    is_hull: bool = False
    """True for points whose convex hull is meant."""


@dataclass
class Skeleton:
    """Joints in the bind pose."""

    names: list[str]
    parents: list[int | None]
    bind: NDArray[np.float64]
    """`[joints, 4, 4]`, from each joint to the model."""


@dataclass
class Animation:
    """The motion of all joints, frame by frame."""

    name: str
    fps: float
    is_loop: bool
    matrices: NDArray[np.float64]
    """`[frames, joints, 4, 4]`: moves vertices of the bind pose into each frame."""


@dataclass
class Clip:
    """Snapshots that play from the disk."""

    count: int
    step: float | None
    """Seconds from one snapshot to the next; None if the file does not store times."""


@dataclass
class Model:
    """Everything that is imported from a file."""

    name: str
    metres: float
    """The length of one unit in metres."""
    up: str
    """`X`, `Y` or `Z`: the axis that points up."""
    meshes: list[MeshData] = field(default_factory=list)
    skeleton: Skeleton | None = None
    animations: list[Animation] = field(default_factory=list)
    clip: Clip | None = None
