//! Pods, pod templates and their specs (Kubernetes 1.36 `pkg/apis/core/validation/validation.go`: `ValidatePodCreate`,
//! `ValidatePodTemplateSpec`, `ValidatePodSpec`). The order of the checks is the order of the causes.

use std::collections::BTreeSet;

use super::error::{Causes, Shown};
use super::field::Field;
use super::{
    affinity, annotations, containers, dns, meta, names, os, resources, security, spread, tolerations,
    volumes,
};

pub(super) use super::scope::{Scope, one_of};

/// A new pod (`ValidatePodCreate`).
pub(super) fn pod(object: &Field<'_>, causes: &mut Causes) {
    let metadata = object.child("metadata");
    let spec_field = object.child("spec");
    meta::object(&metadata, names::subdomain, causes);
    annotations::of_pod(&metadata.child("annotations"), &spec_field, causes);
    spec(&spec_field, Scope::Pod(&metadata), causes);
    if spec_field.child("serviceAccountName").is_empty() {
        for volume in spec_field.child("volumes").items() {
            for source in volume.child("projected").child("sources").items() {
                if let Some(token) = source.child("serviceAccountToken").set() {
                    causes.forbidden(token.path, "must not be specified when serviceAccountName is not set");
                }
            }
        }
    }
    for list in ["containers", "initContainers"] {
        spec_field.child(list).items().for_each(|container| containers::only_in_pods(&container, causes));
    }
    let ephemeral = spec_field.child("ephemeralContainers");
    if !ephemeral.is_empty() {
        causes.forbidden(ephemeral.path, "cannot be set on create");
    }
    if !spec_field.child("nodeName").is_empty() && !spec_field.child("schedulingGates").is_empty() {
        let why = "cannot be set until all schedulingGates have been cleared";
        causes.forbidden(spec_field.at("nodeName"), why);
    }
    let taken_over = annotations::TakenOver::Yes;
    annotations::agree_with_fields(&metadata.child("annotations"), &spec_field, taken_over, causes);
}

/// A template (`ValidatePodTemplateSpec`).
pub(super) fn template(template: &Field<'_>, causes: &mut Causes) {
    template_metadata(template, causes);
    let given = template.child("metadata").child("annotations");
    let spec_field = template.child("spec");
    spec(&spec_field, Scope::Template, causes);
    annotations::agree_with_fields(&given, &spec_field, annotations::TakenOver::No, causes);
    let ephemeral = spec_field.child("ephemeralContainers");
    if !ephemeral.is_empty() {
        causes.forbidden(ephemeral.path, "ephemeral containers not allowed in pod template");
    }
}

/// Labels and annotations of a template; upstream leaves `metadata` out of their paths.
pub(super) fn template_metadata(template: &Field<'_>, causes: &mut Causes) {
    let metadata = template.child("metadata");
    let given = metadata.child("annotations").moved(template.at("annotations"));
    names::labels(&metadata.child("labels").moved(template.at("labels")), causes);
    names::annotations(&given, causes);
    annotations::of_pod(&given, &template.child("spec"), causes);
}

