"""The Python examples of README.md and of the part of engines.md about Polars and DuckDB run, statement by statement."""

from __future__ import annotations

import ast
import importlib
import io
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from conftest import DATA

import meshmap

PAGES = Path(__file__).parent.parent
#: Packages that may be missing, and calls that need a screen, a cluster or a package that is too large for the tests.
OPTIONAL = "duckdb meshio polars pyarrow pyvista trimesh".split()
NOT_RUN = ("mesh.plot()", "mesh.to_open3d()", "spark.read", "s3://")
#: Number of statements of each page that run if all optional packages are there.
EXPECTED = {"README.md": 50, "engines.md": 6}


class Changed(ast.NodeTransformer):
    """The examples with the files of the tests, which are shorter."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value == b"...":
            return ast.Name("content", ast.Load())
        # The index of a snapshot. The file of the tests has 12.
        return ast.Constant(11) if type(node.value) is int and node.value == 12 else node


def statements(page: str) -> list[ast.stmt]:
    text = (PAGES / page).read_text()
    if page == "engines.md":
        text = text[: text.index("## Ray")]
    found: list[ast.stmt] = []
    for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        for statement in ast.parse(block).body:
            # Each part of `a, b, c` is an example.
            parts = statement.value.elts if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Tuple) else [statement]
            found += [part if isinstance(part, ast.stmt) else ast.Expr(part) for part in parts]
    return found


def names(folder: Path) -> dict[str, Any]:
    """The names that the pages leave to the reader's program."""
    wave = folder / "wave.cgeo"
    store = SimpleNamespace(
        head=lambda name: {"size": (folder / name).stat().st_size},
        get_range=lambda name, start, end: (folder / name).read_bytes()[start:end],
    )
    file = meshmap.open(wave)
    assert file.format == "cgeo"
    found: dict[str, Any] = {
        "meshmap": meshmap,
        "content": wave.read_bytes(),
        "binary": wave.open("rb"),
        "read": lambda start, stop: wave.read_bytes()[start:stop],
        "size": wave.stat().st_size,
        "store": store,
        "writable": io.BytesIO(),
        "array": np.empty_like(file.snapshots[11].positions()),
        "other": meshmap.open(DATA / "iqm/valid/skin_multi_anim.iqm"),
    }
    for name in OPTIONAL:
        try:
            found[name] = importlib.import_module(name)
        except ImportError:
            continue
    return found


@pytest.mark.parametrize("page", EXPECTED)
def test_the_examples_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "wave.cgeo": "cgeo/valid/anim_a.cgeo",
        "walker.iqm": "iqm/valid/skin_multi_anim.iqm",
        "scan.ctm": "openctm/valid/cyl_MG2_multi.ctm",
        "assets/skin.iqm": "iqm/valid/skin_multi_anim.iqm",
        "assets/tree.slmesh": "slmesh/valid/nodemv_02_static_4lod.slmesh",
        "assets/cube.tmf": "tmf/valid/v021_custom_3meshes.tmf",
        "assets/wave.cgeo": "cgeo/valid/anim_a.cgeo",
        "assets/scan.ctm": "openctm/valid/cyl_MG2_multi.ctm",
    }
    (tmp_path / "assets").mkdir()
    for name, source in files.items():
        shutil.copyfile(DATA / source, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    space = names(tmp_path)
    ran, left_out = 0, []
    for statement in statements(page):
        text = ast.unparse(statement)
        needed = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        if "meshmap.jobs" in text:
            needed.add("pyarrow")
        if any(part in text for part in NOT_RUN) or (needed & set(OPTIONAL)) - set(space):
            left_out.append(text)
            continue
        module = ast.fix_missing_locations(ast.Module([Changed().visit(statement)], []))
        if isinstance(statement, ast.If):
            # The parts of each format.
            for name in files:
                space["file"] = meshmap.open(name)
                exec(compile(module, page, "exec"), space)  # noqa: S102
        else:
            exec(compile(module, page, "exec"), space)  # noqa: S102
        ran += 1
    if all(name in space for name in OPTIONAL):
        assert ran == EXPECTED[page], left_out
