//! Logistic models of lung cancer: PLCOm2012, Brock, Mayo.

use super::ModelResult;
use super::constants::ModelConstants;
use super::features::{Features, Taker};

fn number(b: bool) -> f64 {
    f64::from(u8::from(b))
}

fn probability(terms: &[(&'static str, f64)]) -> f64 {
    let x: f64 = terms.iter().map(|(_, t)| t).sum();
    1.0 / (1.0 + (-x).exp())
}

const PLCO_RACES: [&str; 7] = [
    "white",
    "black",
    "hispanic",
    "asian",
    "american indian or alaskan native",
    "native hawaiian or pacific islander",
    "pacific",
];

/// Lung cancer within six years in people who ever smoked, 55 to 74 years
/// (Tammemägi 2013). Threshold of screening: 1.51 % (Tammemägi 2014).
pub fn plcom2012(c: &ModelConstants, features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "plcom2012",
        "PLCOm2012 lung cancer risk",
        "probability",
        "Made for people of 55 to 74 years who ever smoked, without symptoms; symptoms are assessed by referral rules.",
    );
    result.horizon_years = Some(6.0);
    let mut t = Taker::new(features);
    let ever = features.any(&["ever_smoked"]);
    if matches!(ever, Some(super::Feature::Flag(false))) {
        return result.not_applicable("made for people who ever smoked");
    }
    let age = t.number(&["age_years", "age"], 0.0, 120.0);
    if age.is_some_and(|a| !(55.0..75.0).contains(&a)) {
        return result.not_applicable("made for 55 to 74 years");
    }
    let race = t.choice(&["race", "ethnicity"], &PLCO_RACES);
    let education = t.number(&["education_level", "education"], 1.0, 6.0);
    let bmi = t.number(&["bmi"], 10.0, 80.0);
    let copd = t.flag(&["copd"]);
    let cancer = t.flag(&["personal_cancer_history", "cancer_history"]);
    let family = t.flag(&["family_lung_cancer", "family_history_lung_cancer"]);
    let current = t.flag(&["current_smoker", "smoker"]);
    let cigarettes = t.number(&["cigarettes_per_day"], 0.1, 200.0);
    let years = t.number(&["years_smoked", "smoking_years"], 0.0, 110.0);
    // Who smokes has not quit: zero years.
    let quit = if current == Some(true) { Some(0.0) } else { t.number(&["years_quit", "quit_years"], 0.0, 110.0) };
    let (
        Some(age),
        Some(race),
        Some(education),
        Some(bmi),
        Some(copd),
        Some(cancer),
        Some(family),
        Some(current),
        Some(cigarettes),
        Some(years),
        Some(quit),
    ) = (age, race, education, bmi, copd, cancer, family, current, cigarettes, years, quit)
    else {
        return result.incomplete(t);
    };
    let race = match PLCO_RACES.get(race).copied() {
        Some("black") => c.of("black"),
        Some("hispanic") => c.of("hispanic"),
        Some("asian") => c.of("asian"),
        Some("native hawaiian or pacific islander" | "pacific") => c.of("pacific"),
        _ => 0.0,
    };
    result.contributions = vec![
        ("age", c.of("age") * (age - 62.0)),
        ("education", c.of("education") * (education - 4.0)),
        ("bmi", c.of("bmi") * (bmi - 27.0)),
        ("copd", c.of("copd") * number(copd)),
        ("personal_cancer_history", c.of("cancer_history") * number(cancer)),
        ("family_lung_cancer", c.of("family_lung_cancer") * number(family)),
        ("race", race),
        ("current_smoker", c.of("current_smoker") * number(current)),
        ("cigarettes_per_day", c.of("cigarettes") * (10.0 / cigarettes - 0.402_154_161_3)),
        ("years_smoked", c.of("years_smoked") * (years - 27.0)),
        ("years_quit", c.of("years_quit") * (quit - 10.0)),
        ("constant", c.of("constant")),
    ];
    let value = probability(&result.contributions);
    let band = if value >= 0.0151 {
        ("at or above 1.51 %", "screening by low-dose CT is considered from 1.51 % (Tammemägi 2014)")
    } else {
        ("below 1.51 %", "below the threshold of screening by low-dose CT (Tammemägi 2014)")
    };
    result.finished(value, band)
}

fn nodule_band(value: f64) -> (&'static str, &'static str) {
    // British Thoracic Society 2015: 10 % and 70 %.
    if value < 0.1 {
        ("below 10 %", "CT surveillance (BTS 2015)")
    } else if value <= 0.7 {
        ("10 to 70 %", "PET-CT and further work-up (BTS 2015)")
    } else {
        ("above 70 %", "consider excision or other definite treatment (BTS 2015)")
    }
}

const NODULE_TYPES: [&str; 8] =
    ["solid", "part-solid", "part_solid", "part solid", "nonsolid", "non-solid", "ground-glass", "ground glass"];

/// Cancer in a nodule of a first screening CT (McWilliams 2013, model 2b).
pub fn brock(c: &ModelConstants, features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "brock",
        "Brock (PanCan) nodule malignancy",
        "probability",
        "Made for nodules of a first screening CT in people who smoked; the radiologist's findings are taken as given.",
    );
    let mut t = Taker::new(features);
    let age = t.number(&["age", "age_years"], 18.0, 120.0);
    let sex = t.choice(&["sex"], &["female", "male"]);
    let family = t.flag(&["family_lung_cancer", "family_history"]);
    let emphysema = t.flag(&["emphysema"]);
    let size = t.number(&["diameter_mm", "size_mm", "nodule_size_mm"], 1.0, 30.0);
    let kind = t.choice(&["nodule_type", "type"], &NODULE_TYPES);
    let upper = t.flag(&["upper_lobe"]);
    let count = t.number(&["nodule_count", "count"], 1.0, 100.0);
    let spiculated = t.flag(&["spiculated", "spiculation"]);
    let (Some(age), Some(sex), Some(family), Some(emphysema), Some(size), Some(kind)) =
        (age, sex, family, emphysema, size, kind)
    else {
        return result.incomplete(t);
    };
    let (Some(upper), Some(count), Some(spiculated)) = (upper, count, spiculated) else {
        return result.incomplete(t);
    };
    let kind = match kind {
        0 => 0.0,
        1..=3 => c.of("part_solid"),
        _ => c.of("nonsolid"),
    };
    result.contributions = vec![
        ("age", c.of("age") * (age - 62.0)),
        ("sex", c.of("female") * number(sex == 0)),
        ("family_lung_cancer", c.of("family_lung_cancer") * number(family)),
        ("emphysema", c.of("emphysema") * number(emphysema)),
        ("diameter_mm", c.of("size") * ((size / 10.0).powf(-0.5) - 1.581_138_83)),
        ("nodule_type", kind),
        ("upper_lobe", c.of("upper_lobe") * number(upper)),
        ("nodule_count", c.of("nodule_count") * (count - 4.0)),
        ("spiculated", c.of("spiculated") * number(spiculated)),
        ("constant", c.of("constant")),
    ];
    let value = probability(&result.contributions);
    result.finished(value, nodule_band(value))
}

