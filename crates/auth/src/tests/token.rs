use proptest::prelude::*;

use super::{House, ISS, NOW, access, claims, refresh, with};
use crate::{AccessClaims, Expect, MintError, RefreshClaims, TokenError, Typ, mint, verify};

fn read(house: &House, token: &str, now: u64) -> Result<AccessClaims, TokenError> {
    verify(&house.set(), token, Expect::access(ISS), now)
}

#[test]
fn what_was_minted_is_read_again() {
    let house = House::new();
    let token = mint(&house.set(), Typ::Access, &access("ses_1")).unwrap();
    assert_eq!(read(&house, &token, NOW), Ok(access("ses_1")));
    let token = mint(&house.set(), Typ::Refresh, &refresh()).unwrap();
    assert_eq!(verify::<RefreshClaims>(&house.set(), &token, Expect::refresh(ISS), NOW), Ok(refresh()));
}

#[test]
fn the_claims_have_the_names_of_the_contract() {
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
fn a_token_ends_and_begins_with_half_a_minute_of_leeway() {
    let house = House::new();
    let token = mint(&house.set(), Typ::Access, &access("ses_1")).unwrap();
    assert!(read(&house, &token, NOW - 30).is_ok());
    assert_eq!(read(&house, &token, NOW - 31), Err(TokenError::NotYet));
    assert!(read(&house, &token, NOW + 929).is_ok());
    assert_eq!(read(&house, &token, NOW + 930), Err(TokenError::Expired));
    let late = house.forge(&house.header(), &with("nbf", Some((NOW + 100).into())));
    assert_eq!(read(&house, &late, NOW), Err(TokenError::NotYet));
    assert!(read(&house, &late, NOW + 70).is_ok());
}

#[test]
fn a_token_of_another_house_is_of_an_unknown_key() {
    let (house, other) = (House::new(), House::new());
    let token = mint(&other.set(), Typ::Access, &access("ses_1")).unwrap();
    assert_eq!(read(&house, &token, NOW), Err(TokenError::UnknownKey));
    let mut header = other.header();
    header["kid"] = house.set().current().kid().into();
    assert_eq!(read(&house, &other.forge(&header, &claims()), NOW), Err(TokenError::BadSignature));
}

#[test]
fn what_could_not_be_read_again_is_not_minted() {
    let house = House::new();
    let big = super::AccessClaims { role: "x".repeat(8_000), ..access("ses_1") };
    assert_eq!(mint(&house.set(), Typ::Access, &big), Err(MintError));
}

#[test]
fn errors_and_debug_texts_never_show_a_token_or_a_key() {
    let house = House::new();
    let token = mint(&house.set(), Typ::Access, &access("ses_1")).unwrap();
    let error = read(&house, &token, NOW + 9_999).unwrap_err();
    let d = house.signer().seed();
    let shown = format!("{error} {error:?} {:?} {:?} {:?}", house.ring, house.signer(), house.signer().to_jwk());
    assert!(!shown.contains(d.expose()));
    assert!(!shown.contains(&token));
    assert_eq!(format!("{d:?}"), "Secret(…)");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_mutated_token_verifies(at in any::<prop::sample::Index>(), to in 0u8..128, how in 0u8..4) {
        thread_local! { static HOUSE: House = House::new(); }
        HOUSE.with(|house| {
            let token = mint(&house.set(), Typ::Access, &access("ses_1")).unwrap();
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
            prop_assert!(read(house, &mutated, NOW).is_err());
            Ok(())
        })?;
    }

    #[test]
    fn no_text_at_all_makes_the_reader_fall(token in "\\PC{0,60}(\\.\\PC{0,60}){0,4}") {
        thread_local! { static HOUSE: House = House::new(); }
        HOUSE.with(|house| {
            prop_assert!(read(house, &token, NOW).is_err());
            prop_assert_eq!(crate::device::peek(&token), None);
            Ok(())
        })?;
    }
}

#[test]
fn every_single_bit_of_a_signature_counts() {
    let house = House::new();
    let token = mint(&house.set(), Typ::Access, &access("ses_1")).unwrap();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let signature = crate::b64::decode(signature).unwrap();
    for bit in (0..512).step_by(37) {
        let mut changed = signature.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        let token = format!("{signed}.{}", crate::b64::encode(changed));
        assert_eq!(read(&house, &token, NOW), Err(TokenError::BadSignature), "bit {bit}");
    }
}
