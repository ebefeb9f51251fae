//! The plan for a program.

use replank_advice::upgrade::finding::Finding;
use replank_advice::upgrade::plan::{Back, Step, Takes, What};
use replank_advice::upgrade::routes::Route;
use replank_advice::upgrade::survey::{Nodes, Platform};
use replank_lifecycle::calendar::Day;
use replank_model::time::Span;
use serde_json::{Value, json};

use super::{Planned, words};
use crate::failure::Failure;

/// The version of the form of the JSON.
const UPGRADE_VERSION: &str = "replank.dev/upgrade/v1alpha1";

pub(super) fn json(planned: &Planned) -> Result<String, Failure> {
    Ok(serde_json::to_string_pretty(&value(planned)).map_err(Failure::internal)? + "\n")
}

fn value(planned: &Planned) -> Value {
    let plan = &planned.plan;
    let (known, unknown) = plan.takes();
    json!({
        "version": UPGRADE_VERSION,
        "cluster": planned.cluster,
        "coverage": planned.coverage,
        "now": planned.now,
        "from": plan.survey.control_plane.version.to_string(),
        "to": plan.to.to_string(),
        "platform": match plan.survey.platform {
            Platform::Eks => "eks",
            Platform::Other => "other",
        },
        "controlPlaneKnownBy": words::known_by_in_a_word(plan.survey.control_plane.known_by),
        "nodes": plan.survey.nodes.iter().map(nodes).collect::<Vec<_>>(),
        "takesMs": known.as_millis(),
        "stepsOfUnknownTime": unknown,
        "blockedSteps": words::blocked_steps(&plan.steps),
        "routes": plan.routes.iter().map(route).collect::<Vec<_>>(),
        "steps": plan.steps.iter().enumerate().map(|(index, of)| step(index, of, planned)).collect::<Vec<_>>(),
        "controllers": plan.inventory.iter().map(|one| json!({
            "name": one.known.name,
            "workload": format!("{} {}", one.workload.0, one.workload.1),
            "image": one.image,
            "goes": words::goes(one, plan.to),
            "look": one.known.look,
        })).collect::<Vec<_>>(),
        "wayBack": plan.way_back.as_ref().map(|open| json!({
            "to": open.to.to_string(),
            "leftMs": open.left.as_millis(),
            "inTheWay": open.in_the_way.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })),
        "notLookedAt": plan.unknown,
    })
}

fn nodes(nodes: &Nodes) -> Value {
    json!({
        "name": &*nodes.name,
        "provisioner": nodes.provisioner.to_string(),
        "oldest": nodes.oldest.to_string(),
        "newest": nodes.newest.to_string(),
        "nodes": nodes.nodes,
        "pods": nodes.pods,
    })
}

fn route(route: &Route) -> Value {
    json!({
        "way": route.way.word(),
        "rolls": route.rolls.len(),
        "nodes": route.nodes(),
        "pods": route.pods(),
        "takesMs": route.takes.map(Span::as_millis),
    })
}

fn step(index: usize, step: &Step, planned: &Planned) -> Value {
    let mut value = json!({
        "number": index + 1,
        "kind": words::kind(&step.what),
        "title": words::title(&step.what),
        "takesMs": step.takes.span().map(Span::as_millis),
        "takesBy": match step.takes {
            Takes::Rehearsed(_) => "rehearsal",
            Takes::Assumed(_) => "assumption",
            Takes::Unknown => "unknown",
        },
        "command": words::command(&step.what, planned),
        "back": back(&step.back),
        "findings": step.findings.iter().map(|of| finding(of, planned)).collect::<Vec<_>>(),
    });
    match &step.what {
        What::ControlPlane(hop) => {
            value["from"] = json!(hop.from.to_string());
            value["to"] = json!(hop.to.to_string());
            value["support"] = json!(words::support(&planned.calendar, hop.to, Day::of(planned.now)));
        }
        What::Bake { after } => value["after"] = json!(after.to.to_string()),
        What::Roll { group, from, to, nodes, pods } => {
            value["group"] = json!(&**group);
            value["from"] = json!(from.to_string());
            value["to"] = json!(to.to_string());
            value["nodes"] = json!(nodes);
            value["pods"] = json!(pods);
        }
        What::LeftTo { name, provisioner, from, to, nodes } => {
            value["name"] = json!(&**name);
            value["provisioner"] = json!(provisioner.to_string());
            value["from"] = json!(from.to_string());
            value["to"] = json!(to.to_string());
            value["nodes"] = json!(nodes);
        }
        What::KubeProxy { from, to } => {
            value["from"] = json!(from.to_string());
            value["to"] = json!(to.to_string());
        }
        What::Addon { name, from, to } => {
            value["name"] = json!(&**name);
            value["from"] = json!(from.to_string());
            value["versions"] = json!(to.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
    }
    value
}

fn back(back: &Back) -> Value {
    let (kind, within) = match back {
        Back::ControlPlane { within, .. } => ("controlPlane", Some(within.as_millis())),
        Back::Nodes { .. } => ("nodes", None),
        Back::Addon { .. } => ("addon", None),
        Back::Nothing => return Value::Null,
        Back::None { .. } => ("none", None),
    };
    json!({ "kind": kind, "withinMs": within, "words": words::back(back) })
}

fn finding(finding: &Finding, planned: &Planned) -> Value {
    json!({
        "id": finding.rule.id(),
        "severity": finding.severity.as_str(),
        "object": finding.object.to_string(),
        "reason": finding.reason,
        "unseen": planned.coverage.unseen(finding.rule.reads()),
        "remedy": finding.remedy.text(),
    })
}
