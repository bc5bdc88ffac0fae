//! The leaves of the log as the store holds them, and the tiles made from them.

use muster_core::audit::AuditRecord;
use muster_store::{PageRequest, Rec, StoreError, StoreHandle, Tree, key_number, number_key};
use muster_tlog::{Edge, EdgeError, Hash, TILE_WIDTH, Tile, TileId, TileReader};

/// Schema of a tile's record.
const SCHEMA: u16 = 1;
/// Entries whose hashes are one tile of level 0.
pub(crate) const WIDTH: u64 = TILE_WIDTH as u64;

/// Reads entries and tiles.
#[derive(Clone)]
pub(crate) struct LogReader {
    store: StoreHandle,
}

impl std::fmt::Debug for LogReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogReader")
    }
}

impl From<&StoreHandle> for LogReader {
    fn from(store: &StoreHandle) -> Self {
        Self { store: store.clone() }
    }
}

impl LogReader {
    pub(crate) const fn store(&self) -> &StoreHandle {
        &self.store
    }

    /// Returns the number of durable entries.
    pub(crate) fn length(&self) -> u64 {
        *self.store.appended(Tree::AuditLog).borrow()
    }

    /// Returns entries from number `from` on, in order. The iteration ends with an error where one is missing.
    pub(crate) fn entries(&self, from: u64) -> impl Iterator<Item = Result<(u64, AuditRecord), StoreError>> + '_ {
        let page = PageRequest::of(TILE_WIDTH).starting_at(Some(number_key(from).to_vec()));
        let records = self.store.records::<AuditRecord>([], page);
        (from..).zip(records).map(|(expected, found)| {
            let (key, record) = found?;
            if key_number(&key) == Some(expected) { Ok((expected, record)) } else { Err(missing(expected)) }
        })
    }

    /// Returns exactly `count` entries from number `from` on.
    ///
    /// # Errors
    /// `Corrupt` if one is missing.
    pub(crate) fn exactly(&self, from: u64, count: usize) -> Result<Vec<AuditRecord>, StoreError> {
        let found: Vec<_> =
            self.entries(from).take(count).map(|found| found.map(|(_, record)| record)).collect::<Result<_, _>>()?;
        if found.len() == count { Ok(found) } else { Err(missing(from.saturating_add(found.len() as u64))) }
    }

    /// Returns the entry with a number.
    pub(crate) fn entry(&self, seq: u64) -> Result<Option<AuditRecord>, StoreError> {
        self.store.record::<AuditRecord>(&number_key(seq))
    }

    fn hashes(&self, from: u64, count: usize) -> Result<Vec<Hash>, StoreError> {
        Ok(self.exactly(from, count)?.iter().map(|record| Hash::of_leaf(record.leaf.as_bytes())).collect())
    }

    /// Returns the stored tile, if there is an intact one.
    pub(crate) fn stored(&self, id: TileId) -> Result<Option<Tile>, StoreError> {
        let Some(rec) = self.store.get(Tree::AuditTiles, &id.key())? else { return Ok(None) };
        let tile = Tile::from_bytes(&rec.bytes).ok().filter(|tile| tile.hashes().len() == TILE_WIDTH);
        tile.map(Some)
            .ok_or_else(|| StoreError::Corrupt(format!("tile {} of level {}: not 256 hashes", id.index, id.level)))
    }

    /// Makes a full tile anew: of the leaves, or of the tiles one level below.
    pub(crate) fn made_anew(&self, id: TileId) -> Result<Tile, StoreError> {
        let invalid = || StoreError::Corrupt(format!("tile {} of level {} cannot be made", id.index, id.level));
        let first = id.index.checked_mul(WIDTH).ok_or_else(invalid)?;
        let Some(below) = id.level.checked_sub(1) else {
            return Tile::new(self.hashes(first, TILE_WIDTH)?).map_err(|_| invalid());
        };
        let root = |index| self.full_tile(TileId { level: below, index })?.root().ok_or_else(invalid);
        Tile::new((first..first + WIDTH).map(root).collect::<Result<_, _>>()?).map_err(|_| invalid())
    }

    /// Makes the edge of the tree of the first `size` entries.
    pub(crate) fn edge(&self, size: u64) -> Result<Edge, StoreError> {
        let edge = Edge::from_partial_tiles(size, |id, width| {
            let first = id.index * WIDTH;
            let Some(below) = id.level.checked_sub(1) else { return Ok(self.hashes(first, width)?) };
            let incomplete = || StoreError::Corrupt("a tile is incomplete".to_owned());
            let root = |index| self.full_tile(TileId { level: below, index })?.root().ok_or_else(incomplete);
            Ok::<_, ReadEdgeError>((first..).take(width).map(root).collect::<Result<_, _>>()?)
        });
        edge.map_err(|ReadEdgeError(error)| error)
    }
}

/// An error while an edge is read.
struct ReadEdgeError(StoreError);

impl From<StoreError> for ReadEdgeError {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<EdgeError> for ReadEdgeError {
    fn from(error: EdgeError) -> Self {
        Self(StoreError::Corrupt(error.to_string()))
    }
}

impl TileReader for LogReader {
    type Error = StoreError;

    /// A tile that is lost or damaged is made anew. That it differs from the stored one is found where the log is
    /// compared with its tiles.
    fn full_tile(&self, id: TileId) -> Result<Tile, StoreError> {
        match self.stored(id) {
            Ok(Some(tile)) => Ok(tile),
            Ok(None) | Err(StoreError::Corrupt(_)) => self.made_anew(id),
            Err(error) => Err(error),
        }
    }
}

fn missing(seq: u64) -> StoreError {
    StoreError::Corrupt(format!("entry {seq} of the audit log is missing"))
}

/// The record of a full tile.
pub(crate) fn tile_record(tile: &Tile) -> Rec {
    Rec { schema: SCHEMA, bytes: tile.to_bytes() }
}
