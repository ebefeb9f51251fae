//! Specs that admission has completed.

use std::sync::Arc;

use replank_model::object::pod::PodSpec;
use replank_model::text::{Namespace, NodeName, Text};
use rustc_hash::FxHashMap;

/// Specs that admission has completed, by the address of the template's: so that pods of one template go on sharing
/// one spec. The template's own spec is kept beside, so that the address stays its own.
#[derive(Clone, Debug, Default)]
pub(crate) struct Admitted {
    pub(super) specs: FxHashMap<usize, (Arc<PodSpec>, Completed)>,
}

/// What admission makes of a template's spec.
#[derive(Clone, Debug)]
pub(super) struct Completed {
    pub(super) spec: Arc<PodSpec>,
    /// The node that the template names.
    pub(super) node: Option<NodeName>,
    /// The suffix of its token volume, if it mounts one: a sign that each pod gets its own.
    pub(super) token: Option<Text>,
    /// What is told of limits that were filled in.
    pub(super) limited: Option<Text>,
    /// The namespace of the pod that it was made for.
    pub(super) namespace: Namespace,
}

impl Admitted {
    /// Templates that are remembered at most: a cluster with more forgets them all and begins again, at the price of one
    /// copy per template.
    pub(super) const TEMPLATES_MAX: usize = 65_536;

    pub(crate) fn forget_all(&mut self) {
        self.specs.clear();
    }
}
