//! Forged and altered tokens, over HTTP.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_auth::{AccessClaims, PrivateKey, TokenType, mint};
use serde_json::{Value, json};

use super::support::client::{Client, answer, try_answer};
use super::support::process::Launch;
use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};
use super::{access, claims, keys_of};

const ME: &str = "/api/v1/auth/me";

async fn refused(client: &Client, token: &str) {
    let got = client.with(token).get(ME).await;
    assert_eq!(got.status, 401, "{token:.100}: {}", got.text);
    assert!(got.header("www-authenticate").unwrap().starts_with("Bearer realm="), "{:?}", got.headers);
}

/// A server, a client without a token, and the claims and text of a good one.
async fn logged_in() -> (Muster, Client, AccessClaims, String) {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let (_, login) = client.login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].as_str().unwrap().to_owned();
    (muster, client, access(&token), token)
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

/// The token with other claims or another header, its signature left as it was.
fn forged(header: &Value, claims: &Value, signature: &str) -> String {
    format!("{}.{}.{signature}", encoded(header), encoded(claims))
}

#[tokio::test]
async fn a01_a_token_without_a_signature_is_none() {
    let (_muster, client, _, token) = logged_in().await;
    for alg in ["none", "None", "nOnE", "NONE"] {
        refused(&client, &forged(&json!({ "alg": alg, "typ": "at+jwt" }), &claims(&token), "")).await;
    }
    let unsigned = token.rsplit_once('.').unwrap().0;
    refused(&client, &format!("{unsigned}.")).await;
    refused(&client, unsigned).await;
    assert_eq!(client.with(token).get(ME).await.status, 200);
}

#[tokio::test]
async fn a02_a_token_signed_with_the_public_key_as_a_secret_is_none() {
    let (_muster, client, _, token) = logged_in().await;
    let jwks = client.get("/.well-known/jwks.json").await.json();
    let key = &jwks["keys"][0];
    let x = key["x"].as_str().unwrap();
    let raw = URL_SAFE_NO_PAD.decode(x).unwrap();
    // The prefix of an Ed25519 key in DER, RFC 8410, section 10.1.
    let der = [&[0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00][..], &raw].concat();
    let pem = format!(
        "-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n",
        base64::engine::general_purpose::STANDARD.encode(der)
    );
    for secret in [raw, pem.into_bytes(), key.to_string().into_bytes(), Vec::new()] {
        for header in [json!({ "alg": "HS256", "typ": "at+jwt", "kid": key["kid"] }), json!({ "alg": "HS256" })] {
            let signed = format!("{}.{}", encoded(&header), encoded(&claims(&token)));
            let signature = URL_SAFE_NO_PAD.encode(hmac_sha256(&secret, signed.as_bytes()));
            refused(&client, &format!("{signed}.{signature}")).await;
        }
    }
}

/// RFC 2104.
fn hmac_sha256(secret: &[u8], message: &[u8]) -> Vec<u8> {
    use sha2::{Digest, Sha256};
    let mut key = if secret.len() > 64 { Sha256::digest(secret).to_vec() } else { secret.to_vec() };
    key.resize(64, 0);
    let pad = |with: u8| key.iter().map(|byte| byte ^ with).collect::<Vec<u8>>();
    let inner = Sha256::new().chain_update(pad(0x36)).chain_update(message).finalize();
    Sha256::new().chain_update(pad(0x5c)).chain_update(inner).finalize().to_vec()
}

#[tokio::test]
async fn a03_an_empty_secret_opens_nothing_and_every_published_key_names_its_algorithm() {
    let (_muster, client, _, token) = logged_in().await;
    let jwks = client.get("/.well-known/jwks.json").await.json();
    for key in jwks["keys"].as_array().unwrap() {
        assert_eq!(key["alg"], "EdDSA", "{key}");
    }
    let kid = &jwks["keys"][0]["kid"];
    for header in [
        json!({ "alg": "HS256", "typ": "at+jwt", "kid": kid }),
        json!({ "alg": "HS256", "typ": "at+jwt" }),
        json!({ "alg": "HS384", "typ": "at+jwt", "kid": kid }),
        json!({ "typ": "at+jwt", "kid": kid }),
    ] {
        let signed = format!("{}.{}", encoded(&header), encoded(&claims(&token)));
        refused(&client, &format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac_sha256(&[], signed.as_bytes())))).await;
    }
}

/// Claims signed by the server's own keys after a change.
struct Insider {
    _muster: Muster,
    client: Client,
    keys: std::sync::Arc<muster_auth::KeySet>,
    good: AccessClaims,
}

impl Insider {
    async fn new() -> Self {
        let (muster, client, good, _) = logged_in().await;
        let insider = Self { keys: keys_of(muster.data.path()), _muster: muster, client, good };
        let own = insider.signed(|_| {});
        assert_eq!(insider.client.with(own).get(ME).await.status, 200, "the keys are the server's own");
        insider
    }

