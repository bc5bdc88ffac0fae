//! Budgets and ledger entries of a request: money is reserved before each provider call, and one ledger entry is
//! written for each request, however it ends.

use std::collections::HashMap;
use std::sync::Arc;

use muster_providers::{Candidate, Usage};

use super::messages::Spend;
use muster_core::{Clock, Error, Kind};
use muster_limits::ledger::{Entry, Hold, Ledger, Outcome, Refusal, Reserve};

/// Enforces budgets before provider calls and writes usage to the ledger.
#[derive(Debug, Clone)]
pub struct BudgetGuard {
    /// Ledger that holds reservations and receives usage entries.
    pub ledger: Ledger,
    /// Source of entry timestamps.
    pub clock: Clock,
    /// Monthly budgets (calendar month) by model id, in billionths of a US dollar.
    pub model_limits: HashMap<String, u64>,
}

impl BudgetGuard {
    /// Returns the monthly budget of a model, in billionths of a US dollar.
    pub fn model_limit(&self, model_id: &str) -> Option<u64> {
        self.model_limits.get(model_id).copied()
    }

    /// Reserves the maximum cost of one call to this candidate.
    ///
    /// # Errors
    /// `BudgetExhausted` when a budget does not cover it, `Unavailable` when the ledger does not answer.
    pub(super) async fn reserve_cost(&self, spend: &Spend, candidate: &Candidate) -> Result<Hold, Error> {
        let model_limit = self.model_limit(&candidate.model_id);
        let bounded = spend.call_limit.is_some() || Ledger::needs_hold(spend.key_limit, model_limit);
        if candidate.price.is_none() && bounded {
            let message = format!(
                "the price of {} at {} is unknown, so a budget cannot be enforced: the operator can set `price` for that \
                 [[provider]]",
                candidate.model_id, candidate.provider_id
            );
            return Err(Error::new(Kind::BudgetExhausted, message));
        }
        let max_cost = candidate.price.map_or(0, |price| price.nanos(spend.max_usage));
        if let Some(limit) = spend.call_limit.filter(|limit| max_cost > *limit) {
            let usd = |nanos: u64| nanos as f64 / 1e9;
            let message = format!(
                "a call of {} may cost {:.6} USD, over this call's budget of {:.6}: lower max_tokens or raise \
                 budget_usd",
                candidate.model_id,
                usd(max_cost),
                usd(limit)
            );
            return Err(Error::new(Kind::BudgetExhausted, message));
        }
        if max_cost == 0 || !Ledger::needs_hold(spend.key_limit, model_limit) {
            return Ok(Hold::none());
        }
        let reserve = Reserve {
            key_id: spend.key_id.clone(),
            key_limit: spend.key_limit,
            model_id: candidate.model_id.clone(),
            model_limit,
            nanos: max_cost,
        };
        self.ledger.reserve(reserve).await.map_err(|refusal| match refusal {
            Refusal::Error(error) => error,
            Refusal::Exhausted(spent) => Error::from(spent).retry_in(spent.resets_at.since(self.clock.now())),
        })
    }
}

/// Pending ledger entry of one request. Written as cancelled if dropped without [`close`](Self::close): the caller has
/// disconnected.
#[derive(Debug)]
pub(super) struct PendingEntry {
    payer: Option<(Arc<BudgetGuard>, String)>,
    model_id: String,
    hold: Option<Hold>,
}

impl PendingEntry {
    /// Creates the entry. Nothing is written when there is no budget guard or no paying key.
    pub(super) fn open(
        budgets: Option<&Arc<BudgetGuard>>,
        spend: Option<&Spend>,
        requested_model: Option<&str>,
    ) -> Self {
        let payer = budgets.zip(spend).map(|(budgets, spend)| (Arc::clone(budgets), spend.key_id.clone()));
        Self { payer, model_id: requested_model.unwrap_or("default").to_owned(), hold: None }
    }

    /// Attributes the entry to the model that answered, and takes over its reservation.
    pub(super) fn answered_by(&mut self, model_id: &str, hold: Hold) {
        model_id.clone_into(&mut self.model_id);
        self.hold = Some(hold);
    }

    pub(super) fn close(mut self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        self.post(outcome, usage, cost_nanos);
    }

    fn post(&mut self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        let Some((budgets, key_id)) = self.payer.take() else { return };
        let at = budgets.clock.now();
        let entry = Entry { at, key_id: &key_id, model_id: &self.model_id, outcome, usage, cost_nanos };
        budgets.ledger.post(&entry, self.hold.take().unwrap_or_else(Hold::none));
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        self.post(Outcome::Cancelled, Usage::default(), Some(0));
    }
}
