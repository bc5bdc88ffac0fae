//! Halstead's measures (Elements of Software Science, 1977).

use std::collections::{BTreeMap, HashSet};

/// Counted operators and operands.
#[derive(Default)]
pub(super) struct Halstead<'s> {
    operators: HashSet<&'s str>,
    operands: HashSet<&'s str>,
    total_operators: usize,
    total_operands: usize,
}

impl<'s> Halstead<'s> {
    pub fn operator(&mut self, token: &'s str) {
        self.operators.insert(token);
        self.total_operators += 1;
    }

    pub fn operand(&mut self, token: &'s str) {
        self.operands.insert(token);
        self.total_operands += 1;
    }

    /// Time is in seconds, with Stroud's 18 discriminations per second; bugs are expected errors, one per 3,000 bits.
    pub fn measures(&self) -> BTreeMap<&'static str, f64> {
        let (operators, operands) = (self.operators.len() as f64, self.operands.len() as f64);
        let (total_operators, total_operands) = (self.total_operators as f64, self.total_operands as f64);
        let bits = |number: f64| if number > 0.0 { number.log2() } else { 0.0 };
        let (vocabulary, length) = (operators + operands, total_operators + total_operands);
        let volume = length * bits(vocabulary);
        let difficulty = if operands > 0.0 { operators / 2.0 * total_operands / operands } else { 0.0 };
        let effort = difficulty * volume;
        BTreeMap::from([
            ("distinct_operators", operators),
            ("distinct_operands", operands),
            ("total_operators", total_operators),
            ("total_operands", total_operands),
            ("vocabulary", vocabulary),
            ("length", length),
            ("estimated_length", operators * bits(operators) + operands * bits(operands)),
            ("volume", volume),
            ("difficulty", difficulty),
            ("effort", effort),
            ("time", effort / 18.0),
            ("bugs", volume / 3_000.0),
        ])
    }
}
