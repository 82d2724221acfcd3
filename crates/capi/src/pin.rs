//! Keeps the library loaded: threads of rayon outlive every call, and need its code.

/// Keeps this DLL loaded until the process ends, whoever frees it. On Linux an option of the linker does that.
#[cfg(windows)]
pub(crate) fn pin() {
    use std::ffi::c_void;
    use std::sync::Once;

    const FROM_ADDRESS: u32 = 4;
    const PIN: u32 = 1;
    static ONCE: Once = Once::new();

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetModuleHandleExW(flags: u32, address: *const c_void, module: *mut *mut c_void) -> i32;
    }

    ONCE.call_once(|| {
        let address = pin as fn() as *const c_void;
        let mut module = std::ptr::null_mut();
        // SAFETY: with FROM_ADDRESS, `address` lies inside a module, because it is the address of this function; `module` may be written.
        unsafe { GetModuleHandleExW(FROM_ADDRESS | PIN, address, &raw mut module) };
    });
}

#[cfg(not(windows))]
pub(crate) const fn pin() {}
