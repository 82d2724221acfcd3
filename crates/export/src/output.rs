//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use crate::error::Result;
use crate::outcome::Outcome;

const PREFIX: &str = ".meshmap-";
const SUFFIX: &str = ".part";

/// Whether this is the name of a file that is being written, or was when its program was killed.
#[must_use]
pub fn is_part(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
}

/// A file beside its place, which it takes when it is complete.
pub(crate) struct Output {
    path: PathBuf,
    file: BufWriter<NamedTempFile>,
}

impl Output {
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX).suffix(SUFFIX);
        // Files are private until then; what a user writes is not.
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let file = builder.tempfile_in(folder.unwrap_or(Path::new(".")))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::with_capacity(256 << 10, file) })
    }

    /// The writer, which can seek.
    pub(crate) fn file(&mut self) -> &mut BufWriter<NamedTempFile> {
        &mut self.file
    }

    /// Puts the file into its place.
    pub(crate) fn finish(mut self, outcome: &mut Outcome) -> Result<()> {
        self.file.flush()?;
        let file = self.file.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        let _: File = file.persist(&self.path).map_err(|error| error.error)?;
        outcome.files.push(self.path);
        Ok(())
    }
}
