//! What a request costs whom: money set aside before each call, and one line in the ledger for each request, however it
//! ends.

use std::collections::HashMap;
use std::sync::Arc;

use muster_providers::{Candidate, Usage};

use super::messages::Spend;
use muster_core::{Clock, Error, Kind};
use muster_limits::ledger::{Entry, Hold, Ledger, Outcome, Refusal, Reserve};

/// The ledger as the chain uses it.
#[derive(Debug, Clone)]
pub struct Till {
    pub ledger: Ledger,
    pub clock: Clock,
    /// Budgets of models for a calendar month, in billionths of a dollar.
    pub model_limits: HashMap<String, u64>,
}

impl Till {
    pub fn model_limit(&self, model_id: &str) -> Option<u64> {
        self.model_limits.get(model_id).copied()
    }

    /// Sets aside what the call may cost at this provider, at most.
    ///
    /// # Errors
    /// `BudgetExhausted` where a budget has no room for it, `Unavailable` where the ledger cannot be asked.
    pub(super) async fn hold(&self, spend: &Spend, candidate: &Candidate) -> Result<Hold, Error> {
        let model_limit = self.model_limit(&candidate.model_id);
        let bounded = spend.call_limit.is_some() || Ledger::needs_hold(spend.key_limit, model_limit);
        if candidate.price.is_none() && bounded {
            let message = format!(
                "what {} costs at {} is not known, so no budget can bound it: the operator can set `price` of that \
                 [[provider]]",
                candidate.model_id, candidate.provider_id
            );
            return Err(Error::new(Kind::BudgetExhausted, message));
        }
        let most = candidate.price.map_or(0, |price| price.nanos(spend.most));
        if let Some(limit) = spend.call_limit.filter(|limit| most > *limit) {
            let usd = |nanos: u64| nanos as f64 / 1e9;
            let message = format!(
                "a call of {} may cost {:.6} USD, over this call's budget of {:.6}: lower max_tokens or raise \
                 budget_usd",
                candidate.model_id,
                usd(most),
                usd(limit)
            );
            return Err(Error::new(Kind::BudgetExhausted, message));
        }
        if most == 0 || !Ledger::needs_hold(spend.key_limit, model_limit) {
            return Ok(Hold::none());
        }
        let reserve = Reserve {
            key_id: spend.key_id.clone(),
            key_limit: spend.key_limit,
            model_id: candidate.model_id.clone(),
            model_limit,
            nanos: most,
        };
        self.ledger.reserve(reserve).await.map_err(|refusal| match refusal {
            Refusal::Error(error) => error,
            Refusal::Exhausted(spent) => Error::from(spent).retry_in(spent.resets_at.since(self.clock.now())),
        })
    }
}

/// One request's line in the ledger. Dropped without a word, its caller is gone.
#[derive(Debug)]
pub(super) struct Bill {
    payer: Option<(Arc<Till>, String)>,
    model_id: String,
    hold: Option<Hold>,
}

impl Bill {
    /// Without a till, or of nobody, it is posted nowhere.
    pub(super) fn open(till: Option<&Arc<Till>>, spend: Option<&Spend>, asked: Option<&str>) -> Self {
        let payer = till.zip(spend).map(|(till, spend)| (Arc::clone(till), spend.key_id.clone()));
        Self { payer, model_id: asked.unwrap_or("default").to_owned(), hold: None }
    }

    /// From now on it is this model's.
    pub(super) fn answered_by(&mut self, model_id: &str, hold: Hold) {
        model_id.clone_into(&mut self.model_id);
        self.hold = Some(hold);
    }

    pub(super) fn close(mut self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        self.post(outcome, usage, cost_nanos);
    }

    fn post(&mut self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        let Some((till, key_id)) = self.payer.take() else { return };
        let at = till.clock.now();
        let entry = Entry { at, key_id: &key_id, model_id: &self.model_id, outcome, usage, cost_nanos };
        till.ledger.post(&entry, self.hold.take().unwrap_or_else(Hold::none));
    }
}

impl Drop for Bill {
    fn drop(&mut self) {
        self.post(Outcome::Cancelled, Usage::default(), Some(0));
    }
}
