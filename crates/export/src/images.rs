//! The images that a file names, as the output refers to them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

use meshmap::{Semantic, texture_paths};
use meshmap_job::{Error, ImageProblem, Result, Why};
use meshmap_outputs::{Output, Place, RecordedPath, Written, open_regular};
use meshmap_scene::{FactKind, Material, Scene, Shape, is_image};

use crate::files::folder_of_textures;
use crate::looked_for::Found;
use crate::outcome::Outcome;
use crate::settings::Job;
use crate::texture::{self, Image, Kind, or_current};

/// An image of the output.
pub(crate) struct Texture {
    pub(crate) kind: Kind,
    /// The image itself.
    pub(crate) image: PathBuf,
    /// The path relative to the folder of the output, with slashes; `None` if the image is put into the output.
    pub(crate) reference: Option<String>,
}

impl Texture {
    /// The relative path of the image in a line of text, where it must not look like an option.
    pub(crate) fn path(&self) -> String {
        let Some(path) = &self.reference else {
            return String::new();
        };
        if path.starts_with("../") {
            path.clone()
        } else {
            format!("./{path}")
        }
    }
}

/// The images of an output.
#[derive(Default)]
pub(crate) struct Images {
    /// The images by the names that materials have for them.
    textures: HashMap<String, Texture>,
    /// Images that are copied before the output appears.
    copies: Vec<Copied>,
}

/// An image, and the place of its copy.
struct Copied {
    image: PathBuf,
    place: Place,
}

impl Images {
    /// Finds the images that the materials of a scene name.
    pub(crate) fn find(
        scene: &Scene,
        job: &Job<'_>,
        output: &Place,
        outcome: &mut Outcome,
    ) -> Result<Self> {
        // Each name, and whether a mesh with it has texture coordinates.
        let mut names: BTreeMap<&str, bool> = BTreeMap::new();
        for shape in scene.shapes() {
            if let Some(name) = shape.material().and_then(|material| material.image) {
                *names.entry(name).or_default() |= has_coordinates(shape);
            }
        }
        // The ledger reports images that a target drops without looking for them.
        if !job.target.has_textures() || scene.are_points() {
            return Ok(Self::default());
        }
        let mut files = Files {
            job,
            output,
            copies: HashMap::new(),
            taken: HashSet::new(),
            copied: Vec::new(),
        };
        let mut textures = HashMap::new();
        let bytes: usize = names.keys().map(|name| name.len()).sum();
        job.budget
            .charge_for::<[u8; 512]>(names.len(), "textures")?;
        job.budget.charge(2 * bytes as u64, "names of textures")?;
        for (name, has_coords) in names {
            match files.texture(name, has_coords, outcome) {
                Ok(texture) => drop(textures.insert(name.to_owned(), texture)),
                // Most names of materials mean no image.
                Err(problem) if is_image(name) || problem.is_of_found() => {
                    let why = Why::Image(problem);
                    outcome.report.leave_out(FactKind::Images, why, name);
                }
                Err(_) => {}
            }
        }
        Ok(Self {
            textures,
            copies: files.copied,
        })
    }

    /// The image of a material.
    pub(crate) fn of(&self, material: Option<Material<'_>>) -> Option<&Texture> {
        self.textures.get(material?.image?)
    }

    /// Moves the files of the output to their paths, after the copies of images. The last one marks the output as complete.
    pub(crate) fn finish(
        &self,
        outputs: Vec<Output>,
        job: &Job<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        self.finish_with(&self.copies, outputs, job, outcome)
    }

    /// Like [`finish`](Self::finish), for an output that refers to no image.
    pub(crate) fn finish_without(
        &self,
        outputs: Vec<Output>,
        job: &Job<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        self.finish_with(&[], outputs, job, outcome)
    }

    fn finish_with(
        &self,
        copies: &[Copied],
        outputs: Vec<Output>,
        job: &Job<'_>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        match finish_together(copies, outputs, job) {
            Ok(written) => {
                outcome.files.extend(written);
                Ok(())
            }
            Err(error) => {
                if let Some(folder) = copies.first().and_then(|copy| copy.place.parent()) {
                    folder.remove_empty_folder();
                }
                Err(error)
            }
        }
    }
}

fn finish_together(copies: &[Copied], outputs: Vec<Output>, job: &Job<'_>) -> Result<Vec<Written>> {
    let mut all = Vec::new();
    for copied in copies {
        all.push(copy(copied, job).map_err(|error| match error {
            Error::Write(error) => {
                let path = copied.place.path();
                let text = format!("{}: {error}", path.display());
                Error::Write(io::Error::new(error.kind(), text))
            }
            error => error,
        })?);
    }
    all.extend(outputs);
    Ok(Output::finish_together(all)?)
}

fn copy(copied: &Copied, job: &Job<'_>) -> Result<Output> {
    let mut source = open_regular(&copied.image)?;
    let mut output = job.budget.output(&copied.place)?;
    io::copy(&mut source, &mut output)?;
    Ok(output)
}

