//! q71: relief supply plan.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

/// Weight assumed of each unit is of ordinary relief items, not of the handbook.
const WEIGHTS: &str = "weights: 1 kg a litre, 0.45 kg a daily ration of 2,100 kcal of dry food, 1.5 kg a blanket, 4 kg a tarpaulin; \
    soap as it is; latrines, taps and space are built on site";

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    people: i64,
    days: i64,
    household_size: f64,
    climate: Climate,
    stock: BTreeMap<String, f64>,
    truck_payload_kg: f64,
}

/// A climate.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
pub enum Climate {
    /// Hot: more covered space is not needed, one blanket is enough.
    Warm,
    /// Cold: more covered space and blankets.
    Cold,
    /// Between.
    Temperate,
}

/// What is needed of an item.
#[derive(Output)]
pub struct Item {
    item: &'static str,
    unit: &'static str,
    required: f64,
    stock: f64,
    shortfall: f64,
    weight_kg: f64,
    basis: &'static str,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    items: Vec<Item>,
    trucks: i64,
    total_weight_kg: f64,
}

/// An item: how much is required, and the weight of a unit.
type Need = (&'static str, &'static str, f64, f64, &'static str);

/// Computes minimum needs by the Sphere Handbook (2018), and the loads of what is not in stock.
///
/// # Errors
/// A stock of an unknown item, a negative stock.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let needs = needs(&input);
    for (name, amount) in &input.stock {
        if !needs.iter().any(|(item, ..)| item == name) {
            let known: Vec<&str> = needs.iter().map(|(item, ..)| *item).collect();
            return Err(Failure::invalid(&["stock", name], format!("is no item: known are {}", known.join(", "))));
        }
        if *amount < 0.0 {
            return Err(Failure::invalid(&["stock", name], "must not be negative"));
        }
    }
    cx.assume(WEIGHTS);
    let items: Vec<Item> = needs
        .into_iter()
        .map(|(item, unit, required, weight, basis)| {
            let stock = input.stock.get(item).copied().unwrap_or(0.0);
            let shortfall = (required - stock).max(0.0);
            Item { item, unit, required, stock, shortfall, weight_kg: shortfall * weight, basis }
        })
        .collect();
    let total: f64 = items.iter().map(|item| item.weight_kg).sum();
    let trucks = (total / input.truck_payload_kg).ceil();
    if trucks > 1e15 {
        return Err(Failure::too_large("the loads are beyond what can be counted"));
    }
    Ok(Output { items, trucks: trucks as i64, total_weight_kg: total })
}

fn needs(input: &Input) -> Vec<Need> {
    let (people, days) = (input.people as f64, input.days as f64);
    let households = (people / input.household_size).ceil();
    let (space, blankets) = match input.climate {
        Climate::Cold => (4.5, 3.0),
        Climate::Temperate => (3.5, 2.0),
        Climate::Warm => (3.5, 1.0),
    };
    let space_basis = match input.climate {
        Climate::Cold => "4.5 m2 of covered space a person in cold climates (Sphere 2018, Shelter standard 3)",
        _ => "3.5 m2 of covered space a person (Sphere 2018, Shelter standard 3)",
    };
    vec![
        ("water", "L", 15.0 * people * days, 1.0, "15 L a person and day (Sphere 2018, Water supply standard 2.1)"),
        (
            "food",
            "ration",
            people * days,
            0.45,
            "2,100 kcal a person and day (Sphere 2018, Food assistance standard 6.1)",
        ),
        ("covered-space", "m2", space * people, 0.0, space_basis),
        (
            "latrines",
            "unit",
            (people / 20.0).ceil(),
            0.0,
            "one for 20 people (Sphere 2018, Excreta management standard 3.2)",
        ),
        (
            "latrines-first-phase",
            "unit",
            (people / 50.0).ceil(),
            0.0,
            "one for 50 people in the first phase (Sphere 2018, Excreta management standard 3.2)",
        ),
        ("taps", "unit", (people / 250.0).ceil(), 0.0, "250 people a tap (Sphere 2018, Water supply standard 2.1)"),
        (
            "soap",
            "kg",
            0.25 * people * days / 30.0,
            1.0,
            "250 g a person and month (Sphere 2018, Hygiene promotion standard 1.2)",
        ),
        (
            "blankets",
            "unit",
            blankets * people,
            1.5,
            "two a person, fewer in warm and more in cold climates (Sphere 2018, Shelter standard 4)",
        ),
        ("tarpaulins", "unit", households, 4.0, "one a household, an assumption of this engine"),
    ]
}
