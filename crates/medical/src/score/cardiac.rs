//! Risk in chest pain and acute coronary syndrome: HEART, TIMI, GRACE.

use super::Source;
use super::definition::{AGE, Definition, Outcome, choice, flag, number, whole};
use super::interval::{Interval, at_least, below, itself, over, points, under, up_to};
use super::known::Known;
use super::units::CREATININE_MG_DL_PER_UMOL_L;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "heart",
        name: "HEART score",
        engine: Some("q219"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "six-2008",
            title: "Six AJ, Backus BE, Kelder JC. Chest pain in the emergency room: value of the HEART score. Neth Heart J 16",
            year: 2008,
            url: "https://doi.org/10.1007/BF03086144",
        },
        inputs: &[
            choice(
                "history",
                &[("slightly_suspicious", 0.0), ("moderately_suspicious", 1.0), ("highly_suspicious", 2.0)],
            ),
            choice(
                "ecg",
                &[
                    ("normal", 0.0),
                    ("non_specific_repolarisation", 1.0),
                    ("nonspecific_repolarization", 1.0),
                    ("significant_st_deviation", 2.0),
                    ("significant_st_depression", 2.0),
                ],
            ),
            AGE,
            choice(
                "risk_factors",
                &[
                    ("none", 0.0),
                    ("one_or_two", 1.0),
                    ("three_or_more_or_atherosclerosis", 2.0),
                    ("three_or_more", 2.0),
                ],
            ),
            whole("risk_factor_count", 0.0, 20.0).in_place_of(&["risk_factors"]),
            flag("known_cad").optional(),
            choice("troponin", &[("normal", 0.0), ("one_to_three_times", 1.0), ("over_three_times", 2.0)]),
            number("troponin_ratio", 0.0, 1e7).in_place_of(&["troponin"]),
        ],
        caveat: Some("Not with ST elevation or instability: those are treated at once."),
        compute: heart,
    },
    Definition {
        id: "timi_ua_nstemi",
        name: "TIMI risk score for unstable angina and NSTEMI",
        engine: Some("q219"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "antman-2000",
            title: "Antman EM et al. The TIMI risk score for unstable angina/non-ST elevation MI. JAMA 284",
            year: 2000,
            url: "https://doi.org/10.1001/jama.284.7.835",
        },
        inputs: &[
            AGE,
            flag("three_or_more_cad_risk_factors"),
            whole("risk_factor_count", 0.0, 20.0).in_place_of(&["three_or_more_cad_risk_factors"]),
            flag("known_cad"),
            flag("aspirin_use_past_7_days"),
            flag("severe_angina"),
            flag("st_deviation"),
            flag("positive_biomarker"),
            number("troponin_ratio", 0.0, 1e7).in_place_of(&["positive_biomarker"]),
        ],
        caveat: None,
        compute: timi,
    },
    Definition {
        id: "timi_risk_14d",
        name: "TIMI, risk of death, infarction or urgent revascularisation in 14 days",
        engine: Some("q219"),
        unit: "%",
        decimals: 1,
        source: Source {
            id: "antman-2000",
            title: "Antman EM et al. The TIMI risk score for unstable angina/non-ST elevation MI. JAMA 284",
            year: 2000,
            url: "https://doi.org/10.1001/jama.284.7.835",
        },
        inputs: &[whole("timi_ua_nstemi", 0.0, 7.0)],
        caveat: None,
        compute: |k| {
            let steps = [(1.0, 4.7), (2.0, 8.3), (3.0, 13.2), (4.0, 19.9), (5.0, 26.2)];
            Outcome::bounded(up_to(k.num("timi_ua_nstemi"), &steps, 40.9))
        },
    },
    Definition {
        id: "grace",
        name: "GRACE score, death in hospital",
        engine: None,
        unit: "points",
        decimals: 0,
        source: Source {
            id: "granger-2003",
            title: "Granger CB et al. Predictors of hospital mortality in the Global Registry of Acute Coronary Events. \
                    Arch Intern Med 163",
            year: 2003,
            url: "https://doi.org/10.1001/archinte.163.19.2345",
        },
        inputs: &[
            AGE,
            number("heart_rate_bpm", 0.0, 350.0),
            number("systolic_mmhg", 0.0, 350.0),
            number("creatinine_mg_dl", 0.0, 40.0).alias(&[("creatinine_umol_l", CREATININE_MG_DL_PER_UMOL_L)]),
            whole("killip_class", 1.0, 4.0),
            flag("cardiac_arrest"),
            flag("st_deviation"),
            flag("positive_biomarker"),
        ],
        caveat: Some("Bands of NSTE-ACS, in hospital."),
        compute: grace,
    },
];

