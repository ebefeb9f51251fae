//! One change, as data: as a command for a person, and as a request to the API for a program.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::{NodeName, Text};
use serde_json::{Map, Value, json};

use super::flow;
use super::new_budget::{BudgetBound, budget};
use super::target::{Target, TargetKind};

/// What is changed.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Members of an object: a JSON merge patch, which replaces lists as a whole.
    Patch {
        /// The object.
        of: Target,
        /// The members.
        patch: Value,
    },
    /// Members of an object: a strategic merge patch, which merges lists of containers by name.
    Merge {
        /// The object.
        of: Target,
        /// The members.
        patch: Value,
    },
    /// Members of an object that EKS may manage: as the configuration of its add-on, or else as a merge patch. Both do the same.
    Configure {
        /// The command that configures the add-on.
        command: String,
        /// The object.
        of: Target,
        /// The members.
        patch: Value,
    },
    /// The replicas of a workload.
    Scale {
        /// The workload.
        of: Target,
        /// How many.
        replicas: i32,
    },
    /// A new disruption budget.
    CreateBudget {
        /// Namespace and name.
        key: Key,
        /// Its pods, as `kubectl` takes a selector.
        selector: String,
        /// What it allows.
        bound: BudgetBound,
    },
    /// An object less.
    Delete {
        /// The object.
        of: Target,
    },
    /// An annotation, or without a value its end.
    Annotate {
        /// The objects, of one kind and namespace.
        of: Vec<Target>,
        /// Its name.
        annotation: Text,
        /// Its value.
        value: Option<Text>,
    },
    /// A taint less on one node.
    Untaint {
        /// The node.
        node: NodeName,
        /// The taint's key.
        key: Text,
        /// The taint's effect.
        effect: Text,
        /// The taints that stay.
        kept: Value,
    },
    /// A process of an Auto Scaling group that goes on.
    ResumeProcess {
        /// The Auto Scaling group.
        group: Text,
        /// The process.
        process: Text,
    },
    /// A node that takes pods again.
    Uncordon {
        /// The node.
        node: NodeName,
    },
    /// Members of the plan's `spec`.
    Plan {
        /// The members, by their paths: `batch.wait`.
        members: Vec<(&'static str, Value)>,
    },
}

/// A request to the API.
#[derive(Clone, Debug, PartialEq)]
pub struct Write {
    /// What it does.
    pub verb: Verb,
    /// Where: `/apis/apps/v1/namespaces/shop/deployments/web`.
    pub path: String,
    /// With what.
    pub body: Value,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `POST`.
    Create,
    /// `PATCH`, `application/merge-patch+json`.
    MergePatch,
    /// `PATCH`, `application/strategic-merge-patch+json`.
    StrategicPatch,
    /// `DELETE`.
    Delete,
}

impl Verb {
    /// As the API has it, with the type of the body.
    #[must_use]
    pub fn method(self) -> (&'static str, &'static str) {
        match self {
            Self::Create => ("POST", "application/json"),
            Self::MergePatch => ("PATCH", "application/merge-patch+json"),
            Self::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
            Self::Delete => ("DELETE", "application/json"),
        }
    }
}

impl Edit {
    /// A member of the plan's `spec`.
    #[must_use]
    pub fn plan(path: &'static str, value: impl Into<Value>) -> Self {
        Self::Plan { members: vec![(path, value.into())] }
    }

    /// What the plan's `spec` is merged with; none where objects are changed.
    #[must_use]
    pub fn of_plan(&self) -> Option<Value> {
        match self {
            Self::Plan { members } => Some(flow::patch(members)),
            Self::Patch { .. }
            | Self::Merge { .. }
            | Self::Configure { .. }
            | Self::Scale { .. }
            | Self::CreateBudget { .. }
            | Self::Delete { .. }
            | Self::Annotate { .. }
            | Self::Untaint { .. }
            | Self::ResumeProcess { .. }
            | Self::Uncordon { .. } => None,
        }
    }

