//! q81: field power plan.

use muster_engine::prelude::*;

use crate::bounds::{at_most, not_negative, positive};

const MAX_LOADS: usize = 1_000;
/// Fuel curve of a diesel generator in litres an hour: by rated kilowatts and by those delivered (Skarstein and Uhlen
/// 1989).
const IDLE_L_KWH: f64 = 0.084_15;
const LOAD_L_KWH: f64 = 0.246;
/// Load below which a diesel generator wears out.
const LEAST_LOAD: f64 = 0.3;

/// A load.
#[derive(Input)]
pub struct Load {
    #[expect(dead_code, reason = "names are for readers of the list")]
    name: String,
    watts_w: f64,
    hours_per_day_h: f64,
    count: Option<i64>,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    loads: Vec<Load>,
    autonomy_days_d: f64,
    peak_sun_hours_h: f64,
    battery_voltage_v: f64,
    depth_of_discharge: f64,
    battery_efficiency: f64,
    system_efficiency: f64,
    generator_rating_kva: Option<f64>,
    fuel_available: Option<f64>,
    power_factor: f64,
}

/// Output of the engine. Values of the generator are absent without one, and days of fuel without fuel.
#[derive(Output)]
pub struct Output {
    daily_energy_kwh: f64,
    peak_load_kw: f64,
    battery_capacity: f64,
    solar_array_w: f64,
    generator_load: Option<f64>,
    fuel_per_day: Option<f64>,
    fuel_days_d: Option<f64>,
}

/// Sizes a field site: peak is all loads at once; a generator runs at that load for the hours that the day's energy takes.
///
/// # Errors
/// A day of more than 24 hours, a voltage or efficiency of 0, no sun, an overloaded generator.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.loads.len(), MAX_LOADS, "loads")?;
    let (mut energy, mut peak) = (0.0, 0.0);
    for (index, load) in input.loads.iter().enumerate() {
        let index = index.to_string();
        not_negative(["loads", &index, "watts"], load.watts_w)?;
        if !(0.0..=24.0).contains(&load.hours_per_day_h) {
            return Err(Failure::invalid(&["loads", &index, "hours_per_day"], "must be between 0 and 24"));
        }
        let count = load.count.unwrap_or(1);
        if count < 0 {
            return Err(Failure::invalid(&["loads", &index, "count"], "must not be negative"));
        }
        let watts = load.watts_w * count as f64;
        peak += watts;
        energy += watts * load.hours_per_day_h;
    }
    for (name, value) in [
        ("battery_voltage", input.battery_voltage_v),
        ("depth_of_discharge", input.depth_of_discharge),
        ("battery_efficiency", input.battery_efficiency),
        ("system_efficiency", input.system_efficiency),
        ("peak_sun_hours", input.peak_sun_hours_h),
        ("power_factor", input.power_factor),
    ] {
        positive(&[name], value)?;
    }
    let usable = input.battery_voltage_v * input.depth_of_discharge * input.battery_efficiency;
    let generator = input
        .generator_rating_kva
        .map(|rating| generator(rating * input.power_factor, energy, peak, cx))
        .transpose()?;
    let fuel_per_day = generator.map(|(_, fuel)| fuel);
    let fuel_days = input
        .fuel_available
        .zip(fuel_per_day)
        .filter(|(_, fuel)| *fuel > 0.0)
        .map(|(available, fuel)| available / fuel);
    Ok(Output {
        daily_energy_kwh: energy / 1_000.0,
        peak_load_kw: peak / 1_000.0,
        battery_capacity: energy * input.autonomy_days_d / usable,
        solar_array_w: energy / (input.peak_sun_hours_h * input.system_efficiency),
        generator_load: generator.map(|(load, _)| load),
        fuel_per_day,
        fuel_days_d: fuel_days,
    })
}

/// Load of the generator, and litres a day.
fn generator(rated_kw: f64, energy_wh: f64, peak_w: f64, cx: &Context) -> Result<(f64, f64), Failure> {
    positive(&["generator_rating"], rated_kw)?;
    let load = peak_w / 1_000.0 / rated_kw;
    if load > 1.0 {
        let message = format!("is too small: the peak of {:.2} kW is more than its {rated_kw:.2} kW", peak_w / 1_000.0);
        return Err(Failure::invalid(&["generator_rating"], message));
    }
    if load < LEAST_LOAD {
        cx.warn("underloaded: the generator runs below 30 % of its rating, which fouls a diesel engine");
    }
    let hours = if peak_w > 0.0 { energy_wh / peak_w } else { 0.0 };
    let fuel = hours * (IDLE_L_KWH * rated_kw + LOAD_L_KWH * peak_w / 1_000.0);
    cx.step("hours of the generator a day", hours, "h");
    Ok((load, fuel))
}
