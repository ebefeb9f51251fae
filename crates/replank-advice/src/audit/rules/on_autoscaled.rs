//! Single replicas and system workloads on nodes that an autoscaler takes away when they are little used.
//!
//! Pods that an autoscaler must not evict (annotations of cluster-autoscaler and Karpenter), and those under a disruption
//! budget, which a scale-down asks like every eviction, are left out: for them the node stays or nobody notices.

use replank_model::object::pod::Pod;
use replank_model::view::View;

use super::super::capacity::Scaler;
use super::super::engine::Engine;
use super::super::ground::NodeKind;
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};
use super::exposed::{Exposed, exposed};
use replank_facts::remedy::{BudgetBound, Edit, Remedy, Target, TargetKind};

/// `false` keeps cluster-autoscaler from taking the pod's node away (cluster-autoscaler FAQ).
const SAFE_TO_EVICT: &str = "cluster-autoscaler.kubernetes.io/safe-to-evict";
/// `true` keeps Karpenter from it (Karpenter, "Disruption").
const DO_NOT_DISRUPT: &str = "karpenter.sh/do-not-disrupt";

pub(super) fn find(survey: &Survey<'_>, engine: &mut Engine) -> Vec<Finding> {
    let found = exposed(survey, |kind: &NodeKind| kind.scaler.is_some() && !kind.is_spot());
    let open = found.iter().filter(|one| !is_held(survey.view, one.subject));
    open.map(|one| finding(survey, engine, one)).collect()
}

fn finding(survey: &Survey<'_>, engine: &mut Engine, one: &Exposed<'_>) -> Finding {
    let subject = one.subject;
    let kinds = one.bad.iter().filter_map(|id| survey.ground.kind(*id).scaler.as_ref());
    let scalers: std::collections::BTreeSet<String> = kinds.map(Scaler::told).collect();
    let scalers: Vec<String> = scalers.into_iter().collect();
    let is_warning = one.sits > 0 && subject.replicas == 1;
    // What is missing comes first; another home, which may be another role's, second.
    let mut remedy = hold(subject, survey);
    if let Some(away) = one.away(survey, engine) {
        remedy.ways.extend(away.ways);
        remedy = remedy.note("it keeps off these nodes");
    }
    Finding {
        rule: Rule::OnAutoscaled,
        severity: if is_warning { Severity::Warning } else { Severity::Info },
        object: subject.name.clone(),
        reason: format!(
            "{}; {} evicts it when the node is underused, and no budget or annotation prevents that",
            one.told(survey, "autoscaled nodes"),
            scalers.join(" or ")
        ),
        remedy,
    }
}

/// Whether something keeps an autoscaler from evicting it, or makes it ask first.
fn is_held(view: &View, subject: &Subject) -> bool {
    let says = |pod: &Pod| {
        let annotations = &pod.meta.annotations;
        annotations.value(SAFE_TO_EVICT) == Some("false") || annotations.value(DO_NOT_DISRUPT) == Some("true")
    };
    subject.pods.iter().all(|pod| {
        let budgets = view.pods.find(&pod.meta.key()).map_or(0, |ix| view.budgets_of(ix).len());
        says(pod) || budgets > 0
    })
}

