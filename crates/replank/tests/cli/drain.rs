//! `replank cordon`, `uncordon` and `drain`, on a cluster that is served and on a real control plane: no test knows which.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use replank_judge::{Endpoint, Fault, Passed, Proxy, Sent};
use serde_json::{Value, json};

use super::cluster::Served;
use super::common::{Ran, command, replank};
use super::drive::ground::{Ground, scratch};

fn run(arguments: &[&str], kubeconfig: &Path) -> Ran {
    let file = kubeconfig.to_str().expect("it is text");
    replank(&[arguments, &["--kubeconfig", file]].concat())
}

fn begin(arguments: &[&str], kubeconfig: &Path) -> Child {
    let file = kubeconfig.to_str().expect("it is text");
    let mut command = command(&[arguments, &["--kubeconfig", file]].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary can be run")
}

fn is_cordoned(ground: &Ground, node: &str) -> bool {
    ground.get(&format!("/api/v1/nodes/{node}"))["spec"]["unschedulable"] == true
}

fn proxy(ground: &Ground) -> Proxy {
    Proxy::begin(ground.kubeconfig(), &ground.folder, Box::new(|_| Fault::Nothing)).expect("it begins")
}

/// What was asked of the server that changes something.
fn writes(passed: &[Passed]) -> Vec<&Passed> {
    let is_question = |one: &Passed| one.asked.path.contains("/selfsubjectaccessreviews");
    passed.iter().filter(|one| one.asked.is_write() && !is_question(one)).collect()
}

fn bare(name: &str, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"nodeName": node,
        "containers": [{"name": "c", "image": "i"}]}})
}

fn lines<'r>(ran: &'r Ran, word: &str) -> Vec<&'r str> {
    ran.stdout.lines().filter(|line| line.contains(word)).collect()
}

fn nodes_are_drained_as_kubectl_does_and_no_eviction_is_refused(ground: &Ground) {
    ground.workload("web", 6);
    let there = ground.pods_on("node-1").len() + ground.pods_on("node-2").len();
    assert!(there > 0);
    let proxy = proxy(ground);
    let journal = ground.folder.join("journal.jsonl");
    let journal = journal.to_str().expect("it is text");
    let drained =
        run(&["drain", "node-1", "node-2", "--parallel", "2", "--journal", journal], proxy.kubeconfig());
    assert_eq!(drained.code, Some(0), "{drained:?}");
    let tale = replank(&["report", journal, "-o", "json"]).json();
    let nodes = tale["nodes"].as_array().expect("a list");
    let gone = |node: &Value| {
        node["pods"].as_array().is_some_and(|pods| pods.iter().all(|pod| pod["gone"].is_string()))
    };
    assert!(nodes.len() == 2 && nodes.iter().all(gone), "{tale}");
    assert_eq!((&tale["end"], &tale["beginning"]["verb"]), (&json!("done"), &json!("drain")));
    assert!(ground.pods_on("node-1").is_empty() && ground.pods_on("node-2").is_empty());
    assert!(is_cordoned(ground, "node-1") && is_cordoned(ground, "node-2"));
    for node in ["node-1", "node-2"] {
        assert_eq!(lines(&drained, &format!("node/{node} ")).len(), 2, "{drained:?}");
        assert!(drained.stdout.contains(&format!("node/{node} cordoned\n")), "{drained:?}");
        assert!(drained.stdout.contains(&format!("node/{node} drained\n")), "{drained:?}");
    }
    assert_eq!(lines(&drained, "evicting pod default/web-").len(), there, "{drained:?}");
    assert_eq!(lines(&drained, " evicted").len(), there, "{drained:?}");

    // What the server was asked: an eviction for each pod, by uid, and two patches for each node.
    let passed = proxy.passed();
    let written = writes(&passed);
    let evictions: Vec<&&Passed> =
        written.iter().filter(|one| one.asked.path.contains("/eviction")).collect();
    assert_eq!(evictions.len(), there, "{evictions:?}");
    assert!(evictions.iter().all(|one| one.status == Some(201)), "none is refused: {evictions:?}");
    let uid =
        |one: &&&Passed| one.asked.body["deleteOptions"]["preconditions"]["uid"].as_str().map(str::to_owned);
    assert!(evictions.iter().all(|one| uid(one).is_some()), "{evictions:?}");
    assert!(written.iter().all(|one| one.asked.method != "DELETE"));
    assert_eq!(written.len() - evictions.len(), 4, "{written:?}");
    eprintln!("{} requests that change something for {there} pods and 2 nodes", written.len());

    // Any uncordon ends it: kubectl's, which knows no annotation, and ours.
    ground.merge("/api/v1/nodes/node-1", &json!({"spec": {"unschedulable": null}}));
    let uncordoned = run(&["uncordon", "node-1", "node-2"], ground.kubeconfig());
    assert_eq!(uncordoned.code, Some(0), "{uncordoned:?}");
    assert_eq!(uncordoned.stdout, "node/node-1 already uncordoned\nnode/node-2 uncordoned\n");
    let node = ground.get("/api/v1/nodes/node-2");
    assert!(node["spec"]["unschedulable"].is_null(), "{node}");
    assert!(!node["metadata"]["annotations"].to_string().contains("replank.dev"), "{node}");
    let cordoned = run(&["cordon", "-l", "kubernetes.io/hostname=node-3"], ground.kubeconfig());
    assert_eq!(
        (cordoned.code, cordoned.stdout.as_str()),
        (Some(0), "node/node-3 cordoned\n"),
        "{cordoned:?}"
    );
    let again = run(&["cordon", "node/node-3"], ground.kubeconfig());
    assert_eq!(again.stdout, "node/node-3 already cordoned\n");
}

