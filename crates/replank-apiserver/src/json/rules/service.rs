//! Services (`pkg/apis/core/validation`, `validateService` and `ValidateServiceUpdate`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use replank_custom::problem::quoted;
use replank_model::selector::validate::label_key_problems;
use serde_json::Value;

use super::field::{CIDR, is_cidr, labels, refuse_all};
use super::words;
use crate::json::members::{list, text};
use crate::server::{Cause, address_problems, related};

const PORT: &str = "must be between 1 and 65535, inclusive";

/// What is wrong with a Service, new or changed.
pub(in super::super) fn service(old: Option<&Value>, new: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    let empty = Value::Null;
    let spec = new.get("spec").unwrap_or(&empty);
    if let Some(old) = old.and_then(|old| old.get("spec")) {
        moved(old, spec, &mut causes);
    }
    let kind = text(spec, "type");
    let ports = list(spec, "ports");
    let is_headless = text(spec, "clusterIP") == "None";
    if ports.is_empty() && !is_headless && kind != "ExternalName" {
        causes.push(Cause::required("spec.ports", ""));
    }
    match kind {
        "LoadBalancer" | "NodePort" if is_headless => {
            let why = format!("may not be set to 'None' for {kind} services");
            causes.push(Cause::invalid("spec.clusterIPs[0]", "\"None\"", &why));
        }
        "ExternalName" => external_name(spec, &mut causes),
        _ => {}
    }
    for (index, port) in ports.iter().enumerate() {
        self::port(port, index, ports, &mut causes);
    }
    if let Some(selector) = spec.get("selector") {
        labels(selector, "spec.selector", &mut causes);
    }
    affinity(spec, &mut causes);
    causes.extend(related(spec));
    external_addresses(old, spec, &mut causes);
    const TYPES: [&str; 4] = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    if kind.is_empty() {
        causes.push(Cause::required("spec.type", ""));
    } else if !TYPES.contains(&kind) {
        causes.push(Cause::not_supported("spec.type", kind, &TYPES));
    }
    port_pairs(kind, ports, &mut causes);
    source_ranges(old, spec, &mut causes);
    let allocates = spec.get("allocateLoadBalancerNodePorts").is_some_and(|one| !one.is_null());
    if allocates && kind != "LoadBalancer" {
        let why = "may only be used when `type` is 'LoadBalancer'";
        causes.push(Cause::forbidden("spec.allocateLoadBalancerNodePorts", why));
    }
    class(spec, &mut causes);
    traffic(spec, &mut causes);
    causes
}

fn number(value: &Value, name: &str) -> i64 {
    value.get(name).and_then(Value::as_i64).unwrap_or(0)
}

/// What cannot move from one state to the next.
fn moved(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let is_named = |spec: &Value| text(spec, "type") == "ExternalName";
    let is_headless = |spec: &Value| text(spec, "clusterIP") == "None";
    if !is_named(old) && !is_named(new) {
        let fixed = "may not change once set";
        let (had, has) = (list(old, "clusterIPs"), list(new, "clusterIPs"));
        let shown = Value::Array(has.to_vec()).to_string();
        if !(is_headless(old) && is_headless(new)) {
            if had.len() == has.len() {
                let differing = had.iter().zip(has).enumerate().filter(|(_, (had, has))| had != has);
                causes.extend(
                    differing.map(|(at, _)| Cause::invalid(format!("spec.clusterIPs[{at}]"), &shown, fixed)),
                );
            } else if has.is_empty() {
                let why = "primary clusterIP can not be unset";
                causes.push(Cause::invalid("spec.clusterIPs[0]", &shown, why));
            } else if had.first().is_some_and(|first| Some(first) != has.first()) {
                causes.push(Cause::invalid("spec.clusterIPs[0]", &shown, fixed));
            }
        }
        let (had, has) = (list(old, "ipFamilies"), list(new, "ipFamilies"));
        if !is_headless(old) && !is_headless(new) && had.len() == has.len() {
            let shown = Value::Array(has.to_vec()).to_string();
            let differing = had.iter().zip(has).filter(|(had, has)| had != has);
            causes.extend(differing.map(|_| Cause::invalid("spec.ipFamilies[0]", &shown, fixed)));
        }
    }
    let is_balancer = |spec: &Value| text(spec, "type") == "LoadBalancer";
    if is_balancer(old)
        && is_balancer(new)
        && text(old, "loadBalancerClass") != text(new, "loadBalancerClass")
    {
        let given = new.get("loadBalancerClass").filter(|one| !one.is_null());
        let shown = given.map_or_else(|| "null".to_owned(), ToString::to_string);
        causes.push(Cause::invalid("spec.loadBalancerClass", &shown, "may not change once set"));
    }
    if is_balancer(new) && old.get("loadBalancerClass").is_none() {
        // The format is looked at here as well as below.
        class(new, causes);
    } else if is_balancer(new) || new.get("loadBalancerClass").is_some() {
        class(new, causes);
    }
    let checks = |spec: &Value| is_balancer(spec) && text(spec, "externalTrafficPolicy") == "Local";
    if checks(old) && checks(new) && number(old, "healthCheckNodePort") != number(new, "healthCheckNodePort")
    {
        causes.push(Cause::forbidden("spec.healthCheckNodePort", "field is immutable"));
    }
}

