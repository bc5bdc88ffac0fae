"""Oracles of the family llm (q156 to q166): `python engines/oracles/llm.py [q156 …]`.

Encodings are tiktoken's. Its files are those of the crate bpe-openai, where cargo keeps it (`CARGO_HOME`): tiktoken checks
that they are the published ones, and else fetches them. Without an oracle are q159 (it calls a model) and q165 (names of
CLDR; the chrF2 of its way back is compared with sacreBLEU in its tests).
"""

import collections
import glob
import gzip
import hashlib
import json
import math
import os
import pathlib
import re
import tempfile
import tomllib
import warnings

import bm25s
import json_repair
import jsonschema
import mmh3
import networkx
import numpy as np
import Stemmer
import tiktoken
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.naive_bayes import ComplementNB

from jsonlines import claim, main, pick
from wording import ENGLISH, HERE, STOP, fold, odd, sentences_of, words

warnings.filterwarnings("ignore")
ORACLES = {}
STEMMER = Stemmer.Stemmer("english")
# Enough of the commonest words that each sentence is taken for English, whose stems are compared.
PROSE = ENGLISH + ["the", "and", "was", "of", "in"] * 16


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        return cls

    return register


def encodings():
    folder = tempfile.mkdtemp()
    home = os.environ.get("CARGO_HOME", os.path.expanduser("~/.cargo"))
    for path in glob.glob(f"{home}/registry/src/*/bpe-openai-*/data/*.tiktoken.gz"):
        address = "https://openaipublic.blob.core.windows.net/encodings/" + os.path.basename(path)[:-3]
        pathlib.Path(folder, hashlib.sha1(address.encode()).hexdigest()).write_bytes(gzip.open(path).read())
    os.environ["TIKTOKEN_CACHE_DIR"] = folder
    return {name: tiktoken.get_encoding(name) for name in ("o200k_base", "cl100k_base")}


ENCODINGS = encodings()


def tokens(text, name="o200k_base"):
    return len(ENCODINGS[name].encode(text, disallowed_special=()))


def feature_sum(text, dimensions=512):
    """Signed feature hashing of words and of their 3- to 5-grams, as the record of q156 describes it, with mmh3."""
    out = np.zeros(dimensions)
    for word, count in collections.Counter(fold(word) for word in words(text)).items():
        weight = (1 + math.log(count)) * (0.1 if word in STOP["en"] else 1)
        padded = "<" + word[:40] + ">"
        grams = [padded[at : at + n] for n in (3, 4, 5) for at in range(len(padded) - n + 1)]
        for feature, value in [(word, weight)] + [(gram, weight * 0.3 / math.sqrt(len(grams))) for gram in grams]:
            number = mmh3.hash(feature, 0x5EED, signed=False)
            out[(number & 0x7FFFFFFF) % dimensions] += -value if number >> 31 else value
    return out


def unit(vector):
    length = np.linalg.norm(vector)
    return vector / length if length else vector


def cosines(texts):
    vectors = np.array([unit(feature_sum(text)) for text in texts]).reshape(len(texts), 512)
    return np.clip(vectors @ vectors.T, -1, 1)


@oracle(156, "mmh3, numpy", 1e-9)
class Embed:
    def sample(rng):
        i = {"texts": [odd(rng, 0, 25) for _ in range(int(rng.integers(1, 5)))], "normalise": bool(rng.random() < 0.7)}
        return dict(i, dimensions=int(rng.integers(32, 700))) if rng.random() < 0.5 else i

    def expect(i, out):
        size = i.get("dimensions", 512)
        sums = [feature_sum(text, size) for text in i["texts"]]
        units = np.array([unit(vector) for vector in sums])
        return {"dimensions": size, "model": "embedded", "vectors": units if i["normalise"] else sums, "similarity": np.clip(units @ units.T, -1, 1)}


