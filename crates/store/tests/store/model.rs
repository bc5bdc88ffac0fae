//! Both stores compared with a minimal model.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use futures::FutureExt;
use muster_store::{
    Batch, Durability, Expect, MemStore, Options, Order, Page, Rec, Scan, SledStore, Store, StoreError, StoreHandle,
    Tree, number_key,
};
use proptest::prelude::*;

use crate::support::{all, rec};

type Model = BTreeMap<(&'static str, Vec<u8>), Rec>;

#[derive(Debug, Clone)]
enum Step {
    Commit(Vec<(Tree, Vec<u8>, Option<Rec>)>),
    /// Appended records in one batch with a precondition, which does not hold if `wrong`.
    Append {
        recs: Vec<Rec>,
        wrong: bool,
    },
    /// A put over the appended record with this number, modulo their count.
    Replace {
        number: u64,
        to: Rec,
    },
    /// A put on condition that the key holds the model's value (or, if `wrong`, another one).
    Swap {
        tree: Tree,
        key: Vec<u8>,
        to: Rec,
        wrong: bool,
    },
    Scan {
        tree: Tree,
        scan: Scan,
    },
    Reopen,
}

fn tree() -> impl Strategy<Value = Tree> {
    prop_oneof![Just(Tree::Keys), Just(Tree::Limits)]
}

/// Few keys, so that operations collide; with 0xff, where the end of a prefix is not simply the next byte.
fn key() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(prop_oneof![Just(0_u8), Just(b'a'), Just(255)], 1..4)
}

fn value() -> impl Strategy<Value = Rec> {
    let len = prop_oneof![6 => 0..40_usize, 1 => 16_380..16_390_usize];
    (any::<u16>(), any::<u8>(), len).prop_map(|(schema, byte, len)| Rec { schema, bytes: vec![byte; len] })
}

fn step() -> impl Strategy<Value = Step> {
    let write = (tree(), key(), prop::option::weighted(0.7, value()));
    let scan = (
        prop::collection::vec(prop_oneof![Just(b'a'), Just(255)], 0..2),
        prop::option::of(key()),
        1..5_usize,
        any::<bool>(),
    );
    prop_oneof![
        6 => prop::collection::vec(write, 1..5).prop_map(Step::Commit),
        3 => (tree(), key(), value(), any::<bool>()).prop_map(|(tree, key, to, wrong)| Step::Swap { tree, key, to, wrong }),
        4 => (prop::collection::vec(value(), 1..5), any::<bool>()).prop_map(|(recs, wrong)| Step::Append { recs, wrong }),
        1 => (any::<u64>(), value()).prop_map(|(number, to)| Step::Replace { number, to }),
        4 => (tree(), scan).prop_map(|(tree, (prefix, from, limit, down))| {
            let order = if down { Order::Descending } else { Order::Ascending };
            Step::Scan { tree, scan: Scan { prefix, from, limit, order } }
        }),
        1 => Just(Step::Reopen),
    ]
}

fn commit(store: &dyn Store, batch: Batch) -> Result<(), StoreError> {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(store.commit(batch))
}

fn expected_page(model: &Model, tree: Tree, scan: &Scan) -> Page {
    let low = Bound::Included((tree.name(), Vec::new()));
    let mut keys: Vec<_> = model
        .range((low, Bound::Unbounded))
        .filter(|((name, key), _)| *name == tree.name() && key.starts_with(&scan.prefix))
        .map(|((_, key), rec)| (key.clone(), rec.clone()))
        .collect();
    if scan.order == Order::Descending {
        keys.reverse();
    }
    keys.retain(|(key, _)| match (&scan.from, scan.order) {
        (None, _) => true,
        (Some(from), Order::Ascending) => key >= from,
        (Some(from), Order::Descending) => key <= from,
    });
    let next = keys.get(scan.limit).map(|(key, _)| key.clone());
    keys.truncate(scan.limit);
    Page { items: keys, next }
}