fn has_coordinates(shape: &Shape) -> bool {
    let mut attributes = shape.attributes().iter();
    attributes.any(|info| info.semantic == Semantic::TexCoord(0))
}

/// The images of one output.
struct Files<'a> {
    job: &'a Job<'a>,
    output: &'a Place,
    /// The paths of copies by their images, and their names in lower case.
    copies: HashMap<PathBuf, String>,
    taken: HashSet<String>,
    copied: Vec<Copied>,
}

impl Files<'_> {
    /// The image that a name means, or why the output has none.
    fn texture(
        &mut self,
        name: &str,
        has_coordinates: bool,
        outcome: &mut Outcome,
    ) -> Result<Texture, ImageProblem> {
        /// More names cost a lot of time, and no file of an artist has them.
        const MOST: usize = 1024;
        let job = self.job;
        if !has_coordinates {
            return Err(ImageProblem::NoCoordinates);
        }
        let folders: Vec<&PathBuf> = job.folder.iter().chain(&job.textures).collect();
        if folders.is_empty() {
            return Err(ImageProblem::NotLookedFor);
        }
        if texture_paths(name).is_empty() {
            return Err(self.absent());
        }
        if outcome.textures.images.len() == MOST {
            return Err(ImageProblem::TooManyNames);
        }
        if outcome.textures.is_empty() {
            outcome.textures.target = job.target.name().to_owned();
            let whole = |folder: &&PathBuf| {
                RecordedPath::of(&std::path::absolute(or_current(folder)).unwrap_or_default())
            };
            outcome.textures.folders = folders.iter().map(whole).collect();
            let is_relative = !job.embed_textures && !job.copy_textures;
            let folder = self.output.folder_path();
            outcome.textures.output = is_relative.then(|| texture::resolved(&folder)).flatten();
        }
        let image = texture::find(name, &folders, job.target);
        let texture = match &image {
            Ok(image) => self.place(image),
            Err(problem) => Err(problem.unwrap_or_else(|| self.absent())),
        };
        let is_used = texture.is_ok();
        let found = image.ok().map(|image| Found {
            file: RecordedPath::of(&image.path),
            stamp: image.stamp,
            is_used,
        });
        outcome.textures.images.push((name.to_owned(), found));
        texture
    }

    /// The reference of the output to an image.
    fn place(&mut self, image: &Image) -> Result<Texture, ImageProblem> {
        let mut reference = None;
        if !self.job.embed_textures {
            let path = match self.job.copy_textures {
                true => self.copy(&image.path),
                false => self.reference(&image.path),
            };
            let path = path.filter(|path| !path.contains(char::is_control));
            reference = Some(path.ok_or(ImageProblem::NotText)?);
        }
        Ok(Texture {
            kind: image.kind,
            image: image.path.clone(),
            reference,
        })
    }

    /// The reason why an image was not found.
    fn absent(&self) -> ImageProblem {
        match (&self.job.folder, self.job.textures.is_empty()) {
            (Some(_), true) => ImageProblem::NotBeside,
            (None, true) => ImageProblem::NotLookedFor,
            (_, false) => ImageProblem::NotFound,
        }
    }

    /// The path from the output to a file; `None` if there is none in Unicode.
    fn reference(&self, file: &Path) -> Option<String> {
        let from = fs::canonicalize(or_current(&self.output.folder_path())).ok()?;
        let parts: Vec<Component<'_>> = file.components().collect();
        let from: Vec<Component<'_>> = from.components().collect();
        let shared = parts.iter().zip(&from).take_while(|(a, b)| a == b).count();
        // Drives of Windows share nothing.
        let below = parts.get(shared..).filter(|_| shared > 0)?;
        let up = std::iter::repeat_n(Some(".."), from.len() - shared);
        let parts: Option<Vec<&str>> = up
            .chain(below.iter().map(|part| part.as_os_str().to_str()))
            .collect();
        Some(parts?.join("/"))
    }

    /// Has an image copied to the folder `OUTPUT.textures`, which belongs to this output; returns the path of the copy from there.
    fn copy(&mut self, image: &Path) -> Option<String> {
        if let Some(known) = self.copies.get(image) {
            return Some(known.clone());
        }
        let folder = folder_of_textures(self.output.below());
        let folder = folder.file_name()?.to_str()?;
        let image_name = image.file_name()?.to_str()?.to_owned();
        let (stem, ending) = image_name.rsplit_once('.').unwrap_or((&image_name, ""));
        let mut copy = image_name.clone();
        // Some systems do not distinguish upper and lower case.
        for number in 1.. {
            if self.taken.insert(copy.to_lowercase()) {
                break;
            }
            copy = format!("{stem}_{number}.{ending}");
        }
        let place = self.output.beside(Path::new(folder).join(&copy)).ok()?;
        self.copied.push(Copied {
            image: image.to_owned(),
            place,
        });
        let relative = format!("{folder}/{copy}");
        self.copies.insert(image.to_owned(), relative.clone());
        Some(relative)
    }
}
