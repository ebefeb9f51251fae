//! Plays one scenario.

use std::collections::BTreeMap;

use replank_apiserver::json::{Method, Request, Response};
use replank_model::time::{Span, Time};
use replank_sim::{CloudTimings, KubeletModel, Settings, World};
use serde_json::{Value, json};

use super::normal::{self, Normal, canonical, without};
use super::{Compare, Meta, Mode, Step, table};

/// Time that a request takes.
const REQUEST: Span = Span::from_millis(20);
/// Time between two looks at something that is waited for.
const POLL: Span = Span::from_millis(80);
/// How long things are waited for unless said otherwise.
const EVENTUALLY: f64 = 12.0;
const PODS: f64 = 20.0;
const RETRY: Span = Span::from_millis(500);

/// A world and what is known of it.
pub(super) struct Player {
    world: World,
    normal: Normal,
    variables: BTreeMap<String, String>,
}

/// The outcome of a scenario.
#[derive(Debug, Default)]
pub(super) struct Differences {
    /// Answers that were compared.
    pub(super) compared: usize,
    /// One line per step that differs.
    pub(super) lines: Vec<String>,
}

impl Player {
    pub(super) fn new(meta: &Meta) -> Self {
        let start: Time = "2026-11-20T10:00:00Z".parse().expect("a time");
        let settings =
            Settings { start, seed: 1, kubelet: KubeletModel::Fake, cloud: CloudTimings::default() };
        let unique = "u7k2m9".to_owned();
        let variables = BTreeMap::from([
            ("u".to_owned(), unique.clone()),
            ("ns".to_owned(), format!("{}-{unique}", meta.ns)),
        ]);
        Self {
            world: World::new(settings, std::iter::empty().collect()),
            normal: Normal::new(unique),
            variables,
        }
    }

    pub(super) fn play(mut self, steps: &[Step]) -> Differences {
        let mut found = Differences::default();
        for step in steps.iter().filter(|step| step.mode != Mode::Cleanup) {
            match self.step(step) {
                Ok(None) => {}
                Ok(Some(difference)) => {
                    found.compared += 1;
                    found
                        .lines
                        .extend(difference.map(|difference| format!("step {}: {difference}", step.seq)));
                }
                Err(why) => {
                    found.lines.push(format!("step {} cannot be played: {why}", step.seq));
                    break;
                }
            }
        }
        found
    }

    /// One step: `None` if nothing is compared, else the difference, if there is one.
    fn step(&mut self, step: &Step) -> Result<Option<Option<String>>, String> {
        match step.op.as_str() {
            "http" => self.request_step(step),
            "setpods" => self.set_pods(step).map(|()| None),
            "sleep" => {
                self.pass(seconds(step.seconds.unwrap_or(0.0)));
                Ok(None)
            }
            // The real controllers learn of new kinds late; these know them at once.
            "age" => Ok(None),
            other => Err(format!("no such step: {other}")),
        }
    }

    fn request_step(&mut self, step: &Step) -> Result<Option<Option<String>>, String> {
        if step.mode == Mode::Eventually {
            let end = self.world.now() + seconds(step.timeout_s.unwrap_or(EVENTUALLY));
            loop {
                let response = self.send(&step.request)?;
                let difference = self.difference(step, &response);
                if difference.is_none() || self.world.now() >= end {
                    self.save(step, &response)?;
                    return Ok(Some(difference));
                }
                self.pass(POLL);
            }
        }
        let mut response = self.send(&step.request)?;
        for _ in 1..step.retry.unwrap_or(1) {
            if !step.retry_on.contains(&response.code) {
                break;
            }
            self.pass(RETRY);
            response = self.send(&step.request)?;
        }
        if step.mode == Mode::Setup && response.code >= 300 && !step.ok.contains(&response.code) {
            return Err(format!("{} {}", response.code, response.body));
        }
        if response.code < 300 {
            self.save(step, &response)?;
        }
        Ok(match step.mode {
            Mode::Exact => Some(self.difference(step, &response)),
            Mode::Eventually | Mode::Setup | Mode::Cleanup => None,
        })
    }

