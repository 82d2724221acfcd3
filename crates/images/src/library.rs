//! One library for each run.

use std::fmt;
use std::sync::Arc;

use crate::alpha::Alpha;
use crate::contents::Contents;
use crate::error::DecodeError;
use crate::found::{Found, NotFound};
use crate::pixels::Pixels;
use crate::search::{self, Folders, Places};

/// The images of a run. Clones share what they know, and may be used by any number of threads at once.
///
/// `Debug` prints only the name, so that settings with a library are equal if their texts are.
#[derive(Clone, Default)]
pub struct Library {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    folders: Folders,
    contents: Contents,
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Library")
    }
}

impl Library {
    /// Finds the image that a name in a file means.
    ///
    /// `candidates` are the paths that the name may mean, the best first, as `meshmap::texture_paths` returns them: relative, with
    /// slashes, without `..`, first the whole path that the file names with several endings, then its last part with several
    /// endings.
    ///
    /// The first of these places that has an image decides:
    ///
    /// 1. next to the file, the path that the file names;
    /// 2. in each folder of `below`, the path that the file names;
    /// 3. at any depth of these folders, a path that ends with all parts of the path that the file names, then with fewer of them, at
    ///    least two: `models/far.png` of the name `textures/models/far.png`;
    /// 4. next to the file, the last part;
    /// 5. in each folder of `below`, the last part;
    /// 6. at any depth of these folders, the last part.
    ///
    /// If a place has several images, the first of these differences decides:
    ///
    /// 1. the order of `candidates`, the best ending first;
    /// 2. a path in the same case as the candidate comes before one in another case;
    /// 3. the order of the folders in `below`;
    /// 4. a path of fewer parts comes before one of more;
    /// 5. the order of the bytes of the paths.
    ///
    /// Images that only the last two put in order are equally good: [`Found::other_count`] counts them.
    ///
    /// An image that cannot be used is skipped, and reported if no other one is found: see [`Unusable`](crate::Unusable).
    ///
    /// A folder of `below` is listed with all folders below it when a name is first looked for at any depth, and then not again:
    /// at most 200,000 names, 64 MiB of paths and 32 levels. It is listed level by level, and a folder that does not fit into the
    /// bounds ends the listing, so that the same images are found on each file system. [`Searched`](crate::Searched) says if that
    /// happened. Only files with an ending of an image are kept (png, jpg, jpeg, tga, webp, dds, bmp, in any case); links of files
    /// and folders are skipped, and so are folders whose names end in `.textures`, into which outputs copy their images.
    ///
    /// A link of a folder on a path that the file names (places 1, 2, 4 and 5) is followed if it leads to a folder below the same
    /// root; the path in [`Found`] has no links.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`], which says why no image is found.
    pub fn find(&self, candidates: &[String], places: &Places<'_>) -> Result<Found, NotFound> {
        search::find(candidates, places, &self.shared.folders)
    }

    /// The memory that [`pixels`](Self::pixels) and [`alpha`](Self::alpha) take at most for an image, including the result, if it has not
    /// been decoded yet. Only the head of the file is read.
    ///
    /// It is about 4 to 16 bytes for each pixel, and 1 MiB; 17 MiB more for a WebP, and up to 1.4 GiB for one that is compressed
    /// without loss (440 bytes for each byte that is).
    ///
    /// # Errors
    ///
    /// Returns [`DecodeError::Read`], [`Changed`](DecodeError::Changed), [`Unsupported`](DecodeError::Unsupported) or
    /// [`Damaged`](DecodeError::Damaged).
    pub fn needed_bytes(&self, found: &Found) -> Result<u64, DecodeError> {
        self.shared.contents.needed_bytes(found)
    }

    /// Like [`needed_bytes`](Self::needed_bytes), for [`as_png`](Self::as_png): about 10 bytes for each pixel, or more.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`needed_bytes`](Self::needed_bytes).
    pub fn needed_by_png(&self, found: &Found) -> Result<u64, DecodeError> {
        self.shared.contents.needed_by_png(found)
    }

    /// The pixels of an image.
    ///
    /// PNG, JPEG, WebP, TGA, BMP and DDS are decoded: the first image of a DDS or an animated PNG. Channels of 16 bits are rounded, and
    /// colours and orientation are as stored: colour profiles and Exif data are ignored, as renderers ignore them.
    ///
    /// An image is decoded once: threads that ask for the same image wait for it, and different images are decoded at the same time.
    /// The pixels are kept for others as long as all that is kept has at most 256 MiB; the least recently used are dropped.
    ///
    /// # Errors
    ///
    /// Returns [`DecodeError::TooLarge`] before anything large is allocated if the image needs more memory than `most_bytes`, and
    /// the errors of [`needed_bytes`](Self::needed_bytes). A JPEG that ends too early is decoded as far as it goes.
    pub fn pixels(&self, found: &Found, most_bytes: u64) -> Result<Arc<Pixels>, DecodeError> {
        self.shared.contents.pixels(found, most_bytes)
    }

    /// The use of the alpha channel of an image: see [`Alpha`].
    ///
    /// An image without an alpha channel is not decoded, and `most_bytes` has no effect on it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`pixels`](Self::pixels).
    pub fn alpha(&self, found: &Found, most_bytes: u64) -> Result<Alpha, DecodeError> {
        self.shared.contents.alpha(found, most_bytes)
    }

    /// The image as a PNG of 8 bits in sRGB: red, green and blue, and alpha unless it is [`Opaque`](Alpha::Opaque).
    ///
    /// The same pixels give the same bytes on each system. They are kept as pixels are.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`pixels`](Self::pixels).
    pub fn as_png(&self, found: &Found, most_bytes: u64) -> Result<Arc<Vec<u8>>, DecodeError> {
        self.shared.contents.png(found, most_bytes)
    }
}
