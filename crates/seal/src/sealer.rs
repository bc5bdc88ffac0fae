//! The header and the chunks of a sealed file.

use ring::aead::{Aad, LessSafeKey, Nonce};
use subtle::ConstantTimeEq;

use crate::passphrase::{CHECK, Costs, DerivedKey, Passphrase, derive};
use crate::{CHUNK, MAGIC, SealError, TAG};

const SALT: usize = 16;
/// Size of the header.
pub(crate) const HEADER: usize = MAGIC.len() + 3 * 4 + SALT + CHECK;

/// Whether a chunk is the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    Inner,
    Last,
}

/// Encrypts the chunks of one file, for callers that read and write by themselves. [`crate::SealWriter`] and
/// [`crate::OpenReader`] do that for blocking files.
pub struct Sealer {
    header: [u8; HEADER],
    key: LessSafeKey,
    next: u64,
}

impl std::fmt::Debug for Sealer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sealer").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Sealer {
    /// Derives a new key. Takes 64 MiB of memory and a good fraction of a second: never call it on a thread that serves
    /// requests.
    ///
    /// # Errors
    /// [`SealError::Random`].
    pub fn new(passphrase: &Passphrase) -> Result<Self, SealError> {
        let mut salt = [0; SALT];
        getrandom::fill(&mut salt).map_err(|_| SealError::Random)?;
        Self::with_salt(passphrase, salt, Costs::RECOMMENDED)
    }

    pub(crate) fn with_salt(passphrase: &Passphrase, salt: [u8; SALT], costs: Costs) -> Result<Self, SealError> {
        let DerivedKey { key, check } = derive(passphrase, &salt, costs)?;
        let mut header = [0; HEADER];
        let numbers = [costs.m_kib, costs.t, costs.p].map(u32::to_le_bytes);
        let parts = MAGIC.into_iter().chain(numbers.into_iter().flatten()).chain(salt).chain(check);
        header.iter_mut().zip(parts).for_each(|(to, byte)| *to = byte);
        Ok(Self { header, key, next: 0 })
    }

    /// Derives the key of a file with this header.
    pub(crate) fn of_header(passphrase: &Passphrase, header: [u8; HEADER]) -> Result<Self, SealError> {
        let rest = header.strip_prefix(&MAGIC).ok_or(SealError::NotSealed)?;
        let mut numbers = [0_u32; 3];
        let (costs, rest) = rest.split_at_checked(3 * 4).ok_or(SealError::Damaged)?;
        for (number, bytes) in numbers.iter_mut().zip(costs.chunks_exact(4)) {
            *number = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        let [m_kib, t, p] = numbers;
        let (salt, check) = rest.split_at_checked(SALT).ok_or(SealError::Damaged)?;
        let derived = derive(passphrase, salt, Costs { m_kib, t, p })?;
        if !bool::from(derived.check.ct_eq(check)) {
            return Err(SealError::WrongPassphrase);
        }
        Ok(Self { header, key: derived.key, next: 0 })
    }

    /// Returns the bytes that the file begins with.
    #[must_use]
    pub fn header(&self) -> &[u8] {
        &self.header
    }

    /// Encrypts the next chunk in place, which is [`CHUNK`] bytes long and not the last one.
    ///
    /// # Errors
    /// [`SealError::TooLong`].
    pub fn seal_next(&mut self, chunk: &mut Vec<u8>) -> Result<(), SealError> {
        debug_assert_eq!(chunk.len(), CHUNK);
        self.seal(chunk, Position::Inner)
    }

    /// Encrypts the last chunk in place, of at most [`CHUNK`] bytes. It is empty only in an empty file.
    ///
    /// # Errors
    /// [`SealError::TooLong`].
    pub fn seal_last(mut self, chunk: &mut Vec<u8>) -> Result<(), SealError> {
        self.seal(chunk, Position::Last)
    }

    fn seal(&mut self, chunk: &mut Vec<u8>, position: Position) -> Result<(), SealError> {
        let nonce = self.nonce(position)?;
        self.key.seal_in_place_append_tag(nonce, Aad::from(&self.header), chunk).map_err(|_| SealError::TooLong)
    }

    /// Decrypts the next chunk in place.
    pub(crate) fn open(&mut self, chunk: &mut Vec<u8>, position: Position) -> Result<(), SealError> {
        let nonce = self.nonce(position)?;
        self.key.open_in_place(nonce, Aad::from(&self.header), chunk).map_err(|_| SealError::Damaged)?;
        chunk.truncate(chunk.len().saturating_sub(TAG));
        Ok(())
    }

    /// Returns the nonce of the next chunk. No two chunks of a key have the same.
    fn nonce(&mut self, position: Position) -> Result<Nonce, SealError> {
        let number = self.next;
        self.next = number.checked_add(1).ok_or(SealError::TooLong)?;
        let mut nonce = [0; 12];
        let last = u8::from(position == Position::Last);
        let bytes = [0; 3].into_iter().chain(number.to_be_bytes()).chain([last]);
        nonce.iter_mut().zip(bytes).for_each(|(to, byte)| *to = byte);
        Ok(Nonce::assume_unique_for_key(nonce))
    }
}
