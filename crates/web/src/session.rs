//! A file that is being read, and the jobs over it.

use std::ops::Range;

use meshmap::cgeo::Parts;
use meshmap::{Address, Format, Fragments, Limits, MeshFile, Options, Parallelism, Source};
use meshmap::{iqm, openctm, tmf};

use crate::failure::Failure;
use crate::file::{self, Listing};
use crate::playback::{self, Playing};
use crate::reply::{Job, Reply, Stop};
use crate::scene::{Loaded, Selection};
use crate::skin;
use crate::vertices::{self, Joined, Wanted};

/// The memory that a file may take.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The size of the largest decoded array or block.
    pub max_block_bytes: u64,
    /// The most that one job decodes, hands out, or asks for at once.
    pub max_total_bytes: u64,
    /// The most that is fetched with a scene before it is asked for.
    pub max_prefetched_bytes: u64,
}

impl Settings {
    /// The limits of the library. A module has no memory for highly compressible data.
    #[must_use]
    pub fn limits(self) -> Limits {
        Limits::default()
            .with_max_block_bytes(self.max_block_bytes)
            .with_max_total_bytes(self.max_total_bytes)
            .with_free_ratio(0)
            .with_remedies(["maxBlockBytes", "maxTotalBytes", ""])
    }
}

impl Default for Settings {
    /// 512 MiB, 1 GiB and 256 MiB: what a module with 4 GiB of memory has room for.
    fn default() -> Self {
        Self {
            max_block_bytes: 512 << 20,
            max_total_bytes: 1 << 30,
            max_prefetched_bytes: 256 << 20,
        }
    }
}

/// The pieces in which a file is fetched, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pieces {
    /// Ranges that are nearer to each other are one.
    pub gap: u64,
    /// The least of the first one.
    pub first: u64,
    /// The largest file that is fetched whole, if all of it is shown.
    pub whole: u64,
    /// The least of the further ones while a longer file is opened of which all is shown: each part of it says where the next one is.
    pub ahead: u64,
}

/// A file that is read by ranges, without I/O.
///
/// A job is a method that returns `Ok(None)` where bytes are missing.
pub struct Session {
    fragments: Fragments,
    options: Options,
    max_prefetched_bytes: u64,
    file: Option<MeshFile>,
    needed: Vec<Range<u64>>,
    playing: Option<Playing>,
    /// The scenes that were asked for, by their ids.
    selections: Vec<Selection>,
    /// The scene that was used last, and its id.
    loaded: Option<(usize, Loaded)>,
}

impl Session {
    /// A file of this length, if it is known, without any bytes yet.
    #[must_use]
    pub fn new(length: Option<u64>, settings: Settings) -> Self {
        Self {
            fragments: Fragments::new(length),
            options: Options::default()
                .with_limits(settings.limits())
                .with_parallelism(Parallelism::Off),
            max_prefetched_bytes: settings.max_prefetched_bytes,
            file: None,
            needed: Vec::new(),
            playing: None,
            selections: Vec::new(),
            loaded: None,
        }
    }

    /// Sets the length once it is known.
    ///
    /// # Errors
    ///
    /// `mismatch` where another one is known, or bytes after it are there.
    pub fn set_length(&self, length: u64) -> Result<(), Failure> {
        Ok(self.fragments.set_len(length)?)
    }

    /// Adds the bytes at an offset.
    ///
    /// # Errors
    ///
    /// `mismatch` where they reach beyond the length of the file.
    pub fn supply(&self, offset: u64, bytes: Vec<u8>) -> Result<(), Failure> {
        Ok(self.fragments.supply(offset, bytes)?)
    }

    /// The ranges to fetch for what the last job misses, as [`Fragments::requests`] returns them.
    #[must_use]
    pub fn needed(&self, pieces: Pieces) -> Vec<Range<u64>> {
        let Pieces {
            gap,
            first,
            whole,
            ahead,
        } = pieces;
        let mut needed = self.needed.clone();
        let length = self.fragments.source().len().ok().flatten();
        if let Some(length) = length
            && self.shows_all()
            && !needed.is_empty()
        {
            if length <= whole {
                needed = self.fragments.missing(0..length);
            } else if let Some(last) = needed.last_mut()
                && self.file.is_none()
            {
                last.end = last.start.saturating_add(ahead).max(last.end).min(length);
            }
        }
        self.fragments.requests(&needed, gap, first)
    }

