//! Attacks 1 to 11, on the form of a token. The signature is valid in most of them: what is rejected is the rest.

use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::{ISS, NOW, TestIssuer, access, claims, refresh, with};
use crate::{
    AccessClaims, KeyRing, RefreshClaims, RotationPolicy, TokenError, TokenRequirements, TokenType, b64, mint, verify,
};

fn read(issuer: &TestIssuer, token: &str) -> Result<AccessClaims, TokenError> {
    verify(&issuer.set(), token, TokenRequirements::access(ISS), NOW)
}

fn malformed(result: Result<AccessClaims, TokenError>) -> bool {
    matches!(result, Err(TokenError::Malformed(_)))
}

#[test]
fn a01_unsigned_tokens_are_rejected_in_every_spelling_of_none() {
    let issuer = TestIssuer::new();
    for alg in ["none", "None", "nOnE", "NONE", "", "eddsa", "EdDSA "] {
        let mut header = issuer.header();
        header["alg"] = alg.into();
        let signed = issuer.forge(&header, &claims());
        let (rest, _) = signed.rsplit_once('.').unwrap();
        for token in [signed.clone(), format!("{rest}."), rest.to_owned()] {
            assert!(read(&issuer, &token).is_err(), "{alg}");
        }
        assert_eq!(read(&issuer, &signed), Err(TokenError::WrongAlgorithm), "{alg}");
    }
    let token = issuer.forge(&issuer.header(), &claims());
    assert!(read(&issuer, &token).is_ok());
    let (rest, _) = token.rsplit_once('.').unwrap();
    assert!(malformed(read(&issuer, &format!("{rest}."))));
    assert_eq!(read(&issuer, &format!("{rest}.{}", b64::encode([0; 64]))), Err(TokenError::BadSignature));
}

/// Creates a token with the server's header and claims, signed by HS256 with `secret`.
fn hs256(issuer: &TestIssuer, alg: &str, secret: &[u8]) -> String {
    let mut header = issuer.header();
    header["alg"] = alg.into();
    let signed = format!("{}.{}", b64::encode(header.to_string()), b64::encode(claims().to_string()));
    let mac = jsonwebtoken::crypto::sign(
        signed.as_bytes(),
        &EncodingKey::from_secret(secret),
        jsonwebtoken::Algorithm::HS256,
    );
    format!("{signed}.{}", mac.unwrap())
}

#[test]
fn a02_the_public_key_is_not_accepted_as_hs256_secret() {
    let issuer = TestIssuer::new();
    let public = issuer.signer().public();
    // RFC 8410 §4: the prefix of an Ed25519 SubjectPublicKeyInfo.
    let mut der = vec![0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    der.extend(public.as_bytes());
    let body = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, &der);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
    let jwks = issuer.set().jwks().to_string();
    let jwk = public.to_jwk().to_string();
    for secret in
        [public.as_bytes().as_slice(), &der, pem.as_bytes(), pem.trim().as_bytes(), jwk.as_bytes(), jwks.as_bytes()]
    {
        assert_eq!(read(&issuer, &hs256(&issuer, "HS256", secret)), Err(TokenError::WrongAlgorithm));
        assert!(malformed(read(&issuer, &hs256(&issuer, "EdDSA", secret))));
    }
}

#[test]
fn a03_an_empty_secret_is_rejected_and_every_jwk_has_an_algorithm() {
    let issuer = TestIssuer::new();
    assert_eq!(read(&issuer, &hs256(&issuer, "HS256", b"")), Err(TokenError::WrongAlgorithm));
    let jwks = issuer.set().jwks();
    for key in jwks["keys"].as_array().unwrap() {
        assert_eq!((key["alg"].as_str(), key["use"].as_str()), (Some("EdDSA"), Some("sig")));
        assert_eq!(key.get("d"), None);
    }
}

#[test]
fn a04_dates_that_are_not_whole_seconds_are_rejected() {
    let issuer = TestIssuer::new();
    for claim in ["exp", "nbf", "iat"] {
        for bad in [
            json!("1780000000"),
            json!(1_780_000_000.5),
            json!(1_780_000_000.0),
            json!(-1),
            json!(-0.0),
            json!(1_u64 << 63),
            json!(u64::MAX),
            json!([NOW]),
            json!({"at": NOW}),
            json!(null),
            json!(true),
        ] {
            let token = issuer.forge(&issuer.header(), &with(claim, Some(bad.clone())));
            assert!(malformed(read(&issuer, &token)), "{claim} {bad}");
        }
        for bad in ["18446744073709551616", "1.78e9", "1e400", "-0"] {
            let text = with(claim, Some(json!("HERE"))).to_string().replace("\"HERE\"", bad);
            let token = issuer.forge_text(&issuer.header().to_string(), &text);
            assert!(malformed(read(&issuer, &token)), "{claim} {bad}");
        }
    }
}

