//! Points on either side of each limit, as the published tables have them.

use super::score;
use serde_json::{Map, Value, json};

/// Checks the points of one item for values of one input.
fn table(id: &str, item: &str, input: &str, rows: &[(f64, f64)]) {
    beside(id, item, input, &json!({}), rows);
}

/// As `table`, with other inputs known.
fn beside(id: &str, item: &str, input: &str, others: &Value, rows: &[(f64, f64)]) {
    for (value, expected) in rows {
        let mut given: Map<String, Value> = others.as_object().unwrap().clone();
        given.insert(input.to_owned(), json!(value));
        let score = score(id, Value::Object(given));
        let found = score.items.iter().find(|found| found.name == item).unwrap_or_else(|| panic!("{id} has no {item}"));
        let (min, max) = (found.points.min, found.points.max);
        assert_eq!((min, max), (*expected, *expected), "{id}: {item} of {input} {value}");
    }
}

fn band(id: &str, given: Value, expected: &str) {
    assert_eq!(score(id, given.clone()).band.as_deref(), Some(expected), "{id} {given}");
}

#[test]
fn news2_has_the_points_of_its_chart() {
    let rates = [(8.0, 3.0), (9.0, 1.0), (11.0, 1.0), (12.0, 0.0), (20.0, 0.0), (21.0, 2.0), (24.0, 2.0), (25.0, 3.0)];
    table("news2", "respiratory_rate", "respiratory_rate", &rates);
    table(
        "news2",
        "spo2",
        "spo2_percent",
        &[(91.0, 3.0), (92.0, 2.0), (93.0, 2.0), (94.0, 1.0), (95.0, 1.0), (96.0, 0.0)],
    );
    table(
        "news2",
        "systolic",
        "systolic_mmhg",
        &[(90.0, 3.0), (91.0, 2.0), (100.0, 2.0), (101.0, 1.0), (110.0, 1.0), (111.0, 0.0), (219.0, 0.0), (220.0, 3.0)],
    );
    table(
        "news2",
        "heart_rate",
        "heart_rate_bpm",
        &[
            (40.0, 3.0),
            (41.0, 1.0),
            (50.0, 1.0),
            (51.0, 0.0),
            (90.0, 0.0),
            (91.0, 1.0),
            (110.0, 1.0),
            (111.0, 2.0),
            (130.0, 2.0),
            (131.0, 3.0),
        ],
    );
    table(
        "news2",
        "temperature",
        "temperature_c",
        &[(35.0, 3.0), (35.1, 1.0), (36.0, 1.0), (36.1, 0.0), (38.0, 0.0), (38.1, 1.0), (39.0, 1.0), (39.1, 2.0)],
    );
}

#[test]
fn the_second_saturation_scale_depends_on_oxygen() {
    let low = [(83.0, 3.0), (84.0, 2.0), (85.0, 2.0), (86.0, 1.0), (87.0, 1.0), (88.0, 0.0), (92.0, 0.0)];
    let oxygen = [(93.0, 1.0), (94.0, 1.0), (95.0, 2.0), (96.0, 2.0), (97.0, 3.0)];
    let air = oxygen.map(|(spo2, _)| (spo2, 0.0));
    let (on_oxygen, on_air) =
        (json!({"spo2_scale": 2, "supplemental_oxygen": true}), json!({"spo2_scale": 2, "supplemental_oxygen": false}));
    beside("news2", "spo2", "spo2_percent", &on_oxygen, &low);
    beside("news2", "spo2", "spo2_percent", &on_air, &low);
    beside("news2", "spo2", "spo2_percent", &on_oxygen, &oxygen);
    beside("news2", "spo2", "spo2_percent", &on_air, &air);
}

