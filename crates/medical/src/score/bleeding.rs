//! Acute abdomen: upper gastrointestinal bleeding and appendicitis.

use super::Source;
use super::definition::{AGE, Definition, Outcome, SEX, flag, number};
use super::interval::{Interval, at_least, below, over, points, under};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "glasgow_blatchford",
        name: "Glasgow-Blatchford score",
        engine: None,
        unit: "points",
        decimals: 0,
        source: Source {
            id: "blatchford-2000",
            title: "Blatchford O, Murray WR, Blatchford M. A risk score to predict need for treatment for upper \
                    gastrointestinal haemorrhage. Lancet 356",
            year: 2000,
            url: "https://doi.org/10.1016/S0140-6736(00)02816-6",
        },
        inputs: &[
            number("bun_mg_dl", 0.0, 500.0),
            number("urea_mmol_l", 0.0, 180.0).in_place_of(&["bun_mg_dl"]),
            number("haemoglobin_g_dl", 0.5, 30.0).alias(&[("hemoglobin_g_dl", 1.0), ("haemoglobin_g_l", 0.1)]),
            SEX,
            number("systolic_mmhg", 0.0, 350.0),
            number("heart_rate_bpm", 0.0, 350.0),
            flag("melaena"),
            flag("syncope"),
            flag("hepatic_disease"),
            flag("cardiac_failure"),
            AGE.population(),
        ],
        caveat: None,
        compute: glasgow_blatchford,
    },
    Definition {
        id: "alvarado",
        name: "Alvarado score",
        engine: None,
        unit: "points",
        decimals: 0,
        source: Source {
            id: "alvarado-1986",
            title: "Alvarado A. A practical score for the early diagnosis of acute appendicitis. Ann Emerg Med 15",
            year: 1986,
            url: "https://doi.org/10.1016/S0196-0644(86)80993-3",
        },
        inputs: &[
            flag("migration_to_rlq"),
            flag("anorexia"),
            flag("nausea_or_vomiting"),
            flag("rlq_tenderness"),
            flag("rebound_tenderness"),
            flag("fever"),
            number("temperature_c", 20.0, 46.0).in_place_of(&["fever"]),
            flag("leukocytosis"),
            number("wbc_per_ul", 0.0, 1_000_000.0).in_place_of(&["leukocytosis"]),
            flag("left_shift"),
        ],
        caveat: Some("Less reliable in children, women of child-bearing age and the old."),
        compute: alvarado,
    },
];

fn glasgow_blatchford(k: &Known) -> Outcome {
    if below(k.age(), 16.0) == Some(true) {
        return Outcome::not_applicable("The score is for adults.");
    }
    let urea = under(k.num("urea_mmol_l"), &[(6.5, 0.0), (8.0, 2.0), (10.0, 3.0), (25.0, 4.0)], 6.0);
    let bun =
        k.num("bun_mg_dl").map(|bun| under(Some(bun), &[(18.2, 0.0), (22.4, 2.0), (28.0, 3.0), (70.0, 4.0)], 6.0));
    let urea = if k.num("urea_mmol_l").is_some() { urea } else { bun.unwrap_or(urea) };
    Outcome::sum([
        ("urea", urea),
        ("haemoglobin", haemoglobin(k)),
        ("systolic", under(k.num("systolic_mmhg"), &[(90.0, 3.0), (100.0, 2.0), (110.0, 1.0)], 0.0)),
        ("heart_rate", points(at_least(k.num("heart_rate_bpm"), 100.0), 1.0)),
        ("melaena", points(k.flag("melaena"), 1.0)),
        ("syncope", points(k.flag("syncope"), 2.0)),
        ("hepatic_disease", points(k.flag("hepatic_disease"), 2.0)),
        ("cardiac_failure", points(k.flag("cardiac_failure"), 2.0)),
    ])
    .bands(&[(0.0, "very low"), (2.0, "not very low")])
}

fn haemoglobin(k: &Known) -> Interval {
    let value = k.num("haemoglobin_g_dl");
    let women = under(value, &[(10.0, 6.0), (12.0, 1.0)], 0.0);
    let men = under(value, &[(10.0, 6.0), (12.0, 3.0), (13.0, 1.0)], 0.0);
    match k.female() {
        Some(true) => women,
        Some(false) => men,
        None => men.hull(women),
    }
}

fn alvarado(k: &Known) -> Outcome {
    let fever = k.flag("fever").or_else(|| at_least(k.num("temperature_c"), 37.3));
    let leucocytes = k.flag("leukocytosis").or_else(|| over(k.num("wbc_per_ul"), 10_000.0));
    Outcome::sum([
        ("migration", points(k.flag("migration_to_rlq"), 1.0)),
        ("anorexia", points(k.flag("anorexia"), 1.0)),
        ("nausea_or_vomiting", points(k.flag("nausea_or_vomiting"), 1.0)),
        ("tenderness", points(k.flag("rlq_tenderness"), 2.0)),
        ("rebound", points(k.flag("rebound_tenderness"), 1.0)),
        ("fever", points(fever, 1.0)),
        ("leucocytosis", points(leucocytes, 2.0)),
        ("left_shift", points(k.flag("left_shift"), 1.0)),
    ])
    .bands(&[(0.0, "unlikely"), (5.0, "possible"), (7.0, "probable")])
}
