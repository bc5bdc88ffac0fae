//! A second entry of the constants, made apart from the data files, and the
//! worked examples of the publications.

use super::close;
use serde_json::json;
use std::collections::BTreeMap;

const ASCVD: &str = include_str!("../../data/constants/ascvd_pce.toml");
const FRAMINGHAM: &str = include_str!("../../data/constants/framingham_2008.toml");
const SCORE2: &str = include_str!("../../data/constants/score2.toml");
const SCORE2_OP: &str = include_str!("../../data/constants/score2_op.toml");

fn flat(prefix: &str, value: &toml::Value, into: &mut BTreeMap<String, f64>) {
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| flat(&format!("{prefix}/{key}"), value, into))
        }
        toml::Value::Array(array) => {
            array.iter().enumerate().for_each(|(index, value)| flat(&format!("{prefix}/{index}"), value, into));
        }
        toml::Value::Float(float) => _ = into.insert(prefix.to_owned(), *float),
        toml::Value::Integer(integer) => _ = into.insert(prefix.to_owned(), *integer as f64),
        _ => {}
    }
}

/// Every number of a file, by its path, must be that of the second entry.
fn same(file: &str, second: &[(&str, f64)]) {
    let mut first = BTreeMap::new();
    let table: toml::Table = file.parse().unwrap();
    flat("", &table["models"], &mut first);
    let second: BTreeMap<String, f64> = second.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect();
    assert_eq!(first, second);
}

#[test]
fn the_pooled_cohort_constants_agree_with_their_second_entry() {
    same(
        ASCVD,
        &[
            ("/female_white/baseline_survival", 0.9665),
            ("/female_white/mean", -29.18),
            ("/female_white/terms/ln_age", -29.799),
            ("/female_white/terms/ln_age_x_ln_age", 4.884),
            ("/female_white/terms/ln_total_cholesterol", 13.54),
            ("/female_white/terms/ln_age_x_ln_total_cholesterol", -3.114),
            ("/female_white/terms/ln_hdl", -13.578),
            ("/female_white/terms/ln_age_x_ln_hdl", 3.149),
            ("/female_white/terms/ln_treated_sbp", 2.019),
            ("/female_white/terms/ln_untreated_sbp", 1.957),
            ("/female_white/terms/smoker", 7.574),
            ("/female_white/terms/ln_age_x_smoker", -1.665),
            ("/female_white/terms/diabetes", 0.661),
            ("/female_black/baseline_survival", 0.9533),
            ("/female_black/mean", 86.61),
            ("/female_black/terms/ln_age", 17.114),
            ("/female_black/terms/ln_total_cholesterol", 0.94),
            ("/female_black/terms/ln_hdl", -18.92),
            ("/female_black/terms/ln_age_x_ln_hdl", 4.475),
            ("/female_black/terms/ln_treated_sbp", 29.291),
            ("/female_black/terms/ln_age_x_ln_treated_sbp", -6.432),
            ("/female_black/terms/ln_untreated_sbp", 27.82),
            ("/female_black/terms/ln_age_x_ln_untreated_sbp", -6.087),
            ("/female_black/terms/smoker", 0.691),
            ("/female_black/terms/diabetes", 0.874),
            ("/male_white/baseline_survival", 0.9144),
            ("/male_white/mean", 61.18),
            ("/male_white/terms/ln_age", 12.344),
            ("/male_white/terms/ln_total_cholesterol", 11.853),
            ("/male_white/terms/ln_age_x_ln_total_cholesterol", -2.664),
            ("/male_white/terms/ln_hdl", -7.99),
            ("/male_white/terms/ln_age_x_ln_hdl", 1.769),
            ("/male_white/terms/ln_treated_sbp", 1.797),
            ("/male_white/terms/ln_untreated_sbp", 1.764),
            ("/male_white/terms/smoker", 7.837),
            ("/male_white/terms/ln_age_x_smoker", -1.795),
            ("/male_white/terms/diabetes", 0.658),
            ("/male_black/baseline_survival", 0.8954),
            ("/male_black/mean", 19.54),
            ("/male_black/terms/ln_age", 2.469),
            ("/male_black/terms/ln_total_cholesterol", 0.302),
            ("/male_black/terms/ln_hdl", -0.307),
            ("/male_black/terms/ln_treated_sbp", 1.916),
            ("/male_black/terms/ln_untreated_sbp", 1.809),
            ("/male_black/terms/smoker", 0.549),
            ("/male_black/terms/diabetes", 0.645),
        ],
    );
}

