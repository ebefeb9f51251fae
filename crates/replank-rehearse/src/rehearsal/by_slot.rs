//! What is noted of objects by their slots: found without a name.

/// Values by slot; what nothing was noted of has the default.
#[derive(Clone, Debug)]
pub(super) struct BySlot<T>(Vec<T>);

impl<T> Default for BySlot<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy + Default> BySlot<T> {
    /// The value of a slot.
    pub(super) fn get(&self, slot: u32) -> T {
        self.0.get(slot as usize).copied().unwrap_or_default()
    }

    /// The value of a slot, to be changed.
    pub(super) fn at_mut(&mut self, slot: u32) -> &mut T {
        let at = slot as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, T::default());
        }
        &mut self.0[at]
    }

    /// All values, those of slots without an object too.
    pub(super) fn all(&self) -> impl Iterator<Item = T> + '_ {
        self.0.iter().copied()
    }

    /// All values, to be changed.
    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut()
    }
}
