//! q183: public alert composer.

use std::collections::BTreeMap;

use muster_kernel_words::syllables::syllables;
use muster_kernel_words::tokens::{sentences, words};
use unicode_segmentation::UnicodeSegmentation;

use muster_engine::prelude::{Context, Failure, Input, Output, Words};

use crate::support::base;

/// Lengths of the messages in characters: of Wireless Emergency Alerts (47 CFR 10.430), one SMS, and ten.
const LENGTHS: [usize; 4] = [90, 160, 360, 1_380];
/// Bytes of the longest part.
const MAX_PART: usize = 10_000;
/// Abbreviations in the order in which they are used until a message fits. English.
const SHORTER: [(&str, &str); 32] = [
    ("immediately", "now"),
    ("approximately", "about"),
    ("kilometres", "km"),
    ("kilometers", "km"),
    ("metres", "m"),
    ("minutes", "min"),
    ("hours", "h"),
    ("Street", "St"),
    ("Road", "Rd"),
    ("Avenue", "Ave"),
    ("County", "Co"),
    ("Department", "Dept"),
    ("Emergency Management", "EM"),
    ("National Weather Service", "NWS"),
    ("Monday", "Mon"),
    ("Tuesday", "Tue"),
    ("Wednesday", "Wed"),
    ("Thursday", "Thu"),
    ("Friday", "Fri"),
    ("Saturday", "Sat"),
    ("Sunday", "Sun"),
    ("January", "Jan"),
    ("February", "Feb"),
    ("September", "Sep"),
    ("October", "Oct"),
    ("November", "Nov"),
    ("December", "Dec"),
    ("and", "&"),
    (" in the ", " in "),
    (" of the ", " of "),
    ("please ", ""),
    ("Please ", ""),
];

#[derive(Input)]
pub struct Input {
    hazard: String,
    location: String,
    action: String,
    time: String,
    source: String,
    severity: Severity,
    language: String,
    details: Option<String>,
}

#[derive(Clone, Copy, Words)]
enum Severity {
    Minor,
    Moderate,
    Severe,
    Extreme,
}

#[derive(Output)]
pub struct Output {
    messages: BTreeMap<String, String>,
    sms: Sms,
    missing: Vec<String>,
    grade: Option<f64>,
    warnings: Vec<String>,
}

#[derive(Output)]
struct Sms {
    encoding: Encoding,
    septets: usize,
    segments: usize,
}

#[derive(Clone, Copy, PartialEq, Debug, Words)]
enum Encoding {
    #[wire(name = "GSM-7")]
    Gsm7,
    #[wire(name = "UCS-2")]
    Ucs2,
}

/// The five elements of a warning (Mileti & Sorensen 1990), in one line each, and details.
struct Parts {
    hazard: String,
    location: String,
    time: String,
    action: String,
    source: String,
    details: String,
    severity: &'static str,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    let details = input.details.unwrap_or_default();
    let given = [
        ("hazard", &input.hazard),
        ("location", &input.location),
        ("action", &input.action),
        ("time", &input.time),
        ("source", &input.source),
        ("details", &details),
    ];
    for (name, text) in given {
        if text.len() > MAX_PART {
            return Err(Failure::too_large(format!(
                "{name} is longer than {MAX_PART} bytes: the longest message has 1380 characters"
            )));
        }
    }
    let line =
        |text: &String| text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(['.', '。']).to_owned();
    let missing =
        given.iter().take(5).filter(|(_, text)| line(text).is_empty()).map(|(name, _)| (*name).to_owned()).collect();
    let english = base(&input.language) == "en";
    let parts = Parts {
        hazard: line(&input.hazard),
        location: line(&input.location),
        time: line(&input.time),
        action: line(&input.action),
        source: line(&input.source),
        details: line(&details),
        severity: if english { severity(input.severity) } else { "" },
    };
    let mut warnings = Vec::new();
    let messages: BTreeMap<String, String> = LENGTHS
        .into_iter()
        .map(|length| (length.to_string(), fitted(&parts, length, english, &mut warnings)))
        .collect();
    let shown = messages.get("160").map(String::as_str).unwrap_or_default();
    let sms = sms(shown);
    if sms.encoding == Encoding::Ucs2 && english {
        let odd: Vec<String> = shown
            .graphemes(true)
            .filter(|sign| sign.chars().any(|letter| septets(letter).is_none()))
            .take(5)
            .map(str::to_owned)
            .collect();
        warnings.push(format!("ucs2: {} double the size of an SMS: replace them", odd.join(" ")));
    }
    if !english {
        context.assume("abbreviations and severity words are English: parts in other languages are joined as they are");
    }
    let grade = messages.get("360").and_then(|text| grade(text, english));
    if grade.is_some_and(|grade| grade > 8.0) && english {
        warnings
            .push("grade: the message of 360 characters is above grade 8: use shorter words and sentences".to_owned());
    }
    Ok(Output { messages, sms, missing, grade, warnings })
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Minor => "Notice",
        Severity::Moderate => "Advisory",
        Severity::Severe => "Warning",
        Severity::Extreme => "EMERGENCY",
    }
}

