//! Clusters by chance: every run ends, and on the way keeps what it promises.

use proptest::prelude::*;
use replank_model::object::cloud::GroupSize;
use replank_model::time::Span;
use replank_protocol::command::{Effect, KubernetesEffect};
use replank_protocol::decision::End;
use replank_protocol::waiting::{PodEnd, PodWait, RollWait, WaitingOn};
use serde_json::{Value, json};

use crate::stage::{Lag, Stage, budget, job_pod, node, plan, replica_set, start, web};

/// A cluster and a plan.
#[derive(Clone, Debug)]
struct Scene {
    /// Zone of each node.
    zones: Vec<u8>,
    /// Node of each pod, by workload; a workload has a budget that lets this many go, or none.
    workloads: Vec<(Vec<u8>, Option<i32>)>,
    /// Nodes with a Job's pod, and after how many minutes it ends.
    jobs: Vec<(u8, u8)>,
    surge: u32,
    max_unavailable: u32,
    min_ready_per_zone: u32,
    parallel: u32,
    order: u8,
    on_deadline: u8,
    lag: u8,
    prefers_last_zone: bool,
    has_canary: bool,
    /// Whether the nodes move into another group.
    moves: bool,
    /// Whether that group may hold nothing at first.
    is_tight: bool,
}

fn scene() -> impl Strategy<Value = Scene> {
    let workload = (prop::collection::vec(any::<u8>(), 1..6), prop::option::of(-1..3i32));
    let cluster = (
        prop::collection::vec(0..3u8, 1..6),
        prop::collection::vec(workload, 0..5),
        prop::collection::vec((any::<u8>(), 1..200u8), 0..3),
    );
    let counts = (0..3u32, 0..2u32, 0..2u32, 1..4u32);
    let choices = (0..3u8, 0..3u8, 0..4u8, any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (cluster, counts, choices).prop_map(|((zones, workloads, jobs), counts, choices)| {
        let (surge, max_unavailable, min_ready_per_zone, parallel) = counts;
        let (order, on_deadline, lag, prefers_last_zone, has_canary, moves, is_tight) = choices;
        Scene {
            zones,
            workloads,
            jobs,
            surge: if max_unavailable == 0 { surge.max(1) } else { surge },
            max_unavailable,
            min_ready_per_zone,
            parallel,
            order,
            on_deadline,
            lag,
            prefers_last_zone,
            has_canary,
            moves,
            is_tight,
        }
    })
}

const LAGS: [Lag; 4] = [
    |_| 0,
    |_| 2,
    |kind| if kind == replank_model::object::Kind::Pod { 2 } else { 0 },
    |kind| if kind == replank_model::object::Kind::Pod { 0 } else { 2 },
];

fn stage(scene: &Scene) -> Stage {
    let order = ["leastDisruption", "oldest", "zoneByZone"][usize::from(scene.order)];
    let on_deadline = ["pause", "evict", "skip"][usize::from(scene.on_deadline)];
    let mut spec = json!({"target": {"kubernetesVersion": "1.36"}, "order": order,
        "budget": {"surge": scene.surge, "maxUnavailable": scene.max_unavailable, "minReadyPerZone": scene.min_ready_per_zone},
        "pace": {"parallel": scene.parallel}, "batch": {"wait": "2h", "onDeadline": on_deadline}, "progressDeadline": "20m"});
    if scene.moves {
        spec["target"] = json!({"group": "web-new"});
    }
    if scene.has_canary {
        spec["canary"] = json!({"nodes": 1, "soak": "3m"});
    }
    let mut stage = Stage::new(plan(&["web"], spec), objects(scene)).with_lag(LAGS[usize::from(scene.lag)]);
    stage.prefers_last_zone = scene.prefers_last_zone;
    if scene.moves && scene.is_tight {
        stage.group(&"web-new".into(), |group| group.size.max = 0);
        stage.sizes.insert("web-new".into(), GroupSize::default());
        // It was so long before the run.
        stage.restart();
    }
    for (at, (_, minutes)) in scene.jobs.iter().enumerate() {
        stage.jobs.push((format!("crunch-{at}"), start() + Span::from_minutes(i64::from(*minutes))));
    }
    stage
}

fn objects(scene: &Scene) -> Vec<Value> {
    let mut objects = Vec::new();
    for (at, zone) in scene.zones.iter().enumerate() {
        objects.push(node(&format!("n{at}"), "web", ["a", "b", "c"][usize::from(*zone)]));
    }
    let on = |node: u8| format!("n{}", usize::from(node) % scene.zones.len());
    for (number, (nodes, spare)) in scene.workloads.iter().enumerate() {
        let name = format!("w{number}");
        let replicas = i32::try_from(nodes.len()).expect("few");
        objects.push(replica_set(&name, replicas, "1"));
        for (at, node) in nodes.iter().enumerate() {
            objects.push(web(&format!("{name}-x{at}"), &on(*node), &name));
        }
        if let Some(spare) = spare {
            objects.push(budget(&name, &name, replicas - spare));
        }
    }
    for (at, (node, _)) in scene.jobs.iter().enumerate() {
        objects.push(job_pod(&format!("crunch-{at}"), &on(*node)));
    }
    objects
}

/// Whether nothing stands in the way: budgets have slack, no batch pods, a new node for each zone, and no node has more than
/// one node can take.
fn must_be_done(scene: &Scene) -> bool {
    let mut pods = vec![0; scene.zones.len()];
    for node in scene.workloads.iter().flat_map(|(nodes, _)| nodes) {
        pods[usize::from(*node) % scene.zones.len()] += 1;
    }
    let zones = scene.zones.iter().collect::<std::collections::BTreeSet<_>>().len();
    scene.jobs.is_empty()
        && scene.workloads.iter().all(|(_, spare)| spare.is_none_or(|spare| spare > 0))
        && scene.surge as usize >= zones
        && (scene.min_ready_per_zone == 0 || scene.order != 2)
        && pods.iter().all(|pods| *pods <= 4)
}

/// Whether a reason is one of those that these clusters can really have.
fn is_true_cause(on: &WaitingOn) -> bool {
    matches!(
        on,
        WaitingOn::Pod(PodWait::Budget { .. })
            | WaitingOn::PodEnd(PodEnd::BatchOver { .. })
            | WaitingOn::Pod(PodWait::Room { .. })
            | WaitingOn::Roll(RollWait::ZoneMinimum { .. })
            | WaitingOn::Roll(RollWait::Available { .. })
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, max_shrink_iters: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_keeps_its_promises(scene in scene()) {
        let mut stage = stage(&scene);
        let end = stage.run(Span::from_minutes(48 * 60));
        let old = stage.truth.nodes.sorted().iter().filter(|(_, node)| node.meta.name.as_str().starts_with('n')).count();
        prop_assert!(end == End::Done || !must_be_done(&scene), "{end:?}\n{}", stage.story());
        match &end {
            End::Done => prop_assert!(old == 0 || scene.on_deadline == 2, "{}", stage.story()),
            End::Blocked(blockers) => {
                prop_assert!(blockers.iter().any(|blocker| is_true_cause(&blocker.on)), "{blockers:?}\n{}", stage.story());
            }
            End::RolledBack(_) | End::Cancelled(_) | End::Refused(_) => prop_assert!(false, "{end:?}"),
        }
        let evicted: Vec<_> = stage.done.iter().filter(|(_, c, r)| matches!(c.effect, Effect::Kubernetes(KubernetesEffect::Evict { .. })) && r.is_ok()).collect();
        let mut names: Vec<_> = evicted.iter().map(|(_, c, _)| &c.key).collect();
        names.sort();
        names.dedup();
        prop_assert_eq!(names.len(), evicted.len(), "no pod is evicted twice");
        for (_, command, _) in &evicted {
            let Effect::Kubernetes(KubernetesEffect::Evict { pod, .. }) = &command.effect else { continue };
            prop_assert!(pod.key.name.as_str().contains("-x") || pod.key.name.as_str().starts_with("crunch"),
                "a pod that was moved is not moved again: {}\n{}", pod.key, stage.story());
        }
        if end == End::Done && !stage.last.waiting.iter().any(|waiting| waiting.on.kind() == "bounds") {
            let groups = stage.truth.groups();
            let into = groups.get("web-new").map_or(0, |group| group.size.desired);
            // A new node that was launched for one that is left out in the end is kept if it has pods, where the bounds allow it.
            let kept = if scene.moves && old > 0 { scene.surge } else { 0 };
            let wanted = into + groups["web"].size.desired;
            let before = stage.original.desired;
            prop_assert!((before..=before + kept).contains(&wanted), "{wanted}\n{}", stage.story());
            prop_assert_eq!((groups["web"].size.min, groups["web"].size.max), (stage.original.min, stage.original.max));
            prop_assert_eq!(groups["web"].size.desired as usize, if scene.moves { old } else { scene.zones.len() });
            if scene.moves && scene.is_tight {
                prop_assert_eq!(groups["web-new"].size.max, into, "{}", stage.story());
            }
            prop_assert!(groups.values().all(|group| group.tags.is_empty()));
        }
    }
}
