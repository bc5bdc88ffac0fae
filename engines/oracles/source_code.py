"""Oracles of the family code: `python engines/oracles/source_code.py [q189 …]` (a `code.py` would hide the module of the standard library).

Left out: q187 and q188, which read the workspace of a server; of q196 the table of compatible licences and of q200 the rules of
breaking changes, which are our own; of q198 the risk. Of q201 the rules and the layout are our own as well.
"""
import ast
import collections
import copy
import difflib
import io
import json
import linecache
import math
import traceback
import xml.sax.saxutils

import ast_grep_py
import esprima
import javalang
import license_expression
import lizard
import networkx as nx
import nodesemver
import numpy as np
import openapi_spec_validator
import packageurl
import packaging.requirements
import packaging.specifiers
import packaging.utils
import packaging.version
import pycobertura
import pycparser
import radon.complexity
import radon.metrics
import radon.raw
import semver
import spdx_lookup
import spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser
import spdx_tools.spdx.validation.document_validator
import sqlglot
import tap.parser
import unidiff
from cognitive_complexity.api import get_cognitive_complexity
from conventional_pre_commit.format import ConventionalCommit
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from junitparser import JUnitXml

from jsonlines import exact, main, pick, whole

ORACLES = {}


def oracle(number, package, tolerance, count=200):
    def register(cls):
        ORACLES[number] = dict(package=package, tolerance=tolerance, count=count, sample=cls.sample, expect=cls.expect)
        if hasattr(cls, "accepts"):
            ORACLES[number]["accepts"] = cls.accepts
        return cls
    return register


class Program:
    """A program of functions with random statements, written in several languages. lizard ends functions of JavaScript at a `?`."""

    BRACES = {
        "javascript": ("function {name}({args}) {{", "let x = 0;"), "typescript": ("function {name}({args}) {{", "let x = 0;"),
        "java": ("  static int {name}({args}) {{", "int x = 0;"), "c": ("int {name}({args}) {{", "int x = 0;"), "go": ("func {name}({args}) int {{", "x := 0"),
        "rust": ("fn {name}({args}) -> i32 {{", "let mut x = 0;")
    }

    def condition(rng, depth=2, around=None):
        """Brackets hold another operator than the one around them: with the same one cognitive-complexity counts two sequences."""
        if depth == 0 or rng.random() < 0.5:
            return ("test", pick(rng, ["a > 1", "b < 2", "x == 3"]))
        kind = pick(rng, [k for k in ("and", "or", "not") if k != around])
        parts = [Program.condition(rng, depth - 1, kind) for _ in range(1 if kind == "not" else 2)]
        return (kind, *parts)

    def block(rng, depth, kinds):
        return [Program.statement(rng, depth, kinds) for _ in range(int(rng.integers(1, 4)))]

    def statement(rng, depth, kinds):
        kind = pick(rng, kinds) if depth else "assign"
        if kind in ("if", "ifs", "while"):
            found = [kind[:5], Program.condition(rng), Program.block(rng, depth - 1, kinds)]
            if kind != "while":
                found[0] = "if"
                found.append([(Program.condition(rng), Program.block(rng, depth - 1, kinds)) for _ in range(int(rng.integers(0, 3)) if kind == "ifs" else 0)])
                # An `else` that holds an `if` alone is an `elif` for a syntax tree of Python.
                found.append([("assign",), *Program.block(rng, depth - 1, kinds)] if rng.random() < 0.4 else None)
            return tuple(found)
        return (kind, Program.block(rng, depth - 1, kinds)) if kind in ("for", "try") else (kind, Program.condition(rng)) if kind == "ternary" else (kind,)

    def python(statements, pad="    "):
        def text(c):
            return c[1] if c[0] == "test" else f"not ({text(c[1])})" if c[0] == "not" else f"({text(c[1])} {c[0]} {text(c[2])})"
        for s in statements:
            if s[0] == "if":
                yield f"{pad}if {text(s[1])}:"
                yield from Program.python(s[2], pad + "    ")
                for c, body in s[3]:
                    yield f"{pad}elif {text(c)}:"
                    yield from Program.python(body, pad + "    ")
                if s[4]:
                    yield f"{pad}else:"
                    yield from Program.python(s[4], pad + "    ")
            elif s[0] in ("while", "for", "try"):
                yield {"while": lambda: f"{pad}while {text(s[1])}:", "for": lambda: f"{pad}for i in range(3):", "try": lambda: f"{pad}try:"}[s[0]]()
                yield from Program.python(s[-1], pad + "    ")
                if s[0] == "try":
                    yield from (f"{pad}except ValueError:", f"{pad}    x = 9")
            elif s[0] == "ternary":
                yield f"{pad}x = 1 if {text(s[1])} else 2"
            else:
                yield f"{pad}x = x + 1"

    def braces(statements, language, pad="    "):
        def text(c):
            return c[1] if c[0] == "test" else f"!({text(c[1])})" if c[0] == "not" else f"({text(c[1])} {'&&' if c[0] == 'and' else '||'} {text(c[2])})"
        bare, end = language in ("go", "rust"), "" if language == "go" else ";"
        head = lambda word, c: f"{word} {text(c)} {{" if bare else f"{word} ({text(c)}) {{"
        for s in statements:
            if s[0] == "if":
                yield pad + head("if", s[1])
                yield from Program.braces(s[2], language, pad + "    ")
                for c, body in s[3]:
                    yield f"{pad}}} else {head('if', c)}"
                    yield from Program.braces(body, language, pad + "    ")
                if s[4]:
                    yield f"{pad}}} else {{"
                    yield from Program.braces(s[4], language, pad + "    ")
                yield f"{pad}}}"
            elif s[0] in ("while", "for"):
                loop = {
                    "go": "for i := 0; i < 3; i++ {", "rust": "for i in 0..3 {", "javascript": "for (let i = 0; i < 3; i++) {",
                    "typescript": "for (let i = 0; i < 3; i++) {"
                }.get(language, "for (int i = 0; i < 3; i++) {")
                yield pad + (head("for" if language == "go" else "while", s[1]) if s[0] == "while" else loop)
                yield from Program.braces(s[-1], language, pad + "    ")
                yield f"{pad}}}"
            elif s[0] == "ternary":
                yield f"{pad}x = {text(s[1])} ? 1 : 2{end}"
            else:
                yield f"{pad}x = x + 1{end}"

    def write(rng, language):
        kinds = ["assign", "if", pick(rng, ["if", "ifs"]), "while", "for"
                 ] + (["ternary"] if language in ("python", "java", "c") else []) + (["try"] if language == "python" else [])
        lines = []
        for k in range(int(rng.integers(1, 5))):
            args = ["a", "b", "c"][:int(rng.integers(0, 4))]
            body, name = Program.block(rng, 3, kinds), f"f{k}"
            if language == "python":
                lines += [f"def {name}({', '.join(args)}):", "    x = 0", *Program.python(body), "    return x", ""]
                continue
            typed = {"java": "int {}", "c": "int {}", "go": "{} int", "rust": "{}: i32", "typescript": "{}: number"}.get(language, "{}")
            head, start = Program.BRACES[language]
            lines += [
                head.format(name=name, args=", ".join(typed.format(a) for a in args)), "    " + start, *Program.braces(body, language),
                "    return x" + ("" if language == "go" else ";"), "}", ""
            ]
        if language == "java":
            lines = ["class A {", *lines, "}"]
        if language == "go":
            lines = ["package a", "", *lines]
        return "\n".join(lines) + "\n"


