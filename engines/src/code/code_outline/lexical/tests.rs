use super::super::tests::by_words;
use super::super::*;
use super::outline;

/// A Tour of Go, "Methods": a guess by how lines begin, and a file's name that says more.
#[test]
fn without_grammars_the_language_is_guessed_by_its_lines() {
    let told = |source: &str, filename: Option<&str>| {
        let filename = filename.map(str::to_owned);
        let input = Input { source: source.to_owned(), language: "auto".to_owned(), filename };
        outline(&input, &Context::default()).map(|output| output.language)
    };
    assert_eq!(told("package main\n\nfunc main() {}\n", None), Ok("go"));
    assert_eq!(told("def f(x):\n    return x\n", None), Ok("python"));
    assert_eq!(told("fn main() {}\nlet mut x = 1;\n", None), Ok("rust"));
    assert_eq!(told("def f(x):\n    return x\n", Some("f.tsx")), Ok("typescript"));
    assert!(matches!(told("", None), Err(Failure::Invalid { .. })));
}

/// What looks like a definition in a comment, a string, a template, a regular expression or a macro is none.
#[test]
fn without_grammars_only_code_defines() {
    let names = |source: &str, language: &str| -> Vec<String> {
        let symbols = by_words(source, language)["symbols"].as_array().unwrap().clone();
        symbols.iter().map(|symbol| symbol["name"].as_str().unwrap().to_owned()).collect()
    };
    let rust = "/* fn a() {} /* fn b() {} */ fn c() {} */ const D: &str = r#\"fn e() {} \" \"#;\nlet f: &'g str = \"fn h() {\";\nfn i<'j>() { macro! { fn k() {} } let l = '{'; fn m() {} }\n";
    assert_eq!(names(rust, "rust"), ["D", "i", "m"]);
    let script = "const a = `class B { ${ `function c() {` } }`;\nif (/[/]{ class D {/.test(a)) { function e() {} }\n// class F {}\nconst { g } = h({ i() {} });\n";
    assert_eq!(names(script, "javascript"), ["a", "e"]);
    let python =
        "a = \"\"\"\ndef b(): pass\n\"\"\"\nclass C: # class D:\n    e = [\n  'def f():',\n]\n    def g(self): pass\n";
    assert_eq!(names(python, "python"), ["a", "C", "g"]);
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(300))]

    #[test]
    fn without_grammars_any_text_is_read(pieces in proptest::collection::vec(0..PIECES.len(), 0..60)) {
        let source: String = pieces.iter().map(|&piece| PIECES[piece]).collect();
        for language in ["rust", "python", "javascript", "typescript", "go", "java", "c"] {
            let output = by_words(&source, language);
            let lines = source.lines().count().max(1);
            for symbol in output["symbols"].as_array().unwrap() {
                let (start, end) = (symbol["start"].as_u64().unwrap(), symbol["end"].as_u64().unwrap());
                proptest::prop_assert!(1 <= start && start <= end && end <= lines as u64, "{symbol} of {source:?}");
            }
        }
    }
}

const PIECES: [&str; 48] = [
    "fn ",
    "struct ",
    "impl ",
    "for ",
    "class ",
    "def ",
    "function ",
    "type ",
    "interface ",
    "const ",
    "import ",
    "use ",
    "typedef ",
    "async ",
    "export ",
    "enum ",
    "func ",
    "a",
    "B ",
    "é",
    " ",
    "\n",
    "\t",
    "    ",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ",",
    ":",
    "=",
    "=>",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "${",
    "/",
    "//",
    "/*",
    "*/",
    "#",
    "\\",
    "\"\"\"",
];
