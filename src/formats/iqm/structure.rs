//! Checks of the structure: names, runs, parents and the extension list.

use std::ops::Range;

use zerocopy::little_endian::U32;

use super::layout::{ExtensionNode, Layout};
use super::names::Names;
use super::raw;
use super::rules::{self, FILE};
use super::tables::{Field, Row, element_range, recommended, scalar};
use crate::bytes::Source;
use crate::limits::{Limits, caps};
use crate::num::{Span, as_u64, at_most, decimal, less_than, size_u64, span};
use crate::report::{ErrorKind, Findings, Result};

impl Layout {
    /// Reads the layout of a file and checks its structure.
    pub(crate) fn open(source: &Source, limits: &Limits) -> Result<Self> {
        let layout = Self::read(source, limits)?;
        let mut names = Names::new(&layout.text, layout.header.filesize.get(), limits);
        layout.check_meshes(&mut names)?;
        layout.check_vertex_arrays(&mut names)?;
        layout.check_joints(&mut names)?;
        layout.check_poses()?;
        layout.check_anims(&mut names)?;
        let mut findings = Findings::default();
        let extensions = layout.read_extensions(&mut names, &mut findings)?;
        let layout = Self {
            extensions: extensions.nodes,
            source: extensions.source,
            ..layout
        };
        layout.note_structure(&mut findings)?;
        Ok(Self {
            findings: findings.into_vec(),
            ..layout
        })
    }

    fn check_meshes(&self, names: &mut Names<'_>) -> Result<()> {
        let header = &self.header;
        for (row, mesh) in self.mesh_rows() {
            names.check(row.field("iqmmesh.name", 0, mesh.name))?;
            names.check(row.field("iqmmesh.material", 4, mesh.material))?;
            check_run(
                row.field("iqmmesh.first_vertex", 8, mesh.first_vertex),
                row.field("iqmmesh.num_vertexes", 12, mesh.num_vertexes),
                header.num_vertexes,
            )?;
            check_run(
                row.field("iqmmesh.first_triangle", 16, mesh.first_triangle),
                row.field("iqmmesh.num_triangles", 20, mesh.num_triangles),
                header.num_triangles,
            )?;
        }
        Ok(())
    }

    fn check_vertex_arrays(&self, names: &mut Names<'_>) -> Result<()> {
        let filesize = self.header.filesize.get().into();
        let count = Row::HEADER.field("iqmheader.num_vertexes", 0x30, self.header.num_vertexes);
        for (row, array) in self.vertex_array_rows() {
            if let Some(name) = array.type_.get().checked_sub(raw::IQM_CUSTOM) {
                names.check(row.field("iqmvertexarray.type", 0, name.into()))?;
            }
            let Some(scalar) = scalar(array.format.get()) else {
                let format = row.field("iqmvertexarray.format", 8, array.format);
                let error = format.malformed().expected("0 to 8");
                return Err(error.found(format.value));
            };
            if array.size.get() == 0 {
                let size = row.field("iqmvertexarray.size", 12, array.size);
                return Err(size.malformed().expected("1 or more").found(0));
            }
            let element = u64::from(array.size.get()).saturating_mul(as_u64(scalar.size()));
            let offset = row.field("iqmvertexarray.offset", 16, array.offset);
            if let Err(error) = element_range(offset, count, element, filesize) {
                return Err(error.of(row.address()));
            }
        }
        Ok(())
    }

    fn check_joints(&self, names: &mut Names<'_>) -> Result<()> {
        for (row, joint) in self.joint_rows() {
            names.check(row.field("iqmjoint.name", 0, joint.name))?;
            check_parent(row, joint.parent.get(), "iqmjoint.parent", 4)?;
        }
        Ok(())
    }

    fn check_poses(&self) -> Result<()> {
        let mut channels = 0_u64;
        for (row, pose) in self.pose_rows() {
            check_parent(row, pose.parent.get(), "iqmpose.parent", 0)?;
            let stored = pose.channelmask.get() & self.poses.channel_bits();
            channels = channels.saturating_add(stored.count_ones().into());
        }
        let declared = self.header.num_framechannels.get();
        if self.header.num_frames.get() > 0 && channels != u64::from(declared) {
            let error = FILE.at(0x60..0x64).malformed("iqmheader.num_framechannels");
            let expected = format!("{}, the bits in the masks of the poses", decimal(channels));
            return Err(error.expected(expected).found(declared));
        }
        Ok(())
    }

