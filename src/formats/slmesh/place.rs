//! The origin of an inflated block.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::fields::Value;
use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::bytes::Source;
use crate::codec::Codec;
use crate::decode::Block;
use crate::limits::{Limits, Meter};
use crate::num::as_u64;
use crate::report::{Address, Error, ErrorKind, Place, Result};

/// An inflated block, and its origin.
pub(crate) struct InflatedBlock {
    pub(crate) place: BlockPlace,
    pub(crate) content: Bytes,
}

/// An inflated block; `Ok(None)` if the asset does not have the block.
pub(crate) type Content = Result<Option<InflatedBlock>>;

/// The origin of an inflated block.
#[derive(Debug)]
pub(crate) struct BlockPlace {
    pub(crate) range: Range<u64>,
    pub(crate) address: Address,
    pub(crate) codec: Codec,
    pub(crate) limits: Limits,
    /// The path of the file, if it is known.
    pub(crate) path: Option<Arc<Path>>,
}

impl BlockPlace {
    pub(crate) fn new(block: Block, source: &Source, limits: &Limits) -> Self {
        Self {
            range: block.range,
            address: block.address,
            codec: block.codec,
            limits: *limits,
            path: source.path().cloned(),
        }
    }

    /// The meter of a call on the content of this block.
    pub(crate) fn meter(&self) -> Meter<'static> {
        Meter::of_part(&self.limits, &self.range)
    }

    /// The block as a whole.
    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address.clone()).at(self.range.clone())
    }

    pub(crate) fn face(&self, index: usize) -> Address {
        self.address.clone().then("faces").index(as_u64(index))
    }

    /// An error about the block, whose range counts from the beginning of the content.
    pub(crate) fn locate(&self, error: Error) -> Error {
        self.locate_at(error, self.address.clone())
    }

    /// An error about a face, whose range counts from the beginning of the content.
    pub(crate) fn locate_face(&self, error: Error, index: usize) -> Error {
        self.locate_at(error, self.face(index))
    }

    /// An error about a part of the block, whose range counts from the beginning of the content.
    pub(crate) fn locate_at(&self, error: Error, address: Address) -> Error {
        let error = match error.byte_range() {
            Some(decoded) => error.decoded_at(decoded),
            None => error,
        };
        // The content is complete: more bytes of the file would not help.
        let error = if error.kind() == ErrorKind::Truncated {
            error.kind_is(ErrorKind::Malformed)
        } else {
            error
        };
        let error = FILE.locate(error.at(self.range.clone()).of(address));
        error.in_file(self.path.as_ref())
    }

    /// Returns all of the content as one value; `Ok(None)` if the value is undefined.
    pub(crate) fn value<'a>(
        &self,
        content: &'a [u8],
        what: &'static str,
    ) -> Result<Option<Value<'a>>> {
        let mut reader = Reader::new(content, &self.limits);
        let start = reader.position();
        reader.skip_value()?;
        let value = Value::new(content, &(start..reader.position()), what);
        Ok((value.event()? != Event::Undefined).then_some(value))
    }
}
