//! q224: severity of liver disease.

use muster_engine::prelude::*;

use crate::support::{self, Known, Sex, unreviewed, whole};

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    bilirubin_mg_dl: f64,
    inr: f64,
    creatinine_mg_dl: f64,
    sodium_mmol_l: f64,
    albumin_g_dl: f64,
    sex: Sex,
    age_yr: f64,
    dialysis: bool,
    ascites: Ascites,
    encephalopathy: i64,
    ast_u_l: Option<f64>,
    alt_u_l: Option<f64>,
    platelets_1e9_l: Option<f64>,
}

#[derive(Words, Clone, Copy)]
enum Ascites {
    None,
    Mild,
    Moderate,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    meld3: Option<i64>,
    meld_na: Option<i64>,
    child_pugh: i64,
    child_class: ChildClass,
    fib4: Option<f64>,
    mortality_90d: Option<&'static str>,
}

#[derive(Words, Clone, Copy)]
#[wire(case = "upper")]
enum ChildClass {
    A,
    B,
    C,
}

/// Computes the scores.
///
/// # Errors
/// `Invalid` for values that are not plausible.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    support::BILIRUBIN.check(cx, "bilirubin", input.bilirubin_mg_dl)?;
    support::INR.check(cx, "inr", input.inr)?;
    support::CREATININE.check(cx, "creatinine", input.creatinine_mg_dl)?;
    support::SODIUM.check(cx, "sodium", input.sodium_mmol_l)?;
    support::ALBUMIN.check(cx, "albumin", input.albumin_g_dl)?;
    support::AGE.check(cx, "age", input.age_yr)?;
    support::ENZYME.check(cx, "ast", input.ast_u_l)?;
    support::ENZYME.check(cx, "alt", input.alt_u_l)?;
    support::PLATELETS.check(cx, "platelets", input.platelets_1e9_l)?;
    let known = Known::default()
        .number("bilirubin_mg_dl", input.bilirubin_mg_dl)
        .number("inr", input.inr)
        .number("creatinine_mg_dl", input.creatinine_mg_dl)
        .number("sodium_mmol_l", input.sodium_mmol_l)
        .number("albumin_g_dl", input.albumin_g_dl)
        .word("sex", input.sex.word())
        .number("age_years", input.age_yr)
        .flag("dialysis", input.dialysis)
        .word("ascites", input.ascites.word())
        .number("encephalopathy_grade", input.encephalopathy as f64)
        .number("ast_u_l", input.ast_u_l)
        .number("alt_u_l", input.alt_u_l)
        .number("platelets_10e9_l", input.platelets_1e9_l);
    let child = known.score("child_pugh")?;
    let (Some(points), Some(class)) = (child.value, support::band(&child)) else {
        return Err(Failure::internal("child_pugh has no value with all inputs"));
    };
    absent(&input, cx);
    let rounded = |id: &str| known.value(cx, id).map(|value| value.map(f64::round));
    let (meld3, meld_na) = (rounded("meld_3_0")?, rounded("meld_na")?);
    unreviewed(cx, "mortality_90d restates one table of patients waiting for a transplant");
    Ok(Output {
        meld3: meld3.map(whole),
        meld_na: meld_na.map(whole),
        child_pugh: whole(points),
        child_class: class,
        fib4: known.value(cx, "fib4")?,
        mortality_90d: meld3.map(mortality),
    })
}

/// Names the findings whose default is the milder one.
fn absent(input: &Input, cx: &Context) {
    let counted = [
        ("dialysis", !input.dialysis),
        ("ascites", matches!(input.ascites, Ascites::None)),
        ("encephalopathy", input.encephalopathy == 0),
    ];
    let absent: Vec<&str> = counted.iter().filter(|(_, absent)| *absent).map(|(name, _)| *name).collect();
    if !absent.is_empty() {
        cx.warn(format!("absent: {} count as absent, which is the default", absent.join(", ")));
    }
}

/// Death within 3 months by MELD 3.0 (Kim 2021, as in the MSD Manual).
fn mortality(meld3: f64) -> &'static str {
    match meld3 {
        points if points >= 40.0 => "51.1 % (MELD 3.0 of 40)",
        points if points >= 30.0 => "41.9 % (MELD 3.0 of 30 to 39)",
        points if points >= 20.0 => "24.8 % (MELD 3.0 of 20 to 29)",
        points if points >= 10.0 => "6.7 % (MELD 3.0 of 10 to 19)",
        _ => "0.6 % (MELD 3.0 below 10)",
    }
}
