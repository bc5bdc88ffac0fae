use std::io::{self, Read, Write};

use super::DecodeError;

/// Element type of rows, stored little-endian.
pub(super) trait Element: Copy + Default + 'static {
    const SIZE: usize;
    fn put(numbers: &[Self], out: &mut Vec<u8>);
    fn take(bytes: &[u8]) -> Vec<Self>;
}

macro_rules! element {
    ($($number:ty),*) => {$(
        impl Element for $number {
            const SIZE: usize = size_of::<Self>();

            fn put(numbers: &[Self], out: &mut Vec<u8>) {
                out.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
            }

            fn take(bytes: &[u8]) -> Vec<Self> {
                let (numbers, _) = bytes.as_chunks::<{ size_of::<Self>() }>();
                numbers.iter().map(|number| Self::from_le_bytes(*number)).collect()
            }
        }
    )*};
}

element!(i8, u8, u32, f32);

/// Writer with a running checksum.
pub(super) struct ChecksumWriter<'a> {
    out: &'a mut dyn Write,
    sum: u32,
}

impl<'a> ChecksumWriter<'a> {
    pub fn new(out: &'a mut dyn Write) -> Self {
        Self { out, sum: 0 }
    }

    /// Writes the checksum (CRC-32C) of everything before.
    pub fn finish(self) -> io::Result<()> {
        self.out.write_all(&self.sum.to_le_bytes())
    }
}

impl Write for ChecksumWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum = crc32c::crc32c_append(self.sum, bytes.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reader of what [`ChecksumWriter`] wrote.
pub(super) struct ChecksumReader<'a> {
    input: &'a mut dyn Read,
    sum: u32,
    buffer: Vec<u8>,
}

impl<'a> ChecksumReader<'a> {
    pub fn new(input: &'a mut dyn Read) -> Self {
        Self { input, sum: 0, buffer: Vec::new() }
    }

    /// Reads the next bytes; `len` is at most one chunk of rows.
    pub fn bytes(&mut self, len: usize) -> Result<&[u8], DecodeError> {
        self.buffer.resize(len, 0);
        self.input.read_exact(&mut self.buffer)?;
        self.sum = crc32c::crc32c_append(self.sum, &self.buffer);
        Ok(&self.buffer)
    }

    /// Reads a number of 8 bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, DecodeError> {
        let bytes = self.bytes(8)?.first_chunk::<8>().copied().unwrap_or_default();
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads a number of at most `max`.
    pub fn bounded(&mut self, max: usize) -> Result<usize, DecodeError> {
        let number = usize::try_from(self.u64()?).ok().filter(|number| *number <= max);
        number.ok_or(DecodeError::Malformed("a number is out of its range"))
    }

    /// Reads the checksum, and checks that it is correct.
    pub fn check_end(mut self) -> Result<(), DecodeError> {
        let expected = self.sum;
        let stored = self.bytes(4)?.first_chunk::<4>().copied().unwrap_or_default();
        if u32::from_le_bytes(stored) == expected {
            Ok(())
        } else {
            Err(DecodeError::Malformed("its checksum differs"))
        }
    }
}
