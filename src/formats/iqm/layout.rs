//! The layout of a file: header and tables, every range checked against `filesize`.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use zerocopy::little_endian::U32;

use super::names::FileText;
use super::raw;
use super::rules::FILE;
use super::tables::{Joints, Poses, Row, rows, scalar, table};
use crate::bytes::{Array, Source, Text};
use crate::format::Format;
use crate::mesh::AttributeList;
use crate::num::{as_u64, decimal, size_u64};
use crate::report::{ErrorKind, Finding, Result};

/// Bytes that a lazy source reads first: header and, mostly, every table.
pub(crate) const HEAD: u64 = 64 << 10;

/// The first `iqmvertexarray.type` that is a name: the offset in the text + this.
pub(crate) const IQM_CUSTOM: u32 = 0x10;

/// The header and the tables of a file.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The source; it holds the tables in memory.
    pub(crate) source: Source,
    pub(crate) header: raw::Header,
    pub(crate) text: FileText,
    pub(crate) meshes: Array<raw::Mesh>,
    pub(crate) vertex_arrays: Array<raw::VertexArray>,
    pub(crate) joints: Joints,
    pub(crate) poses: Poses,
    pub(crate) anims: Array<raw::Anim>,
    pub(crate) extensions: Vec<ExtensionNode>,
    pub(crate) sections: Sections,
    pub(crate) findings: Vec<Finding>,
    /// The attributes of views, and which vertex array each is. Made once.
    pub(crate) attributes: OnceLock<(AttributeList, Arc<[usize]>)>,
}

/// The byte ranges of the sections; empty for those that the file does not have.
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

/// A node of the extension list.
#[derive(Clone, Debug)]
pub(crate) struct ExtensionNode {
    pub(crate) node: Range<u64>,
    pub(crate) name: u32,
    pub(crate) data: Range<u64>,
}

impl Layout {
    pub(crate) fn read(source: &Source) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source.for_format(Format::Iqm);
        // Of a large file whose header detection has read, the tables are all that is needed beside it.
        let is_read = source.len()?.is_some_and(|len| len > HEAD) && source.is_cached(&(0..header_size));
        let source = if is_read { source } else { source.with_head(header_size, HEAD, "iqmheader")? };
        let header: raw::Header = source.read_struct(0, "iqmheader")?;
        check_identity(&header, &source)?;

        let version = header.version.get();
        let sections = Sections::read(&header, version)?;
        let text = FileText::to_be_read(&source, &sections.text);
        let tables = [
            &text,
            &sections.meshes,
            &sections.vertex_arrays,
            &sections.joints,
            &sections.poses,
            &sections.anims,
        ];
        let source = source.with_ranges(&tables.map(Clone::clone), "tables of the header")?;

        Ok(Self {
            text: FileText::new(&source, &sections.text)?,
            meshes: table(&source, &sections.meshes, "iqmmesh[]")?,
            vertex_arrays: table(&source, &sections.vertex_arrays, "iqmvertexarray[]")?,
            joints: Joints::read(&source, &sections.joints, version, "iqmjoint[]")?,
            poses: Poses::read(&source, &sections.poses, version, "iqmpose[]")?,
            anims: table(&source, &sections.anims, "iqmanim[]")?,
            extensions: Vec::new(),
            findings: Vec::new(),
            attributes: OnceLock::new(),
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
        self.text.at(offset)
    }

    /// The bytes of a vertex array; `None` for a format that opening refuses.
    ///
    /// Empty where there are no vertices: the offset may then be anything.
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

/// The tables, each element with its place.
impl Layout {
    pub(crate) fn mesh_rows(&self) -> impl Iterator<Item = (Row, raw::Mesh)> + '_ {
        rows("meshes", &self.sections.meshes, self.meshes.iter())
    }

    pub(crate) fn vertex_array_rows(&self) -> impl Iterator<Item = (Row, raw::VertexArray)> + '_ {
        rows("vertex_arrays", &self.sections.vertex_arrays, self.vertex_arrays.iter())
    }