    fn check_anims(&self, names: &mut Names<'_>) -> Result<()> {
        for (row, anim) in self.anim_rows() {
            names.check(row.field("iqmanim.name", 0, anim.name))?;
            check_run(
                row.field("iqmanim.first_frame", 4, anim.first_frame),
                row.field("iqmanim.num_frames", 8, anim.num_frames),
                self.header.num_frames,
            )?;
        }
        Ok(())
    }

    /// Reads the linked list of extensions, node by node.
    ///
    /// A list that forms a cycle ends at the number of nodes that the header declares, or at the
    /// cap, and is refused then.
    fn read_extensions(
        &self,
        names: &mut Names<'_>,
        findings: &mut Findings,
    ) -> Result<Extensions> {
        /// Bytes that are read for a node. Its data is often next to it.
        const AHEAD: u64 = 4 << 10;
        let node_size = size_u64::<raw::Extension>();
        let header = &self.header;
        let declared = header.num_extensions.get();
        let filesize = u64::from(header.filesize.get());
        let mut source = self.source.clone();
        let mut nodes = Vec::new();
        let mut next = Row::HEADER.field("iqmheader.ofs_extensions", 0x78, header.ofs_extensions);
        let count = Row::HEADER.field("iqmheader.num_extensions", 0x74, header.num_extensions);
        for index in 0..u64::from(declared) {
            if next.value == 0 {
                break;
            }
            if index >= caps::IQM_EXTENSIONS {
                check_no_cycle(&nodes)?;
                let error = count.error(ErrorKind::LimitExceeded);
                return Err(error.above(caps::IQM_EXTENSIONS, "", Some(declared.into())));
            }
            let one = Field { value: 1, ..count };
            let node = element_range(next, one, node_size, filesize)?;
            let row = Row {
                start: node.start,
                table: "extensions",
                index,
            };
            let end = node.start.saturating_add(AHEAD).min(filesize).max(node.end);
            source = source.with_ranges(&[node.start..end], "iqmextension")?;
            let extension: raw::Extension = source.read_struct(node.start, "iqmextension")?;
            names.check(row.field("iqmextension.name", 0, extension.name))?;
            let size = row.field("iqmextension.num_data", 4, extension.num_data);
            let offset = row.field("iqmextension.ofs_data", 8, extension.ofs_data);
            let data = element_range(offset, size, 1, filesize)?;
            next = row.field("iqmextension.ofs_extensions", 12, extension.ofs_extensions);
            nodes.push(ExtensionNode {
                node,
                name: extension.name.get(),
                data,
            });
        }
        check_no_cycle(&nodes)?;
        let found = as_u64(nodes.len());
        let is_complete = next.value == 0;
        if found != u64::from(declared) || !is_complete {
            findings.add(rules::EXTENSION_COUNT, || {
                let more = if is_complete {
                    ""
                } else {
                    " and a link to one more"
                };
                let detail = format!("{declared} announced, {found} in the list{more}");
                (FILE.at(0x74..0x78), detail)
            });
        }
        Ok(Extensions { nodes, source })
    }

    fn note_structure(&self, findings: &mut Findings) -> Result<()> {
        self.note_offsets(findings);
        self.note_parts(findings)?;
        self.note_text(findings);
        self.note_arrays(findings);
        self.note_skeleton(findings);
        for (row, anim) in self.anim_rows() {
            let rate = anim.framerate.get();
            if !(rate > 0.0 && rate.is_finite()) {
                findings.add(rules::FRAMERATE, || {
                    (row.place(12, 4), format!("not stored ({rate})"))
                });
            }
        }
        for (row, mesh) in self.mesh_rows() {
            if mesh.num_vertexes.get() == 0 || mesh.num_triangles.get() == 0 {
                findings.add(rules::EMPTY_MESH, || {
                    let vertices = mesh.num_vertexes;
                    let triangles = mesh.num_triangles;
                    let detail = format!("{vertices} vertexes, {triangles} triangles");
                    (row.place(8, 16), detail)
                });
            }
        }
        Ok(())
    }

