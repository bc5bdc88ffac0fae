//! Published worked values that the running program computes again.

use crate::score::{Inputs, evaluate};

/// A score, its inputs and the value of the publication.
struct Vector {
    score: &'static str,
    numbers: &'static [(&'static str, f64)],
    words: &'static [(&'static str, &'static str)],
    value: f64,
    tolerance: f64,
}

const VECTORS: &[Vector] = &[
    // Royal College of Physicians 2017, scoring chart: 3 + 3 + 2 + 3 + 2 + 0 + 1.
    Vector {
        score: "news2",
        numbers: &[
            ("respiratory_rate", 25.0),
            ("spo2_percent", 91.0),
            ("systolic_mmhg", 90.0),
            ("heart_rate_bpm", 111.0),
            ("temperature_c", 38.1),
        ],
        words: &[("supplemental_oxygen", "true"), ("acvpu", "A")],
        value: 14.0,
        tolerance: 0.0,
    },
    // (120 + 2 * 60) / 3.
    Vector {
        score: "map",
        numbers: &[("systolic_mmhg", 120.0), ("diastolic_mmhg", 60.0)],
        words: &[],
        value: 80.0,
        tolerance: 0.01,
    },
    // 142 * (2/0.9)^-1.2 * 0.9938^60: Inker 2021, table 1.
    Vector {
        score: "ckd_epi_2021",
        numbers: &[("creatinine_mg_dl", 2.0), ("age_years", 60.0)],
        words: &[("sex", "male")],
        value: 37.0,
        tolerance: 1.0,
    },
    // 70 / 1.75^2.
    Vector {
        score: "bmi",
        numbers: &[("weight_kg", 70.0), ("height_cm", 175.0)],
        words: &[],
        value: 22.86,
        tolerance: 0.05,
    },
];

/// Computes every vector.
///
/// # Errors
/// The first score that differs.
pub fn scores() -> Result<(), String> {
    for vector in VECTORS {
        let mut inputs = Inputs::default();
        for (name, value) in vector.numbers {
            inputs.set(name, *value);
        }
        for (name, value) in vector.words {
            match *value {
                "true" => inputs.set(name, true),
                word => inputs.set(name, word.to_owned()),
            };
        }
        let value = evaluate(vector.score, &inputs).and_then(|score| score.value);
        if !value.is_some_and(|value| (value - vector.value).abs() <= vector.tolerance) {
            return Err(format!("{}: {value:?} instead of {}", vector.score, vector.value));
        }
    }
    Ok(())
}

/// Tests the referral rules for cancer.
///
/// # Errors
/// None are compiled in.
pub fn cancer(_base: &crate::base::Base) -> Result<(), String> {
    Err("no referral rules are compiled in".to_owned())
}
