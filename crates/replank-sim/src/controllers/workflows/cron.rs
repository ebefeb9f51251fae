//! CronWorkflows: a Workflow at every time of the schedules (argo-workflows `workflow/cron/operator.go`, docs/cron-workflows).
//!
//! A time that comes is kept: the controller is up. `when` and `stopStrategy` are not read.

use std::sync::Arc;

use replank_facts::batch::starts;
use replank_facts::workload::CRON_WORKFLOW;
use replank_model::object::Object;
use replank_model::object::batch::ConcurrencyPolicy;
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::time::Time;
use replank_model::view::View;
use serde_json::{Value, json};

use super::run::Stop;
use super::{GROUP, Id, Task, Workflows, end, pod, write};
use crate::controllers::Ctx;

/// Annotation of a Workflow: the time for which it was made.
const SCHEDULED: &str = "workflows.argoproj.io/scheduled-time";
/// `successfulJobsHistoryLimit` and `failedJobsHistoryLimit` where nothing is said.
const HISTORY: [(&str, &str, usize); 2] =
    [("Succeeded", "successfulJobsHistoryLimit", 3), ("Failed", "failedJobsHistoryLimit", 1)];

impl Workflows {
    /// Puts down the next time of a CronWorkflow that appears or changes.
    pub(super) fn plan(&mut self, ctx: &mut Ctx<'_>, cron: &Other) {
        let next =
            starts::of_cron_workflow(ctx.view(), cron).ok().and_then(|series| series.next(ctx.api.now()));
        let key = cron.meta.key();
        match next {
            Some(at) if self.ticks.get(&key) != Some(&at) => {
                self.ticks.insert(key.clone(), at);
                let cron = Id { key, uid: cron.meta.uid.clone() };
                self.later(ctx, at - ctx.api.now(), Task::Tick { cron, at });
            }
            Some(_) => {}
            None => {
                self.ticks.remove(&key);
            }
        }
    }

    /// A time has come.
    pub(super) fn tick(&mut self, ctx: &mut Ctx<'_>, cron: &Id, at: Time) {
        // Another time was put down meanwhile.
        if self.ticks.get(&cron.key) != Some(&at) || !self.is_assumed {
            return;
        }
        self.ticks.remove(&cron.key);
        let known =
            ctx.view().other(GROUP, "CronWorkflow", &cron.key).filter(|known| known.meta.uid == cron.uid);
        let Some(known) = known.filter(|known| !known.meta.is_terminating()).cloned() else { return };
        let Ok(series) = starts::of_cron_workflow(ctx.view(), &known) else { return };
        let going = going(ctx.view(), &known);
        let begins = match series.overlap {
            ConcurrencyPolicy::Allow => true,
            ConcurrencyPolicy::Forbid => going.is_empty(),
            ConcurrencyPolicy::Replace => {
                for one in &going {
                    self.stop(ctx, one, Stop::Terminated);
                }
                true
            }
        };
        if begins {
            start(ctx, &known, at);
        }
        // What was written just now may have put down the next time already.
        if let Some(known) = ctx.view().other(GROUP, "CronWorkflow", &cron.key).cloned() {
            self.plan(ctx, &known);
        }
    }

    /// A Workflow has ended, or is gone: it is not active any more, and the oldest that have ended go.
    pub(super) fn strike(&mut self, ctx: &mut Ctx<'_>, workflow: &Other) {
        let Some(cron) = cron_of(ctx.view(), workflow).filter(|_| self.is_assumed) else { return };
        write(ctx, "CronWorkflow", &cron.meta.key(), |raw| {
            if let Some(active) = raw.pointer_mut("/status/active").and_then(Value::as_array_mut) {
                active.retain(|one| one["uid"] != workflow.meta.uid.as_str());
            }
        });
        let raw = raw_of(&cron);
        for (phase, member, usual) in HISTORY {
            let limit =
                raw["spec"][member].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usual);
            let mut ended: Vec<(Option<String>, Arc<Other>)> = children(ctx.view(), &cron)
                .filter_map(|child| {
                    let raw = raw_of(child);
                    let is_of = phase_of(&raw) == phase || (phase == "Failed" && phase_of(&raw) == "Error");
                    let finished =
                        raw.pointer("/status/finishedAt").and_then(Value::as_str).map(str::to_owned);
                    (is_of && !child.meta.is_terminating()).then(|| (finished, child.clone()))
                })
                .collect();
            ended.sort_by(|a, b| (&a.0, &a.1.meta.name).cmp(&(&b.0, &b.1.meta.name)));
            let surplus = ended.len().saturating_sub(limit);
            for (_, child) in ended.into_iter().take(surplus) {
                end::delete_known(ctx, child);
            }
        }
    }
}

