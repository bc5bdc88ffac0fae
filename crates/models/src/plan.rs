//! Pure scheduling decisions: the content of a step, the size of the context, the retry time of rejected callers.

use std::time::Duration;

/// Maximum number of tokens in one step, prompt and generated together. It bounds the length of a step and therefore
/// the latency of cancellation.
pub(crate) const STEP_TOKENS: usize = 128;

/// Maximum number of prompt tokens in a step while some sequence generates, which bounds the delay of its next token.
pub(crate) const STEP_PROMPT_TOKENS_BESIDE_DECODING: usize = 48;

/// Returns the number of prompt tokens that each sequence gets in the next step.
///
/// `remaining` has one entry per sequence, oldest first: prompt tokens not yet computed, 0 if it generates. Every
/// generating sequence gets one token in every step. The rest is shared equally among the prompts, so that a long
/// prompt does not delay a short one; shares that a prompt cannot use go to the oldest prompt that can.
pub(crate) fn share_prompt_tokens(remaining: &[usize]) -> Vec<usize> {
    let decoding = remaining.iter().filter(|left| **left == 0).count();
    let prompts = remaining.len() - decoding;
    let mut shares = vec![0; remaining.len()];
    if prompts == 0 {
        return shares;
    }
    let available = STEP_TOKENS.saturating_sub(decoding);
    let mut budget = if decoding > 0 { available.min(STEP_PROMPT_TOKENS_BESIDE_DECODING) } else { available };
    let equal = (budget / prompts).max(1);
    for bound in [equal, usize::MAX] {
        for (share, left) in shares.iter_mut().zip(remaining) {
            let more = left.saturating_sub(*share).min(bound).min(budget);
            *share += more;
            budget -= more;
        }
    }
    shares
}

/// Model dimensions that determine the size of the key-value cache.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheShape {
    pub(crate) layers: u64,
    pub(crate) kv_heads: u64,
    pub(crate) head_size: u64,
}

impl CacheShape {
    /// Bytes of keys and values per token: two 16-bit vectors per layer.
    pub(crate) fn bytes_per_token(self) -> u64 {
        self.layers * self.kv_heads * self.head_size * 2 * 2
    }
}

/// Smallest useful context of one request, in tokens.
const MIN_CONTEXT: u32 = 512;

/// Returns the context in tokens for each of `slots` requests: the requested size, at most the trained one, and halved
/// until the cache of all slots takes at most half of the available memory.
pub(crate) fn context_per_slot(
    requested: u32,
    trained: u32,
    slots: u32,
    shape: CacheShape,
    available: Option<u64>,
) -> u32 {
    let mut context = requested.min(trained).max(1);
    let bound = available.map_or(u64::MAX, |bytes| bytes / 2);
    while context / 2 >= MIN_CONTEXT && u64::from(context) * u64::from(slots) * shape.bytes_per_token() > bound {
        context /= 2;
    }
    context
}

/// Returns when a rejected caller may retry: the time that the queue ahead takes, between 1 and 60 seconds.
pub(crate) fn retry_after(ahead: usize, slots: usize, mean_request: Duration) -> Duration {
    let rounds = ahead.div_ceil(slots.max(1)).max(1);
    let estimate = mean_request.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX));
    estimate.clamp(Duration::from_secs(1), Duration::from_secs(60))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SMOLLM2: CacheShape = CacheShape { layers: 30, kv_heads: 3, head_size: 64 };

    #[test]
    fn a_single_prompt_gets_the_whole_step() {
        assert_eq!(share_prompt_tokens(&[1000]), [STEP_TOKENS]);
    }

    #[test]
    fn short_prompts_do_not_wait_for_long_ones() {
        assert_eq!(share_prompt_tokens(&[1000, 20]), [108, 20]);
    }

    #[test]
    fn context_is_bounded_by_training_and_memory() {
        assert_eq!(context_per_slot(4096, 2048, 4, SMOLLM2, None), 2048);
        assert_eq!(context_per_slot(4096, 8192, 4, SMOLLM2, Some(8 << 30)), 4096);
        // 4 slots of 4096 tokens of 23,040 bytes are 360 MiB; half of 400 MiB holds half of that.
        assert_eq!(context_per_slot(4096, 8192, 4, SMOLLM2, Some(400 << 20)), 2048);
        assert_eq!(context_per_slot(4096, 8192, 4, SMOLLM2, Some(0)), 512);
    }

    #[test]
    fn retry_time_grows_with_the_queue_and_is_bounded() {
        let mean = Duration::from_secs(3);
        assert_eq!(retry_after(0, 4, mean), Duration::from_secs(3));
        assert_eq!(retry_after(9, 4, mean), Duration::from_secs(9));
        assert_eq!(retry_after(900, 4, mean), Duration::from_secs(60));
        assert_eq!(retry_after(1, 4, Duration::ZERO), Duration::from_secs(1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn steps_are_bounded_and_no_request_starves(remaining in prop::collection::vec(prop_oneof![Just(0), 1_usize..3000], 1..40)) {
            let shares = share_prompt_tokens(&remaining);
            let decoding = remaining.iter().filter(|left| **left == 0).count();
            prop_assert!(shares.iter().sum::<usize>() + decoding <= STEP_TOKENS);
            for (share, left) in shares.iter().zip(&remaining) {
                prop_assert!(share <= left);
                prop_assert!(*left == 0 || *share > 0, "a prompt got nothing: {remaining:?} {shares:?}");
            }
        }
    }
}
