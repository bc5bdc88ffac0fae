//! Routes by savings, improved by moves, and by taking stops out and putting them back.

use muster_engine::prelude::*;
use muster_kernel_numeric::sample::Sampler;

use super::fleet::{Fleet, NEAR, Routes, Vehicle};

/// Rounds of taking out and putting back, and places of stops that all of them may look at.
const MAX_ROUNDS: u64 = 4_000;
const MAX_WORK: u64 = 60_000_000;
/// Most stops that are taken out at once, and longest segment that moves.
const MAX_REMOVED: usize = 20;
const MAX_SEGMENT: usize = 3;
/// Gains below are rounding errors.
const LEAST_GAIN: f64 = 1e-7;

struct Search<'a> {
    fleet: &'a Fleet,
    left: u64,
}

pub(super) fn best(fleet: &Fleet, seed: i64, cx: &Context) -> Routes {
    let mut search = Search { fleet, left: MAX_WORK };
    let mut here = search.savings();
    search.descend(&mut here);
    let mut best = here.clone();
    let mut sampler = Sampler::new(seed);
    for round in 0..MAX_ROUNDS {
        if round % 50 == 0 {
            cx.progress(round, MAX_ROUNDS, "improving routes");
        }
        if search.left == 0 || fleet.stops.len() < 2 {
            break;
        }
        let mut next = here.clone();
        search.remove(&mut next, &mut sampler);
        // The hardest stop first may keep out several others.
        if !here.left.is_empty() && round % 2 == 1 {
            sampler.shuffle(&mut next.left);
            search.insert_in_order(&mut next);
        } else {
            search.insert(&mut next);
        }
        search.descend(&mut next);
        let (new, old) = (search.worth(&next), search.worth(&here));
        // Slightly longer routes are taken early on, so that the search leaves where it is stuck.
        let patience = 1.0 + 0.02 * (1.0 - round as f64 / MAX_ROUNDS as f64);
        if new.0 < old.0 || (new.0 == old.0 && new.1 < old.1 * patience) {
            here = next;
            let (here_worth, best_worth) = (search.worth(&here), search.worth(&best));
            if here_worth.0 < best_worth.0 || (here_worth.0 == best_worth.0 && here_worth.1 < best_worth.1 - LEAST_GAIN)
            {
                best = here.clone();
            }
        }
    }
    best
}

