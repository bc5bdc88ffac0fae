//! Engines that misbehave in various ways.

use std::hint::black_box;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use muster_engines::stack::{STACK, on_stack};
use muster_engines::{Context, Engine, Failure, Family, Nature};
use muster_tasks::engine::Job;
use serde_json::{Value, json};

pub static ECHO: Engine = engine(1, "echo", |input, _| Ok(input));
pub static FOREVER: Engine = engine(2, "forever", |_, _| {
    loop {
        std::thread::park();
    }
});
pub static BOMB: Engine = engine(3, "bomb", |_, _| {
    let mut kept = Vec::new();
    loop {
        kept.push(black_box(vec![1_u8; 1 << 20]));
    }
});
pub static DEEP: Engine = engine(4, "deep", |_, _| Ok(json!(dig(0))));
pub static PANICS: Engine = engine(5, "panics", |_, _| panic!("at the disco"));
pub static LARGE: Engine = engine(6, "large", |_, _| Ok(json!({ "text": "x".repeat(9 << 20) })));
pub static ABORTS: Engine = engine(7, "aborts", |_, _| std::process::abort());
/// Returns information about its process.
pub static PROCESS: Engine =
    engine(8, "process", |_, _| Ok(json!({ "pid": std::process::id(), "variables": std::env::vars().count() })));
pub static WRITES: Engine = engine(9, "writes", |_, _| {
    let path = std::env::temp_dir().join(format!("engine-pool-{}", std::process::id()));
    let written = std::fs::write(&path, "x");
    let _ = std::fs::remove_file(&path);
    Ok(json!({ "written": written.is_ok() }))
});
/// Leaks memory.
pub static LEAKS: Engine = engine(10, "leaks", |_, _| {
    std::mem::forget(black_box(vec![1_u8; 20 << 20]));
    Ok(json!({ "pid": std::process::id() }))
});
/// Nests its output more deeply than the JSON parser accepts.
pub static NESTS: Engine = engine(11, "nests", |_, _| Ok((0..500).fold(json!(1), |inner, _| json!([inner]))));

/// Uses three quarters of the memory.
pub static FITS: Engine = engine(12, "fits", |_, _| Ok(json!({ "had": take(48) })));
/// Uses one and a half times the memory limit.
pub static GREEDY: Engine = engine(13, "greedy", |_, _| Ok(json!({ "had": take(96) })));
/// Recurses through three quarters of the largest stack, and uses three quarters of the memory beside it.
pub static CLIMBS: Engine = engine(14, "climbs", |_, context| {
    on_stack(
        context,
        STACK,
        || Failure::internal("fallen"),
        || {
            let kept = black_box(vec![1_u8; 48 << 20]);
            Ok(json!({ "climbed": climb(here()) >> 20, "had": kept.len() >> 20 }))
        },
    )
});
/// Uses more than the memory limit on a stack of its own.
pub static CLIMBS_GREEDILY: Engine = engine(15, "climbs-greedily", |_, context| {
    on_stack(context, STACK, || Failure::internal("fallen"), || Ok(json!({ "had": take(96) })))
});

/// Returns what the last call in this process kept.
pub static KEEPS: Engine = engine(16, "keeps", |input, _| {
    static KEPT: Mutex<Option<Value>> = Mutex::new(None);
    let kept = KEPT.lock().unwrap().replace(input["value"].clone());
    Ok(json!({ "kept": kept, "pid": std::process::id() }))
});

static ALL: [&Engine; 18] = [
    &ECHO,
    &FOREVER,
    &BOMB,
    &DEEP,
    &PANICS,
    &LARGE,
    &ABORTS,
    &PROCESS,
    &WRITES,
    &LEAKS,
    &NESTS,
    &FITS,
    &GREEDY,
    &CLIMBS,
    &CLIMBS_GREEDILY,
    &KEEPS,
    &crate::hostile::PURE,
    &crate::hostile::WORKSPACE,
];

/// Reverses its input.
pub static REVERSES: Job = job(60_000, "reverses", |input| Ok(input.iter().rev().copied().collect()));
pub static NEVER_ENDS: Job = job(60_001, "never-ends", |_| {
    loop {
        std::thread::park();
    }
});
pub static TAKES_TOO_MUCH: Job = job(60_002, "takes-too-much", |_| Ok(vec![0; take(96)]));
pub static REFUSES: Job = job(60_003, "refuses", |_| Err(Failure::invalid(&["data"], "is not to its liking")));
pub static JOB_PANICS: Job = job(60_004, "job-panics", |_| panic!("at the disco"));

pub static JOBS: &[&Job] = &[&REVERSES, &NEVER_ENDS, &TAKES_TOO_MUCH, &REFUSES, &JOB_PANICS];

const fn job(number: u16, id: &'static str, run: fn(&[u8]) -> Result<Vec<u8>, Failure>) -> Job {
    Job { number, id, time: Duration::from_secs(1), run }
}

/// Allocates and touches this many MiB.
fn take(mib: usize) -> usize {
    black_box(vec![1_u8; mib << 20]).len() >> 20
}

/// Returns an address on the stack.
fn here() -> usize {
    let mark = 0_u8;
    std::ptr::from_ref(black_box(&mark)).addr()
}

/// Returns the bytes of stack beyond `base` once there are enough.
fn climb(base: usize) -> usize {
    let frame = black_box([0_u8; 16 << 10]);
    let taken = base.abs_diff(here());
    if taken >= STACK / 4 * 3 { taken } else { climb(base) + usize::from(frame[0]) }
}

pub fn by_number(number: u16) -> Option<&'static Engine> {
    ALL.into_iter().find(|engine| engine.number == number)
}

const fn engine(number: u16, id: &'static str, function: EngineFunction) -> Engine {
    engine_of(number, id, Nature::Pure, function)
}

pub type EngineFunction = fn(Value, &Context) -> Result<Value, Failure>;

pub const fn engine_of(number: u16, id: &'static str, nature: Nature, function: EngineFunction) -> Engine {
    Engine {
        number,
        id,
        name: id,
        family: Family::Data,
        nature,
        summary: id,
        inputs: &["value:any:-:optional"],
        outputs: &[],
        method: "",
        reference: "",
        example: "{}",
        function,
        fields: OnceLock::new(),
    }
}

#[allow(unconditional_recursion, reason = "it is what is tested")]
fn dig(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    1 + dig(frame[0] + 1) + frame[1]
}
