use proptest::prelude::*;

use super::NOW;
use crate::Confirmation;
use crate::dpop::{BindingError, BoundBearer, Expected, Nonces, ProofError, Scheme, check, check_binding, sign_proof};
use crate::jwk::PrivateKey;

/// RFC 9449 §4.1, figure 2.
const FIGURE_2: &str = concat!(
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyV",
    "VFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQ",
    "ndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ",
    ".2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
);

/// RFC 9449 §7.1, figure 12, with its access token.
const FIGURE_12: &str = concat!(
    "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyV",
    "VFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiJlM",
    "WozVl9iS2ljOC1MQUVCIiwiaHRtIjoiR0VUIiwiaHR1IjoiaHR0cHM6Ly9yZXNvdXJjZS5leGFtcGxlLm9yZy9wcm90ZWN0ZWRyZXNvdXJjZSIsImlhdC",
    "I6MTU2MjI2MjYxOCwiYXRoIjoiZlVIeU8ycjJaM0RaNTNFc05yV0JiMHhXWG9hTnk1OUlpS0NBcWtzbVFFbyJ9.2oW9RP35yRqzhrtNP86L-Ey71EOptx",
    "RimPPToA1plemAgR6pxHF8y6-yqyVnmcw6Fy1dqd-jfxSYoMxhAJpLjA"
);
const FIGURE_12_TOKEN: &str = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU";
const FIGURE_JKT: &str = "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I";

pub fn expected<'a>(access_token: Option<&'a str>) -> Expected<'a> {
    Expected { htm: "GET", htu: "https://muster.test/api/v1/users", access_token, nonces: None }
}

#[test]
fn rfc_9449_4_the_example_proof_is_valid() {
    let expected = Expected { htm: "POST", htu: "https://server.example.com/token", access_token: None, nonces: None };
    let proof = check(FIGURE_2, expected, 1_562_262_616).unwrap();
    assert_eq!((proof.jti.as_str(), proof.iat), ("-BwC3ESc6acc2lTc", 1_562_262_616));
    assert_eq!(proof.jkt, FIGURE_JKT);
}

#[test]
fn rfc_9449_7_the_example_proof_with_ath_is_valid() {
    let expected = Expected {
        htm: "GET",
        htu: "https://resource.example.org/protectedresource",
        access_token: Some(FIGURE_12_TOKEN),
        nonces: None,
    };
    assert_eq!(check(FIGURE_12, expected, 1_562_262_618).unwrap().jkt, FIGURE_JKT);
    let other = Expected { access_token: Some("another"), ..expected };
    assert_eq!(check(FIGURE_12, other, 1_562_262_618), Err(ProofError::WrongToken));
}

#[test]
fn a_proof_is_valid_for_its_request() {
    let key = PrivateKey::generate().unwrap();
    let sign = |htu| sign_proof(&key, "GET", htu, Some("token"), None, NOW).unwrap();
    let proof = check(&sign("https://muster.test/api/v1/users?limit=3#top"), expected(Some("token")), NOW).unwrap();
    assert_eq!(proof.jkt, key.public().thumbprint());
    let first = sign("https://muster.test/api/v1/users");
    assert_ne!(first, sign("https://muster.test/api/v1/users"));
}

