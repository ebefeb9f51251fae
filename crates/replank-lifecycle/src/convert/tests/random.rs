//! Random objects of old versions, with every field that the converters know there or not.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// An object of the optional members that are there.
fn members(of: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let (keys, values): (Vec<_>, Vec<_>) =
        of.into_iter().map(|(key, value)| (key, option::weighted(0.6, value))).unzip();
    values
        .prop_map(move |values| {
            let there = keys.iter().zip(values).filter_map(|(key, value)| Some(((*key).to_owned(), value?)));
            Value::Object(there.collect::<Map<_, _>>())
        })
        .boxed()
}

fn one_of(values: &[Value]) -> BoxedStrategy<Value> {
    proptest::sample::select(values.to_vec()).boxed()
}

fn with(base: Value, more: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    more.prop_map(move |more| {
        let mut base = base.clone();
        if let (Value::Object(base), Value::Object(more)) = (&mut base, more) {
            base.extend(more);
        }
        base
    })
    .boxed()
}

pub(super) fn object(kind: &'static str, api_version: &'static str) -> BoxedStrategy<Value> {
    let body = match kind {
        "Deployment" | "DaemonSet" | "StatefulSet" | "ReplicaSet" => workload(kind, api_version),
        "Ingress" => ingress(),
        "RuntimeClass" => runtime_class(api_version),
        "CronJob" => cron_job(),
        "PodDisruptionBudget" => budget(),
        "HorizontalPodAutoscaler" => autoscaler(api_version),
        "CustomResourceDefinition" => definition(),
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => webhooks(),
        "CertificateSigningRequest" => csr(),
        "EndpointSlice" => slice(),
        "Event" => event(),
        "PriorityLevelConfiguration" => level(api_version),
        "ResourceClaim" => claim(api_version),
        "ResourceClaimTemplate" => claim(api_version).prop_map(|claim| json!({"spec": claim})).boxed(),
        "ResourceSlice" => devices(api_version),
        "SubjectAccessReview" | "LocalSubjectAccessReview" => with(
            json!({}),
            members(vec![("group", one_of(&[json!(["a"]), json!([])])), ("user", one_of(&[json!("jo")]))]),
        )
        .prop_map(|spec| json!({"spec": spec}))
        .boxed(),
        _ => Just(json!({"spec": {"podSelector": {}}})).boxed(),
    };
    let needs_name = !matches!(kind, "SubjectAccessReview" | "LocalSubjectAccessReview");
    body.prop_map(move |body| {
        let mut object = json!({"apiVersion": api_version, "kind": kind});
        if needs_name {
            object["metadata"] = json!({"name": "a"});
        }
        if let (Value::Object(object), Value::Object(body)) = (&mut object, body) {
            for (key, value) in body {
                match (object.get_mut(&key), value) {
                    (Some(Value::Object(there)), Value::Object(more)) => there.extend(more),
                    (_, value) => {
                        object.insert(key, value);
                    }
                }
            }
        }
        object
    })
    .boxed()
}

fn labels() -> BoxedStrategy<Value> {
    one_of(&[json!({"app": "a"}), json!({"app": "a", "tier": "b"}), json!({}), Value::Null])
}

