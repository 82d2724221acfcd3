"""The kinds of sources, the ways to open them, and the facts about files."""

from __future__ import annotations

import gc
import io
import json
import mmap
import pickle
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import DATA, openctm_raw, valid_files

import meshmap


def test_paths_bytes_buffers_and_file_objects_give_the_same(iqm: Path) -> None:
    data = iqm.read_bytes()
    expected = meshmap.open(iqm).mesh(0)["position"]
    with iqm.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        sources: list[Any] = [str(iqm), data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8), mapped, opened]
        sources += [io.BytesIO(data), io.BufferedReader(io.BytesIO(data))]
        for source in sources:
            np.testing.assert_array_equal(meshmap.open(source).mesh(0)["position"], expected)


def test_a_buffer_is_read_in_place_if_the_caller_asks_for_it(iqm: Path) -> None:
    expected = meshmap.open(iqm).mesh(0)["position"].copy()
    with iqm.open("rb") as opened:
        mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    memory = np.frombuffer(mapped, np.uint8)
    file = meshmap.open(mapped, mmap=True)
    position = file.mesh(0)["position"]
    np.testing.assert_array_equal(position, expected)
    assert np.shares_memory(position, memory)
    assert not np.shares_memory(meshmap.open(mapped).mesh(0)["position"], memory)
    del file, memory
    # The map stays as long as an array of it.
    with pytest.raises(BufferError):
        mapped.close()
    del position
    gc.collect()
    mapped.close()
    # Elements that are not next to each other are copied.
    apart = np.repeat(np.frombuffer(iqm.read_bytes(), np.uint8), 2)[::2]
    np.testing.assert_array_equal(meshmap.open(apart, mmap=True).mesh(0)["position"], expected)


def test_a_reader_answers_ranges(iqm: Path) -> None:
    data = iqm.read_bytes()
    asked = []

    def read(start: int, stop: int) -> bytes:
        asked.append((start, stop))
        return data[start:stop]

    file = meshmap.open(reader=read, size=len(data))
    np.testing.assert_array_equal(file.mesh(0)["position"], meshmap.open(iqm).mesh(0)["position"])
    assert asked and all(0 <= start < stop <= len(data) for start, stop in asked)
    assert file.read_stats == (len(asked), sum(stop - start for start, stop in asked))


def test_a_reader_of_unknown_size_works(iqm: Path) -> None:
    data = iqm.read_bytes()
    file = meshmap.open(reader=lambda start, stop: memoryview(data)[start:stop])
    assert len(file) == len(meshmap.open(iqm))


def test_what_a_reader_raises_comes_through() -> None:
    class Broken(Exception):
        pass

    raised = Broken("the store is gone")
    data = openctm_raw(100_000)
    works = True

    def read(start: int, stop: int) -> bytes:
        if not works:
            raise raised
        return data[start:stop]

    works = False
    with pytest.raises(Broken) as caught:
        meshmap.open(reader=read, size=len(data))
    assert caught.value is raised
    works = True
    file = meshmap.open(reader=read, size=len(data))
    assert isinstance(file, meshmap.OpenCtmFile)
    body = file.bodies[0]
    works = False
    for ask in (lambda: body.positions, body.decode, lambda: file.mesh(0)["position"], file.validate):
        with pytest.raises(Broken) as caught:
            ask()
        assert caught.value is raised
    works = True
    assert body.positions.shape == (100_000, 3)


def test_a_reader_that_gives_no_bytes_is_an_error() -> None:
    with pytest.raises((TypeError, BufferError)):
        meshmap.open(reader=lambda start, stop: "text", size=100)  # type: ignore[arg-type, return-value]


