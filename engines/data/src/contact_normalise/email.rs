//! Mail addresses: `Mailbox` of RFC 5321, section 4.1.2, with RFC 6531's letters of every script.

use std::net::{Ipv4Addr, Ipv6Addr};

use unicode_normalization::UnicodeNormalization as _;

/// RFC 5321, section 4.5.3.1, in octets.
const MAX_LOCAL: usize = 64;
const MAX_ADDRESS: usize = 254;
/// RFC 1035, section 2.3.4.
const MAX_LABEL: usize = 63;

/// Normalises an address: NFC, domain in lower case; the local part is left to its host. No DNS lookup is made.
pub(super) fn read(text: &str) -> Result<String, &'static str> {
    let text: String = text.nfc().collect();
    let text = text.strip_prefix("mailto:").unwrap_or(&text);
    // A quoted local part may contain an @, a domain may not.
    let (local, domain) = text.rsplit_once('@').ok_or("has no @")?;
    if text.len() > MAX_ADDRESS {
        return Err("is longer than 254 octets");
    }
    if local.len() > MAX_LOCAL {
        return Err("has more than 64 octets before the @");
    }
    if !(dot_string(local) || quoted_string(local)) {
        return Err("has a character, or a dot, where none may be before the @");
    }
    match domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        Some(literal) if address_literal(literal) => Ok(format!("{local}@[{literal}]")),
        Some(_) => Err("has no IP address in its brackets"),
        None => named(domain).map(|domain| format!("{local}@{domain}")),
    }
}

fn dot_string(local: &str) -> bool {
    let atext = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c) || beyond_ascii(c);
    local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(atext))
}

fn beyond_ascii(c: char) -> bool {
    !c.is_ascii() && !c.is_control() && !c.is_whitespace() && !('\u{200b}'..='\u{202e}').contains(&c)
}

fn quoted_string(local: &str) -> bool {
    let Some(inside) = local.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|_| local.len() > 1)
    else {
        return false;
    };
    let mut escaped = false;
    for c in inside.chars() {
        match c {
            _ if escaped && (' '..='~').contains(&c) => escaped = false,
            '\\' if !escaped => escaped = true,
            '"' => return false,
            ' '..='~' if !escaped => {}
            c if beyond_ascii(c) && !escaped => {}
            _ => return false,
        }
    }
    !escaped
}

fn named(domain: &str) -> Result<String, &'static str> {
    let domain = domain.to_lowercase();
    let labels: Vec<&str> = domain.split('.').collect();
    let good = |label: &&str| {
        (1..=MAX_LABEL).contains(&label.len())
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || (beyond_ascii(c) && c.is_alphanumeric()))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    if !labels.iter().all(good) {
        return Err("has a domain that is not of letters, digits, and hyphens between them");
    }
    match labels.last() {
        Some(top) if labels.len() > 1 && top.chars().any(|c| !c.is_ascii_digit()) => Ok(domain),
        _ => Err("has a domain without a top-level domain"),
    }
}

fn address_literal(literal: &str) -> bool {
    match literal.get(..5).filter(|tag| tag.eq_ignore_ascii_case("IPv6:")) {
        Some(_) => literal.get(5..).is_some_and(|address| address.parse::<Ipv6Addr>().is_ok()),
        None => literal.parse::<Ipv4Addr>().is_ok(),
    }
}
