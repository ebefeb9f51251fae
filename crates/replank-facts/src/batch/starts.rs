//! When CronJobs and CronWorkflows begin their next runs, and on which nodes these may land (pkg/controller/cronjob;
//! argo-workflows `workflow/cron/operator.go`, docs/cron-workflows).

use std::fmt;
use std::sync::Arc;

use replank_model::cron::{self, Schedule};
use replank_model::object::Object;
use replank_model::object::batch::{ConcurrencyPolicy, CronJob};
use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::node::Node;
use replank_model::object::pod::PodSpec;
use replank_model::text::Namespace;
use replank_model::time::{Span, Time};
use replank_model::view::View;
use serde_json::{Value, json};

use super::past::{self, Past};
use super::retry::number;
use super::templates;
use crate::finding::ObjectName;
use crate::workload::Workload;
use replank_schedule::predicate::{spec_matches, untolerated_taint};

/// What begins a run at the times of a schedule.
#[derive(Clone, Debug)]
pub struct Series {
    /// The CronJob or CronWorkflow.
    pub workload: Workload,
    /// Its schedules as they are written, with the zone.
    pub written: String,
    /// Its schedules.
    pub schedules: Vec<Schedule>,
    /// The last start that is known, or its creation: `@every` counts from it.
    pub anchor: Option<Time>,
    /// What it does while the last run is still going.
    pub overlap: ConcurrencyPolicy,
    /// How late a run may begin; `None`: however late.
    pub late: Option<Span>,
    /// Whether it is suspended.
    pub is_held: bool,
    /// How long its runs have taken.
    pub past: Option<Past>,
    /// The longest that a run may take.
    pub limit: Option<Span>,
    /// What its pods ask of a node.
    pub pods: Vec<Arc<PodSpec>>,
}

/// A schedule that cannot be read, so that nothing begins.
#[derive(Clone, Debug)]
pub struct Unread {
    /// Whose it is.
    pub workload: Workload,
    /// What is wrong with it.
    pub error: String,
}

impl Series {
    /// The first start after a moment; `None` while it is suspended, and where there is none within five years.
    #[must_use]
    pub fn next(&self, after: Time) -> Option<Time> {
        if self.is_held {
            return None;
        }
        let anchor = self.anchor.unwrap_or(after);
        self.schedules.iter().filter_map(|schedule| schedule.next_from(anchor, after)).min()
    }

    /// All starts after a moment, up to another.
    pub fn between(&self, from: Time, until: Time) -> impl Iterator<Item = Time> + '_ {
        std::iter::successors(self.next(from), |at| self.next(*at)).take_while(move |at| *at <= until)
    }

    /// Whether a pod of a run may land on a node, as far as selectors, affinity and taints say; a cordon does not count.
    #[must_use]
    pub fn may_land_on(&self, node: &Node) -> bool {
        self.pods.iter().any(|spec| {
            spec_matches(spec, None, node)
                && untolerated_taint(&spec.tolerations, &node.spec.taints, false)
                    .is_none_or(|taint| &*taint.key == "node.kubernetes.io/unschedulable")
        })
    }

    /// How long a run is expected to take: half of the earlier ones took no longer.
    #[must_use]
    pub fn typical(&self) -> Option<Span> {
        self.past.map(|past| past.typical)
    }
}

impl fmt::Display for Series {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.workload, self.written)
    }
}

/// Everything that begins runs by itself, sorted; what cannot be read apart.
#[must_use]
pub fn all(view: &View) -> (Vec<Series>, Vec<Unread>) {
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    let jobs = view.cron_jobs.sorted().into_iter().map(|(_, cron)| of_cron_job(view, cron));
    let custom =
        view.others().filter(|other| &*other.kind == "CronWorkflow" && other.group() == "argoproj.io");
    for series in jobs.chain(custom.map(|other| of_cron_workflow(view, other))) {
        match series {
            Ok(series) => read.push(series),
            Err(error) => unread.push(error),
        }
    }
    read.sort_by(|a, b| a.workload.cmp(&b.workload));
    (read, unread)
}

fn workload(kind: &str, key: Key) -> Workload {
    let ObjectName { kind, key } = ObjectName::new(kind, key);
    Workload { kind, key }
}

fn of_cron_job(view: &View, cron: &CronJob) -> Result<Series, Unread> {
    let workload = workload("CronJob", cron.meta.key());
    let schedule = cron.schedule().map_err(|error| Unread { workload: workload.clone(), error })?;
    let spec = &cron.spec;
    Ok(Series {
        written: written(&[&spec.schedule], spec.time_zone.as_deref()),
        schedules: vec![schedule],
        anchor: cron.status.last_schedule_time.or(cron.meta.creation_timestamp),
        overlap: spec.concurrency_policy.unwrap_or(ConcurrencyPolicy::Allow),
        late: spec.starting_deadline_seconds.map(Span::from_secs),
        is_held: spec.suspend == Some(true),
        past: past::of(view, &workload),
        limit: spec.job_template.spec.active_deadline_seconds.map(Span::from_secs),
        pods: vec![spec.job_template.spec.template.spec.clone()],
        workload,
    })
}

