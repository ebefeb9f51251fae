//! Walks, several at a time, against both servers.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::compare::differences;
use super::draw::Draw;
use super::kinds::{self, Kind, custom, definition};
use super::meta;
use super::normal::{moves, normal};
use super::report::{Difference, Report};
use super::step::{Class, Memory, Step, escaped};
use super::walk::Walk;
use crate::wire::{Endpoint, Received, Sent};

/// Requests in one walk.
const LENGTH: usize = 40;
/// What controllers get to act upon a change.
const SETTLE: Duration = Duration::from_millis(150);
/// How long a namespace or a definition may take to be ready.
const PATIENCE: Duration = Duration::from_secs(4);

/// What is wanted of a run.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// How many requests.
    pub requests: usize,
    /// Another number gives other requests.
    pub seed: u64,
    /// How many walks at a time.
    pub jobs: usize,
    /// Only resources with this in `group/version/resource`.
    pub only: Option<String>,
}

/// Sends the requests to both, and compares.
///
/// # Errors
/// A server does not answer at all; that an answer differs is none.
pub fn run(reference: &Endpoint, served: &Endpoint, wanted: &Wanted) -> Result<Report> {
    let mut kinds = kinds::all(reference)?;
    if let Some(only) = &wanted.only {
        kinds.retain(|kind| format!("{}/{}", kind.version, kind.plural).contains(only));
    }
    ensure!(!kinds.is_empty(), "there is no such resource");
    let walks = wanted.requests.div_ceil(LENGTH);
    let next = AtomicUsize::new(0);
    let report = Mutex::new(Report::default());
    let failed = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..wanted.jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= walks || failed.lock().expect("no walk panicked").is_some() {
                        return;
                    }
                    let pair = Pair { reference, served, report: &report, seed: wanted.seed };
                    if let Err(error) = pair.walk(&kinds, number, wanted.only.is_some()) {
                        *failed.lock().expect("no walk panicked") = Some(error);
                    }
                }
            });
        }
    });
    match failed.into_inner().expect("no walk panicked") {
        Some(error) => Err(error),
        None => Ok(report.into_inner().expect("no walk panicked")),
    }
}

struct Pair<'a> {
    reference: &'a Endpoint,
    served: &'a Endpoint,
    report: &'a Mutex<Report>,
    seed: u64,
}

