//! Comparing: each second the entries of one tile with the tile, and the tile with those above it. What is lost is made
//! anew; what differs is reported.

use std::time::Duration;

use actix::Context;
use muster_core::audit::AuditRecord;
use muster_store::{Batch, Record, StoreError, Tree};
use muster_tlog::{Hash, TILE_WIDTH, Tile, TileId};

use super::Follower;
use crate::summary::Summary;
use crate::tiles::{WIDTH, tile_record};

/// Time from one tile to the next.
pub(super) const INTERVAL: Duration = Duration::from_secs(1);

impl Follower {
    pub(super) fn scrub(&mut self, context: &mut Context<Self>) {
        let full = self.view.size() / WIDTH;
        let index = if self.scrubbed < full { self.scrubbed } else { 0 };
        let compared = if index < full { self.compare_tile(index, context) } else { self.compare_edge(context) };
        self.scrubbed = if index < full { index + 1 } else { 0 };
        if let Err(error) = compared {
            self.alarm(None, format!("tile {index} of the log cannot be compared: {error}"), context);
        }
    }

    /// Compares the entries that are in no full tile with the edge.
    fn compare_edge(&mut self, context: &mut Context<Self>) -> Result<(), StoreError> {
        let hashes = self.view.edge.partial_tile(0).to_vec();
        let first = self.view.size() / WIDTH * WIDTH;
        let records = self.log.exactly(first, hashes.len())?;
        self.compare_entries(first, &records, &hashes, context);
        Ok(())
    }

    fn compare_tile(&mut self, index: u64, context: &mut Context<Self>) -> Result<(), StoreError> {
        let (id, first) = (TileId { level: 0, index }, index * WIDTH);
        let records = self.log.exactly(first, TILE_WIDTH)?;
        let stored = match self.log.stored(id) {
            Err(StoreError::Corrupt(_)) => None,
            stored => stored?,
        };
        let stored = match stored {
            Some(tile) => tile,
            None => {
                let made = self.log.made_anew(id)?;
                self.store(Batch::put(Tree::AuditTiles, id.key(), tile_record(&made)), context);
                made
            }
        };
        self.compare_entries(first, &records, stored.hashes(), context);
        self.compare_upwards(id, &stored, context)?;
        if self.log.store().get(Tree::AuditTiles, &Summary::key(index)).ok().flatten().is_none() {
            let summary = Summary::of(&records)?.encode()?;
            self.store(Batch::put(Tree::AuditTiles, Summary::key(index), summary), context);
        }
        Ok(())
    }

    fn compare_entries(&mut self, first: u64, records: &[AuditRecord], hashes: &[Hash], context: &mut Context<Self>) {
        for ((seq, record), hash) in (first..).zip(records).zip(hashes) {
            if Hash::of_leaf(record.leaf.as_bytes()) != *hash {
                self.alarm(Some(seq), format!("entry {seq} is not the one whose hash is in the tree"), context);
            } else if !record.is_consistent().unwrap_or(false) {
                self.alarm(
                    Some(seq),
                    format!("salt or details of entry {seq} are not those that it commits to"),
                    context,
                );
            }
        }
    }

    /// Compares the root of a tile with its place in the tile above, and so on up to the edge.
    fn compare_upwards(&mut self, mut id: TileId, tile: &Tile, context: &mut Context<Self>) -> Result<(), StoreError> {
        let mut root = tile.root();
        while let Some(hash) = root {
            let above = TileId { level: id.level + 1, index: id.index / WIDTH };
            let width = above.width_at(self.view.size());
            let place = usize::try_from(id.index % WIDTH).unwrap_or(TILE_WIDTH);
            let full = width == TILE_WIDTH;
            let found = if full {
                match self.log.stored(above) {
                    Ok(Some(tile)) => Some(tile),
                    Ok(None) | Err(StoreError::Corrupt(_)) => {
                        let made = self.log.made_anew(above)?;
                        self.store(Batch::put(Tree::AuditTiles, above.key(), tile_record(&made)), context);
                        Some(made)
                    }
                    Err(error) => return Err(error),
                }
            } else {
                None
            };
            let hashes = found.as_ref().map_or_else(|| self.view.edge.partial_tile(above.level), Tile::hashes);
            if hashes.get(place) != Some(&hash) {
                let (TileId { level, index }, above) = (id, above.level);
                let what = format!("tile {index} of level {level} is not the one whose root is in level {above}");
                self.alarm(None, what, context);
            }
            root = found.as_ref().and_then(Tile::root);
            id = above;
        }
        Ok(())
    }
}
