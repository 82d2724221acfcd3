# SPDX-License-Identifier: GPL-3.0-or-later
"""Arrays to Blender's data. Nothing here knows files or formats."""
