//! Which way a migration can take, and what forbids the others.

use replank_facts::keeper::keeper;
use replank_model::labels::Labels;
use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::volume::AccessMode;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Namespace, Text};
use replank_model::view::View;
use replank_protocol::hindrance::Hindrance;
use replank_protocol::hindrance::Reconciliation;
use replank_protocol::hindrance::ScaleDown;

use super::record::{self, BYTES_MAX};
use super::{Goal, Migrated, argo, serving, target};

pub use super::path::{Choice, Judgement, Path};

/// Judges the ways from a Deployment to what it is to be.
#[must_use]
pub fn judge(view: &View, live: &Deployment, goal: &Goal) -> Judgement {
    let after = &target::after(live, goal);
    let bytes = target::text(live).len() + target::text(after).len();
    if let Goal::Rollout(scale_down) = goal {
        if argo::is_handed_over(view, live) {
            return Judgement { both: vec![Hindrance::HandedOver], ..Judgement::default() };
        }
        let ways = vec![(Path::Rollout, rollout(view, live, *scale_down))];
        return Judgement { both: any(view, Migrated::Deployment, &live.meta, bytes), ways };
    }
    let selector = match compiled(after.spec.selector.as_ref()) {
        Ok(selector) => selector,
        Err(why) => {
            let both = vec![Hindrance::Selector { why }];
            return Judgement { both, ..Judgement::default() };
        }
    };
    let mut both = any(view, Migrated::Deployment, &live.meta, bytes);
    let labels = (&live.spec.template.meta.labels, &after.spec.template.meta.labels);
    both.extend(selecting((live.spec.selector.as_ref(), after.spec.selector.as_ref()), &selector, labels.1));
    both.extend(unselected(view, &live.meta.namespace, labels));
    let ways = vec![(Path::Keep, keep(view, live, after, &selector)), (Path::Twin, twin(view, live))];
    Judgement { both, ways }
}

/// A selector that selects something, and not everything.
pub(super) fn compiled(selector: Option<&LabelSelector>) -> Result<Selector, Text> {
    let Some(selector) = selector else { return Err(Text::from("it is missing")) };
    let selector = selector.compile().map_err(|error| Text::from(error.to_string()))?;
    if selector.is_empty() {
        return Err(Text::from("it selects everything"));
    }
    Ok(selector)
}

/// What forbids whatever is wanted, where as many bytes are to be written down.
pub(super) fn any(view: &View, kind: Migrated, live: &Meta, bytes: usize) -> Vec<Hindrance> {
    let mut found = Vec::new();
    if let Some(owner) = live.controller() {
        found.push(Hindrance::Owned { kind: owner.kind.clone(), name: owner.name.clone() });
    }
    match keeper(view, live) {
        Some((keeper, state @ (Reconciliation::Acting | Reconciliation::Unknown))) => {
            found.push(Hindrance::Kept { keeper, state });
        }
        Some((_, Reconciliation::Paused)) | None => {}
    }
    if record::is_taken(view, kind.kind(), &live.key()) {
        found.push(Hindrance::Record { name: record::record_key(kind.kind(), &live.key()).name });
    }
    if bytes > BYTES_MAX {
        found.push(Hindrance::Size { bytes, limit: BYTES_MAX });
    }
    found
}

/// What forbids another selector.
pub(super) fn selecting(
    (old, new): (Option<&LabelSelector>, Option<&LabelSelector>),
    selector: &Selector,
    labels: &Labels,
) -> Vec<Hindrance> {
    let mut found = Vec::new();
    if old == new {
        found.push(Hindrance::SameSelector);
    }
    if !selector.matches(|key| labels.value(key)) {
        found.push(Hindrance::Template { selector: Text::from(LabelSelector::formatted(new)) });
    }
    found
}

/// What forbids to hand over to a Rollout.
fn rollout(view: &View, live: &Deployment, asked: ScaleDown) -> Vec<Hindrance> {
    let mut found = match argo::unknown(view, asked) {
        Some(argo::Unknown::Kind) => vec![Hindrance::NoRollouts],
        Some(argo::Unknown::Member) => vec![Hindrance::OldRollouts { asked }],
        None => Vec::new(),
    };
    let key = live.meta.key();
    let of_name = argo::find(view, &key).map(|_| key.name.clone());
    found.extend(of_name.or_else(|| argo::referring(view, &key)).map(|name| Hindrance::Rollout { name }));
    found.extend(claims(view, live));
    found
}

