//! Which way a migration can take, and what forbids the others.

use std::fmt;

use replank_model::labels::Labels;
use replank_model::object::Kind;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::volume::AccessMode;
use replank_model::object::workload::{Deployment, ReplicaSet};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{Name, Namespace, Text};
use replank_model::view::View;

use super::argo::ScaleDown;
use super::gitops::{self, Keeper, Reconciliation};
use super::record::{self, BYTES_MAX};
use super::{Goal, Migrated, argo, serving, target};

/// How a Deployment comes by another selector, or another keeper of its pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// Deleted with its ReplicaSet orphaned and made again with a selector that takes the ReplicaSet over: the pods stay.
    Keep,
    /// A copy under another name serves while the Deployment is made anew.
    Twin,
    /// An Argo Rollout takes over beside it.
    Rollout,
}

impl Path {
    /// As it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Twin => "twin",
            Self::Rollout => "rollout",
        }
    }

    pub(super) fn of(text: &str) -> Option<Self> {
        [Self::Keep, Self::Twin, Self::Rollout].into_iter().find(|path| path.as_str() == text)
    }
}

/// Which way is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// The one that keeps the pods where it is possible, else a twin.
    #[default]
    Auto,
    /// This one or none.
    Only(Path),
}

/// What forbids a way, or both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// A selector that cannot be read, or selects everything.
    Selector {
        /// What is wrong with it.
        why: Text,
    },
    /// The selector does not match the labels of the template: the API server refuses it.
    Template {
        /// The selector.
        selector: Text,
    },
    /// The new manifest has the same selector: it can be applied as it is.
    SameSelector,
    /// Something else makes the Deployment, and would make it again at once.
    Owned {
        /// Kind of its owner.
        kind: Text,
        /// Name of its owner.
        name: Name,
    },
    /// A tool keeps it as it stands in a repository, and is not held.
    Kept {
        /// The tool.
        keeper: Keeper,
        /// What is known of it.
        state: Reconciliation,
    },
    /// A Service or budget that selects its pods would not select the new ones.
    Unselected {
        /// Service or PodDisruptionBudget.
        kind: Kind,
        /// Its name.
        key: Key,
    },
    /// What has to be written down is more than annotations may hold.
    Size {
        /// Bytes it takes.
        bytes: usize,
        /// Bytes there may be.
        limit: usize,
    },
    /// It has no ReplicaSet with the present template.
    NoSet,
    /// The new selector does not match the ReplicaSet's labels, so that it would not be taken over.
    NotTakenOver {
        /// The ReplicaSet.
        set: Name,
        /// The selector.
        selector: Text,
    },
    /// The new template makes other pods: they would not be kept but replaced.
    OtherPods,
    /// Another Deployment would take the ReplicaSet over while nobody owns it.
    Rival {
        /// The Deployment.
        deployment: Key,
        /// The ReplicaSet.
        set: Name,
    },
    /// The pods mount a claim that pods of another node cannot mount beside them.
    Claim {
        /// The claim.
        claim: Key,
    },
    /// There is already something under the twin's name, and it is none.
    Name {
        /// The name.
        name: Name,
    },
    /// There is a ConfigMap of the name under which a migration writes down what it does, and it is another's.
    Record {
        /// The ConfigMap.
        name: Name,
    },
    /// The cluster has no kind Rollout.
    NoRollouts,
    /// The cluster's Rollouts cannot do what is asked.
    OldRollouts {
        /// What is asked.
        asked: ScaleDown,
    },
    /// No Rollout takes its template from such an object.
    NoRolloutOf {
        /// Its kind.
        kind: Kind,
    },
    /// The new selector does not match a pod's labels, so that it would not be taken over.
    PodLabels {
        /// The pod.
        pod: Name,
        /// The selector.
        selector: Text,
    },
    /// The claim templates are others: pods that are kept have claims of the old ones.
    OtherClaims,
    /// Something else would take pods over while nobody owns them.
    PodRival {
        /// Its kind.
        kind: Kind,
        /// Its name.
        key: Key,
    },
    /// There is a Rollout of the Deployment's name, or one that takes its template from it.
    Rollout {
        /// Its name.
        name: Name,
    },
    /// The name is too long to be the value of a label.
    LongName {
        /// Letters it has.
        letters: usize,
    },
}

