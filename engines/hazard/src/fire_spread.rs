//! q30: surface fire spread (Rothermel 1972 with Albini's changes of 1976; Andrews RMRS-GTR-371). The equations keep the
//! units that they were fitted in: feet, pounds, minutes, Btu.

use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::table::{number, rows};

/// Input of the engine; ranges and defaults stand in the catalogue.
#[derive(Debug, Input)]
pub struct Input {
    fuel_model: usize,
    moisture_1h_percent: f64,
    moisture_10h_percent: f64,
    moisture_100h_percent: f64,
    moisture_live_percent: f64,
    midflame_wind_km_h: f64,
    slope_deg: f64,
}

/// Output of the engine.
#[derive(Debug, Output)]
pub struct Output {
    spread_rate_m_min: f64,
    flame_length_m: f64,
    fireline_intensity_kw_m: f64,
    heat_per_area_kj_m2: f64,
    reaction_intensity_kw_m2: f64,
    suppression: &'static str,
}

/// A class of fuel particles.
#[derive(Debug, Clone, Copy)]
struct Particles {
    load: f64,
    ratio: f64,
}

/// A fuel model: dead particles of 1, 10 and 100 hours, live ones.
#[derive(Debug, Clone, Copy)]
struct Fuel {
    depth: f64,
    extinction: f64,
    dead: [Particles; 3],
    live: Particles,
}

static FUELS: LazyLock<Vec<Fuel>> = LazyLock::new(|| {
    let fuel = |row: Vec<&str>| Fuel {
        depth: number(&row, 2),
        extinction: number(&row, 3) / 100.0,
        dead: [
            Particles { load: number(&row, 4), ratio: number(&row, 8) },
            Particles { load: number(&row, 5), ratio: 109.0 },
            Particles { load: number(&row, 6), ratio: 30.0 },
        ],
        live: Particles { load: number(&row, 7), ratio: number(&row, 9) },
    };
    rows(include_str!("../data/anderson13.csv")).map(fuel).collect()
});

/// Density of the particles in lb/ft³, heat content in Btu/lb, mineral contents.
const DENSITY: f64 = 32.0;
const HEAT: f64 = 8000.0;
const MINERAL: f64 = 0.0555;
const EFFECTIVE_MINERAL: f64 = 0.010;
/// Least ratio of each size class of which loads count together (Albini 1976).
const SIZES: [f64; 5] = [1200.0, 192.0, 96.0, 48.0, 16.0];
const FOOT: f64 = 0.3048;
const BTU: f64 = 1.055_056;
/// Greatest flame length in m and what can be done (hauling chart, Andrews and Rothermel 1982: 4, 8 and 11 ft).
const SUPPRESSION: [(f64, &str); 4] = [
    (1.2192, "hand tools at head and flanks hold"),
    (2.4384, "too intense for hand tools; dozers, engines and aircraft can be effective"),
    (3.3528, "torching, crowning and spotting; control at the head is probably ineffective"),
    (f64::INFINITY, "crowning, spotting and major runs; control at the head is ineffective"),
];

/// A wind in ft/min that the equations were extended to with doubt: 0.9 of the reaction intensity.
const WIND_LIMIT: f64 = 0.9;
const MAX_WIND: f64 = 200.0;

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.midflame_wind_km_h > MAX_WIND {
        return Err(Failure::invalid(&["midflame_wind"], format!("must be at most {MAX_WIND} km/h")));
    }
    let fuel = FUELS.get(input.fuel_model.saturating_sub(1));
    let fuel = fuel.ok_or_else(|| Failure::invalid(&["fuel_model"], "must be from 1 to 13"))?;
    let moisture =
        [input.moisture_1h_percent, input.moisture_10h_percent, input.moisture_100h_percent].map(|m| m / 100.0);
    let wind = input.midflame_wind_km_h * 1000.0 / 60.0 / FOOT;
    let fire = burn(fuel, moisture, input.moisture_live_percent / 100.0, wind, input.slope_deg.to_radians());
    if fire.reaction == 0.0 {
        cx.warn("extinguished: the dead fuel is at or above its moisture of extinction, so no fire spreads");
    }
    if wind > WIND_LIMIT * fire.reaction && fire.reaction > 0.0 {
        cx.warn("extrapolated: the wind is above Rothermel's limit for this fuel; the spread rate may be too high");
    }
    let heat_per_area = fire.reaction * 384.0 / fire.ratio;
    let intensity = heat_per_area * fire.spread / 60.0 * BTU / FOOT;
    let flame = 0.0775 * intensity.powf(0.46);
    cx.step("surface-area-to-volume ratio", fire.ratio, "1/ft");
    cx.assume("the wind blows up the slope, and the fire spreads with both");
    Ok(Output {
        spread_rate_m_min: fire.spread * FOOT,
        flame_length_m: flame,
        fireline_intensity_kw_m: intensity,
        heat_per_area_kj_m2: heat_per_area * BTU / (FOOT * FOOT),
        reaction_intensity_kw_m2: fire.reaction * BTU / (FOOT * FOOT) / 60.0,
        suppression: suppression(flame),
    })
}

fn suppression(flame: f64) -> &'static str {
    SUPPRESSION.iter().find(|(most, _)| flame <= *most).map_or("", |(_, text)| *text)
}

/// Reaction intensity (Btu/ft²/min), spread (ft/min) and characteristic ratio (1/ft).
struct Fire {
    reaction: f64,
    spread: f64,
    ratio: f64,
}

