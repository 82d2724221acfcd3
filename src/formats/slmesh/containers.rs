//! Other files that hold assets: the viewer's upload cache, and entries of its disk cache.

use std::ops::Range;

use super::asset::{Asset, ReadOptions};
use super::fields::Value;
use super::layout::{MOST, text};
use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::bytes::{Source, Text};
use crate::num::{as_u64, decimal};
use crate::options::Options;
use crate::report::{ErrorKind, Result};

/// A viewer's upload cache (`.slm`): what it saves while a model is uploaded, with whole assets inside.
///
/// Assets are found, not copied: each is read from its part of the source. Finding them reads all of the file.
#[derive(Clone, Debug)]
pub struct UploadCache {
    source: Source,
    options: Options,
    version: Option<i64>,
    name: Text,
    meshes: Vec<Range<u64>>,
}

impl UploadCache {
    /// Finds the assets in an upload cache.
    ///
    /// # Errors
    ///
    /// [`Malformed`](ErrorKind::Malformed) where it is no map of binary LLSD with an array "mesh" of strings,
    /// [`Unsupported`](ErrorKind::Unsupported) for strings with escapes, [`LimitExceeded`](ErrorKind::LimitExceeded)
    /// for more than 4,096 assets or a file larger than a block may be, and the errors of reading.
    pub fn from_source(source: Source, options: &Options) -> Result<Self> {
        let source = source.for_format(crate::format::Format::SlMesh);
        let Some(len) = source.len()? else {
            let error = FILE.error(ErrorKind::Unsupported, "upload cache");
            return Err(error.expected("a source that knows its length").found("one that does not"));
        };
        if len > options.limits.max_block_bytes {
            let most = decimal(options.limits.max_block_bytes);
            let error = FILE.error(ErrorKind::LimitExceeded, "upload cache").at(0..len);
            return Err(error
                .expected(format!("at most {most} bytes (max_block_bytes)"))
                .found(decimal(len)));
        }
        let bytes = source.get(0..len, "upload cache")?;
        let read = || {
            let mut reader = Reader::with_limits(&bytes, &options.limits);
            let start = reader.position();
            reader.skip_value()?;
            let value = Value::new(&bytes, &(start..reader.position()), "upload cache");
            let fields = value.fields(&["version", "name", "mesh"])?;
            let version = fields.get(0).and_then(|value| value.integer().ok());
            let name = match fields.get(1).map(|value| value.event()).transpose()? {
                Some(Event::String(name)) => text(&bytes, &name),
                _ => Text::default(),
            };
            let Some(mesh) = fields.get(2) else {
                return Err(value.error().expected("an array \"mesh\"").found("none"));
            };
            Ok((version, name, find_assets(mesh)?))
        };
        let (version, name, meshes) = read().map_err(|error| FILE.locate(error))?;
        Ok(Self { source, options: *options, version, name, meshes })
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

    /// Where the assets are, from the beginning of the source.
    #[must_use]
    pub fn meshes(&self) -> &[Range<u64>] {
        &self.meshes
    }

    /// The asset at an index; `Ok(None)` where there is none.
    ///
    /// # Errors
    ///
    /// Those of [`Asset::from_source`].
    pub fn mesh(&self, index: usize) -> Result<Option<Asset>> {
        let region = self.meshes.get(index).cloned();
        region
            .map(|region| Asset::in_region(&self.source, region, &self.options, &ReadOptions::default()))
            .transpose()
    }
}

fn find_assets(value: Value<'_>) -> Result<Vec<Range<u64>>> {
    let mut elements = value.elements("an array of strings")?;
    if elements.left() > MOST {
        let error = value.error().kind_is(ErrorKind::LimitExceeded);
        return Err(error
            .expected(format!("at most {} assets", decimal(MOST.into())))
            .found(elements.left()));
    }
    let mut assets = Vec::new();
    while let Some(element) = elements.next()? {
        let length = match element.event()? {
            Event::String(asset) if asset.has_escapes() => {
                let error = element.error().kind_is(ErrorKind::Unsupported);
                return Err(error.expected("an asset as it is").found("one with escapes"));
            }
            Event::String(asset) => asset.raw().len(),
            Event::Binary(asset) => asset.len(),
            other => return Err(element.wrong("an asset in a string", other)),
        };
        let span = element.span();
        // A quoted string ends in its quote.
        let is_quoted = element.is_quoted();
        let end = span.end.saturating_sub(usize::from(is_quoted));
        assets.push(as_u64(end.saturating_sub(length))..as_u64(end));
    }
    Ok(assets)
}

/// An entry of the viewer's disk cache: an asset behind twelve bytes, of which blocks may not have been downloaded yet.
#[derive(Clone, Debug)]
pub struct CacheEntry {
    asset: Asset,
    flags: u32,
}

impl CacheEntry {
    /// The bytes before the asset: version, size of the header, flags.
    const PREAMBLE: u64 = 12;

    /// Whether a file is such an entry, by its first bytes.
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

    /// Reads the preamble, and the header of the asset behind it.
    ///
    /// # Errors
    ///
    /// [`Unsupported`](ErrorKind::Unsupported) for another version than 1, and those of [`Asset::from_source`].
    pub fn from_source(source: &Source, options: &Options) -> Result<Self> {
        let source = source.for_format(crate::format::Format::SlMesh);
        let preamble = source.get(0..Self::PREAMBLE, "preamble")?;
        let word = |index: usize| {
            let bytes = preamble.get(index..).and_then(|rest| rest.first_chunk()).copied();
            u32::from_le_bytes(bytes.unwrap_or_default())
        };
        if word(0) != 1 {
            let error = FILE.error(ErrorKind::Unsupported, "version of the cache entry").at(0..4);
            return Err(error.expected(1.to_string()).found(word(0)));
        }
        let region = Self::PREAMBLE..u64::MAX;
        let asset = Asset::in_region(&source, region, options, &ReadOptions::default())?;
        Ok(Self { asset, flags: word(8) })
    }

    /// The asset. Blocks that have not been downloaded are [`Truncated`](ErrorKind::Truncated).
    #[must_use]
    pub fn asset(&self) -> &Asset {
        &self.asset
    }

    /// Whether the viewer noted that it has a block, by its name in the header. `false` for blocks that it does not
    /// keep account of.
    #[must_use]
    pub fn has(&self, block: &str) -> bool {
        const BLOCKS: [&str; 8] =
            ["lowest_lod", "low_lod", "medium_lod", "high_lod", "", "skin", "physics_convex", "physics_mesh"];
        let bit = BLOCKS.iter().position(|name| !name.is_empty() && *name == block);
        bit.is_some_and(|bit| self.flags >> bit & 1 == 1)
    }

    /// The flags as stored.
    #[must_use]
    pub fn raw_flags(&self) -> u32 {
        self.flags
    }
}
