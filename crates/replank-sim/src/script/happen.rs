//! Lets something happen in a world.

use replank_model::object::Kind;
use replank_model::object::cloud::{
    HookResult, LaunchTemplate, LifecycleHook, Market, NodeGroup, VersionWord, Ways,
};
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::text::{GroupName, NodeName, Text, Zone};
use replank_protocol::mark;
use serde_json::{Value, json};

use super::names::Names;
use super::send::{NotPossible, send};
use super::what::{Act, Befalls, CloudSays, Hand, Meta, PodDoes, Protection, Supply, Way, What};
use crate::cloud::{StatusCheck, Told};
use crate::controllers::drains::refused;
use crate::durations::series_of;
use crate::kubelet::{PodAct, STUCK};
use crate::world::World;
use replank_apiserver::json::Method;

/// Lets something happen at the present moment.
///
/// # Errors
/// If it cannot be.
pub fn happen(world: &mut World, names: &dyn Names, what: &What) -> Result<(), NotPossible> {
    world.touch();
    match what {
        What::Intend(intent) => {
            if !world.intend(*intent) {
                return Err(NotPossible("no run has started yet".to_owned()));
            }
        }
        What::Image(image, fault) => world.image_fault(image, *fault),
        What::Pod(alias, does) => {
            let key = names.pod(alias);
            if world.view().pods.by_key(&key).is_none() {
                return Err(NotPossible(format!("pod {alias} not found")));
            }
            pod(world, &key, *does)?;
        }
        What::Pods(kind, key, does) => pods(world, *kind, key, *does)?,
        What::Silence(node) => {
            let node = there(world, names, node)?;
            world.silence(&node);
        }
        What::Wake(node) => {
            let node = there(world, names, node)?;
            wake(world, &node)?;
        }
        What::Targets(group, checks) => {
            if !world.view().groups().contains_key(group) {
                return Err(NotPossible(format!("node group {group} not found")));
            }
            world.set_target_checks(group, *checks);
        }
        What::UnhealthyTarget(alias) => {
            let node = there(world, names, alias)?;
            if !world.fail_target_checks(&node) {
                return Err(NotPossible(format!("node {alias} has no running instance")));
            }
        }
        What::Status(alias, status) => {
            let node = there(world, names, alias)?;
            if !world.check_status(&node, *status) {
                return Err(NotPossible(format!("node {alias} has no running instance")));
            }
            match status {
                StatusCheck::Fails => world.silence(&node),
                StatusCheck::Passes => wake(world, &node)?,
            }
        }
        What::Cloud(nodes, says) => {
            let found = nodes.iter().map(|node| there(world, names, node)).collect::<Result<Vec<_>, _>>()?;
            if let Err(at) = world.warn(&found, told(world, *says)) {
                return Err(NotPossible(format!("node {} has no running instance", nodes[at])));
            }
        }
        What::Some(group, zone, count, befalls) => some(world, group, zone.as_ref(), *count, *befalls)?,
        What::Post(body) => world.post(body),
        What::Queue(delivery) => world.deliver(*delivery),
        What::Capacity(capacity, supply) => world.set_capacity(capacity, *supply == Supply::Back),
        What::Hazard(hazard) => world.begin_hazard(hazard),
        What::Hand(hand) => by_hand(world, names, hand)?,
        What::Restart => {
            if !world.start_anew() {
                return Err(NotPossible("no run has started yet".to_owned()));
            }
        }
    }
    Ok(())
}

fn told(world: &World, says: CloudSays) -> Told {
    match says {
        CloudSays::Spot => Told::Spot,
        CloudSays::Rebalance => Told::Rebalance,
        CloudSays::Retirement(span) => Told::Retirement(world.now().floor_seconds() + span),
    }
}

