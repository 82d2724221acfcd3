//! The content of a section while it is inflated, no further than it must be.

use std::cell::Cell;
use std::ops::Range;

use bytes::Bytes;
use zerocopy::little_endian::F32;
use zerocopy::{FromBytes, FromZeros, IntoBytes};

use super::arrays::MeshForm;
use super::base::BaseMesh;
use super::layout::snapshot_address;
use super::mesh::{MAP_CHANNEL, MeshBuffer, TopologyId};
use super::parts::{MeshArray, Parts};
use super::raw;
use super::rules::FILE;
use super::sections::{COMPLETE, DIFFERENCE};
use super::triangle_hash::{TriangleHash, TriangleHasher};
use super::triangles::Counts;
use super::triangles::{Shape, Triangles};
use crate::bytes::{Memory, Out};
use crate::codec::{Codec, Fault, FaultKind};
use crate::decode::{Content, Help};
use crate::limits::{Charge, Meter, caps};
use crate::num::{as_u64, as_usize, decimal, less_than, span};
use crate::options::Options;
use crate::report::{Cause, Error, ErrorKind, Place, Result};

/// The section that is inflated.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) what: &'static str,
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
    /// The number of map channels that were gone through.
    channels: u64,
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

/// Gives the mesh that differences are added to, with these parts at least.
pub(crate) type BaseProvider<'a> = &'a dyn Fn(Parts) -> Result<BaseMesh>;

/// The range of the counts of a complete mesh in its content, after the byte that marks it as complete.
const VERTEX_COUNT: Range<u64> = 1..5;
const NORMAL_COUNT: Range<u64> = 5..9;
const MAP_CHANNEL_COUNT: Range<u64> = 9..13;
const TRIANGLE_COUNT: Range<u64> = 13..17;

