//! q231: nutrition of children.

pub(crate) mod growth;

use muster_engine::prelude::*;
use muster_kernel_numeric::dist::normal_quantile;

use crate::diagnostic_test::wilson;
use crate::support::{Sex, unreviewed};

const MAX_CHILDREN: usize = 10_000;
const DAYS_PER_MONTH: f64 = 30.4375;
/// From this age on children are measured standing.
const STANDING_DAYS: f64 = 731.0;
/// What a child is longer lying than standing, in cm.
const LYING: f64 = 0.7;
/// Deviations beyond which a measurement is not plausible.
const PLAUSIBLE: f64 = 6.0;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    children: Vec<Child>,
}

#[derive(Input)]
struct Child {
    id: String,
    sex: Sex,
    age_months: f64,
    weight_kg: f64,
    height_cm: f64,
    measured: Measured,
    muac_mm: Option<f64>,
    oedema: Option<bool>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Measured {
    Lying,
    Standing,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    children: Vec<Assessed>,
    gam_percent: Option<f64>,
    sam_percent: Option<f64>,
    ci_percent: Vec<f64>,
}

#[derive(Output)]
struct Assessed {
    id: String,
    whz: f64,
    haz: f64,
    waz: f64,
    status: Status,
    reasons: Vec<&'static str>,
}

#[derive(Words, Clone, Copy, PartialEq, Eq)]
enum Status {
    Normal,
    Moderate,
    Severe,
    Implausible,
}

/// Assesses each child, and the shares of global and severe acute malnutrition among those with plausible measurements.
///
/// # Errors
/// `Invalid` for a child outside of the standards' ages and sizes, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    if input.children.len() > MAX_CHILDREN {
        return Err(Failure::too_large(format!("there are more than {MAX_CHILDREN} children: send them in parts")));
    }
    let (mut muac, mut oedema) = (0usize, 0usize);
    let mut children = Vec::with_capacity(input.children.len());
    for (at, child) in input.children.into_iter().enumerate() {
        muac += usize::from(child.muac_mm.is_none());
        oedema += usize::from(child.oedema.is_none());
        children.push(assess(child, at)?);
    }
    if muac + oedema > 0 {
        cx.warn(format!("missing: {muac} children without MUAC and {oedema} without a check for oedema; what is missing is not counted as a sign"));
    }
    let plausible = children.iter().filter(|child| child.status != Status::Implausible).count();
    let of = |statuses: &[Status]| children.iter().filter(|child| statuses.contains(&child.status)).count() as f64;
    let (global, severe) = (of(&[Status::Moderate, Status::Severe]), of(&[Status::Severe]));
    let interval = wilson(global, plausible as f64, normal_quantile(0.975));
    unreviewed(cx, "classes restate WHO/UNICEF 2009; ci is the 95 % interval of gam for a simple random sample");
    Ok(Output {
        gam_percent: interval.map(|estimate| 100.0 * estimate.value),
        sam_percent: (plausible > 0).then(|| 100.0 * severe / plausible as f64),
        ci_percent: interval.map_or_else(Vec::new, |estimate| vec![100.0 * estimate.low, 100.0 * estimate.high]),
        children,
    })
}

fn assess(child: Child, at: usize) -> Result<Assessed, Failure> {
    let place = at.to_string();
    let invalid = |field: &str, text: String| Failure::invalid(&["children", &place, field], text);
    if !(0.0..=60.0).contains(&child.age_months) {
        let text = format!("{} months is outside the standards, which are for 0 to 60 months", child.age_months);
        return Err(invalid("age_months", text));
    }
    if !(0.5..=60.0).contains(&child.weight_kg) {
        return Err(invalid("weight", format!("{} kg is not plausible (0.5 to 60): check the unit", child.weight_kg)));
    }
    if child.muac_mm.is_some_and(|mm| !(50.0..=300.0).contains(&mm)) {
        return Err(invalid("muac", "must be from 50 to 300 mm; a value in cm is multiplied by 10".to_owned()));
    }
    // 60 months are 1826 days, the last row of the weights.
    let days = (child.age_months * DAYS_PER_MONTH).round();
    let lying = days < STANDING_DAYS;
    let size = match (lying, child.measured) {
        (true, Measured::Standing) => child.height_cm + LYING,
        (false, Measured::Lying) => child.height_cm - LYING,
        _ => child.height_cm,
    };
    let Some(by_size) = growth::weight_for_size(child.sex, size, lying) else {
        let range = if lying { "45 to 110 cm lying" } else { "65 to 120 cm standing" };
        let text = format!("{size:.1} cm is outside the standard of this age, which is for {range}: check cm and age");
        return Err(invalid("height", text));
    };
    let (Some(weight), Some(height)) =
        (growth::weight_for_age(child.sex, days), growth::height_for_age(child.sex, days))
    else {
        return Err(Failure::internal("an age within the standards has no row"));
    };
    let (whz, haz, waz) = (by_size.z(child.weight_kg), height.z(size), weight.z(child.weight_kg));
    let (status, reasons) = status(&child, [whz, haz, waz]);
    Ok(Assessed { id: child.id, whz, haz, waz, status, reasons })
}

fn status(child: &Child, z: [f64; 3]) -> (Status, Vec<&'static str>) {
    let [whz, haz, waz] = z;
    let mut reasons = Vec::new();
    for (value, reason) in [
        (whz, "weight for height beyond 6 deviations"),
        (haz, "height for age beyond 6 deviations"),
        (waz, "weight for age beyond 6 deviations"),
    ] {
        if value.abs() > PLAUSIBLE {
            reasons.push(reason);
        }
    }
    let oedema = child.oedema == Some(true);
    if oedema {
        reasons.push("oedema of both feet");
        // Severe whatever the weight, which the fluid raises.
        return (Status::Severe, reasons);
    }
    if !reasons.is_empty() {
        return (Status::Implausible, reasons);
    }
    // The limits of the arm are for 6 to 59 months.
    let muac = child.muac_mm.filter(|_| (6.0..60.0).contains(&child.age_months));
    let signs = [
        (whz < -3.0, Status::Severe, "weight for height below -3"),
        (muac.is_some_and(|mm| mm < 115.0), Status::Severe, "MUAC below 115 mm"),
        ((-3.0..-2.0).contains(&whz), Status::Moderate, "weight for height from -3 to below -2"),
        (muac.is_some_and(|mm| (115.0..125.0).contains(&mm)), Status::Moderate, "MUAC from 115 to below 125 mm"),
    ];
    let met: Vec<_> = signs.iter().filter(|(met, ..)| *met).collect();
    reasons.extend(met.iter().map(|(.., reason)| *reason));
    let status = if met.iter().any(|(_, status, _)| *status == Status::Severe) {
        Status::Severe
    } else if met.is_empty() {
        Status::Normal
    } else {
        Status::Moderate
    };
    (status, reasons)
}
