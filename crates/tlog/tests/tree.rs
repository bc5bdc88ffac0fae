//! Roots and proofs: published vectors, the definitions of RFC 6962, and two independent crates.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test's helpers may fail it")]

use std::collections::BTreeMap;
use std::convert::Infallible;

use ct_merkle::mem_backed_tree::MemoryBackedTree;
use muster_tlog::{
    Edge, EdgeError, Hash, ProofError, ProveError, TILE_BYTES, TILE_WIDTH, Tile, TileId, TileReader, TileTree,
    verify_consistency, verify_inclusion,
};
use serde::Deserialize;

/// Full tiles in memory.
#[derive(Default)]
struct Stored(BTreeMap<[u8; TileId::KEY], Vec<u8>>);

impl TileReader for Stored {
    type Error = Infallible;

    fn full_tile(&self, tile: TileId) -> Result<Tile, Infallible> {
        Ok(Tile::from_bytes(&self.0[&tile.key()]).unwrap())
    }
}

impl Stored {
    fn append(&mut self, edge: &mut Edge, leaf: Hash) {
        for (id, tile) in edge.append(leaf).unwrap() {
            let bytes = tile.to_bytes();
            assert_eq!(bytes.len(), TILE_BYTES);
            assert!(self.0.insert(id.key(), bytes).is_none(), "a tile is stored once");
        }
    }
}

fn entry(number: u64) -> Vec<u8> {
    format!("entry {number}").into_bytes()
}

fn leaf(number: u64) -> Hash {
    Hash::of_leaf(&entry(number))
}

fn log(size: u64) -> (Edge, Stored) {
    let (mut edge, mut stored) = (Edge::new(), Stored::default());
    (0..size).for_each(|number| stored.append(&mut edge, leaf(number)));
    (edge, stored)
}

fn hash(hex: &str) -> Hash {
    let bytes: Vec<u8> = (0..64).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    Hash::new(bytes.try_into().unwrap())
}

/// MTH of RFC 6962, section 2.1, written as the RFC defines it.
fn mth(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => Hash::of_empty_tree(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
            Hash::of_node(&mth(left), &mth(right))
        }
    }
}

/// PATH of section 2.1.1.
fn path(index: usize, leaves: &[Hash]) -> Vec<Hash> {
    if leaves.len() == 1 {
        return Vec::new();
    }
    let k = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(k);
    let (mut path, sibling) =
        if index < k { (path(index, left), mth(right)) } else { (path(index - k, right), mth(left)) };
    path.push(sibling);
    path
}

/// SUBPROOF of section 2.1.2.
fn subproof(m: usize, leaves: &[Hash], whole: bool) -> Vec<Hash> {
    if m == leaves.len() {
        return if whole { Vec::new() } else { vec![mth(leaves)] };
    }
    let k = leaves.len().next_power_of_two() / 2;
    let (left, right) = leaves.split_at(k);
    let (mut proof, other) =
        if m <= k { (subproof(m, left, whole), mth(right)) } else { (subproof(m - k, right, false), mth(left)) };
    proof.push(other);
    proof
}

#[test]
fn roots_are_those_of_the_reference_tree() {
    // transparency-dev/merkle, testonly/constants.go: LeafInputs and RootHashes.
    let leaves: [&[u8]; 8] = [
        b"",
        b"\x00",
        b"\x10",
        b"\x20\x21",
        b"\x30\x31",
        b"\x40\x41\x42\x43",
        b"\x50\x51\x52\x53\x54\x55\x56\x57",
        b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
    ];
    let roots = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];
    let mut edge = Edge::new();
    assert_eq!(edge.root(), hash(roots[0]));
    for (entry, root) in leaves.iter().zip(&roots[1..]) {
        edge.append(Hash::of_leaf(entry)).unwrap();
        assert_eq!(edge.root(), hash(root), "{} leaves", edge.size());
    }
}

