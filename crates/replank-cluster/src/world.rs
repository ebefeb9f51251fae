//! A world as the owner of a served cluster sees it.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;

use crate::api_services;
use replank_api::{Cluster, Owner, Pace};
use replank_apiserver::ResourceType;
use replank_apiserver::json::{Method, Request, Response};
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_rehearse::completed;
use replank_sim::{CloudTimings, KubeletModel, Observer, Settings, World};
use serde_json::Value;
use std::thread::JoinHandle;

/// What a served cluster begins with.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Everything there is.
    pub view: View,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
    /// How long the cloud takes.
    pub cloud: CloudTimings,
    /// How time passes.
    pub pace: Pace,
}

/// Begins a cluster in a thread of its own.
///
/// # Panics
/// Where a thread cannot be begun.
#[must_use]
pub fn begin(begin: Begin) -> (Owner, JoinHandle<()>) {
    let Begin { view, seed, kubelet, cloud, pace } = begin;
    let settings = Settings { start: pace.now(), seed, kubelet, cloud };
    let make = move || Ok::<Box<dyn Cluster>, Infallible>(Box::new(Served::new(view, settings)));
    match Owner::spawn(make, pace) {
        Ok(begun) => begun,
        Err(never) => match never {},
    }
}

/// A world, and what has changed in it since somebody asked.
struct Served {
    world: World,
    changes: Rc<RefCell<Vec<Change>>>,
    /// Names of the APIServices that stand for what definitions declare.
    services: Vec<String>,
}

impl Served {
    fn new(view: View, settings: Settings) -> Self {
        let start = settings.start;
        let mut world = World::new(settings, completed(view));
        world.assume_operators();
        let changes = Rc::<RefCell<Vec<Change>>>::default();
        world.observe(Box::new(Taker(changes.clone())));
        let mut served = Self { world, changes, services: Vec::new() };
        for service in api_services::built_in(start) {
            served.register(service);
        }
        served.keep_services();
        served
    }

    /// Keeps an APIService for each version that definitions declare.
    fn keep_services(&mut self) {
        let wanted = api_services::custom(&self.world.custom_resources(), self.world.now());
        for name in self.services.iter().filter(|name| !wanted.contains_key(*name)) {
            let path = format!("{}/{name}", api_services::PATH);
            let request = json_request(Method::Delete, path, Value::Null);
            self.world.request(|api| api.handle(&request));
        }
        let known = std::mem::replace(&mut self.services, wanted.keys().cloned().collect());
        for (_, service) in wanted.into_iter().filter(|(name, _)| !known.contains(name)) {
            self.register(service);
        }
    }

    /// Creates an APIService with its status, unless it is there.
    fn register(&mut self, service: Value) {
        let status = service["status"].clone();
        let create = json_request(Method::Post, api_services::PATH.to_owned(), service);
        let created = self.world.request(|api| api.handle(&create));
        if created.code != 201 {
            return;
        }
        let mut made = created.body;
        made["status"] = status;
        let name = made["metadata"]["name"].as_str().unwrap_or_default();
        let path = format!("{}/{name}/status", api_services::PATH);
        let write = json_request(Method::Put, path, made);
        self.world.request(|api| api.handle(&write));
    }
}

/// A request of the program itself.
fn json_request(method: Method, path: String, body: Value) -> Request {
    Request { method, path, content_type: String::new(), body, wire: None }
}

/// Keeps changes until they are asked for.
struct Taker(Rc<RefCell<Vec<Change>>>);

impl Observer for Taker {
    fn changed(&mut self, _: Time, change: &Change, _: &View) {
        self.0.borrow_mut().push(change.clone());
    }
}

impl Cluster for Served {
    fn handle(&mut self, request: &Request) -> Response {
        self.world.request(|api| api.handle(request))
    }

    fn run_until(&mut self, moment: Time) {
        self.world.run_until(moment);
    }

    fn next_due(&self) -> Option<Time> {
        self.world.next_due()
    }

    fn version(&self) -> u64 {
        self.world.version()
    }

    fn custom_resources(&self) -> Vec<ResourceType> {
        self.world.custom_resources()
    }

    fn objects(&self) -> Vec<Object> {
        self.world.view().objects()
    }

    fn take_changes(&mut self) -> Vec<Change> {
        let is_of_definition = |change: &Change| {
            let Change::Object { old, new, .. } = change else { return false };
            matches!(new.as_ref().or(old.as_ref()), Some(Object::CustomResourceDefinition(_)))
        };
        let has_definitions = self.changes.borrow().iter().any(is_of_definition);
        if has_definitions {
            self.keep_services();
        }
        self.changes.take()
    }
}
