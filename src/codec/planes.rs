//! Arrays of 32-bit words stored as byte planes: first the most significant byte of every word, last the least significant.
//! If words come in groups, each plane has the first words of all groups, then the second words, and so on.

/// Words in groups of `N`, in planes.
#[derive(Clone, Copy)]
pub(crate) struct Planes<'a, const N: usize> {
    /// For each word of a group, its planes, the most significant first.
    words: [[&'a [u8]; 4]; N],
}

/// Words that are joined at a time: few enough for the first level of cache, enough for vector registers.
pub(crate) const LANES: usize = 64;

impl<'a, const N: usize> Planes<'a, N> {
    /// Bytes after the last whole group are left out.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let groups = bytes.len().checked_div(N.saturating_mul(4)).unwrap_or(0);
        let mut planes = bytes.chunks_exact(groups.max(1));
        let mut words = [[&[][..]; 4]; N];
        for significance in 0..4 {
            for word in &mut words {
                if let Some(free) = word.get_mut(significance)
                    && let Some(plane) = planes.next()
                {
                    *free = plane;
                }
            }
        }
        Self { words }
    }

    /// The groups from `first` on.
    #[cfg(any(feature = "rayon", test))]
    pub(crate) fn from(self, first: usize) -> Self {
        Self {
            words: self
                .words
                .map(|word| word.map(|plane| plane.get(first..).unwrap_or_default())),
        }
    }

    /// Calls `each` with every group and its element of `out`, in order.
    #[inline]
    pub(crate) fn for_each_into<T>(&self, out: &mut [T], mut each: impl FnMut([u32; N], &mut T)) {
        self.for_each_block(out, |lanes, elements| {
            for (lane, element) in elements.iter_mut().enumerate() {
                let group = lanes
                    .each_ref()
                    .map(|lanes| lanes.get(lane).copied().unwrap_or_default());
                each(group, element);
            }
        });
    }

    /// Calls `each` with the words of [`LANES`] groups at a time, one array for each word of a group, and with the elements
    /// of `out` for these groups, which may be fewer the last time.
    #[inline]
    pub(crate) fn for_each_block<T>(
        &self,
        out: &mut [T],
        mut each: impl FnMut(&[[u32; LANES]; N], &mut [T]),
    ) {
        let mut rest = *self;
        let mut lanes = [[0; LANES]; N];
        for elements in out.chunks_mut(LANES) {
            for (lanes, planes) in lanes.iter_mut().zip(&mut rest.words) {
                join(planes, lanes);
            }
            each(&lanes, elements);
        }
    }
}

/// Takes the next words out of their planes, and joins the four bytes of each. After the end of the planes, words are 0.
#[inline]
fn join(planes: &mut [&[u8]; 4], lanes: &mut [u32; LANES]) {
    let [a, b, c, d] = planes.each_mut().map(take);
    // In two steps, each of which interleaves vectors of equal width.
    let high = pairs(&a, &b);
    let low = pairs(&c, &d);
    for ((lane, high), low) in lanes.iter_mut().zip(high).zip(low) {
        *lane = u32::from(high) << 16 | u32::from(low);
    }
}

/// Takes the next bytes out of a plane, zeros after its end.
#[inline]
fn take(plane: &mut &[u8]) -> [u8; LANES] {
    if let Some((now, later)) = plane.split_first_chunk() {
        *plane = later;
        return *now;
    }
    let mut last = [0; LANES];
    for (byte, left) in last.iter_mut().zip(std::mem::take(plane)) {
        *byte = *left;
    }
    last
}

/// Joins the more and the less significant bytes of 16-bit numbers.
#[inline]
fn pairs(high: &[u8; LANES], low: &[u8; LANES]) -> [u16; LANES] {
    let mut pairs = [0; LANES];
    for ((pair, high), low) in pairs.iter_mut().zip(high).zip(low) {
        *pair = u16::from(*high) << 8 | u16::from(*low);
    }
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The planes of groups, one byte at a time.
    fn split<const N: usize>(groups: &[[u32; N]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for significance in 0..4 {
            for word in 0..N {
                bytes.extend(
                    groups
                        .iter()
                        .map(|group| group[word].to_be_bytes()[significance]),
                );
            }
        }
        bytes
    }

    fn round_trip<const N: usize>(count: usize) {
        let groups: Vec<[u32; N]> = (0..count)
            .map(|group| {
                std::array::from_fn(|word| {
                    ((group * N + word) as u32 + 1).wrapping_mul(0x9e37_79b9)
                })
            })
            .collect();
        let bytes = split(&groups);
        for first in [0, 1, count / 2, count] {
            let mut out = vec![[0; N]; count.saturating_sub(first)];
            Planes::<N>::new(&bytes)
                .from(first)
                .for_each_into(&mut out, |group, place| *place = group);
            assert_eq!(
                out,
                groups.get(first..).unwrap_or_default(),
                "{count} groups of {N} from {first}"
            );
        }
    }

    #[test]
    fn words_of_any_number_are_put_together() {
        let counts = [0, 1, 65, 2, 63, 64, 127, 128, 200];
        for count in counts
            .into_iter()
            .take(if cfg!(miri) { 3 } else { counts.len() })
        {
            round_trip::<1>(count);
            round_trip::<2>(count);
            round_trip::<3>(count);
            round_trip::<4>(count);
        }
    }
}
