//! Hooks of a caller that provide memory for arrays whose size is not known before a call.

use std::ffi::c_void;

use crate::fail::{Fail, Result, status};
use crate::memory::{First, put, take_sized};

/// Hooks that provide memory for an array: functions named `_new` call `allocate` once, when they know the size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct mm_allocator {
    /// sizeof(mm_allocator), set by the caller.
    pub size: usize,
    /// Passed to each hook.
    pub user: *mut c_void,
    /// Returns `bytes` bytes at any alignment, or NULL if there are none, which is MM_ERROR_BUFFER. Called on the thread of the
    /// call.
    pub allocate: Option<unsafe extern "C" fn(user: *mut c_void, bytes: usize) -> *mut c_void>,
    /// Takes back memory of `allocate` if the call fails after it. May be NULL.
    pub release: Option<unsafe extern "C" fn(user: *mut c_void, memory: *mut c_void)>,
}

// SAFETY: `repr(C)`, and begins with its size; it is read if the caller has set all of it, or set it to 0.
unsafe impl First for mm_allocator {}

/// Memory that the hooks provided, released unless it is handed over.
pub(crate) struct Allocated {
    hooks: mm_allocator,
    memory: *mut c_void,
}

impl Allocated {
    /// Memory for an array; NULL for an empty one. Stores NULL in `out` until it is handed over.
    ///
    /// # Safety
    ///
    /// `hooks` is NULL, or an `mm_allocator` whose hooks keep to their documentation; `out` is NULL, or may be written.
    pub(crate) unsafe fn new(
        hooks: *const mm_allocator,
        bytes: usize,
        out: *mut *mut c_void,
    ) -> Result<Self> {
        let null = std::ptr::null_mut();
        let none = mm_allocator { size: 0, user: null, allocate: None, release: None };
        // SAFETY: as the caller promised.
        let hooks = unsafe {
            put(out, null)?;
            take_sized(hooks, none)?
        };
        let Some(allocate) = hooks.allocate else {
            return Err(Fail::argument("expected an allocator with the hook `allocate`, found NULL"));
        };
        if bytes == 0 {
            return Ok(Self { hooks, memory: null });
        }
        // SAFETY: the caller's function, with the arguments that the header promises.
        let memory = unsafe { allocate(hooks.user, bytes) };
        if memory.is_null() {
            let text = format!("the allocator returned NULL for {bytes} bytes");
            return Err(Fail::new(status::MM_ERROR_BUFFER, text));
        }
        Ok(Self { hooks, memory })
    }

    pub(crate) fn start(&self) -> *mut c_void {
        self.memory
    }

    /// Hands the memory over to the caller.
    ///
    /// # Safety
    ///
    /// `out` is the one of [`new`](Self::new).
    pub(crate) unsafe fn hand_over(mut self, out: *mut *mut c_void) -> Result<()> {
        let memory = std::mem::replace(&mut self.memory, std::ptr::null_mut());
        // SAFETY: as the caller promised.
        unsafe { put(out, memory) }
    }
}

impl Drop for Allocated {
    fn drop(&mut self) {
        if let Some(release) = self.hooks.release.filter(|_| !self.memory.is_null()) {
            // SAFETY: the caller's function, with memory that its other hook returned, once.
            unsafe { release(self.hooks.user, self.memory) };
        }
    }
}
