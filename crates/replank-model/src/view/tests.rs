//! Old news, and objects that cannot be read.

mod label_classes;

use serde_json::json;

use super::*;
use crate::object::ObjectRef;

fn pod(uid: &str, version: u64, node: &str) -> Delta {
    let object = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-0", "namespace": "shop", "uid": uid, "resourceVersion": version.to_string()},
        "spec": {"nodeName": node, "containers": [{"name": "c", "image": "i"}]}});
    Delta::Put(Object::from_json(object).expect("a pod"))
}

fn reference(uid: &str) -> ObjectRef {
    ObjectRef { kind: Kind::Pod, key: Key::new("shop", "web-0"), uid: uid.into() }
}

#[test]
fn a_lower_version_is_old_news_whatever_the_uid() {
    let mut view = View::default();
    view.apply(pod("second", 20, "b"));
    assert_eq!(view.apply(pod("first", 10, "a")), Change::Stale, "it was there before the second");
    assert_eq!(view.pods_on(&"a".into()), []);
    assert_ne!(view.apply(pod("third", 30, "c")), Change::Stale);
    assert_eq!(view.pods_on(&"c".into()).len(), 1);
}

#[test]
fn old_news_of_a_pod_do_not_make_it_readable() {
    let mut view = View::default();
    view.apply(pod("second", 20, "b"));
    view.apply(Delta::Unread(Unread { object: reference("second"), node: None }));
    assert_eq!(view.apply(pod("second", 10, "a")), Change::Stale);
    assert_eq!(view.unread().count(), 1, "the state that cannot be read is a later one");
    view.apply(pod("second", 30, "b"));
    assert_eq!(view.unread().count(), 0);
}

/// The second view has its objects elsewhere, and one that the first has made in the place of another.
#[test]
fn a_hint_that_leads_to_another_object_is_not_followed() {
    let named = |name: &str, version: u64| {
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "resourceVersion": version.to_string()}});
        Object::from_json(object).expect("a node")
    };
    let (mut first, mut second) = (View::default(), View::default());
    second.apply(named("other", 1).into());
    let mut show = |change: Change| {
        let Change::Object { old, new, .. } = change else { panic!("it is news") };
        let delta = match (old, new) {
            (_, Some(new)) => Delta::Put(new),
            (Some(old), None) => Delta::Gone(old.reference()),
            (None, None) => panic!("one of both is there"),
        };
        second.apply(delta);
        let names = second.nodes.unordered().map(|(ix, node)| (ix.raw(), node.meta.name.to_string()));
        names.collect::<Vec<_>>()
    };
    let at = |slot: u32, name: &str| (slot, name.to_owned());
    assert_eq!(show(first.apply(named("a", 2).into())), [at(0, "other"), at(1, "a")]);
    let changed = first.nodes.named(&"a".into()).expect("it is there").clone();
    let changed = Object::from(changed).map_meta(|meta| meta.resource_version = ResourceVersion(3));
    assert_eq!(show(first.apply(changed.clone().into())), [at(0, "other"), at(1, "a")]);
    assert_eq!(show(first.apply(Delta::Gone(changed.reference()))), [at(0, "other")]);
    // It takes the place of the first in both, and then one with its hint comes under another name.
    assert_eq!(show(first.apply(named("b", 4).into())), [at(0, "other"), at(1, "b")]);
    let copied = changed.map_meta(|meta| (meta.name, meta.uid) = ("c".into(), "c".into()));
    assert_eq!(show(first.apply(copied.into())), [at(0, "other"), at(1, "b"), at(2, "c")]);
    assert_eq!(show(first.apply(named("b", 5).into())), [at(0, "other"), at(1, "b"), at(2, "c")]);
}

#[test]
fn objects_of_files_have_no_version_and_are_no_old_news() {
    let mut view = View::default();
    view.apply(pod("first", 10, "a"));
    assert_ne!(view.apply(pod("second", 0, "b")), Change::Stale);
}

#[test]
fn a_pod_that_cannot_be_read_is_on_its_node_until_it_is_read_or_gone() {
    let (node, other) = (NodeName::from("a"), NodeName::from("b"));
    let mut view = View::default();
    let unread = Unread { object: reference("first"), node: Some(node.clone()) };
    assert_eq!(view.apply(Delta::Unread(unread.clone())), Change::Unread(unread));
    assert_eq!((view.unread_on(&node).count(), view.unread_on(&other).count()), (1, 0));
    view.apply(pod("first", 10, "a"));
    assert_eq!(view.unread_on(&node).count(), 0, "it could be read");
    view.apply(Delta::Unread(Unread { object: reference("first"), node: None }));
    assert_eq!(view.unread_on(&other).count(), 1, "it may be anywhere");
    assert_eq!(view.pods_on(&node).len(), 1, "what was read of it before stays");
    view.apply(Delta::Gone(reference("first")));
    assert_eq!((view.unread().count(), view.pods_on(&node).len()), (0, 0));
    let lost = Unread { object: reference("second"), node: None };
    view.apply(Delta::Unread(lost.clone()));
    assert_eq!(view.apply(Delta::Gone(reference("second"))), Change::Unread(lost));
}
