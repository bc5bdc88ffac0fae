//! People over HTTP: created, changed, deleted, and the effect on their sessions.

use reqwest::Method;
use serde_json::{Value, json};

use super::support::PASSWORD;
use super::support::client::{Answer, Client, answer};
use super::support::server::Muster;

async fn patch(client: &Client, id: &Value, if_match: Option<&str>, body: Value) -> Answer {
    let request = client.request(Method::PATCH, &format!("/api/v1/users/{}", id.as_str().unwrap()));
    let request = request.header("content-type", "application/json").body(body.to_string());
    answer(if_match.into_iter().fold(request, |request, version| request.header("if-match", version))).await
}

async fn user_of(client: &Client) -> Value {
    client.get("/api/v1/auth/me").await.json()["data"].clone()
}

#[tokio::test]
async fn a25_a_role_that_shrinks_shrinks_at_once() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let auditor = muster.person("ann", "auditor").await;
    assert_eq!(auditor.get("/api/v1/users").await.status, 200);
    let got = patch(&admin, &user_of(&auditor).await["id"], Some("1"), json!({ "role": "viewer" })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    assert_eq!((got.header("etag"), &got.json()["data"]["version"]), (Some("\"2\""), &json!(2)));
    assert_eq!(auditor.get("/api/v1/users").await.status, 403, "the same token");
    assert_eq!(user_of(&auditor).await["role"], "viewer");
}

#[tokio::test]
async fn changes_need_the_version_that_was_read() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let id = &user_of(&muster.person("ann", "viewer").await).await["id"];
    assert_eq!(patch(&admin, id, None, json!({ "name": "Ann" })).await.status, 428);
    assert_eq!(patch(&admin, id, Some("\"7\""), json!({ "name": "Ann" })).await.status, 412);
    assert_eq!(patch(&admin, id, Some("\"1\""), json!({ "name": "Ann" })).await.status, 200);
    let request = admin.request(Method::DELETE, &format!("/api/v1/users/{}", id.as_str().unwrap()));
    assert_eq!(answer(request.header("if-match", "2")).await.status, 200);
    assert_eq!(admin.get(&format!("/api/v1/users/{}", id.as_str().unwrap())).await.status, 404);
}

#[tokio::test]
async fn an_admin_manages_every_lower_role_and_the_last_super_admin_cannot_be_removed() {
    let muster = Muster::start("");
    let (admin, boss) = (muster.admin().await, muster.person("boss", "admin").await);
    let wish = |role: &str| json!({ "email": format!("{role}@example.org"), "password": PASSWORD, "role": role });
    for role in ["viewer", "operator", "incident_commander", "firmware_manager", "approver"] {
        assert_eq!(boss.post("/api/v1/users", &wish(role)).await.status, 201, "{role}");
    }
    let grant =
        json!({ "email": "g@example.org", "password": PASSWORD, "role": "viewer", "grants": ["devices:write"] });
    assert_eq!(boss.post("/api/v1/users", &grant).await.status, 403, "a single grant that it lacks");
    for role in ["admin", "super_admin"] {
        let got = boss.post("/api/v1/users", &wish(role)).await;
        assert_eq!((got.status, &got.json()["error"]["code"]), (403, &json!("permission_denied")), "{}", got.text);
    }
    let top = user_of(&admin).await["id"].clone();
    let own = user_of(&boss).await["id"].clone();
    for raised in ["super_admin", "operator", "firmware_manager"] {
        assert_eq!(
            patch(&boss, &own, Some("*"), json!({ "role": raised })).await.status,
            403,
            "users cannot raise their own role"
        );
    }
    assert_eq!(patch(&boss, &top, Some("*"), json!({ "disabled": true })).await.status, 403);
    let got = patch(&admin, &top, Some("*"), json!({ "disabled": true })).await;
    assert_eq!((got.status, &got.json()["error"]["code"]), (409, &json!("last_super_admin")), "{}", got.text);
    let reset = format!("/api/v1/users/{}/password", top.as_str().unwrap());
    assert_eq!(boss.post(&reset, &json!({ "password": "a new password" })).await.status, 403);
}

