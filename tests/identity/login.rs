//! Login, logout and the current user.

use serde_json::json;

use super::support::server::Muster;
use super::support::{EMAIL, PASSWORD};

fn fields(value: &serde_json::Value) -> Vec<&str> {
    let mut names: Vec<_> = value.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn login_returns_two_tokens_and_the_user() {
    let muster = Muster::start("");
    let device = json!({ "user_agent": "tests/1.0", "ip_address": "203.0.113.7" });
    let body = json!({ "email": EMAIL, "password": PASSWORD, "device_info": device });
    let got = muster.client().without_key().post("/api/v1/auth/login", &body).await;
    assert_eq!(got.status, 200, "{}", got.text);
    let body = got.json();
    assert_eq!(body["success"], true);
    assert_eq!(fields(&body["data"]), ["expires_in", "refresh_token", "token", "user"]);
    for token in ["token", "refresh_token"] {
        assert_eq!(body["data"][token].as_str().unwrap().split('.').count(), 3, "a JWT");
    }
    let user = &body["data"]["user"];
    assert_eq!(fields(user), ["email", "id", "permissions", "role"]);
    assert_eq!((&user["email"], &user["role"]), (&json!(EMAIL), &json!("super_admin")));
    let permissions: Vec<_> = user["permissions"].as_array().unwrap().iter().map(|p| p.as_str().unwrap()).collect();
    for seen in ["devices:read", "devices:write", "incidents:read"] {
        assert!(permissions.contains(&seen), "{permissions:?}");
    }
}

#[tokio::test]
async fn the_current_user_is_identified_by_the_token() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let got = admin.get("/api/v1/auth/me").await;
    assert_eq!(got.status, 200, "{}", got.text);
    let body = got.json();
    assert_eq!(body["success"], true);
    assert_eq!(fields(&body["data"]), ["created_at", "email", "id", "last_login", "permissions", "role"]);
    for time in ["created_at", "last_login"] {
        assert!(body["data"][time].as_str().unwrap().ends_with('Z'), "{body}");
    }
    let none = admin.without_key().get("/api/v1/auth/me").await;
    assert_eq!(none.status, 401);
    assert_eq!(none.header("www-authenticate"), Some("Bearer realm=\"muster\""));
    let key = muster.client().get("/api/v1/auth/me").await;
    assert_eq!(key.status, 401, "an API key belongs to no person: {}", key.text);
}

#[tokio::test]
async fn a_token_is_revoked_by_its_logout() {
    let muster = Muster::start("");
    let (admin, login) = muster.client().without_key().login(EMAIL, PASSWORD).await;
    let token = login.json()["data"]["token"].clone();
    let got = admin.post("/api/v1/auth/logout", &json!({ "token": token })).await;
    assert_eq!(got.status, 200, "{}", got.text);
    assert_eq!(fields(&got.json()), ["message", "success"]);
    assert_eq!(got.json()["success"], true);
    let after = admin.get("/api/v1/auth/me").await;
    assert_eq!(after.status, 401, "{}", after.text);
    assert_eq!(after.header("www-authenticate"), Some("Bearer realm=\"muster\", error=\"invalid_token\""));
}

#[tokio::test]
async fn a_role_has_exactly_its_permissions() {
    let muster = Muster::start("");
    let viewer = muster.person("vera", "viewer").await;
    assert_eq!(viewer.get("/api/v1/auth/me").await.json()["data"]["role"], "viewer");
    let refused = viewer.get("/api/v1/users").await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    assert_eq!(refused.json()["error"]["code"], "permission_denied");
    assert_eq!(refused.json()["error"]["details"]["permission"], "users:read");
    let users = muster.admin().await.get("/api/v1/users").await;
    assert_eq!(users.json()["data"]["users"].as_array().unwrap().len(), 2, "{}", users.text);
}
