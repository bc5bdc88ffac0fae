//! q225: severity of pneumonia.

use muster_engine::prelude::*;
use muster_medical::score::Score;

use crate::support::{self, Known, Sex, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    age_yr: f64,
    sex: Sex,
    confusion: bool,
    urea_mmol_l: Option<f64>,
    respiratory_rate_per_min: f64,
    systolic_mmhg: f64,
    diastolic_mmhg: f64,
    heart_rate_per_min: Option<f64>,
    temperature_deg_c: Option<f64>,
    nursing_home: bool,
    comorbidities: Vec<Comorbidity>,
    ph: Option<f64>,
    sodium_mmol_l: Option<f64>,
    glucose_mg_dl: Option<f64>,
    haematocrit_percent: Option<f64>,
    pao2_mmhg: Option<f64>,
    effusion: bool,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
enum Comorbidity {
    Cancer,
    Liver,
    HeartFailure,
    Cerebrovascular,
    Renal,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    curb65: Option<i64>,
    crb65: i64,
    psi: i64,
    psi_class: i64,
    mortality: String,
    site: Site,
}

#[derive(Words, Clone, Copy)]
enum Site {
    Home,
    Observe,
    Ward,
    Icu,
}

/// Computes CURB-65, CRB-65 and the pneumonia severity index.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    check(&input, cx)?;
    let ill = |illness| input.comorbidities.contains(&illness);
    let known = Known::default()
        .number("age_years", input.age_yr)
        .word("sex", input.sex.word())
        .flag("confusion", input.confusion)
        .flag("altered_mental_status", input.confusion)
        .number("urea_mmol_l", input.urea_mmol_l)
        .number("respiratory_rate", input.respiratory_rate_per_min)
        .number("systolic_mmhg", input.systolic_mmhg)
        .number("diastolic_mmhg", input.diastolic_mmhg)
        .number("heart_rate_bpm", input.heart_rate_per_min)
        .number("temperature_c", input.temperature_deg_c)
        .flag("nursing_home", input.nursing_home)
        .flag("neoplastic", ill(Comorbidity::Cancer))
        .flag("liver", ill(Comorbidity::Liver))
        .flag("heart_failure", ill(Comorbidity::HeartFailure))
        .flag("cerebrovascular", ill(Comorbidity::Cerebrovascular))
        .flag("renal", ill(Comorbidity::Renal))
        .number("ph", input.ph)
        .number("sodium_mmol_l", input.sodium_mmol_l)
        .number("glucose_mg_dl", input.glucose_mg_dl)
        .number("haematocrit_percent", input.haematocrit_percent)
        .number("pao2_mmhg", input.pao2_mmhg)
        .flag("pleural_effusion", input.effusion);
    known.absent(cx, "crb65", &[("confusion", "confusion")])?;
    let findings =
        [("confusion", "altered_mental_status"), ("nursing_home", "nursing_home"), ("effusion", "pleural_effusion")];
    known.absent(cx, "psi_port", &findings)?;
    if input.comorbidities.is_empty() {
        cx.warn("absent: no comorbidity is counted, an empty list being the default");
    }
    let crb = known.score("crb65")?.value.ok_or_else(|| Failure::internal("crb65 has no value"))?;
    // Without the urea CRB-65 is the score: a missing urea is not counted as normal.
    let curb = known.score("curb65")?.value;
    let psi = known.least(cx, "psi_port")?.ok_or_else(|| Failure::internal("psi_port has no bounds"))?;
    let class = class(&psi, cx)?;
    unreviewed(cx, "site and mortality restate the publications of the scores");
    Ok(Output {
        curb65: curb.map(whole),
        crb65: whole(crb),
        psi: psi.min.map_or(0, whole),
        psi_class: class,
        mortality: mortality(curb, class),
        site: site(curb, crb),
    })
}

fn check(input: &Input, cx: &Context) -> Result<(), Failure> {
    support::UREA.check(cx, "urea", input.urea_mmol_l)?;
    support::BREATHS.check(cx, "respiratory_rate", input.respiratory_rate_per_min)?;
    support::SYSTOLIC.check(cx, "systolic", input.systolic_mmhg)?;
    support::DIASTOLIC.check(cx, "diastolic", input.diastolic_mmhg)?;
    support::HEART_RATE.check(cx, "heart_rate", input.heart_rate_per_min)?;
    support::TEMPERATURE.check(cx, "temperature", input.temperature_deg_c)?;
    support::PH.check(cx, "ph", input.ph)?;
    support::SODIUM.check(cx, "sodium", input.sodium_mmol_l)?;
    support::GLUCOSE.check(cx, "glucose", input.glucose_mg_dl)?;
    support::HAEMATOCRIT.check(cx, "haematocrit", input.haematocrit_percent)?;
    support::OXYGEN_TENSION.check(cx, "pao2", input.pao2_mmhg)?;
    if input.diastolic_mmhg > input.systolic_mmhg {
        let text = "is above the systolic pressure: check which is which";
        return Err(Failure::invalid(&["diastolic"], text));
    }
    Ok(())
}

/// The lowest class that the least points allow, with a warning where others are possible.
fn class(psi: &Score, cx: &Context) -> Result<i64, Failure> {
    const CLASSES: [&str; 5] = ["I", "II", "III", "IV", "V"];
    if psi.possible_bands.len() > 1 {
        let classes = psi.possible_bands.join(", ");
        cx.warn(format!(
            "range: psi_class may be {classes}, and the first is returned, which counts what is missing as normal"
        ));
    }
    let first = psi.possible_bands.first();
    let place = CLASSES.iter().position(|class| Some(*class) == first.map(String::as_str));
    place.map(|place| place as i64 + 1).ok_or_else(|| Failure::internal("psi_port has no class"))
}

/// Death within 30 days: groups of CURB-65 (Lim 2003) and classes of the index (Fine 1997).
fn mortality(curb: Option<f64>, class: i64) -> String {
    let index = match class {
        1 => "0.1 %",
        2 => "0.6 %",
        3 => "0.9 %",
        4 => "9.3 %",
        _ => "27.0 %",
    };
    let index = format!("PSI class {class}: {index} (Fine 1997)");
    let group = match curb {
        Some(points) if points >= 3.0 => "CURB-65 of 3 to 5: 22 %",
        Some(points) if points >= 2.0 => "CURB-65 of 2: 9.2 %",
        Some(_) => "CURB-65 of 0 or 1: below 2 %",
        None => return index,
    };
    format!("{group} (Lim 2003); {index}")
}

/// Lim 2003: 0 or 1 at home, 2 short stay or supervised, 3 or more in hospital, 4 or 5 assessed for intensive care.
/// CRB-65: 0 at home, 1 or 2 referral, 3 or 4 urgent admission.
fn site(curb: Option<f64>, crb: f64) -> Site {
    match (curb, crb) {
        (Some(points), _) if points >= 4.0 => Site::Icu,
        (Some(points), _) if points >= 3.0 => Site::Ward,
        (Some(points), _) if points >= 2.0 => Site::Observe,
        (Some(_), _) => Site::Home,
        (None, points) if points >= 3.0 => Site::Ward,
        (None, points) if points >= 1.0 => Site::Observe,
        (None, _) => Site::Home,
    }
}
