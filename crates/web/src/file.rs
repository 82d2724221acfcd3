//! A file of any of the formats that the module has.

use meshmap::slmesh::BindShape;
use meshmap::{Address, Finding, Format, MeshView, Options, Role, Source};

#[cfg(feature = "cgeo")]
use meshmap::cgeo;
#[cfg(feature = "iqm")]
use meshmap::iqm;
#[cfg(feature = "openctm")]
use meshmap::openctm;
#[cfg(feature = "slmesh")]
use meshmap::slmesh;
#[cfg(feature = "tmf")]
use meshmap::tmf;

use crate::describe;
use crate::failure::Failure;
#[cfg(feature = "slmesh")]
use crate::json::text;
use crate::json::{Object, list};
use crate::reply::Job;

/// The format of a module that has no other.
const ALONE: Option<Format> = {
    let has = [
        cfg!(feature = "cgeo"),
        cfg!(feature = "iqm"),
        cfg!(feature = "openctm"),
        cfg!(feature = "slmesh"),
        cfg!(feature = "tmf"),
    ];
    match has {
        [true, false, false, false, false] => Some(Format::CGeo),
        [false, true, false, false, false] => Some(Format::Iqm),
        [false, false, true, false, false] => Some(Format::OpenCtm),
        [false, false, false, true, false] => Some(Format::SlMesh),
        [false, false, false, false, true] => Some(Format::Tmf),
        _ => None,
    }
};

pub(crate) enum File {
    #[cfg(feature = "cgeo")]
    CGeo(cgeo::Proxy),
    #[cfg(feature = "iqm")]
    Iqm(iqm::Model),
    #[cfg(feature = "openctm")]
    OpenCtm(openctm::Container),
    #[cfg(feature = "slmesh")]
    SlMesh(slmesh::Asset, Option<Level>),
    #[cfg(feature = "tmf")]
    Tmf(tmf::Document),
}

/// The block of a Second Life mesh that was decoded last.
#[cfg(feature = "slmesh")]
pub(crate) struct Level {
    name: &'static str,
    role: Role,
    mesh: slmesh::Mesh,
}

/// A block of a Second Life mesh that holds faces.
#[cfg(feature = "slmesh")]
struct Block {
    name: &'static str,
    /// 0 is the finest; `None` for physics.
    level: Option<u32>,
    /// Its bytes in the file; `None` if the header has no valid ones.
    byte_range: Option<std::ops::Range<u64>>,
}

#[cfg(feature = "slmesh")]
impl Block {
    fn into_json(self) -> String {
        let object = Object::new().text("name", self.name);
        let object = match self.level {
            Some(level) => object.with("level", &level),
            None => object.with("level", &"null"),
        };
        object.range("byteRange", self.byte_range).end()
    }
}

impl File {
    /// Reads the headers. A module of one format takes every file for one of it, and leaves the other detectors out.
    pub(crate) fn open(source: &Source, options: &Options) -> Job<Self> {
        let format = match ALONE {
            Some(format) => format,
            None => Format::detect(source)?,
        };
        let source = source.clone();
        Ok(match format {
            #[cfg(feature = "cgeo")]
            Format::CGeo => Ok(Self::CGeo(cgeo::Proxy::from_source(source, options)?)),
            #[cfg(feature = "iqm")]
            Format::Iqm => Ok(Self::Iqm(iqm::Model::from_source(source, options)?)),
            #[cfg(feature = "openctm")]
            Format::OpenCtm => Ok(Self::OpenCtm(openctm::Container::from_source(
                source, options,
            )?)),
            #[cfg(feature = "slmesh")]
            Format::SlMesh => Ok(Self::SlMesh(
                slmesh::Asset::from_source(source, options)?,
                None,
            )),
            #[cfg(feature = "tmf")]
            Format::Tmf => Ok(Self::Tmf(tmf::Document::from_source(source, options)?)),
            #[allow(unreachable_patterns, reason = "formats that the module lacks")]
            other => Err(Failure::new(
                "unsupported",
                "format",
                "one that this module was built with",
                &other.to_string(),
            )),
        })
    }

    fn format(&self) -> Format {
        match self {
            #[cfg(feature = "cgeo")]
            Self::CGeo(_) => Format::CGeo,
            #[cfg(feature = "iqm")]
            Self::Iqm(_) => Format::Iqm,
            #[cfg(feature = "openctm")]
            Self::OpenCtm(_) => Format::OpenCtm,
            #[cfg(feature = "slmesh")]
            Self::SlMesh(..) => Format::SlMesh,
            #[cfg(feature = "tmf")]
            Self::Tmf(_) => Format::Tmf,
        }
    }

    fn findings(&self) -> &[Finding] {
        match self {
            #[cfg(feature = "cgeo")]
            Self::CGeo(file) => file.findings(),
            #[cfg(feature = "iqm")]
            Self::Iqm(file) => file.findings(),
            #[cfg(feature = "openctm")]
            Self::OpenCtm(file) => file.findings(),
            #[cfg(feature = "slmesh")]
            Self::SlMesh(file, _) => file.findings(),
            #[cfg(feature = "tmf")]
            Self::Tmf(file) => file.findings(),
        }
    }

