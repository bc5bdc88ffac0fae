//! Scores the knowledge base on the open vignettes of `../shared/medical`, which are no part of the product: emergencies
//! flagged for a right reason, minor cases flagged too high, cancer sites found. Prints a report; fails below the floors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

mod vignettes;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use muster_medical::assess::{Assessment, assess};
use muster_medical::base::Base;
use muster_medical::shared;
use muster_medical::triage::Level;
use vignettes::{Expected, Vignette};

/// Diagnoses and the protocols whose red flags are a right reason to send a patient with it to hospital.
const REASONS: &str = include_str!("right_reasons.toml");

/// Most emergencies that may be missed, of the 31.
const MISSED_AT_MOST: usize = 1;
/// At most one minor case in this many may be sent to hospital.
const MINOR_PER_OVERFLAGGED: usize = 16;
/// Most non-emergencies, of the 7, that may be sent to hospital.
const NON_EMERGENCY_AT_MOST: usize = 1;

#[test]
fn open_vignettes_are_triaged_for_a_right_reason() {
    let Some(vignettes) = vignettes::open() else {
        println!("skipped: ../shared/medical/open_vignettes.json is absent");
        return;
    };
    let base = shared().expect("the knowledge base loads");
    let reasons: BTreeMap<String, Vec<String>> = toml::from_str(REASONS).expect("right_reasons.toml is TOML");
    for protocol in reasons.values().flatten() {
        assert!(protocol == "everyone" || base.protocol(protocol).is_some(), "unknown protocol {protocol}");
    }

    let mut report = String::new();
    let mut tally = Tally::default();
    for vignette in &vignettes {
        let assessment = assess(base, &vignette.input).expect("a vignette has no unreadable value");
        tally.count(base, &reasons, vignette, &assessment, &mut report);
    }
    println!("{report}{tally:#?}");

    assert!(tally.emergencies >= 31, "{} emergencies were read", tally.emergencies);
    assert!(tally.missed.len() <= MISSED_AT_MOST, "missed: {:?}", tally.missed);
    assert!(tally.wrong_reason.is_empty(), "flagged for a wrong reason: {:?}", tally.wrong_reason);
    let minor_at_most = tally.minor / MINOR_PER_OVERFLAGGED;
    assert!(tally.minor_overflagged.len() <= minor_at_most, "over-flagged: {:?}", tally.minor_overflagged);
    assert!(tally.other_overflagged.len() <= NON_EMERGENCY_AT_MOST, "over-flagged: {:?}", tally.other_overflagged);
}

#[derive(Debug, Default)]
struct Tally {
    emergencies: usize,
    missed: Vec<String>,
    wrong_reason: Vec<String>,
    minor: usize,
    minor_overflagged: Vec<String>,
    non_emergencies: usize,
    other_overflagged: Vec<String>,
}

impl Tally {
    fn count(
        &mut self,
        base: &Base,
        reasons: &BTreeMap<String, Vec<String>>,
        vignette: &Vignette,
        assessment: &Assessment,
        report: &mut String,
    ) {
        let flagged = assessment.triage.level >= Some(Level::Emergency);
        let fired = fired(base, assessment);
        let line = format!("{} ({}): {:?} {fired:?}", vignette.id, vignette.diagnosis, assessment.triage.level);
        match vignette.expected {
            Expected::Emergency => {
                self.emergencies += 1;
                let right = reasons.get(&vignette.diagnosis.to_lowercase());
                let right = right.unwrap_or_else(|| panic!("no right reasons for {}", vignette.diagnosis));
                if !flagged {
                    self.missed.push(line.clone());
                } else if !fired.iter().any(|(protocol, _)| right.contains(protocol)) {
                    self.wrong_reason.push(line.clone());
                }
            }
            Expected::Minor => {
                self.minor += 1;
                if flagged {
                    self.minor_overflagged.push(line.clone());
                }
            }
            Expected::NonEmergency => {
                self.non_emergencies += 1;
                if flagged {
                    self.other_overflagged.push(line.clone());
                }
            }
            Expected::Cancer => {}
        }
        writeln!(report, "{:?} {line}", vignette.expected).unwrap();
    }
}

/// Protocols and ids of the fired rules from `emergency` up.
fn fired(base: &Base, assessment: &Assessment) -> Vec<(String, String)> {
    let rules = assessment.triage.fired.iter().filter(|fired| fired.level >= Level::Emergency);
    rules.map(|fired| &base.rules[fired.rule]).map(|rule| (rule.protocol.clone(), rule.id.clone())).collect()
}
