//! Builds the grammar (GBNF) of an answer that may or must call tools.

use std::fmt::Write;

use super::{AFTER_NAME, BEFORE_NAME, CLOSE, OPEN};

/// First characters of text in an answer that may call tools. Small models that intend a call often write it as a
/// document of their own invention, in a code fence or after another marker: text that begins like one of these must be
/// a call.
const WORDS: &str = "[^<`{\\[ \\t\\r\\n]";

/// What an answer may be besides calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// A call is required.
    Nothing,
    /// Text, after which calls may follow.
    Text,
    /// A document of this grammar instead.
    Document(String),
}

/// Returns a grammar whose rule `root` is the answer. `tools` are pairs of a name and the grammar of its arguments;
/// each grammar's first rule is its own `root`.
pub(crate) fn grammar(tools: &[(&str, &str)], otherwise: &AnswerForm, most: u32) -> String {
    let mut out = String::new();
    let mut rule = |name: &str, body: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(out, "{name} ::= {body}");
    };
    let open = literal(OPEN);
    match otherwise {
        AnswerForm::Nothing => rule("root", &format!("{open} calls")),
        AnswerForm::Document(_) => rule("root", &format!("{open} calls | document-root")),
        AnswerForm::Text => rule("root", &format!("| {WORDS} text-0 | {open} calls")),
    }
    let close = literal(&format!("}}\n{CLOSE}"));
    let further = match most {
        0 | 1 => String::new(),
        _ => format!(" ({} call {close}){{0,{}}}", literal(&format!("\n{OPEN}")), most - 1),
    };
    rule("calls", &format!("call {close}{further}"));
    let names: Vec<String> = (0..tools.len()).map(|index| format!("tool-{index}")).collect();
    rule("call", &names.join(" | "));
    for (own, (name, _)) in names.iter().zip(tools) {
        rule(own, &format!("{} {own}-root", literal(&format!("{BEFORE_NAME}{name}{AFTER_NAME}"))));
    }
    if *otherwise == AnswerForm::Text {
        text_rules(&mut out);
    }
    for (own, (_, arguments)) in names.iter().zip(tools) {
        out.push_str(&prefixed(arguments, &format!("{own}-")));
    }
    if let AnswerForm::Document(document) = otherwise {
        out.push_str(&prefixed(document, "document-"));
    }
    out
}

/// Any text up to the first `OPEN`, after which calls must follow: the search automaton of `OPEN`, one rule per state.
/// As `<` occurs only at its beginning, every failure transition leads to the first or second state.
fn text_rules(out: &mut String) {
    for (state, wanted) in OPEN.chars().enumerate() {
        let next = if state + 1 == OPEN.len() { "calls".to_owned() } else { format!("text-{}", state + 1) };
        let found = format!("{} {next}", literal(&wanted.to_string()));
        let _ = match state {
            0 => writeln!(out, "text-0 ::= | [^<] text-0 | {found}"),
            _ => writeln!(out, "text-{state} ::= | [^<{wanted}] text-0 | \"<\" text-1 | {found}"),
        };
    }
}

fn literal(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// Lexical context of a character in a grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LexicalContext {
    Rule,
    Name,
    /// Within a literal or class that ends at this character; a backslash escapes the next one.
    Within(char),
    Escaped(char),
}

/// Prefixes the names of all rules, so that several grammars can be combined.
fn prefixed(grammar: &str, prefix: &str) -> String {
    let mut out = String::with_capacity(grammar.len() * 2);
    let mut place = LexicalContext::Rule;
    for character in grammar.chars() {
        place = match (place, character) {
            (LexicalContext::Within(end), '\\') => LexicalContext::Escaped(end),
            (LexicalContext::Escaped(end), _) => LexicalContext::Within(end),
            (LexicalContext::Within(end), _) if character == end => LexicalContext::Rule,
            (LexicalContext::Within(end), _) => LexicalContext::Within(end),
            (_, '"') => LexicalContext::Within('"'),
            (_, '[') => LexicalContext::Within(']'),
            (_, '{') => LexicalContext::Within('}'),
            (LexicalContext::Name, _) if is_name(character) => LexicalContext::Name,
            (LexicalContext::Rule, _) if is_name(character) => {
                out.push_str(prefix);
                LexicalContext::Name
            }
            _ => LexicalContext::Rule,
        };
        out.push(character);
    }
    out
}

fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rule_names_are_prefixed() {
        let source = "root ::= \"a \\\" b\" [^a\\]b\"] x-1 (y | z){0,15} \"\\\\\" end*\nspace ::= | \" \"\n";
        let expected =
            "p-root ::= \"a \\\" b\" [^a\\]b\"] p-x-1 (p-y | p-z){0,15} \"\\\\\" p-end*\np-space ::= | \" \"\n";
        assert_eq!(prefixed(source, "p-"), expected);
    }

    #[test]
    fn a_required_call_is_the_whole_answer() {
        let got = grammar(&[("f", "root ::= \"{}\"\n")], &AnswerForm::Nothing, 1);
        let expected = "root ::= \"<tool_call>\" calls\ncalls ::= call \"}\\n</tool_call>\"\ncall ::= tool-0\n\
                        tool-0 ::= \"\\n{\\\"name\\\": \\\"f\\\", \\\"arguments\\\": \" tool-0-root\n\
                        tool-0-root ::= \"{}\"\n";
        assert_eq!(got, expected);
    }

    #[test]
    fn text_may_hold_all_but_the_beginning_of_a_call() {
        let mut rules = String::new();
        text_rules(&mut rules);
        let lines: Vec<&str> = rules.lines().collect();
        assert_eq!(lines.len(), OPEN.len());
        assert_eq!(lines[0], "text-0 ::= | [^<] text-0 | \"<\" text-1");
        assert_eq!(lines[10], "text-10 ::= | [^<>] text-0 | \"<\" text-1 | \">\" calls");
    }
}
