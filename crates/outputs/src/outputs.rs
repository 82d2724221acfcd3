//! The folder of outputs, and the places of files in it.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::folder::{Access, Folder, Kind, or_current};
use crate::parts;
use crate::reserved::check_names;
use crate::stamp::{Stamp, Written};

/// A folder that outputs are written to. Clones are the same folder.
///
/// The folder itself may be a link. Below it, no link is followed: a folder that is replaced by a link while a program runs does not
/// lead it to other places.
#[derive(Clone, Debug)]
pub struct Outputs(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// The folder as the user named it: a path or a URL.
    path: PathBuf,
    /// The folder in which files are made: the same one, or a spool.
    root: PathBuf,
    #[cfg(feature = "stores")]
    store: Option<crate::store::Store>,
    /// `true` if the folder is created with the first output.
    is_created: bool,
    open: Mutex<OpenFolders>,
}

/// The folders that are open, by their paths below the first one, which has an empty path.
type OpenFolders = HashMap<PathBuf, Arc<Folder>>;

/// Folders that are open at once. A process has a limit of files, which may be small.
const MOST_OPEN: usize = 8;

/// A place for a file in a folder of outputs.
#[derive(Clone, Debug)]
pub struct Place {
    outputs: Outputs,
    /// The path below the folder: names, without `..`.
    below: PathBuf,
}

impl Outputs {
    /// Outputs below a folder, which is created with the first output if it does not exist.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self::new(folder, true)
    }

    /// Outputs below a folder of a store, such as `s3://bucket/folder/`. They are made in a spool of this machine, and put into the store by
    /// [`Record::deliver`](crate::Record::deliver).
    ///
    /// # Errors
    ///
    /// Returns an error for a URL of anything but a store, and if no spool can be made.
    #[cfg(feature = "stores")]
    pub fn in_store(
        url: &meshmap_object_store::RemoteUrl,
        settings: meshmap_object_store::Settings,
    ) -> io::Result<Self> {
        let store = crate::store::Store::new(url, settings)?;
        Ok(Self(Arc::new(Shared {
            path: url.as_shown().trim_end_matches('/').into(),
            root: store.spool(),
            store: Some(store),
            is_created: true,
            open: Mutex::default(),
        })))
    }

    /// Returns `true` if the outputs are put into a store.
    #[must_use]
    pub fn is_in_store(&self) -> bool {
        #[cfg(feature = "stores")]
        return self.0.store.is_some();
        #[cfg(not(feature = "stores"))]
        false
    }

    /// The store of the outputs.
    #[cfg(feature = "stores")]
    pub(crate) fn store(&self) -> Option<&crate::store::Store> {
        self.0.store.as_ref()
    }

    fn new(folder: &Path, is_created: bool) -> Self {
        Self(Arc::new(Shared {
            path: folder.to_owned(),
            root: folder.to_owned(),
            #[cfg(feature = "stores")]
            store: None,
            is_created,
            open: Mutex::default(),
        }))
    }

    /// The place at a path below the folder.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for a path that leads out of the folder, or is empty.
    pub fn place(&self, below: impl AsRef<Path>) -> io::Result<Place> {
        let below = below.as_ref();
        let mut names = PathBuf::new();
        for component in below.components() {
            match component {
                Component::Normal(name) => names.push(name),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                    return Err(invalid(format!(
                        "{} is not below the folder of outputs",
                        below.display()
                    )));
                }
            }
        }
        if names.as_os_str().is_empty() {
            return Err(invalid("an output needs a name".to_owned()));
        }
        Ok(Place {
            outputs: self.clone(),
            below: names,
        })
    }

    /// Removes a file that was written below this folder, unless it has been replaced since then.
    pub fn remove(&self, file: &Written) {
        let Ok(place) = self.place(&file.below) else {
            return;
        };
        let Ok(folder) = place.folder(false) else {
            return;
        };
        if file.stamp.is_some() && folder.stamp_of(place.name()) == file.stamp {
            drop(folder.remove_file(place.name()));
        }
    }

    /// The path of the folder, as the user named it.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Opens a folder at a path below this one. Folders that do not exist are created if `creates`.
    pub(crate) fn folder(&self, below: &Path, creates: bool) -> io::Result<Arc<Folder>> {
        let mut open = self.0.open.lock().unwrap_or_else(PoisonError::into_inner);
        match self.folder_within(&mut open, below, creates) {
            Err(error) if !open.is_empty() && has_too_many_files(&error) => {
                open.clear();
                self.folder_within(&mut open, below, creates)
            }
            opened => opened,
        }
    }

    /// Closes folders that no output is written to.
    pub(crate) fn close_folders(&self) {
        self.0
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    fn folder_within(
        &self,
        open: &mut OpenFolders,
        below: &Path,
        creates: bool,
    ) -> io::Result<Arc<Folder>> {
        if let Some(folder) = open.get(below) {
            return Ok(Arc::clone(folder));
        }
        if open.len() >= MOST_OPEN {
            // The first folder stays open: all others are found below it.
            open.retain(|path, _| path.as_os_str().is_empty());
        }
        let mut folder = match open.get(Path::new("")) {
            Some(folder) => Arc::clone(folder),
            None => {
                let folder = Arc::new(self.open_first(creates)?);
                parts::remove_abandoned(&folder);
                open.insert(PathBuf::new(), Arc::clone(&folder));
                folder
            }
        };
        for name in below {
            folder = Arc::new(folder.open_below(name, creates)?);
        }
        if !below.as_os_str().is_empty() {
            parts::remove_abandoned(&folder);
            open.insert(below.to_owned(), Arc::clone(&folder));
        }
        Ok(folder)
    }

    fn open_first(&self, creates: bool) -> io::Result<Folder> {
        let root = &self.0.root;
        if creates && self.0.is_created {
            fs::create_dir_all(root)?;
        }
        Folder::open(root)
    }
}

