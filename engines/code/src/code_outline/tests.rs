use serde_json::{Value, json};

use super::*;

fn run(source: &str, language: &str) -> Value {
    crate::FAMILY.run(189, json!({ "source": source, "language": language }), &Context::default()).unwrap()
}

/// Formats symbols as `kind parent.name start-end`.
fn symbols(source: &str, language: &str) -> Vec<String> {
    let output = run(source, language);
    assert_eq!((&output["errors"], &output["language"]), (&json!(0), &json!(language)), "{output:#}");
    let reported = |symbol: &Value| {
        let of = |field: &str| symbol[field].as_str().unwrap().to_owned();
        let parent = of("parent");
        let dot = if parent.is_empty() { "" } else { "." };
        format!("{} {parent}{dot}{} {}-{}", of("kind"), of("name"), symbol["start"], symbol["end"])
    };
    output["symbols"].as_array().unwrap().iter().map(reported).collect()
}

/// universal-ctags, Units/parser-python.r/python-end-field.d: kinds, scopes, first and last lines.
#[test]
fn python_outline_matches_ctags() {
    let source = "\
class A(object):

    def f(self):
        def g(x):
            pass

        pass


    y = 1

    def h(self):

        pass

    def i(self):
        x = 1
        pass
";
    let expected = ["class A 1-18", "method A.f 3-7", "function f.g 4-5", "method A.h 12-14", "method A.i 16-18"];
    assert_eq!(symbols(source, "python"), expected);
}

/// universal-ctags, Units/parser-rust.r/rust-simple.d (from the Rust guide); its `implementation` is our parent.
#[test]
fn rust_outline_matches_ctags() {
    let source = "\
fn main() {
\tprintln!(\"Hello, world!\");
}
struct Circle {
    x: f64,
    y: f64,
    radius: f64,
}

impl Circle {
    fn area(&self) -> f64 {
        std::f64::consts::PI * (self.radius * self.radius)
    }
}
";
    assert_eq!(symbols(source, "rust"), ["function main 1-3", "struct Circle 4-8", "method Circle.area 11-13"]);
    assert_eq!(run(source, "rust")["symbols"][2]["signature"], "fn area(&self) -> f64");
}

/// The Rust Reference, "Doc comments": what is a doc comment and what is not.
#[test]
fn only_rust_doc_comments_are_returned() {
    let source = "\
/// Outer line doc (exactly 3 slashes)
#[derive(Debug)]
/// and more
pub struct A(u8, u8);
//// Only a comment
/* Only a comment */
pub mod outer {
    /** Outer block doc (exactly 2 asterisks)
     * with a line more */
    pub trait T { fn f(&self); }
    /*** Only a comment */
    macro_rules! m { () => {} }
}
/// Too far away.

const K: u8 = 1;
";
    let output = run(source, "rust");
    let listed = output["symbols"].as_array().unwrap();
    let docs: Vec<_> = listed.iter().map(|symbol| symbol["doc"].as_str().unwrap()).collect();
    let block = "Outer block doc (exactly 2 asterisks)\nwith a line more";
    assert_eq!(docs, ["Outer line doc (exactly 3 slashes)\nand more", "", block, "", "", ""]);
    assert_eq!(output["symbols"][0]["signature"], "pub struct A(u8, u8)");
    let expected = [
        "struct A 4-4",
        "module outer 7-13",
        "interface outer.T 10-10",
        "method T.f 10-10",
        "macro outer.m 12-12",
        "constant K 16-16",
    ];
    assert_eq!(symbols(source, "rust"), expected);
}

/// PEP 257's examples of docstrings, and the forms of import of the Python Reference, 7.11.
#[test]
fn python_docstrings_and_imports() {
    let source = "\
from __future__ import annotations
import os, sys as system
import os.path
from foo.bar import baz, qux as q
from . import near
from ..up import *

LIMIT = 3
other = 4

@decorated
async def complex(real=0.0, imag=0.0):
    \"\"\"Form a complex number.

    Keyword arguments:
      real -- the real part (default 0.0)
    \"\"\"
    # not this
    return real

class Root:
    r'''The root.'''
";
    let output = run(source, "python");
    let imports = ["annotations", "os", "sys", "os.path", "foo.bar.baz", "foo.bar.qux", ".near", "..up.*"];
    assert_eq!(output["imports"], json!(imports));
    let doc = "Form a complex number.\n\nKeyword arguments:\n  real -- the real part (default 0.0)";
    assert_eq!(output["symbols"][2]["doc"], doc);
    assert_eq!(output["symbols"][2]["signature"], "async def complex(real=0.0, imag=0.0)");
    assert_eq!(output["symbols"][3]["doc"], "The root.");
    let expected = ["constant LIMIT 8-8", "variable other 9-9", "function complex 12-19", "class Root 21-22"];
    assert_eq!(symbols(source, "python"), expected);
}

