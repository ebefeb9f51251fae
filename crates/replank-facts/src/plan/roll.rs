//! What a plan says of a roll.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use replank_model::int_or_string::{IntOrString, Rounding};
use replank_model::object::affinity::Taint;
use replank_model::object::node::Node;
use replank_model::selector::Selector;
use replank_model::text::{GroupName, Text};
use replank_model::time::{Span, Time};
use replank_protocol::record::NAMESPACE;

use super::care::Care;
use super::external::Provider;
use super::nodes::{VersionBound, VersionPrefix};
use crate::group_facts::Facts;
use crate::images::Which;
use crate::release::ReleaseVersion;

/// `apiVersion` of a plan.
pub const API_VERSION: &str = "replank.dev/v1alpha1";

/// `kind` of a plan.
pub const KIND: &str = "NodeRoll";

/// A roll: which nodes are replaced, by what, and how carefully.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Name.
    pub name: Text,
    /// The namespace in which the record of its run stands.
    pub namespace: Text,
    /// Which nodes are replaced.
    pub nodes: Chosen,
    /// What new nodes are.
    pub target: Target,
    /// Who replaces the nodes.
    pub provider: Provider,
    /// How many nodes there are at any moment.
    pub budget: Budget,
    /// Which nodes go first.
    pub order: Order,
    /// Nodes that are tried out before the others.
    pub canary: Option<Canary>,
    /// How fast.
    pub pace: Pace,
    /// What is done about batch pods.
    pub batch: Batch,
    /// What is done about pods with data in an emptyDir.
    pub local_storage: LocalStorage,
    /// What is done about pods that nobody would make again.
    pub bare_pods: BarePods,
    /// Lifecycle hooks whose actions Replank completes, besides its own: all others are their owners'.
    pub lifecycle_hooks: BTreeSet<Text>,
    /// How it is watched, paused and taken back.
    pub care: Care,
    /// What is done when it cannot go on.
    pub on_failure: OnFailure,
    /// Without progress for so long, the run is blocked.
    pub progress_deadline: Span,
    /// Longest time for the whole run.
    pub deadline: Span,
    /// What is said of node groups that no node can show; nothing of a run depends on it.
    pub node_groups: Vec<Facts>,
}

/// Which nodes are chosen: all conditions must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Groups by name, or nodes by label.
    pub by: ChosenBy,
    /// Only nodes whose kubelet has such a version.
    pub kubelet_version: Option<VersionBound>,
    /// Only nodes whose instances were launched after this moment: on the way back from another group, those that the run made there.
    pub launched_after: Option<Time>,
}

impl Chosen {
    /// Whether a node of a group is chosen, regardless of its provisioner and its state.
    #[must_use]
    pub fn has(&self, node: &Node, group: Option<&GroupName>) -> bool {
        let version = &node.status.node_info.kubelet_version;
        self.has_alike(node, group)
            && self.kubelet_version.as_ref().is_none_or(|bound| bound.matches(version))
    }

    /// Whether a node of a group is chosen, whatever its kubelet's version: one that may come in the place of a chosen one.
    #[must_use]
    pub fn has_alike(&self, node: &Node, group: Option<&GroupName>) -> bool {
        match &self.by {
            ChosenBy::Groups(names) => group.is_some_and(|group| names.contains(group)),
            ChosenBy::Selector(selector) => selector.matches(|key| node.meta.labels.value(key)),
        }
    }

    /// Whether an instance is as old or young as it has to be to be chosen.
    #[must_use]
    pub fn may_be_of(&self, launched: Option<Time>) -> bool {
        self.launched_after.is_none_or(|after| launched.is_some_and(|launched| launched > after))
    }
}

/// How nodes are chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChosenBy {
    /// The nodes of these groups, sorted.
    Groups(Vec<GroupName>),
    /// The nodes that a selector matches, of whichever group.
    Selector(Selector),
}

