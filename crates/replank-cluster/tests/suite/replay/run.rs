//! One scenario: its steps, in order.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Received, Request, Watch, call};
use super::compare::{Answer, COMPARED, differs};
use super::normal::{Normal, Wishes};

/// How long a state may take to come about.
const PATIENCE: Duration = Duration::from_secs(6);

pub(super) struct Run {
    address: SocketAddr,
    normal: Normal,
    variables: BTreeMap<String, String>,
    watches: BTreeMap<String, Watch>,
    /// Steps that were compared.
    pub(super) compared: usize,
    /// What differed.
    pub(super) differences: Vec<String>,
}

impl Run {
    pub(super) fn new(address: SocketAddr, number: usize, meta: &Value) -> Self {
        let suffix = format!("u{number}q7");
        let namespace = format!("{}-{suffix}", meta["ns"].as_str().unwrap_or_default());
        let variables = BTreeMap::from([("u".to_owned(), suffix.clone()), ("ns".to_owned(), namespace)]);
        let normal = Normal::new(suffix);
        Self { address, normal, variables, watches: BTreeMap::new(), compared: 0, differences: Vec::new() }
    }

    /// Runs all steps; what cannot go on ends the scenario, save for its cleaning up.
    pub(super) fn all(mut self, steps: &[Value]) -> Self {
        let mut broken = None;
        for step in steps {
            if broken.is_some() && step["mode"] != "cleanup" {
                continue;
            }
            let done = match step["op"].as_str() {
                Some("http") => self.http(step),
                Some("watch-start") => self.begin_watch(step),
                Some("watch-collect") => self.collect(step),
                Some("setpods") => self.set_pods(step),
                Some("reap") => self.reap(step),
                Some("sleep") => {
                    std::thread::sleep(Duration::from_secs_f64(step["seconds"].as_f64().unwrap_or(0.0)));
                    Ok(())
                }
                // Only a real controller manager learns late of new kinds.
                Some("age") => Ok(()),
                other => Err(format!("an unknown step: {other:?}")),
            };
            if let Err(why) = done
                && step["mode"] != "cleanup"
            {
                self.differences.push(format!("#{}: {why}", step["seq"]));
                broken = Some(());
            }
        }
        self.watches.values().for_each(Watch::end);
        self
    }

    fn note(&mut self, step: &Value, difference: Option<String>) {
        self.compared += 1;
        if let Some(why) = difference {
            let what = format!("{} {}", step["request"]["method"], step["request"]["path"]);
            self.differences.push(format!("#{} {what}: {why}", step["seq"]));
        }
    }

    /// A text with its variables.
    fn filled(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text
    }

    fn request(&self, of: &Value) -> Request {
        let text = |name: &str| of[name].as_str().unwrap_or_default();
        let body = match (&of["rawBody"], &of["body"]) {
            (Value::String(raw), _) => Some(self.filled(raw)),
            (_, Value::Null) => None,
            (_, body) => Some(self.filled(&body.to_string())),
        };
        let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        for (name, value) in of["headers"].as_object().into_iter().flatten() {
            let name = name.to_ascii_lowercase();
            headers.retain(|(known, _)| *known != name);
            headers.extend(value.as_str().map(|value| (name, self.filled(value))));
        }
        Request { method: text("method").to_owned(), path: self.filled(text("path")), headers, body }
    }

    fn http(&mut self, step: &Value) -> Result<(), String> {
        let request = self.request(&step["request"]);
        let mode = step["mode"].as_str().unwrap_or("exact");
        let until = Instant::now() + PATIENCE;
        let tries = step["retry"].as_u64().unwrap_or(1);
        let mut tried = 0;
        loop {
            let received = call(self.address, &request);
            tried += 1;
            let comes_again =
                step["retry_on"].as_array().is_some_and(|codes| codes.contains(&received.status.into()));
            if comes_again && tried < tries {
                std::thread::sleep(Duration::from_millis(500));
                continue;
            }
            let answer = self.shown(step, &received);
            let difference = match mode {
                "exact" | "eventually" => differs(step, &answer),
                _ => None,
            };
            if mode == "eventually" && difference.is_some() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            if mode == "setup"
                && received.status >= 300
                && !step["ok"].as_array().is_some_and(|ok| ok.contains(&received.status.into()))
            {
                return Err(format!(
                    "{} {}: {}",
                    request.method,
                    request.path,
                    String::from_utf8_lossy(&received.body)
                ));
            }
            if matches!(mode, "exact" | "eventually") {
                self.note(step, difference);
            }
            if received.status < 300 {
                self.keep(step, &received)?;
            }
            return Ok(());
        }
    }

