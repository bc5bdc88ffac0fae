//! Reads rules from tokens. The grammar is Cedar's; what this server has no use for is refused by name.

use crate::ast::{Arithmetic, Comparison, Condition, Effect, Entity, Expr, Rule, Scope, Variable};
use crate::error::PolicyError;
use crate::lexer::{Token, TokenKind, tokens};

/// Most `!` or `-` in a row, as in Cedar.
const MAX_UNARY: usize = 4;
/// Words that name nothing else.
const RESERVED: [&str; 9] = ["true", "false", "if", "then", "else", "in", "like", "has", "is"];

/// Reads all rules of a text whose bounds were checked.
pub(crate) fn rules(text: &str) -> Result<Vec<Rule>, PolicyError> {
    let tokens = tokens(text)?;
    let end = text.matches('\n').count() + 1;
    let mut parser = Parser { tokens: &tokens, at: 0, end };
    let mut rules = Vec::new();
    while parser.peek().is_some() {
        rules.push(parser.rule()?);
    }
    Ok(rules)
}

struct Parser<'t> {
    tokens: &'t [Token],
    at: usize,
    /// The last line.
    end: usize,
}

type Parsed<T> = Result<T, PolicyError>;

impl<'t> Parser<'t> {
    fn peek(&self) -> Option<&'t TokenKind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn line(&self) -> usize {
        self.tokens.get(self.at).map_or(self.end, |token| token.line)
    }

    fn wrong<T>(&self, expected: &str) -> Parsed<T> {
        let found = match self.peek() {
            Some(TokenKind::Word(word)) => format!("`{word}`"),
            Some(TokenKind::Text(_)) => "a text".to_owned(),
            Some(TokenKind::Number(number)) => format!("`{number}`"),
            Some(TokenKind::Sign(sign)) => format!("`{sign}`"),
            None => "the end".to_owned(),
        };
        Err(PolicyError::Syntax { line: self.line(), why: format!("expected {expected}, found {found}") })
    }

    fn unsupported<T>(&self, what: &str) -> Parsed<T> {
        Err(PolicyError::Syntax { line: self.line(), why: format!("{what} are not taken here") })
    }

    fn is(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Sign(found)) if *found == sign)
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Some(TokenKind::Word(found)) if found == word)
    }

    fn take(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        self.at += usize::from(is);
        is
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is = self.is_word(word);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &'static str) -> Parsed<()> {
        if self.take(sign) { Ok(()) } else { self.wrong(&format!("`{sign}`")) }
    }

    fn expect_word(&mut self, word: &'static str) -> Parsed<()> {
        if self.take_word(word) { Ok(()) } else { self.wrong(&format!("`{word}`")) }
    }

    /// Any word, as names of annotations and members are.
    fn any_word(&mut self, what: &str) -> Parsed<String> {
        let Some(TokenKind::Word(word)) = self.peek() else { return self.wrong(what) };
        self.at += 1;
        Ok(word.clone())
    }

    fn text(&mut self) -> Parsed<String> {
        let Some(TokenKind::Text(text)) = self.peek() else { return self.wrong("a text") };
        self.at += 1;
        Ok(text.clone())
    }

    fn rule(&mut self) -> Parsed<Rule> {
        let (line, mut annotations) = (self.line(), Vec::<(String, String)>::new());
        while self.take("@") {
            let name = self.any_word("the name of an annotation")?;
            if annotations.iter().any(|(known, _)| *known == name) {
                return Err(PolicyError::Syntax { line: self.line(), why: format!("@{name} stands twice") });
            }
            let mut value = String::new();
            if self.take("(") {
                value = self.text()?;
                self.expect(")")?;
            }
            annotations.push((name, value));
        }
        let effect = match self.peek() {
            Some(TokenKind::Word(word)) if word == "permit" => Effect::Permit,
            Some(TokenKind::Word(word)) if word == "forbid" => Effect::Forbid,
            _ => return self.wrong("`permit` or `forbid`"),
        };
        self.at += 1;
        self.expect("(")?;
        let principal = self.scope("principal")?;
        self.expect(",")?;
        let action = self.scope("action")?;
        self.expect(",")?;
        let resource = self.scope("resource")?;
        self.take(",");
        self.expect(")")?;
        let mut conditions = Vec::new();
        while !self.take(";") {
            let wanted = self.is_word("when");
            if !wanted && !self.is_word("unless") {
                return self.wrong("`when`, `unless` or `;`");
            }
            self.at += 1;
            self.expect("{")?;
            conditions.push(Condition { wanted, expression: self.expression()? });
            self.expect("}")?;
        }
        Ok(Rule { annotations, effect, principal, action, resource, conditions, line })
    }

    fn scope(&mut self, name: &'static str) -> Parsed<Scope> {
        self.expect_word(name)?;
        if self.take("==") {
            return Ok(Scope::OneOf(vec![self.scope_entity()?]));
        }
        if self.take_word("in") {
            if name == "action" && self.take("[") {
                let mut entities = Vec::new();
                while !self.take("]") {
                    entities.push(self.scope_entity()?);
                    if !self.take(",") {
                        self.expect("]")?;
                        break;
                    }
                }
                return Ok(Scope::OneOf(entities));
            }
            return Ok(Scope::OneOf(vec![self.scope_entity()?]));
        }
        if name != "action" && self.take_word("is") {
            let kind = self.path()?;
            let one = if self.take_word("in") { Some(self.scope_entity()?) } else { None };
            return Ok(Scope::Is(kind, one));
        }
        Ok(Scope::Any)
    }

    fn scope_entity(&mut self) -> Parsed<Entity> {
        if self.is("?") {
            return self.unsupported("templates, whose slots nothing fills,");
        }
        let mut kind = self.name()?;
        loop {
            self.expect("::")?;
            if matches!(self.peek(), Some(TokenKind::Text(_))) {
                return Ok(Entity { kind, id: self.text()? });
            }
            kind = format!("{kind}::{}", self.name()?);
        }
    }

    /// A word that is not reserved.
    fn name(&mut self) -> Parsed<String> {
        match self.peek() {
            Some(TokenKind::Word(word)) if !RESERVED.contains(&word.as_str()) => self.any_word("a name"),
            _ => self.wrong("a name"),
        }
    }

    fn path(&mut self) -> Parsed<String> {
        let mut path = self.name()?;
        while self.take("::") {
            path = format!("{path}::{}", self.name()?);
        }
        Ok(path)
    }

    fn expression(&mut self) -> Parsed<Expr> {
        if self.take_word("if") {
            let condition = self.expression()?;
            self.expect_word("then")?;
            let then = self.expression()?;
            self.expect_word("else")?;
            let other = self.expression()?;
            return Ok(Expr::If(condition.into(), then.into(), other.into()));
        }
        let mut any = vec![self.all()?];
        while self.take("||") {
            any.push(self.all()?);
        }
        Ok(one_or(any, Expr::Any))
    }

    fn all(&mut self) -> Parsed<Expr> {
        let mut all = vec![self.relation()?];
        while self.take("&&") {
            all.push(self.relation()?);
        }
        Ok(one_or(all, Expr::All))
    }

    fn relation(&mut self) -> Parsed<Expr> {
        let left = self.sum()?;
        let compare = |parser: &mut Self, comparison, left: Expr| {
            parser.at += 1;
            Ok(Expr::Compare(comparison, left.into(), parser.sum()?.into()))
        };
        match self.peek() {
            Some(TokenKind::Sign("==")) => {
                self.at += 1;
                Ok(Expr::Equal(left.into(), self.sum()?.into()))
            }
            Some(TokenKind::Sign("!=")) => {
                self.at += 1;
                Ok(Expr::NotEqual(left.into(), self.sum()?.into()))
            }
            Some(TokenKind::Sign("<")) => compare(self, Comparison::Less, left),
            Some(TokenKind::Sign("<=")) => compare(self, Comparison::LessOrEqual, left),
            Some(TokenKind::Sign(">")) => compare(self, Comparison::Greater, left),
            Some(TokenKind::Sign(">=")) => compare(self, Comparison::GreaterOrEqual, left),
            Some(TokenKind::Word(word)) if word == "in" => {
                self.at += 1;
                Ok(Expr::In(left.into(), self.sum()?.into()))
            }
            Some(TokenKind::Word(word)) if word == "is" => {
                self.at += 1;
                let kind = self.path()?;
                if !self.take_word("in") {
                    return Ok(Expr::Is(left.into(), kind));
                }
                let group = self.sum()?;
                Ok(Expr::All(vec![Expr::Is(left.clone().into(), kind), Expr::In(left.into(), group.into())]))
            }
            Some(TokenKind::Word(word)) if word == "has" => self.has(&left),
            Some(TokenKind::Word(word)) if word == "like" => self.unsupported("patterns, because no fact is a text,"),
            _ => Ok(left),
        }
    }

    fn has(&mut self, left: &Expr) -> Parsed<Expr> {
        if *left != Expr::Fact(String::new()) {
            return self.unsupported("attributes of anything but the context");
        }
        self.at += 1;
        let name = match self.peek() {
            Some(TokenKind::Text(_)) => self.text()?,
            _ => self.name()?,
        };
        if self.is(".") {
            return self.unsupported("attributes of facts");
        }
        Ok(Expr::HasFact(name))
    }

    fn sum(&mut self) -> Parsed<Expr> {
        let first = self.product()?;
        let mut further = Vec::new();
        loop {
            let operation = match self.peek() {
                Some(TokenKind::Sign("+")) => Arithmetic::Add,
                Some(TokenKind::Sign("-")) => Arithmetic::Subtract,
                _ => return Ok(computed(first, further)),
            };
            self.at += 1;
            further.push((operation, self.product()?));
        }
    }

    fn product(&mut self) -> Parsed<Expr> {
        let first = self.unary()?;
        let mut further = Vec::new();
        while self.take("*") {
            further.push((Arithmetic::Multiply, self.unary()?));
        }
        Ok(computed(first, further))
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let sign = if self.is("!") { "!" } else { "-" };
        let mut count = 0;
        while self.take(sign) {
            count += 1;
        }
        if count > MAX_UNARY {
            return self.unsupported(&format!("more than {MAX_UNARY} `{sign}` in a row"));
        }
        // The sign before a number belongs to it: the smallest integer has no other form.
        let mut expression = match self.peek() {
            Some(TokenKind::Number(number)) => {
                let negative = sign == "-" && count > 0;
                count -= usize::from(negative);
                let number = i128::from(*number) * if negative { -1 } else { 1 };
                let Ok(number) = i64::try_from(number) else {
                    return self.wrong("an integer of at most 9223372036854775807");
                };
                self.at += 1;
                self.accesses(Expr::Long(number))?
            }
            _ => self.member()?,
        };
        for _ in 0..count {
            let inner = Box::new(expression);
            expression = if sign == "!" { Expr::Not(inner) } else { Expr::Negate(inner) };
        }
        Ok(expression)
    }

    fn member(&mut self) -> Parsed<Expr> {
        let primary = self.primary()?;
        self.accesses(primary)
    }

    fn accesses(&mut self, mut expression: Expr) -> Parsed<Expr> {
        loop {
            let is_context = expression == Expr::Fact(String::new());
            if self.take(".") {
                let name = self.any_word("a member")?;
                if self.take("(") {
                    expression = self.call(expression, &name)?;
                } else if is_context && !RESERVED.contains(&name.as_str()) {
                    expression = Expr::Fact(name);
                } else {
                    return self.unsupported("attributes of anything but the context");
                }
            } else if self.take("[") {
                let name = self.text()?;
                self.expect("]")?;
                if !is_context {
                    return self.unsupported("attributes of anything but the context");
                }
                expression = Expr::Fact(name);
            } else {
                return Ok(expression);
            }
        }
    }

    fn call(&mut self, on: Expr, name: &str) -> Parsed<Expr> {
        if name == "isEmpty" {
            self.expect(")")?;
            return Ok(Expr::IsEmpty(on.into()));
        }
        let of: fn(Box<Expr>, Box<Expr>) -> Expr = match name {
            "contains" => Expr::Contains,
            "containsAll" => Expr::ContainsAll,
            "containsAny" => Expr::ContainsAny,
            _ => return self.unsupported(&format!("calls of `{name}`")),
        };
        let argument = self.expression()?;
        self.take(",");
        self.expect(")")?;
        Ok(of(on.into(), argument.into()))
    }

    fn primary(&mut self) -> Parsed<Expr> {
        match self.peek() {
            Some(TokenKind::Text(_)) => Ok(Expr::Text(self.text()?)),
            Some(TokenKind::Sign("(")) => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(TokenKind::Sign("[")) => {
                self.at += 1;
                let mut items = Vec::new();
                while !self.take("]") {
                    items.push(self.expression()?);
                    if !self.take(",") {
                        self.expect("]")?;
                        break;
                    }
                }
                Ok(Expr::Set(items))
            }
            Some(TokenKind::Sign("{")) => self.unsupported("records"),
            Some(TokenKind::Sign("?")) => self.unsupported("templates, whose slots nothing fills,"),
            Some(TokenKind::Word(word)) => {
                let variable = match word.as_str() {
                    "true" => Some(Expr::Bool(true)),
                    "false" => Some(Expr::Bool(false)),
                    // Without a member it is nothing that can be compared; `check` refuses it.
                    "context" => Some(Expr::Fact(String::new())),
                    "principal" => Some(Expr::Variable(Variable::Principal)),
                    "action" => Some(Expr::Variable(Variable::Action)),
                    "resource" => Some(Expr::Variable(Variable::Resource)),
                    _ => None,
                };
                let names =
                    matches!(self.tokens.get(self.at + 1).map(|token| &token.kind), Some(TokenKind::Sign("::")));
                match variable {
                    Some(variable) if !names => {
                        self.at += 1;
                        Ok(variable)
                    }
                    _ if names => Ok(Expr::Entity(self.scope_entity()?)),
                    _ if self.tokens.get(self.at + 1).is_some_and(|next| next.kind == TokenKind::Sign("(")) => {
                        self.unsupported(&format!("calls of `{word}`"))
                    }
                    _ => self.wrong("an expression"),
                }
            }
            _ => self.wrong("an expression"),
        }
    }
}

fn one_or(mut items: Vec<Expr>, many: fn(Vec<Expr>) -> Expr) -> Expr {
    match items.pop() {
        Some(only) if items.is_empty() => only,
        Some(last) => {
            items.push(last);
            many(items)
        }
        None => many(items),
    }
}

fn computed(first: Expr, further: Vec<(Arithmetic, Expr)>) -> Expr {
    if further.is_empty() { first } else { Expr::Compute(first.into(), further) }
}