@oracle(157, "bm25s, mmh3", 1e-6)
class Retrieve:
    """BM25 in single precision by bm25s, its method "lucene", over Snowball's stems of English sentences; cosines and the
    fusion of ranks as q156 and the paper on RRF have them."""

    def sample(rng):
        documents = [{"id": str(at), "text": " ".join(sentences_of(rng, 1, 4, PROSE, least=6))} for at in range(int(rng.integers(1, 14)))]
        query = " ".join(str(word) for word in rng.choice([word for word in ENGLISH if word not in STOP["en"]], int(rng.integers(1, 6)), replace=False))
        return {
            "query": query,
            "documents": documents,
            "mode": pick(rng, ["lexical", "vector", "hybrid"]),
            "top": int(rng.integers(1, 20)),
            "k1": float(rng.uniform(0, 3)),
            "b": float(rng.uniform(0, 1)),
        }

    def expect(i, out):
        texts = [document["text"] for document in i["documents"]]
        stems = [[STEMMER.stemWord(word.lower()) for word in words(text)] for text in texts]
        wanted = list(dict.fromkeys(STEMMER.stemWord(word) for word in words(i["query"])))
        vocabulary = {word: at for at, word in enumerate(sorted({word for text in stems for word in text}))}
        index = bm25s.BM25(method="lucene", k1=i["k1"], b=i["b"], dtype="float64")
        index.index(([[vocabulary[word] for word in text] for text in stems], vocabulary), show_progress=False)
        known = [vocabulary[word] for word in wanted if word in vocabulary]
        lexical = [float(score) for score in (index.get_scores(known) if known else [0.0] * len(texts))]
        near = [0.0] * len(texts) if i["mode"] == "lexical" else [float(value) for value in cosines([i["query"], *texts])[0, 1:]]

        def ranks(values):
            return [1 + sum(other > value + 1e-12 for other in values) if value > 0 else None for value in values]

        fused = [sum(1 / (60 + rank) for rank in pair if rank) for pair in zip(ranks([round(s, 6) for s in lexical]), ranks(near))]
        scores = {"lexical": lexical, "vector": [max(value, 0) for value in near], "hybrid": fused}[i["mode"]]
        order = sorted((at for at, score in enumerate(scores) if score > 0), key=lambda at: (-round(scores[at], 7), at))
        return {
            "total": len(order),
            **claim(len(out["hits"]) == min(i["top"], len(order)), "number of hits"),
            "hits": [{"score": scores[at], "bm25": lexical[at], "cosine": near[at], "rank": rank + 1} for rank, at in enumerate(order[: i["top"]])],
            **claim(all(abs(scores[int(hit["id"])] - hit["score"]) < 1e-5 for hit in out["hits"]), "scores of ids"),
        }


@oracle(158, "tiktoken, mmh3, numpy", 1e-9)
class Rerank:
    """The choice by maximal marginal relevance, novelty and tokens. Relevance is a mixture of ours: it is taken from the
    output, once more with all candidates and diversity 0."""

    def sample(rng):
        texts = [" ".join(sentences_of(rng, 1, 3)) if rng.random() < 0.7 else odd(rng, 1, 12) for _ in range(int(rng.integers(1, 12)))]
        i = {
            "query": " ".join(pick(rng, ENGLISH) for _ in range(4)),
            "candidates": [{"id": str(at), "text": text} for at, text in enumerate(texts)],
            "top": int(rng.integers(1, 12)),
            "diversity": float(rng.choice([0, 0.3, 0.7, 1])),
        }
        return dict(i, token_budget=int(rng.integers(5, 200))) if rng.random() < 0.5 else i

    def expect(i, out):
        texts = [candidate["text"] for candidate in i["candidates"]]
        likeness, sizes, d = cosines(texts), [tokens(text) for text in texts], i["diversity"]
        found = {int(hit["id"]): hit for hit in out["ranked"]}
        chosen, used, good, nearest = [], 0, True, np.zeros(len(texts))
        for hit in out["ranked"]:
            at = int(hit["id"])
            good &= abs(hit["score"] - ((1 - d) * hit["relevance"] - d * nearest[at])) < 1e-9 and abs(hit["novelty"] - 1 + nearest[at]) < 1e-9
            # Of those that are chosen later, and fitted now, none was better.
            for other, that in found.items():
                if other not in chosen and other != at and used + sizes[other] <= i.get("token_budget", math.inf):
                    good &= (1 - d) * that["relevance"] - d * nearest[other] <= hit["score"] + 1e-9
            chosen.append(at)
            used += sizes[at]
            nearest = np.maximum(nearest, likeness[at])
        dropped = [at for at in range(len(texts)) if at not in found]
        full = len(found) == i["top"] or all(used + sizes[at] > i.get("token_budget", math.inf) for at in dropped)
        return {
            "tokens": used,
            "ranked": [{"tokens": sizes[at]} for at in chosen],
            "dropped": [str(at) for at in dropped],
            **claim(good, "greedy choice and novelty"),
            **claim(full and used <= i.get("token_budget", math.inf), "budget and number"),
        }


