//! Fields that depend on each other.

use std::net::IpAddr;

use replank_custom::problem::quoted;
use replank_model::selector::validate::{label_key_problems, label_value_problems};
use serde_json::Value;

use super::field::{CIDR, is_cidr, refuse_all};
use super::{devices, flows, kinds, limits, told, words};
use crate::json::members::{list, text};
use crate::json::policies::valid::rule as webhook_rule;
use crate::server::Cause;

pub(super) fn check(key: &str, value: &Value, causes: &mut Vec<Cause>) {
    let spec = value.get("spec").unwrap_or(&Value::Null);
    match key {
        "nodes" => node(spec, causes),
        "persistentvolumes" => volume(spec, causes),
        "horizontalpodautoscalers.autoscaling" => autoscaler(spec, causes),
        "ingresses.networking.k8s.io" => ingress(spec, causes),
        "networkpolicies.networking.k8s.io" => policy(spec, causes),
        "clusterroles.rbac.authorization.k8s.io" => role(value, false, causes),
        "roles.rbac.authorization.k8s.io" => role(value, true, causes),
        "rolebindings.rbac.authorization.k8s.io" => subjects(value, true, causes),
        "clusterrolebindings.rbac.authorization.k8s.io" => subjects(value, false, causes),
        "ingressclasses.networking.k8s.io" => controller(spec, causes),
        "volumeattachments.storage.k8s.io" => attachment(spec, causes),
        "validatingwebhookconfigurations.admissionregistration.k8s.io"
        | "mutatingwebhookconfigurations.admissionregistration.k8s.io" => webhooks(value, causes),
        "flowschemas.flowcontrol.apiserver.k8s.io" => flows::schema(spec, causes),
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io" => {
            flows::level(
                value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default(),
                spec,
                causes,
            );
        }
        "events" => told::event(value, false, causes),
        "events.events.k8s.io" => told::event(value, true, causes),
        "configmaps" => keys(value, causes),
        "secrets" => {
            keys(value, causes);
            kinds::secret(value, causes);
        }
        "priorityclasses.scheduling.k8s.io" => kinds::priority_class(value, causes),
        "resourcequotas" => limits::scopes(spec, causes),
        "limitranges" => limits::ranges(spec, causes),
        "csinodes.storage.k8s.io" => topology(spec, causes),
        "resourceslices.resource.k8s.io" => slice(spec, causes),
        "resourceclaims.resource.k8s.io" => devices::claim(spec, "spec", causes),
        "resourceclaimtemplates.resource.k8s.io" => devices::template(spec, causes),
        "deviceclasses.resource.k8s.io" => devices::class(spec, causes),
        "apiservices.apiregistration.k8s.io" => service_of_group(spec, causes),
        "persistentvolumeclaims" => sources(spec, causes),
        "endpoints" => subsets(value, causes),
        "endpointslices.discovery.k8s.io" => slices(value, causes),
        _ => {}
    }
}

fn is_set(value: &Value, name: &str) -> bool {
    value.get(name).is_some_and(|one| !one.is_null())
}

/// What a claim is filled from (`validateDataSource`, `validateDataSourceRef`), beside what a source must name.
fn sources(spec: &Value, causes: &mut Vec<Cause>) {
    for name in ["dataSource", "dataSourceRef"] {
        let Some(source) = spec.get(name).filter(|source| source.is_object()) else { continue };
        let kind = text(source, "kind");
        if text(source, "apiGroup").is_empty() && !kind.is_empty() && kind != "PersistentVolumeClaim" {
            let why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            causes.push(Cause::invalid(format!("spec.{name}"), &quoted(kind), why));
        }
    }
}

