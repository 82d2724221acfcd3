"""Files that are worked on in separate processes."""

from __future__ import annotations

import os
import signal
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

import meshmap
from meshmap import _isolated, jobs
from meshmap._isolated import Isolated, Killed
from meshmap._sources import File

import poison
from conftest import DATA

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and pipes of Unix")


def run(names: list[str], tmp_path: Path, limits: Isolated) -> dict[str, str]:
    """The name that the work returns for each file, or why there is none."""
    files = [File(str(tmp_path / name)) for name in names]
    made = {}
    for file, rows in _isolated.each(poison.work, files, limits):
        made[Path(str(file.path)).name] = rows.error if isinstance(rows, Killed) else rows["name"][0].as_py()
    return made


def test_a_file_that_ends_its_process_is_one_row(tmp_path: Path) -> None:
    names = ["a", "kill", "b", "exit", "once", "print", "c"]
    made = run(names, tmp_path, Isolated(max_bytes=1 << 30))
    assert list(made) == names
    assert [made[name] for name in ("a", "b", "once", "print", "c")] == ["a", "b", "once", "print", "c"]
    assert made["kill"].startswith("the process that worked on the file was ended by the signal SIGKILL, 2 times; the memory")
    assert "ended with status 3, 2 times" in made["exit"]


def test_attempts_time_and_memory_are_limited(tmp_path: Path) -> None:
    made = run(["once", "wait", "a"], tmp_path, Isolated(seconds=3, attempts=1))
    assert "ended with status 3; the memory" in made["once"]
    assert "took more than 3 seconds; the memory" in made["wait"] and made["a"] == "a"
    if sys.platform == "linux":
        small = run(["memory", "a"], tmp_path, Isolated(max_bytes=100 << 20))
        assert "SIGABRT, 2 times; the memory it may take is 104,857,600 bytes" in small["memory"] and small["a"] == "a"
        assert run(["memory"], tmp_path, Isolated(max_bytes=2 << 30)) == {"memory": "memory"}
    for wrong in ({"max_bytes": 0}, {"seconds": 0}, {"attempts": 0}):
        with pytest.raises(ValueError, match="above 0"):
            Isolated(**wrong)


def test_what_the_work_raises_is_raised(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="raise is bad"):
        run(["a", "raise"], tmp_path, Isolated())


def test_no_process_stays(tmp_path: Path) -> None:
    rows = _isolated.each(poison.work, [File(str(tmp_path / name)) for name in "abc"], Isolated())
    next(rows)
    children = subprocess.run(["pgrep", "-P", str(os.getpid())], capture_output=True, text=True, check=False).stdout.split()
    assert children
    rows.close()
    deadline = time.monotonic() + 5
    while any(Path(f"/proc/{child}").exists() for child in children) and sys.platform == "linux":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_rows_are_those_of_one_process(tmp_path: Path) -> None:
    sources = [str(DATA / name / "valid") for name in ("iqm", "cgeo", "tmf")] + [str(DATA / "iqm" / "bad"), str(tmp_path / "gone.iqm")]
    files = meshmap.find(sources[:-1])[::7] + sources[-1:]
    for name in ("catalog", "verify"):
        whole, each = (getattr(jobs, name)(files, isolated=isolated) for isolated in (None, Isolated()))
        assert each.schema.equals(whole.schema, check_metadata=True)
        assert each.to_pylist() == whole.to_pylist()
    whole, each = (jobs.convert(files[:20], tmp_path / str(n), isolated=isolated, base=str(DATA)) for n, isolated in enumerate([None, Isolated()]))
    assert each.drop_columns(["output", "error"]).to_pylist() == whole.drop_columns(["output", "error"]).to_pylist()
    outputs = [sorted(path.relative_to(tmp_path / n).as_posix() for path in (tmp_path / n).rglob("*.glb")) for n in "01"]
    assert outputs[0] == outputs[1] and len(outputs[0]) > 5


def kill_all_readers(pipe: Path, is_ended: threading.Event) -> None:
    """Ends each process that opens a pipe."""
    while not is_ended.is_set():
        try:
            writer = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.01)
            continue
        # The process reads until the pipe is closed here.
        while not is_ended.is_set() and not (victims := readers(pipe)):
            time.sleep(0.01)
        for victim in victims:
            os.kill(victim, signal.SIGKILL)
        os.close(writer)


def readers(pipe: Path) -> list[int]:
    """The other processes that have opened a pipe."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(entry) == str(pipe) and int(entry.parts[2]) != os.getpid():
                found.append(int(entry.parts[2]))
        except OSError:
            continue
    return found


@pytest.fixture
def pipe(tmp_path: Path) -> Iterator[Path]:
    """A file that ends each process that reads it."""
    path = tmp_path / "poison.cgeo"
    os.mkfifo(path)
    is_ended = threading.Event()
    killer = threading.Thread(target=kill_all_readers, args=(path, is_ended))
    killer.start()
    yield path
    is_ended.set()
    killer.join()


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found by /proc")
@pytest.mark.parametrize("name", ["catalog", "verify"])
def test_a_poisoned_file_is_one_row_of_each_job(name: str, pipe: Path, iqm: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.iqm"
    shutil.copy(iqm, other)
    job, schema = jobs.job(name, isolated=Isolated())  # type: ignore[arg-type]
    table = job([str(iqm), str(pipe), str(other)])
    assert table.schema.equals(schema, check_metadata=True)
    rows = {row["path"]: row for row in table.to_pylist()}
    assert set(rows) == {str(iqm), str(pipe), str(other)}
    assert [row["error_kind"] for row in rows.values()] == [None, "killed_worker", None]
    assert "SIGKILL, 2 times" in rows[str(pipe)]["error"]
    if name == "verify":
        assert [row["passes"] for row in rows.values()] == [True, False, True]
    parquet = pa.BufferOutputStream()
    pa.parquet.write_table(table, parquet)


def test_a_conversion_that_ends_its_process_is_recorded(iqm: Path, tmp_path: Path) -> None:
    def converted(isolated: Isolated | None) -> tuple[str, str | None]:
        (row,) = jobs.convert([iqm], tmp_path / "out", isolated=isolated).to_pylist()
        return row["state"], row["error_kind"]

    short = Isolated(seconds=1e-9)
    assert converted(short) == ("failed", "killed_worker")
    for again in (None, short, Isolated(seconds=1e-9, max_bytes=1 << 30)):
        assert converted(again) == ("failed", "killed_worker")
    # Higher limits are a reason to try again.
    assert converted(Isolated()) == ("written", None)
    assert converted(None) == ("up_to_date", None)
