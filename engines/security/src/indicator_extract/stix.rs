//! Patterns of STIX 2.1 for observables. What is no observable, such as a vulnerability, has none.

/// Writes the pattern that matches an indicator.
pub(super) fn pattern(kind: &str, value: &str) -> Option<String> {
    let object = match kind {
        "url" => "url:value",
        "domain" => "domain-name:value",
        "ipv4" => "ipv4-addr:value",
        "ipv6" => "ipv6-addr:value",
        "email" => "email-addr:value",
        "md5" => "file:hashes.MD5",
        "sha1" => "file:hashes.'SHA-1'",
        "sha256" => "file:hashes.'SHA-256'",
        "sha512" => "file:hashes.'SHA-512'",
        "registry_key" => "windows-registry-key:key",
        "file_path" => return Some(path(value)),
        _ => return None,
    };
    Some(format!("[{object} = '{}']", escaped(value)))
}

fn path(value: &str) -> String {
    let at = value.rfind(['/', '\\']);
    let (folder, name) = at.and_then(|at| value.split_at_checked(at)).unwrap_or(("", value));
    let name = escaped(name.trim_start_matches(['/', '\\']));
    format!(
        "[file:name = '{name}' AND file:parent_directory_ref.path = '{}']",
        escaped(if folder.is_empty() { "/" } else { folder })
    )
}

/// Section 9.3 of STIX 2.1: a backslash before quotes and backslashes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}
