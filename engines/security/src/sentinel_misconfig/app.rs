//! Application settings that are unsafe under any name.

use serde_json::Value;

use super::audit::{Audit, Violation, holds_password, is_secret, names_secret, rule};
use super::tree::leaves;
use crate::verdict::Severity::{Critical, High, Info, Low, Medium};

pub(super) fn check(config: &Value, audit: &mut Audit) {
    let all = leaves(config);
    let found = |broken: &dyn Fn(&str, &Value) -> bool| -> Vec<Violation> {
        let broken = all.iter().filter(|(_, key, value)| broken(&key.to_ascii_lowercase().replace('-', "_"), value));
        broken.map(|(path, _, value)| (path.clone(), redacted(path, value))).collect()
    };
    let on = |value: &Value| *value == Value::Bool(true) || matches!(value.as_str(), Some("true" | "on" | "yes" | "1"));
    let off = |value: &Value| {
        *value == Value::Bool(false) || matches!(value.as_str(), Some("false" | "off" | "no" | "0" | "none"))
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_ascii_lowercase();

    let default = |key: &str, value: &Value| {
        names_secret(key)
            && ["admin", "password", "changeme", "secret", "root", "123456", "default", "guest"]
                .contains(&text(value).as_str())
    };
    audit.enter(
        &rule("CWE-1392", Critical, "a password that everybody knows", "one of its own for each installation"),
        found(&default),
    );
    let secret = |key: &str, value: &Value| {
        let named = names_secret(key) && value.as_str().is_some_and(is_secret) && !default(key, value);
        named || value.as_str().is_some_and(holds_password)
    };
    audit.enter(
        &rule("CWE-798", High, "a secret stands in the file", "an environment variable, or a file of its own"),
        found(&secret),
    );
    let unverified = |key: &str, value: &Value| {
        let skips = [
            "insecure_skip_verify",
            "skip_verify",
            "skip_tls_verify",
            "insecure",
            "allow_insecure",
            "disable_ssl_verification",
        ];
        let verifies =
            ["verify_ssl", "ssl_verify", "tls_verify", "verify", "verify_certs", "check_hostname", "strict_ssl"];
        (skips.contains(&key) && on(value)) || (verifies.contains(&key) && off(value))
    };
    audit.enter(
        &rule("CWE-295", High, "certificates are not checked", "check them, and name your own authority"),
        found(&unverified),
    );
    let old = |key: &str, value: &Value| {
        (key.contains("tls") || key.contains("ssl"))
            && ["sslv3", "tls1.0", "tlsv1", "tlsv1.0", "tls1.1", "tlsv1.1", "1.0", "1.1"]
                .contains(&text(value).as_str())
    };
    audit.enter(&rule("CWE-327", High, "protocols that are broken (RFC 8996)", "TLS 1.2 or later"), found(&old));
    let open = |key: &str, value: &Value| {
        let names =
            key.contains("cors") || key.contains("allowed_origins") || key == "allow_origin" || key == "allowed_hosts";
        let any = |value: &Value| value.as_str() == Some("*");
        names && (any(value) || value.as_array().is_some_and(|items| items.iter().any(any)))
    };
    audit.enter(&rule("CWE-942", Medium, "every origin or host is allowed", "name them"), found(&open));
    let debug =
        |key: &str, value: &Value| matches!(key, "debug" | "debug_mode" | "flask_debug" | "app_debug") && on(value);
    audit.enter(&rule("CWE-489", Medium, "debugging is on: errors reveal internals", "debug = false"), found(&debug));
    let unauthenticated = |key: &str, value: &Value| {
        (matches!(key, "auth" | "authentication" | "auth_enabled" | "require_auth" | "authorization") && off(value))
            || (matches!(key, "disable_auth" | "no_auth" | "anonymous" | "allow_anonymous") && on(value))
    };
    audit.enter(
        &rule("CWE-306", High, "requests are not authenticated", "require authentication"),
        found(&unauthenticated),
    );
    let bound = |_: &str, value: &Value| text(value).starts_with("0.0.0.0") || text(value).starts_with("[::]");
    audit.enter(&rule("CWE-668", Low, "it listens on every address", "127.0.0.1 behind a proxy"), found(&bound));
    let plain = |_: &str, value: &Value| {
        let text = text(value);
        text.strip_prefix("http://")
            .is_some_and(|rest| !["localhost", "127.", "[::1]", "0.0.0.0"].iter().any(|own| rest.starts_with(own)))
    };
    audit.enter(&rule("CWE-319", Low, "traffic without encryption", "https://"), found(&plain));
    let chatty = |key: &str, value: &Value| {
        key.contains("log") && key.contains("level") && matches!(text(value).as_str(), "debug" | "trace")
    };
    audit.enter(&rule("CWE-532", Info, "logs at this level contain confidential data", "info"), found(&chatty));
}

/// Text of a finding, without secret values.
fn redacted(path: &str, value: &Value) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    if names_secret(name) { format!("{name} = …") } else { format!("{name} = {value}") }
}
