//! From JSON to a plan, field by field.

mod care;
mod external;
mod node_groups;
mod scalar;

use replank_model::int_or_string::IntOrString;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::selector::validate::{label_key_problems, label_value_problems};
use replank_model::selector::{LabelSelector, Selector};
use replank_model::text::{GroupName, Text};
use replank_model::time::Span;
use replank_protocol::limits::{PLAN_NAME_MAX, is_taggable};
use serde_json::Value;

use super::error::{PlanError, PlanErrors};
use super::nodes::{VersionBound, VersionPrefix};
use super::read::{At, Errors, Fields, count, items, parsed, text, word};
use super::{
    API_VERSION, BarePods, Base, Batch, Budget, Canary, Chosen, ChosenBy, KIND, LocalStorage, OnDeadline,
    OnFailure, Order, Pace, Plan, Provider, Surge, TaintChange, Target,
};

use crate::images::Which;
use crate::release::ReleaseVersion;

use scalar::{is_zero, nodes_or_percent, positive_span, span, surge};

const RELEASE: &str = "a release such as \"1.36.1-20260610\"";
const VERSION: &str = "a version such as \"1.36\" or \"1.36.2\"";
const BOUND: &str = "a condition on a version, such as \"<1.36\"";
const GROUPS: &str = "a list of node groups, such as [web, batch]";
const HOOKS: &str = "a list of lifecycle hooks, such as [drain]";
const SOAK: Span = Span::from_minutes(10);

pub(super) fn plan(value: &Value) -> Result<Plan, PlanErrors> {
    let mut errors = Errors::default();
    let read = document(value, &mut errors);
    match read {
        Some(plan) if errors.0.is_empty() => Ok(plan),
        Some(_) | None => Err(PlanErrors(errors.0)),
    }
}

fn document(value: &Value, errors: &mut Errors) -> Option<Plan> {
    let mut fields = Fields::of(At { path: "", value }, errors)?;
    let exactly = |wanted: &'static str| {
        move |at: At<'_>, errors: &mut Errors| {
            word(at, &[(wanted, ())], errors);
            Some(())
        }
    };
    fields.require("apiVersion", API_VERSION, errors, exactly(API_VERSION));
    fields.require("kind", KIND, errors, exactly(KIND));
    let name = fields.require("metadata", "an object with a name", errors, |at, errors| {
        let metadata = Fields::of(At { path: at.path, value: at.value }, errors);
        let mut metadata = metadata?;
        // Labels, annotations and the like are a person's own affair.
        let name = metadata.require("name", "the plan's name", errors, name)?;
        let namespace = metadata.read("namespace", errors, |at, errors| text(at, "a namespace", errors));
        Some((name, namespace))
    });
    let plan = fields.require("spec", "an object", errors, spec);
    fields.finish(errors);
    plan.zip(name).map(|(plan, (name, namespace))| Plan {
        name: Text::from(name),
        namespace: namespace.map_or(plan.namespace, Text::from),
        ..plan
    })
}

/// A run is named after its plan, and stands by that name in tags.
fn name(at: At<'_>, errors: &mut Errors) -> Option<String> {
    let name = text(at, "the plan's name", errors)?;
    if name.chars().count() > PLAN_NAME_MAX {
        errors.add(at, &format!("at most {PLAN_NAME_MAX} characters"), None);
        return None;
    }
    if !is_taggable(&name) {
        errors.add(at, "letters, digits, spaces and + - = . _ : / @: AWS takes nothing else in a tag", None);
        return None;
    }
    Some(name)
}

