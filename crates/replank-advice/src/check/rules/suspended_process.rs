//! Groups whose Launch or Terminate is suspended: no new node comes up there, or no old one goes.

use replank_model::object::cloud::{NodeGroup, ScalingProcess};
use replank_model::object::meta::Key;
use replank_model::text::GroupName;

use super::super::finding::{Finding, ObjectName, Rule, Severity};
use super::super::survey::Survey;
use replank_facts::remedy::{Edit, Remedy};

pub(super) fn find(survey: &Survey<'_>) -> Vec<Finding> {
    if survey.plan.is_none() {
        return Vec::new();
    }
    let launching: Vec<&GroupName> = survey.groups_renewed().into_iter().map(|group| &group.name).collect();
    let leaving = survey.groups_touched();
    let mut findings = Vec::new();
    for group in survey.groups.values() {
        let needs = |process| match process {
            ScalingProcess::Launch => launching.contains(&&group.name),
            ScalingProcess::Terminate => leaving.contains(&group.name),
            ScalingProcess::AddToLoadBalancer => {
                group.registers_instances() && launching.contains(&&group.name)
            }
            ScalingProcess::AzRebalance
            | ScalingProcess::ReplaceUnhealthy
            | ScalingProcess::HealthCheck
            | ScalingProcess::AlarmNotification
            | ScalingProcess::ScheduledActions
            | ScalingProcess::InstanceRefresh => false,
        };
        let found = group.ways.suspended.iter().filter(|process| needs(**process));
        findings.extend(found.map(|process| finding(group, *process)));
    }
    findings
}

fn finding(group: &NodeGroup, process: ScalingProcess) -> Finding {
    let effect = match process {
        ScalingProcess::Launch => "no new node is launched",
        ScalingProcess::AddToLoadBalancer => "no new node is registered in the group's target groups",
        ScalingProcess::Terminate
        | ScalingProcess::AzRebalance
        | ScalingProcess::ReplaceUnhealthy
        | ScalingProcess::HealthCheck
        | ScalingProcess::AlarmNotification
        | ScalingProcess::ScheduledActions
        | ScalingProcess::InstanceRefresh => "no old node is terminated",
    };
    let name = &group.auto_scaling_group;
    Finding {
        rule: Rule::SuspendedProcess,
        severity: Severity::Blocking,
        object: ObjectName::new("NodeGroup", Key::cluster(group.name.as_str())),
        reason: format!(
            "process {process} of Auto Scaling group {name} is suspended: {effect} until it is resumed"
        ),
        remedy: Remedy::edit(Edit::ResumeProcess { group: name.clone(), process: process.as_str().into() })
            .or_look("ask who suspended it, and why"),
    }
}

#[cfg(test)]
mod tests {
    use replank_facts::groups::{GroupBy, from_nodes};
    use replank_facts::plan::{Plan, Target};
    use replank_model::delta::Delta;
    use replank_model::object::cloud::{Registrar, TargetGroup};

    use super::super::super::run;
    use super::super::stage::{node, options, view};
    use super::*;

    /// What is found where a process of each group is suspended and nodes of `web` move into a group, or stay where they are.
    fn found(process: ScalingProcess, into: Option<&str>) -> Vec<String> {
        let mut spare = node("m", "a");
        spare["metadata"]["labels"]["eks.amazonaws.com/nodegroup"] = "spare".into();
        let mut view = view(vec![node("n", "a"), spare]);
        for learnt in from_nodes(&view.clone(), &GroupBy::default()) {
            let group = NodeGroup { ways: learnt.group.ways.clone().without(process), ..learnt.group };
            view.apply(Delta::Group(group.into()));
            learnt.instances.into_iter().for_each(|one| drop(view.apply(Delta::Instance(one.into()))));
        }
        let target = Target { group: into.map(Into::into), ..Target::default() };
        let plan = Plan::of_groups("p", vec!["web".into()], target);
        let findings = run(&view, Some(&plan), &options());
        let found = findings.iter().filter(|finding| finding.rule == Rule::SuspendedProcess);
        found.map(|finding| format!("{finding} | {}", finding.remedy)).collect()
    }

    #[test]
    fn launches_are_needed_where_nodes_come_up_and_terminations_where_they_go() {
        assert_eq!(
            found(ScalingProcess::Launch, None),
            [
                "blocking suspended-process NodeGroup web: process Launch of Auto Scaling group web is suspended: no new node is launched until it is resumed | aws autoscaling resume-processes --auto-scaling-group-name web --scaling-processes Launch"
            ]
        );
        let into = found(ScalingProcess::Launch, Some("spare"));
        assert!(into.len() == 1 && into[0].contains("NodeGroup spare"), "{into:?}");
        let from = found(ScalingProcess::Terminate, Some("spare"));
        assert!(from.len() == 1 && from[0].contains("NodeGroup web"), "{from:?}");
    }

    #[test]
    fn registration_is_needed_where_a_group_has_target_groups() {
        let found = |target_groups: Vec<TargetGroup>| {
            let mut view = view(vec![node("n", "a")]);
            for learnt in from_nodes(&view.clone(), &GroupBy::default()) {
                let ways = learnt.group.ways.clone().without(ScalingProcess::AddToLoadBalancer);
                let group = NodeGroup { ways, target_groups: target_groups.clone(), ..learnt.group };
                view.apply(Delta::Group(group.into()));
                learnt.instances.into_iter().for_each(|one| drop(view.apply(Delta::Instance(one.into()))));
            }
            let plan = Plan::of_groups("p", vec!["web".into()], Target::default());
            let findings = run(&view, Some(&plan), &options());
            findings.iter().filter(|finding| finding.rule == Rule::SuspendedProcess).count()
        };
        assert_eq!(found(vec![TargetGroup::attached("tg")]), 1);
        assert_eq!(found(Vec::new()), 0);
        let by_controller = TargetGroup { registrar: Registrar::Controller, ..TargetGroup::attached("tg") };
        assert_eq!(found(vec![by_controller]), 0, "a controller registers nodes whatever the group does");
    }

    #[test]
    fn other_processes_are_not_needed() {
        for process in [ScalingProcess::AzRebalance, ScalingProcess::ReplaceUnhealthy] {
            assert_eq!(found(process, None), [""; 0], "{process}");
        }
    }
}
