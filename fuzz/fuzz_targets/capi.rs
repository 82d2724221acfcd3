//! For any file and any sequence of calls of the C interface that the header defines, with handles of any kind, open or closed:
//! every call returns a status, writes into the caller's memory no more than it may, and what it shows stays until its owner is
//! freed. Everything that was lent is returned once.
#![no_main]

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr::{null, null_mut, without_provenance_mut};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use meshmap_capi::*;
use meshmap_fuzz::{Choices, Folder, NUMBERS, assert_line};

/// The most calls of one input.
const MOST_CALLS: usize = 96;
/// The most elements for which memory is allocated.
const MOST_ELEMENTS: usize = 1 << 18;
/// Fills memory that the library may write to.
const FILL: u8 = 0xa5;

/// The last byte is the length of the script before it, in units of two bytes.
fn parts(data: &[u8]) -> (&[u8], Choices<'_>) {
    let Some((length, rest)) = data.split_last() else {
        return (data, Choices::new(&[]));
    };
    let (file, script) = rest.split_at(rest.len().saturating_sub(usize::from(*length) * 2));
    (file, Choices::new(script))
}

fuzz_target!(|data: &[u8]| {
    let (file, script) = parts(data);
    let mut caller = Caller {
        file,
        script,
        handles: Vec::new(),
        shown: Vec::new(),
        addresses: BTreeSet::new(),
        is_bad: false,
        dialect: mm_cgeo_dialect {
            size: 0,
            codec: 0,
            prefix: 0,
            section_size: 0,
            offset: 0,
        },
    };
    caller.open_memory();
    for _ in 0..MOST_CALLS {
        if caller.script.is_empty() {
            break;
        }
        caller.is_bad = false;
        caller.next();
        assert_eq!(
            mm_handle_count(),
            caller
                .handles
                .iter()
                .filter(|handle| handle.is_open)
                .count()
        );
    }
    caller.finish();
    // The next run begins without a flag.
    assert_eq!(mm_thread_set_cancel(null()), MM_OK);
});

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Cache,
    Cancel,
    File,
    Findings,
    Mesh,
    Meshes,
    Rig,
    Scene,
    Scratch,
    Snapshot,
}

/// A handle that the library returned.
#[derive(Clone, Copy, Debug)]
struct Handle {
    kind: Kind,
    number: usize,
    is_open: bool,
}

/// Memory that a call showed, which stays as it is until its owner is freed.
struct Shown {
    owner: usize,
    start: *const u8,
    length: usize,
    sum: u64,
}

struct Caller<'a> {
    file: &'a [u8],
    script: Choices<'a>,
    /// The dialect that the options name.
    dialect: mm_cgeo_dialect,
    handles: Vec<Handle>,
    shown: Vec<Shown>,
    /// Addresses in the file, as far as calls returned them.
    addresses: BTreeSet<CString>,
    /// `true` if an argument of this call is a handle that cannot be used.
    is_bad: bool,
}

/// Names of arrays of a snapshot, some of which no file has.
const ARRAYS: [&CStr; 14] = [
    c"positions",
    c"normals",
    c"map_channels[0]",
    c"map_channels[77]",
    c"point_cloud",
    c"bounding_box",
    c"position_differences",
    c"triangles.positions",
    c"triangles.normals",
    c"triangles.map_channels[0]",
    c"triangles.map_channels[18446744073709551616]",
    c"triangles.material_ids",
    c"triangles.edge_visibility",
    c"positions[0]",
];

/// Reads all bytes that a pointer of the library points to.
fn sum(start: *const u8, length: usize) -> u64 {
    if length == 0 {
        return 0;
    }
    // SAFETY: the library shows this number of bytes.
    let bytes = unsafe { std::slice::from_raw_parts(start, length) };
    bytes.iter().fold(length as u64, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add((*byte).into())
    })
}

/// A text of the library's.
fn text<'a>(start: *const c_char) -> &'a str {
    assert!(!start.is_null(), "a text is NULL");
    // SAFETY: texts of the library end with a byte 0.
    unsafe { CStr::from_ptr(start) }
        .to_str()
        .expect("text in UTF-8")
}

/// Shape and bytes of an array fit together.
fn assert_whole(array: &mm_array_info) {
    assert!((1..=3).contains(&array.rank));
    let numbers: u64 = array.shape[..array.rank as usize].iter().product();
    assert_eq!(
        numbers as usize * mm_scalar_size(array.scalar),
        array.byte_length
    );
}

/// Memory that is lent to the library.
struct Lent {
    bytes: Box<[u8]>,
    /// The fault of a reader.
    fault: u8,
    amount: usize,
    calls: AtomicUsize,
    /// The file that is read from here, once it is open.
    file: AtomicUsize,
}

/// Memory that was lent and has not been returned.
static LENT: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn release(user: *mut c_void) {
    LENT.fetch_sub(1, SeqCst);
    // SAFETY: from `lend`; a second call is found by the sanitizer.
    drop(unsafe { Box::from_raw(user.cast::<Lent>()) });
}

unsafe extern "C" fn length(user: *mut c_void, out: *mut u64) -> c_int {
    // SAFETY: from `lend`, and not yet returned.
    let lent = unsafe { &*user.cast::<Lent>() };
    let length = lent.bytes.len() as u64;
    let told = match lent.fault {
        1 => return 5,
        2 => length + lent.amount as u64,
        3 => length / 2,
        4 => u64::MAX,
        _ => length,
    };
    // SAFETY: a place of the library's.
    unsafe { *out = told };
    0
}

unsafe extern "C" fn read(
    user: *mut c_void,
    offset: u64,
    buffer: *mut c_void,
    length: usize,
    stored: *mut usize,
) -> c_int {
    // SAFETY: from `lend`, and not yet returned.
    let lent = unsafe { &*user.cast::<Lent>() };
    let call = lent.calls.fetch_add(1, SeqCst);
    let start = usize::try_from(offset)
        .unwrap_or(usize::MAX)
        .min(lent.bytes.len());
    let bytes = &lent.bytes[start..(start.saturating_add(length)).min(lent.bytes.len())];
    let mut count = bytes.len();
    let is_hit = call == lent.amount % 16;
    match lent.fault {
        5 => count = count.min(1 + lent.amount),
        6 if is_hit => return -1,
        7 if is_hit => count = 0,
        8 if is_hit => {
            // SAFETY: a place of the library's.
            unsafe { *stored = length + 1 + lent.amount };
            return 0;
        }
        9 => {
            // A call on the file that is read, which must end.
            let file = without_provenance_mut(lent.file.load(SeqCst));
            let mut list = null_mut();
            // SAFETY: the handle may be anything.
            if unsafe { mm_validate(file, &mut list) } == MM_OK {
                assert_eq!(mm_finding_list_free(list), MM_OK);
            }
        }
        _ => {}
    }
    // SAFETY: there are `length` bytes, of which `count` are the most that are stored.
    unsafe {
        bytes.as_ptr().copy_to_nonoverlapping(buffer.cast(), count);
        *stored = count;
    }
    0
}

