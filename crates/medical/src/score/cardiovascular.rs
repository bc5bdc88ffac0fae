//! Ten-year cardiovascular risk: pooled cohort equations, Framingham, SCORE2.
//!
//! Coefficients are data, in `data/constants`.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, choice, flag, number};
use super::interval::{below, over};
use super::known::Known;
use super::units::CHOLESTEROL_MG_DL_PER_MMOL_L;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

type Terms = BTreeMap<String, f64>;

/// Coefficients of one sex, or one sex and race, with the mean of the sum.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Model {
    baseline_survival: f64,
    #[serde(default)]
    mean: f64,
    terms: Terms,
    /// Recalibration by region: scale 1 and scale 2.
    #[serde(default)]
    regions: BTreeMap<String, [f64; 2]>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Constants {
    #[allow(dead_code, reason = "read by people and by the test of the sources")]
    source: String,
    models: BTreeMap<String, Model>,
}

/// None only where the file in the program is not well formed, which a test
/// excludes.
type Table = LazyLock<Option<Constants>>;

static PCE: Table = LazyLock::new(|| toml::from_str(include_str!("../../data/constants/ascvd_pce.toml")).ok());
static FRAMINGHAM: Table =
    LazyLock::new(|| toml::from_str(include_str!("../../data/constants/framingham_2008.toml")).ok());
static SCORE2: Table = LazyLock::new(|| toml::from_str(include_str!("../../data/constants/score2.toml")).ok());
static SCORE2_OP: Table = LazyLock::new(|| toml::from_str(include_str!("../../data/constants/score2_op.toml")).ok());

const SYSTOLIC: Input = number("systolic_mmhg", 60.0, 300.0);
const SMOKER: Input = flag("smoker");
const TOTAL_MG: Input = number("total_cholesterol_mg_dl", 40.0, 1000.0)
    .alias(&[("total_cholesterol_mmol_l", CHOLESTEROL_MG_DL_PER_MMOL_L)]);
const HDL_MG: Input = number("hdl_mg_dl", 5.0, 250.0).alias(&[("hdl_mmol_l", CHOLESTEROL_MG_DL_PER_MMOL_L)]);
const TOTAL_MMOL: Input = number("total_cholesterol_mmol_l", 1.0, 26.0)
    .alias(&[("total_cholesterol_mg_dl", 1.0 / CHOLESTEROL_MG_DL_PER_MMOL_L)]);
const HDL_MMOL: Input = number("hdl_mmol_l", 0.1, 6.5).alias(&[("hdl_mg_dl", 1.0 / CHOLESTEROL_MG_DL_PER_MMOL_L)]);
const REGION: Input = choice("region", &[("low", 0.0), ("moderate", 1.0), ("high", 2.0), ("very_high", 3.0)]);
const REGIONS: [&str; 4] = ["low", "moderate", "high", "very_high"];
const DAGOSTINO: Source = Source {
    id: "dagostino-2008",
    title: "D'Agostino RB et al. General cardiovascular risk profile for use in primary care. Circulation 117",
    year: 2008,
    url: "https://doi.org/10.1161/CIRCULATIONAHA.107.699579",
};
const FRAMINGHAM_INPUTS: &[Input] =
    &[AGE, SEX, TOTAL_MG, HDL_MG, SYSTOLIC, flag("treated_bp"), SMOKER, flag("diabetes")];
