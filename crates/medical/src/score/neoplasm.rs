//! Risk that a lesion seen by a clinician is malignant.

use super::Source;
use super::definition::{AGE, Definition, Outcome, SEX, choice, flag, number, whole};
use super::interval::{Interval, itself};
use super::known::Known;

pub(super) const SCORES: &[Definition] = &[
    Definition {
        id: "mayo_nodule",
        name: "Mayo model of pulmonary nodules",
        engine: Some("q236"),
        unit: "probability",
        decimals: 4,
        source: Source {
            id: "swensen-1997",
            title: "Swensen SJ et al. The probability of malignancy in solitary pulmonary nodules. Arch Intern Med 157",
            year: 1997,
            url: "https://doi.org/10.1001/archinte.1997.00440290031002",
        },
        inputs: &[
            AGE,
            flag("ever_smoker"),
            flag("cancer_history"),
            number("diameter_mm", 1.0, 200.0),
            flag("spiculated"),
            flag("upper_lobe"),
        ],
        caveat: Some("Nodules of 4 to 30 mm; not with cancer of the last 5 years or lung cancer ever."),
        compute: mayo,
    },
    Definition {
        id: "brock",
        name: "Brock model of pulmonary nodules (full, with spiculation)",
        engine: Some("q236"),
        unit: "probability",
        decimals: 4,
        source: Source {
            id: "mcwilliams-2013",
            title: "McWilliams A et al. Probability of cancer in pulmonary nodules detected on first screening CT. \
                    N Engl J Med 369",
            year: 2013,
            url: "https://doi.org/10.1056/NEJMoa1214726",
        },
        inputs: &[
            AGE,
            SEX,
            flag("family_history_lung_cancer"),
            flag("emphysema"),
            number("diameter_mm", 1.0, 200.0),
            choice("nodule_type", &[("solid", 0.0), ("nonsolid", 1.0), ("ground_glass", 1.0), ("part_solid", 2.0)]),
            flag("upper_lobe"),
            whole("nodule_count", 1.0, 100.0),
            flag("spiculated"),
        ],
        caveat: Some("For nodules of a first screening CT."),
        compute: brock,
    },
    Definition {
        id: "ovarian_rmi",
        name: "Risk of malignancy index of an ovarian mass (RMI I)",
        engine: Some("q236"),
        unit: "index",
        decimals: 0,
        source: Source {
            id: "jacobs-1990",
            title: "Jacobs I et al. A risk of malignancy index incorporating CA 125, ultrasound and menopausal status. \
                    Br J Obstet Gynaecol 97",
            year: 1990,
            url: "https://doi.org/10.1111/j.1471-0528.1990.tb02448.x",
        },
        inputs: &[whole("ultrasound_features", 0.0, 5.0), flag("postmenopausal"), number("ca125_u_ml", 0.0, 100_000.0)],
        caveat: None,
        compute: rmi,
    },
    Definition {
        id: "abcd_dermoscopy",
        name: "ABCD rule of dermoscopy, total score",
        engine: Some("q236"),
        unit: "points",
        decimals: 2,
        source: Source {
            id: "nachbar-1994",
            title: "Nachbar F et al. The ABCD rule of dermatoscopy. J Am Acad Dermatol 30",
            year: 1994,
            url: "https://doi.org/10.1016/S0190-9622(94)70061-3",
        },
        inputs: &[
            whole("asymmetry", 0.0, 2.0),
            whole("border", 0.0, 8.0),
            whole("colours", 1.0, 6.0).alias(&[("colors", 1.0)]),
            whole("structures", 1.0, 5.0),
        ],
        caveat: Some("Features as a trained dermoscopist saw them, of a melanocytic lesion."),
        compute: dermoscopy,
    },
];

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn mayo(k: &Known) -> Outcome {
    if k.num("diameter_mm").is_some_and(|diameter| !(4.0..=30.0).contains(&diameter)) {
        return Outcome::not_applicable("The model is for nodules of 4 to 30 mm.");
    }
    let value = || {
        Some(logistic(
            -6.8272
                + 0.0391 * k.age()?
                + 0.7917 * k.num("ever_smoker")?
                + 1.3388 * k.num("cancer_history")?
                + 0.1274 * k.num("diameter_mm")?
                + 1.0407 * k.num("spiculated")?
                + 0.7838 * k.num("upper_lobe")?,
        ))
    };
    Outcome::formula(value())
}

fn brock(k: &Known) -> Outcome {
    let value = || {
        let kind = match k.num("nodule_type")? {
            1.0 => -0.1276,
            2.0 => 0.377,
            _ => 0.0,
        };
        Some(logistic(
            -6.7892
                + 0.0287 * (k.age()? - 62.0)
                + 0.6011 * k.num("sex")?
                + 0.2961 * k.num("family_history_lung_cancer")?
                + 0.2953 * k.num("emphysema")?
                - 5.3854 * ((k.num("diameter_mm")? / 10.0).powf(-0.5) - 1.581_138_83)
                + kind
                + 0.6581 * k.num("upper_lobe")?
                - 0.0824 * (k.num("nodule_count")? - 4.0)
                + 0.7729 * k.num("spiculated")?,
        ))
    };
    Outcome::formula(value())
}

fn rmi(k: &Known) -> Outcome {
    let value = || {
        let ultrasound = match k.num("ultrasound_features")? {
            0.0 => 0.0,
            1.0 => 1.0,
            _ => 3.0,
        };
        let menopause = if k.flag("postmenopausal")? { 3.0 } else { 1.0 };
        Some(ultrasound * menopause * k.num("ca125_u_ml")?)
    };
    Outcome::formula(value()).bands(&[(0.0, "200 or less"), (200.0f64.next_up(), "over 200")])
}

fn dermoscopy(k: &Known) -> Outcome {
    let weighted = |name, low, high, weight: f64| {
        let Interval { min, max } = itself(k.num(name), low, high);
        Interval { min: min * weight, max: max * weight }
    };
    Outcome::sum([
        ("asymmetry", weighted("asymmetry", 0.0, 2.0, 1.3)),
        ("border", weighted("border", 0.0, 8.0, 0.1)),
        ("colours", weighted("colours", 1.0, 6.0, 0.5)),
        ("structures", weighted("structures", 1.0, 5.0, 0.5)),
    ])
    // Half a step of 0.1 keeps the sums of tenths on their side of a limit.
    .bands(&[(0.0, "benign"), (4.749, "suspicious"), (5.451, "highly suspicious")])
}
