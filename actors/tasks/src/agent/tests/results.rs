//! The results of all scenarios in full: `examples/agents/RESULTS.md`, which `MUSTER_WRITE_RESULTS=1` writes.

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;

use super::scenarios::{ScenarioRun, folder, run_all};

const HEAD: &str = "# Results of the scenarios

Each scenario of this folder as it ends without a model: its task, what was filled from it with the evidence, and the
report in full. Written by `MUSTER_WRITE_RESULTS=1 cargo nextest run -p muster-tasks results`; a test fails where a result
is another than here.
";
/// Most lines of a task, and most bytes of a value, that are shown.
const MAX_LINES: usize = 40;
const MAX_VALUE: usize = 200;

/// What a task says, with its longest part left out.
fn task(text: &str) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    let mut shown: Vec<String> =
        lines.iter().take(MAX_LINES).map(|line| format!("> {line}").trim_end().to_owned()).collect();
    if lines.len() > MAX_LINES {
        shown.push(format!(">\n> … and {} more lines", lines.len() - MAX_LINES));
    }
    shown.join("\n")
}

fn filled(result: &Value) -> String {
    let items = result["filled"].as_array().unwrap();
    if items.is_empty() {
        return "Nothing: the params are given.".to_owned();
    }
    let cell = |text: &str| {
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
        let end = line.floor_char_boundary(MAX_VALUE);
        if end < line.len() { format!("{}…", &line[..end]) } else { line }
    };
    let mut table = "| param | value | by | evidence |\n|---|---|---|---|".to_owned();
    for item in items {
        let text = |name: &str| item[name].as_str().unwrap_or_default();
        let value = cell(&item["value"].to_string());
        write!(table, "\n| `{}` | `{value}` | {} | {} |", text("param"), text("by"), cell(text("evidence"))).unwrap();
    }
    table
}

/// The report with its headings below those of this document, and without the sections that vary.
fn report(run: &ScenarioRun) -> String {
    let text = run.result["text"].as_str().unwrap();
    let (mut lines, mut block, mut left_out) = (Vec::new(), false, false);
    for line in text.lines() {
        block ^= line.starts_with("```");
        if !block && let Some(title) = line.strip_prefix("## ") {
            left_out = run.scenario.varies.iter().any(|section| section == title);
            lines.push(format!("##{line}"));
            if left_out {
                lines.push("\n(another in each run)\n".to_owned());
            }
        } else if !left_out {
            let heading = !block && line.starts_with('#');
            lines.push(if heading { format!("##{line}") } else { line.to_owned() });
        }
    }
    lines.join("\n")
}

fn results(runs: &[ScenarioRun]) -> String {
    let mut text = HEAD.to_owned();
    for run in runs {
        let (name, source) = (run.name.trim_end_matches(".toml"), &run.scenario.source);
        let (task, filled, report) = (task(&run.scenario.task), filled(&run.result), report(run));
        write!(
            text,
            "\n## {name}\n\nFacts: {source}\n\n### Task\n\n{task}\n\n### Taken from the task\n\n{filled}\n\n### Report\n\n{report}\n"
        )
        .unwrap();
    }
    text
}

#[tokio::test]
async fn results_are_those_that_are_recorded() {
    let text = results(&run_all().await);
    let path = folder().join("RESULTS.md");
    if std::env::var_os("MUSTER_WRITE_RESULTS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    let recorded = fs::read_to_string(&path).unwrap_or_default();
    let differs = recorded.lines().zip(text.lines()).position(|(recorded, now)| recorded != now);
    let at = differs.unwrap_or(recorded.lines().count().min(text.lines().count()));
    let line = |text: &str| text.lines().nth(at).unwrap_or("(ends here)").to_owned();
    assert!(
        recorded == text,
        "RESULTS.md is out of date from line {} on: {:?} is now {:?}; MUSTER_WRITE_RESULTS=1 writes it, read what changed",
        at + 1,
        line(&recorded),
        line(&text)
    );
}
