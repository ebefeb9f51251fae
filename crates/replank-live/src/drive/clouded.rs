//! Carries out what belongs to a cloud: what has to be proved is read from the API server first, the rest is the cloud's.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::cloud::{InstanceState, instance_of};
use replank_model::object::node::Node;
use replank_model::object::pod::Pod;
use replank_model::text::{InstanceId, NodeName, RunId, Text};
use replank_protocol::command::{
    Command, Effect, Expected, GroupEffect, KubernetesEffect, NodeTarget, PodTarget, QueueEffect,
};
use replank_protocol::outcome::{Answer, Refusal};
use replank_protocol::proof::{self, mismatch};
use serde_json::Value;

use super::line::Line;
use crate::cloud::{Cloud, Order};
use crate::connect::Call;

/// Of a page of pods, and of nodes.
const PAGE: usize = 500;

/// Carries an effect on a group out.
pub(super) async fn carry(line: &Line, cloud: &dyn Cloud, command: &Command) -> Answer {
    let Effect::Group(effect) = &command.effect else {
        return failed(500, "it is no effect on a group".to_owned());
    };
    if let Err(refusal) = prove(line, effect).await {
        return Answer::Refused(refusal);
    }
    let may_send = || line.may_write() && line.clock.now() <= command.deadline;
    cloud.act(effect, Order { key: &command.key, may_send: &may_send, deadline: command.deadline }).await
}

/// Whether an instance is terminated: the only proof that the containers of its pods are.
pub(super) async fn is_terminated(cloud: &dyn Cloud, command: &Command) -> Result<(), Refusal> {
    let instance = match &command.effect {
        Effect::Kubernetes(KubernetesEffect::ForceDelete { instance, .. }) => instance,
        Effect::Kubernetes(_)
        | Effect::Group(_)
        | Effect::Queue(QueueEffect::HoldMessage { .. } | QueueEffect::DeleteMessage { .. }) => return Ok(()),
    };
    let found = cloud.state(instance).await.map_err(|why| unread(&why))?;
    if found == Some(InstanceState::Terminated) {
        return Ok(());
    }
    let found = found.map_or("not listed", InstanceState::as_str);
    Err(mismatch(format!("instance {instance}"), InstanceState::Terminated.as_str(), found))
}

fn failed(code: u16, message: String) -> Answer {
    Answer::Refused(Refusal::Failed { code, message: Text::from(message) })
}

fn unread(why: &str) -> Refusal {
    Refusal::Failed { code: 503, message: Text::from(format!("what has to be proved cannot be read: {why}")) }
}

/// What an effect expects of nodes, held against what the API server itself has.
async fn prove(line: &Line, effect: &GroupEffect) -> Result<(), Refusal> {
    match effect {
        GroupEffect::Terminate { instance, expected, .. } => prove_one(line, instance, expected).await,
        GroupEffect::CompleteAction { action, expected: Some(expected) } => {
            prove_one(line, &action.instance, expected).await
        }
        GroupEffect::ScaleNodegroupToZero { instances, .. } => {
            for one in instances {
                prove_one(line, &one.instance, &one.expected).await?;
            }
            Ok(())
        }
        GroupEffect::Relieve { instance, node, .. } => {
            let found = node_of(line, &node.name).await?;
            found.map_or(Ok(()), |found| is_of(&found, instance, node))
        }
        GroupEffect::CompleteAction { expected: None, .. }
        | GroupEffect::Heartbeat { .. }
        | GroupEffect::Tag { .. }
        | GroupEffect::Untag { .. }
        | GroupEffect::SetTemplate { .. }
        | GroupEffect::Resize { .. }
        | GroupEffect::SetProcess { .. }
        | GroupEffect::ProtectInstance { .. }
        | GroupEffect::UpdateNodegroupVersion { .. }
        | GroupEffect::UpdateNodegroupConfig { .. } => Ok(()),
    }
}

