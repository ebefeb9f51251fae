//! The filters of `kubectl drain` (kubectl `pkg/drain/filters.go`, 1.36): which pods of a node it evicts, which it leaves, and which keep it from beginning.
//!
//! In kubectl's order; the first filter that does not let a pod pass decides:
//!
//! | pod | what becomes of it |
//! |---|---|
//! | `--pod-selector` does not match it | it is not looked at |
//! | deleted longer ago than `--skip-wait-for-delete-timeout` | skipped |
//! | of a DaemonSet that is gone | with `--force` evicted, else refused |
//! | of a DaemonSet | with `--ignore-daemonsets` skipped, else refused |
//! | mirror of a static pod | skipped |
//! | with an emptyDir | without `--delete-emptydir-data` refused |
//! | without a controller | without `--force` refused |
//! | any other | evicted |
//!
//! One that has finished (Succeeded, Failed) passes all of them but those for deleted pods and mirrors.

use std::collections::BTreeMap;

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::selector::Selector;
use replank_model::text::NodeName;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::policy::PodClass;
use replank_protocol::waiting::RefusedPods;

use crate::drain::{daemon_set, has_local_storage, is_bare, is_daemon};
use crate::node_pods::Bound;

/// The flags that say which pods go.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// `--ignore-daemonsets`
    pub ignore_daemonsets: bool,
    /// `--delete-emptydir-data`
    pub delete_emptydir_data: bool,
    /// `--force`
    pub force: bool,
    /// `--pod-selector`
    pub pods: Option<Selector>,
    /// `--skip-wait-for-delete-timeout`
    pub skip_deleted: Option<Span>,
}

/// What becomes of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filtered {
    /// It is none that the selector matches.
    Unselected,
    /// It stays, and the node counts as drained with it.
    Skipped(Skipped),
    /// It keeps its node from being drained.
    Refused(PodClass),
    /// It goes; with what kubectl warns of, where it does.
    Goes(Option<Warning>),
}

/// Why a pod is left where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Skipped {
    /// It was deleted long ago.
    Deleted,
    /// A DaemonSet has it.
    DaemonSet,
    /// It is the mirror of a static pod.
    Mirror,
}

/// What is lost with a pod that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Warning {
    /// Its DaemonSet is gone.
    Orphan,
    /// The data of its emptyDir.
    LocalStorage,
    /// Itself: nothing creates it again.
    Unmanaged,
}

/// Puts a pod through the filters.
#[must_use]
pub fn filter(view: &View, filters: &Filters, pod: &Pod, now: Time) -> Filtered {
    let is_selected = |selector: &Selector| selector.matches(|key| pod.meta.labels.value(key));
    if filters.pods.as_ref().is_some_and(|selector| !is_selected(selector)) {
        return Filtered::Unselected;
    }
    if is_long_deleted(filters, pod, now) {
        return Filtered::Skipped(Skipped::Deleted);
    }
    let mut warning = None;
    if is_daemon(pod) && !pod.is_terminal() {
        match (daemon_set(view, pod).is_some(), filters.force, filters.ignore_daemonsets) {
            (false, false, _) => {
                let name = pod.meta.controller().map(|owner| owner.name.text().clone()).unwrap_or_default();
                return Filtered::Refused(PodClass::OrphanedDaemonSet { name });
            }
            (false, true, _) => warning = Some(Warning::Orphan),
            (true, _, false) => return Filtered::Refused(PodClass::DaemonSet),
            (true, _, true) => return Filtered::Skipped(Skipped::DaemonSet),
        }
    }
    if pod.is_mirror() {
        return Filtered::Skipped(Skipped::Mirror);
    }
    if pod.is_terminal() {
        return Filtered::Goes(None);
    }
    if has_local_storage(pod) {
        if !filters.delete_emptydir_data {
            return Filtered::Refused(PodClass::LocalStorage);
        }
        warning = Some(Warning::LocalStorage);
    }
    match (is_bare(pod), filters.force) {
        (true, false) => Filtered::Refused(PodClass::Unmanaged),
        (true, true) => Filtered::Goes(Some(Warning::Unmanaged)),
        (false, _) => Filtered::Goes(warning),
    }
}

/// Whether kubectl waits for the pod no longer: whole seconds, and only more than it was told.
fn is_long_deleted(filters: &Filters, pod: &Pod, now: Time) -> bool {
    let (Some(after), Some(deleted)) = (filters.skip_deleted, pod.meta.deletion_timestamp) else {
        return false;
    };
    after > Span::ZERO && (now - deleted).as_secs() > after.as_secs()
}

/// The pods of a node, put through the filters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sorted {
    /// Those that go; least important first, so that what keeps the node working goes last.
    pub going: Vec<(Bound, Option<Warning>)>,
    /// Those that stay.
    pub skipped: Vec<(Key, Skipped)>,
    /// Those that keep the node from being drained, class by class.
    pub refused: Vec<RefusedPods>,
}