#[test]
fn a05_a_token_without_a_required_claim_is_rejected() {
    let issuer = TestIssuer::new();
    for claim in ["iss", "aud", "sub", "exp", "iat"] {
        for value in [None, Some(json!("")), Some(json!(null)), Some(json!(["muster"])), Some(json!({}))] {
            let token = issuer.forge(&issuer.header(), &with(claim, value));
            assert!(malformed(read(&issuer, &token)), "{claim}");
        }
    }
    for claim in ["sid", "jti", "role", "pv"] {
        assert!(malformed(read(&issuer, &issuer.forge(&issuer.header(), &with(claim, None)))), "{claim}");
    }
}

#[test]
fn a06_one_type_of_token_is_not_accepted_as_the_other() {
    let issuer = TestIssuer::new();
    let set = issuer.set();
    let access = mint(&set, TokenType::Access, &access("ses_1")).unwrap();
    let refresh_token = mint(&set, TokenType::Refresh, &refresh()).unwrap();
    assert_eq!(read(&issuer, &refresh_token), Err(TokenError::WrongType));
    assert_eq!(
        verify::<RefreshClaims>(&set, &access, TokenRequirements::refresh(ISS), NOW),
        Err(TokenError::WrongType)
    );
    for typ in [json!("JWT"), json!("AT+JWT"), json!("application/at+jwt"), json!(null), json!(["at+jwt"])] {
        let mut header = issuer.header();
        header["typ"] = typ;
        assert_eq!(read(&issuer, &issuer.forge(&header, &claims())), Err(TokenError::WrongType));
    }
    // The type is right but the claims are those of the other type: the audience differs.
    let swapped = issuer.forge(&issuer.header(), &serde_json::to_value(refresh()).unwrap());
    assert_eq!(read(&issuer, &swapped), Err(TokenError::WrongAudience));
}

