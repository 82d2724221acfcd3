//! Whatever the bytes and whatever their format, every way to open them shows the same, and every call is within its limits
//! of memory and of time.
#![no_main]

use std::io;
use std::ops::Range;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use meshmap::iqm::Model;
use meshmap::openctm::Bodies;
use meshmap::slmesh::{Asset, Lod};
use meshmap::tmf::{Document, Packed};
use meshmap::{Address, ErrorKind, Finding, Format, Fragments, Item, MeshFile, ReadRange, Result, Source};
use meshmap_testing::allocator::Counting;
use meshmap_testing::{calls, exercise};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fuzz_target!(|data: &[u8]| {
    let body = Bytes::copy_from_slice(data);
    agree(&body);
    calls::assert_bounded(&body);
    // The first read of a file is so long that it shows the length of a short one, which then is known. What follows
    // behind `filesize` keeps it unknown. Half of the files will do, for these runs take longer.
    if data.last().is_some_and(|last| last & 1 == 1) {
        let mut padded = data.to_vec();
        padded.resize(data.len() + (96 << 10), 0);
        agree(&padded.into());
    }
});

fn agree(body: &Bytes) {
    let memory = Outcome::of(Way::Plain(Source::from_bytes(body.clone())));
    // If the length is unknown, the last snapshot of a CGeo file has no end that could be compared.
    let is_cgeo = match &memory.opened {
        Ok(opened) => opened.format == Format::CGeo,
        Err(error) => error.format() == Some(Format::CGeo),
    };
    for tells_length in if is_cgeo { &[true][..] } else { &[true, false] } {
        let tells_length = *tells_length;
        let reader = Outcome::of(Way::Plain(Source::ranged(Store { body: body.clone(), tells_length })));
        memory.assert_agrees(&reader, tells_length);
        let fragments = Fragments::new(tells_length.then_some(body.len() as u64));
        let stepped = Outcome::of(Way::Stepped { fragments, body: body.clone() });
        memory.assert_agrees(&stepped, tells_length);
    }
}

/// A store of ranges.
struct Store {
    body: Bytes,
    tells_length: bool,
}

impl ReadRange for Store {
    fn len(&self) -> io::Result<Option<u64>> {
        Ok(self.tells_length.then_some(self.body.len() as u64))
    }

    fn read(&self, range: Range<u64>) -> io::Result<Bytes> {
        assert!(range.start <= range.end && range.end - range.start <= 16 << 20, "{range:?}");
        assert!(!self.tells_length || range.end <= self.body.len() as u64, "{range:?}");
        Ok(part(&self.body, &range))
    }
}

/// The bytes of a range, as far as there are any.
fn part(body: &Bytes, range: &Range<u64>) -> Bytes {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(body.len());
    body.slice(at(range.start)..at(range.end))
}

/// The kind of a source.
enum Way {
    Plain(Source),
    Stepped { fragments: Fragments, body: Bytes },
}

impl Way {
    /// Does a job, fetching what it asks for.
    fn run<T>(&self, job: impl Fn(&Source) -> Result<T>) -> Result<T> {
        // Windows double, so that even a chain of headers through all of the file takes no more than this.
        const MOST_TRIPS: usize = 64;
        let (fragments, body) = match self {
            Self::Plain(source) => return job(source),
            Self::Stepped { fragments, body } => (fragments, body),
        };
        let known = fragments.source().len()?;
        for _ in 0..MOST_TRIPS {
            match fragments.step(&job)? {
                Ok(done) => return Ok(done),
                Err(ranges) => {
                    assert!(!ranges.is_empty() && ranges.iter().all(|range| range.start < range.end));
                    assert!(ranges.windows(2).all(|pair| pair[0].end < pair[1].start), "{ranges:?}");
                    let end = ranges.last().map_or(0, |range| range.end);
                    assert!(known.is_none_or(|known| end <= known), "{ranges:?} of {known:?}");
                    ranges.iter().for_each(|range| supply(fragments, body, range));
                }
            }
        }
        panic!("not done after {MOST_TRIPS} trips");
    }
}

