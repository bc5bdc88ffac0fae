//! q58: log template mining.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use muster_engine::prelude::*;

/// Maximum children of a tree node; further words go to the wildcard (Drain's maxChild).
const MAX_CHILDREN: usize = 100;
/// Maximum number of lines per call.
const MAX_LINES: usize = 200_000;
/// Maximum number of words examined per line.
const MAX_WORDS: usize = 400;
/// Maximum number of templates returned.
const MAX_TEMPLATES: usize = 2_000;
/// A template is rare below this share of all lines, and if it occurs once.
const RARE_SHARE: f64 = 0.01;
const RARE_COUNT: usize = 1;
/// Maximum number of words that a logger prints before the message.
const MAX_HEADER: usize = 8;
/// Maximum number of groups that are compared with each other, and of words that a wildcard stands for.
const MAX_JOINED: usize = 2_000;
const MAX_WILD: usize = 3;
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
    for (at, line) in input.lines.iter().enumerate() {
        drain.add(line, Some(at));
    }
    let total = input.lines.iter().filter(|line| !line.trim().is_empty()).count().max(1);
    let mut found: Vec<(bool, bool, Template)> = drain
        .joined()
        .into_iter()
        .filter_map(|group| {
            let first = group.first?;
            let sample = input.lines.get(first).cloned().unwrap_or_default();
            let known = group.known;
            let failed = matches!(group.level, Some("error" | "fatal"));
            let (count, share) = (group.count, group.count as f64 / total as f64);
            Some((known, failed, Template { id: 0, template: group.words.join(" "), count, share, first, sample }))
        })
        .collect();
    // Errors first, however few among many lines of other levels.
    found.sort_by(|(_, x, a), (_, y, b)| y.cmp(x).then(b.count.cmp(&a.count)).then(a.first.cmp(&b.first)));
    if found.len() > MAX_TEMPLATES {
        context.warn(format!(
            "truncated: only the {MAX_TEMPLATES} most frequent of {} templates are reported",
            found.len()
        ));
        found.truncate(MAX_TEMPLATES);
    }
    let is_new = |known: &bool| !input.baseline.is_empty() && !known;
    let new_templates = found.iter().filter(|(known, ..)| is_new(known)).map(|(.., t)| t.template.clone()).collect();
    let rare = |t: &&Template| t.count <= RARE_COUNT || t.share < RARE_SHARE;
    let rare = found.iter().map(|(.., t)| t).filter(rare).map(|t| t.template.clone()).collect();
    let templates = found.into_iter().enumerate().map(|(id, (.., t))| Template { id: id + 1, ..t }).collect();
    Ok(Output { templates, new_templates, rare })
}

/// Variable parts are masked before clustering, as in section III.A of the paper.
static MASKS: LazyLock<Vec<(Regex, &'static str)>> = LazyLock::new(|| {
    let masks = [
        (r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b", "<uuid>"),
        (r"\b\d{4}[-/.]\d{2}[-/.]\d{2}[T ]\d{2}:\d{2}:\d{2}(?:[.,:]\d+)?(?:Z|\s?[+-]\d{2}:?\d{2}\b)?", "<time>"),
        // syslog, ctime and Apache's error log.
        (
            r"\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)\s+)?(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\s+\d{1,2}\s+\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:\s+\d{4}\b)?",
            "<time>",
        ),
        // The common log format.
        (
            r"\b\d{1,2}/(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)/\d{4}:\d{2}:\d{2}:\d{2}(?: [+-]\d{4})?",
            "<time>",
        ),
        (r"\b(?:\d{2,4}[-/.]\d{2}[-/.]\d{2,4}[ T])?\d{1,2}:\d{2}:\d{2}(?:[.,]\d+)?\b", "<time>"),
        (r"\b\d{4}[-/]\d{2}[-/]\d{2}\b", "<date>"),
        (r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b", "<ip>"),
        (r"\b(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}\b", "<mac>"),
        (r"\b0x[0-9a-fA-F]+\b", "<hex>"),
        (r"\b(?:[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]*|[0-9a-f]*[a-f][0-9a-f]*\d[0-9a-f]*){1}\b", "<hex>"),
        (r"(?:^|[^\w.<-])(-?\d+(?:[.,]\d+)*(?:%|(?:ns|us|µs|ms|s|sec|min|m|h|d|[kKMGT]?i?[bB]|[kKMGT])?\b))", "<num>"),
    ];
    masks.into_iter().filter_map(|(mask, name)| Some((Regex::new(mask).ok()?, name))).collect()
});

/// Level of a line, by the words that loggers print. Lines of different levels are never one template.
fn level(words: &[String]) -> Option<&'static str> {
    words.iter().take(MAX_HEADER).find_map(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        let word = word.rsplit(['=', ':', '"']).next().unwrap_or(word);
        Some(match word.to_ascii_lowercase().as_str() {
            "trace" => "trace",
            "debug" => "debug",
            "info" | "information" => "info",
            "notice" => "notice",
            "warn" | "warning" => "warn",
            "error" | "err" => "error",
            "fatal" | "critical" | "crit" | "severe" | "alert" | "emerg" | "panic" => "fatal",
            _ => return None,
        })
    })
}

