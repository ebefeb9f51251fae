//! A cluster that is served with its AWS account, and a client of the account that shares no code with ours.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use replank_judge::{Endpoint, Sent};
use ring::{digest, hmac};
use serde_json::{Value, json};

use crate::common::{Ran, command, root};

/// It ends when this is dropped.
pub(crate) struct Account {
    served: Child,
    kubeconfig: PathBuf,
    pub(crate) variables: Vec<(String, String)>,
    endpoint: Endpoint,
    /// Whether nobody has its clock go on any more.
    stopped: Arc<AtomicBool>,
}

impl Drop for Account {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        drop(self.served.kill());
        drop(self.served.wait());
    }
}

impl Account {
    /// One that begins as a snapshot whose nodes are in groups by a label.
    pub(crate) fn served(name: &str, snapshot: &Value, label: &str) -> Self {
        Self::served_at(name, snapshot, label, 20)
    }

    /// One that is so many times as fast as usual.
    pub(crate) fn served_at(name: &str, snapshot: &Value, label: &str, speed: u32) -> Self {
        Self::served_with(name, snapshot, (label, speed), &[])
    }

    /// The same, with further arguments of `cluster up`.
    pub(crate) fn served_with(
        name: &str,
        snapshot: &Value,
        (label, speed): (&str, u32),
        more: &[&str],
    ) -> Self {
        let speed = speed.to_string();
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).expect("the folder can be made");
        let (file, kubeconfig) = (folder.join("snapshot.json"), folder.join("kubeconfig.json"));
        std::fs::write(&file, snapshot.to_string()).expect("it can be written");
        let log = std::fs::File::create(folder.join("served.log")).expect("it can be written");
        let mut served = Command::new(env!("CARGO_BIN_EXE_replank"))
            .args(["cluster", "up", "--aws", "--port", "0", "--speed", &speed, "--group-label", label])
            .args(more)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .arg(&file)
            .current_dir(root())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .expect("it starts");
        let output = served.stdout.take().expect("it has an output");
        let mut variables = Vec::new();
        for line in BufReader::new(output).lines() {
            let line = line.expect("it is text");
            let said = line.strip_prefix("export ").and_then(|pair| pair.split_once('='));
            variables.extend(said.map(|(name, value)| (name.to_owned(), value.to_owned())));
            if line.contains("AWS_DEFAULT_REGION") {
                break;
            }
        }
        let endpoint = Endpoint::of_kubeconfig(&kubeconfig).expect("it names a server");
        Self { served, kubeconfig, variables, endpoint, stopped: Arc::default() }
    }

    /// One whose clock stands still, and goes on by half a second at a time: all that happens in between happens at one moment.
    pub(crate) fn stepped(name: &str, snapshot: &Value, label: &str, speed: u32) -> Self {
        let account = Self::served_with(name, snapshot, (label, speed), &["--clock", "step"]);
        account.goes_on();
        account
    }

    /// From now on a clock that stands still goes on.
    pub(crate) fn goes_on(&self) {
        let (endpoint, stopped) = (self.endpoint.clone(), Arc::clone(&self.stopped));
        thread::spawn(move || {
            while !stopped.load(Ordering::SeqCst) && endpoint.exchange(&advance()).is_ok() {
                thread::sleep(Duration::from_millis(400));
            }
        });
    }

    /// Has a clock that stands still go on by half a second.
    pub(crate) fn goes_on_once(&self) {
        self.endpoint.exchange(&advance()).expect("it answers");
    }

    pub(crate) fn variable(&self, name: &str) -> &str {
        let found = self.variables.iter().find(|(own, _)| own == name);
        &found.unwrap_or_else(|| panic!("{name} is not told: {:?}", self.variables)).1
    }

    /// A call of the binary with the account's variables, not yet run.
    pub(crate) fn call(&self, arguments: &[&str]) -> Command {
        let file = self.kubeconfig.to_str().expect("it is text");
        let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
        command.env("AWS_EC2_METADATA_DISABLED", "true");
        command.envs(self.variables.iter().filter(|(name, _)| name.starts_with("AWS_")).cloned());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        let ran: Ran = self.call(arguments).output().expect("it can be run").into();
        super::schemas::hold(arguments, &ran.stdout);
        ran
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        self.endpoint.exchange(&Sent::new("GET", path)).expect("it answers").json()
    }

    /// Creates an object.
    pub(crate) fn create(&self, path: &str, object: &Value) {
        let sent = Sent::new("POST", path).typed("application/json", object.to_string().into_bytes());
        let answer = self.endpoint.exchange(&sent).expect("it answers");
        assert_eq!(answer.status, 201, "{path}");
    }

    /// What a request to create something is answered.
    pub(crate) fn posted(&self, path: &str, object: &Value) -> Value {
        let sent = Sent::new("POST", path).typed("application/json", object.to_string().into_bytes());
        let answer = self.endpoint.exchange(&sent).expect("it answers");
        assert_eq!(answer.status, 201, "{path}");
        answer.json()
    }

    /// Deletes an object.
    pub(crate) fn delete(&self, path: &str) {
        let answer = self.endpoint.exchange(&Sent::new("DELETE", path)).expect("it answers");
        assert_eq!(answer.status, 200, "{path}");
    }

    /// Changes an object.
    pub(crate) fn merge(&self, path: &str, change: &Value) {
        let kind = "application/merge-patch+json";
        let sent = Sent::new("PATCH", path).typed(kind, change.to_string().into_bytes());
        let answer = self.endpoint.exchange(&sent).expect("it answers");
        assert!(answer.status < 300, "{path}: {}", answer.status);
    }

    /// A call of Auto Scaling, as `Name=value&…`; the answer's text.
    pub(crate) fn auto_scaling(&self, action: &str, parameters: &str) -> String {
        let body = format!("Action={action}&Version=2011-01-01{parameters}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.signed("autoscaling", "POST", "/", &headers, &body)
    }

    /// A call of EC2, as `Name=value&…`; the answer's text.
    pub(crate) fn ec2(&self, action: &str, parameters: &str) -> String {
        let body = format!("Action={action}&Version=2016-11-15{parameters}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.signed("ec2", "POST", "/", &headers, &body)
    }

    /// A call of Elastic Load Balancing, as `Name=value&…`; the answer's text.
    pub(crate) fn elb(&self, action: &str, parameters: &str) -> String {
        let body = format!("Action={action}&Version=2015-12-01{parameters}");
        let headers = [("content-type", "application/x-www-form-urlencoded")];
        self.signed("elasticloadbalancing", "POST", "/", &headers, &body)
    }

    /// A call of EKS, by its path, with at most one parameter behind it.
    pub(crate) fn eks(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer = self.signed("eks", method, path, &[("content-type", "application/json")], &body);
        serde_json::from_str(&answer).expect("it is JSON")
    }

    /// A call of EKS that is refused: the answer, with its headers.
    pub(crate) fn refused(&self, method: &str, path: &str, body: &Value) -> String {
        let answer =
            self.exchanged("eks", method, path, &[("content-type", "application/json")], &body.to_string());
        assert!(answer.starts_with("HTTP/1.1 4"), "{path} {body}: {answer}");
        answer
    }

    /// A call of a JSON protocol, by its target.
    pub(crate) fn json(&self, service: &str, target: &str, body: &Value) -> Value {
        let version = if service == "sqs" { "1.0" } else { "1.1" };
        let kind = format!("application/x-amz-json-{version}");
        let headers = [("content-type", &*kind), ("x-amz-target", target)];
        let answer = self.signed(service, "POST", "/", &headers, &body.to_string());
        serde_json::from_str(&answer).unwrap_or_default()
    }

    /// Has the account write down from now on what becomes of its instances.
    pub(crate) fn listen(&self) {
        self.json("sqs", "AmazonSQS.CreateQueue", &json!({"QueueName": "states"}));
        let pattern = json!({"detail-type": ["EC2 Instance State-change Notification"]}).to_string();
        self.json("events", "AWSEvents.PutRule", &json!({"Name": "states", "EventPattern": pattern}));
        let arn = format!("arn:aws:sqs:{}:111122223333:states", self.variable("AWS_REGION"));
        let target = json!({"Rule": "states", "Targets": [{"Id": "states", "Arn": arn}]});
        assert_eq!(self.json("events", "AWSEvents.PutTargets", &target)["FailedEntryCount"], 0);
    }

    /// How many instances were launched and how many terminated since the account listens, each by its id, in the order of the events.
    pub(crate) fn heard(&self) -> (Vec<String>, Vec<String>) {
        let url = format!("{}/111122223333/states", self.variable("AWS_ENDPOINT_URL"));
        let (mut launched, mut ended) = (Vec::new(), Vec::new());
        loop {
            let asked = json!({"QueueUrl": url, "MaxNumberOfMessages": 10, "VisibilityTimeout": 3600});
            let answer = self.json("sqs", "AmazonSQS.ReceiveMessage", &asked);
            let Some(messages) = answer["Messages"].as_array().filter(|all| !all.is_empty()) else { break };
            for message in messages {
                let body = message["Body"].as_str().expect("it has a body");
                let event: Value = serde_json::from_str(body).expect("it is JSON");
                let id = event["detail"]["instance-id"].as_str().expect("it names one").to_owned();
                match event["detail"]["state"].as_str() {
                    Some("pending") => launched.push(id),
                    Some("shutting-down") => ended.push(id),
                    _ => {}
                }
            }
        }
        (launched, ended)
    }

    /// A call that is answered: its body.
    pub(crate) fn signed(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let answer = self.exchanged(service, method, path, headers, body);
        assert!(answer.starts_with("HTTP/1.1 200"), "{service} {path} {body}: {answer}");
        answer.split_once("\r\n\r\n").expect("there is a body").1.to_owned()
    }

    /// A call, and its answer with its headers; empty where the connection ends without one. "Create a signed AWS API request" in the IAM user guide.
    pub(crate) fn exchanged(
        &self,
        service: &str,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> String {
        let host = self.variable("AWS_ENDPOINT_URL").trim_start_matches("http://").to_owned();
        let time = jiff_now();
        let (day, region) = (&time[..8], self.variable("AWS_REGION"));
        let mut headers: Vec<(&str, &str)> = headers.to_vec();
        headers.extend([("host", &*host), ("x-amz-date", &*time)]);
        headers.sort_unstable();
        let names = headers.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (place, query) = path.split_once('?').unwrap_or((path, ""));
        // Every service but S3 signs the path escaped once more.
        let place = place.replace('%', "%25");
        let request = format!("{method}\n{place}\n{query}\n{lines}\n{names}\n{}", sha256(body));
        let scope = format!("{day}/{region}/{service}/aws4_request");
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256(&request));
        let mut key = format!("AWS4{}", self.variable("AWS_SECRET_ACCESS_KEY")).into_bytes();
        for part in [day, region, service, "aws4_request", &text] {
            key = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, &key), part.as_bytes()).as_ref().to_vec();
        }
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{scope}, SignedHeaders={names}, Signature={}",
            self.variable("AWS_ACCESS_KEY_ID"),
            hex(&key)
        );
        let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "{method} {path} HTTP/1.1\r\n{lines}authorization: {authorization}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = TcpStream::connect(&host).expect("it listens");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

