//! Identities of objects that no API server has seen.
//!
//! A manifest has no uid. Objects that a controller makes for such an owner would name an owner without one, which the garbage collector takes for one that is
//! gone: it would delete what the controller has made, the controller would make it again, and so on.

use std::collections::BTreeMap;

use replank_apiserver::draw::Draws;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::meta::{Key, Meta, OwnerReference};
use replank_model::text::{Namespace, Text, Uid};
use replank_model::view::View;

/// Gives a uid to whatever has none, and to references to it.
pub(super) fn fill(view: &mut View) {
    let lacks =
        |meta: &Meta| meta.uid.is_empty() || meta.owner_references.iter().any(|one| one.uid.is_empty());
    if !view.metas().any(lacks) {
        return;
    }
    let objects = view.objects();
    let known: BTreeMap<Named, Uid> = objects
        .iter()
        .map(|object| {
            let uid = &object.meta().uid;
            (Named::of(object), if uid.is_empty() { identity(object) } else { uid.clone() })
        })
        .collect();
    for object in objects.into_iter().filter(|object| lacks(object.meta())) {
        let own = identity(&object);
        let identified = object.map_meta(|meta| {
            if meta.uid.is_empty() {
                meta.uid = own;
            }
            let namespace = meta.namespace.clone();
            for owner in meta.owner_references.iter_mut().filter(|owner| owner.uid.is_empty()) {
                // An owner of a namespaced object is of that namespace, or of none.
                let places = [namespace.clone(), Namespace::default()];
                if let Some(uid) = places.iter().find_map(|place| known.get(&Named::owner(owner, place))) {
                    owner.uid = uid.clone();
                }
            }
        });
        view.apply(Delta::Put(identified));
    }
}

/// What a reference to an object names.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Named {
    group: Text,
    kind: Text,
    key: Key,
}

impl Named {
    fn of(object: &Object) -> Self {
        Self {
            group: group(object.api_version()),
            kind: Text::from(object.kind_name()),
            key: object.meta().key(),
        }
    }

    fn owner(owner: &OwnerReference, namespace: &Namespace) -> Self {
        let key = Key { namespace: namespace.clone(), name: owner.name.clone() };
        Self { group: group(&owner.api_version), kind: owner.kind.clone(), key }
    }
}

fn group(api_version: &str) -> Text {
    Text::from(api_version.split_once('/').map_or("", |(group, _)| group))
}

/// A uid that follows from what an object is called.
fn identity(object: &Object) -> Uid {
    let (group, key) = (group(object.api_version()), object.meta().key());
    let entity = format!("{}.{group}/{key}", object.kind_name());
    Draws::new(0).uid(&entity, 0)
}
