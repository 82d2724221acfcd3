"""The door of the browser: the loader of three.js in Node."""

import atexit
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from compare import Bounds
from drawn import Absent, Array, Corners, Moment, joined, unit

HERE = Path(__file__).parent
WEB = HERE.parents[1] / "web"


class Worker:
    """A process that opens one file after the other."""

    process: subprocess.Popen[str] | None = None

    @classmethod
    def ask(cls, request: dict[str, Any]) -> dict[str, Any]:
        if cls.process is None or cls.process.poll() is not None:
            command = ["node", str(HERE / "browser.mjs"), os.environ.get("MESHMAP_WEB", str(WEB))]
            cls.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            atexit.register(cls.process.kill)
        assert cls.process.stdin and cls.process.stdout
        cls.process.stdin.write(json.dumps(request) + "\n")
        cls.process.stdin.flush()
        line = cls.process.stdout.readline()
        if not line:
            raise RuntimeError("Node ended")
        answer: dict[str, Any] = json.loads(line)
        if answer.get("kind"):
            raise Absent(answer["error"])
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return answer


class BrowserDoor:
    """An object of three.js."""

    # Some attributes are 16-bit integers, and matrices of three.js are products of floats.
    bounds = Bounds()

    def __init__(self, path: Path, folder: Path) -> None:
        self.output = folder / "browser"
        self.info = Worker.ask({"path": str(path.resolve())})

    def names(self) -> set[str]:
        return set(self.info["names"]) | {Path(name).name for name in self.info["names"]}

    def at(self, moment: Moment) -> Corners:
        answer = Worker.ask({"moment": moment._asdict(), "output": str(self.output)})
        if "absent" in answer:
            raise Absent(answer["absent"])
        data = np.fromfile(self.output, float)

        def of(entry: dict[str, int] | None) -> Array | None:
            if entry is None:
                return None
            start, count, width = entry["start"], entry["count"], entry["width"]
            return data[start : start + count * width].reshape(-1, width)

        parts = [self.part(part, of) for part in answer["parts"]]
        if not parts:
            bones = of(answer["bones"])
            assert bones is not None
            return Corners(bones[:, None])
        return joined(parts)

    def part(self, part: dict[str, Any], of: Any) -> Corners:
        positions, normals, texcoords, index = (of(part[name]) for name in ("positions", "normals", "texcoords", "index"))
        if part["isPoints"]:
            chosen = np.arange(len(positions))[:, None]
        else:
            chosen = (np.arange(len(positions)) if index is None else index[:, 0].astype(int)).reshape(-1, 3)
            chosen = chosen[:, ::-1] if part["isMirrored"] else chosen
        if texcoords is not None:
            # Files have one to three coordinates.
            texcoords = np.pad(texcoords, ((0, 0), (0, 1)))[:, :2]
            if not part["isFromTop"]:
                texcoords = texcoords * (1, -1) + (0, 1)

        def at_corners(values: Array | None) -> Array | None:
            return None if values is None else values[chosen]

        normals = None if normals is None else unit(normals)
        return Corners(positions[chosen], at_corners(normals), at_corners(of(part["colors"])), at_corners(texcoords))
