//! Where everything is: every range checked, nothing decoded.

use std::ops::Range;

use bytes::Bytes;

use super::raw;
use super::rules::FILE;
use super::tables::{Joints, Poses, scalar};
use crate::bytes::{Array, Element, Source, Text};
use crate::format::Format;
use crate::num::{as_u64, as_usize, decimal, size_u64};
use crate::report::{ErrorKind, Finding, Result};

/// What is read first of a file that is read lazily, in bytes: the header and, in most files, every table.
pub(crate) const HEAD: u64 = 64 << 10;

/// `iqmvertexarray.type` from which on it is the offset of a name.
pub(crate) const IQM_CUSTOM: u32 = 0x10;

/// The layout of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source, with the tables at hand.
    pub(crate) source: Source,
    pub(crate) header: raw::Header,
    pub(crate) text: Bytes,
    pub(crate) meshes: Array<raw::Mesh>,
    pub(crate) vertex_arrays: Array<raw::VertexArray>,
    pub(crate) joints: Joints,
    pub(crate) poses: Poses,
    pub(crate) anims: Array<raw::Anim>,
    pub(crate) extensions: Vec<ExtensionNode>,
    pub(crate) sections: Sections,
    pub(crate) findings: Vec<Finding>,
}

/// Where the sections lie. Empty where there is nothing.
#[derive(Debug)]
pub(crate) struct Sections {
    pub(crate) text: Range<u64>,
    pub(crate) meshes: Range<u64>,
    pub(crate) vertex_arrays: Range<u64>,
    pub(crate) triangles: Range<u64>,
    pub(crate) adjacency: Range<u64>,
    pub(crate) joints: Range<u64>,
    pub(crate) poses: Range<u64>,
    pub(crate) anims: Range<u64>,
    pub(crate) frames: Range<u64>,
    pub(crate) bounds: Range<u64>,
    pub(crate) comment: Range<u64>,
}

/// A node of the extension list, and where it lies.
#[derive(Clone, Debug)]
pub(crate) struct ExtensionNode {
    pub(crate) node: Range<u64>,
    pub(crate) name: u32,
    pub(crate) data: Range<u64>,
}

impl Layout {
    pub(crate) fn read(source: &Source) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source.for_format(Format::Iqm).with_head(header_size, HEAD, "iqmheader")?;
        let header: raw::Header = source.read_struct(0, "iqmheader")?;
        check_identity(&header, &source)?;

        let v1 = header.version.get() == 1;
        let bound = Bound::of(&header);
        let sections = Sections::read(&header, v1, bound)?;
        let tables = [
            &sections.text,
            &sections.meshes,
            &sections.vertex_arrays,
            &sections.joints,
            &sections.poses,
            &sections.anims,
        ];
        let source = source.with_ranges(&tables.map(Clone::clone), "tables of the header")?;

        Ok(Self {
            text: source.get(sections.text.clone(), "text")?,
            meshes: table(&source, &sections.meshes, "iqmmesh[]")?,
            vertex_arrays: table(&source, &sections.vertex_arrays, "iqmvertexarray[]")?,
            joints: match v1 {
                true => Joints::V1(table(&source, &sections.joints, "iqmjoint[]")?),
                false => Joints::V2(table(&source, &sections.joints, "iqmjoint[]")?),
            },
            poses: match v1 {
                true => Poses::V1(table(&source, &sections.poses, "iqmpose[]")?),
                false => Poses::V2(table(&source, &sections.poses, "iqmpose[]")?),
            },
            anims: table(&source, &sections.anims, "iqmanim[]")?,
            extensions: Vec::new(),
            findings: Vec::new(),
            source,
            header,
            sections,
        })
    }

    /// `num_vertexes`.
    pub(crate) fn num_vertexes(&self) -> u64 {
        self.header.num_vertexes.get().into()
    }

    /// The text at an offset that was checked.
    pub(crate) fn text_at(&self, offset: u32) -> Text {
        let from = as_usize(offset).min(self.text.len());
        let rest = self.text.slice(from..);
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        Text::new(rest.slice(..end))
    }

    /// Whether the text at an offset is `name`, without looking for its end first.
    pub(crate) fn text_is(&self, offset: u32, name: &[u8]) -> bool {
        let from = as_usize(offset);
        let rest = self.text.get(from..).and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.first() == Some(&0))
    }

    /// Where a vertex array lies, and nowhere if it is empty, for then its offset may be anything; `None` for a format
    /// that does not exist, which opening refuses.
    pub(crate) fn array_range(&self, array: &raw::VertexArray) -> Option<Range<u64>> {
        let scalar = scalar(array.format.get())?;
        let element = u64::from(array.size.get()).checked_mul(as_u64(scalar.size()))?;
        let start = u64::from(array.offset.get());
        match self.num_vertexes().checked_mul(element)? {
            0 => Some(0..0),
            bytes => Some(start..start.checked_add(bytes)?),
        }
    }
}

