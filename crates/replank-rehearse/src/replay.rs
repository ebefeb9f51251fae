//! A load replayed: what autoscalers, pods and nodes make of it, moment by moment.

use std::sync::Arc;

use replank_core::Core;
use replank_core::scale::Autoscaler;
use replank_hpa::{Config, Direction, Rules, requested};
use replank_model::object::Object;
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, MetricSpec, MetricTarget};
use replank_model::object::meta::Key;
use replank_model::object::pod::{Pod, PodPhase};
use replank_model::quantity::Quantity;
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::Text;
use replank_model::time::{Span, Time};
use replank_model::view::View;

use crate::complete::complete;
use replank_sim::Assumption;
use replank_sim::load::{Load, Measured};
use replank_sim::takes_share;
use replank_sim::{Settings, World};

mod figures;
mod hours;
mod moment;

pub use figures::{Figures, figures};
use hours::Hours;
pub use hours::{Rule, Says};

pub use moment::{Moment, TargetMoment};

/// A cluster, and the load that its autoscalers meet.
pub struct Replay {
    world: World,
    loads: Vec<Load>,
    autoscalers: Vec<Key>,
    assumptions: Vec<Assumption>,
    hours: Option<Hours>,
}

/// Something that an autoscaler told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// The autoscaler.
    pub autoscaler: Key,
    /// Whether it is a warning.
    pub is_warning: bool,
    /// One CamelCase word.
    pub reason: &'static str,
    /// A sentence.
    pub message: String,
    /// How often.
    pub count: u32,
    /// First time.
    pub first: Time,
    /// Last time.
    pub last: Time,
}

impl Replay {
    /// Sets the stage. The load is there from the beginning.
    #[must_use]
    pub fn new(settings: Settings, view: View, loads: Vec<Load>) -> Self {
        let mut autoscalers: Vec<Key> = loads.iter().map(|load| load.hpa.clone()).collect();
        autoscalers.sort();
        autoscalers.dedup();
        let mut view = view;
        let assumptions = complete(&mut view);
        let mut world = World::new(settings, view);
        world.assume_operators();
        world.load(loads.clone());
        Self { world, loads, autoscalers, assumptions, hours: None }
    }

    /// Has an autoscaler keep the number of nodes to what is needed.
    #[must_use]
    pub fn with_autoscaler(mut self, settings: Autoscaler) -> Self {
        self.world.put_in_charge(Box::new(Core::without_run().with_autoscaler(settings)));
        self
    }

    /// Has the autoscalers be told something at certain hours, from now on.
    #[must_use]
    pub fn with_rules(mut self, rules: Vec<Rule>) -> Self {
        let hours = Hours::of(rules, self.world.view(), &self.autoscalers);
        hours.tell(&mut self.world);
        self.hours = Some(hours);
        self
    }

    /// What the view lacked, and what was taken in its place.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// The autoscalers whose targets' load is known.
    #[must_use]
    pub fn autoscalers(&self) -> &[Key] {
        &self.autoscalers
    }

    /// The loads of one of them, in the order of [`TargetMoment::loads`].
    pub fn loads_of<'a>(&'a self, autoscaler: &'a Key) -> impl Iterator<Item = &'a Load> {
        self.loads.iter().filter(move |load| load.hpa == *autoscaler)
    }

    /// Lets everything happen until a moment, and tells how things are then.
    pub fn advance(&mut self, to: Time) -> Moment {
        if let Some(hours) = &self.hours {
            while let Some(at) = hours.next(self.world.now()).filter(|at| *at <= to) {
                self.world.run_until(at);
                hours.tell(&mut self.world);
            }
        }
        self.world.run_until(to);
        let view = self.world.view();
        let target = |key| TargetMoment::of(view, to, key, &self.loads);
        let targets = self.autoscalers.iter().map(target).collect();
        let takes_pods = |node: &&Arc<replank_model::object::node::Node>| !node.spec.unschedulable;
        let nodes = view.nodes.sorted().into_iter().map(|(_, node)| node).filter(takes_pods).count();
        Moment { at: to, nodes, targets }
    }

