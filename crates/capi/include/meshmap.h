/* meshmap: reads 3D meshes of five formats (CGeo, IQM, OpenCTM, Second Life mesh, TMF) from files that are mapped,
 * read by ranges, in memory, or behind callbacks. Made from crates/capi/src by the test `header`; do not edit.
 *
 * Contents
 *
 *   1. Version
 *   2. Status and errors
 *   3. Memory and cancelling
 *   4. Opening files
 *   5. Meshes of any format
 *   6. Scenes: files as they are drawn
 *   7. Every stored array and text
 *   8. CGeo: snapshots of an animation
 *   9. IQM: skeletons and animations
 *   10. Second Life mesh: levels of detail
 *   11. Open handles
 *
 * Rules that hold for every function; each function says only what differs, and what MM_ABSENT means
 *
 * Status.   MM_OK is 0. MM_ABSENT is not an error: the file does not contain what was requested. Files are not
 *           trusted: whatever their bytes, a function returns. Functions that read a file return any of the errors 10
 *           to 18. An index or a name that the object does not have is MM_ERROR_OUT_OF_RANGE, a file of another format
 *           than the section is about MM_ERROR_FORMAT.
 * Handles.  Pointers to opaque types (mm_file *, mm_mesh *, ..) are numbers in the shape of pointers: never
 *           dereference one. A closed handle, a handle of another kind and an arbitrary number are MM_ERROR_HANDLE. A
 *           handle that a function stores in `*out` is the caller's, and NULL after an error; close it once, with the
 *           function of its type that is named `_free` (a file: mm_close). Closing NULL does nothing. Objects outlive
 *           the handle of their file. A handle may be closed on one thread while other threads are in calls with it.
 *           mm_handle_count counts handles that are still open; leak checkers do not see them.
 * Memory.   What the caller passes stays the caller's. Arrays are written to the caller's buffer: up to `capacity`
 *           elements, `stride` bytes apart (0: packed), at any alignment; bytes between elements are not written.
 *           `*count` (or `*bytes`, `*length`) receives the number of elements, and may be NULL. If `out` is NULL, only
 *           the count is returned. If the capacity is too small, the status is MM_ERROR_BUFFER, the count is the
 *           needed one, and nothing is written. Texts and names are UTF-8 and end with a byte 0; they are static, or
 *           live as long as the object that was asked. Functions that fill an mm_array_info return pointers to memory
 *           of the library, and say how long it is valid.
 * NULL.     `options` NULL are the defaults, `timing` NULL are the times of the file, `scratch` NULL takes memory and
 *           gives it back. Places for results may be NULL only if the function says so.
 * Structs.  A struct that begins with `size` may grow in later versions: initialize it with MM_INIT, which sets `size`
 *           to its sizeof and clears the rest, also before a function fills it. Structs without `size` never change.
 *           No struct contains another one that may grow.
 * Threads.  Every function may be called on every thread. Files, meshes, lists, arrays, rigs, caches and cancel flags
 *           may be used by all threads at once. A scratch, a writer and an mm_snapshot that is being filled belong to
 *           one thread at a time (MM_ERROR_BUSY).
 * Misuse.   NULL, numbers that no enum has, and strides that are too small are MM_ERROR_ARGUMENT. The library cannot
 *           detect pointers to memory that is not there, capacities that are too large, and text without an end.
 */

#ifndef MESHMAP_H
#define MESHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* == 1. Version =================================================================================================== */

/** The version of this header. mm_version returns the version of the library that is loaded. */
#define MM_VERSION_MAJOR 0
#define MM_VERSION_MINOR 1
#define MM_VERSION_PATCH 0
#define MM_VERSION_STRING "0.1.0"
/** For comparisons: `#if MM_VERSION >= MM_MAKE_VERSION(0, 2, 0)`. */
#define MM_MAKE_VERSION(major, minor, patch) ((major) * 1000000 + (minor) * 1000 + (patch))
#define MM_VERSION MM_MAKE_VERSION(MM_VERSION_MAJOR, MM_VERSION_MINOR, MM_VERSION_PATCH)

/** Precedes each function. With MM_DLL defined, which is not for the static library, calls into a DLL need no thunk. */
#ifndef MM_API
#if defined(_WIN32) && defined(MM_DLL)
#define MM_API __declspec(dllimport)
#else
#define MM_API
#endif
#endif

/** Initializes a struct that begins with `size`: `mm_error error = MM_INIT(mm_error);` */
#ifdef __cplusplus
template <class T>
inline T mm_sized() {
    T value = T();
    value.size = sizeof(T);
    return value;
}
#define MM_INIT(type) (::mm_sized<type>())
#else
#define MM_INIT(type) {.size = sizeof(type)}
#endif

/** Enums have a type of 32 bits in C++ and C23. In older C, the name of an enum is such an integer. */
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
#define MM_ENUM(type) : type
#else
#define MM_ENUM(type)
#endif
#if defined(__cplusplus)
#define MM_ENUM_TYPE(name, type)
#elif __STDC_VERSION__ >= 202311L
#define MM_ENUM_TYPE(name, type) typedef enum name name;
#else
#define MM_ENUM_TYPE(name, type) typedef type name;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* == 2. Status and errors ========================================================================================= */

/* Every function that may fail returns an mm_status. mm_last_error returns the details of the last failure of the
 * thread: text, format, address, bytes, expected and found value. */

/** The result of a function: MM_OK, MM_ABSENT, or one of MM_ERROR_*. Values of either may be added. */
enum mm_status MM_ENUM(int32_t) {
    MM_OK = 0, /**< It is done. */
    /** Not an error: the file does not have what was asked for. Nothing was written, and counts are 0. */
    MM_ABSENT = 1,
    MM_ERROR_UNKNOWN_FORMAT = 10, /**< The file has no format that this library knows. */
    MM_ERROR_TRUNCATED = 11, /**< The file ends too early: more bytes would help. */
    MM_ERROR_MALFORMED = 12, /**< The file breaks a rule of its format in a way that makes it unreadable. */
    /** Valid, as far as this library can determine, but not supported by it; or requested of a file that cannot have
     *  it. */
    MM_ERROR_UNSUPPORTED = 13,
    MM_ERROR_LIMIT_EXCEEDED = 14, /**< More memory would be needed than the limits of mm_options allow. */
    MM_ERROR_OUT_OF_RANGE = 15, /**< Something was asked for that does not exist: an index, an address, a time. */
    MM_ERROR_MISMATCH = 16, /**< Two things do not match, such as snapshots with different triangles. */
    MM_ERROR_CANCELLED = 17, /**< The call was cancelled by mm_cancel_set. */
    /** The operating system or the caller's reader failed, or a callback of that reader used the file that it reads. */
    MM_ERROR_IO = 18,
    /** An argument cannot be used: NULL where something is needed, a stride less than an element, a struct whose size
     *  is not set. */
    MM_ERROR_ARGUMENT = 30,
    MM_ERROR_HANDLE = 31, /**< A handle was closed, is of another kind, or never was one. */
    MM_ERROR_BUFFER = 32, /**< The caller's memory is too small. What is needed is in the count; nothing was written. */
    /** Another call is using this scratch or this snapshot: on another thread, or one that this call was made by. */
    MM_ERROR_BUSY = 33,
    MM_ERROR_FORMAT = 34, /**< The file is of another format than the function is for. */
    /** The library failed within; the call had no effect that can be relied on. Please report it. */
    MM_ERROR_INTERNAL = 35,
};
MM_ENUM_TYPE(mm_status, int32_t)

/** A format of files. */
enum mm_format MM_ENUM(uint32_t) {
    MM_FORMAT_UNKNOWN = 0, /**< None of these (mm_error.format). */
    MM_FORMAT_CGEO = 1, /**< Corona Renderer proxy. */
    MM_FORMAT_IQM = 2, /**< Inter-Quake Model. */
    MM_FORMAT_OPENCTM = 3, /**< OpenCTM. */
    MM_FORMAT_SLMESH = 4, /**< Second Life mesh asset. */
    MM_FORMAT_TMF = 5, /**< Tight Model Format. */
};
MM_ENUM_TYPE(mm_format, uint32_t)

/** The details of a failure.
 *  No pointer is NULL; texts that there is nothing to say for are empty. All are UTF-8, each on one line. */
typedef struct mm_error {
    size_t size; /**< sizeof(mm_error), set by the caller. */
    mm_status status; /**< The status that the function returned. */
    mm_format format; /**< The format that was being read, or MM_FORMAT_UNKNOWN. */
    const char *text; /**< All of it as one line, with the path if it is known. */
    const char *what; /**< The structure or field, as the specification of the format names it. */
    const char *address; /**< The address in the file, such as `snapshots[3]`. */
    const char *path; /**< The path of the file. */
    const char *expected; /**< The expected value. */
    const char *found; /**< The value that was found. */
    bool has_byte_range; /**< `true` if byte_begin and byte_end are valid. */
    bool has_decoded_range; /**< `true` if decoded_begin and decoded_end are valid. */
    uint64_t byte_begin; /**< The bytes that are wrong or missing, from the start of the file. */
    uint64_t byte_end; /**< Their end. */
    /** The bytes that are wrong inside a decoded block, from its start; byte_begin and byte_end are then the range of
     *  the block. */
    uint64_t decoded_begin;
    uint64_t decoded_end; /**< Their end. */
} mm_error;

/** A word for a status, such as "malformed". Returns "unknown status" for a number that is none. */
MM_API const char *mm_status_name(mm_status status);

