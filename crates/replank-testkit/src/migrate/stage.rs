//! One migration step by step, for tests in which somebody meddles at a chosen moment.

use replank_apiserver::json::{Address, PatchType};
use replank_apiserver::{DeleteOptions, Propagation, json};
use replank_core::migrate::{Choice, Goal, Migration, Options, Request};
use replank_model::object::meta::Key;
use replank_model::object::workload::Deployment;
use replank_model::object::{Kind, Object};
use replank_model::text::RunId;
use replank_model::time::{Span, Time};
use replank_protocol::decision::End;
use replank_protocol::intent::Intent;

use replank_sim::World;
use serde_json::Value;

use super::case::Case;
use super::play::{LIMIT, world};
use super::watch::{Breach, Watch, left};

/// See the module's page.
pub struct Stage {
    world: World,
    watch: Watch,
}

impl Stage {
    /// A migration of a case's Deployment that is about to begin, with the patience of half an hour.
    #[must_use]
    pub fn begin(case: &Case, goal: Goal) -> Self {
        let mut world = world(case);
        let watch = Watch::of(world.view());
        world.observe(Box::new(watch.clone()));
        let options = Options { run: RunId::from("migration"), patience: Span::from_minutes(30) };
        let (kind, key) = (case.kind, Key::new("shop", "web"));
        let request = Request { kind, key, goal, choice: Choice::Auto };
        world.put_in_charge(Box::new(Migration::new(request, options)));
        Self { world, watch }
    }

    fn limit(&self) -> Time {
        self.world.now() + LIMIT
    }

    /// Plays on until something is so; whether it came to be.
    pub fn until(&mut self, is_so: impl Fn(&World) -> bool) -> bool {
        let limit = self.limit();
        while !is_so(&self.world) {
            if self.world.end().is_some() || !self.world.step_until(limit) {
                return false;
            }
        }
        true
    }

    /// Plays on to the end.
    pub fn end(&mut self) -> Option<End> {
        let limit = self.limit();
        while self.world.end().is_none() && self.world.step_until(limit) {}
        self.world.end().cloned()
    }

    /// A person wants something else.
    pub fn intend(&mut self, intent: Intent) {
        self.world.intend(intent);
    }

    /// Another process takes over.
    pub fn start_anew(&mut self) {
        self.world.start_anew();
    }

    /// Time passes.
    pub fn pass(&mut self, span: Span) {
        let end = self.world.now() + span;
        self.world.run_until(end);
    }

    /// The Deployment of that name.
    #[must_use]
    pub fn deployment(&self, name: &str) -> Option<Deployment> {
        self.world.view().deployments.by_key(&Key::new("shop", name)).map(|found| Deployment::clone(found))
    }

    /// Somebody deletes an object of the namespace, with all that it owns.
    ///
    /// # Panics
    /// If there is none.
    pub fn delete(&mut self, kind: &str, name: &str) {
        let objects = self.world.view().objects_of(Kind::of("apps/v1", kind).unwrap_or(Kind::Other));
        let is_it = |object: &&Object| object.kind_name() == kind && object.meta().name.as_str() == name;
        let found = objects.iter().find(is_it).expect("it is there").clone();
        let options =
            DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
        self.world.request(|api| api.delete_known(&found, &options)).expect("it goes");
    }

    /// Somebody changes an object of the namespace by a merge patch.
    ///
    /// # Panics
    /// If it cannot be.
    pub fn patch(&mut self, (api_version, kind, name): (&str, &str, &str), patch: &Value) {
        let key = Key::new("shop", name);
        let changed = self.world.request(|api| {
            let resource = api.resource_type(api_version, kind)?;
            let address = Address::new(resource, Some(key.namespace.clone()), Some(key.name.clone()));
            api.patch_json(&address, PatchType::Merge, patch, json::Effect::Real)
        });
        changed.expect("it is changed");
    }

    /// The Rollout, as JSON.
    #[must_use]
    pub fn rollout(&self) -> Option<Value> {
        let key = Key::new("shop", "web");
        let found = self.world.view().other("argoproj.io", "Rollout", &key)?;
        Some(replank_model::object::render(&Object::Other(found.clone())))
    }

    /// What was broken so far.
    #[must_use]
    pub fn breaches(&self) -> Vec<Breach> {
        self.watch.breaches()
    }

    /// What is wrong with how it is left.
    #[must_use]
    pub fn left(&self, wanted: &Value) -> Vec<String> {
        left(self.world.view(), Kind::Deployment, wanted)
    }
}

/// Pods that the Deployment of that name wants; `None` where there is none.
#[must_use]
pub fn wants(world: &World, name: &str) -> Option<i32> {
    let found = world.view().deployments.by_key(&Key::new("shop", name))?;
    Some(found.spec.replicas.unwrap_or(1))
}

/// Whether there is a Deployment of that name.
#[must_use]
pub fn is_there(world: &World, name: &str) -> bool {
    world.view().deployments.by_key(&Key::new("shop", name)).is_some()
}
