//! The ledger: what a file has is in each output, or in its report.
//!
//! For every kind of fact there are three files: with it, without it, and with other values of it. A target that drops the kind says so, and
//! only if the file has it. A target that keeps it writes other bytes for each of the three. Otherwise it reports what it has changed.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use meshmap::MeshFile;
use meshmap_export::{Convert, Error, FactKind, Lods, Report, Target};
use meshmap_testing::fixtures::slmesh::Llsd;
use meshmap_testing::fixtures::{cgeo, iqm, openctm, slmesh, tmf};
use meshmap_testing::open;

/// Files that differ in one kind of fact.
struct Sample {
    kind: FactKind,
    with: Vec<u8>,
    without: Vec<u8>,
    /// With other values.
    other: Vec<u8>,
    /// The options.
    convert: Convert,
}

/// Kinds of which no format has files with and without: integers are how assets store positions, and no format has a second set of joints.
const NOWHERE: [FactKind; 2] = [FactKind::Integers, FactKind::FurtherInfluences];

/// The result of a conversion: the bytes of all files, and the report.
type Written = (Vec<Vec<u8>>, Report);

fn write(file: &MeshFile, convert: &Convert, target: Target, root: &Path) -> Option<Written> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out").with_extension(target.name());
    let convert = Convert {
        target,
        name: "name".to_owned(),
        folder: Some(root.to_owned()),
        embed_textures: matches!(target, Target::Glb | Target::Gltf),
        ..convert.clone()
    };
    match convert.write_file(file, path) {
        Ok(outcome) => {
            let paths = outcome.paths();
            let files = paths.iter().map(|path| fs::read(path).unwrap());
            Some((files.collect(), outcome.report))
        }
        Err(Error::NotHeld { .. } | Error::NothingToConvert { .. }) => None,
        Err(error) => panic!("{target}: {error}"),
    }
}

fn sample(kind: FactKind, [with, without, other]: [Vec<u8>; 3]) -> Sample {
    let convert = Convert::default();
    Sample {
        kind,
        with,
        without,
        other,
        convert,
    }
}

/// A file in which a text is replaced by others of its length.
fn replaced(file: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = file
        .windows(from.len())
        .position(|part| part == from.as_bytes())
        .unwrap();
    let mut file = file.to_vec();
    file[at..][..to.len()].copy_from_slice(to.as_bytes());
    file
}

