//! Any interleaving of reservations, posts, checkpoints interrupted at any point, and kills.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use muster_store::{Batch, Store};
use proptest::prelude::*;

use super::*;
use crate::ledger::checkpoint::{batches, count};
use crate::ledger::line::JournalLine;
use crate::ledger::period::Month;
use crate::ledger::record::{HEAD, Head, RecordReader, read};
use crate::ledger::state::LedgerState;
use crate::ledger::usage;

const KEYS: [&str; 3] = ["key_1", "key_2", "key_3"];
/// The owner of each key; the last has none.
const OWNERS: [&str; 3] = ["ann", "ann", ""];
/// The team of each key; the second has none.
const TEAMS: [&str; 3] = ["team_1", "", "team_1"];
/// The provider of each model.
const PROVIDERS: [&str; 2] = ["p", "q"];
const MODELS: [&str; 2] = ["m", "n"];
const KEY_LIMIT: u64 = 1_000;
const MODEL_LIMIT: u64 = 1_500;
const OWNER_LIMIT: u64 = 1_300;
const TEAM_LIMIT: u64 = 1_200;

#[derive(Debug, Clone)]
enum LedgerStep {
    Reserve {
        key: usize,
        model: usize,
        nanos: u64,
    },
    /// Settles one of the open holds, or none.
    Post {
        key: usize,
        model: usize,
        settles: Option<usize>,
        cost: Option<u64>,
    },
    Release(usize),
    /// The caller of an open hold left: this much is charged.
    Abandon(usize, u64),
    Wait(u64),
    /// Number of thousandths of its writes that reach the store.
    Checkpoint(usize),
    Kill,
}

fn steps() -> impl Strategy<Value = Vec<LedgerStep>> {
    let key_and_model = || (0..KEYS.len(), 0..MODELS.len());
    let step = prop_oneof![
        4 => (key_and_model(), 1..400_u64).prop_map(|((key, model), nanos)| LedgerStep::Reserve { key, model, nanos }),
        4 => (key_and_model(), prop::option::of(0..8_usize), prop::option::of(0..500_u64))
            .prop_map(|((key, model), settles, cost)| LedgerStep::Post { key, model, settles, cost }),
        1 => (0..8_usize).prop_map(LedgerStep::Release),
        1 => (0..8_usize, 0..300_u64).prop_map(|(place, nanos)| LedgerStep::Abandon(place, nanos)),
        1 => (1..600_u64).prop_map(LedgerStep::Wait),
        2 => (0..=1_400_usize).prop_map(LedgerStep::Checkpoint),
        1 => Just(LedgerStep::Kill),
    ];
    prop::collection::vec(step, 1..60)
}

fn owner_of(key: &str) -> &'static str {
    KEYS.iter().position(|known| *known == key).map_or("", |place| OWNERS[place])
}

fn team_of(key: &str) -> &'static str {
    KEYS.iter().position(|known| *known == key).map_or("", |place| TEAMS[place])
}

/// Whom the calls of a key and model count against, with two tags.
fn attribution_of(key: &str, model: &str) -> Attribution<'static> {
    let provider = MODELS.iter().position(|known| *known == model).map_or("", |place| PROVIDERS[place]);
    Attribution { owner: owner_of(key), team: team_of(key), provider, tags: "a\u{1f}b" }
}

#[derive(Debug, Clone)]
struct Held {
    id: u64,
    at: Millis,
    key: &'static str,
    model: &'static str,
    nanos: u64,
}

/// The expected ledger, computed from the list of events, beside the real one.
struct Model {
    disk: MemStore,
    /// Lines that the journal still contains.
    lines: Vec<(u64, Vec<u8>)>,
    number: u64,
    ledger: LedgerState,
    now: Millis,
    held: Vec<Held>,
    spent: Vec<(Millis, &'static str, &'static str, u64)>,
    rows: BTreeMap<(Day, &'static str, &'static str), Row>,
}