@oracle(189, "ast, esprima, javalang, pycparser", 0)
class Outline:
    def sample(rng):
        language = pick(rng, ["python", "python", "javascript", "java", "c"])
        source = Program.write(rng, language)
        if language == "python":
            body = "\n".join("    " + line if line else "" for line in source.split("\n"))
            imports = "".join(pick(rng, ["import os\n", "import a.b\n", "from a.b import c\n", "import x as y\n"]) for _ in range(int(rng.integers(0, 4))))
            method = '    async def g(self):\n        """Doc."""\n        def inner():\n            pass\n'
            source = f'{imports}{source}\nclass A(B):\n    """Text of ü."""\n\n{body}\n{method}\n\n@decorated\nclass B:\n    pass\n'
        if language == "javascript":
            source += "class A {\n  constructor() {}\n  m(a) { return a; }\n}\nfunction* h() {}\nasync function k() {}\n"
        if language == "java":
            source = source.rstrip()[:-1] + "  int m() { return 1; }\n}\ninterface I {\n  void run();\n}\nenum E { ONE, TWO }\n"
        return {"source": source, "language": language}

    def python(tree, parent=None):
        for node in ast.iter_child_nodes(tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                kind = "class" if isinstance(node, ast.ClassDef) else "method" if isinstance(tree, ast.ClassDef) else "function"
                yield node.name, kind, node.lineno, node.end_lineno, parent or "", (ast.get_docstring(node) or "")
                yield from Outline.python(node, node.name)
            else:
                yield from Outline.python(node, parent)

    def symbols(i):
        if i["language"] == "python":
            return list(Outline.python(ast.parse(i["source"])))
        if i["language"] == "c":
            found = pycparser.CParser().parse(i["source"])
            return [(f.decl.name, "function", f.coord.line) for f in found.ext]
        if i["language"] == "java":
            found = []
            for declared in javalang.parse.parse(i["source"]).types:
                kind = {"ClassDeclaration": "class", "InterfaceDeclaration": "interface", "EnumDeclaration": "enum"}[type(declared).__name__]
                found.append((declared.name, kind, declared.position.line))
                found += [(m.name, "method", m.position.line) for m in getattr(declared, "methods", [])]
            return found
        found = []
        for node in esprima.parseScript(i["source"], loc=True).body:
            if node.type in ("FunctionDeclaration", "ClassDeclaration"):
                found.append((node.id.name, "function" if node.type[0] == "F" else "class", node.loc.start.line))
                if node.type[0] == "C":
                    found += [(m.key.name, "constructor" if m.kind == "constructor" else "method", m.loc.start.line) for m in node.body.body]
        return found

    def expect(i, out):
        found = sorted(Outline.symbols(i), key=lambda s: s[2])
        kinds = {"class", "function", "method", "constructor", "interface", "enum"}
        mine = [s for s in out["symbols"] if s["kind"] in kinds]
        fields = ["name", "kind", "start", "end", "parent", "doc"]
        mine = [tuple(s[f] for f in fields[:len(found[0])]) for s in mine]
        # A method of a Java interface or class is told by javalang without its place among enumerations' constants.
        imports = None
        if i["language"] == "python":
            names = [(alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}") for node in ast.parse(i["source"]).body
                     if isinstance(node, (ast.Import, ast.ImportFrom)) for alias in node.names]
            imports = exact(names, out["imports"])
        return {"symbols": None if mine == found else f"{i['source']}: {sorted(set(found) ^ set(mine))}", "errors": 0, "imports": imports}

    accepts = lambda i: True


@oracle(190, "radon, lizard, cognitive-complexity", 1e-9)
class Complexity:
    SUFFIX = {"python": "py", "javascript": "js", "typescript": "ts", "java": "java", "c": "c", "go": "go", "rust": "rs"}

    def sample(rng):
        language = pick(rng, ["python", "python", *Complexity.SUFFIX])
        return {"source": Program.write(rng, language), "language": language}

    def expect(i, out):
        found = lizard.analyze_file.analyze_source_code(f"a.{Complexity.SUFFIX[i['language']]}", i["source"])
        functions = [{
            "name": f.name.split("::")[-1], "cyclomatic": f.cyclomatic_complexity, "parameters": f.parameter_count, "start": f.start_line,
            "lines": f.end_line - f.start_line + 1
        } for f in found.function_list]
        h = out["halstead"]
        n1, n2, t1, t2 = (h[k] for k in ("distinct_operators", "distinct_operands", "total_operators", "total_operands"))
        expected = {
            "halstead": {
                "vocabulary": n1 + n2, "length": t1 + t2, "volume": (t1 + t2) * math.log2(n1 + n2), "difficulty": n1 / 2 * t2 / n2,
                "estimated_length": n1 * math.log2(n1) + n2 * math.log2(n2)
            }
        }
        expected["halstead"] |= {
            "effort": expected["halstead"]["volume"] * expected["halstead"]["difficulty"], "bugs": expected["halstead"]["volume"] / 3000,
            "time": expected["halstead"]["volume"] * expected["halstead"]["difficulty"] / 18
        }
        lines = sum(1 for line in i["source"].split("\n") if line.strip())
        decisions = sum(f["cyclomatic"] - 1 for f in functions)
        expected["maintainability"] = radon.metrics.mi_compute(h["volume"], decisions + 1, lines, 0)
        if i["language"] == "python":
            for f, block, node in zip(functions, radon.complexity.cc_visit(i["source"]), ast.parse(i["source"]).body):
                # The package nests what stands in an `elif` one level less, or the test of one deeper, than the white paper.
                f |= {"cyclomatic": block.complexity, "cognitive": None if "elif" in i["source"] else get_cognitive_complexity(node)}
            # radon has no operators of assignments and calls: its counts are of another kind than tokens.
            expected["maintainability"] = radon.metrics.mi_compute(h["volume"], sum(f["cyclomatic"] - 1 for f in functions) + 1, lines, 0)
        return expected | {"functions": whole(functions, out["functions"])}

    accepts = lambda i: True


@oracle(191, "traceback", 0)
class StackTrace:
    """Tracebacks that CPython prints of programs which are run here, with causes and contexts."""

    def sample(rng):
        depth, chain = int(rng.integers(1, 6)), pick(rng, ["none", "cause", "context", "both"])
        error = pick(rng, [
            "ValueError('bad value: 7')", "KeyError('ü')", "ZeroDivisionError('division by zero')", "RuntimeError('line one\\nline two')", "Custom()",
            "Custom('a: b')", "OSError(2, 'No such file')"
        ])
        lines = ["class Custom(Exception):", "    pass", "", "def f0():", f"    raise {error}"]
        for k in range(1, depth):
            lines += ["", f"def f{k}():", f"    f{k - 1}()"]
        last = f"f{depth - 1}"
        if chain != "none":
            lines += [
                "", "def wrap():", "    try:", f"        {last}()", "    except Exception as e:",
                "        raise LookupError('outer')" + (" from e" if chain in ("cause", "both") else "")
            ]
            last = "wrap"
        if chain == "both":
            lines += ["", "def again():", "    try:", "        wrap()", "    except Exception:", "        raise TypeError('last')"]
            last = "again"
        source, path = "\n".join([*lines, "", f"{last}()", ""]), "/app/main.py"
        linecache.cache[path] = (len(source), None, source.splitlines(True), path)
        try:
            exec(compile(source, path, "exec"), {"__name__": "__main__"})
        except Exception as error:
            found = error
        text = "".join(traceback.format_exception(found)) if chain == "none" else "".join(traceback.format_exception(found))
        # Frames of this script are no part of the program.
        kept, skip = [], False
        for line in text.split("\n"):
            if line.startswith('  File "'):
                skip = path not in line
            if line.startswith("    ") and skip:
                continue
            if line.startswith('  File "') and skip:
                continue
            kept.append(line)
        thrown = []
        while found is not None:
            frames = [{"function": f.name, "file": f.filename, "line": f.lineno} for f in traceback.extract_tb(found.__traceback__) if f.filename == path]
            name = type(found).__name__
            thrown.append({"type": name if type(found).__module__ == "builtins" else f"__main__.{name}", "message": str(found), "frames": frames})
            found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)
        return {"text": "\n".join(kept), "own_prefixes": ["/app"], "_thrown": thrown}

    def expect(i, out):
        thrown = i["_thrown"]
        # __main__ is left out of a printed name.
        errors = [{"type": t["type"].removeprefix("__main__."), "message": t["message"].strip()} for t in thrown]
        frames = [f | {"own": True} for t in thrown for f in t["frames"]]
        root = thrown[-1]["frames"][-1]
        return {
            "language": "python", "error": errors[0], "causes": whole(errors[1:], out["causes"]), "frames": whole(frames, out["frames"]),
            "culprit": f"{root['function']} ({root['file']}:{root['line']})"
        }

    accepts = lambda i: True


