//! The parts that conversions and pictures of mesh files share: the budget of a call, the moment that is meant, options and their texts, reports and
//! errors.
//!
//! `meshmap-export` and `meshmap-render` are written with this, know nothing of each other, and export the types that their users see.

// Layers, from bottom to top; `.ci/layers` checks them:
//
//     text identity: names of files for people; what decides about the content of an output
//     error report: errors; what differs from a file
//     words remarks numbers: the words of reports; parts and numbers that cannot be used
//     options: structs of options, and the texts of their values
//     levels turn: the levels of detail; the turn about the up axis
//     budget: the memory and the output of one call
//     images: the images that a file names
//     looked_for: the images that an output was made with
//     moment: the time of a file that is written or drawn

#![warn(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_errors_doc
)]
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod budget;
mod error;
mod identity;
mod images;
mod levels;
mod looked_for;
mod moment;
mod numbers;
mod options;
mod remarks;
mod report;
mod text;
mod turn;
mod words;

#[cfg(feature = "count-charges")]
pub use budget::most_charged;
pub use budget::{Budget, Scope};
pub use error::{Error, Limit, Result};
pub use identity::identity;
pub use images::{MOST_NAMES, Search, decode_within, find_texture, keep_image, report_missing};
pub use levels::Lods;
pub use looked_for::{Textures, find_up_to_date, or_current};
pub use meshmap_scene::FactKind;
pub use moment::{Finder, Moment, Name, Named, Run, When, check_snapshots, has_many_snapshots};
pub use numbers::replace_non_finite;
pub use options::{
    AboutKinds, CLIPS, LEVELS, MOMENTS, ParseError, SNAPSHOTS, Text, keep_without_effect, parse,
};
pub use remarks::{report_all, up_of};
pub use report::{Assumption, Change, Entry, ImageProblem, LeftOut, Report, Warning, Why};
pub use text::{beginning_of, in_code, one_line, shown};
pub use turn::Turn;
pub use words::Say;
