//! One fault in each thing that a check covers: each must be found.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap::iqm::Trs;
use meshmap::{Axis, MeshFile};
use meshmap_check::check_file;
use meshmap_export::{Convert, Lods, Target, Turn};
use meshmap_testing::data;
use serde_json::{Value, json};

/// A written file, of which faulty copies are checked.
struct Written {
    file: MeshFile,
    convert: Convert,
    path: PathBuf,
    _folder: tempfile::TempDir,
}

impl Written {
    fn of(format: &str, name: &str, convert: Convert, extension: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out").with_extension(extension);
        let file = MeshFile::open(data::valid(format, name)).unwrap();
        convert.write_file(&file, &path).unwrap();
        let this = Self {
            file,
            convert,
            path,
            _folder: folder,
        };
        assert_eq!(this.differs(), [""; 0]);
        this
    }

    fn gltf(format: &str, name: &str) -> Self {
        Self::of(format, name, Convert::new(Target::Gltf), "gltf")
    }

    fn differs(&self) -> Vec<String> {
        check_file(&self.convert, &self.file, &self.path)
            .unwrap()
            .differs
    }

    /// Plants a fault in a file, and takes it out again.
    fn fault(&self, what: &str, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        let intact = fs::read(path).unwrap();
        let mut bytes = intact.clone();
        change(&mut bytes);
        assert!(bytes != intact, "{what}: no fault was planted");
        fs::write(path, bytes).unwrap();
        assert_ne!(self.differs(), [""; 0], "{what}: the fault was not found");
        fs::write(path, intact).unwrap();
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&fs::read(&self.path).unwrap()).unwrap()
    }

    fn json_fault(&self, what: &str, change: impl FnOnce(&mut Value)) {
        let mut json = self.json();
        change(&mut json);
        self.fault(what, &self.path, |bytes| {
            *bytes = serde_json::to_vec(&json).unwrap()
        });
    }

    /// A fault in the first number of an accessor.
    fn number_fault(&self, what: &str, accessor: &Value) {
        let json = self.json();
        let accessor = &json["accessors"][accessor.as_u64().unwrap() as usize];
        let view = &json["bufferViews"][accessor["bufferView"].as_u64().unwrap() as usize];
        let start = view["byteOffset"].as_u64().unwrap() as usize;
        self.fault(what, &self.path.with_extension("bin"), |bytes| {
            if accessor["componentType"] == 5126 {
                let number = bytes[start..].first_chunk_mut::<4>().unwrap();
                *number = (f32::from_le_bytes(*number) + 0.25).to_le_bytes();
            } else {
                bytes[start] ^= 0x40;
            }
        });
    }

    fn byte_fault(&self, what: &str, from: &[u8], to: &[u8]) {
        self.fault(what, &self.path, |bytes| {
            let at = bytes.windows(from.len()).position(|window| window == from);
            let at = at.unwrap_or_else(|| panic!("{what}: {from:?} is not in the file"));
            bytes.splice(at..at + from.len(), to.iter().copied());
        });
    }
}