@oracle(192, "ast-grep-py", 0)
class StructuralSearch:
    """The same rules in another program of the same authors: it tests what surrounds the library."""

    PATTERNS = {
        "python": ["f0($A)", "x = $X", "if $C:\n    $$$B", "$A > $B", "range($N)", "not $X", "return $X", "def $F($$$A):\n    $$$B"],
        "javascript": ["x = $X", "$A && $B", "if ($C) { $$$B }", "$A > 1", "return $X", "function $F($$$A) { $$$B }", "!$X",
                       "x + $N"], "rust": ["x = $X", "$A && $B", "$A > 1", "fn $F($$$A) -> i32 { $$$B }", "!$X"], "java": ["x = $X", "$A || $B", "return $X;"],
        "c": ["x = $X;", "$A && $B", "return $X;"], "go": ["x = $X", "$A && $B", "return $X"]
    }

    def sample(rng):
        language = pick(rng, list(StructuralSearch.PATTERNS))
        i = {"source": Program.write(rng, language), "language": language, "pattern": pick(rng, StructuralSearch.PATTERNS[language])}
        # Whether `return $X` takes the semicolon that may follow is settled by the program and not by the package.
        if "$X" in i["pattern"] and "return" not in i["pattern"] and rng.random() < 0.5:
            i["rewrite"] = pick(rng, ["y($X)", "$X"])
        return i

    def expect(i, out):
        root = ast_grep_py.SgRoot(i["source"], i["language"]).root()
        found = root.find_all(pattern=i["pattern"])
        matches = [{
            "start": n.range().start.index, "end": n.range().end.index, "line": n.range().start.line + 1, "text": n.text(), "bindings": {
                name: n.get_match(name).text()
                for name in "XABCNF" if f"${name}" in i["pattern"].replace("$$$A", "").replace("$$$B", "") and n.get_match(name)
            }
        } for n in found]
        expected = {"count": len(matches), "matches": whole(matches, out["matches"])}
        if "rewrite" in i:
            # The outermost of nested matches is rewritten.
            edits, end = [], -1
            for n in sorted(found, key=lambda n: (n.range().start.index, -n.range().end.index)):
                if n.range().start.index >= end:
                    end = n.range().end.index
                    edits.append(n.replace(i["rewrite"].replace("$X", n.get_match("X").text())))
            expected["rewritten"] = root.commit_edits(edits)
        return expected

    accepts = lambda i: True


