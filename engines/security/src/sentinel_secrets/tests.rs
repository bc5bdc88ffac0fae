use serde_json::{Value, json};

use super::*;

fn run(text: &str) -> Value {
    crate::FAMILY.run(141, json!({ "text": text }), &Context::default()).unwrap()
}

fn rules(text: &str) -> Vec<String> {
    run(text)["findings"].as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap().to_owned()).collect()
}

/// The token of GitHub's format that is passed around as an example: zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ has the CRC32
/// that base 62 writes 0mLq17.
#[test]
fn a_github_token_by_its_checksum() {
    assert_eq!(rules("token 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 here"), ["github-token"]);
    assert!(rules("ghp_zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq18").is_empty(), "one character off");
}

/// RFC 7519, section 3.1: its example of a token; RFC 7515 A.1 has the same.
#[test]
fn a_json_web_token_by_its_structure() {
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    assert_eq!(rules(&format!("cookie={token};")), ["jwt"]);
    assert!(rules("eyJhbGciOiJ.eyJxxxx.dBjftJeZ4CVP-mB92K27").is_empty());
}

/// gitleaks, `cmd/generate/config/rules`: true and false positives of its generators, by their formats.
#[test]
fn findings_match_gitleaks() {
    for (text, rule) in [
        ("stripe = sk_live_4eC39HqLyjWDarjtT1zdp7dc", "stripe-key"),
        ("glpat-aB3dE5fG7hI9jK1lM3nO", "gitlab-token"),
        ("SLACK=xoxb-123456789012-123456789012-aBcDeFgHiJkLmNoPqRsTuVwX", "slack-token"),
        ("postgres://admin:Tr0ub4dor@db.internal/prod", "url-credentials"),
        ("client_secret = \"8Fq2xKp0ZtW7mNcR4vLb9sYd\"", "generic-secret"),
        ("password = \"correct-horse7\"", "password"),
    ] {
        assert_eq!(rules(text), [rule], "{text}");
    }
    for text in [
        "api_key = \"${API_KEY}\"",
        "secret_token: \"xxxxxxxxxxxxxxxxxxxxxxxx\"",
        "password = \"changeme\"",
        "https://example.org/a/b?token_type=bearer",
        "the secret of good coffee is fresh beans",
        "postgres://user:<password>@db/prod",
    ] {
        assert!(rules(text).is_empty(), "{text}: {:?}", rules(text));
    }
}

#[test]
fn a_private_key_is_redacted_completely_and_its_evidence_is_short() {
    let key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n-----END RSA PRIVATE KEY-----";
    let output = run(&format!("a\n{key}\nb"));
    assert_eq!(output["redacted"], "a\n[REDACTED:private-key]\nb");
    assert_eq!(output["findings"][0]["location"], "2:1");
    let evidence = output["findings"][0]["evidence"].as_str().unwrap();
    assert!(!evidence.contains("MII"), "{evidence}");
}

#[test]
fn allowed_values_are_kept() {
    let text = "aws_access_key_id = AKIAIOSFODNN7EXAMPLE";
    for allow in ["AKIAIOSFODNN7EXAMPLE", "aws-access-key-id"] {
        let output = crate::FAMILY.run(141, json!({ "text": text, "allow": [allow] }), &Context::default()).unwrap();
        assert_eq!((&output["verdict"], &output["redacted"]), (&json!("clear"), &json!(text)));
    }
}

#[test]
fn every_pattern_is_one() {
    for rule in &RULES {
        assert!(rule.pattern().is_some(), "{}", rule.id);
    }
}

/// As YAML, shell and property files have it; a variable, a call or a reference is none.
#[test]
fn passwords_without_quotes_are_found() {
    for text in [
        "  password: hunter2",
        "DB_PASSWORD=hunter2!",
        "export PGPASSWORD=s3cr3t99",
        "db.password = s3cr3t99",
        "SECRET_KEY: s3cr3t99",
    ] {
        let output = crate::FAMILY.run(141, json!({ "text": text }), &Context::default()).unwrap();
        assert_eq!(output["findings"][0]["rule"], "password-line", "{text}");
        assert!(!output["redacted"].as_str().unwrap().contains("s3cr3t99"), "{output}");
        assert!(!output["redacted"].as_str().unwrap().contains("unter2"), "{output}");
    }
    let quoted = run("jwt_secret = 's3cr3tk3y99'");
    assert_eq!(
        (&quoted["findings"][0]["rule"], quoted["redacted"].to_string().contains("s3cr3t")),
        (&json!("short-secret"), false)
    );
    for text in [
        "api_key = \"${API_KEY}\"",
        "password = settings.DB_PASSWORD",
        "password = getpass.getpass()",
        "password: ${DB_PASSWORD}",
        "PasswordAuthentication no",
        "password: string",
        "pwd: /home/user1/x.y (see below)",
    ] {
        let output = crate::FAMILY.run(141, json!({ "text": text }), &Context::default()).unwrap();
        assert_eq!(output["verdict"], "clear", "{text}: {output}");
    }
}

/// The example key of the AWS documentation, in a file of bytes at an offset that is known.
#[test]
fn a_file_that_is_no_text_is_searched_by_its_printable_runs() {
    use base64::Engine as _;
    let mut bytes = vec![0x7f, b'E', b'L', b'F', 0xff, 0xfe];
    bytes.resize(0x40, 0);
    bytes.extend_from_slice(b"aws_access_key_id = AKIAIOSFODNN7EXAMPLE");
    bytes.push(0);
    let content = base64::engine::general_purpose::STANDARD.encode(&bytes);
    let of = |input| crate::FAMILY.run(141, input, &Context::default());
    let output = of(json!({ "content": content, "filename": "fw.bin" })).unwrap();
    assert_eq!(output["findings"][0]["rule"], "aws-access-key-id");
    assert_eq!(output["findings"][0]["location"], "fw.bin:0x54");
    assert_eq!(output["redacted"], "");
    let content = base64::engine::general_purpose::STANDARD.encode([0u8, 1, 2, 255]);
    assert_eq!(of(json!({ "content": content })).unwrap()["findings"], json!([]));
    assert!(of(json!({})).is_err(), "nothing to search is not clear");
}
