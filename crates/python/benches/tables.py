"""Measures catalogues: the processor's time of `scan` compared with `catalog`, and the memory of tables.

    tables.py scan FILES..            five columns and five predicates of `scan(full=True)`, and `catalog` with the same columns
    tables.py memory COUNT FILES..    the most memory of catalogues and of geometry of COUNT links to these files

Memory is measured in a separate process, which drops each table when it has the next one.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import meshmap


def processor(work: Callable[[], Any]) -> float:
    """The shortest of three."""
    def once() -> float:
        start = time.process_time()
        work()
        return time.process_time() - start

    return min(once() for _ in range(3))


def scan(paths: list[str]) -> None:
    import polars as pl
    import pyarrow as pa

    col = pl.col
    frame = meshmap.scan(paths, full=True)
    half = paths[len(paths) // 2]
    everything = frame.collect()
    rows: list[tuple[list[str], pl.Expr | None]] = [
        (["path", "format"], None),
        (["address", "role", "level", "mesh_bytes"], None),
        (["path", "triangles"], None),
        (["format", "min_x", "max_x"], None),
        (["path", "error_kind", "error"], None),
        (["path", "triangles"], col("path") > half),
        (["path", "triangles"], (col("path") > half) & (col("triangles") > 10)),
        (["path", "format"], (col("format") == "iqm") & (col("role") == "geometry")),
        (["path", "vertices"], (col("format") == "openctm") & (col("vertices") > 100)),
        (["address", "min_x"], (col("min_x") < 0) & col("error_kind").is_null()),
    ]
    print(f"{len(paths)} files, {everything.height} rows\n\n| columns | predicate | scan | catalog | ratio | rows |\n|---|---|--:|--:|--:|---|")
    for columns, predicate in rows:
        needed = list(dict.fromkeys([*columns, *(predicate.meta.root_names() if predicate is not None else [])]))
        lazy = (frame if predicate is None else frame.filter(predicate)).select(columns)
        eager = (everything if predicate is None else everything.filter(predicate)).select(columns)
        equal = "equal" if lazy.collect().equals(eager) else "DIFFERENT"
        scanned = processor(lazy.collect)
        listed = processor(lambda: pa.table(meshmap.catalog(paths, full=True, columns=needed)))  # noqa: B023
        print(f"| {', '.join(columns)} | {predicate} | {scanned:.3f} | {listed:.3f} | {scanned / listed:.2f} | {equal} |")


def peak(kind: str, folder: str) -> None:
    import pyarrow as pa

    def memory(name: str) -> int:
        return next(int(line.split()[1]) for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(name)) >> 10

    make: dict[str, Callable[[], Any]] = {
        "headers": lambda: meshmap.catalog(folder),
        "decoded": lambda: meshmap.catalog(folder, full=True),
        "geometry": lambda: meshmap.geometry(folder),
    }
    reader = pa.RecordBatchReader.from_stream(make[kind]())
    before, rows, largest = memory("VmRSS"), 0, 0
    for batch in reader:
        rows, largest = rows + batch.num_rows, max(largest, batch.nbytes)
    print(f"| {kind} | {rows:,} | {largest / (1 << 20):.1f} MiB | {before} MiB | {memory('VmHWM')} MiB |")


def main() -> None:
    task, *rest = sys.argv[1:]
    if task == "scan":
        scan(meshmap.find(rest))
        return
    if task == "peak":
        peak(*rest)
        return
    paths = meshmap.find(rest[1:])
    with tempfile.TemporaryDirectory() as folder:
        for index, path in zip(range(int(rest[0])), itertools.cycle(paths), strict=False):
            os.link(path, f"{folder}/{index:06}{Path(path).suffix}")
        print("| table | rows | largest batch | memory before | most memory |\n|---|--:|--:|--:|--:|", flush=True)
        for kind in ("headers", "decoded", "geometry"):
            subprocess.run([sys.executable, __file__, "peak", kind, folder], check=True)


if __name__ == "__main__":
    main()
