//! How many pods an owner wants: the denominator of percentages and of `maxUnavailable`
//! (pkg/controller/disruption `finders`).

use replank_model::object::cluster::{CustomResourceDefinition, Other};
use replank_model::object::meta::{Key, OwnerReference};
use replank_model::object::workload::{Deployment, ReplicaSet, ReplicationController, StatefulSet};
use replank_model::object::{Kind, Object, render};
use replank_model::text::{Namespace, Uid};
use replank_model::view::View;
use serde_json::Value;
use thiserror::Error;

/// Why an owner's scale is not known; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(crate) enum ScaleError {
    /// The kind has no scale subresource.
    #[error("{resource} does not implement the scale subresource")]
    Unscalable {
        /// Resource and group, such as `jobs.batch`.
        resource: String,
    },
    /// The API server does not know the kind.
    #[error("no matches for kind {kind:?} in version {version:?}")]
    UnknownKind {
        /// Kind.
        kind: String,
        /// API version.
        version: String,
    },
    /// A custom object lacks the member that its scale subresource reads.
    #[error("Internal error occurred: the spec replicas field {path:?} does not exist")]
    WithoutReplicas {
        /// Path, such as `.spec.replicas`.
        path: String,
    },
}

/// Whether a change leaves all scales as they are, as far as can be told without following owners.
pub(super) fn is_same(old: Option<&Object>, new: Option<&Object>) -> bool {
    let (Some(old), Some(new)) = (old, new) else { return false };
    let wants_as_many = own_scale(old).is_some_and(|was| own_scale(new) == Some(was));
    let (old, new) = (old.meta(), new.meta());
    wants_as_many && old.uid == new.uid && old.owner_references == new.owner_references
}

/// How many pods an object says that it wants; `None` where its definition says how it is read.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other kind says it itself")]
fn own_scale(object: &Object) -> Option<Option<i32>> {
    match object {
        Object::Deployment(object) => Some(object.spec.replicas),
        Object::ReplicaSet(object) => Some(object.spec.replicas),
        Object::StatefulSet(object) => Some(object.spec.replicas),
        Object::ReplicationController(object) => Some(object.spec.replicas),
        _ => None,
    }
}

/// The object that scales a pod's owner, and how many pods it wants; `None` if the owner is not there.
///
/// # Errors
/// When the owner's kind cannot be scaled.
pub(crate) fn scale_of(
    view: &View,
    namespace: &Namespace,
    owner: &OwnerReference,
) -> Result<Option<(Uid, i32)>, ScaleError> {
    let key = Key { namespace: namespace.clone(), name: owner.name.clone() };
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", &owner.api_version));
    match (group, &*owner.kind) {
        ("", "ReplicationController") => Ok(replication_controller(view, &key, owner)),
        ("apps" | "extensions", "ReplicaSet") => Ok(replica_set(view, &key, owner)),
        ("apps", "StatefulSet") => Ok(stateful_set(view, &key, owner)),
        ("apps", "Deployment") => Ok(deployment(view, &key, &owner.uid)),
        _ => custom(view, &key, owner, group, version),
    }
}

fn replication_controller(view: &View, key: &Key, owner: &OwnerReference) -> Option<(Uid, i32)> {
    let found = view.find::<ReplicationController>(key).filter(|found| found.meta.uid == owner.uid)?;
    Some((owner.uid.clone(), found.spec.replicas.unwrap_or(1)))
}

/// A Deployment stands above its ReplicaSets, two of which share its pods during a rollout. One that has lost its Deployment
/// counts by its own scale.
fn replica_set(view: &View, key: &Key, owner: &OwnerReference) -> Option<(Uid, i32)> {
    let set = view.find::<ReplicaSet>(key).filter(|set| set.meta.uid == owner.uid)?;
    let above = set.meta.controller().filter(|above| &*above.kind == "Deployment");
    let above = above.and_then(|above| {
        let key = Key { namespace: key.namespace.clone(), name: above.name.clone() };
        deployment(view, &key, &above.uid)
    });
    above.or_else(|| Some((owner.uid.clone(), set.spec.replicas.unwrap_or(1))))
}

