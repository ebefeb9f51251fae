//! From a plan to JSON, as a person would write it, with every default: so that it says the same to another version whose defaults are others.

use replank_model::int_or_string::IntOrString;
use replank_model::object::affinity::Taint;
use replank_model::object::cloud::GroupKind;
use replank_model::selector::Selector;
use replank_model::selector::label::{Operator, Requirement};
use replank_model::text::{GroupName, Zone};
use replank_protocol::policy::StuckAction;
use replank_protocol::scaling::Market;
use serde_json::{Map, Value, json};

use super::{
    API_VERSION, AtEnd, BarePods, BlockingFindings, ChosenBy, DeadAction, KIND, LocalStorage, OldNodes,
    OnDeadline, OnFailure, Order, Plan, Retained, Singletons, Spread, Surge, TaintChange, Target, Window,
};
use crate::group_facts::Facts;

impl Plan {
    /// The plan as JSON. [`Plan::read`] makes the same plan of it, if the plan was read itself.
    #[must_use]
    pub fn to_json(&self) -> Value {
        json!({"apiVersion": API_VERSION, "kind": KIND, "metadata": {"name": &*self.name, "namespace": &*self.namespace},
            "spec": self.spec()})
    }

    fn spec(&self) -> Value {
        let care = &self.care;
        let mut spec = json!({
            "target": target(&self.target),
            "budget": {
                "surge": surge(&self.budget.surge),
                "maxUnavailable": number(&self.budget.max_unavailable),
                "minReadyPerZone": self.budget.min_ready_per_zone,
            },
            "order": match self.order {
                Order::LeastDisruption => "leastDisruption",
                Order::Oldest => "oldest",
                Order::ZoneByZone => "zoneByZone",
            },
            "pace": {"betweenNodes": self.pace.between_nodes, "parallel": self.pace.parallel},
            "batch": {
                "wait": self.batch.wait,
                "onDeadline": match self.batch.on_deadline {
                    OnDeadline::Pause => "pause",
                    OnDeadline::Evict => "evict",
                    OnDeadline::Skip => "skip",
                },
            },
            "localStorage": match self.local_storage {
                LocalStorage::Allow => "allow",
                LocalStorage::Refuse => "refuse",
            },
            "barePods": match self.bare_pods {
                BarePods::Evict => "evict",
                BarePods::Refuse => "refuse",
            },
            "retain": {
                "capacity": match care.retain.capacity {
                    Retained::Cordoned => "cordoned",
                    Retained::Template => "template",
                    Retained::None => "none",
                },
                "for": care.retain.span,
            },
            "stuckTerminating": {
                "after": care.stuck.after,
                "action": match care.stuck.action {
                    StuckAction::Report => "report",
                    StuckAction::ReplaceNode => "replaceNode",
                    StuckAction::ForceDelete => "forceDelete",
                },
            },
            "deadNodes": {
                "after": care.dead_nodes.after,
                "action": match care.dead_nodes.action {
                    DeadAction::Replace => "replace",
                    DeadAction::Leave => "leave",
                },
            },
            "spread": match care.spread {
                Spread::Honour => "honour",
                Spread::LastPending => "lastPending",
            },
            "singletons": match care.singletons {
                Singletons::Surge => "surge",
                Singletons::Evict => "evict",
                Singletons::Skip => "skip",
            },
            "loadBalancer": {
                "exclude": care.load_balancer.exclude,
                "deregistrationDelay": care.load_balancer.deregistration_delay,
            },
            "blockingFindings": match care.blocking_findings {
                BlockingFindings::Proceed => "proceed",
                BlockingFindings::Refuse => "refuse",
            },
            "atEnd": match care.at_end {
                AtEnd::KeepBegun => "keepBegun",
                AtEnd::Uncordon => "uncordon",
                AtEnd::Keep => "keep",
            },
            "onFailure": match self.on_failure {
                OnFailure::Pause => "pause",
                OnFailure::Rollback => "rollback",
            },
            "progressDeadline": self.progress_deadline,
            "deadline": self.deadline,
        });
        match &self.nodes.by {
            ChosenBy::Groups(names) => {
                spec["groups"] = names.iter().map(GroupName::as_str).collect();
            }
            // Without one, everything is chosen that has the version.
            ChosenBy::Selector(all) if all.is_empty() => {}
            ChosenBy::Selector(some) => spec["selector"] = selector_json(some),
        }
        if !self.lifecycle_hooks.is_empty() {
            spec["lifecycleHooks"] = self.lifecycle_hooks.iter().map(|name| &**name).collect();
        }
        if let Some(bound) = &self.nodes.kubelet_version {
            spec["kubeletVersion"] = bound.to_string().into();
        }
        if let Some(canary) = &self.canary {
            spec["canary"] = json!({"nodes": number(&canary.nodes), "soak": canary.soak});
        }
        if let Some(batch) = &self.batch.selector {
            spec["batch"]["selector"] = selector_json(batch);
        }
        if let Some(health) = &care.health {
            spec["health"] = json!({
                "maxCrashLooping": health.crash_looping_max,
                "maxRestarting": health.restarting_max,
                "maxStuckTerminating": health.stuck_terminating_max,
                "maxNotReady": health.not_ready_max,
                "maxBadNodes": health.bad_nodes_max,
            });
        }
        if let Some(waves) = &care.waves {
            spec["waves"] = waves.nodes.iter().map(number).collect();
            spec["bake"] = json!(waves.bake);
        }
        if !care.windows.0.is_empty() {
            spec["windows"] = care.windows.0.iter().map(window).collect();
        }
        if let Some(external) = self.external() {
            spec["provider"] = "external".into();
            spec["external"] = json!({
                "wait": external.wait,
                "oldNodes": match external.old_nodes {
                    OldNodes::Avoid => "avoid",
                    OldNodes::Cordon => "cordon",
                },
            });
        }
        if !self.node_groups.is_empty() {
            spec["nodeGroups"] = self.node_groups.iter().map(node_group).collect();
        }
        spec
    }
}

