//! The CRC-32 of gzip with 64 bytes of tables, for modules whose size counts; `crc32fast` has 16 KiB.

/// The checksum of the bytes so far.
#[derive(Clone)]
pub(super) struct Crc(u32);

/// The checksums of the numbers below 16.
const TABLE: [u32; 16] = {
    let mut table = [0; 16];
    let mut number = 0_u32;
    while number < 16 {
        let mut rest = number;
        let mut bit = 0;
        while bit < 4 {
            rest = (rest >> 1) ^ if rest & 1 == 1 { 0xedb8_8320 } else { 0 };
            bit += 1;
        }
        #[expect(clippy::indexing_slicing, reason = "below 16")]
        {
            table[number as usize] = rest;
        }
        number += 1;
    }
    table
};

impl Crc {
    pub(super) fn new() -> Self {
        Self(u32::MAX)
    }

    pub(super) fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 ^= u32::from(*byte);
            for _ in 0..2 {
                #[expect(clippy::indexing_slicing, reason = "four bits")]
                let low = TABLE[(self.0 & 15) as usize];
                self.0 = (self.0 >> 4) ^ low;
            }
        }
    }

    pub(super) fn finalize(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_crc32fast() {
        let bytes: Vec<u8> = (0..1000_u32).map(|i| ((i * i) >> 3) as u8).collect();
        for length in [0, 1, 2, 9, 1000] {
            let mut crc = Crc::new();
            bytes[..length].chunks(7).for_each(|part| crc.update(part));
            assert_eq!(crc.finalize(), crc32fast::hash(&bytes[..length]));
        }
    }
}
