//! Measured values in free text, and durations.

use super::normal::Sentence;

/// A value that a text says, in the unit of the field.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadValue {
    /// The name of the request's field: `systolic`, `age`, …
    pub field: &'static str,
    pub value: f64,
    /// Bytes of the text.
    pub start: usize,
    pub end: usize,
}

/// A field, the words that announce it, and what is plausible in text.
struct Announced {
    field: &'static str,
    words: &'static [&'static [&'static str]],
    least: f64,
    most: f64,
}

const ANNOUNCED: &[Announced] = &[
    Announced {
        field: "heartRate",
        words: &[&["hr"], &["pulse"], &["heart", "rate"], &["heartrate"]],
        least: 10.0,
        most: 300.0,
    },
    Announced {
        field: "respiratoryRate",
        words: &[&["rr"], &["respiratory", "rate"], &["breathing", "rate"], &["resp", "rate"], &["resps"]],
        least: 2.0,
        most: 120.0,
    },
    Announced {
        field: "spo2",
        words: &[
            &["spo2"],
            &["sats"],
            &["saturation"],
            &["saturations"],
            &["sao2"],
            &["sat"],
            &["o2"],
            &["oxygen", "level"],
        ],
        least: 50.0,
        most: 100.0,
    },
    Announced { field: "systolic", words: &[&["systolic"], &["sbp"]], least: 30.0, most: 300.0 },
    Announced {
        field: "glucose",
        words: &[&["glucose"], &["blood", "sugar"], &["bm"], &["bsl"]],
        least: 0.3,
        most: 1600.0,
    },
    Announced { field: "lactate", words: &[&["lactate"]], least: 0.1, most: 30.0 },
    Announced { field: "potassium", words: &[&["potassium"]], least: 1.0, most: 12.0 },
];

/// The values of a sentence: blood pressure, pulse, breathing, oxygen,
/// temperature, glucose, lactate, potassium, age and sex (1 female, 0 male).
#[must_use]
pub fn read_values(s: &Sentence) -> Vec<ReadValue> {
    if s.tokens.is_empty() {
        return Vec::new();
    }
    let mut out = Vec::new();
    let numbers = s.tokens.iter().any(|t| t.word.starts_with(|c: char| c.is_ascii_digit()));
    for at in 0..s.tokens.len() {
        if numbers {
            pressure(s, at, &mut out);
            temperature(s, at, &mut out);
        }
        age(s, at, &mut out);
        sex(s, at, &mut out);
        if numbers {
            for announced in ANNOUNCED {
                announced_value(s, at, announced, &mut out);
            }
            counted(s, at, &mut out);
        }
    }
    out
}

fn number(s: &Sentence, at: usize) -> Option<f64> {
    let word = s.word(at);
    if !word.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok().filter(|n: &f64| n.is_finite())
}

fn push(out: &mut Vec<ReadValue>, s: &Sentence, field: &'static str, value: f64, first: usize, last: usize) {
    let (Some(a), Some(b)) = (s.tokens.get(first), s.tokens.get(last)) else { return };
    if !out.iter().any(|v| v.field == field) {
        out.push(ReadValue { field, value, start: a.start, end: b.end });
    }
}

fn row_at(s: &Sentence, at: usize, row: &[&str]) -> bool {
    row.iter().enumerate().all(|(i, w)| s.word(at + i) == *w)
}

/// Words that may stand between a name and its value.
fn filler(word: &str) -> bool {
    matches!(
        word,
        "of" | "is"
            | "was"
            | "at"
            | "around"
            | "about"
            | "currently"
            | "reads"
            | "reading"
            | "now"
            | "to"
            | "rate"
            | "level"
            | "down"
            | "up"
            | "only"
            | "to_"
            | "measured"
            | "approximately"
            | "c"
    )
}

fn announced_value(s: &Sentence, at: usize, a: &Announced, out: &mut Vec<ReadValue>) {
    let Some(row) = a.words.iter().find(|row| row_at(s, at, row)) else { return };
    let mut next = at + row.len();
    while next < at + row.len() + 3 && filler(s.word(next)) {
        next += 1;
    }
    // "pulse 3 days ago" is not a value.
    let Some(value) = number(s, next) else { return };
    if value < a.least
        || value > a.most
        || time_unit(s.word(next + 1))
        || s.tokens.get(next + 1).is_some_and(|t| t.slash)
    {
        return;
    }
    if a.field == "glucose" {
        let mg = s.word(next + 1) == "mg";
        let mmol = s.word(next + 1).starts_with("mmol");
        let Some(mmol_l) = (match value {
            v if mg || (!mmol && v > 60.0) => Some(v / 18.016),
            v if mmol || v < 10.0 => Some(v),
            _ => None,
        }) else {
            return;
        };
        return push(out, s, a.field, (mmol_l * 10.0).round() / 10.0, at, next);
    }
    push(out, s, a.field, value, at, next);
}

fn time_unit(word: &str) -> bool {
    matches!(
        word,
        "day"
            | "days"
            | "week"
            | "weeks"
            | "month"
            | "months"
            | "hour"
            | "hours"
            | "year"
            | "years"
            | "times"
            | "minutes"
    )
}

/// "130 bpm", "32 breaths a minute", "88 % on air".
fn counted(s: &Sentence, at: usize, out: &mut Vec<ReadValue>) {
    let Some(value) = number(s, at) else { return };
    let glued = s.word(at).trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let unit = if glued.is_empty() { s.word(at + 1) } else { glued };
    match unit {
        "bpm" if (10.0..=300.0).contains(&value) => push(out, s, "heartRate", value, at, at),
        "beats" if (10.0..=300.0).contains(&value) => push(out, s, "heartRate", value, at, at + 1),
        "breaths" if (2.0..=120.0).contains(&value) => push(out, s, "respiratoryRate", value, at, at + 1),
        "mmhg" if (30.0..=300.0).contains(&value) && !s.tokens.get(at).is_some_and(|t| t.slash) => {
            push(out, s, "systolic", value, at, at);
        }
        _ => {}
    }
}

fn pressure(s: &Sentence, at: usize, out: &mut Vec<ReadValue>) {
    let slash = s.tokens.get(at + 1).is_some_and(|t| t.slash);
    let over = s.word(at + 1) == "over";
    if !slash && !over {
        return;
    }
    let second = if over { at + 2 } else { at + 1 };
    let (Some(sys), Some(dia)) = (number(s, at), number(s, second)) else { return };
    let named = (at.saturating_sub(4)..at).any(|i| matches!(s.word(i), "bp" | "pressure"));
    let unit = s.word(second + 1) == "mmhg";
    let plausible = (30.0..=300.0).contains(&sys) && (10.0..=200.0).contains(&dia) && dia < sys;
    if plausible && (named || unit) {
        push(out, s, "systolic", sys, at, second);
        push(out, s, "diastolic", dia, at, second);
    }
}

fn temperature(s: &Sentence, at: usize, out: &mut Vec<ReadValue>) {
    let named = matches!(s.word(at), "temperature" | "temp" | "fever" | "temps" | "t");
    let value_at = if named {
        let mut next = at + 1;
        while next < at + 4 && (filler(s.word(next)) || s.word(next) == "high") {
            next += 1;
        }
        next
    } else if matches!(s.word(at + 1), "c" | "f" | "celsius" | "fahrenheit" | "degrees" | "deg")
        || s.word(at).ends_with(['c', 'f'])
    {
        at
    } else {
        return;
    };
    let Some(value) = number(s, value_at) else { return };
    let fahrenheit = (75.0..=113.0).contains(&value);
    if !fahrenheit && !(24.0..=45.0).contains(&value) || time_unit(s.word(value_at + 1)) {
        return;
    }
    // A bare "38 f" or "40 c" is a temperature; "t 30" is not sure enough.
    if s.word(at) == "t" && !(30.0..=43.0).contains(&value) {
        return;
    }
    let celsius = if fahrenheit { (value - 32.0) / 1.8 } else { value };
    push(out, s, "temperature", (celsius * 10.0).round() / 10.0, at.min(value_at), value_at);
}

fn age(s: &Sentence, at: usize, out: &mut Vec<ReadValue>) {
    if matches!(s.word(at), "newborn" | "neonate" | "newborns") {
        let owner = (at.saturating_sub(3)..at).any(|i| matches!(s.word(i), "have" | "had" | "with" | "our"));
        if !owner {
            push(out, s, "age", 0.05, at, at);
        }
        return;
    }
    let Some(value) = number(s, at) else {
        return;
    };
    let before = if at == 0 { "" } else { s.word(at - 1) };
    let first = if matches!(before, "aged" | "age") { at - 1 } else { at };
    let glued = s.word(at).trim_start_matches(|c: char| c.is_ascii_digit());
    let unit = s.word(at + 1);
    let old = s.word(at + 2) == "old";
    let years = match (unit, glued) {
        (_, "yo" | "y" | "yr") | ("yo", "") => Some(value),
        ("year" | "years" | "yr" | "yrs" | "y", "")
            if old || s.word(at + 2) == "o" || matches!(before, "aged" | "age" | "im" | "am") =>
        {
            Some(value)
        }
        ("month" | "months", "") if old || before == "aged" => Some(value / 12.0),
        ("week" | "weeks", "") if old || before == "aged" => Some(value / 52.18),
        ("day" | "days", "") if old || before == "aged" => Some(value / 365.25),
        (_, "") if matches!(before, "aged" | "age") => Some(value),
        (next, "") if matches!(before, "im" | "am") && value >= 10.0 && states_age(s, at, next) => Some(value),
        _ => None,
    };
    if let Some(years) = years.filter(|y| (0.0..=120.0).contains(y)) {
        push(out, s, "age", years, first, at);
    }
}

/// "I am 67 and …", "I am 67."
fn states_age(s: &Sentence, at: usize, next: &str) -> bool {
    at + 1 == s.tokens.len()
        || matches!(next, "and" | "with" | "male" | "female" | "but")
        || s.tokens.get(at + 1).is_some_and(|t| t.comma)
}

fn sex(s: &Sentence, at: usize, out: &mut Vec<ReadValue>) {
    let female = match s.word(at) {
        "female" | "woman" | "girl" | "lady" => 1.0,
        "male" | "man" | "boy" | "gentleman" => 0.0,
        _ => return,
    };
    push(out, s, "sex", female, at, at);
}

/// The longest duration that a sentence says, in weeks.
#[must_use]
pub fn duration_weeks(s: &Sentence) -> Option<f64> {
    let mut longest: Option<f64> = None;
    for at in 0..s.tokens.len() {
        let per = match s.word(at) {
            "day" | "days" => 1.0 / 7.0,
            "week" | "weeks" | "wk" | "wks" => 1.0,
            "month" | "months" => 4.345,
            "year" | "years" => 52.18,
            _ => continue,
        };
        if matches!(s.word(at + 1), "old" | "pregnant" | "gestation" | "postpartum") || at == 0 {
            continue;
        }
        let mut before = at - 1;
        if s.word(before) == "of" && before > 0 {
            before -= 1;
        }
        let count = match s.word(before) {
            "a" | "one" | "last" | "past" => 1.0,
            "two" | "couple" => 2.0,
            "three" | "few" | "several" | "some" | "many" => 3.0,
            "four" => 4.0,
            "five" => 5.0,
            "six" => 6.0,
            "seven" => 7.0,
            "eight" => 8.0,
            "nine" => 9.0,
            "ten" => 10.0,
            "twelve" => 12.0,
            _ => match number(s, before) {
                Some(n) => n,
                None => continue,
            },
        };
        let weeks = count * per;
        longest = Some(longest.map_or(weeks, |l| l.max(weeks)));
    }
    longest
}
