//! Common shape of the values at one place, updated sample by sample.
//!
//! Fusion by Baazizi et al. (2019): kinds are united, records fused by key with a count of occurrences, arrays into the
//! fusion of their items.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};

use super::formats::Possible;

/// Maximum nesting of samples.
const MAX_DEPTH: usize = 128;
/// Maximum `enum_limit`; beyond it distinct texts are not kept.
const MAX_ENUM: usize = 50;
/// Maximum bytes of an enumerated text.
const MAX_TEXT: usize = 200;
/// Minimum number of values for their extremes to be bounds: the next of `n` exchangeable values lies beyond them with the
/// probability 2 / (n + 1), here 2 %.
const BOUND_VALUES: usize = 100;
/// Minimum number of texts for an enumeration.
const ENUM_VALUES: usize = 10;
/// Maximum number of keys of an object; with more it is treated as a map.
const MAX_KEYS: usize = 1_000;

pub struct Rules {
    pub formats: bool,
    pub enum_limit: usize,
}

#[derive(Debug, Default)]
pub struct Shape {
    null: bool,
    boolean: bool,
    numbers: Option<Numbers>,
    texts: Option<Texts>,
    items: Option<Box<Shape>>,
    record: Option<Record>,
}

#[derive(Debug)]
struct Numbers {
    count: usize,
    least: Number,
    most: Number,
    whole: bool,
}

#[derive(Debug, Default)]
struct Texts {
    count: usize,
    /// With the number of times that each occurs; cleared once there are too many.
    values: BTreeMap<String, usize>,
    various: bool,
    formats: Possible,
}

#[derive(Debug, Default)]
struct Record {
    count: usize,
    members: BTreeMap<String, (usize, Shape)>,
    /// All members fused, once there are too many keys.
    any: Option<Box<Shape>>,
}

