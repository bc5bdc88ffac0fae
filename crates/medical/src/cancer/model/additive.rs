//! Scores of points: the ovarian risk of malignancy index and the total
//! dermoscopy score.

use super::ModelResult;
use super::constants::ModelConstants;
use super::features::{Features, Taker};

/// Risk of malignancy index I: ultrasound × menopause × CA125 (Jacobs 1990).
/// Ultrasound features: multilocular, solid areas, both sides, ascites,
/// metastases.
pub fn rmi(c: &ModelConstants, features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "rmi",
        "Risk of malignancy index I",
        "points",
        "For a pelvic mass seen by ultrasound; no probability. Guidelines use 200 or 250 as the threshold.",
    );
    if matches!(features.any(&["sex"]), Some(super::Feature::Word(w)) if w == "male") {
        return result.not_applicable("made for patients with ovaries");
    }
    let mut t = Taker::new(features);
    let ultrasound = t.number(&["ultrasound_features", "ultrasound_score", "u"], 0.0, 5.0);
    let menopause = match features.any(&["menopausal_status"]) {
        Some(_) => {
            t.choice(&["menopausal_status"], &["postmenopausal", "post", "premenopausal", "pre"]).map(|at| at < 2)
        }
        None => t.flag(&["postmenopausal"]),
    };
    let ca125 = t.number(&["ca125", "ca125_iu_ml"], 0.0, 100_000.0);
    let (Some(ultrasound), Some(menopause), Some(ca125)) = (ultrasound, menopause, ca125) else {
        return result.incomplete(t);
    };
    let u = match ultrasound.floor() {
        u if u < 1.0 => 0.0,
        u if u < 2.0 => c.of("single_feature"),
        _ => c.of("several_features"),
    };
    let m = if menopause { c.of("postmenopausal") } else { c.of("premenopausal") };
    result.contributions = vec![("ultrasound", u), ("menopause", m), ("ca125", ca125)];
    let value = u * m * ca125;
    let band = if value > c.of("threshold") {
        ("above 200", "discuss with a gynaecological cancer team")
    } else {
        ("200 or below", "below the threshold of the original study")
    };
    result.finished(value, band)
}

/// Total dermoscopy score: 1.3 A + 0.1 B + 0.5 C + 0.5 D (Stolz 1994).
pub fn abcd(c: &ModelConstants, features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "abcd",
        "ABCD rule of dermoscopy",
        "points",
        "Only for pigmented lesions scored by a clinician with a dermoscope; never computed from a picture here.",
    );
    let mut t = Taker::new(features);
    let a = t.number(&["asymmetry", "a"], 0.0, 2.0);
    let b = t.number(&["border", "b"], 0.0, 8.0);
    let colours = t.number(&["colours", "colors", "color", "colour", "c"], 1.0, 6.0);
    let structures = t.number(&["structures", "differential_structures", "dermoscopic_structures", "d"], 1.0, 5.0);
    let (Some(a), Some(b), Some(colours), Some(structures)) = (a, b, colours, structures) else {
        return result.incomplete(t);
    };
    result.contributions = vec![
        ("asymmetry", c.of("asymmetry") * a),
        ("border", c.of("border") * b),
        ("colours", c.of("colours") * colours),
        ("structures", c.of("structures") * structures),
    ];
    // Points are tenths: the sum is rounded so that 4.75 stays 4.75.
    let value = crate::input::round(result.contributions.iter().map(|(_, t)| t).sum(), 6);
    let band = if value < c.of("suspicious_from") {
        ("below 4.75", "benign by this score")
    } else if value <= c.of("suspicious_above") {
        ("4.75 to 5.45", "suspicious: follow closely or excise")
    } else {
        ("above 5.45", "highly suspicious of melanoma")
    };
    result.finished(value, band)
}
