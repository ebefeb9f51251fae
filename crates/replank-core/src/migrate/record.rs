//! What a migration writes down, and where: whose it is, since when, what there was and what there is to be.
//!
//! On the way that keeps the pods it stands on their ReplicaSet, which outlives the Deployment; else on the twin, so that it goes
//! with it. On the Deployment itself it would go when it is needed.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::labels::Annotations;
use replank_model::object::meta::Key;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::text::{Name, RunId, Uid};
use replank_model::time::Time;
use replank_model::view::View;

use super::judge::Path;
use super::target;
use crate::mark::{EXPIRES, RUN, SINCE};

/// Label of a twin, of its pods and of what its controller makes: the Deployment that it stands in for.
pub const TWIN_OF: &str = "replank.dev/twin-of";
/// Annotation: the Deployment that is migrated.
const OF: &str = "replank.dev/migrates";
/// Annotation: by which way.
const PATH: &str = "replank.dev/migrates-by";
/// Annotation: the manifest that there was.
const BEFORE: &str = "replank.dev/migrates-from";
/// Annotation: the manifest that there is to be.
const AFTER: &str = "replank.dev/migrates-to";
/// Annotation: the Services that had ready endpoints when it began.
const SERVED: &str = "replank.dev/migrates-serving";
/// Annotation: since when the migration stands, and the Service that was seen without an endpoint.
const STOPPED: &str = "replank.dev/migrates-stopped";
/// Annotation on an autoscaler: the Deployment that it scales when no twin stands in.
pub(super) const SCALES: &str = "replank.dev/scales";
/// Bytes that the annotations of one object may have (`TotalAnnotationSizeLimitB`), less room for those of others.
pub(super) const BYTES_MAX: usize = 256 * 1024 - 16 * 1024;

/// What stands there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) run: RunId,
    pub(super) since: Time,
    pub(super) expires: Time,
    pub(super) path: Path,
    /// The manifest that there was.
    pub(super) before: Deployment,
    /// The manifest that there is to be.
    pub(super) after: Deployment,
    /// The Services that had ready endpoints when it began.
    pub(super) served: BTreeSet<Name>,
    /// Since when the migration stands, because that Service was seen without an endpoint.
    pub(super) stopped: Option<(Time, Name)>,
}

/// The object that bears a record.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Holder {
    /// The ReplicaSet of the pods that are kept.
    Set(Arc<ReplicaSet>),
    /// The twin.
    Twin(Arc<Deployment>),
}

impl Record {
    /// The annotations with the record.
    pub(super) fn laid(&self, on: &Annotations) -> Annotations {
        let served: Vec<&str> = self.served.iter().map(Name::as_str).collect();
        let with = lifted(on)
            .with(RUN, self.run.text().clone())
            .with(SINCE, self.since.to_string())
            .with(EXPIRES, self.expires.to_string())
            .with(OF, self.before.meta.name.text().clone())
            .with(PATH, self.path.as_str())
            .with(BEFORE, target::text(&self.before))
            .with(AFTER, target::text(&self.after))
            .with(SERVED, served.join(","));
        match &self.stopped {
            Some((at, service)) => with.with(STOPPED, format!("{at} {service}")),
            None => with,
        }
    }

    /// The record in annotations; `None` where there is none, or none that can be read.
    fn read(annotations: &Annotations) -> Option<Self> {
        let time = |key| annotations.value(key).and_then(|text| text.parse::<Time>().ok());
        let served = annotations.value(SERVED)?.split(',').filter(|name| !name.is_empty());
        let stopped = annotations.value(STOPPED).and_then(|text| {
            let (at, service) = text.split_once(' ')?;
            Some((at.parse().ok()?, Name::from(service)))
        });
        Some(Self {
            run: RunId::new(annotations.get(RUN)?.clone()),
            since: time(SINCE)?,
            expires: time(EXPIRES)?,
            path: Path::of(annotations.value(PATH)?)?,
            before: target::read(annotations.value(BEFORE)?)?,
            after: target::read(annotations.value(AFTER)?)?,
            served: served.map(Name::from).collect(),
            stopped,
        })
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        self.laid(&Annotations::default()).iter().map(|(key, value)| key.len() + value.len()).sum()
    }
}

/// The annotations without any record.
pub(super) fn lifted(annotations: &Annotations) -> Annotations {
    [RUN, SINCE, EXPIRES, OF, PATH, BEFORE, AFTER, SERVED, STOPPED]
        .iter()
        .fold(annotations.clone(), |all, key| all.without(key))
}

/// The record about a Deployment, and what bears it.
pub(super) fn find(view: &View, of: &Key) -> Option<(Record, Holder)> {
    let twin = view.deployments.by_key(&target::twin_key(of));
    let on_twin = twin.and_then(|twin| {
        let record = Record::read(&twin.meta.annotations).filter(|_| is_twin_of(twin, &of.name))?;
        Some((record, Holder::Twin(twin.clone())))
    });
    on_twin.or_else(|| {
        let bears = |set: &ReplicaSet| {
            set.meta.namespace == of.namespace
                && set.meta.annotations.value(OF) == Some(of.name.as_str())
                // The controller copies a twin's annotations to its ReplicaSet.
                && set.meta.annotations.value(PATH) == Some(Path::Keep.as_str())
        };
        let set = view.replica_sets.sorted().into_iter().map(|(_, set)| set).find(|set| bears(set))?;
        Some((Record::read(&set.meta.annotations)?, Holder::Set(set.clone())))
    })
}

/// Whether a Deployment is the twin of that one.
pub(super) fn is_twin_of(twin: &Deployment, of: &Name) -> bool {
    twin.meta.labels.value(TWIN_OF) == Some(of.as_str())
}

/// Whether a Deployment is anybody's twin.
pub(super) fn is_twin(deployment: &Deployment) -> bool {
    deployment.meta.labels.contains_key(TWIN_OF)
}

/// The twin of a Deployment with the record on it.
pub(super) fn twin_with(record: &Record, live: &Deployment) -> Deployment {
    let mut twin = target::twin(live);
    twin.meta.annotations = record.laid(&twin.meta.annotations);
    twin
}

/// The object that bears a record, with another record; `None`: with none.
pub(super) fn rewritten(holder: &Holder, record: Option<&Record>) -> replank_model::object::Object {
    let written = |annotations: &Annotations| match record {
        Some(record) => record.laid(annotations),
        None => lifted(annotations),
    };
    match holder {
        Holder::Set(set) => {
            let mut set = ReplicaSet::clone(set);
            set.meta.annotations = written(&set.meta.annotations);
            set.into()
        }
        Holder::Twin(twin) => {
            let mut twin = Deployment::clone(twin);
            twin.meta.annotations = written(&twin.meta.annotations);
            twin.into()
        }
    }
}

/// Uid of the object that bears a record.
pub(super) fn holder_uid(holder: &Holder) -> &Uid {
    match holder {
        Holder::Set(set) => &set.meta.uid,
        Holder::Twin(twin) => &twin.meta.uid,
    }
}
