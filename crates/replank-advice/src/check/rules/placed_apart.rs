//! Replicas that must not share a zone or a node.

use std::collections::BTreeSet;

use replank_model::object::affinity::UnsatisfiableAction;
use replank_model::object::node::{LABEL_HOSTNAME, LABEL_ZONE};
use replank_model::object::pod::Pod;
use replank_model::text::Text;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use super::change::{keep_surge_per_zone, surge_per_zone};
use super::zone_bound::too_little_surge;
use replank_facts::daemon;

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (workload, subject, _) in survey.services() {
        let replicas = survey.replicas(workload, subject);
        let apart = apart(&subject.pod);
        if replicas < 2 || apart.is_empty() {
            continue;
        }
        let told: Vec<String> = apart.iter().map(|rule| rule.told(survey, &subject.pod)).collect();
        let short = too_little_surge(survey, workload).filter(|_| apart.iter().any(Apart::is_by_zone));
        let (severity, more, remedy) = match short {
            Some((group, surge, zones)) => (
                Severity::Warning,
                format!(
                    "; group {group} has nodes in {zones} zones and a surge of {surge}: a new node may start in a zone other than the drained one, and the roll would be blocked"
                ),
                surge_per_zone(zones),
            ),
            None => (Severity::Info, String::new(), keep_surge_per_zone(survey)),
        };
        findings.push(Finding {
            rule: Rule::PlacedApart,
            severity,
            object: ObjectName { kind: workload.kind.clone(), key: workload.key.clone() },
            reason: format!(
                "{replicas} replicas, {}: while one moves, it needs such a place{more}",
                told.join(" and ")
            ),
            remedy,
        });
    }
    findings
}

/// What keeps replicas apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Apart {
    /// Required anti-affinity over a label.
    Alone(Text),
    /// A spread constraint over a label that must hold.
    Spread(Text, i32),
}

impl Apart {
    fn is_by_zone(&self) -> bool {
        match self {
            Self::Alone(key) | Self::Spread(key, _) => &**key == LABEL_ZONE,
        }
    }

    fn told(&self, survey: &Survey<'_>, pod: &Pod) -> String {
        let key = match self {
            Self::Alone(key) | Self::Spread(key, _) => key,
        };
        let nodes = survey.node_objects().filter(|node| daemon::is_eligible(&pod.spec, node));
        let domains: BTreeSet<&str> = nodes.filter_map(|node| node.meta.labels.value(key)).collect();
        let place = match &**key {
            LABEL_ZONE => "zone",
            LABEL_HOSTNAME => "node",
            other => other,
        };
        match self {
            Self::Alone(_) => format!("at most one in each of {} {place}s", domains.len()),
            Self::Spread(_, skew) => {
                format!("spread over {} {place}s with maxSkew {skew}", domains.len())
            }
        }
    }
}

fn apart(pod: &Pod) -> BTreeSet<Apart> {
    let anti = pod.spec.affinity.as_ref().and_then(|affinity| affinity.pod_anti_affinity.as_ref());
    let own = |selector: &Option<replank_model::selector::LabelSelector>| {
        let compiled = selector.as_ref().and_then(|selector| selector.compile().ok());
        compiled.is_some_and(|selector| selector.matches(|key| pod.meta.labels.value(key)))
    };
    let alone = anti.into_iter().flat_map(|anti| &anti.required).filter(|term| own(&term.label_selector));
    let alone = alone.map(|term| Apart::Alone(term.topology_key.clone()));
    let spread = pod.spec.topology_spread_constraints.iter().filter(|constraint| {
        constraint.when_unsatisfiable == UnsatisfiableAction::DoNotSchedule && own(&constraint.label_selector)
    });
    alone.chain(spread.map(|one| Apart::Spread(one.topology_key.clone(), one.max_skew))).collect()
}

#[cfg(test)]
mod tests {
    use replank_facts::plan::Surge;
    use serde_json::json;

    use super::super::stage::{found, found_under, node, service};
    use super::*;

    #[test]
    fn required_distance_is_found_and_preferred_is_not() {
        let with = |spec| {
            let nodes = vec![node("n", "a"), node("m", "b")];
            found(Rule::PlacedApart, [nodes, service("web", &["n", "m"], &json!({"spec": spec}))].concat())
        };
        let term = |app: &str| json!({"topologyKey": "topology.kubernetes.io/zone", "labelSelector": {"matchLabels": {"app": app}}});
        let anti = |required| json!({"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [required]}}});
        assert_eq!(
            with(anti(term("web"))),
            [
                "info placed-apart Deployment shop/web: 2 replicas, at most one in each of 2 zones: while one moves, it needs such a place"
            ]
        );
        let both = || {
            let nodes = vec![node("n", "a"), node("m", "b")];
            [nodes, service("web", &["n", "m"], &json!({"spec": anti(term("web"))}))].concat()
        };
        let short = &found_under(Rule::PlacedApart, |plan| plan.budget.surge = 1.into(), both())[0];
        assert!(
            short.starts_with("warning") && short.contains("group web has nodes in 2 zones and a surge of 1"),
            "{short}"
        );
        for surge in [Surge::from(2), Surge::PerZone] {
            let enough = found_under(Rule::PlacedApart, |plan| plan.budget.surge = surge, both());
            assert!(enough[0].starts_with("info"), "{enough:?}");
        }
        assert_eq!(with(anti(term("other"))), [""; 0], "apart from others, not from each other");
        let spread = |action: &str| {
            json!({"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": action,
                "labelSelector": {"matchLabels": {"app": "web"}}}]})
        };
        assert!(with(spread("DoNotSchedule"))[0].contains("spread over 2 nodes with maxSkew 1"));
        assert_eq!(with(spread("ScheduleAnyway")), [""; 0]);
    }
}
