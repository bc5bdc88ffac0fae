use std::cell::{Cell, RefCell};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

type Answer = Result<Embeddings, EmbedError>;

/// Remembers every answer, so that a second one would be seen.
#[derive(Debug, Clone, Default)]
struct Caller {
    answers: Rc<RefCell<Vec<Answer>>>,
    gone: Rc<Cell<bool>>,
}

impl Reply for Caller {
    fn is_gone(&self) -> bool {
        self.gone.get()
    }

    fn send(self, answer: Answer) {
        self.answers.borrow_mut().push(answer);
    }
}

impl Caller {
    fn answer(&self) -> Option<Answer> {
        assert!(self.answers.borrow().len() <= 1, "answered twice");
        self.answers.borrow().first().cloned()
    }
}

fn admit(line: &mut Line<Caller>, texts: &[&str]) -> Caller {
    let caller = Caller::default();
    line.admit(texts.iter().map(ToString::to_string).collect(), caller.clone());
    caller
}

/// A text is as many tokens as its bytes, each of them its length: so the vector tells which text it is of.
fn tokens(text: &str) -> Vec<u32> {
    vec![u32::try_from(text.len()).unwrap(); text.len()]
}

fn vector(tokens: &[u32]) -> Vec<f32> {
    vec![tokens.len() as f32]
}

/// Reads all that is to be read, then hands out one step.
fn step(line: &mut Line<Caller>) -> Option<Step> {
    loop {
        match line.work()? {
            Work::Tokenize(id, texts) => line.tokenized(id, Ok(texts.iter().map(|text| tokens(text)).collect())),
            Work::Compute(step) => return Some(step),
        }
    }
}

fn compute(line: &mut Line<Caller>, step: &Step) {
    let vectors = step.tokens.iter().map(|tokens| vector(tokens)).collect();
    line.computed(step, vectors, Duration::from_millis(1));
}

fn lengths(step: &Step) -> Vec<usize> {
    step.tokens.iter().map(Vec::len).collect()
}

#[test]
fn waiting_texts_of_all_requests_are_computed_together() {
    let mut line = Line::new(100, 1);
    let (first, second) = (admit(&mut line, &["aaa", "aaaa"]), admit(&mut line, &["bb"]));
    let together = step(&mut line).unwrap();
    assert_eq!(lengths(&together), [3, 2, 4], "they take turns");
    compute(&mut line, &together);
    let answer = first.answer().unwrap().unwrap();
    assert_eq!((answer.vectors, answer.tokens), (vec![vec![3.0], vec![4.0]], vec![3, 4]));
    assert_eq!(second.answer().unwrap().unwrap().total_tokens(), 2);
    assert_eq!((line.len(), step(&mut line)), (0, None));
}

#[test]
fn a_step_is_bounded_and_a_small_request_overtakes_a_large_one() {
    let mut line = Line::new(100, 1);
    let long = "x".repeat(100);
    let large = admit(&mut line, &[long.as_str(); 6]);
    assert_eq!(lengths(&step(&mut line).unwrap()), [100, 100]);
    let small = admit(&mut line, &["s"]);
    let next = step(&mut line).unwrap();
    assert_eq!(lengths(&next), [100, 1, 100]);
    compute(&mut line, &next);
    assert!(small.answer().unwrap().is_ok() && large.answer().is_none());
    // One text alone may be more than a step's bound: it is never left behind.
    let huge = admit(&mut line, &["h".repeat(1000).as_str()]);
    while let Some(next) = step(&mut line) {
        compute(&mut line, &next);
    }
    assert!(huge.answer().unwrap().is_ok());
}

#[test]
fn threads_share_what_waits() {
    let mut line = Line::new(100, 2);
    admit(&mut line, &["x".repeat(10).as_str(); 30]);
    let tokens: Vec<usize> = std::iter::from_fn(|| step(&mut line)).map(|step| lengths(&step).iter().sum()).collect();
    // Half of 300, then half of what is left, but not below 64.
    assert_eq!(tokens, [150, 70, 60, 20]);
}

#[test]
fn too_many_texts_are_refused_and_a_full_line_says_when_to_come_back() {
    let mut line = Line::new(3, 1);
    let waiting = admit(&mut line, &["a", "b"]);
    assert_eq!(admit(&mut line, &["c"; 4]).answer(), Some(Err(EmbedError::TooMany { texts: 4, most: 3 })));
    assert!(
        matches!(admit(&mut line, &["c", "d"]).answer(), Some(Err(EmbedError::Busy { retry_after })) if retry_after >= Duration::from_secs(1))
    );
    // Whoever is gone makes room at once.
    waiting.gone.set(true);
    let next = admit(&mut line, &["c", "d"]);
    assert_eq!((next.answer(), line.len()), (None, 2));
    assert_eq!(admit(&mut line, &[]).answer(), Some(Ok(Embeddings::default())));
}