/// The error of a mesh section that is a difference from nothing.
pub(super) fn no_base(snapshot: usize, range: &Range<u64>) -> Error {
    let error = FILE
        .of(snapshot_address(snapshot))
        .at(range.clone())
        .malformed("TAG_MESH_DATA");
    error
        .expected("a complete mesh in the first snapshot")
        .found("a difference")
}

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

    /// About how many bytes of the stream are needed, if the job ended because it needed more than there were.
    pub(crate) fn wanted(&self) -> Option<u64> {
        let (used, produced) = (self.used(), self.content.produced());
        let goal = u128::from(self.goal.get().max(produced.saturating_add(1)));
        let wanted = u128::from(used)
            .saturating_mul(goal)
            .checked_div(produced.max(1).into())?;
        // The rest is compressed about as well as the beginning.
        let wanted = u64::try_from(wanted).unwrap_or(u64::MAX);
        let margin = if self.unit.codec == Codec::Stored {
            0
        } else {
            wanted / 32
        };
        self.is_too_short
            .get()
            .then(|| wanted.saturating_add(margin))
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
        Err(no_base(self.unit.snapshot, &self.unit.range))
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
            out.as_flattened_mut()
                .iter_mut()
                .for_each(|number| *number = f32::from_bits(number.to_bits().swap_bytes()));
        }
        Ok(())
    }

    /// Goes through the arrays of a mesh in the order of the stream, up to the last one that is wanted.
    ///
    /// `each` reads or skips the number of elements that it is called with. Tags between the arrays are checked.
    fn walk(
        &mut self,
        arrays: MeshForm<'_>,
        last: MeshArray,
        mut each: impl FnMut(&mut Self, MeshArray, u64) -> Result<()>,
    ) -> Result<()> {
        if last != MeshArray::Positions {
            let all = arrays
                .positions()
                .saturating_add(arrays.normals())
                .saturating_mul(12);
            self.goal.set(self.content.produced().saturating_add(all));
        }
        each(self, MeshArray::Positions, arrays.positions())?;
        if last == MeshArray::Positions {
            return Ok(());
        }
        self.expect_tag(raw::TAG_MESH_VERTICES_END, "TAG_MESH_VERTICES_END")?;
        each(self, MeshArray::Normals, arrays.normals())?;
        if last == MeshArray::Normals {
            return Ok(());
        }
        self.expect_tag(raw::TAG_MESH_NORMALS_END, "TAG_MESH_NORMALS_END")?;
        for channel in 0..arrays.map_channels() {
            self.channels = self.channels.saturating_add(1);
            let count = arrays
                .map_channel(channel)
                .map_or_else(|| self.count(), Ok)?;
            each(self, MeshArray::MapChannel(channel), count)?;
            if last == MeshArray::MapChannel(channel) {
                return Ok(());
            }
        }
        self.expect_tag(raw::TAG_MESH_MAP_COORDS_END, "TAG_MESH_MAP_COORDS_END")
    }

    /// One array of the mesh; the stream is inflated no further. `skipped` is memory for what comes before. Returns the
    /// number of elements of the map channels before it.
    pub(crate) fn array_alone(
        &mut self,
        arrays: MeshForm<'_>,
        wanted: MeshArray,
        skipped: &mut [u8],
        out: Out<'_, [f32; 3]>,
    ) -> Result<u64> {
        self.check_channel(wanted, arrays.map_channels())?;
        let (mut before, mut out) = (0_u64, Some(out));
        self.walk(arrays, wanted, |stream, part, count| {
            if part == wanted {
                return out
                    .take()
                    .map_or(Ok(()), |out| stream.array(arrays, part, count, out));
            }
            if let MeshArray::MapChannel(_) = part {
                before = before.saturating_add(count);
            }
            stream.skip(&stream.counted(arrays, part, count), skipped)
        })?;
        Ok(before)
    }

    /// Returns the range of an array of a complete mesh that the file stores uncompressed, and the number of elements of the map
    /// channels before it.
    pub(crate) fn place_alone(
        &mut self,
        counts: &Counts,
        wanted: MeshArray,
    ) -> Result<(Range<u64>, u64)> {
        let arrays = MeshForm::Complete(counts);
        self.check_channel(wanted, arrays.map_channels())?;
        let start = self.unit.range.end.saturating_sub(self.unit.stored);
        let (mut before, mut place) = (0_u64, start..start);
        self.walk(arrays, wanted, |stream, part, count| {
            if let MeshArray::MapChannel(_) = part
                && part != wanted
            {
                before = before.saturating_add(count);
            }
            let counted = stream.counted(arrays, part, count);
            place = span(
                start.saturating_add(stream.content.produced()),
                counted.bytes,
            );
            stream.skip(&counted, &mut [])
        })?;
        Ok((place, before))
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

    /// The triangles of a complete mesh, to the end of the stream. `skipped` is memory for what comes before.
    pub(crate) fn triangles_alone(
        &mut self,
        counts: &Counts,
        skipped: &mut [u8],
        out: &mut Triangles,
    ) -> Result<()> {
        self.skip_to_triangles(counts, skipped)?;
        self.triangles(counts, out)
    }

    /// Skips what comes before the triangles of a complete mesh.
    fn skip_to_triangles(&mut self, counts: &Counts, skipped: &mut [u8]) -> Result<()> {
        let arrays = MeshForm::Complete(counts);
        self.walk(arrays, MeshArray::Triangles, |stream, part, count| {
            stream.skip(&stream.counted(arrays, part, count), skipped)
        })
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

    /// The whole mesh, which must be complete.
    pub(crate) fn complete_mesh(&mut self, out: &mut MeshBuffer, id: TopologyId) -> Result<()> {
        let (snapshot, range) = (self.unit.snapshot, self.unit.range.clone());
        let none = |_| Err(no_base(snapshot, &range));
        self.mesh(Parts::ALL, &none, &mut [], out, id, Identify::No)
            .map(drop)
    }

    /// Parts of the mesh, complete or the difference from the base. The stream is inflated no further, and to its end if all
    /// parts are wanted. `skipped` is memory for what is not. A complete mesh gets this topology; the hash of its triangles is returned if it is to
    /// be identified.
    pub(crate) fn mesh(
        &mut self,
        parts: Parts,
        base: BaseProvider<'_>,
        skipped: &mut [u8],
        out: &mut MeshBuffer,
        id: TopologyId,
        identify: Identify,
    ) -> Result<Option<TriangleHash>> {
        if parts != Parts::ALL {
            self.in_part();
        }
        out.clear_all_but(parts);
        let of_triangles = parts.contains(Parts::TRIANGLES);
        let mut hash = None;
        if self.is_complete()? {
            let counts = self.counts()?;
            let is_to_the_end = of_triangles || identify == Identify::Always;
            let last = if is_to_the_end {
                Some(MeshArray::Triangles)
            } else {
                last_array(parts)
            };
            self.arrays(last, MeshForm::Complete(&counts), parts, skipped, out)?;
            if of_triangles {
                let triangles = out.own_triangles();
                self.triangles(&counts, triangles)?;
                if identify != Identify::No {
                    hash = Some(TriangleHash::of(&counts, triangles.as_bytes()));
                }
            } else if is_to_the_end {
                hash = Some(self.hash_triangles(&counts, skipped)?);
            }
            (out.topology, out.is_complete) = (Some(id), true);
        } else {
            let base = base(parts)?;
            let (counts, base) = (base.counts, &*base.mesh);
            let last = last_array(parts);
            self.arrays(
                last,
                MeshForm::Difference(&counts, base),
                parts,
                skipped,
                out,
            )?;
            if parts == Parts::ALL {
                self.finish()?;
            }
            if of_triangles {
                out.share_triangles(&base.triangles);
            }
            (out.topology, out.is_complete) = (Some(base.topology), false);
        }
        out.parts = parts;
        Ok(hash)
    }

    /// The arrays of these parts, as far as the last one that is decoded.
    fn arrays(
        &mut self,
        last: Option<MeshArray>,
        arrays: MeshForm<'_>,
        parts: Parts,
        skipped: &mut [u8],
        out: &mut MeshBuffer,
    ) -> Result<()> {
        let Some(last) = last else { return Ok(()) };
        let has = |part| parts.contains(part);
        if has(Parts::TEXCOORDS) {
            self.make_channels(arrays, out)?;
        }
        let MeshBuffer {
            positions,
            normals,
            texcoords: map_channels,
            ..
        } = out;
        self.walk(arrays, last, |stream, part, count| {
            let out = match part {
                MeshArray::Positions if has(Parts::POSITIONS) => Some(&mut *positions),
                MeshArray::Normals if has(Parts::NORMALS) => Some(&mut *normals),
                MeshArray::MapChannel(channel) if has(Parts::TEXCOORDS) => {
                    map_channels.get_mut(channel)
                }
                _ => None,
            };
            match out {
                Some(out) => stream.array(arrays, part, count, out.into()),
                None => stream.skip(&stream.counted(arrays, part, count), skipped),
            }
        })
    }

    /// Makes a vector for each map channel.
    fn make_channels(&mut self, arrays: MeshForm<'_>, out: &mut MeshBuffer) -> Result<()> {
        let channels = as_u64(arrays.map_channels());
        let at = matches!(arrays, MeshForm::Complete(_)).then_some(MAP_CHANNEL_COUNT);
        // Each channel of a complete mesh has a count of four bytes in the stream.
        let bytes = at.as_ref().map_or(0, |_| channels.saturating_mul(4));
        let counted = Counted {
            what: "Map Channel Count",
            number: channels,
            bytes,
            at,
        };
        self.check_plausible(&counted)?;
        self.take(&counted, |_, meter| {
            meter
                .take(channels.saturating_mul(MAP_CHANNEL), counted.what)
                .map(Charge::keep)
        })?;
        out.make_texcoords(arrays.map_channels());
        Ok(())
    }

    /// Reads an array; adds the array of the base if the mesh is a difference.
    fn array(
        &mut self,
        arrays: MeshForm<'_>,
        part: MeshArray,
        count: u64,
        out: Out<'_, [f32; 3]>,
    ) -> Result<()> {
        let counted = self.counted(arrays, part, count);
        let out = match out.0 {
            Memory::Vec(out) => self.resize(out, &counted).map(|()| out.as_mut_slice())?,
            Memory::Slice(out) => self
                .check_plausible(&counted)
                .and_then(|()| of_length(out, counted.number))?,
        };
        self.announce(out.as_bytes().len());
        let Some(base) = arrays.base(part) else {
            return self.triples(out);
        };
        let base = base.as_slice();
        if let Some(stored) = self.content.stored(out.as_bytes().len())
            && let Ok(stored) = <[[F32; 3]]>::ref_from_bytes(stored)
        {
            let stored = stored.as_flattened().iter().zip(base.as_flattened());
            for (number, (stored, base)) in out.as_flattened_mut().iter_mut().zip(stored) {
                *number = stored.get() + base.get();
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

    /// The triangles, to the end of the stream: records as long as in version 7, or else as long as the stream's
    /// length makes them.
    fn triangles(&mut self, counts: &Counts, out: &mut Triangles) -> Result<()> {
        let shape = Shape::of_version_7(counts);
        let announced = shape.record().saturating_mul(u64::from(counts.triangles));
        let counted = Counted::triangles(counts, &shape);
        self.check_plausible(&counted)?;
        let records = out.take_records();
        self.take(&counted, |stored, meter| {
            meter.resize(records, stored, announced, counted.what)
        })?;
        self.announce(records.len());
        let mut length = self
            .content
            .read(records)
            .map_err(|fault| self.fault(fault))?;
        let mut next = [0];
        if length == records.len() {
            if self
                .content
                .read(&mut next)
                .map_err(|fault| self.fault(fault))?
                == 0
            {
                self.finish()?;
                out.set_shape(shape);
                return Ok(());
            }
            let longer = shape
                .longest()
                .saturating_mul(counts.triangles.into())
                .max(announced.saturating_add(1));
            self.take(&counted, |stored, meter| {
                meter
                    .take_block(stored, longer, counted.what)
                    .map(Charge::keep)
            })?;
            records.resize(as_usize(longer), 0);
            self.meter.give_back(announced);
            let [first, rest @ ..] = records.get_mut(length..).unwrap_or_default() else {
                return Ok(());
            };
            [*first] = next;
            let more = self.content.read(rest).map_err(|fault| self.fault(fault))?;
            length = length.saturating_add(1).saturating_add(more);
        }
        records.truncate(length);
        let found = Shape::of_length(counts, as_u64(length));
        let found = found.ok_or_else(|| self.other_length(announced, as_u64(length)))?;
        self.finish()?;
        out.set_shape(found);
        Ok(())
    }

    /// The hash of the triangles of a complete mesh, to the end of the stream. `skipped` is memory for what comes before.
    pub(crate) fn triangle_hash_alone(
        &mut self,
        counts: &Counts,
        skipped: &mut [u8],
    ) -> Result<TriangleHash> {
        self.skip_to_triangles(counts, skipped)?;
        self.hash_triangles(counts, skipped)
    }

    /// The hash of the triangles, to the end of the stream, in pieces of `window`.
    fn hash_triangles(&mut self, counts: &Counts, window: &mut [u8]) -> Result<TriangleHash> {
        let shape = Shape::of_version_7(counts);
        let number = u64::from(counts.triangles);
        let announced = shape.record().saturating_mul(number);
        self.check_plausible(&Counted::triangles(counts, &shape))?;
        let longest = shape.longest().saturating_mul(number).max(announced);
        let mut on_stack = [0; 4096];
        let window = if window.is_empty() {
            &mut on_stack
        } else {
            window
        };
        let mut hash = TriangleHasher::new(counts);
        let mut length = 0_u64;
        loop {
            let count = self
                .content
                .read(window)
                .map_err(|fault| self.fault(fault))?;
            hash.add(window.get(..count).unwrap_or_default());
            length = length.saturating_add(as_u64(count));
            if count < window.len() || length > longest {
                break;
            }
        }
        if Shape::of_length(counts, length).is_none() && (length > 0 || number > 0) {
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

    /// The work so far: the bytes of the content, and what map channels cost that have none.
    pub(crate) fn worked(&self) -> u64 {
        const OF_CHANNEL: u64 = 128;
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

    /// Inflates and drops elements.
    fn skip(&mut self, counted: &Counted, buffer: &mut [u8]) -> Result<()> {
        self.check_plausible(counted)?;
        self.announce(as_usize(counted.bytes));
        self.content
            .skip(counted.bytes, buffer)
            .map_err(|fault| self.fault(fault))
    }

    /// Makes room for triples.
    fn resize(&mut self, out: &mut Vec<[f32; 3]>, counted: &Counted) -> Result<()> {
        self.check_plausible(counted)?;
        self.take(counted, |stored, meter| {
            meter.resize(out, stored, counted.number, counted.what)
        })
    }

    /// Reserves memory for elements of a stream of `unit.stored` bytes; if needed, the memory of threads that help.
    fn take(
        &mut self,
        counted: &Counted,
        mut take: impl FnMut(u64, &Meter) -> Result<()>,
    ) -> Result<()> {
        let mut taken = take(self.unit.stored, self.meter);
        if taken.is_err()
            && let Some(help) = &mut self.help
            && help.end(&mut self.content)
        {
            taken = take(self.unit.stored, self.meter);
        }
        taken.map_err(|error| self.too_large(error, counted))
    }

    /// Announces that `bytes` bytes come next, so that other threads help if that pays.
    fn announce(&mut self, bytes: usize) {
        /// The least output for which it does, and the least stream: of shorter ones, callers decode several at a time on threads
        /// of their own, which have no use for help.
        const LEAST: usize = 512 << 10;
        const STREAM: u64 = 1 << 20;
        #[cfg(feature = "rayon")]
        if let Some(stream) = self.content.stream().filter(|_| !self.is_whole) {
            stream.will_read(bytes);
        }
        // Threads that help need all of the input.
        let is_there = as_u64(self.input.len()) >= self.unit.stored;
        if self.help.is_none() && is_there && bytes >= LEAST && self.unit.stored >= STREAM {
            self.help = Some(Help::with(
                &mut self.content,
                &self.input,
                &self.options,
                self.meter,
            ));
        }
    }

    /// The elements of an array, after what comes before them in the stream has been read.
    fn counted(&self, arrays: MeshForm<'_>, part: MeshArray, number: u64) -> Counted {
        let produced = self.content.produced();
        let at = match (arrays, part) {
            (MeshForm::Difference(..) | MeshForm::DifferenceOf(..), _) => None,
            (MeshForm::Complete(_), MeshArray::Positions) => Some(VERTEX_COUNT),
            (MeshForm::Complete(_), MeshArray::Normals) => Some(NORMAL_COUNT),
            (MeshForm::Complete(_), MeshArray::MapChannel(_)) => {
                Some(produced.saturating_sub(4)..produced)
            }
            (MeshForm::Complete(_), MeshArray::Triangles) => Some(TRIANGLE_COUNT),
        };
        Counted::triples(part.name(arrays), number, at)
    }

    /// Refuses more elements than the rest of the stream can decode to.
    fn check_plausible(&self, counted: &Counted) -> Result<()> {
        let produced = self.content.produced();
        if counted.bytes <= self.most.saturating_sub(produced) {
            self.goal
                .set(self.goal.get().max(produced.saturating_add(counted.bytes)));
            return Ok(());
        }
        let (count, needed, stored) = (counted.number, counted.bytes, self.unit.stored);
        let place = match &counted.at {
            Some(at) => self.place().decoded_at(at.clone()),
            None => self.place(),
        };
        Err(place.malformed(counted.what).because(Cause::TooLarge {
            count,
            needed,
            stored,
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
