"""Every call of Python on hostile files: `python hostile.py FILE..`. Fails if a call is busy for more than 4 s, or takes more than 1.3 GiB.

Each call runs in a separate process, with an optimized wheel, and may end with an exception of the package. Lists are read up to their
first items: each of these is a separate call.
"""

from __future__ import annotations

import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import meshmap

LONGEST = 4.0
MOST_MEMORY = 1300 << 20
FEW = 8


def few(items: Iterable[object]) -> list[object]:
    return list(itertools.islice(items, FEW))


def meshes(file: meshmap.File) -> None:
    for mesh in few(file.values()):
        few(mesh.items())
        mesh.groups, mesh.bounds, mesh.findings, mesh.by_material()


def arrays(file: meshmap.File) -> None:
    for entry in few(file.arrays()):
        file.array(entry.address)


def counts(file: meshmap.File) -> None:
    for entry in few(file.meshes()):
        file.counts(entry.address)


def member(name: str) -> Callable[[meshmap.File], None]:
    """An attribute of the file, or a method that needs no argument."""

    def read(file: meshmap.File) -> None:
        value = getattr(file, name, None)
        if callable(value):
            try:
                value = value()
            except TypeError:
                return
        if hasattr(value, "__next__"):
            few(value)

    return read


def scene(file: meshmap.File) -> None:
    found = meshmap.scene(file)
    few(found.shapes), found.skeleton, few(found.clips), found.bones


def snapshots(file: meshmap.File) -> None:
    if isinstance(file, meshmap.CGeoFile):
        for snapshot in few(file.snapshots):
            snapshot.positions(), snapshot.normals(), snapshot.mesh(), snapshot.sections()


def converted(target: str) -> Callable[[meshmap.File], None]:
    def convert(file: meshmap.File) -> None:
        with tempfile.TemporaryDirectory() as folder:
            meshmap.convert(file, Path(folder) / f"out.{target}")

    return convert


def rendered(**options: object) -> Callable[[meshmap.File], None]:
    def render(file: meshmap.File) -> None:
        with tempfile.TemporaryDirectory() as folder:
            meshmap.render(file, Path(folder) / "out.png", size=(64, 64), **options)

    return render


# `values` and `items` are read mesh by mesh below.
MEMBERS = sorted({name for kind in (meshmap.File, meshmap.CGeoFile) for name in dir(kind) if not name.startswith("_")} - {"close", "values", "items"})
CALLS: dict[str, Callable[[meshmap.File], object]] = {
    **{name: member(name) for name in MEMBERS},
    "info(full)": lambda file: file.info(full=True),
    "each mesh": meshes,
    "each array": arrays,
    "each count": counts,
    "scene": scene,
    "snapshots": snapshots,
    "catalog": lambda file: meshmap.catalog([file.path]),
    "geometry": lambda file: meshmap.geometry([file.path]),
    "render": rendered(),
    "render(sheet)": rendered(sheet=True),
    "render(animate)": rendered(animation=True),
    **{f"convert({target})": converted(target) for target in ("glb", "gltf", "usdc", "usdz", "obj", "ply", "stl", "pc2")},
}


def measure(path: str, name: str) -> None:
    """In a separate process: prints the seconds, the bytes, and how it ended."""
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    try:
        CALLS[name](meshmap.open(path))
        end = "done"
    except (meshmap.Error, ValueError, MemoryError, OSError) as error:
        end = f"{type(error).__name__}: {error}".splitlines()[0][:120]
    busy = time.process_time() - start
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - begin) << 10
    print(f"{busy:.2f} {taken} {end}")


def main(paths: list[str]) -> int:
    faults = calls = 0
    slowest = largest = (0.0, "")
    for path, name in itertools.product(paths, CALLS):
        calls += 1
        child = subprocess.run([sys.executable, __file__, "--child", path, name], capture_output=True, text=True, check=False)
        what = f"{Path(path).name}: {name}"
        if child.returncode != 0:
            faults += 1
            print(f"{what} ended with {child.returncode}: {child.stderr.strip().splitlines()[-1:]}", flush=True)
            continue
        busy, taken, end = child.stdout.strip().split(" ", 2)
        slowest = max(slowest, (float(busy), what))
        largest = max(largest, (int(taken) / (1 << 20), what))
        if float(busy) > LONGEST or int(taken) > MOST_MEMORY:
            faults += 1
            print(f"{what}: {busy} s, {int(taken) >> 20} MiB: {end}", flush=True)
    print(f"{calls} calls, {faults} faults; at most {slowest[0]:.1f} s ({slowest[1]}) and {largest[0]:.0f} MiB ({largest[1]})")
    return min(faults, 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure(*sys.argv[2:4])
    else:
        sys.exit(main(sys.argv[1:]))
