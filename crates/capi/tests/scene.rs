//! Scenes are what `meshmap_scene` says.
#![allow(unsafe_code, unused_unsafe, reason = "C functions are called")]

#[macro_use]
mod support;

use std::ffi::{CString, c_char};
use std::ptr::{null, null_mut};

use meshmap::{Axis, MeshFile, Role, VOrigin, texture_paths};
use meshmap_capi::*;
use meshmap_scene::{DrawOptions, Levels, Scene, SceneOptions, Skeleton, matrix};
use meshmap_testing::data;
use support::*;

fn new_scene(file: *const mm_file, options: Option<&mm_scene_options>) -> *mut mm_scene {
    let mut scene = null_mut();
    let options = options.map_or(null(), |options| &raw const *options);
    ok!(mm_scene_new(file, options, &raw mut scene));
    scene
}

fn info(scene: *const mm_scene) -> mm_scene_info {
    let mut info = sized::<mm_scene_info>();
    ok!(mm_scene_get_info(scene, &raw mut info));
    info
}

/// The text of a name in C, where a byte 0 would be its end.
fn named(name: &str) -> String {
    name.replace('\0', "\u{fffd}")
}

/// A file in C and in Rust.
struct Both {
    file: *mut mm_file,
    scene: *mut mm_scene,
    ours: Scene,
    skeleton: Option<Skeleton>,
}

impl Both {
    fn new(path: &std::path::Path, levels: Levels) -> Self {
        let mut options = SceneOptions::default();
        options.levels = levels;
        let ours = Scene::new(&MeshFile::open(path).unwrap(), &options).unwrap();
        let mut asked = sized::<mm_scene_options>();
        asked.levels = match levels {
            Levels::All => MM_LEVELS_ALL,
            _ => MM_LEVELS_FINEST,
        };
        let file = open(path);
        Self {
            scene: new_scene(file, Some(&asked)),
            file,
            skeleton: ours.skeleton(&mut Vec::new()).unwrap(),
            ours,
        }
    }

    fn joint_count(&self) -> usize {
        self.skeleton.as_ref().map_or(0, |it| it.joints.len())
    }

    fn compare_info(&self) {
        let info = info(self.scene);
        assert_eq!(info.upright, matrix::rounded(&self.ours.upright()));
        let metres = self.ours.unit().metres().unwrap_or(0.0);
        assert_eq!(info.metres_per_unit, metres);
        let up = match self.ours.up() {
            Axis::Y => MM_AXIS_Y,
            _ => MM_AXIS_Z,
        };
        assert_eq!((info.up, info.knows_up), (up, self.ours.knows_up()));
        assert_eq!(info.are_points, self.ours.are_points());
        assert_eq!(info.shape_count, self.ours.shapes().len());
        assert_eq!(info.joint_count, self.joint_count());
    }

    fn compare_shapes(&self) {
        for (index, ours) in self.ours.shapes().iter().enumerate() {
            let mut shape = sized::<mm_shape>();
            ok!(mm_scene_get_shape(self.scene, index, &raw mut shape));
            assert_eq!(text(shape.name), named(ours.name()));
            assert_eq!(text(shape.address), ours.address().to_string());
            assert_eq!(shape.key_count, ours.key_count());
            assert_eq!(
                (shape.has_keys, shape.is_coarser),
                (ours.has_keys(), ours.is_coarser())
            );
            let level = match ours.role() {
                Role::Lod(level) => i64::from(level),
                _ => -1,
            };
            assert_eq!(shape.level, level);
            assert_eq!(
                shape.object,
                ours.object().map_or(-1, |object| object as i64)
            );
            assert_eq!(shape.seconds_per_key, ours.step());
            for steps in [-1.0, 0.0, 0.75, 2.5, 1e9] {
                let seconds = steps * ours.step();
                let (mut from, mut to, mut fraction) = (0, 0, 0.0);
                ok!(mm_scene_key_at(
                    self.scene,
                    index,
                    seconds,
                    &raw mut from,
                    &raw mut to,
                    &raw mut fraction
                ));
                assert_eq!((from, to, fraction), ours.keys_at(seconds));
            }
            self.compare_material(index);
            self.compare_mesh(index, 0);
            self.compare_mesh(index, ours.key_count() - 1);
        }
        let count = self.ours.shapes().len();
        let mut shape = sized::<mm_shape>();
        assert_eq!(
            status!(mm_scene_get_shape(self.scene, count, &raw mut shape)),
            MM_ERROR_OUT_OF_RANGE
        );
    }

