//! The events of governance: approvals, deciders, delegations, the policy, deploys, the audit log.

use serde_json::{Value, json};

use super::event_schemas::{object, text};
use super::events::{Data, EventRow};

const GOVERNANCE: &[&str] = &["governance"];

const fn row(
    channels: &'static [&'static str],
    names: &'static [&'static str],
    summary: &'static str,
    schema: fn() -> Value,
) -> EventRow {
    EventRow { channels, names, summary, data: Data::Fields(schema), may_be_left_out: false }
}

const fn audit(
    names: &'static [&'static str],
    summary: &'static str,
    example: fn() -> Value,
    types: fn() -> Value,
) -> EventRow {
    EventRow { channels: GOVERNANCE, names, summary, data: Data::Example(example, types), may_be_left_out: false }
}

pub(super) const EVENTS: [EventRow; 12] = [
    row(
        GOVERNANCE,
        &[
            "approval.pending",
            "approval.approved",
            "approval.rejected",
            "approval.vetoed",
            "approval.expired",
            "approval.cancelled",
            "approval.revoked",
            "approval.executed",
        ],
        "An approval came into a state",
        state,
    ),
    row(GOVERNANCE, &["approval.decided"], "A person decided about an approval", decided),
    row(GOVERNANCE, &["break_glass.used"], "Two super administrators approved without a quorum", glass),
    row(GOVERNANCE, &["break_glass.overdue"], "Nobody reviewed a break-glass in time", overdue),
    row(GOVERNANCE, &["decider.changed"], "A decider was enrolled, resumed or removed", decider),
    row(GOVERNANCE, &["delegation.changed"], "A delegation was made or has ended", delegation),
    row(GOVERNANCE, &["policy.changed"], "Another policy is in force", policy),
    row(GOVERNANCE, &["deploy.recorded"], "Another program, or the same with other settings, runs", deploy),
    row(GOVERNANCE, &["sentinel.critical"], "Sentinels found a subject critical, once in ten minutes", sentinel),
    audit(&["audit.checkpoint"], "Entries of the audit log were signed", checkpoint, || json!({})),
    audit(&["audit.alarm"], "The audit log differs from what was made or signed of it", alarm, || {
        let description = "Number of the entry, if it is known";
        json!({ "seq": { "type": ["integer", "null"], "minimum": 0, "description": description } })
    }),
    row(&["user:{id}"], &["approval.waiting"], "An approval waits for a decision that the user may make", waiting),
];

fn checkpoint() -> Value {
    json!({ "origin": "muster.example.org/audit/1", "size": 1042, "root": "ipgbVRHzl1UEZ648CS6WyZDRWJ/KHhcEPuUBa+oe8sE=" })
}

fn alarm() -> Value {
    json!({ "at": "2026-11-26T02:00:00.000Z", "seq": 17, "what": "entry 17 is not the one whose hash is in the tree" })
}

fn risk() -> Value {
    json!({ "type": "string", "enum": ["low", "medium", "high", "critical"] })
}

fn state() -> Value {
    object(
        json!({
            "id": text("The approval"), "action": text("Name of the action"), "resource": text("What it changes"),
            "risk": risk(), "state": text("The state"), "requester": text("Who requested it"),
            "version": { "type": "integer", "minimum": 1 },
        }),
        &["id", "action", "resource", "risk", "state", "requester", "version"],
    )
}

fn decided() -> Value {
    object(
        json!({
            "id": text("The approval"), "by": text("The person"),
            "decision": { "type": "string", "enum": ["approve", "reject", "break_glass"] },
            "role": { "type": ["string", "null"], "description": "The role; null for a break-glass" },
            "state": text("The state after it"),
        }),
        &["id", "by", "decision", "role", "state"],
    )
}

fn glass() -> Value {
    let people = json!({ "type": "array", "items": { "type": "string" } });
    object(
        json!({ "id": text("The approval"), "action": text("Name of the action"), "by": people }),
        &["id", "action", "by"],
    )
}

fn overdue() -> Value {
    object(json!({ "id": text("The approval"), "action": text("Name of the action") }), &["id", "action"])
}

fn decider() -> Value {
    let roles = json!({ "type": "array", "items": { "type": "string", "enum": ["security", "operations"] } });
    object(
        json!({ "user": text("The person"), "roles": roles, "what": text("What changed") }),
        &["user", "roles", "what"],
    )
}

fn delegation() -> Value {
    object(
        json!({ "id": text("The delegation"), "from": text("Who delegates"), "what": text("`created` or `ended`") }),
        &["id", "from", "what"],
    )
}

fn optional(description: &str) -> Value {
    json!({ "type": ["string", "null"], "description": description })
}

fn policy() -> Value {
    object(
        json!({
            "policy": text("Identifier of the policy: the hash of its canonical text"),
            "version": { "type": "integer", "minimum": 1 },
            "source": { "type": "string", "enum": ["file", "store"] },
            "by": text("Who set it; `system` for the settings file"),
            "approval": optional("The approval of the change"),
        }),
        &["policy", "version", "source", "by", "approval"],
    )
}

fn deploy() -> Value {
    object(
        json!({
            "id": text("The deploy"), "version": text("Version of the program"), "commit": optional("Its commit"),
            "binary_sha256": text("Hash of the program's file"), "config_sha256": text("Hash of the settings"),
            "policy": text("The policy in force"), "previous": optional("The deploy before it"),
            "previous_end": { "type": ["string", "null"], "enum": ["clean", "killed", null] },
            "reload": { "type": "boolean", "description": "Whether a reload caused it" },
        }),
        &["id", "version", "commit", "binary_sha256", "config_sha256", "policy", "previous", "previous_end", "reload"],
    )
}

fn waiting() -> Value {
    object(
        json!({
            "id": text("The approval"), "action": text("Name of the action"), "resource": text("What it changes"),
            "risk": risk(), "expires_at": { "type": "string", "format": "date-time" },
        }),
        &["id", "action", "resource", "risk", "expires_at"],
    )
}

fn sentinel() -> Value {
    let sentinels = json!({ "type": "array", "items": { "type": "string" }, "description": "Those that say critical" });
    object(
        json!({
            "subject_sha256": text("SHA-256 of the RFC 8785 form of the subject, in hexadecimal"),
            "score": { "type": "number", "minimum": 0, "maximum": 1 }, "sentinels": sentinels,
            "by": text("Who had the subject examined"),
        }),
        &["subject_sha256", "score", "sentinels", "by"],
    )
}