fn advance() -> Sent {
    let asked = json!({"ask": "advance", "millis": 500}).to_string().into_bytes();
    Sent::new("POST", "/replank.dev/v1/manage").typed("application/json", asked)
}

/// The present time, as `20261127T063000Z`.
fn jiff_now() -> String {
    let said = Command::new("date").args(["-u", "+%Y%m%dT%H%M%SZ"]).output().expect("there is a clock");
    String::from_utf8(said.stdout).expect("it is text").trim().to_owned()
}

fn sha256(text: &str) -> String {
    hex(digest::digest(&digest::SHA256, text.as_bytes()).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Three nodes of a group by a label, one in each zone.
pub(crate) fn nodes_of(label: &str) -> Vec<Value> {
    let zones = ["eu-west-1a", "eu-west-1b", "eu-west-1c"];
    let node = |(zone, number): (&str, u32)| {
        let name = format!("ip-10-0-0-{number}.eu-west-1.compute.internal");
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "creationTimestamp": "2026-11-01T00:00:00Z", "labels": {
                label: "web", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
                "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "eu-west-1",
                "node.kubernetes.io/instance-type": "m6i.large"}},
            "spec": {"providerID": format!("aws:///{zone}/i-{number:017x}")},
            "status": {"capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
                "allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "29"},
                "nodeInfo": {"kubeletVersion": "v1.35.6", "osImage": "Amazon Linux 2023.9.20251117", "architecture": "amd64",
                    "operatingSystem": "linux", "containerRuntimeVersion": "containerd://2.1.5", "kernelVersion": "6.12"},
                "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady"}]}})
    };
    zones.into_iter().zip(1..).map(node).collect()
}

/// Objects as a snapshot, in the namespaces that every cluster has.
pub(crate) fn list(objects: impl IntoIterator<Item = Value>) -> Value {
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let items: Vec<Value> = ["default", "kube-system"].map(namespace).into_iter().chain(objects).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}
