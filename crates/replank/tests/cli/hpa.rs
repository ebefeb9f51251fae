//! `replank hpa`.

use serde_json::Value;

use super::common::{replank, scratch};

const MANIFEST: &str = "examples/hpa/hpa.yaml";
const LOAD: &str = "examples/hpa/load.csv";
const CALM: &str = "examples/hpa/calm.yaml";
const SNAPSHOT: &str = "examples/hpa/snapshot.yaml";
const NOW: &str = "2026-11-20T10:01:00Z";

/// The example's figures: `(as it is, calm)`.
fn variants(value: &Value) -> (&Value, &Value) {
    let variants = &value["autoscalers"][0]["variants"];
    (&variants[0], &variants[1])
}

#[test]
fn a_behavior_is_tried_beside_what_is() {
    let arguments = ["hpa", "simulate", "-f", MANIFEST, "--load", LOAD, "--try", CALM, "-o", "json"];
    let ran = replank(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let value = ran.json();
    let (plain, calm) = variants(&value);
    let downs = |variant: &Value| variant["scaleDowns"].as_u64().unwrap();
    assert!(downs(calm) < downs(plain), "{} {}", downs(calm), downs(plain));
    assert!(calm["podHours"].as_f64() > plain["podHours"].as_f64());
    // The campaign asks for 6.4 cores at 60% of 500m: more than 21 pods.
    for variant in [plain, calm] {
        assert!((21..=24).contains(&variant["replicasMax"].as_i64().unwrap()), "{variant}");
        assert!(variant["overMs"].as_i64().unwrap() > 0, "a rise in five minutes is met late");
        assert_eq!(variant["rows"].as_array().unwrap().len(), 24);
        let warnings =
            variant["events"].as_array().unwrap().iter().filter(|event| event["type"] == "Warning");
        assert_eq!(warnings.count(), 0, "{variant}");
    }
    assert_eq!(replank(&arguments).stdout, ran.stdout, "the same input and seed give the same result");
}

#[test]
fn pods_that_find_no_node_wait() {
    let ran = replank(&["hpa", "simulate", SNAPSHOT, "--now", NOW, "--load", LOAD, "-o", "json"]);
    let value = ran.json();
    let (plain, _) = variants(&value);
    // Two nodes of 3920m have room for 14 pods of 500m.
    assert!(plain["pendingMax"].as_u64().unwrap() >= 7, "{plain}");
    let readies = plain["rows"].as_array().unwrap().iter().map(|row| row["ready"].as_u64().unwrap());
    assert_eq!(readies.max(), Some(14));
}

#[test]
fn csv_has_a_row_for_each_stretch_and_svg_is_drawn() {
    let file = scratch("hpa.svg", "");
    let ran = replank(&[
        "hpa", "simulate", "-f", MANIFEST, "--load", LOAD, "--every", "1h", "-o", "csv", "--svg", &file,
    ]);
    let lines: Vec<&str> = ran.stdout.lines().collect();
    assert_eq!(lines.len(), 13, "{ran:?}");
    assert!(lines[0].starts_with("time,autoscaler,variant,metric,load,replicas"));
    assert!(lines[5].starts_with("14400,shop/web,as it is,cpu,6.4,22,"), "{}", lines[5]);
    let drawn = std::fs::read_to_string(&file).unwrap();
    assert!(
        drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n") && drawn.contains("shop/web: as it is")
    );
}

#[test]
fn every_step_is_explained() {
    let ran = replank(&["hpa", "explain", "web", SNAPSHOT, "-n", "shop", "--now", NOW]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for part in [
        "4 measured; 1 without a sample (web-7d9c-e)",
        "182 / 60 = 3.0333",
        "2.4167 × 5 pods, rounded up: 13 replicas",
        "100% in 15s from 5: up to 10",
        "Result  5 → 10 replicas",
    ] {
        assert!(ran.stdout.contains(part), "{part}\n{}", ran.stdout);
    }
    let json = replank(&["hpa", "explain", "shop/web", SNAPSHOT, "--now", NOW, "-o", "json"]).json();
    assert_eq!((&json["askedFor"]["replicas"], &json["scaledTo"]), (&13.into(), &10.into()));
    assert_eq!(json["metrics"][0]["pods"]["missing"][0], "web-7d9c-e");
}

#[test]
fn without_metrics_the_status_is_taken() {
    let text = std::fs::read_to_string(super::common::root().join(SNAPSHOT)).unwrap();
    let without: Vec<&str> =
        text.split("---\n").filter(|document| !document.contains("PodMetrics")).collect();
    let file = scratch("no-metrics.yaml", without.join("---\n"));
    let ran = replank(&["hpa", "explain", "shop/web", &file, "--now", NOW]);
    assert!(ran.stdout.contains("the HPA's own status"), "{ran:?}");
    assert!(ran.stdout.contains("2424m of 2 requested: 121%"), "{}", ran.stdout);
}

#[test]
fn two_autoscalers_of_the_same_pods_are_named_and_the_rest_goes_on() {
    let text = std::fs::read_to_string(super::common::root().join(MANIFEST)).unwrap();
    let second =
        text.split("---").next().unwrap().replace("name: web\n  namespace", "name: web-two\n  namespace");
    let worker = text
        .replace("name: web\n", "name: worker\n")
        .replace("name: web}", "name: worker}")
        .replace("app: web", "app: worker");
    let file = scratch("ambiguous.yaml", format!("{text}---\n{second}---\n{worker}"));
    let load = scratch("three.csv", "time,shop/web:cpu,web-two:cpu,worker:cpu\n0,4,4,4\n20m,4,4,4\n");
    let value = replank(&["hpa", "simulate", "-f", &file, "--load", &load, "-o", "json"]).json();
    let of = |name: &str| {
        let all = value["autoscalers"].as_array().unwrap();
        all.iter().find(|of| of["name"] == name).unwrap()["variants"][0].clone()
    };
    let ambiguous = of("shop/web");
    let conditions = ambiguous["conditions"].as_array().unwrap();
    let active = conditions.iter().find(|condition| condition["type"] == "ScalingActive").unwrap();
    assert_eq!((&active["status"], &active["reason"]), (&"False".into(), &"AmbiguousSelector".into()));
    assert_eq!(
        active["message"],
        "pods by selector app=web are controlled by multiple HPAs: [shop/web shop/web-two]"
    );
    assert_eq!(ambiguous["replicasMax"], 4);
    assert_eq!(of("shop/worker")["replicasMax"], 14, "4 cores at 60% of 500m");
}

#[test]
fn what_is_wrong_is_said_with_what_to_do_next() {
    let load = scratch("rps.csv", "time,rps\n0,1\n60,2\n");
    let error = replank(&["hpa", "simulate", "-f", MANIFEST, "--load", &load]).usage_error();
    assert!(error.contains("no autoscaler uses a metric \"rps\""), "{error}");
    assert!(error.contains("next: name the column after one of: shop/web:cpu"), "{error}");
    let behavior = scratch("bad.yaml", "scaleDown: {selectPolicy: Never}\n");
    let error =
        replank(&["hpa", "simulate", "-f", MANIFEST, "--load", LOAD, "--try", &behavior]).usage_error();
    assert!(error.contains("spec.behavior.scaleDown.selectPolicy: Unsupported value: \"Never\""), "{error}");
    let behavior = scratch("other.yaml", "replicas: 3\n");
    let error =
        replank(&["hpa", "simulate", "-f", MANIFEST, "--load", LOAD, "--try", &behavior]).usage_error();
    assert!(error.contains("has \"replicas\", which cannot be tried"), "{error}");
    let error = replank(&["hpa", "simulate", "--load", LOAD]).usage_error();
    assert!(error.contains("no autoscaler for the load"), "{error}");
    let alone = scratch(
        "alone.yaml",
        std::fs::read_to_string(super::common::root().join(MANIFEST)).unwrap().split("---").next().unwrap(),
    );
    let error = replank(&["hpa", "simulate", "-f", &alone, "--load", LOAD]).usage_error();
    assert!(error.contains("Deployment shop/web, which HorizontalPodAutoscaler shop/web scales"), "{error}");
    let error = replank(&["hpa", "explain", "api", SNAPSHOT, "--now", NOW]).usage_error();
    assert!(error.contains("next: the snapshot has shop/web"), "{error}");
}

#[test]
fn pods_without_requests_are_named_and_nothing_is_made_up_of_their_load() {
    let without = |path: &str| {
        let text = std::fs::read_to_string(super::common::root().join(path)).unwrap();
        let is_of_requests =
            |line: &&str| ["resources:", "requests:", "limits:"].iter().any(|word| line.contains(word));
        let kept: Vec<&str> = text.lines().filter(|line| !is_of_requests(line)).collect();
        assert!(kept.len() < text.lines().count(), "the example has requests");
        kept.join("\n")
    };
    let file = scratch("without-requests.yaml", without(MANIFEST));
    let ran = replank(&["hpa", "simulate", "-f", &file, "--load", LOAD]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    let told: String = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        told.contains("time over target not known: pods have no requests most load over target not known"),
        "{told}"
    );
    assert!(told.contains("ScalingActive is False at the end: FailedGetResourceMetric"), "{told}");
    assert!(told.contains("missing request for cpu in container web of Pod web-"), "{told}");
    let value = replank(&["hpa", "simulate", "-f", &file, "--load", LOAD, "-o", "json"]).json();
    let variant = &value["autoscalers"][0]["variants"][0];
    assert_eq!(
        (&variant["unknownMs"], &variant["overMs"]),
        (&(12 * 3_600_000).into(), &0.into()),
        "{variant}"
    );

    let file = scratch("without-requests-snapshot.yaml", without(SNAPSHOT));
    let ran = replank(&["rehearse", &file, "--roll", "web", "--load", LOAD, "-o", "json"]);
    let of = ran.json()["autoscalers"][0].clone();
    assert_eq!(of["unknownMs"], of["watchedMs"], "{of}");
    assert!(of["failing"][0].as_str().is_some_and(|told| told.contains("missing request for cpu")), "{of}");
    let report = replank(&["rehearse", &file, "--roll", "web", "--load", LOAD]).stdout;
    assert!(report.contains("over target not known: the pods have no requests"), "{report}");
    assert!(report.contains("ScalingActive is False at the end: FailedGetResourceMetric"), "{report}");
}

#[test]
fn a_direction_that_is_disabled_is_named() {
    let text = std::fs::read_to_string(super::common::root().join(SNAPSHOT)).expect("the example");
    let down = "scaleDown:\n      selectPolicy: Max";
    assert!(text.contains(down));
    let file = scratch("hpa/disabled.yaml", text.replace(down, "scaleDown:\n      selectPolicy: Disabled"));
    let explain = |more: &[&str]| {
        replank(&[&["hpa", "explain", "web", &file, "-n", "shop", "--now", NOW][..], more].concat())
    };
    let told = explain(&[]).stdout;
    assert!(told.contains("behavior.scaleDown.selectPolicy: Disabled: it never removes replicas"), "{told}");
    assert_eq!(explain(&["-o", "json"]).json()["disabled"], serde_json::json!(["scaleDown"]));
    let plain = replank(&["hpa", "explain", "web", SNAPSHOT, "-n", "shop", "--now", NOW]).stdout;
    assert!(!plain.contains("Disabled"), "{plain}");
}

const DAY: &str = "examples/questions/day/cluster.yaml";
const DAYS_LOAD: &str = "examples/questions/day/load.csv";

/// A day replayed, with rules: `(as it is, with rules)`.
fn day(rules: &[&str]) -> (Value, Value) {
    let words = ["hpa", "simulate", DAY, "--load", DAYS_LOAD, "--now", "2026-11-20T00:00:00Z", "-o", "json"];
    let nodes = ["--groups", "examples/questions/day/groups.json", "--autoscaler"];
    let ran = replank(&[&words, &nodes[..], rules].concat());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let value = ran.json();
    let (plain, ruled) = variants(&value);
    assert_eq!(ruled["name"], "with rules by the hour");
    (plain.clone(), ruled.clone())
}

/// The replicas of a variant at an hour of the day.
fn at(variant: &Value, hour: i64) -> i64 {
    let rows = variant["rows"].as_array().unwrap();
    let row =
        rows.iter().find(|row| row["sinceMs"] == hour * 3_600_000).expect("there is a row for each hour");
    row["replicas"].as_i64().unwrap()
}

#[test]
fn rules_by_the_hour_hold_in_their_windows() {
    let (plain, ruled) = day(&["--no-scale-down", "09:00,9h,Europe/Dublin"]);
    assert_eq!((at(&plain, 11), at(&plain, 13), at(&plain, 15)), (9, 4, 9));
    assert_eq!((at(&ruled, 11), at(&ruled, 13), at(&ruled, 15)), (9, 9, 9));
    assert_eq!(at(&ruled, 23), at(&plain, 23), "after the window it goes down");
    // In the evening nothing goes down that would not stay anyway.
    let (plain, ruled) = day(&["--no-scale-down", "15:00,2h,Europe/Dublin"]);
    assert_eq!(plain["rows"], ruled["rows"]);
    // 13:00 in Dublin is 08:00 in New York.
    let (_, ruled) = day(&["--min-replicas", "6,08:00,1h,America/New_York"]);
    assert_eq!((at(&ruled, 13), at(&ruled, 16), at(&ruled, 23)), (6, 9, 2));
}

#[test]
fn a_rule_by_the_hour_that_cannot_be_is_refused() {
    let words = ["hpa", "simulate", DAY, "--load", DAYS_LOAD];
    for (rule, expected) in [
        (["--no-scale-down", "09:00,9h"], "expected START,DURATION,ZONE"),
        (["--no-scale-down", "09:00,9h,Mars/Base"], "unknown time zone"),
        (["--min-replicas", "09:00,9h,UTC"], "expected COUNT,START,DURATION,ZONE"),
        (["--min-replicas", "13,09:00,9h,UTC"], "shop/web has maxReplicas 12"),
    ] {
        let error = replank(&[&words[..], &rule].concat()).usage_error();
        assert!(error.contains(expected), "{error}");
    }
}
