//! Files of images, made by hand.

/// Written by Pillow: eight by eight pixels of 200, 60 and 30.
pub(crate) const CMYK_JPEG: &str = "ffd8ffee000e41646f626500640000000000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffc000140800080008044311004d11005911004b1100ffc4001500010100000000000000000000000000000809ffc40014100100000000000000000000000000000000ffda000e0443004d0059004b00003f00600949f4aa6fffd9";
pub(crate) const PROGRESSIVE_JPEG: &str = "ffd8ffe000104a46494600010100000100010000ffdb0043000302020302020303030304030304050805050404050a070706080c0a0c0c0b0a0b0b0d0e12100d0e110e0b0b1016101113141515150c0f171816141812141514ffdb00430103040405040509050509140d0b0d1414141414141414141414141414141414141414141414141414141414141414141414141414141414141414141414141414ffc20011080008000803012200021101031101ffc4001500010100000000000000000000000000000006ffc4001501010100000000000000000000000000000607ffda000c030100021003100000019702ec1fffc40014100100000000000000000000000000000000ffda00080101000105027fffc40014110100000000000000000000000000000000ffda0008010301013f017fffc40014110100000000000000000000000000000000ffda0008010201013f017fffc40014100100000000000000000000000000000000ffda0008010100063f027fffc40014100100000000000000000000000000000000ffda0008010100013f217fffda000c0301000200030000001003ffc40014110100000000000000000000000000000000ffda0008010301013f107fffc40014110100000000000000000000000000000000ffda0008010201013f107fffc40014100100000000000000000000000000000000ffda0008010100013f107fffd9";
pub(crate) const LOSSY_WEBP: &str = "524946463e000000574542505650382032000000d001009d012a0800080000c01225a00274ba01f80003b000fef2a97ffdbb3faecfebb3feedbffeb60feb60feb60ffeb40000";
pub(crate) const LOSSY_WEBP_WITH_ALPHA: &str = "524946466200000057454250565038580a00000010000000070000070000414c50480a000000010750c088084444ff035650382032000000d001009d012a0800080000c01225a00274ba01f80003b000fef2a97ffdbb3faecfebb3feedbffeb60feb60feb60ffeb40000";

/// The PNG of the noise of a test.
pub(crate) const NOISE_LENGTH: usize = 18_222;
pub(crate) const NOISE_SUM: u32 = 2_649_291_703;

/// A TGA: its kind, its size, the bits of a pixel, the byte with the bits of alpha and the origin, and its pixels.
pub(crate) fn tga(kind: u8, size: [u16; 2], bits: u8, descriptor: u8, pixels: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, kind, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(size[0].to_le_bytes());
    bytes.extend(size[1].to_le_bytes());
    bytes.extend([bits, descriptor]);
    bytes.extend(pixels);
    bytes
}

/// The head of a BMP: its size, the bits of a pixel, and its compression.
pub(crate) fn bmp_head(size: [i32; 2], bits: u16, compression: u32) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    bytes.extend([0; 8]);
    bytes.extend(54u32.to_le_bytes());
    bytes.extend(40u32.to_le_bytes());
    bytes.extend(size[0].to_le_bytes());
    bytes.extend(size[1].to_le_bytes());
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(bits.to_le_bytes());
    bytes.extend(compression.to_le_bytes());
    bytes.extend([0; 20]);
    bytes
}

/// A DDS of blocks.
pub(crate) fn dds(size: [u32; 2], code: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut format = [0u32; 8];
    format[0] = 32;
    format[1] = 4;
    format[2] = u32::from_le_bytes(*code);
    dds_of(size, format, body)
}

/// A DDS of four bytes for each pixel: blue, green, red, and alpha or nothing.
pub(crate) fn dds_of_pixels(size: [u32; 2], has_alpha: bool, body: &[u8]) -> Vec<u8> {
    let (flags, alpha) = if has_alpha {
        (0x41, 0xFF00_0000)
    } else {
        (0x40, 0)
    };
    dds_of(
        size,
        [32, flags, 0, 32, 0xFF_0000, 0xFF00, 0xFF, alpha],
        body,
    )
}

fn dds_of(size: [u32; 2], format: [u32; 8], body: &[u8]) -> Vec<u8> {
    let mut bytes = b"DDS ".to_vec();
    let mut head = vec![124, 0x1007, size[1], size[0], 0, 0, 0];
    head.extend([0; 11]);
    head.extend(format);
    head.extend([0x1000, 0, 0, 0, 0]);
    for value in head {
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend(body);
    bytes
}

/// A file of RIFF with one chunk.
pub(crate) fn riff(name: &[u8; 4], body: &[u8]) -> Vec<u8> {
    let mut bytes = b"RIFF".to_vec();
    bytes.extend((body.len() as u32 + 12).to_le_bytes());
    bytes.extend(b"WEBP");
    bytes.extend(name);
    bytes.extend((body.len() as u32).to_le_bytes());
    bytes.extend(body);
    bytes
}

/// A PNG: its size, the bits, colour type and interlacing, chunks before the pixels, and rows with their filters.
pub(crate) fn png_of_rows(
    size: [u32; 2],
    kind: [u8; 3],
    chunks: &[(&[u8; 4], &[u8])],
    rows: &[u8],
) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1A\n".to_vec();
    let mut head = size.map(u32::to_be_bytes).concat();
    head.extend([kind[0], kind[1], 0, 0, kind[2]]);
    add_chunk(&mut bytes, b"IHDR", &head);
    for (name, body) in chunks {
        add_chunk(&mut bytes, name, body);
    }
    add_chunk(&mut bytes, b"IDAT", &stored(rows));
    add_chunk(&mut bytes, b"IEND", &[]);
    bytes
}

fn add_chunk(bytes: &mut Vec<u8>, name: &[u8; 4], body: &[u8]) {
    bytes.extend((body.len() as u32).to_be_bytes());
    let start = bytes.len();
    bytes.extend(name);
    bytes.extend(body);
    let mut crc = u32::MAX;
    for byte in &bytes[start..] {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xEDB8_8320 * (crc & 1));
        }
    }
    bytes.extend((!crc).to_be_bytes());
}

/// A stream of zlib that is not compressed.
fn stored(data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x78, 1];
    let mut blocks = data.chunks(65_535).peekable();
    while let Some(block) = blocks.next() {
        bytes.push(blocks.peek().is_none().into());
        let length = block.len() as u16;
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(block);
    }
    let (mut a, mut b) = (1u32, 0u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65_521;
        b = (b + a) % 65_521;
    }
    bytes.extend((b << 16 | a).to_be_bytes());
    bytes
}

/// Writes bits, the lowest first.
#[derive(Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
    used: u32,
}

impl BitWriter {
    pub(crate) fn write(&mut self, value: u32, count: u32) {
        for bit in 0..count {
            if self.used.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.last_mut().unwrap();
            *last |= ((value >> bit & 1) << (self.used % 8)) as u8;
            self.used += 1;
        }
    }

    /// Writes the highest bit first.
    pub(crate) fn write_reversed(&mut self, value: u32, count: u32) {
        for bit in (0..count).rev() {
            self.write(value >> bit & 1, 1);
        }
    }
}
