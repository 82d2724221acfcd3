"""The door `render`: pictures, compared with the pictures of a small rasteriser.

Pictures in the mode `normals` show where a file is covered, and the normal at each pixel. They notice poses, bind shapes, the axis
that points up, snapshots, levels of detail and normals. They cannot notice the unit, because the camera fits everything into the
picture; the winding, because both sides are drawn; texture coordinates, colours and images. Clouds of points and bones are dots and
lines of the door's own, and are not compared.
"""

from pathlib import Path
from typing import Any

import meshmap
import numpy as np

from compare import Difference, Result
from drawn import Absent, Array, Corners, Moment

SIZE = 160
# From the front, turned to the right and raised: the cosines and sines of the two angles.
AROUND = (15 / 17, 8 / 17)
ABOVE = (12 / 13, 5 / 13)
# The tangent of half the angle of view, and the share of the picture that is filled.
TANGENT = 0.268
FILLED = 0.9
# The shares of covered pixels that may be covered otherwise, at edges, and that may have other normals, where triangles hide each
# other.
MOST_COVERED = 0.005
MOST_NORMALS = 0.01
# Below this share of the picture, the command draws dots.
LEAST_COVERED = 0.002
# Triangles at this relative distance from each other are at one place: any of them may be seen.
SAME_PLACE = 1e-3
# The greatest difference between bytes of normals.
BYTES = 3
# More triangles than pixels show little.
MOST_TRIANGLES = 200_000


