//! Which parts of an instruction were used where no model reads it.

use std::ops::Range;

use super::agents::Agent;
use super::parameter::Parameter;
use super::prompt::cut;
use super::reference::{Head, Reference};

/// Most parts that are reported, and the maximum size of one, in bytes.
const MAX_PARTS: usize = 10;
const MAX_PART: usize = 200;
/// Longest text that is looked at, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// Words that ask for a focus.
const FOCUS: &[&str] = &[
    "focus on",
    "focusing on",
    "concentrate on",
    "interested in",
    "especially",
    "particularly",
    "in particular",
    "above all",
    "mainly",
];

/// Words that say nothing about what is wanted.
const COMMON: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "these", "those", "from", "into", "what", "which", "please", "are",
    "was", "has", "have", "our", "your", "his", "her", "its", "their", "all", "any", "can", "will", "would", "should",
    "there", "here", "then", "than", "give", "make", "show", "find", "look", "tell", "want", "need", "about", "also",
    "now", "run", "use", "check",
];

/// Returns the parts of an instruction from which nothing was taken: neither a param, nor a focus, nor does the agent read
/// the instruction itself, nor is it what the agent does anyway.
pub(super) fn unused(agent: &Agent, text: &str, used: &[Range<usize>]) -> Vec<String> {
    if text.len() > MAX_TEXT || reads_instruction(agent) || text.trim_start().starts_with('{') {
        return Vec::new();
    }
    let known = vocabulary(agent);
    let parts = sentences(text).into_iter().filter(|span| {
        let part = text.get(span.clone()).unwrap_or_default();
        let taken = used.iter().any(|used| used.start < span.end && span.start < used.end);
        !taken && !is_known(part, &known)
    });
    parts.take(MAX_PARTS).map(|span| cut(text.get(span).unwrap_or_default().trim(), MAX_PART)).collect()
}

/// Whether a step or a default takes the text of the instruction.
fn reads_instruction(agent: &Agent) -> bool {
    let task = |reference: &&Reference| reference.head == Head::Task;
    agent.plan.iter().flat_map(|step| &step.bind).any(|(_, binding)| binding.references().iter().any(task))
        || agent.parameters.iter().any(|parameter| parameter.references().iter().any(task))
}

/// Returns which sections an instruction puts first, by their position, and the places in the text.
pub(super) fn focus(titles: &[&str], text: &str) -> (Vec<usize>, Vec<Range<usize>>) {
    let text = text.get(..text.floor_char_boundary(MAX_TEXT)).unwrap_or_default();
    let lower = text.to_ascii_lowercase();
    let (mut chosen, mut places) = (Vec::new(), Vec::new());
    for phrase in FOCUS {
        for (at, _) in lower.match_indices(phrase) {
            let rest = lower.get(at + phrase.len()..).unwrap_or_default();
            let rest = rest.split(['.', ';', '\n', '?', '!']).next().unwrap_or_default();
            let wanted = stems(rest);
            let named = titles
                .iter()
                .enumerate()
                .filter(|(_, title)| stems(&title.to_lowercase()).iter().any(|stem| wanted.contains(stem)));
            let named: Vec<usize> = named.map(|(at, _)| at).collect();
            if !named.is_empty() {
                places.push(at..at + phrase.len() + rest.len());
            }
            chosen.extend(named.into_iter().filter(|at| !chosen.contains(at)).collect::<Vec<_>>());
        }
    }
    (chosen, places)
}

/// The beginnings of the words of a text that say something.
fn stems(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
    let words = words.filter(|word| word.chars().count() >= 3 && !COMMON.contains(&word.as_str()));
    words.map(|word| word.chars().take(5).collect()).collect()
}

fn vocabulary(agent: &Agent) -> Vec<String> {
    let mut text = format!("{} {} {} ", agent.name, agent.summary, agent.capabilities.join(" ").replace('-', " "));
    let names = |parameter: &Parameter| parameter.name.replace('_', " ");
    text.push_str(&agent.parameters.iter().map(names).collect::<Vec<_>>().join(" "));
    agent.plan.iter().for_each(|step| text.push_str(&format!(" {}", step.engine.name)));
    agent.writeup.iter().for_each(|section| text.push_str(&format!(" {}", section.title)));
    stems(&text)
}

/// Whether most words of a part are those of the agent: it says what the agent does anyway.
fn is_known(part: &str, known: &[String]) -> bool {
    let words = stems(part);
    // "risky" is known where "risk" is.
    let is_one =
        |word: &String| known.iter().any(|known| known.len() >= 4 && word.starts_with(known.as_str()) || known == word);
    let hits = words.iter().filter(|word| is_one(word)).count();
    hits * 2 >= words.len()
}

/// Sentences and lines, without blocks and tables.
fn sentences(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let (mut at, mut inside) = (0, false);
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if line.trim_end().starts_with("```") {
            inside = !inside;
            continue;
        }
        if inside || line.trim_start().starts_with('|') {
            continue;
        }
        let mut from = 0;
        for (end, _) in line.match_indices(['.', '!', '?', ';']) {
            let ends = line.get(end + 1..).is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace));
            if ends {
                found.push(start + from..start + end + 1);
                from = end + 1;
            }
        }
        found.push(start + from..start + line.len());
    }
    found.retain(|span| text.get(span.clone()).is_some_and(|part| part.trim().chars().any(char::is_alphanumeric)));
    found
}
