//! Addresses and node ports of Services (pkg/registry/core/service/storage), for servers whose flags are
//! `--service-cluster-ip-range=10.0.0.0/16` and no more.

use std::net::Ipv4Addr;

use replank_model::object::meta::Key;
use replank_model::object::{Kind, Object, render};
use serde_json::{Value, json};

use super::error::{ApiError, Cause};
use super::families::related;
use super::store::Api;
use crate::draw::Purpose;

/// The first address of the range.
const RANGE: u32 = 0x0a00_0000;
/// Addresses in the range.
const ADDRESSES: u32 = 1 << 16;
/// Addresses at its beginning that are given only to those who ask for them (KEP-3070).
const SET_APART: u32 = 256;
/// Node ports.
const PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// Node ports at the beginning that are given only to those who ask for them (KEP-3668).
const PORTS_SET_APART: i64 = 86;
/// Members that hold only while a Service has an address in the cluster.
const OF_ADDRESS: [&str; 5] =
    ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"];

impl Api {
    /// Gives a new Service its addresses and node ports.
    ///
    /// # Errors
    /// 422 for an address or a port that is taken or out of range.
    pub(super) fn allocate(&self, object: Object) -> Result<Object, ApiError> {
        if !self.serving().addresses || object.kind() != Kind::Service {
            return Ok(object);
        }
        let mut value = render(&object);
        let name = object.meta().key();
        self.fill(&name, &mut value, None)?;
        reread(object, value)
    }

    /// Gives a changed Service what it needs, and takes from it what it needs no more.
    ///
    /// # Errors
    /// As [`Api::allocate`], and 422 where an address is to change.
    pub(crate) fn reallocate(&self, known: &Object, object: Object) -> Result<Object, ApiError> {
        if !self.serving().addresses || object.kind() != Kind::Service {
            return Ok(object);
        }
        let (old, mut value) = (render(known), render(&object));
        drop_dependent(&old["spec"], &mut value["spec"]);
        carry_over(&old["spec"], &mut value["spec"]);
        self.fill(&known.meta().key(), &mut value, Some(&old))?;
        reread(object, value)
    }

    /// Makes a Service that a client sends ready for validation, which looks at it with its addresses and ports (`beginCreate`, `beginUpdate`).
    ///
    /// # Errors
    /// As [`Api::allocate`].
    pub(crate) fn ready_service(&self, value: &mut Value, old: Option<&Value>) -> Result<(), ApiError> {
        if !self.serving().addresses || !value["spec"].is_object() {
            return Ok(());
        }
        if let Some(old) = old {
            carry_over(&old["spec"], &mut value["spec"]);
            normalize(&old["spec"], &mut value["spec"]);
        }
        if old.is_none()
            && !text(&value["spec"]["clusterIP"]).is_empty()
            && value["spec"]["clusterIPs"].is_null()
        {
            value["spec"]["clusterIPs"] = json!([value["spec"]["clusterIP"]]);
        }
        let name = |member: &str| value["metadata"][member].as_str().unwrap_or_default().to_owned();
        let key = Key::new(name("namespace"), name("name"));
        self.fill(&key, value, old)?;
        if let Some(old) = old {
            drop_dependent(&old["spec"], &mut value["spec"]);
        }
        Ok(())
    }

    fn fill(&self, key: &Key, value: &mut Value, old: Option<&Value>) -> Result<(), ApiError> {
        let is_nameless = key.name.as_str().is_empty() && text(&value["metadata"]["generateName"]).is_empty();
        let spec = &mut value["spec"];
        if has_address(spec) {
            let causes = related(spec);
            if !causes.is_empty() {
                return Err(ApiError::invalid(Kind::Service, key.name.as_str(), causes));
            }
            families(key, spec)?;
            let given = text(&spec["clusterIP"]).to_owned();
            let had = old.map(|old| text(&old["spec"]["clusterIP"])).unwrap_or_default();
            if given.is_empty() {
                let address = self.free_address(key);
                if is_nameless {
                    // An address belongs to a Service by its name: none can be given to one without.
                    let why = format!(
                        "failed to allocate IP: IPAddress.networking.k8s.io \"{address}\" is invalid: \
                         spec.parentRef.name: Required value"
                    );
                    let causes = vec![Cause::invalid("spec.clusterIPs", "[\"\"]", &why)];
                    return Err(ApiError::invalid(Kind::Service, "", causes));
                }
                spec["clusterIP"] = address.to_string().into();
            } else if given != "None" && had.is_empty() {
                self.check_address(key, &given)?;
            }
            if spec["clusterIPs"].as_array().is_none_or(Vec::is_empty) {
                spec["clusterIPs"] = json!([spec["clusterIP"]]);
            }
        }
        let is_outside = matches!(text(&spec["type"]), "NodePort" | "LoadBalancer");
        if has_ports(spec) || (is_outside && !node_ports(spec).is_empty()) {
            self.fill_ports(key, spec, old.map(|old| &old["spec"]))?;
        }
        Ok(())
    }

