//! Values of an independent package (clincalc 0.4.0) and of worked examples.

use super::{close, score};
use serde_json::{Value, json};

fn rows(id: &str, rows: &[(Value, f64)], tolerance: f64) {
    for (given, expected) in rows {
        close(id, given.clone(), *expected, tolerance);
    }
}

#[test]
fn grace_agrees_with_an_independent_package() {
    let given = |age: u32, rate: u32, pressure: u32, creatinine: f64, killip: u32, signs: [bool; 3]| {
        let [arrest, st, marker] = signs;
        json!({
            "age_years": age, "heart_rate_bpm": rate, "systolic_mmhg": pressure, "creatinine_mg_dl": creatinine,
            "killip_class": killip, "cardiac_arrest": arrest, "st_deviation": st, "positive_biomarker": marker,
        })
    };
    let cases = [
        (given(61, 78, 161, 3.32, 1, [false, true, false]), 126.0),
        (given(84, 94, 69, 0.61, 4, [true, true, true]), 308.0),
        (given(92, 71, 117, 3.23, 1, [false, true, false]), 201.0),
        (given(25, 182, 94, 1.59, 2, [false, false, false]), 121.0),
    ];
    rows("grace", &cases, 0.0);
}

#[test]
fn sofa_agrees_with_an_independent_package() {
    let cases = [
        (
            json!({
                "map_mmhg": 69, "vasopressor": "none", "pao2_fio2_mmhg": 304, "ventilated": false,
                "platelets_10e9_l": 114, "bilirubin_mg_dl": 11.7, "gcs": 10, "creatinine_mg_dl": 3.7,
            }),
            11.0,
        ),
        (
            json!({
                "map_mmhg": 69, "vasopressor": "norepinephrine", "vasopressor_ug_kg_min": 0.1,
                "pao2_fio2_mmhg": 235, "ventilated": true, "platelets_10e9_l": 208, "bilirubin_mg_dl": 2.9,
                "gcs": 15, "creatinine_mg_dl": 1.8,
            }),
            8.0,
        ),
        (
            json!({
                "map_mmhg": 69, "vasopressor": "norepinephrine", "vasopressor_ug_kg_min": 0.2,
                "pao2_fio2_mmhg": 203, "ventilated": false, "platelets_10e9_l": 229, "bilirubin_mg_dl": 5.3,
                "gcs": 10, "creatinine_mg_dl": 2.1,
            }),
            12.0,
        ),
    ];
    rows("sofa", &cases, 0.0);
}

#[test]
fn fractional_excretion_agrees_with_an_independent_package() {
    let given = |plasma: f64, sodium: u32, urine: u32, urine_sodium: u32| {
        json!({
            "creatinine_mg_dl": plasma, "sodium_mmol_l": sodium, "urine_creatinine_mg_dl": urine,
            "urine_sodium_mmol_l": urine_sodium,
        })
    };
    let cases = [(given(4.3, 123, 168, 78), 1.62), (given(4.0, 131, 44, 75), 5.20), (given(4.4, 138, 35, 84), 7.65)];
    rows("fena", &cases, 0.005);
}

/// Policy's arithmetic: MELD(i) 19.7, then 19.7 + 1.32 * 5 - 0.033 * 19.7 * 5 = 23.05.
#[test]
fn meld_na_follows_the_policy_step_by_step() {
    let given = json!({
        "bilirubin_mg_dl": 3.0, "inr": 1.6, "creatinine_mg_dl": 1.5, "sodium_mmol_l": 132, "dialysis": false,
    });
    let score = score("meld_na", given.clone());
    assert_eq!(score.value, Some(23.0));
    close("meld_na", given, 23.05, 0.01);
}

#[test]
fn a_missing_dose_of_a_vasopressor_is_reported() {
    let given = json!({
        "map_mmhg": 69, "vasopressor": "norepinephrine", "pao2_fio2_mmhg": 500, "ventilated": false,
        "platelets_10e9_l": 200, "bilirubin_mg_dl": 0.5, "gcs": 15, "creatinine_mg_dl": 0.8,
    });
    let score = score("sofa", given);
    assert_eq!((score.value, score.min, score.max), (None, Some(3.0), Some(4.0)));
    assert!(score.reason.unwrap().contains("vasopressor_ug_kg_min"));
}