/// Something befalls so many instances of a group that are in service.
fn some(
    world: &mut World,
    group: &GroupName,
    zone: Option<&Zone>,
    count: u32,
    befalls: Befalls,
) -> Result<(), NotPossible> {
    if !world.view().groups().contains_key(group) {
        return Err(NotPossible(format!("node group {group} not found")));
    }
    let market = match befalls {
        Befalls::Cloud(CloudSays::Spot | CloudSays::Rebalance) => Some(Market::Spot),
        Befalls::Cloud(CloudSays::Retirement(_)) | Befalls::End => None,
    };
    let drawn = world.draw_instances(group, zone, market, count);
    for node in &drawn {
        let is_done = match befalls {
            Befalls::Cloud(says) => world.warn(std::slice::from_ref(node), told(world, says)).is_ok(),
            Befalls::End => world.end_instance(node),
        };
        debug_assert!(is_done, "only what runs is drawn");
    }
    let missing = u32::try_from(drawn.len()).map_or(0, |drawn| count.saturating_sub(drawn));
    if missing == 0 {
        return Ok(());
    }
    let spot = if market.is_some() { "spot " } else { "" };
    let of = zone.map_or_else(|| format!("group {group}"), |zone| format!("group {group} in {zone}"));
    Err(NotPossible(format!("{of} has {} running {spot}instances", drawn.len())))
}

fn by_hand(world: &mut World, names: &dyn Names, hand: &Hand) -> Result<(), NotPossible> {
    match hand {
        Hand::Cordon(node) => cordon(world, &there(world, names, node)?, true),
        Hand::Uncordon(node) => cordon(world, &there(world, names, node)?, false),
        Hand::Evict(pod) => {
            let there = world.view().pods.by_key(&names.pod(pod)).cloned();
            let there = there.ok_or_else(|| NotPossible(format!("pod {pod} not found")))?;
            world.evict_by_hand(there).map_err(NotPossible)
        }
        Hand::Drain(nodes) => drain(world, names, nodes),
        Hand::Taint(node, taint) => {
            let name = there(world, names, node)?;
            let taint =
                serde_json::from_value(taint.clone()).map_err(|error| NotPossible(error.to_string()))?;
            change_node(world, &name, |node| node.spec.taints.push(taint))
        }
        Hand::EndInstance(node) => {
            let name = there(world, names, node)?;
            let is_ended = world.end_instance(&name);
            is_ended.then_some(()).ok_or_else(|| NotPossible(format!("node {node} has no running instance")))
        }
        Hand::LeaveDrained(node) => {
            let name = there(world, names, node)?;
            let is_left = world.leave_drained(&name);
            is_left.then_some(()).ok_or_else(|| NotPossible(format!("node {node} not found")))
        }
        Hand::Takes(what, span) => {
            world.takes(*what, *span);
            Ok(())
        }
        Hand::ScaleGroup(group, count) => change_group(world, group, |group| {
            group.size.desired = *count;
            group.size.min = group.size.min.min(*count);
            group.size.max = group.size.max.max(*count);
        }),
        Hand::Hook(group, at, hook, timeout) => change_group(world, group, |group| {
            group.hooks.retain(|known| known.name != *hook);
            let (name, timeout, result) = (hook.clone(), *timeout, HookResult::default());
            group.hooks.push(LifecycleHook { name, at: *at, timeout, result });
            group.hooks.sort();
        }),
        Hand::NewVersion(group, image) => change_group(world, group, |group| {
            let version = new_version(group, image);
            let last = group.last_version_of(&version);
            group.templates.entry(last).or_insert(version);
            follow(group);
        }),
        Hand::DefaultVersion(group) => change_group(world, group, |group| {
            group.default_version = Some(group.version_called(VersionWord::Latest));
            follow(group);
        }),
        Hand::Follow(group, word) => change_group(world, group, |group| {
            // Where nobody knows the default, it is what the group launches.
            group.default_version.get_or_insert_with(|| group.current.clone());
            group.follows = Some(*word);
            follow(group);
        }),
        Hand::Ways(group, way) => change_group(world, group, |group| change_ways(&mut group.ways, way)),
        Hand::Protect(node, protection) => {
            let name = there(world, names, node)?;
            let is_done = world.protect(&name, *protection == Protection::On);
            is_done.then_some(()).ok_or_else(|| NotPossible(format!("node {node} has no running instance")))
        }
        Hand::Health(node, health) => {
            let name = there(world, names, node)?;
            let is_done = world.set_instance_health(&name, *health);
            is_done.then_some(()).ok_or_else(|| NotPossible(format!("node {node} has no running instance")))
        }
        Hand::RegisterTargets(node) => {
            let name = there(world, names, node)?;
            let is_done = world.register_targets(&name);
            is_done.then_some(()).ok_or_else(|| NotPossible(format!("node {node} has no running instance")))
        }
        Hand::Scale(kind, key, count) => {
            send(world, Method::Patch, *kind, key, "/scale", json!({"spec": {"replicas": count}}))
        }
        Hand::Restart(kind, key) => {
            let at = world.now().floor_seconds().to_string();
            let annotations = json!({"metadata": {"annotations": {mark::RESTARTED_AT: at}}});
            let patch = json!({"spec": {"template": annotations}});
            send(world, Method::Patch, *kind, key, "", patch)
        }
        Hand::Delete(kind, key) => {
            let key = real(world, names, *kind, key);
            send(world, Method::Delete, *kind, &key, "", Value::Null)
        }
        Hand::Write(meta, act, kind, key) => {
            let key = real(world, names, *kind, key);
            let (name, value) = match act {
                Act::Set(name, value) => (name, Value::from(value.as_str())),
                Act::Remove(name) => (name, Value::Null),
            };
            let member = match meta {
                Meta::Label => "labels",
                Meta::Annotation => "annotations",
            };
            let patch = json!({"metadata": {member: {name: value}}});
            send(world, Method::Patch, *kind, &key, "", patch)
        }
        Hand::Untag(group, key) => change_group(world, group, |group| group.tags = group.tags.without(key)),
        Hand::Patch(kind, key, patch) => {
            let key = real(world, names, *kind, key);
            send(world, Method::Patch, *kind, &key, "", patch.clone())
        }
        Hand::Create(objects) => {
            for object in objects {
                let made = world.request(|api| api.apply_json(object.clone()));
                made.map_err(|error| NotPossible(error.message.clone()))?;
            }
            Ok(())
        }
    }
}