fn log_key(number: u64) -> (&'static str, Vec<u8>) {
    (Tree::AuditLog.name(), number_key(number).to_vec())
}

fn appended(model: &Model) -> u64 {
    model.keys().filter(|(tree, _)| *tree == Tree::AuditLog.name()).count() as u64
}

fn run_steps(steps: Vec<Step>, mut store: StoreHandle, reopen: impl Fn(StoreHandle) -> StoreHandle) {
    let mut model = Model::new();
    for step in steps {
        match step {
            Step::Commit(writes) => {
                let mut batch = Batch::default();
                for (tree, key, to) in writes {
                    batch = match to {
                        Some(to) => {
                            model.insert((tree.name(), key.clone()), to.clone());
                            batch.and_put(tree, key, to)
                        }
                        None => {
                            model.remove(&(tree.name(), key.clone()));
                            batch.and_delete(tree, key)
                        }
                    };
                }
                assert_eq!(commit(&*store, batch), Ok(()));
            }
            Step::Append { recs, wrong } => {
                let expect = if wrong { Expect::Is(rec("x")) } else { Expect::Absent };
                let batch = Batch::default().when(Tree::Limits, b"no key of the model".to_vec(), expect);
                let batch = recs.iter().fold(batch, |batch, rec| batch.and_append(Tree::AuditLog, rec.clone()));
                let outcome = commit(&*store, batch);
                assert_eq!(outcome, if wrong { Err(StoreError::Conflict) } else { Ok(()) });
                let first = appended(&model);
                let numbered = if wrong { Vec::new() } else { recs };
                model.extend((first..).zip(numbered).map(|(number, rec)| (log_key(number), rec)));
                assert_eq!(*store.appended(Tree::AuditLog).borrow(), appended(&model));
            }
            Step::Replace { number, to } => {
                let length = appended(&model);
                let beyond = Batch::put(Tree::AuditLog, number_key(length + 1), to.clone());
                assert!(matches!(commit(&*store, beyond), Err(StoreError::BadRequest(_))));
                if let Some(number) = number.checked_rem(length) {
                    let batch = Batch::put(Tree::AuditLog, number_key(number), to.clone());
                    assert_eq!(commit(&*store, batch), Ok(()));
                    model.insert(log_key(number), to);
                }
            }
            Step::Swap { tree, key, to, wrong } => {
                let place = (tree.name(), key.clone());
                let now = model.get(&place).cloned();
                let expect = match (now, wrong) {
                    (Some(now), false) => Expect::Is(now),
                    (Some(now), true) => Expect::Is(Rec { schema: now.schema.wrapping_add(1), ..now }),
                    (None, false) => Expect::Absent,
                    (None, true) => Expect::Is(rec("x")),
                };
                // The other write of the batch must not happen either.
                let other = [key.as_slice(), b"!"].concat();
                let batch = Batch::put(tree, other.clone(), to.clone())
                    .and_put(tree, key.clone(), to.clone())
                    .when(tree, key, expect);
                let outcome = commit(&*store, batch);
                assert_eq!(outcome, if wrong { Err(StoreError::Conflict) } else { Ok(()) });
                if !wrong {
                    model.insert((tree.name(), other), to.clone());
                    model.insert(place, to);
                }
            }
            Step::Scan { tree, scan } => {
                let page = store.scan(tree, &scan).unwrap();
                assert_eq!(page, expected_page(&model, tree, &scan), "{scan:?}");
            }
            Step::Reopen => store = reopen(store),
        }
    }
    store = reopen(store);
    for tree in [Tree::Keys, Tree::Limits, Tree::AuditLog] {
        let wanted: Vec<_> = model
            .iter()
            .filter(|((name, _), _)| *name == tree.name())
            .map(|((_, key), rec)| (key.clone(), rec.clone()))
            .collect();
        assert_eq!(all(&*store, tree), wanted);
        for (key, rec) in wanted {
            assert_eq!(store.get(tree, &key), Ok(Some(rec)));
        }
        assert_eq!(store.get(tree, b"never written"), Ok(None));
    }
    assert_eq!(*store.appended(Tree::AuditLog).borrow(), appended(&model));
    assert_eq!(store.verify().unwrap().corrupt, Vec::<String>::new());
    assert_eq!(store.stats().spilled, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_store_in_memory_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        run_steps(steps, Arc::new(MemStore::default()), |store| store);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_store_on_disk_behaves_like_the_model(steps in prop::collection::vec(step(), 1..40)) {
        let home = tempfile::tempdir().unwrap();
        let open = || -> StoreHandle {
            let options = Options { durability: Durability::ProcessEnd, cache_bytes: 8 << 20, ..Options::new(home.path()) };
            let opened = SledStore::open(options).unwrap();
            assert_eq!(opened.quarantined, None);
            opened.store
        };
        run_steps(steps, open(), |store| { drop(store); open() });
    }
}

#[tokio::test]
async fn both_stores_reject_requests_out_of_bounds() {
    let home = tempfile::tempdir().unwrap();
    let disk: StoreHandle = SledStore::open(Options::new(home.path())).unwrap().store;
    for store in [disk, Arc::new(MemStore::default())] {
        let put = |key: usize, value: usize| Batch::put(Tree::Keys, vec![1; key], rec(vec![1; value]));
        let full = (0..4).fold(Batch::default(), |batch, n| batch.and_put(Tree::Keys, [n], rec(vec![1; 4 << 20])));
        let many = (0..4_097_u32).fold(Batch::default(), |batch, n| batch.and_delete(Tree::Keys, n.to_be_bytes()));
        let deleted = Batch::delete(Tree::AuditLog, number_key(0));
        let unnumbered = Batch::default().and_append(Tree::Keys, rec("1"));
        assert_eq!(store.commit(Batch::default().and_append(Tree::AuditLog, rec("1"))).await, Ok(()));
        for wrong in [deleted, unnumbered, put(0, 1), put(4_097, 1), put(1, (4 << 20) + 1), full, many] {
            assert!(matches!(store.commit(wrong).await, Err(StoreError::BadRequest(_))));
        }
        assert_eq!(store.commit(put(4_096, 4 << 20)).await, Ok(()));
        let none = Scan::default();
        assert!(matches!(store.scan(Tree::Keys, &none), Err(StoreError::BadRequest(_))));
        assert!(matches!(store.get(Tree::Keys, b""), Err(StoreError::BadRequest(_))));
    }
}

#[tokio::test]
async fn held_commits_wait_and_failing_ones_write_nothing() {
    let store = Arc::new(MemStore::default());
    store.hold_commits();
    let mut first = store.commit(Batch::put(Tree::Keys, "a", rec("1")));
    let second = store.commit(Batch::put(Tree::Keys, "a", rec("2")).when(Tree::Keys, "a", Expect::Absent));
    store.held(2).await;
    assert_eq!((&mut first).now_or_never(), None);
    assert_eq!(store.get(Tree::Keys, b"a"), Ok(None));
    assert_eq!(store.stats().queue_depth, 2);
    store.release();
    assert_eq!((first.await, second.await), (Ok(()), Err(StoreError::Conflict)));

    store.fail_commits(Some(StoreError::Poisoned("no disk".into())));
    let failed = store.commit(Batch::delete(Tree::Keys, "a")).await;
    assert_eq!(failed, Err(StoreError::Poisoned("no disk".into())));
    assert_eq!(store.stats().poisoned.as_deref(), Some("no disk"));
    store.fail_commits(None);
    assert_eq!(store.get(Tree::Keys, b"a"), Ok(Some(rec("1"))));
    assert_eq!(store.commit(Batch::delete(Tree::Keys, "a")).await, Ok(()));
}
