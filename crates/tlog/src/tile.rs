//! Tiles: runs of up to 256 hashes of one level (C2SP tlog-tiles).

use crate::Hash;

/// Hashes of a full tile.
pub const TILE_WIDTH: usize = 256;
/// Bytes of a full tile.
pub const TILE_BYTES: usize = TILE_WIDTH * Hash::LEN;
/// Heights of the tree that one tile covers.
pub(crate) const TILE_HEIGHT: u32 = 8;
/// Levels that a tree of 64-bit size can have.
pub(crate) const LEVELS: u8 = 8;

/// Identifies a tile: its level, and its index within the level.
///
/// A tile of level 0 has the hashes of leaves; a hash of level `l` is the root of a full tile of level `l - 1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TileId {
    /// Level, from 0 to 7: eight levels of 256 are all that a 64-bit number of leaves needs.
    pub level: u8,
    /// Index of the tile within its level.
    pub index: u64,
}

impl TileId {
    /// Bytes of a storage key.
    pub const KEY: usize = 9;

    /// Returns the key under which a tile is stored: the level, then the index in big-endian order.
    #[must_use]
    pub fn key(self) -> [u8; Self::KEY] {
        let mut key = [self.level; Self::KEY];
        if let Some((_, index)) = key.split_first_mut() {
            index.copy_from_slice(&self.index.to_be_bytes());
        }
        key
    }

    /// Reads a storage key.
    #[must_use]
    pub fn from_key(key: &[u8]) -> Option<Self> {
        let (level, index) = key.split_first()?;
        let index = u64::from_be_bytes(index.try_into().ok()?);
        (*level < LEVELS).then_some(Self { level: *level, index })
    }

    /// Returns how many hashes this tile has in a tree of `size` leaves, at most [`TILE_WIDTH`].
    #[must_use]
    pub fn width_at(self, size: u64) -> usize {
        let hashes = size.checked_shr(TILE_HEIGHT * u32::from(self.level)).unwrap_or(0);
        let before = self.index.saturating_mul(TILE_WIDTH as u64);
        usize::try_from(hashes.saturating_sub(before)).map_or(TILE_WIDTH, |width| width.min(TILE_WIDTH))
    }
}

/// One to 256 consecutive hashes of a level.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tile(Vec<Hash>);

/// The bytes are no tile: their number is not 32 for each of 1 to 256 hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a tile has 32 bytes for each of its 1 to 256 hashes, these are {0} bytes")]
pub struct TileLength(usize);

impl Tile {
    /// Makes a tile of 1 to 256 hashes.
    ///
    /// # Errors
    /// [`TileLength`] for another number of hashes.
    pub fn new(hashes: Vec<Hash>) -> Result<Self, TileLength> {
        if hashes.is_empty() || hashes.len() > TILE_WIDTH {
            return Err(TileLength(hashes.len().saturating_mul(Hash::LEN)));
        }
        Ok(Self(hashes))
    }

    /// Reads the concatenated hashes of a tile.
    ///
    /// # Errors
    /// [`TileLength`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TileLength> {
        let (hashes, rest) = bytes.as_chunks::<{ Hash::LEN }>();
        if !rest.is_empty() || bytes.len() > TILE_BYTES {
            return Err(TileLength(bytes.len()));
        }
        Self::new(hashes.iter().copied().map(Hash::new).collect())
    }

    /// Returns the concatenated hashes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|hash| *hash.as_bytes()).collect()
    }

    /// Returns the hashes.
    #[must_use]
    pub fn hashes(&self) -> &[Hash] {
        &self.0
    }

    /// Computes the root of a full tile: a hash of the next level. Returns `None` for a partial tile.
    #[must_use]
    pub fn root(&self) -> Option<Hash> {
        (self.0.len() == TILE_WIDTH).then(|| complete_root(&self.0)).flatten()
    }

    /// Computes the root of the subtree of `1 << height` hashes that begins at `offset`.
    pub(crate) fn subtree(&self, height: u32, offset: usize) -> Option<Hash> {
        complete_root(self.0.get(offset..offset.checked_add(1 << height)?)?)
    }
}

/// Computes the root over a number of hashes that is a power of two.
pub(crate) fn complete_root(hashes: &[Hash]) -> Option<Hash> {
    let mut row = hashes.to_vec();
    while row.len() > 1 {
        let (pairs, odd) = row.as_chunks::<2>();
        if !odd.is_empty() {
            return None;
        }
        row = pairs.iter().map(|[left, right]| Hash::of_node(left, right)).collect();
    }
    row.first().copied()
}
