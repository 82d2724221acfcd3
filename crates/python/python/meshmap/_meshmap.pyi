from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Buffer as _Buffer
from typing_extensions import Self, disjoint_base

_Path: TypeAlias = str | PathLike[str]
_Named: TypeAlias = _Path | RemoteUrl
_Reader: TypeAlias = Callable[[int, int], _Buffer]
_Floats: TypeAlias = NDArray[np.float32]
_Times: TypeAlias = Sequence[float] | NDArray[np.floating[Any]] | NDArray[np.integer[Any]]
_Wrap: TypeAlias = Literal["clamp", "loop", "ping-pong"]
_Axis: TypeAlias = Literal["x", "y", "z", "-x", "-y", "-z"]
_Lod: TypeAlias = Literal["finest", "all", "high", "medium", "low", "lowest"]
_Part: TypeAlias = Literal["positions", "normals", "texcoords", "triangles"]
_Role: TypeAlias = Literal["geometry", "lod", "physics", "snapshot"]
_Target: TypeAlias = Literal["glb", "gltf", "usdc", "usdz", "obj", "ply", "stl", "pc2"]
_Format: TypeAlias = Literal["cgeo", "iqm", "openctm", "slmesh", "tmf"]
_T = TypeVar("_T")

class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...
    def seek(self, offset: int, whence: int = 0, /) -> int: ...

class _Writable(Protocol):
    def write(self, data: bytes, /) -> int | None: ...

class _Influences(TypedDict):
    joints: NDArray[np.uint16]
    weights: _Floats
    resting: int
    scaled: int
    not_finite: int
    beyond: int
    clamped: int
    dropped: int

class _BindPose(TypedDict):
    parents: list[int | None]
    places: _Floats
    locals: _Floats
    inverses: _Floats
    replaced: list[int]

# NumPy states that its arrays are buffers only for Python 3.12 and later.
_Source: TypeAlias = _Named | _Buffer | NDArray[Any] | _Readable
_Sources: TypeAlias = (
    _Named | Iterable[_Named | tuple[str, _Reader, int | None] | tuple[str, _Reader, int | None, str | None]]
)

__all__ = [
    "Anim",
    "ArrayEntry",
    "Arrays",
    "Block",
    "Body",
    "Buffer",
    "CGeoFile",
    "Catalog",
    "Clip",
    "Decoded",
    "Done",
    "Entry",
    "Event",
    "FORMATS",
    "Face",
    "Fact",
    "File",
    "Finding",
    "Group",
    "Hulls",
    "IqmFile",
    "Joint",
    "Map",
    "Material",
    "Mesh",
    "OpenCtmFile",
    "RemoteUrl",
    "Outputs",
    "Scene",
    "SceneSkeleton",
    "Shape",
    "Skeleton",
    "Skin",
    "SlMeshFile",
    "Snapshot",
    "SnapshotCache",
    "Snapshots",
    "Submesh",
    "Timing",
    "TmfFile",
    "TmfMesh",
    "Triangles",
    "VertexArray",
    "PASSING_KINDS",
    "SCHEMA_VERSION",
    "__version__",
    "boundaries_of_url",
    "catalog",
    "convert",
    "find_files",
    "find_texture",
    "geometry",
    "head_of_url",
    "is_of_store",
    "list_url",
    "named",
    "open",
    "render",
    "run",
    "scene",
    "scene_of_mesh",
    "url_of_key",
    "use_threads",
    "versions",
    "without_secrets",
]
__version__: Final[str]
PASSING_KINDS: Final[list[str]]
SCHEMA_VERSION: Final[int]
FORMATS: Final[dict[_Format, tuple[str, ...]]]

def named(path: _Named) -> str | RemoteUrl:
    """The source that a path or a URL as text names: the text of the path, or a `RemoteUrl`."""
def without_secrets(path: _Named) -> str:
    """A path as it is, or a text that begins like a URL as it prints."""
def is_of_store(path: _Named) -> bool:
    """True for the URL of an object or a folder of S3, Google Cloud or Azure."""
def list_url(url: RemoteUrl, after: str = "") -> Iterator[list[tuple[RemoteUrl, str, int, str | None]]]:
    """The files below a URL of a store whose keys are greater than `after`, in the order of their keys: an iterator of lists of tuples
    `(url, key, size, version)`.
    """
def head_of_url(url: RemoteUrl) -> tuple[int, str | None]:
    """The size in bytes and the version of the file at a URL, which must exist. No part of it is fetched."""
def versions(files: Sequence[tuple[_Named, str | None]]) -> list[tuple[str, str | None, str | None]]:
    """The columns `path`, `path_bytes` and `identity` of files, each a tuple of a path or a URL and its version, which is fetched if it is
    None.
    """
def boundaries_of_url(url: RemoteUrl, after: str) -> list[str]:
    """Keys greater than `after` that divide the list of a URL into parts, in order: names of folders. Each part can be listed by itself, from the
    key at its beginning on. None if the store does not sort its lists.
    """
def url_of_key(bucket: RemoteUrl, key: str) -> RemoteUrl:
    """The URL of the object with a key in a bucket."""
def use_threads(count: int) -> None:
    """Sets the number of threads, for a worker that has not all cores of its machine. `MESHMAP_THREADS` in the environment precedes it. Without
    effect once the process has worked on large files.
    """
def find_files(paths: Sequence[_Path], wanted: Callable[[list[str]], Sequence[bool]] | None = None) -> list[tuple[str, int]]:
    """The files that a catalogue of paths has rows of, and their sizes: those named, and those below folders that hold a mesh. `wanted` takes the
    column `path` of all of them, and returns for each whether it is needed; others are not opened.
    """
def open(
    source: _Source | None = None,
    /,
    *,
    reader: _Reader | None = None,
    size: int | None = None,
    mmap: bool = False,
    strict: bool = False,
    parallel: bool = True,
    checksums: bool = True,
    max_block_bytes: int | None = None,
    max_total_bytes: int | None = None,
) -> CGeoFile | IqmFile | OpenCtmFile | SlMeshFile | TmfFile:
    """Opens a mesh file of any format. Headers and tables are read, and everything else when it is asked for.

    Args:
        source: A path; `bytes`, which are read in place, or another buffer, which is copied unless `mmap` is true; or a binary file object
            with `seek` and `read`. Where the package was built with its feature `stores`, also an address: `https://..`,
            `s3://..` or `file://..`, of which ranges are fetched.
        reader: In place of a source: `reader(start, stop)` gives the bytes of a range, fewer where they end inside it. It may
            be called by several threads. A reader or file object must not use the file that it reads.
        size: The length of what `reader` reads, in bytes, if it is known.
        mmap: Maps a path into memory, and reads a buffer such as `mmap.mmap` without a copy: arrays that are not compressed are
            its pages. Nobody may truncate the file or write into it while arrays of it live, or into the buffer; the
            process could crash. Files may be replaced by renaming.
        strict: Checks every value, and refuses what the specification of the format forbids.
        parallel: Decodes large parts by all processors. Otherwise all work is done by the thread that asks for it.
        checksums: Refuses compressed parts whose checksum is wrong or missing.
        max_block_bytes: The size of the largest decoded array. By default 512 MiB, or 16 times its stored bytes, which is
            not allowed for where a limit is given.
        max_total_bytes: The most that one call holds of what it decodes. By default 1 GiB, or 16 times the bytes that it reads.

    Returns:
        A `CGeoFile`, `IqmFile`, `OpenCtmFile`, `SlMeshFile` or `TmfFile`.

    Raises:
        Error: The file cannot be read: its `kind`, `format`, `address` and `byte_range` say why.
        OSError: The system cannot open or read it. What `reader` raises comes through as it is.
    """
def run(arguments: Sequence[str]) -> int:
    """Runs the command `meshmap` with these arguments, the first of which is the program's name. Gives its exit status."""
