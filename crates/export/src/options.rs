//! Structs of options, and the texts of their values.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::RangeInclusive;
use std::str::FromStr;

use meshmap_scene::{Fact, FactKind};
use serde::de::{Error, SeqAccess, Visitor};

use crate::error::list;

/// Declares a struct of options. An option has its documentation, which is also its help, its argument of the command line, and
/// the targets that it is for. Kinds of data after `=>` are what it is about: without any of them in a file, it has no effect. Fields
/// after `and` are set by programs, not by users.
macro_rules! options {
    ($(#[$outer:meta])* $name:ident {
        $(for $targets:ident { $($(#[doc = $doc:tt])* #[arg($($arg:tt)*)] $option:ident: $type:ty $(=> $facts:expr)?,)* })*
    } and {
        $($(#[$inner:meta])* $field:ident: $field_type:ty,)*
    }) => {
        $(#[$outer])*
        #[derive(Clone, Debug, Default, serde::Deserialize, serde::Serialize)]
        #[serde(default, deny_unknown_fields)]
        #[cfg_attr(feature = "clap", derive(clap::Args), group(skip))]
        pub struct $name {
            $($($(#[doc = $doc])* #[cfg_attr(feature = "clap", arg($($arg)*))] pub $option: $type,)*)*
            $($(#[$inner])* #[cfg_attr(feature = "clap", arg(skip))] pub $field: $field_type,)*
        }

        impl $name {
            /// The options that are set and not for this target, with the targets that they are for.
            #[allow(dead_code, reason = "pictures have one target")]
            fn unused(
                &self,
                target: $crate::settings::Target,
            ) -> impl Iterator<Item = (&'static str, &'static [$crate::settings::Target])> {
                let usual = Self::default();
                let options: Vec<(_, _, &[_])> =
                    vec![$($((stringify!($option), self.$option != usual.$option, $targets),)*)*];
                let unused =
                    options.into_iter().filter(move |(_, is_set, targets)| *is_set && !targets.contains(&target));
                unused.map(|(name, _, targets)| (name, targets))
            }

            /// The options that are set and about kinds of data, with these kinds.
            pub(crate) fn about_kinds(&self) -> Vec<$crate::options::AboutKinds> {
                let usual = Self::default();
                let options: Vec<(_, _, &[_])> =
                    vec![$($($((stringify!($option), self.$option != usual.$option, $facts),)?)*)*];
                let set = options.into_iter().filter(|(_, is_set, _)| *is_set);
                set.map(|(name, _, kinds)| (name, kinds)).collect()
            }
        }
    };
}
pub(crate) use options;

/// A text that is not a value of an option.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected {0}")]
pub struct ParseError(String);

impl ParseError {
    pub(crate) fn new(expected: &[&str]) -> Self {
        Self(list(expected, "or"))
    }
}

/// The name of an option, and the kinds of data that it is about.
pub(crate) type AboutKinds = (&'static str, &'static [FactKind]);

/// Keeps the options that have no effect on a file with these facts.
pub(crate) fn keep_without_effect(options: &mut Vec<AboutKinds>, facts: &[Fact]) {
    options.retain(|(_, kinds)| !facts.iter().any(|fact| kinds.contains(&fact.kind)));
}

/// The kinds of data that options about snapshots need.
pub(crate) const SNAPSHOTS: &[FactKind] = &[FactKind::Snapshots, FactKind::OtherSnapshots];

/// The kinds of data that options about animations of joints need.
pub(crate) const CLIPS: &[FactKind] = &[FactKind::Clips, FactKind::OtherClips];

/// The kinds of data that options about times need.
pub(crate) const MOMENTS: &[FactKind] = &[
    FactKind::Snapshots,
    FactKind::OtherSnapshots,
    FactKind::Clips,
    FactKind::OtherClips,
];

/// The kinds of data that options about levels of detail need.
pub(crate) const LEVELS: &[FactKind] = &[FactKind::Levels, FactKind::OtherLevels];

/// Gives the values of an enum their texts, for `Display`, `FromStr` and serde; `except` ends other texts that are read.
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

        $crate::options::as_text!($type);
    };
}
pub(crate) use texts;

/// Has serde write and read the text of a value.
macro_rules! as_text {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any($crate::options::Text(std::marker::PhantomData))
            }
        }
    };
}
pub(crate) use as_text;

/// Reads a value from its text. A number is such a text, and `[start, stop]` is the text of a range.
pub(crate) struct Text<T>(pub(crate) PhantomData<T>);

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
        let (start, stop) = (ends.next_element::<usize>()?, ends.next_element::<usize>()?);
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

/// An inclusive range of the snapshots of a CGeo file, and the step from one to the next.
///
/// As a text, one snapshot is `7`, a range is `0..39`, and every second snapshot of it is `0..39:2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    pub(crate) range: RangeInclusive<usize>,
    pub(crate) every: Option<NonZero<usize>>,
}

impl From<RangeInclusive<usize>> for Snapshots {
    fn from(range: RangeInclusive<usize>) -> Self {
        Self { range, every: None }
    }
}

impl fmt::Display for Snapshots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.range.start(), self.range.end())?;
        self.every.map_or(Ok(()), |every| write!(f, ":{every}"))
    }
}

impl FromStr for Snapshots {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let (range, every) = match text.split_once(':') {
            Some((range, every)) => (range, every.parse().ok().map(Some)),
            None => (text, Some(None)),
        };
        let number = |text: &str, otherwise| {
            if text.is_empty() {
                Some(otherwise)
            } else {
                text.parse().ok()
            }
        };
        let ends = match range.split_once("..") {
            Some((first, last)) => number(first, 0).zip(number(last, usize::MAX)),
            None => range.parse().ok().map(|one| (one, one)),
        };
        match ends.zip(every) {
            Some(((first, last), every)) if first <= last => Ok(Self {
                range: first..=last,
                every,
            }),
            _ => Err(ParseError::new(&[
                "a number such as 7, or a range such as 0..39",
                "0..39:2",
            ])),
        }
    }
}

as_text!(Snapshots);

/// Arguments of the command line that have another type than their option.
#[cfg(feature = "clap")]
pub(crate) mod parse {
    use super::ParseError;

    pub(crate) fn finite(text: &str) -> Result<f64, ParseError> {
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| ParseError::new(&["a number"]))
    }

    pub(crate) fn above_zero(text: &str) -> Result<f64, ParseError> {
        let number = finite(text).ok().filter(|number| *number > 0.0);
        number.ok_or_else(|| ParseError::new(&["a number above 0"]))
    }

    /// A length in millimetres.
    pub(crate) fn millimeters(text: &str) -> Result<f64, ParseError> {
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

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use serde::Serialize;
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::{Lods, Mode, Samples, Target, Turn};

    /// Asserts that values are read as they are displayed, by serde as well, and returns the error for another text.
    fn error_of<T>(values: impl IntoIterator<Item = T>) -> String
    where
        T: fmt::Display
            + FromStr<Err = ParseError>
            + Debug
            + PartialEq
            + Serialize
            + DeserializeOwned,
    {
        for value in values {
            let json = serde_json::to_string(&value).unwrap();
            assert_eq!(json, format!("\"{value}\""));
            assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
            assert_eq!(value.to_string().parse(), Ok(value));
        }
        "x".parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn values_are_read_as_they_are_displayed_and_errors_name_them() {
        assert_eq!(
            error_of(Target::ALL),
            "expected glb, gltf, obj, ply, stl, pc2 or usdc"
        );
        assert_eq!(
            error_of([Samples::One, Samples::Four, Samples::Nine]),
            "expected 1, 4 or 9"
        );
        let modes = [Mode::Shaded, Mode::Clay, Mode::Wireframe, Mode::Normals];
        assert_eq!(
            error_of(modes),
            "expected shaded, clay, wireframe or normals"
        );
        let turns = [Turn::None, Turn::Quarter, Turn::Half, Turn::ThreeQuarters];
        assert_eq!(error_of(turns), "expected 0, 90, 180 or 270");
        let lods = (0..4).map(Lods::Only).chain([Lods::Finest, Lods::All]);
        assert_eq!(
            error_of(lods),
            "expected finest, high, medium, low, lowest or all"
        );
        assert_eq!("lowest_lod".parse(), Ok(Lods::Only(3)));
        let every = |every| Snapshots {
            range: 3..=9,
            every,
        };
        let snapshots = [
            (7..=7).into(),
            (0..=usize::MAX).into(),
            every(None),
            every(NonZero::new(2)),
        ];
        let expected = "expected a number such as 7, or a range such as 0..39 or 0..39:2";
        assert_eq!(error_of::<Snapshots>(snapshots), expected);
    }

    #[test]
    fn ranges_of_snapshots_have_several_texts() {
        for (text, first, last) in [
            ("7", 7, 7),
            ("..9", 0, 9),
            ("4..", 4, usize::MAX),
            ("..", 0, usize::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Snapshots::from(first..=last)), "{text}");
        }
        for text in ["", "9..2", "0..9:0", "0..9:", "-1", "1..2..3"] {
            assert!(text.parse::<Snapshots>().is_err(), "{text}");
        }
        assert_eq!(
            serde_json::from_str::<Snapshots>("[2, 5]").unwrap(),
            (2..=4).into()
        );
        for ends in ["[3, 3]", "[0, 0]", "[1]", "[1, 2, 3]", "[-1, 2]", "3.5"] {
            assert!(serde_json::from_str::<Snapshots>(ends).is_err(), "{ends}");
        }
    }
}
