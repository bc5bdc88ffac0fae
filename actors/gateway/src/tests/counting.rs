//! Counting of verbatim stream chunks: they are decoded only when they must be counted.

use super::*;

/// A surrogate pair split over two chunks, escaped line ends, a quote: six words.
const ESCAPED: &[&str] = &[r"one\ntwo", r" three \ud83d", r"\ude00 \", r#""five\" six"#];

/// Panics if anything is counted.
#[derive(Debug)]
struct PanickingCounter;

impl TokenCounter for PanickingCounter {
    fn prompt(&self, _: &str, _: &ChatRequest) -> u32 {
        panic!("counted in vain")
    }

    fn text(&self, _: &str, _: &str) -> u32 {
        panic!("counted in vain")
    }
}

#[test]
fn escaped_text_is_counted_after_decoding() {
    test_world::run(|tree| async move {
        let one = ScriptedProvider::answering(CallScript::Verbatim(ESCAPED, None));
        let chain = chain(&tree, &[&one], options()).await;
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
        assert_eq!(read_to_end(&mut streaming).await, (4, Some(Ok(estimated_usage(6)))));
        assert_eq!(ledger.only().usage, estimated_usage(6));

        // Dropped after its second chunk: half of a pair is not text, but was delivered and is counted.
        let ledger = SettlementLog::default();
        let mut streaming = chain.stream(chat_request(), ledger.entry()).await.unwrap();
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
fn nothing_is_counted_if_the_provider_reports_usage() {
    test_world::run(|tree| async move {
        let figures = Usage { prompt_tokens: 30, completion_tokens: 20, estimated: false };
        let one = ScriptedProvider::answering(CallScript::Verbatim(ESCAPED, Some(figures)))
            .first([CallScript::Figures(5, figures)]);
        let settings = [settings("one", &["m"])];
        let chain = chain_counting(&tree, &settings, &[&one], options(), Arc::new(PanickingCounter)).await;
        for words in [5, 4] {
            let mut streaming = chain.stream(chat_request(), |_| ()).await.unwrap();
            assert_eq!(read_to_end(&mut streaming).await, (words, Some(Ok(figures))));
        }
    });
}