#[tokio::test]
async fn a_reset_password_ends_every_session_of_its_person() {
    let muster = Muster::start("");
    let (admin, ann) = (muster.admin().await, muster.person("ann", "viewer").await);
    let path = format!("/api/v1/users/{}/password", user_of(&ann).await["id"].as_str().unwrap());
    assert_eq!(admin.post(&path, &json!({ "password": "short" })).await.status, 400);
    let got = admin.post(&path, &json!({ "password": "a new long password" })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    assert_eq!(ann.get("/api/v1/auth/me").await.status, 401);
    muster.login("ann@example.org", "a new long password").await;
}

#[tokio::test]
async fn a_person_is_made_once_for_one_idempotency_key() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let body = json!({ "email": "Ann@Example.org", "password": PASSWORD, "role": "viewer" });
    let make = |body: &Value| admin.post_request("/api/v1/users", body).header("idempotency-key", "k1");
    let first = answer(make(&body)).await;
    assert_eq!(first.status, 201, "{}", first.text);
    assert_eq!(first.json()["data"]["email"], "ann@example.org");
    let again = answer(make(&body)).await;
    assert_eq!((again.status, again.header("idempotency-replayed")), (201, Some("true")));
    assert_eq!(first.json(), again.json());
    let other = answer(make(&json!({ "email": "b@example.org", "password": PASSWORD, "role": "viewer" }))).await;
    assert_eq!((other.status, &other.json()["error"]["code"]), (409, &json!("idempotency_conflict")));
    let taken = admin.post("/api/v1/users", &body).await;
    assert_eq!((taken.status, &taken.json()["error"]["code"]), (409, &json!("email_taken")));
}

/// Contract 1, "Roles -> permissions".
#[tokio::test]
async fn the_list_of_roles_states_what_a_user_of_each_role_has() {
    let muster = Muster::start("");
    let listed = muster.client().get("/api/v1/roles").await.json();
    let of = |role: &str| {
        let found = listed["roles"].as_array().unwrap().iter().find(|entry| entry["role"] == role);
        found.unwrap_or_else(|| panic!("no role {role}: {listed}")).clone()
    };
    assert_eq!(
        of("viewer")["permissions"],
        json!(["devices:read", "incidents:read", "alerts:read", "realtime:subscribe"])
    );
    assert_eq!(of("viewer")["scopes"], json!([]));
    assert_eq!(of("super_admin")["permissions"], listed["permissions"]);
    for role in ["viewer", "responder", "operator", "incident_commander", "firmware_manager", "approver", "auditor"] {
        let user = user_of(&muster.person(role, role).await).await;
        assert_eq!(of(role)["permissions"], user["permissions"], "{role}");
    }
    let scopes = json!(["agents", "chat", "memory", "engines", "admin", "medical", "metrics"]);
    assert_eq!(listed["scopes"], scopes, "contract 0");
    assert_eq!(muster.client().without_key().get("/api/v1/roles").await.status, 401);
}

