//! Rate limiting: one decision per request covers all its limits in one message.

use std::sync::Arc;
use std::time::Duration;

use actix_web::{HttpMessage, HttpRequest, web};
use muster_core::{Error, Kind};
use muster_identity::LoginExcess;
use muster_identity::keys::{KeyRecord, PlanA, PlanB};
use muster_limits::{
    AdmissionPart, Admit, BucketKey, Category, Decision, Estimate, LimitUnit, LimitView, PlanLimits, Quota,
    RateLimiter, Reservation as Reserved, Rule, RuleView, Subject, Window,
};

use super::{Caller, Meter, client_address};
use crate::app::App;
use crate::connections::network;
use crate::error::HttpError;
use crate::limit_headers::Judged;

/// Time after the deadline of a request at which the reservation of a crashed handler is released.
const GRACE: Duration = Duration::from_secs(10);
/// Time for which a request is held that costs no tokens.
const COUNTED: Duration = Duration::from_secs(1);

/// Reserved tokens of a request, to be settled with the actual usage.
///
/// If dropped before the provider chain was called, the reservation is released. If dropped later, as when the client
/// disconnects, the prompt stays charged, because a provider has most likely read it.
#[derive(Debug)]
pub struct Reservation {
    reserved: Option<(Reserved, RateLimiter)>,
    /// Largest number of answer tokens that the reservation covers; `None` if the plan does not count tokens.
    pub answer_bound: Option<u32>,
    prompt: u64,
    /// Tokens that a drop settles with.
    spent_if_dropped: u64,
}

impl Reservation {
    /// Returns the estimate of a request whose tokens no rule counts.
    pub(crate) fn uncounted(estimate: Estimate) -> Self {
        Self { reserved: None, answer_bound: None, prompt: estimate.prompt, spent_if_dropped: 0 }
    }

    /// Estimated tokens of the prompt.
    pub fn prompt(&self) -> u32 {
        u32::try_from(self.prompt).unwrap_or(u32::MAX)
    }

    /// Marks that a provider may read the prompt from now on.
    #[must_use]
    pub fn sent(mut self) -> Self {
        self.spent_if_dropped = self.prompt;
        self
    }

    /// Replaces the estimate by the actual usage.
    pub fn settle(mut self, tokens: u32) {
        self.finish(tokens.into());
    }

    fn finish(&mut self, tokens: u64) {
        if let Some((reserved, limiter)) = self.reserved.take() {
            limiter.settle(reserved, tokens);
        }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.finish(self.spent_if_dropped);
    }
}

/// The bucket and the rules of a caller's requests.
#[derive(Debug, Clone)]
pub(super) struct Metering {
    key: BucketKey,
    rules: Arc<[Rule]>,
}

impl Metering {
    /// Returns those of the routes with this meter.
    pub(super) fn of(app: &App, caller: &Caller, meter: Meter) -> Self {
        let key = BucketKey { subject: Subject::principal(&caller.key.id), category: category(meter) };
        Self { key, rules: rules(app, &caller.key, meter) }
    }

    /// Whether a rule counts tokens.
    pub(super) fn counts_tokens(&self) -> bool {
        self.rules.iter().any(|rule| rule.unit == LimitUnit::Tokens)
    }
}

/// Counts a part of a caller's request, and reserves its tokens if a rule counts them.
pub(super) async fn admit(
    app: &web::Data<App>,
    request: &HttpRequest,
    Metering { key, rules }: Metering,
    part: AdmissionPart,
    estimate: Estimate,
) -> Result<Reservation, HttpError> {
    let reserved = decide(app, request, key, rules, part, estimate).await?;
    let answer = |reserved: &Reserved| reserved.tokens().saturating_sub(estimate.prompt).max(1);
    let answer_bound = reserved.as_ref().map(|reserved| u32::try_from(answer(reserved)).unwrap_or(u32::MAX));
    Ok(Reservation {
        reserved: reserved.map(|reserved| (reserved, app.limiter.clone())),
        answer_bound,
        prompt: estimate.prompt,
        spent_if_dropped: 0,
    })
}

/// Counts a request without a key by its client address.
pub async fn admit_address(app: &web::Data<App>, request: &HttpRequest) -> Result<(), HttpError> {
    let key = BucketKey { subject: Subject::anonymous(&address_name(app, request)), category: Category::Health };
    let rules = app.live().config.limits.unauthenticated.per_minute();
    decide(app, request, key, rules, AdmissionPart::Whole, Estimate::default()).await.map(drop)
}

/// Counts a login attempt by address and e-mail, or by device and e-mail if the account has logged in with that device
/// before. Names that no account can have are counted together.
pub async fn admit_login(
    app: &web::Data<App>,
    request: &HttpRequest,
    device: Option<&str>,
    email: &str,
) -> Result<(), HttpError> {
    let source = device.map_or_else(|| address_name(app, request), |device| format!("device {device}"));
    let name = if email.len() <= LONGEST_NAME { email } else { "" };
    let key = BucketKey { subject: Subject::anonymous(&format!("{source} {name}")), category: Category::Login };
    let rules = app.live().config.limits.login.per_minute();
    decide(app, request, key, rules, AdmissionPart::Whole, Estimate::default()).await.map(drop)
}

/// Longest e-mail address, in bytes (RFC 5321, section 4.5.3.1.3), with space around it.
const LONGEST_NAME: usize = 300;

/// The subject that a client without a key is counted by: its network.
pub fn address_name(app: &App, request: &HttpRequest) -> String {
    client_address(app, request).map_or_else(|| "unknown".to_owned(), |address| network(address).to_string())
}

