"""Measures meshmap and other packages of PyPI: the time for all arrays of a file as float64, int64 or lists, as the others return.

    compare.py --python openctm=VENV/bin/python --python python-openctm=.. --python hippolyzer=.. --python meshmap=.. FILE..

Each package is measured in separate processes, by the Python of a virtual environment that has it. One thread loads a
file, or two threads load it at the same time, of which the time for each load is taken. Cold: the first load of a process,
of a file that is not in the system's cache. Warm: the shortest of several. meshmap starts no threads here.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any


def of_openctm(path: str) -> Any:
    from openctm import load_ctm

    with open(path, "rb") as file:
        return load_ctm(file)


def of_python_openctm(path: str) -> Any:
    import openctm

    return openctm.import_mesh(path)


def of_hippolyzer(path: str) -> Any:
    import hippolyzer.lib.base.serialization as se
    from hippolyzer.lib.base.mesh import LLMeshSerializer

    with open(path, "rb") as file:
        return se.BufferReader("!", file.read()).read(LLMeshSerializer(parse_segment_contents=True))


def of_meshmap(path: str, lists: bool = False) -> Any:
    import numpy as np

    import meshmap

    with meshmap.open(path, parallel=False) as file:
        if isinstance(file, meshmap.OpenCtmFile):
            arrays = file.bodies[0].decode()
            result = [arrays["positions"].astype(np.float64), arrays["indices"].astype(np.int64)]
            return [*result, *(arrays[name].astype(np.float64) for name in ("normals",) if name in arrays)]
        assert isinstance(file, meshmap.SlMeshFile)
        found = []
        for block in [*(file.lod(name) for name in file.lods), file.physics_mesh]:
            for face in block or ():
                if face.has_geometry:
                    found += [face.positions, face.normals, face.texcoords, face.indices]
                    found += [face.joint_indices, face.joint_weights]
        if (skin := file.skin) is not None:
            found += [skin.inverse_bind_matrices]
        if (hulls := file.physics_convex) is not None:
            found += [hulls.hull_points, hulls.bounding_verts]
        arrays = [array for array in found if array is not None]
        return meshmap.to_lists(arrays) if lists else [array.astype(np.float64) for array in arrays]


def of_meshmap_as_lists(path: str) -> Any:
    return of_meshmap(path, lists=True)


READERS: dict[str, Callable[[str], Any]] = {
    "openctm": of_openctm,
    "python-openctm": of_python_openctm,
    "hippolyzer": of_hippolyzer,
    "meshmap": of_meshmap,
    "meshmap-lists": of_meshmap_as_lists,
}


def forget(path: str) -> None:
    """Lets the system forget what it holds of a file."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def timed(load: Callable[[str], Any], path: str, threads: int) -> float:
    """Milliseconds for each load."""
    if threads == 1:
        start = time.perf_counter()
        load(path)
        return (time.perf_counter() - start) * 1000
    workers = [threading.Thread(target=load, args=(path,)) for _ in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return (time.perf_counter() - start) * 1000 / threads


def measure(reader: str, path: str, threads: int, seconds: float) -> None:
    """Runs in a separate process: the first load, and the shortest of the later loads."""
    load = READERS[reader]
    small = os.environ.get("COMPARE_FIRST", "")
    if small:
        # Imports and set-up of the first call are not the file's time.
        load(small)
    forget(path)
    cold = timed(load, path, threads)
    warm, end = [], time.monotonic() + seconds
    while len(warm) < 3 or (time.monotonic() < end and len(warm) < 50):
        warm.append(timed(load, path, threads))
    print(json.dumps({"cold": cold, "warm": min(warm)}))


def main() -> None:
    if sys.argv[1:2] == ["measure"]:
        reader, path, threads, seconds = sys.argv[2:]
        measure(reader, path, int(threads), float(seconds))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", required=True, metavar="NAME=PYTHON")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each number (default: 3)")
    parser.add_argument("--seconds", type=float, default=2.0, help="for the warm loads of each process (default: 2)")
    parser.add_argument("--first", default="", metavar="FILE", help="a small file that each process loads first")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    pythons = dict(pair.split("=", 1) for pair in options.python)
    print("| file | threads | | meshmap | other | ratio |\n|---|---|---|---|---|---|")
    for path in options.files:
        first = {"COMPARE_FIRST": path if not options.first else options.first}
        others = ["openctm", "python-openctm"] if path.endswith(".ctm") else ["hippolyzer"]
        ours = ["meshmap"] if path.endswith(".ctm") else ["meshmap", "meshmap-lists"]
        for threads in (1, 2):
            found: dict[str, dict[str, float]] = {}
            for reader in [*ours, *others]:
                python = pythons.get("meshmap" if reader in ours else reader)
                if python is None:
                    continue
                runs = []
                for _ in range(options.rounds):
                    command = [python, __file__, "measure", reader, path, str(threads), str(options.seconds)]
                    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, **first}, check=False)
                    if done.returncode:
                        print(f"{reader} ends with {done.returncode} on {path}: {done.stderr[-200:]}", file=sys.stderr)
                        break
                    runs.append(json.loads(done.stdout.splitlines()[-1]))
                if runs:
                    cold = statistics.median(run["cold"] for run in runs)
                    found[reader] = {"cold": cold, "warm": min(run["warm"] for run in runs)}
            for own, reader in itertools.product(ours, others):
                for state in ("cold", "warm"):
                    if reader in found and own in found:
                        mine, theirs = found[own][state], found[reader][state]
                        cells = [os.path.basename(path), threads, state, f"{own} {mine:.1f} ms"]
                        print("|", " | ".join(map(str, [*cells, f"{reader} {theirs:.1f} ms", f"{theirs / mine:.1f}"])), "|", flush=True)


if __name__ == "__main__":
    main()
