//! Probability and risk of venous thromboembolism.

use super::Source;
use super::definition::{AGE, Definition, Outcome, flag, number};
use super::interval::{any, at_least, below, over, points, under};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "wells_pe",
        name: "Wells score for pulmonary embolism",
        engine: Some("q220"),
        unit: "points",
        decimals: 1,
        source: Source {
            id: "wells-2000",
            title: "Wells PS et al. A simple clinical model for pulmonary embolism. Thromb Haemost 83",
            year: 2000,
            url: "https://doi.org/10.1055/s-0037-1613830",
        },
        inputs: &[
            flag("clinical_signs_dvt"),
            flag("pe_most_likely"),
            number("heart_rate_bpm", 0.0, 350.0),
            flag("immobilisation_3d"),
            flag("surgery_4w"),
            flag("immobilisation_or_surgery").in_place_of(&["immobilisation_3d", "surgery_4w"]),
            flag("previous_pe"),
            flag("previous_dvt"),
            flag("previous_vte").in_place_of(&["previous_pe", "previous_dvt"]),
            flag("haemoptysis"),
            flag("malignancy"),
        ],
        caveat: None,
        compute: wells_pe,
    },
    Definition {
        id: "wells_dvt",
        name: "Wells score for deep vein thrombosis",
        engine: Some("q220"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "wells-2003",
            title: "Wells PS et al. Evaluation of D-dimer in the diagnosis of suspected deep-vein thrombosis. N Engl J Med 349",
            year: 2003,
            url: "https://doi.org/10.1056/NEJMoa023153",
        },
        inputs: &[
            flag("active_cancer"),
            flag("paralysis_or_plaster"),
            flag("bedridden_3d"),
            flag("major_surgery_12w"),
            flag("localised_tenderness"),
            flag("entire_leg_swollen"),
            flag("calf_swelling_gt3cm"),
            flag("pitting_oedema"),
            flag("collateral_veins"),
            flag("previous_dvt"),
            flag("alternative_diagnosis_as_likely"),
        ],
        caveat: None,
        compute: wells_dvt,
    },
    Definition {
        id: "perc",
        name: "PERC rule",
        engine: Some("q220"),
        unit: "criteria positive",
        decimals: 0,
        source: Source {
            id: "kline-2004",
            title: "Kline JA et al. Clinical criteria to prevent unnecessary testing for pulmonary embolism. \
                    J Thromb Haemost 2",
            year: 2004,
            url: "https://doi.org/10.1111/j.1538-7836.2004.00790.x",
        },
        inputs: &[
            AGE,
            number("heart_rate_bpm", 0.0, 350.0),
            number("spo2_percent", 30.0, 100.0),
            flag("unilateral_leg_swelling"),
            flag("haemoptysis"),
            flag("recent_surgery_or_trauma"),
            flag("previous_pe"),
            flag("previous_dvt"),
            flag("hormone_use"),
        ],
        caveat: Some("Rules out only where the clinical probability is already low."),
        compute: perc,
    },
    Definition {
        id: "revised_geneva",
        name: "Revised Geneva score",
        engine: Some("q220"),
        unit: "points",
        decimals: 0,
        source: Source {
            id: "le-gal-2006",
            title: "Le Gal G et al. Prediction of pulmonary embolism in the emergency department. Ann Intern Med 144",
            year: 2006,
            url: "https://doi.org/10.7326/0003-4819-144-3-200602070-00004",
        },
        inputs: &[
            AGE,
            flag("previous_vte"),
            flag("surgery_or_fracture_1m"),
            flag("malignancy"),
            flag("unilateral_leg_pain"),
            flag("haemoptysis"),
            number("heart_rate_bpm", 0.0, 350.0),
            flag("pain_on_palpation_and_unilateral_oedema"),
        ],
        caveat: None,
        compute: geneva,
    },
    Definition {
        id: "spesi",
        name: "Simplified PESI",
        engine: None,
        unit: "points",
        decimals: 0,
        source: Source {
            id: "jimenez-2010",
            title: "Jiménez D et al. Simplification of the pulmonary embolism severity index. Arch Intern Med 170",
            year: 2010,
            url: "https://doi.org/10.1001/archinternmed.2010.199",
        },
        inputs: &[
            AGE,
            flag("malignancy"),
            flag("chronic_cardiopulmonary_disease"),
            number("heart_rate_bpm", 0.0, 350.0),
            number("systolic_mmhg", 0.0, 350.0),
            number("spo2_percent", 30.0, 100.0),
        ],
        caveat: Some("Only once pulmonary embolism is confirmed."),
        compute: spesi,
    },
    Definition {
        id: "d_dimer_age_adjusted",
        name: "Age-adjusted limit of D-dimer",
        engine: Some("q220"),
        unit: "ng/mL FEU",
        decimals: 0,
        source: Source {
            id: "righini-2014",
            title: "Righini M et al. Age-adjusted D-dimer cutoff levels to rule out pulmonary embolism. JAMA 311",
            year: 2014,
            url: "https://doi.org/10.1001/jama.2014.2135",
        },
        inputs: &[AGE],
        caveat: Some("Not where the clinical probability is high."),
        compute: |k| Outcome::formula(k.age().map(|age| if age > 50.0 { age * 10.0 } else { 500.0 })),
    },
];

