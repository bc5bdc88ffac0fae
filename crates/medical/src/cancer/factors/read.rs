//! One entry to what it says. Each reader looks for its own words; an entry
//! may say several things.

use super::RiskFactors;
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

fn year(word: &str) -> bool {
    matches!(word, "year" | "years" | "yr" | "yrs" | "y")
}

fn smoking(f: &mut RiskFactors, w: &Words, text: &str) {
    let smoke = (0..w.len()).find(|&i| {
        let word = w.at(i);
        word.starts_with("smok") || word.starts_with("cigarette") || word.starts_with("tobacco") || word == "cigs"
    });
    let non = w.row(&["non", "smoker"]).is_some() || w.has(&["nonsmoker"]);
    if non || smoke.is_some_and(|at| w.denied(at) && !w.has(&["quit", "stopped", "longer", "anymore"])) {
        f.never_smoked = true;
        f.note("neverSmoked", true, text);
        return;
    }
    let amount = amount(f, w, text);
    let packs = pack_years(f, w, text);
    let stopped = quit(f, w, smoke.is_some() || amount || packs, text);
    let concerned = smoke.is_some() || amount || packs || stopped;
    if !concerned {
        return;
    }
    duration(f, w, text);
    let now = (0..w.len()).any(|i| matches!(w.at(i), "smoker" | "smokes" | "smoking" | "current" | "currently"));
    if now && !stopped && !w.has(&["ex", "former", "formerly", "previous", "past", "smoked", "history"]) {
        f.current_smoker = Some(true);
        f.note("currentSmoker", true, text);
    } else if smoke.is_some() && f.ever_smoked().is_none() {
        f.note("everSmoked", true, text);
        f.current_smoker = w.has(&["ex", "former", "formerly"]).then_some(false).or(f.current_smoker);
    }
}

/// "20/day", "20 a day", "20 cigarettes daily", "1.5 packs a day".
fn amount(f: &mut RiskFactors, w: &Words, text: &str) -> bool {
    for at in 0..w.len() {
        let Some(n) = w.number(at) else { continue };
        let mut next = at + 1;
        let pack = matches!(w.at(next), "pack" | "packs" | "packet" | "packets");
        let cigarettes = matches!(w.at(next), "cigarettes" | "cigarette" | "cigs" | "cpd");
        if pack || cigarettes {
            next += 1;
        }
        if w.at(next) == "of" {
            next += 2;
        }
        let daily = w.at(next) == "daily"
            || w.at(at + 1) == "cpd"
            || (w.at(next) == "day" && w.after_slash(next))
            || (matches!(w.at(next), "a" | "per" | "each" | "every") && w.at(next + 1) == "day");
        let n = if pack { n * 20.0 } else { n };
        if daily && n > 0.0 && n <= 200.0 {
            f.cigarettes_per_day = Some(n);
            f.note("cigarettesPerDay", n, text);
            return true;
        }
    }
    false
}

/// "30 pack years", "30 pack-years": says nothing of the amount a day.
fn pack_years(f: &mut RiskFactors, w: &Words, text: &str) -> bool {
    let found = (0..w.len()).find_map(|at| {
        let n = w.number(at)?;
        let named = (matches!(w.at(at + 1), "pack" | "packs") && year(w.at(at + 2)))
            || matches!(w.at(at + 1), "packyears" | "packyear" | "py");
        (named && (0.0..=400.0).contains(&n)).then_some(n)
    });
    if let Some(n) = found {
        f.said_pack_years = Some(n);
        f.note("packYears", n, text);
    }
    found.is_some()
}

/// "quit 10 years ago", "stopped smoking 5 years ago", "ex-smoker of 3 years".
fn quit(f: &mut RiskFactors, w: &Words, about_smoking: bool, text: &str) -> bool {
    let Some(at) = w.find(&["quit", "stopped", "gave", "ex", "former"]) else { return false };
    let strong = w.at(at) == "quit";
    if !strong && !about_smoking {
        return false;
    }
    f.current_smoker = Some(false);
    f.note("currentSmoker", false, text);
    let years = (at + 1..w.len()).find_map(|i| {
        let n = w.number(i)?;
        let ago = w.at(i + 2) == "ago" || w.at(i + 2) == "since" || matches!(w.at(i - 1), "for" | "since");
        if !ago {
            return None;
        }
        if year(w.at(i + 1)) {
            Some(n)
        } else if matches!(w.at(i + 1), "month" | "months") {
            Some(n / 12.0)
        } else {
            None
        }
    });
    if let Some(n) = years.filter(|n| (0.0..=110.0).contains(n)) {
        f.years_quit = Some(n);
        f.note("yearsQuit", n, text);
    }
    true
}

/// "for 30 years", "30 years of smoking", "30 years history of smoking".
fn duration(f: &mut RiskFactors, w: &Words, text: &str) {
    let found = (0..w.len()).find_map(|at| {
        let n = w.number(at)?;
        let before = if at == 0 { "" } else { w.at(at - 1) };
        let said = before == "for" || matches!(w.at(at + 2), "of" | "history") || w.at(at + 3) == "of";
        let since_quit = (at.saturating_sub(4)..at).any(|i| matches!(w.at(i), "quit" | "stopped"));
        (year(w.at(at + 1)) && said && !since_quit && w.at(at + 2) != "ago" && (0.0..=110.0).contains(&n)).then_some(n)
    });
    if let Some(n) = found {
        f.years_smoked = Some(n);
        f.note("yearsSmoked", n, text);
    }
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
const RELATIVES: [&str; 20] = [
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
    "aunt",
    "uncle",
    "grandmother",
    "grandfather",
    "cousin",
    "niece",
];

/// Whether an entry speaks of relatives.
pub fn of_family(w: &Words) -> bool {
    w.has(&RELATIVES) || w.has(&["family", "familial", "relative", "relatives", "fhx"])
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
fn family(f: &mut RiskFactors, w: &Words, text: &str) {
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

fn own_cancer(f: &mut RiskFactors, w: &Words, text: &str) {
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
