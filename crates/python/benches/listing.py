#!/usr/bin/env python3
"""Plans ten million keys of a simulated store, and lists the tasks: time, memory, number and size of tasks.

    crates/python/benches/listing.py [KEYS [MILLISECONDS]]

A page takes MILLISECONDS, by default 0.
"""

import pickle
import resource
import sys
import time
from collections.abc import Iterator

from meshmap import RemoteUrl, _sources, jobs

KEYS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
LATENCY = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.0
PREFIX = "s3://bucket/scans/"


def key(number: int) -> str:
    return f"scans/{number // 5000:05}/model {number:08}.cgeo"


def number_after(after: str) -> int:
    """The number of the first key after a key."""
    if not after:
        return 0
    return int(after.split("/")[1]) * 5000 if after.endswith("/") else int(after[-13:-5]) + 1


def list_url(url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str]]]:
    """Pages of 1,000 keys of 10 kB to 1 MB, as of a store: with an ETag for each."""
    global pages
    for first in range(number_after(after), KEYS, 1000):
        pages += 1
        time.sleep(LATENCY)
        numbers = range(first, min(first + 1000, KEYS))
        yield [(RemoteUrl(f"s3://bucket/{key(n)}".replace(" ", "%20")), key(n), n * 7919 % 990_000 + 10_000, f"{n:032x}") for n in numbers]


def boundaries_of_url(url: RemoteUrl, after: str) -> list[str]:
    """128 of the folders."""
    folders = range(number_after(after) // 5000 + 1, (KEYS + 4999) // 5000)
    return [f"scans/{folder:05}/" for folder in folders[:: max(-(-len(folders) // 128), 1)]]


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


pages = 0
_sources._meshmap.list_url = list_url
_sources._meshmap.boundaries_of_url = boundaries_of_url
before, start, cpu = peak(), time.perf_counter(), time.process_time()
each = jobs.each_task(PREFIX, least_tasks=64)
tasks = [next(each)]
print(f"the first task after {time.perf_counter() - start:.2f} s and {pages} pages")
tasks.extend(each)
seconds, memory, planned = time.perf_counter() - start, peak(), pages
cpu = time.process_time() - cpu
pickled = [len(pickle.dumps(task)) for task in tasks]
print(f"{KEYS:,} keys in {planned:,} pages: {seconds:.1f} s, {cpu:.1f} s of CPU, peak {memory:.0f} MiB, of which {before:.0f} MiB before the plan")
files = [task.files for task in tasks]
print(f"{len(tasks):,} tasks of {min(files)} to {max(files)} files, {max(task.size for task in tasks) >> 20} MiB at most")
print(f"a pickled task has {sum(pickled) // len(pickled):,} bytes on average, {max(pickled):,} at most")

LATENCY, start, seen = 0.0, time.perf_counter(), bytearray(KEYS)
for task in tasks:
    listed = task.listed()
    assert len(listed) == task.files
    for file in listed:
        seen[int(file.version, 16)] += 1
assert seen == bytes([1]) * KEYS
print(f"the tasks list each key once, in {time.perf_counter() - start:.1f} s and {pages - planned:,} pages")
assert memory < 200
