//! Node selectors and required node affinity that match no node.

use std::collections::BTreeSet;

use replank_model::object::affinity::{NodeSelectorOperator, NodeSelectorRequirement, NodeSelectorTerm};
use replank_model::object::pod::{Pod, PodSpec};
use replank_model::text::Text;
use serde_json::json;

use super::super::engine::Engine;
use super::super::near::nearest;
use super::super::provisioners::{Provisioner, Provisioners};
use super::super::remedy::patch;
use super::super::rule::{Finding, Rule, Severity};
use super::super::survey::{Subject, Survey};
use replank_facts::finding::pods;
use replank_facts::remedy::Remedy;
use replank_schedule::predicate;

/// Values that are listed of a label.
const VALUES_MAX: usize = 6;

pub(super) fn find(survey: &Survey<'_>, _engine: &mut Engine) -> Vec<Finding> {
    if survey.ground.nodes() == 0 {
        return Vec::new();
    }
    let provisioners = Provisioners::of(survey);
    let mut findings = Vec::new();
    for subject in &survey.subjects {
        let mut told = BTreeSet::new();
        for sample in &subject.samples {
            for found in of_spec(survey, subject, &sample.pod) {
                let found = with_provisioner(found, provisioners.for_pod(&sample.pod.spec));
                if told.insert(found.reason.clone()) {
                    findings.push(found);
                }
            }
        }
    }
    findings
}

/// Whether selector and required affinity let the pod onto any node of the cluster.
pub(super) fn matches_some_node(survey: &Survey<'_>, pod: &Pod) -> bool {
    survey.ground.kinds().any(|(_, kind)| predicate::spec_matches(&pod.spec, None, &kind.sample))
}

/// A node that may be added is not a place yet, but nothing needs to be fixed either.
fn with_provisioner(found: Finding, provisioner: Provisioner) -> Finding {
    match provisioner {
        Provisioner::Pool(pool) => Finding {
            severity: Severity::Info,
            reason: format!("{}; Karpenter's node pool {pool} may create such a node", found.reason),
            remedy: format!(
                "nothing to do if the pool may still grow: kubectl get nodepool {pool} -o yaml   # spec.limits, status"
            ).into(),
            ..found
        },
        Provisioner::Perhaps(why) => Finding {
            severity: if found.severity == Severity::Blocking { Severity::Warning } else { found.severity },
            reason: format!("{}; {why}", found.reason),
            ..found
        },
        Provisioner::Nobody => found,
    }
}

fn of_spec(survey: &Survey<'_>, subject: &Subject, pod: &Pod) -> Vec<Finding> {
    // The pin of a DaemonSet's pod is not part of its template; only labels are looked at there.
    let spec = &pod.spec;
    let is_met = |pair: &&(Text, Text)| !survey.view.nodes_with(&pair.0, &pair.1).is_empty();
    let pairs = spec.node_selector.pairs();
    let (met, unmet): (Vec<_>, Vec<_>) = pairs.iter().partition(is_met);
    let mut findings = Vec::new();
    for (key, value) in unmet {
        let guess = Guess::of(survey, key, value);
        if subject.is_daemon() && guess.meant.is_none() {
            // It is made for nodes that may not be there at the moment, such as those with an accelerator.
            continue;
        }
        findings.push(Finding {
            rule: Rule::SelectorMatchesNothing,
            severity: severity(subject),
            object: subject.name.clone(),
            reason: format!("{}: nodeSelector {key}={value} matches no node: {}", who(subject), guess.told),
            remedy: guess.remedy(survey, subject),
        });
    }
    if findings.is_empty() && met.len() > 1 && !pairs_match(survey, spec) && !subject.is_daemon() {
        let all: Vec<String> = pairs.iter().map(|(key, value)| format!("{key}={value}")).collect();
        findings.push(Finding {
            rule: Rule::SelectorMatchesNothing,
            severity: severity(subject),
            object: subject.name.clone(),
            reason: format!(
                "{}: some nodes have each of {}, but no node has all of them",
                who(subject),
                all.join(", ")
            ),
            remedy: edit(subject).into(),
        });
    }
    findings.extend(of_terms(survey, subject, spec));
    findings
}

