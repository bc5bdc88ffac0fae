//! Records of every format ever released can be read and are migrated.

use std::fs;
use std::path::Path;

use muster_store::{
    Batch, MemStore, MigratedTree, Migration, Options, Rec, Scan, SledStore, Store, StoreError, Tree, migrate,
};

use crate::support::rec;

/// Format 1, byte by byte: `a7 kind schema crc32c body`. The checksums were computed independently of this program,
/// from the definition in `envelope.rs` and the CRC-32C of RFC 3720.
const FORMAT_1: [(&str, &[u8], &[u8]); 4] = [
    ("meta", b"store/format", &[0xa7, 0, 1, 0, 0x1b, 0x63, 0xf5, 0x68, 1]),
    ("keys", b"k1", &[0xa7, 0, 1, 0, 0xfc, 0xe4, 0x30, 0xb3, b'o', b'l', b'd']),
    ("limits", &[0, 7], &[0xa7, 0, 1, 0, 0x67, 0xe0, 0xcb, 0xb3, 0x2a]),
    (
        "ledger",
        b"big",
        &[
            0xa7, 0x01, 0x01, 0x00, 0xfc, 0xa4, 0x2c, 0xc9, 0x44, 0xdc, 0x85, 0x25, 0x68, 0x95, 0x7f, 0x30, 0x91, 0xc9,
            0xd5, 0x92, 0x90, 0x94, 0xfd, 0x4f, 0x92, 0xa0, 0x52, 0x4e, 0x9f, 0xfc, 0xa1, 0x95, 0x19, 0x9c, 0xe4, 0xd2,
            0x93, 0xcd, 0xd1, 0xe1,
        ],
    ),
];
/// SHA-256 of 16,385 times `b`.
const BIG_NAME: &str = "44dc852568957f3091c9d5929094fd4f92a0524e9ffca195199ce4d293cdd1e1";
static BIG: [u8; 16_385] = [b'b'; 16_385];

fn engine(live: &Path) -> sled::Db {
    sled::Config::new().path(live).segment_size(8 << 20).flush_every_ms(None).open().unwrap()
}

/// Creates a folder as the first release left it.
fn format_1(home: &Path) {
    let live = home.join("live");
    let db = engine(&live);
    for (tree, key, bytes) in FORMAT_1 {
        db.open_tree(tree).unwrap().insert(key, bytes).unwrap();
    }
    let big = [&hex(BIG_NAME)[..], b"ledger/big"].concat();
    db.open_tree("blob-refs").unwrap().insert(big, b"").unwrap();
    db.open_tree("store-marks").unwrap().insert(b"group", &9_u64.to_be_bytes()).unwrap();
    db.flush().unwrap();
    fs::create_dir(live.join("blobs.d")).unwrap();
    fs::write(live.join("blobs.d").join(BIG_NAME), BIG).unwrap();
    fs::write(live.join("blobs.d").join("0".repeat(64)), "unreferenced").unwrap();
}

fn hex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

fn uppercase(rec: &Rec) -> Result<Rec, StoreError> {
    Ok(Rec { schema: 2, bytes: rec.bytes.to_ascii_uppercase() })
}

fn add_exclamation_mark(rec: &Rec) -> Result<Rec, StoreError> {
    Ok(Rec { schema: 3, bytes: [rec.bytes.as_slice(), b"!"].concat() })
}

const STEPS: [Migration; 2] = [
    Migration { tree: Tree::Keys, from: 1, to: 2, apply: uppercase },
    Migration { tree: Tree::Keys, from: 2, to: 3, apply: add_exclamation_mark },
];

#[test]
fn format_1_is_read_as_it_is() {
    let home = tempfile::tempdir().unwrap();
    format_1(home.path());
    let opened = SledStore::open(Options::new(home.path())).unwrap();
    assert_eq!((opened.quarantined, opened.migrated), (None, vec![]));
    assert_eq!(opened.store.get(Tree::Keys, b"k1"), Ok(Some(rec("old"))));
    assert_eq!(opened.store.get(Tree::Limits, &[0, 7]), Ok(Some(rec([42]))));
    assert_eq!(opened.store.get(Tree::Ledger, b"big"), Ok(Some(rec(BIG))));
    assert!(!home.path().join("live/blobs.d").join("0".repeat(64)).exists());
}

