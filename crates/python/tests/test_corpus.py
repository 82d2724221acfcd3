"""Every valid file decodes to what its expectation says, and every bad one is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import bad_files, valid_files
from digest import digest, listed

import meshmap

VALID = valid_files()


class Ranges:
    """The behaviour of a store."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __call__(self, start: int, stop: int) -> bytes:
        return self.data[start:stop]


def differences(path: Path, expected: Path, **options: object) -> list[str]:
    """The parts of a file that are not as expected."""
    wanted = json.loads(expected.read_text(encoding="utf-8"))
    found = digest(meshmap.open(path, **options))  # type: ignore[arg-type]
    wrong = [
        f"{path.name}: {name}: expected {wanted['arrays'].get(name)}, found {found.arrays.get(name)}"
        for name in sorted({*wanted["arrays"], *found.arrays})
        if wanted["arrays"].get(name) != found.arrays.get(name)
    ]
    if "strings" in wanted and wanted["strings"] != found.strings:
        wrong.append(f"{path.name}: strings: expected {wanted['strings']}, found {found.strings}")
    return wrong


def test_there_are_files_of_every_format() -> None:
    assert {path.parts[-3] for path, _ in VALID} >= {"cgeo", "iqm", "openctm", "slmesh", "tmf"}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("format", ["cgeo", "iqm", "openctm", "slmesh", "tmf"])
def test_digests_of_valid_files_are_the_expected_ones(format: str, mmap: bool) -> None:
    files = [pair for pair in VALID if pair[0].parts[-3] == format]
    wrong = [line for path, expected in files for line in differences(path, expected, mmap=mmap)]
    assert not wrong, "\n".join(wrong[:20])
    print(f"{len(files)} files of {format}")


def test_the_table_of_arrays_lists_what_the_accessors_return() -> None:
    for path, _ in VALID:
        with meshmap.open(path) as file:
            by_table, by_accessors = listed(file), digest(file)
            assert by_table.arrays == by_accessors.arrays, path
            assert by_table.strings == by_accessors.strings, path
            with pytest.raises(KeyError):
                file.array("nothing")


def test_valid_files_from_memory_and_from_a_reader_are_the_same() -> None:
    for path, expected in VALID:
        bytes_ = path.read_bytes()
        if len(bytes_) > 1 << 20:
            continue
        wanted = json.loads(expected.read_text(encoding="utf-8"))["arrays"]
        assert digest(meshmap.open(bytes_)).arrays == wanted, path
        reader = Ranges(bytes_)
        assert digest(meshmap.open(reader=reader, size=len(bytes_))).arrays == wanted, path


BAD = r"""
import resource, sys, json
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
import numpy, meshmap
resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
sys.path.insert(0, FOLDER)
from conftest import bad_files
from digest import digest
counts = {"error": 0, "read": 0}
wrong = []
for path, want in bad_files():
    for mmap in (False, True):
        try:
            file = meshmap.open(path, mmap=mmap)
            repr(file)
            digest(file)
        except (meshmap.Error, OSError) as error:
            counts["error"] += 1
            if want == "ok":
                wrong.append(f"{path}: refused: {error}")
            if isinstance(error, meshmap.Error) and "\n" in str(error):
                wrong.append(f"{path}: more than one line: {error}")
        except BaseException as error:
            wrong.append(f"{path}: {type(error).__name__}: {error}")
        else:
            counts["read"] += 1
            if want == "error":
                wrong.append(f"{path}: read")
        try:
            file = meshmap.open(path, mmap=mmap)
            file.info()
            file.findings
            for entry in file.meshes()[:200]:
                try:
                    mesh = file.mesh(entry.address)
                    mesh.indices, mesh.bounds, mesh.groups
                    for name in mesh:
                        mesh.raw(name), mesh[name]
                except (meshmap.Error, OSError):
                    pass
            file.validate()
        except (meshmap.Error, OSError):
            pass
        except BaseException as error:
            wrong.append(f"{path}: meshes: {type(error).__name__}: {error}")
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps({"counts": counts, "wrong": wrong, "peak_kib": peak}))
"""


def test_the_whole_bad_corpus_in_one_process_raises_and_nothing_else() -> None:
    script = BAD.replace("BYTES", str(3 << 30)).replace("FOLDER", repr(str(Path(__file__).parent)))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=500, env={**os.environ}, check=False
    )
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}"
    result = json.loads(done.stdout.splitlines()[-1])
    print(len(bad_files()), "bad files:", result["counts"], "peak", result["peak_kib"], "KiB")
    assert not result["wrong"], "\n".join(result["wrong"][:20])
    assert result["counts"]["error"] > 50
