//! q80: cargo loading.

use std::collections::BTreeMap;

use muster_engine::prelude::*;

use crate::bounds::{at_most, distinct, not_negative, positive};

const MAX_ITEMS: usize = 500;
/// Most pieces for vehicles, and most of one item.
const MAX_PIECES: usize = 2_000;
const MAX_QUANTITY: i64 = 100_000;
/// Items that the search may look at.
const MAX_WORK: u64 = 60_000_000;
/// Pieces up to which the fewest vehicles are proven.
const MAX_PROVEN: usize = 30;
/// Largest weight, volume and value: their sums stay exact enough, and finite.
const MAX_NUMBER: f64 = 1e12;
/// Rounding of sums of weights, relative.
const NEAR: f64 = 1e-9;

#[derive(Input)]
pub struct Input {
    items: Vec<ItemIn>,
    vehicle: Vehicle,
    mode: Mode,
}

#[derive(Input)]
struct ItemIn {
    id: String,
    weight_kg: f64,
    volume_m3: Option<f64>,
    value: Option<f64>,
    quantity: Option<i64>,
}

#[derive(Input)]
struct Vehicle {
    weight_kg: f64,
    volume_m3: Option<f64>,
}

#[derive(Clone, Copy, Words)]
#[wire(case = "kebab")]
enum Mode {
    BestValue,
    FewestVehicles,
}

#[derive(Output)]
pub struct Output {
    loads: Vec<Load>,
    left_behind: BTreeMap<String, i64>,
    total_value: f64,
    lower_bound: Option<usize>,
    optimal: bool,
}

#[derive(Output)]
struct Load {
    vehicle: usize,
    items: BTreeMap<String, i64>,
    weight_kg: f64,
    volume_m3: f64,
    value: f64,
}

/// An item, its weight and volume as shares of what the vehicle takes.
#[derive(Debug, Clone)]
struct Item {
    weight: f64,
    volume: f64,
    value: f64,
    quantity: i64,
}

/// Loads one vehicle with the most value, or all items on the fewest vehicles.
///
/// # Errors
/// `Invalid`, `TooLarge`.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    let items = check(&input)?;
    let (counts, lower_bound, optimal) = match input.mode {
        Mode::BestValue => {
            let (counts, optimal) = best_value(&items, cx);
            (vec![counts], None, optimal)
        }
        Mode::FewestVehicles => {
            let (loads, bound) = fewest(&items, cx)?;
            let optimal = loads.len() == bound;
            (loads, Some(bound), optimal)
        }
    };
    if !optimal {
        cx.warn("unproven: a better load may exist; the search was ended");
    }
    let mut left: BTreeMap<String, i64> = BTreeMap::new();
    for (at, (given, item)) in input.items.iter().zip(&items).enumerate() {
        let loaded: i64 = counts.iter().filter_map(|counts| counts.get(at)).sum();
        if loaded < item.quantity {
            left.insert(given.id.clone(), item.quantity - loaded);
        }
    }
    let loads: Vec<Load> =
        counts.iter().enumerate().map(|(vehicle, counts)| load(&input.items, counts, vehicle + 1)).collect();
    let total_value = loads.iter().map(|load| load.value).sum();
    Ok(Output { loads, left_behind: left, total_value, lower_bound, optimal })
}

fn check(input: &Input) -> Result<Vec<Item>, Failure> {
    at_most(input.items.len(), MAX_ITEMS, "items")?;
    distinct("items", input.items.iter().map(|item| item.id.as_str()))?;
    for (name, value) in [("weight", Some(input.vehicle.weight_kg)), ("volume", input.vehicle.volume_m3)] {
        if let Some(value) = value {
            positive(&["vehicle", name], value)?;
            at_most_number(&["vehicle", name], value)?;
        }
    }
    let mut items = Vec::new();
    for (at, item) in input.items.iter().enumerate() {
        let at = at.to_string();
        for (name, value) in [("weight", Some(item.weight_kg)), ("volume", item.volume_m3), ("value", item.value)] {
            not_negative(["items", &at, name], value.unwrap_or(0.0))?;
            at_most_number(&["items", &at, name], value.unwrap_or(0.0))?;
        }
        let quantity = item.quantity.unwrap_or(1);
        if !(0..=MAX_QUANTITY).contains(&quantity) {
            return Err(Failure::invalid(&["items", &at, "quantity"], format!("must be 0 to {MAX_QUANTITY}")));
        }
        let share = |of: f64, all: Option<f64>| all.map_or(0.0, |all| (of / all).min(1e9));
        items.push(Item {
            weight: share(item.weight_kg, Some(input.vehicle.weight_kg)),
            volume: share(item.volume_m3.unwrap_or(0.0), input.vehicle.volume_m3),
            value: item.value.unwrap_or(1.0),
            quantity,
        });
    }
    Ok(items)
}

