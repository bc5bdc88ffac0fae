//! Engines that misbehave in various ways.

use std::hint::black_box;
use std::sync::Mutex;
use std::time::Duration;

use muster_engines::stack::{STACK, on_stack};
use muster_engines::{Answer, Context, Cost, Engine, Failure, Nature, Need, NoAnswer};
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

/// Reports progress, then ends; with `park` it never does.
pub static LONG: Engine = engine(19, "long", |input, context| {
    for done in 1..=3 {
        context.progress(done, 3, "counting");
    }
    if input["value"] == json!("park") {
        loop {
            std::thread::park();
        }
    }
    Ok(json!({ "elapsed": context.elapsed().as_nanos() > 0 }))
})
.with_cost(Cost::Long);

/// Asks twice: the second need contains the first answer.
pub static ASKS: Engine = engine_of(20, "asks", Nature::Model, |_, context| {
    let embed = |text: String| Need::Embed { texts: vec![text], model: "embedded".to_owned() };
    match context.ask(embed("first".to_owned()))? {
        Answer::Refused { why } => Ok(json!({ "refused": why })),
        Answer::Given(first) => match context.ask(embed(first.to_string()))? {
            Answer::Given(second) => Ok(json!({ "answers": [first, second] })),
            Answer::Refused { why } => Ok(json!({ "refused": why })),
        },
    }
});

/// Asks without end.
pub static ASKS_ON: Engine = engine_of(21, "asks-on", Nature::Model, |_, context| {
    loop {
        context.ask(Need::Embed { texts: Vec::new(), model: String::new() })?;
    }
});

/// Has no answer, and explains itself.
pub static INFEASIBLE: Engine = engine(22, "infeasible", |input, context| {
    context.step("slope", 0.5, "m/m");
    context.assume("the ground is dry");
    if input["value"] == json!("explain") {
        return Ok(json!({}));
    }
    Err(Failure::no_answer(NoAnswer::Infeasible, "no route satisfies all constraints: relax one"))
});

static ALL: [&Engine; 22] = [
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
    &LONG,
    &ASKS,
    &ASKS_ON,
    &INFEASIBLE,
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
    Engine::bare(number, id, nature, function).with_inputs(&["value:any:-:optional"])
}

#[allow(unconditional_recursion, reason = "it is what is tested")]
fn dig(depth: u64) -> u64 {
    let frame = black_box([depth; 64]);
    1 + dig(frame[0] + 1) + frame[1]
}