#[test]
fn the_published_proofs_of_inclusion_are_judged_as_they_say() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vector {
        file: String,
        leaf_idx: u64,
        tree_size: u64,
        root: String,
        leaf_hash: String,
        proof: Option<Vec<String>>,
        want_err: bool,
    }
    let mut counts = [0, 0];
    for line in include_str!("vectors/inclusion.ndjson").lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        // Some vectors have texts in place of hashes: those are refused when they are read.
        let judged = || {
            let path: Option<Vec<Hash>> = vector.proof.iter().flatten().map(|text| Hash::from_base64(text)).collect();
            let (leaf, root) = (Hash::from_base64(&vector.leaf_hash)?, Hash::from_base64(&vector.root)?);
            verify_inclusion(&leaf, vector.leaf_idx, vector.tree_size, &path?, &root).ok()
        };
        assert_eq!(judged().is_none(), vector.want_err, "{}", vector.file);
        counts[usize::from(vector.want_err)] += 1;
    }
    assert_eq!(counts, [6, 92]);
}

#[test]
fn the_published_proofs_of_consistency_are_judged_as_they_say() {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Vector {
        file: String,
        size1: u64,
        size2: u64,
        root1: String,
        root2: String,
        proof: Option<Vec<String>>,
        want_err: bool,
    }
    let mut counts = [0, 0];
    for line in include_str!("vectors/consistency.ndjson").lines() {
        let vector: Vector = serde_json::from_str(line).unwrap();
        let judged = || {
            let path: Option<Vec<Hash>> = vector.proof.iter().flatten().map(|text| Hash::from_base64(text)).collect();
            let (one, two) = (Hash::from_base64(&vector.root1)?, Hash::from_base64(&vector.root2)?);
            verify_consistency(vector.size1, &one, vector.size2, &two, &path?).ok()
        };
        // The roots of this one are a text of twelve bytes, which is no hash here.
        let placeholder = vector.file == "consistency/additional/sizes-are-equal-one-and-proof-is-empty.json";
        assert_eq!(judged().is_none(), vector.want_err || placeholder, "{}", vector.file);
        counts[usize::from(vector.want_err)] += 1;
    }
    assert_eq!(counts, [6, 92]);
}

#[test]
fn every_proof_of_inclusion_up_to_300_is_that_of_the_rfc_and_no_altered_one_verifies() {
    const SIZE: u64 = 300;
    let (edge, stored) = log(SIZE);
    let tree = TileTree::new(&edge, &stored);
    let leaves: Vec<Hash> = (0..SIZE).map(leaf).collect();
    for size in 1..=SIZE {
        let leaves = &leaves[..usize::try_from(size).unwrap()];
        let root = mth(leaves);
        assert_eq!(tree.root(size), Ok(root));
        for (index, leaf) in (0..size).zip(leaves) {
            let proof = tree.inclusion(index, size).unwrap();
            let verifies = |leaf, index, path: &[Hash]| verify_inclusion(leaf, index, size, path, &root).is_ok();
            assert!(verifies(leaf, index, &proof));
            assert!(!verifies(&root, index, &proof) || size == 1);
            for other in [index ^ 1, index + 1, size - 1 - index, size] {
                assert!(other == index || !verifies(leaf, other, &proof), "{index} as {other} of {size}");
            }
            no_altered_path_verifies(&proof, index + size, |path| verifies(leaf, index, path));
        }
        // The definition is slow: each index of some sizes, around the width of a tile and powers of two.
        if size < 40 || size.abs_diff(256) < 3 || size == SIZE {
            for index in 0..leaves.len() {
                assert_eq!(tree.inclusion(index as u64, size), Ok(path(index, leaves)));
            }
        }
    }
    assert_eq!(tree.inclusion(0, 0), Err(ProveError::Range));
    assert_eq!(tree.inclusion(5, 5), Err(ProveError::Range));
    assert_eq!(tree.inclusion(5, SIZE + 1), Err(ProveError::Range));
}

