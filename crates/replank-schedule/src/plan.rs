//! What pods of one class ask for, with everything in it numbered.
//!
//! Pods with one spec, one set of labels and one owner ask the same of the cluster; it is compiled once.

use std::sync::Arc;

use replank_model::labels::TextMap;
use replank_model::object::pod::PodSpec;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Name, NodeName, Text};

use super::amounts::Request;
use super::ids::{
    AffinityId, BaseId, CounterId, EligibleId, ImagesId, LabelId, PreferenceId, SpecId, SumId, TolerationId,
    TopologyId,
};
use super::volumes::KnownVolumes;

/// What decides how a pod is treated.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ClassKey {
    pub(super) spec: SpecId,
    pub(super) labels: LabelId,
    pub(super) owner: Option<Owner>,
    /// Whether the pod is pinned to a node.
    pub(super) is_pinned: bool,
    /// The node it is pinned to, where spread constraints make that matter for the class.
    pub(super) pin: Option<NodeName>,
}

/// An owner whose selector tells siblings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Owner {
    ReplicationController(Name),
    ReplicaSet(Name),
    StatefulSet(Name),
}

/// A spread constraint that must hold.
#[derive(Clone, Debug)]
pub(super) struct Hard {
    pub(super) topology: TopologyId,
    pub(super) max_skew: i64,
    pub(super) min_domains: i64,
    pub(super) eligible: EligibleId,
    pub(super) selects: Selects,
    /// Whether the pod itself counts.
    pub(super) is_self: bool,
}

/// Which pods a spread constraint counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selects {
    /// Those of a counter.
    Counted(CounterId, SumId),
    /// The selector is empty. Pods that are there count as none (`countPodsMatchSelector`), but one that preemption
    /// takes away or puts back counts.
    Everything,
}

/// A spread constraint that only scores.
#[derive(Clone, Debug)]
pub(super) struct Soft {
    pub(super) topology: TopologyId,
    /// Host names are counted on the node itself.
    pub(super) is_hostname: bool,
    pub(super) max_skew: i64,
    /// `None` if the selector is empty.
    pub(super) counted: Option<SoftCount>,
}

/// Where the pods are counted that a spread constraint means which only scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SoftCount {
    /// On the node itself: a host name's domain is one node, and no sum is kept.
    OnNode(CounterId),
    /// In the domain.
    InDomain(SumId),
}

/// Spread constraints that only score.
#[derive(Clone, Debug, Default)]
pub(super) struct SoftSpread {
    pub(super) constraints: Vec<Soft>,
    /// Whether nodes that lack one of the labels are left out.
    pub(super) needs_all_labels: bool,
}

/// Required affinity: pods that match all terms must be near, in every term's topology.
#[derive(Clone, Debug)]
pub(super) struct Near {
    pub(super) counter: CounterId,
    pub(super) terms: Vec<(TopologyId, SumId)>,
    /// Whether the pod matches its own terms: then the first of its kind may go anywhere.
    pub(super) is_self: bool,
}

/// A term that is counted per domain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counted {
    pub(super) topology: TopologyId,
    pub(super) counter: CounterId,
    pub(super) sum: SumId,
}

/// What decides about default constraints, and the result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Siblings {
    pub(super) services: TextMap,
    pub(super) owner: Option<OwnerSelector>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnerSelector {
    Set(TextMap),
    Object(LabelSelector),
}

/// What pods of a class ask for.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) key: ClassKey,
    pub(super) spec: Arc<PodSpec>,
    pub(super) request: Request,
    pub(super) affinity: Option<AffinityId>,
    pub(super) tolerations: TolerationId,
    /// Preferred node affinity, if there is some; or why it cannot be scored.
    pub(super) preference: Result<Option<PreferenceId>, Text>,
    pub(super) images: ImagesId,
    pub(super) features: u8,
    pub(super) hard: Vec<Hard>,
    pub(super) soft: SoftSpread,
    /// Affinity terms that cannot be read.
    pub(super) unreadable: Option<Text>,
    pub(super) near: Option<Near>,
    pub(super) apart: Vec<Counted>,
    /// Preferred terms with their weights.
    pub(super) liked: Vec<(Counted, i64)>,
    /// The base that scores nodes for pods of the class.
    pub(super) base: BaseId,
    /// How many images had appeared when it was chosen.
    pub(super) arrivals_seen: u64,
    /// What the constraints by default were made of; `None` if the pod has constraints of its own.
    pub(super) siblings: Option<Siblings>,
    /// Generations of the namespace's services and of all owners at that time.
    pub(super) seen: (u64, u64),
    /// Whether nodes decide each by itself about its pods, their volumes aside ([`super::certain_fit`]).
    pub(super) is_by_node: bool,
    /// What its pods' volumes ask for, where that is known.
    pub(super) volumes: Option<KnownVolumes>,
}

/// The selector of an owner, as it is in the View.
#[derive(Clone, Copy, Debug)]
pub(super) enum OwnerSelectorOf<'a> {
    /// Of a ReplicationController.
    Set(&'a TextMap),
    /// Of a ReplicaSet or StatefulSet.
    Object(&'a LabelSelector),
}

impl Siblings {
    /// The pods that belong together with this one (`DefaultSelector`).
    pub(super) fn selector(&self) -> Selector {
        let mut set = self.services.clone();
        let mut more = Vec::new();
        match &self.owner {
            None => {}
            Some(OwnerSelector::Set(own)) => {
                for (key, value) in own.pairs() {
                    set = set.with(key.clone(), value.clone());
                }
            }
            Some(OwnerSelector::Object(selector)) => {
                if let Ok(selector) = selector.compile() {
                    more.extend(selector.requirements().iter().cloned());
                }
            }
        }
        let set = Selector::from_set(set.pairs().iter().cloned());
        Selector::new(set.requirements().iter().cloned().chain(more).collect())
    }
}