class RenderDoor:
    """Pictures of a file."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path

    def names(self) -> None:
        return None

    def picture(self, moment: Moment) -> Array:
        options: dict[str, Any] = {"mode": "normals", "background": "transparent"}
        if moment.kind == "clip":
            if not moment.is_named:
                raise Absent("a clip whose name is not its own")
            options |= {"anim": moment.name, "frame": int(moment.frame)}
        elif moment.kind == "snapshot":
            options |= {"snapshot": int(moment.frame)}
        elif moment.kind == "level":
            options |= {"lod": moment.name.removesuffix("_lod")}
        elif moment.kind == "between":
            raise Absent("one snapshot")
        try:
            return np.asarray(meshmap.render(self.path, size=(SIZE, SIZE), samples=1, **options))
        except (meshmap.Error, ValueError) as error:
            raise Absent(str(error)) from None

    def compare(self, moment: Moment, expected: Corners) -> Result:
        """Compares the picture of a moment with the one of these corners."""
        if not len(expected):
            return Result(0.0, [])
        if expected.are_points():
            raise Absent("dots and bones")
        if len(expected) > MOST_TRIANGLES:
            raise Absent("more triangles than pixels")
        wanted, is_covered = drawn(expected)
        if is_covered.mean() < LEAST_COVERED:
            raise Absent("dots, because triangles cover next to nothing")
        picture = self.picture(moment).astype(int)
        found, is_found = picture[..., :3], picture[..., 3] > 0
        most = max(4, int(is_covered.sum() * MOST_COVERED))
        others = int((is_covered != is_found).sum())
        differences = []
        if others > most:
            differences.append(Difference("silhouette", f"{int(is_covered.sum())} pixels", f"{others} pixels otherwise"))
        both = is_covered & is_found & np.isfinite(wanted).all(axis=2)
        apart = np.abs(np.where(both[..., None], wanted - found, 0)).max(axis=2)
        most = max(4, int(both.sum() * MOST_NORMALS))
        others = int((apart > BYTES).sum())
        if others > most:
            place = np.unravel_index(int(apart.argmax()), apart.shape)
            differences.append(
                Difference(
                    "normals",
                    f"{int(both.sum())} pixels, {wanted[place].round().tolist()}",
                    f"{others} others, {found[place].tolist()}",
                )
            )
        return Result(0.0, differences)


def seen(points: Array) -> tuple[Array, Array]:
    """The places of points on the picture, in pixels, and one by the distance from the eye."""
    (ca, sa), (ce, se) = AROUND, ABOVE
    view = np.array([[ca, 0, -sa], [-sa * se, ce, -ca * se], [sa * ce, se, ca * ce]])
    flat = points.reshape(-1, 3)
    x, y, z = ((flat - flat.mean(axis=0)) @ view.T).T
    right, left, top, bottom = (x + z * TANGENT).max(), (z * TANGENT - x).max(), (y + z * TANGENT).max(), (z * TANGENT - y).max()
    size = np.array([x.max() - x.min(), y.max() - y.min(), z.max() - z.min()])
    radius = float(np.linalg.norm(size)) / 2 or 1.0
    away = max((right + left) / (2 * TANGENT), (top + bottom) / (2 * TANGENT), z.max() + radius / 2)
    focal = SIZE / 2 * FILLED / TANGENT
    distance = (away - z) / radius
    across = SIZE / 2 + focal * (x - (right - left) / 2) / radius / distance
    down = SIZE / 2 - focal * (y - (top - bottom) / 2) / radius / distance
    # Places on the picture are multiples of the 256th part of a pixel.
    places = np.round(np.stack([across, down], axis=1) * 256) / 256
    return places.reshape(*points.shape[:2], 2), (1 / distance).reshape(points.shape[:2])


def drawn(corners: Corners) -> tuple[Array, Array]:
    """The bytes of normals, and the pixels that are covered. NaN stands for no normal, and for triangles at one place."""
    places, nearness = seen(corners.positions)
    low = np.clip(np.floor(places.min(axis=1) - 0.5).astype(int) + 1, 0, SIZE)
    high = np.clip(np.floor(places.max(axis=1) - 0.5).astype(int) + 1, 0, SIZE)
    counts = np.maximum(high - low, 0).prod(axis=1)
    found = [(np.zeros(0, int), np.zeros(0), np.zeros((0, 3)))]
    # Some million pairs of triangle and pixel at once.
    ends = np.flatnonzero(np.diff(np.cumsum(counts) // 2_000_000, prepend=0))
    for rows in np.split(np.arange(len(counts)), ends):
        rows = rows[counts[rows] > 0]
        if len(rows):
            found.append(hits(rows, corners, places, nearness, low, high))
    pixel, near, normal = (np.concatenate(arrays) for arrays in zip(*found))
    depth = np.zeros(SIZE * SIZE)
    np.maximum.at(depth, pixel, near)
    bytes_of = np.full((SIZE * SIZE, 3), np.nan)
    is_front = near >= depth[pixel] * (1 - SAME_PLACE)
    pixel, normal = pixel[is_front], np.round((normal[is_front] * 0.5 + 0.5) * 255)
    bytes_of[pixel] = normal
    with np.errstate(invalid="ignore"):
        is_other = np.abs(bytes_of[pixel] - normal).max(axis=1) > BYTES
    bytes_of[pixel[is_other]] = np.nan
    return bytes_of.reshape(SIZE, SIZE, 3), (depth > 0).reshape(SIZE, SIZE)


def hits(rows: Array, corners: Corners, places: Array, nearness: Array, low: Array, high: Array) -> tuple[Array, Array, Array]:
    """The pixels of some triangles, how near each is, and the normals there."""
    width = (high - low)[rows, 0]
    counts = (high - low)[rows].prod(axis=1)
    of = np.repeat(np.arange(len(rows)), counts)
    number = np.arange(len(of)) - np.repeat(np.cumsum(counts) - counts, counts)
    pixels = np.stack([low[rows[of], 0] + number % width[of], low[rows[of], 1] + number // width[of]], axis=1)
    a, b, c = np.moveaxis(places[rows[of]], 1, 0)
    middle = pixels + 0.5
    sides = np.stack([edge(b, c, middle), edge(c, a, middle), edge(a, b, middle)], axis=1)
    area = sides.sum(axis=1)
    inside = (area != 0) & ((sides >= 0).all(axis=1) | (sides <= 0).all(axis=1))
    of, pixels, shares = of[inside], pixels[inside], sides[inside] / area[inside, None]
    near = shares * nearness[rows[of]]
    normals = np.full((len(of), 3), np.nan)
    if corners.normals is not None:
        mixed = np.einsum("nk,nki->ni", near, corners.normals[rows[of]])
        with np.errstate(invalid="ignore", divide="ignore"):
            normals = mixed / np.linalg.norm(mixed, axis=1, keepdims=True)
    return pixels[:, 1] * SIZE + pixels[:, 0], near.sum(axis=1), normals


def edge(a: Array, b: Array, place: Array) -> Array:
    return np.asarray((b[:, 0] - a[:, 0]) * (place[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (place[:, 0] - a[:, 0]))
