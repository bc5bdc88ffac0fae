//! q218: area of burns and fluids.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::{Known, unreviewed};

/// Shares of the body surface by region and age.
const CHART: &str = include_str!("../data/lund_browder.csv");
/// Regions whose burns are referred whatever their area (ABA 2022); the face is part of the head.
const SPECIAL: [&str; 6] = ["head", "genitalia", "right_hand", "left_hand", "right_foot", "left_foot"];
/// A first half that is due in less than this, in hours, is no rate any more.
const LEAST_HOURS: f64 = 1.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_yr: f64,
    weight_kg: f64,
    regions: BTreeMap<String, f64>,
    tbsa_percent: Option<f64>,
    hours_since_burn_h: f64,
    inhalation: bool,
    formula: Formula,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "kebab")]
enum Formula {
    Parkland,
    ModifiedBrooke,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    tbsa_percent: f64,
    total_24h_ml: f64,
    rate_first_8h: Option<f64>,
    rate_next_16h: Option<f64>,
    maintenance_ml_h: Option<f64>,
    revised_baux: f64,
    transfer: bool,
    urine_target_ml_h: f64,
}

/// Computes area, fluids and referral.
///
/// # Errors
/// `Invalid` without an area, for a region that the chart does not have, and for areas that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let charted = charted(&input)?;
    let tbsa = match (input.tbsa_percent, charted) {
        (Some(tbsa), Some(charted)) => {
            if (tbsa - charted).abs() > 1.0 {
                cx.warn(format!(
                    "contradiction: tbsa is {tbsa} %, and the regions come to {charted:.1} %; tbsa is used"
                ));
            }
            tbsa
        }
        (Some(tbsa), None) => tbsa,
        (None, Some(charted)) => charted,
        (None, None) => {
            return Err(Failure::invalid(&["tbsa"], "is missing: give tbsa, or the burned share of each region"));
        }
    };
    let known = Known::default()
        .number("age_years", input.age_yr)
        .number("weight_kg", input.weight_kg)
        .number("tbsa_percent", tbsa)
        .flag("inhalation_injury", input.inhalation);
    let id = match input.formula {
        Formula::Parkland => "parkland_24h",
        Formula::ModifiedBrooke => "modified_brooke_24h",
    };
    let value = |id: &str| known.value(cx, id)?.ok_or_else(|| Failure::internal(format!("{id} has no value")));
    let total = value(id)?;
    known.absent(cx, "revised_baux", &[("inhalation", "inhalation_injury")])?;
    let child = input.weight_kg < 30.0;
    let threshold = if input.age_yr < 18.0 { 10.0 } else { 20.0 };
    if tbsa < threshold {
        cx.warn(format!("small: formal resuscitation is for burns from {threshold} % of the surface (ABA)"));
    }
    let (first, next) = rates(total, input.hours_since_burn_h, cx);
    unreviewed(cx, "fluids are a start from the time of the burn, titrated to urine output");
    let maintenance = if child { Some(value("maintenance_fluids_421")?) } else { None };
    Ok(Output {
        tbsa_percent: tbsa,
        total_24h_ml: total,
        rate_first_8h: first,
        rate_next_16h: next,
        maintenance_ml_h: maintenance,
        revised_baux: value("revised_baux")?,
        transfer: transfer(&input, tbsa, cx),
        urine_target_ml_h: input.weight_kg * if child { 1.0 } else { 0.5 },
    })
}

/// Share of the column of the age for a region; none for one that the chart does not have.
fn share(region: &str, age: f64) -> Option<f64> {
    let mut lines = CHART.lines().filter(|line| !line.starts_with('#'));
    let ages = lines.next()?.split(',').skip(1).map(str::parse::<f64>);
    let column = ages.filter(|from| from.as_ref().is_ok_and(|from| age >= *from)).count();
    let row = lines.find(|line| line.split(',').next() == Some(region))?;
    row.split(',').nth(column)?.parse().ok()
}

/// Burned share of the body by regions; none without regions.
fn charted(input: &Input) -> Result<Option<f64>, Failure> {
    if input.regions.is_empty() {
        return Ok(None);
    }
    let mut burned = 0.0;
    for (region, part) in &input.regions {
        let Some(share) = share(region, input.age_yr) else {
            let names: Vec<&str> = CHART.lines().skip(2).filter_map(|line| line.split(',').next()).collect();
            let text = format!("is no region of the chart; regions are {}", names.join(", "));
            return Err(Failure::invalid(&["regions", region.as_str()], text));
        };
        if !(0.0..=100.0).contains(part) {
            let text = "must be from 0 to 100: the burned share of this region in %, without erythema";
            return Err(Failure::invalid(&["regions", region.as_str()], text));
        }
        burned += share * part / 100.0;
    }
    Ok(Some(burned.min(100.0)))
}

/// Rates of the first half until 8 hours after the burn and of the second half in the 16 hours that follow.
fn rates(total: f64, hours: f64, cx: &Context) -> (Option<f64>, Option<f64>) {
    let half = total / 2.0;
    match hours {
        hours if hours <= 8.0 - LEAST_HOURS => {
            if hours > 0.0 {
                cx.assume("No fluid was given yet; the rate of the first half makes up for the hours since the burn.");
            }
            (Some(half / (8.0 - hours)), Some(half / 16.0))
        }
        hours if hours <= 24.0 => {
            cx.warn(
                "late: the first 8 hours are over or nearly so; the rate depends on what was given, and is left out",
            );
            (None, Some(half / 16.0))
        }
        _ => {
            cx.warn("late: the formula is for the first 24 hours after the burn; no rate is given");
            (None, None)
        }
    }
}

fn transfer(input: &Input, tbsa: f64, cx: &Context) -> bool {
    let special = SPECIAL.iter().any(|region| input.regions.get(*region).is_some_and(|part| *part > 0.0));
    let criteria = [
        (tbsa >= 10.0, "10 % of the surface or more"),
        (special, "face, hands, feet or genitalia"),
        (input.inhalation, "inhalation injury"),
        (input.age_yr <= 14.0 || input.weight_kg < 30.0, "child of 14 years or younger, or below 30 kg"),
    ];
    let met: Vec<&str> = criteria.iter().filter(|(met, _)| *met).map(|(_, name)| *name).collect();
    if met.is_empty() {
        cx.warn(
            "transfer: no criterion among these inputs is met; full thickness, joints, perineum, chemical and electrical \
             burns, illness and trauma are criteria too, and no inputs",
        );
    } else {
        cx.assume(format!("Criteria for consultation of a burn centre (ABA 2022) that are met: {}.", met.join("; ")));
    }
    !met.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chart_sums_to_the_whole_surface_at_every_age() {
        let regions: Vec<&str> = CHART.lines().skip(2).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(regions.len(), 19);
        for age in [0.0, 0.9, 1.0, 4.9, 5.0, 9.9, 10.0, 15.0, 17.9, 18.0, 120.0] {
            let sum: f64 = regions.iter().filter_map(|region| share(region, age)).sum();
            assert!((sum - 100.0).abs() < 1e-9, "{sum} at {age}");
        }
        assert_eq!(share("tail", 30.0), None);
    }
}