fn a_node_with_pods_that_no_flag_allows_to_move_is_left_and_the_others_go_on(ground: &Ground) {
    ground.workload("web", 6);
    ground.create("/api/v1/namespaces/default/pods", &bare("bare", "node-2"));
    ground.wait("it runs", |ground| ground.pods_on("node-2").contains(&"bare".to_owned()));
    let before = ground.pods_on("node-2");
    let dry = |how: &str| {
        let proxy = proxy(ground);
        let ran = run(&["drain", "node-1", "node-2", how], proxy.kubeconfig());
        assert_eq!(ran.code, Some(4), "{ran:?}");
        assert!(!is_cordoned(ground, "node-1") && !is_cordoned(ground, "node-2"));
        (ran, proxy.passed())
    };
    let (client, passed) = dry("--dry-run=client");
    assert_eq!(writes(&passed), Vec::<&Passed>::new());
    assert!(
        client.stdout.contains("node/node-1 cordoned (dry run)\n")
            && client.stdout.contains("node/node-1 drained (dry run)\n"),
        "{client:?}"
    );
    let (server, passed) = dry("--dry-run=server");
    let written = writes(&passed);
    assert!(
        !written.is_empty() && written.iter().all(|one| one.asked.path.contains("dryRun=All")),
        "{written:?}"
    );
    assert!(server.stdout.contains("node/node-1 drained (server dry run)\n"), "{server:?}");

    let ran = run(&["drain", "node-1", "node-2"], ground.kubeconfig());
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let words = "error: unable to drain node \"node-2\" due to error: cannot delete Pods that declare no controller (use --force to override): default/bare, continuing command...";
    assert!(ran.stderr.contains(words), "{ran:?}");
    assert!(ran.stderr.contains("There are pending nodes to be drained:\n node-2\n"), "{ran:?}");
    assert!(ran.stderr.contains("next: pass --force"), "{ran:?}");
    assert!(
        ran.stdout.contains("node/node-1 drained\n") && !ran.stdout.contains("node/node-2 drained"),
        "{ran:?}"
    );
    assert!(ground.pods_on("node-1").is_empty());
    let left = ground.pods_on("node-2");
    assert!(before.iter().all(|pod| left.contains(pod)), "not one has gone: {before:?} {left:?}");

    let forced = run(&["drain", "node-2", "--force", "-o", "json"], ground.kubeconfig());
    assert_eq!(forced.code, Some(0), "{forced:?}");
    let events: Vec<Value> =
        forced.stdout.lines().map(|line| serde_json::from_str(line).expect("an event is a line")).collect();
    let of = |event: &str| events.iter().filter(|one| one["event"] == event).count();
    assert_eq!((of("drained"), of("end"), of("evicting")), (1, 1, before.len()), "{events:?}");
    let end = events.last().expect("there is an end");
    assert_eq!((&end["result"], &end["drained"]), (&json!("done"), &json!(["node-2"])));
}

