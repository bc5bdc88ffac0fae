//! q156: text embedding.

use muster_engine::prelude::*;

use crate::hashing::{DIMENSIONS, cosine, normalised, sum};

/// Texts of a call and their bytes; bytes of a text that are read; numbers of all vectors together.
const MAX_TEXTS: usize = 500;
const MAX_BYTES: usize = 2_000_000;
const MAX_TEXT: usize = 100_000;
const MAX_NUMBERS: usize = 500_000;
/// Name of the model of this engine.
const EMBEDDED: &str = "embedded";

#[derive(Input)]
pub struct Input {
    texts: Vec<String>,
    model: String,
    normalise: bool,
    dimensions: Option<usize>,
}

#[derive(Output)]
pub struct Output {
    vectors: Vec<Vec<f64>>,
    dimensions: usize,
    model: String,
    similarity: Vec<Vec<f64>>,
    truncated: Vec<bool>,
}

pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let Input { texts, model, normalise, dimensions } = input;
    let bytes: usize = texts.iter().map(String::len).sum();
    let wanted = dimensions.unwrap_or(DIMENSIONS);
    if texts.len() > MAX_TEXTS || bytes > MAX_BYTES || texts.len() * wanted > MAX_NUMBERS {
        return Err(Failure::too_large(format!(
            "{} texts of {bytes} bytes in {wanted} dimensions; allowed are {MAX_TEXTS}, {MAX_BYTES} and {MAX_NUMBERS} numbers",
            texts.len()
        )));
    }
    let of_model = if model == EMBEDDED || texts.is_empty() { None } else { provided(&texts, model, cx)? };
    let (mut vectors, model, truncated) = match of_model {
        // What a provider leaves out of a long text it does not say.
        Some((vectors, model)) => (vectors, model, vec![false; texts.len()]),
        None => {
            let cut: Vec<&str> = texts.iter().map(|text| beginning(text)).collect();
            let truncated = cut.iter().zip(&texts).map(|(cut, text)| cut.len() < text.len()).collect();
            (cut.into_iter().map(|text| sum(text, wanted)).collect(), EMBEDDED.to_owned(), truncated)
        }
    };
    let length = vectors.first().map_or(wanted, Vec::len);
    if dimensions.is_some_and(|dimensions| dimensions != length) {
        cx.warn(format!("dimensions: those of {model} are {length}"));
    }
    if normalise {
        vectors = vectors.into_iter().map(normalised).collect();
    }
    let similarity = vectors.iter().map(|a| vectors.iter().map(|b| cosine(a, b)).collect()).collect();
    Ok(Output { vectors, dimensions: length, model, similarity, truncated })
}

/// Vectors, and the model that made them.
type Vectors = (Vec<Vec<f64>>, String);

/// Vectors of a provider's model; `None` and a warning if it is refused, or if the answer is none for these texts.
fn provided(texts: &[String], model: String, cx: &Context) -> Result<Option<Vectors>, Failure> {
    let answer = match cx.ask(Need::Embed { texts: texts.to_vec(), model })? {
        Answer::Given(answer) => answer,
        Answer::Refused { why } => {
            cx.warn(format!("refused: the vectors are those of the model `{EMBEDDED}`, because {why}"));
            return Ok(None);
        }
    };
    let numbers = |vector: &Value| vector.as_array()?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    let rows = answer.get("vectors").and_then(Value::as_array);
    let vectors: Option<Vec<Vec<f64>>> = rows.and_then(|rows| rows.iter().map(numbers).collect());
    let length = vectors.as_ref().and_then(|vectors| vectors.first()).map_or(0, Vec::len);
    let fits = |vectors: &Vec<Vec<f64>>| {
        vectors.len() == texts.len()
            && length > 0
            && length * texts.len() <= 2 * MAX_NUMBERS
            && vectors.iter().all(|vector| vector.len() == length)
    };
    let Some(vectors) = vectors.filter(fits) else {
        cx.warn(format!(
            "unusable: the provider's answer has not one vector for each text; these are of the model `{EMBEDDED}`"
        ));
        return Ok(None);
    };
    let model = answer.get("model").and_then(Value::as_str).unwrap_or("unknown").to_owned();
    Ok(Some((vectors, model)))
}

/// The first bytes of a text, at a boundary of characters.
fn beginning(text: &str) -> &str {
    let end = text.floor_char_boundary(MAX_TEXT);
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use muster_engine::Answered;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn asking(answer: Answer) -> (Value, Vec<String>) {
        let need = Need::Embed { texts: vec!["a".to_owned(), "b".to_owned()], model: "big".to_owned() };
        let cx = Context::default().with_answers(vec![Answered { need, answer }]);
        let output = crate::FAMILY.run(156, json!({ "texts": ["a", "b"], "model": "big" }), &cx).unwrap();
        (output, cx.into_warnings())
    }

    #[test]
    fn vectors_of_a_provider_are_normalised_and_compared() {
        let (output, warnings) =
            asking(Answer::Given(json!({ "vectors": [[3.0, 4.0], [4.0, -3.0]], "model": "p/big" })));
        assert_eq!(output["vectors"][0], json!([0.6, 0.8]));
        assert_eq!((&output["model"], &output["dimensions"]), (&json!("p/big"), &json!(2)));
        assert!(output["similarity"][0][1].as_f64().unwrap().abs() < 1e-12 && warnings.is_empty());
    }

    #[test]
    fn refused_or_unusable_the_embedded_model_answers_and_says_so() {
        for (answer, word) in [
            (Answer::Refused { why: "no scope".to_owned() }, "refused"),
            (Answer::Given(json!({ "vectors": [[1.0]] })), "unusable"),
            (Answer::Given(json!({ "vectors": [[1.0], ["x"]] })), "unusable"),
            (Answer::Given(json!({ "vectors": [[1.0], [1.0, 2.0]] })), "unusable"),
        ] {
            let (output, warnings) = asking(answer);
            assert_eq!((&output["model"], &output["dimensions"]), (&json!("embedded"), &json!(DIMENSIONS)));
            assert!(warnings[0].starts_with(word), "{warnings:?}");
        }
    }

    #[test]
    fn long_texts_are_cut_and_say_so() {
        let input = json!({ "texts": ["ä ".repeat(MAX_TEXT / 2), "short"], "dimensions": 32 });
        let output = crate::FAMILY.run(156, input, &Context::default()).unwrap();
        assert_eq!(output["truncated"], json!([true, false]));
    }

    proptest! {
        /// A vector has length 1, equal texts are equal, and likeness is symmetric.
        #[test]
        fn likeness_is_symmetric(a in "\\PC{0,40}", b in "\\PC{0,40}") {
            let output = crate::FAMILY.run(156, json!({ "texts": [a, b, a] }), &Context::default()).unwrap();
            prop_assert_eq!(&output["similarity"][0][1], &output["similarity"][1][0]);
            prop_assert_eq!(&output["vectors"][0], &output["vectors"][2]);
            let length: f64 = output["vectors"][0].as_array().unwrap().iter().map(|x| x.as_f64().unwrap().powi(2)).sum();
            prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-9);
        }
    }
}