fn node(spec: &Value, causes: &mut Vec<Cause>) {
    for (index, cidr) in list(spec, "podCIDRs").iter().filter_map(Value::as_str).enumerate() {
        if !is_cidr(cidr) {
            causes.push(Cause::invalid(format!("spec.podCIDRs[{index}]"), &quoted(cidr), CIDR));
        }
    }
    let taints = list(spec, "taints");
    for (index, taint) in taints.iter().enumerate() {
        let at = format!("metadata.taints[{index}]");
        let key = text(taint, "key");
        refuse_all(key, &format!("{at}.key"), label_key_problems(key), causes);
        let value = text(taint, "value");
        refuse_all(value, &format!("{at}.value"), label_value_problems(value), causes);
        const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
        match text(taint, "effect") {
            "" => causes.push(Cause::required(format!("{at}.effect"), "")),
            effect if !EFFECTS.contains(&effect) => {
                causes.push(Cause::not_supported(format!("{at}.effect"), effect, &EFFECTS));
            }
            effect => {
                let same = |before: &Value| text(before, "key") == key && text(before, "effect") == effect;
                if taints[..index].iter().any(same) {
                    let go = format!(
                        "{{\"Key\":{},\"Value\":{},\"Effect\":{},\"TimeAdded\":null}}",
                        Value::from(key),
                        Value::from(value),
                        Value::from(effect)
                    );
                    let message =
                        format!("Duplicate value: {go}: taints must be unique by key and effect pair");
                    causes.push(Cause { reason: "FieldValueDuplicate", message, field: Some(at) });
                }
            }
        }
    }
}

fn volume(spec: &Value, causes: &mut Vec<Cause>) {
    let capacity = spec.get("capacity").and_then(Value::as_object);
    if capacity.is_none_or(serde_json::Map::is_empty) {
        causes.push(Cause::required("spec.capacity", ""));
    }
    if capacity.is_none_or(|capacity| !capacity.contains_key("storage") || capacity.len() > 1) {
        let shown = capacity.map_or_else(|| "null".to_owned(), |all| Value::Object(all.clone()).to_string());
        let message = format!("Unsupported value: {shown}: supported values: \"storage\"");
        let field = Some("spec.capacity".to_owned());
        causes.push(Cause { reason: "FieldValueNotSupported", message, field });
    }
    const SOURCES: [&str; 20] = [
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "nfs",
        "iscsi",
        "glusterfs",
        "rbd",
        "fc",
        "flexVolume",
        "cephfs",
        "cinder",
        "csi",
        "local",
        "azureFile",
        "azureDisk",
        "vsphereVolume",
        "quobyte",
        "photonPersistentDisk",
        "portworxVolume",
        "scaleIO",
    ];
    let given: Vec<&str> = SOURCES.into_iter().filter(|source| is_set(spec, source)).collect();
    for more in given.iter().skip(1) {
        causes.push(Cause::forbidden(format!("spec.{more}"), "may not specify more than 1 volume type"));
    }
    if given.is_empty() {
        causes.push(Cause::required("spec", "must specify a volume type"));
    }
}

fn autoscaler(spec: &Value, causes: &mut Vec<Cause>) {
    let max = spec.get("maxReplicas").and_then(Value::as_i64).unwrap_or(0);
    let min = spec.get("minReplicas").and_then(Value::as_i64);
    if max == 0 {
        causes.push(Cause::required("spec.maxReplicas", "must be set and greater than 0"));
    } else if max < 1 {
        causes.push(Cause::invalid(
            "spec.maxReplicas",
            &max.to_string(),
            "must be greater than or equal to 1",
        ));
    }
    if min.is_some_and(|min| max < min) {
        let why = "must be greater than or equal to `minReplicas`";
        causes.push(Cause::invalid("spec.maxReplicas", &max.to_string(), why));
    }
    let target = spec.get("scaleTargetRef").unwrap_or(&Value::Null);
    let version = text(target, "apiVersion");
    if !version.contains('/') && !matches!(text(target, "kind"), "ReplicationController") {
        let why = "apiVersion must specify API group";
        causes.push(Cause::invalid("spec.scaleTargetRef.apiVersion", &quoted(version), why));
    }
    let metrics = list(spec, "metrics");
    let scales_to_zero = metrics.iter().any(|metric| matches!(text(metric, "type"), "Object" | "External"));
    if min == Some(0) && !scales_to_zero {
        let why = "must specify at least one Object or External metric to support scaling to zero replicas";
        causes.push(Cause::forbidden("spec.metrics", why));
    }
    for (index, metric) in metrics.iter().enumerate() {
        super::metrics::metric(metric, &format!("spec.metrics[{index}]"), causes);
    }
}

