//! Kidney function and acute kidney injury.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, flag, number};
use super::dosing::ideal_weight;
use super::interval::{Interval, below};
use super::known::Known;
use super::units::CREATININE_MG_DL_PER_UMOL_L;

const CREATININE: Input =
    number("creatinine_mg_dl", 0.05, 40.0).alias(&[("creatinine_umol_l", CREATININE_MG_DL_PER_UMOL_L)]);
const WEIGHT: Input = number("weight_kg", 0.5, 400.0);
const INKER: Source = Source {
    id: "inker-2021",
    title: "Inker LA et al. New creatinine- and cystatin C-based equations to estimate GFR without race. N Engl J Med 385",
    year: 2021,
    url: "https://doi.org/10.1056/NEJMoa2102953",
};
const STAGES: &[(f64, &str)] = &[(0.0, "G5"), (15.0, "G4"), (30.0, "G3b"), (45.0, "G3a"), (60.0, "G2"), (90.0, "G1")];
const NOT_IN_AKI: Option<&str> = Some("Not valid while the creatinine changes, as in acute kidney injury.");

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "ckd_epi_2021",
        name: "CKD-EPI 2021, creatinine",
        engine: Some("q223"),
        unit: "mL/min/1.73m2",
        decimals: 2,
        source: INKER,
        inputs: &[CREATININE, AGE, SEX],
        caveat: NOT_IN_AKI,
        compute: |k| adults(k, ckd_epi).bands(STAGES),
    },
    Definition {
        id: "ckd_epi_2021_cystatin",
        name: "CKD-EPI 2021, creatinine and cystatin C",
        engine: Some("q223"),
        unit: "mL/min/1.73m2",
        decimals: 2,
        source: INKER,
        inputs: &[CREATININE, number("cystatin_c_mg_l", 0.1, 20.0), AGE, SEX],
        caveat: NOT_IN_AKI,
        compute: |k| adults(k, ckd_epi_cystatin).bands(STAGES),
    },
    Definition {
        id: "cockcroft_gault",
        name: "Cockcroft-Gault, actual weight",
        engine: Some("q223"),
        unit: "mL/min",
        decimals: 2,
        source: Source {
            id: "cockcroft-1976",
            title: "Cockcroft DW, Gault MH. Prediction of creatinine clearance from serum creatinine. Nephron 16",
            year: 1976,
            url: "https://doi.org/10.1159/000180580",
        },
        inputs: &[CREATININE, AGE, SEX, WEIGHT],
        caveat: NOT_IN_AKI,
        compute: |k| adults(k, |k| clearance(k, k.num("weight_kg")?)),
    },
    Definition {
        id: "cockcroft_gault_weight_rule",
        name: "Cockcroft-Gault, weight by body mass index",
        engine: Some("q223"),
        unit: "mL/min",
        decimals: 2,
        source: Source {
            id: "winter-2012",
            title: "Winter MA et al. Impact of various body weights and serum creatinine concentrations on the bias and \
                    accuracy of the Cockcroft-Gault equation. Pharmacotherapy 32",
            year: 2012,
            url: "https://doi.org/10.1002/j.1875-9114.2012.01098.x",
        },
        inputs: &[CREATININE, AGE, SEX, WEIGHT, number("height_cm", 50.0, 250.0)],
        caveat: NOT_IN_AKI,
        compute: |k| adults(k, |k| clearance(k, ruled_weight(k)?)),
    },
    Definition {
        id: "kdigo",
        name: "KDIGO stage of acute kidney injury",
        engine: Some("q223"),
        unit: "stage",
        decimals: 0,
        source: Source {
            id: "kdigo-aki-2012",
            title: "KDIGO clinical practice guideline for acute kidney injury. Kidney Int Suppl 2",
            year: 2012,
            url: "https://doi.org/10.1038/kisup.2012.1",
        },
        inputs: &[
            CREATININE,
            number("baseline_creatinine_mg_dl", 0.05, 40.0)
                .alias(&[("baseline_creatinine_umol_l", CREATININE_MG_DL_PER_UMOL_L)]),
            flag("baseline_within_48h").optional(),
            flag("renal_replacement").optional(),
            number("urine_ml_kg_h", 0.0, 50.0).optional(),
            number("urine_hours", 0.0, 168.0).optional(),
        ],
        caveat: Some("Needs a baseline; a stage by urine needs the volume and the hours."),
        compute: kdigo,
    },
    Definition {
        id: "albuminuria_acr",
        name: "Albumin to creatinine ratio of urine",
        engine: Some("q223"),
        unit: "mg/g",
        decimals: 1,
        source: Source {
            id: "kdigo-ckd-2024",
            title: "KDIGO clinical practice guideline for the evaluation and management of CKD. Kidney Int 105",
            year: 2024,
            url: "https://doi.org/10.1016/j.kint.2023.10.018",
        },
        inputs: &[number("acr_mg_g", 0.0, 50_000.0).alias(&[("acr_mg_mmol", 8.84)])],
        caveat: None,
        compute: |k| {
            Outcome::formula(k.num("acr_mg_g")).bands(&[(0.0, "A1"), (30.0, "A2"), (300.0f64.next_up(), "A3")])
        },
    },
    Definition {
        id: "fena",
        name: "Fractional excretion of sodium",
        engine: None,
        unit: "%",
        decimals: 2,
        source: Source {
            id: "espinel-1976",
            title: "Espinel CH. The FENa test: use in the differential diagnosis of acute renal failure. JAMA 236",
            year: 1976,
            url: "https://doi.org/10.1001/jama.1976.03270060029022",
        },
        inputs: &[
            number("urine_sodium_mmol_l", 1.0, 400.0),
            number("sodium_mmol_l", 90.0, 200.0),
            number("urine_creatinine_mg_dl", 1.0, 1000.0),
            CREATININE,
        ],
        caveat: Some("Misleading with diuretics or chronic kidney disease."),
        compute: |k| {
            let value = || {
                let sodium = k.num("urine_sodium_mmol_l")? / k.num("sodium_mmol_l")?;
                Some(100.0 * sodium * k.num("creatinine_mg_dl")? / k.num("urine_creatinine_mg_dl")?)
            };
            Outcome::formula(value()).bands(&[(0.0, "under 1 %"), (1.0, "1 to 2 %"), (2.0f64.next_up(), "over 2 %")])
        },
    },
];

