//! One entry to what it says. Each reader looks for its own words; an entry
//! may say several things.

use super::RiskFactors;
use super::cancers::{family, own_cancer};
use super::smoking::smoking;
use super::words::Words;

/// Reads one entry.
pub fn entry(f: &mut RiskFactors, text: &str) {
    let w = Words::of(text);
    smoking(f, &w, text);
    body(f, &w, text);
    family(f, &w, text);
    own_cancer(f, &w, text);
    reproductive(f, &w, text);
    education(f, &w, text);
    race(f, &w, text);
    nodule(f, &w, text);
    clinician_scores(f, &w, text);
}

fn body(f: &mut RiskFactors, w: &Words, text: &str) {
    if let Some(n) = w.find(&["bmi"]).and_then(|at| w.number_after(at, 3, 10.0, 80.0)) {
        f.bmi = Some(n);
        f.note("bmi", n, text);
    }
    let bronchitis = w.row(&["chronic", "bronchitis"]);
    if let Some(at) = w.find(&["copd", "emphysema"]).or(bronchitis) {
        let present = !w.denied(at);
        f.copd = Some(present);
        f.note("copd", present, text);
    }
    if let Some(at) = w.find(&["emphysema"]) {
        f.emphysema = Some(!w.denied(at));
        f.note("emphysema", !w.denied(at), text);
    }
    if let Some(at) = w.find(&["asbestos"])
        && !w.denied(at)
    {
        f.asbestos = true;
        f.note("asbestos", true, text);
    }
}

fn reproductive(f: &mut RiskFactors, w: &Words, text: &str) {
    let period = w.row(&["first", "period"]).or_else(|| w.row(&["periods", "started"]));
    if let Some(n) = w.find(&["menarche"]).or(period).and_then(|at| w.number_after(at, 5, 5.0, 25.0)) {
        f.menarche = Some(n);
        f.note("menarche", n, text);
    }
    let birth = [&["first", "birth"][..], &["first", "child"], &["first", "live", "birth"], &["first", "baby"]];
    if let Some(n) = birth.iter().find_map(|row| w.row(row)).and_then(|at| w.number_after(at, 6, 8.0, 60.0)) {
        f.first_birth = Some(n);
        f.note("firstBirth", n, text);
    }
    let none =
        [&["no", "children"][..], &["no", "live", "births"], &["no", "births"], &["never", "pregnant"], &["childless"]];
    let nulliparous = (0..w.len()).any(|i| w.at(i).starts_with("nullipar") || w.at(i).starts_with("nulligravid"));
    if nulliparous || none.iter().any(|row| w.row(row).is_some()) {
        f.first_birth = Some(98.0);
        f.note("firstBirth", "none", text);
    }
    biopsy(f, w, text);
    let menopause = (0..w.len()).find(|&i| w.at(i).starts_with("postmenopaus") || w.at(i).starts_with("premenopaus"));
    let menopause = menopause.or_else(|| w.row(&["post", "menopausal"])).or_else(|| w.row(&["pre", "menopausal"]));
    if let Some(at) = menopause {
        let after = w.at(at).starts_with("post");
        f.postmenopausal = Some(after);
        f.note("postmenopausal", after, text);
    }
}

fn biopsy(f: &mut RiskFactors, w: &Words, text: &str) {
    let at = (0..w.len()).find(|&i| w.at(i).starts_with("biops"));
    // A biopsy of another organ is not one of the breast.
    let elsewhere = w.has(&["skin", "lung", "liver", "prostate", "kidney", "bowel", "colon", "cervix", "cervical"]);
    if let Some(at) = at.filter(|_| !elsewhere) {
        let count = if w.denied(at) {
            Some(0.0)
        } else {
            w.number_before(at, 0.0, 50.0).or_else(|| w.number_after(at, 2, 0.0, 50.0))
        };
        let count = count.unwrap_or(1.0).floor();
        f.biopsies = Some(count);
        f.note("biopsies", count, text);
    }
    if let Some(at) = w.row(&["atypical", "hyperplasia"]) {
        let present = !w.denied(at);
        f.hyperplasia = Some(present);
        f.note("atypicalHyperplasia", present, text);
    }
}

fn education(f: &mut RiskFactors, w: &Words, text: &str) {
    let said = w.find(&["education"]).and_then(|at| w.number_after(at, 2, 1.0, 6.0)).filter(|n| n.fract() == 0.0);
    let level = said.or_else(|| {
        let row = |words: &[&str]| w.row(words).is_some();
        Some(match () {
            () if row(&["less", "than", "high", "school"]) || row(&["no", "high", "school"]) => 1.0,
            () if w.has(&["postgraduate", "phd", "doctorate", "masters"]) || row(&["graduate", "school"]) => 6.0,
            () if row(&["some", "college"]) || row(&["some", "university"]) => 4.0,
            () if w.has(&["bachelor", "bachelors"])
                || row(&["college", "graduate"])
                || row(&["university", "degree"]) =>
            {
                5.0
            }
            () if row(&["after", "high", "school"]) || row(&["vocational", "training"]) => 3.0,
            () if row(&["high", "school"]) => 2.0,
            () => return None,
        })
    });
    if let Some(n) = level {
        f.education_level = Some(n);
        f.note("educationLevel", n, text);
    }
}

