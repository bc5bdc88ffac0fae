//! Bodies of the medical interface. No text of a body is sent back in an error: it may be clinical.

use muster_medical::cancer::organ;
use muster_medical::input::{Audience, CreatinineUnit, GlucoseUnit, TroponinUnit};
use muster_request::{Fields, Rejection, Request};
use serde_json::{Map, Value};

use super::conversations::{GivenConversation, conversation_id};
use super::enumerated::{GivenSex, history, list, sentences};
use super::enumerated::{
    audience, bnp_assay, consciousness, creatinine_unit, glucose_unit, language, sex, specialty, troponin_unit,
};
use super::previous::{PreviousAnswer, previous};

/// A body whose unknown members are ignored and named, and whose texts stay out of errors.
#[derive(Debug)]
pub struct Lenient<T> {
    pub body: T,
    /// Names of members that no field has, such as `vitalSigns.mood`.
    pub ignored: Vec<String>,
}

/// Most members that are named as ignored.
const MAX_IGNORED: usize = 50;

/// Adds the names of an object's members.
type NamesOf = fn(&mut Vec<&'static str>);

/// The objects inside a body whose members are named too.
pub trait MedicalBody: Request {
    const NESTED: &'static [(&'static str, NamesOf)];
}

impl<T: MedicalBody> Request for Lenient<T> {
    const TAKES_IMAGES: bool = T::TAKES_IMAGES;
    const OPEN: bool = true;

    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        T::read(fields).map(|body| Self { body, ignored: Vec::new() })
    }

    fn names(names: &mut Vec<&'static str>) {
        T::names(names);
    }

    fn example() -> Map<String, Value> {
        T::example()
    }

    fn from_json(value: &Value) -> Result<Self, Rejection> {
        let mut ignored = Vec::new();
        unknown(value, "", T::names, &mut ignored);
        for (name, names) in T::NESTED {
            unknown(value.get(name).unwrap_or(&Value::Null), &format!("{name}."), *names, &mut ignored);
        }
        match T::from_json(value) {
            Ok(body) => Ok(Self { body, ignored }),
            Err(mut rejection) => {
                for field in &mut rejection.fields {
                    if !matches!(field.input, Value::Number(_) | Value::Bool(_)) {
                        field.input = Value::Null;
                    }
                }
                Err(rejection)
            }
        }
    }
}

fn unknown(value: &Value, prefix: &str, names: NamesOf, ignored: &mut Vec<String>) {
    let mut known = Vec::new();
    names(&mut known);
    let members = value.as_object().into_iter().flat_map(Map::keys);
    for name in members.filter(|name| !known.contains(&name.as_str())) {
        if ignored.len() < MAX_IGNORED {
            ignored.push(format!("{prefix}{}", name.chars().take(64).collect::<String>()));
        }
    }
}

/// Measured vital signs. A value that is not plausible is refused.
#[derive(Debug, Default, Request)]
#[request(open, example = { "systolic": 142, "diastolic": 88, "heartRate": 96, "respiratoryRate": 18, "temperature": 37.1, "spo2": 96 })]
pub struct VitalSigns {
    /// mmHg.
    #[request(range = 30.0..=300.0)]
    pub systolic: Option<f64>,
    /// mmHg, below `systolic`.
    #[request(range = 10.0..=200.0)]
    pub diastolic: Option<f64>,
    /// Beats per minute.
    #[request(rename = "heartRate", range = 10.0..=300.0, message = "must be 10 to 300: where there is no pulse, call an ambulance and start resuscitation now")]
    pub heart_rate: Option<f64>,
    /// Breaths per minute.
    #[request(rename = "respiratoryRate", range = 2.0..=120.0, message = "must be 2 to 120: where there is no breathing, call an ambulance and start resuscitation now")]
    pub respiratory_rate: Option<f64>,
    /// °C from 24 to 45; 75 to 113 is read as °F.
    #[request(range = 24.0..=113.0)]
    pub temperature: Option<f64>,
    /// Oxygen saturation, %.
    #[request(range = 50.0..=100.0)]
    pub spo2: Option<f64>,
    /// Whether the patient breathes oxygen other than that of the air.
    #[request(rename = "supplementalOxygen")]
    pub supplemental_oxygen: Option<bool>,
    /// `A` alert, `C` new confusion, `V` responds to voice, `P` to pain, `U` unresponsive.
    #[request(with = consciousness, schema = String)]
    pub consciousness: Option<char>,
    /// NEWS2 SpO2 scale: 1, or 2 where a clinician set a target of 88 to 92 %.
    #[request(rename = "spo2Scale", range = 1..=2)]
    pub spo2_scale: Option<u8>,
}

