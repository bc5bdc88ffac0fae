"""What is there when a call is made: people, devices, incidents and firmware, each brought into the state that it needs."""

import hashlib
import json
import time
import urllib.error
import urllib.request
import uuid

from ed25519 import Key

# Tokens are good for 15 minutes, those of devices for 5.
FRESH_S = 200
PASSWORD = "a long sentence is best"
IMAGE = b"Hello world"
V1 = "/api/v1"


class World:
    def __init__(self, origin, password, key=None):
        self.origin = origin
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        self.password, self.key = password, key
        self.tokens, self.kept, self.sequence = {}, {}, 1
        paths = self.call("GET", "/openapi.json", token=None)["paths"]
        operations = [(path, one) for path, of_path in paths.items() for one in of_path.values()]
        self.examples = {one["operationId"]: example(one) for _, one in operations}
        self.second_email = self.person("super_admin")["email"]
        self.unit_key = Key()
        self.unit = self.device(self.unit_key)
        self.release_key = Key()
        self.post("/firmware/keys", {"name": "release", "public_key": self.release_key.jwk})

    def logged_details(self):
        """The number of the newest entry of the audit log whose details may be erased."""
        entries = self.call("GET", "/api/v1/governance/audit?limit=100")["entries"]
        return next(entry["seq"] for entry in entries if entry["details"] and entry["entry"]["action"] != "audit.erase")

    # Requests

    def call(self, method, path, body=None, token="admin", headers=(), raw=None):
        """The JSON of an answer that must be a success."""
        sent = {"content-type": "application/json", **dict(headers)}
        if token is not None:
            sent["authorization"] = f"Bearer {self.admin() if token == 'admin' else token}"
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        request = urllib.request.Request(self.origin + path, data=data, headers=sent, method=method)
        try:
            with self.opener.open(request, timeout=60) as answer:
                text = answer.read()
                return json.loads(text) if text else None
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{method} {path}: {error.code} {error.read().decode(errors='replace')}") from None

    def post(self, path, body, token="admin", headers=()):
        return self.call("POST", V1 + path, body, token, headers)["data"]

    # People

    def login(self, email, password):
        return self.call("POST", f"{V1}/auth/login", {"email": email, "password": password}, token=None)["data"]

    def kept_token(self, name, make):
        """A token that is good yet."""
        made, token = self.tokens.get(name, (0, None))
        if time.monotonic() - made > FRESH_S or token is None:
            token = make()
            self.tokens[name] = (time.monotonic(), token)
        return token

    def admin(self):
        return self.kept_token("admin", lambda: self.login("admin@muster.local", self.password)["token"])

    def second(self):
        """Another super admin, who starts what needs two people."""
        return self.kept_token("second", lambda: self.login(self.second_email, PASSWORD)["token"])

    def me(self):
        return self.call("GET", f"{V1}/auth/me")["data"]["id"]

    def person(self, role="viewer"):
        email = f"{uuid.uuid4().hex}@example.org"
        return self.post("/users", {"email": email, "password": PASSWORD, "name": "n", "role": role})

    def third(self):
        """Another yet: who approved a rollout does not drive it."""
        if "third" not in self.kept:
            self.kept["third"] = self.person("super_admin")["email"]
        return self.kept_token("third", lambda: self.login(self.kept["third"], PASSWORD)["token"])

    def guest_email(self):
        if "guest" not in self.kept:
            self.kept["guest"] = self.person()["email"]
        return self.kept["guest"]

    def guest(self):
        """A login that may be ended; of many the oldest are."""
        return self.login(self.guest_email(), PASSWORD)

    def stranger(self):
        """A login of a new person."""
        return self.login(self.person()["email"], PASSWORD)

    def guest_session(self):
        token = self.guest()["token"]
        sessions = self.call("GET", f"{V1}/auth/sessions", token=token)["data"]["sessions"]
        return next(session["id"] for session in sessions if session["current"])

    def service_credentials(self):
        """What a new service account logs in with."""
        made = self.post("/service-accounts", {"name": uuid.uuid4().hex, "role": "viewer"})
        return {"service_account": made["id"], "secret": made["secret"]}

    # Devices

    def device(self, key=None):
        body = {"name": "Siren", "kind": "siren", "vendor": "acme", "hw_class": "siren-2"}
        return self.post("/devices", body | {"public_key": (key or Key()).jwk})["device"]["id"]

    def unit_token(self):
        return self.kept_token("unit", lambda: self.unit_key.device_token(self.unit))

    def quarantined(self):
        device = self.device()
        self.post(f"/devices/{device}/quarantine", {"note": "why"})
        return device

    def handed_command(self):
        self.post(f"/devices/{self.unit}/commands", {"name": "blink"})
        return self.call("GET", f"{V1}/device/commands/next?wait_s=5", token=self.unit_token())["data"]["id"]

    def unit_job(self):
        """The job that the unit has, or a new one."""
        following = f"{V1}/device/jobs/next?wait_s="
        job = self.call("GET", following + "0", token=self.unit_token())
        if job is None:
            self.rollout([self.unit])
            job = self.call("GET", following + "20", token=self.unit_token())
        return job["data"]

    # Incidents

    def incident(self, *moves):
        found = self.post("/incidents", self.examples["report_incident"])["id"]
        for move in moves:
            body = {"commander": self.me()} if move == "activate" else {"note": "n"}
            self.post(f"/incidents/{found}/{move}", body, headers=ANY_VERSION.items())
        return found

    def proposed_alert(self, incident=None):
        path = f"/incidents/{incident or self.incident('triage')}/alerts"
        return self.post(path, self.examples["publish_alert"], token=self.second())["id"]

    def published_alert(self, incident=None):
        alert = self.proposed_alert(incident)
        self.post(f"/alerts/{alert}/confirm", {})
        return alert

    def warned_incident(self):
        incident = self.incident("triage")
        self.published_alert(incident)
        return incident

    def incident_with_resource(self):
        incident = self.incident()
        self.post(f"/incidents/{incident}/resources", {"type": "boat"}, headers=ANY_VERSION.items())
        return incident

    def geofence(self):
        return self.post("/geofences", self.examples["create_geofence"])["id"]

    # Tasks

    def task(self):
        """A live task: its engine counts for longer than a call takes."""
        document, program = list(range(20)), "[limit(400000; repeat(1))] | length"
        body = {"task": "count", "params": {"document": document, "program": program}}
        return self.call("POST", f"{V1}/agents/json-wrangler/run", body)["task_id"]

    def paused_task(self):
        task = self.task()
        self.call("POST", f"{V1}/tasks/{task}/pause", {"now": True})
        while self.call("GET", f"{V1}/tasks/{task}?wait=5")["status"] == "pausing":
            pass
        return task

    # Memory: an entry is its owner's alone, and the calls are made with the key.

    def remembered(self):
        """An entry that was stored twice."""
        body = self.examples["store_memory"] | {"key": f"depot/{uuid.uuid4().hex}"}
        self.call("POST", "/api/memory/store", body, token=self.key)
        return self.call("POST", "/api/memory/store", body, token=self.key)

    def owner(self):
        return self.call("GET", "/api/memory/stats", token=self.key)["owner"]

    # Pictures: their owner's alone, and the calls are made with the key.

    def drawn(self):
        body = {"prompt": "a red boat", "model": "gpt-image-2"}
        return self.call("POST", "/api/generate-image", body, token=self.key)["image"]["id"]

    # Firmware

    def manifest(self):
        self.sequence += 1
        return {
            "name": "siren",
            "version": f"2.0.{self.sequence}",
            "sequence": self.sequence,
            "vendor": "acme",
            "hw_class": "siren-2",
            "hw_revisions": [],
            "size": len(IMAGE),
            "sha256": hashlib.sha256(IMAGE).hexdigest(),
            "format": "raw",
            "expires_at": None,
            "min_current_sequence": None,
        }

    def announced(self):
        return self.post("/firmware/artifacts", self.manifest())["id"]

    def uploaded(self):
        """An image that is to be verified, and what it is verified by."""
        manifest = self.manifest()
        artifact = self.post("/firmware/artifacts", manifest)["id"]
        kind = {"content-type": "application/octet-stream"}
        self.call("PUT", f"{V1}/firmware/artifacts/{artifact}/content", raw=IMAGE, headers=kind.items())
        header = {"alg": "EdDSA", "typ": "fw-manifest+jws", "kid": self.release_key.thumbprint}
        return artifact, self.release_key.jws(header, manifest)

    def ready(self):
        artifact, signed = self.uploaded()
        self.post(f"/firmware/artifacts/{artifact}/verify", {"manifest_jws": signed})
        return artifact

    def ready_once(self):
        """One that is good yet: a made-up call may have revoked it."""
        known = self.kept.get("ready")
        path = f"{V1}/firmware/artifacts/{known}"
        if known is None or self.call("GET", path)["data"]["state"] != "ready":
            self.kept["ready"] = self.ready()
        return self.kept["ready"]

    def firmware_key(self):
        return self.post("/firmware/keys", {"name": "n", "public_key": Key().jwk})["kid"]

    def waiting_job(self, devices=None):
        target = {"device_ids": devices or [self.device()]}
        body = {"artifact_id": self.ready_once(), "target": target}
        if devices:
            body = {"kind": "reboot", "target": target}
        return self.post("/firmware/jobs", body, token=self.second())["id"]

    def rollout(self, devices=None):
        job = self.waiting_job(devices)
        self.post(f"/firmware/jobs/{job}/approve", {}, token=self.third())
        return job

    def paused_job(self):
        job = self.rollout()
        self.post(f"/firmware/jobs/{job}/pause", {})
        return job


ANY_VERSION = {"If-Match": "*"}


def example(operation):
    """The body that the description shows."""
    content = operation.get("requestBody", {}).get("content", {})
    return next((one.get("example") for one in content.values()), None)
