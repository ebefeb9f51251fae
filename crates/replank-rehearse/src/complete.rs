//! What a snapshot lacks, and what is taken in its place.
//!
//! `kubectl get` of the usual kinds leaves out ControllerRevisions, custom resources and their definitions. A simulated control
//! plane that took them for absent would restart StatefulSets, and could not count the pods of custom resources.

mod identities;
mod templates;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use replank_facts::budget::{asks_for_scale, failed_sync};
use replank_model::delta::Delta;
use replank_model::object::Kind;
use replank_model::object::cluster::Other;
use replank_model::object::meta::{Key, Meta, OwnerReference, Raw};
use replank_model::object::network::EndpointSlice;
use replank_model::object::pod::Pod;
use replank_model::object::policy::PodDisruptionBudget;
use replank_model::text::{Namespace, Uid};
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::json;

use replank_sim::CloudTimings;
use replank_sim::KubeletModel;
use replank_sim::SERVICE_NAME_LABEL;
use replank_sim::{Assumption, Source};
use replank_sim::{OPERATOR_REACTION, is_kept_up};
use replank_sim::{Settings, World};

/// After which every controller has looked at everything once.
const SETTLED_WITHIN: Span = Span::from_secs(2);

/// The view with what is taken in place of what a snapshot lacks.
#[must_use]
pub fn completed(mut view: View) -> View {
    complete(&mut view);
    view
}

/// Completes a view, and tells what is assumed with it.
pub(crate) fn complete(view: &mut View) -> Vec<Assumption> {
    identities::fill(view);
    templates::fill(view);
    let revisions = supply_revisions(view);
    complete_owners(view);
    revisions.into_iter().chain(assumptions(view)).collect()
}

/// Counts what no disruption controller has counted: budgets from a repository, or just written by hand, have no status, and would
/// look like budgets that allow nothing and cover no pods. A status of an earlier spec is counted again, too. Nothing else is touched: owners that were written by hand may differ from
/// their pods in ways that other controllers would act on.
pub fn count_budgets(view: &mut View, now: Time) {
    let mut counted = Vec::new();
    for (ix, budget) in view.pod_disruption_budgets.sorted() {
        let counted_for = budget.status.observed_generation;
        if counted_for > 0 && counted_for >= budget.meta.generation {
            continue;
        }
        if let Some(status) = replank_sim::budget_status(view, ix, now) {
            counted.push(PodDisruptionBudget { status, ..PodDisruptionBudget::clone(budget) });
        }
    }
    for budget in counted {
        view.apply(Delta::from(budget));
    }
}

/// Has the EndpointSlices made of Services that have none, as the cluster's own controller would have: a dump may leave them out, and clusters
/// before 1.17 have Endpoints only. Without them a Service would look like one without endpoints.
pub(crate) fn supply_endpoint_slices(
    view: &mut View,
    services: &BTreeSet<Key>,
    now: Time,
) -> Option<Assumption> {
    let service_of = |slice: &EndpointSlice| {
        let name = slice.meta.labels.value(SERVICE_NAME_LABEL)?;
        Some(Key::new(slice.meta.namespace.clone(), name))
    };
    let known: BTreeSet<Key> =
        view.endpoint_slices.unordered().filter_map(|(_, slice)| service_of(slice)).collect();
    let without: BTreeSet<Key> = services.difference(&known).cloned().collect();
    if without.is_empty() {
        return None;
    }
    let settings =
        Settings { start: now, seed: 0, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    let mut world = World::new(settings, view.clone());
    world.run_until(now + SETTLED_WITHIN);
    for (_, slice) in world.view().endpoint_slices.sorted() {
        if service_of(slice).is_some_and(|service| without.contains(&service)) {
            view.apply(Delta::from(slice.clone()));
        }
    }
    let named: Vec<String> = without.iter().map(ToString::to_string).collect();
    Some(Assumption {
        about: format!("EndpointSlices of Service {}", named.join(", ")),
        value: "not in the snapshot: created from its pods, as the controller does".to_owned(),
        source: Source::Default,
    })
}

fn supply_revisions(view: &mut View) -> Option<Assumption> {
    let sets = replank_sim::supply_revisions(view);
    (sets > 0).then(|| Assumption {
        about: format!(
            "templates of the pods of {sets} DaemonSets and StatefulSets without ControllerRevisions"
        ),
        value: "the newest pod has the current one".into(),
        source: Source::Default,
    })
}

/// The pods of one custom resource.
struct Team {
    owner: OwnerReference,
    namespace: Namespace,
    pods: i32,
    scale: Scale,
}

/// What the budgets of its pods tell of an owner's scale.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    /// Nothing: no budget asks for it.
    Unknown,
    /// It could be read.
    Read,
    /// It could not.
    Refused,
}

