//! A log of a million entries: entries written, hashed and appended; proofs made from tiles and verified; beside the crate
//! `tlog_tiles` on the same tiles.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a benchmark")]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::hint::black_box;
use std::time::{Duration, Instant};

use muster_tlog::{
    Edge, Hash, Leaf, LogPath, Outcome, TILE_WIDTH, Tile, TileId, TileReader, TileTree, verify_consistency,
    verify_inclusion,
};

const ENTRIES: u64 = 1_000_000;
const PROOFS: u64 = 2_000;

/// Full tiles as stored: bytes that are parsed for each read.
struct Stored(BTreeMap<TileId, Vec<u8>>);

impl TileReader for Stored {
    type Error = Infallible;

    fn full_tile(&self, tile: TileId) -> Result<Tile, Infallible> {
        Ok(Tile::from_bytes(&self.0[&tile]).unwrap())
    }
}

struct Served<'a>(TileTree<'a, Stored>);

impl tlog_tiles::TileReader for Served<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        let read = |tile: &tlog_tiles::Tile| match tile.path().replacen("tile/8/", "tile/", 1).parse() {
            Ok(LogPath::Tile { tile, width }) => self.0.tile(tile, width).unwrap().to_bytes(),
            _ => Vec::new(),
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[tlog_tiles::Tile], _: &[Vec<u8>]) {}
}

fn entry(number: u64) -> Vec<u8> {
    let mut leaf = Leaf::new(
        format!("aud_{number:026}"),
        "2026-11-26T02:00:00Z".to_owned(),
        "usr_01M7ZC2GXH0005F7FKJW5QGHJ6".to_owned(),
        "key.grant".to_owned(),
        format!("key_{number:026}"),
        Outcome::Ok,
    );
    leaf.details = Some("x".repeat(43));
    leaf.to_bytes().unwrap()
}

fn rate(what: &str, count: u64, took: Duration) {
    let each = took.as_secs_f64() / count as f64;
    println!("{what:<42}{:>9.2} us each {:>12.0} a second", each * 1e6, 1.0 / each);
}

/// Prints the middle and the 99th percentile of what `work` takes.
fn spread(what: &str, mut work: impl FnMut(u64)) {
    let mut times: Vec<Duration> = (0..PROOFS)
        .map(|number| {
            let index = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) % ENTRIES;
            let begun = Instant::now();
            work(index);
            begun.elapsed()
        })
        .collect();
    times.sort_unstable();
    let micros = |share: usize| times[times.len() * share / 100].as_secs_f64() * 1e6;
    println!("{what:<42}{:>9.2} us p50  {:>9.2} us p99", micros(50), micros(99));
}

fn main() {
    let begun = Instant::now();
    let entries: Vec<Vec<u8>> = (0..ENTRIES / 10).map(entry).collect();
    rate("entries written canonically", ENTRIES / 10, begun.elapsed());
    let begun = Instant::now();
    for bytes in &entries {
        black_box(Leaf::from_bytes(bytes).unwrap());
    }
    rate("entries read and compared", ENTRIES / 10, begun.elapsed());

    let begun = Instant::now();
    let leaves: Vec<Hash> = entries.iter().cycle().take(1_000_000).map(|bytes| Hash::of_leaf(bytes)).collect();
    rate("leaves hashed", ENTRIES, begun.elapsed());
    let (mut edge, mut stored) = (Edge::new(), Stored(BTreeMap::new()));
    let begun = Instant::now();
    for leaf in &leaves {
        stored.0.extend(edge.append(*leaf).unwrap().into_iter().map(|(id, tile)| (id, tile.to_bytes())));
    }
    rate("leaves appended, tiles made", ENTRIES, begun.elapsed());
    let begun = Instant::now();
    let restarted = Edge::from_partial_tiles(ENTRIES, |tile, width| {
        let first = tile.index * TILE_WIDTH as u64;
        let hash = |index: u64| match tile.level {
            0 => leaves[usize::try_from(index).unwrap()],
            level => stored.full_tile(TileId { level: level - 1, index }).unwrap().root().unwrap(),
        };
        Ok::<_, muster_tlog::EdgeError>((first..first + width as u64).map(hash).collect())
    });
    assert_eq!(restarted.unwrap(), edge);
    rate("edge made again from tiles", 1, begun.elapsed());
    spread("root from the edge", |_| {
        black_box(edge.root());
    });

    let (tree, root) = (TileTree::new(&edge, &stored), edge.root());
    spread("proof of inclusion made", |index| drop(black_box(tree.inclusion(index, ENTRIES).unwrap())));
    spread("  and verified", |index| {
        let path = tree.inclusion(index, ENTRIES).unwrap();
        verify_inclusion(&leaves[usize::try_from(index).unwrap()], index, ENTRIES, &path, &root).unwrap();
    });
    spread("proof of consistency made", |from| drop(black_box(tree.consistency(from, ENTRIES).unwrap())));
    spread("root of an earlier size, proof and check", |from| {
        let earlier = tree.root(from).unwrap();
        verify_consistency(from, &earlier, ENTRIES, &root, &tree.consistency(from, ENTRIES).unwrap()).unwrap();
    });
    let served = Served(TileTree::new(&edge, &stored));
    let reader = tlog_tiles::TileHashReader::new(ENTRIES, tlog_tiles::Hash(*root.as_bytes()), &served);
    spread("tlog_tiles: proof of inclusion made", |index| {
        drop(black_box(tlog_tiles::prove_record(ENTRIES, index, &reader).unwrap()));
    });
    spread("tlog_tiles: proof of consistency made", |from| {
        drop(black_box(tlog_tiles::prove_tree(ENTRIES, from.max(1), &reader).unwrap()));
    });
}