fn what_is_held_is_named_and_leaves_a_stated_state(ground: &Ground) {
    ground.workload("web", 3);
    let all = json!({"spec": {"maxUnavailable": 0}});
    ground.merge("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web", &all);
    ground.wait("the budget is counted", |ground| {
        let budget = ground.get("/apis/policy/v1/namespaces/default/poddisruptionbudgets/web");
        budget["status"]["disruptionsAllowed"] == 0
    });
    let node = ["node-1", "node-2", "node-3"].into_iter().find(|node| !ground.pods_on(node).is_empty());
    let node = node.expect("there are pods");
    let timeout = run(&["drain", node, "--timeout", "4s"], ground.kubeconfig());
    assert_eq!(timeout.code, Some(4), "{timeout:?}");
    assert!(timeout.stderr.contains("global timeout reached: 4s"), "{timeout:?}");
    assert!(timeout.stderr.contains("disruption budget default/web: 3 healthy, 3 needed"), "{timeout:?}");
    assert!(timeout.stderr.contains("kubectl -n default edit pdb web"), "the remedy: {timeout:?}");
    assert!(is_cordoned(ground, node), "as by kubectl");
    assert_eq!(run(&["uncordon", node], ground.kubeconfig()).code, Some(0));
    for (how, kept) in [("keep", true), ("uncordon", false)] {
        let child = begin(&["drain", node, "--on-interrupt", how], ground.kubeconfig());
        ground.wait("it is cordoned", |ground| is_cordoned(ground, node));
        std::thread::sleep(Duration::from_secs(2));
        let sent =
            Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is kill");
        assert!(sent.success());
        let ran: Ran = child.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(130), "{ran:?}");
        assert_eq!(is_cordoned(ground, node), kept, "{how}: {ran:?}");
        let said =
            if kept { format!("kubectl uncordon {node}") } else { "no node stays cordoned".to_owned() };
        let told = ran.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains("interrupted: ") && told.contains(&said), "{ran:?}");
        if kept {
            assert_eq!(run(&["uncordon", node], ground.kubeconfig()).code, Some(0));
        }
    }
}

fn two_processes_at_once_drain_what_they_share_once(ground: &Ground) {
    ground.workload("web", 6);
    let there = ground.pods_on("node-1").len() + ground.pods_on("node-2").len();
    assert!(there > 0);
    let proxy = proxy(ground);
    // The same node, and nodes that overlap.
    let all: [&[&str]; 3] =
        [&["drain", "node-1"], &["drain", "node-1"], &["drain", "node-1", "node-2", "--parallel", "2"]];
    let children = all.map(|arguments| begin(arguments, proxy.kubeconfig()));
    for child in children {
        let ran: Ran = child.wait_with_output().expect("it ends").into();
        assert_eq!(ran.code, Some(0), "{ran:?}");
    }
    assert!(ground.pods_on("node-1").is_empty() && ground.pods_on("node-2").is_empty());
    assert!(is_cordoned(ground, "node-1") && is_cordoned(ground, "node-2") && !is_cordoned(ground, "node-3"));
    ground.wait("the workload is whole again", |ground| ground.is_whole("web", 6));
    // Two may ask for the same pod at the same moment, and are both told yes while it terminates: no other pod went for it.
    let passed = proxy.passed();
    let granted = passed.iter().filter(|one| one.asked.path.contains("/eviction") && one.status == Some(201));
    let uids: std::collections::BTreeSet<String> =
        granted.map(|one| one.asked.body["deleteOptions"]["preconditions"]["uid"].to_string()).collect();
    assert_eq!(uids.len(), there, "{uids:?}");
}

