//! Glasgow Coma Scale, with its pupil variant.

use super::Source;
use super::definition::{Definition, Input, Outcome, choice, whole};
use super::interval::{Interval, itself};
use super::known::Known;

/// Code of a component that cannot be tested: never its lowest points.
const NOT_TESTABLE: f64 = -1.0;

const EYE: Input = choice(
    "eye_opening",
    &[
        ("spontaneous", 4.0),
        ("to_sound", 3.0),
        ("to_speech", 3.0),
        ("to_pressure", 2.0),
        ("to_pain", 2.0),
        ("no_response", 1.0),
        ("none", 1.0),
        ("not_testable", NOT_TESTABLE),
        ("nt", NOT_TESTABLE),
    ],
);
const VERBAL: Input = choice(
    "verbal_response",
    &[
        ("orientated", 5.0),
        ("oriented", 5.0),
        ("confused", 4.0),
        ("words", 3.0),
        ("sounds", 2.0),
        ("no_response", 1.0),
        ("none", 1.0),
        ("not_testable", NOT_TESTABLE),
        ("nt", NOT_TESTABLE),
    ],
);
const MOTOR: Input = choice(
    "motor_response",
    &[
        ("obey_commands", 6.0),
        ("obeys_commands", 6.0),
        ("localising", 5.0),
        ("localizing", 5.0),
        ("normal_flexion", 4.0),
        ("abnormal_flexion", 3.0),
        ("extension", 2.0),
        ("no_response", 1.0),
        ("none", 1.0),
        ("not_testable", NOT_TESTABLE),
        ("nt", NOT_TESTABLE),
    ],
);

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "gcs",
        name: "Glasgow Coma Scale",
        engine: Some("q216"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "teasdale-1974",
            title: "Teasdale G, Jennett B. Assessment of coma and impaired consciousness. Lancet 2",
            year: 1974,
            url: "https://doi.org/10.1016/S0140-6736(74)91639-0",
        },
        inputs: &[EYE, VERBAL, MOTOR],
        caveat: Some("Report the three components beside the sum."),
        compute: gcs,
    },
    Definition {
        id: "gcs_p",
        name: "Glasgow Coma Scale with pupils",
        engine: Some("q216"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "brennan-2018",
            title: "Brennan PM, Murray GD, Teasdale GM. The GCS-Pupils score. J Neurosurg 128",
            year: 2018,
            url: "https://doi.org/10.3171/2017.12.JNS172780",
        },
        inputs: &[EYE, VERBAL, MOTOR, whole("pupils_unreactive", 0.0, 2.0)],
        caveat: None,
        compute: gcs_p,
    },
];

fn component(code: Option<f64>, best: f64) -> Interval {
    itself(code.filter(|code| *code > 0.0), 1.0, best)
}

/// Eye, verbal and motor points of the scale.
pub(super) fn components(k: &Known) -> [(&'static str, Interval); 3] {
    [
        ("eye", component(k.num("eye_opening"), 4.0)),
        ("verbal", component(k.num("verbal_response"), 5.0)),
        ("motor", component(k.num("motor_response"), 6.0)),
    ]
}

fn untestable(k: &Known) -> Option<&'static str> {
    let codes = ["eye_opening", "verbal_response", "motor_response"].map(|name| k.num(name));
    codes.contains(&Some(NOT_TESTABLE)).then_some("A component is not testable: the sum has no single value.")
}

fn gcs(k: &Known) -> Outcome {
    let outcome = Outcome::sum(components(k));
    Outcome { reason: untestable(k), ..outcome }.bands(&[(3.0, "severe"), (9.0, "moderate"), (13.0, "mild")])
}

fn gcs_p(k: &Known) -> Outcome {
    let [eye, verbal, motor] = components(k);
    let pupils = itself(k.num("pupils_unreactive").map(|count| -count), -2.0, 0.0);
    let outcome = Outcome::sum([eye, verbal, motor, ("pupils", pupils)]);
    Outcome { reason: untestable(k), ..outcome }
}
