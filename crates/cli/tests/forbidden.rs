//! The files that `verify --fail-on forbidden` fails: files that break the text of their format, as their notes say, and no others.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use meshmap::Format;
use meshmap_testing::{data, test_files};
use serde_json::Value;

use child::Run as _;

mod child;

/// Good files that break their format's text: the format, the rules, why, and the files.
type Case = (
    &'static str,
    &'static [&'static str],
    &'static str,
    &'static [&'static str],
);

const FORBIDDEN: &[Case] = &[
    (
        "cgeo",
        &["property"],
        "no names and no Scale",
        &["header_few_a.cgeo", "header_few_c.cgeo"],
    ),
    (
        "iqm",
        &["adjacency"],
        "an adjacency entry equal to num_triangles",
        &["odd_adjacency_oob.iqm"],
    ),
    (
        "iqm",
        &["array_order"],
        "arrays not in the order of their types",
        &["ours_weights_a.iqm", "va_out_of_order.iqm"],
    ),
    (
        "iqm",
        &["array_order", "reserved_type"],
        "reserved types, arrays out of order",
        &["ours_types_a.iqm"],
    ),
    (
        "iqm",
        &["empty_with_offset"],
        "0 frames and anims, whose offsets are not 0",
        &["odd_poses_ne_joints.iqm"],
    ),
    (
        "iqm",
        &["extension_count"],
        "num_extensions larger than the chain",
        &["odd_ext_count_more.iqm"],
    ),
    (
        "iqm",
        &["reserved_type"],
        "the reserved array type 9",
        &["reserved_and_custom0.iqm"],
    ),
    (
        "openctm",
        &["outside_grid"],
        "grid indices beyond the grid",
        &[
            "hand_mg2_grid_outside_a.ctm",
            "hand_mg2_grid_sentinel_a.ctm",
            "hand_mg2_grid_wrap_a.ctm",
        ],
    ),
    (
        "openctm",
        &["repeated_name"],
        "two maps of one name",
        &["samename_MG1.ctm", "samename_RAW.ctm"],
    ),
    (
        "openctm",
        &["stream_tail"],
        "an end marker or more bytes after what an array needs",
        &[
            "hand_mg1_eos_a.ctm",
            "hand_mg1_more_than_needed_a.ctm",
            "hand_mg1_trailing_in_packed_b.ctm",
            "hand_mg2_eos_b.ctm",
        ],
    ),
    (
        "openctm",
        &["text_not_utf8"],
        "a comment that is not UTF-8",
        &[
            "badutf8comment_MG2.ctm",
            "badutf8commentb_MG1.ctm",
            "badutf8commentb_RAW.ctm",
            "hand_comment_bad_utf8_a.ctm",
        ],
    ),
    (
        "slmesh",
        &["bounding_verts_missing"],
        "no BoundingVerts",
        &["odd_p03_no_bounding.slmesh"],
    ),
    (
        "slmesh",
        &["domain_outside"],
        "domains beyond 0.501",
        &[
            "odd_f13_domain_integers.slmesh",
            "odd_f15_domain_out_of_spec.slmesh",
        ],
    ),
    (
        "slmesh",
        &["high_lod_missing"],
        "high_lod of size 0",
        &["odd_h12_size_zero.slmesh"],
    ),
    (
        "slmesh",
        &["high_lod_missing", "lod_gap"],
        "the lowest level alone",
        &["odd_h31_lowest_only.slmesh"],
    ),
    (
        "slmesh",
        &["lod_gap"],
        "levels left out between others",
        &["nodemv_07_physics_mesh_default_domain.slmesh"],
    ),
    (
        "slmesh",
        &["no_geometry"],
        "NoGeometry that is false",
        &["odd_f21_nogeometry_false.slmesh"],
    ),
    (
        "slmesh",
        &["unreferenced"],
        "a vertex that no triangle uses",
        &["odd_f07_unreferenced_vertex.slmesh"],
    ),
    (
        "slmesh",
        &["weights_missing"],
        "a skin and no weights",
        &["odd_w12_skin_no_weights.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "unreferenced"],
        "a triangle with a repeated index",
        &["odd_f06_degenerate.slmesh"],
    ),
    // Indices of these are random numbers: some triangles have a vertex twice, some vertices have no triangle.
    (
        "slmesh",
        &["degenerate"],
        "random indices",
        &["ours_big_header_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "unreferenced"],
        "random indices",
        &[
            "ours_many_indices_a.slmesh",
            "ours_physics_shape_a.slmesh",
            "ours_skin_a.slmesh",
            "ours_weights_a.slmesh",
        ],
    ),
    (
        "slmesh",
        &["degenerate", "domain_outside", "unreferenced"],
        "domains beyond 0.501",
        &["ours_domains_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "face_count"],
        "absent levels, other faces",
        &["ours_header_numbers_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "face_count", "lod_gap", "unreferenced"],
        "other numbers of faces in levels, one left out",
        &["ours_many_faces_a.slmesh"],
    ),
    (
        "slmesh",
        &[
            "degenerate",
            "face_count",
            "lod_gap",
            "unreferenced",
            "weights_missing",
        ],
        "levels of random faces",
        &["ours_header_lines_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "face_count", "unreferenced"],
        "levels that share a block",
        &["ours_shared_bytes_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "high_lod_missing", "lod_gap", "unreferenced"],
        "the lowest level alone",
        &["ours_minimal_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "hulls_and_mesh"],
        "hulls beside physics_mesh",
        &["ours_hulls_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "hulls_and_mesh", "unreferenced"],
        "all blocks, hulls beside physics_mesh among them",
        &["ours_all_blocks_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "no_geometry"],
        "NoGeometry false and with other fields",
        &["ours_nogeometry_a.slmesh"],
    ),
    (
        "slmesh",
        &["degenerate", "unreferenced", "weights_missing"],
        "a skin, and faces without weights",
        &[
            "ours_gzip_a.slmesh",
            "ours_llsd_types_a.slmesh",
            "ours_quoted_a.slmesh",
        ],
    ),
    (
        "slmesh",
        &["degenerate", "weights_missing"],
        "a skin, and faces without weights",
        &["ours_twice_a.slmesh"],
    ),
    (
        "tmf",
        &["name_not_utf8"],
        "a custom name that is not UTF-8",
        &["hand_v2_custom_name_not_utf8_b.tmf"],
    ),
];

/// The forbidden findings of each file of a folder that fails.
fn failing(folder: &Path) -> BTreeMap<String, BTreeSet<String>> {
    let output = child::meshmap()
        .args(["verify", "--json", "--fail-on", "forbidden"])
        .arg(folder)
        .run();
    let objects = std::str::from_utf8(&output.stdout).unwrap().lines();
    let objects = objects.map(|line| serde_json::from_str::<Value>(line).unwrap());
    let rules = objects.map(|object| {
        let name = Path::new(object["path"].as_str().unwrap())
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let findings = object["findings"].as_array().unwrap().iter();
        let worst = findings
            .filter(|one| matches!(one["severity"].as_str(), Some("forbidden" | "unusable")));
        (
            name,
            worst
                .map(|one| one["rule"].as_str().unwrap().to_owned())
                .collect::<BTreeSet<_>>(),
        )
    });
    let failing: BTreeMap<_, _> = rules.filter(|(_, rules)| !rules.is_empty()).collect();
    assert_eq!(
        output.status.code(),
        Some(i32::from(!failing.is_empty())),
        "{}",
        folder.display()
    );
    failing
}

test_files!(good_files_fail_where_they_break_the_text_and_nowhere_else);

fn good_files_fail_where_they_break_the_text_and_nowhere_else(root: &Path) {
    for format in Format::ALL.map(Format::name) {
        let folder = root.join(format).join("valid");
        let names: BTreeSet<String> = data::files(&folder)
            .iter()
            .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
            .collect();
        let cases = FORBIDDEN.iter().filter(|(of, ..)| *of == format);
        let expected: BTreeMap<String, BTreeSet<String>> = cases
            .flat_map(|(_, rules, _, files)| files.iter().map(move |file| (file, rules)))
            .filter(|(file, _)| names.contains(**file))
            .map(|(file, rules)| {
                (
                    (*file).to_owned(),
                    rules.iter().map(|rule| (*rule).to_owned()).collect(),
                )
            })
            .collect();
        assert_eq!(failing(&folder), expected, "{}", folder.display());
    }
}