fn of_terms(survey: &Survey<'_>, subject: &Subject, spec: &PodSpec) -> Vec<Finding> {
    let affinity = spec.affinity.as_deref().and_then(|affinity| affinity.node_affinity.as_ref());
    let Some(required) = affinity.and_then(|affinity| affinity.required.as_ref()) else { return Vec::new() };
    let terms = &required.node_selector_terms;
    let alone = |term: &NodeSelectorTerm| {
        survey.ground.kinds().any(|(_, kind)| predicate::spec_matches(&with_term(term), None, &kind.sample))
    };
    // In the shared spec of a DaemonSet's pods a term may have lost its only requirement, the node's name.
    let is_written = |term: &&NodeSelectorTerm| {
        !(subject.is_daemon() && term.match_expressions.is_empty() && term.match_fields.is_empty())
    };
    let dead: Vec<&NodeSelectorTerm> = terms.iter().filter(is_written).filter(|term| !alone(term)).collect();
    let has_other_way = terms.iter().any(alone);
    let mut findings = Vec::new();
    for term in dead {
        let guess = guess_of_term(survey, term, &alone);
        if (has_other_way || subject.is_daemon()) && guess.meant.is_none() {
            // Written for nodes that are not there at the moment; the other terms do.
            continue;
        }
        findings.push(Finding {
            rule: Rule::SelectorMatchesNothing,
            severity: if has_other_way { Severity::Info } else { severity(subject) },
            object: subject.name.clone(),
            reason: format!("{}: required node affinity matches no node: {}", who(subject), guess.told),
            remedy: edit(subject).into(),
        });
    }
    findings
}

fn guess_of_term(
    survey: &Survey<'_>,
    term: &NodeSelectorTerm,
    alone: &impl Fn(&NodeSelectorTerm) -> bool,
) -> Guess {
    let dead = term.match_expressions.iter().find(|one| {
        !alone(&NodeSelectorTerm { match_expressions: vec![(*one).clone()], match_fields: Vec::new() })
    });
    match dead {
        Some(one) => {
            let mut guess = match one.values.first() {
                Some(value) if one.operator == NodeSelectorOperator::In => Guess::of(survey, &one.key, value),
                Some(_) | None => Guess::of_key(survey, &one.key),
            };
            guess.told = format!("{}: {}", requirement_text(one), guess.told);
            guess
        }
        None if term.match_expressions.is_empty() && term.match_fields.is_empty() => {
            Guess { told: "an empty term matches nothing".to_owned(), meant: None }
        }
        None => {
            let all: Vec<String> = term.match_expressions.iter().map(requirement_text).collect();
            let fields = term.match_fields.iter().map(requirement_text);
            let all: Vec<String> = all.into_iter().chain(fields).collect();
            Guess { told: format!("no node matches all of {}", all.join(", ")), meant: None }
        }
    }
}

fn requirement_text(one: &NodeSelectorRequirement) -> String {
    let values = if one.values.is_empty() { String::new() } else { format!(" [{}]", one.values.join(", ")) };
    format!("{} {}{values}", one.key, one.operator)
}

fn with_term(term: &NodeSelectorTerm) -> PodSpec {
    use replank_model::object::affinity::{Affinity, NodeAffinity, NodeSelector};
    let required = Some(NodeSelector { node_selector_terms: vec![term.clone()] });
    let node_affinity = Some(NodeAffinity { required, preferred: Vec::new() });
    PodSpec {
        affinity: Some(std::sync::Arc::new(Affinity { node_affinity, ..Affinity::default() })),
        ..PodSpec::default()
    }
}

fn pairs_match(survey: &Survey<'_>, spec: &PodSpec) -> bool {
    let only = PodSpec { node_selector: spec.node_selector.clone(), ..PodSpec::default() };
    survey.ground.kinds().any(|(_, kind)| predicate::spec_matches(&only, None, &kind.sample))
}

fn severity(subject: &Subject) -> Severity {
    if subject.pods.is_empty() || subject.is_daemon() { Severity::Warning } else { Severity::Blocking }
}

fn who(subject: &Subject) -> String {
    if subject.pods.is_empty() {
        return "the next run".to_owned();
    }
    let waiting = subject.pods.iter().filter(|pod| pod.node.is_none()).count();
    match waiting {
        0 => format!("{} that could not be scheduled again", pods(subject.pods.len())),
        waiting => format!("{} Pending", pods(waiting)),
    }
}

