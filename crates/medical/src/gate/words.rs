//! Lists of words, and their forms.

use crate::text::sentences;

/// The text without characters that have no shape, which would hide words.
pub(super) fn visible(text: &str) -> String {
    let hidden = |c: char| {
        matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e007f}')
            || (c.is_control() && c != '\n' && c != '\t')
    };
    text.chars().filter(|c| !hidden(*c)).collect()
}

/// Whether a text has a fitting length, no address and no markup.
pub(super) fn well_formed(text: &str, most: usize) -> bool {
    let lower = text.to_lowercase();
    let foreign = ["http:", "https:", "www.", "mailto:", "<", ">", "```", "](", "|", "\\", "{", "}"];
    !text.trim().is_empty() && text.chars().count() <= most && !foreign.iter().any(|mark| lower.contains(mark))
}

/// The numbers in a word: `500` of `500mg`.
pub(super) fn numbers(word: &str) -> impl Iterator<Item = String> + '_ {
    let runs = word.split(|c: char| !c.is_ascii_digit() && c != '.');
    runs.map(|run| run.trim_matches('.')).filter(|run| !run.is_empty()).map(plain_number)
}

/// `12.0` and `012` are 12.
fn plain_number(number: &str) -> String {
    number.parse::<f64>().map_or_else(|_| number.to_owned(), |value| value.to_string())
}

/// All words of a text in a row, with blanks around.
pub(super) fn row_of(text: &str) -> String {
    let words: Vec<String> = sentences(text).into_iter().flat_map(|s| s.tokens).map(|token| token.word).collect();
    format!(" {} ", words.join(" "))
}

/// A word without the endings of its forms: "symptoms" and "symptom" are one.
pub(super) fn stem(word: &str) -> String {
    for ending in ["ing", "edly", "ed", "ies", "es", "ly", "s", "e", "y"] {
        if let Some(rest) = word.strip_suffix(ending)
            && !(ending == "s" && rest.ends_with('s'))
            && rest.chars().count() >= 4
        {
            return rest.to_owned();
        }
    }
    word.to_owned()
}

/// Units that make a number a dose.
pub(super) const DOSE_UNITS: &[&str] = &[
    "mg", "mcg", "ug", "µg", "μg", "g", "gram", "grams", "milligram", "milligrams", "microgram", "micrograms", "kg",
    "ml", "millilitre", "millilitres", "milliliter", "milliliters", "cl", "l", "litre", "litres", "iu", "unit", "units",
    "tablet", "tablets", "capsule", "capsules", "pill", "pills", "puff", "puffs", "drop", "drops", "spoon", "spoons",
    "teaspoon", "teaspoons", "tablespoon", "tablespoons", "ampoule", "ampoules", "sachet", "sachets", "dose", "doses",
    "injection", "injections", "patch", "patches", "mmol", "mg/kg",
];

pub(super) const NUMBER_WORDS: &[(&str, &str)] = &[
    ("two", "2"), ("three", "3"), ("four", "4"), ("five", "5"), ("six", "6"), ("seven", "7"), ("eight", "8"),
    ("nine", "9"), ("ten", "10"), ("eleven", "11"), ("twelve", "12"), ("fifteen", "15"), ("twenty", "20"),
    ("thirty", "30"), ("forty", "40"), ("fifty", "50"), ("sixty", "60"), ("ninety", "90"), ("hundred", "100"),
    ("thousand", "1000"), ("half", "0.5"), ("once", "1"), ("twice", "2"), ("double", "2"), ("dozen", "12"),
];

/// Whether a word looks like the name of a drug: by its ending (the stems of
/// the WHO's international nonproprietary names) or as one of the commonest.
pub(super) fn is_drug_like(word: &str) -> bool {
    const STEMS: &[&str] = &[
        "cillin", "mycin", "micin", "floxacin", "cycline", "oxacin", "sulfa", "pril", "prilat", "sartan", "olol", "dipine",
        "statin", "fibrate", "azole", "prazole", "tidine", "xaban", "gatran", "parin", "caine", "azepam", "azolam", "zodone",
        "profen", "fenac", "oxicam", "coxib", "mab", "tinib", "ciclib", "gliptin", "gliflozin", "glutide", "formin",
        "thiazide", "semide", "triptan", "setron", "sone", "solone", "nisone", "terol", "tropium", "vir", "vudine",
        "barbital", "oxetine", "traline", "triptyline", "pramine", "apine", "idone", "peridol", "azine", "codone",
        "morphone", "fentanil", "fentanyl", "nitrate", "amine", "amide", "dronate", "platin", "rubicin", "taxel", "stim",
    ];
    const NAMES: &[&str] = &[
        "paracetamol", "acetaminophen", "aspirin", "ibuprofen", "naproxen", "morphine", "codeine", "tramadol", "oxycodone",
        "insulin", "warfarin", "heparin", "adrenaline", "epinephrine", "salbutamol", "albuterol", "digoxin", "amiodarone",
        "lithium", "antibiotic", "antibiotics", "steroid", "steroids", "opioid", "opioids", "nitroglycerin", "levothyroxine",
        "tylenol", "advil", "cannabis", "alcohol", "vaccine", "melatonin", "magnesium", "iron", "vitamin", "laxative",
        "antihistamine", "antihistamines", "painkiller", "painkillers", "medication", "medications", "pill", "drug", "drugs",
    ];
    NAMES.contains(&word) || (word.chars().count() >= 6 && STEMS.iter().any(|stem| word.ends_with(stem)))
}