#[test]
fn faults_of_skins_and_animations_are_found() {
    let written = Written::gltf("iqm", "skin_multi_anim.iqm");
    let json = written.json();
    let attributes = &json["meshes"][0]["primitives"][0]["attributes"];
    written.number_fault("joints", &attributes["JOINTS_0"]);
    written.number_fault("weights", &attributes["WEIGHTS_0"]);
    written.json_fault("no weights", |json| {
        let attributes = json["meshes"][0]["primitives"][0]["attributes"]
            .as_object_mut()
            .unwrap();
        attributes.remove("WEIGHTS_0");
    });
    written.number_fault(
        "inverse bind matrices",
        &json["skins"][0]["inverseBindMatrices"],
    );
    written.json_fault("the order of joints", |json| {
        let joints = json["skins"][0]["joints"].as_array_mut().unwrap();
        joints.swap(0, 1);
    });
    written.json_fault("the name of a joint", |json| {
        json["nodes"][0]["name"] = json!("other")
    });
    written.json_fault("the place of a joint", |json| {
        json["nodes"][0]["translation"] = json!([0.0, 9.0, 0.0])
    });
    written.json_fault("the parent of a joint", |json| {
        let parent = json["nodes"]
            .as_array()
            .unwrap()
            .iter()
            .position(|node| node["children"].is_array());
        json["nodes"][parent.unwrap()]
            .as_object_mut()
            .unwrap()
            .remove("children");
    });
    written.json_fault("no skin", |json| {
        for node in json["nodes"].as_array_mut().unwrap() {
            node.as_object_mut().unwrap().remove("skin");
        }
    });
    let animation = &json["animations"][0];
    written.number_fault("a channel", &animation["samplers"][0]["output"]);
    written.number_fault("the times of channels", &animation["samplers"][0]["input"]);
    written.json_fault("the node of a channel", |json| {
        let node = json["animations"][0]["channels"][0]["target"]["node"]
            .as_u64()
            .unwrap();
        json["animations"][0]["channels"][0]["target"]["node"] = json!(node + 1);
    });
    written.json_fault("the name of an animation", |json| {
        json["animations"][0]["name"] = json!("other")
    });
    written.json_fault("a channel that another animation has", |json| {
        let moving = json["animations"][1]["channels"].as_array_mut().unwrap();
        moving.pop();
    });
    written.json_fault("an animation that is missing", |json| {
        json["animations"].as_array_mut().unwrap().pop();
    });
    written.json_fault("a material", |json| {
        json["materials"][0]["name"] = json!("other")
    });
}

#[test]
fn faults_of_the_joint_that_rests_are_found() {
    let written = Written::gltf("iqm", "../regressions/vertices_without_weights.iqm");
    let json = written.json();
    let rest = json["skins"][0]["joints"][1].as_u64().unwrap() as usize;
    assert_eq!(json["nodes"][rest]["name"], "meshmap_rest");
    written.json_fault("its place", |json| {
        json["nodes"][rest]["translation"] = json!([0.0, 9.0, 0.0])
    });
    written.json_fault("its name", |json| {
        json["nodes"][rest]["name"] = json!("other")
    });
    let still = Written::gltf("iqm", "../regressions/clips_in_which_nothing_moves.iqm");
    still.json_fault("an animation in which nothing moves", |json| {
        json["animations"].as_array_mut().unwrap().remove(0);
    });
}

#[test]
fn faults_of_colours_are_found() {
    let written = Written::gltf("iqm", "exm_comment.iqm");
    let colors = written.json()["meshes"][0]["primitives"][0]["attributes"]["COLOR_0"].clone();
    written.number_fault("colours in glTF", &colors);

    let written = Written::of("iqm", "exm_comment.iqm", Convert::new(Target::Usdc), "usdc");
    written.byte_fault(
        "no colours in USD",
        b"primvars:displayColor",
        b"primvars:displayColoq",
    );
    let view = written
        .file
        .mesh(&written.file.meshes().unwrap().next().unwrap().address)
        .unwrap();
    let mut colors = view
        .attribute(&meshmap::Semantic::Color(0))
        .unwrap()
        .unwrap()
        .to_f32::<4>();
    assert!(meshmap::colors_to_linear(&mut colors));
    let stored: Vec<u8> = colors
        .iter()
        .flat_map(|color| &color[..3])
        .flat_map(|number| number.to_le_bytes())
        .collect();
    let mut other = stored.clone();
    other[..4].copy_from_slice(&(colors[0][0] - 0.25).to_le_bytes());
    written.byte_fault("colours in USD", &stored, &other);

    let written = Written::of("iqm", "exm_comment.iqm", Convert::new(Target::Obj), "obj");
    written.fault("colours in OBJ", &written.path, |bytes| {
        let line = bytes
            .windows(3)
            .position(|window| window == b"\nv ")
            .unwrap()
            + 1;
        let end = line
            + bytes[line..]
                .iter()
                .position(|byte| *byte == b'\n')
                .unwrap();
        bytes[end - 1] ^= 1;
    });

    let written = Written::of("iqm", "exm_comment.iqm", Convert::new(Target::Ply), "ply");
    written.fault("colours in PLY", &written.path, |bytes| {
        let end = bytes
            .windows(11)
            .position(|window| window == b"end_header\n")
            .unwrap();
        let header = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let before = header
            .lines()
            .take_while(|line| *line != "property uchar red");
        let size = |line: &str| match line {
            line if line.starts_with("property float ") => 4,
            line if line.starts_with("property uchar ") => 1,
            _ => 0,
        };
        let at: usize = before.map(size).sum();
        bytes[end + 11 + at] ^= 0x40;
    });
}

