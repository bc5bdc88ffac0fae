//! Published test vectors.

use serde_json::json;

use crate::jwk::{PrivateKey, PublicKey, thumbprint};
use crate::{JwkError, b64, jws};

const D: &str = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

fn key() -> PrivateKey {
    PrivateKey::from_jwk(&json!({"kty": "OKP", "crv": "Ed25519", "d": D, "x": X})).unwrap()
}

#[test]
fn rfc_8037_a_1_and_2_private_and_public_keys_round_trip() {
    assert_eq!(key().to_jwk().expose(), &json!({"kty": "OKP", "crv": "Ed25519", "d": D, "x": X}));
    assert_eq!(key().public().to_jwk(), json!({"kty": "OKP", "crv": "Ed25519", "x": X}));
}

#[test]
fn rfc_8037_a_3_the_thumbprint() {
    assert_eq!(key().public().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

#[test]
fn rfc_8037_a_4_and_5_a_signature_is_made_and_checked() {
    let jws = concat!(
        "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.",
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
    );
    assert_eq!(key().sign_compact(&json!({"alg": "EdDSA"}), b"Example of Ed25519 signing"), jws);
    let parts = jws::split(jws, 1_000).unwrap();
    assert!(key().public().verifies(parts.signed.as_bytes(), &parts.signature().unwrap()));
}

#[test]
fn rfc_7638_3_1_the_thumbprint_of_the_example() {
    let n = concat!(
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknj",
        "hMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQ",
        "vRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzK",
        "nqDKgw"
    );
    let thumb = thumbprint(&[("e", "AQAB"), ("kty", "RSA"), ("n", n)]);
    assert_eq!(thumb, "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs");
}

#[test]
fn an_inconsistent_jwk_is_rejected() {
    let public = key().public().to_jwk();
    assert!(PublicKey::from_jwk(&public).is_ok());
    assert_eq!(PublicKey::from_jwk(key().to_jwk().expose()), Err(JwkError::Private));
    let other = b64::encode([7; 32]);
    let mismatched = json!({"kty": "OKP", "crv": "Ed25519", "d": other, "x": X});
    assert_eq!(PrivateKey::from_jwk(&mismatched).unwrap_err(), JwkError::NotPrivate);
    for bad in [
        json!({"kty": "OKP", "crv": "X25519", "x": X}),
        json!({"kty": "EC", "crv": "P-256", "x": X, "y": X}),
        json!({"kty": "OKP", "crv": "Ed25519"}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": format!("{X}=")}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": &X[1..]}),
        json!({"kty": "OKP", "crv": "Ed25519", "x": 5}),
        json!("key"),
        json!(null),
    ] {
        assert_eq!(PublicKey::from_jwk(&bad), Err(JwkError::NotEd25519), "{bad}");
    }
}
