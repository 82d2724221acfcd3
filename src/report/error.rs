use std::borrow::Cow;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::{fmt, io};

use super::address::Address;
use super::address::ParseError;
use super::cause::{Cause, Limit};
use super::kind::ErrorKind;
use crate::codec::{Fault, FaultKind};
use crate::format::Format;
use crate::num::decimal;

/// A result with this library's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A problem: its kind, location and cause.
///
/// One pointer wide. Displayed as one line, which begins with the [`path`](Self::path) if the path is known:
///
/// ```text
/// hall.iqm: iqm: iqmheader.version (0x10..0x14) is 9, which is not supported; supported: 1 or 2
/// ```
///
/// `{}` leaves out the text of the error of the system or of the reader that caused it, which
/// [`source`](std::error::Error::source) has, so that programs that print both say it once; `{:#}` has it:
///
/// ```text
/// {}    hall.iqm: cannot read file
/// {:#}  hall.iqm: cannot read file: No such file or directory (os error 2)
/// ```
///
/// # Examples
///
/// ```
/// use meshmap::{ErrorKind, Options, Source, iqm};
///
/// let error = iqm::Model::from_source(Source::from_bytes("INTERQUAKEMODEL\0"), &Options::default()).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Truncated);
/// assert_eq!(error.to_string(), "iqm: iqmheader (0x0..0x7c) is cut off: expected 124 bytes, found 16");
/// ```
#[derive(Clone)]
pub struct Error(Arc<Inner>);

