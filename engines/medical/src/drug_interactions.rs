//! q228: interactions in a list of medicines.
//!
//! The list of pairs is short: what is not in it is reported as not in it, never as safe.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;

use crate::support::{Known, unreviewed};

const DRUGS: &str = include_str!("../data/drugs.csv");
const PAIRS: &str = include_str!("../data/interactions.csv");
const MAX_MEDICATIONS: usize = 100;
const MAX_LETTERS: usize = 300;

/// Other names of ingredients.
const NAMES: [(&str, &str); 14] = [
    ("meperidine", "pethidine"),
    ("rifampin", "rifampicin"),
    ("methylergonovine", "methylergometrine"),
    ("ergonovine", "ergometrine"),
    ("lisdexamphetamine", "lisdexamfetamine"),
    ("amfetamine", "amphetamine"),
    ("dexamfetamine", "dextroamphetamine"),
    ("dexamphetamine", "dextroamphetamine"),
    ("methylthioninium chloride", "methylene blue"),
    ("st johns wort", "st john's wort"),
    ("st. john's wort", "st john's wort"),
    ("hypericum", "st john's wort"),
    ("levomethadyl", "levomethadyl acetate"),
    ("6-mercaptopurine", "mercaptopurine"),
];
/// Classes of which two members are a duplicate.
const DUPLICATES: [&str; 9] = [
    "amphetamine_derivative",
    "maoi",
    "ppi",
    "serotonin_reuptake_inhibitor",
    "opioid_serotonergic",
    "tricyclic",
    "statin_cyp3a4",
    "ergot",
    "triptan",
];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    medications: Vec<String>,
    conditions: Vec<String>,
    egfr_ml_min_1_73m2: Option<f64>,
    qt_ms: Option<f64>,
    heart_rate_per_min: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    interactions: Vec<Interaction>,
    duplicates: Vec<Vec<String>>,
    warnings: Vec<Warning>,
    unknown: Vec<String>,
    qtc_ms: BTreeMap<&'static str, f64>,
}

#[derive(Output)]
struct Interaction {
    a: &'static str,
    b: &'static str,
    severity: Severity,
    mechanism: &'static str,
    action: &'static str,
    source: &'static str,
}

#[derive(Words, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Contraindicated,
    Major,
    Moderate,
}

#[derive(Output)]
struct Warning {
    drug: String,
    reason: String,
    source: &'static str,
}

/// An ingredient with its classes.
#[derive(Clone, Copy)]
struct Drug {
    name: &'static str,
    classes: &'static str,
}

impl Drug {
    fn is(self, class: &str) -> bool {
        self.classes.split(' ').any(|own| own == class)
    }
}

/// Checks the list.
///
/// # Errors
/// `TooLarge`, `Invalid` for an ECG that is not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    for (field, list) in [("medications", &input.medications), ("conditions", &input.conditions)] {
        if list.len() > MAX_MEDICATIONS || list.iter().any(|name| name.len() > MAX_LETTERS) {
            let text = format!("{field}: more than {MAX_MEDICATIONS} entries, or one of more than {MAX_LETTERS} bytes");
            return Err(Failure::too_large(text));
        }
    }
    let (mut taken, mut unknown): (Vec<Drug>, Vec<String>) = (Vec::new(), Vec::new());
    let mut named: BTreeMap<&'static str, usize> = BTreeMap::new();
    for medication in input.medications {
        let found = ingredients(&medication);
        if found.is_empty() {
            unknown.push(medication);
        }
        for drug in found {
            let count = named.entry(drug.name).or_default();
            *count += 1;
            if *count == 1 {
                taken.push(drug);
            }
        }
    }
    let interactions = interactions(&taken);
    limits(&taken, &unknown, &interactions, cx);
    let qtc = qtc(input.qt_ms, input.heart_rate_per_min, cx)?;
    Ok(Output {
        duplicates: duplicates(&taken, &named),
        warnings: warnings(&taken, &input.conditions, input.egfr_ml_min_1_73m2, &qtc, cx),
        interactions,
        unknown,
        qtc_ms: qtc,
    })
}

fn drugs() -> impl Iterator<Item = Drug> {
    DRUGS.lines().skip(2).filter_map(|line| line.split_once(',')).map(|(name, classes)| Drug { name, classes })
}

/// The ingredients that a text names, as whole words, in the order of the table: strength and form are passed over.
fn ingredients(text: &str) -> Vec<Drug> {
    let mut text = format!(" {} ", words(text));
    for (other, name) in NAMES {
        text = text.replace(&format!(" {} ", words(other)), &format!(" {} ", words(name)));
    }
    drugs().filter(|drug| text.contains(&format!(" {} ", words(drug.name)))).collect()
}

/// Letters and digits in lower case, with one space between words.
fn words(text: &str) -> String {
    let lower = text.to_lowercase().replace(['\'', '’'], "");
    let words = lower.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ")
}

fn interactions(taken: &[Drug]) -> Vec<Interaction> {
    let mut found: Vec<Interaction> = Vec::new();
    for line in PAIRS.lines().skip(2) {
        let mut cells = line.split(';');
        let mut cell = || cells.next().unwrap_or_default();
        let [object, precipitant, severity, mechanism, action, source] = std::array::from_fn(|_| cell());
        let severity = Severity::ALL.iter().find(|(_, word)| *word == severity);
        let severity = severity.map_or(Severity::Major, |(severity, _)| *severity);
        for (at, a) in taken.iter().enumerate() {
            for (other, b) in taken.iter().enumerate() {
                let same = object == precipitant && other < at;
                if at == other || same || !a.is(object) || !b.is(precipitant) {
                    continue;
                }
                let pair = |i: &Interaction| (i.a == a.name && i.b == b.name) || (i.a == b.name && i.b == a.name);
                // Of two rules for one pair of one mechanism the graver stands first in the table.
                if !found.iter().any(|i| pair(i) && i.mechanism == mechanism) {
                    found.push(Interaction { a: a.name, b: b.name, severity, mechanism, action, source });
                }
            }
        }
    }
    found.sort_by_key(|interaction| interaction.severity);
    found
}