    fn note_offsets(&self, findings: &mut Findings) {
        let h = &self.header;
        let sections = [
            Section::new("ofs_text", 0x20, h.num_text, h.ofs_text),
            Section::new("ofs_meshes", 0x28, h.num_meshes, h.ofs_meshes),
            Section::new(
                "ofs_vertexarrays",
                0x34,
                h.num_vertexarrays,
                h.ofs_vertexarrays,
            ),
            Section::new("ofs_triangles", 0x3c, h.num_triangles, h.ofs_triangles),
            Section::new("ofs_adjacency", 0x40, h.num_triangles, h.ofs_adjacency),
            Section::new("ofs_joints", 0x48, h.num_joints, h.ofs_joints),
            Section::new("ofs_poses", 0x50, h.num_poses, h.ofs_poses),
            Section::new("ofs_anims", 0x58, h.num_anims, h.ofs_anims),
            Section::new("ofs_bounds", 0x68, h.num_frames, h.ofs_bounds),
            Section::new("ofs_comment", 0x70, h.num_comment, h.ofs_comment),
            Section::new("ofs_extensions", 0x78, h.num_extensions, h.ofs_extensions),
        ];
        for section in sections {
            let Section {
                name,
                field,
                offset,
                ..
            } = section;
            if section.count == 0 && offset != 0 {
                findings.add(rules::EMPTY_WITH_OFFSET, || {
                    let detail = format!("{name}: expected 0, found {offset:#x}");
                    (FILE.at(span(field, 4)), detail)
                });
            }
        }
    }

    /// Notes parts that are not aligned or overlap, and bytes after the last one.
    fn note_parts(&self, findings: &mut Findings) -> Result<()> {
        let mut parts = self.parts();
        for part in &parts {
            let AlignedRange {
                name, alignment, ..
            } = part;
            let start = part.range.start;
            if !start.is_multiple_of(*alignment) {
                findings.add(rules::UNALIGNED, || {
                    let detail =
                        format!("{name}: expected a multiple of {alignment}, found {start:#x}");
                    (FILE.at(span(part.offset_at, 4)), detail)
                });
            }
        }
        parts.sort_by_key(|part| (part.range.start, part.range.end));
        let used = note_overlaps(&parts, findings);

        let filesize = u64::from(self.header.filesize.get());
        let len = self.source.len()?.unwrap_or(filesize);
        if len > filesize {
            findings.add(rules::TRAILING_BYTES, || {
                let rest = filesize..len;
                let detail = format!("{} bytes after filesize", rest.length());
                (FILE.at(rest), detail)
            });
        }
        let rest = used..filesize;
        if rest.length() < 4 {
            return Ok(());
        }
        if used == self.sections.comment.end && self.header.num_comment.get() == 1 {
            findings.add(rules::LONGER_COMMENT, || {
                (FILE.at(rest), "1, but the text may go on to filesize")
            });
        } else {
            findings.add(rules::TRAILING_BYTES, || {
                (FILE.at(rest), "bytes after the last section")
            });
        }
        Ok(())
    }

    /// Everything that takes up bytes.
    fn parts(&self) -> Vec<AlignedRange> {
        let s = &self.sections;
        let mut parts = Vec::new();
        let header = 0..size_u64::<raw::Header>();
        add_part(&mut parts, "header", 0, &header);
        add_part(&mut parts, "text", 0x20, &s.text);
        add_part(&mut parts, "meshes", 0x28, &s.meshes);
        add_part(&mut parts, "vertexarrays", 0x34, &s.vertex_arrays);
        add_part(&mut parts, "triangles", 0x3c, &s.triangles);
        add_part(&mut parts, "adjacency", 0x40, &s.adjacency);
        add_part(&mut parts, "joints", 0x48, &s.joints);
        add_part(&mut parts, "poses", 0x50, &s.poses);
        add_part(&mut parts, "anims", 0x58, &s.anims);
        add_part(&mut parts, "frames", 0x64, &s.frames);
        add_part(&mut parts, "bounds", 0x68, &s.bounds);
        add_part(&mut parts, "comment", 0x70, &s.comment);
        for (row, array) in self.vertex_array_rows().take(caps::IQM_CHECKED_ARRAYS) {
            let Some(scalar) = scalar(array.format.get()) else {
                continue;
            };
            let Some(range) = self.array_range(&array) else {
                continue;
            };
            if !range.is_empty() {
                parts.push(AlignedRange {
                    name: "vertex array",
                    range,
                    alignment: as_u64(scalar.size().max(4)),
                    offset_at: row.start.saturating_add(16),
                });
            }
        }
        // The offset of the first node is in the header, the offset of each other in the node
        // before it.
        let mut offset_at = 0x78;
        for extension in &self.extensions {
            add_part(&mut parts, "extension", offset_at, &extension.node);
            offset_at = extension.node.start.saturating_add(12);
        }
        for extension in &self.extensions {
            let offset_at = extension.node.start.saturating_add(8);
            add_part(&mut parts, "extension data", offset_at, &extension.data);
        }
        parts
    }