const _: () = assert!(size_of::<Error>() == size_of::<usize>());

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    format: Option<Format>,
    path: Option<Arc<Path>>,
    what: &'static str,
    address: Option<Address>,
    byte_range: Option<Range<u64>>,
    decoded_range: Option<Range<u64>>,
    cause: Cause,
    io: Option<Arc<io::Error>>,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: &'static str) -> Self {
        Self(Arc::new(Inner {
            kind,
            format: None,
            path: None,
            what,
            address: None,
            byte_range: None,
            decoded_range: None,
            cause: Cause::Value {
                expected: "".into(),
                found: "".into(),
            },
            io: None,
        }))
    }

    pub(crate) fn io(error: io::Error, what: &'static str) -> Self {
        let mut this = Self::new(ErrorKind::Io(error.kind()), what);
        this.edit().io = Some(Arc::new(error));
        this
    }

    /// The error of a reader of the caller. A limit of the library that the reader has exceeded is that error, not one of input and output.
    pub(crate) fn of_reader(error: io::Error, what: &'static str) -> Self {
        let own = error
            .get_ref()
            .and_then(|inner| inner.downcast_ref::<Self>());
        match own {
            Some(own) if own.kind() == ErrorKind::LimitExceeded => own.clone(),
            _ => Self::io(error, what),
        }
    }

    pub(crate) fn kind_is(mut self, kind: ErrorKind) -> Self {
        self.edit().kind = kind;
        self
    }

    /// Returns this error with a format, unless it already has one.
    pub(crate) fn format_is(mut self, format: Option<Format>) -> Self {
        if self.0.format.is_none() {
            self.edit().format = format;
        }
        self
    }

    /// Returns this error with the path of its file, unless it already has one.
    pub(crate) fn in_file(mut self, path: Option<&Arc<Path>>) -> Self {
        if self.0.path.is_none() && path.is_some() {
            self.edit().path = path.cloned();
        }
        self
    }

    /// This error, with what it does not know of its place.
    pub(crate) fn or_place(
        mut self,
        format: Format,
        address: Option<&Address>,
        range: Option<&Range<u64>>,
        decoded: Option<&Range<u64>>,
    ) -> Self {
        let inner = self.edit();
        inner.format = inner.format.or(Some(format));
        inner.address = inner.address.take().or_else(|| address.cloned());
        inner.byte_range = inner.byte_range.take().or_else(|| range.cloned());
        inner.decoded_range = inner.decoded_range.take().or_else(|| decoded.cloned());
        self
    }

    pub(crate) fn at(mut self, range: Range<u64>) -> Self {
        self.edit().byte_range = Some(range);
        self
    }

    /// The bytes inside the decoded block whose stored bytes [`at`](Self::at) names.
    pub(crate) fn decoded_at(mut self, range: Range<u64>) -> Self {
        self.edit().decoded_range = Some(range);
        self
    }

    pub(crate) fn of(mut self, address: Address) -> Self {
        self.edit().address = Some(address);
        self
    }

    /// An error with a fault of the stream of `what`.
    pub(crate) fn stream(fault: Fault, what: &'static str) -> Self {
        match fault.kind {
            FaultKind::Cancelled => return Self::new(ErrorKind::Cancelled, what),
            FaultKind::Truncated => Self::new(ErrorKind::Truncated, what),
            FaultKind::TooShort => {
                let end = fault.decoded..fault.decoded.saturating_add(1);
                Self::new(ErrorKind::Malformed, what).decoded_at(end)
            }
            _ => Self::new(ErrorKind::Malformed, what),
        }
        .because(Cause::Stream(fault))
    }

    pub(crate) fn because(mut self, cause: Cause) -> Self {
        self.edit().cause = cause;
        self
    }

    /// Describes the valid values. Numbers that a caller or a file chooses are grouped: see [`decimal`].
    pub(crate) fn expected(self, expected: impl Into<Cow<'static, str>>) -> Self {
        self.because(Cause::Value {
            expected: expected.into(),
            found: "".into(),
        })
    }

    /// The value that was found. Call it after [`expected`](Self::expected).
    pub(crate) fn found(mut self, found: impl fmt::Display) -> Self {
        let text = decimal(found).into();
        match &mut self.edit().cause {
            Cause::Value { found, .. } => *found = text,
            cause => {
                *cause = Cause::Value {
                    expected: cause.expected().into_owned().into(),
                    found: text,
                }
            }
        }
        self
    }

    /// Fewer bytes than expected.
    pub(crate) fn truncated(self, expected: u64, found: u64) -> Self {
        self.because(Cause::Truncated { expected, found })
    }

    /// More than a constant of the library allows.
    pub(crate) fn above(self, allowed: u64, items: &'static str, needed: Option<u64>) -> Self {
        let limit = Limit::Fixed(items);
        self.because(Cause::Limit {
            limit,
            allowed,
            needed,
            count: None,
            remedy: "",
        })
    }

    /// The number in the file that needs more than a limit allows.
    pub(crate) fn needed_by(mut self, number: u64) -> Self {
        if let Cause::Limit { count, .. } = &mut self.edit().cause {
            *count = Some(number);
        }
        self
    }

    fn edit(&mut self) -> &mut Inner {
        Arc::make_mut(&mut self.0)
    }

    /// Returns `true` if the error does not concern the content of the file: its bytes could not be read, or the call was cancelled.
    pub(crate) fn is_of_reading(&self) -> bool {
        matches!(
            self.0.kind,
            ErrorKind::Io(_) | ErrorKind::NeedBytes(_) | ErrorKind::Cancelled
        )
    }

    /// The kind of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind.clone()
    }

    /// The format that was being read, if that was known.
    #[must_use]
    pub fn format(&self) -> Option<Format> {
        self.0.format
    }

    /// The path that the source was opened from, if opening, reading or decoding it failed.
    ///
    /// `None` for sources that are not files, and if the refused values were read by an earlier call or requested by a caller.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }

    /// The line that `{:#}` prints, without the path: for text that stands next to the name of the file.
    ///
    /// It is the same for every kind of source.
    #[must_use]
    pub fn message(&self) -> String {
        self.line(None)
    }

    /// Like [`message`](Self::message), without the format, and without the address if it is `part`: for text that stands next to the
    /// address of the part.
    #[must_use]
    pub fn message_at(&self, part: &Address) -> String {
        self.line(Some(part))
    }

    fn line(&self, part: Option<&Address>) -> String {
        let mut text = String::new();
        // Writing into a string does not fail.
        let _ = self.write_message(&mut text, part, true);
        text
    }

    /// Writes the message. The format is left out, and the address `part`, if that is known where the message stands.
    fn write_message(
        &self,
        f: &mut dyn fmt::Write,
        part: Option<&Address>,
        with_source: bool,
    ) -> fmt::Result {
        let Inner {
            kind,
            format,
            cause,
            io,
            ..
        } = &*self.0;
        if let Some(format) = format.filter(|_| part.is_none()) {
            write!(f, "{format}: ")?;
        }
        cause.write(f, kind, |number| Subject {
            error: self,
            part,
            number,
        })?;
        match io {
            Some(io) if with_source => write!(f, ": {}", one_line(&io.to_string())),
            _ => Ok(()),
        }
    }

    /// The structure or field, as the format's specification names it.
    #[must_use]
    pub fn what(&self) -> &'static str {
        self.0.what
    }

    /// The part of the file, if the format has several of its kind.
    #[must_use]
    pub fn address(&self) -> Option<&Address> {
        self.0.address.as_ref()
    }

    /// The bytes that are wrong or missing, counted from the start of the source.
    #[must_use]
    pub fn byte_range(&self) -> Option<Range<u64>> {
        self.0.byte_range.clone()
    }

    /// The bytes that are wrong inside a decoded block, counted from its start. [`byte_range`](Self::byte_range) is then the range
    /// of the stored block.
    #[must_use]
    pub fn decoded_range(&self) -> Option<Range<u64>> {
        self.0.decoded_range.clone()
    }

    /// The cause: the numbers and texts of the message.
    #[must_use]
    pub fn cause(&self) -> &Cause {
        &self.0.cause
    }
}

