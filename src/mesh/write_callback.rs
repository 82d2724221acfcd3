//! The callbacks that converted vertices and indices are passed to, and slices of the caller that are filled instead.

use std::io;

use crate::num::decimal;
use crate::report::{Error, ErrorKind, Result};

/// The return type of a write callback: nothing, or an [`io::Result`] whose error ends the call.
///
/// The error becomes the error of the call, as the [`source`](std::error::Error::source) of an [`ErrorKind::Io`].
pub trait WriteResult: sealed::Sealed {
    #[doc(hidden)]
    fn into_result(self) -> io::Result<()>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl Sealed for std::io::Result<()> {}
}

impl WriteResult for () {
    fn into_result(self) -> io::Result<()> {
        Ok(())
    }
}

impl WriteResult for io::Result<()> {
    fn into_result(self) -> io::Result<()> {
        self
    }
}

/// Converts the result of a callback to the result of the call.
pub(super) fn written(result: impl WriteResult) -> Result<()> {
    result
        .into_result()
        .map_err(|error| Error::io(error, "callback"))
}

/// The first `needed` bytes of `out`.
pub(super) fn sized(out: &mut [u8], needed: usize) -> Result<&mut [u8]> {
    if out.len() < needed {
        let error = Error::new(ErrorKind::OutOfRange, "length of the output");
        let expected = format!("at least {} bytes", decimal(needed));
        return Err(error.expected(expected).found(out.len()));
    }
    Ok(out.get_mut(..needed).unwrap_or_default())
}

/// A callback that writes into `out`, which must hold `needed` bytes.
pub(super) fn into_slice(out: &mut [u8], needed: usize) -> Result<impl FnMut(usize, &[u8])> {
    let out = sized(out, needed)?;
    Ok(move |offset: usize, bytes: &[u8]| {
        if let Some(target) = out.get_mut(offset..offset.saturating_add(bytes.len())) {
            target.copy_from_slice(bytes);
        }
    })
}