def catalog(
    sources: _Sources,
    *,
    full: bool = False,
    hash: bool = False,
    columns: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    limit: int | None = None,
    mmap: bool = False,
    batch_rows: int = 8192,
    max_total_bytes: int | None = None,
) -> Catalog:
    """A catalogue: a row for each mesh, or for why a file or a mesh cannot be read. Nothing is read before its stream is.

    Args:
        sources: A path, or several: files, and folders, of which all files that hold a mesh are taken. Or tuples
            `(name, reader, size)` or `(name, reader, size, identity)` for objects of a store, where `identity` is an ETag. A path
            that does not exist is a row whose `error_kind` is `not_found`; `meshmap.scan` and `meshmap.find` raise FileNotFoundError.
        full: Decodes and checks everything: every count and box, and the findings and errors that `meshmap verify` reports.
            Otherwise only headers are read. It changes values, never which rows there are.
        hash: Reads the bytes of each file for their SHA-256.
        columns: The names of the columns, in order; by default all. With `full`, files are decoded only as far as the columns need:
            positions and triangles for counts and boxes, everything for findings and errors, nothing for other columns.
        formats: The formats that have rows, such as `["cgeo"]`; by default all, and files of no known format.
        limit: The most rows. Files that no row is needed of are not read.
        mmap: Maps files instead of reading them; they must not change meanwhile.
        batch_rows: The most rows of a table of the stream. A table also ends with the row that reaches 8 MiB.
        max_total_bytes: The memory for one file, as `--max-memory` of the command. By default 1 GiB, or 16 times the file if that is more. A
            file that needs more is a row with an error.

    An exception of a reader is a row with an error, except for KeyboardInterrupt, SystemExit and others that are not an
    `Exception`: these end the stream with an error that names them.

    Returns:
        An object with `__arrow_c_stream__`, which pyarrow, Polars and DuckDB read.
    """
def geometry(
    sources: _Sources,
    *,
    columns: Sequence[str] | None = None,
    formats: Sequence[str] | None = None,
    drawn: bool = False,
    limit: int | None = None,
    mmap: bool = False,
    batch_bytes: int = 33554432,
    max_total_bytes: int | None = None,
) -> Catalog:
    """The geometry of many files: a row for each mesh, snapshot or level of detail, with its arrays as lists. Nothing is read before its
    stream is.

    The values are equal to the arrays of `file.mesh(address)`: `position`, `normal` and `texcoord` are lists of `float32 [3]` (a third texture
    coordinate that the file has not is 0), `tangent`, `color` and `weights` of `float32 [4]`, `joints` of `int32 [4]`, `index` of
    `int32 [3]`, `material_id` of `int64`, and other attributes of a file of lists of `float64`. A mesh without an array has null. A file, a mesh or
    an array that cannot be read is also null, in a row with `error_kind` and `error`.

    Args:
        sources: As of `catalog`.
        columns: The names of the columns, in order: columns of a catalogue from `path` to `triangles`, `material`, `identity`, `hash`,
            `error_kind`, `error` and `path_bytes`, and those above, such as `texcoord[1]`. What no column needs is not decoded.
        formats: The formats that have rows, such as `["cgeo"]`; by default all, and files of no known format.
        drawn: True if only meshes that viewers show have rows: the finest level of detail, the first snapshot, nothing for physics.
        limit: The most rows.
        mmap: Maps files instead of reading them; they must not change meanwhile.
        batch_bytes: A table of the stream ends with the row that reaches this size.
        max_total_bytes: As of `catalog`.

    Returns:
        An object with `__arrow_c_stream__`, which pyarrow, Polars and DuckDB read.
    """
def convert(source: File | _Source, output: _Path | _Writable, to: _Target | None, options: dict[str, Any]) -> dict[str, Any]:
    """Converts a mesh file with these options, which are the arguments of `meshmap.convert`."""
def find_texture(name: str, folders: Sequence[_Path]) -> Path | None:
    """The path of the image that a name in a mesh file means, such as `Mesh.texture`; None if there is none.

    Names are written by strangers. Only a regular file below the folders is found: a PNG, JPEG, WebP, DDS, TGA or BMP by its first bytes,
    of at most 256 MiB. No link is followed. Other endings than the name's are tried, and its last part.

    Args:
        name: The name.
        folders: Where to look, such as the folder of the mesh file.
    """
def scene(
    source: File | _Source,
    /,
    *,
    meshes: Sequence[str] | None = None,
    lod: _Lod = "finest",
    snapshots: Sequence[int] | None = None,
    frame: int | None = None,
    anim: str | None = None,
    animations: Sequence[File | _Source] | None = None,
    up: _Axis | None = None,
    unit_millimeters: float | None = None,
    drop_degenerate: bool = False,
    skip_unreadable: bool = False,
) -> Scene:
    """Makes the scene of a file: shapes, materials, a skeleton and its animations, with what their numbers mean.

    Reads headers and tables; shapes are decoded when they are asked for.

    Args:
        source: A file, or what `open` takes.
        meshes: Addresses of meshes, or of parts that contain some, as `high_lod` or `physics_convex`; by default what viewers show.
        lod: The level of detail of a Second Life asset: `finest`, `all`, `high`, `medium`, `low` or `lowest`.
        snapshots: Snapshots of a CGeo file, by their numbers; by default all.
        frame: The frame of an IQM file in which vertices stand, counted over all animations. By default they are in the bind pose.
        anim: The name of the only animation.
        animations: IQM files with animations for the joints of this one, which are added to its own.
        up: The axis that points up in the file, instead of the axis of the format.
        unit_millimeters: Millimetres per unit of the file, instead of the unit that it stores.
        drop_degenerate: Does not draw triangles with two equal corners: vertices of nothing but these are points.
        skip_unreadable: Leaves out meshes that cannot be read, which `unreadable` lists. Otherwise the first of them is raised.

    Raises:
        Error: The file cannot be read, or a part that was asked for is not there or does not fit.
    """
def scene_of_mesh(mesh: Mesh) -> Scene:
    """The scene of a mesh, for the loaders of other packages."""
@overload
def render(
    source: File | _Source,
    output: None = None,
    *,
    size: tuple[int, int] = (1024, 1024),
    samples: Literal[1, 4, 9] = 4,
    mode: Literal["shaded", "clay", "wireframe", "normals"] = "shaded",
    no_occlusion: bool = False,
    no_shadow: bool = False,
    background: str = "#f2f3f5",
    view: Literal["three-quarter", "front", "side", "top"] = "three-quarter",
    points: float | None = None,
    textures: Sequence[_Path] | None = None,
    up: _Axis | None = None,
    turn: Literal[0, 90, 180, 270] = 0,
    meshes: Sequence[str] | None = None,
    lod: _Lod = "finest",
    snapshot: int | None = None,
    frame: int | None = None,
    seconds: float | None = None,
    anim: str | None = None,
    turntable: int | None = None,
    animation: bool = False,
    sheet: bool = False,
    every: int = 1,
    zero_non_finite: bool = False,
) -> NDArray[np.uint8]:
    """Draws a mesh file without a GPU. Writes a PNG if `output` is given; otherwise returns `uint8 [height, width, 3]`, sRGB;
    `[height, width, 4]` with a transparent background. Surfaces show the images that the file names, if they are found.

    Args:
        source: A file, or what `open` takes.
        output: The path of a PNG to write.
        size: Width and height in pixels, 1 to 8192; of a contact sheet, the size of each tile.
        samples: Samples of each pixel: 1, 4 or 9.
        mode: `shaded`, `clay` (one colour for all materials), `wireframe` or `normals`.
        no_occlusion: Leaves out ambient occlusion, which darkens folds and corners.
        no_shadow: Leaves out the shadow on the ground below the mesh.
        background: `white`, `black`, `transparent`, or a colour such as `#f2f3f5`.
        view: The side from which everything is seen: `three-quarter`, `front`, `side` (from the right) or `top`.
        points: The width of points in pixels; by default from 3 to 20 of 1024, by their number. For clouds of points.
        textures: Folders below which the images that the file names are looked for, besides the folder of the file.
        up: The axis that points up, instead of the axis of the format.
        turn: Turns everything about the up axis by 90, 180 or 270 degrees, counter-clockwise as seen from above.
        meshes: Addresses of the meshes to draw; by default what viewers show.
        lod: The level of detail of a Second Life asset.
        snapshot, frame, seconds: The moment: a snapshot of a CGeo file, a frame of an IQM animation, or the one nearest to a
            time.
        anim: The name of the IQM animation.
        turntable: Writes an APNG of this number of pictures, in which the mesh turns around once.
        animation: Writes an APNG of all snapshots or frames.
        sheet: Writes a contact sheet of all snapshots or frames.
        every: Takes each n-th of them.
        zero_non_finite: Draws 0 for NaN and infinite values, which are an error otherwise.

    Returns:
        The picture; or, with `output`, a dict of `file`, `size`, `pictures`, `triangles`, `points` (of clouds), `joints` (of files without
        meshes), `moment`, and `textures`, `left_out`, `changed`, `assumed` and `warnings` as `convert` has them.
    """
