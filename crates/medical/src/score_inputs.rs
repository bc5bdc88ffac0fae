//! What an assessment knows, by the input names of the scores.

use crate::assess::Assessment;
use crate::base::Base;
use crate::input::Input;
use crate::rank::Sex;
use crate::rule::{Measure, Values};
use crate::score::{InputKind, Inputs, inputs as declared, least};

/// mg/dL of blood urea nitrogen in one mmol/L of urea.
const BUN_MG_DL_PER_UREA_MMOL_L: f64 = 2.801;
/// mg/dL of glucose in one mmol/L.
const GLUCOSE_MG_DL_PER_MMOL_L: f64 = 18.016;

/// The score that a protocol's short name stands for.
#[must_use]
pub fn id(name: &str) -> &str {
    match name {
        "timi" => "timi_ua_nstemi",
        "cockcroft_gault" => "cockcroft_gault_weight_rule",
        "ascvd_pce" => "ascvd_pce_2013",
        "corrected_sodium" => "corrected_sodium_hillier",
        other => other,
    }
}

/// The worse end of several readings counts.
#[derive(Clone, Copy)]
enum Worse {
    Low,
    High,
    /// The one with the most points of NEWS2.
    Sign,
    /// The one further from this.
    From(f64),
}

/// Names of a measured value, its worse end, and the factor to the score's unit.
const VALUES: &[(Measure, Worse, f64, &[&str])] = &[
    (Measure::RespiratoryRate, Worse::Sign, 1.0, &["respiratory_rate"]),
    (Measure::Spo2, Worse::Low, 1.0, &["spo2_percent"]),
    (Measure::Systolic, Worse::Sign, 1.0, &["systolic_mmhg", "systolic_bp"]),
    (Measure::Diastolic, Worse::From(75.0), 1.0, &["diastolic_mmhg", "diastolic_bp"]),
    (Measure::HeartRate, Worse::Sign, 1.0, &["heart_rate_bpm"]),
    (Measure::Temperature, Worse::Sign, 1.0, &["temperature_c"]),
    (Measure::Age, Worse::Low, 1.0, &["age_years", "age"]),
    (Measure::Creatinine, Worse::High, 1.0, &["creatinine_mg_dl"]),
    (Measure::Urea, Worse::High, 1.0, &["urea_mmol_l"]),
    (Measure::Urea, Worse::High, BUN_MG_DL_PER_UREA_MMOL_L, &["bun_mg_dl"]),
    (Measure::Glucose, Worse::High, GLUCOSE_MG_DL_PER_MMOL_L, &["glucose_mg_dl"]),
    (Measure::Sodium, Worse::From(140.0), 1.0, &["sodium_mmol_l"]),
    (Measure::Potassium, Worse::From(4.5), 1.0, &["potassium_mmol_l"]),
    (Measure::Lactate, Worse::High, 1.0, &["lactate_mmol_l"]),
    (Measure::Wbc, Worse::From(8.0), 1000.0, &["wbc_per_ul"]),
    (Measure::Platelets, Worse::Low, 1.0, &["platelets_10e9_l"]),
    (Measure::Inr, Worse::High, 1.0, &["inr"]),
    (Measure::Bilirubin, Worse::High, 1.0, &["bilirubin_mg_dl"]),
    (Measure::Albumin, Worse::Low, 1.0, &["albumin_g_dl"]),
];

