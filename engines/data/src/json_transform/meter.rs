//! Remaining budget of a program.

use std::cell::Cell;

use jaq_core::data::HasLut;
use jaq_core::{DataT, Lut};
use jaq_json::{Num, Val};

use muster_engine::stack::STACK;

/// Maximum steps of a program: a value through a pipe, a call, or 16 nodes or 256 bytes traversed.
pub const MAX_STEPS: usize = 3_000_000;
/// Maximum size of a value: nodes, plus one per 16 bytes of text.
const MAX_SIZE: usize = 1_000_000;
/// Maximum nesting of a value: parsers of the result accept no more.
const MAX_DEPTH: usize = 120;
/// Maximum bits of an integer.
const MAX_BITS: u64 = 100_000;

const STEPS: &str = "the program takes more than 3000000 steps: filter before it combines";
const SIZE: &str = "the program makes a value of more than a million parts, or nested more than 120 deep";
const RECURSION: &str = "the program calls itself too deeply: use reduce, or a call at the end of its definition";

#[derive(Debug)]
pub struct Meter {
    steps: Cell<usize>,
    spent: Cell<Option<&'static str>>,
    /// Address on the stack at which the program began.
    base: usize,
}

impl Meter {
    pub fn with_steps(steps: usize) -> Self {
        Self { steps: Cell::new(steps), spent: Cell::new(None), base: here() }
    }

    /// Returns why the program must stop.
    pub fn spent(&self) -> Option<&'static str> {
        self.spent.get()
    }

    fn spend(&self, steps: usize) -> bool {
        match self.steps.get().checked_sub(steps) {
            Some(left) => self.steps.set(left),
            None => self.spent.set(self.spent.get().or(Some(STEPS))),
        }
        self.spent.get().is_none()
    }

    /// Consumes a step; false if the limit is reached or the stack is nearly full.
    pub fn step(&self) -> bool {
        if self.base.abs_diff(here()) > STACK / 4 * 3 {
            self.spent.set(self.spent.get().or(Some(RECURSION)));
        }
        self.spend(1)
    }

    /// Traverses a value; false if it is too large or too deep.
    pub fn holds(&self, value: &Val) -> bool {
        let mut left = MAX_SIZE;
        if !within(value, 0, &mut left) {
            self.spent.set(self.spent.get().or(Some(SIZE)));
        }
        self.spend(1 + (MAX_SIZE - left) / 16)
    }

    /// As [`Self::holds`], for a sum whose parts were traversed before.
    pub fn holds_top(&self, value: &Val) -> bool {
        let size = top(value);
        if size > MAX_SIZE {
            self.spent.set(self.spent.get().or(Some(SIZE)));
        }
        self.spend(1 + size / 256)
    }

    /// Charges for comparing every part of one value with every part of another.
    pub fn pairs(&self, one: &Val, other: &Val) -> bool {
        self.spend(1 + top(one).saturating_mul(top(other)) / 16)
    }

    /// Returns whether a text may be repeated.
    pub fn repeats(&self, text: &[u8], times: f64) -> bool {
        if times * (text.len() as f64) > (MAX_SIZE * 16) as f64 {
            self.spent.set(self.spent.get().or(Some(SIZE)));
        }
        self.spent.get().is_none()
    }
}

#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(&local).addr()
}

fn top(value: &Val) -> usize {
    match value {
        Val::TStr(text) | Val::BStr(text) => 1 + text.len() / 16,
        Val::Arr(items) => 1 + items.len(),
        Val::Obj(object) => 1 + object.len(),
        _ => 1,
    }
}

fn within(value: &Val, depth: usize, left: &mut usize) -> bool {
    let size = match value {
        Val::TStr(text) | Val::BStr(text) => 1 + text.len() / 16,
        Val::Num(Num::BigInt(number)) if number.bits() > MAX_BITS => return false,
        Val::Num(Num::Dec(number)) => 1 + number.len() / 16,
        _ => 1,
    };
    if depth > MAX_DEPTH || *left < size {
        return false;
    }
    *left -= size;
    match value {
        Val::Arr(items) => items.iter().all(|item| within(item, depth + 1, left)),
        Val::Obj(object) => {
            object.iter().all(|(key, item)| within(key, depth + 1, left) && within(item, depth + 1, left))
        }
        _ => true,
    }
}

/// Data passed to jaq's filters besides their values.
#[derive(Clone, Copy)]
pub struct Data<'a> {
    pub lut: &'a Lut<Kind>,
    pub meter: &'a Meter,
}

pub struct Kind;

impl DataT for Kind {
    type V<'a> = Val;
    type Data<'a> = Data<'a>;
}

impl<'a> HasLut<'a, Kind> for Data<'a> {
    fn lut(&self) -> &'a Lut<Kind> {
        self.lut
    }
}