fn workload(kind: &str, api_version: &str) -> BoxedStrategy<Value> {
    let surge = || one_of(&[json!(0), json!(2), json!("30%"), Value::Null]);
    let rolling = members(vec![("maxSurge", surge()), ("maxUnavailable", surge())]);
    let rolling_daemon = members(vec![("maxUnavailable", one_of(&[json!(2), json!("10%")]))]);
    let mut of = vec![("selector", labels().prop_map(|labels| json!({"matchLabels": labels})).boxed())];
    match kind {
        "Deployment" => {
            let strategy = prop_oneof![
                Just(json!({"type": "Recreate"})),
                Just(Value::Null),
                members(vec![("type", one_of(&[json!("RollingUpdate")])), ("rollingUpdate", rolling)]),
            ];
            of.extend([
                ("strategy", strategy.boxed()),
                ("progressDeadlineSeconds", one_of(&[json!(30), Value::Null])),
                ("revisionHistoryLimit", one_of(&[json!(0), json!(5)])),
                ("rollbackTo", one_of(&[json!({"revision": 3})])),
            ]);
        }
        "DaemonSet" => of.extend([
            ("templateGeneration", one_of(&[json!(3)])),
            (
                "updateStrategy",
                members(vec![
                    ("type", one_of(&[json!("OnDelete"), json!("RollingUpdate"), Value::Null, json!("")])),
                    ("rollingUpdate", rolling_daemon),
                ]),
            ),
        ]),
        "StatefulSet" => of.push((
            "updateStrategy",
            members(vec![("type", one_of(&[json!("OnDelete"), json!("RollingUpdate")]))]),
        )),
        _ => of.push(("replicas", one_of(&[json!(3)]))),
    }
    // From apps/v1beta2 on the selector had to be there.
    let had_to = api_version == "apps/v1beta2";
    (members(of), labels(), option::of(labels()))
        .prop_map(move |(mut spec, of_template, own)| {
            if had_to {
                spec["selector"] = json!({"matchLabels": {"app": "a"}});
            }
            spec["template"] = json!({"metadata": {"labels": of_template}, "spec": {"containers": []}});
            match own {
                Some(own) => json!({"metadata": {"labels": own}, "spec": spec}),
                None => json!({"spec": spec}),
            }
        })
        .boxed()
}

fn ingress() -> BoxedStrategy<Value> {
    let backend = || {
        prop_oneof![
            4 => one_of(&[json!(80), json!("http"), json!("8080")])
                .prop_map(|port| json!({"serviceName": "a", "servicePort": port})),
            1 => Just(json!({"resource": {"kind": "Bucket", "name": "b"}})),
            1 => one_of(&[json!({"serviceName": "a"}), json!({"serviceName": "a", "servicePort": "0"}), json!({"serviceName": "a", "servicePort": 70000})]),
        ]
        .boxed()
    };
    let path = (
        backend(),
        members(vec![
            ("path", one_of(&[json!("/"), json!("/a")])),
            ("pathType", one_of(&[json!("Prefix"), Value::Null])),
        ]),
    )
        .prop_map(|(backend, mut path)| {
            path["backend"] = backend;
            path
        });
    let rule = vec(path, 0..3).prop_map(|paths| json!({"host": "a", "http": {"paths": paths}}));
    members(vec![("backend", backend()), ("rules", vec(rule, 0..3).prop_map(Value::from).boxed())])
        .prop_map(|spec| json!({"spec": spec}))
        .boxed()
}

fn runtime_class(api_version: &str) -> BoxedStrategy<Value> {
    let more = members(vec![
        ("overhead", one_of(&[json!({"podFixed": {"cpu": "1"}})])),
        ("scheduling", one_of(&[json!({"nodeSelector": {"a": "b"}})])),
    ]);
    if api_version == "node.k8s.io/v1alpha1" {
        with(json!({"runtimeHandler": "r"}), more).prop_map(|spec| json!({"spec": spec})).boxed()
    } else {
        with(json!({"handler": "r"}), more)
    }
}

fn cron_job() -> BoxedStrategy<Value> {
    let schedule = one_of(&[
        json!("0 9 * * *"),
        json!("TZ=Asia/Tokyo 0 9 * * *"),
        json!("CRON_TZ=UTC 1 1 * * *"),
        json!("TZ=Local 1 1 * * *"),
    ]);
    (schedule, members(vec![("timeZone", one_of(&[json!("UTC")])), ("suspend", one_of(&[json!(true)]))]))
        .prop_map(|(schedule, mut spec)| {
            spec["schedule"] = schedule;
            spec["jobTemplate"] = json!({"spec": {"template": {"spec": {"containers": []}}}});
            json!({"spec": spec})
        })
        .boxed()
}

