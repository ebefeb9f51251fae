//! By which ways clients reach a pod, read off the Services, Ingresses and target group bindings that are known (AWS Load Balancer
//! Controller's annotations).

use std::collections::BTreeSet;
use std::sync::Arc;

use replank_model::object::cluster::Other;
use replank_model::object::meta::Key;
use replank_model::object::network::Service;
use replank_model::object::pod::Pod;
use replank_model::time::Span;
use replank_model::view::View;
use serde_json::Value;

use super::{Balancer, Path};

/// Between two health checks, by default.
const INTERVAL: Span = Span::from_secs(10);
/// How long a Classic Load Balancer drains connections, if it is told to and not how long.
const CLASSIC_DRAINING: Span = Span::from_secs(300);

/// Whom a load balancer sends to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Targets {
    Pods,
    Nodes,
}

impl Targets {
    fn read(text: Option<&str>) -> Self {
        // LBC's default is `instance`.
        if text == Some("ip") { Self::Pods } else { Self::Nodes }
    }
}

/// The Services that select a pod, sorted.
pub fn services_of<'v>(view: &'v View, pod: &Pod) -> impl Iterator<Item = &'v Arc<Service>> {
    let all = view.table::<Service>().sorted().into_iter().map(|(_, service)| service);
    all.filter(|service| service.meta.namespace == pod.meta.namespace && selects(service, pod))
}

/// All ways to a pod; none if no Service selects it.
#[must_use]
pub fn paths_of(view: &View, pod: &Pod) -> BTreeSet<Path> {
    let mut paths = BTreeSet::new();
    for service in services_of(view, pod) {
        paths.insert(Path::Proxy);
        paths.extend(of_service(service));
        let namespace = &service.meta.namespace;
        let name = service.meta.name.as_str();
        for other in view.others().filter(|other| other.meta.namespace == *namespace) {
            paths.extend(of_other(view, other, service, name));
        }
    }
    paths
}

fn selects(service: &Service, pod: &Pod) -> bool {
    let mut wanted = service.spec.selector.iter().peekable();
    wanted.peek().is_some() && wanted.all(|(key, value)| pod.meta.labels.value(key) == Some(value))
}

/// What the Service itself has ordered.
fn of_service(service: &Service) -> Option<Path> {
    if &*service.spec.r#type != "LoadBalancer" {
        return None;
    }
    if is_classic(service) {
        return Some(to(Targets::Nodes, Balancer::Classic, draining(service), service));
    }
    let has_ip = annotation(service, "type") == Some("nlb-ip");
    let targets = if has_ip { Targets::Pods } else { Targets::read(annotation(service, "nlb-target-type")) };
    let delay = delay(annotation(service, "target-group-attributes"));
    Some(to(targets, Balancer::Nlb, delay, service))
}

fn annotation<'s>(service: &'s Service, name: &str) -> Option<&'s str> {
    service.meta.annotations.value(&format!("service.beta.kubernetes.io/aws-load-balancer-{name}"))
}

/// Whether the cloud provider makes a Classic Load Balancer of it: the name that AWS has given tells (`NAME-NUMBER.REGION.elb.amazonaws.com`;
/// a Network Load Balancer's has `elb.REGION`), or else that neither an annotation nor a class asks for another.
fn is_classic(service: &Service) -> bool {
    let raw = service.meta.raw.0.as_deref().and_then(|raw| serde_json::from_str::<Value>(raw).ok());
    let raw = raw.unwrap_or_default();
    let hostname = raw["status"]["loadBalancer"]["ingress"][0]["hostname"].as_str();
    if let Some(name) = hostname.filter(|name| name.contains(".amazonaws.com")) {
        return name.contains(".elb.amazonaws.com");
    }
    let asks = ["type", "nlb-target-type", "target-group-attributes"];
    asks.iter().all(|name| annotation(service, name).is_none()) && raw["spec"]["loadBalancerClass"].is_null()
}

/// A Classic Load Balancer's connection draining; zero: none.
fn draining(service: &Service) -> Span {
    if annotation(service, "connection-draining-enabled") != Some("true") {
        return Span::ZERO;
    }
    let seconds = annotation(service, "connection-draining-timeout").and_then(|text| text.parse().ok());
    seconds.map_or(CLASSIC_DRAINING, Span::from_secs)
}

fn to(targets: Targets, balancer: Balancer, delay: Span, service: &Service) -> Path {
    let is_local = &*service.spec.external_traffic_policy == "Local";
    match (targets, balancer) {
        (Targets::Pods, Balancer::Alb) => Path::AlbIp { delay },
        (Targets::Pods, Balancer::Nlb | Balancer::Classic) => Path::NlbIp { delay },
        (Targets::Nodes, Balancer::Nlb) if is_local => checked(service, balancer, 3),
        (Targets::Nodes, Balancer::Classic) if is_local => checked(service, balancer, 6),
        (Targets::Nodes, balancer) => Path::Nodes { balancer, delay },
    }
}