fn wells_pe(k: &Known) -> Outcome {
    if below(k.num("heart_rate_bpm"), 1.0) == Some(true) {
        return Outcome::not_applicable("The score is not for cardiac arrest.");
    }
    let still = k.flag("immobilisation_or_surgery");
    let still = still.map_or_else(|| any(&[k.flag("immobilisation_3d"), k.flag("surgery_4w")]), Some);
    let earlier = k.flag("previous_vte");
    let earlier = earlier.map_or_else(|| any(&[k.flag("previous_pe"), k.flag("previous_dvt")]), Some);
    Outcome::sum([
        ("signs_of_dvt", points(k.flag("clinical_signs_dvt"), 3.0)),
        ("most_likely", points(k.flag("pe_most_likely"), 3.0)),
        ("heart_rate", points(over(k.num("heart_rate_bpm"), 100.0), 1.5)),
        ("immobile_or_surgery", points(still, 1.5)),
        ("earlier_vte", points(earlier, 1.5)),
        ("haemoptysis", points(k.flag("haemoptysis"), 1.0)),
        ("malignancy", points(k.flag("malignancy"), 1.0)),
    ])
    .bands(&[(0.0, "unlikely"), (4.5, "likely")])
}

fn wells_dvt(k: &Known) -> Outcome {
    let bedridden = any(&[k.flag("bedridden_3d"), k.flag("major_surgery_12w")]);
    Outcome::sum([
        ("cancer", points(k.flag("active_cancer"), 1.0)),
        ("paralysis_or_plaster", points(k.flag("paralysis_or_plaster"), 1.0)),
        ("bedridden_or_surgery", points(bedridden, 1.0)),
        ("tenderness", points(k.flag("localised_tenderness"), 1.0)),
        ("entire_leg", points(k.flag("entire_leg_swollen"), 1.0)),
        ("calf", points(k.flag("calf_swelling_gt3cm"), 1.0)),
        ("oedema", points(k.flag("pitting_oedema"), 1.0)),
        ("collateral_veins", points(k.flag("collateral_veins"), 1.0)),
        ("earlier_dvt", points(k.flag("previous_dvt"), 1.0)),
        ("alternative", points(k.flag("alternative_diagnosis_as_likely"), -2.0)),
    ])
    .bands(&[(-2.0, "unlikely"), (2.0, "likely")])
}

fn perc(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The PERC rule is for adults.");
    }
    let earlier = any(&[k.flag("previous_pe"), k.flag("previous_dvt")]);
    Outcome::sum([
        ("age", points(at_least(k.age(), 50.0), 1.0)),
        ("heart_rate", points(at_least(k.num("heart_rate_bpm"), 100.0), 1.0)),
        ("spo2", points(below(k.num("spo2_percent"), 95.0), 1.0)),
        ("leg_swelling", points(k.flag("unilateral_leg_swelling"), 1.0)),
        ("haemoptysis", points(k.flag("haemoptysis"), 1.0)),
        ("surgery_or_trauma", points(k.flag("recent_surgery_or_trauma"), 1.0)),
        ("earlier_vte", points(earlier, 1.0)),
        ("hormone_use", points(k.flag("hormone_use"), 1.0)),
    ])
    .bands(&[(0.0, "negative"), (1.0, "positive")])
}

fn geneva(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The score is for adults.");
    }
    Outcome::sum([
        ("age", points(over(k.age(), 65.0), 1.0)),
        ("earlier_vte", points(k.flag("previous_vte"), 3.0)),
        ("surgery_or_fracture", points(k.flag("surgery_or_fracture_1m"), 2.0)),
        ("malignancy", points(k.flag("malignancy"), 2.0)),
        ("leg_pain", points(k.flag("unilateral_leg_pain"), 3.0)),
        ("haemoptysis", points(k.flag("haemoptysis"), 2.0)),
        ("heart_rate", under(k.num("heart_rate_bpm"), &[(75.0, 0.0), (95.0, 3.0)], 5.0)),
        ("palpation", points(k.flag("pain_on_palpation_and_unilateral_oedema"), 4.0)),
    ])
    .bands(&[(0.0, "low"), (4.0, "intermediate"), (11.0, "high")])
}

fn spesi(k: &Known) -> Outcome {
    if below(k.age(), 18.0) == Some(true) {
        return Outcome::not_applicable("The index is for adults.");
    }
    Outcome::sum([
        ("age", points(over(k.age(), 80.0), 1.0)),
        ("malignancy", points(k.flag("malignancy"), 1.0)),
        ("cardiopulmonary", points(k.flag("chronic_cardiopulmonary_disease"), 1.0)),
        ("heart_rate", points(at_least(k.num("heart_rate_bpm"), 110.0), 1.0)),
        ("systolic", points(below(k.num("systolic_mmhg"), 100.0), 1.0)),
        ("spo2", points(below(k.num("spo2_percent"), 90.0), 1.0)),
    ])
    .bands(&[(0.0, "low"), (1.0, "high")])
}