fn cgeo_samples() -> Vec<Sample> {
    let dialect = cgeo::dialects()[0];
    let one = |mesh: &cgeo::Mesh| cgeo::file(&[cgeo::snapshot(mesh, mesh.complete())], dialect);
    let sheet = |channels| cgeo::Mesh::sheet(4, channels, 0.0);
    let changed = |change: fn(&mut cgeo::Mesh)| {
        let mut mesh = sheet(2);
        change(&mut mesh);
        one(&mesh)
    };
    let whole = one(&sheet(2));
    let moving = |count: usize, last: f32| {
        let base = sheet(1);
        let mut snapshots = vec![cgeo::snapshot(&base, base.complete())];
        for _ in 1..count {
            let mesh = cgeo::Mesh::sheet(4, 1, last);
            snapshots.push(cgeo::snapshot(&mesh, mesh.difference(&base)));
        }
        cgeo::file(&snapshots, dialect)
    };
    let sampled = |samples: usize| {
        let mesh = sheet(1);
        let mut snapshot = cgeo::snapshot(&mesh, mesh.complete());
        let own = snapshot.last().unwrap().clone();
        snapshot.extend(vec![own; samples]);
        cgeo::file(&[snapshot], dialect)
    };
    let header = |from: &str, to: [&str; 2]| {
        let [without, other] = to.map(|to| replaced(&whole, from, to));
        [whole.clone(), without, other]
    };
    let mut samples = vec![
        sample(
            FactKind::Names,
            header("name: Sheet", ["name:      ", "name: Cloth"]),
        ),
        sample(
            FactKind::Unit,
            header("\nScale: 1", ["\nScalx: 1", "\nScale: 2"]),
        ),
        sample(
            FactKind::Metadata,
            header("name: [none]", ["name:       ", "name: [some]"]).map(|file| {
                let is_usual = file == whole;
                if is_usual {
                    replaced(&file, "[none]", "[what]")
                } else {
                    file
                }
            }),
        ),
        sample(
            FactKind::StartTime,
            [
                replaced(&whole, "start: 0", "start: 5"),
                whole.clone(),
                replaced(&whole, "start: 0", "start: 9"),
            ],
        ),
        sample(
            FactKind::Normals,
            [
                whole.clone(),
                changed(|mesh| mesh.normals.clear()),
                changed(|mesh| mesh.normals[5] = [0.0, 1.0, 0.0]),
            ],
        ),
        sample(
            FactKind::TexCoords,
            [
                one(&sheet(1)),
                one(&sheet(0)),
                one(&{
                    let mut mesh = sheet(1);
                    mesh.texcoords[0][6] = [0.25, 0.75, 0.0];
                    mesh
                }),
            ],
        ),
        sample(
            FactKind::FurtherTexCoords,
            [
                whole.clone(),
                one(&sheet(1)),
                changed(|mesh| mesh.texcoords[1][6] = [0.25, 0.75, 0.0]),
            ],
        ),
        sample(
            FactKind::ThirdTexCoords,
            [
                changed(|mesh| mesh.texcoords[0][6][2] = 0.5),
                whole.clone(),
                changed(|mesh| {
                    mesh.texcoords[0]
                        .iter_mut()
                        .for_each(|place| place[2] = 0.5)
                }),
            ],
        ),
        sample(
            FactKind::MaterialIds,
            [
                changed(|mesh| mesh.missing = 1),
                changed(|mesh| mesh.missing = 3),
                changed(|mesh| (mesh.missing, mesh.materials) = (1, vec![4, 5, 6, 7, 8])),
            ],
        ),
        sample(
            FactKind::EdgeVisibility,
            [
                whole.clone(),
                changed(|mesh| mesh.missing = 1),
                whole.clone(),
            ],
        ),
        sample(FactKind::Samples, [sampled(2), sampled(0), sampled(3)]),
        sample(
            FactKind::Snapshots,
            [moving(2, 0.3), moving(1, 0.3), moving(2, 0.6)],
        ),
    ];
    let first = Convert {
        snapshots: Some((0..=0).into()),
        ..Convert::default()
    };
    samples.push(Sample {
        convert: first,
        ..sample(
            FactKind::OtherSnapshots,
            [moving(3, 0.3), moving(1, 0.3), moving(4, 0.3)],
        )
    });
    samples
}

const NORMAL: u32 = 2;
const TANGENT: u32 = 3;
const TEXCOORD: u32 = 1;
const WEIGHTS: [u32; 2] = [4, 5];
const COLOR: u32 = 6;
const UBYTE: u32 = 1;
const FLOAT: u32 = 7;

fn floats(count: usize, number: f32) -> Vec<u8> {
    (0..count)
        .flat_map(|at| (number + at as f32 / 64.0).to_le_bytes())
        .collect()
}

