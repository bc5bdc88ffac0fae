//! Transient ischaemic attack and stroke.

use super::Source;
use super::definition::{AGE, Definition, Outcome, choice, flag, number, whole};
use super::interval::{Interval, any, at_least, itself, points, under};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "abcd2",
        name: "ABCD2",
        engine: Some("q226"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "johnston-2007",
            title: "Johnston SC et al. Validation and refinement of scores to predict very early stroke risk after \
                    transient ischaemic attack. Lancet 369",
            year: 2007,
            url: "https://doi.org/10.1016/S0140-6736(07)60150-0",
        },
        inputs: &[
            AGE,
            number("systolic_mmhg", 0.0, 350.0).alias(&[("systolic_bp", 1.0)]),
            number("diastolic_mmhg", 0.0, 250.0).alias(&[("diastolic_bp", 1.0)]),
            choice(
                "clinical_features",
                &[
                    ("unilateral_weakness", 2.0),
                    ("speech_disturbance", 1.0),
                    ("speech_impairment", 1.0),
                    ("other", 0.0),
                ],
            ),
            flag("unilateral_weakness").in_place_of(&["clinical_features"]),
            flag("speech_impairment").optional(),
            choice("duration", &[("60min_or_more", 2.0), ("10_59min", 1.0), ("under_10min", 0.0)]),
            number("duration_minutes", 0.0, 100_000.0).in_place_of(&["duration"]),
            flag("diabetes"),
        ],
        caveat: Some("Never a reason to delay: NICE NG128 advises against using it to decide on urgency."),
        compute: abcd2,
    },
    Definition {
        id: "nihss",
        name: "NIH Stroke Scale",
        engine: Some("q226"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "brott-1989",
            title: "Brott T et al. Measurements of acute cerebral infarction: a clinical examination scale. Stroke 20",
            year: 1989,
            url: "https://doi.org/10.1161/01.STR.20.7.864",
        },
        inputs: &[
            whole("1a", 0.0, 3.0),
            whole("1b", 0.0, 2.0),
            whole("1c", 0.0, 2.0),
            whole("2", 0.0, 2.0),
            whole("3", 0.0, 3.0),
            whole("4", 0.0, 3.0),
            whole("5a", 0.0, 4.0),
            whole("5b", 0.0, 4.0),
            whole("6a", 0.0, 4.0),
            whole("6b", 0.0, 4.0),
            whole("7", 0.0, 2.0),
            whole("8", 0.0, 2.0),
            whole("9", 0.0, 3.0),
            whole("10", 0.0, 2.0),
            whole("11", 0.0, 2.0),
        ],
        caveat: Some("A low total does not exclude a disabling or posterior stroke."),
        compute: nihss,
    },
];

fn abcd2(k: &Known) -> Outcome {
    let pressure = any(&[at_least(k.num("systolic_mmhg"), 140.0), at_least(k.num("diastolic_mmhg"), 90.0)]);
    let signs = match k.flag("unilateral_weakness") {
        Some(true) => Interval::exactly(2.0),
        Some(false) => points(k.flag("speech_impairment"), 1.0),
        None => Interval { min: 0.0, max: 2.0 },
    };
    let minutes = under(k.num("duration_minutes"), &[(10.0, 0.0), (60.0, 1.0)], 2.0);
    Outcome::sum([
        ("age", points(at_least(k.age(), 60.0), 1.0)),
        ("pressure", points(pressure, 1.0)),
        ("clinical_features", k.num("clinical_features").map_or(signs, Interval::exactly)),
        ("duration", k.num("duration").map_or(minutes, Interval::exactly)),
        ("diabetes", points(k.flag("diabetes"), 1.0)),
    ])
    .bands(&[(0.0, "low"), (4.0, "moderate"), (6.0, "high")])
}

fn nihss(k: &Known) -> Outcome {
    Outcome::sum([
        ("1a", itself(k.num("1a"), 0.0, 3.0)),
        ("1b", itself(k.num("1b"), 0.0, 2.0)),
        ("1c", itself(k.num("1c"), 0.0, 2.0)),
        ("2", itself(k.num("2"), 0.0, 2.0)),
        ("3", itself(k.num("3"), 0.0, 3.0)),
        ("4", itself(k.num("4"), 0.0, 3.0)),
        ("5a", itself(k.num("5a"), 0.0, 4.0)),
        ("5b", itself(k.num("5b"), 0.0, 4.0)),
        ("6a", itself(k.num("6a"), 0.0, 4.0)),
        ("6b", itself(k.num("6b"), 0.0, 4.0)),
        ("7", itself(k.num("7"), 0.0, 2.0)),
        ("8", itself(k.num("8"), 0.0, 2.0)),
        ("9", itself(k.num("9"), 0.0, 3.0)),
        ("10", itself(k.num("10"), 0.0, 2.0)),
        ("11", itself(k.num("11"), 0.0, 2.0)),
    ])
    .bands(&[(0.0, "none"), (1.0, "minor"), (5.0, "moderate"), (16.0, "moderate-severe"), (21.0, "severe")])
}
