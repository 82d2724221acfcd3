//! Interleaving: copies the packed elements of one attribute to the vertices of a buffer, one stride apart.

pub(super) use write_only::WriteOnly;

/// Memory that is written and never read, such as mapped memory of a GPU.
mod write_only {
    use zerocopy::{FromBytes, IntoBytes, KnownLayout};

    /// A byte of this memory. Other modules can only overwrite it: its value is private, and cannot be copied.
    #[derive(FromBytes, IntoBytes, KnownLayout)]
    #[repr(transparent)]
    pub(in crate::mesh) struct WriteOnly(u8);

    impl WriteOnly {
        pub(in crate::mesh) fn of(out: &mut [u8]) -> &mut [Self] {
            <[Self]>::mut_from_bytes(out).unwrap_or_default()
        }

        /// Writes bytes to memory of the same length.
        #[inline(always)]
        pub(in crate::mesh) fn put(out: &mut [Self], bytes: &[u8]) {
            let out = out.as_mut_bytes();
            if out.len() == bytes.len() {
                out.copy_from_slice(bytes);
            }
        }

        pub(in crate::mesh) fn clear(out: &mut [Self]) {
            out.as_mut_bytes().fill(0);
        }
    }
}

/// The memory of one attribute in a vertex buffer: the first element is written to the beginning of `out`, each further
/// one `stride` bytes after the previous one.
pub(super) struct Strided<'a> {
    pub(super) out: &'a mut [WriteOnly],
    pub(super) stride: usize,
    /// `true` if the 4 bytes after each element are overwritten later, by the next attribute of the vertex. Until then
    /// they may contain anything.
    pub(super) may_overrun: bool,
}

impl<'a> Strided<'a> {
    /// Memory in which the bytes between elements stay as they are.
    pub(super) fn new(out: &'a mut [u8], stride: usize) -> Self {
        Self {
            out: WriteOnly::of(out),
            stride,
            may_overrun: false,
        }
    }
}

