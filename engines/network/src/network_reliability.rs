//! q53: network reliability.

use std::collections::{BTreeMap, BTreeSet};

use muster_engine::prelude::*;
use muster_kernel_choice::Graph;
use muster_kernel_numeric::sample::Sampler;
use petgraph::unionfind::UnionFind;

use crate::bounds::{at_most, edge_problem, unknown_node};

/// Links up to which the answer is exact.
const MAX_EXACT: usize = 24;
const MAX_EDGES: usize = 2_000;
/// Samples times links.
const MAX_DRAWS: usize = 200_000_000;
const PROGRESS_EVERY: i64 = 1_000;

/// A link with its probability of working.
#[derive(Input)]
pub struct Edge {
    from: String,
    to: String,
    reliability: f64,
}

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    edges: Vec<Edge>,
    terminals: Vec<String>,
    samples: i64,
    seed: i64,
}

/// How the answer was found.
#[derive(Words, Debug, Clone, Copy, PartialEq, Eq)]
#[wire(case = "kebab")]
pub enum Method {
    /// By the factoring theorem.
    Exact,
    /// By sampling.
    MonteCarlo,
}

/// How much the reliability grows with that of a link.
#[derive(Output)]
pub struct Importance {
    from: String,
    to: String,
    birnbaum: f64,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    reliability: f64,
    method: Method,
    standard_error: f64,
    importance: Vec<Importance>,
}

/// A link between numbered nodes.
type Link = (usize, usize, f64);

/// Computes the probability that all terminals are connected; importance is ordered from the largest.
///
/// # Errors
/// A reliability outside of 0 to 1, fewer than two terminals, an unknown terminal, too large a network.
pub fn run(input: Input, cx: &Context) -> Result<Output, Failure> {
    at_most(input.edges.len(), MAX_EDGES, "edges")?;
    let mut graph = Graph::new();
    let mut links: Vec<Link> = Vec::with_capacity(input.edges.len());
    for (index, edge) in input.edges.iter().enumerate() {
        if !(0.0..=1.0).contains(&edge.reliability) {
            return Err(edge_problem(index, "reliability", "must be between 0 and 1"));
        }
        links.push((graph.node(&edge.from), graph.node(&edge.to), edge.reliability));
    }
    let terminals = input.terminals.iter().map(|name| graph.find(name).ok_or_else(|| unknown_node("terminals", name)));
    let terminals = terminals.collect::<Result<BTreeSet<usize>, Failure>>()?;
    if terminals.len() < 2 {
        return Err(Failure::invalid(&["terminals"], "needs two different nodes at least"));
    }
    let (reliability, method, standard_error, birnbaum) = if links.len() <= MAX_EXACT {
        let birnbaum = (0..links.len()).map(|link| Some(birnbaum(&links, &terminals, link))).collect();
        (factor(links.clone(), terminals), Method::Exact, 0.0, birnbaum)
    } else {
        let samples = usize::try_from(input.samples).unwrap_or(0);
        if samples.saturating_mul(links.len()) > MAX_DRAWS {
            return Err(Failure::too_large(format!("samples times edges may be at most {MAX_DRAWS}")));
        }
        let (reliability, birnbaum) = sample(&links, graph.len(), &terminals, &input, cx);
        let error = (reliability * (1.0 - reliability) / input.samples as f64).sqrt();
        (reliability, Method::MonteCarlo, error, birnbaum)
    };
    let mut importance: Vec<Importance> = input
        .edges
        .iter()
        .zip(&birnbaum)
        .filter_map(|(edge, birnbaum)| {
            Some(Importance { from: edge.from.clone(), to: edge.to.clone(), birnbaum: (*birnbaum)? })
        })
        .collect();
    if importance.len() < input.edges.len() {
        cx.warn("omitted: the importance of links that were up in all samples or in none is not known");
    }
    importance.sort_by(|one, other| other.birnbaum.total_cmp(&one.birnbaum));
    Ok(Output { reliability, method, standard_error, importance })
}

/// Reliability with the link up less that with it down.
fn birnbaum(links: &[Link], terminals: &BTreeSet<usize>, link: usize) -> f64 {
    let with = |reliability: f64| {
        let links = links
            .iter()
            .enumerate()
            .map(|(at, (from, to, own))| (*from, *to, if at == link { reliability } else { *own }));
        factor(links.collect(), terminals.clone())
    };
    with(1.0) - with(0.0)
}

/// Factoring theorem: the graph is reduced, then one link is taken as up and as down.
fn factor(mut links: Vec<Link>, mut terminals: BTreeSet<usize>) -> f64 {
    let mut certain = 1.0;
    loop {
        if terminals.len() < 2 {
            return certain;
        }
        links = merged(links, &terminals);
        let mut degree: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, (from, to, _)) in links.iter().enumerate() {
            degree.entry(*from).or_default().push(index);
            degree.entry(*to).or_default().push(index);
        }
        if terminals.iter().any(|terminal| !degree.contains_key(terminal)) {
            return 0.0;
        }
        let reducible = degree.iter().find(|(node, at)| at.len() == 1 || at.len() == 2 && !terminals.contains(node));
        let Some((&node, at_node)) = reducible else { break };
        let ends: Vec<Link> = at_node.iter().filter_map(|index| links.get(*index).copied()).collect();
        let other = |(from, to, _): &Link| if *from == node { *to } else { *from };
        links.retain(|(from, to, _)| *from != node && *to != node);
        match ends.as_slice() {
            [one, two] => links.push((other(one), other(two), one.2 * two.2)),
            [only] if terminals.remove(&node) => {
                certain *= only.2;
                terminals.insert(other(only));
            }
            _ => {}
        }
    }
    let Some((from, to, reliability)) = links.pop() else { return 0.0 };
    let rename = |node: usize| if node == to { from } else { node };
    let up = links.iter().map(|(one, other, reliability)| (rename(*one), rename(*other), *reliability)).collect();
    let joined = terminals.iter().map(|node| rename(*node)).collect();
    certain * (reliability * factor(up, joined) + (1.0 - reliability) * factor(links, terminals))
}

