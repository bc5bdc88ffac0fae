use super::{find_in, index_of};
use crate::{Bm25, DocNo, Filter, Neighbours, StopWords, TextOptions, TextQuery};

/// BM25 as published, without neighbours.
const PLAIN: TextOptions =
    TextOptions { bm25: Bm25 { k1: 1.2, b: 0.75, prior: 0.0 }, neighbours: Neighbours::NONE, pairs: 0.0 };

/// The example of Elasticsearch's reference (7.1, Explain API): one entry of five holds the word, once, and has three
/// words where the mean is 5.4; the score is 1.6943597 with a boost of k1 + 1 = 2.2.
#[test]
fn the_score_of_a_published_example_is_reproduced() {
    let index = index_of(
        PLAIN,
        &[
            "trying out elasticsearch",
            "w1 w2 w3 w4 w5 w6",
            "w1 w2 w3 w4 w5 w6",
            "w1 w2 w3 w4 w5 w6",
            "w1 w2 w3 w4 w5 w6",
        ],
    );
    let query = TextQuery::new("elasticsearch", index.languages(), StopWords::Dropped);
    let resolved = index.resolve(&query);
    assert!((resolved.statistics().mean_length() - 5.4).abs() < 1e-6);
    let parts = index.explain(&resolved, resolved.statistics(), DocNo(0));
    assert_eq!(parts.len(), 1);
    assert_eq!((parts[0].df, parts[0].tf), (1, 1.0));
    assert!((parts[0].idf - 1.386_294_4).abs() < 1e-6);
    assert!((parts[0].contribution / parts[0].weight - 0.555_555_5).abs() < 1e-6);
    assert!((parts[0].contribution * 2.2 - 1.694_359_7).abs() < 1e-6);
    assert_eq!(find_in(&index, "elasticsearch", Filter::All, 5), [(0, parts[0].contribution)]);
}

/// By hand: 2 entries, both hold it, of 2 and 4 words with 50 more each; K = 1.2 * (1/4 + 3/4 * 52/53).
#[test]
fn the_prior_is_added_to_every_length() {
    let index = index_of(
        TextOptions { bm25: Bm25 { prior: 50.0, ..PLAIN.bm25 }, ..PLAIN },
        &["flood gate", "flood water tide mark"],
    );
    let found = find_in(&index, "flood", Filter::All, 5);
    let idf = (1.0_f64 + 0.5 / 2.5).ln();
    let score = |length: f64| idf / (1.0 + 1.2 * (0.25 + 0.75 * (length + 50.0) / 53.0));
    assert_eq!(found.iter().map(|(doc, _)| *doc).collect::<Vec<_>>(), [0, 1]);
    for ((_, found), expected) in found.iter().zip([score(2.0), score(4.0)]) {
        assert!((f64::from(*found) - expected).abs() < 1e-6, "{found} is not {expected}");
    }
}
