"""Compares the corners of a door with the corners of column zero, in any order of triangles."""

from dataclasses import dataclass

import numpy as np

from drawn import Array, Corners


@dataclass
class Bounds:
    """The largest differences that a door may have: of positions relative to the size, others absolute."""

    positions: float = 1e-6
    # The matrices of long chains of joints are in single precision.
    normals: float = 2e-5
    colors: float = 1e-6
    texcoords: float = 1e-6
    # The share of corners whose normals may be others.
    other_normals: float = 0.0


@dataclass
class Difference:
    """Something that a door shows in another way. `amount` is relative to the size for positions."""

    what: str
    expected: str
    found: str
    amount: float = float("inf")


@dataclass
class Match:
    """Triangles of column zero, and the triangles of a door that lie there, with the order of their corners."""

    expected: Array
    found: Array
    orders: Array
    missing: int
    added: int

    def of_expected(self, corners: Corners) -> Corners:
        return corners.select(self.expected)

    def of_found(self, corners: Corners) -> Corners:
        chosen = corners.select(self.found)
        for name in ("positions", "normals", "colors", "texcoords"):
            array = getattr(chosen, name)
            if array is not None and array.shape[1] == 3:
                setattr(chosen, name, np.take_along_axis(array, ORDERS[self.orders][..., None], axis=1))
        return chosen

    @property
    def turned(self) -> int:
        """The number of triangles that run the other way around."""
        return int((self.orders >= 3).sum())


# The orders in which a triangle can have its corners; from the fourth on, its back is its front.
ORDERS = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
# An order that turns a triangle around is chosen only if it is better by this.
TURNING = 1e-5
# The size of a cell of the grid in which triangles are looked for, and the distance of corners that belong together, in tolerances.
CELL = 16
# The number of triangles of which all orders of corners are compared at once.
AT_ONCE = 100_000
# Corners this close to each other, in sizes, are at one place.
AT_ONE_PLACE = 2e-5


def size_of(corners: Corners) -> float:
    """The diagonal of the box around the corners; far from the origin, the distance at which single precision has as many steps."""
    points = corners.positions.reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return 1.0
    diagonal = float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))
    return max(diagonal, float(np.abs(points).max()) / 4) or 1.0


def distances(expected: Array, found: Array) -> Array:
    """The largest distance between the corners of triangles, for each order of the corners: [orders, triangles]."""
    if expected.shape[1] == 1:
        return distance(expected, found)[None]
    return np.stack([distance(expected, found[:, order]) + (TURNING if at >= 3 else 0.0) for at, order in enumerate(ORDERS)])


def distance(expected: Array, found: Array) -> Array:
    """The largest difference. A number that only one of the two has decides between corners that are equal otherwise."""
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(expected - found)
    apart[np.isnan(apart)] = 1e-5
    apart[np.isnan(expected) & np.isnan(found)] = 0.0
    return np.asarray(apart.max(axis=(1, 2), initial=0.0))


def are_thin(corners: Corners, tolerance: float) -> Array:
    """True for triangles of which two corners are at one place. No program draws them, and some doors leave them out."""
    if corners.are_points():
        return np.zeros(len(corners), bool)
    with np.errstate(invalid="ignore"):
        edges = np.abs(corners.positions - np.roll(corners.positions, 1, axis=1)).max(axis=2)
    return np.asarray(edges.min(axis=1) <= tolerance)


def features(expected: Corners, found: Corners, size: float) -> tuple[Array, Array]:
    """Numbers that distinguish corners: positions in sizes, then all attributes that both have, with little weight."""
    columns = [[corners.positions / size] for corners in (expected, found)]
    for name in ("normals", "colors", "texcoords"):
        arrays = [getattr(corners, name) for corners in (expected, found)]
        if all(array is not None for array in arrays):
            width = min(array.shape[2] for array in arrays)
            for column, array in zip(columns, arrays):
                column.append(array[..., :width] * 1e-3)
    wanted, shown = (np.concatenate(column, axis=2) for column in columns)
    return wanted, shown


