"""The stubs accept and refuse what they should, for mypy and for pyright; and the examples of the README."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STATEMENTS = HERE / "typing" / "statements.py"


def refused_by_mypy(path: Path) -> set[int]:
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--no-error-summary", "--follow-imports=silent", str(path)]
    # From a folder without a configuration.
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent)
    assert done.returncode in (0, 1), done.stderr
    lines = re.findall(rf"{re.escape(path.name)}:(\d+): error", done.stdout)
    return {int(line) for line in lines}


def refused_by_pyright(path: Path) -> set[int]:
    if shutil.which("node") is None:
        pytest.skip("pyright needs Node.js")
    pytest.importorskip("pyright")
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent)
    assert done.stdout.startswith("{"), done.stdout + done.stderr
    told = json.loads(done.stdout)["generalDiagnostics"]
    return {line["range"]["start"]["line"] + 1 for line in told if line["severity"] == "error"}


CHECKERS = pytest.mark.parametrize("refused", [refused_by_mypy, refused_by_pyright])


@CHECKERS
def test_the_stubs_accept_and_refuse(refused) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    lines = STATEMENTS.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    assert len(expected) >= 15
    found = refused(STATEMENTS)
    assert found == expected, [lines[number - 1] for number in sorted(found ^ expected)]


#: Names of the reader's program, which may be anything.
ANYTHING = "array binary duckdb meshio other polars pyarrow pyvista read size spark store train trimesh writable".split()


@CHECKERS
@pytest.mark.parametrize("page", ["README.md", "engines.md", "ten-million-files.md"])
def test_examples_of_the_pages_have_types(refused, page: str, tmp_path: Path) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001
    """Parts of a page follow one another."""
    blocks = re.findall(r"```python\n(.*?)```", (HERE.parent / page).read_text(), re.DOTALL)
    assert len(blocks) >= 4
    program = tmp_path / "page.py"
    start = ["import meshmap", "from typing import Any", "def anything() -> Any: ..."]
    program.write_text("\n".join([*start, *(f"{name} = anything()" for name in ANYTHING), *blocks]))
    wrong = refused(program)
    lines = program.read_text().splitlines()
    # The engines need not be installed.
    wrong = {number for number in wrong if not re.match("import (meshmap[.](ray|spark)|polars)", lines[number - 1])}
    assert not wrong, [lines[number - 1] for number in sorted(wrong)]
