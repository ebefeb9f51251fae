//! Pods in CrashLoopBackOff at the moment when a run halts because of them: a rollback moves them, and at its end nothing shows which they were.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::NodeName;
use replank_model::time::Time;
use replank_protocol::decision::{Decision, End};
use replank_protocol::mark::{Illness, Whose};
use replank_protocol::waiting::{PodEnd, RunEnd, Subject, Waiting, WaitingOn};

/// Pods that are named. The run names as many.
const NAMED_MAX: usize = 10;

/// The pods that crash, and those that did when the run halted.
#[derive(Debug, Default)]
pub(super) struct Crashes {
    /// Those that crash at present and did not before anything was done, and where.
    present: BTreeMap<Key, Option<NodeName>>,
    /// Those that crashed before.
    before: BTreeSet<Key>,
    /// Nodes that were there before.
    nodes: BTreeSet<NodeName>,
    /// When the run halted, and those of that moment.
    halted: Option<(Time, Vec<Key>)>,
}

impl Crashes {
    /// What crashes now, crashed before; and these nodes are there before anything is done.
    pub(super) fn begin(&mut self, nodes: impl Iterator<Item = NodeName>) {
        self.before = std::mem::take(&mut self.present).into_keys().collect();
        self.nodes = nodes.collect();
    }

    /// A pod has changed, has come or has gone.
    pub(super) fn changed(&mut self, old: Option<&Pod>, new: Option<&Pod>) {
        let (was, is) = (old.is_some_and(crashes), new.is_some_and(crashes));
        let Some(pod) = new.or(old).filter(|_| was != is) else { return };
        let key = pod.meta.key();
        if !is {
            self.present.remove(&key);
        } else if !self.before.contains(&key) {
            self.present.insert(key, pod.node.clone());
        }
    }

    /// A decision was taken.
    pub(super) fn decided(&mut self, decision: &Decision) {
        // A halt is reported on the run, and what the run waits for comes first.
        let said = decision.waiting.first().filter(|first| first.what == Subject::Run);
        let Some((at, whose)) = said.and_then(halted_at) else { return };
        if self.halted.as_ref().is_none_or(|(since, _)| *since != at) {
            let is_counted = |node: Option<&NodeName>| match whose {
                Whose::All => true,
                Whose::New => node.is_some_and(|node| !self.nodes.contains(node)),
            };
            let counted = self.present.iter().filter(|(_, node)| is_counted(node.as_ref()));
            self.halted = Some((at, counted.map(|(key, _)| key.clone()).take(NAMED_MAX).collect()));
        }
    }

    /// What blocks, as the run says, with the pods for which it halted and that it no longer knows.
    pub(super) fn blocking(&self, end: Option<&End>) -> Vec<Waiting> {
        let said = match end {
            Some(End::Blocked(why) | End::RolledBack(why) | End::Cancelled(why) | End::Refused(why)) => {
                why.as_slice()
            }
            Some(End::Done) | None => &[],
        };
        let mut all = said.to_vec();
        let Some((at, _)) = said.iter().find_map(halted_at) else { return all };
        let then = self.halted.iter().filter(|(since, _)| *since == at).flat_map(|(_, pods)| pods);
        for pod in then {
            let what = Subject::Pod(pod.clone());
            if !all.iter().any(|waiting| waiting.what == what) {
                all.push(Waiting {
                    what,
                    on: WaitingOn::PodEnd(PodEnd::Ailing { illness: Illness::CrashLooping }),
                });
            }
        }
        all
    }
}

/// When the run halted because of pods that crash, and whose were counted.
fn halted_at(waiting: &Waiting) -> Option<(Time, Whose)> {
    let WaitingOn::RunEnd(RunEnd::Unhealthy { at, ailment }) = &waiting.on else { return None };
    (ailment.illness == Illness::CrashLooping).then_some((*at, ailment.whose))
}

