//! What is assessed: texts, measured values, the patient. Units are converted
//! here, and each conversion and assumption is listed in the answer.

use crate::rank::Sex;
use crate::rule::{Measure, Values};
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    #[default]
    Professional,
    Public,
}

#[derive(Debug, Clone, Default)]
pub struct Patient {
    /// Years; 0.5 is six months.
    pub age: Option<f64>,
    pub sex: Option<Sex>,
    pub pregnant: Option<bool>,
}

/// mmHg, /min, °C or °F, %.
#[derive(Debug, Clone, Default)]
pub struct Vitals {
    pub systolic: Option<f64>,
    pub diastolic: Option<f64>,
    pub heart_rate: Option<f64>,
    pub respiratory_rate: Option<f64>,
    pub temperature: Option<f64>,
    pub spo2: Option<f64>,
    pub supplemental_oxygen: Option<bool>,
    /// A, C, V, P or U.
    pub consciousness: Option<char>,
    pub spo2_scale: Option<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroponinUnit {
    NgL,
    NgMl,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreatinineUnit {
    MgDl,
    UmolL,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GlucoseUnit {
    MmolL,
    MgDl,
}

#[derive(Debug, Clone, Default)]
pub struct Labs {
    pub troponin: Option<f64>,
    pub troponin_unit: Option<TroponinUnit>,
    pub troponin_upper_limit: Option<f64>,
    pub bnp: Option<f64>,
    /// NT-proBNP instead of BNP.
    pub nt_pro_bnp: bool,
    pub creatinine: Option<f64>,
    pub baseline_creatinine: Option<f64>,
    pub creatinine_unit: Option<CreatinineUnit>,
    pub glucose: Option<f64>,
    pub glucose_unit: Option<GlucoseUnit>,
    pub potassium: Option<f64>,
    pub sodium: Option<f64>,
    pub urea: Option<f64>,
    pub lactate: Option<f64>,
    pub wbc: Option<f64>,
    pub platelets: Option<f64>,
    pub inr: Option<f64>,
    pub bilirubin: Option<f64>,
    pub albumin: Option<f64>,
}

/// A conversion or an assumption.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Normalised {
    pub field: &'static str,
    pub given: String,
    pub read: String,
    pub why: &'static str,
}

/// A value that cannot be read, and how to mend it.
#[derive(Debug, Clone, PartialEq)]
pub struct Unreadable {
    pub field: &'static str,
    pub msg: &'static str,
}

/// Values in the units of the rules.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    pub values: Values,
    pub normalised: Vec<Normalised>,
    pub warnings: Vec<String>,
}

/// ng/L: the limit that counts where the laboratory's is not given.
const TROPONIN_LIMIT: f64 = 14.0;
const CREATININE_UMOL_PER_MG_DL: f64 = 88.42;
const GLUCOSE_MG_DL_PER_MMOL: f64 = 18.016;

impl Measured {
    fn note(&mut self, field: &'static str, given: String, read: String, why: &'static str) {
        self.normalised.push(Normalised { field, given, read, why });
    }

    fn add_vitals(&mut self, v: &Vitals) -> Result<(), Unreadable> {
        if let (Some(systolic), Some(diastolic)) = (v.systolic, v.diastolic) {
            if diastolic >= systolic {
                return Err(Unreadable {
                    field: "vitalSigns.diastolic",
                    msg: "must be below systolic: check whether the two were exchanged",
                });
            }
            self.values.add(Measure::Map, Some((systolic + 2.0 * diastolic) / 3.0));
        }
        self.values.add(Measure::Systolic, v.systolic);
        self.values.add(Measure::Diastolic, v.diastolic);
        self.values.add(Measure::HeartRate, v.heart_rate);
        self.values.add(Measure::RespiratoryRate, v.respiratory_rate);
        self.values.add(Measure::Spo2, v.spo2);
        if let Some(given) = v.temperature {
            let celsius = match given {
                t if (24.0..=45.0).contains(&t) => t,
                t if (75.0..=113.0).contains(&t) => {
                    let celsius = round((t - 32.0) / 1.8, 1);
                    self.note(
                        "vitalSigns.temperature",
                        format!("{t} °F"),
                        format!("{celsius} °C"),
                        "75 to 113 is read as °F",
                    );
                    celsius
                }
                _ => {
                    return Err(Unreadable {
                        field: "vitalSigns.temperature",
                        msg: "must be 24 to 45 °C, or 75 to 113 °F",
                    });
                }
            };
            self.values.add(Measure::Temperature, Some(celsius));
        }
        Ok(())
    }

    fn add_labs(&mut self, l: &Labs) -> Result<(), Unreadable> {
        self.add_troponin(l);
        if let Some(bnp) = l.bnp {
            if l.nt_pro_bnp {
                self.warnings.push("NT-proBNP is not read as BNP: rules about BNP did not use it.".to_owned());
            } else {
                self.values.add(Measure::Bnp, Some(bnp));
            }
        }
        if let Some(given) = l.creatinine {
            let read = self.creatinine("labResults.creatinine", given, l.creatinine_unit)?;
            self.values.add(Measure::Creatinine, Some(read));
        }
        if let Some(given) = l.baseline_creatinine {
            self.creatinine("labResults.baselineCreatinine", given, l.creatinine_unit)?;
        }
        if let Some(given) = l.glucose {
            let read = self.glucose(given, l.glucose_unit)?;
            self.values.add(Measure::Glucose, Some(read));
        }
        let plain = [
            (Measure::Potassium, l.potassium),
            (Measure::Sodium, l.sodium),
            (Measure::Urea, l.urea),
            (Measure::Lactate, l.lactate),
            (Measure::Wbc, l.wbc),
            (Measure::Platelets, l.platelets),
            (Measure::Inr, l.inr),
            (Measure::Bilirubin, l.bilirubin),
            (Measure::Albumin, l.albumin),
        ];
        for (measure, value) in plain {
            self.values.add(measure, value);
        }
        Ok(())
    }

