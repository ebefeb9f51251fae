//! What an object means to the cluster, whatever its version: every default written out, in one form for all versions. Written
//! down from the documentation of the versions, not from the converters.

use serde_json::{Map, Value, json};

/// Whether a person has to decide, by the guide.
pub(super) fn needs_a_person(object: &Value) -> bool {
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap() {
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => {
            let none = |value: &Value| value.as_object().is_none_or(Map::is_empty);
            none(&spec["template"]["metadata"]["labels"]) && spec.get("selector").is_none_or(Value::is_null)
        }
        "Ingress" => {
            let mut backends = vec![&spec["backend"]];
            for rule in list(&spec["rules"]) {
                backends.extend(list(&rule["http"]["paths"]).iter().map(|path| &path["backend"]));
            }
            backends.iter().any(|backend| {
                let port = &backend["servicePort"];
                let bad = port.is_null() || port == "0" || port == 70000;
                backend.get("serviceName").is_some() && bad
            })
        }
        "CronJob" => {
            let schedule = spec["schedule"].as_str().unwrap();
            schedule.contains("TZ=") && (spec.get("timeZone").is_some() || schedule.contains("=Local"))
        }
        "CustomResourceDefinition" => {
            let spec_schema = &spec["validation"]["openAPIV3Schema"]["properties"]["spec"];
            let untyped = spec_schema.is_object()
                && spec_schema.get("type").is_none()
                && spec_schema.get("x-kubernetes-int-or-string").is_none();
            untyped || (spec.get("versions").is_none() && spec.get("version").is_none())
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            list(&object["webhooks"]).iter().any(|of| of["sideEffects"] == "Unknown")
        }
        "CertificateSigningRequest" => {
            spec.get("signerName").is_none() || spec["signerName"] == "kubernetes.io/legacy-unknown"
        }
        "Event" => {
            let required = ["action", "reason", "reportingController", "reportingInstance", "eventTime"];
            object["type"] == "Odd" || required.iter().any(|key| object.get(key).is_none())
        }
        _ => false,
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn or(value: &Value, default: Value) -> Value {
    if value.is_null() { default } else { value.clone() }
}

fn or_text(value: &Value, default: &str) -> Value {
    if value == "" { json!(default) } else { or(value, json!(default)) }
}

fn or_empty(value: &Value, default: &Value) -> Value {
    let empty = value.is_null() || value == &json!({}) || value == &json!([]);
    if empty { default.clone() } else { value.clone() }
}

pub(super) fn means(object: &Value) -> Value {
    let version = object["apiVersion"].as_str().unwrap();
    let spec = &object["spec"];
    match object["kind"].as_str().unwrap() {
        kind @ ("Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet") => workload(kind, version, object),
        "Ingress" => ingress(spec),
        "RuntimeClass" => {
            let of = if version.ends_with("v1alpha1") { spec } else { object };
            let handler = if version.ends_with("v1alpha1") { &of["runtimeHandler"] } else { &of["handler"] };
            json!([handler, of["overhead"], of["scheduling"]])
        }
        "CronJob" => {
            let schedule = spec["schedule"].as_str().unwrap();
            let (zone, rest) = match schedule.split_once("TZ=") {
                Some((_, rest)) => {
                    let (zone, rest) = rest.split_once(' ').unwrap();
                    (json!(zone), rest)
                }
                None => (spec["timeZone"].clone(), schedule),
            };
            json!([zone, rest, spec["suspend"], spec["jobTemplate"]])
        }
        "PodDisruptionBudget" => budget(version, spec),
        "HorizontalPodAutoscaler" => autoscaler(version, object),
        "CustomResourceDefinition" => definition(version, spec),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => webhooks(version, object),
        "CertificateSigningRequest" => {
            json!([spec["signerName"], or(&spec["usages"], json!(["digital signature", "key encipherment"]))])
        }
        "SubjectAccessReview" | "LocalSubjectAccessReview" => {
            json!([spec["user"], or(&spec["groups"], or(&spec["group"], json!([])))])
        }
        "EndpointSlice" => Value::Array(list(&object["endpoints"]).iter().map(endpoint).collect()),
        "Event" => json!([object["action"], object["reason"], object["type"], object["series"]["count"]]),
        "PriorityLevelConfiguration" => level(version, object),
        "ResourceClaim" => Value::Array(list(&spec["devices"]["requests"]).iter().map(request).collect()),
        "ResourceClaimTemplate" => {
            let requests = &spec["spec"]["devices"]["requests"];
            Value::Array(list(requests).iter().map(request).collect())
        }
        "ResourceSlice" => Value::Array(list(&spec["devices"]).iter().map(device).collect()),
        _ => spec.clone(),
    }
}

fn workload(kind: &str, version: &str, object: &Value) -> Value {
    let spec = &object["spec"];
    let template = &spec["template"]["metadata"]["labels"];
    let from_template = matches!(version, "extensions/v1beta1" | "apps/v1beta1");
    let inherited = if from_template { template.clone() } else { json!({}) };
    let own = or_empty(&object["metadata"]["labels"], &or(&inherited, json!({})));
    let selector = or(&spec["selector"], json!({"matchLabels": or(&inherited, json!({}))}));
    let old = version == "extensions/v1beta1";
    let of_kind = match kind {
        "Deployment" => {
            let strategy = &spec["strategy"];
            let surge = if old { json!(1) } else { json!("25%") };
            let rolling = &strategy["rollingUpdate"];
            let strategy = match or_text(&strategy["type"], "RollingUpdate").as_str().unwrap() {
                "Recreate" => json!("Recreate"),
                _ => json!([or(&rolling["maxSurge"], surge.clone()), or(&rolling["maxUnavailable"], surge)]),
            };
            let history = match version {
                "extensions/v1beta1" => 2_147_483_647,
                "apps/v1beta1" => 2,
                _ => 10,
            };
            let deadline = if old { 2_147_483_647 } else { 600 };
            json!([
                strategy,
                or(&spec["revisionHistoryLimit"], json!(history)),
                or(&spec["progressDeadlineSeconds"], json!(deadline))
            ])
        }
        "DaemonSet" | "StatefulSet" => {
            let on_delete = old || version == "apps/v1beta1";
            let strategy = &spec["updateStrategy"];
            json!([
                or_text(&strategy["type"], if on_delete { "OnDelete" } else { "RollingUpdate" }),
                strategy["rollingUpdate"]
            ])
        }
        _ => json!(null),
    };
    json!([own, selector, of_kind, spec["replicas"], template])
}

fn ingress(spec: &Value) -> Value {
    let backend = |of: &Value| {
        if of["resource"].is_object() {
            return json!({"resource": of["resource"]});
        }
        let (name, port) = if let Value::Object(service) = &of["service"] {
            let port = &service["port"];
            (service["name"].clone(), or(&port["number"], port["name"].clone()))
        } else {
            (of["serviceName"].clone(), of["servicePort"].clone())
        };
        // "8080" is a number when the port is looked up.
        let port =
            port.as_str().and_then(|port| port.parse::<i64>().ok()).map_or(port.clone(), |port| json!(port));
        json!([name, port])
    };
    let default = [&spec["defaultBackend"], &spec["backend"]].into_iter().find(|of| !of.is_null());
    let rules: Vec<Value> = list(&spec["rules"])
        .iter()
        .map(|rule| {
            let paths: Vec<Value> = list(&rule["http"]["paths"])
                .iter()
                .map(|path| {
                    json!([
                        path["path"],
                        or(&path["pathType"], json!("ImplementationSpecific")),
                        backend(&path["backend"])
                    ])
                })
                .collect();
            json!([rule["host"], paths])
        })
        .collect();
    json!([default.map(backend), rules])
}

fn budget(version: &str, spec: &Value) -> Value {
    let selector = &spec["selector"];
    let key = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    let empty =
        |key: &str| list(&selector[key]).is_empty() && selector[key].as_object().is_none_or(Map::is_empty);
    let only = match list(&selector["matchExpressions"]) {
        [only] if only["key"] == key && empty("matchLabels") => only["operator"].as_str(),
        _ => None,
    };
    // No pod has such a label.
    let matches = match (selector.is_null(), only) {
        (true, _) | (_, Some("Exists")) => json!("none"),
        (_, Some(_)) => json!("all"),
        (false, None) if empty("matchLabels") && empty("matchExpressions") => {
            json!(if version == "policy/v1" { "all" } else { "none" })
        }
        (false, None) => selector.clone(),
    };
    json!([matches, spec["minAvailable"]])
}

fn autoscaler(version: &str, object: &Value) -> Value {
    let spec = &object["spec"];
    let cpu = |percent: Value| json!([["Resource", "cpu", null, null, null, "Utilization", percent]]);
    let metrics = if version == "autoscaling/v1" {
        cpu(or(&spec["targetCPUUtilizationPercentage"], json!(80)))
    } else if list(&spec["metrics"]).is_empty() {
        cpu(json!(80))
    } else {
        Value::Array(list(&spec["metrics"]).iter().map(metric).collect())
    };
    let annotation = object["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/behavior"].as_str();
    let behavior = match annotation.and_then(|text| serde_json::from_str::<Value>(text).ok()) {
        Some(behavior) => {
            let up = &behavior["ScaleUp"];
            json!([
                up["StabilizationWindowSeconds"],
                up["Policies"][0]["Type"],
                up["Policies"][0]["Value"],
                up["Policies"][0]["PeriodSeconds"]
            ])
        }
        None => {
            let up = &spec["behavior"]["scaleUp"];
            json!([
                up["stabilizationWindowSeconds"],
                up["policies"][0]["type"],
                up["policies"][0]["value"],
                up["policies"][0]["periodSeconds"]
            ])
        }
    };
    json!([spec["scaleTargetRef"], spec["maxReplicas"], spec["minReplicas"], metrics, behavior])
}

/// Type, name, selector, container, object, how it is compared, with what.
fn metric(of: &Value) -> Value {
    let kind = of["type"].as_str().unwrap();
    let source = match kind {
        "Resource" => &of["resource"],
        "ContainerResource" => &of["containerResource"],
        "Pods" => &of["pods"],
        "Object" => &of["object"],
        _ => &of["external"],
    };
    let first = |values: &[&Value]| {
        values.iter().find(|value| !value.is_null()).map_or(Value::Null, |value| (*value).clone())
    };
    let name = first(&[&source["metric"]["name"], &source["metricName"], &source["name"]]);
    let selector = first(&[&source["metric"]["selector"], &source["selector"], &source["metricSelector"]]);
    let is_target = source["target"]["type"].is_string();
    let described = if is_target { &source["describedObject"] } else { &source["target"] };
    let (utilization, average, value) = if is_target {
        let target = &source["target"];
        (&target["averageUtilization"], first(&[&target["averageValue"]]), first(&[&target["value"]]))
    } else {
        let average = first(&[&source["targetAverageValue"], &source["averageValue"]]);
        (&source["targetAverageUtilization"], average, first(&[&source["targetValue"]]))
    };
    let (compared, with) = if !utilization.is_null() {
        ("Utilization", utilization.clone())
    } else if !average.is_null() {
        ("AverageValue", average)
    } else {
        ("Value", value)
    };
    let object = if kind == "Object" { described.clone() } else { Value::Null };
    json!([kind, name, selector, source["container"], object, compared, with])
}

fn definition(version: &str, spec: &Value) -> Value {
    let old = version.ends_with("v1beta1");
    let preserves = spec["preserveUnknownFields"].as_bool().unwrap_or(old);
    let of_old = json!([{"name": spec["version"], "served": true, "storage": true}]);
    let versions = or_empty(&spec["versions"], &of_old);
    let each: Vec<Value> = list(&versions)
        .iter()
        .map(|of| {
            let schema = [&of["schema"], &spec["validation"]].into_iter().find(|of| !of.is_null());
            let columns = [&of["additionalPrinterColumns"], &spec["additionalPrinterColumns"]];
            let columns: Vec<Value> = columns
                .into_iter()
                .find(|of| !of.is_null())
                .map(list)
                .unwrap_or_default()
                .iter()
                .map(|of| json!([of["name"], or(&of["jsonPath"], of["JSONPath"].clone())]))
                .collect();
            let schema = schema.map_or(json!({}), |of| of["openAPIV3Schema"].clone());
            let mut kept = Vec::new();
            keeps(&schema, preserves, "", &mut kept);
            let subresources = or(&of["subresources"], spec["subresources"].clone());
            json!([of["name"], of["served"], of["storage"], columns, subresources, kept])
        })
        .collect();
    let conversion = &spec["conversion"];
    let webhook = &conversion["webhook"];
    let config = or(&webhook["clientConfig"], conversion["webhookClientConfig"].clone());
    let reviews = or(&webhook["conversionReviewVersions"], conversion["conversionReviewVersions"].clone());
    let reviews = if config.is_null() { Value::Null } else { or(&reviews, json!(["v1beta1"])) };
    json!([
        or_text(&spec["scope"], "Namespaced"),
        each,
        or_text(&conversion["strategy"], "None"),
        config,
        reviews
    ])
}

/// The places of a schema at which what it does not know is kept, or dropped. Where any key may come, neither.
fn keeps(schema: &Value, all: bool, at: &str, kept: &mut Vec<Value>) {
    let is_object = schema["type"] == "object" || at.is_empty();
    if is_object && !schema["additionalProperties"].is_object() {
        let own = schema["x-kubernetes-preserve-unknown-fields"] == true;
        kept.push(json!([at, all || own]));
    }
    if schema["items"].is_object() {
        keeps(&schema["items"], all, &format!("{at}[]"), kept);
    }
    if schema["additionalProperties"].is_object() {
        keeps(&schema["additionalProperties"], all, &format!("{at}.*"), kept);
    }
    if let Some(properties) = schema["properties"].as_object() {
        properties.iter().for_each(|(key, of)| keeps(of, all, &format!("{at}.{key}"), kept));
    }
}

fn webhooks(version: &str, object: &Value) -> Value {
    let old = version.ends_with("v1beta1");
    let each = list(&object["webhooks"]).iter().map(|of| {
        json!([
            of["name"],
            or(&of["failurePolicy"], json!(if old { "Ignore" } else { "Fail" })),
            or(&of["matchPolicy"], json!(if old { "Exact" } else { "Equivalent" })),
            or(&of["timeoutSeconds"], json!(if old { 30 } else { 10 })),
            or_empty(&of["admissionReviewVersions"], &json!(["v1beta1"])),
            of["sideEffects"]
        ])
    });
    Value::Array(each.collect())
}

/// The node as kube-proxy finds it, and the zone.
fn endpoint(of: &Value) -> Value {
    let topology = |key: &str| of["topology"][key].clone();
    json!([
        or(&of["nodeName"], topology("kubernetes.io/hostname")),
        or(&of["zone"], topology("topology.kubernetes.io/zone"))
    ])
}

fn level(version: &str, object: &Value) -> Value {
    let limited = &object["spec"]["limited"];
    let shares = or(&limited["nominalConcurrencyShares"], limited["assuredConcurrencyShares"].clone());
    let annotation =
        &object["metadata"]["annotations"]["flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"];
    let zero_counts = version.ends_with("/v1") || (version.ends_with("v1beta3") && annotation == "");
    let shares = if shares == 0 && !zero_counts { json!(30) } else { or(&shares, json!(30)) };
    json!([shares, limited["limitResponse"]])
}

fn request(of: &Value) -> Value {
    let exactly = if of["exactly"].is_object() { &of["exactly"] } else { of };
    json!([
        of["name"],
        of["firstAvailable"],
        exactly["deviceClassName"],
        or(&exactly["count"], json!(1)),
        or_text(&exactly["allocationMode"], "ExactCount")
    ])
}

fn device(of: &Value) -> Value {
    let basic = if of["basic"].is_object() { &of["basic"] } else { of };
    let memory = &basic["capacity"]["memory"];
    let memory = if memory.is_object() { &memory["value"] } else { memory };
    json!([of["name"], basic["attributes"], memory])
}
