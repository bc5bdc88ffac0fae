//! Vectors of the catalogue's engines q214 to q236 that are scores or
//! formulas, with the engine's fields under the names of the scores.

use super::{close, reference, score};
use serde_json::{Map, Value, json};

/// Vector of an engine: its input and what is expected.
fn vector(number: u64) -> Option<(Value, Value)> {
    let vectors = reference("catalogue/vectors.json", &format!("the vector of q{number}"))?;
    let vector = vectors.as_array().unwrap().iter().find(|vector| vector["number"] == number).unwrap().clone();
    Some((vector["input"].clone(), vector["expect"].clone()))
}

/// Fields under other names; those that are not listed stay as they are.
fn renamed(input: &Value, names: &[(&str, &str)]) -> Value {
    let rename =
        |name: &String| names.iter().find(|(from, _)| from == name).map_or(name.clone(), |(_, to)| (*to).to_owned());
    Value::Object(input.as_object().unwrap().iter().map(|(name, value)| (rename(name), value.clone())).collect())
}

fn with(mut input: Value, more: Value) -> Value {
    for (name, value) in more.as_object().unwrap() {
        input[name] = value.clone();
    }
    input
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

const SIGNS: &[(&str, &str)] = &[
    ("spo2", "spo2_percent"),
    ("oxygen", "supplemental_oxygen"),
    ("systolic", "systolic_mmhg"),
    ("diastolic", "diastolic_mmhg"),
    ("heart_rate", "heart_rate_bpm"),
    ("consciousness", "acvpu"),
    ("temperature", "temperature_c"),
    ("age", "age_years"),
    ("urea", "urea_mmol_l"),
    ("creatinine", "creatinine_mg_dl"),
    ("weight", "weight_kg"),
    ("height", "height_cm"),
    ("bilirubin", "bilirubin_mg_dl"),
    ("sodium", "sodium_mmol_l"),
    ("albumin", "albumin_g_dl"),
    ("platelets", "platelets_10e9_l"),
    ("pao2_fio2", "pao2_fio2_mmhg"),
    ("map", "map_mmhg"),
    ("chloride", "chloride_mmol_l"),
    ("hco3", "bicarbonate_mmol_l"),
    ("glucose", "glucose_mg_dl"),
    ("bun", "bun_mg_dl"),
    ("total_cholesterol", "total_cholesterol_mg_dl"),
    ("hdl", "hdl_mg_dl"),
    ("treated", "treated_bp"),
];

#[test]
fn q214_is_news2() {
    let Some((input, expect)) = vector(214) else { return };
    let score = score("news2", renamed(&input, SIGNS));
    assert_eq!(score.value, expect["score"].as_f64());
    assert_eq!(score.band.as_deref(), expect["risk"].as_str());
    assert_eq!(score.items.iter().any(|item| item.points.min >= 3.0), expect["red_flag"].as_bool().unwrap());
}

#[test]
fn q215_is_sofa_and_qsofa() {
    let Some((input, expect)) = vector(215) else { return };
    let sofa = score("sofa", with(renamed(&input, SIGNS), json!({"vasopressor": "none"})));
    assert_eq!(sofa.value, expect["sofa"].as_f64());
    for (organ, points) in expect["organs"].as_object().unwrap() {
        let item = sofa.items.iter().find(|item| item.name == organ).unwrap();
        assert_eq!(item.points.min, number(points), "{organ}");
    }
    close("qsofa", renamed(&input, SIGNS), number(&expect["qsofa"]), 0.0);
}

#[test]
fn q216_is_the_coma_scale_and_the_trauma_scores() {
    let Some((input, expect)) = vector(216) else { return };
    let names = [("eye", "eye_opening"), ("verbal", "verbal_response"), ("motor", "motor_response")];
    close("gcs", renamed(&input, &names), number(&expect["gcs"]), 0.0);
    let signs = with(renamed(&input, SIGNS), json!({"gcs": expect["gcs"]}));
    close("rts", signs.clone(), number(&expect["rts"]), 1e-9);
    let mut grades: Map<String, Value> =
        ["face", "extremities", "external"].iter().map(|region| (format!("ais_{region}"), json!(0))).collect();
    grades.extend(
        input["ais"].as_object().unwrap().iter().map(|(region, grade)| (format!("ais_{region}"), grade.clone())),
    );
    close("iss", Value::Object(grades), number(&expect["iss"]), 0.0);
    close("triss", with(signs, json!({"iss": expect["iss"]})), number(&expect["survival"]), 1e-9);
}

#[test]
fn q218_is_the_burns_formulas() {
    let Some((input, expect)) = vector(218) else { return };
    let given = with(
        renamed(&input, &[("weight", "weight_kg"), ("tbsa", "tbsa_percent"), ("age", "age_years")]),
        json!({"inhalation_injury": false}),
    );
    close("parkland_24h", given.clone(), number(&expect["total_24h"]), 0.0);
    close("revised_baux", given, number(&expect["revised_baux"]), 0.0);
}

#[test]
fn q219_is_heart() {
    let Some((input, expect)) = vector(219) else { return };
    close("heart", renamed(&input, &[("risk_factors", "risk_factor_count")]), number(&expect["heart"]), 0.0);
}

#[test]
fn q220_is_wells_and_the_d_dimer_limit() {
    let Some((input, expect)) = vector(220) else { return };
    let names = [("dvt_signs", "clinical_signs_dvt"), ("immobilised", "immobilisation_or_surgery")];
    let given = with(renamed(&input["criteria"], &names), json!({"heart_rate_bpm": input["heart_rate"]}));
    close("wells_pe", given, number(&expect["wells"]), 0.0);
    close("d_dimer_age_adjusted", json!({"age_years": input["age"]}), number(&expect["d_dimer_threshold"]), 0.0);
}

#[test]
fn q221_is_the_scores_of_atrial_fibrillation() {
    let Some((input, expect)) = vector(221) else { return };
    // The engine's defaults are false.
    let stroke =
        json!({"congestive_heart_failure": false, "stroke_tia_thromboembolism": false, "vascular_disease": false});
    close("cha2ds2_vasc", with(renamed(&input, SIGNS), stroke), number(&expect["cha2ds2_vasc"]), 0.0);
    let bleeding = json!({
        "uncontrolled_hypertension": false, "abnormal_renal_function": false, "abnormal_liver_function": false,
        "stroke": false, "bleeding_history": false, "labile_inr": false, "antiplatelet_or_nsaid": false,
        "alcohol_excess": false,
    });
    close("has_bled", with(renamed(&input, SIGNS), bleeding), number(&expect["has_bled"]), 0.0);
}

#[test]
fn q222_is_the_pooled_cohort_equations() {
    let Some((input, expect)) = vector(222) else { return };
    let given = with(renamed(&input, SIGNS), json!({"treated_bp": false, "smoker": false, "diabetes": false}));
    close("ascvd_pce_2013", given, number(&expect["ascvd"]), 1e-9);
}

#[test]
fn q223_is_the_kidney_equations() {
    let Some((input, expect)) = vector(223) else { return };
    close("ckd_epi_2021", renamed(&input, SIGNS), number(&expect["egfr"]), 1e-9);
    close("cockcroft_gault", renamed(&input, SIGNS), number(&expect["crcl"]), 1e-9);
}

#[test]
fn q224_is_the_liver_scores() {
    let Some((input, expect)) = vector(224) else { return };
    let given = with(renamed(&input, SIGNS), json!({"dialysis": false}));
    assert_eq!(score("meld_3_0", given).value, expect["meld3"].as_f64());
    let child = score("child_pugh", renamed(&renamed(&input, SIGNS), &[("encephalopathy", "encephalopathy_grade")]));
    assert_eq!(child.value, expect["child_pugh"].as_f64());
    assert_eq!(child.band.as_deref(), expect["child_class"].as_str());
}

#[test]
fn q225_is_curb65() {
    let Some((input, expect)) = vector(225) else { return };
    for id in ["curb65", "crb65"] {
        close(id, renamed(&input, SIGNS), number(&expect[id]), 0.0);
    }
}

#[test]
fn q226_is_the_stroke_scale() {
    let Some((input, expect)) = vector(226) else { return };
    let score = score("nihss", input["items"].clone());
    assert_eq!(score.value, expect["nihss"].as_f64());
    assert_eq!(score.band.as_deref(), expect["severity"].as_str());
}

#[test]
fn q227_is_the_acid_base_formulas() {
    let Some((input, expect)) = vector(227) else { return };
    let given = renamed(&input, SIGNS);
    close("anion_gap", given.clone(), number(&expect["anion_gap"]), 1e-9);
    close("serum_osmolality", given.clone(), number(&expect["osmolality"]), 1e-9);
    let range = &expect["compensation"]["expected_pco2"];
    close("winters_pco2", given, (number(&range[0]) + number(&range[1])) / 2.0, 1e-9);
}

#[test]
fn q228_is_the_four_corrections_of_qt() {
    let Some((input, expect)) = vector(228) else { return };
    let given = json!({"qt_ms": input["qt"], "heart_rate_bpm": input["heart_rate"]});
    for (formula, expected) in expect["qtc"].as_object().unwrap() {
        close(&format!("qtc_{formula}"), given.clone(), number(expected), 1e-9);
    }
}

#[test]
fn q229_is_the_body_measures() {
    let Some((input, expect)) = vector(229) else { return };
    let ids = [
        ("bmi", "bmi"),
        ("bsa_mosteller", "bsa_mosteller"),
        ("bsa_dubois", "bsa_dubois"),
        ("ibw_devine", "ideal_weight"),
        ("bmr_mifflin", "bmr"),
    ];
    for (id, field) in ids {
        close(id, renamed(&input, SIGNS), number(&expect[field]), 1e-6);
    }
    let opioid = &input["opioids"][0];
    let given = Value::Object(Map::from_iter([(
        format!("{}_mg_per_day", opioid["drug"].as_str().unwrap()),
        opioid["mg_per_day"].clone(),
    )]));
    close("opioid_mme", given, number(&expect["mme"]), 1e-9);
}

#[test]
fn q230_is_the_formulas_of_childhood() {
    let Some((input, expect)) = vector(230) else { return };
    let by_age = [
        ("weight_apls", "weight"),
        ("tube_uncuffed", "tube_uncuffed"),
        ("tube_cuffed", "tube_cuffed"),
        ("tube_depth", "tube_depth"),
    ];
    for (id, field) in by_age {
        close(id, input.clone(), number(&expect[field]), 1e-9);
    }
    let by_weight = [
        ("defibrillation_joules", "defibrillation"),
        ("fluid_bolus_ml", "fluid_bolus"),
        ("adrenaline_arrest_ug", "adrenaline"),
    ];
    for (id, field) in by_weight {
        close(id, json!({"weight_kg": expect["weight"]}), number(&expect[field]), 1e-9);
    }
}

#[test]
fn q232_is_the_signs_of_dehydration() {
    let Some((input, expect)) = vector(232) else { return };
    let class = score("who_dehydration", input["signs"].clone());
    assert_eq!(class.band.as_deref(), expect["class"].as_str());
    let volume = &expect["volumes"][0]["ml"];
    close("ors_plan_b_ml", json!({"weight_kg": input["weight"]}), number(volume), 0.0);
}

#[test]
fn q233_is_the_questionnaires() {
    let Some((input, expect)) = vector(233) else { return };
    for id in ["phq9", "gad7"] {
        let answers = input[id].as_array().unwrap().iter().enumerate();
        let given: Map<String, Value> =
            answers.map(|(index, answer)| (format!("{id}_{}", index + 1), answer.clone())).collect();
        let score = score(id, Value::Object(given));
        assert_eq!(score.value, expect["scores"][id].as_f64());
        assert_eq!(score.band.as_deref(), expect["severity"][id].as_str());
    }
}

#[test]
fn q236_is_the_mayo_model() {
    let Some((input, expect)) = vector(236) else { return };
    let given = renamed(&input["features"], &[("smoker", "ever_smoker")]);
    close("mayo_nodule", given, number(&expect["probability"]), 1e-9);
}