    /// The objects that are changed, or that are new.
    #[must_use]
    pub fn targets(&self) -> Vec<Target> {
        match self {
            Self::Patch { of, .. }
            | Self::Configure { of, .. }
            | Self::Merge { of, .. }
            | Self::Scale { of, .. }
            | Self::Delete { of } => {
                vec![of.clone()]
            }
            Self::Annotate { of, .. } => of.clone(),
            Self::CreateBudget { key, .. } => {
                vec![Target::new(TargetKind::PodDisruptionBudget, key.clone())]
            }
            Self::Untaint { node, .. } | Self::Uncordon { node } => vec![Target::node(node)],
            Self::Plan { .. } | Self::ResumeProcess { .. } => Vec::new(),
        }
    }

    /// The requests that make the change; none where it is the plan or the cloud that is changed.
    #[must_use]
    pub fn writes(&self) -> Vec<Write> {
        let patch = |path: String, body: Value| Write { verb: Verb::MergePatch, path, body };
        let one = match self {
            Self::Patch { of, patch: members } | Self::Configure { of, patch: members, .. } => {
                patch(of.path(), members.clone())
            }
            Self::Merge { of, patch } => {
                Write { verb: Verb::StrategicPatch, path: of.path(), body: patch.clone() }
            }
            Self::Scale { of, replicas } => {
                patch(format!("{}/scale", of.path()), json!({"spec": {"replicas": replicas}}))
            }
            Self::CreateBudget { key, selector, bound } => Write {
                verb: Verb::Create,
                path: format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", key.namespace),
                body: budget(key, selector, bound),
            },
            Self::Delete { of } => Write { verb: Verb::Delete, path: of.path(), body: Value::Null },
            Self::Annotate { of, annotation, value } => {
                let mut annotations = Map::new();
                let value = value.as_ref().map_or(Value::Null, |value| json!(&**value));
                annotations.insert(annotation.to_string(), value);
                let body = json!({"metadata": {"annotations": annotations}});
                return of.iter().map(|of| patch(of.path(), body.clone())).collect();
            }
            Self::Untaint { node, kept, .. } => {
                patch(Target::node(node).path(), json!({"spec": {"taints": kept}}))
            }
            Self::Uncordon { node } => {
                patch(Target::node(node).path(), json!({"spec": {"unschedulable": null}}))
            }
            Self::Plan { .. } | Self::ResumeProcess { .. } => return Vec::new(),
        };
        vec![one]
    }
}

impl fmt::Display for Edit {
    /// As a person pastes it, or puts it into the plan.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Patch { of, patch } => {
                write!(f, "{} --type merge -p {}", of.command("patch"), quoted(&patch.to_string()))
            }
            Self::Merge { of, patch } => {
                write!(f, "{} -p {}", of.command("patch"), quoted(&patch.to_string()))
            }
            Self::Configure { command, of, patch } => write!(
                f,
                "{command}\nor, where EKS does not manage it:\n{} --type merge -p {}",
                of.command("patch"),
                quoted(&patch.to_string())
            ),
            Self::Scale { of, replicas } => write!(f, "{} --replicas={replicas}", of.command("scale")),
            Self::CreateBudget { key, selector, bound } => {
                let (flag, value) = match bound {
                    BudgetBound::MaxUnavailable(value) => ("max-unavailable", value),
                    BudgetBound::MinAvailable(value) => ("min-available", value),
                };
                let Key { namespace, name } = key;
                let selector = quoted(selector);
                write!(f, "kubectl -n {namespace} create pdb {name} --selector={selector} --{flag}={value}")
            }
            Self::Delete { of } => f.write_str(&of.command("delete")),
            Self::Annotate { of, annotation, value } => {
                let (verb, change) = match value {
                    Some(value) => ("annotate --overwrite", format!("={value}")),
                    None => ("annotate", "-".to_owned()),
                };
                let [first, more @ ..] = of.as_slice() else { return Ok(()) };
                let more: String = more.iter().map(|one| format!(" {}", one.key.name)).collect();
                write!(f, "{}{more} {annotation}{change}", first.command(verb))
            }
            Self::Untaint { node, key, effect, .. } => write!(f, "kubectl taint node {node} {key}:{effect}-"),
            Self::ResumeProcess { group, process } => write!(
                f,
                "aws autoscaling resume-processes --auto-scaling-group-name {group} --scaling-processes {process}"
            ),
            Self::Uncordon { node } => write!(f, "kubectl uncordon {node}"),
            Self::Plan { members } => write!(f, "set in the plan: {}", flow::members(members)),
        }
    }
}

/// In single quotes, as a shell takes it.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}
