//! The amounts of the protocols are entered twice: in the statements, and in
//! `data/constants/doses.toml`. Both entries agree.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test's helpers may fail it")]

mod quantities;

use muster_medical::base::{Base, ProtocolData, Review};
use quantities::{Quantity, read};
use serde::Deserialize;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SecondEntry {
    drugs: Vec<String>,
    doses: Vec<Dose>,
    review: Review,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Dose {
    protocol: String,
    /// List and position, such as "actions 4".
    statement: String,
    source: String,
    treatment: String,
    #[serde(default)]
    amounts: Vec<String>,
    unknown: Option<String>,
    disputed: Option<String>,
    route: Option<String>,
    note: Option<String>,
}

/// A statement of a protocol, with its list and position.
struct Placed<'a> {
    at: String,
    text: &'a str,
    source: &'a str,
    treats: bool,
}

fn second_entry() -> SecondEntry {
    toml::from_str(include_str!("../../data/constants/doses.toml")).unwrap()
}

fn protocols() -> Vec<ProtocolData> {
    Base::load().unwrap_or_else(|e| panic!("{e}")).protocols.into_iter().map(|p| p.data).collect()
}

fn statements(protocol: &ProtocolData) -> Vec<Placed<'_>> {
    let actions = protocol.actions.iter().enumerate().map(|(i, a)| Placed {
        at: format!("actions {}", i + 1),
        text: &a.text,
        source: &a.source,
        treats: a.kind == "treat",
    });
    let lists = [
        ("contraindications", &protocol.contraindications),
        ("follow_up", &protocol.follow_up),
        ("safety_net", &protocol.safety_net),
    ];
    let others = lists.into_iter().flat_map(|(list, statements)| {
        statements.iter().enumerate().map(move |(i, s)| Placed {
            at: format!("{list} {}", i + 1),
            text: &s.text,
            source: &s.source,
            treats: false,
        })
    });
    actions.chain(others).collect()
}

/// Whether the statement has an amount that must be entered a second time: a dose, any amount of a treatment, or any
/// amount where a drug is named. A number without a unit alone is a score or a ratio.
fn needs_second_entry(statement: &Placed<'_>, drugs: &[String]) -> bool {
    let amounts = read(statement.text);
    let text = statement.text.to_lowercase();
    let names_drug = || drugs.iter().any(|drug| text.contains(drug.as_str()));
    let measured = amounts.iter().any(|q| !q.unit.is_empty());
    amounts.iter().any(Quantity::is_dose) || (measured && (statement.treats || names_drug()))
}

/// Everything in which the two entries differ.
fn differences(protocols: &[ProtocolData], second: &SecondEntry) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for dose in &second.doses {
        let at = format!("{} {}", dose.protocol, dose.statement);
        if !seen.insert(at.clone()) {
            wrong.push(format!("{at}: entered twice"));
        }
        if dose.amounts.is_empty() != dose.unknown.is_some() {
            wrong.push(format!("{at}: needs either amounts or why they are unknown"));
        }
        let reasons = [&dose.unknown, &dose.disputed, &dose.route, &dose.note];
        if reasons.into_iter().flatten().any(|reason| reason.trim().is_empty()) {
            wrong.push(format!("{at}: an empty text"));
        }
        let statements = protocols.iter().find(|p| p.id == dose.protocol).map(statements).unwrap_or_default();
        let Some(statement) = statements.iter().find(|s| s.at == dose.statement) else {
            wrong.push(format!("{at}: no such statement"));
            continue;
        };
        if !statement.text.to_lowercase().contains(&dose.treatment.to_lowercase()) {
            wrong.push(format!("{at}: {:?} is not in {:?}", dose.treatment, statement.text));
        }
        if statement.source != dose.source {
            wrong.push(format!("{at}: cites {}, entered from {}", statement.source, dose.source));
        }
        if dose.unknown.is_some() {
            continue;
        }
        let first = read(statement.text);
        let entered: Vec<Quantity> = dose.amounts.iter().flat_map(|amount| read(amount)).collect();
        if entered.len() != dose.amounts.len() {
            wrong.push(format!("{at}: an amount cannot be read: {:?}", dose.amounts));
        }
        if first.len() != entered.len() || first.iter().zip(&entered).any(|(a, b)| !a.equals(b)) {
            wrong.push(format!("{at}: {:?} has {first:?}, entered were {:?}", statement.text, dose.amounts));
        }
    }
    for protocol in protocols {
        for statement in statements(protocol) {
            let at = format!("{} {}", protocol.id, statement.at);
            if needs_second_entry(&statement, &second.drugs) && !seen.contains(&at) {
                wrong.push(format!("{at}: no second entry: {}", statement.text));
            }
        }
    }
    wrong
}

/// The differences after a change of one protocol.
fn after(id: &str, change: impl FnOnce(&mut ProtocolData)) -> Vec<String> {
    let mut protocols = protocols();
    change(protocols.iter_mut().find(|p| p.id == id).unwrap());
    differences(&protocols, &second_entry())
}

/// Replaces words of the action at this position, which must be there.
fn replace(protocol: &mut ProtocolData, action: usize, from: &str, to: &str) {
    let text = &mut protocol.actions.get_mut(action - 1).unwrap().text;
    assert!(text.contains(from), "{from} is not in {text}");
    *text = text.replacen(from, to, 1);
}

