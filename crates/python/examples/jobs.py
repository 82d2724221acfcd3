"""What is done with each file, whatever engine runs it: each job makes an Arrow table of a few files.

A file that cannot be read is a row with ``error_kind`` and ``error``. A job raises nothing that a file can cause.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import meshmap

ENDINGS = {".cgeo", ".ctm", ".iqm", ".llmesh", ".slmesh", ".tmf"}

Job = Callable[[list[str]], pa.Table]

CATALOG = pa.schema(meshmap.catalog([]))

VELOCITIES = pa.schema(
    [("path", pa.string()), ("snapshot", pa.int64()), ("seconds", pa.float64())]
    + [(f"{end}_{axis}", pa.float32()) for end in ("min", "max") for axis in "xyz"]
    + [("error_kind", pa.string()), ("error", pa.string())]
)

CONVERSIONS = pa.schema(
    [("path", pa.string()), ("output", pa.string()), ("vertices", pa.int64()), ("triangles", pa.int64())]
    + [("left_out", pa.string()), ("error_kind", pa.string()), ("error", pa.string())]
)


def files_below(folder: str) -> list[str]:
    """The mesh files below a folder, by their endings, in order."""
    found = [path for path in Path(folder).rglob("*") if path.suffix.lower() in ENDINGS and path.is_file()]
    return sorted(str(path) for path in found)


def catalog(paths: list[str], full: bool = False) -> pa.Table:
    """A row for each mesh."""
    return pa.table(meshmap.catalog(paths, full=full))


def velocities(paths: list[str]) -> pa.Table:
    """The least and the greatest velocity of any vertex, for each snapshot of each CGeo file, in lengths a second."""
    return pa.Table.from_pylist([row for path in paths for row in _velocities(path)], schema=VELOCITIES)


def _velocities(path: str) -> Iterator[dict[str, Any]]:
    try:
        file = meshmap.open(path, parallel=False)
        if not isinstance(file, meshmap.CGeoFile):
            return
        timing = file.timing
        if timing is None or timing.step == 0.0:
            # Lengths a snapshot, where the file has no times.
            timing = meshmap.Timing(0.0, 1.0, len(file.snapshots))
        cache = meshmap.SnapshotCache(256 << 20)
        count = len(file.snapshots)
    except (meshmap.Error, OSError) as error:
        yield {"path": path, **_told(error)}
        return
    for index in range(count):
        row: dict[str, Any] = {"path": path, "snapshot": index, "seconds": timing.time_of(index)}
        try:
            moved = file.velocities(index, timing=timing, cache=cache)
        except (meshmap.Error, OSError) as error:
            yield {**row, **_told(error)}
            continue
        if len(moved):
            low, high = np.nanmin(moved, axis=0), np.nanmax(moved, axis=0)
            row |= {f"min_{axis}": value for axis, value in zip("xyz", low.tolist(), strict=True)}
            row |= {f"max_{axis}": value for axis, value in zip("xyz", high.tolist(), strict=True)}
        yield row


def convert(paths: list[str], folder: str, to: str = "glb", base: str = "") -> pa.Table:
    """Converts each file to one below ``folder``, where it has the same path as below ``base``."""
    rows = []
    for path in paths:
        output = Path(folder) / (os.path.relpath(path, base or os.path.dirname(path)) + f".{to}")
        row: dict[str, Any] = {"path": path, "output": str(output)}
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            outcome = meshmap.convert(path, output, to=to)
            row |= {"vertices": outcome["vertices"], "triangles": outcome["triangles"]}
            row["left_out"] = "; ".join(outcome["left_out"]) or None
        except (meshmap.Error, OSError) as error:
            row |= {"output": None, **_told(error)}
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=CONVERSIONS)


def _told(error: Exception) -> dict[str, str]:
    return {"error_kind": getattr(error, "kind", "io"), "error": str(error)}


def arguments(description: str) -> argparse.ArgumentParser:
    """The arguments of a command that runs a job."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("job", choices=["catalog", "velocities", "convert"])
    parser.add_argument("folder", help="folder of mesh files, which all machines see at the same path")
    parser.add_argument("-o", "--output", required=True, help="the table to write: a .parquet file")
    parser.add_argument("--full", action="store_true", help="catalog: decode all meshes")
    parser.add_argument("--into", help="convert: the folder to write to")
    parser.add_argument("--to", default="glb", help="convert: the format to write (default: glb)")
    parser.add_argument("--die-once", metavar="FILE", help="for tests: a worker kills itself where FILE is not there yet")
    return parser


def job_of(options: argparse.Namespace) -> tuple[Job, pa.Schema]:
    """What is to be done with each few files, and the columns that come out."""
    jobs: dict[str, tuple[Job, pa.Schema]] = {
        "catalog": (partial(catalog, full=options.full), CATALOG),
        "velocities": (velocities, VELOCITIES),
        "convert": (partial(convert, folder=options.into, to=options.to, base=options.folder), CONVERSIONS),
    }
    if options.job == "convert" and not options.into:
        raise SystemExit("convert needs --into FOLDER")
    job, schema = jobs[options.job]
    return (partial(dying, job=job, marker=options.die_once) if options.die_once else job), schema


def dying(paths: list[str], job: Job, marker: str) -> pa.Table:
    """The job, in a worker that is killed in the middle of the first few files."""
    if not os.path.exists(marker):
        Path(marker).touch()
        os.kill(os.getpid(), 9)
    return job(paths)
