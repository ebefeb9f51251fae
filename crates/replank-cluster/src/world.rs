//! A world as the owner of a served cluster sees it.

use std::any::Any;
use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use replank_api::{Cluster, Manage, Owner, Pace};
use replank_apiserver::json::{Method, Request, Response};
use replank_apiserver::{ResourceType, Serving};
use replank_aws::{Account, Call, Setting};
use replank_model::delta::Delta;
use replank_model::object::Object;
use replank_model::time::Time;
use replank_model::view::{Change, View};
use replank_rehearse::completed;
use replank_sim::{CloudTimings, KubeletModel, Observer, Settings, World};
use serde_json::{Value, json};

use crate::api_services;
use crate::aws;
use crate::faults::{Faults, Ground};
use crate::journal::{Files, Kept};
use crate::keeper::{self, Beside, Keeper};
use crate::leases;

use crate::bootstrap::{furnish, lead_to};
use crate::controllers::Controllers;
use crate::outside::{self, Sign};
use crate::start::Start;
use crate::trust::Trust;

/// What a served cluster begins with.
#[derive(Debug)]
pub struct Begin {
    /// Everything there is.
    pub start: Start,
    /// Seed of all randomness.
    pub seed: u64,
    /// How kubelets behave.
    pub kubelet: KubeletModel,
    /// How long the cloud takes.
    pub cloud: CloudTimings,
    /// How time passes.
    pub pace: Pace,
    /// What the cluster's own components know.
    pub trust: Trust,
    /// What the API server does beyond what a rehearsal needs.
    pub serving: Serving,
    /// Where it is served: what the Service `kubernetes` leads to.
    pub address: SocketAddr,
    /// The files that it is kept in, if it is to survive the process.
    pub files: Option<Files>,
    /// The account of AWS that it is served beside, if one is.
    pub aws: Option<Setting>,
    /// Where the minor version is written that EKS has brought the cluster to.
    pub upgraded: Arc<AtomicU32>,
}

/// Begins a cluster in a thread of its own.
///
/// # Errors
/// Where the files cannot be written, or hold what cannot be read.
///
/// # Panics
/// Where a thread cannot be begun.
pub fn begin(begin: Begin) -> io::Result<(Owner, JoinHandle<io::Result<()>>)> {
    let pace = begin.pace.clone();
    let make = move || Ok::<Box<dyn Cluster>, io::Error>(Box::new(Served::new(begin)?));
    Owner::spawn(make, pace)
}

/// A world, and what has changed in it since somebody asked.
struct Served {
    world: World,
    controllers: Controllers,
    /// Changes that the controllers have not been told of.
    untold: Rc<RefCell<Vec<Change>>>,
    changes: Vec<Change>,
    /// Names of the APIServices that stand for what definitions declare.
    services: Vec<String>,
    /// Whether a definition has changed since the services were last looked at.
    has_definitions: bool,
    faults: Faults,
    keeper: Option<Keeper>,
    account: Option<Account>,
    upgraded: Arc<AtomicU32>,
    is_new: bool,
}

