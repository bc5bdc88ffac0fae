//! Accounts in use by others: impossible travel, shared tokens, new devices, unusual hours (T1078, T1550).

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_kernel_earth::{LatLon, inverse};

use super::{Event, Sign, seconds, shown};

/// Distance below which two places of address tables may be one, in kilometres.
const NEAR_KM: f64 = 100.0;
/// Successes from which the habits of a user are known.
const HABIT: usize = 20;

pub(super) fn signs(events: &[Event], max_speed: f64) -> Vec<Sign> {
    let mut of_user: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events.iter().filter(|event| event.success) {
        of_user.entry(&event.user).or_default().push(event);
    }
    let mut signs = Vec::new();
    for (user, events) in of_user {
        signs.extend(travel(user, &events, max_speed));
        signs.extend(habits(user, &events));
    }
    signs.extend(tokens(events));
    signs
}

fn place(event: &Event) -> Option<LatLon> {
    Some(LatLon::new(event.lat?, event.lon?))
}

/// The fastest journey between successive sign-ins.
fn travel(user: &str, events: &[&Event], max_speed: f64) -> Option<Sign> {
    let placed: Vec<(&Event, LatLon)> = events.iter().filter_map(|event| Some((*event, place(event)?))).collect();
    let mut fastest: Option<(f64, f64, f64)> = None;
    for pair in placed.windows(2) {
        let [(before, from), (after, to)] = pair else { continue };
        let km = inverse(*from, *to).distance / 1_000.0;
        let hours = (seconds(after) - seconds(before)) / 3_600.0;
        // A minute is the least time that clocks resolve.
        let speed = km / hours.max(1.0 / 60.0);
        if km > NEAR_KM && speed > max_speed && fastest.is_none_or(|(most, ..)| speed > most) {
            fastest = Some((speed, km, hours));
        }
    }
    fastest.map(|(speed, km, hours)| {
        let message = format!(
            "{}: {km:.0} km in {hours:.2} h, {speed:.0} km/h: confirm with the user, end the sessions",
            shown(user)
        );
        Sign::new("impossible-travel", Severity::Critical, message).of_user(user)
    })
}

/// New devices and hours of a user with habits.
fn habits(user: &str, events: &[&Event]) -> Vec<Sign> {
    let mut signs = Vec::new();
    let (mut agents, mut hours, mut seen) = (BTreeSet::new(), [0_usize; 24], 0);
    let (mut device, mut off) = (false, false);
    for event in events {
        let hour = (event.time.as_second().rem_euclid(86_400) / 3_600) as usize;
        if seen >= HABIT {
            device |= event.user_agent.as_ref().is_some_and(|agent| !agents.is_empty() && !agents.contains(agent));
            let near = (0..24).filter(|other| hours.get(*other).is_some_and(|count| *count > 0)).any(|other| {
                let apart = hour.abs_diff(other);
                apart.min(24 - apart) <= 3
            });
            off |= !near;
        }
        agents.extend(event.user_agent.clone());
        if let Some(count) = hours.get_mut(hour) {
            *count += 1;
        }
        seen += 1;
    }
    if device {
        signs.push(
            Sign::new("new-device", Severity::Low, format!("{}: a device that was not seen before", shown(user)))
                .of_user(user),
        );
    }
    if off {
        signs.push(
            Sign::new(
                "off-hours",
                Severity::Low,
                format!("{}: a sign-in more than 3 h from all usual hours", shown(user)),
            )
            .of_user(user),
        );
    }
    signs
}

/// Tokens that several users or addresses bring.
fn tokens(events: &[Event]) -> Vec<Sign> {
    let mut of_token: BTreeMap<&str, Vec<&Event>> = BTreeMap::new();
    for event in events {
        if let Some(token) = event.token.as_deref().filter(|token| !token.is_empty()) {
            of_token.entry(token).or_default().push(event);
        }
    }
    let mut signs = Vec::new();
    for events in of_token.into_values() {
        let users: BTreeSet<&str> = events.iter().map(|event| event.user.as_str()).collect();
        let ips: BTreeSet<&str> = events.iter().map(|event| event.ip.as_str()).collect();
        let agents: BTreeSet<&str> = events.iter().filter_map(|event| event.user_agent.as_deref()).collect();
        let (severity, what) = match (users.len(), ips.len(), agents.len()) {
            (2.., ..) => (Severity::Critical, format!("{} users bring the same token", users.len())),
            (_, 2.., 2..) => {
                (Severity::High, format!("one token from {} addresses and {} devices", ips.len(), agents.len()))
            }
            (_, 2.., _) => (Severity::Medium, format!("one token from {} addresses", ips.len())),
            _ => continue,
        };
        let named = users.iter().take(3).map(|user| shown(user)).collect::<Vec<_>>().join(", ");
        let mut sign = Sign::new("token-reuse", severity, format!("{named}: {what}: revoke it"));
        sign.users = users.into_iter().map(str::to_owned).collect();
        signs.push(sign);
    }
    signs
}
