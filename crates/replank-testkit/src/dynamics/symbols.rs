//! Names that do not depend on chance: `web-{rs-2}-{pod-1}` is the first pod of the second ReplicaSet of `web`.

use std::collections::BTreeMap;

use replank_model::object::Object;
use replank_model::text::{Namespace, Uid};

/// What each object is called.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    by_uid: BTreeMap<Uid, String>,
    /// Present names of pods and ControllerRevisions, with the symbols of those who have them.
    pods: BTreeMap<String, String>,
    revisions: BTreeMap<(Namespace, String), String>,
    /// How many of a sort an owner has had.
    counts: BTreeMap<String, u32>,
    /// Present uid and real name of a symbol.
    current: BTreeMap<(String, String), (Uid, String)>,
}

impl Symbols {
    /// The symbol of a new object; it is the object's from now on.
    pub(super) fn name(&mut self, object: &Object) -> String {
        let meta = object.meta();
        if let Some(known) = self.by_uid.get(&meta.uid) {
            return known.clone();
        }
        let symbol = self.symbol(object);
        self.by_uid.insert(meta.uid.clone(), symbol.clone());
        let real = meta.name.as_str().to_owned();
        if matches!(object, Object::Pod(_)) {
            self.pods.insert(real.clone(), symbol.clone());
        } else if matches!(object, Object::ControllerRevision(_)) {
            self.revisions.insert((meta.namespace.clone(), real.clone()), symbol.clone());
        }
        self.current.insert((object.kind_name().to_owned(), symbol.clone()), (meta.uid.clone(), real));
        symbol
    }

    fn symbol(&mut self, object: &Object) -> String {
        let meta = object.meta();
        let Some(owner) = meta.controller() else { return meta.name.as_str().to_owned() };
        let of = self.of_uid(&owner.uid, owner.name.as_str());
        match (object, &*owner.kind) {
            (Object::Pod(_), "StatefulSet") => meta.name.as_str().to_owned(),
            (Object::Pod(pod), "DaemonSet") => {
                let node = pod.pin.as_ref().map_or("?", |node| node.as_str());
                self.next(&format!("{of}-{{{node}}}"), "pod")
            }
            (Object::Pod(_), "Job") => {
                match meta.annotations.value("batch.kubernetes.io/job-completion-index") {
                    Some(index) => self.next(&format!("{of}-{index}"), "pod"),
                    None => self.next(&of, "pod"),
                }
            }
            (Object::Pod(_), _) => self.next(&of, "pod"),
            (Object::ReplicaSet(_), _) => self.next(&of, "rs"),
            (Object::Job(_), _) => self.next(&of, "job"),
            (Object::ControllerRevision(_), _) => self.next(&of, "rev"),
            (Object::EndpointSlice(_), _) => self.next(&of, "slice"),
            _ => meta.name.as_str().to_owned(),
        }
    }

    fn next(&mut self, prefix: &str, sort: &str) -> String {
        let count = self.counts.entry(format!("{prefix} {sort}")).or_default();
        *count += 1;
        format!("{prefix}-{{{sort}-{count}}}")
    }

    /// The symbol of a uid; the given name if it is unknown.
    pub(super) fn of_uid(&self, uid: &Uid, name: &str) -> String {
        self.by_uid.get(uid).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// The symbol of the pod that has a name.
    pub(super) fn of_pod(&self, name: &str) -> String {
        self.pods.get(name).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// The symbol of the ControllerRevision that has a name.
    pub(super) fn of_revision(&self, namespace: &Namespace, name: &str) -> String {
        let key = (namespace.clone(), name.to_owned());
        self.revisions.get(&key).cloned().unwrap_or_else(|| name.to_owned())
    }

    /// Real name of the object that a symbol means at present; the symbol itself if there is none.
    pub(super) fn real(&self, kind: &str, symbol: &str) -> String {
        let found = self.current.get(&(kind.to_owned(), symbol.to_owned()));
        found.map_or_else(|| symbol.to_owned(), |(_, name)| name.clone())
    }
}
