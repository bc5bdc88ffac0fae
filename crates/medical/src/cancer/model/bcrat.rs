//! Breast cancer risk assessment tool (Gail 1989; Costantino 1999; Gail 2007;
//! Matsuno 2011; Banegas 2017), with the constants of the R package BCRA 2.1.2.

use super::ModelResult;
use super::constants::{ModelConstants, Race};
use super::features::{Feature, Features, Taker};

/// Age to which the constants reach.
const LAST_AGE: f64 = 90.0;
/// Horizon where no projection age is given.
const USUAL_YEARS: f64 = 5.0;

/// Covariates in the model's classes.
#[derive(Debug, Clone, Copy)]
struct Classes {
    biopsies: f64,
    menarche: f64,
    first_birth: f64,
    relatives: f64,
    hyperplasia: f64,
}

/// Invasive breast cancer from the current age to `projection_age`, in per
/// cent. Unknown covariates may be sent as 99, no birth as 98, as in the
/// published tables.
pub fn bcrat(c: &ModelConstants, races: &[Race], features: &Features) -> ModelResult {
    let mut result = ModelResult::new(
        "bcrat",
        "Breast cancer risk assessment tool (Gail)",
        "% absolute risk",
        "For women of 35 to 84 years without breast cancer, DCIS, LCIS, BRCA variant or chest radiotherapy.",
    );
    let excluded = [
        ("personal_breast_cancer", "not for women who had breast cancer, DCIS or LCIS"),
        ("brca", "not for carriers of a BRCA variant"),
        ("chest_radiotherapy", "not after radiotherapy of the chest"),
    ];
    for (name, reason) in excluded {
        if features.any(&[name]) == Some(&Feature::Flag(true)) {
            return result.not_applicable(reason);
        }
    }
    if matches!(features.any(&["sex"]), Some(Feature::Word(w)) if w == "male") {
        return result.not_applicable("made for women");
    }
    let mut t = Taker::new(features);
    let age = t.number(&["current_age", "age", "age_years"], 0.0, 120.0);
    if age.is_some_and(|a| !(35.0..85.0).contains(&a)) {
        return result.not_applicable("made for 35 to 84 years");
    }
    let until = match features.any(&["projection_age"]) {
        Some(_) => t.number(&["projection_age"], 20.0, LAST_AGE),
        None => age.map(|a| (a + USUAL_YEARS).min(LAST_AGE)),
    };
    let race = t.number(&["race_code"], 1.0, 11.0);
    let race = race.and_then(|code| races.iter().find(|r| f64::from(r.code) == code));
    let biopsies = t.number(&["biopsies"], 0.0, 99.0);
    let menarche = t.number(&["age_menarche"], 5.0, 99.0);
    let birth = t.number(&["age_first_birth"], 8.0, 99.0);
    let relatives = t.number(&["first_degree_relatives"], 0.0, 99.0);
    // Only a biopsy can have shown it.
    let hyperplasia = match (features.any(&["atypical_hyperplasia"]), biopsies) {
        (None, Some(b)) if b == 0.0 || b == 99.0 => Some(99.0),
        // Nothing is asked of it before a biopsy is known.
        (None, None) => None,
        (Some(Feature::Flag(known)), _) => Some(f64::from(u8::from(*known))),
        _ => t.number(&["atypical_hyperplasia"], 0.0, 99.0),
    };
    let (Some(age), Some(until), Some(race), Some(biopsies)) = (age, until, race, biopsies) else {
        return result.incomplete(t);
    };
    let (Some(menarche), Some(birth), Some(relatives), Some(hyperplasia)) = (menarche, birth, relatives, hyperplasia)
    else {
        return result.incomplete(t);
    };
    if let Some(reason) = contradiction(age, until, biopsies, hyperplasia, menarche, birth) {
        t.invalid.push(reason.to_owned());
        return result.incomplete(t);
    }
    let classes = Classes::of(c, race.code, biopsies, hyperplasia, menarche, birth, relatives);
    let value = absolute(race, classes, age, until);
    result.horizon_years = Some(until - age);
    let [b, m, f, r, ..] = race.beta;
    result.contributions = vec![
        ("biopsies", b * classes.biopsies),
        ("age_menarche", m * classes.menarche),
        ("age_first_birth", f * classes.first_birth),
        ("first_degree_relatives", r * classes.relatives),
        ("atypical_hyperplasia", classes.hyperplasia.ln()),
    ];
    // The threshold is one of five years.
    let high = value >= c.of("threshold");
    let five = (until - age - USUAL_YEARS).abs() < 1e-9;
    let band = match (five, high) {
        (true, true) => ("at or above 1.67 % in 5 years", "the threshold of the prevention trials is reached"),
        (true, false) => ("below 1.67 % in 5 years", "below the threshold of the prevention trials"),
        (false, _) => ("no band for this horizon", "the usual threshold is one of 5 years"),
    };
    result.finished(value, band)
}

