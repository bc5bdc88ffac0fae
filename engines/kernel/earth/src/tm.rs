//! UTM and UPS: Krüger's series of order 6 (Karney, J. Geodesy 85, 2011) and the polar stereographic projection.

use crate::{EQUATORIAL_RADIUS_M, FLATTENING, LatLon, wrap_longitude};

const E2: f64 = FLATTENING * (2.0 - FLATTENING);
const N: f64 = FLATTENING / (2.0 - FLATTENING);
const UTM_SCALE: f64 = 0.9996;
const UPS_SCALE: f64 = 0.994;
const UTM_FALSE_EASTING: f64 = 500_000.0;
const UTM_FALSE_NORTHING: f64 = 10_000_000.0;
const UPS_FALSE: f64 = 2_000_000.0;

/// A position in the grid of a UTM zone or of UPS.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Grid {
    /// Zone 1 to 60 of UTM, or 0 for UPS.
    pub zone: u8,
    /// Whether the northing counts from the equator (UTM) or the north pole is the centre (UPS).
    pub north: bool,
    /// Easting in metres, false easting included.
    pub easting: f64,
    /// Northing in metres, false northing included.
    pub northing: f64,
}

/// A position in a grid, with the properties of the projection there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projected {
    /// The position.
    pub grid: Grid,
    /// Meridian convergence in degrees: bearing of grid north, clockwise from true north.
    pub convergence: f64,
    /// Scale of lengths.
    pub scale: f64,
}

/// Returns the standard zone of a position, with the exceptions of Norway and Svalbard; 0 where UPS is used.
pub fn utm_zone(position: LatLon) -> u8 {
    let LatLon { lat, lon } = position;
    if !(-80.0..84.0).contains(&lat) {
        return 0;
    }
    let lon = wrap_longitude(lon);
    if (56.0..64.0).contains(&lat) && (3.0..12.0).contains(&lon) {
        return 32;
    }
    if (72.0..84.0).contains(&lat) {
        for (zone, range) in [(31, 0.0..9.0), (33, 9.0..21.0), (35, 21.0..33.0), (37, 33.0..42.0)] {
            if range.contains(&lon) {
                return zone;
            }
        }
    }
    // Within 1 to 60, as the longitude is in [-180, 180).
    ((lon + 180.0) / 6.0).floor() as u8 + 1
}

/// Projects a position into its standard zone, or into UPS.
pub fn grid(position: LatLon) -> Projected {
    match utm_zone(position) {
        0 => ups(position),
        zone => utm(position, zone),
    }
}

/// Returns the position of a grid.
pub fn ungrid(grid: Grid) -> LatLon {
    if grid.zone == 0 {
        let (x, y) = (grid.easting - UPS_FALSE, grid.northing - UPS_FALSE);
        let tau = {
            let t = x.hypot(y) / (2.0 * EQUATORIAL_RADIUS_M * UPS_SCALE) * polar_constant();
            if t > 0.0 { geographic_tan((1.0 / t - t) / 2.0) } else { f64::INFINITY }
        };
        let lat = tau.atan().to_degrees();
        let (lat, lon) = if grid.north { (lat, x.atan2(-y)) } else { (-lat, x.atan2(y)) };
        return LatLon::new(lat, wrap_longitude(lon.to_degrees()));
    }
    let false_northing = if grid.north { 0.0 } else { UTM_FALSE_NORTHING };
    let radius = rectifying_radius() * UTM_SCALE;
    let (xi, eta) = ((grid.northing - false_northing) / radius, (grid.easting - UTM_FALSE_EASTING) / radius);
    let (mut xi1, mut eta1) = (xi, eta);
    for (j, beta) in (1_u8..).zip(BETA.map(|row| series(&row))) {
        let twice = 2.0 * f64::from(j);
        xi1 -= beta * (twice * xi).sin() * (twice * eta).cosh();
        eta1 -= beta * (twice * xi).cos() * (twice * eta).sinh();
    }
    let tau = xi1.sin() / eta1.sinh().hypot(xi1.cos());
    let lon = eta1.sinh().atan2(xi1.cos()).to_degrees();
    LatLon::new(geographic_tan(tau).atan().to_degrees(), wrap_longitude(lon + central_meridian(grid.zone)))
}

fn central_meridian(zone: u8) -> f64 {
    6.0 * f64::from(zone) - 183.0
}