impl Parts {
    /// A message of the parts that it may have.
    fn message(&self, source: bool, time: bool, full: bool) -> String {
        let mut out = String::new();
        let mut say = |text: &str| {
            if !text.is_empty() {
                if !out.is_empty() {
                    out.push(' ');
                }
                out.push_str(text);
            }
        };
        if source && !self.source.is_empty() {
            say(&format!("{}:", self.source));
        }
        let joined = |parts: &[&str], by: &str| {
            parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(by)
        };
        let head = joined(&[&self.hazard, if full { self.severity } else { "" }], " ");
        let place = joined(&[&head, &self.location, if time { &self.time } else { "" }], ", ");
        say(&ended(&place));
        say(&ended(&self.action));
        if full {
            say(&ended(&self.details));
        }
        out
    }
}

/// A sentence with its full stop.
fn ended(text: &str) -> String {
    match text.chars().next_back() {
        None => String::new(),
        Some('!' | '?' | '…' | '।' | '؟') => text.to_owned(),
        Some(_) => format!("{text}."),
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The fullest message that fits: with all, without details, then with abbreviations, then without source and time;
/// what is still too long is cut.
fn fitted(parts: &Parts, most: usize, english: bool, warnings: &mut Vec<String>) -> String {
    let full = parts.message(true, true, true);
    if length(&full) <= most {
        return full;
    }
    if most == 1_380 && !parts.details.is_empty() {
        warnings.push("shortened: details do not fit into 1380 characters".to_owned());
    }
    for (source, time) in [(true, true), (false, true), (false, false)] {
        let mut message = parts.message(source, time, false);
        if english {
            for (long, short) in SHORTER {
                if length(&message) <= most {
                    break;
                }
                message = abbreviated(&message, long, short);
            }
        }
        if length(&message) <= most {
            if !source && !parts.source.is_empty() {
                let time = if time || parts.time.is_empty() { "" } else { " and time" };
                warnings.push(format!("shortened: the message of {most} characters has no source{time}"));
            }
            return message;
        }
    }
    warnings.push(format!("cut: the message of {most} characters is cut off: shorten hazard, location and action"));
    let message = parts.message(false, false, false);
    let (mut out, mut count) = (String::new(), 0);
    for sign in message.graphemes(true) {
        count += length(sign);
        if count > most - 3 {
            break;
        }
        out.push_str(sign);
    }
    format!("{}...", out.trim_end())
}

/// Replaces whole words, or the part as it is where it begins or ends with a space.
fn abbreviated(text: &str, long: &str, short: &str) -> String {
    if long.contains(' ') && (long.starts_with(' ') || long.ends_with(' ')) {
        return text.replace(long, short);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(long) {
        let (before, after) = (rest.get(..at).unwrap_or_default(), rest.get(at + long.len()..).unwrap_or_default());
        let letter = |sign: Option<char>| sign.is_some_and(char::is_alphanumeric);
        let whole = !letter(before.chars().next_back()) && !letter(after.chars().next());
        out.push_str(before);
        out.push_str(if whole { short } else { long });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Septets of a character in the GSM 7 bit default alphabet (3GPP TS 23.038, section 6.2.1): two for its extension.
fn septets(letter: char) -> Option<usize> {
    const BASIC: &str = "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà";
    const EXTENSION: &str = "\u{c}^{}\\[~]|€";
    if BASIC.contains(letter) {
        return Some(1);
    }
    EXTENSION.contains(letter).then_some(2)
}

/// Size of a text as SMS: 160 septets or 70 UTF-16 units in one segment, 153 or 67 in each of several. A pair is never
/// split over two segments.
fn sms(text: &str) -> Sms {
    let units: Option<Vec<usize>> = text.chars().map(septets).collect();
    let (encoding, units, single, several) = match units {
        Some(units) => (Encoding::Gsm7, units, 160, 153),
        None => (Encoding::Ucs2, text.chars().map(char::len_utf16).collect(), 70, 67),
    };
    let all: usize = units.iter().sum();
    let segments = if all <= single {
        usize::from(all > 0)
    } else {
        let (mut segments, mut used) = (1, 0);
        for unit in units {
            if used + unit > several {
                segments += 1;
                used = 0;
            }
            used += unit;
        }
        segments
    };
    Sms { encoding, septets: all, segments }
}

/// Flesch-Kincaid grade; `None` of a text without words.
fn grade(text: &str, english: bool) -> Option<f64> {
    let (mut count, mut sounds) = (0.0, 0.0);
    for (_, word) in words(text) {
        count += 1.0;
        sounds += syllables(word, english) as f64;
    }
    let sentences = sentences(text).len() as f64;
    (count > 0.0 && sentences > 0.0).then(|| 0.39 * count / sentences + 11.8 * sounds / count - 15.59)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3GPP TS 23.038, sections 6.1 and 6.2: sizes of segments.
    #[test]
    fn segments() {
        let size = |text: &str| (sms(text).encoding, sms(text).septets, sms(text).segments);
        assert_eq!(size(&"a".repeat(160)), (Encoding::Gsm7, 160, 1));
        assert_eq!(size(&"a".repeat(161)), (Encoding::Gsm7, 161, 2));
        assert_eq!(size(&"a".repeat(307)), (Encoding::Gsm7, 307, 3));
        assert_eq!(size("€[x]"), (Encoding::Gsm7, 7, 1));
        // The escape of the 153rd septet would be alone.
        assert_eq!(size(&format!("{}€{}", "a".repeat(152), "a".repeat(152))), (Encoding::Gsm7, 306, 3));
        assert_eq!(size(&"ş".repeat(70)), (Encoding::Ucs2, 70, 1));
        assert_eq!(size(&"😀".repeat(36)), (Encoding::Ucs2, 72, 2));
        assert_eq!(size(""), (Encoding::Gsm7, 0, 0));
    }

    #[test]
    fn whole_words_are_abbreviated() {
        assert_eq!(abbreviated("Roads on Road 1, Road", "Road", "Rd"), "Roads on Rd 1, Rd");
    }

    #[test]
    fn each_message_fits() {
        for long in ["", "x", "Flood of the river in the old town 👨‍👩‍👧 ", "e\u{301}"] {
            let text = long.repeat(60);
            let parts = Parts {
                hazard: text.clone(),
                location: text.clone(),
                time: text.clone(),
                action: text.clone(),
                source: text.clone(),
                details: text,
                severity: "Warning",
            };
            for most in LENGTHS {
                assert!(length(&fitted(&parts, most, true, &mut Vec::new())) <= most);
            }
        }
    }
}
