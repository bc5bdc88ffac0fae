//! Roots and proofs of any size that a log has had, made from its tiles.

use crate::shape::{Range, Subtree};
use crate::tile::TILE_HEIGHT;
use crate::{Edge, Hash, TILE_WIDTH, Tile, TileId};

/// Reads the full tiles of a log.
pub trait TileReader {
    /// Why a tile cannot be read.
    type Error;

    /// Returns a full tile.
    ///
    /// # Errors
    /// The tile is missing or cannot be read.
    fn full_tile(&self, tile: TileId) -> Result<Tile, Self::Error>;
}

/// Why a root or proof cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProveError<E> {
    /// The index is not within the tree, or the tree has not had this size.
    #[error("the log has no such index or size")]
    Range,
    /// A tile has fewer hashes than it must have.
    #[error("tile {} of level {} is incomplete", .0.index, .0.level)]
    Incomplete(TileId),
    /// A tile cannot be read.
    #[error(transparent)]
    Read(E),
}

/// A log: its full tiles, and the edge beyond them.
#[derive(Debug)]
pub struct TileTree<'a, R> {
    edge: &'a Edge,
    tiles: &'a R,
}

impl<'a, R: TileReader> TileTree<'a, R> {
    /// Combines the edge of a log with its full tiles.
    pub const fn new(edge: &'a Edge, tiles: &'a R) -> Self {
        Self { edge, tiles }
    }

    /// Computes the root of the first `size` leaves.
    ///
    /// # Errors
    /// [`ProveError`].
    pub fn root(&self, size: u64) -> Result<Hash, ProveError<R::Error>> {
        self.check(size)?;
        if size == 0 {
            return Ok(Hash::of_empty_tree());
        }
        self.walk().root_of(Range { start: 0, end: size })
    }

    /// Makes the path of inclusion of leaf `index` in the tree of the first `size` leaves: PATH of RFC 6962, section
    /// 2.1.1.
    ///
    /// # Errors
    /// [`ProveError`].
    pub fn inclusion(&self, index: u64, size: u64) -> Result<Vec<Hash>, ProveError<R::Error>> {
        self.check(size)?;
        if index >= size {
            return Err(ProveError::Range);
        }
        let mut walk = self.walk();
        let mut path = Vec::new();
        let mut range = Range { start: 0, end: size };
        while range.len() > 1 {
            let (left, right) = range.halves();
            let sibling;
            (range, sibling) = if index < right.start { (left, right) } else { (right, left) };
            path.push(walk.root_of(sibling)?);
        }
        path.reverse();
        Ok(path)
    }

    /// Makes the proof that the tree of the first `to` leaves begins with that of the first `from`: PROOF of RFC 6962,
    /// section 2.1.2; from an empty tree the empty path.
    ///
    /// # Errors
    /// [`ProveError`].
    pub fn consistency(&self, from: u64, to: u64) -> Result<Vec<Hash>, ProveError<R::Error>> {
        self.check(to)?;
        if from > to {
            return Err(ProveError::Range);
        }
        if from == 0 {
            return Ok(Vec::new());
        }
        let mut walk = self.walk();
        let mut path = Vec::new();
        let mut range = Range { start: 0, end: to };
        while range.end != from {
            let (left, right) = range.halves();
            let other;
            (range, other) = if from <= right.start { (left, right) } else { (right, left) };
            path.push(walk.root_of(other)?);
        }
        // A subtree that begins at the first leaf is the whole earlier tree: whoever verifies has its root.
        if range.start != 0 {
            path.push(walk.root_of(range)?);
        }
        path.reverse();
        Ok(path)
    }

    /// Returns the hashes of the complete subtrees that cover the leaves from `start` to `end`, exclusive, from left to
    /// right: what a reader of the other leaves needs for the root.
    ///
    /// # Errors
    /// [`ProveError`].
    pub fn cover(&self, start: u64, end: u64) -> Result<Vec<Hash>, ProveError<R::Error>> {
        self.check(end)?;
        let mut walk = self.walk();
        (Range { start, end }).subtrees().map(|subtree| walk.subtree(subtree)).collect()
    }

    /// Returns the first `width` hashes of a tile, full or partial, as they are served to readers of the log.
    ///
    /// # Errors
    /// [`ProveError`].
    pub fn tile(&self, tile: TileId, width: usize) -> Result<Tile, ProveError<R::Error>> {
        let available = tile.width_at(self.edge.size());
        if width == 0 || width > available {
            return Err(ProveError::Range);
        }
        let whole = self.walk().read(tile)?;
        let hashes = whole.hashes().get(..width).ok_or(ProveError::Incomplete(tile))?;
        Tile::new(hashes.to_vec()).map_err(|_| ProveError::Incomplete(tile))
    }

    const fn check(&self, size: u64) -> Result<(), ProveError<R::Error>> {
        if size > self.edge.size() { Err(ProveError::Range) } else { Ok(()) }
    }

    const fn walk(&self) -> Walk<'a, R> {
        Walk { edge: self.edge, tiles: self.tiles, read: Vec::new() }
    }
}

/// The tiles that one proof reads, each once. A proof needs at most three tiles a level.
struct Walk<'a, R> {
    edge: &'a Edge,
    tiles: &'a R,
    read: Vec<(TileId, Tile)>,
}

impl<R: TileReader> Walk<'_, R> {
    /// The root over a range that is not empty and begins where a division of RFC 6962 begins it.
    fn root_of(&mut self, range: Range) -> Result<Hash, ProveError<R::Error>> {
        let subtrees: Vec<Subtree> = range.subtrees().collect();
        let mut root = None;
        for subtree in subtrees.into_iter().rev() {
            let hash = self.subtree(subtree)?;
            root = Some(root.map_or(hash, |right| Hash::of_node(&hash, &right)));
        }
        root.ok_or(ProveError::Range)
    }

    fn subtree(&mut self, subtree: Subtree) -> Result<Hash, ProveError<R::Error>> {
        let (level, within) = (subtree.height / TILE_HEIGHT, subtree.height % TILE_HEIGHT);
        let first = subtree.index << within;
        let tile = TileId { level: u8::try_from(level).map_err(|_| ProveError::Range)?, index: first >> TILE_HEIGHT };
        let offset = usize::try_from(first % (1 << TILE_HEIGHT)).map_err(|_| ProveError::Range)?;
        self.load(tile)?.subtree(within, offset).ok_or(ProveError::Incomplete(tile))
    }

    fn load(&mut self, id: TileId) -> Result<&Tile, ProveError<R::Error>> {
        let at = match self.read.iter().position(|(read, _)| *read == id) {
            Some(at) => at,
            None => {
                let tile = self.read(id)?;
                self.read.push((id, tile));
                self.read.len() - 1
            }
        };
        self.read.get(at).map(|(_, tile)| tile).ok_or(ProveError::Incomplete(id))
    }

    fn read(&self, id: TileId) -> Result<Tile, ProveError<R::Error>> {
        let width = id.width_at(self.edge.size());
        let tile = if width == TILE_WIDTH {
            self.tiles.full_tile(id).map_err(ProveError::Read)?
        } else {
            Tile::new(self.edge.partial_tile(id.level).to_vec()).map_err(|_| ProveError::Incomplete(id))?
        };
        if tile.hashes().len() == width { Ok(tile) } else { Err(ProveError::Incomplete(id)) }
    }
}
