//! The state machine against a simple model: visible entries, and no leftovers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use muster_store::{Op, Rec, Record, Tree};
use proptest::prelude::*;

use super::store::MAX_RETAINED;
use super::*;
use crate::keys;
use crate::messages::Precondition;
use crate::port::{AppliedKind, NewVector};
use crate::record::{Change, EntryId, EntryRecord, Owner, Place, Space, Usage, VectorRecord};
use muster_core::Millis;
use muster_core::precondition::IfMatch;

const START: Millis = Millis(1_767_225_600_000);
/// Maximum entries per owner in these tests.
const MOST: u64 = 5;

fn place_at(n: u8) -> Place {
    let namespace = if n.is_multiple_of(2) { "default" } else { "other" };
    Place::new(Space::new(Owner::new("key_1"), namespace), &format!("k{}", n / 2))
}

fn draft(n: u8, value: u8, ttl: Option<u64>, precondition: Precondition) -> Draft {
    Draft {
        place: place_at(n),
        value: Arc::from(format!("value {value}")),
        tags: vec![format!("t{value}")],
        ttl: ttl.map(Duration::from_secs),
        thread: None,
        importance: None,
        language: None,
        precondition,
    }
}

/// Contents of the store, and inputs of decisions.
#[derive(Default)]
struct StateFixture {
    trees: BTreeMap<(&'static str, Vec<u8>), Rec>,
    usages: BTreeMap<Space, Usage>,
    now: u64,
    seq: u64,
    ids: u128,
}

impl StateFixture {
    fn now(&self) -> Millis {
        START.plus(Duration::from_millis(self.now))
    }

    fn rows(&self, tree: Tree) -> impl Iterator<Item = (&[u8], &Rec)> {
        let rows = self.trees.iter().filter(move |((name, _), _)| *name == tree.name());
        rows.map(|((_, key), rec)| (key.as_slice(), rec))
    }

    fn get(&self, place: &Place) -> Option<EntryRecord> {
        let rec = self.trees.get(&(Tree::Memory.name(), keys::entry(place)));
        rec.map(|rec| EntryRecord::decode(rec).unwrap())
    }

    fn owned(&self) -> Usage {
        self.usages.values().fold(Usage::default(), |sum, usage| Usage {
            entries: sum.entries + usage.entries,
            versions: sum.versions + usage.versions,
            bytes: sum.bytes + usage.bytes,
        })
    }

    fn transaction(&self) -> Transaction {
        Transaction::new(self.now(), self.seq)
    }

    /// Applies a turn, as the actor and the store would.
    fn take(&mut self, transaction: Transaction) {
        let numbers: Vec<u64> = transaction.applied.iter().map(|applied| applied.seq).collect();
        assert!(
            numbers.iter().all(|seq| *seq > self.seq && *seq <= transaction.seq),
            "each change has a number of its own"
        );
        assert!(numbers.is_sorted_by(|a, b| a < b));
        for op in transaction.ops {
            match op {
                Op::Put { tree, key, rec } => drop(self.trees.insert((tree.name(), key), rec)),
                Op::Delete { tree, key } => drop(self.trees.remove(&(tree.name(), key))),
                // The audit log is in no model of memory.
                Op::Append { .. } => {}
            }
        }
        for (place, _) in &transaction.entries {
            let last = transaction.entries.iter().rev().find(|(other, _)| other == place).unwrap();
            assert_eq!(last.1.as_deref(), self.get(place).as_ref(), "the transaction names the stored entry");
        }
        for (space, delta) in transaction.deltas {
            let usage = self.usages.entry(space).or_default();
            *usage = usage.plus(delta);
        }
        self.seq = transaction.seq;
    }

