//! How many pods of a DaemonSet are made or deleted at once.

use replank_apiserver::ApiError;
use replank_model::object::pod::Pod;
use replank_model::object::workload::{DaemonSet, UpdateStrategyType};
use replank_model::text::NodeName;
use replank_model::view::Ix;

/// Pods that are being made in batches of 1, 2, 4…, and those that go afterwards.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) nodes: Vec<NodeName>,
    pub(super) made: usize,
    pub(super) batch: usize,
    pub(super) doomed: Vec<Ix<Pod>>,
    pub(super) failure: Option<ApiError>,
}

impl Burst {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.doomed.is_empty()
    }
}

pub(super) fn strategy(set: &DaemonSet) -> UpdateStrategyType {
    set.spec.update_strategy.r#type.unwrap_or(UpdateStrategyType::RollingUpdate)
}