/// The refusal of a login by the limits of addresses, networks and accounts, with the headers of a limited response.
pub fn login_refused(app: &App, request: &HttpRequest, excess: LoginExcess) -> HttpError {
    let at = app.clock.now();
    let wait = Duration::from_secs(excess.wait.as_millis().div_ceil(1000) as u64);
    let reset = at.plus(wait).seconds();
    let rule = Rule::requests(excess.limit, Window::Minute);
    let view = LimitView { rules: vec![RuleView { rule, remaining: 0, reset, more_in: wait.as_secs() }] };
    request.extensions_mut().insert(Judged { category: Category::Login.name(), view, at: at.seconds() });
    HttpError(excess.into())
}

async fn decide(
    app: &web::Data<App>,
    request: &HttpRequest,
    key: BucketKey,
    rules: Arc<[Rule]>,
    part: AdmissionPart,
    estimate: Estimate,
) -> Result<Option<Reserved>, HttpError> {
    if rules.is_empty() {
        return Ok(None);
    }
    let category = key.category.name();
    let live = app.live();
    let chain = &live.config.chain;
    let hold_for = Duration::from_millis(chain.deadline_ms + chain.stream_limit_ms) + GRACE;
    let note = |view: LimitView| {
        let judged = Judged { category, view, at: app.clock.now().seconds() };
        request.extensions_mut().insert(judged);
    };
    match app.limiter.admit(Admit { key, rules, part, estimate, hold_for }).await? {
        Decision::Admitted { view, reservation } => {
            note(view);
            Ok(reservation)
        }
        Decision::Refused { view, retry_after, which } => {
            note(view);
            Err(HttpError(refused(which, retry_after)))
        }
    }
}

/// Counts a request that comes by another way than HTTP and costs no tokens, in the same bucket as those that do.
pub(crate) async fn count(
    limiter: &RateLimiter,
    principal: &str,
    category: Category,
    rules: Arc<[Rule]>,
) -> Result<(), Error> {
    if rules.is_empty() {
        return Ok(());
    }
    let key = BucketKey { subject: Subject::principal(principal), category };
    let request = Admit { key, rules, part: AdmissionPart::Whole, estimate: Estimate::default(), hold_for: COUNTED };
    match limiter.admit(request).await? {
        Decision::Admitted { .. } => Ok(()),
        Decision::Refused { which, retry_after, .. } => Err(refused(which, retry_after)),
    }
}

/// The refusal of a request whose limit is reached.
fn refused(which: Rule, retry_after: Duration) -> Error {
    let unit = match which.unit {
        LimitUnit::Requests => "requests",
        LimitUnit::Tokens => "tokens",
    };
    let message = format!(
        "the limit of {} {unit} per {} is reached: try again in {} s",
        which.limit,
        window_name(which.window),
        retry_after.as_secs()
    );
    Error::new(Kind::RateLimited, message).retry_in(retry_after)
}

fn window_name(window: Window) -> &'static str {
    match window {
        Window::Minute => "minute",
        Window::Hour => "hour",
        Window::Day => "day",
    }
}

fn category(meter: Meter) -> Category {
    match meter {
        Meter::PlanA => Category::PlanA,
        Meter::PlanB => Category::PlanB,
        Meter::Status => Category::Health,
        Meter::Chat => Category::Chat,
        Meter::Agents => Category::Agents,
        Meter::Control => Category::Control,
        Meter::Engines => Category::Engines,
        Meter::Memory => Category::Memory,
        Meter::Medical => Category::Medical,
        Meter::Person => Category::Person,
        Meter::Device => Category::Device,
    }
}

/// Returns the rules for a key's request: those of its plan, overridden by the key's own limits.
fn rules(app: &App, key: &KeyRecord, meter: Meter) -> Arc<[Rule]> {
    let live = app.live();
    let (limits, own) = (&live.config.limits, own(key));
    match meter {
        Meter::Status => limits.agent.health.per_minute(),
        Meter::Chat => limits.agent.chat.per_minute(),
        Meter::Agents => limits.agent.agents.per_minute(),
        Meter::Control => limits.agent.control.per_minute(),
        Meter::Engines => limits.agent.engines.per_minute(),
        Meter::Memory => limits.agent.memory.per_minute(),
        Meter::Medical => limits.medical.per_minute(),
        Meter::Person => limits.person.per_minute(),
        Meter::Device => limits.device.per_minute(),
        Meter::PlanA => {
            let plan = match key.plan_a {
                PlanA::Free => &limits.plan_a.free,
                PlanA::Starter => &limits.plan_a.starter,
                PlanA::Pro => &limits.plan_a.pro,
                PlanA::Enterprise => &limits.plan_a.enterprise,
            };
            PlanLimits { requests_per_hour: None, tokens_per_minute: None, ..own }.over(plan).rules()
        }
        Meter::PlanB => {
            let plan = match key.plan_b {
                PlanB::Free => &limits.plan_b.free,
                PlanB::Pro => &limits.plan_b.pro,
                PlanB::Enterprise => &limits.plan_b.enterprise,
            };
            PlanLimits { requests_per_day: None, tokens_per_day: None, ..own }.over(plan).rules()
        }
    }
}

/// Returns the key's own limits.
fn own(key: &KeyRecord) -> PlanLimits {
    let own = key.limits.clone().unwrap_or_default();
    let quota = |limit: Option<u64>| limit.map(Quota::Limited);
    PlanLimits {
        requests_per_minute: quota(own.requests_per_minute),
        requests_per_hour: quota(own.requests_per_hour),
        requests_per_day: quota(own.requests_per_day),
        tokens_per_minute: quota(own.tokens_per_minute),
        tokens_per_hour: None,
        tokens_per_day: quota(own.tokens_per_day),
    }
}