fn deployment(view: &View, key: &Key, uid: &Uid) -> Option<(Uid, i32)> {
    let found = view.find::<Deployment>(key).filter(|found| found.meta.uid == *uid)?;
    Some((uid.clone(), found.spec.replicas.unwrap_or(1)))
}

fn stateful_set(view: &View, key: &Key, owner: &OwnerReference) -> Option<(Uid, i32)> {
    let found = view.find::<StatefulSet>(key).filter(|found| found.meta.uid == owner.uid)?;
    Some((owner.uid.clone(), found.spec.replicas.unwrap_or(1)))
}

/// Any other kind, through its scale subresource.
fn custom(
    view: &View,
    key: &Key,
    owner: &OwnerReference,
    group: &str,
    version: &str,
) -> Result<Option<(Uid, i32)>, ScaleError> {
    if let Some(kind) = Kind::of(&owner.api_version, &owner.kind) {
        return Err(ScaleError::Unscalable { resource: qualified(kind.plural(), group) });
    }
    let object = view.other(group, &owner.kind, key);
    let Some(definition) = definition(view, group, &owner.kind) else {
        return without_definition(object, owner, group);
    };
    let served = definition.spec.versions.iter().find(|served| &*served.name == version && served.served);
    let Some(served) = served else { return Err(no_kind(owner)) };
    let scale = served.subresources.as_ref().and_then(|subresources| subresources.scale.as_ref());
    let Some(scale) = scale else {
        return Err(ScaleError::Unscalable { resource: qualified(&definition.spec.names.plural, group) });
    };
    let Some(object) = object.filter(|object| object.meta.uid == owner.uid) else { return Ok(None) };
    match replicas_at(object, &scale.spec_replicas_path) {
        Some(replicas) => Ok(Some((owner.uid.clone(), replicas))),
        None => Err(ScaleError::WithoutReplicas { path: scale.spec_replicas_path.to_string() }),
    }
}

/// A dump of a cluster often lacks the definitions of its custom kinds. An object with `spec.replicas` is then taken to have
/// the usual scale subresource, another one to have none.
fn without_definition(
    object: Option<&std::sync::Arc<Other>>,
    owner: &OwnerReference,
    group: &str,
) -> Result<Option<(Uid, i32)>, ScaleError> {
    match object {
        Some(object) if object.meta.uid != owner.uid => Ok(None),
        Some(object) => match object.replicas {
            Some(replicas) => Ok(Some((owner.uid.clone(), replicas))),
            None => Err(ScaleError::Unscalable { resource: qualified(&guessed_plural(&owner.kind), group) }),
        },
        None => Err(no_kind(owner)),
    }
}

/// The plural that most kinds have (apimachinery `UnsafeGuessKindToResource`).
fn guessed_plural(kind: &str) -> String {
    let singular = kind.to_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

fn definition<'a>(view: &'a View, group: &str, kind: &str) -> Option<&'a CustomResourceDefinition> {
    view.custom_resource_definitions
        .sorted()
        .into_iter()
        .map(|(_, definition)| &**definition)
        .find(|definition| &*definition.spec.group == group && &*definition.spec.names.kind == kind)
}

/// The number at a path such as `.spec.replicas`.
fn replicas_at(object: &std::sync::Arc<Other>, path: &str) -> Option<i32> {
    let json = render(&Object::Other(object.clone()));
    let member =
        path.split('.').filter(|name| !name.is_empty()).try_fold(&json, |value, name| value.get(name));
    member.and_then(Value::as_i64).and_then(|number| i32::try_from(number).ok())
}

fn no_kind(owner: &OwnerReference) -> ScaleError {
    ScaleError::UnknownKind { kind: owner.kind.to_string(), version: owner.api_version.to_string() }
}