@oracle(160, "scikit-learn, mmh3", 1e-6)
class Classify:
    """Probabilities of ComplementNB (alpha 1, norm False), or of prototypes by cosines over 0.1 where a label has fewer than
    two examples."""

    def sample(rng):
        themes = [[pick(rng, ENGLISH) for _ in range(8)] for _ in range(int(rng.integers(2, 5)))]
        least = pick(rng, [0, 2])

        def text(theme):
            return " ".join(pick(rng, theme if rng.random() < 0.7 else ENGLISH) for _ in range(int(rng.integers(1, 12))))

        labels = [{"id": f"l{at}", "examples": [text(theme) for _ in range(int(rng.integers(least, 5)))]} for at, theme in enumerate(themes)]
        for label in labels:
            if rng.random() < 0.3:
                label["description"] = text(pick(rng, themes))
        return {
            "labels": labels,
            "texts": [text(pick(rng, themes)) if rng.random() < 0.9 else odd(rng, 0, 6) for _ in range(4)],
            "multi_label": bool(rng.random() < 0.3),
        }

    def expect(i, out):
        content = lambda text: [word for word in map(fold, words(text)) if word not in STOP["en"]]
        ids = [label["id"] for label in i["labels"]]
        if all(len(label["examples"]) >= 2 for label in i["labels"]):
            method, counter = "complement_naive_bayes", CountVectorizer(analyzer=content)
            rows = [(at, example) for at, label in enumerate(i["labels"]) for example in label["examples"]]
            try:
                matrix = counter.fit_transform([example for _, example in rows])
            except ValueError:
                return claim(False, "no words")
            model = ComplementNB(alpha=1.0, norm=False).fit(matrix, [at for at, _ in rows])
            logits = np.asarray(counter.transform(i["texts"]) @ model.feature_log_prob_.T)
            if not i["multi_label"]:
                shares = model.predict_proba(counter.transform(i["texts"]))
        else:
            method, prototypes = "prototypes", []
            for label in i["labels"]:
                said = ([label["description"]] if "description" in label else []) + label["examples"]
                prototypes.append(unit(sum(unit(feature_sum(text)) for text in said)) if said else unit(feature_sum(label["id"])))
            logits = np.array([unit(feature_sum(text)) for text in i["texts"]]) @ np.array(prototypes).T / 0.1
            shares = np.exp(logits - logits.max(1, keepdims=True))
            shares /= shares.sum(1, keepdims=True)
        if i["multi_label"]:
            others = (logits.sum(1, keepdims=True) - logits) / max(1, len(ids) - 1)
            shares = 1 / (1 + np.exp(others - logits))
        return {
            "method": method,
            "results": [{"scores": dict(zip(ids, row))} for row in shares],
            **claim(all(logits[at][ids.index(result["label"])] >= logits[at].max() - 1e-9 for at, result in enumerate(out["results"])), "best label"),
        }


