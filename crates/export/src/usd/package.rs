//! USDZ: a zip archive of a stage and its images, which are not compressed. Each file begins at a multiple of 64 bytes, so that programs can
//! map it.
//!
//! Source: "USDZ File Format Specification" of Pixar, and APPNOTE.TXT of PKWARE. The stage is written in one pass, and a few bytes at its
//! beginning once more: no library for zip archives lets a writer go back in a file of an archive.

use std::io::{self, Read, Seek, SeekFrom, Write};

use crc32fast::Hasher;
use meshmap_job::Result;
use meshmap_outputs::open_regular;

use super::error::not_held;
use crate::images::Packed;

/// Files begin at multiples of it.
const ALIGNMENT: u64 = 64;

/// The bytes of a stage that are written twice.
const HEAD: usize = 88;

/// The kinds of records.
const FILE: u32 = 0x0403_4b50;
const ENTRY: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// The version of zip that readers need: 1.0.
const VERSION: u16 = 10;

/// The 1st of January 1980, the first day that archives know: the same input gives the same bytes.
const DATE: u16 = 1 << 5 | 1;

/// The kind of additional data that moves a file to its place, as USD writes it.
const PADDING: u16 = 0x1986;

/// An archive while it is written.
pub(super) struct Package<'a, W> {
    out: &'a mut W,
    position: u64,
    entries: Vec<Entry>,
}

/// A file of an archive.
struct Entry {
    name: String,
    /// The place of its record.
    start: u32,
    crc: u32,
    size: u32,
}

impl<'a, W: Write + Seek> Package<'a, W> {
    pub(super) fn begin(out: &'a mut W) -> Self {
        Self {
            out,
            position: 0,
            entries: Vec::new(),
        }
    }

    /// Adds a file, whose content is written by this function.
    pub(super) fn add(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Content<'_, W>) -> Result<()>,
    ) -> Result<()> {
        let mut entry = Entry {
            name: name.to_owned(),
            start: self.place()?,
            crc: 0,
            size: 0,
        };
        let record = entry.record(self.position);
        self.out.write_all(&record)?;
        let begin = self.position + record.len() as u64;
        let mut content = Content::begin(self.out, begin);
        write(&mut content)?;
        let size = content.size;
        entry.crc = content.crc();
        self.position = begin + size;
        entry.size = small(size)?;
        // Once more, with the size.
        self.out.seek(SeekFrom::Start(entry.start.into()))?;
        self.out.write_all(&entry.record(entry.start.into()))?;
        self.out.seek(SeekFrom::Start(self.position))?;
        self.entries.push(entry);
        Ok(())
    }

    /// Adds an image.
    pub(super) fn add_image(&mut self, image: &Packed) -> Result<()> {
        self.add(&image.name, |content| {
            match &image.png {
                Some(png) => content.write_all(png)?,
                None => {
                    let file = open_regular(&image.image)?;
                    let length = file.metadata()?.len();
                    io::copy(&mut file.take(length), content)?;
                }
            }
            Ok(())
        })
    }

    /// Writes the list of the files.
    pub(super) fn finish(self) -> Result<()> {
        let start = self.place()?;
        let mut list = Vec::new();
        for entry in &self.entries {
            entry.add_to(&mut list);
        }
        let count = u16::try_from(self.entries.len());
        let count = count.map_err(|_| not_held("more than 65,535 images".to_owned()))?;
        let size = small(list.len() as u64)?;
        list.extend(END.to_le_bytes());
        list.extend([0; 4]);
        list.extend([count, count].map(u16::to_le_bytes).as_flattened());
        list.extend([size, start].map(u32::to_le_bytes).as_flattened());
        list.extend([0; 2]);
        self.out.write_all(&list)?;
        Ok(())
    }

    /// The place of the next record.
    fn place(&self) -> Result<u32> {
        small(self.position)
    }
}