    fn keep(&mut self, step: &Value, received: &Received) -> Result<(), String> {
        for (name, path) in step["save"].as_object().into_iter().flatten() {
            let path = path.as_str().unwrap_or_default();
            let value = match path.strip_prefix('@') {
                Some(header) => received.header(&header.to_ascii_lowercase()),
                None => received.json().and_then(|body| {
                    let found = body.pointer(path)?.clone();
                    Some(found.as_str().map_or_else(|| found.to_string(), str::to_owned))
                }),
            };
            let value = value.ok_or_else(|| format!("{path} is absent"))?;
            self.variables.insert(name.clone(), value.clone());
            self.normal.kept.insert(name.clone(), value);
        }
        Ok(())
    }

    fn shown(&mut self, step: &Value, received: &Received) -> Answer {
        let wishes = Wishes {
            keeps_managers: step["norm"]["managedFields"] == true,
            sorts_items: step["norm"]["sort"] == "items",
        };
        let body = match received.json() {
            Some(body) => {
                self.normal.learn(&body);
                self.normal.value(&body, wishes, "")
            }
            None => self.normal.text(&String::from_utf8_lossy(&received.body)).into(),
        };
        let headers = COMPARED.map(|name| received.header(name).map(|value| self.normal.text(&value)));
        Answer { status: received.status, headers, body }
    }

    fn begin_watch(&mut self, step: &Value) -> Result<(), String> {
        let mut request = self.request(&step["request"]);
        request.method = "GET".to_owned();
        let watch = Watch::begin(self.address, &request);
        std::thread::sleep(Duration::from_millis(200));
        let received = watch.received().ok_or("the watch does not begin")?;
        let difference = match received.status {
            200 => None,
            _ => {
                let answer = self.shown(step, &received);
                differs(step, &answer)
            }
        };
        let wanted = step["response"]["status"].as_u64();
        self.note(
            step,
            difference.or((wanted != Some(received.status)).then(|| format!("status {}", received.status))),
        );
        self.watches.insert(step["id"].to_string(), watch);
        Ok(())
    }

