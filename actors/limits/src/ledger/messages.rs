//! What the ledger is told and asked, and what it answers.

use std::sync::Arc;

use actix::Message;
use muster_providers::Usage;
use muster_store::{Journal, JournalStats};
use serde::Serialize;

use super::line::{Line, bounded};
use super::period::Day;
use super::record::RowRecord;
use super::row::{Budget, Outcome, Row, RowKey};
use muster_core::{Error, Kind, Millis};

/// One call that has ended.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// When it ended; decides the day and month that it counts in.
    pub at: Millis,
    pub key_id: &'a str,
    /// The model that answered, or the one that was asked where none did.
    pub model_id: &'a str,
    pub outcome: Outcome,
    /// Of what was delivered.
    pub usage: Usage,
    /// Billionths of a dollar; `None` where the model's price is not known.
    pub cost_nanos: Option<u64>,
}

/// May so much be spent? In billionths of a dollar; budgets are for a calendar month, UTC, and `None` is no budget.
#[derive(Debug, Clone)]
pub struct Reserve {
    pub key_id: String,
    pub key_limit: Option<u64>,
    pub model_id: String,
    pub model_limit: Option<u64>,
    /// The most that the call is thought to cost.
    pub nanos: u64,
}

/// A budget that has no room for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    pub which: Budget,
    pub spent_nanos: u64,
    /// Set aside for calls that run now.
    pub held_nanos: u64,
    pub limit_nanos: u64,
    pub resets_at: Millis,
}

/// Why nothing was reserved.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    Exhausted(Exhausted),
    /// The ledger is restarting, overloaded, or cannot write.
    Error(Error),
}

impl From<Exhausted> for Error {
    fn from(spent: Exhausted) -> Self {
        let usd = |nanos: u64| nanos as f64 / 1e9;
        let whose = match spent.which {
            Budget::Key => "this key",
            Budget::Model => "this model",
        };
        let (used, limit) = (usd(spent.spent_nanos.saturating_add(spent.held_nanos)), usd(spent.limit_nanos));
        let until = spent.resets_at.rfc3339();
        let message = format!(
            "the monthly budget of {whose} has no room for this call: {used:.6} of {limit:.6} USD are spent or set \
             aside; it is renewed at {until}"
        );
        Self::new(Kind::BudgetExhausted, message)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Exhausted(spent) => spent.into(),
            Refusal::Error(error) => error,
        }
    }
}

/// Money set aside for one call: posted with its real cost, or given back on drop.
#[derive(Debug)]
#[must_use = "post the call with it, or the money is given back at once"]
pub struct Hold {
    journal: Option<Arc<Journal>>,
    id: u64,
    nanos: u64,
}

impl Hold {
    /// For a call without a budget: holds nothing.
    pub fn none() -> Self {
        Self { journal: None, id: 0, nanos: 0 }
    }

    pub(super) fn new(journal: &Arc<Journal>, id: u64, nanos: u64) -> Self {
        Self { journal: Some(Arc::clone(journal)), id, nanos }
    }

    /// How much is set aside, in billionths of a dollar.
    pub fn nanos(&self) -> u64 {
        self.nanos
    }

    /// The line that reserved it; from now on it is the caller's to settle. 0 for none.
    pub(super) fn settle(mut self) -> u64 {
        self.journal.take().map_or(0, |_| self.id)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.append_or_buffer(&Line::Release { hold: self.id }.encode());
        }
    }
}

impl Entry<'_> {
    pub(super) fn line(&self, hold: u64) -> Line<'_> {
        Line::Post {
            at: self.at,
            key: bounded(self.key_id),
            model: bounded(self.model_id),
            outcome: self.outcome,
            prompt_tokens: self.usage.prompt_tokens,
            completion_tokens: self.usage.completion_tokens,
            estimated: self.usage.estimated,
            cost_nanos: self.cost_nanos,
            hold,
        }
    }
}

/// Which rows.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// `None` for every key.
    pub key_id: Option<String>,
    pub from_day: Day,
    /// Inclusive.
    pub to_day: Day,
    pub model: Option<String>,
}

impl Query {
    pub(super) fn takes(&self, row: &RowKey) -> bool {
        (self.from_day..=self.to_day).contains(&row.day)
            && self.key_id.as_deref().is_none_or(|key| *key == *row.key)
            && self.model.as_deref().is_none_or(|model| *model == *row.model)
    }
}

/// One row, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsageRow {
    pub day: Day,
    pub key_id: String,
    pub model_id: String,
    #[serde(flatten)]
    pub row: Row,
}

/// How a budget stands, in billionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetView {
    pub spent_nanos: u64,
    /// Set aside for calls that run now.
    pub held_nanos: u64,
    /// `None` where there is no budget.
    pub limit_nanos: Option<u64>,
    pub resets_at: Millis,
}

/// The budgets of a key and of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budgets {
    pub key: BudgetView,
    pub model: BudgetView,
}

/// Figures for health and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerStatus {
    /// Records in memory.
    pub cached: usize,
    pub open_holds: usize,
    /// Rows that no checkpoint has yet.
    pub unsaved: usize,
    /// Bytes of the journal that were torn when the ledger was last read back.
    pub torn_bytes: u64,
    /// Of its `waiting` entries the disk knows nothing, `lost` ones are gone: more than 0 of either is a fault.
    pub journal: JournalStats,
}

#[derive(Debug)]
pub(super) struct AskHold(pub(super) Reserve);

#[derive(Debug)]
pub(super) struct AskBudgets {
    pub(super) key_id: String,
    pub(super) key_limit: Option<u64>,
    pub(super) model_id: String,
    pub(super) model_limit: Option<u64>,
}

#[derive(Debug)]
pub(super) struct AskRows(pub(super) Query);

#[derive(Debug)]
pub(super) struct AskStatus;

/// Answered when everything posted so far is in the store.
#[derive(Debug)]
pub(super) struct Flush;

impl Message for AskHold {
    type Result = Result<Hold, Refusal>;
}

impl Message for AskBudgets {
    type Result = Result<Budgets, Error>;
}

impl Message for AskRows {
    type Result = Result<Vec<(RowKey, RowRecord)>, Error>;
}

impl Message for AskStatus {
    type Result = Result<LedgerStatus, Error>;
}

impl Message for Flush {
    type Result = Result<(), Error>;
}