    fn free_address(&self, key: &Key) -> Ipv4Addr {
        let first = self.draw(&format!("Service/{key}@{}", self.version()), Purpose::Address);
        let dynamic = ADDRESSES - SET_APART - 1;
        let first = u32::try_from(first % u64::from(dynamic)).unwrap_or(0);
        let all = (0..dynamic).map(|step| Ipv4Addr::from(RANGE + SET_APART + (first + step) % dynamic));
        let mut free = all.filter(|address| !self.is_taken(*address));
        free.next().unwrap_or(Ipv4Addr::from(RANGE + 1))
    }

    fn is_taken(&self, address: Ipv4Addr) -> bool {
        let key = Key::cluster(address.to_string());
        self.view().other("networking.k8s.io", "IPAddress", &key).is_some()
    }

    fn check_address(&self, key: &Key, given: &str) -> Result<(), ApiError> {
        let Ok(address) = given.parse::<Ipv4Addr>() else { return Ok(()) };
        let why = if u32::from(address) & !(ADDRESSES - 1) != RANGE {
            "the provided network does not match the current range"
        } else if self.is_taken(address) {
            "provided IP is already allocated"
        } else {
            return Ok(());
        };
        let why = format!("failed to allocate IP {given}: {why}");
        Err(refusal(key, Cause::invalid("spec.clusterIPs", &json!([given]).to_string(), &why)))
    }

    fn fill_ports(&self, key: &Key, spec: &mut Value, old: Option<&Value>) -> Result<(), ApiError> {
        let mut taken = self.ports_taken(key);
        let own: Vec<i64> = old.map(node_ports).unwrap_or_default();
        let mut given: Vec<(i64, i64, String)> = Vec::new();
        let ports = spec["ports"].as_array().cloned().unwrap_or_default();
        for (at, port) in ports.iter().enumerate() {
            let wanted = port["nodePort"].as_i64().unwrap_or(0);
            if wanted == 0 {
                continue;
            }
            let field = format!("spec.ports[{at}].nodePort");
            if !PORTS.contains(&wanted) {
                let why = "provided port is not in the valid range. The range of valid ports is 30000-32767";
                return Err(refusal(key, Cause::invalid(field, &wanted.to_string(), why)));
            }
            if taken.contains(&wanted) && !own.contains(&wanted) {
                let why = "provided port is already allocated";
                return Err(refusal(key, Cause::invalid(field, &wanted.to_string(), why)));
            }
            given.push((wanted, port["port"].as_i64().unwrap_or(0), text(&port["protocol"]).to_owned()));
        }
        taken.extend(given.iter().map(|(port, ..)| *port));
        for (at, port) in ports.iter().enumerate() {
            if port["nodePort"].as_i64().unwrap_or(0) != 0 {
                continue;
            }
            let (number, protocol) = (port["port"].as_i64().unwrap_or(0), text(&port["protocol"]).to_owned());
            if !gives_ports(spec) {
                continue;
            }
            // One port of several protocols is one port on nodes, too.
            let twin = given
                .iter()
                .find(|(_, of, other)| *of == number && *other != protocol)
                .map(|(port, ..)| *port);
            let twin =
                twin.filter(|port| !given.iter().any(|(known, _, of)| known == port && *of == protocol));
            let found = twin.unwrap_or_else(|| self.free_port(&format!("{key}/{at}"), &taken));
            taken.push(found);
            given.push((found, number, protocol));
            spec["ports"][at]["nodePort"] = found.into();
        }
        let wanted = spec["healthCheckNodePort"].as_i64().unwrap_or(0);
        let had = old.and_then(|old| old["healthCheckNodePort"].as_i64()).unwrap_or(0);
        if needs_check(spec) && wanted != 0 && wanted != had {
            let why = if !PORTS.contains(&wanted) {
                "provided port is not in the valid range. The range of valid ports is 30000-32767"
            } else if taken.contains(&wanted) {
                "provided port is already allocated"
            } else {
                return Ok(());
            };
            return Err(ApiError::internal_error(&format!(
                "failed to allocate requested HealthCheck NodePort {wanted}: {why}"
            )));
        }
        if needs_check(spec) && wanted == 0 {
            spec["healthCheckNodePort"] = self.free_port(&format!("{key}/health"), &taken).into();
        }
        Ok(())
    }

