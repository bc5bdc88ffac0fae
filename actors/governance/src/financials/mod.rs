//! Daily closes of the ledger.
//!
//! Once a day is over and nothing can be charged to it any more, its sum and the hash of its rows become a record and an
//! entry of the audit log. A close is never changed: rows that differ from it later are reported as such.

mod close;
mod service;
#[cfg(test)]
mod tests;

pub use close::{Close, DayBooks, LedgerRow, Totals};
pub use service::{CLOSE_ACTION, CloseState, Closes, GRACE, LedgerDays};
