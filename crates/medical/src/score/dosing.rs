//! Body measures and doses that rest on them.

use super::Source;
use super::definition::{AGE, Definition, Input, Outcome, SEX, number};
use super::interval::below;
use super::known::Known;

const WEIGHT: Input = number("weight_kg", 0.3, 500.0);
const HEIGHT: Input = number("height_cm", 25.0, 260.0).alias(&[("height_m", 100.0)]);

/// Opioids with the conversion factors of CDC 2022, mg of morphine for a mg.
const OPIOIDS: &[(&str, f64)] = &[
    ("codeine_mg_per_day", 0.15),
    ("fentanyl_transdermal_ug_per_h", 2.4),
    ("hydrocodone_mg_per_day", 1.0),
    ("hydromorphone_mg_per_day", 5.0),
    ("methadone_mg_per_day", 4.7),
    ("morphine_mg_per_day", 1.0),
    ("oxycodone_mg_per_day", 1.5),
    ("oxymorphone_mg_per_day", 3.0),
    ("tapentadol_mg_per_day", 0.4),
    ("tramadol_mg_per_day", 0.2),
];

const fn measure(
    id: &'static str,
    name: &'static str,
    unit: &'static str,
    source: Source,
    inputs: &'static [Input],
    caveat: Option<&'static str>,
    compute: fn(&Known) -> Outcome,
) -> Definition {
    Definition { id, name, engine: Some("q229"), unit, decimals: 2, source, inputs, caveat, compute }
}

const fn opioid(name: &'static str) -> Input {
    number(name, 0.0, 10_000.0).optional()
}

pub(super) const SCORES: &[Definition] = &[
    measure(
        "bmi",
        "Body mass index",
        "kg/m2",
        Source {
            id: "keys-1972",
            title: "Keys A et al. Indices of relative weight and obesity. J Chronic Dis 25",
            year: 1972,
            url: "https://doi.org/10.1016/0021-9681(72)90027-6",
        },
        &[WEIGHT, HEIGHT, AGE.population()],
        None,
        bmi,
    ),
    measure(
        "bsa_mosteller",
        "Body surface area (Mosteller)",
        "m2",
        Source {
            id: "mosteller-1987",
            title: "Mosteller RD. Simplified calculation of body-surface area. N Engl J Med 317",
            year: 1987,
            url: "https://doi.org/10.1056/NEJM198710223171717",
        },
        &[WEIGHT, HEIGHT],
        None,
        |k| Outcome::formula((|| Some((k.num("weight_kg")? * k.num("height_cm")? / 3600.0).sqrt()))()),
    ),
    measure(
        "bsa_dubois",
        "Body surface area (Du Bois)",
        "m2",
        Source {
            id: "dubois-1916",
            title: "Du Bois D, Du Bois EF. A formula to estimate the approximate surface area. Arch Intern Med 17",
            year: 1916,
            url: "https://doi.org/10.1001/archinte.1916.00080130010002",
        },
        &[WEIGHT, HEIGHT],
        None,
        |k| {
            let value = || Some(0.007184 * k.num("weight_kg")?.powf(0.425) * k.num("height_cm")?.powf(0.725));
            Outcome::formula(value())
        },
    ),
    measure(
        "ibw_devine",
        "Ideal body weight (Devine)",
        "kg",
        Source {
            id: "devine-1974",
            title: "Devine BJ. Gentamicin therapy. Drug Intell Clin Pharm 8",
            year: 1974,
            url: "https://doi.org/10.1177/106002807400801104",
        },
        &[SEX, HEIGHT, AGE.population()],
        Some("Extrapolated under 152.4 cm."),
        |k| adults(k, |k| Some(ideal_weight(k.num("height_cm")?, k.female()?))),
    ),
    measure(
        "adjusted_weight",
        "Adjusted body weight",
        "kg",
        Source {
            id: "winter-2012",
            title: "Winter MA et al. Impact of various body weights and serum creatinine concentrations on the bias and \
                    accuracy of the Cockcroft-Gault equation. Pharmacotherapy 32",
            year: 2012,
            url: "https://doi.org/10.1002/j.1875-9114.2012.01098.x",
        },
        &[WEIGHT, HEIGHT, SEX, AGE.population()],
        Some("Ideal weight and 0.4 of what is above it."),
        |k| {
            adults(k, |k| {
                let ideal = ideal_weight(k.num("height_cm")?, k.female()?);
                Some(ideal + 0.4 * (k.num("weight_kg")? - ideal))
            })
        },
    ),
    measure(
        "lean_weight",
        "Lean body weight (Janmahasatian)",
        "kg",
        Source {
            id: "janmahasatian-2005",
            title: "Janmahasatian S et al. Quantification of lean bodyweight. Clin Pharmacokinet 44",
            year: 2005,
            url: "https://doi.org/10.2165/00003088-200544100-00004",
        },
        &[WEIGHT, HEIGHT, SEX, AGE.population()],
        None,
        |k| adults(k, lean_weight),
    ),
    measure(
        "bmr_mifflin",
        "Resting energy expenditure (Mifflin-St Jeor)",
        "kcal/d",
        Source {
            id: "mifflin-1990",
            title: "Mifflin MD et al. A new predictive equation for resting energy expenditure. Am J Clin Nutr 51",
            year: 1990,
            url: "https://doi.org/10.1093/ajcn/51.2.241",
        },
        &[WEIGHT, HEIGHT, AGE, SEX],
        None,
        |k| {
            adults(k, |k| {
                let sex = if k.female()? { -161.0 } else { 5.0 };
                Some(10.0 * k.num("weight_kg")? + 6.25 * k.num("height_cm")? - 5.0 * k.age()? + sex)
            })
        },
    ),
    measure(
        "opioid_mme",
        "Morphine milligram equivalents",
        "mg/d",
        Source {
            id: "cdc-opioids-2022",
            title: "Dowell D et al. CDC clinical practice guideline for prescribing opioids for pain. MMWR 71 (RR-3)",
            year: 2022,
            url: "https://doi.org/10.15585/mmwr.rr7103a1",
        },
        &[
            opioid("codeine_mg_per_day"),
            opioid("fentanyl_transdermal_ug_per_h"),
            opioid("hydrocodone_mg_per_day"),
            opioid("hydromorphone_mg_per_day"),
            opioid("methadone_mg_per_day"),
            opioid("morphine_mg_per_day"),
            opioid("oxycodone_mg_per_day"),
            opioid("oxymorphone_mg_per_day"),
            opioid("tapentadol_mg_per_day"),
            opioid("tramadol_mg_per_day"),
        ],
        Some("Never for changing one opioid to another; buprenorphine is not counted."),
        opioids,
    ),
    Definition {
        id: "maintenance_fluids_421",
        name: "Maintenance fluid, 4-2-1 rule",
        engine: Some("q218"),
        unit: "mL/h",
        decimals: 2,
        source: Source {
            id: "holliday-1957",
            title: "Holliday MA, Segar WE. The maintenance need for water in parenteral fluid therapy. Pediatrics 19",
            year: 1957,
            url: "https://doi.org/10.1542/peds.19.5.823",
        },
        inputs: &[WEIGHT],
        caveat: Some("Not for neonates; isotonic fluid."),
        compute: |k| Outcome::formula(k.num("weight_kg").map(maintenance)),
    },
];