/** The name of a format: "cgeo", "openctm", "slmesh", "iqm" or "tmf". Returns "unknown" for a number that is none. */
MM_API const char *mm_format_name(mm_format format);

/** The details of the last failure of a function on the calling thread. Functions that succeed, or return MM_ABSENT,
 *  leave it as it is. The texts are the library's, and valid until another function fails on this thread, or the thread
 *  ends. Each thread has its own last failure. MM_ABSENT if no function has failed on this thread. MM_ERROR_ARGUMENT is
 *  not kept. */
MM_API mm_status mm_last_error(mm_error *out);

/* == 3. Memory and cancelling ===================================================================================== */

/* A scratch makes calls that repeat free of allocations. A cancel flag ends the calls of a thread early. */

/** A flag that cancels the calls of threads (mm_thread_set_cancel). */
typedef struct mm_cancel mm_cancel;

/** Working memory: calls with one take no memory once it is large enough. One for each thread; two threads that use one
 *  at the same time get MM_ERROR_BUSY. */
typedef struct mm_scratch mm_scratch;

/** Makes a scratch. */
MM_API mm_status mm_scratch_new(mm_scratch **out);

/** Frees a scratch and the arrays that are shown in it. */
MM_API mm_status mm_scratch_free(mm_scratch *scratch);

/** Makes a flag that is not set. */
MM_API mm_status mm_cancel_new(mm_cancel **out);

/** Sets the flag that cancels the calls of the calling thread, instead of an earlier one: every call that reads or
 *  decodes fails with MM_ERROR_CANCELLED within milliseconds after the flag is set, except while a callback of
 *  mm_reader is waited for. NULL removes it. */
MM_API mm_status mm_thread_set_cancel(const mm_cancel *cancel);

/** Sets a flag (1), which cancels calls that are running and calls that begin; or clears it (0). */
MM_API mm_status mm_cancel_set(const mm_cancel *cancel, uint32_t is_set);

/** Frees a flag; threads that have it keep it as it is. */
MM_API mm_status mm_cancel_free(mm_cancel *cancel);

/* == 4. Opening files ============================================================================================= */

/* A file is opened by path, mapped, in memory, or behind callbacks; its format is detected from its content. */

/** The treatment of files that break rules of their format. */
enum mm_strictness MM_ENUM(uint32_t) {
    MM_STRICTNESS_TOLERANT = 0, /**< Broken rules are findings. */
    MM_STRICTNESS_STRICT = 1, /**< Opening checks every value, and refuses what the specification forbids. */
};
MM_ENUM_TYPE(mm_strictness, uint32_t)

/** The use of several threads for large jobs. */
enum mm_parallelism MM_ENUM(uint32_t) {
    MM_PARALLELISM_OFF = 0, /**< Everything runs on the calling thread. */
    /** Large jobs are split over the threads of the process' pool, which is made when it is first needed. */
    MM_PARALLELISM_POOL = 1,
};
MM_ENUM_TYPE(mm_parallelism, uint32_t)

/** The decoder that is used for each codec. */
enum mm_decoder MM_ENUM(uint32_t) {
    MM_DECODER_FAST = 0, /**< The fast decoders. */
    MM_DECODER_REFERENCE = 1, /**< The independent decoders that the fast ones are compared with. */
};
MM_ENUM_TYPE(mm_decoder, uint32_t)

/** The verification of zlib and gzip checksums. */
enum mm_checksums MM_ENUM(uint32_t) {
    MM_CHECKSUMS_VERIFY = 0, /**< A wrong or missing checksum is an error. */
    MM_CHECKSUMS_IGNORE = 1, /**< Checksums are not verified. */
};
MM_ENUM_TYPE(mm_checksums, uint32_t)

/** The choices for reading a CGeo file that the published text leaves open; meshmap_cgeo.h defines them. */
typedef struct mm_cgeo_dialect mm_cgeo_dialect;

/** A file of any format. */
typedef struct mm_file mm_file;

/** Options for reading a file. Filled by mm_options_init, then changed. */
typedef struct mm_options {
    size_t size; /**< sizeof(mm_options), set by mm_options_init. */
    /** The size in bytes of the largest decoded array or block. 512 MiB. Exact only if free_ratio is 0. */
    uint64_t max_block_bytes;
    /** The most bytes that one call holds of what it decodes, and that a file keeps for later calls. 1 GiB. Exact only
     *  if free_ratio is 0. */
    uint64_t max_total_bytes;
    /** The decoded size that is always allowed, as a multiple of the stored size, whatever max_block_bytes and
     *  max_total_bytes are. 16. Set it to 0 to switch this off, so that these limits are exact. */
    uint64_t free_ratio;
    uint32_t max_depth; /**< The maximum nesting depth of containers, in formats that nest them. 96. */
    mm_strictness strictness; /**< The treatment of files that break rules of their format. Tolerant. */
    /** The use of several threads. The pool. Renderers that call from threads of their own switch it off. */
    mm_parallelism parallelism;
    mm_decoder decoder; /**< The decoder. Fast. */
    mm_checksums checksums; /**< The verification of checksums. Verified. */
    uint32_t reserved; /**< 0. */
    /** The dialect of CGeo files (meshmap_cgeo.h), which is read when the file is opened; NULL to find it in the file.
     *  NULL. */
    const mm_cgeo_dialect *cgeo_dialect;
} mm_options;

/** Gives back what a caller lent; called once, on any thread. */
typedef void (*mm_release_fn)(void *user);

/** Callbacks that read a file. No callback may let an exception out. No callback may use the file that it reads: a call
 *  that would read from that file, or wait for a part of it, fails with MM_ERROR_IO. */
typedef struct mm_reader {
    size_t size; /**< sizeof(mm_reader), set by the caller. */
    void *user; /**< Passed to each callback. */
    /** Stores the length of the file in bytes and returns 0, or returns an error number that the caller chooses. NULL
     *  if the length is unknown. */
    int (*length)(void *user, uint64_t *length);
    /** Reads up to `length` bytes from `offset` on into `buffer`, stores the number of bytes read, and returns 0, or
     *  returns an error number that the caller chooses. After fewer than `length` bytes it is called again for the
     *  rest, until it stores 0, which means that the file ends there. Called on any thread, by several at a time. */
    int (*read)(void *user, uint64_t offset, void *buffer, size_t length, size_t *stored);
    mm_release_fn release; /**< Called once, when nothing is read any more; also if opening fails. May be NULL. */
} mm_reader;

/** Fills options with what holds unless a caller says otherwise: mm_options_init(&options, sizeof options).
 *  MM_ERROR_ARGUMENT for NULL, or a size that no version of mm_options has. */
MM_API mm_status mm_options_init(mm_options *out, size_t size);

/** The version of the library, such as "0.1.0". */
MM_API const char *mm_version(void);

/** Opens a file of any format. What is asked for is read then, by positioned reads; the file may be changed meanwhile,
 *  which at worst is an error. */
MM_API mm_status mm_open(const char *path, const mm_options *options, mm_file **out);

/** Opens a file of any format and maps it into memory: what is not compressed is shown where it lies. Until the file
 *  and everything that was read of it is closed, no process may truncate the file or write into it; replacing it by
 *  renaming is fine. */
MM_API mm_status mm_open_map(const char *path, const mm_options *options, mm_file **out);

/** Opens a file of any format that is in memory. The memory is lent: `release`, which may be NULL, is called with
 *  `user` once nothing shows it any more, also if opening fails; until then it must not change. MM_ERROR_ARGUMENT if
 *  `data` is NULL and `length` is not 0. */
MM_API mm_status mm_open_memory(const void *data, size_t length, mm_release_fn release, void *user, const mm_options
    *options, mm_file **out);

/** Opens a file of any format that callbacks read: an archive, a store. `reader` is copied; its `release` is called
 *  with its `user` once nothing is read any more, also if opening fails for any reason, such as a wrong `size`.
 *  Callbacks are called on any thread. MM_ERROR_IO if a callback returns another number than 0, or claims to have
 *  stored more than there is room for. */
MM_API mm_status mm_open_reader(const mm_reader *reader, const mm_options *options, mm_file **out);

/** Makes another handle of a file, to be closed on its own. */
MM_API mm_status mm_file_ref(const mm_file *file, mm_file **out);

/** Closes a file. Objects that were read from it (meshes, lists, arrays, snapshots) stay valid. Calls on it that have
 *  begun on other threads end as usual. MM_ERROR_HANDLE if it was closed before, or is not a file. */
MM_API mm_status mm_close(mm_file *file);

/** The format of a file. */
MM_API mm_status mm_file_format(const mm_file *file, mm_format *out);

/* == 5. Meshes of any format ====================================================================================== */

/* mm_meshes lists the meshes of a file; skip meshes that are not drawn by default. mm_mesh_at reads one, as one vertex
 * buffer and one index buffer. */

/** The type of a number. */
enum mm_scalar MM_ENUM(uint32_t) {
    MM_SCALAR_UNKNOWN = 0, /**< A type that this version of the library does not know. */
    MM_SCALAR_U8 = 1, /**< uint8_t. */
    MM_SCALAR_I8 = 2, /**< int8_t. */
    MM_SCALAR_U16 = 3, /**< uint16_t. */
    MM_SCALAR_I16 = 4, /**< int16_t. */
    MM_SCALAR_U32 = 5, /**< uint32_t. */
    MM_SCALAR_I32 = 6, /**< int32_t. */
    MM_SCALAR_F16 = 7, /**< Half precision, IEEE 754 binary16. */
    MM_SCALAR_F32 = 8, /**< float. */
    MM_SCALAR_F64 = 9, /**< double. */
};
MM_ENUM_TYPE(mm_scalar, uint32_t)

