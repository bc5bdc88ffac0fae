use serde_json::{Value, json};

use super::*;

fn run(source: &str, language: &str) -> Value {
    let context = Context::default();
    let output = crate::FAMILY.run(190, json!({ "source": source, "language": language }), &context).unwrap();
    assert_eq!(context.into_warnings(), Vec::<String>::new(), "{source}");
    output
}

/// Cognitive complexity of the first function.
fn cognitive(source: &str, language: &str) -> u64 {
    run(source, language)["functions"][0]["cognitive"].as_u64().unwrap()
}

fn cyclomatic(source: &str, language: &str) -> Vec<u64> {
    let functions = run(source, language)["functions"].clone();
    functions.as_array().unwrap().iter().map(|function| function["cyclomatic"].as_u64().unwrap()).collect()
}

/// Campbell, Cognitive Complexity, version 1.5, page 4: both have a cyclomatic complexity of 4.
#[test]
fn the_white_papers_first_illustration() {
    let primes = "class A { int sumOfPrimes(int max) {
        int total = 0;
        OUT: for (int i = 1; i <= max; ++i) {
            for (int j = 2; j < i; ++j) {
                if (i % j == 0) { continue OUT; }
            }
            total += i;
        }
        return total;
    } }";
    let words = "class A { String getWords(int number) {
        switch (number) {
            case 1: return \"one\";
            case 2: return \"a couple\";
            case 3: return \"a few\";
            default: return \"lots\";
        }
    } }";
    assert_eq!((cognitive(primes, "java"), cyclomatic(primes, "java")), (7, vec![4]));
    assert_eq!((cognitive(words, "java"), cyclomatic(words, "java")), (1, vec![4]));
}

/// Campbell, version 1.5, "Increment for nested flow-break structures", page 8: `myMethod` is 9, `myMethod2` is 2.
#[test]
fn the_white_papers_nesting() {
    let first = "class A { void myMethod () {
        try {
            if (condition1) {
                for (int i = 0; i < 10; i++) {
                    while (condition2) { }
                }
            }
        } catch (ExcepType1 | ExcepType2 e) {
            if (condition2) { }
        }
    } }";
    let second = "class A { void myMethod2 () {
        Runnable r = () -> {
            if (condition1) { }
        };
    } }";
    assert_eq!(cognitive(first, "java"), 9);
    assert_eq!(run(first, "java")["functions"][0]["nesting"], 3);
    assert_eq!(cognitive(second, "java"), 2);
}

/// Campbell, version 1.5, "Sequences of logical operators", page 6: the `if` and its sequences.
#[test]
fn the_white_papers_sequences() {
    let condition = |condition: &str| format!("void f() {{ if ({condition}) {{ }} }}");
    assert_eq!(cognitive(&condition("a && b && c || d || e && f"), "c"), 4);
    assert_eq!(cognitive(&condition("a && !(b && c)"), "c"), 3);
    assert_eq!(cognitive(&condition("a && b && (c && d)"), "c"), 2);
}

