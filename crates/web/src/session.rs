//! A file that is being read, and the jobs over it.

use std::ops::Range;

#[cfg(feature = "cgeo")]
use meshmap::cgeo::Parts;
use meshmap::{Address, Fragments, Limits, Options, Parallelism, Semantic};

use crate::failure::Failure;
use crate::file::File;
#[cfg(feature = "cgeo")]
use crate::playback::{self, Playing};
use crate::reply::{Job, Reply};
#[cfg(feature = "iqm")]
use crate::rig;
#[cfg(feature = "slmesh")]
use crate::skin;
use crate::vertices::{self, Wanted};

/// The memory that a file may take.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The size of the largest decoded array or block.
    pub max_block_bytes: u64,
    /// The most that one job decodes, hands out, or asks for at once.
    pub max_total_bytes: u64,
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
    /// 512 MiB and 1 GiB: what a module with 4 GiB of memory has room for.
    fn default() -> Self {
        Self {
            max_block_bytes: 512 << 20,
            max_total_bytes: 1 << 30,
        }
    }
}

/// A file that is read by ranges, without I/O.
///
/// A job is a method that returns `Ok(None)` where bytes are missing.
pub struct Session {
    fragments: Fragments,
    options: Options,
    file: Option<File>,
    needed: Vec<Range<u64>>,
    #[cfg(feature = "cgeo")]
    playing: Option<Playing>,
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
            file: None,
            needed: Vec::new(),
            #[cfg(feature = "cgeo")]
            playing: None,
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
    pub fn needed(&self, gap: u64, first: u64) -> Vec<Range<u64>> {
        self.fragments.requests(&self.needed, gap, first)
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
    fn run<T>(&mut self, job: impl FnOnce(&mut Self) -> Job<T>) -> Result<Option<T>, Failure> {
        let fragments = self.fragments.clone();
        match fragments.step(|_| job(self))? {
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
        self.run(|this| {
            let source = this.fragments.source();
            let file = match File::open(&source, &this.options)? {
                Ok(file) => file,
                Err(failure) => return Ok(Err(failure)),
            };
            let reply = Reply::from(file.info());
            this.file = Some(file);
            Ok(Ok(reply))
        })
    }

    /// Runs a job over the file, which is open.
    fn with_file(
        &mut self,
        job: impl FnOnce(&mut File, &Options) -> Job<Reply>,
    ) -> Result<Option<Reply>, Failure> {
        self.run(|this| match &mut this.file {
            Some(file) => job(file, &this.options),
            None => Ok(Err(Failure::new(
                "out_of_range",
                "file",
                "one that is open",
                "none",
            ))),
        })
    }

    /// Job: the meshes with these numbers. Of a Second Life mesh, the faces of a block, such as `lowest_lod`, which is read
    /// and kept; the finest where the name is empty.
    ///
    /// # Errors
    ///
    /// `out_of_range` if there is no such block, and the errors of reading.
    pub fn list(&mut self, level: &str, range: Range<usize>) -> Result<Option<Reply>, Failure> {
        self.with_file(|file, _| Ok(file.list(level, range)?.map(Reply::from)))
    }

    /// Job: a mesh. The arrays are the attributes, then the indices, then of each group of triangles with one
    /// material three u32: material, first index and number of indices.
    ///
    /// # Errors
    ///
    /// `out_of_range` if there is no such mesh, and the errors of reading.
    pub fn mesh(&mut self, address: &str, wanted: &Wanted) -> Result<Option<Reply>, Failure> {
        let address: Address = address.parse().map_err(meshmap::Error::from)?;
        self.with_file(|file, options| match file.mesh(&address)? {
            Ok(view) => {
                let follows = wanted.joints.is_some() && view.has(&Semantic::Weights(0));
                let shape = if follows { file.bind_shape()? } else { None };
                vertices::reply(
                    &view,
                    wanted,
                    shape.as_ref(),
                    options.limits.max_total_bytes,
                )
            }
            Err(failure) => Ok(Err(failure)),
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
        self.run(|this| match &this.file {
            #[cfg(feature = "cgeo")]
            Some(File::CGeo(file)) => {
                let normals = if with_normals {
                    Parts::NORMALS
                } else {
                    Parts::NONE
                };
                playback::moment(
                    file,
                    &mut this.playing,
                    base,
                    index,
                    Parts::POSITIONS | normals,
                )
                .map(Ok)
            }
            _ => {
                let _ = (base, index, with_normals);
                Ok(Err(Failure::new(
                    "unsupported",
                    "snapshot",
                    "a CGeo file",
                    "another",
                )))
            }
        })
    }

    /// Job: the joints of an IQM file.
    ///
    /// # Errors
    ///
    /// `unsupported` for other formats.
    pub fn joints(&mut self) -> Result<Option<Reply>, Failure> {
        self.with_file(|file, _| match file {
            #[cfg(feature = "iqm")]
            File::Iqm(file) => Ok(Ok(rig::joints(file))),
            #[allow(unreachable_patterns, reason = "formats that the module lacks")]
            _ => Ok(Err(Failure::new(
                "unsupported",
                "joints",
                "an IQM file",
                "another",
            ))),
        })
    }

    /// Job: the skin of a Second Life mesh. The arrays are the inverse bind matrices and the alternative ones as stored, and for drawing
    /// the matrices from each joint to its parent and their inverse bind matrices, sixteen f32 each.
    ///
    /// # Errors
    ///
    /// `unsupported` for other formats, and the errors of reading.
    pub fn skin(&mut self) -> Result<Option<Reply>, Failure> {
        self.with_file(|file, _| match file {
            #[cfg(feature = "slmesh")]
            File::SlMesh(file, _) => skin::read(file),
            #[allow(unreachable_patterns, reason = "formats that the module lacks")]
            _ => Ok(Err(Failure::new(
                "unsupported",
                "skin",
                "a Second Life mesh",
                "another format",
            ))),
        })
    }

    /// Job: the frames of an animation of an IQM file. Of each frame and each pose ten f32: translation, rotation, scale.
    ///
    /// # Errors
    ///
    /// `unsupported` for other formats, `out_of_range` if there is no such animation, and the errors of reading.
    pub fn frames(&mut self, anim: usize) -> Result<Option<Reply>, Failure> {
        self.with_file(|file, options| match file {
            #[cfg(feature = "iqm")]
            File::Iqm(file) => rig::frames(file, anim, options.limits.max_total_bytes),
            #[allow(unreachable_patterns, reason = "formats that the module lacks")]
            _ => {
                let _ = (anim, options);
                Ok(Err(Failure::new(
                    "unsupported",
                    "frames",
                    "an IQM file",
                    "another",
                )))
            }
        })
    }
}
