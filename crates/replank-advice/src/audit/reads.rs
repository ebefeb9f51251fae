//! Which kinds a rule's findings rest on: see `check::reads`.

use replank_model::object::Kind;

use super::rule::Rule;

impl Rule {
    /// Kinds whose objects can change what a finding of the rule says.
    #[must_use]
    pub fn reads(self) -> &'static [Kind] {
        match self {
            Self::FitsNowhere | Self::SingleNodeFits | Self::NoSpareDomain => &[
                Kind::Node,
                Kind::Pod,
                Kind::PersistentVolumeClaim,
                Kind::PersistentVolume,
                Kind::StorageClass,
            ],
            Self::SelectorMatchesNothing => &[Kind::Node, Kind::Pod, Kind::ReplicaSet],
            Self::TolerationMatchesNothing | Self::TaintUnused => &[Kind::Node, Kind::Pod],
            Self::OnSpot | Self::OnAutoscaled | Self::OneNode | Self::OneZone | Self::ToleratesEverything => {
                &[Kind::Node, Kind::Pod, Kind::ReplicaSet, Kind::Deployment, Kind::StatefulSet]
            }
            Self::AutoscaledUnknown | Self::LabelRefused => &[Kind::Node],
            // It is itself about what is not there.
            Self::NotInSnapshot => &[],
            Self::AddonPlacement => &[Kind::Node, Kind::Pod, Kind::DaemonSet],
        }
    }
}
