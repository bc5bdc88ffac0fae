//! Budgets and ledger entries of a request: money is reserved before each provider call, and one ledger entry is
//! written for each request, however it ends.

use std::collections::HashMap;
use std::sync::Arc;

use muster_providers::{Billed, CallPrice, ChatRequest, ImageRequest, Usage};

use tokio::time::Instant;

use super::chain::Route;
use super::messages::{SharedBudget, Spend};
use muster_core::{Clock, Error, Kind};
use muster_limits::ledger::{Abandoned, Attribution, Entry, Hold, Ledger, Outcome, Refusal, Reserve, joined_tags};

/// Enforces budgets before provider calls and writes usage to the ledger.
#[derive(Debug, Clone)]
pub struct BudgetGuard {
    /// Ledger that holds reservations and receives usage entries.
    pub ledger: Ledger,
    /// Source of entry timestamps.
    pub clock: Clock,
    /// Monthly budgets (calendar month) by model id, in billionths of a US dollar.
    pub model_limits: HashMap<String, u64>,
    /// Whether a model without a price is called where a budget bounds the call; its cost is in no budget then.
    pub unpriced: Unpriced,
}

/// What is done with a call that a budget bounds, of a model whose price is unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Unpriced {
    /// It is refused: the budget could not be kept.
    #[default]
    Refuse,
    /// It is made, and its cost is in no budget.
    Allow,
}

impl BudgetGuard {
    /// Returns the monthly budget of a model, in billionths of a US dollar.
    pub fn model_limit(&self, model_id: &str) -> Option<u64> {
        self.model_limits.get(model_id).copied()
    }

    /// Reserves the maximum cost of one call by this route.
    ///
    /// # Errors
    /// `BudgetExhausted` when a budget does not cover it, `ModelUnpriced` when its price is unknown, `Unavailable` when the
    /// ledger does not answer.
    pub(super) async fn open_account(
        self: &Arc<Self>,
        spend: &Spend,
        request: Requested<'_>,
        route: &Route,
    ) -> Result<CallAccount, Error> {
        let (max_usage, images) = match request {
            Requested::Chat(request) => (spend.max_usage_at(Some(request), route), 0),
            Requested::Images(request) => (spend.max_usage_of_images(request, route), request.n),
            Requested::Embeddings => (spend.max_usage, 0),
        };
        let hold = self.reserve_cost(spend, (max_usage, images), route).await?;
        let candidate = &route.candidate;
        Ok(CallAccount(Some(OpenCall {
            budgets: Arc::clone(self),
            payer: Payer::of(spend),
            provider_id: candidate.provider_id.clone(),
            model_id: candidate.model_id.clone(),
            price: candidate.call_price(),
            max_usage,
            images,
            choices: match request {
                Requested::Chat(request) => request.choices(),
                Requested::Images(_) | Requested::Embeddings => 1,
            },
            opened: Instant::now(),
            hold,
        })))
    }

