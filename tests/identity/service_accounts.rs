//! Service accounts: created, exchanged for tokens, rotated, revoked, guessed.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::client::{Answer, Client, answer};
use super::support::process::{Launch, program};
use super::support::server::Muster;
use super::support::socket::Socket;
use super::support::{EMAIL, PASSWORD};
use muster_core::Clock;
use std::path::Path;
use std::time::Duration;

const PATH: &str = "/api/v1/service-accounts";

async fn create(admin: &Client, body: &Value) -> Value {
    let made = admin.post(PATH, body).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    made.json()["data"].clone()
}

async fn exchange(client: &Client, account: &Value, secret: &Value) -> Answer {
    let body = json!({ "service_account": account, "secret": secret });
    client.without_key().post("/api/v1/auth/service/login", &body).await
}

async fn token(client: &Client, made: &Value) -> String {
    let got = exchange(client, &made["id"], &made["secret"]).await;
    assert_eq!(got.status, 200, "{}", got.text);
    got.json()["data"]["token"].as_str().unwrap().to_owned()
}

async fn patch(client: &Client, id: &Value, body: &Value) -> Answer {
    let request = client.request(Method::PATCH, &format!("{PATH}/{}", id.as_str().unwrap())).header("if-match", "*");
    answer(request.header("content-type", "application/json").body(body.to_string())).await
}

/// A secret is exchanged for a short token of a read-only role, which works at routes and at the feed; the revocation
/// of the account ends both at once.
#[tokio::test]
async fn a_dashboard_reads_with_a_token_for_its_secret_until_the_account_is_revoked() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let made = create(&admin, &json!({ "name": "wall-dashboard", "role": "viewer" })).await;
    let id = made["id"].as_str().unwrap();
    assert!(id.starts_with("svc_") && made["secret"].as_str().unwrap().starts_with("mss_"), "{made}");
    let login = exchange(&admin, &made["id"], &made["secret"]).await;
    assert_eq!(login.status, 200, "{}", login.text);
    assert_eq!(login.header("cache-control"), Some("no-store"));
    let data = login.json()["data"].clone();
    assert_eq!(
        (&data["expires_in"], &data["user"]["role"], &data["user"]["id"]),
        (&json!(900), &json!("viewer"), &made["id"])
    );
    let dashboard = admin.with(data["token"].as_str().unwrap());
    assert_eq!(dashboard.get("/api/v1/devices").await.status, 200);
    assert_eq!(dashboard.get("/api/v1/auth/me").await.json()["data"]["id"], made["id"]);
    let device = json!({ "name": "x", "kind": "siren" });
    assert_eq!(dashboard.post("/api/v1/devices", &device).await.status, 403, "a viewer only reads");
    assert_eq!(dashboard.get(PATH).await.status, 403);
    let refresh = json!({ "refresh_token": data["refresh_token"] });
    let next = admin.without_key().post("/api/v1/auth/refresh", &refresh).await;
    assert_eq!(next.status, 200, "{}", next.text);
    assert_eq!(next.json()["data"]["expires_in"], 900);
    let mut socket = Socket::open(&muster, next.json()["data"]["token"].as_str().unwrap()).await;
    assert_eq!(socket.subscribe(json!({ "ch": "incidents" })).await["ch"], "incidents");

    let listed = admin.get(PATH).await;
    assert_eq!(listed.json()["data"]["service_accounts"][0]["name"], "wall-dashboard");
    assert!(!listed.text.contains(made["secret"].as_str().unwrap()), "no list shows a secret");
    let users = admin.get("/api/v1/users").await;
    assert!(!users.text.contains(id), "a service account is no user: {}", users.text);
    assert_eq!(admin.get(&format!("/api/v1/users/{id}")).await.status, 404);
    let request = admin.request(Method::DELETE, &format!("/api/v1/users/{id}")).header("if-match", "*");
    assert_eq!(answer(request).await.status, 404);

    assert_eq!(admin.delete(&format!("{PATH}/{id}")).await.status, 200);
    assert_eq!(dashboard.get("/api/v1/devices").await.status, 401, "the token of the revoked account");
    assert_eq!(socket.closed().await, 4011);
    assert_eq!(exchange(&admin, &made["id"], &made["secret"]).await.status, 401);
}