    /// `true` if programs show everything that files of this format have, rather than a level of detail or a snapshot.
    fn shows_all(&self) -> bool {
        if let Some(file) = &self.file {
            return matches!(file.format(), Format::Iqm | Format::OpenCtm | Format::Tmf);
        }
        // Detection would bring the code of all formats into the module of one.
        let magics: [&[u8]; 3] = [iqm::raw::MAGIC, &openctm::raw::MAGIC, &tmf::raw::MAGIC];
        let head = self.fragments.source().read(0..16).unwrap_or_default();
        magics.iter().any(|magic| head.starts_with(magic))
    }

    /// The bytes of the file in memory.
    #[must_use]
    pub fn held(&self) -> u64 {
        self.fragments.held()
    }

    /// Lets all bytes of the file go that nothing else uses. Jobs that need them ask for them again.
    pub fn forget(&self) {
        self.fragments.remove(0..u64::MAX);
    }

    /// Runs a job, and keeps what it misses.
    ///
    /// Jobs are not generic: a copy of this for each of them takes 3 kB in a module.
    fn run(
        &mut self,
        job: &mut dyn FnMut(&mut Self) -> Job<Reply>,
    ) -> Result<Option<Reply>, Failure> {
        let fragments = self.fragments.clone();
        let step = |_: &Source| match job(self) {
            Ok(done) => Ok(Ok(done)),
            Err(Stop::Failed(failure)) => Ok(Err(failure)),
            Err(Stop::Read(error)) => Err(error),
        };
        match fragments.step(step)? {
            Ok(done) => {
                self.needed.clear();
                done.map(Some)
            }
            Err(ranges) => {
                let most = self.options.limits.max_total_bytes;
                let bytes = ranges.iter().fold(0_u64, |sum, range| {
                    sum.saturating_add(range.end - range.start)
                });
                if bytes > most {
                    let expected = format!("at most {most} bytes (maxTotalBytes)");
                    return Err(Failure::new(
                        "limit_exceeded",
                        "bytes of a file",
                        &expected,
                        &bytes.to_string(),
                    ));
                }
                self.needed = ranges;
                Ok(None)
            }
        }
    }

    /// Job: reads the headers. Describes the file.
    ///
    /// # Errors
    ///
    /// `unknown_format`, `unsupported` for a format that the module lacks, and the errors of reading.
    pub fn open(&mut self) -> Result<Option<Reply>, Failure> {
        self.run(&mut |this| {
            let source = this.fragments.source();
            let file = MeshFile::from_source(source, &this.options)?;
            let reply = Reply::from(file::info(&file));
            this.file = Some(file);
            Ok(reply)
        })
    }

    /// Runs a job over the file, which is open.
    fn with_file(
        &mut self,
        job: &mut dyn FnMut(&mut Self, &MeshFile) -> Job<Reply>,
    ) -> Result<Option<Reply>, Failure> {
        let Some(file) = self.file.clone() else {
            let failure = Failure::new("out_of_range", "file", "one that is open", "none");
            return Err(failure);
        };
        self.run(&mut |this| job(this, &file))
    }

    /// Job: the meshes with these numbers. For a Second Life mesh, the faces of a block, such as `lowest_lod`, which is read; of the finest
    /// one if the name is empty.
    ///
    /// # Errors
    ///
    /// `out_of_range` if the block does not exist, and the errors of reading.
    pub fn list(&mut self, level: &str, range: Range<usize>) -> Result<Option<Reply>, Failure> {
        self.with_file(&mut |_, file| {
            let listing = Listing::new(file, level, range.clone())?;
            Ok(Reply::from(listing.into_json()))
        })
    }

    /// Job: a mesh as it is stored. The arrays are the attributes, then the indices, then of each group of triangles with one
    /// material three u32: material, first index and number of indices.
    ///
    /// # Errors
    ///
    /// `out_of_range` if the mesh does not exist, and the errors of reading.
    pub fn mesh(&mut self, address: &str, wanted: &Wanted) -> Result<Option<Reply>, Failure> {
        let address: Address = address.parse().map_err(meshmap::Error::from)?;
        self.with_file(&mut |this, file| {
            let view = file.mesh(&address)?;
            let most = this.options.limits.max_total_bytes;
            let mesh = vertices::read(&view, wanted, &Joined::default(), most)?;
            Ok(mesh.into_reply())
        })
    }

    /// Job: the scene of these parts of the file, which replaces the one before. The JSON has its `id`. The array has the inverse bind
    /// matrices, if there are joints.
    ///
    /// With `prefetch`, its shapes and clips are fetched together, before they are asked for, if programs show all of such a file.
    ///
    /// # Errors
    ///
    /// `out_of_range` if the level or snapshot does not exist, and the errors of reading.
    pub fn scene(
        &mut self,
        selection: &Selection,
        prefetch: bool,
    ) -> Result<Option<Reply>, Failure> {
        if prefetch && self.has_to_fetch(selection) {
            return Ok(None);
        }
        let mut same = self.selections.iter();
        let id = same.position(|other| other == selection);
        let id = id.unwrap_or(self.selections.len());
        if id == self.selections.len() {
            self.selections.push(selection.clone());
        }
        self.with_scene(id, &mut |scene, most| scene.reply(id, most))
    }

