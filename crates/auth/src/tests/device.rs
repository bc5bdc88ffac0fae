use serde_json::{Value, json};

use super::{NOW, TestIssuer, access};
use crate::jwk::PrivateKey;
use crate::{TokenError, TokenType, device, mint};

fn forge(key: &PrivateKey, claims: &Value) -> String {
    let header = json!({"typ": "dev+jwt", "alg": "EdDSA", "kid": key.public().thumbprint()});
    key.sign_compact(&header, claims.to_string().as_bytes())
}

fn claims() -> Value {
    json!({"sub": "dev_1", "aud": "muster-device", "iat": NOW, "exp": NOW + 300, "jti": "j"})
}

#[test]
fn a_device_is_authenticated_by_its_signature() {
    let key = PrivateKey::generate().unwrap();
    let token = device::sign(&key, "dev_1", NOW, 300).unwrap();
    let peek = device::peek(&token).unwrap();
    assert_eq!((peek.kid, peek.sub), (key.public().thumbprint(), "dev_1".to_owned()));
    let claims = device::verify(&token, &key.public(), "dev_1", NOW + 329).unwrap();
    assert_eq!((claims.sub.as_str(), claims.iat, claims.exp), ("dev_1", NOW, NOW + 300));
    assert_eq!(device::verify(&token, &key.public(), "dev_1", NOW + 330), Err(TokenError::Expired));
    assert_eq!(device::verify(&token, &key.public(), "dev_1", NOW - 31), Err(TokenError::NotYet));
    assert_ne!(device::sign(&key, "dev_1", NOW, 300).unwrap(), token);
}

#[test]
fn a_device_token_is_not_accepted_for_another_device() {
    let (key, other) = (PrivateKey::generate().unwrap(), PrivateKey::generate().unwrap());
    let token = device::sign(&key, "dev_1", NOW, 60).unwrap();
    assert_eq!(device::verify(&token, &key.public(), "dev_2", NOW), Err(TokenError::WrongSubject));
    assert_eq!(device::verify(&token, &other.public(), "dev_1", NOW), Err(TokenError::UnknownKey));
    let header = json!({"typ": "dev+jwt", "alg": "EdDSA", "kid": key.public().thumbprint()});
    let stolen_kid = other.sign_compact(&header, claims().to_string().as_bytes());
    assert_eq!(device::verify(&stolen_kid, &key.public(), "dev_1", NOW), Err(TokenError::BadSignature));
}

#[test]
fn a_device_token_is_valid_for_at_most_five_minutes() {
    let key = PrivateKey::generate().unwrap();
    let mut long = claims();
    long["exp"] = json!(NOW + 301);
    let read = |claims: &Value| device::verify(&forge(&key, claims), &key.public(), "dev_1", NOW);
    assert!(read(&claims()).is_ok());
    assert_eq!(read(&long), Err(TokenError::TooLongLived));
    let token = device::sign(&key, "dev_1", NOW, 86_400).unwrap();
    assert_eq!(device::verify(&token, &key.public(), "dev_1", NOW).unwrap().exp, NOW + 300);
    for name in ["sub", "aud", "iat", "exp", "jti"] {
        let mut without = claims();
        without.as_object_mut().unwrap().remove(name);
        assert!(matches!(read(&without), Err(TokenError::Malformed(_))), "{name}");
    }
    let mut aud = claims();
    aud["aud"] = json!("muster");
    assert_eq!(read(&aud), Err(TokenError::WrongAudience));
}

#[test]
fn a_user_token_is_not_a_device_token() {
    let issuer = TestIssuer::new();
    let token = mint(&issuer.set(), TokenType::Access, &access("ses_1")).unwrap();
    assert_eq!(device::peek(&token), None);
    let public = issuer.signer().public();
    assert_eq!(device::verify(&token, &public, "usr_1", NOW), Err(TokenError::WrongType));
}

#[test]
fn an_overlong_token_is_not_decoded() {
    let key = PrivateKey::generate().unwrap();
    let token = device::sign(&key, &"d".repeat(4_000), NOW, 60).unwrap();
    assert_eq!(device::peek(&token), None);
}
