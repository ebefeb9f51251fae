//! How many nodes EKS's own update of a managed node group replaces at once, as a command and for who manages the group (EKS API reference, `NodegroupUpdateConfig`; CloudFormation,
//! `AWS::EKS::Nodegroup UpdateConfig`; Terraform, `aws_eks_node_group`; eksctl user guide, "EKS Managed Nodegroups": `updateConfig`).

use replank_model::int_or_string::IntOrString;

use super::managed_by::ManagedBy;

/// What sets it, in place of what the group has. A percentage goes: EKS takes one of the two.
#[must_use]
pub fn update_config(
    cluster: Option<&str>,
    (group, has): (&str, Option<&IntOrString>),
    managed_by: Option<&ManagedBy>,
    nodes: usize,
) -> String {
    let own = match cluster {
        Some(cluster) => format!(
            "aws eks update-nodegroup-config --cluster-name {cluster} --nodegroup-name {group} --update-config maxUnavailable={nodes}"
        ),
        None => {
            format!("set maxUnavailable of node group {group} to {nodes} (aws eks update-nodegroup-config)")
        }
    };
    let instead = match has {
        Some(IntOrString::String(_)) => ", in place of its percentage",
        Some(IntOrString::Int(_)) | None => "",
    };
    let managed = match managed_by {
        Some(ManagedBy::Stack { name, logical_id }) => {
            let named = logical_id.as_ref().map_or_else(String::new, |id| format!(" {id}"));
            format!(
                "# CloudFormation stack {name} manages node group {group}: set this in its AWS::EKS::Nodegroup{named}{instead}:\nUpdateConfig:\n  MaxUnavailable: {nodes}"
            )
        }
        Some(ManagedBy::Terraform) => format!(
            "# Terraform manages node group {group}, as its tags say: set this in its aws_eks_node_group{instead}:\nupdate_config {{\n  max_unavailable = {nodes}\n}}"
        ),
        Some(ManagedBy::Eksctl) => format!(
            "# eksctl manages node group {group}: set this in its config file{instead}, and pass it to eksctl update nodegroup:\nmanagedNodeGroups:\n- name: {group}\n  updateConfig:\n    maxUnavailable: {nodes}"
        ),
        None => return own,
    };
    format!("{own}\n{managed}")
}

#[cfg(test)]
mod tests {
    use replank_model::text::Text;

    use super::super::blocks::{Sort, blocks};
    use super::*;

    #[test]
    fn each_tool_gets_a_block_of_its_own() {
        let share = IntOrString::String("50%".into());
        let told = |tags: &[(&str, &str)]| {
            let tags: Vec<(Text, Text)> =
                tags.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            let text = update_config(Some("shop"), ("web", Some(&share)), ManagedBy::of(&tags).as_ref(), 1);
            blocks(&text).into_iter().map(|block| (block.sort, block.text)).collect::<Vec<_>>()
        };
        let stack = ("aws:cloudformation:stack-name", "nodes");
        let own = "aws eks update-nodegroup-config --cluster-name shop --nodegroup-name web --update-config maxUnavailable=1";
        assert_eq!(told(&[("stack", "nodes")]), [(Sort::Command, own.to_owned())]);
        let of_stack = told(&[stack, ("aws:cloudformation:logical-id", "Web")]);
        assert_eq!(of_stack[0].1, own);
        assert!(
            of_stack[1].1.contains("stack nodes")
                && of_stack[1].1.contains("AWS::EKS::Nodegroup Web, in place of its percentage:"),
            "{of_stack:?}"
        );
        assert_eq!(of_stack[2], (Sort::Yaml, "UpdateConfig:\n  MaxUnavailable: 1".to_owned()));
        let terraform = told(&[("ManagedBy", "Terraform")]);
        assert_eq!(terraform[2], (Sort::Hcl, "update_config {\n  max_unavailable = 1\n}".to_owned()));
        // Its stacks have the tags of all stacks, and a template that it writes anew.
        let eksctl = told(&[stack, ("alpha.eksctl.io/nodegroup-name", "web")]);
        assert_eq!(eksctl.len(), 3, "{eksctl:?}");
        assert!(eksctl[2].1.starts_with("managedNodeGroups:"), "{eksctl:?}");
    }
}
