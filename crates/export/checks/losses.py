"""The parts of mesh files that assimp and trimesh keep, compared with `meshmap convert`.

    losses.py MESHMAP FOLDER    a line for each format of FOLDER/FORMAT/valid: files, and what is in the GLB that each makes
"""

import collections
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import trimesh

WHAT = ["files", "triangles", "materials", "morph targets", "skins", "animations", "uv sets", "normals"]


def document(path):
    data = path.read_bytes()
    if data[:4] != b"glTF":
        return None
    # assimp writes names as they are, which need not be UTF-8.
    text = data[20 : 20 + struct.unpack_from("<I", data, 12)[0]].decode("utf-8", "replace")
    return json.loads(text, strict=False)


def counts(gltf):
    found = collections.Counter(files=1, materials=len(gltf.get("materials", [])), skins=len(gltf.get("skins", [])))
    found["animations"] = len(gltf.get("animations", []))
    for mesh in gltf.get("meshes", []):
        for primitive in mesh["primitives"]:
            attributes = primitive["attributes"]
            found["triangles"] += gltf["accessors"][primitive["indices"]]["count"] // 3 if "indices" in primitive else 0
            found["morph targets"] += len(primitive.get("targets", []))
            found["uv sets"] += sum(name.startswith("TEXCOORD") for name in attributes)
            found["normals"] += "NORMAL" in attributes
    return found


def by_command(arguments, output):
    output.unlink(missing_ok=True)
    subprocess.run([*arguments], capture_output=True, timeout=120, check=False)
    gltf = document(output) if output.exists() else None
    return counts(gltf) if gltf else collections.Counter()


def by_trimesh(path, file_type):
    try:
        scene = trimesh.load_scene(path, file_type=file_type)
        data = scene.export(file_type="glb")
    except Exception:
        return collections.Counter()
    return counts(json.loads(data[20 : 20 + struct.unpack_from("<I", data, 12)[0]]))


meshmap, folder = sys.argv[1], pathlib.Path(sys.argv[2])
endings = {"cgeo": "cgeo", "iqm": "iqm", "openctm": "ctm", "slmesh": "slm", "tmf": "tmf"}
print("| files | by | " + " | ".join(WHAT) + " |")
print("|---|---|" + "---|" * len(WHAT))
with tempfile.TemporaryDirectory() as temporary:
    output = pathlib.Path(temporary) / "out.glb"
    for form, ending in endings.items():
        sums = {name: collections.Counter() for name in ["meshmap", "assimp", "trimesh"]}
        files = [path for path in sorted((folder / form / "valid").iterdir()) if path.suffix not in (".json", ".md")]
        for path in files:
            sums["meshmap"] += by_command([meshmap, "convert", path, "--quiet", "--force", "--zero-non-finite", "-o", output], output)
            sums["assimp"] += by_command(["assimp", "export", path, output, "-fglb2"], output)
            sums["trimesh"] += by_trimesh(path, ending)
        for name, found in sums.items():
            print(f"| {len(files)} {form} | {name} | " + " | ".join(f"{found[what]:,}" for what in WHAT) + " |", flush=True)
