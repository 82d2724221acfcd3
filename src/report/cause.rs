use std::borrow::Cow;
use std::fmt::{self, Display, Write};
use std::ops::Range;

use super::kind::ErrorKind;
use crate::codec::{Fault, FaultKind};
use crate::num::{counted, decimal, size, size_up};

/// The cause of an [`Error`](crate::Error): the numbers and texts of its message.
///
/// # Examples
///
/// ```
/// use meshmap::{Cause, Options, Source, iqm};
///
/// let error = iqm::Model::from_source(Source::from_bytes("INTERQUAKEMODEL\0"), &Options::default()).unwrap_err();
/// assert!(matches!(error.cause(), Cause::Truncated { expected: 124, found: 16 }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Cause {
    /// A value other than the expected one. A text is empty if it adds nothing to the kind of the error.
    Value {
        /// The description of all valid values: `less than 12`.
        expected: Cow<'static, str>,
        /// The value in the file, or the value that the caller passed.
        found: Cow<'static, str>,
    },
    /// Fewer bytes than a structure needs.
    Truncated {
        /// The size of the structure in bytes.
        expected: u64,
        /// The number of its bytes that exist.
        found: u64,
    },
    /// A buffer of the caller with the wrong number of elements.
    Length {
        /// The number of elements that the buffer must have.
        expected: u64,
        /// The number of elements that it has.
        found: u64,
    },
    /// An offset outside the bytes that it may refer to.
    Offset {
        /// The valid offsets.
        expected: Range<u64>,
        /// The offset in the file.
        found: u64,
    },
    /// More than a limit allows.
    Limit {
        /// The limit.
        limit: Limit,
        /// The limit's value, or `free_ratio` times the stored bytes if that is more.
        allowed: u64,
        /// The amount that is needed, if it is known.
        needed: Option<u64>,
        /// The number in the file that causes the need, such as a vertex count.
        count: Option<u64>,
        /// The option that raises the limit; empty if there is none.
        ///
        /// See [`Limits::with_remedies`](crate::Limits::with_remedies).
        remedy: &'static str,
    },
    /// The limits allow the memory, but the machine does not have it.
    OutOfMemory {
        /// The size of the allocation in bytes.
        needed: u64,
    },
    /// More decoded data than the stored bytes can contain.
    TooLarge {
        /// The number in the file that causes the need, such as a vertex count.
        count: u64,
        /// The decoded size in bytes.
        needed: u64,
        /// The stored bytes.
        stored: u64,
    },
    /// A fault of a compressed stream.
    Stream(Fault),
    /// The beginning of the file is not the signature of a supported format.
    Signature {
        /// The first bytes of the file, at most 16.
        start: Vec<u8>,
        /// The description of the format that begins like this, if it is known.
        known_as: Option<&'static str>,
    },
    /// A CGeo snapshot without an end tag, however its sections are read.
    NoEndTag,
}

/// A limit that a [`Cause`] names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::max_block_bytes`](crate::Limits::max_block_bytes).
    BlockBytes,
    /// [`Limits::max_total_bytes`](crate::Limits::max_total_bytes).
    TotalBytes,
    /// The work of a [`Meter`](crate::Meter).
    Work,
    /// [`Limits::max_depth`](crate::Limits::max_depth).
    Depth,
    /// A constant of the library: the maximum number of these items, such as `faces`. The text is empty if the structure of the
    /// error is the item.
    Fixed(&'static str),
}

impl Limit {
    /// An amount in the unit of the limit.
    fn amount(self, number: u64) -> String {
        match self {
            Self::BlockBytes | Self::TotalBytes | Self::Work => size(number),
            Self::Depth | Self::Fixed(_) => decimal(number),
        }
    }

    /// The value of the limit, with its items.
    fn value(self, allowed: u64) -> String {
        match self {
            Self::Fixed(items) if !items.is_empty() => format!("{} {items}", self.amount(allowed)),
            Self::Work => format!("{} of decoding and other work", self.amount(allowed)),
            _ => self.amount(allowed),
        }
    }
}

