"""Numbers in a file take neither memory nor disk."""

import pathlib
import struct

import pytest

import meshmap


def frozen(frames: int) -> bytes:
    """An IQM file of one triangle, one joint, and an animation of frames in which nothing moves and that take up no bytes."""
    text = b"\0m\0"
    text += b"\0" * (-len(text) % 4)
    mesh = struct.pack("<6I", 1, 1, 0, 3, 0, 1)
    positions = struct.pack("<9f", 0, 0, 0, 1, 0, 0, 0, 1, 0)
    triangle = struct.pack("<3I", 0, 1, 2)
    joint = struct.pack("<Ii10f", 1, -1, *[0] * 6, 1, 1, 1, 1)
    pose = struct.pack("<iI20f", -1, 0, 1, *[0] * 5, 1, 1, 1, 1, *[0] * 10)
    anim = struct.pack("<IIIfI", 1, 0, frames, 24.0, 0)
    at, sections = 124, list[int]()
    for section in (text, mesh, b"", triangle, joint, pose, anim, positions):
        sections.append(at)
        at += len(section) or 20
    text_at, mesh_at, arrays_at, triangle_at, joint_at, pose_at, anim_at, positions_at = sections
    arrays = struct.pack("<5I", 0, 0, 7, 3, positions_at)
    body = text + mesh + arrays + triangle + joint + pose + anim + positions
    fields = [2, at, 0, len(text), text_at, 1, mesh_at, 1, 3, arrays_at, 1, triangle_at, 0, 1, joint_at]
    fields += [1, pose_at, 1, anim_at, frames, 0, at, 0, 0, 0, 0, 0]
    return b"INTERQUAKEMODEL\0" + struct.pack("<27I", *fields) + body


def test_billions_of_frames_are_an_error(tmp_path: pathlib.Path) -> None:
    for to in ["glb", "gltf"]:
        with pytest.raises(meshmap.Error, match="max_output_bytes=") as error:
            meshmap.convert(frozen(2**32 - 1), tmp_path / f"out.{to}", zero_non_finite=True)
        assert error.value.kind == "limit_exceeded"
    assert list(tmp_path.iterdir()) == []


def test_the_output_can_be_limited_and_the_limit_raised(tmp_path: pathlib.Path) -> None:
    file, path = frozen(20_000), tmp_path / "out.glb"
    with pytest.raises(meshmap.Error, match="max_output_bytes="):
        meshmap.convert(file, path, max_output_bytes=100_000)
    assert not path.exists()
    assert meshmap.convert(file, path, max_output_bytes=10_000_000)["animations"] == 1
    assert path.exists()


def test_pictures_of_billions_of_frames_are_an_error(tmp_path: pathlib.Path) -> None:
    with pytest.raises(meshmap.Error, match="every="):
        meshmap.render(frozen(2**32 - 1), tmp_path / "out.png", animation=True)
    with pytest.raises(meshmap.Error, match="every="):
        meshmap.render(frozen(2**32 - 1), tmp_path / "out.png", sheet=True)
