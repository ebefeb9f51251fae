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
    let clears = "replank leftover SNAPSHOT prints the commands that clear it";
    let look = match (&leftover.state, leftover.lines.is_empty()) {
        (State::Newer { .. }, true) => "upgrade Replank".to_owned(),
        (_, true) => String::new(),
        (State::Running { .. } | State::Unreadable | State::Newer { .. }, false) => {
            format!("if no run is active: {clears}")
        }
        (State::Expired { .. }, false) => format!("{clears}; a later run also clears it"),
    };
    let look: Vec<String> =
        [look].into_iter().chain(leftover.stays.clone()).filter(|text| !text.is_empty()).collect();
    Finding {
        rule: Rule::Leftover,
        severity: Severity::Warning,
        object,
        reason: leftover.to_string(),
        remedy: look.join("\n").into(),
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
        assert_eq!(
            remedies(Rule::Leftover, vec![marked("2026-01-08T00:00:00Z")]),
            ["if no run is active: replank leftover SNAPSHOT prints the commands that clear it"]
        );
        let mut broken = marked("soon");
        broken["spec"]["unschedulable"] = json!(false);
        assert!(found(Rule::Leftover, vec![broken.clone()])[0].contains("cannot be read"));
        assert!(remedies(Rule::Leftover, vec![broken])[0].starts_with("if no run is active"));
    }

    #[test]
    fn nodes_without_marks_are_not() {
        let mut other = node("n", "a");
        other["spec"]["unschedulable"] = json!(true);
        other["metadata"]["annotations"] = json!({"example.com/replank.dev": "x"});
        assert_eq!(found(Rule::Leftover, vec![other]), [""; 0]);
    }
}
