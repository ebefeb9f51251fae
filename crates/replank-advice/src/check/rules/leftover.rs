//! What another run of ours has left: one that is at work, or one that died.

use replank_model::object::meta::Key;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::leftover::{self, Leftover, On, State};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    leftover::find(survey.view, survey.now()).iter().map(finding).collect()
}

fn finding(leftover: &Leftover) -> Finding {
    let object = match &leftover.on {
        On::Node(name) => ObjectName::new("Node", Key::cluster(name.as_str())),
        On::Group(name) => ObjectName::new("NodeGroup", Key::cluster(name.as_str())),
        On::Record(key) => ObjectName::new("ConfigMap", key.clone()),
    };
    let lines = leftover.lines.join("\n");
    let if_idle = match (&leftover.state, lines.is_empty()) {
        (State::Newer { .. }, true) => "upgrade Replank",
        (_, true) => "",
        (State::Running { .. } | State::Unreadable | State::Newer { .. }, false) => {
            "   # only if no run is active"
        }
        (State::Expired { .. }, false) => "   # a later run also does this",
    };
    let stays = leftover.stays.as_ref();
    let gap = if lines.is_empty() { "" } else { "\n" };
    Finding {
        rule: Rule::Leftover,
        severity: Severity::Warning,
        object,
        reason: leftover.to_string(),
        remedy: format!("{lines}{if_idle}{}", stays.map_or(String::new(), |stays| format!("{gap}{stays}")))
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::finding::Rule;
    use super::super::stage::{found, node, remedies};

    fn marked(expires: &str) -> Value {
        let mut marked = node("n", "a");
        marked["spec"]["unschedulable"] = json!(true);
        marked["metadata"]["annotations"] = json!({"replank.dev/run": "r1", "replank.dev/role": "queued",
            "replank.dev/since": "2026-01-01T00:00:00Z", "replank.dev/expires": expires});
        marked
    }

    #[test]
    fn marks_are_found_whether_they_have_expired_or_not() {
        assert_eq!(
            found(Rule::Leftover, vec![marked("2026-01-01T06:00:00Z")]),
            [
                "warning leftover Node n: marked as queued by run r1 since 2026-01-01T00:00:00Z; expired at 2026-01-01T06:00:00Z: the run \
                 ended without clearing it"
            ]
        );
        assert!(
            found(Rule::Leftover, vec![marked("2026-01-08T00:00:00Z")])[0]
                .ends_with("another run is active or has died")
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
