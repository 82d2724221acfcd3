"""Forks, threads, and what several of them do to one file."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import CORPUS, DATA

import meshmap

WATCH = 60.0


def large_cgeo(folder: Path) -> Path:
    """A proxy that is worth several threads."""
    if CORPUS and (CORPUS / "cgeo" / "large" / "anim_60k_40.cgeo").is_file():
        return CORPUS / "cgeo" / "large" / "anim_60k_40.cgeo"
    pytest.skip("needs the larger corpus")


def wait_for(process: int, seconds: float = WATCH) -> int:
    """The exit status of a child, which is killed where it hangs."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(process, 9)
    os.waitpid(process, 0)
    pytest.fail("the child hangs")


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_decodes_after_its_parent_has(tmp_path: Path) -> None:
    path = large_cgeo(tmp_path)
    file = meshmap.CGeoFile.open(path)
    snapshot = file.snapshots[3]
    mesh = file.mesh("snapshots[2]")
    expected, positions = snapshot.positions(), mesh["position"]
    cache = meshmap.SnapshotCache(1 << 28)
    cache.get(file, 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert np.array_equal(snapshot.positions(), expected)
            assert np.array_equal(file.snapshots[3].positions(), expected)
            assert np.array_equal(mesh["position"], positions)
            assert np.array_equal(cache.get(file, 3).positions, expected)
            assert np.array_equal(meshmap.CGeoFile.open(path).snapshots[3].positions(), expected)
            status = 0
        finally:
            os._exit(status)
    assert wait_for(child) == 0
    assert np.array_equal(file.snapshots[4].positions(), meshmap.CGeoFile.open(path).snapshots[4].positions())


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_forked_while_threads_decode_does_not_hang(tmp_path: Path) -> None:
    path = large_cgeo(tmp_path)
    file = meshmap.CGeoFile.open(path)
    cache = meshmap.SnapshotCache(1 << 28)
    expected = meshmap.CGeoFile.open(path).snapshots[5].positions()
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            for snapshot in meshmap.CGeoFile.open(path).snapshots:
                snapshot.positions()
                cache.clear()
                cache.get(file, snapshot.index)
                if stop.is_set():
                    break

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(12):
            time.sleep(0.02)
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    right = np.array_equal(file.snapshots[5].positions(), expected)
                    right &= np.array_equal(cache.get(file, 5).positions, expected)
                    right &= np.array_equal(meshmap.CGeoFile.open(path).mesh(5)["position"].shape[1:], (3,))
                    status = 0 if right else 2
                finally:
                    os._exit(status)
            assert wait_for(child) == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join(WATCH)


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_grandchildren_decode_too(tmp_path: Path) -> None:
    file = meshmap.CGeoFile.open(large_cgeo(tmp_path))
    expected = file.snapshots[1].positions()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert np.array_equal(file.snapshots[1].positions(), expected)
            grandchild = os.fork()
            if grandchild == 0:
                os._exit(0 if np.array_equal(file.snapshots[1].positions(), expected) else 3)
            status = wait_for(grandchild)
        finally:
            os._exit(status)
    assert wait_for(child) == 0


def first_position(path: str) -> list[float]:
    """The work of another process."""
    return [float(number) for number in meshmap.open(path).mesh(0)["position"][0]]


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_pools_of_processes_work(method: str) -> None:
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    paths = [str(DATA / "iqm" / "valid" / "skin_multi_anim.iqm")] * 4
    with multiprocessing.get_context(method).Pool(2) as pool:
        found = pool.map_async(first_position, paths).get(WATCH)
    assert found == [first_position(path) for path in paths]


def test_files_go_through_processes_by_path(iqm: Path) -> None:
    file = meshmap.open(iqm)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map_async(repr, [file]).get(WATCH) == [repr(file)]


def test_threads_share_one_file(tmp_path: Path, cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo)
    expected = [snapshot.positions().copy() for snapshot in meshmap.CGeoFile.open(cgeo).snapshots]
    wrong: list[str] = []

    def work(offset: int) -> None:
        for step in range(100):
            index = (offset + step) % len(expected)
            if not np.array_equal(file.snapshots[index].positions(), expected[index]):
                wrong.append(f"snapshot {index}")

    threads = [threading.Thread(target=work, args=(offset,)) for offset in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCH)
        assert not thread.is_alive()
    assert not wrong


def test_readers_in_python_serve_many_threads(tmp_path: Path) -> None:
    path = large_cgeo(tmp_path)
    data = path.read_bytes()
    file = meshmap.CGeoFile.open(reader=lambda start, stop: data[start:stop], size=len(data))
    expected = meshmap.CGeoFile.open(path).snapshots[9].positions()
    results: list[bool] = []

    def work() -> None:
        results.append(np.array_equal(file.snapshots[9].positions(), expected))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCH)
        assert not thread.is_alive()
    assert results == [True] * 4


ROUNDS = 12


def decode(path: Path, part: range, go: Any) -> float:
    """Seconds for some snapshots, several times, on the thread that calls this."""
    file = meshmap.CGeoFile.open(path, parallel=False, mmap=True)
    out = file.snapshots[1].positions().copy()
    go.wait(WATCH)
    start = time.perf_counter()
    for _ in range(ROUNDS):
        for index in part:
            file.snapshots[index].positions(out=out)
    return time.perf_counter() - start


def parts_of(count: int) -> list[range]:
    return [range(1 + start, 25, count) for start in range(count)]


def seconds_of_threads(path: Path, count: int) -> float:
    go = threading.Barrier(count)
    seconds = [0.0] * count

    def work(index: int, part: range) -> None:
        seconds[index] = decode(path, part, go)

    threads = [threading.Thread(target=work, args=pair) for pair in enumerate(parts_of(count))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return max(seconds)


def in_process(path: Path, part: range, go: Any, told: Any) -> None:
    told.put(decode(path, part, go))


def seconds_of_processes(path: Path, count: int) -> float:
    context = multiprocessing.get_context("spawn")
    go, told = context.Barrier(count), context.Queue()
    processes = [context.Process(target=in_process, args=(path, part, go, told)) for part in parts_of(count)]
    for process in processes:
        process.start()
    seconds: float = max(told.get(timeout=WATCH) for _ in processes)
    for process in processes:
        process.join(WATCH)
    return seconds


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two processors")
def test_two_threads_decode_snapshots_faster_than_one(tmp_path: Path) -> None:
    path = large_cgeo(tmp_path)
    best = beside = 0.0
    # Other work on the machine disturbs one attempt, hardly all.
    for _ in range(5):
        one, two = seconds_of_threads(path, 1), seconds_of_threads(path, 2)
        best = max(best, one / two)
        if best >= 1.6:
            break
        beside = max(beside, seconds_of_processes(path, 2) / two)
        if beside >= 0.85:
            break
    print(f"two threads: {best:.2f} times as fast as one, {beside:.2f} times as fast as two processes")
    assert best >= 1.6 or beside >= 0.85