/// Makes the Workflow of a time (`ConvertCronWorkflowToWorkflow`).
fn start(ctx: &mut Ctx<'_>, cron: &Other, at: Time) {
    let raw = raw_of(cron);
    let name = format!("{}-{}", cron.meta.name, at.as_millis().div_euclid(1_000));
    let own =
        |member: &str| raw.pointer(&format!("/spec/workflowMetadata/{member}")).cloned().unwrap_or(json!({}));
    let (mut labels, mut annotations) = (own("labels"), own("annotations"));
    labels[CRON_WORKFLOW] = cron.meta.name.as_str().into();
    annotations[SCHEDULED] = at.to_string().into();
    let made = Object::from_json(json!({"apiVersion": &*cron.api_version, "kind": "Workflow",
        "metadata": {"name": name, "namespace": cron.meta.namespace.as_str(), "labels": labels, "annotations": annotations},
        "spec": raw.pointer("/spec/workflowSpec")}));
    let Ok(made) = made else { return };
    let owner = pod::reference(cron);
    // The namespace may be on its way out; a name that is taken is that of the same run.
    let Ok(made) = ctx.api.create_object(made.map_meta(|meta| meta.owner_references = vec![owner].into()))
    else {
        return;
    };
    write(ctx, "CronWorkflow", &cron.meta.key(), |raw| {
        let meta = made.meta();
        let reference = json!({"apiVersion": &*cron.api_version, "kind": "Workflow", "namespace": meta.namespace.as_str(),
            "name": meta.name.as_str(), "uid": meta.uid.as_str()});
        raw["status"]["lastScheduledTime"] = at.to_string().into();
        match raw["status"]["active"].as_array_mut() {
            Some(active) => active.push(reference),
            None => raw["status"]["active"] = json!([reference]),
        }
    });
}

/// Runs that have not ended.
fn going(view: &View, cron: &Other) -> Vec<Id> {
    let has_ended = |raw: &Value| matches!(phase_of(raw), "Succeeded" | "Failed" | "Error");
    children(view, cron)
        .filter(|child| !has_ended(&raw_of(child)))
        .map(|child| Id { key: child.meta.key(), uid: child.meta.uid.clone() })
        .collect()
}

fn children<'a>(view: &'a View, cron: &Other) -> impl Iterator<Item = &'a Arc<Other>> {
    let (namespace, name) = (cron.meta.namespace.clone(), cron.meta.name.clone());
    view.others().filter(move |other| {
        &*other.kind == "Workflow"
            && other.group() == GROUP
            && other.meta.namespace == namespace
            && other.meta.labels.value(CRON_WORKFLOW) == Some(name.as_str())
    })
}

fn cron_of(view: &View, workflow: &Other) -> Option<Arc<Other>> {
    let name = workflow.meta.labels.value(CRON_WORKFLOW)?;
    view.other(GROUP, "CronWorkflow", &Key::new(workflow.meta.namespace.clone(), name)).cloned()
}

fn raw_of(other: &Other) -> Value {
    other.meta.raw.0.as_deref().and_then(|raw| serde_json::from_str(raw).ok()).unwrap_or_default()
}

fn phase_of(raw: &Value) -> &str {
    raw.pointer("/status/phase").and_then(Value::as_str).unwrap_or_default()
}

/// A Workflow as a person would name it: by the CronWorkflow that made it, if one did.
pub(super) fn named(view: &View, id: &Id) -> String {
    let workflow = view.other(GROUP, "Workflow", &id.key);
    let cron = workflow.and_then(|workflow| workflow.meta.labels.value(CRON_WORKFLOW));
    match cron {
        Some(cron) => format!("CronWorkflow {}/{cron}", id.key.namespace),
        None => format!("Workflow {}", id.key),
    }
}

#[cfg(test)]
#[path = "cron_tests.rs"]
mod tests;
