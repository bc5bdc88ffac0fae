//! Set-Cookie: the attributes that the Observatory grades, and the prefixes of RFC 6265bis.

use muster_engine::prelude::*;

use super::Audit;

const HEADER: &str = "set-cookie";

/// Attributes of a cookie.
struct Cookie {
    name: String,
    secure: bool,
    http_only: bool,
    same_site: Option<String>,
    has_domain: bool,
    path_is_root: bool,
}

fn read(value: &str) -> Cookie {
    let mut parts = value.split(';');
    let name = parts.next().and_then(|pair| pair.split('=').next()).unwrap_or_default().trim().to_owned();
    let mut cookie =
        Cookie { name, secure: false, http_only: false, same_site: None, has_domain: false, path_is_root: false };
    for part in parts {
        let (attribute, value) = part.split_once('=').unwrap_or((part, ""));
        match attribute.trim().to_ascii_lowercase().as_str() {
            "secure" => cookie.secure = true,
            "httponly" => cookie.http_only = true,
            "samesite" => cookie.same_site = Some(value.trim().to_ascii_lowercase()),
            "domain" => cookie.has_domain = true,
            "path" => cookie.path_is_root = value.trim() == "/",
            _ => {}
        }
    }
    cookie
}

/// Grades all cookies; the worst modifier counts.
pub(super) fn grade(audit: &mut Audit, protected: bool) {
    let cookies: Vec<Cookie> = audit.all(HEADER).map(read).filter(|cookie| !cookie.name.is_empty()).collect();
    if cookies.is_empty() {
        return;
    }
    let mut worst = 0;
    for cookie in &cookies {
        let lower = cookie.name.to_ascii_lowercase();
        let session = lower.contains("sess") || lower.contains("login");
        let shown: String = cookie.name.chars().take(40).collect();
        let mut add = |modifier: i64, severity: Severity, message: &str, fix: &str| {
            worst = worst.min(modifier);
            audit.note(HEADER, severity, format!("{shown}: {message}"), fix);
        };
        if !cookie.secure {
            let modifier = match (session, protected) {
                (true, false) => -40,
                (false, false) => -20,
                (true, true) => -10,
                (false, true) => -5,
            };
            add(
                modifier,
                if session { Severity::High } else { Severity::Medium },
                "has no Secure, so that it is sent over HTTP",
                "Secure",
            );
        }
        if session && !cookie.http_only {
            add(-30, Severity::High, "is a session's and has no HttpOnly: scripts can read it", "HttpOnly");
        }
        match cookie.same_site.as_deref() {
            Some("lax" | "strict") => {}
            Some("none") if cookie.secure => {}
            Some(_) => add(-20, Severity::Medium, "SameSite is unknown, or None without Secure", "SameSite=Lax"),
            None if lower.contains("csrf") => {
                add(-20, Severity::Medium, "protects against forged requests and has no SameSite", "SameSite=Strict")
            }
            None => add(0, Severity::Low, "has no SameSite", "SameSite=Lax"),
        }
        let host = lower.starts_with("__host-") && !(cookie.secure && cookie.path_is_root && !cookie.has_domain);
        if host || (lower.starts_with("__secure-") && !cookie.secure) {
            add(0, Severity::Medium, "does not fulfil its prefix: browsers refuse it", "Secure; Path=/ and no Domain");
        }
    }
    let same_site = cookies.iter().all(|cookie| cookie.same_site.is_some());
    audit.modify(if worst == 0 && same_site { 5 } else { worst });
}
