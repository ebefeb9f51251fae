//! Who is alerted when a Job or a Workflow fails, as far as the cluster itself says it.
//!
//! A Workflow's exit handler and hooks (argo-workflows docs/walk-through/exit-handlers.md, docs/lifecyclehook.md), alerts of PrometheusRules
//! ([`super::alerts`]), and people whom annotations and labels name (a8r.io: "Annotating Kubernetes Services for Humans", kubernetes.io/blog,
//! 2021-04-20). `app.kubernetes.io/managed-by` names a tool and is none of them.

use std::fmt;

use replank_model::object::meta::{Key, Meta};
use replank_model::view::View;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::alerts::{Alert, Alerts};
use super::retry::Workflow;

/// Annotations and labels that name people, or where they are reached.
const CONTACTS: [&str; 7] =
    ["a8r.io/owner", "a8r.io/chat", "a8r.io/incidents", "a8r.io/support", "owner", "team", "contact"];

/// Somebody, or something, that is alerted to a failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Alerted {
    /// The Workflow's exit handler runs, however it ends.
    ExitHandler {
        /// The template that is run.
        template: String,
    },
    /// A hook of the Workflow runs when it fails.
    Hook {
        /// Its name.
        name: String,
        /// When it runs.
        expression: String,
    },
    /// An alert of a PrometheusRule fires.
    Alert(Alert),
    /// Nobody is alerted by it, but it says whom to ask.
    Contact {
        /// Kind and name of the object that says it.
        object: String,
        /// The annotation or label.
        key: &'static str,
        /// Its value.
        value: String,
    },
}

impl fmt::Display for Alerted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ExitHandler { template } => write!(f, "exit handler {template}"),
            Self::Hook { name, expression } => write!(f, "hook {name} ({expression})"),
            Self::Alert(alert) => alert.fmt(f),
            Self::Contact { object, key, value } => write!(f, "contact {value} ({key} of {object})"),
        }
    }
}

impl Serialize for Alerted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Alerted {
    /// Whether it happens by itself when the work fails.
    fn is_by_itself(&self) -> bool {
        match self {
            Self::ExitHandler { .. } | Self::Hook { .. } | Self::Alert(_) => true,
            Self::Contact { .. } => false,
        }
    }
}

/// All of them in words; where nobody is named, that.
#[must_use]
pub fn in_words(all: &[Alerted]) -> String {
    let told: Vec<String> = all.iter().map(ToString::to_string).collect();
    match (all.is_empty(), all.iter().any(Alerted::is_by_itself)) {
        (true, _) => "nothing in the snapshot says who is alerted".to_owned(),
        (false, true) => format!("who is alerted: {}", told.join("; ")),
        (false, false) => format!("no alert in the snapshot; {}", told.join("; ")),
    }
}

/// Who is alerted to the failure of a Job or a Workflow, by its kind and name; of a Workflow, as it was read. `known` is its metadata where the view has it
/// no longer.
#[must_use]
pub fn of_failed(
    view: &View,
    alerts: &Alerts,
    (kind, key): (&str, &Key),
    read: Option<&Workflow>,
    known: Option<&Meta>,
) -> Vec<Alerted> {
    let mut all: Vec<Alerted> = read.iter().flat_map(|workflow| handlers(workflow.spec())).collect();
    let job = view.jobs.by_key(key).filter(|_| kind == "Job");
    let workflow = view.other("argoproj.io", kind, key).filter(|_| kind == "Workflow");
    all.extend(alerts.of_failed(kind, key).map(Alerted::Alert));
    let own = job.map(|job| &job.meta).or(workflow.map(|workflow| &workflow.meta)).or(known);
    let above = own.and_then(Meta::controller).and_then(|owner| {
        let key = Key { namespace: key.namespace.clone(), name: owner.name.clone() };
        match &*owner.kind {
            "CronJob" => Some(("CronJob", view.cron_jobs.by_key(&key)?.meta.clone())),
            "CronWorkflow" => {
                Some(("CronWorkflow", view.other("argoproj.io", "CronWorkflow", &key)?.meta.clone()))
            }
            _ => None,
        }
    });
    let namespace = view.namespaces.by_key(&Key::cluster(key.namespace.as_str()));
    let own = own.map(|meta| (kind, meta));
    let above = above.as_ref().map(|(kind, meta)| (*kind, meta));
    let namespace = namespace.map(|namespace| ("Namespace", &namespace.meta));
    for (kind, meta) in own.into_iter().chain(above).chain(namespace) {
        for contact in contacts(kind, meta) {
            // What a CronJob hands down to its Jobs is said once.
            let is_new = |known: &Alerted| match (known, &contact) {
                (
                    Alerted::Contact { key: known_key, value: known, .. },
                    Alerted::Contact { key, value, .. },
                ) => (known_key, known) != (key, value),
                (
                    Alerted::ExitHandler { .. }
                    | Alerted::Hook { .. }
                    | Alerted::Alert(_)
                    | Alerted::Contact { .. },
                    _,
                ) => true,
            };
            if all.iter().all(is_new) {
                all.push(contact);
            }
        }
    }
    all
}

