use std::fs::{File, Metadata};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;
use std::{fmt, io};

use bytes::Bytes;
use zerocopy::FromBytes;

use super::fragment_store::FragmentStore;
use super::range::{coalesce, slice, truncated};
use super::reader::{ReadRange, ReadStats, Reader};
use crate::format::Format;
use crate::num::{Span, as_u64, size_u64, span};
use crate::report::{Error, ErrorKind, Result};

/// The bytes of a file, wherever they come from.
///
/// | made by | reads | copies |
/// |---|---|---|
/// | [`open`](Self::open) | only the requested ranges, by positioned reads | once, into memory |
/// | [`map`](Self::map) | the pages that are used, by page faults | nothing |
/// | [`from_bytes`](Self::from_bytes) | nothing | nothing |
/// | [`ranged`](Self::ranged) | only the requested ranges | as the reader does |
/// | [`Fragments::source`](crate::Fragments::source) | nothing; reports missing ranges | where pieces are joined |
///
/// Cloning is cheap and shares everything. Views keep the bytes alive that they show.
#[derive(Clone)]
pub struct Source {
    pub(super) backing: Backing,
    cached: Arc<[Piece]>,
    file: Option<Arc<OpenedFile>>,
    /// The map that `backing` shares, to advise the system about it.
    #[cfg(feature = "mmap")]
    map: Option<Arc<FileMap>>,
    format: Option<Format>,
}

/// A map, and the file that it shows.
#[cfg(feature = "mmap")]
struct FileMap {
    map: Arc<memmap2::Mmap>,
    #[cfg(all(target_os = "linux", not(miri)))]
    file: Option<page_cache::OpenFile>,
}

/// Advises the system to read pages of a map, where it takes advice. Without it they are read when they are used.
#[cfg(feature = "mmap")]
fn will_use(mapped: &FileMap, range: Range<u64>) {
    #[cfg(all(unix, not(miri)))]
    {
        let map = &mapped.map;
        /// Linux reads no more for each advice than the largest request of the disk, which is at least this.
        const PIECE: usize = 128 << 10;
        /// A damaged file can declare any length.
        const MAX_LENGTH: usize = 256 << 20;
        let start = crate::num::as_usize(range.start);
        let end = crate::num::as_usize(range.end)
            .min(start.saturating_add(MAX_LENGTH))
            .min(map.len());
        // Advice takes 40 times as long as this question if nothing has to be read.
        #[cfg(target_os = "linux")]
        if let Some(file) = &mapped.file
            && page_cache::has(file, start..end)
        {
            return;
        }
        for piece in (start..end).step_by(PIECE) {
            let length = end.saturating_sub(piece).min(PIECE);
            let advised = map.advise_range(memmap2::Advice::WillNeed, piece, length);
            if advised.is_err() {
                return;
            }
        }
    }
    #[cfg(any(not(unix), miri))]
    let _ = (mapped, range);
}

/// The pages of files that Linux has in memory.
#[cfg(all(feature = "mmap", target_os = "linux", not(miri)))]
mod page_cache {
    use std::fs::File;
    use std::ops::Range;
    use std::os::fd::AsRawFd;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use crate::num::as_u64;

    /// A file that stays open, to ask about its pages.
    pub(super) struct OpenFile(File);

    /// The number of files that are open.
    static OPEN: AtomicUsize = AtomicUsize::new(0);

    impl OpenFile {
        /// `None` if many files are open: most systems allow a program 1,024 of them, and maps need none.
        pub(super) fn new(file: File) -> Option<Self> {
            const MOST: usize = 64;
            if OPEN.fetch_add(1, Ordering::Relaxed) >= MOST {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                return None;
            }
            Some(Self(file))
        }
    }

