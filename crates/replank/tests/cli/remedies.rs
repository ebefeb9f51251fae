//! Remedies: only what was proved on a copy is shown as a command, and the severity of what was found follows the rehearsal.

use serde_json::{Value, json};

use super::common::{Ran, replank, scratch};

fn node(name: &str, zone: &str, group: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-06-01T00:00:00Z", "labels": {"kubernetes.io/hostname": name,
            "eks.amazonaws.com/nodegroup": group, "topology.kubernetes.io/zone": zone}},
        "spec": {"providerID": format!("aws:///{zone}/i-{name}")},
        "status": {"allocatable": {"cpu": "2", "memory": "8Gi", "pods": "20"}, "nodeInfo": {"kubeletVersion": "v1.34.2"},
            "conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-11-20T09:00:00Z"}]}})
}

fn nodes() -> Vec<Value> {
    [("n1", "a"), ("n2", "b"), ("n3", "c")].map(|(name, zone)| node(name, zone, "web")).into()
}

/// A Deployment with a Ready pod on each of these nodes.
fn deployment(name: &str, on: &[&str], spec: &Value) -> Vec<Value> {
    let labels = json!({"app": name});
    let mut pod_spec =
        json!({"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "500m"}}}]});
    for (key, value) in spec.as_object().into_iter().flatten() {
        pod_spec[key] = value.clone();
    }
    let template = json!({"metadata": {"labels": labels}, "spec": pod_spec});
    let hashed = json!({"app": name, "pod-template-hash": "h"});
    let count = on.len();
    let status = json!({"observedGeneration": 1, "replicas": count, "updatedReplicas": count, "readyReplicas": count, "availableReplicas": count});
    let owned = |kind: &str, owner: &str| json!([{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": format!("{kind}-{owner}"), "controller": true}]);
    let set = format!("{name}-h");
    let mut all = vec![
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "uid": format!("Deployment-{name}"), "generation": 1},
            "spec": {"replicas": count, "selector": {"matchLabels": labels}, "template": template}, "status": status}),
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": set, "namespace": "shop", "uid": format!("ReplicaSet-{set}"), "generation": 1,
                "labels": hashed, "ownerReferences": owned("Deployment", name)},
            "spec": {"replicas": count, "selector": {"matchLabels": hashed}, "template": {"metadata": {"labels": hashed}, "spec": pod_spec}}, "status": status}),
    ];
    all.extend(on.iter().enumerate().map(|(number, node)| {
        let mut spec = pod_spec.clone();
        spec["nodeName"] = json!(node);
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("{set}-{number}"), "namespace": "shop", "uid": format!("{set}-{number}"),
                "labels": hashed, "ownerReferences": owned("ReplicaSet", &set)},
            "spec": spec, "status": {"phase": "Running", "startTime": "2026-11-19T09:00:00Z", "conditions": [{"type": "Ready", "status": "True"}]}})
    }));
    all
}

fn budget(name: &str, app: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    spec["selector"] = json!({"matchLabels": {"app": app}});
    json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": spec})
}

fn snapshot(name: &str, objects: Vec<Vec<Value>>) -> String {
    let namespace =
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "uid": "ns"}});
    let items: Vec<Value> = [vec![namespace]].into_iter().chain(objects).flatten().collect();
    scratch(
        &format!("remedies-{name}.json"),
        json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string(),
    )
}

fn of<'a>(found: &'a Value, rule: &str) -> &'a Value {
    let all = found["findings"].as_array().expect("a list");
    all.iter().find(|one| one["id"] == rule).unwrap_or_else(|| panic!("{rule} is not found: {found}"))
}

fn check(snapshot: &str, more: &[&str]) -> Ran {
    replank(&[&["check", snapshot], more].concat())
}

/// A budget that never lets a pod go: the roll cannot end.
fn blocked(name: &str) -> String {
    let web = deployment("web", &["n1", "n2", "n3"], &json!({}));
    snapshot(name, vec![nodes(), web, vec![budget("web", "web", &json!({"minAvailable": "100%"}))]])
}

