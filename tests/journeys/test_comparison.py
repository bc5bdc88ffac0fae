"""The comparison that README's tests rely on accepts what may differ, and nothing else."""

import pytest
from readme import Comparison, commands

TASK, OTHER = "task_01M7ZCK5DR000F9XJ3699Z53V0", "task_01M83YNXQ0000AD7R0WCSA866Q"


@pytest.mark.parametrize(
    ("shown", "happened"),
    [
        ('{"tf":2.0,"x":1}', '{"tf":2,"x":1}'),
        ('{"score":0.44631597}', '{"score":0.4463}'),
        ('{"at":"2026-11-21T15:46:26.817Z"}', '{"at":"2027-01-02T03:04:05.006Z"}'),
        ('{"content":"The Nile.","latency_ms":3002}', '{"content":"A \\"river\\".","latency_ms":1}'),
        ('{"a":1,\n "b":2}', '{"a":1,"b":2}'),
        ('{"a":1, … "z":26}', '{"a":1,"b":2,"z":26}'),
        ("listening on http://127.0.0.1:8080", "listening on http://127.0.0.1:41234"),
    ],
)
def test_what_may_differ(shown, happened):
    assert Comparison("http://127.0.0.1:41234").is_shown(shown, happened)


@pytest.mark.parametrize(
    ("shown", "happened"),
    [
        ('{"tf":2.0,"x":1}', '{"tf":3,"x":1}'),
        ('{"tf":2.0,"x":1}', '{"tf":20,"x":1}'),
        ('{"status":"paused","seq":5}', '{"status":"paused","seq":6}'),
        ('{"status":"paused"}', '{"status":"running"}'),
        ('{"a":1}', '{"a":1}{"b":2}'),
        (TASK, "exit code 1: "),
        ('{"a":1, … "z":26}', '{"a":1,"b":2}'),
    ],
)
def test_what_may_not(shown, happened):
    assert not Comparison("http://127.0.0.1:41234").is_shown(shown, happened)


def test_an_identifier_stands_for_the_same_one_everywhere():
    comparison = Comparison("http://127.0.0.1:41234")
    assert comparison.is_shown(f"{TASK} {TASK}", f"{OTHER} {OTHER}")
    assert not comparison.is_shown(TASK, TASK)
    assert comparison.actual(f"curl localhost:8080/api/v1/tasks/{TASK}") == f"curl 127.0.0.1:41234/api/v1/tasks/{OTHER}"
    assert comparison.contains(f"1 {TASK} paused\n2 {TASK} killed", f"1 {OTHER} paused\nx\n2 {OTHER} killed\n") is None
    assert comparison.contains("b\na", "a\nb\n") == "a"


def test_a_command_goes_on_until_its_quotes_are_closed():
    text = "# a comment\n$ one -d '{\n  \"a\": 1}' \\\n    -H x\nshown\nmore\n$ two\n"
    found = [(command.text, command.shown, command.line) for command in commands(text, 10)]
    assert found == [("one -d '{\n  \"a\": 1}' \\\n    -H x", "shown\nmore\n", 11), ("two", "", 16)]
