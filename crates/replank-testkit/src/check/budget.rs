//! S1: healthy pods under disruption budgets, counted anew at every eviction.
//!
//! What a budget wants follows upstream's words (policy/v1 PodDisruptionBudgetSpec; pkg/controller/disruption): a percentage is
//! of the replicas that the pods' owners want, rounded up; `maxUnavailable` counts from the same number. A budget whose pods'
//! owners tell no number allows nothing.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use replank_model::int_or_string::IntOrString;
use replank_model::labels::Labels;
use replank_model::object::Object;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::selector::LabelSelector;
use replank_model::text::Uid;
use replank_model::time::{Span, Time};
use replank_model::view::Change;

use super::truth::{Truth, is_healthy, is_over, manager};
use super::{Found, Promise, Sights};

/// How long a budget's controller may take to count: 5 ms to its look, twice where it first waits for an owner's.
const COUNTED_WITHIN: Span = Span::from_millis(20);

/// What others did just now.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    /// Pods that stopped being healthy, by nobody's or somebody else's doing.
    lost: VecDeque<(Time, Arc<Pod>)>,
    /// Replicas that an owner wanted before.
    wanted: VecDeque<(Time, Uid)>,
    /// Pods that we have evicted.
    ours: BTreeMap<Uid, Time>,
}

impl Budgets {
    pub(super) fn changed(&mut self, at: Time, change: &Change) {
        let Change::Object { old: Some(old), new, .. } = change else { return };
        match (old, new) {
            (Object::Pod(old), new) => {
                let still = matches!(new, Some(Object::Pod(new)) if is_healthy(new));
                if is_healthy(old) && !still && !self.ours.contains_key(&old.meta.uid) {
                    self.lost.push_back((at, old.clone()));
                }
            }
            (old, Some(new)) if old.meta().generation != new.meta().generation => {
                self.wanted.push_back((at, new.meta().uid.clone()));
            }
            (_, _) => {}
        }
        while self.lost.front().is_some_and(|(then, _)| *then + COUNTED_WITHIN < at) {
            self.lost.pop_front();
        }
        while self.wanted.front().is_some_and(|(then, _)| *then + COUNTED_WITHIN < at) {
            self.wanted.pop_front();
        }
    }

    /// An action of ours ends a pod.
    pub(super) fn ended(
        &mut self,
        truth: &Truth,
        pod: &Arc<Pod>,
        sights: &mut Sights,
        found: &mut Found<'_>,
    ) {
        self.ours.insert(pod.meta.uid.clone(), found.at);
        if !is_healthy(pod) || is_over(pod) {
            return;
        }
        for budget in covering(truth, pod) {
            let covered = || truth.pods_in(&pod.meta.namespace).filter(|one| covers(budget, one));
            let healthy = count(covered().filter(|one| is_healthy(one)).count());
            let needed = desired_healthy(truth, &covered().cloned().collect::<Vec<_>>(), budget);
            let is_below = needed.is_none_or(|needed| healthy - 1 < needed);
            if !is_below {
                continue;
            }
            let recent = |at: &Time| *at + COUNTED_WITHIN >= found.at;
            let lost = self.lost.iter().filter(|(at, one)| recent(at) && covers(budget, one)).count();
            let is_rescaled = self.wanted.iter().any(|(at, _)| recent(at));
            if is_rescaled || needed.is_some_and(|needed| healthy + count(lost) > needed) {
                sights.unknowable += 1;
                continue;
            }
            let what = format!(
                "eviction of {} leaves {} healthy pods under {}, which needs {needed:?}",
                pod.meta.key(),
                healthy - 1,
                budget.meta.key()
            );
            found.broken(Promise::S1, what);
        }
    }
}

fn count(number: usize) -> i64 {
    i64::try_from(number).expect("few")
}

pub(super) fn covering<'a>(
    truth: &'a Truth,
    pod: &'a Pod,
) -> impl Iterator<Item = &'a Arc<PodDisruptionBudget>> {
    truth.budgets.values().filter(|budget| covers(budget, pod))
}

