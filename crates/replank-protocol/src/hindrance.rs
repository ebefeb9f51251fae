//! What forbids a way of migrating a workload.

use std::fmt;

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::text::{Name, Text};
use serde::{Deserialize, Serialize};

/// The definition that a cluster with Argo Rollouts has.
pub const ARGO_DEFINITION: &str = "rollouts.argoproj.io";

/// What forbids a way, or both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Hindrance {
    /// A selector that cannot be read, or selects everything.
    Selector {
        /// What is wrong with it.
        why: Text,
    },
    /// The selector does not match the labels of the template: the API server refuses it.
    Template {
        /// The selector.
        selector: Text,
    },
    /// The new manifest has the same selector: it can be applied as it is.
    SameSelector,
    /// A Rollout has taken over already, and the Deployment wants no pods.
    HandedOver,
    /// Something else makes the Deployment, and would make it again at once.
    Owned {
        /// Kind of its owner.
        kind: Text,
        /// Name of its owner.
        name: Name,
    },
    /// A tool keeps it as it stands in a repository, and is not held.
    Kept {
        /// The tool.
        keeper: Keeper,
        /// What is known of it.
        state: Reconciliation,
    },
    /// A Service or budget that selects its pods would not select the new ones.
    Unselected {
        /// Service or PodDisruptionBudget.
        kind: Kind,
        /// Its name.
        key: Key,
    },
    /// What has to be written down is more than annotations may hold.
    Size {
        /// Bytes it takes.
        bytes: usize,
        /// Bytes there may be.
        limit: usize,
    },
    /// It has no ReplicaSet with the present template.
    NoSet,
    /// The new selector does not match the ReplicaSet's labels, so that it would not be taken over.
    NotTakenOver {
        /// The ReplicaSet.
        set: Name,
        /// The selector.
        selector: Text,
    },
    /// The new template makes other pods: they would not be kept but replaced.
    OtherPods,
    /// Another Deployment would take the ReplicaSet over while nobody owns it.
    Rival {
        /// The Deployment.
        deployment: Key,
        /// The ReplicaSet.
        set: Name,
    },
    /// The pods mount a claim that pods of another node cannot mount beside them.
    Claim {
        /// The claim.
        claim: Key,
    },
    /// There is already something under the twin's name, and it is none.
    Name {
        /// The name.
        name: Name,
    },
    /// There is a ConfigMap of the name under which a migration writes down what it does, and it is another's.
    Record {
        /// The ConfigMap.
        name: Name,
    },
    /// The cluster has no kind Rollout.
    NoRollouts,
    /// The cluster's Rollouts cannot do what is asked.
    OldRollouts {
        /// What is asked.
        asked: ScaleDown,
    },
    /// No Rollout takes its template from such an object.
    NoRolloutOf {
        /// Its kind.
        kind: Kind,
    },
    /// The new selector does not match a pod's labels, so that it would not be taken over.
    PodLabels {
        /// The pod.
        pod: Name,
        /// The selector.
        selector: Text,
    },
    /// The claim templates are others: pods that are kept have claims of the old ones.
    OtherClaims,
    /// Something else would take pods over while nobody owns them.
    PodRival {
        /// Its kind.
        kind: Kind,
        /// Its name.
        key: Key,
    },
    /// There is a Rollout of the Deployment's name, or one that takes its template from it.
    Rollout {
        /// Its name.
        name: Name,
    },
    /// The name is too long to be the value of a label.
    LongName {
        /// Letters it has.
        letters: usize,
    },
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector { why } => write!(f, "the new selector is invalid: {why}"),
            Self::Template { selector } => {
                write!(f, "the new selector {selector} does not match the labels of the new template")
            }
            Self::SameSelector => f.write_str("the selector stays the same: apply the manifest as it is"),
            Self::HandedOver => f.write_str("a Rollout has taken over already"),
            Self::Owned { kind, name } => {
                write!(f, "{kind} {name} owns it and would revert the change: change it there")
            }
            Self::Kept { keeper, state: Reconciliation::Unknown } => write!(
                f,
                "{keeper} manages it, but is not in the snapshot: suspend it and add it to the snapshot"
            ),
            Self::Kept { keeper, state: Reconciliation::Acting | Reconciliation::Paused } => {
                write!(f, "{keeper} manages it and would revert the change: suspend it first")
            }
            Self::Unselected { kind, key } => write!(
                f,
                "{kind} {key} selects its pods but would not select the new ones: keep those labels in the template"
            ),
            Self::Size { bytes, limit } => {
                write!(f, "its manifest is too long to record: {bytes} bytes, the limit is {limit}")
            }
            Self::NoSet => f.write_str("it has no ReplicaSet with its current template"),
            Self::NotTakenOver { set, selector } => {
                write!(f, "the new selector {selector} does not match the labels of ReplicaSet {set}")
            }
            Self::OtherPods => f.write_str("the new template creates different pods"),
            Self::Rival { deployment, set } => {
                write!(f, "Deployment {deployment} would adopt ReplicaSet {set} meanwhile")
            }
            Self::Claim { claim } => {
                write!(
                    f,
                    "claim {claim} can be mounted by one node only, so additional pods would wait for it"
                )
            }
            Self::Name { name } => write!(f, "another Deployment already has the twin's name {name}"),
            Self::Record { name } => {
                write!(f, "ConfigMap {name}, needed for the migration record, already exists: rename it")
            }
            Self::NoRollouts => write!(
                f,
                "CustomResourceDefinition {ARGO_DEFINITION} does not exist: install Argo Rollouts first, or add the definition to the snapshot"
            ),
            Self::OldRollouts { asked: ScaleDown::Never } => f.write_str(
                "the cluster's Argo Rollouts does not support workloadRef: upgrade to 1.0 or later",
            ),
            Self::OldRollouts { asked: asked @ (ScaleDown::OnSuccess | ScaleDown::Progressively) } => {
                write!(
                    f,
                    "the cluster's Argo Rollouts does not support scaleDown: {asked}: upgrade to 1.7 or later"
                )
            }
            Self::NoRolloutOf { kind } => {
                write!(f, "a Rollout can replace a Deployment, not a {kind}")
            }
            Self::PodLabels { pod, selector } => {
                write!(f, "the new selector {selector} does not match the labels of pod {pod}")
            }
            Self::OtherClaims => f.write_str("its pods would have different volume claims"),
            Self::PodRival { kind, key } => write!(f, "{kind} {key} would adopt its pods meanwhile"),
            Self::Rollout { name } => {
                write!(f, "Rollout {name} already exists with its name or its template")
            }
            Self::LongName { letters } => {
                write!(f, "its name has {letters} characters, the twin's label allows 63")
            }
        }
    }
}

