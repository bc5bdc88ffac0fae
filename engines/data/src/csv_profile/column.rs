//! Profile of one column, updated value by value.

use muster_engine::prelude::*;
use std::collections::HashMap;

use super::cell::{self, Kind};

/// Maximum number of distinct values counted exactly.
const MAX_DISTINCT: usize = 100_000;
/// Number of most frequent values reported.
const TOP: usize = 5;
/// Maximum runs of a pattern; longer shapes have none.
const MAX_RUNS: usize = 16;
/// Maximum bytes of a reported value.
const MAX_SHOWN: usize = 200;

pub struct Column {
    pub name: String,
    pub missing: usize,
    present: usize,
    kinds: [usize; 6],
    /// Frequency of each value; no new values once there are too many.
    values: HashMap<String, usize>,
    overflow: bool,
    /// Sums over numbers, or over text lengths.
    sums: (f64, f64),
    padded: usize,
    leading_zeros: usize,
    shape: Shape,
}

/// Reported profile of a column: all fields are present, as the output type has them all. `type` is `empty`, and the
/// extremes are empty, if every value is missing.
#[derive(Output)]
pub struct Summary {
    name: String,
    r#type: &'static str,
    missing: usize,
    distinct: usize,
    min: String,
    max: String,
    /// Mean of numbers; of times in Unix seconds; share of `true`; mean length of text in characters. 0 without values.
    mean: f64,
    top: Vec<String>,
    /// Regular expression that matches every value; empty without a common shape.
    pattern: String,
}

impl Column {
    pub fn named(name: String) -> Self {
        Self {
            name,
            missing: 0,
            present: 0,
            kinds: [0; 6],
            values: HashMap::new(),
            overflow: false,
            sums: (0.0, 0.0),
            padded: 0,
            leading_zeros: 0,
            shape: Shape::None,
        }
    }

    pub fn see(&mut self, text: &str) {
        if cell::is_missing(text) {
            self.missing += 1;
            return;
        }
        self.present += 1;
        let (kind, value) = cell::classify(text);
        if let Some(count) = self.kinds.get_mut(kind as usize) {
            *count += 1;
        }
        self.sums.0 += value;
        self.sums.1 += text.chars().count() as f64;
        self.padded += usize::from(text.trim().len() != text.len());
        let zeros = kind == Kind::Int && text.len() > 1 && text.starts_with('0');
        self.leading_zeros += usize::from(zeros);
        self.shape.see(text.trim());
        if let Some(count) = self.values.get_mut(text) {
            *count += 1;
        } else if self.values.len() < MAX_DISTINCT {
            self.values.insert(text.to_owned(), 1);
        } else {
            self.overflow = true;
        }
    }

    pub fn is_key(&self, rows: usize) -> bool {
        rows > 0 && self.missing == 0 && !self.overflow && self.values.len() == rows
    }

    fn kind(&self) -> Option<Kind> {
        let all = [Kind::Bool, Kind::Int, Kind::Float, Kind::Date, Kind::Datetime, Kind::Text];
        let seen = all.into_iter().zip(self.kinds).filter(|(_, count)| *count > 0).map(|(kind, _)| kind);
        seen.reduce(Kind::join)
    }

    /// Returns whether `first` is this column's only text, above values of another type.
    pub fn only_first_is_text(&self, first: &str) -> bool {
        let texts = self.kinds.last().copied().unwrap_or_default();
        texts == 1 && self.present > 1 && !cell::is_missing(first) && cell::classify(first).0 == Kind::Text
    }

    pub fn warn(&self, sparse: f64, warnings: &mut Vec<String>) {
        let (name, rows) = (&self.name, self.present + self.missing);
        let mut warn = |holds: bool, text: String| {
            if holds {
                warnings.push(text);
            }
        };
        let share = self.missing as f64 / rows.max(1) as f64;
        warn(self.present == 0 && rows > 0, format!("{name} has no values"));
        let many = format!("{name}: {} of {rows} values are missing", self.missing);
        warn(self.present > 0 && share > sparse, many);
        warn(self.present > 1 && self.values.len() == 1, format!("{name} has one value only"));
        warn(self.padded > 0, format!("{name}: {} values have spaces around them", self.padded));
        let zeros = format!("{name}: {} numbers begin with 0 and may be identifiers", self.leading_zeros);
        warn(self.leading_zeros > 0, zeros);
        let texts = self.kinds.last().copied().unwrap_or_default();
        let mixed = self.kind() == Some(Kind::Text) && texts * 2 < self.present;
        warn(mixed, format!("{name} is of mixed types: {texts} of {} values are text", self.present));
        warn(self.overflow, format!("{name} has more than {MAX_DISTINCT} distinct values, which were not counted"));
    }