#[test]
fn news2_lifts_a_single_three_to_low_medium() {
    let usual = |name: &str, value: Value| {
        let mut given = json!({
            "respiratory_rate": 16, "spo2_percent": 97, "supplemental_oxygen": false, "systolic_mmhg": 120,
            "heart_rate_bpm": 72, "acvpu": "A", "temperature_c": 36.8,
        });
        given[name] = value;
        given
    };
    band("news2", usual("acvpu", json!("A")), "low");
    band("news2", usual("acvpu", json!("C")), "low-medium");
    band("news2", usual("respiratory_rate", json!(24)), "low");
    band("news2", usual("respiratory_rate", json!(25)), "low-medium");
}

#[test]
fn sepsis_criteria_have_their_published_limits() {
    table("qsofa", "respiratory_rate", "respiratory_rate", &[(21.0, 0.0), (22.0, 1.0)]);
    table("qsofa", "systolic", "systolic_mmhg", &[(101.0, 0.0), (100.0, 1.0)]);
    table("qsofa", "mentation", "gcs", &[(15.0, 0.0), (14.0, 1.0)]);
    table("sirs", "temperature", "temperature_c", &[(35.9, 1.0), (36.0, 0.0), (38.0, 0.0), (38.1, 1.0)]);
    table("sirs", "heart_rate", "heart_rate_bpm", &[(90.0, 0.0), (91.0, 1.0)]);
    table("sirs", "respiration", "respiratory_rate", &[(20.0, 0.0), (21.0, 1.0)]);
    beside("sirs", "respiration", "paco2_mmhg", &json!({"respiratory_rate": 20}), &[(32.0, 0.0), (31.0, 1.0)]);
    table("sirs", "leucocytes", "wbc_per_ul", &[(3999.0, 1.0), (4000.0, 0.0), (12_000.0, 0.0), (12_001.0, 1.0)]);
}

#[test]
fn sofa_has_the_points_of_its_table() {
    let ventilated = json!({"ventilated": true});
    beside(
        "sofa",
        "respiration",
        "pao2_fio2_mmhg",
        &ventilated,
        &[
            (400.0, 0.0),
            (399.0, 1.0),
            (300.0, 1.0),
            (299.0, 2.0),
            (200.0, 2.0),
            (199.0, 3.0),
            (100.0, 3.0),
            (99.0, 4.0),
        ],
    );
    beside("sofa", "respiration", "pao2_fio2_mmhg", &json!({"ventilated": false}), &[(199.0, 2.0), (99.0, 2.0)]);
    let platelets = [(150.0, 0.0), (149.0, 1.0), (99.0, 2.0), (49.0, 3.0), (20.0, 3.0), (19.0, 4.0)];
    table("sofa", "coagulation", "platelets_10e9_l", &platelets);
    let bilirubin = [(1.1, 0.0), (1.2, 1.0), (1.9, 1.0), (2.0, 2.0), (5.9, 2.0), (6.0, 3.0), (11.9, 3.0), (12.1, 4.0)];
    table("sofa", "liver", "bilirubin_mg_dl", &bilirubin);
    beside("sofa", "cardiovascular", "map_mmhg", &json!({"vasopressor": "none"}), &[(70.0, 0.0), (69.0, 1.0)]);
    let dopamine = json!({"vasopressor": "dopamine"});
    let doses = [(5.0, 2.0), (5.1, 3.0), (15.0, 3.0), (15.1, 4.0)];
    beside("sofa", "cardiovascular", "vasopressor_ug_kg_min", &dopamine, &doses);
    let norepinephrine = json!({"vasopressor": "norepinephrine"});
    beside("sofa", "cardiovascular", "vasopressor_ug_kg_min", &norepinephrine, &[(0.1, 3.0), (0.11, 4.0)]);
    let coma = [(15.0, 0.0), (14.0, 1.0), (13.0, 1.0), (12.0, 2.0), (10.0, 2.0), (9.0, 3.0), (6.0, 3.0), (5.0, 4.0)];
    table("sofa", "nervous", "gcs", &coma);
    let creatinine = [(1.1, 0.0), (1.2, 1.0), (1.9, 1.0), (2.0, 2.0), (3.4, 2.0), (3.5, 3.0), (4.9, 3.0), (5.1, 4.0)];
    table("sofa", "renal", "creatinine_mg_dl", &creatinine);
    beside(
        "sofa",
        "renal",
        "urine_ml_per_day",
        &json!({"creatinine_mg_dl": 1.0}),
        &[(500.0, 0.0), (499.0, 3.0), (200.0, 3.0), (199.0, 4.0)],
    );
}