#[test]
fn two_processes_at_once_on_a_served_cluster() {
    two_processes_at_once_drain_what_they_share_once(&Ground::served("cli-two"));
}

#[test]
fn two_processes_at_once_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("cli-two") {
        two_processes_at_once_drain_what_they_share_once(&ground);
    }
}

#[test]
fn nodes_are_drained_on_a_served_cluster() {
    nodes_are_drained_as_kubectl_does_and_no_eviction_is_refused(&Ground::served("cli-drained"));
}

#[test]
fn nodes_are_drained_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("cli-drained") {
        nodes_are_drained_as_kubectl_does_and_no_eviction_is_refused(&ground);
    }
}

#[test]
fn a_refused_node_is_left_on_a_served_cluster() {
    a_node_with_pods_that_no_flag_allows_to_move_is_left_and_the_others_go_on(&Ground::served("cli-refused"));
}

#[test]
fn a_refused_node_is_left_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("cli-refused") {
        a_node_with_pods_that_no_flag_allows_to_move_is_left_and_the_others_go_on(&ground);
    }
}

#[test]
fn what_is_held_is_named_on_a_served_cluster() {
    what_is_held_is_named_and_leaves_a_stated_state(&Ground::served("cli-held"));
}

#[test]
fn what_is_held_is_named_on_a_real_control_plane() {
    if let Some(ground) = Ground::real("cli-held") {
        what_is_held_is_named_and_leaves_a_stated_state(&ground);
    }
}

/// The kubeconfig of a served cluster, acting as somebody else.
fn acting_as(kubeconfig: &Path, who: &str) -> PathBuf {
    let mut config: Value =
        serde_json::from_slice(&fs::read(kubeconfig).expect("it is written")).expect("it is JSON");
    config["users"][0]["user"]["as"] = who.into();
    let file = kubeconfig.with_file_name(format!("as-{who}.json"));
    fs::write(&file, config.to_string()).expect("it can be written");
    file
}