fn external_name(spec: &Value, causes: &mut Vec<Cause>) {
    let why = "may not be set for ExternalName services";
    for name in ["clusterIPs", "ipFamilies"] {
        if !list(spec, name).is_empty() {
            causes.push(Cause::forbidden(format!("spec.{name}"), why));
        }
    }
    if spec.get("ipFamilyPolicy").is_some_and(|one| !one.is_null()) {
        causes.push(Cause::forbidden("spec.ipFamilyPolicy", why));
    }
    let name = text(spec, "externalName");
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() {
        causes.push(Cause::required("spec.externalName", ""));
    } else {
        refuse_all(name, "spec.externalName", words::subdomain(name), causes);
    }
}

fn port(port: &Value, index: usize, all: &[Value], causes: &mut Vec<Cause>) {
    let at = format!("spec.ports[{index}]");
    let name = text(port, "name");
    if name.is_empty() {
        if all.len() > 1 {
            causes.push(Cause::required(format!("{at}.name"), ""));
        }
    } else {
        refuse_all(name, &format!("{at}.name"), words::label(name), causes);
        if all[..index].iter().any(|before| text(before, "name") == name) {
            causes.push(Cause::duplicate(format!("{at}.name"), &quoted(name)));
        }
    }
    let given = number(port, "port");
    if !(1..=65535).contains(&given) {
        causes.push(Cause::invalid(format!("{at}.port"), &given.to_string(), PORT));
    }
    const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
    match text(port, "protocol") {
        "" => causes.push(Cause::required(format!("{at}.protocol"), "")),
        protocol if !PROTOCOLS.contains(&protocol) => {
            causes.push(Cause::not_supported(format!("{at}.protocol"), protocol, &PROTOCOLS));
        }
        _ => {}
    }
    let target = format!("{at}.targetPort");
    match port.get("targetPort") {
        Some(Value::String(name)) => refuse_all(name, &target, words::port_name(name), causes),
        Some(Value::Number(number))
            if number.as_i64().is_some_and(|number| (1..=65535).contains(&number)) => {}
        Some(Value::Number(number)) => causes.push(Cause::invalid(target, &number.to_string(), PORT)),
        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {
            causes.push(Cause::invalid(target, "0", PORT));
        }
    }
    if let Some(protocol) = port.get("appProtocol").and_then(Value::as_str) {
        refuse_all(protocol, &format!("{at}.appProtocol"), label_key_problems(protocol), causes);
    }
}

fn affinity(spec: &Value, causes: &mut Vec<Cause>) {
    let config = spec.get("sessionAffinityConfig").filter(|one| !one.is_null());
    let at = "spec.sessionAffinityConfig";
    match text(spec, "sessionAffinity") {
        "" => causes.push(Cause::required("spec.sessionAffinity", "")),
        "None" => {
            if config.is_some() {
                causes.push(Cause::forbidden(at, "must not be set when session affinity is None"));
            }
        }
        "ClientIP" => {
            let seconds = config.and_then(|config| config.pointer("/clientIP/timeoutSeconds"));
            match seconds.and_then(Value::as_i64) {
                None => causes.push(Cause::required(at, "when session affinity type is ClientIP")),
                Some(1..=86_400) => {}
                Some(seconds) => {
                    let why = "must be greater than 0 and less than 86400";
                    causes.push(Cause::invalid(
                        format!("{at}.clientIP.timeoutSeconds"),
                        &seconds.to_string(),
                        why,
                    ));
                }
            }
        }
        other => causes.push(Cause::not_supported("spec.sessionAffinity", other, &["ClientIP", "None"])),
    }
}

