"""Statements that mypy and pyright must accept, and statements that they must refuse, which end with `# refused`."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_type

import numpy as np
from numpy.typing import NDArray

import meshmap

# Opening.
file = meshmap.open("wave.cgeo")
meshmap.open(Path("wave.cgeo"), mmap=True)
meshmap.open(b"bytes")
meshmap.open(bytearray(b"bytes"))
meshmap.open(memoryview(b"bytes"))
meshmap.open(io.BytesIO(b"bytes"))
meshmap.open(reader=lambda start, stop: b"", size=12)
meshmap.open(3)  # refused
meshmap.open("wave.cgeo", mmap="yes")  # refused
meshmap.open("wave.cgeo", maximum=3)  # refused

# The formats.
file.snapshots  # refused
if file.format == "cgeo":
    assert_type(file, meshmap.CGeoFile)
    file.snapshots[0].positions()
elif file.format == "iqm":
    assert_type(file, meshmap.IqmFile)
    file.snapshots  # refused
if isinstance(file, meshmap.SlMeshFile):
    assert_type(file.lod("high"), meshmap.Block | None)
    file.lod("high")[0]  # refused
proxy = meshmap.CGeoFile.open("wave.cgeo")
assert_type(proxy, meshmap.CGeoFile)
# Meshes.
meshes: Mapping[str, meshmap.Mesh] = file  # type: ignore[assignment, unused-ignore]
mesh = file.mesh()
assert_type(file["body"], meshmap.Mesh)
assert_type(file.get("body"), meshmap.Mesh | None)
assert_type(file.get("body", 3), meshmap.Mesh | int)
file.get("body").indices  # refused
mesh["position"].mean(axis=0)
mesh[0]  # refused
mesh.indices.shape
mesh.vertices  # refused
picture: bytes | None = mesh._repr_png_()

# Snapshots.
assert_type(proxy.snapshots[-1], meshmap.Snapshot)
assert_type(proxy.snapshots[1:], list[meshmap.Snapshot])
proxy.snapshots["first"]  # refused
proxy.positions_at([0.0, 0.5])
proxy.positions_at(np.array([0.0, 0.5]))
proxy.positions_at(np.arange(3))
proxy.positions_at(range(3))
proxy.positions_at("now")  # refused
proxy.positions_at([0.0], wrap="mirror")  # refused
out: NDArray[np.float32] = np.empty((8, 3), np.float32)
assert_type(proxy.snapshots[0].positions(out=out), NDArray[np.float32])
proxy.snapshots[0].positions(out=np.empty((8, 3)))  # refused
proxy.snapshots[0].decode(parts="positions")
proxy.snapshots[0].decode(parts=["positions", "colours"])  # refused

# Skeletons.
model = meshmap.IqmFile.open("figure.iqm")
if (skeleton := model.skeleton) is not None:
    skeleton.skinning_matrices(model.frames())
    skeleton.skinning_matrices([[0.0] * 10])

# Scenes.
scene = meshmap.scene("figure.iqm", lod="finest", animations=["walk.iqm"])
meshmap.scene("figure.iqm", lod="coarse")  # refused
arrays = scene.shapes[0].arrays(attributes=["normal"], one_index=False)
assert_type(arrays.positions, NDArray[np.float32])
assert_type(arrays.texcoords, dict[int, NDArray[np.float32]])
scene.skeleton.names  # refused
if (influences := file.mesh().influences(4)) is not None:
    assert_type(influences["joints"], NDArray[np.uint16])
    influences["shares"]  # refused

# Writing.
meshmap.convert(file, "wave.glb")
meshmap.convert("wave.cgeo", io.BytesIO(), to="glb")
meshmap.convert(file, "wave.fbx", to="fbx")  # refused
assert_type(meshmap.render(file), NDArray[np.uint8])
meshmap.render(file, "wave.png")["size"]
meshmap.render(file, size=512)  # refused

# Tables.
catalog = meshmap.catalog(["assets/"], columns=["path"], formats=["cgeo"], limit=5)
meshmap.geometry("assets/", columns=["position"], drawn=True)
meshmap.catalog("assets/", columns=3)  # refused
names: Sequence[str] = catalog.columns
meshmap.catalog([("name", lambda start, stop: b"", 12, None)])
meshmap.catalog([("name", 12)])  # refused
assert_type(meshmap.find("assets/*.ctm"), list[str | meshmap.RemoteUrl])
