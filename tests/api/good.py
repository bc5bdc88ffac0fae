"""A call of each operation that must succeed: what it needs is made before it, the rest is the description's example."""

import uuid

from ed25519 import Key
from world import ANY_VERSION, IMAGE, PASSWORD


def at(name, **more):
    """Names the record that a path is about."""
    return {"path": {"id": name}, **more}


def verification(world):
    artifact, signed = world.uploaded()
    return at(artifact, body={"manifest_jws": signed})


def report(world):
    job = world.unit_job()
    return at(job["id"], body={"progress": 50, "exec_version": job["exec_version"]})


def bound_login(world):
    proof = Key().proof("POST", f"{world.origin}/api/v1/auth/cli/login")
    return {"body": {"email": world.guest_email(), "password": PASSWORD}, "headers": {"DPoP": proof}}


def cap(world):
    document = world.examples["import_cap"].replace("dwd-2026-0007", uuid.uuid4().hex)
    return {"body": document.encode()}


# By operation, out of the world: `path` parameters, `query`, `headers`, `body`, and the `token` where it is not the
# administrator's.
GOOD = {
    "login": lambda w: {"body": {"email": w.guest_email(), "password": PASSWORD}},
    "cli_login": bound_login,
    "refresh": lambda w: {"body": {"refresh_token": w.guest()["refresh_token"]}},
    "logout": lambda w: {"body": {"token": w.guest()["token"]}},
    "logout_all": lambda w: {"token": w.guest()["token"]},
    "change_password": lambda w: {
        "token": w.stranger()["token"],
        "body": {"current_password": PASSWORD, "new_password": "another one is as good"},
    },
    "end_session": lambda w: {"path": {"sid": w.guest_session()}},
    "create_user": lambda w: {"body": w.examples["create_user"] | {"email": f"{uuid.uuid4().hex}@example.org"}},
    "get_user": lambda w: at(w.me()),
    "patch_user": lambda w: at(w.person()["id"]),
    "delete_user": lambda w: at(w.person()["id"]),
    "reset_password": lambda w: at(w.person()["id"]),
    "service_login": lambda w: {"body": w.service_credentials()},
    "create_service_account": lambda w: {"body": {"name": uuid.uuid4().hex, "role": "viewer"}},
    "get_service_account": lambda w: at(w.service_credentials()["service_account"]),
    "patch_service_account": lambda w: at(w.service_credentials()["service_account"]),
    "rotate_service_account": lambda w: at(w.service_credentials()["service_account"]),
    "revoke_service_account": lambda w: at(w.service_credentials()["service_account"]),
    "devices_near": lambda w: {"query": {"lon": "8.64", "lat": "49.87"}},
    "get_device": lambda w: at(w.unit),
    "patch_device": lambda w: at(w.device()),
    "retire_device": lambda w: at(w.device()),
    "device_heartbeat": lambda w: at(w.unit),
    "device_telemetry": lambda w: at(w.unit),
    "get_device_telemetry": lambda w: at(w.unit),
    "get_device_history": lambda w: at(w.unit),
    "list_device_commands": lambda w: at(w.unit),
    "list_device_executions": lambda w: at(w.unit),
    "command_device": lambda w: at(w.device()),
    "quarantine_device": lambda w: at(w.device()),
    "release_device": lambda w: at(w.quarantined()),
    "maintain_device": lambda w: at(w.device()),
    "retire_device_with_note": lambda w: at(w.device()),
    "rotate_device_credentials": lambda w: at(w.device()),
    "ack_device_command": lambda w: at(w.handed_command()),
    "next_device_command": lambda w: {"query": {"wait_s": "0"}},
    "next_device_job": lambda w: {"query": {"wait_s": "0"}},
    "report_device_job": report,
    "get_incident": lambda w: at(w.incident()),
    "get_incident_timeline": lambda w: at(w.incident()),
    "get_incident_cap": lambda w: at(w.warned_incident()),
    "change_incident": lambda w: at(w.incident()),
    "annotate_incident": lambda w: at(w.incident()),
    "add_incident_resource": lambda w: at(w.incident()),
    "change_incident_resource": lambda w: at(w.incident_with_resource()),
    "triage_incident": lambda w: at(w.incident()),
    "acknowledge_incident": lambda w: at(w.incident()),
    "activate_incident": lambda w: at(w.incident("triage"), body={"commander": w.me()}),
    "contain_incident": lambda w: at(w.incident("triage", "activate")),
    "escalate_incident": lambda w: at(w.incident("triage", "activate")),
    "de_escalate_incident": lambda w: at(w.incident("triage", "activate", "escalate")),
    "assign_incident": lambda w: at(w.incident()),
    "silence_incident": lambda w: at(w.incident()),
    "resolve_incident": lambda w: at(w.incident("triage", "activate")),
    "close_incident": lambda w: at(w.incident("triage", "activate", "resolve")),
    "reopen_incident": lambda w: at(w.incident("triage", "activate", "resolve")),
    "mark_incident_duplicate": lambda w: at(w.incident(), body={"duplicate_of": w.incident(), "note": "the same"}),
    "mark_incident_false_alarm": lambda w: at(w.incident()),
    "cancel_incident": lambda w: at(w.incident()),
    "publish_alert": lambda w: at(w.incident("triage")),
    "change_alert": lambda w: at(w.proposed_alert()),
    "cancel_alert": lambda w: at(w.published_alert()),
    "give_all_clear": lambda w: at(w.published_alert()),
    "confirm_alert": lambda w: at(w.proposed_alert()),
    "reject_alert": lambda w: at(w.proposed_alert()),
    "get_alert": lambda w: at(w.proposed_alert()),
    "get_alert_cap": lambda w: at(w.published_alert()),
    "import_cap": cap,
    "get_geofence": lambda w: at(w.geofence()),
    "update_geofence": lambda w: at(w.geofence()),
    "delete_geofence": lambda w: at(w.geofence()),
    "inside_geofence": lambda w: at(w.geofence()),
    "create_firmware_artifact": lambda w: {"body": w.manifest()},
    "get_firmware_artifact": lambda w: at(w.announced()),
    "upload_firmware_content": lambda w: at(w.announced(), body=IMAGE),
    "get_firmware_content": lambda w: at(w.ready_once()),
    "verify_firmware_artifact": verification,
    "revoke_firmware_artifact": lambda w: at(w.ready()),
    "create_firmware_key": lambda w: {"body": {"name": "n", "public_key": Key().jwk}},
    "revoke_firmware_key": lambda w: at(w.firmware_key()),
    "create_firmware_job": lambda w: {"body": {"kind": "reboot", "target": {"device_ids": [w.device()]}}},
    "get_firmware_job": lambda w: at(w.waiting_job()),
    "list_firmware_job_executions": lambda w: at(w.waiting_job()),
    "approve_firmware_job": lambda w: at(w.waiting_job()),
    "deny_firmware_job": lambda w: at(w.waiting_job()),
    "pause_firmware_job": lambda w: at(w.rollout()),
    "resume_firmware_job": lambda w: at(w.paused_job()),
    "cancel_firmware_job": lambda w: at(w.waiting_job()),
    "rollback_firmware_job": lambda w: at(w.rollout()),
    "rollback_device": lambda w: at(w.device(), body={"artifact_id": w.ready_once()}),
    "get_agent": lambda w: at("json-wrangler"),
    "run_agent": lambda w: at("json-wrangler", body={"task": "the first", "params": {"document": {"a": [1, 2]}}}),
    "get_task": lambda w: at(w.task()),
    "task_events": lambda w: at(w.task()),
    "pause_task": lambda w: at(w.task()),
    "resume_task": lambda w: at(w.paused_task()),
    "kill_task": lambda w: at(w.task()),
    "redirect_task": lambda w: at(w.task()),
    "control_tasks": lambda w: {},
    "search_memory": lambda w: {"query": {"q": "pump", "limit": "5", "explain": "true"}},
    "list_memory": lambda w: {"query": {"key_prefix": "depot", "tags": "pump"}},
    "get_memory": lambda w: {"path": {"key": w.remembered()["id"]}},
    "memory_history": lambda w: {"query": {"key": w.remembered()["key"]}},
    "delete_memory": lambda w: {"path": {"key": w.remembered()["id"]}},
    "delete_memory_named": lambda w: {"query": {"key": w.remembered()["key"]}},
    "forget_memory": lambda w: {"path": {"owner": w.owner()}},
    "erase_audit_details": lambda w: {"path": {"seq": w.logged_details()}, "token": w.admin()},
    "get_image": lambda w: at(w.drawn()),
    "delete_image": lambda w: at(w.drawn()),
    "realtime_history": lambda w: {"path": {"ch": "incidents"}, "token": w.admin()},
    "realtime_presence": lambda w: {"path": {"ch": "incidents"}, "token": w.admin()},
}


def good_call(world, operation, parameters):
    """What a good call of a route for people or devices is made of."""
    call = GOOD.get(operation, lambda _: {})(world)
    wanted = {"body": world.examples.get(operation), "query": {}, "headers": {}, "path": {}, "token": None} | call
    if "If-Match" in parameters:
        wanted["headers"] = wanted["headers"] | ANY_VERSION
    return wanted
