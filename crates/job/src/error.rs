use std::borrow::Borrow;
use std::{fmt, io};

use meshmap_scene::FactKind;

use crate::text::in_code;

/// The reason why a file was not written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The mesh file cannot be read.
    #[error(transparent)]
    Read(#[from] meshmap::Error),
    /// The output cannot be written.
    #[error("cannot write: {0}")]
    Write(io::Error),
    /// The target cannot hold what the file has.
    #[error("{target}: {what}")]
    NotHeld {
        /// The name of the target.
        target: &'static str,
        /// The data that it cannot hold, and a remedy.
        what: String,
    },
    /// The file has no vertices to write.
    #[error("nothing to convert: the file has no vertices{}", hint(*.has_animations))]
    NothingToConvert {
        /// `true` for an IQM file with animations, which can be added to the conversion of another file.
        has_animations: bool,
        /// `true` if a part of the file was left out, because it is damaged or has numbers that cannot be written.
        has_unusable: bool,
    },
    /// The file has nothing to draw.
    #[error("nothing to draw: the file has no triangles, points or joints")]
    NothingToDraw {
        /// `true` if a part of the file was left out, because it is damaged or has numbers that cannot be drawn.
        has_unusable: bool,
    },
    /// A setting that would change nothing in files of the target.
    #[error("{}", self.words(&in_code))]
    Unused {
        /// The name of the target.
        target: &'static str,
        /// The name of the option, as a field of `Convert` or `Render`.
        setting: &'static str,
        /// The names of the targets that have a use for it.
        targets: Vec<&'static str>,
    },
    /// A setting that has no effect on the file.
    #[error("{}", self.words(&in_code))]
    WithoutEffect {
        /// The name of the option, as a field of `Convert` or `Render`.
        setting: &'static str,
        /// The kinds of data that the option is about, of which the file has none. Empty for an option about clouds of points.
        kinds: &'static [FactKind],
    },
    /// Images that are not put into the output, which has no folder from which paths lead to them.
    #[error("{}", self.words(&in_code))]
    NeedsFolder {
        /// The name of the target.
        target: &'static str,
    },
    /// A NaN or infinite number of the positions of the file, which may not be replaced.
    #[error("{}", self.words(&in_code))]
    NonFinite {
        /// The address of the number, such as `high_lod.faces[0].position[3]`.
        address: String,
        /// The number.
        value: f32,
    },
    /// The numbers in the file ask for more output than the call may write. More memory or work than it may take is
    /// [`Read`](Self::Read).
    #[error("{what}: expected at most {most} {limit}, found {needed}; raise the limit with {}", limit.setter())]
    LimitExceeded {
        /// The structure that needs it.
        what: &'static str,
        /// The limit that is exceeded.
        limit: Limit,
        /// The limit in bytes, or in pictures.
        most: u64,
        /// The required amount, as far as it is known.
        needed: u64,
    },
}

/// Words in a sentence, of which the last two are joined by `and` or `or`.
pub(crate) fn list<Word: Borrow<str> + fmt::Display>(words: &[Word], joined: &str) -> String {
    match words {
        [others @ .., last] if !others.is_empty() => {
            format!("{} {joined} {last}", others.join(", "))
        }
        words => words.concat(),
    }
}

/// A remedy for a file that has only animations.
fn hint(has_animations: bool) -> &'static str {
    if has_animations {
        "; its animations can be added to a file with triangles: `Convert::animations`"
    } else {
        ""
    }
}

/// A limit of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// Output: 64 MiB, or 256 times the size of the mesh file.
    Output,
    /// Pictures of an animation or a contact sheet.
    Pictures,
}

impl Limit {
    /// The function that raises the limit.
    #[must_use]
    pub fn setter(self) -> &'static str {
        match self {
            Self::Output => "Convert::max_output_bytes",
            Self::Pictures => "Render::every, which leaves pictures out",
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Output => "bytes of output",
            Self::Pictures => "pictures",
        })
    }
}

/// The result of a conversion.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The words for people. `option` names an option by the name of its field, as the user knows it.
    #[must_use]
    pub fn words(&self, option: &dyn Fn(&str) -> String) -> String {
        match self {
            Self::Unused {
                target,
                setting,
                targets,
            } => format!(
                "{target}: the option {} has no effect; it is for {}",
                option(setting),
                list(targets, "and")
            ),
            Self::WithoutEffect { setting, kinds: [] } => format!(
                "the option {} has no effect: the file is not a cloud of points",
                option(setting)
            ),
            Self::WithoutEffect { setting, kinds } => {
                let kinds: Vec<String> = kinds.iter().map(FactKind::to_string).collect();
                let option = option(setting);
                format!(
                    "the option {option} has no effect: the file has no {}",
                    list(&kinds, "or")
                )
            }
            Self::NeedsFolder { .. } => format!(
                "an output without a folder cannot refer to images; {} puts them into glTF",
                option("embed_textures")
            ),
            Self::NonFinite { address, value } => format!(
                "{address} is {value}, which files of this kind cannot hold; {} writes 0 in its place",
                option("zero_non_finite")
            ),
            other => other.to_string(),
        }
    }

    /// The error of a question about a scene; `target` is the name of the target.
    pub fn of_scene(error: meshmap_scene::Error, target: &'static str) -> Self {
        match error {
            meshmap_scene::Error::Read(error) => Self::Read(error),
            error => Self::NotHeld {
                target,
                what: error.to_string(),
            },
        }
    }
}

impl From<meshmap_scene::Error> for Error {
    fn from(error: meshmap_scene::Error) -> Self {
        Self::of_scene(error, "scene")
    }
}

impl From<io::Error> for Error {
    /// Writers of [`std::io`] report errors of this crate as errors of I/O, which become themselves again.
    fn from(error: io::Error) -> Self {
        error.downcast::<Self>().unwrap_or_else(Self::Write)
    }
}

impl From<serde_json::Error> for Error {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
