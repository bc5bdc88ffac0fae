//! Clusters of points (q101): k-means, Ward's tree, silhouettes.

#![allow(clippy::indexing_slicing, reason = "elements of matrices, by loops over their own dimensions")]

use muster_kernel_numeric::nalgebra::DMatrix;
use muster_kernel_numeric::sample::Sampler;

/// Starts of k-means, and most steps of each.
const RESTARTS: usize = 10;
const STEPS: usize = 300;

/// Points of one dimension each.
pub(crate) struct Points(Vec<Vec<f64>>);

fn distance2(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum()
}

impl Points {
    pub(crate) fn of(matrix: &DMatrix<f64>) -> Self {
        // 0 and −0 are one place.
        Self(matrix.row_iter().map(|row| row.iter().map(|x| x + 0.0).collect()).collect())
    }

    /// Number of different points.
    pub(crate) fn distinct(&self) -> usize {
        let mut sorted: Vec<&Vec<f64>> = self.0.iter().collect();
        let compare = |a: &Vec<f64>, b: &Vec<f64>| {
            let each = a.iter().zip(b).map(|(x, y)| x.total_cmp(y));
            each.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        };
        sorted.sort_by(|a, b| compare(a, b));
        sorted.dedup();
        sorted.len()
    }

    fn means(&self, labels: &[usize], k: usize) -> Vec<Option<Vec<f64>>> {
        let width = self.0.first().map_or(0, Vec::len);
        let mut sums = vec![(vec![0.0; width], 0.0); k];
        for (point, label) in self.0.iter().zip(labels) {
            if let Some((sum, count)) = sums.get_mut(*label) {
                sum.iter_mut().zip(point).for_each(|(s, x)| *s += x);
                *count += 1.0;
            }
        }
        sums.into_iter().map(|(sum, n)| (n > 0.0).then(|| sum.into_iter().map(|s| s / n).collect())).collect()
    }

    /// Sum of squared distances from the clusters' means.
    pub(crate) fn inertia(&self, labels: &[usize]) -> f64 {
        let k = labels.iter().max().map_or(0, |l| l + 1);
        let means = self.means(labels, k);
        let of = |(point, label): (&Vec<f64>, &usize)| {
            means.get(*label).and_then(|m| m.as_ref()).map_or(0.0, |m| distance2(point, m))
        };
        self.0.iter().zip(labels).map(of).sum()
    }
}

/// Numbers the clusters by their first point.
fn renumber(labels: Vec<usize>) -> Vec<usize> {
    let mut names: Vec<usize> = Vec::new();
    labels
        .into_iter()
        .map(|label| {
            names.iter().position(|name| *name == label).unwrap_or_else(|| {
                names.push(label);
                names.len() - 1
            })
        })
        .collect()
}

/// The best of ten runs of Lloyd's algorithm, each from centres drawn by k-means++.
pub(crate) fn kmeans(points: &Points, k: usize, sampler: &mut Sampler) -> Vec<usize> {
    let mut best: Option<(f64, Vec<usize>)> = None;
    for _ in 0..RESTARTS {
        let labels = lloyd(points, plus_plus(points, k, sampler));
        let inertia = points.inertia(&labels);
        if best.as_ref().is_none_or(|(least, _)| inertia < *least) {
            best = Some((inertia, labels));
        }
    }
    renumber(best.map(|(_, labels)| labels).unwrap_or_default())
}

/// Centres, each drawn with a chance by its squared distance from the ones before (Arthur and Vassilvitskii 2007).
fn plus_plus(points: &Points, k: usize, sampler: &mut Sampler) -> Vec<Vec<f64>> {
    let all = &points.0;
    let mut centres: Vec<Vec<f64>> = all.get(sampler.index(all.len())).cloned().into_iter().collect();
    let mut distances = vec![f64::INFINITY; all.len()];
    while centres.len() < k {
        let Some(last) = centres.last() else { break };
        distances.iter_mut().zip(all).for_each(|(d, p)| *d = d.min(distance2(p, last)));
        let mut rest = sampler.uniform() * distances.iter().sum::<f64>();
        let far = distances.iter().position(|d| {
            rest -= d;
            rest <= 0.0 && *d > 0.0
        });
        // Rounding may leave a rest at the end.
        let at = far.or_else(|| (0..all.len()).max_by(|a, b| by(&distances, *a).total_cmp(&by(&distances, *b))));
        centres.extend(at.and_then(|at| all.get(at)).cloned());
    }
    centres
}

fn by(values: &[f64], at: usize) -> f64 {
    values.get(at).copied().unwrap_or(0.0)
}

fn lloyd(points: &Points, mut centres: Vec<Vec<f64>>) -> Vec<usize> {
    let mut labels: Vec<usize> = Vec::new();
    for _ in 0..STEPS {
        let mut distances = Vec::with_capacity(points.0.len());
        let mut next: Vec<usize> = Vec::with_capacity(points.0.len());
        for point in &points.0 {
            let mut nearest = (f64::INFINITY, 0);
            for (at, centre) in centres.iter().enumerate() {
                let d = distance2(point, centre);
                if d < nearest.0 {
                    nearest = (d, at);
                }
            }
            distances.push(nearest.0);
            next.push(nearest.1);
        }
        // A centre without points takes the point that is farthest from its own.
        for cluster in 0..centres.len() {
            if !next.contains(&cluster) {
                let farthest = (0..next.len()).max_by(|a, b| by(&distances, *a).total_cmp(&by(&distances, *b)));
                if let Some(at) = farthest
                    && let (Some(label), Some(d)) = (next.get_mut(at), distances.get_mut(at))
                {
                    *label = cluster;
                    *d = 0.0;
                }
            }
        }
        if next == labels {
            break;
        }
        labels = next;
        for (centre, mean) in centres.iter_mut().zip(points.means(&labels, labels.iter().max().map_or(0, |l| l + 1))) {
            if let Some(mean) = mean {
                *centre = mean;
            }
        }
    }
    labels
}

