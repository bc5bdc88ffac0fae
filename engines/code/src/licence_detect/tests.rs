use serde_json::{Value, json};

use super::*;

fn run(input: Value) -> Value {
    crate::FAMILY.run(196, input, &Context::default()).unwrap()
}

/// SPDX 2.3, Annex D, the examples of D.2 to D.4, and their order of precedence (D.4.5): WITH, AND, OR.
#[test]
fn the_examples_of_annex_d() {
    for (text, normalised, licences) in [
        ("CDDL-1.0+", "CDDL-1.0+", vec!["CDDL-1.0+"]),
        ("LicenseRef-23", "LicenseRef-23", vec!["LicenseRef-23"]),
        (
            "DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2",
            "DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2",
            vec!["DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2"],
        ),
        (
            "LGPL-2.1-only OR MIT OR BSD-3-Clause",
            "LGPL-2.1-only OR MIT OR BSD-3-Clause",
            vec!["BSD-3-Clause", "LGPL-2.1-only", "MIT"],
        ),
        (
            "GPL-2.0-or-later WITH Bison-exception-2.2",
            "GPL-2.0-or-later WITH Bison-exception-2.2",
            vec!["GPL-2.0-or-later"],
        ),
        (
            "LGPL-2.1-only OR BSD-3-Clause AND MIT",
            "LGPL-2.1-only OR (BSD-3-Clause AND MIT)",
            vec!["BSD-3-Clause", "LGPL-2.1-only", "MIT"],
        ),
        (
            "MIT AND (LGPL-2.1-or-later OR BSD-3-Clause)",
            "MIT AND (LGPL-2.1-or-later OR BSD-3-Clause)",
            vec!["BSD-3-Clause", "LGPL-2.1-or-later", "MIT"],
        ),
    ] {
        let expression = run(json!({ "expression": text }))["expression"].clone();
        assert_eq!(expression, json!({ "valid": true, "normalised": normalised, "licences": licences }), "{text}");
    }
}

/// license-expression 30.4 (pip), `get_spdx_licensing().parse(...).render()`.
#[test]
fn expressions_match_license_expression() {
    for (text, normalised) in [
        ("MIT OR (Apache-2.0 AND BSD-3-Clause)", "MIT OR (Apache-2.0 AND BSD-3-Clause)"),
        ("mit AND (gpl-2.0-only WITH classpath-exception-2.0)", "MIT AND GPL-2.0-only WITH Classpath-exception-2.0"),
        ("(MIT)", "MIT"),
        ("((MIT OR Apache-2.0) AND ISC)", "(MIT OR Apache-2.0) AND ISC"),
    ] {
        assert_eq!(run(json!({ "expression": text }))["expression"]["normalised"], normalised);
    }
    let wrong = run(json!({ "expression": "Apache2/MIT" }))["expression"].clone();
    assert_eq!((&wrong["valid"], &wrong["normalised"]), (&json!(false), &json!("Apache-2.0 OR MIT")));
    assert_eq!(run(json!({ "expression": "MIT AND" }))["expression"]["valid"], false);
}

/// The MIT licence as choosealicense.com prints it, with a holder, in a C comment and with its lines broken elsewhere.
#[test]
fn a_reflowed_licence_text_in_comments_is_recognised() {
    let mit = "/*\n * MIT License\n *\n * Copyright (c) 2026 Jane Doe <jane@example.org>\n *\n * Permission is hereby granted, \
        free of charge, to any person obtaining a copy\n * of this software and associated documentation files (the \
        \"Software\"), to deal\n * in the Software without restriction, including without limitation the rights\n * to use, \
        copy, modify, merge, publish, distribute, sublicense, and/or sell\n * copies of the Software, and to permit persons \
        to whom the Software is\n * furnished to do so, subject to the following conditions:\n *\n * The above copyright \
        notice and this permission notice shall be included in all\n * copies or substantial portions of the Software.\n \
        *\n * THE SOFTWARE IS PROVIDED \"AS IS\", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR\n * IMPLIED, INCLUDING BUT NOT \
        LIMITED TO THE WARRANTIES OF MERCHANTABILITY,\n * FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT \
        SHALL THE\n * AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER\n * LIABILITY, WHETHER IN AN \
        ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,\n * OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR \
        OTHER DEALINGS IN THE\n * SOFTWARE.\n */";
    let output = run(json!({ "text": mit }));
    assert_eq!(output["licence"], "MIT");
    assert!(output["confidence"].as_f64().unwrap() > 0.98, "{output}");
    assert_eq!(output["obligations"], json!(["MIT: keep the copyright notice and the licence's text"]));
}

/// spdx-lookup 0.3.3 names the same: white space does not matter (Annex B), so that a copyright line may hold it all.
#[test]
fn a_text_on_one_line_is_recognised() {
    for name in ["BSD-3-Clause", "ISC", "Zlib"] {
        let text = spdx::license_id(name).unwrap().text().split_whitespace().collect::<Vec<_>>().join(" ");
        let output = run(json!({ "text": format!("Copyright (c) 2026 Jane Doe. {text}") }));
        assert_eq!(output["licence"], name, "{output}");
    }
}