fn backend(value: &Value, at: &str, causes: &mut Vec<Cause>) {
    let (service, resource) = (value.get("service").filter(|one| one.is_object()), is_set(value, "resource"));
    if service.is_some() && resource {
        causes.push(Cause::invalid(at, "\"\"", "cannot set both resource and service backends"));
        return;
    }
    let Some(service) = service else {
        if !resource {
            causes.push(Cause::invalid(at, "\"\"", "resource or service backend is required"));
        }
        return;
    };
    let name = text(service, "name");
    if name.is_empty() {
        causes.push(Cause::required(format!("{at}.service.name"), ""));
    } else {
        refuse_all(name, &format!("{at}.service.name"), words::label(name), causes);
    }
    let port = service.get("port").unwrap_or(&Value::Null);
    let (name, number) = (text(port, "name"), port.get("number").and_then(Value::as_i64).unwrap_or(0));
    if name.is_empty() && number == 0 {
        causes.push(Cause::required(at, "port name or number is required"));
    } else if !name.is_empty() && number != 0 {
        causes.push(Cause::invalid(at, "\"\"", "cannot set both port name & port number"));
    } else if !name.is_empty() {
        refuse_all(name, &format!("{at}.service.port.name"), words::port_name(name), causes);
    } else if !(1..=65535).contains(&number) {
        let why = "must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{at}.service.port.number"), &number.to_string(), why));
    }
}

fn ingress(spec: &Value, causes: &mut Vec<Cause>) {
    let default = spec.get("defaultBackend").filter(|one| one.is_object());
    match default {
        Some(default) => backend(default, "spec.defaultBackend", causes),
        None if list(spec, "rules").is_empty() => {
            let why = "either `defaultBackend` or `rules` must be specified";
            let shown = spec.get("rules").unwrap_or(&Value::Null).to_string();
            causes.push(Cause::invalid("spec", &shown, why));
        }
        None => {}
    }
    for (rule_index, rule) in list(spec, "rules").iter().enumerate() {
        let Some(http) = rule.get("http") else { continue };
        for (index, path) in list(http, "paths").iter().enumerate() {
            let at = format!("spec.rules[{rule_index}].http.paths[{index}]");
            const TYPES: [&str; 3] = ["Exact", "ImplementationSpecific", "Prefix"];
            let given = text(path, "path");
            match path.get("pathType").and_then(Value::as_str) {
                None => {
                    causes.push(Cause::required(format!("{at}.pathType"), "pathType must be specified"));
                    continue;
                }
                Some("Exact" | "Prefix") if !given.starts_with('/') => {
                    let why = "must be an absolute path";
                    causes.push(Cause::invalid(format!("{at}.path"), &quoted(given), why));
                }
                Some("ImplementationSpecific") if !given.is_empty() && !given.starts_with('/') => {
                    let why = "must be an absolute path";
                    causes.push(Cause::invalid(format!("{at}.path"), &quoted(given), why));
                }
                Some(word) if !TYPES.contains(&word) => {
                    causes.push(Cause::not_supported(format!("{at}.pathType"), word, &TYPES));
                }
                Some(_) => {}
            }
            backend(path.get("backend").unwrap_or(&Value::Null), &format!("{at}.backend"), causes);
        }
    }
}

fn policy(spec: &Value, causes: &mut Vec<Cause>) {
    let types = list(spec, "policyTypes");
    if types.len() > 2 {
        let shown = Value::Array(types.to_vec()).to_string();
        causes.push(Cause::invalid("spec.policyTypes", &shown, "may not specify more than two policyTypes"));
    }
    for (member, peers) in [("ingress", "from"), ("egress", "to")] {
        for (index, rule) in list(spec, member).iter().enumerate() {
            for (peer_index, peer) in list(rule, peers).iter().enumerate() {
                let at = format!("spec.{member}[{index}].{peers}[{peer_index}]");
                let (pods, block) = (is_set(peer, "podSelector"), is_set(peer, "ipBlock"));
                let namespaces = is_set(peer, "namespaceSelector");
                if !pods && !block && !namespaces {
                    causes.push(Cause::required(at, "must specify a peer"));
                } else if block && (pods || namespaces) {
                    causes.push(Cause::forbidden(at, "may not specify both ipBlock and another peer"));
                }
            }
            for (port_index, port) in list(rule, "ports").iter().enumerate() {
                let Some(end) = port.get("endPort").and_then(Value::as_i64) else { continue };
                let field = format!("spec.{member}[{index}].ports[{port_index}].endPort");
                match port.get("port") {
                    None | Some(Value::Null) => {
                        let why = "may not be specified when `port` is not specified";
                        causes.push(Cause::invalid(field, &end.to_string(), why));
                    }
                    Some(Value::String(_)) => {
                        let why = "may not be specified when `port` is non-numeric";
                        causes.push(Cause::invalid(field, &end.to_string(), why));
                    }
                    Some(port) => {
                        if let Some(port) = port.as_i64().filter(|port| end < *port) {
                            let why = "must be greater than or equal to `port`";
                            causes.push(Cause::invalid(field.as_str(), &port.to_string(), why));
                        }
                        if !(1..=65535).contains(&end) {
                            let why = "must be between 1 and 65535, inclusive";
                            causes.push(Cause::invalid(field, &end.to_string(), why));
                        }
                    }
                }
            }
        }
    }
}

