//! Which steps follow when one has ended (`executeSteps`, `executeDAG`), as far as the Workflow itself tells: the entrypoint's steps or tasks that name a
//! template of a pod. Conditions (`when`) are taken to hold; what is under another template, or another Workflow's, is not followed.

use replank_core::batch::retry;
use replank_model::object::Object;
use replank_model::object::meta::Key;
use replank_model::object::pod::Pod;
use replank_model::text::Uid;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::{Attempt, COMPLETED, Task, WORKFLOW, Workflows};
use crate::controllers::{Ctx, operators};
use crate::draw::Purpose;

/// Annotation of a pod: its node in the Workflow's status.
const NODE_ID: &str = "workflows.argoproj.io/node-id";
/// Annotation of a pod: the name of that node.
const NODE_NAME: &str = "workflows.argoproj.io/node-name";
/// Pods of one task at most: more are a matter of data that the snapshot does not have.
const COPIES_MAX: u64 = 1_000;

/// A step or task of the entrypoint.
struct Step {
    name: String,
    template: String,
    /// Those that must have succeeded.
    needs: Vec<String>,
    copies: u64,
}

impl Workflows {
    /// A pod's step has ended well: makes the pods of the steps for which everything that they need is done.
    pub(super) fn follow(&mut self, ctx: &mut Ctx<'_>, pod: &Pod) {
        let Some(owner) = pod.meta.controller().filter(|_| self.is_assumed).cloned() else { return };
        let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        let Some(raw) = retry::raw(ctx.view(), &key) else { return };
        let spec = retry::spec_of(ctx.view(), &raw);
        let steps = steps_of(&raw, &spec);
        let begun = self.begun(ctx, &raw, &owner.uid);
        let has_begun = |name: &str| begun.iter().any(|(step, _)| step == name);
        // One that has begun is done when nothing of it is open.
        let is_done =
            |name: &str| has_begun(name) && begun.iter().all(|(step, is_open)| step != name || !is_open);
        let next = steps
            .iter()
            .filter(|step| !has_begun(&step.name) && step.needs.iter().all(|needed| is_done(needed)));
        for step in next {
            let Some(template) = retry::template_named(&raw, &step.template) else { continue };
            for number in 0..step.copies {
                let Some(made) = pod_of(pod, &spec, template, step, number) else { break };
                self.started.insert((owner.uid.clone(), step.name.clone()));
                let draw = ctx.draws.draw(made.meta.name.as_str(), Purpose::Operator, 0);
                let after: Span = draw.between(operators::REACTION.0, operators::REACTION.1);
                let attempt = Attempt { retries: 0, first: None };
                self.later(ctx, after, Task::Make { owner: owner.uid.clone(), pod: Box::new(made), attempt });
            }
        }
    }

    /// Steps that have begun, and whether something of each is not well ended: in the Workflow's status, on the cluster, or about to be made.
    fn begun(&self, ctx: &Ctx<'_>, raw: &Value, owner: &Uid) -> Vec<(String, bool)> {
        let pods = ctx.view().pods_of(owner).iter().map(|ix| &ctx.view().pods[*ix]);
        let of_pods: Vec<(String, Option<String>, bool)> = pods
            .filter_map(|pod| {
                let is_open = pod.meta.labels.value(COMPLETED) != Some("true");
                let id = pod.meta.annotations.value(NODE_ID).map(str::to_owned);
                Some((step_of(raw, pod)?, id, is_open))
            })
            .collect();
        let nodes = raw.pointer("/status/nodes").and_then(Value::as_object).into_iter().flatten();
        let of_status = nodes.filter(|(_, node)| node["type"] == "Pod").filter_map(|(id, node)| {
            // Of one whose pod is there, or was, the cluster knows more than the snapshot's status.
            let is_known = of_pods.iter().any(|(_, known, _)| known.as_ref() == Some(id))
                || self.ended.contains(id.as_str());
            let is_open =
                !is_known && !matches!(node["phase"].as_str(), Some("Succeeded" | "Skipped" | "Omitted"));
            Some((base(node["displayName"].as_str()?), is_open))
        });
        let making = self.tasks.values().filter_map(|task| match task {
            Task::Make { owner: of, pod, .. } if of == owner => Some((step_of(raw, pod)?, true)),
            Task::Make { .. } | Task::Collect { .. } => None,
        });
        let failed = self.failed.iter().filter(|(of, _)| of == owner).map(|(_, step)| (step.clone(), true));
        let started =
            self.started.iter().filter(|(of, _)| of == owner).map(|(_, step)| (step.clone(), false));
        let of_pods = of_pods.iter().map(|(step, _, is_open)| (step.clone(), *is_open));
        of_pods.chain(of_status).chain(making).chain(failed).chain(started).collect()
    }

