//! The autoscaler comes to rest: on random clusters, once it has added what waits and taken away what nobody needs, it has nothing more to
//! do, and what it took away it does not add again.
//!
//! `REPLANK_SEED=7` plays one cluster, `REPLANK_CLUSTERS=500` more of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_core::scale::{
    Down, Facts, Given, Groups, InFlight, Options, Prices, Priorities, State, Template, Up, down, read_facts,
    up,
};
use replank_facts::budget::{Healths, Ledger};
use replank_facts::fresh::DaemonFactories;
use replank_facts::groups::GroupBy;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::object::cloud::GroupSize;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::{Pod, PodPhase, PodStatus};
use replank_model::text::{GroupName, NodeName};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_oracle::sched_random::{Random, setting};
use replank_oracle::tell::tell;
use replank_schedule::Scheduler;
use serde_json::{Value, json};

/// Clusters of a run.
const CLUSTERS: u64 = 60;
/// Looks within which a cluster must have come to rest: each look adds or takes away at least one of some dozen nodes.
const LOOKS_MAX: usize = 60;

struct Cluster {
    view: View,
    facts: Vec<Facts>,
    options: Options,
    state: State,
    now: Time,
    made: u32,
    removed: BTreeMap<GroupName, u32>,
}

impl Cluster {
    fn random(seed: u64) -> Self {
        let mut draw = Random::new(seed);
        let zones = ["a", "b", "c"];
        let mut view = View::default();
        let mut groups = Vec::new();
        let mut objects = Vec::new();
        let names = ["small", "large", "other"];
        for (at, name) in names.iter().enumerate().take(1 + draw.below(3) as usize) {
            let nodes = 1 + draw.below(5);
            let own: Vec<&str> = zones[..1 + draw.below(3) as usize].to_vec();
            let cores = [4, 8, 4][at];
            for number in 0..nodes {
                let zone = own[number as usize % own.len()];
                objects.push(node(&format!("{name}-{number}"), name, zone, cores));
            }
            let max = nodes + draw.below(12);
            groups.push(json!({"AutoScalingGroupName": name, "MinSize": draw.below(2), "MaxSize": max, "DesiredCapacity": nodes, "AvailabilityZones": own}));
        }
        if draw.percent(60) {
            objects.push(json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "d", "uid": "agent"},
                "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
                    "spec": {"containers": [container(200, 256)]}}}}));
        }
        for at in 0..1 + draw.below(6) {
            workload(&mut draw, at, &mut objects);
        }
        for object in objects {
            view.apply(Delta::Put(Object::from_json(object).expect("valid")));
        }
        let facts = read_facts(&json!({"AutoScalingGroups": groups})).expect("groups");
        let mut options = Options::default();
        let flags = [
            "--scale-down-unneeded-time=0s",
            "--scale-down-delay-after-add=0s",
            "--max-drain-parallelism=3",
            "--skip-nodes-with-system-pods=false",
        ];
        options.read(flags).expect("flags");
        if draw.percent(30) {
            options.read(["--balance-similar-node-groups"]).expect("a flag");
        }
        if draw.percent(30) {
            options.read(["--consolidation"]).expect("a flag");
        }
        let now: Time = "2026-01-05T09:00:00Z".parse().expect("a time");
        Self { view, facts, options, state: State::default(), now, made: 0, removed: BTreeMap::new() }
    }

    /// What the scheduler places, where it may.
    fn schedule(&mut self) {
        let mut scheduler = Scheduler::load(&self.view);
        let waiting: Vec<Arc<Pod>> = self
            .view
            .pods
            .sorted()
            .into_iter()
            .map(|(_, pod)| pod.clone())
            .filter(|pod| pod.node.is_none())
            .collect();
        for pod in waiting {
            if let Ok(placed) = scheduler.place(&self.view, &pod, 0) {
                let mut bound = Pod::clone(&pod);
                bound.node = Some(placed.node);
                bound.status.phase = PodPhase::Running;
                let change = self.view.apply(Delta::Put(Arc::new(bound).into()));
                scheduler.observe(&self.view, &change);
            }
        }
    }

    fn look(&mut self) -> (Up, Down) {
        self.now += Span::from_minutes(1);
        let groups = Groups::of(&self.view, &GroupBy::default(), &self.facts, &self.options);
        let (prices, priorities) = (Prices::default(), Priorities::default());
        let given = Given {
            view: &self.view,
            groups: &groups,
            options: &self.options,
            prices: &prices,
            priorities: &priorities,
            state: &self.state,
            in_flight: &InFlight::default(),
            now: self.now,
        };
        let mut scheduler = Scheduler::load(&self.view);
        let up = up(given, &mut scheduler);
        let mut healths = Healths::default();
        let down = down(given, &mut scheduler, &mut Ledger::new(&self.view, &mut healths), &up);
        let factories = Arc::new(DaemonFactories::of(&self.view));
        let added: Vec<_> = up
            .rounds
            .iter()
            .flat_map(|round| &round.nodes)
            .map(|node| (node.group.clone(), node.zone.clone()))
            .collect();
        for (name, zone) in added {
            let group = groups.get(&name).expect("it grows");
            self.made += 1;
            let fresh = Template::of(group, &self.options, &factories).fresh(&zone, self.made);
            let mut node = Node::clone(&fresh.node);
            node.meta.creation_timestamp = Some(self.now);
            self.view.apply(Delta::Put(Arc::new(node).into()));
            for daemon in fresh.daemons {
                let mut pod = Pod::clone(&daemon);
                pod.node = Some(fresh.node.name());
                pod.status.phase = PodPhase::Running;
                self.view.apply(Delta::Put(Arc::new(pod).into()));
            }
            self.resize(&name, 1);
        }
        let going: Vec<_> = down
            .unneeded
            .iter()
            .filter(|one| one.hold.is_none())
            .map(|one| (one.node.clone(), one.group.clone()))
            .collect();
        for (name, group) in going {
            self.remove(&name);
            *self.removed.entry(group.clone()).or_default() += 1;
            self.resize(&group, -1);
        }
        self.state.unneeded = down.since.clone();
        (up, down)
    }

    fn remove(&mut self, name: &NodeName) {
        let pods: Vec<Arc<Pod>> = self.view.sorted_pods_on(name).into_iter().cloned().collect();
        for pod in pods {
            let is_daemon = pod.meta.controller().is_some_and(|owner| &*owner.kind == "DaemonSet");
            if is_daemon {
                self.view.apply(Delta::Gone(Object::from(pod).reference()));
                continue;
            }
            let mut anew = Pod::clone(&pod);
            anew.node = None;
            anew.status = PodStatus::default();
            self.view.apply(Delta::Put(Arc::new(anew).into()));
        }
        if let Some(node) = self.view.node(name).cloned() {
            self.view.apply(Delta::Gone(Object::from(node).reference()));
        }
    }

    fn resize(&mut self, group: &GroupName, by: i64) {
        let facts = self.facts.iter_mut().find(|facts| facts.name == *group).expect("it is known");
        let size = facts.size.expect("it is said");
        let desired = u32::try_from(i64::from(size.desired) + by).expect("a number of nodes");
        assert!(desired >= size.min && desired <= size.max, "{group}: {desired} is outside of {size}");
        facts.size = Some(GroupSize { desired, ..size });
    }

    fn pending(&self) -> Vec<Key> {
        let pods = self.view.pods.sorted();
        pods.into_iter().filter(|(_, pod)| pod.node.is_none()).map(|(_, pod)| pod.meta.key()).collect()
    }
}

