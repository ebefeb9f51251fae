//! Scripts: what happens meanwhile.

use super::common::{PLAN, SNAPSHOT, replank, replank_reading, scratch};

#[test]
fn a_wrong_script_is_told_line_by_line() {
    let script = scratch(
        "wrong-script.txt",
        "# what may be\nat 5m: somebody deletes deploy shop/web\nafter 1h: pause\nat 1h: pod shop/web sleepy\n",
    );
    let told = replank(&["rehearse", SNAPSHOT, "-f", PLAN, "--script", &script]).usage_error();
    for part in [
        "wrong-script.txt is invalid",
        "line 2, column 25: expected a kind such as deployment or node, found \"deploy\"",
        "line 3, column 1: expected `at 5m: …`, `at 2026-01-05T09:15:00Z: …` or `before: …`, found \"after 1h\"",
        "line 4, column 21: expected `exits`, `gets`, `ready` or `unready`, found \"sleepy\"",
        "next: correct the script and run again; docs/script.md lists all events",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn a_script_that_is_not_there() {
    let told = replank(&["rehearse", "--script", "scirpt.txt"]).usage_error();
    assert!(
        told.contains("the script scirpt.txt cannot be read") && told.contains("docs/script.md"),
        "{told}"
    );
}

#[test]
fn what_happened_is_in_the_result_with_what_came_of_it() {
    let script = b"at 20m: somebody cordons web+1\nat 10m: pod shop/nobody unready\nat 30m: image ami-9 crashes pods\n\
        at 360d: somebody cordons web+1\n";
    let told = replank_reading(&["rehearse", "--script", "-", "-o", "json"], script).json();
    let events = told["scriptEvents"].as_array().expect("they are listed");
    let rows: Vec<(u64, &str, Option<&str>)> = events
        .iter()
        .map(|one| {
            let text = |member: &str| one[member].as_str();
            (one["line"].as_u64().expect("a line"), text("side").expect("a side"), text("refused"))
        })
        .collect();
    assert_eq!(
        rows,
        [
            (2, "fault", Some("pod shop/nobody not found")),
            (1, "hand", None),
            (3, "fault", Some("no pod met it on a node of that image")),
            (4, "hand", Some("the rehearsal reached its time limit before")),
        ]
    );
    assert_eq!(events[1]["what"], "somebody cordons web+1");
}

#[test]
fn the_report_tells_what_happened_besides() {
    let report = replank_reading(&["rehearse", "--script", "-"], b"at 20m: somebody cordons web+1\n").stdout;
    assert!(report.contains("Other events  1 line of the script\n"), "{report}");
    assert!(report.contains("somebody cordons web+1\n"), "{report}");
}

#[test]
fn a_batch_pod_that_somebody_deletes_is_named_with_what_became_of_its_workflow() {
    let script = b"at 5m: somebody deletes Pod pipelines/salary-model-1795161600\n";
    let told = replank_reading(&["rehearse", "--script", "-", "-o", "json"], script).json();
    let ended = &told["batch"]["endedByOthers"];
    assert_eq!(ended[0]["pod"], "pipelines/salary-model-1795161600", "{ended}");
    assert_eq!(ended[0]["owner"], "Workflow pipelines/salary-model-1795161600");
    assert_eq!(ended[0]["outcome"], "failed");
    assert_eq!(told["batch"]["killed"], 0);
    let text = replank_reading(&["rehearse", "--script", "-"], script).stdout;
    assert!(text.contains("deleted by something else") && text.contains("FAILED"), "{text}");
    let calm = replank_reading(&["rehearse", "-o", "json"], b"").json();
    assert_eq!(calm["batch"]["endedByOthers"], serde_json::json!([]));
}

#[test]
fn a_script_alone_rehearses_kubectl_drain_node_by_node() {
    let (one, two) =
        ("ip-10-0-1-17.ap-northeast-1.compute.internal", "ip-10-0-2-40.ap-northeast-1.compute.internal");
    let script = format!("at 1m: somebody drains {one},{two}\n");
    let read = |arguments: &[&str]| {
        replank_reading(&[&["rehearse", SNAPSHOT, "--script", "-"], arguments].concat(), script.as_bytes())
    };
    let told = read(&["-o", "json"]).json();
    assert_eq!((told["nodes"]["total"].as_u64(), told["watchedMs"].as_u64()), (Some(0), Some(61 * 60_000)));
    assert_eq!(told["scriptEvents"][0]["refused"], serde_json::Value::Null, "{}", told["scriptEvents"]);
    let evictions = told["evictions"].as_array().expect("a list");
    assert!(!evictions.is_empty() && evictions.iter().all(|one| one["by"] == "hand"), "{evictions:?}");
    let granted = evictions.iter().filter(|one| one["refused"].is_null()).count();
    assert_eq!(told["pods"]["moved"].as_u64(), Some(granted as u64));
    // One after the other.
    let first_of = |node: &str| evictions.iter().position(|one| one["node"] == node);
    let last_of = |node: &str| evictions.iter().rposition(|one| one["node"] == node);
    assert!(last_of(one) < first_of(two), "{evictions:?}");
    let report = read(&[]).stdout;
    assert!(report.contains("The script  1h1m of virtual time"), "{report}");
    assert!(
        report.contains("Only the script was rehearsed, for 1h1m; no node was to be replaced"),
        "{report}"
    );
}