/** The purpose of a mesh. */
enum mm_role MM_ENUM(uint32_t) {
    MM_ROLE_GEOMETRY = 1, /**< Geometry that is drawn. */
    MM_ROLE_LOD = 2, /**< A level of detail; its index 0 is the finest. */
    MM_ROLE_PHYSICS = 3, /**< Geometry for physics, which is not drawn. */
    MM_ROLE_SNAPSHOT = 4, /**< A snapshot of an animation. */
};
MM_ENUM_TYPE(mm_role, uint32_t)

/** The severity of a finding, least serious first. */
enum mm_severity MM_ENUM(uint32_t) {
    MM_SEVERITY_NOTE = 1, /**< Legal and harmless. */
    MM_SEVERITY_SUSPICIOUS = 2, /**< Legal, or what ordinary writers do. */
    MM_SEVERITY_FORBIDDEN = 3, /**< Against the specification, and read all the same. */
    MM_SEVERITY_UNUSABLE = 4, /**< The data cannot be used. */
};
MM_ENUM_TYPE(mm_severity, uint32_t)

/** The type of an index. */
enum mm_index_format MM_ENUM(uint32_t) {
    MM_INDEX_NARROWEST = 0, /**< The narrowest one that holds every index; 65,535 does not count as one of 16 bits. */
    MM_INDEX_U16 = 2, /**< uint16_t. */
    MM_INDEX_U32 = 4, /**< uint32_t. */
};
MM_ENUM_TYPE(mm_index_format, uint32_t)

/** The meaning of an attribute. */
enum mm_semantic MM_ENUM(uint32_t) {
    MM_SEMANTIC_POSITION = 1, /**< Positions. */
    MM_SEMANTIC_NORMAL = 2, /**< Normals. */
    MM_SEMANTIC_TANGENT = 3, /**< Tangents; a fourth component is the sign of the bitangent. */
    MM_SEMANTIC_TEXCOORD = 4, /**< Texture coordinates, of a set. */
    MM_SEMANTIC_COLOR = 5, /**< Colours, of a set. */
    MM_SEMANTIC_JOINTS = 6, /**< Joint indices, of a set. */
    MM_SEMANTIC_WEIGHTS = 7, /**< Joint weights, of a set. */
    MM_SEMANTIC_CUSTOM = 8, /**< Anything else, by its name in the file. */
};
MM_ENUM_TYPE(mm_semantic, uint32_t)

/** The findings of a file. */
typedef struct mm_finding_list mm_finding_list;

/** A mesh of a file of any format: one vertex buffer and one index buffer. */
typedef struct mm_mesh mm_mesh;

/** The meshes of a file. */
typedef struct mm_mesh_list mm_mesh_list;

/** A mesh in the list of a file. */
typedef struct mm_mesh_entry {
    size_t size; /**< sizeof(mm_mesh_entry), set by the caller. */
    const char *address; /**< The address in the file, as accepted by mm_mesh_at. */
    const char *name; /**< The name of the mesh; empty if it has no name. */
    mm_role role; /**< The purpose of the mesh. */
    bool has_seconds; /**< `true` if `seconds` is valid. */
    /** `true` if a viewer draws it by default: all geometry, the finest level of detail, the first snapshot; but no
     *  mesh that is known to have no triangles or no positions. */
    bool is_drawn_by_default;
    /** `true` if the counts and has_positions are valid: in all formats except CGeo, whose counts mm_mesh_get_counts
     *  reads. */
    bool has_counts;
    /** `true` if the mesh stores positions. A mesh without them, as in IQM files that contain only animations, has
     *  nothing to draw. */
    bool has_positions;
    uint64_t role_index; /**< The index of the level of detail or snapshot. */
    double seconds; /**< The time of the snapshot. */
    /** Stored positions. A mesh of CGeo or TMF may have more vertices, one for each combination of indices. */
    uint64_t vertex_count;
    uint64_t triangle_count; /**< Triangles. */
} mm_mesh_entry;

/** The numbers of elements of a mesh. */
typedef struct mm_mesh_counts {
    size_t size; /**< sizeof(mm_mesh_counts), set by the caller. */
    /** Stored positions. A mesh of CGeo or TMF may have more vertices, one for each combination of indices. */
    uint64_t vertex_count;
    uint64_t triangle_count; /**< Triangles. */
    bool has_positions; /**< `true` if the mesh stores positions. */
} mm_mesh_counts;

/** A rule that a file breaks, and the location. */
typedef struct mm_finding {
    size_t size; /**< sizeof(mm_finding), set by the caller. */
    const char *rule; /**< The rule's identifier, which never changes, such as "index_range". */
    const char *text; /**< All of it as one line. */
    const char *address; /**< The part of the file; empty if the finding is not about a part. */
    mm_severity severity; /**< The severity. */
    bool has_byte_range; /**< `true` if byte_begin and byte_end are valid. */
    uint64_t count; /**< The number of places at which the rule is broken; the other fields describe the first one. */
    uint64_t byte_begin; /**< The bytes, from the start of the file. */
    uint64_t byte_end; /**< Their end. */
} mm_finding;

/** The description of a mesh, without its attributes. */
typedef struct mm_mesh_info {
    size_t size; /**< sizeof(mm_mesh_info), set by the caller. */
    size_t vertex_count; /**< Elements of every attribute. */
    size_t index_count; /**< Three for each triangle. */
    size_t attribute_count; /**< Attributes that are stored. */
    const char *address; /**< The address of the mesh in its file. */
    const char *name; /**< The name of the mesh; empty if it has no name. */
    const char *material; /**< The name of the material; empty if the mesh has none. */
    mm_role role; /**< The purpose of the mesh. */
    mm_index_format index_format; /**< The stored format of indices: MM_INDEX_U16 or MM_INDEX_U32. */
    bool has_material_ids; /**< `true` if each triangle has a material ID (mm_mesh_material_ids). */
    bool has_seconds; /**< `true` if `seconds` is valid. */
    uint64_t role_index; /**< The index of the level of detail or snapshot. */
    double seconds; /**< The time of the snapshot. */
} mm_mesh_info;

/** A box around points. */
typedef struct mm_bounds {
    float min[3]; /**< The least x, y and z. */
    float max[3]; /**< The greatest x, y and z. */
} mm_bounds;

/** Triangles of one material: one draw call. */
typedef struct mm_group {
    uint32_t material; /**< The material, as a number of the file's. */
    uint32_t first_vertex; /**< A range of vertices that has all that the triangles use begins here. */
    uint32_t vertex_count; /**< Its length. */
    uint32_t reserved; /**< 0. */
    uint64_t first_triangle; /**< The first triangle. */
    uint64_t triangle_count; /**< The number of triangles. */
} mm_group;

/** An attribute of a mesh, as it is stored. */
typedef struct mm_attribute_info {
    size_t size; /**< sizeof(mm_attribute_info), set by the caller. */
    mm_semantic semantic; /**< The meaning. */
    uint32_t set; /**< The index of the set, for attributes that may have several. */
    const char *name; /**< The name, such as `texcoord[1]`, or the custom name for MM_SEMANTIC_CUSTOM. */
    mm_scalar scalar; /**< The type of each component. */
    uint32_t components; /**< The number of components. */
    bool normalized; /**< `true` if integers stand for 0..1, or -1..1. */
} mm_attribute_info;

/** An array in memory of the library: packed numbers, little-endian. */
typedef struct mm_array_info {
    size_t size; /**< sizeof(mm_array_info), set by the caller. */
    /** The address in the file, such as `snapshots[3].positions`: the text that was passed, if one was; the name of an
     *  attribute of a mesh. */
    const char *address;
    /** The first number. In mapped files at any address: check is_aligned before numbers are read in place. */
    const void *data;
    size_t byte_length; /**< All numbers together, in bytes. */
    mm_scalar scalar; /**< The type of each number. */
    uint32_t rank; /**< The number of valid elements of `shape`: 1 to 3. */
    uint64_t shape[3]; /**< The number of elements, then the numbers of each. */
    bool is_aligned; /**< `true` if each number is aligned for the processor. */
} mm_array_info;

/** An attribute of a vertex layout. */
typedef struct mm_layout_attribute {
    size_t size; /**< sizeof(mm_layout_attribute), set by the caller in each element of an array. */
    mm_semantic semantic; /**< The meaning. */
    uint32_t set; /**< The index of the set, for attributes that may have several. */
    const char *name; /**< The name of MM_SEMANTIC_CUSTOM; else NULL. */
    mm_scalar scalar; /**< The type of each component that is written. */
    uint32_t components; /**< The number of components that are written. */
    uint32_t normalized; /**< 1 if integers stand for 0..1, or -1..1; else 0. */
    uint32_t has_default; /**< 1 if a mesh without the attribute gets `default_value`; 0 if it is an error. */
    float default_value[4]; /**< The value that is written for a mesh without the attribute. */
    /** The byte offset of the attribute in each vertex; SIZE_MAX to place it after the previous ones, as graphics APIs
     *  require. */
    size_t offset;
} mm_layout_attribute;