#[tokio::test]
async fn a_rotated_secret_has_grace_and_without_grace_ends_the_sessions() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let made = create(&admin, &json!({ "name": "bridge", "role": "operator" })).await;
    let rotate = format!("{PATH}/{}/rotate", made["id"].as_str().unwrap());
    let open = admin.with(token(&admin, &made).await);
    let graced = admin.post(&rotate, &json!({ "grace_seconds": 600 })).await;
    assert_eq!(graced.status, 200, "{}", graced.text);
    let graced = graced.json()["data"].clone();
    assert!(graced["previous_secret_until"].is_string());
    assert_eq!(exchange(&admin, &made["id"], &made["secret"]).await.status, 200, "the old secret, within its grace");
    assert_eq!(exchange(&admin, &made["id"], &graced["secret"]).await.status, 200);
    assert_eq!(open.get("/api/v1/auth/me").await.status, 200);
    let leaked = admin.post(&rotate, &json!({ "grace_seconds": 0 })).await.json()["data"].clone();
    for old in [&made["secret"], &graced["secret"]] {
        assert_eq!(exchange(&admin, &made["id"], old).await.status, 401);
    }
    assert_eq!(open.get("/api/v1/auth/me").await.status, 401, "its sessions ended");
    assert_eq!(exchange(&admin, &made["id"], &leaked["secret"]).await.status, 200);

    assert_eq!(patch(&admin, &made["id"], &json!({ "disabled": true })).await.status, 200);
    assert_eq!(exchange(&admin, &made["id"], &leaked["secret"]).await.status, 401, "disabled");
    assert_eq!(patch(&admin, &made["id"], &json!({ "disabled": false, "role": "viewer" })).await.status, 200);
    let viewer = exchange(&admin, &made["id"], &leaked["secret"]).await;
    assert_eq!(viewer.json()["data"]["user"]["role"], "viewer");
}

#[tokio::test]
async fn an_account_expires_with_its_tokens_and_sessions() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let soon = Clock::system().now().plus(Duration::from_secs(60)).rfc3339();
    let made = create(&admin, &json!({ "name": "exercise", "role": "viewer", "expires_at": soon })).await;
    let login = exchange(&admin, &made["id"], &made["secret"]).await.json();
    let seconds = login["data"]["expires_in"].as_u64().unwrap();
    assert!((1..=60).contains(&seconds), "the token does not outlive its account: {seconds}");
    let claims = super::claims(login["data"]["token"].as_str().unwrap());
    assert_eq!(claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap(), seconds);
    for at in ["2020-01-01T00:00:00Z", "2199-01-01T00:00:00Z", "tomorrow"] {
        let refused = admin.post(PATH, &json!({ "name": "x", "role": "viewer", "expires_at": at })).await;
        assert_eq!(refused.status, 400, "{at}: {}", refused.text);
        assert!(refused.text.contains("expires_at"), "{}", refused.text);
    }
}

#[tokio::test]
async fn roles_that_decide_for_people_are_refused_and_makers_cannot_grant_more_than_they_may() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    for role in ["approver", "incident_commander", "admin", "super_admin"] {
        let refused = admin.post(PATH, &json!({ "name": "x", "role": role })).await;
        assert_eq!((refused.status, refused.text.contains("viewer, auditor")), (400, true), "{role}: {}", refused.text);
    }
    for name in ["", "Wall", "a b", "ä"] {
        assert_eq!(admin.post(PATH, &json!({ "name": name, "role": "viewer" })).await.status, 400, "{name}");
    }
    let body = json!({ "name": "one", "role": "viewer" });
    let request = || admin.post_request(PATH, &body).header("idempotency-key", "k1");
    let (first, again) = (answer(request()).await, answer(request()).await);
    assert_eq!((first.status, again.status), (201, 201), "{}", again.text);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(first.json()["data"]["secret"], again.json()["data"]["secret"]);
    let taken = admin.post(PATH, &body).await;
    assert_eq!((taken.status, &taken.json()["error"]["code"]), (409, &json!("name_taken")), "{}", taken.text);
    assert_eq!(muster.person("olga", "operator").await.post(PATH, &body).await.status, 403);
}

