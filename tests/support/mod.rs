//! A real server on a free port, in this process or in a separate one, a scripted upstream for it, and a client.

#![allow(
    dead_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test's helpers may fail it, and no test needs them all"
)]

pub mod client;
pub mod described;
pub mod device;
pub mod dialect;
pub mod messages;
pub mod openapi;
pub mod process;
pub mod refusal;
pub mod responses;
pub mod rng;
pub mod server;
pub mod socket;
pub mod tls;
pub mod upstream;
pub mod wire;

/// A fixed first key, as an operator would configure one.
pub const KEY: &str = "mst_testtesttest_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The first administrator, who has all permissions, and the password of every user in the tests.
pub const EMAIL: &str = "admin@muster.local";
pub const PASSWORD: &str = "correct horse battery staple";

/// A well-formed key that no server knows.
pub const UNKNOWN_KEY: &str = "mst_nobodynobody_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// The entries of a server's audit log, in order.
pub fn audit_entries(muster: &server::Muster) -> Vec<serde_json::Value> {
    use muster_core::audit::AuditRecord;
    let store = muster_store::StoreHandle::clone(&muster.app.store);
    let records = store.records::<AuditRecord>([], muster_store::PageRequest::default()).values();
    let entry = |record: Result<AuditRecord, _>| {
        let entry = record.unwrap().entry().unwrap();
        serde_json::json!({ "id": entry.id, "actor": entry.actor, "action": entry.action, "resource": entry.resource,
            "outcome": entry.outcome, "details": entry.details, "after": entry.after })
    };
    records.map(entry).collect()
}
