//! What the volumes of a pod hold, by name.

use std::collections::BTreeMap;

/// What a volume holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holds {
    /// A claim, so that it may be a block device.
    Claim,
    /// Anything else.
    Files,
}

/// Volumes that are in order, by name. Those that are not count as absent.
pub(super) type Known<'a> = BTreeMap<&'a str, Holds>;