fn edit(subject: &Subject) -> String {
    match &subject.workload {
        Some(workload) => format!(
            "kubectl -n {} get {} -o yaml   # select labels that nodes have: kubectl get nodes --show-labels",
            subject.namespace(),
            workload.argument()
        ),
        None => {
            "recreate the pod with a selector that matches nodes: kubectl get nodes --show-labels".to_owned()
        }
    }
}

/// What may have been meant.
struct Guess {
    told: String,
    meant: Option<(Text, Text, Text)>,
}

impl Guess {
    fn of(survey: &Survey<'_>, key: &Text, value: &Text) -> Self {
        let values: Vec<&str> = survey.view.domains(key).map(|(value, _)| value).collect();
        if values.is_empty() {
            return Self::with_value(survey, key, value);
        }
        let meant = nearest(value, values.iter().copied());
        let shown = values.iter().take(VALUES_MAX).copied().collect::<Vec<_>>().join(", ");
        let more = if values.len() > VALUES_MAX { ", …" } else { "" };
        match meant {
            Some(meant) => Self {
                told: format!("did you mean {key}={meant}? Nodes have {shown}{more}"),
                meant: Some((key.clone(), key.clone(), Text::from(meant))),
            },
            None => Self { told: format!("nodes have {key}: {shown}{more}"), meant: None },
        }
    }

    /// No node has the key.
    fn with_value(survey: &Survey<'_>, key: &Text, value: &Text) -> Self {
        let mut guess = Self::of_key(survey, key);
        if let Some((_, near, _)) = guess.meant.take() {
            let values: Vec<&str> = survey.view.domains(&near).map(|(value, _)| value).collect();
            let value = if values.contains(&&**value) { Some(&**value) } else { nearest(value, values) };
            match value {
                Some(value) => {
                    guess.told = format!("did you mean {near}={value}? No node has a label {key}");
                    guess.meant = Some((key.clone(), near, Text::from(value)));
                }
                None => guess.told = format!("no node has a label {key}; some have {near}"),
            }
        }
        guess
    }

    fn of_key(survey: &Survey<'_>, key: &Text) -> Self {
        let keys: BTreeSet<&str> = survey
            .ground
            .kinds()
            .flat_map(|(_, kind)| kind.sample.meta.labels.iter().map(|(key, _)| key))
            .collect();
        if keys.contains(&**key) {
            return Self { told: format!("no value of {key} matches"), meant: None };
        }
        match nearest(key, keys) {
            Some(near) => Self {
                told: format!("no node has a label {key}: did you mean {near}?"),
                meant: Some((key.clone(), Text::from(near), Text::default())),
            },
            None => Self { told: format!("no node has a label {key}"), meant: None },
        }
    }