/// The responses of a server of ranges: in two pieces, the second one first, and with a few bytes that are there already.
fn supply(fragments: &Fragments, body: &Bytes, range: &Range<u64>) {
    let len = body.len() as u64;
    if range.end > len && fragments.source().len().unwrap().is_none() {
        fragments.set_len(len).unwrap();
    }
    let middle = range.start + (range.end - range.start) / 2;
    for piece in [middle..range.end, range.start.saturating_sub(3)..middle] {
        let start = piece.start.min(len);
        fragments.supply(start, part(body, &piece)).unwrap();
    }
}

/// The observable parts of a file.
struct Outcome {
    opened: Result<Opened>,
}

struct Opened {
    format: Format,
    items: Vec<Item>,
    meshes: Vec<Address>,
    findings: Vec<Finding>,
    validated: Result<Vec<Finding>>,
    arrays: Vec<Result<Bytes>>,
}

impl Outcome {
    fn of(way: Way) -> Self {
        let opened = way.run(|source| MeshFile::from_source(source.clone(), &exercise::options()));
        Self { opened: opened.map_err(exercise::seen).map(|file| Opened::of(&way, &file)) }
    }

    fn assert_agrees(&self, other: &Self, tells_length: bool) {
        match (&self.opened, &other.opened) {
            (Ok(one), Ok(other)) => one.assert_agrees(other, tells_length),
            // A file that is shorter than it says cannot be recognized if the length is unknown, unless something is
            // read that is not there. Whatever else is wrong with the file may then be seen first.
            (Err(error), _) if !tells_length && error.kind() == ErrorKind::Truncated => {}
            (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
            (Ok(_), Err(error)) => panic!("opens from memory, but: {error}"),
            (Err(error), Ok(_)) => panic!("opens, but not from memory: {error}"),
        }
    }
}

fn kind<T>(result: &Result<T>) -> Option<ErrorKind> {
    result.as_ref().err().map(meshmap::Error::kind)
}

impl Opened {
    fn of(way: &Way, file: &MeshFile) -> Self {
        const MOST: usize = 16;
        let mut arrays = Vec::new();
        match file {
            MeshFile::CGeo(proxy) => {
                for index in 0..proxy.snapshot_count().min(MOST) {
                    arrays.push(way.run(|_| Ok(proxy.snapshot(index)?.positions()?.into_bytes())));
                }
            }
            MeshFile::Iqm(model) => Self::iqm(way, model, &mut arrays),
            MeshFile::OpenCtm(bodies) => Self::openctm(way, bodies, &mut arrays),
            MeshFile::SlMesh(asset) => Self::slmesh(way, asset, &mut arrays),
            MeshFile::Tmf(document) => Self::tmf(way, document, &mut arrays),
            other => panic!("a format that this target does not know: {other:?}"),
        }
        let list = |_: &_| Ok(file.meshes()?.map(|entry| entry.address).collect::<Vec<_>>());
        let meshes = way.run(list).unwrap_or_default();
        for address in meshes.iter().take(MOST) {
            arrays.push(way.run(|_| {
                let indices = file.mesh(address)?.indices().to_vec();
                Ok(indices.into_iter().flat_map(u32::to_le_bytes).collect())
            }));
        }
        // Each snapshot takes a separate trip.
        let validated = if meshes.len() <= MOST { way.run(|_| file.validate()) } else { Ok(Vec::new()) };
        let (items, findings) = (file.items().collect(), file.findings().to_vec());
        Self { format: file.format(), items, meshes, findings, validated, arrays }
    }

    fn iqm(way: &Way, model: &Model, arrays: &mut Vec<Result<Bytes>>) {
        const MOST: usize = 16;
        for index in 0..model.vertex_arrays().len().min(MOST) {
            arrays.push(way.run(|_| Ok(model.vertex_array(index)?.into_bytes())));
        }
        arrays.push(way.run(|_| Ok(model.triangles()?.into_bytes())));
        arrays.push(way.run(|_| Ok(model.adjacency()?.map(|array| array.into_bytes()).unwrap_or_default())));
        arrays.push(way.run(|_| Ok(model.bounds()?.map(|array| array.into_bytes()).unwrap_or_default())));
        let last = model.frames().len().saturating_sub(1);
        arrays.push(way.run(|_| {
            let mut out = vec![Default::default(); model.frames().pose_count()];
            model.frames().read_frame_into(last, &mut out)?;
            Ok(format!("{out:?}").into())
        }));
    }