/// Whether the kubelet lets a container rest between two starts.
fn crashes(pod: &Pod) -> bool {
    let containers = pod.status.container_statuses.iter().chain(&pod.status.init_container_statuses);
    let mut waiting = containers.filter_map(|container| container.state.waiting.as_ref());
    waiting.any(|waiting| &*waiting.reason == "CrashLoopBackOff")
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use replank_protocol::mark::Ailment;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, crashes: bool) -> Pod {
        let state =
            if crashes { json!({"waiting": {"reason": "CrashLoopBackOff"}}) } else { json!({"running": {}}) };
        let value = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
            "status": {"containerStatuses": [{"name": "c", "image": "i", "imageID": "", "ready": false, "restartCount": 1, "state": state}]}});
        let Ok(Object::Pod(pod)) = Object::from_json(value) else { panic!("a pod") };
        (*pod).clone()
    }

    fn halt(at: i64, illness: Illness) -> Waiting {
        halt_for(at, illness, Whose::All)
    }

    fn halt_for(at: i64, illness: Illness, whose: Whose) -> Waiting {
        let ailment = Ailment { illness, whose, found: 1, max: 0 };
        Waiting { what: Subject::Run, on: RunEnd::Unhealthy { at: Time::from_millis(at), ailment }.into() }
    }

    fn halting(waiting: Waiting) -> Decision {
        Decision { waiting: [waiting].into_iter().collect(), ..Decision::default() }
    }

    fn told(crashes: &Crashes, why: Vec<Waiting>) -> Vec<String> {
        crashes.blocking(Some(&End::RolledBack(why))).iter().map(|waiting| waiting.what.to_string()).collect()
    }

    #[test]
    fn a_rollback_leaves_known_what_crashed_when_the_run_halted() {
        let mut crashes = Crashes::default();
        crashes.changed(None, Some(&pod("old", true)));
        crashes.begin([NodeName::from("n")].into_iter());
        crashes.changed(Some(&pod("old", true)), Some(&pod("old", false)));
        crashes.changed(Some(&pod("old", false)), Some(&pod("old", true)));
        crashes.changed(None, Some(&pod("a", false)));
        crashes.changed(Some(&pod("a", false)), Some(&pod("a", true)));
        crashes.changed(None, Some(&pod("over", true)));
        crashes.changed(Some(&pod("over", true)), Some(&pod("over", false)));
        crashes.decided(&halting(halt(1, Illness::CrashLooping)));
        crashes.changed(Some(&pod("a", true)), None);
        crashes.changed(None, Some(&pod("late", true)));
        crashes.decided(&halting(halt(1, Illness::CrashLooping)));
        assert_eq!(told(&crashes, vec![halt(1, Illness::CrashLooping)]), ["run", "pod shop/a"]);
        // Pods that the run names itself are named once.
        let own = crashes.blocking(Some(&End::Blocked(vec![halt(1, Illness::CrashLooping)]))).remove(1);
        assert_eq!(told(&crashes, vec![halt(1, Illness::CrashLooping), own]), ["run", "pod shop/a"]);
        // It halted for something else, or not at all.
        assert_eq!(told(&crashes, vec![halt(1, Illness::NotReady)]), ["run"]);
        assert!(crashes.blocking(Some(&End::Done)).is_empty());
    }

    #[test]
    fn where_pods_on_new_nodes_are_counted_the_others_are_not_named() {
        let mut crashes = Crashes::default();
        crashes.begin([NodeName::from("n")].into_iter());
        crashes.changed(None, Some(&pod("a", true)));
        let mut elsewhere = pod("b", true);
        elsewhere.node = Some(NodeName::from("new"));
        crashes.changed(None, Some(&elsewhere));
        let of_new = || halt_for(1, Illness::CrashLooping, Whose::New);
        crashes.decided(&halting(of_new()));
        assert_eq!(told(&crashes, vec![of_new()]), ["run", "pod shop/b"]);
    }
}