    async fn reserve_cost(&self, spend: &Spend, most: (Usage, u32), route: &Route) -> Result<Hold, Error> {
        let candidate = &route.candidate;
        let price = candidate.call_price();
        let owner_limit = spend.owner.as_ref().and_then(|owner| owner.limit);
        let team_limit = spend.team.as_ref().and_then(|team| team.limit);
        let model_limit = self.model_limit(&candidate.model_id);
        let shared = owner_limit.is_some() || team_limit.is_some();
        let budgeted = Ledger::needs_hold(spend.key_limit, model_limit) || shared;
        let bounded = spend.call_limit.is_some() || budgeted;
        if price.is_none() && bounded && self.unpriced == Unpriced::Refuse {
            let message = format!(
                "the model {} at {} has no price, so that the budget of this call cannot be kept; nothing is exhausted. The \
                 operator can set `price` for [[provider]] id = {:?}, or unpriced = \"allow\" under [budget]",
                candidate.model_id, candidate.provider_id, candidate.provider_id
            );
            return Err(Error::new(Kind::ModelUnpriced, message));
        }
        let max_cost = price.map_or(0, |price| price.nanos(most.0, most.1));
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
        if max_cost == 0 || !budgeted {
            return Ok(Hold::none());
        }
        let reserve = Reserve {
            key_id: spend.key_id.clone(),
            key_limit: spend.key_limit,
            owner: spend.owner.as_ref().map(|owner| owner.id.clone()).unwrap_or_default(),
            owner_limit,
            team: spend.team.as_ref().map(|team| team.id.clone()).unwrap_or_default(),
            team_limit,
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

impl Spend {
    /// Returns the upper estimate of the tokens of a call by this route: with its images, whose tokens depend on the
    /// provider, and with the longest answer that is requested of the model or that it can give.
    pub(super) fn max_usage_at(&self, request: Option<&ChatRequest>, route: &Route) -> Usage {
        let Some(request) = request else { return self.max_usage };
        let candidate = &route.candidate;
        let each = request.max_tokens_at(candidate.reasons).or(candidate.max_output);
        let answers = each.map(|tokens| tokens.saturating_mul(request.choices()));
        Usage {
            prompt_tokens: self.max_usage.prompt_tokens.saturating_add(route.image_tokens(request)),
            completion_tokens: answers.unwrap_or(self.max_usage.completion_tokens),
            ..self.max_usage
        }
    }

    /// Returns the usage of the dearest reply with pictures by this route.
    fn max_usage_of_images(&self, request: &ImageRequest, route: &Route) -> Usage {
        let price = route.candidate.image.as_ref().and_then(|image| image.price);
        price.map_or(self.max_usage, |price| price.dearest(self.max_usage.prompt_tokens, request.n))
    }
}

/// What a request asks for, by which its cost is bounded.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Requested<'a> {
    /// A chat, whose images cost differently by provider.
    Chat(&'a ChatRequest),
    /// Pictures.
    Images(&'a ImageRequest),
    /// Vectors.
    #[default]
    Embeddings,
}

/// Tokens of an answer that a provider is taken to have produced in a second before its call was dropped: common models
/// produce 50 to 150.
const TOKENS_PER_SECOND: u128 = 100;

/// Account of one provider call: its reservation, and what is charged if nobody learns what it cost.
///
/// Dropped, as when the client leaves or the time is up, it charges the reserved prompt, which the provider has most
/// likely read, and what may have been produced since, up to the reservation.
#[derive(Debug)]
pub(super) struct CallAccount(Option<OpenCall>);

#[derive(Debug)]
struct OpenCall {
    budgets: Arc<BudgetGuard>,
    payer: Payer,
    provider_id: String,
    model_id: String,
    price: Option<CallPrice>,
    max_usage: Usage,
    /// Pictures that were requested.
    images: u32,
    choices: u32,
    opened: Instant,
    hold: Hold,
}

impl CallAccount {
    /// Returns the account of a call that nobody pays for.
    pub(super) fn none() -> Self {
        Self(None)
    }

    /// Returns the reservation of a call whose cost is known, to be settled with it.
    pub(super) fn answered(mut self) -> Hold {
        self.0.take().map_or_else(Hold::none, |open| open.hold)
    }

    /// Charges a call that was cancelled because another one answered: it was asked the same, so that its provider is
    /// taken to bill an answer of the same length.
    pub(super) fn outrun(mut self, completion_tokens: u32) {
        if let Some(open) = self.0.take() {
            open.charge(completion_tokens);
        }
    }

    /// Charges what a failed call is known to have cost; returns it in billionths of a dollar.
    pub(super) fn billed(mut self, billed: Billed) -> u64 {
        let Some(open) = self.0.take() else { return 0 };
        let usage = billed.usage.unwrap_or_else(|| open.dearest(billed.images));
        open.charge_usage(usage, billed.images)
    }

    /// Charges a call of which nobody learns the cost; returns the estimate in billionths of a dollar.
    pub(super) fn abandon(mut self) -> u64 {
        self.0.take().map_or(0, OpenCall::charge_abandoned)
    }

    /// Releases the reservation of a call that did not run at the provider.
    pub(super) fn not_run(mut self) {
        drop(self.0.take());
    }
}

impl Drop for CallAccount {
    fn drop(&mut self) {
        if let Some(open) = self.0.take() {
            open.charge_abandoned();
        }
    }
}

impl OpenCall {
    /// Charges what a provider may have done until now. Pictures are drawn whether or not somebody waits for them, so that
    /// all of them are charged.
    fn charge_abandoned(self) -> u64 {
        if self.images > 0 {
            let (usage, images) = (self.max_usage, self.images);
            return self.charge_usage(usage, images);
        }
        let produced = self.opened.elapsed().as_millis() * TOKENS_PER_SECOND / 1000 * u128::from(self.choices);
        self.charge(u32::try_from(produced).unwrap_or(u32::MAX))
    }

    fn charge(self, completion_tokens: u32) -> u64 {
        let completion_tokens = completion_tokens.min(self.max_usage.completion_tokens);
        let usage = Usage { completion_tokens, ..self.max_usage };
        self.charge_usage(usage, 0)
    }

    /// Returns the usage of the dearest pictures of this call.
    fn dearest(&self, images: u32) -> Usage {
        match self.price {
            Some(CallPrice::Images(price)) => price.dearest(self.max_usage.prompt_tokens, images),
            _ => self.max_usage,
        }
    }

    fn charge_usage(self, usage: Usage, images: u32) -> u64 {
        let cost_nanos = self.price.map(|price| price.nanos(usage, images));
        let abandoned = Abandoned {
            at: self.budgets.clock.now(),
            key_id: &self.payer.key_id,
            attribution: self.payer.attribution(&self.provider_id),
            model_id: &self.model_id,
            usage,
            images,
            cost_nanos,
        };
        self.budgets.ledger.abandon(&abandoned, self.hold);
        cost_nanos.unwrap_or(0)
    }
}

/// Who pays for a request.
#[derive(Debug)]
struct Payer {
    key_id: String,
    owner: String,
    team: String,
    /// Joined.
    tags: String,
}

impl Payer {
    fn of(spend: &Spend) -> Self {
        let id = |shared: &Option<SharedBudget>| shared.as_ref().map(|shared| shared.id.clone()).unwrap_or_default();
        Self {
            key_id: spend.key_id.clone(),
            owner: id(&spend.owner),
            team: id(&spend.team),
            tags: joined_tags(&spend.tags),
        }
    }

    fn attribution<'a>(&'a self, provider: &'a str) -> Attribution<'a> {
        Attribution { owner: &self.owner, team: &self.team, provider, tags: &self.tags }
    }
}

/// Pending ledger entry of one request. Written as cancelled if dropped without [`close`](Self::close): the caller has
/// disconnected.
#[derive(Debug)]
pub(super) struct PendingEntry {
    payer: Option<(Arc<BudgetGuard>, Payer)>,
    /// Empty until one has answered.
    provider_id: String,
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
        let payer = budgets.zip(spend).map(|(budgets, spend)| (Arc::clone(budgets), Payer::of(spend)));
        let model_id = requested_model.unwrap_or("default").to_owned();
        Self { payer, provider_id: String::new(), model_id, hold: None }
    }

    /// Attributes the entry to the provider and model that answered, and takes over its reservation.
    pub(super) fn answered_by(&mut self, provider_id: &str, model_id: &str, hold: Hold) {
        provider_id.clone_into(&mut self.provider_id);
        model_id.clone_into(&mut self.model_id);
        self.hold = Some(hold);
    }

    pub(super) fn close(self, outcome: Outcome, usage: Usage, cost_nanos: Option<u64>) {
        self.close_with_images(outcome, usage, 0, cost_nanos);
    }

    pub(super) fn close_with_images(mut self, outcome: Outcome, usage: Usage, images: u32, cost_nanos: Option<u64>) {
        self.post(outcome, usage, images, cost_nanos);
    }

    fn post(&mut self, outcome: Outcome, usage: Usage, images: u32, cost_nanos: Option<u64>) {
        let Some((budgets, payer)) = self.payer.take() else { return };
        let at = budgets.clock.now();
        let attribution = payer.attribution(&self.provider_id);
        let (key_id, model_id) = (&payer.key_id, &self.model_id);
        let entry = Entry { at, key_id, attribution, model_id, outcome, usage, images, cost_nanos };
        budgets.ledger.post(&entry, self.hold.take().unwrap_or_else(Hold::none));
    }
}

impl Drop for PendingEntry {
    fn drop(&mut self) {
        self.post(Outcome::Cancelled, Usage::default(), 0, Some(0));
    }
}
