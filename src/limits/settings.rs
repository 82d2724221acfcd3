use crate::report::{Cause, Error, ErrorKind, Limit};

/// Limits on the memory that a file may make the library use.
///
/// The limits are against small files that become huge, not against huge files: what is stored large may decode large. A
/// block may always decode to [`free_ratio`](Self::free_ratio) times its stored bytes, and a call to as many times what it
/// reads; beyond that, [`max_block_bytes`](Self::max_block_bytes) and [`max_total_bytes`](Self::max_total_bytes) count.
///
/// A call that returns decoded data uses no more memory than that at any time, not counting the stored bytes that it reads, the
/// headers, and 1 MiB for each thread at work. Bytes of a map cost nothing. Arrays that a caller copies out of views belong to the
/// caller.
///
/// # Examples
///
/// ```
/// use meshmap::{Limits, MeshFile, Options, Source};
///
/// // At most 64 MiB for one call, however large the file is.
/// let limits = Limits::default().with_max_total_bytes(64 << 20).with_free_ratio(0);
/// let source = Source::open("tests/data/iqm/valid/skin_multi_anim.iqm")?;
/// let file = MeshFile::from_source(source, &Options::default().with_limits(limits))?;
/// # assert!(!file.findings().iter().any(|finding| finding.detail.is_empty()));
/// # Ok::<(), meshmap::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(default, deny_unknown_fields)
)]
#[non_exhaustive]
pub struct Limits {
    /// The size in bytes of the largest decoded array or block. 512 MiB by default.
    pub max_block_bytes: u64,
    /// The most bytes that one call holds of what it decodes, all blocks together, and the most that a file object keeps
    /// for later calls. 1 GiB by default. Twice as much bounds the work of a [`Meter`](crate::Meter).
    pub max_total_bytes: u64,
    /// The decoded size that a block may always reach, as a multiple of its stored size, whatever the other limits are. 16 by
    /// default; 0 disables this allowance.
    pub free_ratio: u64,
    /// The maximum nesting depth of containers, in formats that nest them (LLSD). 96 by default, and never more than 256.
    pub max_depth: u32,
    #[cfg_attr(feature = "serde", serde(skip))]
    wording: Wording,
}

/// The wording of messages about limits. It decides nothing, so limits that differ only in it are equal: a file that is read with
/// either of them shares its cached snapshots.
#[derive(Clone, Copy, Debug)]
struct Wording {
    /// The options that raise `max_block_bytes`, `max_total_bytes` and `max_depth`.
    remedies: [&'static str; 3],
    /// The number of equal shares of the value that the user knows.
    shares: u64,
}

impl Default for Wording {
    fn default() -> Self {
        Self {
            remedies: [
                "Limits::with_max_block_bytes",
                "Limits::with_max_total_bytes",
                "Limits::with_max_depth",
            ],
            shares: 1,
        }
    }
}

impl PartialEq for Limits {
    fn eq(&self, other: &Self) -> bool {
        let Self {
            max_block_bytes,
            max_total_bytes,
            free_ratio,
            max_depth,
            wording: _,
        } = self;
        *max_block_bytes == other.max_block_bytes
            && *max_total_bytes == other.max_total_bytes
            && *free_ratio == other.free_ratio
            && *max_depth == other.max_depth
    }
}

impl Eq for Limits {}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_block_bytes: 512 << 20,
            max_total_bytes: 1 << 30,
            free_ratio: 16,
            max_depth: 96,
            wording: Wording::default(),
        }
    }
}

impl Limits {
    /// Sets [`max_block_bytes`](Self::max_block_bytes).
    #[must_use]
    pub fn with_max_block_bytes(mut self, bytes: u64) -> Self {
        self.max_block_bytes = bytes;
        self
    }

    /// Sets [`max_total_bytes`](Self::max_total_bytes).
    #[must_use]
    pub fn with_max_total_bytes(mut self, bytes: u64) -> Self {
        self.max_total_bytes = bytes;
        self
    }

    /// Sets [`free_ratio`](Self::free_ratio).
    #[must_use]
    pub fn with_free_ratio(mut self, ratio: u64) -> Self {
        self.free_ratio = ratio;
        self
    }

    /// Sets [`max_depth`](Self::max_depth).
    #[must_use]
    pub fn with_max_depth(mut self, depth: u32) -> Self {
        self.max_depth = depth;
        self
    }