    fn signed(&self, change: impl FnOnce(&mut Value)) -> String {
        let mut claims = serde_json::to_value(&self.good).unwrap();
        change(&mut claims);
        mint(&self.keys, TokenType::Access, &claims).unwrap()
    }

    async fn refused(&self, change: impl FnOnce(&mut Value)) {
        refused(&self.client, &self.signed(change)).await;
    }
}

#[tokio::test]
async fn a04_dates_that_are_no_whole_seconds_are_refused_though_well_signed() {
    let insider = Insider::new().await;
    for name in ["exp", "nbf", "iat"] {
        for odd in [json!("1"), json!(1.5), json!(-1), json!(9_223_372_036_854_775_808_u64), json!([1])] {
            insider.refused(|claims| claims[name] = odd).await;
        }
    }
}

#[tokio::test]
async fn a05_a_token_without_a_required_claim_is_refused_though_well_signed() {
    let insider = Insider::new().await;
    for name in ["iss", "aud", "sub", "exp", "sid"] {
        insider.refused(|claims| drop(claims.as_object_mut().unwrap().remove(name))).await;
    }
}

#[tokio::test]
async fn a06_tokens_of_one_kind_are_not_taken_for_the_other() {
    let (muster, client, good, token) = logged_in().await;
    let login = client.login(EMAIL, PASSWORD).await.1.json();
    refused(&client, login["data"]["refresh_token"].as_str().unwrap()).await;
    let got = client.post("/api/v1/auth/refresh", &json!({ "refresh_token": token })).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (401, &json!("invalid_refresh_token")));
    // The claims of access under the header of refresh.
    refused(&client, &mint(&keys_of(muster.data.path()), TokenType::Refresh, &good).unwrap()).await;
}