#[test]
fn a07_a_kid_is_looked_up_among_the_servers_keys_only() {
    let issuer = TestIssuer::new();
    let with_kid = |kid: Value| {
        let mut header = issuer.header();
        header["kid"] = kid;
        issuer.forge(&header, &claims())
    };
    for kid in ["../../etc/passwd", "/dev/null", "' OR '1'='1", "a\u{0}b", "unknown", ""] {
        assert_eq!(read(&issuer, &with_kid(json!(kid))), Err(TokenError::UnknownKey), "{kid}");
    }
    assert_eq!(read(&issuer, &with_kid(json!("k".repeat(1 << 20)))), Err(TokenError::TooLong));
    for kid in [json!("k".repeat(4_000)), json!(1), json!(null), json!([issuer.set().current().kid()])] {
        assert!(malformed(read(&issuer, &with_kid(kid))));
    }
    let kid = issuer.set().current().kid().to_owned();
    for header in [
        format!(r#"{{"alg":"EdDSA","typ":"at+jwt","kid":"x","kid":"{kid}"}}"#),
        format!(r#"{{"alg":"none","alg":"EdDSA","typ":"at+jwt","kid":"{kid}"}}"#),
        format!(r#"{{"alg":"EdDSA","\u0061lg":"EdDSA","typ":"at+jwt","kid":"{kid}"}}"#),
        r#"{"alg":"EdDSA","typ":"at+jwt"}"#.to_owned(),
        format!(r#"{{"alg":"EdDSA","typ":"at+jwt","kid":"{kid}"}} {{}}"#),
    ] {
        assert!(malformed(read(&issuer, &issuer.forge_text(&header, &claims().to_string()))), "{header}");
    }
}

#[test]
fn a08_a_header_with_a_key_or_reference_to_one_is_rejected() {
    let issuer = TestIssuer::new();
    let own = issuer.signer().public().to_jwk();
    for (name, value) in [
        ("jku", json!("https://evil.test/jwks.json")),
        ("x5u", json!("https://evil.test/cert.pem")),
        ("jwk", own),
        ("crit", json!(["exp"])),
        ("crit", json!([])),
        ("x5c", json!(["MIIB"])),
        ("x5t", json!("abc")),
        ("b64", json!(false)),
        ("zip", json!("DEF")),
        ("enc", json!("A128GCM")),
        ("cty", json!("JWT")),
        ("anything", json!(1)),
    ] {
        let mut header = issuer.header();
        header[name] = value;
        assert!(malformed(read(&issuer, &issuer.forge(&header, &claims()))), "{name}");
    }
}

#[test]
fn a09_a_token_of_another_audience_or_issuer_is_rejected() {
    let issuer = TestIssuer::new();
    for aud in ["muster-refresh", "muster-device", "Muster", "muster ", "other"] {
        let token = issuer.forge(&issuer.header(), &with("aud", Some(json!(aud))));
        assert_eq!(read(&issuer, &token), Err(TokenError::WrongAudience), "{aud}");
    }
    for iss in ["https://muster.test/", "https://other.test", "HTTPS://MUSTER.TEST"] {
        let token = issuer.forge(&issuer.header(), &with("iss", Some(json!(iss))));
        assert_eq!(read(&issuer, &token), Err(TokenError::WrongIssuer), "{iss}");
    }
}

#[test]
fn a10_keys_are_rejected_before_use_and_after_their_retirement_window() {
    let folder = tempfile::tempdir().unwrap();
    let policy = RotationPolicy { rotate_every: 1_000_000, publish_ahead: 1_000, longest_token: 5_000 };
    let mut ring = KeyRing::open(folder.path().join("keys"), policy, NOW).unwrap();
    let made = |ring: &KeyRing, now: u64| {
        mint(&ring.set(), TokenType::Access, &AccessClaims { iat: now, nbf: now, exp: now + 1_000_000, ..access("s") })
            .unwrap()
    };
    let by = |key: &crate::keys::SigningKey, at: u64| {
        let claims = AccessClaims { iat: at, nbf: at, exp: at + 1_000_000, ..access("s") };
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": key.kid()});
        key.private.sign_compact(&header, serde_json::to_string(&claims).unwrap().as_bytes())
    };
    let read = |ring: &KeyRing, token: &str, now| {
        verify::<AccessClaims>(&ring.set(), token, TokenRequirements::access(ISS), now).map(|_| ())
    };
    let old = made(&ring, NOW);
    let old_key = ring.set();
    ring.rotate(NOW).unwrap();
    let next = ring.set();
    let stolen = by(next.next().unwrap(), NOW);
    assert_eq!(read(&ring, &stolen, NOW), Err(TokenError::KeyNotInUse));
    assert_eq!(read(&ring, &stolen, NOW + 969), Err(TokenError::KeyNotInUse));
    ring.tick(NOW + 1_000).unwrap();
    // A token issued before its key was in use stays invalid; one issued now is valid.
    assert!(read(&ring, &made(&ring, NOW + 1_000), NOW + 1_000).is_ok());
    assert!(read(&ring, &old, NOW + 1_000).is_ok());
    // A retired key is not accepted for tokens issued after its retirement.
    let backdoor = by(old_key.current(), NOW + 1_031);
    assert_eq!(read(&ring, &backdoor, NOW + 1_031), Err(TokenError::KeyNotInUse));
    let until = NOW + 1_000 + 5_000 + 30;
    assert!(read(&ring, &old, until).is_ok());
    assert_eq!(read(&ring, &old, until + 1), Err(TokenError::KeyNotInUse));
    ring.tick(until + 1).unwrap();
    assert_eq!(read(&ring, &old, until + 1), Err(TokenError::UnknownKey));
}

#[test]
fn a11_large_deep_and_ambiguous_tokens_are_rejected_before_verification() {
    let issuer = TestIssuer::new();
    // None of these has a valid signature: if it were checked first, the error would be a different one.
    let unsigned = |header: &str, claims: &str| {
        format!("{}.{}.{}", b64::encode(header), b64::encode(claims), b64::encode([0; 64]))
    };
    let header = issuer.header().to_string();
    assert_eq!(read(&issuer, &unsigned(&header, &"x".repeat(100_000))), Err(TokenError::TooLong));
    assert_eq!(read(&issuer, &".".repeat(100_000)), Err(TokenError::TooLong));
    assert_eq!(read(&issuer, &"é".repeat(4_097)), Err(TokenError::TooLong));
    let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(2_500), "]".repeat(2_500));
    assert!(malformed(read(&issuer, &unsigned(&header, &deep))));
    let twice = claims().to_string().replacen('{', r#"{"sub":"usr_2","#, 1);
    assert!(malformed(read(&issuer, &unsigned(&header, &twice))));
    let unknown_twice = claims().to_string().replacen('{', r#"{"zz":1,"zz":2,"#, 1);
    assert!(malformed(read(&issuer, &unsigned(&header, &unknown_twice))));
    assert_eq!(read(&issuer, &unsigned(&header, &claims().to_string())), Err(TokenError::BadSignature));
    for shape in ["", ".", "..", "...", "a.b", "a.b.c.d", "a.b.c"] {
        assert!(malformed(read(&issuer, shape)), "{shape}");
    }
}
