//! Where everything is: every range and every name checked, nothing decoded.

use std::cell::Cell;
use std::ops::Range;

use bytes::Bytes;

use super::raw;
use super::rules::{self, FILE};
use crate::bytes::{Array, Element, Scalar, Source, Text};
use crate::format::Format;
use crate::num::{Span, as_u64, as_usize, decimal, size_u64, span};
use crate::report::{Address, Error, ErrorKind, Finding, Findings, Place, Result};

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

/// `iqmjoint[]` of either version.
#[derive(Debug)]
pub(crate) enum Joints {
    V1(Array<raw::JointV1>),
    V2(Array<raw::Joint>),
}

/// `iqmpose[]` of either version.
#[derive(Debug)]
pub(crate) enum Poses {
    V1(Array<raw::PoseV1>),
    V2(Array<raw::Pose>),
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
        let bound = Bound { filesize: header.filesize.get().into() };
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

        let layout = Self {
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
        };
        let names = Names::of(&layout);
        layout.check_meshes(&names)?;
        layout.check_vertex_arrays(&names, bound)?;
        layout.check_joints(&names)?;
        layout.check_poses()?;
        layout.check_anims(&names)?;
        let mut findings = Findings::default();
        let layout = layout.read_extensions(&names, bound, &mut findings)?;
        layout.note_structure(&mut findings)?;
        Ok(Self { findings: findings.into_vec(), ..layout })
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

    fn check_meshes(&self, names: &Names) -> Result<()> {
        for (index, mesh) in (0..).zip(self.meshes.iter()) {
            let fields = Fields::of(&self.sections.meshes, index, size_of::<raw::Mesh>(), "meshes");
            names.check(mesh.name.get(), "iqmmesh.name", &fields, 0)?;
            names.check(mesh.material.get(), "iqmmesh.material", &fields, 4)?;
            let runs = [
                ("iqmmesh.num_vertexes", 8, mesh.first_vertex, mesh.num_vertexes, self.header.num_vertexes),
                (
                    "iqmmesh.num_triangles",
                    16,
                    mesh.first_triangle,
                    mesh.num_triangles,
                    self.header.num_triangles,
                ),
            ];
            for (what, field, first, count, total) in runs {
                check_run(what, &fields, field, first.get(), count.get(), total.get())?;
            }
        }
        Ok(())
    }

    fn check_vertex_arrays(&self, names: &Names, bound: Bound) -> Result<()> {
        for (index, array) in (0..).zip(self.vertex_arrays.iter()) {
            let fields = Fields::of(
                &self.sections.vertex_arrays,
                index,
                size_of::<raw::VertexArray>(),
                "vertex_arrays",
            );
            if let Some(name) = array.type_.get().checked_sub(IQM_CUSTOM) {
                names.check(name, "iqmvertexarray.type", &fields, 0)?;
            }
            let Some(scalar) = scalar(array.format.get()) else {
                let error = fields.malformed("iqmvertexarray.format", 8, 4);
                return Err(error.expected("0..8").found(array.format.get()));
            };
            if array.size.get() == 0 {
                return Err(fields.malformed("iqmvertexarray.size", 12, 4).expected("1 or more").found(0));
            }
            let element = u64::from(array.size.get()).saturating_mul(as_u64(scalar.size()));
            let range = bound.section(array.offset.get(), self.num_vertexes(), element, "vertex array");
            range.map_err(|error| error.of(fields.address()))?;
        }
        Ok(())
    }

    fn check_joints(&self, names: &Names) -> Result<()> {
        let size = self.joints.element_size();
        for (index, joint) in (0..).zip(self.joints.iter()) {
            let fields = Fields::of(&self.sections.joints, index, size, "joints");
            names.check(joint.name.get(), "iqmjoint.name", &fields, 0)?;
            check_parent("iqmjoint.parent", &fields, 4, index, joint.parent.get())?;
        }
        Ok(())
    }

