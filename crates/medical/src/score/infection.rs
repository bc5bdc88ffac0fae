//! Signs of sepsis at the bedside, and the circulation's two simple measures.

use super::Source;
use super::definition::{AGE, Definition, Outcome, choice, flag, number, whole};
use super::interval::{any, at_least, at_most, below, not, over, points, up_to};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "qsofa",
        name: "qSOFA",
        engine: Some("q215"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "singer-2016",
            title: "Singer M et al. The third international consensus definitions for sepsis and septic shock. JAMA 315",
            year: 2016,
            url: "https://doi.org/10.1001/jama.2016.0287",
        },
        inputs: &[
            number("respiratory_rate", 0.0, 100.0),
            number("systolic_mmhg", 0.0, 350.0),
            flag("altered_mentation"),
            whole("gcs", 3.0, 15.0).in_place_of(&["altered_mentation"]),
            AGE.population(),
        ],
        caveat: Some("Not a screening test on its own: sepsis is possible with 0 or 1."),
        compute: qsofa,
    },
    Definition {
        id: "sirs",
        name: "SIRS criteria",
        engine: Some("q215"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "bone-1992",
            title: "Bone RC et al. Definitions for sepsis and organ failure. Chest 101",
            year: 1992,
            url: "https://doi.org/10.1378/chest.101.6.1644",
        },
        inputs: &[
            number("temperature_c", 20.0, 46.0),
            number("heart_rate_bpm", 0.0, 350.0),
            number("respiratory_rate", 0.0, 100.0),
            number("paco2_mmhg", 5.0, 200.0).optional(),
            number("wbc_per_ul", 0.0, 1_000_000.0).alias(&[("wbc_10e9_l", 1000.0)]),
            flag("bands_over_10_percent").optional(),
            AGE.population(),
        ],
        caveat: Some("Without PaCO2 the respiratory criterion rests on the rate alone."),
        compute: sirs,
    },
    Definition {
        id: "map",
        name: "Mean arterial pressure",
        engine: Some("q215"),
        unit: "mmHg",
        decimals: 2,
        source: Source {
            id: "sesso-2000",
            title: "Sesso HD et al. Systolic and diastolic blood pressure, pulse pressure and mean arterial pressure. \
                    Hypertension 36",
            year: 2000,
            url: "https://doi.org/10.1161/01.HYP.36.5.801",
        },
        inputs: &[number("systolic_mmhg", 20.0, 350.0), number("diastolic_mmhg", 5.0, 250.0)],
        caveat: None,
        compute: mean_pressure,
    },
    Definition {
        id: "shock_index",
        name: "Shock index",
        engine: None,
        unit: "1/min/mmHg",
        decimals: 2,
        source: Source {
            id: "allgower-1967",
            title: "Allgöwer M, Burri C. Schockindex. Dtsch Med Wochenschr 92",
            year: 1967,
            url: "https://doi.org/10.1055/s-0028-1106070",
        },
        inputs: &[number("heart_rate_bpm", 1.0, 350.0), number("systolic_mmhg", 20.0, 350.0), AGE.population()],
        caveat: Some("Lower than the state warrants with beta blockers, pacing or pregnancy."),
        compute: shock_index,
    },
    Definition {
        id: "mascc",
        name: "MASCC risk index",
        engine: None,
        unit: "points",
        decimals: 0,
        source: Source {
            id: "klastersky-2000",
            title: "Klastersky J et al. The MASCC risk index. J Clin Oncol 18",
            year: 2000,
            url: "https://doi.org/10.1200/JCO.2000.18.16.3038",
        },
        inputs: &[
            choice("burden_of_illness", &[("none", 0.0), ("mild", 1.0), ("moderate", 2.0), ("severe", 3.0)]),
            number("systolic_mmhg", 0.0, 350.0),
            flag("copd"),
            flag("solid_tumour_or_no_previous_fungal_infection"),
            flag("dehydration"),
            flag("outpatient"),
            AGE,
        ],
        caveat: Some("For febrile neutropenia in adults; a clinician decides on care at home."),
        compute: mascc,
    },
];

fn qsofa(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("qSOFA is for adults.");
    }
    let altered = k.flag("altered_mentation").or_else(|| below(k.num("gcs"), 15.0));
    Outcome::sum([
        ("respiratory_rate", points(at_least(k.num("respiratory_rate"), 22.0), 1.0)),
        ("systolic", points(at_most(k.num("systolic_mmhg"), 100.0), 1.0)),
        ("mentation", points(altered, 1.0)),
    ])
    .bands(&[(0.0, "under 2"), (2.0, "2 or more")])
}

fn sirs(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The adult criteria are not for patients under 18 years.");
    }
    // Optional measurements count only where they are there.
    let hypocapnia = below(k.num("paco2_mmhg"), 32.0).or(Some(false));
    let immature = k.flag("bands_over_10_percent").or(Some(false));
    let (temperature, leucocytes) = (k.num("temperature_c"), k.num("wbc_per_ul"));
    Outcome::sum([
        ("temperature", points(any(&[over(temperature, 38.0), below(temperature, 36.0)]), 1.0)),
        ("heart_rate", points(over(k.num("heart_rate_bpm"), 90.0), 1.0)),
        ("respiration", points(any(&[over(k.num("respiratory_rate"), 20.0), hypocapnia]), 1.0)),
        ("leucocytes", points(any(&[over(leucocytes, 12_000.0), below(leucocytes, 4000.0), immature]), 1.0)),
    ])
    .bands(&[(0.0, "under 2"), (2.0, "2 or more")])
}

fn mean_pressure(k: &Known) -> Outcome {
    let (Some(systolic), Some(diastolic)) = (k.num("systolic_mmhg"), k.num("diastolic_mmhg")) else {
        return Outcome::default();
    };
    if diastolic > systolic {
        return Outcome { reason: Some("The diastolic pressure is above the systolic."), ..Outcome::default() };
    }
    Outcome::formula(Some((systolic + 2.0 * diastolic) / 3.0)).bands(&[(0.0, "under 65"), (65.0, "65 or more")])
}

fn shock_index(k: &Known) -> Outcome {
    if below(k.age(), 16.0) == Some(true) {
        return Outcome::not_applicable("The adult limits are not for children.");
    }
    let value = || Some(k.num("heart_rate_bpm")? / k.num("systolic_mmhg")?);
    Outcome::formula(value()).bands(&[(0.0, "usual"), (0.7f64.next_up(), "raised"), (1.0, "high")])
}

fn mascc(k: &Known) -> Outcome {
    if below(k.age(), 16.0) == Some(true) {
        return Outcome::not_applicable("The index is for adults.");
    }
    Outcome::sum([
        ("burden_of_illness", up_to(k.num("burden_of_illness"), &[(1.0, 5.0), (2.0, 3.0)], 0.0)),
        ("no_hypotension", points(at_least(k.num("systolic_mmhg"), 90.0), 5.0)),
        ("no_copd", points(not(k.flag("copd")), 4.0)),
        ("tumour", points(k.flag("solid_tumour_or_no_previous_fungal_infection"), 4.0)),
        ("no_dehydration", points(not(k.flag("dehydration")), 3.0)),
        ("outpatient", points(k.flag("outpatient"), 3.0)),
        ("age", points(below(k.age(), 60.0), 2.0)),
    ])
    .bands(&[(0.0, "high risk"), (21.0, "low risk")])
}