/// The tests of the PyPI package cognitive-complexity (tests/test_cognitive_complexity.py), with its values.
#[test]
fn python_matches_the_cognitive_complexity_package() {
    let cases = [
        ("    if a:\n        return 1\n", 1),
        ("    if a and b or True:\n        return 1\n", 3),
        ("    if (\n        a and b and\n        (c or d)\n    ):\n        return 1\n", 3),
        ("    if a:\n        return 1\n    elif b:\n        return 2\n    else:\n        return 3\n", 3),
        ("    if a:\n        for i in range(b):\n            if b:\n                return 1\n", 6),
        (
            "    try:\n        for foo in bar:\n            return a\n    except Exception:\n        if a < 0:\n            return a\n",
            4,
        ),
        ("    return a * f(a - 1)\n", 1),
        (
            "    for a in range(10):\n        if a % 2:\n            continue\n        if a == 8:\n            break\n",
            5,
        ),
        (
            "    for a in range(10):\n        if a % 2:\n            continue\n        if a == 8:\n            break\n    else:\n        return 5\n",
            6,
        ),
        (
            "    def foo(a):\n        if a:\n            return 1\n    bar = lambda a: lambda b: b or 2\n    return bar(foo(a))(a)\n",
            3,
        ),
        ("    if a % 2:\n        return 'c' if a else 'd'\n    return 'a' if a else 'b'\n", 4),
        (
            "    if a == b:\n        if (a):\n            return 1\n        elif (b):\n            return 2\n        else:\n            return 3\n    return 0\n",
            5,
        ),
        ("    def inner(func):\n        if condition:\n            print(b)\n        func()\n    return inner\n", 1),
        (
            "    my_var = a*b\n    def inner(func):\n        if condition:\n            print(b)\n        func()\n    return inner\n",
            2,
        ),
        (
            "    def generator(func):\n        def decorator(func):\n            if condition:\n                print(b)\n            return func()\n        return decorator\n    return generator\n",
            1,
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(cognitive(&format!("def f(a, b):\n{body}"), "python"), expected, "{body}");
    }
}

/// radon 6.0.1: `radon cc -s` of these functions; closures have entries of their own.
#[test]
fn python_matches_radon() {
    let cases: [(&str, &[u64]); 7] = [
        ("    def g(b):\n        if b:\n            return 1\n    if a:\n        return g(a)\n", &[2, 2]),
        ("    return lambda x: x or a\n", &[2]),
        ("    return [x for x in a if x if x > 1]\n", &[4]),
        (
            "    match a:\n        case 1:\n            return 1\n        case 2 | 3:\n            return 2\n        case _:\n            return 3\n",
            &[3],
        ),
        (
            "    try:\n        a()\n    except A:\n        pass\n    except B:\n        pass\n    else:\n        pass\n    finally:\n        pass\n",
            &[4],
        ),
        (
            "    for x in a:\n        pass\n    else:\n        pass\n    while a:\n        pass\n    assert a\n    with a: pass\n    return 1 if a else 2\n",
            &[6],
        ),
        ("    if a:\n        pass\n    elif b and c or d:\n        pass\n    else:\n        pass\n", &[5]),
    ];
    for (body, expected) in cases {
        assert_eq!(cyclomatic(&format!("def f(a):\n{body}"), "python"), expected, "{body}");
    }
}

/// lizard 1.17 and later: cyclomatic complexity and number of parameters.
#[test]
fn other_languages_match_lizard() {
    let c = "int f(int a, int b){ if(a&&b||!a){return 1;} else if(b){return 2;} for(;;){ while(a){a--;} do{b--;}while(b);} \
        switch(a){case 1: return 1; case 2: return 2; default: return 3;} return a?b:a; } void g(void){ goto x; x:; }";
    let java = "class A { int f(int a, int b){ try { if(a>1&&b>1){return 1;} for(int x: y){} } catch(E e){} \
        switch(a){case 1: return 1; case 2: case 3: return 2; default: return 3;} return a>1?b:a; } }";
    let go = "package m\nfunc f(a, b int, c ...string) int { if a>1 && b>1 { return 1 } else if b>2 { return 3 }\n\
        for i := range c { _ = i }\nswitch a { case 1: return 1\ncase 2,3: return 2\ndefault: return 4 }\nreturn 1 }";
    let javascript = "function f(a, b) { if (a && b) { return 1 } for (const x of a) {} while (a) {} \
        switch (a) { case 1: break; case 2: break; default: } try {} catch (e) {} return a ? b : c }";
    let rust = "fn f(a: i32, b: i32) -> i32 { if a > 1 && b > 1 { return 1; } for x in 0..a { while b > 1 {} } \
        loop { break; } match a { 1 => 1, 2 | 3 => 2, _ => 4 } }";
    type Measures = &'static [(u64, u64)];
    let cases: [(&str, &str, Measures); 5] = [
        ("c", c, &[(11, 2), (1, 0)]),
        ("java", java, &[(9, 2)]),
        ("go", go, &[(7, 3)]),
        ("javascript", javascript, &[(9, 2)]),
        ("rust", rust, &[(7, 2)]),
    ];
    for (language, source, expected) in cases {
        let output = run(source, language);
        let number = |function: &Value, field: &str| function[field].as_u64().unwrap();
        let functions = output["functions"].as_array().unwrap();
        let found: Vec<_> =
            functions.iter().map(|function| (number(function, "cyclomatic"), number(function, "parameters"))).collect();
        assert_eq!(found, expected, "{language}");
    }
}

/// The worked example of Wikipedia's "Halstead complexity measures": 12 and 7 distinct, 27 and 15 in all.
#[test]
fn halstead_measures() {
    let source = "main()\n{\n  int a, b, c, avg;\n  scanf(\"%d %d %d\", &a, &b, &c);\n  avg = (a+b+c)/3;\n  printf(\"avg = %d\", avg);\n}\n";
    let output = crate::FAMILY.run(190, json!({ "source": source, "language": "c" }), &Context::default()).unwrap();
    let halstead = &output["halstead"];
    let expected = [
        ("distinct_operators", 12.0, 0.0),
        ("distinct_operands", 7.0, 0.0),
        ("total_operators", 27.0, 0.0),
        ("total_operands", 15.0, 0.0),
        ("vocabulary", 19.0, 0.0),
        ("length", 42.0, 0.0),
        ("estimated_length", 62.67, 0.01),
        ("volume", 178.4, 0.05),
        ("difficulty", 12.85, 0.01),
        // Computed there from rounded factors.
        ("effort", 2_292.44, 2.0),
        ("time", 127.357, 0.1),
    ];
    for (name, value, tolerance) in expected {
        let found = halstead[name].as_f64().unwrap();
        assert!((found - value).abs() <= tolerance, "{name}: {found} in place of {value}");
    }
    // By the formula of the method: 171 - 5.2 ln 178.4 - 0.23 - 16.2 ln 7, of 171.
    let index = (171.0 - 5.2 * 178.412_f64.ln() - 0.23 - 16.2 * 7_f64.ln()) / 1.71;
    assert!((output["maintainability"].as_f64().unwrap() - index).abs() < 0.001);
}

#[test]
fn exceeded_limits_are_sorted_by_severity() {
    let source = "def f(a, b, c):\n    if a:\n        if b:\n            if c:\n                return 1\n\ndef g():\n    pass\n";
    let limits = json!({ "cyclomatic": 3, "cognitive": 2, "parameters": 3, "lines": 5 });
    let output = crate::FAMILY.run(190, json!({ "source": source, "limits": limits }), &Context::default()).unwrap();
    assert_eq!(output["over_limit"], json!(["f (line 1): cognitive 6 > 2", "f (line 1): cyclomatic 4 > 3"]));
    let unknown = crate::FAMILY.run(190, json!({ "source": source, "limits": { "beauty": 1 } }), &Context::default());
    assert!(matches!(unknown, Err(Failure::Invalid { .. })));
}

#[test]
fn names_and_nameless_functions() {
    let source = "const f = (a) => a ? 1 : 2;\n[1].map(x => x && 1);\nclass A { m = () => {}; n() { [].map((y) => y || 2) } }\no.p = function () {};\n";
    let output = run(source, "javascript");
    let functions = output["functions"].as_array().unwrap();
    let names: Vec<_> =
        functions.iter().map(|f| (f["name"].as_str().unwrap(), f["cyclomatic"].as_u64().unwrap())).collect();
    assert_eq!(names, [("f", 2), ("<anonymous>", 2), ("m", 1), ("n", 2), ("p", 1)]);
}

/// By construction, after the white paper's rules: Rust's and Go's own structures.
#[test]
fn structures_of_rust_and_go() {
    let rust = "fn f(x: Option<u8>) -> u8 {
        let Some(y) = x else { return 0 };
        'a: loop { match y { 0 => break 'a, 1 if true => {} _ => continue } }
        if let Some(z) = x { z } else if y > 1 { 1 } else { f(None) }
    }";
    // loop 1, match 2, break 'a 1, if 1, else if 1, else 1, recursion 1.
    assert_eq!(cognitive(rust, "rust"), 8);
    let go = "package m\nfunc f(x int) {\n\tif x > 1 {\n\t} else if x > 2 {\n\t\tfor {\n\t\t}\n\t} else {\n\t}\n\tselect {\n\tcase <-c:\n\t}\n}\n";
    // if 1, else if 1, for 2, else 1, select 1.
    assert_eq!(cognitive(go, "go"), 6);
}