fn spec(at: At<'_>, errors: &mut Errors) -> Option<Plan> {
    let mut fields = Fields::of(at, errors)?;
    let nodes = chosen(&mut fields, errors);
    let target = fields.read("target", errors, |at, errors| target(at, nodes.as_ref(), errors));
    let external = external::provider(&mut fields, errors);
    let is_external = external.is_some();
    let budget = fields.read("budget", errors, |at, errors| budget(at, is_external, errors));
    let order = fields.read("order", errors, |at, errors| {
        let words = [
            ("leastDisruption", Order::LeastDisruption),
            ("oldest", Order::Oldest),
            ("zoneByZone", Order::ZoneByZone),
        ];
        word(at, &words, errors)
    });
    let canary = fields.read("canary", errors, canary);
    let pace = fields.read("pace", errors, pace);
    let batch = fields.read("batch", errors, batch);
    let local_storage = fields.read("localStorage", errors, |at, errors| {
        word(at, &[("allow", LocalStorage::Allow), ("refuse", LocalStorage::Refuse)], errors)
    });
    let bare_pods = fields.read("barePods", errors, |at, errors| {
        word(at, &[("refuse", BarePods::Refuse), ("evict", BarePods::Evict)], errors)
    });
    let lifecycle_hooks = fields.read("lifecycleHooks", errors, |at, errors| {
        items(at, HOOKS, errors, |at, errors| text(at, "the name of a lifecycle hook", errors))
    });
    let care = care::care(&mut fields, errors);
    let node_groups = fields.read("nodeGroups", errors, node_groups::node_groups);
    let on_failure = fields.read("onFailure", errors, |at, errors| {
        word(at, &[("pause", OnFailure::Pause), ("rollback", OnFailure::Rollback)], errors)
    });
    let progress_deadline = fields.read("progressDeadline", errors, positive_span);
    let deadline = fields.read("deadline", errors, positive_span);
    let path_of_deadline = fields.path_of("deadline");
    let path = fields.path_of("");
    fields.finish(errors);
    let budget = budget.unwrap_or_else(|| default_budget(is_external));
    let default = Plan::of_groups("", Vec::new(), Target::default());
    let plan = Plan {
        name: default.name,
        namespace: default.namespace,
        nodes: nodes?,
        target: target.unwrap_or(default.target),
        provider: external.map_or(Provider::Automatic, |said| said.under(&budget)),
        budget,
        order: order.unwrap_or(default.order),
        canary,
        pace: pace.unwrap_or(default.pace),
        batch: batch.unwrap_or(default.batch),
        local_storage: local_storage.unwrap_or(default.local_storage),
        bare_pods: bare_pods.unwrap_or(default.bare_pods),
        lifecycle_hooks: lifecycle_hooks.unwrap_or_default().into_iter().map(Text::from).collect(),
        care,
        on_failure: on_failure.unwrap_or(default.on_failure),
        progress_deadline: progress_deadline.unwrap_or(default.progress_deadline),
        deadline: deadline.unwrap_or(default.deadline),
        node_groups: node_groups.unwrap_or_default(),
    };
    external::refuse(&plan, |field| format!("{path}{field}"), errors);
    let standstill = plan.standstill();
    if errors.0.is_empty() && plan.deadline <= standstill {
        errors.0.push(PlanError {
            path: path_of_deadline,
            found: if deadline.is_some() {
                plan.deadline.to_string()
            } else {
                format!("the default {}", plan.deadline)
            },
            expected: format!(
                "more than {standstill}, for which new nodes are watched and old ones retained"
            ),
            remedy: Some("set a later deadline, or shorten canary.soak, bake or retain.for".to_owned()),
        });
    }
    Some(plan)
}