/// What new nodes are. What is absent stays as the launch template of the group has it in which they come up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// The group in which they come up, if not that of the nodes in whose place they come.
    pub group: Option<GroupName>,
    /// Further groups in which they come up: on the way back, all that nodes had left, [`Target::group`] being the first of them.
    pub further: Vec<GroupName>,
    /// Kubelet version.
    pub kubernetes_version: Option<VersionPrefix>,
    /// Machine image.
    pub image: Option<Text>,
    /// Release of EKS's image, of managed node groups.
    pub release_version: Option<ReleaseVersion>,
    /// Releases that must not be used, by somebody's own list. It says nothing of new nodes.
    pub bad_releases: Vec<Which>,
    /// Labels that are set (`Some`) or taken away (`None`), sorted by key.
    pub labels: Vec<(Text, Option<Text>)>,
    /// Taints that are set or taken away.
    pub taints: Vec<TaintChange>,
    /// What nodes are made from: the group's own launch template with the differences above, or the one from before the run
    /// that is being rolled back.
    pub base: Base,
}

/// See [`Target::base`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Base {
    /// The group's launch template as it is.
    #[default]
    Current,
    /// The launch template that a tag on the group names ([`replank_protocol::mark::ORIGINAL_TEMPLATE`]).
    Original,
}

/// One difference of taints.
#[derive(Clone, Debug, PartialEq)]
pub enum TaintChange {
    /// The taint is there, instead of one of the same key and effect.
    Set(Taint),
    /// No taint of this key and effect is there; the value does not count.
    Remove(Taint),
}

impl Target {
    /// Whether nodes move into a group from others.
    #[must_use]
    pub fn lands_in(&self, group: &GroupName) -> bool {
        self.group.as_ref() == Some(group) || self.further.contains(group)
    }

    /// Whether nothing is said of new nodes: like is replaced with like, and every node that was there before the run is
    /// old.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self { bad_releases: self.bad_releases.clone(), ..Self::default() }
    }

    /// Whether a release is on the list of those that must not be used.
    #[must_use]
    pub fn is_bad(&self, release: &ReleaseVersion) -> bool {
        self.bad_releases.iter().any(|bad| bad.is_release(release))
    }

    /// The kubelet's version that is asked for, by itself or as that of a release.
    #[must_use]
    pub fn version(&self) -> Option<VersionPrefix> {
        let of_release = self.release_version.as_ref().and_then(|release| release.version().parse().ok());
        of_release.or_else(|| self.kubernetes_version.clone())
    }
}

/// How many nodes a group has at any moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Nodes beyond what the group wanted before the run.
    pub surge: Surge,
    /// Nodes short of it.
    pub max_unavailable: IntOrString,
    /// Nodes of the group that stay Ready in each of its zones.
    pub min_ready_per_zone: u32,
}

/// Nodes beyond what a group wanted before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Surge {
    /// One in each zone in which the group launches. An Auto Scaling group launches where it has fewest instances: only with one
    /// for each zone does every zone surely get a new node, for pods that are bound to theirs.
    PerZone,
    /// So many, or such a share.
    Nodes(IntOrString),
}

impl Surge {
    /// The word for one in each zone.
    pub const PER_ZONE: &str = "perZone";

    /// How many in a group that wanted `nodes` nodes before the run and launches in `zones` zones.
    #[must_use]
    pub fn count(&self, nodes: u32, zones: usize) -> u32 {
        match self {
            Self::PerZone => u32::try_from(zones.max(1)).unwrap_or(u32::MAX),
            Self::Nodes(value) => share(value, nodes, Rounding::Up),
        }
    }

    /// Whether it is none, whatever the group.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        match self {
            Self::PerZone => false,
            Self::Nodes(value) => value.scaled(i64::from(i32::MAX), Rounding::Up) == Ok(0),
        }
    }
}

impl From<i32> for Surge {
    fn from(nodes: i32) -> Self {
        Self::Nodes(nodes.into())
    }
}

impl fmt::Display for Surge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PerZone => f.write_str(Self::PER_ZONE),
            Self::Nodes(value) => value.fmt(f),
        }
    }
}

/// As a plan has it: `perZone`, a count, or a percentage.
impl FromStr for Surge {
    type Err = NotSurge;

