//! Whether a certificate is for a host (RFC 9525, which replaced RFC 6125).

use std::net::IpAddr;

use muster_engine::prelude::*;
use x509_parser::prelude::{GeneralName, X509Certificate};

use super::Problems;

/// Maximum length of a name in the DNS.
const MAX_NAME: usize = 253;

/// What is connected to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Host {
    Name(String),
    Address(IpAddr),
}

impl Host {
    pub(super) fn read(text: &str) -> Result<Self, Failure> {
        let text = text.trim();
        let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
        if let Ok(address) = bare.parse() {
            return Ok(Self::Address(address));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        let label = |label: &str| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        };
        if name.len() > MAX_NAME || !name.split('.').all(label) {
            let why = "must be a DNS name in ASCII (A-labels for others, RFC 5890) or an IP address";
            return Err(Failure::invalid(&["hostname"], why));
        }
        Ok(Self::Name(name))
    }

    /// Compares with the alternative names only: the common name does not count (RFC 9525, 2).
    pub(super) fn matches(&self, leaf: &X509Certificate<'_>, problems: &mut Problems) -> bool {
        let alternatives = leaf.subject_alternative_name();
        let names = alternatives.iter().flatten().flat_map(|names| &names.value.general_names);
        let found = names.into_iter().any(|name| match (self, name) {
            (Self::Name(host), GeneralName::DNSName(pattern)) => is_of(host, pattern),
            (Self::Address(IpAddr::V4(host)), GeneralName::IPAddress(bytes)) => host.octets() == **bytes,
            (Self::Address(IpAddr::V6(host)), GeneralName::IPAddress(bytes)) => host.octets() == **bytes,
            _ => false,
        });
        if !found {
            let why = "none of its alternative names is that of the host (RFC 9525, 6)";
            problems.add(Severity::High, "hostname-mismatch", why);
        }
        found
    }
}

/// Whether a DNS name, in lower case, is of a pattern: the same labels, or `*` in place of the whole first one, which
/// stands for exactly one label (RFC 9525, 6.3).
pub(super) fn is_of(host: &str, pattern: &str) -> bool {
    let pattern = pattern.to_ascii_lowercase();
    let pattern = pattern.strip_suffix('.').unwrap_or(&pattern);
    match pattern.strip_prefix("*.") {
        Some(rest) => !rest.contains('*') && host.split_once('.').is_some_and(|(_, parent)| parent == rest),
        None => host == pattern,
    }
}
