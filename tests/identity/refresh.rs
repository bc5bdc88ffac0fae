//! Refresh tokens, over HTTP.

use futures::future::join_all;
use serde_json::{Value, json};

use super::support::client::{Answer, Client};
use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};

async fn login(client: &Client, email: &str) -> Value {
    client.login(email, PASSWORD).await.1.json()["data"].clone()
}

async fn refresh(client: &Client, data: &Value) -> Answer {
    client.post("/api/v1/auth/refresh", &json!({ "refresh_token": data["refresh_token"] })).await
}

async fn next(client: &Client, data: &Value) -> Value {
    let got = refresh(client, data).await;
    assert_eq!(got.status, 200, "{}", got.text);
    got.json()["data"].clone()
}

async fn over(client: &Client, data: &Value) {
    let got = refresh(client, data).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (401, &json!("invalid_refresh_token")), "{}", got.text);
}

async fn me(client: &Client, data: &Value) -> u16 {
    client.with(data["token"].as_str().unwrap()).get("/api/v1/auth/me").await.status
}

fn server(settings: &str) -> (Muster, Client) {
    let muster = Muster::start(settings);
    let client = muster.client().without_key();
    (muster, client)
}

#[tokio::test]
async fn a_refresh_answers_like_a_login() {
    let (_muster, client) = server("");
    let first = login(&client, EMAIL).await;
    let second = next(&client, &first).await;
    assert_eq!(first["user"], second["user"]);
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert_eq!(me(&client, &second).await, 200);
}

#[tokio::test]
async fn a14_a_used_refresh_token_revokes_its_family() {
    // Without a grace period any used token is rejected.
    let (_muster, client) = server("[auth]\nrefresh_grace_seconds = 0");
    let first = login(&client, EMAIL).await;
    let second = next(&client, &first).await;
    over(&client, &first).await;
    assert_eq!(me(&client, &second).await, 401, "the newest access token is dead");
    over(&client, &second).await;
}

#[tokio::test]
async fn a15_a_lost_response_is_repeated_within_the_grace_period() {
    let (_muster, client) = server("");
    let first = login(&client, EMAIL).await;
    let (second, again) = (next(&client, &first).await, next(&client, &first).await);
    assert_eq!(second, again);
    assert_eq!(me(&client, &second).await, 200, "nothing was revoked");
}

#[tokio::test]
async fn a16_victim_and_thief_cannot_both_go_on() {
    let (_muster, client) = server("");
    let victim = login(&client, EMAIL).await;
    let thief = next(&client, &victim).await;
    let thief = next(&client, &thief).await;
    over(&client, &victim).await;
    assert_eq!(me(&client, &thief).await, 401);
    over(&client, &thief).await;
}

#[tokio::test]
async fn a17_fifty_concurrent_refreshes_have_one_successor() {
    let (_muster, client) = server("");
    let first = login(&client, EMAIL).await;
    let all = join_all((0..50).map(|_| next(&client, &first))).await;
    assert!(all.iter().all(|data| *data == all[0]), "one lineage");
    next(&client, &all[0]).await;
}

#[tokio::test]
async fn a19_nothing_refreshes_after_logout_password_change_or_disabling() {
    let (muster, client) = server("");
    let admin = muster.admin().await;
    let body = json!({ "email": "ann@example.org", "password": PASSWORD, "role": "operator" });
    let ann = admin.post("/api/v1/users", &body).await.json()["data"].clone();
    let with = |data: &Value| client.with(data["token"].as_str().unwrap());

    let out = login(&client, "ann@example.org").await;
    let got = with(&out).post("/api/v1/auth/logout", &json!({ "token": out["token"] })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    over(&client, &out).await;

    let changed = login(&client, "ann@example.org").await;
    let wrong = json!({ "current_password": "wrong", "new_password": "another long password" });
    assert_eq!(with(&changed).post("/api/v1/auth/password", &wrong).await.status, 401);
    let right = json!({ "current_password": PASSWORD, "new_password": PASSWORD.to_uppercase() });
    let got = with(&changed).post("/api/v1/auth/password", &right).await;
    assert_eq!(got.status, 200, "{}", got.text);
    over(&client, &changed).await;
    assert_eq!(me(&client, &changed).await, 401);

    let off = client.login("ann@example.org", &PASSWORD.to_uppercase()).await.1.json()["data"].clone();
    let path = format!("/api/v1/users/{}", ann["id"].as_str().unwrap());
    let request = admin.request(reqwest::Method::PATCH, &path).header("if-match", "*");
    let request = request.header("content-type", "application/json").body(json!({ "disabled": true }).to_string());
    assert_eq!(super::support::client::answer(request).await.status, 200);
    over(&client, &off).await;
    assert_eq!(me(&client, &off).await, 401);
}

#[tokio::test]
async fn a20_logout_of_tokens_unknown_expired_and_foreign() {
    let (muster, client) = server("");
    let ann = muster.person("ann", "operator").await;
    let admin = login(&client, EMAIL).await;
    for unknown in ["nonsense", "a.b.c"] {
        let got = ann.post("/api/v1/auth/logout", &json!({ "token": unknown })).await;
        assert_eq!((got.status, &got.json()["success"]), (200, &json!(true)), "{}", got.text);
    }
    let mut expired = super::access(admin["token"].as_str().unwrap());
    (expired.iat, expired.nbf, expired.exp) = (expired.iat - 4000, expired.nbf - 4000, expired.exp - 4000);
    let expired =
        muster_auth::mint(&super::keys_of(muster.data.path()), muster_auth::TokenType::Access, &expired).unwrap();
    let got = ann.post("/api/v1/auth/logout", &json!({ "token": expired })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let got = ann.post("/api/v1/auth/logout", &json!({ "token": admin["token"] })).await;
    assert_eq!(got.status, 403, "{}", got.text);
    assert_eq!(me(&client, &admin).await, 200, "the foreign session is untouched");
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one_and_all_together() {
    let (muster, client) = server("");
    let (first, second) = (login(&client, EMAIL).await, login(&client, EMAIL).await);
    let admin = client.with(second["token"].as_str().unwrap());
    let listed = admin.get("/api/v1/auth/sessions").await.json()["data"].clone();
    let sessions = listed["sessions"].as_array().unwrap();
    assert_eq!((sessions.len(), &sessions[0]["current"], &sessions[1]["current"]), (2, &json!(true), &json!(false)));
    assert_eq!(sessions[0]["ip"], "127.0.0.1", "{listed}");
    let path = format!("/api/v1/auth/sessions/{}", sessions[1]["id"].as_str().unwrap());
    let ann = muster.person("ann", "operator").await;
    assert_eq!(ann.delete(&path).await.status, 404, "another person's is not visible");
    let other = login(&client, EMAIL).await;
    assert_eq!(admin.delete(&path).await.status, 200);
    assert_eq!((me(&client, &first).await, me(&client, &other).await), (401, 200));
    assert_eq!(admin.delete(&path).await.status, 404);
    assert_eq!(admin.post("/api/v1/auth/logout-all", &json!({})).await.status, 200);
    assert_eq!((me(&client, &second).await, me(&client, &other).await), (401, 401));
    assert_eq!(ann.get("/api/v1/auth/me").await.status, 200);
}
