//! Makes `include/meshmap.h`: the sections in reading order, each by cbindgen from the files that define it; and
//! `include/meshmap_cgeo.h`.

use std::fmt::Write as _;
use std::path::Path;

use super::read;

/// A section: title, what a reader should know first, and the files of `src`, in the order of the header.
const SECTIONS: [(&str, &str, &[&str]); 10] = [
    (
        "Status and errors",
        "Every function that may fail returns an mm_status. mm_last_error returns the details of the last failure of the
thread: text, format, address, bytes, expected and found value.",
        &["fail/status.rs", "format.rs", "fail/last.rs"],
    ),
    (
        "Memory and cancelling",
        "A scratch makes calls that repeat free of allocations. A cancel flag ends the calls of a thread early.",
        &["scratch.rs", "cancel.rs"],
    ),
    (
        "Opening files",
        "A file is opened by path, mapped, in memory, or behind callbacks; its format is detected from its content.",
        &["options.rs", "reader.rs", "file.rs"],
    ),
    (
        "Meshes of any format",
        "mm_meshes lists the meshes of a file; skip meshes that are not drawn by default. mm_mesh_at reads one, as one vertex
buffer and one index buffer.",
        &["scalar.rs", "view.rs", "list.rs", "findings.rs", "mesh.rs", "vertices.rs"],
    ),
    (
        "Scenes: files as they are drawn",
        "For programs that draw files without knowing their formats, by the same rules as all programs of meshmap. Nothing
of the sections after this one is needed. mm_open, mm_scene_new, mm_scene_get_info; then for each shape
  mm_scene_get_shape, mm_scene_key_at    skip mm_shape.is_coarser; the key of an object through time
  mm_scene_mesh, mm_mesh_by_material     decode it, and put the triangles of each material together
  mm_mesh_write_interleaved              vertices: bind pose, linear colours, four joints and weights
  mm_mesh_write_indices, mm_mesh_groups  indices, and a group of triangles for each material
  mm_scene_get_material, mm_image_path   its image or colour
With clips, mm_scene_pose has the matrices for skinning in the shader. mm_scene_info.upright is the model matrix.",
        &["scene.rs", "shape.rs", "pose.rs"],
    ),
    (
        "Every stored array and text",
        "The arrays and texts of a file as stored, by address: mm_array exposes an array, mm_read_into reads it into a
buffer. Addresses that are made for each call take no memory: \"snapshots[%zu].positions\" on the stack.",
        &["arrays.rs"],
    ),
    (
        "CGeo: snapshots of an animation",
        "A file contains snapshots with their own vertices; most of them have the triangles of the first. mm_read_into reads
an array of one, mm_snapshot_read several parts of one, and mm_cache_* shares decoded snapshots between threads.
mm_cgeo_keys and mm_cgeo_positions_at give the positions that motion blur needs, and mm_vertex_writer_* fills vertex
buffers. meshmap_cgeo.h has the dialects of these files.",
        &["cgeo.rs", "snapshot.rs", "cache.rs", "motion.rs", "writer.rs"],
    ),
    ("IQM: skeletons and animations", "Skinning matrices at a time of an animation.", &["iqm.rs"]),
    ("Second Life mesh: levels of detail", "Each level is stored in a separate block.", &["slmesh.rs"]),
    ("Open handles", "For tests of programs that use this library.", &["handle.rs"]),
];

const RULES: &str = "
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
 */";

const MACROS: &str = r#"
#ifndef MESHMAP_H
#define MESHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* == 1. Version =================================================================================================== */

/** The version of this header. mm_version returns the version of the library that is loaded. */
#define MM_VERSION_MAJOR @MAJOR@
#define MM_VERSION_MINOR @MINOR@
#define MM_VERSION_PATCH @PATCH@
#define MM_VERSION_STRING "@VERSION@"
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
"#;

