//! q72: water chlorination and storage.

use muster_engine::prelude::*;

use crate::bounds::positive;

const CONTACT_MIN: f64 = 30.0;
/// pH above which, and temperature below which, the contact time is doubled.
const HIGH_PH: f64 = 8.0;
const LOW_TEMPERATURE_DEG_C: f64 = 10.0;
/// Chlorine in a litre of the 1 % stock solution.
const STOCK_G_L: f64 = 10.0;
/// Dose above which people refuse the taste (WHO Guidelines for Drinking-water Quality: 5 mg/L is the guideline value).
const GUIDELINE_MG_L: f64 = 5.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    volume_m3: f64,
    product_strength_percent: f64,
    dose: Option<f64>,
    chlorine_demand: f64,
    target_residual: f64,
    ph: f64,
    temperature_deg_c: f64,
    people: Option<i64>,
    litres_per_person: f64,
}

/// Output of the engine. Days of supply are absent without people.
#[derive(Output)]
pub struct Output {
    product_mass_g: f64,
    stock_solution_volume: f64,
    dose: f64,
    contact_minutes: f64,
    hocl_fraction: f64,
    days_of_supply_d: Option<f64>,
}

/// Computes the dose (demand and residual, if it is not given), the product for it and how much of the free chlorine is
/// hypochlorous acid.
///
/// # Errors
/// Neither people nor litres above 0 where days are computed.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let dose = input.dose.unwrap_or(input.chlorine_demand + input.target_residual);
    // mg/L is g/m³.
    let chlorine = dose * input.volume_m3;
    let doubled = input.ph > HIGH_PH || input.temperature_deg_c < LOW_TEMPERATURE_DEG_C;
    if input.ph > HIGH_PH {
        cx.warn("weak: above pH 8 little of the chlorine is hypochlorous acid; lower the pH or raise the residual");
    }
    if dose - input.chlorine_demand > GUIDELINE_MG_L {
        cx.warn("high: the residual would exceed 5 mg/L, the guideline value of WHO");
    }
    let kelvin = input.temperature_deg_c + 273.15;
    let pka = 3_000.0 / kelvin - 10.0686 + 0.0253 * kelvin;
    cx.step("pKa of hypochlorous acid", pka, "-");
    let days = match input.people {
        None => None,
        Some(people) if people > 0 => {
            positive(&["litres_per_person"], input.litres_per_person)?;
            Some(input.volume_m3 * 1_000.0 / (people as f64 * input.litres_per_person))
        }
        Some(_) => return Err(Failure::invalid(&["people"], "must be positive")),
    };
    Ok(Output {
        product_mass_g: chlorine / (input.product_strength_percent / 100.0),
        stock_solution_volume: chlorine / STOCK_G_L,
        dose,
        contact_minutes: if doubled { 2.0 * CONTACT_MIN } else { CONTACT_MIN },
        hocl_fraction: 1.0 / (1.0 + 10_f64.powf(input.ph - pka)),
        days_of_supply_d: days,
    })
}