/// After the TypeScript Handbook's pages on classes, interfaces, enums, namespaces and modules.
#[test]
fn typescript() {
    let source = "\
import { a } from \"./a\";
export * from './b';
const fs = require('fs');
/**
 * A greeter.
 * @public
 */
export class Greeter<T> {
  constructor(readonly message: T) {}
  greet = () => \"Hello, \" + this.message;
  get length(): number { return 1; }
}
// Adds.
export const add = async (x: number, y: number): Promise<number> => { return x + y };
interface Point { distance(other: Point): number }
enum Direction { Up = 1 }
type ID = string | number;
abstract class Base { abstract name(): string }
namespace Validation { export function check() {} }
";
    let output = run(source, "typescript");
    assert_eq!(output["imports"], json!(["./a", "./b", "fs"]));
    assert_eq!(output["symbols"][1]["doc"], "A greeter.\n@public");
    assert_eq!(output["symbols"][5]["doc"], "Adds.");
    let signature = "const add = async (x: number, y: number): Promise<number> =>";
    assert_eq!(output["symbols"][5]["signature"], signature);
    let expected = [
        "constant fs 3-3",
        "class Greeter 8-12",
        "constructor Greeter.constructor 9-9",
        "method Greeter.greet 10-10",
        "method Greeter.length 11-11",
        "function add 14-14",
        "interface Point 15-15",
        "method Point.distance 15-15",
        "enum Direction 16-16",
        "type ID 17-17",
        "class Base 18-18",
        "method Base.name 18-18",
        "module Validation 19-19",
        "function Validation.check 19-19",
    ];
    assert_eq!(symbols(source, "typescript"), expected);
}

