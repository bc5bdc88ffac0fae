//! Rules beyond the schema.

use muster_cap::Alert;

use super::Trouble;

fn trouble(path: impl Into<String>, message: &str) -> Trouble {
    Trouble { path: path.into(), message: message.to_owned() }
}

/// Rules of the standard on times and references (sections 3.2.1 and 3.2.2).
pub(super) fn check(alert: &Alert) -> Vec<Trouble> {
    let mut found = Vec::new();
    if alert.references.iter().any(|reference| *reference == alert.reference()) {
        found.push(trouble("alert/references", "names the message itself: it must name earlier ones"));
    }
    if alert.references.iter().any(|reference| reference.sent.millis() > alert.sent.millis()) {
        found.push(trouble("alert/references", "names a message that was sent after this one"));
    }
    for (at, info) in alert.infos.iter().enumerate() {
        let path = format!("alert/info[{}]", at + 1);
        let time = |time: &Option<muster_cap::CapTime>| time.as_ref().map(muster_cap::CapTime::millis);
        let effective = time(&info.effective).unwrap_or(alert.sent.millis());
        if let Some(expires) = time(&info.expires) {
            if expires <= effective {
                found.push(trouble(format!("{path}/expires"), "is not after effective, or sent where that is absent"));
            }
            if time(&info.onset).is_some_and(|onset| onset > expires) {
                found.push(trouble(format!("{path}/onset"), "is after expires"));
            }
        }
    }
    found
}

/// The rules of the IPAWS Profile 1.0 that can be seen in one message: its code, expiry, areas with codes, and the
/// lengths of the elements that are broadcast.
pub(super) fn ipaws(alert: &Alert) -> Vec<Trouble> {
    let mut found = Vec::new();
    if !alert.codes.iter().any(|code| code == "IPAWSv1.0") {
        found.push(trouble("alert/code", "must have the value IPAWSv1.0"));
    }
    if alert.infos.is_empty() {
        found.push(trouble("alert/info", "is missing: there must be at least one"));
    }
    let mut events: Vec<&str> = Vec::new();
    for (at, info) in alert.infos.iter().enumerate() {
        let path = format!("alert/info[{}]", at + 1);
        if info.expires.is_none() {
            found.push(trouble(format!("{path}/expires"), "is missing"));
        }
        if info.areas.is_empty() {
            found.push(trouble(format!("{path}/area"), "is missing: there must be at least one"));
        }
        let same: Vec<&str> =
            info.event_codes.iter().filter(|code| code.name == "SAME").map(|code| code.value.as_str()).collect();
        match same.as_slice() {
            [code] if code.len() == 3 => events.push(code),
            _ => found.push(trouble(format!("{path}/eventCode"), "must have one value of three letters named SAME")),
        }
        for (at, area) in info.areas.iter().enumerate() {
            let codes = area.geocodes.iter().filter(|code| code.name == "SAME");
            let digits = |text: &str| text.len() == 6 && text.bytes().all(|byte| byte.is_ascii_digit());
            if codes.clone().count() == 0 || codes.clone().any(|code| !digits(&code.value)) {
                let path = format!("{path}/area[{}]/geocode", at + 1);
                found.push(trouble(path, "must have a value of six digits named SAME"));
            }
        }
    }
    events.dedup();
    if events.len() > 1 {
        found.push(trouble("alert/info", "all infos must have the same SAME event code"));
    }
    found
}
