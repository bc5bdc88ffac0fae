//! How a backup is encrypted: to recipients, where the settings name some, else with the caller's passphrase.

use std::io::Write;

use muster_core::{Error, Kind};
use muster_seal::{AgeRecipient, AgeWriter, Passphrase, SealError, SealWriter};
use serde_json::Value;

/// Who can read a backup.
#[derive(Debug)]
pub enum Protection {
    /// The owners of these keys, and nobody else: not the server, nor who fetched it.
    Recipients(Vec<AgeRecipient>),
    /// Who knows the passphrase.
    Passphrase(Passphrase),
}

impl Protection {
    /// Decides between the recipients of the settings and the passphrase of a request.
    ///
    /// # Errors
    /// `Invalid`: there is no passphrase and no recipient, or both, or the passphrase is too short.
    pub fn of(recipients: Vec<AgeRecipient>, passphrase: Option<&str>) -> Result<Self, Error> {
        let invalid = |why: String| Error::field(Kind::Invalid, &["body", "passphrase"], why, Value::Null);
        match (recipients.is_empty(), passphrase) {
            (false, None) => Ok(Self::Recipients(recipients)),
            (true, Some(text)) => {
                Passphrase::new(text).map(Self::Passphrase).map_err(|error| invalid(error.to_string()))
            }
            (true, None) => {
                Err(invalid("the backup needs a passphrase, because the server has no recipients".to_owned()))
            }
            (false, Some(_)) => Err(invalid(
                "this server encrypts backups to the recipients of its settings, who need no passphrase: leave it out"
                    .to_owned(),
            )),
        }
    }

    /// Begins an encrypted file. Slow for a passphrase, from which the key is derived first.
    ///
    /// # Errors
    /// [`SealError`].
    pub fn begin<W: Write>(&self, to: W) -> Result<ProtectedWriter<W>, SealError> {
        Ok(match self {
            Self::Recipients(recipients) => ProtectedWriter::Recipients(AgeWriter::new(to, recipients)?),
            Self::Passphrase(passphrase) => ProtectedWriter::Passphrase(Box::new(SealWriter::new(to, passphrase)?)),
        })
    }
}

/// Encrypts what is written to it.
#[derive(Debug)]
pub enum ProtectedWriter<W: Write> {
    Recipients(AgeWriter<W>),
    Passphrase(Box<SealWriter<W>>),
}

impl<W: Write> ProtectedWriter<W> {
    /// Writes the last chunk.
    ///
    /// # Errors
    /// [`SealError::Io`].
    pub fn finish(self) -> Result<W, SealError> {
        match self {
            Self::Recipients(writer) => writer.finish(),
            Self::Passphrase(writer) => writer.finish(),
        }
    }
}

impl<W: Write> Write for ProtectedWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match self {
            Self::Recipients(writer) => writer.write(bytes),
            Self::Passphrase(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match self {
            Self::Recipients(writer) => writer.flush(),
            Self::Passphrase(writer) => writer.flush(),
        }
    }
}