/// What keeps an object as it stands in a repository.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Keeper {
    /// Argo CD.
    Application {
        /// The Application, with its namespace where that is known.
        name: Text,
    },
    /// Flux.
    Kustomization {
        /// The Kustomization.
        key: Key,
    },
    /// Flux, by a Helm release.
    HelmRelease {
        /// The HelmRelease.
        key: Key,
    },
}

/// Whether it is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Reconciliation {
    /// It is held, and changes nothing.
    Paused,
    /// It puts back what others change.
    Acting,
    /// Its own object is not among what was observed: it counts as acting.
    Unknown,
}

impl fmt::Display for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Application { name } => write!(f, "Argo CD Application {name}"),
            Self::Kustomization { key } => write!(f, "Flux Kustomization {key}"),
            Self::HelmRelease { key } => write!(f, "Flux HelmRelease {key}"),
        }
    }
}

/// Who scales the Deployment down when the Rollout serves (`spec.workloadRef.scaleDown`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ScaleDown {
    /// The caller scales it: Argo leaves it alone.
    #[default]
    Never,
    /// Argo, when the Rollout is healthy.
    OnSuccess,
    /// Argo, as pods of the Rollout get ready: fewer pods at a time.
    Progressively,
}

impl ScaleDown {
    /// As Argo writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OnSuccess => "onsuccess",
            Self::Progressively => "progressively",
        }
    }

    /// The member that Argo writes so.
    pub fn of(text: &str) -> Option<Self> {
        [Self::Never, Self::OnSuccess, Self::Progressively].into_iter().find(|one| one.as_str() == text)
    }
}

/// In words: `onsuccess` and the like are Argo's.
impl std::fmt::Display for ScaleDown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}
