//! EKS: which call is answered where, and tags.

use replank_model::object::cloud::{GroupKind, NodeGroup};
use serde_json::{Value, json};
use std::sync::Arc;

use super::own::Account;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::service::Service;

impl Account {
    pub(crate) fn eks(&mut self, region: &mut dyn Region, action: &str, input: Input<'_>) -> Reply {
        if let Some(name) =
            input.text("clusterName").or_else(|| input.text("name").filter(|_| action != "CreateCluster"))
        {
            self.cluster_asked(name)?;
        }
        if self.eks.created.is_none() {
            self.eks.created = Some(region.now());
        }
        match action {
            "ListClusters" => Ok(json!({"clusters": [self.names.cluster()]})),
            "DescribeCluster" => Ok(json!({"cluster": self.shown_cluster(region)})),
            "UpdateClusterVersion" => self.update_cluster_version(region, input),
            "DescribeClusterVersions" => self.describe_cluster_versions(region, input),
            "ListUpdates" => self.list_updates(region, input),
            "DescribeUpdate" => self.describe_update(region, input),
            "ListNodegroups" => self.list_nodegroups(region, input),
            "DescribeNodegroup" => {
                let group = self.nodegroup(region, input.text("nodegroupName").unwrap_or_default())?;
                Ok(json!({"nodegroup": self.shown_nodegroup(region, &group)}))
            }
            "CreateNodegroup" => self.create_nodegroup(region, input),
            "DeleteNodegroup" => self.delete_nodegroup(region, input),
            "UpdateNodegroupConfig" => self.update_nodegroup_config(region, input),
            "UpdateNodegroupVersion" => self.update_nodegroup_version(region, input),
            "ListAddons" => self.list_addons(input),
            "CreateAddon" => self.create_addon(region, input),
            "DescribeAddon" => self.describe_addon(region, input),
            "UpdateAddon" => self.update_addon(region, input),
            "DeleteAddon" => self.delete_addon(region, input),
            "DescribeAddonVersions" => self.describe_addon_versions(input),
            "ListInsights" => self.list_insights(region, input),
            "DescribeInsight" => self.describe_insight(region, input),
            "ListFargateProfiles" => Ok(json!({"fargateProfileNames": []})),
            "DescribeFargateProfile" => {
                let name = input.text("fargateProfileName").unwrap_or_default();
                Err(Fault::new(
                    404,
                    "ResourceNotFoundException",
                    format!("No Fargate Profile found with name: {name}."),
                )
                .with("clusterName", self.names.cluster())
                .with("fargateProfileName", name))
            }
            "UpdateClusterConfig" => self.update_cluster_config(region, input),
            "DescribeAddonConfiguration" => self.describe_addon_configuration(input),
            "ListAccessEntries"
            | "ListAccessPolicies"
            | "CreateAccessEntry"
            | "DescribeAccessEntry"
            | "UpdateAccessEntry"
            | "DeleteAccessEntry"
            | "ListAssociatedAccessPolicies"
            | "AssociateAccessPolicy"
            | "DisassociateAccessPolicy" => self.access(region.now(), action, input),
            "ListPodIdentityAssociations"
            | "CreatePodIdentityAssociation"
            | "DescribePodIdentityAssociation"
            | "UpdatePodIdentityAssociation"
            | "DeletePodIdentityAssociation" => self.pod_identity(region.now(), action, input),
            "CancelUpdate" => {
                // Only nodes of EKS Auto Mode can be kept from being rolled back.
                let asked = json!({"name": self.names.cluster(), "updateId": input.text("updateId")});
                self.describe_update(region, Input(&asked))?;
                Err(Fault::bad(
                    "InvalidRequestException",
                    "Update cannot be cancelled: it is no VersionRollback of a cluster with EKS Auto Mode",
                ))
            }
            "ListIdentityProviderConfigs" => Ok(json!({"identityProviderConfigs": []})),
            "ListTagsForResource" => {
                let arn = self.resource(region, input)?;
                Ok(json!({"tags": self.eks.tags.get(&arn).cloned().unwrap_or_default()}))
            }
            "TagResource" => {
                let arn = self.resource(region, input)?;
                let tags = input.get("tags").and_then(Value::as_object).cloned().unwrap_or_default();
                let own = self.eks.tags.entry(arn).or_default();
                own.extend(
                    tags.into_iter().map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned())),
                );
                Ok(json!({}))
            }
            "UntagResource" => {
                let arn = self.resource(region, input)?;
                let own = self.eks.tags.entry(arn).or_default();
                for key in input.texts("tagKeys") {
                    own.remove(&key);
                }
                Ok(json!({}))
            }
            _ => Err(unknown(Service::Eks, action)),
        }
    }

    fn cluster_asked(&self, name: &str) -> Result<(), Fault> {
        if name == self.names.cluster() {
            return Ok(());
        }
        Err(Fault::new(404, "ResourceNotFoundException", format!("No cluster found for name: {name}."))
            .with("clusterName", name))
    }

    /// A managed node group, which has to be there.
    pub(crate) fn nodegroup(&self, region: &dyn Region, name: &str) -> Result<Arc<NodeGroup>, Fault> {
        let found = region
            .groups()
            .into_iter()
            .find(|group| group.kind == GroupKind::EksManaged && group.name == *name);
        found.ok_or_else(|| {
            Fault::new(404, "ResourceNotFoundException", format!("No node group found for name: {name}."))
                .with("clusterName", self.names.cluster())
                .with("nodegroupName", name)
        })
    }

    /// The ARN of a resource that is there.
    fn resource(&self, region: &dyn Region, input: Input<'_>) -> Result<String, Fault> {
        let arn = input.text("resourceArn").unwrap_or_default();
        let of_addon = |name: &String| {
            arn.starts_with(&self.names.arn("eks", &format!("addon/{}/{name}/", self.names.cluster())))
        };
        let is_addon = self.eks.addons.keys().any(of_addon);
        let is_known = arn == self.names.cluster_arn()
            || is_addon
            || self.is_entry(arn)
            || self.is_association(arn)
            || region.groups().iter().any(|group| self.names.nodegroup_arn(group.name.as_str()) == arn);
        is_known.then(|| arn.to_owned()).ok_or_else(|| {
            Fault::new(404, "NotFoundException", format!("The resource {arn} does not exist."))
        })
    }
}

/// A parameter that is not right.
pub(crate) fn invalid(message: impl Into<String>) -> Fault {
    Fault::bad("InvalidParameterException", message)
}