    pub fn summary(self) -> Summary {
        let kind = self.kind();
        let (min, max) = self.ends(kind.unwrap_or(Kind::Text));
        let sum = if kind == Some(Kind::Text) { self.sums.1 } else { self.sums.0 };
        // A sum of the greatest numbers may overflow.
        let mean = Some(sum / self.present as f64).filter(|mean| mean.is_finite()).unwrap_or_default();
        let mut top: Vec<(&String, usize)> = self.values.iter().map(|(value, count)| (value, *count)).collect();
        top.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        Summary {
            r#type: kind.map_or("empty", Kind::name),
            missing: self.missing,
            distinct: self.values.len(),
            min: min.map(displayed).unwrap_or_default(),
            max: max.map(displayed).unwrap_or_default(),
            mean,
            top: top.into_iter().take(TOP).map(|(value, _)| displayed(value)).collect(),
            pattern: self.shape.regex().unwrap_or_default(),
            name: self.name,
        }
    }

    fn ends(&self, kind: Kind) -> (Option<&String>, Option<&String>) {
        let place = |text: &str| if kind == Kind::Text { 0.0 } else { cell::classify(text).1 };
        let order = |a: &&String, b: &&String| place(a).total_cmp(&place(b)).then_with(|| a.cmp(b));
        (self.values.keys().min_by(order), self.values.keys().max_by(order))
    }
}

fn displayed(text: impl AsRef<str>) -> String {
    let text = text.as_ref();
    text.get(..text.floor_char_boundary(MAX_SHOWN)).unwrap_or_default().to_owned()
}

/// Runs of characters of one class, with their minimum and maximum lengths.
enum Shape {
    None,
    Runs(Vec<(Class, usize, usize)>),
    Various,
}

#[derive(Clone, Copy, PartialEq)]
enum Class {
    Digit,
    Upper,
    Lower,
    Other(char),
}

impl Shape {
    fn see(&mut self, text: &str) {
        let mut runs: Vec<(Class, usize, usize)> = Vec::new();
        for letter in text.chars() {
            let class = match letter {
                '0'..='9' => Class::Digit,
                'A'..='Z' => Class::Upper,
                'a'..='z' => Class::Lower,
                other => Class::Other(other),
            };
            let full = runs.len() == MAX_RUNS;
            match runs.last_mut().filter(|run| run.0 == class) {
                Some(run) => (run.1, run.2) = (run.1 + 1, run.2 + 1),
                None if full => {
                    *self = Self::Various;
                    return;
                }
                None => runs.push((class, 1, 1)),
            }
        }
        let same = |known: &[(Class, usize, usize)]| {
            known.len() == runs.len() && known.iter().zip(&runs).all(|(known, run)| known.0 == run.0)
        };
        match self {
            Self::None => *self = Self::Runs(runs),
            Self::Runs(known) if same(known) => {
                for (known, run) in known.iter_mut().zip(runs) {
                    (known.1, known.2) = (known.1.min(run.1), known.2.max(run.2));
                }
            }
            _ => *self = Self::Various,
        }
    }

    fn regex(&self) -> Option<String> {
        let Self::Runs(runs) = self else { return None };
        let mut text = String::from("^");
        for (class, least, most) in runs {
            match class {
                Class::Digit => text.push_str("[0-9]"),
                Class::Upper => text.push_str("[A-Z]"),
                Class::Lower => text.push_str("[a-z]"),
                Class::Other(letter) => text.push_str(&regex::escape(&letter.to_string())),
            }
            match (least, most) {
                (1, 1) => {}
                (least, most) if least == most => text.push_str(&format!("{{{least}}}")),
                (least, most) => text.push_str(&format!("{{{least},{most}}}")),
            }
        }
        text.push('$');
        Some(text)
    }
}