    impl Drop for OpenFile {
        fn drop(&mut self) {
            OPEN.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// `struct cachestat_range` of Linux.
    #[repr(C)]
    struct CachestatRange {
        off: u64,
        len: u64,
    }

    /// `struct cachestat` of Linux. All numbers are pages.
    #[repr(C)]
    #[derive(Default)]
    struct Cachestat {
        nr_cache: u64,
        nr_dirty: u64,
        nr_writeback: u64,
        nr_evicted: u64,
        nr_recently_evicted: u64,
    }

    /// Returns `true` if all pages of a range are in memory. Returns `false` if Linux does not answer: it does since version 6.5, and
    /// since 6.15 only to the owner of a file and to those who may write into it.
    ///
    /// `mincore` answers on all versions, but calls all pages of files that may not be written present.
    pub(super) fn has(file: &OpenFile, range: Range<usize>) -> bool {
        /// The same number on all processors that Linux runs on, except for Alpha and MIPS.
        const SYS_CACHESTAT: libc::c_long = 451;
        if !cfg!(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            target_arch = "riscv64"
        )) {
            return false;
        }
        if range.is_empty() {
            // Linux would take a length of 0 as the rest of the file.
            return true;
        }
        let last_byte = range.end.saturating_sub(1);
        let asked = CachestatRange {
            off: as_u64(range.start),
            len: as_u64(range.len()),
        };
        let mut found = Cachestat::default();
        #[allow(unsafe_code, reason = "no safe function makes this call")]
        // SAFETY: the descriptor is open, both structures have the layout of the call, and Linux writes into the second one only.
        let (status, page) = unsafe {
            let file = file.0.as_raw_fd();
            let status = libc::syscall(SYS_CACHESTAT, file, &raw const asked, &raw mut found, 0);
            (status, libc::sysconf(libc::_SC_PAGESIZE))
        };
        let page = usize::try_from(page).unwrap_or(0);
        let (Some(first), Some(last)) =
            (range.start.checked_div(page), last_byte.checked_div(page))
        else {
            return false;
        };
        let pages = last.saturating_sub(first).saturating_add(1);
        status == 0 && found.nr_cache >= as_u64(pages)
    }
}

/// The bytes of a map.
#[cfg(feature = "mmap")]
struct Mapped(Arc<memmap2::Mmap>);

#[cfg(feature = "mmap")]
impl AsRef<[u8]> for Mapped {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[derive(Clone)]
pub(super) enum Backing {
    Memory(Bytes),
    Reader(Arc<Reader>),
    Fragments(Arc<FragmentStore>),
}

/// Bytes that were read ahead, so that their neighbours cost no further read.
#[derive(Clone)]
struct Piece {
    range: Range<u64>,
    bytes: Bytes,
}

struct OpenedFile {
    path: Option<Arc<Path>>,
    identity: Identity,
}

impl Source {
    /// Opens a file lazily: only requested ranges are read, by positioned reads.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](ErrorKind::Io) if the file cannot be opened, or is a directory; [`Unsupported`](ErrorKind::Unsupported) for
    /// pipes, sockets and devices, and for files that do not report their length, such as files in `/proc`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let (file, opened) = open_file(path.as_ref())?;
        let reader = Reader::new(file);
        // The length at opening is the one that every range is checked against.
        let _ = reader.len.set(opened.identity.len);
        Ok(Self::new(
            Backing::Reader(Arc::new(reader)),
            Some(Arc::new(opened)),
        ))
    }