#[test]
fn every_proof_of_consistency_up_to_300_is_that_of_the_rfc_and_no_altered_one_verifies() {
    const SIZE: usize = 300;
    let (edge, stored) = log(SIZE as u64);
    let tree = TileTree::new(&edge, &stored);
    let leaves: Vec<Hash> = (0..SIZE as u64).map(leaf).collect();
    let roots: Vec<Hash> = (0..=SIZE).map(|size| mth(&leaves[..size])).collect();
    for to in 1..=SIZE {
        for from in 1..=to {
            let proof = tree.consistency(from as u64, to as u64).unwrap();
            let verifies =
                |path: &[Hash]| verify_consistency(from as u64, &roots[from], to as u64, &roots[to], path).is_ok();
            assert!(verifies(&proof), "{from} to {to}");
            let swapped = verify_consistency(from as u64, &roots[to], to as u64, &roots[from], &proof);
            assert_eq!(swapped.is_ok(), from == to);
            no_altered_path_verifies(&proof, (from + to) as u64, verifies);
            if to < 40 || to.abs_diff(256) < 3 || to == SIZE {
                assert_eq!(proof, subproof(from, &leaves[..to], true), "{from} to {to}");
            }
        }
    }
    assert_eq!(tree.consistency(0, 300), Ok(Vec::new()));
    assert_eq!(verify_consistency(0, &roots[0], 300, &roots[300], &[]), Ok(()));
    assert_eq!(verify_consistency(0, &roots[1], 300, &roots[300], &[]), Err(ProofError::Root));
    assert_eq!(verify_consistency(0, &roots[0], 300, &roots[300], &roots[..1]), Err(ProofError::Length));
    assert_eq!(tree.consistency(2, 1), Err(ProveError::Range));
    assert_eq!(tree.consistency(1, 301), Err(ProveError::Range));
    assert_eq!(verify_consistency(2, &roots[2], 1, &roots[1], &[]), Err(ProofError::Range));
}

/// One bit changed, a hash lost, one added, two exchanged: at places that `seed` selects.
fn no_altered_path_verifies(path: &[Hash], seed: u64, verifies: impl Fn(&[Hash]) -> bool) {
    let alterations = [
        [path, &[Hash::of_empty_tree()]].concat(),
        [&[Hash::of_empty_tree()], path].concat(),
        path.iter().skip(1).copied().collect(),
        path.split_last().map_or(&[][..], |(_, rest)| rest).to_vec(),
        path.iter().rev().copied().collect(),
    ];
    for altered in alterations {
        assert!(altered == path || !verifies(&altered));
    }
    if !path.is_empty() {
        let mut altered = path.to_vec();
        let at = usize::try_from(seed).unwrap();
        let place = at % path.len();
        let mut bytes = *path[place].as_bytes();
        bytes[at % 32] ^= 1 << (at % 8);
        altered[place] = Hash::new(bytes);
        assert!(!verifies(&altered));
    }
}

#[test]
fn tiles_naive_tree_and_restarted_edge_have_one_root() {
    // Three levels: 65,536 leaves fill a tile of level 1.
    const SIZE: u64 = 66_100;
    let (mut edge, mut stored) = (Edge::new(), Stored::default());
    let leaves: Vec<Hash> = (0..SIZE).map(leaf).collect();
    for (number, leaf) in leaves.iter().enumerate() {
        stored.append(&mut edge, *leaf);
        let size = number as u64 + 1;
        if size.is_multiple_of(9973) || size.abs_diff(65_536) < 2 || size == SIZE {
            let root = mth(&leaves[..=number]);
            assert_eq!(edge.root(), root, "{size}");
            assert_eq!(TileTree::new(&edge, &stored).root(size), Ok(root));
            assert_eq!(restarted(&leaves, &stored, size), edge);
        }
    }
    assert_eq!(stored.0.len(), 258 + 1);
    // Sizes of long ago follow from the tiles as well.
    let tree = TileTree::new(&edge, &stored);
    for size in [0, 1, 255, 256, 257, 511, 12_345, 65_535, 65_536, 65_537] {
        let root = mth(&leaves[..usize::try_from(size).unwrap()]);
        assert_eq!(tree.root(size), Ok(root));
        let proof = tree.consistency(size, SIZE).unwrap();
        assert_eq!(verify_consistency(size, &root, SIZE, &edge.root(), &proof), Ok(()));
    }
}

