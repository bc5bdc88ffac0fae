//! Requests to the ledger, and its replies.

use std::sync::Arc;

use actix::Message;
use muster_providers::Usage;
use muster_store::{Journal, JournalStats};
use serde::Serialize;

use super::line::{JournalLine, bounded};
use super::period::Day;
use super::record::RowRecord;
use super::row::{Budget, Dimension, Outcome, Row, RowKey, TAG_SEPARATOR};
use muster_core::{Error, Kind, Millis};

/// Whom a call counts against besides its key, and what it is reported under. Empty texts are none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attribution<'a> {
    /// Owner of the key.
    pub owner: &'a str,
    /// Team of the key.
    pub team: &'a str,
    /// Provider that answered.
    pub provider: &'a str,
    /// Tags of the request, as [`joined`](crate::ledger::joined_tags).
    pub tags: &'a str,
}

/// Returns tags as one text for [`Attribution::tags`].
pub fn joined_tags(tags: &[impl AsRef<str>]) -> String {
    let tags: Vec<&str> = tags.iter().map(AsRef::as_ref).collect();
    tags.join(TAG_SEPARATOR.encode_utf8(&mut [0; 4]))
}

/// A finished call.
#[derive(Debug, Clone, Copy)]
pub struct Entry<'a> {
    /// Time at which it ended; determines its day and month.
    pub at: Millis,
    /// Identifier of the API key or user that is charged.
    pub key_id: &'a str,
    /// Whom it counts against besides, and what it is reported under.
    pub attribution: Attribution<'a>,
    /// The model that replied, or the requested one if none did.
    pub model_id: &'a str,
    /// Outcome of the call.
    pub outcome: Outcome,
    /// Usage of what was delivered.
    pub usage: Usage,
    /// Pictures that were drawn.
    pub images: u32,
    /// Billionths of a US dollar; `None` if the model's price is unknown.
    pub cost_nanos: Option<u64>,
}

/// A provider call that ended without an answer, or whose caller left, after the provider may have begun to run it.
#[derive(Debug, Clone, Copy)]
pub struct Abandoned<'a> {
    /// Time at which it ended.
    pub at: Millis,
    /// Identifier of the API key or user that is charged.
    pub key_id: &'a str,
    /// Whom it counts against besides, and what it is reported under.
    pub attribution: Attribution<'a>,
    /// The model that was called.
    pub model_id: &'a str,
    /// Estimated usage, or that which the provider reported.
    pub usage: Usage,
    /// Pictures that were drawn, as far as is known.
    pub images: u32,
    /// Its cost in billionths of a US dollar; `None` if the model's price is unknown.
    pub cost_nanos: Option<u64>,
}

/// A reservation request. Amounts are billionths of a US dollar; budgets are per calendar month (UTC), and `None` means
/// no budget.
#[derive(Debug, Clone)]
pub struct Reserve {
    /// Identifier of the API key or user that is charged.
    pub key_id: String,
    /// Budget of the key.
    pub key_limit: Option<u64>,
    /// Owner of the key; empty for none.
    pub owner: String,
    /// Budget of the owner, which all of the owner's keys share.
    pub owner_limit: Option<u64>,
    /// Team of the key; empty for none.
    pub team: String,
    /// Budget of the team, which all keys of the team share.
    pub team_limit: Option<u64>,
    /// Identifier of the model.
    pub model_id: String,
    /// Budget of the model.
    pub model_limit: Option<u64>,
    /// Maximum estimated cost of the call.
    pub nanos: u64,
}

/// A budget that is insufficient for a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted {
    /// The budget that is insufficient.
    pub which: Budget,
    /// Amount spent this month.
    pub spent_nanos: u64,
    /// Reserved for calls in progress.
    pub held_nanos: u64,
    /// The budget.
    pub limit_nanos: u64,
    /// Start of the next month.
    pub resets_at: Millis,
}

/// Why nothing was reserved.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// A budget is insufficient.
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
            Budget::Owner => "this key's owner",
            Budget::Team => "this key's team",
        };
        let (used, limit) = (usd(spent.spent_nanos.saturating_add(spent.held_nanos)), usd(spent.limit_nanos));
        let until = spent.resets_at.rfc3339();
        let message = format!(
            "the monthly budget of {whose} is insufficient for this call: {used:.6} of {limit:.6} USD are spent or \
             reserved; it is renewed at {until}"
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

/// Money reserved for a call: replaced by the actual cost when the call is posted, or released on drop.
#[derive(Debug)]
#[must_use = "post the call with it, or the reserved money is released immediately"]
pub struct Hold {
    journal: Option<Arc<Journal>>,
    id: u64,
    nanos: u64,
}

impl Hold {
    /// Returns a hold for a call without a budget, which reserves nothing.
    pub fn none() -> Self {
        Self { journal: None, id: 0, nanos: 0 }
    }

    pub(super) fn new(journal: &Arc<Journal>, id: u64, nanos: u64) -> Self {
        Self { journal: Some(Arc::clone(journal)), id, nanos }
    }

    /// Returns the reserved amount, in billionths of a US dollar.
    pub fn nanos(&self) -> u64 {
        self.nanos
    }

    /// Returns the number of the line that reserved it, and passes the responsibility for settling it to the caller. 0
    /// for none.
    pub(super) fn settle(mut self) -> u64 {
        self.journal.take().map_or(0, |_| self.id)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(journal) = self.journal.take() {
            journal.append_or_buffer(&JournalLine::Release { hold: self.id }.encode());
        }
    }
}

impl Entry<'_> {
    pub(super) fn line(&self, hold: u64) -> JournalLine<'_> {
        JournalLine::Post {
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

impl Abandoned<'_> {
    pub(super) fn line(&self, hold: u64) -> JournalLine<'_> {
        JournalLine::Abandon {
            at: self.at,
            key: bounded(self.key_id),
            model: bounded(self.model_id),
            prompt_tokens: self.usage.prompt_tokens,
            completion_tokens: self.usage.completion_tokens,
            cost_nanos: self.cost_nanos,
            hold,
        }
    }
}