/// The series of a CronWorkflow.
///
/// # Errors
/// Where its zone or one of its schedules cannot be read.
pub fn of_cron_workflow(view: &View, other: &Other) -> Result<Series, Unread> {
    let workload = workload("CronWorkflow", other.meta.key());
    let unread = |error: String| Unread { workload: workload.clone(), error };
    let raw: Option<Value> = other.meta.raw.0.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    let spec = raw.as_ref().map_or(&Value::Null, |raw| &raw["spec"]);
    let zone_name = spec["timezone"].as_str().filter(|name| !name.is_empty());
    let zone = cron::zone(zone_name.unwrap_or_default()).map_err(unread)?;
    let listed = spec["schedules"].as_array().into_iter().flatten();
    let texts: Vec<&str> = listed.chain(spec.get("schedule")).filter_map(Value::as_str).collect();
    if texts.is_empty() {
        return Err(unread("it has no schedule".to_owned()));
    }
    let schedules: Result<Vec<Schedule>, String> =
        texts.iter().map(|text| Schedule::parse(text, &zone)).collect();
    let overlap = match spec["concurrencyPolicy"].as_str() {
        Some("Forbid") => ConcurrencyPolicy::Forbid,
        Some("Replace") => ConcurrencyPolicy::Replace,
        Some(_) | None => ConcurrencyPolicy::Allow,
    };
    let made = templates::in_force(view, &other.meta.namespace, &spec["workflowSpec"]);
    Ok(Series {
        written: written(&texts, zone_name),
        schedules: schedules.map_err(unread)?,
        anchor: raw.as_ref().and_then(|raw| raw["status"]["lastScheduledTime"].as_str()?.parse().ok()),
        overlap,
        late: Some(Span::from_secs(spec["startingDeadlineSeconds"].as_i64().unwrap_or(0))),
        is_held: spec["suspend"] == true,
        past: past::of(view, &workload),
        limit: made.get("activeDeadlineSeconds").and_then(number).map(Span::from_secs),
        pods: pods_of(view, &other.meta.namespace, &made),
        workload,
    })
}

fn written(schedules: &[&str], zone: Option<&str>) -> String {
    let zone = zone.map_or(String::new(), |zone| format!(" {zone}"));
    format!("{}{zone}", schedules.join(" | "))
}

/// What the steps and tasks of a spec name of other WorkflowTemplates.
fn references(spec: &Value) -> impl Iterator<Item = &Value> {
    let templates = spec["templates"].as_array().into_iter().flatten();
    let callers = templates.flat_map(|template| {
        let tasks = template.pointer("/dag/tasks").and_then(Value::as_array).into_iter().flatten();
        let groups = template["steps"].as_array().into_iter().flatten();
        // A group is a list; a lone step may stand for itself.
        let steps =
            groups.flat_map(|group| group.as_array().map_or(std::slice::from_ref(group), Vec::as_slice));
        tasks.chain(steps)
    });
    callers.filter_map(|caller| caller.get("templateRef"))
}

/// What the pods of a Workflow's templates ask of a node: a template's own selector, affinity and tolerations, else the Workflow's. Of
/// templates that are not known it is the Workflow's alone: nothing is told of a series that is thought to land nowhere.
fn pods_of(view: &View, namespace: &Namespace, spec: &Value) -> Vec<Arc<PodSpec>> {
    const RUNS_A_POD: [&str; 6] = ["container", "script", "containerSet", "resource", "data", "plugin"];
    let of_others = references(spec).filter_map(|named| templates::referred(view, namespace, named));
    let of_others: Vec<Value> = of_others.collect();
    let templates = spec["templates"].as_array().into_iter().flatten().chain(&of_others);
    let with_pod = templates.filter(|template| RUNS_A_POD.iter().any(|kind| template.get(*kind).is_some()));
    let unknown = spec["templates"].is_null().then_some(&Value::Null);
    with_pod
        .chain(unknown)
        .filter_map(|template| {
            let of = |key: &str| template.get(key).filter(|own| !own.is_null()).or_else(|| spec.get(key));
            let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "step", "namespace": "default"},
                "spec": {"containers": []}});
            for key in ["nodeSelector", "affinity", "tolerations"] {
                if let Some(value) = of(key) {
                    pod["spec"][key] = value.clone();
                }
            }
            match Object::from_json(pod) {
                Ok(Object::Pod(pod)) => Some(pod.spec.clone()),
                _ => None,
            }
        })
        .collect()
}
