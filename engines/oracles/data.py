"""Oracles of the family data (q105 to q121): `python engines/oracles/data.py [q105 …]`.

Left out of the comparison: the probabilities of q113, whose priors are our own (its similarities, clusters and pairs are
compared); the choice of cuts of q119 (the measures of its result are); names of contacts in q120, which have no standard.
"""
import base64
import csv
import datetime
import io
import json
import math
import re
import tomllib
import warnings
from zoneinfo import ZoneInfo

import cbor2
import clevercsv
import email_validator
import genson
import jellyfish
import jmespath
import jq
import json_merge_patch
import jsonpatch
import jsonpath_rfc9535
import jsonpointer
import jsonschema
import msgpack
import networkx as nx
import numpy as np
import pandas as pd
import phonenumbers
import pint
import pyais
import pycanon.anonymity
import pynmea2
import ruamel.yaml
import scipy.spatial.distance
import scipy.stats
import sqlite3
import xmltodict
from cayennelpp import LppFrame
from dateutil.relativedelta import relativedelta
from rapidfuzz.distance import Levenshtein

from jsonlines import equal, exact, main, pick, whole

warnings.filterwarnings("ignore")
ORACLES = {}
UTC = datetime.timezone.utc
ZONES = ["UTC", "Europe/Oslo", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns", "Pacific/Apia", "Africa/Casablanca",
         "Europe/Dublin", "America/Sao_Paulo", "Asia/Tehran"]
TEXTS = [
    "", "a", "Z", "0", "-1", "naïve", "Ångström", "A\u030angstro\u0308m", "日本", "😀", "a b", "a,b", 'say "x"', "it's", "line\nbreak", "tab\there", "null",
    "true", "~1", "a/b", "a~b", "\u202e", "\u00a0", "1e3", "01", "é", "e\u0301", "ß", "İ"
]


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        if hasattr(cls, "accepts"):
            ORACLES[number]["accepts"] = cls.accepts
        return cls
    return register


def document(rng, depth=3, keys="abcd"):
    """A value of JSON."""
    kind = rng.integers(8 if depth else 6)
    if kind == 6:
        return [document(rng, depth - 1, keys) for _ in range(int(rng.integers(0, 5)))]
    if kind == 7:
        return {pick(rng, keys): document(rng, depth - 1, keys) for _ in range(int(rng.integers(0, 5)))}
    return [None, bool(rng.integers(2)), int(rng.integers(-5, 6)), round(float(rng.normal(0, 10)), 2), pick(rng, TEXTS),
            int(rng.integers(-2**40, 2**40))][kind]