fn external_addresses(old: Option<&Value>, spec: &Value, causes: &mut Vec<Cause>) {
    let had = old.and_then(|old| old.get("spec")).map(|old| list(old, "externalIPs")).unwrap_or_default();
    for (index, given) in list(spec, "externalIPs").iter().enumerate() {
        let address = given.as_str().unwrap_or_default();
        let at = format!("spec.externalIPs[{index}]");
        let problems = if had.contains(given) { Vec::new() } else { address_problems(address) };
        if problems.is_empty() {
            endpoint_address(address, &at, causes);
        }
        causes.extend(problems.into_iter().map(|why| Cause::invalid(at.clone(), &quoted(address), why)));
    }
}

/// `ValidateEndpointIP`: addresses that no endpoint has.
pub(super) fn endpoint_address(text: &str, at: &str, causes: &mut Vec<Cause>) {
    let Ok(address) = text.parse::<IpAddr>() else {
        causes.push(Cause::invalid(at, &quoted(text), "must be a valid IP address"));
        return;
    };
    let is_local = match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.segments()[0] & 0xffc0 == 0xfe80,
    };
    let is_local_multicast = match address {
        IpAddr::V4(address) => u32::from(address) >> 8 == u32::from(Ipv4Addr::new(224, 0, 0, 0)) >> 8,
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == Ipv6Addr::from(0xff02 << 112).segments()[0],
    };
    let unspecified = format!("may not be unspecified ({text})");
    let problems = [
        (address.is_unspecified(), unspecified.as_str()),
        (address.is_loopback(), "may not be in the loopback range (127.0.0.0/8, ::1/128)"),
        (is_local, "may not be in the link-local range (169.254.0.0/16, fe80::/10)"),
        (is_local_multicast, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"),
    ];
    for (is_one, why) in problems {
        if is_one {
            causes.push(Cause::invalid(at, &quoted(text), why));
        }
    }
}

fn port_pairs(kind: &str, ports: &[Value], causes: &mut Vec<Cause>) {
    for (index, port) in ports.iter().enumerate() {
        let at = format!("spec.ports[{index}]");
        let node = number(port, "nodePort");
        if kind == "ClusterIP" && node != 0 {
            causes.push(Cause::forbidden(
                format!("{at}.nodePort"),
                "may not be used when `type` is 'ClusterIP'",
            ));
        }
        let same = |member: &str| {
            ports[..index].iter().any(|before| {
                text(before, "protocol") == text(port, "protocol")
                    && number(before, member) == number(port, member)
            })
        };
        if node != 0 && same("nodePort") {
            causes.push(Cause::duplicate(format!("{at}.nodePort"), &node.to_string()));
        }
        if same("port") {
            let go = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                quoted(text(port, "protocol")),
                number(port, "port")
            );
            causes.push(Cause::duplicate(at, &go));
        }
    }
}

fn source_ranges(old: Option<&Value>, spec: &Value, causes: &mut Vec<Cause>) {
    let at = "spec.LoadBalancerSourceRanges";
    let ranges = list(spec, "loadBalancerSourceRanges");
    if !ranges.is_empty() && text(spec, "type") != "LoadBalancer" {
        causes.push(Cause::forbidden(at, "may only be used when `type` is 'LoadBalancer'"));
    }
    let had = old.and_then(|old| old.get("spec")).map(|old| list(old, "loadBalancerSourceRanges"));
    for (index, range) in ranges.iter().enumerate() {
        let range_text = range.as_str().unwrap_or_default().trim();
        if !had.unwrap_or_default().contains(range) && !is_cidr(range_text) {
            causes.push(Cause::invalid(format!("{at}[{index}]"), &quoted(range_text), CIDR));
        }
    }
}

fn class(spec: &Value, causes: &mut Vec<Cause>) {
    let at = "spec.loadBalancerClass";
    let Some(class) = spec.get("loadBalancerClass").and_then(Value::as_str) else { return };
    if text(spec, "type") == "LoadBalancer" {
        refuse_all(class, at, label_key_problems(class), causes);
    } else {
        causes.push(Cause::forbidden(at, "may only be used when `type` is 'LoadBalancer'"));
    }
}

