//! The content of a section while it is inflated, no further than necessary. Reads nothing from the source itself; may use only
//! what is below it: the forms of a mesh, and decoders.

use std::cell::Cell;
use std::ops::Range;

use bytes::Bytes;
use zerocopy::little_endian::F32;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::arrays::{MeshForm, StoredArray};
use super::first_mesh::BaseMesh;
use super::layout::snapshot_address;
use super::mesh::{MAP_CHANNEL, MeshBuffer, TopologyId};
use super::parts::{MeshArray, Parts};
use super::raw;
use super::rules::FILE;
use super::sections::{COMPLETE, DIFFERENCE};
use super::triangle_hash::{TriangleHash, TriangleHasher};
use super::triangles::{Counts, Shape, Triangles};
use crate::bytes::{Memory, Out};
use crate::codec::{Codec, Fault, FaultKind};
use crate::decode::{Content, Help};
use crate::limits::{Charge, Meter, caps, resize, take_block};
use crate::num::{as_u64, as_usize, decimal, less_than, span};
use crate::options::Options;
use crate::report::{Cause, Error, ErrorKind, Place, Result};

/// The section that is inflated.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) what: &'static str,
    /// The offset of the section in the file, by which a mesh is known.
    pub(crate) offset: u64,
    /// Its content in the file.
    pub(crate) range: Range<u64>,
    /// The snapshot that it belongs to.
    pub(crate) snapshot: usize,
    pub(crate) codec: Codec,
    /// The length of its stream, in bytes.
    pub(crate) stored: u64,
}

/// The content of a section while it is inflated.
pub(crate) struct Stream<'a> {
    content: Content<'a>,
    unit: Unit,
    /// Memory for content that is skipped.
    skipped: &'a mut [u8],
    /// The most bytes that a stream of this length can decode to.
    most: u64,
    input: Bytes,
    options: Options,
    meter: &'a Meter<'a>,
    help: Option<Help<'a>>,
    /// `true` if the whole stream is decoded, not only a prefix.
    is_whole: bool,
    /// Bytes of the content that are needed, as far as that is known.
    goal: Cell<u64>,
    /// `true` if the stream ended before the content that was needed.
    is_too_short: Cell<bool>,
    /// The number of map channels that were traversed.
    channels: u64,
}

/// A traversal of the arrays of a mesh, in the order of the stream.
struct Traversal<'a> {
    form: MeshForm<'a>,
    /// The array at which it ends.
    last: MeshArray,
    /// The array that has been read or skipped.
    previous: Option<MeshArray>,
}

/// The range of an array that the file stores uncompressed.
pub(crate) struct Uncompressed {
    pub(crate) range: Range<u64>,
    /// Elements of the map channels before it.
    pub(crate) before: u64,
}

/// A number of elements: how many bytes they take, and where in the content the number is stored.
struct Counted {
    what: &'static str,
    number: u64,
    bytes: u64,
    /// `None` for differences, which are as many as the first snapshot has elements.
    at: Option<Range<u64>>,
}

impl Counted {
    /// `number` triples of floats.
    fn triples(what: &'static str, number: u64, at: Option<Range<u64>>) -> Self {
        Self {
            what,
            number,
            bytes: number.saturating_mul(12),
            at,
        }
    }

    /// The triangles of a complete mesh, by the indices of their records.
    fn triangles(counts: &Counts, shape: &Shape) -> Self {
        let number = u64::from(counts.triangles);
        let bytes = shape.indices().saturating_mul(number);
        Self {
            what: "Triangle Count",
            number,
            bytes,
            at: Some(TRIANGLE_COUNT),
        }
    }

    /// The first `Vertex Differences`, or as many as are needed.
    fn differences(counts: &Counts) -> Self {
        Self::triples("Vertex Differences", counts.vertices.into(), None)
    }
}

