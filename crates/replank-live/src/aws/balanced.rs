//! What is known of target groups, from one look to the next.

use std::collections::BTreeMap;
use std::time::Instant;

use replank_model::object::cloud::TargetHealth;
use replank_model::text::{InstanceId, Text};
use replank_model::time::Span;

/// What is known of target groups, by the ARN or the name that somebody gave them.
pub(super) type Known = BTreeMap<Text, Kept>;

/// What is known of one, and since when.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    /// When it was asked what it is.
    pub(super) asked: Instant,
    /// What it is; `None` where it is no target group of instances.
    pub(super) settings: Option<Settings>,
    /// When it was asked for its targets.
    pub(super) checked: Option<Instant>,
    /// Its targets.
    pub(super) targets: BTreeMap<InstanceId, TargetHealth>,
}

/// A target group of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Its ARN.
    pub(super) arn: String,
    /// How long a target drains.
    pub(super) delay: Span,
}
