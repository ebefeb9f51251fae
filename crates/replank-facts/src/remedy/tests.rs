use replank_model::object::meta::Key;
use serde_json::json;

use super::*;

fn deployment() -> Target {
    Target::new(TargetKind::Deployment, Key::new("shop", "web"))
}

fn budget(selector: &str) -> Edit {
    let bound = BudgetBound::MaxUnavailable("25%".into());
    Edit::CreateBudget { key: Key::new("shop", "web"), selector: selector.to_owned(), bound }
}

#[test]
fn a_change_is_a_command_and_a_request() {
    let told = |edit: &Edit| (edit.to_string(), edit.writes().remove(0));
    let (text, write) = told(&Edit::Scale { of: deployment(), replicas: 2 });
    assert_eq!(text, "kubectl -n shop scale deployment/web --replicas=2");
    assert_eq!(write.path, "/apis/apps/v1/namespaces/shop/deployments/web/scale");
    assert_eq!((write.verb, write.body), (Verb::MergePatch, json!({"spec": {"replicas": 2}})));
    let (text, write) =
        told(&Edit::Patch { of: deployment(), patch: json!({"metadata": {"annotations": {"a": "it's"}}}) });
    assert_eq!(
        text,
        r#"kubectl -n shop patch deployment/web --type merge -p '{"metadata":{"annotations":{"a":"it'\''s"}}}'"#
    );
    assert_eq!(write.verb.method(), ("PATCH", "application/merge-patch+json"));
    let (text, write) = told(&Edit::Uncordon { node: "n".into() });
    assert_eq!((text.as_str(), write.path.as_str()), ("kubectl uncordon n", "/api/v1/nodes/n"));
    let of = Target::new(TargetKind::PodDisruptionBudget, Key::new("shop", "web"));
    let (text, write) = told(&Edit::Delete { of });
    assert_eq!(text, "kubectl -n shop delete pdb web");
    assert_eq!(write.path, "/apis/policy/v1/namespaces/shop/poddisruptionbudgets/web");
}

#[test]
fn a_selector_on_one_line_is_the_label_selector_that_says_the_same() {
    let write = budget("app=web,tier in (a,b),!old").writes().remove(0);
    assert_eq!(
        write.body["spec"],
        json!({"maxUnavailable": "25%", "selector": {"matchLabels": {"app": "web"}, "matchExpressions": [
            {"key": "old", "operator": "DoesNotExist", "values": []}, {"key": "tier", "operator": "In", "values": ["a", "b"]}]}})
    );
    let number = BudgetBound::MinAvailable("2".into());
    let edit =
        Edit::CreateBudget { key: Key::new("shop", "web"), selector: "app=web".to_owned(), bound: number };
    assert_eq!(edit.to_string(), "kubectl -n shop create pdb web --selector='app=web' --min-available=2");
    assert_eq!(edit.writes().remove(0).body["spec"]["minAvailable"], json!(2));
}

#[test]
fn what_the_plan_needs_is_written_as_in_a_plan() {
    let edit = Edit::Plan {
        members: vec![
            ("batch.wait", json!("6h")),
            ("batch.onDeadline", json!("pause")),
            ("localStorage", json!("allow")),
            ("target.kubernetesVersion", json!("1.36")),
        ],
    };
    assert_eq!(
        edit.to_string(),
        r#"set in the plan: batch: {wait: 6h, onDeadline: pause}, localStorage: allow, target: {kubernetesVersion: "1.36"}"#
    );
    assert_eq!(edit.of_plan().expect("of the plan")["batch"], json!({"onDeadline": "pause", "wait": "6h"}));
    assert!(edit.writes().is_empty() && edit.targets().is_empty());
}

#[test]
fn what_to_look_at_stands_before_what_to_do() {
    let remedy = Remedy::edit(Edit::Scale { of: deployment(), replicas: 2 })
        .then(budget("app=web"))
        .note("if it can run twice")
        .or(Edit::Uncordon { node: "n".into() })
        .look_first("look at it")
        .or_look("look elsewhere");
    assert_eq!(
        remedy.text(),
        "look at it\nkubectl -n shop scale deployment/web --replicas=2   # if it can run twice\nkubectl -n shop create pdb web --selector='app=web' --max-unavailable=25%\nor:\nkubectl uncordon n"
    );
    assert_eq!((remedy.ways.len(), Remedy::look("x").ways.len()), (2, 0));
    assert!(Remedy::default().is_empty());
}