/// A spec (`ValidatePodSpec`).
pub(super) fn spec(spec: &Field<'_>, scope: Scope<'_>, causes: &mut Causes) {
    let known = volumes::volumes(&spec.child("volumes"), scope, causes);
    claims(&spec.child("resourceClaims"), scope, causes);
    let around = containers::Around::new(spec, &known);
    containers::all(spec, &around, causes);
    resources::of_pod(spec, &around.claims, causes);
    host_network_ports(spec, scope, causes);
    one_of(&spec.child("restartPolicy"), &["Always", "OnFailure", "Never"], causes);
    one_of(&spec.child("dnsPolicy"), &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"], causes);
    names::labels(&spec.child("nodeSelector"), causes);
    security::of_pod(spec, causes);
    affinity::affinity(&spec.child("affinity"), causes);
    dns::config(spec, causes);
    for gate in spec.child("readinessGates").items() {
        let condition = gate.child("conditionType");
        names::qualified(&condition.path, condition.text(), causes);
    }
    scheduling_gates(&spec.child("schedulingGates"), causes);
    spread::constraints(&spec.child("topologySpreadConstraints"), causes);
    os::host_process(spec, causes);
    security::host_users(spec, causes);
    dns::host_name_override(spec, causes);
    scalars(spec, causes);
    os::os(spec, causes);
    containers::files_of_variables(spec, causes);
}

/// The members that stand for themselves, between host name and operating system.
fn scalars(spec: &Field<'_>, causes: &mut Causes) {
    for name in ["serviceAccountName", "nodeName"] {
        let field = spec.child(name);
        if !field.is_empty() {
            names::subdomain_at(&field, causes);
        }
    }
    let deadline = spec.child("activeDeadlineSeconds");
    if let Some(seconds) = deadline.number() {
        for rule in names::range(seconds, 1, i64::from(i32::MAX)) {
            causes.invalid(&deadline.path, Shown::plain(seconds), rule);
        }
    }
    for name in ["hostname", "subdomain"] {
        let field = spec.child(name);
        if !field.is_empty() {
            names::label_at(&field, causes);
        }
    }
    tolerations::tolerations(&spec.child("tolerations"), causes);
    dns::host_aliases(&spec.child("hostAliases"), causes);
    let class = spec.child("priorityClassName");
    if !class.is_empty() {
        names::subdomain_at(&class, causes);
    }
    if let Some(class) = spec.child("runtimeClassName").set() {
        names::subdomain_at(&class, causes);
    }
    if let Some(policy) = spec.child("preemptionPolicy").set() {
        one_of(&policy, &["PreemptLowerPriority", "Never"], causes);
    }
    resources::overhead(&spec.child("overhead"), causes);
}

/// Claims of devices (`validatePodResourceClaims`).
fn claims(field: &Field<'_>, scope: Scope<'_>, causes: &mut Causes) {
    let is_static = match scope {
        Scope::Pod(metadata) => metadata.child("annotations").child("kubernetes.io/config.mirror").is_set(),
        Scope::Template => false,
    };
    let mut seen = BTreeSet::new();
    for claim in field.items() {
        if is_static {
            // What upstream prints for a path without a name.
            causes.forbidden("[]", "static pods do not support resource claims");
            continue;
        }
        let name = claim.child("name");
        if name.is_empty() {
            causes.required(&name.path, "");
        } else if seen.insert(name.text()) {
            names::label_at(&name, causes);
        } else {
            causes.duplicate(&name.path, Shown::text(name.text()));
        }
        let (direct, template) = (claim.child("resourceClaimName"), claim.child("resourceClaimTemplateName"));
        let shown = || super::show::shown("core.PodResourceClaim", claim.value);
        match (direct.is_set(), template.is_set()) {
            (true, true) => {
                let why =
                    "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified";
                causes.invalid(&claim.path, shown(), why);
            }
            (false, false) => {
                let why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                causes.invalid(&claim.path, shown(), why);
            }
            (true, false) | (false, true) => {}
        }
        for name in [direct, template].into_iter().filter_map(Field::set) {
            names::subdomain_at(&name, causes);
        }
    }
}

/// On the host's network a container's ports are the host's (`validatePodHostNetworkDeps`).
fn host_network_ports(spec: &Field<'_>, scope: Scope<'_>, causes: &mut Causes) {
    if !spec.child("hostNetwork").is_true() {
        return;
    }
    for port in spec.child("containers").items().flat_map(|container| container.child("ports").items()) {
        let host = port.child("hostPort");
        let (on_host, inside) = (host.number_or_zero(), port.child("containerPort").number_or_zero());
        if (scope.is_pod() || on_host != 0) && on_host != inside {
            let why = "must match `containerPort` when `hostNetwork` is true";
            causes.invalid(host.path, Shown::plain(on_host), why);
        }
    }
}

fn scheduling_gates(gates: &Field<'_>, causes: &mut Causes) {
    let mut seen = BTreeSet::new();
    for gate in gates.items() {
        let name = gate.child("name").text();
        names::qualified(&gate.path, name, causes);
        if !seen.insert(name) {
            causes.duplicate(&gate.path, Shown::text(name));
        }
    }
}
