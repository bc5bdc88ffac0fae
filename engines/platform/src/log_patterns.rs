//! q58: log template mining.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;

use muster_engine::prelude::*;

/// Maximum children of a tree node; further words go to the wildcard (Drain's maxChild).
const MAX_CHILDREN: usize = 100;
/// Maximum number of lines per call.
const MAX_LINES: usize = 200_000;
/// Maximum number of words examined per line.
const MAX_WORDS: usize = 400;
/// Maximum number of templates returned.
const MAX_TEMPLATES: usize = 2_000;
/// A template is rare below this share of all lines, and at most this many.
const RARE_SHARE: f64 = 0.01;
const RARE_COUNT: usize = 1;
const WILDCARD: &str = "<*>";

#[derive(Input)]
pub struct Input {
    lines: Vec<String>,
    similarity: f64,
    depth: f64,
    baseline: Vec<String>,
}

#[derive(Output)]
pub struct Output {
    templates: Vec<Template>,
    new_templates: Vec<String>,
    rare: Vec<String>,
}

#[derive(Output)]
struct Template {
    id: usize,
    template: String,
    count: usize,
    share: f64,
    first: usize,
    sample: String,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.lines.len() + input.baseline.len() > MAX_LINES {
        return Err(Failure::too_large(format!("at most {MAX_LINES} lines at a time")));
    }
    let mut drain = Drain::new(input.depth as usize, input.similarity);
    for line in &input.baseline {
        drain.add(line, None);
    }
    let before = drain.groups.len();
    for (at, line) in input.lines.iter().enumerate() {
        drain.add(line, Some(at));
    }
    let total = input.lines.iter().filter(|line| !line.trim().is_empty()).count().max(1);
    let mut found: Vec<(usize, Template)> = drain
        .groups
        .into_iter()
        .enumerate()
        .filter_map(|(id, group)| {
            let first = group.first?;
            let sample = input.lines.get(first).cloned().unwrap_or_default();
            let (count, share) = (group.count, group.count as f64 / total as f64);
            Some((id, Template { id, template: group.words.join(" "), count, share, first, sample }))
        })
        .collect();
    found.sort_by(|(_, a), (_, b)| b.count.cmp(&a.count).then(a.first.cmp(&b.first)));
    if found.len() > MAX_TEMPLATES {
        context.warn(format!("only the {MAX_TEMPLATES} most frequent of {} templates are reported", found.len()));
        found.truncate(MAX_TEMPLATES);
    }
    let is_new = |id: &usize| !input.baseline.is_empty() && *id >= before;
    let new_templates = found.iter().filter(|(id, _)| is_new(id)).map(|(_, t)| t.template.clone()).collect();
    let rare = |t: &&Template| t.count <= RARE_COUNT || t.share < RARE_SHARE;
    let rare = found.iter().map(|(_, t)| t).filter(rare).map(|t| t.template.clone()).collect();
    let templates = found.into_iter().enumerate().map(|(id, (_, t))| Template { id: id + 1, ..t }).collect();
    Ok(Output { templates, new_templates, rare })
}

/// Variable parts are masked before clustering, as in section III.A of the paper.
static MASKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let masks = [
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
        (r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:?\d{2})?", "<time>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", "<ip>"),
        (r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b", "<mac>"),
        (r"\b0x[0-9a-fA-F]+\b", "<hex>"),
        (r"\b(?:[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]*|[0-9a-f]*[a-f][0-9a-f]*\d[0-9a-f]*){1}\b", "<hex>"),
        (r"(?:^|[^\w.<-])(-?\d+(?:\.\d+)?)\b", "<num>"),
    ];
    masks.into_iter().filter_map(|(mask, name)| Some((Regex::new(mask).ok()?, name))).collect()
});

fn masked(line: &str) -> Vec<String> {
    let mut text = line.to_owned();
    for (mask, name) in MASKS.iter() {
        text = mask
            .replace_all(&text, |found: &regex::Captures<'_>| {
                let whole = found.get(0).map_or("", |all| all.as_str());
                match found.get(1) {
                    Some(number) => whole.replacen(number.as_str(), name, 1),
                    // A short word such as `a1` or `bed4` is more often a name than a hash.
                    None if *name == "<hex>" && !whole.starts_with("0x") && whole.len() < 8 => whole.to_owned(),
                    None => (*name).to_owned(),
                }
            })
            .into_owned();
    }
    text.split_whitespace().take(MAX_WORDS).map(str::to_owned).collect()
}

/// Lines of one template.
struct Group {
    words: Vec<String>,
    count: usize,
    /// Index of its first line; `None` while only the baseline has it.
    first: Option<usize>,
}

/// Parse tree: by number of words, then by the first words, to groups of similar lines.
struct Drain {
    prefix: usize,
    similarity: f64,
    leaves: HashMap<(usize, Vec<String>), Vec<usize>>,
    children: BTreeMap<(usize, Vec<String>), HashSet<String>>,
    groups: Vec<Group>,
}

impl Drain {
    /// The paper's depth includes the root and the length layer; the rest are word levels.
    fn new(depth: usize, similarity: f64) -> Self {
        let prefix = depth.saturating_sub(2).max(1);
        Self { prefix, similarity, leaves: HashMap::new(), children: BTreeMap::new(), groups: Vec::new() }
    }

