"""Writes the cases of the families text and llm whose values other packages compute: `python engines/oracles/text_cases.py`.

Packages: requirements-text.txt. Cases that are planted or published stand in the same files after the line
"# by hand"; they are kept.
"""
import gzip
import json
import math
import os
import re
import subprocess
import tempfile
import unicodedata

import nltk
import sklearn
import snowballstemmer
from lexicalrichness import LexicalRichness
from nltk.collocations import BigramAssocMeasures, BigramCollocationFinder
from sklearn.feature_extraction.text import TfidfVectorizer
from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

HERE = os.path.dirname(os.path.abspath(__file__))
FLOOD = ("The river rose in the night and the river flooded the lower town. People left the lower town by boat. "
         "The town hall opened as a shelter, and the shelter was full by noon. Boats brought water and food to the "
         "shelter. The river fell on Friday.")
FIRE = ("A fire burned the hills above the town. The fire crews cut a line above the houses and the wind turned. "
        "Smoke covered the town and the school closed. The fire was out on Sunday.")


def text(value):
    return "'''" + json.dumps(value, ensure_ascii=False) + "'''"


def write(family, name, tolerance, cases):
    path = os.path.join(HERE, "..", family, "cases", name + ".toml")
    kept = ""
    if os.path.exists(path):
        kept = open(path, encoding="utf8").read()
        kept = kept[kept.index("# by hand"):] if "# by hand" in kept else ""
    with open(path, "w", encoding="utf8") as out:
        out.write(f"tolerance = {tolerance}\n")
        for case in cases:
            out.write("\n[[case]]\n")
            out.write(f"name = {json.dumps(case['name'])}\nsource = {json.dumps(case['source'])}\nlocator = {json.dumps(case.get('locator', 'engines/oracles/text_cases.py'))}\n")
            out.write(f"input = {text(case['input'])}\nexpect = {text(case['expect'])}\n")
        out.write("\n" + kept if kept else "")


def tokens(of):
    return re.findall(r"[a-z0-9']+", of.lower())


def statistics():
    stemmer = snowballstemmer.stemmer("english")
    docs = [[stemmer.stemWord(w) for w in tokens(d)] for d in (FLOOD, FIRE)]
    vectors = TfidfVectorizer(analyzer=lambda d: d, norm="l2", smooth_idf=True)
    weights = vectors.fit_transform(docs).toarray()
    names = vectors.get_feature_names_out()
    top = []
    for row in weights:
        order = sorted(range(len(row)), key=lambda i: (-row[i], names[i]))[:5]
        top.append([{"term": names[i], "weight": row[i]} for i in order])
    finder = BigramCollocationFinder.from_documents(docs)
    # Bigrams within each document only; the counts of words are those of both.
    measures = BigramAssocMeasures()
    n, words = sum(map(len, docs)), {}
    for d in docs:
        for w in d:
            words[w] = words.get(w, 0) + 1
    pairs = {}
    for d in docs:
        for p in zip(d, d[1:]):
            pairs[p] = pairs.get(p, 0) + 1
    def measured(p):
        marginals = (words[p[0]], words[p[1]])
        return {"text": " ".join(p), "pmi": measures.pmi(pairs[p], marginals, n), "ll": measures.likelihood_ratio(pairs[p], marginals, n)}
    found = sorted((measured(p) for p in pairs), key=lambda m: (-round(m["ll"], 9), m["text"]))[:3]
    grams = {}
    for d in docs:
        for g in zip(d, d[1:]):
            grams[" ".join(g)] = grams.get(" ".join(g), 0) + 1
    grams = sorted(grams.items(), key=lambda g: (-g[1], g[0]))[:5]
    # The package tokenises by blanks; it gets the tokens that are counted here.
    richness = LexicalRichness(" ".join(docs[0] + docs[1]), preprocessor=None, tokenizer=lambda t: t.split())
    cases = [{
        "name": "two reports, stemmed",
        "source": f"scikit-learn {sklearn.__version__}, NLTK {nltk.__version__}, snowballstemmer, lexicalrichness",
        "input": {"texts": [FLOOD, FIRE], "top": 5},
        "expect": {"tokens": n, "types": len(words), "ngrams": [{"text": t, "count": c} for t, c in grams],
                   "tfidf": top, "collocations": found, "mtld": richness.mtld(threshold=0.72)},
    }]
    write("text", "text-statistics", 1e-6, cases)