/// Copies elements of `size` bytes: the first `kept` bytes of each, followed by the bytes of `fill`.
///
/// The sizes of usual vertex formats are constants in a copy of the loop for each, so that an element is moved by a few
/// instructions instead of a call of `memcpy`.
pub(super) fn interleave(
    elements: &[u8],
    size: usize,
    kept: usize,
    fill: &[u8],
    strided: Strided<'_>,
) {
    let Strided {
        out,
        stride,
        may_overrun,
    } = strided;
    if size == kept && fill.is_empty() && stride == size && out.len() == elements.len() {
        return WriteOnly::put(out, elements);
    }
    match (size, kept, fill) {
        (3, 3, &[_]) => interleave_sized::<3, 3, 1>(elements, fill, out, stride),
        (4, 4, []) => interleave_sized::<4, 4, 0>(elements, fill, out, stride),
        (6, 6, &[_, _]) => interleave_sized::<6, 6, 2>(elements, fill, out, stride),
        (8, 8, []) => interleave_sized::<8, 8, 0>(elements, fill, out, stride),
        (12, 8, []) => interleave_sized::<12, 8, 0>(elements, fill, out, stride),
        (12, 12, []) => {
            let mut done = 0;
            if may_overrun {
                done = interleave_triples(elements, out, stride);
            }
            let elements = elements.get(done.saturating_mul(12)..).unwrap_or_default();
            let out = out
                .get_mut(done.saturating_mul(stride)..)
                .unwrap_or_default();
            interleave_sized::<12, 12, 0>(elements, fill, out, stride);
        }
        (12, 12, &[_, _, _, _]) => interleave_sized::<12, 12, 4>(elements, fill, out, stride),
        (16, 16, []) => interleave_sized::<16, 16, 0>(elements, fill, out, stride),
        _ => interleave_any(elements, size, kept, fill, out, stride),
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

fn interleave_sized<const SIZE: usize, const KEPT: usize, const FILL: usize>(
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
        STRIDE => interleave_constant::<SIZE, KEPT, FILL, STRIDE>(elements, constant, out),
        _ => interleave_any(elements, SIZE, KEPT, fill, out, stride)
    )
}

/// Copies elements of 12 bytes, such as positions, and returns how many.
///
/// Three of four are copied as 16 bytes, which is one store of a vector instead of two stores. The next
/// attribute overwrites the 4 bytes that are too many.
fn interleave_triples(elements: &[u8], out: &mut [WriteOnly], stride: usize) -> usize {
    with_stride!(
        stride,
        STRIDE => interleave_triples_constant::<STRIDE>(elements, out),
        _ => 0
    )
}

fn interleave_triples_constant<const STRIDE: usize>(
    elements: &[u8],
    out: &mut [WriteOnly],
) -> usize {
    let (fours, _) = elements.as_chunks::<48>();
    let (vertices, _) = out.as_chunks_mut::<STRIDE>();
    let (vertices, _) = vertices.as_chunks_mut::<4>();
    let count = fours.len().min(vertices.len());
    for (four, [a, b, c, d]) in fours.iter().zip(vertices) {
        copy_from::<16>(four, 0, a);
        copy_from::<16>(four, 12, b);
        copy_from::<16>(four, 24, c);
        // The four elements end here: there are no 4 bytes more to read.
        copy_from::<12>(four, 36, d);
    }
    count.saturating_mul(4)
}

/// Copies `N` bytes of four elements, from `start` on, to the beginning of a vertex.
#[inline(always)]
fn copy_from<const N: usize>(four: &[u8; 48], start: usize, vertex: &mut [WriteOnly]) {
    let Some(rest) = four.get(start..) else {
        return;
    };
    if let (Some(element), Some(out)) = (rest.first_chunk::<N>(), vertex.first_chunk_mut::<N>()) {
        WriteOnly::put(out, element);
    }
}

fn interleave_constant<
    const SIZE: usize,
    const KEPT: usize,
    const FILL: usize,
    const STRIDE: usize,
>(
    elements: &[u8],
    fill: &[u8; FILL],
    out: &mut [WriteOnly],
) {
    let (elements, _) = elements.as_chunks::<SIZE>();
    let (vertices, rest) = out.as_chunks_mut::<STRIDE>();
    for (vertex, element) in vertices.iter_mut().zip(elements) {
        copy_element::<KEPT, FILL>(element, fill, vertex);
    }
    // `out` begins at the attribute, not at a vertex: less than a stride is left for the last element.
    if let Some(last) = elements.get(vertices.len()) {
        copy_element::<KEPT, FILL>(last, fill, rest);
    }
}

#[inline(always)]
fn copy_element<const KEPT: usize, const FILL: usize>(
    element: &[u8],
    fill: &[u8; FILL],
    vertex: &mut [WriteOnly],
) {
    let Some((kept_out, rest)) = vertex.split_first_chunk_mut::<KEPT>() else {
        return;
    };
    let Some(fill_out) = rest.first_chunk_mut::<FILL>() else {
        return;
    };
    if let Some(kept) = element.first_chunk::<KEPT>() {
        WriteOnly::put(kept_out, kept);
        WriteOnly::put(fill_out, fill);
    }
}

/// The same copy for sizes and strides that are not constants.
fn interleave_any(
    elements: &[u8],
    size: usize,
    kept: usize,
    fill: &[u8],
    out: &mut [WriteOnly],
    stride: usize,
) {
    let vertices = out.chunks_mut(stride.max(1));
    for (vertex, element) in vertices.zip(elements.chunks_exact(size.max(1))) {
        let Some(element) = element.get(..kept) else {
            continue;
        };
        let Some((kept_out, rest)) = vertex.split_at_mut_checked(kept) else {
            continue;
        };
        WriteOnly::put(kept_out, element);
        if let Some(fill_out) = rest.get_mut(..fill.len()) {
            WriteOnly::put(fill_out, fill);
        }
    }
}
