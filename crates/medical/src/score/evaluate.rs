//! From a definition and inputs to a score.

use super::Score;
use super::definition::{Definition, Outcome};
use super::inputs::Inputs;
use super::known::Known;

pub(super) fn evaluate(d: &'static Definition, inputs: &Inputs) -> Score {
    let known = Known::read(d.inputs, inputs);
    let outcome = (d.compute)(&known);
    let (used, missing) = (known.used(), known.missing());
    let exact = outcome.bounds.filter(|bounds| missing.is_empty() && bounds.min == bounds.max).map(|bounds| bounds.min);
    let status = status(&outcome, exact, &used);
    let applies = outcome.not_applicable.is_none();
    let round = |value: f64| rounded(value, d.decimals);
    let bounds = outcome.bounds.filter(|_| applies);
    Score {
        id: d.id,
        name: d.name,
        engine: d.engine,
        value: exact.filter(|_| applies).map(round),
        min: bounds.map(|bounds| round(bounds.min)),
        max: bounds.map(|bounds| round(bounds.max)),
        unit: d.unit,
        band: (outcome.bands.len() == 1).then(|| outcome.bands.first().map(|b| (*b).to_owned())).flatten(),
        possible_bands: outcome.bands.iter().map(|band| (*band).to_owned()).collect(),
        status,
        reason: reason(&outcome, &known, &missing),
        used,
        missing,
        source: d.source,
        cite: Vec::new(),
        caveat: caveat(d.caveat, outcome.caveat),
        unrounded: exact.filter(|_| applies),
        items: outcome.items,
    }
}

/// The least value of a score over what is not known, without its texts.
pub(super) fn least(d: &Definition, inputs: &Inputs) -> Option<f64> {
    let outcome = (d.compute)(&Known::read(d.inputs, inputs));
    let bounds = outcome.bounds.filter(|_| outcome.not_applicable.is_none());
    bounds.map(|bounds| rounded(bounds.min, d.decimals))
}

fn status(outcome: &Outcome, exact: Option<f64>, used: &[String]) -> &'static str {
    match () {
        () if outcome.not_applicable.is_some() => "not_applicable",
        () if exact.is_some() => "complete",
        () if outcome.bounds.is_some() && !used.is_empty() => "partial",
        () => "insufficient",
    }
}

fn reason(outcome: &Outcome, known: &Known, missing: &[String]) -> Option<String> {
    if let Some(reason) = outcome.not_applicable {
        return Some(reason.to_owned());
    }
    let mut reasons = known.refused.clone();
    reasons.extend(outcome.reason.map(str::to_owned));
    if !missing.is_empty() {
        reasons.push(format!("Not known: {}.", missing.join(", ")));
    }
    (!reasons.is_empty()).then(|| reasons.join(" "))
}

fn caveat(always: Option<&str>, now: Option<&str>) -> Option<String> {
    let parts: Vec<&str> = always.into_iter().chain(now).collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// Rounds half away from zero.
fn rounded(value: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (value * scale).round() / scale + 0.0
}

#[cfg(test)]
mod tests {
    use super::rounded;

    #[test]
    fn a_half_is_rounded_away_from_zero() {
        assert_eq!(rounded(2.5, 0), 3.0);
        assert_eq!(rounded(-2.5, 0), -3.0);
        assert_eq!(rounded(0.125, 2), 0.13);
    }
}
