use serde_json::json;

use super::NOW;
use crate::jwk::PrivateKey;
use crate::{TokenError, b64, device, manifest};

const TYP: &str = "firmware+jws";

#[test]
fn a_document_round_trips_byte_for_byte() {
    let key = PrivateKey::generate().unwrap();
    let payload = br#"{ "name":"siren",  "sequence": 7, "hw_revisions": ["a", "b"] }"#;
    let jws = manifest::sign(&key, TYP, payload).unwrap();
    let signed = manifest::verify(&jws, TYP, |kid| (kid == key.public().thumbprint()).then(|| key.public())).unwrap();
    assert_eq!(signed.payload, payload);
    assert_eq!(signed.kid, key.public().thumbprint());
}

#[test]
fn another_key_type_or_content_is_rejected() {
    let (key, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
    let jws = manifest::sign(&key, TYP, b"{\"sequence\":7}").unwrap();
    assert_eq!(manifest::verify(&jws, TYP, |_| None), Err(TokenError::UnknownKey));
    assert_eq!(manifest::verify(&jws, TYP, |_| Some(other.public())), Err(TokenError::BadSignature));
    assert_eq!(manifest::verify(&jws, "config+jws", |_| Some(key.public())), Err(TokenError::WrongType));
    let (rest, signature) = jws.rsplit_once('.').unwrap();
    let (header, _) = rest.split_once('.').unwrap();
    let tampered = format!("{header}.{}.{signature}", b64::encode("{\"sequence\":8}"));
    assert_eq!(manifest::verify(&tampered, TYP, |_| Some(key.public())), Err(TokenError::BadSignature));
}

#[test]
fn ambiguous_documents_are_rejected() {
    let key = PrivateKey::generate().unwrap();
    for payload in ["{\"a\":1,\"a\":2}", "[1]", "", "{", "{}{}"] {
        assert!(matches!(manifest::sign(&key, TYP, payload.as_bytes()), Err(TokenError::Malformed(_))), "{payload}");
        let header = json!({"alg": "EdDSA", "typ": TYP, "kid": "k"});
        let jws = key.sign_compact(&header, payload.as_bytes());
        let read = manifest::verify(&jws, TYP, |_| Some(key.public()));
        assert!(matches!(read, Err(TokenError::Malformed(_))), "{payload}");
    }
    let big = format!("{{\"a\":\"{}\"}}", "x".repeat(manifest::MAX));
    assert_eq!(manifest::sign(&key, TYP, big.as_bytes()), Err(TokenError::TooLong));
}

#[test]
fn a_device_token_is_not_a_document() {
    let key = PrivateKey::generate().unwrap();
    let token = device::sign(&key, "dev_1", NOW, 60).unwrap();
    assert_eq!(manifest::verify(&token, TYP, |_| Some(key.public())), Err(TokenError::WrongType));
}
