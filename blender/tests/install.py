# SPDX-License-Identifier: GPL-3.0-or-later
"""Installs the zip of the extension into the profile of BLENDER_USER_RESOURCES: `python install.py ZIP`. Needs `bpy`."""

from __future__ import annotations

import sys
from pathlib import Path

import bpy

from worker import EXTENSION

done = bpy.ops.extensions.package_install_files(
    repo="user_default", filepath=str(Path(sys.argv[1]).resolve()), enable_on_install=True
)
if done != {"FINISHED"} or EXTENSION not in bpy.context.preferences.addons:
    raise SystemExit("the extension is not installed")
for name in ("cgeo", "iqm", "openctm", "slmesh", "tmf"):
    if not hasattr(bpy.types, f"MESHMAP_FH_{name}") or not hasattr(bpy.types, f"IMPORT_SCENE_OT_meshmap_{name}"):
        raise SystemExit(f"the importer or the file handler of {name} is not registered")
bpy.ops.wm.save_userpref()
print("installed")
