"""Outputs of jobs, and URLs in place of paths, without a server."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import meshmap
from meshmap import jobs

from conftest import DATA, bad_files


def test_secrets_of_urls_are_not_shown(iqm: Path, tmp_path: Path) -> None:
    def shown(call: Callable[[], object]) -> str:
        """Everything that people see of a result, or of an error."""
        try:
            result = call()
        except Exception as error:
            return "".join(traceback.format_exception_only(error)) + repr(error) + repr(vars(error))
        return repr(result) + str(result)

    for url in ("foo://user:PASSWORD@host/a.tmf?SIGNATURE", "https://user:PASSWORD@host:99999/a.tmf?SIGNATURE#FRAGMENT"):
        calls: dict[str, Callable[[], object]] = {
            "open": lambda: meshmap.open(url),
            "open a path": lambda: meshmap.open(Path(url)),
            "map": lambda: meshmap.open(url, mmap=True),
            "find": lambda: meshmap.find(url),
            "find a path": lambda: meshmap.find(Path(url)),
            "find several": lambda: meshmap.find([url]) and None,
            "find a pattern": lambda: meshmap.find(url.replace("a.tmf", "*.tmf")),
            "task": lambda: jobs.tasks([url]),
            "rows": lambda: pa.table(meshmap.catalog([url])).to_pylist(),
            "verify": lambda: jobs.verify([url]).to_pylist(),
            "convert": lambda: jobs.convert([url], tmp_path / "out").to_pylist(),
            "convert, base": lambda: jobs.convert([str(iqm), url], tmp_path / "out", base=url).to_pylist(),
            "convert, folder": lambda: jobs.convert([str(iqm)], url).to_pylist(),
            "output": lambda: meshmap.convert(iqm, url.replace("a.tmf", "a.glb"), to="glb"),
            "output of no format": lambda: meshmap.convert(iqm, url),
            "picture": lambda: meshmap.render(iqm, url),
        }
        leaks = {name: text for name, call in calls.items() if re.search("PASSWORD|SIGNATURE|FRAGMENT", text := shown(call))}
        assert not leaks


def test_urls_print_as_in_other_languages() -> None:
    rows = json.loads((DATA / "urls" / "shown.json").read_text())
    assert len(rows) > 20
    for row in rows:
        url = meshmap.RemoteUrl(row["text"])
        assert (str(url), url.name, url.with_secrets()) == (row["shown"], row["name"], row["text"])
        assert repr(url) == f"RemoteUrl({json.dumps(row['shown'])})"
        assert f"{url}" == row["shown"] and url == pickle.loads(pickle.dumps(url))
    first, second = (meshmap.RemoteUrl(f"https://host/a?id={number}") for number in (1, 2))
    assert str(first) == str(second) and first != second and first < second and len({first, second}) == 2


def test_two_files_are_not_converted_to_one_output(iqm: Path, tmp_path: Path) -> None:
    sources = [tmp_path / folder / "m.iqm" for folder in ("a", "b")]
    for source in sources:
        source.parent.mkdir()
        shutil.copy(iqm, source)
    out = tmp_path / "out"
    with pytest.raises(ValueError, match="would both be written to") as error:
        jobs.convert([str(source) for source in sources], out)
    assert str(sources[0]) in str(error.value) and str(sources[1]) in str(error.value)
    assert not out.exists()
    # The same file twice has one output.
    rows = jobs.convert([str(sources[0])] * 2, out).to_pylist()
    assert [row["state"] for row in rows] == ["written", "written"]
    rows = jobs.convert([str(source) for source in sources], out, base=str(tmp_path)).to_pylist()
    assert [row["state"] for row in rows] == ["written", "written"]
    assert sorted(path.relative_to(out).as_posix() for path in out.glob("*/*.glb")) == ["a/m.iqm.glb", "b/m.iqm.glb"]


def test_files_of_other_tasks_are_not_converted_to_one_output(iqm: Path, tmp_path: Path) -> None:
    sources = [tmp_path / folder / "m.iqm" for folder in ("a", "b", "moved")]
    for source in sources[:2]:
        source.parent.mkdir()
        shutil.copy(iqm, source)
    first, second, moved = (str(source) for source in sources)
    out = tmp_path / "out"
    assert jobs.convert([first], out).to_pylist()[0]["state"] == "written"
    written = (out / "m.iqm.glb").read_bytes()
    row = jobs.convert([second], out).to_pylist()[0]
    assert row["state"] == "failed" and first in row["error"] and second in row["error"], row
    assert (out / "m.iqm.glb").read_bytes() == written
    assert jobs.convert([first], out).to_pylist()[0]["state"] == "up_to_date"
    # A file that was moved is the same file, and an output that was removed belongs to nobody.
    sources[0].parent.rename(sources[2].parent)
    assert jobs.convert([moved], out).to_pylist()[0]["state"] == "written"
    (out / "m.iqm.glb").unlink()
    assert jobs.convert([second], out).to_pylist()[0]["state"] == "written"
    # With a base, different files have different outputs.
    for path, base in ((moved, sources[2].parent), (second, sources[1].parent)):
        assert jobs.convert([path], out, base=str(base)).to_pylist()[0]["state"] == "written"


_TASK = """
import sys
from meshmap import jobs
print(jobs.convert([sys.argv[1]], sys.argv[2], to="gltf").to_pylist()[0]["state"])
"""


def test_two_tasks_at_once_do_not_give_one_output_to_two_files(iqm: Path, tmp_path: Path) -> None:
    sources = [tmp_path / folder / "m.iqm" for folder in ("a", "b")]
    for source in sources:
        source.parent.mkdir()
        shutil.copy(iqm, source)
    for number in range(4):
        out = str(tmp_path / f"out{number}")
        tasks = [subprocess.Popen([sys.executable, "-c", _TASK, str(source), out], stdout=subprocess.PIPE, text=True) for source in sources]
        states = [task.communicate()[0].strip() for task in tasks]
        assert "failed" in states and set(states) <= {"failed", "written"}, states
        # The same task twice does not conflict.
        twice = str(tmp_path / f"twice{number}")
        tasks = [subprocess.Popen([sys.executable, "-c", _TASK, str(sources[0]), twice], stdout=subprocess.PIPE, text=True) for _ in range(2)]
        states = [task.communicate()[0].strip() for task in tasks]
        assert set(states) <= {"written", "up_to_date"}, states
        assert jobs.convert([str(sources[0])], twice, to="gltf").to_pylist()[0]["state"] == "up_to_date"


def test_a_linked_folder_below_the_outputs_is_refused(iqm: Path, tmp_path: Path) -> None:
    (tmp_path / "in" / "sub").mkdir(parents=True)
    source = str(shutil.copy(iqm, tmp_path / "in" / "sub" / "m.iqm"))
    (tmp_path / "victim").mkdir()
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to("real")
    (tmp_path / "real" / "sub").symlink_to("../victim")
    row = jobs.convert([source], tmp_path / "out", base=str(tmp_path / "in")).to_pylist()[0]
    assert row["state"] == "failed" and "a link to another folder" in row["error"], row
    assert list((tmp_path / "victim").iterdir()) == []
    (tmp_path / "real" / "sub").unlink()
    assert jobs.convert([source], tmp_path / "out", base=str(tmp_path / "in")).to_pylist()[0]["state"] == "written"


def test_outputs_are_files_of_this_machine(iqm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("s3://bucket/out", "gs://bucket/out", "https://host/out", "file:///tmp/out", "s3a://bucket/out", "adl://bucket/out"):
        if not folder.startswith(("s3:", "gs:")):
            with pytest.raises(ValueError, match=re.escape(folder)):
                jobs.convert([str(iqm)], folder)
            with pytest.raises(ValueError, match=re.escape(folder)):
                jobs.job("convert", folder=folder)
        # The path of a URL is none of a store.
        with pytest.raises(ValueError, match="expected a folder"):
            jobs.convert([str(iqm)], Path(folder))
        with pytest.raises(ValueError, match=re.escape(folder)):
            meshmap.convert(iqm, f"{folder}/a.glb")
        with pytest.raises(ValueError, match=re.escape(folder)):
            meshmap.render(iqm, f"{folder}/a.png")
    assert list(tmp_path.iterdir()) == []


def test_failures_and_counts_are_recorded(iqm: Path, tmp_path: Path) -> None:
    files = {"mesh": iqm, "bad": next(path for path, want in bad_files() if want == "error" and path.suffix == ".iqm"), "anims": DATA / "iqm" / "valid" / "anim_only_joints.iqm"}
    sources = {name: tmp_path / f"{name}.iqm" for name in files}
    for name, path in files.items():
        shutil.copy(path, sources[name])
    paths = [str(path) for path in sources.values()]
    first = jobs.convert(paths, tmp_path / "out")
    states = first["state"].to_pylist()
    assert states[0] == "written" and states[1] == "failed" and states[2] in ("written", "skipped")
    # Nothing of the files is read again.
    stored = {path: path.read_bytes() for path in sources.values()}
    for path in sources.values():
        stamp = path.stat()
        path.write_bytes(b"x" * stamp.st_size)
        os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    second = jobs.convert(paths, tmp_path / "out")
    told = [name for name in first.schema.names if name not in ("state", "output", "identity")]
    assert second.select(told).to_pylist() == first.select(told).to_pylist()
    assert second["state"].to_pylist() == [{"written": "up_to_date"}.get(state, state) for state in states]
    assert second["vertices"][0].as_py() > 0
    # Another version of the file, or another limit, is tried again.
    sources["bad"].write_bytes(stored[sources["mesh"]])
    assert jobs.convert(paths, tmp_path / "out")["state"].to_pylist()[1] == "written"
    sources["mesh"].write_bytes(stored[sources["mesh"]])
    small = jobs.convert(paths[:1], tmp_path / "small", max_total_bytes=100)
    assert small["error_kind"].to_pylist() == ["limit_exceeded"] and "max_total_bytes=" in small["error"][0].as_py()
    limited = [jobs.convert(paths[:1], tmp_path / "small", max_total_bytes=most)["state"][0].as_py() for most in (100, 100, None, 100)]
    assert limited == ["failed", "failed", "written", "up_to_date"]


def test_the_memory_for_a_file_is_limited(iqm: Path) -> None:
    for table in (
        jobs.verify([iqm], max_total_bytes=1000),
        jobs.catalog([iqm], full=True, max_total_bytes=1000),
        jobs.catalog([iqm], geometry=True, max_total_bytes=1000),
    ):
        kinds = set(table["error_kind"].to_pylist()) - {None}
        assert kinds == {"limit_exceeded"}, table.to_pylist()


def test_messages_about_limits_name_no_option_of_the_command() -> None:
    """They are made where tables and the command share their code."""
    attacks = sorted(path for path in (DATA.parent / "attack").iterdir() if path.suffix != ".txt")
    rows = []
    for full in (False, True):
        rows += pa.table(meshmap.catalog(attacks, full=full, max_total_bytes=20_000)).to_pylist()
    errors = [row["error"] for row in rows if row["error_kind"] == "limit_exceeded"]
    assert [error for error in errors if error.endswith(" rows; raise it with max_total_bytes=")], errors
    assert not [error for error in errors if "--" in error]