    /// Notes what became of a pod that will not be there any more: the status that the snapshot has of it is out of date.
    pub(super) fn note_end(&mut self, pod: &Pod) {
        if let Some(id) = pod.meta.annotations.value(NODE_ID) {
            self.ended.insert(id.to_owned());
        }
    }

    /// Notes a step that is not run again: nothing that needs it follows.
    pub(super) fn note_failure(&mut self, ctx: &Ctx<'_>, pod: &Pod) {
        let Some(owner) = pod.meta.controller() else { return };
        let key = Key { namespace: pod.meta.namespace.clone(), name: owner.name.clone() };
        let step = retry::raw(ctx.view(), &key).and_then(|raw| step_of(&raw, pod));
        if let Some(step) = step {
            self.failed.insert((owner.uid.clone(), step));
        }
    }
}

/// The step of a pod: as its node is displayed, else as its node's name ends.
fn step_of(raw: &Value, pod: &Pod) -> Option<String> {
    let id = pod.meta.annotations.value(NODE_ID).unwrap_or(pod.meta.name.as_str());
    let displayed =
        raw.pointer("/status/nodes").and_then(|nodes| nodes.get(id)?.get("displayName")?.as_str());
    let named = || pod.meta.annotations.value(NODE_NAME)?.rsplit('.').next();
    displayed.or_else(named).map(base)
}

/// `transform(3:3)` is one of `transform`.
fn base(name: &str) -> String {
    name.split('(').next().unwrap_or(name).to_owned()
}

fn steps_of(raw: &Value, spec: &Value) -> Vec<Step> {
    let entry =
        spec["entrypoint"].as_str().and_then(|name| retry::template_named(raw, name)).unwrap_or(&Value::Null);
    let name = |value: &Value| value["name"].as_str().map(str::to_owned);
    let step = |value: &Value, needs: Vec<String>| {
        Some(Step {
            name: name(value)?,
            template: value["template"].as_str()?.to_owned(),
            needs,
            copies: copies(value),
        })
    };
    if let Some(tasks) = entry.pointer("/dag/tasks").and_then(Value::as_array) {
        return tasks.iter().filter_map(|task| step(task, needs(task))).collect();
    }
    let groups = entry["steps"].as_array().map_or(&[][..], Vec::as_slice);
    let of = |group: &Value| -> Vec<Value> {
        // A group is a list; a lone step may stand for itself.
        group.as_array().cloned().unwrap_or_else(|| vec![group.clone()])
    };
    let mut before = Vec::new();
    let mut steps = Vec::new();
    for group in groups {
        let group = of(group);
        steps.extend(group.iter().filter_map(|value| step(value, before.clone())));
        before = group.iter().filter_map(name).collect();
    }
    steps
}

/// What a task needs: the names in `dependencies`, or those in `depends`, whatever result of theirs it asks for.
fn needs(task: &Value) -> Vec<String> {
    if let Some(listed) = task["dependencies"].as_array() {
        return listed.iter().filter_map(|name| Some(name.as_str()?.to_owned())).collect();
    }
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let words = task["depends"].as_str().unwrap_or_default().split(|c| !is_name(c));
    words
        .filter(|word| !word.is_empty())
        .map(|word| word.split('.').next().unwrap_or(word).to_owned())
        .collect()
}

fn copies(step: &Value) -> u64 {
    let count = &step["withSequence"]["count"];
    let count = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    let items = step["withItems"].as_array().and_then(|items| u64::try_from(items.len()).ok());
    count.or(items).unwrap_or(1).min(COPIES_MAX)
}

/// The pod of a step, made from its template; `None` where the template runs none, or is not to be read.
fn pod_of(sibling: &Pod, spec: &Value, template: &Value, step: &Step, number: u64) -> Option<Pod> {
    let container = template.get("container").or_else(|| template.get("script"))?;
    let owner = sibling.meta.controller()?;
    let of = |key: &str| template.get(key).filter(|own| !own.is_null()).or_else(|| spec.get(key));
    let node = format!("{}.{}({number})", owner.name, step.name);
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "step", "namespace": sibling.meta.namespace.as_str(),
            "labels": {WORKFLOW: owner.name.as_str(), COMPLETED: "false"},
            "annotations": {NODE_NAME: node}},
        "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": container["image"], "resources": container["resources"]}]}});
    for key in ["nodeSelector", "affinity", "tolerations", "serviceAccountName", "priorityClassName"] {
        if let Some(value) = of(key) {
            pod["spec"][key] = value.clone();
        }
    }
    let Ok(Object::Pod(pod)) = Object::from_json(pod) else { return None };
    let mut pod = Pod::clone(&pod);
    pod.meta.name = super::lost::name_of(&format!("{}-{}", owner.name, step.template), &node);
    pod.meta.owner_references = sibling.meta.owner_references.clone();
    Some(pod)
}
