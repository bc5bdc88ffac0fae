//! Readers of outside bytes: none panics, and what one accepts it writes back as it was.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test's helpers may fail it")]

use muster_tlog::canonical::{parse_unambiguous, to_canonical};
use muster_tlog::{
    Checkpoint, Hash, Leaf, LogPath, Note, NoteSignature, Salt, Tile, TileId, TlogProof, VerifierKey, read_bundle,
    verify_consistency, verify_inclusion, write_bundle,
};
use proptest::prelude::*;

const VALID: &[&str] = &[
    "muster.example.org/audit/1+76bd6027+ASmsuuFBvMrwsi4alNNNC8c2HlJtC/4SyJeUvJMilm3X",
    "muster.example.org/audit/1\n1\nipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=\n\n\
     — muster.example.org/audit/1 dr1gJ4fCPmYusc++M95DpSHTNSiIgk+FczvHhEr/bCKVRBlDwvLgVTdMQNHWaDJIbOA26W2yvF5bdCHk29shuPHrAQs=\n",
    "c2sp.org/tlog-proof@v1\nextra cmVjb3Jk\nindex 0\nipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=\n\n\
     a\n2\nipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=\n\n— a AAAAAAAA\n",
    "tile/0/x001/x234/067.p/12",
    r#"{"action":"key.grant","actor":"a","at":"2026-11-26T02:00:00Z","id":"i","outcome":"ok","resource":"ci","v":2}"#,
    "c2FsdCBzYWx0IHNhbHQgcw",
    "\u{0}\u{3}abc\u{0}\u{0}",
];

/// Bytes at random, and valid texts with some bytes replaced, inserted or removed.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let edits = prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, any::<u8>()), 0..6);
    let near = (prop::sample::select(VALID), edits).prop_map(|(text, edits)| {
        let mut bytes = text.as_bytes().to_vec();
        for (at, kind, byte) in edits {
            let at = at.index(bytes.len().max(1));
            match kind {
                _ if at >= bytes.len() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    });
    prop_oneof![3 => near, 1 => prop::collection::vec(any::<u8>(), 0..400)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_is_written_back(bytes in bytes()) {
        if let Ok(note) = Note::parse(&bytes) {
            prop_assert_eq!(note.to_string().into_bytes(), bytes.clone());
        }
        if let Ok(proof) = TlogProof::parse(&bytes) {
            prop_assert_eq!(proof.to_string().into_bytes(), bytes.clone());
        }
        if let Ok(leaf) = Leaf::from_bytes(&bytes) {
            prop_assert_eq!(&leaf.to_bytes().unwrap(), &bytes);
        }
        if let Ok(entries) = read_bundle(&bytes) {
            prop_assert_eq!(&write_bundle(entries).unwrap(), &bytes);
        }
        if let Ok(tile) = Tile::from_bytes(&bytes) {
            prop_assert_eq!(&tile.to_bytes(), &bytes);
        }
        if let Some(tile) = TileId::from_key(&bytes) {
            prop_assert_eq!(&tile.key()[..], &bytes[..]);
        }
        if let Ok(value) = parse_unambiguous(&bytes) {
            let canonical = to_canonical(&value).unwrap();
            let again = parse_unambiguous(canonical.as_bytes()).unwrap();
            prop_assert_eq!(to_canonical(&again).unwrap(), canonical);
        }
        let Ok(text) = std::str::from_utf8(&bytes) else { return Ok(()) };
        if let Ok(checkpoint) = text.parse::<Checkpoint>() {
            prop_assert_eq!(checkpoint.to_string(), text);
        }
        if let Ok(key) = text.parse::<VerifierKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
        if let Ok(path) = text.parse::<LogPath>() {
            prop_assert_eq!(path.to_string(), text);
        }
        if let Some(signature) = NoteSignature::parse(text) {
            prop_assert_eq!(signature.to_string(), text);
        }
        if let Some(hash) = Hash::from_base64(text) {
            prop_assert_eq!(hash.to_base64(), text);
        }
        if let Some(salt) = Salt::from_base64url(text) {
            prop_assert_eq!(salt.to_base64url(), text);
        }
    }
}

proptest! {
    // Random sizes never verify: what ends does so at once.
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn verification_ends_for_every_size_and_path(
        index in any::<u64>(),
        size in any::<u64>(),
        path in prop::collection::vec(any::<[u8; 32]>(), 0..70),
    ) {
        let path: Vec<Hash> = path.into_iter().map(Hash::new).collect();
        let hash = Hash::of_empty_tree();
        prop_assert!(verify_inclusion(&hash, index, size, &path, &hash).is_err());
        let consistent = verify_consistency(index, &hash, size, &hash, &path).is_ok();
        prop_assert!(!consistent || index == size || index == 0);
    }
}

#[test]
fn the_valid_texts_are_valid() {
    assert!(VALID[0].parse::<VerifierKey>().is_ok());
    assert!(Note::parse(VALID[1].as_bytes()).is_ok());
    assert!(TlogProof::parse(VALID[2].as_bytes()).is_ok());
    assert!(VALID[3].parse::<LogPath>().is_ok());
    assert!(Leaf::from_bytes(VALID[4].as_bytes()).is_ok());
    assert!(Salt::from_base64url(VALID[5]).is_some());
    assert_eq!(read_bundle(VALID[6].as_bytes()), Ok(vec![&b"abc"[..], b""]));
}

#[test]
fn bundles_have_bounds() {
    assert!(write_bundle([]).is_err());
    assert!(read_bundle(&[]).is_err());
    assert!(write_bundle(std::iter::repeat_n(&b"x"[..], 257)).is_err());
    assert!(write_bundle([&vec![0; 65_536][..]]).is_err());
    let full = write_bundle(std::iter::repeat_n(&b"x"[..], 256)).unwrap();
    assert_eq!(full[..3], [0, 1, b'x']);
    assert_eq!(read_bundle(&full).unwrap().len(), 256);
    assert!(read_bundle(&[full.clone(), vec![0, 0]].concat()).is_err());
    assert!(read_bundle(&full[..full.len() - 1]).is_err());
}