fn iqm_samples() -> Vec<Sample> {
    const VERTICES: usize = 9;
    let sheet = || iqm::Writer::sheets(1, 3, 3);
    let moving = || sheet().animated(2, 3);
    let array = |kind: u32, with: [iqm::Writer; 2]| {
        let [with, other] = with.map(|writer| writer.to_bytes());
        [with, sheet().without_array(kind).to_bytes(), other]
    };
    let of = |kind: u32, components: u32, number: f32| {
        let data = floats(VERTICES * components as usize, number);
        sheet()
            .without_array(kind)
            .with_array(kind, FLOAT, components, data)
    };
    let colors = |components: u32, byte: u8| {
        let data = vec![byte; VERTICES * components as usize];
        sheet()
            .with_array(COLOR, UBYTE, components, data)
            .to_bytes()
    };
    let weights = |share: u8| {
        let [joints, weights] = WEIGHTS;
        let shares = [[share, 255 - share, 0, 0]; VERTICES].concat();
        moving()
            .without_array(joints)
            .without_array(weights)
            .with_array(joints, UBYTE, 4, [[0, 1, 0, 0]; VERTICES].concat())
            .with_array(weights, UBYTE, 4, shares)
            .to_bytes()
    };
    let plain = sheet().to_bytes();
    let event = |code: u32| {
        let words = [0, 1.0_f32.to_bits(), code, 0];
        let data = words.map(u32::to_le_bytes).as_flattened().to_vec();
        moving().with_extension("FTE_EVENT", data).to_bytes()
    };
    let named = |mesh: &str, material: &str| sheet().with_names(mesh, material).to_bytes();
    let mut samples = vec![
        sample(
            FactKind::Normals,
            array(NORMAL, [sheet(), of(NORMAL, 3, 0.5)]),
        ),
        sample(
            FactKind::Tangents,
            array(
                TANGENT,
                [sheet(), {
                    let tangent = [0.0, 1.0, 0.0, 1.0_f32].map(f32::to_le_bytes);
                    let data = [tangent; VERTICES].as_flattened().as_flattened().to_vec();
                    sheet()
                        .without_array(TANGENT)
                        .with_array(TANGENT, FLOAT, 4, data)
                }],
            ),
        ),
        sample(
            FactKind::TexCoords,
            array(TEXCOORD, [sheet(), of(TEXCOORD, 2, 0.5)]),
        ),
        sample(
            FactKind::ThirdTexCoords,
            [
                of(TEXCOORD, 3, 0.25).to_bytes(),
                plain.clone(),
                of(TEXCOORD, 3, 0.5).to_bytes(),
            ],
        ),
        sample(
            FactKind::Colors,
            [colors(3, 7), plain.clone(), colors(3, 200)],
        ),
        sample(
            FactKind::Opacity,
            [colors(4, 7), colors(3, 7), {
                let data = [[7, 7, 7, 99]; VERTICES].concat();
                sheet().with_array(COLOR, UBYTE, 4, data).to_bytes()
            }],
        ),
        sample(
            FactKind::CustomAttributes,
            [1.0, 2.0]
                .map(|number| {
                    let numbers = [number; VERTICES];
                    sheet().with_custom("heat", &numbers).to_bytes()
                })
                .into_iter()
                .collect::<Vec<_>>()
                .try_into()
                .map(|[with, other]: [Vec<u8>; 2]| [with, plain.clone(), other])
                .unwrap(),
        ),
        sample(
            FactKind::Influences,
            [
                weights(255),
                moving()
                    .without_array(WEIGHTS[0])
                    .without_array(WEIGHTS[1])
                    .to_bytes(),
                weights(51),
            ],
        ),
        sample(
            FactKind::Names,
            [named("a", "m"), named("", "m"), named("b", "m")],
        ),
        sample(
            FactKind::Materials,
            [named("a", "red"), named("a", ""), named("a", "blue")],
        ),
        sample(
            FactKind::Images,
            [
                named("a", "first.png"),
                named("a", "none"),
                named("a", "other.png"),
            ],
        ),
        sample(
            FactKind::Joints,
            [
                moving().with_anims(0, false).to_bytes(),
                moving().without_joints().to_bytes(),
                sheet().animated(3, 3).with_anims(0, false).to_bytes(),
            ],
        ),
        sample(
            FactKind::Clips,
            [
                moving().to_bytes(),
                moving().with_anims(0, false).to_bytes(),
                sheet().animated(2, 4).to_bytes(),
            ],
        ),
        sample(
            FactKind::LoopFlags,
            [
                moving().with_anims(1, true).to_bytes(),
                moving().to_bytes(),
                moving().with_anims(1, true).to_bytes(),
            ],
        ),
        sample(FactKind::Events, [event(1), moving().to_bytes(), event(2)]),
        sample(
            FactKind::FrameBounds,
            [
                moving().with_bounds([0.5; 8]).to_bytes(),
                moving().to_bytes(),
                moving().with_bounds([0.75; 8]).to_bytes(),
            ],
        ),
        sample(
            FactKind::Comments,
            [
                sheet().with_comment("one").to_bytes(),
                plain.clone(),
                sheet().with_comment("two").to_bytes(),
            ],
        ),
        sample(
            FactKind::Extensions,
            [
                sheet().with_extension("own", vec![1]).to_bytes(),
                plain.clone(),
                sheet().with_extension("own", vec![2]).to_bytes(),
            ],
        ),
        sample(
            FactKind::Shapes,
            [2, 1, 3].map(|sheets| iqm::Writer::sheets(sheets, 3, 3).to_bytes()),
        ),
    ];
    let one = Convert {
        anim: Some("frozen".to_owned()),
        ..Convert::default()
    };
    let anims = |others: u32| {
        let writer = sheet().animated(2, 3);
        let writer = (0..others).fold(writer, |writer, _| writer.with_anim("other"));
        writer.with_anim("frozen").to_bytes()
    };
    samples.push(Sample {
        convert: one,
        ..sample(FactKind::OtherClips, [anims(1), only_frozen(), anims(2)])
    });
    samples
}

