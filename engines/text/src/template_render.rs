//! q185: template rendering.

use std::collections::BTreeSet;

use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior};
use serde_json::Value;

use muster_engine::prelude::*;
use muster_engine::stack::on_stack;

/// Stack of the template machine.
const STACK: usize = 16 << 20;
/// Maximum instructions of the template machine: it ends a loop over a million items.
const FUEL: u64 = 5_000_000;
/// Maximum output size, in bytes.
const MAX_OUTPUT: usize = 4 << 20;
/// Maximum nesting of macros and includes.
const MAX_DEPTH: usize = 100;

#[derive(Input)]
pub struct Input {
    template: String,
    data: Value,
    autoescape: Escape,
    strict: bool,
}

#[derive(Clone, Copy, Words)]
enum Escape {
    None,
    Html,
    Json,
}

#[derive(Output)]
pub struct Output {
    output: String,
    variables: Vec<String>,
    warnings: Vec<String>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    // MiniJinja 3.0.5 panics on `""[::-1]`.
    let broken = || Failure::invalid(&["template"], "has an expression that the template library cannot evaluate");
    on_stack(cx, STACK, broken, || rendered(&input))
}

fn rendered(input: &Input) -> Result<Output, Failure> {
    if !input.data.is_object() && !input.data.is_null() {
        return Err(Failure::invalid(&["data"], "must be an object: its fields are the template's variables"));
    }
    let mut environment = Environment::new();
    environment.set_fuel(Some(FUEL));
    environment.set_recursion_limit(MAX_DEPTH);
    environment.set_undefined_behavior(if input.strict {
        UndefinedBehavior::Strict
    } else {
        UndefinedBehavior::Lenient
    });
    let escape = input.autoescape;
    environment.set_auto_escape_callback(move |_| match escape {
        Escape::None => AutoEscape::None,
        Escape::Html => AutoEscape::Html,
        Escape::Json => AutoEscape::Json,
    });
    let template = environment.template_from_str(&input.template).map_err(|error| refused(&error))?;
    let variables: BTreeSet<String> = template.undeclared_variables(false).into_iter().collect();
    let warnings = unused(&input.data, &variables);
    let mut bounded = Bounded(Vec::new());
    let rendered = template.render_captured_to(minijinja::value::Serde(&input.data), &mut bounded).map(drop);
    if bounded.0.len() >= MAX_OUTPUT {
        return Err(Failure::too_large(format!("the output is over {MAX_OUTPUT} bytes")));
    }
    rendered.map_err(|error| refused(&error))?;
    let output = String::from_utf8(bounded.0).map_err(Failure::internal)?;
    Ok(Output { output, variables: variables.into_iter().collect(), warnings })
}

/// Members of the data that are never used are often misspelled.
fn unused(data: &Value, variables: &BTreeSet<String>) -> Vec<String> {
    let names = data.as_object().into_iter().flatten().map(|(name, _)| name);
    names.filter(|name| !variables.contains(*name)).map(|name| format!("`{name}` of the data is not used")).collect()
}

fn refused(error: &minijinja::Error) -> Failure {
    let line = error.line().map(|line| format!(" (line {line})")).unwrap_or_default();
    match error.kind() {
        ErrorKind::OutOfFuel => Failure::too_large(format!("the template takes more than {FUEL} steps")),
        ErrorKind::UndefinedError => Failure::invalid(
            &["data"],
            format!("the template uses an undefined value: {error}{line}; add it, or set \"strict\": false"),
        ),
        _ => Failure::invalid(&["template"], format!("{error}{line}")),
    }
}

/// Rejects output beyond the limit, so that a small template cannot exhaust memory.
struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let remaining = MAX_OUTPUT.saturating_sub(self.0.len());
        self.0.extend(bytes.iter().take(remaining));
        if bytes.len() > remaining { Err(std::io::Error::other("too long")) } else { Ok(bytes.len()) }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(input: Value) -> Result<Value, Failure> {
        crate::FAMILY.run(185, input, &Context::default())
    }

    fn output(template: &str, data: Value) -> String {
        run(json!({ "template": template, "data": data })).unwrap()["output"].as_str().unwrap().to_owned()
    }

    /// Jinja2 3.1, "Template Designer Documentation": whitespace control, `loop`, tests, and filters of its examples.
    #[test]
    fn examples_of_the_template_designer_documentation() {
        let seq = json!({ "seq": [1, 2, 3] });
        assert_eq!(output("{% for item in seq -%}\n    {{ item }}\n{%- endfor %}", seq.clone()), "123");
        assert_eq!(output("{% for i in seq %}{{ loop.index }}/{{ loop.length }};{% endfor %}", seq), "1/3;2/3;3/3;");
        let names = json!({ "my_list": ["a", "b"], "name": "<x>" });
        assert_eq!(output("{{ my_list|join(', ') }}", names.clone()), "a, b");
        assert_eq!(output("{{ 'Hello World'|replace('Hello', 'Goodbye') }}", names.clone()), "Goodbye World");
        assert_eq!(output("{{ name|e }}", names), "&lt;x&gt;");
        assert_eq!(output("{{ undefined_one is defined }}", json!({})), "False");
    }

    /// MiniJinja's own test input `loop_filter.txt`: a loop with a condition.
    #[test]
    fn a_loop_with_a_condition() {
        let template = "{% for item in seq if item is odd %}[{{ item }}]{% endfor %}";
        assert_eq!(output(template, json!({ "seq": [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] })), "[1][3][5][7][9]");
    }

    #[test]
    fn escaping_is_optional() {
        let escaped = |how| run(json!({ "template": "{{ x }}", "data": { "x": "<b>\"" }, "autoescape": how })).unwrap();
        assert_eq!(escaped("html")["output"], "&lt;b&gt;&quot;");
        assert_eq!(escaped("json")["output"], "\"<b>\\\"\"");
        assert_eq!(escaped("none")["output"], "<b>\"");
    }

    #[test]
    fn undefined_variables_are_rejected_unless_lenient() {
        assert!(matches!(run(json!({ "template": "{{ x }}", "data": {} })), Err(Failure::Invalid { .. })));
        let lenient = run(json!({ "template": "a{{ x }}", "data": { "y": 1 }, "strict": false })).unwrap();
        assert_eq!(lenient, json!({ "output": "a", "variables": ["x"], "warnings": ["`y` of the data is not used"] }));
    }

    #[test]
    fn an_expression_that_breaks_the_library_is_refused() {
        let broken = run(json!({ "template": "{{ x[::-1] }}", "data": { "x": "" } }));
        assert!(matches!(broken, Err(Failure::Invalid { .. })), "{broken:?}");
        assert_eq!(output("{{ x[::-1] }}", json!({ "x": "añb" })), "bña");
    }

    #[test]
    fn an_endless_template_is_stopped() {
        let nested = "{% for a in range(10000) %}{% for b in range(10000) %}{{ b }}{% endfor %}{% endfor %}";
        assert!(matches!(run(json!({ "template": nested, "data": {} })), Err(Failure::TooLarge { .. })));
        let long = "{% for a in range(9000) %}{{ x }}{% endfor %}";
        let data = json!({ "x": "y".repeat(1_000) });
        assert!(matches!(run(json!({ "template": long, "data": data })), Err(Failure::TooLarge { .. })));
        assert!(run(json!({ "template": "{% include 'x' %}", "data": {} })).is_err(), "no file is loaded");
    }
}
