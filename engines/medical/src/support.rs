//! From the fields of an engine to a score of the medical crate, and what is said about unknown findings.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use muster_medical::score::{self, Inputs, Score};

/// A measured quantity with the values that are taken for it: another unit mostly falls outside of them.
pub(crate) struct Quantity {
    unit: &'static str,
    low: f64,
    high: f64,
    /// Values beyond these are possible and rare: a warning asks for the unit.
    usual: (f64, f64),
    /// What to do with a value in another unit.
    mend: &'static str,
}

const fn quantity(
    unit: &'static str,
    [low, high]: [f64; 2],
    [usual_low, usual_high]: [f64; 2],
    mend: &'static str,
) -> Quantity {
    Quantity { unit, low, high, usual: (usual_low, usual_high), mend }
}

pub(crate) const CREATININE: Quantity =
    quantity("mg/dL", [0.05, 40.0], [0.1, 20.0], "a value in µmol/L is divided by 88.42");
pub(crate) const BILIRUBIN: Quantity =
    quantity("mg/dL", [0.0, 100.0], [0.0, 40.0], "a value in µmol/L is divided by 17.1");
pub(crate) const GLUCOSE: Quantity =
    quantity("mg/dL", [15.0, 3000.0], [40.0, 1500.0], "a value in mmol/L is multiplied by 18.016");
pub(crate) const CHOLESTEROL: Quantity =
    quantity("mg/dL", [40.0, 1000.0], [80.0, 500.0], "a value in mmol/L is multiplied by 38.67");
pub(crate) const HDL: Quantity =
    quantity("mg/dL", [5.0, 250.0], [15.0, 130.0], "a value in mmol/L is multiplied by 38.67");
pub(crate) const BUN: Quantity =
    quantity("mg/dL", [0.0, 500.0], [1.0, 200.0], "urea in mmol/L is multiplied by 2.8 for urea nitrogen in mg/dL");
pub(crate) const UREA: Quantity =
    quantity("mmol/L", [0.0, 180.0], [0.5, 60.0], "urea nitrogen in mg/dL is divided by 2.8, urea in mg/dL by 6.006");
pub(crate) const CALCIUM: Quantity =
    quantity("mg/dL", [3.5, 30.0], [5.0, 20.0], "a value in mmol/L is multiplied by 4.008");
pub(crate) const ALBUMIN: Quantity = quantity("g/dL", [0.5, 7.0], [1.0, 6.0], "a value in g/L is divided by 10");
pub(crate) const SODIUM: Quantity =
    quantity("mmol/L", [90.0, 200.0], [100.0, 180.0], "mmol/L and mEq/L are equal for sodium");
pub(crate) const CHLORIDE: Quantity =
    quantity("mmol/L", [50.0, 180.0], [60.0, 150.0], "mmol/L and mEq/L are equal for chloride");
pub(crate) const BICARBONATE: Quantity =
    quantity("mmol/L", [1.0, 70.0], [2.0, 60.0], "mmol/L and mEq/L are equal for bicarbonate");
pub(crate) const PLATELETS: Quantity =
    quantity("1e9/L", [1.0, 5000.0], [2.0, 2000.0], "a count by µL is divided by 1000");
pub(crate) const LEUCOCYTES: Quantity =
    quantity("1e9/L", [0.0, 1000.0], [0.05, 500.0], "a count by µL is divided by 1000");
pub(crate) const LACTATE: Quantity =
    quantity("mmol/L", [0.0, 60.0], [0.1, 30.0], "a value in mg/dL is divided by 9.008");
pub(crate) const TEMPERATURE: Quantity =
    quantity("degC", [20.0, 46.0], [28.0, 43.0], "a value in °F is (°F − 32) / 1.8 in °C");
pub(crate) const SYSTOLIC: Quantity =
    quantity("mmHg", [0.0, 350.0], [40.0, 280.0], "a value in kPa is multiplied by 7.5");
pub(crate) const DIASTOLIC: Quantity =
    quantity("mmHg", [0.0, 250.0], [20.0, 180.0], "a value in kPa is multiplied by 7.5");
pub(crate) const MEAN_PRESSURE: Quantity =
    quantity("mmHg", [0.0, 300.0], [25.0, 200.0], "a value in kPa is multiplied by 7.5");
pub(crate) const OXYGENATION: Quantity =
    quantity("mmHg", [10.0, 800.0], [40.0, 700.0], "a ratio in kPa is multiplied by 7.5");