/// Found by health checks: as annotated, or by the controllers' defaults (AWS Load Balancer Controller: three failures; the cloud provider's
/// Classic Load Balancer: six).
fn checked(service: &Service, balancer: Balancer, failures: u32) -> Path {
    let interval = annotation(service, "healthcheck-interval").and_then(|text| text.parse().ok());
    let set = annotation(service, "healthcheck-unhealthy-threshold").and_then(|text| text.parse().ok());
    let interval = interval.map_or(INTERVAL, Span::from_secs);
    Path::Local { balancer, interval, failures: set.unwrap_or(failures) }
}

/// What an Ingress or a target group binding of the namespace makes of the Service.
fn of_other(view: &View, other: &Other, service: &Service, name: &str) -> Option<Path> {
    match (other.group(), &*other.kind) {
        ("networking.k8s.io", "Ingress") => {
            let object = whole(other)?;
            let is_alb = ingress_class(view, &object) == "alb"
                || other.meta.annotations.value("kubernetes.io/ingress.class") == Some("alb");
            if !is_alb || !names_service(&object["spec"], name) {
                return None;
            }
            let annotation =
                |key: &str| other.meta.annotations.value(&format!("alb.ingress.kubernetes.io/{key}"));
            let delay = delay(annotation("target-group-attributes"));
            Some(to(Targets::read(annotation("target-type")), Balancer::Alb, delay, service))
        }
        ("elbv2.k8s.aws", "TargetGroupBinding") => {
            let object = whole(other)?;
            if object["spec"]["serviceRef"]["name"].as_str() != Some(name) {
                return None;
            }
            let protocol = object["spec"]["targetGroupProtocol"].as_str().unwrap_or("HTTP");
            let balancer = if protocol.starts_with("HTTP") { Balancer::Alb } else { Balancer::Nlb };
            let targets = Targets::read(object["spec"]["targetType"].as_str());
            Some(to(targets, balancer, Path::DELAY, service))
        }
        (_, _) => None,
    }
}

fn whole(other: &Other) -> Option<Value> {
    serde_json::from_str(other.meta.raw.0.as_deref()?).ok()
}

/// `alb` where the Ingress's class is the load balancer controller's, whatever its name.
fn ingress_class(view: &View, ingress: &Value) -> &'static str {
    let Some(name) = ingress["spec"]["ingressClassName"].as_str() else { return "" };
    let key = Key::cluster(name);
    let class = view.other("networking.k8s.io", "IngressClass", &key).and_then(|class| whole(class));
    let controller = class.as_ref().and_then(|class| class["spec"]["controller"].as_str());
    let is_alb = controller.map_or(name == "alb", |controller| controller == "ingress.k8s.aws/alb");
    if is_alb { "alb" } else { "" }
}

