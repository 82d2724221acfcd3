//! Words that several commands share.

use std::ops::AddAssign;
use std::{fmt, io};

use meshmap_catalog::inspect::Inspection;

use crate::text;

/// An option of the library, by the name of its field, as the command names it: `flip` is `--flip`, and `seconds` is `--time`.
pub(crate) fn option<Options: clap::Args>(field: &str) -> String {
    /// The animations of other files are an option of the command only.
    const ANIMATIONS: &str = "animations";
    /// The limit of the library has a shorter name here.
    const MEMORY: &str = "max_total_bytes";
    match field {
        ANIMATIONS => return "--with".to_owned(),
        MEMORY => return "--max-memory".to_owned(),
        _ => {}
    }
    let command = Options::augment_args(clap::Command::default());
    let mut arguments = command.get_arguments();
    let argument = arguments.find(|argument| argument.get_id() == field);
    let name = argument.and_then(clap::Arg::get_long).unwrap_or(field);
    format!("--{name}")
}

/// The files that cannot be used, or of which parts cannot be used, counted: `2 damaged, 1 not readable`. Empty if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Troubled {
    /// Files of which some parts cannot be used.
    pub(crate) damaged: u64,
    /// Files that cannot be opened, and directories that cannot be read.
    pub(crate) not_readable: u64,
}

impl Troubled {
    /// One file, or none.
    pub(crate) fn of(inspection: &Inspection) -> Self {
        let is_readable = inspection.problem.is_none();
        let damaged = u64::from(is_readable && inspection.is_broken());
        Self {
            damaged,
            not_readable: u64::from(!is_readable),
        }
    }

    pub(crate) fn sum(self) -> u64 {
        self.damaged + self.not_readable
    }
}

impl AddAssign for Troubled {
    fn add_assign(&mut self, other: Self) {
        self.damaged += other.damaged;
        self.not_readable += other.not_readable;
    }
}

impl fmt::Display for Troubled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            (self.damaged, "damaged"),
            (self.not_readable, "not readable"),
        ];
        let parts = parts.iter().filter(|(files, _)| *files > 0);
        let parts = parts.map(|(files, what)| format!("{} {what}", text::count(*files)));
        f.write_str(&parts.collect::<Vec<_>>().join(", "))
    }
}

/// Follows the counts of a command that reads little, in which damage may be missing.
pub(crate) const NOT_CHECKED: &str = "values not checked (--full)";

/// The error of an output on a disk that is full.
pub(crate) const DISK_FULL: &str = "the disk is full";

/// The reason why an output cannot be written, without the names of temporary files.
pub(crate) fn writing(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::StorageFull {
        return DISK_FULL.to_owned();
    }
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if let Some(code) = error
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
        {
            return io::Error::from_raw_os_error(code).to_string();
        }
        source = error.source();
    }
    error.to_string()
}