    fn compare_material(&self, index: usize) {
        let ours = self.ours.shapes()[index].material();
        let has_colors = self.ours.shapes()[index].has_colors().unwrap();
        for id in [0, 3, u32::MAX] {
            let mut material = sized::<mm_material>();
            ok!(mm_scene_get_material(
                self.scene,
                index,
                id,
                &raw mut material
            ));
            assert_eq!(text(material.name), named(ours.map_or("", |it| it.name)));
            let image = ours.and_then(|it| it.image).unwrap_or_default();
            assert_eq!(text(material.image), named(image));
            let mut expected = [[1.0; 4]];
            if !has_colors {
                let tint = self.ours.tints().color(index, Some(id));
                let [red, green, blue] = tint.map(|byte| f32::from(byte) / 255.0);
                expected = [[red, green, blue, 1.0]];
                meshmap::colors_to_linear(&mut expected);
            }
            assert_eq!(material.color, expected[0]);
        }
    }

    /// All attributes, the triangles and the groups of a shape.
    fn compare_mesh(&self, index: usize, key: usize) {
        let mut options = DrawOptions::default();
        options.v_origin = VOrigin::Top;
        options.joint_count = self.skeleton.as_ref().map(|it| it.joints.len() as u16);
        let ours = self.ours.draw(index, key, &options).unwrap().mesh;
        let mut mesh = null_mut();
        ok!(mm_scene_mesh(self.scene, index, key, &raw mut mesh));
        let mut about = sized::<mm_mesh_info>();
        ok!(mm_mesh_get_info(mesh, &raw mut about));
        assert_eq!(about.vertex_count, ours.vertex_count());
        assert_eq!(about.attribute_count, ours.attributes().len());
        for (place, info) in ours.attributes().iter().enumerate() {
            let mut array = sized::<mm_array_info>();
            ok!(mm_mesh_attribute_view(mesh, place, &raw mut array));
            let expected = ours.attribute(&info.semantic).unwrap().unwrap();
            assert_eq!(array.byte_length, expected.as_bytes().len());
            // SAFETY: memory of the mesh, which lives.
            let bytes =
                unsafe { std::slice::from_raw_parts(array.data.cast::<u8>(), array.byte_length) };
            assert!(bytes == expected.as_bytes(), "{}", info.semantic);
        }
        let mut count = 0;
        ok!(mm_mesh_triangles(mesh, null_mut(), 0, 0, &raw mut count));
        let mut triangles = vec![[0_u32; 3]; count + 1];
        let start = triangles.as_mut_ptr().cast();
        ok!(mm_mesh_triangles(mesh, start, 0, count, &raw mut count));
        triangles.truncate(count);
        assert!(ours.indices().triangles().eq(triangles));
        assert_eq!(mm_mesh_free(mesh), MM_OK);
    }

    fn compare_joints(&self) {
        let Some(skeleton) = &self.skeleton else {
            assert_eq!(
                status!(mm_scene_pose(
                    self.scene,
                    usize::MAX,
                    0.0,
                    MM_MATRICES_SKIN,
                    null_mut(),
                    0,
                    0,
                    &mut 0
                )),
                MM_ABSENT
            );
            return;
        };
        for (index, joint) in skeleton.joints.iter().enumerate() {
            let mut found = sized::<mm_scene_joint>();
            ok!(mm_scene_get_joint(self.scene, index, &raw mut found));
            assert_eq!(text(found.name), named(&joint.name()));
            assert_eq!(
                found.parent,
                joint.parent.map_or(-1, |parent| parent as i64)
            );
            assert_eq!(found.rest, matrix::rounded(&joint.rest.to_matrix()));
            let inverse = matrix::rounded(&skeleton.inverse_bind[index]);
            assert_eq!(found.inverse_bind, inverse);
        }
        // At rest, nothing moves.
        for found in self.pose(usize::MAX, 0.0, MM_MATRICES_SKIN) {
            assert_eq!(found, matrix::rounded(&matrix::IDENTITY));
        }
        let bind = self.pose(usize::MAX, 0.0, MM_MATRICES_JOINT);
        for (found, expected) in bind.iter().zip(skeleton.bind_matrices()) {
            assert_eq!(*found, matrix::rounded(&expected));
        }
        self.compare_clips(skeleton);
    }