pub(super) fn covers(budget: &PodDisruptionBudget, pod: &Pod) -> bool {
    budget.meta.namespace == pod.meta.namespace
        && budget.spec.selector.as_ref().is_some_and(|selector| selects(selector, &pod.meta.labels))
}

fn selects(selector: &LabelSelector, labels: &Labels) -> bool {
    let of_pairs = selector.match_labels.iter().all(|(key, value)| labels.value(key) == Some(value));
    of_pairs
        && selector.match_expressions.iter().all(|one| {
            let value = labels.value(&one.key);
            let is_listed = value.is_some_and(|value| one.values.iter().any(|known| **known == *value));
            match &*one.operator {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => value.is_some(),
                "DoesNotExist" => value.is_none(),
                other => panic!("no such operator: {other}"),
            }
        })
}

/// Pods that must stay healthy; `None` where the budget allows nothing, because nobody can say.
pub(super) fn desired_healthy(truth: &Truth, pods: &[Arc<Pod>], budget: &PodDisruptionBudget) -> Option<i64> {
    let percent = |text: &str| text.trim_end_matches('%').parse::<i64>().expect("a percentage");
    match (&budget.spec.min_available, &budget.spec.max_unavailable) {
        (Some(IntOrString::Int(number)), _) => Some(i64::from(*number)),
        (Some(IntOrString::String(text)), _) => Some(ceil(percent(text) * replicas(truth, pods)?)),
        (None, Some(IntOrString::Int(number))) => Some((replicas(truth, pods)? - i64::from(*number)).max(0)),
        (None, Some(IntOrString::String(text))) => {
            let all = replicas(truth, pods)?;
            Some((all - ceil(percent(text) * all)).max(0))
        }
        (None, None) => Some(0),
    }
}

fn ceil(hundredths: i64) -> i64 {
    hundredths.div_euclid(100) + i64::from(hundredths.rem_euclid(100) > 0)
}

/// Replicas that the owners of pods want, each owner counted once; pods without an owner count for nothing.
pub(super) fn replicas(truth: &Truth, pods: &[Arc<Pod>]) -> Option<i64> {
    let mut owners: BTreeMap<&Uid, i64> = BTreeMap::new();
    for pod in pods {
        if let Some((kind, name, uid)) = manager(pod) {
            let key = Key { namespace: pod.meta.namespace.clone(), name: name.into() };
            let (uid, replicas) = scale(truth, kind, &key, uid)?;
            owners.insert(uid, i64::from(replicas.unwrap_or(1)));
        }
    }
    Some(owners.values().sum())
}

/// The scale of an owner, or of the Deployment that owns it in turn.
fn scale<'a>(truth: &'a Truth, kind: &str, key: &Key, uid: &Uid) -> Option<(&'a Uid, Option<i32>)> {
    let same = |meta: &Meta| meta.uid == *uid;
    match kind {
        "ReplicaSet" => {
            let set = truth.replica_sets.get(key).filter(|set| same(&set.meta))?;
            let above = set.meta.owner_references.iter().find(|owner| owner.controller == Some(true));
            let Some(above) = above else { return Some((&set.meta.uid, set.spec.replicas)) };
            let key = Key { namespace: key.namespace.clone(), name: above.name.clone() };
            let deployment = truth.deployments.get(&key).filter(|one| one.meta.uid == above.uid)?;
            Some((&deployment.meta.uid, deployment.spec.replicas))
        }
        "StatefulSet" => {
            let set = truth.stateful_sets.get(key).filter(|set| same(&set.meta))?;
            Some((&set.meta.uid, set.spec.replicas))
        }
        "ReplicationController" => {
            let set = truth.replication_controllers.get(key).filter(|set| same(&set.meta))?;
            Some((&set.meta.uid, set.spec.replicas))
        }
        _ => None,
    }
}