    fn store(&mut self, draft: &Draft) -> Result<Stored, Rejection> {
        self.ids += 1;
        let (present, mut transaction) = (self.get(&draft.place), self.transaction());
        let outcome =
            super::store(&mut transaction, present.as_ref(), draft, EntryId(self.ids), (self.owned(), MOST)).unwrap();
        if outcome.is_ok() {
            self.take(transaction);
        } else {
            assert!(transaction.ops.is_empty() && transaction.applied.is_empty(), "who is refused changes nothing");
        }
        outcome
    }

    fn delete(&mut self, place: &Place, precondition: Precondition) -> Result<bool, Rejection> {
        let (present, mut transaction) = (self.get(place), self.transaction());
        let outcome = super::delete(&mut transaction, present.as_ref(), precondition).unwrap();
        self.take(transaction);
        outcome
    }

    fn vector(&mut self, place: &Place, id: EntryId, version: u32) -> bool {
        let (present, mut transaction) = (self.get(place), self.transaction());
        let new = NewVector { place: place.clone(), id, version, model: Arc::from("m"), vector: Arc::from([1.0]) };
        let stored = super::vector(&mut transaction, present.as_ref(), &new).unwrap();
        self.take(transaction);
        stored
    }

    fn sweep(&mut self) {
        loop {
            let due = self.rows(Tree::MemoryExpiry).next().and_then(|(key, rec)| {
                let (at, id, version) = keys::read_expiry(key)?;
                let place: Place = postcard::from_bytes(&rec.bytes).ok()?;
                (at <= self.now()).then_some((ExpiryRow { at, id, version }, place))
            });
            let Some((end, place)) = due else { return };
            let (present, mut transaction) = (self.get(&place), self.transaction());
            expire(&mut transaction, present.as_ref(), end).unwrap();
            self.take(transaction);
        }
    }

    /// Every stored record belongs to an existing entry, and the usage is correct.
    fn check(&self) {
        let entries: Vec<EntryRecord> =
            self.rows(Tree::Memory).map(|(_, rec)| EntryRecord::decode(rec).unwrap()).collect();
        let mut wanted: BTreeMap<&str, BTreeSet<Vec<u8>>> = BTreeMap::new();
        let mut want = |tree: Tree, key: Vec<u8>| {
            wanted.entry(tree.name()).or_default().insert(key);
        };
        let mut usages: BTreeMap<Space, Usage> = BTreeMap::new();
        for entry in &entries {
            want(Tree::Memory, keys::entry(&entry.place));
            want(Tree::MemoryIds, keys::id(entry.owner(), entry.id));
            want(Tree::MemoryIds, keys::id_in(&entry.place.space, entry.id));
            if let Some(at) = entry.expires_at {
                want(Tree::MemoryExpiry, keys::expiry(at, entry.id, entry.version));
            }
            for kept in &entry.kept {
                want(Tree::MemoryHistory, keys::version(entry.id, kept.version));
                if let Some(at) = kept.expires_at {
                    want(Tree::MemoryExpiry, keys::expiry(at, entry.id, kept.version));
                }
            }
            let usage = usages.entry(entry.place.space.clone()).or_default();
            usage.entries += 1;
            usage.versions += entry.kept.len() as u64;
            usage.bytes += entry.bytes();
        }
        for tree in [Tree::Memory, Tree::MemoryIds, Tree::MemoryHistory, Tree::MemoryExpiry] {
            let there: BTreeSet<Vec<u8>> = self.rows(tree).map(|(key, _)| key.to_vec()).collect();
            assert_eq!(there, wanted.remove(tree.name()).unwrap_or_default(), "{}", tree.name());
        }
        for (key, rec) in self.rows(Tree::MemoryVectors) {
            let vector = VectorRecord::decode(rec).unwrap();
            let entry = entries.iter().find(|entry| keys::vector(entry.id) == key).expect("its entry is there");
            assert!(entry.is_vector_valid(vector.version), "a vector goes with its text");
        }
        let counted: BTreeMap<_, _> =
            self.usages.iter().filter(|(_, usage)| **usage != Usage::default()).map(|(k, v)| (k.clone(), *v)).collect();
        assert_eq!(counted, usages);
    }
}

/// One version in the model.
#[derive(Debug, Clone, PartialEq)]
struct ModelRecord {
    id: EntryId,
    version: u32,
    value: String,
    created_at: Millis,
    stored_at: Millis,
    expires_at: Option<Millis>,
}

/// Versions by place, the current one last.
#[derive(Default)]
struct Model(BTreeMap<Place, Vec<ModelRecord>>);

impl Model {
    fn live(&self, place: &Place, now: Millis) -> Option<&ModelRecord> {
        self.0.get(place)?.last().filter(|model_record| model_record.expires_at.is_none_or(|at| at > now))
    }