/// Words of race, the word of the lung model and the code of the breast model.
/// A code is given only where the word settles it.
const RACES: &[(&[&str], Option<&str>, Option<f64>)] = &[
    (&["us", "born", "hispanic"], Some("hispanic"), Some(3.0)),
    (&["foreign", "born", "hispanic"], Some("hispanic"), Some(5.0)),
    (&["african", "american"], Some("black"), Some(2.0)),
    (&["american", "indian"], Some("american indian or alaskan native"), Some(4.0)),
    (&["native", "american"], Some("american indian or alaskan native"), Some(4.0)),
    (&["alaska", "native"], Some("american indian or alaskan native"), Some(4.0)),
    (&["native", "hawaiian"], Some("pacific"), Some(9.0)),
    (&["pacific", "islander"], Some("pacific"), Some(10.0)),
    (&["hawaiian"], Some("pacific"), Some(9.0)),
    (&["chinese"], Some("asian"), Some(6.0)),
    (&["japanese"], Some("asian"), Some(7.0)),
    (&["filipino"], Some("asian"), Some(8.0)),
    (&["filipina"], Some("asian"), Some(8.0)),
    (&["asian"], Some("asian"), Some(11.0)),
    (&["hispanic"], Some("hispanic"), None),
    (&["latina"], Some("hispanic"), None),
    (&["latino"], Some("hispanic"), None),
    (&["caucasian"], Some("white"), Some(1.0)),
    (&["white"], Some("white"), Some(1.0)),
    (&["black"], Some("black"), Some(2.0)),
];

/// Only where the entry is about race: "white patch" is not.
fn race(f: &mut RiskFactors, w: &Words, text: &str) {
    let named = (0..w.len()).any(|i| matches!(w.at(i), "race" | "ethnicity" | "ethnic"));
    let short = w.len() <= 3 && (0..w.len()).all(|i| w.number(i).is_none());
    if !named && !short {
        return;
    }
    let Some((words, lung, code)) = RACES.iter().find(|(words, _, _)| w.row(words).is_some()) else { return };
    let other = !named
        && (0..w.len()).any(|i| {
            let known =
                words.contains(&w.at(i)) || matches!(w.at(i), "british" | "woman" | "man" | "female" | "male" | "non");
            !known
        });
    if other {
        return;
    }
    f.race = lung.or(f.race);
    f.race_code = code.or(f.race_code);
    f.note("race", words.join(" "), text);
}

/// What a radiologist says of a lung nodule.
fn nodule(f: &mut RiskFactors, w: &Words, text: &str) {
    let at = (0..w.len()).find(|&i| w.at(i).starts_with("nodule"));
    let Some(at) = at.filter(|_| !w.has(&["thyroid", "breast", "skin", "neck", "liver"])) else { return };
    let size = (0..w.len()).find_map(|i| {
        let n = w.number(i)?;
        let unit = if w.unit(i).is_empty() { w.at(i + 1) } else { w.unit(i) };
        match unit {
            "mm" | "millimetres" | "millimeters" => Some(n),
            "cm" | "centimetres" | "centimeters" => Some(n * 10.0),
            _ => None,
        }
    });
    if let Some(n) = size.filter(|n| (0.1..=200.0).contains(n)) {
        f.nodule_mm = Some(n);
        f.note("noduleMm", n, text);
    }
    let count = w.number_before(at, 1.0, 100.0).filter(|n| n.fract() == 0.0 && Some(*n) != size);
    let count = count.or_else(|| w.has(&["solitary", "single"]).then_some(1.0));
    if let Some(n) = count {
        f.nodule_count = Some(n);
        f.note("noduleCount", n, text);
    }
    let row = |words: &[&str]| w.row(words).is_some();
    let kind = if row(&["ground", "glass"]) || w.has(&["nonsolid"]) || row(&["non", "solid"]) {
        Some("nonsolid")
    } else if row(&["part", "solid"]) || w.has(&["subsolid"]) {
        Some("part-solid")
    } else {
        w.has(&["solid"]).then_some("solid")
    };
    if let Some(kind) = kind {
        f.nodule_type = Some(kind);
        f.note("noduleType", kind, text);
    }
    if let Some(lobe) = w.find(&["lobe"]) {
        let upper = lobe > 0 && w.at(lobe - 1) == "upper";
        f.upper_lobe = Some(upper);
        f.note("upperLobe", upper, text);
    }
    if let Some(at) = (0..w.len()).find(|&i| w.at(i).starts_with("spiculat")) {
        f.spiculated = Some(!w.denied(at));
        f.note("spiculated", !w.denied(at), text);
    } else if w.has(&["smooth"]) {
        f.spiculated = Some(false);
        f.note("spiculated", false, text);
    }
}

/// "ultrasound features 2", "dermoscopy A2 B4 C3 D2".
fn clinician_scores(f: &mut RiskFactors, w: &Words, text: &str) {
    let ultrasound = w.row(&["ultrasound", "features"]).or_else(|| w.row(&["ultrasound", "score"]));
    if let Some(n) = ultrasound.and_then(|at| w.number_after(at + 1, 2, 0.0, 5.0)) {
        f.ultrasound_features = Some(n);
        f.note("ultrasoundFeatures", n, text);
    }
    if !w.has(&["dermoscopy", "abcd"]) {
        return;
    }
    let fields = ["dermoscopyA", "dermoscopyB", "dermoscopyC", "dermoscopyD"];
    for ((letter, slot), field) in ["a", "b", "c", "d"].into_iter().zip(0..).zip(fields) {
        let glued = (0..w.len()).find_map(|i| w.at(i).strip_prefix(letter)?.parse::<f64>().ok());
        let apart = || w.find(&[letter]).and_then(|at| w.number_after(at, 1, 0.0, 8.0));
        let value = glued.or_else(apart).filter(|n| (0.0..=8.0).contains(n));
        if let (Some(n), Some(place)) = (value, f.dermoscopy.get_mut(slot)) {
            *place = Some(n);
            f.note(field, n, text);
        }
    }
}