#[test]
fn deep_or_broken_input_terminates() {
    for language in ["rust", "python", "javascript", "typescript", "go", "java", "c"] {
        for unit in ["(", "{", "if (a) ", "function f() {", "a && (", "def f(a):\n", "x = y ? "] {
            let input = json!({ "source": unit.repeat(1_000), "language": language });
            let outcome = crate::FAMILY.run(190, input, &Context::default());
            assert!(matches!(outcome, Ok(_) | Err(Failure::TooLarge { .. })), "{language} {unit}: {outcome:?}");
        }
    }
}

/// Random code fragments in every language.
#[test]
fn no_source_panics() {
    use proptest::prelude::*;
    let pieces = [
        "def f(a):\n",
        "    ",
        "if a and (b or c):",
        "else",
        "elif x:",
        " { ",
        " } ",
        "fn g(x: u8) ",
        "match y ",
        "_ => ",
        "function ",
        "() => ",
        "(",
        ")",
        ";\n",
        "switch (a) ",
        "case 1: ",
        "default: ",
        "try ",
        "catch (e) ",
        "x ? y : z",
        "for (;;) ",
        "break a",
        "void h(void) ",
        "class A ",
        "func (p *T) m() ",
        "\n",
        "é",
        "'s'",
        "// c\n",
        "goto q",
    ];
    let languages = ["auto", "rust", "python", "javascript", "typescript", "go", "java", "c"];
    let text = prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..20).prop_map(|pieces| pieces.concat());
    let mut runner = proptest::test_runner::TestRunner::new_with_rng(
        ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&(text, prop::sample::select(languages.to_vec())), |(source, language)| {
            for number in [190, 189] {
                let outcome =
                    crate::FAMILY.run(number, json!({ "source": source, "language": language }), &Context::default());
                prop_assert!(outcome.is_ok(), "{outcome:?}");
            }
            Ok(())
        })
        .unwrap();
}
