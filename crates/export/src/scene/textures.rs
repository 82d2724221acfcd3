//! The images that a file names, as the output refers to them.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io;
use std::path::{Component, Path, PathBuf};

use meshmap::{MeshFile, Semantic};

use super::Scene;
use super::names::free;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::settings::Job;
use crate::stamp::{Found, Name};
use crate::texture::{self, Kind};

/// An image of the output.
pub(crate) struct Texture {
    pub(crate) kind: Kind,
    pub(crate) place: TexturePlace,
}

pub(crate) enum TexturePlace {
    /// A file: its path relative to the folder of the output, with slashes.
    File(String),
    /// The output itself: the bytes of this file.
    Inside(PathBuf),
}

impl Texture {
    /// The relative path of the image in a line of text, where it must not look like an option.
    pub(crate) fn path(&self) -> String {
        let TexturePlace::File(path) = &self.place else { return String::new() };
        if path.starts_with("../") { path.clone() } else { format!("./{path}") }
    }
}

/// Names of images whose endings say that they are.
fn is_image(name: &str) -> bool {
    const IMAGES: [&str; 10] = ["png", "jpg", "jpeg", "tga", "bmp", "webp", "dds", "tif", "tiff", "gif"];
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    ending.is_some_and(|ending| IMAGES.iter().any(|image| image.eq_ignore_ascii_case(ending)))
}

impl Scene {
    /// Finds the images that the meshes name.
    pub(crate) fn add_textures(
        &mut self,
        file: &MeshFile,
        job: &Job<'_>,
        output: &Path,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let maps = file.as_openctm().into_iter().flat_map(|bodies| bodies.meshes());
        for map in maps.flat_map(|mesh| mesh.uv_maps().skip(1).collect::<Vec<_>>()) {
            if !map.file().as_bytes().is_empty() {
                let file = map.file();
                let name = file.to_string_lossy();
                outcome.leave_out(format!("the texture {name}, which is for another UV map than the first"));
            }
        }
        let names: BTreeSet<&str> = self.meshes.iter().filter_map(|mesh| mesh.view.texture()).collect();
        let mut files = Files { job, output, copies: HashMap::new() };
        let mut textures = HashMap::new();
        let bytes: usize = names.iter().map(|name| name.len()).sum();
        job.budget.charge_for::<[u8; 512]>(names.len(), "textures")?;
        job.budget.charge(2 * bytes as u64, "names of textures")?;
        for name in names {
            match files.texture(name, self, outcome)? {
                Ok(texture) => drop(textures.insert(name.to_owned(), texture)),
                // Most names of materials mean no image.
                Err(why) if !why.is_empty() || is_image(name) => {
                    let why = if why.is_empty() { files.absent() } else { why };
                    outcome.leave_out(format!("the texture {name}: {why}"));
                }
                Err(_) => {}
            }
        }
        self.textures = textures;
        Ok(())
    }
}

/// The images of one output.
struct Files<'a> {
    job: &'a Job<'a>,
    output: &'a Path,
    /// The names of copies.
    copies: HashMap<String, usize>,
}

impl Files<'_> {
    /// The image that a name means, or why the output has none; without a reason if nothing was found.
    fn texture(
        &mut self,
        name: &str,
        scene: &Scene,
        outcome: &mut Outcome,
    ) -> Result<Result<Texture, String>> {
        /// More names cost a lot of time, and no file of an artist has them.
        const MOST: usize = 1024;
        let job = self.job;
        if !job.target.has_textures() {
            let why = format!("{} files refer to no images", job.target.name());
            return Ok(Err(if is_image(name) { why } else { String::new() }));
        }
        let mut of_name = scene.meshes.iter().filter(|mesh| mesh.view.texture() == Some(name));
        if scene.are_points || !of_name.any(|mesh| mesh.view.has(&Semantic::TexCoord(0))) {
            let why = "there are no texture coordinates".to_owned();
            return Ok(Err(if is_image(name) { why } else { String::new() }));
        }
        if outcome.textures.images.len() == MOST {
            return Ok(Err(format!("only the first {MOST} names are looked for")));
        }
        let folders: Vec<&PathBuf> = job.folder.iter().chain(&job.textures).collect();
        if outcome.textures.is_empty() {
            outcome.textures.target = job.target.name().to_owned();
            let whole = |folder: &&PathBuf| Name::of(&std::path::absolute(folder).unwrap_or_default());
            outcome.textures.folders = folders.iter().map(whole).collect();
        }
        let image = texture::find(name, &folders, job.target);
        let found =
            image.as_ref().ok().map(|image| Found { file: Name::of(&image.path), stamp: image.stamp });
        outcome.textures.images.push((name.to_owned(), found));
        let image = match image {
            Ok(image) => image,
            Err(why) => return Ok(Err(why)),
        };
        let kind = image.kind;
        if job.embed_textures {
            return Ok(Ok(Texture { kind, place: TexturePlace::Inside(image.path) }));
        }
        let path = match self.job.copy_textures {
            true => self.copy(&image.path)?,
            false => self.reference(&image.path),
        };
        let path = path.filter(|path| !path.contains(char::is_control));
        let why = || "its path cannot be written: `embed_textures` in glTF, or another folder".to_owned();
        Ok(path.map(|path| Texture { kind, place: TexturePlace::File(path) }).ok_or_else(why))
    }

    fn absent(&self) -> String {
        if self.job.textures.is_empty() {
            "not found beside the file; `textures` names another folder".to_owned()
        } else {
            "not found beside the file, nor below the folders of `textures`".to_owned()
        }
    }

    fn folder(&self) -> &Path {
        let folder = self.output.parent().filter(|folder| !folder.as_os_str().is_empty());
        folder.unwrap_or(Path::new("."))
    }

    /// The path from the output to a file; `None` if there is none in Unicode.
    fn reference(&self, file: &Path) -> Option<String> {
        let from = fs::canonicalize(self.folder()).ok()?;
        let parts: Vec<Component<'_>> = file.components().collect();
        let from: Vec<Component<'_>> = from.components().collect();
        let shared = parts.iter().zip(&from).take_while(|(a, b)| a == b).count();
        // Drives of Windows share nothing.
        let below = parts.get(shared..).filter(|_| shared > 0)?;
        let up = std::iter::repeat_n(Some(".."), from.len() - shared);
        let parts: Option<Vec<&str>> = up.chain(below.iter().map(|part| part.as_os_str().to_str())).collect();
        Some(parts?.join("/"))
    }

    /// Copies an image into the folder of the output; returns its name. The copy appears together with the output.
    fn copy(&mut self, image: &Path) -> Result<Option<String>> {
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        let Some((stem, image_name)) = name(&self.output.with_extension("")).zip(name(image)) else {
            return Ok(None);
        };
        let (start, ending) = image_name.rsplit_once('.').unwrap_or((&image_name, ""));
        let name = format!("{}.{ending}", free(&format!("{stem}_{start}"), &mut self.copies));
        let mut source = crate::destination::open_regular(image, File::options().read(true))?;
        let mut copy = Output::create_within(&self.folder().join(&name), &self.job.budget)?;
        io::copy(&mut source, &mut copy)?;
        self.job.copies.borrow_mut().push(copy);
        Ok(Some(name))
    }
}