def match(expected: Corners, found: Corners, tolerance: float, size: float) -> Match:
    """Finds the triangle of the door for each triangle of column zero.

    Most doors keep the order of triangles. Some leave out triangles that have two corners at one place.
    """
    if not len(expected) and not len(found):
        return Match(np.zeros(0, int), np.zeros(0, int), np.zeros(0, int), 0, 0)
    everything = np.arange(len(expected)), np.arange(len(found))
    visible = tuple(np.flatnonzero(~are_thin(corners, 0.0)) for corners in (expected, found))
    for left, right in (everything, visible):
        if len(left) != len(right):
            continue
        a, b = expected.select(left), found.select(right)
        if are_near(a.positions / size, b.positions / size, tolerance):
            return Match(left, right, best_orders(a, b), 0, 0)
    by_place = match_by_place(expected, found, size, tolerance)
    left, right = everything
    if len(left) == len(right) and by_place.missing > len(left) / 2:
        # Everything has moved: what has moved where says more than what is not there.
        return Match(left, right, best_orders(expected, found), 0, 0)
    return by_place


def are_near(expected: Array, found: Array, most: float) -> bool:
    """True if all triangles are at the same places, in any order of their corners."""
    for start in range(0, len(expected), AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        if float(distances(expected[rows], found[rows]).min(axis=0).max()) > most + TURNING:
            return False
    return True


def best_orders(expected: Corners, found: Corners) -> Array:
    """The order of corners of each triangle of the door: by positions and, of corners at one place, by all other attributes."""
    size = size_of(expected)
    orders = [np.zeros(0, int)]
    for start in range(0, len(expected), AT_ONCE):
        rows = np.arange(start, min(start + AT_ONCE, len(expected)))
        wanted, shown = expected.select(rows), found.select(rows)
        apart = distances(wanted.positions / size, shown.positions / size)
        others = distances(*features(wanted, shown, size))
        others[apart > apart.min(axis=0) + AT_ONE_PLACE] = np.inf
        orders.append(others.argmin(axis=0))
    return np.concatenate(orders)


def match_by_place(expected: Corners, found: Corners, size: float, tolerance: float) -> Match:
    """By cells of a grid around the centres of triangles. A centre at the edge of a cell is found in the next grid."""
    cell = tolerance * CELL
    left, right = np.arange(len(expected)), np.arange(len(found))
    pairs = [(left[:0], right[:0])]
    places = [np.nan_to_num(corners.positions.mean(axis=1) / size) for corners in (expected, found)]
    for shift in (0.0, 0.37, 0.71):
        keys = np.concatenate([places[0][left], places[1][right]])
        _, cells = np.unique(np.floor(keys / cell + shift), axis=0, return_inverse=True)
        cells = cells.reshape(-1)
        a, b = pair_equal_cells(cells[: len(left)], cells[len(left) :], expected.select(left), found.select(right), size, tolerance)
        pairs.append((left[a], right[b]))
        left, right = np.delete(left, a), np.delete(right, b)
        if not len(left) or not len(right):
            break
    chosen, partners = (np.concatenate(rows) for rows in zip(*pairs))
    orders = best_orders(expected.select(chosen), found.select(partners))
    missing = int((~are_thin(expected.select(left), size * tolerance)).sum())
    added = int((~are_thin(found.select(right), size * tolerance)).sum())
    return Match(chosen, partners, orders, missing, added)


def pair_equal_cells(
    left: Array, right: Array, expected: Corners, found: Corners, size: float, tolerance: float
) -> tuple[Array, Array]:
    """Pairs triangles in equal cells: single triangles at once, and several triangles by their distance."""
    count = int(max(left.max(initial=-1), right.max(initial=-1))) + 1
    alone = (np.bincount(left, minlength=count) == 1) & (np.bincount(right, minlength=count) == 1)
    order_of_right = np.full(count, -1)
    order_of_right[right] = np.arange(len(right))
    a = np.flatnonzero(alone[left])
    b = order_of_right[left[a]]
    most = tolerance * CELL + TURNING
    near = distances(expected.positions[a] / size, found.positions[b] / size).min(axis=0) <= most
    pairs = [(int(x), int(y)) for x, y in zip(a[near], b[near])]

    by_cell: dict[int, list[int]] = {}
    for row in np.flatnonzero(~alone[right]).tolist():
        by_cell.setdefault(int(right[row]), []).append(row)
    own_size = size_of(expected)
    left_features, right_features = features(expected, found, own_size)
    for row in np.flatnonzero(~alone[left]).tolist():
        candidates = by_cell.get(int(left[row]), [])[:64]
        if not candidates:
            continue
        whole = np.repeat(left_features[None, row], len(candidates), axis=0)
        apart = distances(whole, right_features[candidates]).min(axis=0)
        choice = int(apart.argmin())
        place = expected.positions[None, row] / size
        if distances(place, found.positions[None, candidates[choice]] / size).min() <= most:
            pairs.append((row, candidates[choice]))
            by_cell[int(left[row])].remove(candidates[choice])
    rows = np.array(pairs, dtype=int).reshape(-1, 2)
    return rows[:, 0], rows[:, 1]


def text(row: Array) -> str:
    return "(" + ", ".join(f"{value:.7g}" for value in np.atleast_1d(row)) + ")"


def compare_arrays(
    what: str, expected: Array | None, found: Array | None, bound: float, scale: float, share: float
) -> tuple[float, list[Difference]]:
    """The largest difference, and its place if it is larger than the bound. What column zero does not have is not compared."""
    if expected is None or not np.isfinite(expected).any():
        return 0.0, []
    known = np.isfinite(expected).all(axis=-1)
    if what == "colors" and found is not None:
        # Some doors have no alpha.
        expected = expected[..., : found.shape[-1]]
    if found is None:
        return 0.0, [Difference(what, f"{int(known.sum())} corners with {what}", "none")]
    with np.errstate(invalid="ignore"):
        apart = np.abs(expected - found).max(axis=-1) / scale
    apart[known & ~np.isfinite(apart)] = np.inf
    apart[~known] = 0.0
    worst = float(apart.max()) if apart.size else 0.0
    count = int((apart > bound).sum())
    if count <= share * apart.size:
        return worst, []
    place = np.unravel_index(int(apart.argmax()), apart.shape)
    label = f"{what} of {count} of {int(known.sum())} corners"
    return worst, [Difference(label, text(expected[place]), text(found[place]), worst)]


@dataclass
class Result:
    """The outcome for a moment: the largest difference of each kind in parts of its bound, and what differs."""

    worst: float
    differences: list[Difference]


def compare(expected: Corners, found: Corners, pairs: Match, bounds: Bounds, size: float) -> Result:
    """Compares two states by the pairs of triangles that were found at rest. Distances are relative to a size."""
    differences = []
    if pairs.missing or pairs.added:
        kind = "points" if expected.are_points() else "triangles"
        differences.append(Difference(kind, f"{len(expected)} {kind}", f"{pairs.missing} missing, {pairs.added} others"))
    if pairs.turned:
        differences.append(Difference("winding", f"{len(expected)} triangles", f"{pairs.turned} run the other way around"))
    expected, found = pairs.of_expected(expected), pairs.of_found(found)
    worst = 0.0
    for what, bound, scale in (
        ("positions", bounds.positions, size),
        ("normals", bounds.normals, 1.0),
        ("colors", bounds.colors, 1.0),
        ("texcoords", bounds.texcoords, texcoord_scale(expected)),
    ):
        wanted = getattr(expected, what)
        if what == "normals" and wanted is not None:
            wanted = unit_or_none(wanted)
        if expected.are_points() and getattr(found, what) is None:
            # Points are not lit, and have no image.
            continue
        share = bounds.other_normals if what == "normals" else 0.0
        largest, others = compare_arrays(what, wanted, getattr(found, what), bound, scale, share)
        if what == "positions" or others:
            worst = max(worst, largest)
        differences += others
    return Result(worst, differences)


def texcoord_scale(corners: Corners) -> float:
    """Coordinates that repeat an image have fewer digits after the point."""
    if corners.texcoords is None:
        return 1.0
    known = corners.texcoords[np.isfinite(corners.texcoords)]
    return max(1.0, float(np.abs(known).max())) if known.size else 1.0


def unit_or_none(normals: Array) -> Array:
    """Normals of length 1. Without a usable length, a normal is repaired in a way that is not compared."""
    with np.errstate(all="ignore"):
        length = np.linalg.norm(normals, axis=-1, keepdims=True)
        return np.where((length > 0.99) & (length < 1.01), normals, np.nan)