/// Message of a line that is a JSON object, with its level: other members differ from line to line.
fn message(line: &str) -> Option<String> {
    let object: Map<String, Value> = serde_json::from_str(line.trim()).ok()?;
    let of = |names: &[&str]| names.iter().find_map(|name| object.get(*name)?.as_str());
    let message = of(&["message", "msg", "event", "log", "error"])?;
    let level = of(&["level", "lvl", "severity", "levelname"]).unwrap_or_default();
    Some(format!("{level} {message}"))
}

fn masked(line: &str) -> Vec<String> {
    let structured = line.trim_start().starts_with('{').then(|| message(line)).flatten();
    let mut text = structured.unwrap_or_else(|| line.to_owned());
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
    level: Option<&'static str>,
    count: usize,
    /// Index of its first line; `None` while only the baseline has it.
    first: Option<usize>,
    /// The baseline has it.
    known: bool,
}

/// Where a group may be: number of words, level, and the first words.
type Place = (usize, Option<&'static str>, Vec<String>);

/// Parse tree: by number of words and level, then by the first words, to groups of similar lines.
struct Drain {
    prefix: usize,
    similarity: f64,
    leaves: HashMap<Place, Vec<usize>>,
    children: BTreeMap<Place, HashSet<String>>,
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
        let level = level(&words);
        let path = self.path(&words, level);
        let leaf = self.leaves.entry((words.len(), level, path)).or_default();
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
                group.known |= at.is_none();
            }
            None => {
                leaf.push(self.groups.len());
                self.groups.push(Group {
                    words,
                    level,
                    count: usize::from(at.is_some()),
                    first: at,
                    known: at.is_none(),
                });
            }
        }
    }

    /// Words that select the path: those with digits, and those beyond a node's limit, select the wildcard. The header of
    /// a line, which differs in each or is the same in all, selects nothing.
    fn path(&mut self, words: &[String], level: Option<&'static str>) -> Vec<String> {
        let mut path = Vec::with_capacity(self.prefix);
        for word in words.iter().skip(header(words)).take(self.prefix) {
            let known = self.children.entry((words.len(), level, path.clone())).or_default();
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

    /// Joins groups whose templates are equal but for the number of words that a wildcard stands for, such as names of
    /// one and of two words.
    fn joined(self) -> Vec<Group> {
        let mut places: HashMap<(Option<&'static str>, Vec<String>), usize> = HashMap::new();
        let mut joined: Vec<Group> = Vec::new();
        for mut group in self.groups {
            group.words.dedup_by(|a, b| a == WILDCARD && b == WILDCARD);
            match places.get(&(group.level, group.words.clone())).and_then(|at| joined.get_mut(*at)) {
                Some(same) => {
                    same.count += group.count;
                    same.first = same.first.into_iter().chain(group.first).min();
                    same.known |= group.known;
                }
                None => {
                    places.insert((group.level, group.words.clone()), joined.len());
                    joined.push(group);
                }
            }
        }
        if joined.len() > MAX_JOINED {
            return joined;
        }
        // The more frequent template takes in the other.
        let mut order: Vec<usize> = (0..joined.len()).collect();
        order.sort_by_key(|at| std::cmp::Reverse(joined.get(*at).map(|group| group.count)));
        let mut into: BTreeMap<usize, usize> = BTreeMap::new();
        for (rank, one) in order.iter().enumerate() {
            let Some(template) = joined.get(*one).filter(|_| !into.contains_key(one)) else { continue };
            if !template.words.iter().any(|word| word == WILDCARD) {
                continue;
            }
            for other in order.iter().skip(rank + 1).filter(|other| !into.contains_key(other)).collect::<Vec<_>>() {
                let fits = joined.get(*other).is_some_and(|group| {
                    group.level == template.level
                        && group.words.len() != template.words.len()
                        && fits(&template.words, &group.words)
                });
                if fits {
                    into.insert(*other, *one);
                }
            }
        }
        for (from, to) in &into {
            let Some((count, first, known)) = joined.get(*from).map(|group| (group.count, group.first, group.known))
            else {
                continue;
            };
            if let Some(group) = joined.get_mut(*to) {
                group.count += count;
                group.first = group.first.into_iter().chain(first).min();
                group.known |= known;
            }
        }
        let mut at = 0;
        joined.retain(|_| {
            at += 1;
            !into.contains_key(&(at - 1))
        });
        joined
    }
}

/// Whether a line is of a template in which each wildcard stands for one to [`MAX_WILD`] words.
fn fits(template: &[String], words: &[String]) -> bool {
    let same = |a: Option<&String>, b: Option<&String>| matches!((a, b), (Some(a), Some(b)) if a == b || a == WILDCARD);
    // Most pairs differ at an end.
    if !same(template.first(), words.first()) || !same(template.last(), words.last()) {
        return false;
    }
    // `reach[n]`: the template so far may end before word `n`.
    let mut reach = vec![false; words.len() + 1];
    if let Some(start) = reach.first_mut() {
        *start = true;
    }
    for part in template {
        let mut next = vec![false; words.len() + 1];
        for at in (0..words.len()).filter(|at| reach.get(*at) == Some(&true)) {
            let most = if part == WILDCARD { MAX_WILD } else { usize::from(words.get(at) == Some(part)) };
            for end in at + 1..=at + most {
                if let Some(place) = next.get_mut(end) {
                    *place = true;
                }
            }
        }
        if !next.contains(&true) {
            return false;
        }
        reach = next;
    }
    reach.last() == Some(&true)
}

/// Number of leading words up to the time and the level: the part that a logger prints before each message.
fn header(words: &[String]) -> usize {
    let part = |word: &String| word.starts_with("<time>") || word.starts_with("<date>") || word.contains("<time>");
    let time = words.iter().take(MAX_HEADER).rposition(part).map_or(0, |at| at + 1);
    let level = words.iter().take(MAX_HEADER).position(|word| level(std::slice::from_ref(word)).is_some());
    time.max(level.map_or(0, |at| at + 1)).min(words.len().saturating_sub(1))
}

/// Share of equal words by position (simSeq) behind the header, and the number of wildcards, which breaks ties.
fn likeness(template: &[String], words: &[String]) -> (f64, usize) {
    let from = header(words);
    let equal = template.iter().zip(words).skip(from).filter(|(a, b)| a == b).count();
    let wild = template.iter().filter(|word| *word == WILDCARD).count();
    (equal as f64 / words.len().saturating_sub(from).max(1) as f64, wild)
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

    /// One error, with times, thread names, durations, names of one and two words, among lines of other levels.
    #[test]
    fn a_repeated_error_is_one_template_and_comes_first() {
        let mut lines = Vec::new();
        for minute in 10..22 {
            lines.push(format!(
                "2026-11-26 10:{minute}:00,120 [http-{minute}] INFO  Request of user u{minute} done in {minute}ms"
            ));
        }
        for (at, (who, took)) in [("alice", "30s"), ("bob", "1.5s"), ("Carol Jones", "28s")].into_iter().enumerate() {
            lines.push(format!(
                "2026-11-26 10:3{at}:07,001 [pool-{at}] ERROR Payment of {who} failed: timeout after {took}"
            ));
        }
        lines.push("2026-11-26 10:40:00,000 [http-9] WARN  Request of user u9 done in 900ms".to_owned());
        let output = run(json!({ "lines": lines }));
        let templates = output["templates"].as_array().unwrap();
        assert_eq!(templates.len(), 3, "{output}");
        assert_eq!(templates[0]["template"], "<time> <*> ERROR Payment of <*> failed: timeout after <num>");
        assert_eq!((&templates[0]["count"], &templates[1]["count"]), (&json!(3), &json!(12)));
        assert_eq!(output["rare"].as_array().unwrap().len(), 1, "{output}");
    }

    /// The same event of syslog (RFC 3164), of the common log format, and as JSON.
    #[test]
    fn usual_headers_are_masked() {
        for (lines, template) in [
            (
                [
                    "Nov 26 10:00:01 db1 app[812]: ERROR lost 10.0.0.7",
                    "Nov  6 23:59:59 db1 app[99]: ERROR lost 10.0.0.9",
                ],
                "<time> db1 app[<num>]: ERROR lost <ip>",
            ),
            (
                [
                    "10.0.0.7 - - [26/Nov/2026:10:00:01 +0000] \"GET /a HTTP/1.1\" 500 12",
                    "10.0.0.9 - - [26/Nov/2026:10:00:02 +0000] \"GET /a HTTP/1.1\" 500 7",
                ],
                "<ip> - - [<time>] \"GET /a HTTP/<num>\" <num> <num>",
            ),
            (
                [
                    "{\"ts\": 1, \"level\": \"error\", \"msg\": \"disk sda 91% full\", \"host\": \"a\"}",
                    "{\"ts\": 2, \"level\": \"error\", \"msg\": \"disk sda 97% full\", \"host\": \"b\"}",
                ],
                "error disk sda <num> full",
            ),
        ] {
            let output = run(json!({ "lines": lines }));
            assert_eq!(output["templates"][0]["template"], template);
            assert_eq!(output["templates"][0]["count"], 2);
        }
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
