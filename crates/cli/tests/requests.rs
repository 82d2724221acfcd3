//! Requests and bytes of commands on files at addresses, next to what the crate transfers for the same part.
#![cfg(feature = "stores")]

use std::io::Cursor;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};

use child::Run as _;
use meshmap::cgeo::{Dialect, Parts, SizeMeaning};
use meshmap::{MeshFile, Result, Role, Scratch};
use meshmap_object_store::Remote;
use meshmap_testing::fixtures::{cgeo, iqm, openctm, slmesh, tmf};
use meshmap_testing::{data, kinds};
use server::{Act, Server, serve};

mod child;
#[path = "../../object-store/tests/server/mod.rs"]
#[allow(dead_code, reason = "the server also behaves badly")]
mod server;

/// A job of the crate that reads a part.
type Job = fn(&MeshFile) -> Result<()>;

/// The name of a file, its bytes, and commands with what the crate reads for the same part.
type File = (&'static str, Vec<u8>, Vec<(&'static str, Job)>);

/// Requests, and bytes of their responses.
#[derive(Clone, Copy)]
struct Cost {
    requests: u64,
    bytes: u64,
}

/// A server of a file, and the ranges that were requested from it.
struct Counted {
    server: Server,
    ranges: Arc<Mutex<Vec<Range<u64>>>>,
}

impl Counted {
    fn new(bytes: Vec<u8>) -> Self {
        let ranges = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&ranges);
        let server = serve(bytes, move |_, range| {
            log.lock().unwrap().push(range.clone());
            Act::Right
        });
        Self { server, ranges }
    }

    /// The cost since the last call.
    fn take(&self) -> Cost {
        let ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        let bytes = ranges.iter().map(|range| range.end - range.start).sum();
        if std::env::var_os("MESHMAP_RANGES").is_some() {
            println!("{ranges:?}");
        }
        Cost {
            requests: ranges.len() as u64,
            bytes,
        }
    }

    /// The cost of a job of the crate.
    fn of_crate(&self, job: Job) -> Cost {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let remote = Remote::at(&self.server.address).unwrap();
            let file = remote.open().await.unwrap();
            remote.run(|_| job(&file)).await.unwrap();
        });
        self.take()
    }

    /// The cost of a command.
    fn of_command(&self, words: &[&str]) -> Cost {
        let words = words.iter().map(|word| {
            if *word == "FILE" {
                &*self.server.address
            } else {
                word
            }
        });
        let words: Vec<&str> = words.collect();
        let done = child::meshmap().args(&words).run();
        assert!(
            done.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&done.stderr)
        );
        self.take()
    }
}

/// Reads the meshes whose role is `wanted`, with the attributes that all targets have.
fn meshes(file: &MeshFile, wanted: fn(Role) -> bool) -> Result<()> {
    let entries: Vec<_> = file.meshes_where(wanted)?.collect();
    for entry in entries {
        let mesh = file.mesh(&entry.address)?;
        mesh.attributes()
            .iter()
            .try_for_each(|info| mesh.attribute(&info.semantic).map(drop))?;
        drop(mesh.indices().to_vec());
    }
    Ok(())
}

fn drawn(file: &MeshFile) -> Result<()> {
    meshes(file, Role::is_drawn_by_default)
}

fn lowest(file: &MeshFile) -> Result<()> {
    meshes(file, |role| role == Role::Lod(3))
}

/// The lowest level, and what `convert` counts of the rest: the joints of the skin and the hulls.
fn lowest_and_left_out(file: &MeshFile) -> Result<()> {
    lowest(file)?;
    let asset = file.as_slmesh().unwrap();
    asset.skin()?;
    asset.physics_convex().map(drop)
}

fn array(file: &MeshFile, address: &str) -> Result<()> {
    file.array(&address.parse().unwrap()).map(drop)
}

fn snapshot(file: &MeshFile, index: usize) -> Result<()> {
    file.as_cgeo()
        .unwrap()
        .snapshot(index)?
        .mesh(Parts::ALL)
        .map(drop)
}

/// Reads what `info` shows of a proxy: the beginnings of the first snapshots, and the first mesh.
fn beginnings(file: &MeshFile) -> Result<()> {
    let proxy = file.as_cgeo().unwrap();
    for index in 0..proxy.snapshot_count().min(16) {
        let (snapshot, mut scratch) = (proxy.snapshot(index)?, Scratch::default());
        snapshot.bounding_box(&mut scratch)?;
        if snapshot.is_complete(&mut scratch)? {
            snapshot.counts(&mut scratch)?;
        }
    }
    proxy
        .snapshot(proxy.snapshot_count() - 1)?
        .section_headers(12)?;
    snapshot(file, 0)
}

