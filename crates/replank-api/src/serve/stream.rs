//! What a kubelet would answer: logs, and the streams to containers and behind proxies (registry/core/{pod,node,service}, `ResourceLocation` and its siblings).
//!
//! What the server itself refuses is refused as upstream; where it would ask a kubelet or a container, the answer says that nothing runs.

use hyper::HeaderMap;
use hyper::header::CONNECTION;
use replank_apiserver::json::Connect;
use replank_apiserver::{ApiError, ResourceType};
use replank_model::object::meta::Key;
use replank_model::object::render;
use serde_json::{Value, json};

use super::log::{self, LogOptions};
use crate::answer::{self, Answer};
use crate::mirror::{Mirror, Snapshot, StorageId};
use crate::query::Query;
use crate::route::Target;

/// A part of an object that leads to what runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stream {
    /// `pods/log`.
    Log,
    /// `pods/exec`.
    Exec,
    /// `pods/attach`.
    Attach,
    /// `pods/portforward`.
    PortForward,
    /// `proxy`, of pods, services and nodes.
    Proxy,
}

impl Stream {
    /// The part of a target, if it is one.
    pub(super) fn of(target: &Target) -> Option<Self> {
        if target.is_custom || !target.resource.name.group.is_empty() {
            return None;
        }
        match target.part.as_deref()?.split('/').next()? {
            "log" => Some(Self::Log),
            "exec" => Some(Self::Exec),
            "attach" => Some(Self::Attach),
            "portforward" => Some(Self::PortForward),
            "proxy" => Some(Self::Proxy),
            _ => None,
        }
    }

    /// What admission is asked about, if it is.
    ///
    /// # Errors
    /// 400 where the options cannot be read.
    pub(super) fn connect(self, target: &Target, query: &Query) -> Result<Option<Connect>, ApiError> {
        let (part, kind) = match (self, &*target.resource.name.plural) {
            (Self::Log, _) => return Ok(None),
            (Self::Exec, _) => ("exec", "PodExecOptions"),
            (Self::Attach, _) => ("attach", "PodAttachOptions"),
            (Self::PortForward, _) => ("portforward", "PodPortForwardOptions"),
            (Self::Proxy, "services") => ("proxy", "ServiceProxyOptions"),
            (Self::Proxy, "nodes") => ("proxy", "NodeProxyOptions"),
            (Self::Proxy, _) => ("proxy", "PodProxyOptions"),
        };
        let mut options = json!({"kind": kind, "apiVersion": "v1"});
        match self {
            Self::Exec | Self::Attach => {
                for name in ["stdin", "stdout", "stderr", "tty"] {
                    if query.is_set(name) {
                        options[name] = true.into();
                    }
                }
                if let Some(container) = query.text("container") {
                    options["container"] = container.into();
                }
                if self == Self::Exec {
                    let words: Vec<&str> = query.all("command").collect();
                    options["command"] = if words.is_empty() { Value::Null } else { words.into() };
                }
            }
            Self::PortForward => {
                let ports = ports(query)?;
                if !ports.is_empty() {
                    options["ports"] = ports.into();
                }
            }
            Self::Proxy => {
                let behind = target.part.as_deref().and_then(|part| part.split_once('/'));
                let path =
                    behind.map(|(_, path)| format!("/{path}")).or(query.text("path").map(str::to_owned));
                if let Some(path) = path {
                    options["path"] = path.into();
                }
            }
            Self::Log => {}
        }
        Ok(Some(Connect { part, kind, options }))
    }

    /// Whether it lets a client act inside a container: then it takes the right to create, whatever the method is
    /// (feature AuthorizePodWebsocketUpgradeCreatePermission).
    pub(super) fn is_action(self) -> bool {
        match self {
            Self::Exec | Self::Attach | Self::PortForward => true,
            Self::Log | Self::Proxy => false,
        }
    }
}

/// Answers in place of what runs.
///
/// # Errors
/// What the server refuses, and that nothing runs.
pub(super) fn answer(
    mirror: &Mirror,
    target: &Target,
    stream: Stream,
    query: &Query,
    headers: &HeaderMap,
) -> Result<Answer, ApiError> {
    let objects = Objects(mirror.snapshot());
    match stream {
        Stream::Log => {
            let options = LogOptions::read(name(target), query)?;
            let pod = objects.pod(target, name(target))?;
            let container = container(&pod, query.get("container").unwrap_or_default())?;
            // A pod without a node has no logs, and no kubelet that could say so.
            if !has_node(&pod) {
                return Ok(answer::whole(204, answer::TEXT, ""));
            }
            objects.require_node(target, &pod)?;
            Ok(answer::whole(200, "text/plain", log::text(&pod, &container, &options)?))
        }
        Stream::Exec | Stream::Attach => {
            let pod = objects.pod(target, name(target))?;
            let container = container(&pod, query.get("container").unwrap_or_default())?;
            objects.require_node(target, &pod)?;
            require_upgrade(headers)?;
            let what = if stream == Stream::Exec {
                "no command can be run in"
            } else {
                "there is nothing to attach to in"
            };
            let name = name(target);
            Err(nothing(&format!("{what} container {container:?} of pod {name:?}")))
        }
        Stream::PortForward => {
            ports(query)?;
            let pod = objects.pod(target, name(target))?;
            objects.require_node(target, &pod)?;
            require_upgrade(headers)?;
            Err(nothing(&format!("pod {:?} listens on no port", name(target))))
        }
        Stream::Proxy => Err(objects.unreachable(target).unwrap_or_else(|error| error)),
    }
}

