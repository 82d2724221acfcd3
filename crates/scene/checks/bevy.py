"""The door of Bevy: what `bevy_meshmap` spawns in an app without a renderer, whose shader moves vertices by joints as here.

`MESHMAP_BEVY` names the program: the example `dump` of `crates/bevy`.
"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import meshmap
import numpy as np

from compare import Bounds
from drawn import REST, Absent, Array, Corners, Moment, joined, unit
from zero import USUAL_RATE

HERE = Path(__file__).parent
PROGRAM = HERE.parents[1] / "bevy/target/debug/examples/dump"
# The names of levels of detail that the loader counts.
LEVELS = ("high_lod", "medium_lod", "low_lod", "lowest_lod")


class Shown:
    """A file as Bevy has it, at several times."""

    def __init__(self, path: Path, folder: Path, options: list[str]) -> None:
        arrays = folder / "bevy"
        command = [os.environ.get("MESHMAP_BEVY", str(PROGRAM)), str(arrays), *options, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise RuntimeError(f"status {done.returncode}: {done.stderr[-500:]}")
        self.info: dict[str, Any] = json.loads(done.stdout)
        if "error" in self.info:
            raise Absent(self.info["error"])
        self.data = arrays.read_bytes()

    def array(self, entry: dict[str, Any] | None) -> Array | None:
        if entry is None:
            return None
        numbers = np.frombuffer(self.data, entry["type"], entry["count"] * entry["width"], entry["start"])
        return numbers.reshape(-1, entry["width"])

    def matrices(self, entry: dict[str, Any] | None) -> Array:
        array = self.array(entry)
        assert array is not None
        # Columns one after another.
        return array.reshape(-1, 4, 4).transpose(0, 2, 1).astype(float)


class BevyDoor:
    """Entities with meshes, and the joints that they follow."""

    # Matrices of Bevy are products of floats.
    bounds = Bounds()

    def __init__(self, path: Path, folder: Path) -> None:
        self.path = path
        self.folder = folder
        self.shown = Shown(path, folder, [])

    def names(self) -> set[str]:
        materials = self.shown.info["materials"]
        images = {Path(material["imagePath"]).name for material in materials if material["imagePath"]}
        return {material["name"] for material in materials} | images

    def at(self, moment: Moment) -> Corners:
        if moment.kind in ("snapshot", "between"):
            shown = Shown(self.path, self.folder, ["--snapshot", repr(moment.frame * stored_step(self.path))])
            if not shown.info["streamed"]:
                raise Absent("no frame")
            return corners(shown, shown.info["streamed"][0], np.zeros((0, 4, 4)))
        if moment.kind == "level":
            level = "all" if moment.name == "all" else str(LEVELS.index(moment.name))
            return scene(Shown(self.path, self.folder, ["--level", level]), REST)
        if moment.kind == "clip":
            clips = self.shown.info["clips"]
            if moment.clip >= len(clips):
                raise Absent(f"{len(clips)} clips: {'; '.join(self.shown.info['warnings'])}")
            # The times of frames are in single precision.
            seconds = str(np.float32(moment.seconds))
            return scene(Shown(self.path, self.folder, ["--clip", f"{moment.clip}@{seconds}"]), moment)
        return scene(self.shown, moment)


def stored_step(path: Path) -> float:
    """The seconds between two snapshots. Streams are played by the stored times, which are whole microseconds."""
    with meshmap.open(path) as file:
        timing = file.timing
    return timing.step if timing is not None and timing.step > 0 else 1 / USUAL_RATE


def scene(shown: Shown, moment: Moment) -> Corners:
    """The spawned scene, at rest or where an animation has moved it."""
    info = shown.info
    places = shown.matrices(info["played"][0]["joints"] if moment.kind == "clip" else info["joints"])
    if not info["parts"]:
        return Corners(places[:, None, :3, 3])
    # A camera that is near sees the finest level of detail.
    finest = min((part["level"] for part in info["parts"] if part["level"] is not None), default=None)
    return joined([corners(shown, part, places) for part in info["parts"] if part["level"] == finest])


def corners(shown: Shown, part: dict[str, Any], places: Array) -> Corners:
    """A mesh as it is drawn: where its entity is, or where its joints are."""
    positions, normals = shown.array(part["positions"]), shown.array(part["normals"])
    assert positions is not None
    positions = positions.astype(float)
    weights, joints = shown.array(part["weights"]), shown.array(part["influences"])
    if weights is None or joints is None:
        matrices = shown.matrices(part["transform"])
    else:
        moved = places @ shown.matrices(part["skin"])
        matrices = np.einsum("vk,vkij->vij", weights.astype(float), moved[joints])
    positions = np.einsum("vij,vj->vi", np.broadcast_to(matrices[:, :3, :3], (len(positions), 3, 3)), positions) + matrices[:, :3, 3]
    if normals is not None:
        axes = [matrices[:, row, :3] for row in range(3)]
        cofactors = np.stack([np.cross(axes[1], axes[2]), np.cross(axes[2], axes[0]), np.cross(axes[0], axes[1])], axis=1)
        normals = np.einsum("vij,vj->vi", np.broadcast_to(cofactors, (len(positions), 3, 3)), unit(normals.astype(float)))
        normals = unit(normals)
    index = shown.array(part["indices"])
    if part["isPoints"]:
        chosen = np.arange(len(positions))[:, None]
    else:
        assert index is not None
        chosen = index[:, 0].astype(int).reshape(-1, 3)

    def at_corners(values: Array | None) -> Array | None:
        return None if values is None else values[chosen].astype(float)

    colors, texcoords = shown.array(part["colors"]), shown.array(part["texcoords"])
    return Corners(positions[chosen], at_corners(normals), at_corners(colors), at_corners(texcoords))
