"""Outputs in S3: eight processes in folders of their own, killed ones, puts that fail, and what a second run requests."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pytest
from local_s3 import LocalS3

from meshmap import jobs

ROOT = Path(__file__).resolve().parents[3]
FILES = 240
PREFIX = "s3://assets/tree/"
PROCESSES = 8

PROGRAM = """
import sys
from meshmap import jobs
target, share, to = sys.argv[1], int(sys.argv[2]), sys.argv[3]
for number, task in enumerate(jobs.tasks("s3://assets/tree/", least_tasks=40)):
    if number % 8 == share:
        rows = jobs.convert(task, target, base="s3://assets/tree/", to=to)
        print(*rows["state"].to_pylist(), flush=True)
"""


class Serving(LocalS3):
    """A local S3 that refuses some requests."""

    def __init__(self) -> None:
        super().__init__()
        self.refused = ""

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Any:
        url = environ["PATH_INFO"] + "?" + environ["QUERY_STRING"]
        if self.refused and environ["REQUEST_METHOD"] == "PUT" and self.refused in url:
            self.count(environ)
            start_response("503 Slow Down", [("Content-Length", "0")])
            return [b""]
        return super().__call__(environ, start_response)

    def objects(self, prefix: str) -> dict[str, bytes]:
        """The objects below a prefix."""
        found: dict[str, bytes] = {}
        for page in self.client.get_paginator("list_objects_v2").paginate(Bucket="assets", Prefix=prefix):
            for entry in page.get("Contents", []):
                body = self.client.get_object(Bucket="assets", Key=entry["Key"])["Body"]
                found[entry["Key"].removeprefix(prefix)] = body.read()
        return found


@pytest.fixture(scope="module")
def served() -> Iterator[Serving]:
    with Serving().running() as serving:
        serving.client.create_bucket(Bucket="assets")
        valid = [path for path in sorted((ROOT / "tests" / "data").glob("*/valid/*")) if path.suffix in (".cgeo", ".iqm", ".slmesh", ".tmf")]
        for number in range(FILES):
            path = valid[number % len(valid)]
            serving.client.put_object(Bucket="assets", Key=f"tree/{number % 5}/{number:03}{path.suffix}", Body=path.read_bytes())
        serving.take()
        yield serving


def local(folder: Path, to: str) -> dict[str, bytes]:
    """The outputs of one process, in a folder."""
    (task,) = jobs.tasks(PREFIX)
    jobs.convert(task, folder, base=PREFIX, to=to)
    files = [path for path in folder.rglob("*") if path.is_file() and ".meshmap-outputs" not in str(path)]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.parametrize("to", ["glb", "gltf"])
def test_eight_processes_of_which_three_are_killed(served: Serving, tmp_path: Path, to: str) -> None:
    expected = local(tmp_path / "local", to)
    assert len(expected) > FILES // 2
    target, chosen = f"s3://assets/out-{to}", random.Random(3)

    def start(share: int) -> subprocess.Popen[str]:
        folder = tmp_path / f"process{share}"
        folder.mkdir(exist_ok=True)
        command = [sys.executable, "-c", PROGRAM, target, str(share), to]
        return subprocess.Popen(command, cwd=folder, env={**os.environ, "TMPDIR": str(folder)}, stdout=subprocess.PIPE, text=True)

    processes = [start(share) for share in range(PROCESSES)]
    killed = chosen.sample(range(PROCESSES), 3)
    for share in killed:
        assert processes[share].stdout is not None and processes[share].stdout.readline()
        time.sleep(chosen.random() / 5)
        processes[share].send_signal(signal.SIGKILL)
    states: list[str] = []
    for share, process in enumerate(processes):
        output, _ = process.communicate(timeout=300)
        assert process.returncode == (-signal.SIGKILL if share in killed else 0)
        states += output.split()
    before = served.objects(f"out-{to}/")
    # Each object is complete.
    assert all(data == expected[name] for name, data in before.items())
    for share in killed:
        process = start(share)
        assert process.communicate(timeout=300)[0] and process.returncode == 0
    assert served.objects(f"out-{to}/") == expected
    # No spool is left.
    left = [path.name for folder in tmp_path.glob("process*") for path in folder.iterdir()]
    assert left == []
    served.take()
    (task,) = jobs.tasks(PREFIX)
    again = jobs.convert(task, target, base=PREFIX, to=to)
    kinds = served.take()
    print(f"{to}: {len(before)} of {len(expected)} objects when three of eight were killed; the second run: {kinds}")
    found = Counter(again["state"].to_pylist())
    assert set(found) <= {"up_to_date", "skipped", "failed"} and found["up_to_date"] > FILES // 2
    assert again.filter(pc.equal(again["state"], "up_to_date"))["vertices"].null_count == 0
    assert kinds["LIST"] == 2 and "PUT" not in kinds and kinds["HEAD"] <= FILES
    assert not served.client.list_multipart_uploads(Bucket="assets").get("Uploads")


def test_a_put_that_fails_leaves_nothing(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHMAP_RETRIES", "0")
    source = str(ROOT / "tests" / "data" / "iqm" / "valid" / "skin_multi_anim.iqm")

    def states(to: str) -> list[tuple[str, str | None]]:
        rows = jobs.convert([source], "s3://assets/cut", to=to).to_pylist()
        return [(row["state"], row["error_kind"]) for row in rows]

    for to, refused in (("glb", ".glb"), ("gltf", ".gltf?"), ("gltf", ".bin")):
        served.refused = refused
        assert states(to) == [("failed", "io")]
        main = f"skin_multi_anim.iqm.{to}"
        assert main not in served.objects("cut/")
        served.refused = ""
        assert states(to) == [("written", None)] and main in served.objects("cut/")
        assert states(to) == [("up_to_date", None)]
        # An earlier output of one file stays; one of several is not there with files of another one.
        earlier = served.objects("cut/")[main]
        served.refused = refused
        (row,) = jobs.convert([source], "s3://assets/cut", to=to, flip=True).to_pylist()
        assert row["state"] == "failed"
        objects = served.objects("cut/")
        assert objects.get(main) == (earlier if to == "glb" else None)
        served.refused = ""
        for name in objects:
            served.client.delete_object(Bucket="assets", Key=f"cut/{name}")


def command(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "meshmap", "convert", *map(str, arguments)], capture_output=True, text=True, check=False)


def test_the_command_writes_to_stores(served: Serving, tmp_path: Path) -> None:
    valid = ROOT / "tests" / "data" / "iqm" / "valid"
    assert command(valid, "--to", "glb", "-o", tmp_path / "local").returncode == 0
    expected = {path.relative_to(tmp_path / "local").as_posix(): path.read_bytes() for path in (tmp_path / "local").rglob("*.glb")}
    served.take()
    for counts in (f"{len(expected)} files written, 0 up to date", f"0 files written, {len(expected)} up to date"):
        done = command(valid, "--to", "glb", "-o", "s3://assets/command")
        kinds = served.take()
        print(counts, kinds)
        assert done.returncode == 0 and counts in done.stdout, done.stdout + done.stderr
    assert served.objects("command/") == expected
    assert "PUT" not in kinds and kinds["LIST"] == 1
    # One output, which is always written.
    one = valid / "skin_multi_anim.iqm"
    for _ in range(2):
        done = command(one, "-o", "s3://assets/one/ä file.glb")
        assert done.returncode == 0 and "s3://assets/one/" in done.stdout, done.stdout + done.stderr
        assert served.take()["PUT"] == 1
    (name,) = served.objects("one/")
    assert served.objects("one/")[name] == expected["skin_multi_anim.glb"]
    done = command(one, "-o", "s3://no-such-bucket/x.glb")
    assert done.returncode == 1 and "s3://no-such-bucket/x.glb: " in done.stderr and "404" in done.stderr, done.stderr
    done = command(one, "-o", "https://host/x.glb")
    assert done.returncode == 2 and "objects of a store, such as S3" in done.stderr, done.stderr


def test_parts_of_long_objects(served: Serving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESHMAP_RETRIES", "0")
    large = tmp_path / "large.iqm"
    large.write_bytes(large_iqm(700_000))
    served.refused = "partNumber=2"
    (row,) = jobs.convert([large], "s3://assets/long").to_pylist()
    assert (row["state"], row["error_kind"]) == ("failed", "io"), row
    assert served.objects("long/") == {}
    assert not served.client.list_multipart_uploads(Bucket="assets").get("Uploads")
    served.refused = ""
    (row,) = jobs.convert([large], "s3://assets/long").to_pylist()
    assert row["state"] == "written", row
    jobs.convert([large], tmp_path / "local")
    assert served.objects("long/")["large.iqm.glb"] == (tmp_path / "local" / "large.iqm.glb").read_bytes()


def large_iqm(vertices: int) -> bytes:
    """An IQM file of one mesh with positions, normals and texture coordinates."""
    names = b"\0mesh\0"
    header = 124
    text, mesh = header, header + len(names) + 2
    arrays = mesh + 24
    places = arrays + 3 * 20
    sizes = [12 * vertices, 12 * vertices, 8 * vertices]
    starts = [places + sum(sizes[:number]) for number in range(3)]
    triangles = places + sum(sizes)
    end = triangles + 12 * (vertices // 3)
    numbers = [2, end, 0, len(names) + 2, text, 1, mesh, 3, vertices, arrays, vertices // 3, triangles, 0] + [0] * 14
    made = b"INTERQUAKEMODEL\0" + np.array(numbers, "<u4").tobytes()
    assert len(made) == header
    made += names + b"\0\0" + np.array([1, 0, 0, vertices, 0, vertices // 3], "<u4").tobytes()
    for kind, (components, start) in enumerate(zip((3, 2, 3), (starts[0], starts[2], starts[1]), strict=True)):
        made += np.array([kind, 0, 7, components, start], "<u4").tobytes()
    values = np.random.default_rng(1).random(8 * vertices, np.float32)
    return made + values.tobytes() + np.arange(vertices // 3 * 3, dtype="<u4").tobytes()
