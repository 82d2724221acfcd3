//! Bad files give the kind, the bytes and the text that the library gives.
#![allow(unsafe_code, reason = "C functions are called")]

mod support;

use std::ffi::{CString, c_int, c_void};
use std::path::Path;
use std::ptr::{null, null_mut};

use meshmap::{Error, ErrorKind, Format, Limits, MeshFile, Options, Source};
use meshmap_capi::*;
use meshmap_testing::{data, test_files};
use support::*;

fn status_of(kind: &ErrorKind) -> mm_status {
    match kind {
        ErrorKind::UnknownFormat => MM_ERROR_UNKNOWN_FORMAT,
        ErrorKind::Truncated => MM_ERROR_TRUNCATED,
        ErrorKind::Malformed => MM_ERROR_MALFORMED,
        ErrorKind::Unsupported => MM_ERROR_UNSUPPORTED,
        ErrorKind::LimitExceeded => MM_ERROR_LIMIT_EXCEEDED,
        ErrorKind::OutOfRange => MM_ERROR_OUT_OF_RANGE,
        ErrorKind::Mismatch => MM_ERROR_MISMATCH,
        ErrorKind::Io(_) => MM_ERROR_IO,
        other => panic!("{other:?}"),
    }
}

/// Compares what a call returned with what the library did.
fn same<T>(path: &Path, status: mm_status, ours: Result<T, &Error>) -> bool {
    let Err(ours) = ours else {
        assert_eq!(status, MM_OK, "{path:?}: {}", text(last_error().text));
        return false;
    };
    let error = last_error();
    assert_eq!(
        (status, error.status),
        (status_of(&ours.kind()), status),
        "{path:?}: {ours}"
    );
    let range = error
        .has_byte_range
        .then_some(error.byte_begin..error.byte_end);
    assert_eq!(range, ours.byte_range(), "{path:?}: {ours}");
    let decoded = error
        .has_decoded_range
        .then_some(error.decoded_begin..error.decoded_end);
    assert_eq!(decoded, ours.decoded_range(), "{path:?}: {ours}");
    assert_eq!(
        text(error.text),
        format!("{ours:#}").replace('\0', "\u{fffd}")
    );
    assert_eq!(text(error.what), ours.what());
    assert_eq!(
        text(error.expected),
        ours.cause().expected().replace('\0', "\u{fffd}")
    );
    assert_eq!(
        text(error.address),
        ours.address().map(ToString::to_string).unwrap_or_default()
    );
    assert_eq!(
        text(error.path),
        ours.path()
            .map(|p| p.to_string_lossy().into_owned())
            .unwrap_or_default()
    );
    true
}

unsafe extern "C" fn nothing(_: *mut c_void, _: *const mm_array_info) -> c_int {
    0
}

/// Opens, lists, reads and checks a file through both; returns whether anything of it is refused.
fn compare(path: &Path) -> bool {
    let name = c_path(path);
    let mut file = null_mut();
    // SAFETY: places and text that are there.
    let status = unsafe { mm_open(name.as_ptr(), null(), &raw mut file) };
    let remedies = [
        "mm_options.max_block_bytes",
        "mm_options.max_total_bytes",
        "mm_options.max_depth",
    ];
    let options = Options::default().with_limits(Limits::default().with_remedies(remedies));
    let ours = Source::open(path).and_then(|source| MeshFile::from_source(source, &options));
    let mut bad = same(path, status, ours.as_ref());
    let Ok(ours) = ours else {
        assert!(file.is_null());
        return true;
    };
    let mut list = null_mut();
    // SAFETY: places that are there.
    let status = unsafe { mm_validate(file, &raw mut list) };
    let found = ours.validate();
    bad |= same(path, status, found.as_ref());
    if let Ok(found) = &found {
        bad |= found
            .iter()
            .any(|finding| finding.severity() >= meshmap::Severity::Forbidden);
    }
    mm_finding_list_free(list);
    let mut list = null_mut();
    // SAFETY: places that are there.
    let status = unsafe { mm_meshes(file, &raw mut list) };
    mm_mesh_list_free(list);
    let meshes = ours.meshes();
    bad |= same(path, status, meshes.as_ref().map(drop));
    for entry in meshes.into_iter().flatten() {
        let (address, mut mesh) = (CString::new(entry.address.to_string()).unwrap(), null_mut());
        // SAFETY: places and text that are there.
        let status = unsafe { mm_mesh_at(file, address.as_ptr(), &raw mut mesh) };
        let view = ours.mesh(&entry.address);
        bad |= same(path, status, view.as_ref());
        let Ok(view) = view else { continue };
        for (index, info) in view.attributes().iter().enumerate() {
            let mut shown = sized::<mm_array_info>();
            // SAFETY: places that are there.
            let status = unsafe { mm_mesh_attribute_view(mesh, index, &raw mut shown) };
            let attribute = view.attribute(&info.semantic);
            bad |= same(path, status, attribute.as_ref());
        }
        mm_mesh_free(mesh);
    }
    // SAFETY: a callback as the header wants it.
    bad |= unsafe { mm_arrays(file, Some(nothing), null_mut()) } != MM_OK;
    mm_close(file);
    bad
}

test_files!(bad_files_give_the_kind_and_the_bytes_of_the_library);

fn bad_files_give_the_kind_and_the_bytes_of_the_library(root: &Path) {
    let mut count = 0;
    for format in Format::ALL {
        let folder = root.join(format.name()).join("bad");
        let cases = std::fs::read_to_string(folder.join("CASES.json")).unwrap();
        let cases: serde_json::Value = serde_json::from_str(&cases).unwrap();
        for path in data::files(&folder) {
            let bad = compare(&path);
            let name = path.file_name().unwrap().to_str().unwrap();
            if cases[name]["want"] == "error" {
                assert!(bad, "{path:?} is not refused");
            }
            count += 1;
        }
    }
    assert!(count > 100, "{count} bad files");
}

#[test]
fn missing_file_gives_the_kind_of_the_library() {
    assert!(compare(Path::new("no/such/file.iqm")));
}