fn traffic(spec: &Value, causes: &mut Vec<Cause>) {
    let kind = text(spec, "type");
    let is_outside = matches!(kind, "LoadBalancer" | "NodePort")
        || (kind == "ClusterIP" && !list(spec, "externalIPs").is_empty());
    let policy = text(spec, "externalTrafficPolicy");
    let at = "spec.externalTrafficPolicy";
    const POLICIES: [&str; 2] = ["Cluster", "Local"];
    if !is_outside {
        if !policy.is_empty() {
            causes.push(Cause::invalid(
                at,
                &quoted(policy),
                "may only be set for externally-accessible services",
            ));
        }
    } else if policy.is_empty() {
        causes.push(Cause::required(at, ""));
    } else if !POLICIES.contains(&policy) {
        causes.push(Cause::not_supported(at, policy, &POLICIES));
    }
    let health = number(spec, "healthCheckNodePort");
    let at = "spec.healthCheckNodePort";
    let needs_check = kind == "LoadBalancer" && policy == "Local";
    if !needs_check && health != 0 {
        let why = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
        causes.push(Cause::invalid(at, &health.to_string(), why));
    } else if needs_check && health != 0 && !(1..=65535).contains(&health) {
        causes.push(Cause::invalid(at, &health.to_string(), PORT));
    }
    match spec.get("internalTrafficPolicy").and_then(Value::as_str) {
        None if matches!(kind, "NodePort" | "LoadBalancer" | "ClusterIP") => {
            causes.push(Cause::required("spec.internalTrafficPolicy", ""));
        }
        Some(policy) if !POLICIES.contains(&policy) => {
            causes.push(Cause::not_supported("spec.internalTrafficPolicy", policy, &POLICIES));
        }
        Some(_) | None => {}
    }
    const SPREADS: [&str; 3] = ["PreferClose", "PreferSameZone", "PreferSameNode"];
    if let Some(spread) = spec.get("trafficDistribution").and_then(Value::as_str)
        && !SPREADS.contains(&spread)
    {
        causes.push(Cause::not_supported("spec.trafficDistribution", spread, &SPREADS));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(old: Option<Value>, spec: Value) -> Vec<String> {
        let wrap = |spec: Value| json!({ "spec": spec });
        let found = service(old.map(wrap).as_ref(), &wrap(spec));
        found.iter().map(|one| format!("{}: {}", one.field.as_deref().unwrap_or(""), one.message)).collect()
    }

    #[test]
    fn a_balancer_is_not_headless() {
        let spec = json!({"type": "LoadBalancer", "clusterIP": "None", "clusterIPs": ["None"], "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]});
        assert_eq!(
            told(None, spec),
            [
                "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for LoadBalancer services"
            ]
        );
    }

    #[test]
    fn an_address_stays() {
        let spec = |address: &str| {
            json!({"type": "ClusterIP", "clusterIP": address, "clusterIPs": [address], "sessionAffinity": "None",
                "internalTrafficPolicy": "Cluster", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}]})
        };
        assert_eq!(
            told(Some(spec("10.0.0.1")), spec("10.0.0.2")),
            ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set"]
        );
        assert!(told(Some(spec("10.0.0.1")), spec("10.0.0.1")).is_empty());
    }

    #[test]
    fn policies_belong_to_types() {
        let spec = json!({"type": "ClusterIP", "externalTrafficPolicy": "Local", "healthCheckNodePort": 30001,
            "loadBalancerClass": "a/b", "trafficDistribution": "x", "sessionAffinity": "ClientIP",
            "internalTrafficPolicy": "Cluster", "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80, "nodePort": 30002}]});
        let fields: Vec<String> =
            told(None, spec).iter().filter_map(|one| one.split(": ").next().map(str::to_owned)).collect();
        assert_eq!(
            fields,
            [
                "spec.sessionAffinityConfig",
                "spec.ports[0].nodePort",
                "spec.loadBalancerClass",
                "spec.externalTrafficPolicy",
                "spec.healthCheckNodePort",
                "spec.trafficDistribution"
            ]
        );
    }
}
