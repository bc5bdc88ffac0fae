"""The alerts' Atom feed, read by feedparser: what it says of an alert, an update, an all-clear and a Cancel."""

import json
import urllib.request

import feedparser

EMAIL = "admin@muster.local"


class Desk:
    """The duty desk's calls, as the first administrator."""

    def __init__(self, muster):
        self.origin = muster.origin
        login = self.call("POST", "/auth/login", {"email": EMAIL, "password": muster.password}, token=None)
        self.token = login["token"]

    def call(self, method, path, body=None, token=""):
        headers = {"Content-Type": "application/json", "If-Match": "*"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token or self.token}"
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.origin}/api/v1{path}", sent, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["data"]

    def feed(self):
        request = urllib.request.Request(f"{self.origin}/api/v1/alerts/feed.atom")
        request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("application/atom+xml")
            parsed = feedparser.parse(answer.read())
        assert not parsed.bozo, parsed.get("bozo_exception")
        return parsed

    def incident(self, title):
        place = {"type": "Circle", "center": [8.64, 49.87], "radius_m": 1500}
        made = self.call("POST", "/incidents", {
            "title": title, "kind": "flood", "severity": "Minor", "urgency": "Immediate", "certainty": "Observed",
            "area_desc": "Rossdorf", "geometry": place,
        })
        path = f"/incidents/{made['id']}"
        self.call("POST", f"{path}/triage", {})
        self.call("POST", f"{path}/activate", {"commander": self.call("GET", "/auth/me")["id"]})
        return path


def test_the_feed_tells_a_danger_from_its_end(start):
    desk = Desk(start())
    empty = desk.feed()
    assert (empty.version, empty.entries) == ("atom10", [])
    river, dyke = desk.incident("Leave the lower town"), desk.incident("The dyke & the <quay> are closed")
    for path in (river, dyke):
        desk.call("POST", f"{path}/alerts", {})
    feeds = [empty, desk.feed()]
    titles = {entry.title for entry in feeds[-1].entries}
    assert titles == {"Leave the lower town", "The dyke & the <quay> are closed"}
    desk.call("PATCH", river, {"severity": "Moderate"})
    feeds.append(desk.feed())
    assert "Update: Leave the lower town" in {entry.title for entry in feeds[-1].entries}
    desk.call("POST", f"{river}/resolve", {"note": "dry"})
    feeds.append(desk.feed())
    over = feeds[-1].entries[0]
    assert over.title == "All clear: Flood, Rossdorf"
    assert over.summary.endswith("The danger is over.")
    desk.call("POST", f"{dyke}/cancel", {"note": "the wrong dyke"})
    feeds.append(desk.feed())
    assert [entry.title for entry in feeds[-1].entries] == ["Cancelled: Flood, Rossdorf", "All clear: Flood, Rossdorf"]

    times = [feed.feed.updated for feed in feeds]
    assert times == sorted(times), "RFC 3339 in UTC sorts as text"
    for feed in feeds:
        assert feed.feed.id and feed.feed.title and feed.feed.author
        assert [link.href for link in feed.feed.links if link.rel == "self"] == [feed.feed.id]
        identifiers = [entry.id for entry in feed.entries]
        assert len(set(identifiers)) == len(identifiers)
        for entry in feed.entries:
            assert entry.updated_parsed and entry.published_parsed
            assert entry.links[0].type == "application/cap+xml" and entry.links[0].rel == "alternate"
