//! What kind of end a reason is, and how reasons count.

/// What kind of end a reason is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finality {
    /// An operator has to change something.
    Blocked,
    /// It stays as it is on purpose.
    Kept,
    /// It is called off, or has passed.
    GivenUp,
}

/// `1 pod`, `2 pods`.
pub(super) fn counted(count: u32, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}
