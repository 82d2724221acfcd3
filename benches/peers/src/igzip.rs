//! The functions of igzip's C interface (libisal 2.30) that inflating takes.

use std::ffi::c_int;

/// The beginning of `struct inflate_state`, and room for the rest of its 87,368 bytes.
#[repr(C, align(64))]
struct State {
    next_out: *mut u8,
    avail_out: u32,
    total_out: u32,
    next_in: *const u8,
    read_in: u64,
    avail_in: u32,
    rest: [u8; 96 << 10],
}

#[link(name = "isal")]
unsafe extern "C" {
    fn isal_inflate_init(state: *mut State);
    fn isal_inflate_stateless(state: *mut State) -> c_int;
}

/// The decoder, which is used again.
pub(crate) struct Igzip(Box<State>);

impl Igzip {
    pub(crate) fn new() -> Self {
        Self(Box::new(State {
            next_out: std::ptr::null_mut(),
            avail_out: 0,
            total_out: 0,
            next_in: std::ptr::null(),
            read_in: 0,
            avail_in: 0,
            rest: [0; 96 << 10],
        }))
    }

    /// Inflates a deflate stream into `out`; returns the length of its content.
    pub(crate) fn inflate(&mut self, stream: &[u8], out: &mut [u8]) -> usize {
        let state = &mut *self.0;
        // SAFETY: the state is at least as large as the library's, and both buffers have the lengths in it.
        let status = unsafe {
            isal_inflate_init(state);
            state.next_in = stream.as_ptr();
            state.avail_in = u32::try_from(stream.len()).expect("a stream of less than 4 GiB");
            state.next_out = out.as_mut_ptr();
            state.avail_out = u32::try_from(out.len()).expect("less than 4 GiB of content");
            isal_inflate_stateless(state)
        };
        assert_eq!(status, 0, "igzip refuses the stream");
        state.total_out as usize
    }
}
