//! Reads a sealed file.

use std::io::{self, Read};

use crate::sealer::{HEADER, Position};
use crate::{CHUNK, Passphrase, SealError, Sealer, TAG};

/// Decrypts a file. Only content that was verified is returned; a file that was changed or cut ends in an error of the
/// kind `InvalidData`.
#[derive(Debug)]
pub struct OpenReader<R> {
    from: R,
    sealer: Sealer,
    /// Verified content, of which `taken` bytes were returned.
    content: Vec<u8>,
    taken: usize,
    /// The first byte of the next chunk, by which the last chunk is recognized.
    ahead: Option<u8>,
    ended: bool,
}

impl<R: Read> OpenReader<R> {
    /// Reads the header and derives the key. Takes 64 MiB of memory and a good fraction of a second.
    ///
    /// # Errors
    /// [`SealError::NotSealed`], [`SealError::WrongPassphrase`], [`SealError::TooCostly`], [`SealError::Io`].
    pub fn new(mut from: R, passphrase: &Passphrase) -> Result<Self, SealError> {
        let mut header = [0; HEADER];
        from.read_exact(&mut header).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => SealError::NotSealed,
            _ => SealError::Io(error),
        })?;
        let sealer = Sealer::of_header(passphrase, header)?;
        Ok(Self { from, sealer, content: Vec::with_capacity(CHUNK + TAG), taken: 0, ahead: None, ended: false })
    }

    fn next_chunk(&mut self) -> Result<(), SealError> {
        self.content.clear();
        self.content.extend(self.ahead.take());
        let missing = (CHUNK + TAG - self.content.len()) as u64;
        self.from.by_ref().take(missing).read_to_end(&mut self.content)?;
        let mut ahead = [0];
        self.ahead = (self.read_ahead(&mut ahead)? > 0).then(|| ahead.into_iter().next()).flatten();
        let position = if self.ahead.is_some() { Position::Inner } else { Position::Last };
        self.taken = 0;
        if let Err(error) = self.sealer.open(&mut self.content, position) {
            self.content.clear();
            return Err(error);
        }
        self.ended = position == Position::Last;
        Ok(())
    }

    fn read_ahead(&mut self, ahead: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.from.read(ahead) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }
}

impl<R: Read> Read for OpenReader<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.taken == self.content.len() {
            if self.ended || to.is_empty() {
                return Ok(0);
            }
            self.next_chunk()?;
        }
        let mut content = self.content.get(self.taken..).unwrap_or_default();
        let read = content.read(to)?;
        self.taken += read;
        Ok(read)
    }
}