fn burn(fuel: &Fuel, moisture: [f64; 3], moisture_live: f64, wind: f64, slope: f64) -> Fire {
    let area = |particles: &Particles| particles.ratio * particles.load / DENSITY;
    let dead_area: f64 = fuel.dead.iter().map(area).sum();
    let live_area = area(&fuel.live);
    let total = dead_area + live_area;
    let share = |particles: &Particles| area(particles) / dead_area;
    let (dead_share, live_share) = (dead_area / total, live_area / total);
    let ratio = dead_share * fuel.dead.iter().map(|p| share(p) * p.ratio).sum::<f64>() + live_share * fuel.live.ratio;
    let load = fuel.dead.iter().map(|p| p.load).sum::<f64>() + fuel.live.load;
    let bulk = load / fuel.depth;
    let packing = bulk / DENSITY;
    let relative = packing / (3.348 * ratio.powf(-0.8189));

    let moisture_dead: f64 = fuel.dead.iter().zip(moisture).map(|(p, m)| share(p) * m).sum();
    let net_dead: f64 = fuel.dead.iter().map(|p| size_share(fuel, p, &share) * p.load).sum::<f64>() * (1.0 - MINERAL);
    let net_live = fuel.live.load * (1.0 - MINERAL);
    let mineral = 0.174 * EFFECTIVE_MINERAL.powf(-0.19);
    let greatest = ratio.powf(1.5) / (495.0 + 0.0594 * ratio.powf(1.5));
    let a = 133.0 * ratio.powf(-0.7913);
    let velocity = greatest * relative.powf(a) * (a * (1.0 - relative)).exp();
    let extinction_live = live_extinction(fuel, moisture);
    let heat = net_dead * damping(moisture_dead, fuel.extinction) + net_live * damping(moisture_live, extinction_live);
    let reaction = velocity * heat * HEAT * mineral;

    let flux = ((0.792 + 0.681 * ratio.sqrt()) * (packing + 0.1)).exp() / (192.0 + 0.2595 * ratio);
    let c = 7.47 * (-0.133 * ratio.powf(0.55)).exp();
    let b = 0.02526 * ratio.powf(0.54);
    let e = 0.715 * (-3.59e-4 * ratio).exp();
    let by_wind = c * wind.powf(b) * relative.powf(-e);
    let by_slope = 5.275 * packing.powf(-0.3) * slope.tan().powi(2);
    let ignition = |m: f64| 250.0 + 1116.0 * m;
    let heated = |p: &Particles, m: f64| (-138.0 / p.ratio).exp() * ignition(m);
    let dead_sink: f64 = fuel.dead.iter().zip(moisture).map(|(p, m)| share(p) * heated(p, m)).sum();
    let sink = bulk * (dead_share * dead_sink + live_share * heated(&fuel.live, moisture_live));
    Fire { reaction, spread: reaction * flux * (1.0 + by_wind + by_slope) / sink, ratio }
}

/// Share of the surface in the size class of some particles.
fn size_share(fuel: &Fuel, particles: &Particles, share: &impl Fn(&Particles) -> f64) -> f64 {
    let size = |particles: &Particles| SIZES.iter().position(|least| particles.ratio >= *least);
    fuel.dead.iter().filter(|other| size(other) == size(particles)).map(share).sum()
}

/// Moisture of extinction of live fuel.
fn live_extinction(fuel: &Fuel, moisture: [f64; 3]) -> f64 {
    let fine = |p: &Particles| p.load * (-138.0 / p.ratio).exp();
    let fine_dead: f64 = fuel.dead.iter().map(fine).sum();
    let fine_live = fuel.live.load * (-500.0 / fuel.live.ratio).exp();
    if fine_live == 0.0 {
        return fuel.extinction;
    }
    let moisture = fuel.dead.iter().zip(moisture).map(|(p, m)| fine(p) * m).sum::<f64>() / fine_dead;
    (2.9 * fine_dead / fine_live * (1.0 - moisture / fuel.extinction) - 0.226).max(fuel.extinction)
}

fn damping(moisture: f64, extinction: f64) -> f64 {
    let r = (moisture / extinction).min(1.0);
    (1.0 - 2.59 * r + 5.11 * r * r - 3.52 * r * r * r).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_is_complete() {
        assert_eq!(FUELS.len(), 13);
        for fuel in FUELS.iter() {
            let finite = [fuel.depth, fuel.extinction, fuel.live.load, fuel.live.ratio, fuel.dead[0].ratio];
            assert!(finite.iter().all(|value| value.is_finite()) && fuel.depth > 0.0);
        }
    }

    #[test]
    fn more_wind_more_slope_and_less_moisture_spread_faster() {
        for fuel in FUELS.iter() {
            let spread = |m: f64, wind: f64, slope: f64| burn(fuel, [m, m, m], 1.0, wind, slope).spread;
            let base = spread(0.06, 300.0, 0.1);
            assert!(spread(0.06, 400.0, 0.1) > base);
            assert!(spread(0.06, 300.0, 0.2) > base);
            assert!(spread(0.05, 300.0, 0.1) > base);
        }
    }

    #[test]
    fn fuel_at_its_extinction_does_not_burn() {
        let fuel = &FUELS[0];
        let fire = burn(fuel, [fuel.extinction; 3], 1.0, 300.0, 0.0);
        assert!(fire.reaction.abs() < 1e-9 && fire.spread.abs() < 1e-9);
    }
}
