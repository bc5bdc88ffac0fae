//! State of the ledger: the sum of the journal's lines. Pure: the time, the lines and the store's records are
//! arguments.
//!
//! Only what has changed since the last checkpoint must be in memory; the rest is a cache, read again when needed.

use std::collections::{BTreeMap, HashMap, HashSet};

use muster_store::StoreError;

use super::credit::Payers;
use super::line::{JournalLine, report_unknown, usage};
use super::messages::{Attribution, BudgetView, Exhausted, Reserve};
use super::period::{Day, Month};
use super::record::{AccountKey, AccountRecord, Head, HoldRecord, RecordReader, RowRecord};
use super::row::{Budget, Dimension, Row, RowKey, TAG_SEPARATOR};
use crate::published::{LEAST_GRANTED, MOST_GRANTED};
use muster_core::Millis;

/// Maximum number of records kept in memory that are also in the store.
const CACHE: usize = 20_000;

/// Maximum number of tags of a key and day that have rows of their own.
const MAX_TAGS: usize = 100;
/// Maximum number of keys and days whose tags are in memory.
const MAX_TAGGED: usize = 1_000;
/// Name under which all further tags are reported.
const OTHER_TAG: &str = "other";

/// The part of what is left of a budget that may be set aside in advance.
const AHEAD_PART: u64 = 64;

/// Returns the budgets of a call that have a limit: whose, its id, the limit.
fn limited(request: &Reserve) -> impl Iterator<Item = (Budget, &str, u64)> {
    let budgets = [
        (Budget::Key, request.key_id.as_str(), request.key_limit),
        (Budget::Owner, request.owner.as_str(), request.owner_limit),
        (Budget::Team, request.team.as_str(), request.team_limit),
        (Budget::Model, request.model_id.as_str(), request.model_limit),
    ];
    budgets.into_iter().filter_map(|(budget, id, limit)| Some((budget, id, limit?)))
}

/// Everything that is not in the store yet, and a cache of what is.
#[derive(Debug, Default)]
pub(super) struct LedgerState {
    rows: HashMap<RowKey, RowRecord>,
    accounts: HashMap<AccountKey, Account>,
    holds: BTreeMap<u64, HoldRecord>,
    /// Tags of keys and days that have rows of their own.
    tags: HashMap<(Day, Box<str>), HashSet<Box<str>>>,
    /// Money set aside, by whose budgets it counts against.
    ahead: HashMap<Payers, Ahead>,
    /// The line of a hold that the actor granted itself, which draws nothing that was set aside.
    own: Option<u64>,
    /// The last line applied, and the last line up to which everything is in the store.
    applied: u64,
    saved: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Account {
    record: AccountRecord,
    held_nanos: u64,
    /// Set aside for calls that draw without asking.
    ahead_nanos: u64,
}

/// Money set aside in a month: its credit, and lines that are still to be applied.
#[derive(Debug, Clone, Copy)]
struct Ahead {
    at: Millis,
    nanos: u64,
}

/// Whose monthly totals an amount counts against.
#[derive(Debug, Clone, Copy)]
struct PayersRef<'a> {
    key: &'a str,
    model: &'a str,
    /// Empty for none.
    owner: &'a str,
    /// Empty for none.
    team: &'a str,
}

impl HoldRecord {
    fn payers(&self) -> PayersRef<'_> {
        PayersRef { key: &self.key, model: &self.model, owner: &self.owner, team: &self.team }
    }
}

impl Payers {
    fn by_ref(&self) -> PayersRef<'_> {
        PayersRef { key: &self.key, model: &self.model, owner: &self.owner, team: &self.team }
    }
}

/// The records of a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) rows: Vec<(RowKey, RowRecord)>,
    pub(super) accounts: Vec<(AccountKey, AccountRecord)>,
    /// Written last: it declares the others complete.
    pub(super) head: Head,
}

impl LedgerState {
    /// Creates the state of the store; the lines after the head's are to be applied to it.
    pub(super) fn restore(head: Head, reader: RecordReader<'_>) -> Result<Self, StoreError> {
        let mut ledger = Self { applied: head.line, saved: head.line, ..Self::default() };
        for held in head.holds {
            ledger.reserve(held, reader)?;
        }
        Ok(ledger)
    }

    pub(super) fn applied(&self) -> u64 {
        self.applied
    }

    /// Returns the number of rows that differ from the store.
    pub(super) fn unsaved(&self) -> usize {
        self.rows.values().filter(|row| row.line > self.saved).count()
    }

    pub(super) fn holds(&self) -> usize {
        self.holds.len()
    }

    /// Returns the day on which the oldest open hold was granted: it is charged to that day if the server is killed.
    pub(super) fn oldest_hold(&self) -> Option<Day> {
        self.holds.values().map(|held| Day::of(held.at)).min()
    }

