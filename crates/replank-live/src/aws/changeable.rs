//! Whether what a group's new instances are made from can be changed by a new launch template version.

use replank_model::object::cloud::GroupId;
use replank_model::text::Text;
use replank_protocol::outcome::Refusal;
use serde_json::Value;

use super::answer::{list, text};

/// Why a new version would not be what new instances are made from. Whoever begins a run has looked at that; somebody may have changed the group meanwhile.
pub(super) fn unchangeable(found: &Value, group: &GroupId) -> Option<Refusal> {
    let policy = &found["MixedInstancesPolicy"]["LaunchTemplate"];
    let own = list(&policy["Overrides"]).iter().filter(|one| one["LaunchTemplateSpecification"].is_object());
    let own: Vec<&str> = own.map(|one| text(one, "InstanceType").unwrap_or("InstanceRequirements")).collect();
    let message = match text(found, "LaunchConfigurationName") {
        Some(name) => format!(
            "group {group} has launch configuration {name}, which cannot be changed: give the group a launch template"
        ),
        None if own.is_empty() => return None,
        None => format!(
            "overrides of group {group} have launch templates of their own, and would keep their image: {}; remove LaunchTemplateSpecification from them",
            own.join(", ")
        ),
    };
    Some(Refusal::Failed { code: 400, message: Text::from(message) })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_launch_configuration_and_overrides_with_templates_of_their_own_are_refused() {
        let of = |found: &Value| {
            let refusal = unchangeable(found, &GroupId::self_managed(&"web".into()))?;
            let Refusal::Failed { code: 400, message } = refusal else { panic!("{refusal:?}") };
            Some(message.to_string())
        };
        let spec = json!({"LaunchTemplateId": "lt-1", "Version": "3"});
        let mixed = |overrides: Value| json!({"MixedInstancesPolicy": {"LaunchTemplate": {"LaunchTemplateSpecification": spec, "Overrides": overrides}}});
        assert_eq!(of(&json!({ "LaunchTemplate": spec })), None);
        assert_eq!(of(&mixed(json!([{"InstanceType": "m6i.large"}]))), None);
        let own = of(&mixed(
            json!([{"InstanceType": "m6i.large"}, {"InstanceType": "m6g.large", "LaunchTemplateSpecification": spec}]),
        ));
        let own = own.expect("it is refused");
        assert!(own.contains("would keep their image: m6g.large; remove"), "{own}");
        let old = of(&json!({"LaunchConfigurationName": "web-lc"})).expect("it is refused");
        assert!(old.contains("web-lc, which cannot be changed: give the group a launch template"), "{old}");
    }
}