#[test]
fn a_text_that_is_refused_refuses_its_request_alone() {
    let mut line = Line::new(9, 1);
    let (bad, good) = (admit(&mut line, &["a", "b"]), admit(&mut line, &["c"]));
    let Some(Work::Tokenize(id, _)) = line.work() else { panic!("nothing to read") };
    let refusal = EmbedError::TooLong { index: 1, tokens: 257, most: 256 };
    line.tokenized(id, Err(refusal.clone()));
    assert_eq!(bad.answer(), Some(Err(refusal)));
    let next = step(&mut line).unwrap();
    assert_eq!(lengths(&next), [1]);
    compute(&mut line, &next);
    assert!(good.answer().unwrap().is_ok());
}

#[test]
fn a_death_fails_what_was_computed_and_keeps_what_waits() {
    let mut line = Line::new(9, 1);
    let long = "x".repeat(200);
    let (first, second) = (admit(&mut line, &[&long]), admit(&mut line, &[&long]));
    let running = step(&mut line).unwrap();
    line.died(&running, "it broke");
    assert_eq!(first.answer(), Some(Err(EmbedError::Failed { why: "it broke".to_owned() })));
    // An answer that comes after all changes nothing.
    compute(&mut line, &running);
    let next = step(&mut line).unwrap();
    compute(&mut line, &next);
    assert!(first.answer().unwrap().is_err() && second.answer().unwrap().is_ok());
    let third = admit(&mut line, &["c"]);
    line.fail_all(&EmbedError::Loading { percent: 0 });
    assert_eq!((third.answer(), line.len()), (Some(Err(EmbedError::Loading { percent: 0 })), 0));
}

#[derive(Debug, Clone)]
enum Event {
    Admit(Vec<usize>),
    Take,
    Finish(usize),
    Die(usize),
    Leave(usize),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => proptest::collection::vec(1_usize..300, 0..6).prop_map(Event::Admit),
        3 => Just(Event::Take),
        3 => (0_usize..8).prop_map(Event::Finish),
        1 => (0_usize..8).prop_map(Event::Die),
        1 => (0_usize..8).prop_map(Event::Leave),
    ];
    proptest::collection::vec(event, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever happens: nobody is answered twice, in the end everyone is answered, with the vectors of their own texts.
    #[test]
    fn every_request_gets_exactly_its_own_answer(events in events()) {
        let mut line = Line::new(12, 2);
        let (mut callers, mut running): (Vec<(Caller, Vec<usize>)>, Vec<Step>) = (Vec::new(), Vec::new());
        let at = |n: usize, length: usize| (length > 0).then(|| n % length);
        for event in events {
            match event {
                Event::Admit(lengths) => {
                    let caller = Caller::default();
                    line.admit(lengths.iter().map(|n| "x".repeat(*n)).collect(), caller.clone());
                    callers.push((caller, lengths));
                }
                Event::Take => running.extend(step(&mut line)),
                Event::Finish(n) => if let Some(at) = at(n, running.len()) { compute(&mut line, &running.remove(at)) },
                Event::Die(n) => if let Some(at) = at(n, running.len()) { line.died(&running.remove(at), "died") },
                Event::Leave(n) => if let Some(at) = at(n, callers.len()) { callers[at].0.gone.set(true) },
            }
            prop_assert!(line.len() <= 12);
        }
        running.iter().for_each(|step| compute(&mut line, step));
        while let Some(next) = step(&mut line) {
            prop_assert!(lengths(&next).iter().sum::<usize>() <= STEP_TOKENS || next.tokens.len() == 1);
            compute(&mut line, &next);
        }
        prop_assert_eq!((line.len(), line.tokens), (0, 0));
        for (caller, lengths) in callers {
            match caller.answer() {
                Some(Ok(answer)) => {
                    let expected: Vec<Vec<f32>> = lengths.iter().map(|n| vec![*n as f32]).collect();
                    prop_assert_eq!(answer.vectors, expected);
                }
                Some(Err(_)) => {}
                None => prop_assert!(caller.gone.get(), "without an answer"),
            }
        }
    }
}
