//! q114: unit conversion and calculation.

use std::borrow::Cow;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use regex::Regex;

use muster_engine::prelude::*;
use muster_engine::stack::on_stack;

/// Maximum length of an expression and of a target, in bytes.
const MAX_TEXT: usize = 500;
/// Maximum steps of an evaluation, as counted by fend-core: unlike a clock this is deterministic.
const MAX_STEPS: u32 = 10_000;
/// The evaluator recurses once per operator; this suffices for the deepest expression of `MAX_TEXT` bytes.
const STACK: usize = 64 << 20;
/// Extra digits requested, so that the last reported one is rounded once and correctly.
const GUARD: usize = 30;
/// Functions of reals are computed to about this many digits.
const REAL_DIGITS: usize = 15;
/// fend's prefix of a rounded number.
const APPROXIMATELY: &str = "approx. ";
/// Functions would recurse without bound (`:`, `\`), shifts take one step however far, `@` accesses the evaluator's
/// internals, `#` begins a comment.
const REFUSED: [&str; 7] = [":", "\\", "=>", "<<", ">>", "@", "#"];

#[derive(Input)]
pub struct Input {
    expression: String,
    to: Option<String>,
    digits: usize,
}

#[derive(Output)]
pub struct Output {
    result: String,
    value: Option<f64>,
    unit: String,
    exact: bool,
}

/// Output of the evaluator.
struct Written {
    approximate: bool,
    /// Without the prefix of approximate results.
    text: String,
    /// End of the number and start of the unit.
    number: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    accept("expression", &input.expression)?;
    let mut expression = format!("({})", inches(input.expression.trim()));
    if let Some(to) = input.to.as_deref().map(str::trim).filter(|to| !to.is_empty()) {
        accept("to", to)?;
        expression = format!("({expression} to {to})");
    }
    let both = || {
        let plain = evaluate(&expression).map_err(refusal)?;
        let long = evaluate(&format!("{expression} to decimal to {} sf", input.digits.saturating_add(GUARD)));
        Ok((plain, long.ok()))
    };
    let fallen = || refusal("cannot be evaluated: write it more simply".to_owned());
    let (plain, long) = on_stack(context, STACK, fallen, both)?;
    Ok(reported(plain, long, input.digits, context))
}

/// `3 in` at the end, before an operator or a bracket is a length; elsewhere the evaluator reads `in` as a conversion.
fn inches(expression: &str) -> Cow<'_, str> {
    static INCHES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\d\s*)in(\s*(?:[+\-*/^)]|$))").ok());
    INCHES.as_ref().map_or(Cow::Borrowed(expression), |inches| inches.replace_all(expression, "${1}inch${2}"))
}

fn accept(field: &str, text: &str) -> Result<(), Failure> {
    if text.trim().is_empty() {
        return Err(Failure::invalid(&[field], "is empty: write an expression such as 12 ft + 6 inches"));
    }
    if text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!("{field} is longer than {MAX_TEXT} bytes: compute it in parts")));
    }
    // The distribution of 2000d6 takes minutes between two steps of the evaluator.
    static DICE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?:^|[^A-Za-z0-9_])[0-9_,]*d[0-9]").ok());
    if DICE.as_ref().is_none_or(|dice| dice.is_match(text)) {
        return Err(Failure::invalid(&[field], "has dice, such as 3d6: chances are not evaluated here"));
    }
    match REFUSED.iter().find(|refused| text.contains(**refused)) {
        Some(refused) => Err(Failure::invalid(
            &[field],
            format!("has {refused}: functions of one's own, shifts, dates and comments are not evaluated here"),
        )),
        None => Ok(()),
    }
}

struct Steps(AtomicU32);

impl fend_core::Interrupt for Steps {
    fn should_interrupt(&self) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed) >= MAX_STEPS
    }
}

fn evaluate(expression: &str) -> Result<Written, String> {
    let steps = Steps(AtomicU32::new(0));
    let written = fend_core::evaluate_with_interrupt(expression, &mut fend_core::Context::new(), &steps)?;
    let main = written.get_main_result();
    let text = main.strip_prefix(APPROXIMATELY).unwrap_or(main);
    let spans = written.get_main_result_spans();
    let number = spans.filter(|span| matches!(span.kind(), fend_core::SpanKind::Number)).map(|span| span.string());
    let number = number.last().and_then(|last| text.rfind(last).map(|at| at.saturating_add(last.len()))).unwrap_or(0);
    Ok(Written { approximate: text.len() < main.len(), text: text.to_owned(), number })
}

