//! Severity of liver disease.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, choice, flag, number, whole};
use super::interval::{Interval, below, itself, under, up_to};
use super::known::Known;
use super::units::{BILIRUBIN_MG_DL_PER_UMOL_L, CREATININE_MG_DL_PER_UMOL_L};

/// Upper ends of what is accepted: the corners where the value is unknown.
const MOST_BILIRUBIN: f64 = 100.0;
const MOST_INR: f64 = 20.0;

const BILIRUBIN: Input =
    number("bilirubin_mg_dl", 0.0, MOST_BILIRUBIN).alias(&[("bilirubin_umol_l", BILIRUBIN_MG_DL_PER_UMOL_L)]);
const INR: Input = number("inr", 0.5, MOST_INR);
const CREATININE: Input =
    number("creatinine_mg_dl", 0.05, 40.0).alias(&[("creatinine_umol_l", CREATININE_MG_DL_PER_UMOL_L)]);
const SODIUM: Input = number("sodium_mmol_l", 90.0, 200.0);
const ALBUMIN: Input = number("albumin_g_dl", 0.5, 7.0).alias(&[("albumin_g_l", 0.1)]);

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "meld_3_0",
        name: "MELD 3.0",
        engine: Some("q224"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "kim-2021",
            title: "Kim WR et al. MELD 3.0: the model for end-stage liver disease updated for the modern era. \
                    Gastroenterology 161",
            year: 2021,
            url: "https://doi.org/10.1053/j.gastro.2021.08.050",
        },
        inputs: &[BILIRUBIN, INR, CREATININE, SODIUM, ALBUMIN, SEX, flag("dialysis"), AGE.population()],
        caveat: Some("Dialysis: twice in the last week, or 24 h of continuous haemodialysis."),
        compute: meld_3,
    },
    Definition {
        id: "meld_na",
        name: "MELD-Na (OPTN 2016)",
        engine: Some("q224"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "kim-2008",
            title: "Kim WR et al. Hyponatremia and mortality among patients on the liver-transplant waiting list. \
                    N Engl J Med 359",
            year: 2008,
            url: "https://doi.org/10.1056/NEJMoa0801209",
        },
        inputs: &[BILIRUBIN, INR, CREATININE, SODIUM, flag("dialysis"), AGE.population()],
        caveat: Some("In the form of the OPTN policy of 2016; MELD 3.0 has replaced it there."),
        compute: meld_na,
    },
    Definition {
        id: "child_pugh",
        name: "Child-Pugh score",
        engine: Some("q224"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "pugh-1973",
            title: "Pugh RNH et al. Transection of the oesophagus for bleeding oesophageal varices. Br J Surg 60",
            year: 1973,
            url: "https://doi.org/10.1002/bjs.1800600817",
        },
        inputs: &[
            BILIRUBIN,
            ALBUMIN,
            INR,
            choice(
                "ascites",
                &[
                    ("none", 1.0),
                    ("absent", 1.0),
                    ("slight", 2.0),
                    ("mild", 2.0),
                    ("moderate", 3.0),
                    ("moderate_severe", 3.0),
                    ("severe", 3.0),
                ],
            ),
            choice(
                "encephalopathy",
                &[
                    ("none", 1.0),
                    ("grade1_2", 2.0),
                    ("grade1_to2", 2.0),
                    ("grade_1_2", 2.0),
                    ("grade3_4", 3.0),
                    ("grade3_to4", 3.0),
                    ("grade_3_4", 3.0),
                ],
            ),
            whole("encephalopathy_grade", 0.0, 4.0).in_place_of(&["encephalopathy"]),
        ],
        caveat: Some("Bilirubin limits differ in cholestatic disease."),
        compute: child_pugh,
    },
    Definition {
        id: "fib4",
        name: "FIB-4",
        engine: Some("q224"),
        unit: "index",
        decimals: 2,
        source: Source {
            id: "sterling-2006",
            title: "Sterling RK et al. Development of a simple noninvasive index to predict significant fibrosis. \
                    Hepatology 43",
            year: 2006,
            url: "https://doi.org/10.1002/hep.21178",
        },
        inputs: &[
            AGE,
            number("ast_u_l", 1.0, 50_000.0),
            number("alt_u_l", 1.0, 50_000.0),
            number("platelets_10e9_l", 1.0, 5000.0),
        ],
        caveat: Some("Unreliable under 35 years and in acute hepatitis; over 65 years a higher lower limit is used."),
        compute: fib4,
    },
];

