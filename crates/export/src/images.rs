//! The images that a file names, as the output refers to them.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use meshmap::Semantic;
use meshmap_images::{Alpha, Found, Kind};
use meshmap_job::{
    Change, Error, ImageProblem, MOST_NAMES, Result, Search, Warning, decode_within, keep_image,
    or_current, report_missing,
};
use meshmap_outputs::{Output, Place, Written, open_regular};
use meshmap_scene::{Material, Scene, Shape};

use crate::files::folder_of_textures;
use crate::names::identifier;
use crate::outcome::Outcome;
use crate::settings::{Job, Target};

/// An image of the output.
pub(crate) struct Texture {
    /// The kind of image that the output has or refers to.
    pub(crate) kind: Kind,
    /// The image that was found.
    pub(crate) image: PathBuf,
    /// The image as a PNG, if the output has that instead.
    pub(crate) png: Option<Arc<Vec<u8>>>,
    /// The use of its alpha channel.
    pub(crate) alpha: Alpha,
    /// The path relative to the folder of the output, or to a stage in its package, with slashes; `None` if the image is put into a glTF
    /// file.
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
    /// Images that are put into a package.
    pub(crate) packed: Vec<Packed>,
}

/// An image in a package.
pub(crate) struct Packed {
    pub(crate) image: PathBuf,
    pub(crate) png: Option<Arc<Vec<u8>>>,
    /// The path in the package.
    pub(crate) name: String,
}

/// An image, and the place of its copy.
struct Copied {
    image: PathBuf,
    png: Option<Arc<Vec<u8>>>,
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
            names: 0,
            copies: HashMap::new(),
            taken: HashSet::new(),
            copied: Vec::new(),
            packed: Vec::new(),
        };
        let mut textures = HashMap::new();
        let bytes: usize = names.keys().map(|name| name.len()).sum();
        job.budget
            .charge_for::<[u8; 512]>(names.len(), "textures")?;
        job.budget.charge(2 * bytes as u64, "names of textures")?;
        for (name, has_coords) in names {
            match files.texture(name, has_coords, outcome) {
                Ok(texture) => drop(textures.insert(name.to_owned(), texture)),
                Err(problem) => report_missing(name, problem, &mut outcome.report),
            }
        }
        let refers = !job.embed_textures && !job.copy_textures && job.target != Target::Usdz;
        if !outcome.textures.is_empty() && refers {
            outcome.textures.refer_from(&output.folder_path());
        }
        Ok(Self {
            textures,
            copies: files.copied,
            packed: files.packed,
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
    let mut output = job.budget.output(&copied.place)?;
    match &copied.png {
        Some(png) => output.write_all(png)?,
        None => {
            let mut source = open_regular(&copied.image)?;
            io::copy(&mut source, &mut output)?;
        }
    }
    Ok(output)
}

/// Returns `true` if programs read such images in files of the target.
fn is_held_by(kind: Kind, target: Target) -> bool {
    match target {
        // As the extension MSFT_texture_dds is required, many programs would refuse the whole file.
        Target::Glb | Target::Gltf => matches!(kind, Kind::Png | Kind::Jpeg | Kind::Webp),
        Target::Usdc => matches!(kind, Kind::Png | Kind::Jpeg | Kind::Tga | Kind::Bmp),
        Target::Usdz => matches!(kind, Kind::Png | Kind::Jpeg),
        _ => true,
    }
}

/// Returns `true` for kinds that nearly all programs read. The others become PNG when they are copied.
fn is_common(kind: Kind) -> bool {
    matches!(kind, Kind::Png | Kind::Jpeg | Kind::Webp)
}

fn has_coordinates(shape: &Shape) -> bool {
    let mut attributes = shape.attributes().iter();
    attributes.any(|info| info.semantic == Semantic::TexCoord(0))
}

/// The images of one output.
struct Files<'a> {
    job: &'a Job<'a>,
    output: &'a Place,
    /// The number of names that were looked for.
    names: usize,
    /// The paths of copies by their images, and their names in lower case.
    copies: HashMap<PathBuf, String>,
    taken: HashSet<String>,
    copied: Vec<Copied>,
    packed: Vec<Packed>,
}

