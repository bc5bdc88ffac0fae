//! q122: flood damage.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::support::LARGEST;

const MAX_ASSETS: usize = 5_000;
const MAX_DEPTHS: usize = 100;
/// The curves; `data/README.md` says where they are from and what was compared.
const CURVES: &str = include_str!("../data/flood_curves.csv");
/// Depths of the curves' columns, m.
const KNOTS: [f64; 9] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0];

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    assets: Vec<Asset>,
    region: Region,
}

#[derive(Input)]
struct Asset {
    id: String,
    class: Class,
    value: f64,
    depths: BTreeMap<String, f64>,
}

/// Uses.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Class {
    /// Dwellings and contents.
    Residential,
    /// Shops, offices.
    Commercial,
    /// Industry.
    Industrial,
    /// Stations, ports, airports.
    Transport,
    /// Crops.
    Agriculture,
}

/// Continents.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
#[wire(case = "kebab")]
pub enum Region {
    /// Africa.
    Africa,
    /// Asia.
    Asia,
    /// Europe.
    Europe,
    /// North America.
    NorthAmerica,
    /// Oceania.
    Oceania,
    /// South and Central America.
    SouthCentralAmerica,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    assets: Vec<Damage>,
    total: BTreeMap<String, f64>,
    ead: f64,
}

#[derive(Output)]
struct Damage {
    id: String,
    damage: BTreeMap<String, f64>,
    ead: f64,
}

/// Computes the damage at each return period and the expected one of a year.
///
/// # Errors
/// `Invalid`, `TooLarge`, `NoAnswer` (no curve for the use in the region).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.assets.len() > MAX_ASSETS {
        return Err(Failure::too_large(format!("assets: at most {MAX_ASSETS}")));
    }
    let mut output = Output { assets: Vec::new(), total: BTreeMap::new(), ead: 0.0 };
    let mut curves: Vec<(Class, Curve)> = Vec::new();
    for (at, asset) in input.assets.into_iter().enumerate() {
        let here = at.to_string();
        if !(0.0..=LARGEST).contains(&asset.value) {
            return Err(Failure::invalid(&["assets", &here, "value"], "must be from 0 to 1e30"));
        }
        if asset.depths.len() > MAX_DEPTHS {
            return Err(Failure::too_large(format!("depths: at most {MAX_DEPTHS} return periods")));
        }
        if !curves.iter().any(|(class, _)| *class == asset.class) {
            let curve = Curve::find(asset.class, input.region)?;
            if !curve.reviewed {
                cx.warn(format!(
                    "unreviewed: the curve of {} in {} has one source only",
                    asset.class.word(),
                    input.region.word()
                ));
            }
            curves.push((asset.class, curve));
        }
        let Some((_, curve)) = curves.iter().find(|(class, _)| *class == asset.class) else { continue };
        let mut damage = BTreeMap::new();
        let mut by_probability = Vec::new();
        for (period, depth) in &asset.depths {
            let years = period.parse::<f64>().ok().filter(|years| (1.0..=1e9).contains(years));
            let path = ["assets", here.as_str(), "depths", period.as_str()];
            let Some(years) = years else {
                return Err(Failure::invalid(&path, "a return period is a number of years from 1 to 1e9"));
            };
            if !(-1e4..=1e4).contains(depth) {
                return Err(Failure::invalid(&path, "a depth is in metres, within ±10000"));
            }
            let loss = asset.value * curve.share(*depth);
            damage.insert(period.clone(), loss);
            *output.total.entry(period.clone()).or_default() += loss;
            by_probability.push((1.0 / years, loss));
        }
        let ead = expected(by_probability);
        output.ead += ead;
        output.assets.push(Damage { id: asset.id, damage, ead });
    }
    Ok(output)
}

/// The area under damage over probability: trapezes between the return periods, the largest damage below the smallest
/// probability, nothing above the largest.
fn expected(mut points: Vec<(f64, f64)>) -> f64 {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let tail = points.first().map_or(0.0, |(p, d)| p * d);
    let areas = points.windows(2).map(|w| match w {
        [(p, d), (q, e)] => (q - p) * (d + e) / 2.0,
        _ => 0.0,
    });
    tail + areas.sum::<f64>()
}

struct Curve {
    shares: Vec<f64>,
    reviewed: bool,
}

impl Curve {
    fn find(class: Class, region: Region) -> Result<Self, Failure> {
        let key = format!("{},{},", class.word(), region.word());
        let line = CURVES.lines().find_map(|line| line.strip_prefix(key.as_str())).ok_or_else(|| {
            let problem = format!("there is no curve of {} in {}", class.word(), region.word());
            Failure::no_answer(NoAnswer::OutsideValidity, problem)
        })?;
        let (review, numbers) = line.split_once(',').unwrap_or_default();
        let shares: Vec<f64> = numbers.split(',').filter_map(|n| n.parse().ok()).collect();
        if shares.len() != KNOTS.len() {
            return Err(Failure::internal("a curve of floods has another number of depths"));
        }
        Ok(Self { shares, reviewed: review == "two-sources" })
    }

    /// Share of the value that is lost at a depth. A dry asset loses nothing, also where the curve starts above 0
    /// because of basements.
    fn share(&self, depth: f64) -> f64 {
        if depth <= 0.0 {
            return 0.0;
        }
        let above = KNOTS.partition_point(|knot| *knot <= depth);
        let at = |k: usize| (KNOTS.get(k).copied(), self.shares.get(k).copied());
        match (at(above - 1), at(above)) {
            ((Some(a), Some(fa)), (Some(b), Some(fb))) => fa + (depth - a) / (b - a) * (fb - fa),
            ((_, Some(last)), _) => last,
            _ => 0.0,
        }
    }
}
