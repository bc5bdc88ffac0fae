//! Tokens that are bound to a key, over HTTP.

use muster_auth::PrivateKey;
use muster_auth::dpop::sign_proof;
use reqwest::Method;
use serde_json::json;

use super::now;
use super::support::client::{Answer, Client, answer};
use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};

const ME: &str = "/api/v1/auth/me";

/// A session bound to a device's key.
struct BoundSession {
    muster: Muster,
    client: Client,
    key: PrivateKey,
    token: String,
    refresh: String,
}

impl BoundSession {
    async fn new(settings: &str) -> Self {
        let muster = Muster::start(settings);
        let client = muster.client().without_key();
        let key = PrivateKey::generate().unwrap();
        let login = json!({ "email": EMAIL, "password": PASSWORD });
        let url = format!("http://{}/api/v1/auth/cli/login", muster.address);
        let proof = sign_proof(&key, "POST", &url, None, None, now()).unwrap();
        let got = answer(client.post_request("/api/v1/auth/cli/login", &login).header("DPoP", proof)).await;
        assert_eq!(got.status, 200, "{}", got.text);
        let token = |name: &str| got.json()["data"][name].as_str().unwrap().to_owned();
        Self { muster, client, key, token: token("token"), refresh: token("refresh_token") }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.muster.address)
    }

    fn proof(&self) -> String {
        sign_proof(&self.key, "GET", &self.url(ME), Some(&self.token), None, now()).unwrap()
    }

    async fn me(&self, scheme: &str, proof: Option<&str>) -> Answer {
        let request = self.client.request(Method::GET, ME).header("authorization", format!("{scheme} {}", self.token));
        answer(proof.into_iter().fold(request, |request, proof| request.header("DPoP", proof))).await
    }

    async fn refused(&self, proof: &str) {
        let got = self.me("DPoP", Some(proof)).await;
        assert_eq!((got.status, &got.json()["error"]["code"]), (401, &json!("invalid_dpop_proof")), "{}", got.text);
        let challenge = got.header("www-authenticate").unwrap();
        assert!(challenge.contains("DPoP ") && challenge.contains("invalid_dpop_proof"), "{challenge}");
    }
}

#[tokio::test]
async fn a26_a_bound_token_alone_opens_nothing() {
    let bound = BoundSession::new("").await;
    assert_eq!(super::access(&bound.token).cnf.unwrap().jkt, bound.key.public().thumbprint());
    for scheme in ["Bearer", "DPoP"] {
        let got = bound.me(scheme, None).await;
        assert_eq!(got.status, 401, "{scheme}: {}", got.text);
        let got = bound.me(scheme, Some(&bound.proof())).await;
        assert_eq!(got.status, 200, "{scheme}: {}", got.text);
    }
    let strict = BoundSession::new("[auth]\nbound_bearer = \"reject\"").await;
    assert_eq!(strict.me("Bearer", Some(&strict.proof())).await.status, 401);
    assert_eq!(strict.me("DPoP", Some(&strict.proof())).await.status, 200);
}

#[tokio::test]
async fn a27_a_proof_is_good_once_and_for_a_minute() {
    let bound = BoundSession::new("").await;
    let proof = bound.proof();
    assert_eq!(bound.me("DPoP", Some(&proof)).await.status, 200);
    bound.refused(&proof).await;
    for iat in [now() - 70, now() + 70] {
        let url = bound.url(ME);
        bound.refused(&sign_proof(&bound.key, "GET", &url, Some(&bound.token), None, iat).unwrap()).await;
    }
}

#[tokio::test]
async fn a28_a_proof_is_for_one_request_of_one_key() {
    let bound = BoundSession::new("").await;
    let (url, token) = (bound.url(ME), Some(bound.token.as_str()));
    let other = PrivateKey::generate().unwrap();
    let sign = |key: &PrivateKey, htm: &str, htu: &str, token| sign_proof(key, htm, htu, token, None, now()).unwrap();
    bound.refused(&sign(&bound.key, "POST", &url, token)).await;
    bound.refused(&sign(&bound.key, "GET", &bound.url("/api/v1/auth/sessions"), token)).await;
    bound.refused(&sign(&bound.key, "GET", "http://elsewhere.example/api/v1/auth/me", token)).await;
    bound.refused(&sign(&bound.key, "GET", &url, Some("another.token.here"))).await;
    bound.refused(&sign(&bound.key, "GET", &url, None)).await;
    bound.refused(&sign(&other, "GET", &url, token)).await;
    bound.refused("no.proof.atall").await;
    assert_eq!(bound.me("DPoP", Some(&sign(&bound.key, "GET", &format!("{url}?a=b"), token))).await.status, 200);
}

