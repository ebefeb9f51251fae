//! Makes a control plane as it was at its beginning, so that somebody else can have it: a start takes five seconds of a processor.
//!
//! It is done in etcd, behind the API server's back: what was not there is deleted, what has been changed or is gone is put back, and the same is looked for until it is
//! so, byte for byte. To an API server this is what another one beside it has written: it, and the controllers by their watches, see every object go. So no kind is
//! known here, and neither finalizers nor webhooks nor grace are in the way. Through the API, a collection of definitions can be deleted whose custom
//! resources stay, seen by nobody until there is such a definition again.
//!
//! What processes keep in memory is not looked at. A plane whose processes were started anew is for its owner to end.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::client::Client;
use crate::etcd::{self, Held};
use crate::plane::ControlPlane;
use crate::wire::{Endpoint, Sent};

/// For so long nothing may change before it is believed that nothing more comes. Controllers, and those who tell events, are late by less; an API server reads
/// admission policies once a second.
const STILL: Duration = Duration::from_millis(1_200);

/// How long a plane that has begun may go on making objects of its own.
const SETTLES_WITHIN: Duration = Duration::from_secs(30);

/// Before what has been written is looked at again.
const PAUSE: Duration = Duration::from_millis(100);

/// What is renewed as long as there is an API server: its Lease, and its address. Only that they are there is compared.
const RENEWED: [&str; 2] = ["/registry/leases/", "/registry/masterleases/"];

const DISCOVERY: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// All that was there when a control plane began.
#[derive(Debug)]
pub struct Beginning {
    etcd: Client,
    server: Endpoint,
    held: Held,
    /// What the API server served, by its discovery: that is behind what etcd has.
    served: Value,
}

impl Beginning {
    /// Notes what is there, of a control plane that has just begun, once it makes nothing more on its own.
    ///
    /// # Errors
    /// It does not answer, or does not settle.
    pub fn of(plane: &ControlPlane) -> Result<Self> {
        let server = Endpoint::of_kubeconfig(&plane.kubeconfig())?;
        let etcd = plane.etcd().clone();
        let (held, served) = (etcd::held(&etcd)?, discovery(&server)?);
        let mut noted = Self { etcd, server, held, served };
        let begun = Instant::now();
        loop {
            std::thread::sleep(STILL);
            let (held, served) = (etcd::held(&noted.etcd)?, discovery(&noted.server)?);
            if noted.differs(&held).is_empty() && noted.served == served {
                return Ok(noted);
            }
            ensure!(begun.elapsed() < SETTLES_WITHIN, "the control plane does not settle");
            noted = Self { held, served, ..noted };
        }
    }

    /// Makes it so again. Kubelets, and whoever else writes, must have ended before.
    ///
    /// # Errors
    /// It does not stay so within `patience`: what differs.
    pub fn restore(&self, patience: Duration) -> Result<()> {
        let begun = Instant::now();
        let mut was_so = false;
        loop {
            let held = etcd::held(&self.etcd)?;
            let differs = self.differs(&held);
            let serves_same = discovery(&self.server)? == self.served;
            let is_so = differs.is_empty() && serves_same;
            if is_so && was_so {
                return Ok(());
            }
            let also = if serves_same { "" } else { ", and what is served" };
            ensure!(is_so || begun.elapsed() < patience, "not as it was: {}{also}", told(&differs));
            self.write(&differs)?;
            std::thread::sleep(if is_so { STILL } else { PAUSE });
            was_so = is_so;
        }
    }

    /// Keys whose values are not as they were, with what they were; nothing for one that was not there.
    fn differs<'k>(&'k self, now: &'k Held) -> Vec<(&'k str, Option<&'k str>)> {
        let is_renewed = |key: &str| RENEWED.iter().any(|prefix| key.starts_with(prefix));
        let extra = now.keys().filter(|key| !self.held.contains_key(*key)).map(|key| (key.as_str(), None));
        let changed = self.held.iter().filter(|(key, was)| match now.get(*key) {
            Some(is) => is != *was && !is_renewed(key),
            None => true,
        });
        extra.chain(changed.map(|(key, was)| (key.as_str(), Some(was.as_str())))).collect()
    }

    fn write(&self, differs: &[(&str, Option<&str>)]) -> Result<()> {
        let gone: Vec<&str> = differs.iter().filter(|(_, was)| was.is_none()).map(|(key, _)| *key).collect();
        let put: Vec<(&str, &str)> = differs.iter().filter_map(|(key, was)| Some((*key, (*was)?))).collect();
        etcd::write(&self.etcd, &gone, &put)
    }
}

/// Groups, versions and resources that are served.
fn discovery(server: &Endpoint) -> Result<Value> {
    let answer = server.exchange(&Sent::new("GET", "/apis").accepting(DISCOVERY))?;
    let body = answer.json();
    ensure!(answer.status == 200, "GET /apis: {}", body["message"]);
    Ok(body)
}

/// The first few of what differs.
fn told(differs: &[(&str, Option<&str>)]) -> String {
    let some: Vec<&str> = differs.iter().map(|(key, _)| *key).take(5).collect();
    format!("{} of {}", some.join(", "), differs.len())
}