/** The bytes of a number. Returns 0 for a value that is not an MM_SCALAR_*. */
MM_API size_t mm_scalar_size(mm_scalar scalar);

/** The meshes of a file, in its order. For a Second Life mesh asset, this reads all blocks: mm_slmesh_lod reads one. */
MM_API mm_status mm_meshes(const mm_file *file, mm_mesh_list **out);

/** The number of meshes in a list. */
MM_API mm_status mm_mesh_list_count(const mm_mesh_list *list, size_t *out);

/** A mesh of a list. */
MM_API mm_status mm_mesh_list_get(const mm_mesh_list *list, size_t index, mm_mesh_entry *out);

/** The numbers of elements of the mesh at an address. Reads as little as the format allows: the beginning of a snapshot
 *  of a CGeo file, the block of a Second Life mesh, nothing in other formats. */
MM_API mm_status mm_mesh_get_counts(const mm_file *file, const char *address, mm_mesh_counts *out);

/** Frees a list and its texts. */
MM_API mm_status mm_mesh_list_free(mm_mesh_list *list);

/** The rules that a file breaks, as far as opening detects them. Reads nothing. */
MM_API mm_status mm_findings(const mm_file *file, mm_finding_list **out);

/** Checks every value of a file, and lists all rules that it breaks. Wrong values are findings of MM_SEVERITY_UNUSABLE.
 */
MM_API mm_status mm_validate(const mm_file *file, mm_finding_list **out);

/** The number of findings in a list. */
MM_API mm_status mm_finding_list_count(const mm_finding_list *list, size_t *out);

/** A finding of a list. */
MM_API mm_status mm_finding_list_get(const mm_finding_list *list, size_t index, mm_finding *out);

/** Frees a list and its texts. */
MM_API mm_status mm_finding_list_free(mm_finding_list *list);

/** The mesh at an address, such as `meshes[0]`, `snapshots[12]`, `high_lod.faces[0]` or `meshes["Body"]`. Its indices
 *  are read and checked. */
MM_API mm_status mm_mesh_at(const mm_file *file, const char *address, mm_mesh **out);

/** Makes another handle of a mesh, to be freed on its own. */
MM_API mm_status mm_mesh_ref(const mm_mesh *mesh, mm_mesh **out);

/** Frees a mesh, and what is shown of it. */
MM_API mm_status mm_mesh_free(mm_mesh *mesh);

/** A mesh with its triangles ordered by material, so that mm_mesh_groups has one for each. Vertices stay as they are.
 */
MM_API mm_status mm_mesh_by_material(const mm_mesh *mesh, mm_mesh **out);

/** The description of a mesh. */
MM_API mm_status mm_mesh_get_info(const mm_mesh *mesh, mm_mesh_info *out);

/** The smallest box around the positions. MM_ABSENT if no position is finite. */
MM_API mm_status mm_mesh_bounds(const mm_mesh *mesh, mm_bounds *out);

/** The findings of a mesh: the rules of its format that it breaks. */
MM_API mm_status mm_mesh_findings(const mm_mesh *mesh, mm_finding_list **out);

/** Writes all indices for an index buffer, packed, each byte once. `format` is MM_INDEX_NARROWEST, MM_INDEX_U16 or
 *  MM_INDEX_U32; `found`, which may be NULL, receives the format that was written. The narrowest are padded with 0 to a
 *  multiple of 4 bytes. MM_ERROR_OUT_OF_RANGE for an index that the format cannot hold. */
MM_API mm_status mm_mesh_write_indices(const mm_mesh *mesh, mm_index_format format, void *out, size_t capacity, size_t
    *bytes, mm_index_format *found);

/** Writes the indices as three uint32_t for each triangle, as ray tracers take them. */
MM_API mm_status mm_mesh_triangles(const mm_mesh *mesh, uint32_t *out, size_t stride, size_t capacity, size_t *count);

/** Writes the runs of triangles of one material, in the order of the file: each a draw call. */
MM_API mm_status mm_mesh_groups(const mm_mesh *mesh, mm_group *out, size_t stride, size_t capacity, size_t *count);

/** Writes the material of each triangle. MM_ABSENT if triangles have no material IDs. */
MM_API mm_status mm_mesh_material_ids(const mm_mesh *mesh, uint32_t *out, size_t stride, size_t capacity, size_t
    *count);

/** The stored format of an attribute, by its index. Reads nothing. */
MM_API mm_status mm_mesh_attribute(const mm_mesh *mesh, size_t index, mm_attribute_info *out);

/** The index of an attribute by its meaning; `name` is the custom name for MM_SEMANTIC_CUSTOM, else NULL. MM_ABSENT if
 *  the mesh does not have it. */
MM_API mm_status mm_mesh_find_attribute(const mm_mesh *mesh, mm_semantic semantic, uint32_t set, const char *name,
    size_t *out);

/** Exposes the stored elements of an attribute: of a file that is mapped or in memory, where they lie, if they are not
 *  compressed. They are valid until the mesh is freed. */
MM_API mm_status mm_mesh_attribute_view(const mm_mesh *mesh, size_t index, mm_array_info *out);

/** Converts an attribute into the caller's memory: elements of `components` numbers of type `scalar`. Normalized
 *  integers become 0..1 or -1..1 in floats, and the nearest in other integers. Components that are not stored are 0,
 *  except for 1 in the fourth of positions and colours. Bytes between elements are not written. MM_ERROR_OUT_OF_RANGE
 *  for a number that the type cannot hold. */
MM_API mm_status mm_mesh_read_attribute(const mm_mesh *mesh, size_t index, mm_scalar scalar, uint32_t components,
    uint32_t normalized, void *out, size_t stride, size_t capacity, size_t *count);

/** Sets the offsets of a layout that are SIZE_MAX, and returns its stride. */
MM_API mm_status mm_layout_resolve(mm_layout_attribute *attributes, size_t attribute_count, size_t *stride);

/** Writes all vertices in a layout, for a vertex buffer: each byte once, in ascending order, bytes between attributes
 *  (0) included. Nothing is read back, so `out` may be mapped memory of a GPU. `stride` 0 is the stride of
 *  mm_layout_resolve. MM_ERROR_MISMATCH if the mesh lacks an attribute that has no default. MM_ERROR_OUT_OF_RANGE for
 *  attributes that overlap or are longer than the stride, and for a number that a type cannot hold. */
MM_API mm_status mm_mesh_write_interleaved(const mm_mesh *mesh, const mm_layout_attribute *attributes, size_t
    attribute_count, size_t stride, void *out, size_t capacity, size_t *bytes);

/* == 6. Scenes: files as they are drawn =========================================================================== */

/* For programs that draw files without knowing their formats, by the same rules as all programs of meshmap. Nothing
 * of the sections after this one is needed. mm_open, mm_scene_new, mm_scene_get_info; then for each shape
 *   mm_scene_get_shape, mm_scene_key_at    skip mm_shape.is_coarser; the key of an object through time
 *   mm_scene_mesh, mm_mesh_by_material     decode it, and put the triangles of each material together
 *   mm_mesh_write_interleaved              vertices: bind pose, linear colours, four joints and weights
 *   mm_mesh_write_indices, mm_mesh_groups  indices, and a group of triangles for each material
 *   mm_scene_get_material, mm_image_path   its image or colour
 * With clips, mm_scene_pose has the matrices for skinning in the shader. mm_scene_info.upright is the model matrix. */

/** Levels of detail. */
enum mm_levels MM_ENUM(uint32_t) {
    MM_LEVELS_FINEST = 0, /**< The finest that the file has. */
    /** All of them, of which one is drawn at a time: mm_shape.is_coarser is `false` for the finest. */
    MM_LEVELS_ALL = 1,
    MM_LEVELS_ONE = 2, /**< The level of mm_scene_options.level. */
};
MM_ENUM_TYPE(mm_levels, uint32_t)

/** An axis that points up. */
enum mm_axis MM_ENUM(uint32_t) {
    MM_AXIS_OF_FILE = 0, /**< The axis of the file's format, or of the programs that usually write it. */
    MM_AXIS_X = 1, /**< The first coordinate. */
    MM_AXIS_Y = 2, /**< The second coordinate. */
    MM_AXIS_Z = 3, /**< The third coordinate. */
    MM_AXIS_NEGATIVE_X = 4, /**< Against the first coordinate. */
    MM_AXIS_NEGATIVE_Y = 5, /**< Against the second coordinate. */
    MM_AXIS_NEGATIVE_Z = 6, /**< Against the third coordinate. */
};
MM_ENUM_TYPE(mm_axis, uint32_t)

/** The place of V = 0 in images. */
enum mm_v_origin MM_ENUM(uint32_t) {
    /** The first row of pixels, as Vulkan, Metal, Direct3D and glTF have it, and OpenGL if rows are uploaded from the
     *  top. */
    MM_V_ORIGIN_TOP = 0,
    MM_V_ORIGIN_BOTTOM = 1, /**< The last row of pixels. */
};
MM_ENUM_TYPE(mm_v_origin, uint32_t)

/** A kind of matrices. */
enum mm_matrices MM_ENUM(uint32_t) {
    MM_MATRICES_JOINT = 1, /**< From each joint into the model: where the joints are. */
    MM_MATRICES_SKIN = 2, /**< From the bind pose into the pose: what vertices are multiplied with, by their weights. */
};
MM_ENUM_TYPE(mm_matrices, uint32_t)

/** A file as it is drawn: shapes, materials, a skeleton and its clips. */
typedef struct mm_scene mm_scene;

