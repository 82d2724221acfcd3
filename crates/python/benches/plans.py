"""Plans of ten million files from a table, of which every second one is done: memory, time and CPU of the process that plans.

    python crates/python/benches/plans.py FOLDER [COUNT]

Writes Parquet tables of about 600 MB to the folder, unless they are there. Each row of the output is a separate process.
"""

from __future__ import annotations

import hashlib
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from meshmap import jobs

KEYS = pa.schema([("path", pa.string()), ("size", pa.int64()), ("version", pa.string())])
DONE = pa.schema([(name, pa.string()) for name in ("path", "identity", "path_bytes", "error_kind")], {b"meshmap.schema": b"2"})
PART = 1 << 18


def make(folder: Path, count: int) -> None:
    """Writes the keys of a library, and the results of an earlier run."""
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(folder / "keys.parquet", KEYS) as keys, pq.ParquetWriter(folder / "done.parquet", DONE) as done:
        for start in range(0, count, PART):
            numbers = np.arange(start, min(count, start + PART))
            paths = pa.array([f"s3://scans-of-museums/collection/{number // 10000:05}/object-{number:09}.iqm" for number in numbers])
            versions = pa.array([hashlib.md5(str(number).encode()).hexdigest() for number in numbers])
            keys.write_table(pa.table([paths, pa.array(12_000 + numbers % 7777), versions], schema=KEYS))
            is_done = pa.array(numbers % 2 == 0)
            paths, versions = paths.filter(is_done), versions.filter(is_done)
            nothing = pa.nulls(len(paths), pa.string())
            done.write_table(pa.table([paths, versions, nothing, nothing], schema=DONE))


def peak() -> int:
    """The most memory that the process has taken."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def plan(folder: Path, is_read: bool, is_held: bool) -> None:
    """Plans, and prints what it took."""
    done = pq.read_table(folder / "done.parquet", pre_buffer=False, use_threads=False)
    keys = pq.read_table(folder / "keys.parquet", pre_buffer=False, use_threads=False) if is_read else None
    loaded = peak()
    start, cpu = time.perf_counter(), time.process_time()
    tasks = jobs.each_task(folder / "keys.parquet" if keys is None else keys, done=done, least_tasks=64)
    held = [next(tasks)]
    first = time.perf_counter() - start
    files, count = held[0].files, 1
    for task in tasks:
        files, count = files + task.files, count + 1
        if is_held:
            held.append(task)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    source = "Arrow table" if is_read else "Parquet"
    kept = "all" if is_held else "one"
    print(f"{source:12} {kept:5} {loaded / 1e6:8.0f} {peak() / 1e6:8.0f} {first:10.2f} {seconds:8.1f} {cpu:8.1f} {count:8} {files:10,}")


def main() -> None:
    if len(sys.argv) == 4:
        plan(Path(sys.argv[1]), sys.argv[2] == "True", sys.argv[3] == "True")
        return
    folder, count = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    if not (folder / "done.parquet").exists():
        make(folder, count)
    for name in ("keys", "done"):
        size = pq.ParquetFile(folder / f"{name}.parquet")
        arrow = sum(batch.nbytes for batch in size.iter_batches())
        print(f"{name}: {size.metadata.num_rows:,} rows, {arrow / 1e6:.0f} MB as an Arrow table")
    print("source       tasks   loaded     peak  first task  seconds      CPU    tasks      files   (MB, s)")
    for is_read in (False, True):
        for is_held in (False, True):
            subprocess.run([sys.executable, __file__, str(folder), str(is_read), str(is_held)], check=True)


if __name__ == "__main__":
    main()