/// What the list does not say.
fn limits(taken: &[Drug], unknown: &[String], found: &[Interaction], cx: &Context) {
    let pairs: BTreeSet<[&str; 2]> = found
        .iter()
        .map(|interaction| {
            let mut pair = [interaction.a, interaction.b];
            pair.sort_unstable();
            pair
        })
        .collect();
    let all = taken.len() * taken.len().saturating_sub(1) / 2;
    let open = all.saturating_sub(pairs.len());
    cx.warn(format!(
        "not_in_list: {open} pairs of recognised medicines and {} medicines are not in this list; that says nothing of \
         whether they can be combined: ask a pharmacist or a full interaction source",
        unknown.len()
    ));
    unreviewed(cx, "severity, mechanism and action are not part of the published list");
}

fn duplicates(taken: &[Drug], named: &BTreeMap<&'static str, usize>) -> Vec<Vec<String>> {
    let twice = named.iter().filter(|(_, count)| **count > 1).map(|(name, count)| vec![(*name).to_owned(); *count]);
    let mut found: Vec<Vec<String>> = twice.collect();
    for class in DUPLICATES {
        let members: Vec<String> =
            taken.iter().filter(|drug| drug.is(class)).map(|drug| drug.name.to_owned()).collect();
        if members.len() > 1 {
            found.push(members);
        }
    }
    found
}

fn warnings(
    taken: &[Drug],
    conditions: &[String],
    egfr: Option<f64>,
    qtc: &BTreeMap<&'static str, f64>,
    cx: &Context,
) -> Vec<Warning> {
    let mut found = Vec::new();
    let long = qtc.get("fridericia").filter(|ms| **ms >= 500.0);
    let at_risk = |condition: &&String| {
        let condition = words(condition);
        ["long qt", "torsade", "hypokalaemia", "hypokalemia"].iter().any(|risk| condition.contains(risk))
    };
    let known = conditions.iter().find(at_risk);
    let others = conditions.iter().filter(|condition| !at_risk(condition)).count();
    if others > 0 {
        cx.warn(format!(
            "not_in_list: {others} conditions are not in this list, which has long QT, torsade and hypokalaemia"
        ));
    }
    for drug in taken.iter().filter(|drug| drug.is("qt_prolonging")) {
        let mut push = |reason: String| {
            found.push(Warning { drug: drug.name.to_owned(), reason, source: "CredibleMeds, known risk (2013)" });
        };
        if let Some(ms) = long {
            push(format!("prolongs QT, and QTc (Fridericia) is {ms:.0} ms, 500 or more"));
        }
        if let Some(condition) = known {
            push(format!("prolongs QT, and the condition is a risk of torsade de pointes: {condition}"));
        }
    }
    if let (Some(egfr), Some(drug)) = (egfr, taken.iter().find(|drug| drug.is("metformin")))
        && egfr < 30.0
    {
        let reason = format!("contraindicated below an eGFR of 30 mL/min/1.73m2; it is {egfr:.1}");
        found.push(Warning { drug: drug.name.to_owned(), reason, source: "FDA drug safety communication, 2016" });
    }
    found
}

fn qtc(qt: Option<f64>, rate: Option<f64>, cx: &Context) -> Result<BTreeMap<&'static str, f64>, Failure> {
    let (Some(qt), Some(rate)) = (qt, rate) else {
        if qt.is_some() || rate.is_some() {
            cx.warn("missing: a corrected QT needs both qt and heart_rate");
        }
        return Ok(BTreeMap::new());
    };
    if !(100.0..=1000.0).contains(&qt) {
        return Err(Failure::invalid(&["qt"], "must be from 100 to 1000 ms; seconds are multiplied by 1000"));
    }
    if !(20.0..=350.0).contains(&rate) {
        return Err(Failure::invalid(&["heart_rate"], "must be from 20 to 350 beats a minute"));
    }
    let known = Known::default().number("qt_ms", qt).number("heart_rate_bpm", rate);
    let mut values = BTreeMap::new();
    for (name, id) in [
        ("bazett", "qtc_bazett"),
        ("fridericia", "qtc_fridericia"),
        ("framingham", "qtc_framingham"),
        ("hodges", "qtc_hodges"),
    ] {
        if let Some(value) = known.value(cx, id)? {
            values.insert(name, value);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_well_formed_and_name_the_same_classes() {
        let classes: BTreeSet<&str> = drugs().flat_map(|drug| drug.classes.split(' ')).collect();
        for line in PAIRS.lines().skip(2) {
            let cells: Vec<&str> = line.split(';').collect();
            assert_eq!(cells.len(), 6, "{line}");
            assert!(classes.contains(cells[0]) && classes.contains(cells[1]), "{line}");
            assert!(Severity::ALL.iter().any(|(_, word)| *word == cells[2]), "{line}");
            assert!(cells[5].starts_with("Phansalkar 2012"), "{line}");
        }
        assert!(DUPLICATES.iter().all(|class| classes.contains(class)));
        assert!(drugs().all(|drug| drug.name == drug.name.to_lowercase()));
        // Each other name leads to an ingredient of the table.
        for (other, _) in NAMES {
            assert_eq!(ingredients(other).len(), 1, "{other}");
        }
    }
}
