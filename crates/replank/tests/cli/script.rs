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
    assert!(report.contains("Besides  1 line of the script\n"), "{report}");
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
    assert!(text.contains("ended by something else") && text.contains("FAILED"), "{text}");
    let calm = replank_reading(&["rehearse", "-o", "json"], b"").json();
    assert_eq!(calm["batch"]["endedByOthers"], serde_json::json!([]));
}
