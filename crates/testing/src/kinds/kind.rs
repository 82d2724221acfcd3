//! A kind of tiny items.

/// A kind of tiny items.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The format's name.
    pub format: &'static str,
    /// The item of which there are many.
    pub name: &'static str,
    /// Makes the file with the given number of items.
    pub build: fn(usize) -> Vec<u8>,
    /// The most that the format or the library allows.
    pub most: usize,
    /// `true` if items share bytes, so that all items together are larger than the file.
    pub shared: bool,
    /// The bytes of headers and tables in a file of a given length, if most of the file is something else.
    pub headers: Option<fn(usize) -> usize>,
    /// The limit of all decoded bytes, if it is not the default.
    pub max_total_bytes: Option<u64>,
}

impl Kind {
    pub(super) const fn new(
        format: &'static str,
        name: &'static str,
        build: fn(usize) -> Vec<u8>,
    ) -> Self {
        Self {
            format,
            name,
            build,
            most: usize::MAX,
            shared: false,
            headers: None,
            max_total_bytes: None,
        }
    }

    pub(super) const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    pub(super) const fn shared(self) -> Self {
        Self {
            shared: true,
            ..self
        }
    }

    pub(super) const fn with_headers(self, headers: fn(usize) -> usize) -> Self {
        Self {
            headers: Some(headers),
            ..self
        }
    }

    pub(super) const fn with_max_total_bytes(self, max_total_bytes: u64) -> Self {
        Self {
            max_total_bytes: Some(max_total_bytes),
            ..self
        }
    }
}

pub(super) fn words<const N: usize>(out: &mut Vec<u8>, words: [u32; N]) {
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
}