#[test]
fn faults_of_second_life_skins_and_levels_of_detail_are_found() {
    let written = Written::gltf("slmesh", "ours_skin_a.slmesh");
    let json = written.json();
    written.number_fault(
        "inverse bind matrices",
        &json["skins"][0]["inverseBindMatrices"],
    );
    let joint = json["skins"][0]["joints"][0].as_u64().unwrap() as usize;
    written.json_fault("the name of a joint", |json| {
        json["nodes"][joint]["name"] = json!("other")
    });
    written.number_fault(
        "weights",
        &json["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"],
    );
    // The bind shape is in positions and normals.
    for name in ["POSITION", "NORMAL"] {
        written.number_fault(
            name,
            &json["meshes"][0]["primitives"][0]["attributes"][name],
        );
    }

    let levels = Convert {
        lod: Lods::All,
        ..Convert::new(Target::Gltf)
    };
    let written = Written::of("slmesh", "nodemv_02_static_4lod.slmesh", levels, "gltf");
    let finest = |json: &Value| {
        let nodes = json["nodes"].as_array().unwrap();
        nodes
            .iter()
            .position(|node| node["extensions"].is_object())
            .unwrap()
    };
    written.json_fault("the order of levels", |json| {
        let node = finest(json);
        json["nodes"][node]["extensions"]["MSFT_lod"]["ids"]
            .as_array_mut()
            .unwrap()
            .reverse();
    });
    written.json_fault("a coarser level in the scene", |json| {
        let node = finest(json);
        let coarser = json["nodes"][node]["extensions"]["MSFT_lod"]["ids"][0].clone();
        json["scenes"][0]["nodes"]
            .as_array_mut()
            .unwrap()
            .push(coarser);
    });
    written.json_fault("the material of a face", |json| {
        json["materials"][0]["name"] = json!("other")
    });
}

#[test]
fn faults_of_snapshots_are_found() {
    let written = Written::gltf("cgeo", "anim_a.cgeo");
    let json = written.json();
    written.number_fault(
        "weights of targets",
        &json["animations"][0]["samplers"][0]["output"],
    );
    written.number_fault(
        "times of snapshots",
        &json["animations"][0]["samplers"][0]["input"],
    );
    written.json_fault("a material", |json| {
        json["materials"][0]["name"] = json!("other")
    });

    let written = Written::gltf("cgeo", "topology_a.cgeo");
    let json = written.json();
    let channels = json["animations"][0]["channels"].as_array().unwrap();
    let scale = channels
        .iter()
        .find(|channel| channel["target"]["path"] == "scale")
        .unwrap();
    let sampler = scale["sampler"].as_u64().unwrap() as usize;
    written.number_fault(
        "the scale that shows a mesh",
        &json["animations"][0]["samplers"][sampler]["output"],
    );
}