#[test]
fn pneumonia_scores_have_their_published_limits() {
    for id in ["curb65", "crb65"] {
        table(id, "respiratory_rate", "respiratory_rate", &[(29.0, 0.0), (30.0, 1.0)]);
        table(id, "age", "age_years", &[(64.0, 0.0), (65.0, 1.0)]);
        beside(id, "pressure", "systolic_mmhg", &json!({"diastolic_mmhg": 61}), &[(90.0, 0.0), (89.0, 1.0)]);
        beside(id, "pressure", "diastolic_mmhg", &json!({"systolic_mmhg": 90}), &[(61.0, 0.0), (60.0, 1.0)]);
    }
    table("curb65", "urea", "urea_mmol_l", &[(7.0, 0.0), (7.1, 1.0)]);
    table("curb65", "urea", "bun_mg_dl", &[(19.0, 0.0), (20.0, 1.0)]);
    table("psi_port", "temperature", "temperature_c", &[(34.9, 15.0), (35.0, 0.0), (39.9, 0.0), (40.0, 15.0)]);
    table("psi_port", "heart_rate", "heart_rate_bpm", &[(124.0, 0.0), (125.0, 10.0)]);
    table("psi_port", "ph", "ph", &[(7.35, 0.0), (7.34, 30.0)]);
    table("psi_port", "urea", "bun_mg_dl", &[(29.0, 0.0), (30.0, 20.0)]);
    table("psi_port", "sodium", "sodium_mmol_l", &[(130.0, 0.0), (129.0, 20.0)]);
    table("psi_port", "glucose", "glucose_mg_dl", &[(249.0, 0.0), (250.0, 10.0)]);
    table("psi_port", "haematocrit", "haematocrit_percent", &[(30.0, 0.0), (29.0, 10.0)]);
    table("psi_port", "oxygen", "pao2_mmhg", &[(60.0, 0.0), (59.0, 10.0)]);
    table("psi_port", "oxygen", "spo2_percent", &[(90.0, 0.0), (89.0, 10.0)]);
}

#[test]
fn the_pneumonia_index_has_its_classes() {
    let mut given = json!({
        "age_years": 50, "sex": "male", "nursing_home": false, "neoplastic": false, "liver": false,
        "heart_failure": false, "cerebrovascular": false, "renal": false, "altered_mental_status": false,
        "respiratory_rate": 20, "systolic_mmhg": 120, "temperature_c": 37.5, "heart_rate_bpm": 90,
    });
    band("psi_port", given.clone(), "I");
    for (name, value) in [
        ("ph", json!(7.4)),
        ("bun_mg_dl", json!(15)),
        ("sodium_mmol_l", json!(140)),
        ("glucose_mg_dl", json!(100)),
        ("haematocrit_percent", json!(40)),
        ("pao2_mmhg", json!(80)),
        ("pleural_effusion", json!(false)),
    ] {
        given[name] = value;
    }
    for (age, class) in [(51, "II"), (70, "II"), (71, "III"), (90, "III"), (91, "IV")] {
        given["age_years"] = json!(age);
        band("psi_port", given.clone(), class);
    }
    given["altered_mental_status"] = json!(true);
    given["neoplastic"] = json!(true);
    for (age, class) in [(80, "IV"), (81, "V")] {
        given["age_years"] = json!(age);
        band("psi_port", given.clone(), class);
    }
}

