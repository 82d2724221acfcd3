//! Folders of outputs: files that appear when they are complete, names that one run may take, and a record of what is up to date.
//!
//! * [`Outputs`] is a folder, and [`Place`] a place in it. The folder itself may be a link; below it no link is followed, and a
//!   linked folder is an error that advises to name it as the output.
//! * [`Output`] is a file in the making, next to its place. [`Output::finish_together`] is for outputs of several files, such as a glTF
//!   and its buffers.
//! * [`find_conflict`] finds two outputs of a run that would take the same name, before the first of them is written. [`Names`] also has
//!   names that are known only later, such as of further buffers.
//! * [`Record`] remembers what outputs were made from, so that the next run makes only what is missing or has changed.
//!
//! This is the only code of the project that creates, replaces or removes a file of a user. A program writes outputs in these steps:
//!
//! 1. It makes [`Outputs`] of the folder that the user named, or [`Place::at`] of a file.
//! 2. Before the first byte, it asks [`find_conflict`] for two outputs of the run that would take one name.
//! 3. [`Record::read`] reads the lines about these places. An output is up to date if the source, the settings with the revision of the
//!    writer, and the files at their places are the recorded ones, and if the program finds the same further files, such as images.
//! 4. [`Output::finish_together`] moves the part files to their places, and [`Record::add`] records them.
//!
//! # Several processes
//!
//! Processes may write to one folder at the same time, also the same outputs. Each file is whole. The files of one output belong
//! together: on file systems with locks of folders (local disks of Linux and macOS) a process waits until another one has moved its files.
//! On Windows and NFS, folders have no locks: a process that finds a file of another one among its own removes its own files and fails,
//! and says so. An output is recorded with size and time of the file that was written, by the handle that wrote it, so that no process
//! records a file of another one.
//!
//! On NFS, one process may lose a line of the record that another one appends at the same time, because NFS has no common end of a file:
//! the output of a lost line is written again by the next run. Part files of a killed process are removed after a day if the file system
//! has no locks of files.
//!
//! # Stores
//!
//! With the feature `stores`, [`Outputs::in_store`](Outputs) is a folder of S3, Google Cloud or Azure. Files are made in a spool of the machine, as
//! in any folder, and [`Record::deliver`] puts them as objects and removes them. The metadata of the object at the place is its
//! record: it has its fingerprint, the versions of the other files of the output, and the report. [`Record::read`] lists the part of the folder that the
//! places are in, and asks for the metadata of the objects that are there. Other files are put first, and an earlier output of several
//! files is taken away before. Failures are not recorded.
//!
//! # Errors
//!
//! Functions return [`std::io::Error`]. The kind is `StorageFull` for a full disk, `NotFound` for a folder that does not exist or was
//! removed, and `InvalidInput` for a path that cannot be an output. The text then says what to do.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     stamp reserved names: size and time of files, and files that were written; names of devices; the names of a run
//     folder: an open directory, by the calls of each system
//     parts: files in the making, and what killed processes left of them
//     spool: folders in which files are made that go elsewhere
//     store: outputs in stores
//     outputs: the folder of outputs, and places in it
//     output: files that appear when they are complete
//     record: outputs that are up to date

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod folder;
mod names;
mod output;
mod outputs;
mod parts;
mod record;
mod reserved;
#[cfg(feature = "stores")]
mod spool;
mod stamp;
#[cfg(feature = "stores")]
mod store;

pub use folder::{open_regular, open_without_links};
pub use names::{Conflict, Names, Numbered, find_conflict, name_all, with_added_ending};
pub use output::{Charge, Output, set_synced};
pub use outputs::{Outputs, Place, names_folder};
pub use parts::remove_part_files;
pub use record::{Known, Made, Origin, Record};
pub use reserved::check_names;
pub use stamp::{RecordedPath, Stamp, Written};

/// The example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