/// Cancer in a solitary nodule of 4 to 30 mm (Swensen 1997).
pub fn mayo(c: &ModelConstants, features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "mayo",
        "Mayo Clinic nodule malignancy",
        "probability",
        "Made for solitary nodules of 4 to 30 mm without cancer in the last five years or earlier lung cancer.",
    );
    let mut t = Taker::new(features);
    let age = t.number(&["age", "age_years"], 18.0, 120.0);
    let smoker = t.flag(&["smoker", "ever_smoked"]);
    let cancer = t.flag(&["cancer_history", "extrathoracic_cancer"]);
    let size = t.number(&["diameter_mm", "size_mm"], 0.1, 200.0);
    let spiculated = t.flag(&["spiculated", "spiculation"]);
    let upper = t.flag(&["upper_lobe"]);
    if size.is_some_and(|s| !(4.0..=30.0).contains(&s)) {
        return result.not_applicable("made for nodules of 4 to 30 mm");
    }
    let (Some(age), Some(smoker), Some(cancer), Some(size), Some(spiculated), Some(upper)) =
        (age, smoker, cancer, size, spiculated, upper)
    else {
        return result.incomplete(t);
    };
    result.contributions = vec![
        ("age", c.of("age") * age),
        ("smoker", c.of("smoker") * number(smoker)),
        ("cancer_history", c.of("cancer_history") * number(cancer)),
        ("diameter_mm", c.of("diameter") * size),
        ("spiculated", c.of("spiculated") * number(spiculated)),
        ("upper_lobe", c.of("upper_lobe") * number(upper)),
        ("constant", c.of("constant")),
    ];
    let value = probability(&result.contributions);
    result.finished(value, nodule_band(value))
}