fn container(cpu: u64, memory: u64) -> Value {
    json!({"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")}}})
}

fn node(name: &str, group: &str, zone: &str, cores: u64) -> Value {
    let all = json!({"cpu": cores.to_string(), "memory": format!("{}Gi", cores * 4), "pods": "30"});
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"eks.amazonaws.com/nodegroup": group, "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": name}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"capacity": all, "allocatable": all, "conditions": [{"type": "Ready", "status": "True"}]}})
}

fn workload(draw: &mut Random, at: u64, objects: &mut Vec<Value>) {
    let app = format!("w{at}");
    let own = json!({"matchLabels": {"app": app}});
    let mut spec = json!({"containers": [container(100 + 100 * draw.below(30), 64 << draw.below(7))]});
    let over = if draw.percent(50) { "topology.kubernetes.io/zone" } else { "kubernetes.io/hostname" };
    let term = |over: &str| json!({"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": over, "labelSelector": own}]});
    match draw.below(6) {
        0 => {
            let skew = 1 + draw.below(2);
            let spread = json!({"maxSkew": skew, "whenUnsatisfiable": "DoNotSchedule", "topologyKey": over, "labelSelector": own});
            spec["topologySpreadConstraints"] = json!([spread]);
        }
        1 => spec["affinity"] = json!({"podAntiAffinity": term(over)}),
        2 => spec["affinity"] = json!({"podAffinity": term("topology.kubernetes.io/zone")}),
        3 => spec["nodeSelector"] = json!({"topology.kubernetes.io/zone": draw.one(&["a", "b", "c"])}),
        _ => {}
    }
    objects.push(json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": app, "namespace": "d", "uid": app},
        "spec": {"replicas": 9, "selector": own, "template": {"metadata": {"labels": {"app": app}}, "spec": spec}}}));
    for number in 0..1 + draw.below(14) {
        objects.push(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{app}-{number:02}"), "namespace": "d", "uid": format!("{app}-{number}"),
                "labels": {"app": app}, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": app, "uid": app, "controller": true}]},
            "spec": spec, "status": {"phase": "Pending"}}));
    }
}