/// The last array that is decoded for these parts of a difference. `None` if no part of it is wanted.
fn last_array(parts: Parts) -> Option<MeshArray> {
    let is_empty = parts.without(Parts::TRIANGLES) == Parts::default();
    (!is_empty).then(|| parts.last())
}

/// When a complete mesh is identified by a hash of its triangles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Identify {
    /// Never: it is the first one, or known.
    No,
    /// If its triangles are wanted.
    IfWanted,
    /// Always: the stream is inflated to its end.
    Always,
}

/// The range of the counts of a complete mesh in its content, after the byte that marks it as complete.
const VERTEX_COUNT: Range<u64> = 1..5;
const NORMAL_COUNT: Range<u64> = 5..9;
const MAP_CHANNEL_COUNT: Range<u64> = 9..13;
const TRIANGLE_COUNT: Range<u64> = 13..17;

/// Deflate makes no more of a byte than this.
const DEFLATE_RATIO: u64 = 1032;

impl<'a> Stream<'a> {
    /// Triples that are inflated at a time: in bytes, as many as the inflater likes.
    const WINDOW: usize = Content::PIECE / 12;

    /// `content` reads `input`.
    pub(crate) fn new(
        content: Content<'a>,
        input: Bytes,
        unit: Unit,
        skipped: &'a mut [u8],
        options: &Options,
        meter: &'a Meter<'a>,
    ) -> Self {
        let ratio = if unit.codec == Codec::Stored {
            1
        } else {
            DEFLATE_RATIO
        };
        let most = unit.stored.saturating_mul(ratio);
        Self {
            content,
            unit,
            skipped,
            most,
            input,
            channels: 0,
            options: *options,
            meter,
            help: None,
            is_whole: true,
            goal: Cell::new(0),
            is_too_short: Cell::new(false),
        }
    }

