//! Emergency values of children, and dehydration by the WHO's signs.

use super::Source;
use super::definition::{Definition, Input, Outcome, choice, number};
use super::interval::Interval;
use super::known::Known;

const MONTHS: Input = number("age_months", 0.0, 1440.0);
const WEIGHT: Input = number("weight_kg", 0.3, 300.0);
const APLS: Source = Source {
    id: "apls-2016",
    title: "Advanced Life Support Group. Advanced Paediatric Life Support, 6th edition",
    year: 2016,
    url: "https://www.alsg.org/",
};
const RCUK: Source = Source {
    id: "rcuk-paediatric-2021",
    title: "Resuscitation Council UK. Paediatric advanced life support guidelines",
    year: 2021,
    url: "https://www.resus.org.uk/library/2021-resuscitation-guidelines/paediatric-advanced-life-support-guidelines",
};
const WHO: Source = Source {
    id: "who-diarrhoea-2005",
    title: "World Health Organization. The treatment of diarrhoea, 4th revision",
    year: 2005,
    url: "https://www.who.int/publications/i/item/9241593180",
};

const fn value(
    id: &'static str,
    name: &'static str,
    unit: &'static str,
    source: Source,
    inputs: &'static [Input],
    compute: fn(&Known) -> Outcome,
) -> Definition {
    let engine = Some("q230");
    let caveat = Some("A starting value for a clinician; a measured weight or tape is better than an age.");
    Definition { id, name, engine, unit, decimals: 1, source, inputs, caveat, compute }
}

pub(super) const SCORES: &[Definition] = &[
    value("weight_apls", "Weight by age (APLS)", "kg", APLS, &[MONTHS], weight),
    value("tube_uncuffed", "Uncuffed tracheal tube", "mm", APLS, &[MONTHS], |k| tube(k, 4.0, 4.0)),
    value("tube_cuffed", "Cuffed tracheal tube", "mm", APLS, &[MONTHS], |k| tube(k, 4.0, 3.5)),
    value("tube_depth", "Depth of an oral tracheal tube", "cm", APLS, &[MONTHS], |k| tube(k, 2.0, 12.0)),
    value("defibrillation_joules", "Defibrillation", "J", RCUK, &[WEIGHT], |k| per_kg(k, 4.0)),
    value("fluid_bolus_ml", "Fluid bolus", "mL", RCUK, &[WEIGHT], |k| per_kg(k, 10.0)),
    value("adrenaline_arrest_ug", "Adrenaline in cardiac arrest, intravenous", "ug", RCUK, &[WEIGHT], |k| {
        per_kg(k, 10.0)
    }),
    value("glucose_10_ml", "Glucose 10 % in hypoglycaemia", "mL", RCUK, &[WEIGHT], |k| per_kg(k, 2.0)),
    Definition {
        id: "who_dehydration",
        name: "Dehydration by the WHO's signs",
        engine: Some("q232"),
        unit: "class",
        decimals: 0,
        source: WHO,
        inputs: &[
            choice("condition", &[("well", 0.0), ("restless", 1.0), ("lethargic", 2.0)]),
            choice("eyes", &[("normal", 0.0), ("sunken", 2.0)]),
            choice("thirst", &[("normal", 0.0), ("eager", 1.0), ("unable", 2.0)]),
            choice("skin_pinch", &[("quick", 0.0), ("slow", 1.0), ("very_slow", 2.0)]),
        ],
        caveat: Some("Sunken eyes count for either class; the signs mislead in severe malnutrition."),
        compute: dehydration,
    },
    Definition {
        id: "ors_plan_b_ml",
        name: "Oral rehydration of plan B, over 4 h",
        engine: Some("q232"),
        unit: "mL",
        decimals: 0,
        source: WHO,
        inputs: &[WEIGHT],
        caveat: Some("For some dehydration; more if the patient wants more."),
        compute: |k| per_kg(k, 75.0),
    },
];

fn weight(k: &Known) -> Outcome {
    let Some(months) = k.num("age_months") else { return Outcome::default() };
    let years = (months / 12.0).floor();
    Outcome::formula(match years {
        years if years < 1.0 => Some(0.5 * months + 4.0),
        years if years <= 5.0 => Some(2.0 * years + 8.0),
        years if years <= 12.0 => Some(3.0 * years + 7.0),
        _ => return Outcome::not_applicable("The formula ends at 12 years."),
    })
}

fn tube(k: &Known, per_years: f64, base: f64) -> Outcome {
    match k.num("age_months") {
        Some(months) if !(12.0..=192.0).contains(&months) => {
            Outcome::not_applicable("The formula is for 1 to 16 years; infants have fixed sizes.")
        }
        months => Outcome::formula(months.map(|months| months / 12.0 / per_years + base)),
    }
}

fn per_kg(k: &Known, each: f64) -> Outcome {
    Outcome::formula(k.num("weight_kg").map(|weight| weight * each))
}

/// Two signs of a class make it: 0 none, 1 some, 2 severe dehydration.
fn dehydration(k: &Known) -> Outcome {
    let class = |unknown: f64| {
        let signs = ["condition", "eyes", "thirst", "skin_pinch"].map(|sign| k.num(sign).unwrap_or(unknown));
        let count = |from: f64| signs.iter().filter(|sign| **sign >= from).count();
        match () {
            () if count(2.0) >= 2 => 2.0,
            () if count(1.0) >= 2 => 1.0,
            () => 0.0,
        }
    };
    Outcome::bounded(Interval { min: class(0.0), max: class(2.0) }).bands(&[
        (0.0, "none"),
        (1.0, "some"),
        (2.0, "severe"),
    ])
}