/// A file with one animation.
fn only_frozen() -> Vec<u8> {
    iqm::Writer::sheets(1, 3, 3).frozen(2, 1, 3).to_bytes()
}

fn openctm_samples() -> Vec<Sample> {
    let sheet = || openctm::Body::sheet(openctm::RAW, 3);
    let changed = |change: fn(&mut openctm::Body)| {
        let mut body = sheet();
        change(&mut body);
        body.to_bytes()
    };
    let whole = || sheet().to_bytes();
    vec![
        sample(
            FactKind::Normals,
            [
                whole(),
                changed(|body| body.flags = 0),
                changed(|body| body.normals[4] = [3, 1, 2]),
            ],
        ),
        sample(
            FactKind::TexCoords,
            [
                whole(),
                changed(|body| body.uv_maps.clear()),
                changed(|body| body.uv_maps[0].2[4] = [0.125, 0.5]),
            ],
        ),
        sample(
            FactKind::FurtherTexCoords,
            [
                whole(),
                changed(|body| body.uv_maps.truncate(1)),
                changed(|body| body.uv_maps[1].2[4] = [0.125, 0.5]),
            ],
        ),
        sample(
            FactKind::TexCoordNames,
            [
                whole(),
                changed(|body| body.uv_maps.iter_mut().for_each(|map| map.0 = "")),
                changed(|body| body.uv_maps[0].0 = "other"),
            ],
        ),
        sample(
            FactKind::Images,
            [
                changed(|body| body.uv_maps[0].1 = "first.png"),
                changed(|body| body.uv_maps[0].1 = ""),
                changed(|body| body.uv_maps[0].1 = "other.png"),
            ],
        ),
        sample(
            FactKind::FurtherImages,
            [
                changed(|body| body.uv_maps[1].1 = "first.png"),
                whole(),
                changed(|body| body.uv_maps[1].1 = "other.png"),
            ],
        ),
        sample(
            FactKind::CustomAttributes,
            [
                whole(),
                changed(|body| body.attribute_maps.truncate(1)),
                changed(|body| body.attribute_maps[1].1[4] = [9.0; 4]),
            ],
        ),
        sample(
            FactKind::Colors,
            [
                changed(|body| body.attribute_maps[0].1.fill([0.5, 0.25, 0.0, 1.0])),
                changed(|body| drop(body.attribute_maps.remove(0))),
                changed(|body| body.attribute_maps[0].1.fill([0.75, 0.25, 0.0, 1.0])),
            ],
        ),
        sample(
            FactKind::Comments,
            [
                whole(),
                changed(|body| body.comment.clear()),
                changed(|body| body.comment = b"another".to_vec()),
            ],
        ),
    ]
}

