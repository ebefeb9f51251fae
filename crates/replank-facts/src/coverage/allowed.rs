//! What a user accepts to be missing, by name.

use std::collections::BTreeSet;
use std::str::FromStr;

use replank_model::object::Kind;

/// What a user accepts to be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// Parts that could not be read.
    pub read: bool,
    /// Data of the program that ends too early.
    pub data: bool,
    /// What no file of an account says.
    pub aws: bool,
    /// Kinds.
    kinds: BTreeSet<&'static str>,
}

/// A name that is none of those that can be accepted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a resource (such as poddisruptionbudgets, nodes, pods), `read`, `data` or `aws`, found {0:?}"
)]
pub struct UnknownName(String);

/// kubectl's short names.
const SHORT: [(&str, Kind); 14] = [
    ("cj", Kind::CronJob),
    ("deploy", Kind::Deployment),
    ("ds", Kind::DaemonSet),
    ("hpa", Kind::HorizontalPodAutoscaler),
    ("no", Kind::Node),
    ("ns", Kind::Namespace),
    ("pdb", Kind::PodDisruptionBudget),
    ("po", Kind::Pod),
    ("pv", Kind::PersistentVolume),
    ("pvc", Kind::PersistentVolumeClaim),
    ("rc", Kind::ReplicationController),
    ("rs", Kind::ReplicaSet),
    ("sc", Kind::StorageClass),
    ("sts", Kind::StatefulSet),
];

impl Allowed {
    /// All that several names accept.
    #[must_use]
    pub fn all<'a>(names: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for one in names {
            all.read |= one.read;
            all.data |= one.data;
            all.aws |= one.aws;
            all.kinds.extend(&one.kinds);
        }
        all
    }

    pub(super) fn allows(&self, kind: &str) -> bool {
        self.kinds.contains(kind)
    }
}

impl FromStr for Allowed {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let lower = name.to_ascii_lowercase();
        match &*lower {
            "read" => return Ok(Self { read: true, ..Self::default() }),
            "data" => return Ok(Self { data: true, ..Self::default() }),
            "aws" => return Ok(Self { aws: true, ..Self::default() }),
            _ => {}
        }
        let short = SHORT.iter().find(|(short, _)| *short == lower).map(|(_, kind)| *kind);
        let long = || {
            let mut kinds = Kind::TYPED.iter().copied();
            kinds.find(|kind| kind.plural() == lower || kind.as_str().eq_ignore_ascii_case(&lower))
        };
        let kind = short.or_else(long).ok_or_else(|| UnknownName(name.to_owned()))?;
        Ok(Self { kinds: BTreeSet::from([kind.as_str()]), ..Self::default() })
    }
}