/** The parts of a file that a scene has. MM_INIT makes the defaults; an option for another format has no effect. */
typedef struct mm_scene_options {
    size_t size; /**< sizeof(mm_scene_options), set by the caller. */
    /** The address of a mesh, or of a part that contains meshes, such as `high_lod` or `physics_convex`, each of which
     *  is a shape; NULL for all that viewers draw. */
    const char *mesh;
    /** An IQM file whose animations are added to the ones of an IQM file; MM_ERROR_FORMAT for a file of another format.
     *  NULL for none. */
    const mm_file *animations;
    mm_levels levels; /**< The levels of detail of a Second Life mesh. The finest. */
    uint32_t level; /**< The level of MM_LEVELS_ONE; 0 is the finest that the format has. */
    mm_axis up; /**< The axis that points up in the file. The axis of the format. */
    /** The place of V = 0 in images that mm_scene_mesh makes texture coordinates for. The top. */
    mm_v_origin v_origin;
    double unit_millimeters; /**< The length of 1 in millimetres; 0 for the unit that the file stores. */
    /** 1 if the vertices of an IQM file stand in a frame, and have no joints and weights; 0 if they are in the bind
     *  pose. */
    uint32_t has_frame;
    uint32_t frame; /**< That frame, counted over all animations. */
    /** 1 to leave out meshes that cannot be read, which become remarks; 0 to fail with the error of the first one. */
    uint32_t skip_unreadable;
    /** 1 if the program draws no triangles with two equal corners: a file of nothing but these, at most 1,024 of a
     *  mesh, is points then (mm_scene_info.are_points); else 0. */
    uint32_t drop_degenerate;
} mm_scene_options;

/** The conventions of a scene, and the numbers of its parts. */
typedef struct mm_scene_info {
    size_t size; /**< sizeof(mm_scene_info), set by the caller. */
    /** The matrix that takes positions of the scene into a right-handed space in metres with Y up, column by column:
     *  the model matrix, a rotation and one scale. A file that does not know its unit keeps its size. No format says
     *  which way is the front. */
    float upright[16];
    double metres_per_unit; /**< The length of 1 in metres; 0 if the file does not know its unit. */
    mm_axis up; /**< The axis that points up. */
    bool knows_up; /**< `true` if the file's format or the options say which axis points up. */
    /** `true` if all vertices are points, which are drawn without light, in the colours of vertices: no triangle is
     *  drawn. */
    bool are_points;
    /** `true` if the format does not define which side of a triangle is its front: draw both. `false` if back sides may
     *  be culled. */
    bool is_double_sided;
    size_t shape_count; /**< The number of shapes. */
    size_t joint_count; /**< The number of joints; 0 without a skeleton. */
    size_t clip_count; /**< The number of clips. */
    size_t remark_count; /**< The number of remarks: parts that cannot be used as they are stored, one text each. */
} mm_scene_info;

/** Something that is drawn: a mesh, a face of a level of detail, or one object through time. */
typedef struct mm_shape {
    size_t size; /**< sizeof(mm_shape), set by the caller. */
    const char *name; /**< The name; empty if the file stores none. */
    const char *address; /**< The address of the mesh, or of the first snapshot. */
    /** The number of keys: the snapshots of an object through time; 1 for a shape that stands still. */
    size_t key_count;
    /** The seconds from one snapshot of the file to the next: as stored, 1/24 if the file stores none, or 1/30 and the
     *  like if whole microseconds are the rounded step of such a rate. mm_scene_key_at finds the keys at a time. */
    double seconds_per_key;
    int64_t level; /**< The level of detail, 0 the finest; -1 if the shape is not one. */
    /** The number of the object, for faces of a Second Life mesh: its levels of detail have the same; -1 for others. */
    int64_t object;
    /** `true` for a level of detail that is drawn in place of a finer one of the scene, and not with it. */
    bool is_coarser;
    bool has_keys; /**< `true` for an object through time, which may have only one key. */
} mm_shape;

/** The surface of triangles. Their colour is the image, if it is found, or else `color`, multiplied by the colours of
 *  vertices. Pixels of images are sRGB, and repeat. Files do not say how alpha is meant. */
typedef struct mm_material {
    size_t size; /**< sizeof(mm_material), set by the caller. */
    const char *name; /**< The name; empty if the file stores none. */
    /** The name of the image of the first texture coordinates, as the file stores it; empty without one. Many names,
     *  such as `skin`, are of no image: mm_image_path has the paths at which there may be one. */
    const char *image;
    /** The colour without an image, as linear light: red, green, blue and alpha. No format stores it: white for a shape
     *  with colours of vertices, else a colour of a palette, by which materials differ. */
    float color[4];
} mm_material;

/** A joint of a scene, in the bind pose. */
typedef struct mm_scene_joint {
    size_t size; /**< sizeof(mm_scene_joint), set by the caller. */
    const char *name; /**< The name; `joint_3` for a joint of a file that stores no joints. */
    /** The index of the parent; -1 for a root. In a Second Life mesh, a parent may come after its children. */
    int64_t parent;
    float rest[16]; /**< The transform in the bind pose, relative to the parent, column by column. */
    float inverse_bind[16]; /**< The matrix that takes a vertex in the bind pose into the joint, column by column. */
} mm_scene_joint;

/** An animation of the joints of a scene. */
typedef struct mm_clip {
    size_t size; /**< sizeof(mm_clip), set by the caller. */
    const char *name; /**< The name. */
    size_t frame_count; /**< The number of frames. */
    double seconds; /**< The time until the animation ends, or begins again, in seconds. */
    float rate; /**< Frames per second: as stored, or 24 if the file stores none that can be used. */
    bool is_rate_stored; /**< `true` if the file stores the rate. */
    bool repeats; /**< `true` if the first frame follows the last one. */
    size_t event_count; /**< The number of events. */
} mm_clip;

/** Something that happens at a time of a clip, such as a footstep. */
typedef struct mm_event {
    size_t size; /**< sizeof(mm_event), set by the caller. */
    float seconds; /**< The time in seconds from the first frame. */
    uint32_t code; /**< The number of what happens, which a game defines. */
    const char *data; /**< The data of what happens. */
} mm_event;

/** Makes the scene of a file. Reads headers, tables and the indices of meshes; mm_scene_mesh decodes a shape. */
MM_API mm_status mm_scene_new(const mm_file *file, const mm_scene_options *options, mm_scene **out);

/** Frees a scene and its texts. Meshes of it stay valid. */
MM_API mm_status mm_scene_free(mm_scene *scene);

/** The conventions of a scene, and the numbers of its parts. */
MM_API mm_status mm_scene_get_info(const mm_scene *scene, mm_scene_info *out);

/** A remark about a scene: one line for people about a part that cannot be used as it is stored. */
MM_API mm_status mm_scene_remark(const mm_scene *scene, size_t index, const char **out);

/** A shape of a scene. */
MM_API mm_status mm_scene_get_shape(const mm_scene *scene, size_t index, mm_shape *out);

/** The material of triangles of a shape. `material_id` is mm_group.material of these triangles. */
MM_API mm_status mm_scene_get_material(const mm_scene *scene, size_t shape, uint32_t material_id, mm_material *out);

/** The keys before and after a time of a shape in seconds from its first key, and the fraction between them. Before the
 *  first key and after the last one, a shape stands still. Keys with equal indices have the same vertices, between
 *  which positions may be interpolated; other keys are drawn one after the other. Each place may be NULL.
 *  MM_ERROR_ARGUMENT for a time that is not finite. */
MM_API mm_status mm_scene_key_at(const mm_scene *scene, size_t shape, double seconds, size_t *from, size_t *to, float
    *fraction);

/** Decodes a shape at a key, to be drawn: a mesh whose vertices are in the bind pose (or in mm_scene_options.frame), in
 *  the axes and the unit of the file; whose triangles run counter-clockwise around the front; and with these
 *  attributes, as far as the file has them, which mm_mesh_read_attribute or mm_mesh_write_interleaved convert as
 *  needed:
 *  MM_SEMANTIC_POSITION always; NORMAL as stored, also of length 0; TANGENT; TEXCOORD sets, whose V begins where
 *  mm_scene_options.v_origin says; COLOR sets, linear light, 4 floats, while numbers outside of 0 to 1 are other data
 *  and get MM_SEMANTIC_CUSTOM; JOINTS, 4 uint16_t, and WEIGHTS, 4 floats whose sum is 1, of set 0, if the scene has
 *  joints. A vertex that no joint moves has the joint joint_count, for which mm_scene_pose has a matrix.
 *  mm_mesh_by_material puts the triangles of one material together. MM_ERROR_OUT_OF_RANGE if the shape or the key does
 *  not exist. */
MM_API mm_status mm_scene_mesh(const mm_scene *scene, size_t shape, size_t key, mm_mesh **out);

/** A path at which the image of a material may be, with `/`, relative to the folder of the file. Try index 0, 1 and so
 *  on until a file is there, or the status is MM_ABSENT: the name itself comes first if it has the ending of an image,
 *  then the same name with the endings png, jpg, jpeg, tga, webp, dds, bmp, and all of them without folders. The image
 *  at the beginning of a name such as `crate.pngMaterial.001` is among them. Names are written on other computers, and
 *  by strangers: the paths stay below the folder. `length` does not count the byte 0 at the end. */
MM_API mm_status mm_image_path(const char *image, size_t index, char *out, size_t capacity, size_t *length);

