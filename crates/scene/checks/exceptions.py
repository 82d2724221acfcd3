"""Differences that are known beforehand, each with its reason."""

from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch

from compare import Difference
from drawn import Moment
from zero import Zero


@dataclass(frozen=True)
class Known:
    """A difference that is expected. All that is given has to fit."""

    reason: str
    doors: str
    files: str = "*"
    moments: str = "rest clip snapshot between level names"
    # The beginnings of kinds of differences: `positions`, `normals`, `colors`, `texcoords`, `triangles`, `points`, `absent`.
    what: str = ""
    # A part of what the door says.
    says: str = ""
    # The largest difference.
    most: float = float("inf")
    when: Callable[[Zero, Moment], bool] = lambda zero, moment: True

    def fits(self, door: str, zero: Zero, moment: Moment, difference: Difference) -> bool:
        what = difference.what
        return (
            door in self.doors.split()
            and any(fnmatch(zero.stored.path.name, pattern) for pattern in self.files.split())
            and moment.kind in self.moments.split()
            and (not self.what or what.split()[0] in self.what.split())
            and self.says in difference.found
            and (difference.amount <= self.most)
            and self.when(zero, moment)
        )


EXCEPTIONS = [
    Known(
        "relative to the joints, these poses would be sheared: no target has such transforms, and a line says so",
        doors="glb usd browser bevy",
        moments="clip",
        what="absent",
        when=lambda zero, moment: zero.is_sheared(moment),
    ),
    Known(
        "morph targets have no texture coordinates, and a line says so",
        doors="glb",
        files="*.cgeo",
        moments="snapshot between",
        what="texcoords",
    ),
    Known("these targets hold one snapshot", doors="obj ply render python", moments="between", what="absent", says="one snapshot"),
    Known(
        "no option selects the second clip of a name",
        doors="obj ply render blender",
        moments="clip",
        what="absent",
        says="not its own",
    ),
    Known(
        "joints are not written, and the command refuses a file of nothing else",
        doors="obj ply",
        files="*.iqm",
        what="absent",
        says="no vertices",
    ),
    Known(
        "PLY has a column for all vertices, or none: what some meshes lack is left out, and a line says so",
        doors="ply",
        what="normals texcoords colors",
        says="none",
    ),
    Known(
        "texture coordinates that some snapshots lack are left out, and a line says so",
        doors="usd",
        files="*.cgeo",
        what="texcoords",
        says="none",
    ),
    Known(
        "corners at one position, but with other normals: one program counts them as one corner, another one as two",
        doors="glb obj ply usd browser blender bevy python c",
        files="hand_v2_prec0_base0*.tmf",
        what="triangles",
    ),
    Known(
        "a snapshot alone has the fronts that its own normals show, which point anywhere in this file",
        doors="obj ply",
        files="*.cgeo",
        moments="snapshot",
        when=lambda zero, moment: zero.turns_alone(moment),
    ),
    Known(
        "USD interpolates between points that have nothing to do with each other, if there are as many: the documentation says so",
        doors="usd",
        files="*.cgeo",
        moments="between",
        when=lambda zero, moment: not zero.have_same_triangles(moment),
    ),
    Known(
        "chains of 120 and 255 joints, each of which adds a rounding of single precision",
        doors="glb obj ply usd browser blender python c",
        files="skin_255joints.iqm large_anim.iqm",
        what="positions",
        most=1e-5,
    ),
    Known(
        "a file of nothing but a triangle with two equal corners: programs have an option that makes points of it",
        doors="glb obj ply browser bevy python c",
        files="triangle_c.cgeo",
        what="triangles",
    ),
    Known("dots and bones are drawn in a way of its own", doors="render", what="absent", says="dots"),
    Known(
        "a picture of so many triangles shows little, and takes minutes in NumPy",
        doors="render",
        what="absent",
        says="more triangles",
    ),
    Known(
        "numbers of up to 3e38, beside which the corners of most triangles are at one place, and cannot be told apart",
        doors="glb obj ply usd browser blender bevy python c",
        files="special_numbers_*.cgeo",
        what="normals texcoords winding triangles",
    ),
    Known(
        "Blender turns normals with the surface that it deforms, not by the joints",
        doors="blender",
        files="*.iqm",
        moments="clip",
        what="normals",
    ),
    Known(
        "USD blends the normals that joints make, where others blend the matrices of joints: `baked.py` compares with its rule",
        doors="usd",
        files="*.iqm",
        moments="clip",
        what="normals",
    ),
    Known(
        "differences of complete snapshots that no float holds exactly: each is a mesh of its own, and shown until the next one",
        doors="glb",
        files="samples_mixed_a.cgeo",
        moments="between",
    ),
    Known(
        "USD has the samples between snapshots, which others leave out",
        doors="usd",
        files="samples_*.cgeo",
        moments="between",
    ),
    Known(
        "a proxy that is played has normals that Blender computes",
        doors="blender",
        files="*.cgeo",
        what="normals",
        says="none",
        when=lambda zero, moment: len(zero.moments) > 1,
    ),
    Known(
        "bones cannot be sheared: the import reports the difference",
        doors="blender",
        moments="clip",
        what="positions",
        when=lambda zero, moment: zero.shears_bones(moment),
    ),
    Known(
        "what plays a proxy moves positions and normals, and keeps the texture coordinates of the first snapshot",
        doors="browser blender",
        files="*.cgeo",
        moments="snapshot between",
        what="texcoords",
    ),
    Known(
        "the sizes of faces are from 2.8e-45, the least number that a float holds, to 3e38",
        doors="browser",
        files="ours_domains_*.slmesh",
        what="normals winding",
    ),
    Known(
        "white space in a name is written as `_`, because OBJ ends names there",
        doors="obj",
        moments="names",
        when=lambda zero, moment: any(name.split() != [name] for name in zero.names()),
    ),
    Known(
        "Blender cuts names after 63 bytes",
        doors="blender",
        moments="names",
        when=lambda zero, moment: any(len(name) > 63 for name in zero.names()),
    ),
    Known("a single coordinate is no place on an image", doors="blender", files="sizes_1.iqm", what="texcoords", says="none"),
    Known(
        "joints whose inverse matrices have large numbers, in single precision",
        doors="browser",
        files="ours_v1_full_a.iqm",
        what="positions",
        most=2e-6,
    ),
    Known(
        "levels that are imported together have the fronts of the finest, and its normals point anywhere in this file",
        doors="blender",
        moments="level",
        what="winding",
        when=lambda zero, moment: zero.turns_alone(moment),
    ),
    Known(
        "an object of three.js has no place for the name of an OpenCTM map, and an image without an ending is not looked for",
        doors="browser",
        files="*.ctm",
        moments="names",
    ),
    Known(
        "normals have the stored lengths, and are interpolated with these",
        doors="usd browser bevy",
        files="large_numbers_*.cgeo",
        moments="between",
        what="normals",
    ),
]


def reason(door: str, zero: Zero, moment: Moment, difference: Difference) -> str | None:
    """The reason for which a difference is expected; None for one that is not."""
    for known in EXCEPTIONS:
        if known.fits(door, zero, moment, difference):
            return known.reason
    return None
