//! Severity of injury: RTS, ISS and the TRISS probability of survival.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, choice, number, whole};
use super::interval::{Interval, up_to};
use super::known::Known;

const GCS: Input = whole("gcs", 3.0, 15.0);
const PRESSURE: Input = number("systolic_mmhg", 0.0, 350.0);
const RATE: Input = number("respiratory_rate", 0.0, 100.0);

const REGIONS: &[&str] = &["ais_head", "ais_face", "ais_chest", "ais_abdomen", "ais_extremities", "ais_external"];

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "rts",
        name: "Revised Trauma Score",
        engine: Some("q216"),
        unit: "points",
        decimals: 4,
        source: Source {
            id: "champion-1989",
            title: "Champion HR et al. A revision of the trauma score. J Trauma 29",
            year: 1989,
            url: "https://doi.org/10.1097/00005373-198905000-00017",
        },
        inputs: &[GCS, PRESSURE, RATE],
        caveat: None,
        compute: |k| Outcome::sum(revised(k)),
    },
    Definition {
        id: "iss",
        name: "Injury Severity Score",
        engine: Some("q216"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "baker-1974",
            title: "Baker SP et al. The injury severity score. J Trauma 14",
            year: 1974,
            url: "https://doi.org/10.1097/00005373-197403000-00001",
        },
        inputs: &[
            whole("ais_head", 0.0, 6.0),
            whole("ais_face", 0.0, 6.0),
            whole("ais_chest", 0.0, 6.0),
            whole("ais_abdomen", 0.0, 6.0),
            whole("ais_extremities", 0.0, 6.0),
            whole("ais_external", 0.0, 6.0),
        ],
        caveat: None,
        compute: |k| Outcome::bounded(severity(k)).bands(&[(0.0, "minor"), (16.0, "major")]),
    },
    Definition {
        id: "triss",
        name: "TRISS probability of survival",
        engine: Some("q216"),
        unit: "probability",
        decimals: 4,
        source: Source {
            id: "boyd-1987",
            title: "Boyd CR, Tolson MA, Copes WS. Evaluating trauma care: the TRISS method. J Trauma 27",
            year: 1987,
            url: "https://doi.org/10.1097/00005373-198704000-00005",
        },
        inputs: &[
            GCS,
            PRESSURE,
            RATE,
            whole("iss", 0.0, 75.0),
            AGE,
            choice("mechanism", &[("blunt", 0.0), ("penetrating", 1.0)]),
        ],
        caveat: Some("Coefficients of the Major Trauma Outcome Study, 1995 revision: for audit, not for one patient."),
        compute: triss,
    },
];

fn revised(k: &Known) -> [(&'static str, Interval); 3] {
    let coded = |value: Interval, weight: f64| Interval::between(value.min * weight, value.max * weight);
    let coma = up_to(k.num("gcs"), &[(3.0, 0.0), (5.0, 1.0), (8.0, 2.0), (12.0, 3.0)], 4.0);
    let pressure = up_to(k.num("systolic_mmhg"), &[(0.0, 0.0), (49.0, 1.0), (75.0, 2.0), (89.0, 3.0)], 4.0);
    let rate = up_to(k.num("respiratory_rate"), &[(0.0, 0.0), (5.0, 1.0), (9.0, 2.0), (29.0, 4.0)], 3.0);
    [("gcs", coded(coma, 0.9368)), ("systolic", coded(pressure, 0.7326)), ("respiratory_rate", coded(rate, 0.2908))]
}

/// Sum of the squares of the three worst regions; 75 where one is 6.
fn severity(k: &Known) -> Interval {
    let of = |unknown: f64| {
        let mut worst: Vec<f64> = REGIONS.iter().map(|region| k.num(region).unwrap_or(unknown)).collect();
        if worst.contains(&6.0) {
            return 75.0;
        }
        worst.sort_by(|a, b| b.total_cmp(a));
        worst.iter().take(3).map(|grade| grade * grade).sum()
    };
    Interval { min: of(0.0), max: of(6.0) }
}

fn triss(k: &Known) -> Outcome {
    let value = || {
        // Under 15 years the blunt coefficients hold for either mechanism.
        let (age, penetrating) = (k.age()?, k.num("mechanism")? > 0.0);
        let [b0, rts, iss, old] = if penetrating && age >= 15.0 {
            [-2.5355, 0.9934, -0.0651, -1.1360]
        } else {
            [-0.4499, 0.8085, -0.0835, -1.7430]
        };
        let known = ["gcs", "systolic_mmhg", "respiratory_rate"].iter().all(|name| k.num(name).is_some());
        let total = known.then(|| revised(k).iter().map(|(_, points)| points.min).sum::<f64>())?;
        let b = b0 + rts * total + iss * k.num("iss")? + if age >= 55.0 { old } else { 0.0 };
        Some(1.0 / (1.0 + (-b).exp()))
    };
    Outcome::formula(value())
}
