//! What a migration writes down, and where: whose it is, since when, what there was and what there is to be.
//!
//! It stands in a ConfigMap of its own. On any of the objects that come and go it would be lost with the one that somebody deletes
//! at the wrong moment, and with it what is to be made again. A finalizer keeps it where somebody deletes the ConfigMap itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object, render};
use replank_model::text::{Name, RunId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::{Map, Value, json};

use super::judge::Path;
use super::{subject, target};
use replank_protocol::hindrance::ScaleDown;
use replank_protocol::mark::version::{self, Version};
use replank_protocol::mark::{EXPIRES, OWNER, RUN, SINCE, VERSION};
use replank_protocol::owner::Owner;
use replank_protocol::record::RECORD;

pub(super) use super::record_name::{BYTES_MAX, SCALES};
pub use super::record_name::{TWIN_OF, record_key};
/// Finalizer of the ConfigMap: it stays until the migration is over.
const FINALIZER: &str = "replank.dev/migration";

/// Members of the ConfigMap's data.
mod member {
    /// Who scales the Deployment down, where a Rollout takes over.
    pub(super) const SCALE_DOWN: &str = "scaleDown";
    /// Which path to take.
    pub(super) const PATH: &str = "way";
    /// The manifest that there was.
    pub(super) const BEFORE: &str = "before";
    /// The manifest that there is to be.
    pub(super) const AFTER: &str = "after";
    /// The ReplicaSet whose pods are kept.
    pub(super) const SET: &str = "replicaSet";
    /// The Services that had ready endpoints when it began.
    pub(super) const SERVED: &str = "services";
    /// Since when the migration stands, and the Service that was seen without an endpoint.
    pub(super) const STOPPED: &str = "stopped";
}

/// A manifest as it stands in a record.
pub(super) trait Written: Clone {
    /// Its text.
    fn text(&self) -> Text;

    /// From its text; `None` if it cannot be read.
    fn read(text: &str) -> Option<Self>;

    /// Namespace and name.
    fn key(&self) -> Key;

    /// Its kind.
    fn kind(&self) -> Kind;
}

impl Written for Deployment {
    fn text(&self) -> Text {
        target::text(self)
    }

    fn read(text: &str) -> Option<Self> {
        target::read(text)
    }

    fn key(&self) -> Key {
        self.meta.key()
    }

    fn kind(&self) -> Kind {
        Kind::Deployment
    }
}

impl Written for Object {
    fn text(&self) -> Text {
        Text::from(render(&subject::bare(self)).to_string())
    }

    fn read(text: &str) -> Option<Self> {
        Object::from_json(serde_json::from_str(text).ok()?).ok()
    }

    fn key(&self) -> Key {
        self.meta().key()
    }

    fn kind(&self) -> Kind {
        Object::kind(self)
    }
}

/// What stands there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record<W = Deployment> {
    pub(super) run: RunId,
    pub(super) since: Time,
    pub(super) expires: Time,
    pub(super) path: Path,
    /// Who scales the Deployment down, where a Rollout takes over.
    pub(super) scale_down: ScaleDown,
    /// The manifest that there was.
    pub(super) before: W,
    /// The manifest that there is to be.
    pub(super) after: W,
    /// The ReplicaSet of the pods that are kept, on the way that keeps them.
    pub(super) set: Option<Name>,
    /// The Services that had ready endpoints when it began.
    pub(super) served: BTreeSet<Name>,
    /// Since when the migration stands, because that Service was seen without an endpoint.
    pub(super) stopped: Option<(Time, Name)>,
}

impl<W: Written> Record<W> {
    fn data(&self) -> Map<String, Value> {
        let served: Vec<&str> = self.served.iter().map(Name::as_str).collect();
        let mut data = Map::new();
        let mut put = |name: &str, text: String| drop(data.insert(name.to_owned(), text.into()));
        put(member::PATH, self.path.as_str().to_owned());
        put(member::SCALE_DOWN, self.scale_down.as_str().to_owned());
        put(member::BEFORE, self.before.text().to_string());
        put(member::AFTER, self.after.text().to_string());
        put(member::SERVED, served.join(","));
        if let Some(set) = &self.set {
            put(member::SET, set.to_string());
        }
        if let Some((at, service)) = &self.stopped {
            put(member::STOPPED, format!("{at} {service}"));
        }
        data
    }

