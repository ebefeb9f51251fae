//! Pages held to what they promise: nothing of a cluster is markup, nothing is asked for from outside, and everything that was found is told.

use replank_html::{Document, Rehearsal, SeedRun, Side, comparison, figures, read, rehearsal, rehearsals};
use serde_json::{Value, json};

/// What a message could have in it; names of objects cannot.
const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\"><!-- ' ]]>";

fn document(text: &str) -> Value {
    json!({
        "version": "replank.dev/rehearsal/v1alpha1", "verdict": "blocked", "seed": 3,
        "plan": text, "snapshot": text, "sentence": text, "next": [text], "traceHash": "ab",
        "start": "2026-11-20T09:00:00Z", "virtualDurationMs": 600_000, "nodes": {"total": 2, "replaced": 1},
        "pods": {"moved": 4, "evictionsRefused": 2, "unschedulableMax": 1},
        "budgets": [{"namespace": "shop", "name": "cart", "desiredHealthy": 2, "minHealthy": 2, "history": []}],
        "evictions": [{"namespace": "shop", "pod": "cart-1", "node": "a.ec2.internal"}],
        "workloads": [
            {"kind": "Deployment", "namespace": "shop", "name": "cart", "desired": 3, "minReady": 2, "withoutReadyMs": 0,
             "budgets": ["cart"], "history": [{"at": "2026-11-20T09:00:00Z", "pods": 3}, {"at": "2026-11-20T09:05:00Z", "pods": 2}]},
            {"kind": "Deployment", "namespace": "shop", "name": text, "desired": 1, "minReady": 0, "withoutReadyMs": 5_000,
             "history": [{"at": "2026-11-20T09:00:00Z", "pods": 1}, {"at": "2026-11-20T09:05:00Z", "pods": 0}]},
        ],
        "batch": {"onNodes": 2, "waited": 0, "killed": 1,
            "endedByRun": [{"pod": text, "owner": text, "outcome": "running", "alerted": []}],
            "endedByOthers": [{"pod": "ml/pay-1", "owner": "Job ml/pay", "outcome": "failed", "alerted": [text]},
                              {"pod": "ml/pay-2", "by": "kubelet", "owner": "Job ml/pay", "outcome": "failed", "alerted": []}]},
        "unschedulable": [{"at": "2026-11-20T09:06:00Z", "pods": 1}, {"at": "2026-11-20T09:08:00Z", "pods": 0}],
        "findings": [{"id": "pdb-never-allows", "severity": "blocking", "object": text, "reason": text, "remedy": text, "proof": "checked"}],
        "causes": [{"object": text, "reason": text, "nodes": ["b.ec2.internal"], "pods": 2}],
        "waits": [{"what": "pod shop/cart-1", "kind": "budget", "reason": text, "since": "2026-11-20T09:01:00Z", "waitedMs": 61_000}],
        "stages": [{"group": "web", "wave": null, "from": "2026-11-20T09:03:00Z", "until": "2026-11-20T09:04:00Z", "pods": 1, "workloads": [text]}],
        "starts": [{"kind": "CronJob", "namespace": "jobs", "name": text, "schedule": "5 * * * *", "next": null, "within": 0, "onOldNodes": 0}],
        "noticed": [{"at": "2026-11-20T09:03:00Z", "what": text}],
        "scriptEvents": [{"at": "2026-11-20T09:03:00Z", "what": text, "refused": text}],
        "timeline": [
            {"node": "a.ec2.internal", "instance": "i-1", "group": "web", "zone": text, "old": true,
             "phases": [{"phase": "serving", "at": "2026-11-20T09:00:00Z"}, {"phase": "draining", "at": "2026-11-20T09:01:00Z"},
                        {"phase": "gone", "at": "2026-11-20T09:03:00Z"}]},
            {"node": "b.ec2.internal", "instance": "i-2", "group": "web", "old": false,
             "phases": [{"phase": "booting", "at": "2026-11-20T09:00:30Z"}, {"phase": "ready", "at": "2026-11-20T09:01:30Z"}]},
        ],
        "assumptions": [{"about": text, "value": text, "source": "default", "samples": 0}],
        "coverage": {"complete": false, "missing": [text], "absent": [{"kind": text, "unseen": text, "needed": true}],
                     "skipped": {"parts": 1, "first": [text]}},
    })
}

