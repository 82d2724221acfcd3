//! The layout of a file: header and tables, every range checked against `filesize`.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::names::FileText;
use super::raw;
use super::raw::MAGIC;
use super::rules::FILE;
use super::tables::{Field, Joints, Poses, Row, element_range, rows, scalar, table};
use crate::bytes::{Array, Source, Text};
use crate::format::Format;
use crate::limits::{Limits, Meter, take_block};
use crate::mesh::AttributeList;
use crate::num::{Span, as_u64, decimal, size_u64};
use crate::report::{ErrorKind, Finding, Result};

/// Bytes that a lazy source reads first: header and, mostly, every table.
pub(crate) const HEAD: u64 = 64 << 10;

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
    pub(crate) attributes: OnceLock<ViewAttributes>,
    /// The index of the vertex array of positions. Searched once.
    pub(crate) positions_index: OnceLock<Option<usize>>,
    /// `true` for each mesh that declares vertices of another mesh. Made once.
    pub(crate) overlaps: OnceLock<Arc<[bool]>>,
}

/// The attributes of views.
#[derive(Clone, Debug)]
pub(crate) struct ViewAttributes {
    pub(crate) list: AttributeList,
    /// The index of the vertex array of each attribute.
    pub(crate) arrays: Arc<[usize]>,
}

/// The byte ranges of the sections; empty for sections that the file does not have.
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
    pub(crate) fn read(source: &Source, limits: &Limits) -> Result<Self> {
        let header_size = size_u64::<raw::Header>();
        let source = source.for_format(Format::Iqm);
        // If detection has read the header of a large file, only the tables are still needed.
        let is_read =
            source.len()?.is_some_and(|len| len > HEAD) && source.is_cached(&(0..header_size));
        let source = if is_read {
            source
        } else {
            source.with_head(header_size, HEAD, "iqmheader")?
        };
        let header: raw::Header = source.read_struct(0, "iqmheader")?;
        check_identity(&header, &source)?;

        let version = header.version.get();
        let sections = Sections::read(&header, version)?;
        if !source.is_in_memory() {
            let length = sections.text.length();
            let meter = Meter::of_part(limits, &sections.text);
            take_block(&meter, length, length, "text")
                .map_err(|error| FILE.at(sections.text.clone()).locate(error))?
                .keep();
        }
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
            text: FileText(source.get(sections.text.clone(), "text")?),
            meshes: table(&source, &sections.meshes, "iqmmesh[]")?,
            vertex_arrays: table(&source, &sections.vertex_arrays, "iqmvertexarray[]")?,
            joints: Joints::read(&source, &sections.joints, version, "iqmjoint[]")?,
            poses: Poses::read(&source, &sections.poses, version, "iqmpose[]")?,
            anims: table(&source, &sections.anims, "iqmanim[]")?,
            extensions: Vec::new(),
            findings: Vec::new(),
            attributes: OnceLock::new(),
            positions_index: OnceLock::new(),
            overlaps: OnceLock::new(),
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
    /// Empty if there are no vertices: the offset may then be anything.
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
        rows(
            "vertex_arrays",
            &self.sections.vertex_arrays,
            self.vertex_arrays.iter(),
        )
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
        let filesize = header.filesize.get().into();
        let (joint, pose) = if version == 1 {
            (size_u64::<raw::JointV1>(), size_u64::<raw::PoseV1>())
        } else {
            (size_u64::<raw::Joint>(), size_u64::<raw::Pose>())
        };
        let frame = u64::from(header.num_framechannels.get()).saturating_mul(2);
        let h = header;
        let section =
            |offset: Field, count: Field, size: u64| element_range(offset, count, size, filesize);
        let optional = |offset: Field, count: Field, size: u64| match offset.value {
            0 => Ok(0..0),
            _ => section(offset, count, size),
        };
        let field = |what, at, value| Row::HEADER.field(what, at, value);
        let num_triangles = field("iqmheader.num_triangles", 0x38, h.num_triangles);
        let num_frames = field("iqmheader.num_frames", 0x5c, h.num_frames);
        Ok(Self {
            text: section(
                field("iqmheader.ofs_text", 0x20, h.ofs_text),
                field("iqmheader.num_text", 0x1c, h.num_text),
                1,
            )?,
            meshes: section(
                field("iqmheader.ofs_meshes", 0x28, h.ofs_meshes),
                field("iqmheader.num_meshes", 0x24, h.num_meshes),
                size_u64::<raw::Mesh>(),
            )?,
            vertex_arrays: section(
                field("iqmheader.ofs_vertexarrays", 0x34, h.ofs_vertexarrays),
                field("iqmheader.num_vertexarrays", 0x2c, h.num_vertexarrays),
                size_u64::<raw::VertexArray>(),
            )?,
            triangles: section(
                field("iqmheader.ofs_triangles", 0x3c, h.ofs_triangles),
                num_triangles,
                12,
            )?,
            adjacency: optional(
                field("iqmheader.ofs_adjacency", 0x40, h.ofs_adjacency),
                num_triangles,
                12,
            )?,
            joints: section(
                field("iqmheader.ofs_joints", 0x48, h.ofs_joints),
                field("iqmheader.num_joints", 0x44, h.num_joints),
                joint,
            )?,
            poses: section(
                field("iqmheader.ofs_poses", 0x50, h.ofs_poses),
                field("iqmheader.num_poses", 0x4c, h.num_poses),
                pose,
            )?,
            anims: section(
                field("iqmheader.ofs_anims", 0x58, h.ofs_anims),
                field("iqmheader.num_anims", 0x54, h.num_anims),
                size_u64::<raw::Anim>(),
            )?,
            frames: section(
                field("iqmheader.ofs_frames", 0x64, h.ofs_frames),
                num_frames,
                frame,
            )?,
            bounds: optional(
                field("iqmheader.ofs_bounds", 0x68, h.ofs_bounds),
                num_frames,
                size_u64::<raw::Bounds>(),
            )?,
            comment: section(
                field("iqmheader.ofs_comment", 0x70, h.ofs_comment),
                field("iqmheader.num_comment", 0x6c, h.num_comment),
                1,
            )?,
        })
    }
}