/// A proxy of 1 GB with 4,000 snapshots.
fn long_proxy() -> Vec<u8> {
    const SIZE: usize = 1_000_000_000;
    let (_, snapshots) = cgeo::animation(40, 12);
    let bytes: Vec<_> = snapshots
        .iter()
        .map(|snapshot| cgeo::snapshot_bytes(snapshot, Dialect::default()))
        .collect();
    let mut out = Cursor::new(vec![0; SIZE]);
    cgeo::spread_to(&mut out, &bytes, 4000, SIZE as u64).unwrap();
    out.into_inner()
}

/// A large file of the corpus, if MESHMAP_CORPUS names that; otherwise a file that is made.
fn large(name: &str, made: fn() -> Vec<u8>) -> Vec<u8> {
    let corpus = std::env::var_os("MESHMAP_CORPUS").filter(|folder| !folder.is_empty());
    corpus.map_or_else(made, |folder| {
        std::fs::read(Path::new(&folder).join(name)).unwrap()
    })
}

/// A proxy whose snapshots have 20 samples of motion blur: sections that are longer than the least request.
fn blurred_proxy() -> Vec<u8> {
    let (_, mut snapshots) = cgeo::animation(60, 40);
    let sample = snapshots[1].last().cloned().unwrap();
    snapshots
        .iter_mut()
        .for_each(|snapshot| snapshot.extend(vec![sample.clone(); 19]));
    cgeo::file(&snapshots, Dialect::default())
}

/// A file of many tiny items of a kind.
fn many(format: &str, name: &str) -> Vec<u8> {
    let kind = kinds::all()
        .into_iter()
        .find(|kind| kind.format == format && kind.name == name);
    (kind.unwrap().build)(20_000)
}

/// The files. In commands, `FILE` is the address and `OUT` a path without its extension.
fn rows() -> Vec<File> {
    let proxy = || {
        large("cgeo/large/anim_60k_40.cgeo", || {
            cgeo::file(&cgeo::animation(200, 30).1, Dialect::default())
        })
    };
    let of_snapshot_20: [(&str, Job); 4] = [
        ("convert FILE -o OUT.glb --snapshot 20", |file| {
            snapshot(file, 20)
        }),
        (
            "render FILE -o OUT.png --size 64x64 --snapshot 20",
            |file| snapshot(file, 20),
        ),
        ("dump FILE snapshots[20].positions --head 1", |file| {
            array(file, "snapshots[20].positions")
        }),
        ("dump FILE snapshots[20]", |file| snapshot(file, 20)),
    ];
    let mut of_proxy: Vec<(&str, Job)> = vec![("info FILE", beginnings)];
    of_proxy.extend(of_snapshot_20);
    let mut of_short_proxy = of_proxy.clone();
    of_short_proxy.push(("render FILE -o OUT.png --size 64x64", |file| {
        snapshot(file, 0)
    }));
    of_short_proxy.push(("convert FILE -o OUT.glb", |file| meshes(file, |_| true)));
    vec![
        ("CGeo, 4,000 snapshots", long_proxy(), of_proxy),
        ("CGeo", proxy(), of_short_proxy),
        (
            "CGeo, 20 samples",
            blurred_proxy(),
            vec![("info FILE", beginnings)],
        ),
        (
            "IQM",
            large("iqm/large/large_mesh.iqm", || {
                iqm::Writer::sheets(8, 150, 150)
                    .animated(50, 500)
                    .to_bytes()
            }),
            vec![
                ("info FILE", |file| array(file, "vertex_arrays[0]")),
                ("convert FILE -o OUT.glb --mesh meshes[0]", |file| {
                    let mesh = file.mesh(&"meshes[0]".parse().unwrap())?;
                    mesh.attributes()
                        .iter()
                        .try_for_each(|info| mesh.attribute(&info.semantic).map(drop))?;
                    drop(mesh.indices().to_vec());
                    if file.as_iqm().unwrap().frames().is_empty() {
                        Ok(())
                    } else {
                        array(file, "frames")
                    }
                }),
                ("dump FILE vertex_arrays[1] --head 1", |file| {
                    array(file, "vertex_arrays[1]")
                }),
            ],
        ),
        (
            "Second Life mesh",
            large("slmesh/large/11_large_skinned_8x20k.slmesh", || {
                slmesh::large(160)
            }),
            vec![
                ("info FILE", |file| meshes(file, |_| true)),
                ("convert FILE -o OUT.glb --lod lowest", lowest_and_left_out),
                ("convert FILE -o OUT.obj --lod lowest", lowest_and_left_out),
                ("dump FILE lowest_lod", lowest),
                ("dump FILE lowest_lod.faces[0].positions --head 1", lowest),
            ],
        ),
        (
            "Second Life mesh, small",
            std::fs::read(data::valid("slmesh", "nodemv_02_static_4lod.slmesh")).unwrap(),
            vec![
                ("info FILE", |file| meshes(file, |_| true)),
                ("render FILE -o OUT.png --lod lowest", lowest),
            ],
        ),
        (
            "OpenCTM",
            large("openctm/large/big1M_MG2.ctm", || {
                openctm::Body::sheet(openctm::RAW, 200).to_bytes()
            }),
            vec![
                ("info FILE", |file| array(file, "bodies[0].positions")),
                ("convert FILE -o OUT.glb", drawn),
                ("render FILE -o OUT.png --size 64x64", drawn),
                ("dump FILE bodies[0].positions --head 1", |file| {
                    array(file, "bodies[0].positions")
                }),
                ("dump FILE bodies[0].indices --head 1", |file| {
                    array(file, "bodies[0].indices")
                }),
            ],
        ),
        (
            "OpenCTM, many bodies",
            many("openctm", "bodies, RAW"),
            vec![("info FILE", |file| meshes(file, |_| true))],
        ),
        (
            "TMF, many meshes",
            many("tmf", "meshes of different names"),
            vec![("info FILE", |file| meshes(file, |_| true))],
        ),
        (
            "TMF",
            large("tmf/large/large_terrain_1M.tmf", || tmf::grid(400)),
            vec![
                ("info FILE", |file| array(file, "meshes[0].vertices")),
                ("convert FILE -o OUT.glb", drawn),
                ("render FILE -o OUT.png --size 64x64", drawn),
                ("dump FILE meshes[0].normals --head 1", |file| {
                    array(file, "meshes[0].normals")
                }),
            ],
        ),
    ]
}