impl Search<'_> {
    fn vehicle(&self, at: usize) -> Vehicle {
        self.fleet.vehicles.get(at).copied().unwrap_or(Vehicle { capacity: 0.0, shift: 0.0 })
    }

    /// Stops left out, then minutes of driving.
    fn worth(&self, routes: &Routes) -> (usize, f64) {
        (routes.left.len(), routes.of.iter().map(|route| self.fleet.driving(route)).sum())
    }

    fn spend(&mut self, work: usize) {
        self.left = self.left.saturating_sub(work as u64);
    }

    fn fits(&mut self, route: &[usize], vehicle: usize) -> bool {
        self.spend(route.len() + 1);
        self.fleet.fits(route, self.vehicle(vehicle))
    }

    /// Clarke and Wright: rounds of one stop each are joined where that saves most and the largest vehicle can drive them;
    /// the heaviest rounds go to the largest vehicles, and stops of rounds without a vehicle are put into others.
    fn savings(&mut self) -> Routes {
        let fleet = self.fleet;
        let count = fleet.stops.len();
        let mut by_size: Vec<usize> = (0..fleet.vehicles.len()).collect();
        by_size.sort_by(|a, b| {
            let (a, b) = (self.vehicle(*a), self.vehicle(*b));
            b.capacity.total_cmp(&a.capacity).then(b.shift.total_cmp(&a.shift))
        });
        let largest = by_size.first().copied().unwrap_or(0);
        let mut rounds: Vec<Vec<usize>> = (1..=count).map(|stop| vec![stop]).collect();
        let mut savings = Vec::new();
        for a in 1..=count {
            for b in (1..=count).filter(|b| *b != a) {
                let saved = fleet.between(a, 0) + fleet.between(0, b) - fleet.between(a, b);
                if saved > 0.0 {
                    savings.push((saved, a, b));
                }
            }
        }
        savings.sort_by(|x, y| y.0.total_cmp(&x.0).then((x.1, x.2).cmp(&(y.1, y.2))));
        for (_, a, b) in savings {
            let ends_with = rounds.iter().position(|round| round.last() == Some(&a));
            let begins_with = rounds.iter().position(|round| round.first() == Some(&b));
            let (Some(first), Some(second)) = (ends_with, begins_with) else { continue };
            if first == second {
                continue;
            }
            let joined: Vec<usize> =
                rounds.get(first).into_iter().chain(rounds.get(second)).flatten().copied().collect();
            if self.fits(&joined, largest) {
                rounds.remove(first.max(second));
                if let Some(place) = rounds.get_mut(first.min(second)) {
                    *place = joined;
                }
            }
        }
        rounds.sort_by(|a, b| fleet.load(b).total_cmp(&fleet.load(a)).then(b.len().cmp(&a.len())));
        let mut routes = Routes { of: vec![Vec::new(); fleet.vehicles.len()], left: Vec::new() };
        for round in rounds {
            let free = by_size
                .iter()
                .copied()
                .find(|at| routes.of.get(*at).is_some_and(Vec::is_empty) && fleet.fits(&round, self.vehicle(*at)));
            match free.and_then(|at| routes.of.get_mut(at)) {
                Some(route) => *route = round,
                None => routes.left.extend(round),
            }
        }
        self.insert(&mut routes);
        routes
    }

    /// Takes out stops near a random one, and some at random.
    fn remove(&mut self, routes: &mut Routes, sampler: &mut Sampler) {
        let fleet = self.fleet;
        let served: Vec<usize> = routes.of.iter().flatten().copied().collect();
        if served.is_empty() {
            return;
        }
        let most = (served.len() / 3).clamp(1, MAX_REMOVED);
        let count = 1 + sampler.index(most);
        let centre = served.get(sampler.index(served.len())).copied().unwrap_or(1);
        let mut near = served.clone();
        near.sort_by(|a, b| fleet.between(centre, *a).total_cmp(&fleet.between(centre, *b)).then(a.cmp(b)));
        self.spend(served.len());
        let mut out: Vec<usize> = Vec::new();
        for stop in near {
            if out.len() == count {
                break;
            }
            // Not always the nearest, so that rounds differ.
            if sampler.uniform() < 0.8 {
                out.push(stop);
            }
        }
        for route in &mut routes.of {
            route.retain(|stop| !out.contains(stop));
        }
        sampler.shuffle(&mut out);
        routes.left.extend(out);
    }

    /// Puts stops back where they cost least, those first that have the fewest places.
    fn insert(&mut self, routes: &mut Routes) {
        // Stops with large demands and narrow windows are hard to place.
        let fleet = self.fleet;
        let hard = |stop: &usize| {
            let stop = fleet.stop(*stop);
            (stop.due - stop.ready).min(1e6) - stop.demand
        };
        routes.left.sort_by(|a, b| hard(a).total_cmp(&hard(b)));
        self.insert_in_order(routes);
    }

    /// Puts stops back where they cost least, one after the other.
    fn insert_in_order(&mut self, routes: &mut Routes) {
        let fleet = self.fleet;
        for stop in std::mem::take(&mut routes.left) {
            let mut best: Option<(f64, usize, usize)> = None;
            for vehicle in 0..routes.of.len() {
                let Some(route) = routes.of.get(vehicle).cloned() else { continue };
                if fleet.load(&route) + fleet.stop(stop).demand > self.vehicle(vehicle).capacity + NEAR {
                    self.spend(1);
                    continue;
                }
                for at in 0..=route.len() {
                    let before = at.checked_sub(1).and_then(|at| route.get(at)).copied().unwrap_or(0);
                    let after = route.get(at).copied().unwrap_or(0);
                    let more = fleet.between(before, stop) + fleet.between(stop, after) - fleet.between(before, after);
                    self.spend(1);
                    if best.is_some_and(|(cost, _, _)| cost <= more) {
                        continue;
                    }
                    let mut longer = route.clone();
                    longer.insert(at, stop);
                    if self.fits(&longer, vehicle) {
                        best = Some((more, vehicle, at));
                    }
                }
            }
            match best.and_then(|(_, vehicle, at)| Some((routes.of.get_mut(vehicle)?, at))) {
                Some((route, at)) => route.insert(at, stop),
                None => routes.left.push(stop),
            }
        }
    }

    /// Moves while one gains: reversals within a route, segments to other places, and exchanges of ends.
    fn descend(&mut self, routes: &mut Routes) {
        while self.left > 0 && (self.reverse(routes) || self.relocate(routes) || self.exchange(routes)) {}
    }

    /// 2-opt: turns a part of a route round.
    fn reverse(&mut self, routes: &mut Routes) -> bool {
        for vehicle in 0..routes.of.len() {
            let Some(route) = routes.of.get(vehicle).cloned() else { continue };
            let old = self.fleet.driving(&route);
            for from in 0..route.len() {
                for to in from + 1..route.len() {
                    let mut turned = route.clone();
                    if let Some(part) = turned.get_mut(from..=to) {
                        part.reverse();
                    }
                    self.spend(route.len() / 4 + 1);
                    if self.fleet.driving(&turned) < old - LEAST_GAIN && self.fits(&turned, vehicle) {
                        if let Some(place) = routes.of.get_mut(vehicle) {
                            *place = turned;
                        }
                        return true;
                    }
                }
            }
            if self.left == 0 {
                return false;
            }
        }
        false
    }

    /// Or-opt and relocation: puts one to three stops elsewhere, in this route or another.
    fn relocate(&mut self, routes: &mut Routes) -> bool {
        let fleet = self.fleet;
        for from in 0..routes.of.len() {
            let Some(source) = routes.of.get(from).cloned() else { continue };
            for length in 1..=MAX_SEGMENT.min(source.len()) {
                for at in 0..=source.len() - length {
                    let mut rest = source.clone();
                    let segment: Vec<usize> = rest.drain(at..at + length).collect();
                    let saved = fleet.driving(&source) - fleet.driving(&rest);
                    self.spend(source.len() / 4 + 1);
                    for to in 0..routes.of.len() {
                        let target =
                            if to == from { rest.clone() } else { routes.of.get(to).cloned().unwrap_or_default() };
                        let (Some(first), Some(last)) = (segment.first(), segment.last()) else { continue };
                        for place in 0..=target.len() {
                            let before = place.checked_sub(1).and_then(|at| target.get(at)).copied().unwrap_or(0);
                            let after = target.get(place).copied().unwrap_or(0);
                            let inner: f64 = segment
                                .windows(2)
                                .map(|pair| match pair {
                                    [a, b] => fleet.between(*a, *b),
                                    _ => 0.0,
                                })
                                .sum();
                            let more = fleet.between(before, *first) + inner + fleet.between(*last, after)
                                - fleet.between(before, after);
                            self.spend(1);
                            if more >= saved - LEAST_GAIN {
                                continue;
                            }
                            let mut longer = target.clone();
                            longer.splice(place..place, segment.iter().copied());
                            if self.fits(&longer, to) && (to == from || self.fits(&rest, from)) {
                                if let Some(route) = routes.of.get_mut(from) {
                                    route.clone_from(&rest);
                                }
                                if let Some(route) = routes.of.get_mut(to) {
                                    *route = longer;
                                }
                                return true;
                            }
                        }
                    }
                    if self.left == 0 {
                        return false;
                    }
                }
            }
        }
        false
    }

    /// Swaps two stops of two routes, or the ends of two routes (2-opt*).
    fn exchange(&mut self, routes: &mut Routes) -> bool {
        let fleet = self.fleet;
        for a in 0..routes.of.len() {
            for b in a + 1..routes.of.len() {
                let (Some(one), Some(two)) = (routes.of.get(a).cloned(), routes.of.get(b).cloned()) else { continue };
                if one.is_empty() && two.is_empty() {
                    continue;
                }
                let old = fleet.driving(&one) + fleet.driving(&two);
                for i in 0..=one.len() {
                    for j in 0..=two.len() {
                        let mut pairs = Vec::new();
                        if let (Some(x), Some(y)) = (one.get(i).copied(), two.get(j).copied()) {
                            let swap = |route: &[usize], at: usize, stop: usize| {
                                let mut route = route.to_vec();
                                if let Some(place) = route.get_mut(at) {
                                    *place = stop;
                                }
                                route
                            };
                            pairs.push((swap(&one, i, y), swap(&two, j, x)));
                        }
                        let (Some((head_one, tail_one)), Some((head_two, tail_two))) =
                            (one.split_at_checked(i), two.split_at_checked(j))
                        else {
                            continue;
                        };
                        pairs.push(([head_one, tail_two].concat(), [head_two, tail_one].concat()));
                        for (new_one, new_two) in pairs {
                            self.spend((one.len() + two.len()) / 2 + 1);
                            let new = fleet.driving(&new_one) + fleet.driving(&new_two);
                            if new < old - LEAST_GAIN && self.fits(&new_one, a) && self.fits(&new_two, b) {
                                if let Some(route) = routes.of.get_mut(a) {
                                    *route = new_one;
                                }
                                if let Some(route) = routes.of.get_mut(b) {
                                    *route = new_two;
                                }
                                return true;
                            }
                        }
                    }
                }
                if self.left == 0 {
                    return false;
                }
            }
        }
        false
    }
}
