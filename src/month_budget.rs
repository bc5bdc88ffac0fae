//! The state of a budget as responses show it.

use muster_core::Millis;
use muster_limits::ledger::BudgetView;
use serde::Serialize;
use utoipa::ToSchema;

/// The state of a budget of the present calendar month (UTC).
#[derive(Debug, Serialize, ToSchema)]
pub struct MonthBudget {
    pub spent_usd: f64,
    /// Amount reserved for calls in progress, in USD.
    pub held_usd: f64,
    /// Monthly limit in USD; null if there is none.
    pub limit_usd: Option<f64>,
    #[schema(value_type = String, format = DateTime)]
    pub resets_at: Millis,
}

fn usd(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

impl From<BudgetView> for MonthBudget {
    fn from(view: BudgetView) -> Self {
        Self {
            spent_usd: usd(view.spent_nanos),
            held_usd: usd(view.held_nanos),
            limit_usd: view.limit_nanos.map(usd),
            resets_at: view.resets_at,
        }
    }
}