#[test]
fn commands_transfer_what_a_part_needs() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out").to_str().unwrap().to_owned();
    println!("| file | command | the crate: requests | bytes | the command: requests | bytes |");
    println!("|---|---|--:|--:|--:|--:|");
    let mut above = Vec::new();
    for (name, bytes, commands) in rows() {
        let file = Counted::new(bytes);
        for (command, job) in commands {
            let words: Vec<String> = command
                .split(' ')
                .map(|word| word.replace("OUT", &out))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let (needs, takes) = (file.of_crate(job), file.of_command(&words));
            let row = format!(
                "| {name} | `{command}` | {} | {} | {} | {} |",
                needs.requests, needs.bytes, takes.requests, takes.bytes
            );
            println!("{row}");
            let is_info_of_proxy = command == "info FILE" && name.starts_with("CGeo");
            let most = if is_info_of_proxy {
                100
            } else {
                2 * needs.requests
            };
            if takes.requests > most || takes.bytes * 10 > needs.bytes * 12 {
                above.push(row);
            }
        }
    }
    assert!(above.is_empty(), "more than needed:\n{}", above.join("\n"));
}

/// Bytes that no codec makes shorter.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    std::iter::repeat_with(&mut next).take(length).collect()
}

/// Proxies that are made to need many requests.
fn hostile_proxies() -> Vec<(&'static str, Vec<u8>)> {
    const OTHER: u32 = 0x1234_5678;
    let dialect = Dialect::default();
    let (_, normal) = cgeo::animation(20, 40);
    let before = |count: usize, length: usize, snapshot: &cgeo::Snapshot| -> cgeo::Snapshot {
        std::iter::repeat_n((OTHER, noise(length)), count)
            .chain(snapshot.iter().cloned())
            .collect()
    };
    let after = |count: usize, length: usize, snapshot: &cgeo::Snapshot| -> cgeo::Snapshot {
        snapshot
            .iter()
            .cloned()
            .chain(std::iter::repeat_n((OTHER, noise(length)), count))
            .collect()
    };
    let between = |length: usize, snapshot: &cgeo::Snapshot| -> cgeo::Snapshot {
        snapshot
            .iter()
            .cloned()
            .flat_map(|section| [(OTHER, noise(length)), section])
            .collect()
    };
    let all = |make: &dyn Fn(&cgeo::Snapshot) -> cgeo::Snapshot| -> Vec<cgeo::Snapshot> {
        normal.iter().map(make).collect()
    };
    let file = |snapshots: &[cgeo::Snapshot]| cgeo::file(snapshots, dialect);
    let mut large_first = normal.clone();
    large_first[0] = after(200, 90_000, &normal[0]);
    let mut middling_first = normal.clone();
    middling_first[0] = after(200, 60_000, &normal[0]);
    let mut large_last = normal.clone();
    large_last[39] = after(200, 10_000, &normal[39]);
    let mut truncated = file(&large_last);
    truncated.truncate(truncated.len() - 4);
    let mut longer = file(&large_last);
    longer.extend(noise(100));
    let far_cloud = all(&|snapshot| {
        let mut snapshot = snapshot.clone();
        snapshot[1].1 = noise(70_000);
        snapshot
    });
    let long_box = all(&|snapshot| {
        let mut snapshot = snapshot.clone();
        snapshot[0].1 = noise(70_000);
        snapshot
    });
    let inflated = dialect.with_size(SizeMeaning::Inflated);
    vec![
        (
            "many sections before the mesh",
            file(&all(&|snapshot| before(100, 5_000, snapshot))),
        ),
        (
            "sections before the mesh",
            file(&all(&|snapshot| before(25, 90_000, snapshot))),
        ),
        (
            "sections after the mesh",
            file(&all(&|snapshot| after(100, 5_000, snapshot))),
        ),
        (
            "sections between",
            file(&all(&|snapshot| between(70_000, snapshot))),
        ),
        ("far clouds", file(&far_cloud)),
        ("long boxes", file(&long_box)),
        ("a first snapshot of 18 MB", file(&large_first)),
        ("a first snapshot of 12 MB", file(&middling_first)),
        ("a last snapshot of many sections", file(&large_last)),
        ("a truncated last snapshot", truncated),
        ("bytes after the last snapshot", longer),
        (
            "small, with many sections",
            file(
                &normal[..12]
                    .iter()
                    .map(|one| after(8, 5_000, one))
                    .collect::<Vec<_>>(),
            ),
        ),
        (
            "inflated sizes",
            cgeo::file(&all(&|snapshot| before(20, 5_000, snapshot)), inflated),
        ),
        ("no snapshots", noise_after_header()),
        ("a table of 100,000 snapshots", long_table()),
        ("names in the header", cgeo::long_names(4_000, 200)),
    ]
}

