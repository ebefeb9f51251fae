//! Pods that do not get Ready, however long one waits: in the snapshot, and so in the copy.
//!
//! A rehearsal that healed what is broken would promise a roll that the real cluster cannot do. What is wrong with one
//! pod alone (a bad volume, a lost peer) stays with that pod; what is wrong with every pod of an owner (a bad
//! image, a crash at start) is in the template, and its next pods will have it too.

use replank_model::object::condition;
use replank_model::object::pod::{Pod, PodPhase, Probe};
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use rustc_hash::FxHashMap;

use super::limits::{START_DEFAULT, START_MAX};
use super::samples::Samples;
use super::workload::{Workload, series_of};

/// Reasons of waiting containers that do not go away by waiting (pkg/kubelet/images and pkg/kubelet/kuberuntime).
const LASTING: &[&str] = &[
    "CrashLoopBackOff",
    "ImagePullBackOff",
    "ErrImagePull",
    "ErrImageNeverPull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "RunContainerError",
];

/// How far a pod in trouble gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Its containers do not start.
    NeverRuns,
    /// It runs, but is never Ready.
    NeverReady,
}

/// Who is in trouble.
#[derive(Clone, Debug, Default)]
pub(super) struct Troubles {
    pods: FxHashMap<Uid, Trouble>,
    owners: FxHashMap<Uid, Trouble>,
    /// The owners' workloads and the number of their pods, for the report.
    pub(super) workloads: Vec<(Workload, usize)>,
    /// Pods that are not Ready, and are taken to stay so, though others of their owner are Ready.
    pub(super) unready: usize,
    /// Pods that are not Ready, and are taken to be starting.
    pub(super) starting: usize,
}

/// How long pods took to start, where the snapshot shows it.
pub(super) struct Starts<'a> {
    /// By workload.
    pub(super) own: &'a FxHashMap<Workload, Samples>,
    /// Of all pods.
    pub(super) all: &'a Samples,
}

impl Starts<'_> {
    /// How long a pod that runs is believed to become Ready: twice as long as the slowest of its workload took; where none was ever Ready, as long
    /// as the slowest of the cluster. Its probes may ask for more, and none is given up before an ordinary start is over.
    fn patience(&self, view: &View, pod: &Pod) -> Span {
        let own = series_of(view, pod).and_then(|workload| self.own.get(&workload)?.bounds());
        let usual = match (own, self.all.bounds()) {
            (Some((_, longest)), _) => longest + longest,
            (None, Some((_, longest))) => longest,
            (None, None) => Span::ZERO,
        };
        usual.max(START_DEFAULT.high).max(probing(pod)).min(START_MAX)
    }
}

/// How long a pod's probes may take to say yes: until the first of readiness, or until the kubelet gives the start up.
fn probing(pod: &Pod) -> Span {
    let spans = pod.spec.containers.iter().map(|container| {
        let ready = container
            .readiness_probe
            .as_ref()
            .map_or(0, |probe| i64::from(probe.initial_delay_seconds) + period(probe));
        let start = container.startup_probe.as_ref().map_or(0, |probe| {
            let tries = if probe.failure_threshold == 0 { 3 } else { i64::from(probe.failure_threshold) };
            i64::from(probe.initial_delay_seconds) + period(probe) * tries
        });
        Span::from_secs(ready + start)
    });
    spans.max().unwrap_or_default()
}

fn period(probe: &Probe) -> i64 {
    if probe.period_seconds == 0 { 10 } else { i64::from(probe.period_seconds) }
}

impl Troubles {
    pub(super) fn find(view: &View, now: Time, starts: &Starts<'_>) -> Self {
        let mut troubles = Self::default();
        for (_, pod) in view.pods.sorted() {
            if let Some(trouble) = trouble_of(view, pod, now, starts) {
                troubles.pods.insert(pod.meta.uid.clone(), trouble);
            }
        }
        for (_, pod) in view.pods.sorted() {
            let Some(trouble) = troubles.pods.get(&pod.meta.uid) else { continue };
            let Some(owner) = pod.meta.controller() else { continue };
            if troubles.owners.contains_key(&owner.uid) {
                continue;
            }
            let siblings = view.pods_of(&owner.uid);
            let mut active = siblings.iter().map(|ix| &view.pods[*ix]).filter(|pod| pod.is_active());
            if active.all(|pod| troubles.pods.contains_key(&pod.meta.uid)) {
                troubles.owners.insert(owner.uid.clone(), *trouble);
                troubles.workloads.extend(series_of(view, pod).map(|workload| (workload, siblings.len())));
            }
        }
        for (_, pod) in view.pods.sorted() {
            let node_is_well =
                pod.node.as_ref().and_then(|node| view.node(node)).is_some_and(|node| node.is_ready());
            let is_coming = pod.is_active() && !pod.is_ready() && node_is_well;
            let owner_is_well =
                pod.meta.controller().is_none_or(|owner| !troubles.owners.contains_key(&owner.uid));
            if is_coming && owner_is_well {
                let is_in_trouble = troubles.pods.contains_key(&pod.meta.uid);
                *if is_in_trouble { &mut troubles.unready } else { &mut troubles.starting } += 1;
            }
        }
        troubles
    }

