//! Resources that CustomResourceDefinitions declare, as discovery lists them (apiextensions-apiserver, customresource_discovery_controller.go).

use replank_model::object::{Kind, Object, render};
use replank_schema::{Resource, ResponseKind, Scope, Subresource};
use serde_json::Value;

use crate::mirror::{Snapshot, StorageId};

/// What can be done with custom resources, in the order in which they are listed.
const VERBS: [&str; 8] = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/// What can be done with their parts.
const PART_VERBS: [&str; 3] = ["get", "patch", "update"];

/// A definition whose resources are served.
#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// All of it.
    pub(crate) whole: Value,
}

/// The definitions whose resources are served, by name.
pub(crate) fn definitions(snapshot: &Snapshot) -> Vec<Definition> {
    let collection = snapshot.collection(&StorageId::Typed(Kind::CustomResourceDefinition));
    let of = |object: &Object| Definition { whole: render(object) };
    collection.values().map(|stored| of(&stored.object)).filter(Definition::is_established).collect()
}

/// The versions of the definitions' last writes: as long as they stay, so does all that is read off them.
pub(crate) fn state(snapshot: &Snapshot) -> Vec<u64> {
    let collection = snapshot.collection(&StorageId::Typed(Kind::CustomResourceDefinition));
    collection.values().map(|stored| stored.version()).collect()
}

impl Definition {
    /// Its group.
    pub(crate) fn group(&self) -> &str {
        text(&self.whole["spec"]["group"])
    }

    /// Its kind.
    pub(crate) fn kind(&self) -> &str {
        text(&self.names()["kind"])
    }

    /// The plural name.
    pub(crate) fn plural(&self) -> &str {
        text(&self.whole["spec"]["names"]["plural"])
    }

    /// The kind of its lists.
    pub(crate) fn list_kind(&self) -> String {
        match text(&self.names()["listKind"]) {
            "" => format!("{}List", self.kind()),
            known => known.to_owned(),
        }
    }

    /// Whether its objects live in a namespace.
    pub(crate) fn scope(&self) -> Scope {
        if self.whole["spec"]["scope"] == "Namespaced" { Scope::Namespaced } else { Scope::Cluster }
    }

    /// Its versions that are served, as they stand in it.
    pub(crate) fn versions(&self) -> impl Iterator<Item = &Value> {
        let all = self.whole["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter().filter(|version| version["served"] == true)
    }

    /// The version in which its objects are stored.
    pub(crate) fn storage_version(&self) -> &str {
        let all = self.whole["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default();
        all.iter()
            .find(|version| version["storage"] == true)
            .map(|version| text(&version["name"]))
            .unwrap_or_default()
    }

    /// Whether it has been accepted. One that nobody has judged, as in a snapshot without status, counts as accepted.
    fn is_established(&self) -> bool {
        let Some(conditions) = self.whole["status"]["conditions"].as_array() else { return true };
        conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True")
    }

    /// The names that were accepted, else those that it asks for.
    fn names(&self) -> &Value {
        let accepted = &self.whole["status"]["acceptedNames"];
        if text(&accepted["kind"]).is_empty() { &self.whole["spec"]["names"] } else { accepted }
    }

    /// What discovery says of one of its versions.
    pub(crate) fn resource(&self, version: &Value) -> Resource {
        let names = self.names();
        let own = ResponseKind {
            group: self.group().to_owned(),
            version: text(&version["name"]).to_owned(),
            kind: self.kind().to_owned(),
        };
        let singular = match text(&names["singular"]) {
            "" => self.kind().to_lowercase(),
            known => known.to_owned(),
        };
        let mut subresources = Vec::new();
        let declared = &version["subresources"];
        if declared["status"].is_object() {
            subresources.push(part("status", own.clone()));
        }
        if declared["scale"].is_object() {
            let scale =
                ResponseKind { group: "autoscaling".into(), version: "v1".into(), kind: "Scale".into() };
            subresources.push(part("scale", scale));
        }
        Resource {
            resource: self.plural().to_owned(),
            response_kind: own,
            scope: self.scope(),
            singular_resource: singular,
            verbs: VERBS.map(str::to_owned).to_vec(),
            short_names: texts(&names["shortNames"]),
            categories: texts(&names["categories"]),
            subresources,
        }
    }
}

fn part(name: &str, kind: ResponseKind) -> Subresource {
    let verbs = PART_VERBS.map(str::to_owned).to_vec();
    Subresource { subresource: name.to_owned(), response_kind: Some(kind), verbs }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