/// `ValidateRoleBindingSubject`, beside names and kinds.
fn subjects(value: &Value, is_namespaced: bool, causes: &mut Vec<Cause>) {
    const RBAC: &str = "rbac.authorization.k8s.io";
    for (index, subject) in list(value, "subjects").iter().enumerate() {
        let (at, group) = (format!("subjects[{index}]"), text(subject, "apiGroup"));
        match text(subject, "kind") {
            "ServiceAccount" => {
                let name = text(subject, "name");
                if !name.is_empty() {
                    refuse_all(name, &format!("{at}.name"), words::subdomain(name), causes);
                }
                if !group.is_empty() {
                    causes.push(Cause::not_supported(format!("{at}.apiGroup"), group, &[""]));
                }
                if !is_namespaced && text(subject, "namespace").is_empty() {
                    causes.push(Cause::required(format!("{at}.namespace"), ""));
                }
            }
            "User" | "Group" if group != RBAC => {
                causes.push(Cause::not_supported(format!("{at}.apiGroup"), group, &[RBAC]));
            }
            _ => {}
        }
    }
}

/// `ValidateIngressClass`: who answers for a class is a path behind a domain.
fn controller(spec: &Value, causes: &mut Vec<Cause>) {
    const LONG_MAX: usize = 250;
    let (at, given) = ("spec.controller", text(spec, "controller"));
    if given.len() > LONG_MAX {
        let message = format!("Too long: may not be more than {LONG_MAX} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: Some(at.to_owned()) });
    }
    let parameters = spec.get("parameters").filter(|one| one.is_object());
    if let Some(parameters) = parameters {
        let namespace = text(parameters, "namespace");
        match text(parameters, "scope") {
            "Cluster" if parameters.get("namespace").is_some_and(Value::is_string) => {
                let why = "`parameters.scope` is set to 'Cluster'";
                causes.push(Cause::forbidden("spec.parameters.namespace", why));
            }
            "Namespace" if namespace.is_empty() => {
                let why = "`parameters.scope` is set to 'Namespace'";
                causes.push(Cause::required("spec.parameters.namespace", why));
            }
            "Namespace" => {
                refuse_all(namespace, "spec.parameters.namespace", words::label(namespace), causes);
            }
            _ => {}
        }
    }
    match given.split_once('/') {
        _ if given.is_empty() => {}
        Some((domain, path)) if !domain.is_empty() && !path.is_empty() => {
            refuse_all(domain, at, words::subdomain(domain), causes);
        }
        _ => {
            let why = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            causes.push(Cause::invalid(at, &quoted(given), why));
        }
    }
}

fn role(value: &Value, is_namespaced: bool, causes: &mut Vec<Cause>) {
    if let Some(aggregation) = value.get("aggregationRule").filter(|rule| !rule.is_null()) {
        let at = "aggregationRule.clusterRoleSelectors";
        let selectors = list(aggregation, "clusterRoleSelectors");
        if selectors.is_empty() {
            let why = "at least one clusterRoleSelector required if aggregationRule is non-nil";
            causes.push(Cause::required(at, why));
        }
        for (index, selector) in selectors.iter().enumerate() {
            let (at, before) = (format!("{at}[{index}]"), causes.len());
            super::field::check(selector, &at, "selector", "", causes);
            if causes.len() > before {
                causes.push(Cause::invalid(at, &selector.to_string(), "invalid label selector."));
            }
        }
    }
    for (index, rule) in list(value, "rules").iter().enumerate() {
        let has = |name: &str| !list(rule, name).is_empty();
        if has("nonResourceURLs") {
            if is_namespaced {
                let shown = Value::Array(list(rule, "nonResourceURLs").to_vec()).to_string();
                let why = "namespaced rules cannot apply to non-resource URLs";
                causes.push(Cause::invalid(format!("rules[{index}].nonResourceURLs"), &shown, why));
            }
            if has("apiGroups") || has("resources") || has("resourceNames") {
                let shown = Value::Array(list(rule, "nonResourceURLs").to_vec()).to_string();
                let why = "rules cannot apply to both regular resources and non-resource URLs";
                causes.push(Cause::invalid(format!("rules[{index}].nonResourceURLs"), &shown, why));
            }
            continue;
        }
        if !has("apiGroups") {
            let why = "resource rules must supply at least one api group";
            causes.push(Cause::required(format!("rules[{index}].apiGroups"), why));
        }
        if !has("resources") {
            let why = "resource rules must supply at least one resource";
            causes.push(Cause::required(format!("rules[{index}].resources"), why));
        }
    }
}

fn attachment(spec: &Value, causes: &mut Vec<Cause>) {
    let source = spec.get("source").unwrap_or(&Value::Null);
    let (inline, name) = (is_set(source, "inlineVolumeSpec"), source.get("persistentVolumeName"));
    let why = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    if inline && name.is_some() {
        causes.push(Cause::forbidden("spec.source", why));
    } else if !inline && name.is_none() {
        causes.push(Cause::required("spec.source", why));
    }
    if let Some(name) = name.and_then(Value::as_str) {
        let at = "spec.source.persistentVolumeName";
        if name.is_empty() {
            causes.push(Cause::required(at, "must specify non empty persistentVolumeName"));
        }
        refuse_all(name, at, words::subdomain(name), causes);
    }
}

fn webhooks(value: &Value, causes: &mut Vec<Cause>) {
    for (index, hook) in list(value, "webhooks").iter().enumerate() {
        let at = format!("webhooks[{index}]");
        let name = text(hook, "name");
        if name.is_empty() {
            causes.push(Cause::required(format!("{at}.name"), ""));
        } else {
            let mut problems = words::subdomain(name);
            if problems.is_empty() && name.split('.').count() < 3 {
                problems.push("should be a domain with at least three segments separated by dots".to_owned());
            }
            refuse_all(name, &format!("{at}.name"), problems, causes);
        }
        for (rule_index, rule) in list(hook, "rules").iter().enumerate() {
            webhook_rule(rule, &format!("{at}.rules[{rule_index}]"), causes);
        }
        match hook.get("sideEffects").and_then(Value::as_str) {
            None => {
                let why = "must specify one of None, NoneOnDryRun";
                causes.push(Cause::required(format!("{at}.sideEffects"), why));
            }
            Some("None" | "NoneOnDryRun") => {}
            Some(other) => {
                let known = ["None", "NoneOnDryRun"];
                causes.push(Cause::not_supported(format!("{at}.sideEffects"), other, &known));
            }
        }
        client(hook.get("clientConfig").unwrap_or(&Value::Null), &format!("{at}.clientConfig"), causes);
        review_versions(hook, &at, causes);
    }
}

fn client(config: &Value, at: &str, causes: &mut Vec<Cause>) {
    let url = config.get("url").and_then(Value::as_str);
    if url.is_some() == is_set(config, "service") {
        causes.push(Cause::required(at, "exactly one of url or service is required"));
        return;
    }
    if let Some(service) = config.get("service").filter(|one| one.is_object()) {
        self::service(service, &format!("{at}.service"), causes);
    }
    let Some(url) = url else { return };
    let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
    let form = "; desired format: https://host[/path]";
    if scheme != "https" {
        let why = format!("'https' is the only allowed URL scheme{form}");
        causes.push(Cause::invalid(format!("{at}.url"), &quoted(scheme), &why));
    }
    if rest.split('/').next().unwrap_or_default().is_empty() {
        causes.push(Cause::invalid(format!("{at}.url"), "\"\"", &format!("host must be specified{form}")));
    }
}

/// `ValidateWebhookService`.
fn service(service: &Value, at: &str, causes: &mut Vec<Cause>) {
    for member in ["name", "namespace"] {
        if text(service, member).is_empty() {
            causes.push(Cause::required(format!("{at}.{member}"), ""));
        }
    }
    let port = service.get("port").and_then(Value::as_i64).unwrap_or(443);
    if !(1..=65535).contains(&port) {
        let why = "port is not valid: must be between 1 and 65535, inclusive";
        causes.push(Cause::invalid(format!("{at}.port"), &port.to_string(), why));
    }
    let (field, path) = (format!("{at}.path"), text(service, "path"));
    let mut refuse = |why: &str| causes.push(Cause::invalid(field.as_str(), &quoted(path), why));
    match path {
        "" | "/" => return,
        "//" => return refuse("segment[0] may not be empty"),
        _ => {}
    }
    if !path.starts_with('/') {
        refuse("must start with a '/'");
    }
    let rest = path.char_indices().nth(1).map_or("", |(at, _)| &path[at..]);
    for (index, step) in rest.strip_suffix('/').unwrap_or(rest).split('/').enumerate() {
        if step.is_empty() {
            refuse(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for why in words::subdomain(step) {
            refuse(&format!("segment[{index}]: {why}"));
        }
    }
}

fn review_versions(hook: &Value, at: &str, causes: &mut Vec<Cause>) {
    let at = format!("{at}.admissionReviewVersions");
    let all = list(hook, "admissionReviewVersions");
    if all.is_empty() {
        causes.push(Cause::required(at, "must specify one of v1, v1beta1"));
        return;
    }
    for (index, version) in all.iter().filter_map(Value::as_str).enumerate() {
        let field = format!("{at}[{index}]");
        if all[..index].iter().any(|before| before == version) {
            causes.push(Cause::invalid(field, &quoted(version), "duplicate version"));
        } else {
            refuse_all(version, &field, words::label_1035(version), causes);
        }
    }
    if !all.iter().any(|version| version == "v1" || version == "v1beta1") {
        let shown = Value::Array(all.to_vec()).to_string();
        causes.push(Cause::invalid(at, &shown, "must include at least one of v1, v1beta1"));
    }
}

/// Keys of ConfigMaps and Secrets, and how much they hold.
fn keys(value: &Value, causes: &mut Vec<Cause>) {
    const SIZE_MAX: usize = 1024 * 1024;
    let mut size = 0;
    for member in ["data", "binaryData"] {
        for (key, one) in value.get(member).and_then(Value::as_object).into_iter().flatten() {
            size += one.as_str().unwrap_or_default().len();
            let field = format!("{member}[{key}]");
            let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte));
            let mut problems = Vec::new();
            if key.len() > 253 {
                problems.push("must be no more than 253 characters".to_owned());
            }
            if !is_plain || key.is_empty() {
                problems.push(
                    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
                     'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                        .to_owned(),
                );
            }
            if key == "." {
                problems.push("must not be '.'".to_owned());
            } else if key == ".." {
                problems.push("must not be '..'".to_owned());
            } else if key.starts_with("..") {
                problems.push("must not start with '..'".to_owned());
            }
            refuse_all(key, &field, problems, causes);
            if member == "data" && value.pointer("/binaryData").is_some_and(|data| data.get(key).is_some()) {
                let why = "duplicate of key present in binaryData";
                causes.push(Cause::invalid(field, &quoted(key), why));
            }
        }
    }
    if size > SIZE_MAX {
        let message = format!("Too long: may not be more than {SIZE_MAX} bytes");
        let field = if value["kind"] == "Secret" { "data" } else { "" };
        causes.push(Cause { reason: "FieldValueTooLong", message, field: Some(field.to_owned()) });
    }
}

fn topology(spec: &Value, causes: &mut Vec<Cause>) {
    for (index, driver) in list(spec, "drivers").iter().enumerate() {
        let at = format!("spec.drivers[{index}]");
        let keys = list(driver, "topologyKeys");
        for (key_index, key) in keys.iter().enumerate() {
            let word = key.as_str().unwrap_or_default();
            if word.is_empty() {
                causes.push(Cause::required(at.clone(), ""));
            }
            if keys[..key_index].contains(key) {
                causes.push(Cause::duplicate(at.clone(), &quoted(word)));
            }
            refuse_all(word, &at, label_key_problems(word), causes);
        }
    }
}

/// A slice is of one node, of some, of all, or says it device by device.
fn slice(spec: &Value, causes: &mut Vec<Cause>) {
    let is_true = |name: &str| spec.get(name) == Some(&Value::Bool(true));
    let given = [
        ("nodeName", !text(spec, "nodeName").is_empty()),
        ("nodeSelector", is_set(spec, "nodeSelector")),
        ("allNodes", is_true("allNodes")),
        ("perDeviceNodeSelection", is_true("perDeviceNodeSelection")),
    ];
    let set: Vec<&str> = given.iter().filter(|(_, is_given)| *is_given).map(|(name, _)| *name).collect();
    let why = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match set.as_slice() {
        [] => causes.push(Cause::required("spec", why)),
        [_] => {}
        several => {
            let words: Vec<String> = several.iter().map(|name| format!("`{name}`")).collect();
            let shown = format!("{{{}}}", words.join(", "));
            causes.push(Cause::invalid(
                "spec",
                &quoted(&shown),
                &format!("{why}, but multiple fields are set"),
            ));
        }
    }
}

fn service_of_group(spec: &Value, causes: &mut Vec<Cause>) {
    let group = text(spec, "group");
    if group.is_empty() && text(spec, "version") != "v1" {
        let why = "only v1 may have an empty group and it better be legacy kube";
        causes.push(Cause::required("spec.group", why));
    } else if !group.is_empty() {
        refuse_all(group, "spec.group", words::subdomain(group), causes);
    }
    if !is_set(spec, "service") && spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true)) {
        let why = "local APIServices may not have insecureSkipTLSVerify";
        causes.push(Cause::invalid("spec.insecureSkipTLSVerify", "true", why));
    }
}

