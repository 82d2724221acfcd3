//! Files of any number of tiny items of one kind, or of two kinds that a reader could multiply with each other.

mod cgeo;
mod iqm;
mod openctm;
mod slmesh;
mod tmf;

pub use cgeo::{channels as cgeo_channels, small_before_large};
/// An OpenCTM body of so many positions, all of them zero.
pub use openctm::bomb as openctm_bomb;
/// An asset with so many keys, each of which names the same block, of so many zeros.
pub use slmesh::one_block_of_zeros;

/// A kind of tiny items.
#[derive(Clone, Copy)]
pub struct Kind {
    /// The format's name.
    pub format: &'static str,
    /// What there are many of.
    pub name: &'static str,
    /// The file with so many of them.
    pub build: fn(usize) -> Vec<u8>,
    /// The most that the format or the library allows.
    pub most: usize,
    /// Whether items share bytes, so that what is read of all of them is more than the file.
    pub shared: bool,
    /// The bytes of headers and tables in a file of so many, where most of the file is something else.
    pub headers: Option<fn(usize) -> usize>,
    /// The limit of all that is decoded, in bytes, where it is not the default.
    pub max_total_bytes: Option<u64>,
}

impl Kind {
    const fn new(format: &'static str, name: &'static str, build: fn(usize) -> Vec<u8>) -> Self {
        Self { format, name, build, most: usize::MAX, shared: false, headers: None, max_total_bytes: None }
    }

    const fn at_most(self, most: usize) -> Self {
        Self { most, ..self }
    }

    const fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    const fn with_headers(self, headers: fn(usize) -> usize) -> Self {
        Self { headers: Some(headers), ..self }
    }

    const fn with_max_total_bytes(self, max_total_bytes: u64) -> Self {
        Self { max_total_bytes: Some(max_total_bytes), ..self }
    }
}

/// Every kind of every format.
pub fn all() -> Vec<Kind> {
    [cgeo::KINDS, iqm::KINDS, openctm::KINDS, slmesh::KINDS, tmf::KINDS].concat()
}

fn words<const N: usize>(out: &mut Vec<u8>, words: [u32; N]) {
    words.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

#[cfg(test)]
mod tests {
    use meshmap::{MeshFile, Source};

    use super::*;

    /// What does not open would be measured for nothing.
    #[test]
    fn files_of_every_kind_open() {
        let wrong: Vec<String> = all()
            .iter()
            .flat_map(|kind| [1, 9, 70].map(|n| (kind, n)))
            .filter_map(|(kind, n)| {
                let file = MeshFile::from_source(Source::from_bytes((kind.build)(n)));
                file.err().map(|error| format!("{}/{} of {n}: {error}", kind.format, kind.name))
            })
            .collect();
        // An upload cache is not an asset.
        let wrong: Vec<_> = wrong.iter().filter(|text| !text.contains("upload cache")).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