#[test]
fn the_framingham_constants_agree_with_their_second_entry() {
    same(
        FRAMINGHAM,
        &[
            ("/female/baseline_survival", 0.95012),
            ("/female/mean", 26.1931),
            ("/female/terms/ln_age", 2.32888),
            ("/female/terms/ln_total_cholesterol", 1.20904),
            ("/female/terms/ln_hdl", -0.70833),
            ("/female/terms/ln_untreated_sbp", 2.76157),
            ("/female/terms/ln_treated_sbp", 2.82263),
            ("/female/terms/smoker", 0.52873),
            ("/female/terms/diabetes", 0.69154),
            ("/male/baseline_survival", 0.88936),
            ("/male/mean", 23.9802),
            ("/male/terms/ln_age", 3.06117),
            ("/male/terms/ln_total_cholesterol", 1.1237),
            ("/male/terms/ln_hdl", -0.93263),
            ("/male/terms/ln_untreated_sbp", 1.93303),
            ("/male/terms/ln_treated_sbp", 1.99881),
            ("/male/terms/smoker", 0.65451),
            ("/male/terms/diabetes", 0.57367),
        ],
    );
}

#[test]
fn the_score2_constants_agree_with_their_second_entry() {
    same(
        SCORE2,
        &[
            ("/male/baseline_survival", 0.9605),
            ("/male/terms/age", 0.3742),
            ("/male/terms/smoker", 0.6012),
            ("/male/terms/sbp", 0.2777),
            ("/male/terms/diabetes", 0.6457),
            ("/male/terms/total_cholesterol", 0.1458),
            ("/male/terms/hdl", -0.2698),
            ("/male/terms/age_x_smoker", -0.0755),
            ("/male/terms/age_x_sbp", -0.0255),
            ("/male/terms/age_x_total_cholesterol", -0.0281),
            ("/male/terms/age_x_hdl", 0.0426),
            ("/male/terms/age_x_diabetes", -0.0983),
            ("/male/regions/low/0", -0.5699),
            ("/male/regions/low/1", 0.7476),
            ("/male/regions/moderate/0", -0.1565),
            ("/male/regions/moderate/1", 0.8009),
            ("/male/regions/high/0", 0.3207),
            ("/male/regions/high/1", 0.9360),
            ("/male/regions/very_high/0", 0.5836),
            ("/male/regions/very_high/1", 0.8294),
            ("/female/baseline_survival", 0.9776),
            ("/female/terms/age", 0.4648),
            ("/female/terms/smoker", 0.7744),
            ("/female/terms/sbp", 0.3131),
            ("/female/terms/diabetes", 0.8096),
            ("/female/terms/total_cholesterol", 0.1002),
            ("/female/terms/hdl", -0.2606),
            ("/female/terms/age_x_smoker", -0.1088),
            ("/female/terms/age_x_sbp", -0.0277),
            ("/female/terms/age_x_total_cholesterol", -0.0226),
            ("/female/terms/age_x_hdl", 0.0613),
            ("/female/terms/age_x_diabetes", -0.1272),
            ("/female/regions/low/0", -0.738),
            ("/female/regions/low/1", 0.7019),
            ("/female/regions/moderate/0", -0.3143),
            ("/female/regions/moderate/1", 0.7701),
            ("/female/regions/high/0", 0.571),
            ("/female/regions/high/1", 0.9369),
            ("/female/regions/very_high/0", 0.9412),
            ("/female/regions/very_high/1", 0.8329),
        ],
    );
}