    /// Maps a file into memory: views show the pages of the file itself. For files on local disks.
    ///
    /// An empty file maps to an empty source. On Unix, the system is advised about the pages of a CGeo file, and of no other:
    ///
    /// | call | advice |
    /// |---|---|
    /// | [`Proxy::from_source`](crate::cgeo::Proxy::from_source) | `MADV_RANDOM` for the map: the system reads nothing ahead |
    /// | arrays and meshes of a [`Snapshot`](crate::cgeo::Snapshot) | `MADV_WILLNEED` for the bytes that they are likely to need |
    /// | [`Proxy::play`](crate::cgeo::Proxy::play) | `MADV_WILLNEED` for the snapshots that come next |
    ///
    /// `MADV_WILLNEED` is given in pieces of 128 KiB, for at most 256 MiB. Linux 6.5 and later is first asked whether something has to
    /// be read (`cachestat`): up to 64 maps at a time keep their file open for this question.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open), and [`Io`](ErrorKind::Io) if the file cannot be mapped.
    ///
    /// # Safety
    ///
    /// While any view of this source lives, no process may truncate the file or write into it: the bytes of shared
    /// references would change, and a page after the new end faults. Replace a file by renaming a new one over it;
    /// [`is_stale`](Self::is_stale) reports that this happened.
    #[cfg(feature = "mmap")]
    #[allow(
        unsafe_code,
        reason = "memory maps cannot be made safely; this is the only place that makes one"
    )]
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self> {
        let (file, opened) = open_file(path.as_ref())?;
        if opened.identity.len == 0 {
            return Ok(Self::new(
                Backing::Memory(Bytes::new()),
                Some(Arc::new(opened)),
            ));
        }
        // SAFETY: the caller promises that the file is not changed while views of the map live, and the map lives
        // in the reference-counted owner of those views.
        let map = unsafe { memmap2::Mmap::map(&file) }
            .map_err(|error| Error::io(error, "file").in_file(opened.path.as_ref()))?;
        let map = Arc::new(map);
        let bytes = Bytes::from_owner(Mapped(Arc::clone(&map)));
        let map = FileMap {
            map,
            #[cfg(all(target_os = "linux", not(miri)))]
            file: page_cache::OpenFile::new(file),
        };
        Ok(Self {
            map: Some(Arc::new(map)),
            ..Self::new(Backing::Memory(bytes), Some(Arc::new(opened)))
        })
    }

    /// Reads an open file lazily, as [`open`](Self::open) does. Its position is not used.
    ///
    /// The source has an [`identity`](Self::identity), and no path until [`with_path`](Self::with_path).
    ///
    /// # Errors
    ///
    /// Returns the errors of [`open`](Self::open), except for failures to open.
    pub fn from_file(file: File) -> Result<Self> {
        let identity = check_file(&file)?;
        let reader = Reader::new(file);
        let _ = reader.len.set(identity.len);
        Ok(Self::new(
            Backing::Reader(Arc::new(reader)),
            Some(Arc::new(OpenedFile {
                path: None,
                identity,
            })),
        ))
    }

    /// This source with the path that errors name and [`is_stale`](Self::is_stale) compares with.
    ///
    /// For sources that are not opened by path: [`from_file`](Self::from_file), or [`from_bytes`](Self::from_bytes) of a map that
    /// the caller made. The latter gets the [`identity`](Self::identity) of the file that is now at the path.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](ErrorKind::Io) if the source has no identity and the file at the path cannot be examined.
    pub fn with_path(self, path: impl AsRef<Path>) -> Result<Self> {
        let path: Arc<Path> = Arc::from(path.as_ref());
        let identity = match &self.file {
            Some(file) => file.identity,
            None => match std::fs::metadata(&path) {
                Ok(metadata) => Identity::of(&metadata),
                Err(error) => return Err(Error::io(error, "file").in_file(Some(&path))),
            },
        };
        Ok(Self {
            file: Some(Arc::new(OpenedFile {
                path: Some(path),
                identity,
            })),
            ..self
        })
    }

    /// Takes bytes in memory: a `Vec<u8>`, a `&'static [u8]`, `Bytes`, `Bytes::from_owner` of anything.
    #[must_use]
    pub fn from_bytes(bytes: impl Into<Bytes>) -> Self {
        Self::new(Backing::Memory(bytes.into()), None)
    }

    /// Takes any store that answers byte ranges: an object store, an archive, a browser's file.
    #[must_use]
    pub fn ranged(reader: impl ReadRange + 'static) -> Self {
        Self::new(Backing::Reader(Arc::new(Reader::new(reader))), None)
    }

    pub(super) fn of_fragments(store: Arc<FragmentStore>) -> Self {
        Self::new(Backing::Fragments(store), None)
    }

    fn new(backing: Backing, file: Option<Arc<OpenedFile>>) -> Self {
        Self {
            backing,
            cached: Arc::new([]),
            file,
            #[cfg(feature = "mmap")]
            map: None,
            format: None,
        }
    }

    /// This source, naming `format` in its errors.
    pub(crate) fn for_format(&self, format: Format) -> Self {
        Self {
            format: Some(format),
            ..self.clone()
        }
    }

    /// Adds the format and the path of the file to an error, unless it has them.
    pub(crate) fn locate(&self, error: Error) -> Error {
        error.format_is(self.format).in_file(self.path())
    }

    /// The path that errors name, if it is known.
    pub(crate) fn path(&self) -> Option<&Arc<Path>> {
        self.file.as_ref()?.path.as_ref()
    }

    /// The length in bytes, if it is known. The length of files and memory is always known.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](ErrorKind::Io) if the reader fails.
    pub fn len(&self) -> Result<Option<u64>> {
        match &self.backing {
            Backing::Memory(bytes) => Ok(Some(as_u64(bytes.len()))),
            Backing::Reader(reader) => reader
                .len()
                .map_err(|error| self.locate(Error::of_reader(error, "length of the source"))),
            Backing::Fragments(store) => Ok(store.len()),
        }
    }

    /// Reads the bytes of a range. They are shared, not copied, if the source is mapped or in memory.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](ErrorKind::Truncated) if the source ends before the range does,
    /// [`NeedBytes`](ErrorKind::NeedBytes) if fragments have not been supplied, [`Io`](ErrorKind::Io) if the reader fails, and
    /// [`OutOfRange`](ErrorKind::OutOfRange) for a range that ends before it starts.
    pub fn read(&self, range: Range<u64>) -> Result<Bytes> {
        self.get(range, "range")
    }

    /// Like `read`; errors call the range `what`.
    pub(crate) fn get(&self, range: Range<u64>, what: &'static str) -> Result<Bytes> {
        self.try_get(range.clone(), what)
            .map_err(|error| self.locate(error))
    }

    fn try_get(&self, range: Range<u64>, what: &'static str) -> Result<Bytes> {
        if range.end < range.start {
            return Err(Error::new(ErrorKind::OutOfRange, what)
                .at(range)
                .expected("an end after the start"));
        }
        if let Some(len) = self.len()?
            && range.end > len
        {
            return Err(truncated(&range, len.saturating_sub(range.start), what));
        }
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        match &self.backing {
            Backing::Memory(bytes) => match slice(bytes, 0, &range) {
                Some(bytes) => Ok(bytes),
                None => Err(truncated(&range, 0, what)),
            },
            Backing::Reader(reader) => match self.find_cached(&range) {
                Some(bytes) => Ok(bytes),
                None => reader.read(&range, what),
            },
            Backing::Fragments(store) => store
                .get(&range)
                .map_err(|missing| Error::new(ErrorKind::NeedBytes(missing), what).at(range)),
        }
    }

    /// Reads a range into memory of its length. A reader fills that memory itself.
    pub(crate) fn read_to(
        &self,
        range: Range<u64>,
        what: &'static str,
        out: &mut [u8],
    ) -> Result<()> {
        if let Backing::Reader(reader) = &self.backing
            && !self.is_cached(&range)
            && range.length() == as_u64(out.len())
            && let Some(len) = self.len()?
            && range.end <= len
        {
            let read = reader.read_to(&range, what, out);
            return read.map_err(|error| self.locate(error));
        }
        // Bytes that are shared, or an error that `get` reports.
        let bytes = self.get(range, what)?;
        if bytes.len() == out.len() {
            out.copy_from_slice(&bytes);
        }
        Ok(())
    }

    /// The bytes of a range, if one of the pieces that were read ahead contains it.
    fn find_cached(&self, range: &Range<u64>) -> Option<Bytes> {
        let mut pieces = self.cached.iter();
        pieces.find_map(|piece| slice(&piece.bytes, piece.range.start, range))
    }

    /// The structure at an offset.
    pub(crate) fn read_struct<T>(&self, offset: u64, what: &'static str) -> Result<T>
    where
        T: FromBytes,
    {
        // In memory a structure is copied from its bytes, without making a view of them first.
        if let Backing::Memory(bytes) = &self.backing
            && let Ok(start) = usize::try_from(offset)
            && let Some(rest) = bytes.get(start..)
            && let Ok((structure, _)) = T::read_from_prefix(rest)
        {
            return Ok(structure);
        }
        let bytes = self.get(span(offset, size_u64::<T>()), what)?;
        // Fails only for a range that `span` has cut at the end of the address space.
        T::read_from_bytes(&bytes).map_err(|_| {
            let range = offset..u64::MAX;
            self.locate(truncated(&range, as_u64(bytes.len()), what))
        })
    }

    /// This source with its first `preferred` bytes read, or as many as there are. The first `required` must be there.
    pub(crate) fn with_head(
        &self,
        required: u64,
        preferred: u64,
        what: &'static str,
    ) -> Result<Self> {
        match &self.backing {
            Backing::Memory(_) => Ok(self.clone()),
            Backing::Reader(_) => {
                let len = self.len()?.unwrap_or(u64::MAX);
                let end = len.min(preferred);
                if self.is_cached(&(0..end)) {
                    Ok(self.clone())
                } else {
                    self.fetch(&[0..end], what)
                }
            }
            Backing::Fragments(store) => {
                let len = store.len().unwrap_or(u64::MAX);
                self.need(&(0..len.min(required)), 0..preferred, what)
            }
        }
    }

    /// This source with these ranges read, neighbours together. Ranges beyond the end are skipped: the read that uses
    /// such a range reports the error.
    pub(crate) fn with_ranges(&self, ranges: &[Range<u64>], what: &'static str) -> Result<Self> {
        /// Bytes between two ranges that are cheaper to read than another request.
        const GAP: u64 = 16 << 10;
        let len = self.len()?.unwrap_or(u64::MAX);
        let mut wanted = Vec::new();
        for range in ranges {
            let can_be_read = !range.is_empty() && range.end <= len;
            if can_be_read && !self.is_cached(range) {
                wanted.push(range.clone());
            }
        }
        match &self.backing {
            Backing::Memory(_) => Ok(self.clone()),
            Backing::Reader(_) => self.fetch(&coalesce(&wanted, GAP), what),
            Backing::Fragments(store) => match store.want_all(&wanted) {
                None => Ok(self.clone()),
                Some(missing) => {
                    let range = missing.clone();
                    Err(Error::new(ErrorKind::NeedBytes(missing), what)
                        .at(range)
                        .format_is(self.format))
                }
            },
        }
    }

    /// For fragments, returns an error that requests all of these ranges, unless all of them have been supplied.
    pub(crate) fn want(
        &self,
        ranges: impl Iterator<Item = Range<u64>>,
        what: &'static str,
    ) -> Result<()> {
        match &self.backing {
            Backing::Fragments(_) => {
                let ranges: Vec<_> = ranges.collect();
                self.with_ranges(&ranges, what)?;
                Ok(())
            }
            Backing::Memory(_) | Backing::Reader(_) => Ok(()),
        }
    }

    /// Returns an error if the source ends before these ranges do.
    ///
    /// The length of a source may be unknown when a file is opened. Limits grow with the stored bytes of an array, and its
    /// memory is allocated before these bytes are read. They must exist: a damaged file can declare any number of them.
    pub(crate) fn require(&self, ranges: &[Range<u64>], what: &'static str) -> Result<()> {
        let filled = ranges.iter().filter(|range| !range.is_empty());
        let Some(last) = filled.max_by_key(|range| range.end) else {
            return Ok(());
        };
        let len = self.len()?;
        if self.is_in_memory() {
            return Ok(());
        }
        if let Some(len) = len
            && last.end <= len
        {
            return Ok(());
        }
        if len.is_none() && matches!(self.backing, Backing::Fragments(_)) {
            return self.want(ranges.iter().cloned(), what);
        }
        let last_byte = last.end.saturating_sub(1)..last.end;
        if self.get(last_byte, what).is_ok() {
            return Ok(());
        }
        // The error of reading all of it reports the number of bytes that exist.
        self.get(last.clone(), what)?;
        Ok(())
    }

    /// Lets the system, or the caller's reader, fetch bytes that will be used soon.
    pub(crate) fn will_read(&self, range: Range<u64>) {
        match &self.backing {
            Backing::Reader(reader) => reader.will_read(range),
            #[cfg(feature = "mmap")]
            Backing::Memory(_) => {
                if let Some(map) = &self.map {
                    will_use(map, range);
                }
            }
            #[cfg(not(feature = "mmap"))]
            Backing::Memory(_) => {}
            Backing::Fragments(_) => {}
        }
    }

    /// Advises the system to read only the pages of a map that are used or advised: nothing ahead of them.
    pub(crate) fn reads_at_random(&self) {
        #[cfg(all(feature = "mmap", unix, not(miri)))]
        if let Some(mapped) = &self.map {
            let _ = mapped.map.advise(memmap2::Advice::Random);
        }
    }

    /// Returns `true` for a map, whose pages the system reads.
    pub(crate) fn is_mapped(&self) -> bool {
        #[cfg(feature = "mmap")]
        return self.map.is_some();
        #[cfg(not(feature = "mmap"))]
        false
    }

    /// All bytes of a map or of memory, which need no read.
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match &self.backing {
            Backing::Memory(bytes) => Some(bytes),
            Backing::Reader(_) | Backing::Fragments(_) => None,
        }
    }

    /// Returns `true` if no range needs a read, as for maps and memory.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.in_memory().is_some()
    }

    /// Returns `true` if the source reads a file of the system, where a few bytes cost as much as a few thousand.
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns `true` if the source reads through the caller's reader, which may do anything.
    pub(crate) fn has_own_reader(&self) -> bool {
        matches!(self.backing, Backing::Reader(_)) && self.file.is_none()
    }

    /// Returns `true` if these bytes are available without a read.
    pub(crate) fn is_cached(&self, range: &Range<u64>) -> bool {
        match &self.backing {
            Backing::Memory(_) => true,
            Backing::Reader(_) => self.cached.iter().any(|piece| piece.range.covers(range)),
            Backing::Fragments(store) => store.has(range),
        }
    }

    /// This source with these ranges read and cached, in place of cached pieces that they contain.
    pub(super) fn fetch(&self, ranges: &[Range<u64>], what: &'static str) -> Result<Self> {
        let Backing::Reader(reader) = &self.backing else {
            return Ok(self.clone());
        };
        let mut pieces = Vec::new();
        for piece in self.cached.iter() {
            let is_replaced = ranges.iter().any(|range| range.covers(&piece.range));
            if !is_replaced {
                pieces.push(piece.clone());
            }
        }
        for range in ranges {
            if range.is_empty() {
                continue;
            }
            let bytes = reader.read_some(range, what);
            let bytes = bytes.map_err(|error| self.locate(error))?;
            let end = range.start.saturating_add(as_u64(bytes.len()));
            pieces.push(Piece {
                range: range.start..end,
                bytes,
            });
        }
        Ok(Self {
            cached: pieces.into(),
            ..self.clone()
        })
    }

    /// For fragments, returns an error that requests the `preferred` range, unless the `required` part of it has been
    /// supplied.
    pub(super) fn need(
        &self,
        required: &Range<u64>,
        preferred: Range<u64>,
        what: &'static str,
    ) -> Result<Self> {
        match &self.backing {
            Backing::Fragments(store) if !store.has(required) => {
                let missing = match store.want_all(&[preferred]) {
                    Some(missing) => missing,
                    None => required.clone(),
                };
                let error = Error::new(ErrorKind::NeedBytes(missing), what).at(required.clone());
                Err(error.format_is(self.format))
            }
            _ => Ok(self.clone()),
        }
    }

    /// The amount of data that this source and its clones have read so far. Maps and memory read nothing.
    #[must_use]
    pub fn read_stats(&self) -> ReadStats {
        match &self.backing {
            Backing::Reader(reader) => ReadStats {
                reads: reader.reads.load(Ordering::Relaxed),
                bytes: reader.bytes.load(Ordering::Relaxed),
            },
            _ => ReadStats::default(),
        }
    }

    /// Identity of the file at opening; `None` if the source is not a file.
    #[must_use]
    pub fn identity(&self) -> Option<&Identity> {
        let file = self.file.as_ref()?;
        Some(&file.identity)
    }

    /// `true` if the file at the path has been changed or replaced since. `false` if the source has no path.
    ///
    /// # Errors
    ///
    /// Returns [`Io`](ErrorKind::Io) if the system does not report the identity.
    pub fn is_stale(&self) -> Result<bool> {
        let Some(OpenedFile {
            path: Some(path),
            identity,
        }) = self.file.as_deref()
        else {
            return Ok(false);
        };
        match std::fs::metadata(path) {
            Ok(metadata) => Ok(Identity::of(&metadata) != *identity),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
            Err(error) => Err(self.locate(Error::io(error, "file"))),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match &self.backing {
            Backing::Memory(_) => "memory",
            Backing::Reader(_) => "reader",
            Backing::Fragments(_) => "fragments",
        };
        f.debug_struct("Source")
            .field("kind", &kind)
            .field("len", &self.len().ok().flatten())
            .finish()
    }
}

