//! LimitRanges: what containers get that do not say what they need, and whether that is within bounds (plugin LimitRanger,
//! `plugin/pkg/admission/limitranger/admission.go`).

use std::str::FromStr;

use replank_model::object::pod::{Container, Pod, PodSpec};
use replank_model::object::requests;
use replank_model::object::resources::Resources;
use replank_model::object::volume::PersistentVolumeClaim;
use replank_model::object::{Kind, Object, render};
use replank_model::quantity::Quantity;
use replank_model::text::{Namespace, Text};
use serde_json::Value;

use super::error::ApiError;
use super::store::Api;

/// Annotation that tells what was filled in.
pub(super) const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// One item of a LimitRange.
#[derive(Debug)]
struct Limit {
    /// `Container`, `Pod` or `PersistentVolumeClaim`.
    of: String,
    min: Resources,
    max: Resources,
    default: Resources,
    default_request: Resources,
    ratio: Resources,
}

impl Limit {
    fn read(item: &Value) -> Self {
        let resources = |member: &str| -> Resources {
            let members = item.get(member).and_then(Value::as_object).into_iter().flatten();
            let read = members.filter_map(|(name, text)| {
                let quantity = Quantity::from_str(text.as_str()?).ok()?;
                Some((Text::from(name.as_str()), quantity))
            });
            read.collect()
        };
        Self {
            of: item.get("type").and_then(Value::as_str).unwrap_or_default().to_owned(),
            min: resources("min"),
            max: resources("max"),
            default: resources("default"),
            default_request: resources("defaultRequest"),
            ratio: resources("maxLimitRequestRatio"),
        }
    }
}

impl Api {
    /// The items of each LimitRange of a namespace, by the ranges' names. A rehearsal has none: what its snapshot shows was completed before.
    fn limits(&self, namespace: &Namespace) -> Vec<Vec<Limit>> {
        if !self.serving().is_any() {
            return Vec::new();
        }
        let ranges = self.view().others_in("", "LimitRange", namespace);
        let items = ranges.map(|range| {
            let range = render(&Object::Other(range.clone()));
            let items = range.pointer("/spec/limits").and_then(Value::as_array);
            items.into_iter().flatten().map(Limit::read).collect()
        });
        items.collect()
    }

    /// Fills in what containers do not say. What is told of it, if anything was filled in.
    pub(super) fn fill_limits(&self, namespace: &Namespace, spec: &mut PodSpec) -> Option<Text> {
        let mut told: Vec<String> = Vec::new();
        for items in self.limits(namespace) {
            let (mut requests, mut limits) = (Resources::default(), Resources::default());
            for item in items.iter().filter(|item| item.of == "Container") {
                item.default_request.iter().for_each(|(name, one)| requests.set(name.clone(), one.clone()));
                item.default.iter().for_each(|(name, one)| limits.set(name.clone(), one.clone()));
            }
            for container in &mut spec.containers {
                fill(container, "container", (&requests, &limits), &mut told);
            }
            for container in &mut spec.init_containers {
                fill(container, "init container", (&requests, &limits), &mut told);
            }
        }
        (!told.is_empty()).then(|| Text::from(format!("LimitRanger plugin set: {}", told.join("; "))))
    }

    /// Whether a new pod is within the bounds of its namespace.
    ///
    /// # Errors
    /// 403 with everything that one range says.
    pub(crate) fn check_limits(&self, pod: &Pod) -> Result<(), ApiError> {
        for items in self.limits(&pod.meta.namespace) {
            let mut wrong = Vec::new();
            for item in &items {
                match &*item.of {
                    "Container" => {
                        let containers = pod.spec.containers.iter().chain(&pod.spec.init_containers);
                        for container in containers {
                            let resources = &container.resources;
                            check(item, &resources.requests, &resources.limits, &mut wrong);
                        }
                    }
                    "Pod" => {
                        let limits = requests::limits_of_containers(&pod.spec);
                        check(item, &requests::of_pod(pod), &limits, &mut wrong);
                    }
                    _ => {}
                }
            }
            if let Some(why) = aggregate(&wrong) {
                return Err(ApiError::forbidden(Kind::Pod, &pod.meta.key(), &why));
            }
        }
        Ok(())
    }