@oracle(161, "networkx, scikit-learn", 1e-6)
class Summarise:
    """LexRank by networkx's PageRank over scikit-learn's tf-idf of Snowball's stems, with the record's weights of position and
    length; the choice by maximal marginal relevance. Sentences are plain ones of English words."""

    def sample(rng):
        i = {
            "texts": [" ".join(sentences_of(rng, 1, 9, PROSE, least=5)) for _ in range(int(rng.integers(1, 4)))],
            "style": "paragraph",
            "sentences": int(rng.choice([2, 4, 50])),
        }
        return dict(i, query=" ".join(pick(rng, ENGLISH) for _ in range(5))) if rng.random() < 0.4 else i

    def expect(i, out):
        stems = lambda text: [STEMMER.stemWord(word.lower()) for word in words(text) if word.lower() not in STOP["en"]]
        rows = [(document, index, sentence) for document, text in enumerate(i["texts"]) for index, sentence in enumerate(re.split(r"(?<=[.!?]) ", text))]
        said = [stems(sentence) for *_, sentence in rows]
        query = stems(i.get("query", ""))
        weigh = TfidfVectorizer(analyzer=lambda text: text, smooth_idf=False)
        matrix = weigh.fit_transform(said + [query] if query else said).toarray()
        begin = np.full(len(rows), 1 / len(rows))
        if query:
            alike = matrix[:-1] @ matrix[-1]
            matrix = matrix[:-1]
            begin = alike / alike.sum() if alike.sum() > 0 else begin
        likeness = matrix @ matrix.T
        graph = networkx.from_numpy_array(((likeness > 0.1) | np.eye(len(rows), dtype=bool)).astype(int))
        ranked = networkx.pagerank(
            graph, alpha=0.85, personalization=dict(enumerate(begin)), tol=1e-13, max_iter=1000, weight=None, dangling=dict(enumerate(begin))
        )
        most = max(ranked.values())
        scores = [ranked[at] / most * (1 + 0.2 / (1 + index)) / 1.2 * min(len(said[at]) / 5, 1) for at, (_, index, _) in enumerate(rows)]
        chosen, repeated = [], np.zeros(len(rows))
        while len(chosen) < i["sentences"]:
            left = [at for at, score in enumerate(scores) if score > 1e-9 and at not in chosen]
            if not left:
                break
            best = max(left, key=lambda at: (round(0.7 * scores[at] - 0.3 * repeated[at], 8), -at))
            chosen.append(best)
            repeated = np.maximum(repeated, likeness[best])
        chosen.sort()
        letters = lambda text: len(re.sub(r"\s", "", text))
        return {
            "method": "lexrank",
            "sentences": [{"document": rows[at][0], "index": rows[at][1], "text": rows[at][2], "score": scores[at]} for at in chosen],
            "summary": " ".join(rows[at][2] for at in chosen),
            **claim(len(out["sentences"]) == len(chosen), "number of sentences"),
            "compression": sum(letters(rows[at][2]) for at in chosen) / sum(letters(text) for text in i["texts"]),
        }


@oracle(162, "jsonschema", 0)
class Extract:
    """Forms whose lines give each field or do not: the record has what was planted, `missing` what the schema requires and
    no line gives, and jsonschema accepts the record but for that."""

    FIELDS = {
        "name": ({"type": "string"}, ["Ann Lee", "Łódź Ölmann"]),
        "people": ({"type": "integer"}, [1, 12, 4500]),
        "level_m": ({"type": "number"}, [2.5, 0.25, 7]),
        "evacuated": ({"type": "boolean"}, [True, False]),
        "severity": ({"enum": ["low", "medium", "high"]}, ["low", "high"]),
        "day": ({"type": "string", "format": "date"}, ["2026-05-02", "2025-12-31"]),
        "email": ({"type": "string", "format": "email"}, ["a.b@example.org"]),
        "supplies": ({"type": "array", "items": {"type": "string"}}, [["rice", "tents"], ["water"]]),
    }

    def sample(rng):
        names = [str(name) for name in rng.choice(list(Extract.FIELDS), int(rng.integers(1, 8)), replace=False)]
        given = {name: pick(rng, Extract.FIELDS[name][1]) for name in names if rng.random() < 0.8}
        Extract.given = given

        def shown(value):
            return {True: "yes", False: "no"}[value] if isinstance(value, bool) else ", ".join(value) if isinstance(value, list) else str(value)

        label = lambda name: pick(rng, [name.replace("_", " "), name.replace("_", " ").capitalize(), name.upper().replace("_", " ")])
        lines = [f"{label(name)}{pick(rng, [': ', ':', ' = '])}{shown(value)}" for name, value in given.items()]
        rng.shuffle(lines)
        return {
            "text": "\n".join(["Report", *lines]),
            "schema": {
                "type": "object",
                "properties": {name: Extract.FIELDS[name][0] for name in names},
                "required": [name for name in names if rng.random() < 0.6],
            },
        }

    def expect(i, out):
        missing = [name for name in i["schema"]["required"] if name not in Extract.given]
        found = [error for error in jsonschema.Draft202012Validator(i["schema"]).iter_errors(out["record"]) if error.validator != "required"]
        return {
            "record": Extract.given,
            **claim(set(out["record"]) == set(Extract.given), "fields"),
            **claim(set(out["missing"]) == set(missing), f"missing {missing}"),
            **claim(not found, "the schema accepts the record"),
            **claim(all(quote in i["text"] for quote in out["evidence"].values()), "evidence"),
        }


