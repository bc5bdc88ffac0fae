//! Spread of a plume by stability (Briggs 1973) and the stability classes of Pasquill and Turner.

use muster_engine::prelude::*;

/// Stability of the air, from very unstable to stable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Words)]
#[wire(case = "upper")]
pub enum Stability {
    A,
    B,
    C,
    D,
    E,
    F,
}

/// Sunshine by day, clouds by night.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Solar {
    Strong,
    Moderate,
    Slight,
    NightCloudy,
    NightClear,
}

/// What the wind blows over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Words)]
pub enum Terrain {
    Rural,
    Urban,
}

/// Returns the class of a wind at 10 m in m/s (Turner's table 3-1); of two classes the more stable one, which carries
/// ground concentrations farther.
pub fn stability(wind: f64, solar: Solar) -> Stability {
    use Stability::{A, B, C, D, E, F};
    let classes = match wind {
        _ if wind < 2.0 => [A, B, B, E, F],
        _ if wind < 3.0 => [B, B, C, E, F],
        _ if wind < 5.0 => [B, C, C, D, E],
        _ if wind <= 6.0 => [C, D, D, D, D],
        _ => [C, D, D, D, D],
    };
    let [strong, moderate, slight, cloudy, clear] = classes;
    match solar {
        Solar::Strong => strong,
        Solar::Moderate => moderate,
        Solar::Slight => slight,
        Solar::NightCloudy => cloudy,
        Solar::NightClear => clear,
    }
}

/// Standard deviations in m across the wind and upwards at a distance in m.
pub fn sigmas(stability: Stability, terrain: Terrain, x: f64) -> (f64, f64) {
    let grown = |factor: f64, rate: f64, power: f64| factor * x * (1.0 + rate * x).powf(power);
    match (terrain, stability) {
        (Terrain::Rural, Stability::A) => (grown(0.22, 1e-4, -0.5), 0.20 * x),
        (Terrain::Rural, Stability::B) => (grown(0.16, 1e-4, -0.5), 0.12 * x),
        (Terrain::Rural, Stability::C) => (grown(0.11, 1e-4, -0.5), grown(0.08, 2e-4, -0.5)),
        (Terrain::Rural, Stability::D) => (grown(0.08, 1e-4, -0.5), grown(0.06, 1.5e-3, -0.5)),
        (Terrain::Rural, Stability::E) => (grown(0.06, 1e-4, -0.5), grown(0.03, 3e-4, -1.0)),
        (Terrain::Rural, Stability::F) => (grown(0.04, 1e-4, -0.5), grown(0.016, 3e-4, -1.0)),
        (Terrain::Urban, Stability::A | Stability::B) => (grown(0.32, 4e-4, -0.5), grown(0.24, 1e-3, 0.5)),
        (Terrain::Urban, Stability::C) => (grown(0.22, 4e-4, -0.5), 0.20 * x),
        (Terrain::Urban, Stability::D) => (grown(0.16, 4e-4, -0.5), grown(0.14, 3e-4, -0.5)),
        (Terrain::Urban, Stability::E | Stability::F) => (grown(0.11, 4e-4, -0.5), grown(0.08, 1.5e-3, -0.5)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plumes_widen_with_distance_and_narrow_with_stability() {
        for terrain in [Terrain::Rural, Terrain::Urban] {
            for x in [100.0, 1000.0, 8000.0] {
                let all = [Stability::A, Stability::B, Stability::C, Stability::D, Stability::E, Stability::F];
                for pair in all.windows(2) {
                    let (less, more) = (sigmas(pair[0], terrain, x), sigmas(pair[1], terrain, x));
                    assert!(more.0 <= less.0 && more.1 <= less.1, "{pair:?} {x}");
                }
                let (near, far) = (sigmas(Stability::D, terrain, x), sigmas(Stability::D, terrain, 1.1 * x));
                assert!(far.0 > near.0 && far.1 > near.1);
            }
        }
    }

    #[test]
    fn the_class_follows_wind_and_sun() {
        assert_eq!(stability(1.5, Solar::Strong), Stability::A);
        assert_eq!(stability(4.0, Solar::Slight), Stability::C);
        assert_eq!(stability(2.5, Solar::NightClear), Stability::F);
        assert_eq!(stability(10.0, Solar::Slight), Stability::D);
    }
}
