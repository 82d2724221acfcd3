"""The files of the tests: files of the repository, and the larger corpus if MESHMAP_CORPUS names it."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "tests" / "data"
CORPUS = Path(os.environ["MESHMAP_CORPUS"]) if os.environ.get("MESHMAP_CORPUS") else None
FORMATS = ("cgeo", "iqm", "openctm", "slmesh", "tmf")


def roots() -> list[Path]:
    return [DATA, *([CORPUS] if CORPUS else [])]


def valid_files(large: bool = True) -> list[tuple[Path, Path]]:
    """Files that must be read, each with its expectation."""
    found = []
    for root in roots():
        for kind in ("valid", "large") if large else ("valid",):
            for expected in sorted(root.glob(f"*/{kind}/**/*.expect.json")):
                base = expected.name.removesuffix(".expect.json")
                files = [expected.with_name(base)]
                files += [path for path in expected.parent.glob(glob_escape(base) + ".*") if path.suffix != ".json"]
                files = [path for path in files if path.is_file() and path != expected]
                if files:
                    found.append((files[0], expected))
    return found


def glob_escape(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def bad_files() -> list[tuple[Path, str]]:
    """Files that must be refused, or may be either."""
    found = []
    for root in roots():
        for cases in sorted(root.glob("*/bad/**/CASES.json")):
            for name, case in sorted(json.loads(cases.read_text()).items()):
                path = cases.with_name(name)
                if path.is_file():
                    found.append((path, case["want"]))
    return found


def one(pattern: str) -> Path:
    """The file of the repository that a pattern names."""
    path = sorted(DATA.glob(pattern))
    assert path, f"no file in the repository is {pattern}"
    return path[0]


@pytest.fixture
def iqm() -> Path:
    return DATA / "iqm" / "valid" / "skin_multi_anim.iqm"


@pytest.fixture
def cgeo() -> Path:
    return DATA / "cgeo" / "valid" / "anim_a.cgeo"


def openctm_raw(vertices: int) -> bytes:
    """An OpenCTM file of any size, method RAW."""
    positions = np.random.default_rng(vertices).random((vertices, 3), np.float32)
    triangles = np.stack([np.arange(vertices - 2) + step for step in range(3)], axis=1).astype("<u4")
    header = b"OCTM" + struct.pack("<I", 5) + b"RAW\0" + struct.pack("<IIIII", vertices, len(triangles), 0, 0, 0)
    return header + struct.pack("<I", 0) + b"INDX" + triangles.tobytes() + b"VERT" + positions.astype("<f4").tobytes()
