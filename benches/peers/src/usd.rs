//! Points of one uncompressed frame, compared with OpenUSD, which reads them from a .usdc file.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use meshmap::cgeo::{Dialect, Proxy};
use meshmap::{Codec, Options, Scratch};
use meshmap_testing::fixtures::cgeo;
use meshmap_testing::measure::{Table, interleave};

/// 490 x 490 vertices.
const SIDE: u32 = 490;
/// Frames that are read in a row for each measurement, so that the pipe to the other process does not count.
const IN_A_ROW: usize = 20;

/// Writes two frames of points to a .usdc file, then reads the second one a given number of times. Points are a view of
/// the file's map; one number of each line of the processor's cache is looked at.
const SCRIPT: &str = r#"
import sys
import numpy
from pxr import Usd, UsdGeom, Vt
path, count = sys.argv[1], int(sys.argv[2])
frames = numpy.fromfile(path + ".points", dtype="<f4").reshape(2, -1, 3)
stage = Usd.Stage.CreateNew(path)
points = UsdGeom.Mesh.Define(stage, "/mesh").CreatePointsAttr()
for time, frame in enumerate(frames):
    points.Set(Vt.Vec3fArray.FromNumpy(frame), time)
stage.Save()
del stage, points
stage = Usd.Stage.Open(path)
points = UsdGeom.Mesh(stage.GetPrimAtPath("/mesh")).GetPointsAttr()
assert numpy.array_equal(numpy.array(points.Get(1)), frames[1])
print("ready", flush=True)
for _ in sys.stdin:
    for _ in range(count):
        total = numpy.array(points.Get(1), copy=False).reshape(-1)[::16].sum()
    print(total, flush=True)
"#;

pub fn frames(table: &mut Table) -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let (_, snapshots) = cgeo::animation(SIDE, 2);
    let path = folder.path().join("frames.cgeo");
    std::fs::write(
        &path,
        cgeo::file(&snapshots, Dialect::default().with_codec(Codec::Stored)),
    )?;
    let proxy = Proxy::from_source(crate::map(&path), &Options::default())?;
    let frames = [
        proxy.snapshot(0)?.positions()?,
        proxy.snapshot(1)?.positions()?,
    ];
    let mut points = std::fs::File::create(folder.path().join("frames.usdc.points"))?;
    frames
        .iter()
        .try_for_each(|frame| points.write_all(frame.as_bytes()))?;

    let mut usd = start(&folder.path().join("frames.usdc"))?;
    let snapshot = proxy.snapshot(1)?;
    let (mut out, mut scratch) = (Vec::new(), Scratch::default());
    let [ours, theirs] = interleave(
        50,
        [
            &mut || {
                for _ in 0..IN_A_ROW {
                    snapshot
                        .positions_into(&mut out, &mut scratch)
                        .expect("positions");
                    black_box(&out);
                }
            },
            &mut || usd().expect("an answer"),
        ],
    );
    table.beside(
        "points of a frame, base + difference",
        "usd-core: the same points in place",
        [ours, theirs],
    );
    let whole = proxy.snapshot(0)?;
    let [ours, theirs] = interleave(
        50,
        [
            &mut || {
                for _ in 0..IN_A_ROW {
                    let points = whole.positions().expect("positions");
                    let lines = points.as_bytes().as_chunks::<64>().0;
                    black_box(
                        lines
                            .iter()
                            .fold(0_u8, |sum, line| sum.wrapping_add(line[0])),
                    );
                }
            },
            &mut || usd().expect("an answer"),
        ],
    );
    table.beside(
        "points of a complete frame, in place",
        "usd-core: the same",
        [ours, theirs],
    );
    Ok(())
}

/// Another process that reads the frame each time that this is called.
fn start(path: &Path) -> Result<impl FnMut() -> std::io::Result<()> + use<>, Box<dyn Error>> {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut command = Command::new(&python);
    command
        .args(["-c", SCRIPT])
        .arg(path)
        .arg(IN_A_ROW.to_string());
    let child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut input, output) = (
        child.stdin.expect("it is piped"),
        child.stdout.expect("it is piped"),
    );
    let mut lines = BufReader::new(output).lines();
    if lines.next().transpose()?.as_deref() != Some("ready") {
        return Err(
            format!("{python} has no usd-core and numpy (pip install usd-core numpy)").into(),
        );
    }
    Ok(move || {
        writeln!(input)?;
        lines.next().transpose().map(drop)
    })
}