fn target(target: &Target) -> Value {
    let mut value = Map::new();
    let mut put = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            value.insert(name.to_owned(), text.into());
        }
    };
    put("group", target.group.as_ref().map(ToString::to_string));
    put("kubernetesVersion", target.kubernetes_version.as_ref().map(ToString::to_string));
    put("image", target.image.as_ref().map(ToString::to_string));
    put("releaseVersion", target.release_version.as_ref().map(ToString::to_string));
    if !target.bad_releases.is_empty() {
        value.insert("badReleases".to_owned(), target.bad_releases.iter().map(ToString::to_string).collect());
    }
    if !target.labels.is_empty() {
        let labels = target.labels.iter().map(|(key, value)| (key.to_string(), value.as_deref().into()));
        value.insert("labels".to_owned(), Value::Object(labels.collect()));
    }
    if !target.taints.is_empty() {
        let taints = target.taints.iter().map(|change| match change {
            TaintChange::Set(taint) => words(taint),
            TaintChange::Remove(taint) => format!("{}-", words(taint)),
        });
        value.insert("taints".to_owned(), taints.collect());
    }
    value.into()
}

/// As `kubectl taint` has it.
fn words(taint: &Taint) -> String {
    let Taint { key, value, effect, .. } = taint;
    let value = if value.is_empty() { String::new() } else { format!("={value}") };
    format!("{key}{value}:{}", effect.as_str())
}

fn surge(surge: &Surge) -> Value {
    match surge {
        Surge::PerZone => Surge::PER_ZONE.into(),
        Surge::Nodes(value) => number(value),
    }
}

fn number(value: &IntOrString) -> Value {
    match value {
        IntOrString::Int(count) => (*count).into(),
        IntOrString::String(percent) => (&**percent).into(),
    }
}

fn window(window: &Window) -> Value {
    let mut value = json!({"start": window.start.to_string(), "duration": window.duration});
    if let Some(name) = window.zone.iana_name() {
        value["timeZone"] = name.into();
    }
    value
}

fn node_group(group: &Facts) -> Value {
    let mut value = json!({"name": group.name.as_str()});
    if let Some(size) = group.size {
        value["min"] = size.min.into();
        value["max"] = size.max.into();
    }
    if !group.types.is_empty() {
        value["instanceTypes"] = group.types.iter().map(|one| &**one).collect();
    }
    match group.market {
        Some(Market::Spot) => value["capacityType"] = "spot".into(),
        Some(Market::OnDemand) => value["capacityType"] = "on-demand".into(),
        // A plan has no word for it.
        Some(Market::CapacityBlock) | None => {}
    }
    if !group.zones.is_empty() {
        value["zones"] = group.zones.iter().map(Zone::as_str).collect();
    }
    match group.kind {
        GroupKind::EksManaged => value["managedBy"] = "eks".into(),
        // The default.
        GroupKind::SelfManaged => {}
    }
    if let Some(nodes) = &group.update_at_once {
        value["maxUnavailable"] = json!(nodes);
    }
    if let Some(strategy) = &group.update_strategy {
        value["updateStrategy"] = json!(strategy);
    }
    if !group.tags.is_empty() {
        let tags = group.tags.iter().map(|(key, tag)| (key.to_string(), Value::from(&**tag)));
        value["tags"] = Value::Object(tags.collect());
    }
    value
}

/// A label selector as the API has it.
pub(crate) fn selector_json(selector: &Selector) -> Value {
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    for one in selector.requirements() {
        match (one.operator(), one.values()) {
            (Operator::Equals | Operator::DoubleEquals, [value]) if !labels.contains_key(&**one.key()) => {
                labels.insert(one.key().to_string(), (&**value).into());
            }
            (_, _) => expressions.push(expression(one)),
        }
    }
    json!({"matchLabels": labels, "matchExpressions": expressions})
}

fn expression(one: &Requirement) -> Value {
    let operator = match one.operator() {
        Operator::In | Operator::Equals | Operator::DoubleEquals => "In",
        Operator::NotIn | Operator::NotEquals => "NotIn",
        Operator::Exists => "Exists",
        Operator::DoesNotExist => "DoesNotExist",
        // Those of nodes' affinities, which no label selector of the API has.
        Operator::GreaterThan => "Gt",
        Operator::LessThan => "Lt",
    };
    let values: Vec<&str> = one.values().iter().map(|value| &**value).collect();
    let mut value = json!({"key": &**one.key(), "operator": operator});
    if !values.is_empty() {
        value["values"] = values.into();
    }
    value
}