    fn add(&mut self, line: &str, at: Option<usize>) {
        let words = masked(line);
        if words.is_empty() {
            return;
        }
        let path = self.path(&words);
        let leaf = self.leaves.entry((words.len(), path)).or_default();
        let groups = &self.groups;
        let best = leaf
            .iter()
            .filter_map(|id| groups.get(*id).map(|group| (*id, likeness(&group.words, &words))))
            .max_by(|(a, x), (b, y)| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)).then(b.cmp(a)))
            .filter(|(_, (share, _))| *share >= self.similarity)
            .map(|(id, _)| id);
        match best.and_then(|id| self.groups.get_mut(id)) {
            Some(group) => {
                for (old, new) in group.words.iter_mut().zip(words) {
                    if *old != new {
                        WILDCARD.clone_into(old);
                    }
                }
                group.count += usize::from(at.is_some());
                group.first = group.first.or(at);
            }
            None => {
                leaf.push(self.groups.len());
                self.groups.push(Group { words, count: usize::from(at.is_some()), first: at });
            }
        }
    }

    /// Words that select the path: those with digits, and those beyond a node's limit, select the wildcard.
    fn path(&mut self, words: &[String]) -> Vec<String> {
        let mut path = Vec::with_capacity(self.prefix);
        for word in words.iter().take(self.prefix) {
            let known = self.children.entry((words.len(), path.clone())).or_default();
            let varies = word.starts_with('<') || word.bytes().any(|byte| byte.is_ascii_digit());
            let step = if varies || (!known.contains(word) && known.len() >= MAX_CHILDREN) {
                WILDCARD.to_owned()
            } else {
                known.insert(word.clone());
                word.clone()
            };
            path.push(step);
        }
        path
    }
}

/// Share of equal words by position (simSeq), and the number of wildcards, which breaks ties.
fn likeness(template: &[String], words: &[String]) -> (f64, usize) {
    let equal = template.iter().zip(words).filter(|(a, b)| a == b).count();
    let wild = template.iter().filter(|word| *word == WILDCARD).count();
    (equal as f64 / words.len().max(1) as f64, wild)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn run(input: Value) -> Value {
        crate::FAMILY.run(58, input, &Context::default()).unwrap()
    }

    /// He et al. 2017, figure 1 and section III: HDFS lines of one event.
    #[test]
    fn hdfs_lines_of_the_paper() {
        let lines = [
            "Receiving block blk_-1608999687919862906 src: /10.250.19.102:54106 dest: /10.250.19.102:50010",
            "Receiving block blk_-3544583377289625738 src: /10.250.11.85:40524 dest: /10.250.11.85:50010",
            "PacketResponder 1 for block blk_38865049064139660 terminating",
            "PacketResponder 0 for block blk_-6952295868487656571 terminating",
        ];
        let output = run(json!({ "lines": lines }));
        let templates: Vec<(&str, u64)> = output["templates"]
            .as_array()
            .unwrap()
            .iter()
            .map(|t| (t["template"].as_str().unwrap(), t["count"].as_u64().unwrap()))
            .collect();
        assert_eq!(
            templates,
            [("Receiving block <*> src: /<ip> dest: /<ip>", 2), ("PacketResponder <num> for block <*> terminating", 2),]
        );
    }

    /// Loghub, OpenSSH_2k: events E10 and E27 (`Failed password for <*> from <*> port <*> ssh2`, `Received disconnect …`).
    #[test]
    fn openssh_lines_of_loghub() {
        let lines = [
            "Failed password for root from 112.95.230.3 port 45378 ssh2",
            "Failed password for root from 112.95.230.3 port 47068 ssh2",
            "Failed password for root from 5.188.10.180 port 54332 ssh2",
            "Received disconnect from 112.95.230.3: 11: Bye Bye [preauth]",
            "Received disconnect from 187.141.143.180: 11: Bye Bye [preauth]",
        ];
        let output = run(json!({ "lines": lines }));
        let counts: Vec<_> = output["templates"].as_array().unwrap().iter().map(|t| t["count"].clone()).collect();
        assert_eq!(counts, [3, 2]);
        assert_eq!(output["templates"][0]["template"], "Failed password for root from <ip> port <num> ssh2");
    }

    #[test]
    fn clusters_absent_from_the_baseline_are_new_and_single_lines_rare() {
        let output = run(json!({
            "baseline": ["conn from 10.0.0.1 ok"],
            "lines": ["conn from 10.0.0.9 ok", "conn from 10.0.0.2 ok", "disk full on sda"],
        }));
        assert_eq!(output["new_templates"], json!(["disk full on sda"]));
        assert_eq!(output["rare"], json!(["disk full on sda"]));
        assert_eq!(output["templates"][0]["share"], json!(2.0 / 3.0));
    }

    #[test]
    fn names_with_digits_are_kept_and_hashes_masked() {
        assert_eq!(
            masked("node bed4 sha deadbeef01 id 550e8400-e29b-41d4-a716-446655440000").join(" "),
            "node bed4 sha <hex> id <uuid>"
        );
    }
}