fn chosen(fields: &mut Fields<'_>, errors: &mut Errors) -> Option<Chosen> {
    let groups = fields.read("groups", errors, |at, errors| {
        let group = |at: At<'_>, errors: &mut Errors| text(at, "the name of a node group", errors);
        items(at, GROUPS, errors, group)
    });
    let selector = fields.read("selector", errors, selector);
    let kubelet_version =
        fields.read("kubeletVersion", errors, |at, errors| parsed::<VersionBound>(at, BOUND, errors));
    let [has_groups, has_selector] = ["groups", "selector"].map(|name| fields.get(name).is_some());
    let by = match (has_groups, has_selector) {
        (true, true) => {
            errors.0.push(PlanError {
                path: fields.path_of("selector"),
                found: "a selector together with groups".to_owned(),
                expected: "groups or a selector".to_owned(),
                remedy: Some("remove one of them".to_owned()),
            });
            return None;
        }
        (true, false) => {
            let mut groups: Vec<GroupName> = groups?.into_iter().map(GroupName::from).collect();
            groups.sort();
            groups.dedup();
            ChosenBy::Groups(groups)
        }
        (false, true) => ChosenBy::Selector(selector?),
        (false, false) if fields.get("kubeletVersion").is_some() => {
            ChosenBy::Selector(Selector::everything())
        }
        (false, false) => {
            errors.0.push(PlanError {
                path: fields.path_of("groups"),
                found: "nothing".to_owned(),
                expected: "groups, selector or kubeletVersion: which nodes are to be replaced".to_owned(),
                remedy: Some("name the node groups: groups: [web]".to_owned()),
            });
            return None;
        }
    };
    Some(Chosen { by, kubelet_version, launched_after: None })
}

fn target(at: At<'_>, nodes: Option<&Chosen>, errors: &mut Errors) -> Option<Target> {
    let mut fields = Fields::of(at, errors)?;
    let target = Target {
        further: Vec::new(),
        group: fields.read("group", errors, |at, errors| landing(at, nodes, errors)),
        kubernetes_version: fields
            .read("kubernetesVersion", errors, |at, errors| parsed::<VersionPrefix>(at, VERSION, errors)),
        image: fields
            .read("image", errors, |at, errors| text(at, "an image such as \"ami-0def\"", errors))
            .map(Text::from),
        release_version: fields
            .read("releaseVersion", errors, |at, errors| parsed::<ReleaseVersion>(at, RELEASE, errors)),
        bad_releases: fields
            .read("badReleases", errors, |at, errors| {
                items(at, "a list of releases, such as [\"1.36.1-20260610\", v20260714]", errors, bad_release)
            })
            .unwrap_or_default(),
        labels: fields.read("labels", errors, labels).unwrap_or_default(),
        taints: fields
            .read("taints", errors, |at, errors| {
                items(at, "a list of taints, such as [\"dedicated=web:NoSchedule\"]", errors, taint)
            })
            .unwrap_or_default(),
        base: Base::Current,
    };
    let path = fields.path_of("");
    fields.finish(errors);
    release(&target, |field| format!("{path}{field}"), errors);
    Some(target)
}

/// A release, or the day of one for all minor versions, as lists of bad images have them.
fn bad_release(at: At<'_>, errors: &mut Errors) -> Option<Which> {
    const BAD: &str = "a release such as \"1.36.1-20260610\", or the day of one such as v20260610";
    match parsed::<Which>(at, BAD, errors)? {
        Which::Image(_) => {
            let remedy = "replank check --bad-images looks for images by their ids";
            errors.add(at, BAD, Some(remedy.to_owned()));
            None
        }
        which @ (Which::Release(_) | Which::Day(_)) => Some(which),
    }
}

/// What goes together with a release, and which one must not be used.
fn release(target: &Target, path_of: impl Fn(&str) -> String, errors: &mut Errors) {
    let mut refuse = |field: &str, found: String, expected: String, remedy: &str| {
        let remedy = Some(remedy.to_owned());
        errors.0.push(PlanError { path: path_of(field), found, expected, remedy });
    };
    let Some(release) = &target.release_version else {
        let is_open = !target.bad_releases.is_empty() && target.image.is_none();
        if let Some(version) = target.kubernetes_version.as_ref().filter(|_| is_open) {
            refuse(
                "badReleases",
                format!("a list together with kubernetesVersion {version} and without releaseVersion"),
                "releaseVersion: which release is the newest, only EKS knows when it is asked".to_owned(),
                "name the release: releaseVersion: \"1.36.1-20260610\"",
            );
        }
        return;
    };
    if let Some(image) = &target.image {
        let found = format!("{release} together with image {image}");
        refuse(
            "releaseVersion",
            found,
            "one of them: a release is an image".to_owned(),
            "remove one of them",
        );
    }
    if let Some(version) = &target.kubernetes_version
        && !version.matches(&release.kubelet_version())
    {
        refuse(
            "releaseVersion",
            format!("{release} together with kubernetesVersion {version}"),
            format!("a release of {version}"),
            "name a release of this version, or remove kubernetesVersion: a release has its own",
        );
    }
    if target.is_bad(release) {
        let found = format!("{release}, which is on badReleases");
        refuse("releaseVersion", found, "a release that is not on it".to_owned(), "name another release");
    }
}

