//! Images as files: received in pieces, never whole in memory, and compared block by block when they are served.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncSeekExt, AsyncWriteExt};

use super::artifact::Blocks;
use super::threat::Threat;
use muster_core::{Error, Kind};

/// Size of a block in bytes.
pub(crate) const BLOCK: u64 = 1 << 20;

/// The folder of images.
#[derive(Debug, Clone)]
pub(crate) struct Images {
    folder: PathBuf,
}

/// Returns the path of an image. Identifiers are generated here from letters, digits and `_`, so none leads out of the
/// folder.
pub(super) fn path(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.img"))
}

/// Position of a piece of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UploadPiece {
    /// Offset of its first byte.
    pub start: u64,
    /// Size of the whole image as claimed by the sender.
    pub total: u64,
}

impl Images {
    /// # Errors
    /// The folder cannot be created.
    pub fn open(folder: &Path) -> std::io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, id: &str) -> PathBuf {
        path(&self.folder, id)
    }

    /// # Errors
    /// `Conflict` (`image_missing`) if the image is missing or incomplete, for example after a restore without images.
    pub async fn require(&self, id: &str, size: u64) -> Result<(), Error> {
        if self.received(id).await == size {
            return Ok(());
        }
        let path = self.path(id);
        tracing::error!(artifact = id, path = %path.display(), "the image of an artifact is not in its folder");
        let message = format!(
            "the image of {id} is not on this server (a backup brings none): put {id}.img back into the data folder's \
             firmware/, or upload it as a new artifact"
        );
        Err(Error::new(Kind::Conflict, message).coded("image_missing"))
    }

    /// Returns the number of bytes received.
    pub async fn received(&self, id: &str) -> u64 {
        tokio::fs::metadata(self.path(id)).await.map_or(0, |file| file.len())
    }

    /// Appends a piece; acknowledged bytes are synced to disk.
    ///
    /// # Errors
    /// `Conflict` (`wrong_offset`, with `received`) if it does not start where the last one ended, or (`upload_busy`)
    /// if another piece is being written; `TooLarge` past `size`; `Invalid` if the total is not `size` or the body
    /// broke off, and `TimedOut` if it came too slowly: the bytes before are kept then.
    pub async fn append<S>(&self, id: &str, size: u64, piece: UploadPiece, mut body: S) -> Result<u64, Error>
    where
        S: Stream<Item = Result<Bytes, Error>> + Unpin,
    {
        if piece.total != size {
            let message = format!("the image was announced with {size} bytes, not {}", piece.total);
            return Err(Error::new(Kind::Invalid, message));
        }
        let mut file = self.to_append(id).await?;
        let mut received = self.received(id).await;
        if piece.start != received {
            let message = format!("{received} bytes are here: go on from there, not from {}", piece.start);
            let details = serde_json::json!({ "received": received, "size": size });
            return Err(Error::new(Kind::Conflict, message).coded("wrong_offset").detailing(details));
        }
        let mut ended = Ok(());
        while let Some(chunk) = body.next().await {
            match chunk {
                Ok(chunk) if received + chunk.len() as u64 > size => {
                    ended = Err(Error::new(Kind::TooLarge, format!("more than the announced {size} bytes came")));
                    break;
                }
                Ok(chunk) => {
                    file.write_all(&chunk).await.map_err(|error| broken(&error))?;
                    received += chunk.len() as u64;
                }
                Err(error) => {
                    let kind = if error.kind == Kind::TimedOut { Kind::TimedOut } else { Kind::Invalid };
                    ended = Err(Error::new(kind, format!("the upload ended at byte {received}: {error}")));
                    break;
                }
            }
        }
        file.flush().await.map_err(|error| broken(&error))?;
        file.sync_all().await.map_err(|error| broken(&error))?;
        ended.map(|()| received)
    }

    /// Opens and locks the file of an image: one writer at a time. The lock ends with the file, and so with the
    /// process.
    async fn to_append(&self, id: &str) -> Result<tokio::fs::File, Error> {
        let options = tokio::fs::OpenOptions::new().create(true).append(true).mode(0o600).open(self.path(id)).await;
        let file = options.map_err(|error| broken(&error))?.into_std().await;
        match file.try_lock() {
            Ok(()) => Ok(tokio::fs::File::from_std(file)),
            Err(std::fs::TryLockError::WouldBlock) => {
                let busy = Error::new(Kind::Conflict, "another piece of this image is being written");
                Err(busy.coded("upload_busy").retry_in(std::time::Duration::from_secs(1)))
            }
            Err(std::fs::TryLockError::Error(error)) => Err(broken(&error)),
        }
    }

    /// Returns the SHA-256 of the image in hexadecimal, the hashes of its blocks and its size. Blocks the thread.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn hash(&self, id: &str) -> std::io::Result<(String, Blocks, u64)> {
        let mut file = std::fs::File::open(self.path(id))?;
        let (mut whole, mut blocks, mut size) = (Sha256::new(), Blocks::default(), 0);
        let mut block = Vec::new();
        loop {
            block.clear();
            let read = file.by_ref().take(BLOCK).read_to_end(&mut block)?;
            if read == 0 {
                return Ok((hex(&whole.finalize()), blocks, size));
            }
            whole.update(&block);
            blocks.hashes.push(Sha256::digest(&block).into());
            size += read as u64;
        }
    }

    /// Streams the bytes `from..=to` block by block; each block is compared with the verified hash before a byte of it
    /// is returned.
    pub fn read(
        &self,
        id: &str,
        blocks: Arc<Blocks>,
        from: u64,
        to: u64,
    ) -> impl Stream<Item = Result<Bytes, Error>> + use<> {
        let path = self.path(id);
        futures::stream::unfold(Some((None, from)), move |at| {
            let (path, blocks) = (path.clone(), Arc::clone(&blocks));
            async move {
                let (file, next) = at?;
                if next > to {
                    return None;
                }
                match block_of(&path, file, &blocks, next / BLOCK).await {
                    Ok((file, block)) => {
                        let start = next / BLOCK * BLOCK;
                        let within = |offset: u64| usize::try_from(offset - start).unwrap_or(usize::MAX);
                        let end = within(to.saturating_add(1)).min(block.len());
                        let bytes = block.slice(within(next).min(end)..end);
                        Some((Ok(bytes), Some((Some(file), start + BLOCK))))
                    }
                    Err(error) => Some((Err(error), None)),
                }
            }
        })
    }
}

