use meshmap::Options;
use meshmap::iqm::{self, Model, Trs};

use super::caller::{Caller, few};

pub(super) fn calls(model: &Model, options: &Options, caller: &mut impl Caller) {
    arrays(model, caller);
    skeleton(model, caller);
    frames(model, options, caller);
    caller.call("text", || {
        Ok((
            model.text(),
            format!("{} {:?}", model.flags(), model.header()),
        ))
    });
    caller.call("comment", || model.comment());
    caller.call("model.meshes", || {
        Ok(model
            .meshes()
            .map(|mesh| mesh.name.as_bytes().len() + mesh.material.as_bytes().len())
            .sum::<usize>())
    });
    caller.call("anims", || {
        Ok(model
            .anims()
            .map(|anim| anim.name.as_bytes().len())
            .sum::<usize>())
    });
    caller.call("extensions", || {
        Ok(model
            .extensions()
            .map(|one| one.name.as_bytes().len())
            .sum::<usize>())
    });
    caller.call("extension", || model.extension("no such name"));
    caller.call("fte_meshes", || {
        Ok(model.fte_meshes()?.map_or(0, |meshes| meshes.len()))
    });
    caller.call("fte_events", || {
        Ok(model.fte_events()?.map_or(0, |events| events.len()))
    });
    caller.call("fte_skins", || {
        Ok(model.fte_skins()?.map_or(0, |skins| skins.numskins.len()))
    });
    caller.call("attach", || model.attach(model).map(drop));
}

fn arrays(model: &Model, caller: &mut impl Caller) {
    let count = model.vertex_arrays().len();
    caller.call("vertex_arrays", || {
        Ok(model.vertex_arrays().filter(|array| array.size > 0).count())
    });
    caller.each("vertex_array", 0..count, |index| model.vertex_array(index));
    let kinds: Vec<_> = model
        .vertex_arrays()
        .take(64)
        .map(|array| array.kind)
        .collect();
    caller.each("vertex_array_of", &kinds, |kind| {
        model.vertex_array_of(kind)
    });
    caller.call("custom_array", || model.custom_array("no such name"));
    caller.call("positions", || model.positions());
    caller.call("texcoords", || model.texcoords(0));
    caller.call("normals", || model.normals());
    caller.call("triangles", || model.triangles());
    caller.call("raw_triangles", || model.raw_triangles());
    caller.call("adjacency", || model.adjacency());
    caller.call("bounds", || {
        model
            .bounds()
            .map(|bounds| bounds.map_or(0, |all| all.len()))
    });
}

fn skeleton(model: &Model, caller: &mut impl Caller) {
    caller.call("joints", || {
        Ok(model
            .joints()
            .map(|joint| joint.name.as_bytes().len())
            .sum::<usize>())
    });
    caller.call("skeleton", || {
        Ok(model
            .skeleton()
            .map_or(0, |skeleton| skeleton.bind_matrices().len()))
    });
    caller.call("skinning_matrices", || {
        let Some(skeleton) = model.skeleton() else {
            return Ok(0);
        };
        let rest: Vec<Trs> = model.joints().map(|joint| joint.trs).collect();
        Ok(skeleton.skinning_matrices(&rest)?.len())
    });
}

fn frames(model: &Model, options: &Options, caller: &mut impl Caller) {
    let frames = model.frames();
    caller.call("poses", || {
        Ok(model.poses().filter(|pose| pose.parent.is_some()).count())
    });
    let mut pose = vec![Trs::default(); frames.pose_count()];
    let last = frames.len().saturating_sub(1) as usize;
    caller.each("frame_into", few(last), |frame| {
        frames.read_frame_into(frame as u32, &mut pose)?;
        Ok(pose.first().map(|trs| trs.normalized()))
    });
    caller.call("interpolate_into", || {
        frames.interpolate_into(0, last as u32, 0.5, &mut pose)?;
        Ok(pose.first().copied())
    });
    caller.call("world_matrices", || {
        let parents: Vec<Option<u32>> = model.poses().map(|pose| pose.parent).collect();
        let mut world = vec![iqm::IDENTITY; pose.len()];
        iqm::world_matrices(&parents, &pose, &mut world)?;
        Ok(world.len())
    });
    caller.each("frames.pose", few(frames.pose_count()), |index| {
        frames.pose(0, index)
    });
    let _ = options;
    caller.call("frames.read", || frames.read());
}
