//! The right edge of a growing tree: all that appending needs.

use crate::shape::Range;
use crate::tile::{LEVELS, TILE_HEIGHT, TILE_WIDTH, complete_root};
use crate::{Hash, Tile, TileId};

/// The incomplete tiles of a tree, one at most for each level, and its size.
///
/// Leaves are appended to it; each tile that becomes full is returned once, to be stored. The memory is at most 255
/// hashes a level. From the edge alone the root at the current size follows; roots and proofs of earlier sizes need
/// the full tiles too ([`TileTree`](crate::TileTree)).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edge {
    size: u64,
    levels: Vec<Vec<Hash>>,
}

/// Why an edge cannot be made from tiles, or not be appended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EdgeError {
    /// A partial tile does not have the hashes that the size implies.
    #[error("the partial tile {} of level {} has {found} hashes, at this size it has {wanted}", .tile.index, .tile.level)]
    Width {
        /// The tile.
        tile: TileId,
        /// Hashes that the size implies.
        wanted: usize,
        /// Hashes that were given.
        found: usize,
    },
    /// The tree has as many leaves as a 64-bit number counts.
    #[error("the log is full")]
    Full,
}

impl Edge {
    /// Makes the edge of an empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the edge of a tree of `size` leaves from its partial tiles. `partial` is called once for each level that
    /// has one, with the identifier of the tile and the number of its hashes.
    ///
    /// # Errors
    /// The error of `partial`, or [`EdgeError::Width`] if it returned another number of hashes.
    pub fn from_partial_tiles<E: From<EdgeError>>(
        size: u64,
        mut partial: impl FnMut(TileId, usize) -> Result<Vec<Hash>, E>,
    ) -> Result<Self, E> {
        let mut levels = Vec::new();
        for level in 0..LEVELS {
            let hashes = size >> (TILE_HEIGHT * u32::from(level));
            if hashes == 0 {
                break;
            }
            let tile = TileId { level, index: hashes / TILE_WIDTH as u64 };
            let wanted = tile.width_at(size);
            let found = if wanted == 0 { Vec::new() } else { partial(tile, wanted)? };
            if found.len() != wanted {
                return Err(EdgeError::Width { tile, wanted, found: found.len() }.into());
            }
            levels.push(found);
        }
        Ok(Self { size, levels })
    }

    /// Returns the number of leaves.
    #[must_use]
    pub const fn size(&self) -> u64 {
        self.size
    }

    /// Appends a leaf. Returns the tiles that it made full, from level 0 upwards; for 255 of 256 leaves there is none.
    ///
    /// # Errors
    /// [`EdgeError::Full`] for a tree of 2^64 − 1 leaves.
    pub fn append(&mut self, leaf: Hash) -> Result<Vec<(TileId, Tile)>, EdgeError> {
        let size = self.size.checked_add(1).ok_or(EdgeError::Full)?;
        let mut full = Vec::new();
        let mut hash = leaf;
        for level in 0..LEVELS {
            let at = usize::from(level);
            if at == self.levels.len() {
                self.levels.push(Vec::new());
            }
            let Some(hashes) = self.levels.get_mut(at) else { break };
            hashes.push(hash);
            if hashes.len() < TILE_WIDTH {
                break;
            }
            let index = size.checked_shr(TILE_HEIGHT * (u32::from(level) + 1)).unwrap_or(0).saturating_sub(1);
            let Some(root) = complete_root(hashes) else { break };
            if let Ok(tile) = Tile::new(std::mem::take(hashes)) {
                full.push((TileId { level, index }, tile));
            }
            hash = root;
        }
        self.size = size;
        Ok(full)
    }

    /// Computes the root of the tree.
    #[must_use]
    pub fn root(&self) -> Hash {
        let mut root = None;
        for hashes in &self.levels {
            let within = Range { start: 0, end: hashes.len() as u64 };
            let subtrees: Vec<_> = within.subtrees().collect();
            for subtree in subtrees.into_iter().rev() {
                let Some(hash) = partial_subtree(hashes, subtree.height, subtree.index) else { continue };
                root = Some(root.map_or(hash, |right| Hash::of_node(&hash, &right)));
            }
        }
        root.unwrap_or_else(Hash::of_empty_tree)
    }

    /// Returns the hashes of the incomplete tile of a level, which may be none.
    #[must_use]
    pub fn partial_tile(&self, level: u8) -> &[Hash] {
        self.levels.get(usize::from(level)).map_or(&[], Vec::as_slice)
    }
}

fn partial_subtree(hashes: &[Hash], height: u32, index: u64) -> Option<Hash> {
    let start = usize::try_from(index << height).ok()?;
    complete_root(hashes.get(start..start.checked_add(1 << height)?)?)
}
