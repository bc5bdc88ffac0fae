//! Length-prefixed frames of records. A record lies within one frame, and memory is only allocated for bytes that were
//! read, whatever a length claims.

use std::io::{self, Read, Write};

use super::varint;

/// Size in bytes from which a frame is written.
const FRAME: usize = 64 * 1024;
/// Maximum size of a frame in bytes.
const MAX_FRAME: u32 = 64 * 1024 * 1024;

/// Why a text index cannot be decoded.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The reader failed, or the data is incomplete.
    #[error("cannot read the text index: {0}")]
    Io(#[from] io::Error),
    /// The data is of another format or version.
    #[error("not a text index, or one of the unknown version {0}: rebuild it from the entries")]
    Version(u64),
    /// A part, named by the value, is damaged.
    #[error("the text index is damaged ({0}): rebuild it from the entries")]
    Damaged(&'static str),
}

pub(super) struct Writer<'a> {
    out: &'a mut dyn Write,
    frame: Vec<u8>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, frame: Vec::with_capacity(FRAME * 2) }
    }

    /// Writes one record, appended by `write`.
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        write(&mut self.frame);
        if self.frame.len() >= FRAME { self.flush() } else { Ok(()) }
    }

    pub(super) fn end(mut self) -> io::Result<()> {
        if !self.frame.is_empty() {
            self.flush()?;
        }
        self.flush()
    }

    fn flush(&mut self) -> io::Result<()> {
        let length = u32::try_from(self.frame.len()).map_err(io::Error::other)?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&self.frame)?;
        self.frame.clear();
        Ok(())
    }
}

pub(super) struct Reader<'a> {
    input: &'a mut dyn Read,
    frame: Vec<u8>,
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(input: &'a mut dyn Read) -> Self {
        Self { input, frame: Vec::new(), at: 0 }
    }

    /// Reads one record with `read`; `None` from it means damaged data.
    pub(super) fn record<T>(
        &mut self,
        what: &'static str,
        read: impl FnOnce(&mut &[u8]) -> Option<T>,
    ) -> Result<T, DecodeError> {
        if self.at == self.frame.len() && self.next()? == 0 {
            return Err(DecodeError::Damaged(what));
        }
        let mut bytes = self.frame.get(self.at..).unwrap_or_default();
        let value = read(&mut bytes).ok_or(DecodeError::Damaged(what))?;
        self.at = self.frame.len() - bytes.len();
        Ok(value)
    }

    /// Reads the empty frame at the end.
    pub(super) fn end(mut self) -> Result<(), DecodeError> {
        if self.at != self.frame.len() || self.next()? != 0 {
            return Err(DecodeError::Damaged("data after its end"));
        }
        Ok(())
    }

    fn next(&mut self) -> Result<usize, DecodeError> {
        let mut length = [0; 4];
        self.input.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_FRAME {
            return Err(DecodeError::Damaged("length of a frame"));
        }
        self.frame.clear();
        self.at = 0;
        let read = Read::take(&mut *self.input, u64::from(length)).read_to_end(&mut self.frame)?;
        if read < length as usize {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        Ok(read)
    }
}

/// Length-prefixed bytes.
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    varint::write(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(super) fn read_bytes<'b>(bytes: &mut &'b [u8]) -> Option<&'b [u8]> {
    let length = usize::try_from(varint::read(bytes)?).ok()?;
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

pub(super) fn read_f32(bytes: &mut &[u8]) -> Option<f32> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(f32::from_le_bytes(*taken)).filter(|value| value.is_finite())
}