    pub(super) fn cached(&self) -> usize {
        self.rows.len() + self.accounts.len()
    }

    /// Returns open holds reserved before this line: those of a server that did not shut down cleanly.
    pub(super) fn holds_before(&self, line: u64) -> Vec<u64> {
        self.holds.range(..line).map(|(id, _)| *id).collect()
    }

    /// Applies a line. Lines come in the order of their numbers; one that was applied before has no effect.
    ///
    /// # Errors
    ///
    /// Fails if a record could not be read: the state must then be discarded.
    pub(super) fn apply(
        &mut self,
        number: u64,
        line: &JournalLine<'_>,
        reader: RecordReader<'_>,
    ) -> Result<(), StoreError> {
        if number <= self.applied {
            return Ok(());
        }
        self.applied = number;
        let Some((line, of)) = line.and_attribution() else {
            report_unknown(number);
            return Ok(());
        };
        let Some((line, images)) = line.and_images() else {
            report_unknown(number);
            return Ok(());
        };
        match line {
            // The line in it is never one of these.
            JournalLine::Owned { .. } | JournalLine::Attributed { .. } | JournalLine::Pictures { .. } => {}
            JournalLine::Reserve { at, key, model, nanos } => {
                let payers =
                    Payers { key: key.into(), owner: of.owner.into(), team: of.team.into(), model: model.into() };
                if self.own != Some(number) {
                    self.release_ahead(&payers, nanos, reader)?;
                }
                let Payers { key, owner, team, model } = payers;
                let held = HoldRecord { id: number, at, key, model, nanos, owner, team };
                self.reserve(held, reader)?;
            }
            JournalLine::Post {
                at,
                key,
                model,
                outcome,
                prompt_tokens,
                completion_tokens,
                estimated,
                cost_nanos,
                hold,
            } => {
                self.release(hold, reader)?;
                let payers = PayersRef { key, model, owner: of.owner, team: of.team };
                self.update_rows(number, at, payers, of, reader, |row| {
                    row.images = row.images.saturating_add(images.into());
                    row.post(outcome, usage(prompt_tokens, completion_tokens, estimated), cost_nanos);
                })?;
                self.spend(number, at, payers, cost_nanos.unwrap_or(0), reader)?;
            }
            JournalLine::Abandon { at, key, model, prompt_tokens, completion_tokens, cost_nanos, hold } => {
                self.release(hold, reader)?;
                let payers = PayersRef { key, model, owner: of.owner, team: of.team };
                self.update_rows(number, at, payers, of, reader, |row| {
                    row.images = row.images.saturating_add(images.into());
                    row.abandon(prompt_tokens, completion_tokens, cost_nanos);
                })?;
                self.spend(number, at, payers, cost_nanos.unwrap_or(0), reader)?;
            }
            JournalLine::Release { hold } => drop(self.release(hold, reader)?),
            JournalLine::Charge { hold } => {
                if let Some(held) = self.release(hold, reader)? {
                    // Provider and tags of a call whose server was killed are not known.
                    self.update_rows(number, held.at, held.payers(), Attribution::default(), reader, |row| {
                        row.unsettled_nanos = row.unsettled_nanos.saturating_add(held.nanos);
                    })?;
                    self.spend(number, held.at, held.payers(), held.nanos, reader)?;
                }
            }
        }
        Ok(())
    }

    /// Checks whether an amount fits all budgets of the month.
    pub(super) fn check(
        &mut self,
        request: &Reserve,
        now: Millis,
        reader: RecordReader<'_>,
    ) -> Result<Result<(), Exhausted>, StoreError> {
        for (budget, id, limit_nanos) in limited(request) {
            let left = self.left(budget, id, limit_nanos, now, reader)?;
            if request.nanos > left {
                let view = self.view(budget, id, Some(limit_nanos), now, reader)?;
                let BudgetView { spent_nanos, held_nanos, resets_at, .. } = view;
                return Ok(Err(Exhausted { which: budget, spent_nanos, held_nanos, limit_nanos, resets_at }));
            }
        }
        Ok(Ok(()))
    }

    /// Returns what is left of a budget in the month of `now`.
    fn left(
        &mut self,
        budget: Budget,
        id: &str,
        limit_nanos: u64,
        now: Millis,
        reader: RecordReader<'_>,
    ) -> Result<u64, StoreError> {
        let key = AccountKey { month: Month::of(now), budget, id: id.into() };
        let account = self.account(key, reader)?;
        let used = account.record.spent_nanos.saturating_add(account.held_nanos).saturating_add(account.ahead_nanos);
        Ok(limit_nanos.saturating_sub(used))
    }

