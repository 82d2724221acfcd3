//! Files of the viewer with assets in them: its upload cache and its disk cache.

use std::ops::Range;

use bytes::Bytes;

use super::asset::Asset;
use super::fields::Value;
use super::keys::{Lod, PHYSICS_CONVEX, PHYSICS_MESH, SKIN};
use super::layout::{check_count, text};
use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::bytes::{Source, Text};
use crate::format::Format;
use crate::limits::{Meter, take_block};
use crate::num::as_u64;
use crate::options::Options;
use crate::report::{ErrorKind, Result};

/// A viewer's upload cache (`.slm`), with whole assets inside.
///
/// Viewers save it while a model is uploaded. Finding the assets reads the whole file; each asset is then read from its range of the source.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UploadCache {
    /// "version"; 3 in files that exist.
    pub version: Option<i64>,
    /// "name": the file that was uploaded.
    pub name: Text,
    /// The bytes of each asset, from the beginning of the source. [`Asset::at`] reads an asset.
    pub ranges: Vec<Range<u64>>,
}

impl UploadCache {
    /// Finds the assets in an upload cache.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](ErrorKind::Malformed) if the file is not a map of binary LLSD with an array "mesh" of strings,
    /// [`Unsupported`](ErrorKind::Unsupported) for strings with escapes, [`LimitExceeded`](ErrorKind::LimitExceeded) for more than
    /// 4,096 assets or a file larger than a block may be, and the errors of reading.
    pub fn from_source(source: &Source, options: &Options) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let Some(len) = source.len()? else {
            let error = FILE.error(ErrorKind::Unsupported, "upload cache");
            let error = error.expected("a source that knows its length");
            return Err(error.found("one that does not"));
        };
        let meter = Meter::of_part(&options.limits, &(0..len));
        take_block(&meter, len, len, "upload cache")
            .map_err(|error| FILE.at(0..len).locate(error))?
            .keep();
        let bytes = source.get(0..len, "upload cache")?;
        Self::parse(&bytes, options).map_err(|error| FILE.locate(error))
    }

    fn parse(bytes: &Bytes, options: &Options) -> Result<Self> {
        let mut reader = Reader::new(bytes, &options.limits);
        let start = reader.position();
        reader.skip_value()?;
        let value = Value::new(bytes, &(start..reader.position()), "upload cache");
        let [version, name, mesh] = value.fields(&["version", "name", "mesh"])?.values;
        let version = match version {
            Some(value) => value.integer().ok(),
            None => None,
        };
        let name = match name {
            Some(value) => match value.event()? {
                Event::String(name) => text(bytes, &name),
                _ => Text::default(),
            },
            None => Text::default(),
        };
        let Some(mesh) = mesh else {
            let error = value.error().expected("an array \"mesh\"");
            return Err(error.found("none"));
        };
        Ok(Self {
            version,
            name,
            ranges: find_assets(mesh)?,
        })
    }
}

fn find_assets(value: Value<'_>) -> Result<Vec<Range<u64>>> {
    let mut elements = value.elements("an array of strings")?;
    check_count(elements.left(), "upload cache", "assets", value.range())?;
    let mut assets = Vec::new();
    while let Some(element) = elements.next()? {
        let length = match element.event()? {
            Event::String(asset) if asset.has_escapes() => {
                let place = FILE.at(element.range());
                let error = place.error(ErrorKind::Unsupported, "mesh");
                let error = error.expected("an asset as it is");
                return Err(error.found("one with escapes"));
            }
            Event::String(asset) => asset.raw().len(),
            Event::Binary(asset) => asset.len(),
            other => return Err(element.wrong("an asset in a string", other)),
        };
        let mut end = element.end();
        if element.is_quoted() {
            // The quote at its end.
            end = end.saturating_sub(1);
        }
        assets.push(as_u64(end.saturating_sub(length))..as_u64(end));
    }
    Ok(assets)
}

/// An entry of the viewer's disk cache: twelve bytes, and an asset.
///
/// Blocks may not have been downloaded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct CacheEntry {
    /// The asset. Blocks that have not been downloaded are [`Truncated`](ErrorKind::Truncated).
    pub asset: Asset,
    flags: u32,
}

impl CacheEntry {
    /// The bytes before the asset: version, size of the header, flags.
    const PREAMBLE: u64 = 12;

    /// Reads the preamble, and the header of the asset after it.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](ErrorKind::Unsupported) for another version than 1, and the errors of [`Asset::from_source`].
    pub fn from_source(source: &Source, options: &Options) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let preamble = source.get(0..Self::PREAMBLE, "preamble")?;
        let version = word_at(&preamble, 0);
        if version != 1 {
            let what = "version of the cache entry";
            let error = FILE.at(0..4).error(ErrorKind::Unsupported, what);
            return Err(error.expected("1").found(version));
        }
        let asset = Asset::at(&source, Self::PREAMBLE..u64::MAX, options)?;
        Ok(Self {
            asset,
            flags: word_at(&preamble, 8),
        })
    }

    /// Returns `true` if the viewer has downloaded the block of this name in the header.
    ///
    /// `false` for blocks without a flag.
    #[must_use]
    pub fn has(&self, block: &str) -> bool {
        const BITS: [(&str, u32); 7] = [
            (Lod::Lowest.name(), 0),
            (Lod::Low.name(), 1),
            (Lod::Medium.name(), 2),
            (Lod::High.name(), 3),
            (SKIN, 5),
            (PHYSICS_CONVEX, 6),
            (PHYSICS_MESH, 7),
        ];
        for (name, bit) in BITS {
            if name == block {
                return self.flags >> bit & 1 == 1;
            }
        }
        false
    }
}

/// The little-endian number of four bytes at an offset; 0 beyond the end.
fn word_at(bytes: &[u8], offset: usize) -> u32 {
    let rest = bytes.get(offset..).unwrap_or_default();
    match rest.first_chunk() {
        Some(word) => u32::from_le_bytes(*word),
        None => 0,
    }
}