/// Removes loops, links that are never up and parts without a terminal, and merges parallel links.
fn merged(links: Vec<Link>, terminals: &BTreeSet<usize>) -> Vec<Link> {
    let mut pairs: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (from, to, reliability) in links {
        if from != to && reliability > 0.0 {
            let down = pairs.entry((from.min(to), from.max(to))).or_insert(1.0);
            *down *= 1.0 - reliability;
        }
    }
    let mut reached: BTreeSet<usize> = terminals.first().copied().into_iter().collect();
    loop {
        let before = reached.len();
        for (from, to) in pairs.keys() {
            if reached.contains(from) || reached.contains(to) {
                reached.extend([*from, *to]);
            }
        }
        if reached.len() == before {
            break;
        }
    }
    pairs.retain(|(from, _), _| reached.contains(from));
    pairs.into_iter().map(|((from, to), down)| (from, to, 1.0 - down)).collect()
}

/// Estimates the reliability, and each link's importance as the difference of its means with the link up and down.
fn sample(
    links: &[Link],
    nodes: usize,
    terminals: &BTreeSet<usize>,
    input: &Input,
    cx: &Context,
) -> (f64, Vec<Option<f64>>) {
    let mut random = Sampler::new(input.seed);
    let mut connected = 0_i64;
    // Of each link: samples with it up, and how many of them are connected.
    let mut tally = vec![(0_i64, 0_i64); links.len()];
    let mut up = vec![false; links.len()];
    for number in 0..input.samples {
        if number % PROGRESS_EVERY == 0 {
            cx.progress(number.unsigned_abs(), input.samples.unsigned_abs(), "sampling");
        }
        let mut sets = UnionFind::<usize>::new(nodes);
        for ((from, to, reliability), up) in links.iter().zip(&mut up) {
            *up = random.uniform() < *reliability;
            if *up {
                sets.union(*from, *to);
            }
        }
        let mut roots = terminals.iter().map(|terminal| sets.find(*terminal));
        let first = roots.next();
        let whole = roots.all(|root| Some(root) == first);
        connected += i64::from(whole);
        for (up, (count, good)) in up.iter().zip(&mut tally) {
            if *up {
                *count += 1;
                *good += i64::from(whole);
            }
        }
    }
    let importance = tally.into_iter().map(|(count, good)| {
        let (down, good_down) = (input.samples - count, connected - good);
        (count > 0 && down > 0).then(|| good as f64 / count as f64 - good_down as f64 / down as f64)
    });
    (connected as f64 / input.samples as f64, importance.collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The sum over all states of the links.
    fn enumerated(links: &[Link], terminals: &BTreeSet<usize>) -> f64 {
        let states = 0_u32..1 << links.len();
        states
            .map(|state| {
                let mut sets = UnionFind::<usize>::new(6);
                let mut probability = 1.0;
                for (at, (from, to, reliability)) in links.iter().enumerate() {
                    if state >> at & 1 == 1 {
                        sets.union(*from, *to);
                        probability *= reliability;
                    } else {
                        probability *= 1.0 - reliability;
                    }
                }
                let roots: BTreeSet<usize> = terminals.iter().map(|node| sets.find(*node)).collect();
                if roots.len() == 1 { probability } else { 0.0 }
            })
            .sum()
    }

    proptest! {
        #[test]
        fn factoring_is_the_sum_over_all_states(
            links in prop::collection::vec((0_usize..6, 0_usize..6, 0.0..=1.0), 1..12),
            terminals in prop::collection::btree_set(0_usize..6, 2..5),
        ) {
            let expected = enumerated(&links, &terminals);
            let found = factor(links.clone(), terminals.clone());
            prop_assert!((found - expected).abs() < 1e-12, "{} {}", found, expected);
            let mut graph: Vec<Link> = links.clone();
            graph.reverse();
            prop_assert!((factor(graph, terminals) - found).abs() < 1e-12);
        }
    }

    /// Colbourn 1987: the bridge network, 2p² + 2p³ - 5p⁴ + 2p⁵.
    #[test]
    fn the_bridge_network_has_its_closed_form() {
        for p in [0.0_f64, 0.25, 0.5, 0.9, 1.0] {
            let links = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)].map(|(from, to)| (from, to, p));
            let expected = 2.0 * p.powi(2) + 2.0 * p.powi(3) - 5.0 * p.powi(4) + 2.0 * p.powi(5);
            assert!((factor(links.to_vec(), BTreeSet::from([0, 3])) - expected).abs() < 1e-12);
        }
    }
}
