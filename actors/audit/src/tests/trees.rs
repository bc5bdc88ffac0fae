use muster_core::test_world;
use muster_store::{Store, Tree};
use muster_tlog::{TILE_BYTES, TileId, verify_consistency, verify_inclusion};
use proptest::prelude::*;

use super::{Fixture, followed, hashes, naive_root, signed};
use crate::tiles::LogReader;

fn check(sizes: &[u64], lost: &[u64]) {
    test_world::run(|tree| {
        let (sizes, lost) = (sizes.to_vec(), lost.to_vec());
        async move {
            let fixture = Fixture::new();
            let audit = fixture.start(&tree).await;
            let mut length = 0;
            for size in sizes {
                fixture.append(length..length + size).await;
                length += size;
                followed(&audit, length).await;
                let expected = naive_root(&hashes(&fixture.records()));
                assert_eq!(audit.view().edge.root(), expected, "followed, {length} entries");
                assert_eq!(LogReader::from(&fixture.store()).edge(length).unwrap().root(), expected, "restarted");
            }
            // Tiles that are lost are made anew.
            let store = fixture.store();
            let tiles = length / 256;
            for index in lost.into_iter().filter(|index| *index < tiles) {
                let key = TileId { level: 0, index }.key();
                store.commit(muster_store::Batch::delete(Tree::AuditTiles, key)).await.unwrap();
            }
            let expected = naive_root(&hashes(&fixture.records()));
            assert_eq!(LogReader::from(&store).edge(length).unwrap().root(), expected, "tiles lost");
            assert!(tree.inject_panic("audit/follower"));
            test_world::until(|| {
                tree.snapshot().iter().all(|actor| actor.restarts > 0 || actor.path != "audit/follower")
            })
            .await;
            audit.up().await;
            fixture.append(length..length + 1).await;
            followed(&audit, length + 1).await;
            assert_eq!(audit.view().edge.root(), naive_root(&hashes(&fixture.records())), "after a panic");
        }
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn roots_of_follower_naive_and_restarted_tree_are_equal(
        sizes in prop::collection::vec(0..700_u64, 1..4),
        lost in prop::collection::vec(0..6_u64, 0..3),
    ) {
        check(&sizes, &lost);
    }
}

#[test]
fn every_proof_verifies_and_no_other() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        let n = 27;
        fixture.append(0..n).await;
        signed(&audit, n).await;
        let leaves = hashes(&fixture.records());
        let root = |size: u64| naive_root(&leaves[..usize::try_from(size).unwrap()]);
        for size in 1..=n {
            for seq in 0..size {
                let proof = audit.inclusion(seq, Some(size)).await.unwrap();
                assert_eq!(proof.leaf_hash, leaves[usize::try_from(seq).unwrap()]);
                verify_inclusion(&proof.leaf_hash, seq, size, &proof.path, &root(size)).unwrap();
                let other = leaves[usize::try_from((seq + 1) % n).unwrap()];
                assert!(verify_inclusion(&other, seq, size, &proof.path, &root(size)).is_err());
                assert!(verify_inclusion(&proof.leaf_hash, seq, size + 1, &proof.path, &root(size)).is_err());
                let longer = [proof.path.as_slice(), &[other]].concat();
                assert!(verify_inclusion(&proof.leaf_hash, seq, size, &longer, &root(size)).is_err());
                for at in 0..proof.path.len() {
                    let mut altered = proof.path.clone();
                    altered[at] = other;
                    let equal = altered == proof.path;
                    assert_eq!(verify_inclusion(&proof.leaf_hash, seq, size, &altered, &root(size)).is_ok(), equal);
                }
            }
            for from in 0..=size {
                let (to, path) = audit.consistency(from, Some(size)).await.unwrap();
                assert_eq!(to, size);
                verify_consistency(from, &root(from), size, &root(size), &path).unwrap();
                if from > 0 && from < size {
                    assert!(verify_consistency(from, &root(size), size, &root(size), &path).is_err());
                }
            }
            assert!(audit.inclusion(size, Some(size)).await.is_err(), "an entry behind the tree");
        }
        assert!(audit.inclusion(n, None).await.is_err());
        assert!(audit.consistency(n + 1, None).await.is_err());
    });
}

#[test]
fn full_tiles_are_stored_once_with_8_kib() {
    test_world::run(|tree| async move {
        let fixture = Fixture::new();
        let audit = fixture.start(&tree).await;
        fixture.append(0..600).await;
        signed(&audit, 600).await;
        let store = fixture.store();
        for (index, stored) in [(0, true), (1, true), (2, false)] {
            let tile = store.get(Tree::AuditTiles, &TileId { level: 0, index }.key()).unwrap();
            assert_eq!(tile.map(|tile| tile.bytes.len()), stored.then_some(TILE_BYTES), "tile {index}");
        }
        let all = store.entries(Tree::AuditTiles, [], muster_store::PageRequest::default());
        let bytes: usize = all.map(|entry| entry.unwrap().1.bytes.len()).sum();
        // 8 KiB and a summary of about 1 KiB for 256 entries.
        assert!(bytes < 2 * (TILE_BYTES + 1_200), "{bytes}");
    });
}
