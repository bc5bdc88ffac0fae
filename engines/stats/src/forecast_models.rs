//! Models of a series (q93): a fitted one gives its residuals and paths into the future.

use crate::smoothing::{Form, Season, Smoothing, Trend};
use crate::theta::Theta;

/// Methods of forecasting.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    SeasonalNaive,
    Ses,
    Holt,
    Damped,
    Theta,
    HoltWinters,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::SeasonalNaive => "seasonal-naive",
            Self::Ses => "ses",
            Self::Holt => "holt",
            Self::Damped => "damped",
            Self::Theta => "theta",
            Self::HoltWinters => "holt-winters",
        }
    }

    /// Fewest values that the method takes.
    pub(crate) fn least(self, period: usize) -> usize {
        match self {
            Self::SeasonalNaive => period + 1,
            Self::Ses => 3,
            Self::Holt => 4,
            Self::Damped => 5,
            Self::Theta => 4.max(if period > 1 { 2 * period } else { 0 }),
            // Without a season there is nothing to fit.
            Self::HoltWinters if period < 2 => usize::MAX,
            Self::HoltWinters => (2 * period).max(period + 5),
        }
    }
}

/// A fitted model.
pub(crate) enum Fitted {
    Naive { values: Vec<f64>, period: usize },
    Smoothing(Smoothing),
    Theta(Theta),
}

impl Fitted {
    pub(crate) fn of(kind: Kind, values: &[f64], period: usize) -> Self {
        let smooth = |trend, season, period| Smoothing::fit(values, Form { trend, season, period });
        match kind {
            Kind::SeasonalNaive => Self::Naive { values: values.to_vec(), period },
            Kind::Ses => Self::Smoothing(smooth(Trend::None, Season::None, 1)),
            Kind::Holt => Self::Smoothing(smooth(Trend::Linear, Season::None, 1)),
            Kind::Damped => Self::Smoothing(smooth(Trend::Damped, Season::None, 1)),
            Kind::Theta => Self::Theta(Theta::fit(values, period)),
            Kind::HoltWinters => {
                let additive = smooth(Trend::Linear, Season::Additive, period);
                // A factor needs positive values.
                if values.iter().any(|x| *x <= 0.0) {
                    return Self::Smoothing(additive);
                }
                let factors = smooth(Trend::Linear, Season::Multiplicative, period);
                Self::Smoothing(if factors.sse < additive.sse { factors } else { additive })
            }
        }
    }

    pub(crate) fn parameters(&self) -> Vec<(String, f64)> {
        let named = match self {
            Self::Naive { period, .. } => vec![("period", *period as f64)],
            Self::Smoothing(model) => model.parameters(),
            Self::Theta(model) => model.parameters(),
        };
        named.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// One-step forecasts of the last values; of all but the first, where the method has no start.
    pub(crate) fn fitted(&self) -> &[f64] {
        match self {
            Self::Naive { values, period } => values.get(..values.len().saturating_sub(*period)).unwrap_or_default(),
            Self::Smoothing(model) => &model.fitted,
            Self::Theta(model) => &model.fitted,
        }
    }

    pub(crate) fn residuals(&self) -> Vec<f64> {
        match self {
            Self::Naive { values, period } => {
                values.iter().zip(values.iter().skip(*period)).map(|(before, now)| now - before).collect()
            }
            Self::Smoothing(model) => model.residuals.clone(),
            Self::Theta(model) => model.residuals.clone(),
        }
    }

    /// A future of this length with errors from `error`; with errors of 0 it is the forecast.
    pub(crate) fn path(&self, horizon: usize, error: &mut dyn FnMut() -> f64) -> Vec<f64> {
        match self {
            Self::Naive { values, period } => {
                let mut season: Vec<f64> = values.iter().rev().take(*period).rev().copied().collect();
                (0..horizon)
                    .map(|h| {
                        let place = h % period;
                        let next = season.get(place).copied().unwrap_or(0.0) + error();
                        if let Some(last) = season.get_mut(place) {
                            *last = next;
                        }
                        next
                    })
                    .collect()
            }
            Self::Smoothing(model) => model.path(horizon, error),
            Self::Theta(model) => model.path(horizon, error),
        }
    }
}