    fn note_text(&self, findings: &mut Findings) {
        let range = &self.sections.text;
        let text = &self.text.0;
        if text.first().is_some_and(|byte| *byte != 0) {
            findings.add(rules::TEXT_WITHOUT_EMPTY_STRING, || {
                let detail = "the text does not begin with the empty string";
                (FILE.at(span(range.start, 1)), detail)
            });
        }
        if text.last().is_some_and(|byte| *byte != 0) {
            findings.add(rules::TEXT_UNTERMINATED, || {
                let detail = "the text does not end with a 0 byte";
                (FILE.at(range.end.saturating_sub(1)..range.end), detail)
            });
        }
        if let Err(error) = str::from_utf8(text) {
            findings.add(rules::TEXT_NOT_UTF8, || {
                let first = range.start.saturating_add(as_u64(error.valid_up_to()));
                (FILE.at(span(first, 1)), "the text is not UTF-8")
            });
        }
    }

    fn note_arrays(&self, findings: &mut Findings) {
        let mut previous = 0;
        let mut seen = 0_u32;
        for (row, array) in self.vertex_array_rows() {
            let kind = array.type_.get();
            // All custom arrays have one rank.
            let rank = kind.min(raw::IQM_CUSTOM);
            if rank < previous {
                findings.add(rules::ARRAY_ORDER, || {
                    let detail = format!("type {kind} comes after type {previous}");
                    (row.place(0, 4), detail)
                });
            }
            previous = rank;
            if kind < raw::IQM_CUSTOM {
                let bit = 1_u32.wrapping_shl(kind);
                if seen & bit != 0 {
                    findings.add(rules::REPEATED_ARRAY, || {
                        (row.place(0, 4), format!("type {kind} again"))
                    });
                }
                seen |= bit;
            }
            if kind > raw::IQM_COLOR && kind < raw::IQM_CUSTOM {
                findings.add(rules::RESERVED_TYPE, || {
                    (row.place(0, 4), format!("type {kind} is reserved"))
                });
            }
            let Some(found) = scalar(array.format.get()) else {
                continue;
            };
            let Some(usual) = recommended(kind) else {
                continue;
            };
            if found != usual.format || array.size.get() != usual.size {
                findings.add(rules::UNUSUAL_FORMAT, || {
                    let found_size = decimal(array.size);
                    let detail = format!(
                        "recommended {} x {}, found {found} x {found_size}",
                        usual.format, usual.size
                    );
                    (row.place(8, 8), detail)
                });
            }
        }
    }

    fn note_skeleton(&self, findings: &mut Findings) {
        for (row, joint) in self.joint_rows() {
            note_root(findings, row, joint.parent.get(), 4);
        }
        for (row, pose) in self.pose_rows() {
            note_root(findings, row, pose.parent.get(), 0);
            let mask = pose.channelmask.get();
            if mask & !self.poses.channel_bits() != 0 {
                findings.add(rules::MASK_BITS, || {
                    (row.place(4, 4), format!("bits of no channel in {mask:#x}"))
                });
            }
        }
        let joints = self.joints.len();
        let poses = self.poses.len();
        if joints != poses && joints > 0 && poses > 0 {
            findings.add(rules::POSES_NOT_JOINTS, || {
                let detail = format!("{poses} poses, {joints} joints");
                (FILE.at(0x4c..0x50), detail)
            });
        }
    }
}

/// A part that takes up bytes, with the alignment of the specification.
struct AlignedRange {
    name: &'static str,
    range: Range<u64>,
    alignment: u64,
    /// The position at which its offset is stored.
    offset_at: u64,
}