/// The edge as a start makes it: leaves behind the last full tile, and above them the roots of full tiles.
fn restarted(leaves: &[Hash], stored: &Stored, size: u64) -> Edge {
    Edge::from_partial_tiles(size, |tile, width| {
        let first = tile.index * TILE_WIDTH as u64;
        let hashes = (first..first + width as u64).map(|index| match tile.level {
            0 => leaves[usize::try_from(index).unwrap()],
            level => stored.full_tile(TileId { level: level - 1, index }).unwrap().root().unwrap(),
        });
        Ok::<_, EdgeError>(hashes.collect())
    })
    .unwrap()
}

#[test]
fn partial_tiles_of_another_width_make_no_edge() {
    let wrong = Edge::from_partial_tiles(3, |_, _| Ok::<_, EdgeError>(vec![leaf(0)]));
    let tile = TileId { level: 0, index: 0 };
    assert_eq!(wrong, Err(EdgeError::Width { tile, wanted: 3, found: 1 }));
}

#[test]
fn an_edge_of_the_largest_size_is_full() {
    let mut edge = Edge::from_partial_tiles(u64::MAX, |_, width| Ok::<_, EdgeError>(vec![leaf(0); width])).unwrap();
    assert_eq!(edge.append(leaf(0)), Err(EdgeError::Full));
    assert_ne!(edge.root(), Hash::of_empty_tree());
}

#[test]
fn a_served_tile_is_what_the_specification_says() {
    // C2SP tlog-tiles: a tree of size 70,000 has 273 full tiles of level 0 and a partial one of width 112; one full tile
    // of level 1 and a partial one of width 17; a partial tile of level 2 of width 1.
    let widths = |level, index| TileId { level, index }.width_at(70_000);
    assert_eq!([widths(0, 272), widths(0, 273), widths(0, 274)], [256, 112, 0]);
    assert_eq!([widths(1, 0), widths(1, 1), widths(1, 2)], [256, 17, 0]);
    assert_eq!([widths(2, 0), widths(2, 1), widths(3, 0)], [1, 0, 0]);
    assert_eq!(TileId { level: 1, index: 0 }.width_at(256), 1);

    let (edge, stored) = log(700);
    let tree = TileTree::new(&edge, &stored);
    let leaves: Vec<Hash> = (0..700).map(leaf).collect();
    assert_eq!(tree.tile(TileId { level: 0, index: 1 }, 256).unwrap().hashes(), &leaves[256..512]);
    assert_eq!(tree.tile(TileId { level: 0, index: 1 }, 7).unwrap().hashes(), &leaves[256..263]);
    assert_eq!(tree.tile(TileId { level: 0, index: 2 }, 188).unwrap().hashes(), &leaves[512..]);
    assert_eq!(
        tree.tile(TileId { level: 1, index: 0 }, 2).unwrap().hashes(),
        &[mth(&leaves[..256]), mth(&leaves[256..512])]
    );
    for (level, index, width) in [(0, 2, 189), (0, 3, 1), (1, 0, 3), (1, 0, 0), (2, 0, 1), (9, 0, 1)] {
        assert_eq!(tree.tile(TileId { level, index }, width), Err(ProveError::Range));
    }
}

