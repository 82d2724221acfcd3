//! Triangles that are stored again: recognized by a hash, however many snapshots have them.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::triangles::Counts;
use crate::num::as_u64;

/// A hash of the triangles of a mesh, and of its counts. Meshes with other triangles have another one.
///
/// It is a polynomial over the words of the triangles, modulo a prime, at two places that each process chooses at random: whoever made
/// a file does not know them. The probability that two different meshes have one hash is below their words by 2^61, squared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TriangleHash([u64; 2]);

/// A hash in the making.
pub(crate) struct TriangleHasher {
    places: [Place; 2],
    length: u64,
}

/// The polynomial at one place, as far as words have come.
#[derive(Clone, Copy)]
struct Place {
    /// The place, and its second, third and fourth power.
    powers: [u64; 4],
    sum: u64,
}

/// The prime 2^61 - 1, modulo which a number is reduced by a shift and an addition.
const PRIME: u64 = (1 << 61) - 1;

impl TriangleHash {
    /// The hash of these records.
    pub(crate) fn of(counts: &Counts, records: &[u8]) -> Self {
        let mut hash = TriangleHasher::new(counts);
        hash.add(records);
        hash.finish()
    }
}

impl TriangleHasher {
    /// Begins the hash of the triangles of a mesh with these counts.
    pub(crate) fn new(counts: &Counts) -> Self {
        let Counts {
            vertices,
            normals,
            texcoord_sets,
            triangles,
        } = *counts;
        let mut hash = Self {
            places: *random_places(),
            length: 0,
        };
        hash.add_words([vertices, normals, texcoord_sets, triangles]);
        hash
    }

    /// Adds records. All parts but the last one have a length that 16 divides.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.length = self.length.saturating_add(as_u64(bytes.len()));
        let (blocks, rest) = bytes.as_chunks::<16>();
        for block in blocks {
            self.add_block(block);
        }
        if !rest.is_empty() {
            let mut block = [0; 16];
            for (byte, of_rest) in block.iter_mut().zip(rest) {
                *byte = *of_rest;
            }
            self.add_block(&block);
        }
    }

    fn add_block(&mut self, block: &[u8; 16]) {
        let (words, _) = block.as_chunks::<4>();
        let words: Option<&[[u8; 4]; 4]> = words.first_chunk();
        self.add_words(words.copied().unwrap_or_default().map(u32::from_le_bytes));
    }

    fn add_words(&mut self, words: [u32; 4]) {
        for place in &mut self.places {
            place.add(words);
        }
    }

    pub(crate) fn finish(mut self) -> TriangleHash {
        let [a, b, c, d, e, f, g, h] = self.length.to_le_bytes();
        self.add_words([
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
            0,
            0,
        ]);
        TriangleHash(self.places.map(|place| place.sum))
    }
}

impl Place {
    fn new(place: u64) -> Self {
        let second = times(place, place);
        let third = times(second, place);
        Self {
            powers: [place, second, third, times(third, place)],
            sum: 0,
        }
    }

    /// Adds four words: `(((sum * x + a) * x + b) * x + c) * x + d`, where x is the place.
    fn add(&mut self, [a, b, c, d]: [u32; 4]) {
        let [first, second, third, fourth] = self.powers.map(u128::from);
        let [a, b, c, d] = [a, b, c, d].map(u128::from);
        // The products have at most 122 and 93 bits.
        let sum = u128::from(self.sum)
            .wrapping_mul(fourth)
            .wrapping_add(a.wrapping_mul(third))
            .wrapping_add(b.wrapping_mul(second))
            .wrapping_add(c.wrapping_mul(first))
            .wrapping_add(d);
        self.sum = reduced(sum);
    }
}

/// A number of at most 122 bits and some modulo the prime.
fn reduced(number: u128) -> u64 {
    let folded = (number & u128::from(PRIME)).wrapping_add(number >> 61);
    #[expect(clippy::cast_possible_truncation, reason = "at most 63 bits are left")]
    let folded = folded as u64;
    let folded = (folded & PRIME).wrapping_add(folded >> 61);
    if folded >= PRIME {
        folded.wrapping_sub(PRIME)
    } else {
        folded
    }
}