fn name(target: &Target) -> &str {
    target.name.as_ref().map_or("", |name| name.as_str())
}

/// The refusal that says that nothing runs.
fn nothing(what: &str) -> ApiError {
    ApiError::bad_request(&format!("containers are simulated and nothing runs: {what}"))
}

struct Objects(std::sync::Arc<Snapshot>);

impl Objects {
    /// An object of the core group.
    fn get(&self, plural: &str, target: &Target, name: &str) -> Result<Value, ApiError> {
        let resource = ResourceType::built_in("", "v1", plural).ok_or_else(ApiError::no_resource)?;
        let namespace = target.namespace.as_ref().filter(|_| resource.is_namespaced);
        let key = Key::new(namespace.map_or("", |namespace| namespace.as_str()), name);
        let found = self.0.get(&StorageId::of_resource(resource), &key);
        let found = found.ok_or_else(|| ApiError::not_found(resource.name.clone(), &key))?;
        Ok(render(&found.object))
    }

    fn pod(&self, target: &Target, name: &str) -> Result<Value, ApiError> {
        self.get("pods", target, name)
    }

    /// The kubelet is asked for that the pod's node has; where there is no such node, upstream says that the pod is not there, by the node's name.
    fn require_node(&self, target: &Target, pod: &Value) -> Result<(), ApiError> {
        let text = |path: &str| pod.pointer(path).and_then(Value::as_str).unwrap_or_default();
        if !has_node(pod) {
            let name = text("/metadata/name");
            return Err(ApiError::bad_request(&format!("pod {name} does not have a host assigned")));
        }
        let node = text("/spec/nodeName");
        match self.get("nodes", target, node) {
            Ok(_) => Ok(()),
            Err(_) => Err(ApiError::not_found(target.resource.name.clone(), &Key::cluster(node))),
        }
    }

    /// Why what a proxy leads to cannot be reached. What cannot be asked for at all is the error.
    fn unreachable(&self, target: &Target) -> Result<ApiError, ApiError> {
        let id = name(target);
        let plural = &*target.resource.name.plural;
        let word = plural.strip_suffix('s').unwrap_or(plural);
        let (name, port) =
            split(id).ok_or_else(|| ApiError::bad_request(&format!("invalid {word} request {id:?}")))?;
        match plural {
            "services" => self.endpoint(target, id, name, port)?,
            "pods" => {
                let pod = self.pod(target, name)?;
                // Simulated kubelets give pods no addresses.
                let has_address = pod
                    .pointer("/status/podIPs/0/ip")
                    .and_then(Value::as_str)
                    .is_some_and(|ip| !ip.is_empty());
                if !has_address && pod.pointer("/status/phase").is_none_or(|phase| phase != "Running") {
                    return Err(ApiError::bad_request("address not allowed"));
                }
            }
            _ => {
                let node = self.get("nodes", target, name)?;
                let has_address = |kind: &str| {
                    let all =
                        node.pointer("/status/addresses").and_then(Value::as_array).into_iter().flatten();
                    all.into_iter().any(|one| one["type"] == kind)
                };
                if !["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"]
                    .into_iter()
                    .any(has_address)
                {
                    return Err(ApiError::internal("no preferred addresses found; known addresses: []"));
                }
            }
        }
        let who = if plural == "nodes" { "no kubelet listens on" } else { "nothing listens behind" };
        Ok(ApiError::service_unavailable(&format!(
            "error trying to reach service: containers are simulated and nothing runs: {who} {word} {name:?}"
        )))
    }