    /// Sets money aside for calls like this one: at most that of [`MOST_GRANTED`], and a small part of what is left of each
    /// budget. Returns the amount; `None` if too little is left.
    pub(super) fn set_ahead(
        &mut self,
        request: &Reserve,
        now: Millis,
        reader: RecordReader<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let mut nanos = request.nanos.saturating_mul(MOST_GRANTED);
        for (budget, id, limit_nanos) in limited(request) {
            nanos = nanos.min(self.left(budget, id, limit_nanos, now, reader)? / AHEAD_PART);
        }
        let payers = Payers::of(request);
        // One at a time: what is set aside belongs to one month.
        if nanos < request.nanos.saturating_mul(LEAST_GRANTED) || self.ahead.contains_key(&payers) {
            return Ok(None);
        }
        self.update_accounts(now, payers.by_ref(), reader, |account| {
            account.ahead_nanos = account.ahead_nanos.saturating_add(nanos);
        })?;
        self.ahead.insert(payers, Ahead { at: now, nanos });
        Ok(Some(nanos))
    }

    /// Releases money that was set aside: it is held now, or was withdrawn.
    pub(super) fn release_ahead(
        &mut self,
        payers: &Payers,
        nanos: u64,
        reader: RecordReader<'_>,
    ) -> Result<(), StoreError> {
        let Some(ahead) = self.ahead.get_mut(payers) else { return Ok(()) };
        let released = nanos.min(ahead.nanos);
        ahead.nanos -= released;
        let (at, empty) = (ahead.at, ahead.nanos == 0);
        if empty {
            self.ahead.remove(payers);
        }
        self.update_accounts(at, payers.by_ref(), reader, |account| {
            account.ahead_nanos = account.ahead_nanos.saturating_sub(released);
        })
    }

    pub(super) fn has_ahead(&self, payers: &Payers) -> bool {
        self.ahead.contains_key(payers)
    }

    /// Records that the line with this number is a hold that the actor granted itself.
    pub(super) fn expect_own(&mut self, number: u64) {
        self.own = Some(number);
    }

    /// Returns the state of a budget in the month of `now`.
    pub(super) fn view(
        &mut self,
        budget: Budget,
        id: &str,
        limit_nanos: Option<u64>,
        now: Millis,
        reader: RecordReader<'_>,
    ) -> Result<BudgetView, StoreError> {
        let month = Month::of(now);
        let account = self.account(AccountKey { month, budget, id: id.into() }, reader)?;
        Ok(BudgetView {
            spent_nanos: account.record.spent_nanos,
            held_nanos: account.held_nanos,
            limit_nanos,
            resets_at: month.end(),
        })
    }

    /// Returns the matching rows in memory, which include all that are not in the store.
    pub(super) fn rows(&self, wanted: impl Fn(&RowKey) -> bool) -> Vec<(RowKey, RowRecord)> {
        let wanted = self.rows.iter().filter(|(key, _)| wanted(key));
        wanted.map(|(key, record)| (key.clone(), *record)).collect()
    }

    /// Returns what is not in the store; `None` if there is nothing.
    pub(super) fn changes(&self) -> Option<Changes> {
        if self.applied == self.saved {
            return None;
        }
        let accounts = self.accounts.iter().filter(|(_, account)| account.record.line > self.saved);
        Some(Changes {
            rows: self
                .rows
                .iter()
                .filter(|(_, row)| row.line > self.saved)
                .map(|(key, row)| (key.clone(), *row))
                .collect(),
            accounts: accounts.map(|(key, account)| (key.clone(), account.record)).collect(),
            head: Head { line: self.applied, holds: self.holds.values().cloned().collect() },
        })
    }

    /// Records that the store contains everything up to this line.
    pub(super) fn saved(&mut self, line: u64) {
        self.saved = self.saved.max(line);
        if self.cached() > CACHE {
            let saved = self.saved;
            self.rows.retain(|_, row| row.line > saved);
            self.accounts
                .retain(|_, account| account.record.line > saved || account.held_nanos > 0 || account.ahead_nanos > 0);
        }
    }

    /// Updates the rows of a call: that of its key, and those of its owner, team, provider and tags.
    fn update_rows(
        &mut self,
        number: u64,
        at: Millis,
        payers: PayersRef<'_>,
        of: Attribution<'_>,
        reader: RecordReader<'_>,
        mut each: impl FnMut(&mut Row),
    ) -> Result<(), StoreError> {
        let (day, model) = (Day::of(at), payers.model);
        let mut update = |ledger: &mut Self, dimension, id: Box<str>| {
            let key = RowKey { day, dimension, id, model: model.into() };
            if let Some(row) = ledger.row(number, key, reader)? {
                each(row);
            }
            Ok::<(), StoreError>(())
        };
        update(self, Dimension::Key, payers.key.into())?;
        let groups =
            [(Dimension::Owner, payers.owner), (Dimension::Team, payers.team), (Dimension::Provider, of.provider)];
        for (dimension, id) in groups.into_iter().filter(|(_, id)| !id.is_empty()) {
            update(self, dimension, id.into())?;
        }
        for tag in of.tags.split(TAG_SEPARATOR).filter(|tag| !tag.is_empty()) {
            let tag = if self.keeps_tag(day, payers.key, tag, reader)? { tag } else { OTHER_TAG };
            update(self, Dimension::Tag, RowKey::of_tag(payers.key, tag))?;
        }
        Ok(())
    }