fn of(text: &str) -> Rehearsal {
    match read(&document(text).to_string()).expect("it is a document") {
        Document::One(rehearsal) => *rehearsal,
        Document::Many(_) => panic!("it is one"),
    }
}

/// Tags of a page, in order, with what stands in them.
fn tags(page: &str) -> Vec<&str> {
    page.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or(rest)).collect()
}

#[test]
fn no_text_of_a_cluster_adds_an_element_or_an_attribute() {
    let hostile = of(HOSTILE);
    let names = |page: &str| -> Vec<String> {
        tags(page).iter().map(|tag| tag.split(' ').next().unwrap_or(tag).to_owned()).collect()
    };
    let bad = rehearsal(&hostile, None);
    assert_eq!(names(&bad), names(&rehearsal(&of("x"), None)));
    assert!(!bad.contains("<img") && !bad.contains("onerror=\""), "{bad}");
    assert!(bad.matches("&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;").count() > 15);
    let side = |rehearsal| Side { name: HOSTILE, rehearsal };
    assert!(!comparison(side(&hostile), side(&hostile), 0.05).contains("<img"));
}

#[test]
fn a_page_is_alone_in_the_world() {
    let page = rehearsal(&of("x"), None);
    let (head, _) = page.split_once("</head>").expect("it has a head");
    assert!(
        head.contains(
            "Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src &#39;sha256-"
        ),
        "{head}"
    );
    for tag in tags(&page) {
        for attribute in [" src=", " style=", " onclick=", " onload=", "://"] {
            assert!(!tag.contains(attribute), "<{tag}>");
        }
        assert!(!tag.contains(" href=") || tag.contains(" href=\"#"), "<{tag}>");
    }
}

#[test]
fn what_comes_first_is_the_verdict_and_what_to_do() {
    let mut document = document("x");
    document["plan"] = json!("web-to-1-36");
    document["sentence"] = json!("");
    document["next"] = json!(["resolve the findings"]);
    let page = rehearsal(&Rehearsal::of(&document).expect("it is a document"), None);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing"));
    let order = [
        "<h1>web-to-1-36</h1>",
        "</span> Blocked</p>",
        "1 of 2 nodes was replaced in 10m; 1 finding to look at.",
        ">What blocks<",
        "Resolve the findings",
        "id=\"findings\"",
        "id=\"timeline\"",
        "id=\"availability\"",
        "id=\"pending\"",
        "id=\"waits\"",
        "id=\"assumptions\"",
        "id=\"coverage\"",
        "id=\"evidence\"",
    ];
    let places: Vec<usize> = order.iter().map(|text| place(text)).collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(page.contains("href=\"#coverage\""), "the contents name the sections");
}

#[test]
fn every_bar_has_its_words() {
    let page = rehearsal(&of("zone"), None);
    let words = "a.ec2.internal, old, zone: draining from +1m for 2m, gone at +3m. Waited 1m1s: pod shop/cart-1: zone.";
    assert!(page.contains(words), "{page}");
    assert!(
        page.contains("b.ec2.internal, new: booting from +30s for 1m, Ready from +1m30s to the end."),
        "{page}"
    );
    assert!(page.contains("Canary: watched from +3m to +4m; 1 pod on its new nodes: zone."), "{page}");
    assert!(page.contains("at most 1 pod; some for 2m in all"), "{page}");
    assert!(page.contains("down to 2 of 3 Ready</em>; budget requires 2"), "{page}");
    assert!(page.contains("down to 0 of 1 Ready</em>; none for 5s; no budget"), "{page}");
}

