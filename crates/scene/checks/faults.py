"""Plants faults, and checks that the table notices them.

    faults.py DOOR,.. FOLDER    FOLDER is tests/data

A door with a fault is a door that reads another file than column zero: one whose right reading is what the fault makes of the
first. So the same fault is planted in each door, whatever it is written in, and nothing is built again. Prints a table of faults by
doors, with what was noticed. Exit status 1 if a fault is not noticed that `BLIND` does not list, or if something differs without a
fault.
"""

import re
import struct
import sys
import tempfile
import zlib
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import table
from drawn import Array, Door
from zero import column_zero

# Faults that a door cannot show, with the reason.
BLIND = {
    ("V from the other edge", "render"): "pictures of normals have no images",
    ("colours not made linear", "render"): "pictures of normals have no colours",
    ("centimetres for metres", "render"): "the camera fits everything into the picture",
}


@dataclass(frozen=True)
class Model:
    """A small IQM model: a strip of quads that three joints bend."""

    pose_parents: tuple[int, ...] = (-1, 0, 1)
    # The weight of the first joint for the last vertices, which no joint moves.
    resting_weight: int = 0
    flips_v: bool = False
    turns: bool = False
    colors_are_linear: bool = False
    # The sum of weights, as a door shows it that does not divide by it: all that joints move is scaled about the origin.
    sum_of_weights: float = 1.0

    def bytes(self) -> bytes:
        rows = 7
        along = np.linspace(0, 3, rows)
        positions = np.array([[x, y, 0.2 * np.sin(x + y)] for x in along for y in (0.0, 0.7, 1.0)], "<f4")
        count = len(positions)
        normals = np.array([[-0.2 * np.cos(x + y), -0.2 * np.cos(x + y), 1] for x, y, _ in positions])
        normals = (normals / np.linalg.norm(normals, axis=1, keepdims=True)).astype("<f4")
        texcoords = np.array([[x / 3, y * 0.6 + 0.1] for x, y, _ in positions], "<f4")
        if self.flips_v:
            texcoords[:, 1] = 1 - texcoords[:, 1]
        colors = np.array([[int(255 * x / 3), 40, int(200 * y), 255] for x, y, _ in positions], "u1")
        if self.colors_are_linear:
            share = colors[:, :3] / 255
            colors[:, :3] = np.round(255 * np.where(share <= 0.0031308, 12.92 * share, 1.055 * share ** (1 / 2.4) - 0.055))
        joints = np.zeros((count, 4), "u1")
        weights = np.zeros((count, 4), "u1")
        for vertex, (x, _, _) in enumerate(positions):
            joints[vertex, :2] = (1, 2) if x > 1 else (0, 1)
            weights[vertex, :2] = (int(200 * (x % 1)) + 20, int(200 * (1 - x % 1)) + 20)
        # The last row has no weights: it stays, or follows the first joint if a door does not know the rule.
        joints[-3:], weights[-3:] = 0, 0
        weights[-3:, 0] = self.resting_weight
        triangles = []
        for row in range(rows - 1):
            for column in (0, 1):
                a = row * 3 + column
                triangles += [(a, a + 1, a + 3), (a + 1, a + 4, a + 3)]
        indices = np.array(triangles, "<u4")
        if self.turns:
            indices, normals = indices[:, ::-1], -normals
        arrays = [
            (0, 7, 3, positions),
            (1, 7, 2, texcoords),
            (2, 7, 3, normals),
            (4, 1, 4, joints),
            (5, 1, 4, weights),
            (6, 1, 4, colors),
        ]
        return iqm(arrays, indices, (-1, 0, 1), self.pose_parents, self.sum_of_weights)


def iqm(
    arrays: list[tuple[int, int, int, Array]],
    triangles: Array,
    joint_parents: tuple[int, ...],
    pose_parents: tuple[int, ...],
    scale: float,
) -> bytes:
    """An IQM file of version 2 with one mesh, joints in a row, and an animation of four frames, in which the root has a scale."""
    text = b"\0strip\0material\0a\0b\0c\0bend\0"
    frames = np.array([[[0, 0, 0.1 * f], [0.9, 0.05 * f, 0.2], [1.1 + 0.2 * f, 0.3, 0]] for f in range(4)])
    angles = np.array([[0.1 * f, 0.3 * f, -0.25 * f] for f in range(4)])
    turned = np.stack([np.sin(angles / 2), 0 * angles, 0.5 * np.sin(angles / 2), np.cos(angles / 2)], axis=2)
    channels = np.concatenate([frames, turned, np.ones((4, 3, 3))], axis=2)
    channels[:, 0, :3] *= scale
    channels[:, 0, 7:] *= scale
    low = channels.min(axis=0)
    steps = (channels.max(axis=0) - low) / 65535
    numbers = np.round((channels - low) / np.where(steps > 0, steps, 1)).astype("<u2")
    joint = b"".join(
        struct.pack("<Ii10f", 16 + 2 * i, parent, float(i > 0), 0, 0, 0, 0, 0, 1, 1, 1, 1) for i, parent in enumerate(joint_parents)
    )
    pose = b"".join(struct.pack("<iI20f", parent, 1023, *low[i], *steps[i]) for i, parent in enumerate(pose_parents))
    anim = struct.pack("<3IfI", 22, 0, 4, 10.0, 0)
    mesh = struct.pack("<6I", 1, 7, 0, len(arrays[0][3]), 0, len(triangles))
    data, places = bytearray(124), {}

    def put(name: str, content: bytes) -> None:
        data.extend(b"\0" * (-len(data) % 8))
        places[name] = len(data)
        data.extend(content)

    put("text", text)
    put("meshes", mesh)
    entries = []
    for kind, form, size, array in arrays:
        put("array", array.tobytes())
        entries.append(struct.pack("<5I", kind, 0, form, size, places["array"]))
    put("vertexarrays", b"".join(entries))
    put("triangles", np.ascontiguousarray(triangles, "<u4").tobytes())
    put("joints", joint)
    put("poses", pose)
    put("anims", anim)
    put("frames", numbers.tobytes())
    vertices = len(arrays[0][3])
    head = [len(text), places["text"], 1, places["meshes"], len(arrays), vertices, places["vertexarrays"]]
    head += [len(triangles), places["triangles"], 0, 3, places["joints"], 3, places["poses"], 1, places["anims"]]
    head += [4, 30, places["frames"], 0, 0, 0, 0, 0]
    data[:124] = b"INTERQUAKEMODEL\0" + struct.pack("<3I", 2, len(data), 0) + struct.pack("<24I", *head)
    return bytes(data)


