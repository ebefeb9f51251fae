//! What core, a migration and a drain are to a driver: engines.

use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::time::Time;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::engine::Engine;
use replank_protocol::intent::Intent;

use crate::Core;
use crate::drain::Drain;
use crate::migrate::Migration;

impl Engine for Core {
    fn observe(&mut self, delta: Delta) {
        Self::observe(self, delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        Self::outcome(self, &outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        Self::decide(self, now)
    }

    fn intend(&mut self, intent: Intent) {
        Self::intend(self, intent);
    }

    fn start_anew(&mut self) {
        Self::start_anew(self);
    }

    fn stands_by(&self) -> bool {
        Self::stands_by(self)
    }
}

impl Engine for Migration {
    fn observe(&mut self, delta: Delta) {
        Self::observe(self, delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        Self::outcome(self, &outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        Self::decide(self, now)
    }

    fn intend(&mut self, intent: Intent) {
        Self::intend(self, intent);
    }

    fn start_anew(&mut self) {
        Self::start_anew(self);
    }

    /// What serves is read off EndpointSlices.
    fn watches(&self, kind: Kind) -> bool {
        matches!(
            kind,
            Kind::Deployment
                | Kind::ReplicaSet
                | Kind::StatefulSet
                | Kind::DaemonSet
                | Kind::ReplicationController
                | Kind::HorizontalPodAutoscaler
                | Kind::PodDisruptionBudget
                | Kind::PersistentVolumeClaim
                | Kind::CustomResourceDefinition
                | Kind::Service
                | Kind::EndpointSlice
                | Kind::Pod
                | Kind::Other
        )
    }
}

impl Engine for Drain {
    fn observe(&mut self, delta: Delta) {
        Self::observe(self, delta);
    }

    fn outcome(&mut self, outcome: Outcome) {
        Self::outcome(self, &outcome);
    }

    fn decide(&mut self, now: Time) -> Decision {
        Self::decide(self, now)
    }

    fn intend(&mut self, intent: Intent) {
        Self::intend(self, intent);
    }

    fn start_anew(&mut self) {
        Self::start_anew(self);
    }

    fn watches(&self, kind: Kind) -> bool {
        self.reads(kind)
    }
}