@oracle(193, "all pairs of runs", 1e-12, 100)
class Clones:
    """A token a line, so that lines are places of tokens."""

    def sample(rng):
        alphabet = [f"w{k}" for k in range(int(rng.integers(2, 200)))]
        block = [pick(rng, alphabet) for _ in range(int(rng.integers(20, 45)))]
        def file():
            parts = []
            for _ in range(int(rng.integers(1, 4))):
                parts += [pick(rng, alphabet) for _ in range(int(rng.integers(0, 30)))]
                parts += block if rng.random() < 0.7 else []
            return parts

        return {
            "files": [{"path": f"{k}.txt", "source": "\n".join(file()) + "\n"} for k in range(int(rng.integers(1, 4)))], "min_tokens": 20,
            "normalise_identifiers": False
        }

    def expect(i, out):
        texts = [f["source"].split() for f in i["files"]]
        least, covered = i["min_tokens"], [np.zeros(len(t), bool) for t in texts]
        runs = collections.defaultdict(list)
        for k, text in enumerate(texts):
            for at in range(len(text) - least + 1):
                runs[tuple(text[at:at + least])].append((k, at))
        for places in runs.values():
            if len(places) > 1:
                for k, at in places:
                    covered[k][at:at + least] = True
        wrong, mine = [], [np.zeros(len(t), bool) for t in texts]
        for clone in out["clones"]:
            parts = []
            for place in clone["places"]:
                k = int(place["path"].split(".")[0])
                parts.append(texts[k][place["start"] - 1:place["end"]])
                mine[k][place["start"] - 1:place["end"]] = True
            if len(parts) < 2 or any(part != parts[0] for part in parts) or len(parts[0]) != clone["tokens"] or clone["tokens"] < least:
                wrong.append(clone)
        # Runs that overlap with themselves only, as in a text of one word, are no two places.
        alone = sum((c & ~m).sum() for c, m in zip(covered, mine))
        extra = sum((m & ~c).sum() for c, m in zip(covered, mine))
        share = sum(m.sum() for m in mine) / max(1, sum(map(len, texts)))
        return {"clones": None if not wrong and not extra and not alone else f"wrong {wrong}, {extra} not copied, {alone} missed", "duplication": share}

    accepts = lambda i: True


@oracle(194, "networkx, packaging", 0)
class DependencyGraph:
    def sample(rng):
        names = [f"p{k}" for k in range(int(rng.integers(2, 12)))]
        if rng.random() < 0.3:
            lines = [
                pick(rng, [
                    "Django==4.2.1", "requests>=2,<3", "my_Pkg[extra]~=1.0 ; python_version < '3.12'", "# note", "", "a.b-c==1.0  # why",
                    "x @ https://host.example/x.zip", "-r other.txt", "numpy", "Pillow!=9.0"
                ]) for _ in range(8)
            ]
            return {"manifests": [{"path": "requirements.txt", "content": "\n".join(lines) + "\n"}]}
        packages = {(n, f"1.{k}.0") for n in names for k in range(1 + int(rng.random() < 0.2))}
        packages = sorted(packages)
        edges = {p: sorted({pick(rng, packages) for _ in range(int(rng.integers(0, 4)))} - {p}) for p in packages}
        root = ("app", "0.1.0")
        edges[root] = sorted({pick(rng, packages) for _ in range(int(rng.integers(1, 4)))})
        several = {n for n, count in collections.Counter(n for n, _ in packages).items() if count > 1}
        label = lambda p: f"{p[0]} {p[1]}" if p[0] in several else p[0]
        def entry(p):
            source = "" if p == root else 'source = "registry+https://github.com/rust-lang/crates.io-index"\n'
            needs = "".join(f' "{label(q)}",\n' for q in edges[p])
            return f'[[package]]\nname = "{p[0]}"\nversion = "{p[1]}"\n{source}' + (f"dependencies = [\n{needs}]\n" if needs else "") + "\n"
        text = "version = 4\n\n" + "".join(entry(p) for p in sorted([root, *packages]))
        return {"manifests": [{"path": "Cargo.lock", "content": text}], "_edges": [[list(p), [list(q) for q in qs]] for p, qs in edges.items()]}

    def expect(i, out):
        if "_edges" not in i:
            found = {}
            for line in i["manifests"][0]["content"].split("\n"):
                line = line.split(" #")[0].strip()
                if line and not line.startswith(("#", "-")):
                    requirement = packaging.requirements.Requirement(line)
                    found[packaging.utils.canonicalize_name(requirement.name)] = requirement
            return {
                "packages": exact(sorted(found), sorted(packaging.utils.canonicalize_name(p["name"]) for p in out["packages"])), "edges": whole([],
                                                                                                                                                out["edges"])
            }
        graph = nx.DiGraph()
        for p, qs in i["_edges"]:
            graph.add_node(tuple(p))
            graph.add_edges_from((tuple(p), tuple(q)) for q in qs)
        several = {n for n, count in collections.Counter(n for n, _ in graph).items() if count > 1}
        label = lambda p: f"{p[0]}@{p[1]}" if p[0] in several else p[0]
        root = ("app", "0.1.0")
        depth = nx.single_source_shortest_path_length(graph, root)
        packages = [{"name": n, "version": v, "direct": graph.has_edge(root, (n, v)), "depth": depth.get((n, v), -1), "dependents": graph.in_degree((n, v))}
                    for n, v in sorted(graph)]
        cycles = sorted(sorted(label(p) for p in c) for c in nx.strongly_connected_components(graph) if len(c) > 1)
        versions = {n: sorted(v for m, v in graph if m == n) for n in several}
        return {
            "packages": whole(packages, out["packages"]), "edges": exact(sorted([label(a), label(b)] for a, b in graph.edges), sorted(out["edges"])),
            "cycles": exact(cycles, sorted(sorted(c) for c in out["cycles"])), "duplicates": exact(versions, out["duplicates"])
        }

    accepts = lambda i: True


@oracle(195, "packageurl-python, cyclonedx-python-lib, spdx-tools", 0, 100)
class Sbom:
    def sample(rng):
        ecosystems = ["cargo", "npm", "pypi", "golang", "maven", "gem", "nuget", "composer", "github", "generic"]
        names = {
            "npm": ["@scope/pkg", "left-pad"], "golang": ["github.com/gin-gonic/gin", "golang.org/x/net"], "maven": ["org.apache:commons-lang3"],
            "pypi": ["My_Pkg", "Django"], "composer": ["Vendor/Pkg"], "github": ["Owner/Repo"]
        }
        components = []
        for k in range(int(rng.integers(1, 7))):
            ecosystem = pick(rng, ecosystems)
            component = {
                "name": pick(rng, names.get(ecosystem, ["serde", "a b", "ü", "x+y", "rack"])),
                "version": pick(rng, ["1.0.0", "2.0.0-rc.1+build", "v1.2", f"0.{k}", "1:2.3"]), "ecosystem": ecosystem
            }
            more = {
                "licence": pick(rng, ["MIT", "MIT OR Apache-2.0", "Own licence", "GPL-2.0-only WITH Classpath-exception-2.0"]), "sha256": "a" * 64,
                "supplier": "Who"
            }
            components.append(component | {name: value for name, value in more.items() if rng.random() < 0.5})
        for component in components[1:]:
            if rng.random() < 0.5:
                component["depends_on"] = [components[0]["name"]]
        return {
            "components": components, "format": pick(rng, ["cyclonedx", "spdx"]), "subject": {"name": "app", "version": "1.0"},
            "timestamp": "2026-01-01T00:00:00Z"
        }

    def purl(component):
        ecosystem, name = component["ecosystem"], component["name"]
        name = name.replace(":", "/", 1) if ecosystem == "maven" else name
        namespace, _, last = name.rpartition("/")
        return packageurl.PackageURL(ecosystem, namespace or None, last, component["version"]).to_string()

    def expect(i, out):
        purls = list(dict.fromkeys(Sbom.purl(c) for c in i["components"]))
        expected = {"purls": whole(purls, out["purls"])}
        if i["format"] == "cyclonedx":
            version = {"1.5": SchemaVersion.V1_5, "1.6": SchemaVersion.V1_6}[out["sbom"]["specVersion"]]
            error = JsonStrictValidator(version).validate_str(json.dumps(out["sbom"]))
            return expected | {"sbom": None if error is None else str(error)}
        document = spdx_tools.spdx.parser.jsonlikedict.json_like_dict_parser.JsonLikeDictParser().parse(copy.deepcopy(out["sbom"]))
        problems = spdx_tools.spdx.validation.document_validator.validate_full_spdx_document(document, "SPDX-2.3")
        return expected | {"sbom": None if not problems else "; ".join(p.validation_message for p in problems)}

    accepts = lambda i: True


