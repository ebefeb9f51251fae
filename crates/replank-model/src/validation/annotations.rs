//! Annotations that say something of a pod (`ValidatePodSpecificAnnotations`), and fields that have replaced them.
//!
//! Not looked at is `scheduler.alpha.kubernetes.io/tolerations`, which nothing has read since 1.6.

use super::containers;
use super::error::{Causes, Shown};
use super::field::Field;
use super::mounts;
use crate::go::{Quoted, parse_int};

const MIRROR: &str = "kubernetes.io/config.mirror";
const DELETION_COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const SECCOMP_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";
const APP_ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// What is wrong with them by themselves.
pub(super) fn of_pod(annotations: &Field<'_>, spec: &Field<'_>, causes: &mut Causes) {
    let key = |name: &str| format!("{}[{name}]", annotations.path);
    let mirror = annotations.child(MIRROR);
    if mirror.is_set() && spec.child("nodeName").is_empty() {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        causes.invalid(key(MIRROR), Shown::text(mirror.text()), why);
    }
    let cost = annotations.child(DELETION_COST);
    if cost.is_set() && !is_cost(cost.text()) {
        causes.invalid(key(DELETION_COST), Shown::text(cost.text()), "must be a 32bit integer");
    }
    let seccomp = annotations.child(SECCOMP_POD);
    if seccomp.is_set() {
        seccomp_profile(&seccomp, causes);
    }
    for (name, value) in annotations.members() {
        if name.starts_with(SECCOMP_CONTAINER) {
            seccomp_profile(&value.moved(annotations.at(name)), causes);
        }
    }
    for (name, profile) in annotations.members() {
        let Some(container) = name.strip_prefix(APP_ARMOR) else { continue };
        let mut all = containers::visit(spec).map(|container| container.child("name"));
        if !all.any(|known| known.text() == container) {
            causes.invalid(&profile.path, Shown::text(container), "container not found");
        }
        let text = profile.text();
        if !matches!(text, "" | "runtime/default" | "unconfined") && !text.starts_with("localhost/") {
            let why = format!("invalid AppArmor profile name: {}", Quoted(text));
            causes.invalid(&profile.path, Shown::text(text), why);
        }
    }
}

fn is_cost(text: &str) -> bool {
    let starts = text == "0" || text.starts_with(|first: char| matches!(first, '-' | '1'..='9'));
    starts && parse_int(text.as_bytes()).is_ok_and(|cost| i32::try_from(cost).is_ok())
}

fn seccomp_profile(profile: &Field<'_>, causes: &mut Causes) {
    match profile.text() {
        "runtime/default" | "docker/default" | "unconfined" => {}
        text => match text.strip_prefix("localhost/") {
            Some(rest) => {
                let rest = rest.into();
                mounts::descending(&Field::new(&*profile.path, &rest), causes);
            }
            None => {
                causes.invalid(&profile.path, Shown::text(text), "must be a valid seccomp profile");
            }
        },
    }
}

/// Whether a pod's own annotations are taken over into its fields, as those of a template are not.
#[derive(Clone, Copy)]
pub(super) enum TakenOver {
    Yes,
    No,
}

/// That annotation and field say the same where both are there.
pub(super) fn agree_with_fields(
    annotations: &Field<'_>,
    spec: &Field<'_>,
    taken_over: TakenOver,
    causes: &mut Causes,
) {
    let of_pod = spec.child("securityContext");
    let annotation = |name: &str| annotations.child(name).set();
    if let (Some(profile), Some(annotation)) = (of_pod.child("seccompProfile").set(), annotation(SECCOMP_POD))
    {
        agree(&profile, &profile.path, annotation.text(), Words::SECCOMP, causes);
    }
    for container in containers::visit(spec) {
        let profile = container.child("securityContext").child("seccompProfile").set();
        let name = format!("{SECCOMP_CONTAINER}{}", container.child("name").text());
        if let (Some(profile), Some(annotation)) = (profile, annotation(&name)) {
            agree(&profile, &profile.path, annotation.text(), Words::SECCOMP, causes);
        }
    }
    if spec.child("os").child("name").text() == "windows" {
        return;
    }
    for container in containers::visit(spec) {
        let own = container.child("securityContext").child("appArmorProfile");
        let name = format!("{APP_ARMOR}{}", container.child("name").text());
        let Some(annotation) = annotation(&name) else { continue };
        let profile = match (own.is_set(), taken_over) {
            (true, _) => own.clone(),
            (false, TakenOver::Yes) if is_app_armor(annotation.text()) => continue,
            (false, TakenOver::Yes | TakenOver::No) => of_pod.child("appArmorProfile"),
        };
        if profile.is_set() {
            agree(&profile, &own.path, annotation.text(), Words::APP_ARMOR, causes);
        }
    }
}

/// Whether a profile can be made of an annotation.
fn is_app_armor(text: &str) -> bool {
    let local = text.strip_prefix("localhost/").map(str::trim);
    matches!(text, "unconfined" | "runtime/default") || local.is_some_and(|local| !local.is_empty())
}

/// What an annotation may say for `RuntimeDefault`, and what the thing is called.
#[derive(Clone, Copy)]
struct Words {
    name: &'static str,
    default: &'static [&'static str],
}

impl Words {
    const SECCOMP: Self = Self { name: "seccomp", default: &["runtime/default", "docker/default"] };
    const APP_ARMOR: Self = Self { name: "apparmor", default: &["runtime/default"] };
}

fn agree(profile: &Field<'_>, path: &str, annotation: &str, words: Words, causes: &mut Causes) {
    let Words { name, default } = words;
    let is_type = match profile.child("type").text() {
        "Unconfined" => annotation == "unconfined",
        "RuntimeDefault" => default.contains(&annotation),
        "Localhost" => match annotation.strip_prefix("localhost/") {
            Some(local) => {
                let field = profile.child("localhostProfile");
                if !field.is_set() || field.text() != local {
                    let why = format!("{name} profile in annotation and field must match");
                    causes.forbidden(format!("{path}.localhostProfile"), why);
                }
                true
            }
            None => false,
        },
        _ => true,
    };
    if !is_type {
        causes.forbidden(format!("{path}.type"), format!("{name} type in annotation and field must match"));
    }
}