#[test]
fn cardiac_scores_have_their_published_limits() {
    table("heart", "age", "age", &[(44.0, 0.0), (45.0, 1.0), (64.0, 1.0), (65.0, 2.0)]);
    table("heart", "troponin", "troponin_ratio", &[(1.0, 0.0), (1.1, 1.0), (3.0, 1.0), (3.1, 2.0)]);
    table("heart", "risk_factors", "risk_factor_count", &[(0.0, 0.0), (1.0, 1.0), (2.0, 1.0), (3.0, 2.0)]);
    table("timi_ua_nstemi", "age", "age", &[(64.0, 0.0), (65.0, 1.0)]);
    table("timi_ua_nstemi", "risk_factors", "risk_factor_count", &[(2.0, 0.0), (3.0, 1.0)]);
    table(
        "grace",
        "age",
        "age_years",
        &[(29.0, 0.0), (30.0, 8.0), (39.0, 8.0), (40.0, 25.0), (89.0, 91.0), (90.0, 100.0)],
    );
    table("grace", "systolic", "systolic_mmhg", &[(79.0, 58.0), (80.0, 53.0), (199.0, 10.0), (200.0, 0.0)]);
    table("grace", "heart_rate", "heart_rate_bpm", &[(49.0, 0.0), (50.0, 3.0), (199.0, 38.0), (200.0, 46.0)]);
    table("grace", "creatinine", "creatinine_mg_dl", &[(0.39, 1.0), (0.4, 4.0), (3.99, 21.0), (4.0, 28.0)]);
    for (timi, expected) in [(0, 4.7), (1, 4.7), (2, 8.3), (3, 13.2), (4, 19.9), (5, 26.2), (6, 40.9), (7, 40.9)] {
        assert_eq!(score("timi_risk_14d", json!({"timi_ua_nstemi": timi})).value, Some(expected));
    }
}

#[test]
fn rhythm_and_clot_scores_have_their_published_limits() {
    table("cha2ds2_vasc", "age", "age_years", &[(64.0, 0.0), (65.0, 1.0), (74.0, 1.0), (75.0, 2.0)]);
    table("has_bled", "age", "age_years", &[(65.0, 0.0), (66.0, 1.0)]);
    table("has_bled", "hypertension", "systolic_mmhg", &[(160.0, 0.0), (161.0, 1.0)]);
    table("has_bled", "alcohol", "alcoholic_drinks_per_week", &[(7.0, 0.0), (8.0, 1.0)]);
    table("wells_pe", "heart_rate", "heart_rate_bpm", &[(100.0, 0.0), (101.0, 1.5)]);
    table("perc", "age", "age_years", &[(49.0, 0.0), (50.0, 1.0)]);
    table("perc", "heart_rate", "heart_rate_bpm", &[(99.0, 0.0), (100.0, 1.0)]);
    table("perc", "spo2", "spo2_percent", &[(95.0, 0.0), (94.0, 1.0)]);
    table("revised_geneva", "age", "age_years", &[(65.0, 0.0), (66.0, 1.0)]);
    table("revised_geneva", "heart_rate", "heart_rate_bpm", &[(74.0, 0.0), (75.0, 3.0), (94.0, 3.0), (95.0, 5.0)]);
    table("spesi", "age", "age_years", &[(80.0, 0.0), (81.0, 1.0)]);
    table("spesi", "heart_rate", "heart_rate_bpm", &[(109.0, 0.0), (110.0, 1.0)]);
    table("spesi", "spo2", "spo2_percent", &[(90.0, 0.0), (89.0, 1.0)]);
}