fn lend(bytes: &[u8], fault: u8, amount: usize) -> *mut Lent {
    LENT.fetch_add(1, SeqCst);
    let (calls, file) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Box::into_raw(Box::new(Lent {
        bytes: bytes.into(),
        fault,
        amount,
        calls,
        file,
    }))
}

/// The state of callbacks for arrays and texts.
struct Listening {
    left: usize,
    addresses: BTreeSet<CString>,
}

unsafe extern "C" fn each_array(user: *mut c_void, array: *const mm_array_info) -> c_int {
    // SAFETY: from `Caller::next`, for the time of the call.
    let (listening, array) = unsafe { (&mut *user.cast::<Listening>(), &*array) };
    sum(array.data.cast(), array.byte_length);
    assert_line(text(array.address));
    assert_whole(array);
    listening.see(text(array.address))
}

unsafe extern "C" fn each_text(
    user: *mut c_void,
    address: *const c_char,
    found: *const c_char,
    length: usize,
) -> c_int {
    // SAFETY: from `Caller::next`, for the time of the call.
    let listening = unsafe { &mut *user.cast::<Listening>() };
    assert_line(text(address));
    // SAFETY: the text and the byte 0 after it.
    let bytes = unsafe { std::slice::from_raw_parts(found.cast::<u8>(), length + 1) };
    assert_eq!(bytes[length], 0);
    listening.see(text(address))
}

impl Listening {
    fn see(&mut self, address: &str) -> c_int {
        self.addresses
            .insert(CString::new(address).expect("no byte 0"));
        self.left = self.left.saturating_sub(1);
        (self.left == 0).into()
    }
}

