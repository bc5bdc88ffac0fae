//! The notation of the referral rules: `a&(b|c)`, `2of(a,b,c)`, `fit>=10`, and
//! `a@3w` for a concept that is said to last three weeks or to persist. There
//! is no negation: an added finding can make a rule hold, never the reverse.

use super::facts::CancerFacts;
use crate::rule::{Cursor, one_or};
use crate::text::{ConceptId, Lexicon};
use std::collections::BTreeSet;

/// What a comparison reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Quantity {
    /// Years.
    Age,
    /// µg/g.
    Fit,
    /// IU/mL.
    Ca125,
    /// µg/L.
    Psa,
    /// g/dL below the lower limit: 13 for men, 12 otherwise (WHO 2011).
    HbDeficit,
    /// 10⁹/L.
    Platelets,
    /// 10⁹/L.
    Wbc,
    /// mmol/L.
    Glucose,
    PackYears,
    /// Years since smoking stopped; 0 while it goes on.
    SmokeFreeYears,
    /// First-degree relatives with breast cancer.
    BreastRelatives,
    /// Relatives with ovarian cancer.
    OvarianRelatives,
}

impl Quantity {
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "age" => Self::Age,
            "fit" => Self::Fit,
            "ca125" => Self::Ca125,
            "psa" => Self::Psa,
            "hb_deficit" => Self::HbDeficit,
            "platelets" => Self::Platelets,
            "wbc" => Self::Wbc,
            "glucose" => Self::Glucose,
            "pack_years" => Self::PackYears,
            "smoke_free_years" => Self::SmokeFreeYears,
            "breast_relatives" => Self::BreastRelatives,
            "ovarian_relatives" => Self::OvarianRelatives,
            _ => return None,
        })
    }

    /// The field of the request, the name and the unit.
    #[must_use]
    pub const fn field(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Age => ("patientAge", "age", "years"),
            Self::Fit => ("labs.fit", "FIT", "µg/g"),
            Self::Ca125 => ("labs.ca125", "CA125", "IU/mL"),
            Self::Psa => ("labs.psa", "PSA", "µg/L"),
            Self::HbDeficit => ("labs.hb", "haemoglobin", "g/dL below the limit"),
            Self::Platelets => ("labs.platelets", "platelets", "×10⁹/L"),
            Self::Wbc => ("labResults.wbc", "white cell count", "×10⁹/L"),
            Self::Glucose => ("labResults.glucose", "glucose", "mmol/L"),
            Self::PackYears => ("riskFactors", "pack years", "pack years"),
            Self::SmokeFreeYears => ("riskFactors", "time since smoking stopped", "years"),
            Self::BreastRelatives => ("riskFactors", "first-degree relatives with breast cancer", ""),
            Self::OvarianRelatives => ("riskFactors", "relatives with ovarian cancer", ""),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Op {
    const SIGNS: [(&'static str, Self); 4] =
        [(">=", Self::GreaterOrEqual), ("<=", Self::LessOrEqual), (">", Self::Greater), ("<", Self::Less)];

    fn holds(self, value: f64, bound: f64) -> bool {
        match self {
            Self::Less => value < bound,
            Self::LessOrEqual => value <= bound,
            Self::Greater => value > bound,
            Self::GreaterOrEqual => value >= bound,
        }
    }
}

/// A part that made an expression hold, or that it lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Concept(ConceptId),
    /// The concept is there but not said to last three weeks.
    Lasting(ConceptId),
    Quantity(Quantity),
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Concept { id: ConceptId, lasting: bool },
    Compare { quantity: Quantity, op: Op, bound: f64 },
    And(Vec<Node>),
    Or(Vec<Node>),
    AtLeast(usize, Vec<Node>),
}

/// A criterion, ready to evaluate.
#[derive(Debug, Clone, PartialEq)]
pub struct Criterion(Node);

const MACROS: &[(&str, &str)] = &[
    ("LOWHB", "anaemia|hb_deficit>0"),
    ("HIGHPLT", "thrombocytosis|platelets>450"),
    ("WEIGHTLOSS", "weight_loss|weight_loss_marked"),
];

impl Criterion {
    /// Parses the notation.
    ///
    /// # Errors
    /// A concept or quantity that does not exist, or a malformed expression.
    pub fn parse(text: &str, lexicon: &Lexicon) -> Result<Self, String> {
        node(text, lexicon).map(Self)
    }

    /// Whether it holds; `because` collects all parts that made it hold.
    pub fn holds(&self, facts: &CancerFacts<'_>, because: &mut BTreeSet<Part>) -> bool {
        holds(&self.0, facts, because)
    }

    /// The fewest parts that are not known and would make it hold; `None` if
    /// what is known rules it out.
    #[must_use]
    pub fn gap(&self, facts: &CancerFacts<'_>) -> Option<Vec<Part>> {
        gap(&self.0, facts)
    }

    /// The bounds from which a comparison of age holds.
    #[must_use]
    pub fn ages(&self) -> Vec<f64> {
        let mut ages = Vec::new();
        collect_ages(&self.0, &mut ages);
        ages
    }
}

fn holds(node: &Node, facts: &CancerFacts<'_>, because: &mut BTreeSet<Part>) -> bool {
    match node {
        Node::Concept { id, lasting } => {
            let holds = facts.has(*id) && (!lasting || facts.lasts(*id));
            if holds {
                because.insert(Part::Concept(*id));
            }
            holds
        }
        Node::Compare { quantity, op, bound } => {
            let holds = facts.quantity(*quantity).is_some_and(|v| op.holds(v, *bound));
            if holds {
                because.insert(Part::Quantity(*quantity));
            }
            holds
        }
        Node::And(parts) => {
            let mut found = BTreeSet::new();
            let all = parts.iter().all(|p| holds(p, facts, &mut found));
            if all {
                because.extend(found);
            }
            all
        }
        // All that hold are named, not only the first.
        Node::Or(parts) => parts.iter().filter(|p| holds(p, facts, because)).count() > 0,
        Node::AtLeast(n, parts) => {
            let mut found = BTreeSet::new();
            let enough = parts.iter().filter(|p| holds(p, facts, &mut found)).count() >= *n;
            if enough {
                because.extend(found);
            }
            enough
        }
    }
}

fn gap(node: &Node, facts: &CancerFacts<'_>) -> Option<Vec<Part>> {
    match node {
        Node::Concept { id, lasting: true } if facts.has(*id) && !facts.lasts(*id) => Some(vec![Part::Lasting(*id)]),
        Node::Concept { id, .. } if facts.has(*id) => Some(Vec::new()),
        Node::Concept { id, .. } if facts.denies(*id) => None,
        Node::Concept { id, .. } => Some(vec![Part::Concept(*id)]),
        Node::Compare { quantity, op, bound } => match facts.quantity(*quantity) {
            Some(v) => op.holds(v, *bound).then(Vec::new),
            None => Some(vec![Part::Quantity(*quantity)]),
        },
        Node::And(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(gap(part, facts)?);
            }
            Some(all)
        }
        Node::Or(parts) => parts.iter().filter_map(|p| gap(p, facts)).min_by_key(Vec::len),
        Node::AtLeast(n, parts) => {
            let mut gaps: Vec<_> = parts.iter().filter_map(|p| gap(p, facts)).collect();
            gaps.sort_by_key(Vec::len);
            (gaps.len() >= *n).then(|| gaps.into_iter().take(*n).flatten().collect())
        }
    }
}

fn collect_ages(node: &Node, ages: &mut Vec<f64>) {
    match node {
        Node::Compare { quantity: Quantity::Age, op: Op::GreaterOrEqual, bound } => ages.push(*bound),
        Node::Concept { .. } | Node::Compare { .. } => {}
        Node::And(parts) | Node::Or(parts) | Node::AtLeast(_, parts) => {
            parts.iter().for_each(|p| collect_ages(p, ages));
        }
    }
}

fn node(text: &str, lexicon: &Lexicon) -> Result<Node, String> {
    let mut parser = Parser { cursor: Cursor::new(text), lexicon, depth: 0 };
    let parsed = parser.or().and_then(|node| parser.cursor.end().map(|()| node));
    parsed.map_err(|what| format!("{text}: {what}"))
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    lexicon: &'a Lexicon,
    depth: u8,
}

impl Parser<'_> {
    fn eat(&mut self, token: &str) -> bool {
        self.cursor.eat(token)
    }

    fn or(&mut self) -> Result<Node, String> {
        let mut parts = vec![self.and()?];
        while self.eat("|") {
            parts.push(self.and()?);
        }
        Ok(one_or(parts, Node::Or))
    }

    fn and(&mut self) -> Result<Node, String> {
        let mut parts = vec![self.atom()?];
        while self.eat("&") {
            parts.push(self.atom()?);
        }
        Ok(one_or(parts, Node::And))
    }

    fn atom(&mut self) -> Result<Node, String> {
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
            return node(expansion, self.lexicon);
        }
        if let Some(quantity) = Quantity::parse(word) {
            return self.comparison(quantity);
        }
        let id = self.lexicon.id(word).ok_or_else(|| format!("the concept \"{word}\" is unknown"))?;
        Ok(Node::Concept { id, lasting: self.eat("@3w") })
    }

    fn at_least(&mut self, count: usize) -> Result<Node, String> {
        if !self.eat("(") {
            return Err("\"of\" wants a list in brackets".to_owned());
        }
        let mut parts = vec![self.or()?];
        while self.eat(",") {
            parts.push(self.or()?);
        }
        if !self.eat(")") {
            return Err("a bracket is not closed".to_owned());
        }
        if count == 0 || count > parts.len() {
            return Err(format!("{count} of {} parts", parts.len()));
        }
        Ok(Node::AtLeast(count, parts))
    }

    fn comparison(&mut self, quantity: Quantity) -> Result<Node, String> {
        let op = Op::SIGNS.into_iter().find(|(sign, _)| self.eat(sign));
        let (_, op) = op.ok_or("a comparison without a sign")?;
        let number = self.cursor.word();
        let bound: f64 = number.parse().map_err(|_| format!("\"{number}\" is not a number"))?;
        Ok(Node::Compare { quantity, op, bound })
    }
}