    fn pose(&self, clip: usize, seconds: f64, kind: mm_matrices) -> Vec<[f32; 16]> {
        let bytes = all_bytes(64, 0, |out, stride, capacity, count| {
            status!(mm_scene_pose(
                self.scene,
                clip,
                seconds,
                kind,
                out.cast(),
                stride,
                capacity,
                count
            ))
        });
        let number = |bytes: &[u8]| f32::from_le_bytes(bytes.try_into().unwrap());
        let numbers: Vec<f32> = bytes.unwrap().chunks_exact(4).map(number).collect();
        let (matrices, rest) = numbers.as_chunks::<16>();
        assert!(rest.is_empty());
        assert_eq!(matrices.len(), self.joint_count() + 1);
        assert_eq!(
            matrices.last().unwrap(),
            &matrix::rounded(&matrix::IDENTITY)
        );
        matrices.to_vec()
    }

    fn compare_clips(&self, skeleton: &Skeleton) {
        let clips = self.ours.clips(self.joint_count(), &mut Vec::new());
        assert_eq!(info(self.scene).clip_count, clips.len());
        for (index, ours) in clips.iter().enumerate() {
            let mut clip = sized::<mm_clip>();
            ok!(mm_scene_get_clip(self.scene, index, &raw mut clip));
            assert_eq!(text(clip.name), named(&ours.name()));
            assert_eq!(clip.frame_count, ours.frame_count());
            assert_eq!((clip.rate, clip.repeats), (ours.rate(), ours.repeats()));
            let events = ours.events().unwrap_or_default();
            assert_eq!(clip.event_count, events.len());
            for (place, event) in events.iter().enumerate() {
                let mut found = sized::<mm_event>();
                ok!(mm_scene_get_event(self.scene, index, place, &raw mut found));
                assert_eq!((found.seconds, found.code), (event.seconds, event.code));
                assert_eq!(text(found.data), named(&event.data.to_string_lossy()));
            }
            for frame in [0, ours.frame_count() / 2, ours.frame_count() - 1] {
                let seconds = frame as f64 / f64::from(ours.rate());
                let found = self.pose(index, seconds, MM_MATRICES_JOINT);
                let skin = self.pose(index, seconds, MM_MATRICES_SKIN);
                let expected = ours.sample(frame as u32).unwrap();
                for (joint, expected) in expected.iter().enumerate() {
                    assert_near(&found[joint], expected);
                    let inverse = &skeleton.inverse_bind[joint];
                    assert_near(&skin[joint], &matrix::multiply(expected, inverse));
                }
            }
        }
    }
}

fn assert_near(found: &[f32; 16], expected: &[f64; 16]) {
    let largest = expected.iter().fold(1.0, |max: f64, it| max.max(it.abs()));
    for (found, expected) in found.iter().zip(expected) {
        let difference = (f64::from(*found) - expected).abs();
        assert!(difference <= largest * 1e-5, "{found:?}: {expected:?}");
    }
}

#[test]
fn scenes_are_those_of_the_library() {
    let (mut joints, mut clips) = (0, 0);
    for path in valid_files(&data::root()) {
        for levels in [Levels::Finest, Levels::All] {
            let both = Both::new(&path, levels);
            both.compare_info();
            both.compare_shapes();
            both.compare_joints();
            joints += both.joint_count();
            clips += info(both.scene).clip_count;
            assert_eq!(mm_scene_free(both.scene), MM_OK);
            assert_eq!(mm_close(both.file), MM_OK);
        }
    }
    assert!(joints > 100 && clips > 20, "{joints} joints, {clips} clips");
}

#[test]
fn a_clip_is_between_its_frames_and_repeats() {
    let path = data::root().join("iqm/valid/skin_multi_anim.iqm");
    let both = Both::new(&path, Levels::Finest);
    let clips = both.ours.clips(both.joint_count(), &mut Vec::new());
    let index = clips.iter().position(|clip| clip.repeats()).unwrap();
    let mut clip = sized::<mm_clip>();
    ok!(mm_scene_get_clip(both.scene, index, &raw mut clip));
    assert_eq!(clip.seconds, clip.frame_count as f64 / f64::from(clip.rate));
    let first = both.pose(index, 0.0, MM_MATRICES_JOINT);
    for (found, expected) in both
        .pose(index, clip.seconds, MM_MATRICES_JOINT)
        .iter()
        .zip(&first)
    {
        assert_near(found, &expected.map(f64::from));
    }
    let second = both.pose(index, 1.0 / f64::from(clip.rate), MM_MATRICES_JOINT);
    let between = both.pose(index, 0.5 / f64::from(clip.rate), MM_MATRICES_JOINT);
    assert!(first != second && between != first && between != second);
    assert_eq!(mm_scene_free(both.scene), MM_OK);
    assert_eq!(mm_close(both.file), MM_OK);
}

