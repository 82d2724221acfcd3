//! The facts in the headers of a file, and the list of its meshes.

use std::ops::Range;

use meshmap::{MeshEntry, MeshFile, Role, iqm, slmesh};

use crate::describe;
use crate::failure::Failure;
use crate::json::{List, Object, text};
use crate::reply::Job;

/// A block of a Second Life mesh that holds faces.
struct Level {
    name: &'static str,
    role: Role,
    /// The bytes of the block in the file; `None` if the header has no valid ones.
    byte_range: Option<Range<u64>>,
}

impl Level {
    fn to_json(&self) -> String {
        let object = Object::new().text("name", self.name);
        let object = match self.role {
            Role::Lod(level) => object.with("level", &level),
            _ => object.with("level", &"null"),
        };
        object.range("byteRange", self.byte_range.clone()).end()
    }
}

/// The facts in the headers.
pub(crate) fn info(file: &MeshFile) -> String {
    let object = Object::new()
        .text("format", file.format().name())
        .with("conventions", &describe::conventions(file.format()))
        .with("findings", &describe::findings(file.findings()));
    let object = match file {
        MeshFile::CGeo(proxy) => {
            let timing = proxy.timing();
            // Some files store 0 or less.
            let step = timing.map(|timing| timing.step());
            let step = step.filter(|step| *step > 0.0);
            let snapshots = Object::new()
                .with("count", &proxy.snapshot_count())
                .float("start", timing.map(|timing| timing.start()))
                .float("step", step);
            let name = proxy.object_name();
            let name = name.as_ref().map(|name| name.to_string_lossy());
            object
                .with("meshCount", &proxy.snapshot_count())
                .with("snapshots", &snapshots.end())
                .text_or_null("name", name.as_deref())
        }
        MeshFile::Iqm(model) => object
            .with("meshCount", &model.meshes().len())
            .with("anims", &anims(model))
            .with("jointCount", &model.joints().len()),
        MeshFile::SlMesh(asset) => {
            let levels = levels(asset);
            let mut list = List::new();
            for level in &levels {
                list.push(&level.to_json());
            }
            object
                .with("blocks", &blocks(asset))
                .with("meshCount", &levels.len())
                .with("levels", &list.end())
        }
        MeshFile::OpenCtm(bodies) => object.with("meshCount", &bodies.meshes().len()),
        MeshFile::Tmf(document) => object.with("meshCount", &document.meshes().len()),
        _ => object,
    };
    object.end()
}

/// The animations of an IQM file as they are stored.
fn anims(model: &iqm::Model) -> String {
    let mut list = List::new();
    for anim in model.anims() {
        let object = Object::new()
            .text("name", &anim.name.to_string_lossy())
            .with("frameCount", &anim.num_frames)
            .float("framerate", Some(anim.framerate.into()))
            .with("isLoop", &anim.is_loop());
        list.push(&object.end());
    }
    list.end()
}

/// The names of the blocks that a Second Life mesh has.
fn blocks(asset: &slmesh::Asset) -> String {
    let mut list = List::new();
    for entry in asset.entries() {
        if matches!(entry.range(), Ok(Some(_))) {
            list.push(&text(&entry.name().to_string_lossy()));
        }
    }
    list.end()
}

/// The blocks that hold faces, the finest first, then the one for physics, under either of its names.
fn levels(asset: &slmesh::Asset) -> Vec<Level> {
    let mut known = Vec::new();
    for (level, lod) in (0..).zip(slmesh::Lod::ALL) {
        known.push((lod.name(), Role::Lod(level)));
    }
    known.push(("physics_mesh", Role::Physics));
    known.push(("physics_shape", Role::Physics));
    let mut levels: Vec<Level> = Vec::new();
    for (name, role) in known {
        let Some(entry) = asset.entry(name) else {
            continue;
        };
        let byte_range = match entry.range() {
            Ok(None) => continue,
            Ok(range) => range,
            // Reading the block reports the damage.
            Err(_) => None,
        };
        if levels.iter().all(|level| level.role != role) {
            levels.push(Level {
                name,
                role,
                byte_range,
            });
        }
    }
    levels
}

/// The bytes of what is drawn of a file of which all meshes are shown: of IQM files, all but the neighbours of triangles, and the comment.
pub(crate) fn shown(file: &MeshFile) -> Vec<Range<u64>> {
    let length = file.source().len().ok().flatten().unwrap_or_default();
    let mut hidden = Vec::new();
    if let Some(model) = file.as_iqm() {
        let header = model.header();
        let triangles = u64::from(header.num_triangles.get());
        for (start, bytes) in [
            (header.ofs_adjacency, 12 * triangles),
            (header.ofs_comment, header.num_comment.get().into()),
        ] {
            let start = u64::from(start.get());
            if start > 0 {
                hidden.push(start..start + bytes);
            }
        }
    }
    hidden.sort_unstable_by_key(|range| range.start);
    hidden.push(length..length);
    let mut shown = Vec::new();
    let mut at = 0;
    for range in hidden {
        if at < range.start.min(length) {
            shown.push(at..range.start.min(length));
        }
        at = at.max(range.end);
    }
    shown
}

/// Some of the meshes of a list, and the number of all.
pub(crate) struct Listing {
    pub(crate) total: usize,
    pub(crate) entries: Vec<MeshEntry>,
}

impl Listing {
    /// The meshes with these numbers. For a Second Life mesh, these are faces of a block, which is read; of the finest block if `level` is
    /// empty.
    pub(crate) fn new(file: &MeshFile, level: &str, range: Range<usize>) -> Job<Self> {
        let Some(asset) = file.as_slmesh() else {
            let meshes = file.meshes()?;
            let total = meshes.len();
            let entries = meshes.skip(range.start).take(range.len()).collect();
            return Ok(Self { total, entries });
        };
        let mut levels = levels(asset).into_iter();
        let Some(wanted) = levels.find(|found| level.is_empty() || found.name == level) else {
            if level.is_empty() {
                let entries = Vec::new();
                return Ok(Self { total: 0, entries });
            }
            let expected = "one that the file has";
            let failure = Failure::new("out_of_range", "level of detail", expected, level);
            return Err(failure.into());
        };
        let mut total = 0;
        let mut entries = Vec::new();
        for entry in file.meshes_where(move |role| role == wanted.role)? {
            if range.contains(&total) {
                entries.push(entry);
            }
            total += 1;
        }
        Ok(Self { total, entries })
    }

    pub(crate) fn into_json(self) -> String {
        let mut entries = List::new();
        for entry in self.entries {
            entries.push(&describe::entry(entry));
        }
        Object::new()
            .with("total", &self.total)
            .with("entries", &entries.end())
            .end()
    }
}