    /// Sets the options that raise `max_block_bytes`, `max_total_bytes` and `max_depth`, as the program that the user is running names
    /// them.
    ///
    /// A message about a limit ends with `raise it with` and the option: the functions of this struct by default. An empty text leaves
    /// this out.
    #[must_use]
    pub fn with_remedies(mut self, remedies: [&'static str; 3]) -> Self {
        self.wording.remedies = remedies;
        self
    }

    /// The options that [`with_remedies`](Self::with_remedies) has set, or the functions of this struct: for messages about limits that a
    /// program makes itself.
    #[must_use]
    pub fn remedies(&self) -> [&'static str; 3] {
        self.wording.remedies
    }

    /// Sets the number of equal shares of a program's memory, of which these limits allow one. Messages name the whole, which is the
    /// value of the program's option.
    #[must_use]
    pub fn with_shares(mut self, shares: u64) -> Self {
        self.wording.shares = shares;
        self
    }

    /// The option that raises a limit.
    pub(crate) fn remedy(&self, limit: Limit) -> &'static str {
        let [block, total, depth] = self.remedies();
        match limit {
            Limit::BlockBytes => block,
            Limit::TotalBytes | Limit::Work => total,
            Limit::Depth => depth,
            Limit::Fixed(_) => "",
        }
    }

    /// The error of `what` that exceeds a limit.
    pub(crate) fn exceeded(
        &self,
        limit: Limit,
        allowed: u64,
        needed: Option<u64>,
        what: &'static str,
    ) -> Error {
        let shares = match limit {
            Limit::BlockBytes | Limit::TotalBytes => self.wording.shares,
            Limit::Work | Limit::Depth | Limit::Fixed(_) => 1,
        };
        let cause = Cause::Limit {
            limit,
            allowed: allowed.saturating_mul(shares),
            needed: needed.map(|needed| needed.saturating_mul(shares)),
            count: None,
            remedy: self.remedy(limit),
        };
        Error::new(ErrorKind::LimitExceeded, what).because(cause)
    }

    /// Returns the maximum decoded size of a block that occupies `stored` bytes in the file.
    pub(super) fn block(&self, stored: u64) -> u64 {
        self.max_block_bytes
            .max(stored.saturating_mul(self.free_ratio))
    }

    /// Returns the maximum number of bytes that a call may hold if it reads `read` bytes.
    pub(super) fn total(&self, read: u64) -> u64 {
        self.max_total_bytes
            .max(read.saturating_mul(self.free_ratio))
    }

    /// Returns the maximum work of a job that reads `read` bytes.
    pub(super) fn work(&self, read: u64) -> u64 {
        /// Deflate makes no more than 1,032 bytes of one, which a job may decode a few times.
        const OF_BYTE: u64 = 4096;
        /// The work that a small file may always cost: seconds.
        const FREE: u64 = 2 << 30;
        let free = self.max_total_bytes.saturating_mul(2).max(FREE);
        free.saturating_add(read.saturating_mul(OF_BYTE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setter_sets_one_limit() {
        let set = Limits::default()
            .with_max_block_bytes(1)
            .with_max_total_bytes(2)
            .with_free_ratio(3)
            .with_max_depth(4)
            .with_remedies(["block", "total", "depth"])
            .with_shares(5);
        let expected = [
            (set.max_block_bytes, 1),
            (set.max_total_bytes, 2),
            (set.free_ratio, 3),
            (set.max_depth.into(), 4),
        ];
        for (found, expected) in expected {
            assert_eq!(found, expected);
        }
        let error = set.exceeded(Limit::TotalBytes, 2, Some(3), "x").to_string();
        assert_eq!(
            error,
            "x needs 15 bytes, above the limit of 10 bytes; raise it with total"
        );
    }

    #[test]
    fn limits_that_differ_in_wording_are_equal() {
        let limits = Limits::default();
        assert_eq!(
            limits,
            limits.with_remedies(["--a", "--b", "--c"]).with_shares(9)
        );
        let others = [
            limits.with_max_block_bytes(1),
            limits.with_max_total_bytes(1),
            limits.with_free_ratio(1),
            limits.with_max_depth(1),
        ];
        for other in others {
            assert_ne!(limits, other);
        }
    }
}
