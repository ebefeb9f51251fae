//! Readable names for what gets a drawn one: pods `web-1`, `web-2` before the roll, `web+1`, `web+2` in it; nodes likewise.

use std::collections::BTreeMap;

use replank_facts::groups::instance_id_of;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::{InstanceId, NodeName};
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_sim::{script, series_of};

/// What everything is called.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    pods: BTreeMap<Key, Key>,
    nodes: BTreeMap<NodeName, String>,
    instances: BTreeMap<InstanceId, String>,
    counts: BTreeMap<String, u32>,
    /// Whether the roll has begun, and when.
    started: Option<Time>,
}

impl Names {
    /// From here on things are of the roll.
    pub(super) fn begin(&mut self, started: Time) {
        self.started = Some(started);
        self.counts.clear();
    }

    pub(super) fn see(&mut self, change: &Change, view: &View) {
        match change {
            Change::Object { old: None, new: Some(Object::Pod(pod)), .. } => self.see_pod(pod, view),
            // The node registers before the cloud's API shows whose it is.
            Change::Object { old: None, new: Some(Object::Node(node)), .. } => {
                if let Some(name) = self.instances.get(&instance_id_of(node)) {
                    self.nodes.insert(node.name(), name.clone());
                }
            }
            Change::Instance { new: Some(instance), .. } => {
                if !self.instances.contains_key(&instance.id) && self.started.is_some() {
                    let name = self.next(instance.group.as_str());
                    self.instances.insert(instance.id.clone(), name);
                }
                if let (Some(node), Some(name)) = (&instance.node, self.instances.get(&instance.id)) {
                    self.nodes.insert(node.clone(), name.clone());
                }
            }
            Change::Object { .. }
            | Change::Instance { .. }
            | Change::Group { .. }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => {}
        }
    }

    /// Notes an instance that has its name.
    pub(super) fn know(&mut self, id: &InstanceId, name: &str) {
        self.instances.insert(id.clone(), name.to_owned());
    }

    fn next(&mut self, of: &str) -> String {
        let count = self.counts.entry(of.to_owned()).or_default();
        *count += 1;
        format!("{of}{}{count}", if self.started.is_some() { '+' } else { '-' })
    }

    fn see_pod(&mut self, pod: &Pod, view: &View) {
        let Some(workload) = series_of(view, pod) else { return };
        let key = pod.meta.key();
        // Of the others nobody draws names.
        let is_drawn = ["Deployment", "ReplicaSet", "DaemonSet", "Job"].contains(&&*workload.kind);
        if is_drawn {
            let alias = self.next(&format!("{}/{}", workload.namespace, workload.name));
            let (_, alias) = alias.split_once('/').expect("it was just put together");
            self.pods.insert(key.clone(), Key::new(key.namespace, alias));
        }
    }

    pub(crate) fn pod(&self, key: &Key) -> String {
        self.pods.get(key).unwrap_or(key).to_string()
    }

    pub(super) fn node(&self, name: &NodeName) -> String {
        self.nodes.get(name).cloned().unwrap_or_else(|| name.to_string())
    }

    pub(super) fn instance(&self, id: &InstanceId) -> String {
        self.instances.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// A text with readable names, and moments told from the beginning of the roll.
    pub(super) fn readable(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (key, alias) in &self.pods {
            text = text.replace(key.name.as_str(), alias.name.as_str());
        }
        for (id, alias) in &self.instances {
            text = text.replace(id.as_str(), alias);
        }
        for (name, alias) in &self.nodes {
            text = text.replace(name.as_str(), alias);
        }
        self.with_moments(&text)
    }

    fn with_moments(&self, text: &str) -> String {
        const LENGTH: usize = "2026-01-05T09:00:00Z".len();
        let Some(started) = self.started else { return text.to_owned() };
        let mut told = String::new();
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let moment = rest.get(..LENGTH).filter(|_| first.is_ascii_digit());
            match moment.and_then(|moment| moment.parse::<Time>().ok()) {
                Some(at) => {
                    let span = at - started;
                    let sign = if at < started { "" } else { "+" };
                    told.push_str(&format!("{sign}{span}"));
                    rest = &rest[LENGTH..];
                }
                None => {
                    told.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        told
    }
}

impl script::Names for Names {
    fn pod(&self, alias: &Key) -> Key {
        let found = self.pods.iter().find(|(_, known)| *known == alias);
        found.map_or_else(|| alias.clone(), |(key, _)| key.clone())
    }

    fn node(&self, alias: &str, _view: &View) -> NodeName {
        let found = self.nodes.iter().find(|(_, known)| *known == alias);
        found.map_or_else(|| NodeName::from(alias), |(name, _)| name.clone())
    }
}
