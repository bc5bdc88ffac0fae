//! Other levels of care than the one that was found.

use super::words::row_of;
use super::{Check, FactSheet};
use crate::triage::Level;

/// Rows of words that stand for a level.
const NAMES: &[(Level, &[&str])] = &[
    (
        Level::SelfCare,
        &[
            "self care",
            "self_care",
            "at home",
            "stay home",
            "stay at home",
            "home remedy",
            "home remedies",
            "yourself",
            "no doctor",
            "without a doctor",
            "wait and see",
            "pharmacist",
            "pharmacy",
        ],
    ),
    (
        Level::Consultation,
        &[
            "appointment",
            "see a doctor",
            "routine",
            "next week",
            "in a few days",
            "when convenient",
            "family doctor",
            "gp",
        ],
    ),
    (Level::Consultation24, &["within 24 hours", "today", "tomorrow", "within a day"]),
    (Level::Emergency, &["emergency department", "emergency room", "hospital", "emergency"]),
    (Level::EmergencyAmbulance, &["ambulance", "paramedic", "paramedics"]),
];

/// Fails if a text names a level that the facts do not name.
pub(super) fn fails(facts: &FactSheet, text: &str) -> Option<Check> {
    let row = row_of(text);
    let names = |phrases: &[&str]| {
        phrases.iter().any(|phrase| row.contains(&format!(" {phrase} ")) && !facts.known.has_row(phrase))
    };
    let other = NAMES.iter().filter(|(level, _)| Some(*level) != facts.level());
    other.into_iter().any(|(_, phrases)| names(phrases)).then_some(Check::Level)
}