/// The structure of an error and its location: `iqmheader.ofs_joints (0x48..0x4c)`, with a number after the name.
struct Subject<'a> {
    error: &'a Error,
    /// An address that is left out.
    part: Option<&'a Address>,
    number: Option<u64>,
}

impl fmt::Display for Subject<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner {
            what,
            address,
            byte_range,
            decoded_range,
            ..
        } = &*self.error.0;
        f.write_str(what)?;
        if let Some(number) = self.number {
            write!(f, " {}", decimal(number))?;
        }
        if let Some(address) = address
            .as_ref()
            .filter(|address| Some(*address) != self.part)
        {
            write!(f, " of {address}")?;
        }
        match (byte_range, decoded_range) {
            (None, None) => Ok(()),
            (Some(stored), None) => write!(f, " ({stored:#x?})"),
            (None, Some(inflated)) => write!(f, " (inflated {inflated:#x?})"),
            (Some(stored), Some(inflated)) => write!(f, " ({stored:#x?}, inflated {inflated:#x?})"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.0.path {
            write!(f, "{}: ", one_line(&path.to_string_lossy()))?;
        }
        let with_source = f.alternate();
        self.write_message(f, None, with_source)
    }
}

/// A name of a file, or the error of a caller's own reader, either of which may span lines.
fn one_line(text: &str) -> String {
    text.lines().collect::<Vec<_>>().join(" ")
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self:#})")
    }
}

/// The kind is [`OutOfRange`](ErrorKind::OutOfRange).
impl From<ParseError> for Error {
    fn from(error: ParseError) -> Self {
        let what = if error.what == ParseError::ADDRESS {
            "address"
        } else {
            "name"
        };
        Self::new(ErrorKind::OutOfRange, what)
            .expected(error.expected)
            .found(format_args!("{:?}", error.found))
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.io.as_deref().map(|error| error as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_is_one_line_with_every_part() {
        let error = Error::new(ErrorKind::Malformed, "iqmmesh.name")
            .format_is(Some(Format::Iqm))
            .of(Address::field("meshes").index(3))
            .at(0x7c..0x80)
            .expected("less than 12")
            .found(99);
        assert_eq!(
            error.to_string(),
            "iqm: iqmmesh.name of meshes[3] (0x7c..0x80) is 99, expected less than 12"
        );
    }

    #[test]
    fn path_comes_first_stays_on_one_line_and_is_that_of_the_first_file() {
        let [first, second] = ["a\nb.iqm", "c.iqm"].map(|path| Arc::from(Path::new(path)));
        let error = Error::new(ErrorKind::Malformed, "x")
            .in_file(None)
            .in_file(Some(&first));
        let error = error.in_file(Some(&second));
        assert_eq!(error.to_string(), "a b.iqm: malformed x");
        assert_eq!(error.path(), Some(&*first));
        assert_eq!(error.message(), "malformed x");
    }

    #[test]
    fn io_error_keeps_its_source_and_stays_on_one_line() {
        let error = Error::io(io::Error::other("first\nsecond"), "file");
        assert_eq!(error.to_string(), "cannot read file");
        assert_eq!(format!("{error:#}"), "cannot read file: first second");
        assert_eq!(
            format!("{error:?}"),
            "Error(cannot read file: first second)"
        );
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(error.kind(), ErrorKind::Io(io::ErrorKind::Other));
    }
}
