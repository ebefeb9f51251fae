//! From JSON to who replaces nodes, and what a plan cannot ask of somebody else.

use replank_model::time::Span;
use replank_protocol::policy::StuckAction;

use super::super::care::Retained;
use super::super::error::PlanError;
use super::super::external::{External, OldNodes, Provider, WAIT_DEFAULT};
use super::super::read::{At, Errors, Fields, word};
use super::super::{Budget, OnFailure, Plan};
use super::positive_span;

/// The fields `provider` and `external`.
pub(super) fn provider(fields: &mut Fields<'_>, errors: &mut Errors) -> Option<Said> {
    let is_external = fields.read("provider", errors, |at, errors| word(at, &[("external", ())], errors));
    let external = fields.read("external", errors, external);
    if is_external.is_none() && fields.get("external").is_some() && fields.get("provider").is_none() {
        errors.0.push(PlanError {
            path: fields.path_of("external"),
            found: "external without a provider".to_owned(),
            expected: "provider: external together with it".to_owned(),
            remedy: Some("add provider: external, or remove it".to_owned()),
        });
    }
    is_external.map(|()| external.unwrap_or_default())
}

/// What a plan says of somebody else who replaces nodes.
#[derive(Default)]
pub(super) struct Said {
    wait: Option<Span>,
    old_nodes: Option<OldNodes>,
}

impl Said {
    /// With what is not said. Where a new node comes before an old one goes, it has the room.
    pub(super) fn under(self, budget: &Budget) -> Provider {
        let usual = if budget.is_nothing() { OldNodes::Cordon } else { OldNodes::Avoid };
        Provider::External(External {
            wait: self.wait.unwrap_or(WAIT_DEFAULT),
            old_nodes: self.old_nodes.unwrap_or(usual),
        })
    }
}

fn external(at: At<'_>, errors: &mut Errors) -> Option<Said> {
    let mut fields = Fields::of(at, errors)?;
    let wait = fields.read("wait", errors, positive_span);
    let old_nodes = fields.read("oldNodes", errors, |at, errors| {
        word(at, &[("avoid", OldNodes::Avoid), ("cordon", OldNodes::Cordon)], errors)
    });
    fields.finish(errors);
    Some(Said { wait, old_nodes })
}

/// Reports what somebody else cannot be asked for.
pub(super) fn refuse(plan: &Plan, path_of: impl Fn(&str) -> String, errors: &mut Errors) {
    if plan.external().is_none() {
        return;
    }
    let mut refuse = |field: &str, found: String, expected: &str, remedy: &str| {
        errors.0.push(PlanError {
            path: path_of(field),
            found: format!("{found} together with provider: external"),
            expected: expected.to_owned(),
            remedy: Some(remedy.to_owned()),
        });
    };
    if !plan.budget.surge.is_zero() {
        let expected = "0 or nothing: Replank launches no nodes then";
        refuse(
            "budget.surge",
            plan.budget.surge.to_string(),
            expected,
            "remove it; see budget.maxUnavailable",
        );
    }
    if let Some(group) = &plan.target.group {
        let expected = "nothing: new nodes come up in the group of those that go";
        refuse("target.group", group.to_string(), expected, "remove it");
    }
    if let Some(image) = &plan.target.image {
        let expected = "nothing: not every node shows its image";
        refuse("target.image", image.to_string(), expected, "remove it, or name kubernetesVersion");
    }
    if let Some(release) = &plan.target.release_version {
        let expected = "nothing: not every node shows its release";
        refuse(
            "target.releaseVersion",
            release.to_string(),
            expected,
            "remove it, or name kubernetesVersion",
        );
    }
    if plan.care.retain.capacity != Retained::None {
        let expected = "none: what becomes of drained nodes is not Replank's to say";
        refuse("retain.capacity", "retained nodes".to_owned(), expected, "remove retain");
    }
    if plan.care.stuck.action == StuckAction::ForceDelete {
        let expected = "report or replaceNode: nothing proves that the machine is off";
        refuse("stuckTerminating.action", "forceDelete".to_owned(), expected, "set replaceNode");
    }
    if plan.on_failure == OnFailure::Rollback {
        let expected = "pause: what somebody else has replaced cannot be taken back";
        refuse("onFailure", "rollback".to_owned(), expected, "remove it");
    }
}
