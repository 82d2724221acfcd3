//! Plays an animation of an IQM: for each picture the matrices that a vertex shader skins with.
//!
//!     cargo run --example play_animation [MESH.iqm [ANIMATION.iqm]]

use meshmap::iqm::{IDENTITY, Model, Trs};

fn main() -> meshmap::Result<()> {
    let mut paths = std::env::args().skip(1);
    let mesh = paths
        .next()
        .unwrap_or_else(|| "tests/data/iqm/valid/skin_multi_anim.iqm".to_owned());
    let mut model = Model::open(mesh)?;
    // Many models keep their animations in files of their own.
    if let Some(animation) = paths.next() {
        model = model.attach(&Model::open(animation)?)?;
    }
    let (Some(skeleton), Some(anim)) = (model.skeleton(), model.anims().next()) else {
        println!("no skeleton, or no animation");
        return Ok(());
    };

    let frames = model.frames();
    let mut pose = vec![Trs::default(); frames.pose_count()];
    let mut matrices = vec![IDENTITY; skeleton.parents().len()];
    for picture in 0..10 {
        let seconds = f64::from(picture) / 60.0;
        let Some((from, to, fraction)) = anim.frames_at(seconds, 24.0) else {
            break;
        };
        frames.interpolate_into(from, to, fraction, &mut pose)?;
        skeleton.skinning_matrices_into(&pose, &mut matrices)?;
        println!(
            "{} at {seconds:.3} s: frames {from} and {to}, {fraction:.2} between; joint 0 {:?}",
            anim.name, matrices[0]
        );
    }
    Ok(())
}