impl Cause {
    /// The expected value, for programs that show it in a separate field; empty if the error has none.
    #[must_use]
    pub fn expected(&self) -> Cow<'_, str> {
        match self {
            Self::Value { expected, .. } => Cow::Borrowed(expected),
            Self::Truncated { expected, .. } => counted(*expected, "byte").into(),
            Self::Length { expected, .. } => decimal(expected).into(),
            Self::Offset { expected, .. } => format!("an offset in {expected:#x?}").into(),
            Self::Limit { limit, allowed, .. } => {
                format!("at most {}", limit.value(*allowed)).into()
            }
            Self::OutOfMemory { .. } => "at most the free memory of the machine".into(),
            Self::TooLarge { stored, .. } => {
                format!("what {} can inflate to", counted(*stored, "byte")).into()
            }
            Self::Stream(fault) => format!("an intact {} stream", fault.stream).into(),
            Self::Signature { .. } => "CGeo, IQM, OpenCTM, Second Life mesh or TMF".into(),
            Self::NoEndTag => "sections that lead to TAG_ANIMATION_SNAPSHOT_END".into(),
        }
    }

    /// The value that was found, for programs that show it in a separate field; empty if the error has none.
    #[must_use]
    pub fn found(&self) -> Cow<'_, str> {
        match self {
            Self::Value { found, .. } => Cow::Borrowed(found),
            Self::Truncated { found, .. } | Self::Length { found, .. } => decimal(found).into(),
            Self::Offset { found, .. } => format!("{found:#x}").into(),
            Self::Limit {
                limit: Limit::BlockBytes | Limit::TotalBytes,
                needed: Some(needed),
                ..
            } => size_up(*needed).into(),
            Self::Limit {
                limit,
                needed: Some(needed),
                ..
            } => limit.amount(*needed).into(),
            Self::Limit { .. } => "more".into(),
            Self::OutOfMemory { needed } | Self::TooLarge { needed, .. } => size(*needed).into(),
            Self::Stream(fault) => fault.to_string().into(),
            Self::Signature { start, .. } => format!("\"{}\"", start.escape_ascii()).into(),
            Self::NoEndTag => "none".into(),
        }
    }

    /// Writes the sentence about a structure, which `subject` names and locates. The number in the
    /// file that causes a need, if there is one, is the argument of `subject`, and stands after the name.
    pub(super) fn write<S: Display>(
        &self,
        f: &mut dyn Write,
        kind: &ErrorKind,
        subject: impl Fn(Option<u64>) -> S,
    ) -> fmt::Result {
        let found = self.found();
        match self {
            Self::Value { .. }
            | Self::Truncated { .. }
            | Self::Length { .. }
            | Self::Offset { .. } => self.write_expected_and_found(f, kind, subject(None), &found),
            Self::Limit {
                limit,
                allowed,
                needed,
                count,
                remedy,
            } => {
                let subject = subject(*count);
                if needed.is_some() {
                    write!(f, "{subject} needs {found}, above the limit of ")?;
                } else {
                    write!(f, "{subject} exceeds the limit of ")?;
                }
                f.write_str(&limit.value(*allowed))?;
                if !remedy.is_empty() {
                    write!(f, "; raise it with {remedy}")?;
                }
                Ok(())
            }
            Self::OutOfMemory { .. } => {
                let subject = subject(None);
                write!(f, "{subject} needs {found}, more than the machine has free")
            }
            Self::TooLarge { count, stored, .. } => {
                let subject = subject(Some(*count));
                let stored = decimal(stored);
                write!(
                    f,
                    "{subject} needs {found}; {stored} stored bytes cannot inflate to that"
                )
            }
            Self::Stream(fault) => {
                let subject = subject(None);
                match fault.kind {
                    // Reads on as "is corrupt: Adler-32 ..".
                    FaultKind::Checksum { .. } => write!(f, "{subject} is {fault}"),
                    _ => write!(f, "{subject}: {fault}"),
                }
            }
            Self::Signature { start, .. } if start.is_empty() => f.write_str("the file is empty"),
            Self::Signature { known_as, .. } => match known_as {
                Some(name) => write!(f, "unknown format: starts with {found}: {name}"),
                None => write!(
                    f,
                    "not a CGeo, IQM, OpenCTM, Second Life mesh or TMF file: starts with {found}"
                ),
            },
            Self::NoEndTag => {
                let subject = subject(None);
                write!(
                    f,
                    "{subject}: no end tag before the end of the file: cut off, or an unknown dialect; please send \
                     `meshmap info --report`"
                )
            }
        }
    }

    /// Writes the sentence about a structure whose value, length or offset is wrong.
    fn write_expected_and_found(
        &self,
        f: &mut dyn Write,
        kind: &ErrorKind,
        subject: impl Display,
        found: &str,
    ) -> fmt::Result {
        let expected = self.expected();
        if found.is_empty() && expected.is_empty() {
            return write!(f, "{kind} {subject}");
        }
        if found.is_empty() {
            return write!(f, "{kind} {subject}: expected {expected}");
        }
        match kind {
            ErrorKind::Truncated => {
                return write!(
                    f,
                    "{subject} is cut off: expected {expected}, found {found}"
                );
            }
            ErrorKind::Unsupported => {
                write!(f, "{subject} is {found}, which is not supported")?;
                if !expected.is_empty() {
                    write!(f, "; supported: {expected}")?;
                }
                return Ok(());
            }
            ErrorKind::OutOfRange if expected.is_empty() => {
                return write!(f, "{subject} is out of range: {found}");
            }
            _ => {}
        }
        let is_value = is_number_or_quoted(found);
        match (is_value, expected.is_empty()) {
            (true, true) => write!(f, "{subject} is {found}"),
            (true, false) => write!(f, "{subject} is {found}, expected {expected}"),
            (false, true) => write!(f, "{subject}: {found}"),
            (false, false) => write!(f, "{subject}: expected {expected}, found {found}"),
        }
    }
}

/// Returns `true` if a text is a number, or text of the file in quotes, of which a sentence can say that the subject
/// "is" it. Other texts are phrases, such as `no bytes`.
///
/// The first character decides: callers pass texts, many of which are a number and its unit.
fn is_number_or_quoted(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() || first == '-' || first == '"')
}
