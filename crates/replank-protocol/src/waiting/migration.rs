//! Why a migration does not go on, with its numbers.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::Name;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};

use super::finality::counted;
use crate::hindrance::Hindrance;
use crate::subject::Hope;

/// What a migration waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MigrationWait {
    /// A rollout is under way: nothing is begun before all pods are of the present template.
    Rollout {
        /// Pods of the present template.
        updated: i32,
        /// Pods that there are to be.
        wanted: i32,
    },
    /// The garbage collector takes the object's name off what it owns; then it goes.
    Orphaning,
    /// The new Deployment has not taken its pods' ReplicaSet over yet.
    Adoption {
        /// The ReplicaSet.
        set: Name,
    },
    /// The new object has not taken its pods over yet.
    PodAdoption {
        /// Pods that are nobody's.
        pods: u32,
    },
    /// Pods are not available yet.
    Available {
        /// Whose.
        copy: Copy,
        /// Pods that are.
        available: i32,
        /// How many there are to be.
        wanted: i32,
    },
    /// Pods are available, and not yet where a Service's clients find them.
    Endpoints {
        /// Whose.
        copy: Copy,
        /// The Service.
        service: Key,
        /// Ready endpoints of such pods.
        ready: i32,
        /// How many there are to be.
        wanted: i32,
    },
    /// ReplicaSets and pods on their way out.
    Leaving {
        /// Whose.
        copy: Copy,
        /// ReplicaSets that are left.
        sets: u32,
        /// Pods that are left.
        pods: u32,
    },
    /// Argo Rollouts scales the Deployment down.
    ScaledDown {
        /// Pods that the Deployment still wants.
        replicas: i32,
    },
    /// Updates that are still on their way.
    Settle {
        /// Until when they are waited for.
        until: Time,
    },
}

/// One of those that serve in a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Copy {
    /// The one that is to go.
    Old,
    /// The one that stands in.
    Twin,
    /// The one that is to stay.
    New,
    /// The Rollout that takes over.
    Rollout,
}

impl Copy {
    /// In words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Old => "the old object",
            Self::Twin => "the twin",
            Self::New => "the new object",
            Self::Rollout => "the Rollout",
        }
    }
}

impl fmt::Display for Copy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl MigrationWait {
    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::Orphaning
            | Self::Adoption { .. }
            | Self::PodAdoption { .. }
            | Self::Leaving { .. }
            | Self::ScaledDown { .. }
            | Self::Settle { .. } => Hope::Moving,
            Self::Rollout { .. } | Self::Available { .. } | Self::Endpoints { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for MigrationWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rollout { updated, wanted } => {
                write!(f, "its rollout: {updated} of {wanted} pods have the current template")
            }
            Self::Orphaning => f.write_str("the garbage collector to orphan its dependents"),
            Self::Adoption { set } => write!(f, "the new Deployment to adopt ReplicaSet {set}"),
            Self::PodAdoption { pods } => write!(f, "the new object to adopt {}", counted(*pods, "pod")),
            Self::Available { copy, available, wanted } => {
                write!(f, "pods of {copy}: {available} of {wanted} available")
            }
            Self::Endpoints { copy, service, ready, wanted } => {
                write!(f, "endpoints of Service {service}: {ready} of {wanted} pods of {copy} ready")
            }
            Self::Leaving { copy, sets, pods } => {
                write!(
                    f,
                    "{} and {} of {copy} to be deleted",
                    counted(*sets, "ReplicaSet"),
                    counted(*pods, "pod")
                )
            }
            Self::ScaledDown { replicas } => {
                write!(
                    f,
                    "Argo Rollouts to scale the Deployment down from {}",
                    counted(u32::try_from(*replicas).unwrap_or(0), "replica")
                )
            }
            Self::Settle { until } => write!(f, "late updates, until {until}"),
        }
    }
}

/// Why a migration does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MigrationEnd {
    /// A Service that had ready endpoints has none: nothing more is deleted.
    NoEndpoints {
        /// The Service.
        service: Key,
        /// Since when, as it is written.
        since: Time,
    },
    /// The object is neither what it was nor what it is to be: another actor created it.
    Foreign,
    /// The object is not there, and nothing in the cluster says that a migration took it away.
    Gone,
    /// Something forbids the way.
    Hindered(Hindrance),
}

impl fmt::Display for MigrationEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEndpoints { service, since } => {
                write!(f, "Service {service} had no ready endpoint at {since}, nothing more is deleted")
            }
            Self::Foreign => {
                f.write_str("another actor created it: its selector is neither the old nor the new one")
            }
            Self::Gone => f.write_str("it does not exist, and no record shows that a migration deleted it"),
            Self::Hindered(hindrance) => hindrance.fmt(f),
        }
    }
}