fn adults(k: &Known, formula: fn(&Known) -> Option<f64>) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The equation is for adults.");
    }
    Outcome::formula(formula(k))
}

/// Ideal weight in kg (Devine) of a height in cm.
pub(super) fn ideal_weight(height_cm: f64, female: bool) -> f64 {
    let base = if female { 45.5 } else { 50.0 };
    base + 2.3 * (height_cm / 2.54 - 60.0)
}

fn bmi(k: &Known) -> Outcome {
    let value = || Some(k.num("weight_kg")? / (k.num("height_cm")? / 100.0).powi(2));
    let outcome = Outcome::formula(value());
    // Children have centiles, not these bands.
    if below(k.age(), 18.0) == Some(true) {
        return Outcome { caveat: Some("A child's is read against centiles of age and sex."), ..outcome };
    }
    outcome.bands(&[(0.0, "underweight"), (18.5, "usual"), (25.0, "overweight"), (30.0, "obese")])
}

fn lean_weight(k: &Known) -> Option<f64> {
    let (weight, height) = (k.num("weight_kg")?, k.num("height_cm")?);
    let bmi = weight / (height / 100.0).powi(2);
    let (base, slope) = if k.female()? { (8780.0, 244.0) } else { (6680.0, 216.0) };
    Some(9270.0 * weight / (base + slope * bmi))
}

fn opioids(k: &Known) -> Outcome {
    let taken: Vec<f64> = OPIOIDS.iter().filter_map(|(drug, factor)| Some(k.num(drug)? * factor)).collect();
    if taken.is_empty() {
        return Outcome { reason: Some("No opioid was given."), ..Outcome::default() };
    }
    Outcome::formula(Some(taken.iter().sum())).bands(&[(0.0, "under 50"), (50.0, "caution"), (90.0, "high")])
}

fn maintenance(weight: f64) -> f64 {
    4.0 * weight.min(10.0) + 2.0 * (weight - 10.0).clamp(0.0, 10.0) + (weight - 20.0).max(0.0)
}
