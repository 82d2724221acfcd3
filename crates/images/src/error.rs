//! The reasons why an image cannot be decoded.

use std::io;

/// The reason why an image cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Read(String),
    /// The file is not the one that was found: its size or time has changed.
    #[error("was changed while it was in use")]
    Changed,
    /// Decoding needs more memory than the caller allows.
    #[error("needs {needed} bytes of memory to be decoded, expected at most {most}")]
    TooLarge {
        /// The number of bytes that are needed, as [`Library::needed_bytes`](crate::Library::needed_bytes) returns it.
        needed: u64,
        /// The number of bytes that the caller allows.
        most: u64,
    },
    /// A valid image of a kind that is not decoded, such as an animation.
    #[error("is not supported: {0}")]
    Unsupported(String),
    /// The file is not a valid image.
    #[error("is damaged: {0}")]
    Damaged(String),
}

impl DecodeError {
    /// Returns `true` if the error is one of the image itself, which another try would return again.
    pub(crate) fn is_of_image(&self) -> bool {
        matches!(self, Self::Unsupported(_) | Self::Damaged(_))
    }

    pub(crate) fn damaged(what: &str) -> Self {
        Self::Damaged(what.to_owned())
    }
}

impl From<io::Error> for DecodeError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::damaged("the file ends too early"),
            // Decoders return errors of this kind for values that are not valid.
            io::ErrorKind::InvalidData => Self::Damaged(error.to_string()),
            _ => Self::Read(error.to_string()),
        }
    }
}

impl From<image::ImageError> for DecodeError {
    fn from(error: image::ImageError) -> Self {
        match error {
            image::ImageError::IoError(error) => error.into(),
            image::ImageError::Unsupported(_) | image::ImageError::Limits(_) => {
                Self::Unsupported(error.to_string())
            }
            _ => Self::Damaged(error.to_string()),
        }
    }
}

impl From<dds::DecodingError> for DecodeError {
    fn from(error: dds::DecodingError) -> Self {
        match error {
            dds::DecodingError::Io(error) => error.into(),
            dds::DecodingError::Header(dds::HeaderError::Io(error)) => error.into(),
            dds::DecodingError::Format(_) | dds::DecodingError::MemoryLimitExceeded => {
                Self::Unsupported(error.to_string())
            }
            _ => Self::Damaged(error.to_string()),
        }
    }
}