#[test]
fn liver_and_bleeding_scores_have_their_published_limits() {
    table("child_pugh", "bilirubin", "bilirubin_mg_dl", &[(1.9, 1.0), (2.0, 2.0), (3.0, 2.0), (3.1, 3.0)]);
    table("child_pugh", "albumin", "albumin_g_dl", &[(3.6, 1.0), (3.5, 2.0), (2.8, 2.0), (2.7, 3.0)]);
    table("child_pugh", "inr", "inr", &[(1.6, 1.0), (1.7, 2.0), (2.3, 2.0), (2.4, 3.0)]);
    let grades = [(0.0, 1.0), (1.0, 2.0), (2.0, 2.0), (3.0, 3.0), (4.0, 3.0)];
    table("child_pugh", "encephalopathy", "encephalopathy_grade", &grades);
    let urea = [(6.4, 0.0), (6.5, 2.0), (7.9, 2.0), (8.0, 3.0), (9.9, 3.0), (10.0, 4.0), (24.9, 4.0), (25.0, 6.0)];
    table("glasgow_blatchford", "urea", "urea_mmol_l", &urea);
    let bun = [(18.1, 0.0), (18.2, 2.0), (22.3, 2.0), (22.4, 3.0), (27.9, 3.0), (28.0, 4.0), (69.9, 4.0), (70.0, 6.0)];
    table("glasgow_blatchford", "urea", "bun_mg_dl", &bun);
    let men = [(13.0, 0.0), (12.9, 1.0), (12.0, 1.0), (11.9, 3.0), (10.0, 3.0), (9.9, 6.0)];
    beside("glasgow_blatchford", "haemoglobin", "haemoglobin_g_dl", &json!({"sex": "male"}), &men);
    let women = [(12.0, 0.0), (11.9, 1.0), (10.0, 1.0), (9.9, 6.0)];
    beside("glasgow_blatchford", "haemoglobin", "haemoglobin_g_dl", &json!({"sex": "female"}), &women);
    let pressure = [(110.0, 0.0), (109.0, 1.0), (100.0, 1.0), (99.0, 2.0), (90.0, 2.0), (89.0, 3.0)];
    table("glasgow_blatchford", "systolic", "systolic_mmhg", &pressure);
    table("glasgow_blatchford", "heart_rate", "heart_rate_bpm", &[(99.0, 0.0), (100.0, 1.0)]);
}

#[test]
fn abcd2_and_trauma_have_their_published_limits() {
    table("abcd2", "age", "age", &[(59.0, 0.0), (60.0, 1.0)]);
    table("abcd2", "duration", "duration_minutes", &[(9.0, 0.0), (10.0, 1.0), (59.0, 1.0), (60.0, 2.0)]);
    beside("abcd2", "pressure", "systolic_bp", &json!({"diastolic_bp": 89}), &[(139.0, 0.0), (140.0, 1.0)]);
    beside("abcd2", "pressure", "diastolic_bp", &json!({"systolic_bp": 139}), &[(89.0, 0.0), (90.0, 1.0)]);
    let coma = [(3.0, 0.0), (4.0, 1.0), (5.0, 1.0), (6.0, 2.0), (8.0, 2.0), (9.0, 3.0), (12.0, 3.0), (13.0, 4.0)];
    table("rts", "gcs", "gcs", &coma.map(|(gcs, code)| (gcs, code * 0.9368)));
    let pressure =
        [(0.0, 0.0), (1.0, 1.0), (49.0, 1.0), (50.0, 2.0), (75.0, 2.0), (76.0, 3.0), (89.0, 3.0), (90.0, 4.0)];
    table("rts", "systolic", "systolic_mmhg", &pressure.map(|(pressure, code)| (pressure, code * 0.7326)));
    let rates = [(0.0, 0.0), (1.0, 1.0), (5.0, 1.0), (6.0, 2.0), (9.0, 2.0), (10.0, 4.0), (29.0, 4.0), (30.0, 3.0)];
    table("rts", "respiratory_rate", "respiratory_rate", &rates.map(|(rate, code)| (rate, code * 0.2908)));
}

