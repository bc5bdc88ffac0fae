//! The notation: `a&(b|c)`, `hr>=150`, `vertigo@sudden`, `2of(a,b,c)`, and the
//! macros of the design (FEVER, SHOCK, …).

use super::{Expr, Measure, Op};
use crate::text::Lexicon;

#[derive(Debug, thiserror::Error)]
#[error("expression {expr}: {what}")]
pub struct ExprError {
    pub expr: String,
    pub what: String,
}

/// The macros, spelt out once. SHOCK under ten years: see `compare`.
const MACROS: &[(&str, &str)] = &[
    ("FEVER", "fever|t>=38"),
    ("SHOCK", "sys<=90|map<65|mottled_skin|hypotension|lactate>=4"),
    ("INFECTION", "fever|t>=38|rigors|skin_infection|purulent_sputum"),
    ("FAST", "facial_droop|weakness_unilateral|speech_problem"),
    ("PREG", "pregnancy|postpartum"),
    ("BLEED", "heavy_bleeding|bruising|bleeding_tendency"),
];

pub fn parse(text: &str, lexicon: &Lexicon) -> Result<Expr, ExprError> {
    let mut parser = Parser { cursor: Cursor::new(text), lexicon, depth: 0 };
    let parsed = parser.or().and_then(|expr| parser.cursor.end().map(|()| expr));
    parsed.map_err(|what| ExprError { expr: text.to_owned(), what })
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    lexicon: &'a Lexicon,
    depth: u8,
}

/// What is left to read of an expression. Blanks before a token count for nothing.
#[derive(Debug)]
pub struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    /// Begins at the start of an expression.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    /// Reads this token, if it is the next one.
    pub fn eat(&mut self, token: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Reads a name or a number; empty where there is none.
    pub fn word(&mut self) -> &'a str {
        self.rest = self.rest.trim_start();
        let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let end = self.rest.find(|c| !inside(c)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// What is left over.
    pub fn end(&self) -> Result<(), String> {
        match self.rest.trim() {
            "" => Ok(()),
            rest => Err(format!("{rest} is left over")),
        }
    }
}

/// The only part, or all of them joined.
pub fn one_or<T>(mut parts: Vec<T>, join: impl Fn(Vec<T>) -> T) -> T {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            join(parts)
        }
    }
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.cursor.eat(token)
    }

    fn or(&mut self) -> Result<Expr, String> {
        self.list("|", Self::and, Expr::Or)
    }

    fn and(&mut self) -> Result<Expr, String> {
        self.list("&", Self::atom, Expr::And)
    }

    fn list(
        &mut self,
        separator: &str,
        mut part: impl FnMut(&mut Self) -> Result<Expr, String>,
        join: impl Fn(Vec<Expr>) -> Expr,
    ) -> Result<Expr, String> {
        let mut parts = vec![part(self)?];
        while self.eat(separator) {
            parts.push(part(self)?);
        }
        Ok(one_or(parts, join))
    }

    fn atom(&mut self) -> Result<Expr, String> {
        if self.eat("(") {
            self.depth += 1;
            if self.depth > 8 {
                return Err("brackets deeper than eight".to_owned());
            }
            let inner = self.or()?;
            self.depth -= 1;
            return if self.eat(")") { Ok(inner) } else { Err("a bracket is not closed".to_owned()) };
        }
        let word = self.cursor.word();
        if let Some(count) = word.strip_suffix("of").and_then(|n| n.parse::<usize>().ok()) {
            return self.at_least(count);
        }
        if let Some((_, expansion)) = MACROS.iter().find(|(name, _)| *name == word) {
            return parse(expansion, self.lexicon).map_err(|e| e.to_string());
        }
        if word == "troponin" && self.eat(">limit") {
            return Ok(Expr::Compare { measure: Measure::TroponinRatio, op: Op::Greater, bound: 1.0 });
        }
        if let Some(measure) = measure(word) {
            return self.comparison(measure);
        }
        let id = self.lexicon.id(word).ok_or_else(|| format!("the concept {word} is unknown"))?;
        let sudden = self.eat("@sudden");
        Ok(Expr::Concept { id, sudden })
    }

    fn at_least(&mut self, count: usize) -> Result<Expr, String> {
        if !self.eat("(") {
            return Err("of wants a list in brackets".to_owned());
        }
        // A macro as the only entry: its alternatives are the list.
        let first = self.or()?;
        let mut parts = vec![first];
        while self.eat(",") {
            parts.push(self.or()?);
        }
        if !self.eat(")") {
            return Err("a bracket is not closed".to_owned());
        }
        if let [Expr::Or(inner)] = parts.as_slice() {
            parts = inner.clone();
        }
        if count == 0 || count > parts.len() {
            return Err(format!("{count} of {} parts", parts.len()));
        }
        Ok(Expr::AtLeast(count, parts))
    }

    fn comparison(&mut self, measure: Measure) -> Result<Expr, String> {
        let ops = [(">=", Op::GreaterOrEqual), ("<=", Op::LessOrEqual), (">", Op::Greater), ("<", Op::Less)];
        let op =
            ops.into_iter().find(|(sign, _)| self.eat(sign)).map(|(_, op)| op).ok_or("a comparison without a sign")?;
        let number = self.cursor.word();
        let bound: f64 = number.parse().map_err(|_| format!("{number} is not a number"))?;
        Ok(Expr::Compare { measure, op, bound })
    }
}

fn measure(word: &str) -> Option<Measure> {
    Some(match word {
        "sys" => Measure::Systolic,
        "dia" => Measure::Diastolic,
        "hr" => Measure::HeartRate,
        "rr" => Measure::RespiratoryRate,
        "spo2" => Measure::Spo2,
        "t" => Measure::Temperature,
        "age" => Measure::Age,
        "map" => Measure::Map,
        "glucose" => Measure::Glucose,
        "potassium" => Measure::Potassium,
        "sodium" => Measure::Sodium,
        "creatinine" => Measure::Creatinine,
        "urea" => Measure::Urea,
        "lactate" => Measure::Lactate,
        "bnp" => Measure::Bnp,
        "wbc" => Measure::Wbc,
        "platelets" => Measure::Platelets,
        "inr" => Measure::Inr,
        "bilirubin" => Measure::Bilirubin,
        "albumin" => Measure::Albumin,
        "news2.min" => Measure::News2Min,
        "news2.single" => Measure::News2Single,
        "crb65.min" => Measure::Crb65Min,
        _ => return None,
    })
}
