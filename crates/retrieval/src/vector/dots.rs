use std::hint::black_box;

use pulp::{Arch, Simd, WithSimd};

use super::ranked::Ranked;
use super::rows::Rows;

/// Inner products of one query with many rows, with the widest SIMD instructions of this machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dots(Arch);

impl Dots {
    pub fn new() -> Self {
        Self(Arch::new())
    }

    /// Computes the products with consecutive rows.
    pub fn block(self, query: &[i16], rows: &[i8], out: &mut Vec<i32>) {
        out.clear();
        if !query.is_empty() {
            self.0.dispatch(Block { query, rows, out });
        }
    }

    /// Computes the products with the rows at these indexes.
    pub fn gather(self, query: &[i16], rows: &Rows<i8>, at: &[u32], out: &mut Vec<i32>) {
        out.clear();
        self.0.dispatch(Gather { query, rows, at, out });
    }

    /// See [`super::vectors::Vectors::choose`]; `step` returns the scale of a row.
    pub fn diverse(
        self,
        rows: &Rows<i8>,
        step: impl Fn(u32) -> f32,
        candidates: &[Ranked],
        most: usize,
    ) -> Vec<Ranked> {
        self.0.dispatch(Diverse { rows, step, candidates, most })
    }
}

// The loops below are compiled per instruction set of `Arch`: everything they call must be inlined.

struct Block<'a> {
    query: &'a [i16],
    rows: &'a [i8],
    out: &'a mut Vec<i32>,
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        for row in self.rows.chunks_exact(self.query.len()) {
            self.out.push(dot(self.query, row));
        }
    }
}

struct Gather<'a> {
    query: &'a [i16],
    rows: &'a Rows<i8>,
    at: &'a [u32],
    out: &'a mut Vec<i32>,
}

impl WithSimd for Gather<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        // First one number of each cache line: the lines of all rows are then fetched in parallel while the first is
        // summed, which halves the time if the vectors exceed the caches.
        let lines = self.at.iter().flat_map(|at| self.rows.row(*at as usize).iter().step_by(64));
        black_box(lines.fold(0, |all, line| all ^ line));
        for at in self.at {
            self.out.push(dot(self.query, self.rows.row(*at as usize)));
        }
    }
}

struct Diverse<'a, F> {
    rows: &'a Rows<i8>,
    step: F,
    candidates: &'a [Ranked],
    most: usize,
}

impl<F: Fn(u32) -> f32> WithSimd for Diverse<'_, F> {
    type Output = Vec<Ranked>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Vec<Ranked> {
        let mut chosen: Vec<Ranked> = Vec::with_capacity(self.most);
        for candidate in self.candidates {
            if chosen.len() == self.most {
                break;
            }
            let row = self.rows.row(candidate.number() as usize);
            let step = (self.step)(candidate.number());
            let mut nearer = false;
            for other in &chosen {
                let product = dot_high(row, self.rows.row(other.number() as usize));
                if product as f32 * (step * (self.step)(other.number())) >= candidate.score() {
                    nearer = true;
                    break;
                }
            }
            if !nearer {
                chosen.push(*candidate);
            }
        }
        chosen
    }
}

#[inline(always)]
fn dot_high(a: &[i8], b: &[i8]) -> i32 {
    a.iter().zip(b).fold(0_i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)))
}

/// Cannot overflow for rows of [`super::quantized::Quantized`]; may wrap for forged files.
#[inline(always)]
fn dot(query: &[i16], row: &[i8]) -> i32 {
    query.iter().zip(row).fold(0_i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)))
}