/// Adds a part, unless it is empty.
fn add_part(parts: &mut Vec<AlignedRange>, name: &'static str, offset_at: u64, range: &Range<u64>) {
    if !range.is_empty() {
        parts.push(AlignedRange {
            name,
            range: range.clone(),
            alignment: 4,
            offset_at,
        });
    }
}

/// Notes parts that overlap a part before them; returns the end of the last byte that is used.
fn note_overlaps(parts: &[AlignedRange], findings: &mut Findings) -> u64 {
    // The part with the largest end so far.
    let mut last: Option<&AlignedRange> = None;
    for part in parts {
        if let Some(last) = last
            && part.range.start < last.range.end
        {
            findings.add(rules::OVERLAP, || {
                let end = part.range.end.min(last.range.end);
                let detail = format!("{} begins inside {}", part.name, last.name);
                (FILE.at(part.range.start..end), detail)
            });
        }
        match last {
            Some(last) if part.range.end < last.range.end => {}
            _ => last = Some(part),
        }
    }
    last.map_or(0, |part| part.range.end)
}

/// The count and the offset of a section in the header.
struct Section {
    name: &'static str,
    /// The position of the offset in the file.
    field: u64,
    count: u32,
    offset: u32,
}

impl Section {
    fn new(name: &'static str, field: u64, count: U32, offset: U32) -> Self {
        Self {
            name,
            field,
            count: count.get(),
            offset: offset.get(),
        }
    }
}

/// The extensions, and the source with the bytes that were read for them.
struct Extensions {
    nodes: Vec<ExtensionNode>,
    source: Source,
}

/// Checks that the first and the count of a run together are not more than the total.
fn check_run(first: Field, count: Field, total: U32) -> Result<()> {
    let total = total.get();
    let Some(left) = total.checked_sub(first.value) else {
        let error = first.malformed().expected(at_most(total));
        return Err(error.found(first.value));
    };
    if count.value <= left {
        return Ok(());
    }
    let expected = format!(
        "at most {}, from {} to the end at {}",
        decimal(left),
        decimal(first.value),
        decimal(total)
    );
    Err(count.malformed().expected(expected).found(count.value))
}

/// Checks that a parent comes before its children, which rules out cycles.
fn check_parent(row: Row, parent: i32, what: &'static str, offset: u64) -> Result<()> {
    if i64::from(parent) < i64::try_from(row.index).unwrap_or(i64::MAX) {
        return Ok(());
    }
    let error = row.place(offset, 4).malformed(what);
    let expected = format!("{}, its own index", less_than(row.index));
    Err(error.expected(expected).found(parent))
}

/// Notes a root whose parent, at an offset in its row, is not -1.
fn note_root(findings: &mut Findings, row: Row, parent: i32, offset: u64) {
    if parent < -1 {
        findings.add(rules::ODD_ROOT, || {
            let detail = format!("{parent} for a root, usually -1");
            (row.place(offset, 4), detail)
        });
    }
}

fn check_no_cycle(extensions: &[ExtensionNode]) -> Result<()> {
    let mut nodes: Vec<&Range<u64>> = extensions.iter().map(|extension| &extension.node).collect();
    nodes.sort_unstable_by_key(|node| node.start);
    // In a cycle, some node is listed twice.
    for pair in nodes.windows(2) {
        if let [node, next] = pair
            && node == next
        {
            let error = FILE.at((*node).clone()).malformed("iqmextension");
            let error = error.expected("each node once in the list");
            return Err(error.found("a cycle"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &'static str, range: Range<u64>) -> AlignedRange {
        AlignedRange {
            name,
            range,
            alignment: 4,
            offset_at: 0,
        }
    }

    /// A part is compared with the part that reaches furthest, and not with the one before it.
    #[test]
    fn parts_inside_of_an_earlier_one_overlap() {
        let parts = [part("a", 0..100), part("b", 10..20), part("c", 50..60)];
        let mut findings = Findings::default();
        assert_eq!(note_overlaps(&parts, &mut findings), 100);
        assert_eq!(findings.into_vec()[0].count, 2);
        let apart = [part("a", 0..100), part("b", 100..300)];
        let mut findings = Findings::default();
        assert_eq!(note_overlaps(&apart, &mut findings), 300);
        assert!(findings.into_vec().is_empty());
    }
}