fn at_most_number(loc: &[&str], value: f64) -> Result<(), Failure> {
    if value > MAX_NUMBER { Err(Failure::invalid(loc, format!("must be at most {MAX_NUMBER:e}"))) } else { Ok(()) }
}

fn load(items: &[ItemIn], counts: &[i64], vehicle: usize) -> Load {
    let mut load = Load { vehicle, items: BTreeMap::new(), weight_kg: 0.0, volume_m3: 0.0, value: 0.0 };
    for (item, count) in items.iter().zip(counts).filter(|(_, count)| **count > 0) {
        load.items.insert(item.id.clone(), *count);
        let count = *count as f64;
        load.weight_kg += count * item.weight_kg;
        load.volume_m3 += count * item.volume_m3.unwrap_or(0.0);
        load.value += count * item.value.unwrap_or(1.0);
    }
    load
}

/// Branch and bound over how many of each item are taken, the most valuable for their size first.
struct Knapsack<'a> {
    items: &'a [Item],
    /// Items by value for the mean of both shares; the search follows it.
    order: Vec<usize>,
    /// Place of each item in that order.
    place: Vec<usize>,
    /// Items by value for weight, volume, and their mean, for the bound.
    by_share: [Vec<usize>; 3],
    counts: Vec<i64>,
    best: Vec<i64>,
    best_value: f64,
    left: u64,
}

fn shares(item: &Item) -> [f64; 3] {
    [item.weight, item.volume, (item.weight + item.volume) / 2.0]
}

fn best_value(items: &[Item], cx: &Context) -> (Vec<i64>, bool) {
    let by = |kind: usize| {
        let density = |at: &usize| {
            let Some(item) = items.get(*at) else { return 0.0 };
            let share = shares(item).get(kind).copied().unwrap_or(0.0);
            if share > 0.0 { item.value / share } else { f64::INFINITY }
        };
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by(|a, b| density(b).total_cmp(&density(a)).then(a.cmp(b)));
        order
    };
    let order = by(2);
    let mut place = vec![0; items.len()];
    for (at, item) in order.iter().enumerate() {
        if let Some(place) = place.get_mut(*item) {
            *place = at;
        }
    }
    let counts = vec![0; items.len()];
    let mut search = Knapsack {
        items,
        order,
        place,
        by_share: [by(0), by(1), by(2)],
        counts: counts.clone(),
        best: counts,
        best_value: -1.0,
        left: MAX_WORK,
    };
    cx.progress(0, 1, "searching");
    let optimal = search.descend(0, [1.0, 1.0], 0.0);
    cx.progress(1, 1, "searching");
    (search.best, optimal)
}