    fn collect(&mut self, step: &Value) -> Result<(), String> {
        let watch = self.watches.get(&step["id"].to_string()).ok_or("no such watch")?;
        let count = usize::try_from(step["count"].as_u64().unwrap_or(1)).unwrap_or(1);
        let until = Instant::now() + PATIENCE;
        let bookmarks = step["bookmarks"] == true;
        let events = loop {
            let (mut events, is_over) = watch.events();
            events.retain(|event| bookmarks || event["type"] != "BOOKMARK");
            if events.len() >= count || is_over || Instant::now() > until {
                break events;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if step["close"] != false {
            watch.end();
        }
        events.iter().for_each(|event| self.normal.learn(&event["object"]));
        let shown: Vec<Value> =
            events.iter().map(|event| self.normal.value(event, Wishes::default(), "")).collect();
        let answer = Answer { status: 200, headers: Default::default(), body: shown.into() };
        self.note(step, differs(step, &answer));
        Ok(())
    }

    fn get(&self, path: String) -> Value {
        let request = Request { method: "GET".to_owned(), path, headers: Vec::new(), body: None };
        call(self.address, &request).json().unwrap_or_default()
    }

    /// Plays the kubelet once.
    fn set_pods(&mut self, step: &Value) -> Result<(), String> {
        let text = |name: &str| self.filled(step[name].as_str().unwrap_or_default());
        let (namespace, selector) = (text("ns"), text("selector").replace('=', "%3D").replace(',', "%2C"));
        let number = |name: &str| usize::try_from(step[name].as_u64().unwrap_or(0)).unwrap_or(0);
        let until = Instant::now() + PATIENCE;
        let mut pods = loop {
            let list = self.get(format!("/api/v1/namespaces/{namespace}/pods?labelSelector={selector}"));
            let mut pods = list["items"].as_array().cloned().unwrap_or_default();
            pods.retain(|pod| pod["metadata"]["deletionTimestamp"].is_null());
            if step["only_new"] == true {
                pods.retain(|pod| matches!(pod["status"]["phase"].as_str(), None | Some("" | "Pending")));
            }
            if pods.len() >= number("count") {
                break pods;
            }
            if Instant::now() > until {
                return Err(format!("{} pods instead of {}", pods.len(), number("count")));
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        pods.sort_by_key(|pod| pod["metadata"]["name"].to_string());
        let (ready, unready) = (number("ready"), number("unready"));
        let prefix = step["prefix"].as_str().unwrap_or("pod").to_owned();
        for (index, pod) in pods.iter().enumerate() {
            self.normal.learn(pod);
            let name = pod["metadata"]["name"].as_str().unwrap_or_default().to_owned();
            self.variables.insert(format!("{prefix}{index}"), name.clone());
            if index < ready + unready {
                let phase = step["phase"].as_str().unwrap_or("Running");
                let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/status");
                let body = status(pod, phase, index < ready).to_string();
                let kind = ("content-type".to_owned(), "application/strategic-merge-patch+json".to_owned());
                let request =
                    Request { method: "PATCH".to_owned(), path, headers: vec![kind], body: Some(body) };
                let received = call(self.address, &request);
                if received.status >= 300 && received.status != 404 {
                    return Err(format!("status of {name}: {}", String::from_utf8_lossy(&received.body)));
                }
            }
        }
        Ok(())
    }

    /// Ends what is being deleted.
    fn reap(&mut self, step: &Value) -> Result<(), String> {
        let namespace = self.filled(step["ns"].as_str().unwrap_or_default());
        let pods = self.get(format!("/api/v1/namespaces/{namespace}/pods"));
        let going = pods["items"].as_array().into_iter().flatten();
        for pod in going.filter(|pod| !pod["metadata"]["deletionTimestamp"].is_null()) {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            let path = format!("/api/v1/namespaces/{namespace}/pods/{name}");
            let kind = ("content-type".to_owned(), "application/json".to_owned());
            let body = Some(json!({"gracePeriodSeconds": 0}).to_string());
            call(self.address, &Request { method: "DELETE".to_owned(), path, headers: vec![kind], body });
        }
        Ok(())
    }
}

/// What a kubelet says of a pod.
fn status(pod: &Value, phase: &str, ready: bool) -> Value {
    let now = replank_api::Pace::outside().floor_seconds().to_string();
    let word = if ready { "True" } else { "False" };
    let conditions: Vec<Value> = [
        ("PodReadyToStartContainers", "True"),
        ("Initialized", "True"),
        ("Ready", word),
        ("ContainersReady", word),
    ]
    .iter()
    .map(|(kind, status)| json!({"type": kind, "status": status, "lastTransitionTime": now}))
    .collect();
    let state = match phase {
        "Running" => json!({"running": {"startedAt": now}}),
        "Succeeded" => json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
        "Failed" => json!({"terminated": {"exitCode": 1, "reason": "Error"}}),
        _ => json!({"waiting": {"reason": "ContainerCreating"}}),
    };
    let containers: Vec<Value> = pod["spec"]["containers"].as_array().into_iter().flatten().map(|one| {
        json!({"name": one["name"], "ready": ready, "started": ready, "restartCount": 0, "image": one["image"],
            "imageID": "", "state": state})
    }).collect();
    json!({"status": {"phase": phase, "conditions": conditions, "containerStatuses": containers, "startTime": now}})
}
