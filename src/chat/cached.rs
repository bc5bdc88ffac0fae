//! Use of the response cache by a request: whether its key or team has one, and what `Cache-Control` says.

use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::http::header::CACHE_CONTROL;
use muster_gateway::{CachePolicy, CacheUse};
use muster_identity::keys::KeyRecord;

use crate::app::App;

/// Header with the use of the cache.
pub const HEADER: &str = "x-muster-cache";

/// Returns what a request may use of the cache; `None` if neither its key nor its team has a time for answers.
pub fn policy(http: &HttpRequest, app: &App, key: &KeyRecord) -> Option<CachePolicy> {
    let team = || key.team.as_deref().and_then(|id| app.keys.team(id));
    let (scope, seconds) = match key.cache_seconds {
        Some(seconds) => (key.id.clone(), seconds),
        None => team().and_then(|team| Some((team.id.clone(), team.cache_seconds?)))?,
    };
    let mut policy =
        CachePolicy { scope, keep_for: Duration::from_secs(seconds), max_age: None, read: true, write: true };
    let values = http.headers().get_all(CACHE_CONTROL).filter_map(|value| value.to_str().ok());
    for directive in values.flat_map(|value| value.split(',')).map(str::trim) {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.to_ascii_lowercase().as_str() {
            "no-store" => (policy.read, policy.write) = (false, false),
            "no-cache" => policy.read = false,
            "max-age" => policy.max_age = value.trim_matches('"').parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    (seconds > 0).then_some(policy)
}

/// Returns the headers of a response: none if the cache was not used.
pub fn headers(used: CacheUse) -> Vec<(&'static str, String)> {
    match used {
        CacheUse::Off => Vec::new(),
        CacheUse::Miss => vec![(HEADER, "miss".to_owned())],
        CacheUse::Hit { age } => vec![(HEADER, "hit".to_owned()), ("age", age.as_secs().to_string())],
    }
}
