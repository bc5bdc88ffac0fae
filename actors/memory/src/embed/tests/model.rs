//! Test model: each word is a direction.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::embed::{EmbedFault, Embedder, ModelTag, Readiness, Vectors};

/// Behaviour of the model.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ModelBehaviour {
    Working,
    Absent,
    /// Every call fails.
    Fails,
    /// Never responds.
    Hangs,
    /// Gives vectors of another length.
    Short,
    /// Gives one vector too few.
    Few,
    Panics,
}

/// Hashes words to a small vector.
#[derive(Debug)]
pub(crate) struct WordModel {
    tag: ModelTag,
    behaviour: watch::Sender<ModelBehaviour>,
    /// Longest text, in words.
    max_words: usize,
    /// A text with this word fails.
    poison: &'static str,
    /// Texts of each call.
    calls: Mutex<Vec<Vec<String>>>,
}

impl WordModel {
    pub(crate) const DIMENSIONS: usize = 64;

    pub(crate) fn new(id: &str, behaviour: ModelBehaviour) -> Arc<Self> {
        Self::reading(id, behaviour, 400)
    }

    /// Accepts this many words of a text.
    pub(crate) fn reading(id: &str, behaviour: ModelBehaviour, max_words: usize) -> Arc<Self> {
        Arc::new(Self {
            tag: ModelTag { id: Arc::from(id), dimensions: Self::DIMENSIONS },
            behaviour: watch::Sender::new(behaviour),
            max_words,
            poison: "poison",
            calls: Mutex::default(),
        })
    }

    pub(crate) fn working() -> Arc<Self> {
        Self::new("words-1", ModelBehaviour::Working)
    }

    pub(crate) fn absent() -> Arc<Self> {
        Self::new("words-1", ModelBehaviour::Absent)
    }

    pub(crate) fn set_behaviour(&self, behaviour: ModelBehaviour) {
        self.behaviour.send_replace(behaviour);
    }

    pub(crate) fn calls(&self) -> Vec<Vec<String>> {
        self.calls.lock().unwrap().clone()
    }

    fn vector(text: &str, dimensions: usize) -> Vec<f32> {
        let mut vector = vec![0.0_f32; dimensions];
        for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
            let mut hasher = DefaultHasher::new();
            word.to_lowercase().hash(&mut hasher);
            vector[usize::try_from(hasher.finish() % dimensions as u64).unwrap()] += 1.0;
        }
        let norm = vector.iter().map(|part| part * part).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
        vector.into_iter().map(|part| part / norm).collect()
    }

    fn compute(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedFault> {
        let failed = |why: &str| Err(EmbedFault::Failed { why: why.to_owned() });
        let of = |dimensions| texts.iter().map(|text| Self::vector(text, dimensions)).collect::<Vec<_>>();
        match *self.behaviour.borrow() {
            ModelBehaviour::Fails => return failed("out of order"),
            ModelBehaviour::Short => return Ok(of(Self::DIMENSIONS - 1)),
            ModelBehaviour::Few => return Ok(of(Self::DIMENSIONS).split_off(1)),
            ModelBehaviour::Panics => panic!("the model panics"),
            ModelBehaviour::Absent | ModelBehaviour::Hangs | ModelBehaviour::Working => {}
        }
        if let Some(index) = texts.iter().position(|text| text.split_whitespace().count() > self.max_words) {
            return Err(EmbedFault::TooLong { index });
        }
        if texts.iter().any(|text| text.contains(self.poison)) {
            return failed("poisoned");
        }
        Ok(of(Self::DIMENSIONS))
    }
}

impl Embedder for WordModel {
    fn model(&self) -> ModelTag {
        self.tag.clone()
    }

    fn ready(&self) -> Readiness {
        match *self.behaviour.borrow() {
            ModelBehaviour::Absent => Readiness::NotReady { why: "no model is installed".to_owned() },
            _ => Readiness::Ready,
        }
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        let mut behaviour = self.behaviour.subscribe();
        async move {
            let _ = behaviour.changed().await;
        }
        .boxed()
    }

    fn embed(&self, texts: Vec<String>) -> Vectors {
        self.calls.lock().unwrap().push(texts.clone());
        if *self.behaviour.borrow() == ModelBehaviour::Hangs {
            return std::future::pending().boxed();
        }
        let computed = self.compute(&texts);
        async move {
            // ApplyBehaviour a turn, as a model on another thread does.
            tokio::task::yield_now().await;
            computed
        }
        .boxed()
    }
}