pub(crate) fn utm(position: LatLon, zone: u8) -> Projected {
    let lon = wrap_longitude(position.lon - central_meridian(zone)).to_radians();
    let (sin_lat, cos_lat) = position.lat.to_radians().sin_cos();
    let (sin_lon, cos_lon) = lon.sin_cos();
    let geographic = sin_lat / cos_lat;
    let tau = conformal_tan(geographic);
    let (xi1, eta1) = (tau.atan2(cos_lon), (sin_lon / tau.hypot(cos_lon)).asinh());
    let (mut xi, mut eta, mut p, mut q) = (xi1, eta1, 1.0, 0.0);
    for (j, alpha) in (1_u8..).zip(ALPHA.map(|row| series(&row))) {
        let twice = 2.0 * f64::from(j);
        let ((sin, cos), (sinh, cosh)) = ((twice * xi1).sin_cos(), ((twice * eta1).sinh(), (twice * eta1).cosh()));
        xi += alpha * sin * cosh;
        eta += alpha * cos * sinh;
        p += twice * alpha * cos * cosh;
        q += twice * alpha * sin * sinh;
    }
    let radius = rectifying_radius() * UTM_SCALE;
    let north = position.lat >= 0.0;
    let convergence = (tau * sin_lon).atan2(tau.hypot(1.0) * cos_lon) + q.atan2(p);
    let scale =
        radius / EQUATORIAL_RADIUS_M * p.hypot(q) * (1.0 - E2 * sin_lat * sin_lat).sqrt() * geographic.hypot(1.0)
            / tau.hypot(cos_lon);
    Projected {
        grid: Grid {
            zone,
            north,
            easting: radius * eta + UTM_FALSE_EASTING,
            northing: radius * xi + if north { 0.0 } else { UTM_FALSE_NORTHING },
        },
        convergence: convergence.to_degrees(),
        scale,
    }
}

fn ups(position: LatLon) -> Projected {
    let north = position.lat >= 0.0;
    let lat = position.lat.abs().to_radians();
    let (sin_lat, cos_lat) = lat.sin_cos();
    let at_pole = cos_lat < 1e-15;
    let tau = conformal_tan(sin_lat / cos_lat);
    // exp(-psi), written without the cancellation of sqrt(1 + tau²) - tau.
    let t = if at_pole { 0.0 } else { 1.0 / (tau + tau.hypot(1.0)) };
    let rho = 2.0 * EQUATORIAL_RADIUS_M * UPS_SCALE * t / polar_constant();
    let (sin_lon, cos_lon) = position.lon.to_radians().sin_cos();
    let scale =
        if at_pole { UPS_SCALE } else { rho * (1.0 - E2 * sin_lat * sin_lat).sqrt() / (EQUATORIAL_RADIUS_M * cos_lat) };
    let sign = if north { -1.0 } else { 1.0 };
    Projected {
        grid: Grid { zone: 0, north, easting: UPS_FALSE + rho * sin_lon, northing: UPS_FALSE + sign * rho * cos_lon },
        convergence: -sign * position.lon,
        scale,
    }
}

/// `sqrt((1+e)^(1+e) (1-e)^(1-e))` of the polar stereographic projection.
fn polar_constant() -> f64 {
    let e = E2.sqrt();
    ((1.0 + e).powf(1.0 + e) * (1.0 - e).powf(1.0 - e)).sqrt()
}

/// Radius of the sphere on which meridians have their length, of Krüger's series.
fn rectifying_radius() -> f64 {
    let n2 = N * N;
    EQUATORIAL_RADIUS_M / (1.0 + N) * (1.0 + n2 / 4.0 + n2 * n2 / 64.0 + n2 * n2 * n2 / 256.0)
}

/// Tangent of the conformal latitude from that of the geographic one.
fn conformal_tan(tau: f64) -> f64 {
    let e = E2.sqrt();
    let root = tau.hypot(1.0);
    let sigma = (e * (e * if root.is_finite() { tau / root } else { tau.signum() }).atanh()).sinh();
    sigma.hypot(1.0) * tau - sigma * root
}

/// Tangent of the geographic latitude from that of the conformal one, by Newton's iteration (Karney 2011, eqs. 19–21).
fn geographic_tan(target: f64) -> f64 {
    if target.abs() > 1e15 {
        return target;
    }
    let mut tau = target / (1.0 - E2);
    for _ in 0..6 {
        let found = conformal_tan(tau);
        let step = (target - found) / found.hypot(1.0) * (1.0 + (1.0 - E2) * tau * tau) / ((1.0 - E2) * tau.hypot(1.0));
        tau += step;
        if step.abs() <= 1e-15 * tau.abs().max(1.0) {
            break;
        }
    }
    tau
}

/// Evaluates one coefficient: the row holds the factors of n, n², … n⁶.
fn series(row: &[f64; 6]) -> f64 {
    row.iter().rev().fold(0.0, |sum, factor| (sum + factor) * N)
}

