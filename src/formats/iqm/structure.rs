//! The structure of a file: names, runs, parents and the extension list checked, oddities noted.

use std::ops::Range;

use super::layout::{Bound, ExtensionNode, IQM_CUSTOM, Layout};
use super::names::Names;
use super::raw;
use super::rules::{self, FILE};
use super::tables::{Fields, recommended, scalar};
use crate::bytes::Source;
use crate::num::{as_u64, size_u64, span};
use crate::report::{Address, ErrorKind, Findings, Result};

impl Layout {
    /// Reads the layout of a file and checks its structure.
    pub(crate) fn open(source: &Source) -> Result<Self> {
        let layout = Self::read(source)?;
        let bound = Bound::of(&layout.header);
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