    pub(crate) fn joint_rows(&self) -> impl Iterator<Item = (Row, raw::Joint)> + '_ {
        rows("joints", &self.sections.joints, self.joints.iter())
    }

    pub(crate) fn pose_rows(&self) -> impl Iterator<Item = (Row, raw::Pose)> + '_ {
        rows("poses", &self.sections.poses, self.poses.iter())
    }

    pub(crate) fn anim_rows(&self) -> impl Iterator<Item = (Row, raw::Anim)> + '_ {
        rows("anims", &self.sections.anims, self.anims.iter())
    }
}

impl Sections {
    fn read(header: &raw::Header, version: u32) -> Result<Self> {
        let bound = Bound::of(header);
        let [joint, pose] = if version == 1 {
            [size_u64::<raw::JointV1>(), size_u64::<raw::PoseV1>()]
        } else {
            [size_u64::<raw::Joint>(), size_u64::<raw::Pose>()]
        };
        let frame = u64::from(header.num_framechannels.get()).saturating_mul(2);
        let section =
            |offset: U32, count: U32, size, what| bound.section(offset, count.get().into(), size, what);
        let optional = |offset: U32, count, size, what| match offset.get() {
            0 => Ok(0..0),
            _ => section(offset, count, size, what),
        };
        let h = header;
        Ok(Self {
            text: section(h.ofs_text, h.num_text, 1, "text")?,
            meshes: section(h.ofs_meshes, h.num_meshes, size_u64::<raw::Mesh>(), "iqmmesh[]")?,
            vertex_arrays: section(
                h.ofs_vertexarrays,
                h.num_vertexarrays,
                size_u64::<raw::VertexArray>(),
                "iqmvertexarray[]",
            )?,
            triangles: section(h.ofs_triangles, h.num_triangles, 12, "iqmtriangle[]")?,
            adjacency: optional(h.ofs_adjacency, h.num_triangles, 12, "iqmadjacency[]")?,
            joints: section(h.ofs_joints, h.num_joints, joint, "iqmjoint[]")?,
            poses: section(h.ofs_poses, h.num_poses, pose, "iqmpose[]")?,
            anims: section(h.ofs_anims, h.num_anims, size_u64::<raw::Anim>(), "iqmanim[]")?,
            frames: section(h.ofs_frames, h.num_frames, frame, "frames[]")?,
            bounds: optional(h.ofs_bounds, h.num_frames, size_u64::<raw::Bounds>(), "iqmbounds[]")?,
            comment: section(h.ofs_comment, h.num_comment, 1, "comment")?,
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

/// The end of the file by `filesize`, which no range may pass.
#[derive(Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) filesize: u64,
}

impl Bound {
    pub(crate) fn of(header: &raw::Header) -> Self {
        Self { filesize: header.filesize.get().into() }
    }

    /// The bytes of `count` elements of `size` bytes at an offset.
    ///
    /// They must be after the header and within `filesize`.
    pub(crate) fn section(
        self,
        offset: U32,
        count: u64,
        size: u64,
        what: &'static str,
    ) -> Result<Range<u64>> {
        if count == 0 || size == 0 {
            return Ok(0..0);
        }
        let start = u64::from(offset.get());
        let end = count.checked_mul(size).and_then(|bytes| start.checked_add(bytes));
        let header = size_u64::<raw::Header>();
        let error = || FILE.at(start..end.unwrap_or(u64::MAX)).malformed(what);
        if start < header {
            let expected = format!("a start at {header:#x} or later");
            return Err(error().expected(expected).found(format_args!("{start:#x}")));
        }
        match end {
            Some(end) if end <= self.filesize => Ok(start..end),
            end => {
                let found =
                    end.map_or_else(|| "more than 64 bits hold".to_owned(), |end| format!("{end:#x}"));
                let expected = format!("an end at {:#x} (filesize) or before", self.filesize);
                Err(error().expected(expected).found(found))
            }
        }
    }
}