/** A joint of a scene. */
MM_API mm_status mm_scene_get_joint(const mm_scene *scene, size_t index, mm_scene_joint *out);

/** A clip of a scene. */
MM_API mm_status mm_scene_get_clip(const mm_scene *scene, size_t index, mm_clip *out);

/** An event of a clip, in the order of the file. */
MM_API mm_status mm_scene_get_event(const mm_scene *scene, size_t clip, size_t index, mm_event *out);

/** The matrices of joints at a time of a clip in seconds: joint_count + 1 matrices of 16 floats, column by column;
 *  `capacity` and `count` are matrices. The last one is the identity, for vertices that no joint moves. A vertex moves
 *  to the sum of weight * matrix * position over its four joints, with MM_MATRICES_SKIN. `clip` SIZE_MAX is the bind
 *  pose, in which nothing moves. A clip that repeats goes on from its last frame to its first; any other stands still
 *  before its first and after its last frame. Rotations between frames take the shorter way. The matrices are right
 *  also if poses are stored relative to other parents than the joints. MM_ABSENT if the scene has no joints,
 *  MM_ERROR_ARGUMENT for a time that is not finite. */
MM_API mm_status mm_scene_pose(const mm_scene *scene, size_t clip, double seconds, mm_matrices kind, float *out, size_t
    stride, size_t capacity, size_t *count);

/* == 7. Every stored array and text =============================================================================== */

/* The arrays and texts of a file as stored, by address: mm_array exposes an array, mm_read_into reads it into a
 * buffer. Addresses that are made for each call take no memory: "snapshots[%zu].positions" on the stack. */

/** Called with each array of a file; returns 0 to go on. The array is valid during the call. No exception may leave it.
 */
typedef int (*mm_array_fn)(void *user, const mm_array_info *array);

/** Called with each text of a file and its address; returns 0 to go on. `length` does not count the byte 0 after the
 *  text, but those within. Both are valid during the call. No exception may leave it. */
typedef int (*mm_text_fn)(void *user, const char *address, const char *text, size_t length);

/** Calls `each` on this thread with every array that a file stores, decoded, one after the other: all vertices,
 *  indices, frames and matrices, as they are stored and not as a renderer sees them. The order is as in the file.
 *  Indices are checked. The first error ends the list. MM_OK also if `each` ended it. */
MM_API mm_status mm_arrays(const mm_file *file, mm_array_fn each, void *user);

/** Calls `each` on this thread with every text that a file stores and its address: names, materials, comments. MM_OK
 *  also if `each` ended the list. */
MM_API mm_status mm_texts(const mm_file *file, mm_text_fn each, void *user);

/** The array at an address that mm_arrays lists, such as `snapshots[3].positions`, `vertex_arrays[0]` or
 *  `skin.inverse_bind_matrices`, decoded in memory of the scratch, or where it lies in a file that is mapped or in
 *  memory and does not compress it. The numbers are valid until the scratch is used again or freed. Arrays of snapshots
 *  are decoded no further than needed; if the file is mapped or in memory, nothing is allocated for them once the
 *  scratch is large enough. Also reads `snapshots[3].position_differences`: differences from the first snapshot, as
 *  stored. `out->address` is the text that was passed. MM_ERROR_HANDLE if no scratch is given. */
MM_API mm_status mm_array(const mm_file *file, const char *address, mm_scratch *scratch, mm_array_info *out);

/** Reads the array at an address as mm_array does, into the caller's buffer: packed elements, or `stride` bytes apart
 *  (16 is Embree's layout of positions, whose fourth float is left as it is). `scalar` and `components` are the type of
 *  an element, which MM_ERROR_MISMATCH refuses if it is another one; a matrix has as many components as numbers. With
 *  `out` NULL, 17 bytes are decoded for `positions`, `normals` and `triangles.positions` of a snapshot, and the whole
 *  array for others. */
MM_API mm_status mm_read_into(const mm_file *file, const char *address, mm_scalar scalar, uint32_t components,
    mm_scratch *scratch, void *out, size_t stride, size_t capacity, size_t *count);

/* == 8. CGeo: snapshots of an animation =========================================================================== */

/* A file contains snapshots with their own vertices; most of them have the triangles of the first. mm_read_into reads
 * an array of one, mm_snapshot_read several parts of one, and mm_cache_* shares decoded snapshots between threads.
 * mm_cgeo_keys and mm_cgeo_positions_at give the positions that motion blur needs, and mm_vertex_writer_* fills vertex
 * buffers. meshmap_cgeo.h has the dialects of these files. */

/** The positions. */
#define MM_PARTS_POSITIONS 1

/** The normals. */
#define MM_PARTS_NORMALS 2

/** The texture coordinates. */
#define MM_PARTS_TEXCOORDS 4

/** The triangles: indices, material IDs and visible edges, which are stored together. */
#define MM_PARTS_TRIANGLES 8

/** All of them. */
#define MM_PARTS_ALL 15

/** The evidence for the unit of a CGeo file. */
enum mm_cgeo_unit MM_ENUM(uint32_t) {
    MM_CGEO_UNIT_UNKNOWN = 0, /**< The header has no unit. */
    MM_CGEO_UNIT_BOX_SIZES = 1, /**< The unit is from the two box sizes of the header, with which its scale agrees. */
    /** From the box sizes; the scale is the reciprocal of their ratio, as in the published sample. */
    MM_CGEO_UNIT_BOX_SIZES_SCALE_IS_RECIPROCAL = 2,
    MM_CGEO_UNIT_BOX_SIZES_SCALE_DIFFERS = 3, /**< From the box sizes, which the scale contradicts. */
    MM_CGEO_UNIT_SCALE = 4, /**< From only the scale. */
};
MM_ENUM_TYPE(mm_cgeo_unit, uint32_t)

/** The source of the times of snapshots. */
enum mm_clock MM_ENUM(uint32_t) {
    MM_CLOCK_FILE = 0, /**< The times of the file. */
    MM_CLOCK_STEP = 1, /**< Times that begin at `start`, `step` seconds apart. */
    MM_CLOCK_RATE = 2, /**< Times that begin at `start`, `rate` of them per second. */
};
MM_ENUM_TYPE(mm_clock, uint32_t)

/** The behaviour before the first snapshot and after the last. */
enum mm_wrap MM_ENUM(uint32_t) {
    MM_WRAP_CLAMP = 0, /**< The first and the last snapshot stay. */
    MM_WRAP_LOOP = 1, /**< The first snapshot follows the last, one step later. */
    MM_WRAP_PING_PONG = 2, /**< Snapshots run back to the first, then forth again. */
};
MM_ENUM_TYPE(mm_wrap, uint32_t)

/** A cache of decoded snapshots of any number of CGeo files, with one capacity for all. However many threads ask for a
 *  snapshot, one of them decodes it, and the others wait. */
typedef struct mm_cache mm_cache;

/** A place for a decoded snapshot of a CGeo file, which is filled again and again. One for each thread that fills;
 *  others may look at what is there. */
typedef struct mm_snapshot mm_snapshot;

/** Decodes snapshots of CGeo files straight into vertex buffers of one layout. It keeps the vertices of a topology and
 *  two decoded snapshots: one for each thread and each file. Two threads that use one at the same time get
 *  MM_ERROR_BUSY. */
typedef struct mm_vertex_writer mm_vertex_writer;

/** The description of an open proxy. */
typedef struct mm_cgeo_info {
    size_t size; /**< sizeof(mm_cgeo_info), set by the caller. */
    size_t snapshot_count; /**< The number of snapshots. */
    int64_t version; /**< The version of the format; 0 if the header has no whole number. */
    uint32_t flags; /**< The flags before the offset table. */
    mm_cgeo_unit unit_evidence; /**< The evidence for unit_millimeters. */
    double unit_millimeters; /**< Millimetres per unit; 0 if unknown. */
    double scale; /**< "Scale" as stored; 0 if the header has no scale. */
    /** `true` if the dialect (meshmap_cgeo.h) was found in the file, rather than given in mm_options. */
    bool dialect_is_found;
    bool has_timing; /**< `true` if the file stores times (mm_cgeo_timing). */
} mm_cgeo_info;

/** The numbers of elements of a snapshot. */
typedef struct mm_cgeo_counts {
    size_t size; /**< sizeof(mm_cgeo_counts), set by the caller. */
    uint32_t vertices; /**< Positions. */
    uint32_t normals; /**< Normals. */
    uint32_t texcoord_sets; /**< Sets of texture coordinates. */
    uint32_t triangles; /**< Triangles. */
} mm_cgeo_counts;

/** Identifies the triangles of a snapshot: equal values identify equal triangles, so that data made from them (an
 *  acceleration structure) can be kept and refitted. Snapshots that store the same triangles again have the same value,
 *  except for a mesh that is stored complete and was read without MM_PARTS_TRIANGLES. Valid for the lifetime of the
 *  process. */
typedef struct mm_topology {
    uint64_t high; /**< One half. */
    uint64_t low; /**< The other half. */
} mm_topology;

/** Parts of the mesh of a snapshot, joined by |. */
typedef uint32_t mm_parts;

/** The description of a decoded snapshot. */
typedef struct mm_snapshot_info {
    size_t size; /**< sizeof(mm_snapshot_info), set by the caller. */
    uint32_t vertices; /**< Positions. */
    uint32_t normals; /**< Normals. */
    uint32_t texcoord_sets; /**< Sets of texture coordinates. */
    uint32_t triangles; /**< Triangles. */
    mm_topology topology; /**< Identifies the triangles. */
    mm_parts parts; /**< The parts that were decoded. */
    bool is_complete; /**< `true` if it is stored complete, and not as a difference from the first one. */
} mm_snapshot_info;

