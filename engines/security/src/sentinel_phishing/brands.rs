//! Names that are imitated: look-alike letters, a letter off, or within another name.

use std::collections::BTreeMap;

use muster_engine::prelude::*;
use strsim::damerau_levenshtein;
use unicode_normalization::UnicodeNormalization;

use crate::decode::latin;

/// A name and the domains of its owner; the first is shown.
struct Brand {
    name: String,
    domains: Vec<String>,
    /// Whether the caller named it.
    given: bool,
}

pub(super) struct Brands(Vec<Brand>);

/// What an address imitates.
pub(super) struct Imitated {
    pub domain: String,
    pub weight: f64,
}

impl Brands {
    pub(super) fn new(given: &[String]) -> Result<Self, Failure> {
        let mut brands = Vec::new();
        for (at, domain) in given.iter().enumerate() {
            let domain = domain.trim().trim_start_matches("www.").to_lowercase();
            let label = domain.split('.').next().unwrap_or_default().to_owned();
            if label.chars().count() < 3 || domain.len() > 253 || domain.chars().any(|c| c.is_whitespace() || c == '/')
            {
                return Err(Failure::invalid(
                    &["brands", &at.to_string()],
                    "must be a domain or name of three letters or more, such as paypal.com",
                ));
            }
            brands.push(Brand { name: label, domains: vec![domain], given: true });
        }
        let lines = include_str!("../../data/brands.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
        for line in lines {
            if let Some((name, domains)) = line.split_once(',') {
                brands.push(Brand {
                    name: name.to_owned(),
                    domains: domains.split(' ').map(str::to_owned).collect(),
                    given: false,
                });
            }
        }
        Ok(Self(brands))
    }

    pub(super) fn owns(&self, registrable: &str) -> bool {
        self.0.iter().any(|brand| brand.domains.iter().any(|domain| domain == registrable))
    }

    /// Finds the imitated name with the heaviest sign; names that the caller gave come first.
    pub(super) fn imitated(&self, host: &str, registrable: &str, path: &str) -> Option<Imitated> {
        let label = registrable.split('.').next().unwrap_or_default();
        let sub = host.strip_suffix(registrable).unwrap_or_default();
        let mut best: Option<Imitated> = None;
        for brand in &self.0 {
            let weight = brand.likeness(label, sub, path);
            if weight > best.as_ref().map_or(0.0, |best| best.weight) {
                best = Some(Imitated { domain: brand.domains.first().cloned().unwrap_or_default(), weight });
            }
        }
        best
    }
}

impl Brand {
    fn likeness(&self, label: &str, sub: &str, path: &str) -> f64 {
        let name = self.name.as_str();
        let length = name.chars().count();
        let read = skeleton(label);
        let wanted = skeleton(name);
        let raw_parts: Vec<&str> = label.split(['-', '_']).collect();
        let parts: Vec<String> = raw_parts.iter().map(|part| skeleton(part)).collect();
        // The name itself, under another suffix.
        if label == name && self.given {
            return 2.0;
        }
        // The name in other letters: paypa1, раураl.
        let disguised = |raw: &str, read: &str| raw != name && read == wanted;
        if disguised(label, &read) || raw_parts.iter().zip(&parts).any(|(raw, read)| disguised(raw, read)) {
            return 3.2;
        }
        // The name beside other words: paypal-secure, secure-paypal-login.
        if length >= 4 && raw_parts.len() > 1 && raw_parts.contains(&name) {
            return 2.4;
        }
        // A letter off, for names that no other word is near to.
        let near = |read: &str| {
            length >= 5 && read != wanted && damerau_levenshtein(read, &wanted) <= if length >= 9 { 2 } else { 1 }
        };
        if near(&read) || parts.iter().any(|part| near(part)) {
            return 2.6;
        }
        if length >= 6 && label != name && read.contains(&wanted) {
            return 1.8;
        }
        // The name as a subdomain of another domain: paypal.com.example.net.
        let labels: Vec<&str> = sub.split('.').collect();
        if length >= 4 && labels.contains(&name) {
            let full = self.domains.iter().any(|domain| sub.contains(domain.as_str()));
            return if full { 3.0 } else { 1.8 };
        }
        if length >= 5 && path.split(['/', '?', '=', '&', '-', '.']).any(|part| part == name) {
            return 0.9;
        }
        0.0
    }
}

/// The Latin letters that a name looks like; digits and pairs of letters as the letters that they imitate.
fn skeleton(name: &str) -> String {
    let decoded = name.strip_prefix("xn--").and_then(punycode).unwrap_or_else(|| name.to_owned());
    let letters = latin(&decoded.nfkc().collect::<String>().to_lowercase());
    let folded: String = letters
        .chars()
        .filter_map(|letter| match letter {
            '0' => Some('o'),
            '1' | '!' | '|' => Some('l'),
            'i' => Some('l'),
            '3' => Some('e'),
            '4' | '@' => Some('a'),
            '5' | '$' => Some('s'),
            '-' | '_' => None,
            other => Some(other),
        })
        .collect();
    folded.replace("rn", "m").replace("vv", "w").replace("cl", "d")
}

/// Whether a label has Latin letters together with those of another script.
pub(super) fn mixes_scripts(host: &str) -> bool {
    host.split('.').any(|label| {
        let label = label.strip_prefix("xn--").and_then(punycode).unwrap_or_else(|| label.to_owned());
        let mut kinds: BTreeMap<u8, ()> = BTreeMap::new();
        for letter in label.chars().filter(|letter| letter.is_alphabetic()) {
            let kind = match u32::from(letter) {
                0..0x250 => 0,
                0x370..0x400 => 1,
                0x400..0x530 => 2,
                0x530..0x590 => 3,
                _ => 4,
            };
            kinds.insert(kind, ());
        }
        // Han and kana stand beside Latin letters in honest names.
        kinds.len() > 1 && !kinds.contains_key(&4)
    })
}

/// Decodes a label (RFC 3492) without its prefix.
pub(super) fn punycode(text: &str) -> Option<String> {
    let (basic, extended) = text.rsplit_once('-').unwrap_or(("", text));
    let mut output: Vec<char> = basic.chars().collect();
    let (mut number, mut at, mut bias) = (128_u32, 0_u32, 72_u32);
    let mut rest = extended.chars();
    let mut pending = rest.next();
    while let Some(mut letter) = pending {
        let (before, mut weight, mut step) = (at, 1_u32, 36_u32);
        loop {
            let digit = match letter {
                'a'..='z' => u32::from(letter) - 97,
                '0'..='9' => u32::from(letter) - 22,
                _ => return None,
            };
            at = at.checked_add(digit.checked_mul(weight)?)?;
            let threshold = step.saturating_sub(bias).clamp(1, 26);
            if digit < threshold {
                break;
            }
            weight = weight.checked_mul(36 - threshold)?;
            step += 36;
            letter = rest.next()?;
        }
        let count = u32::try_from(output.len()).ok()? + 1;
        bias = adapted(at - before, count, before == 0);
        number = number.checked_add(at / count)?;
        at %= count;
        output.insert(at as usize, char::from_u32(number)?);
        at += 1;
        pending = rest.next();
        if output.len() > 63 {
            return None;
        }
    }
    Some(output.into_iter().collect())
}

fn adapted(delta: u32, count: u32, first: bool) -> u32 {
    let mut delta = if first { delta / 700 } else { delta / 2 };
    delta += delta / count;
    let mut steps = 0;
    while delta > 455 {
        delta /= 35;
        steps += 36;
    }
    steps + 36 * delta / (delta + 38)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 3492, section 7.1, and a German name of the registry's examples.
    #[test]
    fn punycode_of_the_standard() {
        assert_eq!(punycode("bcher-kva").as_deref(), Some("bücher"));
        assert_eq!(punycode("ihqwcrb4cv8a8dqg056pqjye").as_deref(), Some("他们为什么不说中文"));
        assert_eq!(punycode("maana-pta").as_deref(), Some("mañana"));
    }

    #[test]
    fn names_in_other_letters_have_the_skeleton_of_the_original() {
        for name in ["paypa1", "раураl", "PAYPAL", "pаypal"] {
            assert_eq!(skeleton(name), skeleton("paypal"), "{name}");
        }
        assert_eq!(skeleton("rnicrosoft"), skeleton("microsoft"));
    }
}
