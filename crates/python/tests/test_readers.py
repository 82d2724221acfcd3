"""Readers in Python that interrupt, use their own file, or run when the interpreter ends."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import CORPUS, DATA, FORMATS, openctm_raw

import meshmap

WATCH = 30.0
SMALL = {
    "cgeo": DATA / "cgeo" / "valid" / "anim_a.cgeo",
    "iqm": DATA / "iqm" / "valid" / "skin_multi_anim.iqm",
    "slmesh": DATA / "slmesh" / "valid" / "gen_08_server_header.slmesh",
    "tmf": DATA / "tmf" / "valid" / "v021_shared_b_mask3.tmf",
}


def body(format: str) -> bytes:
    # OpenCTM: more than is read at first, and worth several threads.
    return openctm_raw(100_000) if format == "openctm" else SMALL[format].read_bytes()


class Reader(io.BytesIO):
    """A file object, and a reader of ranges, that does something in its next read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.data = data
        self.inside: Callable[[], Any] | None = None

    def _act(self) -> None:
        inside, self.inside = self.inside, None
        if inside:
            inside()

    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        self._act()
        self.seek(start)
        return super().read(size)

    def range(self, start: int, stop: int) -> bytes:
        self._act()
        return self.data[start:stop]


def opened(reader: Reader, how: str, **options: Any) -> Any:
    if how == "file object":
        return meshmap.open(reader, **options)
    return meshmap.open(reader=reader.range, size=len(reader.data), **options)


Use = tuple[str, Callable[[Any, Path], Any]]

USES: list[Use] = [
    ("validate", lambda file, folder: file.validate()),
    ("info", lambda file, folder: file.info(full=True)),
    ("arrays", lambda file, folder: [file.array(entry.address) for entry in file.arrays() if not entry.same_as]),
    ("texts", lambda file, folder: file.texts()),
    ("meshes", lambda file, folder: file.meshes()),
    ("mesh", lambda file, folder: file.mesh(0)["position"]),
    ("iteration", lambda file, folder: [mesh["position"] for mesh in file.values()]),
    ("counts", lambda file, folder: file.counts(file.keys()[0])),
    ("bounds", lambda file, folder: file.mesh(0).bounds),
    ("read", lambda file, folder: file.read()),
    ("to_lists", lambda file, folder: file.mesh(0).indices),
    ("convert", lambda file, folder: meshmap.convert(file, folder / "out.glb")),
    ("render", lambda file, folder: meshmap.render(file, size=(8, 8))),
]
CGEO: list[Use] = [
    ("positions", lambda file, folder: [snapshot.positions() for snapshot in file.snapshots]),
    ("decode", lambda file, folder: file.snapshots[5].decode()),
    ("cache", lambda file, folder: meshmap.SnapshotCache(1 << 24).get(file, 5)),
    ("positions_at", lambda file, folder: file.positions_at([0.1])),
    ("normals_at", lambda file, folder: file.normals_at([0.1])),
    ("velocities", lambda file, folder: file.velocities(1)),
]


def uses(format: str) -> list[Use]:
    return USES + (CGEO if format == "cgeo" else [])


class Own(BaseException):
    """Not an Exception."""


@pytest.mark.parametrize("how", ["file object", "reader"])
@pytest.mark.parametrize("format", FORMATS)
def test_interruptions_of_readers_pass_through_every_call(format: str, how: str, tmp_path: Path) -> None:
    data = body(format)
    count = 0
    for raised in (KeyboardInterrupt(), SystemExit(3), Own()):

        def interrupt(raised: BaseException = raised) -> None:
            raise raised

        reader = Reader(data)
        reader.inside = interrupt
        with pytest.raises(type(raised)) as caught:
            opened(reader, how)
        assert caught.value is raised
        for name, use in uses(format):
            reader = Reader(data)
            file = opened(reader, how)
            reader.inside = interrupt
            try:
                use(file, tmp_path)
            except BaseException as error:
                assert error is raised, (name, error)
                count += 1
            # Calls that need no read are not interrupted. Afterwards, the file is as before.
            reader.inside = None
            use(file, tmp_path)
    # Small files are read when they are opened, except for what is read again.
    assert count > 0


def test_interruptions_end_a_catalogue_and_are_not_rows() -> None:
    pa = pytest.importorskip("pyarrow")
    data = body("iqm")

    def read(start: int, stop: int) -> bytes:
        return data[start:stop]

    for raised in (KeyboardInterrupt("stop now"), SystemExit("stop now"), Own("stop now")):

        def interrupt(start: int, stop: int, raised: BaseException = raised) -> bytes:
            raise raised

        sources = [("a", read, len(data)), ("b", interrupt, len(data)), ("c", read, len(data))]
        for full in (False, True):
            with pytest.raises(Exception, match=f"{type(raised).__name__}: stop now"):
                pa.table(meshmap.catalog(sources, full=full))

    def broken(start: int, stop: int) -> bytes:
        raise ValueError("of the file")

    rows = pa.table(meshmap.catalog([("a", read, len(data)), ("b", broken, len(data))])).to_pylist()
    assert "ValueError: of the file" in rows[-1]["error"]


