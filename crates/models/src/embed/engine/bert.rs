//! Encoder of all-MiniLM-L6-v2: a 6-layer BERT, mean pooling over a text's tokens, and normalisation to length 1.
//!
//! Sources: the model card of sentence-transformers/all-MiniLM-L6-v2 (pooling, normalisation), `BertModel` of Hugging
//! Face transformers (the encoder), config.json of nreimers/MiniLM-L6-H384-uncased (the figures below).
//!
//! Texts computed together are concatenated without padding: per-token layers process all rows at once, and attention
//! processes each text by itself. So no mask is needed and short texts do not pay for longer ones.

use std::ops::Range;
use std::path::Path;

use ndarray::linalg::general_mat_mul;
use ndarray::{Array1, Array2, ArrayBase, ArrayView1, Axis, Ix2, RawData, Slice, concatenate};

use super::math::{LayerNorm, Linear, gelu, normalise, softmax};
use super::safetensors::SafeTensors;

pub(super) const VOCABULARY: usize = 30_522;
pub(super) const DIMENSIONS: usize = 384;
const INNER: usize = 1536;
const LAYERS: usize = 6;
const HEADS: usize = 12;
const HEAD: usize = DIMENSIONS / HEADS;
const POSITIONS: usize = 512;

/// Weights of the encoder.
#[derive(Debug)]
pub(super) struct Bert {
    words: Array2<f32>,
    /// Position embeddings, with the embedding of token type 0 added.
    positions: Array2<f32>,
    norm: LayerNorm,
    layers: Vec<Layer>,
}

#[derive(Debug)]
struct Layer {
    /// Query, key and value projections side by side.
    attention: Linear,
    attention_out: Linear,
    attention_norm: LayerNorm,
    inner: Linear,
    out: Linear,
    norm: LayerNorm,
}

impl Bert {
    /// Reads the weights. `progress` receives whole percentages.
    pub(super) fn read(path: &Path, mut progress: impl FnMut(usize)) -> Result<Self, String> {
        let mut reader = Reader(SafeTensors::open(path)?);
        let words = reader.matrix("embeddings.word_embeddings.weight", [VOCABULARY, DIMENSIONS])?;
        let first_text = reader.matrix("embeddings.token_type_embeddings.weight", [2, DIMENSIONS])?;
        let positions = reader.matrix("embeddings.position_embeddings.weight", [POSITIONS, DIMENSIONS])?;
        let positions = positions + first_text.row(0);
        let norm = reader.norm("embeddings.LayerNorm")?;
        let mut layers = Vec::with_capacity(LAYERS);
        for layer in 0..LAYERS {
            progress(50 + 50 * layer / LAYERS);
            layers.push(reader.layer(&format!("encoder.layer.{layer}"))?);
        }
        Ok(Self { words, positions, norm, layers })
    }

    /// Computes one vector per text. A text is a list of 1 to 512 token ids of the vocabulary.
    pub(super) fn encode(&self, texts: &[Vec<u32>]) -> Vec<Vec<f32>> {
        let (mut places, mut rows) = (Vec::with_capacity(texts.len()), 0);
        for text in texts {
            places.push(rows..rows + text.len());
            rows += text.len();
        }
        let mut x = self.embed(texts, rows);
        for layer in &self.layers {
            x = layer.apply(x, &places);
        }
        let mean = |place: &Range<usize>| part(x.view(), place, 0..DIMENSIONS).mean_axis(Axis(0)).unwrap_or_default();
        places
            .iter()
            .map(|place| {
                let mut vector = mean(place);
                normalise(vector.view_mut());
                vector.to_vec()
            })
            .collect()
    }

    fn embed(&self, texts: &[Vec<u32>], rows: usize) -> Array2<f32> {
        let mut x = Array2::zeros((rows, DIMENSIONS));
        let tokens = texts.iter().flat_map(|text| text.iter().zip(self.positions.rows()));
        for (mut row, (token, position)) in x.rows_mut().into_iter().zip(tokens) {
            row.assign(&self.word(*token));
            row += &position;
        }
        self.norm.apply(&mut x);
        x
    }

    fn word(&self, token: u32) -> ArrayView1<'_, f32> {
        self.words.row(usize::try_from(token).unwrap_or(usize::MAX))
    }
}

