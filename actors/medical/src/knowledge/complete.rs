//! What every record of the knowledge base must have.

use std::collections::BTreeSet;

use muster_medical::base::{Base, Protocol};
use muster_medical::triage::Level;

/// Numbers of protocols and specialties that the interface promises.
const PROTOCOLS: usize = 73;
const SPECIALTIES: usize = 54;
/// Longest statement.
const MAX_CHARACTERS: usize = 200;

/// Returns what is missing, with the record.
pub(super) fn lacking(base: &Base) -> Vec<String> {
    let mut found = Vec::new();
    for (what, count, least) in
        [("protocols", base.protocols.len(), PROTOCOLS), ("specialties", base.specialties.len(), SPECIALTIES)]
    {
        if count < least {
            found.push(format!("{count} {what} instead of {least}"));
        }
    }
    for protocol in &base.protocols {
        let id = &protocol.data.id;
        found.extend(parts(base, protocol).into_iter().map(|what| format!("{id}: {what}")));
        found.extend(statements(base, protocol).into_iter().map(|what| format!("{id}: {what}")));
    }
    for rule in &base.rules {
        for (what, missing) in [
            ("has no message", rule.message.is_empty()),
            ("has no locator", rule.locator.is_empty()),
            ("has no two positive examples", rule.positive.len() < 2),
            ("has no two negative examples", rule.negative.len() < 2),
            ("has a message of more than 200 characters", rule.message.chars().count() > MAX_CHARACTERS),
        ] {
            if missing {
                found.push(format!("rule {}: {what}", rule.id));
            }
        }
    }
    found.extend(unowned(base).map(|id| format!("specialty {id}: no protocol belongs to it")));
    for source in base.sources.values().filter(|source| source.year == 0 || source.url.is_empty()) {
        found.push(format!("source {}: has no year or no address", source.id));
    }
    found
}

fn unowned(base: &Base) -> impl Iterator<Item = &str> {
    let owned: BTreeSet<&str> = base
        .protocols
        .iter()
        .flat_map(|protocol| std::iter::once(&protocol.data.specialty).chain(&protocol.data.also_specialties))
        .map(String::as_str)
        .collect();
    base.specialties.iter().map(|specialty| specialty.id.as_str()).filter(move |id| !owned.contains(id))
}

fn parts(base: &Base, protocol: &Protocol) -> Vec<&'static str> {
    let data = &protocol.data;
    let ambulance = protocol
        .rules
        .iter()
        .filter_map(|rule| base.rules.get(*rule))
        .any(|rule| rule.protocol == data.id && rule.level == Level::EmergencyAmbulance);
    let immediate = data.actions.iter().any(|action| action.urgency == "immediate");
    let checks = [
        ("has fewer than four triggers", data.triggers.len() < 4),
        ("has no red flag", protocol.rules.is_empty()),
        ("has fewer than three actions", data.actions.len() < 3),
        ("has no immediate action although a rule calls for an ambulance", ambulance && !immediate),
        (
            "has no contraindications and does not say so",
            data.contraindications.is_empty() && !data.contraindications_none,
        ),
        ("has no follow-up", data.follow_up.is_empty()),
        ("has no safety net", data.safety_net.is_empty()),
        ("has fewer than two positive examples", data.examples.positive.len() < 2),
        ("has fewer than two negative examples", data.examples.negative.len() < 2),
        ("has no source", data.sources.is_empty()),
    ];
    checks.into_iter().filter(|(_, missing)| *missing).map(|(what, _)| what).collect()
}

/// Statements without a known source, a locator or a fitting length.
fn statements(base: &Base, protocol: &Protocol) -> Vec<String> {
    let data = &protocol.data;
    let actions = data.actions.iter().map(|action| (&action.text, &action.source, &action.locator));
    let others = data.contraindications.iter().chain(&data.follow_up).chain(&data.safety_net);
    let mut found = Vec::new();
    for (text, source, locator) in actions.chain(others.map(|other| (&other.text, &other.source, &other.locator))) {
        let begins: String = text.chars().take(40).collect();
        if !base.sources.contains_key(source) {
            found.push(format!("the source {source} of \"{begins}\" is unknown"));
        }
        if locator.is_empty() {
            found.push(format!("\"{begins}\" has no locator"));
        }
        if !(1..=MAX_CHARACTERS).contains(&text.chars().count()) {
            found.push(format!("\"{begins}\" does not have 1 to {MAX_CHARACTERS} characters"));
        }
    }
    found
}
