//! `make bench-retrieval`: ranking quality on open test sets, beside the figures measured with other systems in the
//! design.
//!
//! An entry is stored as a client would: the id as its key, `title: text` as its value (only the text if it begins with
//! its title), its tags, and the session of a conversation as its thread. Nothing is tuned to a question.

mod data;
mod measure;
mod vectors;

use std::path::{Path, PathBuf};

use muster_retrieval::{Collection, CollectionOptions, Document, Mode};

use data::{Entry, TestSet};
use measure::{Figures, Means, measure};
use vectors::Vectors;

type Failure = Box<dyn std::error::Error>;

/// Results of other systems: nDCG@10 and recall@10.
const CRANFIELD: [(&str, f64, f64); 5] = [
    ("tantivy BM25, stems", 0.515, 0.441),
    ("BM25 k1=.9 b=.4", 0.492, 0.428),
    ("MiniLM, exact", 0.516, 0.460),
    ("reciprocal rank fusion", 0.558, 0.487),
    ("union scored by both", 0.565, 0.492),
];
const LOCOMO: [(&str, f64, f64); 5] = [
    ("tantivy BM25, stems", 0.457, 0.588),
    ("BM25 k1=.9 b=.4", 0.487, 0.616),
    ("MiniLM, exact", 0.346, 0.511),
    ("reciprocal rank fusion", 0.443, 0.596),
    ("union scored by both", 0.513, 0.658),
];

fn main() -> Result<(), Failure> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sets = root.join("../shared/retrieval");
    if !sets.is_dir() {
        println!("skipped: the test sets are not at {}", sets.display());
        return Ok(());
    }
    let mut vectors = Vectors::new(&root)?;
    for (name, others) in [("cranfield", CRANFIELD), ("locomo", LOCOMO)] {
        let set = TestSet::read(&sets.join(name))?;
        report(name, &set, &others, &mut vectors)?;
    }
    Ok(())
}

fn report(name: &str, set: &TestSet, others: &[(&str, f64, f64)], vectors: &mut Vectors) -> Result<(), Failure> {
    println!("\n== {name}: {} entries, {} questions", set.entries.len(), set.questions.len());
    println!("{:<26} {:>8} {:>8} {:>8} {:>17} {:>10}", "", "nDCG@10", "R@10", "MRR", "halves nDCG@10", "ms/query");
    for (other, ndcg, recall) in others {
        println!("{other:<26} {ndcg:>8.3} {recall:>8.3}");
    }
    let mut collection = collection(set, |entry| entry.thread.as_deref());
    let text = print("text", &measure(&collection, set, None, Mode::Text));
    let Some((entries, questions)) = vectors.of(set)? else { return Ok(()) };
    put_vectors(&mut collection, set, &entries);
    let semantic = print("semantic", &measure(&collection, set, Some(&questions), Mode::Semantic));
    let hybrid = print("hybrid", &measure(&collection, set, Some(&questions), Mode::Hybrid));
    let under = |of: fn(&Means) -> f64| (of(&text).max(of(&semantic)) - of(&hybrid)).max(0.0);
    println!(
        "hybrid under the better of the two by {:.3} (nDCG@10) and {:.3} (R@10); the limit is 0.005",
        under(|means| means.ndcg),
        under(|means| means.recall)
    );
    if set.entries.iter().any(|entry| entry.thread.is_some()) {
        let mut alone = self::collection(set, |_| None);
        put_vectors(&mut alone, set, &entries);
        print("hybrid, no threads", &measure(&alone, set, Some(&questions), Mode::Hybrid));
    }
    Ok(())
}

fn print(name: &str, figures: &Figures) -> Means {
    let Figures { all, halves: [one, other], per_query } = figures;
    println!(
        "{:<26} {:>8.4} {:>8.4} {:>8.4} {:>8.3} {:>8.3} {:>10.2}",
        format!("muster, {name}"),
        all.ndcg,
        all.recall,
        all.reciprocal,
        one.ndcg,
        other.ndcg,
        per_query.as_secs_f64() * 1e3
    );
    *all
}

fn collection(set: &TestSet, thread: fn(&Entry) -> Option<&str>) -> Collection {
    let mut collection = Collection::new(CollectionOptions::new(vectors::DIMENSIONS));
    for entry in &set.entries {
        collection.put(&Document {
            id: entry.id,
            version: 1,
            key: &entry.key,
            value: &entry.value,
            tags: &entry.tags,
            thread: thread(entry),
            stored_at: 0,
            expires_at: None,
            importance: Document::IMPORTANCE,
            language: None,
        });
    }
    collection
}

fn put_vectors(collection: &mut Collection, set: &TestSet, vectors: &[Vec<f32>]) {
    for (entry, vector) in set.entries.iter().zip(vectors) {
        collection.put_vector(entry.id, 1, vector);
    }
}

/// Build folder for files that may be deleted.
fn target(root: &Path) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}