/** Statistics of a cache. */
typedef struct mm_cache_stats {
    size_t size; /**< sizeof(mm_cache_stats), set by the caller. */
    uint64_t hits; /**< Requests that found their snapshot. */
    uint64_t misses; /**< Requests that did not, including requests that waited for another thread. */
    uint64_t decodes; /**< Snapshots decoded. */
    /** Snapshots decoded again after they were dropped: a sign that the capacity is too small. */
    uint64_t repeated_decodes;
    uint64_t bytes_held; /**< Bytes of decoded snapshots in the cache. */
    uint64_t peak_bytes; /**< The greatest value of bytes_held so far. */
} mm_cache_stats;

/** The times of snapshots. Functions that take one use the times of the file if it is NULL. */
typedef struct mm_timing {
    size_t size; /**< sizeof(mm_timing), set by the caller. */
    mm_clock clock; /**< The source of the times. */
    uint32_t reserved; /**< 0. */
    size_t count; /**< The number of snapshots; 0 for all of the file. */
    double start; /**< The time of snapshot 0 in seconds. */
    double step; /**< From one snapshot to the next, in seconds; 0 if no time passes. */
    double rate; /**< Snapshots per second, of MM_CLOCK_RATE. */
} mm_timing;

/** A time between two snapshots. */
typedef struct mm_cgeo_key {
    size_t from; /**< The snapshot at or before the time. */
    size_t to; /**< The snapshot after it. */
    float fraction; /**< The fraction from `from` (0) to `to` (1). */
} mm_cgeo_key;

/** The description of a proxy. */
MM_API mm_status mm_cgeo_get_info(const mm_file *file, mm_cgeo_info *out);

/** A property of the header by its name, such as "Original object name", without regard to case; or the whole header,
 *  where `name` is NULL. `*length` does not count the byte 0 after the text. MM_ABSENT if the header has no such
 *  property. */
MM_API mm_status mm_cgeo_property(const mm_file *file, const char *name, char *out, size_t capacity, size_t *length);

/** The numbers of elements of a snapshot. Decodes 17 bytes. MM_ERROR_MALFORMED if the snapshot has no mesh. */
MM_API mm_status mm_cgeo_get_counts(const mm_file *file, size_t snapshot, mm_scratch *scratch, mm_cgeo_counts *out);

/** Identifies the triangles of a snapshot. Decodes one byte. */
MM_API mm_status mm_cgeo_topology(const mm_file *file, size_t snapshot, mm_scratch *scratch, mm_topology *out);

/** Stores 1 in `is_complete` if a snapshot is stored complete, or 0 if it is a difference from the first; and in
 *  `sample_count` the number of its meshes, samples between it and the next one, which is 1 in most files
 *  (mm_snapshot_read reads any). Each place may be NULL. */
MM_API mm_status mm_cgeo_storage(const mm_file *file, size_t snapshot, mm_scratch *scratch, uint32_t *is_complete,
    size_t *sample_count);

/** Makes a place for a snapshot, with nothing in it. */
MM_API mm_status mm_snapshot_new(mm_snapshot **out);

/** Frees a place and what is in it; what a cache has stays there. */
MM_API mm_status mm_snapshot_free(mm_snapshot *snapshot);

/** Decodes parts of a snapshot into a place: of its mesh `sample`, which is 0 in most files. Arrays of other parts have
 *  no elements, and are MM_ERROR_OUT_OF_RANGE if they are one of several, such as `map_channels[0]`. The stream is
 *  decoded no further than the last part, so positions cost the least; damage behind it is not noticed. If the file is
 *  mapped or in memory, nothing is allocated once place and scratch are large enough. Views of the place's previous
 *  contents are no longer valid. MM_ERROR_ARGUMENT if `parts` has another bit. After an error, the place is empty. */
MM_API mm_status mm_snapshot_read(const mm_file *file, size_t index, size_t sample, mm_parts parts, mm_scratch *scratch,
    mm_snapshot *out);

/** The contents of a place. MM_ABSENT if the place is empty. */
MM_API mm_status mm_snapshot_get_info(const mm_snapshot *snapshot, mm_snapshot_info *out);

/** Exposes an array of a decoded snapshot by its name, which is the end of its address: `positions`, `normals`,
 *  `map_channels[0]`, `triangles.positions`, `triangles.normals`, `triangles.map_channels[0]`, `triangles.material_ids`
 *  or `triangles.edge_visibility`. Vertices are shown in the place, and valid until it is filled again or freed. Arrays
 *  of triangles, which are stored mixed, are separated in the scratch, and valid until it is used again or freed;
 *  others need no scratch. MM_ABSENT if the place is empty. MM_ERROR_UNSUPPORTED for arrays that only mm_array and
 *  mm_read_into read. */
MM_API mm_status mm_snapshot_view(const mm_snapshot *snapshot, const char *name, mm_scratch *scratch, mm_array_info
    *out);

/** Copies an array of a decoded snapshot, named as in mm_snapshot_view and with elements as in mm_read_into. MM_ABSENT
 *  if the place is empty. */
MM_API mm_status mm_snapshot_copy(const mm_snapshot *snapshot, const char *name, mm_scalar scalar, uint32_t components,
    mm_scratch *scratch, void *out, size_t stride, size_t capacity, size_t *count);

/** Makes a cache with a capacity in bytes of decoded snapshots. A full cache evicts the least recently used snapshots,
 *  or recently used ones in a loop over more snapshots than fit, so that most of the loop stays cached. */
MM_API mm_status mm_cache_new(uint64_t capacity_bytes, mm_cache **out);

/** Makes another handle of a cache, to be freed on its own. */
MM_API mm_status mm_cache_ref(const mm_cache *cache, mm_cache **out);

/** Frees a cache; snapshots that were taken from it stay. Calls on it that have begun on other threads end as usual. */
MM_API mm_status mm_cache_free(mm_cache *cache);

/** A snapshot with at least these parts, decoded unless they are in the cache, into a place, which shares it. Takes no
 *  memory for one that is in the cache, which holds the parts that were asked for. Views of the place's previous
 *  contents are no longer valid. Errors are not cached: the next request tries again. */
MM_API mm_status mm_cache_get(const mm_cache *cache, const mm_file *file, size_t index, mm_parts parts, mm_snapshot
    *out);

/** Like mm_cache_get, if the cache has the snapshot with all these parts. Never waits, takes no memory. MM_ABSENT if it
 *  is not in the cache, and the place is then empty. */
MM_API mm_status mm_cache_try_get(const mm_cache *cache, const mm_file *file, size_t index, mm_parts parts, mm_snapshot
    *out);

/** Starts to decode parts of snapshots on the threads of the process' pool, and returns at once. mm_cache_get reports
 *  errors. `indices` stay the caller's; cache and file may be closed meanwhile. */
MM_API mm_status mm_cache_prefetch(const mm_cache *cache, const mm_file *file, const size_t *indices, size_t count,
    mm_parts parts);

/** Statistics of a cache since it was made. */
MM_API mm_status mm_cache_get_stats(const mm_cache *cache, mm_cache_stats *out);

/** Drops every snapshot of a file; snapshots that places share stay there. */
MM_API mm_status mm_cache_remove(const mm_cache *cache, const mm_file *file);

/** Drops every snapshot; snapshots that places share stay there. */
MM_API mm_status mm_cache_clear(const mm_cache *cache);

/** The times that a file stores. MM_ABSENT if the file stores no times. */
MM_API mm_status mm_cgeo_timing(const mm_file *file, mm_timing *out);

/** The time of a snapshot in seconds. MM_ERROR_ARGUMENT if `timing` is NULL and the file has no times. */
MM_API mm_status mm_cgeo_time_of(const mm_file *file, const mm_timing *timing, size_t snapshot, double *seconds);

/** The snapshots around a time in seconds. The fraction is 0 at the time of a snapshot. MM_ABSENT if there are no
 *  snapshots, or the time is NaN. */
MM_API mm_status mm_cgeo_key_at(const mm_file *file, const mm_timing *timing, double seconds, mm_wrap wrap, mm_cgeo_key
    *out);

/** The times in seconds that a shutter needs, ascending: its opening and closing, and each snapshot that is passed
 *  between them. Vertices move in straight lines between neighbours. Takes no memory once the scratch is large enough.
 *  MM_ERROR_OUT_OF_RANGE for a shutter that closes before it opens, or more than 65,536 times. */
MM_API mm_status mm_cgeo_keys(const mm_file *file, const mm_timing *timing, double open, double close, mm_wrap wrap,
    mm_scratch *scratch, double *out, size_t stride, size_t capacity, size_t *count);

/** The positions of every vertex at these times in seconds, by linear interpolation between snapshots: all vertices of
 *  the first time, then all of the next; three floats each. A cache, if it is not NULL, decodes and holds the positions
 *  of each snapshot; without one, nothing is allocated once the scratch is large enough, if the file is mapped or in
 *  memory. MM_ERROR_MISMATCH if snapshots have different triangles. MM_ERROR_OUT_OF_RANGE for a time that is NaN. */
