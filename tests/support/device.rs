//! Devices in the field that sign their own tokens.

use std::time::{SystemTime, UNIX_EPOCH};

use muster_auth::{PrivateKey, device};
use serde_json::{Value, json};

use super::client::{Answer, Client};

/// A registered device and the key that it signs with.
pub struct Unit {
    pub id: String,
    pub key: PrivateKey,
    /// A client with a token that it signed.
    pub client: Client,
}

impl Unit {
    /// Registers a device by its own public key.
    pub async fn register(people: &Client, more: Value) -> Self {
        let key = PrivateKey::generate().unwrap();
        let mut body = json!({ "name": "Siren 7", "kind": "siren", "public_key": key.public().to_jwk() });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let made = people.post("/api/v1/devices", &body).await;
        assert_eq!(made.status, 201, "{}", made.text);
        assert_eq!(made.json()["data"]["private_key"], Value::Null, "it brought its own");
        let id = made.json()["data"]["device"]["id"].as_str().unwrap().to_owned();
        Self::of(people, id, key)
    }

    /// The device with that identifier and key.
    pub fn of(people: &Client, id: String, key: PrivateKey) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let token = device::sign(&key, &id, now, 300).unwrap();
        let client = people.without_key().with(token);
        Self { id, key, client }
    }

    /// Sends a heartbeat.
    pub async fn beat(&self, body: Value) -> Answer {
        self.client.post(&format!("/api/v1/devices/{}/heartbeat", self.id), &body).await
    }
}
