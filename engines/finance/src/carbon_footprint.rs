//! q130: carbon footprint.

use muster_engine::prelude::*;

use crate::support::finite;

const MAX_ITEMS: usize = 10_000;
/// Factors of fuels and road freight; `data/README.md` says where they are from and what was compared.
const FACTORS: &str = include_str!("../data/emission_factors.csv");

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    items: Vec<Item>,
    grid_intensity: f64,
    embodied: f64,
    functional_units: Option<f64>,
}

#[derive(Input)]
struct Item {
    kind: Kind,
    amount: f64,
    unit: String,
    pue: Option<f64>,
}

/// Kinds of sources.
#[derive(Clone, Copy, PartialEq, Eq, Words)]
pub enum Kind {
    /// From the grid.
    Electricity,
    /// Electricity of computers, times the PUE of their room.
    Compute,
    /// Litres.
    Diesel,
    /// Litres.
    Petrol,
    /// Cubic metres or kWh.
    Gas,
    /// Passengers times distance.
    Flight,
    /// Tonnes times distance.
    Truck,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    total: f64,
    items: Vec<Mass>,
    sci: Option<f64>,
    equivalent_km: Option<f64>,
}

#[derive(Output)]
struct Mass {
    kind: String,
    kg: f64,
}

/// Computes the emissions.
///
/// # Errors
/// `Invalid` (an unknown unit), `TooLarge`, `NoAnswer` (no factor for flights).
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.items.len() > MAX_ITEMS {
        return Err(Failure::too_large(format!("items: at most {MAX_ITEMS}")));
    }
    if input.embodied > 1e15 {
        return Err(Failure::invalid(&["embodied"], "must be at most 1e15"));
    }
    let mut items = Vec::new();
    let mut operation = 0.0;
    for (at, item) in input.items.iter().enumerate() {
        let kg = mass(item, &at.to_string(), input.grid_intensity, cx)?;
        operation += kg;
        items.push(Mass { kind: item.kind.word().to_owned(), kg });
    }
    let total = operation + input.embodied;
    let sci = match input.functional_units {
        Some(units) if !(1e-9..=1e15).contains(&units) => {
            return Err(Failure::invalid(&["functional_units"], "must be from 1e-9 to 1e15"));
        }
        Some(units) => finite(total * 1e3 / units),
        None => None,
    };
    let car = factor("car", "km").map(|car| total / car.kg).and_then(finite);
    cx.warn("unreviewed: the factor of an average petrol car, for equivalent_km, has one source only");
    Ok(Output { total, items, sci, equivalent_km: car })
}

struct Factor {
    kg: f64,
    reviewed: bool,
}

fn factor(kind: &str, unit: &str) -> Option<Factor> {
    let line = FACTORS
        .lines()
        .find_map(|line| line.strip_prefix(kind)?.strip_prefix(',')?.strip_prefix(unit)?.strip_prefix(','))?;
    let (kg, review) = line.split_once(',')?;
    Some(Factor { kg: kg.parse().ok()?, reviewed: review == "two-sources" })
}

/// Mass of CO2e, kg.
fn mass(item: &Item, here: &str, grid: f64, cx: &Context) -> Result<f64, Failure> {
    let wrong = |member: &str, problem: String| Failure::invalid(&["items", here, member], problem);
    if !(0.0..=1e15).contains(&item.amount) {
        return Err(wrong("amount", "must be from 0 to 1e15".to_owned()));
    }
    if item.pue.is_some() && item.kind != Kind::Compute {
        cx.warn("pue: only compute uses it");
    }
    if item.pue.is_some_and(|pue| !(1.0..=10.0).contains(&pue)) {
        return Err(wrong("pue", "must be from 1 to 10".to_owned()));
    }
    let unit = item.unit.trim().to_lowercase();
    if matches!(item.kind, Kind::Electricity | Kind::Compute) {
        let kwh = match unit.as_str() {
            "wh" => 1e-3,
            "kwh" => 1.0,
            "mwh" => 1e3,
            "gwh" => 1e6,
            "mj" => 1.0 / 3.6,
            "gj" => 1e3 / 3.6,
            _ => return Err(wrong("unit", "must be Wh, kWh, MWh, GWh, MJ or GJ".to_owned())),
        };
        let overhead = if item.kind == Kind::Compute { item.pue.unwrap_or(1.0) } else { 1.0 };
        return Ok(item.amount * kwh * overhead * grid / 1e3);
    }
    // A unit, the one of the table, and how many of those it is.
    let (of, scale) = match (item.kind, unit.as_str()) {
        (Kind::Diesel | Kind::Petrol, "l" | "litre" | "liter" | "litres" | "liters") => ("l", 1.0),
        (Kind::Diesel | Kind::Petrol, "m3" | "m³") => ("l", 1e3),
        (Kind::Diesel | Kind::Petrol, "gal" | "us gal" | "gal_us") => ("l", 3.785_411_784),
        (Kind::Diesel | Kind::Petrol, _) => return Err(wrong("unit", "must be L, m3 or gal (USA)".to_owned())),
        (Kind::Gas, "m3" | "m³") => ("m3", 1.0),
        (Kind::Gas, "kwh") => ("kwh-net", 1.0),
        (Kind::Gas, "mwh") => ("kwh-net", 1e3),
        (Kind::Gas, _) => return Err(wrong("unit", "must be m3, or kWh or MWh of net calorific value".to_owned())),
        (Kind::Truck, "tkm" | "t.km" | "tonne-km" | "tonne.km" | "t km") => ("tkm", 1.0),
        (Kind::Truck, _) => return Err(wrong("unit", "must be tkm (tonnes times kilometres)".to_owned())),
        _ => {
            let problem = "there is no factor of flights without radiative forcing that could be read in a source";
            return Err(Failure::no_answer(NoAnswer::OutsideValidity, problem));
        }
    };
    let found = factor(item.kind.word(), of).ok_or_else(|| Failure::internal("an emission factor is missing"))?;
    if !found.reviewed {
        cx.warn(format!("unreviewed: the factor of {} by {of} has one source only", item.kind.word()));
    }
    Ok(item.amount * scale * found.kg)
}
