//! Guessed passwords: many failures of a user, of an address, or over many addresses (MITRE ATT&CK T1110).

use std::collections::{BTreeMap, HashMap};

use muster_engine::prelude::*;

use super::{Event, Sign, seconds, shown};

/// Failures of a user from one address within the window.
const BRUTE: usize = 10;
/// Users with failures from one address within the window.
const SPRAY: usize = 8;
/// Users from which failures of about one attempt each are called stuffing.
const STUFFING: usize = 25;
/// Addresses with failures of one user within the window.
const DISTRIBUTED: usize = 8;

pub(super) fn signs(events: &[Event], window: f64) -> Vec<Sign> {
    let mut signs = brute(events, window);
    signs.extend(many(events, window, |event| &event.ip, |event| &event.user, by_address));
    signs.extend(many(
        events,
        window,
        |event| &event.user,
        |event| &event.ip,
        |user, peak| {
            (peak.others >= DISTRIBUTED).then(|| {
                let message = format!(
                    "{}: {} failures from {} addresses within the window: require a second factor",
                    shown(user),
                    peak.failures,
                    peak.others
                );
                Sign::new("distributed-brute-force", Severity::High, message).of_user(user)
            })
        },
    ));
    signs
}

/// Failures of one user from one address, and a success after them.
fn brute(events: &[Event], window: f64) -> Vec<Sign> {
    let mut groups: BTreeMap<(&str, &str), Vec<&Event>> = BTreeMap::new();
    for event in events {
        groups.entry((&event.user, &event.ip)).or_default().push(event);
    }
    let mut signs = Vec::new();
    for ((user, ip), events) in groups {
        let failures: Vec<f64> = events.iter().filter(|event| !event.success).map(|event| seconds(event)).collect();
        let (mut from, mut peak, mut end) = (0, 0, f64::NAN);
        for (at, time) in failures.iter().enumerate() {
            while failures.get(from).is_some_and(|first| time - first > window) {
                from += 1;
            }
            if at + 1 - from > peak {
                (peak, end) = (at + 1 - from, *time);
            }
        }
        if peak < BRUTE {
            continue;
        }
        let severity = if peak >= 10 * BRUTE { Severity::Critical } else { Severity::High };
        let message =
            format!("{}: {peak} failures from {} within the window: lock or slow the sign-in", shown(user), shown(ip));
        signs.push(Sign::new("brute-force", severity, message).of_user(user).blocking(ip));
        let after = events.iter().any(|event| event.success && seconds(event) >= end && seconds(event) - end <= window);
        if after {
            let message = format!(
                "{}: a success from {} after {peak} failures: end its sessions and change the password",
                shown(user),
                shown(ip)
            );
            signs.push(Sign::new("brute-force-success", Severity::Critical, message).of_user(user).blocking(ip));
        }
    }
    signs
}

/// The window with the most different others.
struct Peak {
    others: usize,
    failures: usize,
    /// Others with a success in the group, and a failure before.
    successes: Vec<String>,
}

/// Slides a window over the failures of each group and counts the different others in it.
fn many<'a>(
    events: &'a [Event],
    window: f64,
    group: impl Fn(&'a Event) -> &'a str,
    other: impl Fn(&'a Event) -> &'a str,
    judge: impl Fn(&str, &Peak) -> Option<Sign>,
) -> Vec<Sign> {
    let mut groups: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        groups.entry(group(event)).or_default().push(event);
    }
    let mut signs = Vec::new();
    for (name, events) in groups {
        let failures: Vec<(f64, &str)> =
            events.iter().filter(|event| !event.success).map(|event| (seconds(event), other(event))).collect();
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut peak = Peak { others: 0, failures: 0, successes: Vec::new() };
        let mut from = 0;
        for (at, (time, who)) in failures.iter().enumerate() {
            *counts.entry(who).or_default() += 1;
            while let Some((first, old)) = failures.get(from).filter(|(first, _)| time - first > window) {
                let _ = first;
                if let Some(count) = counts.get_mut(old) {
                    *count -= 1;
                    if *count == 0 {
                        counts.remove(old);
                    }
                }
                from += 1;
            }
            if counts.len() > peak.others {
                (peak.others, peak.failures) = (counts.len(), at + 1 - from);
            }
        }
        let failed: std::collections::BTreeSet<&str> = failures.iter().map(|(_, who)| *who).collect();
        let succeeded: std::collections::BTreeSet<&str> = events
            .iter()
            .filter(|event| event.success)
            .map(|event| other(event))
            .filter(|who| failed.contains(who))
            .collect();
        peak.successes = succeeded.into_iter().map(str::to_owned).collect();
        signs.extend(judge(name, &peak));
    }
    signs
}

/// One address that tries many users: each with one or two passwords (stuffing of stolen pairs) or with a few (spraying).
/// A shared address of an office has successes of most of its users.
fn by_address(ip: &str, peak: &Peak) -> Option<Sign> {
    if peak.others < SPRAY || peak.successes.len() * 2 > peak.others {
        return None;
    }
    let each = peak.failures as f64 / peak.others as f64;
    let stuffing = peak.others >= STUFFING && each < 1.5;
    let rule = if stuffing { "credential-stuffing" } else { "password-spraying" };
    let critical = !peak.successes.is_empty() || peak.others >= 4 * STUFFING;
    let severity = if critical { Severity::Critical } else { Severity::High };
    let message = format!(
        "{}: failures of {} users within the window, {} of them succeeded: block it",
        shown(ip),
        peak.others,
        peak.successes.len()
    );
    let mut sign = Sign::new(rule, severity, message).blocking(ip);
    sign.users = peak.successes.clone();
    Some(sign)
}
