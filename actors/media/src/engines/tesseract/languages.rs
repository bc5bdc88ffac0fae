//! Which of Tesseract's language data reads a page.

/// Languages of a script that are read together at most: each adds its time.
const TOGETHER: usize = 2;
/// Read with every language of another script: names, units and quotations in Latin letters stand in all of them, and
/// would come out as nonsense in the letters of the script.
const LATIN: &str = "eng";

/// Tesseract's names of data by script, as its detection of scripts names them. The commonest language first.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("Arabic", &["ara", "fas", "urd", "pus", "uig", "snd"]),
    ("Armenian", &["hye"]),
    ("Bengali", &["ben", "asm"]),
    (
        "Cyrillic",
        &["rus", "ukr", "bul", "srp", "bel", "mkd", "kaz", "kir", "mon", "tgk", "tat", "uzb_cyrl", "aze_cyrl"],
    ),
    ("Devanagari", &["hin", "mar", "nep", "san"]),
    ("Ethiopic", &["amh", "tir"]),
    ("Georgian", &["kat"]),
    ("Greek", &["ell", "grc"]),
    ("Gujarati", &["guj"]),
    ("Gurmukhi", &["pan"]),
    ("Han", &["chi_sim", "chi_tra"]),
    ("Hangul", &["kor"]),
    ("Hebrew", &["heb", "yid"]),
    ("Japanese", &["jpn"]),
    ("Kannada", &["kan"]),
    ("Khmer", &["khm"]),
    ("Korean", &["kor"]),
    ("Lao", &["lao"]),
    ("Malayalam", &["mal"]),
    ("Myanmar", &["mya"]),
    ("Oriya", &["ori"]),
    ("Sinhala", &["sin"]),
    ("Syriac", &["syr"]),
    ("Tamil", &["tam"]),
    ("Telugu", &["tel"]),
    ("Thaana", &["div"]),
    ("Thai", &["tha"]),
    ("Tibetan", &["bod", "dzo"]),
];

/// Languages of two letters whose data has another name than its script's first.
const CODES: &[(&str, &str)] = &[
    ("af", "afr"),
    ("am", "amh"),
    ("ar", "ara"),
    ("az", "aze"),
    ("be", "bel"),
    ("bg", "bul"),
    ("bn", "ben"),
    ("bs", "bos"),
    ("ca", "cat"),
    ("cs", "ces"),
    ("cy", "cym"),
    ("da", "dan"),
    ("de", "deu"),
    ("el", "ell"),
    ("en", "eng"),
    ("eo", "epo"),
    ("es", "spa"),
    ("et", "est"),
    ("eu", "eus"),
    ("fa", "fas"),
    ("fi", "fin"),
    ("fr", "fra"),
    ("ga", "gle"),
    ("gl", "glg"),
    ("gu", "guj"),
    ("he", "heb"),
    ("hi", "hin"),
    ("hr", "hrv"),
    ("ht", "hat"),
    ("hu", "hun"),
    ("hy", "hye"),
    ("id", "ind"),
    ("is", "isl"),
    ("it", "ita"),
    ("ja", "jpn"),
    ("jv", "jav"),
    ("ka", "kat"),
    ("kk", "kaz"),
    ("km", "khm"),
    ("kn", "kan"),
    ("ko", "kor"),
    ("ku", "kmr"),
    ("ky", "kir"),
    ("la", "lat"),
    ("lb", "ltz"),
    ("lo", "lao"),
    ("lt", "lit"),
    ("lv", "lav"),
    ("mi", "mri"),
    ("mk", "mkd"),
    ("ml", "mal"),
    ("mn", "mon"),
    ("mr", "mar"),
    ("ms", "msa"),
    ("mt", "mlt"),
    ("my", "mya"),
    ("ne", "nep"),
    ("nl", "nld"),
    ("no", "nor"),
    ("pa", "pan"),
    ("pl", "pol"),
    ("ps", "pus"),
    ("pt", "por"),
    ("ro", "ron"),
    ("ru", "rus"),
    ("si", "sin"),
    ("sk", "slk"),
    ("sl", "slv"),
    ("sq", "sqi"),
    ("sr", "srp"),
    ("sv", "swe"),
    ("sw", "swa"),
    ("ta", "tam"),
    ("te", "tel"),
    ("tg", "tgk"),
    ("th", "tha"),
    ("tl", "tgl"),
    ("tr", "tur"),
    ("uk", "ukr"),
    ("ur", "urd"),
    ("uz", "uzb"),
    ("vi", "vie"),
    ("yi", "yid"),
    ("yo", "yor"),
    ("zh", "chi_sim"),
];

/// What is read with, or what is missing.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// Names of data, the most probable first.
    Data(Vec<String>),
    /// The name of data that would be needed; `None` if it is not known which.
    Missing(Option<&'static str>),
}

/// Chooses among the installed data by the script of the page and the language that the client expects, if known.
pub(super) fn choose(installed: &[String], script: Option<&str>, language: Option<&str>) -> Choice {
    let has = |name: &str| installed.iter().any(|other| other == name);
    let with_latin = |mut names: Vec<String>| {
        if has(LATIN) {
            names.push(LATIN.to_owned());
        }
        Choice::Data(names)
    };
    let expected = language.and_then(|code| CODES.iter().find(|(other, _)| *other == code)).map(|(_, name)| *name);
    let of_script = script.and_then(|script| SCRIPTS.iter().find(|(name, _)| *name == script));
    match of_script {
        Some((script, names)) => {
            // The detected script counts for more than what the client expects.
            if let Some(expected) = expected.filter(|name| names.contains(name) && has(name)) {
                return with_latin(vec![expected.to_owned()]);
            }
            // Data of a whole script knows Latin letters too.
            if let Some(whole) = installed.iter().find(|name| name.strip_prefix("script/") == Some(script)) {
                return Choice::Data(vec![whole.clone()]);
            }
            let single = names.iter().filter(|name| has(name)).map(|name| (*name).to_owned());
            let data: Vec<String> = single.take(TOGETHER).collect();
            let missing = expected.filter(|name| names.contains(name)).or_else(|| names.first().copied());
            if data.is_empty() { Choice::Missing(missing) } else { with_latin(data) }
        }
        None => match expected {
            Some(name) if has(name) => Choice::Data(vec![name.to_owned()]),
            Some(name) => Choice::Missing(Some(name)),
            None => Choice::Missing(None),
        },
    }
}

/// Finds the script in the output of Tesseract's detection of orientation and script.
pub(super) fn script(output: &str) -> Option<&str> {
    output.lines().find_map(|line| line.strip_prefix("Script:")).map(str::trim).filter(|script| !script.is_empty())
}