/// A size or a place in an archive, which readers of USD know with 32 bits.
fn small(number: u64) -> Result<u32> {
    let small = u32::try_from(number);
    small.map_err(|_| not_held("a package of 4 GiB or more: write usdc".to_owned()))
}

impl Entry {
    /// The record at a place, and the padding behind it.
    fn record(&self, place: u64) -> Vec<u8> {
        const LENGTH: u64 = 30;
        const HEAD_OF_PADDING: u64 = 4;
        let end = place + LENGTH + self.name.len() as u64;
        let mut padding = end.next_multiple_of(ALIGNMENT) - end;
        if padding > 0 && padding < HEAD_OF_PADDING {
            padding += ALIGNMENT;
        }
        let mut record = FILE.to_le_bytes().to_vec();
        self.add_common(padding, &mut record);
        record.extend(self.name.as_bytes());
        if let Some(rest) = padding.checked_sub(HEAD_OF_PADDING) {
            record.extend(PADDING.to_le_bytes());
            record.extend(u16_of(rest).to_le_bytes());
            record.resize(record.len() + usize::from(u16_of(rest)), 0);
        }
        record
    }

    /// The fields that a record and the list of files have.
    fn add_common(&self, padding: u64, out: &mut Vec<u8>) {
        const STORED: u16 = 0;
        for number in [VERSION, 0, STORED, 0, DATE] {
            out.extend(number.to_le_bytes());
        }
        for number in [self.crc, self.size, self.size] {
            out.extend(number.to_le_bytes());
        }
        out.extend(u16_of(self.name.len() as u64).to_le_bytes());
        out.extend(u16_of(padding).to_le_bytes());
    }

    /// Adds the entry to the list of files.
    fn add_to(&self, list: &mut Vec<u8>) {
        list.extend(ENTRY.to_le_bytes());
        list.extend(VERSION.to_le_bytes());
        self.add_common(0, list);
        // No comment, one disk, no attributes.
        list.extend([0; 10]);
        list.extend(self.start.to_le_bytes());
        list.extend(self.name.as_bytes());
    }
}

/// Names of files in archives are short.
fn u16_of(number: u64) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

/// The content of a file of an archive while it is written. Only its head may be written twice.
pub(super) struct Content<'a, W> {
    out: &'a mut W,
    /// The place in the archive.
    begin: u64,
    position: u64,
    size: u64,
    head: [u8; HEAD],
    body: Hasher,
}

impl<'a, W: Write + Seek> Content<'a, W> {
    fn begin(out: &'a mut W, begin: u64) -> Self {
        Self {
            out,
            begin,
            position: 0,
            size: 0,
            head: [0; HEAD],
            body: Hasher::new(),
        }
    }

    fn crc(self) -> u32 {
        let mut whole = Hasher::new();
        let of_head = usize::try_from(self.size).unwrap_or(HEAD).min(HEAD);
        whole.update(self.head.get(..of_head).unwrap_or_default());
        whole.combine(&self.body);
        whole.finalize()
    }
}

impl<W: Write + Seek> Write for Content<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let place = usize::try_from(self.position).unwrap_or(HEAD);
        let written = match self.head.get_mut(place..) {
            Some(head) if !head.is_empty() => {
                let length = head.len().min(bytes.len());
                let written = self.out.write(bytes.get(..length).unwrap_or_default())?;
                for (to, from) in head.iter_mut().zip(bytes).take(written) {
                    *to = *from;
                }
                written
            }
            _ if self.position == self.size => {
                let written = self.out.write(bytes)?;
                self.body.update(bytes.get(..written).unwrap_or_default());
                written
            }
            _ => return Err(io::ErrorKind::Unsupported.into()),
        };
        self.position += written as u64;
        self.size = self.size.max(self.position);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

impl<W: Write + Seek> Seek for Content<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(position) = to else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        self.out.seek(SeekFrom::Start(self.begin + position))?;
        self.position = position;
        Ok(position)
    }
}