#[test]
fn options_change_what_is_meant() {
    let file = open(&data::root().join("slmesh/valid/nodemv_02_static_4lod.slmesh"));
    let mut options = sized::<mm_scene_options>();
    options.levels = MM_LEVELS_ONE;
    options.level = 2;
    options.up = MM_AXIS_NEGATIVE_X;
    options.unit_millimeters = 10.0;
    let scene = new_scene(file, Some(&options));
    let about = info(scene);
    assert_eq!((about.up, about.knows_up), (MM_AXIS_NEGATIVE_X, true));
    assert_eq!(about.metres_per_unit, 0.01);
    // The axis that points up is Y, in metres.
    assert_eq!(about.upright[..3], [0.0, -0.01, 0.0]);
    let mut shape = sized::<mm_shape>();
    ok!(mm_scene_get_shape(scene, 0, &raw mut shape));
    assert_eq!(shape.level, 2);
    assert_eq!(mm_scene_free(scene), MM_OK);

    let address = CString::new("low_lod").unwrap();
    let mut options = sized::<mm_scene_options>();
    options.mesh = address.as_ptr();
    let scene = new_scene(file, Some(&options));
    ok!(mm_scene_get_shape(scene, 0, &raw mut shape));
    assert!(text(shape.address).starts_with("low_lod"));
    assert_eq!(mm_scene_free(scene), MM_OK);

    // The points of this hull have no triangles in the file.
    let address = CString::new("physics_convex.bounding_verts").unwrap();
    options.mesh = address.as_ptr();
    let scene = new_scene(file, Some(&options));
    assert_eq!(info(scene).shape_count, 1);
    ok!(mm_scene_get_shape(scene, 0, &raw mut shape));
    assert_eq!(text(shape.name), "bounding_hull");
    assert_eq!((shape.level, shape.object), (-1, -1));
    assert_eq!(mm_scene_free(scene), MM_OK);
    let address = CString::new("physics_convex.hulls[0]").unwrap();
    options.mesh = address.as_ptr();
    let mut scene = std::ptr::null_mut();
    assert_eq!(
        status!(mm_scene_new(file, &raw const options, &raw mut scene)),
        MM_ERROR_OUT_OF_RANGE
    );
    assert_eq!(mm_close(file), MM_OK);
}

#[test]
fn v_begins_where_the_program_asks() {
    let file = open(&data::root().join("textures/crate.iqm"));
    let mut sums = Vec::new();
    for v_origin in [MM_V_ORIGIN_TOP, MM_V_ORIGIN_BOTTOM] {
        let mut options = sized::<mm_scene_options>();
        options.v_origin = v_origin;
        let scene = new_scene(file, Some(&options));
        let (mut mesh, mut place) = (null_mut(), 0);
        ok!(mm_scene_mesh(scene, 0, 0, &raw mut mesh));
        let semantic = MM_SEMANTIC_TEXCOORD;
        ok!(mm_mesh_find_attribute(
            mesh,
            semantic,
            0,
            null(),
            &raw mut place
        ));
        let bytes = all_bytes(8, 0, |out, stride, capacity, count| {
            status!(mm_mesh_read_attribute(
                mesh,
                place,
                MM_SCALAR_F32,
                2,
                0,
                out.cast(),
                stride,
                capacity,
                count
            ))
        });
        sums.push(bytes.unwrap());
        assert_eq!(mm_mesh_free(mesh), MM_OK);
        assert_eq!(mm_scene_free(scene), MM_OK);
    }
    let v = |bytes: &[u8]| f32::from_le_bytes(bytes[4..8].try_into().unwrap());
    for (top, bottom) in sums[0].chunks_exact(8).zip(sums[1].chunks_exact(8)) {
        assert_eq!(v(top), 1.0 - v(bottom));
    }
    assert_eq!(mm_close(file), MM_OK);
}