impl Sorted {
    /// Puts the pods of a node through the filters, but for those that were made after a moment: kubectl lists them once.
    #[must_use]
    pub fn of(view: &View, filters: &Filters, node: &NodeName, made_until: Option<Time>, now: Time) -> Self {
        let mut sorted = Self::default();
        let mut refused: BTreeMap<PodClass, Vec<Key>> = BTreeMap::new();
        for ix in view.pods_on(node) {
            let pod = &view.pods[*ix];
            let is_later = |until: Time| pod.meta.creation_timestamp.is_some_and(|made| made > until);
            if made_until.is_some_and(is_later) {
                continue;
            }
            match filter(view, filters, pod, now) {
                Filtered::Unselected => {}
                Filtered::Skipped(why) => sorted.skipped.push((pod.meta.key(), why)),
                Filtered::Refused(class) => refused.entry(class).or_default().push(pod.meta.key()),
                Filtered::Goes(warning) => {
                    sorted.going.push((Bound::new(view, *ix, pod.clone()), warning));
                }
            }
        }
        for unread in view.unread_on(node) {
            refused.entry(PodClass::Unreadable).or_default().push(unread.object.key.clone());
        }
        sorted.going.sort_by(|(a, _), (b, _)| {
            let priority = |bound: &Bound| bound.pod.spec.priority.unwrap_or(0);
            (priority(a), a.pod.meta.key()).cmp(&(priority(b), b.pod.meta.key()))
        });
        sorted.skipped.sort();
        sorted.refused = refused
            .into_iter()
            .map(|(class, mut pods)| {
                pods.sort();
                RefusedPods { class, pods }
            })
            .collect();
        sorted
    }
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::merge;

    fn at() -> Time {
        "2026-01-01T00:10:00Z".parse().expect("a time")
    }

    fn pod(kind: &str, extra: Value) -> Pod {
        let mut value = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "p", "namespace": "shop", "uid": "u", "labels": {"app": "web"}},
            "spec": {"containers": []}, "status": {"phase": "Running"}});
        if !kind.is_empty() {
            value["metadata"]["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o1", "controller": true}]);
        }
        merge(&mut value, extra);
        let Ok(Object::Pod(pod)) = Object::from_json(value) else { unreachable!("a pod was written") };
        Pod::clone(&pod)
    }

    fn with_daemon_set() -> View {
        let set = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "o", "namespace": "shop", "uid": "o1"}});
        [Delta::Put(Object::from_json(set).expect("a set"))].into_iter().collect()
    }

    fn none() -> Filters {
        Filters::default()
    }

    fn every() -> Filters {
        Filters { ignore_daemonsets: true, delete_emptydir_data: true, force: true, ..Filters::default() }
    }

    /// Every row of kubectl's table, without flags and with all of them.
    #[test]
    fn pods_pass_the_filters_as_they_pass_kubectls() {
        let volume = json!({"spec": {"volumes": [{"name": "d", "emptyDir": {}}]}});
        let ended = json!({"status": {"phase": "Succeeded"}});
        let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}});
        let both =
            |view: &View, pod: &Pod| (filter(view, &none(), pod, at()), filter(view, &every(), pod, at()));
        let (empty, known) = (View::default(), with_daemon_set());
        let goes = |warning| Filtered::Goes(warning);
        assert_eq!(both(&empty, &pod("ReplicaSet", json!({}))), (goes(None), goes(None)));
        assert_eq!(
            both(&known, &pod("DaemonSet", json!({}))),
            (Filtered::Refused(PodClass::DaemonSet), Filtered::Skipped(Skipped::DaemonSet))
        );
        let orphan = Filtered::Refused(PodClass::OrphanedDaemonSet { name: "o".into() });
        assert_eq!(both(&empty, &pod("DaemonSet", json!({}))), (orphan, goes(Some(Warning::Orphan))));
        let mirrored = Filtered::Skipped(Skipped::Mirror);
        assert_eq!(both(&empty, &pod("", mirror.clone())), (mirrored.clone(), mirrored.clone()));
        assert_eq!(
            both(&empty, &pod("ReplicaSet", volume.clone())),
            (Filtered::Refused(PodClass::LocalStorage), goes(Some(Warning::LocalStorage)))
        );
        assert_eq!(
            both(&empty, &pod("", json!({}))),
            (Filtered::Refused(PodClass::Unmanaged), goes(Some(Warning::Unmanaged)))
        );
        // The first filter that does not let a pod pass decides.
        assert_eq!(both(&empty, &pod("", volume.clone())).0, Filtered::Refused(PodClass::LocalStorage));
        // What has finished passes all but that for mirrors.
        for kind in ["", "ReplicaSet", "DaemonSet"] {
            let mut extra = ended.clone();
            merge(&mut extra, volume.clone());
            assert_eq!(both(&known, &pod(kind, extra)), (goes(None), goes(None)), "{kind}");
        }
        let mut extra = ended;
        merge(&mut extra, mirror);
        assert_eq!(both(&empty, &pod("", extra)), (mirrored.clone(), mirrored));
    }

    #[test]
    fn a_pod_that_was_deleted_long_ago_is_skipped_from_the_second_after_on() {
        let deleted = |when: &str| pod("ReplicaSet", json!({"metadata": {"deletionTimestamp": when}}));
        let skipping = Filters { skip_deleted: Some(Span::from_secs(60)), ..none() };
        let of = |when: &str| filter(&View::default(), &skipping, &deleted(when), at());
        assert_eq!(of("2026-01-01T00:09:00Z"), Filtered::Goes(None), "not more than 60 s");
        assert_eq!(of("2026-01-01T00:08:59Z"), Filtered::Skipped(Skipped::Deleted));
        assert_eq!(of("2026-01-01T00:11:00Z"), Filtered::Goes(None));
        assert_eq!(
            filter(&View::default(), &none(), &deleted("2026-01-01T00:00:00Z"), at()),
            Filtered::Goes(None)
        );
    }

    #[test]
    fn what_the_selector_does_not_match_is_not_looked_at() {
        let other = Filters { pods: Some(Selector::from_set([("app".into(), "api".into())])), ..none() };
        assert_eq!(filter(&View::default(), &other, &pod("", json!({})), at()), Filtered::Unselected);
    }
}
