//! What autoscalers are told at certain hours: what people have a CronJob do with `kubectl patch hpa`, or KEDA with a trigger of type `cron`
//! (keda.sh/docs/latest/scalers/cron).

use std::collections::BTreeMap;
use std::fmt;

use replank_facts::plan::{Standing, Window, Windows};
use replank_model::object::autoscaling::{HorizontalPodAutoscaler, HorizontalPodAutoscalerSpec};
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_model::view::View;
use replank_sim::World;

/// What autoscalers are told while a window is open.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// When it holds.
    pub window: Window,
    /// What it says.
    pub says: Says,
}

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// `behavior.scaleDown.selectPolicy` is `Disabled`.
    NoScaleDown,
    /// `minReplicas` is at least this.
    MinReplicas(i32),
}

/// `no scale-down 09:00 for 9h (Europe/Dublin)`
impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.says {
            Says::NoScaleDown => write!(f, "no scale-down {}", self.window),
            Says::MinReplicas(count) => write!(f, "minReplicas {count} {}", self.window),
        }
    }
}

impl Rule {
    fn standing(&self, now: Time) -> Standing {
        Windows(vec![self.window.clone()]).at(now)
    }
}

/// Rules, and what autoscalers say besides.
#[derive(Debug)]
pub(super) struct Hours {
    rules: Vec<Rule>,
    own: BTreeMap<Key, HorizontalPodAutoscalerSpec>,
}

impl Hours {
    /// Rules for some autoscalers.
    pub(super) fn of(rules: Vec<Rule>, view: &View, autoscalers: &[Key]) -> Self {
        let own = autoscalers.iter().filter_map(|key| {
            let hpa = view.find::<HorizontalPodAutoscaler>(key)?;
            Some((key.clone(), hpa.spec.clone()))
        });
        Self { rules, own: own.collect() }
    }

    /// When a window opens or closes next.
    pub(super) fn next(&self, now: Time) -> Option<Time> {
        let next = |rule: &Rule| match rule.standing(now) {
            Standing::Open(until) => until,
            Standing::Closed(until) => Some(until),
        };
        self.rules.iter().filter_map(next).min()
    }

    /// Tells the autoscalers what holds at this moment.
    pub(super) fn tell(&self, world: &mut World) {
        let now = world.now();
        for (key, own) in &self.own {
            let spec = self.spec(own, now);
            world.request(|api| {
                let is_same =
                    api.view().find::<HorizontalPodAutoscaler>(key).is_none_or(|hpa| hpa.spec == spec);
                if !is_same {
                    let written = api.modify::<HorizontalPodAutoscaler>(key, |hpa| hpa.spec = spec);
                    assert!(written.is_ok(), "the autoscaler was just read");
                }
            });
        }
    }

    fn spec(&self, own: &HorizontalPodAutoscalerSpec, now: Time) -> HorizontalPodAutoscalerSpec {
        let mut spec = own.clone();
        for rule in self.rules.iter().filter(|rule| matches!(rule.standing(now), Standing::Open(_))) {
            match rule.says {
                Says::NoScaleDown => {
                    let behavior = spec.behavior.get_or_insert_default();
                    behavior.scale_down.get_or_insert_default().select_policy = Some("Disabled".into());
                }
                Says::MinReplicas(count) => {
                    spec.min_replicas = Some(spec.min_replicas.unwrap_or(1).max(count));
                }
            }
        }
        spec
    }
}