impl Knapsack<'_> {
    /// Returns whether all was searched.
    fn descend(&mut self, depth: usize, room: [f64; 2], value: f64) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        if value > self.best_value * (1.0 + NEAR) || self.best_value < 0.0 {
            self.best_value = value;
            self.best.clone_from(&self.counts);
        }
        let Some(at) = self.order.get(depth).copied() else { return true };
        let Some(bound) = self.bound(depth, room) else { return false };
        if value + bound <= self.best_value * (1.0 + NEAR) {
            return true;
        }
        let Some(item) = self.items.get(at).cloned() else { return true };
        let fitting = |share: f64, room: f64| if share > 0.0 { ((room + NEAR) / share).floor() } else { f64::INFINITY };
        let [weight, volume] = room;
        let most =
            fitting(item.weight, weight).min(fitting(item.volume, volume)).min(item.quantity as f64).max(0.0) as i64;
        for count in (0..=most).rev() {
            if let Some(place) = self.counts.get_mut(at) {
                *place = count;
            }
            let taken = count as f64;
            let rest = [weight - taken * item.weight, volume - taken * item.volume];
            if !self.descend(depth + 1, rest, value + taken * item.value) {
                return false;
            }
        }
        if let Some(place) = self.counts.get_mut(at) {
            *place = 0;
        }
        true
    }

    /// The least of three bounds: of one limit alone, of the other, and of their mean, each filled with fractions.
    fn bound(&mut self, depth: usize, [weight, volume]: [f64; 2]) -> Option<f64> {
        let mut least = f64::INFINITY;
        for (kind, order) in self.by_share.iter().enumerate() {
            let mut room = [weight, volume, (weight + volume) / 2.0].get(kind).copied().unwrap_or(0.0) + NEAR;
            let mut value = 0.0;
            for at in order {
                self.left = self.left.checked_sub(1)?;
                let Some(item) =
                    self.items.get(*at).filter(|_| self.place.get(*at).is_some_and(|place| *place >= depth))
                else {
                    continue;
                };
                let share = shares(item).get(kind).copied().unwrap_or(0.0);
                let size = share * item.quantity as f64;
                if size <= room {
                    room -= size;
                    value += item.value * item.quantity as f64;
                } else {
                    value += item.value * room.max(0.0) / share;
                    break;
                }
            }
            least = least.min(value);
        }
        Some(least)
    }
}

/// A piece of an item.
#[derive(Debug, Clone, Copy)]
struct Piece {
    item: usize,
    weight: f64,
    volume: f64,
}

/// Packs all pieces; returns the counts of each vehicle and a bound that no packing is below.
fn fewest(items: &[Item], cx: &Context) -> Result<(Vec<Vec<i64>>, usize), Failure> {
    let fits = |item: &Item| item.weight <= 1.0 + NEAR && item.volume <= 1.0 + NEAR;
    let total: i64 = items.iter().filter(|item| fits(item)).map(|item| item.quantity).sum();
    at_most(usize::try_from(total).unwrap_or(usize::MAX), MAX_PIECES, "pieces")?;
    if items.iter().any(|item| !fits(item) && item.quantity > 0) {
        cx.warn("too_heavy: some items do not fit into an empty vehicle: they are left behind");
    }
    let mut pieces = Vec::new();
    for (at, item) in items.iter().enumerate().filter(|(_, item)| fits(item)) {
        let piece = Piece { item: at, weight: item.weight, volume: item.volume };
        pieces.extend(std::iter::repeat_n(piece, usize::try_from(item.quantity).unwrap_or(0)));
    }
    let size = |piece: &Piece| piece.weight.max(piece.volume);
    pieces.sort_by(|a, b| {
        size(b)
            .total_cmp(&size(a))
            .then((b.weight + b.volume).total_cmp(&(a.weight + a.volume)))
            .then(a.item.cmp(&b.item))
    });
    let bound = bound(pieces.iter().map(|piece| piece.weight)).max(bound(pieces.iter().map(|piece| piece.volume)));
    let mut best = decreasing(&pieces);
    let mut bound = bound.max(usize::from(!pieces.is_empty()));
    if pieces.len() <= MAX_PROVEN {
        let mut left = MAX_WORK / 4;
        while bound < count(&best) {
            cx.progress(0, 0, "packing");
            let mut bins = vec![[1.0, 1.0]; bound];
            let mut places = vec![0; pieces.len()];
            match pack(&pieces, 0, &mut bins, &mut places, &mut left) {
                Some(true) => best = places,
                Some(false) => bound += 1,
                // The work is spent: what is known stays.
                None => break,
            }
        }
    }
    let mut loads = vec![vec![0; items.len()]; count(&best)];
    for (piece, place) in pieces.iter().zip(&best) {
        if let Some(count) = loads.get_mut(*place).and_then(|load| load.get_mut(piece.item)) {
            *count += 1;
        }
    }
    Ok((loads, bound))
}

