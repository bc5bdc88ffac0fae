//! q164: token count and cost.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use muster_engine::prelude::*;

use crate::tokens::Encoding;

/// Bytes of all texts, and models that are listed.
const MAX_BYTES: usize = 2_000_000;
const MAX_MODELS: usize = 200;
/// Tokens around each message, and those that begin the answer (OpenAI's cookbook, "How to count tokens with tiktoken").
const PER_MESSAGE: usize = 3;
const PER_ANSWER: usize = 3;
/// Tokens of other providers' models for each of `o200k_base`, rounded up: an assumption, no calibration.
const OTHERS: f64 = 1.15;

#[derive(Input)]
pub struct Input {
    text: Option<String>,
    messages: Option<Vec<Message>>,
    models: Vec<String>,
    expected_output: u64,
}

#[derive(Input)]
struct Message {
    role: String,
    content: String,
}

#[derive(Output)]
pub struct Output {
    tokens: usize,
    by_encoding: BTreeMap<&'static str, usize>,
    models: Vec<Model>,
    cheapest: Option<String>,
}

#[derive(Output)]
struct Model {
    model: String,
    prompt_tokens: usize,
    fits: bool,
    cost_usd: f64,
    exact: bool,
}

/// A chat model of the catalogue of providers.
struct Known {
    id: String,
    provider: String,
    upstream: String,
    /// Tokens of prompt and answer; absent for models that are loaded at start.
    context: Option<u64>,
    /// USD per million tokens.
    price_in: f64,
    price_out: f64,
}

/// The models of the server, read from the catalogue that it reads itself.
static MODELS: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let table: toml::Table = include_str!("../../../crates/providers/catalogue.toml").parse().unwrap_or_default();
    let text = |model: &toml::Value, name: &str| model.get(name).and_then(toml::Value::as_str).map(str::to_owned);
    let number = |model: &toml::Value, name: &str| {
        let value = model.get(name)?;
        value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
    };
    let known = |model: &toml::Value| {
        Some(Known {
            id: text(model, "id")?,
            provider: text(model, "provider")?,
            upstream: text(model, "upstream").unwrap_or_default(),
            context: number(model, "context").map(|tokens| tokens as u64),
            price_in: number(model, "price_in").unwrap_or(0.0),
            price_out: number(model, "price_out").unwrap_or(0.0),
        })
    };
    table.get("model").and_then(toml::Value::as_array).into_iter().flatten().filter_map(known).collect()
});

pub fn run(input: Input, context: &Context) -> Result<Output, Failure> {
    if input.text.is_none() && input.messages.is_none() {
        return Err(Failure::invalid(&["text"], "send text, messages or both"));
    }
    let messages = input.messages.unwrap_or_default();
    let texts = || messages.iter().flat_map(|message| [&message.role, &message.content]).chain(&input.text);
    let bytes: usize = texts().map(String::len).sum();
    if bytes > MAX_BYTES {
        return Err(Failure::too_large(format!(
            "the texts have {bytes} bytes, {MAX_BYTES} are allowed: count them in parts"
        )));
    }
    if input.models.len() > MAX_MODELS {
        return Err(Failure::too_large(format!("more than {MAX_MODELS} models: leave models empty for all")));
    }
    let overhead = if messages.is_empty() { 0 } else { PER_MESSAGE * messages.len() + PER_ANSWER };
    let count = |encoding: Encoding| texts().map(|text| encoding.count(text)).sum::<usize>() + overhead;
    let (tokens, older) = (count(Encoding::O200k), count(Encoding::Cl100k));
    let chosen = chosen(&input.models)?;
    let priced = |known: &&Known| {
        let exact = known.provider == "openai" || known.upstream.starts_with("gpt-");
        let prompt_tokens = if exact { tokens } else { (tokens as f64 * OTHERS).ceil() as usize };
        let all = (prompt_tokens as u64).saturating_add(input.expected_output);
        let cost = prompt_tokens as f64 * known.price_in + input.expected_output as f64 * known.price_out;
        Model {
            model: known.id.clone(),
            prompt_tokens,
            fits: known.context.is_none_or(|context| all <= context),
            cost_usd: cost / 1e6,
            exact,
        }
    };
    let mut models: Vec<Model> = chosen.iter().map(priced).collect();
    models.sort_by(|a, b| a.cost_usd.total_cmp(&b.cost_usd).then_with(|| a.model.cmp(&b.model)));
    if models.iter().any(|model| !model.exact) {
        context
            .warn(format!("estimated: tokens of models that are not OpenAI's are {OTHERS} times those of o200k_base"));
    }
    Ok(Output {
        tokens,
        by_encoding: [(Encoding::O200k, tokens), (Encoding::Cl100k, older)]
            .into_iter()
            .map(|(encoding, tokens)| (encoding.name(), tokens))
            .collect(),
        cheapest: models.iter().find(|model| model.fits).map(|model| model.model.clone()),
        models,
    })
}

/// The models with these ids or upstream names, or all.
fn chosen(models: &[String]) -> Result<Vec<&'static Known>, Failure> {
    if models.is_empty() {
        return Ok(MODELS.iter().collect());
    }
    let find = |(at, name): (usize, &String)| {
        MODELS.iter().find(|known| known.id == *name || known.upstream == *name).ok_or_else(|| {
            let known: Vec<&str> = MODELS.iter().map(|known| known.id.as_str()).collect();
            let message = format!("is no model of the table: known are {}", known.join(", "));
            Failure::invalid(&["models", &at.to_string()], message)
        })
    };
    models.iter().enumerate().map(find).collect()
}

#[cfg(test)]
#[test]
fn the_catalogue_of_providers_is_read() {
    assert!(MODELS.iter().any(|model| model.provider == "openai" && model.price_in > 0.0 && model.context.is_some()));
    assert!(MODELS.iter().any(|model| model.id == "muster-core"));
}