/// Custom resources that are not there, though pods name them, are put there. Where no definition tells whether a kind can be
/// scaled, the status of a budget does, which the real controller could write or could not.
fn complete_owners(view: &mut View) {
    for team in teams(view).into_values() {
        let owner = &team.owner;
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        let key = Key { namespace: team.namespace.clone(), name: owner.name.clone() };
        let known = view.other(group, &owner.kind, &key).cloned();
        let is_defined = view.custom_resource_definitions.unordered().any(|(_, definition)| {
            *definition.spec.group == *group && definition.spec.names.kind == owner.kind
        });
        let wanted = known.as_ref().and_then(|known| known.replicas);
        let replicas = match team.scale {
            Scale::Refused => None,
            Scale::Read => wanted.or(Some(team.pods)),
            Scale::Unknown if known.is_some() => wanted,
            Scale::Unknown => Some(team.pods),
        };
        let other = match known {
            Some(known) if is_defined || known.replicas == replicas => continue,
            Some(known) => Other { replicas, ..Other::clone(&known) },
            None => stand_in(&team, replicas),
        };
        view.apply(Delta::from(Arc::new(other)));
    }
}

fn stand_in(team: &Team, replicas: Option<i32>) -> Other {
    let owner = &team.owner;
    let raw = json!({"apiVersion": owner.api_version, "kind": owner.kind,
        "metadata": {"name": owner.name, "namespace": team.namespace, "uid": owner.uid}});
    Other {
        api_version: owner.api_version.clone(),
        kind: owner.kind.clone(),
        meta: Meta {
            name: owner.name.clone(),
            namespace: team.namespace.clone(),
            uid: owner.uid.clone(),
            raw: Raw(Some(Arc::from(raw.to_string()))),
            ..Meta::default()
        },
        replicas,
    }
}

fn teams(view: &View) -> BTreeMap<Uid, Team> {
    let mut teams: BTreeMap<Uid, Team> = BTreeMap::new();
    for (ix, pod) in view.pods.sorted() {
        let Some(owner) = custom_owner(pod).filter(|_| pod.is_active()) else { continue };
        let team = teams.entry(owner.uid.clone()).or_insert_with(|| Team {
            owner: owner.clone(),
            namespace: pod.meta.namespace.clone(),
            pods: 0,
            scale: Scale::Unknown,
        });
        team.pods += 1;
        for budget in view.budgets_of(ix) {
            match scale_in(&view.pod_disruption_budgets[*budget]) {
                Scale::Unknown => {}
                known @ (Scale::Read | Scale::Refused) => team.scale = known,
            }
        }
    }
    teams
}

fn custom_owner(pod: &Pod) -> Option<&OwnerReference> {
    pod.meta.controller().filter(|owner| Kind::of(&owner.api_version, &owner.kind).is_none())
}

fn scale_in(budget: &PodDisruptionBudget) -> Scale {
    match (asks_for_scale(budget), failed_sync(budget)) {
        (false, _) => Scale::Unknown,
        (true, None) if budget.status.expected_pods > 0 => Scale::Read,
        (true, None) => Scale::Unknown,
        (true, Some(_)) => Scale::Refused,
    }
}

/// What is assumed of operators, where there is something that they look after.
fn assumptions(view: &View) -> Vec<Assumption> {
    let (low, high) = OPERATOR_REACTION;
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for (_, pod) in view.pods.sorted() {
        let Some(owner) = custom_owner(pod).filter(|_| pod.is_active()) else { continue };
        if is_kept_up(pod) {
            *kinds.entry(owner.kind.to_string()).or_default() += 1;
        }
    }
    let told = kinds.into_iter().map(|(kind, pods)| Assumption {
        about: format!("operator of {kind} ({pods} pod{})", if pods == 1 { "" } else { "s" }),
        value: format!("recreates an evicted pod after {low} to {high}, unchanged"),
        source: Source::Default,
    });
    told.collect()
}

#[cfg(test)]
mod tests;
