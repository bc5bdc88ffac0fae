//! Data in the names of DNS queries (T1071.004, T1048): many different, long and random names below one domain.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use muster_engine::prelude::*;

use super::{Domain, Query, shown};
use crate::verdict::finding;

/// Longest name of the DNS.
const MAX_NAME: usize = 253;

#[derive(Default)]
struct Below<'a> {
    names: BTreeSet<String>,
    clients: BTreeSet<&'a str>,
    queries: usize,
    /// Queries of types that carry much and are rare otherwise.
    bulky: usize,
}

pub(super) fn find(queries: &[Query]) -> (Vec<Domain>, Vec<Finding>) {
    let mut below: BTreeMap<String, Below<'_>> = BTreeMap::new();
    for query in queries {
        let name = query.query.trim().trim_end_matches('.').to_lowercase();
        if name.is_empty() || name.len() > 4 * MAX_NAME {
            continue;
        }
        let parent = psl::domain(name.as_bytes())
            .and_then(|domain| std::str::from_utf8(domain.as_bytes()).ok())
            .unwrap_or(&name)
            .to_owned();
        let sub = name.strip_suffix(parent.as_str()).unwrap_or_default().trim_end_matches('.').to_owned();
        let entry = below.entry(parent).or_default();
        entry.queries += 1;
        entry.clients.insert(&query.client);
        let kind = query.r#type.as_deref().unwrap_or_default().to_ascii_uppercase();
        entry.bulky += usize::from(
            ["TXT", "NULL", "CNAME", "MX", "SRV", "KEY", "PRIVATE"].contains(&kind.as_str()) && !sub.is_empty(),
        );
        if !sub.is_empty() {
            entry.names.insert(sub);
        }
    }
    let mut domains = Vec::new();
    let mut findings = Vec::new();
    for (domain, below) in below {
        let unique = below.names.len();
        let letters: Vec<char> = below.names.iter().flat_map(|name| name.chars().filter(|c| *c != '.')).collect();
        let length = letters.len() as f64 / unique.max(1) as f64;
        let entropy = entropy(&letters);
        let score = judged(&below, length, entropy);
        if unique > 0 {
            domains.push(Domain { domain: domain.clone(), entropy: rounded(entropy), unique, score: rounded(score) });
        }
        let severity = match score {
            score if score >= 0.8 && unique >= 50 => Severity::Critical,
            score if score >= 0.65 && unique >= 20 => Severity::High,
            score if score >= 0.5 && unique >= 10 => Severity::Medium,
            _ => continue,
        };
        let clients = below.clients.iter().take(3).map(|client| shown(client)).collect::<Vec<_>>().join(", ");
        let message = format!(
            "{}: {unique} different names of {length:.0} characters from {clients}: block the domain, look at the client",
            shown(&domain)
        );
        findings.push(finding("dns-tunnel", severity, message, None));
    }
    domains.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.domain.cmp(&b.domain)));
    (domains, findings)
}

/// Mean of four shares: how many names differ, how long they are, how random their letters, how many carry bulky types.
/// Short or repeated names cannot carry data, whatever the rest: the first two bound the result.
fn judged(below: &Below<'_>, length: f64, entropy: f64) -> f64 {
    let unique = below.names.len() as f64;
    let differing = (unique / below.queries.max(1) as f64).min(1.0) * (unique / 20.0).min(1.0);
    let long = ((length - 8.0) / 24.0).clamp(0.0, 1.0);
    let random = ((entropy - 2.5) / 1.5).clamp(0.0, 1.0);
    let bulky = below.bulky as f64 / below.queries.max(1) as f64;
    let mean = 0.3 * differing + 0.35 * long + 0.25 * random + 0.1 * bulky;
    mean.min(2.0 * differing).min(2.0 * long)
}

/// Shannon entropy in bits per character.
fn entropy(letters: &[char]) -> f64 {
    let mut counts: HashMap<char, usize> = HashMap::new();
    letters.iter().for_each(|letter| *counts.entry(*letter).or_default() += 1);
    let mut counts: Vec<usize> = counts.into_values().collect();
    // Sorted, so that rounding is reproducible.
    counts.sort_unstable();
    let all = letters.len().max(1) as f64;
    let bits: f64 = counts.into_iter().map(|count| count as f64 / all).map(|share| -share * share.log2()).sum();
    bits.max(0.0)
}

fn rounded(number: f64) -> f64 {
    (number * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queries(names: impl Iterator<Item = String>) -> Vec<Query> {
        names
            .map(|query| Query { time: Timestamp::UNIX_EPOCH, client: "10.0.0.5".to_owned(), query, r#type: None })
            .collect()
    }

    #[test]
    fn hexadecimal_names_below_one_domain_are_a_tunnel() {
        let name = |n: u64| {
            format!(
                "{:016x}{:016x}.t.example.com",
                n.wrapping_mul(0x9e37_79b9_7f4a_7c15),
                n.wrapping_mul(0xbf58_476d_1ce4_e5b9)
            )
        };
        let (domains, findings) = find(&queries((1..200).map(name)));
        assert_eq!(domains[0].domain, "example.com");
        assert_eq!(findings[0].severity, Severity::Critical);
    }

    #[test]
    fn hosts_of_a_content_network_are_not() {
        let name = |n: u64| {
            format!(
                "{}.cdn.example.com",
                ["img", "static", "video", "edge-eu-west-1", "api", "login"][(n % 6) as usize]
            )
        };
        assert!(find(&queries((0..500).map(name))).1.is_empty());
        let mail = |n: u64| format!("user{n}.blog.example.co.uk");
        assert!(find(&queries((0..300).map(mail))).1.is_empty());
    }
}
