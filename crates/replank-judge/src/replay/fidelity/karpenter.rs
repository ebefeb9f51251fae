//! Karpenter beside a real control plane, as far as a roll needs it: it drains the node of a NodeClaim that somebody has deleted, has launched another by then, and
//! lets node and claim go once the machine is off; by the same steps as the simulated one, in times that are known.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::super::scene::Scene;
use super::super::stage::Stage;
use super::case::{STARTS, STOPS};
use crate::client::{Client, Method};
use crate::kubelets::NodeSpec;

/// The version of new nodes.
const NEW: &str = "v1.36.2";
const CLAIMS: &str = "/apis/karpenter.sh/v1/nodeclaims";
const FINALIZER: &str = "karpenter.sh/termination";
/// From the deletion of a claim to the launch of what takes its place (`--batch-idle-duration`).
const BATCH: Duration = Duration::from_secs(1);
/// How soon an eviction that was refused is asked for again (`evictionQueueMaxDelay`).
const AGAIN: Duration = Duration::from_secs(10);
/// How long definitions may take to be served.
const PATIENCE: Duration = Duration::from_secs(30);

/// One that works on a cluster.
pub(super) struct Karpenter<'a> {
    stage: &'a Stage,
    like: NodeSpec,
    /// Names that new nodes are given, in turn.
    names: Vec<String>,
}

/// How far a claim is that was deleted.
struct Leaving {
    node: String,
    /// When a pod's eviction is asked for next.
    again: Instant,
    /// Pods that were left on the node.
    pods: usize,
    /// When its machine is off.
    off: Option<Instant>,
}

impl<'a> Karpenter<'a> {
    /// Makes a pool of the nodes of a scene, each with a claim of its name.
    pub(super) fn installed(stage: &'a Stage, scene: &Scene) -> Result<Self> {
        let client = stage.plane.client();
        for kind in ["NodePool", "NodeClaim"] {
            client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &definition(kind))?;
        }
        for path in ["/apis/karpenter.sh/v1/nodepools", CLAIMS] {
            let begun = Instant::now();
            while client.send(Method::Get, path, None)?.status != 200 {
                ensure!(begun.elapsed() < PATIENCE, "{path} is not served");
                sleep(Duration::from_millis(100));
            }
        }
        let pool = json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "web"}, "spec": {}});
        client.create("/apis/karpenter.sh/v1/nodepools", &pool)?;
        for node in &scene.nodes {
            claim(client, &node.name)?;
            owns(client, &node.name, &node.name)?;
        }
        Ok(Self { stage, like: scene.nodes[0].clone(), names: Vec::new() })
    }

    /// With names for new nodes.
    pub(super) fn naming(mut self, names: Vec<String>) -> Self {
        self.names = names;
        self
    }

    /// Terminates and launches, until it is over.
    pub(super) fn works(&self, is_over: &AtomicBool) -> Result<()> {
        let client = self.stage.plane.client();
        let mut leaving: BTreeMap<String, Leaving> = BTreeMap::new();
        let mut due: Vec<(Instant, String, bool)> = Vec::new();
        while !is_over.load(Ordering::Relaxed) {
            let now = Instant::now();
            let claims = client.get(CLAIMS)?;
            for one in claims["items"].as_array().into_iter().flatten() {
                let name = one["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                if !one["metadata"]["deletionTimestamp"].is_string() {
                    continue;
                }
                if !leaving.contains_key(&name) {
                    let new = self.names.get(leaving.len()).cloned();
                    let new = new.unwrap_or_else(|| format!("new-{name}"));
                    due.push((now + BATCH, new.clone(), true));
                    due.push((now + BATCH + STARTS, new, false));
                    let node = one["status"]["nodeName"].as_str().unwrap_or_default().to_owned();
                    begins(client, &node)?;
                    leaving.insert(name.clone(), Leaving { node, again: now, pods: usize::MAX, off: None });
                }
                if let Some(one) = leaving.get_mut(&name) {
                    self.goes_on(&name, one)?;
                }
            }
            due.sort_by_key(|(at, _, _)| *at);
            while due.first().is_some_and(|(at, _, _)| *at <= now) {
                match due.remove(0) {
                    (_, name, true) => claim(client, &name)?,
                    (_, name, false) => self.joins(&name)?,
                }
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// The next thing for a node on its way out.
    fn goes_on(&self, claim: &str, one: &mut Leaving) -> Result<()> {
        let (client, now) = (self.stage.plane.client(), Instant::now());
        if let Some(off) = one.off {
            if now >= off {
                self.stage.kubelets.silence(&one.node);
                let free = json!({"metadata": {"finalizers": null}});
                client.send(Method::Merge, &format!("/api/v1/nodes/{}", one.node), Some(&free))?;
                client.send(Method::Merge, &format!("{CLAIMS}/{claim}"), Some(&free))?;
            }
            return Ok(());
        }
        let pods = client.get(&format!("/api/v1/pods?fieldSelector=spec.nodeName={}", one.node))?;
        let pods = pods["items"].as_array().cloned().unwrap_or_default();
        if pods.is_empty() {
            one.off = Some(now + STOPS);
            return Ok(());
        }
        if pods.len() < one.pods {
            one.again = now;
        }
        one.pods = pods.len();
        if now < one.again {
            return Ok(());
        }
        one.again = now + AGAIN;
        for pod in pods.iter().filter(|pod| !pod["metadata"]["deletionTimestamp"].is_string()) {
            let meta = &pod["metadata"];
            let text = |member: &str| meta[member].as_str().unwrap_or_default();
            let path = format!("/api/v1/namespaces/{}/pods/{}/eviction", text("namespace"), text("name"));
            let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction",
                "metadata": {"name": meta["name"], "namespace": meta["namespace"]},
                "deleteOptions": {"preconditions": {"uid": meta["uid"]}}});
            // Where a budget refuses, it is asked for again.
            client.send(Method::Post, &path, Some(&eviction))?;
        }
        Ok(())
    }

    /// A machine that was launched registers its node.
    fn joins(&self, name: &str) -> Result<()> {
        let mut spec = self.like.clone();
        name.clone_into(&mut spec.name);
        spec.labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
        NEW.clone_into(&mut spec.version);
        self.stage.kubelets.register(&spec)?;
        owns(self.stage.plane.client(), name, name)
    }
}