    /// Whether a new claim is within the bounds of its namespace.
    ///
    /// # Errors
    /// 403 with everything that one range says.
    pub(super) fn check_claim_limits(&self, claim: &PersistentVolumeClaim) -> Result<(), ApiError> {
        let asked = &claim.spec.resources.requests;
        for items in self.limits(&claim.meta.namespace) {
            let mut wrong = Vec::new();
            for item in items.iter().filter(|item| item.of == "PersistentVolumeClaim") {
                for (name, bound) in item.min.iter() {
                    let head = format!("minimum {name} usage per {} is {bound}", item.of);
                    wrong.extend(bounded(&head, "request", asked.get(name), |asked| asked >= bound));
                }
                for (name, bound) in item.max.iter() {
                    let head = format!("maximum {name} usage per {} is {bound}", item.of);
                    wrong.extend(bounded(&head, "request", asked.get(name), |asked| asked <= bound));
                }
            }
            if let Some(why) = aggregate(&wrong) {
                return Err(ApiError::forbidden(Kind::PersistentVolumeClaim, &claim.meta.key(), &why));
            }
        }
        Ok(())
    }
}

fn fill(
    container: &mut Container,
    what: &str,
    (requests, limits): (&Resources, &Resources),
    told: &mut Vec<String>,
) {
    let own = &mut container.resources;
    for (word, defaults, own) in
        [("request", requests, &mut own.requests), ("limit", limits, &mut own.limits)]
    {
        let missing: Vec<(Text, Quantity)> = defaults
            .iter()
            .filter(|(name, _)| own.get(name).is_none())
            .map(|(name, quantity)| (name.clone(), quantity.clone()))
            .collect();
        if missing.is_empty() {
            continue;
        }
        let names: Vec<&str> = missing.iter().map(|(name, _)| &**name).collect();
        told.push(format!("{} {word} for {what} {}", names.join(", "), container.name));
        missing.into_iter().for_each(|(name, quantity)| own.set(name, quantity));
    }
}

/// What one item says of requests and limits.
fn check(item: &Limit, requests: &Resources, limits: &Resources, wrong: &mut Vec<String>) {
    for (name, bound) in item.min.iter() {
        let head = format!("minimum {name} usage per {} is {bound}", item.of);
        let (request, limit) = (requests.get(name), limits.get(name));
        let low = bounded(&head, "request", request, |asked| asked >= bound);
        let low =
            low.or_else(|| limit.and_then(|limit| bounded(&head, "limit", Some(limit), |l| l >= bound)));
        wrong.extend(low);
    }
    for (name, bound) in item.max.iter() {
        let head = format!("maximum {name} usage per {} is {bound}", item.of);
        let (request, limit) = (requests.get(name), limits.get(name));
        let high = bounded(&head, "limit", limit, |limit| limit <= bound);
        let high =
            high.or_else(|| request.and_then(|one| bounded(&head, "request", Some(one), |r| r <= bound)));
        wrong.extend(high);
    }
    for (name, bound) in item.ratio.iter() {
        let head = format!("{name} max limit to request ratio per {} is {bound}, but", item.of);
        wrong.extend(ratio(&head, bound, requests.get(name), limits.get(name)));
    }
}

/// What is wrong with a quantity that must be there and fit.
fn bounded(
    head: &str,
    word: &str,
    given: Option<&Quantity>,
    fits: impl FnOnce(&Quantity) -> bool,
) -> Option<String> {
    match given {
        None => Some(format!("{head}. No {word} is specified")),
        Some(given) if !fits(given) => Some(format!("{head}, but {word} is {given}")),
        Some(_) => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "upstream compares floating point numbers, too")]