/// Whether some backend of an Ingress is a Service of this name.
fn names_service(spec: &Value, name: &str) -> bool {
    match spec {
        Value::Object(members) => members.iter().any(|(key, member)| {
            (key == "service" && member["name"].as_str() == Some(name)) || names_service(member, name)
        }),
        Value::Array(items) => items.iter().any(|item| names_service(item, name)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// `deregistration_delay.timeout_seconds=60` among the attributes.
fn delay(attributes: Option<&str>) -> Span {
    let pairs = attributes.unwrap_or_default().split(',').filter_map(|pair| pair.trim().split_once('='));
    let mut seconds = pairs
        .filter(|(key, _)| *key == "deregistration_delay.timeout_seconds")
        .filter_map(|(_, value)| value.parse().ok());
    seconds.next().map_or(Path::DELAY, Span::from_secs)
}

#[cfg(test)]
mod tests {
    use replank_model::delta::Delta;
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn paths(objects: impl IntoIterator<Item = Value>) -> Vec<Path> {
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p",
            "labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
        let mut view = View::default();
        for object in objects.into_iter().chain([pod]) {
            view.apply(Delta::Put(Object::from_json(object).expect("an object")));
        }
        let pod = view.pods.by_key(&Key::new("shop", "p")).expect("it is there");
        paths_of(&view, pod).into_iter().collect()
    }

    fn service(r#type: &str, policy: &str, annotations: &Value) -> Value {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s",
            "annotations": annotations},
            "spec": {"type": r#type, "selector": {"app": "web"}, "externalTrafficPolicy": policy}})
    }

    #[test]
    fn a_service_says_by_itself_whom_its_load_balancer_sends_to() {
        let none = json!({});
        assert_eq!(paths([service("ClusterIP", "", &none)]), [Path::Proxy]);
        let nlb = json!({"service.beta.kubernetes.io/aws-load-balancer-type": "nlb"});
        let nodes = Path::Nodes { balancer: Balancer::Nlb, delay: Path::DELAY };
        assert_eq!(paths([service("LoadBalancer", "Cluster", &nlb)]), [Path::Proxy, nodes]);
        let local = |balancer, failures| Path::Local { balancer, interval: Span::from_secs(10), failures };
        assert_eq!(paths([service("LoadBalancer", "Local", &nlb)]), [Path::Proxy, local(Balancer::Nlb, 3)]);
        let often = json!({"service.beta.kubernetes.io/aws-load-balancer-type": "external",
            "service.beta.kubernetes.io/aws-load-balancer-healthcheck-unhealthy-threshold": "2"});
        assert_eq!(paths([service("LoadBalancer", "Local", &often)]), [Path::Proxy, local(Balancer::Nlb, 2)]);
        let ip = json!({"service.beta.kubernetes.io/aws-load-balancer-nlb-target-type": "ip",
            "service.beta.kubernetes.io/aws-load-balancer-target-group-attributes":
                "preserve_client_ip.enabled=true,deregistration_delay.timeout_seconds=60"});
        let to_pods = Path::NlbIp { delay: Span::from_secs(60) };
        assert_eq!(paths([service("LoadBalancer", "Local", &ip)]), [Path::Proxy, to_pods]);
    }

    #[test]
    fn a_service_that_asks_for_no_other_has_a_classic_load_balancer() {
        let classic = |delay| Path::Nodes { balancer: Balancer::Classic, delay: Span::from_secs(delay) };
        let none = json!({});
        assert_eq!(paths([service("LoadBalancer", "Cluster", &none)]), [Path::Proxy, classic(0)]);
        let draining = |more: Value| {
            let mut all =
                json!({"service.beta.kubernetes.io/aws-load-balancer-connection-draining-enabled": "true"});
            if let Some(seconds) = more.as_str() {
                all["service.beta.kubernetes.io/aws-load-balancer-connection-draining-timeout"] =
                    json!(seconds);
            }
            paths([service("LoadBalancer", "Cluster", &all)])
        };
        assert_eq!(draining(json!("60")), [Path::Proxy, classic(60)]);
        assert_eq!(draining(Value::Null), [Path::Proxy, classic(300)]);
        let local = Path::Local { balancer: Balancer::Classic, interval: Span::from_secs(10), failures: 6 };
        assert_eq!(paths([service("LoadBalancer", "Local", &none)]), [Path::Proxy, local]);
        let nlb = Path::Nodes { balancer: Balancer::Nlb, delay: Path::DELAY };
        let mut classed = service("LoadBalancer", "Cluster", &none);
        classed["spec"]["loadBalancerClass"] = json!("service.k8s.aws/nlb");
        assert_eq!(paths([classed]), [Path::Proxy, nlb]);
        let named = |hostname: &str| {
            let mut named = service("LoadBalancer", "Cluster", &none);
            named["status"] = json!({"loadBalancer": {"ingress": [{"hostname": hostname}]}});
            paths([named])
        };
        assert_eq!(named("k8s-shop-web-0a1b.elb.eu-west-1.amazonaws.com"), [Path::Proxy, nlb]);
        assert_eq!(named("a0b1-123.eu-west-1.elb.amazonaws.com"), [Path::Proxy, classic(0)]);
    }

    #[test]
    fn an_ingress_and_a_binding_lead_to_their_service_only() {
        let ingress = |class: &str, to: &str| {
            json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "in", "namespace": "shop",
                "uid": "in", "annotations": {"alb.ingress.kubernetes.io/target-type": "ip"}},
                "spec": {"ingressClassName": class, "rules": [{"http": {"paths": [{"path": "/",
                    "backend": {"service": {"name": to, "port": {"number": 80}}}}]}}]}})
        };
        let plain = || service("ClusterIP", "", &json!({}));
        let to_pods = Path::AlbIp { delay: Path::DELAY };
        assert_eq!(paths([plain(), ingress("alb", "web")]), [Path::Proxy, to_pods]);
        assert_eq!(paths([plain(), ingress("alb", "other")]), [Path::Proxy]);
        assert_eq!(paths([plain(), ingress("nginx", "web")]), [Path::Proxy]);
        let named = json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass",
            "metadata": {"name": "public", "uid": "c"}, "spec": {"controller": "ingress.k8s.aws/alb"}});
        assert_eq!(paths([plain(), ingress("public", "web"), named]), [Path::Proxy, to_pods]);
        let binding = json!({"apiVersion": "elbv2.k8s.aws/v1beta1", "kind": "TargetGroupBinding",
            "metadata": {"name": "b", "namespace": "shop", "uid": "b"},
            "spec": {"serviceRef": {"name": "web"}, "targetType": "instance", "targetGroupProtocol": "TCP"}});
        let nodes = Path::Nodes { balancer: Balancer::Nlb, delay: Path::DELAY };
        assert_eq!(paths([plain(), binding]), [Path::Proxy, nodes]);
    }

    #[test]
    fn a_service_without_a_selector_or_with_another_leads_to_no_pod() {
        let mut other = service("LoadBalancer", "", &json!({}));
        other["spec"]["selector"] = json!({"app": "db"});
        assert_eq!(paths([other.clone()]), []);
        other["spec"]["selector"] = json!({});
        assert_eq!(paths([other]), []);
    }
}