/// Plays a cluster; how many nodes came and went.
fn play(seed: u64) -> (u32, u32) {
    let mut cluster = Cluster::random(seed);
    let mut taken_away: Option<Vec<Key>> = None;
    for look in 0..LOOKS_MAX {
        cluster.schedule();
        let waiting = cluster.pending();
        let (up, down) = cluster.look();
        let is_growing = !up.rounds.is_empty();
        if setting("REPLANK_SEED").is_some() {
            tell(format!("look {look}: {} wait; {up:?}\n{down:?}", waiting.len()));
        }
        let going: Vec<&NodeName> =
            down.unneeded.iter().filter(|one| one.hold.is_none()).map(|one| &one.node).collect();
        assert!(!is_growing || going.is_empty(), "REPLANK_SEED={seed}: nodes come and go at once");
        if is_growing {
            // A group at its maximum has room again once a node is gone: pods that waited all along may use it. Pods of the node that
            // is gone must not.
            let helped = up.rounds.iter().flat_map(|round| round.nodes.iter().flat_map(|node| &node.pods));
            let displaced: Vec<&Key> = helped
                .filter(|pod| taken_away.as_ref().is_some_and(|waited: &Vec<Key>| !waited.contains(pod)))
                .collect();
            assert!(
                displaced.is_empty(),
                "REPLANK_SEED={seed}: look {look} adds {:?} for {displaced:?}",
                up.additions()
            );
            continue;
        }
        if going.is_empty() {
            cluster.schedule();
            let (up, down) = cluster.look();
            assert!(
                up.rounds.is_empty() && down.unneeded.iter().all(|one| one.hold.is_some()),
                "REPLANK_SEED={seed}: it rested, and acts again"
            );
            return (cluster.made, cluster.removed.values().sum());
        }
        taken_away = Some(waiting);
    }
    panic!("REPLANK_SEED={seed}: it does not come to rest within {LOOKS_MAX} looks");
}

#[test]
fn random_clusters_come_to_rest() {
    if let Some(seed) = setting("REPLANK_SEED") {
        tell(format!("{:?}", play(seed)));
        return;
    }
    let clusters = setting("REPLANK_CLUSTERS").unwrap_or(CLUSTERS);
    let (mut grown, mut shrunk) = (0, 0);
    for seed in 0..clusters {
        let (made, removed) = play(seed);
        grown += u32::from(made > 0);
        shrunk += u32::from(removed > 0);
    }
    tell(format!("{clusters} clusters: {grown} grew, {shrunk} shrank"));
    assert!(
        u64::from(grown) * 4 > clusters && u64::from(shrunk) * 4 > clusters,
        "too few had anything to do"
    );
}