/// Laboratory results.
#[derive(Debug, Default, Request)]
#[request(open, example = { "troponin": 52, "troponinUnit": "ng/L", "creatinine": 1.1, "creatinineUnit": "mg/dL" })]
pub struct LabResults {
    /// Counts as its ratio to `troponinUpperLimit`.
    #[request(range = 0.0..=1_000_000.0)]
    pub troponin: Option<f64>,
    /// `ng/L` or `ng/mL`.
    #[request(rename = "troponinUnit", with = troponin_unit, schema = String)]
    pub troponin_unit: Option<TroponinUnit>,
    /// The laboratory's upper limit, in the unit of `troponin`. Without it 14 ng/L.
    #[request(rename = "troponinUpperLimit", range = 0.0001..=1_000_000.0)]
    pub troponin_upper_limit: Option<f64>,
    /// pg/mL.
    #[request(range = 0.0..=100_000.0)]
    pub bnp: Option<f64>,
    /// `BNP` (default) or `NT-proBNP`.
    #[request(rename = "bnpAssay", with = bnp_assay, schema = String)]
    pub nt_pro_bnp: Option<bool>,
    /// mg/dL 0.1 to 30 or µmol/L 9 to 2650, by `creatinineUnit`; without it below 10 is mg/dL and above 30 µmol/L.
    #[request(range = 0.1..=2650.0)]
    pub creatinine: Option<f64>,
    /// In the unit of `creatinine`.
    #[request(rename = "baselineCreatinine", range = 0.1..=2650.0)]
    pub baseline_creatinine: Option<f64>,
    /// `mg/dL` or `umol/L`.
    #[request(rename = "creatinineUnit", with = creatinine_unit, schema = String)]
    pub creatinine_unit: Option<CreatinineUnit>,
    /// mmol/L 0.3 to 90 or mg/dL 5 to 1600, by `glucoseUnit`; without it below 10 is mmol/L and above 60 mg/dL.
    #[request(range = 0.3..=1600.0)]
    pub glucose: Option<f64>,
    /// `mmol/L` or `mg/dL`.
    #[request(rename = "glucoseUnit", with = glucose_unit, schema = String)]
    pub glucose_unit: Option<GlucoseUnit>,
    /// mmol/L.
    #[request(range = 1.0..=12.0)]
    pub potassium: Option<f64>,
    /// mmol/L.
    #[request(range = 90.0..=200.0)]
    pub sodium: Option<f64>,
    /// mmol/L.
    #[request(range = 0.5..=100.0)]
    pub urea: Option<f64>,
    /// mmol/L.
    #[request(range = 0.0..=30.0)]
    pub lactate: Option<f64>,
    /// White cells, 10⁹/L.
    #[request(range = 0.0..=1000.0)]
    pub wbc: Option<f64>,
    /// 10⁹/L.
    #[request(range = 0.0..=3000.0)]
    pub platelets: Option<f64>,
    /// International normalised ratio.
    #[request(range = 0.5..=20.0)]
    pub inr: Option<f64>,
    /// mg/dL.
    #[request(range = 0.0..=80.0)]
    pub bilirubin: Option<f64>,
    /// g/dL.
    #[request(range = 0.5..=7.0)]
    pub albumin: Option<f64>,
}

/// Who the patient is.
#[derive(Debug, Default, Request)]
#[request(open, example = { "age": 58, "sex": "male", "medicalHistory": ["hypertension"] })]
pub struct PatientContext {
    /// Years; 0.5 is six months.
    #[request(range = 0.0..=120.0)]
    pub age: Option<f64>,
    /// Months, instead of `age`.
    #[request(rename = "ageMonths", range = 0.0..=35.0)]
    pub age_months: Option<f64>,
    /// `female`, `male`, `intersex` or `unknown`.
    #[request(with = sex, schema = String)]
    pub sex: Option<GivenSex>,
    pub pregnant: Option<bool>,
    /// At most 50 texts of at most 300 characters.
    #[request(rename = "medicalHistory", with = history, schema = Vec<String>)]
    pub medical_history: Option<Vec<String>>,
    /// At most 50 texts of at most 300 characters.
    #[request(rename = "currentMedications", with = history, schema = Vec<String>)]
    pub current_medications: Option<Vec<String>>,
    /// At most 50 texts of at most 300 characters.
    #[request(with = history, schema = Vec<String>)]
    pub allergies: Option<Vec<String>>,
}

