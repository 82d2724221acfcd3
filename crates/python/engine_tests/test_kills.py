"""Forty kills of the job `convert` while it writes: a rerun ends with the outputs of a run that was not killed."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import meshmap
from meshmap import jobs

ROOT = Path(__file__).resolve().parents[3]
KILLS = 40

PROGRAM = """
import sys
from meshmap import jobs
source, out = sys.argv[1:]
print("writes", flush=True)
jobs.convert(jobs.tasks(source)[0], out, base=source, to="gltf")
"""


def outputs(folder: Path) -> dict[str, bytes]:
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.name.startswith(".meshmap-outputs")]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths if path.parent.name != ".meshmap-outputs"}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    valid = [path for path in sorted((ROOT / "tests" / "data").glob("*/valid/*")) if path.suffix in (".cgeo", ".iqm", ".slmesh")]
    for number in range(300):
        path = valid[number % len(valid)]
        (folder / str(number % 5)).mkdir(exist_ok=True)
        shutil.copyfile(path, folder / str(number % 5) / f"{number:03}{path.suffix}")
    return folder


def test_killed_jobs_end_as_one_that_is_not(source: Path, tmp_path: Path) -> None:
    start = time.perf_counter()
    whole = jobs.convert(jobs.tasks(source)[0], tmp_path / "whole", base=str(source), to="gltf")
    seconds = time.perf_counter() - start
    expected = outputs(tmp_path / "whole")
    states = whole["state"].to_pylist()
    chosen, inside, parts = random.Random(7), 0, 0
    for kill in range(KILLS):
        out = tmp_path / f"{kill}"
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, source, out], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None and process.stdout.readline() == "writes\n"
        time.sleep(chosen.random() * seconds)
        process.kill()
        process.communicate()
        before = {name: data for name, data in (outputs(out) if out.exists() else {}).items()}
        left = [name for name in before if name.endswith(".part")]
        inside += 0 < len(before) < len(expected)
        parts += len(left)
        # A file that has appeared is complete.
        assert all(data == expected[name] for name, data in before.items() if name not in left)
        again = jobs.convert(jobs.tasks(source)[0], out, base=str(source), to="gltf")
        found = again["state"].to_pylist()
        assert [state == "failed" for state in found] == [state == "failed" for state in states]
        assert outputs(out) == expected
        shutil.rmtree(out)
    print(f"{KILLS} kills, {inside} of them between the first and the last output, {parts} parts swept; all outputs equal")
    assert inside >= KILLS // 2
