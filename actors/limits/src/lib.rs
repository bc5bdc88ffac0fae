//! Rate and quota limits, exact: in any span of a window's length no more than the limit is admitted, however many
//! requests race and whatever dies meanwhile, and a client that paces itself is never refused.
//!
//! [`RateLimiter`] is the way in. Behind it, [`RateShard`] actors each keep the buckets of their part of the subjects.
//! A bucket ([`BucketKey`]: subject and category) is one exact log of what was admitted, which serves minute, hour and
//! day alike; requests are judged by all rules at once. What was admitted is covered by a durable record with a small
//! lease, see `lease`: a restart, clean or not, is no way round a quota.
//!
//! What is promised less: anonymous subjects (by client address) are kept in memory alone, so a restart of their shard
//! forgets them, and so does their being pushed out by more recent ones. Times are of the machine's clock, in
//! milliseconds; one that is set forward ends windows early. Tokens are charged by estimate and corrected: a window may
//! hold more than its limit by as much as calls spent beyond their reservations; what they do not have to be charged is
//! given back when they settle.

mod account;
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
pub use rule::{Category, Rule, Unit, Window};
pub use shard::{Admit, Decision, Options, RateShard, Reservation};
pub use subject::{BucketKey, Subject};
pub use view::{LimitView, RuleView};
