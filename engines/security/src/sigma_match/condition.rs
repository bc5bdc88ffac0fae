//! The grammar of conditions: `not`, `and`, `or`, parentheses, `1 of`, `any of`, `all of`.

use std::collections::BTreeSet;

/// Names of the selections of a rule.
pub(super) type Names<'a> = BTreeSet<&'a str>;

/// Maximum number of words, which bounds the nesting.
const MAX_WORDS: usize = 500;

pub(super) enum Condition {
    Selection(String),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
}

struct Words<'a> {
    words: Vec<String>,
    at: usize,
    names: &'a Names<'a>,
}

impl Condition {
    pub(super) fn read(text: &str, names: &Names<'_>) -> Result<Self, String> {
        if text.contains('|') {
            return Err("condition: aggregations after `|` are not supported".to_owned());
        }
        let spaced = text.replace('(', " ( ").replace(')', " ) ");
        let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        if words.len() > MAX_WORDS {
            return Err(format!("condition: has more than {MAX_WORDS} words"));
        }
        let mut words = Words { words, at: 0, names };
        let condition = words.any()?;
        match words.peek() {
            None => Ok(condition),
            Some(word) => Err(format!("condition: `{word}` is not expected there")),
        }
    }

    pub(super) fn holds(&self, selection: &mut dyn FnMut(&str) -> bool) -> bool {
        match self {
            Self::Selection(name) => selection(name),
            Self::Not(inner) => !inner.holds(selection),
            Self::All(parts) => parts.iter().all(|part| part.holds(selection)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(selection)),
        }
    }
}

impl Words<'_> {
    fn peek(&self) -> Option<&str> {
        self.words.get(self.at).map(String::as_str)
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.at += usize::from(found);
        found
    }

    fn any(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.all()?];
        while self.take("or") {
            parts.push(self.all()?);
        }
        Ok(Condition::Any(parts))
    }

    fn all(&mut self) -> Result<Condition, String> {
        let mut parts = vec![self.one()?];
        while self.take("and") {
            parts.push(self.one()?);
        }
        Ok(Condition::All(parts))
    }

    fn one(&mut self) -> Result<Condition, String> {
        if self.take("not") {
            return Ok(Condition::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            let inner = self.any()?;
            return if self.take(")") { Ok(inner) } else { Err("condition: a parenthesis is not closed".to_owned()) };
        }
        let Some(word) = self.peek().map(str::to_owned) else { return Err("condition: ends too early".to_owned()) };
        self.at += 1;
        let of = self.take("of");
        let all = match (word.to_ascii_lowercase().as_str(), of) {
            ("1" | "any", true) => false,
            ("all", true) => true,
            (_, true) => return Err(format!("condition: `{word} of` is not supported: use 1, any or all")),
            (_, false) if self.names.contains(word.as_str()) => return Ok(Condition::Selection(word)),
            (_, false) => return Err(format!("condition: there is no selection `{word}`")),
        };
        let Some(pattern) = self.peek().map(str::to_owned) else {
            return Err("condition: `of` names nothing".to_owned());
        };
        self.at += 1;
        let named = |name: &&&str| match pattern.split_once('*') {
            // Selections that begin with an underscore are left out of `them`.
            None if pattern.eq_ignore_ascii_case("them") => !name.starts_with('_'),
            None => **name == pattern,
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
        };
        let parts: Vec<Condition> =
            self.names.iter().filter(named).map(|name| Condition::Selection((*name).to_owned())).collect();
        match parts.is_empty() {
            true => Err(format!("condition: no selection is named `{pattern}`")),
            false if all => Ok(Condition::All(parts)),
            false => Ok(Condition::Any(parts)),
        }
    }
}