/// The group to move into: another one than those that are left.
fn landing(at: At<'_>, nodes: Option<&Chosen>, errors: &mut Errors) -> Option<GroupName> {
    const ANOTHER: &str = "a group other than those whose nodes are replaced";
    let name = GroupName::from(text(at, "the name of a node group", errors)?);
    match nodes.map(|nodes| &nodes.by) {
        Some(ChosenBy::Groups(groups)) if groups.contains(&name) => {
            let remedy = "remove it: without it, nodes are replaced within their group";
            errors.add(at, ANOTHER, Some(remedy.to_owned()));
            None
        }
        Some(ChosenBy::Selector(_)) => {
            // A selector would go on choosing, among the nodes of the target group too, while the nodes move.
            let remedy =
                "name the groups: spec.groups instead of spec.selector; kubeletVersion may narrow them";
            errors.add(at, "no group together with a selector", Some(remedy.to_owned()));
            None
        }
        Some(ChosenBy::Groups(_)) | None => Some(name),
    }
}

/// A map of labels; null takes a label away.
fn labels(at: At<'_>, errors: &mut Errors) -> Option<Vec<(Text, Option<Text>)>> {
    let Value::Object(members) = at.value else {
        errors.add(at, "a map of labels, such as {tier: web, old: null}", None);
        return None;
    };
    let mut labels = Vec::new();
    for (key, value) in members {
        let path = format!("{}.{key}", at.path);
        let at = At { path: &path, value };
        if let Some(problem) = label_key_problems(key).first() {
            errors.add(at, "a label's key", Some(problem.clone()));
        }
        let value = if value.is_null() {
            None
        } else {
            let Some(value) = text_or_empty(at, errors) else { continue };
            if let Some(problem) = label_value_problems(&value).first() {
                errors.add(at, "a label's value", Some(problem.clone()));
            }
            Some(Text::from(value))
        };
        labels.push((Text::from(key.as_str()), value));
    }
    labels.sort();
    Some(labels)
}

fn text_or_empty(at: At<'_>, errors: &mut Errors) -> Option<String> {
    if at.value.as_str() == Some("") {
        return Some(String::new());
    }
    text(at, "a label's value, or null to remove the label", errors)
}

/// A taint as `kubectl taint` takes it: `key=value:Effect`, `key:Effect`, `key:Effect-`.
fn taint(at: At<'_>, errors: &mut Errors) -> Option<TaintChange> {
    const TAINT: &str =
        "a taint such as \"dedicated=web:NoSchedule\", or \"dedicated:NoSchedule-\" to remove it";
    let text = text(at, TAINT, errors)?;
    let (body, is_removal) = match text.strip_suffix('-') {
        Some(body) => (body, true),
        None => (text.as_str(), false),
    };
    let parts = body.rsplit_once(':').map(|(head, effect)| {
        let (key, value) = head.split_once('=').unwrap_or((head, ""));
        (key, value, effect)
    });
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute];
    let taint = parts.and_then(|(key, value, effect)| {
        let effect = effects.into_iter().find(|known| known.as_str() == effect)?;
        let is_valid = label_key_problems(key).is_empty() && label_value_problems(value).is_empty();
        is_valid.then(|| Taint { value: Text::from(value), ..Taint::new(key, effect) })
    });
    match taint {
        Some(taint) if is_removal => Some(TaintChange::Remove(taint)),
        Some(taint) => Some(TaintChange::Set(taint)),
        None => {
            errors.add(at, TAINT, None);
            None
        }
    }
}

