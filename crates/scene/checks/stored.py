"""The arrays of a file as they are stored. Each is compared with the digest that an independent implementation made of it."""

import hashlib
import json
import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import meshmap
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Unexpected(Exception):
    """An array is not what the independent implementation has read."""


@dataclass
class Stored:
    """The arrays and texts of a file, by their addresses."""

    path: Path
    format: str
    arrays: dict[str, Array] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    verified: int = 0

    def get(self, address: str) -> Array | None:
        return self.arrays.get(address)

    def count(self, prefix: str, suffix: str) -> int:
        """The number of consecutive addresses `prefix[0]suffix`, `prefix[1]suffix` and so on."""
        number = 0
        while f"{prefix}[{number}]{suffix}" in self.arrays:
            number += 1
        return number


def read(path: Path) -> Stored:
    """All arrays of a file. Raises `Unexpected` if the digest of an array differs from the expectation next to the file."""
    with meshmap.open(path) as file:
        stored = Stored(path, file.format)
        addresses = [entry.address for entry in file.arrays()]
        stored.arrays = {address: file.array(address) for address in addresses}
        stored.texts = file.texts()
    expectation = path.with_name(path.name + ".expect.json")
    if expectation.exists():
        verify(stored, json.loads(expectation.read_text()))
    return stored


def verify(stored: Stored, expected: dict[str, Any]) -> None:
    # The normals of these depend on the sine function of the host.
    tolerant = {"openctm", "tmf"} & {stored.format} and "normals tangents"
    # The expectation is of the first body, without its address.
    first = "bodies[0]." if stored.format == "openctm" else ""
    for address, entry in expected["arrays"].items():
        address = first + address
        array = stored.arrays.get(address)
        if array is None:
            if 0 in entry["shape"]:
                continue
            raise Unexpected(f"{address} is not listed")
        if list(array.shape) != entry["shape"] and array.size:
            raise Unexpected(f"{address}: expected the shape {entry['shape']}, found {list(array.shape)}")
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        if digest == entry["sha256"]:
            stored.verified += 1
        elif not (tolerant and address.rsplit(".", 1)[-1] in tolerant.split()):
            raise Unexpected(f"{address} has other values than the independent reader found")
    for address, text in expected.get("strings", {}).items():
        address = first + address
        found = stored.texts.get(address)
        if found is not None and found != text:
            raise Unexpected(f"{address}: expected {text!r}, found {found!r}")
        stored.texts[address] = text


class IqmTables:
    """The tables of an IQM file besides its arrays of numbers, read as `iqm.txt` describes them."""

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        self.version, self.size = struct.unpack_from("<2I", data, 16)
        names = (
            "flags num_text ofs_text num_meshes ofs_meshes num_vertexarrays num_vertexes ofs_vertexarrays num_triangles ofs_triangles"
            " ofs_adjacency num_joints ofs_joints num_poses ofs_poses num_anims ofs_anims num_frames num_framechannels ofs_frames"
        ).split()
        head = dict(zip(names, struct.unpack_from(f"<{len(names)}I", data, 24)))
        text = data[head["ofs_text"] : head["ofs_text"] + head["num_text"]]
        channels = 10 if self.version == 2 else 9

        def rows(table: str, form: str, step: int) -> list[tuple[Any, ...]]:
            start = head[f"ofs_{table}"]
            return [struct.unpack_from(form, data, start + step * row) for row in range(head[f"num_{table}"])]

        def name(offset: int) -> str:
            return text[offset : text.index(0, offset)].decode(errors="replace")

        self.vertices: int = head["num_vertexes"]
        # The name, the material, and the first and the number of triangles.
        self.meshes = [(name(a), name(b), first, count) for a, b, _, _, first, count in rows("meshes", "<6I", 24)]
        # The type, the format and the number of components.
        self.vertex_arrays = [(kind, form, size) for kind, _, form, size, _ in rows("vertexarrays", "<5I", 20)]
        self.joint_names = [name(row[0]) for row in rows("joints", "<I", 8 + 4 * channels)]
        self.joint_parents: list[int] = [row[1] for row in rows("joints", "<Ii", 8 + 4 * channels)]
        self.pose_parents: list[int] = [row[0] for row in rows("poses", "<i", 8 + 8 * channels)]
        # The name, the first and the number of frames, the rate, the flags.
        self.anims = [(name(a), first, count, rate, flags) for a, first, count, rate, flags in rows("anims", "<3IfI", 20)]
        self.frames: int = head["num_frames"]


def cgeo_properties(path: Path) -> dict[str, str]:
    """The lines `name: value` of the header of a CGeo file; of equal names, the first."""
    with path.open("rb") as file:
        head = file.read(5)
        text = file.read(struct.unpack_from("<I", head, 1)[0]).decode(errors="replace")
    properties: dict[str, str] = {}
    for line in text.split("\n"):
        name, colon, value = line.partition(":")
        if colon:
            properties.setdefault(name.strip().lower(), value.strip())
    return properties