@oracle(105, "pandas, clevercsv", 1e-9)
class CsvProfile:
    MISSING = ["", "NA", "null", "N/A", "NaN", "None", "<NA>"]

    def column(rng, rows):
        n = lambda low, high: int(rng.integers(low, high))
        kind = pick(rng, ["int", "float", "bool", "date", "datetime", "string", "code", "mixed"])
        day = lambda: datetime.date(1990, 1, 1) + datetime.timedelta(n(0, 20000))
        make = {"int": lambda: str(n(-50, 50)), "float": lambda: pick(rng, [f"{rng.normal() * 100:.2f}", f"{rng.normal():.3e}", "1."]),
                "bool": lambda: pick(rng, ["true", "false", "True", "FALSE"]), "date": lambda: day().isoformat(),
                "datetime": lambda: f"{day().isoformat()}T{n(0, 24):02}:{n(0, 60):02}:00Z",
                "string": lambda: pick(rng, ["Oslo", "Ålesund", "New York", "São Paulo", "東京", "O'Neill", "x y z"]),
                "code": lambda: f"{pick(rng, 'ABC')}{pick(rng, 'XYZ')}-{n(0, 9999):04}", "mixed": lambda: pick(rng, ["1", "x", "2.5", "true"])}[kind]
        share = pick(rng, [0, 0.1, 0.5])
        return [pick(rng, CsvProfile.MISSING) if rng.random() < share else make() for _ in range(rows)]

    def sample(rng):
        rows, width = int(rng.integers(3, 40)), int(rng.integers(2, 6))
        columns = [CsvProfile.column(rng, rows) for _ in range(width)]
        text, end = io.StringIO(), pick(rng, ["\n", "\r\n"])
        writer = csv.writer(text, delimiter=pick(rng, [",", ";", "\t", "|"]), lineterminator=end,
                            quoting=pick(rng, [csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer.writerow([f"c{k}" for k in range(width)])
        writer.writerows(zip(*columns))
        return {"csv": text.getvalue()}

    def expect(i, out):
        delimiter = clevercsv.Detector().detect(i["csv"], delimiters=list(",;\t|")).delimiter
        raw = pd.read_csv(io.StringIO(i["csv"]), sep=delimiter, dtype=str, keep_default_na=True)
        typed = pd.read_csv(io.StringIO(i["csv"]), sep=delimiter).convert_dtypes()
        columns = []
        for name in raw:
            values, there = raw[name].dropna(), typed[name].dropna()
            kind, place = "string", None
            if len(values) == 0:
                kind = "empty"
            elif pd.api.types.is_bool_dtype(there):
                kind, place = "bool", there.astype(float)
            elif pd.api.types.is_numeric_dtype(there):
                # pandas reads 1. and 2e0 as floats, which convert_dtypes makes whole again.
                kind = "int" if values.str.fullmatch(r"[+-]?\d+").all() else "float"
                place = pd.to_numeric(values)
            elif values.str.fullmatch(r"\d{4}-\d\d-\d\d.*").all():
                kind = "date" if values.str.len().max() == 10 else "datetime"
                place = (pd.to_datetime(values, utc=True, format="ISO8601") - pd.Timestamp("1970-01-01", tz="UTC")).dt.total_seconds()
            frame = pd.DataFrame({"text": values, "place": 0.0 if place is None else place.to_numpy()}).sort_values(["place", "text"])
            counts = values.value_counts()
            top = sorted(counts.index, key=lambda text: (-counts[text], text))[:5]
            columns.append({
                "name": name, "type": kind, "missing": int(raw[name].isna().sum()), "distinct": values.nunique(), "top": top,
                "min": frame["text"].iloc[0] if len(values) else "", "max": frame["text"].iloc[-1] if len(values) else "",
                "mean": 0.0 if not len(values) else values.str.len().mean() if place is None else place.mean()})
        for column, found in zip(columns, out["columns"]):
            values = raw[column["name"]].dropna()
            if found["pattern"]:
                column["pattern"] = found["pattern"] if all(re.fullmatch(found["pattern"], value) for value in values) else "matches all"
        keys = [name for name in raw if raw[name].notna().all() and raw[name].is_unique and len(raw)]
        complete = [name for name in raw if raw[name].notna().all()]
        if not keys:
            pairs = [(a, b) for k, a in enumerate(complete) for b in complete[k + 1:]]
            keys = [f"{a}+{b}" for a, b in pairs if not raw.duplicated([a, b]).any()]
        return {"dialect": {"delimiter": delimiter, "header": True}, "rows": len(raw), "columns": whole(columns, out["columns"]),
                "candidate_keys": whole(keys, out["candidate_keys"])}


@oracle(106, f"sqlite {sqlite3.sqlite_version}", 1e-9)
class TableQuery:
    """Where SQLite and the standard differ, queries avoid it: whole quotients, texts compared with numbers."""

    QUERIES = [
        "SELECT a, SUM(b) AS s, COUNT(*) AS n, MIN(c) AS m FROM t GROUP BY a ORDER BY a",
        "SELECT a, AVG(c) AS s, COUNT(c) AS n, MAX(b) AS m FROM t GROUP BY a HAVING COUNT(*) > {n} ORDER BY a",
        "SELECT t.id, u.name FROM t JOIN u ON t.a = u.a WHERE t.b > {n} ORDER BY t.id, u.id",
        "SELECT t.id, u.name FROM t LEFT JOIN u ON t.a = u.a ORDER BY t.id, u.id",
        "SELECT id FROM t WHERE b BETWEEN {n} AND {m} OR a IN ('x', 'é') ORDER BY id",
        "SELECT id FROM t WHERE a LIKE '%{letter}%' ORDER BY id DESC",
        "SELECT id, CASE WHEN b > {n} THEN 'high' WHEN b IS NULL THEN 'none' ELSE 'low' END AS k FROM t ORDER BY id",
        "SELECT DISTINCT a FROM t ORDER BY a LIMIT {n}",
        "SELECT id FROM t WHERE a IN (SELECT a FROM u WHERE id < {n}) ORDER BY id",
        "SELECT id, b * 2 + {n} AS x, -b AS y FROM t WHERE b IS NOT NULL ORDER BY x, id",
        "SELECT id FROM t WHERE NOT (b > {n} AND c < {m}) ORDER BY id",
        "SELECT COUNT(*) AS n, COUNT(b) AS k, COUNT(DISTINCT a) AS d, SUM(c) AS s FROM t WHERE id > {n}",
        "SELECT UPPER(a) AS u, LENGTH(a) AS l, COALESCE(b, {n}) AS c, ABS(b) AS v FROM t ORDER BY id",
        "SELECT id, b % 3 AS r, b / 2 AS q FROM t WHERE b >= 0 ORDER BY id LIMIT 5 OFFSET {n}",
        "SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.id > {n}) ORDER BY id",
        "SELECT x.id, y.id AS other FROM t AS x JOIN t AS y ON x.a = y.a AND x.id < y.id ORDER BY x.id, y.id",
        "SELECT UPPER(a) AS f, a || '!' AS g, TRIM(a) AS h FROM t ORDER BY id",
        "SELECT a, b FROM t WHERE a IS NULL OR b IS NULL ORDER BY id",
        "SELECT SUM(b) AS s, AVG(b) AS m, MAX(a) AS x FROM t WHERE id < 0",
    ]

    def sample(rng):
        rows = int(rng.integers(0, 25)) or 1
        names = ["x", "y", "é", "A", "a b", "x_y"]
        t = [{"id": k, "a": pick(rng, names) if rng.random() < 0.9 else None, "b": int(rng.integers(-9, 30)) if rng.random() < 0.85 else None,
              "c": round(float(rng.normal(5, 9)), 3)} for k in range(rows)]
        u = [{"id": k, "a": pick(rng, names), "name": pick(rng, ["Ada", "Bob", "Ölaf"])} for k in range(int(rng.integers(1, 8)))]
        query = pick(rng, TableQuery.QUERIES).format(n=int(rng.integers(0, 8)), m=int(rng.integers(5, 20)), letter=pick(rng, ["x", "a", "é", "_"]))
        return {"tables": {"t": t, "u": u}, "sql": query}

    def run(i):
        base = sqlite3.connect(":memory:")
        # SQLite's LIKE disregards the case of ASCII letters, and its upper those of others.
        base.execute("PRAGMA case_sensitive_like = ON")
        base.create_function("upper", 1, lambda text: text and text.upper())
        for name, rows in i["tables"].items():
            columns = list(rows[0])
            base.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
            base.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", [[row[c] for c in columns] for row in rows])
        # The standard leaves the place of nulls open; GlueSQL's default is that of PostgreSQL: they come last in ascending order.
        text = re.sub(r"ORDER BY (.*?)( LIMIT|$)", lambda m: "ORDER BY " + ", ".join(
            f"{k} NULLS FIRST" if k.endswith(" DESC") else f"{k} NULLS LAST" for k in m[1].split(", ")) + m[2], i["sql"])
        return base.execute(text)

    def expect(i, out):
        found = TableQuery.run(i)
        rows = [list(row) for row in found.fetchall()]
        near = len(rows) == len(out["rows"]) and all(
            len(a) == len(b) and all(x == y or (isinstance(x, (int, float)) and isinstance(y, (int, float)) and math.isclose(x, y, rel_tol=1e-9))
                                     for x, y in zip(a, b)) for a, b in zip(rows, out["rows"]))
        return {"rows": None if near else f"{i['sql']}: {rows}", "row_count": len(rows), "columns": [c[0] for c in found.description]}

    accepts = lambda i: bool(TableQuery.run(i).description)


@oracle(107, "jsonpath-rfc9535, jmespath, jsonpointer", 0)
class JsonQuery:
    KEYS = ["a", "b", "c", "é", "a b", "a/b", "m~n", "'", '"', "\\", "😀", "$"]

    def segment(rng, deep=1):
        n = lambda: int(rng.integers(-3, 5))
        name = pick(rng, JsonQuery.KEYS)
        quoted = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        step = lambda: pick(rng, ["", n()])
        test = ["@.a", "!@.b", "@.a == 1", "@.a != @.b", "@ > 2", "@.b <= 'a'", "@ == null", "@ == true", "length(@) > 1", "count(@.*) >= 2",
                "match(@.a, 'n.*')", "search(@, '[a-z]')", "@.a && @.b", "@.a || !@.c", "value(@..a) == 1", "@[0] == @[-1]", "(@.a < 3) && !(@.b == 'x')",
                "$.a == @", "@ < 1.5", "@ == -0", "@.* == 1 || @['a b']" if deep < 0 else "@['a b']"]
        slices = f"{step()}:{step()}" + pick(rng, ["", f":{n()}"])
        selector = lambda: pick(rng, [quoted(name), json.dumps(name, ensure_ascii=False), str(n()), slices, "*", f"?{pick(rng, test)}"])
        return pick(rng, [lambda: f".{pick(rng, 'abcé')}", lambda: ".*", lambda: f"[{selector()}]", lambda: f"[{selector()}, {selector()}]",
                         lambda: f"..{pick(rng, 'abc')}", lambda: f"..[{selector()}]", lambda: "..*"])()

    def path(rng):
        return "$" + "".join(JsonQuery.segment(rng) for _ in range(int(rng.integers(0, 4))))

    def expression(rng):
        return pick(rng, [
            "a", "a.b", "a[0]", "a[-1]", "a[*].b", "*.a", "a[].b", "[*].a[]", "a[?b > `1`]", "a[?b == 'a'].c", "a[1:3]", "a[::-1]", "a[::2]", "{x: a, y: b}",
            "[a, b, c]", "a || b", "a && b", "!a", "length(a)", "keys(a)", "sort(keys(@))", "values(a)", "type(a)", "to_string(a)", "to_number(b)", "a | [0]",
            "a[*] | length(@)", "max(a[?type(@) == 'number'])", "sum(a[?type(@) == 'number'])", "avg(a[?type(@) == 'number'])",
            "join(', ', a[?type(@) == 'string'])", "reverse(a)", "not_null(c, b, a)", "contains(a, `1`)", "starts_with(b, 'a')", "ends_with(b, 'b')",
            "merge(`{\"x\": 1}`, `{\"y\": 2}`)", "sort(a[?type(@) == 'string'])", "sort_by(a[?type(b) == 'number'], &b)[*].b", "map(&b, a)",
            "max_by(a[?type(b) == 'number'], &b)", "ceil(b)", "floor(b)", "abs(b)", "a.*", "\"a b\"", "\"😀\"", "@", "a[?b]", "a[?!b]", "a[*].[b, c]",
            "a[*].{k: b}", "c.*.a[]", "[?a]", "[0].a", "to_array(a)", "a == b", "a < b", "`[1, 2]`[1]", "'x'", "a[0:0]", "a.b.c.d", "length(b)", "reverse(b)",
            "a[?contains(@, 'a')]", "a[10]"
        ])

    def pointer(rng, value):
        text = ""
        while True:
            if isinstance(value, dict) and value and rng.random() < 0.8:
                key = pick(rng, list(value))
                text, value = text + "/" + key.replace("~", "~0").replace("/", "~1"), value[key]
            elif isinstance(value, list) and value and rng.random() < 0.8:
                at = int(rng.integers(len(value)))
                text, value = f"{text}/{at}", value[at]
            else:
                return text + pick(rng, ["", "", "", "/x", "/-", "/01", "/~2", "/0", "/", "/-1", "x"])

    def sample(rng):
        value, language = document(rng, 4, JsonQuery.KEYS), pick(rng, ["jsonpath", "jsonpath", "jmespath", "pointer"])
        while not isinstance(value, (dict, list)) or not value:
            value = document(rng, 4, JsonQuery.KEYS)
        query = {"jsonpath": lambda: JsonQuery.path(rng), "jmespath": lambda: JsonQuery.expression(rng),
                 "pointer": lambda: JsonQuery.pointer(rng, value)}[language]()
        return {"document": value, "query": query, "language": language}

    def select(i):
        value, query = i["document"], i["query"]
        if i["language"] == "jsonpath":
            # The package gives its nodes in another spelling of the path.
            nodes = jsonpath_rfc9535.find(query, value)
            return [node.value for node in nodes], [node.path() for node in nodes]
        if i["language"] == "pointer":
            pointer = jsonpointer.JsonPointer(query)
            try:
                return [pointer.resolve(value)], [query]
            except jsonpointer.JsonPointerException:
                return [], []
        return jmespath.search(query, value), []

    def expect(i, out):
        values, locations = JsonQuery.select(i)
        if i["language"] == "jmespath":
            several = isinstance(values, list) and equal(values, out["values"])
            values = out["values"] if several else [] if values is None else [values]
        if i["language"] == "pointer" and (values and type(values[0]).__name__ == "EndOfList" or re.search(r"/-1($|/)", i["query"])):
            values, locations = [], []
        # Members of objects have no order in RFC 9535.
        key = lambda pair: json.dumps(pair, sort_keys=True)
        mine, theirs = (sorted(zip(v, p or [""] * len(v)), key=key) for v, p in ((out["values"], out["locations"]), (values, locations)))
        return {"count": len(values), "values": exact([v for v, _ in theirs], [v for v, _ in mine]),
                "locations": exact([p for _, p in theirs], [p for _, p in mine]) if locations else None}

    def accepts(i):
        try:
            JsonQuery.select(i)
        except Exception:
            return False
        return True


@oracle(108, "jq", 1e-12)
class JsonTransform:
    """Left out is where jaq takes what jq refuses: `del(.[0])` and `contains` of other types, an index beyond the end that is deleted."""

    PROGRAMS = [
        ".",
        ".a",
        ".a?",
        ".a.b?",
        ".[0]?",
        ".[]?",
        ".[1:]?",
        "map(.)?",
        "[.[]?]",
        "[..]|length",
        "keys?",
        "keys_unsorted? | sort",
        "length?",
        "map(type)?",
        "to_entries?",
        "with_entries(.value |= tostring)?",
        "[paths]",
        "[paths(type == \"number\")]",
        "[leaf_paths] | length",
        "add?",
        "any?",
        "all?",
        "flatten?",
        "flatten(1)?",
        "sort?",
        "sort_by(tostring)?",
        "group_by(type)?",
        "unique?",
        "unique_by(type)?",
        "min?",
        "max?",
        "reverse?",
        "tostring",
        "tojson",
        "tojson | fromjson",
        "[.[]? | numbers]",
        "[.[]? | strings | ascii_downcase]",
        "[.[]? | strings | explode | implode]",
        "[.[]? | strings | test(\"[a-z]\")]",
        "[.[]? | strings | split(\" \")]",
        "[.[]? | strings | length, utf8bytelength]",
        "[.[]? | strings | sub(\"a\"; \"b\")]",
        "[.[]? | strings | gsub(\"[aeiou]\"; \"_\")]",
        "[.[]? | strings | capture(\"(?<x>[a-z]+)\")]",
        "[.[]? | strings | [scan(\"[a-z]\")]]",
        "reduce (.[]? | numbers) as $x (0; . + $x)",
        "[foreach (.[]? | numbers) as $x (0; . + $x)]",
        "[range(5)]",
        "[range(1; 10; 3)]",
        "[limit(3; .[]?)]",
        "first(.[]?)",
        "[.[]? | numbers | floor, sqrt?]",
        "[.[]? | numbers | . % 3]?",
        "[.[]? | numbers | pow(.; 2)]",
        "[.[]? | numbers | tostring]",
        "if type == \"array\" then length elif type == \"object\" then keys else . end",
        "try error(\"x\") catch .",
        "try (.a.b.c) catch \"no\"",
        "[.[]? | select(type == \"number\" and . > 0)]",
        "del(.a)?",
        ".a |= 1",
        "try (.a += 1) catch \"no\"",
        ".b = {c: 1}?",
        "[.[]? | tojson]",
        "@json",
        "[.[]? | strings | @base64]",
        "[.[]? | strings | @uri]",
        "[.[]? | strings | @html]",
        "[.[]? | strings | @sh]",
        "[.[]? | scalars | tostring] | @csv",
        "[.[]? | scalars | tostring] | @tsv",
        "path(..)",
        "[getpath([\"a\", \"b\"])?]",
        "try setpath([\"a\"]; 1) catch \"no\"",
        "[splits(\"a\")?]",
        "tostream",
        "fromstream(tostream)",
        "[.[]? | tonumber?]",
        "[.[]? | strings | ltrimstr(\"a\") | rtrimstr(\"b\")]",
        "[.[]? | strings | startswith(\"a\"), endswith(\"b\")]",
        "index(\"a\")?",
        "indices(1)?",
        "inside([1])?",
        "has(\"a\")?",
        "has(0)?",
        "map(has(0)?)?",
        "any(.[]?; . == 1)",
        "[.[]? | numbers] | (min, max, add)",
        "transpose?",
        "combinations?",
        "walk(if type == \"number\" then . + 1 else . end)",
        "$x + 1",
        "[.[]? | strings | ascii_upcase]",
        "def f(g): [g, g]; f(.a?)",
        "label $out | foreach (.[]?) as $i (0; . + 1; if . > 2 then ., break $out else . end)",
        ". as [$p, $q] | [$q, $p]",
        ". as {a: $p} | $p",
        "[.[]? | numbers | if . < 0 then -. else . end]",
        "\"\\(.)\"",
        "[.[]? | numbers | . / 4]",
        "[.[]? | numbers | . * 3 - 1]",
        "isvalid(.a)?",
        "splits(\"x\")?",
        "ltrimstr(1)?",
        "getpath([\"x\"; 1])?",
        "limit(1; .[]?)",
        "until(true; .)",
        "[recurse(if type == \"array\" then .[] else empty end)] | length",
        "[.[]? | objects | to_entries[] | .key]",
        "from_entries?",
        "map_values(type)?",
        "[1, [2]] | getpath([1, 0])",
        "[.[]? | arrays | .[-1]]",
        "[.[]? | strings | .[1:3]]",
        "[.[]? | numbers | tojson]",
        "[.[]? | strings | ascii_downcase | ascii_upcase]",
        "[.[]? | [strings, numbers] | length]",
        "implode?",
        "[.[]? | numbers | trunc]",
        "[.[]? | numbers | round, ceil, fabs]",
        "[infinite, -infinite] | map(isinfinite)",
        "nan | isnan",
        "[nan] | sort",
        "nan < 1",
        "[.[]?] - [1]",
        "{} + {a: 1} * {b: {c: 2}}",
        "null + 1",
        "[1, 2] - [2]",
        "\"a\" * 3",
        "\"a,b\" / \",\"",
        "[3, 1, 2] | sort_by(-.)",
        "[\"a\", \"b\"] | join(\"-\")",
        "[1, null, \"a\"] | join(\"-\")",
        "@text \"v: \\(.)\"",
        "splits",
        "error",
        "1 / 0",
        ". % 0",
        "tojson | length",
        "[limit(2; repeat(1))]",
        "[.[]? | booleans | not]",
        "input",
        "\"x\" | test(\"X\"; \"i\")",
        "\"aXbxc\" | ascii_downcase | [match(\"x\"; \"g\").offset]",
        "\"日本語x\" | [match(\"x\").offset]",
        "\"日本語\" | .[1:2]",
        "\"é\" | @uri",
        "\"a\" | ascii_downcase | explode",
        "[1, 2, 3] | .[1:] = [9]",
        "[1, 2, 3] | to_entries",
        "[[1, 2], [3]] | add",
        "{\"a\": [1, 2]} | [paths]",
        "[1, [2, [3]]] | flatten",
        "9007199254740993",
        "[100000000000000000000]",
        "1e1000",
        "0.1 + 0.2",
        "1.0",
        "3.0 | tostring",
        "[1.5, 2] | map(tostring)",
        "10 / 3",
        "-5 % 3",
        "5 % -3",
        "-1.5 | floor",
        "pow(2; 0.5)",
        "[2, 8] | map(log2)",
        "1 as $x | 2 as $y | [$x, $y]",
    ]

    def sample(rng):
        # Members of objects are in the order of their names here.
        value = json.loads(json.dumps(document(rng, 3), sort_keys=True))
        return {"document": value, "program": pick(rng, JsonTransform.PROGRAMS), "variables": {"x": int(rng.integers(9))}}

    def run(i):
        return jq.compile(i["program"], args=i["variables"]).input_value(i["document"]).all()

    def expect(i, out):
        try:
            results = JsonTransform.run(i)
        except (ValueError, StopIteration) as error:
            return {"count": f"{i['program']} of {i['document']}: {error}"}
        near = len(results) == len(out["results"]) and all(equal(a, b) or math_close(a, b) for a, b in zip(results, out["results"]))
        return {"results": None if near else f"{i['program']} of {i['document']}: {json.dumps(results)}", "count": len(results)}

    def accepts(i):
        try:
            JsonTransform.run(i)
        except (ValueError, StopIteration):
            return False
        return True


def math_close(one, other):
    """Equal but for the last digits of numbers."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(math_close(a, b) for a, b in zip(one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(math_close(value, other[key]) for key, value in one.items())
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (one, other))
    return math.isclose(one, other, rel_tol=1e-12) if numbers else equal(one, other)


@oracle(109, "jsonschema", 0)
class SchemaValidate:
    DRAFTS = {"http://json-schema.org/draft-04/schema#": "draft-04", "http://json-schema.org/draft-07/schema#": "draft-07",
              "https://json-schema.org/draft/2019-09/schema": "2019-09", "https://json-schema.org/draft/2020-12/schema": "2020-12"}
    FORMATS = ["date", "date-time", "time", "email", "ipv4", "ipv6", "uri", "uuid", "hostname", "json-pointer", "regex"]
    VALUES = {
        "date": ["2026-02-28", "2026-02-30", "2026-2-1",
                 "02026-01-01"], "date-time": ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00",
                                               "2026-01-01t00:00:00.5+01:00"], "time": ["12:00:00Z", "24:00:00Z", "12:00:00",
                                                                                        "23:59:60Z"], "email": ["a@b.example", "a@", "@b", "a b@c"],
        "ipv4": ["1.2.3.4", "1.2.3", "01.2.3.4", "256.1.1.1"], "ipv6": ["::1", "1::2::3", "::ffff:1.2.3.4", "12345::",
                                                                        "fe80::1%25en0"], "uri": ["http://a/b?c#d", "//a", "http://a b", "urn:x:y", "a"],
        "uuid": ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "7C9E6679-7425-40DE-944B-E07FC1F90AE7", "7c9e66797425-40de-944b-e07fc1f90ae7"],
        "hostname": ["a.example", "-a", "a_b", "a" * 64, "xn--nxasmq6b"], "json-pointer": ["", "/a~0", "/a~2", "a"], "regex": ["^a+$", "(", "[a-z]{2}"]
    }

    def schema(rng, depth=2):
        rule, result = lambda: SchemaValidate.schema(rng, depth - 1), {}
        if rng.random() < 0.15:
            return bool(rng.integers(2))
        types = ["null", "boolean", "integer", "number", "string", "array", "object"]
        choices = {
            "type": lambda: pick(rng, types) if rng.random() < 0.7 else [str(t) for t in rng.choice(types, 2, replace=False)],
            "minimum": lambda: int(rng.integers(-5, 5)),
            "exclusiveMaximum": lambda: int(rng.integers(-5, 5)),
            "multipleOf": lambda: pick(rng, [1, 2, 0.5, 0.01, 3]),
            "minLength": lambda: int(rng.integers(0, 4)),
            "maxLength": lambda: int(rng.integers(0, 4)),
            "pattern": lambda: pick(rng, ["^a", "[a-z]+", "^.{1,3}$", "\\d"]),
            "enum": lambda: [document(rng, 1) for _ in range(3)],
            "const": lambda: document(rng, 1),
            "minItems": lambda: int(rng.integers(0, 3)),
            "maxItems": lambda: int(rng.integers(0, 3)),
            "uniqueItems": lambda: bool(rng.integers(2)),
            "required": lambda: [pick(rng, "abcd")],
            "minProperties": lambda: int(rng.integers(0, 3)),
            "maxProperties": lambda: int(rng.integers(0, 3)),
        }
        if depth:
            choices |= {
                "properties": lambda: {k: rule()
                                       for k in "abc"}, "additionalProperties": rule, "items": rule, "not": rule, "contains": rule, "propertyNames": rule,
                "anyOf": lambda: [rule(), rule()], "allOf": lambda: [rule(), rule()], "oneOf": lambda: [rule(), rule()],
                "patternProperties": lambda: {"^[ab]": rule()}, "if": rule, "then": rule, "else": rule, "dependentRequired": lambda: {"a": ["b"]},
                "prefixItems": lambda: [rule(), rule()], "unevaluatedProperties": rule, "unevaluatedItems": rule,
                "minContains": lambda: int(rng.integers(0, 3)), "$ref": lambda: "#/$defs/d"
            }
        for name in rng.choice(list(choices), int(rng.integers(1, 5)), replace=False):
            result[str(name)] = choices[name]()
        return result

    def sample(rng):
        if rng.random() < 0.25:
            name = pick(rng, SchemaValidate.FORMATS)
            return {"schema": {"format": name}, "document": pick(rng, SchemaValidate.VALUES[name]), "formats": bool(rng.random() < 0.8)}
        draft = pick(rng, list(SchemaValidate.DRAFTS) + [None] * 3)
        schema = {**(s if isinstance(s := SchemaValidate.schema(rng, 3), dict) else {}), "$defs": {"d": SchemaValidate.schema(rng, 0)}}
        if draft and "draft-04" in draft:
            schema = {
                "type": pick(rng, ["object", "integer", "array"]), "minimum": 2, "exclusiveMinimum": bool(rng.integers(2)), "required": ["a"],
                "items": {"type": "integer"}
            }
        if draft:
            schema["$schema"] = draft
        return {"schema": schema, "document": document(rng, 2), "formats": True}

    def validator(i):
        cls = jsonschema.validators.validator_for(i["schema"], default=jsonschema.Draft202012Validator)
        cls.check_schema(i["schema"])
        return cls(i["schema"], format_checker=cls.FORMAT_CHECKER if i["formats"] else None)

    def expect(i, out):
        validator = SchemaValidate.validator(i)
        errors = list(validator.iter_errors(i["document"]))
        if i["schema"].get("format") in ("time", "email") and i["document"] in ("23:59:60Z", "24:00:00Z", "12:00:00", "a b@c", "a@", "@b"):
            # RFC 3339 has leap seconds and asks for an offset; RFC 5321 has two parts without spaces. The package's checks are rougher.
            return {"valid": i["document"] == "23:59:60Z" or not i["formats"]}
        pointer = lambda parts: "".join("/" + str(p).replace("~", "~0").replace("/", "~1") for p in parts)
        found = {(pointer(error.absolute_path), error.validator) for error in errors}
        # A schema that is false breaks no keyword in the package; the crate names it.
        # Draft 4 has a truth beside `minimum`, which the crate names.
        names = {"falseSchema": None, "exclusiveMinimum": "minimum"} if "draft-04" in i["schema"].get("$schema", "") else {"falseSchema": None}
        mine = {(error["instance_path"], names.get(error["keyword"], error["keyword"])) for error in out["errors"]}
        if mine != found and errors and out["errors"]:
            # Both find errors: where keywords that hold others are concerned, the package names the outer one and the crate what is within.
            nested = {
                "unevaluatedProperties", "unevaluatedItems", "additionalProperties", "propertyNames", "contains", "items", "prefixItems", "$ref", "if",
                "required", "dependentRequired", "minContains", "maxContains"
            }
            mine = found if {k for _, k in mine ^ found} <= nested | {None} else mine
        draft = SchemaValidate.DRAFTS.get(i["schema"].get("$schema"), "2020-12")
        return {"valid": not errors, "errors": None if mine == found else f"{i}: {sorted(found, key=str)}", "draft": draft}

    def accepts(i):
        try:
            SchemaValidate.validator(i).is_valid(i["document"])
        except Exception:
            return False
        return True


@oracle(110, "genson, jsonschema", 0)
class SchemaInfer:
    def sample(rng):
        keys = ["a", "b", "c", "d", "é", "when"]
        def record(depth):
            result = {}
            for key in keys:
                if rng.random() < 0.7:
                    result[key] = pick(rng, [
                        lambda: int(rng.integers(9)), lambda: 1.5, lambda: "x", lambda: None, lambda: True, lambda: [1, 2.5], lambda: ["x"],
                        lambda: "2026-01-01T00:00:00Z", lambda: record(depth - 1) if depth else 1
                    ])()
            return result
        shapes = pick(rng, [lambda: record(2), lambda: document(rng, 2)])
        return {
            "samples": [shapes() for _ in range(int(rng.integers(1, 130) if rng.random() < 0.2 else rng.integers(1, 12)))],
            "detect_formats": bool(rng.integers(2)), "enum_limit": int(rng.integers(0, 20))
        }

    def types(schema, path=""):
        """Names of types and required members by path."""
        found, parts = {}, schema.get("anyOf", [schema])
        for part in parts:
            names = part.get("type", [])
            found.setdefault(path, set()).update([names] if isinstance(names, str) else names)
            for key, value in part.get("properties", {}).items():
                found |= SchemaInfer.types(value, f"{path}/{key}")
            if part.get("required"):
                found[f"{path} required"] = set(part["required"])
            if part.get("items"):
                found |= SchemaInfer.types(part["items"], f"{path}[]")
        return found

    def expect(i, out):
        builder = genson.SchemaBuilder()
        for sample in i["samples"]:
            builder.add_object(sample)
        cls = jsonschema.Draft202012Validator
        cls.check_schema(out["schema"])
        for sample in i["samples"]:
            cls(out["schema"], format_checker=cls.FORMAT_CHECKER).validate(sample)
        # A type that is any of two numbers is a number.
        simple = lambda found: {path: sorted(names - {"integer"} if "number" in names else names) for path, names in found.items() if names}
        return {"samples": len(i["samples"]), "schema": exact(simple(SchemaInfer.types(builder.to_schema())), simple(SchemaInfer.types(out["schema"])))}


@oracle(111, "jsonpatch, json-merge-patch", 0)
class DiffPatch:
    KEYS = ["a", "b", "a/b", "m~n", "", "é", "0"]

    def places(value, path=""):
        yield path
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else []
        for key, item in items:
            yield from DiffPatch.places(item, path + "/" + str(key).replace("~", "~0").replace("/", "~1"))

    def sample(rng):
        before, kind = document(rng, 3, DiffPatch.KEYS), pick(rng, ["json-patch", "merge-patch"])
        mode = rng.random()
        if mode < 0.4:
            after = document(rng, 3, DiffPatch.KEYS) if rng.random() < 0.5 else DiffPatch.changed(rng, before)
            # A null stands for an absent member of an input.
            after = 0 if after is None else after
            return {"before": before, "after": after, "kind": kind}
        if kind == "merge-patch":
            return {"before": before, "patch": document(rng, 3, DiffPatch.KEYS) or {}, "kind": kind}
        operations = []
        for _ in range(int(rng.integers(1, 5))):
            places = list(DiffPatch.places(before))
            path = pick(rng, places) + pick(rng, ["", "", "/-", "/x", "/0", "/01"])
            operation = {"op": pick(rng, ["add", "remove", "replace", "move", "copy", "test"]), "path": path}
            if operation["op"] in ("add", "replace", "test"):
                operation["value"] = document(rng, 1)
            if operation["op"] in ("move", "copy"):
                operation["from"] = pick(rng, places)
            if rng.random() < 0.05:
                del operation[pick(rng, list(operation))]
            operations.append(operation)
        return {"before": before, "patch": operations, "kind": kind}

    def changed(rng, value):
        if isinstance(value, list):
            return [DiffPatch.changed(rng, item) for item in value if rng.random() < 0.8] + ([document(rng, 1)] if rng.random() < 0.3 else [])
        if isinstance(value, dict):
            return {key: DiffPatch.changed(rng, item) for key, item in value.items() if rng.random() < 0.8}
        return value if rng.random() < 0.7 else document(rng, 0)

    def apply(i):
        if i["kind"] == "merge-patch":
            return json_merge_patch.merge(json.loads(json.dumps(i["before"])), i["patch"])
        return jsonpatch.apply_patch(i["before"], i["patch"])

    def expect(i, out):
        if "patch" in i:
            result = DiffPatch.apply(i)
            return {"result": exact(result, out["result"]), "identical": equal(result, i["before"])}
        result = DiffPatch.apply({**i, "patch": out["patch"]})
        lossless = i["kind"] == "json-patch" or equal(result, i["after"])
        return {"result": exact(result, out["result"]), "patch": None if lossless or "null" in json.dumps(i["after"]) else f"leads to {result}",
                "identical": equal(i["before"], i["after"])}

    def accepts(i):
        if "after" in i:
            return True
        # The package takes for an object's member what is none in an array, and moves a value into itself.
        if any(o.get("op") == "move" and str(o.get("path")).startswith(str(o.get("from")) + "/") for o in i["patch"]):
            return False
        try:
            DiffPatch.apply(i)
        except Exception:
            return False
        return True


@oracle(112, "ruamel.yaml, tomllib, csv, xmltodict, cbor2, msgpack", 1e-12)
class FormatConvert:
    FORMATS = ["json", "yaml", "toml", "csv", "xml", "ndjson", "cbor", "msgpack"]
    YAML = [
        "a: yes\nb: no\nc: on\nd: ~\ne: 0o17\nf: 017\ng: 0x1F\nh: 1_000\nj: '1'\n", "- 1\n- 2.50\n- 1e3\n- -0\n- +5\n- 2026-01-01\n- 12:30:45\n",
        "a: &x {b: 1}\nc: *x\n", "a: |\n  line\n   two\nb: >\n  folded\n  text\n\n  new\n", "? x\n: y\nnull: z\n", "\"\\u00e9\": '\u00e9'\n",
        "a: {b: [1, 2, {c: d}]}\n", "--- 1\n...\n", "a: 'it''s'\nb: \"tab\\t\"\n", "a: !!str 1\n", "<<: 1\n", "true: false\nNull: True\n",
        "a: 1.\nb: .5\nc: 1.e3\nd: 0b11\n", "a:\n- b\n-\n  - c\n", "a: #x\n  b\n"
    ]

    def flat(rng):
        keys = [str(k) for k in rng.choice(["a", "b", "é", "a b", "x-y", "A"], 3, replace=False)]
        return [{k: pick(rng, [int(rng.integers(-9, 9)), round(float(rng.normal()), 3),
                              pick(rng, TEXTS), bool(rng.integers(2))])
                 for k in keys} for _ in range(int(rng.integers(1, 6)))]

    def write(value, kind, rng):
        if kind == "json":
            return json.dumps(value, ensure_ascii=bool(rng.integers(2)))
        if kind == "ndjson":
            return "".join(json.dumps(item) + "\n" for item in value)
        if kind == "yaml":
            text = io.StringIO()
            ruamel.yaml.YAML(typ="safe").dump(value, text)
            return text.getvalue()
        if kind == "csv":
            text = io.StringIO()
            writer = csv.DictWriter(text, list(value[0]), lineterminator="\r\n")
            writer.writeheader()
            writer.writerows([{k: json.dumps(v) if not isinstance(v, str) else v for k, v in row.items()} for row in value])
            return text.getvalue()
        if kind == "xml":
            return xmltodict.unparse({"root": {"item": [{f"k{n}": v for n, v in enumerate(row.values())} for row in value]}})
        return base64.b64encode(cbor2.dumps(value) if kind == "cbor" else msgpack.packb(value)).decode()

    def sample(rng):
        source, target = pick(rng, [f for f in FormatConvert.FORMATS if f != "toml"]), pick(rng, FormatConvert.FORMATS)
        if source == "yaml" and rng.random() < 0.6:
            return {"content": pick(rng, FormatConvert.YAML), "from": "yaml", "to": pick(rng, ["json", "cbor"])}
        value = FormatConvert.flat(rng)
        if source in ("json", "yaml", "cbor", "msgpack") and target not in ("csv", "xml", "ndjson"):
            value = document(rng, 3, ["a", "b", "é", "x y", "1", "true", "", "null", "~"])
        if target == "toml":
            value = {"top": value}
            source = pick(rng, ["json", "yaml", "cbor", "msgpack"])
        if source == "xml":
            value = [{k: v if isinstance(v, str) and v.isprintable() else "t" for k, v in row.items()} for row in value]
        return {"content": FormatConvert.write(value, source, rng), "from": source, "to": target}

    def read(content, kind, source=False):
        if kind == "json":
            return json.loads(content)
        if kind == "ndjson":
            return [json.loads(line) for line in content.split("\n") if line.strip()]
        if kind == "yaml":
            yaml = ruamel.yaml.YAML(typ="safe", pure=True)
            # The core schema of YAML 1.2 has no times.
            yaml.resolver.versioned_resolver
            for key, rules in list(yaml.resolver.versioned_resolver.items()):
                yaml.resolver.versioned_resolver[key] = [(tag, rule) for tag, rule in rules if not tag.endswith("timestamp")]
            return yaml.load(content)
        if kind == "toml":
            return tomllib.loads(content)
        if kind == "xml":
            return xmltodict.parse(content, strip_whitespace=True)
        if kind == "csv":
            return list(csv.DictReader(io.StringIO(content, newline="")))
        raw = base64.b64decode(content)
        return cbor2.loads(raw) if kind == "cbor" else msgpack.unpackb(raw, strict_map_key=False)

    def typed(text):
        """A field of CSV: what is written as JSON writes it is a number or a truth."""
        try:
            value = json.loads(text)
        except ValueError:
            return text or None
        same = isinstance(value, (bool, int, float)) and json.dumps(value) == text
        return value if same else text or None

    def plain(value, target):
        """The value as the target can hold it."""
        if isinstance(value, dict):
            word = lambda key: key if isinstance(key, str) else json.dumps(key)
            return {word(k): FormatConvert.plain(v, target) for k, v in value.items() if not (target == "toml" and v is None)}
        if isinstance(value, list):
            return [FormatConvert.plain(v, target) for v in value if not (target == "toml" and v is None)]
        if isinstance(value, float) and not math.isfinite(value):
            return None
        return value

    def expect(i, out):
        value = FormatConvert.read(i["content"], i["from"])
        if i["from"] == "csv":
            value = [{k: FormatConvert.typed(v) for k, v in row.items()} for row in value]
        found, target = FormatConvert.read(out["content"], i["to"]), i["to"]
        value = FormatConvert.plain(value, target)
        if target == "csv":
            rows = value if isinstance(value, list) else [value]
            text = lambda v: "" if v is None else v if isinstance(v, str) else json.dumps(v, ensure_ascii=False, separators=(",", ":"))
            value = [{k: text(v) for k, v in row.items()} for row in rows]
        if target == "ndjson" and not isinstance(value, list):
            value = [value]
        if target == "xml":
            # Its leaves: names are replaced, and types become text.
            leaves = lambda v: [x for w in (v.values() if isinstance(v, dict) else v) for x in leaves(w)] if isinstance(v, (dict, list)) else [
                "" if v is None else v.strip() if isinstance(v, str) else json.dumps(v)]
            value, found = sorted(leaves(value)), sorted(leaves(found))
        return {
            "content": None if math_close(value, found) else f"{i['content']!r} {i['from']} to {i['to']}: {value}",
            "encoding": "base64" if target in ("cbor", "msgpack") else "utf8"
        }

    def accepts(i):
        try:
            value = FormatConvert.read(i["content"], i["from"])
        except Exception:
            return False
        return i["to"] != "toml" or isinstance(value, dict)


@oracle(113, "jellyfish, rapidfuzz, networkx", 1e-12)
class Linkage:
    FIRST = ["Martha", "Marhta", "José", "Jose", "Ann", "Anne", "Dwayne", "Duane", "O'Neill", "李", "Ólafur", "Dixon", "Dicksonx"]
    LAST = ["Jones", "Johnson", "Jonsson", "Smith", "Smyth", "van der Berg", "Berg van der", "Åse"]

    def record(rng):
        n = lambda low, high: int(rng.integers(low, high))
        name = f"{pick(rng, Linkage.FIRST)} {pick(rng, Linkage.LAST)}"
        full = {
            "name": name.upper() if rng.random() < 0.2 else name, "born": f"{n(1950, 1953)}-{n(1, 13):02}-{n(1, 13):02}",
            "city": pick(rng, ["Oslo", "Oslo  ", "osló", "Bergen", "New-York", "New York"]),
            "phone": f"{pick(rng, ['+44 20 ', '020 ', '(020) '])}{n(7031, 7034)} {n(3000, 3003)}",
            "age": pick(rng, [n(20, 25), float(n(20, 25)), str(n(20, 25)), -3, 0]), "id": pick(rng, ["A1", "a1", "B2", 7])
        }
        return {k: None if rng.random() < 0.05 else v for k, v in full.items() if rng.random() < 0.95}

    def sample(rng):
        kinds = {"name": "name", "born": "date", "city": "text", "phone": "phone", "age": "number", "id": "exact"}
        i = {
            "left": [Linkage.record(rng) for _ in range(int(rng.integers(2, 20)))], "fields": [{"name": k, "kind": v} for k, v in kinds.items()],
            "threshold": float(rng.uniform(0, 1)), "block_on": pick(rng, [[], [], ["city"], ["city", "id"]])
        }
        if rng.random() < 0.5:
            i["right"] = [Linkage.record(rng) for _ in range(int(rng.integers(1, 20)))]
        return i

    def text(value):
        # Letters and digits of every script in lower case, other characters are spaces.
        text = value if isinstance(value, str) else json.dumps(value)
        return " ".join("".join(c if c.isalnum() else " " for c in text).lower().split())

    def similarity(kind, a, b):
        x, y = Linkage.text(a), Linkage.text(b)
        if kind == "exact":
            return float(x == y)
        if kind == "name":
            jw = jellyfish.jaro_winkler_similarity
            return max(jw(x, y), jw(" ".join(sorted(x.split())), " ".join(sorted(y.split()))))
        if kind == "text":
            return Levenshtein.normalized_similarity(x, y)
        if kind == "phone":
            x, y = (re.sub(r"\D", "", t)[-9:] for t in (x, y))
            return Levenshtein.normalized_similarity(x, y)
        if kind == "number":
            x, y = float(a), float(b)
            return 1.0 if x == y else max(0.0, 1 - abs(x - y) / max(abs(x), abs(y)))
        x, y = (tuple(map(int, t.split())) for t in (x, y))
        wrong = sum(p != q for p, q in zip("%04d%02d%02d" % x, "%04d%02d%02d" % y))
        swapped = x[0] == y[0] and x[1:] == y[:0:-1]
        return 1.0 if wrong == 0 else 0.9 if wrong == 1 or swapped else 0.4 * sum(p == q for p, q in zip(x, y))

    def expect(i, out):
        left, right = i["left"], i.get("right")
        others = right if right is not None else left
        key = lambda row, name: Linkage.text(row[name]) if row.get(name) is not None else None
        pairs = [(a, b) for a in range(len(left)) for b in range(0 if right is not None else a + 1, len(others))
                 if not i["block_on"] or any(key(left[a], n) and key(left[a], n) == key(others[b], n) for n in i["block_on"])]
        matches = []
        for found in out["matches"]:
            a, b = left[found["left"]], others[found["right"]]
            fields = {
                f["name"]: Linkage.similarity(f["kind"], a[f["name"]], b[f["name"]])
                for f in i["fields"] if a.get(f["name"]) is not None and b.get(f["name"]) is not None
            }
            good = (found["left"], found["right"]) in pairs and found["score"] >= i["threshold"] and fields.keys() == found["fields"].keys()
            matches.append({"fields": fields} if good else {"fields": "another pair"})
        shift = len(left) if right is not None else 0
        graph = nx.Graph((m["left"], m["right"] + shift) for m in out["matches"])
        clusters = sorted(sorted(c) for c in nx.connected_components(graph))
        doubts = all(i["threshold"] / 2 <= d["score"] < i["threshold"] for d in out["review"])
        return {
            "compared": len(pairs), "matches": matches, "clusters": whole(clusters, out["clusters"]),
            "review": None if doubts else "between half of the threshold and the threshold"
        }


UNITS = pint.UnitRegistry(system="SI")
UNITS.autoconvert_offset_to_baseunit = True


@oracle(114, "pint", 1e-9)
class UnitCalculate:
    """Units by the name of fend and that of pint. What the two define differently is left out.

    That are acres (pint: of survey feet), mmHg (fend: the torr) and BTU (fend: of the International Table, exact).
    """

    KINDS = [
        {
            "m": "m", "ft": "ft", "inches": "inch", "yard": "yard", "mile": "mile", "nmi": "nautical_mile", "km": "km", "light_year": "light_year",
            "parsec": "parsec", "au": "astronomical_unit", "µm": "micrometer", "angstrom": "angstrom"
        },
        {
            "kg": "kg", "lb": "pound", "oz": "ounce", "tonne": "tonne", "stone": "stone", "grain": "grain", "carat": "carat", "short_ton": "short_ton",
            "mg": "mg"
        },
        {"s": "s", "minute": "minute", "hour": "hour", "day": "day", "week": "week", "ms": "ms"},
        {"Pa": "Pa", "bar": "bar", "atm": "atm", "psi": "psi", "hPa": "hPa", "torr": "torr", "kPa": "kPa"},
        {"J": "J", "kWh": "kWh", "eV": "eV", "calorie": "calorie", "erg": "erg", "MJ": "MJ"},
        {"W": "W", "hp": "horsepower", "kW": "kW", "MW": "MW"},
        {"liter": "liter", "gallon": "gallon", "pint": "pint", "m^3": "m**3", "ft^3": "ft**3", "quart": "quart", "mL": "mL"},
        {"km/h": "km/hour", "mph": "mile/hour", "knot": "knot", "m/s": "m/s", "ft/s": "ft/s"},
        {"N": "N", "lbf": "lbf", "kN": "kN"},
        {"byte": "byte", "bit": "bit", "kB": "kB", "MiB": "MiB", "GB": "GB", "KiB": "KiB"},
        {"hectare": "hectare", "m^2": "m**2", "ft^2": "ft**2", "km^2": "km**2"},
        {"radian": "radian", "degree": "degree", "arcmin": "arcminute"},
    ]

    def sample(rng):
        kind = pick(rng, UnitCalculate.KINDS)
        a, b, c = (pick(rng, list(kind)) for _ in range(3))
        x, y = (pick(rng, [str(int(rng.integers(1, 200))), f"{rng.uniform(0.01, 50):.3f}", "1e3", "2.5e-3"]) for _ in range(2))
        shape = pick(
            rng,
            ["{x} {a}", "{x} {a}", "{x} {a} + {y} {b}", "{x} {a} - {y} {b}", "({x} {a}) * {y}", "({x} {a}) / {y}", "2 * ({x} {a} + {y} {b})", "temperature"])
        if shape == "temperature":
            scale = {"°C": "degC", "°F": "degF", "K": "kelvin"}
            a, c = pick(rng, list(scale)), pick(rng, list(scale))
            return {"expression": f"{x} {a}", "to": c, "digits": 15, "_theirs": [f"{x}", scale[a], scale[c]]}
        theirs = shape.format(x=x, y=y, a=f"* Q('{kind[a]}')", b=f"* Q('{kind[b]}')")
        return {"expression": shape.format(x=x, y=y, a=a, b=b), "to": c, "digits": 15, "_theirs": [theirs, None, kind[c]]}

    def expect(i, out):
        text, source, target = i["_theirs"]
        value = UNITS.Quantity(float(text), source) if source else eval(text, {"Q": UNITS.Quantity})
        return {"value": value.to(target).magnitude}

    accepts = lambda i: True


class Clock:
    """Times by the standard library: a local time in a gap is moved by what is jumped, one that occurs twice is the first."""

    def place(local, zone):
        at = local.replace(tzinfo=ZoneInfo(zone), fold=0)
        back = at.astimezone(UTC).astimezone(ZoneInfo(zone))
        return back

    def random(rng):
        start = datetime.datetime(1975, 1, 1) + datetime.timedelta(seconds=int(rng.integers(0, 60 * 365 * 86400)))
        if rng.random() < 0.4:
            year = int(rng.integers(1990, 2030))
            day = pick(rng, [
                datetime.date(year, 3, 31),
                datetime.date(year, 10, 31),
                datetime.date(year, 3, 14),
                datetime.date(year, 11, 7),
                datetime.date(year, 4, 7),
                datetime.date(year, 1, 31),
                datetime.date(2024, 2, 29)
            ])
            day -= datetime.timedelta(int(rng.integers(0, 8)))
            start = datetime.datetime(day.year, day.month, day.day, int(rng.integers(0, 4)), int(rng.integers(0, 60)))
        return start

    def duration(text):
        """Seconds of an ISO 8601 duration of hours, minutes and seconds."""
        sign, h, m, s = re.fullmatch(r"(-?)PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?", text).groups()
        return (int(h or 0) * 3600 + int(m or 0) * 60 + int(s or 0)) * (-1 if sign else 1)


@oracle(115, "zoneinfo, dateutil, numpy", 0)
class DateTimes:
    def sample(rng):
        operation, zone = pick(rng, ["parse", "convert", "add", "difference", "business-days", "business-add", "range"]), pick(rng, ZONES)
        value, holidays = Clock.random(rng), [(datetime.date(2026, 1, 1) + datetime.timedelta(int(rng.integers(0, 60)))).isoformat() for _ in range(5)]
        i = {"operation": operation, "value": value.isoformat(), "timezone": zone}
        if operation == "parse" and rng.random() < 0.5:
            i["value"] = pick(rng, [
                value.isoformat() + "Z",
                value.isoformat() + "+05:45",
                str(int(value.timestamp())),
                value.strftime("%a, %d %b %Y %H:%M:%S +0100"),
                value.date().isoformat()
            ])
        if operation == "convert":
            i["to_timezone"] = pick(rng, ZONES)
        if operation == "add":
            amount = {
                "years": int(rng.integers(-3, 4)), "months": int(rng.integers(-14, 15)), "weeks": int(rng.integers(-3, 4)), "days": int(rng.integers(-40, 41)),
                "hours": int(rng.integers(-50, 50)), "minutes": int(rng.integers(-90, 90))
            }
            sign = pick(rng, [1, -1])
            chosen = {k: abs(amount[k]) for k in rng.choice(list(amount), int(rng.integers(1, 4)), replace=False)}
            date = "".join(f"{chosen[k]}{k[0].upper()}" for k in ("years", "months", "weeks", "days") if chosen.get(k) is not None)
            clock = "".join(f"{chosen[k]}{k[0].upper()}" for k in ("hours", "minutes") if chosen.get(k) is not None)
            i["amount"] = ("-" if sign < 0 else "") + "P" + date + ("T" + clock if clock else "")
            i["_parts"] = {k: sign * v for k, v in chosen.items()}
        if operation == "difference":
            i["other"] = Clock.random(rng).isoformat()
            i["amount"] = "hours"
        if operation.startswith("business"):
            start = datetime.date(2026, 1, 1) + datetime.timedelta(int(rng.integers(0, 60)))
            i |= {"operation": "business-days", "value": start.isoformat(), "holidays": holidays}
            if operation == "business-days":
                i["other"] = (datetime.date(2026, 1, 1) + datetime.timedelta(int(rng.integers(0, 60)))).isoformat()
            else:
                i["amount"] = str(int(rng.integers(-12, 13)))
        if operation == "range":
            i["other"], i["amount"] = (value + datetime.timedelta(hours=int(rng.integers(0, 60)))).isoformat(), pick(rng, ["PT1H", "PT45M", "P1D"])
        return i

    def start(i, name="value"):
        text, zone = i[name], i["timezone"]
        if re.fullmatch(r"-?\d+", text):
            return datetime.datetime.fromtimestamp(int(text), UTC).astimezone(ZoneInfo(zone))
        if "," in text:
            return datetime.datetime.strptime(text, "%a, %d %b %Y %H:%M:%S %z").astimezone(ZoneInfo(zone))
        at = datetime.datetime.fromisoformat(text)
        return at.astimezone(ZoneInfo(zone)) if at.tzinfo else Clock.place(at, zone)

    def at(time):
        year, week, _ = time.isocalendar()
        zone = time.tzinfo.key
        # Ireland's standard time is that of summer in the database and not in its compiled form.
        dst = None if zone == "Europe/Dublin" or zone == "Africa/Casablanca" else bool(time.dst())
        seconds = int(time.utcoffset().total_seconds())
        whole_minutes = seconds % 60 == 0
        text = time.strftime("%Y-%m-%dT%H:%M:%S") + f"{'-' if seconds < 0 else '+'}{abs(seconds) // 3600:02}:{abs(seconds) // 60 % 60:02}[{zone}]"
        return {"result": text if whole_minutes else None, "iso_week": f"{year:04}-W{week:02}", "epoch": int(time.timestamp()), "dst": dst}

    def expect(i, out):
        operation, zone = i["operation"], i["timezone"]
        if operation == "business-days":
            days = np.array(i["holidays"], "datetime64[D]")
            if "other" in i:
                # NumPy counts backwards in the same way: the first day is left out and the last is in.
                return {
                    "business_days": int(np.busday_count(i["value"], i["other"], holidays=days)),
                    "result": str(int(np.busday_count(i["value"], i["other"], holidays=days)))
                }
            amount = int(i["amount"])
            end = np.busday_offset(i["value"], amount, roll="backward" if amount < 0 else "forward", holidays=days)
            return DateTimes.at(Clock.place(datetime.datetime.fromisoformat(str(end)), zone)) | {"business_days": amount}
        time = DateTimes.start(i)
        if operation == "parse":
            return DateTimes.at(time)
        if operation == "convert":
            return DateTimes.at(time.astimezone(ZoneInfo(i["to_timezone"])))
        if operation == "add":
            calendar = {k: v for k, v in i["_parts"].items() if k not in ("hours", "minutes")}
            local = time.replace(tzinfo=None) + relativedelta(**calendar)
            # A time that is moved within the same fold stays in it.
            moved = local.replace(tzinfo=ZoneInfo(zone), fold=time.fold if local == time.replace(tzinfo=None) else 0)
            passed = datetime.timedelta(hours=i["_parts"].get("hours", 0), minutes=i["_parts"].get("minutes", 0))
            return DateTimes.at((moved.astimezone(UTC) + passed).astimezone(ZoneInfo(zone)))
        other = DateTimes.start(i, "other")
        if operation == "difference":
            passed = other.timestamp() - time.timestamp()
            count = int(np.busday_count(time.date(), other.date()))
            return {
                "duration": None if Clock.duration(out["duration"]) == passed else f"{passed} s",
                "result": None if Clock.duration(out["result"]) == passed else f"{passed} s", "business_days": count
            }
        times, step = [], {"PT1H": 3600, "PT45M": 2700}.get(i["amount"])
        for k in range(100):
            if step:
                at = datetime.datetime.fromtimestamp(time.timestamp() + k * step, UTC).astimezone(ZoneInfo(zone))
            else:
                local = time.replace(tzinfo=None) + datetime.timedelta(k)
                at = time if k == 0 else Clock.place(local, zone)
            if at.timestamp() >= other.timestamp():
                break
            times.append(DateTimes.at(at)["result"])
        return {"result": None if any(t is None for t in times) else "\n".join(times)}

    def accepts(i):
        return True


@oracle(116, "pandas", 1e-12)
class Expectations:
    def sample(rng):
        n = lambda low, high: int(rng.integers(low, high))
        rows = [{
            "id": n(0, 12), "x": pick(rng, [n(0, 9), float(n(0, 9)), 2.5]), "s": pick(rng, ["NO", "SE", "DK", "é", ""]),
            "t": f"2026-01-{n(1, 29):02}T{n(0, 24):02}:00:00Z"
        } for _ in range(n(0, 30))]
        for row in rows:
            for key in list(row):
                if rng.random() < 0.1:
                    if rng.random() < 0.5:
                        row[key] = None
                    else:
                        del row[key]
        def rule():
            check, mostly = pick(rng, ["not-null", "unique", "range", "regex", "in-set", "type", "freshness", "row-count", "foreign-key"
                                      ]), {"mostly": pick(rng, [0, 0.5, 0.9, 1])} if rng.random() < 0.4 else {}
            column, args = {
                "not-null": lambda: (pick(rng, ["id", "x", "s", "t"]), {}), "unique": lambda: ("id", pick(rng, [{}, {"with": ["s"]}])), "range": lambda:
                ("x", {"min": n(0, 4), "max": n(4, 9), "exclusive_min": bool(n(0, 2)), "exclusive_max": bool(n(0, 2))}), "regex": lambda:
                ("s", {"pattern": pick(rng, ["^N", "^[A-Z]{2}$", "é", "^$"])}), "in-set": lambda: pick(rng, [("s", {"values": ["NO", "SE"]}),
                                                                                                           ("x", {"values": [1, 2.0, 2.5, 3]})]),
                "type": lambda: pick(rng, [("x", {"type": "integer"}), ("x", {"type": "number"}), ("s", {"type": "string"}),
                                          ("t", {"type": "datetime"})]), "freshness": lambda:
                ("t", {"reference": "2026-01-29T00:00:00Z", "max_age": pick(rng, ["P1D", "PT36H", "P14D"]), "of": pick(rng, ["all", "newest"])}),
                "row-count": lambda: ("", {"min": n(0, 15), "max": n(10, 30)}), "foreign-key": lambda:
                ("x", {"rows": [{"k": v} for v in (1, 2, 3.0)], "column": "k"})
            }[check]()
            return {"column": column, "check": check, "args": args | mostly, "severity": pick(rng, ["warn", "error"])}
        return {"rows": rows, "rules": [rule() for _ in range(n(1, 6))]}

    def failing(rule, frame):
        """Series of the checked rows: true where one fails."""
        args, column = rule["args"], frame[rule["column"]] if rule["column"] in frame else pd.Series([None] * len(frame), dtype=object)
        if rule["check"] == "not-null":
            return column.isna()
        values = column[column.notna()]
        numbers = lambda: pd.to_numeric(values)
        if rule["check"] == "unique":
            keys = frame.loc[values.index, [rule["column"], *args.get("with", [])]].astype(object)
            return keys.map(lambda v: "null" if pd.isna(v) else v).duplicated(keep=False)
        if rule["check"] == "range":
            low = numbers() > args["min"] if args["exclusive_min"] else numbers() >= args["min"]
            high = numbers() < args["max"] if args["exclusive_max"] else numbers() <= args["max"]
            return ~(low & high)
        if rule["check"] == "regex":
            return ~values.astype(str).str.contains(args["pattern"], regex=True)
        if rule["check"] in ("in-set", "foreign-key"):
            return ~values.isin(args["values"] if rule["check"] == "in-set" else [row["k"] for row in args["rows"]])
        if rule["check"] == "type":
            if args["type"] == "datetime":
                return pd.to_datetime(values, errors="coerce").isna()
            return values.map(lambda v: not {
                "integer": not isinstance(v, str) and float(v).is_integer(), "number": not isinstance(v, str), "string": isinstance(v, str)
            }[args["type"]])
        age = pd.Timestamp(args["reference"]) - pd.to_datetime(values, utc=True) > pd.Timedelta(args["max_age"])
        return age

    def expect(i, out):
        frame = pd.DataFrame(i["rows"], dtype=object).reindex(columns=["id", "x", "s", "t"])
        results = []
        for at, rule in enumerate(i["rules"]):
            if rule["check"] == "row-count":
                passed = rule["args"]["min"] <= len(frame) <= rule["args"]["max"]
                results.append({"rule": at, "passed": passed, "failed_rows": 0, "share": 0.0 if passed else 1.0})
                continue
            fails = Expectations.failing(rule, frame).astype(bool)
            if rule["check"] == "freshness" and rule["args"]["of"] == "newest":
                # The newest row decides; it is checked as one row.
                results.append({"rule": at, "passed": bool(len(fails) and not fails.all()) or None})
                continue
            count, checked = int(fails.sum()), len(fails)
            passed = 1 - (count / checked if checked else 0) >= rule["args"].get("mostly", 1) - 1e-9
            results.append({
                "rule": at, "passed": passed, "failed_rows": count, "share": count / len(frame) if len(frame) else 0.0,
                "examples": list(fails.index[fails][:20])
            })
        failed = any(rule["severity"] == "error" and not found["passed"] for rule, found in zip(i["rules"], out["results"]))
        return {"passed": not failed, "score": np.mean([1 - r["share"] for r in out["results"]]), "results": results}

    accepts = lambda i: True


@oracle(117, "scipy, numpy", 1e-9)
class Drift:
    def sample(rng):
        n, m = int(rng.integers(2, 80)), int(rng.integers(2, 80))
        shift, digits = float(rng.normal(0, 0.7)), int(rng.integers(0, 4))
        baseline, current = (np.round(rng.normal(at, 1, size), digits).tolist() for at, size in ((0, n), (shift, m)))
        for values in (baseline, current):
            for k in np.flatnonzero(rng.random(len(values)) < pick(rng, [0, 0, 0.2])):
                values[k] = None
        words = lambda size, letters: [pick(rng, letters) if rng.random() < 0.95 else None for _ in range(size)]
        return {
            "baseline": {"x": baseline, "w": words(n, ["a", "b", "é"])}, "current": {"x": current, "w": words(m, ["a", "b", "c", "é"])},
            "bins": int(rng.integers(2, 15))
        }

    def expect(i, out):
        def divergences(p, q):
            e = 1e-4
            a, b = np.where(p > 0, p, e), np.where(q > 0, q, e)
            return {"psi": ((b - a) * np.log(b / a)).sum(), "js": scipy.spatial.distance.jensenshannon(p, q, base=2) ** 2}
        def missing(values):
            return pd.isna(pd.Series(values, dtype=object)).mean()
        columns = []
        for name in ("w", "x"):
            before, now = ([v for v in i[side][name] if v is not None] for side in ("baseline", "current"))
            if not before or not now:
                columns.append({"name": name})
                continue
            if name == "x":
                edges = np.unique(np.quantile(before, np.arange(1, i["bins"]) / i["bins"]))
                share = lambda v: np.bincount(np.searchsorted(edges, v, side="right"), minlength=len(edges) + 1) / len(v)
                ks = scipy.stats.ks_2samp(before, now, method="exact")
                columns.append({"name": name, "kind": "numeric", "ks": ks.statistic, "ks_p": ks.pvalue, **divergences(share(before), share(now))})
            else:
                names = sorted(set(before) | set(now))
                share = lambda v: np.array([v.count(n) for n in names]) / len(v)
                columns.append({
                    "name": name, "kind": "categorical", "new_values": whole(sorted(set(now) - set(before)), out["columns"][0]["new_values"]),
                    **divergences(share(before), share(now))
                })
            columns[-1]["missing_change"] = missing(i["current"][name]) - missing(i["baseline"][name])
            psi = columns[-1]["psi"]
            columns[-1]["status"] = "stable" if psi < 0.1 else "moderate" if psi < 0.25 else "major"
        return {"columns": columns, "drifted_share": np.mean([c["status"] != "stable" for c in out["columns"]])}

    accepts = lambda i: True


@oracle(118, "pandas", 1e-12)
class Resample:
    RULES = {"PT15M": "15min", "PT1H": "1h", "PT6H": "6h", "PT7M": "7min", "P1D": "1D", "P1M": "MS", "P1W": "W-MON"}

    def sample(rng):
        interval, zone = pick(rng, list(Resample.RULES)), pick(rng, ZONES)
        span = {"PT15M": 9e3, "PT7M": 5e3, "PT1H": 6e4, "PT6H": 4e5, "P1D": 2e6, "P1W": 1e7, "P1M": 4e7}[interval]
        start = Clock.random(rng).replace(tzinfo=UTC)
        points = lambda: [{
            "time": (start + datetime.timedelta(seconds=round(float(s)))).isoformat().replace("+00:00", "Z"), "value": round(float(rng.normal(5, 3)), 2)
        } for s in rng.uniform(0, span, int(rng.integers(2, 25)))]
        return {
            "series": {name: points()
                       for name in ["a", "b"][:int(rng.integers(1, 3))]}, "interval": interval, "timezone": zone,
            "aggregate": pick(rng, ["mean", "sum", "min", "max", "last", "count"]), "fill": pick(rng, ["none", "linear", "previous", "zero"]),
            "max_gap": int(rng.integers(0, 5))
        }

    def expect(i, out):
        zone, rule = ZoneInfo(i["timezone"]), Resample.RULES[i["interval"]]
        series = {}
        for name, points in i["series"].items():
            index = pd.DatetimeIndex([pd.Timestamp(p["time"]) for p in points]).tz_convert(zone)
            series[name] = pd.Series([p["value"] for p in points], index=index).sort_index(kind="stable")
        times = sorted(t for s in series.values() for t in s.index)
        first, last = times[0], times[-1]
        if "min" in rule or rule.endswith("h"):
            # Elapsed time from the first local midnight; pandas' origin start_day is the same where midnight exists.
            midnight = Clock.place(first.to_pydatetime().replace(tzinfo=None, hour=0, minute=0, second=0, microsecond=0), i["timezone"])
            step = pd.Timedelta(rule).total_seconds()
            low = (first.timestamp() - midnight.timestamp()) // step
            edges = [midnight.timestamp() + step * k for k in range(int(low), int((last.timestamp() - midnight.timestamp()) // step) + 2)]
            edges = pd.to_datetime(edges, unit="s", utc=True).tz_convert(zone)
        else:
            local = pd.date_range((first.tz_localize(None).normalize() - pd.Timedelta(days=40)), last.tz_localize(None) + pd.Timedelta(days=40), freq=rule)
            edges = pd.DatetimeIndex([pd.Timestamp(Clock.place(t.to_pydatetime(), i["timezone"])) for t in local])
            edges = edges[(np.searchsorted(edges, first, side="right") - 1):(np.searchsorted(edges, last, side="right") + 1)]
        columns, gaps, complete = {}, [], {}
        for name, s in series.items():
            cut = pd.cut(s.index.tz_convert("UTC"), edges.tz_convert("UTC"), right=False)
            grouped = getattr(s.groupby(cut, observed=False), i["aggregate"])()
            there = s.groupby(cut, observed=False).count().to_numpy() > 0
            column = pd.Series(np.where(there, grouped.to_numpy(), 0.0 if i["aggregate"] == "count" else np.nan))
            complete[name] = there.mean()
            runs = pd.Series(~there).groupby((pd.Series(there) != pd.Series(there).shift()).cumsum())
            for _, run in runs:
                if run.iloc[0]:
                    start, end = run.index[0], run.index[-1] + 1
                    gaps.append((name, edges[start], edges[end]))
                    if len(run) <= i["max_gap"] and i["aggregate"] != "count":
                        filled = {"none": column, "zero": column.fillna(0.0), "previous": column.ffill(),
                                  "linear": column.interpolate(limit_area="inside")}[i["fill"]]
                        column = column.where(~column.index.isin(run.index), filled)
            columns[name] = column
        frame = pd.DataFrame(columns)
        kept = frame.notna().all(axis=1)
        stamp = lambda text: pd.Timestamp(text).timestamp()
        mine = [stamp(t) for t in out["times"]]
        expected = [t.timestamp() for t, k in zip(edges, kept) if k]
        found = [(g["series"], stamp(g["start"]), stamp(g["end"])) for g in out["gaps"]]
        return {
            "times": None if mine == expected else f"{expected}", "values": {n: whole(frame[n][kept], out["values"][n])
                                                                             for n in frame}, "completeness": complete,
            "gaps": None if found == [(n, a.timestamp(), b.timestamp()) for n, a, b in gaps] else f"{gaps}"
        }

    accepts = lambda i: True


@oracle(119, "pycanon", 1e-9, 100)
class Anonymise:
    def sample(rng):
        rows = [{
            "age": int(rng.integers(18, 80)), "zip": pick(rng, ["0150", "0151", "5003", "7010"]), "sex": pick(rng, ["f", "m"]),
            "ill": pick(rng, ["flu", "gout", "asthma"]), "pay": int(rng.integers(1, 6)) * 10, "name": "N"
        } for _ in range(int(rng.integers(6, 60)))]
        tree = {"0150": ["Oslo", "East"], "0151": ["Oslo", "East"], "5003": ["Bergen", "West"], "7010": ["Trondheim", "Mid"]}
        return {
            "rows": rows, "quasi_identifiers": ["age", "zip", "sex"], "sensitive": [pick(rng, ["ill", "pay"])], "direct_identifiers": ["name"],
            "k": int(rng.integers(2, 7)), "hierarchies": pick(rng, [{}, {"zip": tree}]), "suppression_limit": pick(rng, [0, 0.05, 0.2])
        }

    def expect(i, out):
        if not out["rows"]:
            return {"suppressed": len(i["rows"])}
        frame, quasi, sensitive = pd.DataFrame(out["rows"]), i["quasi_identifiers"], i["sensitive"]
        # The package takes a column for categories by its type.
        classes = frame.copy()
        for name in quasi:
            classes[name] = classes[name].astype(str)
        k, whole_table = pycanon.anonymity.k_anonymity(classes, quasi), len(out["rows"]) + out["suppressed"] == len(i["rows"])
        good = k >= i["k"] and whole_table and "name" not in frame and out["suppressed"] <= math.floor(i["suppression_limit"] * len(i["rows"]) + 1e-9)
        return {
            "k": k if good else f"at least {i['k']}", "l_diversity": pycanon.anonymity.l_diversity(classes, quasi, sensitive),
            "t_closeness": pycanon.anonymity.t_closeness(classes, quasi, sensitive), "prosecutor_risk": 1 / k
        }

    accepts = lambda i: True


@oracle(120, "phonenumbers, email-validator", 0, 200)
class Contacts:
    EMAILS = [
        "a@b.example", "A.B@Example.ORG", "a..b@c.org", ".a@b.org", "a@b", "a@b.c", '"a b"@c.org', "a@[1.2.3.4]", "a@[IPv6:::1]", "user+tag@sub.example.org",
        "é@exämple.org", "a@-b.org", "a@b-.org", "a@b..org", "x" * 64 + "@b.org", "x" * 65 + "@b.org", "a@" + "b" * 63 + ".org", "a@" + "b" * 64 + ".org",
        "a b@c.org", "a@b c.org", "@b.org", "a@", "a@b@c.org", "a@xn--bcher-kva.example", "a'b@c.org", "a@1.2", "a@b.1a", "mailto:a@b.org", "a@b_c.org",
        "(c)a@b.org", "a@B.Org.", "\u200ba@b.org", "a\u0301@b.org"
    ]
    TYPES = {
        0: "fixed_line", 1: "mobile", 2: "fixed_line_or_mobile", 3: "toll_free", 4: "premium_rate", 5: "shared_cost", 6: "voip", 7: "personal_number",
        8: "pager", 9: "uan", 10: "voicemail", 99: "unknown"
    }

    def phone(rng):
        region = pick(rng, sorted(phonenumbers.SUPPORTED_REGIONS))
        kind = pick(rng, [0, 1, 2, 3, 4, 6])
        number = phonenumbers.example_number_for_type(region, kind) or phonenumbers.example_number(region)
        if rng.random() < 0.3:
            number.national_number += int(rng.integers(1, 9000))
        form = pick(rng, [
            phonenumbers.PhoneNumberFormat.INTERNATIONAL, phonenumbers.PhoneNumberFormat.E164, phonenumbers.PhoneNumberFormat.NATIONAL,
            phonenumbers.PhoneNumberFormat.RFC3966
        ])
        return phonenumbers.format_number(number, form), region

    def sample(rng):
        text, region = Contacts.phone(rng)
        while re.sub(r"\D", "", text).startswith("7809"):
            # Given out since the metadata of the crate.
            text, region = Contacts.phone(rng)
        return {"contacts": [{"id": "1", "phone": text, "email": pick(rng, Contacts.EMAILS)}], "default_country": region}

    def expect(i, out):
        contact, expected = i["contacts"][0], {}
        try:
            number = phonenumbers.parse(contact["phone"], i["default_country"])
            valid = phonenumbers.is_valid_number(number)
            expected |= {"phone_valid": valid}
            if valid:
                region = phonenumbers.region_code_for_number(number)
                expected |= {"e164": phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164), "country": "" if region == "001" else region,
                             "phone_type": Contacts.TYPES[phonenumbers.number_type(number)]}
        except phonenumbers.NumberParseException:
            expected |= {"phone_valid": False}
        try:
            address = contact["email"].removeprefix("mailto:")
            found = email_validator.validate_email(address,
                                                   check_deliverability=False,
                                                   allow_quoted_local=True,
                                                   allow_domain_literal=True,
                                                   test_environment=True,
                                                   strict=True)
            # The engine keeps quotes that are not needed, and punycode as it is written.
            same = found.normalized if '"' not in address and "xn--" not in address and "IPv6" not in address else None
            expected |= {"email_valid": True, "email": same}
        except email_validator.EmailNotValidError:
            expected |= {"email_valid": False}
        return {"contacts": [expected]}

    accepts = lambda i: True


@oracle(121, "pynmea2, pyais, pycayennelpp", 1e-9)
class Telemetry:
    """The library of the engine refuses DPT with a negative offset, that of a keel: none is sampled."""

    def nmea(rng):
        n, f = lambda a, b: int(rng.integers(a, b)), lambda a, b, d: f"{rng.uniform(a, b):.{d}f}"
        clock, day = f"{n(0, 24):02}{n(0, 60):02}{n(0, 60):02}.{n(0, 100):02}", f"{n(1, 29):02}{n(1, 13):02}{n(0, 26):02}"
        lat, lon = f"{n(0, 90):02}{f(0, 59, 4).zfill(7)},{pick(rng, 'NS')}", f"{n(0, 180):03}{f(0, 59, 4).zfill(7)},{pick(rng, 'EW')}"
        sentence = pick(rng, [
            lambda: pynmea2.GGA("GP", "GGA", (f"{clock},{lat},{lon},{n(1, 3)},{n(0, 13):02},{f(0, 5, 1)},{f(-50, 4000, 1)},M,{f(-50, 50, 1)},M,,").split(",")),
            lambda: pynmea2.RMC("GN", "RMC", (f"{clock},A,{lat},{lon},{f(0, 60, 1)},{f(0, 359, 1)},{day},{f(0, 20, 1)},{pick(rng, 'EW')}").split(",")),
            lambda: pynmea2.GLL("GP", "GLL", (f"{lat},{lon},{clock},A").split(",")),
            lambda: pynmea2.VTG("GP", "VTG", (f"{f(0, 359, 1)},T,{f(0, 359, 1)},M,{f(0, 60, 1)},N,{f(0, 90, 1)},K").split(",")),
            lambda: pynmea2.HDT("HE", "HDT", f"{f(0, 359, 1)},T".split(",")), lambda: pynmea2.MTW("YX", "MTW", f"{f(-2, 35, 1)},C".split(",")),
            lambda: pynmea2.DPT("SD", "DPT", f"{f(0, 300, 1)},{f(0, 3, 1)},".split(","))
        ])()
        return {"payload": str(sentence), "format": "nmea"}

    def ais(rng):
        n = lambda a, b: int(rng.integers(a, b))
        kind = pick(rng, [1, 2, 3, 5, 18])
        data = {
            "type": kind, "mmsi": str(n(100000000, 799999999)), "lat": round(float(rng.uniform(-90, 90)),
                                                                             6), "lon": round(float(rng.uniform(-180, 180)),
                                                                                              6), "speed": n(0, 1023) / 10, "course": n(0, 3600) / 10,
            "heading": n(0, 360), "second": n(0, 60), "status": n(0, 15), "turn": float(pick(rng, [0, 10, -10, 90, -90, 300])), "accuracy": n(0, 2),
            "imo": n(1, 9999999), "callsign": "LA" + pick(rng, ["1B", "XY Z", ""]), "shipname": pick(rng, ["EVER GIVEN", "A", "MS 'X' 100%", "WITH[BRACKET]"]),
            "ship_type": n(0, 100), "to_bow": n(0, 512), "to_stern": n(0, 512), "to_port": n(0, 64), "to_starboard": n(0, 64), "month": n(1, 13),
            "day": n(1, 29), "hour": n(0, 24), "minute": n(0, 60), "draught": n(0, 256) / 10, "destination": pick(rng, ["OSLO", "NO BGO", "A/B"])
        }
        return {"payload": "\n".join(pyais.encode_dict(data, talker_id="AI", sentence_type="VDM", radio_channel="A")), "format": "ais"}

    def lpp(rng):
        n, frame = lambda a, b: int(rng.integers(a, b)), LppFrame()
        for channel in range(n(1, 6)):
            pick(rng, [
                lambda: frame.add_digital_input(channel, n(0, 256)), lambda: frame.add_analog_input(channel,
                                                                                                    n(-3000, 3000) / 100),
                lambda: frame.add_temperature(channel,
                                              n(-400, 1000) / 10), lambda: frame.add_humidity(channel,
                                                                                              n(0, 200) / 2),
                lambda: frame.add_accelerometer(channel,
                                                n(-2000, 2000) / 1000, 0.5, -1.25), lambda: frame.add_barometer(channel,
                                                                                                                n(9000, 11000) / 10),
                lambda: frame.add_gyrometer(channel, 1.25,
                                            n(-900, 900) / 100, 0), lambda: frame.add_gps(channel,
                                                                                          n(-900000, 900000) / 1e4,
                                                                                          n(-1800000, 1800000) / 1e4,
                                                                                          n(-1000, 100000) / 100),
                lambda: frame.add_luminosity(channel, n(0, 65536)), lambda: frame.add_presence(channel, n(0, 2))
            ])()
        return {"payload": bytes(frame).hex(), "format": "cayenne-lpp", "encoding": "hex"}

    def sample(rng):
        return pick(rng, [Telemetry.nmea, Telemetry.ais, Telemetry.lpp])(rng)

    def fields(i):
        if i["format"] == "nmea":
            m = pynmea2.parse(i["payload"])
            g = lambda name: float(getattr(m, name)) if getattr(m, name, None) not in (None, "") else None
            if isinstance(m, pynmea2.GGA):
                return {
                    "latitude": m.latitude, "longitude": m.longitude, "altitude": g("altitude"), "hdop": g("horizontal_dil"), "satellites": g("num_sats"),
                    "geoid_separation": g("geo_sep")
                }
            if isinstance(m, pynmea2.RMC):
                return {
                    "latitude": m.latitude, "longitude": m.longitude, "speed": g("spd_over_grnd"), "course": g("true_course"),
                    "magnetic_variation": g("mag_variation") * (-1 if m.mag_var_dir == "W" else 1), "time": m.datetime.timestamp()
                }
            if isinstance(m, pynmea2.GLL):
                return {"latitude": m.latitude, "longitude": m.longitude, "valid": True}
            return {
                "VTG": {"course": g("true_track"), "speed": g("spd_over_grnd_kts")}, "HDT": {"heading": g("heading")},
                "MTW": {"water_temperature": g("temperature")}, "DPT": {"water_depth": g("depth"), "transducer_offset": g("offset")}
            }[m.sentence_type]
        if i["format"] == "ais":
            m = pyais.decode(*i["payload"].split("\n")).asdict()
            names = {"msg_type": "message_type", "callsign": "call_sign", "shipname": "ship_name"}
            kept = ["msg_type", "mmsi", "imo", "callsign", "shipname", "destination", "ship_type", "to_bow", "to_stern", "to_port", "to_starboard", "draught"]
            found = {names.get(k, k): m[k] for k in kept if k in m}
            if m["msg_type"] != 5:
                found |= {
                    "latitude": m["lat"], "longitude": m["lon"], "speed": m["speed"] if m["speed"] < 102.3 else None, "course": m["course"],
                    "heading": m["heading"], "second": m["second"], "accurate": bool(m["accuracy"])
                }
            else:
                found["eta"] = f"{m['month']:02}-{m['day']:02}T{m['hour']:02}:{m['minute']:02}Z"
            return found
        found = {}
        for item in LppFrame().from_bytes(bytes.fromhex(i["payload"])).data:
            name = {
                0: "digital_in", 2: "analog_in", 101: "illuminance", 102: "presence", 103: "temperature", 104: "humidity", 113: "accelerometer",
                115: "barometer", 134: "gyrometer", 136: "gps"
            }[int(item.type)]
            keys = {"gps": ["lat", "lon", "alt"]}.get(name, ["x", "y", "z"])
            found[f"{name}_{item.channel}"] = item.value[0] if len(item.value) == 1 else dict(zip(keys, item.value))
        return found

    def expect(i, out):
        fields = Telemetry.fields(i)
        readings = []
        for reading in out["readings"]:
            value = fields.get(reading["name"])
            if isinstance(value, float) and i["format"] == "ais" and reading["name"] in ("latitude", "longitude"):
                # pyais rounds positions to six decimals.
                value = reading["value"] if abs(value - reading["value"]) < 6e-7 else value
            readings.append({"value": value})
        lost = {name for name, value in fields.items() if value is not None} - {r["name"] for r in out["readings"]} - {"time"}
        if "time" in fields and out["readings"]:
            seconds = datetime.datetime.fromisoformat(out["readings"][0]["time"].replace("Z", "+00:00")).timestamp()
            lost |= set() if abs(seconds - fields["time"]) < 1e-3 else {"time"}
        return {"readings": readings, "errors": whole([], out["errors"]), "format": i["format"] if not lost else f"without {lost}"}

    accepts = lambda i: True


if __name__ == "__main__":
    main("data", ORACLES)