#[test]
fn a_change_that_lets_the_roll_go_on_is_rehearsed_and_a_program_can_make_it() {
    let found = check(&blocked("rehearsed"), &["--roll", "web", "-o", "json"]).json();
    let finding = of(&found, "pdb-never-allows");
    assert_eq!(
        (&finding["proof"], &finding["severity"]),
        (&json!("rehearsed"), &json!("blocking")),
        "{finding}"
    );
    let change = &finding["changes"][0];
    assert_eq!(change["requests"][0]["path"], "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web");
    assert_eq!(change["requests"][0]["body"], json!({"spec": {"maxUnavailable": 1, "minAvailable": null}}));
    let command = change["command"].as_str().expect("a command");
    assert!(finding["remedy"].as_str().is_some_and(|text| text.contains(command)), "{finding}");
}

#[test]
fn with_its_remedy_the_roll_that_was_blocked_ends() {
    let snapshot = blocked("with");
    let before = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "json"]).json();
    assert_eq!(
        (&before["verdict"], &before["nodes"]["replaced"]),
        (&json!("blocked"), &json!(0)),
        "{before}"
    );
    let after = replank(&[
        "rehearse",
        &snapshot,
        "--roll",
        "web",
        "--with-remedies",
        "pdb-never-allows",
        "-o",
        "json",
    ]);
    let result = after.json();
    assert_eq!(result["nodes"]["replaced"], 3, "{result}");
    assert_eq!(result["remedies"].as_array().map(Vec::len), Some(1));
    assert!(after.stderr.contains("changed first: kubectl -n shop patch pdb web"), "{}", after.stderr);
}

#[test]
fn remedies_that_are_not_there_are_usage_errors() {
    let snapshot = blocked("errors");
    let of =
        |ids: &str| replank(&["rehearse", &snapshot, "--roll", "web", "--with-remedies", ids]).usage_error();
    assert!(of("pdb-nver").contains("expected the id of a rule"));
    assert!(of("host-port").contains("--with-remedies host-port: nothing was found of it"));
    let markdown = check(&snapshot, &["--fix-preview", "-o", "markdown"]).usage_error();
    assert!(markdown.contains("--fix-preview has no such output format"), "{markdown}");
}

#[test]
fn a_preview_shows_objects_before_and_after() {
    let snapshot = blocked("preview");
    let text = check(&snapshot, &["--roll", "web", "--fix-preview"]).stdout;
    assert!(text.starts_with("Preview  1 proved remedy\n"), "{text}");
    assert!(text.contains("~  PodDisruptionBudget shop/web"), "{text}");
    assert!(text.contains("spec.minAvailable: \"100%\" -> (none)"), "{text}");
    let whole = check(&snapshot, &["--roll", "web", "--fix-preview", "-o", "json"]).json();
    let object = &whole["remedies"][0]["objects"][0];
    assert_eq!(
        (&object["before"]["spec"]["minAvailable"], &object["after"]["spec"]["maxUnavailable"]),
        (&json!("100%"), &json!(1))
    );
}

#[test]
fn what_cannot_be_proved_is_no_command() {
    // Two pods have no room: the second replica would be Pending.
    let full = json!({"containers": [{"name": "c", "image": "x", "resources": {"requests": {"cpu": "1500m"}}}], "nodeSelector": {"kubernetes.io/hostname": "n1"}});
    let snapshot = snapshot("withheld", vec![nodes(), deployment("db", &["n1"], &full)]);
    let found = check(&snapshot, &["-o", "json"]).json();
    let finding = of(&found, "singleton");
    assert_eq!(finding["proof"], "withheld", "{finding}");
    assert!(
        finding["withheld"].as_str().is_some_and(|why| why.contains("would be Pending: no node can take it")),
        "{finding}"
    );
    assert!(!finding["remedy"].as_str().is_some_and(|text| text.contains("scale")), "{finding}");
    let text = check(&snapshot, &["--only", "singleton"]).stdout;
    assert!(text.contains("what to look at:") && text.contains("# no change is proposed"), "{text}");
}