/// Plain words, which state nothing clinical of their own. No denial, no level
/// of care, no word that could reassure.
pub(super) const PLAIN: &[&str] = &[
    "a", "an", "the", "and", "or", "but", "if", "then", "than", "that", "this", "these", "those", "there", "here", "it",
    "its", "is", "are", "was", "were", "be", "been", "being", "am", "has", "have", "had", "having", "do", "does", "did",
    "done", "can", "could", "may", "might", "must", "should", "will", "would", "shall", "i", "we", "you", "he", "she",
    "they", "them", "him", "her", "his", "their", "your", "our", "us", "who", "whom", "whose", "which", "what", "when",
    "where", "why", "how", "of", "in", "on", "at", "to", "from", "for", "with", "by", "about", "as", "into", "onto", "over",
    "under", "between", "among", "through", "during", "before", "after", "until", "while", "since", "because", "so",
    "also", "too", "both", "either", "each", "every", "any", "all", "some", "such", "same", "other", "another", "more",
    "most", "many", "much", "less", "least", "one", "first", "second", "next", "last", "again", "still", "already", "even",
    "very", "well", "now", "soon", "later", "together", "therefore", "thus", "however", "although", "though", "whether",
    "said", "say", "says", "mention", "mentions", "mentioned", "describe", "describes", "described", "report", "reports",
    "reported", "write", "wrote", "message", "mean", "means", "meant", "fit", "fits", "fitting", "match", "matches",
    "point", "points", "suggest", "suggests", "suggested", "consider", "considered", "considering", "consideration",
    "possible", "possibility", "understood", "understand", "explain", "explains", "explanation", "reason", "reasons",
    "change", "changes", "include", "includes", "including", "relate", "related", "associated", "apply", "applies",
    "recommend", "recommends", "recommended", "advise", "advises", "advised", "advice", "guideline", "guidelines",
    "guidance", "source", "sources", "according", "step", "steps", "follow", "follows", "following", "begin", "begins",
    "start", "starts", "use", "used", "uses", "make", "makes", "made", "take", "takes", "taken", "give", "given", "gives",
    "get", "gets", "go", "goes", "come", "comes", "need", "needs", "needed", "want", "ask", "asks", "asked", "tell", "tells",
    "told", "know", "known", "help", "helps", "important", "matter", "matters", "look", "looks", "looked", "like", "way",
    "thing", "things", "part", "parts", "kind", "case", "cases", "time", "times", "person", "people", "patient", "together",
    "further", "above", "below", "based", "above", "own", "up", "out", "off", "down", "per", "within", "being", "find",
    "finds", "found", "seem", "seems", "appear", "appears", "show", "shows", "shown", "keep", "keeps", "note", "notes",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_inside_words_and_in_one_form() {
        assert_eq!(numbers("500mg").collect::<Vec<_>>(), ["500"]);
        assert_eq!(numbers("12.0").collect::<Vec<_>>(), ["12"]);
        assert_eq!(numbers("b12").collect::<Vec<_>>(), ["12"]);
        assert_eq!(numbers("mg").count(), 0);
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for (one, other) in [("symptom", "symptoms"), ("hearing", "hears"), ("sudden", "suddenly"), ("assess", "assessed")] {
            assert_eq!(stem(one), stem(other), "{one} {other}");
        }
        assert_eq!(stem("loss"), "loss");
    }

    #[test]
    fn no_plain_word_denies_reassures_or_is_a_drug() {
        for word in PLAIN {
            assert!(!is_drug_like(word), "{word}");
            assert!(!["no", "not", "fine", "safe", "mild", "normal", "home", "hospital"].contains(word), "{word}");
        }
    }
}
