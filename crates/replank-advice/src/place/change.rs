//! What could be changed for a pod to fit: a closed list, each with everything that it takes.

use std::fmt;

use replank_model::object::affinity::{NodeSelectorRequirement, Taint};
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, Name, NodeName, Text, Zone};
use serde::{Serialize, Serializer};

use replank_facts::amount::{amount, rounded};
use replank_facts::why::Required;
use replank_facts::why::Shown;

/// One change. As JSON, `change` names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Change {
    /// The pod tolerates a taint.
    Tolerate(Taint),
    /// An entry of the node selector asks for another value.
    Select {
        /// Label key.
        key: Text,
        /// The value that no suitable node has.
        from: Text,
        /// The value that one has.
        to: Text,
        /// Nodes that have the value that it asks for.
        nodes: usize,
    },
    /// An entry of the node selector goes.
    Unselect {
        /// Label key.
        key: Text,
        /// Its value.
        value: Text,
        /// Nodes that have it.
        nodes: usize,
    },
    /// A requirement of node affinity lets one more value in.
    Admit {
        /// Position of the term.
        term: usize,
        /// Label key.
        key: Text,
        /// The value.
        value: Text,
    },
    /// A requirement of node affinity goes.
    Unrequire {
        /// Position of the term.
        term: usize,
        /// The requirement.
        requirement: NodeSelectorRequirement,
    },
    /// Required node affinity goes.
    UnrequireAll,
    /// The pod asks for less.
    Request {
        /// The resource.
        resource: Text,
        /// What the pod asks for: thousandths of cpu, bytes, or pieces.
        from: i64,
        /// What it may ask for.
        to: i64,
    },
    /// The pod does without a port of the host.
    ReleasePort {
        /// The number.
        port: i32,
        /// TCP, UDP or SCTP.
        protocol: Text,
    },
    /// A spread constraint allows more skew.
    Skew {
        /// Position among the pod's constraints.
        constraint: usize,
        /// Node label of the domains.
        topology_key: Text,
        /// The skew allowed.
        from: i32,
        /// The skew that would do.
        to: i32,
    },
    /// A spread constraint is only preferred (ScheduleAnyway).
    SpreadAnyway {
        /// Position among the pod's constraints.
        constraint: usize,
        /// Node label of the domains.
        topology_key: Text,
    },
    /// A term of required anti-affinity is only preferred.
    PreferApart {
        /// Position of the term.
        term: usize,
        /// Node label of the domains.
        topology_key: Text,
    },
    /// Required pod affinity is only preferred.
    PreferNear,
    /// A claim that the pod names is made.
    MakeClaim {
        /// The claim.
        #[serde(serialize_with = "as_text")]
        claim: Key,
        /// Its storage class.
        class: Name,
    },
    /// A claim asks for a storage class that there is; it has to be made anew.
    Reclass {
        /// The claim.
        #[serde(serialize_with = "as_text")]
        claim: Key,
        /// The class that it names; empty if it names none.
        from: Name,
        /// A class that makes volumes where the pod goes.
        to: Name,
    },
    /// A claim is made anew, empty: its volume is out of reach.
    RenewClaim {
        /// The claim.
        #[serde(serialize_with = "as_text")]
        claim: Key,
        /// The volume, whose data does not move.
        volume: Name,
    },
    /// The pod gets a priority class by which it may push others out.
    Prioritize {
        /// The class.
        class: Name,
        /// Its value.
        value: i32,
        /// The node on which room is made.
        node: NodeName,
        /// The pods that are evicted.
        #[serde(serialize_with = "as_texts")]
        victims: Vec<Key>,
    },
    /// A node gets a label.
    Label {
        /// The node.
        node: NodeName,
        /// Label key.
        key: Text,
        /// The value that it has, if it has the label.
        from: Option<Text>,
        /// The value that it gets.
        to: Text,
    },
    /// A node loses a label.
    Unlabel {
        /// The node.
        node: NodeName,
        /// Label key.
        key: Text,
    },
    /// A node is uncordoned.
    Uncordon {
        /// The node.
        node: NodeName,
    },
    /// A node loses a taint.
    Untaint {
        /// The node.
        node: NodeName,
        /// The taint.
        taint: Taint,
    },
    /// So much of a resource is freed on a node: pods there go or ask for less.
    Free {
        /// The node.
        node: NodeName,
        /// The resource; `pods` for places.
        resource: Text,
        /// How much.
        amount: i64,
        /// Of how much.
        capacity: i64,
    },
    /// One more node of a group, empty but for its DaemonSet pods.
    AddNode {
        /// The group.
        group: GroupName,
        /// The zone, where it matters.
        zone: Option<Zone>,
        /// The instance type.
        instance_type: Text,
    },
    /// The node that a group adds has more of a resource than those there are: another instance type, or a group of its own.
    Enlarge {
        /// The group that it is like.
        group: GroupName,
        /// The resource.
        resource: Text,
        /// What nodes of the group have for pods.
        from: i64,
        /// What it takes.
        to: i64,
    },
}

