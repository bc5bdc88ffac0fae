//! Writes a sealed file.

use std::io::{self, Write};

use crate::{CHUNK, Passphrase, SealError, Sealer, TAG};

/// Encrypts what is written to it. The file is complete only after [`SealWriter::finish`].
#[derive(Debug)]
pub struct SealWriter<W> {
    to: W,
    sealer: Sealer,
    /// Content that is not encrypted yet.
    pending: Vec<u8>,
}

impl<W: Write> SealWriter<W> {
    /// Derives a new key and writes the header. Slow: see [`Sealer::new`].
    ///
    /// # Errors
    /// [`SealError::Random`], [`SealError::Io`].
    pub fn new(to: W, passphrase: &Passphrase) -> Result<Self, SealError> {
        Self::with_sealer(to, Sealer::new(passphrase)?)
    }

    pub(crate) fn with_sealer(mut to: W, sealer: Sealer) -> Result<Self, SealError> {
        to.write_all(sealer.header())?;
        Ok(Self { to, sealer, pending: Vec::with_capacity(CHUNK + TAG) })
    }

    /// Writes the last chunk. Returns the writer below, which is not flushed.
    ///
    /// # Errors
    /// [`SealError::Io`].
    pub fn finish(mut self) -> Result<W, SealError> {
        self.sealer.seal_last(&mut self.pending)?;
        self.to.write_all(&self.pending)?;
        Ok(self.to)
    }
}

impl<W: Write> Write for SealWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full chunk waits for more content, because the last chunk is encrypted differently.
        if self.pending.len() == CHUNK && !bytes.is_empty() {
            self.sealer.seal_next(&mut self.pending)?;
            self.to.write_all(&self.pending)?;
            self.pending.clear();
        }
        let taken = bytes.get(..CHUNK - self.pending.len()).unwrap_or(bytes);
        self.pending.extend_from_slice(taken);
        Ok(taken.len())
    }

    /// Flushes the writer below. Content of an incomplete chunk stays in memory until [`SealWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