/// The mean silhouette of each labelling (Rousseeuw 1987), the distances computed once; `None` for one cluster.
pub(crate) fn silhouettes(points: &Points, labellings: &[Vec<usize>]) -> Vec<Option<f64>> {
    let sizes: Vec<Vec<f64>> = labellings
        .iter()
        .map(|labels| {
            let mut sizes = vec![0.0; labels.iter().max().map_or(0, |l| l + 1)];
            labels.iter().for_each(|l| sizes.get_mut(*l).into_iter().for_each(|s| *s += 1.0));
            sizes
        })
        .collect();
    let mut totals = vec![0.0; labellings.len()];
    for (i, point) in points.0.iter().enumerate() {
        let distances: Vec<f64> = points.0.iter().map(|other| distance2(point, other).sqrt()).collect();
        for ((labels, sizes), total) in labellings.iter().zip(&sizes).zip(&mut totals) {
            let mut sums = vec![0.0; sizes.len()];
            for (d, label) in distances.iter().zip(labels) {
                if let Some(sum) = sums.get_mut(*label) {
                    *sum += d;
                }
            }
            let own = labels.get(i).copied().unwrap_or(0);
            let size = by(sizes, own);
            if size <= 1.0 {
                continue;
            }
            let within = by(&sums, own) / (size - 1.0);
            let others = sums.iter().zip(sizes).enumerate().filter(|(at, _)| *at != own);
            let nearest = others.map(|(_, (sum, size))| sum / size).fold(f64::INFINITY, f64::min);
            let larger = within.max(nearest);
            *total += if larger > 0.0 { (nearest - within) / larger } else { 0.0 };
        }
    }
    let n = points.0.len() as f64;
    totals.into_iter().zip(&sizes).map(|(total, sizes)| (sizes.len() > 1).then(|| total / n)).collect()
}

/// Ward's clusters for each k: the tree by chains of nearest neighbours, then cut.
pub(crate) fn ward(points: &Points, ks: &[usize]) -> Vec<Vec<usize>> {
    let n = points.0.len();
    let mut merges = merges(points);
    // Chains find merges out of order; heights put them in order, and each comes after those it is made of.
    merges.sort_by(|a, b| a.2.total_cmp(&b.2));
    ks.iter()
        .map(|k| {
            let mut parents: Vec<usize> = (0..n).collect();
            for (a, b, _) in merges.iter().take(n - k) {
                let (a, b) = (root(&mut parents, *a), root(&mut parents, *b));
                if let Some(parent) = parents.get_mut(a.max(b)) {
                    *parent = a.min(b);
                }
            }
            renumber((0..n).map(|at| root(&mut parents, at)).collect())
        })
        .collect()
}

fn root(parents: &mut [usize], at: usize) -> usize {
    let mut at = at;
    while let Some(parent) = parents.get(at).copied()
        && parent != at
    {
        at = parent;
    }
    at
}

/// Pairs of points whose clusters are merged, with the squared height.
fn merges(points: &Points) -> Vec<(usize, usize, f64)> {
    let n = points.0.len();
    let mut distances = DMatrix::zeros(n, n);
    for (i, a) in points.0.iter().enumerate() {
        for (j, b) in points.0.iter().enumerate().skip(i + 1) {
            let d = distance2(a, b);
            distances[(i, j)] = d;
            distances[(j, i)] = d;
        }
    }
    let mut sizes = vec![1.0; n];
    let mut alive: Vec<usize> = (0..n).collect();
    let mut chain: Vec<usize> = Vec::new();
    let mut out = Vec::new();
    while alive.len() > 1 {
        if chain.is_empty() {
            chain.extend(alive.first());
        }
        let Some(last) = chain.last().copied() else { break };
        let before = chain.iter().rev().nth(1).copied();
        // Of equal neighbours the one the chain came from, so that it ends.
        let mut nearest = before.map_or((f64::INFINITY, usize::MAX), |b| (distances[(last, b)], b));
        for other in alive.iter().copied().filter(|other| *other != last) {
            if distances[(last, other)] < nearest.0 {
                nearest = (distances[(last, other)], other);
            }
        }
        if Some(nearest.1) != before {
            chain.push(nearest.1);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (a, b) = (last.min(nearest.1), last.max(nearest.1));
        out.push((a, b, nearest.0));
        alive.retain(|at| *at != b);
        let (na, nb) = (by(&sizes, a), by(&sizes, b));
        for other in alive.iter().copied().filter(|other| *other != a) {
            let nc = by(&sizes, other);
            let d = ((na + nc) * distances[(a, other)] + (nb + nc) * distances[(b, other)] - nc * nearest.0)
                / (na + nb + nc);
            distances[(a, other)] = d;
            distances[(other, a)] = d;
        }
        if let Some(size) = sizes.get_mut(a) {
            *size = na + nb;
        }
    }
    out
}