fn subsets(value: &Value, causes: &mut Vec<Cause>) {
    for (index, subset) in list(value, "subsets").iter().enumerate() {
        if list(subset, "addresses").is_empty() && list(subset, "notReadyAddresses").is_empty() {
            let why = "must specify `addresses` or `notReadyAddresses`";
            causes.push(Cause::required(format!("subsets[{index}]"), why));
        }
        let ports = list(subset, "ports");
        for (port_index, port) in ports.iter().enumerate() {
            if ports.len() > 1 && text(port, "name").is_empty() {
                causes.push(Cause::required(format!("subsets[{index}].ports[{port_index}].name"), ""));
            }
        }
        for name in ["addresses", "notReadyAddresses"] {
            for (address_index, address) in list(subset, name).iter().enumerate() {
                super::service::endpoint_address(
                    text(address, "ip"),
                    &format!("subsets[{index}].{name}[{address_index}].ip"),
                    causes,
                );
            }
        }
    }
}

/// `validateEndpoints`, as far as addresses go.
fn slices(value: &Value, causes: &mut Vec<Cause>) {
    let (is_four, why) = match text(value, "addressType") {
        "IPv4" => (true, "must be an IPv4 address"),
        "IPv6" => (false, "must be an IPv6 address"),
        _ => return,
    };
    for (index, endpoint) in list(value, "endpoints").iter().enumerate() {
        for (address_index, ip) in list(endpoint, "addresses").iter().filter_map(Value::as_str).enumerate() {
            let addresses = format!("endpoints[{index}].addresses");
            let at = format!("{addresses}[{address_index}]");
            let Ok(address) = ip.parse::<IpAddr>() else {
                causes.push(Cause::invalid(at, &quoted(ip), super::field::IP));
                continue;
            };
            if address.is_ipv4() != is_four {
                causes.push(Cause::invalid(addresses, &quoted(ip), why));
            }
            super::service::endpoint_address(ip, &at, causes);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(key: &str, value: &Value) -> Vec<String> {
        let mut causes = Vec::new();
        check(key, value, &mut causes);
        causes.into_iter().filter_map(|cause| cause.field).map(|field| field.to_string()).collect()
    }

    #[test]
    fn subjects_are_of_the_group_of_their_kind() {
        let binding = json!({"subjects": [
            {"kind": "ServiceAccount", "name": "A_b", "apiGroup": "x"},
            {"kind": "User", "name": "u", "apiGroup": "/p"},
            {"kind": "Group", "name": "g", "apiGroup": "rbac.authorization.k8s.io"}]});
        let of_cluster =
            ["subjects[0].name", "subjects[0].apiGroup", "subjects[0].namespace", "subjects[1].apiGroup"];
        assert_eq!(fields("clusterrolebindings.rbac.authorization.k8s.io", &binding), of_cluster);
        let mut in_namespace = of_cluster.to_vec();
        in_namespace.remove(2);
        assert_eq!(fields("rolebindings.rbac.authorization.k8s.io", &binding), in_namespace);
    }

    #[test]
    fn the_controller_of_a_class_is_a_path_of_a_domain() {
        for (controller, is_right) in [("acme.io/foo", true), ("x", false), ("a.b/", false), ("A_b/x", false)]
        {
            let found =
                fields("ingressclasses.networking.k8s.io", &json!({"spec": {"controller": controller}}));
            assert_eq!(found.is_empty(), is_right, "{controller}: {found:?}");
        }
    }
}
