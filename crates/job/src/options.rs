//! Structs of options, and the texts of their values.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use meshmap_scene::{Fact, FactKind};
use serde::de::{Error, SeqAccess, Visitor};

use crate::error::list;

/// Declares a struct of options. An option has its documentation, which is also its help, and its argument of the command line. Kinds of
/// data after `=>` are what it is about: without any of them in a file, it has no effect. Fields after `and` are set by programs, not by
/// users.
///
/// With `for TARGETS` around groups of options, they are for these targets only, and `unused` lists options that are set for others.
///
/// The package that uses it has a feature `clap` and depends on `serde`.
#[macro_export]
macro_rules! options {
    ($(#[$outer:meta])* $name:ident {
        $($(#[doc = $doc:tt])* #[arg($($arg:tt)*)] $option:ident: $type:ty $(=> $facts:expr)?,)*
    } and {
        $($(#[$inner:meta])* $field:ident: $field_type:ty,)*
    }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
        #[serde(default, deny_unknown_fields)]
        #[cfg_attr(feature = "clap", derive(clap::Args), group(skip))]
        pub struct $name {
            $($(#[doc = $doc])* #[cfg_attr(feature = "clap", arg($($arg)*))] pub $option: $type,)*
            $($(#[$inner])* #[cfg_attr(feature = "clap", arg(skip))] pub $field: $field_type,)*
        }

        impl $name {
            /// The options that are set and about kinds of data, with these kinds.
            pub(crate) fn about_kinds(&self) -> Vec<$crate::AboutKinds> {
                let usual = Self::default();
                let options: Vec<(_, _, &[_])> =
                    vec![$($((stringify!($option), self.$option != usual.$option, $facts),)?)*];
                let set = options.into_iter().filter(|(_, is_set, _)| *is_set);
                set.map(|(name, _, kinds)| (name, kinds)).collect()
            }
        }
    };

    ($(#[$outer:meta])* $name:ident of $target:ty {
        $(for $targets:ident { $($(#[doc = $doc:tt])* #[arg($($arg:tt)*)] $option:ident: $type:ty $(=> $facts:expr)?,)* })*
    } and $fields:tt) => {
        $crate::options! {
            $(#[$outer])* $name {
                $($($(#[doc = $doc])* #[arg($($arg)*)] $option: $type $(=> $facts)?,)*)*
            } and $fields
        }

        impl $name {
            /// The options that are set and not for this target, with the targets that they are for.
            fn unused(&self, target: $target) -> impl Iterator<Item = (&'static str, &'static [$target])> {
                let usual = Self::default();
                let options: Vec<(_, _, &[_])> =
                    vec![$($((stringify!($option), self.$option != usual.$option, $targets),)*)*];
                let unused =
                    options.into_iter().filter(move |(_, is_set, targets)| *is_set && !targets.contains(&target));
                unused.map(|(name, _, targets)| (name, targets))
            }
        }
    };
}

/// A text that is not a value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct ParseError(String);

impl ParseError {
    /// The error for a text that is none of these.
    #[must_use]
    pub fn new(expected: &[&str]) -> Self {
        Self(list(expected, "or"))
    }
}

/// The name of an option, and the kinds of data that it is about.
pub type AboutKinds = (&'static str, &'static [FactKind]);

/// Keeps the options that have no effect on a file with these facts.
pub fn keep_without_effect(options: &mut Vec<AboutKinds>, facts: &[Fact]) {
    options.retain(|(_, kinds)| !facts.iter().any(|fact| kinds.contains(&fact.kind)));
}

/// The kinds of data that options about snapshots need.
pub const SNAPSHOTS: &[FactKind] = &[FactKind::Snapshots, FactKind::OtherSnapshots];

/// The kinds of data that options about animations of joints need.
pub const CLIPS: &[FactKind] = &[FactKind::Clips, FactKind::OtherClips];

/// The kinds of data that options about times need.
pub const MOMENTS: &[FactKind] = &[
    FactKind::Snapshots,
    FactKind::OtherSnapshots,
    FactKind::Clips,
    FactKind::OtherClips,
];

/// The kinds of data that options about levels of detail need.
pub const LEVELS: &[FactKind] = &[FactKind::Levels, FactKind::OtherLevels];

/// Gives the values of an enum their texts, for `Display`, `FromStr` and serde; `except` ends other texts that are read.
#[macro_export]
macro_rules! texts {
    ($type:ty, $texts:expr $(, except $end:literal)?) => {
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match $texts.iter().find(|(_, value)| value == self) {
                    Some((text, _)) => f.write_str(text),
                    None => write!(f, "{self:?}"),
                }
            }
        }

        impl std::str::FromStr for $type {
            type Err = $crate::ParseError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $(let text = text.strip_suffix($end).unwrap_or(text);)?
                let found = $texts.into_iter().find(|(name, _)| *name == text);
                found.map(|(_, value)| value).ok_or_else(|| $crate::ParseError::new(&$texts.map(|(name, _)| name)))
            }
        }

        $crate::as_text!($type);
    };
}
pub(crate) use texts;

/// Has serde write and read the text of a value.
#[macro_export]
macro_rules! as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::Text(std::marker::PhantomData))
            }
        }
    };
}

/// Reads a value from its text. A number is such a text, and `[start, stop]` is the text of a range.
#[derive(Debug)]
pub struct Text<T>(pub PhantomData<T>);

impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut ends: A) -> Result<T, A::Error> {
        let start = ends.next_element::<usize>()?;
        let stop = ends.next_element::<usize>()?;
        match (
            start,
            stop.and_then(|stop| stop.checked_sub(1)),
            ends.next_element::<usize>()?,
        ) {
            (Some(start), Some(last), None) => self.visit_str(&format!("{start}..{last}")),
            _ => Err(A::Error::custom(
                "expected the first index and the one after the last",
            )),
        }
    }
}

/// Arguments of the command line that have another type than their option.
pub mod parse {
    use super::ParseError;

    /// A number that is not NaN or infinite.
    ///
    /// # Errors
    ///
    /// If the text is none.
    pub fn finite(text: &str) -> Result<f64, ParseError> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| ParseError::new(&["a number"]))
    }

    /// A number above 0.
    ///
    /// # Errors
    ///
    /// If the text is none.
    pub fn above_zero(text: &str) -> Result<f64, ParseError> {
        let number = finite(text).ok().filter(|number| *number > 0.0);
        number.ok_or_else(|| ParseError::new(&["a number above 0"]))
    }

    /// A length in millimetres.
    ///
    /// # Errors
    ///
    /// If the text is neither a unit nor a number above 0.
    pub fn millimeters(text: &str) -> Result<f64, ParseError> {
        match text {
            "mm" => Ok(1.0),
            "cm" => Ok(10.0),
            "m" => Ok(1000.0),
            "in" => Ok(25.4),
            "ft" => Ok(304.8),
            _ => above_zero(text)
                .map_err(|_| ParseError::new(&["mm, cm, m, in, ft,", "a number of millimetres"])),
        }
    }
}
