//! Checks of the structure: names, runs, parents and the extension list.

use std::ops::Range;

use zerocopy::little_endian::U32;

use super::layout::{ExtensionNode, IQM_CUSTOM, Layout};
use super::names::Names;
use super::raw;
use super::rules::{self, FILE};
use super::tables::{Field, Row, recommended, scalar};
use crate::bytes::Source;
use crate::limits::{Limits, caps};
use crate::num::{Span, as_u64, at_most, decimal, less_than, size_u64, span};
use crate::report::{ErrorKind, Findings, Place, Result};

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
        let (extensions, source) = layout.read_extensions(&mut names, &mut findings)?;
        let layout = Self {
            extensions,
            source,
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
            if let Some(name) = array.type_.get().checked_sub(IQM_CUSTOM) {
                names.check(row.field("iqmvertexarray.type", 0, name.into()))?;
            }
            let Some(scalar) = scalar(array.format.get()) else {
                let error = row
                    .field("iqmvertexarray.format", 8, array.format)
                    .malformed();
                return Err(error.expected("0 to 8").found(array.format.get()));
            };
            if array.size.get() == 0 {
                let error = row.field("iqmvertexarray.size", 12, array.size).malformed();
                return Err(error.expected("1 or more").found(0));
            }
            let element = u64::from(array.size.get()).saturating_mul(as_u64(scalar.size()));
            let offset = row.field("iqmvertexarray.offset", 16, array.offset);
            offset
                .section(count, element, filesize)
                .map_err(|error| error.of(row.address()))?;
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
        let announced = self.header.num_framechannels.get();
        if self.header.num_frames.get() > 0 && channels != u64::from(announced) {
            let error = FILE.at(0x60..0x64).malformed("iqmheader.num_framechannels");
            let expected = format!("{}, the bits in the masks of the poses", decimal(channels));
            return Err(error.expected(expected).found(announced));
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
    /// Returns them, and the source with what was read ahead.
    fn read_extensions(
        &self,
        names: &mut Names<'_>,
        findings: &mut Findings,
    ) -> Result<(Vec<ExtensionNode>, Source)> {
        /// Bytes that are read for a node.
        const AHEAD: u64 = 4 << 10;
        let node_size = size_u64::<raw::Extension>();
        let header = &self.header;
        let (announced, filesize) = (
            header.num_extensions.get(),
            u64::from(header.filesize.get()),
        );
        let mut source = self.source.clone();
        let mut extensions = Vec::new();
        let mut next = Row::HEADER.field("iqmheader.ofs_extensions", 0x78, header.ofs_extensions);
        let count = Row::HEADER.field("iqmheader.num_extensions", 0x74, header.num_extensions);
        for index in 0..u64::from(announced) {
            if next.value == 0 {
                break;
            }
            if index >= caps::IQM_EXTENSIONS {
                check_no_cycle(&extensions)?;
                let error = count.error(ErrorKind::LimitExceeded);
                return Err(error.above(caps::IQM_EXTENSIONS, "", Some(announced.into())));
            }
            let node = next.section(Field { value: 1, ..count }, node_size, filesize)?;
            let row = Row {
                start: node.start,
                table: "extensions",
                index,
            };
            // Its data is often next to it.
            let ahead = node.start..node.start.saturating_add(AHEAD).min(filesize).max(node.end);
            source = source.with_ranges(&[ahead], "iqmextension")?;
            let extension: raw::Extension = source.read_struct(node.start, "iqmextension")?;
            names.check(row.field("iqmextension.name", 0, extension.name))?;
            let size = row.field("iqmextension.num_data", 4, extension.num_data);
            let data = row
                .field("iqmextension.ofs_data", 8, extension.ofs_data)
                .section(size, 1, filesize)?;
            next = row.field("iqmextension.ofs_extensions", 12, extension.ofs_extensions);
            extensions.push(ExtensionNode {
                node,
                name: extension.name.get(),
                data,
            });
        }
        check_no_cycle(&extensions)?;
        let found = as_u64(extensions.len());
        if found != u64::from(announced) || next.value != 0 {
            let more = if next.value == 0 {
                ""
            } else {
                " and a link to one more"
            };
            findings.add(rules::EXTENSION_COUNT, || {
                (
                    FILE.at(0x74..0x78),
                    format!("{announced} announced, {found} in the list{more}"),
                )
            });
        }
        Ok((extensions, source))
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
                    (row.part(12, 4), format!("not stored ({rate})"))
                });
            }
        }
        for (row, mesh) in self.mesh_rows() {
            if mesh.num_vertexes.get() == 0 || mesh.num_triangles.get() == 0 {
                let detail = || {
                    format!(
                        "{} vertexes, {} triangles",
                        mesh.num_vertexes, mesh.num_triangles
                    )
                };
                findings.add(rules::EMPTY_MESH, || (row.part(8, 16), detail()));
            }
        }
        Ok(())
    }

    fn note_offsets(&self, findings: &mut Findings) {
        let header = &self.header;
        let empty = [
            ("ofs_text", 0x20, header.num_text, header.ofs_text),
            ("ofs_meshes", 0x28, header.num_meshes, header.ofs_meshes),
            (
                "ofs_vertexarrays",
                0x34,
                header.num_vertexarrays,
                header.ofs_vertexarrays,
            ),
            (
                "ofs_triangles",
                0x3c,
                header.num_triangles,
                header.ofs_triangles,
            ),
            (
                "ofs_adjacency",
                0x40,
                header.num_triangles,
                header.ofs_adjacency,
            ),
            ("ofs_joints", 0x48, header.num_joints, header.ofs_joints),
            ("ofs_poses", 0x50, header.num_poses, header.ofs_poses),
            ("ofs_anims", 0x58, header.num_anims, header.ofs_anims),
            ("ofs_bounds", 0x68, header.num_frames, header.ofs_bounds),
            ("ofs_comment", 0x70, header.num_comment, header.ofs_comment),
            (
                "ofs_extensions",
                0x78,
                header.num_extensions,
                header.ofs_extensions,
            ),
        ];
        for (name, field, count, offset) in empty {
            if count.get() == 0 && offset.get() != 0 {
                findings.add(rules::EMPTY_WITH_OFFSET, || {
                    (
                        FILE.at(span(field, 4)),
                        format!("{name}: expected 0, found {:#x}", offset.get()),
                    )
                });
            }
        }
    }

    /// Notes parts that are not aligned or overlap, and bytes after the last one.
    fn note_parts(&self, findings: &mut Findings) -> Result<()> {
        let mut parts = self.parts();
        for AlignedRange {
            name,
            range,
            alignment,
            offset_at,
        } in &parts
        {
            let start = range.start;
            if !start.is_multiple_of(*alignment) {
                let detail =
                    || format!("{name}: expected a multiple of {alignment}, found {start:#x}");
                findings.add(rules::UNALIGNED, || {
                    (FILE.at(span(*offset_at, 4)), detail())
                });
            }
        }
        parts.sort_by_key(|part| (part.range.start, part.range.end));
        // The part with the largest end so far.
        let mut before: Option<&AlignedRange> = None;
        for part in &parts {
            if let Some(before) = before.filter(|before| part.range.start < before.range.end) {
                findings.add(rules::OVERLAP, || {
                    let end = part.range.end.min(before.range.end);
                    let detail = format!("{} begins inside {}", part.name, before.name);
                    (FILE.at(part.range.start..end), detail)
                });
            }
            before = before
                .into_iter()
                .chain([part])
                .max_by_key(|part| part.range.end);
        }

        let filesize = u64::from(self.header.filesize.get());
        if let Some(len) = self.source.len()?.filter(|len| *len > filesize) {
            let rest = filesize..len;
            let detail = format!("{} bytes after filesize", rest.length());
            findings.add(rules::TRAILING_BYTES, || (FILE.at(rest), detail));
        }
        let used = before.map_or(0, |part| part.range.end);
        let rest = used..filesize;
        if rest.length() >= 4 {
            if used == self.sections.comment.end && self.header.num_comment.get() == 1 {
                let detail = "1, but the text may go on to filesize";
                findings.add(rules::LONGER_COMMENT, || (FILE.at(rest), detail));
            } else {
                findings.add(rules::TRAILING_BYTES, || {
                    (FILE.at(rest), "bytes after the last section")
                });
            }
        }
        Ok(())
    }

    /// Everything that takes up bytes.
    fn parts(&self) -> Vec<AlignedRange> {
        let s = &self.sections;
        let sections = [
            ("header", 0, &(0..size_u64::<raw::Header>())),
            ("text", 0x20, &s.text),
            ("meshes", 0x28, &s.meshes),
            ("vertexarrays", 0x34, &s.vertex_arrays),
            ("triangles", 0x3c, &s.triangles),
            ("adjacency", 0x40, &s.adjacency),
            ("joints", 0x48, &s.joints),
            ("poses", 0x50, &s.poses),
            ("anims", 0x58, &s.anims),
            ("frames", 0x64, &s.frames),
            ("bounds", 0x68, &s.bounds),
            ("comment", 0x70, &s.comment),
        ];
        let part = |(name, offset_at, range): (_, u64, &Range<u64>)| AlignedRange {
            name,
            range: range.clone(),
            alignment: 4,
            offset_at,
        };
        let arrays = self
            .vertex_array_rows()
            .take(caps::IQM_CHECKED_ARRAYS)
            .filter_map(|(row, array)| {
                let alignment = as_u64(scalar(array.format.get())?.size().max(4));
                let (range, offset_at) = (self.array_range(&array)?, row.start.saturating_add(16));
                Some(AlignedRange {
                    name: "vertex array",
                    range,
                    alignment,
                    offset_at,
                })
            });
        let before = self
            .extensions
            .iter()
            .map(|extension| extension.node.start.saturating_add(12));
        let nodes = std::iter::once(0x78).chain(before).zip(&self.extensions);
        let nodes = nodes.map(|(offset_at, extension)| ("extension", offset_at, &extension.node));
        let data = self.extensions.iter().map(|extension| {
            (
                "extension data",
                extension.node.start.saturating_add(8),
                &extension.data,
            )
        });
        let all = sections
            .into_iter()
            .map(part)
            .chain(arrays)
            .chain(nodes.chain(data).map(part));
        all.filter(|part| !part.range.is_empty()).collect()
    }

    fn note_text(&self, findings: &mut Findings) {
        let (range, text) = (&self.sections.text, &self.text.0);
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
            let at = range.start.saturating_add(as_u64(error.valid_up_to()));
            findings.add(rules::TEXT_NOT_UTF8, || {
                (FILE.at(span(at, 1)), "the text is not UTF-8")
            });
        }
    }

    fn note_arrays(&self, findings: &mut Findings) {
        let mut previous = 0;
        let mut seen = 0_u32;
        for (row, array) in self.vertex_array_rows() {
            let kind = array.type_.get();
            if kind.min(IQM_CUSTOM) < previous {
                let detail = || format!("type {kind} comes after type {previous}");
                findings.add(rules::ARRAY_ORDER, || (row.part(0, 4), detail()));
            }
            previous = kind.min(IQM_CUSTOM);
            if kind < IQM_CUSTOM {
                let bit = 1_u32.wrapping_shl(kind);
                if seen & bit != 0 {
                    findings.add(rules::REPEATED_ARRAY, || {
                        (row.part(0, 4), format!("type {kind} again"))
                    });
                }
                seen |= bit;
            }
            if (7..IQM_CUSTOM).contains(&kind) {
                findings.add(rules::RESERVED_TYPE, || {
                    (row.part(0, 4), format!("type {kind} is reserved"))
                });
            }
            if let (Some((scalar, size)), Some(found)) =
                (recommended(kind), scalar(array.format.get()))
                && (found, array.size.get()) != (scalar, size)
            {
                let detail = || {
                    format!(
                        "recommended {scalar} x {size}, found {found} x {}",
                        decimal(array.size)
                    )
                };
                findings.add(rules::UNUSUAL_FORMAT, || (row.part(8, 8), detail()));
            }
        }
    }

    fn note_skeleton(&self, findings: &mut Findings) {
        for (row, joint) in self.joint_rows() {
            note_root(findings, joint.parent.get(), || row.part(4, 4));
        }
        for (row, pose) in self.pose_rows() {
            note_root(findings, pose.parent.get(), || row.part(0, 4));
            let mask = pose.channelmask.get();
            if mask & !self.poses.channel_bits() != 0 {
                let detail = || format!("bits of no channel in {mask:#x}");
                findings.add(rules::MASK_BITS, || (row.part(4, 4), detail()));
            }
        }
        let (joints, poses) = (self.joints.len(), self.poses.len());
        if joints != poses && joints > 0 && poses > 0 {
            let detail = format!("{poses} poses, {joints} joints");
            findings.add(rules::POSES_NOT_JOINTS, || (FILE.at(0x4c..0x50), detail));
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

/// Checks that the first and the count of a run together are not more than the total.
fn check_run(first: Field, count: Field, total: U32) -> Result<()> {
    let total = total.get();
    let Some(left) = total.checked_sub(first.value) else {
        return Err(first
            .malformed()
            .expected(at_most(total))
            .found(first.value));
    };
    if count.value <= left {
        return Ok(());
    }
    let [left, first, total] = [left, first.value, total].map(decimal);
    let expected = format!("at most {left}, from {first} to the end at {total}");
    Err(count.malformed().expected(expected).found(count.value))
}

/// Checks that a parent comes before its children, which rules out cycles.
fn check_parent(row: Row, parent: i32, what: &'static str, offset: u64) -> Result<()> {
    if i64::from(parent) < i64::try_from(row.index).unwrap_or(i64::MAX) {
        return Ok(());
    }
    let error = row.part(offset, 4).malformed(what);
    Err(error
        .expected(format!("{}, its own index", less_than(row.index)))
        .found(parent))
}

fn note_root(findings: &mut Findings, parent: i32, place: impl FnOnce() -> Place) {
    if parent < -1 {
        findings.add(rules::ODD_ROOT, || {
            (place(), format!("{parent} for a root, usually -1"))
        });
    }
}

fn check_no_cycle(extensions: &[ExtensionNode]) -> Result<()> {
    let mut nodes: Vec<&Range<u64>> = extensions.iter().map(|extension| &extension.node).collect();
    nodes.sort_unstable_by_key(|node| node.start);
    match nodes
        .windows(2)
        .find(|pair| matches!(pair, [a, b] if a == b))
    {
        Some([node, ..]) => {
            let error = FILE.at((*node).clone()).malformed("iqmextension");
            Err(error
                .expected("each node once in the list")
                .found("a cycle"))
        }
        _ => Ok(()),
    }
}
