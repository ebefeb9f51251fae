//! What a server does for clients that a rehearsal does not need: off unless it is asked for.

/// What a server does beyond what a rehearsal needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Serving {
    /// Admission plugin ServiceAccount: pods get an account, and mount its token.
    pub accounts: bool,
    /// Services get addresses and node ports.
    pub addresses: bool,
    /// What controllers write beside what they decide is as upstream writes it: hashes of templates, events as objects, who manages which fields.
    pub traces: bool,
}

impl Serving {
    /// Whether it serves clients at all.
    pub(super) fn is_any(self) -> bool {
        self.accounts || self.addresses || self.traces
    }
}