    fn remedy(&self, survey: &Survey<'_>, subject: &Subject) -> Remedy {
        match &self.meant {
            Some((wrong, key, value)) if wrong == key => {
                patch(survey, subject, &json!({"nodeSelector": {&**key: &**value}}))
            }
            Some((wrong, key, value)) => {
                patch(survey, subject, &json!({"nodeSelector": {&**wrong: null, &**key: &**value}}))
            }
            None => edit(subject).into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{daemon_set, found, labelled, node, remedies, service};
    use super::*;

    fn nodes() -> Vec<Value> {
        vec![
            labelled(node("n", "web", "a"), "role", "master"),
            labelled(node("m", "web", "b"), "role", "scaler"),
        ]
    }

    fn with(spec: &Value) -> Vec<Value> {
        [nodes(), service("web", &[""], &json!({"spec": spec}))].concat()
    }

    #[test]
    fn a_value_that_no_node_has_is_found_with_what_may_be_meant() {
        let typo = with(&json!({"nodeSelector": {"role": "sclaer"}}));
        assert_eq!(
            found(Rule::SelectorMatchesNothing, typo.clone()),
            [
                "blocking selector-matches-nothing Deployment shop/web: 1 pod Pending: nodeSelector role=sclaer matches no node: did you \
                 mean role=scaler? Nodes have master, scaler"
            ]
        );
        assert_eq!(
            remedies(Rule::SelectorMatchesNothing, typo),
            [
                r#"kubectl -n shop patch deployment/web --type merge -p '{"spec":{"template":{"spec":{"nodeSelector":{"role":"scaler"}}}}}'"#
            ]
        );
        let other = found(Rule::SelectorMatchesNothing, with(&json!({"nodeSelector": {"role": "analyst"}})));
        assert!(other[0].ends_with("matches no node: nodes have role: master, scaler"), "{other:?}");
        assert_eq!(
            found(Rule::SelectorMatchesNothing, with(&json!({"nodeSelector": {"role": "scaler"}}))),
            [""; 0]
        );
    }

    #[test]
    fn a_key_that_no_node_has_and_pairs_that_no_node_has_together_are_found() {
        let key = with(&json!({"nodeSelector": {"roel": "scaler"}}));
        assert!(
            found(Rule::SelectorMatchesNothing, key.clone())[0]
                .contains("did you mean role=scaler? No node has a label roel")
        );
        assert!(remedies(Rule::SelectorMatchesNothing, key)[0].contains(r#"{"roel":null,"role":"scaler"}"#));
        let both = with(&json!({"nodeSelector": {"role": "scaler", "topology.kubernetes.io/zone": "a"}}));
        assert!(found(Rule::SelectorMatchesNothing, both)[0].contains("but no node has all of them"));
    }

    #[test]
    fn each_term_of_an_affinity_is_looked_at() {
        let terms = |terms: Value| {
            with(
                &json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}}),
            )
        };
        let one = |key: &str, value: &str| json!({"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]});
        let dead = found(Rule::SelectorMatchesNothing, terms(json!([one("role", "mastr")])));
        assert!(
            dead[0].starts_with("blocking") && dead[0].contains("role In [mastr]: did you mean role=master?"),
            "{dead:?}"
        );
        let alternative =
            found(Rule::SelectorMatchesNothing, terms(json!([one("role", "mastr"), one("role", "scaler")])));
        assert!(alternative.len() == 1 && alternative[0].starts_with("info"), "{alternative:?}");
        let spare = terms(json!([one("role", "gpu-pool"), one("role", "scaler")]));
        assert_eq!(found(Rule::SelectorMatchesNothing, spare), [""; 0], "another term does");
    }

    #[test]
    fn a_node_that_may_come_is_not_blocking() {
        let pool = |taints: Value| {
            json!({"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "gpu", "uid": "gpu"},
                "spec": {"template": {"metadata": {"labels": {"role": "gpu"}}, "spec": {"taints": taints,
                    "requirements": [{"key": "arch", "operator": "In", "values": ["arm", "x86"]}]}}}})
        };
        let with_pool = |selector: Value, taints: Value| {
            let objects = [with(&json!({"nodeSelector": selector})), vec![pool(taints)]].concat();
            found(Rule::SelectorMatchesNothing, objects).remove(0)
        };
        let made = with_pool(json!({"role": "gpu", "arch": "arm"}), json!([]));
        assert!(
            made.starts_with("info ") && made.ends_with("node pool gpu may create such a node"),
            "{made}"
        );
        let taints = json!([{"key": "gpu", "effect": "NoSchedule"}]);
        for (selector, taints) in [
            (json!({"role": "gpu"}), taints),
            (json!({"role": "gpu", "arch": "riscv"}), json!([])),
            (json!({"team": "gpu"}), json!([])),
        ] {
            let lost = with_pool(selector, taints);
            assert!(lost.starts_with("blocking "), "{lost}");
        }
        let scaler = |args: &[&str]| {
            let image = "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.1";
            let spec = json!({"spec": {"containers": [{"name": "c", "image": image, "args": args}]}});
            let asks = with(&json!({"nodeSelector": {"role": "gpu"}}));
            found(Rule::SelectorMatchesNothing, [asks, service("scaler", &["n"], &spec)].concat()).remove(0)
        };
        for args in [&["--nodes=0:3:gpu"][..], &["--node-group-auto-discovery=asg:tag=x"]] {
            assert!(
                scaler(args).starts_with("warning ")
                    && scaler(args).contains("may create one in a node group")
            );
        }
        assert!(
            scaler(&["--nodes=1:3:web"]).starts_with("blocking "),
            "its nodes are here, and have other labels"
        );
    }

    #[test]
    fn a_daemon_set_for_nodes_that_are_not_there_is_not_found() {
        let gpu = json!({"spec": {"nodeSelector": {"accelerator": "gpu"}}});
        let objects = [nodes(), daemon_set("plugin", &["n"], &gpu)].concat();
        assert_eq!(found(Rule::SelectorMatchesNothing, objects), [""; 0]);
    }
}