#[test]
fn a_second_replica_comes_with_a_budget() {
    let found =
        check(&snapshot("second", vec![nodes(), deployment("one", &["n1"], &json!({}))]), &["-o", "json"])
            .json();
    let finding = of(&found, "singleton");
    assert_eq!(finding["proof"], "checked", "{finding}");
    assert_eq!(
        finding["changes"].as_array().map(Vec::len),
        Some(2),
        "else it would be found without one: {finding}"
    );
}

#[test]
fn an_overlapping_budget_that_is_anothers_only_one_is_not_deleted() {
    let tier = |app: &str| {
        let mut all = deployment(app, &["n1", "n2"], &json!({}));
        for object in &mut all {
            object["metadata"]["labels"]["tier"] = json!("front");
        }
        all
    };
    let mut wide = budget("wide", "web", &json!({"maxUnavailable": 1}));
    wide["spec"]["selector"] = json!({"matchLabels": {"tier": "front"}});
    let narrow = budget("web", "web", &json!({"maxUnavailable": 1}));
    let snapshot = snapshot("overlap", vec![nodes(), tier("web"), tier("api"), vec![wide, narrow]]);
    let found = check(&snapshot, &["-o", "json"]).json();
    let remedy = of(&found, "pdb-several")["remedy"].clone();
    // `wide` is the only budget of `api`, and would let all pods of `web` go if its own were not there.
    assert!(remedy.as_str().is_some_and(|text| text.starts_with("narrow the selectors")), "{remedy}");
}

