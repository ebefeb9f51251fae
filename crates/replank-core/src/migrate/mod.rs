//! Migration of a workload to another selector, or of a Deployment to an Argo Rollout, without a moment at which nobody serves.
//!
//! `spec.selector` of a served version cannot be changed (apps/v1, `ValidateDeploymentUpdate` and its kin), so the object has to go
//! and come again. Two ways lead there ([`judge`]): the pods are kept ([`keep`], [`pods`] for kinds that own their pods themselves),
//! or a twin stands in for a Deployment's ([`twin`]). A Rollout takes over
//! beside the Deployment ([`rollout`]). Every decision wants whatever is not yet so; what must outlive a restart stands in the
//! cluster ([`record`]), with the whole manifest that there was and the one there is to be, so that each moment has its way back.
//!
//! Nothing is deleted that serves, unless others are seen to serve in its place. If a Service that had ready endpoints is seen
//! without any, nothing more is deleted: what is missing is made, the record says so, and a person decides.

mod argo;
mod context;
mod decide;
mod gitops;
mod goal;
mod judge;
mod keep;
mod path;
mod pods;
#[cfg(test)]
mod pods_tests;
mod record;
mod record_name;
mod request;
mod rollout;
mod serving;
mod subject;
mod target;
#[cfg(test)]
mod tests;
mod twin;

use replank_model::delta::Delta;
use replank_model::labels::Labels;
use replank_model::object::Object;
use replank_model::selector::LabelSelector;
use replank_model::time::Time;
use replank_model::view::View;

use crate::sent::Sent;
use replank_protocol::command::Outcome;
use replank_protocol::decision::Decision;
use replank_protocol::intent::Intent;

pub use judge::{Choice, Judgement, Path, judge};
pub use record::{TWIN_OF, record_key};
pub use serving::{autoscalers_of, autoscalers_of_kind, ready_endpoints, services_of};
pub use subject::Migrated;
pub use target::{after, twin_name};

use context::{Context, Memory};

use goal::{EXPIRY, ended};
pub use goal::{Goal, Options};

pub use request::Request;

/// A migration: see the module's page.
#[derive(Debug)]
pub struct Migration {
    request: Request,
    options: Options,
    view: View,
    sent: Sent,
    intent: Intent,
    memory: Memory,
}

impl Migration {
    /// A migration that knows nothing yet.
    #[must_use]
    pub fn new(request: Request, options: Options) -> Self {
        Self {
            request,
            options,
            view: View::default(),
            sent: Sent::default(),
            intent: Intent::default(),
            memory: Memory::default(),
        }
    }

    /// Takes in an observation.
    pub fn observe(&mut self, delta: Delta) {
        self.view.apply(delta);
    }

    /// Takes in what became of a command.
    pub fn outcome(&mut self, outcome: &Outcome) {
        self.sent.outcome(outcome);
    }

    /// Takes an intent of the operator.
    pub fn intend(&mut self, intent: Intent) {
        self.intent = intent;
    }

    /// Starts anew, as another process that takes over.
    pub fn start_anew(&mut self) {
        let intent = self.intent;
        *self = Self::new(self.request.clone(), self.options.clone());
        self.intend(intent);
    }

    /// What is to be done, what waits and on what, and when to look again.
    pub fn decide(&mut self, now: Time) -> Decision {
        let (told, known) = ((&self.request, &self.options), (&mut self.sent, &mut self.memory));
        let decision = Context::new(now, &self.view, told, self.intent, known).decide();
        self.sent.sweep();
        decision
    }

    /// Everything that has been observed.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }
}

/// Judges the ways from an object to what it is to be; kinds that are not migrated have none.
#[must_use]
pub fn judged(view: &View, kind: Migrated, live: &Object, goal: &Goal) -> Judgement {
    if let Object::Deployment(deployment) = live {
        judge(view, deployment, goal)
    } else {
        pods::judge(view, kind, live, goal)
    }
}

/// An object as it is to be: a manifest without anything that only the API server or a controller writes.
#[must_use]
pub fn wanted(live: &Object, goal: &Goal) -> Object {
    if let Object::Deployment(deployment) = live {
        after(deployment, goal).into()
    } else {
        subject::after(live, goal)
    }
}

/// The selector of an object; `None` for kinds that are not migrated.
#[must_use]
pub fn selector_of(object: &Object) -> Option<&LabelSelector> {
    subject::selector(object)
}

/// The labels of an object's pods; `None` for kinds that are not migrated.
#[must_use]
pub fn labels_of(object: &Object) -> Option<&Labels> {
    subject::parts(object).map(|parts| &parts.template.meta.labels)
}