/// SPDX's own texts, numbered otherwise, in capitals, with a holder: Annex B excludes these from the comparison.
#[test]
fn the_texts_of_the_list_are_distinguished() {
    for name in [
        "BSD-2-Clause",
        "BSD-3-Clause",
        "BSD-4-Clause",
        "ISC",
        "Zlib",
        "MPL-2.0",
        "Apache-2.0",
        "EPL-2.0",
        "GPL-3.0-only",
        "LGPL-2.1-only",
        "Unlicense",
        "CC0-1.0",
    ] {
        let text = spdx::license_id(name).unwrap().text().replace("1. ", "(a) ").replace("2. ", "* ").to_uppercase();
        let output = run(json!({ "text": format!("COPYRIGHT (C) 1999-2026 THE AUTHORS\n\n{text}") }));
        assert_eq!(output["licence"], name);
        assert!(output["confidence"].as_f64().unwrap() > 0.95, "{name}: {output}");
    }
    let none = run(json!({ "text": "It was a dark and stormy night; the rain fell in torrents." }));
    assert!(none.get("licence").is_none() && none["confidence"].as_f64().unwrap() < 0.2);
    assert_eq!(run(json!({ "text": "// SPDX-License-Identifier: MIT OR Apache-2.0" }))["licence"], "MIT OR Apache-2.0");
}

/// Apache's text as most projects have it: it ends where the conditions end. It was taken for Pixar's, which is shorter.
#[test]
fn apache_without_its_appendix_is_apache() {
    let whole = spdx::license_id("Apache-2.0").unwrap().text();
    let (conditions, _) = whole.split_once("APPENDIX").unwrap();
    for text in [conditions.to_owned(), format!("{conditions}\n\nCopyright 2026 Jane Doe\n")] {
        let output = run(json!({ "text": text }));
        assert_eq!(output["licence"], "Apache-2.0", "{output}");
        assert!(output["confidence"].as_f64().unwrap() > 0.99, "{output}");
    }
    let pixar = spdx::license_id("Pixar").unwrap().text();
    assert_eq!(run(json!({ "text": pixar }))["licence"], "Pixar");
}

/// A file with a licence and what it does not cover, and the notices of the licences' own appendices.
#[test]
fn a_licence_within_a_longer_text_and_a_notice_are_found() {
    let mit = spdx::license_id("MIT").unwrap().text();
    let context = Context::default();
    let rest = "The pictures in this folder are by others and are described in the file beside them. ".repeat(20);
    let output = crate::FAMILY.run(196, json!({ "text": format!("{mit}\n\n{rest}") }), &context).unwrap();
    assert_eq!(output["licence"], "MIT", "{output}");
    assert!(context.into_warnings()[0].starts_with("contains: MIT is "), "the warning says how much");
    for (notice, name) in [
        ("Licensed under the Apache License, Version 2.0 (the \"License\");\nyou may not use this file", "Apache-2.0"),
        (
            "This program is free software; you can redistribute it and/or modify it under the terms of the GNU General \
          Public License as published by the Free Software Foundation; either version 2 of the License",
            "GPL-2.0-or-later",
        ),
    ] {
        assert_eq!(run(json!({ "text": notice }))["licence"], name);
    }
}

/// Dice 1945, by hand: of 3 and 2 with 2 in common, 4/5; as multisets, `aab` and `ab` have 2 in common too.
#[test]
fn the_coefficient_of_dice() {
    assert!((text::dice(&[1, 2, 3], &[2, 3]) - 0.8).abs() < 1e-12);
    assert!((text::dice(&[1, 1, 2], &[1, 2]) - 0.8).abs() < 1e-12);
    assert!(text::dice(&[], &[1]).abs() < 1e-12);
}

/// GPL FAQ, "How are the various GNU licenses compatible with each other?" (the matrix of `AllCompatibility`, rows "I
/// want to use code under"), and the FSF's comments on Apache 2.0, MPL 2.0, CDDL, EPL and the original BSD licence.
#[test]
fn the_matrix_of_the_fsf() {
    for (component, project, fits) in [
        ("GPL-2.0-only", "GPL-2.0-only", true),
        ("GPL-2.0-only", "GPL-3.0-or-later", false),
        ("GPL-2.0-or-later", "GPL-2.0-only", true),
        ("GPL-2.0-or-later", "GPL-3.0-or-later", true),
        ("GPL-3.0-only", "GPL-2.0-only", false),
        ("GPL-3.0-or-later", "GPL-2.0-or-later", true),
        ("LGPL-2.1-only", "GPL-3.0-or-later", true),
        ("LGPL-3.0-only", "GPL-2.0-only", false),
        ("LGPL-3.0-only", "GPL-3.0-only", true),
        ("AGPL-3.0-only", "GPL-3.0-only", true),
        ("AGPL-3.0-only", "GPL-2.0-only", false),
        ("Apache-2.0", "GPL-3.0-only", true),
        ("Apache-2.0", "GPL-2.0-only", false),
        ("MPL-2.0", "GPL-2.0-only", true),
        ("CDDL-1.0", "GPL-3.0-only", false),
        ("EPL-1.0", "GPL-3.0-only", false),
        ("BSD-4-Clause", "GPL-3.0-only", false),
        ("BSD-3-Clause", "GPL-2.0-only", true),
        ("GPL-3.0-only", "MIT", false),
        ("GPL-3.0-only", "proprietary", false),
        ("LGPL-2.1-only", "proprietary", true),
        ("GPL-2.0-only WITH Classpath-exception-2.0", "proprietary", true),
        ("GPL-2.0-only OR MIT", "Apache-2.0", true),
        ("GPL-2.0-only AND MIT", "Apache-2.0", false),
        ("CC-BY-NC-4.0", "MIT", false),
        ("nonsense", "MIT", false),
    ] {
        let input = json!({ "project_licence": project, "components": [{ "name": "c", "licence": component }] });
        let output = run(input);
        assert_eq!(output["conflicts"] == json!([]), fits, "{component} in {project}: {output}");
    }
}

#[test]
fn an_unknown_project_licence_is_rejected() {
    let refused = crate::FAMILY.run(196, json!({ "project_licence": "MIT or so" }), &Context::default());
    assert!(matches!(refused, Err(Failure::Invalid { .. })));
}