fn count(places: &[usize]) -> usize {
    places.iter().max().map_or(0, |last| last + 1)
}

/// Martello and Toth's L2 of one dimension.
fn bound(shares: impl Iterator<Item = f64>) -> usize {
    let sizes: Vec<f64> = shares.collect();
    let mut best = (sizes.iter().sum::<f64>() - NEAR).ceil().max(0.0);
    for cut in sizes.iter().copied().filter(|size| *size <= 0.5) {
        let large = sizes.iter().filter(|size| **size > 1.0 - cut + NEAR).count() as f64;
        let middle: Vec<f64> = sizes.iter().copied().filter(|size| *size <= 1.0 - cut + NEAR && *size > 0.5).collect();
        let small: f64 = sizes.iter().filter(|size| **size <= 0.5 && **size >= cut).sum();
        let room = middle.len() as f64 - middle.iter().sum::<f64>();
        best = best.max(large + middle.len() as f64 + (small - room - NEAR).ceil().max(0.0));
    }
    best as usize
}

/// Best fit, the largest first: into the vehicle that it fills most.
fn decreasing(pieces: &[Piece]) -> Vec<usize> {
    let mut bins: Vec<[f64; 2]> = Vec::new();
    pieces
        .iter()
        .map(|piece| {
            let fits = |room: &[f64; 2]| matches!(room, [weight, volume] if piece.weight <= weight + NEAR && piece.volume <= volume + NEAR);
            let rest = |room: &[f64; 2]| room.iter().sum::<f64>();
            let best = bins.iter().enumerate().filter(|(_, room)| fits(room)).min_by(|a, b| rest(a.1).total_cmp(&rest(b.1)));
            let at = best.map_or(bins.len(), |(at, _)| at);
            if at == bins.len() {
                bins.push([1.0, 1.0]);
            }
            if let Some([weight, volume]) = bins.get_mut(at) {
                *weight -= piece.weight;
                *volume -= piece.volume;
            }
            at
        })
        .collect()
}

