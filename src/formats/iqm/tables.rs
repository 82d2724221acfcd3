//! The tables of a file, in the form of either version, and component formats.

use std::fmt::Debug;
use std::ops::Range;

use zerocopy::FromZeros;
use zerocopy::little_endian::U32;

use super::pose::synthesised_w;
use super::raw;
use super::rules::FILE;
use crate::bytes::{Array, Element, Scalar, Source};
use crate::num::{Span, as_u64, counted, decimal, size_u64, span};
use crate::report::{Address, Error, ErrorKind, Place, Result};

/// A structure that version 1 stores in another form.
pub(crate) trait Versioned: Element + FromZeros + Debug {
    /// The form of version 1.
    type V1: Element + Debug;

    /// The structure as version 2 stores it.
    fn from_v1(stored: Self::V1) -> Self;
}

impl Versioned for raw::Joint {
    type V1 = raw::JointV1;

    fn from_v1(stored: Self::V1) -> Self {
        let raw::JointV1 {
            name,
            parent,
            translate,
            rotate,
            scale,
        } = stored;
        let [x, y, z] = rotate;
        let w = synthesised_w(rotate.map(|component| component.get()));
        Self {
            name,
            parent,
            translate,
            rotate: [x, y, z, w.into()],
            scale,
        }
    }
}

/// Channels keep their indices; the tenth, which version 1 does not have, is 0.
impl Versioned for raw::Pose {
    type V1 = raw::PoseV1;

    fn from_v1(stored: Self::V1) -> Self {
        let mut pose = Self::new_zeroed();
        pose.parent = stored.parent;
        pose.channelmask = stored.channelmask;
        pose.channeloffset[..9].copy_from_slice(&stored.channeloffset);
        pose.channelscale[..9].copy_from_slice(&stored.channelscale);
        pose
    }
}

/// A table of either version.
#[derive(Debug)]
pub(crate) enum Table<T: Versioned> {
    V1(Array<T::V1>),
    V2(Array<T>),
}

/// `iqmjoint[]`.
pub(crate) type Joints = Table<raw::Joint>;

/// `iqmpose[]`.
pub(crate) type Poses = Table<raw::Pose>;

impl<T: Versioned> Table<T> {
    pub(crate) fn read(
        source: &Source,
        range: &Range<u64>,
        version: u32,
        what: &'static str,
    ) -> Result<Self> {
        Ok(match version {
            1 => Self::V1(table(source, range, what)?),
            _ => Self::V2(table(source, range, what)?),
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::V1(elements) => elements.len(),
            Self::V2(elements) => elements.len(),
        }
    }

    /// The elements as version 2 stores them.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = T> + '_ {
        (0..self.len()).map(|index| self.at(index))
    }

    /// An element as version 2 stores it; zeros for one that is not there.
    pub(crate) fn at(&self, index: usize) -> T {
        let stored = match self {
            Self::V1(elements) => elements.get(index).map(T::from_v1),
            Self::V2(elements) => elements.get(index),
        };
        stored.unwrap_or_else(T::new_zeroed)
    }
}

impl Poses {
    /// The bits of a mask that are channels.
    pub(crate) fn channel_bits(&self) -> u32 {
        match self {
            Self::V1(_) => 0x1ff,
            Self::V2(_) => 0x3ff,
        }
    }
}

/// A table that is the same in both versions.
pub(crate) fn table<T: Element>(
    source: &Source,
    range: &Range<u64>,
    what: &'static str,
) -> Result<Array<T>> {
    source.get(range.clone(), what).map(Array::new)
}

/// The header, or an element of a table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) start: u64,
    /// Empty for the header.
    pub(crate) table: &'static str,
    pub(crate) index: u64,
}

impl Row {
    pub(crate) const HEADER: Self = Self {
        start: 0,
        table: "",
        index: 0,
    };

    pub(crate) fn address(self) -> Address {
        Address::field(self.table).index(self.index)
    }

    /// `size` bytes at an offset.
    pub(crate) fn part(self, offset: u64, size: u64) -> Place {
        let file = if self.table.is_empty() {
            FILE
        } else {
            FILE.of(self.address())
        };
        file.at(span(self.start.saturating_add(offset), size))
    }

    /// The number of four bytes at an offset.
    pub(crate) fn field(self, what: &'static str, offset: u64, value: U32) -> Field {
        Field {
            what,
            row: self,
            offset,
            value: value.get(),
        }
    }
}

/// A number of four bytes, its name, and its position in the file.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(super) what: &'static str,
    pub(super) row: Row,
    /// The position in the row.
    pub(super) offset: u64,
    pub(super) value: u32,
}

impl Field {
    pub(crate) fn error(self, kind: ErrorKind) -> Error {
        self.row.part(self.offset, 4).error(kind, self.what)
    }

    pub(crate) fn malformed(self) -> Error {
        self.error(ErrorKind::Malformed)
    }

    /// The bytes of `count` elements of `size` bytes, of which this is the offset.
    ///
    /// They must be after the header and within the file, which ends at `filesize`. The error is
    /// about the offset if not one element fits, and about the count if some do.
    pub(crate) fn section(self, count: Self, size: u64, filesize: u64) -> Result<Range<u64>> {
        if count.value == 0 || size == 0 {
            return Ok(0..0);
        }
        let start = u64::from(self.value);
        if start < size_u64::<raw::Header>() {
            let found = format!("{start:#x}, inside the header");
            return Err(self.malformed().found(found));
        }
        let there = filesize.saturating_sub(start);
        let max = there.checked_div(size).unwrap_or(0);
        if max == 0 {
            let needed = counted(size, "byte");
            let expected = format!("room for {needed} before {filesize:#x} (filesize)");
            let error = self.malformed().expected(expected);
            return Err(error.found(format_args!("{start:#x}")));
        }
        let wanted = u64::from(count.value);
        if wanted > max {
            let expected = format!(
                "at most {}, for which there is room from {start:#x} to {filesize:#x} (filesize)",
                decimal(max)
            );
            return Err(count.malformed().expected(expected).found(wanted));
        }
        Ok(span(start, wanted.saturating_mul(size)))
    }
}

/// The elements of a table, each with its place.
pub(crate) fn rows<T>(
    table: &'static str,
    range: &Range<u64>,
    elements: impl ExactSizeIterator<Item = T>,
) -> impl Iterator<Item = (Row, T)> {
    let start = range.start;
    let size = range
        .length()
        .checked_div(as_u64(elements.len()))
        .unwrap_or(0);
    let row = move |index: u64| Row {
        start: start.saturating_add(size.saturating_mul(index)),
        table,
        index,
    };
    (0..).map(row).zip(elements)
}

/// The index of a parent; `None` for a root, which has a negative number.
pub(crate) fn parent(stored: i32) -> Option<u32> {
    u32::try_from(stored).ok()
}

/// The component format with this number.
pub(crate) fn scalar(format: u32) -> Option<Scalar> {
    use Scalar::{F16, F32, F64, I8, I16, I32, U8, U16, U32};
    [I8, U8, I16, U16, I32, U32, F16, F32, F64]
        .get(usize::try_from(format).ok()?)
        .copied()
}

/// The format and size that the specification recommends for a vertex array.
pub(crate) fn recommended(kind: u32) -> Option<(Scalar, u32)> {
    Some(match kind {
        0 | 2 => (Scalar::F32, 3),
        1 => (Scalar::F32, 2),
        3 => (Scalar::F32, 4),
        4..=6 => (Scalar::U8, 4),
        _ => return None,
    })
}
