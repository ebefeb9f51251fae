//! What a Rollout is called.

/// Its API group and kind.
pub(in crate::controllers) const GROUP: &str = "argoproj.io";

pub(in crate::controllers) const KIND: &str = "Rollout";