#[tokio::test]
async fn a07_a_kid_is_looked_up_among_ours_and_nowhere_else() {
    let (_muster, client, _, token) = logged_in().await;
    let (claims, signature) = (claims(&token), token.rsplit('.').next().unwrap());
    for kid in ["../../etc/passwd", "' OR 1=1 --", "unknown"] {
        refused(&client, &forged(&json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": kid }), &claims, signature)).await;
    }
    // The header of the token itself, with one name twice.
    let kid = header_of(&token)["kid"].clone();
    let twice = format!(r#"{{"alg":"EdDSA","typ":"at+jwt","kid":"other","kid":{kid}}}"#);
    refused(&client, &format!("{}.{}.{signature}", URL_SAFE_NO_PAD.encode(twice), encoded(&claims))).await;
    let huge = json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": "k".repeat(1 << 20) });
    too_large(&client, &forged(&huge, &claims, signature)).await;
}

fn header_of(token: &str) -> Value {
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap()).unwrap()
}

/// A header that the HTTP layer rejects: the request is refused before a token is read, and others are served.
async fn too_large(client: &Client, token: &str) {
    // The server may close the connection: it must not return to the pool of reusable ones.
    let request = client.request(reqwest::Method::GET, ME).bearer_auth(token).header("connection", "close");
    if let Ok(got) = try_answer(request).await {
        assert!((400..500).contains(&got.status), "{} {}", got.status, got.text);
    }
    assert_eq!(client.get("/api/health/live").await.status, 200);
}

#[tokio::test]
async fn a08_a_header_that_brings_or_names_a_key_is_refused_and_nothing_is_fetched() {
    let (_muster, client, _, token) = logged_in().await;
    let (claims, signature) = (claims(&token), token.rsplit('.').next().unwrap());
    // A server that fetches the URL would connect here.
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let address = format!("http://{}/keys", elsewhere.local_addr().unwrap());
    let own = PrivateKey::generate().unwrap();
    for (name, value) in
        [("jku", json!(address)), ("x5u", json!(address)), ("jwk", own.public().to_jwk()), ("crit", json!(["exp"]))]
    {
        let mut header = header_of(&token);
        header[name] = value;
        refused(&client, &forged(&header, &claims, signature)).await;
    }
    assert_eq!(elsewhere.accept().unwrap_err().kind(), std::io::ErrorKind::WouldBlock, "no connection was made");
}

#[tokio::test]
async fn a09_a_token_for_another_audience_issuer_or_person_is_refused_though_well_signed() {
    let insider = Insider::new().await;
    for (name, other) in [
        ("aud", "muster-refresh"),
        ("aud", "muster-device"),
        ("aud", "elsewhere"),
        ("iss", "elsewhere"),
        ("sub", "usr_other"),
        ("sid", "ses_other"),
    ] {
        insider.refused(|claims| claims[name] = json!(other)).await;
    }
}

#[tokio::test]
async fn a11_huge_deep_and_ambiguous_tokens_are_refused() {
    let (_muster, client, _, token) = logged_in().await;
    too_large(&client, &"a".repeat(100 * 1024)).await;
    refused(&client, &"a".repeat(30_000)).await;
    let deep = "[".repeat(9_000);
    refused(&client, &format!("{}.{deep}.x", encoded(&json!({ "alg": "EdDSA" })))).await;
    refused(&client, &format!("{}.{}.x", encoded(&header_of(&token)), URL_SAFE_NO_PAD.encode(deep))).await;
    let twice = claims(&token).to_string().replacen('{', r#"{"sub":"usr_other","#, 1);
    let (header, signature) = (token.split('.').next().unwrap(), token.rsplit('.').next().unwrap());
    refused(&client, &format!("{header}.{}.{signature}", URL_SAFE_NO_PAD.encode(twice))).await;
}

/// The signature is checked byte by byte: one changed letter invalidates the token.
#[tokio::test]
async fn a13_a_revoked_token_is_not_taken_for_its_twin() {
    let (_muster, client, _, token) = logged_in().await;
    let twin = client.login(EMAIL, PASSWORD).await.0;
    assert_eq!(client.with(&token).get(ME).await.status, 200);
    assert_eq!(twin.get(ME).await.status, 200);
    let got = twin.post("/api/v1/auth/logout", &json!({ "token": token })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    refused(&client, &token).await;
    assert_eq!(twin.get(ME).await.status, 200);
}

#[tokio::test]
async fn a10_keys_verify_from_their_use_to_the_end_of_their_last_token() {
    let (_muster, client, _, token) = logged_in().await;
    let admin = client.with(&token);
    let before = client.get("/.well-known/jwks.json").await.json();
    assert_eq!(before["keys"].as_array().unwrap().len(), 1, "{before}");
    let rotated = admin.post("/api/v1/auth/keys/rotate", &json!({})).await;
    assert_eq!(rotated.status, 200, "{}", rotated.text);
    let next = rotated.json()["data"]["changes"][0]["kid"].as_str().unwrap().to_owned();
    let after = client.get("/.well-known/jwks.json").await.json();
    let kids: Vec<_> = after["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap()).collect();
    assert!(kids.len() == 2 && kids.contains(&next.as_str()), "{after}");
    for key in after["keys"].as_array().unwrap() {
        assert!(key.get("d").is_none(), "nothing private: {key}");
    }
    // A header that names the next key before it is used, with an arbitrary signature.
    let header = json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": next });
    refused(&client, &forged(&header, &claims(&token), token.rsplit('.').next().unwrap())).await;
    assert_eq!(admin.get(ME).await.status, 200, "the old key is good yet");
    let again = admin.post("/api/v1/auth/keys/rotate", &json!({})).await;
    assert_eq!(again.json()["data"]["changes"], json!([]), "the next key is published already");
}

#[tokio::test]
async fn a12_a_token_in_the_address_is_not_looked_at() {
    let (_muster, client, _, token) = logged_in().await;
    for name in ["access_token", "token", "authorization"] {
        let got = client.get(&format!("{ME}?{name}={token}")).await;
        assert_eq!(got.status, 401, "{}", got.text);
    }
}

#[tokio::test]
async fn a12_a_token_in_the_address_is_not_in_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).with("MUSTER__LOG__LEVEL", "debug").start();
    let client = Client::new(&process.url);
    let token = client.login(EMAIL, PASSWORD).await.1.json()["data"]["token"].as_str().unwrap().to_owned();
    for path in [ME, "/api/v1/realtime", "/api/v1/incidents"] {
        assert!((400..500).contains(&client.get(&format!("{path}?access_token={token}")).await.status), "{path}");
    }
    let (log, signature) = (process.log(), token.rsplit('.').next().unwrap());
    assert!(!log.is_empty() && !log.contains(signature), "{log}");
}

/// The same server, other dialects: a person's token is accepted where keys are, within the role's permissions.
#[tokio::test]
async fn a_persons_token_opens_the_agent_platform() {
    let (muster, client, _, token) = logged_in().await;
    let status = client.with(&token).get("/api/v1/status").await;
    assert_eq!(status.status, 200, "{}", status.text);
    let made = client.with(&token).post("/api/v1/keys", &json!({ "name": "by a person", "scopes": ["chat"] })).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let medical = client.with(&token).post("/api/v1/keys", &json!({ "name": "m", "scopes": ["medical"] })).await;
    assert_eq!(medical.status, 403, "no role has the scope medical: {}", medical.text);
    let viewer = muster.person("vera", "viewer").await;
    assert_eq!(viewer.get("/api/v1/status").await.status, 200);
    assert_eq!(viewer.get("/v1/models").await.status, 403);
    let bad = answer(client.request(reqwest::Method::GET, "/api/v1/status").bearer_auth("a.b.c")).await;
    assert_eq!(bad.status, 401, "{}", bad.text);
}
