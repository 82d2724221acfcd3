//! Elements, which are packed, to their places in vertices.

use super::write_only::WriteOnly;

/// The places to write elements to: the first one at the beginning of `out`, and each other one `stride` bytes further.
pub(super) struct Places<'a> {
    pub(super) out: &'a mut [WriteOnly],
    pub(super) stride: usize,
    /// `true` if the 4 bytes after each element are written later: until then they may contain anything.
    pub(super) is_followed: bool,
}

impl<'a> Places<'a> {
    /// Places that leave the bytes between them unchanged.
    pub(super) fn packed(out: &'a mut [u8], stride: usize) -> Self {
        Self {
            out: WriteOnly::of(out),
            stride,
            is_followed: false,
        }
    }
}

/// Copies the first `kept` bytes of each element, and `fill` after them, to their places.
pub(super) fn place(elements: &[u8], size: usize, kept: usize, fill: &[u8], places: Places<'_>) {
    let Places {
        out,
        stride,
        is_followed,
    } = places;
    if size == kept && fill.is_empty() && stride == size && out.len() == elements.len() {
        return WriteOnly::put(out, elements);
    }
    match (size, kept, fill) {
        (3, 3, &[_]) => at_stride::<3, 3, 1>(elements, fill, out, stride),
        (4, 4, []) => at_stride::<4, 4, 0>(elements, fill, out, stride),
        (6, 6, &[_, _]) => at_stride::<6, 6, 2>(elements, fill, out, stride),
        (8, 8, []) => at_stride::<8, 8, 0>(elements, fill, out, stride),
        (12, 8, []) => at_stride::<12, 8, 0>(elements, fill, out, stride),
        (12, 12, []) => {
            let done = if is_followed {
                triples(elements, out, stride)
            } else {
                0
            };
            let elements = elements.get(done.saturating_mul(12)..).unwrap_or_default();
            let out = out
                .get_mut(done.saturating_mul(stride)..)
                .unwrap_or_default();
            at_stride::<12, 12, 0>(elements, fill, out, stride);
        }
        (12, 12, &[_, _, _, _]) => at_stride::<12, 12, 4>(elements, fill, out, stride),
        (16, 16, []) => at_stride::<16, 16, 0>(elements, fill, out, stride),
        _ => any(elements, size, kept, fill, out, stride),
    }
}

/// Runs with the stride as a constant, for strides of usual vertices: that takes 0.7 times as long.
macro_rules! with_stride {
    ($stride:expr, $constant:ident => $run:expr, _ => $otherwise:expr) => {
        with_stride!(@ $stride, $constant, $run, $otherwise, 16 20 24 28 32 36 40 44 48 52 56 60 64)
    };
    (@ $stride:expr, $constant:ident, $run:expr, $otherwise:expr, $($known:literal)*) => {
        match $stride {
            $($known => {
                const $constant: usize = $known;
                $run
            })*
            _ => $otherwise,
        }
    };
}

fn at_stride<const SIZE: usize, const KEPT: usize, const FILL: usize>(
    elements: &[u8],
    fill: &[u8],
    out: &mut [WriteOnly],
    stride: usize,
) {
    let Some(constant) = fill.first_chunk() else {
        return;
    };
    with_stride!(
        stride,
        STRIDE => fixed::<SIZE, KEPT, FILL, STRIDE>(elements, constant, out),
        _ => any(elements, SIZE, KEPT, fill, out, stride)
    )
}

/// Copies elements of 12 bytes, most of them as 16, which is one store instead of two; returns how many.
fn triples(elements: &[u8], out: &mut [WriteOnly], stride: usize) -> usize {
    with_stride!(stride, STRIDE => triples_at::<STRIDE>(elements, out), _ => 0)
}

fn triples_at<const STRIDE: usize>(elements: &[u8], out: &mut [WriteOnly]) -> usize {
    let (fours, _) = elements.as_chunks::<48>();
    let (places, _) = out.as_chunks_mut::<STRIDE>();
    let (places, _) = places.as_chunks_mut::<4>();
    let count = fours.len().min(places.len());
    for (four, [a, b, c, d]) in fours.iter().zip(places) {
        copy::<16>(four, 0, a);
        copy::<16>(four, 12, b);
        copy::<16>(four, 24, c);
        copy::<12>(four, 36, d);
    }
    count.saturating_mul(4)
}

#[inline(always)]
fn copy<const N: usize>(four: &[u8; 48], start: usize, place: &mut [WriteOnly]) {
    let element = four
        .get(start..)
        .and_then(|element| element.first_chunk::<N>());
    if let (Some(place), Some(element)) = (place.first_chunk_mut::<N>(), element) {
        WriteOnly::put(place, element);
    }
}

fn fixed<const SIZE: usize, const KEPT: usize, const FILL: usize, const STRIDE: usize>(
    elements: &[u8],
    fill: &[u8; FILL],
    out: &mut [WriteOnly],
) {
    let (elements, _) = elements.as_chunks::<SIZE>();
    let (places, rest) = out.as_chunks_mut::<STRIDE>();
    for (place, element) in places.iter_mut().zip(elements) {
        one::<KEPT, FILL>(element, fill, place);
    }
    // The last place has no whole stride where the attribute does not begin the vertex.
    if let Some(last) = elements.get(places.len()) {
        one::<KEPT, FILL>(last, fill, rest);
    }
}

#[inline(always)]
fn one<const KEPT: usize, const FILL: usize>(
    element: &[u8],
    fill: &[u8; FILL],
    place: &mut [WriteOnly],
) {
    let Some((place, rest)) = place.split_first_chunk_mut::<KEPT>() else {
        return;
    };
    if let (Some(element), Some(filled)) = (
        element.first_chunk::<KEPT>(),
        rest.first_chunk_mut::<FILL>(),
    ) {
        WriteOnly::put(place, element);
        WriteOnly::put(filled, fill);
    }
}

fn any(
    elements: &[u8],
    size: usize,
    kept: usize,
    fill: &[u8],
    out: &mut [WriteOnly],
    stride: usize,
) {
    let places = out.chunks_mut(stride.max(1));
    for (place, element) in places.zip(elements.chunks_exact(size.max(1))) {
        if let (Some((place, rest)), Some(element)) =
            (place.split_at_mut_checked(kept), element.get(..kept))
        {
            WriteOnly::put(place, element);
            if let Some(filled) = rest.get_mut(..fill.len()) {
                WriteOnly::put(filled, fill);
            }
        }
    }
}
