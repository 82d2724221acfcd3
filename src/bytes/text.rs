use std::borrow::Cow;
use std::fmt;

use bytes::Bytes;

/// A name or comment as stored: bytes that usually are UTF-8.
///
/// Shares the bytes of the source. Writers do not keep to an encoding, so no encoding is an error:
/// [`to_str`](Self::to_str) is `None` if the bytes are not UTF-8, and displaying replaces them by U+FFFD.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Bytes);

impl Text {
    pub(crate) fn new(bytes: Bytes) -> Self {
        Self(bytes)
    }

    /// The bytes as stored, without a terminator.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, if it is UTF-8.
    #[must_use]
    pub fn to_str(&self) -> Option<&str> {
        str::from_utf8(&self.0).ok()
    }

    /// The text, with U+FFFD in place of what is not UTF-8.
    #[must_use]
    pub fn to_string_lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }

    /// Returns `true` if there are no bytes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.to_string_lossy())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.to_string_lossy())
    }
}

impl<T: AsRef<[u8]> + ?Sized> PartialEq<T> for Text {
    fn eq(&self, other: &T) -> bool {
        self.as_bytes() == other.as_ref()
    }
}
