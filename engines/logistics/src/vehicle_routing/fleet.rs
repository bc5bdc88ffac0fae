//! Stops, vehicles, and what a route costs.

/// Rounding of sums of demand and time.
pub(super) const NEAR: f64 = 1e-9;

#[derive(Debug, Clone, Copy)]
pub(super) struct Stop {
    pub(super) demand: f64,
    pub(super) ready: f64,
    pub(super) due: f64,
    pub(super) service: f64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Vehicle {
    pub(super) capacity: f64,
    pub(super) shift: f64,
}

pub(super) struct Fleet {
    pub(super) stops: Vec<Stop>,
    pub(super) vehicles: Vec<Vehicle>,
    /// Minutes between places: 0 is the depot, stops follow from 1.
    pub(super) minutes: Vec<Vec<f64>>,
    /// Kilometres of a minute.
    pub(super) per_minute: f64,
}

/// A route for each vehicle, and the stops that none has.
#[derive(Debug, Clone)]
pub(super) struct Routes {
    pub(super) of: Vec<Vec<usize>>,
    pub(super) left: Vec<usize>,
}

pub(super) struct Times {
    pub(super) arrivals: Vec<f64>,
    pub(super) end: f64,
}

impl Fleet {
    pub(super) fn between(&self, from: usize, to: usize) -> f64 {
        self.minutes.get(from).and_then(|row| row.get(to)).copied().unwrap_or(0.0)
    }

    pub(super) fn stop(&self, place: usize) -> Stop {
        let nothing = Stop { demand: 0.0, ready: 0.0, due: f64::INFINITY, service: 0.0 };
        place.checked_sub(1).and_then(|at| self.stops.get(at)).copied().unwrap_or(nothing)
    }

    /// Minutes of driving of a route.
    pub(super) fn driving(&self, route: &[usize]) -> f64 {
        let mut at = 0;
        let mut sum = 0.0;
        for place in route.iter().chain(&[0]) {
            sum += self.between(at, *place);
            at = *place;
        }
        sum
    }

    /// Kilometres of a route.
    pub(super) fn distance(&self, route: &[usize]) -> f64 {
        self.driving(route) * self.per_minute
    }

    pub(super) fn load(&self, route: &[usize]) -> f64 {
        route.iter().map(|place| self.stop(*place).demand).sum()
    }

    /// When service begins at each stop, and when the vehicle is back; it leaves at 0 and waits where it is early.
    pub(super) fn times(&self, route: &[usize]) -> Times {
        let (mut at, mut clock) = (0, 0.0);
        let mut arrivals = Vec::with_capacity(route.len());
        for place in route {
            let stop = self.stop(*place);
            clock = f64::max(clock + self.between(at, *place), stop.ready);
            arrivals.push(clock);
            clock += stop.service;
            at = *place;
        }
        Times { arrivals, end: clock + self.between(at, 0) }
    }

    /// Whether a vehicle can drive a route.
    pub(super) fn fits(&self, route: &[usize], vehicle: Vehicle) -> bool {
        if self.load(route) > vehicle.capacity + NEAR {
            return false;
        }
        let (mut at, mut clock) = (0, 0.0);
        for place in route {
            let stop = self.stop(*place);
            clock = f64::max(clock + self.between(at, *place), stop.ready);
            if clock > stop.due + NEAR {
                return false;
            }
            clock += stop.service;
            at = *place;
        }
        route.is_empty() || clock + self.between(at, 0) <= vehicle.shift + NEAR
    }

    /// Whether every tour of all stops is possible for the one vehicle.
    pub(super) fn is_unconstrained(&self) -> bool {
        let all: Vec<usize> = (1..=self.stops.len()).collect();
        let fits = self
            .vehicles
            .first()
            .is_some_and(|vehicle| vehicle.shift == f64::INFINITY && self.load(&all) <= vehicle.capacity + NEAR);
        fits && self.stops.iter().all(|stop| stop.due == f64::INFINITY)
    }

    /// Why a stop is not served.
    pub(super) fn reason(&self, place: usize) -> &'static str {
        let stop = self.stop(place);
        let largest = self.vehicles.iter().map(|vehicle| vehicle.capacity).fold(0.0, f64::max);
        if stop.demand > largest + NEAR {
            return "demand is above the capacity of every vehicle";
        }
        if self.between(0, place) > stop.due + NEAR {
            return "cannot be reached from the depot by its due time";
        }
        if !self.vehicles.iter().any(|vehicle| self.fits(&[place], *vehicle)) {
            return "no vehicle can serve it and return within its shift";
        }
        "no vehicle has room or time left"
    }
}
