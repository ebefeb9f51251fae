//! The world: everything simulated, moved forward event by event.

mod account;
mod observer;
mod outside;
mod run;

pub use observer::Observer;
pub use run::{Settings, World};

#[cfg(test)]
mod tests {
    use replank_apiserver::json::Method;
    use replank_model::time::Span;
    use serde_json::{Value, json};

    use crate::testing;

    fn set(app: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet",
            "metadata": {"name": app, "namespace": "shop", "uid": app, "generation": 1},
            "spec": {"replicas": 2, "selector": {"matchLabels": {"app": app}},
                "template": {"metadata": {"labels": {"app": app}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}})
    }

    #[test]
    fn a_pod_with_security_groups_of_its_own_takes_a_branch_interface() {
        let policy = json!({"apiVersion": "vpcresources.k8s.aws/v1beta1", "kind": "SecurityGroupPolicy",
            "metadata": {"name": "cart", "namespace": "shop", "uid": "policy"},
            "spec": {"podSelector": {"matchLabels": {"app": "cart"}}, "securityGroups": {"groupIds": ["sg-cart"]}}});
        let mut node = testing::node("n", "a");
        node["status"]["allocatable"]["vpc.amazonaws.com/pod-eni"] = json!("1");
        let mut world = testing::world(vec![node, policy, set("cart"), set("search")]);
        world.pass(Span::from_secs(60));
        let pods = world.send(Method::Get, "/api/v1/namespaces/shop/pods", Value::Null).body;
        let of = |app: &str| -> Vec<&Value> {
            let all = pods["items"].as_array().expect("a list").iter();
            all.filter(|pod| pod["metadata"]["labels"]["app"] == app).collect()
        };
        let bound = |app: &str| of(app).iter().filter(|pod| pod["spec"]["nodeName"] == "n").count();
        assert_eq!((bound("cart"), bound("search")), (1, 2), "{pods}");
        let waiting =
            of("cart").into_iter().find(|pod| pod["spec"]["nodeName"].is_null()).expect("one waits");
        let why = waiting["status"]["conditions"][0]["message"].to_string();
        assert!(why.contains("Insufficient vpc.amazonaws.com/pod-eni"), "{why}");
    }
}