    /// What the autoscalers told, in the order of the first time.
    pub fn told(&mut self) -> Vec<Told> {
        let autoscalers = &self.autoscalers;
        self.world.request(|api| {
            let events = api.events(None).filter(|event| {
                &*event.kind == "HorizontalPodAutoscaler" && autoscalers.contains(&event.key)
            });
            events
                .map(|event| Told {
                    autoscaler: event.key.clone(),
                    is_warning: event.r#type == replank_apiserver::EventType::Warning,
                    reason: event.reason,
                    message: event.message.clone(),
                    count: event.count,
                    first: event.first,
                    last: event.last,
                })
                .collect()
        })
    }

    /// The world, for further questions.
    #[must_use]
    pub fn world(&self) -> &World {
        &self.world
    }
}

impl TargetMoment {
    /// How the target of an autoscaler is at a moment, under those of the loads that are its own.
    pub(crate) fn of(view: &View, now: Time, key: &Key, loads: &[Load]) -> Self {
        let own = loads.iter().filter(|load| load.hpa == *key);
        let loads: Vec<(&Measured, f64)> = own.map(|load| (&load.of, load.curve.at(now))).collect();
        let hpa = view.find::<HorizontalPodAutoscaler>(key);
        let (replicas, selector) = hpa.and_then(|hpa| target_of(view, hpa)).unwrap_or((0, Selector::Nothing));
        let selected = view.select_pods(&key.namespace, &selector);
        let pods: Vec<&Arc<Pod>> = selected.filter_map(|ix| view.pods.get(ix)).collect();
        let takers: Vec<&Arc<Pod>> = pods.iter().copied().filter(|pod| takes_share(pod)).collect();
        let is_pending = |pod: &&&Arc<Pod>| {
            pod.status.phase == PodPhase::Pending && pod.node.is_none() && !pod.is_terminating()
        };
        let pressures = hpa.into_iter().flat_map(|hpa| &hpa.spec.metrics).filter_map(|spec| {
            let of = Measured::of(spec)?;
            let (_, load) = loads.iter().find(|(known, _)| **known == of)?;
            pressure(spec, *load, &takers)
        });
        let pressure = pressures.max_by(f64::total_cmp);
        let tolerance = hpa.map_or(0.0, |hpa| tolerance(hpa));
        Self {
            loads: loads.iter().map(|(_, load)| *load).collect(),
            replicas,
            ready: takers.len(),
            pending: pods.iter().filter(is_pending).count(),
            pressure,
            needed: pressure.filter(|pressure| pressure.is_finite()).map(|of| of * takers.len() as f64),
            is_over: pressure.is_some_and(|pressure| pressure > 1.0 + tolerance),
        }
    }
}

fn tolerance(hpa: &HorizontalPodAutoscaler) -> f64 {
    let config = Config::default();
    let behavior = hpa.spec.behavior.as_ref();
    behavior.map_or(config.tolerance, |behavior| Rules::of(behavior, Direction::Up, &config).tolerance)
}

/// Replicas that the target of an autoscaler asks for, and which pods it has.
#[expect(clippy::wildcard_enum_match_arm, reason = "no other kind has a scale")]
fn target_of(view: &View, hpa: &HorizontalPodAutoscaler) -> Option<(i32, Selector)> {
    let target = &hpa.spec.scale_target_ref;
    let key = Key::new(hpa.meta.namespace.as_str(), target.name.as_str());
    let kind = replank_model::object::Kind::of(&target.api_version, &target.kind)?;
    let compiled = |selector: Option<&LabelSelector>| selector.and_then(|selector| selector.compile().ok());
    match view.object(kind, &key)? {
        Object::Deployment(of) => Some((of.spec.replicas.unwrap_or(1), compiled(of.spec.selector.as_ref())?)),
        Object::StatefulSet(of) => {
            Some((of.spec.replicas.unwrap_or(1), compiled(of.spec.selector.as_ref())?))
        }
        Object::ReplicaSet(of) => Some((of.spec.replicas.unwrap_or(1), compiled(of.spec.selector.as_ref())?)),
        Object::ReplicationController(of) => {
            let pairs = of.spec.selector.pairs().iter().cloned();
            Some((of.spec.replicas.unwrap_or(1), Selector::from_set(pairs)))
        }
        _ => None,
    }
}