#[test]
fn work_that_failed_comes_before_work_that_is_retried_and_says_who_is_told() {
    let page = rehearsal(&of("alert KubeJobFailed"), None);
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is missing in {page}"));
    let failed = "<td>ml/pay-1</td><td>something else</td><td>Job ml/pay</td><td>Failed</td><td>alert KubeJobFailed</td>";
    assert!(place(failed) < place("<td>the run</td>"));
    let evicted = "<td>ml/pay-2</td><td>its kubelet</td><td>Job ml/pay</td>";
    assert!(page.contains(evicted), "{page}");
    place("<td>Failed</td><td>nothing in the snapshot says who is alerted</td>");
    place("<td>still running: retried</td><td></td>");
}

#[test]
fn many_seeds_show_their_spread_and_the_worst() {
    let worst = of("x");
    let runs: Vec<_> = (1..=20)
        .map(|seed| {
            let mut run = worst.in_short();
            (run.seed, run.duration_ms) = (seed, i64::try_from(seed).expect("small") * 60_000);
            run
        })
        .collect();
    let page = rehearsals(&worst, &runs, None);
    assert!(
        page.contains(
            "The worst of 20 seeds, seed 3. Half took at most 10m, 95 % at most 19m, all at most 20m."
        ),
        "{page}"
    );
    assert!(page.contains("pass --seed 3."), "{page}");
}

#[test]
fn rows_of_many_seeds_stand_as_they_are_given() {
    let one = of("x").in_short();
    let run = |seed: u64, replaced: usize| SeedRun { seed, replaced, ..one.clone() };
    let row = |page: &str, replaced: &str| {
        page.find(&format!("<td class=\"number\">{replaced}</td>")).expect("it is a cell")
    };
    for (seeds, first, second) in
        [([run(1, 501), run(2, 511)], "501", "511"), ([run(2, 511), run(1, 501)], "511", "501")]
    {
        let page = rehearsals(&of("x"), &seeds, None);
        assert!(page.contains("Nodes replaced"), "{page}");
        assert!(row(&page, first) < row(&page, second), "{page}");
    }
}

/// A document with these findings.
fn with(findings: &Value) -> String {
    let mut document = document("x");
    document["findings"] = findings.clone();
    rehearsal(&Rehearsal::of(&document).expect("it is a document"), None)
}

#[test]
fn what_is_found_of_many_objects_in_the_same_words_is_one_entry() {
    let finding = |number: usize, reason: &str| {
        let command = format!("kubectl scale deployment/w{number} --replicas=2");
        json!({"id": "singleton", "severity": "warning", "object": format!("Deployment shop/w{number}"), "reason": reason, "proof": "checked",
               "remedy": command, "remedyBlocks": [{"sort": "command", "text": command}]})
    };
    let alike: Vec<Value> = (0..309).map(|number| finding(number, "1 replica")).collect();
    let page = with(&json!(alike));
    assert_eq!(page.matches("<article").count(), 1);
    assert!(page.contains("</span> 309 objects</h3>") && page.contains("and 297 more objects"), "{page}");
    assert!(page.contains("0 blocking, 309 warnings, 0 for information"));
    // Their commands are copied together.
    assert_eq!(page.matches("class=\"copy\"").count(), 2);
    let copied = page.replace("<span>", "").replace("</span>", "");
    assert!(
        copied.contains("kubectl scale deployment/w0 --replicas=2\nkubectl scale deployment/w1 --replicas=2")
    );
    assert!(copied.contains("What to do for the other 297") && copied.contains("deployment/w211 "));
    assert!(page.contains("and 97 more: the JSON has them all") && !copied.contains("deployment/w212 "));
    let unlike: Vec<Value> = (0..30).map(|number| finding(number, &format!("{number} replicas"))).collect();
    let page = with(&json!(unlike));
    assert_eq!(page.matches("<article").count(), 10);
    assert!(
        page.contains("20 more findings")
            && page.contains("warning: singleton, Deployment shop/w29: 29 replicas")
    );
    let page = with(&json!([finding(1, "1 replica")]));
    assert!(
        page.contains("0 blocking, 1 warning, 0 for information")
            && page.contains("</span> Deployment shop/w1</h3>")
    );
}

