//! Each way works with exactly the roles that are printed for it.

use replank_judge::{Endpoint, Sent};
use serde_json::{Value, json};

use super::argo;
use super::case::{Case, Way};
use super::seen::Endpoints;
use crate::common::replank;
use crate::drive::ground::Ground;

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

fn bind(ground: &Ground, path: &str, kind: &str, name: &str, who: &str) {
    ground.create(
        path,
        &json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": format!("{kind}Binding"),
        "metadata": {"name": format!("{name}-{who}")},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": who}]}),
    );
}

#[test]
fn each_way_works_with_exactly_the_roles_that_are_printed_for_it() {
    let ground = Ground::served("migrating-roles");
    argo::define(&ground);
    let seen = Endpoints::of(&ground);
    let server = Endpoint::of_kubeconfig(ground.kubeconfig()).expect("it names a server");
    let make = |path: String, text: &str| {
        let sent = Sent::new("POST", &path).typed("application/yaml", text.as_bytes().to_vec());
        // Two ways share a role.
        let answer = server.exchange(&sent).expect("it answers");
        assert!([201, 409].contains(&answer.status), "{text}: {}", answer.json());
    };
    for way in Way::ALL {
        let case = Case::begin(&ground, way, &seen, "roles");
        let (namespace, who) = (case.namespace.as_str(), format!("{way:?}").to_lowercase());
        // Autoscalers are pointed elsewhere, too.
        if matches!(way, Way::Twin | Way::Rollout) {
            ground.create(&format!("/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"), &json!({
                "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
                "spec": {"minReplicas": 3, "maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}}));
        }
        let mut config: Value =
            serde_json::from_slice(&std::fs::read(ground.kubeconfig()).expect("it is written"))
                .expect("it is JSON");
        config["users"][0]["user"]["as"] = who.as_str().into();
        let file = ground.kubeconfig().with_file_name(format!("as-{who}.json"));
        std::fs::write(&file, config.to_string()).expect("it can be written");

        let told = case.run_as(&file, &["--apply"]).usage_error();
        assert!(
            told.contains("may not do everything that is needed")
                && told.contains("resources: [\"endpointslices\"]"),
            "{told}"
        );
        let printed = replank(&["rbac", way.role(), "-n", namespace]);
        let (all, own) = printed.stdout.split_once("---\n").expect("two roles");
        let name = format!("replank-{}", way.role());
        make(format!("{RBAC}/clusterroles"), all);
        bind(&ground, &format!("{RBAC}/clusterrolebindings"), "ClusterRole", &name, &who);
        let told = case.run_as(&file, &["--apply"]).usage_error();
        let place = format!("may not do everything that is needed in namespace {namespace}");
        assert!(
            told.contains(&place) && told.contains("resources: [\"configmaps\"] verbs: [create"),
            "{told}"
        );
        assert!(!case.is_there(&case.record_path()), "nothing was changed");
        make(format!("{RBAC}/namespaces/{namespace}/roles"), own);
        bind(&ground, &format!("{RBAC}/namespaces/{namespace}/rolebindings"), "Role", &name, &who);
        let moved = case.run_as(&file, &["--apply"]);
        assert_eq!(moved.code, Some(0), "{way:?}: {moved:?}");
        assert!(!moved.stdout.contains("refused"), "{moved:?}");
        case.assert_done(&format!("{moved:?}"));
    }
    let none = replank(&["rbac", "drain", "-n", "shop"]);
    assert!(none.usage_error().contains("this verb needs none"), "{none:?}");
    assert!(replank(&["rbac", "migrate"]).stdout.contains("namespace: default"));
}
