//! Severity of community-acquired pneumonia.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, flag, number};
use super::interval::{all, any, at_least, at_most, below, itself, not, over, points};
use super::known::Known;
use super::units::GLUCOSE_MG_DL_PER_MMOL_L;

const RATE: Input = number("respiratory_rate", 0.0, 100.0);
const SYSTOLIC: Input = number("systolic_mmhg", 0.0, 350.0);
const DIASTOLIC: Input = number("diastolic_mmhg", 0.0, 250.0);
const BUN: Input = number("bun_mg_dl", 0.0, 500.0);
const UREA: Input = number("urea_mmol_l", 0.0, 180.0).in_place_of(&["bun_mg_dl"]);
const LIM: Source = Source {
    id: "lim-2003",
    title: "Lim WS et al. Defining community acquired pneumonia severity on presentation to hospital. Thorax 58",
    year: 2003,
    url: "https://doi.org/10.1136/thorax.58.5.377",
};

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "curb65",
        name: "CURB-65",
        engine: Some("q225"),
        unit: "points",
        decimals: 0,
        source: LIM,
        inputs: &[flag("confusion"), BUN, UREA, RATE, SYSTOLIC, DIASTOLIC, AGE],
        caveat: None,
        compute: curb65,
    },
    Definition {
        id: "crb65",
        name: "CRB-65",
        engine: Some("q225"),
        unit: "points",
        decimals: 0,
        source: LIM,
        inputs: &[flag("confusion"), RATE, SYSTOLIC, DIASTOLIC, AGE],
        caveat: None,
        compute: crb65,
    },
    Definition {
        id: "psi_port",
        name: "Pneumonia Severity Index (PORT)",
        engine: Some("q225"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "fine-1997",
            title: "Fine MJ et al. A prediction rule to identify low-risk patients with community-acquired pneumonia. \
                    N Engl J Med 336",
            year: 1997,
            url: "https://doi.org/10.1056/NEJM199701233360402",
        },
        inputs: &[
            AGE,
            SEX,
            flag("nursing_home"),
            flag("neoplastic"),
            flag("liver"),
            flag("heart_failure"),
            flag("cerebrovascular"),
            flag("renal"),
            flag("altered_mental_status"),
            RATE,
            SYSTOLIC,
            number("temperature_c", 20.0, 46.0),
            number("heart_rate_bpm", 0.0, 350.0),
            number("ph", 6.3, 8.0),
            BUN,
            UREA,
            number("sodium_mmol_l", 90.0, 200.0),
            number("glucose_mg_dl", 5.0, 3000.0).alias(&[("glucose_mmol_l", GLUCOSE_MG_DL_PER_MMOL_L)]),
            number("haematocrit_percent", 3.0, 80.0),
            number("pao2_mmhg", 10.0, 700.0),
            number("spo2_percent", 30.0, 100.0).in_place_of(&["pao2_mmhg"]),
            flag("pleural_effusion"),
        ],
        caveat: Some("Class I needs no laboratory value: 50 years or less, no such illness, no such sign."),
        compute: psi,
    },
];

fn shared(k: &Known) -> [(&'static str, super::Interval); 4] {
    let pressure = any(&[below(k.num("systolic_mmhg"), 90.0), at_most(k.num("diastolic_mmhg"), 60.0)]);
    [
        ("confusion", points(k.flag("confusion"), 1.0)),
        ("respiratory_rate", points(at_least(k.num("respiratory_rate"), 30.0), 1.0)),
        ("pressure", points(pressure, 1.0)),
        ("age", points(at_least(k.age(), 65.0), 1.0)),
    ]
}

fn curb65(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("CURB-65 is for adults.");
    }
    // The publication's limits in either unit: 7 mmol/L, 19 mg/dL.
    let urea = over(k.num("urea_mmol_l"), 7.0).or_else(|| over(k.num("bun_mg_dl"), 19.0));
    let [confusion, rate, pressure, age] = shared(k);
    Outcome::sum([confusion, ("urea", points(urea, 1.0)), rate, pressure, age]).bands(&[
        (0.0, "low"),
        (2.0, "intermediate"),
        (3.0, "high"),
    ])
}

fn crb65(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("CRB-65 is for adults.");
    }
    Outcome::sum(shared(k)).bands(&[(0.0, "low"), (1.0, "intermediate"), (3.0, "high")])
}

fn psi(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The index is for adults.");
    }
    let temperature = k.num("temperature_c");
    let cold_or_hot = any(&[below(temperature, 35.0), at_least(temperature, 40.0)]);
    let fast_breath = at_least(k.num("respiratory_rate"), 30.0);
    let low_pressure = below(k.num("systolic_mmhg"), 90.0);
    let fast_heart = at_least(k.num("heart_rate_bpm"), 125.0);
    let urea = at_least(k.num("urea_mmol_l"), 11.0).or_else(|| at_least(k.num("bun_mg_dl"), 30.0));
    let oxygen = below(k.num("pao2_mmhg"), 60.0).or_else(|| below(k.num("spo2_percent"), 90.0));
    let outcome = Outcome::sum([
        ("age", itself(k.age(), 18.0, 120.0)),
        ("sex", points(k.female(), -10.0)),
        ("nursing_home", points(k.flag("nursing_home"), 10.0)),
        ("cancer", points(k.flag("neoplastic"), 30.0)),
        ("liver", points(k.flag("liver"), 20.0)),
        ("heart_failure", points(k.flag("heart_failure"), 10.0)),
        ("cerebrovascular", points(k.flag("cerebrovascular"), 10.0)),
        ("renal", points(k.flag("renal"), 10.0)),
        ("mental_status", points(k.flag("altered_mental_status"), 20.0)),
        ("respiratory_rate", points(fast_breath, 20.0)),
        ("systolic", points(low_pressure, 20.0)),
        ("temperature", points(cold_or_hot, 15.0)),
        ("heart_rate", points(fast_heart, 10.0)),
        ("ph", points(below(k.num("ph"), 7.35), 30.0)),
        ("urea", points(urea, 20.0)),
        ("sodium", points(below(k.num("sodium_mmol_l"), 130.0), 20.0)),
        ("glucose", points(at_least(k.num("glucose_mg_dl"), 250.0), 10.0)),
        ("haematocrit", points(below(k.num("haematocrit_percent"), 30.0), 10.0)),
        ("oxygen", points(oxygen, 10.0)),
        ("effusion", points(k.flag("pleural_effusion"), 10.0)),
    ]);
    let illness = ["neoplastic", "liver", "heart_failure", "cerebrovascular", "renal", "altered_mental_status"];
    let illness = any(&illness.map(|name| k.flag(name)));
    let sign = any(&[fast_breath, low_pressure, cold_or_hot, fast_heart]);
    classes(outcome, all(&[at_most(k.age(), 50.0), not(illness), not(sign)]))
}

/// Class I is decided before any points are counted.
fn classes(outcome: Outcome, first: Option<bool>) -> Outcome {
    if first == Some(true) {
        return Outcome { bands: vec!["I"], ..outcome };
    }
    let mut outcome = outcome.bands(&[(f64::MIN, "II"), (71.0, "III"), (91.0, "IV"), (131.0, "V")]);
    if first.is_none() {
        outcome.bands.insert(0, "I");
    }
    outcome
}