def sentiment():
    analyzer = SentimentIntensityAnalyzer()
    groups = [
        ["VADER is smart, handsome, and funny.", "VADER is very smart, handsome, and funny.",
         "VADER is VERY SMART, handsome, and FUNNY!!!", "VADER is VERY SMART, uber handsome, and FRIGGIN FUNNY!!!",
         "VADER is not smart, handsome, nor funny.", "At least it isn't a horrible book.",
         "The plot was good, but the characters are uncompelling and the dialog is not great.",
         "Today only kinda sux! But I'll get by, lol", "Make sure you :) or :D today!",
         "Catch utf-8 emoji such as \U0001F498 and \U0001F48B and \U0001F601", "Not bad at all"],
        ["We have no water and no food!! Please help us now", "No good news, never so happy to see the rescue team",
         "This is the least helpful answer, without doubt a great failure", "He is kind of calm at the bus stop",
         "The shelter is the bomb", "???", "", "the 12 of it"],
    ]
    cases = []
    for at, texts in enumerate(groups):
        found = [analyzer.polarity_scores(t) for t in texts]
        cases.append({"name": ["the package's own examples", "requests, idioms and texts without words of the lexicon"][at],
                      "source": "vaderSentiment 3.3.2", "input": {"texts": texts},
                      "expect": {"results": [{"compound": f["compound"], "positive": f["pos"], "neutral": f["neu"], "negative": f["neg"]} for f in found],
                                 "mean_compound": sum(f["compound"] for f in found) / len(found)}})
    write("text", "sentiment", 0.0005, cases)


def duplicates():
    docs = {"a": "Please send water to the school on Hill Street now", "b": "please send WATER to the school on hill street today!",
            "c": "The meeting was moved to Friday at noon", "d": "the meeting was moved to friday at noon.",
            "e": "Water is needed at the school", "f": "Please send water to the school on Hill Street now, thanks"}
    def shingles(t, n):
        w = tokens(t)
        return {tuple(w[i:i + n]) for i in range(len(w) - n + 1)} or {tuple(w)}
    cases = []
    for threshold, n in ((0.5, 2), (1.0, 3), (0.1, 1)):
        pairs = []
        keys = list(docs)
        for i, x in enumerate(keys):
            for y in keys[i + 1:]:
                a, b = shingles(docs[x], n), shingles(docs[y], n)
                j = len(a & b) / len(a | b)
                if j >= threshold:
                    pairs.append({"a": x, "b": y, "jaccard": j})
        cases.append({"name": f"all pairs from {threshold} by {n} words", "source": "exact Jaccard indices, by a script",
                      "input": {"documents": [{"id": k, "text": v} for k, v in docs.items()], "threshold": threshold, "shingle": n},
                      "expect": {"pairs": pairs}})
    write("text", "near-duplicate", 1e-9, cases)


def patterns():
    cases = []
    for pattern, flags, body, replace in ((r"(?P<day>\d{1,2}) (?P<month>[A-Z][a-z]+)", "", "on 2 May and 13 June", r"${month} ${day}"),
                                          (r"^\s*(\w+)\s*=\s*(.*?)\s*$", "m", "a = 1\n b=two words \n", None),
                                          (r"É+", "i", "caféé ÉÉ", "e"), (r"x*", "", "axxb", "-")):
        found = []
        compiled = re.compile(pattern, sum(getattr(re, f.upper()) for f in flags))
        for m in compiled.finditer(body):
            groups = {name if name else str(at): m.group(at) for at in range(1, compiled.groups + 1)
                      for name in [next((k for k, v in compiled.groupindex.items() if v == at), None)]}
            byte = lambda i: len(body[:i].encode())
            found.append({"start": byte(m.start()), "end": byte(m.end()), "text": m.group(0), "groups": {k: v for k, v in groups.items() if v is not None}})
        case = {"text": body, "pattern": pattern, "flags": flags}
        expect = {"count": len(found), "matches": found}
        if pattern == "x*":
            # Python also matches the empty text right after a match; the engine's library does not.
            expect = {"count": 3, "matches": [{"start": 0, "end": 0}, {"start": 1, "end": 3}, {"start": 4, "end": 4}]}
        if replace is not None:
            case["replace"] = replace
            if pattern != "x*":
                expect["replaced"] = compiled.sub(re.sub(r"\$\{(\w+)\}", r"\\g<\1>", replace), body)
        cases.append({"name": f"matches of {pattern}", "source": "Python 3.11 re, offsets in bytes" if pattern != "x*" else "regex 1 documentation",
                      "input": case, "expect": expect})
    write("text", "regex-extract", 1e-9, cases)


def normalise():
    cases = []
    body = "Å e\u0301 ﬁ Ⅷ ½ 가 各 ｱ ﷺ ǆ ᾳ"
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        cases.append({"name": f"{form} of letters with compatibility forms", "source": f"Python 3.11 unicodedata {unicodedata.unidata_version}",
                      "input": {"text": body, "form": form, "steps": []}, "expect": {"text": unicodedata.normalize(form, body)}})
    write("text", "text-normalise", 1e-9, cases)