fn refusal(why: String) -> Failure {
    match why.as_str() {
        "interrupted" => {
            Failure::too_large(format!("the expression takes more than {MAX_STEPS} steps: use smaller numbers"))
        }
        _ => Failure::invalid(&["expression"], why),
    }
}

/// An exact result is kept as written, in any requested format; others are rounded here.
fn reported(plain: Written, long: Option<Written>, digits: usize, context: &Context) -> Output {
    let parted = |written: &Written| {
        let (number, unit) = written.text.split_at_checked(written.number).unwrap_or_default();
        (number.to_owned(), unit.to_owned())
    };
    let long = long.map(|long| (parted(&long), long.approximate));
    let value = long.as_ref().and_then(|((number, _), _)| number.parse::<f64>().ok()).filter(|value| value.is_finite());
    let (number, unit) = parted(&plain);
    let rounded = long.filter(|_| plain.approximate).and_then(|((number, unit), approximate)| {
        let (rounded, dropped) = round(&number, digits)?;
        Some((format!("{rounded}{unit}"), !approximate && !dropped))
    });
    let (result, exact) = match rounded {
        Some(rounded) => rounded,
        None => (format!("{number}{unit}"), !plain.approximate),
    };
    if !exact && digits > REAL_DIGITS {
        context.warn(format!("roots, logarithms and angles are computed to about {REAL_DIGITS} digits only"));
    }
    Output { result, value, unit: unit.trim().to_owned(), exact }
}

/// Rounds a plain decimal to significant digits, half away from zero; also returns whether anything was dropped. Digits
/// before the point are kept.
fn round(number: &str, digits: usize) -> Option<(String, bool)> {
    let (sign, magnitude) = number.strip_prefix('-').map_or(("", number), |magnitude| ("-", magnitude));
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    if whole.is_empty() || !whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let leading = if whole == "0" { fraction.bytes().take_while(|byte| *byte == b'0').count() } else { 0 };
    let significant = if whole == "0" { 0 } else { whole.len() };
    let kept = digits.saturating_sub(significant).saturating_add(leading).min(fraction.len());
    let (kept, dropped) = fraction.split_at_checked(kept)?;
    let mut decimal: Vec<u8> = whole.bytes().chain(kept.bytes()).collect();
    if dropped.bytes().next().is_some_and(|byte| byte >= b'5') {
        carry(&mut decimal);
    }
    let point = decimal.len().checked_sub(kept.len())?;
    let decimal = String::from_utf8(decimal).ok()?;
    let (whole, fraction) = decimal.split_at_checked(point)?;
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    Some((format!("{sign}{whole}{point}{fraction}"), dropped.bytes().any(|byte| byte != b'0')))
}

