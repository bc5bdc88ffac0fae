//! Package URLs (the purl specification): `pkg:type/namespace/name@version`, as packageurl-python writes them.

use std::fmt::Write as _;

pub(super) fn purl(ecosystem: &str, name: &str, version: &str) -> String {
    let kind = kind(ecosystem);
    let name = match kind.as_str() {
        "pypi" => name.to_lowercase().replace('_', "-"),
        "github" | "bitbucket" | "composer" => name.to_lowercase(),
        // Maven separates group and artifact by a colon.
        "maven" => name.replacen(':', "/", 1),
        "deb" if !name.contains('/') => format!("debian/{name}"),
        _ => name.to_owned(),
    };
    let segments: Vec<String> = name.split('/').filter(|segment| !segment.is_empty()).map(encoded).collect();
    let mut purl = format!("pkg:{kind}/{}", segments.join("/"));
    if !version.is_empty() {
        let parts: Vec<String> = version.split('/').map(encoded).collect();
        let _ = write!(purl, "@{}", parts.join("/"));
    }
    purl
}

/// Maps ecosystem names of OSV, registries and tools to the purl type.
fn kind(ecosystem: &str) -> String {
    let lower = ecosystem.trim().to_lowercase();
    let known = match lower.as_str() {
        "crates.io" | "crates" | "rust" => "cargo",
        "node" | "javascript" | "nodejs" => "npm",
        "python" | "pip" => "pypi",
        "go" => "golang",
        "java" => "maven",
        "debian" | "dpkg" => "deb",
        "rubygems" | "ruby" => "gem",
        "packagist" | "php" => "composer",
        ".net" | "dotnet" => "nuget",
        "alpine" => "apk",
        "" => "generic",
        other => other,
    };
    let valid = known.starts_with(|c: char| c.is_ascii_lowercase())
        && known.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '+' | '-'));
    if valid { known.to_owned() } else { "generic".to_owned() }
}

/// Percent-encodes everything except letters, digits, `.-_~` and the colon.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b'~' | b':') {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