fn times(a: u64, b: u64) -> u64 {
    reduced(u128::from(a).wrapping_mul(u128::from(b)))
}

/// The two places of this process.
fn random_places() -> &'static [Place; 2] {
    static PLACES: OnceLock<[Place; 2]> = OnceLock::new();
    PLACES.get_or_init(|| {
        let random = RandomState::new();
        [1_u8, 2].map(|number| {
            let mut hasher = random.build_hasher();
            hasher.write_u8(number);
            Place::new(hasher.finish() & PRIME)
        })
    })
}

/// The hashes of complete meshes that have been seen, by the offsets of these.
#[derive(Debug, Default)]
pub(super) struct KnownHashes(Mutex<HashMap<u64, TriangleHash>>);

impl KnownHashes {
    /// The most meshes that are remembered.
    const MOST: usize = 1 << 16;

    pub(super) fn get(&self, offset: u64) -> Option<TriangleHash> {
        self.lock().get(&offset).copied()
    }

    /// Remembers the triangles of a mesh. At first, there is capacity for the `snapshots` snapshots of the file.
    pub(super) fn insert(&self, offset: u64, hash: TriangleHash, snapshots: usize) {
        let mut known = self.lock();
        if known.capacity() == 0 {
            known.reserve(snapshots.min(Self::MOST));
        }
        if known.len() >= Self::MOST {
            known.clear();
        }
        known.insert(offset, hash);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, TriangleHash>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: Counts = Counts {
        vertices: 4,
        normals: 3,
        texcoord_sets: 2,
        triangles: 1,
    };

    fn hash(counts: &Counts, parts: &[&[u8]]) -> TriangleHash {
        let mut hash = TriangleHasher::new(counts);
        parts.iter().for_each(|part| hash.add(part));
        hash.finish()
    }

    #[test]
    fn every_bit_the_length_and_the_counts_change_the_hash() {
        let bytes: Vec<u8> = (0..77)
            .map(|at: u32| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
            .collect();
        let whole = hash(&COUNTS, &[&bytes]);
        assert_eq!(
            hash(&COUNTS, &[&bytes[..32], &bytes[32..48], &bytes[48..]]),
            whole
        );
        for bit in 0..bytes.len() * 8 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(hash(&COUNTS, &[&other]), whole, "bit {bit}");
        }
        for length in 0..bytes.len() {
            assert_ne!(hash(&COUNTS, &[&bytes[..length]]), whole);
        }
        let zeros = [0; 40];
        let hashes: Vec<TriangleHash> = (0..40)
            .map(|length| hash(&COUNTS, &[&zeros[..length]]))
            .collect();
        assert!(
            hashes
                .iter()
                .enumerate()
                .all(|(at, hash)| !hashes[..at].contains(hash))
        );
        for other in [
            Counts {
                vertices: 5,
                ..COUNTS
            },
            Counts {
                normals: 4,
                ..COUNTS
            },
            Counts {
                texcoord_sets: 3,
                ..COUNTS
            },
            Counts {
                triangles: 2,
                ..COUNTS
            },
        ] {
            assert_ne!(hash(&other, &[&bytes]), whole);
        }
    }

    #[test]
    fn the_polynomial_is_reduced_as_one_of_whole_numbers() {
        let mut place = Place::new(PRIME - 1);
        let mut expected = 0_u128;
        for number in 0..1000_u32 {
            let words = [u32::MAX - number, number, u32::MAX, 1];
            place.add(words);
            for word in words {
                expected =
                    (expected * u128::from(PRIME - 1) + u128::from(word)) % u128::from(PRIME);
            }
            assert_eq!(u128::from(place.sum), expected);
        }
    }

    #[test]
    fn a_bounded_number_of_meshes_is_remembered() {
        let known = KnownHashes::default();
        let hash = hash(&COUNTS, &[]);
        for offset in 0..=as_u64(KnownHashes::MOST) {
            known.insert(offset, hash, 10);
        }
        assert_eq!(
            (known.get(0), known.get(as_u64(KnownHashes::MOST))),
            (None, Some(hash))
        );
    }
}