/// All values of a formula over the corners of what its inputs may be: it must
/// be monotone in each input while the others are held.
fn corners<const N: usize>(ranges: [Interval; N], formula: fn([f64; N]) -> f64) -> Interval {
    let mut bounds: Option<Interval> = None;
    for corner in 0..(1usize << N) {
        let mut at = ranges.map(|range| range.min);
        for (index, (value, range)) in at.iter_mut().zip(ranges).enumerate() {
            if corner >> index & 1 == 1 {
                *value = range.max;
            }
        }
        let value = Interval::exactly(formula(at));
        bounds = Some(bounds.map_or(value, |bounds| bounds.hull(value)));
    }
    bounds.unwrap_or(Interval::exactly(f64::NAN))
}

fn creatinine(k: &Known, most: f64) -> Interval {
    let measured = itself(k.num("creatinine_mg_dl"), 1.0, most).clamp(1.0, most);
    match k.flag("dialysis") {
        Some(true) => Interval::exactly(most),
        Some(false) => measured,
        None => measured.hull(Interval::exactly(most)),
    }
}

fn meld_3(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The adult equation is not for patients under 18 years.");
    }
    let ranges = [
        itself(k.num("sex"), 0.0, 1.0),
        itself(k.num("bilirubin_mg_dl"), 1.0, MOST_BILIRUBIN).clamp(1.0, MOST_BILIRUBIN),
        itself(k.num("sodium_mmol_l"), 125.0, 137.0).clamp(125.0, 137.0),
        itself(k.num("inr"), 1.0, MOST_INR).clamp(1.0, MOST_INR),
        creatinine(k, 3.0),
        itself(k.num("albumin_g_dl"), 1.5, 3.5).clamp(1.5, 3.5),
    ];
    let value = corners(ranges, |[female, bilirubin, sodium, inr, creatinine, albumin]| {
        let (b, i, c) = (bilirubin.ln(), inr.ln(), creatinine.ln());
        let (sodium, albumin) = (137.0 - sodium, 3.5 - albumin);
        1.33 * female + 4.56 * b + 0.82 * sodium - 0.24 * sodium * b + 9.09 * i + 11.14 * c + 1.85 * albumin
            - 1.83 * albumin * c
            + 6.0
    });
    Outcome::bounded(value.clamp(6.0, 40.0))
}

fn meld_na(k: &Known) -> Outcome {
    if below(k.age(), 12.0) == Some(true) {
        return Outcome::not_applicable("Under 12 years PELD is used.");
    }
    let ranges = [
        itself(k.num("bilirubin_mg_dl"), 1.0, MOST_BILIRUBIN).clamp(1.0, MOST_BILIRUBIN),
        itself(k.num("inr"), 1.0, MOST_INR).clamp(1.0, MOST_INR),
        creatinine(k, 4.0),
    ];
    // Rounded to the tenth before the sodium counts, as the policy has it.
    let initial = corners(ranges, |[bilirubin, inr, creatinine]| {
        let sum = 0.957 * creatinine.ln() + 0.378 * bilirubin.ln() + 1.12 * inr.ln() + 0.643;
        (sum * 100.0).round() / 10.0
    });
    let sodium = itself(k.num("sodium_mmol_l"), 125.0, 137.0).clamp(125.0, 137.0);
    // The sodium's weight turns its sign at 40 points, above which the cap holds.
    let capped = initial.clamp(6.0, 40.0);
    let value = corners([capped, sodium], |[initial, sodium]| {
        let low = 137.0 - sodium;
        if initial > 11.0 { initial + 1.32 * low - 0.033 * initial * low } else { initial }
    });
    Outcome::bounded(value.clamp(6.0, 40.0))
}

fn child_pugh(k: &Known) -> Outcome {
    let graded = up_to(k.num("encephalopathy_grade"), &[(0.0, 1.0), (2.0, 2.0)], 3.0);
    let encephalopathy = k.num("encephalopathy").map_or(graded, Interval::exactly);
    let bilirubin = k.num("bilirubin_mg_dl");
    let bilirubin = under(bilirubin, &[(2.0, 1.0), (3.0f64.next_up(), 2.0)], 3.0);
    let albumin = under(k.num("albumin_g_dl"), &[(2.8, 3.0), (3.5f64.next_up(), 2.0)], 1.0);
    Outcome::sum([
        ("bilirubin", bilirubin),
        ("albumin", albumin),
        ("inr", under(k.num("inr"), &[(1.7, 1.0), (2.3f64.next_up(), 2.0)], 3.0)),
        ("ascites", itself(k.num("ascites"), 1.0, 3.0)),
        ("encephalopathy", encephalopathy),
    ])
    .bands(&[(5.0, "A"), (7.0, "B"), (10.0, "C")])
}

fn fib4(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("FIB-4 is for adults.");
    }
    let value = || Some(k.age()? * k.num("ast_u_l")? / (k.num("platelets_10e9_l")? * k.num("alt_u_l")?.sqrt()));
    Outcome::formula(value()).bands(&[(0.0, "low"), (1.3, "indeterminate"), (2.67f64.next_up(), "high")])
}
