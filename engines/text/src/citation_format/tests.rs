use proptest::prelude::*;
use serde_json::json;

use super::*;

fn run_on(content: &str, style: &str) -> Value {
    crate::FAMILY.run(186, json!({ "content": content, "style": style }), &Context::default()).unwrap()
}

const KARNEY: &str = "@article{k,author={Karney, C. F. F.},title={Algorithms for geodesics},journal={J. Geodesy},year={2013},volume={87},pages={43--55},doi={10.1007/s00190-012-0578-z}}";

#[test]
fn each_style_has_its_form() {
    for (style, in_text) in [
        ("apa", "(Karney, 2013)"),
        ("ieee", "[1]"),
        ("vancouver", "[1]"),
        ("chicago-author-date", "(Karney 2013)"),
        ("harvard", "(Karney, 2013)"),
    ] {
        let output = run_on(KARNEY, style);
        assert_eq!(output["in_text"]["k"], in_text, "{style}");
        println!("{style}: {}", output["bibliography"][0]);
        assert!(output["bibliography"][0].as_str().unwrap().to_lowercase().contains("geodesics"), "{style}");
        assert_eq!(output["problems"], json!([]), "{style}");
    }
}

#[test]
fn ris_and_bibtex_give_the_same() {
    let ris = "TY  - JOUR\nID  - k\nAU  - Karney, C. F. F.\nTI  - Algorithms for geodesics\nJO  - J. Geodesy\nPY  - 2013\nVL  - 87\nSP  - 43\nEP  - 55\nDO  - 10.1007/s00190-012-0578-z\nER  - \n";
    assert_eq!(run_on(ris, "apa")["bibliography"], run_on(KARNEY, "apa")["bibliography"]);
}

#[test]
fn what_is_missing_or_wrong_is_named() {
    let output = run_on("@book{b, title={A}, isbn={978-0-306-40615-8}, doi={11.5/x}}", "apa");
    let messages: Vec<&str> =
        output["problems"].as_array().unwrap().iter().map(|problem| problem["message"].as_str().unwrap()).collect();
    for part in ["author or editor", "publisher", "date", "ISBN", "DOI"] {
        assert!(messages.iter().any(|message| message.contains(part)), "{part}: {messages:?}");
    }
}

/// Numbers of ISO 2108 and ISO 3297 as their manuals print them.
#[test]
fn check_digits() {
    for isbn in ["978-0-306-40615-7", "0-306-40615-2", "0-8044-2957-X"] {
        assert!(check::is_isbn(isbn), "{isbn}");
    }
    for isbn in ["978-0-306-40615-8", "0-306-40615-X", "X-306-40615-2", "1", ""] {
        assert!(!check::is_isbn(isbn), "{isbn}");
    }
    assert!(check::is_issn("0317-8471") && check::is_issn("2434-561X") && !check::is_issn("0317-8472"));
}

#[test]
fn one_work_is_found_twice() {
    let twice = format!(
        "{KARNEY}\n@misc{{other, title={{Algorithms for geodesics.}}, year={{2013}}}}\n@misc{{third, title={{Something else}}, year={{2013}}}}"
    );
    assert_eq!(run_on(&twice, "ieee")["duplicates"], json!([["k", "other"]]));
}

/// The largest input ends within 5 s in release: entries that look alike.
#[test]
#[ignore = "for the release build"]
fn the_largest_input_ends() {
    let one = |at: usize| {
        format!(
            "@article{{k{at},author={{Doe, J. and Roe, K.}},title={{A title of some length number {at} about floods}},journal={{J. Geodesy}},year={{2013}}}}\n"
        )
    };
    let content: String = (0..MAX_ENTRIES).map(one).collect();
    for style in ["apa", "ieee", "vancouver", "chicago-author-date", "harvard"] {
        let begun = std::time::Instant::now();
        run_on(&content, style);
        println!("{style}: {:?}", begun.elapsed());
    }
    for part in ["{", "@a{", "@article{a, title={{{{", "- ", "a: ", "TY  - JOUR\n"] {
        let begun = std::time::Instant::now();
        let content = part.repeat(MAX_BYTES / part.len());
        let _ = crate::FAMILY.run(186, json!({ "content": content }), &Context::default());
        println!("{part:?}: {:?}", begun.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What is exported is read again as the same work.
    #[test]
    fn an_export_is_read_again(title in "[A-Za-z&%_ ]{1,30}", name in "[A-Z][a-z]{1,8}", year in 1500_i32..2100, volume in 1_u32..99) {
        prop_assume!(!title.trim().is_empty());
        let title = read::escape(&title);
        let first = run_on(&format!("@article{{k, author={{{name}, A.}}, title={{{title}}}, journal={{J}}, year={{{year}}}, volume={{{volume}}}}}"), "apa");
        let again = run_on(first["entries"][0]["bibtex"].as_str().unwrap(), "apa");
        prop_assert_eq!(&first["bibliography"], &again["bibliography"]);
        prop_assert_eq!(&first["entries"], &again["entries"]);
    }

    #[test]
    fn any_content_ends(content in "(@article\\{k,|title|=|\\{|\\}|,|\"|TY  - JOUR\n|ER  - \n|AU  - |a|: |- |\n|#|\\\\| ){0,30}") {
        let _ = crate::FAMILY.run(186, json!({ "content": content }), &Context::default());
    }
}

/// The connected components of the pairs that are alike (networkx): c has the DOI of b and the title of a.
#[test]
fn an_entry_joins_duplicates_that_were_apart() {
    let content = "@misc{a,title={Evacuation of the lower town},year={1992}}
        @misc{b,title={Available shelters},year={1993},doi={10.1000/182}}
        @misc{c,title={Evacuation of the lower town},year={1992},doi={10.1000/182}}
        @misc{d,title={May could warning},year={1990}}";
    assert_eq!(run_on(content, "apa")["duplicates"], json!([["a", "b", "c"]]));
}