/// A lookup of clinical protocols.
#[derive(Debug, Request)]
#[request(open, example = {
    "symptoms": ["chest pain radiating to the left arm", "sweating"], "specialty": "cardiovascular",
    "vitalSigns": { "systolic": 142, "diastolic": 88, "heartRate": 104, "spo2": 95 },
    "medicalHistory": ["hypertension"], "patientContext": { "age": 58, "sex": "male" }
})]
pub struct ProtocolRequest {
    /// 1 to 50 texts of 1 to 300 characters.
    #[request(with = sentences, schema = Vec<String>)]
    pub symptoms: Vec<String>,
    /// Identifier or alias of a specialty. It adds weight to its protocols and hides none of another.
    #[request(with = specialty, schema = String)]
    pub specialty: &'static str,
    #[request(rename = "vitalSigns", nested)]
    pub vital_signs: Option<VitalSigns>,
    #[request(rename = "labResults", nested)]
    pub lab_results: Option<LabResults>,
    /// At most 50 texts of at most 300 characters.
    #[request(rename = "medicalHistory", with = history, schema = Vec<String>)]
    pub medical_history: Option<Vec<String>>,
    #[request(rename = "patientContext", nested)]
    pub patient_context: Option<PatientContext>,
    /// Code of one of the 84 languages, `en` by default.
    #[request(with = language, schema = String)]
    pub language: Option<&'static str>,
    /// `professional` (default) or `public`: other wording, no treatment steps, the same level.
    #[request(with = audience, schema = String)]
    pub audience: Option<Audience>,
    /// Largest number of protocols.
    #[request(range = 1..=10, default = 5)]
    pub limit: usize,
}

impl MedicalBody for ProtocolRequest {
    const NESTED: &'static [(&'static str, NamesOf)] = &[
        ("vitalSigns", VitalSigns::names),
        ("labResults", LabResults::names),
        ("patientContext", PatientContext::names),
    ];
}

/// A consultation.
#[derive(Debug, Request)]
#[request(open, example = {
    "message": "I have had a sore throat and a cough for two days, no fever.", "language": "en",
    "patientContext": { "age": 34, "sex": "female" }
})]
pub struct ConsultationRequest {
    /// Symptoms or a medical question.
    #[request(chars = 1..=8000)]
    pub message: String,
    /// Identifier or alias of a specialty; by default it is inferred.
    #[request(with = specialty, schema = String)]
    pub specialty: Option<&'static str>,
    /// Code of one of the 84 languages, `en` by default.
    #[request(with = language, schema = String)]
    pub language: Option<&'static str>,
    #[request(rename = "patientContext", nested)]
    pub patient_context: Option<PatientContext>,
    #[request(rename = "vitalSigns", nested)]
    pub vital_signs: Option<VitalSigns>,
    #[request(rename = "labResults", nested)]
    pub lab_results: Option<LabResults>,
    /// `professional` (default) or `public`: other wording, no treatment steps, the same level.
    #[request(with = audience, schema = String)]
    pub audience: Option<Audience>,
    /// Streams the response as server-sent events: `triage`, `delta`, then `done` or `error`.
    #[request(default = false)]
    pub stream: bool,
    /// `extracted` of the last answer, which is joined to this message: the server keeps nothing.
    #[request(with = previous, schema = Option<crate::schema::AnyObject>)]
    pub previous: Option<PreviousAnswer>,
    /// Where the operator keeps conversations: `new` begins one, and the identifier of one (`con_…`) goes on with it, so
    /// that what it said before is joined to this message. Without it nothing is kept.
    #[request(rename = "conversationId", with = conversation_id, schema = Option<String>)]
    pub conversation: Option<GivenConversation>,
}

impl MedicalBody for ConsultationRequest {
    const NESTED: &'static [(&'static str, NamesOf)] = ProtocolRequest::NESTED;
}

/// Laboratory results that rules of cancer referral read.
#[derive(Debug, Default, Request)]
#[request(open, example = { "fit": 12 })]
pub struct CancerLabs {
    /// Faecal immunochemical test, µg/g.
    #[request(range = 0.0..=10_000.0)]
    pub fit: Option<f64>,
    /// IU/mL.
    #[request(range = 0.0..=100_000.0)]
    pub ca125: Option<f64>,
    /// µg/L.
    #[request(range = 0.0..=100_000.0)]
    pub psa: Option<f64>,
    /// Haemoglobin, g/dL.
    #[request(range = 1.0..=30.0)]
    pub hb: Option<f64>,
    /// 10⁹/L.
    #[request(range = 0.0..=3000.0)]
    pub platelets: Option<f64>,
}