@oracle(196, "license-expression, spdx-lookup", 0)
class Licence:
    """Expressions, and texts of the list with other holders and line ends; the package knows the list of 2017."""

    IDS = [
        "MIT", "Apache-2.0", "BSD-3-Clause", "GPL-2.0-only", "GPL-3.0-or-later", "MPL-2.0", "ISC", "Zlib", "LGPL-2.1-or-later", "Unlicense", "CC0-1.0",
        "BSL-1.0"
    ]
    TEXTS = [
        "MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MPL-2.0", "Zlib", "Unlicense", "BSL-1.0", "EPL-1.0", "CC0-1.0", "NCSA", "PostgreSQL",
        "Artistic-2.0", "OFL-1.1", "AFL-3.0", "0BSD", "WTFPL"
    ]
    SPDX = license_expression.get_spdx_licensing()

    def expression(rng, depth=2):
        if depth == 0 or rng.random() < 0.3:
            return pick(rng, Licence.IDS) if rng.random() < 0.95 else "GPL-2.0-only WITH Classpath-exception-2.0"
        return f"({Licence.expression(rng, depth - 1)} {pick(rng, ['AND', 'OR'])} {Licence.expression(rng, depth - 1)})"

    def sample(rng):
        if rng.random() < 0.4:
            name = pick(rng, Licence.TEXTS)
            text = spdx_lookup.by_id(name).template
            text = spdx_lookup._spdx_var_re.sub(lambda m: m.group(2), text)
            text = text.replace("<<beginOptional;name=", "").replace("<<endOptional>>", "")
            edits = [
                lambda t: t.replace("\n", "\r\n"), lambda t: t.upper(), lambda t: "Copyright (c) 2020 Ünal & Co.\n\n" + t,
                lambda t: "\n".join(" * " + line for line in t.split("\n")), lambda t: "\n\n".join(" ".join(part.split()) for part in t.split("\n\n"))
            ]
            return {"text": pick(rng, edits)(text), "_id": name}
        text = Licence.expression(rng)
        if rng.random() < 0.2:
            text = pick(rng, [
                text + " AND", "(" + text,
                text.replace("AND", "and"), text + " Foo-1.0", "Foo-1.0",
                text.lower(), "MIT AND (", "MIT MIT", "", "GPL-2.0+", "MIT+"
            ])
        return {"expression": text}

    def expect(i, out):
        if "text" in i:
            return {"licence": i["_id"]}
        found = out["expression"]
        if i["expression"] == "MIT+":
            # Annex D.1: an identifier and a plus. The package knows those of its list only.
            return {"expression": {"valid": True}}
        try:
            parsed = Licence.SPDX.parse(i["expression"], validate=True, strict=True)
            if parsed is None:
                raise license_expression.ExpressionError("empty")
        except license_expression.ExpressionError:
            return {"expression": {"valid": False}}
        same = Licence.SPDX.is_equivalent(i["expression"], found["normalised"]) and len(found["normalised"]) <= len(i["expression"])
        names = sorted({str(key) for key in parsed.objects} - {"Classpath-exception-2.0"})
        return {
            "expression": {
                "valid": True, "normalised": None if same else str(parsed),
                "licences": exact(names, [n.replace(" WITH Classpath-exception-2.0", "") for n in found["licences"]]) if "WITH" not in i["expression"] else None
            }
        }

    accepts = lambda i: True