    /// Returns whether a tag has rows of its own: a key has a share of so many a day. The tags that have are the first ones of
    /// the day, so that applying lines again, over rows that are in the store, leads to the same ones.
    fn keeps_tag(&mut self, day: Day, key: &str, tag: &str, reader: RecordReader<'_>) -> Result<bool, StoreError> {
        if self.tags.len() >= MAX_TAGGED {
            self.tags.clear();
        }
        let place = (day, Box::from(key));
        if !self.tags.contains_key(&place) {
            let fresh = self.rows.keys().filter(|row| row.dimension == Dimension::Tag && row.day == day);
            let fresh = fresh.map(RowKey::subject).filter(|(of, _)| *of == Some(key));
            let mut tags: HashSet<Box<str>> = fresh.map(|(_, tag)| Box::from(tag)).collect();
            tags.extend(reader.tags(day, key)?);
            tags.remove(OTHER_TAG);
            self.tags.insert(place.clone(), tags);
        }
        let tags = self.tags.entry(place).or_default();
        if tags.contains(tag) {
            return Ok(true);
        }
        let kept = tags.len() < MAX_TAGS && tag != OTHER_TAG;
        if kept {
            tags.insert(tag.into());
        }
        Ok(kept)
    }

    /// Returns the row to which this line is to be added; `None` if it was added before.
    fn row(&mut self, number: u64, key: RowKey, reader: RecordReader<'_>) -> Result<Option<&mut Row>, StoreError> {
        use std::collections::hash_map::Entry;
        let record = match self.rows.entry(key) {
            Entry::Occupied(found) => found.into_mut(),
            Entry::Vacant(absent) => {
                let record = reader.row(absent.key())?.unwrap_or_default();
                absent.insert(record)
            }
        };
        if record.line >= number {
            return Ok(None);
        }
        record.line = number;
        Ok(Some(&mut record.row))
    }

    fn account(&mut self, key: AccountKey, reader: RecordReader<'_>) -> Result<&mut Account, StoreError> {
        use std::collections::hash_map::Entry;
        match self.accounts.entry(key) {
            Entry::Occupied(found) => Ok(found.into_mut()),
            Entry::Vacant(absent) => {
                let record = reader.account(absent.key())?.unwrap_or_default();
                Ok(absent.insert(Account { record, held_nanos: 0, ahead_nanos: 0 }))
            }
        }
    }

    /// Updates the monthly totals of a key, of a model, of an owner and of a team.
    fn update_accounts(
        &mut self,
        at: Millis,
        PayersRef { key, model, owner, team }: PayersRef<'_>,
        reader: RecordReader<'_>,
        mut each: impl FnMut(&mut Account),
    ) -> Result<(), StoreError> {
        let month = Month::of(at);
        let shared = [(Budget::Owner, owner), (Budget::Team, team)].into_iter().filter(|(_, id)| !id.is_empty());
        for (budget, id) in [(Budget::Key, key), (Budget::Model, model)].into_iter().chain(shared) {
            each(self.account(AccountKey { month, budget, id: id.into() }, reader)?);
        }
        Ok(())
    }

    fn spend(
        &mut self,
        number: u64,
        at: Millis,
        payers: PayersRef<'_>,
        nanos: u64,
        reader: RecordReader<'_>,
    ) -> Result<(), StoreError> {
        if nanos == 0 {
            return Ok(());
        }
        self.update_accounts(at, payers, reader, |account| {
            let record = &mut account.record;
            if record.line < number {
                *record = AccountRecord { line: number, spent_nanos: record.spent_nanos.saturating_add(nanos) };
            }
        })
    }

    fn reserve(&mut self, held: HoldRecord, reader: RecordReader<'_>) -> Result<(), StoreError> {
        self.update_accounts(held.at, held.payers(), reader, |account| {
            account.held_nanos = account.held_nanos.saturating_add(held.nanos);
        })?;
        self.holds.insert(held.id, held);
        Ok(())
    }

    fn release(&mut self, hold: u64, reader: RecordReader<'_>) -> Result<Option<HoldRecord>, StoreError> {
        let Some(held) = self.holds.remove(&hold) else { return Ok(None) };
        self.update_accounts(held.at, held.payers(), reader, |account| {
            account.held_nanos = account.held_nanos.saturating_sub(held.nanos);
        })?;
        Ok(Some(held))
    }
}
