//! A cluster with as many pods as one likes, of which only the pods are made up: what a program takes in memory that reads them all is measured without a control plane of that size.
//!
//! Every request but those for pods goes on to the server of a kubeconfig. Pods are listed in pages; watches begin, and tell nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::wire::{Endpoint, Sent};

/// Pods of one template.
const SIBLINGS: usize = 150;
/// A version that no object has.
const VERSION: &str = "1000000000";

/// A server that feeds; it ends when this is dropped.
#[derive(Debug)]
pub struct Feeder {
    kubeconfig: PathBuf,
    address: String,
    has_ended: Arc<AtomicBool>,
}

impl Feeder {
    /// Begins to serve so many pods, on nodes of these names in turn, beside what the server of a kubeconfig has. A kubeconfig that leads here is written to `folder`.
    ///
    /// # Errors
    /// There is no port, or a file cannot be read or written.
    pub fn begin(upstream: &Path, folder: &Path, pods: usize, nodes: Vec<String>) -> Result<Self> {
        let endpoint = Arc::new(Endpoint::of_kubeconfig(upstream)?);
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?.to_string();
        let kubeconfig = folder.join("feeder.kubeconfig");
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "fed",
            "clusters": [{"name": "fed", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "admin", "user": {"token": endpoint.token()}}],
            "contexts": [{"name": "fed", "context": {"cluster": "fed", "user": "admin"}}]});
        fs::write(&kubeconfig, config.to_string())?;
        let has_ended = Arc::new(AtomicBool::new(false));
        let (ends, nodes) = (has_ended.clone(), Arc::new(nodes));
        drop(std::thread::spawn(move || {
            for stream in listener.incoming() {
                if ends.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (endpoint, nodes, ends) = (endpoint.clone(), nodes.clone(), ends.clone());
                // A client that goes away in the middle is no matter of ours.
                drop(std::thread::spawn(move || drop(serve(&stream, &endpoint, (pods, &nodes), &ends))));
            }
        }));
        Ok(Self { kubeconfig, address, has_ended })
    }

    /// A kubeconfig that leads here.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::SeqCst);
        // Wakes the thread that waits for connections.
        drop(TcpStream::connect(&self.address));
    }
}

fn serve(
    mut client: &TcpStream,
    endpoint: &Endpoint,
    (pods, nodes): (usize, &[String]),
    ends: &AtomicBool,
) -> Result<()> {
    let mut reader = BufReader::new(client);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(());
    }
    let mut words = line.split_whitespace();
    let (method, path) = words.next().zip(words.next()).context("a request has a method and a path")?;
    let (method, path) = (method.to_owned(), path.to_owned());
    let (mut length, mut content, mut accept) =
        (0, "application/json".to_owned(), "application/json".to_owned());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match &*name.to_ascii_lowercase() {
            "content-length" => length = value.trim().parse()?,
            "content-type" => value.trim().clone_into(&mut content),
            "accept" => value.trim().clone_into(&mut accept),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if path.contains("watch=1") {
        client.write_all(format!("HTTP/1.1 200 OK\r\nDate: {}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n", date()).as_bytes())?;
        while !ends.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(200));
        }
        return Ok(());
    }
    let (resource, query) = path.split_once('?').unwrap_or((&path, ""));
    let (status, body) = if method == "GET" && resource == "/api/v1/pods" {
        (200, page(&parameters(query), (pods, nodes)).to_string().into_bytes())
    } else {
        let mut sent = Sent::new(&method, &*path).accepting(&accept);
        if length > 0 {
            sent = sent.typed(&content, body);
        }
        let answer = endpoint.exchange(&sent)?;
        (answer.status, answer.body)
    };
    let head = format!(
        "HTTP/1.1 {status} Status\r\nDate: {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        date(),
        body.len()
    );
    client.write_all(head.as_bytes())?;
    client.write_all(&body)?;
    Ok(())
}

fn date() -> String {
    jiff::Timestamp::now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
}

fn parameters(query: &str) -> BTreeMap<&str, &str> {
    query.split('&').filter_map(|pair| pair.split_once('=')).collect()
}