#[test]
fn the_score2_op_constants_agree_with_their_second_entry() {
    same(
        SCORE2_OP,
        &[
            ("/male/baseline_survival", 0.7576),
            ("/male/mean", 0.0929),
            ("/male/terms/age", 0.0634),
            ("/male/terms/diabetes", 0.4245),
            ("/male/terms/smoker", 0.3524),
            ("/male/terms/sbp", 0.0094),
            ("/male/terms/total_cholesterol", 0.085),
            ("/male/terms/hdl", -0.3564),
            ("/male/terms/age_x_diabetes", -0.0174),
            ("/male/terms/age_x_smoker", -0.0247),
            ("/male/terms/age_x_sbp", -0.0005),
            ("/male/terms/age_x_total_cholesterol", 0.0073),
            ("/male/terms/age_x_hdl", 0.0091),
            ("/male/regions/low/0", -0.34),
            ("/male/regions/low/1", 1.19),
            ("/male/regions/moderate/0", 0.01),
            ("/male/regions/moderate/1", 1.25),
            ("/male/regions/high/0", 0.08),
            ("/male/regions/high/1", 1.15),
            ("/male/regions/very_high/0", 0.05),
            ("/male/regions/very_high/1", 0.7),
            ("/female/baseline_survival", 0.8082),
            ("/female/mean", 0.229),
            ("/female/terms/age", 0.0789),
            ("/female/terms/diabetes", 0.601),
            ("/female/terms/smoker", 0.4921),
            ("/female/terms/sbp", 0.0102),
            ("/female/terms/total_cholesterol", 0.0605),
            ("/female/terms/hdl", -0.304),
            ("/female/terms/age_x_diabetes", -0.0107),
            ("/female/terms/age_x_smoker", -0.0255),
            ("/female/terms/age_x_sbp", -0.0004),
            ("/female/terms/age_x_total_cholesterol", -0.0009),
            ("/female/terms/age_x_hdl", 0.0154),
            ("/female/regions/low/0", -0.52),
            ("/female/regions/low/1", 1.01),
            ("/female/regions/moderate/0", -0.1),
            ("/female/regions/moderate/1", 1.1),
            ("/female/regions/high/0", 0.38),
            ("/female/regions/high/1", 1.09),
            ("/female/regions/very_high/0", 0.38),
            ("/female/regions/very_high/1", 0.69),
        ],
    );
}

/// Abstract of the SCORE2 publication: 50 years, smoker, 140 mmHg, total
/// cholesterol 5.5 and HDL 1.3 mmol/L.
#[test]
fn score2_gives_the_examples_of_its_publication() {
    let examples =
        [("male", "low", 5.9), ("male", "very_high", 14.0), ("female", "low", 4.2), ("female", "very_high", 13.7)];
    for (sex, region, expected) in examples {
        let given = json!({
            "region": region, "age_years": 50, "sex": sex, "smoker": true, "systolic_mmhg": 140,
            "total_cholesterol_mmol_l": 5.5, "hdl_mmol_l": 1.3,
        });
        close("score2", given, expected, 0.05);
    }
}

/// Examples of the guideline's appendix: 2.1, 3.0, 5.3 and 6.1 %, which the
/// unrounded coefficients meet to 0.1.
#[test]
fn the_pooled_cohort_equations_give_the_examples_of_their_publication() {
    for (sex, race, expected) in
        [("female", "white", 2.1), ("female", "black", 3.0), ("male", "white", 5.3), ("male", "black", 6.1)]
    {
        let given = json!({
            "age_years": 55, "sex": sex, "race": race, "total_cholesterol_mg_dl": 213, "hdl_mg_dl": 50,
            "systolic_mmhg": 120, "treated_bp": false, "smoker": false, "diabetes": false,
        });
        close("ascvd_pce_2013", given, expected, 0.1);
    }
}

/// Woman of 61 years, worked example of D'Agostino 2008: cholesterol 180, HDL
/// 47, untreated 124 mmHg, smoker: 10.48 %.
#[test]
fn framingham_gives_the_example_of_its_publication() {
    let given = json!({
        "age_years": 61, "sex": "female", "total_cholesterol_mg_dl": 180, "hdl_mg_dl": 47, "systolic_mmhg": 124,
        "treated_bp": false, "smoker": true, "diabetes": false,
    });
    close("framingham_2008", given, 10.48, 0.05);
}

#[test]
fn heart_age_is_the_own_age_with_the_best_values() {
    for (sex, age) in [("female", 40), ("female", 61), ("male", 53), ("male", 74)] {
        let given = json!({
            "age_years": age, "sex": sex, "total_cholesterol_mg_dl": 180, "hdl_mg_dl": 45, "systolic_mmhg": 125,
            "treated_bp": false, "smoker": false, "diabetes": false,
        });
        close("framingham_heart_age", given, f64::from(age), 1e-9);
    }
}
