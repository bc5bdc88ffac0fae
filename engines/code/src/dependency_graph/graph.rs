//! Dependency graph: packages and edges while files are read, and queries on the result.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use super::Package;
use muster_engine::prelude::*;

const MAX_PACKAGES: usize = 50_000;
const MAX_EDGES: usize = 500_000;
/// Maximum number of reported paths to one package.
const MAX_PATHS: usize = 100;
/// Maximum number of partial paths explored.
const MAX_STEPS: usize = 20_000;

/// Name and version.
pub(super) type Key = (String, String);

#[derive(Default)]
pub(super) struct Graph {
    packages: BTreeSet<Key>,
    edges: BTreeSet<(Key, Key)>,
    /// The project's own packages.
    roots: BTreeSet<Key>,
    /// Dependencies of a file that is not itself a package.
    tops: BTreeSet<Key>,
}

impl Graph {
    pub(super) fn add(&mut self, name: &str, version: &str) -> Key {
        let key = (name.to_owned(), version.to_owned());
        self.packages.insert(key.clone());
        key
    }

    pub(super) fn root(&mut self, name: &str, version: &str) -> Key {
        // A lockfile may list it already, with or without its version.
        let known = self.of_name(name).find(|key| self.roots.contains(key)).cloned();
        let key = known.unwrap_or_else(|| self.add(name, version));
        self.roots.insert(key.clone());
        key
    }

    pub(super) fn edge(&mut self, from: &Key, to: &Key) {
        self.edges.insert((from.clone(), to.clone()));
    }

    /// Returns all versions of a name, in text order.
    pub(super) fn of_name<'g>(&'g self, name: &'g str) -> impl DoubleEndedIterator<Item = &'g Key> {
        self.packages
            .range((name.to_owned(), String::new())..)
            .take_while(move |key| key.0 == name)
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Adds a manifest's requirement: the locked package if there is one, else a package whose version is the
    /// requirement's text.
    pub(super) fn want(&mut self, from: Option<&Key>, name: &str, requirement: &str) {
        let linked = |key: &Key| from.is_some_and(|from| self.edges.contains(&(from.clone(), key.clone())));
        if self.of_name(name).any(linked) {
            return;
        }
        let version = requirement.trim_start_matches(['=', '^', '~', 'v', ' ']);
        let exact = self.of_name(name).find(|key| key.1 == version).cloned();
        let known = exact.or_else(|| self.of_name(name).next_back().cloned());
        let key = known.unwrap_or_else(|| self.add(name, requirement));
        match from {
            Some(from) => self.edge(from, &key),
            None => {
                self.tops.insert(key);
            }
        }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if self.packages.len() > MAX_PACKAGES || self.edges.len() > MAX_EDGES {
            let message = format!("at most {MAX_PACKAGES} packages and {MAX_EDGES} dependencies are read");
            return Err(Failure::too_large(message));
        }
        Ok(())
    }

    pub(super) fn close(mut self) -> Closed {
        if self.roots.is_empty() && self.tops.is_empty() {
            let named: BTreeSet<&Key> = self.edges.iter().map(|(_, to)| to).collect();
            self.tops = self.packages.iter().filter(|key| !named.contains(key)).cloned().collect();
        }
        let mut graph = DiGraph::new();
        let places: BTreeMap<&Key, NodeIndex> =
            self.packages.iter().map(|key| (key, graph.add_node(key.clone()))).collect();
        for (from, to) in &self.edges {
            if let (Some(from), Some(to)) = (places.get(from), places.get(to)) {
                graph.add_edge(*from, *to, ());
            }
        }
        let find = |keys: &BTreeSet<Key>| keys.iter().filter_map(|key| places.get(key).copied()).collect();
        let (roots, tops) = (find(&self.roots), find(&self.tops));
        let several = duplicates(&self.packages);
        Closed { graph, roots, tops, several }
    }
}

fn duplicates(packages: &BTreeSet<Key>) -> BTreeMap<String, Vec<String>> {
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, version) in packages {
        versions.entry(name.clone()).or_default().push(version.clone());
    }
    versions.retain(|_, versions| versions.len() > 1);
    versions
}

/// The finished graph. Its nodes are sorted by name.
pub(super) struct Closed {
    graph: DiGraph<Key, ()>,
    roots: BTreeSet<NodeIndex>,
    tops: BTreeSet<NodeIndex>,
    several: BTreeMap<String, Vec<String>>,
}

impl Closed {
    fn label(&self, node: NodeIndex) -> String {
        match self.graph.node_weight(node) {
            Some((name, version)) if self.several.contains_key(name) => format!("{name}@{version}"),
            Some((name, _)) => name.clone(),
            None => String::new(),
        }
    }

