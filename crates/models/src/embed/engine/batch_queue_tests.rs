use std::cell::{Cell, RefCell};
use std::rc::Rc;

use proptest::prelude::*;

use super::*;

type Answer = Result<Embeddings, EmbedError>;

/// Records every response, so that a second one is detected.
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

fn admit(queue: &mut BatchQueue<Caller>, texts: &[&str]) -> Caller {
    let caller = Caller::default();
    queue.admit(texts.iter().map(ToString::to_string).collect(), caller.clone());
    caller
}

/// Fake tokenizer: one token per byte, each with the text's length as its id, so that a vector identifies its text.
fn tokens(text: &str) -> Vec<u32> {
    vec![u32::try_from(text.len()).unwrap(); text.len()]
}

fn vector(tokens: &[u32]) -> Vec<f32> {
    vec![tokens.len() as f32]
}

/// Tokenizes everything that is waiting, then hands out one batch.
fn batch(queue: &mut BatchQueue<Caller>) -> Option<Batch> {
    loop {
        match queue.next_work()? {
            QueueWork::Tokenize(id, texts) => queue.tokenized(id, Ok(texts.iter().map(|text| tokens(text)).collect())),
            QueueWork::Compute(batch) => return Some(batch),
        }
    }
}

fn compute(queue: &mut BatchQueue<Caller>, batch: &Batch) {
    let vectors = batch.tokens.iter().map(|tokens| vector(tokens)).collect();
    queue.computed(batch, vectors, Duration::from_millis(1));
}

fn lengths(batch: &Batch) -> Vec<usize> {
    batch.tokens.iter().map(Vec::len).collect()
}

#[test]
fn waiting_texts_of_all_requests_are_computed_together() {
    let mut queue = BatchQueue::new(100, 1);
    let (first, second) = (admit(&mut queue, &["aaa", "aaaa"]), admit(&mut queue, &["bb"]));
    let together = batch(&mut queue).unwrap();
    assert_eq!(lengths(&together), [3, 2, 4], "they take turns");
    compute(&mut queue, &together);
    let answer = first.answer().unwrap().unwrap();
    assert_eq!((answer.vectors, answer.tokens), (vec![vec![3.0], vec![4.0]], vec![3, 4]));
    assert_eq!(second.answer().unwrap().unwrap().total_tokens(), 2);
    assert_eq!((queue.len(), batch(&mut queue)), (0, None));
}

#[test]
fn a_step_is_bounded_and_a_small_request_overtakes_a_large_one() {
    let mut queue = BatchQueue::new(100, 1);
    let long = "x".repeat(100);
    let large = admit(&mut queue, &[long.as_str(); 6]);
    assert_eq!(lengths(&batch(&mut queue).unwrap()), [100, 100]);
    let small = admit(&mut queue, &["s"]);
    let next = batch(&mut queue).unwrap();
    assert_eq!(lengths(&next), [100, 1, 100]);
    compute(&mut queue, &next);
    assert!(small.answer().unwrap().is_ok() && large.answer().is_none());
    // A single text may exceed the batch limit: it is never left behind.
    let huge = admit(&mut queue, &["h".repeat(1000).as_str()]);
    while let Some(next) = batch(&mut queue) {
        compute(&mut queue, &next);
    }
    assert!(huge.answer().unwrap().is_ok());
}

#[test]
fn threads_share_the_queue() {
    let mut queue = BatchQueue::new(100, 2);
    admit(&mut queue, &["x".repeat(10).as_str(); 30]);
    let tokens: Vec<usize> =
        std::iter::from_fn(|| batch(&mut queue)).map(|batch| lengths(&batch).iter().sum()).collect();
    // Half of 300, then half of the rest, but not below 64.
    assert_eq!(tokens, [150, 70, 60, 20]);
}