#[test]
fn format_1_is_migrated_once_and_then_rejected_by_an_older_program() {
    let home = tempfile::tempdir().unwrap();
    format_1(home.path());
    let open =
        |steps: &[Migration]| SledStore::open(Options { migrations: steps.to_vec(), ..Options::new(home.path()) });
    let opened = open(&STEPS).unwrap();
    assert_eq!(opened.migrated, [MigratedTree { tree: Tree::Keys, to: 3, records: 1 }]);
    assert_eq!(opened.store.get(Tree::Keys, b"k1"), Ok(Some(Rec { schema: 3, bytes: b"OLD!".to_vec() })));
    assert_eq!(opened.store.get(Tree::Ledger, b"big"), Ok(Some(rec(BIG))));
    drop(opened);
    let opened = open(&STEPS).unwrap();
    assert_eq!(opened.migrated, []);
    drop(opened);
    assert_eq!(open(&STEPS[..1]).unwrap_err(), StoreError::NewerSchema { found: 3, known: 2 });
    assert_eq!(open(&[]).unwrap_err(), StoreError::NewerSchema { found: 3, known: 1 });
}

async fn thousand(store: &MemStore) {
    for n in 0..1_000_u32 {
        store.commit(Batch::put(Tree::Keys, n.to_be_bytes(), rec("x"))).await.unwrap();
    }
}

#[tokio::test]
async fn an_interrupted_migration_resumes() {
    let store = std::sync::Arc::new(MemStore::default());
    thousand(&store).await;
    migrate(&*store, &[]).await.unwrap();
    // Interrupted after the second step of 256 records: the third is accepted and never applied.
    let running = tokio::spawn({
        let store = store.clone();
        async move { migrate(&*store, &STEPS).await }
    });
    for _ in 0..2 {
        store.hold_commits();
        store.held(1).await;
        store.release();
    }
    store.hold_commits();
    store.held(1).await;
    store.fail_commits(Some(StoreError::Poisoned("power cut".into())));
    store.release();
    assert_eq!(running.await.unwrap(), Err(StoreError::Poisoned("power cut".into())));
    store.fail_commits(None);

    assert_eq!(migrate(&*store, &[]).await, Err(StoreError::NewerSchema { found: 3, known: 1 }));
    let done = migrate(&*store, &STEPS).await.unwrap();
    assert_eq!(done, [MigratedTree { tree: Tree::Keys, to: 3, records: 1_000 - 512 }]);
    let page = store.scan(Tree::Keys, &Scan { limit: 1_000, ..Scan::default() }).unwrap();
    assert!(page.items.iter().all(|(_, found)| *found == Rec { schema: 3, bytes: b"X!".to_vec() }));
    assert_eq!(migrate(&*store, &STEPS).await, Ok(vec![]));
}

#[tokio::test]
async fn invalid_migrations_and_newer_records_are_rejected() {
    let store = MemStore::default();
    store.commit(Batch::put(Tree::Keys, "k", rec("x"))).await.unwrap();
    let refused = |found: Result<Vec<MigratedTree>, StoreError>, message: &str| {
        let Err(StoreError::BadRequest(why)) = found else { panic!("{found:?}") };
        assert!(why.contains(message), "{why}");
    };
    refused(migrate(&store, &STEPS[1..]).await, "keys: no migration from schema 1");
    refused(migrate(&store, &[Migration { to: 1, ..STEPS[0] }]).await, "invalid migration of");
    refused(migrate(&store, &[Migration { tree: Tree::Meta, ..STEPS[0] }]).await, "invalid migration of");
    refused(migrate(&store, &[Migration { to: 4, ..STEPS[0] }]).await, "a migration to schema 4 returned schema 2");

    let newer = Rec { schema: 9, bytes: vec![] };
    store.commit(Batch::put(Tree::Limits, "k", newer)).await.unwrap();
    assert_eq!(migrate(&store, &STEPS).await, Err(StoreError::NewerSchema { found: 9, known: 1 }));

    // `store/format` of format 2: a number in postcard.
    store.commit(Batch::put(Tree::Meta, "store/format", rec([2]))).await.unwrap();
    assert_eq!(migrate(&store, &STEPS).await, Err(StoreError::NewerSchema { found: 2, known: 1 }));
}