/// The exit handler and the hooks of a Workflow's spec in force that run when it fails. A hook named `exit` is an exit handler.
fn handlers(spec: &Value) -> Vec<Alerted> {
    let on_exit = spec["onExit"].as_str().filter(|name| !name.is_empty());
    let mut all: Vec<Alerted> =
        on_exit.iter().map(|name| Alerted::ExitHandler { template: (*name).to_owned() }).collect();
    for (name, hook) in spec["hooks"].as_object().into_iter().flatten() {
        let template = hook["template"].as_str().or_else(|| hook["templateRef"]["template"].as_str());
        match (name.as_str(), hook["expression"].as_str()) {
            ("exit", _) => {
                all.push(Alerted::ExitHandler { template: template.unwrap_or("exit").to_owned() });
            }
            (name, Some(expression)) if runs_on_failure(expression) => {
                all.push(Alerted::Hook { name: name.to_owned(), expression: expression.to_owned() });
            }
            (_, Some(_) | None) => {}
        }
    }
    all
}

/// Whether a hook's expression holds for a Workflow that fails: `workflow.status == "Failed"`, or one of several such. Any other expression is not
/// counted on.
fn runs_on_failure(expression: &str) -> bool {
    expression.split("||").any(|part| {
        let part: String = part.chars().filter(|letter| !letter.is_whitespace()).collect();
        let part = part.trim_matches(['(', ')']).replace('\'', "\"");
        matches!(
            part.as_str(),
            "workflow.status==\"Failed\"" | "workflow.status==\"Error\"" | "workflow.status!=\"Succeeded\""
        )
    })
}

fn contacts<'m>(kind: &'m str, meta: &'m Meta) -> impl Iterator<Item = Alerted> + 'm {
    CONTACTS.into_iter().filter_map(move |key| {
        let value = meta.annotations.value(key).or_else(|| meta.labels.value(key))?;
        let object = match meta.namespace.as_str() {
            "" => format!("{kind} {}", meta.name),
            namespace => format!("{kind} {namespace}/{}", meta.name),
        };
        (!value.is_empty()).then(|| Alerted::Contact { object, key, value: value.to_owned() })
    })
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn told(kind: &str, objects: &[Value]) -> String {
        let put = |value: &Value| Delta::Put(Object::from_json(value.clone()).expect("an object"));
        let view: View = objects.iter().map(put).collect();
        let alerts = Alerts::read(&view);
        let key = Key::new("shop", "pay");
        let workflow = Workflow::read(&view, &key);
        in_words(&of_failed(&view, &alerts, (kind, &key), workflow.as_ref(), None))
    }

    fn job(meta: &Value) -> Value {
        let mut job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pay", "namespace": "shop", "uid": "pay"},
            "spec": {"template": {"spec": {}}}});
        for (key, value) in meta.as_object().expect("an object") {
            job["metadata"][key] = value.clone();
        }
        job
    }

    fn workflow(spec: &Value) -> Value {
        json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "metadata": {"name": "pay", "namespace": "shop", "uid": "w"}, "spec": spec})
    }

    #[test]
    fn people_are_named_by_a_job_its_cron_job_and_their_namespace() {
        let owner = json!([{"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "uid": "c", "controller": true}]);
        let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "nightly", "namespace": "shop", "uid": "c",
            "annotations": {"a8r.io/owner": "@sally", "a8r.io/chat": "#pay"}}, "spec": {"schedule": "@daily"}});
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "n", "labels": {"team": "shop"}}});
        let own = job(&json!({"ownerReferences": owner, "annotations": {"a8r.io/owner": "@sally"}}));
        assert_eq!(
            told("Job", &[own, cron, namespace]),
            "no alert in the snapshot; contact @sally (a8r.io/owner of Job shop/pay); contact #pay (a8r.io/chat of CronJob shop/nightly); contact shop (team of \
             Namespace shop)"
        );
    }

    #[test]
    fn the_tool_that_manages_a_job_hears_of_nothing() {
        let managed = job(
            &json!({"labels": {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/name": "pay"}}),
        );
        assert_eq!(told("Job", &[managed]), "nothing in the snapshot says who is alerted");
    }

    #[test]
    fn an_exit_handler_and_hooks_that_run_when_a_workflow_fails_are_named() {
        let template = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "WorkflowTemplate", "metadata": {"name": "lib", "namespace": "shop", "uid": "t"},
            "spec": {"onExit": "notify"}});
        assert_eq!(
            told("Workflow", &[workflow(&json!({"workflowTemplateRef": {"name": "lib"}})), template]),
            "who is alerted: exit handler notify"
        );
        let hooks = json!({"hooks": {
            "exit": {"template": "mail"},
            "failed": {"expression": "workflow.status == 'Failed' || workflow.status == \"Error\"", "template": "page"},
            "running": {"expression": "workflow.status == \"Running\"", "template": "hello"},
        }});
        assert_eq!(
            told("Workflow", &[workflow(&hooks)]),
            "who is alerted: exit handler mail; hook failed (workflow.status == 'Failed' || workflow.status == \"Error\")"
        );
        let running = json!({"hooks": {"running": {"expression": "workflow.status == \"Running\"", "template": "hello"}}});
        assert_eq!(told("Workflow", &[workflow(&running)]), "nothing in the snapshot says who is alerted");
    }
}
