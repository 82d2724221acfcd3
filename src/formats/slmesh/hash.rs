//! The MD5 hashes of blocks in the header.

use md5::{Digest, Md5};

use super::asset::Asset;
use super::layout::BLOCK;
use super::rules::{self, FILE};
use crate::num::Span;
use crate::report::{Finding, Findings, Result};

impl Asset {
    /// Compares the hashes of the header with the MD5 of the stored blocks.
    ///
    /// There is a finding if they differ, and one if blocks share bytes so often that not all are compared. The simulator fills
    /// hashes in for physics. A difference is only suspicious, as nothing published defines what is hashed.
    ///
    /// # Errors
    ///
    /// Returns an error if the blocks cannot be read.
    pub fn check_hashes(&self) -> Result<Vec<Finding>> {
        /// More than there are known blocks.
        const TIMES: u64 = 16;
        let mut findings = Findings::default();
        let mut hashed = 0_u64;
        let mut end = 0;
        for entry in self.entries() {
            let range = entry.range()?;
            let Some(hash) = entry.hash() else { continue };
            let Some(range) = range else { continue };
            let place = FILE.of(entry.address.clone()).at(range.clone());
            hashed = hashed.saturating_add(range.length());
            end = range.end.max(end);
            if hashed > end.saturating_mul(TIMES) {
                findings.add(rules::SHARED_TOO_OFTEN, || {
                    (place, "not compared with its hash")
                });
                break;
            }
            let stored = self
                .source()
                .get(range, BLOCK)
                .map_err(|error| place.locate(error))?;
            let found = Md5::digest(&stored);
            if hash[..] != found[..] {
                findings.add(rules::HASH, || {
                    let detail = format!("expected {}, found {}", hex(&hash), hex(&found));
                    (place, detail)
                });
            }
        }
        Ok(findings.into_vec())
    }
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    let mut digits = String::new();
    for byte in bytes {
        digits.push_str(&format!("{byte:02x}"));
    }
    digits
}