fn budget() -> BoxedStrategy<Value> {
    let key = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
    let expression = move |operator: &str| json!({"matchExpressions": [{"key": key, "operator": operator}]});
    members(vec![
        (
            "selector",
            one_of(&[
                json!({}),
                Value::Null,
                json!({"matchLabels": {"a": "b"}}),
                json!({"matchLabels": {}, "matchExpressions": []}),
                expression("Exists"),
                expression("DoesNotExist"),
            ]),
        ),
        ("minAvailable", one_of(&[json!(1), json!("50%")])),
    ])
    .prop_map(|spec| json!({"spec": spec}))
    .boxed()
}

fn autoscaler(api_version: &str) -> BoxedStrategy<Value> {
    let base = json!({"maxReplicas": 5, "scaleTargetRef": {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}});
    if api_version == "autoscaling/v1" {
        let more = members(vec![
            ("minReplicas", one_of(&[json!(2)])),
            ("targetCPUUtilizationPercentage", one_of(&[json!(50), Value::Null])),
        ]);
        return with(base, more).prop_map(|spec| json!({"spec": spec})).boxed();
    }
    let metric = if api_version == "autoscaling/v2beta1" { metric_v2beta1() } else { metric_v2() };
    let more = members(vec![
        ("minReplicas", one_of(&[json!(2)])),
        ("metrics", vec(metric, 0..3).prop_map(Value::from).boxed()),
    ]);
    let behavior = option::of(one_of(&[
        json!(
            "{\"ScaleUp\":{\"StabilizationWindowSeconds\":5,\"Policies\":[{\"Type\":\"Pods\",\"Value\":2,\"PeriodSeconds\":9}]},\"ScaleDown\":null}"
        ),
        json!("not json"),
    ]));
    let has_behavior = api_version == "autoscaling/v2beta1";
    (with(base, more), behavior)
        .prop_map(move |(spec, behavior)| match behavior.filter(|_| has_behavior) {
            Some(behavior) => json!({
                "metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/behavior": behavior, "other": "x"}},
                "spec": spec,
            }),
            None => json!({"spec": spec}),
        })
        .boxed()
}

fn metric_v2beta1() -> BoxedStrategy<Value> {
    let resource = |kind: &'static str, source: &'static str| {
        one_of(&[
            json!({"targetAverageUtilization": 60}),
            json!({"targetAverageValue": "1"}),
            json!({"targetAverageUtilization": 60, "targetAverageValue": "1"}),
        ])
        .prop_map(move |mut of| {
            of["name"] = json!("cpu");
            if kind == "ContainerResource" {
                of["container"] = json!("c");
            }
            json!({"type": kind, source: of})
        })
        .boxed()
    };
    let selector = json!({"matchLabels": {"a": "b"}});
    prop_oneof![
        resource("Resource", "resource"),
        resource("ContainerResource", "containerResource"),
        with(
            json!({"metricName": "m", "targetAverageValue": "1"}),
            members(vec![("selector", Just(selector.clone()).boxed())])
        )
        .prop_map(|of| json!({"type": "Pods", "pods": of})),
        with(
            json!({"metricName": "m", "target": {"kind": "Service", "name": "s"}, "targetValue": "1"}),
            members(vec![
                ("selector", Just(selector.clone()).boxed()),
                ("averageValue", one_of(&[json!("2")]))
            ])
        )
        .prop_map(|of| json!({"type": "Object", "object": of})),
        (
            one_of(&[json!({"targetValue": "1"}), json!({"targetAverageValue": "1"})]),
            members(vec![("metricSelector", Just(selector).boxed())])
        )
            .prop_map(|(value, mut of)| {
                of["metricName"] = json!("m");
                if let (Value::Object(of), Value::Object(value)) = (&mut of, value) {
                    of.extend(value);
                }
                json!({"type": "External", "external": of})
            }),
    ]
    .boxed()
}

fn metric_v2() -> BoxedStrategy<Value> {
    one_of(&[
        json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}),
        json!({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "AverageValue", "averageValue": "1"}}}),
    ])
}

