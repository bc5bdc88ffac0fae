//! Ground motion of Boore, Stewart, Seyhan and Atkinson (2014), base case: no basin term, global and Californian paths.

use std::sync::LazyLock;

use crate::table::{number, rows};

/// How the fault moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Unspecified,
    StrikeSlip,
    Normal,
    Reverse,
}

/// Logarithm of the median and its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    pub ln_median: f64,
    pub sigma: f64,
}

/// An earthquake seen from a site.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    pub magnitude: f64,
    pub event: Event,
    /// Distance in km to the surface projection of the rupture.
    pub rjb: f64,
    /// Shear-wave velocity of the uppermost 30 m in m/s.
    pub vs30: f64,
}

/// Coefficients of a period, by the names of the table.
struct Coefficients {
    period: f64,
    e: [f64; 7],
    m_h: f64,
    c: [f64; 3],
    m_ref: f64,
    r_ref: f64,
    h: f64,
    dc_3: f64,
    site: f64,
    v_c: f64,
    v_ref: f64,
    f_1: f64,
    f_3: f64,
    f_4: f64,
    f_5: f64,
    r: [f64; 2],
    dphi_r: f64,
    dphi_v: f64,
    v: [f64; 2],
    phi: [f64; 2],
    tau: [f64; 2],
}

/// Peak velocity, peak acceleration, then periods in order.
static TABLE: LazyLock<Vec<Coefficients>> = LazyLock::new(|| {
    let read = |row: Vec<&str>| {
        let at = |column: usize| number(&row, column);
        Coefficients {
            period: at(0),
            e: [1, 2, 3, 4, 5, 6, 7].map(at),
            m_h: at(8),
            c: [9, 10, 11].map(at),
            m_ref: at(12),
            r_ref: at(13),
            h: at(14),
            dc_3: at(15),
            site: at(16),
            v_c: at(17),
            v_ref: at(18),
            f_1: at(19),
            f_3: at(20),
            f_4: at(21),
            f_5: at(22),
            r: [23, 24].map(at),
            dphi_r: at(25),
            dphi_v: at(26),
            v: [27, 28].map(at),
            phi: [29, 30].map(at),
            tau: [31, 32].map(at),
        }
    };
    rows(include_str!("../../data/bssa14.csv")).map(read).collect()
});

/// Periods in s for which spectral acceleration is computed.
pub const PERIODS: std::ops::RangeInclusive<f64> = 0.01..=10.0;

/// Returns the peak velocity in cm/s and the peak acceleration in g.
pub fn peaks(scenario: &Scenario) -> Option<(Motion, Motion)> {
    let rock = rock_acceleration(scenario)?;
    Some((motion(TABLE.first()?, scenario, rock), motion(TABLE.get(1)?, scenario, rock)))
}

/// Returns the spectral acceleration in g at a period, between those of the table by its logarithm.
pub fn spectral(scenario: &Scenario, period: f64) -> Option<Motion> {
    let rock = rock_acceleration(scenario)?;
    let periods = TABLE.get(2..)?;
    let above = periods.iter().position(|row| row.period >= period)?;
    let upper = periods.get(above)?;
    let at_upper = motion(upper, scenario, rock);
    let Some(lower) = above.checked_sub(1).and_then(|below| periods.get(below)) else { return Some(at_upper) };
    let at_lower = motion(lower, scenario, rock);
    let share = (period.ln() - lower.period.ln()) / (upper.period.ln() - lower.period.ln());
    let between = |low: f64, high: f64| low + share * (high - low);
    Some(Motion {
        ln_median: between(at_lower.ln_median, at_upper.ln_median),
        sigma: between(at_lower.sigma, at_upper.sigma),
    })
}

/// Peak acceleration in g on rock of the reference velocity.
fn rock_acceleration(scenario: &Scenario) -> Option<f64> {
    TABLE.get(1).map(|row| (event(row, scenario) + path(row, scenario)).exp())
}

fn motion(row: &Coefficients, scenario: &Scenario, rock: f64) -> Motion {
    Motion {
        ln_median: event(row, scenario) + path(row, scenario) + site(row, scenario, rock),
        sigma: sigma(row, scenario),
    }
}

fn event(row: &Coefficients, scenario: &Scenario) -> f64 {
    let [unspecified, strike_slip, normal, reverse, e4, e5, e6] = row.e;
    let term = match scenario.event {
        Event::Unspecified => unspecified,
        Event::StrikeSlip => strike_slip,
        Event::Normal => normal,
        Event::Reverse => reverse,
    };
    let above = scenario.magnitude - row.m_h;
    term + if above <= 0.0 { e4 * above + e5 * above * above } else { e6 * above }
}

fn path(row: &Coefficients, scenario: &Scenario) -> f64 {
    let [c1, c2, c3] = row.c;
    let r = scenario.rjb.hypot(row.h);
    (c1 + c2 * (scenario.magnitude - row.m_ref)) * (r / row.r_ref).ln() + (c3 + row.dc_3) * (r - row.r_ref)
}

fn site(row: &Coefficients, scenario: &Scenario, rock: f64) -> f64 {
    let linear = row.site * (scenario.vs30.min(row.v_c) / row.v_ref).ln();
    let soft = scenario.vs30.min(760.0);
    let f2 = row.f_4 * ((row.f_5 * (soft - 360.0)).exp() - (row.f_5 * (760.0 - 360.0)).exp());
    linear + row.f_1 + f2 * ((rock + row.f_3) / row.f_3).ln()
}

fn sigma(row: &Coefficients, scenario: &Scenario) -> f64 {
    let share = scenario.magnitude.clamp(4.5, 5.5) - 4.5;
    let by_magnitude = |[small, large]: [f64; 2]| small + (large - small) * share;
    let ([r1, r2], [v1, v2]) = (row.r, row.v);
    let far = ((scenario.rjb.max(0.1) / r1).ln() / (r2 / r1).ln()).clamp(0.0, 1.0);
    let soft = ((v2 / scenario.vs30).ln() / (v2 / v1).ln()).clamp(0.0, 1.0);
    let phi = by_magnitude(row.phi) + row.dphi_r * far - row.dphi_v * soft;
    phi.hypot(by_magnitude(row.tau))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        Scenario { magnitude: 6.5, event: Event::StrikeSlip, rjb: 20.0, vs30: 400.0 }
    }

    #[test]
    fn the_table_is_complete_and_in_order() {
        assert_eq!(TABLE.len(), 107);
        assert!(TABLE.windows(2).all(|pair| pair[0].period < pair[1].period));
        for row in TABLE.iter() {
            let motion = motion(row, &scenario(), 0.1);
            assert!(motion.ln_median.is_finite() && motion.sigma > 0.0, "{}", row.period);
        }
    }

    #[test]
    fn farther_and_smaller_shakes_less() {
        let pga = |scenario: Scenario| peaks(&scenario).unwrap().1.ln_median;
        let base = pga(scenario());
        assert!(pga(Scenario { rjb: 30.0, ..scenario() }) < base);
        assert!(pga(Scenario { magnitude: 6.0, ..scenario() }) < base);
        assert!(pga(Scenario { vs30: 760.0, ..scenario() }) < base);
    }
}
