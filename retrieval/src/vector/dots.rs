use pulp::{Arch, Simd, WithSimd};

use super::rows::Rows;

/// Inner products of one query with many rows, with the widest instructions this machine has.
#[derive(Debug, Clone, Copy)]
pub(super) struct Dots(Arch);

impl Dots {
    pub fn new() -> Self {
        Self(Arch::new())
    }

    /// With consecutive rows.
    pub fn block(self, query: &[i16], rows: &[i8], out: &mut Vec<i32>) {
        out.clear();
        if !query.is_empty() {
            self.0.dispatch(Block { query, rows, out });
        }
    }

    /// With the rows of these numbers.
    pub fn gather(self, query: &[i16], rows: &Rows<i8>, at: &[u32], out: &mut Vec<i32>) {
        out.clear();
        self.0.dispatch(Gather { query, rows, at, out });
    }
}

// The loops below are compiled once for each instruction set that `Arch` knows: all they call must be inlined into them.

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
        for at in self.at {
            self.out.push(dot(self.query, self.rows.row(*at as usize)));
        }
    }
}

/// Never overflows: see [`super::quantized::Quantized`].
#[inline(always)]
fn dot(query: &[i16], row: &[i8]) -> i32 {
    query.iter().zip(row).fold(0, |sum, (a, b)| sum + i32::from(*a) * i32::from(*b))
}