def within(seconds: float, job: Callable[[], Any]) -> Any:
    """The result of a job, unless it hangs."""
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.append(job()), daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), "it hangs"
    assert results, "it raised"
    return results[0]


def outcome(use: Callable[[Any, Path], Any], file: Any, folder: Path) -> str:
    try:
        use(file, folder)
    except meshmap.Error as error:
        assert error.kind == "io" and "the reader uses the file that it reads" in str(error), error
        return "refused"
    return "done"


@pytest.mark.parametrize("how", ["file object", "reader"])
@pytest.mark.parametrize("format", [*FORMATS, "large cgeo"])
def test_a_reader_that_uses_its_own_file_gets_an_error(format: str, how: str, tmp_path: Path) -> None:
    if format == "large cgeo":
        if not CORPUS:
            pytest.skip("needs the larger corpus")
        data, format = (CORPUS / "cgeo" / "large" / "anim_60k_40.cgeo").read_bytes(), "cgeo"
        # The calls that a renderer makes.
        calls = [*CGEO, ("mesh", lambda file, folder: file.mesh(0)["position"])]
        outer = [("decode", lambda file, folder: file.snapshots[5].decode())]
    else:
        data, calls = body(format), uses(format)
        outer = [("read", lambda file, folder: file.read()), ("info", lambda file, folder: file.info(full=True))]
    refused = 0
    for _, outside in outer:
        for name, inside in calls:
            reader = Reader(data)
            file = opened(reader, how)
            outcomes: list[str] = []
            reader.inside = lambda: outcomes.append(outcome(inside, file, tmp_path))
            assert within(WATCH, lambda: outcome(outside, file, tmp_path)) == "done", name
            refused += outcomes == ["refused"]
            assert outcome(inside, file, tmp_path) == "done", name
    assert refused >= len(calls) - 2, "calls that read are refused"


def test_a_file_object_is_not_opened_by_its_own_read() -> None:
    reader = Reader(body("openctm"))
    file = meshmap.open(reader)
    kinds: list[str] = []

    def inside() -> None:
        try:
            meshmap.open(reader)
        except meshmap.Error as error:
            kinds.append(error.kind)

    reader.inside = inside
    within(WATCH, file.read)
    assert kinds == ["io"]


EXIT = """
import io, sys, threading, time
import meshmap
kind, path = sys.argv[1:]
data = open(path, "rb").read()
inside = threading.Event()

class Slow(io.BytesIO):
    def read(self, size=-1):
        inside.set()
        time.sleep(0.002)
        return super().read(size)

def reader(start, stop):
    inside.set()
    time.sleep(0.002)
    return data[start:stop]

def paths():
    while True:
        inside.set()
        time.sleep(0.002)
        yield path

def work():
    while True:
        if kind == "path":
            inside.set()
            for snapshot in meshmap.open(path).snapshots:
                snapshot.positions()
        elif kind == "file object":
            meshmap.open(Slow(data)).validate()
        elif kind == "reader":
            meshmap.open(reader=reader, size=len(data)).info(full=True)
        elif kind == "catalogue":
            stream = meshmap.catalog([("a", reader, len(data))] * 50, full=True)
            pyarrow.table(stream)
        elif kind == "paths":
            meshmap.catalog(paths())
        elif kind == "errors":
            inside.set()
            try:
                meshmap.open(b"")
            except meshmap.Error:
                pass

class Late:
    # The interpreter takes its time to end, so that threads ask for the GIL meanwhile.
    def __del__(self, time=time.monotonic, sleep=time.sleep):
        end = time() + 0.2
        while time() < end:
            sleep(0.001)

if kind == "catalogue":
    import pyarrow
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
sys.late = Late()
inside.wait(20)
time.sleep(0.05)
print("the main thread ends", flush=True)
"""


@pytest.mark.parametrize("kind", ["path", "file object", "reader", "catalogue", "paths", "errors"])
def test_the_interpreter_ends_while_threads_are_in_calls(kind: str, cgeo: Path) -> None:
    if kind == "catalogue":
        pytest.importorskip("pyarrow")
    environment = {**os.environ, "RUST_BACKTRACE": "0"}
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", EXIT, kind, str(cgeo)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
        )
        assert (done.returncode, done.stdout, done.stderr) == (0, "the main thread ends\n", "")
