//! Each measured value against its usual range.

use super::cite::Cites;
use crate::assess::Assessment;
use crate::rule::Measure;
use serde::Serialize;

#[derive(Debug, Clone, Serialize)]
pub struct VitalAssessment {
    pub field: &'static str,
    pub value: f64,
    pub unit: &'static str,
    pub status: &'static str,
    pub cite: Vec<usize>,
}

/// critical below, low below, high above, critical above. Adults: the bands
/// of NEWS2 with 0 points are normal, those with 3 critical.
struct Range {
    measure: Measure,
    unit: &'static str,
    bounds: [f64; 4],
}

const ADULT: &[Range] = &[
    Range { measure: Measure::Systolic, unit: "mmHg", bounds: [90.5, 111.0, 219.5, 220.0] },
    Range { measure: Measure::HeartRate, unit: "/min", bounds: [40.5, 51.0, 90.0, 131.0] },
    Range { measure: Measure::RespiratoryRate, unit: "/min", bounds: [8.5, 12.0, 20.0, 25.0] },
    Range { measure: Measure::Spo2, unit: "%", bounds: [91.5, 96.0, 101.0, 101.0] },
    Range { measure: Measure::Temperature, unit: "°C", bounds: [35.05, 36.1, 38.0, 41.0] },
];

#[must_use]
pub fn vitals(a: &Assessment, cites: &mut Cites<'_>) -> Vec<VitalAssessment> {
    // No bands for children: a child on an adult's would be misjudged.
    if a.age.is_some_and(|age| age < 16.0) {
        return Vec::new();
    }
    let mut out = Vec::new();
    for range in ADULT {
        let Some(value) = a.facts.values.low(range.measure) else { continue };
        let [critical_low, low, high, critical_high] = range.bounds;
        let status = match value {
            v if v < critical_low || v >= critical_high => "critical",
            v if v < low => "low",
            v if v > high => "high",
            _ => "normal",
        };
        let cite = cites.of("rcp-news2-2017", "scoring chart");
        out.push(VitalAssessment { field: range.measure.field(), value, unit: range.unit, status, cite });
    }
    out
}
