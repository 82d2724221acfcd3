"""Conversion: the only place that lists its options."""

from __future__ import annotations

from . import _meshmap

# As in typing, whose import takes longer than all of this package.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, Literal


def convert(
    source: _meshmap.File | _meshmap._Source,
    output: _meshmap._Path | _meshmap._Writable,
    *,
    to: _meshmap._Target | None = None,
    meshes: Sequence[str] | None = None,
    up: _meshmap._Axis | None = None,
    turn: Literal[0, 90, 180, 270] = 0,
    flip: bool = False,
    snapshots: tuple[int, int] | None = None,
    every: int = 1,
    frame: int | None = None,
    seconds: float | None = None,
    anim: str | None = None,
    lod: _meshmap._Lod = "finest",
    fps: float | None = None,
    unit_millimeters: float | None = None,
    raw: bool = False,
    quantized: bool = False,
    nest: bool = False,
    dense: bool = False,
    morph_normals: bool = False,
    drop_degenerate: bool = False,
    merge_materials: bool = False,
    keep_materials: bool = False,
    keep_degenerate: bool = False,
    textures: Sequence[_meshmap._Path] | None = None,
    copy_textures: bool = False,
    embed_textures: bool = False,
    zero_non_finite: bool = False,
    max_output_bytes: int | None = None,
) -> dict[str, Any]:
    """Converts a mesh file to `glb`, `gltf`, `usdc`, `usdz`, `obj`, `ply`, `stl` or `pc2`: the extension of `output`, or `to`. The output appears
    when it is complete.

    Args:
        source: A file, or what `open` takes.
        output: The path to write, or a binary file object with `write`.
        to: The format, if `output` does not have its extension.
        meshes: Addresses of the meshes to write; by default what viewers show.
        up: The axis that points up in the file, instead of the axis of the format.
        turn: Turns everything about the up axis by 90, 180 or 270 degrees, counter-clockwise as seen from above.
        flip: Reverses the winding of all triangles.
        snapshots: First snapshot of a CGeo file, and the one after the last; by default all.
        every: Takes each n-th of them.
        frame, seconds: One moment of an animation: a frame of an IQM file, or the frame or snapshot nearest to a time.
        anim: The name of the IQM animation. USD has the others as well, and programs play this one.
        lod: The level of detail of a Second Life asset: `finest`, `all`, `high`, `medium`, `low` or `lowest`.
        fps: Snapshots or frames per second, instead of the rate of the file. For glTF and USD; a `ValueError` for other formats.
        unit_millimeters: Millimetres per unit of the file, instead of the unit that it stores.
        raw: Keeps the numbers of the file in OBJ, PLY, STL and PC2. Otherwise Y points up in OBJ and PC2, Z in PLY and STL, and a file
            that knows its unit is in metres, in STL in millimetres.
        quantized: Writes the integers of a Second Life asset as they are (KHR_mesh_quantization).
        nest: In glTF and USD, writes the joints of a Second Life asset as children of their parents.
        dense: Writes all values of morph targets, for programs that cannot read sparse ones.
        morph_normals: Also writes the normals of snapshots.
        drop_degenerate: Leaves out triangles with two equal corners; `changed` has their number. USD always lacks them, unless
            `keep_degenerate` is set.
        merge_materials: Writes one material for all material IDs of a CGeo file, and the IDs as an attribute.
        keep_materials: Writes a material for each material ID; otherwise more than 1,000 IDs become one material.
        keep_degenerate: In USD, also writes triangles with two equal corners, which crash Blender's import.
        textures: Folders below which the images that the file names are looked for, at any depth, besides the folder of the file.
        copy_textures: Copies these images into the folder `OUTPUT.textures`, as PNG if few programs read their kind. Otherwise the output
            refers to the originals.
        embed_textures: In glTF, puts them into the output. TGA, BMP and DDS are put there as PNG in any case, unless they are copied.
        zero_non_finite: Writes 0 for NaN and infinite values. Otherwise such positions are an error, and other attributes with
            such values are left out.
        max_output_bytes: Limits the output. By default it is 64 MiB, or 256 times the file if that is more. Memory is limited
            by the `max_total_bytes` of `open`.

    Returns:
        A dict. `files` lists the outputs. `vertices`, `points` (of clouds), `joints` (of files without meshes), `triangles`,
        `degenerate` (triangles with two equal corners), `snapshots` and `animations` are counts. `textures` has the paths of images by
        the names in the file. `moment` is the frame or snapshot, if one was asked for. `left_out` lists data that was not written,
        `changed` numbers and parts in another form, `assumed` properties that the file does not store, and `warnings` possible
        problems: dicts of `kind` (a name that stays), `count`, `first` (addresses or names of the first four) and `text`; in
        `left_out` also `why`, and in `warnings` the `option` that has no effect.
    """
    arguments = locals()
    defaults = convert.__kwdefaults__ or {}
    # An option that is given is an error if it has no effect on the file.
    given = {name: arguments[name] for name in defaults if name != "to" and arguments[name] is not defaults[name]}
    return _meshmap.convert(source, output, to, given)