impl Model {
    fn new() -> Self {
        Self {
            disk: MemStore::default(),
            lines: Vec::new(),
            number: 0,
            ledger: LedgerState::default(),
            now: test_world::START,
            held: Vec::new(),
            spent: Vec::new(),
            rows: BTreeMap::new(),
        }
    }

    fn write(&mut self, line: &JournalLine<'_>) -> u64 {
        self.number += 1;
        self.lines.push((self.number, line.encode()));
        self.ledger.apply(self.number, line, RecordReader(&self.disk)).unwrap();
        self.number
    }

    /// Writes a line with its attribution, as it is encoded.
    fn write_for(&mut self, attribution: Attribution<'_>, line: &JournalLine<'_>) -> u64 {
        let bytes = line.encode_for(attribution, 0);
        self.number += 1;
        count(&mut self.ledger, self.number, &bytes, &self.disk).unwrap();
        self.lines.push((self.number, bytes));
        self.number
    }

    /// Returns the amount spent and reserved this month.
    fn used(&self, is: impl Fn(&str, &str) -> bool) -> (u64, u64) {
        let month = Month::of(self.now);
        let spent = self.spent.iter().filter(|(at, key, model, _)| Month::of(*at) == month && is(key, model));
        let held = self.held.iter().filter(|held| Month::of(held.at) == month && is(held.key, held.model));
        (spent.map(|(_, _, _, nanos)| nanos).sum(), held.map(|held| held.nanos).sum())
    }

    fn row(&mut self, at: Millis, key: &'static str, model: &'static str) -> &mut Row {
        self.rows.entry((Day::of(at), key, model)).or_default()
    }

    fn step(&mut self, step: LedgerStep) {
        match step {
            LedgerStep::Reserve { key, model, nanos } => self.reserve(KEYS[key], MODELS[model], nanos),
            LedgerStep::Post { key, model, settles, cost } => self.post(KEYS[key], MODELS[model], settles, cost),
            LedgerStep::Release(place) => {
                if place < self.held.len() {
                    let hold = self.held.remove(place).id;
                    self.write(&JournalLine::Release { hold });
                }
            }
            LedgerStep::Abandon(place, nanos) => self.abandon(place, nanos),
            LedgerStep::Wait(hours) => self.now = self.now.plus(Duration::from_secs(hours * 3_600)),
            LedgerStep::Checkpoint(thousandths) => self.checkpoint(thousandths),
            LedgerStep::Kill => self.kill(),
        }
    }

    fn reserve(&mut self, key: &'static str, model: &'static str, nanos: u64) {
        let request = Reserve {
            key_id: key.to_owned(),
            key_limit: Some(KEY_LIMIT),
            owner: owner_of(key).to_owned(),
            owner_limit: (!owner_of(key).is_empty()).then_some(OWNER_LIMIT),
            team: team_of(key).to_owned(),
            team_limit: (!team_of(key).is_empty()).then_some(TEAM_LIMIT),
            model_id: model.to_owned(),
            model_limit: Some(MODEL_LIMIT),
            nanos,
        };
        let by_key = self.used(|found, _| found == key);
        let by_model = self.used(|_, found| found == model);
        let by_owner = self.used(|found, _| owner_of(found) == owner_of(key));
        let by_team = self.used(|found, _| team_of(found) == team_of(key));
        let fits = by_key.0 + by_key.1 + nanos <= KEY_LIMIT
            && by_model.0 + by_model.1 + nanos <= MODEL_LIMIT
            && (owner_of(key).is_empty() || by_owner.0 + by_owner.1 + nanos <= OWNER_LIMIT)
            && (team_of(key).is_empty() || by_team.0 + by_team.1 + nanos <= TEAM_LIMIT);
        let checked = self.ledger.check(&request, self.now, RecordReader(&self.disk)).unwrap();
        assert_eq!(checked.is_ok(), fits, "{checked:?} {by_key:?} {by_model:?} {nanos}");
        if fits {
            let of = Attribution { provider: "", tags: "", ..attribution_of(key, model) };
            let id = self.write_for(of, &JournalLine::Reserve { at: self.now, key, model, nanos });
            self.held.push(Held { id, at: self.now, key, model, nanos });
        }
    }