    /// The offset of the section in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.unit.offset
    }

    /// Computes no checksum, because only a part of the content is read.
    pub(crate) fn in_part(&mut self) -> &mut Self {
        self.content.ignore_checksum();
        self.is_whole = false;
        self
    }

    /// Bytes of the stream that were needed so far.
    pub(crate) fn used(&self) -> u64 {
        as_u64(self.content.consumed())
    }

    /// About how many bytes of the stream are needed, if the job ended because it needed more than there were: in proportion to
    /// the bytes that have been inflated, as if the rest were compressed as well as the beginning.
    pub(crate) fn wanted(&self) -> Option<u64> {
        if !self.is_too_short.get() {
            return None;
        }
        let used = u128::from(self.used());
        let produced = self.content.produced();
        let goal = self.goal.get().max(produced.saturating_add(1));
        let wanted = used
            .saturating_mul(goal.into())
            .checked_div(produced.max(1).into())?;
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        if self.unit.codec == Codec::Stored {
            return Some(wanted);
        }
        let margin = wanted / 32;
        Some(wanted.saturating_add(margin))
    }

    /// Bytes after the end of the stream, once it has ended.
    pub(crate) fn unused(&self) -> u64 {
        self.unit
            .stored
            .saturating_sub(as_u64(self.content.consumed()))
    }

    /// A box, to its end.
    pub(crate) fn bounding_box(&mut self) -> Result<[[f32; 3]; 2]> {
        let mut corners = [[0.0; 3]; 2];
        self.triples(&mut corners)?;
        self.finish()?;
        Ok(corners)
    }

    /// Returns `true` if the mesh is complete; otherwise it is a difference.
    pub(crate) fn is_complete(&mut self) -> Result<bool> {
        let mut kind = [0];
        self.read(&mut kind)?;
        match kind {
            [COMPLETE] => Ok(true),
            [DIFFERENCE] => Ok(false),
            [other] => {
                let error = self.malformed("kind of the mesh", 1);
                Err(error
                    .expected("1 (complete) or 0 (difference)")
                    .found(other))
            }
        }
    }

    /// The counts of a mesh that must be complete, from its beginning.
    pub(crate) fn complete_counts(&mut self) -> Result<Counts> {
        if self.is_complete()? {
            return self.counts();
        }
        Err(self.no_base())
    }

    /// The error of a difference that has no complete mesh to be added to.
    pub(crate) fn no_base(&self) -> Error {
        self.place()
            .malformed("TAG_MESH_DATA")
            .expected("a complete mesh in the first snapshot")
            .found("a difference")
    }

    pub(crate) fn counts(&mut self) -> Result<Counts> {
        let mut bytes = [0; size_of::<raw::MeshCounts>()];
        self.read(&mut bytes)?;
        let counts = raw::MeshCounts::read_from_bytes(&bytes);
        let counts = Counts::new(&counts.unwrap_or_else(|_| raw::MeshCounts::new_zeroed()));
        if counts.texcoord_sets > caps::CGEO_CHANNELS {
            let place = self.place().decoded_at(MAP_CHANNEL_COUNT);
            let error = place.error(ErrorKind::LimitExceeded, "Map Channel Count");
            return Err(error.above(
                caps::CGEO_CHANNELS.into(),
                "",
                Some(counts.texcoord_sets.into()),
            ));
        }
        Ok(counts)
    }

    /// The count of a map channel.
    fn count(&mut self) -> Result<u64> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes).into())
    }

    fn expect_tag(&mut self, expected: u32, what: &'static str) -> Result<()> {
        let mut bytes = [0; 4];
        self.read(&mut bytes)?;
        let found = u32::from_le_bytes(bytes);
        if found == expected {
            return Ok(());
        }
        Err(self
            .malformed(what, 4)
            .expected(format!("{expected:#x}"))
            .found(format_args!("{found:#x}")))
    }

    /// Triples into memory of the right length.
    fn triples(&mut self, out: &mut [[f32; 3]]) -> Result<()> {
        self.read(out.as_mut_bytes())?;
        if cfg!(target_endian = "big") {
            for number in out.as_flattened_mut() {
                *number = f32::from_bits(number.to_bits().swap_bytes());
            }
        }
        Ok(())
    }

    /// Begins to traverse the arrays of a mesh, up to the last one that is wanted.
    fn traverse<'f>(&self, form: MeshForm<'f>, last: MeshArray) -> Traversal<'f> {
        if last != MeshArray::Positions {
            let elements = form.positions().saturating_add(form.normals());
            let bytes = elements.saturating_mul(12);
            self.goal.set(self.content.produced().saturating_add(bytes));
        }
        Traversal {
            form,
            last,
            previous: None,
        }
    }

    /// The next array of the stream, which the caller reads or skips before it asks for another; `None` after the last one. Checks
    /// the tag between two arrays.
    fn next_array(&mut self, traversal: &mut Traversal<'_>) -> Result<Option<StoredArray>> {
        let form = traversal.form;
        if traversal.previous == Some(traversal.last) {
            return Ok(None);
        }
        let part = match traversal.previous {
            None => MeshArray::Positions,
            Some(MeshArray::Positions) => {
                self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
                MeshArray::Normals
            }
            Some(MeshArray::Normals) => {
                self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")?;
                self.channel_or_end(form, 0)?
            }
            Some(MeshArray::MapChannel(channel)) => {
                self.channel_or_end(form, channel.saturating_add(1))?
            }
            Some(MeshArray::Triangles) => MeshArray::Triangles,
        };
        traversal.previous = Some(part);
        let count = match part {
            MeshArray::Positions => form.positions(),
            MeshArray::Normals => form.normals(),
            MeshArray::MapChannel(channel) => match form.map_channel(channel) {
                Some(count) => count,
                None => self.count()?,
            },
            MeshArray::Triangles => return Ok(None),
        };
        Ok(Some(StoredArray { part, count }))
    }

    /// The map channel of this index or, after the last one, the triangles, once the tag before them is checked.
    fn channel_or_end(&mut self, form: MeshForm<'_>, channel: usize) -> Result<MeshArray> {
        if channel < form.map_channels() {
            self.channels = self.channels.saturating_add(1);
            return Ok(MeshArray::MapChannel(channel));
        }
        self.expect_tag(raw::TAG_MESH_MAP_COORDS_END, "TAG_MESH_MAP_COORDS_END")?;
        Ok(MeshArray::Triangles)
    }

    /// Decodes one array of the mesh; the stream is inflated no further. Returns the number of elements of the map channels
    /// before it.
    pub(crate) fn array_alone(
        &mut self,
        form: MeshForm<'_>,
        wanted: MeshArray,
        out: Out<'_, [f32; 3]>,
    ) -> Result<u64> {
        self.check_channel(wanted, form.map_channels())?;
        let mut before: u64 = 0;
        let mut traversal = self.traverse(form, wanted);
        while let Some(array) = self.next_array(&mut traversal)? {
            if array.part == wanted {
                self.array(form, array, out)?;
                break;
            }
            if let MeshArray::MapChannel(_) = array.part {
                before = before.saturating_add(array.count);
            }
            self.skip(form, array)?;
        }
        Ok(before)
    }

    /// Locates an array of a complete mesh that the file stores uncompressed.
    pub(crate) fn locate_alone(
        &mut self,
        counts: &Counts,
        wanted: MeshArray,
    ) -> Result<Uncompressed> {
        let form = MeshForm::Complete(counts);
        self.check_channel(wanted, form.map_channels())?;
        let start = self.unit.range.end.saturating_sub(self.unit.stored);
        let mut found = Uncompressed {
            range: start..start,
            before: 0,
        };
        let mut traversal = self.traverse(form, wanted);
        while let Some(array) = self.next_array(&mut traversal)? {
            if let MeshArray::MapChannel(_) = array.part
                && array.part != wanted
            {
                found.before = found.before.saturating_add(array.count);
            }
            let array_start = start.saturating_add(self.content.produced());
            found.range = span(array_start, self.counted(form, array).bytes);
            self.skip(form, array)?;
        }
        Ok(found)
    }

    /// The first `count` differences, as they are stored.
    pub(crate) fn position_differences(
        &mut self,
        counts: &Counts,
        out: &mut Vec<[f32; 3]>,
    ) -> Result<()> {
        self.resize(out, &Counted::differences(counts))?;
        self.announce(out.as_bytes().len());
        self.triples(out)
    }

    /// Decodes the triangles of a complete mesh, to the end of the stream.
    pub(crate) fn triangles_alone(&mut self, counts: &Counts, out: &mut Triangles) -> Result<()> {
        self.skip_to_triangles(counts)?;
        self.triangles(counts, out)
    }

    /// Skips what comes before the triangles of a complete mesh.
    fn skip_to_triangles(&mut self, counts: &Counts) -> Result<()> {
        let form = MeshForm::Complete(counts);
        let mut traversal = self.traverse(form, MeshArray::Triangles);
        while let Some(array) = self.next_array(&mut traversal)? {
            self.skip(form, array)?;
        }
        Ok(())
    }

    /// Refuses a map channel that there is not.
    pub(crate) fn check_channel(&self, part: MeshArray, channels: usize) -> Result<()> {
        let MeshArray::MapChannel(channel) = part else {
            return Ok(());
        };
        if channel < channels {
            return Ok(());
        }
        let error = FILE
            .out_of_range("map channel")
            .of(snapshot_address(self.unit.snapshot));
        Err(error.expected(less_than(channels)).found(channel))
    }

    /// The content of a point cloud, to its end.
    pub(crate) fn point_cloud(&mut self, out: &mut Vec<[f32; 3]>) -> Result<()> {
        let mut count = [0; 8];
        self.read(&mut count)?;
        self.resize(
            out,
            &Counted::triples("Point Count", u64::from_le_bytes(count), Some(0..8)),
        )?;
        self.announce(out.as_bytes().len());
        self.triples(out)?;
        self.finish()
    }

    /// Begins to decode these parts of the mesh: the others are emptied. Computes a checksum only for all of them.
    pub(crate) fn begin_parts(&mut self, parts: Parts, out: &mut MeshBuffer) {
        if parts != Parts::ALL {
            self.in_part();
        }
        out.clear_all_but(parts);
    }

    /// Decodes the whole mesh, which must be complete.
    pub(crate) fn complete_mesh(&mut self, out: &mut MeshBuffer, id: TopologyId) -> Result<()> {
        self.begin_parts(Parts::ALL, out);
        if !self.is_complete()? {
            return Err(self.no_base());
        }
        self.complete_parts(Parts::ALL, out, id, Identify::No)?;
        Ok(())
    }

    /// Decodes parts of a complete mesh, after its first byte. The stream is inflated no further, and to its end for the
    /// triangles. The mesh gets this topology; returns the hash of its triangles if it is to be identified.
    pub(crate) fn complete_parts(
        &mut self,
        parts: Parts,
        out: &mut MeshBuffer,
        id: TopologyId,
        identify: Identify,
    ) -> Result<Option<TriangleHash>> {
        let counts = self.counts()?;
        let with_triangles = parts.contains(Parts::TRIANGLES);
        let is_to_the_end = with_triangles || identify == Identify::Always;
        let last = if is_to_the_end {
            Some(MeshArray::Triangles)
        } else {
            last_array(parts)
        };
        if let Some(last) = last {
            self.arrays(last, MeshForm::Complete(&counts), parts, out)?;
        }
        let mut hash = None;
        if with_triangles {
            let triangles = out.own_triangles();
            self.triangles(&counts, triangles)?;
            if identify != Identify::No {
                hash = Some(TriangleHash::of(&counts, triangles.as_bytes()));
            }
        } else if is_to_the_end {
            hash = Some(self.hash_triangles(&counts)?);
        }
        out.topology = Some(id);
        out.is_complete = true;
        out.parts = parts;
        Ok(hash)
    }

    /// Decodes parts of a difference, after its first byte, and adds them to the base, which has these parts. The stream is
    /// inflated no further, and to its end for all parts.
    pub(crate) fn difference_parts(
        &mut self,
        parts: Parts,
        base: &BaseMesh,
        out: &mut MeshBuffer,
    ) -> Result<()> {
        let mesh = &*base.mesh;
        if let Some(last) = last_array(parts) {
            let form = MeshForm::Difference(&base.counts, mesh);
            self.arrays(last, form, parts, out)?;
        }
        if parts == Parts::ALL {
            self.finish()?;
        }
        if parts.contains(Parts::TRIANGLES) {
            out.share_triangles(&mesh.triangles);
        }
        out.topology = Some(mesh.topology);
        out.is_complete = false;
        out.parts = parts;
        Ok(())
    }

    /// Decodes the arrays of these parts, and skips the others before the last one.
    fn arrays(
        &mut self,
        last: MeshArray,
        form: MeshForm<'_>,
        parts: Parts,
        out: &mut MeshBuffer,
    ) -> Result<()> {
        if parts.contains(Parts::TEXCOORDS) {
            self.make_channels(form, out)?;
        }
        let mut traversal = self.traverse(form, last);
        while let Some(array) = self.next_array(&mut traversal)? {
            match out.array_of(array.part, parts) {
                Some(out) => self.array(form, array, out.into())?,
                None => self.skip(form, array)?,
            }
        }
        Ok(())
    }

    /// Makes a vector for each map channel.
    fn make_channels(&mut self, form: MeshForm<'_>, out: &mut MeshBuffer) -> Result<()> {
        let channels = as_u64(form.map_channels());
        let counted = match form {
            // Each channel has a count of four bytes in the stream.
            MeshForm::Complete(_) => Counted {
                what: "Map Channel Count",
                number: channels,
                bytes: channels.saturating_mul(4),
                at: Some(MAP_CHANNEL_COUNT),
            },
            MeshForm::Difference(..) | MeshForm::DifferenceOf(..) => Counted {
                what: "Map Channel Count",
                number: channels,
                bytes: 0,
                at: None,
            },
        };
        self.check_plausible(&counted)?;
        let charge = self
            .meter
            .take(channels.saturating_mul(MAP_CHANNEL), counted.what);
        charge
            .map_err(|error| self.too_large(error, &counted))?
            .keep();
        out.make_texcoords(form.map_channels());
        Ok(())
    }

    /// Decodes an array; adds the array of the base if the mesh is a difference.
    fn array(
        &mut self,
        form: MeshForm<'_>,
        array: StoredArray,
        out: Out<'_, [f32; 3]>,
    ) -> Result<()> {
        let counted = self.counted(form, array);
        let out = match out.0 {
            Memory::Vec(out) => {
                self.resize(out, &counted)?;
                out.as_mut_slice()
            }
            Memory::Slice(out) => {
                self.check_plausible(&counted)?;
                of_length(out, counted.number)?
            }
        };
        self.announce(out.as_bytes().len());
        let Some(base) = form.base(array.part) else {
            return self.triples(out);
        };
        let base = base.as_slice();
        if let Some(stored) = self.content.stored(out.as_bytes().len())
            && let Ok(stored) = <[[F32; 3]]>::ref_from_bytes(stored)
        {
            // Uncompressed differences in memory are added without a copy.
            let sums = out.as_flattened_mut().iter_mut();
            let terms = stored.as_flattened().iter().zip(base.as_flattened());
            for (sum, (stored, base)) in sums.zip(terms) {
                *sum = stored.get() + base.get();
            }
            return Ok(());
        }
        // The base is added to decoded data while it is in the processor's cache.
        for (out, base) in out.chunks_mut(Self::WINDOW).zip(base.chunks(Self::WINDOW)) {
            self.triples(out)?;
            for (number, base) in out.as_flattened_mut().iter_mut().zip(base.as_flattened()) {
                *number += base.get();
            }
        }
        Ok(())
    }

    /// Decodes the triangles, to the end of the stream. Records are as long as in version 7 or, since the published text gives no
    /// length for older versions, as long as the length of the stream makes them.
    fn triangles(&mut self, counts: &Counts, out: &mut Triangles) -> Result<()> {
        let shape = Shape::of_version_7(counts);
        let announced = shape.record().saturating_mul(u64::from(counts.triangles));
        let counted = Counted::triangles(counts, &shape);
        self.check_plausible(&counted)?;
        let records = out.take_records();
        let mut charge = self.charge(&counted, announced)?;
        resize(records, announced, counted.what)
            .map_err(|error| self.too_large(error, &counted))?;
        self.announce(records.len());
        let mut length = self.read_up_to(records)?;
        if length == records.len() {
            let mut next = [0];
            if self.read_up_to(&mut next)? == 0 {
                self.finish()?;
                charge.keep();
                out.set_shape(shape);
                return Ok(());
            }
            let longer = shape
                .longest()
                .saturating_mul(counts.triangles.into())
                .max(announced.saturating_add(1));
            // Both are charged while the records move.
            let larger = self.charge(&counted, longer)?;
            records.resize(as_usize(longer), 0);
            charge = larger;
            let [first, rest @ ..] = records.get_mut(length..).unwrap_or_default() else {
                return Ok(());
            };
            [*first] = next;
            let more = self.read_up_to(rest)?;
            length = length.saturating_add(1).saturating_add(more);
        }
        records.truncate(length);
        let length = as_u64(length);
        let Some(shape) = Shape::of_length(counts, length) else {
            return Err(self.other_length(announced, length));
        };
        self.finish()?;
        charge.keep();
        out.set_shape(shape);
        Ok(())
    }

    /// The hash of the triangles of a complete mesh, to the end of the stream.
    pub(crate) fn triangle_hash_alone(&mut self, counts: &Counts) -> Result<TriangleHash> {
        self.skip_to_triangles(counts)?;
        self.hash_triangles(counts)
    }

    /// The hash of the triangles, to the end of the stream. They are inflated in pieces, and not stored.
    fn hash_triangles(&mut self, counts: &Counts) -> Result<TriangleHash> {
        let shape = Shape::of_version_7(counts);
        let number = u64::from(counts.triangles);
        let announced = shape.record().saturating_mul(number);
        self.check_plausible(&Counted::triangles(counts, &shape))?;
        let longest = shape.longest().saturating_mul(number).max(announced);
        // Uncompressed content is skipped without memory, so that there is none to use here.
        let mut on_stack = [0; 4096];
        let mut skipped = std::mem::take(&mut self.skipped);
        let piece = if skipped.is_empty() {
            &mut on_stack
        } else {
            &mut *skipped
        };
        let mut hash = TriangleHasher::new(counts);
        let mut length: u64 = 0;
        loop {
            let count = self.read_up_to(piece)?;
            hash.add(piece.get(..count).unwrap_or_default());
            length = length.saturating_add(as_u64(count));
            if count < piece.len() || length > longest {
                break;
            }
        }
        self.skipped = std::mem::take(&mut skipped);
        let has_records = Shape::of_length(counts, length).is_some();
        let is_empty = length == 0 && number == 0;
        if !has_records && !is_empty {
            return Err(self.other_length(announced, length));
        }
        self.finish()?;
        Ok(hash.finish())
    }

    /// The error of triangles that no record makes as long as they are.
    fn other_length(&self, announced: u64, length: u64) -> Error {
        let error = self.malformed("Triangle Data", length);
        let [announced, length] = [announced, length].map(decimal);
        error
            .expected(format!("{announced} bytes"))
            .found(format_args!("another length: {length} or more"))
    }

    /// The work so far: the bytes of the content, and what map channels cost that have none. Programs make an array of each.
    pub(crate) fn worked(&self) -> u64 {
        const OF_CHANNEL: u64 = 2048;
        self.content
            .produced()
            .saturating_add(self.channels.saturating_mul(OF_CHANNEL))
    }

    /// Checks that the stream ends here, with the right checksum.
    pub(crate) fn finish(&mut self) -> Result<()> {
        self.content.finish().map_err(|fault| self.fault(fault))
    }

    fn read(&mut self, out: &mut [u8]) -> Result<()> {
        self.content
            .read_exact(out)
            .map_err(|fault| self.fault(fault))
    }

    /// Reads until `out` is full or the content ends; returns the number of bytes.
    fn read_up_to(&mut self, out: &mut [u8]) -> Result<usize> {
        self.content.read(out).map_err(|fault| self.fault(fault))
    }

    /// Inflates and drops an array.
    fn skip(&mut self, form: MeshForm<'_>, array: StoredArray) -> Result<()> {
        let counted = self.counted(form, array);
        self.check_plausible(&counted)?;
        self.announce(as_usize(counted.bytes));
        self.content
            .skip(counted.bytes, self.skipped)
            .map_err(|fault| self.fault(fault))
    }

    /// Resizes a vector to the number of triples.
    fn resize(&mut self, out: &mut Vec<[f32; 3]>, counted: &Counted) -> Result<()> {
        self.check_plausible(counted)?;
        self.charge(counted, counted.bytes)?.keep();
        resize(out, counted.number, counted.what).map_err(|error| self.too_large(error, counted))
    }

    /// Charges memory for elements of the stream; if there is not enough, the memory of threads that help is given back first.
    fn charge(&mut self, counted: &Counted, bytes: u64) -> Result<Charge<'a>> {
        let meter = self.meter;
        let mut charge = take_block(meter, self.unit.stored, bytes, counted.what);
        if charge.is_err()
            && let Some(help) = &mut self.help
            && help.end(&mut self.content)
        {
            charge = take_block(meter, self.unit.stored, bytes, counted.what);
        }
        charge.map_err(|error| self.too_large(error, counted))
    }

    /// Announces that `bytes` bytes come next, so that other threads help if that pays.
    fn announce(&mut self, bytes: usize) {
        /// The minimum output for which it does, and the minimum stream: of shorter ones, callers decode several at a time on threads
        /// of their own, which have no use for help.
        const MIN_OUTPUT: usize = 512 << 10;
        const MIN_STREAM: u64 = 1 << 20;
        #[cfg(feature = "rayon")]
        if let Some(stream) = self.content.stream().filter(|_| !self.is_whole) {
            stream.will_read(bytes);
        }
        // Threads that help need all of the input.
        let is_there = as_u64(self.input.len()) >= self.unit.stored;
        if self.help.is_none() && is_there && bytes >= MIN_OUTPUT && self.unit.stored >= MIN_STREAM
        {
            self.help = Some(Help::with(
                &mut self.content,
                &self.input,
                &self.options,
                self.meter,
            ));
        }
    }

    /// The elements of an array, after what comes before them in the stream has been read.
    fn counted(&self, form: MeshForm<'_>, array: StoredArray) -> Counted {
        let at = match form {
            MeshForm::Difference(..) | MeshForm::DifferenceOf(..) => None,
            MeshForm::Complete(_) => Some(match array.part {
                MeshArray::Positions => VERTEX_COUNT,
                MeshArray::Normals => NORMAL_COUNT,
                MeshArray::MapChannel(_) => {
                    let produced = self.content.produced();
                    produced.saturating_sub(4)..produced
                }
                MeshArray::Triangles => TRIANGLE_COUNT,
            }),
        };
        Counted::triples(array.part.name(form), array.count, at)
    }

    /// Refuses more elements than the rest of the stream can decode to.
    fn check_plausible(&self, counted: &Counted) -> Result<()> {
        let produced = self.content.produced();
        if counted.bytes <= self.most.saturating_sub(produced) {
            self.goal
                .set(self.goal.get().max(produced.saturating_add(counted.bytes)));
            return Ok(());
        }
        let place = match &counted.at {
            Some(at) => self.place().decoded_at(at.clone()),
            None => self.place(),
        };
        Err(place.malformed(counted.what).because(Cause::TooLarge {
            count: counted.number,
            needed: counted.bytes,
            stored: self.unit.stored,
        }))
    }

    /// An error about memory for elements, with their number and its place.
    fn too_large(&self, error: Error, counted: &Counted) -> Error {
        let error = match &counted.at {
            Some(at) => error.decoded_at(at.clone()).needed_by(counted.number),
            None => error,
        };
        self.place().locate(error)
    }

    /// The error about the last `bytes` of the decoded content.
    fn malformed(&self, what: &'static str, bytes: u64) -> Error {
        let end = self.content.produced();
        self.place()
            .decoded_at(end.saturating_sub(bytes)..end)
            .malformed(what)
    }

    fn fault(&self, fault: Fault) -> Error {
        self.is_too_short.set(matches!(
            fault.kind,
            FaultKind::Truncated | FaultKind::TooShort
        ));
        self.place().locate(Error::stream(fault, self.unit.what))
    }

    fn place(&self) -> Place {
        FILE.at(self.unit.range.clone())
            .of(snapshot_address(self.unit.snapshot))
    }
}

/// The slice, unless it has another length than the array.
fn of_length(out: &mut [[f32; 3]], number: u64) -> Result<&mut [[f32; 3]]> {
    if as_u64(out.len()) == number {
        return Ok(out);
    }
    let error = FILE.out_of_range("length of the slice");
    Err(error.because(Cause::Length {
        expected: number,
        found: as_u64(out.len()),
    }))
}