@overload
def render(
    source: File | _Source,
    output: _Path,
    *,
    size: tuple[int, int] = (1024, 1024),
    samples: Literal[1, 4, 9] = 4,
    mode: Literal["shaded", "clay", "wireframe", "normals"] = "shaded",
    no_occlusion: bool = False,
    no_shadow: bool = False,
    background: str = "#f2f3f5",
    view: Literal["three-quarter", "front", "side", "top"] = "three-quarter",
    points: float | None = None,
    textures: Sequence[_Path] | None = None,
    up: _Axis | None = None,
    turn: Literal[0, 90, 180, 270] = 0,
    meshes: Sequence[str] | None = None,
    lod: _Lod = "finest",
    snapshot: int | None = None,
    frame: int | None = None,
    seconds: float | None = None,
    anim: str | None = None,
    turntable: int | None = None,
    animation: bool = False,
    sheet: bool = False,
    every: int = 1,
    zero_non_finite: bool = False,
) -> dict[str, Any]: ...
@final
class Buffer:
    """Read-only bytes of a file, or decoded from it, which live as long as whatever views them.

    Has the buffer protocol: `memoryview(buffer)`, `numpy.asarray(buffer)`.
    """
    @property
    def nbytes(self) -> int:
        """The number of bytes."""
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __len__(self) -> int: ...

@final
class Done:
    """A set of texts, of which it holds 16 bytes each: two hashes, whose keys nobody else knows. That two of ten million texts have the same
    hashes has a probability below 10^-24, also if somebody chose the texts.
    """
    def __new__(cls, count: int) -> Self: ...
    def add(self, offsets: _Buffer, bytes: _Buffer) -> None:
        """Adds the texts of an Arrow array: its offsets, of 32 bits, and its bytes."""
    def has(self, offsets: _Buffer, bytes: _Buffer) -> bytes:
        """Returns a byte for each text of an Arrow array: 1 if it is in the set, otherwise 0."""
    def __len__(self) -> int: ...

