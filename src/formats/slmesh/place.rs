//! Where a decoded block comes from.

use std::ops::Range;

use bytes::Bytes;

use super::fields::Value;
use super::llsd::{Event, Reader};
use super::rules::FILE;
use crate::limits::Limits;
use crate::mesh::Role;
use crate::num::as_u64;
use crate::report::{Address, Error, ErrorKind, Place, Result};

/// Where a decoded block comes from.
#[derive(Debug)]
pub(crate) struct BlockPlace {
    pub(crate) range: Range<u64>,
    pub(crate) address: Address,
    pub(crate) limits: Limits,
}

impl BlockPlace {
    /// An error whose range is counted from the beginning of the content.
    pub(crate) fn decoded(&self, error: Error) -> Error {
        let error = match error.byte_range() {
            Some(decoded) => error.decoded_at(decoded),
            None => error,
        };
        // All of the content is there: more bytes of the file would not help.
        let error =
            if error.kind() == ErrorKind::Truncated { error.kind_is(ErrorKind::Malformed) } else { error };
        error.at(self.range.clone())
    }

    /// What the faces of the block are for.
    pub(crate) fn role(&self) -> Role {
        let levels: [&'static str; 4] = ["high_lod", "medium_lod", "low_lod", "lowest_lod"];
        let is_own = |level: &&'static str| self.address == Address::field(level);
        let level = (0..).zip(&levels).find(|(_, level)| is_own(level));
        level.map_or(Role::Physics, |(level, _)| Role::Lod(level))
    }

    /// The block as a whole.
    pub(crate) fn place(&self) -> Place {
        FILE.of(self.address.clone()).at(self.range.clone())
    }

    pub(crate) fn face(&self, index: usize) -> Address {
        self.address.clone().then("faces").index(as_u64(index))
    }
}

/// All of a block's content; `Ok(None)` where that is undefined.
pub(crate) fn whole<'a>(
    content: &'a Bytes,
    place: &BlockPlace,
    what: &'static str,
) -> Result<Option<Value<'a>>> {
    let mut reader = Reader::with_limits(content, &place.limits);
    let start = reader.position();
    reader.skip_value()?;
    let value = Value::new(content, &(start..reader.position()), what);
    Ok((value.event()? != Event::Undefined).then_some(value))
}