/// An assessment of cancer referral criteria and published risk models.
#[derive(Debug, Request)]
#[request(open, takes_images, check = something_to_assess, example = {
    "patientAge": 63, "patientSex": "male", "symptoms": "Blood in my stool for six weeks and weight loss",
    "riskFactors": ["20 cigarettes/day for 30 years"]
})]
pub struct CancerRequest {
    /// Years.
    #[request(rename = "patientAge", range = 0.0..=120.0)]
    pub patient_age: f64,
    /// `female`, `male`, `intersex` or `unknown`.
    #[request(rename = "patientSex", with = sex, schema = String)]
    pub patient_sex: Option<GivenSex>,
    #[request(chars = 1..=8000)]
    pub symptoms: Option<String>,
    /// At most 50 texts of at most 300 characters, such as `20/day for 30 years` or `mother breast cancer`.
    #[request(rename = "riskFactors", with = history, schema = Vec<String>)]
    pub risk_factors: Option<Vec<String>>,
    /// At most 8 images as base64 or data URL: PNG, JPEG or DICOM Part 10.
    #[request(with = images, schema = Vec<String>)]
    pub images: Option<Vec<String>>,
    /// Required with `images`: `xray`, `mammography`, `ct`, `mri`, `ultrasound`, `pet`, `dermoscopy`, `clinical_photo`,
    /// `histopathology`, `endoscopy` or `other`.
    #[request(rename = "imagingType", with = imaging_type, schema = String)]
    #[allow(dead_code, reason = "says what pictures are to whom they may be sent; no check depends on it")]
    pub imaging_type: Option<&'static str>,
    #[request(nested)]
    pub labs: Option<CancerLabs>,
    /// Organs that the patient has, or has not, where that is known, such as `prostate` or `no uterus`.
    #[request(with = organs, schema = Vec<String>)]
    pub organs: Option<Vec<String>>,
    /// `GB` (the default of the configuration), `US` or `none`: whose guidance counts.
    #[request(with = jurisdiction, schema = String)]
    pub jurisdiction: Option<&'static str>,
    /// Whether a configured outside service may see the pixels.
    #[request(rename = "allowExternalImageProcessing", default = false)]
    pub allow_external_image_processing: bool,
    /// Code of one of the 84 languages, `en` by default.
    #[request(with = language, schema = String)]
    pub language: Option<&'static str>,
    /// `professional` (default) or `public`.
    #[request(with = audience, schema = String)]
    pub audience: Option<Audience>,
}

impl MedicalBody for CancerRequest {
    const NESTED: &'static [(&'static str, NamesOf)] = &[("labs", CancerLabs::names)];
}

const IMAGING_TYPES: &[&str] = &[
    "xray",
    "mammography",
    "ct",
    "mri",
    "ultrasound",
    "pet",
    "dermoscopy",
    "clinical_photo",
    "histopathology",
    "endoscopy",
    "other",
];

fn imaging_type(fields: &mut Fields<'_>, name: &str) -> Option<&'static str> {
    super::enumerated::one_of(fields, name, IMAGING_TYPES.iter().map(|kind| (*kind, *kind)))
}

fn jurisdiction(fields: &mut Fields<'_>, name: &str) -> Option<&'static str> {
    super::enumerated::one_of(fields, name, ["GB", "US", "none"].into_iter().map(|code| (code, code)))
}

/// A misspelt organ would be taken for one that is not named, so it is refused.
fn organs(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    let given = history(fields, name)?;
    if given.iter().all(|organ| organ::known(organ)) {
        return Some(given);
    }
    let known: Vec<&str> = organ::ORGANS.iter().map(|(id, _, _)| *id).collect();
    fields.fail(name, format!("must be of {}, each with or without `no ` before it", known.join(", ")));
    None
}

/// Images may be as long as the body.
fn images(fields: &mut Fields<'_>, name: &str) -> Option<Vec<String>> {
    list(fields, name, 0..=8, 1..=usize::MAX)
}

fn something_to_assess(fields: &mut Fields<'_>) {
    let given = |name: &str| match fields.value(name) {
        Some(Value::Array(items)) => !items.is_empty(),
        Some(_) => true,
        None => false,
    };
    let (any, images) = (["symptoms", "riskFactors", "images"].into_iter().any(given), given("images"));
    if !any {
        fields.fail("symptoms", "send symptoms, riskFactors or images: one of them is required");
    }
    if images {
        let kind = fields.value("imagingType").map(|_| ());
        fields.require("imagingType", kind);
    }
}
