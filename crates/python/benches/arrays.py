"""Measures all arrays of an IQM file, compared with struct and NumPy, which check nothing.

arrays.py FILE.iqm

"by mesh" is `values()` and `indices` of each mesh: indices are checked and counted from the first vertex of the mesh. "whole" is
`vertex_arrays` and `triangles` of the file: indices are checked, and nothing is copied. Each number is the shortest of several runs,
in milliseconds, from opening the file to the sum of every array.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import meshmap

TYPES = ["i1", "u1", "<i2", "<u2", "<i4", "<u4", "<f2", "<f4", "<f8"]


def of_numpy(data: Any) -> Iterator[Any]:
    header = struct.unpack_from("<27I", data, 16)
    arrays, vertices, at, triangles, first = header[7:12]
    for index in range(arrays):
        _, _, kind, components, start = struct.unpack_from("<5I", data, at + 20 * index)
        yield np.frombuffer(data, TYPES[kind], vertices * components, start).reshape(vertices, components)
    yield np.frombuffer(data, "<u4", 3 * triangles, first).reshape(triangles, 3)


def of_numpy_read(path: str) -> Iterator[Any]:
    with open(path, "rb") as file:
        return of_numpy(file.read())


def of_numpy_mapped(path: str) -> Iterator[Any]:
    return of_numpy(np.memmap(path, dtype="u1", mode="r"))


def of_meshes(path: str, mmap: bool) -> Iterator[Any]:
    with meshmap.open(path, mmap=mmap) as file:
        for entry in file.meshes():
            mesh = file.mesh(entry.address)
            yield from mesh.values()
            yield mesh.indices


def of_file(path: str, mmap: bool) -> Iterator[Any]:
    with meshmap.open(path, mmap=mmap) as file:
        assert isinstance(file, meshmap.IqmFile)
        yield from (array.values for array in file.vertex_arrays)
        yield file.triangles


def shortest(arrays: Callable[[], Iterator[Any]], seconds: float = 2.0) -> float:
    best, end = float("inf"), time.monotonic() + seconds
    while time.monotonic() < end:
        start = time.perf_counter()
        for array in arrays():
            array.sum()
        best = min(best, time.perf_counter() - start)
    return best * 1000


def main(path: str) -> None:
    print("| | struct and NumPy | whole | ratio | by mesh | ratio |\n|---|--:|--:|--:|--:|--:|")
    for name, mmap, numpy in (("read", False, of_numpy_read), ("mapped", True, of_numpy_mapped)):
        base = shortest(lambda: numpy(path))
        ours = [shortest(lambda: way(path, mmap)) for way in (of_file, of_meshes)]
        cells = " | ".join(f"{time:.2f} | {time / base:.2f}" for time in ours)
        print(f"| {name} | {base:.2f} | {cells} |")


if __name__ == "__main__":
    main(sys.argv[1])
