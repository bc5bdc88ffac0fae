//! q227: acid-base state and electrolytes.

use muster_engine::prelude::*;

use crate::support::{self, Known, unreviewed};

/// Limits of normal: pH, PCO2 in mmHg and bicarbonate in mmol/L.
const PH: (f64, f64) = (7.35, 7.45);
const PCO2: (f64, f64) = (35.0, 45.0);
const HCO3: (f64, f64) = (22.0, 26.0);
/// Deviation of the measured hydrogen ions from those of the equation above which the values do not fit together.
const INCONSISTENT: f64 = 0.10;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    ph: f64,
    pco2_mmhg: f64,
    hco3_mmol_l: f64,
    sodium_mmol_l: Option<f64>,
    chloride_mmol_l: Option<f64>,
    albumin_g_dl: Option<f64>,
    glucose_mg_dl: Option<f64>,
    bun_mg_dl: Option<f64>,
    measured_osmolality_mosm_kg: Option<f64>,
    calcium_mg_dl: Option<f64>,
    pao2_mmhg: Option<f64>,
    fio2: f64,
    age_yr: Option<f64>,
    chronic: bool,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    disorder: &'static str,
    compensation: Option<Compensation>,
    anion_gap_mmol_l: Option<f64>,
    corrected_gap_mmol_l: Option<f64>,
    delta_ratio: Option<f64>,
    osmolality_mosm_kg: Option<f64>,
    osmolar_gap_mosm_kg: Option<f64>,
    corrected_sodium_mmol_l: Option<f64>,
    corrected_calcium_mg_dl: Option<f64>,
    a_a_gradient_mmhg: Option<f64>,
    consistent: bool,
}

#[derive(Output)]
struct Compensation {
    expected_pco2: Vec<f64>,
    appropriate: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Disorder {
    None,
    MetabolicAcidosis,
    MetabolicAlkalosis,
    RespiratoryAcidosis,
    RespiratoryAlkalosis,
    MixedAcidosis,
    MixedAlkalosis,
    MixedOpposite,
    Unclear,
}

impl Disorder {
    const fn text(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::MetabolicAcidosis => "metabolic acidosis",
            Self::MetabolicAlkalosis => "metabolic alkalosis",
            Self::RespiratoryAcidosis => "respiratory acidosis",
            Self::RespiratoryAlkalosis => "respiratory alkalosis",
            Self::MixedAcidosis => "mixed metabolic and respiratory acidosis",
            Self::MixedAlkalosis => "mixed metabolic and respiratory alkalosis",
            Self::MixedOpposite => "mixed disorder with a normal pH",
            Self::Unclear => "unclear: the values do not fit together",
        }
    }
}

/// Classifies the state and computes gaps and corrections.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input, cx)?;
    let known = Known::default()
        .number("bicarbonate_mmol_l", input.hco3_mmol_l)
        .number("paco2_mmhg", input.pco2_mmhg)
        .number("sodium_mmol_l", input.sodium_mmol_l)
        .number("chloride_mmol_l", input.chloride_mmol_l)
        .number("albumin_g_dl", input.albumin_g_dl)
        .number("glucose_mg_dl", input.glucose_mg_dl)
        .number("bun_mg_dl", input.bun_mg_dl)
        .number("measured_osmolality_mosm_kg", input.measured_osmolality_mosm_kg)
        .number("calcium_mg_dl", input.calcium_mg_dl)
        .number("pao2_mmhg", input.pao2_mmhg)
        .number("fio2", input.fio2);
    let hydrogen = 10f64.powf(9.0 - input.ph);
    let expected = 24.0 * input.pco2_mmhg / input.hco3_mmol_l;
    cx.step("hydrogen_measured", hydrogen, "nmol/L");
    cx.step("hydrogen_expected", expected, "nmol/L");
    let consistent = (hydrogen - expected).abs() <= INCONSISTENT * hydrogen;
    if !consistent {
        cx.warn(format!(
            "inconsistent: pH {} is {hydrogen:.0} nmol/L of hydrogen ions, and 24·PCO2/HCO3 gives {expected:.0}: check \
             the three values and their units",
            input.ph
        ));
    }
    let disorder = disorder(&input);
    if matches!(disorder, Disorder::RespiratoryAcidosis | Disorder::RespiratoryAlkalosis) && !input.chronic {
        cx.warn("default: the respiratory disorder counts as acute, chronic being false");
    }
    let gap = known.value(cx, "anion_gap")?;
    let delta = if gap.is_some() && input.hco3_mmol_l < 24.0 { known.value(cx, "delta_ratio")? } else { None };
    let gradient = known.value(cx, "aa_gradient")?;
    if let (Some(gradient), Some(age)) = (gradient, input.age_yr) {
        cx.step("a_a_gradient_expected_on_air", age / 4.0 + 4.0, "mmHg");
        if gradient < 0.0 {
            cx.warn("inconsistent: the gradient is negative: check fio2");
        }
    }
    if gradient.is_some() && input.fio2 == 0.21 {
        cx.warn("default: the patient breathes air (fio2 0.21), at sea level");
    }
    unreviewed(cx, "rules of compensation are those of Berend 2014");
    Ok(Output {
        disorder: disorder.text(),
        compensation: compensation(disorder, &input),
        anion_gap_mmol_l: gap,
        corrected_gap_mmol_l: known.value(cx, "anion_gap_albumin_corrected")?,
        delta_ratio: delta,
        osmolality_mosm_kg: known.value(cx, "serum_osmolality")?,
        osmolar_gap_mosm_kg: known.value(cx, "osmolar_gap")?,
        corrected_sodium_mmol_l: known.value(cx, "corrected_sodium_katz")?,
        corrected_calcium_mg_dl: known.value(cx, "corrected_calcium")?,
        a_a_gradient_mmhg: gradient,
        consistent,
    })
}

