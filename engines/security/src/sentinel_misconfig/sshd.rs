//! sshd_config: Mozilla's OpenSSH guidelines and the CIS benchmarks of Linux distributions.

use super::audit::{Audit, Violation, rule};
use super::lines::{at, logical};
use crate::verdict::Severity::{Critical, High, Low, Medium};

pub(super) fn check(config: &str, audit: &mut Audit) {
    // A Match block applies to some connections only; of repeated settings sshd uses the first.
    let global = logical(config).into_iter().take_while(|(_, line)| !line.to_ascii_lowercase().starts_with("match "));
    let settings: Vec<(usize, String, String)> = global
        .filter_map(|(line, text)| {
            let (key, value) = text.split_once(|c: char| c.is_whitespace() || c == '=')?;
            Some((line, key.to_ascii_lowercase(), value.trim().trim_matches('"').to_owned()))
        })
        .collect();
    let first = |key: &str| settings.iter().find(|(_, name, _)| name == key);
    let place = |(line, key, value): &(usize, String, String)| -> Violation { (at(*line), format!("{key} {value}")) };
    let is = |key: &str, bad: &dyn Fn(&str) -> bool| {
        first(key).filter(|(_, _, value)| bad(&value.to_ascii_lowercase())).map(place)
    };
    let yes = |value: &str| value == "yes";

    audit.enter(
        &rule("SSH-empty-passwords", Critical, "accounts without a password may log in", "PermitEmptyPasswords no"),
        is("permitemptypasswords", &yes),
    );
    audit.enter(
        &rule("SSH-protocol-1", Critical, "protocol 1 is broken", "remove the line"),
        is("protocol", &|value| value.contains('1')),
    );
    audit.enter(
        &rule("SSH-root-login", High, "root logs in with a password", "PermitRootLogin no"),
        is("permitrootlogin", &yes),
    );
    // The default is yes.
    let passwords = is("passwordauthentication", &yes)
        .or_else(|| first("passwordauthentication").is_none().then(|| ("absent".to_owned(), String::new())));
    audit.enter(&rule("SSH-passwords", Medium, "passwords can be guessed", "PasswordAuthentication no"), passwords);
    audit.enter(
        &rule("SSH-host-based", High, "other hosts are trusted with their users", "HostbasedAuthentication no"),
        is("hostbasedauthentication", &yes),
    );
    audit.enter(
        &rule("SSH-user-environment", Medium, "users set the environment of their login", "PermitUserEnvironment no"),
        is("permituserenvironment", &|value| value != "no"),
    );
    audit.enter(&rule("SSH-x11", Low, "X11 of clients is reached", "X11Forwarding no"), is("x11forwarding", &yes));
    audit.enter(
        &rule("SSH-gateway-ports", Medium, "forwarded ports are open to everybody", "GatewayPorts no"),
        is("gatewayports", &|value| value != "no"),
    );
    audit.enter(
        &rule("SSH-max-auth-tries", Low, "many tries for each connection", "MaxAuthTries 4"),
        is("maxauthtries", &|value| value.parse::<u32>().is_ok_and(|n| n > 4)),
    );
    audit.enter(
        &rule("SSH-log-level", Low, "who logs in with which key is not logged", "LogLevel VERBOSE"),
        is("loglevel", &|value| matches!(value, "quiet" | "fatal" | "error")),
    );
    let weak = |bad: &'static [&'static str]| {
        move |value: &str| {
            !value.starts_with('-') && value.split(',').any(|name| bad.iter().any(|bad| name.contains(bad)))
        }
    };
    audit.enter(
        &rule("SSH-ciphers", High, "weak ciphers", "Ciphers chacha20-poly1305@openssh.com,aes256-gcm@openssh.com"),
        is("ciphers", &weak(&["cbc", "3des", "arcfour", "blowfish", "none"])),
    );
    audit.enter(
        &rule("SSH-macs", Medium, "weak codes of authentication", "MACs hmac-sha2-512-etm@openssh.com"),
        is("macs", &weak(&["md5", "sha1", "umac-64", "none"])),
    );
    audit.enter(
        &rule("SSH-key-exchange", High, "weak key exchange", "KexAlgorithms curve25519-sha256@libssh.org"),
        is("kexalgorithms", &weak(&["sha1", "group1-"])),
    );
}