/// Load over target, were it measured this very moment.
fn pressure(spec: &MetricSpec, load: f64, takers: &[&Arc<Pod>]) -> Option<f64> {
    let pods = takers.len() as f64;
    let of_resource = |resource: &Text, container: Option<&Text>, target: &MetricTarget| {
        if let Some(average) = &target.average_value {
            return Some(load / pods / average.approximate_f64());
        }
        let percent = f64::from(target.average_utilization?);
        if takers.is_empty() {
            return Some(f64::INFINITY);
        }
        let requests = requested(takers, container.map(|name| &**name), resource).ok()?;
        Some(load / (requests as f64 / 1_000.0) * 100.0 / percent)
    };
    let of_whole = |target: &MetricTarget| match (&target.value, &target.average_value) {
        (Some(value), None) => Some(load / value.approximate_f64()),
        (_, Some(average)) => Some(load / pods / average.approximate_f64()),
        (None, None) => None,
    };
    let pressure = if let Some(source) = &spec.resource {
        of_resource(&source.name, None, &source.target)
    } else if let Some(source) = &spec.container_resource {
        of_resource(&source.name, Some(&source.container), &source.target)
    } else if let Some(source) = &spec.pods {
        source
            .target
            .average_value
            .as_ref()
            .map(Quantity::approximate_f64)
            .map(|average| load / pods / average)
    } else if let Some(source) = &spec.object {
        of_whole(&source.target)
    } else {
        spec.external.as_ref().and_then(|source| of_whole(&source.target))
    };
    // Nothing to do, and nobody who does it.
    pressure.map(|pressure| if load == 0.0 { 0.0 } else { pressure })
}

