//! Geofences over HTTP: created, changed by version, deleted; hard shapes have a defined answer; each permission is
//! checked.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::client::{Answer, Client, answer};
use crate::support::server::Muster;

const PATH: &str = "/api/v1/geofences";

fn fence(name: &str, geometry: Value) -> Value {
    json!({ "name": name, "kind": "evacuation", "geometry": geometry, "tags": ["blue"] })
}

fn square(west: f64, east: f64) -> Value {
    json!({"type": "Polygon", "coordinates": [[[west, -1.0], [east, -1.0], [east, 1.0], [west, 1.0], [west, -1.0]]]})
}

async fn change(client: &Client, method: Method, id: &str, version: Option<&str>, body: &Value) -> Answer {
    let mut request = client.request(method.clone(), &format!("{PATH}/{id}"));
    if let Some(version) = version {
        request = request.header("if-match", version);
    }
    if method == Method::PATCH {
        request = request.header("content-type", "application/json").body(body.to_string());
    }
    answer(request).await
}

#[tokio::test]
async fn a_geofence_is_drawn_read_changed_and_deleted_by_its_version() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let made = admin.post(PATH, &fence("harbour", square(10.0, 12.0))).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let record = made.json()["data"].clone();
    let id = record["id"].as_str().unwrap();
    assert!(id.starts_with("gf_") && id.len() == 3 + 26, "{id}");
    assert_eq!(record["bbox"], json!([10.0, -1.0, 12.0, 1.0]));
    assert_eq!(
        (&record["version"], &record["active"], &record["applies_to"]),
        (&json!(1), &json!(true), &json!("devices"))
    );
    assert_eq!(record["geometry"], square(10.0, 12.0));

    let got = admin.get(&format!("{PATH}/{id}")).await;
    assert_eq!((got.header("etag"), &got.json()["data"]), (Some("\"1\""), &record));
    let listed = admin.get(PATH).await.json();
    assert_eq!((&listed["data"]["geofences"], &listed["data"]["next_cursor"]), (&json!([record]), &Value::Null));
    let inside = admin.get(&format!("{PATH}/{id}/inside")).await.json();
    assert_eq!(inside["data"], json!({ "inside": [], "next_cursor": null }));

    let off = json!({ "active": false });
    assert_eq!(change(&admin, Method::PATCH, id, None, &off).await.status, 428);
    assert_eq!(change(&admin, Method::PATCH, id, Some("\"9\""), &off).await.status, 412);
    let changed = change(&admin, Method::PATCH, id, Some("\"1\""), &off).await;
    assert_eq!((changed.status, changed.header("etag")), (200, Some("\"2\"")), "{}", changed.text);
    assert_eq!(
        (&changed.json()["data"]["active"], &changed.json()["data"]["name"]),
        (&json!(false), &json!("harbour"))
    );
    assert_eq!(change(&admin, Method::DELETE, id, Some("\"1\""), &Value::Null).await.status, 412);
    assert_eq!(change(&admin, Method::DELETE, id, Some("\"2\""), &Value::Null).await.status, 200);
    assert_eq!(admin.get(&format!("{PATH}/{id}")).await.status, 404);
}

#[tokio::test]
async fn a_geofence_made_twice_by_one_key_is_made_once_and_outlives_the_server() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let make = async || {
        let request = admin.post_request(PATH, &fence("harbour", square(10.0, 12.0)));
        answer(request.header("idempotency-key", "harbour-1")).await
    };
    let (first, second) = (make().await, make().await);
    assert_eq!((first.status, second.status, second.header("idempotency-replayed")), (201, 201, Some("true")));
    assert_eq!(first.json()["data"], second.json()["data"]);
    let muster = Muster::start_in(muster.stop(), "");
    let listed = muster.admin().await.get(PATH).await.json();
    assert_eq!(listed["data"]["geofences"], json!([first.json()["data"]]));
}

#[tokio::test]
async fn a51_hard_shapes_have_a_defined_answer() {
    let muster = Muster::start("");
    let admin = muster.admin().await;
    let crossing = admin.post(PATH, &fence("crossing", square(179.0, -179.0))).await;
    assert_eq!(crossing.json()["data"]["bbox"], json!([179.0, -1.0, -179.0, 1.0]), "{}", crossing.text);
    let cap = json!({"type": "Polygon", "coordinates": [[[-180, 80], [-90, 80], [0, 80], [90, 80], [-180, 80]]]});
    let cap = admin.post(PATH, &fence("pole", cap)).await;
    assert_eq!(cap.json()["data"]["bbox"], json!([-180.0, 80.0, 180.0, 90.0]), "{}", cap.text);
    let bow_tie = json!({"type": "Polygon", "coordinates": [[[0, 0], [2, 2], [2, 0], [0, 2], [0, 0]]]});
    let refused = admin.post(PATH, &fence("bow tie", bow_tie)).await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    assert!(
        refused.text.contains("geometry") && refused.text.contains("crosses or touches itself"),
        "{}",
        refused.text
    );
    let mut ring: Vec<Value> = (0..100_000).map(|n| json!([n % 300, 1])).collect();
    ring.push(ring[0].clone());
    let huge = admin.post(PATH, &fence("huge", json!({"type": "Polygon", "coordinates": [ring]}))).await;
    assert!(matches!(huge.status, 400 | 413), "{} {}", huge.status, huge.text);
    let line = json!({"type": "LineString", "coordinates": [[0, 0], [1, 1]]});
    assert_eq!(admin.post(PATH, &fence("line", line)).await.status, 400);
}

#[tokio::test]
async fn who_may_read_devices_sees_geofences_and_who_may_write_incidents_draws_them() {
    let muster = Muster::start("");
    let (viewer, responder) = (muster.person("vera", "viewer").await, muster.person("rosa", "responder").await);
    let body = fence("harbour", square(10.0, 12.0));
    let refused = viewer.post(PATH, &body).await;
    assert_eq!((refused.status, &refused.json()["error"]["details"]["permission"]), (403, &json!("incidents:write")));
    assert_eq!(responder.post(PATH, &body).await.status, 201);
    assert_eq!(viewer.get(PATH).await.json()["data"]["geofences"].as_array().unwrap().len(), 1);
    assert_eq!(viewer.without_key().get(PATH).await.status, 401);
    assert_eq!(muster.client().get(PATH).await.status, 401, "an API key belongs to no person");
}