fn schema() -> BoxedStrategy<Value> {
    let leaf = one_of(&[
        json!({"type": "string"}),
        json!({"type": "object"}),
        json!({"type": "object", "additionalProperties": {"type": "object", "properties": {"x": {"type": "string"}}}}),
        json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]}),
        json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
    ]);
    let nested = leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|of| json!({"type": "array", "items": of})),
            (inner.clone(), inner)
                .prop_map(|(a, b)| json!({"type": "object", "properties": {"a": a, "b": b}})),
        ]
    });
    (nested, 0..8)
        .prop_map(|(spec, untyped)| match untyped {
            0 => json!({"type": "object", "properties": {"spec": {"properties": {"a": spec}}}}),
            1 => json!({"properties": {"spec": spec}}),
            _ => json!({"type": "object", "properties": {"spec": spec}}),
        })
        .boxed()
}

fn definition() -> BoxedStrategy<Value> {
    let versions = one_of(&[
        json!([{"name": "v1", "served": true, "storage": true}]),
        json!([{"name": "v1", "served": true, "storage": true}, {"name": "v1beta1", "served": true, "storage": false}]),
    ]);
    let conversion = one_of(&[
        json!({"strategy": "None"}),
        json!({"strategy": "Webhook", "webhookClientConfig": {"url": "https://a"}}),
        json!({"strategy": "Webhook", "webhookClientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v1", "v1beta1"]}),
    ]);
    let columns = Just(json!([{"name": "A", "type": "string", "JSONPath": ".a"}])).boxed();
    members(vec![
        ("versions", versions),
        ("version", one_of(&[json!("v1")])),
        ("scope", one_of(&[json!("Cluster")])),
        ("preserveUnknownFields", one_of(&[json!(true), json!(false)])),
        ("validation", schema().prop_map(|schema| json!({"openAPIV3Schema": schema})).boxed()),
        ("subresources", one_of(&[json!({"status": {}})])),
        ("additionalPrinterColumns", columns),
        ("conversion", conversion),
    ])
    .prop_map(|mut spec| {
        spec["group"] = json!("example.com");
        spec["names"] = json!({"kind": "A", "plural": "as"});
        json!({"metadata": {"name": "as.example.com"}, "spec": spec})
    })
    .boxed()
}

fn webhooks() -> BoxedStrategy<Value> {
    let webhook = members(vec![
        ("failurePolicy", one_of(&[json!("Fail"), json!("Ignore")])),
        ("matchPolicy", one_of(&[json!("Exact"), json!("Equivalent")])),
        ("timeoutSeconds", one_of(&[json!(5)])),
        ("admissionReviewVersions", one_of(&[json!(["v1"]), json!([])])),
    ]);
    let effects =
        one_of(&[json!("None"), json!("NoneOnDryRun"), json!("None"), json!("None"), json!("Unknown")]);
    vec((webhook, effects), 0..3)
        .prop_map(|all| {
            let webhooks = all.into_iter().enumerate().map(|(at, (mut webhook, effects))| {
                webhook["name"] = json!(format!("w{at}.example.com"));
                webhook["clientConfig"] = json!({"url": "https://a"});
                webhook["sideEffects"] = effects;
                webhook
            });
            json!({"webhooks": webhooks.collect::<Vec<_>>()})
        })
        .boxed()
}

fn csr() -> BoxedStrategy<Value> {
    members(vec![
        ("signerName", one_of(&[json!("a.b/c"), json!("a.b/c"), json!("kubernetes.io/legacy-unknown")])),
        ("usages", one_of(&[json!(["server auth"])])),
    ])
    .prop_map(|mut spec| {
        spec["request"] = json!("LS0t");
        json!({"spec": spec})
    })
    .boxed()
}

fn slice() -> BoxedStrategy<Value> {
    let topology = members(vec![
        ("kubernetes.io/hostname", one_of(&[json!("n"), json!("m")])),
        ("topology.kubernetes.io/zone", one_of(&[json!("z")])),
        ("topology.kubernetes.io/region", one_of(&[json!("r")])),
    ]);
    let endpoint = members(vec![("nodeName", one_of(&[json!("n")])), ("topology", topology)]);
    vec(endpoint, 0..3)
        .prop_map(|endpoints| {
            let endpoints = endpoints.into_iter().map(|mut of| {
                of["addresses"] = json!(["10.0.0.1"]);
                of
            });
            json!({"addressType": "IPv4", "endpoints": endpoints.collect::<Vec<_>>()})
        })
        .boxed()
}