impl Pair<'_> {
    fn walk(&self, kinds: &[Kind], number: usize, only: bool) -> Result<()> {
        let story = u64::try_from(number).unwrap_or_default();
        let mut draw = Draw::new(self.seed, story);
        let id = format!("d{}x{number}", self.seed);
        let namespace = id.clone();
        self.both(
            &Sent::new("POST", "/api/v1/namespaces")
                .json(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})),
        )?;
        let made = format!("/api/v1/namespaces/{namespace}");
        self.wait(&format!("{made}/configmaps/kube-root-ca.crt"), |_| true)?;
        self.wait(&format!("{made}/serviceaccounts/default"), |_| true)?;
        match draw.below(100) {
            0..=6 if !only => self.loose(kinds, &namespace, &mut draw)?,
            7..=13 if !only => self.custom(&id, &namespace, &mut draw)?,
            _ => {
                let kind = choose(kinds, &mut draw);
                self.resource(kind, &id, &namespace, &mut draw)?;
                self.clear(kind, &id, &namespace)?;
            }
        }
        self.both(&Sent::new("DELETE", made))
    }

    /// Requests about no object.
    fn loose(&self, kinds: &[Kind], namespace: &str, draw: &mut Draw) -> Result<()> {
        let mut memories = (Memory::default(), Memory::default());
        for turn in 0..LENGTH {
            let step =
                if turn % 3 == 2 { meta::review(kinds, namespace, draw) } else { meta::about(kinds, draw) };
            self.step(&step, "", false, &mut memories)?;
        }
        Ok(())
    }

    fn custom(&self, id: &str, namespace: &str, draw: &mut Draw) -> Result<()> {
        let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        self.both(&Sent::new("POST", definitions).json(&definition(id)))?;
        let kind = custom(id);
        let mine = format!("{definitions}/{}.judge.example.com", kind.plural);
        self.wait(&mine, |body| {
            let conditions = body["status"]["conditions"].as_array();
            conditions
                .into_iter()
                .flatten()
                .any(|each| each["type"] == "Established" && each["status"] == "True")
        })?;
        self.wait(&kind.collection(namespace), |_| true)?;
        self.resource(&kind, id, namespace, draw)?;
        self.clear(&kind, id, namespace)?;
        self.both(&Sent::new("DELETE", mine))
    }

    fn resource(&self, kind: &Kind, id: &str, namespace: &str, draw: &mut Draw) -> Result<()> {
        let mut memories = (Memory::default(), Memory::default());
        let mut walk = Walk::new(kind, namespace.to_owned(), id.to_owned());
        let name = format!("{}/{}", kind.version, kind.plural);
        if kind.has("list") {
            let list = Step::new(
                Class::List,
                "GET",
                format!("{}?labelSelector=judge%3D{id}", kind.collection(namespace)),
            );
            self.step(&list, &name, moves(kind), &mut memories)?;
        }
        for _ in 0..LENGTH {
            let step = walk.next(draw);
            let before = step.is_fleeting.then(|| memories.clone());
            let (status, other) = self.step(&step, &name, moves(kind), &mut memories)?;
            if let Some(before) = before {
                for (server, memory, status) in
                    [(self.reference, &memories.0, status), (self.served, &memories.1, other)]
                {
                    if status < 300 {
                        remove(server, &format!("{}/{}", kind.collection(namespace), memory.last_name()))?;
                    }
                }
                memories = before;
            }
            if let Some(alone) = walk.ended(status, other) {
                for server in [self.reference, self.served] {
                    remove(server, &format!("{}/{alone}", kind.collection(namespace)))?;
                }
            }
        }
        Ok(())
    }

    /// One request to both; the status of each.
    fn step(
        &self,
        step: &Step,
        resource: &str,
        moving: bool,
        memories: &mut (Memory, Memory),
    ) -> Result<(u16, u16)> {
        let (first, second) = (step.fill(&memories.0), step.fill(&memories.1));
        let (wanted, got) = std::thread::scope(|scope| {
            let other = scope.spawn(|| self.served.exchange(&second));
            let wanted = self.reference.exchange(&first);
            (wanted, other.join().unwrap_or_else(|_| anyhow::bail!("a request panicked")))
        });
        // No answer is an answer, too.
        let told = |answer: Result<Received>| {
            answer.unwrap_or_else(|error| Received {
                status: 0,
                headers: Vec::new(),
                body: format!("{error:#}").into_bytes(),
            })
        };
        let (wanted, got) = (told(wanted), told(got));
        // What one of them alone answers is nothing to go on with.
        if (wanted.status < 300) == (got.status < 300) {
            memories.0.learn(&wanted);
            memories.1.learn(&got);
        }
        let statuses = (wanted.status, got.status);
        let (wanted, got) = (
            normal(&wanted, step.class == Class::Watch, moving),
            normal(&got, step.class == Class::Watch, moving),
        );
        // A store that does not tell its progress cannot do what newer ones do: there is nothing to compare with.
        let text = wanted.body.to_string();
        if text.contains("RequestWatchProgress")
            || (text.contains("Too large resource version") && !got.body.to_string().contains("Too large"))
        {
            self.report.lock().expect("no walk panicked").not_compared += 1;
            return Ok(statuses);
        }
        let places = differences(&wanted, &got);
        let mut report = self.report.lock().expect("no walk panicked");
        if places.is_empty() {
            report.agreed(step.class);
        } else {
            report.differed(Difference {
                class: step.class,
                resource: resource.to_owned(),
                sent: second,
                wanted: wanted.into(),
                got: got.into(),
                places,
            });
        }
        drop(report);
        if step.settles && statuses.0 < 300 {
            std::thread::sleep(SETTLE);
        }
        Ok(statuses)
    }

    /// Takes away what a walk has left, and what holds it.
    fn clear(&self, kind: &Kind, id: &str, namespace: &str) -> Result<()> {
        let collection = kind.collection(namespace);
        let mine = format!("{collection}?labelSelector=judge%3D{id}");
        for server in [self.reference, self.served] {
            let list = server.exchange(&Sent::new("GET", mine.as_str()))?.json();
            for item in list["items"].as_array().into_iter().flatten() {
                let path = format!("{collection}/{}", item["metadata"]["name"].as_str().unwrap_or_default());
                if !kind.is_namespaced || item["metadata"]["finalizers"].is_array() {
                    remove(server, &path)?;
                }
            }
        }
        Ok(())
    }

    fn both(&self, sent: &Sent) -> Result<()> {
        self.reference.exchange(sent)?;
        self.served.exchange(sent)?;
        Ok(())
    }

    fn wait(&self, path: &str, enough: impl Fn(&Value) -> bool) -> Result<()> {
        for server in [self.reference, self.served] {
            let begun = Instant::now();
            loop {
                let answer = server.exchange(&Sent::new("GET", path))?;
                if answer.status == 200 && enough(&answer.json()) {
                    break;
                }
                // What is missing on one of them shows in the walk.
                if begun.elapsed() > PATIENCE {
                    break;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        Ok(())
    }
}

/// Deletes an object, and what holds it.
fn remove(server: &Endpoint, path: &str) -> Result<()> {
    let path = &escaped(path);
    server.exchange(&Sent::new("DELETE", path))?;
    let patch = json!({"metadata": {"finalizers": null}}).to_string().into_bytes();
    server.exchange(&Sent::new("PATCH", path).typed("application/merge-patch+json", patch))?;
    Ok(())
}

/// Every resource, those that clusters are made of more often.
fn choose<'a>(kinds: &'a [Kind], draw: &mut Draw) -> &'a Kind {
    const OFTEN: [&str; 8] = [
        "pods",
        "deployments",
        "services",
        "configmaps",
        "statefulsets",
        "jobs",
        "poddisruptionbudgets",
        "secrets",
    ];
    if draw.percent(35) {
        let often: Vec<&Kind> = kinds.iter().filter(|kind| OFTEN.contains(&kind.plural.as_str())).collect();
        if !often.is_empty() {
            return often[draw.below(often.len())];
        }
    }
    draw.pick(kinds)
}
