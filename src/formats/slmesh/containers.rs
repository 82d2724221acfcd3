//! Files of the viewer with assets in them: its upload cache and its disk cache.

use std::ops::Range;
use std::path::Path;

use super::asset::Asset;
use super::fields::Value;
use super::keys::{Lod, PHYSICS_CONVEX, PHYSICS_MESH, SKIN};
use super::layout::{check_count, text};
use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::bytes::{Source, Text};
use crate::format::Format;
use crate::limits::Meter;
use crate::num::as_u64;
use crate::options::Options;
use crate::report::{ErrorKind, Result};

/// A viewer's upload cache (`.slm`), with whole assets inside.
///
/// Viewers save it while a model is uploaded. Finding the assets reads the whole file; each is then read from its range of the source.
#[derive(Clone, Debug)]
pub struct UploadCache {
    source: Source,
    options: Options,
    version: Option<i64>,
    name: Text,
    ranges: Vec<Range<u64>>,
}

impl UploadCache {
    /// Opens an upload cache.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Finds the assets in an upload cache.
    ///
    /// # Errors
    ///
    /// Returns [`Malformed`](ErrorKind::Malformed) if the file is not a map of binary LLSD with an array "mesh" of strings,
    /// [`Unsupported`](ErrorKind::Unsupported) for strings with escapes, [`LimitExceeded`](ErrorKind::LimitExceeded) for more than
    /// 4,096 assets or a file larger than a block may be, and the errors of reading.
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// Like [`from_source`](Self::from_source), with options, which also hold for the assets.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_source`](Self::from_source).
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let Some(len) = source.len()? else {
            let error = FILE.error(ErrorKind::Unsupported, "upload cache");
            return Err(error.expected("a source that knows its length").found("one that does not"));
        };
        Meter::of_part(&options.limits, &(0..len))
            .take_block(len, len, "upload cache")
            .map_err(|error| FILE.at(0..len).locate(error))?
            .keep();
        let bytes = source.get(0..len, "upload cache")?;
        let parse = || {
            let mut reader = Reader::with_limits(&bytes, &options.limits);
            let start = reader.position();
            reader.skip_value()?;
            let value = Value::new(&bytes, &(start..reader.position()), "upload cache");
            let [version, name, mesh] = value.fields(&["version", "name", "mesh"])?.values;
            let version = version.and_then(|value| value.integer().ok());
            let name = match name.map(|value| value.event()).transpose()? {
                Some(Event::String(name)) => text(&bytes, &name),
                _ => Text::default(),
            };
            let mesh = mesh.ok_or_else(|| value.error().expected("an array \"mesh\"").found("none"))?;
            Ok((version, name, find_assets(mesh)?))
        };
        let (version, name, ranges) = parse().map_err(|error| FILE.locate(error))?;
        Ok(Self { source, options: *options, version, name, ranges })
    }

    /// "version"; 3 in files that exist.
    #[must_use]
    pub fn version(&self) -> Option<i64> {
        self.version
    }

    /// "name": the file that was uploaded.
    #[must_use]
    pub fn name(&self) -> &Text {
        &self.name
    }

    /// The number of assets.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ranges.len()
    }

    /// Returns `true` if there are no assets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The bytes of each asset, from the beginning of the source.
    #[must_use]
    pub fn ranges(&self) -> &[Range<u64>] {
        &self.ranges
    }

    /// The asset at an index; `Ok(None)` if the cache has no such asset.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Asset::from_source`].
    pub fn asset(&self, index: usize) -> Result<Option<Asset>> {
        let Some(range) = self.ranges.get(index).cloned() else { return Ok(None) };
        Asset::at(&self.source, range, &self.options).map(Some)
    }
}

fn find_assets(value: Value<'_>) -> Result<Vec<Range<u64>>> {
    let mut elements = value.elements("an array of strings")?;
    check_count(elements.left(), "upload cache", "assets", value.range())?;
    let mut assets = Vec::new();
    while let Some(element) = elements.next()? {
        let length = match element.event()? {
            Event::String(asset) if asset.has_escapes() => {
                let error = FILE.at(element.range()).error(ErrorKind::Unsupported, "mesh");
                return Err(error.expected("an asset as it is").found("one with escapes"));
            }
            Event::String(asset) => asset.raw().len(),
            Event::Binary(asset) => asset.len(),
            other => return Err(element.wrong("an asset in a string", other)),
        };
        // A quoted string ends in its quote.
        let end = element.span().end.saturating_sub(usize::from(element.is_quoted()));
        assets.push(as_u64(end.saturating_sub(length))..as_u64(end));
    }
    Ok(assets)
}

/// An entry of the viewer's disk cache: twelve bytes, and an asset.
///
/// Blocks may not have been downloaded.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    asset: Asset,
    flags: u32,
}

impl CacheEntry {
    /// The bytes before the asset: version, size of the header, flags.
    const PREAMBLE: u64 = 12;

    /// Returns `true` if a file is an entry of the viewer's disk cache, by its first bytes.
    ///
    /// # Errors
    ///
    /// The errors of reading.
    pub fn detect(source: &Source) -> Result<bool> {
        match source.get(0..Self::PREAMBLE.saturating_add(1), "preamble") {
            Ok(bytes) => {
                Ok(bytes.starts_with(&1_u32.to_le_bytes()) && matches!(bytes.last(), Some(b'{' | b'<')))
            }
            Err(error) if error.kind() == ErrorKind::Truncated => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens an entry lazily.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Source::open`] and [`from_source`](Self::from_source).
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::from_source(Source::open(path)?)
    }

    /// Reads the preamble, and the header of the asset after it.
    ///
    /// # Errors
    ///
    /// Returns [`Unsupported`](ErrorKind::Unsupported) for another version than 1, and the errors of [`Asset::from_source`].
    pub fn from_source(source: Source) -> Result<Self> {
        Self::from_source_with(source, &Options::default())
    }

    /// Like [`from_source`](Self::from_source), with options of the asset.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`from_source`](Self::from_source) and [`Asset::from_source_with`].
    pub fn from_source_with(source: Source, options: &Options) -> Result<Self> {
        let source = source.for_format(Format::SlMesh);
        let preamble = source.get(0..Self::PREAMBLE, "preamble")?;
        let word = |index: usize| {
            let bytes = preamble.get(index..).and_then(|rest| rest.first_chunk()).copied();
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        if word(0) != 1 {
            let error = FILE.at(0..4).error(ErrorKind::Unsupported, "version of the cache entry");
            return Err(error.expected("1").found(word(0)));
        }
        let asset = Asset::at(&source, Self::PREAMBLE..u64::MAX, options)?;
        Ok(Self { asset, flags: word(8) })
    }

    /// The asset. Blocks that have not been downloaded are [`Truncated`](ErrorKind::Truncated).
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
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
        BITS.iter().any(|(name, bit)| *name == block && self.flags >> bit & 1 == 1)
    }

    /// The flags as stored.
    #[must_use]
    pub fn raw_flags(&self) -> u32 {
        self.flags
    }
}