#[test]
fn faults_of_skeletons_in_usd_are_found() {
    let written = Written::of(
        "iqm",
        "anim_only_joints.iqm",
        Convert::new(Target::Usdc),
        "usdc",
    );
    written.byte_fault("no translations", b"\0translations", b"\0translationz");
    written.byte_fault("no scales", b"\0scales", b"\0scalez");
    written.byte_fault(
        "an animation that is not shown",
        b"skel:animationSource",
        b"skel:animationSourcf",
    );
    written.byte_fault("no places", b"restTransforms", b"restTransformt");
    written.byte_fault(
        "no places in the bind pose",
        b"bindTransforms",
        b"bindTransformt",
    );
    written.byte_fault(
        "the frames per second",
        b"timeCodesPerSecond",
        b"timeCodesPerSeconf",
    );
    written.byte_fault(
        "the kind of an animation",
        b"SkelAnimation",
        b"SkelAnimatiom",
    );
    let model = written.file.as_iqm().unwrap();
    let name = model.joints().nth(3).unwrap().name.as_bytes().to_vec();
    let other: Vec<u8> = name.iter().map(|byte| byte ^ 1).collect();
    written.byte_fault(
        "the name of a joint",
        &[b"\0", &name[..], b"\0"].concat(),
        &[b"\0", &other[..]].concat(),
    );
    let mut poses = vec![Trs::default(); model.joints().len()];
    model.frames().read_frame_into(7, &mut poses).unwrap();
    let bytes = |numbers: [f32; 3]| numbers.map(f32::to_le_bytes).as_flattened().to_vec();
    let place = poses
        .iter()
        .map(|pose| pose.translate)
        .find(|place| *place != [0.0; 3])
        .unwrap();
    written.byte_fault(
        "the place of a joint",
        &bytes(place),
        &bytes(place.map(|number| number + 1.0)),
    );
}

#[test]
fn faults_of_skins_in_usd_are_found() {
    let target = Target::Usdc;
    let written = Written::of("iqm", "skin_multi_anim.iqm", Convert::new(target), "usdc");
    written.byte_fault("no skeleton", b"\0Skeleton\0", b"\0Skeletoo\0");
    for (what, name) in [
        ("no joints of vertices", "skel:jointIndices"),
        ("no weights of vertices", "skel:jointWeights"),
        ("a mesh without a skeleton", "skel:skeleton"),
    ] {
        let mut other = name.as_bytes().to_vec();
        *other.last_mut().unwrap() ^= 1;
        written.byte_fault(what, name.as_bytes(), &other);
    }
    let view = written.file.mesh(&"meshes[0]".parse().unwrap()).unwrap();
    let count = written.file.as_iqm().unwrap().joints().len() as u16;
    let influences = view.influences(count).unwrap().unwrap();
    let first = |numbers: &[f32]| {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        bytes.collect::<Vec<u8>>()
    };
    let weights = &influences.weights.as_flattened()[..12];
    let mut others = weights.to_vec();
    others.swap(4, 5);
    written.byte_fault("the weights of a vertex", &first(weights), &first(&others));
    let joints = influences
        .joints
        .as_flattened()
        .iter()
        .map(|joint| i32::from(*joint));
    let joints: Vec<u8> = joints.take(12).flat_map(i32::to_le_bytes).collect();
    let mut others = joints.clone();
    others[16] ^= 1;
    written.byte_fault("the joints of a vertex", &joints, &others);
}

#[test]
fn faults_of_the_root_are_found() {
    let written = Written::gltf("cgeo", "anim_a.cgeo");
    let json = written.json();
    let root = json["scenes"][0]["nodes"][0].as_u64().unwrap() as usize;
    written.json_fault("the unit", |json| {
        json["nodes"][root]["scale"] = json!([0.1, 0.1, 0.1])
    });
    written.json_fault("no unit", |json| {
        drop(json["nodes"][root].as_object_mut().unwrap().remove("scale"))
    });
    written.json_fault("the rotation", |json| {
        json["nodes"][root]["rotation"] = json!([1.0, 0.0, 0.0, 0.0])
    });
    let turned = Convert {
        turn: Turn::Quarter,
        up: Some(Axis::X),
        ..Convert::new(Target::Usdc)
    };
    let written = Written::of("cgeo", "anim_a.cgeo", turned, "usdc");
    written.byte_fault("the unit of a stage", b"metersPerUnit", b"metersPerUniu");
    written.byte_fault("the axis that points up", b"upAxis", b"upAxit");
    written.byte_fault("the turn", b"xformOp:rotateY", b"xformOp:rotateX");
    written.byte_fault(
        "rotations without an order",
        b"xformOpOrder",
        b"xformOpOrdes",
    );
}

