//! Cancer in relatives and in the patient.

use super::RiskFactors;
use super::words::Words;

const FIRST_DEGREE: [&str; 8] = ["mother", "mum", "mom", "sister", "sisters", "daughter", "daughters", "mothers"];
const PARENTS_AND_SIBLINGS: [&str; 14] = [
    "mother",
    "mum",
    "mom",
    "sister",
    "sisters",
    "daughter",
    "daughters",
    "father",
    "dad",
    "brother",
    "brothers",
    "son",
    "parent",
    "sibling",
];
/// Relatives beside parents, siblings and children.
const FURTHER_RELATIVES: [&str; 6] = ["aunt", "uncle", "grandmother", "grandfather", "cousin", "niece"];

/// Whether an entry speaks of relatives.
pub fn of_family(w: &Words) -> bool {
    w.has(&PARENTS_AND_SIBLINGS)
        || w.has(&FURTHER_RELATIVES)
        || w.has(&["family", "familial", "relative", "relatives", "fhx"])
}

fn cancer_word(word: &str) -> bool {
    word.starts_with("cancer")
        || word.starts_with("carcinoma")
        || word.starts_with("tumo")
        || word.starts_with("malignan")
}

fn says_cancer(w: &Words) -> Option<usize> {
    (0..w.len()).find(|&i| cancer_word(w.at(i)))
}

/// "mother breast cancer", "two sisters with breast cancer", "no family
/// history of lung cancer".
pub fn family(f: &mut RiskFactors, w: &Words, text: &str) {
    let Some(cancer) = says_cancer(w).filter(|_| of_family(w)) else { return };
    let denied = w.denied(cancer);
    if w.has(&["breast"]) {
        let count = if denied { Some(0) } else { count_relatives(w) };
        if let Some(n) = count {
            let n = if denied { n } else { n.max(f.breast_relatives.unwrap_or(0)) };
            f.breast_relatives = Some(n);
            f.note("firstDegreeBreast", n, text);
        } else {
            f.note("familyBreast", true, text);
        }
    }
    if w.has(&["ovarian", "ovary", "ovaries"]) {
        let n = u8::from(!denied);
        f.ovarian_relatives = Some(n.max(f.ovarian_relatives.unwrap_or(0)));
        f.note("familyOvarian", n, text);
    }
    if w.has(&["lung"]) {
        let close = w.has(&PARENTS_AND_SIBLINGS) || w.has(&["family"]);
        if close || denied {
            f.family_lung = Some(!denied);
            f.note("familyLung", !denied, text);
        }
    }
    let other = !w.has(&["breast", "lung", "ovarian", "ovary", "ovaries"]);
    if other {
        f.note("familyCancer", !denied, text);
    }
}

/// First-degree female relatives; `None` where only others are named.
fn count_relatives(w: &Words) -> Option<u8> {
    let mut count = 0u8;
    for i in 0..w.len() {
        if !FIRST_DEGREE.contains(&w.at(i)) {
            continue;
        }
        let plural = matches!(w.at(i), "sisters" | "daughters");
        let said = if i == 0 { None } else { w.number(i - 1) };
        let n = match said {
            Some(n) if (1.0..=20.0).contains(&n) => n as u8,
            _ if plural => 2,
            _ => 1,
        };
        count = count.saturating_add(n).min(20);
    }
    (count > 0).then_some(count)
}

/// Cancer, variants and treatment of the patient's own.
pub fn own_cancer(f: &mut RiskFactors, w: &Words, text: &str) {
    if let Some(at) = (0..w.len()).find(|&i| w.at(i).starts_with("brca"))
        && !w.denied(at)
        && !w.has(&["negative"])
    {
        f.brca = true;
        f.note("brca", true, text);
    }
    let in_situ = w.find(&["dcis", "lcis"]);
    if let Some(at) = in_situ.filter(|&at| !w.denied(at) && !of_family(w)) {
        f.personal_breast = true;
        f.note(if w.at(at) == "dcis" { "dcis" } else { "lcis" }, true, text);
    }
    let chest = w.has(&["chest", "mantle", "thoracic"]);
    let radiation = (0..w.len()).find(|&i| w.at(i).starts_with("radiotherap") || w.at(i) == "radiation");
    if radiation.is_some_and(|at| chest && !w.denied(at)) {
        f.chest_radiotherapy = true;
        f.note("chestRadiotherapy", true, text);
    }
    let Some(cancer) = says_cancer(w).filter(|_| !of_family(w)) else { return };
    // "worried about cancer", "cancer screening" tell of no cancer.
    if w.has(&["worried", "worry", "fear", "afraid", "screening", "risk", "suspected", "possible"]) {
        return;
    }
    let present = !w.denied(cancer);
    f.personal_cancer = Some(present || f.personal_cancer == Some(true));
    f.note("personalCancer", present, text);
    if present && w.has(&["breast"]) {
        f.personal_breast = true;
        f.note("personalBreastCancer", true, text);
    }
}