fn qualified(plural: &str, group: &str) -> String {
    if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use serde_json::json;

    use super::*;

    fn view(objects: Vec<Value>) -> View {
        let mut view = View::default();
        for object in objects {
            view.apply(Delta::Put(Object::from_json(object).expect("an object")));
        }
        view
    }

    fn scale(view: &View, version: &str, kind: &str, uid: &str) -> Result<Option<i32>, String> {
        let owner = OwnerReference {
            api_version: version.into(),
            kind: kind.into(),
            name: "x".into(),
            uid: uid.into(),
            ..OwnerReference::default()
        };
        let found = scale_of(view, &Namespace::from("shop"), &owner);
        found.map(|scale| scale.map(|(_, replicas)| replicas)).map_err(|error| error.to_string())
    }

    fn object(version: &str, kind: &str, spec: &Value) -> Value {
        json!({"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "shop", "uid": "u"}, "spec": spec})
    }

    fn definition(subresources: &Value) -> Value {
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "packs.example.com"},
            "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "packs", "kind": "Pack"},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": subresources}]}})
    }

    #[test]
    fn workloads_say_what_they_want() {
        for (version, kind) in
            [("apps/v1", "StatefulSet"), ("apps/v1", "ReplicaSet"), ("v1", "ReplicationController")]
        {
            let view = view(vec![object(version, kind, &json!({"replicas": 4}))]);
            assert_eq!(scale(&view, version, kind, "u"), Ok(Some(4)), "{kind}");
            assert_eq!(scale(&view, version, kind, "other"), Ok(None), "another incarnation of {kind}");
        }
    }

    #[test]
    fn a_replica_set_counts_as_its_deployment() {
        let mut set = object("apps/v1", "ReplicaSet", &json!({"replicas": 1}));
        set["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d", "controller": true}]);
        let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "shop", "uid": "d"}, "spec": {"replicas": 7}});
        assert_eq!(scale(&view(vec![set.clone(), deployment]), "apps/v1", "ReplicaSet", "u"), Ok(Some(7)));
        let alone = scale(&view(vec![set]), "apps/v1", "ReplicaSet", "u");
        assert_eq!(alone, Ok(Some(1)), "its Deployment is gone");
    }

    #[test]
    fn kinds_without_scale_say_so() {
        let job = view(vec![object("batch/v1", "Job", &json!({"parallelism": 3}))]);
        let refused = "jobs.batch does not implement the scale subresource";
        assert_eq!(scale(&job, "batch/v1", "Job", "u"), Err(refused.to_owned()));
        let refused = "nodes does not implement the scale subresource";
        assert_eq!(scale(&job, "v1", "Node", "u"), Err(refused.to_owned()));
        let refused = "no matches for kind \"Ghost\" in version \"example.com/v1\"";
        assert_eq!(scale(&job, "example.com/v1", "Ghost", "u"), Err(refused.to_owned()));
    }

    #[test]
    fn custom_kinds_go_by_their_definition() {
        let pack = object("example.com/v1", "Pack", &json!({"size": 5, "replicas": 9}));
        let with = definition(
            &json!({"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}}),
        );
        assert_eq!(
            scale(&view(vec![pack.clone(), with.clone()]), "example.com/v1", "Pack", "u"),
            Ok(Some(5))
        );
        assert_eq!(scale(&view(vec![with]), "example.com/v1", "Pack", "u"), Ok(None));
        let without = definition(&json!({}));
        let refused = "packs.example.com does not implement the scale subresource";
        let found = scale(&view(vec![pack.clone(), without]), "example.com/v1", "Pack", "u");
        assert_eq!(found, Err(refused.to_owned()));
        assert_eq!(
            scale(&view(vec![pack]), "example.com/v1", "Pack", "u"),
            Ok(Some(9)),
            "no definition in the dump"
        );
        let bare = object("example.com/v1", "Pack", &json!({}));
        assert_eq!(scale(&view(vec![bare]), "example.com/v1", "Pack", "u"), Err(refused.to_owned()));
    }
}
