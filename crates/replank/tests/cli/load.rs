//! Rehearsals under load, and with instances that are taken away.

use super::common::{SNAPSHOT, replank, scratch};

const SHOP: &str = "examples/hpa/snapshot.yaml";
const LOAD: &str = "time,load\n0,3.2\n5m,3.2\n10m,6.4\n40m,6.4\n1h,2\n2h,2\n";

#[test]
fn load_and_interruptions_go_on_after_the_roll_and_are_counted() {
    let load = scratch("load-doubles.csv", LOAD);
    let table = scratch(
        "interruptions.csv",
        "time,target,kind,count,notice\n40m,web,ended\n150m,web,retirement,1,30m\n1m,web,spot\n",
    );
    let arguments = ["rehearse", SHOP, "--roll", "web", "--load", &load, "--interruptions", &table];
    let told = replank(&[&arguments[..], &["-o", "json"]].concat()).json();
    let of = &told["autoscalers"][0];
    assert_eq!((&of["name"], &of["minReplicas"], &of["maxReplicas"]), (&"web".into(), &4.into(), &24.into()));
    // 6.4 cores at 60% of half a core each are 22 pods less the tolerance; 2 nodes hold 14 of them.
    let number = |member: &str| of[member].as_i64().expect(member);
    assert!((20..=22).contains(&number("replicasMax")), "{of}");
    assert!(number("pendingMax") >= 6 && number("pendingMs") > 20 * 60_000, "{of}");
    assert!(number("overMs") > 20 * 60_000 && number("replicasEnd") < 12, "{of}");
    // 20 minutes after the retirement that was announced at 2h30m for half an hour later.
    assert_eq!((&told["watchedMs"], number("watchedMs")), (&12_000_000.into(), 12_000_000));
    assert!(told["virtualDurationMs"].as_i64() < Some(30 * 60_000), "{}", told["virtualDurationMs"]);
    let kinds = |at: usize| told["interruptions"][at]["kind"].as_str();
    assert_eq!((kinds(0), kinds(1), kinds(2)), (Some("ended"), Some("retirement"), None));
    let (ended, retired) = (&told["interruptions"][0], &told["interruptions"][1]);
    assert!(ended["podsLost"].as_i64() > Some(0) && ended["cordonedMs"].is_null(), "{ended}");
    assert!(retired["podsLost"] == 0 && retired["drainedMs"].as_i64() < Some(120_000), "{retired}");
    assert_eq!(told["scriptEvents"][0]["refused"], "group web has 0 running spot instances");
    assert_eq!(told["scriptEvents"][0]["origin"], "interruptions");

    let report = replank(&arguments).stdout;
    for part in [
        "Elasticity  autoscalers under the load for 3h20m\n  shop/web  Deployment web, 4 to 24 replicas\n",
        "Interruptions  1 retired, 1 ended\n  ",
        "Other events  3 rows of the interruptions\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let request = replank(&[&arguments[..], &["-o", "markdown"]].concat()).stdout;
    assert!(request.contains("| shop/web | 5 to 2"), "{request}");
    assert!(request.contains("\nInterruptions: 1 retired, 1 ended; "), "{request}");
}

#[test]
fn rates_take_the_same_spot_instances_for_one_seed_and_more_for_a_higher_rate() {
    let elastic = "examples/elastic/snapshot.yaml";
    let load = scratch("load-flat.csv", "time,storefront:cpu\n0,10\n3h,10\n");
    let told = |rates: &str, seed: &str| {
        let arguments = ["rehearse", elastic, "--roll", "base", "--load", &load, "--interruptions", rates];
        replank(&[&arguments[..], &["--seed", seed, "-o", "json"]].concat()).json()
    };
    let taken = |told: &serde_json::Value| {
        let all = told["interruptions"].as_array().expect("a list").clone();
        all.into_iter()
            .map(|one| (one["kind"].clone(), one["node"].clone(), one["at"].clone()))
            .collect::<Vec<_>>()
    };
    let high = told("spot=60%/h", "1");
    assert_eq!(taken(&high), taken(&told("spot=60%/h", "1")), "the same seed");
    assert_ne!(taken(&high), taken(&told("spot=60%/h", "2")), "another seed");
    assert_eq!(high["scriptEvents"][0]["origin"], "rates");
    assert_eq!(
        (&high["scriptEvents"][0]["what"], &high["scriptEvents"][0]["refused"]),
        (&"spot instances of any in any are taken back at 60% an hour".into(), &serde_json::Value::Null)
    );
    // Six spot nodes and those in their place, three hours: 10.8 of them are to be expected.
    let spots = taken(&high).iter().filter(|(kind, ..)| kind == "spot").count();
    assert!((5..=18).contains(&spots), "{spots} of six at 60% an hour, in three hours");
    for one in high["interruptions"].as_array().expect("a list").iter().filter(|one| one["kind"] == "spot") {
        assert_eq!(one["group"], "spot");
        let ended = one["endedMs"].as_i64().unwrap_or(0);
        assert!(ended <= 3 * 60_000, "two minutes of notice, and what a shutdown takes: {one}");
    }
    let zone = told("spot=0%/h,zone:eu-west-1a=80%/h", "1");
    let zones: Vec<_> =
        zone["interruptions"].as_array().expect("a list").iter().map(|one| one["zone"].clone()).collect();
    assert!(!zones.is_empty() && zones.iter().all(|zone| zone == "eu-west-1a"), "{zones:?}");
    let soft = told("rebalance=80%/h", "1");
    let kinds = taken(&soft);
    assert!(kinds.iter().any(|(kind, ..)| kind == "rebalance"), "{kinds:?}");
    assert!(
        kinds.iter().all(|(kind, ..)| kind != "spot"),
        "nothing follows from a recommendation: {kinds:?}"
    );
}

#[test]
fn rates_that_are_wrong_are_told_with_their_place() {
    let elastic = "examples/elastic/snapshot.yaml";
    let told = |snapshot: &str, group: &str, rates: &str| {
        replank(&["rehearse", snapshot, "--roll", group, "--interruptions", rates]).usage_error()
    };
    let unit = told(elastic, "base", "spot=5%/m");
    assert!(unit.contains("--interruptions is invalid") && unit.contains("unknown unit \"m\""), "{unit}");
    assert!(unit.contains("docs/load.md describes the forms"), "{unit}");
    let zone = told(elastic, "base", "zone:a=5%/h");
    assert!(
        zone.contains("unknown zone \"a\": the cluster's zones are eu-west-1a, eu-west-1b, eu-west-1c"),
        "{zone}"
    );
    let none = told(SHOP, "web", "spot=5%/h");
    assert!(none.contains("has spot instances; rates apply only to spot instances"), "{none}");
    assert!(none.contains("eks.amazonaws.com/capacityType"), "{none}");
}

#[test]
fn what_is_wrong_is_told_before_anything_is_rehearsed() {
    let load = scratch("load-right.csv", LOAD);
    let told = |arguments: &[&str]| replank(&[&["rehearse"], arguments].concat()).usage_error();
    let none = told(&["--load", &load]);
    assert!(none.contains("no HorizontalPodAutoscaler in the bundled example"), "{none}");
    let column = scratch("load-column.csv", "time,rps\n0,1\n60,2\n");
    let unknown = told(&[SHOP, "--roll", "web", "--load", &column]);
    assert!(unknown.contains("no autoscaler uses a metric \"rps\""), "{unknown}");
    let row = scratch("load-row.csv", "time,load\n0,1\n5m,many\n");
    assert!(told(&["--load", &row]).contains("line 3"));
    let table = scratch("interruptions-wrong.csv", "time,target,kind\n10m,wbe,spot\n");
    let wrong = told(&[SNAPSHOT, "--roll", "web", "--interruptions", &table]);
    assert!(wrong.contains("interruptions-wrong.csv is invalid"), "{wrong}");
    assert!(wrong.contains("line 2: no node or node group \"wbe\""), "{wrong}");
    let absent = told(&["--interruptions", "no-such.csv"]);
    assert!(absent.contains("no-such.csv cannot be read") && absent.contains("docs/load.md"), "{absent}");
}

#[test]
fn events_that_are_cut_in_half_are_named_and_the_rest_goes_on() {
    let warning = r#"{"version": "0", "detail-type": "EC2 Spot Instance Interruption Warning", "source": "aws.ec2", "detail": {"instance-"#;
    let script = scratch(
        "half.txt",
        format!(
            "at 30s: queue receives {warning}\nat 31s: queue receives hello\nat 2m: 1 spot instances of group spot are taken back\n"
        ),
    );
    let arguments = ["rehearse", "examples/elastic/snapshot.yaml", "--roll", "base", "--script", &script];
    let told = replank(&[&arguments[..], &["-o", "json"]].concat()).json();
    let waits = told["waits"].as_array().expect("a list");
    let bad: Vec<&str> = waits
        .iter()
        .filter(|wait| wait["kind"] == "poison")
        .filter_map(|wait| wait["reason"].as_str())
        .collect();
    assert_eq!(bad.len(), 2, "{bad:?}");
    assert!(bad[0].contains("invalid JSON: EOF while parsing a string"), "{bad:?}");
    assert_eq!(told["interruptions"][0]["podsLost"], 0);
    assert_eq!(told["nodes"]["replaced"], told["nodes"]["total"]);
    let report = replank(&arguments).stdout;
    assert!(report.contains("unreadable messages"), "{report}");
}
