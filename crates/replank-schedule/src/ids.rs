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

positions! { NodeId ResourceId DomainId CounterId }

/// Set in the numbers of pods that the View does not have on a node.
const SUPPOSED: u32 = 1 << 31;

/// Where the entry of a pod is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PodPlace {
    /// Of a pod that was observed: as in the View's table.
    Observed(usize),
    /// Of one that is only taken to be somewhere.
    Supposed(usize),
}

impl PodId {
    pub(super) fn new(place: PodPlace) -> Self {
        let number = |at: usize| {
            let number = u32::try_from(at).ok().filter(|number| number & SUPPOSED == 0);
            number.expect("fewer than 2^31 pods fit in memory")
        };
        match place {
            PodPlace::Observed(at) => Self(number(at)),
            PodPlace::Supposed(at) => Self(number(at) | SUPPOSED),
        }
    }

    pub(super) fn place(self) -> PodPlace {
        if self.0 & SUPPOSED == 0 {
            PodPlace::Observed(self.0 as usize)
        } else {
            PodPlace::Supposed((self.0 & !SUPPOSED) as usize)
        }
    }
}

impl DomainId {
    /// The node does not have the label.
    pub(super) const MISSING: Self = Self(0);
}