impl Place {
    /// The place at a path that the user named. Its folder exists, and may be a link.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for a path without a name, and an error for one that ends with a separator:
    /// it names a folder.
    pub fn at(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        if names_folder(path) {
            return Err(if path.is_dir() {
                io::ErrorKind::IsADirectory.into()
            } else {
                missing(path)
            });
        }
        let Some(name) = path.file_name() else {
            return Err(invalid(format!(
                "{} has no name for a file",
                path.display()
            )));
        };
        Outputs::new(path.parent().unwrap_or(Path::new("")), false).place(name)
    }

    /// The path of the file: the folder as the user named it, and the names below it.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.outputs.path().join(&self.below)
    }

    /// The path below the folder of outputs.
    #[must_use]
    pub fn below(&self) -> &Path {
        &self.below
    }

    /// The folder of outputs.
    #[must_use]
    pub fn outputs(&self) -> &Outputs {
        &self.outputs
    }

    /// The path of the folder that the file is in, as the user would name it. It may be empty, for the current folder.
    #[must_use]
    pub fn folder_path(&self) -> PathBuf {
        let mut path = self.path();
        path.pop();
        path
    }

    /// The place of the folder that the file is in. `None` if that is the folder of outputs.
    #[must_use]
    pub fn parent(&self) -> Option<Self> {
        let parent = self
            .below
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())?;
        Some(Self {
            outputs: self.outputs.clone(),
            below: parent.to_owned(),
        })
    }

    /// The place at a path from the folder of this one, such as a file next to it.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Outputs::place`].
    pub fn beside(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        let folder = self.below.parent().unwrap_or(Path::new(""));
        self.outputs.place(folder.join(path))
    }

    /// The place with another ending of its name.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Outputs::place`].
    pub fn with_extension(&self, extension: &str) -> io::Result<Self> {
        self.outputs.place(self.below.with_extension(extension))
    }

    /// The name of the file.
    #[must_use]
    pub fn name(&self) -> &OsStr {
        // A place has a name.
        self.below.file_name().unwrap_or_default()
    }

    /// Opens the folder of the file. Folders that do not exist are created if `creates`, except for a folder that the user named.
    pub(crate) fn folder(&self, creates: bool) -> io::Result<Arc<Folder>> {
        let below = self.below.parent().unwrap_or(Path::new(""));
        self.outputs
            .folder(below, creates)
            .map_err(|error| match error.kind() {
                io::ErrorKind::NotFound => missing(&self.folder_path()),
                _ => error,
            })
    }

    /// Checks that a file can be written at this place, and creates its folder, so that an error comes before the work.
    ///
    /// # Errors
    ///
    /// Returns an error for a folder that does not exist, a linked folder on the way, a name that Windows reserves for a device (such as
    /// `aux.glb`, on Windows), and anything at the place but a regular file or a link to one.
    pub fn prepare(&self) -> io::Result<()> {
        self.prepared().map(drop)
    }

    /// The folder of a file that is about to be written.
    pub(crate) fn prepared(&self) -> io::Result<Arc<Folder>> {
        check_names(&self.below)?;
        let folder = self.folder(true)?;
        self.check_replaceable(&folder)?;
        Ok(folder)
    }

    /// Size and time of the regular file at the place. `None` if there is none, or if a folder on the way is a link.
    #[must_use]
    pub fn stamp(&self) -> Option<Stamp> {
        self.folder(false).ok()?.stamp_of(self.name())
    }

    /// Checks that a file at this place may be replaced.
    fn check_replaceable(&self, folder: &Folder) -> io::Result<()> {
        let is_regular = match folder.kind_of(self.name()) {
            None | Some(Kind::File) => true,
            Some(Kind::Directory) => return Err(io::ErrorKind::IsADirectory.into()),
            Some(Kind::Other) => false,
            // The link is replaced, and its target stays, unless the link is a name of a device, such as /dev/stdout.
            Some(Kind::Link) => match fs::metadata(self.path()) {
                Ok(target) if target.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
                Ok(target) => target.is_file(),
                Err(_) => true,
            },
        };
        match is_regular {
            true => Ok(()),
            false => {
                let path = self.path();
                Err(invalid(format!(
                    "{} is not a regular file, so it cannot be replaced",
                    path.display()
                )))
            }
        }
    }

    /// Checks that the file that is there, if there is one, can be [overwritten](Self::overwrite).
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a regular file.
    pub fn prepare_overwrite(&self) -> io::Result<()> {
        self.folder(false)?.check_regular(self.name())
    }

    /// Writes into the file that is there, which other programs may hold open, or into a new one. A file that is written like this is
    /// not complete at once.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidInput`](io::ErrorKind::InvalidInput) for anything but a regular file, and the errors of writing.
    pub fn overwrite(&self, bytes: &[u8]) -> io::Result<()> {
        let mut file: File = self
            .folder(false)?
            .open_regular(self.name(), Access::Write)?;
        file.set_len(0)?;
        file.write_all(bytes)
    }

    /// Removes the empty folder at this place, if it is one.
    pub fn remove_empty_folder(&self) {
        if let Ok(folder) = self.folder(false) {
            drop(folder.remove_folder(self.name()));
        }
    }
}