MM_API mm_status mm_cgeo_positions_at(const mm_file *file, const mm_timing *timing, const double *seconds, size_t
    time_count, mm_wrap wrap, const mm_cache *cache, mm_scratch *scratch, float *out, size_t stride, size_t capacity,
    size_t *count);

/** The normals at these times in seconds, like mm_cgeo_positions_at: between the normals of the snapshots, of length 1.
 *  Triangles have separate indices of normals. */
MM_API mm_status mm_cgeo_normals_at(const mm_file *file, const mm_timing *timing, const double *seconds, size_t
    time_count, mm_wrap wrap, const mm_cache *cache, mm_scratch *scratch, float *out, size_t stride, size_t capacity,
    size_t *count);

/** The velocity of each vertex at a snapshot, in units per second, by central differences (one-sided at the ends):
 *  three floats each. The cache is as in mm_cgeo_positions_at. MM_ERROR_UNSUPPORTED if no time passes between
 *  snapshots. */
MM_API mm_status mm_cgeo_velocities(const mm_file *file, const mm_timing *timing, size_t snapshot, const mm_cache
    *cache, mm_scratch *scratch, float *out, size_t stride, size_t capacity, size_t *count);

/** Makes a writer of vertices in a layout: positions, normals, texture coordinates and, for mm_vertex_writer_write_at,
 *  velocities, the custom attribute `velocity`. `stride` 0 is the stride of mm_layout_resolve. MM_ERROR_OUT_OF_RANGE
 *  for attributes that overlap or are longer than the stride. */
MM_API mm_status mm_vertex_writer_new(const mm_layout_attribute *attributes, size_t attribute_count, size_t stride,
    mm_vertex_writer **out);

/** Frees a writer. */
MM_API mm_status mm_vertex_writer_free(mm_vertex_writer *writer);

/** The index buffer of a snapshot: three indices for each triangle, and in `vertex_count`, which may be NULL, the
 *  number of its vertices. It is the same for all snapshots of a topology (mm_cgeo_topology). */
MM_API mm_status mm_vertex_writer_indices(mm_vertex_writer *writer, const mm_file *file, size_t snapshot, uint32_t *out,
    size_t stride, size_t capacity, size_t *count, size_t *vertex_count);

/** Writes all vertices of a snapshot. Nothing of `out` is read, so it may be mapped memory of a GPU. `topology`, which
 *  may be NULL, identifies the triangles: if it is another one than before, so are the indices. If the file is mapped
 *  or in memory, nothing is allocated after the first call. MM_ERROR_MISMATCH if the mesh lacks an attribute that has
 *  no default. MM_ERROR_OUT_OF_RANGE for a number that a type cannot hold. */
MM_API mm_status mm_vertex_writer_write(mm_vertex_writer *writer, const mm_file *file, size_t snapshot, void *out,
    size_t capacity, size_t *bytes, mm_topology *topology);

/** Like mm_vertex_writer_write, at a time in seconds between two snapshots: positions as of mm_cgeo_positions_at,
 *  normals of length 1 between the normals of the snapshots, and velocities, in units per second, from one snapshot to
 *  the other: negative on the way back of MM_WRAP_PING_PONG, and 0 before the first snapshot and after the last with
 *  MM_WRAP_CLAMP. */
MM_API mm_status mm_vertex_writer_write_at(mm_vertex_writer *writer, const mm_file *file, const mm_timing *timing,
    double seconds, mm_wrap wrap, void *out, size_t capacity, size_t *bytes, mm_topology *topology);

/** Like mm_vertex_writer_write_at, at many times, such as the times of many instances, in any order: `out` has a place
 *  for each of the `time_count` times, with room for `capacity` bytes, and `bytes` is the number of bytes that each
 *  needs. The places must not overlap. Each snapshot that the times lie between is decoded once. `out` may be NULL, to
 *  request `bytes`. After an error, the contents of all places are undefined. */
MM_API mm_status mm_vertex_writer_write_many_at(mm_vertex_writer *writer, const mm_file *file, const mm_timing *timing,
    const double *seconds, size_t time_count, mm_wrap wrap, void *const *out, size_t capacity, size_t *bytes,
    mm_topology *topology);

/* == 9. IQM: skeletons and animations ============================================================================= */

/* Skinning matrices at a time of an animation. */

/** The skeleton of an IQM file, and animations for it. */
typedef struct mm_rig mm_rig;

/** The sizes of a rig. */
typedef struct mm_rig_info {
    size_t size; /**< sizeof(mm_rig_info), set by the caller. */
    size_t joint_count; /**< Joints of the skeleton. */
    size_t anim_count; /**< Animations. */
    uint32_t frame_count; /**< Frames of all animations. */
    uint32_t pose_count; /**< Poses in each frame; as many as joints if the animation fits the skeleton. */
} mm_rig_info;

/** Translation, rotation and scale, relative to the parent. */
typedef struct mm_trs {
    float translate[3]; /**< Translation x, y, z. */
    float rotate[4]; /**< Rotation, a quaternion x, y, z, w as stored. */
    float scale[3]; /**< Scale along x, y, z. */
} mm_trs;

/** A joint in the bind pose. */
typedef struct mm_joint {
    size_t size; /**< sizeof(mm_joint), set by the caller. */
    const char *name; /**< Its name. */
    int64_t parent; /**< The index of its parent, less than its own; -1 of a root. */
    mm_trs bind; /**< Relative to its parent. */
    float bind_matrix[3][4]; /**< From its space to the space of the model: three rows of four. */
    float inverse_bind_matrix[3][4]; /**< From the space of the model to its own. */
} mm_joint;

/** An animation: a run of frames. */
typedef struct mm_anim {
    size_t size; /**< sizeof(mm_anim), set by the caller. */
    const char *name; /**< Its name. */
    uint32_t first_frame; /**< The index of its first frame. */
    uint32_t frame_count; /**< The number of its frames. */
    float frame_rate; /**< Frames per second; 0 if the file does not store it. */
    bool is_loop; /**< `true` if the animation loops. */
} mm_anim;

/** The skeleton and the animations of an IQM file; or the skeleton of one and the animations of another, which may be
 *  NULL. MM_ERROR_MISMATCH if the animation belongs to another skeleton. */
MM_API mm_status mm_rig_new(const mm_file *file, const mm_file *animation, mm_rig **out);

/** Frees a rig and its texts. */
MM_API mm_status mm_rig_free(mm_rig *rig);

/** The sizes of a rig. */
MM_API mm_status mm_rig_get_info(const mm_rig *rig, mm_rig_info *out);

/** A joint of the skeleton of a rig. */
MM_API mm_status mm_rig_joint(const mm_rig *rig, size_t index, mm_joint *out);

/** An animation of a rig. */
MM_API mm_status mm_rig_anim(const mm_rig *rig, size_t index, mm_anim *out);

/** The frames before and after a time of an animation, in seconds from its first frame, and the fraction between them.
 *  If the file stores no rate, it is `default_rate`, in frames per second. Each place may be NULL. MM_ABSENT if the
 *  animation has no frames, or no rate. */
MM_API mm_status mm_rig_frames_at(const mm_rig *rig, size_t anim, double seconds, float default_rate, uint32_t *from,
    uint32_t *to, float *fraction);

/** The pose of each joint in a frame, as stored, relative to the parent of the pose. A few files have poses with other
 *  parents than their joints (iqmpose.parent and iqmjoint.parent), which mm_rig_skinning_at takes into account. Takes
 *  no memory once the scratch is large enough. */
MM_API mm_status mm_rig_pose(const mm_rig *rig, uint32_t frame, mm_scratch *scratch, mm_trs *out, size_t stride, size_t
    capacity, size_t *count);

/** The matrix of each joint that moves vertices from the bind pose to the pose of an animation at a time: three rows of
 *  four floats. Made with the parents of the poses, also if they are not the parents of the joints. Times as of
 *  mm_rig_frames_at; rotations between frames take the shorter way. Takes no memory once the scratch is large enough.
 *  MM_ABSENT if the rig has no skeleton, frame or rate. */
MM_API mm_status mm_rig_skinning_at(const mm_rig *rig, size_t anim, double seconds, float default_rate, mm_scratch
    *scratch, float *out, size_t stride, size_t capacity, size_t *count);

/* == 10. Second Life mesh: levels of detail ======================================================================= */

/* Each level is stored in a separate block. */

/** The faces of a level of detail by its name: "high_lod", "medium_lod", "low_lod" or "lowest_lod". No other block is
 *  read. MM_ABSENT if the file does not have it. MM_ERROR_OUT_OF_RANGE for another name. */
MM_API mm_status mm_slmesh_lod(const mm_file *file, const char *name, mm_mesh_list **out);

/** The name of the level of detail that a viewer shows if it wants `wanted`: that one, or the next lower one that
 *  exists, or the next higher one. Reads nothing. MM_ABSENT if the asset has no levels. */
MM_API mm_status mm_slmesh_best_lod(const mm_file *file, const char *wanted, const char **out);

/** The stored bytes of a level of detail, and an estimate of its triangles as the viewer makes it. Reads nothing. Each
 *  place may be NULL. */
MM_API mm_status mm_slmesh_lod_range(const mm_file *file, const char *name, uint64_t *begin, uint64_t *end, uint64_t
    *triangle_estimate);

/* == 11. Open handles ============================================================================================= */

/* For tests of programs that use this library. */

/** The number of open handles of all kinds, in the whole process: for tests that look for handles that were never
 *  closed, which leak checkers do not find. */
MM_API size_t mm_handle_count(void);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* MESHMAP_H */
