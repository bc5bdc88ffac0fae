//! Files in the format age v1 (C2SP age), encrypted to recipients: the holder of one identity can decrypt them, and who
//! wrote them cannot.
//!
//! Recipients and identities are X25519 keys. Files to passphrases, plugins, SSH keys, and armored files, are not read.

use std::fmt;
use std::io::{self, BufRead, Cursor, Read, Write};
use std::str::FromStr;

use age::secrecy::ExposeSecret;
use age::{DecryptError, Decryptor, EncryptError, Encryptor};

use crate::SealError;

/// First bytes of a file in the format age v1.
pub const AGE_MAGIC: &[u8] = b"age-encryption.org/v1\n";
/// Maximum number of recipients of a file.
pub const MAX_RECIPIENTS: usize = 20;
/// Maximum length of a header, in bytes. The header of a file to [`MAX_RECIPIENTS`] recipients has a tenth of it.
const MAX_HEADER: u64 = 32 << 10;
/// Beginning of the first line of a stanza, which has the file's key for a recipient.
const STANZA: &[u8] = b"-> ";
/// Beginning of the last line of a header.
const HEADER_END: &[u8] = b"---";
/// Characters in each line of a stanza's body but the last.
const BODY_LINE: usize = 64;

/// Returns whether a file that begins with these bytes is in the format age v1.
#[must_use]
pub fn is_age(beginning: &[u8]) -> bool {
    beginning.starts_with(AGE_MAGIC)
}

/// A public key to which files are encrypted: `age1…`.
#[derive(Clone, PartialEq, Eq)]
pub struct AgeRecipient(age::x25519::Recipient);

impl FromStr for AgeRecipient {
    type Err = SealError;

    fn from_str(text: &str) -> Result<Self, SealError> {
        text.parse().map(Self).map_err(|_| SealError::Recipient)
    }
}

impl fmt::Display for AgeRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for AgeRecipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A private key that decrypts files: `AGE-SECRET-KEY-1…`. Its `Debug` shows the recipient only.
#[derive(Clone)]
pub struct AgeIdentity(age::x25519::Identity);

impl AgeIdentity {
    /// Generates an identity with the system's random numbers.
    #[must_use]
    pub fn generate() -> Self {
        Self(age::x25519::Identity::generate())
    }

    /// Returns the recipient whose files this identity decrypts.
    #[must_use]
    pub fn recipient(&self) -> AgeRecipient {
        AgeRecipient(self.0.to_public())
    }

    /// Returns the identity as a text, which is secret.
    #[must_use]
    pub fn to_secret_text(&self) -> String {
        self.0.to_string().expose_secret().to_owned()
    }
}

impl FromStr for AgeIdentity {
    type Err = SealError;

    fn from_str(text: &str) -> Result<Self, SealError> {
        text.parse().map(Self).map_err(|_| SealError::Identity)
    }
}

impl fmt::Debug for AgeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AgeIdentity").field(&self.recipient()).finish()
    }
}

/// Encrypts what is written to it, with memory for one chunk of 64 KiB. The file is complete only after
/// [`AgeWriter::finish`].
pub struct AgeWriter<W: Write>(age::stream::StreamWriter<W>);

impl<W: Write> AgeWriter<W> {
    /// Writes the header: the file's own key, encrypted to each recipient.
    ///
    /// # Errors
    /// [`SealError::Recipients`], [`SealError::Io`].
    pub fn new(to: W, recipients: &[AgeRecipient]) -> Result<Self, SealError> {
        if recipients.is_empty() || recipients.len() > MAX_RECIPIENTS {
            return Err(SealError::Recipients);
        }
        let recipients = recipients.iter().map(|recipient| &recipient.0 as &dyn age::Recipient);
        let encryptor = Encryptor::with_recipients(recipients).map_err(|error| match error {
            EncryptError::Io(error) => SealError::Io(error),
            _ => SealError::Recipients,
        })?;
        Ok(Self(encryptor.wrap_output(to)?))
    }

    /// Writes the last chunk. Returns the writer below, which is not flushed.
    ///
    /// # Errors
    /// [`SealError::Io`].
    pub fn finish(self) -> Result<W, SealError> {
        Ok(self.0.finish()?)
    }
}

impl<W: Write> Write for AgeWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// Flushes the writer below. Content of an incomplete chunk stays in memory until [`AgeWriter::finish`].
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl<W: Write> fmt::Debug for AgeWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgeWriter")
    }
}

/// Decrypts a file, with memory for one chunk. Only content that was verified is returned; a file that was changed or cut
/// ends in an error of the kind `InvalidData`, and goes on returning it.
pub struct AgeReader<R> {
    stream: age::stream::StreamReader<io::Chain<Cursor<Vec<u8>>, R>>,
    damaged: bool,
}

impl<R: BufRead> AgeReader<R> {
    /// Reads the header and decrypts the file's key with one of the identities.
    ///
    /// # Errors
    /// [`SealError::NotSealed`] for what is no file in the format age v1, [`SealError::OtherRecipients`],
    /// [`SealError::Damaged`], [`SealError::Io`].
    pub fn new(mut from: R, identities: &[AgeIdentity]) -> Result<Self, SealError> {
        // The header is parsed only when it is complete, so that its length has a bound.
        let header = read_header(&mut from)?;
        let decryptor = Decryptor::new_buffered(Cursor::new(header).chain(from)).map_err(refusal)?;
        let identities = identities.iter().map(|identity| &identity.0 as &dyn age::Identity);
        Ok(Self { stream: decryptor.decrypt(identities).map_err(refusal)?, damaged: false })
    }
}

/// Reads the lines up to that with the authentication code.
///
/// The stanzas must have the form of the specification: `age` also reads those whose body has no last line, of fewer than
/// 64 characters.
fn read_header(from: &mut impl BufRead) -> Result<Vec<u8>, SealError> {
    let mut from = from.take(MAX_HEADER);
    let mut header = Vec::new();
    from.read_until(b'\n', &mut header)?;
    if header != AGE_MAGIC {
        return Err(SealError::NotSealed);
    }
    let mut in_body = false;
    loop {
        let start = header.len();
        from.read_until(b'\n', &mut header)?;
        let line = header.get(start..).and_then(|line| line.strip_suffix(b"\n")).ok_or(SealError::Damaged)?;
        let marked = line.starts_with(STANZA) || line.starts_with(HEADER_END);
        if marked == in_body {
            return Err(SealError::Damaged);
        }
        if line.starts_with(HEADER_END) {
            return Ok(header);
        }
        in_body = marked || line.len() == BODY_LINE;
    }
}

fn refusal(error: DecryptError) -> SealError {
    match error {
        DecryptError::NoMatchingKeys => SealError::OtherRecipients,
        DecryptError::UnknownFormat => SealError::NotSealed,
        DecryptError::Io(error) if !means_damage(&error) => SealError::Io(error),
        _ => SealError::Damaged,
    }
}

fn means_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof)
}

impl<R: Read> Read for AgeReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.damaged {
            return Err(SealError::Damaged.into());
        }
        if to.is_empty() {
            return Ok(0);
        }
        self.stream.read(to).map_err(|error| {
            self.damaged = true;
            if means_damage(&error) { SealError::Damaged.into() } else { error }
        })
    }
}

impl<R> fmt::Debug for AgeReader<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgeReader")
    }
}
