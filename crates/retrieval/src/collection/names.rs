use std::sync::Arc;

use super::order::Order;
use crate::chunks::Chunks;

/// Value stored under a name.
pub(super) trait Held: Clone + Default {
    fn is_empty(&self) -> bool;
    /// Heap size in bytes.
    fn bytes(&self) -> usize;
}

/// Interned names with a value each; a name with an empty value is removed.
#[derive(Debug, Clone)]
pub(super) struct Names<T> {
    all: Chunks<Option<Arc<Name<T>>>, 6>,
    by_name: Order,
    free: Vec<u32>,
}

#[derive(Debug, Clone)]
struct Name<T> {
    name: Box<str>,
    held: T,
}

impl<T: Held> Default for Names<T> {
    fn default() -> Self {
        Self { all: Chunks::default(), by_name: Order::default(), free: Vec::new() }
    }
}

impl<T: Held> Names<T> {
    pub(super) fn find(&self, name: &str) -> Option<u32> {
        let found = self.by_name.from(|other| self.name(other) < name).next()?;
        (self.name(found) == name).then_some(found)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.get(number).map_or("", |name| &name.name)
    }

    pub(super) fn held(&self, number: u32) -> Option<&T> {
        self.get(number).map(|name| &name.held)
    }

    /// Returns the number of a name, interning it if necessary. The caller must store a value under it.
    pub(super) fn number(&mut self, name: &str) -> u32 {
        if let Some(found) = self.find(name) {
            return found;
        }
        let Some(number) = self.free.pop() else {
            self.push(Some(name.to_owned()), T::default());
            return u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX);
        };
        if let Some(freed) = self.all.get_mut(number as usize) {
            *freed = Some(Arc::new(Name { name: name.into(), held: T::default() }));
        }
        let Self { all, by_name, .. } = self;
        by_name.insert(number, |other| name_of(all, other) < name);
        number
    }

    /// Names by number; `None` for free numbers.
    pub(super) fn names(&self) -> impl Iterator<Item = Option<&str>> {
        self.all.iter().map(|name| name.as_deref().map(|name| &*name.name))
    }

    /// Assigns the next number to a new name, or leaves it free.
    pub(super) fn push(&mut self, name: Option<String>, held: T) {
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        let new = name.map(|name| Arc::new(Name { name: name.into(), held }));
        self.all.push(new.clone());
        let Some(new) = new else { return self.free.push(number) };
        let Self { all, by_name, .. } = self;
        by_name.insert(number, |other| name_of(all, other) < &*new.name);
    }

    pub(super) fn change(&mut self, number: u32, change: impl FnOnce(&mut T)) {
        let Some(Some(name)) = self.all.get_mut(number as usize) else { return };
        change(&mut Arc::make_mut(name).held);
        if !name.held.is_empty() {
            return;
        }
        let name = Arc::clone(name);
        let Self { all, by_name, free } = self;
        by_name.remove(number, |other| name_of(all, other) < &*name.name);
        if let Some(slot) = all.get_mut(number as usize) {
            *slot = None;
        }
        free.push(number);
    }

    pub(super) fn bytes(&self) -> usize {
        let names = self.all.iter().flatten();
        let held: usize = names.map(|name| size_of::<Name<T>>() + 16 + name.name.len() + name.held.bytes()).sum();
        held + self.all.bytes() + self.by_name.bytes() + self.free.capacity() * size_of::<u32>()
    }

    fn get(&self, number: u32) -> Option<&Name<T>> {
        self.all.get(number as usize)?.as_deref()
    }
}

fn name_of<T: Clone>(all: &Chunks<Option<Arc<Name<T>>>, 6>, number: u32) -> &str {
    all.get(number as usize).and_then(Option::as_deref).map_or("", |name| &name.name)
}