fn tmf_samples() -> Vec<Sample> {
    const VERTICES: usize = 4;
    let mesh = |name: &str| {
        tmf::Writer::b()
            .mesh(name)
            .vertices(
                [0., 1., 0., 1., 0., 1.],
                [3, 3, 3],
                &[[0, 0, 0], [7, 0, 0], [0, 7, 0], [7, 7, 7]],
            )
            .shared(7, 2, 0, &[0, 1, 2, 2, 1, 3])
    };
    let plain = || mesh("a").to_bytes();
    let normals = |first: u64| {
        let normals = [(0, first, 3), (0, 1, 4), (0, 2, 5), (0, 3, 6)];
        mesh("a").directions(3, 3, &normals)
    };
    let tangents = |first: u64| {
        let tangents = [(0, first, 3), (0, 1, 4), (0, 2, 5), (0, 3, 6)];
        normals(1)
            .directions(9, 3, &tangents)
            .indices(10, 2, 0, &[0, 1, 2, 2, 1, 3])
    };
    let uvs = |first: u64| mesh("a").uvs(3, &[[first, 1], [2, 3], [4, 5], [6, 7]]);
    let colors = |sets: usize, level: u64| {
        let writer = (0..sets).fold(mesh("a"), |writer, set| {
            writer.colors(&format!("paint{set}"), 3, &[[level, 1, 2, 7]; VERTICES])
        });
        writer.to_bytes()
    };
    let custom = |numbers: &[u64]| mesh("a").custom(24, "ids", 4, 0, numbers).to_bytes();
    vec![
        sample(
            FactKind::Names,
            ["a", "", "b"].map(|name| mesh(name).to_bytes()),
        ),
        sample(
            FactKind::Normals,
            [normals(0).to_bytes(), plain(), normals(6).to_bytes()],
        ),
        sample(
            FactKind::Tangents,
            [
                tangents(0).to_bytes(),
                normals(1).to_bytes(),
                tangents(6).to_bytes(),
            ],
        ),
        sample(
            FactKind::TexCoords,
            [uvs(0).to_bytes(), plain(), uvs(7).to_bytes()],
        ),
        sample(FactKind::Colors, [colors(1, 1), plain(), colors(1, 6)]),
        sample(
            FactKind::FurtherColors,
            [colors(2, 1), colors(1, 1), {
                let writer = mesh("a").colors("paint0", 3, &[[1, 1, 2, 7]; VERTICES]);
                writer
                    .colors("paint1", 3, &[[5, 1, 2, 7]; VERTICES])
                    .to_bytes()
            }],
        ),
        sample(
            FactKind::CustomAttributes,
            [custom(&[1, 2, 3, 4]), plain(), custom(&[1, 2, 3, 5])],
        ),
        sample(
            FactKind::CustomData,
            [custom(&[1, 2]), plain(), custom(&[1, 3])],
        ),
    ]
}

