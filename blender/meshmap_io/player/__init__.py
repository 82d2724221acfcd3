# SPDX-License-Identifier: GPL-3.0-or-later
"""CGeo animations that play from the disk: the mesh has one snapshot at a time."""

from __future__ import annotations

from . import bake, panel, playback, preferences, relink, settings

PARTS = (preferences, settings, playback, relink, bake, panel)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