@oracle(163, "json_repair, jsonschema", 0)
class Grounding:
    """Damaged JSON is what it was before, which json_repair must say as well; errors of the schema are as many as jsonschema's.
    Numbers of an answer are missing where no source has them. The support of sentences is a rule of ours."""

    def sample(rng):
        def value(depth):
            kind = rng.integers(7 if depth else 5)
            if kind == 0:
                return pick(rng, ["a b", 'é"x', "", "line\nbreak", "it's", "洪水", "a, b: c", "x\\y"])
            if kind < 3:
                return pick(rng, [1, -2, 0.5, 1e20, 12345678901, -1.5e-7])
            if kind < 5:
                return pick(rng, [True, False, None])
            if kind == 5:
                return [value(depth - 1) for _ in range(int(rng.integers(0, 4)))]
            return {pick(rng, ["a", "b c", "é", "k1", "x-y"]): value(depth - 1) for _ in range(int(rng.integers(0, 4)))}

        if rng.random() < 0.3:
            numbers = [int(n) for n in rng.choice(range(20, 900), 4, replace=False)]
            Grounding.planted = [str(n) for n in numbers[2:] if rng.random() < 0.5]
            said = numbers[:2] + [int(n) for n in Grounding.planted]
            return {
                "answer": " ".join(f"The harbour camp received {n} tents." for n in said),
                "sources": [{"id": str(n), "text": f"The harbour camp received {n} tents."} for n in numbers[:2]],
            }
        Grounding.planted = {pick(rng, ["a", "n", "é"]): value(2) for _ in range(3)} | {"end": [1]}
        text = json.dumps(Grounding.planted, ensure_ascii=bool(rng.random() < 0.5), indent=pick(rng, [None, 2]))
        damage = pick(rng, ["none", "fence", "prose", "comma", "cut", "comment", "python"])
        text = {
            "fence": f"Here it is:\n```json\n{text}\n```\nDone.",
            "prose": f"The answer: {text}",
            "comma": text[:-1] + ",}",
            "cut": text.rstrip("}\n ").rstrip("]\n "),
            "comment": text[:1] + " // first\n" + text[1:],
            "python": repr(Grounding.planted),
        }.get(damage, text)
        schema = {
            "type": "object",
            "properties": {"a": {"type": pick(rng, ["string", "integer", "array"])}, "n": {"type": "number", "minimum": 0}},
            "required": pick(rng, [[], ["a"], ["n", "zz"]]),
            "additionalProperties": bool(rng.random() < 0.7),
        }
        return {"answer": text, "schema": schema}

    def expect(i, out):
        if "schema" not in i:
            return {"numbers_missing": Grounding.planted, **claim(len(out["numbers_missing"]) == len(Grounding.planted), "missing numbers")}
        repaired = json_repair.loads(re.sub(r"// first", "", i["answer"]))
        errors = list(jsonschema.Draft202012Validator(i["schema"]).iter_errors(Grounding.planted))
        return {
            "repaired": Grounding.planted,
            **claim(out["repaired"] == Grounding.planted, "nothing added"),
            **claim(repaired == Grounding.planted, f"json_repair agrees: {repaired}"),
            **claim(len(out["schema_errors"]) == len(errors), f"errors {[error.message for error in errors]}"),
        }


