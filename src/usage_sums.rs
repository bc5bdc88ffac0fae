//! Sums of usage, and the days by which it is requested.

use muster_limits::ledger::{Day, UsageRow};
use muster_request::Fields;
use serde::Serialize;
use utoipa::ToSchema;

/// Sums over calls.
#[derive(Debug, Default, Serialize, ToSchema)]
pub struct Sums {
    /// Number of calls, including failed and cancelled ones.
    pub requests: u64,
    pub failed: u64,
    /// Number of calls whose client disconnected.
    pub cancelled: u64,
    pub prompt_tokens: u64,
    pub completion_tokens: u64,
    /// Number of calls whose tokens were counted by this server because the provider reported no usage.
    pub estimated_requests: u64,
    pub cost_usd: f64,
    /// Number of calls of models whose price is unknown; their cost is not part of `cost_usd`.
    pub unpriced_requests: u64,
    /// Amount reserved for calls whose outcome was lost in a crash: charged to the budget in full, not part of
    /// `cost_usd`.
    pub unsettled_usd: f64,
    /// Number of calls that were answered from the cache, at no cost.
    pub cached_requests: u64,
    /// Number of pictures that were drawn.
    pub images: u64,
}

/// Converts billionths of a US dollar.
fn usd(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl Sums {
    pub(crate) fn of<'a>(rows: impl Iterator<Item = &'a UsageRow>) -> Self {
        let (mut sums, mut cost, mut unsettled) = (Self::default(), 0_u64, 0_u64);
        for UsageRow { row, .. } in rows {
            sums.requests += row.requests;
            sums.failed += row.failed;
            sums.cancelled += row.cancelled;
            sums.prompt_tokens += row.prompt_tokens;
            sums.completion_tokens += row.completion_tokens;
            sums.estimated_requests += row.estimated_requests;
            sums.unpriced_requests += row.unpriced_requests;
            sums.cached_requests += row.cached_requests;
            sums.images += row.images;
            // Summed as integers, so that the total is exact.
            cost = cost.saturating_add(row.cost_nanos);
            unsettled = unsettled.saturating_add(row.unsettled_nanos);
        }
        Self { cost_usd: usd(cost), unsettled_usd: usd(unsettled), ..sums }
    }
}

/// Reads a day, `YYYY-MM-DD`.
pub(crate) fn day(fields: &mut Fields<'_>, name: &str) -> Option<Day> {
    let day = Day::parse(&fields.string(name)?);
    if day.is_none() {
        fields.fail(name, "must be a day, YYYY-MM-DD");
    }
    day
}
