//! What a plan of an upgrade is made of: its input, and its steps.

use std::collections::{BTreeMap, BTreeSet};

use replank_facts::plan::RunOptions;
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::provisioner::Provisioner;

use super::back::Back;
use crate::upgrade::addon_version::AddonVersion;
use crate::upgrade::facts::Facts;
use crate::upgrade::finding::{Finding, Severity};
use crate::upgrade::minor::{Hop, Minor};
use crate::upgrade::routes::Way;
use crate::upgrade::usage::ApiUse;

/// How it is to be done, and how long what nobody can rehearse is taken to take.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The version to go to.
    pub to: Minor,
    /// What the control plane runs, where somebody says it.
    pub from: Option<Minor>,
    /// Which way nodes go; without it the one that moves fewer pods.
    pub way: Option<Way>,
    /// How long one step of the control plane takes.
    pub hop: Span,
    /// How long one update of an add-on takes.
    pub addon: Span,
    /// How long the control plane is left alone after each of its steps.
    pub bake: Span,
}

/// The outcome of the rehearsal of a group's roll.
#[derive(Clone, Debug, PartialEq)]
pub struct Rehearsed {
    /// How long it took.
    pub takes: Span,
    /// What blocked it; nothing where it came to its end.
    pub blockers: Vec<String>,
}

/// Everything that the plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The cluster, with its node groups; without any object where there is no snapshot.
    pub view: &'a View,
    /// How the run of a group would begin, and what makes nodes a group.
    pub run: &'a RunOptions,
    /// What EKS says.
    pub facts: &'a Facts,
    /// API versions that are used and go.
    pub uses: &'a [ApiUse],
    /// Whether anybody looked for these.
    pub scanned: Scanned,
    /// Arguments of kubelets, by group: user data, a NodeConfig.
    pub kubelets: &'a BTreeMap<Text, String>,
    /// The outcomes of rehearsals, by group.
    pub rehearsed: &'a BTreeMap<Text, Rehearsed>,
    /// Versions that EKS does not offer at the moment.
    pub not_offered: &'a BTreeSet<Minor>,
    /// The moment.
    pub now: Time,
}

/// Whether anybody looked for API versions that go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scanned {
    /// Manifests, and the cluster where there is a snapshot.
    Manifests,
    /// The snapshot of the cluster alone.
    ClusterAlone,
    /// Nobody.
    No,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What is done.
    pub what: What,
    /// What stands before it, the worst first.
    pub findings: Vec<Finding>,
    /// How long it takes.
    pub takes: Takes,
    /// Whether there is a way back.
    pub back: Back,
}

/// What is done in a step.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// The control plane goes to its next version.
    ControlPlane(Hop),
    /// It is left alone and watched.
    Bake {
        /// After this step.
        after: Hop,
    },
    /// The nodes of a group are replaced.
    Roll {
        /// The group.
        group: Text,
        /// Its oldest kubelet before.
        from: Minor,
        /// What the new ones run.
        to: Minor,
        /// Nodes that are replaced.
        nodes: usize,
        /// Pods that move.
        pods: usize,
    },
    /// Nodes that somebody else replaces.
    LeftTo {
        /// What they are called.
        name: Text,
        /// Who.
        provisioner: Provisioner,
        /// Their oldest kubelet before.
        from: Minor,
        /// What they run afterwards.
        to: Minor,
        /// How many.
        nodes: usize,
    },
    /// The kube-proxy of the nodes.
    KubeProxy {
        /// What it runs before.
        from: Minor,
        /// Afterwards.
        to: Minor,
    },
    /// An add-on, one version after the other.
    Addon {
        /// Its name.
        name: Text,
        /// What it runs before.
        from: AddonVersion,
        /// The versions that it goes through, the last one being where it stays.
        to: Vec<AddonVersion>,
    },
}

/// How long a step takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// As a rehearsal of it took.
    Rehearsed(Span),
    /// It was assumed.
    Assumed(Span),
    /// Nobody knows.
    Unknown,
}

impl Takes {
    /// The time, if it is known.
    #[must_use]
    pub const fn span(self) -> Option<Span> {
        match self {
            Self::Rehearsed(span) | Self::Assumed(span) => Some(span),
            Self::Unknown => None,
        }
    }
}

impl Step {
    /// What keeps it from being begun.
    pub fn blockers(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Blocking)
    }
}