/// A node takes no more pods, and is on its way out.
fn begins(client: &Client, node: &str) -> Result<()> {
    let path = format!("/api/v1/nodes/{node}");
    let change = json!({"metadata": {"labels": {"node.kubernetes.io/exclude-from-external-load-balancers": "karpenter"}},
        "spec": {"taints": [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]}});
    client.send(Method::Merge, &path, Some(&change))?.ok()?;
    client.send(Method::Delete, &path, None)?.ok().map(drop)
}

/// Makes a claim, whose machine is that of the node of its name.
fn claim(client: &Client, name: &str) -> Result<()> {
    client.create(CLAIMS, &json!({"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": name, "labels": {"karpenter.sh/nodepool": "web"}, "finalizers": [FINALIZER]},
        "spec": {"requirements": [], "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}}}))?;
    let status = json!({"status": {"providerID": format!("fake:///{name}")}});
    client.send(Method::Merge, &format!("{CLAIMS}/{name}/status"), Some(&status))?.ok().map(drop)
}

/// A node is a claim's.
fn owns(client: &Client, claim: &str, node: &str) -> Result<()> {
    let status = json!({"status": {"nodeName": node}});
    client.send(Method::Merge, &format!("{CLAIMS}/{claim}/status"), Some(&status))?.ok()?;
    let held = json!({"metadata": {"finalizers": [FINALIZER]}});
    client.send(Method::Merge, &format!("/api/v1/nodes/{node}"), Some(&held))?.ok().map(drop)
}

fn definition(kind: &str) -> Value {
    let (one, many) = (kind.to_lowercase(), format!("{}s", kind.to_lowercase()));
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": format!("{many}.karpenter.sh")},
        "spec": {"group": "karpenter.sh", "scope": "Cluster", "names": {"plural": many, "singular": one, "kind": kind, "listKind": format!("{kind}List")},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}