#[test]
fn every_amount_of_a_treatment_is_entered_a_second_time_and_both_agree() {
    let second = second_entry();
    let wrong = differences(&protocols(), &second);
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(!second.review.due.is_empty());
    for dose in second.doses.iter().filter(|d| d.unknown.is_some() || d.disputed.is_some()) {
        let why = dose.unknown.iter().chain(&dose.disputed).map(String::as_str).collect::<Vec<_>>().join("; ");
        println!("{} {}: {why}", dose.protocol, dose.statement);
    }
}

#[test]
fn a_changed_value_unit_order_or_source_is_found() {
    type Change = fn(&mut ProtocolData);
    let changes: &[(&str, &str, Change)] = &[
        ("acs", "actions 4", |p| replace(p, 4, "300 mg", "3000 mg")),
        ("anaphylaxis", "actions 2", |p| replace(p, 2, "0.5 mg", "0.05 mg")),
        ("anaphylaxis", "actions 2", |p| replace(p, 2, "0.3 mg", "0.3 g")),
        ("arrhythmia-unstable", "actions 6", |p| replace(p, 6, "0.5 mg", "0.5 microgram")),
        ("arrhythmia-unstable", "actions 6", |p| replace(p, 6, " to 3 mg", "")),
        ("dka", "actions 4", |p| replace(p, 4, "unit/kg/h", "unit/kg")),
        ("malaria", "actions 5", |p| {
            replace(p, 5, "2.4 mg/kg", "X");
            replace(p, 5, "3 mg/kg", "2.4 mg/kg");
            replace(p, 5, "X", "3 mg/kg");
        }),
        ("pph", "actions 3", |p| replace(p, 3, "30 minutes", "30 hours")),
        ("stroke", "actions 8", |p| p.actions[7].source = "another".to_owned()),
    ];
    for (id, at, change) in changes {
        let wrong = after(id, change);
        assert_eq!(wrong.len(), 1, "{id}: {wrong:?}");
        assert!(wrong[0].starts_with(&format!("{id} {at}: ")), "{wrong:?}");
    }
}

#[test]
fn the_same_amount_in_another_unit_is_no_difference() {
    assert_eq!(after("acs", |p| replace(p, 4, "300 mg", "0.3 g")), [""; 0]);
    assert_eq!(after("pph", |p| replace(p, 3, "30 minutes", "0.5 hours")), [""; 0]);
}

#[test]
fn a_statement_without_second_entry_and_an_entry_without_statement_are_found() {
    let wrong = after("cellulitis", |p| p.actions[2].text.push_str("; noradrenaline 5 microgram/min"));
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].starts_with("cellulitis actions 3: no second entry"), "{wrong:?}");

    let wrong = after("thyroid-storm", |p| p.actions.truncate(6));
    assert!(wrong.contains(&"thyroid-storm actions 7: no such statement".to_owned()), "{wrong:?}");

    // A statement that moves is told by its treatment, even where the amounts would agree.
    let wrong = after("acs", |p| p.actions.swap(3, 4));
    assert!(wrong.iter().any(|w| w.starts_with("acs actions 4: \"aspirin\" is not in")), "{wrong:?}");

    let mut second = second_entry();
    second.doses.retain(|d| !(d.protocol == "tetanus" && d.statement == "actions 2"));
    let wrong = differences(&protocols(), &second);
    assert_eq!(wrong.len(), 1, "{wrong:?}");
    assert!(wrong[0].starts_with("tetanus actions 2: no second entry"), "{wrong:?}");
}

#[test]
fn amounts_are_read_with_their_units_in_the_order_of_the_text() {
    let cases: &[(&str, &[(f64, &str)])] = &[
        ("over 12 y 0.5 mg; 6-12 y 0.3 mg", &[(12.0, "year"), (0.5, "mg"), (6.0, "year"), (12.0, "year"), (0.3, "mg")]),
        ("6 months-6 y", &[(6.0, "month"), (6.0, "year")]),
        ("albumin 1.5 g/kg on day 1 and 1 g/kg on day 3", &[(1.5, "g/kg"), (1.0, "day"), (1.0, "g/kg"), (3.0, "day")]),
        ("hCG on days 4 and 7, then weekly", &[(4.0, "day"), (7.0, "day")]),
        ("at 1, 2, 4, 6 and 24 hours", &[(1.0, "h"), (2.0, "h"), (4.0, "h"), (6.0, "h"), (24.0, "h")]),
        ("below 185/110 mmHg", &[(185.0, "mmHg"), (110.0, "mmHg")]),
        ("hCG of 5,000 IU/L or more", &[(5000.0, "IU/L")]),
        ("insulin 0.1 unit/kg/h; 100 to 120 a minute", &[(0.1, "unit/kg/h"), (100.0, "/min"), (120.0, "/min")]),
        ("6-hourly, up to three shocks, five back blows", &[(6.0, "h"), (3.0, "shock"), (5.0, "blow")]),
        ("SpO2 94–98%, CRB-65, 12-lead ECG, 4AT, beta2, 10^9/L, one of two, mm3", &[(94.0, "%"), (98.0, "%")]),
        ("pH under 7.0 or GCS 12 or less", &[(7.0, ""), (12.0, "")]),
        ("25 to 28 °C, 37C", &[(25.0, "°C"), (28.0, "°C"), (37.0, "°C")]),
    ];
    for (text, expected) in cases {
        let expected: Vec<_> =
            expected.iter().map(|(value, unit)| Quantity { value: *value, unit: (*unit).to_owned() }).collect();
        assert_eq!(read(text), expected, "{text}");
    }
}
