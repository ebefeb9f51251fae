//! S10: nothing is ever asked of the Auto Scaling group that EKS owns, be it carried out or refused: EKS alone changes it. One thing is: the autoscaler has the
//! instance of a node terminated that it has drained, and the group wants one less, as Cluster Autoscaler does it.

use replank_model::object::cloud::GroupKind;
use replank_model::text::GroupName;
use replank_protocol::command::{Effect, Expected, GroupEffect, Replacement};
use replank_sim::Sent;

use super::truth::Truth;
use super::{Found, Promise};

/// Somebody has sent something.
pub(super) fn sent(truth: &Truth, sent: &Sent, found: &mut Found<'_>) {
    let Some((group, what)) = asked_of(&sent.command.effect) else { return };
    if truth.groups.get(group).is_some_and(|group| group.kind == GroupKind::EksManaged) {
        found.broken(Promise::S10, format!("{what} is requested of group {group}, which EKS owns"));
    }
}

/// The Auto Scaling group that something is asked of, and what.
fn asked_of(effect: &Effect) -> Option<(&GroupName, &'static str)> {
    match effect {
        Effect::Group(GroupEffect::SetTemplate { group, .. }) => {
            Some((&group.node_group, "a launch template version"))
        }
        Effect::Group(GroupEffect::Resize { group, .. }) => Some((&group.node_group, "a size")),
        Effect::Group(GroupEffect::SetProcess { group, .. }) => Some((&group.node_group, "a process")),
        Effect::Group(GroupEffect::ProtectInstance { group, .. }) => {
            Some((&group.node_group, "the protection of an instance"))
        }
        Effect::Group(GroupEffect::Relieve { group, .. }) => Some((group, "another instance")),
        Effect::Group(GroupEffect::Terminate {
            expected: Expected::Drained { marked_by, remaining, .. },
            replacement: Replacement::Decrement { .. },
            ..
        }) if marked_by.as_str() == "autoscaler" && remaining.is_empty() => None,
        Effect::Group(GroupEffect::Terminate { group, .. }) => Some((group, "a termination")),
        // Only EKS's own hooks are EKS's to complete.
        Effect::Group(GroupEffect::CompleteAction { action, .. } | GroupEffect::Heartbeat { action })
            if matches!(&*action.hook, "Terminate-LC-Hook" | "Launch-LC-Hook") =>
        {
            Some((&action.group, "an action of its own hook"))
        }
        Effect::Group(
            GroupEffect::CompleteAction { .. }
            | GroupEffect::Heartbeat { .. }
            | GroupEffect::Tag { .. }
            | GroupEffect::Untag { .. }
            | GroupEffect::UpdateNodegroupVersion { .. }
            | GroupEffect::UpdateNodegroupConfig { .. }
            | GroupEffect::ScaleNodegroupToZero { .. },
        )
        | Effect::Kubernetes(_)
        | Effect::Queue(_) => None,
    }
}
