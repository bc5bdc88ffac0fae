"""An operator of agents: run, watch over the live feed, pause, redirect, kill."""

import json
import signal

from server import settings

DOCUMENT = {"depots": [{"name": "north", "boats": 4}, {"name": "south", "boats": 6}]}
MONITOR = "/api/q62/dashboard/agents"


def test_run_watch_pause_redirect_and_kill(installation, upstream):
    # The model `waits` streams three words and then nothing: a step that is never done by itself.
    providers = settings([("scripted", upstream.base_url, ["waits"])], {"model": "none"})
    platform = installation(providers + '[agents]\nplanner_model = "waits"\n')
    operator = platform.with_key()
    monitor = platform.feed(operator, path=MONITOR)
    lines = platform.start_muster("monitor", "--plain", "--server", platform.origin, MUSTER_API_KEY=platform.key)
    # Both monitors are connected before the first task.
    while operator.get("/api/v1/status").body["sockets"]["connections"] < 2:
        assert lines.poll() is None, "the monitor has ended"

    task = run(operator, {"task": "Count the boats", "params": {"document": DOCUMENT}})
    watch_it_stand(operator, monitor, task)
    pause_and_redirect(operator, monitor, task)
    finish_without_the_model(platform, operator, monitor, task, lines)
    kill_another(operator, monitor)
    start_one_paused(operator, monitor)
    a_stranger_sees_nothing(platform, task)
    monitor.close()


def run(operator, body, agent="json-wrangler"):
    return operator.call("POST", f"/api/v1/agents/{agent}/run", body).must(201).body["task_id"]


def watch_it_stand(operator, monitor, task):
    """The first step asks a model, which does not finish."""
    monitor.event("task.state", task_id=task, to="running")
    monitor.request({"subscribe": {"ch": f"tasks:{task}"}})
    listed = operator.get("/api/v1/tasks?status=running").body["tasks"]
    assert [one["task_id"] for one in listed] == [task]


def pause_and_redirect(operator, monitor, task):
    """A pause aborts the step at once; the new instruction takes effect on resume."""
    paused = operator.post(f"/api/v1/tasks/{task}/pause", {"now": True, "reason": "look first"}).body
    assert (paused["phase"], paused["effective"], paused["status"]) == ("accepted", "now", "paused"), paused
    monitor.event("task.state", task_id=task, to="paused")
    again = operator.call("POST", f"/api/v1/tasks/{task}/pause", {}).must(200).body
    assert again["phase"] == "already"
    instruction = json.dumps({"params": {"program": "[.depots[].boats] | add"}})
    reply = monitor.command("agent.redirect", task, instruction=instruction)
    assert (reply["phase"], reply["effective"]) == ("accepted", "resume"), reply


def finish_without_the_model(platform, operator, monitor, task, lines):
    """Without a model that plans, the agent follows its plan: the operator takes the provider out and resumes."""
    platform.settings('[llm]\nmodel = "none"\n[agents]\nplanner_model = "none"\n')
    reloaded = operator.post("/api/v1/admin/reload").body
    assert reloaded["reloaded"] == ["agents.planner_model", "chain.order", "provider"], reloaded
    operator.post(f"/api/v1/tasks/{task}/resume")
    monitor.event("control.applied", task_id=task, verb="redirect")
    monitor.event("task.state", task_id=task, to="succeeded")
    record = operator.get(f"/api/v1/tasks/{task}?wait=20").body
    assert record["status"] == "succeeded" and "10" in record["result"]["text"], record
    journal = operator.get(f"/api/v1/tasks/{task}/events").body["events"]
    states = [entry["data"]["to"] for entry in journal if entry["event"] == "task.state"]
    assert states[-1] == "succeeded" and "paused" in states, states
    lines.send_signal(signal.SIGINT)
    printed, complaints = lines.communicate(timeout=60)
    assert lines.returncode == 0, complaints
    for expected in (f"{task} json-wrangler pausing -> paused", f"{task} json-wrangler running -> succeeded"):
        assert expected in printed, printed
    once = platform.muster("monitor", "--once", "--server", platform.origin, MUSTER_API_KEY=platform.key).stdout
    assert task in once and "Count the boats" in once, once


def kill_another(operator, monitor):
    """A kill is final, over the feed as over HTTP."""
    task = run(operator, {"task": "Count", "paused": True, "params": {"document": [1], "program": "."}})
    monitor.event("task.state", task_id=task, to="paused")
    reply = monitor.command("agent.kill", task, reason="not needed")
    assert (reply["phase"], reply["status"]) == ("accepted", "killed"), reply
    monitor.event("task.state", task_id=task, to="killed")
    refused = operator.call("POST", f"/api/v1/tasks/{task}/resume", {}).must(409)
    assert "ended" in refused.text


def start_one_paused(operator, monitor):
    """A task that starts paused waits for its operator, however fast the machine is."""
    body = {"task": "Count", "paused": True, "params": {"document": [1, 2, 3], "program": "map(. * 10)"}}
    task = run(operator, body)
    assert operator.get(f"/api/v1/tasks/{task}").body["status"] == "paused"
    operator.post(f"/api/v1/tasks/{task}/resume")
    monitor.event("task.state", task_id=task, to="succeeded")
    record = operator.get(f"/api/v1/tasks/{task}").body
    assert "10,20,30" in record["result"]["text"].replace(" ", ""), record["result"]


def a_stranger_sees_nothing(platform, task):
    other = platform.with_key(platform.make_key(scopes=["agents"]))
    other.call("GET", f"/api/v1/tasks/{task}").must(404)
    other.call("POST", f"/api/v1/tasks/{task}/kill", {}).must(404)
    assert other.get("/api/v1/tasks").body["tasks"] == []