    /// The facts in the headers.
    pub(crate) fn info(&self) -> String {
        let format = self.format();
        let object = Object::new()
            .text("format", &format.to_string())
            .with("conventions", &describe::conventions(format))
            .with("findings", &describe::findings(self.findings()));
        match self {
            #[cfg(feature = "cgeo")]
            Self::CGeo(file) => {
                let timing = file.timing();
                let snapshots = Object::new()
                    .with("count", &file.snapshot_count())
                    .float("start", timing.map(|timing| timing.start()))
                    .float("step", timing.map(|timing| timing.step()));
                let name = file.object_name();
                let unit = file.unit_length().map(|unit| unit.millimeters / 1000.0);
                object
                    .float("metresPerUnit", unit.filter(|unit| unit.is_normal()))
                    .with("meshCount", &file.snapshot_count())
                    .with("snapshots", &snapshots.end())
                    .text_or_null(
                        "name",
                        name.as_ref().map(|name| name.to_string_lossy()).as_deref(),
                    )
            }
            #[cfg(feature = "iqm")]
            Self::Iqm(file) => {
                let anim = |anim: iqm::Anim| {
                    Object::new()
                        .text("name", &anim.name.to_string_lossy())
                        .with("frameCount", &anim.num_frames)
                        .float("framerate", Some(anim.framerate.into()))
                        .float("rate", Some(anim.rate().into()))
                        .with("isLoop", &anim.is_loop())
                        .end()
                };
                object
                    .with("meshCount", &file.meshes().len())
                    .with("anims", &list(file.anims().map(anim)))
                    .with("jointCount", &file.joints().len())
            }
            #[cfg(feature = "openctm")]
            Self::OpenCtm(file) => object.with("meshCount", &file.meshes().len()),
            #[cfg(feature = "slmesh")]
            Self::SlMesh(file, _) => {
                let levels = levels(file);
                let has = |entry: &&slmesh::Entry| matches!(entry.range(), Ok(Some(_)));
                let names = file
                    .entries()
                    .filter(has)
                    .map(|entry| text(&entry.name().to_string_lossy()));
                object
                    .with("blocks", &list(names))
                    .with("meshCount", &levels.len())
                    .with("levels", &list(levels.into_iter().map(Block::into_json)))
            }
            #[cfg(feature = "tmf")]
            Self::Tmf(file) => object.with("meshCount", &file.meshes().len()),
        }
        .end()
    }

    /// The meshes from one number to another. For a Second Life asset, these are the meshes of a block, which is read and kept: the finest
    /// one where `level` is empty.
    #[cfg_attr(
        not(feature = "slmesh"),
        allow(unused_variables, reason = "no other format has blocks")
    )]
    pub(crate) fn list(&mut self, level: &str, range: std::ops::Range<usize>) -> Job<String> {
        Ok(Ok(match self {
            #[cfg(feature = "cgeo")]
            Self::CGeo(file) => {
                let timing = file.timing();
                let seconds = |index| timing.map(|timing| timing.time_of(index));
                let role = |index: usize| Role::Snapshot {
                    index: index as u64,
                    seconds: seconds(index),
                };
                let name = file
                    .object_name()
                    .map(|name| name.to_string_lossy().into_owned());
                let names = &mut std::iter::repeat(name.unwrap_or_default());
                indexed(range, file.snapshot_count(), "snapshots", &role, names)
            }
            #[cfg(feature = "iqm")]
            Self::Iqm(file) => {
                let names = file.meshes().skip(range.start);
                let names = &mut names.map(|mesh| mesh.name.to_string_lossy().into_owned());
                indexed(
                    range,
                    file.meshes().len(),
                    "meshes",
                    &|_| Role::Geometry,
                    names,
                )
            }
            #[cfg(feature = "openctm")]
            Self::OpenCtm(file) => indexed(
                range,
                file.meshes().len(),
                "bodies",
                &|_| Role::Geometry,
                &mut nameless(),
            ),
            #[cfg(feature = "slmesh")]
            Self::SlMesh(file, kept) => {
                let finest = levels(file).first().map(|level| level.name);
                let Some(name) = Some(level).filter(|level| !level.is_empty()).or(finest) else {
                    return Ok(Ok(entries(0, std::iter::empty())));
                };
                match block(file, kept, name)? {
                    Ok(Level { name, role, mesh }) => indexed(
                        range,
                        mesh.faces().len(),
                        &format!("{name}.faces"),
                        &|_| *role,
                        &mut nameless(),
                    ),
                    Err(failure) => return Ok(Err(failure)),
                }
            }
            #[cfg(feature = "tmf")]
            Self::Tmf(file) => {
                let names = file.meshes().skip(range.start);
                let names = &mut names.map(|mesh| mesh.name().to_string_lossy().into_owned());
                indexed(
                    range,
                    file.meshes().len(),
                    "meshes",
                    &|_| Role::Geometry,
                    names,
                )
            }
        }))
    }

    /// The mesh at an address.
    /// The bind shape, which takes vertices that follow joints into the bind pose.
    pub(crate) fn bind_shape(&self) -> meshmap::Result<Option<BindShape>> {
        match self {
            #[cfg(feature = "slmesh")]
            Self::SlMesh(file, _) => Ok(file.skin()?.and_then(|skin| skin.bind_shape())),
            #[allow(unreachable_patterns, reason = "formats that the module lacks")]
            _ => Ok(None),
        }
    }

    pub(crate) fn mesh(&mut self, address: &Address) -> Job<MeshView> {
        match self {
            #[cfg(feature = "cgeo")]
            Self::CGeo(file) => file.mesh_view(address).map(Ok),
            #[cfg(feature = "iqm")]
            Self::Iqm(file) => file.mesh_view(address).map(Ok),
            #[cfg(feature = "openctm")]
            Self::OpenCtm(file) => file.mesh_view(address).map(Ok),
            #[cfg(feature = "slmesh")]
            Self::SlMesh(file, kept) => {
                use meshmap::Segment;
                let [
                    Segment::Field(name),
                    Segment::Field(faces),
                    Segment::Index(index),
                ] = address.segments()
                else {
                    return file.mesh_view(address).map(Ok);
                };
                let mesh = match block(file, kept, name)? {
                    Ok(level) => &level.mesh,
                    Err(failure) => return Ok(Err(failure)),
                };
                let face = usize::try_from(*index).ok().filter(|_| faces == "faces");
                match face.and_then(|index| mesh.face(index).ok()) {
                    Some(face) => face.view().map(Ok),
                    None => file.mesh_view(address).map(Ok),
                }
            }
            #[cfg(feature = "tmf")]
            Self::Tmf(file) => file.mesh_view(address).map(Ok),
        }
    }
}

