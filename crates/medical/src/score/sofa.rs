//! SOFA, the sequential organ failure assessment.

use super::Source;
use super::definition::{AGE, Definition, Outcome, choice, flag, number, whole};
use super::interval::{Interval, below, under, up_to};
use super::known::Known;
use super::units::{BILIRUBIN_MG_DL_PER_UMOL_L, CREATININE_MG_DL_PER_UMOL_L};

const NONE: f64 = 0.0;
const DOPAMINE: f64 = 1.0;
const DOBUTAMINE: f64 = 2.0;

pub(super) const SCORES: &[Definition] = &[Definition {
    id: "sofa",
    name: "SOFA",
    engine: Some("q215"),
    unit: "points",
    decimals: 0,
    source: Source {
        id: "vincent-1996",
        title: "Vincent JL et al. The SOFA score to describe organ dysfunction/failure. Intensive Care Med 22",
        year: 1996,
        url: "https://doi.org/10.1007/BF01709751",
    },
    inputs: &[
        number("pao2_fio2_mmhg", 10.0, 800.0),
        flag("ventilated"),
        number("platelets_10e9_l", 0.0, 5000.0),
        number("bilirubin_mg_dl", 0.0, 100.0).alias(&[("bilirubin_umol_l", BILIRUBIN_MG_DL_PER_UMOL_L)]),
        number("map_mmhg", 0.0, 300.0),
        choice(
            "vasopressor",
            &[
                ("none", NONE),
                ("dopamine", DOPAMINE),
                ("dobutamine", DOBUTAMINE),
                ("norepinephrine", 3.0),
                ("noradrenaline", 3.0),
                ("epinephrine", 4.0),
                ("adrenaline", 4.0),
            ],
        ),
        number("vasopressor_ug_kg_min", 0.0, 100.0).optional(),
        whole("gcs", 3.0, 15.0),
        number("creatinine_mg_dl", 0.0, 40.0).alias(&[("creatinine_umol_l", CREATININE_MG_DL_PER_UMOL_L)]),
        number("urine_ml_per_day", 0.0, 20_000.0).optional(),
        AGE.population(),
    ],
    caveat: Some("Sepsis-3 needs a rise of 2 over the baseline; without the urine volume the creatinine counts alone."),
    compute,
}];

fn compute(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("SOFA is for adults: children have pSOFA.");
    }
    let outcome = Outcome::sum([
        ("respiration", respiration(k)),
        ("coagulation", under(k.num("platelets_10e9_l"), &[(20.0, 4.0), (50.0, 3.0), (100.0, 2.0), (150.0, 1.0)], 0.0)),
        ("liver", under(k.num("bilirubin_mg_dl"), &[(1.2, 0.0), (2.0, 1.0), (6.0, 2.0), (12.0, 3.0)], 4.0)),
        ("cardiovascular", circulation(k)),
        ("nervous", under(k.num("gcs"), &[(6.0, 4.0), (10.0, 3.0), (13.0, 2.0), (15.0, 1.0)], 0.0)),
        ("renal", kidneys(k)),
    ]);
    let dosed = k.num("vasopressor").is_some_and(|agent| agent != NONE && agent != DOBUTAMINE);
    let unsure = dosed && k.num("vasopressor_ug_kg_min").is_none_or(|dose| dose <= 0.0);
    Outcome { reason: unsure.then_some("The dose of the vasopressor decides (vasopressor_ug_kg_min)."), ..outcome }
}

/// 3 and 4 points need respiratory support.
fn respiration(k: &Known) -> Interval {
    let ratio = k.num("pao2_fio2_mmhg");
    let supported = under(ratio, &[(100.0, 4.0), (200.0, 3.0), (300.0, 2.0), (400.0, 1.0)], 0.0);
    let unsupported = under(ratio, &[(300.0, 2.0), (400.0, 1.0)], 0.0);
    match k.flag("ventilated") {
        Some(true) => supported,
        Some(false) => unsupported,
        None => supported.hull(unsupported),
    }
}

fn circulation(k: &Known) -> Interval {
    let dose = k.num("vasopressor_ug_kg_min").filter(|dose| *dose > 0.0);
    let pressure = under(k.num("map_mmhg"), &[(70.0, 1.0)], 0.0);
    match k.num("vasopressor") {
        None => pressure.hull(Interval::exactly(4.0)),
        Some(NONE) => pressure,
        Some(DOPAMINE) => up_to(dose, &[(5.0, 2.0), (15.0, 3.0)], 4.0),
        Some(DOBUTAMINE) => Interval::exactly(2.0),
        Some(_) => up_to(dose, &[(0.1, 3.0)], 4.0),
    }
}

fn kidneys(k: &Known) -> Interval {
    let creatinine = under(k.num("creatinine_mg_dl"), &[(1.2, 0.0), (2.0, 1.0), (3.5, 2.0), (5.0, 3.0)], 4.0);
    match k.num("urine_ml_per_day") {
        Some(urine) => creatinine.greater(under(Some(urine), &[(200.0, 4.0), (500.0, 3.0)], 0.0)),
        None => creatinine,
    }
}