#[test]
fn replicas_that_must_be_together_are_not_spread() {
    let together = json!({"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "kubernetes.io/hostname"}]}}});
    let snapshot = snapshot("together", vec![nodes(), deployment("web", &["n1", "n1", "n1"], &together)]);
    let found = replank(&["place", "--audit", &snapshot, "-o", "json"]).json();
    for finding in found["findings"].as_array().expect("a list") {
        let is_shown =
            finding["remedy"].as_str().is_some_and(|text| text.contains("topologySpreadConstraints"));
        assert!(!is_shown || finding["object"] != "Deployment shop/web", "one of three would fit: {finding}");
    }
}

#[test]
fn a_taint_that_one_person_put_on_one_node_is_taken_off_that_node() {
    let mut all = nodes();
    all.extend([node("n4", "a", "web"), node("n5", "b", "web")]);
    all[4]["spec"]["taints"] = json!([{"key": "debug", "value": "ann", "effect": "NoSchedule"}]);
    let snapshot = snapshot("taint", vec![all, deployment("web", &["n1", "n2"], &json!({}))]);
    let found = replank(&["place", "--audit", &snapshot, "-o", "json"]).json();
    let finding = of(&found, "taint-unused");
    assert_eq!(finding["proof"], "checked", "{finding}");
    assert!(
        finding["remedy"]
            .as_str()
            .is_some_and(|text| text.contains("kubectl taint node n5 debug:NoSchedule-")),
        "{finding}"
    );
}

#[test]
fn a_version_that_eks_refuses_is_not_begun() {
    let snapshot = snapshot("downgrade", vec![nodes(), deployment("web", &["n1", "n2"], &json!({}))]);
    let ran = replank(&["rehearse", &snapshot, "--roll", "web", "--to-version", "1.20"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.stdout.contains("Not started, because of these findings:"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("were replaced"), "{}", ran.stdout);
    let found =
        replank(&["rehearse", &snapshot, "--roll", "web", "--to-version", "1.20", "-o", "json"]).json();
    assert_eq!(
        of(&found, "version-skew")["proof"],
        "rehearsed",
        "with the version of the cluster it goes on: {found}"
    );
}

#[test]
fn what_stops_the_roll_is_named_with_its_finding() {
    let one = deployment("one", &["n1"], &json!({}));
    let snapshot =
        snapshot("stops", vec![nodes(), one, vec![budget("one", "one", &json!({"minAvailable": 1}))]]);
    let result = replank(&["rehearse", &snapshot, "--roll", "web", "-o", "json"]).json();
    let causes = result["causes"].as_array().expect("a list");
    assert_eq!(causes.len(), 1, "{result}");
    assert_eq!(
        (&causes[0]["finding"], &causes[0]["findingObject"]),
        (&json!("pdb-never-allows"), &json!("PodDisruptionBudget shop/one"))
    );
    assert_eq!(of(&result, "pdb-never-allows")["severity"], "blocking");
}

#[test]
fn what_is_proposed_can_be_had_together() {
    // The broader Deployment's selector covers the canary's pods as well.
    let mut canary = deployment("canary", &["n1", "n2"], &json!({}));
    for object in &mut canary {
        for path in ["/metadata/labels", "/spec/selector/matchLabels", "/spec/template/metadata/labels"] {
            if let Some(labels) = object.pointer_mut(path) {
                labels["app"] = json!("stable");
                labels["track"] = json!("canary");
            }
        }
    }
    let stable = deployment("stable", &["n1", "n2"], &json!({}));
    let snapshot = snapshot("jointly", vec![nodes(), canary, stable]);
    let result =
        replank(&["rehearse", &snapshot, "--roll", "web", "--with-remedies", "all", "-o", "json"]).json();
    assert_eq!(result["nodes"]["replaced"], 3, "{result}");
    let all = result["findings"].as_array().expect("a list");
    assert!(all.iter().all(|one| one["id"] != "pdb-several"), "{result}");
}

#[test]
fn of_two_budgets_over_the_same_pods_the_one_that_lets_them_go_stays() {
    let web = deployment("web", &["n1", "n2", "n3"], &json!({}));
    let budgets = vec![
        budget("web", "web", &json!({"maxUnavailable": 1})),
        budget("web-old", "web", &json!({"minAvailable": 3})),
    ];
    let snapshot = snapshot("two", vec![nodes(), web, budgets]);
    let found = check(&snapshot, &["--roll", "web", "-o", "json"]).json();
    let finding = of(&found, "pdb-several");
    assert!(finding["remedy"].as_str().is_some_and(|text| text.contains("delete pdb web-old")), "{finding}");
    let result =
        replank(&["rehearse", &snapshot, "--roll", "web", "--with-remedies", "all", "-o", "json"]).json();
    assert_eq!(result["nodes"]["replaced"], 3, "{result}");
}

#[test]
fn a_namespace_that_is_not_there_is_a_usage_error() {
    let error = check(&blocked("namespace"), &["-n", "shpo"]).usage_error();
    assert!(error.contains("namespace shpo is not in the snapshot"), "{error}");
}

/// A budget that never lets a pod go, with this metadata besides: what is to be committed for its remedy.
fn commits(name: &str, metadata: &Value) -> Value {
    let web = deployment("web", &["n1", "n2", "n3"], &json!({}));
    let mut kept = budget("web", "web", &json!({"minAvailable": "100%"}));
    for (member, value) in metadata.as_object().into_iter().flatten() {
        kept["metadata"][member] = value.clone();
    }
    let snapshot = snapshot(name, vec![nodes(), web, vec![kept]]);
    let found = check(&snapshot, &["--roll", "web", "-o", "json"]).json();
    let finding = of(&found, "pdb-never-allows");
    let told = finding["remedy"].as_str().expect("a text");
    for commit in finding["commits"].as_array().expect("a list") {
        assert!(told.contains(commit["text"].as_str().expect("a text")), "{finding}");
    }
    finding["commits"].clone()
}

#[test]
fn a_change_is_told_as_it_is_committed_where_the_object_is_kept() {
    let patch = r#"- patch: '{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"shop"},"spec":{"maxUnavailable":1,"minAvailable":null}}'"#;
    let object = "PodDisruptionBudget shop/web";
    let by = |tool: &str, keeper: &str, text: &str| json!([{"object": object, "tool": tool, "keeper": keeper, "change": "set", "text": text}]);
    let argo = json!({"annotations": {"argocd.argoproj.io/tracking-id": "shop:policy/PodDisruptionBudget:shop/web"}});
    assert_eq!(commits("argo", &argo), by("argocd", "Argo CD Application shop", patch));
    let flux = |prefix: &str| json!({"labels": {format!("{prefix}.toolkit.fluxcd.io/name"): "apps", format!("{prefix}.toolkit.fluxcd.io/namespace"): "flux-system"}});
    let told = commits("flux", &flux("kustomize"));
    assert_eq!(told, by("flux", "Flux Kustomization flux-system/apps", patch));
    let told = commits("flux-helm", &flux("helm"));
    assert_eq!(told, by("flux", "Flux HelmRelease flux-system/apps", patch));
    let release = json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "web", "meta.helm.sh/release-namespace": "ops"}});
    assert_eq!(commits("helm", &release), by("helm", "Helm release ops/web", patch));
    let of_terraform = [
        ("Terraform", "manifest = {\n  spec = {\n    maxUnavailable = 1\n    minAvailable = null\n  }\n}"),
        ("HashiCorp", "spec {\n  max_unavailable = \"1\"\n  min_available = null\n}"),
    ];
    for (manager, text) in of_terraform {
        let metadata =
            json!({"managedFields": [{"manager": manager, "operation": "Apply", "apiVersion": "policy/v1"}]});
        let told = commits(manager, &metadata);
        assert_eq!(told, json!([{"object": object, "tool": "terraform", "change": "set", "text": text}]));
    }
    // Nobody keeps it: labels that everybody uses, and somebody's hands.
    let nobody = json!({"labels": {"app.kubernetes.io/managed-by": "Helm", "app.kubernetes.io/instance": "web"},
        "managedFields": [{"manager": "kubectl", "operation": "Update", "apiVersion": "policy/v1"}]});
    assert_eq!(commits("nobody", &nobody), json!([]));
}

#[test]
fn each_tool_of_the_example_gets_the_change_in_its_own_form() {
    let found =
        check("examples/questions/keepers.yaml", &["--only", "pdb-never-allows", "-o", "json"]).json();
    let commits = |name: &str| {
        let object = format!("PodDisruptionBudget shop/{name}");
        let all = found["findings"].as_array().expect("a list");
        let one = all.iter().find(|one| one["object"] == *object).expect("it is found");
        let texts = one["commits"].as_array().expect("a list").iter();
        texts.map(|one| one["text"].as_str().expect("a text").to_owned()).collect::<Vec<_>>()
    };
    assert!(commits("cart")[0].starts_with("- patch: '{"), "Argo CD");
    assert_eq!(
        commits("catalog"),
        ["pdb:\n  maxUnavailable: 1\n  minAvailable: null"],
        "a release that is stored"
    );
    assert!(commits("legacy")[0].starts_with("- patch: '{"), "a release whose chart the dump does not have");
    assert_eq!(
        commits("payment"),
        ["spec:\n  values:\n    pdb:\n      maxUnavailable: 1\n      minAvailable: null"],
        "Flux"
    );
    assert_eq!(
        commits("stock"),
        ["spec {\n  max_unavailable = \"1\"\n  min_available = null\n}"],
        "Terraform"
    );
    assert_eq!(commits("search"), [""; 0], "nobody manages it");
}

/// What nobody manages in such a way, though it looks so: labels and annotations that say nothing, an earlier Flux, charts that were only rendered, another field manager.
#[test]
fn what_looks_managed_and_is_not_has_only_its_command() {
    let found =
        check("examples/questions/keepers-alike.yaml", &["--only", "pdb-never-allows", "-o", "json"]).json();
    let all = found["findings"].as_array().expect("a list");
    let names: Vec<&str> = all.iter().filter_map(|one| one["object"].as_str()).collect();
    assert_eq!(
        names,
        ["cart", "catalog", "payment", "stock"].map(|name| format!("PodDisruptionBudget shop/{name}"))
    );
    for one in all {
        assert_eq!((&one["commits"], &one["proof"]), (&json!([]), &json!("rehearsed")), "{one}");
        assert!(one["remedy"].as_str().is_some_and(|text| text.lines().count() == 1), "{one}");
    }
}

/// Tool, keeper and text of what is to be committed for a budget of CoreDNS, and the blocks of the remedy.
fn of_addon(verb: &str, cluster: &str, aws: &str) -> (Vec<Value>, Vec<Value>) {
    let (cluster, aws) =
        (format!("examples/questions/addon/{cluster}.yaml"), format!("examples/questions/addon/{aws}"));
    let what: &[&str] = if verb == "check" { &["--only", "pdb-never-allows"] } else { &["--roll", "web"] };
    let found = replank(&[&[verb, &*cluster, "--aws", &*aws, "-o", "json"], what].concat()).json();
    let finding = of(&found, "pdb-never-allows");
    let commits = finding["commits"].as_array().expect("a list");
    let told = commits.iter().map(|one| json!([one["tool"], one["keeper"], one["text"]])).collect();
    (told, finding["remedyBlocks"].as_array().expect("a list").clone())
}

#[test]
fn a_change_of_an_add_on_is_told_for_eks_and_for_the_stack_that_manages_it() {
    let values = r#"{"podDisruptionBudget":{"maxUnavailable":1},"replicaCount":2}"#;
    let command = format!(
        "aws eks update-addon --cluster-name shop --addon-name coredns --resolve-conflicts PRESERVE --configuration-values '{values}'"
    );
    let property = format!("ConfigurationValues: '{values}'");
    let of_eks = json!(["eks", "EKS add-on coredns", command]);
    let of_stack = json!(["cloudformation", "CloudFormation stack shop-addons", property]);
    for verb in ["check", "rehearse"] {
        let (commits, blocks) = of_addon(verb, "cluster", "aws");
        assert_eq!(commits, [of_eks.clone(), of_stack.clone()], "{verb}");
        let has = |sort: &str, text: &str| blocks.contains(&json!({"sort": sort, "text": text}));
        assert!(has("command", &command) && has("yaml", &property), "{verb}: {blocks:?}");
    }
    // Tags of one's own say nothing of a stack.
    assert_eq!(of_addon("check", "cluster", "aws-by-hand").0, [of_eks]);
    // A budget of that name that somebody has made.
    assert_eq!(of_addon("check", "own-budget", "aws").0, [json!(null); 0]);
}

#[test]
fn nodes_that_eks_drains_at_once_are_told_with_the_stack_of_their_group() {
    let of_groups = |file: &str| {
        let (cluster, file) = (
            "examples/questions/update-config/cluster.yaml",
            format!("examples/questions/update-config/{file}.json"),
        );
        let what = ["--groups", &*file, "--managed-update", "--only", "managed-update", "-o", "json"];
        check(cluster, &what).json()["findings"].as_array().expect("a list").clone()
    };
    let found = of_groups("three-at-once");
    assert_eq!(found.len(), 3, "each node: {found:?}");
    let block = json!({"sort": "yaml", "text": "UpdateConfig:\n  MaxUnavailable: 1"});
    let blocks = found[0]["remedyBlocks"].as_array().expect("a list");
    assert!(blocks.contains(&block) && blocks[0]["sort"] == "command", "{blocks:?}");
    assert!(blocks[1]["text"].as_str().is_some_and(|text| text.contains("stack shop-nodes")), "{blocks:?}");
    assert_eq!(of_groups("a-third"), [json!(null); 0]);
}

#[test]
fn a_new_budget_is_a_file_beside_what_keeps_its_workload() {
    let mut web = deployment("web", &["n1", "n2"], &json!({}));
    web[0]["metadata"]["annotations"] =
        json!({"argocd.argoproj.io/tracking-id": "shop:apps/Deployment:shop/web"});
    let found = check(&snapshot("new-budget", vec![nodes(), web]), &["--roll", "web", "-o", "json"]).json();
    let finding = of(&found, "no-budget");
    let text = finding["commits"][0]["text"].as_str().expect("a text");
    let object: Value = serde_json::from_str(text).expect("it is JSON");
    assert_eq!(finding["commits"][0]["change"], "added", "{finding}");
    assert_eq!(object["kind"], "PodDisruptionBudget", "{finding}");
    assert_eq!(object["spec"]["selector"], json!({"matchLabels": {"app": "web"}}), "{finding}");
    assert_eq!(finding["commits"][0]["keeper"], "Argo CD Application shop", "{finding}");
}