/// An asset of two levels of detail, with changes of its face and its skin.
struct Asset {
    side: u16,
    joints: u8,
    /// The fields of the face that are left out.
    lacks: &'static [&'static str],
    skin: Vec<(&'static str, Llsd)>,
    blocks: Vec<(&'static str, Llsd)>,
    keys: Vec<(&'static str, Llsd)>,
    levels: Vec<&'static str>,
}

impl Asset {
    fn new() -> Self {
        Self {
            side: 4,
            joints: 0,
            lacks: &[],
            skin: Vec::new(),
            blocks: Vec::new(),
            keys: Vec::new(),
            levels: vec!["high_lod"],
        }
    }

    fn skinned(change: impl FnOnce(&mut Vec<(&'static str, Llsd)>)) -> Self {
        let Llsd::Map(mut fields) = slmesh::skin(3) else {
            panic!("a skin is a map");
        };
        fields.retain(|(name, _)| {
            ![
                "alt_inverse_bind_matrix",
                "lock_scale_if_joint_position",
                "pelvis_offset",
            ]
            .contains(name)
        });
        change(&mut fields);
        Self {
            joints: 3,
            skin: fields,
            ..Self::new()
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut writer = slmesh::Writer::default();
        for (name, value) in &self.keys {
            writer = writer.key(name, value.clone());
        }
        for (at, level) in self.levels.iter().enumerate() {
            let Llsd::Map(mut fields) = slmesh::sheet(self.side - at as u16, self.joints) else {
                panic!("a face is a map");
            };
            fields.retain(|(name, _)| !self.lacks.contains(name));
            writer = writer.block(level, &Llsd::Array(vec![Llsd::Map(fields)]));
        }
        if !self.skin.is_empty() {
            writer = writer.block("skin", &Llsd::Map(self.skin.clone()));
        }
        for (name, content) in &self.blocks {
            writer = writer.block(name, content);
        }
        writer.to_bytes()
    }
}

fn slmesh_samples() -> Vec<Sample> {
    let plain = || Asset::new().to_bytes();
    let lacking = |lacks: &'static [&'static str]| {
        Asset {
            lacks,
            ..Asset::new()
        }
        .to_bytes()
    };
    let skinned = |change: fn(&mut Vec<(&'static str, Llsd)>)| Asset::skinned(change).to_bytes();
    let matrices = |scale: f64| {
        let matrix = || Llsd::reals((0..16).map(move |at| if at % 5 == 0 { scale } else { 0.0 }));
        Llsd::Array(vec![matrix(), matrix(), matrix()])
    };
    let with_block = |name: &'static str, content: Llsd| {
        let blocks = vec![(name, content)];
        Asset {
            blocks,
            ..Asset::new()
        }
        .to_bytes()
    };
    let with_key = |value: i32| {
        let keys = vec![("submodel_id", Llsd::Integer(value))];
        Asset {
            keys,
            ..Asset::new()
        }
        .to_bytes()
    };
    let levels = |levels: &[&'static str]| {
        let levels = levels.to_vec();
        Asset {
            levels,
            ..Asset::new()
        }
        .to_bytes()
    };
    let bind = |scale: f64| {
        let numbers = (0..16).map(move |at| match at {
            15 => 1.0,
            at if at % 5 == 0 => scale,
            _ => 0.0,
        });
        Llsd::reals(numbers)
    };
    let bound = |scale: f64| {
        let shape = bind(scale);
        Asset::skinned(|skin| {
            skin.retain(|(name, _)| *name != "bind_shape_matrix");
            skin.push(("bind_shape_matrix", shape));
        })
        .to_bytes()
    };
    let with_field = |name: &'static str, value: Llsd| {
        Asset::skinned(|skin| skin.push((name, value))).to_bytes()
    };
    let usual = skinned(|_| {});
    let mut samples = vec![
        sample(
            FactKind::Normals,
            [plain(), lacking(&["Normal"]), {
                Asset {
                    side: 5,
                    ..Asset::new()
                }
                .to_bytes()
            }],
        ),
        sample(
            FactKind::TexCoords,
            [
                plain(),
                lacking(&["TexCoord0", "TexCoord0Domain"]),
                lacking(&["TexCoord0Domain"]),
            ],
        ),
        sample(
            FactKind::Influences,
            [
                usual.clone(),
                Asset {
                    lacks: &["Weights"],
                    ..Asset::skinned(|_| {})
                }
                .to_bytes(),
                Asset {
                    side: 5,
                    ..Asset::skinned(|_| {})
                }
                .to_bytes(),
            ],
        ),
        sample(
            FactKind::SkinJoints,
            [
                usual.clone(),
                Asset {
                    skin: Vec::new(),
                    ..Asset::skinned(|_| {})
                }
                .to_bytes(),
                skinned(|skin| {
                    skin.iter_mut().for_each(|(name, value)| {
                        if *name == "joint_names" {
                            let names = ["mPelvis", "mTorso", "mChest"];
                            let names = names.map(|name| Llsd::String(name.as_bytes().to_vec()));
                            *value = Llsd::Array(names.to_vec());
                        }
                    })
                }),
            ],
        ),
        sample(FactKind::BindShape, [bound(2.0), bound(1.0), bound(3.0)]),
        sample(
            FactKind::JointOffsets,
            [
                with_field("alt_inverse_bind_matrix", matrices(1.0)),
                usual.clone(),
                with_field("alt_inverse_bind_matrix", matrices(2.0)),
            ],
        ),
        sample(
            FactKind::PelvisOffset,
            [
                with_field("pelvis_offset", Llsd::Real(0.5)),
                usual.clone(),
                with_field("pelvis_offset", Llsd::Real(0.25)),
            ],
        ),
        sample(
            FactKind::LockedScales,
            [
                with_field("lock_scale_if_joint_position", Llsd::Boolean(true)),
                usual.clone(),
                with_field("lock_scale_if_joint_position", Llsd::Boolean(true)),
            ],
        ),
        sample(
            FactKind::Hulls,
            [
                with_block("physics_convex", slmesh::hulls(&[4])),
                plain(),
                with_block("physics_convex", slmesh::hulls(&[5])),
            ],
        ),
        sample(
            FactKind::PhysicsMeshes,
            [
                with_block("physics_mesh", Llsd::Array(vec![slmesh::sheet(3, 0)])),
                plain(),
                with_block("physics_mesh", Llsd::Array(vec![slmesh::sheet(4, 0)])),
            ],
        ),
        sample(
            FactKind::Extensions,
            [
                with_block("some_block", Llsd::Integer(1)),
                plain(),
                with_block("some_block", Llsd::Integer(2)),
            ],
        ),
        sample(FactKind::Metadata, [with_key(1), plain(), with_key(2)]),
        sample(
            FactKind::OtherLevels,
            [
                levels(&["high_lod", "low_lod"]),
                plain(),
                levels(&["high_lod", "medium_lod", "low_lod"]),
            ],
        ),
    ];
    let all = Convert {
        lod: Lods::All,
        ..Convert::default()
    };
    samples.push(Sample {
        convert: all,
        ..sample(
            FactKind::Levels,
            [
                levels(&["high_lod", "low_lod"]),
                plain(),
                levels(&["high_lod", "medium_lod", "low_lod"]),
            ],
        )
    });
    samples
}

fn samples() -> Vec<Sample> {
    [
        cgeo_samples(),
        iqm_samples(),
        openctm_samples(),
        tmf_samples(),
        slmesh_samples(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A folder with the images that samples name.
fn images() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, byte) in [("first.png", 1), ("other.png", 2)] {
        let bytes = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![byte; 64]].concat();
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

/// The outputs of the three files of a sample.
struct Written3 {
    name: String,
    kind: FactKind,
    with: Written,
    without: Written,
    other: Written,
}

impl Written3 {
    /// `true` if the target drops the kind, and says so.
    fn is_dropped(&self) -> bool {
        let report = &self.with.1;
        // A target without time is asked for one snapshot.
        let lacks_others =
            self.kind == FactKind::Snapshots && report.lacks(FactKind::OtherSnapshots);
        report.lacks(self.kind) || lacks_others
    }
}

/// The samples in all targets, without parts of data that is dropped as a whole: who misses the whole misses no part of it.
fn written() -> Vec<Written3> {
    let root = images();
    let mut all = Vec::new();
    for sample in samples() {
        let [with, without, other] =
            [&sample.with, &sample.without, &sample.other].map(|bytes| open::file(bytes.clone()));
        for target in Target::ALL {
            let write = |file| write(file, &sample.convert, target, root.path());
            let (Some(with), Some(without), Some(other)) =
                (write(&with), write(&without), write(&other))
            else {
                continue;
            };
            let whole = sample.kind.belongs_to();
            if whole.is_some_and(|whole| with.1.lacks(whole)) {
                continue;
            }
            all.push(Written3 {
                name: format!("{} as {target}", sample.kind.name()),
                kind: sample.kind,
                with,
                without,
                other,
            });
        }
    }
    all
}

#[test]
fn every_kind_has_samples() {
    let kinds: BTreeSet<FactKind> = samples().iter().map(|sample| sample.kind).collect();
    for kind in FactKind::ALL {
        assert_ne!(
            kinds.contains(&kind),
            NOWHERE.contains(&kind),
            "{}",
            kind.name()
        );
    }
}

#[test]
fn a_fact_that_is_removed_changes_the_report_or_the_output() {
    let mut problems = Vec::new();
    let written = written();
    assert!(written.len() > 300, "{}", written.len());
    for pair in &written {
        let is_told = if pair.is_dropped() {
            !pair.without.1.lacks(pair.kind)
        } else {
            pair.with.0 != pair.without.0 || pair.with.1.changed != pair.without.1.changed
        };
        if !is_told {
            problems.push(&pair.name);
        }
    }
    assert!(
        problems.is_empty(),
        "nothing tells whether they are there: {problems:#?}"
    );
}

#[test]
fn a_fact_that_is_kept_and_changed_changes_the_output() {
    let mut problems = Vec::new();
    let mut kept = 0;
    for pair in &written() {
        if pair.is_dropped() || pair.with.0 == pair.without.0 {
            continue;
        }
        kept += 1;
        if pair.with.0 == pair.other.0 {
            problems.push(pair.name.clone());
        }
    }
    assert!(
        problems.is_empty(),
        "nothing tells what they are: {problems:#?}"
    );
    assert!(kept > 100, "{kept}");
}