    /// Looks for an address behind a service.
    fn endpoint(&self, target: &Target, id: &str, name: &str, port: &str) -> Result<(), ApiError> {
        let none =
            |of: &str| ApiError::service_unavailable(&format!("no endpoints available for service {of:?}"));
        let mut wanted = port.to_owned();
        if let Ok(number) = port.parse::<i64>() {
            let service = self.get("services", target, name)?;
            let ports = service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
            let found = ports.into_iter().find(|one| one["port"] == number).ok_or_else(|| {
                ApiError::service_unavailable(&format!("no service port {number} found for service {name:?}"))
            })?;
            found["name"].as_str().unwrap_or_default().clone_into(&mut wanted);
        }
        let endpoints = match self.get("endpoints", target, name) {
            Ok(endpoints) => endpoints,
            // Endpoints follow a service within moments.
            Err(error) => return Err(self.get("services", target, name).map_or(error, |_| none(name))),
        };
        let subsets = endpoints.get("subsets").and_then(Value::as_array).filter(|all| !all.is_empty());
        let subsets = subsets.ok_or_else(|| none(name))?;
        let is_it = |subset: &Value| {
            let has = |list: &str, is: &dyn Fn(&Value) -> bool| {
                subset.get(list).and_then(Value::as_array).is_some_and(|all| all.iter().any(is))
            };
            has("ports", &|port| port["name"].as_str().unwrap_or_default() == wanted)
                && has("addresses", &|address| address.get("targetRef").is_some())
        };
        if subsets.iter().any(is_it) { Ok(()) } else { Err(none(id)) }
    }
}

/// Name and port of what a proxy is asked for: `name`, `name:port` or `scheme:name:port` (apimachinery `util/net/port_split.go`).
fn split(id: &str) -> Option<(&str, &str)> {
    let parts: Vec<&str> = id.split(':').collect();
    let (name, port) = match parts.as_slice() {
        [name] => (*name, ""),
        [name, port] => (*name, *port),
        ["" | "http" | "https", name, port] => (*name, *port),
        _ => return None,
    };
    (!name.is_empty()).then_some((name, port))
}

/// The container that is meant.
fn container(pod: &Value, named: &str) -> Result<String, ApiError> {
    let name = pod.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let of = |list: &str| {
        let all = pod.pointer(&format!("/spec/{list}")).and_then(Value::as_array).into_iter().flatten();
        all.filter_map(|one| one["name"].as_str()).map(str::to_owned).collect::<Vec<_>>()
    };
    let all: Vec<String> =
        ["initContainers", "containers", "ephemeralContainers"].into_iter().flat_map(of).collect();
    if !named.is_empty() {
        let is_there = all.iter().any(|one| one == named);
        let why = || ApiError::bad_request(&format!("container {named} is not valid for pod {name}"));
        return is_there.then(|| named.to_owned()).ok_or_else(why);
    }
    match of("containers").as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(ApiError::bad_request(&format!("a container name must be specified for pod {name}"))),
        _ => {
            let choice = all.join(" ");
            let why = format!("a container name must be specified for pod {name}, choose one of: [{choice}]");
            Err(ApiError::bad_request(&why))
        }
    }
}

fn has_node(pod: &Value) -> bool {
    pod.pointer("/spec/nodeName").and_then(Value::as_str).is_some_and(|node| !node.is_empty())
}

/// Streams go over an upgraded connection: WebSocket or SPDY.
fn require_upgrade(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut values = headers.get_all(CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let is_upgrade = values.any(|value| value.to_ascii_lowercase().contains("upgrade"));
    is_upgrade.then_some(()).ok_or_else(|| ApiError::bad_request("Upgrade request required"))
}

/// Ports that are to be forwarded are numbers.
fn ports(query: &Query) -> Result<Vec<u16>, ApiError> {
    let mut ports = Vec::new();
    for text in query.all("ports").flat_map(|text| text.split(',')) {
        if let Ok(port) = text.parse::<u16>() {
            ports.push(port);
        } else {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let why = if is_number { "value out of range" } else { "invalid syntax" };
            return Err(ApiError::bad_request(&format!(
                "cannot convert to []int32: strconv.ParseUint: parsing {text:?}: {why}"
            )));
        }
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_container_must_be_named_where_there_are_several() {
        let pod = json!({"metadata": {"name": "p"}, "spec": {"initContainers": [{"name": "i"}],
            "containers": [{"name": "a"}, {"name": "b"}]}});
        let why = |named: &str| container(&pod, named).map_err(|error| error.message);
        assert_eq!(why("i"), Ok("i".to_owned()));
        assert_eq!(why("x"), Err("container x is not valid for pod p".to_owned()));
        let several = "a container name must be specified for pod p, choose one of: [i a b]";
        assert_eq!(why(""), Err(several.to_owned()));
    }

    #[test]
    fn what_a_proxy_leads_to_is_told_apart_as_upstream_does() {
        assert_eq!(split("s"), Some(("s", "")));
        assert_eq!(split("s:80"), Some(("s", "80")));
        assert_eq!(split("https:s:http"), Some(("s", "http")));
        assert_eq!((split("ftp:s:80"), split("a:b:c:d"), split("")), (None, None, None));
    }
}