pub(crate) const CARBON_DIOXIDE: Quantity =
    quantity("mmHg", [5.0, 200.0], [15.0, 150.0], "a value in kPa is multiplied by 7.5");
pub(crate) const OXYGEN_TENSION: Quantity =
    quantity("mmHg", [10.0, 700.0], [25.0, 650.0], "a value in kPa is multiplied by 7.5");
pub(crate) const SATURATION: Quantity =
    quantity("%", [30.0, 100.0], [50.0, 100.0], "a share of 1 is multiplied by 100");
pub(crate) const HAEMATOCRIT: Quantity = quantity("%", [3.0, 80.0], [10.0, 70.0], "a share of 1 is multiplied by 100");
pub(crate) const PH: Quantity = quantity("-", [6.3, 8.0], [6.8, 7.8], "give the pH, not the concentration");
pub(crate) const BREATHS: Quantity = quantity("1/min", [0.0, 100.0], [4.0, 70.0], "count breaths over a minute");
pub(crate) const HEART_RATE: Quantity = quantity("1/min", [0.0, 350.0], [20.0, 250.0], "count beats over a minute");
pub(crate) const AGE: Quantity = quantity("yr", [0.0, 120.0], [0.0, 110.0], "give completed years");
pub(crate) const WEIGHT: Quantity = quantity("kg", [0.5, 400.0], [1.0, 250.0], "pounds are multiplied by 0.4536");
pub(crate) const INR: Quantity = quantity("-", [0.5, 20.0], [0.7, 15.0], "give the ratio, not the prothrombin time");
pub(crate) const ENZYME: Quantity =
    quantity("U/L", [1.0, 50_000.0], [3.0, 20_000.0], "a value in µkat/L is multiplied by 60");
pub(crate) const CYSTATIN: Quantity = quantity("mg/L", [0.1, 20.0], [0.3, 10.0], "mg/L, as of IFCC assays");
pub(crate) const D_DIMER: Quantity = quantity(
    "ng/mL",
    [10.0, 1e6],
    [40.0, 100_000.0],
    "a value in mg/L or µg/mL is multiplied by 1000, one in D-dimer units by 2",
);
pub(crate) const OSMOLALITY: Quantity =
    quantity("mOsm/kg", [150.0, 600.0], [200.0, 450.0], "give the measured osmolality of serum");
pub(crate) const ACR: Quantity =
    quantity("mg/g", [0.0, 50_000.0], [0.5, 20_000.0], "a value in mg/mmol is multiplied by 8.84");
pub(crate) const URINE_DAY: Quantity =
    quantity("mL/d", [0.0, 20_000.0], [0.0, 10_000.0], "litres are multiplied by 1000");

impl Quantity {
    /// Refuses a value that is not plausible, and warns of a rare one.
    pub(crate) fn check(&self, cx: &Context, field: &str, value: impl Into<Option<f64>>) -> Result<(), Failure> {
        let Some(value) = value.into() else { return Ok(()) };
        let Self { unit, low, high, usual, mend } = self;
        if !(*low..=*high).contains(&value) {
            let text = format!("{value} {unit} is not plausible ({low} to {high}): check value and unit; {mend}");
            return Err(Failure::invalid(&[field], text));
        }
        if !(usual.0..=usual.1).contains(&value) {
            cx.warn(format!("unit: {field} of {value} {unit} is rare; {mend}"));
        }
        Ok(())
    }
}

/// Known inputs of scores, from optional fields.
#[derive(Default)]
pub(crate) struct Known(pub(crate) Inputs);

impl Known {
    pub(crate) fn number(mut self, name: &str, value: impl Into<Option<f64>>) -> Self {
        if let Some(value) = value.into() {
            self.0.set(name, value);
        }
        self
    }

    pub(crate) fn flag(mut self, name: &str, value: impl Into<Option<bool>>) -> Self {
        if let Some(value) = value.into() {
            self.0.set(name, value);
        }
        self
    }

    pub(crate) fn word(mut self, name: &str, value: &str) -> Self {
        self.0.set(name, value);
        self
    }

    /// Computes a score.
    pub(crate) fn score(&self, id: &str) -> Result<Score, Failure> {
        score::evaluate(id, &self.0).ok_or_else(|| Failure::internal(format!("there is no score {id}")))
    }