    fn check_poses(&self) -> Result<()> {
        let mut channels = 0_u64;
        for (index, (parent, mask)) in (0..).zip(self.poses.iter()) {
            let fields = Fields::of(&self.sections.poses, index, self.poses.element_size(), "poses");
            check_parent("iqmpose.parent", &fields, 0, index, parent)?;
            channels = channels.saturating_add((mask & self.poses.channel_bits()).count_ones().into());
        }
        let announced = self.header.num_framechannels.get();
        if self.header.num_frames.get() > 0 && channels != u64::from(announced) {
            // The field's place in the header.
            let error = FILE.malformed("iqmheader.num_framechannels").at(0x60..0x64);
            let expected = format!("{channels}, the bits in the masks of the poses");
            return Err(error.expected(expected).found(announced));
        }
        Ok(())
    }

    fn check_anims(&self, names: &Names) -> Result<()> {
        for (index, anim) in (0..).zip(self.anims.iter()) {
            let fields = Fields::of(&self.sections.anims, index, size_of::<raw::Anim>(), "anims");
            names.check(anim.name.get(), "iqmanim.name", &fields, 0)?;
            let (first, count) = (anim.first_frame.get(), anim.num_frames.get());
            check_run("iqmanim.num_frames", &fields, 4, first, count, self.header.num_frames.get())?;
        }
        Ok(())
    }

    /// Walks the linked list of extensions, each node of which says where the next one is.
    fn read_extensions(self, names: &Names, bound: Bound, findings: &mut Findings) -> Result<Self> {
        /// Files that are known have one or two.
        const MOST: u32 = 4096;
        let node_size = size_u64::<raw::Extension>();
        let announced = self.header.num_extensions.get();
        let fits = bound.filesize.checked_div(node_size).and_then(|n| n.try_into().ok()).unwrap_or(u32::MAX);
        let mut walk = self.source.walk();
        let mut extensions = Vec::new();
        let mut next = self.header.ofs_extensions.get();
        for index in 0..announced {
            if next == 0 {
                break;
            }
            let node = bound.section(next, 1, node_size, "iqmextension")?;
            let fields =
                Fields { range: node.clone(), address: Address::field("extensions"), index: index.into() };
            if index >= fits {
                let error = fields.malformed("iqmextension.ofs_extensions", 12, 4);
                return Err(error
                    .expected(format!("an end of the list within {fits} nodes"))
                    .found("a cycle"));
            }
            if index >= MOST {
                let error = FILE.error(ErrorKind::LimitExceeded, "iqmheader.num_extensions").at(0x74..0x78);
                return Err(error.expected(format!("at most {MOST}")).found(announced));
            }
            let extension: raw::Extension = walk.read_struct(node.start, "iqmextension")?;
            names.check(extension.name.get(), "iqmextension.name", &fields, 0)?;
            let data = bound.section(
                extension.ofs_data.get(),
                extension.num_data.get().into(),
                1,
                "iqmextension.ofs_data",
            );
            let data = data.map_err(|error| error.of(fields.address()))?;
            extensions.push(ExtensionNode { node, name: extension.name.get(), data });
            next = extension.ofs_extensions.get();
        }
        check_no_cycle(&extensions)?;
        let found = as_u64(extensions.len());
        if found != u64::from(announced) || next != 0 {
            let more = if next == 0 { "" } else { " and a link to one more" };
            findings.add(rules::EXTENSION_COUNT, || {
                (FILE.at(0x74..0x78), format!("{announced} announced, {found} in the list{more}"))
            });
        }
        let source = walk.into_source();
        Ok(Self { extensions, source, ..self })
    }