#[test]
fn too_many_texts_are_rejected_and_a_full_queue_returns_a_retry_time() {
    let mut queue = BatchQueue::new(3, 1);
    let waiting = admit(&mut queue, &["a", "b"]);
    assert_eq!(admit(&mut queue, &["c"; 4]).answer(), Some(Err(EmbedError::TooMany { texts: 4, most: 3 })));
    assert!(
        matches!(admit(&mut queue, &["c", "d"]).answer(), Some(Err(EmbedError::Busy { retry_after })) if retry_after >= Duration::from_secs(1))
    );
    // A caller that has gone frees its place at once.
    waiting.gone.set(true);
    let next = admit(&mut queue, &["c", "d"]);
    assert_eq!((next.answer(), queue.len()), (None, 2));
    assert_eq!(admit(&mut queue, &[]).answer(), Some(Ok(Embeddings::default())));
}

#[test]
fn a_rejected_text_rejects_only_its_own_request() {
    let mut queue = BatchQueue::new(9, 1);
    let (bad, good) = (admit(&mut queue, &["a", "b"]), admit(&mut queue, &["c"]));
    let Some(QueueWork::Tokenize(id, _)) = queue.next_work() else { panic!("nothing to read") };
    let refusal = EmbedError::TooLong { index: 1, tokens: 257, most: 256 };
    queue.tokenized(id, Err(refusal.clone()));
    assert_eq!(bad.answer(), Some(Err(refusal)));
    let next = batch(&mut queue).unwrap();
    assert_eq!(lengths(&next), [1]);
    compute(&mut queue, &next);
    assert!(good.answer().unwrap().is_ok());
}

#[test]
fn a_panic_fails_the_running_batch_and_keeps_waiting_requests() {
    let mut queue = BatchQueue::new(9, 1);
    let long = "x".repeat(200);
    let (first, second) = (admit(&mut queue, &[&long]), admit(&mut queue, &[&long]));
    let running = batch(&mut queue).unwrap();
    queue.died(&running, "it broke");
    assert_eq!(first.answer(), Some(Err(EmbedError::Failed { why: "it broke".to_owned() })));
    // A late result changes nothing.
    compute(&mut queue, &running);
    let next = batch(&mut queue).unwrap();
    compute(&mut queue, &next);
    assert!(first.answer().unwrap().is_err() && second.answer().unwrap().is_ok());
    let third = admit(&mut queue, &["c"]);
    queue.fail_all(&EmbedError::Loading { percent: 0 });
    assert_eq!((third.answer(), queue.len()), (Some(Err(EmbedError::Loading { percent: 0 })), 0));
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

    /// In every case no request is answered twice, all are answered in the end, and with the vectors of their own
    /// texts.
    #[test]
    fn every_request_gets_exactly_its_own_answer(events in events()) {
        let mut queue = BatchQueue::new(12, 2);
        let (mut callers, mut running): (Vec<(Caller, Vec<usize>)>, Vec<Batch>) = (Vec::new(), Vec::new());
        let at = |n: usize, length: usize| (length > 0).then(|| n % length);
        for event in events {
            match event {
                Event::Admit(lengths) => {
                    let caller = Caller::default();
                    queue.admit(lengths.iter().map(|n| "x".repeat(*n)).collect(), caller.clone());
                    callers.push((caller, lengths));
                }
                Event::Take => running.extend(batch(&mut queue)),
                Event::Finish(n) => if let Some(at) = at(n, running.len()) { compute(&mut queue, &running.remove(at)) },
                Event::Die(n) => if let Some(at) = at(n, running.len()) { queue.died(&running.remove(at), "died") },
                Event::Leave(n) => if let Some(at) = at(n, callers.len()) { callers[at].0.gone.set(true) },
            }
            prop_assert!(queue.len() <= 12);
        }
        running.iter().for_each(|batch| compute(&mut queue, batch));
        while let Some(next) = batch(&mut queue) {
            prop_assert!(lengths(&next).iter().sum::<usize>() <= BATCH_TOKENS || next.tokens.len() == 1);
            compute(&mut queue, &next);
        }
        prop_assert_eq!((queue.len(), queue.tokens), (0, 0));
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