impl Sections {
    fn read(header: &raw::Header, v1: bool, bound: Bound) -> Result<Self> {
        let sizes: [u64; 2] = if v1 { [44, 80] } else { [48, 88] };
        let [joint, pose] = sizes;
        let count = |number: zerocopy::little_endian::U32| u64::from(number.get());
        let optional = |offset: zerocopy::little_endian::U32, count: u64, size: u64, what| match offset.get()
        {
            0 => Ok(0..0),
            offset => bound.section(offset, count, size, what),
        };
        let frame = count(header.num_framechannels).saturating_mul(2);
        Ok(Self {
            text: bound.section(header.ofs_text.get(), count(header.num_text), 1, "text")?,
            meshes: bound.section(header.ofs_meshes.get(), count(header.num_meshes), 24, "iqmmesh[]")?,
            vertex_arrays: bound.section(
                header.ofs_vertexarrays.get(),
                count(header.num_vertexarrays),
                20,
                "iqmvertexarray[]",
            )?,
            triangles: bound.section(
                header.ofs_triangles.get(),
                count(header.num_triangles),
                12,
                "iqmtriangle[]",
            )?,
            adjacency: optional(header.ofs_adjacency, count(header.num_triangles), 12, "iqmadjacency[]")?,
            joints: bound.section(header.ofs_joints.get(), count(header.num_joints), joint, "iqmjoint[]")?,
            poses: bound.section(header.ofs_poses.get(), count(header.num_poses), pose, "iqmpose[]")?,
            anims: bound.section(header.ofs_anims.get(), count(header.num_anims), 20, "iqmanim[]")?,
            frames: bound.section(header.ofs_frames.get(), count(header.num_frames), frame, "frames[]")?,
            bounds: optional(header.ofs_bounds, count(header.num_frames), 32, "iqmbounds[]")?,
            comment: bound.section(header.ofs_comment.get(), count(header.num_comment), 1, "comment")?,
        })
    }
}

fn check_identity(header: &raw::Header, source: &Source) -> Result<()> {
    if header.magic != *raw::MAGIC {
        let error = FILE.error(ErrorKind::UnknownFormat, "iqmheader.magic").at(0..16);
        let found = format!("\"{}\"", header.magic.escape_ascii());
        return Err(error.expected("\"INTERQUAKEMODEL\\0\"").found(found));
    }
    let version = header.version.get();
    if !(1..=2).contains(&version) {
        let error = FILE.error(ErrorKind::Unsupported, "iqmheader.version").at(0x10..0x14);
        return Err(error.expected("1 or 2").found(version));
    }
    let filesize = u64::from(header.filesize.get());
    let header_size = size_u64::<raw::Header>();
    if filesize < header_size {
        let error = FILE.malformed("iqmheader.filesize").at(0x14..0x18);
        return Err(error.expected(format!("at least {header_size}")).found(filesize));
    }
    if let Some(len) = source.len()?.filter(|len| filesize > *len) {
        let error = FILE.error(ErrorKind::Truncated, "file").at(0..filesize);
        let expected = format!("{} bytes (iqmheader.filesize)", decimal(filesize));
        return Err(error.expected(expected).found(decimal(len)));
    }
    Ok(())
}

/// What `filesize` bounds.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) filesize: u64,
}

impl Bound {
    pub(crate) fn of(header: &raw::Header) -> Self {
        Self { filesize: header.filesize.get().into() }
    }

    /// The range of `count` elements of `size` bytes at an offset: behind the header and within `filesize`.
    pub(crate) fn section(
        self,
        offset: u32,
        count: u64,
        size: u64,
        what: &'static str,
    ) -> Result<Range<u64>> {
        if count == 0 || size == 0 {
            return Ok(0..0);
        }
        let start = u64::from(offset);
        let end = count.checked_mul(size).and_then(|bytes| start.checked_add(bytes));
        let header = size_u64::<raw::Header>();
        let error = || FILE.malformed(what).at(start..end.unwrap_or(u64::MAX));
        match end {
            _ if start < header => {
                Err(error().expected(format!("a start at {header:#x} or later")).found(hex(start)))
            }
            Some(end) if end <= self.filesize => Ok(start..end),
            end => {
                let found = end.map_or_else(|| "more than 64 bits hold".to_owned(), hex);
                Err(error()
                    .expected(format!("an end at {:#x} (filesize) or before", self.filesize))
                    .found(found))
            }
        }
    }
}

fn hex(number: u64) -> String {
    format!("{number:#x}")
}

fn table<T: Element>(source: &Source, range: &Range<u64>, what: &'static str) -> Result<Array<T>> {
    source.get(range.clone(), what).map(Array::new)
}
