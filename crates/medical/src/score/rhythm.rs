//! Stroke and bleeding in atrial fibrillation.

use super::Source;
use super::definition::{AGE, Definition, Outcome, SEX, flag, number, whole};
use super::interval::{Interval, at_least, below, over, points, under, up_to};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "cha2ds2_vasc",
        name: "CHA2DS2-VASc",
        engine: Some("q221"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "lip-2010",
            title: "Lip GYH et al. Refining clinical risk stratification for stroke in atrial fibrillation. Chest 137",
            year: 2010,
            url: "https://doi.org/10.1378/chest.09-1584",
        },
        inputs: &[
            flag("congestive_heart_failure"),
            flag("hypertension"),
            AGE,
            flag("diabetes"),
            flag("stroke_tia_thromboembolism"),
            flag("vascular_disease"),
            SEX,
        ],
        caveat: Some("For non-valvular atrial fibrillation."),
        compute: cha2ds2_vasc,
    },
    Definition {
        id: "has_bled",
        name: "HAS-BLED",
        engine: Some("q221"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "pisters-2010",
            title: "Pisters R et al. A novel user-friendly score (HAS-BLED) to assess 1-year risk of major bleeding. Chest 138",
            year: 2010,
            url: "https://doi.org/10.1378/chest.10-0134",
        },
        inputs: &[
            flag("uncontrolled_hypertension"),
            number("systolic_mmhg", 0.0, 350.0).in_place_of(&["uncontrolled_hypertension"]),
            flag("abnormal_renal_function"),
            flag("abnormal_liver_function"),
            flag("stroke"),
            flag("bleeding_history"),
            flag("labile_inr"),
            AGE,
            flag("antiplatelet_or_nsaid"),
            number("alcoholic_drinks_per_week", 0.0, 500.0),
            flag("alcohol_excess").in_place_of(&["alcoholic_drinks_per_week"]),
        ],
        caveat: Some("A high score asks for care of what can be mended, not for withholding treatment."),
        compute: has_bled,
    },
    Definition {
        id: "af_stroke_rate",
        name: "Ischaemic strokes a year without anticoagulant, by CHA2DS2-VASc",
        engine: Some("q221"),
        unit: "% per year",
        decimals: 1,
        source: Source {
            id: "friberg-2012",
            title: "Friberg L, Rosenqvist M, Lip GYH. Evaluation of risk stratification schemes. Eur Heart J 33",
            year: 2012,
            url: "https://doi.org/10.1093/eurheartj/ehr488",
        },
        inputs: &[whole("cha2ds2_vasc", 0.0, 9.0)],
        caveat: None,
        compute: |k| rate(k.num("cha2ds2_vasc"), &[0.2, 0.6, 2.2, 3.2, 4.8, 7.2, 9.7, 11.2, 10.8, 12.2]),
    },
    Definition {
        id: "af_bleed_rate",
        name: "Major bleeds with anticoagulant, by HAS-BLED",
        engine: Some("q221"),
        unit: "per 100 patient-years",
        decimals: 2,
        source: Source {
            id: "pisters-2010",
            title: "Pisters R et al. A novel user-friendly score (HAS-BLED) to assess 1-year risk of major bleeding. Chest 138",
            year: 2010,
            url: "https://doi.org/10.1378/chest.10-0134",
        },
        inputs: &[whole("has_bled", 0.0, 9.0)],
        caveat: Some("Too few patients had more than 5: from there on the rate of 5."),
        compute: |k| rate(k.num("has_bled"), &[1.13, 1.02, 1.88, 3.74, 8.70, 12.50]),
    },
];

fn cha2ds2_vasc(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("CHA2DS2-VASc is for adults.");
    }
    Outcome::sum([
        ("heart_failure", points(k.flag("congestive_heart_failure"), 1.0)),
        ("hypertension", points(k.flag("hypertension"), 1.0)),
        ("age", under(k.age(), &[(65.0, 0.0), (75.0, 1.0)], 2.0)),
        ("diabetes", points(k.flag("diabetes"), 1.0)),
        ("stroke", points(k.flag("stroke_tia_thromboembolism"), 2.0)),
        ("vascular_disease", points(k.flag("vascular_disease"), 1.0)),
        ("sex", points(k.female(), 1.0)),
    ])
    .bands(&[(0.0, "0"), (1.0, "1"), (2.0, "2 or more")])
}

fn has_bled(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("HAS-BLED is for adults.");
    }
    let pressure = k.flag("uncontrolled_hypertension").or_else(|| over(k.num("systolic_mmhg"), 160.0));
    let drinks = at_least(k.num("alcoholic_drinks_per_week"), 8.0).or_else(|| k.flag("alcohol_excess"));
    Outcome::sum([
        ("hypertension", points(pressure, 1.0)),
        ("renal", points(k.flag("abnormal_renal_function"), 1.0)),
        ("liver", points(k.flag("abnormal_liver_function"), 1.0)),
        ("stroke", points(k.flag("stroke"), 1.0)),
        ("bleeding", points(k.flag("bleeding_history"), 1.0)),
        ("labile_inr", points(k.flag("labile_inr"), 1.0)),
        ("age", points(over(k.age(), 65.0), 1.0)),
        ("drugs", points(k.flag("antiplatelet_or_nsaid"), 1.0)),
        ("alcohol", points(drinks, 1.0)),
    ])
    .bands(&[(0.0, "low"), (1.0, "moderate"), (3.0, "high")])
}

/// Rate of a score's points; the last holds from there on.
fn rate(score: Option<f64>, rates: &[f64]) -> Outcome {
    let steps: Vec<(f64, f64)> = (0u32..).map(f64::from).zip(rates.iter().copied()).collect();
    let last = rates.last().copied().unwrap_or(0.0);
    let bounds: Interval = up_to(score, &steps, last);
    Outcome::bounded(bounds)
}
