//! Acid-base state and electrolytes.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, number};
use super::known::Known;
use super::units::{
    BUN_MG_DL_PER_UREA_MMOL_L, CHOLESTEROL_MG_DL_PER_MMOL_L, GLUCOSE_MG_DL_PER_MMOL_L, TRIGLYCERIDES_MG_DL_PER_MMOL_L,
};

const SODIUM: Input = number("sodium_mmol_l", 80.0, 220.0);
const CHLORIDE: Input = number("chloride_mmol_l", 50.0, 180.0);
const BICARBONATE: Input = number("bicarbonate_mmol_l", 1.0, 70.0);
const ALBUMIN: Input = number("albumin_g_dl", 0.5, 7.0).alias(&[("albumin_g_l", 0.1)]);
const GLUCOSE: Input = number("glucose_mg_dl", 5.0, 3000.0).alias(&[("glucose_mmol_l", GLUCOSE_MG_DL_PER_MMOL_L)]);
const BUN: Input = number("bun_mg_dl", 0.0, 500.0).alias(&[("urea_mmol_l", BUN_MG_DL_PER_UREA_MMOL_L)]);
const BEREND: Source = Source {
    id: "berend-2014",
    title: "Berend K, de Vries APJ, Gans ROB. Physiological approach to assessment of acid-base disturbances. \
            N Engl J Med 371",
    year: 2014,
    url: "https://doi.org/10.1056/NEJMra1003327",
};

const fn measure(
    id: &'static str,
    name: &'static str,
    unit: &'static str,
    source: Source,
    inputs: &'static [Input],
    caveat: Option<&'static str>,
    compute: fn(&Known) -> Outcome,
) -> Definition {
    Definition { id, name, engine: Some("q227"), unit, decimals: 2, source, inputs, caveat, compute }
}

pub(super) const SCORES: &[Definition] = &[
    measure(
        "anion_gap",
        "Anion gap",
        "mmol/L",
        Source {
            id: "emmett-1977",
            title: "Emmett M, Narins RG. Clinical use of the anion gap. Medicine 56",
            year: 1977,
            url: "https://doi.org/10.1097/00005792-197701000-00002",
        },
        &[SODIUM, CHLORIDE, BICARBONATE],
        Some("Low albumin hides a raised gap."),
        |k| Outcome::formula(gap(k)),
    ),
    measure(
        "anion_gap_albumin_corrected",
        "Anion gap, corrected for albumin",
        "mmol/L",
        Source {
            id: "figge-1998",
            title: "Figge J et al. Anion gap and hypoalbuminemia. Crit Care Med 26",
            year: 1998,
            url: "https://doi.org/10.1097/00003246-199811000-00019",
        },
        &[SODIUM, CHLORIDE, BICARBONATE, ALBUMIN],
        None,
        |k| Outcome::formula(corrected_gap(k)),
    ),
    measure(
        "delta_ratio",
        "Delta ratio",
        "ratio",
        BEREND,
        &[SODIUM, CHLORIDE, BICARBONATE],
        Some("Normal gap 12, normal bicarbonate 24 mmol/L."),
        delta,
    ),
    measure(
        "winters_pco2",
        "PCO2 expected in metabolic acidosis (Winters)",
        "mmHg",
        Source {
            id: "albert-1967",
            title: "Albert MS, Dell RB, Winters RW. Quantitative displacement of acid-base equilibrium in metabolic \
                    acidosis. Ann Intern Med 66",
            year: 1967,
            url: "https://doi.org/10.7326/0003-4819-66-2-312",
        },
        &[BICARBONATE],
        Some("Plus or minus 2 mmHg; only in metabolic acidosis."),
        |k| Outcome::formula(k.num("bicarbonate_mmol_l").map(|bicarbonate| 1.5 * bicarbonate + 8.0)),
    ),
    measure(
        "serum_osmolality",
        "Serum osmolality, calculated",
        "mOsm/kg",
        BEREND,
        &[SODIUM, BUN, GLUCOSE],
        None,
        |k| Outcome::formula(osmolality(k)),
    ),
    measure(
        "osmolar_gap",
        "Osmolar gap",
        "mOsm/kg",
        BEREND,
        &[SODIUM, BUN, GLUCOSE, number("measured_osmolality_mosm_kg", 150.0, 600.0)],
        None,
        |k| Outcome::formula((|| Some(k.num("measured_osmolality_mosm_kg")? - osmolality(k)?))()),
    ),
    measure(
        "corrected_sodium_hillier",
        "Sodium, corrected for glucose (Hillier)",
        "mmol/L",
        Source {
            id: "hillier-1999",
            title: "Hillier TA, Abbott RD, Barrett EJ. Hyponatremia: evaluating the correction factor for \
                    hyperglycemia. Am J Med 106",
            year: 1999,
            url: "https://doi.org/10.1016/S0002-9343(99)00055-8",
        },
        &[SODIUM, GLUCOSE],
        None,
        |k| Outcome::formula(corrected_sodium(k, 0.024)),
    ),
    measure(
        "corrected_sodium_katz",
        "Sodium, corrected for glucose (Katz)",
        "mmol/L",
        Source {
            id: "katz-1973",
            title: "Katz MA. Hyperglycemia-induced hyponatremia: calculation of expected serum sodium depression. \
                    N Engl J Med 289",
            year: 1973,
            url: "https://doi.org/10.1056/NEJM197310182891607",
        },
        &[SODIUM, GLUCOSE],
        None,
        |k| Outcome::formula(corrected_sodium(k, 0.016)),
    ),
    measure(
        "corrected_calcium",
        "Calcium, corrected for albumin",
        "mg/dL",
        Source {
            id: "payne-1973",
            title: "Payne RB et al. Interpretation of serum calcium in patients with abnormal serum proteins. BMJ 4",
            year: 1973,
            url: "https://doi.org/10.1136/bmj.4.5893.643",
        },
        &[number("calcium_mg_dl", 1.0, 30.0).alias(&[("calcium_mmol_l", 4.008)]), ALBUMIN],
        Some("Measure ionised calcium where it decides."),
        |k| Outcome::formula((|| Some(k.num("calcium_mg_dl")? + 0.8 * (4.0 - k.num("albumin_g_dl")?)))()),
    ),
    measure(
        "aa_gradient",
        "Alveolar to arterial oxygen gradient at sea level",
        "mmHg",
        BEREND,
        &[number("pao2_mmhg", 5.0, 760.0), number("paco2_mmhg", 5.0, 200.0), number("fio2", 0.15, 1.0)],
        Some("Respiratory quotient 0.8, pressure 760 mmHg; expected on air: age/4 + 4."),
        gradient,
    ),
    measure(
        "free_water_deficit",
        "Free water deficit",
        "L",
        Source {
            id: "adrogue-2000",
            title: "Adrogué HJ, Madias NE. Hypernatremia. N Engl J Med 342",
            year: 2000,
            url: "https://doi.org/10.1056/NEJM200005183422006",
        },
        &[number("weight_kg", 0.5, 400.0), SODIUM, AGE, SEX],
        Some("To a sodium of 140 mmol/L; ongoing losses come on top."),
        |k| Outcome::formula(water(k)),
    ),
    measure(
        "ldl_friedewald",
        "LDL cholesterol (Friedewald)",
        "mg/dL",
        Source {
            id: "friedewald-1972",
            title: "Friedewald WT, Levy RI, Fredrickson DS. Estimation of the concentration of low-density lipoprotein \
                    cholesterol. Clin Chem 18",
            year: 1972,
            url: "https://doi.org/10.1093/clinchem/18.6.499",
        },
        &[
            number("total_cholesterol_mg_dl", 20.0, 2000.0)
                .alias(&[("total_cholesterol_mmol_l", CHOLESTEROL_MG_DL_PER_MMOL_L)]),
            number("hdl_mg_dl", 1.0, 300.0).alias(&[("hdl_mmol_l", CHOLESTEROL_MG_DL_PER_MMOL_L)]),
            number("triglycerides_mg_dl", 5.0, 20_000.0)
                .alias(&[("triglycerides_mmol_l", TRIGLYCERIDES_MG_DL_PER_MMOL_L)]),
        ],
        None,
        ldl,
    ),
];