    fn add_troponin(&mut self, l: &Labs) {
        let Some(given) = l.troponin else { return };
        let limit = l.troponin_upper_limit.filter(|limit| *limit > 0.0);
        if l.troponin_upper_limit.is_none() {
            let limit = format!("{TROPONIN_LIMIT} ng/L");
            self.note(
                "labResults.troponinUpperLimit",
                "not given".to_owned(),
                limit,
                "a common 99th percentile of high-sensitivity troponin T",
            );
        }
        // A limit is in the unit of the value, so the ratio needs no unit.
        let ratio = match (limit, l.troponin_unit) {
            (Some(limit), _) => given / limit,
            (None, Some(TroponinUnit::NgL)) => given / TROPONIN_LIMIT,
            (None, Some(TroponinUnit::NgMl)) => given * 1000.0 / TROPONIN_LIMIT,
            (None, None) => {
                self.note(
                    "labResults.troponin",
                    format!("{given}"),
                    format!("{given} ng/mL for red flags"),
                    "no unit: the worse reading counts",
                );
                given * 1000.0 / TROPONIN_LIMIT
            }
        };
        self.values.add(Measure::TroponinRatio, Some(ratio));
    }

    fn creatinine(&mut self, field: &'static str, given: f64, unit: Option<CreatinineUnit>) -> Result<f64, Unreadable> {
        let unreadable = |msg| Err(Unreadable { field, msg });
        let unit = match unit {
            Some(unit) => unit,
            None if given < 10.0 => {
                self.note(field, format!("{given}"), format!("{given} mg/dL"), "no unit: below 10 is read as mg/dL");
                CreatinineUnit::MgDl
            }
            None if given > 30.0 => {
                self.note(field, format!("{given}"), format!("{given} µmol/L"), "no unit: above 30 is read as µmol/L");
                CreatinineUnit::UmolL
            }
            None => return unreadable("could be mg/dL or µmol/L: send creatinineUnit"),
        };
        match unit {
            CreatinineUnit::MgDl if (0.1..=30.0).contains(&given) => Ok(given),
            CreatinineUnit::MgDl => unreadable("must be 0.1 to 30 mg/dL"),
            CreatinineUnit::UmolL if (9.0..=2650.0).contains(&given) => {
                let read = given / CREATININE_UMOL_PER_MG_DL;
                self.note(field, format!("{given} µmol/L"), format!("{} mg/dL", round(read, 2)), "rules are in mg/dL");
                Ok(read)
            }
            CreatinineUnit::UmolL => unreadable("must be 9 to 2650 µmol/L"),
        }
    }

    fn glucose(&mut self, given: f64, unit: Option<GlucoseUnit>) -> Result<f64, Unreadable> {
        let field = "labResults.glucose";
        let unreadable = |msg| Err(Unreadable { field, msg });
        let unit = match unit {
            Some(unit) => unit,
            None if given < 10.0 => {
                self.note(field, format!("{given}"), format!("{given} mmol/L"), "no unit: below 10 is read as mmol/L");
                GlucoseUnit::MmolL
            }
            None if given > 60.0 => {
                self.note(field, format!("{given}"), format!("{given} mg/dL"), "no unit: above 60 is read as mg/dL");
                GlucoseUnit::MgDl
            }
            None => return unreadable("could be mmol/L or mg/dL: send glucoseUnit"),
        };
        match unit {
            GlucoseUnit::MmolL if (0.3..=90.0).contains(&given) => Ok(given),
            GlucoseUnit::MmolL => unreadable("must be 0.3 to 90 mmol/L"),
            GlucoseUnit::MgDl if (5.0..=1600.0).contains(&given) => {
                let read = given / GLUCOSE_MG_DL_PER_MMOL;
                self.note(field, format!("{given} mg/dL"), format!("{} mmol/L", round(read, 1)), "rules are in mmol/L");
                Ok(read)
            }
            GlucoseUnit::MgDl => unreadable("must be 5 to 1600 mg/dL"),
        }
    }
}

/// Reads the measured values.
///
/// # Errors
/// The first value whose unit is not certain or that is implausible.
pub fn measure(vitals: &Vitals, labs: &Labs) -> Result<Measured, Unreadable> {
    let mut measured = Measured::default();
    measured.add_vitals(vitals)?;
    measured.add_labs(labs)?;
    Ok(measured)
}

/// Rounds half away from zero.
#[must_use]
pub fn round(value: f64, digits: i32) -> f64 {
    let scale = 10f64.powi(digits);
    (value * scale).round() / scale
}

/// All that is assessed.
#[derive(Debug, Clone, Default)]
pub struct Input {
    /// A message, or one text a symptom.
    pub texts: Vec<String>,
    pub history: Vec<String>,
    pub medications: Vec<String>,
    pub allergies: Vec<String>,
    pub patient: Patient,
    pub vitals: Vitals,
    pub labs: Labs,
    pub specialty: Option<String>,
    /// The code of the language that the answer is asked in.
    pub language: String,
    pub audience: Audience,
    /// What an answer before recognised.
    pub previous: Previous,
}

/// `extracted` of an answer before, joined to the present text.
#[derive(Debug, Clone, Default)]
pub struct Previous {
    /// Concept ids with whether they came on suddenly.
    pub present: Vec<(String, bool)>,
    pub absent: Vec<String>,
    /// Fields and values: `systolic` 86.
    pub values: Vec<(String, f64)>,
}