#[test]
fn urls_are_compared_after_normalization() {
    let key = PrivateKey::generate().unwrap();
    let same = |sent: &str, requested: &str| {
        let proof = sign_proof(&key, "GET", sent, None, None, NOW).unwrap();
        check(&proof, Expected { htu: requested, ..expected(None) }, NOW).is_ok()
    };
    for (sent, requested) in [
        ("HTTPS://Muster.TEST/a", "https://muster.test/a"),
        ("https://muster.test:443/a", "https://muster.test/a"),
        ("http://muster.test:80", "http://muster.test/"),
        ("https://muster.test/%7euser/%c3%a9", "https://muster.test/~user/%C3%A9"),
        ("https://[2001:DB8::1]:8443/a", "https://[2001:db8::1]:8443/a?x=/y"),
        ("https://muster.test", "https://muster.test/?q"),
    ] {
        assert!(same(sent, requested), "{sent} {requested}");
    }
    for (sent, requested) in [
        ("https://muster.test/A", "https://muster.test/a"),
        ("http://muster.test/a", "https://muster.test/a"),
        ("https://muster.test:8443/a", "https://muster.test/a"),
        ("https://muster.test:80/a", "https://muster.test/a"),
        ("https://muster.test/a/", "https://muster.test/a"),
        ("https://muster.test/a%2Fb", "https://muster.test/a/b"),
        ("https://user@muster.test/a", "https://muster.test/a"),
        ("https://muster.test.evil.test/a", "https://muster.test/a"),
        ("https://muster.test/%", "https://muster.test/%"),
        ("https://muster.test/%zz", "https://muster.test/%zz"),
        ("ftp://muster.test/a", "ftp://muster.test/a"),
        ("/a", "/a"),
        ("https:///a", "https:///a"),
    ] {
        assert!(!same(sent, requested), "{sent} {requested}");
    }
}

#[test]
fn a_required_nonce_is_accepted_while_it_is_current() {
    let key = PrivateKey::generate().unwrap();
    let (nonces, other) = (Nonces::new().unwrap(), Nonces::new().unwrap());
    let try_with = |nonce: Option<&str>, now| {
        let proof = sign_proof(&key, "GET", "https://muster.test/api/v1/users", None, nonce, now).unwrap();
        check(&proof, Expected { nonces: Some(&nonces), ..expected(None) }, now).map(|_| ())
    };
    assert_eq!(try_with(None, NOW), Err(ProofError::UseNonce));
    assert_eq!(try_with(Some(&other.current(NOW)), NOW), Err(ProofError::UseNonce));
    let nonce = nonces.current(NOW);
    assert_eq!(try_with(Some(&nonce), NOW), Ok(()));
    assert_eq!(try_with(Some(&nonce), NOW + 300), Ok(()));
    assert_eq!(try_with(Some(&nonce), NOW + 600), Err(ProofError::UseNonce));
    assert_eq!(try_with(Some(&nonces.current(NOW + 900)), NOW), Err(ProofError::UseNonce));
}

#[test]
fn a26_a_bound_token_is_rejected_without_proof_of_its_key() {
    let key = PrivateKey::generate().unwrap();
    let text = sign_proof(&key, "GET", "https://muster.test/api/v1/users", Some("token"), None, NOW).unwrap();
    let proof = check(&text, expected(Some("token")), NOW).unwrap();
    let own = Confirmation { jkt: key.public().thumbprint() };
    let other = Confirmation { jkt: PrivateKey::generate().unwrap().public().thumbprint() };
    for policy in [BoundBearer::WithProof, BoundBearer::Reject] {
        for scheme in [Scheme::Bearer, Scheme::Dpop] {
            assert!(check_binding(scheme, Some(&own), None, policy).is_err());
            assert!(check_binding(scheme, Some(&other), Some(&proof), policy).is_err());
        }
        assert_eq!(check_binding(Scheme::Dpop, Some(&own), Some(&proof), policy), Ok(()));
        assert_eq!(check_binding(Scheme::Bearer, None, None, policy), Ok(()));
        assert_eq!(check_binding(Scheme::Dpop, None, Some(&proof), policy), Err(BindingError::NotBound));
    }
    let bearer = |policy| check_binding(Scheme::Bearer, Some(&own), Some(&proof), policy);
    assert_eq!(bearer(BoundBearer::WithProof), Ok(()));
    assert_eq!(bearer(BoundBearer::Reject), Err(BindingError::BearerRefused));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_mutated_proof_is_valid(at in any::<prop::sample::Index>(), to in 0u8..128) {
        let expected =
            Expected { htm: "POST", htu: "https://server.example.com/token", access_token: None, nonces: None };
        let mut bytes = FIGURE_2.as_bytes().to_vec();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != to);
        bytes[at] = to;
        let mutated = String::from_utf8(bytes).unwrap();
        prop_assert!(check(&mutated, expected, 1_562_262_616).is_err());
    }
}
