"""The duty desk's first day: from the first login to a finished rollout of firmware and a cancelled alert."""

import json
import signal

from journey import ANY_VERSION, PASSWORD

DEVICES = 6
IMAGE = b"the second firmware of the simulated devices"
# Devices that report often and install at once.
PROFILE = "heartbeat_s = 1\ntelemetry_s = 0\ninstall_ms = 50\nreboot_ms = 50\ncommands_by_feed = 1.0\n"
CIRCLE = {"type": "Circle", "center": [8.64, 49.87], "radius_m": 1500}


def test_from_the_first_login_to_a_finished_rollout_and_a_cancelled_alert(installation):
    desk = installation()
    people = hire(desk)
    dashboard = desk.feed(people["ann"], "incidents", "alerts", "devices", "firmware")
    fleet, release_key = connect_devices(desk, dashboard)
    incident, alert = warn_of_the_flood(desk, people, dashboard)
    roll_out_firmware(desk, people, dashboard, release_key)
    cancel_the_alert(desk, people, dashboard, incident, alert)

    fleet.send_signal(signal.SIGINT)
    printed, complaints = fleet.communicate(timeout=60)
    summary = json.loads(printed)
    assert summary["devices"] == DEVICES and summary["totals"]["installs"] == DEVICES, (summary, complaints)
    # What happened can be read by an auditor, and by nobody else.
    entries = people["otto"].get("/api/v1/audit?limit=200").body["entries"]
    actions = {entry["action"] for entry in entries}
    assert {"login", "user_created", "alert_confirmed", "firmware.job.created"} <= actions, actions
    people["ann"].call("GET", "/api/v1/audit").must(403)
    dashboard.close()


def hire(desk):
    """The administrator logs in on the command line and makes an account for everybody."""
    login = desk.muster("login", "--server", desk.origin, "--email", "admin@muster.local", stdin=desk.password)
    assert "super_admin" in login.stdout
    roles = {
        "ann": "incident_commander",
        "ben": "incident_commander",
        "fay": "firmware_manager",
        "gus": "approver",
        "otto": "auditor",
    }
    people = {}
    for name, role in roles.items():
        email = f"{name}@example.org"
        desk.muster("users", "--remote", "create", "--email", email, "--role", role, stdin=PASSWORD)
        people[name] = desk.login(email)
    listed = desk.muster("users", "--remote", "list").stdout
    assert all(role in listed for role in roles.values()), listed
    # Who was hired for one thing cannot do another.
    people["ann"].call(
        "POST", "/api/v1/users", {"email": "x@example.org", "password": PASSWORD, "role": "viewer"}
    ).must(403)
    people["admin"] = desk.login()
    return people


def connect_devices(desk, dashboard):
    """Sirens register and come online. They trust one key for firmware."""
    keygen = desk.muster("firmware", "keygen", "--key", "release.jwk", "--name", "release")
    release_key = json.loads(keygen.stdout)
    (desk.folder / "public.jwk").write_text(json.dumps(release_key["public_key"]))
    (desk.folder / "quick.toml").write_text(PROFILE)
    fleet = desk.start_muster(
        *("simulate", "devices", "--server", desk.origin, "--count", DEVICES, "--profile", "quick.toml"),
        *("--register", "--state", "fleet.json", "--signing-key", "public.jwk", "--json"),
    )
    online = set()
    while len(online) < DEVICES:
        seen = dashboard.next(lambda frame: frame.get("ev") == "device.status_changed")["data"]
        if seen.get("to", seen.get("status")) == "online":
            online.add(seen["id"])
    return fleet, release_key


