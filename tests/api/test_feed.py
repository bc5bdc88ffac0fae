"""The feed publishes as described: every event of a scenario is valid by the schema of its message."""

import json
import threading
import urllib.parse
import urllib.request

import jsonschema
import pytest
from world import IMAGE, World

V1 = "/api/v1"
# Events that the scenario causes; each must have been seen.
EXPECTED = {
    "incident.created",
    "incident.updated",
    "incident.activated",
    "incident.contained",
    "incident.resolved",
    "incident.noted",
    "incident.canceled",
    "alert.pending",
    "alert.published",
    "alert.canceled",
    "device.created",
    "device.updated",
    "device.status_changed",
    "device.quarantined",
    "device.retired",
    "device.located",
    "device.command_queued",
    "device.command_sent",
    "device.telemetry",
    "geofence.entered",
    "geofence.left",
    "firmware.artifact.ready",
    "firmware.artifact.revoked",
    "firmware.job.created",
    "firmware.job.approved",
    "firmware.execution.changed",
    "user.updated",
    "task.state",
    "task.step",
    "task.end",
    "metrics",
}


# Notified of every frame of every listener.
ARRIVED = threading.Condition()


class Listener:
    """Reads server-sent events of some channels on a thread until it is closed."""

    def __init__(self, origin, token, channels):
        query = urllib.parse.urlencode([("ch", channel) for channel in channels])
        headers = {"authorization": f"Bearer {token}", "accept": "text/event-stream"}
        request = urllib.request.Request(f"{origin}{V1}/realtime/sse?{query}", headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.frames, self.subscribed = [], threading.Event()
        self.missing, self.stream = len(channels), opener.open(request, timeout=60)
        threading.Thread(target=self.read, daemon=True).start()
        assert self.subscribed.wait(30), "not every channel was subscribed"

    def read(self):
        try:
            for line in self.stream:
                if line.startswith(b"data:"):
                    self.take(json.loads(line[5:]))
        except (OSError, ValueError, AttributeError):
            pass  # It was closed.

    def take(self, frame):
        if "ev" in frame:
            with ARRIVED:
                self.frames.append(frame)
                ARRIVED.notify_all()
        elif "ok" in frame or "error" in frame:
            assert "ok" in frame, frame
            self.missing -= 1
            if self.missing == 0:
                self.subscribed.set()


@pytest.fixture
def world(muster):
    return World(muster.origin, muster.password, muster.key)


def test_every_event_fits_its_schema(world):
    described = world.call("GET", "/asyncapi.json", token=None)
    device, me = world.unit, world.me()
    shared = ["incidents", "incidents.restricted", "alerts", "devices", "firmware", "system", "agents"]
    own = ["agents:metrics", f"devices:{device}", f"devices:{device}:telemetry", f"user:{me}"]
    listeners = [Listener(world.origin, world.admin(), shared + own)]
    scenario(world, device, lambda *channels: listeners.append(Listener(world.origin, world.admin(), channels)))

    with ARRIVED:
        ARRIVED.wait_for(lambda: not EXPECTED - names(listeners), timeout=60)
    assert EXPECTED - names(listeners) == set()
    wrong = []
    for frame in [frame for listener in listeners for frame in listener.frames]:
        message = described["components"]["messages"][frame["ev"]]
        schema = message["payload"] | {"components": described["components"]}
        errors = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(frame)]
        wrong += [(frame["ev"], error, frame["data"]) for error in errors]
        # The channel's own description lists the event.
        of_channel = {it["address"]: it["messages"] for it in described["channels"].values()}
        exact = of_channel.get(frame["ch"])
        patterns = [exact] if exact else [of_channel[it] for it in of_channel if fits(it, frame["ch"])]
        assert [frame["ev"] in messages for messages in patterns] == [True], frame
    assert not wrong, "\n".join(f"{event}: {error}: {data}" for event, error, data in wrong)


def test_a_frame_of_another_form_does_not_fit(world):
    described = world.call("GET", "/asyncapi.json", token=None)
    schema = described["components"]["messages"]["incident.withdrawn"]["payload"]
    frame = {"ch": "incidents", "off": 1, "ev": "incident.withdrawn", "ts": "2026-11-21T03:00:01.120Z", "eid": "evt_1"}
    check = jsonschema.Draft202012Validator(schema).is_valid
    assert check(frame | {"data": {"id": "inc_1", "version": 2}})
    assert not check(frame | {"data": {"id": "inc_1"}})
    assert not check(frame | {"data": {"id": "inc_1", "version": 2, "title": "secret"}})


def names(listeners):
    return {frame["ev"] for listener in listeners for frame in listener.frames}


def fits(pattern, channel):
    """Whether a channel is of a pattern such as `devices:{id}:telemetry`."""
    parts, found = pattern.split(":"), channel.split(":")
    return len(parts) == len(found) and all(part in ("{id}", other) for part, other in zip(parts, found))


def scenario(world, device, listen):
    # Incidents and alerts
    incident = world.incident("triage", "activate", "contain")
    world.post(f"/incidents/{incident}/notes", {"text": "a note"})
    world.post(f"/incidents/{incident}/resolve", {"note": "n"}, headers=[("If-Match", "*")])
    warned = world.warned_incident()
    world.post(f"/incidents/{warned}/cancel", {"reason": "over"}, headers=[("If-Match", "*")])
    # The public was warned by two people; two take it back.
    waiting = world.call("GET", f"{V1}/alerts?incident={warned}&state=pending_second")["data"]["alerts"]
    for alert in waiting:
        world.post(f"/alerts/{alert['id']}/confirm", {}, token=world.second())

    # Devices
    other = world.device()
    world.call("PATCH", f"{V1}/devices/{other}", {"name": "Siren 2"}, headers=[("If-Match", "*")])
    world.post(f"/devices/{other}/quarantine", {"reason": "why"})
    world.call("DELETE", f"{V1}/devices/{other}", headers=[("If-Match", "*")])
    place = {"location": {"type": "Point", "coordinates": [8.65, 49.87]}}
    world.call("POST", f"{V1}/devices/{device}/heartbeat", world.examples["device_heartbeat"] | place, world.unit_token())
    world.post(f"/devices/{device}/telemetry", world.examples["device_telemetry"], token=world.unit_token())
    area = {"type": "Circle", "center": [8.65, 49.87], "radius_m": 500}
    fence = world.post("/geofences", world.examples["create_geofence"] | {"geometry": area})["id"]
    world.call("DELETE", f"{V1}/geofences/{fence}", headers=[("If-Match", "*")])
    world.handed_command()

    # Firmware
    assert IMAGE
    job = world.rollout([device])
    listen(f"firmware:{job}")
    world.post(f"/firmware/jobs/{job}/pause", {})
    world.post(f"/firmware/artifacts/{world.ready()}/revoke", world.examples["revoke_firmware_artifact"])

    # People and tasks
    world.call("PATCH", f"{V1}/users/{world.me()}", {"name": "Administrator"}, headers=[("If-Match", "*")])
    task = world.task()
    listen(f"tasks:{task}", f"tasks:{task}:logs")
    world.call("POST", f"{V1}/tasks/{task}/kill", {})
