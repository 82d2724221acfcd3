//! One library for each run.

use std::fmt;
use std::sync::Arc;

use crate::found::{Found, NotFound};
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
    /// 1. beside the file, the path that the file names;
    /// 2. in each folder of `below`, the path that the file names;
    /// 3. at any depth of these folders, a path that ends with all parts of the path that the file names, then with fewer of them, at
    ///    least two: `models/far.png` of the name `textures/models/far.png`;
    /// 4. beside the file, the last part;
    /// 5. in each folder of `below`, the last part;
    /// 6. at any depth of these folders, the last part.
    ///
    /// If a place has several images, the first of these differences decides:
    ///
    /// 1. the order of `candidates`, which is that of their endings;
    /// 2. a path in the same case as the candidate comes before one in another case;
    /// 3. the order of the folders in `below`;
    /// 4. a path of fewer parts comes before one of more;
    /// 5. the order of the bytes of the paths.
    ///
    /// Images that only the last two put in order are equally good: [`Found::other_count`] counts them.
    ///
    /// An image that cannot be used is skipped, and reported if there is no other one: see [`Unusable`](crate::Unusable).
    ///
    /// A folder of `below` is listed with all folders below it when a name is first looked for at any depth, and then not again:
    /// at most 200,000 names, 64 MiB of paths and 32 levels. It is listed level by level, and a folder that does not fit into the
    /// bounds ends the listing, so that the same images are found on each file system. [`Searched`](crate::Searched) says if that
    /// happened. Only files with an ending of an image are kept (png, jpg, jpeg, tga, webp, dds, bmp, in any case); links of files
    /// and folders are skipped.
    ///
    /// A link of a folder on a path that the file names (places 1, 2, 4 and 5) is followed if it leads to a folder below the same
    /// root; the path in [`Found`] has no links.
    ///
    /// # Errors
    ///
    /// Returns the reason why there is no image: [`NotFound`].
    pub fn find(&self, candidates: &[String], places: &Places<'_>) -> Result<Found, NotFound> {
        search::find(candidates, places, &self.shared.folders)
    }
}