fn event() -> BoxedStrategy<Value> {
    (
        members(vec![
            ("deprecatedCount", one_of(&[json!(3)])),
            ("deprecatedSource", one_of(&[json!({"component": "c"})])),
            (
                "series",
                one_of(&[json!({"count": 2, "lastObservedTime": "2026-01-31T12:00:00.000000Z", "state": "Ongoing"})]),
            ),
        ]),
        one_of(&[json!("Normal"), json!("Warning"), json!("Normal"), json!("Odd")]),
        0..8_usize,
    )
        .prop_map(|(mut event, of, lacks)| {
            let required = [
                ("action", json!("A")),
                ("reason", json!("R")),
                ("reportingController", json!("a/b")),
                ("reportingInstance", json!("b-0")),
                ("eventTime", json!("2026-01-31T12:00:00.000000Z")),
            ];
            event["type"] = of;
            for (at, (key, value)) in required.into_iter().enumerate() {
                if at != lacks {
                    event[key] = value;
                }
            }
            event
        })
        .boxed()
}

fn level(api_version: &str) -> BoxedStrategy<Value> {
    let shares = if api_version.ends_with("v1beta3") {
        "nominalConcurrencyShares"
    } else {
        "assuredConcurrencyShares"
    };
    let annotations = one_of(&[
        json!({"flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares": ""}),
        json!({"a": "b"}),
    ]);
    let is_v1beta3 = api_version.ends_with("v1beta3");
    (members(vec![(shares, one_of(&[json!(0), json!(10)]))]), option::of(annotations))
        .prop_map(move |(mut limited, annotations)| {
            limited["limitResponse"] = json!({"type": "Reject"});
            let spec = json!({"type": "Limited", "limited": limited});
            match annotations.filter(|_| is_v1beta3) {
                Some(annotations) => json!({"metadata": {"annotations": annotations}, "spec": spec}),
                None => json!({"spec": spec}),
            }
        })
        .boxed()
}

fn claim(api_version: &str) -> BoxedStrategy<Value> {
    let flat = api_version.ends_with("v1alpha3") || api_version.ends_with("v1beta1");
    let exactly = with(
        json!({"deviceClassName": "d"}),
        members(vec![("count", one_of(&[json!(2)])), ("allocationMode", one_of(&[json!("ExactCount")]))]),
    );
    let request = prop_oneof![
        3 => exactly.prop_map(move |exactly| {
            if flat {
                let mut request = exactly;
                request["name"] = json!("r");
                request
            } else {
                json!({"name": "r", "exactly": exactly})
            }
        }),
        1 => Just(json!({"name": "r", "firstAvailable": [{"name": "a", "deviceClassName": "d"}]})),
    ];
    vec(request, 0..3).prop_map(|requests| json!({"spec": {"devices": {"requests": requests}}})).boxed()
}

fn devices(api_version: &str) -> BoxedStrategy<Value> {
    let capacity = if api_version.ends_with("v1alpha3") { json!("1Gi") } else { json!({"value": "1Gi"}) };
    let device = members(vec![
        ("attributes", one_of(&[json!({"model": {"string": "big"}})])),
        ("capacity", Just(json!({"memory": capacity})).boxed()),
    ]);
    let flat = api_version.ends_with("v1beta2");
    vec(device, 0..3)
        .prop_map(move |devices| {
            let devices: Vec<Value> = devices
                .into_iter()
                .enumerate()
                .map(|(at, mut of)| {
                    let name = json!(format!("d{at}"));
                    if flat {
                        of["name"] = name;
                        of
                    } else {
                        json!({"name": name, "basic": of})
                    }
                })
                .collect();
            let pool = json!({"name": "p", "generation": 1, "resourceSliceCount": 1});
            json!({"spec": {"driver": "a.b", "nodeName": "n", "pool": pool, "devices": devices}})
        })
        .boxed()
}