    fn post(&mut self, key: &'static str, model: &'static str, settles: Option<usize>, cost_nanos: Option<u64>) {
        let settled = settles.filter(|place| *place < self.held.len()).map(|place| self.held.remove(place));
        let (key, model) = settled.as_ref().map_or((key, model), |held| (held.key, held.model));
        let hold = settled.map_or(0, |held| held.id);
        let entry = Entry { at: self.now, ..entry(key, model, cost_nanos) };
        self.write_for(attribution_of(key, model), &entry.line(hold));
        let row = self.row(entry.at, key, model);
        row.requests += 1;
        row.prompt_tokens += 10;
        row.completion_tokens += 5;
        row.cost_nanos += cost_nanos.unwrap_or(0);
        row.unpriced_requests += u64::from(cost_nanos.is_none());
        self.spent.push((self.now, key, model, cost_nanos.unwrap_or(0)));
    }

    fn abandon(&mut self, place: usize, nanos: u64) {
        if place >= self.held.len() {
            return;
        }
        let Held { id, key, model, .. } = self.held.remove(place);
        let abandoned = Abandoned {
            images: 0,
            at: self.now,
            key_id: key,
            attribution: attribution_of(key, model),
            model_id: model,
            usage: Usage { prompt_tokens: 3, completion_tokens: 4, estimated: true },
            cost_nanos: Some(nanos),
        };
        self.write_for(abandoned.attribution, &abandoned.line(id));
        let row = self.row(self.now, key, model);
        row.prompt_tokens += 3;
        row.completion_tokens += 4;
        row.cost_nanos += nanos;
        self.spent.push((self.now, key, model, nanos));
    }

    fn checkpoint(&mut self, thousandths: usize) {
        let Some(changes) = self.ledger.changes() else { return };
        let line = changes.head.line;
        let writes: Vec<_> = batches(changes).unwrap().into_iter().flat_map(|batch| batch.ops).collect();
        let reached = (writes.len() * thousandths / 1_000).min(writes.len());
        for op in &writes[..reached] {
            let batch = Batch { ops: vec![op.clone()], ..Batch::default() };
            self.disk.commit(batch).now_or_never().unwrap().unwrap();
        }
        if reached == writes.len() {
            self.ledger.saved(line);
            // Above 1,000 the journal is removed too; at 1,000 the kill may happen in between.
            if thousandths > 1_000 {
                self.lines.retain(|(number, _)| *number > line);
            }
        }
    }

    fn kill(&mut self) {
        let head: Head = read(&self.disk, HEAD).unwrap().unwrap_or_default();
        self.ledger = LedgerState::restore(head, RecordReader(&self.disk)).unwrap();
        for (number, line) in &self.lines {
            count(&mut self.ledger, *number, line, &self.disk).unwrap();
        }
        let mut open: Vec<u64> = self.held.iter().map(|held| held.id).collect();
        open.sort_unstable();
        assert_eq!(self.ledger.holds_before(self.number + 1), open);
        for held in std::mem::take(&mut self.held) {
            self.write(&JournalLine::Charge { hold: held.id });
            self.row(held.at, held.key, held.model).unsettled_nanos += held.nanos;
            self.spent.push((held.at, held.key, held.model, held.nanos));
        }
    }

