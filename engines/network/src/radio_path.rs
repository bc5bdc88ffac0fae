//! q55: radio path and link budget.

use muster_engine::prelude::*;

use crate::bounds::at_most;

const MAX_POINTS: usize = 10_000;
const LIGHT_M_S: f64 = 299_792_458.0;
const EARTH_RADIUS_M: f64 = 6_371_000.0;

/// Height of the ground.
#[derive(Input)]
pub struct Ground {
    distance_km: f64,
    height_m: f64,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    frequency_mhz: f64,
    distance_km: f64,
    profile: Vec<Ground>,
    antenna_a_m: f64,
    antenna_b_m: f64,
    tx_power_dbm: f64,
    gain_a_dbi: f64,
    gain_b_dbi: f64,
    sensitivity_dbm: f64,
    k_factor: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    free_space_loss_db: f64,
    diffraction_loss_db: f64,
    received_dbm: f64,
    margin_db: f64,
    line_of_sight: bool,
    worst_clearance: f64,
    fresnel_radius_m: f64,
}

/// A position of the path: metres from its start, and above sea level.
#[derive(Debug, Clone, Copy)]
struct Point {
    distance: f64,
    height: f64,
}

/// The wave and the curved earth.
struct Path {
    wavelength: f64,
    earth_radius: f64,
}

/// Computes the link budget. Heights of antennas are above the ground at their ends; without a profile the ground is
/// flat. The clearance is in radii of the first Fresnel zone; the radius in the output is that at mid path.
///
/// # Errors
/// A distance of 0, a profile that is not in order within the path.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.profile.len(), MAX_POINTS, "points of the profile")?;
    if input.distance_km <= 0.0 {
        return Err(Failure::invalid(&["distance"], "must be positive"));
    }
    let length = input.distance_km * 1_000.0;
    let path =
        Path { wavelength: LIGHT_M_S / (input.frequency_mhz * 1e6), earth_radius: input.k_factor * EARTH_RADIUS_M };
    let ground = ground(&input, length)?;
    if input.profile.is_empty() {
        cx.warn("assumed: without a profile the ground is flat; only the curvature of the earth is in the way");
    }
    let (ground_a, ground_b) = (height_at(&ground, 0.0), height_at(&ground, length));
    let a = Point { distance: 0.0, height: ground_a + input.antenna_a_m };
    let b = Point { distance: length, height: ground_b + input.antenna_b_m };
    let middle = Point { distance: length / 2.0, height: height_at(&ground, length / 2.0) };
    let mut obstacles: Vec<Point> =
        ground.into_iter().filter(|point| point.distance > 0.0 && point.distance < length).collect();
    if obstacles.is_empty() {
        obstacles.push(middle);
    }
    let free_space_loss = 32.4 + 20.0 * input.frequency_mhz.log10() + 20.0 * input.distance_km.log10();
    let (worst, edges) = path.deygout(a, b, &obstacles);
    for (edge, v) in &edges {
        cx.step("knife edge at", edge.distance / 1_000.0, "km");
        cx.step("its diffraction parameter", *v, "-");
    }
    let diffraction_loss: f64 = edges.iter().map(|(_, v)| knife_edge_loss(*v)).sum();
    // v is √2 times the height of an obstacle in Fresnel radii.
    let worst_clearance = -worst / std::f64::consts::SQRT_2;
    let received = input.tx_power_dbm + input.gain_a_dbi + input.gain_b_dbi - free_space_loss - diffraction_loss;
    Ok(Output {
        free_space_loss_db: free_space_loss,
        diffraction_loss_db: diffraction_loss,
        received_dbm: received,
        margin_db: received - input.sensitivity_dbm,
        line_of_sight: worst_clearance >= 0.0,
        worst_clearance,
        fresnel_radius_m: (path.wavelength * length / 4.0).sqrt(),
    })
}

fn ground(input: &Input, length: f64) -> Result<Vec<Point>, Failure> {
    let mut points: Vec<Point> = Vec::with_capacity(input.profile.len());
    for (index, point) in input.profile.iter().enumerate() {
        let distance = point.distance_km * 1_000.0;
        let last = points.last().map_or(0.0, |point| point.distance);
        if distance < last || distance > length * (1.0 + 1e-9) {
            let message = "must not be less than the one before, nor more than the distance of the path";
            return Err(Failure::invalid(&["profile", &index.to_string(), "distance"], message));
        }
        points.push(Point { distance, height: point.height_m });
    }
    if points.is_empty() {
        points.push(Point { distance: length / 2.0, height: 0.0 });
    }
    Ok(points)
}

/// Height of the ground between the points of a profile; beyond them that of the nearest one.
fn height_at(ground: &[Point], distance: f64) -> f64 {
    let after = ground.partition_point(|point| point.distance < distance);
    let before = after.checked_sub(1).and_then(|index| ground.get(index));
    match (before, ground.get(after)) {
        (Some(one), Some(other)) if other.distance > one.distance => {
            let share = (distance - one.distance) / (other.distance - one.distance);
            one.height + share * (other.height - one.height)
        }
        (_, Some(point)) | (Some(point), None) => point.height,
        (None, None) => 0.0,
    }
}

impl Path {
    /// Diffraction parameter of an obstacle between two positions (P.526, eq. 26), with the bulge of the earth.
    fn parameter(&self, a: Point, b: Point, obstacle: Point) -> f64 {
        let (before, after) = (obstacle.distance - a.distance, b.distance - obstacle.distance);
        let line = (a.height * after + b.height * before) / (before + after);
        let above = obstacle.height + before * after / (2.0 * self.earth_radius) - line;
        above * (2.0 * (before + after) / (self.wavelength * before * after)).sqrt()
    }

    /// Returns the obstacle with the largest parameter.
    fn main_edge(&self, a: Point, b: Point, obstacles: &[Point]) -> Option<(Point, f64)> {
        let between = obstacles.iter().filter(|point| point.distance > a.distance && point.distance < b.distance);
        between.map(|point| (*point, self.parameter(a, b, *point))).max_by(|(_, one), (_, other)| one.total_cmp(other))
    }

    /// Deygout's construction: the main edge, then the main ones on its two sides. Returns the largest parameter of the
    /// whole path and the edges that cause a loss.
    fn deygout(&self, a: Point, b: Point, obstacles: &[Point]) -> (f64, Vec<(Point, f64)>) {
        let Some((edge, v)) = self.main_edge(a, b, obstacles) else { return (f64::MIN, Vec::new()) };
        if v <= LEAST_PARAMETER {
            return (v, Vec::new());
        }
        let sides = [self.main_edge(a, edge, obstacles), self.main_edge(edge, b, obstacles)];
        let sides = sides.into_iter().flatten().filter(|(_, v)| *v > LEAST_PARAMETER);
        (v, std::iter::once((edge, v)).chain(sides).collect())
    }
}

/// Parameter below which an edge causes no loss.
const LEAST_PARAMETER: f64 = -0.78;

/// J(v) of P.526, eq. 31, in dB.
fn knife_edge_loss(v: f64) -> f64 {
    if v <= LEAST_PARAMETER {
        return 0.0;
    }
    6.9 + 20.0 * (((v - 0.1).powi(2) + 1.0).sqrt() + v - 0.1).log10()
}
