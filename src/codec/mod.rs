//! The codecs: bytes in, bytes out. They know no format.

pub(crate) mod bits;
pub(crate) mod dequant;
pub(crate) mod inflate;
pub(crate) mod lzma;
pub(crate) mod planes;