def warn_of_the_flood(desk, people, dashboard):
    """A report becomes a public warning, by two people."""
    ann, ben = people["ann"], people["ben"]
    report = {"title": "Water over the dyke", "kind": "flood", "severity": "Severe", "urgency": "Immediate"}
    report |= {"certainty": "Observed", "geometry": CIRCLE, "area_desc": "Rossdorf, lower town"}
    incident = ann.post("/api/v1/incidents", report).data["id"]
    dashboard.event("incident.created")
    ann.post(f"/api/v1/incidents/{incident}/triage", {"note": "seen from the bridge"}, ANY_VERSION)
    draft = {"headline": "Flood: leave the lower town", "instruction": "Go to the school on the hill."}
    answer = ann.call("POST", f"/api/v1/incidents/{incident}/alerts", draft | {"response_types": ["Evacuate"]})
    alert = answer.must(202).data
    assert alert["state"] == "pending_second" and draft["headline"] not in atom(ann)
    ann.call("POST", f"/api/v1/alerts/{alert['id']}/confirm", {}).must(403)
    published = ben.post(f"/api/v1/alerts/{alert['id']}/confirm").data
    assert (published["state"], published["msg_type"]) == ("published", "Alert")
    dashboard.event("alert.published")
    assert draft["headline"] in atom(ann)
    return incident, published


def atom(caller):
    return caller.get("/api/v1/alerts/feed.atom").text


def roll_out_firmware(desk, people, dashboard, release_key):
    """A signed image is approved by another person, tried on some devices, then installed on all."""
    fay, gus, admin = people["fay"], people["gus"], people["admin"]
    admin.post("/api/v1/firmware/keys", release_key)
    (desk.folder / "siren.img").write_bytes(IMAGE)
    arguments = ("--name", "siren", "--version", "1.1.0", "--sequence", 2, "--vendor", "muster", "--hw-class", "sim-1")
    signed = json.loads(desk.muster("firmware", "sign", "siren.img", "--key", "release.jwk", *arguments).stdout)
    artifact = fay.post("/api/v1/firmware/artifacts", signed["artifact"]).data["id"]
    content = f"/api/v1/firmware/artifacts/{artifact}/content"
    fay.call("PUT", content, raw=IMAGE, kind="application/octet-stream").must(200, 201, 204)
    verified = fay.post(f"/api/v1/firmware/artifacts/{artifact}/verify", {"manifest_jws": signed["manifest_jws"]})
    assert verified.data["state"] == "ready"
    job = {"artifact_id": artifact, "target": {"group": "simulated"}}
    job["policy"] = {"groups": [{"pct": 34, "soak_s": 0}, {"pct": 100}]}
    job = fay.post("/api/v1/firmware/jobs", job).data["id"]
    fay.call("POST", f"/api/v1/firmware/jobs/{job}/approve", {}).must(403)
    gus.post(f"/api/v1/firmware/jobs/{job}/approve", {"note": "read and tried"})
    dashboard.event("firmware.job.completed")
    done = fay.get(f"/api/v1/firmware/jobs/{job}").data
    assert done["state"] == "succeeded", done
    devices = fay.get("/api/v1/devices?limit=200").data["devices"]
    assert [device["firmware"]["current"]["version"] for device in devices] == ["1.1.0"] * DEVICES, devices


def cancel_the_alert(desk, people, dashboard, incident, alert):
    """The dyke held: the warning is taken back by two people, as it was given, and everybody who was warned learns it."""
    ann, ben = people["ann"], people["ben"]
    changed = ann.post(f"/api/v1/incidents/{incident}/cancel", {"note": "the dyke held"}, ANY_VERSION).data
    assert changed["state"] == "canceled"
    cancel = changed["pending_alert"]
    assert (cancel["msg_type"], cancel["state"]) == ("Cancel", "pending_second"), cancel
    # Until then the warning stands.
    assert ann.get(f"/api/v1/alerts/{alert['id']}").data["state"] == "published"
    waiting = ben.get("/api/v1/alerts?state=pending_second").data["alerts"]
    assert [one["id"] for one in waiting] == [cancel["id"]]
    ann.call("POST", f"/api/v1/alerts/{cancel['id']}/confirm", {}).must(403)
    assert ben.post(f"/api/v1/alerts/{cancel['id']}/confirm").data["state"] == "published"
    dashboard.event("alert.canceled")
    assert "Cancel" in atom(ann), "the feed says that the warning is over"
