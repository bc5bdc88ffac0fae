//! Runs a reader on its corpus and on mutations of it.

use std::collections::HashSet;
use std::fmt::Display;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::mutate::{Mutator, Random};

/// Number of mutations of a run without settings.
const RUNS: u64 = 4_000;
const SEED: u64 = 0x6d75_7374_6572;
/// Time limit of one input in a debug build on a busy machine, far above the need.
const LONG: Duration = Duration::from_secs(40);
/// Largest number of inputs that mutations start from.
const POOL: usize = 2_048;
/// Time to make a finding smaller.
const REDUCING: Duration = Duration::from_secs(20);

/// A reader under test. It panics if a property does not hold; else it returns a label of the outcome, such as the kind
/// of the error. An input with a new label becomes a start of further mutations.
pub type Reader = fn(&[u8]) -> String;

/// How long a test runs: `FUZZ_SECONDS`, or a fixed number of mutations; `FUZZ_SEED` repeats a run.
struct Plan {
    seconds: Option<u64>,
    seed: u64,
}

impl Plan {
    fn read() -> Self {
        let number = |name| std::env::var(name).ok().and_then(|text| text.parse().ok());
        let seconds = number("FUZZ_SECONDS");
        let fresh = || {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            now.map_or(SEED, |now| now.as_millis() as u64)
        };
        let seed = number("FUZZ_SEED").unwrap_or_else(|| if seconds.is_some() { fresh() } else { SEED });
        Self { seconds, seed }
    }

    fn goes_on(&self, runs: u64, since: Instant) -> bool {
        match self.seconds {
            Some(seconds) => since.elapsed() < Duration::from_secs(seconds),
            None => runs < RUNS,
        }
    }
}

/// Runs `reader` as test `name`. `words` are the tokens of its language.
///
/// # Panics
/// A property does not hold for an input, or an input takes too long. The message names a file with the input.
pub fn fuzz(name: &str, words: &[&str], reader: Reader) {
    let plan = Plan::read();
    let mut campaign = Campaign::new(name, reader);
    let corpus = corpus(name);
    assert!(corpus.len() >= 3, "tests/fuzz/corpus/{name} holds fewer than three inputs");
    for (path, input) in corpus {
        campaign.run(&input, &format!("of the corpus, {}", path.display()));
        campaign.keep(input);
    }
    let mut mutator = Mutator::new(words, Random(plan.seed));
    let (since, mut runs) = (Instant::now(), 0);
    while plan.goes_on(runs, since) {
        let input = mutator.mutate(&campaign.pool);
        if campaign.run(&input, &format!("of mutation {runs} with FUZZ_SEED={}", plan.seed)) {
            campaign.keep(input);
        }
        runs += 1;
    }
    let secs = since.elapsed().as_secs_f64();
    println!(
        "{name}: {runs} mutations in {secs:.1} s, seed {}, {} outcomes, slowest {:?}",
        plan.seed,
        campaign.labels.len(),
        campaign.slowest
    );
}

struct Campaign<'a> {
    name: &'a str,
    reader: Reader,
    labels: HashSet<String>,
    pool: Vec<Vec<u8>>,
    /// The longest time of an input, and its outcome.
    slowest: (Duration, String),
    /// Where a reduced input is left.
    found: PathBuf,
    /// Holds the input of the current call: what is left after an overflow of the stack or of memory. It stays open and is
    /// not truncated to nothing, because file systems write such a file out when it is closed.
    current: File,
}

impl<'a> Campaign<'a> {
    fn new(name: &'a str, reader: Reader) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
        fs::create_dir_all(&folder).unwrap();
        let (labels, pool) = (HashSet::new(), Vec::new());
        let found = folder.join(format!("{name}.found"));
        let current = File::create(folder.join(format!("{name}.current"))).unwrap();
        Self { name, reader, labels, pool, slowest: Default::default(), found, current }
    }