impl Shape {
    /// # Errors
    /// What is wrong with the sample.
    pub fn see(&mut self, value: &Value, depth: usize) -> Result<(), String> {
        if depth > MAX_DEPTH {
            return Err(format!("is nested more than {MAX_DEPTH} deep"));
        }
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            Value::Number(number) => match &mut self.numbers {
                Some(numbers) => numbers.see(number),
                None => self.numbers = Some(Numbers::of(number)),
            },
            Value::String(text) => self.texts.get_or_insert_default().see(text),
            Value::Array(items) => {
                let shape = self.items.get_or_insert_default();
                items.iter().try_for_each(|item| shape.see(item, depth + 1))?;
            }
            Value::Object(object) => self.record.get_or_insert_default().see(object, depth)?,
        }
        Ok(())
    }

    /// Names of the observed kinds in JSON Schema.
    fn kinds(&self) -> Vec<&'static str> {
        let number = self.numbers.as_ref().map(|numbers| if numbers.whole { "integer" } else { "number" });
        let kinds = [
            self.null.then_some("null"),
            self.boolean.then_some("boolean"),
            number,
            self.texts.as_ref().map(|_| "string"),
            self.items.as_ref().map(|_| "array"),
            self.record.as_ref().map(|_| "object"),
        ];
        kinds.into_iter().flatten().collect()
    }

    /// Returns one type, several types without further constraints, or alternatives.
    pub fn schema(&self, rules: &Rules) -> Value {
        let kinds = self.kinds();
        let branches: Vec<Map<String, Value>> = kinds.iter().map(|kind| self.branch(kind, rules)).collect();
        let plain = branches.iter().all(|branch| branch.len() == 1);
        match (branches.len(), plain) {
            (0, _) => json!({}),
            (1, _) => branches.into_iter().next().map(Value::Object).unwrap_or_default(),
            (_, true) => json!({ "type": kinds }),
            (_, false) => json!({ "anyOf": branches }),
        }
    }

    fn branch(&self, kind: &str, rules: &Rules) -> Map<String, Value> {
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!(kind));
        match kind {
            "integer" | "number" => {
                // Few values say nothing of others.
                if let Some(numbers) = self.numbers.as_ref().filter(|n| n.count >= BOUND_VALUES && n.least != n.most) {
                    schema.insert("minimum".to_owned(), json!(numbers.least));
                    schema.insert("maximum".to_owned(), json!(numbers.most));
                }
            }
            "string" => self.texts.iter().for_each(|texts| texts.describe(rules, &mut schema)),
            "array" => {
                let items = self.items.iter().filter(|items| !items.kinds().is_empty());
                items.for_each(|items| drop(schema.insert("items".to_owned(), items.schema(rules))));
            }
            "object" => self.record.iter().for_each(|record| record.describe(rules, &mut schema)),
            _ => {}
        }
        schema
    }

    /// Reports each place with values of several types.
    pub fn conflicts(&self, path: &mut String, report: &mut impl FnMut(String, Vec<&'static str>)) {
        let kinds = self.kinds();
        if kinds.iter().filter(|kind| **kind != "null").count() > 1 {
            report(path.clone(), kinds);
        }
        self.below(path, &mut |shape, path| shape.conflicts(path, report));
    }

    /// Reports each place that is treated as a map.
    pub fn maps(&self, path: &mut String, report: &mut impl FnMut(&str)) {
        if self.record.as_ref().is_some_and(|record| record.any.is_some()) {
            report(path);
        }
        self.below(path, &mut |shape, path| shape.maps(path, report));
    }

    fn below(&self, path: &mut String, act: &mut dyn FnMut(&Self, &mut String)) {
        let length = path.len();
        let record = self.record.iter();
        let members = record.clone().flat_map(|record| &record.members);
        let members = members.map(|(key, (_, shape))| (key.replace('~', "~0").replace('/', "~1"), shape));
        let rest = record.filter_map(|record| record.any.as_deref()).chain(self.items.as_deref());
        for (step, shape) in members.chain(rest.map(|shape| ("*".to_owned(), shape))) {
            path.push('/');
            path.push_str(&step);
            act(shape, path);
            path.truncate(length);
        }
    }

    /// Fuses two shapes.
    fn fuse(&mut self, other: Self) {
        self.null |= other.null;
        self.boolean |= other.boolean;
        match (&mut self.numbers, other.numbers) {
            (Some(mine), Some(theirs)) => {
                let count = mine.count + theirs.count;
                mine.see(&theirs.least);
                mine.see(&theirs.most);
                mine.whole &= theirs.whole;
                mine.count = count;
            }
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
        match (&mut self.texts, other.texts) {
            (Some(mine), Some(theirs)) => mine.fuse(theirs),
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
        match (&mut self.items, other.items) {
            (Some(mine), Some(theirs)) => mine.fuse(*theirs),
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
        match (&mut self.record, other.record) {
            (Some(mine), Some(theirs)) => mine.fuse(theirs),
            (mine @ None, theirs) => *mine = theirs,
            _ => {}
        }
    }
}

impl Numbers {
    fn of(number: &Number) -> Self {
        Self { count: 1, least: number.clone(), most: number.clone(), whole: !number.is_f64() }
    }

    fn see(&mut self, number: &Number) {
        self.count += 1;
        self.whole &= !number.is_f64();
        if compare(number, &self.least) == Ordering::Less {
            self.least = number.clone();
        }
        if compare(number, &self.most) == Ordering::Greater {
            self.most = number.clone();
        }
    }
}

fn compare(one: &Number, other: &Number) -> Ordering {
    match (one.as_i128(), other.as_i128()) {
        (Some(one), Some(other)) => one.cmp(&other),
        _ => one.as_f64().unwrap_or_default().total_cmp(&other.as_f64().unwrap_or_default()),
    }
}

impl Texts {
    fn see(&mut self, text: &str) {
        self.formats.see(text);
        self.see_times(text, 1);
    }

    fn see_times(&mut self, text: &str, times: usize) {
        self.count += times;
        if text.len() > MAX_TEXT {
            self.forget();
        } else if !self.various {
            *self.values.entry(text.to_owned()).or_default() += times;
            if self.values.len() > MAX_ENUM {
                self.forget();
            }
        }
    }

    fn forget(&mut self) {
        self.various = true;
        self.values.clear();
    }

    fn fuse(&mut self, other: Self) {
        let count = self.count + other.count;
        other.values.iter().for_each(|(text, times)| self.see_times(text, *times));
        self.count = count;
        self.formats.and(other.formats);
        if other.various {
            self.forget();
        }
    }

    /// An enumeration requires evidence: ten texts, and none that occurs once (Good 1953: the share of texts that were not
    /// seen yet is about that of those that were seen once).
    fn describe(&self, rules: &Rules, schema: &mut Map<String, Value>) {
        let known = self.count >= ENUM_VALUES && self.values.values().all(|times| *times > 1);
        let few = !self.various && self.values.len() <= rules.enum_limit && known;
        if let Some(format) = self.formats.first().filter(|_| rules.formats) {
            schema.insert("format".to_owned(), json!(format));
        } else if few {
            schema.insert("enum".to_owned(), json!(self.values.keys().collect::<Vec<_>>()));
        }
    }
}

impl Record {
    fn see(&mut self, object: &Map<String, Value>, depth: usize) -> Result<(), String> {
        self.count += 1;
        for (key, value) in object {
            if let Some(any) = &mut self.any {
                any.see(value, depth + 1)?;
                continue;
            }
            let member = self.members.entry(key.clone()).or_default();
            member.0 += 1;
            member.1.see(value, depth + 1)?;
            self.become_map();
        }
        Ok(())
    }

    fn become_map(&mut self) {
        if self.members.len() > MAX_KEYS {
            let mut any = self.any.take().unwrap_or_default();
            std::mem::take(&mut self.members).into_values().for_each(|(_, shape)| any.fuse(shape));
            self.any = Some(any);
        }
    }

    fn fuse(&mut self, other: Self) {
        self.count += other.count;
        for (key, (count, shape)) in other.members {
            let member = self.members.entry(key).or_default();
            member.0 += count;
            member.1.fuse(shape);
        }
        if let Some(theirs) = other.any {
            self.any.get_or_insert_default().fuse(*theirs);
        }
        if let Some(any) = &mut self.any {
            std::mem::take(&mut self.members).into_values().for_each(|(_, shape)| any.fuse(shape));
        }
        self.become_map();
    }

    fn describe(&self, rules: &Rules, schema: &mut Map<String, Value>) {
        if let Some(any) = &self.any {
            schema.insert("additionalProperties".to_owned(), any.schema(rules));
            return;
        }
        let properties: Map<String, Value> =
            self.members.iter().map(|(key, (_, shape))| (key.clone(), shape.schema(rules))).collect();
        let always = self.members.iter().filter(|(_, (count, _))| *count == self.count);
        let required: Vec<&String> = always.map(|(key, _)| key).collect();
        if !properties.is_empty() {
            schema.insert("properties".to_owned(), Value::Object(properties));
        }
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
    }
}