#[test]
fn faults_of_materials_are_found() {
    let written = Written::of("cgeo", "anim_a.cgeo", Convert::new(Target::Usdc), "usdc");
    written.byte_fault("a surface", b"UsdPreviewSurface", b"UsdPreviewSurfacf");
    written.byte_fault(
        "the triangles of a material",
        b"\0indices\0",
        b"\0indicez\0",
    );
    written.byte_fault(
        "the times of a stage",
        b"timeCodesPerSecond",
        b"timeCodesPerSeconf",
    );

    let merged = || Convert {
        merge_materials: true,
        ..Convert::new(Target::Usdc)
    };
    let written = Written::of("cgeo", "anim_a.cgeo", merged(), "usdc");
    written.byte_fault(
        "the IDs of merged materials",
        b"primvars:material_id",
        b"primvars:material_ie",
    );
    let merged = Convert {
        merge_materials: true,
        ..Convert::new(Target::Gltf)
    };
    let written = Written::of("cgeo", "anim_a.cgeo", merged, "gltf");
    let ids = written.json()["meshes"][0]["primitives"][0]["attributes"]["_MATERIAL_ID"].clone();
    written.number_fault("the IDs of merged materials", &ids);

    let written = Written::of("cgeo", "anim_a.cgeo", Convert::new(Target::Obj), "obj");
    let text = fs::read_to_string(&written.path).unwrap();
    let first = text
        .lines()
        .find(|line| line.starts_with("usemtl "))
        .unwrap()
        .to_owned();
    written.byte_fault(
        "the material of triangles",
        first.as_bytes(),
        b"usemtl other_",
    );
    written.fault(
        "a material of the MTL",
        &written.path.with_extension("mtl"),
        Vec::clear,
    );
    let object = text.lines().find(|line| line.starts_with("o ")).unwrap();
    for line in [object, &first] {
        let end = text.find(line).unwrap() + line.len();
        written.fault("a line that continues", &written.path, |bytes| {
            bytes.insert(end, b'\\')
        });
    }
    written.fault(
        "a line of the MTL that continues",
        &written.path.with_extension("mtl"),
        |bytes| {
            let end = bytes
                .windows(4)
                .position(|bytes| bytes == b"\nKd ")
                .unwrap();
            bytes.insert(end, b'\\');
        },
    );

    let written = Written::of(
        "tmf",
        "v011_multi_names.tmf",
        Convert::new(Target::Ply),
        "ply",
    );
    written.fault("the material of a triangle", &written.path, |bytes| {
        let last = bytes.len() - 4;
        bytes[last] ^= 1;
    });
}

#[test]
fn faults_of_flat_files_are_found() {
    let written = Written::of(
        "openctm",
        "hand_concat_b.ctm",
        Convert::new(Target::Stl),
        "stl",
    );
    written.fault("the corner of a triangle in STL", &written.path, |bytes| {
        // The header, the count, and the normal of the first triangle.
        bytes[84 + 12 + 3] ^= 0x80;
    });
    written.fault("a triangle less in STL", &written.path, |bytes| {
        let count = u32::from_le_bytes(*bytes[80..].first_chunk().unwrap()) - 1;
        bytes[80..84].copy_from_slice(&count.to_le_bytes());
        bytes.truncate(bytes.len() - 50);
    });

    let written = Written::of("cgeo", "anim_a.cgeo", Convert::new(Target::Pc2), "pc2");
    written.fault("a point of the last sample", &written.path, |bytes| {
        let last = bytes.len() - 1;
        bytes[last] ^= 0x80;
    });
    written.fault("a sample less", &written.path, |bytes| {
        let count = u32::from_le_bytes(*bytes[28..].first_chunk().unwrap()) - 1;
        bytes[28..32].copy_from_slice(&count.to_le_bytes());
    });

    // The second mesh has no material.
    let written = Written::of("iqm", "ours_names_a.iqm", Convert::new(Target::Obj), "obj");
    written.byte_fault("a material that goes on", b"usemtl none\n", b"");
    let written = Written::of(
        "openctm",
        "hand_concat_b.ctm",
        Convert::new(Target::Obj),
        "obj",
    );
    written.byte_fault("vertices without colours", b" 1 1 1\n", b"\n");
}