const EUROPEAN_INPUTS: &[Input] =
    &[REGION, AGE, SEX, SMOKER, SYSTOLIC, TOTAL_MMOL, HDL_MMOL, flag("diabetes").population()];

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "ascvd_pce_2013",
        name: "Pooled cohort equations, 10-year ASCVD",
        engine: Some("q222"),
        unit: "% 10y",
        decimals: 2,
        source: Source {
            id: "goff-2014",
            title: "Goff DC et al. 2013 ACC/AHA guideline on the assessment of cardiovascular risk. Circulation 129",
            year: 2014,
            url: "https://doi.org/10.1161/01.cir.0000437741.48606.98",
        },
        inputs: &[
            AGE,
            SEX,
            choice("race", &[("white", 0.0), ("other", 0.0), ("black", 1.0), ("african_american", 1.0)]),
            TOTAL_MG,
            HDL_MG,
            SYSTOLIC,
            flag("treated_bp"),
            SMOKER,
            flag("diabetes"),
        ],
        caveat: Some("US cohorts, without earlier cardiovascular disease; overstates the risk of many groups today."),
        compute: pce,
    },
    Definition {
        id: "framingham_2008",
        name: "Framingham general cardiovascular risk",
        engine: Some("q222"),
        unit: "% 10y",
        decimals: 2,
        source: DAGOSTINO,
        inputs: FRAMINGHAM_INPUTS,
        caveat: Some("Wider end point than ASCVD: the figures are not to be compared."),
        compute: |k| framingham(k, |risk, _| Some(100.0 * risk)),
    },
    Definition {
        id: "framingham_heart_age",
        name: "Heart age (Framingham)",
        engine: Some("q222"),
        unit: "years",
        decimals: 0,
        source: DAGOSTINO,
        inputs: FRAMINGHAM_INPUTS,
        caveat: Some("Age of the same risk with SBP 125, cholesterol 180, HDL 45, no smoking, diabetes or treatment."),
        compute: |k| framingham(k, heart_age),
    },
    Definition {
        id: "score2",
        name: "SCORE2, 10-year cardiovascular risk",
        engine: None,
        unit: "% 10y",
        decimals: 1,
        source: Source {
            id: "score2-2021",
            title: "SCORE2 working group. SCORE2 risk prediction algorithms. Eur Heart J 42",
            year: 2021,
            url: "https://doi.org/10.1093/eurheartj/ehab309",
        },
        inputs: EUROPEAN_INPUTS,
        caveat: Some("By the risk region of the country; without earlier cardiovascular disease or diabetes."),
        compute: score2,
    },
    Definition {
        id: "score2_op",
        name: "SCORE2-OP, 10-year cardiovascular risk of older people",
        engine: None,
        unit: "% 10y",
        decimals: 1,
        source: Source {
            id: "score2-op-2021",
            title: "SCORE2-OP working group. SCORE2-OP risk prediction algorithms. Eur Heart J 42",
            year: 2021,
            url: "https://doi.org/10.1093/eurheartj/ehab312",
        },
        inputs: EUROPEAN_INPUTS,
        caveat: Some("By the risk region of the country; without earlier cardiovascular disease or diabetes."),
        compute: score2_op,
    },
];

/// Sum of the model's terms, each a product of the values its name lists.
fn sum(model: &Model, values: &[(&str, f64)]) -> Option<f64> {
    let value = |name: &str| values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    model.terms.iter().try_fold(0.0, |sum, (term, coefficient)| {
        let product = term.split("_x_").try_fold(1.0, |product, name| Some(product * value(name)?))?;
        Some(sum + coefficient * product)
    })
}

/// Logarithms and flags of the American equations.
fn american(k: &Known) -> Option<[(&'static str, f64); 7]> {
    let treated = k.num("treated_bp")?;
    let systolic = k.num("systolic_mmhg")?.ln();
    Some([
        ("ln_age", k.age()?.ln()),
        ("ln_total_cholesterol", k.num("total_cholesterol_mg_dl")?.ln()),
        ("ln_hdl", k.num("hdl_mg_dl")?.ln()),
        ("ln_treated_sbp", systolic * treated),
        ("ln_untreated_sbp", systolic * (1.0 - treated)),
        ("smoker", k.num("smoker")?),
        ("diabetes", k.num("diabetes")?),
    ])
}

fn survival(model: &Model, values: &[(&str, f64)]) -> Option<f64> {
    Some(model.baseline_survival.powf((sum(model, values)? - model.mean).exp()))
}

fn sex(k: &Known) -> Option<&'static str> {
    Some(if k.female()? { "female" } else { "male" })
}

fn pce(k: &Known) -> Outcome {
    if below(k.age(), 40.0) == Some(true) || over(k.age(), 79.0) == Some(true) {
        return Outcome::not_applicable("The equations are for 40 to 79 years.");
    }
    let value = || {
        let race = if k.flag("race")? { "black" } else { "white" };
        let model = PCE.as_ref()?.models.get(&format!("{}_{race}", sex(k)?))?;
        Some(100.0 * (1.0 - survival(model, &american(k)?)?))
    };
    Outcome::formula(value()).bands(&[(0.0, "low"), (5.0, "borderline"), (7.5, "intermediate"), (20.0, "high")])
}

