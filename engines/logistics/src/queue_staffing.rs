//! q69: queue performance and staffing.

use muster_engine::prelude::*;

use crate::bounds::positive;

const MAX_SERVERS: i64 = 10_000;
/// Probability of longer queues at which the sum over states ends.
const TAIL: f64 = 1e-15;
const MAX_STATES: usize = 1_000_000;
/// Weight of a state above which all are scaled down.
const LARGE: f64 = 1e150;

/// Input of the engine.
#[derive(Input)]
pub struct Input {
    arrival_rate_per_h: f64,
    service_time_min: f64,
    servers: Option<i64>,
    target_wait_s: f64,
    target_share: f64,
    patience_min: Option<f64>,
}

/// Output of the engine.
#[derive(Output)]
pub struct Output {
    servers: i64,
    utilisation: f64,
    wait_probability: f64,
    mean_wait_s: f64,
    mean_queue: f64,
    service_level: f64,
    abandonment: f64,
    blocking: f64,
}

/// A queue: rates are per second.
#[derive(Debug, Clone, Copy)]
struct Queue {
    arrivals: f64,
    services: f64,
    impatience: f64,
}

/// Computes M/M/c, or M/M/c with exponential patience. Without servers the smallest number is found that serves the
/// target share within the target wait. Blocking is Erlang's B: what would be lost without a queue.
///
/// # Errors
/// A service time or patience of 0, an unstable queue, a target that 10,000 servers do not meet.
pub fn run(input: Input, _: &Context) -> Result<Output, Failure> {
    positive(&["service_time"], input.service_time_min)?;
    if let Some(patience) = input.patience_min {
        positive(&["patience"], patience)?;
    }
    let queue = Queue {
        arrivals: input.arrival_rate_per_h / 3_600.0,
        services: 1.0 / (60.0 * input.service_time_min),
        impatience: input.patience_min.map_or(0.0, |patience| 1.0 / (60.0 * patience)),
    };
    let load = queue.arrivals / queue.services;
    if !load.is_finite() || load > MAX_SERVERS as f64 {
        return Err(Failure::no_answer(
            NoAnswer::OutsideValidity,
            format!("the load is {load} servers; at most {MAX_SERVERS} are computed"),
        ));
    }
    let least = if queue.impatience > 0.0 { 1 } else { load.floor() as i64 + 1 };
    if let Some(servers) = input.servers {
        if servers > MAX_SERVERS {
            return Err(Failure::too_large(format!("at most {MAX_SERVERS} servers are computed")));
        }
        if servers < least {
            let message = format!(
                "{servers} servers cannot serve a load of {load:.3}: the queue grows without end; {least} are needed at least"
            );
            return Err(Failure::no_answer(NoAnswer::Infeasible, message));
        }
        return Ok(queue.with(servers, input.target_wait_s));
    }
    // Smallest number that meets the target; the share grows with it.
    let meets = |servers: i64| queue.with(servers, input.target_wait_s).service_level >= input.target_share;
    let (mut low, mut high) = (least, least);
    while !meets(high) {
        if high >= MAX_SERVERS {
            return Err(Failure::no_answer(
                NoAnswer::Infeasible,
                format!("{MAX_SERVERS} servers do not meet the target"),
            ));
        }
        low = high + 1;
        high = (high * 2).min(MAX_SERVERS);
    }
    while low < high {
        let middle = i64::midpoint(low, high);
        if meets(middle) { high = middle } else { low = middle + 1 }
    }
    Ok(queue.with(high, input.target_wait_s))
}

impl Queue {
    fn with(&self, servers: i64, target: f64) -> Output {
        let load = self.arrivals / self.services;
        // Erlang B by recursion.
        let mut blocking = 1.0;
        for count in 1..=servers {
            blocking = load * blocking / (count as f64 + load * blocking);
        }
        if self.impatience > 0.0 {
            return self.impatient(servers, target, blocking);
        }
        let utilisation = load / servers as f64;
        let waits = blocking / (1.0 - utilisation * (1.0 - blocking));
        let spare = servers as f64 * self.services - self.arrivals;
        let mean_wait = waits / spare;
        Output {
            servers,
            utilisation,
            wait_probability: waits,
            mean_wait_s: mean_wait,
            mean_queue: self.arrivals * mean_wait,
            service_level: 1.0 - waits * (-spare * target).exp(),
            abandonment: 0.0,
            blocking,
        }
    }

    /// Erlang A: states beyond all servers busy, relative to that one (Garnett, Mandelbaum and Reiman 2002).
    fn impatient(&self, servers: i64, target: f64, blocking: f64) -> Output {
        let busy = servers as f64 * self.services;
        // Weight of the states with fewer customers: all busy has weight 1, and its share without a queue is B.
        let mut below = if blocking > 0.0 { 1.0 / blocking - 1.0 } else { f64::INFINITY };
        let (mut weight, mut total, mut queued, mut served_soon) = (1.0, 0.0, 0.0, 0.0);
        let soon = Soon::new(busy, self.impatience, target);
        for waiting in 0..MAX_STATES {
            total += weight;
            queued += weight * waiting as f64;
            served_soon += weight * soon.at(waiting);
            if weight > LARGE {
                for sum in [&mut weight, &mut total, &mut queued, &mut served_soon, &mut below] {
                    *sum /= LARGE;
                }
            }
            weight *= self.arrivals / (busy + (waiting as f64 + 1.0) * self.impatience);
            if weight < TAIL * total && (waiting as f64) * self.impatience + busy > self.arrivals {
                break;
            }
        }
        let all = below + total;
        let (waits, mean_queue) = if all.is_finite() { (total / all, queued / all) } else { (0.0, 0.0) };
        let served_soon = if all.is_finite() { served_soon / all } else { 0.0 };
        let abandonment = if self.arrivals > 0.0 { self.impatience * mean_queue / self.arrivals } else { 0.0 };
        let mean_wait = if self.arrivals > 0.0 { mean_queue / self.arrivals } else { 0.0 };
        Output {
            servers,
            utilisation: (self.arrivals * (1.0 - abandonment) / busy).clamp(0.0, 1.0),
            wait_probability: waits,
            mean_wait_s: mean_wait,
            mean_queue,
            service_level: 1.0 - waits + served_soon,
            abandonment,
            blocking,
        }
    }
}

/// Probability that one who finds `waiting` others in the queue is served within a time and before losing patience.
struct Soon {
    busy: f64,
    impatience: f64,
    target: f64,
}

impl Soon {
    const fn new(busy: f64, impatience: f64, target: f64) -> Self {
        Self { busy, impatience, target }
    }

    /// The wait of a patient customer is a sum of exponentials with rates c·mu + j·theta, j = 0..=waiting: its density
    /// is that of an order statistic, B(waiting + 1, c·mu/theta) of 1 - exp(-theta t). The customer is served in time if
    /// patience, exponential too, is longer: an incomplete beta function with the second parameter one larger.
    fn at(&self, waiting: usize) -> f64 {
        let x = 1.0 - (-self.impatience * self.target).exp();
        let (a, b) = (waiting as f64 + 1.0, self.busy / self.impatience);
        // E[exp(-theta W); W <= t] with exp(-theta W) = 1 - X, X ~ Beta(a, b).
        let (within, _) = muster_kernel_numeric::special::beta_parts(a, b + 1.0, x);
        within * b / (a + b)
    }
}