fn adults(k: &Known, formula: fn(&Known) -> Option<f64>) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The equation is for adults.");
    }
    Outcome::formula(formula(k))
}

fn ckd_epi(k: &Known) -> Option<f64> {
    let female = k.female()?;
    let (kappa, alpha, factor) = if female { (0.7, -0.241, 1.012) } else { (0.9, -0.302, 1.0) };
    let ratio = k.num("creatinine_mg_dl")? / kappa;
    Some(142.0 * ratio.min(1.0).powf(alpha) * ratio.max(1.0).powf(-1.2) * 0.9938f64.powf(k.age()?) * factor)
}

fn ckd_epi_cystatin(k: &Known) -> Option<f64> {
    let female = k.female()?;
    let (kappa, alpha, factor) = if female { (0.7, -0.219, 0.963) } else { (0.9, -0.144, 1.0) };
    let creatinine = k.num("creatinine_mg_dl")? / kappa;
    let cystatin = k.num("cystatin_c_mg_l")? / 0.8;
    let by_creatinine = creatinine.min(1.0).powf(alpha) * creatinine.max(1.0).powf(-0.544);
    let by_cystatin = cystatin.min(1.0).powf(-0.323) * cystatin.max(1.0).powf(-0.778);
    Some(135.0 * by_creatinine * by_cystatin * 0.9961f64.powf(k.age()?) * factor)
}

fn clearance(k: &Known, weight: f64) -> Option<f64> {
    let factor = if k.female()? { 0.85 } else { 1.0 };
    Some((140.0 - k.age()?) * weight / (72.0 * k.num("creatinine_mg_dl")?) * factor)
}

/// Actual weight under a BMI of 18.5, the lesser of ideal and actual under 25,
/// else adjusted.
fn ruled_weight(k: &Known) -> Option<f64> {
    let (own, height) = (k.num("weight_kg")?, k.num("height_cm")?);
    let ideal = ideal_weight(height, k.female()?);
    let bmi = own / (height / 100.0).powi(2);
    Some(match bmi {
        bmi if bmi < 18.5 => own,
        bmi if bmi < 25.0 => own.min(ideal),
        _ => ideal + 0.4 * (own - ideal),
    })
}

fn kdigo(k: &Known) -> Outcome {
    let by_creatinine = creatinine_stage(k);
    let replaced = k.flag("renal_replacement") == Some(true);
    let stage = by_creatinine.greater(urine_stage(k)).greater(Interval::exactly(if replaced { 3.0 } else { 0.0 }));
    let unsure = by_creatinine.min < by_creatinine.max && k.num("baseline_creatinine_mg_dl").is_some();
    let bands = [(0.0, "none"), (1.0, "stage 1"), (2.0, "stage 2"), (3.0, "stage 3")];
    let reason = unsure.then_some("Whether the baseline is of the last 48 h decides (baseline_within_48h).");
    Outcome { reason, ..Outcome::bounded(stage) }.bands(&bands)
}

fn creatinine_stage(k: &Known) -> Interval {
    let (Some(now), Some(before)) = (k.num("creatinine_mg_dl"), k.num("baseline_creatinine_mg_dl")) else {
        return Interval { min: 0.0, max: 3.0 };
    };
    // Decimal values as printed: 1.3 - 1.0 is not less than 0.3.
    let (ratio, rise) = (now / before + 1e-9, now - before + 1e-9);
    let met = if now >= 4.0 { 3.0 } else { 1.0 };
    match ratio {
        ratio if ratio >= 3.0 => Interval::exactly(3.0),
        ratio if ratio >= 1.5 && now >= 4.0 => Interval::exactly(3.0),
        ratio if ratio >= 2.0 => Interval::exactly(2.0),
        ratio if ratio >= 1.5 => Interval::exactly(1.0),
        _ if rise < 0.3 => Interval::exactly(0.0),
        _ => match k.flag("baseline_within_48h") {
            Some(true) => Interval::exactly(met),
            Some(false) => Interval::exactly(0.0),
            None => Interval { min: 0.0, max: met },
        },
    }
}

fn urine_stage(k: &Known) -> Interval {
    let (Some(rate), Some(hours)) = (k.num("urine_ml_kg_h"), k.num("urine_hours")) else {
        return Interval::exactly(0.0);
    };
    Interval::exactly(match (rate, hours) {
        (rate, hours) if rate < 0.3 && hours >= 24.0 => 3.0,
        (0.0, hours) if hours >= 12.0 => 3.0,
        (rate, hours) if rate < 0.5 && hours >= 12.0 => 2.0,
        (rate, hours) if rate < 0.5 && hours >= 6.0 => 1.0,
        _ => 0.0,
    })
}
