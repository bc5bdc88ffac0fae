//! File format: sections, each a sequence of checksummed blocks.
//!
//! `magic(8) version(u16) crc32c(u32)`, then blocks: `length(u32) crc32c(u32) bytes`, little-endian. The checksum also
//! covers the block's number in the file and its length, so that missing, duplicated and moved blocks are detected. A
//! block of length 0 ends a section, one of length `u32::MAX` the file, and nothing follows it.

use std::io::{self, Read, Write};

const MAGIC: [u8; 8] = *b"MUSTRIDX";
/// Must be incremented whenever the encoding of a section changes.
const VERSION: u16 = 1;
/// Maximum bytes of a block.
const BLOCK: usize = 1 << 20;
const END_OF_SECTION: u32 = 0;
const END_OF_FILE: u32 = u32::MAX;

fn damaged(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

fn checksum(number: u64, length: u32, bytes: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&number.to_le_bytes());
    let crc = crc32c::crc32c_append(crc, &length.to_le_bytes());
    crc32c::crc32c_append(crc, bytes)
}

fn head() -> ([u8; 10], u32) {
    let mut head = [0; 10];
    let (magic, version) = head.split_at_mut(MAGIC.len());
    magic.copy_from_slice(&MAGIC);
    version.copy_from_slice(&VERSION.to_le_bytes());
    (head, crc32c::crc32c(&head))
}

/// Writer of the format.
#[derive(Debug)]
pub(super) struct SectionWriter<W> {
    to: W,
    number: u64,
}

impl<W: Write> SectionWriter<W> {
    pub(super) fn begin(mut to: W) -> io::Result<Self> {
        let (head, crc) = head();
        to.write_all(&head)?;
        to.write_all(&crc.to_le_bytes())?;
        Ok(Self { to, number: 0 })
    }

    /// Writes a section.
    pub(super) fn section(&mut self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut section = OpenSection { file: self, block: Vec::new() };
        fill(&mut section)?;
        section.flush()?;
        self.block(END_OF_SECTION, &[])
    }

    /// Ends the file.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.block(END_OF_FILE, &[])?;
        Ok(self.to)
    }

    fn block(&mut self, length: u32, bytes: &[u8]) -> io::Result<()> {
        self.to.write_all(&length.to_le_bytes())?;
        self.to.write_all(&checksum(self.number, length, bytes).to_le_bytes())?;
        self.to.write_all(bytes)?;
        self.number += 1;
        Ok(())
    }
}

/// A section being written.
struct OpenSection<'a, W> {
    file: &'a mut SectionWriter<W>,
    block: Vec<u8>,
}

impl<W: Write> Write for OpenSection<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK - self.block.len());
        self.block.extend_from_slice(bytes.get(..taken).unwrap_or_default());
        if self.block.len() == BLOCK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::take(&mut self.block);
        self.file.block(u32::try_from(block.len()).map_err(io::Error::other)?, &block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }
}

/// Reader of the format.
#[derive(Debug)]
pub(super) struct SectionReader<R> {
    from: R,
    number: u64,
}

impl<R: Read> SectionReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// `InvalidData`: another format or version.
    pub(super) fn begin(mut from: R) -> io::Result<Self> {
        let (mut found, mut crc) = ([0; 10], [0; 4]);
        from.read_exact(&mut found)?;
        from.read_exact(&mut crc)?;
        if (found, u32::from_le_bytes(crc)) != head() {
            return Err(damaged("not a checkpoint file of this version"));
        }
        Ok(Self { from, number: 0 })
    }

    /// Reads a section, which must be consumed completely.
    ///
    /// # Errors
    /// `InvalidData` or `UnexpectedEof`: the file is damaged.
    pub(super) fn section<T>(&mut self, read: impl FnOnce(&mut dyn Read) -> io::Result<T>) -> io::Result<T> {
        let mut section = SectionInput { file: self, block: Vec::new(), at: 0, ended: false };
        let value = read(&mut section)?;
        if section.read(&mut [0])? != 0 {
            return Err(damaged("a section has data after its end"));
        }
        Ok(value)
    }

    /// Checks that the file ends here.
    ///
    /// # Errors
    /// The file is damaged or continues.
    pub(super) fn finish(mut self) -> io::Result<()> {
        if self.block()?.is_some() || self.from.read(&mut [0])? != 0 {
            return Err(damaged("the file has data after its end"));
        }
        Ok(())
    }

    /// Returns the next block; `None` at the end of the file.
    fn block(&mut self) -> io::Result<Option<Vec<u8>>> {
        let (mut length, mut crc) = ([0; 4], [0; 4]);
        self.from.read_exact(&mut length)?;
        self.from.read_exact(&mut crc)?;
        let length = u32::from_le_bytes(length);
        let taken = if length == END_OF_FILE { 0 } else { length as usize };
        if taken > BLOCK {
            return Err(damaged("a block is too long"));
        }
        let mut block = vec![0; taken];
        self.from.read_exact(&mut block)?;
        if checksum(self.number, length, &block) != u32::from_le_bytes(crc) {
            return Err(damaged("a checksum is wrong"));
        }
        self.number += 1;
        Ok((length != END_OF_FILE).then_some(block))
    }
}

/// A section being read.
struct SectionInput<'a, R> {
    file: &'a mut SectionReader<R>,
    block: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: Read> Read for SectionInput<'_, R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.at == self.block.len() && !self.ended && !to.is_empty() {
            self.block = self.file.block()?.ok_or_else(|| damaged("the file ends within a section"))?;
            (self.at, self.ended) = (0, self.block.is_empty());
        }
        let taken = self.block.get(self.at..).unwrap_or_default().read(to)?;
        self.at += taken;
        Ok(taken)
    }
}