    /// Returns whether the outcome is a new one.
    fn run(&mut self, input: &[u8], origin: &str) -> bool {
        self.current.write_all_at(input, 0).unwrap();
        self.current.set_len(input.len() as u64).unwrap();
        let since = Instant::now();
        let outcome = attempt(self.reader, input);
        let took = since.elapsed();
        if let (Ok(label), true) = (&outcome, took > self.slowest.0) {
            self.slowest = (took, label.clone());
        }
        match outcome {
            Ok(label) if took < LONG => self.labels.insert(label),
            Ok(_) => self.found(input, origin, &format!("takes {took:?}"), |input, reader| {
                let since = Instant::now();
                attempt(reader, input).is_ok() && since.elapsed() >= LONG
            }),
            Err(message) => self.found(input, origin, &message, |input, reader| attempt(reader, input).is_err()),
        }
    }

    fn keep(&mut self, input: Vec<u8>) {
        if self.pool.len() < POOL {
            self.pool.push(input);
        }
    }

    fn found(&self, input: &[u8], origin: &str, what: &dyn Display, still: impl Fn(&[u8], Reader) -> bool) -> ! {
        let small = reduced(input, |candidate| still(candidate, self.reader));
        fs::write(&self.found, &small).unwrap();
        panic!(
            "{}: the input {origin}: {what}\n{} bytes, reduced to {} in {}: {:?}",
            self.name,
            input.len(),
            small.len(),
            self.found.display(),
            String::from_utf8_lossy(&small[..small.len().min(400)])
        );
    }
}

fn attempt(reader: Reader, input: &[u8]) -> Result<String, String> {
    catch_unwind(AssertUnwindSafe(|| reader(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned())).unwrap_or_default()
    })
}

/// Leaves out parts of an input, from halves to single bytes, as long as it fails.
fn reduced(input: &[u8], fails: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut small, since) = (input.to_vec(), Instant::now());
    let mut size = (small.len() / 2).max(1);
    loop {
        let mut at = 0;
        while at < small.len() {
            if since.elapsed() > REDUCING {
                return small;
            }
            let end = (at + size).min(small.len());
            let candidate = [&small[..at], &small[end..]].concat();
            if fails(&candidate) {
                small = candidate;
            } else {
                at = end;
            }
        }
        if size == 1 {
            return small;
        }
        size /= 2;
    }
}

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/corpus").join(name);
    let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), fs::read(&path).unwrap())).collect()
}

/// Returns a text without its digits and quoted parts, which would make every outcome a new one.
pub fn label(text: impl Display) -> String {
    let (mut quoted, text) = (false, text.to_string());
    let kept = text.chars().filter(|char| {
        let quote = matches!(char, '"' | '`');
        quoted ^= quote;
        !quoted && !quote && !char.is_ascii_digit() && char.is_ascii()
    });
    kept.take(120).collect()
}

/// Splits an input into chunks whose sizes follow from the input itself.
pub fn chunks(input: &[u8]) -> Vec<&[u8]> {
    let seed = input.iter().fold(SEED, |seed, byte| seed.rotate_left(5) ^ u64::from(*byte));
    let (mut random, mut rest, mut out) = (Random(seed), input, Vec::new());
    while !rest.is_empty() {
        let most = if random.below(4) == 0 { rest.len() } else { 7.min(rest.len()) };
        let (head, tail) = rest.split_at(1 + random.below(most));
        out.push(head);
        rest = tail;
    }
    out
}

#[test]
fn a_finding_is_reduced_and_reported_with_its_file() {
    let reader: Reader = |input| {
        assert!(!input.windows(2).any(|pair| pair == b"!!"), "two marks");
        String::new()
    };
    let campaign = || Campaign::new("self_test", reader).run(b"some words !! and more", "of the test");
    let message = catch_unwind(AssertUnwindSafe(campaign)).unwrap_err().downcast::<String>().unwrap();
    assert!(message.contains("two marks") && message.contains("reduced to 2"), "{message}");
    let found = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz/self_test.found");
    assert_eq!(fs::read(found).unwrap(), b"!!");
}
