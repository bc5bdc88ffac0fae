//! Messages about names that are not known, with the nearest known one.

#![warn(missing_docs)]

/// Least similarity, 0 to 1, of a name that is suggested.
const SIMILAR: f64 = 0.75;
/// Longest name that is compared, in characters.
const COMPARED: usize = 64;
/// Most known names that are listed where none is similar.
const LISTED: usize = 24;

/// Returns the known name that is most similar to `name`, if one is similar enough to be meant.
#[must_use]
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    let name: String = name.chars().take(COMPARED).flat_map(char::to_lowercase).collect();
    let scored = known.iter().map(|known| (similarity(&name, known), *known)).filter(|(score, _)| *score >= SIMILAR);
    scored.max_by(|(one, _), (other, _)| one.total_cmp(other)).map(|(_, known)| known)
}

/// Similarity of two names, 0 to 1: of the whole, of one that is a word of the other (`ttl` and `ttl_seconds`), or of
/// one that abbreviates the other word by word (`r_m` and `radius_m`).
fn similarity(name: &str, known: &str) -> f64 {
    let known = known.to_lowercase();
    let edited = strsim::normalized_damerau_levenshtein(name, &known);
    // One slip in a short name, such as `nwo`, is a large part of it.
    let slip = name.len() > 2 && known.len() > 2 && strsim::damerau_levenshtein(name, &known) == 1;
    let whole = edited.max(strsim::jaro_winkler(name, &known) * 0.92).max(if slip { SIMILAR } else { 0.0 });
    let words = |text: &str| text.split(['_', '-', '.', ' ']).map(str::to_owned).collect::<Vec<_>>();
    let (sent, named) = (words(name), words(&known));
    let has = |words: &[String], wanted: &str| {
        let is_like = |word: &String| word.len() > 2 && strsim::normalized_damerau_levenshtein(word, wanted) >= 0.8;
        words.iter().any(|word| word.len() > 1 && word == wanted || is_like(word))
    };
    let is_word = match (sent.as_slice(), named.as_slice()) {
        ([one], several) if several.len() > 1 => has(several, one),
        (several, [one]) if several.len() > 1 => has(several, one),
        _ => false,
    };
    let begins =
        |(one, other): (&String, &String)| !one.is_empty() && (one.starts_with(&**other) || other.starts_with(&**one));
    let abbreviates = sent.len() > 1 && sent.len() == named.len() && sent.iter().zip(&named).all(begins);
    if is_word || abbreviates { whole.max(0.8) } else { whole }
}

/// Returns the message about an unknown name: the nearest known one, else the known ones.
///
/// ```
/// let message = muster_names::unknown("field", "gruops", &["groups", "retries"]);
/// assert_eq!(message, "unknown field `gruops`: did you mean `groups`?");
/// let message = muster_names::unknown("field", "x", &["groups", "retries"]);
/// assert_eq!(message, "unknown field `x`: known are `groups` and `retries`");
/// ```
#[must_use]
pub fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let sent = shortened(name);
    match nearest(name, known) {
        Some(known) => format!("unknown {what} `{sent}`: did you mean `{known}`?"),
        None => format!("unknown {what} `{sent}`: {}", listed(known)),
    }
}

/// Returns a name as it is sent back: its first characters.
#[must_use]
pub fn shortened(name: &str) -> String {
    let mut text: String = name.chars().take(COMPARED).collect();
    if text.len() < name.len() {
        text.push('…');
    }
    text
}

fn listed(known: &[&str]) -> String {
    let quoted: Vec<String> = known.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => "none is known here".to_owned(),
        Some((only, [])) => format!("only {only} is known"),
        Some((_, _)) if known.len() > LISTED => {
            format!("known are {} and {} more", quoted.join(", "), known.len() - LISTED)
        }
        Some((last, before)) => format!("known are {} and {last}", before.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let query = ["state", "kind", "min_severity", "bbox", "since", "tag", "limit", "cursor"];
        let entry = ["key", "value", "tags", "ttl_seconds", "namespace", "thread", "importance", "language"];
        for (name, known, meant) in [
            ("sevrity", &query[..], "min_severity"),
            ("severity", &query, "min_severity"),
            ("states", &query, "state"),
            ("Limit", &query, "limit"),
            ("curser", &query, "cursor"),
            ("ttl", &entry, "ttl_seconds"),
            ("vlaue", &entry, "value"),
            ("name_space", &entry, "namespace"),
            ("nwo", &["reason", "now", "if_seq"], "now"),
            ("ip", &["user_agent", "ip_address"], "ip_address"),
            ("radius", &["center", "radius_m"], "radius_m"),
            ("radius_m", &["lon", "lat", "r_m", "limit"], "r_m"),
            ("document_ref", &["doc_ref", "reference"], "doc_ref"),
            ("gruops", &["groups", "rate", "abort"], "groups"),
        ] {
            assert_eq!(nearest(name, known), Some(meant), "{name}");
        }
        for name in ["x", "colour", "zz_not_a_field", ""] {
            assert_eq!(nearest(name, &query), None, "{name}");
        }
    }

    #[test]
    fn known_names_are_listed_where_none_is_near() {
        assert_eq!(unknown("field", "x", &[]), "unknown field `x`: none is known here");
        assert_eq!(unknown("field", "x", &["note"]), "unknown field `x`: only `note` is known");
        let many: Vec<String> = (0..30).map(|n| format!("member{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(unknown("field", "x", &many).ends_with("`member23` and 6 more"));
        let long = "x".repeat(1000);
        assert!(unknown("field", &long, &["note"]).len() < 120);
    }
}
