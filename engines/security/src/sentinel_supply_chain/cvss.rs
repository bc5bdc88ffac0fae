//! The base score of a CVSS 3 vector (FIRST, "CVSS v3.1: Specification Document", section 7.1).

/// 0 to 10; `None` if it is not a complete vector of version 3.
pub(super) fn base_score(vector: &str) -> Option<f64> {
    let metrics = vector.strip_prefix("CVSS:3.1/").or_else(|| vector.strip_prefix("CVSS:3.0/"))?;
    let of = |name: &str| metrics.split('/').find_map(|metric| metric.strip_prefix(name)?.strip_prefix(':'));
    let changed = of("S")? == "C";
    let vector = match of("AV")? {
        "N" => 0.85,
        "A" => 0.62,
        "L" => 0.55,
        "P" => 0.2,
        _ => return None,
    };
    let complexity = if of("AC")? == "L" { 0.77 } else { 0.44 };
    let privileges = match (of("PR")?, changed) {
        ("N", _) => 0.85,
        ("L", false) => 0.62,
        ("L", true) => 0.68,
        ("H", false) => 0.27,
        ("H", true) => 0.5,
        _ => return None,
    };
    let interaction = if of("UI")? == "N" { 0.85 } else { 0.62 };
    let loss = |name| match of(name) {
        Some("H") => Some(0.56),
        Some("L") => Some(0.22),
        Some("N") => Some(0.0),
        _ => None,
    };
    let sub = 1.0 - (1.0 - loss("C")?) * (1.0 - loss("I")?) * (1.0 - loss("A")?);
    let impact = if changed { 7.52 * (sub - 0.029) - 3.25 * (sub - 0.02_f64).powi(15) } else { 6.42 * sub };
    let exploitability = 8.22 * vector * complexity * privileges * interaction;
    if impact <= 0.0 {
        return Some(0.0);
    }
    let sum = if changed { 1.08 * (impact + exploitability) } else { impact + exploitability };
    Some(rounded_up(sum.min(10.0)))
}

/// Appendix A: rounds up to one decimal, without floating-point error.
fn rounded_up(score: f64) -> f64 {
    let whole = (score * 100_000.0).round() as i64;
    if whole % 10_000 == 0 { whole as f64 / 100_000.0 } else { ((whole / 10_000) + 1) as f64 / 10.0 }
}