/// A table of offsets into noise.
fn noise_after_header() -> Vec<u8> {
    let mut out = cgeo::header(1000, Dialect::default());
    let start = out.len() as u64 + 8000;
    (0..1000_u64).for_each(|index| out.extend((start + index * 5_000).to_le_bytes()));
    out.extend(noise(5_000_000));
    out
}

/// A table in which all entries name few snapshots, in turn.
fn long_table() -> Vec<u8> {
    let (_, snapshots) = cgeo::animation(40, 12);
    let bytes: Vec<_> = snapshots
        .iter()
        .map(|snapshot| cgeo::snapshot_bytes(snapshot, Dialect::default()))
        .collect();
    let mut out = Cursor::new(Vec::new());
    cgeo::spread_to(&mut out, &bytes, 100_000, 8_000_000).unwrap();
    out.into_inner()
}

/// Facts that were not read are named, and a file on the disk has the same facts.
#[test]
fn info_of_any_proxy_takes_at_most_100_requests() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.cgeo");
    println!("| proxy | requests | bytes |");
    let mut above = Vec::new();
    for (name, bytes) in hostile_proxies() {
        std::fs::write(&path, &bytes).unwrap();
        let file = Counted::new(bytes);
        let facts = |of: &str| {
            let done = child::meshmap().args(["info", "--json", of]).run();
            let mut object: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap();
            let page = child::meshmap().args(["info", of]).run();
            for not_read in object["cgeo"]["not_read"].as_array().into_iter().flatten() {
                let page = String::from_utf8_lossy(&page.stdout)
                    .split_whitespace()
                    .collect::<Vec<_>>()
                    .join(" ");
                assert!(
                    page.contains(not_read.as_str().unwrap()),
                    "{name}: {not_read} in {page}"
                );
            }
            ["cgeo", "meshes", "damage"].map(|name| object[name].take())
        };
        let on_disk = facts(path.to_str().unwrap());
        let address = file.server.address.clone();
        let done = child::meshmap().args(["info", &address]).run();
        let cost = file.take();
        let row = format!(
            "| {name} | {} | {} | {:?}",
            cost.requests,
            cost.bytes,
            done.status.code()
        );
        println!("{row} {}", on_disk[0]["not_read"]);
        if cost.requests > 100 || cost.requests == 0 {
            above.push(row);
        }
        assert_eq!(facts(&address), on_disk, "{name}");
    }
    assert!(
        above.is_empty(),
        "more than 100 requests:\n{}",
        above.join("\n")
    );
}