fn drain(world: &mut World, names: &dyn Names, nodes: &[String]) -> Result<(), NotPossible> {
    let found = nodes.iter().map(|node| there(world, names, node)).collect::<Result<Vec<_>, _>>()?;
    // As kubectl: the nodes are cordoned before it looks at the pods, and stay so.
    for node in &found {
        cordon(world, node, true)?;
    }
    if let Some(pod) = refused(world.view(), &found) {
        let words = format!(
            "pod {} has no controller: kubectl drain asks for --force, and nothing would recreate it",
            pod.meta.key()
        );
        return Err(NotPossible(words));
    }
    world.drain(found);
    Ok(())
}

/// As the group's present version, with another image: with the kubelet that is known to come with it.
fn new_version(group: &NodeGroup, image: &Text) -> LaunchTemplate {
    let known = group.templates.values().find(|known| known.image == *image);
    let mut version = group.template().clone();
    version.image = image.clone();
    version.released = known.map_or_else(Text::default, |known| known.released.clone());
    if let Some(known) = known {
        version.profile.kubelet_version = known.profile.kubelet_version.clone();
    }
    version
}

/// The word by which a group names its version may mean another by now.
fn follow(group: &mut NodeGroup) {
    if let Some(word) = group.follows {
        group.current = group.version_called(word);
    }
}

