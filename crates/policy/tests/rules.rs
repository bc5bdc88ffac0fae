//! The default rules, one by one, and texts that are refused.

#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it")]

use muster_policy::{DEFAULT_RULES, Facts, MAX_RULES, MAX_TEXT, NO_PERMIT, PolicyError, Rules, Veto, compile};

type Change = fn(&mut Facts);

/// A critical request that no default rule forbids.
fn facts() -> Facts {
    Facts {
        action: "key.grant".to_owned(),
        resource: "ci".to_owned(),
        requester: "usr_1".to_owned(),
        risk: 4,
        bound: true,
        session_s: 43_200,
        critical_incident: false,
        blast: 10_000,
        budget_pct: 300,
        rejected_1h: false,
        vetoed_1h: 4,
        audit_ok: true,
        frozen: false,
    }
}

fn rules(text: &str) -> Rules {
    compile(text).unwrap()
}

fn hit(rules: &Rules, facts: &Facts) -> Vec<String> {
    rules.judge(facts).into_iter().map(|veto| veto.rule).collect()
}

#[test]
fn the_default_rules_fit_the_schema_without_a_warning() {
    let default = rules(DEFAULT_RULES);
    assert_eq!(default.warnings(), [""; 0]);
    assert_eq!((default.len(), default.hard()), (9, vec!["no-audit"]));
}

/// Contract 6, section 5: at each bound the request passes, and one past it the rule hits, alone.
#[test]
fn each_default_rule_hits_past_its_bound_and_not_at_it() {
    let default = rules(DEFAULT_RULES);
    assert_eq!(hit(&default, &facts()), [""; 0]);
    let cases: [(&str, Change); 9] = [
        ("frozen", |facts| facts.frozen = true),
        ("stale", |facts| facts.bound = false),
        ("stale", |facts| facts.session_s = 43_201),
        ("incident", |facts| facts.critical_incident = true),
        ("blast", |facts| facts.blast = 10_001),
        ("budget", |facts| facts.budget_pct = 301),
        ("again", |facts| facts.rejected_1h = true),
        ("insisting", |facts| facts.vetoed_1h = 5),
        ("no-audit", |facts| facts.audit_ok = false),
    ];
    for (rule, change) in cases {
        let mut changed = facts();
        change(&mut changed);
        let expected = Veto { rule: rule.to_owned(), hard: rule == "no-audit", error: None };
        assert_eq!(default.judge(&changed), [expected]);
    }
}

#[test]
fn risk_decides_whether_a_stale_session_and_a_broken_log_matter() {
    let default = rules(DEFAULT_RULES);
    let at = |risk| Facts { risk, bound: false, audit_ok: false, ..facts() };
    assert_eq!(hit(&default, &at(1)), [""; 0]);
    assert_eq!(hit(&default, &at(2)), [""; 0]);
    assert_eq!(hit(&default, &at(3)), ["stale"]);
    assert_eq!(hit(&default, &at(4)), ["no-audit", "stale"]);
}

/// Cedar itself skips such a rule, and would let the request pass.
#[test]
fn a_rule_that_errs_vetoes_with_its_name_and_its_mark() {
    let text =
        "@id(\"sum\") @hard forbid (principal, action, resource) when { context.blast + 9223372036854775807 < 0 };";
    let vetoes = rules(text).judge(&facts());
    assert_eq!(vetoes.len(), 1);
    assert_eq!((vetoes[0].rule.as_str(), vetoes[0].hard), ("sum", true));
    assert!(vetoes[0].error.as_ref().unwrap().contains("overflow"), "{vetoes:?}");
    assert_eq!(hit(&rules(text), &Facts { blast: 0, ..facts() }), [""; 0]);
    // A `permit` that errs, beside another that permits.
    let text = format!("@id(\"odd\") {}", text.replace("@id(\"sum\") @hard forbid", "permit"));
    let vetoes = rules(&format!("permit (principal, action, resource);\n{text}")).judge(&facts());
    assert_eq!((vetoes.len(), vetoes[0].rule.as_str(), vetoes[0].hard), (1, "odd", false));
}

#[test]
fn a_count_beyond_cedars_integers_is_the_largest() {
    assert_eq!(hit(&rules(DEFAULT_RULES), &Facts { blast: u64::MAX, ..facts() }), ["blast"]);
}