/// A key of small order verifies a signature of zeros for any text, where the check is not strict (RFC 8032, section 8.4;
/// the neutral point is 1 in its encoding).
#[tokio::test]
async fn a29_a_key_of_low_order_proves_nothing() {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let url = format!("http://{}/api/v1/auth/cli/login", muster.address);
    let login = json!({ "email": EMAIL, "password": PASSWORD });
    let mut neutral = [0; 32];
    neutral[0] = 1;
    let signature = [neutral, [0; 32]].concat();
    for point in [neutral, [0; 32]] {
        let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode(point) });
        let header = json!({ "typ": "dpop+jwt", "alg": "EdDSA", "jwk": jwk });
        let body = json!({ "htm": "POST", "htu": url, "iat": now(), "jti": "an-identifier-of-its-own" });
        let parts = [header.to_string().into_bytes(), body.to_string().into_bytes(), signature.clone()];
        let proof = parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".");
        let got = answer(client.post_request("/api/v1/auth/cli/login", &login).header("DPoP", proof)).await;
        assert!(matches!(got.status, 400 | 401), "{} {}", got.status, got.text);
        assert_eq!(got.json()["error"]["code"], "invalid_dpop_proof", "{}", got.text);
    }
}

/// A million are tested in the proof store; here as many as a test may send, of one foreign key and of the own one.
#[tokio::test]
async fn a30_a_flood_of_proofs_does_not_block_other_clients() {
    let bound = BoundSession::new("").await;
    let flood = (0..600).map(|n| {
        let stranger = PrivateKey::generate().unwrap();
        let url = bound.url(ME);
        // Every third is of the right key: valid once.
        let key = if n % 3 == 0 { &bound.key } else { &stranger };
        let proof = sign_proof(key, "GET", &url, Some(&bound.token), None, now()).unwrap();
        let bound = &bound;
        async move { (n, bound.me("DPoP", Some(&proof)).await.status) }
    });
    let answers = futures::future::join_all(flood).await;
    for (n, status) in answers {
        assert_eq!(status, if n % 3 == 0 { 200 } else { 401 }, "proof {n}");
    }
    assert_eq!(bound.me("DPoP", Some(&bound.proof())).await.status, 200, "a valid proof is still accepted");
}

#[tokio::test]
async fn a_bound_session_is_refreshed_by_its_key_alone() {
    let bound = BoundSession::new("").await;
    let url = bound.url("/api/v1/auth/refresh");
    let body = json!({ "refresh_token": bound.refresh });
    let with = |key: &PrivateKey| {
        let proof = sign_proof(key, "POST", &url, None, None, now()).unwrap();
        bound.client.post_request("/api/v1/auth/refresh", &body).header("DPoP", proof)
    };
    assert_eq!(bound.client.post("/api/v1/auth/refresh", &body).await.status, 401);
    assert_eq!(answer(with(&PrivateKey::generate().unwrap())).await.status, 401);
    let got = answer(with(&bound.key)).await;
    assert_eq!(got.status, 200, "a request without the key did not end the session: {}", got.text);
    let sessions = bound.muster.admin().await.get("/api/v1/auth/sessions").await.json();
    assert_eq!(sessions["data"]["sessions"][1]["jkt"], json!(bound.key.public().thumbprint()));
}

#[tokio::test]
async fn a_login_of_a_device_needs_a_proof() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let login = json!({ "email": EMAIL, "password": PASSWORD });
    let got = client.post("/api/v1/auth/cli/login", &login).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (400, &json!("invalid_dpop_proof")), "{}", got.text);
}

/// Without `auth.public_url` the server believed the name in the request, so a proof that was made for another server
/// was good here.
#[tokio::test]
async fn a_proof_for_another_host_is_refused() {
    let muster = Muster::start("");
    let client = muster.client().without_key();
    let login = json!({ "email": EMAIL, "password": PASSWORD });
    let key = PrivateKey::generate().unwrap();
    let send = async |host: &str, more: Option<(&str, &str)>| {
        let proof =
            sign_proof(&key, "POST", &format!("http://{host}/api/v1/auth/cli/login"), None, None, now()).unwrap();
        let request = client.post_request("/api/v1/auth/cli/login", &login).header("DPoP", proof);
        let request = match more {
            Some((name, value)) => request.header(name, value),
            None => request.header("host", host),
        };
        answer(request).await
    };
    let port = muster.address.port();
    for host in ["evil.example".to_owned(), format!("evil.example:{port}"), "192.0.2.1".to_owned()] {
        let refused = send(&host, None).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (400, &json!("invalid_dpop_proof")), "{host}");
    }
    let forwarded = send("evil.example", Some(("x-forwarded-host", "evil.example"))).await;
    assert_eq!(forwarded.status, 400, "{}", forwarded.text);
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        assert_eq!(send(&host, None).await.status, 200, "{host}");
    }
    let muster = Muster::start("[server]\ntrusted_proxies = [\"127.0.0.0/8\"]\n");
    let client = muster.client().without_key();
    let proof = sign_proof(&key, "POST", "https://ops.example.org/api/v1/auth/cli/login", None, None, now()).unwrap();
    let request = client.post_request("/api/v1/auth/cli/login", &login).header("DPoP", proof);
    let request = request.header("x-forwarded-host", "ops.example.org").header("x-forwarded-proto", "https");
    assert_eq!(answer(request).await.status, 200, "what a trusted proxy forwards counts");
}