async fn prove_one(line: &Line, instance: &InstanceId, expected: &Expected) -> Result<(), Refusal> {
    match expected {
        Expected::Drained { node, marked_by, remaining } => {
            drained(line, instance, (node, marked_by, remaining)).await
        }
        Expected::Unregistered => {
            for node in all(line, "/api/v1/nodes?").await? {
                let provider = node["spec"]["providerID"].as_str().unwrap_or_default();
                if instance_of(provider).as_ref() == Some(instance) {
                    let name = node["metadata"]["name"].as_str().unwrap_or_default();
                    return Err(mismatch(format!("instance {instance}"), "no node", name));
                }
            }
            Ok(())
        }
    }
}

async fn drained(
    line: &Line,
    instance: &InstanceId,
    (target, marked_by, remaining): (&NodeTarget, &RunId, &[PodTarget]),
) -> Result<(), Refusal> {
    // The node object is gone, the instance is not: terminating it is what was asked for.
    let Some(node) = node_of(line, &target.name).await? else { return Ok(()) };
    is_of(&node, instance, target)?;
    let mut pods = Vec::new();
    for mut one in all(line, &format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}&", target.name)).await? {
        one["apiVersion"] = "v1".into();
        one["kind"] = "Pod".into();
        let name = format!("{}/{}", one["metadata"]["namespace"], one["metadata"]["name"]).replace('"', "");
        match Object::from_json(one) {
            Ok(Object::Pod(pod)) => pods.push(pod),
            // What cannot be read counts as being there.
            Ok(_) | Err(_) => {
                let found = format!("pod {name}, which cannot be read");
                return Err(mismatch(format!("pods on node {}", target.name), "no other pods", &found));
            }
        }
    }
    proof::drained(&node, pods.iter().map(|pod| -> &Pod { pod }), (target, marked_by, remaining))
}

/// Whether a node is the one that is meant, and its machine the instance.
fn is_of(node: &Node, instance: &InstanceId, target: &NodeTarget) -> Result<(), Refusal> {
    let name = &target.name;
    if node.meta.uid != target.uid {
        return Err(mismatch(format!("uid of node {name}"), target.uid.as_str(), node.meta.uid.as_str()));
    }
    let found = instance_of(&node.spec.provider_id);
    if found.as_ref() == Some(instance) {
        return Ok(());
    }
    let found = found.as_ref().map_or("none", InstanceId::as_str);
    Err(mismatch(format!("instance of node {name}"), instance.as_str(), found))
}

/// A node, as the API server itself has it; `None` where it is gone.
async fn node_of(line: &Line, name: &NodeName) -> Result<Option<Arc<Node>>, Refusal> {
    let heard = line.ask(&Call::get(format!("/api/v1/nodes/{name}")), None).await;
    let heard = heard.map_err(|silence| unread(&silence.words()))?;
    match heard.code {
        200 => {}
        404 => return Ok(None),
        code => return Err(unread(&format!("{code}: {}", heard.message()))),
    }
    let value: Value = serde_json::from_slice(&heard.body).map_err(|error| unread(&error.to_string()))?;
    match Object::from_json(value) {
        Ok(Object::Node(node)) => Ok(Some(node)),
        Ok(_) => Err(unread(&format!("{name} is no node"))),
        Err(error) => Err(unread(&error.to_string())),
    }
}

/// All items of a list, without a `resourceVersion`: it is at least as new as whatever was written before.
async fn all(line: &Line, path: &str) -> Result<Vec<Value>, Refusal> {
    let (mut items, mut token) = (Vec::new(), String::new());
    loop {
        let next = if token.is_empty() { String::new() } else { format!("&continue={token}") };
        let heard = line.ask(&Call::get(format!("{path}limit={PAGE}{next}")), None).await;
        let heard = heard.map_err(|silence| unread(&silence.words()))?;
        if heard.code != 200 {
            return Err(unread(&format!("{}: {}", heard.code, heard.message())));
        }
        let mut page: Value =
            serde_json::from_slice(&heard.body).map_err(|error| unread(&error.to_string()))?;
        match page["items"].take() {
            Value::Array(more) => items.extend(more),
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                return Err(unread("its items are no list"));
            }
        }
        match page["metadata"]["continue"].as_str().filter(|next| !next.is_empty()) {
            Some(next) => next.clone_into(&mut token),
            None => return Ok(items),
        }
    }
}