#[test]
fn what_goes_to_a_shell_and_what_goes_to_a_file_are_copied_apart() {
    let remedy = "kubectl patch pdb cart\n# Argo CD puts it back: commit it:\n- patch: '{}'";
    let blocks = json!([{"sort": "command", "text": "kubectl patch pdb cart"}, {"sort": "lead", "text": "Argo CD puts it back: commit it:"},
                        {"sort": "yaml", "text": "- patch: '{}'"}]);
    let mut finding = json!({"id": "pdb-never-allows", "severity": "blocking", "object": "PodDisruptionBudget shop/cart", "reason": "none may go",
                             "remedy": remedy, "remedyBlocks": blocks, "proof": "checked"});
    let page = with(&json!([finding]));
    assert!(
        page.contains(
            "<pre>kubectl patch pdb cart</pre></div><p class=\"lead\">Argo CD puts it back: commit it:</p>"
        ),
        "{page}"
    );
    assert!(page.contains("hidden>Copy</button><pre>- patch: &#39;{}&#39;</pre>"), "{page}");
    // A document of before has the text alone, words and commands in one.
    finding.as_object_mut().expect("an object").remove("remedyBlocks");
    assert_eq!(with(&json!([finding])).matches("class=\"copy\"").count(), 0);
}

#[test]
fn only_what_can_be_pasted_is_copied_and_no_line_breaks_inside_an_option() {
    let finding = |sort: &str, text: &str| {
        json!([{"id": "local-storage", "severity": "warning", "object": "Pod shop/cart", "reason": "why", "remedy": text,
                "remedyBlocks": [{"sort": sort, "text": text}], "proof": "advice"}])
    };
    let page = with(&finding("words", "set localStorage: refuse in the plan"));
    assert!(page.contains("<p class=\"words\">set localStorage: refuse in the plan</p>"), "{page}");
    assert_eq!(page.matches("class=\"copy\"").count(), 0);
    let command = "kubectl -n shop create pdb cart --selector=app=cart\nkubectl get pods";
    let page = with(&finding("command", command));
    let written =
        "kubectl <span>-n</span> shop create pdb cart <span>--selector=app=cart</span>\nkubectl get pods";
    assert!(page.contains(&format!("hidden>Copy</button><pre>{written}</pre>")), "{page}");
    assert_eq!(written.replace("<span>", "").replace("</span>", ""), command);
    assert!(
        page.contains("pre span { display: inline-block; max-width: 100%; word-break: break-all; }"),
        "{page}"
    );
}

#[test]
fn commands_of_several_objects_are_copied_together_unless_one_of_them_has_a_choice() {
    let finding = |name: &str, blocks: &[(&str, &str)]| {
        let blocks: Vec<Value> =
            blocks.iter().map(|(sort, text)| json!({"sort": sort, "text": text})).collect();
        json!({"id": "r", "severity": "warning", "object": name, "reason": "the same", "remedy": "x", "remedyBlocks": blocks})
    };
    let plain = |name: &str| finding(name, &[("command", &format!("kubectl fix {name}"))]);
    let choice = |name: &str| {
        let [one, other] = ["one", "other"].map(|way| format!("kubectl {way} {name}"));
        finding(name, &[("command", &one), ("lead", "or:"), ("command", &other)])
    };
    let copied = |findings: &[Value]| -> Vec<String> {
        let page = with(&json!(findings));
        let blocks = page.split("<pre>").skip(1);
        blocks.filter_map(|rest| Some(rest.split_once("</pre>")?.0.to_owned())).collect()
    };
    assert_eq!(copied(&[plain("a"), plain("b")]), ["kubectl fix a\nkubectl fix b"]);
    assert_eq!(
        copied(&[plain("a"), choice("b"), choice("c"), plain("d"), plain("e")]),
        [
            "kubectl fix a",
            "kubectl one b",
            "kubectl other b",
            "kubectl one c",
            "kubectl other c",
            "kubectl fix d\nkubectl fix e",
        ]
    );
}