fn ratio(
    head: &str,
    bound: &Quantity,
    request: Option<&Quantity>,
    limit: Option<&Quantity>,
) -> Option<String> {
    let Some(request) = request.filter(|request| !request.is_zero()) else {
        return Some(format!("{head} no request is specified or request is 0"));
    };
    let Some(limit) = limit.filter(|limit| !limit.is_zero()) else {
        return Some(format!("{head} no limit is specified or limit is 0"));
    };
    // Beyond this thousandths do not fit, and whole units are compared.
    const MILLI_MAX: i64 = i64::MAX / 1000;
    let is_small = [request, limit].iter().all(|one| one.value() <= MILLI_MAX);
    let of = |one: &Quantity| if is_small { one.milli_value() } else { one.value() };
    let provided = of(limit) as f64 / of(request) as f64;
    let is_over = match bound.value() <= MILLI_MAX {
        true => provided * 1000.0 > bound.milli_value() as f64,
        false => provided > bound.value() as f64,
    };
    is_over.then(|| format!("{head} provided ratio is {provided:.6}"))
}

/// Several reasons in brackets, one without.
fn aggregate(wrong: &[String]) -> Option<String> {
    match wrong {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use replank_model::time::Time;
    use replank_model::view::View;
    use serde_json::json;

    use super::super::serving::Serving;
    use super::*;
    use crate::Clock;
    use crate::draw::Draws;
    use crate::json::{Method, Request, Response};

    fn send(api: &mut Api, plural: &str, body: Value) -> Response {
        let path = format!("/api/v1/namespaces/a/{plural}");
        api.handle(&Request { method: Method::Post, path, content_type: String::new(), body, wire: None })
    }

    fn api(limits: &Value) -> Api {
        let clock = Clock::new(Time::from_millis(1_764_000_000_000));
        let mut api = Api::new(clock, View::default(), Draws::new(1));
        api.serve(Serving { accounts: false, addresses: true, traces: false });
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}});
        api.apply_json(namespace).expect("it is new");
        let range = json!({"metadata": {"name": "range"}, "spec": {"limits": limits}});
        let made = send(&mut api, "limitranges", range);
        assert_eq!(made.code, 201, "{}", made.body);
        api
    }

    fn pod(name: &str, resources: &Value) -> Value {
        json!({"metadata": {"name": name},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}})
    }

    #[test]
    fn what_a_container_does_not_say_is_filled_in_and_told() {
        let mut api = api(&json!([{"type": "Container", "default": {"cpu": "500m", "memory": "500Mi"},
            "defaultRequest": {"cpu": "100m", "memory": "200Mi"}}]));
        let made = send(&mut api, "pods", pod("p", &json!({"requests": {"cpu": "50m"}}))).body;
        let resources = json!({"requests": {"cpu": "50m", "memory": "200Mi"}, "limits": {"cpu": "500m", "memory": "500Mi"}});
        assert_eq!(made["spec"]["containers"][0]["resources"], resources);
        let told =
            "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c";
        assert_eq!(made["metadata"]["annotations"][ANNOTATION], told);
        let whole =
            json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}});
        let made = send(&mut api, "pods", pod("q", &whole)).body;
        assert_eq!(made["metadata"].get("annotations"), None);
    }

    #[test]
    fn what_is_out_of_bounds_is_refused_with_every_reason() {
        let mut api = api(&json!([{"type": "Container", "min": {"cpu": "50m"}, "max": {"memory": "500Mi"},
            "maxLimitRequestRatio": {"cpu": "2"}}, {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]));
        let given =
            json!({"requests": {"cpu": "10m", "memory": "600Mi"}, "limits": {"cpu": "1", "memory": "600Mi"}});
        let refused = send(&mut api, "pods", pod("p", &given));
        let why = "pods \"p\" is forbidden: [minimum cpu usage per Container is 50m, but request is 10m, \
                   maximum memory usage per Container is 500Mi, but limit is 600Mi, \
                   cpu max limit to request ratio per Container is 2, but provided ratio is 100.000000]";
        assert_eq!((refused.code, refused.body["message"].as_str()), (403, Some(why)));
        let claim = json!({"metadata": {"name": "v"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}});
        let refused = send(&mut api, "persistentvolumeclaims", claim);
        let why = "persistentvolumeclaims \"v\" is forbidden: maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi";
        assert_eq!((refused.code, refused.body["message"].as_str()), (403, Some(why)));
    }
}