    fn note_structure(&self, findings: &mut Findings) -> Result<()> {
        self.note_sections(findings)?;
        self.note_text(findings);
        self.note_arrays(findings);
        self.note_skeleton(findings);
        for (index, anim) in (0..).zip(self.anims.iter()) {
            let rate = anim.framerate.get();
            if !(rate > 0.0 && rate.is_finite()) {
                let fields = Fields::of(&self.sections.anims, index, size_of::<raw::Anim>(), "anims");
                findings.add(rules::FRAMERATE, || (fields.place(12, 4), format!("not stored ({rate})")));
            }
        }
        for (index, mesh) in (0..).zip(self.meshes.iter()) {
            if mesh.num_vertexes.get() == 0 || mesh.num_triangles.get() == 0 {
                let fields = Fields::of(&self.sections.meshes, index, size_of::<raw::Mesh>(), "meshes");
                let detail = format!("{} vertexes, {} triangles", mesh.num_vertexes, mesh.num_triangles);
                findings.add(rules::EMPTY_MESH, || (fields.place(8, 16), detail));
            }
        }
        Ok(())
    }

    fn note_sections(&self, findings: &mut Findings) -> Result<()> {
        let header = &self.header;
        let empty = [
            ("ofs_text", header.num_text, header.ofs_text),
            ("ofs_meshes", header.num_meshes, header.ofs_meshes),
            ("ofs_vertexarrays", header.num_vertexarrays, header.ofs_vertexarrays),
            ("ofs_triangles", header.num_triangles, header.ofs_triangles),
            ("ofs_adjacency", header.num_triangles, header.ofs_adjacency),
            ("ofs_joints", header.num_joints, header.ofs_joints),
            ("ofs_poses", header.num_poses, header.ofs_poses),
            ("ofs_anims", header.num_anims, header.ofs_anims),
            ("ofs_bounds", header.num_frames, header.ofs_bounds),
            ("ofs_comment", header.num_comment, header.ofs_comment),
            ("ofs_extensions", header.num_extensions, header.ofs_extensions),
        ];
        for (name, count, offset) in empty {
            if count.get() == 0 && offset.get() != 0 {
                findings.add(rules::EMPTY_WITH_OFFSET, || {
                    (FILE, format!("{name}: expected 0, found {:#x}", offset.get()))
                });
            }
        }

        let mut parts = self.parts();
        for (name, range, alignment) in &parts {
            if range.start.checked_rem(*alignment) != Some(0) {
                findings.add(rules::UNALIGNED, || {
                    let detail =
                        format!("{name}: expected a multiple of {alignment}, found {:#x}", range.start);
                    (FILE.at(range.clone()), detail)
                });
            }
        }
        parts.sort_unstable_by_key(|(_, range, _)| (range.start, range.end));
        let mut before: Option<&(&'static str, Range<u64>, u64)> = None;
        for part in &parts {
            if let Some(before) = before.filter(|before| part.1.start < before.1.end) {
                findings.add(rules::OVERLAP, || {
                    let detail = format!("{} begins inside {}", part.0, before.0);
                    (FILE.at(part.1.start..part.1.end.min(before.1.end)), detail)
                });
            }
            before = before.filter(|before| before.1.end > part.1.end).or(Some(part));
        }

        let filesize = u64::from(header.filesize.get());
        if let Some(len) = self.source.len()?.filter(|len| *len > filesize) {
            findings.add(rules::TRAILING_BYTES, || {
                let detail = format!("{} bytes behind filesize", len.saturating_sub(filesize));
                (FILE.at(filesize..len), detail)
            });
        }
        let used = before.map_or(0, |part| part.1.end);
        if used > 0 && filesize.saturating_sub(used) >= 4 {
            let rest = used..filesize;
            if used == self.sections.comment.end && header.num_comment.get() == 1 {
                findings
                    .add(rules::LONGER_COMMENT, || (FILE.at(rest), "1, but the text may go on to filesize"));
            } else {
                findings.add(rules::TRAILING_BYTES, || (FILE.at(rest), "bytes behind the last section"));
            }
        }
        Ok(())
    }

    /// Everything that takes up bytes, with the alignment that the specification demands of it.
    fn parts(&self) -> Vec<(&'static str, Range<u64>, u64)> {
        const MOST_ARRAYS: usize = 4096;
        let s = &self.sections;
        let sections = [
            ("text", &s.text),
            ("meshes", &s.meshes),
            ("vertexarrays", &s.vertex_arrays),
            ("triangles", &s.triangles),
            ("adjacency", &s.adjacency),
            ("joints", &s.joints),
            ("poses", &s.poses),
            ("anims", &s.anims),
            ("frames", &s.frames),
            ("bounds", &s.bounds),
            ("comment", &s.comment),
        ];
        let sections = sections.into_iter().map(|(name, range)| (name, range.clone(), 4));
        let arrays = self.vertex_arrays.iter().take(MOST_ARRAYS).filter_map(|array| {
            let alignment = as_u64(scalar(array.format.get())?.size().max(4));
            Some(("vertex array", self.array_range(&array)?, alignment))
        });
        let nodes = self.extensions.iter().map(|extension| ("extension", extension.node.clone(), 4));
        let data = self.extensions.iter().map(|extension| ("extension data", extension.data.clone(), 4));
        let header = ("header", 0..size_u64::<raw::Header>(), 4);
        let all = std::iter::once(header).chain(sections).chain(arrays).chain(nodes).chain(data);
        all.filter(|(_, range, _)| !range.is_empty()).collect()
    }

    fn note_text(&self, findings: &mut Findings) {
        let range = &self.sections.text;
        if self.text.first().is_some_and(|byte| *byte != 0) {
            findings.add(rules::TEXT_WITHOUT_EMPTY_STRING, || {
                let detail = "the text does not begin with the empty string";
                (FILE.at(span(range.start, 1)), detail)
            });
        }
        if self.text.last().is_some_and(|byte| *byte != 0) {
            findings.add(rules::TEXT_UNTERMINATED, || {
                let detail = "the text does not end with a 0 byte";
                (FILE.at(range.end.saturating_sub(1)..range.end), detail)
            });
        }
        if let Err(error) = str::from_utf8(&self.text) {
            let at = range.start.saturating_add(as_u64(error.valid_up_to()));
            findings.add(rules::TEXT_NOT_UTF8, || (FILE.at(span(at, 1)), "the text is not UTF-8"));
        }
    }

    fn note_arrays(&self, findings: &mut Findings) {
        let mut previous = 0;
        let mut seen = 0_u32;
        for (index, array) in (0..).zip(self.vertex_arrays.iter()) {
            let fields = Fields::of(
                &self.sections.vertex_arrays,
                index,
                size_of::<raw::VertexArray>(),
                "vertex_arrays",
            );
            let kind = array.type_.get();
            let bit = 1_u32.checked_shl(kind).unwrap_or(0);
            if kind.min(IQM_CUSTOM) < previous {
                let detail = format!("type {kind} comes after type {previous}");
                findings.add(rules::ARRAY_ORDER, || (fields.place(0, 4), detail));
            }
            if kind < IQM_CUSTOM && seen & bit != 0 {
                let detail = format!("type {kind} again");
                findings.add(rules::REPEATED_ARRAY, || (fields.place(0, 4), detail));
            }
            if (7..IQM_CUSTOM).contains(&kind) {
                let detail = format!("type {kind} is reserved");
                findings.add(rules::RESERVED_TYPE, || (fields.place(0, 4), detail));
            }
            if let (Some((scalar, size)), Some(found)) = (recommended(kind), self::scalar(array.format.get()))
                && (found, array.size.get()) != (scalar, size)
            {
                let detail = format!("recommended {scalar} x {size}, found {found} x {}", array.size);
                findings.add(rules::UNUSUAL_FORMAT, || (fields.place(8, 8), detail));
            }
            previous = kind.min(IQM_CUSTOM);
            seen |= if kind < IQM_CUSTOM { bit } else { 0 };
        }
    }

    fn note_skeleton(&self, findings: &mut Findings) {
        let parents = self.joints.iter().map(|joint| joint.parent.get());
        for (index, parent) in (0..).zip(parents) {
            if parent < -1 {
                let fields = Fields::of(&self.sections.joints, index, self.joints.element_size(), "joints");
                findings.add(rules::ODD_ROOT, || {
                    (fields.place(4, 4), format!("{parent} for a root, usually -1"))
                });
            }
        }
        for (index, (parent, mask)) in (0..).zip(self.poses.iter()) {
            let fields = Fields::of(&self.sections.poses, index, self.poses.element_size(), "poses");
            if parent < -1 {
                findings.add(rules::ODD_ROOT, || {
                    (fields.place(0, 4), format!("{parent} for a root, usually -1"))
                });
            }
            if mask & !self.poses.channel_bits() != 0 {
                findings.add(rules::MASK_BITS, || {
                    let detail = format!("bits of no channel in {mask:#x}");
                    (fields.place(4, 4), detail)
                });
            }
        }
        let (joints, poses) = (self.joints.len(), self.poses.len());
        if joints != poses && joints > 0 && poses > 0 {
            findings.add(rules::POSES_NOT_JOINTS, || {
                (FILE.at(0x4c..0x50), format!("{poses} poses, {joints} joints"))
            });
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

impl Joints {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::V1(joints) => joints.len(),
            Self::V2(joints) => joints.len(),
        }
    }

    fn element_size(&self) -> usize {
        match self {
            Self::V1(_) => size_of::<raw::JointV1>(),
            Self::V2(_) => size_of::<raw::Joint>(),
        }
    }

    /// The joint at an index, as version 2 stores it.
    pub(crate) fn get(&self, index: usize) -> Option<raw::Joint> {
        match self {
            Self::V2(joints) => joints.get(index),
            Self::V1(joints) => joints.get(index).map(|joint| {
                let [x, y, z] = joint.rotate;
                let w = super::pose::synthesised_w([x.get(), y.get(), z.get()]);
                raw::Joint {
                    name: joint.name,
                    parent: joint.parent,
                    translate: joint.translate,
                    rotate: [x, y, z, w.into()],
                    scale: joint.scale,
                }
            }),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = raw::Joint> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

impl Poses {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::V1(poses) => poses.len(),
            Self::V2(poses) => poses.len(),
        }
    }

    fn element_size(&self) -> usize {
        match self {
            Self::V1(_) => size_of::<raw::PoseV1>(),
            Self::V2(_) => size_of::<raw::Pose>(),
        }
    }

    /// The bits of a mask that stand for channels.
    pub(crate) fn channel_bits(&self) -> u32 {
        match self {
            Self::V1(_) => 0x1ff,
            Self::V2(_) => 0x3ff,
        }
    }

    /// The parent and the channel mask of each pose.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, u32)> + '_ {
        (0..self.len()).filter_map(|index| match self {
            Self::V1(poses) => poses.get(index).map(|pose| (pose.parent.get(), pose.channelmask.get())),
            Self::V2(poses) => poses.get(index).map(|pose| (pose.parent.get(), pose.channelmask.get())),
        })
    }
}

/// The component format with this number.
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

/// The format and size that the specification recommends for a type of vertex array.
fn recommended(kind: u32) -> Option<(Scalar, u32)> {
    Some(match kind {
        0 | 2 => (Scalar::F32, 3),
        1 => (Scalar::F32, 2),
        3 => (Scalar::F32, 4),
        4..=6 => (Scalar::U8, 4),
        _ => return None,
    })
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
struct Bound {
    filesize: u64,
}

impl Bound {
    /// The range of `count` elements of `size` bytes at an offset: behind the header and within `filesize`.
    fn section(self, offset: u32, count: u64, size: u64, what: &'static str) -> Result<Range<u64>> {
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

/// An element of a table, for saying where one of its fields lies.
struct Fields {
    range: Range<u64>,
    address: Address,
    index: u64,
}

impl Fields {
    fn of(table: &Range<u64>, index: u64, size: usize, name: &'static str) -> Self {
        let start = table.start.saturating_add(index.saturating_mul(as_u64(size)));
        Self { range: span(start, as_u64(size)), address: Address::field(name), index }
    }

    fn address(&self) -> Address {
        self.address.clone().index(self.index)
    }

    fn malformed(&self, what: &'static str, offset: u64, size: u64) -> Error {
        self.place(offset, size).malformed(what)
    }

    /// The field at an offset.
    fn place(&self, offset: u64, size: u64) -> Place {
        FILE.of(self.address()).at(self.range.part(offset, size))
    }
}

/// How much text the names of a file may have together.
///
/// Names may share text, but a small file in which thousands of long ones do is made to waste time and memory in
/// whoever looks at each.
pub(crate) struct TextBudget {
    most: u64,
    left: Cell<u64>,
}

impl TextBudget {
    pub(crate) fn of(layout: &Layout) -> Self {
        let most = u64::from(layout.header.filesize.get()).saturating_mul(8).saturating_add(1 << 20);
        Self { most, left: Cell::new(most) }
    }

    /// Counts the text at an offset, and is done when that is too much.
    pub(crate) fn spend(&self, text: &[u8], offset: u32, what: &'static str) -> Result<()> {
        let from = as_usize(offset);
        let most = as_usize(self.left.get());
        let rest = text.get(from..).unwrap_or_default();
        let length = rest.iter().take(most).position(|byte| *byte == 0).unwrap_or(rest.len().min(most));
        self.left.set(self.left.get().saturating_sub(as_u64(length)));
        if self.left.get() > 0 {
            return Ok(());
        }
        let error = FILE.error(ErrorKind::LimitExceeded, what);
        let expected = format!("less than {} bytes of all names together", decimal(self.most));
        Err(error.expected(expected).found("names that share their text many times"))
    }
}

/// Which offsets are names: those that a 0 byte follows within the text.
struct Names {
    text: Bytes,
    num_text: u64,
    /// One more than the offset of the last 0 byte.
    ended: u64,
    budget: TextBudget,
}

impl Names {
    fn of(layout: &Layout) -> Self {
        let (text, range) = (layout.text.clone(), &layout.sections.text);
        let last = text.iter().rposition(|byte| *byte == 0);
        let ended = last.map_or(0, |last| as_u64(last).saturating_add(1));
        let num_text = range.length();
        Self { text, num_text, ended, budget: TextBudget::of(layout) }
    }

    fn check(&self, offset: u32, what: &'static str, fields: &Fields, field: u64) -> Result<()> {
        let error = || fields.malformed(what, field, 4).found(hex(offset.into()));
        match u64::from(offset) {
            offset if offset >= self.num_text => {
                Err(error().expected(format!("an offset below {:#x} (num_text)", self.num_text)))
            }
            offset if offset >= self.ended => Err(error().expected("an offset of text that a 0 byte ends")),
            _ => {
                let spent = self.budget.spend(&self.text, offset, what);
                spent.map_err(|error| fields.place(field, 4).locate(error))
            }
        }
    }
}

/// `first + count` must not be more than `total`; the two stand next to one another at `field`.
fn check_run(
    what: &'static str,
    fields: &Fields,
    field: u64,
    first: u32,
    count: u32,
    total: u32,
) -> Result<()> {
    let end = u64::from(first).saturating_add(count.into());
    if end <= u64::from(total) {
        return Ok(());
    }
    let error = fields.malformed(what, field, 8).expected(format!("an end at {total} or before"));
    Err(error.found(format_args!("{first} + {count}")))
}

/// A parent comes before its children, so that there is no cycle and one pass suffices.
fn check_parent(what: &'static str, fields: &Fields, field: u64, index: u64, parent: i32) -> Result<()> {
    match u64::try_from(parent) {
        Ok(parent) if parent >= index => {
            let error = fields.malformed(what, field, 4);
            Err(error.expected(format!("less than {index}, its own index")).found(parent))
        }
        _ => Ok(()),
    }
}

fn check_no_cycle(extensions: &[ExtensionNode]) -> Result<()> {
    let mut starts: Vec<u64> = extensions.iter().map(|extension| extension.node.start).collect();
    starts.sort_unstable();
    let twice = starts.windows(2).find_map(|pair| match pair {
        [a, b] if a == b => Some(*a),
        _ => None,
    });
    twice.map_or(Ok(()), |start| {
        let error = FILE.malformed("iqmextension").at(span(start, 16));
        Err(error.expected("each node once in the list").found("a cycle"))
    })
}