#[test]
fn kdigo_stages_have_their_published_limits() {
    for (creatinine, expected) in [(1.4, 0), (1.5, 1), (1.9, 1), (2.0, 2), (2.9, 2), (3.0, 3)] {
        let given = json!({
            "creatinine_mg_dl": creatinine, "baseline_creatinine_mg_dl": 1.0, "baseline_within_48h": false,
        });
        assert_eq!(score("kdigo", given).value, Some(f64::from(expected)), "{creatinine}");
    }
    let rise = json!({"creatinine_mg_dl": 1.3, "baseline_creatinine_mg_dl": 1.0, "baseline_within_48h": true});
    assert_eq!(score("kdigo", rise).value, Some(1.0));
    let unknown = score("kdigo_aki", json!({"creatinine_mg_dl": 1.3, "baseline_creatinine_mg_dl": 1.0}));
    assert_eq!((unknown.value, unknown.min, unknown.max), (None, Some(0.0), Some(1.0)));
    let none = score("kdigo", json!({"creatinine_mg_dl": 3.0}));
    assert_eq!((none.value, none.min, none.max, none.status), (None, Some(0.0), Some(3.0), "partial"));
    for (rate, hours, expected) in [(0.5, 24, 0), (0.4, 5, 0), (0.4, 6, 1), (0.4, 12, 2), (0.2, 24, 3), (0.0, 12, 3)] {
        let given = json!({
            "creatinine_mg_dl": 1.0, "baseline_creatinine_mg_dl": 1.0, "urine_ml_kg_h": rate, "urine_hours": hours,
        });
        assert_eq!(score("kdigo", given).value, Some(f64::from(expected)), "{rate} for {hours} h");
    }
}

#[test]
fn bands_begin_at_their_published_values() {
    for (egfr_creatinine, expected) in [(0.8, "G1"), (1.1, "G2"), (1.5, "G3a"), (2.0, "G3b"), (3.0, "G4"), (6.0, "G5")]
    {
        band("ckd_epi_2021", json!({"creatinine_mg_dl": egfr_creatinine, "age_years": 50, "sex": "male"}), expected);
    }
    for (acr, expected) in [(29.9, "A1"), (30.0, "A2"), (300.0, "A2"), (300.1, "A3")] {
        band("albuminuria_acr", json!({"acr_mg_g": acr}), expected);
    }
    for (weight, expected) in [(73.9, "underweight"), (74.1, "usual"), (100.0, "overweight"), (120.0, "obese")] {
        band("bmi", json!({"weight_kg": weight, "height_cm": 200}), expected);
    }
    band("wells_pe", pe(false), "unlikely");
    band("wells_pe", pe(true), "likely");
    // Totals of 4.7, 4.8, 5.4 and 5.5.
    for (border, colours, expected) in
        [(4, 3, "benign"), (5, 3, "suspicious"), (6, 4, "suspicious"), (7, 4, "highly suspicious")]
    {
        let given = json!({"asymmetry": 1, "border": border, "colours": colours, "structures": 3});
        band("abcd_dermoscopy", given, expected);
    }
}

/// 4 points, or 4.5 with the fast heart instead of the haemoptysis.
fn pe(fast: bool) -> Value {
    json!({
        "clinical_signs_dvt": true, "pe_most_likely": false, "heart_rate_bpm": if fast { 101 } else { 100 },
        "immobilisation_3d": false, "surgery_4w": false, "previous_pe": false, "previous_dvt": false,
        "haemoptysis": !fast, "malignancy": false,
    })
}

#[test]
fn questionnaires_have_their_published_bands() {
    let sum = |id: &str, items: u32, total: u32| {
        let mut left = total;
        let answers: Map<String, Value> = (1..=items)
            .map(|item| {
                let answer = left.min(if id == "k6" { 4 } else { 3 });
                left -= answer;
                (format!("{id}_{item}"), json!(answer))
            })
            .collect();
        Value::Object(answers)
    };
    for (total, expected) in [
        (4, "minimal"),
        (5, "mild"),
        (9, "mild"),
        (10, "moderate"),
        (14, "moderate"),
        (15, "moderately severe"),
        (19, "moderately severe"),
        (20, "severe"),
    ] {
        band("phq9", sum("phq9", 9, total), expected);
    }
    for (total, expected) in
        [(4, "minimal"), (5, "mild"), (9, "mild"), (10, "moderate"), (14, "moderate"), (15, "severe")]
    {
        band("gad7", sum("gad7", 7, total), expected);
    }
    for (total, expected) in [(12, "under 13"), (13, "13 or more")] {
        band("k6", sum("k6", 6, total), expected);
    }
}