#[test]
fn rules_distinguish_actions_resources_and_requesters_whatever_their_characters() {
    let text = r#"
        @id("one") forbid (principal, action == Action::"key.grant", resource == Resource::"ci");
        @id("two") forbid (principal == Principal::"usr_2", action, resource);
        @id("new") forbid (principal, action == Action::"cluster.drain", resource);
        forbid (principal, action, resource) when { resource == Resource::"a\"b\\c\n" };
    "#;
    let rules = rules(text);
    assert_eq!(rules.warnings(), ["rule new: `cluster.drain` is no action that this server guards"]);
    assert_eq!(hit(&rules, &facts()), ["one"]);
    assert_eq!(hit(&rules, &Facts { resource: "cj".to_owned(), ..facts() }), [""; 0]);
    assert_eq!(hit(&rules, &Facts { requester: "usr_2".to_owned(), ..facts() }), ["one", "two"]);
    assert_eq!(hit(&rules, &Facts { action: "cluster.drain".to_owned(), ..facts() }), ["new"]);
    // A rule without an @id has Cedar's name.
    assert_eq!(hit(&rules, &Facts { resource: "a\"b\\c\n".to_owned(), ..facts() }), ["policy3"]);
}

#[test]
fn what_no_permit_covers_is_vetoed_where_the_text_permits_at_all() {
    let some = rules("permit (principal, action == Action::\"key.grant\", resource);");
    assert_eq!(hit(&some, &facts()), [""; 0]);
    assert_eq!(hit(&some, &Facts { action: "role.grant".to_owned(), ..facts() }), [NO_PERMIT]);
    assert_eq!(hit(&rules(""), &facts()), [""; 0]);
    assert!(rules("").is_empty());
}

#[test]
fn texts_that_are_no_rules_are_refused_with_the_place_and_the_reason() {
    let refused = |text: &str| compile(text).unwrap_err();
    let message = |text: &str| refused(text).to_string();
    assert!(
        message("\n\nforbid (principal, action);").starts_with("line 3: "),
        "{}",
        message("\n\nforbid (principal, action);")
    );
    assert!(matches!(refused("permit (principal, action, resource)"), PolicyError::Syntax { line: 1, .. }));
    for (other, what) in [
        ("permit (principal == ?principal, action, resource);", "templates"),
        ("permit (principal, action, resource) when { \"a\" like \"*\" };", "patterns"),
        ("permit (principal, action, resource) when { ip(\"10.0.0.1\").isLoopback() };", "`ip`"),
        ("permit (principal, action, resource) when { {\"a\": 1} == {\"a\": 1} };", "records"),
        ("permit (principal, action, resource) when { principal.age > 1 };", "attributes"),
        ("@id(\"a\") @id(\"b\") permit (principal, action, resource);", "twice"),
    ] {
        assert!(message(other).contains(what), "{}", message(other));
    }
    // Members of the context are typed: a misspelt one would err, and veto every request.
    let rule = |condition: &str| format!("@id(\"x\") forbid (principal, action, resource) when {{ {condition} }};");
    for wrong in [
        "context.blasts > 1",
        "context.blast > \"1\"",
        "context.frozen == 1",
        "resource == principal",
        "context.blast",
        "!context.risk",
        "context == context",
        "action in principal",
        "[1].contains(true)",
        "[1, true].contains(1)",
        "1 + true > 0",
        "if context.risk then true else false",
        "if true then 1 else true",
        "context.frozen < true",
        "1 is Action",
    ] {
        let refused = refused(&rule(wrong));
        let PolicyError::Invalid { rule, .. } = &refused else { panic!("{wrong}: {refused}") };
        assert_eq!(rule, "x");
    }
    assert!(message(&rule("context.blasts > 1")).contains("blast"), "{}", message(&rule("context.blasts > 1")));
    assert!(matches!(refused(&rule("principal == Person::\"x\"")), PolicyError::Invalid { .. }));
    assert!(matches!(refused(&rule("action == Action::\"a b\"")), PolicyError::Invalid { .. }));
    assert_eq!(refused(&rule("true").repeat(2)), PolicyError::DuplicateId("x".to_owned()));
    assert!(matches!(refused("@id(\"\") permit (principal, action, resource);"), PolicyError::Id(_)));
    assert!(matches!(refused("@id(\"a b\") permit (principal, action, resource);"), PolicyError::Id(_)));
}

