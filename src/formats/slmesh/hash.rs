//! The MD5 that the header has of a block, beside that of the block.

use md5::{Digest, Md5};

use super::asset::Asset;
use super::rules::{self, FILE};
use crate::report::{Finding, Findings, Result};

impl Asset {
    /// Compares the hashes of the header, which the simulator fills in for physics, with the MD5 of the stored blocks:
    /// a finding where they differ, suspicious only, for nothing published says what the hash is of. Nothing where there
    /// are no hashes.
    ///
    /// # Errors
    ///
    /// Those of reading the blocks.
    pub fn check_hashes(&self) -> Result<Vec<Finding>> {
        let mut findings = Findings::default();
        for entry in self.entries() {
            let (Some(hash), Some(range)) = (entry.hash(), entry.range()?) else { continue };
            let stored = self.source().get(range.clone(), "block")?;
            let found = Md5::digest(&stored);
            if hash[..] != found[..] {
                let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
                let detail = format!("expected {}, found {}", hex(&hash), hex(&found));
                findings.add(rules::HASH, || (FILE.of(entry.address.clone()).at(range), detail));
            }
        }
        Ok(findings.into_vec())
    }
}