/// How it is held where it is.
fn hold(subject: &Subject, survey: &Survey<'_>) -> Remedy {
    let key = subject.name.key.clone();
    let Some(of) = subject.workload.as_ref().and_then(Target::workload) else {
        return match &subject.workload {
            Some(workload) => format!(
                "annotate the pods of {workload} with {SAFE_TO_EVICT}=false and {DO_NOT_DISRUPT}=true"
            )
            .into(),
            None => [(SAFE_TO_EVICT, "false"), (DO_NOT_DISRUPT, "true")].into_iter().fold(
                Remedy::default(),
                |remedy, (annotation, value)| {
                    remedy.then(Edit::Annotate {
                        of: vec![Target::new(TargetKind::Pod, key.clone())],
                        annotation: annotation.into(),
                        value: Some(value.into()),
                    })
                },
            ),
        };
    };
    if subject.replicas > 1 {
        let selector = survey.selector(subject);
        let selector = replank_model::selector::LabelSelector::formatted(Some(&selector));
        let bound = BudgetBound::MaxUnavailable("1".into());
        return Remedy::edit(Edit::CreateBudget { key, selector, bound });
    }
    let annotations = serde_json::json!({SAFE_TO_EVICT: "false", DO_NOT_DISRUPT: "true"});
    let patch = serde_json::json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
    Remedy::edit(Edit::Patch { of, patch })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::super::{Options, run};
    use super::super::stage::{found_with, node, service, spot, view};
    use super::*;

    fn with(extra: &serde_json::Value, more: Vec<serde_json::Value>) -> Vec<String> {
        let nodes = vec![node("n", "web", "a"), node("m", "system", "a")];
        let objects = [nodes, service("cart", &["n"], extra), more].concat();
        found_with(Rule::OnAutoscaled, |options| options.autoscaled = ["web".into()].into(), objects)
    }

    #[test]
    fn a_singleton_on_an_autoscaled_node_is_found_unless_something_holds_it() {
        assert_eq!(
            with(&json!({}), vec![]),
            [
                "warning on-autoscaled Deployment shop/cart: 1 replica: it runs on autoscaled nodes now, in group web; an \
                 autoscaler evicts it when the node is underused, and no budget or annotation prevents that"
            ]
        );
        let held = json!({"metadata": {"annotations": {SAFE_TO_EVICT: "false"}}});
        assert_eq!(with(&held, vec![]), [""; 0]);
        let budget = json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "cart", "namespace": "shop", "uid": "b"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "cart"}}}});
        assert_eq!(with(&json!({}), vec![budget]), [""; 0]);
        let elsewhere = json!({"spec": {"nodeSelector": {"eks.amazonaws.com/nodegroup": "system"}}});
        let nodes = vec![node("n", "web", "a"), node("m", "system", "a")];
        let objects = [nodes, service("cart", &["m"], &elsewhere)].concat();
        let found =
            found_with(Rule::OnAutoscaled, |options| options.autoscaled = ["web".into()].into(), objects);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn what_holds_it_comes_before_another_home() {
        let remedies = |nodes: &[&str], name: &str| {
            let objects = [
                vec![node("n", "web", "a"), node("m", "system", "a")],
                service(name, nodes, &json!({"metadata": {"namespace": "kube-system"}})),
            ];
            let mut objects = objects.concat();
            objects[1]["metadata"]["labels"]["purpose"] = json!("system");
            for object in &mut objects[2..] {
                object["metadata"]["namespace"] = json!("kube-system");
            }
            let options = Options { autoscaled: ["web".into()].into(), ..Options::default() };
            let findings = run(&view(objects), &options);
            let found = findings.iter().find(|one| one.rule == Rule::OnAutoscaled).expect("it is found");
            found.remedy.text()
        };
        let single = remedies(&["n"], "cart");
        assert!(single.lines().next().is_some_and(|line| line.contains(SAFE_TO_EVICT)), "{single}");
        assert!(single.contains("\nkubectl -n kube-system patch deployment/cart"), "{single}");
        let several = remedies(&["n", "m"], "dns");
        assert!(
            several.starts_with("kubectl -n kube-system create pdb dns --selector='app=dns'"),
            "{several}"
        );
    }

    #[test]
    fn the_remedy_does_not_lead_to_spot_nodes() {
        let objects =
            [vec![node("n", "web", "a"), spot("s", "cheap", "a")], service("cart", &["n"], &json!({}))];
        let options = Options { autoscaled: ["web".into()].into(), ..Options::default() };
        let findings = run(&view(objects.concat()), &options);
        let found = findings.iter().find(|one| one.rule == Rule::OnAutoscaled).expect("it is found");
        assert!(
            found.remedy.text().contains(SAFE_TO_EVICT) && !found.remedy.text().contains("SPOT"),
            "{}",
            found.remedy
        );
    }
}