/// Identity of a file at opening: length, modification time, inode.
///
/// Equal identities mean the same file, unchanged as far as the system reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Identity {
    /// Length in bytes.
    pub len: u64,
    /// Time of the last modification, if the system keeps one.
    pub modified: Option<SystemTime>,
    /// Device and inode, on Unix.
    pub file_id: Option<(u64, u64)>,
}

impl Identity {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let file_id = {
            use std::os::unix::fs::MetadataExt;
            Some((metadata.dev(), metadata.ino()))
        };
        #[cfg(not(unix))]
        let file_id = None;
        Self {
            len: metadata.len(),
            modified: metadata.modified().ok(),
            file_id,
        }
    }
}

fn open_file(path: &Path) -> Result<(File, OpenedFile)> {
    let path = Arc::from(path);
    match try_open(&path) {
        Ok((file, identity)) => {
            let opened = OpenedFile {
                path: Some(path),
                identity,
            };
            Ok((file, opened))
        }
        Err(error) => Err(error.in_file(Some(&path))),
    }
}

fn try_open(path: &Path) -> Result<(File, Identity)> {
    let file = match open_without_waiting(path) {
        Ok(file) => file,
        Err(error) => {
            // Sockets cannot be opened at all: their error would not name the reason.
            if let Ok(metadata) = std::fs::metadata(path) {
                refuse_other_kinds(&metadata)?;
            }
            return Err(Error::io(error, "file"));
        }
    };
    let identity = check_file(&file)?;
    Ok((file, identity))
}

