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

    /// The place of `size` bytes at an offset in the row, for errors and findings.
    pub(crate) fn place(self, offset: u64, size: u64) -> Place {
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
        self.row.place(self.offset, 4).error(kind, self.what)
    }

    pub(crate) fn malformed(self) -> Error {
        self.error(ErrorKind::Malformed)
    }
}

/// The bytes of `count` elements of `size` bytes each, stored from `offset` on.
///
/// They must be after the header and within the file, which ends at `filesize`. The error is
/// about the offset if not one element fits, and about the count if some do.
pub(crate) fn element_range(
    offset: Field,
    count: Field,
    size: u64,
    filesize: u64,
) -> Result<Range<u64>> {
    if count.value == 0 || size == 0 {
        return Ok(0..0);
    }
    let start = u64::from(offset.value);
    if start < size_u64::<raw::Header>() {
        let found = format!("{start:#x}, inside the header");
        return Err(offset.malformed().found(found));
    }
    let bytes_after = filesize.saturating_sub(start);
    let max_count = bytes_after.checked_div(size).unwrap_or(0);
    if max_count == 0 {
        let needed = counted(size, "byte");
        let expected = format!("room for {needed} before {filesize:#x} (filesize)");
        let error = offset.malformed().expected(expected);
        return Err(error.found(format_args!("{start:#x}")));
    }
    let declared = u64::from(count.value);
    if declared > max_count {
        let expected = format!(
            "at most {}, for which there is room from {start:#x} to {filesize:#x} (filesize)",
            decimal(max_count)
        );
        return Err(count.malformed().expected(expected).found(declared));
    }
    Ok(span(start, declared.saturating_mul(size)))
}

/// The elements of a table, each with its row. The elements fill the range, so that its length gives
/// their size, which depends on the version of the file.
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
    (0..).zip(elements).map(move |(index, element)| {
        let row = Row {
            start: start.saturating_add(size.saturating_mul(index)),
            table,
            index,
        };
        (row, element)
    })
}

/// The index of a parent; `None` for a root, which has a negative number.
pub(crate) fn parent(stored: i32) -> Option<u32> {
    u32::try_from(stored).ok()
}

/// The component format with this number in `iqmvertexarray.format`.
pub(crate) fn scalar(format: u32) -> Option<Scalar> {
    Some(match format {
        0 => Scalar::I8,
        1 => Scalar::U8,
        2 => Scalar::I16,
        3 => Scalar::U16,
        4 => Scalar::I32,
        5 => Scalar::U32,
        6 => Scalar::F16,
        7 => Scalar::F32,
        8 => Scalar::F64,
        _ => return None,
    })
}

/// The layout of the elements of a vertex array.
pub(crate) struct ElementLayout {
    pub(crate) format: Scalar,
    /// The number of components.
    pub(crate) size: u32,
}

/// The layout that the specification recommends for vertex arrays of a type.
pub(crate) fn recommended(array_type: u32) -> Option<ElementLayout> {
    let format = match array_type {
        raw::IQM_POSITION | raw::IQM_TEXCOORD | raw::IQM_NORMAL | raw::IQM_TANGENT => Scalar::F32,
        raw::IQM_BLENDINDEXES | raw::IQM_BLENDWEIGHTS | raw::IQM_COLOR => Scalar::U8,
        _ => return None,
    };
    let size = match array_type {
        raw::IQM_TEXCOORD => 2,
        raw::IQM_POSITION | raw::IQM_NORMAL => 3,
        _ => 4,
    };
    Some(ElementLayout { format, size })
}