#[test]
fn a_rollback_is_told_by_the_page_though_its_document_has_no_sentence() {
    let mut document = document("x");
    document["sentence"] = json!("");
    document["ending"] = json!("rolledBack");
    let page = rehearsal(&Rehearsal::of(&document).expect("it is a document"), None);
    assert!(page.contains("Rolled back: after 10m every node group is as before the roll."), "{page}");
}

#[test]
fn moments_in_reasons_are_since_the_start() {
    let mut document = document("x");
    document["waits"][0]["reason"] = json!("not before 2026-11-20T09:01:30Z");
    let page = rehearsal(&Rehearsal::of(&document).expect("it is a document"), None);
    assert!(page.contains("<td>not before +1m30s</td>") && !page.contains("09:01:30Z"), "{page}");
    assert!(!page.contains(">For</th>"), "how the program calls a wait is no word of the page");
}

#[test]
fn two_rehearsals_differ_in_figures_findings_and_workloads() {
    let first = of("x");
    let mut changed = document("x");
    changed["findings"] = json!([]);
    changed["virtualDurationMs"] = json!(540_000);
    changed["workloads"][1]["minReady"] = json!(1);
    changed["workloads"][1]["withoutReadyMs"] = json!(0);
    let second = Rehearsal::of(&changed).expect("it is a document");
    let all = figures(&first, &second, 0.05);
    let change =
        |what: &str| all.iter().find(|figure| figure.what == what).map(|figure| figure.change.as_str());
    assert_eq!(change("verdict"), Some(""));
    assert_eq!(change("duration"), Some("-1m"));
    assert_eq!(change("finding pdb-never-allows, x"), Some("resolved"));
    assert_eq!(change("Deployment shop/x"), Some("better"));
    assert_eq!(change("Deployment shop/cart"), None, "it is the same in both");
    assert!(figures(&first, &first, 0.05).iter().all(|figure| figure.change.is_empty()));
}

#[test]
fn times_differ_beyond_the_tolerance_and_by_what_is_printed() {
    let with = |duration: i64, dark: i64| {
        let mut document = document("x");
        document["virtualDurationMs"] = json!(duration);
        document["workloads"][1]["withoutReadyMs"] = json!(dark);
        Rehearsal::of(&document).expect("it is a document")
    };
    let compared = |one: (i64, i64), other: (i64, i64), tolerance: f64| {
        let all = figures(&with(one.0, one.1), &with(other.0, other.1), tolerance);
        let row = |what: &str| {
            let found = all.iter().find(|figure| figure.what == what)?;
            let [first, second] = &found.values;
            Some(format!("{first} | {second} | {}", found.change))
        };
        (row("duration").expect("it is always there"), row("Deployment shop/x"))
    };
    let hour = 3_600_000;
    let (duration, dark) = compared((hour + 40_000, 3_987), (2 * hour + 340_000, 3_941), 0.05);
    assert_eq!(duration, "1h | 2h5m | +1h5m", "the change of what is printed");
    assert_eq!(dark, None, "both print 3s");
    // Within the tolerance, or within two seconds.
    let (duration, dark) = compared((hour, 60_000), (hour + 120_000, 62_500), 0.05);
    assert_eq!((duration.as_str(), dark), ("1h | 1h2m | ", None));
    let (_, dark) = compared((hour, 3_000), (hour, 5_000), 0.0);
    assert_eq!(dark, None, "two seconds are never told");
    // Beyond it.
    let (duration, dark) = compared((hour, 60_000), (hour + 40_000, 67_000), 0.0);
    assert_eq!(duration, "1h | 1h40s | +40s", "what would look alike is told in seconds");
    assert_eq!(
        dark.as_deref(),
        Some("down to 0 of 1 Ready, none for 1m | down to 0 of 1 Ready, none for 1m7s | worse")
    );
}

#[test]
fn what_is_no_document_is_refused() {
    let said = |text: &str| read(text).expect_err("it is none").to_string();
    assert!(said("{}").contains("its version is \"\""), "{}", said("{}"));
    assert!(said("nothing").contains("not the JSON of a rehearsal"));
    assert!(said(r#"{"version": "replank.dev/rehearsal/v1alpha1"}"#).contains("missing field"));
}
