//! What was recognised. Sent back as `previous`, it joins the next message.

use crate::assess::Assessment;
use crate::base::Base;
use crate::text::Finding;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

#[derive(Debug, Clone, Serialize)]
pub struct Recognised {
    pub concept: String,
    pub label: String,
    /// The words of the text.
    pub from: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub onset: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weeks: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct Extracted {
    pub present: Vec<Recognised>,
    pub absent: Vec<Recognised>,
    pub past: Vec<Recognised>,
    pub family: Vec<Recognised>,
    /// Values that the text said, by field.
    pub vitals: Map<String, Value>,
    pub labs: Map<String, Value>,
}

impl Extracted {
    #[must_use]
    pub fn of(base: &Base, a: &Assessment) -> Self {
        let list = |map: &BTreeMap<u16, Finding>| map.values().map(|f| recognised(base, f)).collect();
        let (mut vitals, mut labs) = (Map::new(), Map::new());
        for (field, value, _) in &a.said {
            let into = if matches!(*field, "glucose" | "lactate" | "potassium") { &mut labs } else { &mut vitals };
            into.entry((*field).to_owned()).or_insert_with(|| Value::from(*value));
        }
        Self {
            present: list(&a.summary.present),
            absent: list(&a.summary.absent),
            past: list(&a.summary.past),
            family: list(&a.summary.family),
            vitals,
            labs,
        }
    }
}

fn recognised(base: &Base, f: &Finding) -> Recognised {
    Recognised {
        concept: base.lexicon.name(f.concept).to_owned(),
        label: base.lexicon.label(f.concept).to_owned(),
        from: f.from.chars().take(160).collect(),
        onset: f.sudden.then_some("sudden"),
        severity: f.severity,
        weeks: f.weeks.map(|w| crate::input::round(w, 1)),
    }
}
