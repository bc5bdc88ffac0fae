//! The bytes of request bodies that the server holds at one time.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_core::{Error, Kind};

/// Smallest body that is counted for its sender as well. Smaller ones cannot fill a share.
const COUNTED_BY_OWNER: usize = 64 << 10;

/// The bytes held by all requests together, and by each sender of large bodies. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct BodyBudget(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    total: AtomicUsize,
    by_owner: Mutex<HashMap<Box<str>, usize>>,
}

/// The bytes of one body. They are released when it is dropped.
#[derive(Debug)]
pub struct BodyHold {
    budget: BodyBudget,
    most: usize,
    owner: Box<str>,
    bytes: usize,
    /// Bytes counted for the owner.
    counted: usize,
}

impl BodyBudget {
    /// Returns the bytes that are held at present.
    pub fn held(&self) -> usize {
        self.0.total.load(Ordering::Relaxed)
    }

    /// Returns a hold of no bytes for a body of `owner`: a principal, or an address. All bodies together may hold
    /// `most` bytes, and those of one owner half of that, so that no sender can keep all others out.
    pub fn hold(&self, owner: &str, most: usize) -> BodyHold {
        BodyHold { budget: self.clone(), most, owner: owner.into(), bytes: 0, counted: 0 }
    }
}

impl BodyHold {
    /// Holds `bytes` in all.
    ///
    /// # Errors
    /// `Unavailable` if that is more than is free. What was held before is still held.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), Error> {
        let more = bytes.saturating_sub(self.bytes);
        if bytes > COUNTED_BY_OWNER {
            self.count_for_owner(bytes)?;
        }
        let total = &self.budget.0.total;
        if total.fetch_add(more, Ordering::Relaxed).saturating_add(more) > self.most {
            total.fetch_sub(more, Ordering::Relaxed);
            return Err(full("the server holds as many bytes of request bodies as it may"));
        }
        self.bytes += more;
        Ok(())
    }

    fn count_for_owner(&mut self, bytes: usize) -> Result<(), Error> {
        let mut owners = self.budget.0.by_owner.lock().unwrap_or_else(PoisonError::into_inner);
        let others = owners.get(&self.owner).copied().unwrap_or_default().saturating_sub(self.counted);
        // A single body is bounded by the limit of its route.
        if others > 0 && others.saturating_add(bytes) > self.most / 2 {
            return Err(full("your requests hold as many bytes of bodies as those of one caller may"));
        }
        owners.insert(self.owner.clone(), others.saturating_add(bytes));
        self.counted = bytes;
        Ok(())
    }
}

fn full(why: &str) -> Error {
    Error::new(Kind::Unavailable, format!("{why}: try again in a second")).retry_in(Duration::from_secs(1))
}

impl Drop for BodyHold {
    fn drop(&mut self) {
        self.budget.0.total.fetch_sub(self.bytes, Ordering::Relaxed);
        if self.counted == 0 {
            return;
        }
        let mut owners = self.budget.0.by_owner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut held) = owners.entry(std::mem::take(&mut self.owner)) {
            *held.get_mut() -= self.counted.min(*held.get());
            if *held.get() == 0 {
                held.remove();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn all_bodies_together_are_bounded_and_released_by_every_way_out() {
        let budget = BodyBudget::default();
        let mut first = budget.hold("a", 4 * MIB);
        first.grow_to(2 * MIB).unwrap();
        let mut second = budget.hold("b", 4 * MIB);
        second.grow_to(2 * MIB).unwrap();
        let mut third = budget.hold("c", 4 * MIB);
        let refused = third.grow_to(1).unwrap_err();
        assert_eq!((refused.kind, refused.retry_after), (Kind::Unavailable, Some(Duration::from_secs(1))));
        assert_eq!(budget.held(), 4 * MIB, "a refusal holds nothing");
        drop(first);
        third.grow_to(1).unwrap();
        drop((second, third));
        assert_eq!(budget.held(), 0);
        assert!(budget.0.by_owner.lock().unwrap().is_empty(), "owners are not remembered");
    }

    #[test]
    fn one_caller_holds_half_at_most_and_one_body_always_fits() {
        let budget = BodyBudget::default();
        let mut first = budget.hold("a", 4 * MIB);
        first.grow_to(3 * MIB).unwrap();
        let mut second = budget.hold("a", 4 * MIB);
        assert_eq!(second.grow_to(MIB).unwrap_err().kind, Kind::Unavailable);
        second.grow_to(COUNTED_BY_OWNER).unwrap();
        let mut other = budget.hold("b", 4 * MIB);
        other.grow_to(MIB / 2).unwrap();
        assert_eq!(budget.held(), 3 * MIB + COUNTED_BY_OWNER + MIB / 2);
    }

    proptest! {
        #[test]
        fn what_is_held_is_the_sum_and_never_more_than_the_bound(
            steps in prop::collection::vec((0_usize..6, 0_usize..2 * MIB, any::<bool>()), 1..60),
        ) {
            let budget = BodyBudget::default();
            let mut holds: Vec<Option<BodyHold>> = (0..6).map(|_| None).collect();
            for (which, bytes, ends) in steps {
                let hold = &mut holds[which];
                if ends {
                    *hold = None;
                } else {
                    let owner = ["a", "b"][which % 2];
                    let _ = hold.get_or_insert_with(|| budget.hold(owner, 3 * MIB)).grow_to(bytes);
                }
                let sum: usize = holds.iter().flatten().map(|hold| hold.bytes).sum();
                prop_assert_eq!(budget.held(), sum);
                prop_assert!(sum <= 3 * MIB);
            }
            holds.clear();
            prop_assert_eq!(budget.held(), 0);
            prop_assert!(budget.0.by_owner.lock().unwrap().is_empty());
        }
    }
}
