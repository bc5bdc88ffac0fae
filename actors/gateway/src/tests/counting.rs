//! What a stream delivered as its provider sent it: read only where it has to be counted.

use super::*;

/// A pair of surrogates that two chunks share, line ends that are escaped, a quote: six words.
const ESCAPED: &[&str] = &[r"one\ntwo", r" three \ud83d", r"\ude00 \", r#""five\" six"#];

/// Nobody is to count anything.
#[derive(Debug)]
struct Uncounted;

impl TokenCounter for Uncounted {
    fn prompt(&self, _: &str, _: &ChatRequest) -> u32 {
        panic!("counted in vain")
    }

    fn text(&self, _: &str, _: &str) -> u32 {
        panic!("counted in vain")
    }
}

#[test]
fn escaped_text_is_counted_as_what_it_says() {
    test_world::run(|tree| async move {
        let one = Double::always(Act::Verbatim(ESCAPED, None));
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = Ledger::default();
        let mut streaming = chain.stream(ask(), ledger.entry()).await.unwrap();
        assert_eq!(read(&mut streaming).await, (4, Some(Ok(estimated(6)))));
        assert_eq!(ledger.only().usage, estimated(6));

        // Left after its second chunk: the half of a pair is no text, and was delivered all the same.
        let ledger = Ledger::default();
        let mut streaming = chain.stream(ask(), ledger.entry()).await.unwrap();
        for _ in 0..2 {
            streaming.next().await.unwrap().unwrap();
        }
        drop(streaming);
        let settled = ledger.only();
        assert_eq!(settled.end, StreamEnd::ClientGone);
        assert!(settled.usage.completion_tokens > 0, "{settled:?}");
    });
}

#[test]
fn nothing_is_counted_where_the_provider_gives_figures() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 30, completion_tokens: 20, estimated: false };
        let one = Double::always(Act::Verbatim(ESCAPED, Some(figures))).first([Act::Figures(5, figures)]);
        let settings = [settings("one", &["m"])];
        let chain = chain_counting(&tree, &settings, &[&one], options(), Arc::new(Uncounted)).await;
        for words in [5, 4] {
            let mut streaming = chain.stream(ask(), |_| ()).await.unwrap();
            assert_eq!(read(&mut streaming).await, (words, Some(Ok(figures))));
        }
    });
}