fn framingham(k: &Known, then: fn(f64, &Model) -> Option<f64>) -> Outcome {
    if below(k.age(), 30.0) == Some(true) || at_least_75(k) {
        return Outcome::not_applicable("The equations are for 30 to 74 years.");
    }
    let value = || {
        let model = FRAMINGHAM.as_ref()?.models.get(sex(k)?)?;
        then(1.0 - survival(model, &american(k)?)?, model)
    };
    match value().filter(|value| value.is_finite()) {
        // A risk that rounds to certainty is that of no age.
        None if american(k).is_some() && sex(k).is_some() => {
            Outcome::not_applicable("The risk is beyond what the equations can express as an age.")
        }
        value => Outcome::formula(value),
    }
}

fn at_least_75(k: &Known) -> bool {
    k.age().is_some_and(|age| age >= 75.0)
}

/// Age whose risk with best values equals this risk.
fn heart_age(risk: f64, model: &Model) -> Option<f64> {
    let best = [
        ("ln_age", 0.0),
        ("ln_total_cholesterol", 180f64.ln()),
        ("ln_hdl", 45f64.ln()),
        ("ln_treated_sbp", 0.0),
        ("ln_untreated_sbp", 125f64.ln()),
        ("smoker", 0.0),
        ("diabetes", 0.0),
    ];
    let needed = ((1.0 - risk).ln() / model.baseline_survival.ln()).ln() + model.mean;
    Some(((needed - sum(model, &best)?) / model.terms.get("ln_age")?).exp())
}

fn score2(k: &Known) -> Outcome {
    if below(k.age(), 40.0) == Some(true) || k.age().is_some_and(|age| age >= 70.0) {
        return Outcome::not_applicable("SCORE2 is for 40 to 69 years; SCORE2-OP from 70.");
    }
    let centred = |k: &Known| {
        Some([
            ("age", (k.age()? - 60.0) / 5.0),
            ("smoker", k.num("smoker")?),
            ("sbp", (k.num("systolic_mmhg")? - 120.0) / 20.0),
            ("total_cholesterol", k.num("total_cholesterol_mmol_l")? - 6.0),
            ("hdl", (k.num("hdl_mmol_l")? - 1.3) / 0.5),
        ])
    };
    let young = below(k.age(), 50.0) == Some(true);
    let bands: &[_] = if young {
        &[(0.0, "low to moderate"), (2.5, "high"), (7.5, "very high")]
    } else {
        &[(0.0, "low to moderate"), (5.0, "high"), (10.0, "very high")]
    };
    european(k, &SCORE2, centred(k)).bands(bands)
}

fn score2_op(k: &Known) -> Outcome {
    if below(k.age(), 70.0) == Some(true) || k.age().is_some_and(|age| age >= 90.0) {
        return Outcome::not_applicable("SCORE2-OP is for 70 to 89 years.");
    }
    let centred = |k: &Known| {
        Some([
            ("age", k.age()? - 73.0),
            ("smoker", k.num("smoker")?),
            ("sbp", k.num("systolic_mmhg")? - 150.0),
            ("total_cholesterol", k.num("total_cholesterol_mmol_l")? - 6.0),
            ("hdl", k.num("hdl_mmol_l")? - 1.4),
        ])
    };
    let bands = [(0.0, "low to moderate"), (7.5, "high"), (15.0, "very high")];
    european(k, &SCORE2_OP, centred(k)).bands(&bands)
}

/// Terms of diabetes are in the constants for completeness; the scores are not
/// for people with diabetes, so its value is 0.
fn european(k: &Known, table: &Table, centred: Option<[(&'static str, f64); 5]>) -> Outcome {
    if k.flag("diabetes") == Some(true) {
        return Outcome::not_applicable("The score is not for people with diabetes.");
    }
    let value = || {
        let model = table.as_ref()?.models.get(sex(k)?)?;
        let mut values = centred?.to_vec();
        values.push(("diabetes", 0.0));
        let region = *REGIONS.iter().zip(0u32..).find(|(_, code)| Some(f64::from(*code)) == k.num("region"))?.0;
        let [scale1, scale2] = *model.regions.get(region)?;
        let uncalibrated = -survival(model, &values)?.ln();
        Some(100.0 * (1.0 - (-(scale1 + scale2 * uncalibrated.ln()).exp()).exp()))
    };
    Outcome::formula(value())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_well_formed() {
        for (table, models) in [(&PCE, 4), (&FRAMINGHAM, 2), (&SCORE2, 2), (&SCORE2_OP, 2)] {
            let constants = table.as_ref().expect("well formed");
            assert_eq!(constants.models.len(), models);
            assert!(constants.source.contains("doi.org"));
        }
    }
}
