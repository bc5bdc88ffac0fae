//! Priority of an incident: severity × urgency × certainty, 0 to 100, each factor in percent.
//!
//! | severity | % | urgency | % | certainty | % |
//! |---|---|---|---|---|---|
//! | Extreme | 100 | Immediate | 100 | Observed | 100 |
//! | Severe | 75 | Expected | 80 | Likely | 85 |
//! | Moderate | 50 | Future | 50 | Possible | 50 |
//! | Minor | 25 | Past | 10 | Unlikely | 20 |
//! | Unknown | 40 | Unknown | 50 | Unknown | 50 |
//!
//! Values that are not assessed yet count as unknown.

use crate::alert::{Certainty, Severity, Urgency};

/// Computes the priority, 0 to 100, rounded to the nearest integer.
pub fn priority(severity: Option<Severity>, urgency: Option<Urgency>, certainty: Option<Certainty>) -> u8 {
    let severity = match severity.unwrap_or(Severity::Unknown) {
        Severity::Extreme => 100,
        Severity::Severe => 75,
        Severity::Moderate => 50,
        Severity::Minor => 25,
        Severity::Unknown => 40,
    };
    let urgency = match urgency.unwrap_or(Urgency::Unknown) {
        Urgency::Immediate => 100,
        Urgency::Expected => 80,
        Urgency::Future | Urgency::Unknown => 50,
        Urgency::Past => 10,
    };
    let certainty = match certainty.unwrap_or(Certainty::Unknown) {
        Certainty::Observed => 100,
        Certainty::Likely => 85,
        Certainty::Possible | Certainty::Unknown => 50,
        Certainty::Unlikely => 20,
    };
    let product: u32 = severity * urgency * certainty;
    u8::try_from((product + 5_000) / 10_000).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_multiplied_and_rounded() {
        let of = |s, u, c| priority(Some(s), Some(u), Some(c));
        assert_eq!(of(Severity::Extreme, Urgency::Immediate, Certainty::Observed), 100);
        // 75 × 80 × 85 / 10,000 = 51.
        assert_eq!(of(Severity::Severe, Urgency::Expected, Certainty::Likely), 51);
        // 25 × 10 × 20 / 10,000 = 0.5, rounded up.
        assert_eq!(of(Severity::Minor, Urgency::Past, Certainty::Unlikely), 1);
        // 40 × 50 × 50 / 10,000.
        assert_eq!(priority(None, None, None), 10);
    }
}
