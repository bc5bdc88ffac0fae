//! Bounds of an evaluation: its steps, and the built-in functions whose results could be as large as one likes.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::sync::OnceLock;
use std::time::Duration;

use muster_engine::prelude::*;
use regorus::utils::limits::{ExecutionTimerConfig, TimeSource, set_time_source};
use regorus::{Engine, Value as Rego};

/// Steps of an evaluation: statements, expressions, turns of loops and calls.
const MAX_STEPS: u64 = 500_000;
/// Elements of a range.
const MAX_RANGE: i64 = 100_000;
/// Bits by which a number may be shifted to the left, less one.
const MAX_SHIFT: i64 = 64;

/// Depth of brackets. The parser reads a literal again for each reading that it may have (array, set, object, comprehension),
/// so its time doubles with each level.
const MAX_DEPTH: usize = 10;

/// Whether brackets outside of texts and comments are nested deeper than the parser can bear.
pub(super) fn is_too_deep(policy: &str) -> bool {
    let mut depth = 0_usize;
    let mut letters = policy.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth = depth.saturating_sub(1),
            '#' => while letters.next().is_some_and(|letter| letter != '\n') {},
            '`' => while letters.next().is_some_and(|letter| letter != '`') {},
            '"' => {
                while let Some(letter) = letters.next().filter(|letter| !matches!(letter, '"' | '\n')) {
                    if letter == '\\' {
                        letters.next();
                    }
                }
            }
            _ => {}
        }
        if depth > MAX_DEPTH {
            return true;
        }
    }
    false
}

/// The interpreter asks for the time at each step, and its limit is a duration. Its time is [`Steps`]: a nanosecond is a
/// step, so the limit is one of steps, the same on each machine.
pub(super) const STEPS: ExecutionTimerConfig =
    ExecutionTimerConfig { limit: Duration::from_nanos(MAX_STEPS), check_interval: NonZeroU32::MIN };

struct Steps;

static CLOCK: Steps = Steps;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

impl TimeSource for Steps {
    fn now(&self) -> Option<Duration> {
        let taken = TAKEN.get().saturating_add(1);
        TAKEN.set(taken);
        Some(Duration::from_nanos(taken))
    }
}

/// Makes steps the interpreter's time, once in a process; whether they are. An evaluation stays on one thread.
pub(super) fn are_installed() -> bool {
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    *INSTALLED.get_or_init(|| set_time_source(&CLOCK).is_ok())
}

pub(super) fn exceeded() -> Failure {
    Failure::too_large(format!("the evaluation takes more than {MAX_STEPS} steps: give it less data or simpler rules"))
}

/// Replaces the built-in functions of one step whose work has no bound: an extension is looked up before them.
pub(super) fn guard(engine: &mut Engine) -> Result<(), Failure> {
    let installed = engine
        .add_extension("numbers.range".to_owned(), 2, Box::new(|args: Vec<Rego>| Ok(range(&args, 1)?)))
        .and_then(|()| {
            let stepped = |args: Vec<Rego>| {
                let step = args.get(2).and_then(integer).filter(|step| *step > 0);
                Ok(range(&args, step.ok_or_else(|| refused("the step must be a positive integer"))?)?)
            };
            engine.add_extension("numbers.range_step".to_owned(), 3, Box::new(stepped))
        })
        .and_then(|()| engine.add_extension("bits.lsh".to_owned(), 2, Box::new(|args: Vec<Rego>| Ok(shift(&args)?))))
        .and_then(|()| {
            let refuse = |_: Vec<Rego>| Err(refused("graph.reachable_paths is not available").into());
            engine.add_extension("graph.reachable_paths".to_owned(), 2, Box::new(refuse))
        });
    installed.map_err(Failure::internal)
}

fn refused(why: &str) -> std::io::Error {
    std::io::Error::other(why.to_owned())
}

fn integer(value: &Rego) -> Option<i64> {
    value.as_i64().ok()
}

/// The integers from the first to the second argument, up or down.
fn range(args: &[Rego], step: i64) -> Result<Rego, std::io::Error> {
    let (Some(from), Some(to)) = (args.first().and_then(integer), args.get(1).and_then(integer)) else {
        return Ok(Rego::Undefined);
    };
    let count = to.checked_sub(from).map(|span| span.unsigned_abs() / step.unsigned_abs());
    let Some(last) = count.and_then(|count| i64::try_from(count).ok()).filter(|count| *count < MAX_RANGE) else {
        return Err(refused(&format!("a range may have {MAX_RANGE} elements")));
    };
    let step = if to < from { -step } else { step };
    Ok(Rego::from((0..=last).map(|at| Rego::from(from + at * step)).collect::<Vec<_>>()))
}

/// Shifts within 64 bits and the sign; a larger result is refused.
fn shift(args: &[Rego]) -> Result<Rego, std::io::Error> {
    let (Some(number), Some(by)) = (args.first().and_then(integer), args.get(1).and_then(integer)) else {
        return Ok(Rego::Undefined);
    };
    match by {
        ..0 => Ok(Rego::Undefined),
        MAX_SHIFT.. => Err(refused(&format!("a number is shifted by less than {MAX_SHIFT} bits"))),
        by => {
            let shifted = u32::try_from(by).ok().filter(|by| *by < 126).and_then(|by| {
                let wide = i128::from(number);
                let shifted = wide.checked_shl(by)?;
                (shifted >> by == wide).then_some(shifted)
            });
            let fits = shifted.and_then(|shifted| i64::try_from(shifted).ok());
            fits.map(Rego::from).ok_or_else(|| refused("bits.lsh beyond 63 bits is not available"))
        }
    }
}