#[test]
fn a_kustomization_replaces_lists_that_it_would_join() {
    let owned = |name: &str| {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "uid": "u",
            "labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "web"}}});
        let object = replank_model::object::Object::from_json(object).expect("an object");
        [replank_model::delta::Delta::Put(object)].into_iter().collect::<replank_model::view::View>()
    };
    let spread = json!({"spec": {"template": {"spec": {"topologySpreadConstraints": [{"maxSkew": 1}]}}}});
    let told = |edit: &Edit| {
        let (view, addons) = (owned("web"), Addons::default());
        let mut installed = Installed::new(&view, &addons, &|_| None);
        commits(&mut installed, edit, None).into_iter().map(|commit| commit.text).collect::<Vec<_>>()
    };
    let patch = told(&Edit::Patch { of: deployment(), patch: spread.clone() }).remove(0);
    assert!(patch.contains(r#"[{"maxSkew":1},{"$patch":"replace"}]"#), "{patch}");
    let merge = told(&Edit::Merge { of: deployment(), patch: spread }).remove(0);
    assert!(merge.contains(r#"[{"maxSkew":1}]"#), "{merge}");
    let gone = told(&Edit::Delete { of: deployment() }).remove(0);
    assert!(gone.starts_with("- patch: '{") && gone.contains(r#""$patch":"delete""#), "{gone}");
    let other = Target::new(TargetKind::Deployment, Key::new("shop", "other"));
    assert_eq!(told(&Edit::Scale { of: other, replicas: 2 }), Vec::<String>::new());
}

/// A Helm release has no kustomization, and Flux's post-renderers add nothing.
#[test]
fn a_new_object_is_added_where_its_workload_is_rendered() {
    let helm = json!({"labels": {"app.kubernetes.io/managed-by": "Helm"}, "annotations": {"meta.helm.sh/release-name": "web"}});
    let flux = |kind: &str| {
        let label = |member: &str| format!("{kind}.toolkit.fluxcd.io/{member}");
        json!({"labels": {label("name"): "web", label("namespace"): "flux-system"}})
    };
    let chart = "a template of its chart, or a manifest that is applied beside the release:";
    let resources = "a file that the kustomization names under resources:";
    for (meta, tool, place) in
        [(helm, "helm", chart), (flux("helm"), "flux", chart), (flux("kustomize"), "flux", resources)]
    {
        let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop", "uid": "u"}});
        for member in ["labels", "annotations"] {
            object["metadata"][member] = meta[member].clone();
        }
        let object = replank_model::object::Object::from_json(object).expect("an object");
        let view: replank_model::view::View =
            [replank_model::delta::Delta::Put(object)].into_iter().collect();
        let addons = Addons::default();
        let mut installed = Installed::new(&view, &addons, &|_| None);
        let commit = commits(&mut installed, &budget("app=web"), Some(&deployment())).remove(0);
        assert_eq!((commit.tool(), commit.change()), (tool, Change::Added));
        let told = commit.to_string();
        assert!(told.contains(&format!(" manages what it is for, so add it there: {place}\n")), "{told}");
    }
}

/// Findings of one release are many, and to unpack it is work.
#[test]
fn a_release_is_unpacked_once_for_all_changes() {
    let labels = json!({"app.kubernetes.io/managed-by": "Helm"});
    let object = |name: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "shop", "uid": name, "labels": labels,
            "annotations": {"meta.helm.sh/release-name": "web"}}})
    };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "sh.helm.release.v1.web.v1", "namespace": "shop",
        "labels": {"owner": "helm", "name": "web", "status": "deployed"}}, "data": {"release": "x"}});
    let all = [object("web"), object("api"), secret];
    let view: replank_model::view::View = all
        .into_iter()
        .map(|one| replank_model::object::Object::from_json(one).expect("an object"))
        .map(replank_model::delta::Delta::Put)
        .collect();
    let asked = std::cell::Cell::new(0);
    let unpack = |_: &str| {
        asked.set(asked.get() + 1);
        None
    };
    let addons = Addons::default();
    let mut installed = Installed::new(&view, &addons, &unpack);
    for name in ["web", "api", "web"] {
        let of = Target::new(TargetKind::Deployment, Key::new("shop", name));
        assert_eq!(commits(&mut installed, &Edit::Scale { of, replicas: 2 }, None).len(), 1);
    }
    assert_eq!(asked.get(), 1);
}

/// What EKS has written is its own; the account's add-on counts where nothing says who has written it.
#[test]
fn an_add_on_is_known_by_who_has_written_the_object() {
    let told = |managed_fields: serde_json::Value, has_addon: bool| {
        let object = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "coredns", "namespace": "kube-system",
            "managedFields": managed_fields}, "spec": {"minAvailable": 2}});
        let object = replank_model::object::Object::from_json(object).expect("an object");
        let view: replank_model::view::View =
            [replank_model::delta::Delta::Put(object)].into_iter().collect();
        let mut addons = Addons::default();
        if has_addon {
            addons.read(&json!({"addon": {"addonName": "coredns", "clusterName": "shop"}}));
        }
        let of = Target::new(TargetKind::PodDisruptionBudget, Key::new("kube-system", "coredns"));
        let edit = Edit::Patch { of, patch: json!({"spec": {"maxUnavailable": 1, "minAvailable": null}}) };
        let commits = commits(&mut Installed::new(&view, &addons, &|_| None), &edit, None);
        commits.into_iter().map(|commit| commit.tool()).collect::<Vec<_>>()
    };
    let by = |manager: &str| json!([{"manager": manager, "operation": "Apply"}]);
    assert_eq!(told(by("eks"), false), ["eks"]);
    assert_eq!(told(json!([]), true), ["eks"]);
    assert_eq!(told(json!([]), false), [""; 0]);
    assert_eq!(told(by("kubectl-client-side-apply"), true), [""; 0], "somebody's own budget of that name");
    assert_eq!(told(by("HashiCorp"), true), ["terraform"]);
}