    /// Minimum distance from the project's own packages, breadth first.
    fn depths(&self) -> BTreeMap<NodeIndex, i64> {
        let mut depths: BTreeMap<NodeIndex, i64> = self.roots.iter().map(|&root| (root, 0)).collect();
        let mut queue: VecDeque<NodeIndex> = self.roots.iter().copied().collect();
        // Those start at depth 1, after everything reachable from the roots.
        let mut tops: Vec<NodeIndex> = self.tops.iter().copied().filter(|top| !self.roots.contains(top)).collect();
        let mut at = 0;
        loop {
            if queue.front().is_none_or(|node| depths.get(node).is_some_and(|depth| *depth >= 1)) {
                for top in tops.drain(..) {
                    if depths.insert(top, 1).is_none() {
                        queue.push_back(top);
                    }
                }
            }
            let Some(node) = queue.pop_front() else { return depths };
            at = depths.get(&node).copied().unwrap_or(at);
            for next in self.graph.neighbors(node) {
                if let std::collections::btree_map::Entry::Vacant(place) = depths.entry(next) {
                    place.insert(at + 1);
                    queue.push_back(next);
                }
            }
        }
    }

    pub(super) fn packages(&self) -> impl Iterator<Item = Package> {
        let depths = self.depths();
        let mut dependents: BTreeMap<NodeIndex, usize> = BTreeMap::new();
        for to in self.graph.raw_edges().iter().map(petgraph::graph::Edge::target) {
            *dependents.entry(to).or_default() += 1;
        }
        let direct: BTreeSet<NodeIndex> =
            self.roots.iter().flat_map(|&root| self.graph.neighbors(root)).chain(self.tops.iter().copied()).collect();
        self.graph.node_indices().filter_map(move |node| {
            let (name, version) = self.graph.node_weight(node)?.clone();
            Some(Package {
                name,
                version,
                direct: direct.contains(&node),
                depth: depths.get(&node).copied().unwrap_or(-1),
                dependents: dependents.get(&node).copied().unwrap_or(0),
            })
        })
    }

    pub(super) fn edges(&self) -> Vec<[String; 2]> {
        let edges = self.graph.raw_edges().iter();
        let mut edges: Vec<[String; 2]> =
            edges.map(|edge| [self.label(edge.source()), self.label(edge.target())]).collect();
        edges.sort();
        edges
    }

    /// Strongly connected components of several packages, or of one that depends on itself. Kosaraju's algorithm, which
    /// unlike Tarjan's is not recursive here.
    pub(super) fn cycles(&self) -> Vec<Vec<String>> {
        let turns = |component: &Vec<NodeIndex>| match component.as_slice() {
            [one] => self.graph.contains_edge(*one, *one),
            several => several.len() > 1,
        };
        let named = |component: Vec<NodeIndex>| {
            let mut names: Vec<String> = component.into_iter().map(|node| self.label(node)).collect();
            names.sort();
            names
        };
        let mut cycles: Vec<Vec<String>> = kosaraju_scc(&self.graph).into_iter().filter(turns).map(named).collect();
        cycles.sort();
        cycles
    }

    pub(super) fn duplicates(&self) -> BTreeMap<String, Vec<String>> {
        self.several.clone()
    }

    /// Simple paths to the requested package, searched backwards, shortest first.
    pub(super) fn why(&self, wanted: &str, context: &Context) -> Vec<Vec<String>> {
        let is = |node: &NodeIndex| {
            self.graph.node_weight(*node).is_some_and(|(name, version)| {
                name == wanted
                    || wanted.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('@')) == Some(version)
            })
        };
        let mut queue: VecDeque<Vec<NodeIndex>> = self.graph.node_indices().filter(is).map(|node| vec![node]).collect();
        if queue.is_empty() {
            context.warn(format!("{wanted} is not among the packages"));
        }
        let (mut paths, mut steps) = (Vec::new(), 0);
        while let Some(path) = queue.pop_front() {
            let Some(&first) = path.last() else { continue };
            if self.roots.contains(&first) || self.tops.contains(&first) {
                paths.push(path.iter().rev().map(|&node| self.label(node)).collect());
            }
            steps += 1;
            if paths.len() >= MAX_PATHS || steps > MAX_STEPS {
                context.warn(format!("only the {} shortest paths that were found are reported", paths.len()));
                break;
            }
            if self.roots.contains(&first) {
                continue;
            }
            let mut before: Vec<NodeIndex> = self
                .graph
                .neighbors_directed(first, petgraph::Direction::Incoming)
                .filter(|node| !path.contains(node))
                .collect();
            before.sort();
            queue.extend(before.into_iter().map(|node| path.iter().copied().chain([node]).collect()));
        }
        paths
    }
}
