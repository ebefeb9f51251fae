//! Marks of another run of ours: of one that is at work, or of one that died.

use replank_model::object::node::Node;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use crate::mark;

/// How all annotations and labels of ours begin.
const OURS: &str = "replank.dev/";

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    let nodes = survey.view.nodes.sorted();
    nodes.iter().filter_map(|(_, node)| finding(survey, node)).collect()
}

fn finding(survey: &Survey<'_>, node: &Node) -> Option<Finding> {
    let keys: Vec<&str> =
        node.meta.annotations.iter().map(|(key, _)| key).filter(|key| key.starts_with(OURS)).collect();
    if keys.is_empty() {
        return None;
    }
    let reason = match mark::of(node) {
        None => "marks of a run that cannot be read: nobody's".to_owned(),
        Some(found) if found.mark.expires <= survey.now() => format!(
            "marked as {} by run {} since {}; expired at {}: the run ended without clearing it",
            found.mark.role.as_str(),
            found.run,
            found.mark.since,
            found.mark.expires
        ),
        Some(found) => format!(
            "marked as {} by run {} since {}, valid until {}: another run is at work here, or has died",
            found.mark.role.as_str(),
            found.run,
            found.mark.since,
            found.mark.expires
        ),
    };
    let name = node.name();
    let is_foreign = node.meta.annotations.value(mark::CORDON) == Some(mark::FOREIGN);
    let uncordon = match node.spec.unschedulable && !is_foreign {
        true => format!("kubectl uncordon {name}\n"),
        false => String::new(),
    };
    let clear: Vec<String> = keys.iter().map(|key| format!("{key}-")).collect();
    Some(Finding {
        rule: Rule::Leftover,
        severity: Severity::Warning,
        object: ObjectName::new("Node", node.meta.key()),
        reason,
        remedy: format!(
            "{uncordon}kubectl annotate node {name} {}   # only if no run is at work",
            clear.join(" ")
        ),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::stage::{found, node, remedies};
    use super::*;

    fn marked(expires: &str) -> Value {
        let mut marked = node("n", "a");
        marked["spec"]["unschedulable"] = json!(true);
        marked["metadata"]["annotations"] = json!({"replank.dev/run": "r1", "replank.dev/role": "doomed",
            "replank.dev/since": "2026-01-01T00:00:00Z", "replank.dev/expires": expires});
        marked
    }

    #[test]
    fn marks_are_found_whether_they_have_expired_or_not() {
        assert_eq!(
            found(Rule::Leftover, vec![marked("2026-01-01T06:00:00Z")]),
            [
                "warning leftover Node n: marked as doomed by run r1 since 2026-01-01T00:00:00Z; expired at 2026-01-01T06:00:00Z: the run \
                 ended without clearing it"
            ]
        );
        assert!(
            found(Rule::Leftover, vec![marked("2026-01-08T00:00:00Z")])[0]
                .ends_with("another run is at work here, or has died")
        );
        assert!(remedies(Rule::Leftover, vec![marked("2026-01-08T00:00:00Z")])[0].starts_with(
            "kubectl uncordon n\nkubectl annotate node n replank.dev/expires- replank.dev/role-"
        ));
        let mut broken = marked("soon");
        broken["spec"]["unschedulable"] = json!(false);
        assert!(found(Rule::Leftover, vec![broken.clone()])[0].contains("cannot be read"));
        assert!(remedies(Rule::Leftover, vec![broken])[0].starts_with("kubectl annotate"));
    }

    #[test]
    fn nodes_without_marks_are_not() {
        let mut other = node("n", "a");
        other["spec"]["unschedulable"] = json!(true);
        other["metadata"]["annotations"] = json!({"example.com/replank.dev": "x"});
        assert_eq!(found(Rule::Leftover, vec![other]), [""; 0]);
    }
}