/// A page of the pods; those of one node, where it is asked for.
fn page(asked: &BTreeMap<&str, &str>, (pods, nodes): (usize, &[String])) -> Value {
    let number = |name: &str| asked.get(name).and_then(|text| text.parse::<usize>().ok());
    let (from, limit) = (number("continue").unwrap_or(0), number("limit").unwrap_or(pods));
    let of_node =
        asked.get("fieldSelector").map(|text| text.replace("%3D", "=").replace("spec.nodeName=", ""));
    let end = pods.min(from + limit);
    let all = (from..end).map(|number| (number, &nodes[number * 7_919 % nodes.len()]));
    let items: Vec<Value> = all
        .filter(|(_, node)| of_node.as_ref().is_none_or(|wanted| wanted == *node))
        .map(|(number, node)| pod(number, node))
        .collect();
    let more = if end < pods { end.to_string() } else { String::new() };
    json!({"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": VERSION, "continue": more}, "items": items})
}

/// A pod as an API server lists it: with all that kubelets, controllers and plugins write, and who wrote it.
fn pod(number: usize, node: &str) -> Value {
    let template = number / SIBLINGS;
    let time = format!("2026-01-01T{:02}:{:02}:{:02}Z", number % 24, number / 24 % 60, number % 60);
    let (set, address) = (
        format!("service-{template:04}-5d8f7c9b6d"),
        format!("10.{}.{}.{}", number >> 16, number >> 8 & 255, number & 255),
    );
    let token = format!("kube-api-access-{:05x}", number * 31 % 1_048_576);
    let conditions: Vec<Value> = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(|kind| json!({"lastProbeTime": null, "lastTransitionTime": time, "observedGeneration": 1, "status": "True", "type": kind}))
        .into();
    let mount = json!([{"mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "name": token, "readOnly": true}]);
    let status = |name: &str| {
        json!({"name": name, "ready": true, "restartCount": 0, "started": true, "containerID": format!("containerd://{number:064x}"),
            "image": format!("registry.example.com/{name}-{template}:1.2.3"), "imageID": format!("registry.example.com/{name}@sha256:{template:064x}"),
            "lastState": {}, "state": {"running": {"startedAt": time}}, "volumeMounts": mount})
    };
    let container = |name: &str| {
        let settings: Vec<Value> =
            (0..12).map(|at| json!({"name": format!("SETTING_{at}"), "value": format!("value {at} of service {template}")})).collect();
        json!({"name": name, "image": format!("registry.example.com/{name}-{template}:1.2.3"), "imagePullPolicy": "IfNotPresent", "env": settings,
            "ports": [{"containerPort": 8080, "name": "http", "protocol": "TCP"}],
            "readinessProbe": {"failureThreshold": 3, "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
            "resources": {"limits": {"memory": "512Mi"}, "requests": {"cpu": "250m", "memory": "512Mi"}},
            "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File", "volumeMounts": mount})
    };
    json!({"metadata": {"name": format!("{set}-{number:06}"), "generateName": format!("{set}-"), "namespace": format!("team-{:02}", template % 40),
            "uid": format!("{number:08x}-aaaa-4bbb-8ccc-{template:012x}"), "resourceVersion": (1_000_000 + number).to_string(), "generation": 1,
            "creationTimestamp": time, "labels": {"app": format!("service-{template:04}"), "app.kubernetes.io/part-of": "shop", "pod-template-hash": "5d8f7c9b6d"},
            "annotations": {"checksum/config": format!("{template:064x}"), "cni.projectcalico.org/podIP": format!("{address}/32")},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": set, "uid": format!("{template:08x}-dddd-4eee-8fff-{template:012x}"),
                "controller": true, "blockOwnerDeletion": true}],
            "managedFields": [{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": "v1", "time": time, "fieldsType": "FieldsV1",
                "fieldsV1": {"f:metadata": {"f:generateName": {}, "f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:containers": {"k:{\"name\":\"app\"}": {".": {}, "f:image": {}}}}}}]},
        "spec": {"nodeName": node, "containers": [container("app"), container("proxy")], "dnsPolicy": "ClusterFirst", "enableServiceLinks": true,
            "preemptionPolicy": "PreemptLowerPriority", "priority": 0, "restartPolicy": "Always", "schedulerName": "default-scheduler", "securityContext": {},
            "serviceAccount": "default", "serviceAccountName": "default", "terminationGracePeriodSeconds": 30,
            "tolerations": [{"effect": "NoExecute", "key": "node.kubernetes.io/not-ready", "operator": "Exists", "tolerationSeconds": 300}],
            "volumes": [{"name": token, "projected": {"defaultMode": 420, "sources": [{"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}}]}}]},
        "status": {"conditions": conditions, "containerStatuses": [status("app"), status("proxy")], "hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.1"}],
            "phase": "Running", "observedGeneration": 1, "qosClass": "Burstable", "startTime": time, "podIP": address, "podIPs": [{"ip": address}]}})
}
