# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports CGeo, IQM, OpenCTM, Second Life and TMF meshes, and plays CGeo animations from the disk."""

from __future__ import annotations

from . import operators, player

PARTS = (player, operators)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