/// Looks for a packing into these vehicles; `None` if the work is spent. Of vehicles with equal room only one is tried.
fn pack(
    pieces: &[Piece],
    at: usize,
    bins: &mut Vec<[f64; 2]>,
    places: &mut Vec<usize>,
    left: &mut u64,
) -> Option<bool> {
    let Some(piece) = pieces.get(at).copied() else { return Some(true) };
    let rest = |side: usize| bins.iter().filter_map(|room| room.get(side)).sum::<f64>();
    let open = pieces.get(at..).unwrap_or_default();
    if open.iter().map(|piece| piece.weight).sum::<f64>() > rest(0) + NEAR * 100.0
        || open.iter().map(|piece| piece.volume).sum::<f64>() > rest(1) + NEAR * 100.0
    {
        return Some(false);
    }
    let mut tried: Vec<[f64; 2]> = Vec::new();
    for bin in 0..bins.len() {
        *left = left.checked_sub(1)?;
        let Some(room) = bins.get(bin).copied() else { continue };
        let [weight, volume] = room;
        let same = tried.iter().any(|[a, b]| (a - weight).abs() < NEAR && (b - volume).abs() < NEAR);
        if same || piece.weight > weight + NEAR || piece.volume > volume + NEAR {
            continue;
        }
        tried.push(room);
        if let Some(room) = bins.get_mut(bin) {
            *room = [weight - piece.weight, volume - piece.volume];
        }
        if let Some(place) = places.get_mut(at) {
            *place = bin;
        }
        let found = pack(pieces, at + 1, bins, places, left)?;
        if let Some(back) = bins.get_mut(bin) {
            *back = room;
        }
        if found {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Weight, volume, value and quantity of each item, and what a vehicle takes.
    type Problem = (Vec<(u8, u8, u8, u8)>, u8, u8);

    fn problems() -> impl Strategy<Value = Problem> {
        (prop::collection::vec((0_u8..20, 0_u8..20, 0_u8..30, 0_u8..3), 1..7), 10_u8..40, 10_u8..40)
    }

    fn loaded((items, weight, volume): &Problem, mode: &str) -> Value {
        let items: Vec<Value> = items
            .iter()
            .enumerate()
            .map(|(at, (weight, volume, value, quantity))| {
                json!({ "id": at.to_string(), "weight": weight, "volume": volume, "value": value, "quantity": quantity })
            })
            .collect();
        let input = json!({ "items": items, "vehicle": { "weight": weight, "volume": volume }, "mode": mode });
        crate::FAMILY.run(80, input, &Context::default()).unwrap()
    }

    /// What is wrong with loads, found without the code that makes them.
    fn faults((items, weight, volume): &Problem, output: &Value) -> Vec<String> {
        let mut faults = Vec::new();
        let mut open: Vec<i64> = items.iter().map(|item| i64::from(item.3)).collect();
        let mut total = 0.0;
        for load in output["loads"].as_array().unwrap() {
            let (mut w, mut v) = (0, 0);
            for (id, count) in load["items"].as_object().unwrap() {
                let (at, count) = (id.parse::<usize>().unwrap(), count.as_i64().unwrap());
                open[at] -= count;
                w += i64::from(items[at].0) * count;
                v += i64::from(items[at].1) * count;
                total += f64::from(items[at].2) * count as f64;
            }
            if w > i64::from(*weight) || v > i64::from(*volume) {
                faults.push(format!("{load} does not fit"));
            }
            if load["weight"].as_f64() != Some(w as f64) || load["volume"].as_f64() != Some(v as f64) {
                faults.push(format!("{load} is described wrongly"));
            }
        }
        for (at, open) in open.iter().enumerate() {
            if output["left_behind"].get(at.to_string()).map_or(0, |left| left.as_i64().unwrap()) != *open {
                faults.push(format!("{at} is not counted"));
            }
        }
        if (output["total_value"].as_f64().unwrap() - total).abs() > 1e-9 {
            faults.push(format!("{total} is not the value"));
        }
        faults
    }

    /// The best value of all counts.
    fn best(items: &[(u8, u8, u8, u8)], weight: i64, volume: i64) -> i64 {
        let Some(((w, v, value, quantity), rest)) = items.split_first() else { return 0 };
        let takes = (0..=i64::from(*quantity)).filter(|n| n * i64::from(*w) <= weight && n * i64::from(*v) <= volume);
        let of = |n: i64| n * i64::from(*value) + best(rest, weight - n * i64::from(*w), volume - n * i64::from(*v));
        takes.map(of).max().unwrap_or(0)
    }

    proptest! {
        #[test]
        fn the_load_fits_and_none_is_worth_more(problem in problems()) {
            let output = loaded(&problem, "best-value");
            prop_assert_eq!(faults(&problem, &output), Vec::<String>::new());
            prop_assert_eq!(&output["optimal"], &json!(true));
            let (items, weight, volume) = &problem;
            prop_assert_eq!(output["total_value"].as_f64(), Some(best(items, (*weight).into(), (*volume).into()) as f64));
        }

        #[test]
        fn the_loads_fit_and_are_no_fewer_than_their_bound(problem in problems()) {
            let output = loaded(&problem, "fewest-vehicles");
            prop_assert_eq!(faults(&problem, &output), Vec::<String>::new());
            let (loads, bound) = (output["loads"].as_array().unwrap().len(), output["lower_bound"].as_u64().unwrap());
            prop_assert!(bound as usize <= loads);
            let (items, weight, volume) = &problem;
            let fits = |item: &&(u8, u8, u8, u8)| item.0 <= *weight && item.1 <= *volume;
            let sum = |of: fn(&(u8, u8, u8, u8)) -> u32| items.iter().filter(fits).map(of).sum::<u32>();
            let weights = sum(|item| u32::from(item.0) * u32::from(item.3)).div_ceil((*weight).into());
            let volumes = sum(|item| u32::from(item.1) * u32::from(item.3)).div_ceil((*volume).into());
            prop_assert!(bound >= u64::from(weights.max(volumes)));
        }
    }
}