#[test]
fn texts_are_bounded() {
    let permit = "permit (principal, action, resource);";
    assert!(compile(&permit.repeat(MAX_RULES)).is_ok());
    assert_eq!(compile(&permit.repeat(MAX_RULES + 1)).unwrap_err(), PolicyError::TooManyRules(MAX_RULES + 1));
    assert_eq!(compile(&" ".repeat(MAX_TEXT + 1)).unwrap_err(), PolicyError::TooLong(MAX_TEXT + 1));
}

/// The longest chains of each kind end within the stack of a server's thread, compiled without optimisation.
#[test]
fn the_longest_texts_compile_or_are_refused_within_two_mebibytes_of_stack() {
    let around = |middle: String| format!("forbid (principal, action, resource) when {{ {middle} }};");
    let room = MAX_TEXT - 60;
    let repeated = |unit: &str, end: &str| around(format!("{}{end}", unit.repeat(room / unit.len() - 1)));
    let texts = vec![
        repeated("true && ", "true"),
        repeated("true || ", "true"),
        repeated("1+", "1 > 0"),
        repeated("1*", "1 > 0"),
        repeated("!", "true"),
        repeated("-", "1 > 0"),
        around(format!("context{} > 1", ".a".repeat(room / 2 - 10))),
        around(format!("context has {}a", "a.".repeat(room / 2 - 10))),
        around(format!("{}true{}", "(".repeat(30), ")".repeat(30))),
        around(format!("{} true {}", "if true then ".repeat(30), "else false ".repeat(30))),
        around(format!("[{}1].contains(1)", "1,".repeat(room / 2 - 20))),
        around(format!("\"{}\" like \"{}\"", "a".repeat(room / 2 - 20), "*a".repeat(room / 4 - 20))),
        "@id(\"x\")".repeat(room / 8),
    ];
    let run = move || {
        for text in texts {
            assert!(text.len() <= MAX_TEXT);
            if let Ok(rules) = compile(&text) {
                let _ = rules.judge(&facts());
            }
        }
    };
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

mod properties {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    static DEFAULT: LazyLock<Rules> = LazyLock::new(|| rules(DEFAULT_RULES));
    static MORE: LazyLock<Rules> = LazyLock::new(|| {
        let more = "@id(\"zz\") forbid (principal, action, resource) when { context.bound };";
        rules(&format!("{DEFAULT_RULES}\n{more}"))
    });

    proptest! {
        #[test]
        fn any_text_compiles_or_is_refused(text in ".{0,300}") {
            let _ = compile(&text);
        }

        #[test]
        fn pieces_of_rules_compile_or_are_refused(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "permit", "forbid", "(principal, action, resource)", "when", "unless", "{", "}", ";", "context.risk",
                    "context.frozen", "==", ">", "&&", "!", "1", "\"x\"", "@id(\"a\")", "@hard", "if", "then", "else",
                    "Action::\"key.grant\"", "in", "has", "like", "is", "[", "]", "?principal", "//", "\n",
                ]),
                0..24,
            ),
        ) {
            let _ = compile(&parts.join(" "));
        }

        /// Without a rule that hits, nothing is vetoed; with more rules, no veto disappears.
        #[test]
        fn a_rule_that_is_added_takes_no_veto_away(
            frozen: bool, bound: bool, session_s in 0_u64..90_000, blast: u64, budget_pct in 0_u64..600, risk in 1_u8..=4,
            bits in 0_u8..8,
        ) {
            let facts = Facts {
                frozen, bound, session_s, blast, budget_pct, risk, rejected_1h: bits & 1 > 0,
                critical_incident: bits & 2 > 0, audit_ok: bits & 4 > 0, ..super::facts()
            };
            let (before, mut after) = (DEFAULT.judge(&facts), MORE.judge(&facts));
            prop_assert_eq!(after.iter().any(|veto| veto.rule == "zz"), bound);
            after.retain(|veto| veto.rule != "zz");
            prop_assert_eq!(before, after);
        }
    }
}