/// Karney 2011, eq. 35.
const ALPHA: [[f64; 6]; 6] = [
    [1.0 / 2.0, -2.0 / 3.0, 5.0 / 16.0, 41.0 / 180.0, -127.0 / 288.0, 7_891.0 / 37_800.0],
    [0.0, 13.0 / 48.0, -3.0 / 5.0, 557.0 / 1_440.0, 281.0 / 630.0, -1_983_433.0 / 1_935_360.0],
    [0.0, 0.0, 61.0 / 240.0, -103.0 / 140.0, 15_061.0 / 26_880.0, 167_603.0 / 181_440.0],
    [0.0, 0.0, 0.0, 49_561.0 / 161_280.0, -179.0 / 168.0, 6_601_661.0 / 7_257_600.0],
    [0.0, 0.0, 0.0, 0.0, 34_729.0 / 80_640.0, -3_418_889.0 / 1_995_840.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 212_378_941.0 / 319_334_400.0],
];

/// Karney 2011, eq. 36.
const BETA: [[f64; 6]; 6] = [
    [1.0 / 2.0, -2.0 / 3.0, 37.0 / 96.0, -1.0 / 360.0, -81.0 / 512.0, 96_199.0 / 604_800.0],
    [0.0, 1.0 / 48.0, 1.0 / 15.0, -437.0 / 1_440.0, 46.0 / 105.0, -1_118_711.0 / 3_870_720.0],
    [0.0, 0.0, 17.0 / 480.0, -37.0 / 840.0, -209.0 / 4_480.0, 5_569.0 / 90_720.0],
    [0.0, 0.0, 0.0, 4_397.0 / 161_280.0, -11.0 / 504.0, -830_251.0 / 7_257_600.0],
    [0.0, 0.0, 0.0, 0.0, 4_583.0 / 161_280.0, -108_847.0 / 3_991_680.0],
    [0.0, 0.0, 0.0, 0.0, 0.0, 20_648_693.0 / 638_668_800.0],
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::inverse;

    /// pyproj 3.7.2 (PROJ 9.5.1), EPSG:32631, 32733, 32661 and 32761: lat, lon, easting, northing, convergence, scale of
    /// `Proj.get_factors`.
    #[test]
    fn grids_agree_with_proj() {
        for [lat, lon, easting, northing, convergence, scale] in PROJ {
            let found = grid(LatLon::new(lat, lon));
            assert!((found.grid.easting - easting).abs() < 1e-3, "{found:?}");
            assert!((found.grid.northing - northing).abs() < 1e-3, "{found:?}");
            assert!((found.convergence - convergence).abs() < 1e-6, "{found:?} {convergence}");
            assert!((found.scale - scale).abs() < 1e-8, "{found:?}");
        }
    }

    const PROJ: [[f64; 6]; 4] = [
        [48.858222, 2.2945, 448_251.817_884_558, 5_411_935.123_220_225, -0.531_312_386_8, 0.999_632_897_392_7],
        [-22.95, 17.1, 715_324.173_704_617, 7_460_476.071_038_486, -0.819_164_549_6, 1.000_172_816_672_6],
        [87.3, -120.4, 1_741_403.269_653_941, 2_151_717.800_561_602, -120.4, 0.994_552_034_383_7],
        [-85.5, 33.25, 2_274_066.434_243_729, 2_418_020.782_312_552, -33.25, 0.995_534_418_307_4],
    ];

    #[test]
    fn zones_have_the_exceptions_of_norway_and_svalbard() {
        for (lat, lon, zone) in [
            (60.0, 5.0, 32),
            (60.0, 2.9, 31),
            (63.999, 11.9, 32),
            (64.0, 5.0, 31),
            (78.0, 8.0, 31),
            (78.0, 10.0, 33),
            (78.0, 22.0, 35),
            (78.0, 41.9, 37),
            (83.999, 0.0, 31),
            (84.0, 0.0, 0),
            (-80.0, 0.0, 31),
            (-80.1, 0.0, 0),
            (0.0, -180.0, 1),
            (0.0, 180.0, 1),
            (0.0, 179.9, 60),
        ] {
            assert_eq!(utm_zone(LatLon::new(lat, lon)), zone, "{lat} {lon}");
        }
    }

    proptest! {
        #[test]
        fn grids_are_inverted(lat in -90.0..=90.0, lon in -180.0..180.0) {
            let position = LatLon::new(lat, lon);
            let found = ungrid(grid(position).grid);
            prop_assert!(inverse(found, position).distance < 1e-6, "{position:?} {found:?}");
        }
    }
}