fn as_text<S: Serializer>(key: &Key, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

fn as_texts<S: Serializer>(keys: &[Key], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(keys.iter().map(ToString::to_string))
}

/// How much a change touches, the least first: by the effort to undo it and by how many others it affects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Weight(pub u32, pub u64);

impl Change {
    /// The node that is changed, if it is one that there is.
    #[must_use]
    pub fn node(&self) -> Option<&NodeName> {
        match self {
            Self::Label { node, .. }
            | Self::Unlabel { node, .. }
            | Self::Uncordon { node }
            | Self::Untaint { node, .. }
            | Self::Free { node, .. } => Some(node),
            Self::Tolerate(_)
            | Self::Select { .. }
            | Self::Unselect { .. }
            | Self::Admit { .. }
            | Self::Unrequire { .. }
            | Self::UnrequireAll
            | Self::Request { .. }
            | Self::ReleasePort { .. }
            | Self::Skew { .. }
            | Self::SpreadAnyway { .. }
            | Self::PreferApart { .. }
            | Self::PreferNear
            | Self::MakeClaim { .. }
            | Self::Reclass { .. }
            | Self::RenewClaim { .. }
            | Self::Prioritize { .. }
            | Self::AddNode { .. }
            | Self::Enlarge { .. } => None,
        }
    }

    /// How intrusive the change is, and by what amount.
    ///
    /// The steps: a slip that is corrected; what concerns this pod alone; a node that is opened to it; what gives up
    /// something that the pod's author wanted; what costs others something; what loses data.
    #[must_use]
    pub fn weight(&self) -> Weight {
        match self {
            Self::Select { from, to, .. } if is_slip(from, to) => Weight(1, 0),
            Self::Tolerate(_) | Self::Admit { .. } | Self::Uncordon { .. } | Self::MakeClaim { .. } => {
                Weight(2, 0)
            }
            Self::Label { from: None, .. } | Self::AddNode { .. } => Weight(3, 0),
            Self::Skew { from, to, .. } => Weight(3, u64::from(to.abs_diff(*from))),
            Self::Request { from, to, .. } => {
                let percent = percent(from - to, *from);
                Weight(
                    if percent <= 10 {
                        3
                    } else if percent <= 50 {
                        4
                    } else {
                        6
                    },
                    percent,
                )
            }
            // That nobody has what is asked for is a mistake; that others have it is meant.
            Self::Select { nodes: 1.., .. } | Self::Unselect { nodes: 1.., .. } => Weight(6, 0),
            Self::Select { .. }
            | Self::Unselect { .. }
            | Self::Unrequire { .. }
            | Self::Unlabel { .. }
            | Self::SpreadAnyway { .. }
            | Self::PreferApart { .. }
            | Self::PreferNear
            | Self::Reclass { .. } => Weight(4, 0),
            Self::UnrequireAll | Self::ReleasePort { .. } | Self::Label { from: Some(_), .. } => Weight(5, 0),
            Self::Enlarge { from, to, .. } => Weight(4, percent(to - from, (*from).max(1))),
            Self::Prioritize { victims, .. } => Weight(5, victims.len() as u64),
            Self::Free { amount, capacity, .. } => Weight(5, percent(*amount, *capacity)),
            Self::Untaint { .. } => Weight(6, 0),
            Self::RenewClaim { .. } => Weight(8, 0),
        }
    }
}

/// Whether one text looks like the other mistyped.
pub(super) fn is_slip(from: &str, to: &str) -> bool {
    replank_facts::plan::nearest(from, [to]).is_some()
}

fn percent(part: i64, whole: i64) -> u64 {
    let percent = i128::from(part) * 100 / i128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(0)
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tolerate(taint) => write!(f, "tolerate the taint {}", Shown(taint)),
            Self::Select { key, from, to, .. } => {
                write!(f, "select nodes with {key}={to} instead of {key}={from}")
            }
            Self::Unselect { key, value, .. } => write!(f, "remove {key}={value} from the node selector"),
            Self::Admit { key, value, .. } => write!(f, "allow {key}={value} in the node affinity"),
            Self::Unrequire { requirement, .. } => {
                write!(f, "remove \"{}\" from required node affinity", Required(requirement))
            }
            Self::UnrequireAll => f.write_str("remove required node affinity"),
            Self::Request { resource, from, to } => {
                let (less, to) = (amount(resource, from - to), amount(resource, *to));
                write!(f, "request {less} less {resource}: {to} instead of {}", amount(resource, *from))
            }
            Self::ReleasePort { port, protocol } => write!(f, "remove host port {port}/{protocol}"),
            Self::Skew { topology_key, from, to, .. } => {
                write!(f, "raise maxSkew over {topology_key} from {from} to {to}")
            }
            Self::SpreadAnyway { topology_key, .. } => {
                write!(f, "make the topology spread over {topology_key} preferred (ScheduleAnyway)")
            }
            Self::PreferApart { topology_key, .. } => {
                write!(f, "make the anti-affinity over {topology_key} preferred")
            }
            Self::PreferNear => f.write_str("make the pod affinity preferred"),
            Self::MakeClaim { claim, class } => {
                write!(f, "create the PersistentVolumeClaim {claim} (class {class})")
            }
            Self::Reclass { claim, from, to } if from.is_empty() => {
                write!(f, "recreate the PersistentVolumeClaim {claim} with the storage class {to}")
            }
            Self::Reclass { claim, from, to } => write!(
                f,
                "recreate the PersistentVolumeClaim {claim} with the storage class {to} instead of {from}"
            ),
            Self::RenewClaim { claim, volume } => write!(
                f,
                "recreate the PersistentVolumeClaim {claim} empty: the data of {volume} does not move"
            ),
            Self::Prioritize { class, value, node, victims } => {
                let pods = if victims.len() == 1 { "pod" } else { "pods" };
                write!(
                    f,
                    "set the priority class {class} ({value}): {} {pods} on {node} would be evicted",
                    victims.len()
                )
            }
            Self::Label { node, key, from: None, to } => write!(f, "label the node {node} {key}={to}"),
            Self::Label { node, key, from: Some(from), to } => {
                write!(f, "label the node {node} {key}={to} instead of {key}={from}")
            }
            Self::Unlabel { node, key } => write!(f, "remove the label {key} from the node {node}"),
            Self::Uncordon { node } => write!(f, "uncordon the node {node}"),
            Self::Untaint { node, taint } => {
                write!(f, "remove the taint {} from the node {node}", Shown(taint))
            }
            Self::Free { node, resource, amount: 1, .. } if &**resource == "pods" => {
                write!(f, "remove a pod from the node {node}")
            }
            Self::Free { node, resource, amount: wanted, .. } => {
                write!(f, "free {} {resource} on the node {node}", amount(resource, *wanted))
            }
            Self::AddNode { group, zone, instance_type } => {
                write!(f, "add a node to the group {group}")?;
                if let Some(zone) = zone.as_ref().filter(|zone| !zone.is_empty()) {
                    write!(f, " in {zone}")?;
                }
                if instance_type.is_empty() { Ok(()) } else { write!(f, " ({instance_type})") }
            }
            Self::Enlarge { resource, from: 0, to, .. } => {
                write!(f, "with {} {resource}, which its nodes do not have", amount(resource, *to))
            }
            Self::Enlarge { resource, from, to, .. } => {
                let (to, from) = (rounded(resource, *to), rounded(resource, *from));
                write!(f, "with {to} {resource} for pods instead of {from}")
            }
        }
    }
}