@oracle(197, "semver, node-semver, packaging", 0)
class Versions:
    def version(rng, scheme):
        n = lambda: pick(rng, [0, 1, 2, 3, 10, 11])
        plain = f"{n()}.{n()}.{n()}"
        if scheme == "pep440":
            return pick(rng, [
                plain, f"{n()}", f"{n()}.{n()}", f"{plain}a{n()}", f"{plain}rc{n()}", f"{plain}.post{n()}", f"{plain}.dev{n()}", f"{n()}!{plain}",
                f"{plain}+local.{n()}", f"v{plain}", f"{plain}-{n()}", f"{plain}.a{n()}.dev1", f"{plain} ", f"{plain}x", "1.0.0.0", f"{plain}-beta_2"
            ])
        more = [f"v{plain}", f"={plain}"] if scheme == "npm" else []
        return pick(rng, [
            plain, plain, f"{plain}-rc.{n()}", f"{plain}-alpha", f"{plain}-alpha.{n()}", f"{plain}+b.{n()}", f"{plain}-{n()}", f"{plain}-0x.1", f"{n()}.{n()}",
            f"{plain}-01", f"0{plain}", "x", "", *more
        ])

    def sample(rng):
        scheme = pick(rng, ["semver", "npm", "pep440"])
        n = lambda: pick(rng, [0, 1, 2, 3, 10])
        i = {"scheme": scheme, "versions": [Versions.version(rng, scheme) for _ in range(int(rng.integers(1, 15)))]}
        if scheme == "npm" and rng.random() < 0.8:
            i["range"] = pick(rng, [
                f"^{n()}.{n()}.{n()}", f"~{n()}.{n()}", f">={n()}.{n()}.0 <{n()}.0.0", f"{n()}.x", f"{n()}.{n()}.0 - {n()}.{n()}.0", "*", f"^0.{n()}.{n()}",
                f"^{n()}.0.0 || ~{n()}.{n()}.{n()}", f">{n()}", f"<={n()}.{n()}", f"^{n()}.{n()}.{n()}-rc.1", f"=={n()}", "", "latest", f"~>{n()}.{n()}",
                f">= {n()}.{n()}.{n()}", f"<{n()}.{n()}.{n()}-beta", f"^{n()}.x", f"{n()}"
            ])
        if scheme == "pep440" and rng.random() < 0.8:
            i["range"] = pick(rng, [
                f">={n()}.{n()}", f"=={n()}.{n()}.*", f"~={n()}.{n()}", f"!={n()}.{n()}.{n()}", f">={n()},<{n() + 2}", f"=={n()}.{n()}.{n()}", f">{n()}.{n()}",
                f"<={n()}.{n()}", f"~={n()}.{n()}.{n()}", f"<{n()}.0rc1", "===1.0.0", f">={n()}.{n()}a1", f"!={n()}.*"
            ])
        if rng.random() < 0.4:
            i |= {"bump": pick(rng, ["patch", "minor", "major", "prerelease"])}
        return i

    def parsed(i):
        scheme, good, bad = i["scheme"], [], []
        for text in i["versions"]:
            try:
                if scheme == "pep440":
                    good.append((packaging.version.Version(text), text))
                elif scheme == "semver":
                    good.append((semver.Version.parse(text), text))
                else:
                    found = nodesemver.make_semver(text, False)
                    good.append((semver.Version.parse(found.version), text))
            except (ValueError, TypeError):
                bad.append(text)
        return good, bad

    def expect(i, out):
        good, bad = Versions.parsed(i)
        order = sorted(good, key=lambda pair: pair[0])
        rank = {text: version for version, text in good}
        # Equal versions with other builds keep their order.
        sorted_well = [rank.get(t) for t in out["sorted"]] == [v for v, _ in order] and sorted(out["sorted"]) == sorted(t for _, t in good)
        expected = {"sorted": None if sorted_well else f"{[t for _, t in order]}", "invalid": whole(bad, out["invalid"])}
        matching = [t for _, t in order]
        if i.get("range") is not None:
            if i["scheme"] == "npm":
                matching = [t for v, t in order if nodesemver.satisfies(str(v), i["range"], False)]
            else:
                specifiers = packaging.specifiers.SpecifierSet(i["range"])
                matching = [t for t in specifiers.filter(t for _, t in order)]
            expected["best"] = None if not matching else out["best"] if rank.get(out.get("best")) == max(rank[t] for t in matching) else f"{matching[-1]}"
        expected["matching"] = exact(sorted(matching), sorted(out["matching"]))
        if i.get("bump") and i["scheme"] != "pep440" and out.get("next"):
            raised = nodesemver.inc(str(rank[out["best"]]), i["bump"], False)
            expected["next"] = str(raised)
        return expected

    def accepts(i):
        try:
            if i["scheme"] == "npm" and i.get("range") is not None:
                return nodesemver.valid_range(i["range"], False) is not None
            if i["scheme"] == "pep440" and i.get("range"):
                packaging.specifiers.SpecifierSet(i["range"])
        except Exception:
            return False
        return True


@oracle(198, "difflib, unidiff", 0)
class Patch:
    def sample(rng):
        files, texts, around = {}, [], int(rng.integers(0, 4))
        for k in range(int(rng.integers(1, 4))):
            before = [pick(rng, ["a", "b", "", "ü", "  x", "-- y", "++ z", "@@ -1 +1 @@", "\\ no"]) for _ in range(int(rng.integers(0, 25)))]
            after = [line for line in before if rng.random() < 0.9]
            for _ in range(int(rng.integers(0, 4))):
                after.insert(int(rng.integers(0, len(after) + 1)), pick(rng, ["new", "--- a/x", "+++ b/x", "ß"]))
            if before == after or not before or not after:
                continue
            old, new = "\n".join(before) + "\n", "\n".join(after) + "\n"
            lines = list(difflib.unified_diff(old.splitlines(True), new.splitlines(True), f"a/f{k}.txt", f"b/f{k}.txt", n=around))
            files[f"f{k}.txt"] = [old, new]
            texts.append("".join(lines))
        if not texts:
            return Patch.sample(np.random.default_rng(int(rng.integers(1 << 30))))
        given = {name: pair[0] for name, pair in files.items()}
        # Without context a hunk that only inserts fits any text.
        if around and rng.random() < 0.2:
            given[next(iter(given))] = "quite another text\n" * 3
        return {"patch": "".join(texts), "files": given, "_after": {name: pair[1] for name, pair in files.items()}}

    def expect(i, out):
        found = unidiff.PatchSet(i["patch"])
        files = [{"path": f.path, "kind": "modified", "insertions": f.added, "deletions": f.removed, "hunks": len(f), "binary": False} for f in found]
        after = {name: text for name, text in i["_after"].items() if not i["files"][name].startswith("quite another")}
        rejected = len(i["_after"]) - len(after)
        return {
            "files": whole(files, out["files"]), "insertions": found.added, "deletions": found.removed, "applied": exact(after, out["applied"]),
            "rejects": [None] * rejected if len(out["rejects"]) == rejected else f"{rejected} rejects"
        }

    accepts = lambda i: True


@oracle(199, "conventional-pre-commit, semver", 0)
class Changelog:
    def sample(rng):
        def message():
            kind, scope = pick(rng, ["feat", "fix", "docs", "chore", "refactor", "perf", "test", "ci"]), pick(rng, ["", "(api)", "(two words)", "(a/b)", "(ü)"])
            text = f"{kind}{scope}{pick(rng, ['', '', '', '!'])}: {pick(rng, ['add it', 'mend x', 'Größe'])}"
            text += pick(
                rng, ["", "", "\n\nA body: of text.", "\n\nBREAKING CHANGE: gone", "\n\nbody\n\nReviewed-by: Z\nRefs: #123", "\n\nBREAKING-CHANGE: gone too"])
            return pick(rng, [text] * 6 + ["no type", "feat add", "feat(: x", "feat:no space", ": x", "feat: ", "Feat: x", "FIX: y"])

        return {
            "commits": [{"id": f"{k:07x}", "message": message()} for k in range(int(rng.integers(1, 10)))],
            "current_version": pick(rng, ["0.1.2", "1.2.3", "2.0.0"])
        }

    def expect(i, out):
        kinds = ["feat", "fix", "docs", "chore", "refactor", "perf", "test", "ci"]
        bump, bad, breaking = 0, [], 0
        for commit in i["commits"]:
            text = commit["message"]
            # The specification leaves the case of types open, and the package asks for lower case.
            lowered = text[:1].lower() + text[1:] if text.split(":")[0] == "Feat" else text.lower() if text.startswith("FIX") else text
            if not ConventionalCommit(lowered, types=kinds, scope_optional=True).is_valid():
                bad.append(commit["id"])
                continue
            head, *rest = lowered.split("\n")
            major = head.split(":")[0].endswith("!") or any(line.startswith(("BREAKING CHANGE: ", "BREAKING-CHANGE: ")) for line in rest)
            breaking += major
            bump = max(bump, 3 if major else 2 if head.startswith("feat") else 1 if head.startswith("fix") else 0)
        version = semver.Version.parse(i["current_version"])
        bump = min(bump, 2) if version.major == 0 else bump
        version = [version, version.bump_patch(), version.bump_minor(), version.bump_major()][bump]
        return {
            "next_version": str(version), "violations": whole([{"id": b} for b in bad], out["violations"]),
            "breaking": [None] * breaking if len(out["breaking"]) == breaking else f"{breaking} breaking"
        }

    accepts = lambda i: True


