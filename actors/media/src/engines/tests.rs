use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{ModelError, ModelOptions, ModelSlots, ModelState, ModelThread};

fn counter(options: ModelOptions) -> (ModelThread<usize>, Arc<AtomicUsize>) {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let load = move || Ok(counted.fetch_add(1, Ordering::SeqCst));
    (ModelThread::start("counter", options, load).unwrap(), loads)
}

#[tokio::test(start_paused = true)]
async fn it_is_loaded_once_and_unloaded_after_ten_idle_minutes() {
    let (model, loads) = counter(ModelOptions::default());
    assert_eq!(model.stats().state, ModelState::Absent);
    let both = tokio::join!(model.call(|nth, _| *nth), model.call(|nth, _| *nth));
    assert_eq!(both, (Ok(0), Ok(0)));
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(model.call(|nth, _| *nth).await, Ok(0));
    let begin = Instant::now();
    model.state().wait_for(|state| *state == ModelState::Absent).await.unwrap();
    assert_eq!(begin.elapsed().as_secs(), 600);
    assert_eq!(model.call(|nth, _| *nth).await, Ok(1));
    assert_eq!(loads.load(Ordering::SeqCst), 2);
    assert_eq!(model.stats().served, 4);
}

#[tokio::test]
async fn a_full_queue_refuses_and_a_client_that_leaves_stops_the_call() {
    let (model, _) = counter(ModelOptions { queue: 1, ..ModelOptions::default() });
    let (begun, begins) = mpsc::channel();
    let running = tokio::spawn({
        let model = model.clone();
        async move {
            let work = move |_: &mut usize, stop: super::Stop<'_>| {
                begun.send(()).unwrap();
                while !stop.is_set() {
                    std::thread::yield_now();
                }
            };
            model.call(work).await
        }
    });
    tokio::task::spawn_blocking(move || begins.recv().unwrap()).await.unwrap();
    let waiting = tokio::spawn({
        let model = model.clone();
        async move { model.call(|nth, _| *nth).await }
    });
    while model.stats().calls < 2 {
        tokio::task::yield_now().await;
    }
    let refused = model.call(|nth, _| *nth).await.unwrap_err();
    assert_eq!(refused, ModelError::Busy { name: "counter".to_owned(), queue: 1 });
    running.abort();
    assert_eq!(waiting.await.unwrap(), Ok(0));
    assert_eq!((model.stats().stopped, model.stats().calls), (1, 0));
}

#[tokio::test]
async fn a_panic_fails_its_call_only_and_the_model_is_loaded_anew() {
    let (model, _) = counter(ModelOptions::default());
    let failed = model.call(|_, _| assert_eq!(1, 2, "a test's panic")).await.unwrap_err();
    assert!(failed.to_string().contains("panicked"));
    assert_eq!(model.call(|nth, _| *nth).await, Ok(1));
}

#[tokio::test]
async fn a_model_that_cannot_be_loaded_says_why() {
    let model = ModelThread::<usize>::start("broken", ModelOptions::default(), || Err("no such file".to_owned()));
    let model = model.unwrap();
    let failed = model.call(|_, _| ()).await.unwrap_err();
    assert_eq!(failed.to_string(), "broken failed: no such file");
    assert_eq!(model.stats().state, ModelState::Failed("no such file".to_owned()));
}

/// Five models of which four may be loaded.
fn five_of_four() -> Vec<ModelThread<usize>> {
    let slots = ModelSlots::start(4).unwrap();
    let options = || ModelOptions { slots: Some(slots.clone()), ..ModelOptions::default() };
    (0..5).map(|_| counter(options()).0).collect()
}

fn loaded(models: &[ModelThread<usize>]) -> Vec<usize> {
    let is_ready = |at: &usize| models[*at].stats().state == ModelState::Ready;
    (0..models.len()).filter(is_ready).collect()
}

#[tokio::test]
async fn the_model_used_least_recently_gives_its_place_to_the_fifth() {
    let models = five_of_four();
    for at in [0, 1, 2, 3, 0] {
        assert_eq!(models[at].call(|nth, _| *nth).await, Ok(0));
    }
    assert_eq!(loaded(&models), [0, 1, 2, 3]);
    assert_eq!(models[4].call(|nth, _| *nth).await, Ok(0));
    assert_eq!(loaded(&models), [0, 2, 3, 4]);
    // The one that was unloaded is loaded anew in the place of the next.
    assert_eq!(models[1].call(|nth, _| *nth).await, Ok(1));
    assert_eq!(loaded(&models), [0, 1, 3, 4]);
}

/// A call that begins, then runs until it is released.
fn held(model: &ModelThread<usize>) -> (oneshot::Receiver<()>, mpsc::Sender<()>, JoinHandle<Result<(), ModelError>>) {
    let (begun, begins) = oneshot::channel();
    let (release, released) = mpsc::channel::<()>();
    let model = model.clone();
    let work = move |_: &mut usize, _: super::Stop<'_>| {
        begun.send(()).unwrap();
        let _ = released.recv();
    };
    (begins, release, tokio::spawn(async move { model.call(work).await }))
}

#[tokio::test]
async fn while_all_run_the_fifth_waits_and_a_client_that_leaves_waits_no_more() {
    let models = five_of_four();
    let mut running = Vec::new();
    for model in &models[..4] {
        let (begins, release, call) = held(model);
        begins.await.unwrap();
        running.push((release, call));
    }
    let fifth = tokio::spawn({
        let model = models[4].clone();
        async move { model.call(|nth, _| *nth).await }
    });
    while models[4].stats().calls < 1 {
        tokio::task::yield_now().await;
    }
    fifth.abort();
    while models[4].stats().calls > 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!((models[4].stats().stopped, loaded(&models)), (1, vec![0, 1, 2, 3]));
    let next = models[4].call(|nth, _| *nth);
    let (release, call) = running.remove(2);
    let all = async {
        drop(release);
        assert_eq!(call.await.unwrap(), Ok(()));
        // Places that were requested back are given up after the call: more than one may be.
    };
    assert_eq!(tokio::join!(next, all).0, Ok(0));
    assert!(loaded(&models).len() <= 4 && models[4].stats().state == ModelState::Ready);
    for (release, call) in running {
        drop(release);
        assert_eq!(call.await.unwrap(), Ok(()));
    }
}

#[tokio::test]
async fn clients_that_left_make_room_in_the_queue_of_32() {
    let (model, _) = counter(ModelOptions::default());
    let (begins, release, first) = held(&model);
    begins.await.unwrap();
    let wait = |model: &ModelThread<usize>| {
        let model = model.clone();
        tokio::spawn(async move { model.call(|nth, _| *nth).await })
    };
    let mut waiting: Vec<_> = (0..32).map(|_| wait(&model)).collect();
    while model.stats().calls < 33 {
        tokio::task::yield_now().await;
    }
    let refused = model.call(|nth, _| *nth).await.unwrap_err();
    assert_eq!(refused, ModelError::Busy { name: "counter".to_owned(), queue: 32 });
    for left in waiting.drain(..3) {
        left.abort();
        assert!(left.await.unwrap_err().is_cancelled());
    }
    let more: Vec<_> = (0..3).map(|_| wait(&model)).collect();
    while model.stats().stopped < 3 {
        tokio::task::yield_now().await;
    }
    drop(release);
    assert_eq!(first.await.unwrap(), Ok(()));
    for call in waiting.into_iter().chain(more) {
        assert_eq!(call.await.unwrap(), Ok(0));
    }
    assert_eq!((model.stats().served, model.stats().calls), (33, 0));
}