impl Files<'_> {
    /// The image that a name means, or why the output has none.
    fn texture(
        &mut self,
        name: &str,
        has_coordinates: bool,
        outcome: &mut Outcome,
    ) -> Result<Texture, ImageProblem> {
        let job = self.job;
        if !has_coordinates {
            return Err(ImageProblem::NoCoordinates);
        }
        if self.names == MOST_NAMES {
            return Err(ImageProblem::TooManyNames);
        }
        self.names += 1;
        let search = Search {
            library: &job.library,
            folder: job.folder.as_deref(),
            textures: &job.textures,
        };
        let found = search.find_and_warn(name, &mut outcome.report);
        let texture = match &found {
            Ok(found) => self.place(name, found, outcome),
            Err(problem) => Err(*problem),
        };
        let found = found.as_ref().ok();
        let is_used = texture.is_ok();
        outcome.textures.add(name, found, is_used, &search);
        texture
    }

    /// The image as the output has it, or refers to it.
    fn place(
        &mut self,
        name: &str,
        found: &Found,
        outcome: &mut Outcome,
    ) -> Result<Texture, ImageProblem> {
        let job = self.job;
        let is_held = is_held_by(found.kind, job.target);
        // A glTF file has an image that it cannot refer to.
        let is_gltf = matches!(job.target, Target::Glb | Target::Gltf);
        let is_embedded = job.embed_textures || is_gltf && !is_held && !job.copy_textures;
        let is_packed = job.target == Target::Usdz;
        let is_written = is_embedded || is_packed || job.copy_textures;
        if !is_held && !is_written {
            return Err(ImageProblem::NotRead);
        }
        let mut png = None;
        if is_written && !(is_held && is_common(found.kind)) {
            match self.png(found) {
                Ok(image) => {
                    let change = Change::ImagesAsPng;
                    outcome.report.change_at(change, 1, || name.to_owned());
                    png = Some(image);
                }
                // Other programs may decode more variants.
                Err(_) if is_held => {}
                Err(problem) => return Err(problem),
            }
        }
        let alpha = match self.alpha(found) {
            Ok(alpha) => alpha,
            // The image is in the output, and other programs may read it.
            Err(_) => {
                outcome.report.warn_of(Warning::OpacityNotRead, name);
                Alpha::Opaque
            }
        };
        let mut reference = None;
        if !is_embedded {
            let path = match (is_packed, job.copy_textures) {
                (true, _) => self.pack(found, png.as_ref()),
                (_, true) => self.copy(&found.path, png.as_ref()),
                _ => self.reference(&found.path),
            };
            let path = path.filter(|path| !path.contains(char::is_control));
            reference = Some(path.ok_or(ImageProblem::NotText)?);
        }
        Ok(Texture {
            kind: png.as_ref().map_or(found.kind, |_| Kind::Png),
            image: found.path.clone(),
            png,
            alpha,
            reference,
        })
    }

    /// The image as a PNG, whose memory is charged until the call ends.
    fn png(&self, found: &Found) -> Result<Arc<Vec<u8>>, ImageProblem> {
        let library = &self.job.library;
        let budget = &self.job.budget;
        let needed = library.needed_by_png(found)?;
        let png = decode_within(budget, needed, |most| library.as_png(found, most))?;
        keep_image(budget, png.len() as u64)?;
        Ok(png)
    }

    /// The use of the alpha channel of an image, if the target has a place for it.
    fn alpha(&self, found: &Found) -> Result<Alpha, ImageProblem> {
        let is_gltf = matches!(self.job.target, Target::Glb | Target::Gltf);
        if !is_gltf && !self.job.target.is_usd() {
            return Ok(Alpha::Opaque);
        }
        let library = &self.job.library;
        let budget = &self.job.budget;
        let needed = library.needed_bytes(found)?;
        match decode_within(budget, needed, |most| library.alpha(found, most)) {
            // The head of an image may say that it has no alpha channel, which takes no memory.
            Err(ImageProblem::OverLimit) => Ok(library.alpha(found, 0)?),
            alpha => alpha,
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

    /// The name of a file that no other image of the output has.
    fn free_name(&mut self, stem: &str, ending: &str) -> String {
        let mut name = format!("{stem}.{ending}");
        // Some systems do not distinguish upper and lower case.
        for number in 1.. {
            if self.taken.insert(name.to_lowercase()) {
                break;
            }
            name = format!("{stem}_{number}.{ending}");
        }
        name
    }

    /// Has an image put into the package; returns its path in there.
    fn pack(&mut self, found: &Found, png: Option<&Arc<Vec<u8>>>) -> Option<String> {
        if let Some(known) = self.copies.get(&found.path) {
            return Some(known.clone());
        }
        let stem = found.path.file_stem().and_then(|stem| stem.to_str());
        // Readers of packages know an image by its ending, and some only names in ASCII.
        let ending = match found.kind {
            Kind::Jpeg if png.is_none() => "jpg",
            _ => "png",
        };
        let stem = identifier(stem.unwrap_or_default());
        let name = format!("textures/{}", self.free_name(&stem, ending));
        self.packed.push(Packed {
            image: found.path.clone(),
            png: png.cloned(),
            name: name.clone(),
        });
        self.copies.insert(found.path.clone(), name.clone());
        Some(name)
    }

    /// Has an image copied to the folder `OUTPUT.textures`, which belongs to this output; returns the path of the copy from there.
    fn copy(&mut self, image: &Path, png: Option<&Arc<Vec<u8>>>) -> Option<String> {
        if let Some(known) = self.copies.get(image) {
            return Some(known.clone());
        }
        let folder = folder_of_textures(self.output.below());
        let folder = folder.file_name()?.to_str()?;
        let image_name = image.file_name()?.to_str()?.to_owned();
        let (stem, mut ending) = image_name.rsplit_once('.').unwrap_or((&image_name, ""));
        if png.is_some() {
            ending = "png";
        }
        let copy = self.free_name(stem, ending);
        let place = self.output.beside(Path::new(folder).join(&copy)).ok()?;
        self.copied.push(Copied {
            image: image.to_owned(),
            png: png.cloned(),
            place,
        });
        let relative = format!("{folder}/{copy}");
        self.copies.insert(image.to_owned(), relative.clone());
        Some(relative)
    }
}
