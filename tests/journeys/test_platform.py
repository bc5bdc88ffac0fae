"""A platform team's first day: two providers, keys, budgets, failover, a reload, a backup and its restoration."""

import re

import openai
import pytest
from journey import Installation
from server import settings
from upstream import ANSWER, Upstream

PASSPHRASE = "a passphrase that is kept elsewhere"
PRICE = "price = { input_per_million = 1.0, output_per_million = 1000.0 }\n"


@pytest.fixture
def providers():
    """Two providers of the same models."""
    made = [Upstream.start(), Upstream.start()]
    yield made
    for one in made:
        one.stop()


def configured(providers, *, names=("first", "second"), model="echo", more=""):
    """Settings with these providers in this order, each with a price, and no embedded model."""
    text = settings([(name, one.base_url, [model]) for name, one in zip(names, providers)], {"model": "none"})
    return text.replace('kind = "openai"\n', 'kind = "openai"\n' + PRICE) + more


def test_from_two_providers_to_a_restored_backup(installation, providers, tmp_path):
    first, second = providers
    platform = installation(configured(providers))
    app = keys_are_made(platform)
    answers_come_from_the_next_provider(platform, app, first, second)
    a_budget_ends(platform)
    settings_are_reloaded(platform, app, providers)
    a_backup_is_restored(platform, app, providers, tmp_path)


def hello(client, model="echo", **more):
    return client.chat.completions.create(model=model, messages=[{"role": "user", "content": "Greet me."}], **more)


def keys_are_made(platform):
    """The administrator makes a key for an application, on the command line of a running server."""
    arguments = ("keys", "--server", platform.origin, "create", "--name", "app", "--scope", "chat", "--plan-b", "pro")
    refused = platform.muster(*arguments, check=False)
    assert refused.returncode == 1 and "MUSTER_API_KEY" in refused.stderr
    printed = platform.muster(*arguments, MUSTER_API_KEY=platform.key).stdout
    key = next(line for line in printed.splitlines() if line.startswith("mst_"))
    assert key not in platform.muster("keys", "--server", platform.origin, "list", MUSTER_API_KEY=platform.key).stdout
    # It is good for what it was made for, and for nothing else.
    assert hello(platform.client(key)).choices[0].message.content == ANSWER
    platform.with_key(key).call("GET", "/api/v1/keys").must(403)
    return key


def answers_come_from_the_next_provider(platform, app, first, second):
    """While the first provider is down its requests go to the second one, and the client sees no error."""
    assert first.requests and not second.requests
    first.down = True
    for _ in range(3):
        assert hello(platform.client(app)).choices[0].message.content == ANSWER
    streamed = hello(platform.client(app), stream=True)
    words = [chunk.choices[0].delta.content or "" for chunk in streamed if chunk.choices]
    assert "".join(words) == ANSWER
    assert len(second.requests) == 4
    answer = platform.with_key(app).post(
        "/api/llm/chat", {"messages": [{"role": "user", "content": "Hi"}], "model": "echo"}
    )
    attempts = [(attempt["provider"], attempt["outcome"]) for attempt in answer.body["attempts"]]
    assert attempts[-1] == ("second", "ok") and answer.body["provider"] == "second", attempts
    with pytest.raises(openai.NotFoundError):
        hello(platform.client(app), "no-such-model")


def a_budget_ends(platform):
    """A key with a small budget is refused before it costs more, with the time at which it may go on."""
    body = {"name": "intern", "scopes": ["chat"], "plan_b": "pro", "budget_usd": 0.02}
    made = platform.with_key().post("/api/v1/keys", body).body
    client = platform.client(made["key"])
    with pytest.raises(openai.RateLimitError) as refused:
        for _ in range(100):
            hello(client, max_tokens=5)
    assert refused.value.status_code == 429 and "budget" in str(refused.value).lower(), refused.value
    spent = platform.with_key(made["key"]).get("/api/v1/usage").body["usage"]
    total = sum(row["cost_usd"] for row in spent)
    assert 0.005 <= total <= 0.02, spent


def settings_are_reloaded(platform, app, providers):
    """A changed file is in effect after a reload; one that is wrong changes nothing; what needs a restart is named."""
    admin = platform.with_key()
    third = Upstream.start()
    providers.append(third)
    platform.settings(configured([third, providers[1]], names=("third", "second")) + '[memory]\nshared = ["team"]\n')
    reloaded = admin.post("/api/v1/admin/reload").body
    assert reloaded == {"reloaded": ["chain.order", "provider"], "needs_restart": ["memory.shared"]}
    assert hello(platform.client(app)).choices[0].message.content == ANSWER
    assert len(third.requests) == 1
    platform.settings('[chain]\nretries = "many"\n')
    refused = admin.call("POST", "/api/v1/admin/reload").must(422)
    assert "config.toml, line" in refused.text and "retries" in refused.text, refused.text
    assert hello(platform.client(app)).choices[0].message.content == ANSWER
    assert len(third.requests) == 2


def a_backup_is_restored(platform, app, providers, tmp_path):
    """A backup of the running server opens elsewhere, with its keys; with a wrong passphrase it does not."""
    file = tmp_path / "muster.backup"
    secret = {"MUSTER_BACKUP_PASSPHRASE": PASSPHRASE}
    printed = platform.muster(
        "backup", "--server", platform.origin, "--to", file, MUSTER_API_KEY=platform.key, **secret
    )
    assert "encrypted, read back and verified" in printed.stdout
    # Made after the backup: the restored server does not know it.
    later = platform.with_key().post("/api/v1/keys", {"name": "later", "scopes": ["chat"]}).body["key"]
    platform.stop()
    platform.settings(configured(providers))
    data = tmp_path / "elsewhere"
    restore = ("restore", "--from", file, "--data", data / "data")
    stranger = platform.muster(*restore, check=False, **secret)
    assert stranger.returncode == 1 and "not known here" in stranger.stderr
    restore += ("--vkey", re.search(r"signed by (\S+)", printed.stdout)[1])
    wrong = platform.muster(*restore, MUSTER_BACKUP_PASSPHRASE="another passphrase", check=False)
    assert wrong.returncode == 1 and "passphrase" in wrong.stderr
    assert "records restored" in platform.muster(*restore, **secret).stdout
    restored = Installation(data, configured(providers[2:], names=("third",)))
    try:
        assert hello(restored.client(app)).choices[0].message.content == ANSWER
        usage = restored.with_key(app).get("/api/v1/usage").body["usage"]
        assert sum(row["requests"] for row in usage) >= 8, usage
        restored.with_key(later).call("GET", "/v1/models").must(401)
    finally:
        restored.stop()
