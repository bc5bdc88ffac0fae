//! JUnit's XML, as Jenkins and surefire write it.

use super::xml::Element;
use super::{Case, Outcome, Run, seconds};

pub(super) fn read(root: &Element) -> Run {
    let mut cases = Vec::new();
    suite(root, "", &mut cases);
    // Some writers time only the whole suite.
    let untimed = cases.iter().all(|case| case.seconds.is_none());
    let seconds = if untimed { total(root) } else { None };
    Run { cases, totals: None, seconds }
}

fn total(element: &Element) -> Option<f64> {
    seconds(element.attribute("time")).or_else(|| {
        let parts: Vec<f64> = element.children.iter().filter_map(total).collect();
        (!parts.is_empty()).then(|| parts.iter().sum())
    })
}

fn suite(element: &Element, name: &str, cases: &mut Vec<Case>) {
    for child in &element.children {
        match child.name.as_str() {
            "testcase" => cases.push(case(child, if name.is_empty() { element.attribute("name") } else { name })),
            "testsuite" => suite(child, child.attribute("name"), cases),
            _ => {}
        }
    }
}

fn case(element: &Element, suite: &str) -> Case {
    let class = element.attribute("classname");
    let bad = element.children.iter().find(|child| matches!(child.name.as_str(), "failure" | "error"));
    let outcome = match bad {
        Some(_) => Outcome::Failed,
        None if element.child("skipped").is_some() => Outcome::Skipped,
        None => Outcome::Passed,
    };
    let message = bad.map(|bad| match (bad.attribute("message"), bad.text.as_str(), bad.attribute("type")) {
        ("", "", kind) => kind,
        ("", text, _) => text,
        (message, ..) => message,
    });
    Case {
        seconds: seconds(element.attribute("time")),
        message: message.unwrap_or_default().to_owned(),
        // surefire, "Rerun failing tests": it passed in a rerun.
        retried: element.children.iter().any(|child| matches!(child.name.as_str(), "flakyFailure" | "flakyError")),
        ..Case::new(if class.is_empty() { suite } else { class }, element.attribute("name"), outcome)
    }
}
