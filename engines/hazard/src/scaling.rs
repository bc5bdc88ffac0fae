//! Rupture sizes by magnitude (Wells and Coppersmith 1994, table 2A).

use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::table::{number, rows};

/// How the fault moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum FaultType {
    All,
    StrikeSlip,
    Reverse,
    Normal,
}

static TABLE: LazyLock<Vec<Vec<f64>>> = LazyLock::new(|| {
    let table = include_str!("../data/wells_coppersmith.csv");
    rows(table).map(|row| (1..7).map(|at| number(&row, at)).collect()).collect()
});

fn regression(fault: FaultType, first: usize, magnitude: f64) -> f64 {
    let row = TABLE.get(match fault {
        FaultType::All => 0,
        FaultType::StrikeSlip => 1,
        FaultType::Reverse => 2,
        FaultType::Normal => 3,
    });
    let cell = |at: usize| row.and_then(|row| row.get(at)).copied().unwrap_or(f64::NAN);
    10_f64.powf(cell(first) + cell(first + 1) * magnitude)
}

/// Median length of the rupture at the surface in km.
pub fn surface_length(fault: FaultType, magnitude: f64) -> f64 {
    regression(fault, 0, magnitude)
}

/// Median length of the rupture below the surface in km.
pub fn subsurface_length(fault: FaultType, magnitude: f64) -> f64 {
    regression(fault, 2, magnitude)
}

/// Median area of the rupture in km².
pub fn rupture_area(fault: FaultType, magnitude: f64) -> f64 {
    regression(fault, 4, magnitude)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_of_faults_has_its_row() {
        for fault in [FaultType::All, FaultType::StrikeSlip, FaultType::Reverse, FaultType::Normal] {
            for size in [surface_length, subsurface_length, rupture_area] {
                assert!(size(fault, 7.0) > size(fault, 6.0) && size(fault, 7.0).is_finite());
            }
        }
    }
}