impl fmt::Display for Hindrance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Selector { why } => write!(f, "the new selector is none: {why}"),
            Self::Template { selector } => {
                write!(f, "the new selector {selector} does not match the labels of the new template")
            }
            Self::SameSelector => f.write_str("the selector stays the same: apply the manifest as it is"),
            Self::Owned { kind, name } => {
                write!(f, "{kind} {name} makes it, and would make it again: change it there")
            }
            Self::Kept { keeper, state: Reconciliation::Unknown } => write!(
                f,
                "{keeper} keeps it, of which nothing is known: hold it, and show it among the objects"
            ),
            Self::Kept { keeper, state: Reconciliation::Acting | Reconciliation::Paused } => {
                write!(f, "{keeper} keeps it and would put it back: hold it first")
            }
            Self::Unselected { kind, key } => write!(
                f,
                "{kind} {key} selects its pods, and would not select the new ones: let the template keep those labels"
            ),
            Self::Size { bytes, limit } => {
                write!(f, "its manifest is too long to be written down: {bytes} bytes, {limit} at most")
            }
            Self::NoSet => f.write_str("it has no ReplicaSet of its present template"),
            Self::NotTakenOver { set, selector } => {
                write!(f, "the new selector {selector} does not match the labels of ReplicaSet {set}")
            }
            Self::OtherPods => f.write_str("the new template makes other pods"),
            Self::Rival { deployment, set } => {
                write!(f, "Deployment {deployment} would take over ReplicaSet {set} meanwhile")
            }
            Self::Claim { claim } => {
                write!(
                    f,
                    "claim {claim} can be mounted by one node only, so pods beside these would wait for it"
                )
            }
            Self::Name { name } => write!(f, "there is another Deployment {name}, the name of the twin"),
            Self::Record { name } => {
                write!(f, "there is another ConfigMap {name}, in which it would be written down: rename that")
            }
            Self::NoRollouts => write!(
                f,
                "there is no CustomResourceDefinition {}: install Argo Rollouts first, or show it among the objects",
                argo::definition()
            ),
            Self::OldRollouts { asked: ScaleDown::Never } => {
                f.write_str("its Argo Rollouts know no workloadRef: 1.0 and later do")
            }
            Self::OldRollouts { asked: asked @ (ScaleDown::OnSuccess | ScaleDown::Progressively) } => {
                write!(f, "its Argo Rollouts know no scaleDown: {asked}: 1.7 and later do")
            }
            Self::NoRolloutOf { kind } => {
                write!(f, "Rollouts take the place of Deployments, not of a {kind}")
            }
            Self::PodLabels { pod, selector } => {
                write!(f, "the new selector {selector} does not match the labels of pod {pod}")
            }
            Self::OtherClaims => f.write_str("its pods would have other volume claims"),
            Self::PodRival { kind, key } => write!(f, "{kind} {key} would take its pods over meanwhile"),
            Self::Rollout { name } => {
                write!(f, "there is a Rollout {name} already, of its name or with its template")
            }
            Self::LongName { letters } => {
                write!(f, "its name has {letters} letters, and a twin's label holds 63")
            }
        }
    }
}

/// What was found about the ways.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// What forbids all.
    pub both: Vec<Hindrance>,
    /// The ways that lead to what is wanted, the best first, and what forbids each.
    pub ways: Vec<(Path, Vec<Hindrance>)>,
}

impl Judgement {
    /// What forbids a way; nothing where it does not lead there at all.
    #[must_use]
    pub fn against(&self, path: Path) -> &[Hindrance] {
        let found = self.ways.iter().find(|(way, _)| *way == path);
        found.map_or(&[], |(_, hindrances)| hindrances)
    }

    /// The way to take.
    ///
    /// # Errors
    /// What forbids it.
    pub fn path(&self, choice: Choice) -> Result<Path, Vec<Hindrance>> {
        if !self.both.is_empty() {
            return Err(self.both.clone());
        }
        let is_meant = |path: Path| match choice {
            Choice::Auto => true,
            Choice::Only(only) => path == only,
        };
        let ways: Vec<_> = self.ways.iter().filter(|(path, _)| is_meant(*path)).collect();
        match ways.iter().find(|(_, hindrances)| hindrances.is_empty()) {
            Some((path, _)) => Ok(*path),
            None => Err(ways.into_iter().flat_map(|(_, hindrances)| hindrances.clone()).collect()),
        }
    }
}

/// Judges the ways from a Deployment to what it is to be.
#[must_use]
pub fn judge(view: &View, live: &Deployment, goal: &Goal) -> Judgement {
    let after = &target::after(live, goal);
    let bytes = target::text(live).len() + target::text(after).len();
    if let Goal::Rollout(scale_down) = goal {
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
    match gitops::keeper(view, live) {
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