/// tree-sitter-javascript's tags.scm: functions by declaration, by variable, by assignment and as members of objects.
#[test]
fn javascript() {
    let source = "\
function a() {}
function* b() {}
var c = function () {};
module.exports.d = () => 1;
const o = { e: function () {} };
class F { #g() {} static h() {} }
";
    let expected = [
        "function a 1-1",
        "function b 2-2",
        "function c 3-3",
        "function d 4-4",
        "constant o 5-5",
        "function o.e 5-5",
        "class F 6-6",
        "method F.#g 6-6",
        "method F.h 6-6",
    ];
    assert_eq!(symbols(source, "javascript"), expected);
}

/// A Tour of Go, "Methods", "Pointer receivers" and "Interfaces"; Effective Go on commentary.
#[test]
fn go() {
    let source = "\
package main

import (
\t\"fmt\"
\tm \"math\"
)

const Pi = 3.14

// Vertex is a point.
type Vertex struct {
\tX, Y float64 // not of Abs
}
// Abs is its length,
// as math has it.
func (v *Vertex) Abs() float64 {
\treturn m.Sqrt(v.X*v.X + v.Y*v.Y)
}

type Abser interface {
\tAbs() float64
}

func main() { fmt.Println(Pi) }
";
    let output = run(source, "go");
    assert_eq!(output["imports"], json!(["fmt", "math"]));
    assert_eq!(output["symbols"][1]["doc"], "Vertex is a point.");
    assert_eq!(output["symbols"][2]["doc"], "Abs is its length,\nas math has it.");
    assert_eq!(output["symbols"][2]["signature"], "func (v *Vertex) Abs() float64");
    let expected = [
        "constant Pi 8-8",
        "struct Vertex 11-13",
        "method Vertex.Abs 16-18",
        "interface Abser 20-22",
        "method Abser.Abs 21-21",
        "function main 24-24",
    ];
    assert_eq!(symbols(source, "go"), expected);
}

/// After the Java Language Specification, 7.5 (imports), 8 and 9 (classes and interfaces), 8.10 (records).
#[test]
fn java() {
    let source = "\
package p;
import java.util.List;
import static java.lang.Math.*;

/**
 * A bicycle.
 */
@Deprecated
public class Bicycle {
    /* not this */
    public Bicycle(int gear) {}
    /** Changes gear. */
    void gear(int value) {}
    enum Color { RED }
}
record Point(int x, int y) {}
interface Shape { double area(); }
";
    let output = run(source, "java");
    assert_eq!(output["imports"], json!(["java.util.List", "java.lang.Math.*"]));
    assert_eq!(output["symbols"][0]["doc"], "A bicycle.");
    assert_eq!(output["symbols"][1]["doc"], "");
    assert_eq!(output["symbols"][2]["doc"], "Changes gear.");
    let expected = [
        "class Bicycle 8-15",
        "constructor Bicycle.Bicycle 11-11",
        "method Bicycle.gear 13-13",
        "enum Bicycle.Color 14-14",
        "class Point 16-16",
        "interface Shape 17-17",
        "method Shape.area 17-17",
    ];
    assert_eq!(symbols(source, "java"), expected);
}

/// After Kernighan and Ritchie, The C Programming Language, 2nd edition, 6.5 (`talloc`) and 6.7 (`typedef`).
#[test]
fn c() {
    let source = "\
#include <stdio.h>
#include \"calc.h\"
#define MAXWORD 100
/* the tree node: */
struct tnode {
    char *word; /* points to the text */
};
typedef struct tnode *Treeptr;

/* talloc: make a tnode */
struct tnode *talloc(void)
{
    return 0;
}
int getword(char *, int);
typedef unsigned long size;
static int main2(int argc) { return argc; }
";
    let output = run(source, "c");
    assert_eq!(output["imports"], json!(["stdio.h", "calc.h"]));
    assert_eq!(output["symbols"][1]["doc"], "the tree node:");
    assert_eq!(output["symbols"][3]["doc"], "talloc: make a tnode");
    assert_eq!(output["symbols"][3]["signature"], "struct tnode *talloc(void)");
    let expected = [
        "macro MAXWORD 3-3",
        "struct tnode 5-7",
        "type Treeptr 8-8",
        "function talloc 11-14",
        "function getword 15-15",
        "type size 16-16",
        "function main2 17-17",
    ];
    assert_eq!(symbols(source, "c"), expected);
}

#[test]
fn the_language_is_detected_from_the_name_or_the_text() {
    let reported = |input: Value| crate::FAMILY.run(189, input, &Context::default()).unwrap()["language"].clone();
    assert_eq!(reported(json!({ "source": "x", "filename": "a/b.PY" })), "python");
    assert_eq!(reported(json!({ "source": "const a = <b>c</b>;", "filename": "a.tsx" })), "typescript");
    let sources = [
        ("fn main() { let mut x = vec![1]; x.push(2); }", "rust"),
        ("def f(x):\n    return [y for y in x]\n", "python"),
        ("const f = (x) => x.map(y => y + 1);\nmodule.exports = f;\n", "javascript"),
        ("interface A { b: string }\nlet a: A = { b: 'c' };\n", "typescript"),
        ("package main\n\nfunc main() { x := 1; _ = x }\n", "go"),
        ("public class A { public static void main(String[] args) {} }", "java"),
        ("#include <stdio.h>\nint main(void) { char *p = \"x\"; return *p; }\n", "c"),
    ];
    for (source, language) in sources {
        assert_eq!(reported(json!({ "source": source })), language, "{source}");
    }
}

#[test]
fn syntax_errors_are_counted_and_the_rest_is_parsed() {
    let source = "fn good() {}\nfn bad( {\nfn other() {}\n";
    let output = run(source, "rust");
    assert!(output["errors"].as_u64().unwrap() > 0);
    assert_eq!(output["symbols"][0]["name"], "good");
}

#[test]
fn deep_wide_or_long_input_terminates() {
    for language in ["rust", "python", "javascript", "typescript", "go", "java", "c"] {
        for source in ["(".repeat(9_000), "{".repeat(3_000), "class A { def f(): fn f() {".repeat(300)] {
            let outcome =
                crate::FAMILY.run(189, json!({ "source": source, "language": language }), &Context::default());
            assert!(matches!(outcome, Ok(_) | Err(Failure::TooLarge { .. })), "{language}: {outcome:?}");
        }
    }
    let list = format!("[{}]", "1,".repeat(30_000));
    assert_eq!(run(&list, "javascript")["errors"], 0);
    let wide = "fn f() {}\n".repeat(MAX_SYMBOLS + 5);
    assert_eq!(run(&wide, "rust")["symbols"].as_array().unwrap().len(), MAX_SYMBOLS);
    let long = " ".repeat(crate::language::MAX_SOURCE + 1);
    let refused = crate::FAMILY.run(189, json!({ "source": long }), &Context::default());
    assert!(matches!(refused, Err(Failure::TooLarge { .. })));
}
