//! Pods without a controller, or whose DaemonSet is gone: nobody would make them again.

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::drain;
use replank_facts::plan::BarePods;
use replank_facts::remedy::{Edit, Remedy, Target, TargetKind};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in &survey.subjects {
        let what = if drain::is_bare(&subject.pod) {
            "no controller"
        } else if drain::is_daemon(&subject.pod) {
            "its DaemonSet is gone"
        } else {
            continue;
        };
        let ends = subject.ends();
        let then = if ends { "; it finishes by itself, and the run waits for that" } else { "" };
        let severity = match survey.terms.bare_pods {
            BarePods::Refuse if ends => Severity::Warning,
            BarePods::Refuse => Severity::Blocking,
            BarePods::Evict => Severity::Warning,
        };
        let (namespace, name) = (&subject.pod.meta.namespace, &subject.pod.meta.name);
        findings.push(Finding {
            rule: Rule::BarePod,
            severity,
            object: ObjectName::new("Pod", subject.pod.meta.key()),
            reason: format!("{what}: nothing would recreate it{then}"),
            remedy: Remedy::edit(Edit::Delete { of: Target::new(TargetKind::Pod, subject.pod.meta.key()) })
                .note("if it is not needed; else give it a Deployment, or plan barePods: evict")
                .or_look(format!(
                    "kubectl -n {namespace} describe pod {name}   # who made it, and is it needed?"
                )),
        });
    }
    findings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::stage::{found, found_under, node, pod, service};
    use super::*;

    #[test]
    fn pods_that_nobody_owns_are_found_and_blocking_where_the_plan_refuses_them() {
        let bare = vec![node("n", "a"), pod("lonely", "n", None, json!({}))];
        let reason = "Pod shop/lonely: no controller: nothing would recreate it";
        assert_eq!(found(Rule::BarePod, bare.clone()), [format!("blocking bare-pod {reason}")], "by default");
        assert_eq!(found_under(Rule::BarePod, |_| {}, bare.clone()), [format!("blocking bare-pod {reason}")]);
        assert_eq!(
            found_under(Rule::BarePod, |plan| plan.bare_pods = BarePods::Evict, bare),
            [format!("warning bare-pod {reason}")]
        );
    }

    #[test]
    fn one_that_ends_by_itself_does_not_block() {
        let once = pod("once", "n", None, json!({"spec": {"restartPolicy": "Never"}}));
        assert_eq!(
            found_under(Rule::BarePod, |_| {}, vec![node("n", "a"), once]),
            [
                "warning bare-pod Pod shop/once: no controller: nothing would recreate it; it finishes by itself, and the run waits for that"
            ]
        );
    }

    #[test]
    fn owned_finished_and_static_pods_are_not() {
        let finished = pod("done", "n", None, json!({"status": {"phase": "Succeeded"}}));
        let mirror = pod(
            "static",
            "n",
            None,
            json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "x"}}}),
        );
        let objects = [vec![node("n", "a"), finished, mirror], service("web", &["n"], &json!({}))].concat();
        assert_eq!(found(Rule::BarePod, objects), [""; 0]);
    }
}
