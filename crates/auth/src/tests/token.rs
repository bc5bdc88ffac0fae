use proptest::prelude::*;

use super::{ISS, NOW, TestIssuer, access, claims, refresh, with};
use crate::{AccessClaims, MintError, RefreshClaims, TokenError, TokenRequirements, TokenType, mint, verify};

fn read(issuer: &TestIssuer, token: &str, now: u64) -> Result<AccessClaims, TokenError> {
    verify(&issuer.set(), token, TokenRequirements::access(ISS), now)
}

#[test]
fn minted_tokens_are_verified() {
    let issuer = TestIssuer::new();
    let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    assert_eq!(read(&issuer, &token, NOW), Ok(access("ses_1")));
    let token = mint(&issuer.set(), TokenType::Refresh, &refresh()).unwrap();
    assert_eq!(verify::<RefreshClaims>(&issuer.set(), &token, TokenRequirements::refresh(ISS), NOW), Ok(refresh()));
}

#[test]
fn claims_have_the_names_of_the_contract() {
    let access = serde_json::to_value(access("s")).unwrap();
    for name in ["iss", "aud", "sub", "sid", "jti", "iat", "nbf", "exp", "role", "pv"] {
        assert!(access.get(name).is_some(), "{name}");
    }
    assert!(access.pointer("/cnf/jkt").is_some());
    let refresh = serde_json::to_value(refresh()).unwrap();
    for name in ["iss", "aud", "sub", "sid", "fam", "gen", "jti", "iat", "exp"] {
        assert!(refresh.get(name).is_some(), "{name}");
    }
    assert_eq!(refresh.get("cnf"), None);
}

#[test]
fn validity_has_half_a_minute_of_leeway() {
    let issuer = TestIssuer::new();
    let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    assert!(read(&issuer, &token, NOW - 30).is_ok());
    assert_eq!(read(&issuer, &token, NOW - 31), Err(TokenError::NotYet));
    assert!(read(&issuer, &token, NOW + 929).is_ok());
    assert_eq!(read(&issuer, &token, NOW + 930), Err(TokenError::Expired));
    let late = issuer.forge(&issuer.header(), &with("nbf", Some((NOW + 100).into())));
    assert_eq!(read(&issuer, &late, NOW), Err(TokenError::NotYet));
    assert!(read(&issuer, &late, NOW + 70).is_ok());
}

#[test]
fn a_token_of_another_issuer_has_an_unknown_key() {
    let (issuer, other) = (TestIssuer::new(), TestIssuer::new());
    let token = mint(&other.set(), TokenType::Access, &access("ses_1")).unwrap();
    assert_eq!(read(&issuer, &token, NOW), Err(TokenError::UnknownKey));
    let mut header = other.header();
    header["kid"] = issuer.set().current().kid().into();
    assert_eq!(read(&issuer, &other.forge(&header, &claims()), NOW), Err(TokenError::BadSignature));
}

#[test]
fn claims_that_could_not_be_verified_are_not_minted() {
    let issuer = TestIssuer::new();
    let big = super::AccessClaims { role: "x".repeat(8_000), ..access("ses_1") };
    assert_eq!(mint(&issuer.set(), TokenType::Access, &big), Err(MintError));
}

#[test]
fn errors_and_debug_output_never_contain_a_token_or_a_key() {
    let issuer = TestIssuer::new();
    let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    let error = read(&issuer, &token, NOW + 9_999).unwrap_err();
    let d = issuer.signer().seed();
    let output = format!("{error} {error:?} {:?} {:?} {:?}", issuer.ring, issuer.signer(), issuer.signer().to_jwk());
    assert!(!output.contains(d.expose()));
    assert!(!output.contains(&token));
    assert_eq!(format!("{d:?}"), "Secret(…)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_mutated_token_verifies(at in any::<prop::sample::Index>(), to in 0u8..128, how in 0u8..4) {
        thread_local! { static ISSUER: TestIssuer = TestIssuer::new(); }
        ISSUER.with(|issuer| {
            let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
            let mut bytes = token.clone().into_bytes();
            let at = at.index(bytes.len());
            match how {
                0 => bytes[at] = to,
                1 => bytes.insert(at, to),
                2 => drop(bytes.remove(at)),
                _ => bytes.truncate(at),
            }
            let mutated = String::from_utf8(bytes).unwrap();
            prop_assume!(mutated != token);
            prop_assert!(read(issuer, &mutated, NOW).is_err());
            Ok(())
        })?;
    }

    #[test]
    fn arbitrary_text_never_panics_the_parser(token in "\\PC{0,60}(\\.\\PC{0,60}){0,4}") {
        thread_local! { static ISSUER: TestIssuer = TestIssuer::new(); }
        ISSUER.with(|issuer| {
            prop_assert!(read(issuer, &token, NOW).is_err());
            prop_assert_eq!(crate::device::peek(&token), None);
            Ok(())
        })?;
    }
}

#[test]
fn every_single_bit_of_a_signature_counts() {
    let issuer = TestIssuer::new();
    let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = crate::b64::decode(signature).unwrap();
    for bit in (0..512).step_by(37) {
        let mut changed = signature.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let token = format!("{signed}.{}", crate::b64::encode(changed));
        assert_eq!(read(&issuer, &token, NOW), Err(TokenError::BadSignature), "bit {bit}");
    }
}
