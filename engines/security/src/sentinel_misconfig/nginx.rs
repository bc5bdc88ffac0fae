//! nginx: Mozilla's TLS guidelines and gixy's checks.

use super::audit::{Audit, Violation, rule};
use super::lines::at;
use crate::verdict::Severity::{High, Low, Medium};

struct Directive {
    line: usize,
    name: String,
    args: String,
    /// Enclosing blocks, outermost first, such as `location /x`.
    within: Vec<String>,
}

pub(super) fn check(config: &str, audit: &mut Audit) {
    let all = directives(config);
    let of = |name: &'static str| all.iter().filter(move |directive| directive.name == name);
    let place =
        |directive: &Directive| -> Violation { (at(directive.line), format!("{} {}", directive.name, directive.args)) };
    let old = |d: &&Directive| {
        d.args.split_whitespace().any(|p| matches!(p, "SSLv2" | "SSLv3" | "TLSv1" | "TLSv1.0" | "TLSv1.1"))
    };
    audit.enter(
        &rule("TLS-protocols", High, "protocols that are broken (RFC 8996)", "ssl_protocols TLSv1.2 TLSv1.3;"),
        of("ssl_protocols").filter(old).map(place),
    );
    let weak = |d: &&Directive| {
        d.args.trim_matches(['"', '\'']).split(':').any(|c| {
            !c.starts_with('!') && ["RC4", "DES", "MD5", "NULL", "EXPORT", "aNULL"].iter().any(|bad| c.contains(bad))
        })
    };
    audit.enter(
        &rule("TLS-ciphers", High, "weak ciphers", "Mozilla's intermediate list"),
        of("ssl_ciphers").filter(weak).map(place),
    );
    audit.enter(
        &rule("nginx-autoindex", Medium, "folders are listed to everybody", "autoindex off;"),
        of("autoindex").filter(|d| d.args == "on").map(place),
    );
    let traversal = |d: &&Directive| {
        d.within.last().is_some_and(|block| {
            let path = block.strip_prefix("location ").unwrap_or_default();
            d.args.ends_with('/') && path.starts_with('/') && !path.ends_with('/')
        })
    };
    audit.enter(
        &rule(
            "gixy-alias-traversal",
            High,
            "`location /x` with `alias /y/` leads out by /x../",
            "end the location with a slash",
        ),
        of("alias").filter(traversal).map(place),
    );
    let host = |d: &&Directive| d.args.contains("$http_host") && d.args.to_ascii_lowercase().starts_with("host");
    audit.enter(
        &rule("gixy-host-spoofing", Medium, "the client's Host goes on unchecked", "proxy_set_header Host $host;"),
        of("proxy_set_header").filter(host).map(place),
    );
    let anywhere = |d: &&Directive| {
        d.args.contains("Access-Control-Allow-Origin") && (d.args.contains('*') || d.args.contains("$http_origin"))
    };
    audit.enter(
        &rule("nginx-cors", Medium, "pages of every origin may read", "name the origins"),
        of("add_header").filter(anywhere).map(place),
    );
    audit.enter(
        &rule("nginx-root-user", Medium, "workers run as root", "user nginx;"),
        of("user").filter(|d| d.args.split_whitespace().next() == Some("root")).map(place),
    );
    audit.enter(
        &rule("nginx-root-folder", High, "the whole disk is served", "root /srv/www;"),
        of("root").filter(|d| matches!(d.args.as_str(), "/" | "/etc" | "/root")).map(place),
    );
    let hidden = of("server_tokens").any(|d| d.args == "off");
    audit.enter(
        &rule("nginx-server-tokens", Low, "the version is reported", "server_tokens off;"),
        (!hidden).then(|| ("http".to_owned(), String::new())),
    );
    let tls = of("listen").find(|d| d.args.split_whitespace().any(|word| word == "ssl"));
    let strict = of("add_header").any(|d| d.args.contains("Strict-Transport-Security"));
    audit.enter(
        &rule(
            "nginx-hsts",
            Low,
            "browsers may come back without TLS (RFC 6797)",
            "add_header Strict-Transport-Security \"max-age=63072000\" always;",
        ),
        tls.filter(|_| !strict).map(place),
    );
}

/// Directives with their enclosing blocks. Quotes are kept, comments dropped.
fn directives(config: &str) -> Vec<Directive> {
    let (mut all, mut within, mut text, mut begun) = (Vec::new(), Vec::<String>::new(), String::new(), 1);
    let (mut line, mut quote, mut comment) = (1, None, false);
    for c in config.chars() {
        match (c, quote) {
            ('\n', _) => {
                line += 1;
                comment = false;
                text.push(' ');
            }
            _ if comment => {}
            (c, Some(open)) => {
                text.push(c);
                quote = (c != open).then_some(open);
            }
            ('"' | '\'', None) => {
                text.push(c);
                quote = Some(c);
            }
            ('#', None) => comment = true,
            ('{', None) => within.push(std::mem::take(&mut text).split_whitespace().collect::<Vec<_>>().join(" ")),
            ('}', None) => {
                within.pop();
                text.clear();
            }
            (';', None) => {
                let words = std::mem::take(&mut text);
                if let Some((name, args)) = words.trim().split_once(char::is_whitespace) {
                    let args = args.split_whitespace().collect::<Vec<_>>().join(" ");
                    all.push(Directive { line: begun, name: name.to_owned(), args, within: within.clone() });
                }
            }
            (c, None) => {
                if text.trim().is_empty() {
                    begun = line;
                }
                text.push(c);
            }
        }
        // Nesting beyond any real configuration is not followed.
        if within.len() > 32 {
            return all;
        }
    }
    all
}
