//! What was spent, by key, model and day (UTC), for every endpoint, and the monthly budgets that it is checked against.
//!
//! [`Ledger`] is the way in. What is posted is one line appended to a journal, by its caller, before [`Ledger::post`]
//! returns: from then on `kill -9` does not lose it, and no actor is waited for. The [`LedgerActor`] follows the journal
//! and adds its lines up; it grants holds ([`Ledger::reserve`]) one after the other, so budgets are exact under races,
//! and writes each grant to the journal before it is told. Every few seconds it carries what changed into the store and
//! lets go of the journal up to there. Whatever dies in between, the ledger is what the store has and the journal's
//! lines after it make of it; every record says which lines it counts, so none counts twice.
//!
//! A hold counts in the month in which it was granted, a cost in that in which it is posted. A hold that a killed
//! server left open is charged in full at the next start, because its call may have cost as much.
//!
//! What is promised less: a power cut loses the last tenth of a second, unless the disk is slower than that. A call that
//! costs more than was set aside for it is charged for it all the same, so a budget is overspent by as much. While the
//! disk takes nothing, posts wait in memory and nothing is granted; only more than 100,000 of them are lost, loudly.

mod actor;
mod carry;
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

pub use actor::LedgerActor;
pub use messages::{BudgetView, Budgets, Entry, Exhausted, Hold, LedgerStatus, Query, Refusal, Reserve, UsageRow};
pub use period::Day;
pub use row::{Budget, Outcome, Row};
pub use service::{Ledger, LedgerOptions, nanos_of_usd};
