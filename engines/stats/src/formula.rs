//! Formulas with variables (q104): `+ - * / ^`, parentheses, elementary functions, `pi` and `e`.
//!
//! ```text
//! sum     = product (("+" | "-") product)*
//! product = signed (("*" | "/") signed)*
//! signed  = ("-" | "+") signed | power
//! power   = atom ("^" signed)?          2^3^2 is 2^(3^2), -2^2 is -(2^2)
//! atom    = number | name | name "(" sum ("," sum)* ")" | "(" sum ")"
//! ```

/// Longest formula, and deepest nesting.
const MAX_LENGTH: usize = 2_000;
const MAX_DEPTH: usize = 100;

/// A function of one number.
type Unary = fn(f64) -> f64;
/// A function of two numbers.
type Binary = fn(f64, f64) -> f64;

const UNARY: [(&str, Unary); 18] = [
    ("abs", f64::abs),
    ("acos", f64::acos),
    ("asin", f64::asin),
    ("atan", f64::atan),
    ("ceil", f64::ceil),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("exp", f64::exp),
    ("floor", f64::floor),
    ("ln", f64::ln),
    ("log", f64::ln),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];
const BINARY: [(&str, Binary); 5] =
    [("atan2", f64::atan2), ("hypot", f64::hypot), ("max", f64::max), ("min", f64::min), ("pow", f64::powf)];

enum Operation {
    Number(f64),
    Variable(usize),
    Unary(Unary),
    Binary(Binary),
}

/// A formula as a list of operations on a stack.
pub(crate) struct Formula(Vec<Operation>);

impl Formula {
    /// Reads a formula of these variables.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(crate) fn parse(text: &str, variables: &[&str]) -> Result<Self, String> {
        if text.len() > MAX_LENGTH {
            return Err(format!("at most {MAX_LENGTH} bytes"));
        }
        let mut reader = Reader { text, at: 0, depth: 0, variables, out: Vec::new() };
        reader.sum()?;
        reader.blanks();
        if reader.at < text.len() {
            return Err(reader.problem("an operator is expected"));
        }
        Ok(Self(reader.out))
    }

    /// Whether the variable at this place occurs.
    pub(crate) fn uses(&self, variable: usize) -> bool {
        self.0.iter().any(|operation| matches!(operation, Operation::Variable(at) if *at == variable))
    }

    /// Returns the value; `None` if it is no finite number.
    pub(crate) fn value(&self, row: &[f64]) -> Option<f64> {
        let mut stack: Vec<f64> = Vec::with_capacity(8);
        for operation in &self.0 {
            let value = match operation {
                Operation::Number(x) => *x,
                Operation::Variable(at) => *row.get(*at)?,
                Operation::Unary(f) => f(stack.pop()?),
                Operation::Binary(f) => {
                    let right = stack.pop()?;
                    f(stack.pop()?, right)
                }
            };
            stack.push(value);
        }
        stack.pop().filter(|x| x.is_finite())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    variables: &'a [&'a str],
    out: Vec<Operation>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn problem(&self, what: &str) -> String {
        let near: String = self.rest().chars().take(12).collect();
        if near.is_empty() { format!("{what} at the end") } else { format!("{what} at `{near}`") }
    }

    /// Takes a sign if it is next.
    fn take(&mut self, sign: char) -> bool {
        self.blanks();
        let found = self.rest().starts_with(sign);
        if found {
            self.at += sign.len_utf8();
        }
        found
    }

    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.problem("the nesting is too deep")) } else { Ok(()) }
    }

    fn sum(&mut self) -> Result<(), String> {
        self.deeper()?;
        self.product()?;
        loop {
            let operation: Binary = if self.take('+') {
                |a, b| a + b
            } else if self.take('-') {
                |a, b| a - b
            } else {
                break;
            };
            self.product()?;
            self.out.push(Operation::Binary(operation));
        }
        self.depth -= 1;
        Ok(())
    }

    fn product(&mut self) -> Result<(), String> {
        self.signed()?;
        loop {
            self.blanks();
            // `**` is Python's power, which would read as a product otherwise.
            if self.rest().starts_with("**") {
                return Err(self.problem("a power is written ^,"));
            }
            let operation: Binary = if self.take('*') {
                |a, b| a * b
            } else if self.take('/') {
                |a, b| a / b
            } else {
                return Ok(());
            };
            self.signed()?;
            self.out.push(Operation::Binary(operation));
        }
    }

    fn signed(&mut self) -> Result<(), String> {
        self.deeper()?;
        if self.take('-') {
            self.signed()?;
            self.out.push(Operation::Unary(|x| -x));
        } else if self.take('+') {
            self.signed()?;
        } else {
            self.atom()?;
            if self.take('^') {
                self.signed()?;
                self.out.push(Operation::Binary(f64::powf));
            }
        }
        self.depth -= 1;
        Ok(())
    }

    fn atom(&mut self) -> Result<(), String> {
        if self.take('(') {
            self.sum()?;
            return if self.take(')') { Ok(()) } else { Err(self.problem("`)` is expected")) };
        }
        self.blanks();
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return self.number();
        }
        let length = self.rest().find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(self.rest().len());
        if length == 0 {
            return Err(self.problem("a number, a name or `(` is expected"));
        }
        let name = self.rest().get(..length).unwrap_or_default().to_owned();
        let start = self.at;
        self.at += length;
        if self.take('(') {
            return self.call(&name, start);
        }
        let operation = match self.variables.iter().position(|known| **known == *name) {
            Some(at) => Operation::Variable(at),
            None if name == "pi" => Operation::Number(std::f64::consts::PI),
            None if name == "e" => Operation::Number(std::f64::consts::E),
            None => {
                self.at = start;
                return Err(self.problem("no input has this name:"));
            }
        };
        self.out.push(operation);
        Ok(())
    }

    fn call(&mut self, name: &str, start: usize) -> Result<(), String> {
        let mut count = 0;
        loop {
            self.sum()?;
            count += 1;
            if self.take(')') {
                break;
            }
            if !self.take(',') {
                return Err(self.problem("`,` or `)` is expected"));
            }
        }
        let unary = UNARY.iter().find(|(known, _)| *known == name && count == 1).map(|(_, f)| Operation::Unary(*f));
        let binary = BINARY.iter().find(|(known, _)| *known == name && count == 2).map(|(_, f)| Operation::Binary(*f));
        let Some(operation) = unary.or(binary) else {
            self.at = start;
            return Err(self.problem(&format!("no function of {count} has this name:")));
        };
        self.out.push(operation);
        Ok(())
    }

    fn number(&mut self) -> Result<(), String> {
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let text = self.rest();
        let mut length = digits(text);
        if text.get(length..).is_some_and(|t| t.starts_with('.')) {
            length += 1;
            length += digits(text.get(length..).unwrap_or_default());
        }
        let tail = text.get(length..).unwrap_or_default();
        if let Some(power) = tail.strip_prefix(['e', 'E']) {
            let signed = power.strip_prefix(['+', '-']).unwrap_or(power);
            // `2e` without digits is not a power: the name follows a number, which is an error.
            if digits(signed) > 0 {
                length += 1 + (power.len() - signed.len()) + digits(signed);
            }
        }
        let value = text.get(..length).and_then(|t| t.parse::<f64>().ok()).filter(|x| x.is_finite());
        let value = value.ok_or_else(|| self.problem("a number is expected"))?;
        self.at += length;
        self.out.push(Operation::Number(value));
        Ok(())
    }
}
