//! Numbers that the engine gives to what it knows, each kind its own type.

macro_rules! ids {
    ($( $(#[$doc:meta])* $name:ident; )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(super) struct $name(pub(super) u32);
    )* };
}

ids! {
    /// A node.
    NodeId;
    /// A pod that takes room on a node, or is nominated to one.
    PodId;
    /// A resource other than cpu, memory and ephemeral storage.
    ResourceId;
    /// A pod spec, compiled.
    SpecId;
    /// Namespace and labels of pods.
    LabelId;
    /// Node selector and required node affinity.
    AffinityId;
    /// A list of tolerations.
    TolerationId;
    /// Preferred node affinity.
    PreferenceId;
    /// The images of a pod.
    ImagesId;
    /// An image's name.
    ImageId;
    /// A node label that makes topology domains.
    TopologyId;
    /// One domain of a topology; 0 is "the label is missing".
    DomainId;
    /// A combination of domains of the coarse topologies.
    PartId;
    /// A set of nodes that count for a spread constraint.
    EligibleId;
    /// Something that is counted per node.
    CounterId;
    /// Counts of a counter, summed per domain.
    SumId;
    /// An affinity term that pods on nodes carry.
    TermId;
    /// What pods ask of a node's room.
    ShapeId;
    /// What pods ask of a node itself, whatever is on it.
    SortingId;
    /// What pods ask of a node by itself.
    BaseId;
}

// Numbers that are positions in a list.
macro_rules! positions {
    ($($name:ident)*) => { $(
        impl $name {
            pub(super) fn new(at: usize) -> Self {
                Self(u32::try_from(at).expect("fewer than 2^32 of anything fit in memory"))
            }

            pub(super) fn at(self) -> usize {
                self.0 as usize
            }
        }
    )* };
}

positions! { NodeId PodId ResourceId DomainId CounterId }

impl DomainId {
    /// The node does not have the label.
    pub(super) const MISSING: Self = Self(0);
}