@final
class Catalog:
    """A row for each mesh of many files. Read again each time that it is asked for its stream."""
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class RemoteUrl:
    """The URL of a file or a folder in a store or on a server, such as `https://..` or `s3://..`.

    It prints without its user, its password, its query and its fragment, also in `repr`, in errors and in columns of tables, so that no log
    has the signature of a presigned URL by accident. `?..` is in place of a query, except for the version of an object. Functions that take a
    path take a URL as text, or as this. URLs are equal, and ordered, by their whole texts, also to texts. A pickled one has its secrets,
    which the process that reads the file needs.
    """
    def __new__(cls, text: str) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the file: the last part of the path, as it is encoded. Empty for a folder, whose path ends with a slash."""
    def with_secrets(self) -> str:
        """The whole text, which may have a password or a signature: for requests, and never for messages, names or logs."""
    def __lt__(self, other: RemoteUrl | str, /) -> bool: ...
    def __le__(self, other: RemoteUrl | str, /) -> bool: ...
    def __gt__(self, other: RemoteUrl | str, /) -> bool: ...
    def __ge__(self, other: RemoteUrl | str, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

@final
class Outputs:
    """The outputs of files in a folder, and what they were made from, as `meshmap convert` records them."""
    def __new__(
        cls,
        folder: _Path,
        files: Sequence[tuple[str | RemoteUrl, _Path | None]],
        to: _Target,
        max_total_bytes: int | None,
        process: tuple[int, float] | None,
        **options: Any,
    ) -> Self: ...
    def fail(self, number: int, version: str | None, state: str, error_kind: str, error: str) -> None:
        """Records that the file of this number cannot be converted, so that it is not read again: `state`, and kind and message of the error."""
    def convert(self, number: int, version: str | None, is_named: bool) -> dict[str, Any]:
        """Converts the file of this number, unless its output is up to date. `version` is the version of a file in a store. With `is_named`, the
        output has the name of the file only, so that it must not be of another file of the same name.

        Returns a dict of `output`, `state`, `vertices`, `triangles` and `left_out`, or of `state`, `error_kind` and `error` if an earlier run has
        recorded that the file cannot be converted.
        """

@disjoint_base
class File:
    """A mesh file, read lazily.

    A mapping from the addresses of its meshes to the meshes, in the order of the file. A context manager.
    """
    @classmethod
    def open(cls, source: _Source | None = None, /, **options: Any) -> Self:
        """Opens a file of this class's format; see `meshmap.open`."""
    @property
    def format(self) -> _Format:
        """The name of the format: `cgeo`, `iqm`, `openctm`, `slmesh` or `tmf`."""
    @property
    def path(self) -> str | RemoteUrl | None:
        """The path that the file was opened from, or its URL, a `RemoteUrl`; None for memory and readers."""
    @property
    def nbytes(self) -> int | None:
        """The length in bytes, if it is known."""
    @property
    def closed(self) -> bool:
        """True if `close` was called."""
    @property
    def conventions(self) -> dict[str, str | None]:
        """The conventions of the format: axes, winding, texture origin and unit, as a dict of `up`, `front_face`, `v_origin` and
        `unit`, each None if it says nothing; `usual_up` is the up axis of most files.
        """
    @property
    def findings(self) -> list[Finding]:
        """Rules of the format that the file breaks, as far as they are found by opening it."""
    @property
    def read_stats(self) -> tuple[int, int]:
        """The reads so far: a tuple of the number of reads and of bytes. Maps and memory read nothing."""
    def validate(self) -> list[Finding]:
        """Checks every value of the file. Gives all findings; one that is `unusable` stands for a part that cannot be decoded."""
    def info(self, *, full: bool = False) -> dict[str, Any]:
        """The object that `meshmap info --json` prints, as a dict. `full` decodes and checks everything."""
    def meshes(self) -> list[Entry]:
        """The meshes: address, name and role of each, in the order of the file. Reads no geometry."""
    def arrays(self) -> list[ArrayEntry]:
        """Every array of the file, in its order: address, type, shape and encoding. Raises `Error` if a part of the file is damaged
        so that its arrays are unknown.
        """
    def array(self, address: str) -> NDArray[Any]:
        """The array at an address such as `snapshots[3].positions`: a NumPy array of the type and shape that `arrays` lists."""
    def texts(self) -> dict[str, str]:
        """Every text of the file, by its address: names, materials, comments."""
    def counts(self, address: str) -> tuple[int, int]:
        """The numbers of stored positions and of triangles of the mesh at an address."""
    def mesh(self, key: int | str | None = None) -> Mesh:
        """A mesh by its index in `meshes()`, its address (`"snapshots[12]"`, `"high_lod.faces[0]"`), or its name."""
    def read(self, start: int = 0, stop: int | None = None) -> NDArray[np.uint8]:
        """Bytes of the file, `uint8 [stop - start]`, read-only; of a map, the pages of the file themselves."""
    def is_stale(self) -> bool:
        """True if the file at the path has been changed or replaced since it was opened."""
    def close(self) -> None:
        """Closes the file. Meshes and arrays that were taken out of it stay as they are."""
    def keys(self) -> list[str]:
        """The addresses of the meshes."""
    def values(self) -> Iterator[Mesh]:
        """The meshes, one after the other."""
    def items(self) -> Iterator[tuple[str, Mesh]]:
        """Pairs of address and mesh, one after the other."""
    @overload
    def get(self, key: int | str, default: None = None, /) -> Mesh | None:
        """Like `file[key]`; `default` if no mesh has this address or name."""
    @overload
    def get(self, key: int | str, default: _T, /) -> Mesh | _T: ...
    def _repr_png_(self) -> bytes | None: ...
    def __getitem__(self, key: int | str, /) -> Mesh: ...
    def __contains__(self, key: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __enter__(self) -> Self: ...
    def __exit__(self, *_exception: type[BaseException] | BaseException | TracebackType | None) -> None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Entry:
    """A mesh of a file, before it is read."""
    def __new__(
        cls,
        address: str,
        name: str,
        role: str,
        level: int | None,
        snapshot: int | None,
        seconds: float | None,
        is_drawn_by_default: bool,
        vertices: int | None,
        triangles: int | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def address(self) -> str:
        """Its address in the file."""
    @property
    def name(self) -> str:
        """Its name, empty if it has none."""
    @property
    def role(self) -> _Role:
        """`geometry`, `lod`, `physics` or `snapshot`."""
    @property
    def level(self) -> int | None:
        """The level of detail, 0 the finest; None for other roles."""
    @property
    def snapshot(self) -> int | None:
        """The index of the snapshot; None for other roles."""
    @property
    def seconds(self) -> float | None:
        """The time of the snapshot in seconds, if the file has times."""
    @property
    def is_drawn_by_default(self) -> bool:
        """True if a viewer draws it by default; False if it is known to have no triangles or no positions."""
    @property
    def vertices(self) -> int | None:
        """The number of stored positions; None if another read is needed, see `File.counts`."""
    @property
    def triangles(self) -> int | None:
        """The number of triangles; None if another read is needed."""

@final
class ArrayEntry:
    """An array of a file, before it is read."""
    def __new__(
        cls,
        address: str,
        name: str,
        dtype: str,
        shape: list[int] | None,
        encoding: str,
        is_view: bool,
        byte_range: tuple[int, int],
        same_as: str | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def address(self) -> str:
        """The address, as accepted by `File.array`."""
    @property
    def name(self) -> str:
        """The name that the file gives it, or the meaning of a vertex array; empty if it has neither."""
    @property
    def dtype(self) -> str:
        """The name of the NumPy type: `float32`."""
    @property
    def shape(self) -> list[int] | None:
        """The number of elements, then the numbers per element; None if only decoding reveals it."""
    @property
    def encoding(self) -> str:
        """The encoding of the numbers, once the bytes are decompressed: `plain`, `quantized` and others."""
    @property
    def is_view(self) -> bool:
        """True if the values are the file's own bytes."""
    @property
    def byte_range(self) -> tuple[int, int]:
        """First byte in the file, and the byte after the last one, of the block that holds it."""
    @property
    def same_as(self) -> str | None:
        """The address of an earlier array that is stored in the same bytes."""

@final
class Finding:
    """A rule of its format that a file breaks, and where."""
    def __new__(
        cls,
        rule: str,
        severity: str,
        address: str | None,
        byte_range: tuple[int, int] | None,
        count: int,
        message: str,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def rule(self) -> str:
        """The identifier of the rule."""
    @property
    def severity(self) -> Literal["note", "suspicious", "forbidden", "unusable"]:
        """`note`, `suspicious`, `forbidden` or `unusable`."""
    @property
    def address(self) -> str | None:
        """The address in the file."""
    @property
    def byte_range(self) -> tuple[int, int] | None:
        """First byte, and the byte after the last one."""
    @property
    def count(self) -> int:
        """The number of places that it applies to."""
    @property
    def message(self) -> str:
        """The problem, on one line."""

@final
class Mesh:
    """A mesh: a mapping from the names of its attributes to arrays, one row for each vertex.

    `position`, `normal`, `tangent`, `texcoord`, `texcoord[1]`, `color`, `joints`, `weights`, and other names of the file.
    """
    @property
    def address(self) -> str:
        """The address of the mesh in the file."""
    @property
    def name(self) -> str:
        """Its name, empty if it has none."""
    @property
    def role(self) -> _Role:
        """`geometry`, `lod`, `physics` or `snapshot`."""
    @property
    def level(self) -> int | None:
        """The level of detail, 0 the finest; None for other roles."""
    @property
    def seconds(self) -> float | None:
        """The time in seconds of a snapshot, if the file has times."""
    @property
    def texture(self) -> str | None:
        """The name of the image for the first texture coordinates, for `find_texture`: the file of an OpenCTM UV map, or the material of
        an IQM mesh, which is often the path of an image. None if the file stores no name.
        """
    @property
    def material(self) -> str | None:
        """The material of the whole mesh, if the file names one."""
    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
    @property
    def triangle_count(self) -> int:
        """The number of triangles."""
    @property
    def formats(self) -> dict[str, str]:
        """The names of the attributes, and what is stored of each: `{"position": "float32x3"}`."""
    @property
    def indices(self) -> NDArray[np.uint32] | NDArray[np.uint16]:
        """The triangles: `uint32` or `uint16 [triangles, 3]`, all below `vertex_count`; in place if the file stores them like this."""
    @property
    def groups(self) -> list[Group]:
        """The triangles of each material, one after the other."""
    @property
    def material_ids(self) -> NDArray[np.uint32] | None:
        """The material of each triangle, `uint32 [triangles]`; None if the file has none."""
    @property
    def bounds(self) -> _Floats | None:
        """The bounding box of the positions, `float32 [2, 3]`: minimum and maximum; None if there are no positions."""
    def influences(self, joint_count: int) -> _Influences | None:
        """The joints that move each vertex, as programs draw them, of a skeleton of `joint_count` joints. None if the mesh has no joints or
        no weights.

        A dict of `joints` (`uint16 [vertices, 4]`) and `weights` (`float32 [vertices, 4]`): four of each a vertex, which exist, and
        have the sum 1. Vertices that no joint moves follow the joint `joint_count`, which rests. `resting` is the number of these, and
        `scaled`, `not_finite`, `beyond`, `clamped` and `dropped` count what was changed, as in the library.
        """
    @property
    def findings(self) -> list[Finding]:
        """Rules of the format that the mesh breaks."""
    @property
    def conventions(self) -> dict[str, str | None]:
        """The conventions of the file: as `File.conventions`."""
    def by_material(self) -> Mesh:
        """This mesh with its triangles sorted by material, so that each has one group."""
    def to_trimesh(self) -> Any:
        """This mesh as a `trimesh.Trimesh`: vertices and triangles in the order of the file, triangles counter-clockwise.

        As in all objects of other packages, vertices of a Second Life mesh that follow joints are in the bind shape of the skin, and the V
        of texture coordinates runs upward from the bottom of the image, as in files that `convert` writes.
        """
    def to_pyvista(self) -> Any:
        """This mesh as a `pyvista.PolyData`. Normals and texture coordinates are active, other attributes are point data, and the
        material of each triangle is cell data `material_ids`.
        """
    def to_meshio(self) -> Any:
        """This mesh as a `meshio.Mesh`."""
    def to_open3d(self) -> Any:
        """This mesh as an `open3d.geometry.TriangleMesh`."""
    def plot(self, **options: Any) -> Any:
        """Shows the mesh by PyVista. Options are passed to `pyvista.plot`."""
    def _repr_png_(self) -> bytes | None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def raw(self, name: str) -> NDArray[Any]:
        """An attribute as stored: its own type, `[vertices, components]`, in place if the file is mapped or in memory, and
        not compressed.
        """
    def dequantization(
        self, name: str
    ) -> tuple[tuple[float, float, float, float], tuple[float, float, float, float]] | None:
        """The scale and the offset of the integers of an attribute: `value * scale + offset` for each component; None
        if they have no such scale.
        """
    def keys(self) -> list[str]:
        """The names of the attributes, in the order of the file."""
    def values(self) -> list[NDArray[Any]]:
        """The arrays of the attributes."""
    def items(self) -> list[tuple[str, NDArray[Any]]]:
        """Pairs of name and array."""
    @overload
    def get(self, name: str, default: None = None, /) -> NDArray[Any] | None:
        """Like `mesh[name]`; `default` if the mesh does not have it."""
    @overload
    def get(self, name: str, default: _T, /) -> NDArray[Any] | _T: ...
    def __getitem__(self, name: str, /) -> NDArray[Any]: ...
    def __contains__(self, name: object, /) -> bool: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

@final
class Group:
    """Triangles of one material."""
    def __new__(
        cls,
        material: int,
        triangles: tuple[int, int],
        vertices: tuple[int, int],
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def material(self) -> int:
        """The number of the material."""
    @property
    def triangles(self) -> tuple[int, int]:
        """First triangle, and the one after the last."""
    @property
    def vertices(self) -> tuple[int, int]:
        """First vertex that they use, and the one after the last."""

@final
class CGeoFile(File):
    """A Corona proxy: snapshots of one object over time."""
    @property
    def format(self) -> Literal["cgeo"]: ...
    @property
    def snapshots(self) -> Snapshots:
        """The snapshots, a sequence."""
    @property
    def timing(self) -> Timing | None:
        """The times of the snapshots; None if the file does not store them."""
    @property
    def object_name(self) -> str | None:
        """The name of the object, if the file has one."""
    @property
    def material_name(self) -> str | None:
        """The name of the material, if the file has one."""
    @property
    def version(self) -> int | None:
        """The version that the header says."""
    @property
    def id(self) -> int:
        """The number that names the proxy."""
    @property
    def scale(self) -> float | None:
        """The property `scale` of the header."""
    @property
    def unit_millimeters(self) -> float | None:
        """Millimetres per unit; None if the file does not store a unit."""
    @property
    def properties(self) -> dict[str, str]:
        """The properties of the header, in the order of the file."""
    def positions_at(
        self,
        times: _Times,
        *,
        wrap: _Wrap = "clamp",
        timing: Timing | None = None,
        cache: SnapshotCache | None = None,
        out: _Floats | None = None,
    ) -> _Floats:
        """The positions at several times: `float32 [times, vertices, 3]`, interpolated between snapshots.

        `times` are seconds. `wrap` selects the positions before the first and after the last snapshot: `clamp`, `loop` or
        `ping-pong`. `timing` replaces the times of the file, or adds them if the file has none. Each snapshot is decoded once for the call; with a
        `cache`, once for all calls. `out`, a writable float32 array of exactly that shape in native byte order, is filled and
        returned if it is given.
        """
    def normals_at(
        self,
        times: _Times,
        *,
        wrap: _Wrap = "clamp",
        timing: Timing | None = None,
        cache: SnapshotCache | None = None,
        out: _Floats | None = None,
    ) -> _Floats:
        """The normals at several times, of length 1: as `positions_at`. Triangles have separate indices of normals."""
    def velocities(
        self,
        snapshot: int,
        *,
        timing: Timing | None = None,
        cache: SnapshotCache | None = None,
        out: _Floats | None = None,
    ) -> _Floats:
        """The velocity of each vertex at a snapshot, in units per second: `float32 [vertices, 3]`, by central differences. `out` is
        filled as in `positions_at`.
        """

@final
class Snapshots:
    """The snapshots of a CGeo file: a sequence."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Snapshot: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Snapshot]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __iter__(self) -> Iterator[Snapshot]: ...

@final
class Snapshot:
    """A snapshot of a CGeo file. Nothing is decoded before it is asked for."""
    @property
    def index(self) -> int:
        """Its index in the file."""
    @property
    def seconds(self) -> float | None:
        """Its time in seconds, if the file has times."""
    @property
    def is_complete(self) -> bool:
        """True if it holds positions; False if it holds differences to the first snapshot."""
    @property
    def counts(self) -> dict[str, int]:
        """The numbers of `vertices`, `normals`, `triangles` and `texcoord_sets`: a dict."""
    @property
    def bounding_box(self) -> _Floats | None:
        """The bounding box that the file stores, `float32 [2, 3]`: minimum and maximum; None if the file has none."""
    @property
    def point_cloud(self) -> _Floats | None:
        """The points that viewports show, `float32 [points, 3]`; None if there are none."""
    @property
    def byte_range(self) -> tuple[int, int]:
        """First byte in the file, and the byte after the last one."""
    def positions(self, out: _Floats | None = None) -> _Floats:
        """The positions, `float32 [vertices, 3]`, in lengths of the file.

        `out`, if given, is filled and returned: a writable float32 array of exactly that shape, in native byte order. A C-contiguous
        array is decoded into directly. After an error its content is unspecified. Nothing may read or write it meanwhile; other calls with
        this `out` raise ValueError.
        """
    def normals(self, out: _Floats | None = None) -> _Floats:
        """The normals, `float32 [normals, 3]`. `out` is filled as in `positions`."""
    def texcoords(self, set: int, out: _Floats | None = None) -> _Floats:
        """The texture coordinates u, v, w of a set (a map channel), `float32 [coordinates, 3]`. `out` is filled as in
        `positions`.
        """
    def triangles(self) -> Triangles:
        """The triangles. A snapshot of differences has the triangles of the first one."""
    def decode(self, *, parts: _Part | Sequence[_Part] | None = None) -> Decoded:
        """Everything of the snapshot, decoded at once; or, with `parts`, some of `positions`, `normals`, `texcoords` and `triangles`. The
        stream is decoded no further than the last of them.
        """
    def mesh(self) -> Mesh:
        """The snapshot as renderers see a mesh: one vertex for each combination of position, normal and map coordinates."""
    def _repr_png_(self) -> bytes | None: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def sections(self) -> list[tuple[int, int, int]]:
        """The sections of the snapshot, up to its end tag: tag, first byte of the content, and the byte after the last one."""

@final
class Decoded:
    """A decoded snapshot. Its arrays are not copied when they are read."""
    @property
    def positions(self) -> _Floats:
        """`float32 [vertices, 3]`."""
    @property
    def normals(self) -> _Floats:
        """`float32 [normals, 3]`."""
    @property
    def texcoords(self) -> list[_Floats]:
        """The texture coordinates of each set, `float32 [coordinates, 3]`."""
    @property
    def triangles(self) -> Triangles:
        """The triangles."""
    @property
    def parts(self) -> list[_Part]:
        """The names of the parts that were decoded. Reading another part raises ValueError."""
    @property
    def is_complete(self) -> bool:
        """True if the snapshot holds positions; False if it holds differences to the first snapshot."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Triangles:
    """The triangles of a snapshot: an index for each of position, normal and map channel."""
    @property
    def positions(self) -> NDArray[np.uint32]:
        """Indices of positions, `uint32 [triangles, 3]`."""
    @property
    def normals(self) -> NDArray[np.uint32] | None:
        """Indices of normals, `uint32 [triangles, 3]`; None if the file has none."""
    @property
    def texcoords(self) -> list[NDArray[np.uint32]]:
        """Indices of the coordinates of each map channel, `uint32 [triangles, 3]`."""
    @property
    def material_ids(self) -> NDArray[np.uint32] | None:
        """The material of each triangle, `uint32 [triangles]`; None if the file has none."""
    @property
    def edge_visibility(self) -> NDArray[np.uint8] | None:
        """The visible edges of each triangle, a bit each, `uint8 [triangles]`; None if the file has none."""
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Timing:
    """When the snapshots of a file are: the first at `start`, each later one `step` seconds after the one before."""
    def __new__(cls, start: float, step: float, count: int) -> Self: ...
    @property
    def start(self) -> float:
        """The time of the first snapshot, in seconds."""
    @property
    def step(self) -> float:
        """The time between two snapshots, in seconds."""
    @property
    def count(self) -> int:
        """The number of snapshots."""
    def time_of(self, index: int) -> float:
        """The time of a snapshot, in seconds."""
    def keys(self, open: float, close: float, *, wrap: _Wrap = "clamp") -> list[float]:
        """The times of motion keys while a shutter is open: when it opens, when it closes, and at every snapshot between."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class SnapshotCache:
    """A cache of decoded snapshots: each is decoded once for all threads. Beyond `max_bytes`, snapshots are evicted; most of a loop stays."""
    def __new__(cls, max_bytes: int) -> Self: ...
    @property
    def stats(self) -> dict[str, int]:
        """`hits`, `misses`, `decodes`, `repeated_decodes`, `bytes_held` and `peak_bytes`: a dict."""
    def get(
        self, file: CGeoFile, index: int, *, parts: _Part | Sequence[_Part] | None = None
    ) -> Decoded:
        """A snapshot of a file, decoded if the cache does not have it. With `parts` (some of `positions`, `normals`, `texcoords` and
        `triangles`), at least these parts: missing parts are decoded and added.
        """
    def prefetch(
        self, file: CGeoFile, snapshots: Sequence[int] | NDArray[np.integer[Any]], *, parts: _Part | Sequence[_Part] | None = None
    ) -> None:
        """Begins to decode snapshots that will be asked for, and does not wait for them. `parts` are as in `get`."""
    def remove(self, file: CGeoFile) -> None:
        """Releases all snapshots of a file."""
    def clear(self) -> None:
        """Releases everything."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class IqmFile(File):
    """An Inter-Quake Model: meshes over common vertex arrays, a skeleton, and animations."""
    @property
    def format(self) -> Literal["iqm"]: ...
    @property
    def version(self) -> int:
        """The version of the format: 1 or 2."""
    @property
    def vertex_count(self) -> int:
        """The number of vertices of all meshes."""
    @property
    def comment(self) -> str | None:
        """The comment, if the file has one."""
    @property
    def submeshes(self) -> list[Submesh]:
        """The meshes, as the file's table has them: ranges of the common triangles and vertices."""
    @property
    def vertex_arrays(self) -> list[VertexArray]:
        """The vertex arrays, in the order of the file."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """All triangles, `uint32 [triangles, 3]`. Raises `Error` if an index is out of range."""
    @property
    def adjacency(self) -> NDArray[np.uint32] | None:
        """The neighbours of each triangle, `uint32 [triangles, 3]`; None if the file has none."""
    @property
    def joints(self) -> list[Joint]:
        """The joints: name and parent of each."""
    @property
    def joint_transforms(self) -> _Floats:
        """The bind pose of the joints, relative to their parents: `float32 [joints, 10]`, translation (3), rotation (x y z w)
        and scale (3).
        """
    @property
    def anims(self) -> list[Anim]:
        """The animations."""
    @property
    def frame_count(self) -> int:
        """The number of frames of all animations."""
    @property
    def pose_count(self) -> int:
        """The number of poses of a frame: one for each joint, in most files."""
    @property
    def frame_bounds(self) -> _Floats | None:
        """The boxes of the frames, `float32 [frames, 8]`: minimum (3), maximum (3), radius in the plane, radius; None if
        the file has none.
        """
    @property
    def skeleton(self) -> Skeleton | None:
        """The skeleton; None if the file has no joints."""
    def frames(self, start: int = 0, stop: int | None = None, *, animation: IqmFile | None = None) -> _Floats:
        """Frames `start` up to `stop`: `float32 [frames, poses, 10]`, translation (3), rotation (x y z w), not normalized, and
        scale (3), relative to the parents of the poses, which are not the parents of the joints in a few files. With `animation`, frames of
        that file for the joints of this one.
        """
    def check_animation(self, animation: IqmFile) -> list[str]:
        """The names of the joints of this file that frames of `animation` do not move, which keep their places. Raises `Error` of the
        kind `mismatch` if they cannot move this file: joints are matched by their names and the names of their parents or, without names,
        by their order. `animation` can be this file.
        """

@final
class Submesh:
    """A mesh of the file's table."""
    def __new__(
        cls,
        name: str,
        material: str,
        first_vertex: int,
        num_vertexes: int,
        first_triangle: int,
        num_triangles: int,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def material(self) -> str:
        """The name of its material."""
    @property
    def first_vertex(self) -> int:
        """The first of its vertices."""
    @property
    def num_vertexes(self) -> int:
        """The number of its vertices."""
    @property
    def first_triangle(self) -> int:
        """The first of its triangles."""
    @property
    def num_triangles(self) -> int:
        """The number of its triangles."""

@final
class Joint:
    """A joint."""
    def __new__(
        cls,
        name: str,
        parent: int | None,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def parent(self) -> int | None:
        """The index of the joint that it hangs on; None for a root."""

@final
class Anim:
    """An animation: a range of frames."""
    def __new__(
        cls,
        name: str,
        first_frame: int,
        num_frames: int,
        framerate: float,
        rate: float,
        is_loop: bool,
    ) -> Self: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def first_frame(self) -> int:
        """The first of its frames."""
    @property
    def num_frames(self) -> int:
        """The number of its frames."""
    @property
    def framerate(self) -> float:
        """Frames per second, as stored."""
    @property
    def rate(self) -> float:
        """Frames per second for playing: 24 if the file does not store a rate."""
    @property
    def is_loop(self) -> bool:
        """True if the first frame follows on the last one."""

@final
class VertexArray:
    """A vertex array, as the file has it."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def kind(self) -> str:
        """The meaning of the array, or its name in the file."""
    @property
    def format(self) -> str:
        """The type and the number of its components, such as `f32x3`."""
    @property
    def values(self) -> NDArray[Any]:
        """The elements as stored: `[vertices, components]`, in place if the file is mapped or in memory."""

@final
class Skeleton:
    """Joints, their parents, and the matrices of the bind pose."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def parents(self) -> list[int | None]:
        """The index of the joint that each hangs on; None for roots."""
    @property
    def bind_matrices(self) -> _Floats:
        """From each joint to the model, in the bind pose: `float32 [joints, 3, 4]`, rows."""
    @property
    def inverse_bind_matrices(self) -> _Floats:
        """From the model to each joint, in the bind pose: `float32 [joints, 3, 4]`, rows."""
    def skinning_matrices(self, frame: ArrayLike, *, animation: IqmFile | None = None) -> _Floats:
        """The matrices that move vertices from the bind pose to a frame: `float32 [joints, 3, 4]`, rows. `frame` is
        `[joints, 10]`, such as `file.frames()[7]`. Frames `float32 [frames, joints, 10]`, such as `file.frames()`, give
        `float32 [frames, joints, 3, 4]`. Frames are relative to the parents of the file's poses, also if its joints have other parents.
        For frames of another file, such as `file.frames(animation=other)`, pass the same `animation`.
        """
    def __len__(self) -> int: ...

@final
class OpenCtmFile(File):
    """An OpenCTM file: one body, or several written one after the other."""
    @property
    def format(self) -> Literal["openctm"]: ...
    @property
    def bodies(self) -> list[Body]:
        """The bodies."""

@final
class Body:
    """A body of an OpenCTM file. Nothing is decoded before it is asked for."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def method(self) -> Literal["RAW", "MG1", "MG2"]:
        """The method of compression: `RAW`, `MG1` or `MG2`."""
    @property
    def comment(self) -> str:
        """The comment, empty if there is none."""
    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
    @property
    def triangle_count(self) -> int:
        """The number of triangles."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """The triangles, `uint32 [triangles, 3]`. Raises `Error` if an index is out of range."""
    @property
    def positions(self) -> _Floats:
        """The positions, `float32 [vertices, 3]`."""
    @property
    def normals(self) -> _Floats | None:
        """The normals, `float32 [vertices, 3]`; None if the file has none."""
    @property
    def uv_maps(self) -> list[Map]:
        """The sets of texture coordinates."""
    @property
    def attribute_maps(self) -> list[Map]:
        """The sets of attributes."""
    def decode(self) -> dict[str, Any]:
        """All arrays, decoded at once by all threads: a dict of `triangles`, `positions`, `normals` (if the file has
        them), `texcoords` and `attribute_maps` (lists of arrays).
        """
    def validate(self) -> list[Finding]:
        """Checks every value of the body. Gives all findings."""
    def check(self) -> None:
        """Raises `Error` for the first finding that makes the body unusable."""

@final
class Map:
    """A set of texture coordinates or of attributes."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def file(self) -> str | None:
        """The file of the texture; None for attributes."""
    @property
    def precision(self) -> float | None:
        """The step of the grid that MG2 rounds to; None for other methods."""
    @property
    def values(self) -> _Floats:
        """Texture coordinates, `float32 [vertices, 2]`, or attributes, `float32 [vertices, 4]`."""

@final
class SlMeshFile(File):
    """A Second Life mesh asset: four levels of detail, a skin, and shapes for physics."""
    @property
    def format(self) -> Literal["slmesh"]: ...
    @property
    def lods(self) -> list[str]:
        """The names of the levels of detail that are there, finest first: `high_lod`, `medium_lod`, `low_lod`, `lowest_lod`."""
    @property
    def physics_mesh(self) -> Block | None:
        """The mesh for physics; None if the asset has none."""
    @property
    def physics_convex(self) -> Hulls | None:
        """The hulls for physics; None if the asset has none."""
    @property
    def skin(self) -> Skin | None:
        """The skin; None if the asset has none."""
    @property
    def version(self) -> int | None:
        """The version that the header says."""
    @property
    def blocks(self) -> dict[str, tuple[int, int] | None]:
        """The blocks that the header names: first byte in the file and the byte after the last one; None for one that is not
        stored.
        """
    def lod(self, name: str = "high_lod") -> Block | None:
        """A level of detail by its name, with or without `_lod`; None if the asset has none of that name."""
    def check_hashes(self) -> list[Finding]:
        """Compares the hash of each block in the header with the hash of its bytes. Returns a finding for each hash that differs."""

@final
class Block:
    """The faces of a level of detail: a sequence."""
    @property
    def name(self) -> str:
        """The name of the block: `high_lod`."""
    @property
    def vertex_count(self) -> int:
        """The number of vertices of all faces."""
    @property
    def triangle_count(self) -> int:
        """The number of triangles of all faces."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> Face: ...
    @overload
    def __getitem__(self, index: slice, /) -> list[Face]: ...
    def __reduce__(self) -> tuple[Any, ...]: ...
    def __iter__(self) -> Iterator[Face]: ...

@final
class Face:
    """A face of a level of detail: what has one material."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def index(self) -> int:
        """Its index among the faces, and the index of its material."""
    @property
    def has_geometry(self) -> bool:
        """True if it has geometry; one without has no arrays."""
    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
    @property
    def triangle_count(self) -> int:
        """The number of triangles."""
    @property
    def positions(self) -> _Floats:
        """The positions, `float32 [vertices, 3]`, in the domain of the face."""
    @property
    def normals(self) -> _Floats | None:
        """The normals, `float32 [vertices, 3]`, -1 to 1; None if there are none."""
    @property
    def texcoords(self) -> _Floats | None:
        """The texture coordinates, `float32 [vertices, 2]`; None if there are none."""
    @property
    def raw_positions(self) -> NDArray[np.uint16]:
        """The positions as stored, `uint16 [vertices, 3]`: 0 to 65535 over the domain."""
    @property
    def raw_normals(self) -> NDArray[np.uint16] | None:
        """The normals as stored, `uint16 [vertices, 3]`: 0 to 65535 over -1 to 1."""
    @property
    def raw_texcoords(self) -> NDArray[np.uint16] | None:
        """The texture coordinates as stored, `uint16 [vertices, 2]`: 0 to 65535 over the domain."""
    @property
    def position_domain(self) -> _Floats:
        """The range of stored positions, `float32 [2, 3]`: minimum and maximum."""
    @property
    def texcoord_domain(self) -> _Floats:
        """The range of stored texture coordinates, `float32 [2, 2]`: minimum and maximum."""
    @property
    def indices(self) -> NDArray[np.uint16]:
        """The indices of the corners, `uint16 [indices]`, all below `vertex_count`. Raises `Error` where one is not."""
    @property
    def joint_indices(self) -> NDArray[np.uint8] | None:
        """The joints that move each vertex, `uint8 [vertices, 4]`, 255 where unused; None if the face has no weights."""
    @property
    def joint_weights(self) -> _Floats | None:
        """The weight of each of these joints, `float32 [vertices, 4]`, 0 to 1 as stored, 0 where unused; None if the face has no
        weights. With `normalized_weights`, the weights of a vertex add up to 1.
        """
    @property
    def normalized_weights(self) -> _Floats | None:
        """Like `joint_weights`, scaled so that the weights of a vertex add up to 1."""

@final
class Hulls:
    """Convex hulls for physics."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def hull_sizes(self) -> NDArray[np.uint32] | None:
        """The number of points of each hull, `uint32 [hulls]`; None if there are no hulls."""
    @property
    def hull_points(self) -> _Floats | None:
        """The points of all hulls, one hull after the other, `float32 [points, 3]`; None if there are none."""
    @property
    def bounding_verts(self) -> _Floats | None:
        """The points of the hull around everything, `float32 [points, 3]`; None if there are none."""
    @property
    def hulls(self) -> list[_Floats]:
        """The points of each hull, `float32 [points, 3]`."""

@final
class Skin:
    """The skin, which moves the vertices with the joints of an avatar."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def joint_names(self) -> list[str]:
        """The names of the joints; empty if the skin has none."""
    @property
    def joint_parents(self) -> list[int | None]:
        """For each joint, the index of the nearest joint above it in the viewer's avatar that the skin also has; None for joints
        without one. Assets do not store the hierarchy.
        """
    def bind_pose(self) -> _BindPose | None:
        """The joints in the bind pose, for drawing. None if there is not one matrix for each joint, for which the viewer drops all joints.

        A dict of `parents` (as `joint_parents`; None also if a translation, a rotation and a scale cannot express the place), and of
        matrices, `float32 [joints, 16]`, column by column: `places` in the space of the bind pose, `locals` relative to the
        parents, `inverses` of the places. `replaced` has the joints whose stored matrix is sheared or has no inverse: they have another
        one, with which the mesh rests in the bind pose.
        """
    @property
    def bind_shape_matrix(self) -> _Floats | None:
        """`float32 [16]`, in the order of the file; None if there is none."""
    @property
    def inverse_bind_matrices(self) -> _Floats | None:
        """`float32 [joints, 16]`, in the order of the file; None if there are none."""
    @property
    def alt_inverse_bind_matrices(self) -> _Floats | None:
        """`float32 [joints, 16]`, in the order of the file; None if there are none."""
    @property
    def pelvis_offset(self) -> float | None:
        """The offset of the pelvis in metres; None if the skin does not store it."""

@final
class TmfFile(File):
    """A TMF file: meshes with an index for each of position, normal, texture coordinate and tangent."""
    @property
    def format(self) -> Literal["tmf"]: ...
    @property
    def stored_meshes(self) -> list[TmfMesh]:
        """The meshes, as the file stores them."""

@final
class TmfMesh:
    """A mesh as a TMF file stores it. Nothing is decoded before it is asked for."""
    def __reduce__(self) -> tuple[Any, ...]: ...
    @property
    def name(self) -> str:
        """Its name."""
    @property
    def positions(self) -> _Floats | None:
        """The positions, `float32 [vertices, 3]`; None if there are none."""
    @property
    def normals(self) -> _Floats | None:
        """The normals, `float32 [normals, 3]`; None if there are none."""
    @property
    def texcoords(self) -> _Floats | None:
        """The texture coordinates, `float32 [texcoords, 2]`; None if there are none."""
    @property
    def tangents(self) -> _Floats | None:
        """The tangents, `float32 [tangents, 4]`; None if there are none."""
    @property
    def position_indices(self) -> NDArray[np.uint32] | None:
        """Three indices of `positions` for each triangle, `uint32 [indices]`; None if there are none."""
    @property
    def normal_indices(self) -> NDArray[np.uint32] | None:
        """Three indices of `normals` for each triangle, `uint32 [indices]`; None if there are none."""
    @property
    def texcoord_indices(self) -> NDArray[np.uint32] | None:
        """Three indices of `texcoords` for each triangle, `uint32 [indices]`; None if there are none."""
    @property
    def tangent_indices(self) -> NDArray[np.uint32] | None:
        """Three indices of `tangents` for each triangle, `uint32 [indices]`; None if there are none."""
    @property
    def custom(self) -> list[tuple[str, NDArray[Any]]]:
        """Data of the file's own, in its order: pairs of name and array. `float32 [n, 1]` and `[n, 4]` (colours),
        `uint32 [n]` (indices and integers).
        """
    def indices(self) -> dict[str, NDArray[np.uint32]]:
        """All indices, flat lists: a dict of `positions`, `normals`, `texcoords` and `tangents`, `uint32 [indices]` each, if they
        are there.
        """

@final
class Scene:
    """The look of a file: shapes, the joints that move them, and the meaning of their numbers.

    `meshmap.scene` makes it. The same code decides for `convert`, `render`, the command and other languages.
    """
    @property
    def format(self) -> _Format:
        """The name of the format: `cgeo`, `iqm`, `openctm`, `slmesh` or `tmf`."""
    @property
    def up(self) -> _Axis:
        """The axis that points up: `x`, `y`, `z`, `-x`, `-y` or `-z`. If the format has none, the axis of the programs that usually write it."""
    @property
    def knows_up(self) -> bool:
        """False if neither the format nor the arguments say which axis points up."""
    @property
    def metres_per_unit(self) -> float | None:
        """The length of 1 in metres; None if the file does not say, and programs take 1 for a metre."""
    @property
    def upright(self) -> NDArray[np.float64]:
        """The matrix that makes positions upright and metres, `float64 [4, 4]`, for column vectors: Y points up."""
    @property
    def are_points(self) -> bool:
        """True if the vertices of all shapes are points: no triangle is drawn."""
    @property
    def turns_triangles(self) -> bool:
        """True if `arrays` have the corners of triangles in another order than the file, so that they run counter-clockwise around the front."""
    @property
    def shapes(self) -> list[Shape]:
        """The shapes that are drawn, in the order of the file."""
    @property
    def skeleton(self) -> SceneSkeleton | None:
        """The joints that vertices follow; None if there are none, if vertices stand in a `frame`, or if joints cannot be used."""
    @property
    def clips(self) -> list[Clip]:
        """The animations of the skeleton: first the file's own, then the ones of `animations`."""
    @property
    def bones(self) -> _Floats:
        """The joints of a file without meshes, `float32 [bones, 2, 3]`: the places of the parent of each and of the joint itself. Joints that
        stand in one place are one.
        """
    @property
    def has_only_joints(self) -> bool:
        """True if there are joints and no meshes."""
    @property
    def remarks(self) -> list[str]:
        """Parts of shapes that cannot be used as they are stored, a line each."""
    @property
    def unreadable(self) -> list[str]:
        """The errors of meshes that cannot be read, with `skip_unreadable`."""
    def facts(self) -> list[Fact]:
        """The data of the file that somebody could miss in what is made of the scene: kind, count and the names of the first items of each.

        It covers the parts that were asked for; other parts are counted as a whole.
        """
    @property
    def joint_remarks(self) -> list[str]:
        """Joints and animations that cannot be used as they are stored, a line each."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Shape:
    """Something that is drawn: a mesh, a face of a level of detail, or one object through time."""
    @property
    def name(self) -> str:
        """The name; empty if the file stores none. Faces of Second Life meshes have the names `face_0`, `face_0_lod1` and so on."""
    @property
    def address(self) -> str:
        """The address of the mesh, or of the first snapshot."""
    @property
    def level(self) -> int | None:
        """The level of detail, 0 the finest; None if the shape is not one."""
    @property
    def object(self) -> int | None:
        """The number of the object that the shape is a level of detail of; None for others."""
    @property
    def is_coarser(self) -> bool:
        """True for a level of detail that is drawn in place of a finer one of the scene, and not with it."""
    @property
    def material(self) -> Material | None:
        """The material of all triangles; None without one. Triangles may have numbers for their materials then."""
    def tint(self, material_id: int | None = None) -> tuple[int, int, int]:
        """The colour of the material in sRGB, red, green and blue from 0 to 255, in which all programs of the project draw triangles of
        files that store no colours and no image; with `material_id`, the colour of the triangles with this number.
        """
    @property
    def snapshots(self) -> list[int] | None:
        """The numbers of the snapshots of the shape, ascending; None for a shape that stands still."""
    @property
    def step(self) -> float | None:
        """The seconds from one snapshot of the file to the next, if it stores them: 1/30 for 33,333 microseconds, and likewise for every usual rate
        whose step is rounded to the stored one. `CGeoFile.timing` has the stored one.
        """
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...
    def view(self, key: int = 0) -> Mesh:
        """The mesh as it is stored, with one index for all attributes of a vertex. `key` counts the snapshots of the shape."""
    def arrays(self, key: int = 0, *, attributes: Sequence[str] | None = None, one_index: bool = True) -> Arrays:
        """All arrays of the shape in one call, as programs draw them: positions in the pose of the scene, triangles counter-clockwise,
        V of texture coordinates upward, colours as linear light. `scene.upright` makes positions upright.

        Args:
            key: Counts the snapshots of the shape; negative numbers count from the end.
            attributes: The attributes besides positions, by their names in `Mesh`; by default all.
            one_index: True for one index for all attributes of a vertex, as GPUs have it. Otherwise `positions` are the ones that the file
                stores, and `corners` has the corners of the attributes that have others than `triangles`, as in programs that edit meshes.

        Raises:
            Error: An array cannot be read.
        """

@final
class Material:
    """The surface of a shape. Vertex colours multiply the base colour and the image, as in glTF."""
    def __new__(cls, name: str, image: str | None) -> Self: ...
    @property
    def name(self) -> str:
        """The name of the image, or of a face, such as `face_0`."""
    @property
    def image(self) -> str | None:
        """The name of the image of the first texture coordinates as it is stored, for `find_texture`; None without one."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Arrays:
    """The arrays of a shape: see `Shape.arrays`."""
    @property
    def positions(self) -> _Floats:
        """`float32 [positions, 3]`, in the units and axes of the file."""
    @property
    def triangles(self) -> NDArray[np.uint32]:
        """The corners of triangles, `uint32 [triangles, 3]`, indices of positions, counter-clockwise around the front; empty for points."""
    @property
    def normals(self) -> _Floats | None:
        """`float32 [normals, 3]`, as stored, or of length 1 where a pose has moved them; None if the file stores none."""
    @property
    def tangents(self) -> _Floats | None:
        """`float32 [vertices, 4]`; None if the file stores none."""
    @property
    def texcoords(self) -> dict[int, _Floats]:
        """Texture coordinates by the number of their set, each `float32 [coordinates, 2]`. V runs upward from the bottom of the image, if the format says
        where it begins.
        """
    @property
    def colors(self) -> dict[int, _Floats]:
        """Colours as linear light by the number of their set, each `float32 [vertices, 4]`. Numbers outside of 0 to 1 are no colours, and are in `others`."""
    @property
    def joints(self) -> NDArray[np.uint16] | None:
        """Four joints of each vertex, `uint16 [vertices, 4]`, indices of the joints of the skeleton; a vertex that no joint moves has the index
        after the last one. None if vertices follow no joints.
        """
    @property
    def weights(self) -> _Floats | None:
        """The shares of these joints, `float32 [vertices, 4]`, which have the sum 1."""
    @property
    def influence_counts(self) -> dict[str, int]:
        """The number of vertices that no joint moves (`resting`), and counts of changed weights as in `Mesh.influences`; empty without joints."""
    @property
    def material_ids(self) -> NDArray[np.uint32] | None:
        """The number of the material of each triangle, `uint32 [triangles]`; None if triangles have none."""
    @property
    def others(self) -> dict[str, NDArray[Any]]:
        """Other attributes as in `Mesh`, `[vertices, components]`, by their names."""
    @property
    def corners(self) -> dict[str, NDArray[np.uint32]]:
        """The corners of attributes that have others than `triangles`, each `uint32 [triangles, 3]`, by the names of the attributes, such as
        `texcoord[1]`; empty with `one_index`.
        """

@final
class SceneSkeleton:
    """The joints that vertices follow, in the bind pose."""
    @property
    def names(self) -> list[str]:
        """The names of the joints; `joint_3` for a joint of a file that stores no joints."""
    @property
    def parents(self) -> list[int | None]:
        """The index of the parent of each joint; None for roots. In a Second Life mesh, a parent may come after its children."""
    @property
    def rest(self) -> NDArray[np.float64]:
        """The transform of each joint at rest relative to its parent: `float64 [joints, 4, 4]`, for column vectors."""
    @property
    def bind(self) -> NDArray[np.float64]:
        """The transform of each joint at rest in the model's space: `float64 [joints, 4, 4]`, for column vectors."""
    @property
    def inverse_bind(self) -> NDArray[np.float64]:
        """The matrices that take a vertex in the bind pose into each joint: `float64 [joints, 4, 4]`, for column vectors."""
    def __len__(self) -> int: ...

@final
class Event:
    """Something that happens at a time of an animation, such as a footstep."""
    def __new__(cls, seconds: float, code: int, data: str) -> Self: ...
    @property
    def seconds(self) -> float:
        """The time in seconds from the first frame."""
    @property
    def code(self) -> int:
        """The number of what happens, which a game defines."""
    @property
    def data(self) -> str:
        """The data of what happens."""
    def __reduce__(self) -> tuple[Any, ...]: ...

@final
class Clip:
    """An animation of the joints of a skeleton."""
    @property
    def name(self) -> str:
        """The name."""
    @property
    def rate(self) -> float:
        """The frames per second: as stored, or 24 if the file stores none that can be used."""
    @property
    def is_rate_stored(self) -> bool:
        """False if the file stores no rate, or one that cannot be used."""
    @property
    def repeats(self) -> bool:
        """True if the first frame follows the last one."""
    @property
    def is_rebased(self) -> bool:
        """True if poses are stored relative to other parents than the joints have."""
    @property
    def frame_count(self) -> int:
        """The number of frames."""
    @property
    def events(self) -> list[Event]:
        """The events, in the order of the file."""
    def sample(self, frame: int) -> NDArray[np.float64]:
        """The matrix of each joint in the model's space in a frame, counted from the first of the clip: `float64 [joints, 4, 4]`, for column
        vectors.

        A vertex `v` in the bind pose moves to the sum of `weight * (sample[joint] @ skeleton.inverse_bind[joint] @ v)` over its joints;
        the joint after the last one is the identity. They are right for every file, also if poses have other parents than joints.
        """
    def samples(self, start: int = 0, stop: int | None = None) -> NDArray[np.float64]:
        """The samples of the frames `start` up to `stop`, by default all, in one call: `float64 [frames, joints, 4, 4]`."""

@final
class Fact:
    """A kind of data that a file has."""
    def __new__(cls, kind: str, count: int, first: list[str]) -> Self: ...
    @property
    def kind(self) -> str:
        """The kind, such as `tangents`."""
    @property
    def count(self) -> int:
        """The number of items."""
    @property
    def first(self) -> list[str]:
        """The first items by their addresses or names."""
    def __reduce__(self) -> tuple[Any, ...]: ...