/// Every route by which a user could change or end what another one has.
#[tokio::test]
async fn an_admin_changes_nothing_of_a_super_admin() {
    let muster = Muster::start("");
    let chief = muster.admin().await;
    let admin = muster.person("ada", "admin").await;
    let id = user_of(&chief).await["id"].as_str().unwrap().to_owned();
    let session = chief.get("/api/v1/auth/sessions").await.json()["data"]["sessions"][0]["id"].clone();
    let session = session.as_str().unwrap();
    let patch = |body: Value| {
        let request = admin.request(Method::PATCH, &format!("/api/v1/users/{id}")).header("if-match", "*");
        answer(request.header("content-type", "application/json").body(body.to_string()))
    };
    for body in [json!({ "role": "viewer" }), json!({ "disabled": true }), json!({ "name": "Nobody" })] {
        assert_eq!(patch(body).await.status, 403);
    }
    let delete = admin.request(Method::DELETE, &format!("/api/v1/users/{id}")).header("if-match", "*");
    assert_eq!(answer(delete).await.status, 403);
    let reset = admin.post(&format!("/api/v1/users/{id}/password"), &json!({ "password": PASSWORD })).await;
    assert_eq!(reset.status, 403, "{}", reset.text);
    let ended = admin.delete(&format!("/api/v1/auth/sessions/{session}")).await;
    assert_eq!((ended.status, &ended.json()["error"]["code"]), (403, &json!("permission_denied")), "{}", ended.text);
    let token = muster.client().without_key().login(super::super::support::EMAIL, PASSWORD).await.1.json();
    for name in ["token", "refresh_token"] {
        let logout = admin.post("/api/v1/auth/logout", &json!({ "token": token["data"][name] })).await;
        assert_eq!(logout.status, 403, "{}", logout.text);
    }
    let made = json!({ "email": "b@example.org", "password": PASSWORD, "role": "super_admin" });
    assert_eq!(admin.post("/api/v1/users", &made).await.status, 403);
    assert_eq!(chief.get("/api/v1/auth/me").await.status, 200, "the session is live");

    // Those of others it ends, and a super_admin ends its own.
    let viewer = muster.person("vic", "viewer").await;
    let session = viewer.get("/api/v1/auth/sessions").await.json()["data"]["sessions"][0]["id"].clone();
    let path = format!("/api/v1/auth/sessions/{}", session.as_str().unwrap());
    assert_eq!(
        muster.person("val", "viewer").await.delete(&path).await.status,
        404,
        "it is not revealed that there is one"
    );
    assert_eq!(admin.delete(&path).await.status, 200);
    let own = user_of(&admin).await["id"].as_str().unwrap().to_owned();
    assert_eq!(admin.get(&format!("/api/v1/users/{own}")).await.status, 200);
    let session = admin.get("/api/v1/auth/sessions").await.json()["data"]["sessions"][0]["id"].clone();
    assert_eq!(chief.delete(&format!("/api/v1/auth/sessions/{}", session.as_str().unwrap())).await.status, 200);
}

/// Contract 0: trust anchors need the role `super_admin`.
#[tokio::test]
async fn only_a_super_admin_changes_the_keys_that_devices_trust() {
    let muster = Muster::start("");
    let (chief, manager) = (muster.admin().await, muster.person("mia", "firmware_manager").await);
    let key = muster_auth::PrivateKey::generate().unwrap();
    let body = json!({ "name": "release", "public_key": key.public().to_jwk() });
    let refused = manager.post("/api/v1/firmware/keys", &body).await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("role `super_admin`"), "{}", refused.text);
    assert_eq!(chief.post("/api/v1/firmware/keys", &body).await.status, 201);
    let path = format!("/api/v1/firmware/keys/{}", key.public().thumbprint());
    assert_eq!((manager.delete(&path).await.status, manager.get("/api/v1/firmware/keys").await.status), (403, 200));
    assert_eq!(chief.delete(&path).await.status, 200);
}

/// The paths of session actors contain identifiers of sessions.
#[tokio::test]
async fn a_status_shows_sessions_to_administrators_only() {
    let muster = Muster::start("");
    let client = muster.client();
    let login = json!({ "email": super::super::support::EMAIL, "password": PASSWORD });
    let got = client.without_key().post("/api/v1/auth/login", &login).await.json();
    let refresh = json!({ "refresh_token": got["data"]["refresh_token"] });
    // A session has an actor from its first refresh on.
    assert_eq!(client.without_key().post("/api/v1/auth/refresh", &refresh).await.status, 200);
    assert!(client.get("/api/v1/status").await.text.contains("identity/sessions/ses_"));
    let chat = client.with(client.make_key(&json!({ "name": "n", "scopes": ["chat"] })).await);
    let status = chat.get("/api/v1/status").await;
    assert_eq!(status.status, 200);
    assert!(!status.text.contains("ses_") && status.text.contains("identity/registry"), "{}", status.text);
    let scraper = client.with(client.make_key(&json!({ "name": "n", "scopes": ["metrics"] })).await);
    assert!(!scraper.get("/metrics").await.text.contains("ses_"));
}