    fn send(&mut self, request: &Value) -> Result<Response, String> {
        let request = self.substituted(request);
        let method = match request["method"].as_str() {
            Some("GET") => Method::Get,
            Some("POST") => Method::Post,
            Some("PUT") => Method::Put,
            Some("PATCH") => Method::Patch,
            Some("DELETE") => Method::Delete,
            other => return Err(format!("no such method: {other:?}")),
        };
        let content_type = request["headers"]["Content-Type"].as_str().unwrap_or_default().to_owned();
        let path = request["path"].as_str().ok_or("a request without path")?.to_owned();
        let body = request.get("body").cloned().unwrap_or(Value::Null);
        self.ask(&Request { method, path, content_type, body, wire: None })
    }

    fn ask(&mut self, request: &Request) -> Result<Response, String> {
        self.pass(REQUEST);
        let response = self.world.request(|api| api.handle(request));
        // Nobody plays the kubelet of a node that a request makes.
        if request.method == Method::Post && request.path == "/api/v1/nodes" && response.code == 201 {
            let name = response.body["metadata"]["name"].as_str().ok_or("a node without name")?;
            self.world.silence(&name.into());
        }
        self.normal.learn(&response.body);
        Ok(response)
    }

    fn save(&mut self, step: &Step, response: &Response) -> Result<(), String> {
        for (name, pointer) in &step.save {
            let found = response.body.pointer(pointer).and_then(Value::as_str);
            let value = found.ok_or_else(|| format!("nothing to save at {pointer}"))?;
            if name.starts_with("uid") {
                self.normal.uids.insert(value.to_owned(), name.clone());
            }
            self.variables.insert(name.clone(), value.to_owned());
        }
        Ok(())
    }

    fn difference(&self, step: &Step, response: &Response) -> Option<String> {
        let recorded = &step.response;
        let code = recorded["status"].as_u64().unwrap_or(0);
        if code != u64::from(response.code) {
            return Some(format!(
                "recorded {code} {}, ours {} {}",
                recorded["body"], response.code, response.body
            ));
        }
        let ours = self.normal.value(&response.body, step.norm["sort"].as_str());
        let theirs = &recorded["body"];
        if theirs["kind"] == "Table" {
            let (theirs, ours) = (table::recorded(theirs), table::of_budgets(&ours));
            return (theirs != ours).then(|| format!("recorded rows {theirs:?}, ours {ours:?}"));
        }
        let (theirs, ours) = match step.compare {
            Compare::Status => return None,
            Compare::Reason => (reason(theirs), reason(&ours)),
            Compare::Full => {
                let comparable = |value: &Value| without(&canonical(value.clone()), &step.ignore);
                (comparable(theirs), comparable(&ours))
            }
        };
        if let Some(difference) = normal::difference(&theirs, &ours) {
            return Some(difference);
        }
        let after = |value: Option<&Value>| value.map(|value| value.to_string().trim_matches('"').to_owned());
        let theirs = after(recorded["headers"].get("retry-after"));
        let ours = after(response.body.pointer("/details/retryAfterSeconds"));
        (theirs != ours).then(|| format!("Retry-After: recorded {theirs:?}, ours {ours:?}"))
    }

    /// Plays the kubelet once: waits for pods, and writes the status of some.
    fn set_pods(&mut self, step: &Step) -> Result<(), String> {
        let namespace = self.substitute(&step.ns);
        let selector = self.substitute(&step.selector).replace('=', "%3D").replace(',', "%2C");
        let path = format!("/api/v1/namespaces/{namespace}/pods");
        let end = self.world.now() + seconds(step.timeout_s.unwrap_or(PODS));
        let mut pods = loop {
            let list = self.ask(&get(format!("{path}?labelSelector={selector}")))?;
            let items = list.body["items"].as_array().cloned().unwrap_or_default();
            let pods: Vec<Value> = items.into_iter().filter(|pod| is_meant(pod, step.only_new)).collect();
            if pods.len() >= step.count {
                break pods;
            }
            if self.world.now() >= end {
                return Err(format!("{} of {} pods for {selector}", pods.len(), step.count));
            }
            self.pass(POLL);
        };
        pods.sort_by_key(|pod| name_of(pod).to_owned());
        for (at, pod) in pods.iter().enumerate() {
            let variable = format!("{}{at}", step.prefix.as_deref().unwrap_or("pod"));
            self.variables.insert(variable, name_of(pod).to_owned());
            if at >= step.ready + step.unready {
                continue;
            }
            let status =
                status(pod, step.phase.as_deref().unwrap_or("Running"), at < step.ready, self.world.now());
            let request = Request {
                method: Method::Patch,
                path: format!("{path}/{}/status", name_of(pod)),
                content_type: "application/strategic-merge-patch+json".to_owned(),
                body: json!({"status": status}),
                wire: None,
            };
            let answer = self.ask(&request)?;
            if answer.code >= 300 && answer.code != 404 {
                return Err(format!("the status of a pod: {} {}", answer.code, answer.body));
            }
        }
        Ok(())
    }