#[test]
fn each_verb_works_with_exactly_the_role_that_is_printed_for_it() {
    let ground = Ground::served("cli-rbac");
    ground.workload("web", 4);
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    let grant = |verb: &str| {
        let printed = replank(&["rbac", verb]);
        assert_eq!(printed.code, Some(0), "{printed:?}");
        let role = Sent::new("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles");
        let made = server
            .exchange(&role.typed("application/yaml", printed.stdout.into_bytes()))
            .expect("it answers");
        assert_eq!(made.status, 201, "{}", made.json());
        let name = format!("replank-{verb}");
        ground.create("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", &json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": verb}]}));
        acting_as(ground.kubeconfig(), verb)
    };
    let nobody = acting_as(ground.kubeconfig(), "nobody");
    for (verb, missing) in [
        ("cordon", "resources: [\"nodes\"] verbs: [get, list, watch, patch]"),
        ("drain", "resources: [\"pods/eviction\"] verbs: [create]"),
    ] {
        let ran = run(&[verb, "node-1"], &nobody);
        let told = ran.usage_error();
        assert!(told.contains("may not do everything that is needed") && told.contains(missing), "{told}");
    }
    assert!(!is_cordoned(&ground, "node-1"), "nothing was changed");
    let cases: [(&str, &[&str]); 5] = [
        ("cordon", &["cordon", "node-1"]),
        ("uncordon", &["uncordon", "node-1"]),
        ("drain", &["drain", "node-1"]),
        ("drain-surge", &["drain", "node-2", "--singletons", "surge"]),
        ("drain-disable-eviction", &["drain", "node-3", "--disable-eviction", "--grace-period", "1"]),
    ];
    for (verb, arguments) in cases {
        let ran = run(arguments, &grant(verb));
        assert_eq!(ran.code, Some(0), "{verb}: {ran:?}");
    }
    assert!(["node-1", "node-2", "node-3"].iter().all(|node| ground.pods_on(node).is_empty()));
    let snapshot = run(&["snapshot"], &grant("snapshot"));
    assert_eq!(snapshot.code, Some(0), "{}", snapshot.stderr);
}

#[test]
fn nodes_are_chosen_by_what_they_are_and_mistakes_change_nothing() {
    let ground = Ground::served("cli-chosen");
    ground.merge("/api/v1/nodes/node-2", &json!({"metadata": {"labels": {"team": "web"}}}));
    let config = ground.kubeconfig();
    let chosen = |arguments: &[&str]| {
        let ran = run(&[&["cordon", "--dry-run"], arguments].concat(), config);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
            .lines()
            .filter_map(|line| line.split([' ', '/']).nth(1))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let all = ["node-1", "node-2", "node-3"];
    assert_eq!(chosen(&["--kubelet-version", "<1.37"]), all);
    assert_eq!(chosen(&["--kubelet-version", "<1.36"]), Vec::<String>::new());
    assert_eq!(chosen(&["--node-group", "web", "--group-label", "team"]), ["node-2"]);
    assert_eq!(chosen(&["-l", "team in (web,api)"]), ["node-2"]);
    assert_eq!(chosen(&["-l", "!team", "--chunk-size", "1"]), ["node-1", "node-3"]);
    assert_eq!(chosen(&["--older-than", "30d"]), Vec::<String>::new());
    assert_eq!(
        chosen(&["node-3", "node-1", "node-3"]),
        ["node-3", "node-1"],
        "in the order in which they are named"
    );

    let error = |arguments: &[&str]| run(arguments, config).usage_error();
    assert!(error(&["drain"]).contains("no node is named"));
    assert!(error(&["drain", "node-9", "node-1"]).contains("nodes \"node-9\" not found"));
    assert!(error(&["drain", "node-1", "-l", "team"]).contains("cannot be used with"));
    assert!(error(&["drain", "-l", "a=b=c"]).contains("--selector"));
    assert!(
        error(&["drain", "node-1", "--pod-selector", "a=b=c"]).contains("must be a valid label selector")
    );
    assert!(!all.iter().any(|node| is_cordoned(&ground, node)), "nothing was changed");
    assert!(replank(&["drain", "node-1"]).usage_error().contains("there is no kubeconfig"));

    let served = Served::of(&["--nodes", "1"]);
    let copy = scratch("cli-gone");
    fs::create_dir_all(&copy).expect("it can be made");
    let copy = copy.join("kubeconfig.json");
    fs::copy(&served.file, &copy).expect("it can be copied");
    served.kill();
    let arguments = ["drain", "node-1", "--kubeconfig", copy.to_str().expect("it is text")];
    let unreachable: Ran = command(&arguments).output().expect("the binary can be run").into();
    assert_eq!((unreachable.code, unreachable.stdout.as_str()), (Some(1), ""), "{unreachable:?}");
    assert!(unreachable.stderr.contains("cannot reach the API server"), "{unreachable:?}");
}

#[test]
fn a_drain_is_rehearsed_before_it_begins_and_a_singleton_that_surges_is_never_missing() {
    let ground = Ground::served("cli-rehearsed");
    ground.workload("web", 1);
    let node = ["node-1", "node-2", "node-3"].into_iter().find(|node| !ground.pods_on(node).is_empty());
    let ran =
        run(&["drain", node.expect("it runs"), "--singletons", "surge", "--rehearse"], ground.kubeconfig());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stderr.contains("rehearsed: 1 node drained in "), "{ran:?}");
    assert!(ran.stdout.contains("restarting deployment default/web"), "{ran:?}");
    assert!(!ran.stdout.contains("evicting pod"), "{ran:?}");
}

#[test]
fn as_a_plugin_of_kubectl_it_says_so() {
    let folder = scratch("plugin");
    fs::create_dir_all(&folder).expect("it can be made");
    let plugin = folder.join("kubectl-replank");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_replank"), &plugin).expect("it can be linked");
    let told = Command::new(plugin).args(["drain", "--help"]).output().expect("it can be run");
    let told = String::from_utf8(told.stdout).expect("text");
    assert!(told.contains("Usage: kubectl replank drain"), "{told}");
}