    fn store(&mut self, draft: &Draft, now: Millis, id: EntryId) -> bool {
        let present = self.live(&draft.place, now).cloned();
        let holds = match draft.precondition {
            Precondition::None => true,
            Precondition::Absent => present.is_none(),
            Precondition::Match(IfMatch::Any) => present.is_some(),
            Precondition::Match(IfMatch::Version(wanted)) => {
                present.as_ref().is_some_and(|present| u64::from(present.version) == wanted)
            }
        };
        if !holds || !self.0.contains_key(&draft.place) && self.0.len() as u64 >= MOST {
            return false;
        }
        let versions = self.0.entry(draft.place.clone()).or_default();
        if present.is_none() {
            versions.clear();
        }
        versions.push(ModelRecord {
            id: present.as_ref().map_or(id, |present| present.id),
            version: present.as_ref().map_or(1, |present| present.version + 1),
            value: draft.value.to_string(),
            created_at: present.map_or(now, |present| present.created_at),
            stored_at: now,
            expires_at: draft.ttl.map(|ttl| now.plus(ttl)),
        });
        if versions.len() > MAX_RETAINED + 1 {
            versions.remove(0);
        }
        true
    }

    fn sweep(&mut self, now: Millis) {
        self.0.retain(|_, versions| {
            let lives = |model_record: &ModelRecord| model_record.expires_at.is_none_or(|at| at > now);
            let stays = versions.last().is_some_and(lives);
            versions.retain(lives);
            stays
        });
    }
}

fn model_record(entry: &EntryRecord) -> ModelRecord {
    ModelRecord {
        id: entry.id,
        version: entry.version,
        value: entry.value.to_string(),
        created_at: entry.created_at,
        stored_at: entry.stored_at,
        expires_at: entry.expires_at,
    }
}

#[derive(Debug, Clone)]
enum Step {
    Store { at: u8, value: u8, ttl: Option<u64>, precondition: Precondition, times: u8 },
    Delete { at: u8, precondition: Precondition },
    Vector { at: u8, back: u32 },
    Wait { ms: u64 },
    Sweep,
}

fn precondition() -> impl Strategy<Value = Precondition> {
    prop_oneof![
        6 => Just(Precondition::None),
        1 => Just(Precondition::Absent),
        1 => Just(Precondition::Match(IfMatch::Any)),
        1 => (1..4_u64).prop_map(|version| Precondition::Match(IfMatch::Version(version))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let times = prop_oneof![9 => Just(1_u8), 1 => 30..40_u8];
    let ttl = proptest::option::of(1..5_u64);
    prop_oneof![
        6 => (0..8_u8, 0..3_u8, ttl, precondition(), times)
            .prop_map(|(at, value, ttl, precondition, times)| Step::Store { at, value, ttl, precondition, times }),
        1 => (0..8_u8, precondition()).prop_map(|(at, precondition)| Step::Delete { at, precondition }),
        2 => (0..8_u8, 0..3_u32).prop_map(|(at, back)| Step::Vector { at, back }),
        3 => prop_oneof![Just(1_000_u64), Just(999), 0..3_000_u64].prop_map(|ms| Step::Wait { ms }),
        1 => Just(Step::Sweep),
    ]
}

fn run(fixture: &mut StateFixture, model: &mut Model, step: Step) {
    match step {
        Step::Store { at, value, ttl, precondition, times } => {
            for _ in 0..times {
                let draft = draft(at, value, ttl, precondition);
                let stored = fixture.store(&draft);
                assert_eq!(stored.is_ok(), model.store(&draft, fixture.now(), EntryId(fixture.ids)));
            }
        }
        Step::Delete { at, precondition } => {
            let place = place_at(at);
            let live = model.live(&place, fixture.now()).cloned();
            if let Ok(deleted) = fixture.delete(&place, precondition) {
                assert_eq!(deleted, live.is_some());
                model.0.remove(&place);
            }
        }
        Step::Vector { at, back } => {
            let place = place_at(at);
            let Some(live) = model.live(&place, fixture.now()).cloned() else { return };
            let of = live.version.saturating_sub(back);
            let same = |n: u32| model.0[&place].iter().rev().take(n as usize + 1).all(|one| one.value == live.value);
            // The model cannot judge history that it no longer has.
            if of >= 1 && (back as usize) < model.0[&place].len() {
                assert_eq!(fixture.vector(&place, live.id, of), same(back));
            }
            assert!(!fixture.vector(&place, EntryId(u128::MAX), live.version), "another entry's");
            assert!(!fixture.vector(&place, live.id, live.version + 1), "one that is not there yet");
        }
        Step::Wait { ms } => fixture.now += ms,
        Step::Sweep => {
            fixture.sweep();
            model.sweep(fixture.now());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn entries_match_a_simple_model_and_leave_no_records(steps in prop::collection::vec(step(), 1..40)) {
        let (mut fixture, mut model) = (StateFixture::default(), Model::default());
        for step in steps {
            run(&mut fixture, &mut model, step);
            fixture.check();
            for at in 0..8 {
                let place = place_at(at);
                let live = fixture.get(&place).filter(|entry| !entry.expired(fixture.now()));
                prop_assert_eq!(live.as_ref().map(model_record), model.live(&place, fixture.now()).cloned());
            }
        }
        let (now, versions) = (fixture.now(), |place: &Place| model.0.get(place).cloned().unwrap_or_default());
        for at in 0..8 {
            let place = place_at(at);
            let Some(entry) = fixture.get(&place).filter(|entry| !entry.expired(now)) else { continue };
            let mut there: Vec<ModelRecord> = entry.kept.iter().map(|kept| {
                let rec = &fixture.trees[&(Tree::MemoryHistory.name(), keys::version(entry.id, kept.version))];
                model_record(&EntryRecord::decode(rec).unwrap())
            }).collect();
            there.push(model_record(&entry));
            let mut wanted = versions(&place);
            let lives = |model_record: &ModelRecord| model_record.expires_at.is_none_or(|at| at > now);
            there.retain(lives);
            wanted.retain(lives);
            prop_assert_eq!(there, wanted);
        }
        // Everything expires: then only the change log is left.
        for at in 0..8 {
            fixture.delete(&place_at(at), Precondition::None).unwrap();
        }
        fixture.check();
        prop_assert!(fixture.trees.keys().all(|(tree, _)| *tree == Tree::MemoryChanges.name()));
    }
}

#[test]
fn the_change_log_has_every_change_in_order() {
    let mut fixture = StateFixture::default();
    let id = fixture.store(&draft(0, 1, None, Precondition::None)).unwrap().record.id;
    assert!(fixture.vector(&place_at(0), id, 1));
    fixture.store(&draft(0, 2, Some(1), Precondition::None)).unwrap();
    fixture.now += 1_000;
    let place = place_at(0);
    let again = fixture.store(&draft(0, 3, None, Precondition::None)).unwrap();
    assert!(again.created && again.record.id != id, "one that is over is another's predecessor, not its version");
    let log: Vec<Change> = fixture.rows(Tree::MemoryChanges).map(|(_, rec)| Change::decode(rec).unwrap()).collect();
    let put = |id, version| Change::Put { place: place.clone(), id, version };
    let vector = Change::Vector { place: place.clone(), id, version: 1 };
    let deleted = Change::Deleted { place: place.clone(), id };
    assert_eq!(log, [put(id, 1), vector, put(id, 2), deleted, put(again.record.id, 1)]);
    assert_eq!(again.record.seq, 5, "an entry names the change that brought it");
}

#[test]
fn entries_exist_until_the_millisecond_of_their_expiry() {
    let mut fixture = StateFixture::default();
    fixture.store(&draft(0, 1, Some(1), Precondition::None)).unwrap();
    fixture.now = 999;
    let entry = fixture.get(&place_at(0)).unwrap();
    assert!(!entry.expired(fixture.now()));
    fixture.now = 1_000;
    assert!(entry.expired(fixture.now()));
    assert_eq!(fixture.delete(&place_at(0), Precondition::None), Ok(false), "it was gone already");
    fixture.check();
}

#[test]
fn vectors_are_kept_while_the_text_is_unchanged() {
    let mut fixture = StateFixture::default();
    let id = fixture.store(&draft(0, 1, None, Precondition::None)).unwrap().record.id;
    assert!(fixture.vector(&place_at(0), id, 1));
    fixture.store(&Draft { importance: Some(1.0), ..draft(0, 1, Some(9), Precondition::None) }).unwrap();
    assert_eq!(fixture.rows(Tree::MemoryVectors).count(), 1);
    assert_eq!(fixture.get(&place_at(0)).unwrap().text_version, 1);
    fixture.store(&draft(0, 2, None, Precondition::None)).unwrap();
    assert_eq!(fixture.rows(Tree::MemoryVectors).count(), 0);
    assert!(!fixture.vector(&place_at(0), id, 2), "it was made of another text");
}

#[test]
fn owners_at_the_maximum_can_still_replace_entries() {
    let mut fixture = StateFixture::default();
    (0..5).for_each(|at| drop(fixture.store(&draft(at, 1, Some(1), Precondition::None)).unwrap()));
    assert_eq!(fixture.store(&draft(5, 1, None, Precondition::None)).unwrap_err(), Rejection::Full { most: MOST });
    assert!(!fixture.store(&draft(4, 2, Some(1), Precondition::None)).unwrap().created);
    fixture.now = 1_000;
    assert!(fixture.store(&draft(4, 3, None, Precondition::None)).unwrap().created, "in place of one that is over");
}

#[test]
fn replaced_versions_expire_at_their_own_time() {
    let mut fixture = StateFixture::default();
    fixture.store(&draft(0, 1, Some(2), Precondition::None)).unwrap();
    fixture.store(&draft(0, 2, None, Precondition::None)).unwrap();
    let before = fixture.get(&place_at(0)).unwrap();
    fixture.now = 2_000;
    fixture.sweep();
    fixture.check();
    let after = fixture.get(&place_at(0)).unwrap();
    assert_eq!((before.kept.len(), after.kept.len()), (1, 0));
    assert_eq!(EntryRecord { kept: before.kept.clone(), ..after }, before, "the present version is as it was");
    assert!(!fixture.trees.keys().any(|(tree, _)| *tree == Tree::MemoryHistory.name()));
}

#[test]
fn indexes_receive_the_changes_of_the_log() {
    let mut fixture = StateFixture::default();
    fixture.store(&draft(0, 1, None, Precondition::None)).unwrap();
    let (present, mut transaction) = (fixture.get(&place_at(0)), fixture.transaction());
    super::delete(&mut transaction, present.as_ref(), Precondition::None).unwrap().unwrap();
    let kinds: Vec<_> = transaction.applied.iter().map(|applied| (applied.seq, applied.kind.clone())).collect();
    let (space, id) = (place_at(0).space, EntryId(1));
    assert_eq!(kinds, [(2, AppliedKind::Deleted { space, id })]);
}