fn check(input: &Input, cx: &Context) -> Result<(), Failure> {
    support::CARBON_DIOXIDE.check(cx, "pco2", input.pco2_mmhg)?;
    support::BICARBONATE.check(cx, "hco3", input.hco3_mmol_l)?;
    support::SODIUM.check(cx, "sodium", input.sodium_mmol_l)?;
    support::CHLORIDE.check(cx, "chloride", input.chloride_mmol_l)?;
    support::ALBUMIN.check(cx, "albumin", input.albumin_g_dl)?;
    support::GLUCOSE.check(cx, "glucose", input.glucose_mg_dl)?;
    support::BUN.check(cx, "bun", input.bun_mg_dl)?;
    support::OSMOLALITY.check(cx, "measured_osmolality", input.measured_osmolality_mosm_kg)?;
    support::CALCIUM.check(cx, "calcium", input.calcium_mg_dl)?;
    support::OXYGEN_TENSION.check(cx, "pao2", input.pao2_mmhg)?;
    support::AGE.check(cx, "age", input.age_yr)
}

/// The primary disorder by pH, then by which of the two agrees with it.
fn disorder(input: &Input) -> Disorder {
    let (low_gas, high_gas) = (input.pco2_mmhg < PCO2.0, input.pco2_mmhg > PCO2.1);
    let (low_base, high_base) = (input.hco3_mmol_l < HCO3.0, input.hco3_mmol_l > HCO3.1);
    if input.ph < PH.0 {
        match (low_base, high_gas) {
            (true, true) => Disorder::MixedAcidosis,
            (true, false) => Disorder::MetabolicAcidosis,
            (false, true) => Disorder::RespiratoryAcidosis,
            (false, false) => Disorder::Unclear,
        }
    } else if input.ph > PH.1 {
        match (high_base, low_gas) {
            (true, true) => Disorder::MixedAlkalosis,
            (true, false) => Disorder::MetabolicAlkalosis,
            (false, true) => Disorder::RespiratoryAlkalosis,
            (false, false) => Disorder::Unclear,
        }
    } else {
        match (low_gas || high_gas, low_base || high_base) {
            (false, false) => Disorder::None,
            _ if (low_gas && high_base) || (high_gas && low_base) => Disorder::Unclear,
            _ => Disorder::MixedOpposite,
        }
    }
}

/// Range of PCO2 in a metabolic disorder; in a respiratory one the bicarbonate answers, and the range is that of the PCO2
/// which the bicarbonate would explain.
fn compensation(disorder: Disorder, input: &Input) -> Option<Compensation> {
    let (gas, base) = (input.pco2_mmhg, input.hco3_mmol_l);
    // Rise or fall of the bicarbonate for a change of 10 mmHg (Berend 2014); of a chronic one sources give 3.5 to 5 mmol/L.
    let respiratory = |per_ten: f64| {
        let expected = 24.0 + per_ten * (gas - 40.0) / 10.0;
        let around = |base: f64| 40.0 + (base - 24.0) * 10.0 / per_ten;
        let (a, b) = (around(base - 2.0), around(base + 2.0));
        Compensation { expected_pco2: vec![a.min(b), a.max(b)], appropriate: (base - expected).abs() <= 2.0 }
    };
    let metabolic = |middle: f64, around: f64| {
        let (low, high) = (middle - around, middle + around);
        Compensation { expected_pco2: vec![low, high], appropriate: (low..=high).contains(&gas) }
    };
    match disorder {
        Disorder::MetabolicAcidosis => Some(metabolic(1.5 * base + 8.0, 2.0)),
        Disorder::MetabolicAlkalosis => Some(metabolic(0.7 * (base - 24.0) + 40.0, 2.0)),
        Disorder::RespiratoryAcidosis => Some(respiratory(if input.chronic { 4.5 } else { 1.0 })),
        Disorder::RespiratoryAlkalosis => Some(respiratory(if input.chronic { 4.5 } else { 2.0 })),
        _ => None,
    }
}
