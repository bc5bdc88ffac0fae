//! Signs in an address.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Sign;
use super::brands::Brands;
use crate::decode::{is_invisible, unescaped};

/// Words of pages that ask for credentials.
const LURES: [&str; 34] = [
    "login",
    "logon",
    "signin",
    "sign-in",
    "verify",
    "verification",
    "secure",
    "security",
    "account",
    "update",
    "confirm",
    "password",
    "wallet",
    "unlock",
    "suspend",
    "billing",
    "invoice",
    "refund",
    "recover",
    "authenticate",
    "webscr",
    "banking",
    "support",
    "helpdesk",
    "claim",
    "reward",
    "bonus",
    "gift",
    "relief",
    "donate",
    "kundenservice",
    "konto",
    "sicherheit",
    "cuenta",
];
/// Top-level domains with many complaints, by their low price.
const CHEAP: [&str; 26] = [
    "zip", "mov", "top", "xyz", "tk", "ml", "ga", "cf", "gq", "click", "icu", "buzz", "rest", "cam", "monster",
    "quest", "work", "support", "live", "loan", "win", "bid", "shop", "cyou", "sbs", "cfd",
];
const SHORTENERS: [&str; 16] = [
    "bit.ly",
    "tinyurl.com",
    "t.co",
    "goo.gl",
    "is.gd",
    "ow.ly",
    "buff.ly",
    "rebrand.ly",
    "cutt.ly",
    "rb.gy",
    "shorturl.at",
    "tiny.cc",
    "t.ly",
    "bl.ink",
    "s.id",
    "qrco.de",
];
/// Places where anyone may put a page.
const HOSTERS: [&str; 14] = [
    "web.app",
    "firebaseapp.com",
    "pages.dev",
    "workers.dev",
    "netlify.app",
    "vercel.app",
    "github.io",
    "weebly.com",
    "wixsite.com",
    "000webhostapp.com",
    "glitch.me",
    "herokuapp.com",
    "blogspot.com",
    "ngrok.io",
];
const PROGRAMS: [&str; 16] = [
    ".exe", ".scr", ".apk", ".msi", ".bat", ".cmd", ".js", ".vbs", ".jar", ".iso", ".img", ".lnk", ".hta", ".dmg",
    ".ps1", ".docm",
];

/// An address in parts.
#[derive(Debug)]
pub(super) struct Address {
    pub url: String,
    pub host: String,
    pub registrable: String,
    scheme: String,
    userinfo: bool,
    port: Option<u16>,
    path: String,
}