impl Layer {
    fn apply(&self, x: Array2<f32>, places: &[Range<usize>]) -> Array2<f32> {
        let mut y = self.attention_out.apply(&self.attend(&x, places));
        y += &x;
        self.attention_norm.apply(&mut y);
        let mut inner = self.inner.apply(&y);
        inner.mapv_inplace(gelu);
        let mut z = self.out.apply(&inner);
        z += &y;
        self.norm.apply(&mut z);
        z
    }

    fn attend(&self, x: &Array2<f32>, places: &[Range<usize>]) -> Array2<f32> {
        let projected = self.attention.apply(x);
        let mut out = Array2::zeros(x.raw_dim());
        let scale = 1.0 / (HEAD as f32).sqrt();
        for place in places {
            let mut scores = Array2::zeros((place.len(), place.len()));
            for head in 0..HEADS {
                let columns = |third: usize| {
                    let from = third * DIMENSIONS + head * HEAD;
                    from..from + HEAD
                };
                let [query, key, value] = [0, 1, 2].map(|third| part(projected.view(), place, columns(third)));
                general_mat_mul(scale, &query, &key.t(), 0.0, &mut scores);
                softmax(&mut scores);
                general_mat_mul(1.0, &scores, &value, 0.0, &mut part(out.view_mut(), place, columns(0)));
            }
        }
        out
    }
}

/// Returns these rows and columns of a view.
fn part<S: RawData>(mut view: ArrayBase<S, Ix2>, rows: &Range<usize>, columns: Range<usize>) -> ArrayBase<S, Ix2> {
    view.slice_axis_inplace(Axis(0), Slice::from(rows.clone()));
    view.slice_axis_inplace(Axis(1), Slice::from(columns));
    view
}

/// Reads tensors by the names of `BertModel`.
struct Reader(SafeTensors);

impl Reader {
    fn matrix(&mut self, name: &str, [rows, columns]: [usize; 2]) -> Result<Array2<f32>, String> {
        let numbers = self.0.read(name, &[rows, columns])?;
        Array2::from_shape_vec((rows, columns), numbers).map_err(|error| format!("tensor {name}: {error}"))
    }

    fn vector(&mut self, name: &str, length: usize) -> Result<Array1<f32>, String> {
        self.0.read(name, &[length]).map(Array1::from_vec)
    }

    fn norm(&mut self, name: &str) -> Result<LayerNorm, String> {
        let scale = self.vector(&format!("{name}.weight"), DIMENSIONS)?;
        Ok(LayerNorm { scale, shift: self.vector(&format!("{name}.bias"), DIMENSIONS)? })
    }

    /// Transposes: the file has one row per output, the product needs one row per input.
    fn linear(&mut self, name: &str, [input, output]: [usize; 2]) -> Result<Linear, String> {
        let weight = self.matrix(&format!("{name}.weight"), [output, input])?;
        let weight = weight.t().as_standard_layout().into_owned();
        Ok(Linear { weight, bias: self.vector(&format!("{name}.bias"), output)? })
    }

    fn attention(&mut self, name: &str) -> Result<Linear, String> {
        let mut part = |part: &str| self.linear(&format!("{name}.{part}"), [DIMENSIONS, DIMENSIONS]);
        let parts = [part("query")?, part("key")?, part("value")?];
        let weight = concatenate(Axis(1), &parts.each_ref().map(|part| part.weight.view()));
        let bias = concatenate(Axis(0), &parts.each_ref().map(|part| part.bias.view()));
        match (weight, bias) {
            (Ok(weight), Ok(bias)) => Ok(Linear { weight: weight.as_standard_layout().into_owned(), bias }),
            (Err(error), _) | (_, Err(error)) => Err(format!("{name}: {error}")),
        }
    }

    fn layer(&mut self, name: &str) -> Result<Layer, String> {
        Ok(Layer {
            attention: self.attention(&format!("{name}.attention.self"))?,
            attention_out: self.linear(&format!("{name}.attention.output.dense"), [DIMENSIONS, DIMENSIONS])?,
            attention_norm: self.norm(&format!("{name}.attention.output.LayerNorm"))?,
            inner: self.linear(&format!("{name}.intermediate.dense"), [DIMENSIONS, INNER])?,
            out: self.linear(&format!("{name}.output.dense"), [INNER, DIMENSIONS])?,
            norm: self.norm(&format!("{name}.output.LayerNorm"))?,
        })
    }
}