#[test]
fn bytes_that_are_no_tile_are_refused() {
    for length in [0, 1, 31, 33, 8191, 8193, 8192 + 32] {
        assert!(Tile::from_bytes(&vec![0; length]).is_err(), "{length}");
    }
    assert_eq!(TileId::from_key(&TileId { level: 3, index: 70_000 }.key()), Some(TileId { level: 3, index: 70_000 }));
    for key in [&[][..], &[0; 8], &[0; 10], &[8, 0, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(TileId::from_key(key), None);
    }
}

#[test]
fn ct_merkle_makes_the_same_roots_and_accepts_the_same_proofs() {
    let mut theirs = MemoryBackedTree::<sha2_11::Sha256, Vec<u8>>::new();
    let (mut edge, mut stored) = (Edge::new(), Stored::default());
    let mut earlier = BTreeMap::new();
    for number in 0..270 {
        theirs.push(entry(number));
        stored.append(&mut edge, leaf(number));
        let (size, root) = (number + 1, theirs.root());
        assert_eq!(root.as_bytes().as_slice(), edge.root().as_bytes());
        earlier.insert(size, theirs.root());
        let tree = TileTree::new(&edge, &stored);
        for index in [0, size / 3, size / 2, number] {
            let ours = tree.inclusion(index, size).unwrap();
            let proof = theirs.prove_inclusion(usize::try_from(index).unwrap());
            assert_eq!(proof.as_bytes(), bytes_of(&ours));
            root.verify_inclusion(&entry(index), index, &proof).unwrap();
        }
        for from in [1, size / 3, size / 2, size] {
            let Some(before) = earlier.get(&from) else { continue };
            let ours = tree.consistency(from, size).unwrap();
            let proof = theirs.prove_consistency(usize::try_from(size - from).unwrap());
            assert_eq!(proof.as_bytes(), bytes_of(&ours), "{from} to {size}");
            root.verify_consistency(before, &proof).unwrap();
        }
    }
}

fn bytes_of(hashes: &[Hash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

/// Our log, as `tlog_tiles`, the port of Go's `sumdb/tlog`, reads a log over the network.
struct Served<'a>(TileTree<'a, Stored>);

impl tlog_tiles::TileReader for Served<'_> {
    fn height(&self) -> u8 {
        8
    }

    fn read_tiles(&self, tiles: &[tlog_tiles::Tile]) -> Result<Vec<Vec<u8>>, tlog_tiles::Error> {
        let read = |tile: &tlog_tiles::Tile| {
            // In Go's `sumdb` the height of tiles is part of the path, in C2SP tlog-tiles it is always 8.
            let written = tile.path().replacen("tile/8/", "tile/", 1);
            let path: muster_tlog::LogPath = written.parse().unwrap();
            assert_eq!(path.to_string(), written);
            let muster_tlog::LogPath::Tile { tile, width } = path else { panic!("{path} is no tile") };
            self.0.tile(tile, width).unwrap().to_bytes()
        };
        Ok(tiles.iter().map(read).collect())
    }

    fn save_tiles(&self, _: &[tlog_tiles::Tile], _: &[Vec<u8>]) {}
}

#[test]
fn tlog_tiles_authenticates_our_tiles_and_makes_the_same_proofs() {
    let (edge, stored) = log(66_100);
    let served = Served(TileTree::new(&edge, &stored));
    let tree = TileTree::new(&edge, &stored);
    let size = edge.size();
    let root = tlog_tiles::Hash(*edge.root().as_bytes());
    let reader = tlog_tiles::TileHashReader::new(size, root, &served);
    let ours =
        |hashes: Vec<tlog_tiles::Hash>| -> Vec<Hash> { hashes.into_iter().map(|hash| Hash::new(hash.0)).collect() };
    for index in [0, 1, 255, 256, 65_535, 65_536, 66_000, size - 1] {
        let theirs = tlog_tiles::prove_record(size, index, &reader).unwrap();
        tlog_tiles::check_record(&theirs, size, root, index, tlog_tiles::record_hash(&entry(index))).unwrap();
        assert_eq!(tree.inclusion(index, size), Ok(ours(theirs)));
    }
    for from in [1, 2, 256, 300, 65_536, 65_537, 66_099, size] {
        let theirs = tlog_tiles::prove_tree(size, from, &reader).unwrap();
        let before = tlog_tiles::Hash(*tree.root(from).unwrap().as_bytes());
        tlog_tiles::check_tree(&theirs, size, root, from, before).unwrap();
        assert_eq!(tree.consistency(from, size), Ok(ours(theirs)));
    }
}
