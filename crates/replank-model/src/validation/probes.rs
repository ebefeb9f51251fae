//! Probes and life cycle hooks (`validateProbe`, `validateLifecycle`).

use serde_json::Value;

use super::containers::Around;
use super::error::{Causes, Shown};
use super::field::Field;
use super::names;

/// The probes of a container.
pub(super) fn all(container: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let Some(probe) = container.child(name).set() else { continue };
        common(&probe, around, causes);
        if name == "readinessProbe" {
            let grace = probe.child("terminationGracePeriodSeconds");
            if let Some(seconds) = grace.number() {
                causes.invalid(grace.path, Shown::plain(seconds), "must not be set for readinessProbes");
            }
            continue;
        }
        let threshold = probe.child("successThreshold");
        if threshold.number_or_zero() != 1 {
            causes.invalid(&threshold.path, Shown::plain(threshold.number_or_zero()), "must be 1");
        }
    }
}

fn common(probe: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], around, causes);
    for name in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        let field = probe.child(name);
        causes.not_negative(&field.path, field.number_or_zero());
    }
    let grace = probe.child("terminationGracePeriodSeconds");
    if let Some(seconds) = grace.number().filter(|seconds| *seconds <= 0) {
        causes.invalid(grace.path, Shown::plain(seconds), "must be greater than 0");
    }
}

/// Hooks of a container. The gate ContainerStopSignals is off in 1.36: a signal is dropped before it is looked at.
pub(super) fn lifecycle(field: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    for hook in ["postStart", "preStop"].map(|name| field.child(name)) {
        if hook.is_set() {
            handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], around, causes);
        }
    }
}

/// What a probe or hook does; exactly one thing (`validateHandler`).
fn handler(field: &Field<'_>, kinds: &[&str], around: &Around<'_>, causes: &mut Causes) {
    let mut given = kinds.iter().map(|kind| (*kind, field.child(kind))).filter(|(_, action)| action.is_set());
    match given.next() {
        None => causes.required(&field.path, "must specify a handler type"),
        Some((kind, action)) => act(kind, &action, around, causes),
    }
    for (_, action) in given {
        causes.forbidden(action.path, "may not specify more than 1 handler type");
    }
}

fn act(kind: &str, action: &Field<'_>, around: &Around<'_>, causes: &mut Causes) {
    match kind {
        "exec" => {
            let command = action.child("command");
            if command.is_empty() {
                causes.required(command.path, "");
            }
        }
        "httpGet" => http(action, causes),
        "sleep" => {
            let seconds = action.child("seconds").number_or_zero();
            if let Some(grace) = around.grace_seconds.filter(|grace| seconds < 0 || seconds > *grace) {
                let why =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                causes.invalid(&action.path, Shown::plain(seconds), why);
            }
        }
        _ => port(&action.child("port"), causes),
    }
}

fn http(action: &Field<'_>, causes: &mut Causes) {
    let path = action.child("path");
    if path.is_empty() {
        causes.required(path.path, "");
    }
    port(&action.child("port"), causes);
    let scheme = action.child("scheme");
    if !matches!(scheme.text(), "HTTP" | "HTTPS") {
        causes.not_supported(&scheme.path, Shown::word(scheme.text()), &["HTTP", "HTTPS"]);
    }
    let headers = action.child("httpHeaders");
    for name in headers.items().map(|header| header.child("name").text()) {
        causes.broken_rules(&headers.path, name, names::header_name(name));
    }
}

/// A port by number or name (`ValidatePortNumOrName`).
fn port(field: &Field<'_>, causes: &mut Causes) {
    if let Value::String(name) = field.value {
        return causes.broken_rules(&field.path, name, names::port_name(name));
    }
    let number = field.number_or_zero();
    for rule in names::port_number(number) {
        // A Go int, not one of the kinds that are printed plainly; as JSON it reads the same.
        causes.invalid(&field.path, Shown::plain(number), rule);
    }
}
