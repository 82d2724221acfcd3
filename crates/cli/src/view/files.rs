//! The files that the page reads, and the images that they name.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use meshmap::{Bytes, Limits, MeshFile, Options, Source};
use meshmap_images::{Found, Kind, Library};
use meshmap_job::Search;
use meshmap_outputs::open_without_links;
use meshmap_scene::Overview;
use serde_json::{Value, json};

/// The last part of the address of a mesh file.
const MESH: &str = "mesh";
/// The last part of the address of the list of its images.
const IMAGES: &str = "images.json";

/// A file that the page may read.
pub(crate) struct Served {
    /// The name that the page shows.
    pub(crate) name: String,
    pub(crate) content: Content,
}

/// The bytes of a file.
#[derive(Clone)]
pub(crate) enum Content {
    /// A file, which is opened for each request; its path had no links when the command began.
    File(PathBuf),
    /// Standard input, a pipe, a file in a store, or what was made for the page.
    Source(Source),
}

/// All files of the page, in the order of its list.
pub(crate) struct Files {
    pub(crate) list: Vec<Served>,
    /// The folders below which images are looked for at any depth, without links.
    pub(crate) textures: Vec<PathBuf>,
    /// The folders and images that were read.
    pub(crate) library: Library,
    /// The limits for reading the headers of a file.
    pub(crate) limits: Limits,
    /// The memory for decoding an image.
    pub(crate) memory: u64,
    /// Images are decoded one after the other, so that together they need no more memory than one.
    pub(crate) decoding: Mutex<()>,
}

/// The answer to a request for a part of an address after `file/`.
pub(super) enum Answer {
    Content(Content),
    Json(Value),
}

impl Content {
    /// The bytes of the file at the time of a request, and their number.
    ///
    /// The path is followed from the root of the disk, and a link that has come meanwhile is an error.
    pub(super) fn open(&self) -> io::Result<(Source, u64)> {
        let source = match self {
            Self::File(path) => {
                let file = open_without_links(path)?;
                Source::from_file(file).map_err(io::Error::other)?
            }
            Self::Source(source) => source.clone(),
        };
        let length = source
            .len()
            .map_err(io::Error::other)?
            .ok_or(io::ErrorKind::NotSeekable)?;
        Ok((source, length))
    }

    fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) => path.parent(),
            Self::Source(_) => None,
        }
    }
}

impl Files {
    /// The names and addresses of the files, for the page. It may not fetch other addresses: the command fetches the addresses that the user names.
    pub(super) fn to_json(&self) -> Value {
        let mut files = Vec::new();
        for (index, file) in self.list.iter().enumerate() {
            files.push(json!({
                "name": file.name,
                "url": format!("file/{index}/{MESH}"),
                "images": format!("file/{index}/{IMAGES}"),
            }));
        }
        json!({ "files": files, "addresses": false })
    }

    /// The answer for an address: a file, as `7/mesh`, the images that it names, as `7/images.json`, or one of these, as `7/image/0`.
    pub(super) fn answer(&self, address: &str) -> Option<Answer> {
        let (index, wanted) = address.split_once('/')?;
        let index = number(index)?;
        let file = self.list.get(index)?;
        match wanted {
            MESH => Some(Answer::Content(file.content.clone())),
            IMAGES => Some(Answer::Json(self.images(index, file))),
            _ => {
                let image = number(wanted.strip_prefix("image/")?)?;
                let name = self.names_of(file).into_iter().nth(image)?;
                let found = self.find(file, &name)?;
                Some(Answer::Content(self.image(found)?))
            }
        }
    }

    /// The addresses of the images that are there, by their names in the file.
    fn images(&self, index: usize, file: &Served) -> Value {
        let mut addresses = BTreeMap::new();
        for (number, name) in self.names_of(file).into_iter().enumerate() {
            if self.find(file, &name).is_some() {
                addresses.insert(name, format!("file/{index}/image/{number}"));
            }
        }
        json!(addresses)
    }

    /// The names of images in a file. A file that cannot be read has none; the page reports why.
    fn names_of(&self, file: &Served) -> Vec<String> {
        let Ok((source, _)) = file.content.open() else {
            return Vec::new();
        };
        let options = Options::default().with_limits(self.limits);
        match MeshFile::from_source(source, &options) {
            Ok(file) => Overview::of(&file).images,
            Err(_) => Vec::new(),
        }
    }

    fn find(&self, file: &Served, name: &str) -> Option<Found> {
        let search = Search {
            library: &self.library,
            folder: file.content.folder(),
            textures: &self.textures,
        };
        let found = search.find(name).ok()?;
        // A folder may have been replaced by a link since the command began: its images are of another folder then.
        let mut folders = file
            .content
            .folder()
            .into_iter()
            .chain(self.textures.iter().map(PathBuf::as_path));
        folders
            .any(|folder| found.path.starts_with(folder))
            .then_some(found)
    }

    /// An image in a form that browsers show; `None` if it cannot be decoded within the memory, also by the browser.
    fn image(&self, found: Found) -> Option<Content> {
        if self.library.needed_bytes(&found).ok()? > self.memory {
            return None;
        }
        match found.kind {
            Kind::Png | Kind::Jpeg | Kind::Webp | Kind::Bmp => Some(Content::File(found.path)),
            _ => {
                let _one = self.decoding.lock().unwrap_or_else(PoisonError::into_inner);
                let png = self.library.as_png(&found, self.memory).ok()?;
                // All requests share the bytes.
                let bytes = Bytes::from_owner(Png(png));
                Some(Content::Source(Source::from_bytes(bytes)))
            }
        }
    }
}

/// A PNG of the library.
struct Png(Arc<Vec<u8>>);

impl AsRef<[u8]> for Png {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A number in an address: digits only.
fn number(text: &str) -> Option<usize> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_number)
}
