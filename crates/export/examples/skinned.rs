//! The skinned vertices of an IQM file, as the library computes them: `skinned FILE ANIMATION FRAME` prints
//! `mesh vertex x y z` a line, meshes counted from 0.

use std::process::ExitCode;

use meshmap::iqm::Trs;
use meshmap::{MeshFile, Semantic};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, animation, frame] = arguments.as_slice() else {
        eprintln!("usage: skinned FILE ANIMATION FRAME");
        return Ok(ExitCode::from(2));
    };
    let file = MeshFile::open(path)?;
    let model = file.as_iqm().ok_or("no IQM file")?;
    let skeleton = model.skeleton().ok_or("no skeleton")?;
    let anim = model
        .anims()
        .nth(animation.parse()?)
        .ok_or("no such animation")?;
    let mut pose = vec![Trs::default(); model.joints().len()];
    model
        .frames()
        .read_frame_into(anim.frames().start + frame.parse::<u32>()?, &mut pose)?;
    pose.iter_mut()
        .for_each(|joint| *joint = joint.normalized());
    let matrices = skeleton.skinning_matrices(&pose)?;
    for (mesh, entry) in file.meshes()?.enumerate() {
        let view = file.mesh(&entry.address)?;
        let array = |semantic| view.attribute(&semantic);
        let Some(positions) = array(Semantic::Position)? else {
            continue;
        };
        let (Some(joints), Some(weights)) =
            (array(Semantic::Joints(0))?, array(Semantic::Weights(0))?)
        else {
            continue;
        };
        let influences = joints.to_f32::<4>().into_iter().zip(weights.to_f32::<4>());
        for (vertex, (position, (joints, weights))) in
            positions.to_f32::<3>().iter().zip(influences).enumerate()
        {
            let sum: f32 = weights.iter().sum();
            let mut skinned = [0.0_f64; 3];
            for (joint, weight) in joints.iter().zip(weights) {
                let Some(matrix) = matrices.get(*joint as usize).filter(|_| weight > 0.0) else {
                    continue;
                };
                for (out, [x, y, z, w]) in skinned.iter_mut().zip(matrix) {
                    let [px, py, pz] = position.map(f64::from);
                    let [x, y, z, w] = [x, y, z, w].map(|number| f64::from(*number));
                    *out += (x * px + y * py + z * pz + w) * f64::from(weight / sum);
                }
            }
            let [x, y, z] = skinned;
            println!("{mesh} {vertex} {x} {y} {z}");
        }
    }
    Ok(ExitCode::SUCCESS)
}