/// Why inputs contradict each other.
fn contradiction(
    age: f64,
    until: f64,
    biopsies: f64,
    hyperplasia: f64,
    menarche: f64,
    birth: f64,
) -> Option<&'static str> {
    let no_biopsy = biopsies == 0.0 || biopsies == 99.0;
    match () {
        () if until <= age => Some("projection_age must be above the current age"),
        () if no_biopsy && hyperplasia != 99.0 => Some("atypical_hyperplasia needs a biopsy: send biopsies, or 99"),
        () if ![0.0, 1.0, 99.0].contains(&hyperplasia) => Some("atypical_hyperplasia must be 0, 1 or 99"),
        () if menarche != 99.0 && menarche > age => Some("age_menarche must not be above the age"),
        () if birth < 98.0 && birth > age => Some("age_first_birth must not be above the age"),
        () if birth < 98.0 && menarche != 99.0 && birth < menarche => {
            Some("age_first_birth must not be below age_menarche")
        }
        () => None,
    }
}

impl Classes {
    fn of(
        c: &ModelConstants,
        race: u8,
        biopsies: f64,
        hyperplasia: f64,
        menarche: f64,
        birth: f64,
        relatives: f64,
    ) -> Self {
        let (black, hispanic, asian) = (race == 2, race == 3 || race == 5, race >= 6);
        let at_most = |n: f64, most: f64| if n == 99.0 { 0.0 } else { n.floor().min(most) };
        let mut menarche_class = match menarche {
            m if m == 99.0 || m >= 14.0 => 0.0,
            m if m >= 12.0 => 1.0,
            _ => 2.0,
        };
        if black {
            menarche_class = f64::min(menarche_class, 1.0);
        }
        if race == 3 {
            menarche_class = 0.0;
        }
        let birth_class = match birth {
            _ if black => 0.0,
            98.0 => 2.0,
            b if b == 99.0 || b < 20.0 => 0.0,
            b if b < 25.0 => 1.0,
            b if b < 30.0 && hispanic => 1.0,
            b if b < 30.0 || hispanic => 2.0,
            _ => 3.0,
        };
        let hyperplasia = match (at_most(biopsies, 2.0) > 0.0, hyperplasia) {
            (true, 1.0) => c.of("hyperplasia"),
            (true, 0.0) => c.of("no_hyperplasia"),
            _ => 1.0,
        };
        Self {
            biopsies: at_most(biopsies, if hispanic { 1.0 } else { 2.0 }),
            menarche: menarche_class,
            first_birth: birth_class,
            relatives: at_most(relatives, if hispanic || asian { 1.0 } else { 2.0 }),
            hyperplasia,
        }
    }

    /// Relative risks under 50 and from 50.
    fn relative(self, beta: &[f64; 6]) -> (f64, f64) {
        let [b, m, f, r, late, both] = *beta;
        let x = self.biopsies * b
            + self.menarche * m
            + self.first_birth * f
            + self.relatives * r
            + self.first_birth * self.relatives * both
            + self.hyperplasia.ln();
        (x.exp(), (x + self.biopsies * late).exp())
    }
}

/// Year by year: the share of the hazard that is breast cancer, among those
/// who are still free of it and alive.
fn absolute(race: &Race, classes: Classes, age: f64, until: f64) -> f64 {
    let (young, old) = classes.relative(&race.beta);
    let [ar_young, ar_old] = race.one_minus_ar;
    let (mut risk, mut hazard_so_far) = (0.0, 0.0);
    let mut from = age;
    while from < until {
        let year = from.floor();
        let to = (year + 1.0).min(until);
        let group = ((year - 20.0) / 5.0).clamp(0.0, 13.0);
        let at = |rates: &[f64; 14]| {
            rates.iter().enumerate().find(|(i, _)| *i as f64 == group.floor()).map_or(0.0, |r| *r.1)
        };
        let scale = if year < 50.0 { ar_young * young } else { ar_old * old };
        let cancer = at(&race.lambda1) * scale;
        let hazard = cancer + at(&race.lambda2);
        let span = to - from;
        risk += cancer / hazard * f64::exp(-hazard_so_far) * -(-hazard * span).exp_m1();
        hazard_so_far += hazard * span;
        from = to;
    }
    100.0 * risk
}