    fn openctm(way: &Way, bodies: &Bodies, arrays: &mut Vec<Result<Bytes>>) {
        const MOST: usize = 16;
        for mesh in bodies.meshes().take(MOST) {
            arrays.push(way.run(|_| Ok(mesh.normals()?.map(|array| array.into_bytes()).unwrap_or_default())));
            arrays.push(way.run(|_| Ok(mesh.positions()?.into_bytes())));
            for map in mesh.uv_maps().take(MOST) {
                arrays.push(way.run(|_| Ok(map.read()?.into_bytes())));
            }
            for map in mesh.attribute_maps().take(MOST) {
                arrays.push(way.run(|_| Ok(map.read()?.into_bytes())));
            }
        }
    }

    fn tmf(way: &Way, document: &Document, arrays: &mut Vec<Result<Bytes>>) {
        const MOST: usize = 16;
        for mesh in document.meshes().take(MOST) {
            let decoded = |array: Option<Packed<[f32; 3]>>| match array {
                Some(array) => way.run(|_| Ok(array.read()?.into_bytes())),
                None => Ok(Bytes::new()),
            };
            arrays.push(decoded(mesh.positions()));
            arrays.push(decoded(mesh.normals()));
            arrays
                .push(way.run(|_| Ok(mesh.indices()?.positions.map(|a| a.into_bytes()).unwrap_or_default())));
            arrays.push(way.run(|_| Ok(format!("{:?}", mesh.custom()?).into())));
        }
    }

    /// Every block that is a mesh is fetched here, so that its faces are listed.
    fn slmesh(way: &Way, asset: &Asset, arrays: &mut Vec<Result<Bytes>>) {
        let content =
            |mesh: Option<meshmap::slmesh::Mesh>| mesh.map(|mesh| mesh.content().clone()).unwrap_or_default();
        for lod in Lod::ALL {
            arrays.push(way.run(|_| Ok(content(asset.lod(lod)?))));
        }
        arrays.push(way.run(|_| Ok(content(asset.physics_mesh()?))));
        arrays.push(way.run(|_| Ok(format!("{:?}", asset.physics_convex()?).into())));
        arrays.push(way.run(|_| Ok(format!("{:?}", asset.skin()?).into())));
        arrays.push(way.run(|_| Ok(format!("{:?}", asset.decode_all()?.lods).into())));
    }

    fn assert_agrees(&self, other: &Self, tells_length: bool) {
        // Bytes after the end cannot be seen if the length is unknown.
        let comparable = |findings: &[Finding]| {
            let visible = |finding: &&Finding| tells_length || finding.rule.id != "trailing_bytes";
            findings.iter().filter(visible).cloned().collect::<Vec<_>>()
        };
        // A body behind the first one may be cut there, or anything else, which is then seen in its place.
        let damaged = |finding: &Finding| finding.rule.id == "damaged_body";
        if !tells_length && self.findings.iter().chain(&other.findings).any(damaged) {
            return;
        }
        assert_eq!(self.items, other.items);
        assert_eq!(self.meshes, other.meshes);
        assert_eq!(comparable(&self.findings), comparable(&other.findings));
        match (&self.validated, &other.validated) {
            (Ok(one), Ok(other)) => assert_eq!(comparable(one), comparable(other)),
            (one, other) => assert_eq!(kind(one), kind(other)),
        }
        assert_eq!(self.arrays.len(), other.arrays.len());
        for (one, other) in self.arrays.iter().zip(&other.arrays) {
            match (one, other) {
                (Ok(one), Ok(other)) => assert!(one == other, "other bytes"),
                (Err(one), Err(other)) => assert_eq!(one.to_string(), other.to_string()),
                (one, other) => panic!("{:?}, but {:?}", kind(one), kind(other)),
            }
        }
    }
}