/// Selects usage rows.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// What the rows are grouped by.
    pub dimension: Dimension,
    /// `None` for all keys. Only rows of keys and of tags belong to a key.
    pub key_id: Option<String>,
    /// The owner, team, provider or tag; `None` for all.
    pub subject: Option<String>,
    /// First day.
    pub from_day: Day,
    /// Inclusive.
    pub to_day: Day,
    /// `None` for all models.
    pub model: Option<String>,
}

impl Query {
    pub(super) fn matches(&self, row: &RowKey) -> bool {
        let (key, subject) = row.subject();
        (self.from_day..=self.to_day).contains(&row.day)
            && self.dimension == row.dimension
            && self.key_id.as_deref().is_none_or(|wanted| Some(wanted) == key)
            && self.subject.as_deref().is_none_or(|wanted| wanted == subject)
            && self.model.as_deref().is_none_or(|model| *model == *row.model)
    }
}

/// A usage row and what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UsageRow {
    /// Day, in UTC.
    pub day: Day,
    /// What it is grouped by: the API key or user, the owner, team, provider or tag.
    pub subject: String,
    /// Identifier of the model.
    pub model_id: String,
    /// Sums over the calls.
    #[serde(flatten)]
    pub row: Row,
}

/// The rows of all keys on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DayRows {
    /// Sorted by key and model.
    pub rows: Vec<UsageRow>,
    /// Whether no call that was admitted on this day, or earlier, can still be charged to it.
    pub settled: bool,
}

/// State of a budget, in billionths of a US dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetView {
    /// Amount spent this month.
    pub spent_nanos: u64,
    /// Reserved for calls in progress.
    pub held_nanos: u64,
    /// `None` if there is no budget.
    pub limit_nanos: Option<u64>,
    /// Start of the next month.
    pub resets_at: Millis,
}

/// The budgets of a key and of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Budgets {
    /// Budget of the key.
    pub key: BudgetView,
    /// Budget of the model.
    pub model: BudgetView,
}

/// Figures for health and status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LedgerStatus {
    /// Records in memory.
    pub cached: usize,
    /// Number of open holds.
    pub open_holds: usize,
    /// Rows that are in no checkpoint yet.
    pub unsaved: usize,
    /// Bytes of the journal that were torn when the ledger was last restored.
    pub torn_bytes: u64,
    /// `waiting` entries are not on disk, `lost` ones were dropped: any value above 0 is a fault.
    pub journal: JournalStats,
}

#[derive(Debug)]
pub(super) struct HoldRequest(pub(super) Reserve);

#[derive(Debug)]
pub(super) struct BudgetsRequest {
    pub(super) key_id: String,
    pub(super) key_limit: Option<u64>,
    pub(super) model_id: String,
    pub(super) model_limit: Option<u64>,
}

#[derive(Debug)]
pub(super) struct BudgetRequest {
    pub(super) budget: Budget,
    pub(super) id: String,
    pub(super) limit: Option<u64>,
}

impl Message for BudgetRequest {
    type Result = Result<BudgetView, Error>;
}

#[derive(Debug)]
pub(super) struct RowsRequest(pub(super) Query);

/// Replied to with the rows of keys of a day that are in memory, and the day of the oldest open hold.
#[derive(Debug)]
pub(super) struct DayRequest(pub(super) Day);

#[derive(Debug)]
pub(super) struct StatusRequest;

/// Replied to when everything posted so far is in the store.
#[derive(Debug)]
pub(super) struct Flush;

impl Message for HoldRequest {
    type Result = Result<Hold, Refusal>;
}

impl Message for BudgetsRequest {
    type Result = Result<Budgets, Error>;
}

impl Message for RowsRequest {
    type Result = Result<Vec<(RowKey, RowRecord)>, Error>;
}

impl Message for DayRequest {
    type Result = Result<(Vec<(RowKey, RowRecord)>, Option<Day>), Error>;
}

impl Message for StatusRequest {
    type Result = Result<LedgerStatus, Error>;
}

impl Message for Flush {
    type Result = Result<(), Error>;
}
