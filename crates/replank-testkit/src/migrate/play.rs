//! Playing one case.

use replank_apiserver::json::{Address, Method, PatchType, Request as Call};
use replank_apiserver::{Api, ApiError, DeleteOptions, Propagation};
use replank_core::migrate::{Choice, Goal, Migrated, Migration, Options, Path, Request};
use replank_model::labels::TextMap;
use replank_model::object::Kind;
use replank_model::object::autoscaling::HorizontalPodAutoscaler;
use replank_model::object::meta::{Key, Meta};
use replank_model::object::network::Service;
use replank_model::object::workload::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use replank_model::selector::LabelSelector;
use replank_model::text::RunId;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use replank_protocol::command::Effect;
use replank_protocol::command::KubernetesEffect;
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;

use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::json;

use super::case::{Case, Races, Restarts, Way, definition};
use super::watch::{Breach, Watch, around, claims, followed, handed_over, left, pods};

/// Until when everything has come up.
const SETTLED: Span = Span::from_minutes(60);
/// How long a migration may take, patience and all.
pub(super) const LIMIT: Span = Span::from_minutes(180);
/// What is left of it goes within that time.
const AFTERWARDS: Span = Span::from_minutes(10);

/// The outcome.
#[derive(Clone, Debug)]
pub struct Played {
    /// How it ended.
    pub end: Option<End>,
    /// What was broken.
    pub breaches: Vec<Breach>,
    /// Commands that were given.
    pub commands: usize,
    /// Of these, refused.
    pub refused: usize,
    /// How often the process started anew.
    pub restarts: usize,
    /// Names of effects that were carried out, in order.
    pub done: Vec<String>,
    /// How long it took.
    pub took: Span,
}

fn key() -> Key {
    Key::new("shop", "web")
}

/// A world in which the Deployment has come up.
pub(super) fn world(case: &Case) -> World {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"},
        "spec": {"finalizers": ["kubernetes"]}});
    let objects = case.nodes().into_iter().chain([namespace]);
    let objects = objects.chain(matches!(case.way, Way::Rollout(_)).then(definition));
    let view: View = objects
        .map(|object| replank_model::object::Object::from_json(object).expect("an object").into())
        .collect();
    let start: Time = "2026-01-01T00:00:00Z".parse().expect("a time");
    let settings =
        Settings { start, seed: case.seed, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
    let mut world = World::new(settings, view);
    world.assume_operators();
    for object in &case.around {
        world.request(|api| api.apply_json(object.clone())).expect("it is accepted");
    }
    let first = if case.has_history { "web:1" } else { "web:2" };
    world.request(|api| api.apply_json(case.manifest(first))).expect("it is accepted");
    world.run_until(start + Span::from_minutes(20));
    if case.has_history {
        let patch = json!({"spec": {"template": case.manifest("web:2")["spec"]["template"]}});
        let answer = world.request(|api| {
            api.handle(&Call {
                method: Method::Patch,
                path: format!("/apis/apps/v1/namespaces/shop/{}/web", case.kind.kind().plural()),
                content_type: "application/merge-patch+json".into(),
                body: patch,
                wire: None,
            })
        });
        assert_eq!(answer.code, 200, "{:?}", answer.body);
    }
    world.run_until(start + SETTLED);
    world
}

fn request(case: &Case) -> Request {
    if let Way::Rollout(who) = case.way {
        return Request { kind: case.kind, key: key(), goal: Goal::Rollout(who), choice: Choice::Auto };
    }
    let selector: LabelSelector =
        serde_json::from_value(json!({"matchLabels": case.wanted()})).expect("a selector");
    Request { kind: case.kind, key: key(), goal: Goal::Selector(selector), choice: Choice::Auto }
}