impl Served {
    fn new(begin: Begin) -> io::Result<Self> {
        let Begin { start, seed, kubelet, cloud, pace, files, trust, serving, address, aws, upgraded } =
            begin;
        let settings = Settings { start: pace.now(), seed, kubelet, cloud };
        let begins = settings.start;
        let is_new = matches!(start, Start::New(_));
        let (mut world, faults, known, kept) = match start {
            Start::New(view) | Start::Objects(view) => {
                (World::new(settings, completed(*view)), Faults::default(), None, None)
            }
            Start::Kept(kept) => {
                let version = (kept.version, kept.log_len);
                let (world, faults, account) = resume(settings, *kept)?;
                (world, faults, account, Some(version))
            }
        };
        if known.is_some() && aws.is_none() {
            let message = "the cluster that is kept there has an account of AWS, which would be lost: start it with --aws";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let account = aws.map(|setting| {
            world.hear_events();
            let account = match known {
                Some(account) => account.resumed(setting),
                None => Account::new(setting),
            };
            account.seeded(seed)
        });
        world.assume_operators();
        let untold = Rc::<RefCell<Vec<Change>>>::default();
        // What is kept of an earlier process is what it had answered: whatever is made from here on is new to it.
        let beside = Beside { world: &world, faults: &faults, account: account.as_ref() };
        let keeper = files.map(|files| Keeper::begin(files, beside, kept)).transpose()?;
        let mut controllers = Controllers::new(trust);
        for change in world.view().as_changes() {
            controllers.note(world.now(), &change);
        }
        world.observe(Box::new(Taker(untold.clone())));
        furnish(&mut world);
        lead_to(&mut world, address);
        world.request(|api| {
            api.serve(serving);
            if serving.traces {
                api.account_for_controllers();
            }
        });
        let changes = Vec::new();
        let mut served = Self {
            world,
            controllers,
            untold,
            changes,
            services: Vec::new(),
            has_definitions: false,
            faults,
            keeper,
            account,
            upgraded,
            is_new,
        };
        served.tell_version();
        for service in api_services::built_in(begins) {
            served.register(service);
        }
        served.keep_services();
        served.note();
        // What every namespace has is there before anybody can ask for it.
        served.controllers.run(&mut served.world);
        served.note();
        let made = std::mem::take(&mut served.changes);
        served.keep(&made)?;
        Ok(served)
    }

    /// Tells which version EKS has brought the cluster to.
    fn tell_version(&self) {
        if let Some(minor) = self.account.as_ref().and_then(Account::minor) {
            self.upgraded.store(minor, Ordering::Relaxed);
        }
    }

    /// Tells the controllers what has changed.
    fn tell(&mut self) {
        self.note();
        if std::mem::take(&mut self.has_definitions) {
            self.keep_services();
            self.note();
        }
    }

    fn note(&mut self) {
        let now = self.world.now();
        for change in self.untold.take() {
            self.has_definitions |= is_of_definition(&change);
            self.controllers.note(now, &change);
            self.changes.push(change);
        }
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

    fn status(&self) -> Value {
        let view = self.world.view();
        json!({
            "nodes": view.nodes.len(), "pods": view.pods.len(), "objects": view.number_of_objects(),
            "resourceVersion": self.world.version().to_string(),
            "next": self.world.next_due().map(|due| due.to_string()),
            "faults": self.faults.going_on(), "isKept": self.keeper.is_some(),
        })
    }
}

/// A world that goes on from what was kept.
fn resume(settings: Settings, kept: Kept) -> io::Result<(World, Faults, Option<Account>)> {
    let remembered = keeper::remembered(&kept).map_err(io::Error::other)?;
    // Names and uids are drawn by the seed and counters that begin anew: another seed draws others.
    let seed = settings.seed ^ kept.version.rotate_left(32) ^ settings.start.as_millis().unsigned_abs();
    let start = settings.start.max(Time::from_millis(kept.time));
    let view: View = kept.objects.into_iter().map(Delta::Put).collect();
    let world = World::resume(Settings { start, seed, ..settings }, view, remembered.world, kept.version);
    Ok((world, remembered.faults, remembered.account))
}

/// Whether a change is one of a CustomResourceDefinition.
fn is_of_definition(change: &Change) -> bool {
    let Change::Object { old, new, .. } = change else { return false };
    matches!(new.as_ref().or(old.as_ref()), Some(Object::CustomResourceDefinition(_)))
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
        let response = self.world.request_of_client(|api| api.handle(request));
        for sign in outside::signs(&self.untold.borrow()) {
            match sign {
                Sign::Made(node) => self.world.leave_kubelet_to_client(&node),
                Sign::Heard(node) => self.world.hear(&node),
            }
        }
        self.tell();
        // What a new namespace has is there before anybody can ask for it.
        self.controllers.run(&mut self.world);
        self.tell();
        response
    }

    fn run_until(&mut self, moment: Time) {
        loop {
            let due = self.controllers.next_due().filter(|due| *due <= moment);
            self.world.run_until(due.unwrap_or(moment));
            if let Some(account) = &mut self.account {
                aws::hear(&mut self.world, account);
            }
            self.tell_version();
            self.tell();
            self.controllers.run(&mut self.world);
            self.tell();
            if self.controllers.next_due().is_none_or(|due| due > moment) && due.is_none() {
                return;
            }
        }
    }

    fn is_new(&self) -> bool {
        self.is_new
    }

    fn look(&mut self) {
        leases::renew(&mut self.world);
        self.tell();
    }

    fn next_due(&self) -> Option<Time> {
        [self.world.next_due(), self.controllers.next_due()].into_iter().flatten().min()
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
        std::mem::take(&mut self.changes)
    }

    fn keep(&mut self, changes: &[Change]) -> io::Result<()> {
        match &mut self.keeper {
            Some(keeper) => {
                let beside =
                    Beside { world: &self.world, faults: &self.faults, account: self.account.as_ref() };
                keeper.keep(beside, changes)
            }
            None => Ok(()),
        }
    }

    fn manage(&mut self, ask: &Manage) -> Result<Value, String> {
        let answer = match ask {
            Manage::Status | Manage::Advance { .. } => Ok(self.status()),
            Manage::Faults => Ok(self.faults.list(self.account.is_some())),
            Manage::Start { words } => {
                self.faults.start(&mut Ground::of(&mut self.world, self.account.as_mut()), words)
            }
            Manage::Clear { number } => {
                self.faults.clear(&mut Ground::of(&mut self.world, self.account.as_mut()), *number)
            }
        };
        self.tell();
        answer
    }

    fn beside(&mut self, ask: Box<dyn Any + Send>) -> Option<Box<dyn Any + Send>> {
        let account = self.account.as_mut()?;
        let call = ask.downcast::<Call>().ok()?;
        let answered = aws::handle(&mut self.world, account, &call);
        self.tell_version();
        self.tell();
        self.controllers.run(&mut self.world);
        self.tell();
        Some(Box::new(answered))
    }
}

#[cfg(test)]
mod tests;
