//! What to commit where infrastructure is kept as code: an upgrade that the code does not know is taken back, or refused, when it is applied next.

/// A value, as Terraform and CloudFormation have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Commit {
    /// Of what.
    pub(crate) of: String,
    /// Terraform's resource and attribute, with the value.
    pub(crate) terraform: String,
    /// CloudFormation's resource and property, with the value.
    pub(crate) cloud_formation: String,
}

impl Commit {
    /// Of a cluster's control plane.
    pub(crate) fn cluster(name: &str, version: &str) -> Self {
        Self {
            of: format!("cluster {name}"),
            terraform: format!("aws_eks_cluster: version = \"{version}\""),
            cloud_formation: format!("AWS::EKS::Cluster: Version: \"{version}\""),
        }
    }

    /// Of an add-on.
    pub(crate) fn addon(name: &str, version: &str) -> Self {
        Self {
            of: format!("add-on {name}"),
            terraform: format!("aws_eks_addon: addon_version = \"{version}\""),
            cloud_formation: format!("AWS::EKS::Addon: AddonVersion: {version}"),
        }
    }

    /// Of a managed node group, from what an update of EKS leads to: type and value of its parameters. `None` where it changes no version.
    pub(crate) fn nodegroup(name: &str, params: &[(String, String)]) -> Option<Self> {
        let value = |kind: &str| params.iter().find(|(own, _)| own == kind).map(|(_, value)| &**value);
        let template = value("LaunchTemplateVersion");
        let own = [
            ("version", "Version", value("Version")),
            ("release_version", "ReleaseVersion", value("ReleaseVersion")),
        ];
        let (mut terraform, mut cloud_formation) = (Vec::new(), Vec::new());
        for (attribute, property, value) in own {
            if let Some(value) = value {
                terraform.push(format!("{attribute} = \"{value}\""));
                cloud_formation.push(format!("{property}: \"{value}\""));
            }
        }
        if let Some(version) = template {
            terraform.push(format!("launch_template.version = \"{version}\""));
            cloud_formation.push(format!("LaunchTemplate.Version: \"{version}\""));
        }
        (!terraform.is_empty()).then(|| Self {
            of: format!("node group {name}"),
            terraform: format!("aws_eks_node_group: {}", terraform.join(", ")),
            cloud_formation: format!("AWS::EKS::Nodegroup: {}", cloud_formation.join(", ")),
        })
    }

    /// Both, in one line.
    pub(crate) fn line(&self) -> String {
        format!("{}: Terraform {}; CloudFormation {}", self.of, self.terraform, self.cloud_formation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_update_leads_to_is_named_as_the_code_has_it() {
        let own = |kind: &str, value: &str| (kind.to_owned(), value.to_owned());
        let params = [
            own("Version", "1.36"),
            own("ReleaseVersion", "1.36.2-20261120"),
            own("LaunchTemplateVersion", "7"),
        ];
        assert_eq!(
            Commit::nodegroup("web", &params).expect("it has versions").line(),
            "node group web: Terraform aws_eks_node_group: version = \"1.36\", release_version = \"1.36.2-20261120\", launch_template.version = \"7\"; \
             CloudFormation AWS::EKS::Nodegroup: Version: \"1.36\", ReleaseVersion: \"1.36.2-20261120\", LaunchTemplate.Version: \"7\""
        );
        assert_eq!(Commit::nodegroup("web", &[own("MaxSize", "7")]), None);
    }
}