    /// Notes what is missing of all that is shown of a file, if all of its meshes are; `false` if nothing is, or if it is too much to be fetched
    /// before it is asked for.
    fn has_to_fetch(&mut self, selection: &Selection) -> bool {
        let Some(file) = self.file.as_ref().filter(|_| self.shows_all()) else {
            return false;
        };
        let shown = file::shown(file);
        let bytes = shown.iter().map(|range| range.end - range.start);
        let is_short = bytes.fold(0, u64::saturating_add) <= self.max_prefetched_bytes;
        let are_all = file
            .meshes()
            .is_ok_and(|meshes| meshes.len() <= selection.max_meshes);
        if !is_short || !are_all {
            return false;
        }
        self.needed.clear();
        for range in shown {
            self.needed.extend(self.fragments.missing(range));
        }
        !self.needed.is_empty()
    }

    /// Job: a shape of a scene, to be drawn. The arrays are as for a [mesh](Self::mesh), then the colour of each group in sRGB.
    ///
    /// # Errors
    ///
    /// `out_of_range` if the scene or shape does not exist, and the errors of reading.
    pub fn shape(
        &mut self,
        id: usize,
        index: usize,
        wanted: &Wanted,
    ) -> Result<Option<Reply>, Failure> {
        self.with_scene(id, &mut |scene, most| scene.shape(index, wanted, most))
    }

    /// Job: the keys of a clip of a scene. The arrays are the times in seconds, and for each joint the translations, the rotations
    /// and the scales of all keys.
    ///
    /// # Errors
    ///
    /// `out_of_range` if the scene or clip does not exist, `unsupported` if a joint is sheared, and the errors of reading.
    pub fn clip(&mut self, id: usize, index: usize) -> Result<Option<Reply>, Failure> {
        self.with_scene(id, &mut |scene, _| scene.clip(index))
    }

    /// Runs a job over a scene, which is made again if another one was used meanwhile.
    fn with_scene(
        &mut self,
        id: usize,
        job: &mut dyn FnMut(&mut Loaded, u64) -> Job<Reply>,
    ) -> Result<Option<Reply>, Failure> {
        let Some(selection) = self.selections.get(id).cloned() else {
            let count = format!("less than {}", self.selections.len());
            let failure = Failure::new("out_of_range", "scene", &count, &id.to_string());
            return Err(failure);
        };
        self.with_file(&mut |this, file| {
            let most = this.options.limits.max_total_bytes;
            let mut scene = match this.loaded.take() {
                Some((loaded, scene)) if loaded == id => scene,
                _ => Loaded::new(file, &selection)?,
            };
            let reply = job(&mut scene, most);
            this.loaded = Some((id, scene));
            reply
        })
    }

    /// Job: positions of a CGeo snapshot, for the vertices of the mesh at snapshot `base`; with `with_normals`, also its normals.
    ///
    /// # Errors
    ///
    /// `unsupported` for other formats, and the errors of reading.
    pub fn moment(
        &mut self,
        base: usize,
        index: usize,
        with_normals: bool,
    ) -> Result<Option<Reply>, Failure> {
        self.with_file(&mut |this, file| {
            let Some(proxy) = file.as_cgeo() else {
                return Err(unsupported("snapshot", "a CGeo file").into());
            };
            let normals = if with_normals {
                Parts::NORMALS
            } else {
                Parts::NONE
            };
            let parts = Parts::POSITIONS | normals;
            Ok(playback::moment(
                proxy,
                &mut this.playing,
                base,
                index,
                parts,
            )?)
        })
    }

    /// Job: the skin of a Second Life mesh as it is stored. The arrays are the inverse bind matrices and the alternative ones, sixteen f32
    /// each.
    ///
    /// # Errors
    ///
    /// `unsupported` for other formats, and the errors of reading.
    pub fn skin(&mut self) -> Result<Option<Reply>, Failure> {
        self.with_file(&mut |_, file| match file.as_slmesh() {
            Some(asset) => Ok(skin::read(asset)?),
            None => Err(unsupported("skin", "a Second Life mesh").into()),
        })
    }
}

fn unsupported(what: &str, expected: &str) -> Failure {
    Failure::new("unsupported", what, expected, "another format")
}