/// Unknown accounts and wrong secrets look alike and are limited, and an e-mail in place of an account does not count
/// against the person.
#[tokio::test]
async fn secrets_are_guarded_against_guessing() {
    let muster =
        Muster::start("[limits]\nlogin = \"unlimited\"\n[auth]\nlogins_per_address = 1000\nlogins_per_minute = 1000");
    let admin = muster.admin().await;
    let made = create(&admin, &json!({ "name": "guessed", "role": "viewer" })).await;
    let mut texts = std::collections::BTreeSet::new();
    for account in [&made["id"], &json!("svc_01M81Q6Q7V0000G6T3S0QH4G3K"), &json!(EMAIL)] {
        let refused = exchange(&admin, account, &json!("mss_wrong")).await;
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (401, &json!("invalid_credentials")));
        texts.insert(refused.json()["message"].to_string());
    }
    assert_eq!(texts.len(), 1, "{texts:?}");
    for _ in 0..6 {
        assert_eq!(exchange(&admin, &json!(EMAIL), &json!(PASSWORD)).await.status, 401);
    }
    admin.without_key().login(EMAIL, PASSWORD).await;
    let body = json!({ "email": "guessed@service.invalid", "password": made["secret"] });
    assert_eq!(admin.without_key().post("/api/v1/auth/login", &body).await.status, 401, "no password login");
    let by_default = Muster::start("[limits]\nlogin = 10");
    let statuses = futures::future::join_all((0..40).map(|_| exchange_unknown(&by_default))).await;
    assert!(statuses.contains(&429), "{statuses:?}");
}

async fn exchange_unknown(muster: &Muster) -> u16 {
    exchange(&muster.client(), &json!("svc_nobody"), &json!("mss_wrong")).await.status
}

fn run(folder: &Path, args: &[&str]) -> Value {
    let mut command = program(folder);
    let output = command.args(["service-accounts", "--json", "--data"]).arg(folder.join("store")).args(args).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// An account that was acknowledged is there after kill -9, with its rotation; the command line manages accounts in the
/// data folder, and the audit log has each change.
#[tokio::test]
async fn accounts_survive_a_kill_and_are_managed_in_a_stopped_servers_folder() {
    let folder = tempfile::tempdir().unwrap();
    let process = Launch::new(folder.path()).start();
    let admin = Client::new(&process.url).login(EMAIL, PASSWORD).await.0;
    let made = create(&admin, &json!({ "name": "kept", "role": "viewer" })).await;
    let gone = create(&admin, &json!({ "name": "gone", "role": "viewer" })).await;
    let rotate = format!("{PATH}/{}/rotate", made["id"].as_str().unwrap());
    let rotated = admin.post(&rotate, &json!({ "grace_seconds": 0 })).await.json()["data"].clone();
    assert_eq!(admin.delete(&format!("{PATH}/{}", gone["id"].as_str().unwrap())).await.status, 200);
    process.kill();

    let listed = run(folder.path(), &["list"]);
    assert_eq!(listed["service_accounts"].as_array().unwrap().len(), 1, "{listed}");
    let local = run(folder.path(), &["create", "--name", "local", "--role", "auditor"]);
    let disabled = run(folder.path(), &["disable", local["id"].as_str().unwrap()]);
    assert_eq!(disabled["disabled"], true);

    let process = Launch::new(folder.path()).start();
    let client = Client::new(&process.url);
    assert_eq!(exchange(&client, &made["id"], &rotated["secret"]).await.status, 200);
    assert_eq!(exchange(&client, &made["id"], &made["secret"]).await.status, 401);
    assert_eq!(exchange(&client, &gone["id"], &gone["secret"]).await.status, 401);
    assert_eq!(exchange(&client, &local["id"], &local["secret"]).await.status, 401, "disabled");
    assert!(!process.log().contains(rotated["secret"].as_str().unwrap()), "no secret is logged");
    process.kill();
}