def diff():
    cases = []
    before = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\n"
    after = "one\n2\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"
    with tempfile.TemporaryDirectory() as folder:
        for name, body in (("a", before), ("b", after)):
            open(os.path.join(folder, name), "w").write(body)
        for context in (0, 1, 3):
            unified = subprocess.run(["diff", f"-U{context}", "--label", "before", "--label", "after", "a", "b"], cwd=folder, capture_output=True, text=True).stdout
            cases.append({"name": f"a changed and an added line with {context} lines around", "source": "GNU diff 3",
                          "input": {"before": before, "after": after, "context": context},
                          "expect": {"unified": unified, "insertions": 2, "deletions": 1}})
        base, ours, theirs = "a\nb\nc\nd\ne\n", "a\nB\nc\nd\ne\n", "a\nb\nc\nd\nE\n"
        for name, body in (("base", base), ("ours", ours), ("theirs", theirs), ("other", "a\nX\nc\nd\ne\n")):
            open(os.path.join(folder, name), "w").write(body)
        merged = subprocess.run(["git", "merge-file", "-p", "ours", "base", "theirs"], cwd=folder, capture_output=True, text=True)
        cases.append({"name": "changes in different places merge", "source": "git merge-file", "input": {"before": ours, "after": theirs, "base": base},
                      "expect": {"merged": merged.stdout, "conflicts": merged.returncode}})
        merged = subprocess.run(["git", "merge-file", "-p", "ours", "base", "other"], cwd=folder, capture_output=True, text=True)
        cases.append({"name": "changes in one place conflict", "source": "git merge-file", "input": {"before": ours, "after": "a\nX\nc\nd\ne\n", "base": base},
                      "expect": {"conflicts": merged.returncode}})
    write("text", "text-diff", 1e-9, cases)


def bm25():
    docs = [("a", "the quick brown fox jumps over the lazy dog"), ("b", "the dog sleeps all day and the dog dreams"), ("c", "foxes hunt by night")]
    query = ["quick", "dog"]
    words = {k: t.split() for k, t in docs}
    mean = sum(map(len, words.values())) / len(words)
    cases = []
    for k1, b in ((1.2, 0.75), (2.0, 0.0), (0.0, 1.0)):
        scores = {}
        for k, w in words.items():
            total = 0.0
            for term in query:
                df = sum(term in x for x in words.values())
                tf = w.count(term)
                if tf:
                    total += math.log(1 + (len(words) - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * len(w) / mean))
            scores[k] = total
        hits = sorted(((k, s) for k, s in scores.items() if s > 0), key=lambda h: (-h[1], h[0]))
        cases.append({"name": f"BM25 with k1 {k1} and b {b}", "source": "Robertson & Zaragoza 2009, with the idf of Lucene, by a script",
                      "input": {"query": " ".join(query), "documents": [{"id": k, "text": t} for k, t in docs], "mode": "lexical", "k1": k1, "b": b},
                      "expect": {"hits": [{"id": k, "bm25": s} for k, s in hits], "total": len(hits)}})
    write("llm", "retrieve", 1e-6, cases)


def token_counts():
    """Encodings of tiktoken with the ranks that the crate bpe-openai contains (the published files, compressed)."""
    import tiktoken
    folder = os.environ["BPE_OPENAI_DATA"]
    patterns = {
        "cl100k_base": r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s""",
        "o200k_base": "|".join([
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
            r"""\p{N}{1,3}""", r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""", r"""\s*[\r\n]+""", r"""\s+(?!\S)""", r"""\s+"""]),
    }
    encodings = {}
    for name, pattern in patterns.items():
        import base64
        ranks = {}
        for line in gzip.open(os.path.join(folder, name + ".tiktoken.gz"), "rb").read().splitlines():
            if line:
                token, rank = line.split()
                ranks[base64.b64decode(token)] = int(rank)
        encodings[name] = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    cases = []
    for body in ("hello world", FLOOD, "Überschwemmung in Köln! 洪水が来た。 مياه الفيضان 🚒👨‍👩‍👧\n\n  x = 1234567;\r\n", "a" * 300 + "   \n  b", ""):
        counts = {k: len(e.encode(body, disallowed_special=())) for k, e in encodings.items()}
        cases.append({"name": f"tokens of {body[:20]!r}", "source": f"tiktoken {tiktoken.__version__}", "input": {"text": body},
                      "expect": {"by_encoding": counts, "tokens": counts["o200k_base"]}})
    messages = [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": FLOOD}]
    counts = {k: 3 + sum(3 + len(e.encode(m["role"])) + len(e.encode(m["content"])) for m in messages) for k, e in encodings.items()}
    cases.append({"name": "messages have an overhead", "source": f"tiktoken {tiktoken.__version__} and the rule of OpenAI's cookbook",
                  "input": {"messages": messages}, "expect": {"by_encoding": counts}})
    write("llm", "token-cost", 1e-9, cases)


if __name__ == "__main__":
    for make in (statistics, sentiment, duplicates, patterns, normalise, diff, bm25):
        make()
    if "BPE_OPENAI_DATA" in os.environ:
        token_counts()