/// The moments from one to another in even steps, both ends among them.
pub fn steps(from: Time, to: Time, step: Span) -> impl Iterator<Item = Time> {
    let count = (to - from).as_millis().div_euclid(step.as_millis().max(1));
    let even = (0..=count).map(move |number| from + step * number);
    let last = (from + step * count < to).then_some(to);
    even.chain(last)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::start;
    use replank_facts::plan::Window;
    use replank_sim::load::Curve;
    use replank_sim::{CloudTimings, KubeletModel};

    fn cluster(behavior: &Value) -> View {
        let labels = json!({"app": "web"});
        let pod =
            json!({"containers": [{"name": "app", "image": "i", "resources": {"requests": {"cpu": "1"}}}]});
        let mut objects = vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}),
            json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {"kubernetes.io/hostname": "n"}},
                "status": {"allocatable": {"cpu": "6", "memory": "64Gi", "pods": "110"}, "conditions": [{"type": "Ready", "status": "True"}]}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "web", "generation": 1},
                "spec": {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}),
        ];
        let mut hpa = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "web", "namespace": "shop", "uid": "hpa"},
            "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 2, "maxReplicas": 10,
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}});
        if !behavior.is_null() {
            hpa["spec"]["behavior"] = behavior.clone();
        }
        objects.push(hpa);
        objects
            .into_iter()
            .map(|object| replank_model::delta::Delta::Put(Object::from_json(object).unwrap()))
            .collect()
    }

    fn replay(behavior: &Value, load: &[(i64, f64)]) -> Replay {
        let settings =
            Settings { start: start(), seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let points =
            load.iter().map(|(minute, cores)| (start() + Span::from_minutes(*minute), *cores)).collect();
        let load = Load {
            hpa: Key::new("shop", "web"),
            of: Measured::Resource { resource: "cpu".into(), container: None },
            curve: Curve::new(points).unwrap(),
        };
        Replay::new(settings, cluster(behavior), vec![load])
    }

    fn after(replay: &mut Replay, seconds: i64) -> TargetMoment {
        replay.advance(start() + Span::from_secs(seconds)).targets.remove(0)
    }

    #[test]
    fn replicas_follow_the_load_as_late_as_they_really_do() {
        let mut replay = replay(&Value::Null, &[(0, 0.9), (10, 0.9), (10, 2.4), (20, 2.4), (20, 0.5)]);
        let before = after(&mut replay, 599);
        assert_eq!((before.replicas, before.ready, before.is_over), (2, 2, false));
        // 2.4 cores on 2 pods of 1 core: 120% of a target of 50%. It is seen at the earliest when a kubelet has measured some of it.
        let first = after(&mut replay, 605);
        assert_eq!((first.replicas, first.is_over), (2, true));
        let seen = steps(start() + Span::from_secs(606), start() + Span::from_secs(720), Span::from_secs(1))
            .find(|at| replay.advance(*at).targets[0].replicas > 2)
            .expect("it is seen");
        let late = (seen - start()).as_secs() - 600;
        assert!((10..=45).contains(&late), "{late} s");
        let up = after(&mut replay, 900);
        assert_eq!((up.replicas, up.ready, up.is_over), (5, 5, false));
        // Down only when nothing of the last five minutes asks for more.
        assert_eq!(after(&mut replay, 1200 + 290).replicas, 5);
        assert_eq!(after(&mut replay, 1200 + 400).replicas, 2);
    }

    #[test]
    fn an_autoscaler_that_nothing_moves_sleeps() {
        let mut replay = replay(&Value::Null, &[(0, 0.9), (120, 0.9), (120, 2.4)]);
        after(&mut replay, 1200);
        let settled = replay.world().events();
        after(&mut replay, 7200);
        assert!(replay.world().events() - settled <= 3, "{} events", replay.world().events() - settled);
        assert_eq!(after(&mut replay, 7500).replicas, 5);
    }

    #[test]
    fn what_was_recommended_while_it_slept_is_remembered() {
        let load = [(0, 2.4), (120, 2.4), (120, 0.5)];
        let mut replay = replay(&Value::Null, &load);
        assert_eq!(after(&mut replay, 7200).replicas, 5);
        assert_eq!(after(&mut replay, 7200 + 280).replicas, 5);
        assert_eq!(after(&mut replay, 7200 + 400).replicas, 2);
    }

    fn two_hours_from(hour: &str, says: Says) -> Rule {
        let zone = replank_facts::plan::zone("UTC").unwrap();
        let window = Window { start: hour.parse().unwrap(), duration: Span::from_minutes(120), zone };
        Rule { window, says }
    }

    /// An hour before the window, in it, and after it.
    fn around(rule: Option<Rule>) -> [i32; 3] {
        // Five pods are wanted until 11:30 and two then.
        let mut replay = replay(&Value::Null, &[(0, 2.4), (690, 2.4), (690, 0.5)]);
        replay = replay.with_rules(rule.into_iter().collect());
        [11 * 60, 12 * 60 + 50, 14 * 60 + 30].map(|minute| after(&mut replay, minute * 60).replicas)
    }

    #[test]
    fn rules_hold_in_their_windows_and_not_outside() {
        assert_eq!(around(None), [5, 2, 2]);
        assert_eq!(around(Some(two_hours_from("11:00", Says::NoScaleDown))), [5, 5, 2]);
        assert_eq!(around(Some(two_hours_from("15:00", Says::NoScaleDown))), [5, 2, 2], "it opens too late");
        assert_eq!(around(Some(two_hours_from("12:00", Says::MinReplicas(4)))), [5, 4, 2]);
        assert_eq!(around(Some(two_hours_from("12:00", Says::MinReplicas(1)))), [5, 2, 2], "its own is more");
    }

    #[test]
    fn behavior_is_kept_and_pods_without_room_wait() {
        let frozen = json!({"scaleDown": {"selectPolicy": "Disabled"}});
        let mut replay = replay(&frozen, &[(0, 4.5), (30, 4.5), (30, 0.1)]);
        // 4.5 cores at 50% ask for nine pods; the node has room for six.
        let up = after(&mut replay, 1200);
        assert_eq!((up.replicas, up.ready, up.pending), (9, 6, 3));
        assert!(up.is_over);
        assert_eq!(after(&mut replay, 7200).replicas, 9);
        let told = replay.told();
        assert!(told.iter().any(|told| told.reason == "SuccessfulRescale"), "{told:?}");
    }
}