/// Findings that are inputs of scores: any of the concepts makes them true,
/// and false where all were denied.
const FLAGS: &[(&[&str], &[&str])] = &[
    (&["confusion"], &["confusion", "altered_mentation", "altered_mental_status"]),
    (&["heart_failure"], &["congestive_heart_failure", "heart_failure", "cardiac_failure"]),
    (&["hypertension"], &["hypertension"]),
    (&["diabetes"], &["diabetes"]),
    (&["previous_stroke"], &["stroke_tia_thromboembolism", "stroke", "cerebrovascular"]),
    (&["liver_disease"], &["liver", "hepatic_disease"]),
    (&["ckd"], &["renal"]),
    (&["cancer"], &["active_cancer", "malignancy", "neoplastic"]),
    (&["haemoptysis"], &["haemoptysis"]),
    (&["melaena"], &["melaena"]),
    (&["syncope"], &["syncope"]),
    (&["recent_surgery"], &["recent_surgery_or_trauma"]),
    (&["oestrogen"], &["hormone_use"]),
    (&["appetite_loss"], &["anorexia"]),
    (&["nausea", "vomiting"], &["nausea_or_vomiting"]),
    (&["migrating_pain"], &["migration_to_rlq"]),
    (&["ischaemic_heart_disease"], &["known_cad"]),
    (&["smoking"], &["smoker"]),
];

/// The reading of a vital sign that has the most points of NEWS2, within what its input takes. Points rise towards both
/// ends of a sign's range, so the least and the greatest reading are all that have to be compared, and a further reading
/// never lowers them.
#[must_use]
pub fn worst_sign(values: &Values, measure: Measure, name: &str) -> Option<f64> {
    let (low, high) = (values.low(measure)?, values.high(measure)?);
    let [low, high] = [low, high].map(|value| within("news2", name, value));
    let points = |value: f64| {
        let mut one = Inputs::default();
        one.set(name, value);
        least("news2", &one).unwrap_or(0.0)
    };
    Some(if high > low && points(high) > points(low) { high } else { low })
}

/// A value that is read, at the nearest end of what an input of a score takes: a score refuses what is beyond it, and an
/// alarm must not be lost by that.
#[must_use]
pub fn within(id: &str, name: &str, value: f64) -> f64 {
    let declared = declared(id).and_then(|inputs| inputs.iter().find(|input| input.name == name));
    match declared.map(|input| input.kind) {
        Some(InputKind::Number { low, high } | InputKind::Whole { low, high }) => value.clamp(low, high),
        _ => value,
    }
}

/// The inputs that are known.
#[must_use]
pub fn inputs(base: &Base, input: &Input, a: &Assessment) -> Inputs {
    let mut inputs = Inputs::default();
    let values = &a.facts.values;
    for &(measure, worse, factor, names) in VALUES {
        let (Some(low), Some(high)) = (values.low(measure), values.high(measure)) else { continue };
        let value = match worse {
            Worse::Low => low,
            Worse::High => high,
            Worse::Sign => names.first().and_then(|name| worst_sign(values, measure, name)).unwrap_or(low),
            Worse::From(normal) if (low - normal).abs() > (high - normal).abs() => low,
            Worse::From(_) => high,
        };
        for name in names {
            inputs.set(name, value * factor);
        }
    }
    for &(concepts, names) in FLAGS {
        let ids: Vec<_> = concepts.iter().filter_map(|c| base.lexicon.id(c)).collect();
        let known = match () {
            () if ids.iter().any(|&c| a.facts.has(c)) => true,
            () if !ids.is_empty() && ids.iter().all(|&c| a.facts.denies(c)) => false,
            () => continue,
        };
        for name in names {
            inputs.set(name, known);
        }
    }
    if let Some(pregnant) = input.patient.pregnant {
        inputs.set("pregnant", pregnant);
    }
    if let Some(sex) = a.sex {
        inputs.set("sex", if sex == Sex::Female { "female" } else { "male" }.to_owned());
    }
    if let Some(oxygen) = input.vitals.supplemental_oxygen {
        inputs.set("supplemental_oxygen", oxygen);
    }
    if let Some(scale) = input.vitals.spo2_scale {
        inputs.set("spo2_scale", f64::from(scale));
    }
    if let Some(consciousness) = input.vitals.consciousness {
        inputs.set("acvpu", consciousness.to_string());
        inputs.set("altered_mentation", consciousness != 'A');
    }
    inputs
}
