//! Whether a write takes effect.

/// Whether a request changes anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effect {
    /// It does.
    #[default]
    Real,
    /// It is answered as if it did (`dryRun=All`).
    DryRun,
}
