//! The ledger: usage and cost by key, owner, team, provider or tag, model and day (UTC) for every endpoint, and the
//! monthly budgets of keys, owners, teams and models.
//!
//! [`Ledger`] is the public interface. A post is one line appended to a journal by its caller before [`Ledger::post`]
//! returns: from then on it survives `kill -9`, and no actor is involved. The actor follows the journal and
//! sums up its lines. It grants holds ([`Ledger::reserve`]) sequentially, so budgets are exact under concurrency; where
//! much is left, it sets money aside from which calls draw their holds without asking (module `credit`). Each hold is
//! written to the journal before its call. Every few seconds it writes changes to the store and removes the
//! journal up to that point. After any crash, the ledger is the state of the store plus the journal lines after it;
//! every record states which lines it includes, so none is counted twice.
//!
//! A hold counts in the month in which it was granted, a cost in the month in which it is posted. A hold left open by a
//! killed server is charged in full at the next start, because its call may have cost as much.
//!
//! Limitations: a power cut loses the last tenth of a second, or more if the disk is slower. A call that costs more
//! than was reserved is charged in full, so a budget can be exceeded by that amount. While the disk rejects writes,
//! posts are buffered in memory and nothing is granted; only posts beyond 100,000 are lost, which is logged as an
//! error.

mod actor;
mod checkpoint;
mod credit;
mod line;
mod messages;
mod period;
mod record;
mod row;
mod service;
mod state;
#[cfg(test)]
mod tests;
mod usage;

pub use messages::{
    Abandoned, Attribution, BudgetView, Budgets, DayRows, Entry, Exhausted, Hold, LedgerStatus, Query, Refusal,
    Reserve, UsageRow, joined_tags,
};
pub use period::Day;
pub use row::{Budget, Dimension, Outcome, Row};
pub use service::{Ledger, LedgerOptions, nanos_of_usd};
