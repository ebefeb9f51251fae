//! One look at a Deployment.

use std::sync::Arc;

use replank_apiserver::ApiError;
use replank_model::object::workload::{Deployment, DeploymentStrategyType, ReplicaSet};

use super::words::Words;
use crate::controllers::Ctx;

/// One look at a Deployment.
pub(super) struct Look<'a, 'b> {
    pub(super) ctx: &'a mut Ctx<'b>,
    pub(super) words: &'a Words,
    pub(super) slot: u32,
    /// The Deployment as it was found, with what this look has written into it.
    pub(super) deployment: Arc<Deployment>,
    /// Its ReplicaSets, oldest first.
    pub(super) sets: Vec<Arc<ReplicaSet>>,
    /// Which of them has the present template; a look changes no template.
    pub(super) present: Option<usize>,
    /// What the ReplicaSets were found to be, as long as nothing was written since.
    pub(super) kept: Option<Split>,
}

/// The ReplicaSet of the present template, and the others.
pub(super) struct Split {
    pub(super) new: Option<Arc<ReplicaSet>>,
    pub(super) old: Vec<Arc<ReplicaSet>>,
}

impl Split {
    /// All of them, the new one last.
    pub(super) fn each(&self) -> impl Iterator<Item = &Arc<ReplicaSet>> + Clone {
        self.old.iter().chain(&self.new)
    }

    pub(super) fn all(&self) -> Vec<Arc<ReplicaSet>> {
        self.each().cloned().collect()
    }
}

impl Look<'_, '_> {
    pub(super) fn replicas(&self) -> i32 {
        self.deployment.spec.replicas.unwrap_or(1)
    }

    pub(super) fn strategy(&self) -> DeploymentStrategyType {
        self.deployment.spec.strategy.r#type.unwrap_or(DeploymentStrategyType::RollingUpdate)
    }

    /// The ReplicaSets as they were found.
    pub(super) fn found(&self) -> Split {
        let mut old = self.sets.clone();
        let new = self.present.map(|at| old.remove(at));
        Split { new, old }
    }

    /// Replicas that a change of the Deployment asks for, or a pause: sizes only, no rollout (`sync`).
    pub(super) fn scale_only(&mut self) -> Result<(), ApiError> {
        let split = self.split(false)?;
        self.scale(&split)?;
        if self.deployment.spec.paused {
            self.clean_up(&split.old)?;
        }
        self.write_status(&split)
    }
}