/// Returns `true` if a path ends with a separator, or with a dot after one.
#[must_use]
pub fn names_folder(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    let is_separator = |byte: &u8| std::path::is_separator(char::from(*byte));
    match bytes {
        [.., before, b'.'] => is_separator(before),
        [.., last] => is_separator(last),
        [] => false,
    }
}

/// Returns `true` for the error of a process that has as many files open as it may have.
pub(crate) fn has_too_many_files(error: &io::Error) -> bool {
    const EMFILE: i32 = 24;
    cfg!(unix) && error.raw_os_error() == Some(EMFILE)
}

/// The error of a folder that does not exist.
fn missing(folder: &Path) -> io::Error {
    // A path without the separator at its end.
    let folder: PathBuf = or_current(folder).components().collect();
    io::Error::new(
        io::ErrorKind::NotFound,
        format!("the folder {} does not exist", folder.display()),
    )
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    #[test]
    fn places_are_below_the_folder() {
        let outputs = Outputs::below(Path::new("out"));
        let at = |path: &str| outputs.place(path).map(|place| place.path());
        assert_eq!(at("./a/b.glb").unwrap(), Path::new("out").join("a/b.glb"));
        for path in ["../a", "a/../../b", "a/..", "/a", "", "."] {
            assert_eq!(
                at(path).unwrap_err().kind(),
                io::ErrorKind::InvalidInput,
                "{path}"
            );
        }
        let place = outputs.place("a/b.gltf").unwrap();
        assert_eq!(place.beside("b.bin").unwrap().below(), Path::new("a/b.bin"));
        assert_eq!(
            place.with_extension("bin").unwrap().below(),
            Path::new("a/b.bin")
        );
        assert_eq!(place.parent().unwrap().below(), Path::new("a"));
        assert!(place.beside("../../b.bin").is_err());
    }

    #[test]
    fn folders_are_created_below_a_folder_and_not_for_a_named_file() {
        let root = tempfile::tempdir().unwrap();
        let outputs = Outputs::below(&root.path().join("new/out"));
        let place = outputs.place("deep/er/a").unwrap();
        assert!(place.stamp().is_none() && !root.path().join("new").exists());
        Output::create(&place).unwrap().finish().unwrap();
        assert!(root.path().join("new/out/deep/er/a").is_file() && place.stamp().is_some());
        for named in ["other/a", "other/"] {
            let error = Place::at(root.path().join(named))
                .and_then(|place| place.prepare())
                .unwrap_err();
            let message = format!(
                "the folder {} does not exist",
                root.path().join("other").display()
            );
            assert_eq!(error.to_string(), message);
        }
    }

    #[test]
    fn more_folders_are_written_than_stay_open() {
        let root = tempfile::tempdir().unwrap();
        let outputs = Outputs::below(root.path());
        for number in 0..3 * MOST_OPEN {
            let place = outputs.place(format!("{number}/a/b")).unwrap();
            Output::create(&place).unwrap().finish().unwrap();
            assert!(outputs.0.open.lock().unwrap().len() <= MOST_OPEN);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_below_the_folder_are_refused_and_the_folder_may_be_one() {
        use std::os::unix::fs::symlink;

        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("out/real")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        fs::write(at("victim/a"), "kept").unwrap();
        symlink("../victim", at("out/linked")).unwrap();
        symlink("nowhere", at("out/dangling")).unwrap();
        symlink("out", at("link")).unwrap();
        let outputs = Outputs::below(&at("link"));
        for below in ["linked/a", "dangling/a", "linked/deeper/a"] {
            let place = outputs.place(below).unwrap();
            let error = Output::create(&place).unwrap_err().to_string();
            assert!(
                error.contains("a link to another folder, which is not followed: name"),
                "{error}"
            );
            assert_eq!(place.stamp(), None);
        }
        assert_eq!(fs::read(at("victim/a")).unwrap(), b"kept");
        Output::create(&outputs.place("real/a").unwrap())
            .unwrap()
            .finish()
            .unwrap();
        assert!(at("out/real/a").is_file());
        // A file that is a link is replaced itself.
        symlink("../../victim/a", at("out/real/b")).unwrap();
        let place = outputs.place("real/b").unwrap();
        assert_eq!(place.stamp(), None);
        Output::create(&place).unwrap().finish().unwrap();
        assert!(fs::symlink_metadata(at("out/real/b")).unwrap().is_file());
        assert_eq!(fs::read(at("victim/a")).unwrap(), b"kept");
    }

    /// A program that changes folders into links while another one writes cannot lead it elsewhere.
    #[cfg(unix)]
    #[test]
    fn a_folder_that_becomes_a_link_meanwhile_leads_nowhere_else() {
        use std::os::unix::fs::symlink;
        use std::sync::atomic::{AtomicBool, Ordering};

        let root = tempfile::tempdir().unwrap();
        let at = |path: &str| root.path().join(path);
        fs::create_dir_all(at("out/sub")).unwrap();
        fs::create_dir(at("victim")).unwrap();
        symlink("../victim", at("out/link")).unwrap();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    let _ = fs::rename(at("out/sub"), at("out/aside"));
                    let _ = fs::rename(at("out/link"), at("out/sub"));
                    let _ = fs::rename(at("out/sub"), at("out/link"));
                    let _ = fs::rename(at("out/aside"), at("out/sub"));
                }
            });
            let mut written = 0;
            for number in 0..2000 {
                // Opens the folder again, as another process would.
                let place = Outputs::below(&at("out"))
                    .place(format!("sub/{number}"))
                    .unwrap();
                written += usize::from(Output::create(&place).and_then(Output::finish).is_ok());
            }
            is_done.store(true, Ordering::Relaxed);
            assert!(written > 0);
        });
        assert_eq!(fs::read_dir(at("victim")).unwrap().count(), 0);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_devices_and_folders_are_not_replaced() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe"))
            .status()
            .unwrap();
        assert!(made.success());
        std::os::unix::fs::symlink("/dev/null", at("device")).unwrap();
        for name in ["pipe", "device"] {
            let error = Place::at(at(name)).unwrap().prepare().unwrap_err();
            assert!(
                error.to_string().contains("is not a regular file"),
                "{error}"
            );
            assert!(Place::at(at(name)).unwrap().overwrite(b"x").is_err());
        }
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_is_overwritten_and_removed_by_its_stamp() {
        let root = tempfile::tempdir().unwrap();
        let outputs = Outputs::below(root.path());
        let place = outputs.place("a").unwrap();
        place.prepare().unwrap();
        place.overwrite(b"longer").unwrap();
        place.overwrite(b"new").unwrap();
        assert_eq!(fs::read(place.path()).unwrap(), b"new");
        let first = Output::create(&place).unwrap().finish().unwrap();
        let second = Output::create(&place).unwrap().finish().unwrap();
        outputs.remove(&first);
        assert!(place.stamp().is_some());
        outputs.remove(&second);
        assert!(place.stamp().is_none());
    }
}
