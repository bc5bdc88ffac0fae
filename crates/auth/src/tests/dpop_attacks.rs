//! Attacks 27 to 30, on proofs of possession.

use ed25519_dalek::{Signature, Verifier, VerifyingKey};
use jsonwebtoken::EncodingKey;
use serde_json::{Value, json};

use super::NOW;
use super::dpop::expected;
use crate::dpop::{Expected, JtiError, JtiLimits, JtiStore, Proof, ProofError, check, sign_proof};
use crate::jwk::PrivateKey;
use crate::{JwkError, TokenError, b64};

const HTU: &str = "https://muster.test/api/v1/users";

fn sign(key: &PrivateKey, now: u64) -> String {
    sign_proof(key, "GET", HTU, Some("token"), None, now).unwrap()
}

fn claims() -> Value {
    json!({"jti": "j", "htm": "GET", "htu": HTU, "iat": NOW})
}

fn with_header(key: &PrivateKey, header: &Value) -> Result<Proof, ProofError> {
    check(&key.sign_compact(header, claims().to_string().as_bytes()), expected(None), NOW)
}

#[test]
fn a27_a_proof_is_valid_once_and_for_a_minute() {
    let key = PrivateKey::generate().unwrap();
    let store = JtiStore::default();
    let text = sign(&key, NOW);
    let proof = check(&text, expected(Some("token")), NOW).unwrap();
    assert_eq!(store.admit(&proof, NOW), Ok(()));
    for now in [NOW, NOW + 1, NOW + 60] {
        let again = check(&text, expected(Some("token")), now).unwrap();
        assert_eq!(store.admit(&again, now), Err(JtiError::Replayed));
    }
    assert_eq!(check(&text, expected(Some("token")), NOW + 61), Err(ProofError::WrongTime));
    assert_eq!(check(&text, expected(Some("token")), NOW - 61), Err(ProofError::WrongTime));
    assert_eq!(store.admit(&proof, NOW + 61), Err(JtiError::WrongTime));
    // The same jti with another key is a different proof.
    assert_eq!(store.admit(&Proof { jkt: "other".into(), ..proof }, NOW), Ok(()));
}

#[test]
fn a27_a_proof_from_a_minute_ahead_is_remembered_while_it_is_valid() {
    let key = PrivateKey::generate().unwrap();
    let store = JtiStore::default();
    let text = sign(&key, NOW + 60);
    let proof = |now| check(&text, expected(Some("token")), now);
    assert_eq!(store.admit(&proof(NOW).unwrap(), NOW), Ok(()));
    assert_eq!(store.admit(&proof(NOW + 120).unwrap(), NOW + 120), Err(JtiError::Replayed));
    assert_eq!(proof(NOW + 121), Err(ProofError::WrongTime));
}

#[test]
fn a28_a_proof_for_another_request_or_token_is_rejected() {
    let key = PrivateKey::generate().unwrap();
    let text = sign(&key, NOW);
    let right = expected(Some("token"));
    assert!(check(&text, right, NOW).is_ok());
    assert_eq!(check(&text, Expected { htm: "POST", ..right }, NOW), Err(ProofError::WrongMethod));
    assert_eq!(check(&text, Expected { htm: "get", ..right }, NOW), Err(ProofError::WrongMethod));
    let htu = "https://muster.test/api/v1/user";
    assert_eq!(check(&text, Expected { htu, ..right }, NOW), Err(ProofError::WrongAddress));
    assert_eq!(check(&text, expected(Some("other")), NOW), Err(ProofError::WrongToken));
    let without_ath = sign_proof(&key, "GET", HTU, None, None, NOW).unwrap();
    assert_eq!(check(&without_ath, right, NOW), Err(ProofError::WrongToken));
}

#[test]
fn a28_private_keys_other_algorithms_and_other_headers_are_rejected() {
    let key = PrivateKey::generate().unwrap();
    let jwk = key.public().to_jwk();
    let header = |alg: &str, jwk: &Value| json!({"typ": "dpop+jwt", "alg": alg, "jwk": jwk});
    assert!(with_header(&key, &header("EdDSA", &jwk)).is_ok());
    let private = Err(ProofError::Key(JwkError::Private));
    assert_eq!(with_header(&key, &header("EdDSA", key.to_jwk().expose())), private);
    let symmetric = json!({"kty": "oct", "k": b64::encode([1; 32])});
    assert_eq!(with_header(&key, &header("HS256", &symmetric)), private);
    for alg in ["HS256", "none", "None", "RS256", "ES384", "Ed25519", ""] {
        assert_eq!(with_header(&key, &header(alg, &jwk)), Err(ProofError::Form(TokenError::WrongAlgorithm)), "{alg}");
    }
    assert_eq!(with_header(&key, &header("ES256", &jwk)), Err(ProofError::UnknownKey));
    for (name, value) in [("kid", json!("k")), ("crit", json!(["b64"])), ("jku", json!("https://evil.test"))] {
        let mut more = header("EdDSA", &jwk);
        more[name] = value;
        assert!(matches!(with_header(&key, &more), Err(ProofError::Form(TokenError::Malformed(_)))), "{name}");
    }
    for typ in ["at+jwt", "JWT", "dpop+JWT"] {
        let mut other = header("EdDSA", &jwk);
        other["typ"] = typ.into();
        assert_eq!(with_header(&key, &other), Err(ProofError::Form(TokenError::WrongType)));
    }
    let foreign = PrivateKey::generate().unwrap().public().to_jwk();
    assert_eq!(with_header(&key, &header("EdDSA", &foreign)), Err(ProofError::Form(TokenError::BadSignature)));
}