fn check_identity(header: &raw::Header, source: &Source) -> Result<()> {
    if header.magic != *raw::MAGIC {
        let error = FILE
            .error(ErrorKind::UnknownFormat, "iqmheader.magic")
            .at(0..16);
        let found = format!("\"{}\"", header.magic.escape_ascii());
        return Err(error.expected("\"INTERQUAKEMODEL\\0\"").found(found));
    }
    let version = header.version.get();
    if !(1..=2).contains(&version) {
        let error = FILE
            .error(ErrorKind::Unsupported, "iqmheader.version")
            .at(0x10..0x14);
        return Err(error.expected("1 or 2").found(version));
    }
    let filesize = u64::from(header.filesize.get());
    let header_size = size_u64::<raw::Header>();
    if filesize < header_size {
        let error = FILE.malformed("iqmheader.filesize").at(0x14..0x18);
        return Err(error
            .expected(format!("at least {header_size}"))
            .found(filesize));
    }
    if let Some(len) = source.len()?
        && len < filesize
    {
        let error = FILE.error(ErrorKind::Truncated, "file").at(0..filesize);
        let expected = format!("{} bytes (iqmheader.filesize)", decimal(filesize));
        return Err(error.expected(expected).found(len));
    }
    Ok(())
}

/// Returns `true` if a source that begins with `head` is an IQM file.
///
/// The last byte of the magic is not compared: a file that is damaged there is left to the reader, which names it.
pub(crate) fn detect(_: &Source, head: &[u8]) -> Result<bool> {
    Ok(MAGIC.get(..15).is_some_and(|magic| head.starts_with(magic)))
}
