use std::time::{Duration, Instant};

use muster_retrieval::{Collection, Mode, Query, QueryContext, search};

use crate::data::{Question, TestSet};

/// Number of hits examined for the rank of the first answer; the other measures use the first ten.
const DEPTH: usize = 100;

#[derive(Debug, Clone, Copy, Default)]
pub struct Means {
    /// Normalised discounted cumulative gain at 10, with binary gains.
    pub ndcg: f64,
    /// Recall at 10.
    pub recall: f64,
    /// Reciprocal rank of the first answer.
    pub reciprocal: f64,
}

pub struct Figures {
    pub all: Means,
    pub halves: [Means; 2],
    pub per_query: Duration,
}

pub fn measure(collection: &Collection, set: &TestSet, vectors: Option<&[Vec<f32>]>, mode: Mode) -> Figures {
    let begin = Instant::now();
    let ranked: Vec<Vec<u128>> = set
        .questions
        .iter()
        .enumerate()
        .map(|(nth, question)| {
            let vector = vectors.and_then(|vectors| vectors.get(nth)).map(Vec::as_slice);
            let query = Query {
                text: question.text.as_str().into(),
                mode,
                limit: DEPTH,
                tags_all: question.tags.clone(),
                ..Query::default()
            };
            search(&[collection], &query, &QueryContext { vector, ..QueryContext::default() })
                .hits
                .iter()
                .map(|hit| hit.id)
                .collect()
        })
        .collect();
    let per_query = begin.elapsed() / u32::try_from(set.questions.len().max(1)).unwrap_or(u32::MAX);
    let each: Vec<(usize, Means)> =
        set.questions.iter().zip(&ranked).map(|(question, ids)| (question.half, judge(question, ids))).collect();
    let of = |half: Option<usize>| mean(each.iter().filter(|(in_half, _)| half.is_none_or(|half| half == *in_half)));
    Figures { all: of(None), halves: [of(Some(0)), of(Some(1))], per_query }
}

fn judge(question: &Question, ids: &[u128]) -> Means {
    let is_answer = |id: &u128| question.answers.contains(id);
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let top: Vec<usize> =
        ids.iter().take(10).enumerate().filter(|(_, id)| is_answer(id)).map(|(rank, _)| rank).collect();
    let ideal: f64 = (0..question.answers.len().min(10)).map(gain).sum();
    Means {
        ndcg: top.iter().map(|rank| gain(*rank)).sum::<f64>() / ideal,
        recall: top.len() as f64 / question.answers.len() as f64,
        reciprocal: ids.iter().position(is_answer).map_or(0.0, |rank| 1.0 / (rank as f64 + 1.0)),
    }
}

fn mean<'a>(each: impl Iterator<Item = &'a (usize, Means)>) -> Means {
    let (mut sum, mut count) = (Means::default(), 0.0);
    for (_, means) in each {
        sum.ndcg += means.ndcg;
        sum.recall += means.recall;
        sum.reciprocal += means.reciprocal;
        count += 1.0;
    }
    Means { ndcg: sum.ndcg / count, recall: sum.recall / count, reciprocal: sum.reciprocal / count }
}