/// Increments the last digit.
fn carry(decimal: &mut Vec<u8>) {
    for digit in decimal.iter_mut().rev() {
        if *digit != b'9' {
            *digit = digit.saturating_add(1);
            return;
        }
        *digit = b'0';
    }
    decimal.insert(0, b'1');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(input: Value) -> Result<Value, Failure> {
        crate::FAMILY.run(114, input, &Context::default())
    }

    fn result(expression: &str, to: &str) -> (String, bool) {
        let output = run(json!({ "expression": expression, "to": to, "digits": 12 })).unwrap();
        (output["result"].as_str().unwrap().to_owned(), output["exact"].as_bool().unwrap())
    }

    /// NIST SP 811 (2008), appendix B.8: the factors in bold, which are exact.
    #[test]
    fn factors_that_are_exact_by_definition() {
        assert_eq!(result("1 yard", "m"), ("0.9144 m".to_owned(), true));
        assert_eq!(result("1 mile", "km"), ("1.609344 km".to_owned(), true));
        assert_eq!(result("1 lb", "kg"), ("0.45359237 kg".to_owned(), true));
        assert_eq!(result("1 atm", "Pa"), ("101325 Pa".to_owned(), true));
        assert_eq!(result("98.6 °F", "°C"), ("37 °C".to_owned(), true));
        assert_eq!(result("1 ft^3", "m^3"), ("0.028316846592 m^3".to_owned(), true));
    }

    /// The same table: a foot is 0.3048 m and an inch 0.0254 m exactly.
    #[test]
    fn inches_in_a_sum() {
        assert_eq!(result("12 ft + 3 in", "m"), ("3.7338 m".to_owned(), true));
        assert_eq!(result("(2 in) * 3", "cm"), ("15.24 cm".to_owned(), true));
        assert_eq!(result("3 bar in kPa", "kPa"), ("300 kPa".to_owned(), true));
    }

    /// The same table: pound-force per square inch 6.894757 E+03 Pa, acre 4.046873 E+03 m² (of the survey foot; the
    /// international one is 4046.8564224 m²), knot 5.144444 E-01 m/s.
    #[test]
    fn factors_that_are_rounded() {
        let value = |expression: &str, to: &str| {
            run(json!({ "expression": expression, "to": to })).unwrap()["value"].as_f64().unwrap()
        };
        assert!((value("1 psi", "Pa") - 6.894757e3).abs() < 5e-4);
        assert!((value("1 acre", "m^2") - 4046.8564224).abs() < 1e-9);
        assert!((value("1 knot", "m/s") - 5.144444e-1).abs() < 5e-8);
    }

    /// SI Brochure, 9th edition, section 2.2: the defining constants.
    #[test]
    fn constants_that_define_the_si() {
        assert_eq!(result("1 eV", "J"), ("0.0000000000000000001602176634 J".to_owned(), true));
        assert_eq!(result("c", "m/s"), ("299792458 m / s".to_owned(), true));
    }

    #[test]
    fn fractions_are_exact() {
        assert_eq!(result("1/3 + 1/4", "fraction"), ("7/12".to_owned(), true));
        assert_eq!(result("1/3", ""), ("0.333333333333".to_owned(), false));
        assert_eq!(result("0.1 + 0.2 == 0.3", ""), ("true".to_owned(), true));
        assert_eq!(result("2^100", ""), ("1267650600228229401496703205376".to_owned(), true));
    }

    /// 3 bar in psi is 43.51132131906…: a zero where the rounding falls.
    #[test]
    fn the_last_digit_is_rounded_correctly() {
        assert_eq!(result("3 bar", "psi"), ("43.5113213191 psi".to_owned(), false));
        assert_eq!(round("9.9996", 4), Some(("10".to_owned(), true)));
        assert_eq!(round("-0.00012345", 3), Some(("-0.000123".to_owned(), true)));
        assert_eq!(round("123456.5", 2), Some(("123457".to_owned(), true)));
    }

    #[test]
    fn incompatible_units_are_rejected_with_a_reason() {
        let Err(Failure::Invalid { problems }) = run(json!({ "expression": "2 m + 3 s" })) else { panic!() };
        assert!(problems[0].message.contains("incompatible"), "{problems:?}");
        for expression in [
            "roll d6",
            "1980d6d6 m",
            "mean 2d6",
            "10 USD to EUR",
            "(x: x x)(x: x x)",
            "1 << 1000000000",
            "1/0",
            "today",
            " ",
        ] {
            assert!(matches!(run(json!({ "expression": expression })), Err(Failure::Invalid { .. })), "{expression}");
        }
    }

    #[test]
    fn work_and_depth_are_bounded() {
        for expression in ["10^10^10", "99999!", "1e999999999"] {
            assert!(matches!(run(json!({ "expression": expression })), Err(Failure::TooLarge { .. })), "{expression}");
        }
        for part in ["(", "-", "sin ", "1+", "1^", "1 to ", "x of ", "1;", "sqrt("] {
            let deep = part.repeat(MAX_TEXT / part.len() - 1);
            // Either is right: only an overflow of the stack is not.
            let _either = run(json!({ "expression": format!("{deep}1") }));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(200))]

        /// Read or refused: only a fault of ours, or a panic, is wrong.
        #[test]
        fn no_expression_panics(
            parts in proptest::collection::vec(
                "[0-9.]{1,4}|[-+*/^!%()]| to | m| kg| °C| sin | log10 | sqrt |pi| mod |nCr|e|;|=|x|i|'a'|d6| of ", 1..10,
            ),
            to in "|m|hex|fraction|base 3|words|roman|3 dp",
        ) {
            let output = run(json!({ "expression": parts.concat(), "to": to }));
            proptest::prop_assert!(!matches!(output, Err(Failure::Internal { .. })), "{output:?}");
        }
    }
}