impl Address {
    /// Reads an address; one without scheme counts as HTTP without a sign for it. `None` without a host.
    pub(super) fn read(text: &str) -> Option<Self> {
        let url: String =
            text.trim().chars().filter(|letter| !letter.is_control() && !letter.is_whitespace()).collect();
        let plain = url.replacen("hxxp", "http", 1).replace('\\', "/");
        let lower = plain.to_lowercase();
        let (scheme, rest) = match lower.split_once(':') {
            Some((scheme @ ("data" | "javascript" | "vbscript"), rest)) => (scheme.to_owned(), rest.to_owned()),
            Some((scheme, rest))
                if rest.starts_with('/')
                    && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')) =>
            {
                (scheme.to_owned(), rest.trim_start_matches('/').to_owned())
            }
            _ => (String::new(), lower.trim_start_matches('/').to_owned()),
        };
        if matches!(scheme.as_str(), "data" | "javascript" | "vbscript") {
            return Some(Self {
                url,
                host: String::new(),
                registrable: String::new(),
                scheme,
                userinfo: false,
                port: None,
                path: rest,
            });
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(end)?;
        let (userinfo, host) = authority.rsplit_once('@').map_or((false, authority), |(_, host)| (true, host));
        let (host, port) = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':')),
            None => host.split_once(':').map_or((host, None), |(host, port)| (host, Some(port))),
        };
        let host = unescaped(host).trim_end_matches('.').to_owned();
        let good = !host.is_empty()
            && host.len() <= 1_000
            && host.contains(['.', ':'])
            && host.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':') || is_invisible(c));
        if !good && host != "localhost" {
            return None;
        }
        // An address has no registrable part, though its last two numbers look like a name and a suffix.
        let number = host.parse::<Ipv4Addr>().is_ok() || host.parse::<Ipv6Addr>().is_ok();
        let registrable = Some(host.as_bytes())
            .filter(|_| !number)
            .and_then(psl::domain)
            .and_then(|domain| std::str::from_utf8(domain.as_bytes()).ok())
            .unwrap_or(&host)
            .to_owned();
        Some(Self {
            url,
            registrable,
            scheme,
            userinfo,
            port: port.and_then(|port| port.parse().ok()),
            path: path.to_owned(),
            host,
        })
    }

    fn is_number(&self) -> bool {
        self.host.parse::<Ipv4Addr>().is_ok()
            || self.host.parse::<Ipv6Addr>().is_ok()
            || self.host.strip_prefix("0x").is_some()
            || self.host.chars().all(|c| c.is_ascii_digit() || c == '.')
    }

    /// Signs of fraud, and the domain that is imitated.
    pub(super) fn signs(&self, brands: &Brands) -> (Vec<Sign>, Option<String>) {
        let mut signs = Vec::new();
        if self.host.is_empty() {
            signs.push(Sign::new(
                "script-address",
                4.0,
                "the address is a program or a page of its own: do not open it",
            ));
            return (signs, None);
        }
        let owned = brands.owns(&self.registrable);
        let imitated = if owned { None } else { brands.imitated(&self.host, &self.registrable, &self.path) };
        if let Some(imitated) = &imitated {
            signs.push(Sign::new(
                "lookalike-domain",
                imitated.weight,
                format!("the name imitates {}: go there by a bookmark", imitated.domain),
            ));
        }
        if self.is_number() {
            signs.push(Sign::new("number-as-host", 2.2, "the host is a number in place of a name"));
        }
        if self.userinfo {
            signs.push(Sign::new("userinfo", 2.6, "what stands before the @ is not the host"));
        }
        let foreign = !self.host.is_ascii() || self.host.split('.').any(|label| label.starts_with("xn--"));
        if foreign {
            let mixed = brands::mixes_scripts(&self.host);
            signs.push(Sign::new(
                "international-name",
                if mixed { 2.8 } else { 0.8 },
                "the name has letters that may look like others",
            ));
        }
        if !owned {
            signs.extend(self.lexical());
        }
        (signs, imitated.map(|imitated| imitated.domain))
    }

    fn lexical(&self) -> Vec<Sign> {
        let mut signs = Vec::new();
        let mut add = |rule, weight: f64, message: &str| signs.push(Sign::new(rule, weight, message));
        let sub = self.host.strip_suffix(&self.registrable).unwrap_or_default();
        let in_host = LURES.iter().filter(|word| self.host.contains(**word)).count();
        let in_path = LURES.iter().filter(|word| self.path.contains(**word)).count();
        let lures = (0.9 * in_host as f64).min(1.8) + (0.5 * in_path as f64).min(1.0);
        if lures > 0.0 {
            add("lure-words", lures, "the address has words of pages that ask for credentials");
        }
        if self.scheme == "http" && lures > 0.0 {
            add("no-tls", 0.6, "a page for credentials without TLS");
        }
        if sub.matches('.').count() >= 3 {
            add("many-subdomains", 1.0, "many names stand before the domain");
        }
        if self.registrable.matches('-').count() >= 2 || self.host.matches('-').count() >= 4 {
            add("many-hyphens", 0.8, "the name is put together of many words");
        }
        let suffix = self.host.rsplit('.').next().unwrap_or_default();
        if CHEAP.contains(&suffix) {
            add("cheap-suffix", 1.0, "the top-level domain is often used for frauds");
        }
        if SHORTENERS.contains(&self.registrable.as_str()) {
            add("shortener", 1.2, "the address hides where it leads");
        }
        if HOSTERS.iter().any(|hoster| self.host.ends_with(hoster) && self.host.len() > hoster.len() + 1) {
            add("free-hosting", 0.9, "anyone may put a page there");
        }
        let decoded = unescaped(&self.path);
        if decoded.split(['?', '&']).skip(1).any(|part| {
            part.split_once('=').is_some_and(|(_, value)| value.starts_with("http") || value.starts_with("//"))
        }) {
            add("redirect", 0.9, "the address leads on to another one");
        }
        if PROGRAMS.iter().any(|end| decoded.split(['?', '#']).next().unwrap_or_default().ends_with(end)) {
            add("program", 1.6, "the address is that of a program");
        }
        if self.port.is_some_and(|port| !matches!(port, 80 | 443 | 8080 | 8443)) {
            add("odd-port", 0.6, "the port is unusual");
        }
        let letters = self.registrable.split('.').next().unwrap_or_default();
        let digits = letters.chars().filter(char::is_ascii_digit).count();
        if letters.len() >= 12 && digits * 4 >= letters.len() {
            add("random-name", 0.9, "the name looks like chance");
        }
        if self.url.len() > 200 {
            add("long-address", 0.4, "the address is very long");
        }
        signs
    }
}

use super::brands;