/// Plays a case to its end. `called_off`: after how many commands that were carried out a person wants something else.
#[must_use]
pub fn play(case: &Case, called_off: Option<(usize, Intent)>) -> Played {
    let mut world = world(case);
    let watch = Watch::of(world.view());
    world.observe(Box::new(watch.clone()));
    let (pods_before, around_before) = (pods(world.view()), around(world.view()));
    let claims_before = claims(world.view());
    let has_claims = case.kind == Migrated::StatefulSet;
    assert_eq!(has_claims, !claims_before.is_empty(), "a StatefulSet has volumes");
    let begun = world.now();
    let options = Options { run: RunId::from("migration"), patience: Span::from_minutes(30) };
    world.put_in_charge(Box::new(Migration::new(request(case), options)));
    let mut play = Play { case, called_off, ..Play::new(case) };
    let limit = begun + LIMIT;
    while world.end().is_none() && world.step_until(limit) {
        play.look(&mut world);
    }
    let (end, took) = (world.end().cloned(), world.now() - begun);
    let commands = world.commands().len();
    let results =
        world.commands().iter().filter_map(|sent| sent.result.as_ref().map(|(_, result)| (sent, result)));
    let done: Vec<String> = results
        .clone()
        .filter(|(_, result)| result.is_ok())
        .map(|(sent, _)| sent.command.key.0.split('/').nth(1).unwrap_or_default().to_owned())
        .collect();
    let refused = results.filter(|(_, result)| result.is_err()).count();
    let after = world.now() + AFTERWARDS;
    world.run_until(after);
    let mut breaches = watch.breaches();
    let mut found = |what: String| breaches.push(Breach { at: after, what });
    let is_as_before = match &end {
        Some(End::Done) => false,
        Some(End::Cancelled(_) | End::RolledBack(_)) => true,
        Some(End::Blocked(_) | End::Refused(_)) | None => {
            found(format!(
                "it ended with {end:?}, waiting {:?}",
                world.decision().map(|decision| &decision.waiting)
            ));
            true
        }
    };
    let wanted = if is_as_before { json!({"app": "web", "tier": "front"}) } else { case.wanted() };
    left(world.view(), case.kind.kind(), &wanted).into_iter().for_each(&mut found);
    let is_handed_over = matches!(case.way, Way::Rollout(_)) && !is_as_before;
    if is_handed_over {
        handed_over(world.view()).into_iter().for_each(&mut found);
    }
    let around_after = around(world.view());
    let around_wanted = if is_handed_over { followed(around_before) } else { around_before };
    if around_after != around_wanted {
        found(format!("other objects changed: {:?}", around(world.view())));
    }
    if case.way == Way::Keep && !case.scaled_by_hand && pods(world.view()) != pods_before {
        found("pods are not the same".to_owned());
    }
    if claims(world.view()) != claims_before {
        found("claims are not the same".to_owned());
    }
    Played { end, breaches, commands, refused, restarts: play.restarted, done, took }
}

/// What is left when somebody points the Service at nobody, as soon as the record is laid: how the migration ends, whether the Deployment is there, and how it ends after the Service is as before and the migration called off.
#[must_use]
pub fn without_endpoints(case: &Case) -> (Option<End>, bool, Option<End>) {
    let mut world = world(case);
    let options = Options { run: RunId::from("migration"), patience: Span::from_minutes(30) };
    let begun = world.now();
    world.put_in_charge(Box::new(Migration::new(request(case), options)));
    let point = |world: &mut World, at: &str| {
        let service = Key::new("shop", "web");
        let selector = TextMap::default().with("app", at);
        world
            .request(|api| api.modify::<Service>(&service, |it| it.spec.selector = selector))
            .expect("it is there");
    };
    while world.commands().iter().all(|sent| sent.result.is_none()) && world.step_until(begun + LIMIT) {}
    point(&mut world, "nobody");
    while world.end().is_none() && world.step_until(begun + LIMIT) {}
    let stopped = world.end().cloned();
    let is_there = world.view().deployments.by_key(&key()).is_some();
    point(&mut world, "web");
    let end = world.now() + Span::from_minutes(1);
    world.run_until(end);
    world.intend(Intent::Cancelled);
    let end = world.now() + LIMIT;
    while world.end().is_none() && world.step_until(end) {}
    (stopped, is_there, world.end().cloned())
}

/// What happens besides.
struct Play<'a> {
    case: &'a Case,
    called_off: Option<(usize, Intent)>,
    seen: usize,
    executed: usize,
    races: usize,
    restarted: usize,
    is_scaled: bool,
}

impl<'a> Play<'a> {
    fn new(case: &'a Case) -> Self {
        Self { case, called_off: None, seen: 0, executed: 0, races: 0, restarted: 0, is_scaled: false }
    }

    fn look(&mut self, world: &mut World) {
        let fresh: Vec<Effect> =
            world.commands()[self.seen..].iter().map(|sent| sent.command.effect.clone()).collect();
        self.seen += fresh.len();
        for effect in fresh {
            self.race(world, &effect);
        }
        let executed = world.commands().iter().filter(|sent| sent.result.is_some()).count();
        if executed == self.executed {
            return;
        }
        self.executed = executed;
        if self.case.scaled_by_hand && !self.is_scaled {
            self.is_scaled = true;
            world.request(|api| {
                // Where it is away just now, nobody can.
                drop(api.modify::<Deployment>(&key(), |web| web.spec.replicas = Some(7)));
            });
        }
        let is_due = match self.case.restarts {
            Restarts::Never => false,
            Restarts::After(number) => executed == number,
            Restarts::Always => true,
        };
        if is_due {
            self.restarted += 1;
            world.start_anew();
        }
        if let Some((after, intent)) = self.called_off
            && executed >= after
        {
            self.called_off = None;
            world.intend(intent);
        }
    }

