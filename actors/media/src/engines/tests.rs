use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use super::{ModelError, ModelOptions, ModelState, ModelThread};

fn counter(options: ModelOptions) -> (ModelThread<usize>, Arc<AtomicUsize>) {
    let loads = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&loads);
    let load = move || Ok(counted.fetch_add(1, Ordering::SeqCst));
    (ModelThread::start("counter", options, load).unwrap(), loads)
}

#[tokio::test]
async fn it_is_loaded_once_and_unloaded_when_idle() {
    let (model, loads) = counter(ModelOptions { idle: Duration::from_millis(20), ..ModelOptions::default() });
    assert_eq!(model.stats().state, ModelState::Absent);
    let both = tokio::join!(model.call(|nth, _| *nth), model.call(|nth, _| *nth));
    assert_eq!(both, (Ok(0), Ok(0)));
    let unloaded = model.state().wait_for(|state| *state == ModelState::Absent).await.is_ok();
    assert!(unloaded);
    assert_eq!(model.call(|nth, _| *nth).await, Ok(1));
    assert_eq!(loads.load(Ordering::SeqCst), 2);
    assert_eq!(model.stats().served, 3);
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
