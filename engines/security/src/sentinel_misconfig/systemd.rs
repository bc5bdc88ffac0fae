//! systemd units: systemd.exec(5), as rated by `systemd-analyze security`.

use super::audit::{Audit, Violation, is_secret, names_secret, rule};
use super::lines::{at, logical};
use crate::verdict::Severity::{High, Low, Medium};

pub(super) fn check(config: &str, audit: &mut Audit) {
    let mut section = String::new();
    let mut settings: Vec<(usize, String, String)> = Vec::new();
    for (line, text) in logical(config) {
        if let Some(name) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            name.clone_into(&mut section);
        } else if let Some((key, value)) = text.split_once('=').filter(|_| section == "Service") {
            settings.push((line, key.trim().to_owned(), value.trim().to_owned()));
        }
    }
    if settings.is_empty() {
        return;
    }
    let last = |key: &str| settings.iter().rev().find(|(_, name, _)| name == key);
    let on =
        |key: &str| last(key).is_some_and(|(_, _, value)| !matches!(value.as_str(), "no" | "false" | "0" | "off" | ""));
    let absent = |present: bool| (!present).then(|| ("[Service]".to_owned(), String::new()));
    let dynamic = on("DynamicUser");
    let named = last("User").is_some_and(|(_, _, user)| !matches!(user.as_str(), "root" | "0" | ""));
    audit.enter(
        &rule("systemd-user", Medium, "the service runs as root", "DynamicUser=yes, or User=…"),
        absent(dynamic || named),
    );
    let secret = |(_, key, value): &&(usize, String, String)| {
        let pair = value.trim_matches('"').split_once('=');
        key == "Environment" && pair.is_some_and(|(name, value)| names_secret(name) && is_secret(value))
    };
    let hidden = |(line, _, value): &(usize, String, String)| -> Violation {
        (at(*line), format!("Environment={}=…", value.trim_matches('"').split('=').next().unwrap_or_default()))
    };
    audit.enter(
        &rule("systemd-environment-secret", High, "a secret that every user can read", "LoadCredential=…"),
        settings.iter().filter(secret).map(hidden).collect::<Vec<_>>(),
    );
    for (id, key, what) in [
        ("systemd-no-new-privileges", "NoNewPrivileges", "a process may gain privileges"),
        ("systemd-protect-system", "ProtectSystem", "the system's folders can be written"),
        ("systemd-protect-home", "ProtectHome", "the users' folders can be read"),
        ("systemd-private-tmp", "PrivateTmp", "the temporary folder is shared"),
        ("systemd-private-devices", "PrivateDevices", "devices can be reached"),
        ("systemd-protect-kernel", "ProtectKernelTunables", "settings of the kernel can be changed"),
    ] {
        // DynamicUser implies some of them (systemd.exec(5)).
        let implied = dynamic && matches!(key, "NoNewPrivileges" | "ProtectSystem" | "ProtectHome" | "PrivateTmp");
        audit.enter(&rule(id, Low, what, "set it to yes (ProtectSystem=strict)"), absent(on(key) || implied));
    }
    let everything =
        |(_, key, value): &&(usize, String, String)| key == "AmbientCapabilities" && value.contains("CAP_SYS_ADMIN");
    let evidence =
        |(line, key, value): &(usize, String, String)| -> Violation { (at(*line), format!("{key}={value}")) };
    audit.enter(
        &rule("systemd-capabilities", High, "the capability that is nearly root", "single capabilities"),
        settings.iter().filter(everything).map(evidence).collect::<Vec<_>>(),
    );
}