    fn pass(&mut self, span: Span) {
        let end = self.world.now() + span;
        self.world.run_until(end);
    }

    fn substituted(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.substitute(text)),
            Value::Array(items) => Value::Array(items.iter().map(|item| self.substituted(item)).collect()),
            Value::Object(members) => {
                let each = members.iter();
                Value::Object(
                    each.map(|(key, value)| (self.substitute(key), self.substituted(value))).collect(),
                )
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }

    /// A text with its variables, `${name}`, replaced. Unknown ones stay.
    fn substitute(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            text = text.replace(&format!("${{{name}}}"), value);
        }
        text
    }
}

fn get(path: String) -> Request {
    Request { method: Method::Get, path, content_type: String::new(), body: Value::Null, wire: None }
}

fn is_meant(pod: &Value, only_new: bool) -> bool {
    let is_new = matches!(pod["status"]["phase"].as_str(), None | Some("" | "Pending"));
    pod["metadata"].get("deletionTimestamp").is_none() && (is_new || !only_new)
}

fn name_of(pod: &Value) -> &str {
    pod["metadata"]["name"].as_str().unwrap_or_default()
}

/// The status that a kubelet would write.
fn status(pod: &Value, phase: &str, is_ready: bool, now: Time) -> Value {
    let word = |is_true: bool| if is_true { "True" } else { "False" };
    let conditions: Vec<Value> = [
        ("PodReadyToStartContainers", true),
        ("Initialized", true),
        ("Ready", is_ready),
        ("ContainersReady", is_ready),
    ]
    .into_iter()
    .map(|(kind, is_true)| json!({"type": kind, "status": word(is_true), "lastTransitionTime": now}))
    .collect();
    let state = match phase {
        "Running" => json!({"running": {"startedAt": now}}),
        "Succeeded" => json!({"terminated": {"exitCode": 0, "reason": "Completed"}}),
        "Failed" => json!({"terminated": {"exitCode": 1, "reason": "Error"}}),
        _ => json!({"waiting": {"reason": "ContainerCreating"}}),
    };
    let containers = pod["spec"]["containers"].as_array().into_iter().flatten();
    let statuses: Vec<Value> = containers
        .map(|container| {
            json!({"name": container["name"], "ready": is_ready, "started": is_ready, "restartCount": 0,
                "image": container["image"], "imageID": "", "state": state})
        })
        .collect();
    json!({"phase": phase, "conditions": conditions, "containerStatuses": statuses, "startTime": now})
}

/// What of a refusal does not depend on words.
fn reason(answer: &Value) -> Value {
    if answer["kind"] != "Status" {
        return json!([answer["kind"], answer["metadata"]["name"]]);
    }
    let details = &answer["details"];
    let mut causes: Vec<Value> = details["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| json!([cause["reason"], cause["field"]]))
        .collect();
    causes.sort_by_key(Value::to_string);
    json!([
        answer["status"],
        answer["reason"],
        answer["code"],
        details["kind"],
        details["name"],
        details["group"],
        causes,
        details["retryAfterSeconds"]
    ])
}

#[expect(clippy::cast_possible_truncation, reason = "a recording waits for seconds, not for centuries")]
fn seconds(seconds: f64) -> Span {
    Span::from_millis((seconds * 1000.0) as i64)
}
