//! q138: indicators of compromise.

mod kinds;
mod stix;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use muster_engine::prelude::*;

use kinds::{KINDS, Kind};

/// Maximum length of a text, in bytes.
const MAX_TEXT: usize = 1_048_576;
/// Maximum number of distinct indicators.
const MAX_INDICATORS: usize = 10_000;

#[derive(Debug, Input)]
pub struct Input {
    text: String,
    include_private: bool,
    stix: bool,
}

#[derive(Debug, Output)]
pub struct Output {
    indicators: Vec<Indicator>,
    stix_patterns: Vec<String>,
    counts: BTreeMap<&'static str, usize>,
}

#[derive(Debug, Output)]
struct Indicator {
    r#type: &'static str,
    value: String,
    raw: String,
    count: usize,
    offset: usize,
}

/// An indicator at one place.
struct Hit {
    kind: Kind,
    value: String,
    span: Range<usize>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let text = input.text.as_str();
    if text.len() > MAX_TEXT {
        return Err(Failure::too_large(format!(
            "text has {} bytes, at most {MAX_TEXT} are allowed: send it in parts",
            text.len()
        )));
    }
    let mut order: Vec<Indicator> = Vec::new();
    let mut known: HashMap<(Kind, String), usize> = HashMap::new();
    let (mut characters, mut at) = (0, 0);
    let mut left_out = 0_usize;
    for hit in hits(text, input.include_private) {
        if let Some(position) = known.get(&(hit.kind, hit.value.clone())) {
            if let Some(indicator) = order.get_mut(*position) {
                indicator.count += 1;
            }
            continue;
        }
        if order.len() == MAX_INDICATORS {
            left_out += 1;
            continue;
        }
        characters += text.get(at..hit.span.start).map_or(0, |between| between.chars().count());
        at = hit.span.start;
        let raw = text.get(hit.span).unwrap_or_default().to_owned();
        known.insert((hit.kind, hit.value.clone()), order.len());
        order.push(Indicator { r#type: hit.kind.word(), value: hit.value, raw, count: 1, offset: characters });
    }
    if left_out > 0 {
        cx.warn(format!("truncated: {left_out} further indicators are not listed"));
    }
    let mut counts = BTreeMap::new();
    for indicator in &order {
        *counts.entry(indicator.r#type).or_default() += 1;
    }
    let stix_patterns = if input.stix {
        order.iter().filter_map(|found| stix::pattern(found.r#type, &found.value)).collect()
    } else {
        Vec::new()
    };
    Ok(Output { indicators: order, stix_patterns, counts })
}

/// Finds indicators from left to right. Of two that overlap, the kind that is earlier in the list is kept.
fn hits(text: &str, include_private: bool) -> Vec<Hit> {
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let mut hits = Vec::new();
    for rule in KINDS.iter() {
        let Some(pattern) = rule.pattern() else { continue };
        for captures in pattern.captures_iter(text) {
            let Some(found) = captures.name("it").or_else(|| captures.get(0)) else { continue };
            let Some(trimmed) = (rule.trim)(found.as_str()) else { continue };
            let span = found.start()..found.start() + trimmed.len();
            let free = taken.range(..span.end).next_back().is_none_or(|(_, end)| *end <= span.start);
            if !free || span.is_empty() {
                continue;
            }
            let before = text.get(..span.start).and_then(|before| before.chars().next_back());
            let after = text.get(span.end..).unwrap_or_default();
            let Some(value) = (rule.value)(trimmed, before, after) else { continue };
            taken.insert(span.start, span.end);
            if include_private || !kinds::is_private(rule.kind, &value) {
                hits.push(Hit { kind: rule.kind, value, span });
            }
        }
    }
    hits.sort_by_key(|hit| hit.span.start);
    hits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(text: &str) -> Vec<(&'static str, String)> {
        let input = Input { text: text.to_owned(), include_private: false, stix: false };
        let output = run(input, &Context::default()).unwrap();
        output.indicators.into_iter().map(|found| (found.r#type, found.value)).collect()
    }

    #[test]
    fn refanged_and_plain_forms_are_the_same() {
        for (raw, value) in [
            ("hxxps[:]//evil[.]example[/]a?b=1", ("url", "https://evil.example/a?b=1")),
            ("evil[.]example", ("domain", "evil.example")),
            ("evil(dot)example", ("domain", "evil.example")),
            ("a[at]evil[.]example", ("email", "a@evil.example")),
            ("8[.]8[.]8[.]8", ("ipv4", "8.8.8.8")),
            ("2001[:]4860[:]4860[:][:]8888", ("ipv6", "2001:4860:4860::8888")),
        ] {
            assert_eq!(found(raw), [(value.0, value.1.to_owned())], "{raw}");
        }
    }

    #[test]
    fn harmless_texts_have_no_indicators() {
        for text in [
            "Version 10.4.0.1.2 of main.rs and lib.py, at 12:30:45 on 2026-01-02.",
            "std::collections::HashMap, a.b.c, e.g. this, i.e. that. No.3",
            "Call 555-0100. Ratio 3:4::5 of 1.2.3. x=10.0.0.1 is private",
            "DEADBEEF 00000000000000000000000000000000",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn wallets_need_their_checksum() {
        let good = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
        assert_eq!(found(good), [("bitcoin", good.to_owned())]);
        assert_eq!(found("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNb"), []);
        let segwit = "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4";
        assert_eq!(found(segwit), [("bitcoin", segwit.to_owned())]);
        assert_eq!(found("bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t5"), []);
    }

    proptest! {
        #[test]
        fn raw_is_the_text_at_its_offset(before in "\\PC{0,20}", after in "[ \n]\\PC{0,20}") {
            let text = format!("{before} 8[.]8[.]4[.]4{after}");
            let input = Input { text: text.clone(), include_private: false, stix: true };
            for found in run(input, &Context::default()).unwrap().indicators {
                let at: String = text.chars().skip(found.offset).take(found.raw.chars().count()).collect();
                prop_assert_eq!(at, found.raw);
            }
        }

        #[test]
        fn adding_text_on_another_line_keeps_what_was_found(text in "\\PC{0,60}") {
            let all = found(&format!("{text}\nSeen 8.8.8.8 and CVE-2021-44228\n{text}"));
            prop_assert!(all.contains(&("ipv4", "8.8.8.8".to_owned())));
            prop_assert!(all.contains(&("cve", "CVE-2021-44228".to_owned())));
        }
    }
}
