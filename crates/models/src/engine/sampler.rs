//! Choice of the next token.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

use super::grammar;
use crate::chat::{GenerateRequest, ModelError};

/// Number of generated tokens over which penalties look back.
const PENALTY_WINDOW: i32 = 64;
/// Keeps small models from repeating themselves; the design's figures were measured with it.
const REPEAT_PENALTY: f32 = 1.05;
/// Time limit of the grammar per token, since it delays every request of the batch.
const GRAMMAR_TIME: Duration = Duration::from_secs(2);

/// Sampler chain and grammar of one request.
#[derive(Debug)]
pub(super) struct Sampler {
    chain: LlamaSampler,
    grammar: Option<LlamaSampler>,
}

impl Sampler {
    /// Rejects a form that cannot be enforced.
    pub(super) fn new(model: &LlamaModel, request: &GenerateRequest) -> Result<Self, ModelError> {
        let grammar = grammar::of(model, request)?;
        let penalties = LlamaSampler::penalties(
            model.n_vocab(),
            PENALTY_WINDOW,
            REPEAT_PENALTY,
            request.frequency_penalty,
            request.presence_penalty,
        );
        let chain = if request.temperature <= 0.0 {
            LlamaSampler::chain([penalties, LlamaSampler::greedy()], true)
        } else {
            let top_p = LlamaSampler::top_p(request.top_p, 1);
            let temperature = LlamaSampler::temp(request.temperature);
            LlamaSampler::chain([penalties, top_p, temperature, LlamaSampler::dist(seed(request.seed))], true)
        };
        Ok(Self { chain, grammar })
    }

    /// Samples the next token from the logits of a row of the last batch.
    pub(super) fn next(&mut self, context: &LlamaContext<'_>, row: i32) -> Result<LlamaToken, ModelError> {
        let Some(grammar) = &mut self.grammar else {
            return Ok(self.chain.sample(context, row));
        };
        let begin = Instant::now();
        // Most sampled tokens fit the grammar; checking one token is cheap, checking the whole vocabulary is not.
        let mut candidates = context.token_data_array_ith(row);
        candidates.apply_sampler(&mut self.chain);
        if let Some(token) = candidates.selected_token().filter(|token| admits(grammar, *token)) {
            return Ok(token);
        }
        let mut candidates = context.token_data_array_ith(row);
        candidates.apply_sampler(grammar);
        candidates.data.retain(|candidate| candidate.logit().is_finite());
        if candidates.data.is_empty() {
            return Err(ModelError::Failed { why: "no token continues the constrained output".to_owned() });
        }
        candidates.apply_sampler(&mut self.chain);
        if begin.elapsed() > GRAMMAR_TIME {
            return Err(ModelError::Failed {
                why: "the schema is too ambiguous for this model: simplify it".to_owned(),
            });
        }
        candidates.selected_token().ok_or_else(|| ModelError::Failed { why: "no token could be chosen".to_owned() })
    }

    /// Advances the grammar by a token that continues the text; not called for the end token.
    pub(super) fn accept(&mut self, token: LlamaToken) -> Result<(), ModelError> {
        // Without a grammar, `sample` has already advanced the chain.
        let Some(grammar) = &mut self.grammar else { return Ok(()) };
        let failed = |error| ModelError::Failed { why: format!("the grammar refused its own token: {error}") };
        grammar.try_accept(token).map_err(failed)?;
        self.chain.try_accept(token).map_err(failed)
    }
}

fn admits(grammar: &mut LlamaSampler, token: LlamaToken) -> bool {
    let mut one = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
    one.apply_sampler(grammar);
    one.data.first().is_some_and(|candidate| candidate.logit().is_finite())
}

/// llama.cpp reads `u32::MAX` as "choose a random seed", which would not be reproducible.
fn seed(requested: Option<u32>) -> u32 {
    requested.unwrap_or_else(|| RandomState::new().build_hasher().finish() as u32).min(u32::MAX - 1)
}