    /// The ConfigMap with the record, to be made.
    pub(super) fn object(&self) -> Object {
        let key = record_key(self.before.kind(), &self.before.key());
        let value = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": key.name.as_str(), "namespace": key.namespace.as_str(),
                "labels": {RECORD: Owner::Migration.as_str()}, "finalizers": [FINALIZER],
                "annotations": {VERSION: version::WRITTEN.to_string(), OWNER: Owner::Migration.as_str(), RUN: self.run.as_str(), SINCE: self.since.to_string(), EXPIRES: self.expires.to_string()}},
            "data": self.data()});
        read_back(value)
    }

    /// The ConfigMap with another record than it has.
    pub(super) fn rewritten(&self, holder: &Arc<Other>) -> Object {
        let mut value = render(&Object::Other(holder.clone()));
        value["data"] = self.data().into();
        read_back(value)
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        let length = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
        self.data().iter().map(length).sum()
    }

    /// The record in a ConfigMap; `None` where there is none, or none that can be read.
    fn read(holder: &Arc<Other>) -> Option<Self> {
        let marks = &holder.meta.annotations;
        if Version::of(marks) != Version::Known {
            return None;
        }
        let time = |key| marks.value(key).and_then(|text| text.parse::<Time>().ok());
        let value = render(&Object::Other(holder.clone()));
        let data = value.get("data")?;
        let text = |name: &str| data.get(name).and_then(Value::as_str);
        let stopped = text(member::STOPPED).and_then(|text| {
            let (at, service) = text.split_once(' ')?;
            Some((at.parse().ok()?, Name::from(service)))
        });
        Some(Self {
            run: RunId::new(marks.get(RUN)?.clone()),
            since: time(SINCE)?,
            expires: time(EXPIRES)?,
            path: Path::of(text(member::PATH)?)?,
            scale_down: ScaleDown::of(text(member::SCALE_DOWN)?)?,
            before: W::read(text(member::BEFORE)?)?,
            after: W::read(text(member::AFTER)?)?,
            set: text(member::SET).map(Name::from),
            served: text(member::SERVED)?
                .split(',')
                .filter(|name| !name.is_empty())
                .map(Name::from)
                .collect(),
            stopped,
        })
    }
}

/// The ConfigMap without its finalizer: where it is being deleted, it goes.
pub(super) fn released(holder: &Arc<Other>) -> Object {
    let mut other = Other::clone(holder);
    other.meta.finalizers.retain(|finalizer| &**finalizer != FINALIZER);
    Object::Other(Arc::new(other))
}

fn read_back(value: Value) -> Object {
    match Object::from_json(value) {
        Ok(object) => object,
        Err(_) => unreachable!("a ConfigMap that was written here can be read"),
    }
}

fn holder<'a>(view: &'a View, kind: Kind, of: &Key) -> Option<&'a Arc<Other>> {
    view.other("", "ConfigMap", &record_key(kind, of))
}

/// The record of an object, and the ConfigMap that holds it.
pub(super) fn find<W: Written>(view: &View, kind: Kind, of: &Key) -> Option<(Record<W>, Arc<Other>)> {
    let holder = holder(view, kind, of)?;
    Some((Record::read(holder)?, holder.clone()))
}

/// The version of the record about an object, if a newer Replank wrote it.
pub(super) fn newer(view: &View, kind: Kind, of: &Key) -> Option<u64> {
    Version::of(&holder(view, kind, of)?.meta.annotations).newer()
}

/// Whether a ConfigMap of that name exists that holds no record.
pub(super) fn is_taken(view: &View, kind: Kind, of: &Key) -> bool {
    holder(view, kind, of).is_some_and(|holder| Record::<Object>::read(holder).is_none())
}

/// Whether a Deployment is the twin of that one.
pub(super) fn is_twin_of(twin: &Deployment, of: &Name) -> bool {
    twin.meta.labels.value(TWIN_OF) == Some(of.as_str())
}

/// Whether a Deployment is anybody's twin.
pub(super) fn is_twin(deployment: &Deployment) -> bool {
    deployment.meta.labels.contains_key(TWIN_OF)
}
