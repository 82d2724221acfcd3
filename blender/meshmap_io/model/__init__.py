# SPDX-License-Identifier: GPL-3.0-or-later
"""Files to arrays. Nothing here imports Blender, so that these modules run and are tested in any Python."""
