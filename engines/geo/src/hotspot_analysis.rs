//! q16: hot-spot statistics.

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::normal_p;

use crate::bounds::{at_most, position};
use crate::near::Near;

const MAX_SITES: usize = 5_000;
const MAX_BANDWIDTH_M: f64 = 1e7;

/// A place with a value.
#[derive(Input)]
pub struct SiteInput {
    id: String,
    lat: f64,
    lon: f64,
    value: f64,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    sites: Vec<SiteInput>,
    bandwidth_m: f64,
}

/// Significance of a site, two-sided.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "lower")]
pub enum Class {
    /// High values, p ≤ 0.01.
    Hot99,
    /// High values, p ≤ 0.05.
    Hot95,
    /// High values, p ≤ 0.1.
    Hot90,
    /// Not significant.
    None,
    /// Low values, p ≤ 0.1.
    Cold90,
    /// Low values, p ≤ 0.05.
    Cold95,
    /// Low values, p ≤ 0.01.
    Cold99,
}

/// Gi* of a site.
#[derive(Output)]
pub struct Site {
    id: String,
    z: f64,
    p: f64,
    class: Class,
}

/// Output of the engine. Moran's I is absent if no site has a neighbour.
#[derive(Output)]
pub struct Output {
    sites: Vec<Site>,
    moran_i: Option<f64>,
    moran_z: Option<f64>,
    moran_p: Option<f64>,
}

/// Computes Gi* of each site and Moran's I under normality, with equal weights within the bandwidth. A site whose
/// neighbourhood is everything has z = 0.
///
/// # Errors
/// A position out of range, fewer than three sites, equal values, too large an input.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.sites.len(), MAX_SITES, "sites")?;
    if input.bandwidth_m > MAX_BANDWIDTH_M {
        return Err(Failure::invalid(&["bandwidth"], format!("must be at most {MAX_BANDWIDTH_M} m")));
    }
    if input.sites.len() < 3 {
        return Err(Failure::no_answer(NoAnswer::TooFew, "three sites at least are needed"));
    }
    let positions = input.sites.iter().enumerate();
    let positions = positions.map(|(index, site)| position(&["sites", &index.to_string()], site.lat, site.lon));
    let positions = positions.collect::<Result<Vec<_>, Failure>>()?;
    let near = Near::new(&positions);
    let n = input.sites.len() as f64;
    let mean = input.sites.iter().map(|site| site.value).sum::<f64>() / n;
    let deviations: Vec<f64> = input.sites.iter().map(|site| site.value - mean).collect();
    let squares: f64 = deviations.iter().map(|deviation| deviation * deviation).sum();
    if squares.is_nan() || squares <= 0.0 || !squares.is_finite() {
        return Err(Failure::no_answer(
            NoAnswer::Singular,
            "all values are equal, or too large: there is no variation to test",
        ));
    }
    let spread = (squares / n).sqrt();
    let mut sites = Vec::with_capacity(input.sites.len());
    let (mut links, mut link_squares, mut products) = (0.0, 0.0, 0.0);
    let mut alone = 0;
    for ((site, at), own) in input.sites.iter().zip(&positions).zip(&deviations) {
        let neighbours = near.within(*at, input.bandwidth_m);
        let weight = neighbours.len() as f64;
        let sum: f64 = neighbours.iter().filter_map(|index| deviations.get(*index)).sum();
        let variance = (n * weight - weight * weight) / (n - 1.0);
        let z = if variance > 0.0 { sum / (spread * variance.sqrt()) } else { 0.0 };
        let p = normal_p(z);
        sites.push(Site { id: site.id.clone(), z, p, class: class(z, p) });
        links += weight - 1.0;
        link_squares += (weight - 1.0) * (weight - 1.0);
        products += own * (sum - own);
        alone += usize::from(neighbours.len() == 1);
    }
    if alone > 0 {
        cx.warn(format!("alone: {alone} sites have no neighbour within the bandwidth"));
    }
    if links <= 0.0 {
        return Ok(Output { sites, moran_i: None, moran_z: None, moran_p: None });
    }
    let moran = n / links * products / squares;
    // S1 = 2 S0 and S2 = 4 Σ wᵢ² for equal symmetric weights.
    let (s1, s2) = (2.0 * links, 4.0 * link_squares);
    let expected = -1.0 / (n - 1.0);
    let variance = (n * n * s1 - n * s2 + 3.0 * links * links) / ((n * n - 1.0) * links * links) - expected * expected;
    let z = (variance > 0.0).then(|| (moran - expected) / variance.sqrt());
    Ok(Output { sites, moran_i: Some(moran), moran_z: z, moran_p: z.map(normal_p) })
}

fn class(z: f64, p: f64) -> Class {
    match (z > 0.0, p) {
        (true, ..=0.01) => Class::Hot99,
        (true, ..=0.05) => Class::Hot95,
        (true, ..=0.1) => Class::Hot90,
        (false, ..=0.01) => Class::Cold99,
        (false, ..=0.05) => Class::Cold95,
        (false, ..=0.1) => Class::Cold90,
        _ => Class::None,
    }
}
