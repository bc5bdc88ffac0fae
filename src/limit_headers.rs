//! Rate-limit headers of every limited response, whatever its status, and the headers that name who answered.

use actix_web::HttpMessage;
use actix_web::dev::ServiceResponse;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use muster_core::Millis;
use muster_gateway::CacheUse;
use muster_limits::{LimitUnit, LimitView, RuleView};

use crate::chat::{AnsweredBy, cached};
use crate::error::Dialect;

/// The limits that a request was checked against, kept until its response is sent.
#[derive(Debug, Clone)]
pub struct Judged {
    pub category: &'static str,
    pub view: LimitView,
    /// Unix time of the decision, in seconds.
    pub at: u64,
}

/// Adds the headers to the response of a limited request.
pub fn add<B>(response: &mut ServiceResponse<B>, dialect: Dialect) {
    let answered = response.request().extensions().get::<AnsweredBy>().cloned();
    for (name, value) in answered.iter().flat_map(AnsweredBy::headers) {
        put(response.headers_mut(), name, value.to_owned());
    }
    let cache = response.request().extensions().get::<CacheUse>().copied().unwrap_or_default();
    for (name, value) in cached::headers(cache) {
        put(response.headers_mut(), name, value);
    }
    let judged = response.request().extensions().get::<Judged>().cloned();
    let Some(judged) = judged else { return };
    let headers = response.headers_mut();
    if let Some(tightest) = judged.view.requests().or_else(|| judged.view.tokens()) {
        put(headers, "x-ratelimit-limit", tightest.rule.limit.to_string());
        put(headers, "x-ratelimit-remaining", tightest.remaining.to_string());
        put(headers, "x-ratelimit-reset", tightest.reset.to_string());
    }
    if dialect == Dialect::B {
        openai(headers, "requests", judged.view.requests(), judged.at);
        openai(headers, "tokens", judged.view.tokens(), judged.at);
    }
    if dialect == Dialect::Messages {
        anthropic(headers, "requests", judged.view.requests());
        anthropic(headers, "tokens", judged.view.tokens());
    }
    ietf(headers, &judged);
}

/// Headers for OpenAI's clients; the reset is a duration.
fn openai(headers: &mut HeaderMap, what: &str, view: Option<&RuleView>, now: u64) {
    let Some(view) = view else { return };
    put(headers, &format!("x-ratelimit-limit-{what}"), view.rule.limit.to_string());
    put(headers, &format!("x-ratelimit-remaining-{what}"), view.remaining.to_string());
    put(headers, &format!("x-ratelimit-reset-{what}"), format!("{}s", view.reset.saturating_sub(now)));
}

/// Headers for Anthropic's clients; the reset is a time.
fn anthropic(headers: &mut HeaderMap, what: &str, view: Option<&RuleView>) {
    let Some(view) = view else { return };
    put(headers, &format!("anthropic-ratelimit-{what}-limit"), view.rule.limit.to_string());
    put(headers, &format!("anthropic-ratelimit-{what}-remaining"), view.remaining.to_string());
    let reset = Millis(view.reset.saturating_mul(1000)).rfc3339();
    put(headers, &format!("anthropic-ratelimit-{what}-reset"), reset);
}

/// `RateLimit-Policy` and `RateLimit` of draft-ietf-httpapi-ratelimit-headers-10.
fn ietf(headers: &mut HeaderMap, judged: &Judged) {
    let (mut policies, mut limits) = (Vec::new(), Vec::new());
    for view in &judged.view.rules {
        let name = format!("{}-{}", judged.category, view.rule.name());
        let unit = if view.rule.unit == LimitUnit::Tokens { ";qu=\"tokens\"" } else { "" };
        policies.push(format!("\"{name}\";q={}{unit};w={}", view.rule.limit, view.rule.window.length().as_secs()));
        limits.push(format!("\"{name}\";r={};t={}", view.remaining, view.more_in));
    }
    if !policies.is_empty() {
        put(headers, "ratelimit-policy", policies.join(", "));
        put(headers, "ratelimit", limits.join(", "));
    }
}

fn put(headers: &mut HeaderMap, name: &str, value: String) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(&value)) {
        headers.insert(name, value);
    }
}