def test_a_reader_that_interrupts_is_not_swallowed() -> None:
    def read(start: int, stop: int) -> bytes:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        meshmap.open(reader=read, size=100)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (((), {}), TypeError),
        ((("a",), {"reader": len}), TypeError),
        ((("a",), {"size": 1}), TypeError),
        (((), {"reader": 1}), TypeError),
        (((io.BytesIO(),), {"mmap": True}), ValueError),
        (((1,), {}), TypeError),
        ((("/nonexistent/file.iqm",), {}), FileNotFoundError),
        (((b"nothing of the kind",), {}), meshmap.Error),
    ],
)
def test_wrong_arguments_are_refused(arguments: tuple[Any, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        meshmap.open(*arguments[0], **arguments[1])


def test_a_missing_file_is_an_os_error_with_its_name() -> None:
    with pytest.raises(FileNotFoundError) as caught:
        meshmap.open("/nonexistent/file.iqm")
    assert caught.value.filename == "/nonexistent/file.iqm"
    assert caught.value.errno == 2


def test_errors_have_fields(iqm: Path) -> None:
    with pytest.raises(meshmap.Error) as caught:
        meshmap.open(iqm.read_bytes()[:60])
    error = caught.value
    assert (error.kind, error.format, error.byte_range) == ("truncated", "iqm", (0, 124))
    assert str(error) == "iqm: iqmheader (0x0..0x7c) is cut off: expected 124 bytes, found 60"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.kind, again.byte_range) == (str(error), error.kind, error.byte_range)


def test_strict_refuses_what_is_forbidden() -> None:
    refused = tolerated = 0
    for path, _ in valid_files(large=False):
        file = meshmap.open(path)
        if any(finding.severity == "forbidden" for finding in file.validate()):
            tolerated += 1
            with pytest.raises(meshmap.Error):
                meshmap.open(path, strict=True)
            refused += 1
    assert refused == tolerated


def test_limits_are_kept(cgeo: Path) -> None:
    file = meshmap.CGeoFile.open(cgeo, max_total_bytes=100, max_block_bytes=100)
    with pytest.raises(meshmap.Error) as caught:
        file.snapshots[0].positions()
    assert caught.value.kind == "limit_exceeded"


def test_a_closed_file_refuses_and_its_meshes_do_not(iqm: Path) -> None:
    with meshmap.open(iqm) as file:
        mesh = file.mesh(0)
        assert not file.closed
    assert file.closed and "closed" in repr(file)
    with pytest.raises(ValueError, match="closed"):
        file.mesh(0)
    assert len(mesh["position"]) == mesh.vertex_count


def test_files_are_mappings_of_meshes(iqm: Path) -> None:
    file = meshmap.open(iqm)
    assert list(file) == list(file.keys()) == [entry.address for entry in file.meshes()]
    assert len(file) == len(list(file.values())) == len(dict(file.items()))
    first = next(iter(file))
    assert first in file and "nothing" not in file and 0 not in file
    assert file[first].address == file[0].address == file.mesh().address == file[-len(file)].address
    name = file.meshes()[0].name
    assert name and file[name].address == first
    wrong: list[tuple[Any, type[Exception]]] = [("nothing[", KeyError), (len(file), IndexError), (1.5, TypeError)]
    for key, error in wrong:
        with pytest.raises(error):
            file[key]
    for key in ("meshes[999]", "nothing", "anims[0]"):
        with pytest.raises(KeyError):
            file[key]
        assert file.get(key) is None and file.get(key, 1) == 1
    # The method names the address and its range.
    with pytest.raises(meshmap.Error, match="expected meshes"):
        file.mesh("meshes[999]")
    assert isinstance(file, Mapping) and isinstance(file.mesh(), Mapping)


def test_meshes_are_mappings_of_arrays(iqm: Path) -> None:
    mesh = meshmap.open(iqm).mesh(0)
    assert set(mesh) == set(mesh.keys()) == set(dict(mesh.items())) == set(mesh.formats)
    assert len(mesh) == len(mesh.values())
    assert "position" in mesh and "nothing" not in mesh
    assert mesh.get("nothing") is None and mesh.get("nothing", 1) == 1
    with pytest.raises(KeyError):
        mesh["nothing"]
    assert mesh["position"].dtype == np.float32 and mesh["position"].shape == (mesh.vertex_count, 3)
    assert mesh.indices.shape == (mesh.triangle_count, 3) and mesh.indices.max() < mesh.vertex_count
    assert mesh.bounds is not None
    np.testing.assert_array_equal(mesh.bounds, [mesh["position"].min(0), mesh["position"].max(0)])
    assert mesh["joints"].dtype == np.uint8
    weights = mesh["weights"]
    assert weights.dtype == np.float32 and mesh.raw("weights").dtype == np.uint8
    np.testing.assert_array_equal(weights, (mesh.raw("weights") / np.float32(255)).astype(np.float32))


def test_groups_cover_all_triangles() -> None:
    mesh = meshmap.open(DATA / "cgeo" / "valid" / "ids_edges_a.cgeo").mesh(0)
    sorted_ = mesh.by_material()
    assert sum(end - start for start, end in (group.triangles for group in sorted_.groups)) == mesh.triangle_count
    assert len({group.material for group in sorted_.groups}) == len(sorted_.groups)
    assert mesh.material_ids is not None and len(mesh.material_ids) == mesh.triangle_count


def test_repr_says_what_a_file_is(iqm: Path, cgeo: Path) -> None:
    assert "IqmFile" in repr(meshmap.open(iqm)) and "IQM 2" in repr(meshmap.open(iqm))
    assert "12 snapshots" in repr(meshmap.open(cgeo))
    assert "memory" in repr(meshmap.open(cgeo.read_bytes()))


def test_info_is_the_object_of_the_command(iqm: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "meshmap", "info", "--json", str(iqm)], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == meshmap.open(iqm).info()


def test_the_command_runs_and_fails_as_the_binary_does(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "meshmap"]
    assert subprocess.run([*run, "--version"], capture_output=True, text=True, check=True).stdout.startswith("meshmap ")
    bad = tmp_path / "bad.iqm"
    bad.write_bytes(b"INTERQUAKEMODEL\0")
    assert subprocess.run([*run, "info", str(bad)], capture_output=True, check=False).returncode == 1
    assert subprocess.run([*run, "nonsense"], capture_output=True, check=False).returncode == 2


def test_files_are_pickled_by_what_they_were_opened_from(iqm: Path) -> None:
    for source, options in ((iqm, {"mmap": True, "parallel": False}), (iqm.read_bytes(), {"strict": False})):
        file = meshmap.open(source, **options)  # type: ignore[arg-type]
        again = pickle.loads(pickle.dumps(file))
        assert type(again) is meshmap.IqmFile and repr(again) == repr(file)
        np.testing.assert_array_equal(again.mesh(0)["position"], file.mesh(0)["position"])
    assert len(pickle.dumps(meshmap.open(iqm))) < 1000
    # A file object that has a path is pickled by it; others are not.
    with iqm.open("rb") as opened:
        again = pickle.loads(pickle.dumps(meshmap.open(opened)))
    np.testing.assert_array_equal(again.mesh(0)["position"], meshmap.open(iqm).mesh(0)["position"])
    with pytest.raises(TypeError):
        pickle.dumps(meshmap.open(io.BufferedReader(io.BytesIO(iqm.read_bytes()))))


def test_classes_open_their_own_format_alone(iqm: Path, cgeo: Path) -> None:
    assert isinstance(meshmap.CGeoFile.open(cgeo), meshmap.CGeoFile)
    assert isinstance(meshmap.File.open(iqm, mmap=True), meshmap.IqmFile)
    with pytest.raises(meshmap.Error) as caught:
        meshmap.CGeoFile.open(iqm)
    assert caught.value.kind == "mismatch"


def test_a_replaced_file_is_stale(tmp_path: Path, iqm: Path) -> None:
    path = tmp_path / "model.iqm"
    path.write_bytes(iqm.read_bytes())
    file = meshmap.open(path)
    assert not file.is_stale()
    other = tmp_path / "other.iqm"
    other.write_bytes(iqm.read_bytes())
    other.rename(path)
    assert file.is_stale()


def test_importing_takes_no_numpy() -> None:
    script = "import sys, meshmap; assert 'numpy' not in sys.modules; meshmap.open(sys.argv[1]).info()"
    path = str(DATA / "iqm" / "valid" / "skin_multi_anim.iqm")
    subprocess.run([sys.executable, "-c", script + "; assert 'numpy' not in sys.modules", path], check=True)


def test_importing_takes_less_than_twenty_milliseconds() -> None:
    script = "import time; start = time.process_time(); import meshmap; print(time.process_time() - start)"
    runs = [subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(7)]
    seconds = min(float(run.stdout) for run in runs)
    print(f"import: {seconds * 1000:.1f} ms")
    assert seconds < 0.020


def test_conversions_go_to_file_objects_and_fail_with_errno(iqm: Path, tmp_path: Path) -> None:
    meshmap.convert(iqm, tmp_path / "model.glb")
    for target in (io.BytesIO(), (tmp_path / "again.glb").open("wb"), (tmp_path / "raw.glb").open("wb", buffering=0)):
        with target:
            outcome = meshmap.convert(iqm, target, to="glb")
            written = target.getvalue() if isinstance(target, io.BytesIO) else b""
        assert outcome["files"] == [] and outcome["triangles"] > 0
        if isinstance(target, io.BytesIO):
            assert written == (tmp_path / "model.glb").read_bytes()
    assert (tmp_path / "raw.glb").read_bytes() == (tmp_path / "again.glb").read_bytes()
    with pytest.raises(ValueError, match="writes several files"):
        meshmap.convert(iqm, io.BytesIO(), to="gltf")
    with pytest.raises(ValueError, match="expected to="):
        meshmap.convert(iqm, io.BytesIO())
    with pytest.raises(FileNotFoundError) as caught:
        meshmap.convert(iqm, tmp_path / "no folder" / "model.glb")
    assert caught.value.errno == 2 and ".part" not in str(caught.value)
