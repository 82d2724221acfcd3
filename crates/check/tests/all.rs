//! Every file of every format, written with many options, compares equal to itself.

use std::num::NonZero;
use std::path::Path;

use meshmap::{Axis, Format, MeshFile};
use meshmap_check::check_file;
use meshmap_export::{Convert, Error, Lods, Target, Turn};
use meshmap_testing::{data, test_files};

/// Conversions to a target, each with a few options.
fn conversions(target: Target, file: &MeshFile) -> Vec<Convert> {
    let usual = || Convert::new(target);
    let is_gltf = matches!(target, Target::Glb | Target::Gltf);
    let is_usd = matches!(target, Target::Usdc | Target::Usdz);
    let has_units = is_gltf || is_usd;
    let has_materials = !matches!(target, Target::Ply | Target::Stl);
    let mut all = vec![
        usual(),
        Convert {
            zero_non_finite: true,
            drop_degenerate: true,
            flip: true,
            turn: Turn::ThreeQuarters,
            up: Some(Axis::NegZ),
            lod: Lods::All,
            ..usual()
        },
        Convert {
            zero_non_finite: true,
            turn: Turn::Quarter,
            merge_materials: has_materials,
            ..usual()
        },
    ];
    if target == Target::Usdz {
        // The stage in the package is the one of `usdc`, which has the other options.
        all.truncate(2);
        return all;
    }
    if has_units {
        all.push(Convert {
            zero_non_finite: true,
            keep_materials: true,
            keep_degenerate: is_usd,
            quantized: is_gltf,
            nest: true,
            morph_normals: is_gltf,
            dense: is_gltf,
            fps: Some(12.0),
            unit_millimeters: Some(25.4),
            every: NonZero::new(2),
            ..usual()
        });
    }
    if let Some(proxy) = file.as_cgeo().filter(|_| target != Target::Pc2) {
        let mut meshes = Vec::new();
        for number in [proxy.snapshot_count() / 2, 0] {
            meshes.push(format!("snapshots[{number}]").parse().unwrap());
        }
        all.push(Convert { meshes, ..usual() });
    }
    if has_hulls(file) && target != Target::Pc2 {
        let addresses = ["physics_convex", "physics_convex.bounding_verts"];
        let meshes = addresses.map(|address| address.parse().unwrap()).to_vec();
        all.push(Convert {
            meshes,
            quantized: is_gltf,
            ..usual()
        });
    }
    if file
        .as_iqm()
        .is_some_and(|model| !model.frames().is_empty())
    {
        all.push(Convert {
            frame: Some(0),
            ..usual()
        });
    }
    all
}

/// `true` for a Second Life mesh with a hull around everything.
fn has_hulls(file: &MeshFile) -> bool {
    let Some(asset) = file.as_slmesh() else {
        return false;
    };
    match asset.physics_convex() {
        Ok(Some(convex)) => convex.raw_bounding_verts().is_some(),
        _ => false,
    }
}

test_files!(written_files_compare_equal);

fn written_files_compare_equal(root: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let mut checked = 0;
    let mut wrong = Vec::new();
    for format in Format::ALL {
        for path in data::files(&root.join(format.name()).join("valid")) {
            let file = MeshFile::open(&path).unwrap();
            for target in Target::ALL {
                for convert in conversions(target, &file) {
                    let name = format!("{} as {convert:?}", path.display());
                    let out = folder.path().join("out").with_extension(target.name());
                    match convert.write_file(&file, &out) {
                        Ok(_) => {}
                        Err(
                            Error::NotHeld { .. }
                            | Error::NonFinite { .. }
                            | Error::NothingToConvert { .. }
                            | Error::LimitExceeded { .. },
                        ) => continue,
                        Err(error) => panic!("{name}: {error}"),
                    }
                    let found = check_file(&convert, &file, &out);
                    let found = found.unwrap_or_else(|error| panic!("{name}: {error}"));
                    if !found.differs.is_empty() || found.lines.is_empty() {
                        wrong.push(format!("{name}: {:?}", found.differs));
                    }
                    checked += 1;
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 1000, "{checked} files");
}