    fn from_str(text: &str) -> Result<Self, NotSurge> {
        if text == Self::PER_ZONE {
            return Ok(Self::PerZone);
        }
        if let Ok(count) = text.parse::<u16>() {
            return Ok(Self::from(i32::from(count)));
        }
        let value = IntOrString::String(text.into());
        let percent = value.scaled(100, Rounding::Up).map_err(|_| NotSurge)?;
        if (0..=100).contains(&percent) { Ok(Self::Nodes(value)) } else { Err(NotSurge) }
    }
}

/// Why a text is not a surge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a number of nodes, a percentage such as 25%, or perZone")]
pub struct NotSurge;

/// A count, or a percentage of `nodes`.
pub(super) fn share(value: &IntOrString, nodes: u32, rounding: Rounding) -> u32 {
    let scaled = value.scaled(i64::from(nodes), rounding).expect("a plan holds counts and percentages only");
    u32::try_from(scaled.max(0)).unwrap_or(u32::MAX)
}

/// Which nodes go first. Nodes with running batch pods go last in every order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Fewest pods under a disruption budget, then fewest pods that move, then oldest, then by name.
    LeastDisruption,
    /// By creation, then by name.
    Oldest,
    /// By zone, then by creation, then by name; no node of a later zone is begun while one of an earlier zone is drained.
    ZoneByZone,
}

/// Nodes that are tried out before the others, in each group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Canary {
    /// How many.
    pub nodes: IntOrString,
    /// How long the new ones are watched before the others follow.
    pub soak: Span,
}

impl Canary {
    /// How many of a group that wanted `nodes` nodes before the run.
    #[must_use]
    pub fn count(&self, nodes: u32) -> u32 {
        share(&self.nodes, nodes, Rounding::Up).max(1)
    }
}

/// How fast nodes follow each other, in the run as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the beginning or the end of one node's drain to the beginning of the next.
    pub between_nodes: Span,
    /// Nodes that are drained at once.
    pub parallel: u32,
}

/// What is done about pods that must not be ended half way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Which pods are batch pods besides those that are known by their owner or annotation.
    pub selector: Option<Selector>,
    /// How long they are waited for, from the cordon of their node on.
    pub wait: Span,
    /// What is done then.
    pub on_deadline: OnDeadline,
}

/// What is done about a batch pod that still runs at the deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDeadline {
    /// Its node is held; when everything else is done, the run is blocked.
    Pause,
    /// It is evicted like any other pod.
    Evict,
    /// Its node is left out of the run and uncordoned.
    Skip,
}

/// What is done about pods with data in an emptyDir.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalStorage {
    /// They are moved; the data is lost.
    Allow,
    /// Their nodes are held.
    Refuse,
}

/// What is done about pods without a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarePods {
    /// They are evicted; nobody makes them again.
    Evict,
    /// Their nodes are held.
    Refuse,
}

/// What is done when the run cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing more is begun; what was not begun is released.
    Pause,
    /// The same; then the groups get their former launch template back, and what was replaced is replaced again by nodes as
    /// they were before the run.
    Rollback,
}

impl Plan {
    /// A plan with defaults for all nodes of some groups: what `--roll` stands for.
    #[must_use]
    pub fn of_groups(name: impl Into<Text>, mut groups: Vec<GroupName>, target: Target) -> Self {
        groups.sort();
        groups.dedup();
        Self {
            name: name.into(),
            namespace: NAMESPACE.into(),
            nodes: Chosen { by: ChosenBy::Groups(groups), kubelet_version: None, launched_after: None },
            target,
            provider: Provider::Automatic,
            budget: Budget { surge: Surge::PerZone, max_unavailable: 0.into(), min_ready_per_zone: 0 },
            order: Order::LeastDisruption,
            canary: None,
            pace: Pace { between_nodes: Span::ZERO, parallel: 1 },
            batch: Batch { selector: None, wait: Span::from_minutes(6 * 60), on_deadline: OnDeadline::Pause },
            local_storage: LocalStorage::Allow,
            bare_pods: BarePods::Refuse,
            lifecycle_hooks: BTreeSet::new(),
            care: Care::default(),
            on_failure: OnFailure::Pause,
            progress_deadline: Span::from_minutes(60),
            deadline: Span::from_minutes(7 * 24 * 60),
            node_groups: Vec::new(),
        }
    }
}