fn change_ways(ways: &mut Ways, way: &Way) {
    match way {
        Way::Suspend(process) => drop(ways.suspended.insert(*process)),
        Way::Resume(process) => drop(ways.suspended.remove(process)),
        Way::Policies(policies) => ways.policies.clone_from(policies),
        Way::ProtectNew(protection) => ways.protects_new = *protection == Protection::On,
    }
}

fn pod(world: &mut World, key: &Key, does: PodDoes) -> Result<(), NotPossible> {
    let stick = |stuck: Value| json!({"metadata": {"annotations": {STUCK: stuck}}});
    match does {
        PodDoes::Ready => world.act(key, PodAct::Ready),
        PodDoes::Unready => world.act(key, PodAct::Unready),
        PodDoes::Exit(code) => world.act(key, PodAct::Exit(code)),
        PodDoes::Stick => send(world, Method::Patch, Kind::Pod, key, "", stick("true".into()))?,
        PodDoes::Unstick => send(world, Method::Patch, Kind::Pod, key, "", stick(Value::Null))?,
    }
    Ok(())
}

fn pods(world: &mut World, kind: Kind, key: &Key, does: PodDoes) -> Result<(), NotPossible> {
    let view = world.view();
    let is_of = |pod: &replank_model::object::pod::Pod| {
        series_of(view, pod).is_some_and(|found| {
            found.namespace == key.namespace
                && *found.name == *key.name.as_str()
                && &*found.kind == kind.as_str()
        })
    };
    let all = view.pods.sorted();
    let keys: Vec<Key> = all.iter().filter(|(_, pod)| is_of(pod)).map(|(_, pod)| pod.meta.key()).collect();
    if keys.is_empty() {
        return Err(NotPossible(format!("{} {key} has no pod", kind.as_str().to_lowercase())));
    }
    keys.iter().try_for_each(|key| pod(world, key, does))
}

/// The node that is meant, if it is there.
fn there(world: &World, names: &dyn Names, alias: &str) -> Result<NodeName, NotPossible> {
    let name = names.node(alias, world.view());
    match world.view().node(&name) {
        Some(_) => Ok(name),
        None => Err(NotPossible(format!("node {alias} not found"))),
    }
}

/// The key of the object that is meant.
fn real(world: &World, names: &dyn Names, kind: Kind, key: &Key) -> Key {
    if kind == Kind::Pod {
        names.pod(key)
    } else if kind == Kind::Node {
        Key::cluster(names.node(key.name.as_str(), world.view()).text().clone())
    } else {
        key.clone()
    }
}

fn cordon(world: &mut World, name: &NodeName, is_closed: bool) -> Result<(), NotPossible> {
    change_node(world, name, |node| node.spec.unschedulable = is_closed)
}

fn change_node(
    world: &mut World,
    name: &NodeName,
    change: impl FnOnce(&mut Node),
) -> Result<(), NotPossible> {
    let key = Key::cluster(name.text().clone());
    let written = world.request(|api| api.modify::<Node>(&key, change));
    written.map(drop).map_err(|error| NotPossible(error.message.clone()))
}

fn change_group(
    world: &mut World,
    name: &GroupName,
    change: impl FnOnce(&mut NodeGroup),
) -> Result<(), NotPossible> {
    let Some(known) = world.view().groups().get(name) else {
        return Err(NotPossible(format!("node group {name} not found")));
    };
    let mut group = NodeGroup::clone(known);
    change(&mut group);
    world.request(|api| api.apply_cloud(replank_model::delta::Delta::Group(group.into())));
    Ok(())
}

/// The machine is on again, and its kubelet says that it is Ready.
fn wake(world: &mut World, name: &NodeName) -> Result<(), NotPossible> {
    world.wake(name);
    let now = world.now().floor_seconds();
    let condition = json!([{"type": "Ready", "status": "True", "reason": "KubeletReady",
        "lastTransitionTime": now, "lastHeartbeatTime": now}]);
    let key = Key::cluster(name.text().clone());
    send(world, Method::Patch, Kind::Node, &key, "/status", json!({"status": {"conditions": condition}}))
}