@oracle(200, "openapi-spec-validator", 0)
class OpenApi:
    """Validity and the number of operations. The schema of 3.1 leaves schemas within to their dialect, which the package checks as well: those are right."""

    def sample(rng):
        version = pick(rng, ["3.0.3", "3.1.0"])
        schema = lambda: pick(rng, [{"type": "string"}, {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]},
                                   {"$ref": "#/components/schemas/S"}, {"type": "array", "items": {"type": "string"}}, {"type": "text"}
                                   if version == "3.0.3" else {"type": "null"}])
        def operation():
            made = {"responses": {"200": {"description": "ok", "content": {"application/json": {"schema": schema()}}}}}
            if rng.random() < 0.4:
                made["parameters"] = [{"name": "q", "in": pick(rng, ["query", "header", "body"]), "schema": schema()}]
            if rng.random() < 0.3:
                made["operationId"] = f"o{int(rng.integers(1 << 30))}"
            if rng.random() < 0.1:
                del made[pick(rng, list(made))]
            return made

        document = {
            "openapi": version, "info": {"title": "t", "version": "1"}, "paths": {
                f"/p{k}": {m: operation()
                           for m in rng.choice(["get", "post", "put", "delete"], int(rng.integers(1, 4)), replace=False)}
                for k in range(int(rng.integers(0, 4)))
            }, "components": {"schemas": {"S": pick(rng, [{"type": "string"}] * 9 + [{"type": 3} if version == "3.0.3" else {}])}}
        }
        if rng.random() < 0.1:
            del document["info"][pick(rng, ["title", "version"])]
        return {"document": document}

    def expect(i, out):
        document = json.loads(json.dumps(i["document"]))
        cls = openapi_spec_validator.OpenAPIV30SpecValidator if document["openapi"].startswith("3.0") else openapi_spec_validator.OpenAPIV31SpecValidator
        valid = not list(cls(document).iter_errors())
        operations = sum(len(methods) for methods in document["paths"].values())
        return {"valid": valid if valid or not out["valid"] else f"{[e.message for e in cls(document).iter_errors()]} of {document}", "operations": operations}

    accepts = lambda i: True


@oracle(201, "sqlglot", 0)
class Sql:
    DIALECTS = {"generic": None, "postgres": "postgres", "mysql": "mysql", "sqlite": "sqlite", "mssql": "tsql", "bigquery": "bigquery"}
    KINDS = {"Select": "select", "Insert": "insert", "Update": "update", "Delete": "delete", "Create": "create_table", "Drop": "drop", "Union": "select"}

    def sample(rng):
        n = lambda: int(rng.integers(1, 9))
        statement = lambda: pick(rng, [
            "SELECT a.x, b.y FROM a JOIN b ON a.id = b.id WHERE a.z > {n}", "SELECT * FROM t", "SELECT x FROM t WHERE y IN (SELECT y FROM u WHERE u.k = t.k)",
            "WITH c AS (SELECT x FROM t) SELECT x FROM c JOIN u ON c.x = u.x", "INSERT INTO t (a, b) VALUES ({n}, 'x')", "INSERT INTO t (a) SELECT b FROM u",
            "UPDATE t SET a = {n} WHERE b = 2", "DELETE FROM t WHERE a = {n}", "DELETE FROM t", "CREATE TABLE n{n} (id INT PRIMARY KEY, v TEXT)",
            "DROP TABLE t", "SELECT a FROM t UNION ALL SELECT b FROM u", "SELECT count(*) AS n, max(x) FROM t GROUP BY y HAVING count(*) > {n} ORDER BY n",
            "SELECT t.a FROM s1.t AS t LEFT JOIN s2.u AS u ON t.i = u.i", "SELECT x FROM (SELECT y AS x FROM t) AS q", "SELECT a FROM t WHERE",
            "SELECT 'it''s', \"x\" FROM t", "SELECT CASE WHEN a > 1 THEN b ELSE c END FROM t", "SELECT a FROM t WHERE b LIKE '%x'",
            "SELECT a FROM t ORDER BY b LIMIT {n}", "SELECT EXISTS (SELECT 1 FROM u) FROM t"
        ]).format(n=n())
        dialect = pick(rng, list(Sql.DIALECTS))
        texts = [statement() for _ in range(int(rng.integers(1, 4)))]
        texts = [t for t in texts if (dialect != "mssql" or "LIMIT" not in t and "EXISTS (" not in t) and (dialect != "bigquery" or "''" not in t)
                 ] or ["SELECT 1 FROM t"]
        return {"sql": ";\n".join(texts), "dialect": dialect}

    def expect(i, out):
        statements, bad = [], 0
        for text in i["sql"].split(";\n"):
            try:
                parsed = sqlglot.parse_one(text, dialect=Sql.DIALECTS[i["dialect"]])
                if text == "SELECT a FROM t WHERE":
                    raise sqlglot.errors.ParseError(text)
            except sqlglot.errors.ParseError:
                bad += 1
                continue
            temporary = {cte.alias for cte in parsed.find_all(sqlglot.exp.CTE)}
            tables = {".".join(p.name for p in t.parts) for t in parsed.find_all(sqlglot.exp.Table)} - temporary
            # Names that a subquery or a common table gives are no columns of a table.
            given = {a.alias for q in parsed.find_all(sqlglot.exp.Subquery, sqlglot.exp.CTE) for a in q.find_all(sqlglot.exp.Alias)} | {"n", "*"}
            columns = {c.name for c in parsed.find_all(sqlglot.exp.Column)}
            kind = type(parsed).__name__
            statements.append((Sql.KINDS[kind], tables, columns - given, given, kind in ("Insert", "Update", "Delete", "Create", "Drop")))
        wrong = []
        for (kind, tables, columns, given, writes), mine in zip(statements, out["statements"]):
            named = {c.split(".")[-1] for c in mine["columns"]}
            # Columns of INSERT and CREATE are no expressions in sqlglot, and names of outputs in ORDER BY are.
            plain = kind in ("select", "delete")
            if set(mine["tables"]) != tables or mine["writes"] != writes or not mine["kind"].replace(" ", "_").startswith(
                    kind.split("_")[0]) or plain and named - given != columns:
                wrong.append((kind, sorted(tables), sorted(columns), mine))
        good = not wrong and len(statements) == len(out["statements"]) and len(out["errors"]) == bad
        return {"statements": None if good else f"{i['sql']!r} {i['dialect']}: {wrong} {len(statements)} statements, {bad} errors", "errors": None}

    accepts = lambda i: True