    pub(super) fn of(&self, pod: &Pod) -> Option<Trouble> {
        let own = self.pods.get(&pod.meta.uid);
        own.or_else(|| self.owners.get(&pod.meta.controller()?.uid)).copied()
    }
}

/// What keeps one pod from being Ready: told by its containers, or by time. On a node that is not Ready itself, it is
/// the node.
fn trouble_of(view: &View, pod: &Pod, now: Time, starts: &Starts<'_>) -> Option<Trouble> {
    let node = view.node(pod.node.as_ref()?)?;
    if !pod.is_active() || pod.is_ready() || !node.is_ready() {
        return None;
    }
    let mut waiting =
        pod.status.container_statuses.iter().filter_map(|container| container.state.waiting.as_ref());
    let bound = condition::find(&pod.status.conditions, "PodScheduled")
        .and_then(|scheduled| scheduled.last_transition_time)
        .or(pod.status.start_time)?;
    // Images are pulled and volumes attached for as long as it takes; containers that run should be Ready soon.
    let patience = if pod.status.phase == PodPhase::Running { starts.patience(view, pod) } else { START_MAX };
    let is_lasting = waiting.any(|waiting| LASTING.contains(&&*waiting.reason)) || now - bound > patience;
    is_lasting.then_some(match pod.status.phase {
        PodPhase::Pending => Trouble::NeverRuns,
        PodPhase::Running | PodPhase::Unknown | PodPhase::Succeeded | PodPhase::Failed => Trouble::NeverReady,
    })
}

#[cfg(test)]
mod tests {
    use replank_model::time::Span;
    use serde_json::{Value, json};

    use super::super::Durations;
    use super::Trouble;
    use crate::testing::{node, world};

    /// A pod of `owner`, bound at midnight: Ready after so many seconds, or running and not Ready.
    fn pod(name: &str, owner: &str, ready: Option<u32>, probe: Option<i32>) -> Value {
        let mut conditions = vec![
            json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}),
        ];
        conditions.push(match ready {
            Some(after) => json!({"type": "Ready", "status": "True", "lastTransitionTime": format!("2026-01-01T00:00:{after:02}Z")}),
            None => json!({"type": "Ready", "status": "False", "reason": "ContainersNotReady"}),
        });
        let startup = probe.map(|tries| json!({"periodSeconds": 10, "failureThreshold": tries}));
        json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop", "uid": name,
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": owner, "uid": owner, "controller": true}]},
            "spec": {"nodeName": "n", "containers": [{"name": "main", "image": "x", "startupProbe": startup}]},
            "status": {"phase": "Running", "conditions": conditions}})
    }

    #[test]
    fn pods_that_run_for_longer_than_others_took_stay_unready() {
        let world = world(vec![
            node("n", "a"),
            pod("slow-0", "slow", Some(40), None),
            pod("slow-1", "slow", None, None),
            pod("broken-0", "broken", None, None),
            pod("patient-0", "patient", None, Some(30)),
        ]);
        let view = world.view();
        let troubles = |seconds| {
            let durations = Durations::learn(view, world.now() + Span::from_secs(seconds));
            let mut names: Vec<String> = Vec::new();
            for (_, pod) in view.pods.sorted() {
                if durations.trouble(pod) == Some(Trouble::NeverReady) {
                    names.push(pod.meta.name.to_string());
                }
            }
            let said = durations.assumptions().into_iter().map(|assumption| assumption.about);
            (names, said.filter(|about| about.starts_with("pods that are ")).collect::<Vec<_>>())
        };
        let starting = || vec!["pods that are starting".to_owned()];
        let both = || vec!["pods that are not Ready".to_owned(), "pods that are starting".to_owned()];
        assert_eq!(troubles(30), (vec![], starting()));
        // The slowest of the cluster took 40 s; the slowest of its own workload, twice that.
        assert_eq!(troubles(60), (vec!["broken-0".to_owned()], starting()));
        assert_eq!(troubles(90), (vec!["broken-0".to_owned(), "slow-1".to_owned()], both()));
        // A start-up probe gives five minutes.
        let (names, _) = troubles(320);
        assert_eq!(names, ["broken-0", "patient-0", "slow-1"]);
    }
}