/// Where somebody else replaces nodes, one may be missing until they have.
fn default_budget(is_external: bool) -> Budget {
    let (surge, max_unavailable) = match is_external {
        true => (Surge::from(0), IntOrString::Int(1)),
        false => (Surge::PerZone, IntOrString::Int(0)),
    };
    Budget { surge, max_unavailable, min_ready_per_zone: 0 }
}

fn budget(at: At<'_>, is_external: bool, errors: &mut Errors) -> Option<Budget> {
    let mut fields = Fields::of(at, errors)?;
    let surge = fields.read("surge", errors, surge);
    let max_unavailable = fields.read("maxUnavailable", errors, nodes_or_percent);
    let min_ready = fields.read("minReadyPerZone", errors, |at, errors| count(at, 0, errors));
    let default = default_budget(is_external);
    let budget = Budget {
        surge: surge.unwrap_or(default.surge),
        max_unavailable: max_unavailable.unwrap_or(default.max_unavailable),
        min_ready_per_zone: min_ready.unwrap_or(0),
    };
    if !is_external && budget.is_nothing() {
        errors.0.push(PlanError {
            path: fields.path_of("surge"),
            found: "0 together with a maxUnavailable of 0".to_owned(),
            expected: "at least one of them above 0: with both 0 no node could be replaced".to_owned(),
            remedy: Some("set surge: perZone".to_owned()),
        });
    }
    fields.finish(errors);
    Some(budget)
}

fn canary(at: At<'_>, errors: &mut Errors) -> Option<Canary> {
    let mut fields = Fields::of(at, errors)?;
    let nodes = fields.read("nodes", errors, |at, errors| {
        let nodes = nodes_or_percent(at, errors)?;
        if is_zero(&nodes) {
            errors.add(at, "1 or more: to run without a canary, omit canary", None);
        }
        Some(nodes)
    });
    let soak = fields.read("soak", errors, span);
    fields.finish(errors);
    Some(Canary { nodes: nodes.unwrap_or(IntOrString::Int(1)), soak: soak.unwrap_or(SOAK) })
}

fn pace(at: At<'_>, errors: &mut Errors) -> Option<Pace> {
    let mut fields = Fields::of(at, errors)?;
    let between_nodes = fields.read("betweenNodes", errors, span);
    let parallel = fields.read("parallel", errors, |at, errors| count(at, 1, errors));
    fields.finish(errors);
    Some(Pace { between_nodes: between_nodes.unwrap_or(Span::ZERO), parallel: parallel.unwrap_or(1) })
}

fn batch(at: At<'_>, errors: &mut Errors) -> Option<Batch> {
    let mut fields = Fields::of(at, errors)?;
    let selector = fields.read("selector", errors, selector);
    let wait = fields.read("wait", errors, span);
    let on_deadline = fields.read("onDeadline", errors, |at, errors| {
        let words = [("pause", OnDeadline::Pause), ("evict", OnDeadline::Evict), ("skip", OnDeadline::Skip)];
        word(at, &words, errors)
    });
    fields.finish(errors);
    let default = Plan::of_groups("", Vec::new(), Target::default()).batch;
    Some(Batch {
        selector,
        wait: wait.unwrap_or(default.wait),
        on_deadline: on_deadline.unwrap_or(default.on_deadline),
    })
}

fn selector(at: At<'_>, errors: &mut Errors) -> Option<Selector> {
    let mut fields = Fields::of(at, errors)?;
    let members = [fields.get("matchLabels"), fields.get("matchExpressions")];
    if members.iter().all(Option::is_none) {
        errors.add(at, "matchLabels or matchExpressions", None);
    }
    fields.finish(errors);
    let selector = match serde_json::from_value::<LabelSelector>(at.value.clone()) {
        Ok(selector) => selector,
        Err(error) => {
            errors.add(at, "a label selector", Some(error.to_string()));
            return None;
        }
    };
    let problems = selector.validate(at.path);
    for problem in &problems {
        errors.add(at, "a label selector", Some(problem.to_string()));
    }
    if problems.is_empty() { selector.compile().ok() } else { None }
}
