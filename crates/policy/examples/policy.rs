//! Judges facts by rules, for comparison with other readers of Cedar in `tests/governance`.
//!
//! `policy < LINES`: each line of standard input is `{"rules": TEXT?, "facts": FACTS}`, and each of standard output
//! `{"vetoes": [NAME], "errors": [NAME]}` or `{"refused": MESSAGE}`. Without rules the default ones judge.

use std::error::Error;
use std::io::BufRead;

use muster_policy::{DEFAULT_RULES, Facts, Rules, compile};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize)]
struct Line {
    rules: Option<String>,
    facts: Facts,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut last: Option<(String, Rules)> = None;
    for line in std::io::stdin().lock().lines() {
        let Line { rules, facts } = serde_json::from_str(&line?)?;
        let text = rules.unwrap_or_else(|| DEFAULT_RULES.to_owned());
        let rules = match last.take() {
            Some((before, rules)) if before == text => rules,
            _ => match compile(&text) {
                Ok(rules) => rules,
                Err(error) => {
                    println!("{}", json!({ "refused": error.to_string() }));
                    continue;
                }
            },
        };
        let vetoes = rules.judge(&facts);
        let named = |erred: bool| -> Vec<&str> {
            vetoes.iter().filter(|veto| veto.error.is_some() == erred).map(|veto| veto.rule.as_str()).collect()
        };
        println!("{}", json!({ "vetoes": named(false), "errors": named(true) }));
        last = Some((text, rules));
    }
    Ok(())
}