    fn check_equal(&mut self) {
        let query =
            Query { to_day: Day(Day::of(test_world::START).0 + 390), from_day: Day::of(test_world::START), ..all() };
        let fresh = self.ledger.rows(|key| query.matches(key));
        let found = usage::read(&self.disk, &query, fresh).unwrap();
        let found: Vec<_> = found.iter().map(|row| (row.day, &*row.subject, &*row.model_id, row.row)).collect();
        let expected: Vec<_> = self.rows.iter().map(|(&(day, key, model), row)| (day, key, model, *row)).collect();
        assert_eq!(found, expected);
        for key in KEYS {
            let used = self.used(|found, _| found == key);
            let view = self.ledger.view(Budget::Key, key, None, self.now, RecordReader(&self.disk)).unwrap();
            assert_eq!((view.spent_nanos, view.held_nanos), used, "{key}");
        }
        let used = self.used(|found, _| owner_of(found) == "ann");
        let view = self.ledger.view(Budget::Owner, "ann", None, self.now, RecordReader(&self.disk)).unwrap();
        assert_eq!((view.spent_nanos, view.held_nanos), used, "all keys of an owner count together");
        let used = self.used(|found, _| team_of(found) == "team_1");
        let view = self.ledger.view(Budget::Team, "team_1", None, self.now, RecordReader(&self.disk)).unwrap();
        assert_eq!((view.spent_nanos, view.held_nanos), used, "all keys of a team count together");
        for model in MODELS {
            let used = self.used(|_, found| found == model);
            let view = self.ledger.view(Budget::Model, model, None, self.now, RecordReader(&self.disk)).unwrap();
            assert_eq!((view.spent_nanos, view.held_nanos), used, "{model}");
        }
    }
    /// Each group sums up what it has: those without an owner or a team are in none, and each tag counts the whole call.
    fn check_groups(&self) {
        let today = Day::of(test_world::START);
        let query = Query { to_day: Day(today.0 + 390), from_day: today, ..all() };
        type Group = fn(&str, &str) -> &'static str;
        let groups: [(Dimension, Group); 4] = [
            (Dimension::Owner, |key, _| owner_of(key)),
            (Dimension::Team, |key, _| team_of(key)),
            (Dimension::Provider, |key, model| attribution_of(key, model).provider),
            (Dimension::Tag, |_, _| "b"),
        ];
        for (dimension, group) in groups {
            let query = Query { dimension, ..query.clone() };
            let found = usage::read(&self.disk, &query, self.ledger.rows(|key| query.matches(key))).unwrap();
            let mut expected = BTreeMap::<(Day, &str, &str), (u64, u64)>::new();
            for (&(day, key, model), row) in &self.rows {
                let subject = group(key, model);
                if !subject.is_empty() {
                    let sums = expected.entry((day, subject, model)).or_default();
                    *sums = (sums.0 + row.requests, sums.1 + row.cost_nanos);
                }
            }
            let mut sums = BTreeMap::<(Day, &str, &str), (u64, u64)>::new();
            for row in found.iter().filter(|row| dimension != Dimension::Tag || row.subject == "b") {
                let sums = sums.entry((row.day, &*row.subject, &*row.model_id)).or_default();
                *sums = (sums.0 + row.row.requests, sums.1 + row.row.cost_nanos);
            }
            // A killed server's calls have neither provider nor tags: they have no row there.
            expected.retain(|place, sums| *sums != (0, 0) || sums_has(&found, place));
            sums.retain(|place, sums| *sums != (0, 0) || expected.contains_key(place));
            assert_eq!(sums, expected, "{dimension:?}");
        }
    }
}

fn sums_has(found: &[UsageRow], &(day, subject, model): &(Day, &str, &str)) -> bool {
    found.iter().any(|row| (row.day, &*row.subject, &*row.model_id) == (day, subject, model))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_ledger_is_the_sum_of_what_was_posted_and_grants_only_what_fits(steps in steps()) {
        let mut model = Model::new();
        for step in steps.into_iter().take(50) {
            // Bounded so that the virtual time stays within a year.
            if matches!(step, LedgerStep::Wait(_)) && model.now.since(test_world::START) > Duration::from_secs(340 * 86_400) {
                continue;
            }
            model.step(step);
            model.check_equal();
        }
        model.check_groups();
        model.kill();
        model.check_equal();
        model.check_groups();
    }
}
