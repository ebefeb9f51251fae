//! What was carried out in a scenario, in words that do not depend on moments.

use std::collections::BTreeMap;

use replank_model::object::{Kind, Object, ObjectRef};
use replank_protocol::command::{Effect, GroupEffect, KubernetesEffect, NodeRole, QueueEffect, Replacement};
use replank_sim::Sent;

use super::names::Names;

/// What had an effect, and how often. Marks that are renewed or handed over, tags that hold moments and cordons that were removed and set
/// again depend on the time of the decisions; they are left out. So is what is sent twice under one key: it has one effect.
pub(super) fn count(commands: &[Sent], names: &Names) -> BTreeMap<String, usize> {
    let mut done: BTreeMap<String, BTreeMap<&str, ()>> = BTreeMap::new();
    for sent in commands.iter().filter(|sent| matches!(sent.result, Some((_, Ok(()))))) {
        if let Some(words) = words(&sent.command.effect, names) {
            done.entry(anonymous(&words)).or_default().insert(&sent.command.key.0, ());
        }
    }
    done.into_iter().map(|(words, keys)| (words, keys.len())).collect()
}

/// Which of several new nodes and pods something happens to depends on when each came up: `web+2` is `web+`.
fn anonymous(words: &str) -> String {
    let mut text = String::with_capacity(words.len());
    for letter in words.chars() {
        let is_number = text.ends_with('+') && letter.is_ascii_digit();
        if !is_number {
            text.push(letter);
        }
    }
    text
}

fn words(effect: &Effect, names: &Names) -> Option<String> {
    Some(match effect {
        Effect::Kubernetes(KubernetesEffect::Cordon { node, mark, .. }) => match mark.role {
            NodeRole::Draining { .. } => format!("drains {}", names.node(&node.name)),
            NodeRole::Postponed { .. } => format!("postpones {}", names.node(&node.name)),
            NodeRole::Skipped => format!("skips {}", names.node(&node.name)),
            NodeRole::Retained => format!("retains {}", names.node(&node.name)),
            NodeRole::Drained => format!("leaves to others {}", names.node(&node.name)),
            NodeRole::Interrupted { by, from: Some(_), .. } if by.may_pass() => {
                format!("drains {}", names.node(&node.name))
            }
            NodeRole::Interrupted { .. } => format!("cordons {}", names.node(&node.name)),
            NodeRole::Queued | NodeRole::Listed | NodeRole::Surplus => return None,
        },
        Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) => format!("evicts {}", names.pod(&pod.key)),
        Effect::Kubernetes(KubernetesEffect::DeletePod { pod, .. }) => {
            format!("deletes {}", names.pod(&pod.key))
        }
        Effect::Kubernetes(KubernetesEffect::ForceDelete { pod, .. }) => {
            format!("force-deletes {}", names.pod(&pod.key))
        }
        Effect::Kubernetes(KubernetesEffect::RestartWorkload { workload, .. }) => {
            format!("restarts {}", workload.key)
        }
        Effect::Group(
            GroupEffect::SetTemplate { group, to, .. }
            | GroupEffect::UpdateNodegroupVersion { group, to, .. },
        ) => {
            format!("updates {group} to {}", to.profile.kubelet_version)
        }
        Effect::Group(GroupEffect::Terminate { instance, replacement, .. }) => match replacement {
            Replacement::Launch => format!("terminates {}, to be replaced", names.instance(instance)),
            Replacement::Decrement { .. } => format!("terminates {}", names.instance(instance)),
        },
        Effect::Group(GroupEffect::ScaleNodegroupToZero { group, .. }) => {
            format!("has EKS terminate all instances of {group}")
        }
        Effect::Group(GroupEffect::Relieve { instance, .. }) => {
            format!("requests a replacement for {}", names.instance(instance))
        }
        Effect::Group(GroupEffect::CompleteAction { action, .. }) => {
            format!("completes the action of {}", names.instance(&action.instance))
        }
        Effect::Group(GroupEffect::Heartbeat { .. })
        | Effect::Queue(QueueEffect::HoldMessage { .. })
        | Effect::Queue(QueueEffect::DeleteMessage { .. }) => return None,
        Effect::Kubernetes(KubernetesEffect::Create { object }) => format!("creates {}", named(object)),
        Effect::Kubernetes(KubernetesEffect::Replace { object }) => format!("updates {}", named(object)),
        Effect::Kubernetes(KubernetesEffect::Delete { object, .. }) => {
            format!("deletes {}", referred(object))
        }
        Effect::Kubernetes(KubernetesEffect::DeleteNodeClaim { claim, .. }) => {
            format!("deletes NodeClaim {}", claim.name)
        }
        Effect::Kubernetes(KubernetesEffect::CordonByHand { node, from, .. }) => match from {
            Some(_) => format!("drains {}", names.node(&node.name)),
            None => format!("cordons {}", names.node(&node.name)),
        },
        Effect::Kubernetes(KubernetesEffect::UncordonByHand { node, .. }) => {
            format!("uncordons {}", names.node(&node.name))
        }
        Effect::Kubernetes(KubernetesEffect::Uncordon { .. })
        | Effect::Kubernetes(KubernetesEffect::Exclude { .. })
        | Effect::Group(GroupEffect::Tag { .. })
        | Effect::Group(GroupEffect::Untag { .. })
        | Effect::Group(GroupEffect::Resize { .. })
        | Effect::Group(GroupEffect::SetProcess { .. })
        | Effect::Group(GroupEffect::ProtectInstance { .. })
        | Effect::Group(GroupEffect::UpdateNodegroupConfig { .. }) => return None,
    })
}

/// An object by its own kind, also where we have no type for it.
pub(super) fn named(object: &Object) -> String {
    format!("{} {}", object.kind_name(), object.meta().key())
}

/// The same of an object that is only referred to. Of those without a type, runs refer to their records alone.
pub(super) fn referred(object: &ObjectRef) -> String {
    let kind = if object.kind == Kind::Other { "ConfigMap" } else { object.kind.as_str() };
    format!("{kind} {}", object.key)
}