/// Returns the identity of a file that can be read by ranges, and an error for other files.
fn check_file(file: &File) -> Result<Identity> {
    let io_error = |error| Error::io(error, "file");
    let metadata = file.metadata().map_err(io_error)?;
    refuse_other_kinds(&metadata)?;
    // Files of systems such as /proc have content, and do not report its length.
    if metadata.len() == 0 {
        let first_byte = ReadRange::read(file, 0..1).map_err(io_error)?;
        if !first_byte.is_empty() {
            let error = Error::new(ErrorKind::Unsupported, "file");
            let error = error.expected("a file that knows its length");
            return Err(error.found("one of length 0 that has content"));
        }
    }
    Ok(Identity::of(&metadata))
}

/// Opens a file for reading. A named pipe without a writer is also opened, instead of waiting for a writer.
///
/// Checking the file's kind beforehand would cost a second lookup of the path, and could check another file. Miri does not know the
/// flags.
#[cfg(all(unix, not(miri)))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let opened = File::options()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path);
    match opened {
        // Another process holds a lease on the file, and is now asked to give it up.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => File::open(path),
        opened => opened,
    }
}

#[cfg(any(not(unix), miri))]
fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Returns an error unless the file is a regular file: others cannot be read by ranges.
fn refuse_other_kinds(metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    if metadata.is_dir() {
        return Err(Error::io(io::ErrorKind::IsADirectory.into(), "file"));
    }
    let error = Error::new(ErrorKind::Unsupported, "file").expected("a regular file");
    let kind = kind_of(metadata.file_type());
    Err(error.found(format_args!("{kind}, which cannot be read by ranges")))
}