#[test]
fn paths_of_images_are_those_of_the_library() {
    for name in [r"textures\crate.tga", "", "..", "a.png"] {
        let image = CString::new(name).unwrap();
        let mut paths = Vec::new();
        loop {
            let mut path = [0 as c_char; 256];
            let mut length = 0;
            match status!(mm_image_path(
                image.as_ptr(),
                paths.len(),
                path.as_mut_ptr(),
                path.len(),
                &raw mut length
            )) {
                MM_OK => paths.push(text(path.as_ptr())),
                MM_ABSENT => break,
                other => panic!("{other}"),
            }
            assert_eq!(length, paths.last().unwrap().len());
        }
        assert_eq!(paths, texture_paths(name));
    }
}

#[test]
fn arguments_without_a_meaning_are_refused() {
    let path = data::root().join("iqm/valid/skin_multi_anim.iqm");
    let file = open(&path);
    let changes: [fn(&mut mm_scene_options); 10] = [
        |options| options.levels = 3,
        |options| options.up = 7,
        |options| options.v_origin = 2,
        |options| options.has_frame = 2,
        |options| options.skip_unreadable = 7,
        |options| options.drop_degenerate = u32::MAX,
        |options| options.unit_millimeters = f64::NAN,
        |options| options.unit_millimeters = -1.0,
        |options| options.unit_millimeters = 1e308,
        |options| options.unit_millimeters = 1e-300,
    ];
    for change in changes {
        let mut options = sized::<mm_scene_options>();
        change(&mut options);
        let mut scene = null_mut();
        assert_eq!(
            status!(mm_scene_new(file, &raw const options, &raw mut scene)),
            MM_ERROR_ARGUMENT
        );
        assert!(scene.is_null());
    }
    let mut options = sized::<mm_scene_options>();
    (options.has_frame, options.frame) = (1, u32::MAX);
    let mut scene = null_mut();
    assert_eq!(
        status!(mm_scene_new(file, &raw const options, &raw mut scene)),
        MM_ERROR_OUT_OF_RANGE
    );

    let scene = new_scene(file, None);
    let about = info(scene);
    let pose = |clip, seconds, kind| {
        status!(mm_scene_pose(
            scene,
            clip,
            seconds,
            kind,
            null_mut(),
            0,
            0,
            &mut 0
        ))
    };
    assert_eq!(pose(0, f64::NAN, MM_MATRICES_SKIN), MM_ERROR_ARGUMENT);
    let key_at = |seconds| {
        status!(mm_scene_key_at(
            scene,
            0,
            seconds,
            null_mut(),
            null_mut(),
            null_mut()
        ))
    };
    assert_eq!((key_at(0.0), key_at(f64::NAN)), (MM_OK, MM_ERROR_ARGUMENT));
    assert_eq!(pose(0, 0.0, 3), MM_ERROR_ARGUMENT);
    let after = about.clip_count;
    assert_eq!(pose(after, 0.0, MM_MATRICES_SKIN), MM_ERROR_OUT_OF_RANGE);
    let mut mesh = null_mut();
    for (shape, key) in [(about.shape_count, 0), (0, 1)] {
        assert_eq!(
            status!(mm_scene_mesh(scene, shape, key, &raw mut mesh)),
            MM_ERROR_OUT_OF_RANGE
        );
    }
    let mut remark = null();
    assert_eq!(
        status!(mm_scene_remark(scene, about.remark_count, &raw mut remark)),
        MM_ERROR_OUT_OF_RANGE
    );
    assert_eq!(mm_scene_free(scene), MM_OK);
    assert_eq!(mm_scene_free(scene), MM_ERROR_HANDLE);
    assert_eq!(mm_close(file), MM_OK);
}

#[test]
fn what_cannot_be_used_is_a_remark() {
    let file = open(&data::root().join("slmesh/valid/odd_s01_ibm_mismatch.slmesh"));
    let scene = new_scene(file, None);
    assert!(info(scene).remark_count > 0);
    let mut remark = null();
    ok!(mm_scene_remark(scene, 0, &raw mut remark));
    assert!(text(remark).contains("joints"), "{}", text(remark));
    let mut again = null();
    ok!(mm_scene_remark(scene, 0, &raw mut again));
    assert_eq!(remark, again);
    assert_eq!(mm_scene_free(scene), MM_OK);
    assert_eq!(mm_close(file), MM_OK);
}
