//! Files of any number of tiny items of one kind, or of two kinds that a reader could multiply with each other.

mod cgeo;
mod iqm;
mod kind;
mod openctm;
mod slmesh;
mod tmf;

pub use cgeo::{channels as cgeo_channels, small_before_large};
pub use kind::Kind;
/// An OpenCTM body of `count` positions, all of them zero.
pub use openctm::bomb as openctm_bomb;
/// An asset with many keys, each of which names the same block of zeros.
pub use slmesh::one_block_of_zeros;

/// Every kind of every format.
pub fn all() -> Vec<Kind> {
    [
        cgeo::KINDS,
        iqm::KINDS,
        openctm::KINDS,
        slmesh::KINDS,
        tmf::KINDS,
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use meshmap::{MeshFile, Options, Source};

    use super::*;

    /// A file that does not open would be measured for nothing.
    #[test]
    fn files_of_every_kind_open() {
        let wrong: Vec<String> = all()
            .iter()
            .flat_map(|kind| [1, 9, 70].map(|n| (kind, n)))
            .filter_map(|(kind, n)| {
                let file =
                    MeshFile::from_source(Source::from_bytes((kind.build)(n)), &Options::default());
                file.err()
                    .map(|error| format!("{}/{} of {n}: {error}", kind.format, kind.name))
            })
            .collect();
        // An upload cache is not an asset.
        let wrong: Vec<_> = wrong
            .iter()
            .filter(|text| !text.contains("upload cache"))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