/// Services and budgets that would lose the pods.
pub(super) fn unselected(
    view: &View,
    namespace: &Namespace,
    (old, new): (&Labels, &Labels),
) -> Vec<Hindrance> {
    let services = serving::services_of(view, namespace, old).into_iter();
    let services = services
        .filter(|service| !serving::selects(service, new))
        .map(|service| Hindrance::Unselected { kind: Kind::Service, key: service.meta.key() });
    let budgets = view.pod_disruption_budgets.sorted().into_iter().filter_map(|(_, budget)| {
        let selector = budget.spec.selector.as_ref()?.compile().ok()?;
        let is_lost = budget.meta.namespace == *namespace
            && selector.matches(|key| old.value(key))
            && !selector.matches(|key| new.value(key));
        is_lost.then(|| Hindrance::Unselected { kind: Kind::PodDisruptionBudget, key: budget.meta.key() })
    });
    services.chain(budgets).collect()
}

/// The ReplicaSet with the present template of a Deployment.
pub(super) fn present_set<'a>(view: &'a View, live: &Deployment) -> Option<&'a std::sync::Arc<ReplicaSet>> {
    let sets = serving::sets_of(view, &live.meta.uid).into_iter();
    sets.filter(|set| target::makes_the_same(live, &set.spec.template))
        .min_by_key(|set| (set.meta.creation_timestamp, set.meta.name.clone()))
}

fn keep(view: &View, live: &Deployment, after: &Deployment, selector: &Selector) -> Vec<Hindrance> {
    let Some(set) = present_set(view, live) else { return vec![Hindrance::NoSet] };
    let mut found = Vec::new();
    let name = set.meta.name.clone();
    let labels = &set.meta.labels;
    if !selector.matches(|key| labels.value(key)) {
        found.push(Hindrance::NotTakenOver { set: name.clone(), selector: formatted(after) });
    }
    if !target::makes_the_same(after, &set.spec.template) {
        found.push(Hindrance::OtherPods);
    }
    let rivals = view.deployments.sorted().into_iter().map(|(_, rival)| rival).filter(|rival| {
        rival.meta.namespace == live.meta.namespace
            && rival.meta.uid != live.meta.uid
            && compiled(rival.spec.selector.as_ref())
                .is_ok_and(|selector| selector.matches(|key| labels.value(key)))
    });
    found.extend(rivals.map(|rival| Hindrance::Rival { deployment: rival.meta.key(), set: name.clone() }));
    found
}

/// Claims of its pods that pods on another node cannot mount beside them.
fn claims(view: &View, live: &Deployment) -> Vec<Hindrance> {
    let mut found = Vec::new();
    let namespace = &live.meta.namespace;
    for volume in &live.spec.template.spec.volumes {
        let Some(source) = &volume.source.persistent_volume_claim else { continue };
        let claim = Key { namespace: namespace.clone(), name: source.claim_name.clone() };
        let modes = view.persistent_volume_claims.by_key(&claim).map(|claim| &claim.spec.access_modes);
        let is_shared = modes.is_some_and(|modes| {
            modes.iter().any(|mode| match mode {
                AccessMode::ReadWriteMany | AccessMode::ReadOnlyMany => true,
                AccessMode::ReadWriteOnce | AccessMode::ReadWriteOncePod => false,
            })
        });
        if !is_shared {
            found.push(Hindrance::Claim { claim });
        }
    }
    found
}

fn twin(view: &View, live: &Deployment) -> Vec<Hindrance> {
    const LABEL_MAX: usize = 63;
    let mut found = claims(view, live);
    let letters = live.meta.name.as_str().len();
    if letters > LABEL_MAX {
        found.push(Hindrance::LongName { letters });
    }
    let name = target::twin_key(&live.meta.key());
    let known = view.deployments.by_key(&name);
    if known.is_some_and(|known| !record::is_twin_of(known, &live.meta.name)) {
        found.push(Hindrance::Name { name: name.name });
    }
    found
}

fn formatted(deployment: &Deployment) -> Text {
    let selector = deployment.spec.selector.as_ref();
    Text::from(LabelSelector::formatted(selector))
}
