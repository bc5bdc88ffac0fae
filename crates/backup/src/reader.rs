//! Reads a signed backup.

use std::io::{self, Read};

use muster_tlog::VerifierKey;
use sha2::{Digest, Sha256};

use crate::{DOMAIN, Header, HeaderError, MAGIC, MAX_HEADER, SIGNATURE};

/// Bytes that are read at a time.
const BLOCK: usize = 64 << 10;

/// Whose backups are accepted.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those that one of these keys signed. The names of the keys do not matter: they change with the generation.
    Keys(Vec<VerifierKey>),
    /// Those of anybody. The signatures must still be valid, so that damage is found.
    Anybody,
}

/// Why a backup is not accepted.
#[derive(Debug, thiserror::Error)]
pub enum SignatureError {
    /// It does not begin as a signed backup.
    #[error("it is not signed")]
    NotSigned,
    /// Its header is not accepted.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// None of the trusted keys signed it.
    #[error("it was signed by a key that is not known here: {}", .0.join(", "))]
    UnknownSigner(Vec<String>),
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Returns the content of a signed backup. The signatures are verified at its end: until the reader has returned 0, its
/// content must not be used. A backup with a wrong signature, and one that was cut, end in an error of the kind
/// `InvalidData`.
pub struct SignedReader<R> {
    from: R,
    header: Header,
    keys: Vec<VerifierKey>,
    digest: Sha256,
    /// What was read and not returned: the content, and at its end what may be the signatures.
    pending: Vec<u8>,
    /// Number of bytes of `pending` that were returned.
    taken: usize,
    block: Box<[u8]>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Reading,
    Verified,
    Refused,
}

impl<R: Read> SignedReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// [`SignatureError`]. `UnknownSigner` is found here, before anything of the content is read.
    pub fn new(mut from: R, trust: &Trust) -> Result<Self, SignatureError> {
        let mut start = [0; MAGIC.len() + 4];
        from.read_exact(&mut start).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SignatureError::NotSigned,
            _ => SignatureError::Io(error),
        })?;
        let length = start.strip_prefix(&MAGIC).and_then(|length| length.first_chunk());
        let length = u32::from_le_bytes(*length.ok_or(SignatureError::NotSigned)?) as usize;
        if length > MAX_HEADER {
            return Err(HeaderError::TooLong(length).into());
        }
        let mut bytes = vec![0; length];
        from.read_exact(&mut bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => invalid("it was cut within its header"),
            _ => error,
        })?;
        let header = Header::from_bytes(&bytes)?;
        let keys = header.keys()?;
        if let Trust::Keys(trusted) = trust
            && !keys.iter().any(|key| trusted.iter().any(|trusted| trusted.key_bytes() == key.key_bytes()))
        {
            return Err(SignatureError::UnknownSigner(header.vkeys));
        }
        let digest = Sha256::new_with_prefix(start).chain_update(&bytes);
        let block = vec![0; BLOCK].into_boxed_slice();
        Ok(Self { from, header, keys, digest, pending: Vec::new(), taken: 0, block, state: State::Reading })
    }

    /// Returns the header, which is verified only at the end of the content.
    #[must_use]
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Bytes at the end of the backup that are no content.
    fn tail(&self) -> usize {
        self.keys.len() * SIGNATURE
    }

    /// Reads until some content is pending, or the end. Returns how much content there is.
    fn fill(&mut self) -> io::Result<usize> {
        self.pending.drain(..self.taken);
        self.taken = 0;
        loop {
            let content = self.pending.len().saturating_sub(self.tail());
            if content > 0 {
                return Ok(content);
            }
            match self.from.read(&mut self.block) {
                Ok(0) => return self.verify().map(|()| 0),
                Ok(read) => self.pending.extend_from_slice(self.block.get(..read).unwrap_or_default()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Verifies that the pending bytes are the signatures.
    fn verify(&self) -> io::Result<()> {
        if self.pending.len() != self.tail() {
            return Err(invalid("it was cut: its signatures are missing"));
        }
        let digest = self.digest.clone().finalize();
        let (signatures, _) = self.pending.as_chunks::<SIGNATURE>();
        for (key, signature) in self.keys.iter().zip(signatures) {
            if !key.verify_bytes(DOMAIN, &digest, signature) {
                return Err(invalid(&format!("its signature by {key} is not valid: it was changed after it was made")));
            }
        }
        Ok(())
    }
}

impl<R: Read> Read for SignedReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.state {
            State::Verified => return Ok(0),
            State::Refused => return Err(invalid("it was changed after it was made")),
            State::Reading if to.is_empty() => return Ok(0),
            State::Reading => {}
        }
        let mut content = self.pending.len().saturating_sub(self.taken).saturating_sub(self.tail());
        if content == 0 {
            // An interrupted or failed read of the file can be repeated; a verdict is final.
            content = self.fill().inspect_err(|error| {
                if error.kind() == io::ErrorKind::InvalidData {
                    self.state = State::Refused;
                }
            })?;
        }
        if content == 0 {
            self.state = State::Verified;
            return Ok(0);
        }
        let count = content.min(to.len());
        let bytes = self.pending.get(self.taken..self.taken + count).unwrap_or_default();
        self.digest.update(bytes);
        if let Some(to) = to.get_mut(..count) {
            to.copy_from_slice(bytes);
        }
        self.taken += count;
        Ok(count)
    }
}

impl<R> std::fmt::Debug for SignedReader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignedReader").field("header", &self.header).finish_non_exhaustive()
    }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.to_owned())
}
