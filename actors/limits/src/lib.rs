//! Exact rate and quota limits: in any span of a window's length no more than the limit is admitted, whatever the
//! concurrency and whatever fails meanwhile, and a client that paces itself is never rejected.
//!
//! [`RateLimiter`] is the public interface. Each of its shards, which are actors, keeps the buckets of a part of the
//! subjects. A bucket ([`BucketKey`]: subject and category) is one exact log of admissions that serves the minute, hour
//! and day windows alike; a request is evaluated against all rules at once. Subjects with many requests and much left
//! of their limits are granted admissions in advance (module `allowance`). Admissions are covered by a durable record
//! with a small lease (module `lease`), so a restart, clean or not, does not reset a quota.
//!
//! Limitations: anonymous subjects (by client address) are kept in memory only, so a restart of their shard or their
//! eviction by more recent ones resets them. Times are those of the machine's clock, in milliseconds; setting it
//! forward ends windows early. Tokens are charged by estimate and corrected later: a window may exceed its limit by
//! what calls used beyond their reservations; unused tokens are refunded when a call is settled.

#![warn(missing_docs)]

mod account;
mod allowance;
mod bucket;
mod collect;
mod lease;
pub mod ledger;
mod limiter;
mod log;
mod plans;
mod recency;
mod record;
mod rule;
mod shard;
mod subject;
#[cfg(test)]
mod tests;
mod view;

pub use bucket::Estimate;
pub use limiter::RateLimiter;
pub use plans::{AgentLimits, LimitTable, PlanLimits, PlansA, PlansB, Quota};
pub use rule::{Category, LimitUnit, Rule, Window};
pub use shard::{Admit, Decision, Options, Reservation};
pub use subject::{BucketKey, Subject};
pub use view::{LimitView, RuleView};