impl Caller<'_> {
    /// A handle for an argument of this kind: mostly one that is open.
    fn handle<T>(&mut self, kind: Kind) -> *mut T {
        self.pick(kind, false)
    }

    /// A handle, or NULL, which is fine here.
    fn handle_or_null<T>(&mut self, kind: Kind) -> *mut T {
        self.pick(kind, true)
    }

    fn pick<T>(&mut self, kind: Kind, may_be_null: bool) -> *mut T {
        let choice = self.script.byte();
        let own = || {
            self.handles
                .iter()
                .rev()
                .filter(|handle| handle.kind == kind && handle.is_open)
        };
        let number = match choice {
            0..224 => own()
                .nth(usize::from(choice) % own().count().max(1))
                .map_or(0, |handle| handle.number),
            224..232 => 0,
            // A handle of any kind, open or closed.
            232..250 => {
                let count = self.handles.len().max(1);
                self.handles
                    .get(usize::from(choice) % count)
                    .map_or(0, |handle| handle.number)
            }
            // Numbers that never were a handle.
            250..253 => usize::from(choice) << 4,
            253 => usize::MAX,
            _ => own().next().map_or(0, |handle| handle.number ^ 1 << 20),
        };
        let is_good = own().any(|handle| handle.number == number);
        self.is_bad |= !(is_good || number == 0 && may_be_null);
        without_provenance_mut(number)
    }

    /// Checks a status, and what is known of an error.
    fn check(&self, status: mm_status) -> bool {
        assert!(
            !self.is_bad || status > MM_ABSENT,
            "a bad handle is accepted: {}",
            text(mm_status_name(status))
        );
        assert_ne!(status, MM_ERROR_INTERNAL);
        if status > MM_ABSENT {
            // SAFETY: numbers and pointers, for which zeros are values.
            let mut error: mm_error = unsafe { std::mem::zeroed() };
            error.size = size_of::<mm_error>();
            // SAFETY: a struct with its size.
            assert_eq!(unsafe { mm_last_error(&mut error) }, MM_OK);
            assert_eq!(error.status, status);
            assert_line(text(error.text));
            for part in [
                error.what,
                error.address,
                error.path,
                error.expected,
                error.found,
            ] {
                assert!(
                    !text(part).chars().any(char::is_control),
                    "{:?}",
                    text(part)
                );
            }
            assert!(!error.has_byte_range || error.byte_begin <= error.byte_end);
            assert!(!error.has_decoded_range || error.decoded_begin <= error.decoded_end);
        } else {
            assert!(status == MM_OK || status == MM_ABSENT, "{status}");
        }
        status == MM_OK
    }

    /// A call that makes a handle.
    fn make<T>(
        &mut self,
        kind: Kind,
        call: impl FnOnce(*mut *mut T) -> mm_status,
    ) -> Option<usize> {
        let unset = without_provenance_mut(usize::MAX);
        let mut out: *mut T = unset;
        if self.script.byte() >= 248 {
            let status = call(null_mut());
            assert!(
                status > MM_ABSENT || status == MM_ABSENT,
                "{kind:?} without a place for it"
            );
            self.check(status);
            return None;
        }
        if !self.check(call(&mut out)) {
            assert!(out.is_null() || out == unset, "{kind:?} after an error");
            return None;
        }
        let number = out.addr();
        assert!(
            !self.handles.iter().any(|handle| handle.number == number),
            "a handle is used again"
        );
        self.handles.push(Handle {
            kind,
            number,
            is_open: true,
        });
        Some(number)
    }

    /// A call that fills a struct that begins with its size.
    fn sized<T: Copy>(&mut self, call: impl FnOnce(*mut T) -> mm_status) -> Option<T> {
        let own = size_of::<T>();
        let size = match self.script.byte() {
            0..240 => own,
            240 => {
                self.check(call(null_mut()));
                return None;
            }
            241 => 0,
            242 => own - 8,
            243 => usize::MAX,
            _ => own + 16,
        };
        let mut memory =
            vec![u64::from_ne_bytes([FILL; 8]); own.max(size.min(own + 16)).div_ceil(8)];
        memory[0] = size as u64;
        let is_good = size >= own && size < 4096;
        let before = memory.clone();
        let status = call(memory.as_mut_ptr().cast());
        if !self.check(status) {
            assert!(memory == before, "a struct is filled after an error");
            return None;
        }
        assert!(is_good, "a struct of {size} bytes for one of {own}");
        assert!(
            memory[own.div_ceil(8)..].iter().all(|number| *number == 0),
            "fields of a later version"
        );
        // SAFETY: as long as the struct, and aligned like its first field.
        Some(unsafe { memory.as_ptr().cast::<T>().read_unaligned() })
    }

    /// A call that writes one value.
    fn plain<T: Copy + Default>(&mut self, call: impl FnOnce(*mut T) -> mm_status) -> Option<T> {
        let mut out = T::default();
        let place = if self.script.byte() >= 248 {
            null_mut()
        } else {
            &raw mut out
        };
        (self.check(call(place)) && !place.is_null()).then_some(out)
    }

    /// A call that fills an array of elements of `size` bytes: first with the question how many there are.
    fn fill(
        &mut self,
        size: usize,
        call: impl Fn(*mut c_void, usize, usize, *mut usize) -> mm_status,
    ) {
        let choice = self.script.byte();
        let mut count = usize::MAX;
        if choice >= 252 {
            assert!(
                call(null_mut(), 0, 0, null_mut()) != MM_OK,
                "neither memory nor a count"
            );
            return;
        }
        let status = call(null_mut(), 0, 7, &mut count);
        if !self.check(status) || count > MOST_ELEMENTS {
            return;
        }
        let stride = match choice % 8 {
            0..3 => 0,
            3 => size,
            4 => size + 1,
            5 => size + 4,
            6 => size * 2 + 3,
            _ => size - 1,
        };
        let capacity = match choice / 8 % 8 {
            0..5 => count,
            5 => count.saturating_sub(1),
            6 => 0,
            _ => count + 2,
        };
        let step = if stride == 0 { size } else { stride };
        let length = |elements: usize| {
            elements.saturating_sub(1) * step + if elements == 0 { 0 } else { size }
        };
        // Exactly as long, so that the sanitizer finds what is written behind it. Never at NULL.
        let mut memory = vec![FILL; length(capacity).max(1)].into_boxed_slice();
        let mut found = usize::MAX;
        let place = if choice < 128 {
            &raw mut found
        } else {
            null_mut()
        };
        let status = call(memory.as_mut_ptr().cast(), stride, capacity, place);
        let is_untouched = |bytes: &[u8]| bytes.iter().all(|byte| *byte == FILL);
        if stride != 0 && stride < size {
            assert!(
                status > MM_ABSENT && is_untouched(&memory),
                "a stride of {stride} for elements of {size}"
            );
        }
        if self.check(status) {
            let written = if place.is_null() { count } else { found };
            assert!(
                written <= capacity,
                "{written} elements in memory for {capacity}"
            );
            assert!(
                is_untouched(&memory[length(written)..]) || capacity == 0,
                "bytes behind the elements"
            );
            let gaps = memory[..length(written)]
                .chunks(step)
                .filter_map(|element| element.get(size..));
            assert!(gaps.into_iter().all(is_untouched), "bytes between elements");
        } else if status == MM_ERROR_BUFFER {
            assert!(
                is_untouched(&memory),
                "memory that is too small is written to"
            );
            assert!(
                place.is_null() || found > capacity,
                "{found} elements do not fit {capacity}"
            );
        }
    }

    /// Like `fill`, for bytes without a stride.
    fn fill_bytes(&mut self, call: impl Fn(*mut c_void, usize, *mut usize) -> mm_status) {
        let mut count = usize::MAX;
        let choice = self.script.byte();
        if !self.check(call(null_mut(), 0, &mut count)) || count > MOST_ELEMENTS * 4 {
            return;
        }
        let capacity = match choice % 4 {
            0 => count.saturating_sub(1),
            1 => count + 5,
            _ => count,
        };
        let mut memory = vec![FILL; capacity.max(1)].into_boxed_slice();
        let mut found = usize::MAX;
        let status = call(memory.as_mut_ptr().cast(), capacity, &mut found);
        if self.check(status) {
            assert!(
                found <= capacity && memory[found..].iter().all(|byte| *byte == FILL)
                    || capacity == 0
            );
        } else if status == MM_ERROR_BUFFER {
            assert!(found > capacity && memory.iter().all(|byte| *byte == FILL));
        }
    }

    fn show(&mut self, owner: usize, start: *const c_void, length: usize) {
        let start = start.cast();
        self.shown.push(Shown {
            owner,
            start,
            length,
            sum: sum(start, length),
        });
    }

    fn show_text(&mut self, owner: usize, start: *const c_char) {
        self.show(owner, start.cast(), text(start).len() + 1);
    }

    /// The view of an owner has not changed; from now on it may not be read.
    fn hide(&mut self, owner: usize) {
        self.shown.retain(|shown| {
            let is_own = shown.owner == owner;
            assert!(
                !is_own || sum(shown.start, shown.length) == shown.sum,
                "what was shown has changed"
            );
            !is_own
        });
    }

    fn address(&mut self) -> *const c_char {
        const FIXED: [&CStr; 10] = [
            c"meshes[0]",
            c"snapshots[0]",
            c"snapshots[0].positions",
            c"high_lod.faces[0]",
            c"bodies[0]",
            c"vertex_arrays[0]",
            c"",
            c"\xff",
            c"no such address!",
            c"meshes[18446744073709551615]",
        ];
        let choice = usize::from(self.script.byte());
        match choice {
            255 => null(),
            0..192 if !self.addresses.is_empty() => {
                let address = self.addresses.iter().nth(choice % self.addresses.len());
                address.map_or(null(), |address| address.as_ptr())
            }
            _ => FIXED[choice % FIXED.len()].as_ptr(),
        }
    }

    fn number(&mut self) -> f64 {
        let choice = self.script.byte();
        NUMBERS
            .get(usize::from(choice))
            .copied()
            .unwrap_or(f64::from(choice) / 64.0 - 1.0)
    }

    fn index(&mut self) -> usize {
        match self.script.byte() {
            255 => usize::MAX,
            254 => 1 << 32,
            choice => usize::from(choice) % 24,
        }
    }

    fn which(&mut self) -> u32 {
        let index = self.index();
        u32::try_from(index).unwrap_or(u32::MAX)
    }

    fn options(&mut self) -> mm_options {
        // SAFETY: numbers, for which zeros are values.
        let mut options: mm_options = unsafe { std::mem::zeroed() };
        // SAFETY: a struct of its size.
        assert_eq!(
            unsafe { mm_options_init(&mut options, size_of::<mm_options>()) },
            MM_OK
        );
        // The memory of a run is limited.
        (
            options.max_block_bytes,
            options.max_total_bytes,
            options.free_ratio,
        ) = (1 << 20, 8 << 20, 4);
        let flags = self.script.flags();
        let [strict, threads, reference, ignore, dialect, small, wrong, _] = flags.map(u32::from);
        options.strictness = strict;
        options.parallelism = threads;
        options.decoder = reference;
        options.checksums = ignore;
        if dialect == 1 {
            let number = self.script.byte();
            // It is read when a file is opened with these options.
            self.dialect = mm_cgeo_dialect {
                size: size_of::<mm_cgeo_dialect>(),
                codec: u32::from(number & 3),
                prefix: u32::from(number >> 2 & 3),
                section_size: u32::from(number >> 4 & 3),
                offset: u32::from(number >> 6),
            };
            options.cgeo_dialect = &raw const self.dialect;
        }
        if small == 1 {
            (
                options.max_block_bytes,
                options.max_total_bytes,
                options.free_ratio,
            ) = (512, 4096, 0);
        }
        if wrong == 1 {
            match self.script.byte() % 6 {
                0 => options.strictness = 2,
                1 => options.parallelism = u32::MAX,
                2 => options.decoder = 9,
                3 => options.checksums = 7,
                4 => options.size = 3,
                _ => options.max_depth = 1,
            }
        }
        options
    }

    fn timing(&mut self) -> Option<mm_timing> {
        let choice = self.script.byte();
        (choice & 1 == 0).then(|| mm_timing {
            size: if choice < 250 {
                size_of::<mm_timing>()
            } else {
                7
            },
            clock: u32::from(choice >> 1 & 3),
            reserved: 0,
            count: self.index(),
            start: self.number(),
            step: self.number(),
            rate: self.number(),
        })
    }

    fn open_memory(&mut self) {
        let choice = self.script.byte();
        let lent = lend(self.file, 0, 0);
        let options = self.options();
        // SAFETY: lent until it is returned.
        let bytes = unsafe { &(*lent).bytes };
        let (start, length) = (bytes.as_ptr().cast(), bytes.len());
        let start = if choice == 255 { null() } else { start };
        self.make(Kind::File, |out| {
            // SAFETY: as above.
            unsafe { mm_open_memory(start, length, Some(release), lent.cast(), &options, out) }
        });
    }

    fn open_reader(&mut self) {
        let [fault, amount] = [self.script.byte(), self.script.byte()];
        let lent = lend(self.file, fault % 11, amount.into());
        let options = self.options();
        let reader = mm_reader {
            size: if fault < 250 {
                size_of::<mm_reader>()
            } else {
                1
            },
            user: lent.cast(),
            length: (fault & 16 == 0).then_some(length),
            read: (fault != 249).then_some(read),
            release: Some(release),
        };
        // SAFETY: callbacks that keep to the header.
        let file = self.make(Kind::File, |out| unsafe {
            mm_open_reader(&reader, &options, out)
        });
        // A reader that is refused, also for its size, is released.
        if let Some(file) = file {
            // SAFETY: the file has what was lent.
            unsafe { (*lent).file.store(file, SeqCst) };
        }
    }

    fn open_path(&mut self) {
        let choice = self.script.byte();
        let folder = Folder::new("capi");
        let path = folder.file("file");
        std::fs::write(&path, self.file).expect("space for temporary files");
        let path = CString::new(path.to_str().expect("a path in UTF-8")).expect("no byte 0");
        let path = match choice % 8 {
            0 => c"/no/such/file".as_ptr(),
            1 => c"/".as_ptr(),
            2 => null(),
            _ => path.as_ptr(),
        };
        let options = self.options();
        let open = if choice < 128 { mm_open } else { mm_open_map };
        // SAFETY: a path or NULL. The file is removed afterwards, and not changed.
        self.make(Kind::File, |out| unsafe { open(path, &options, out) });
    }

    /// Frees a handle as one of a kind, whatever it is.
    fn free(&mut self, kind: Kind) {
        let number = self.handle_or_null::<c_void>(kind).addr();
        let is_own = self
            .handles
            .iter()
            .any(|handle| handle.number == number && handle.is_open && handle.kind == kind);
        if is_own {
            self.hide(number);
        }
        let status = close(kind, number);
        assert_eq!(
            status == MM_OK,
            is_own || number == 0,
            "{kind:?}: {}",
            text(mm_status_name(status))
        );
        self.check(status);
        if is_own {
            let own = self
                .handles
                .iter_mut()
                .filter(|handle| handle.number == number);
            own.for_each(|handle| handle.is_open = false);
        }
    }

    /// Frees everything.
    fn finish(mut self) {
        let open: Vec<Handle> = self
            .handles
            .iter()
            .copied()
            .filter(|handle| handle.is_open)
            .collect();
        for handle in open {
            self.hide(handle.number);
            assert_eq!(close(handle.kind, handle.number), MM_OK);
            assert_eq!(close(handle.kind, handle.number), MM_ERROR_HANDLE);
        }
        assert_eq!(mm_handle_count(), 0);
        // Threads of the pool may still be decoding ahead.
        let start = Instant::now();
        while LENT.load(SeqCst) > 0 {
            assert!(
                start.elapsed() < Duration::from_secs(5),
                "{} were not returned",
                LENT.load(SeqCst)
            );
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}

fn close(kind: Kind, number: usize) -> mm_status {
    match kind {
        Kind::Cache => mm_cache_free(without_provenance_mut(number)),
        Kind::Cancel => mm_cancel_free(without_provenance_mut(number)),
        Kind::File => mm_close(without_provenance_mut(number)),
        Kind::Findings => mm_finding_list_free(without_provenance_mut(number)),
        Kind::Mesh => mm_mesh_free(without_provenance_mut(number)),
        Kind::Meshes => mm_mesh_list_free(without_provenance_mut(number)),
        Kind::Rig => mm_rig_free(without_provenance_mut(number)),
        Kind::Scene => mm_scene_free(without_provenance_mut(number)),
        Kind::Scratch => mm_scratch_free(without_provenance_mut(number)),
        Kind::Snapshot => mm_snapshot_free(without_provenance_mut(number)),
    }
}

/// The calls. All of them are `unsafe`, because they follow pointers: those here are to memory of the size that goes with them.
impl Caller<'_> {
    fn next(&mut self) {
        match self.script.byte() % 52 {
            0 => self.open_memory(),
            1 => self.open_reader(),
            2 => self.open_path(),
            3 => {
                let file = self.handle(Kind::File);
                self.make(Kind::File, |out| unsafe { mm_file_ref(file, out) });
            }
            4 => self.free(Kind::File),
            5 => {
                let file = self.handle(Kind::File);
                self.plain(|out| unsafe { mm_file_format(file, out) });
            }
            6 | 7 => self.list(),
            8 => {
                let (file, address) = (self.handle(Kind::File), self.address());
                self.array(file, address);
            }
            9 | 10 => {
                let (file, address) = (self.handle(Kind::File), self.address());
                self.read_into(file, address);
            }
            11 => {
                let file = self.handle(Kind::File);
                self.make(Kind::Meshes, |out| unsafe { mm_meshes(file, out) });
            }
            12 => {
                let (list, index) = (self.handle(Kind::Meshes), self.index());
                let count = self.plain(|out| unsafe { mm_mesh_list_count(list, out) });
                let entry = self
                    .sized::<mm_mesh_entry>(|out| unsafe { mm_mesh_list_get(list, index, out) });
                if let Some(entry) = entry {
                    assert!(count.is_none_or(|count| index < count));
                    self.show_text(list.addr(), entry.name);
                    self.show_text(list.addr(), entry.address);
                    self.addresses
                        .insert(CString::new(text(entry.address)).expect("no byte 0"));
                }
            }
            13 => self.free(Kind::Meshes),
            14 => {
                let choice = self.script.byte();
                let mesh = if choice % 3 == 2 {
                    self.handle(Kind::Mesh)
                } else {
                    null_mut()
                };
                let file = if choice % 3 < 2 {
                    self.handle(Kind::File)
                } else {
                    null_mut()
                };
                self.make(Kind::Findings, |out| unsafe {
                    match choice % 3 {
                        0 => mm_findings(file, out),
                        1 => mm_validate(file, out),
                        _ => mm_mesh_findings(mesh, out),
                    }
                });
            }
            15 => {
                let (list, index) = (self.handle(Kind::Findings), self.index());
                self.plain(|out| unsafe { mm_finding_list_count(list, out) });
                let finding = self
                    .sized::<mm_finding>(|out| unsafe { mm_finding_list_get(list, index, out) });
                if let Some(finding) = finding {
                    assert_line(text(finding.text));
                    assert_line(text(finding.rule));
                    for text in [finding.text, finding.rule, finding.address] {
                        self.show_text(list.addr(), text);
                    }
                    assert!(!finding.has_byte_range || finding.byte_begin <= finding.byte_end);
                }
            }
            16 => self.free(Kind::Findings),
            17 => {
                let (file, address) = (self.handle(Kind::File), self.address());
                self.sized::<mm_mesh_counts>(|out| unsafe {
                    mm_mesh_get_counts(file, address, out)
                });
                self.make(Kind::Mesh, |out| unsafe { mm_mesh_at(file, address, out) });
            }
            18 => {
                let (mesh, choice) = (self.handle(Kind::Mesh), self.script.byte());
                let call = if choice & 1 == 0 {
                    mm_mesh_ref
                } else {
                    mm_mesh_by_material
                };
                self.make(Kind::Mesh, |out| unsafe { call(mesh, out) });
            }
            19 => self.free(Kind::Mesh),
            20..27 => self.mesh(),
            27 => {
                self.make(Kind::Scratch, |out| unsafe { mm_scratch_new(out) });
            }
            28 => self.free(Kind::Scratch),
            29 => self.cancel(),
            30..37 => self.cgeo(),
            37 | 38 => self.motion(),
            39..42 => self.snapshot(),
            42 | 43 => self.cache(),
            44..46 => self.rig(),
            46 => self.slmesh(),
            48..52 => self.scene(),
            _ => {
                let kinds = [
                    Kind::Cache,
                    Kind::Cancel,
                    Kind::File,
                    Kind::Findings,
                    Kind::Mesh,
                    Kind::Meshes,
                    Kind::Rig,
                    Kind::Scene,
                    Kind::Scratch,
                    Kind::Snapshot,
                ];
                let kind = self.script.of(&kinds);
                self.free(kind);
            }
        }
    }

    fn list(&mut self) {
        let (file, choice) = (self.handle(Kind::File), self.script.byte());
        let mut listening = Listening {
            left: usize::from(choice >> 1),
            addresses: BTreeSet::new(),
        };
        let user = (&raw mut listening).cast();
        let is_absent = choice == 255;
        let status = unsafe {
            match choice & 1 {
                0 => mm_arrays(file, (!is_absent).then_some(each_array), user),
                _ => mm_texts(file, (!is_absent).then_some(each_text), user),
            }
        };
        self.check(status);
        self.addresses.extend(listening.addresses);
    }

    fn mesh(&mut self) {
        let (mesh, index) = (self.handle(Kind::Mesh), self.index());
        let choice = self.script.byte();
        match choice % 12 {
            0 | 5 => {
                if let Some(info) =
                    self.sized::<mm_mesh_info>(|out| unsafe { mm_mesh_get_info(mesh, out) })
                {
                    for text in [info.address, info.name, info.material] {
                        self.show_text(mesh.addr(), text);
                    }
                }
            }
            1 => {
                self.plain(|out: *mut mm_bounds| unsafe { mm_mesh_bounds(mesh, out) });
            }
            2 => {
                let info = self.sized::<mm_attribute_info>(|out| unsafe {
                    mm_mesh_attribute(mesh, index, out)
                });
                if let Some(info) = info {
                    self.show_text(mesh.addr(), info.name);
                    let name = if info.semantic == MM_SEMANTIC_CUSTOM {
                        info.name
                    } else {
                        null()
                    };
                    let mut found = usize::MAX;
                    let status = unsafe {
                        mm_mesh_find_attribute(mesh, info.semantic, info.set, name, &mut found)
                    };
                    assert_eq!(status, MM_OK);
                    assert!(found <= index);
                }
            }
            3 => {
                let (semantic, set, name) = (self.which(), self.which(), self.address());
                self.plain(|out| unsafe { mm_mesh_find_attribute(mesh, semantic, set, name, out) });
            }
            4 => {
                let array = self.sized::<mm_array_info>(|out| unsafe {
                    mm_mesh_attribute_view(mesh, index, out)
                });
                if let Some(array) = array {
                    assert_whole(&array);
                    self.show(mesh.addr(), array.data, array.byte_length);
                    self.show_text(mesh.addr(), array.address);
                }
            }
            6 => {
                let (scalar, components) = (self.which() % 12, self.which() % 18);
                let normalized = u32::from(choice & 1);
                let size = mm_scalar_size(scalar) * components as usize;
                if size > 0 {
                    self.fill(size, |out, stride, capacity, count| unsafe {
                        mm_mesh_read_attribute(
                            mesh, index, scalar, components, normalized, out, stride, capacity,
                            count,
                        )
                    });
                }
            }
            7 => self.interleaved(mesh),
            8 => {
                let format = [MM_INDEX_NARROWEST, MM_INDEX_U16, MM_INDEX_U32, 3]
                    [usize::from(choice / 12) % 4];
                self.fill_bytes(|out, capacity, bytes| unsafe {
                    mm_mesh_write_indices(mesh, format, out, capacity, bytes, null_mut())
                });
            }
            9 => self.fill(12, |out, stride, capacity, count| unsafe {
                mm_mesh_triangles(mesh, out.cast(), stride, capacity, count)
            }),
            10 => self.fill(
                size_of::<mm_group>(),
                |out, stride, capacity, count| unsafe {
                    mm_mesh_groups(mesh, out.cast(), stride, capacity, count)
                },
            ),
            _ => self.fill(4, |out, stride, capacity, count| unsafe {
                mm_mesh_material_ids(mesh, out.cast(), stride, capacity, count)
            }),
        }
    }

    fn interleaved(&mut self, mesh: *mut mm_mesh) {
        let mut attributes = Vec::new();
        for _ in 0..self.script.below(6) {
            let flags = self.script.flags();
            let [wrong_size, normalized, has_default, at, named, ..] = flags;
            attributes.push(mm_layout_attribute {
                size: if wrong_size {
                    8
                } else {
                    size_of::<mm_layout_attribute>()
                },
                semantic: self.which() % 10,
                set: self.which() % 3,
                name: if named { c"custom".as_ptr() } else { null() },
                scalar: self.which() % 12,
                components: self.which() % 18,
                normalized: normalized.into(),
                has_default: has_default.into(),
                default_value: [1.0, -2.0, f32::NAN, 1e30],
                offset: if at { self.index() } else { usize::MAX },
            });
        }
        let mut resolved = attributes.clone();
        // No handle is part of this call.
        let is_bad = std::mem::take(&mut self.is_bad);
        let stride = self
            .plain(|out| unsafe { mm_layout_resolve(resolved.as_mut_ptr(), resolved.len(), out) });
        self.is_bad = is_bad;
        let stride = match (self.script.byte() % 4, stride) {
            (1, Some(stride)) => stride,
            (2, Some(stride)) => stride.saturating_add(3),
            (3, _) => self.index(),
            _ => 0,
        };
        self.fill_bytes(|out, capacity, bytes| unsafe {
            mm_mesh_write_interleaved(
                mesh,
                attributes.as_ptr(),
                attributes.len(),
                stride,
                out,
                capacity,
                bytes,
            )
        });
    }

    fn cancel(&mut self) {
        match self.script.byte() % 4 {
            0 => {
                self.make(Kind::Cancel, |out| unsafe { mm_cancel_new(out) });
            }
            1 => {
                let (cancel, is_set) = (self.handle(Kind::Cancel), self.script.byte() & 1);
                self.check(mm_cancel_set(cancel, is_set.into()));
            }
            2 => {
                let cancel = self.handle_or_null(Kind::Cancel);
                self.check(mm_thread_set_cancel(cancel));
            }
            _ => self.free(Kind::Cancel),
        }
    }

    fn cgeo(&mut self) {
        let (file, snapshot, choice) = (self.handle(Kind::File), self.index(), self.script.byte());
        if choice % 16 < 4 {
            match choice % 16 {
                0 => drop(self.sized::<mm_cgeo_info>(|out| unsafe { mm_cgeo_get_info(file, out) })),
                1 => {
                    let name = [
                        null(),
                        c"Original object name".as_ptr(),
                        c"Scale".as_ptr(),
                        c"\xff".as_ptr(),
                    ];
                    let name = self.script.of(&name);
                    self.fill_text(|out, capacity, length| unsafe {
                        mm_cgeo_property(file, name, out, capacity, length)
                    });
                }
                2 => drop(
                    self.sized::<mm_cgeo_dialect>(|out| unsafe { mm_cgeo_get_dialect(file, out) }),
                ),
                _ => {
                    let scratch = self.handle_or_null(Kind::Scratch);
                    self.plain(|out: *mut mm_topology| unsafe {
                        mm_cgeo_topology(file, snapshot, scratch, out)
                    });
                    let (mut complete, mut samples) = (9, 0);
                    let status = unsafe {
                        mm_cgeo_storage(file, snapshot, scratch, &mut complete, &mut samples)
                    };
                    assert!(!self.check(status) || complete <= 1 && samples > 0);
                }
            }
            return;
        }
        match choice % 16 {
            4 => {
                let scratch = self.handle_or_null(Kind::Scratch);
                self.sized::<mm_cgeo_counts>(|out| unsafe {
                    mm_cgeo_get_counts(file, snapshot, scratch, out)
                });
            }
            5..8 => {
                let address = self.address_of(snapshot);
                self.array(file, address.as_ptr());
            }
            _ => {
                let address = self.address_of(snapshot);
                self.read_into(file, address.as_ptr());
            }
        }
    }

    /// The address of an array of a snapshot.
    fn address_of(&mut self, snapshot: usize) -> CString {
        let name = self.script.of(&ARRAYS).to_str().expect("UTF-8");
        CString::new(format!("snapshots[{snapshot}].{name}")).expect("no byte 0")
    }

    /// Shows an array in a scratch.
    fn array(&mut self, file: *mut mm_file, address: *const c_char) {
        let scratch = self.handle_or_null(Kind::Scratch);
        let array = self.sized::<mm_array_info>(|out| unsafe {
            let status = mm_array(file, address, scratch, out);
            assert!(!scratch.is_null() || status > MM_ABSENT);
            status
        });
        if let Some(array) = array {
            assert_whole(&array);
            sum(array.data.cast(), array.byte_length);
        }
    }

    /// Reads an array, whatever its type is.
    fn read_into(&mut self, file: *mut mm_file, address: *const c_char) {
        let scratch = self.handle_or_null(Kind::Scratch);
        let (scalar, components) = self.element();
        let size = mm_scalar_size(scalar) * components as usize;
        if size > 0 {
            self.fill(size, |out, stride, capacity, count| unsafe {
                mm_read_into(
                    file, address, scalar, components, scratch, out, stride, capacity, count,
                )
            });
        }
    }

    /// The type of an element, mostly one that arrays have.
    fn element(&mut self) -> (mm_scalar, u32) {
        let choice = self.script.byte();
        match choice {
            0..128 => (MM_SCALAR_F32, 3),
            128..192 => (MM_SCALAR_U32, 3),
            192..208 => (MM_SCALAR_U16, 1),
            208..216 => (MM_SCALAR_U32, 1),
            216..224 => (MM_SCALAR_U8, 1),
            _ => (u32::from(choice) % 12, u32::from(choice >> 2) % 18),
        }
    }

    /// Text into memory: the byte 0 after it is not counted.
    fn fill_text(&mut self, call: impl Fn(*mut c_char, usize, *mut usize) -> mm_status) {
        let mut length = usize::MAX;
        if !self.check(call(null_mut(), 0, &mut length)) {
            return;
        }
        for capacity in [length, length + 1] {
            let mut memory = vec![FILL; capacity.max(1)].into_boxed_slice();
            let status = call(memory.as_mut_ptr().cast(), capacity, &mut length);
            assert_eq!(
                status,
                if capacity > length {
                    MM_OK
                } else {
                    MM_ERROR_BUFFER
                }
            );
            if status == MM_OK {
                assert_eq!(memory[length], 0);
            }
        }
    }

    fn motion(&mut self) {
        let (file, timing) = (self.handle(Kind::File), self.timing());
        let timing = timing.as_ref().map_or(null(), |timing| &raw const *timing);
        let (snapshot, wrap) = (self.index(), self.which() % 4);
        let seconds = [self.number(), self.number(), self.number()];
        let choice = self.script.byte();
        match choice % 8 {
            0 => drop(self.sized::<mm_timing>(|out| unsafe { mm_cgeo_timing(file, out) })),
            1 => drop(self.plain(|out| unsafe { mm_cgeo_time_of(file, timing, snapshot, out) })),
            2 => drop(self.plain(|out: *mut mm_cgeo_key| unsafe {
                mm_cgeo_key_at(file, timing, seconds[0], wrap, out)
            })),
            3 | 4 => {
                let scratch = self.handle_or_null(Kind::Scratch);
                self.fill(8, |out, stride, capacity, count| unsafe {
                    let [open, close, _] = seconds;
                    mm_cgeo_keys(
                        file,
                        timing,
                        open,
                        close,
                        wrap,
                        scratch,
                        out.cast(),
                        stride,
                        capacity,
                        count,
                    )
                });
            }
            5 | 6 => {
                let (scratch, times) = (
                    self.handle_or_null(Kind::Scratch),
                    usize::from(choice / 8) % 4,
                );
                let cache = self.handle_or_null(Kind::Cache);
                self.fill(12, |out, stride, capacity, count| unsafe {
                    let (start, out) = (seconds.as_ptr(), out.cast());
                    mm_cgeo_positions_at(
                        file, timing, start, times, wrap, cache, scratch, out, stride, capacity,
                        count,
                    )
                });
            }
            _ => {
                let scratch = self.handle_or_null(Kind::Scratch);
                let cache = self.handle_or_null(Kind::Cache);
                self.fill(12, |out, stride, capacity, count| unsafe {
                    let out = out.cast();
                    mm_cgeo_velocities(
                        file, timing, snapshot, cache, scratch, out, stride, capacity, count,
                    )
                });
            }
        }
    }

    fn snapshot(&mut self) {
        let choice = self.script.byte();
        if choice % 16 < 2 {
            if choice % 16 == 0 {
                self.make(Kind::Snapshot, |out| unsafe { mm_snapshot_new(out) });
            } else {
                self.free(Kind::Snapshot);
            }
            return;
        }
        let place = self.handle::<mm_snapshot>(Kind::Snapshot);
        match choice % 16 {
            2..6 => {
                let (file, scratch) = (self.handle(Kind::File), self.handle_or_null(Kind::Scratch));
                let (index, sample) = (self.index(), usize::from(choice / 128) * self.index());
                let number = place.addr();
                self.shown.retain(|shown| shown.owner != number);
                let parts = u32::from(self.script.byte()) % 20;
                self.check(unsafe { mm_snapshot_read(file, index, sample, parts, scratch, place) });
            }
            6 => drop(
                self.sized::<mm_snapshot_info>(|out| unsafe { mm_snapshot_get_info(place, out) }),
            ),
            7..10 => {
                let (name, scratch) = (
                    self.script.of(&ARRAYS).as_ptr(),
                    self.handle_or_null(Kind::Scratch),
                );
                if let Some(array) = self.sized::<mm_array_info>(|out| unsafe {
                    mm_snapshot_view(place, name, scratch, out)
                }) {
                    assert!(array.is_aligned);
                    assert_whole(&array);
                    if text(name).starts_with("triangles.") {
                        sum(array.data.cast(), array.byte_length);
                    } else {
                        self.show(place.addr(), array.data, array.byte_length);
                    }
                }
            }
            _ => {
                let (name, scratch) = (
                    self.script.of(&ARRAYS).as_ptr(),
                    self.handle_or_null(Kind::Scratch),
                );
                let (scalar, components) = self.element();
                let size = mm_scalar_size(scalar) * components as usize;
                if size > 0 {
                    self.fill(size, |out, stride, capacity, count| unsafe {
                        mm_snapshot_copy(
                            place, name, scalar, components, scratch, out, stride, capacity, count,
                        )
                    });
                }
            }
        }
    }

    fn cache(&mut self) {
        let choice = self.script.byte();
        match choice % 12 {
            0 => {
                let capacity = [0, 1, 4096, 8 << 20][usize::from(choice / 12) % 4];
                self.make(Kind::Cache, |out| unsafe { mm_cache_new(capacity, out) });
                return;
            }
            1 => return self.free(Kind::Cache),
            _ => {}
        }
        let cache = self.handle(Kind::Cache);
        match choice % 12 {
            2 => {
                self.make(Kind::Cache, |out| unsafe { mm_cache_ref(cache, out) });
            }
            3 => {
                self.check(mm_cache_clear(cache));
            }
            4 => {
                let file = self.handle(Kind::File);
                self.check(unsafe { mm_cache_remove(cache, file) });
            }
            5 => {
                let file = self.handle(Kind::File);
                let indices = [self.index(), self.index(), 0];
                let start = if choice >= 240 {
                    null()
                } else {
                    indices.as_ptr()
                };
                let (count, parts) = (usize::from(choice / 12) % 4, u32::from(choice & 15));
                self.check(unsafe { mm_cache_prefetch(cache, file, start, count, parts) });
            }
            6 => {
                drop(self.sized::<mm_cache_stats>(|out| unsafe { mm_cache_get_stats(cache, out) }))
            }
            other => {
                let (file, index) = (self.handle(Kind::File), self.index());
                let parts = u32::from(choice >> 4);
                let place = self.handle::<mm_snapshot>(Kind::Snapshot);
                let number = place.addr();
                self.shown.retain(|shown| shown.owner != number);
                let call = if other < 10 {
                    mm_cache_get
                } else {
                    mm_cache_try_get
                };
                self.check(unsafe { call(cache, file, index, parts, place) });
            }
        }
    }

    fn rig(&mut self) {
        let choice = self.script.byte();
        match choice % 8 {
            0 | 1 => {
                let (file, animation) = (self.handle(Kind::File), self.handle_or_null(Kind::File));
                self.make(Kind::Rig, |out| unsafe { mm_rig_new(file, animation, out) });
                return;
            }
            2 => return self.free(Kind::Rig),
            _ => {}
        }
        let (rig, index) = (self.handle(Kind::Rig), self.index());
        let (seconds, rate) = (self.number(), self.number() as f32);
        match choice % 8 {
            3 => {
                self.sized::<mm_rig_info>(|out| unsafe { mm_rig_get_info(rig, out) });
                if let Some(joint) =
                    self.sized::<mm_joint>(|out| unsafe { mm_rig_joint(rig, index, out) })
                {
                    self.show_text(rig.addr(), joint.name);
                    assert!(joint.parent < index as i64);
                }
            }
            4 => {
                if let Some(anim) =
                    self.sized::<mm_anim>(|out| unsafe { mm_rig_anim(rig, index, out) })
                {
                    self.show_text(rig.addr(), anim.name);
                }
            }
            5 => {
                let (mut from, mut to, mut fraction) = (0, 0, 9.0);
                let status = unsafe {
                    mm_rig_frames_at(rig, index, seconds, rate, &mut from, &mut to, &mut fraction)
                };
                assert!(
                    !self.check(status) || (0.0..=1.0).contains(&fraction),
                    "{fraction}"
                );
            }
            6 => {
                let (scratch, frame) = (self.handle_or_null(Kind::Scratch), self.which());
                self.fill(size_of::<mm_trs>(), |out, stride, capacity, count| unsafe {
                    mm_rig_pose(rig, frame, scratch, out.cast(), stride, capacity, count)
                });
            }
            _ => {
                let scratch = self.handle_or_null(Kind::Scratch);
                self.fill(48, |out, stride, capacity, count| unsafe {
                    mm_rig_skinning_at(
                        rig,
                        index,
                        seconds,
                        rate,
                        scratch,
                        out.cast(),
                        stride,
                        capacity,
                        count,
                    )
                });
            }
        }
    }

    fn scene_options(&mut self) -> mm_scene_options {
        // SAFETY: numbers and pointers, for which zeros are values.
        let mut options: mm_scene_options = unsafe { std::mem::zeroed() };
        options.size = size_of::<mm_scene_options>();
        let [
            mesh,
            animations,
            levels,
            up,
            origin,
            frame,
            skips,
            degenerate,
        ] = self.script.flags();
        if mesh {
            options.mesh = self.address();
        }
        if animations {
            options.animations = self.handle(Kind::File);
        }
        if levels {
            (options.levels, options.level) = (self.which() % 4, self.which());
        }
        if up {
            (options.up, options.unit_millimeters) = (self.which() % 8, self.number());
        }
        if frame {
            (options.has_frame, options.frame) = (1, self.which());
        }
        options.v_origin = origin.into();
        options.skip_unreadable = skips.into();
        options.drop_degenerate = degenerate.into();
        options
    }

    fn scene(&mut self) {
        let choice = self.script.byte();
        match choice % 16 {
            0..3 => {
                let options = (choice >= 128).then(|| self.scene_options());
                let options = options.as_ref().map_or(null(), |it| &raw const *it);
                let file = self.handle(Kind::File);
                self.make(Kind::Scene, |out| unsafe {
                    mm_scene_new(file, options, out)
                });
                return;
            }
            3 => return self.free(Kind::Scene),
            4 => {
                let (image, index) = (self.address(), self.index());
                self.fill_text(|out, capacity, length| unsafe {
                    mm_image_path(image, index, out, capacity, length)
                });
                return;
            }
            _ => {}
        }
        let (scene, index, other) = (self.handle(Kind::Scene), self.index(), self.index());
        let seconds = self.number();
        match choice % 16 {
            5 => {
                let info =
                    self.sized::<mm_scene_info>(|out| unsafe { mm_scene_get_info(scene, out) });
                assert!(info.is_none_or(|info| info.metres_per_unit >= 0.0));
            }
            6 => {
                if let Some(shape) =
                    self.sized::<mm_shape>(|out| unsafe { mm_scene_get_shape(scene, index, out) })
                {
                    assert!(shape.key_count > 0 && shape.seconds_per_key > 0.0);
                    self.show_text(scene.addr(), shape.name);
                    self.show_text(scene.addr(), shape.address);
                }
            }
            7 => {
                let id = self.which();
                if let Some(material) = self.sized::<mm_material>(|out| unsafe {
                    mm_scene_get_material(scene, index, id, out)
                }) {
                    assert!(material.color.iter().all(|it| (0.0..=1.0).contains(it)));
                    self.show_text(scene.addr(), material.name);
                    self.show_text(scene.addr(), material.image);
                }
            }
            8..11 => {
                self.make(Kind::Mesh, |out| unsafe {
                    mm_scene_mesh(scene, index, other, out)
                });
            }
            11 => {
                let (mut from, mut to, mut fraction) = (0, 0, 9.0);
                let status = unsafe {
                    mm_scene_key_at(scene, index, seconds, &mut from, &mut to, &mut fraction)
                };
                if self.check(status) {
                    assert!((0.0..=1.0).contains(&fraction) && from <= to);
                }
            }
            12 => {
                if let Some(joint) = self
                    .sized::<mm_scene_joint>(|out| unsafe { mm_scene_get_joint(scene, index, out) })
                {
                    assert!(joint.parent != index as i64);
                    self.show_text(scene.addr(), joint.name);
                }
            }
            13 => {
                if let Some(clip) =
                    self.sized::<mm_clip>(|out| unsafe { mm_scene_get_clip(scene, index, out) })
                {
                    assert!(clip.rate > 0.0 && clip.frame_count > 0);
                    self.show_text(scene.addr(), clip.name);
                }
                if let Some(event) = self.sized::<mm_event>(|out| unsafe {
                    mm_scene_get_event(scene, index, other, out)
                }) {
                    self.show_text(scene.addr(), event.data);
                }
            }
            14 => {
                let mut remark = null();
                if self.check(unsafe { mm_scene_remark(scene, index, &mut remark) }) {
                    self.show_text(scene.addr(), remark);
                }
            }
            _ => {
                let (clip, kind) = (
                    if index == 0 { usize::MAX } else { index - 1 },
                    self.which() % 4,
                );
                self.fill(64, |out, stride, capacity, count| unsafe {
                    mm_scene_pose(
                        scene,
                        clip,
                        seconds,
                        kind,
                        out.cast(),
                        stride,
                        capacity,
                        count,
                    )
                });
            }
        }
    }

    fn slmesh(&mut self) {
        const NAMES: [&CStr; 6] = [
            c"high_lod",
            c"medium_lod",
            c"low_lod",
            c"lowest_lod",
            c"skin",
            c"\xff",
        ];
        let (file, choice) = (self.handle(Kind::File), self.script.byte());
        let name = NAMES
            .get(usize::from(choice / 4) % 7)
            .map_or(null(), |name| name.as_ptr());
        match choice % 4 {
            0 | 1 => {
                self.make(Kind::Meshes, |out| unsafe {
                    mm_slmesh_lod(file, name, out)
                });
            }
            2 => {
                let mut best = null();
                let status = unsafe { mm_slmesh_best_lod(file, name, &mut best) };
                if self.check(status) {
                    assert_line(text(best));
                }
            }
            _ => {
                let (mut begin, mut end) = (1, 0);
                let status =
                    unsafe { mm_slmesh_lod_range(file, name, &mut begin, &mut end, null_mut()) };
                assert!(!self.check(status) || begin <= end);
            }
        }
    }
}
