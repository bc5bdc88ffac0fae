//! q147: authentication abuse.

mod guesses;
mod travel;

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use crate::verdict::{Verdict, listed, score, verdict};

/// Maximum number of events.
const MAX_EVENTS: usize = 100_000;
/// Findings that are listed.
const MAX_LISTED: usize = 500;

#[derive(Debug, Input)]
pub struct Input {
    auth_events: Vec<Event>,
    max_speed_km_h: f64,
    window_min: f64,
}

#[derive(Debug, Input)]
struct Event {
    time: Timestamp,
    user: String,
    ip: String,
    success: bool,
    lat: Option<f64>,
    lon: Option<f64>,
    user_agent: Option<String>,
    token: Option<String>,
}

#[derive(Debug, Output)]
pub struct Output {
    verdict: Verdict,
    score: f64,
    findings: Vec<Finding>,
    users: Vec<User>,
    block: Vec<String>,
}

#[derive(Debug, Output)]
struct User {
    user: String,
    score: f64,
    reasons: Vec<String>,
}

/// A finding with the users and addresses it is about.
struct Sign {
    finding: Finding,
    users: Vec<String>,
    block: Option<String>,
}

impl Sign {
    fn new(rule: &str, severity: Severity, message: String) -> Self {
        Self { finding: crate::verdict::finding(rule, severity, message, None), users: Vec::new(), block: None }
    }

    fn of_user(mut self, user: &str) -> Self {
        self.users.push(user.to_owned());
        self
    }

    fn blocking(mut self, ip: &str) -> Self {
        self.block = Some(ip.to_owned());
        self
    }
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { auth_events: mut events, max_speed_km_h, window_min } = input;
    if events.len() > MAX_EVENTS {
        return Err(Failure::too_large(format!(
            "auth_events has {} events, at most {MAX_EVENTS} are allowed: send a shorter time",
            events.len()
        )));
    }
    for (at, event) in events.iter().enumerate() {
        let outside = event.lat.is_some_and(|lat| !(-90.0..=90.0).contains(&lat))
            || event.lon.is_some_and(|lon| !(-180.0..=180.0).contains(&lon));
        if outside {
            return Err(Failure::invalid(
                &["auth_events", &at.to_string()],
                "lat must be -90 to 90 and lon -180 to 180",
            ));
        }
    }
    // Stable, so that events of one time keep their order.
    events.sort_by_key(|event| event.time);
    let mut signs = guesses::signs(&events, window_min * 60.0);
    signs.extend(travel::signs(&events, max_speed_km_h));
    let mut of_user: BTreeMap<String, Vec<Finding>> = BTreeMap::new();
    let mut block = BTreeSet::new();
    for sign in &signs {
        for user in &sign.users {
            of_user.entry(user.clone()).or_default().push(sign.finding.clone());
        }
        block.extend(sign.block.clone());
    }
    let mut users: Vec<User> = of_user
        .into_iter()
        .map(|(user, findings)| {
            let reasons: BTreeSet<String> = findings.iter().map(|finding| finding.rule.clone()).collect();
            User { user, score: score(&findings), reasons: reasons.into_iter().collect() }
        })
        .collect();
    users.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.user.cmp(&b.user)));
    let findings: Vec<Finding> = signs.into_iter().map(|sign| sign.finding).collect();
    let (verdict, score) = (verdict(&findings), score(&findings));
    Ok(Output { verdict, score, findings: listed(findings, MAX_LISTED, cx), users, block: block.into_iter().collect() })
}

/// Text of a caller in a message.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(60).collect()
}

fn seconds(event: &Event) -> f64 {
    event.time.as_duration().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(second: i64, user: &str, ip: &str, success: bool) -> Event {
        Event {
            time: Timestamp::from_second(1_767_225_600 + second).unwrap(),
            user: user.to_owned(),
            ip: ip.to_owned(),
            success,
            lat: None,
            lon: None,
            user_agent: None,
            token: None,
        }
    }

    fn rules(events: Vec<Event>) -> Vec<String> {
        let output =
            run(Input { auth_events: events, max_speed_km_h: 900.0, window_min: 10.0 }, &Context::default()).unwrap();
        output.findings.into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn each_kind_of_guessing_is_named() {
        let brute = |n: i64| event(n, "root", "203.0.113.5", false);
        assert_eq!(rules((0..12).map(brute).collect()), ["brute-force"]);
        let mut with_success: Vec<Event> = (0..12).map(brute).collect();
        with_success.push(event(13, "root", "203.0.113.5", true));
        assert_eq!(rules(with_success), ["brute-force-success", "brute-force"]);
        let spray = (0..60).map(|n| event(n, &format!("u{}", n % 12), "203.0.113.5", false)).collect();
        assert!(rules(spray).contains(&"password-spraying".to_owned()));
        let stuffing = (0..40).map(|n| event(n, &format!("u{n}"), "203.0.113.5", false)).collect();
        assert!(rules(stuffing).contains(&"credential-stuffing".to_owned()));
        let distributed = (0..12).map(|n| event(n, "root", &format!("203.0.113.{n}"), false)).collect();
        assert!(rules(distributed).contains(&"distributed-brute-force".to_owned()));
    }

    #[test]
    fn an_ordinary_day_is_clear() {
        let mut events = Vec::new();
        for user in 0..200 {
            let name = format!("u{user}");
            events.push(event(user * 97, &name, "198.51.100.7", user % 9 != 0));
            events.push(event(user * 97 + 20, &name, "198.51.100.7", true));
        }
        assert_eq!(rules(events), [""; 0]);
    }

    #[test]
    fn a_token_is_never_shown() {
        let mut events: Vec<Event> = (0..2).map(|n| event(n, "u", &format!("203.0.113.{n}"), true)).collect();
        events.iter_mut().for_each(|event| event.token = Some("s3cr3t-t0ken".to_owned()));
        let output =
            run(Input { auth_events: events, max_speed_km_h: 900.0, window_min: 10.0 }, &Context::default()).unwrap();
        assert!(!output.findings.is_empty() && !format!("{output:?}").contains("s3cr3t"));
    }
}
