//! Who watches what is kept up only for those who look.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many look.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lookers(Arc<AtomicUsize>);

/// Somebody who looks, until this is dropped.
#[derive(Debug)]
pub(crate) struct Looker(Lookers);

impl Lookers {
    /// Somebody begins to look.
    pub(crate) fn enter(&self) -> Looker {
        self.0.fetch_add(1, Ordering::Relaxed);
        Looker(self.clone())
    }

    /// Whether somebody looks.
    pub(crate) fn are_there(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_looks_is_counted_until_it_is_gone() {
        let lookers = Lookers::default();
        let first = lookers.enter();
        drop(lookers.enter());
        assert!(lookers.are_there());
        drop(first);
        assert!(!lookers.are_there());
    }
}