/// The meshes of `count` that are in a range. The names begin with the first of it.
fn indexed(
    range: std::ops::Range<usize>,
    total: usize,
    path: &str,
    role: &dyn Fn(usize) -> Role,
    names: &mut dyn Iterator<Item = String>,
) -> String {
    let indices = range.start.min(total)..range.end.min(total);
    let entry = |(index, name): (usize, String)| {
        describe::entry(&format!("{path}[{index}]"), &name, role(index))
    };
    entries(total, indices.zip(names).map(entry))
}

/// The number of all meshes, and some of them.
fn entries(total: usize, entries: impl Iterator<Item = String>) -> String {
    Object::new()
        .with("total", &total)
        .with("entries", &list(entries))
        .end()
}

/// No names.
#[cfg(any(feature = "openctm", feature = "slmesh"))]
fn nameless() -> impl Iterator<Item = String> {
    std::iter::repeat_with(String::new)
}

/// The blocks that hold meshes, the finest first, and what they are for.
#[cfg(feature = "slmesh")]
fn levels(file: &slmesh::Asset) -> Vec<Block> {
    let found = |(name, level): (&'static str, Option<u32>)| {
        let byte_range = match file.entry(name)?.range() {
            Ok(range) => Some(range?),
            // Reading it tells what is wrong.
            Err(_) => None,
        };
        Some(Block {
            name,
            level,
            byte_range,
        })
    };
    let lods = (0..)
        .zip(slmesh::Lod::ALL)
        .map(|(level, lod)| (lod.name(), Some(level)));
    let physics = PHYSICS.into_iter().find_map(|name| found((name, None)));
    lods.filter_map(found).chain(physics).collect()
}

/// The mesh for physics, and as it was called first.
#[cfg(feature = "slmesh")]
const PHYSICS: [&str; 2] = ["physics_mesh", "physics_shape"];

/// The block with a name, decoded.
#[cfg(feature = "slmesh")]
fn block<'a>(file: &slmesh::Asset, kept: &'a mut Option<Level>, name: &str) -> Job<&'a Level> {
    let is_kept = kept.as_ref().is_some_and(|level| level.name == name);
    if !is_kept {
        let lod = (0..)
            .zip(slmesh::Lod::ALL)
            .find(|(_, lod)| lod.name() == name);
        let found = match lod {
            Some((level, lod)) => file
                .lod(lod)?
                .map(|mesh| (lod.name(), Role::Lod(level), mesh)),
            None => match PHYSICS.into_iter().find(|physics| *physics == name) {
                Some(name) => file.physics_mesh()?.map(|mesh| (name, Role::Physics, mesh)),
                None => None,
            },
        };
        // The old one goes only where there is another.
        *kept = found
            .map(|(name, role, mesh)| Level { name, role, mesh })
            .or_else(|| kept.take());
    }
    match kept {
        Some(level) if level.name == name => Ok(Ok(level)),
        _ => Ok(Err(Failure::new(
            "out_of_range",
            "level of detail",
            "one that the file has",
            name,
        ))),
    }
}