fn gap(k: &Known) -> Option<f64> {
    Some(k.num("sodium_mmol_l")? - k.num("chloride_mmol_l")? - k.num("bicarbonate_mmol_l")?)
}

fn corrected_gap(k: &Known) -> Option<f64> {
    Some(gap(k)? + 2.5 * (4.0 - k.num("albumin_g_dl")?))
}

fn delta(k: &Known) -> Outcome {
    if k.num("bicarbonate_mmol_l").is_some_and(|bicarbonate| bicarbonate >= 24.0) {
        return Outcome::not_applicable("The ratio is for a bicarbonate under 24 mmol/L.");
    }
    Outcome::formula((|| Some((gap(k)? - 12.0) / (24.0 - k.num("bicarbonate_mmol_l")?)))())
}

fn osmolality(k: &Known) -> Option<f64> {
    Some(2.0 * k.num("sodium_mmol_l")? + k.num("bun_mg_dl")? / 2.8 + k.num("glucose_mg_dl")? / 18.0)
}

/// The correction is for hyperglycaemia: nothing is corrected under 100 mg/dL.
fn corrected_sodium(k: &Known, by: f64) -> Option<f64> {
    Some(k.num("sodium_mmol_l")? + by * (k.num("glucose_mg_dl")? - 100.0).max(0.0))
}

fn gradient(k: &Known) -> Outcome {
    let value = || {
        let alveolar = k.num("fio2")? * (760.0 - 47.0) - k.num("paco2_mmhg")? / 0.8;
        Some(alveolar - k.num("pao2_mmhg")?)
    };
    Outcome::formula(value())
}

/// Body water: 0.6 of the weight of children and men, 0.5 of women and old
/// men, 0.45 of old women.
fn water(k: &Known) -> Option<f64> {
    let (age, female) = (k.age()?, k.female()?);
    let share = match (female, age) {
        (_, age) if age < 18.0 => 0.6,
        (true, age) if age >= 65.0 => 0.45,
        (false, age) if age < 65.0 => 0.6,
        _ => 0.5,
    };
    Some(share * k.num("weight_kg")? * (k.num("sodium_mmol_l")? / 140.0 - 1.0))
}

fn ldl(k: &Known) -> Outcome {
    if k.num("triglycerides_mg_dl").is_some_and(|triglycerides| triglycerides > 400.0) {
        return Outcome::not_applicable("The formula does not hold with triglycerides over 400 mg/dL.");
    }
    let value = || Some(k.num("total_cholesterol_mg_dl")? - k.num("hdl_mg_dl")? - k.num("triglycerides_mg_dl")? / 5.0);
    Outcome::formula(value())
}
