//! Cost of starting semantic memory's indexes, from the store alone and from checkpoints, and of searches afterwards.
//!
//! `cargo bench -p muster-memory --bench memory_index` prints a table; `-- 1000000` sets the number of entries
//! (100,000). The store and the checkpoints are on the local disk; half of the entries have vectors of 384 numbers.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_rt::Arbiter;
use futures::future::BoxFuture;
use muster_core::supervise::Tree;
use muster_core::{Clock, Millis};
use muster_memory::{
    Embedder, EntryId, EntryRecord, IndexHealth, IndexOptions, IndexSearch, IndexStats, Indexes, Mode, ModelTag, Owner,
    Place, Query, Readiness, Searcher, Space, VectorRecord, Vectors, entry_key, vector_key,
};
use muster_store::{Batch, Options, Record, SledStore, StoreHandle, Tree as StoreTree};

type Outcome<T> = Result<T, Box<dyn Error>>;

const DIMENSIONS: usize = 384;
/// Distinct words of all entries; the n-th has the frequency 1/n.
const WORDS: u64 = 50_000;
const WORDS_OF_ENTRY: u64 = 25;
const SEARCHES: u64 = 1_000;

/// SplitMix64 (Steele, Lea, Flood 2014): the same entries in each run.
fn random(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// Uniform number in `0..1`.
fn share(seed: u64) -> f64 {
    (random(seed) >> 11) as f64 / (1_u64 << 53) as f64
}

/// A word by Zipf's law, spelled in letters.
fn word(seed: u64) -> String {
    let mut rank = (WORDS as f64).powf(share(seed)) as u64;
    let mut word = String::from("w");
    while rank > 0 {
        word.push(char::from(b'a' + (rank % 26) as u8));
        rank /= 26;
    }
    word
}

fn unit(seed: u64) -> Vec<f32> {
    let raw: Vec<f32> = (0..DIMENSIONS as u64).map(|n| share(seed * 1_000 + n) as f32 - 0.5).collect();
    let norm = raw.iter().map(|part| part * part).sum::<f32>().sqrt();
    raw.into_iter().map(|part| part / norm).collect()
}

/// Returns vectors immediately, so that only the index is measured.
#[derive(Debug)]
struct InstantModel;

impl Embedder for InstantModel {
    fn model(&self) -> ModelTag {
        ModelTag { id: "bench".into(), dimensions: DIMENSIONS }
    }

    fn ready(&self) -> Readiness {
        Readiness::Ready
    }

    fn changed(&self) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }

    fn embed(&self, texts: Vec<String>) -> Vectors {
        Box::pin(std::future::ready(Ok(texts.iter().map(|text| unit(text.len() as u64)).collect())))
    }
}

fn main() -> Outcome<()> {
    actix_rt::System::new().block_on(async {
        let entries = std::env::args().skip(1).find_map(|arg| arg.parse().ok());
        let count: u64 = entries.unwrap_or(100_000);
        let root = tempfile::tempdir()?;
        let opened = SledStore::open(Options::new(root.path().join("store")))?;
        let store: StoreHandle = opened.store.clone();
        let begun = Instant::now();
        fill(&store, count).await?;
        println!("{count} entries stored in {:.1} s", begun.elapsed().as_secs_f64());

        let shards = [Arbiter::new(), Arbiter::new()];
        let handles = [shards[0].handle(), shards[1].handle()];
        let options = IndexOptions::new(store, Clock::system(), root.path().join("memory"), Arc::new(InstantModel));
        for start in ["from the store", "from checkpoints"] {
            let tree = Tree::new(Arbiter::current(), Clock::system());
            let begun = Instant::now();
            let indexes = Indexes::start(&tree.group("memory"), &handles, options.clone());
            indexes.up().await;
            let up = begun.elapsed();
            let mut polls = tokio::time::interval(Duration::from_millis(5));
            while indexes.health() != IndexHealth::Ready {
                polls.tick().await;
            }
            let ready = begun.elapsed();
            let IndexStats { entries, vectors, bytes, .. } = indexes.stats().await;
            println!(
                "{start}: answers after {:.0} ms, whole after {:.2} s; {entries} entries, {vectors} vectors, {} bytes an entry",
                up.as_secs_f64() * 1e3,
                ready.as_secs_f64(),
                bytes / entries.max(1),
            );
            let begun = Instant::now();
            indexes.checkpoint().await?;
            println!("  checkpoint: {:.2} s, {} MB", begun.elapsed().as_secs_f64(), size(&root.path().join("memory")) >> 20);
            for mode in [Mode::Text, Mode::Hybrid] {
                searches(&indexes, mode).await?;
            }
            tree.stop().await;
        }
        Ok(())
    })
}

async fn fill(store: &StoreHandle, count: u64) -> Outcome<()> {
    let space = Space::new(Owner::new("key_1"), "default");
    let mut batch = Batch::default();
    for number in 0..count {
        let words: Vec<String> = (0..WORDS_OF_ENTRY).map(|n| word(number * WORDS_OF_ENTRY + n)).collect();
        let place = Place::new(space.clone(), &format!("entry-{number:08}"));
        let record = EntryRecord {
            id: EntryId(u128::from(number + 1) << 64),
            place: place.clone(),
            value: words.join(" ").into(),
            tags: vec![format!("tag{}", number % 10)],
            thread: None,
            importance: None,
            language: Some("en".to_owned()),
            created_at: Millis(1),
            stored_at: Millis(1),
            expires_at: None,
            version: 1,
            text_version: 1,
            seq: number + 1,
            kept: vec![],
        };
        batch = batch.and_put(StoreTree::Memory, entry_key(&place), record.encode()?);
        if number % 2 == 0 {
            let vector = VectorRecord { version: 1, model: "bench".into(), vector: unit(number) };
            batch = batch.and_put(StoreTree::MemoryVectors, vector_key(record.id), vector.encode()?);
        }
        if batch.ops.len() >= 1_000 {
            store.commit(std::mem::take(&mut batch)).await?;
        }
    }
    Ok(store.commit(batch).await?)
}

async fn searches(indexes: &Indexes, mode: Mode) -> Outcome<()> {
    let mut took = Vec::new();
    for number in 0..SEARCHES {
        let words: Vec<String> = (0..4).map(|n| word(u64::MAX / 2 + number * 4 + n)).collect();
        let search = IndexSearch {
            owner: Owner::new("key_1"),
            namespace: Some("default".into()),
            query: Query {
                text: words.join(" ").into(),
                mode,
                limit: 10,
                tags_all: if number % 2 == 0 { vec![] } else { vec!["tag3".to_owned()] },
                ..Query::default()
            },
            now: Millis(2),
        };
        let begun = Instant::now();
        indexes.search(search).await?;
        took.push(begun.elapsed());
    }
    took.sort_unstable();
    let of = |percent: usize| took.get(took.len() * percent / 100).map_or(0.0, |took| took.as_secs_f64() * 1e3);
    println!("  {mode:?}, half of them by a tag: p50 {:.2} ms, p99 {:.2} ms", of(50), of(99));
    Ok(())
}

fn size(folder: &std::path::Path) -> u64 {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter_map(|file| file.metadata().ok()).filter(std::fs::Metadata::is_file).map(|it| it.len()).sum()
}