fn heart(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The HEART score is for adults.");
    }
    let counted = k.num("risk_factor_count").map(|count| under(Some(count), &[(1.0, 0.0), (3.0, 1.0)], 2.0));
    let listed = itself(k.num("risk_factors"), 0.0, 2.0);
    let risks = if k.num("risk_factors").is_some() { listed } else { counted.unwrap_or(listed) };
    let atherosclerosis = points(k.flag("known_cad").or(Some(false)), 2.0);
    let ratio = up_to(k.num("troponin_ratio"), &[(1.0, 0.0), (3.0, 1.0)], 2.0);
    let troponin = k.num("troponin").map_or(ratio, Interval::exactly);
    Outcome::sum([
        ("history", itself(k.num("history"), 0.0, 2.0)),
        ("ecg", itself(k.num("ecg"), 0.0, 2.0)),
        ("age", under(k.age(), &[(45.0, 0.0), (65.0, 1.0)], 2.0)),
        ("risk_factors", risks.greater(atherosclerosis)),
        ("troponin", troponin),
    ])
    .bands(&[(0.0, "low"), (4.0, "moderate"), (7.0, "high")])
}

fn timi(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The TIMI score is for adults.");
    }
    let three = k.flag("three_or_more_cad_risk_factors").or_else(|| at_least(k.num("risk_factor_count"), 3.0));
    let marker = k.flag("positive_biomarker").or_else(|| over(k.num("troponin_ratio"), 1.0));
    Outcome::sum([
        ("age", points(at_least(k.age(), 65.0), 1.0)),
        ("risk_factors", points(three, 1.0)),
        ("known_cad", points(k.flag("known_cad"), 1.0)),
        ("aspirin", points(k.flag("aspirin_use_past_7_days"), 1.0)),
        ("severe_angina", points(k.flag("severe_angina"), 1.0)),
        ("st_deviation", points(k.flag("st_deviation"), 1.0)),
        ("biomarker", points(marker, 1.0)),
    ])
    .bands(&[(0.0, "low"), (3.0, "intermediate"), (5.0, "high")])
}

fn grace(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The GRACE score is for adults.");
    }
    let age = [(30.0, 0.0), (40.0, 8.0), (50.0, 25.0), (60.0, 41.0), (70.0, 58.0), (80.0, 75.0), (90.0, 91.0)];
    let heart_rate = [(50.0, 0.0), (70.0, 3.0), (90.0, 9.0), (110.0, 15.0), (150.0, 24.0), (200.0, 38.0)];
    let pressure = [(80.0, 58.0), (100.0, 53.0), (120.0, 43.0), (140.0, 34.0), (160.0, 24.0), (200.0, 10.0)];
    let creatinine = [(0.4, 1.0), (0.8, 4.0), (1.2, 7.0), (1.6, 10.0), (2.0, 13.0), (4.0, 21.0)];
    Outcome::sum([
        ("age", under(k.age(), &age, 100.0)),
        ("heart_rate", under(k.num("heart_rate_bpm"), &heart_rate, 46.0)),
        ("systolic", under(k.num("systolic_mmhg"), &pressure, 0.0)),
        ("creatinine", under(k.num("creatinine_mg_dl"), &creatinine, 28.0)),
        ("killip_class", up_to(k.num("killip_class"), &[(1.0, 0.0), (2.0, 20.0), (3.0, 39.0)], 59.0)),
        ("cardiac_arrest", points(k.flag("cardiac_arrest"), 39.0)),
        ("st_deviation", points(k.flag("st_deviation"), 28.0)),
        ("biomarker", points(k.flag("positive_biomarker"), 14.0)),
    ])
    .bands(&[(0.0, "low"), (109.0, "intermediate"), (141.0, "high")])
}
