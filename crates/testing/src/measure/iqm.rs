//! Code that measurements of IQM share: large files, and the loop that decoding poses is compared with.

use std::fs;
use std::path::{Path, PathBuf};

use meshmap::iqm::{Model, Pose, Trs};
use meshmap::{Options, Source, Strictness};

use crate::fixtures::iqm::Writer;

/// A file with a large mesh, and one with long animations: of the corpus where `MESHMAP_CORPUS` names its folder, else
/// generated ones of the same sizes, in `folder`.
pub fn files(folder: &Path) -> (PathBuf, PathBuf) {
    if let Some(corpus) = std::env::var_os("MESHMAP_CORPUS") {
        let large = Path::new(&corpus).join("iqm").join("large");
        return (large.join("large_mesh.iqm"), large.join("large_anim.iqm"));
    }
    let files = (folder.join("mesh.iqm"), folder.join("animation.iqm"));
    for (path, writer) in [
        (&files.0, Writer::sheets(4, 500, 100)),
        (&files.1, Writer::sheets(1, 20, 20).animated(120, 2000)),
    ] {
        fs::write(path, writer.to_bytes()).expect("room for temporary files");
        let strict = Options::default().with_strictness(Strictness::Strict);
        let model = Source::open(path).and_then(|source| Model::from_source(source, &strict));
        let model = model.expect("the writer follows the specification");
        assert_eq!(model.validate().expect("a file that can be read"), []);
    }
    files
}

/// A loop without a library: the channels in the order in which they are stored.
pub fn plain_loop(poses: &[Pose], stored: &[u8], out: &mut [Trs]) {
    let mut stored = stored
        .chunks_exact(2)
        .map(|channel| u16::from_le_bytes([channel[0], channel[1]]));
    for frame in out.chunks_exact_mut(poses.len()) {
        for (trs, pose) in frame.iter_mut().zip(poses) {
            let mut channels = pose.channeloffset;
            for (index, channel) in channels.iter_mut().enumerate() {
                if pose.channelmask & (1 << index) != 0 {
                    let stored = stored.next().expect("a number for each bit of the mask");
                    *channel += f32::from(stored) * pose.channelscale[index];
                }
            }
            let [a, b, c, x, y, z, w, d, e, f] = channels;
            *trs = Trs::new([a, b, c], [x, y, z, w], [d, e, f]);
        }
    }
}