    /// The node ports of all other Services.
    fn ports_taken(&self, key: &Key) -> Vec<i64> {
        let others = self.view().services.unordered().map(|(_, service)| service);
        let others = others.filter(|service| service.meta.key() != *key);
        let with_ports =
            others.filter(|service| matches!(&*service.spec.r#type, "NodePort" | "LoadBalancer"));
        with_ports
            .flat_map(|service| node_ports(&render(&Object::Service(service.clone()))["spec"]))
            .collect()
    }

    fn free_port(&self, entity: &str, taken: &[i64]) -> i64 {
        let dynamic = PORTS.end() - PORTS.start() + 1 - PORTS_SET_APART;
        let first = self.draw(&format!("Service/{entity}@{}", self.version()), Purpose::Address);
        let first = i64::try_from(first % u64::try_from(dynamic).unwrap_or(1)).unwrap_or(0);
        let all = (0..dynamic).map(|step| PORTS.start() + PORTS_SET_APART + (first + step) % dynamic);
        all.clone().find(|port| !taken.contains(port)).unwrap_or(*PORTS.start())
    }

    /// Notes the addresses that a Service has, and frees those that it had.
    pub(super) fn note_addresses(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let of = |object: Option<&Object>| -> Vec<String> {
            let Some(object) = object.filter(|object| object.kind() == Kind::Service) else {
                return Vec::new();
            };
            let addresses = render(object).pointer("/spec/clusterIPs").cloned().unwrap_or_default();
            let all = addresses.as_array().into_iter().flatten().filter_map(Value::as_str);
            all.filter(|address| address.parse::<Ipv4Addr>().is_ok()).map(str::to_owned).collect()
        };
        if !self.serving().addresses || old.or(new).is_none_or(|object| object.kind() != Kind::Service) {
            return;
        }
        let (had, has) = (of(old), of(new));
        let group = "networking.k8s.io";
        for gone in had.iter().filter(|address| !has.contains(address)) {
            let known = self.view().other(group, "IPAddress", &Key::cluster(gone.as_str())).cloned();
            if let Some(known) = known {
                self.remove(Object::Other(known));
            }
        }
        let key = old.or(new).map(|object| object.meta().key()).unwrap_or_default();
        let is_new = |address: &&String| {
            let is_noted = self.view().other(group, "IPAddress", &Key::cluster(address.as_str())).is_some();
            !had.contains(address) && !is_noted
        };
        let new: Vec<&String> = has.iter().filter(is_new).collect();
        for address in new {
            let noted = Object::from_json(noted(&key, address));
            if let Ok(noted) = noted.map_err(drop).and_then(|noted| self.prepare(noted).map_err(drop)) {
                self.store(noted);
            }
        }
    }
}

/// networking.k8s.io/v1 IPAddress.
fn noted(key: &Key, address: &str) -> Value {
    json!({"apiVersion": "networking.k8s.io/v1", "kind": "IPAddress",
        "metadata": {"name": address, "labels": {"ipaddress.kubernetes.io/ip-family": "IPv4",
            "ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}},
        "spec": {"parentRef": {"resource": "services", "namespace": key.namespace.as_str(), "name": key.name.as_str()}}})
}

/// A cluster with one family of addresses has Services of that family.
fn families(key: &Key, spec: &Value) -> Result<(), ApiError> {
    let selects = spec["selector"].as_object().is_some_and(|selector| !selector.is_empty());
    if text(&spec["clusterIP"]) == "None" && !selects {
        return Ok(());
    }
    let mut causes = Vec::new();
    if text(&spec["ipFamilyPolicy"]) == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(Cause::invalid("spec.ipFamilyPolicy", "\"RequireDualStack\"", why));
    }
    for (at, family) in spec["ipFamilies"].as_array().into_iter().flatten().enumerate() {
        if text(family) == "IPv6" {
            let field = format!("spec.ipFamilies[{at}]");
            causes.push(Cause::invalid(field, "\"IPv6\"", "not configured on this cluster"));
        }
    }
    if causes.is_empty() { Ok(()) } else { Err(ApiError::invalid(Kind::Service, key.name.as_str(), causes)) }
}

/// Takes away what holds only for the type that a Service had, unless it was given anew (`dropTypeDependentFields`).
fn drop_dependent(old: &Value, new: &mut Value) {
    let mut gone: Vec<&str> = Vec::new();
    if has_address(old) && !has_address(new) {
        gone.extend(OF_ADDRESS);
    }
    let is_outside = |spec: &Value| match text(&spec["type"]) {
        "NodePort" | "LoadBalancer" => true,
        "ClusterIP" => spec["externalIPs"].as_array().is_some_and(|all| !all.is_empty()),
        _ => false,
    };
    if is_outside(old) && !is_outside(new) {
        gone.push("externalTrafficPolicy");
    }
    if text(&old["type"]) == "LoadBalancer" && text(&new["type"]) != "LoadBalancer" {
        gone.extend(["allocateLoadBalancerNodePorts", "loadBalancerClass"]);
    }
    if needs_check(old) && !needs_check(new) {
        gone.push("healthCheckNodePort");
    }
    for member in gone {
        if old.get(member) == new.get(member)
            && let Value::Object(members) = new
        {
            members.remove(member);
        }
    }
    let of_ports = |spec: &Value| -> Vec<Value> {
        spec["ports"].as_array().into_iter().flatten().map(|port| port["nodePort"].clone()).collect()
    };
    if has_ports(old) && !has_ports(new) && of_ports(old) == of_ports(new) {
        for port in new["ports"].as_array_mut().into_iter().flatten() {
            if let Value::Object(members) = port {
                members.remove("nodePort");
            }
        }
    }
}

/// What the server gave and the new state leaves out stays (`patchAllocatedValues`).
fn carry_over(old: &Value, new: &mut Value) {
    if has_address(old) && has_address(new) {
        for member in ["clusterIP", "clusterIPs", "ipFamilyPolicy"] {
            if new[member].is_null() || text(&new[member]).is_empty() && new[member].is_string() {
                new[member] = old[member].clone();
            }
        }
    }
    if !has_ports(old) || !has_ports(new) {
        return;
    }
    let was = old["ports"].as_array().cloned().unwrap_or_default();
    for port in new["ports"].as_array_mut().into_iter().flatten() {
        if port["nodePort"].as_i64().unwrap_or(0) != 0 {
            continue;
        }
        let is_it = |known: &&Value| match text(&port["name"]) {
            "" => known["port"] == port["port"] && known["protocol"] == port["protocol"],
            name => text(&known["name"]) == name,
        };
        if let Some(known) = was.iter().find(is_it).filter(|known| known["nodePort"].is_i64()) {
            port["nodePort"] = known["nodePort"].clone();
        }
    }
    if needs_check(old)
        && needs_check(new)
        && new["healthCheckNodePort"].is_null()
        && old["healthCheckNodePort"].is_i64()
    {
        new["healthCheckNodePort"] = old["healthCheckNodePort"].clone();
    }
}

/// Keeps the list of addresses and the first of them together (`normalizeClusterIPs`).
fn normalize(old: &Value, new: &mut Value) {
    let same_list = old["clusterIPs"] == new["clusterIPs"];
    let (was, is) = (text(&old["clusterIP"]).to_owned(), text(&new["clusterIP"]).to_owned());
    if was != is && same_list && !is.is_empty() {
        new["clusterIPs"] = json!([is]);
    }
}

/// Whether nodes are asked how a Service is.
fn needs_check(spec: &Value) -> bool {
    text(&spec["type"]) == "LoadBalancer" && text(&spec["externalTrafficPolicy"]) == "Local"
}

/// Whether ports of a Service get ports on nodes that did not ask for one.
fn gives_ports(spec: &Value) -> bool {
    text(&spec["type"]) == "NodePort" || spec["allocateLoadBalancerNodePorts"] != false
}

fn has_address(spec: &Value) -> bool {
    text(&spec["type"]) != "ExternalName"
}

/// Whether nodes listen for a Service.
fn has_ports(spec: &Value) -> bool {
    match text(&spec["type"]) {
        "NodePort" => true,
        "LoadBalancer" => gives_ports(spec) || needs_check(spec),
        _ => false,
    }
}

/// All ports on nodes.
fn node_ports(spec: &Value) -> Vec<i64> {
    let of_ports =
        spec["ports"].as_array().into_iter().flatten().filter_map(|port| port["nodePort"].as_i64());
    of_ports.chain(spec["healthCheckNodePort"].as_i64()).filter(|port| *port != 0).collect()
}

fn refusal(key: &Key, cause: Cause) -> ApiError {
    ApiError::invalid(Kind::Service, key.name.as_str(), vec![cause])
}

/// The object as it has become.
fn reread(object: Object, value: Value) -> Result<Object, ApiError> {
    if render(&object) == value {
        return Ok(object);
    }
    Object::from_json(value).map_err(|error| ApiError::bad_request(&error.to_string()))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use replank_model::time::Time;
    use replank_model::view::View;

    use super::super::serving::Serving;
    use super::*;
    use crate::Clock;
    use crate::draw::Draws;
    use crate::json::{Method, Request, Response};

    fn api() -> Api {
        let clock = Clock::new(Time::from_millis(1_764_000_000_000));
        let mut api = Api::new(clock, View::default(), Draws::new(1));
        api.serve(Serving { accounts: false, addresses: true, traces: false });
        api.apply_json(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}))
            .expect("it is new");
        api
    }

    fn send(api: &mut Api, method: Method, path: &str, body: Value) -> Response {
        let content_type = match method {
            Method::Patch => "application/merge-patch+json",
            Method::Get | Method::Post | Method::Put | Method::Delete => "application/json",
        };
        let path = format!("/api/v1/namespaces/a/services{path}");
        api.handle(&Request { method, path, content_type: content_type.to_owned(), body, wire: None })
    }

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn make(api: &mut Api, name: &str, spec: Value) -> Response {
        send(api, Method::Post, "", json!({"metadata": {"name": name}, "spec": spec}))
    }

    #[test]
    fn a_service_gets_an_address_that_goes_with_it() {
        let mut api = api();
        let made = make(&mut api, "s", json!({"ports": [{"port": 80}]}));
        assert_eq!(made.code, 201, "{}", made.body);
        let address = made.body["spec"]["clusterIP"].as_str().expect("it has one").to_owned();
        assert_eq!(made.body["spec"]["clusterIPs"], json!([address]));
        let parsed: Ipv4Addr = address.parse().expect("it is one");
        assert_eq!(u32::from(parsed) & !(ADDRESSES - 1), RANGE);
        assert!(api.is_taken(parsed));
        let again = make(&mut api, "t", json!({"clusterIP": address, "ports": [{"port": 80}]}));
        let why = format!("failed to allocate IP {address}: provided IP is already allocated");
        assert!(again.code == 422 && again.body["message"].as_str().is_some_and(|text| text.contains(&why)));
        let moved = send(&mut api, Method::Patch, "/s", json!({"spec": {"clusterIP": "10.0.9.9"}}));
        assert_eq!(moved.code, 422, "{}", moved.body);
        assert_eq!(send(&mut api, Method::Delete, "/s", Value::Null).code, 200);
        assert!(!api.is_taken(parsed));
    }

    #[test]
    fn only_a_name_gets_an_address() {
        let api = api();
        let ready = |metadata: Value| {
            let mut value = json!({"metadata": metadata, "spec": {"ports": [{"port": 80}]}});
            api.ready_service(&mut value, None).map(|()| value)
        };
        let refused = ready(json!({})).expect_err("nothing to give an address to").to_status();
        let message = refused["message"].as_str().unwrap_or_default();
        let begins =
            "Service \"\" is invalid: spec.clusterIPs: Invalid value: [\"\"]: failed to allocate IP: ";
        assert!(message.starts_with(begins), "{message}");
        let named = ready(json!({"generateName": "g-"})).expect("its name is drawn later");
        assert!(named["spec"]["clusterIP"].is_string());
    }

    #[test]
    fn node_ports_come_and_go_with_the_type() {
        let mut api = api();
        make(&mut api, "s", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]}));
        let taken =
            make(&mut api, "t", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30001}]}));
        let why = "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated";
        assert!(taken.body["message"].as_str().is_some_and(|text| text.ends_with(why)), "{}", taken.body);
        let dns = make(
            &mut api,
            "dns",
            json!({"type": "NodePort", "ports": [
            {"name": "a", "port": 53, "protocol": "TCP"}, {"name": "b", "port": 53, "protocol": "UDP"}]}),
        );
        let ports = &dns.body["spec"]["ports"];
        assert!(ports[0]["nodePort"].is_i64() && ports[0]["nodePort"] == ports[1]["nodePort"], "{ports}");
        let inside = send(&mut api, Method::Patch, "/s", json!({"spec": {"type": "ClusterIP"}}));
        assert!(inside.body["spec"]["ports"][0].get("nodePort").is_none(), "{}", inside.body);
        assert!(inside.body["spec"].get("externalTrafficPolicy").is_none());
        let outside = send(
            &mut api,
            Method::Patch,
            "/s",
            json!({"spec": {"type": "ExternalName", "externalName": "a.b"}}),
        );
        assert!(outside.body["spec"].get("clusterIP").is_none(), "{}", outside.body);
        let back = send(
            &mut api,
            Method::Patch,
            "/s",
            json!({"spec": {"type": "LoadBalancer", "externalName": null}}),
        );
        assert!(
            back.body["spec"]["clusterIP"].is_string() && back.body["spec"]["ports"][0]["nodePort"].is_i64()
        );
    }
}
