#!/usr/bin/env python3
"""Plans ten million keys of a simulated store, and lists the tasks: time, memory, number and size of tasks.

    crates/python/benches/listing.py [KEYS]
"""

import pickle
import resource
import sys
import time
from collections.abc import Iterator

from meshmap import RemoteUrl, _sources, jobs

KEYS = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
PREFIX = "s3://bucket/scans/"


def key(number: int) -> str:
    return f"scans/{number // 5000:05}/model {number:08}.cgeo"


def number_after(after: str) -> int:
    """The number of the first key after a key."""
    return int(after[-13:-5]) + 1 if after else 0


def list_url(url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str]]]:
    """Pages of 1,000 keys of 10 kB to 1 MB, as of a store: with an ETag for each."""
    global pages
    for first in range(number_after(after), KEYS, 1000):
        pages += 1
        numbers = range(first, min(first + 1000, KEYS))
        yield [(RemoteUrl(f"s3://bucket/{key(n)}".replace(" ", "%20")), key(n), n * 7919 % 990_000 + 10_000, f"{n:032x}") for n in numbers]


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


pages = 0
_sources._meshmap.list_url = list_url
before, start = peak(), time.perf_counter()
tasks = jobs.tasks(PREFIX, least_tasks=64)
seconds, memory, planned = time.perf_counter() - start, peak(), pages
pickled = [len(pickle.dumps(task)) for task in tasks]
print(f"{KEYS:,} keys in {planned:,} pages: {seconds:.1f} s, peak {memory:.0f} MiB, of which {before:.0f} MiB before the plan")
files = [task.files for task in tasks]
print(f"{len(tasks):,} tasks of {min(files)} to {max(files)} files, {max(task.size for task in tasks) >> 20} MiB at most")
print(f"a pickled task has {sum(pickled) // len(pickled):,} bytes on average, {max(pickled):,} at most")

start, expected = time.perf_counter(), 0
for task in tasks:
    listed = task.listed()
    assert len(listed) == task.files
    for file in listed:
        assert file.version == f"{expected:032x}", (file, expected)
        expected += 1
assert expected == KEYS
print(f"the tasks list each key once, in {time.perf_counter() - start:.1f} s and {pages - planned:,} pages")
assert memory < 200