    /// Somebody writes to the object before the command arrives.
    #[expect(clippy::wildcard_enum_match_arm, reason = "no migration writes to other kinds")]
    fn race(&mut self, world: &mut World, effect: &Effect) {
        let (Races::First(most), about) = (
            self.case.races,
            match effect {
                Effect::Kubernetes(KubernetesEffect::Replace { object }) => Some(object.reference()),
                Effect::Kubernetes(KubernetesEffect::Delete { object, .. }) => Some(object.clone()),
                Effect::Kubernetes(_) | Effect::Group(_) | Effect::Queue(_) => None,
            },
        ) else {
            return;
        };
        let Some(about) = about.filter(|_| self.races < most) else { return };
        self.races += 1;
        let number = self.races.to_string();
        let touch = |meta: &mut Meta| meta.annotations = meta.annotations.with("touched", number.clone());
        world.request(|api| {
            let written = match about.kind {
                Kind::Deployment => api.modify::<Deployment>(&about.key, |it| touch(&mut it.meta)).map(drop),
                Kind::StatefulSet => {
                    api.modify::<StatefulSet>(&about.key, |it| touch(&mut it.meta)).map(drop)
                }
                Kind::DaemonSet => api.modify::<DaemonSet>(&about.key, |it| touch(&mut it.meta)).map(drop),
                Kind::ReplicaSet => api.modify::<ReplicaSet>(&about.key, |it| touch(&mut it.meta)).map(drop),
                Kind::Other => touch_other(api, &about.key, &number),
                Kind::HorizontalPodAutoscaler => {
                    api.modify::<HorizontalPodAutoscaler>(&about.key, |it| touch(&mut it.meta)).map(drop)
                }
                other => panic!("no migration writes to a {other}"),
            };
            // What is gone meanwhile cannot be written to.
            drop(written);
        });
    }
}

/// What `kubectl replace --force` does: deletes it, with all that it owns, and makes it again at once. For a Rollout: what its
/// documentation shows, a Deployment that is scaled to nothing beside a Rollout that refers to it.
#[must_use]
pub fn naive(case: &Case) -> Vec<Breach> {
    if let Way::Rollout(_) = case.way {
        return naive_rollout(case);
    }
    let mut world = world(case);
    let watch = Watch::of(world.view());
    world.observe(Box::new(watch.clone()));
    let live = world.view().object(case.kind.kind(), &key()).expect("it is there");
    let after = replank_core::migrate::wanted(&live, &request(case).goal);
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    world.request(|api| api.delete(case.kind.kind(), &key(), &options)).expect("it goes");
    world.request(|api| api.apply_json(replank_model::object::render(&after))).expect("it comes again");
    let end = world.now() + AFTERWARDS;
    world.run_until(end);
    watch.breaches()
}

fn naive_rollout(case: &Case) -> Vec<Breach> {
    let mut world = world(case);
    let watch = Watch::of(world.view());
    world.observe(Box::new(watch.clone()));
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"replicas": case.replicas, "strategy": {"canary": {}},
            "workloadRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    world.request(|api| api.apply_json(rollout)).expect("it is accepted");
    let scaled = world.request(|api| api.modify::<Deployment>(&key(), |web| web.spec.replicas = Some(0)));
    scaled.expect("it is there");
    let end = world.now() + AFTERWARDS;
    world.run_until(end);
    watch.breaches()
}

/// An annotation more on the ConfigMap in which the migration writes, or on the Rollout.
fn touch_other(api: &mut Api, key: &Key, number: &str) -> Result<(), ApiError> {
    let is_rollout = key.name.as_str() == "web";
    let (api_version, kind) =
        if is_rollout { ("argoproj.io/v1alpha1", "Rollout") } else { ("v1", "ConfigMap") };
    let resource = api.resource_type(api_version, kind)?;
    let address = Address::new(resource, Some(key.namespace.clone()), Some(key.name.clone()));
    let patch = json!({"metadata": {"annotations": {"touched": number}}});
    api.patch_json(&address, PatchType::Merge, &patch, replank_apiserver::Effect::Real).map(drop)
}

/// The way that core takes by itself.
///
/// # Errors
/// What forbids both.
pub fn judged(case: &Case) -> Result<Path, Vec<replank_protocol::hindrance::Hindrance>> {
    let world = world(case);
    let live = world.view().object(case.kind.kind(), &key()).expect("it is there");
    replank_core::migrate::judged(world.view(), case.kind, &live, &request(case).goal).path(Choice::Auto)
}