#[test]
fn a28_missing_claims_and_claims_of_other_types_are_rejected() {
    let key = PrivateKey::generate().unwrap();
    let header = json!({"typ": "dpop+jwt", "alg": "EdDSA", "jwk": key.public().to_jwk()});
    let read = |claims: &Value| check(&key.sign_compact(&header, claims.to_string().as_bytes()), expected(None), NOW);
    for name in ["jti", "htm", "htu", "iat"] {
        for value in [None, Some(json!(null)), Some(json!("")), Some(json!([])), Some(json!(-1)), Some(json!(1.5))] {
            let mut bad = claims();
            bad.as_object_mut().unwrap().remove(name);
            bad.as_object_mut().unwrap().extend(value.map(|value| (name.to_owned(), value)));
            assert!(matches!(read(&bad), Err(ProofError::Form(TokenError::Malformed(_)))), "{name} {bad}");
        }
    }
    let mut long = claims();
    long["jti"] = json!("j".repeat(257));
    assert!(read(&long).is_err());
    assert_eq!(check(&"x".repeat(5_000), expected(None), NOW), Err(ProofError::Form(TokenError::TooLong)));
}

/// The key of RFC 7515 A.3, as PKCS #8.
fn p256() -> (EncodingKey, Value) {
    let mut der = vec![
        0x30, 0x41, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08,
        0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x27, 0x30, 0x25, 0x02, 0x01, 0x01, 0x04, 0x20,
    ];
    der.extend(b64::decode("jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI").unwrap());
    let jwk = json!({
        "kty": "EC", "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    });
    (EncodingKey::from_ec_der(&der), jwk)
}

#[test]
fn a28_p256_keys_are_accepted_unless_they_are_off_the_curve() {
    let (key, jwk) = p256();
    let read = |alg: &str, jwk: &Value| {
        let header = json!({"typ": "dpop+jwt", "alg": alg, "jwk": jwk});
        let signed = format!("{}.{}", b64::encode(header.to_string()), b64::encode(claims().to_string()));
        let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &key, jsonwebtoken::Algorithm::ES256).unwrap();
        check(&format!("{signed}.{signature}"), expected(None), NOW)
    };
    assert!(read("ES256", &jwk).is_ok());
    assert_eq!(read("EdDSA", &jwk), Err(ProofError::Key(JwkError::NotEd25519)));
    for (name, value) in [
        ("x", b64::encode([1; 32])),
        ("y", b64::encode([0; 32])),
        ("y", b64::encode([0; 31])),
        ("crv", "P-384".into()),
        ("kty", "OKP".into()),
    ] {
        let mut bad = jwk.clone();
        bad[name] = value.into();
        assert_eq!(read("ES256", &bad), Err(ProofError::UnknownKey), "{name}");
    }
}

#[test]
fn a29_a_key_of_low_order_is_rejected() {
    // The eight points of low order: anyone can sign for them (for the first with R the neutral element and S zero).
    const LOW: [&str; 8] = [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    ];
    let mut signature = [0; 64];
    signature[0] = 1;
    for point in LOW {
        let bytes: Vec<u8> = (0..32).map(|i| u8::from_str_radix(&point[2 * i..2 * i + 2], 16).unwrap()).collect();
        let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": b64::encode(&bytes)});
        let header = json!({"typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk});
        let signed = format!("{}.{}", b64::encode(header.to_string()), b64::encode(claims().to_string()));
        if point == LOW[0] {
            // A lenient verifier accepts the signature, which shows that the test is effective.
            let lax = VerifyingKey::from_bytes(bytes.as_slice().try_into().unwrap()).unwrap();
            assert!(lax.verify(signed.as_bytes(), &Signature::from_bytes(&signature)).is_ok());
        }
        let token = format!("{signed}.{}", b64::encode(signature));
        assert_eq!(check(&token, expected(None), NOW), Err(ProofError::Key(JwkError::Weak)), "{point}");
    }
}

fn proof(jkt: &str, jti: u32) -> Proof {
    Proof { jkt: jkt.to_owned(), jti: jti.to_string(), iat: NOW }
}

#[test]
fn a30_proofs_of_a_million_keys_stay_bounded_and_do_not_block_others() {
    let limits = JtiLimits { partitions: 64, per_partition: 1_024, per_key: 256 };
    let store = JtiStore::new(limits);
    assert_eq!(store.admit(&proof("other", 0), NOW), Ok(()));
    for n in 0..1_000_000 {
        assert_eq!(store.admit(&proof(&n.to_string(), n), NOW), Ok(()));
    }
    assert_eq!(store.len(), 64 * 1_024);
    assert_eq!(store.admit(&proof("other", 1), NOW), Ok(()));
    assert_eq!(store.admit(&proof("other", 1), NOW), Err(JtiError::Replayed));
}

#[test]
fn a30_a_flood_with_one_key_blocks_that_key_only() {
    let store = JtiStore::default();
    let limits = JtiLimits::default();
    let taken = (0..1_000_000).filter(|n| store.admit(&proof("flood", *n), NOW).is_ok()).count();
    assert_eq!(taken, limits.per_key as usize);
    assert_eq!(store.len(), limits.per_key as usize);
    assert_eq!(store.admit(&proof("flood", 0), NOW), Err(JtiError::Replayed));
    assert_eq!(store.admit(&proof("other", 0), NOW), Ok(()));
    // Two minutes later the flood has expired, and its memory is released.
    let later = Proof { iat: NOW + 121, ..proof("flood", 0) };
    assert_eq!(store.admit(&later, NOW + 121), Ok(()));
    assert!(store.len() <= 2);
}
