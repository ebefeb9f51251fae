//! The shortcut is the long way: division puts as many pods on each new node as placing them one by one.

use std::sync::Arc;

use proptest::prelude::*;
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::view::View;
use serde_json::{Value, json};

use super::super::classes::Classes;
use super::super::group::Groups;
use super::super::options::Options;
use super::super::source::Stock;
use super::super::template::Template;
use super::super::what_if::WhatIf;
use super::*;
use replank_facts::fresh::DaemonFactories;
use replank_facts::group_facts as facts;
use replank_facts::groups::GroupBy;
use replank_schedule::Scheduler;

/// Pods of one kind: cpu, memory, how many, and the zone that they select, if any.
type Kinds = Vec<(u32, u32, usize, Option<u8>)>;

fn pod(at: usize, number: usize, (cpu, memory, zone): (u32, u32, Option<u8>)) -> Value {
    let selector = zone.map_or(json!({}), |zone| json!({"topology.kubernetes.io/zone": format!("z{zone}")}));
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p{at}-{number:03}"), "namespace": "d", "labels": {"app": format!("a{at}")}},
        "spec": {"nodeSelector": selector, "containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{cpu}m"), "memory": format!("{memory}Mi")}}}]},
        "status": {"phase": "Pending"}})
}

fn world(
    kinds: &Kinds,
    daemon: u32,
    zones: u8,
    (cpu, memory, pods): (u32, u32, u32),
    room: u32,
) -> (View, Groups) {
    let mut view = View::default();
    let mut put = |value: Value| drop(view.apply(Delta::Put(Object::from_json(value).expect("valid"))));
    for (at, (cpu, memory, count, zone)) in kinds.iter().enumerate() {
        (0..*count).for_each(|number| put(pod(at, number, (*cpu, *memory, *zone))));
    }
    if daemon > 0 {
        put(
            json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent", "namespace": "d"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": format!("{daemon}m")}}}]}}}}),
        );
    }
    let zones: Vec<String> = (0..zones).map(|zone| format!("z{zone}")).collect();
    let tag = |name: &str, value: String| json!({"Key": format!("k8s.io/cluster-autoscaler/node-template/resources/{name}"), "Value": value});
    let answer = json!({"AutoScalingGroups": [{"AutoScalingGroupName": "g", "MinSize": 0, "MaxSize": room, "DesiredCapacity": 0,
        "AvailabilityZones": zones, "Tags": [tag("cpu", cpu.to_string()), tag("memory", format!("{memory}Gi")), tag("pods", pods.to_string())]}]});
    let facts = facts::read(&answer).expect("a group");
    let groups = Groups::of(&view, &GroupBy::default(), &facts, &Options::default());
    (view, groups)
}

fn what_if<'a>(view: &'a View, groups: &'a Groups, scheduler: &'a mut Scheduler) -> WhatIf<'a> {
    let options = Options::default();
    let factories = Arc::new(DaemonFactories::of(view));
    let templates = groups.all.iter().map(|group| Template::of(group, &options, &factories)).collect();
    let queue: Vec<_> = view.pods.sorted().into_iter().map(|(_, pod)| pod.clone()).collect();
    let of =
        |group: &super::super::group::Group| Stock::of(group, group.room(), &vec![true; group.zones.len()]).0;
    let stocks = groups.all.iter().map(of).collect();
    WhatIf::new(view, scheduler.trial(), &groups.all, templates, Classes::of(&queue, false), stocks)
}

/// How many pods of each class are on each new node.
fn shares(filled: &Filled) -> Vec<(String, std::collections::BTreeMap<usize, usize>)> {
    let mut nodes: Vec<_> = filled
        .estimate
        .added
        .iter()
        .map(|next| (format!("{}/{}", next.zone, next.number), std::collections::BTreeMap::new()))
        .collect();
    for put in &filled.estimate.puts {
        if let On::Slot(at) = put.on {
            *nodes[at].1.entry(put.class).or_default() += put.pods;
        }
    }
    nodes
}

/// The long way: each pod goes to the first new node on which the engine lets it, else a node is added.
fn long_way(
    what_if: &mut WhatIf<'_>,
    most: usize,
) -> Vec<(String, std::collections::BTreeMap<usize, usize>)> {
    let mut stocks = what_if.stocks.clone();
    let mut nodes: Vec<(String, std::collections::BTreeMap<usize, usize>, NodeName)> = Vec::new();
    let zones = what_if.groups[0].zones.len();
    let placed = vec![0; what_if.classes.all.len()];
    let order = {
        let stocks = what_if.stocks.iter().cloned().collect();
        let (slots, by_name) = (Slots::new(&[]), FxHashMap::default());
        Filling {
            what_if,
            choice: &[0],
            mode: Mode::Division,
            stocks,
            slots,
            by_name,
            most,
            puts: Vec::new(),
            placed,
        }
        .order()
    };
    for class in order {
        for pod in what_if.classes.all[class].pods.clone() {
            let on = nodes.iter().position(|(_, _, name)| what_if.fits_on(&pod, name));
            if let Some(at) = on {
                let name = nodes[at].2.clone();
                what_if.assume(&pod, &name, &VolumeDecisions::default());
                *nodes[at].1.entry(class).or_default() += 1;
                continue;
            }
            let (before, saved, mark) = (nodes.len(), stocks.clone(), what_if.trial.mark());
            let mut found = false;
            while !found && nodes.len() < most && nodes.len() - before <= zones {
                let Some(next) = next(&[0], &mut stocks) else { break };
                let name = what_if.put_node(next);
                nodes.push((
                    format!("{}/{}", next.zone, next.number),
                    std::collections::BTreeMap::new(),
                    name.clone(),
                ));
                found = what_if.fits_on(&pod, &name);
                if found {
                    what_if.assume(&pod, &name, &VolumeDecisions::default());
                    *nodes.last_mut().expect("just added").1.entry(class).or_default() += 1;
                }
            }
            if !found {
                nodes.truncate(before);
                stocks = saved;
                what_if.trial.revert_to(mark);
                break;
            }
        }
    }
    nodes.into_iter().map(|(name, shares, _)| (name, shares)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn division_is_placing_one_by_one(
        kinds in prop::collection::vec((50u32..2_500, 32u32..6_000, 1usize..30, prop::option::of(0u8..3)), 1..6),
        daemon in 0u32..600, zones in 1u8..4, cores in 1u32..9, gib in 2u32..17, pods in 4u32..20, room in 1u32..40, most in 1usize..40,
    ) {
        let (view, groups) = world(&kinds, daemon, zones, (cores, gib, pods), room);
        let mut scheduler = Scheduler::load(&view);
        let mut short = what_if(&view, &groups, &mut scheduler);
        prop_assert!(short.classes.are_plain());
        let division = shares(&fill(&mut short, &[0], Mode::Division, most));
        let mark = short.trial.mark();
        let engine = shares(&fill(&mut short, &[0], Mode::Engine, most));
        short.trial.revert_to(mark);
        prop_assert_eq!(&division, &engine);
        let long = long_way(&mut short, most);
        prop_assert_eq!(&division, &long);
    }
}