def mirrored(data: bytes) -> bytes:
    """A Second Life mesh whose bind shape mirrors along the first axis. Its skin is appended, and the header has the new place."""
    key = data.index(b"k\0\0\0\x04skin{")
    offset_at = data.index(b"k\0\0\0\x06offseti", key) + 12
    size_at = data.index(b"k\0\0\0\x04sizei", key) + 10
    offset, size = (struct.unpack_from(">i", data, at)[0] for at in (offset_at, size_at))
    for base in range(len(data)):
        try:
            block = bytearray(zlib.decompress(data[base + offset : base + offset + size]))
        except zlib.error:
            continue
        break
    first = block.index(b"bind_shape_matrix[") + len(b"bind_shape_matrix[") + 4
    for column in range(3):
        at = first + 9 * column + 1
        struct.pack_into(">d", block, at, -struct.unpack_from(">d", block, at)[0])
    skin = zlib.compress(bytes(block))
    out = bytearray(data)
    struct.pack_into(">i", out, offset_at, len(data) - base)
    struct.pack_into(">i", out, size_at, len(skin))
    return bytes(out) + skin


@dataclass
class Fault:
    """A fault: the file that column zero reads, and the one that the door reads."""

    name: str
    right: bytes
    wrong: bytes
    ending: str = ".iqm"


def faults(data: Path) -> list[Fault]:
    model = Model()
    right = model.bytes()
    other_parents = replace(model, pose_parents=(-1, 0, 0)).bytes()
    avatar = (data / "slmesh/valid/odd_w05_four_no_terminator.slmesh").read_bytes()
    proxy = (data / "cgeo/valid/triangle_a.cgeo").read_bytes()
    return [
        Fault("pose parents taken from joints", other_parents, right),
        Fault("vertices without weights follow joint 0", right, replace(model, resting_weight=255).bytes()),
        Fault("V from the other edge", right, replace(model, flips_v=True).bytes()),
        Fault("a mirrored bind shape", avatar, mirrored(avatar), ".slmesh"),
        Fault("weights that are not normalised", right, replace(model, sum_of_weights=240 / 255).bytes()),
        Fault("triangles the other way around", right, replace(model, turns=True).bytes()),
        Fault("colours not made linear", right, replace(model, colors_are_linear=True).bytes()),
        Fault("centimetres for metres", proxy, in_centimetres(proxy), ".cgeo"),
    ]


def in_centimetres(data: bytes) -> bytes:
    """A CGeo file whose header says that a unit is ten times as long."""
    line = re.search(rb"Bounding box size \(millimeters\) : [^\n]*", data)
    assert line
    numbers = re.sub(rb"(\d+)\.(\d)", rb"\1\2.", line[0])
    return data.replace(line[0], numbers)


def outcome(door: str, fault: Fault, folder: Path, is_planted: bool) -> list[str]:
    """The kinds of differences that the table finds."""
    right, wrong = folder / f"right{fault.ending}", folder / f"wrong{fault.ending}"
    right.write_bytes(fault.right)
    wrong.write_bytes(fault.wrong if is_planted else fault.right)
    zero = column_zero(right)
    found = table.Table([door], is_quiet=True)
    shown = {moment: zero.at(moment) for moment in zero.moments}

    def opened(path: Path, out: Path) -> Door:
        made: Door = table.opener(door)(wrong, out)
        return made

    out = folder / "out"
    out.mkdir(exist_ok=True)
    table.check_door(found, zero, shown, door, out, opened)
    return sorted({difference.what.split()[0] for difference in found.differences})


def main(arguments: list[str]) -> int:
    doors, data = arguments[0].split(","), Path(arguments[1])
    failed = 0
    print("| fault | " + " | ".join(doors) + " |\n|---" + "|---" * len(doors) + "|")
    for fault in faults(data):
        cells = []
        for door in doors:
            with tempfile.TemporaryDirectory() as folder:
                before = outcome(door, fault, Path(folder), False)
                after = outcome(door, fault, Path(folder), True)
            blind = BLIND.get((fault.name, door))
            cells.append(", ".join(after) or (f"not noticed: {blind}" if blind else "NOT NOTICED"))
            if before:
                cells[-1] += f" (WITHOUT FAULT: {', '.join(before)})"
            failed += bool(before) or not (after or blind)
        print(f"| {fault.name} | " + " | ".join(cells) + " |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
