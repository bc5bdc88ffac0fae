//! Susceptible, exposed, infectious, removed; and hospital beds.

use muster_engine::prelude::*;
use muster_kernel_numeric::ode::rk4;
use muster_kernel_numeric::root::brent;

use super::{Day, Input, Peak};

/// Steps of a day.
const STEPS: i64 = 10;

pub(super) struct Model {
    population: f64,
    infected: f64,
    transmission: f64,
    onset: f64,
    removal: f64,
    /// Day and factor of transmission, by day.
    interventions: Vec<(f64, f64)>,
    hospital_share: f64,
    discharge: f64,
}

pub(super) struct Projection {
    pub series: Vec<Day>,
    pub peak: Peak,
    /// Share of the population that was infected by the last day.
    pub attacked: f64,
}

impl Model {
    pub(super) fn of(input: &Input, r0: f64) -> Self {
        let mut interventions: Vec<(f64, f64)> = input.interventions.iter().map(|one| (one.day, one.factor)).collect();
        // Stable: of two on one day the later in the input holds.
        interventions.sort_by(|a, b| a.0.total_cmp(&b.0));
        let removal = 1.0 / input.infectious_days;
        Self {
            population: input.population as f64,
            infected: input.initial_infected,
            transmission: r0 * removal,
            onset: 1.0 / input.latent_days,
            removal,
            interventions,
            hospital_share: input.hospital_share,
            discharge: 1.0 / input.stay_days,
        }
    }

    fn factor(&self, day: f64) -> f64 {
        // A step that begins on the day itself is within it: a tenth of a day is not exact in binary.
        let after = self.interventions.partition_point(|(from, _)| *from <= day + 1e-9);
        after.checked_sub(1).and_then(|at| self.interventions.get(at)).map_or(1.0, |(_, factor)| *factor)
    }

    /// Growth rate at the begin, 1/d: the positive root of (λ + σ)(λ + γ) = βσ.
    pub(super) fn growth(&self) -> f64 {
        let (onset, removal) = (self.onset, self.removal);
        let sum = onset + removal;
        (-sum + (sum * sum + 4.0 * onset * (self.transmission - removal)).sqrt()) / 2.0
    }

    pub(super) fn project(&self, days: i64, cx: &Context) -> Projection {
        let mut state = [self.population - self.infected, 0.0, self.infected, 0.0, 0.0];
        let mut series = vec![day(0.0, &state)];
        let mut peak = Peak { day: 0.0, infectious: self.infected, hospital: 0.0 };
        for number in 1..=days {
            let day_before = (number - 1) as f64;
            let steps = STEPS * self.substeps(day_before, &state);
            let step = 1.0 / steps as f64;
            for part in 0..steps {
                let begin = day_before + part as f64 * step;
                let transmission = self.transmission * self.factor(begin);
                state = rk4(|_, state| self.change(state, transmission), begin, &state, step);
                state = state.map(|value| value.max(0.0));
                if state[2] > peak.infectious {
                    peak.infectious = state[2];
                    peak.day = begin + step;
                }
                peak.hospital = peak.hospital.max(state[4]);
            }
            series.push(day(number as f64, &state));
        }
        let last = state;
        if last[1] + last[2] > 1e-3 * self.population {
            cx.warn("unfinished: people are still infected on the last day; final_size is what was reached");
        }
        Projection { series, peak, attacked: (1.0 - last[0] / self.population).clamp(0.0, 1.0) }
    }

    /// Parts of a step on the day that begins: more where a rate is fast for a tenth of a day, in which the method would
    /// oscillate. New infections go at most at the rate of transmission times the share that is not removed yet, and
    /// where that is fast an outbreak is over soon.
    fn substeps(&self, day: f64, [s, e, i, ..]: &[f64; 5]) -> i64 {
        let today = self.interventions.iter().filter(|(from, _)| (day..=day + 1.0).contains(from));
        let factor = today.fold(self.factor(day), |most, (_, factor)| most.max(*factor));
        let exposed = if e + i > 0.0 { (s + e + i) / self.population } else { 0.0 };
        let infection = self.transmission * factor * exposed;
        let fastest = self.onset.max(self.removal).max(self.discharge).max(infection);
        // Transmission is at most 20 · 10 / 0.1 a day.
        ((fastest / STEPS as f64).ceil() as i64).clamp(1, 200)
    }

    fn change(&self, [s, e, i, _, h]: &[f64; 5], transmission: f64) -> [f64; 5] {
        let infections = transmission * s * i / self.population;
        let onsets = self.onset * e;
        let removals = self.removal * i;
        [
            -infections,
            infections - onsets,
            onsets - removals,
            removals,
            self.hospital_share * onsets - self.discharge * h,
        ]
    }
}

fn day(day: f64, [s, e, i, r, hospital]: &[f64; 5]) -> Day {
    Day { day, s: *s, e: *e, i: *i, r: *r, hospital: *hospital }
}

/// Share that is infected in the end: z = 1 − exp(−R0 z).
pub(super) fn final_size(r0: f64) -> f64 {
    if r0 <= 1.0 {
        return 0.0;
    }
    brent(|z| 1.0 - (-r0 * z).exp() - z, 1e-9, 1.0, 1e-14).unwrap_or(0.0)
}