/// The whole header.
pub(crate) fn header(root: &Path) -> String {
    let titles = ["Version"]
        .into_iter()
        .chain(SECTIONS.map(|(title, ..)| title));
    let mut out = String::from(
        "/* meshmap: reads 3D meshes of five formats (CGeo, IQM, OpenCTM, Second Life mesh, TMF) from files that are mapped,\n \
         * read by ranges, in memory, or behind callbacks. Made from crates/capi/src by the test `header`; do not edit.\n *\n \
         * Contents\n *\n",
    );
    for (index, title) in titles.enumerate() {
        writeln!(out, " *   {}. {title}", index + 1).expect("memory");
    }
    let [major, minor, patch] = [
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
        env!("CARGO_PKG_VERSION_PATCH"),
    ];
    let macros = MACROS
        .replace("@MAJOR@", major)
        .replace("@MINOR@", minor)
        .replace("@PATCH@", patch)
        .replace("@VERSION@", env!("CARGO_PKG_VERSION"));
    out += &format!(" *{RULES}\n{macros}");
    for (index, (title, text, files)) in SECTIONS.iter().enumerate() {
        let rule = format!("/* == {}. {title} ", index + 2);
        writeln!(
            out,
            "\n{rule:=<116} */\n\n/* {} */",
            text.replace('\n', "\n * ")
        )
        .expect("memory");
        out += &section(root, files);
    }
    format!("{out}{END} /* MESHMAP_H */\n")
}

const END: &str = "\n#ifdef __cplusplus\n} /* extern \"C\" */\n#endif\n\n#endif";

/// The header of the dialects of CGeo files.
pub(crate) fn cgeo_header(root: &Path) -> String {
    let begin = "/* meshmap: the dialects of CGeo files, which differ in details that the published text leaves open. The rules at the
 * top of meshmap.h hold. Made from crates/capi/src by the test `header`; do not edit.
 */

#ifndef MESHMAP_CGEO_H
#define MESHMAP_CGEO_H

#include \"meshmap.h\"

#ifdef __cplusplus
extern \"C\" {
#endif
";
    // meshmap.h has declared the struct.
    let made = section(root, &["dialect.rs", "cgeo_dialect.rs"])
        .replace(
            "typedef struct mm_cgeo_dialect {",
            "struct mm_cgeo_dialect {",
        )
        .replace("} mm_cgeo_dialect;", "};");
    format!("{begin}{made}{END} /* MESHMAP_CGEO_H */\n")
}

/// Appended to the options, which name a type of the other header.
const DIALECT: &str = "
/// The choices for reading a CGeo file that the published text leaves open; meshmap_cgeo.h defines them.
pub struct mm_cgeo_dialect { _opaque: [u8; 0] }
";

fn section(root: &Path, files: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let mut builder = cbindgen::Builder::new().with_config(
        cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a valid configuration"),
    );
    for (index, file) in files.iter().enumerate() {
        let path = folder.path().join(format!("{index}.rs"));
        let source =
            read(&root.join("src").join(file)) + if *file == "options.rs" { DIALECT } else { "" };
        std::fs::write(&path, with_enums(&source)).expect("a file");
        builder = builder.with_src(path);
    }
    let mut made = Vec::new();
    builder.generate().expect("a section").write(&mut made);
    let made = String::from_utf8(made).expect("UTF-8");
    let made = made
        .replace(
            "#ifdef __cplusplus\nextern \"C\" {\n#endif // __cplusplus\n",
            "",
        )
        .replace(
            "#ifdef __cplusplus\n}  // extern \"C\"\n#endif  // __cplusplus\n",
            "",
        );
    let made = wrapped_comments(plain_functions(&short_enums(made)).trim());
    format!("\n{}\n", made.replace("\n\n\n", "\n\n").trim_end())
}

/// Replaces what cbindgen repeats in each enum by macros.
fn short_enums(mut text: String) -> String {
    const SIZED: &str = "defined(__cplusplus) || __STDC_VERSION__ >= 202311L";
    const FIRST: &str = "#ifndef __cplusplus\n#if __STDC_VERSION__ >= 202311L\ntypedef enum ";
    const LAST: &str = "#endif // __STDC_VERSION__ >= 202311L\n#endif // __cplusplus";
    for base in ["int32_t", "uint32_t"] {
        let sized = format!("\n#if {SIZED}\n  : {base}\n#endif // {SIZED}\n {{");
        text = text.replace(&sized, &format!(" MM_ENUM({base}) {{"));
    }
    while let Some((before, after)) = text.split_once(FIRST) {
        let (name, rest) = after.split_once(' ').expect("the name of an enum");
        let (definition, rest) = rest.split_once(LAST).expect("the end of an enum");
        let base = if definition.contains("typedef int32_t") {
            "int32_t"
        } else {
            "uint32_t"
        };
        text = format!("{before}MM_ENUM_TYPE({name}, {base}){rest}");
    }
    text
}