    /// The unrounded value of a score; none with a warning where the score is not for this patient, and none where an
    /// input is missing.
    pub(crate) fn value(&self, cx: &Context, id: &str) -> Result<Option<f64>, Failure> {
        let score = self.score(id)?;
        if score.status == "not_applicable" {
            cx.warn(format!("not_applicable: {id}: {}", score.reason.unwrap_or_default()));
            return Ok(None);
        }
        if let Some(caveat) = score.caveat {
            cx.assume(format!("{}: {caveat}", score.name));
        }
        Ok(score.unrounded)
    }

    /// The least points of an additive score over what is missing, with a warning that gives the range.
    pub(crate) fn least(&self, cx: &Context, id: &str) -> Result<Option<Score>, Failure> {
        let score = self.score(id)?;
        match (score.status, score.min, score.max) {
            ("not_applicable", ..) => {
                cx.warn(format!("not_applicable: {id}: {}", score.reason.unwrap_or_default()));
                Ok(None)
            }
            (_, Some(min), Some(max)) => {
                if let Some(caveat) = &score.caveat {
                    cx.assume(format!("{}: {caveat}", score.name));
                }
                if !score.missing.is_empty() || min < max {
                    let why = match score.missing.as_slice() {
                        [] => score.reason.clone().unwrap_or_default(),
                        missing => {
                            let fields: Vec<&str> = missing.iter().map(|name| field(name)).collect();
                            format!("not known: {}", fields.join(", "))
                        }
                    };
                    cx.warn(format!("range: {id} is {min} to {max}, and {min} is returned; {why}"));
                }
                Ok(Some(score))
            }
            _ => Ok(None),
        }
    }

    /// Warns which findings count as absent, and of the range that a score has if they are unknown. A field whose
    /// default is false cannot be told from one that was answered with false.
    pub(crate) fn absent(&self, cx: &Context, id: &str, findings: &[(&str, &str)]) -> Result<(), Failure> {
        let mut open = Inputs::default();
        // Alert is the default of the consciousness.
        let is_absent = |name: &str| {
            matches!(self.0.get(name), Some(score::Value::Flag(false)))
                || matches!(self.0.get(name), Some(score::Value::Word(word)) if word == "A")
        };
        for (name, value) in self.0.iter() {
            if !(findings.iter().any(|(_, input)| *input == name) && is_absent(name)) {
                open.set(name, value.clone());
            }
        }
        let absent: Vec<&str> =
            findings.iter().filter(|(_, input)| is_absent(input)).map(|(field, _)| *field).collect();
        let score = score::evaluate(id, &open).ok_or_else(|| Failure::internal(format!("there is no score {id}")))?;
        if let (false, Some(min), Some(max)) = (absent.is_empty(), score.min, score.max) {
            cx.warn(format!(
                "absent: {} count as normal, which is the default; unknown, {id} is {min} to {max}",
                absent.join(", ")
            ));
        }
        Ok(())
    }
}

/// The engine's field for an input of a score: its name without the unit.
pub(crate) fn field(input: &str) -> &str {
    const UNITS: [&str; 10] =
        ["_mg_dl", "_mmol_l", "_10e9_l", "_per_ul", "_percent", "_mmhg", "_bpm", "_ml_per_day", "_g_dl", "_c"];
    match input {
        "altered_mentation" => "gcs",
        "altered_mental_status" => "confusion",
        input => UNITS.iter().find_map(|unit| input.strip_suffix(unit)).unwrap_or(input),
    }
}

/// Points of a score as a whole number.
pub(crate) fn whole(value: f64) -> i64 {
    value.round() as i64
}

/// Least points of each item.
pub(crate) fn points(score: &Score) -> BTreeMap<String, i64> {
    score.items.iter().map(|item| (item.name.to_owned(), whole(item.points.min))).collect()
}

/// The start of a name that a caller chose, for warnings.
pub(crate) fn short(name: &str) -> String {
    name.chars().take(60).collect()
}

/// Warns that a text or threshold was not signed by a clinician. All clinical statements are restated from their source
/// and keep this mark until one has.
pub(crate) fn unreviewed(cx: &Context, what: &str) {
    cx.warn(format!("unreviewed: {what}; no clinician has signed it, and it replaces no clinical judgement"));
}

/// A sex on the wire.
#[derive(Words, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Sex {
    Female,
    Male,
}

/// The word of a closed list that a band is.
pub(crate) fn band<T: Words + Copy>(score: &Score) -> Option<T> {
    let band = score.band.as_deref().or_else(|| score.possible_bands.first().map(String::as_str))?;
    T::ALL.iter().find(|(_, word)| *word == band).map(|(value, _)| *value)
}
