"""The door of Blender: the importers of the extension, Z up, metres, V from the lower edge, colours as linear light."""

import atexit
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from compare import Bounds
from drawn import Absent, Array, Corners, Moment, joined, unit

SECOND_LIFE = {".slmesh", ".slm", ".llmesh"}
INSIDE = Path(__file__).with_name("blender_inside.py")


class Worker:
    """A Blender that imports one file after the other."""

    process: subprocess.Popen[str] | None = None

    @classmethod
    def ask(cls, request: dict[str, Any]) -> dict[str, Any]:
        if cls.process is None or cls.process.poll() is not None:
            # Its Python has `bpy`; this one has usd-core, which Blender brings along in another version.
            command = [os.environ["MESHMAP_BLENDER"], "-u", str(INSIDE)]
            cls.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            atexit.register(cls.process.kill)
        assert cls.process.stdin and cls.process.stdout
        cls.process.stdin.write(json.dumps(request) + "\n")
        cls.process.stdin.flush()
        lines = []
        for line in cls.process.stdout:
            if line.startswith("RESULT "):
                answer: dict[str, Any] = json.loads(line.removeprefix("RESULT "))
                if "absent" in answer:
                    raise Absent(" ".join(answer["absent"].split()))
                return answer
            lines.append(line.strip())
        raise RuntimeError("Blender ended: " + " ".join(lines[-5:]))


class BlenderDoor:
    """The objects of an import."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.output = folder / "blender.npz"
        options: dict[str, object] = {"all_levels": True} if path.suffix in SECOND_LIFE else {}
        self.info = Worker.ask({"path": str(path.resolve()), "options": options})
        # Custom normals of meshes that deform are two angles of 16 bits around Blender's own normal, which thin triangles lack.
        self.bounds = Bounds(normals=2e-2, other_normals=5e-4) if self.info["is_skinned"] else Bounds()

    def names(self) -> set[str]:
        return set(self.info["names"])

    def at(self, moment: Moment) -> Corners:
        if moment.kind == "clip" and not moment.is_named:
            raise Absent("a clip whose name is not its own")
        count = Worker.ask({"moment": moment._asdict(), "output": str(self.output)})["count"]
        with np.load(self.output) as arrays:
            parts = [part(arrays, number) for number in range(count)]
            if not any(len(each) for each in parts):
                return Corners(y_up(arrays["joints"])[:, None])
        return joined(parts)


def part(arrays: Any, number: int) -> Corners:
    corners = 1 if arrays[f"is_points{number}"] else 3

    def of(name: str) -> Array | None:
        if f"{name}{number}" not in arrays:
            return None
        values: Array = arrays[f"{name}{number}"].astype(float)
        values = values.reshape(-1, corners, values.shape[1])
        return values[:, ::-1] if arrays[f"is_mirrored{number}"] else values

    positions, normals, texcoords = of("positions"), of("normals"), of("texcoords")
    assert positions is not None
    if texcoords is not None:
        texcoords = texcoords * (1, -1) + (0, 1)
    return Corners(y_up(positions), None if normals is None else unit(y_up(normals)), of("colors"), texcoords)


def y_up(vectors: Array) -> Array:
    """From Z up."""
    return np.stack([vectors[..., 0], vectors[..., 2], -vectors[..., 1]], axis=-1)
