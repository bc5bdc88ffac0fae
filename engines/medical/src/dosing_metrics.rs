//! q229: body measures and opioid equivalents.

use muster_engine::prelude::*;
use muster_medical::score::inputs;

use crate::support::{Known, Sex, unreviewed};

const MAX_OPIOIDS: usize = 100;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    weight_kg: f64,
    height_cm: f64,
    age_yr: f64,
    sex: Sex,
    opioids: Vec<Opioid>,
}

#[derive(Input)]
struct Opioid {
    drug: String,
    mg_per_day: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    bmi_kg_m2: f64,
    bmi_class: Option<String>,
    bsa_mosteller_m2: f64,
    bsa_dubois_m2: f64,
    ideal_weight_kg: Option<f64>,
    adjusted_weight_kg: Option<f64>,
    lean_weight_kg: Option<f64>,
    bmr_kcal_d: Option<f64>,
    mme_mg_d: f64,
    mme_flag: Flag,
}

#[derive(Words, Clone, Copy)]
enum Flag {
    None,
    Caution,
    High,
}

/// Computes the measures; those of adults only are left out for children.
///
/// # Errors
/// `Invalid` for an opioid without a factor and for doses that are not plausible, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let bmi = input.weight_kg / (input.height_cm / 100.0).powi(2);
    if !(5.0..=150.0).contains(&bmi) {
        let text = format!("gives a body mass index of {bmi:.1} kg/m2 with the height: check kg and cm");
        return Err(Failure::invalid(&["weight"], text));
    }
    let known = Known::default()
        .number("weight_kg", input.weight_kg)
        .number("height_cm", input.height_cm)
        .number("age_years", input.age_yr)
        .word("sex", input.sex.word());
    let (mme, flag) = equivalents(&input.opioids, cx)?;
    let value = |id: &str| known.value(cx, id)?.ok_or_else(|| Failure::internal(format!("{id} has no value")));
    if input.height_cm < 152.4 && input.age_yr >= 18.0 {
        cx.warn("extrapolated: the ideal weight (Devine) is for heights from 152.4 cm");
    }
    let ideal = known.value(cx, "ibw_devine")?.filter(|kg| *kg > 0.0);
    Ok(Output {
        bmi_kg_m2: value("bmi")?,
        bmi_class: known.score("bmi")?.band,
        bsa_mosteller_m2: value("bsa_mosteller")?,
        bsa_dubois_m2: value("bsa_dubois")?,
        ideal_weight_kg: ideal,
        adjusted_weight_kg: ideal.and(known.value(cx, "adjusted_weight")?),
        lean_weight_kg: known.value(cx, "lean_weight")?,
        bmr_kcal_d: known.value(cx, "bmr_mifflin")?.filter(|energy| *energy > 0.0),
        mme_mg_d: mme,
        mme_flag: flag,
    })
}

/// Sum of the morphine equivalents by the factors of CDC 2022.
fn equivalents(opioids: &[Opioid], cx: &Context) -> Result<(f64, Flag), Failure> {
    if opioids.is_empty() {
        return Ok((0.0, Flag::None));
    }
    if opioids.len() > MAX_OPIOIDS {
        return Err(Failure::too_large(format!("there are more than {MAX_OPIOIDS} opioids")));
    }
    let declared = inputs("opioid_mme").unwrap_or_default();
    let mut doses = std::collections::BTreeMap::new();
    for (at, opioid) in opioids.iter().enumerate() {
        let place = at.to_string();
        let (name, factor) = input_of(&opioid.drug);
        if !declared.iter().any(|input| input.name == name) {
            let known: Vec<&str> = declared.iter().map(|input| drug_of(input.name)).collect();
            let text = format!("has no factor of CDC 2022; drugs with one are {}", known.join(", "));
            return Err(Failure::invalid(&["opioids", &place, "drug"], text));
        }
        if !(0.0..=10_000.0).contains(&opioid.mg_per_day) {
            return Err(Failure::invalid(&["opioids", &place, "mg_per_day"], "must be from 0 to 10000 mg a day"));
        }
        *doses.entry(name).or_insert(0.0) += opioid.mg_per_day * factor;
    }
    let mut known = Known::default();
    for (name, dose) in doses {
        if dose > 10_000.0 {
            return Err(Failure::invalid(&["opioids"], "sum to more than 10000 mg a day of one drug: check the unit"));
        }
        known = known.number(&name, dose);
    }
    let score = known.score("opioid_mme")?;
    let mme = score.unrounded.ok_or_else(|| Failure::internal("opioid_mme has no value"))?;
    cx.warn("not_for_conversion: equivalents are never a dose for changing one opioid to another");
    unreviewed(cx, "factors and limits (50 and 90 mg a day) restate CDC 2022");
    // Doses are decimals as printed: 0.6 mg of a patch and 150 mg of tramadol are 90 mg.
    let flag = match mme + 1e-9 {
        mme if mme >= 90.0 => Flag::High,
        mme if mme >= 50.0 => Flag::Caution,
        _ => Flag::None,
    };
    Ok((mme, flag))
}

/// Input of the score for a drug, and what a milligram a day is in its unit: patches of fentanyl count by µg an hour.
fn input_of(drug: &str) -> (String, f64) {
    let drug = drug.trim().to_lowercase().replace([' ', '-'], "_");
    if drug == "fentanyl_transdermal" {
        return ("fentanyl_transdermal_ug_per_h".to_owned(), 1000.0 / 24.0);
    }
    (format!("{drug}_mg_per_day"), 1.0)
}

fn drug_of(input: &str) -> &str {
    input.strip_suffix("_mg_per_day").or_else(|| input.strip_suffix("_ug_per_h")).unwrap_or(input)
}