@oracle(164, "tiktoken", 1e-9)
class TokenCost:
    CATALOGUE = tomllib.loads((HERE / "../../crates/providers/catalogue.toml").read_text())["model"]

    def sample(rng):
        def text():
            kind = rng.integers(5)
            if kind == 0:
                return odd(rng, 0, 60)
            if kind == 1:
                return "".join(
                    chr(int(rng.choice([rng.integers(32, 127), rng.integers(0x80, 0xD7FF), rng.integers(0xE000, 0x1FFFF)])))
                    for _ in range(int(rng.integers(0, 80)))
                )
            if kind == 2:
                return pick(rng, ["a", " ", "\n", "\r\n", "=", "0", "é", "洪", "\t", "<|endoftext|>", " \n", "'S"]) * int(rng.integers(1, 400))
            if kind == 3:
                return json.dumps({"x": [1, 2, {"y": "é"}]}, indent=int(rng.integers(0, 5))) + "def f(x):\n\treturn x**2  # it's I'LL\n" * 3
            return " ".join(sentences_of(rng))

        i = {"expected_output": int(rng.integers(0, 5000))}
        if rng.random() < 0.7:
            i["text"] = text()
        if rng.random() < 0.5 or "text" not in i:
            i["messages"] = [{"role": pick(rng, ["system", "user", "assistant"]), "content": text()} for _ in range(int(rng.integers(1, 5)))]
        return i

    def expect(i, out):
        texts = [i["text"]] if "text" in i else []
        for message in i.get("messages", []):
            texts += [message["role"], message["content"]]
        overhead = 3 * len(i["messages"]) + 3 if i.get("messages") else 0
        counts = {name: sum(tokens(text, name) for text in texts) + overhead for name in ENCODINGS}
        n, rows = counts["o200k_base"], []
        for model in TokenCost.CATALOGUE:
            exact = model["provider"] == "openai" or model.get("upstream", "").startswith("gpt-")
            prompt = n if exact else math.ceil(n * 1.15)
            cost = (prompt * model.get("price_in", 0) + i["expected_output"] * model.get("price_out", 0)) / 1e6
            rows.append(
                (
                    round(cost, 15),
                    model["id"],
                    {
                        "model": model["id"],
                        "prompt_tokens": prompt,
                        "cost_usd": cost,
                        "exact": exact,
                        "fits": prompt + i["expected_output"] <= model.get("context", math.inf),
                    },
                )
            )
        rows.sort(key=lambda row: row[:2])
        return {
            "tokens": n,
            "by_encoding": counts,
            "models": [row for *_, row in rows],
            **claim(len(out["models"]) == len(rows), "number of models"),
            "cheapest": next((row["model"] for *_, row in rows if row["fits"]), None),
        }


@oracle(166, "tiktoken", 0)
class Chunks:
    """Offsets, counts and bounds of the chunks: they hold the whole text, each its own part of it, and none is longer than
    max_tokens unless it is one word or sign. Where a text is cut is a choice of ours."""

    def sample(rng):
        kind = pick(rng, ["text", "markdown", "code"])
        text = {
            "text": lambda: odd(rng, 0, 400),
            "markdown": lambda: "".join(f"{'#' * int(rng.integers(1, 4))} {pick(rng, ENGLISH)}\n\n{odd(rng, 5, 90)}\n\n" for _ in range(5)),
            "code": lambda: "".join(f"def {pick(rng, ENGLISH)}(x):\n    return '{odd(rng, 1, 30)}'\n\n" for _ in range(9)),
        }[kind]()
        most = int(rng.choice([16, 40, 200]))
        return {"text": text, "kind": kind, "max_tokens": most, "overlap": int(rng.choice([0, 0, most // 4]))}

    def expect(i, out):
        raw, end, good, short = i["text"].encode(), 0, True, True
        for at, chunk in enumerate(out["chunks"]):
            good &= raw[chunk["start"] : chunk["end"]].decode() == chunk["text"] and chunk["index"] == at and chunk["end"] > end
            good &= chunk["start"] == end if not i["overlap"] else chunk["start"] <= end
            short &= chunk["tokens"] <= i["max_tokens"] or len(words(chunk["text"])) <= 1
            end = chunk["end"]
        return {
            "count": len(out["chunks"]),
            "chunks": [{"tokens": tokens(chunk["text"])} for chunk in out["chunks"]],
            **claim(good and end == len(raw), "chunks hold the text"),
            **claim(short, "no chunk is too long"),
        }


main("llm", ORACLES)