@oracle(202, "junitparser, tap.py, pycobertura", 1e-9)
class TestReport:
    def sample(rng):
        n = lambda low, high: int(rng.integers(low, high))
        kind = pick(rng, ["junit", "tap", "lcov", "cobertura"])
        names = [f"test_{k}" for k in range(n(1, 12))]
        if kind == "junit":
            def case(name):
                inner = pick(rng,
                            ["", "", "", '<failure message="no &amp; no">trace</failure>', "<error>e</error>", "<skipped/>", "<system-out>text</system-out>"])
                return f'<testcase classname="s.C" name="{xml.sax.saxutils.escape(name)}" time="{rng.uniform(0, 3):.3f}">{inner}</testcase>'

            suites = "".join(f'<testsuite name="s{k}">{"".join(case(name) for name in names)}</testsuite>' for k in range(n(1, 3)))
            text = f'<?xml version="1.0"?><testsuites>{suites}</testsuites>'
        elif kind == "tap":
            lines = [f"1..{len(names)}"] + [
                f"{pick(rng, ['ok', 'ok', 'not ok'])} {k + 1} - {name}{pick(rng, ['', '', ' # SKIP why', ' # TODO later'])}" for k, name in enumerate(names)
            ]
            text = "\n".join(["TAP version 13", *lines, "# note"]) + "\n"
        elif kind == "lcov":
            text = "".join(f"TN:\nSF:src/f{k}.rs\n" + "".join(f"DA:{line},{n(0, 3)}\n"
                                                              for line in range(1, n(2, 20))) + "".join(f"BRDA:1,0,{b},{pick(rng, ['-', '0', '2'])}\n"
                                                                                                        for b in range(n(0, 4))) + "end_of_record\n"
                           for k in range(n(1, 4)))
        else:
            files = "".join(f'<class name="f{k}" filename="src/f{k}.py" line-rate="0"><methods/><lines>' +
                            "".join(f'<line number="{line}" hits="{n(0, 3)}"/>' for line in range(1, n(2, 20))) + "</lines></class>" for k in range(n(1, 4)))
            rates = 'line-rate="0" branch-rate="0"'
            package = f'<package name="p" {rates} complexity="0"><classes>{files}</classes></package>'
            text = (f'<?xml version="1.0"?><coverage {rates} version="1" timestamp="1"><sources><source>.</source></sources>'
                    f"<packages>{package}</packages></coverage>")
        i = {"reports": [{"name": f"r.{kind}", "content": text}], "_kind": kind}
        if kind in ("lcov", "cobertura"):
            i |= {
                "minimum_coverage": float(rng.uniform(20, 90)),
                "changed_lines": {"src/f0." + ("rs" if kind == "lcov" else "py"): [1, 2, 3, 99]} if rng.random() < 0.5 else {}
            }
        return i

    def expect(i, out):
        text, kind = i["reports"][0]["content"], i["_kind"]
        if kind == "junit":
            cases = [(c, [type(r).__name__ for r in c.result]) for suite in JUnitXml.fromstring(text.encode()) for c in suite]
            failed = [c for c, r in cases if "Failure" in r or "Error" in r]
            skipped = [c for c, r in cases if "Skipped" in r]
            slowest = sorted((c.time for c, _ in cases if c.time), reverse=True)[:10]
            return {
                "failed": len(failed), "skipped": len(skipped), "passed": len(cases) - len(failed) - len(skipped), "duration": sum(c.time for c, _ in cases),
                "failures": whole([{"test": c.name} for c in failed], out["failures"]), "slowest": whole([{"seconds": s} for s in slowest],
                                                                                                         out["slowest"]), "gate": not failed
            }
        if kind == "tap":
            results = [line for line in tap.parser.Parser().parse_text(text) if line.category == "test"]
            # A test that is to be done may fail.
            skipped = [r for r in results if r.skip or r.todo and not r.ok]
            failed = [r for r in results if not r.ok and not r.skip and not r.todo]
            return {
                "failed": len(failed), "skipped": len(skipped), "passed": len(results) - len(failed) - len(skipped),
                "failures": whole([{"test": r.description.removeprefix("- ")} for r in failed], out["failures"])
            }
        if kind == "cobertura":
            found = pycobertura.Cobertura(io.StringIO(text))
            lines = {f"src/{f.split('/')[-1]}": dict((line, hit) for line, hit in found.line_statuses(f)) for f in found.files()}
            lines = {f: {k: v == "hit" for k, v in hits.items()} for f, hits in lines.items()}
            share, branches = 100 * found.total_hits() / max(1, found.total_statements()), -1
        else:
            lines, branch, path = {}, [], ""
            for line in text.split("\n"):
                key, _, rest = line.partition(":")
                if key == "SF":
                    path = rest
                if key == "DA":
                    lines.setdefault(path, {})[int(rest.split(",")[0])] = int(rest.split(",")[1]) > 0
                if key == "BRDA":
                    branch.append(rest.split(",")[3] not in ("-", "0"))
            hits = [hit for file in lines.values() for hit in file.values()]
            share, branches = 100 * np.mean(hits), 100 * np.mean(branch) if branch else -1
        changed = [lines[f][int(k)] for f, ks in i["changed_lines"].items() for k in ks if f in lines and int(k) in lines[f]]
        part = 100 * np.mean(changed) if changed else -1
        gate = (part if i["changed_lines"] else share) >= i["minimum_coverage"] if not i["changed_lines"] or changed else True
        return {"coverage": {"lines": share, "branches": branches, "changed": part}, "gate": gate}

    accepts = lambda i: True


if __name__ == "__main__":
    main("code", ORACLES)
