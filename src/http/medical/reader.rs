//! From bodies to what is assessed.

use muster_core::{Error, Kind};
use muster_medical::input::{Audience, Input, Labs, Patient, Unreadable, Vitals};
use serde_json::Value;

use super::body::{ConsultationRequest, LabResults, PatientContext, ProtocolRequest, VitalSigns};

/// Months in a year.
const MONTHS: f64 = 12.0;

impl From<VitalSigns> for Vitals {
    fn from(v: VitalSigns) -> Self {
        Self {
            systolic: v.systolic,
            diastolic: v.diastolic,
            heart_rate: v.heart_rate,
            respiratory_rate: v.respiratory_rate,
            temperature: v.temperature,
            spo2: v.spo2,
            supplemental_oxygen: v.supplemental_oxygen,
            consciousness: v.consciousness,
            spo2_scale: v.spo2_scale,
        }
    }
}

impl From<LabResults> for Labs {
    fn from(l: LabResults) -> Self {
        Self {
            troponin: l.troponin,
            troponin_unit: l.troponin_unit,
            troponin_upper_limit: l.troponin_upper_limit,
            bnp: l.bnp,
            nt_pro_bnp: l.nt_pro_bnp.unwrap_or(false),
            creatinine: l.creatinine,
            baseline_creatinine: l.baseline_creatinine,
            creatinine_unit: l.creatinine_unit,
            glucose: l.glucose,
            glucose_unit: l.glucose_unit,
            potassium: l.potassium,
            sodium: l.sodium,
            urea: l.urea,
            lactate: l.lactate,
            wbc: l.wbc,
            platelets: l.platelets,
            inr: l.inr,
            bilirubin: l.bilirubin,
            albumin: l.albumin,
        }
    }
}

/// Adds what is known of the patient.
fn patient(input: &mut Input, context: PatientContext) {
    input.patient = Patient {
        age: context.age.or(context.age_months.map(|months| months / MONTHS)),
        sex: context.sex.flatten(),
        pregnant: context.pregnant,
    };
    input.history.extend(context.medical_history.unwrap_or_default());
    input.medications = context.current_medications.unwrap_or_default();
    input.allergies = context.allergies.unwrap_or_default();
}

impl From<ProtocolRequest> for Input {
    fn from(body: ProtocolRequest) -> Self {
        let mut input = Self {
            texts: body.symptoms,
            history: body.medical_history.unwrap_or_default(),
            vitals: body.vital_signs.unwrap_or_default().into(),
            labs: body.lab_results.unwrap_or_default().into(),
            specialty: Some(body.specialty.to_owned()),
            language: body.language.unwrap_or("en").to_owned(),
            audience: body.audience.unwrap_or(Audience::Professional),
            ..Self::default()
        };
        patient(&mut input, body.patient_context.unwrap_or_default());
        input
    }
}

impl From<ConsultationRequest> for Input {
    fn from(body: ConsultationRequest) -> Self {
        let mut input = Self {
            texts: vec![body.message],
            vitals: body.vital_signs.unwrap_or_default().into(),
            labs: body.lab_results.unwrap_or_default().into(),
            specialty: body.specialty.map(str::to_owned),
            language: body.language.unwrap_or("en").to_owned(),
            audience: body.audience.unwrap_or(Audience::Professional),
            previous: body.previous.unwrap_or_default().0,
            ..Self::default()
        };
        patient(&mut input, body.patient_context.unwrap_or_default());
        input
    }
}

/// The error of a value whose unit is not certain or that is not plausible.
pub fn unreadable(error: &Unreadable) -> Error {
    let loc: Vec<&str> = std::iter::once("body").chain(error.field.split('.')).collect();
    Error::field(Kind::Invalid, &loc, error.msg, Value::Null)
}
