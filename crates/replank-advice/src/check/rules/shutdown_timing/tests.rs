use super::super::stage::{found, merge, node, remedies, service};
use super::*;

const NLB_TYPE: &str = "service.beta.kubernetes.io/aws-load-balancer-nlb-target-type";
const ATTRIBUTES: &str = "alb.ingress.kubernetes.io/target-group-attributes";

fn reached(r#type: &str, annotations: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "shop", "uid": "s", "annotations": annotations},
        "spec": {"type": r#type, "selector": {"app": "web"}}})
}

/// An Ingress of an Application Load Balancer to pods, with its Service.
fn alb(annotations: Value) -> Vec<Value> {
    let mut all = json!({"alb.ingress.kubernetes.io/target-type": "ip"});
    merge(&mut all, annotations);
    let ingress = json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
        "metadata": {"name": "in", "namespace": "shop", "uid": "in", "annotations": all},
        "spec": {"ingressClassName": "alb", "defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}});
    vec![reached("ClusterIP", &json!({})), ingress]
}

fn nlb() -> Vec<Value> {
    vec![reached("LoadBalancer", &json!({NLB_TYPE: "ip"}))]
}

/// One pod with a hook that sleeps and a grace, 0 for no hook.
fn all(ways: Vec<Value>, hook: i64, grace: i64) -> Vec<Value> {
    let lifecycle = if hook == 0 { json!({}) } else { json!({"preStop": {"sleep": {"seconds": hook}}}) };
    let extra = json!({"spec": {"terminationGracePeriodSeconds": grace, "containers": [{"name": "c", "lifecycle": lifecycle}]}});
    [vec![node("n", "a")], ways, service("web", &["n"], &extra)].concat()
}

fn with(ways: Vec<Value>, hook: i64, grace: i64) -> Vec<String> {
    found(Rule::ShutdownTiming, all(ways, hook, grace))
}

#[test]
fn a_pod_that_does_not_wait_for_its_load_balancer_is_found() {
    assert_eq!(
        with(alb(json!({})), 0, 30),
        [
            "warning shutdown-timing Deployment shop/web: 1 pod behind ALB to pods: new connections arrive for up to 15s after a pod's deletion, but none is accepted after 0s (preStop 0s, grace 30s): they are refused for up to 15s; the load balancer waits 5m for open connections, the pod at most 30s"
        ]
    );
    assert_eq!(
        remedies(Rule::ShutdownTiming, all(alb(json!({})), 0, 30)),
        [
            r#"kubectl -n shop patch deployment/web -p '{"spec":{"template":{"spec":{"containers":[{"lifecycle":{"preStop":{"exec":null,"sleep":{"seconds":15}}},"name":"c"}],"terminationGracePeriodSeconds":45}}}}'   # preStop sleep: Kubernetes 1.30"#
        ]
    );
    assert!(with(nlb(), 15, 30)[0].contains("refused for up to 2m45s"));
}

#[test]
fn the_hook_that_is_told_to_be_pasted_is_enough() {
    assert_eq!(with(alb(json!({})), 14, 44).len(), 1);
    assert_eq!(with(alb(json!({})), 15, 45), [""; 0]);
    assert_eq!(with(nlb(), 179, 209).len(), 1);
    assert_eq!(with(nlb(), 180, 210), [""; 0]);
}

#[test]
fn the_worst_of_several_ways_is_told() {
    let both = [alb(json!({})), nlb()].concat();
    let told = with(both, 0, 30);
    assert!(told.len() == 1 && told[0].contains("NLB to pods"), "{told:?}");
}

#[test]
fn within_the_cluster_nothing_is_found_and_through_nodes_it_is_good_to_know() {
    let plain = || vec![reached("ClusterIP", &json!({}))];
    assert_eq!(with(plain(), 0, 30), [""; 0]);
    let nodes = || vec![reached("LoadBalancer", &json!({}))];
    let told = with(nodes(), 0, 30);
    assert!(told[0].starts_with("info") && told[0].contains("refused for up to 5s"), "{told:?}");
    assert_eq!(with(nodes(), 5, 35), [""; 0]);
}

#[test]
fn a_hook_longer_than_the_grace_is_found_and_one_that_is_not_told_is_left_alone() {
    let told = with(alb(json!({})), 40, 30);
    assert!(
        told[0].contains("the preStop hook takes the whole grace period (preStop 40s, grace 30s)"),
        "{told:?}"
    );
    let within = |hook: i64| with(vec![reached("ClusterIP", &json!({}))], hook, 30);
    assert!(
        within(40)[0].starts_with("warning") && within(40)[0].contains("takes the whole grace period"),
        "within the cluster, too: {:?}",
        within(40)
    );
    assert_eq!(within(29), [""; 0]);
    let mut quits = all(alb(json!({})), 0, 30);
    let pod = quits.last_mut().expect("a pod");
    pod["spec"]["containers"][0]["lifecycle"] =
        json!({"preStop": {"exec": {"command": ["nginx", "-s", "quit"]}}});
    assert_eq!(found(Rule::ShutdownTiming, quits), [""; 0]);
}

#[test]
fn a_delay_that_somebody_has_set_is_held_against_the_grace() {
    let delay =
        |seconds: i64| alb(json!({ATTRIBUTES: format!("deregistration_delay.timeout_seconds={seconds}")}));
    let told = with(delay(60), 15, 45);
    assert!(told[0].starts_with("info") && told[0].contains("take longer than 30s are cut"), "{told:?}");
    assert!(
        remedies(Rule::ShutdownTiming, all(delay(60), 15, 45))[0]
            .contains("\"terminationGracePeriodSeconds\":75")
    );
    assert_eq!(with(delay(60), 15, 75), [""; 0]);
    assert_eq!(with(delay(30), 15, 45), [""; 0]);
}

#[test]
fn an_istio_gateway_accepts_while_it_drains() {
    let gateway = |annotations: Value, injected: bool| {
        let extra = json!({"metadata": {"annotations": annotations}, "spec": {"terminationGracePeriodSeconds": 30,
            "containers": [{"name": "gw", "image": "istio/proxyv2:1.28.0"}]}});
        let mut all = [vec![node("n", "a")], alb(json!({})), service("web", &["n"], &extra)].concat();
        let deployment = all.iter_mut().find(|one| one["kind"] == "Deployment").expect("it is there");
        let own = if injected { "app" } else { "gw" };
        deployment["spec"]["template"] = json!({"spec": {"containers": [{"name": own, "image": "i"}]}});
        all
    };
    let told = found(Rule::ShutdownTiming, gateway(json!({}), false));
    assert!(told[0].contains("none is accepted after 5s"), "{told:?}");
    let set = json!({CONFIG: "terminationDrainDuration: 15s"});
    assert_eq!(found(Rule::ShutdownTiming, gateway(set, false)), [""; 0]);
    let own = remedies(Rule::ShutdownTiming, gateway(json!({}), false));
    assert!(own[0].contains("\"name\":\"gw\"") && !own[0].contains("drainDuration"), "{own:?}");
    let injected = remedies(Rule::ShutdownTiming, gateway(json!({}), true));
    assert!(
        injected[0].contains(r#"{\"drainDuration\":\"15s\",\"terminationDrainDuration\":\"40s\"}"#),
        "{injected:?}"
    );
}
