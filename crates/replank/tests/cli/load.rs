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
    assert_eq!(told["happenings"][0]["refused"], "group web has 0 spot instances that run and are not going");
    assert_eq!(told["happenings"][0]["origin"], "interruptions");

    let report = replank(&arguments).stdout;
    for part in [
        "Elasticity  what autoscalers made of the load in 3h20m\n  shop/web  Deployment web, 4 to 24 replicas\n",
        "Interruptions  1 retired, 1 ended\n  ",
        "Besides  3 rows of the interruptions\n",
    ] {
        assert!(report.contains(part), "{part}: {report}");
    }
    let request = replank(&[&arguments[..], &["-o", "markdown"]].concat()).stdout;
    assert!(request.contains("| shop/web | 5 to 2"), "{request}");
    assert!(request.contains("\nInterruptions: 1 retired, 1 ended; "), "{request}");
}

#[test]
fn what_is_wrong_is_told_before_anything_is_rehearsed() {
    let load = scratch("load-right.csv", LOAD);
    let told = |arguments: &[&str]| replank(&[&["rehearse"], arguments].concat()).usage_error();
    let none = told(&["--load", &load]);
    assert!(none.contains("there is no HorizontalPodAutoscaler in the bundled example"), "{none}");
    let column = scratch("load-column.csv", "time,rps\n0,1\n60,2\n");
    let unknown = told(&[SHOP, "--roll", "web", "--load", &column]);
    assert!(unknown.contains("no autoscaler looks at anything called \"rps\""), "{unknown}");
    let row = scratch("load-row.csv", "time,load\n0,1\n5m,many\n");
    assert!(told(&["--load", &row]).contains("line 3"));
    let table = scratch("interruptions-wrong.csv", "time,target,kind\n10m,wbe,spot\n");
    let wrong = told(&[SNAPSHOT, "--roll", "web", "--interruptions", &table]);
    assert!(wrong.contains("interruptions-wrong.csv is not right"), "{wrong}");
    assert!(wrong.contains("line 2: there is no node and no node group \"wbe\""), "{wrong}");
    let absent = told(&["--interruptions", "no-such.csv"]);
    assert!(absent.contains("no-such.csv cannot be read") && absent.contains("docs/load.md"), "{absent}");
}