/// Turns `pub type T = u32;` and the constants of type `T` into an enum for C. In Rust they are numbers, because callers may
/// pass any.
fn with_enums(source: &str) -> String {
    let lines: Vec<&str> = source.lines().collect();
    let constants = |of: &str| -> Vec<(usize, String)> {
        let found = lines.iter().enumerate().filter_map(|(index, line)| {
            let (name, value) = line
                .strip_prefix("pub const ")?
                .split_once(&format!(": {of} = "))?;
            let documented = lines
                .get(..index)?
                .iter()
                .rev()
                .take_while(|line| line.starts_with("///"))
                .count();
            let comment = lines.get(index - documented..index)?.join("\n");
            Some((
                index - documented,
                format!("{comment}\n{name} = {},\n", value.trim_end_matches(';')),
            ))
        });
        found.collect()
    };
    let mut out = String::new();
    let mut skipped = std::collections::BTreeSet::new();
    for (index, line) in lines.iter().enumerate() {
        let alias = line
            .strip_prefix("pub type ")
            .and_then(|rest| rest.trim_end_matches(';').split_once(" = "));
        let values = alias.map(|(name, _)| constants(name)).unwrap_or_default();
        if let (Some((name, base)), false) = (alias, values.is_empty()) {
            writeln!(out, "#[repr({base})]\npub enum {name} {{").expect("memory");
            for (first, text) in values {
                skipped.extend(first..first + text.lines().count());
                out += &text;
            }
            out += "}\n";
        } else if !skipped.contains(&index) {
            out += line;
            out.push('\n');
        }
    }
    out
}

/// Writes functions with as many parameters on a line as it holds, and types without `struct`.
fn plain_functions(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("typedef struct") {
            out += line;
        } else if line.starts_with("MM_API") {
            let mut words = line.replace("struct mm_", "mm_");
            while !words.ends_with(';') {
                let Some(line) = lines.next() else { break };
                words = format!("{words} {}", line.trim().replace("struct mm_", "mm_"));
            }
            out += &wrapped(&words, "", "    ").join("\n");
        } else {
            out += &line.replace("struct mm_", "mm_");
        }
        out.push('\n');
    }
    out
}

/// The most columns of a line.
const COLUMNS: usize = 120;

/// Lines of these words, of which the first begins in one way and the others in another.
fn wrapped(text: &str, first: &str, other: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::replace(&mut line, other.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    lines.push(line);
    lines
}

/// Writes comments on as few lines as they need.
fn wrapped_comments(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "/**" {
            writeln!(out, "{line}").expect("memory");
            continue;
        }
        let comment = lines
            .by_ref()
            .map(str::trim)
            .take_while(|line| *line != "*/");
        let comment: Vec<&str> = comment
            .map(|line| line.strip_prefix("*").unwrap_or(line).trim())
            .collect();
        let indent = line.strip_suffix("/**").unwrap_or_default();
        let (first, other) = (format!("{indent}/** "), format!("{indent} *  "));
        // The comment of a field or a value is behind it if there is room.
        if let (Some(next), false) = (lines.clone().next(), indent.is_empty()) {
            let behind = format!("{next} /**< {} */", comment.join(" "));
            if behind.chars().count() <= COLUMNS && next.ends_with([';', ',']) {
                writeln!(out, "{behind}").expect("memory");
                lines.next();
                continue;
            }
        }
        let mut made: Vec<String> = Vec::new();
        for (index, paragraph) in comment.split(|line| line.is_empty()).enumerate() {
            let first = if index == 0 { &first } else { &other };
            made.extend(wrapped(&paragraph.join(" "), first, &other));
        }
        // The end is a word as well.
        let last = made.pop().unwrap_or_default();
        if last.chars().count() + 3 <= COLUMNS {
            made.push(last + " */");
        } else {
            made.extend([last, format!("{indent} */")]);
        }
        writeln!(out, "{}", made.join("\n")).expect("memory");
    }
    out
}
