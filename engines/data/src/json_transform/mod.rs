//! q108: JSON transform.
//!
//! jaq has no limit on steps, memory or recursion, and a thread cannot be stopped from outside. So the program and
//! jaq's own definitions are rewritten before they are compiled: wherever a program can loop or grow, a filter of
//! [`meter`] is inserted, which passes values on and counts them.

mod meter;
mod natives;
mod rewrite;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jaq_core::load::{Arena, File, Loader, parse};
use jaq_core::{Compiler, Ctx, Exn, Vars, load};
use jaq_json::Val;
use serde_json::Value;

use meter::{Data, Kind, Meter};
use muster_engine::prelude::*;
use muster_engine::stack::{STACK, on_stack};

const MAX_PROGRAM: usize = 20_000;
/// Maximum nesting of brackets and keywords: parser and interpreter recurse.
const MAX_NESTED: usize = 200;
/// Maximum number of results; the program is stopped there.
const MAX_RESULTS: usize = 10_000;
/// Name of the rewritten program, which no program can call.
const MAIN: &str = "\u{0}main";

#[derive(Input)]
pub struct Input {
    document: Value,
    program: String,
    variables: BTreeMap<String, Value>,
}

#[derive(Output)]
pub struct Output {
    results: Vec<Value>,
    count: usize,
}

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.program.len() > MAX_PROGRAM {
        return Err(Failure::too_large(format!("the program is longer than {MAX_PROGRAM} bytes")));
    }
    if nested(&input.program) > MAX_NESTED {
        return Err(Failure::too_large(format!("the program has more than {MAX_NESTED} brackets within one another")));
    }
    for name in input.variables.keys() {
        let word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if !word || !name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            return Err(Failure::invalid(
                &["variables", name],
                "must be named by letters, digits and _, such as limit",
            ));
        }
    }
    let fallen = || wrong("a function cannot process its arguments: check their numbers, formats and times");
    let (results, more) = on_stack(context, STACK, fallen, || execute(&input, meter::MAX_STEPS))?;
    if more {
        context.warn(format!("only the first {MAX_RESULTS} results are returned"));
    }
    Ok(Output { count: results.len(), results })
}

fn wrong(why: impl std::fmt::Display) -> Failure {
    Failure::invalid(&["program"], format!("cannot be run: {why}"))
}

fn nested(program: &str) -> usize {
    let mut depth = 0_usize;
    let deepest = |letter: char| {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth
    };
    let brackets = program.chars().map(deepest).max().unwrap_or_default();
    // Words that nest without a bracket, and signs, each of which holds the rest.
    let words = ["if", "def", "reduce", "foreach", "try", "label", " as ", "--", "- -"];
    brackets + words.iter().map(|word| program.matches(word).count()).sum::<usize>() / 4
}

/// Returns the results, and whether there are more.
fn execute(input: &Input, steps: usize) -> Result<(Vec<Value>, bool), Failure> {
    let program = load::parse(&input.program, |parser| parser.term()).ok_or_else(|| malformed(&input.program))?;
    let names: Vec<String> = input.variables.keys().map(|name| format!("${name}")).collect();
    let natives = natives::all();
    let known: Vec<&str> = natives.iter().map(|(name, ..)| *name).collect();
    let main = parse::Def { name: MAIN, args: names.iter().map(String::as_str).collect(), body: program };
    let mut defs: Vec<parse::Def<&str>> = library(&known).to_vec();
    defs.push(rewrite::definition(main, &known));

    let arguments = if names.is_empty() { String::new() } else { format!("({})", names.join(";")) };
    // The lexer would reject the name, so its caller is a definition too.
    let call = parse::Def {
        name: "muster_main",
        args: names.iter().map(String::as_str).collect(),
        body: parse::Term::Call(MAIN, names.iter().map(|name| parse::Term::Var(name.as_str())).collect()),
    };
    let code = format!("muster_main{arguments}");
    let arena = Arena::default();
    let modules = Loader::new(defs.into_iter().chain([call])).load(&arena, File { code: code.as_str(), path: () });
    let modules = modules.map_err(|_| Failure::internal("the call of a jq program is not a jq program"))?;
    let compiler = Compiler::default().with_funs(natives).with_global_vars(names.iter().map(String::as_str));
    let filter = compiler.compile(modules).map_err(|errors| undefined(&errors))?;

    let meter = Meter::with_steps(steps);
    let data = Data { lut: &filter.lut, meter: &meter };
    let variables: Vec<Val> = input.variables.values().map(value::of_json).collect();
    let context = Ctx::<Kind>::new(data, Vars::new(variables));
    collect(filter.id.run((context, value::of_json(&input.document))), &meter)
}

/// jq's standard definitions with counters; built once.
fn library(natives: &[&str]) -> &'static [parse::Def<&'static str>] {
    static LIBRARY: OnceLock<Vec<parse::Def<&'static str>>> = OnceLock::new();
    let counted = || natives::definitions().into_iter().map(|def| rewrite::definition(def, natives)).collect();
    LIBRARY.get_or_init(counted)
}

fn collect<'a>(
    found: impl Iterator<Item = Result<Val, Exn<'a, Val>>>,
    meter: &Meter,
) -> Result<(Vec<Value>, bool), Failure> {
    let mut results = Vec::new();
    for result in found {
        let value = result.map_err(|exception| match (meter.spent(), exception.get_err()) {
            (Some(why), _) => Failure::too_large(why),
            (None, Ok(error)) => wrong(error),
            (None, Err(_)) => wrong("it stops itself"),
        })?;
        if results.len() == MAX_RESULTS {
            return Ok((results, true));
        }
        if !meter.holds(&value) {
            return Err(Failure::too_large(meter.spent().unwrap_or_default()));
        }
        results.push(value::to_json(&value));
    }
    Ok((results, false))
}

/// Explains why and where a program cannot be parsed.
fn malformed(program: &str) -> Failure {
    let arena = Arena::default();
    let no_definitions: [parse::Def<&str>; 0] = [];
    let errors = Loader::new(no_definitions).load(&arena, File { code: program, path: () }).err().unwrap_or_default();
    let at = |rest: &str| {
        if rest.is_empty() { "the end".to_owned() } else { format!("{:?}", rest.lines().next().unwrap_or_default()) }
    };
    let first = errors.iter().find_map(|(_, error)| match error {
        load::Error::Lex(errors) => {
            errors.first().map(|(expect, rest)| format!("{} is missing at {}", expect.as_str(), at(rest)))
        }
        load::Error::Parse(errors) => {
            errors.first().map(|(expect, rest)| format!("{} is expected at {}", expect.as_str(), at(rest)))
        }
        load::Error::Io(_) => None,
    });
    wrong(format!("it is not a jq program: {}", first.unwrap_or_else(|| "modules cannot be loaded here".to_owned())))
}

fn undefined(errors: &jaq_core::compile::Errors<&str, ()>) -> Failure {
    let names: Vec<String> = errors.iter().flat_map(|(_, errors)| errors).map(|(name, _)| (*name).to_owned()).collect();
    wrong(format!(
        "not known here: {} (files, the environment, the clock and debug output are not there)",
        names.join(", ")
    ))
}