#[cfg(unix)]
fn kind_of(kind: std::fs::FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_char_device() {
        "a character device"
    } else if kind.is_block_device() {
        "a block device"
    } else {
        "something else"
    }
}

#[cfg(not(unix))]
fn kind_of(_: std::fs::FileType) -> &'static str {
    "something else"
}

#[cfg(all(test, feature = "mmap", target_os = "linux", not(miri)))]
mod tests {
    use std::fs::File;

    use rustix::fs::{Advice, fadvise, fstatfs};

    use super::page_cache::{self, OpenFile};

    #[test]
    fn pages_are_in_memory_after_they_were_read() {
        const LENGTH: usize = 3 << 20;
        /// The file system that has all of its files in memory.
        const TMPFS: u32 = 0x0102_1994;
        let named = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&named, vec![1; LENGTH]).unwrap();
        let file = File::open(&named).unwrap();
        file.sync_all().unwrap();
        assert_eq!(std::fs::read(&named).unwrap().len(), LENGTH);
        let opened = OpenFile::new(file.try_clone().unwrap()).unwrap();
        if !page_cache::has(&opened, 0..LENGTH) {
            // This system does not answer.
            return;
        }
        assert!(page_cache::has(&opened, 4095..4097) && page_cache::has(&opened, 5..5));
        assert!(!page_cache::has(&opened, 0..2 * LENGTH));
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        let is_in_memory = u32::try_from(fstatfs(&file).unwrap().f_type) == Ok(TMPFS);
        assert_eq!(page_cache::has(&opened, 0..LENGTH), is_in_memory);
    }

    #[test]
    fn few_files_stay_open() {
        let named = tempfile::NamedTempFile::new().unwrap();
        let open = || OpenFile::new(File::open(&named).unwrap());
        let opened: Vec<_> = (0..100).filter_map(|_| open()).collect();
        assert!((1..=64).contains(&opened.len()), "{}", opened.len());
        drop(opened);
        assert!(open().is_some());
    }
}
