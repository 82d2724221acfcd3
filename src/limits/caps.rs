//! Caps: the most of what a file may have, far above what real files have. A file that exceeds one is refused with an error that
//! names it.

/// CGeo: bytes of the text of a header. Real ones have a few hundred.
pub(crate) const CGEO_HEADER: u32 = 1 << 20;

/// CGeo: entries that are searched for the end of a table whose length is not in the header. 40 hours at 15 snapshots per second.
pub(crate) const CGEO_TABLE: u64 = 2 << 20;

/// CGeo: sections of a snapshot. The published text has three kinds and names no number; samples of motion blur are sections.
pub(crate) const CGEO_SECTIONS: usize = 256;

/// CGeo: map channels; 3ds Max has a hundred. Each difference has the channels of the first snapshot, and stores nothing for empty
/// ones.
pub(crate) const CGEO_CHANNELS: u32 = 4096;

/// CGeo: times of a shutter. A renderer has some tens of samples.
pub(crate) const CGEO_KEYS: u64 = 65_536;

/// IQM: extensions. Known files have one or two.
pub(crate) const IQM_EXTENSIONS: u64 = 64;

/// IQM: vertex arrays whose alignment and overlap are checked. The compiler writes eight kinds and ten custom ones.
pub(crate) const IQM_CHECKED_ARRAYS: usize = 4096;

/// Second Life mesh: keys, faces, joints and assets; the viewer has not a tenth of that.
pub(crate) const SLMESH_PARTS: u32 = 4096;