/// Reads a block and compares it with its hash from the verification.
async fn block_of(
    path: &Path,
    file: Option<tokio::fs::File>,
    blocks: &Blocks,
    nth: u64,
) -> Result<(tokio::fs::File, Bytes), Error> {
    let replaced = || Threat::ImageReplaced.refusal("the stored image is not the one that was verified");
    let mut file = match file {
        Some(file) => file,
        None => tokio::fs::File::open(path).await.map_err(|_| replaced())?,
    };
    file.seek(std::io::SeekFrom::Start(nth * BLOCK)).await.map_err(|error| broken(&error))?;
    let mut block = Vec::with_capacity(usize::try_from(BLOCK).unwrap_or(0));
    (&mut file).take(BLOCK).read_to_end(&mut block).await.map_err(|error| broken(&error))?;
    let expected = usize::try_from(nth).ok().and_then(|nth| blocks.hashes.get(nth));
    if expected != Some(&<[u8; 32]>::from(Sha256::digest(&block))) {
        return Err(replaced());
    }
    Ok((file, block.into()))
}

fn broken(error: &std::io::Error) -> Error {
    tracing::error!(%error, "an image could not be read or written");
    let after = std::time::Duration::from_secs(30);
    Error::new(Kind::Unavailable, "images cannot be read or written now").retry_in(after)
}

/// Formats bytes as lower-case hexadecimal.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        use std::fmt::Write;
        // Writing to a string does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(of: &[&[u8]]) -> impl Stream<Item = Result<Bytes, Error>> + Unpin + use<> {
        let all: Vec<_> = of.iter().map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        futures::stream::iter(all)
    }

    async fn whole(images: &Images, blocks: Blocks, from: u64, to: u64) -> Result<Vec<u8>, Error> {
        let mut stream = Box::pin(images.read("art_1", Arc::new(blocks), from, to));
        let mut read = Vec::new();
        while let Some(bytes) = stream.next().await {
            read.extend_from_slice(&bytes?);
        }
        Ok(read)
    }

    #[tokio::test]
    async fn an_upload_continues_where_it_broke_off_and_accepts_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::open(folder.path()).unwrap();
        let at = |start| UploadPiece { start, total: 10 };
        let broken =
            futures::stream::iter([Ok(Bytes::from_static(b"0123")), Err(Error::new(Kind::InvalidJson, "gone"))]);
        assert_eq!(images.append("art_1", 10, at(0), broken).await.unwrap_err().kind, Kind::Invalid);
        assert_eq!(images.received("art_1").await, 4, "what came is kept");
        let again = Images::open(folder.path()).unwrap();
        let wrong = again.append("art_1", 10, at(0), pieces(&[b"0"])).await.unwrap_err();
        assert_eq!(wrong.code, Some("wrong_offset"));
        assert_eq!(again.append("art_1", 10, at(4), pieces(&[b"45", b"6789"])).await.unwrap(), 10);
        let more = again.append("art_1", 10, at(10), pieces(&[b"x"])).await.unwrap_err();
        assert_eq!(more.kind, Kind::TooLarge);
        let (sha256, blocks, size) = again.hash("art_1").unwrap();
        // By `printf 0123456789 | sha256sum`.
        assert_eq!(sha256, "84d89877f0d4041efb6bf91a16f0248f2fd573e6af05c19f96bedb9f882f7882");
        assert_eq!((size, blocks.hashes.len()), (10, 1));
        assert_eq!(whole(&again, blocks, 2, 4).await.unwrap(), b"234");
    }

    #[tokio::test]
    async fn a_range_across_blocks_matches_the_file_and_a_replaced_block_is_not_served() {
        let folder = tempfile::tempdir().unwrap();
        let images = Images::open(folder.path()).unwrap();
        let content: Vec<u8> = (0..BLOCK * 2 + 100).map(|n| (n % 251) as u8).collect();
        std::fs::write(images.path("art_1"), &content).unwrap();
        let (_, blocks, size) = images.hash("art_1").unwrap();
        assert_eq!((blocks.hashes.len() as u64, size), (3, content.len() as u64));
        let (from, to) = (BLOCK - 3, 2 * BLOCK + 5);
        let read = whole(&images, blocks.clone(), from, to).await.unwrap();
        assert_eq!(read, content[from as usize..=to as usize]);
        let mut other = content.clone();
        other[BLOCK as usize + 7] ^= 1;
        std::fs::write(images.path("art_1"), &other).unwrap();
        assert_eq!(whole(&images, blocks.clone(), 0, 10).await.unwrap(), content[..=10], "its neighbours are");
        assert_eq!(whole(&images, blocks, from, to).await.unwrap_err().code, Some("image_replaced"));
    }
}
