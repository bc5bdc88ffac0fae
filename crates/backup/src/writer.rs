//! Writes a signed backup.

use std::io::{self, Write};

use muster_tlog::NoteSigner;
use sha2::{Digest, Sha256};

use crate::{DOMAIN, Header, MAGIC};

/// Writes the header, then the content as it comes. The backup is complete only after [`SignedWriter::finish`].
pub struct SignedWriter<W> {
    to: W,
    digest: Sha256,
    signers: Vec<NoteSigner>,
}

impl<W: Write> SignedWriter<W> {
    /// Writes the header. Its keys become those of the signers.
    ///
    /// # Errors
    /// `InvalidInput` for a header that would not be read back; it cannot be written.
    pub fn new(mut to: W, mut header: Header, signers: Vec<NoteSigner>) -> io::Result<Self> {
        let invalid = |error: &dyn std::fmt::Display| io::Error::new(io::ErrorKind::InvalidInput, error.to_string());
        header.vkeys = signers.iter().map(|signer| signer.public().to_string()).collect();
        let bytes = header.to_bytes().map_err(|error| invalid(&error))?;
        let length = u32::try_from(bytes.len()).map_err(|error| invalid(&error))?;
        let start = [&MAGIC[..], &length.to_le_bytes(), &bytes].concat();
        to.write_all(&start)?;
        Ok(Self { to, digest: Sha256::new_with_prefix(&start), signers })
    }

    /// Writes the signatures. Returns the writer below, which is not flushed.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        let digest = self.digest.finalize();
        for signer in &self.signers {
            self.to.write_all(&signer.sign_bytes(DOMAIN, &digest))?;
        }
        Ok(self.to)
    }
}

impl<W: Write> Write for SignedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.digest.update(bytes.get(..written).unwrap_or(bytes));
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl<W> std::fmt::Debug for SignedWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SignedWriter")
    }
}
