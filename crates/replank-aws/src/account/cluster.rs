//! The cluster: its control plane, and the versions that there are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::eks::invalid;
use super::kept::Update;
use super::members::zones;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{VERSIONS, minor_of};
use crate::input::Input;
use crate::region::Region;
use crate::text::epoch;

impl Account {
    pub(crate) fn shown_cluster(&self, region: &dyn Region) -> Value {
        let is_updating = self.eks.updates.iter().any(|update| {
            update.nodegroup.is_none() && update.addon.is_none() && update.status == "InProgress"
        });
        let setting = &self.names.setting;
        let subnets: Vec<String> = zones(self, region).iter().map(|zone| self.names.subnet(zone)).collect();
        let arn = self.names.cluster_arn();
        json!({
            "name": self.names.cluster(), "arn": arn, "createdAt": self.eks.created.map(epoch), "version": self.eks.version,
            "endpoint": setting.endpoint, "roleArn": self.names.role_arn("rehearsal-cluster"),
            "resourcesVpcConfig": {"subnetIds": subnets, "securityGroupIds": [], "clusterSecurityGroupId": self.names.security_group(), "vpcId": self.names.vpc(),
                "endpointPublicAccess": true, "endpointPrivateAccess": false, "publicAccessCidrs": ["127.0.0.0/8"]},
            "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.0.0.0/16", "ipFamily": "ipv4", "elasticLoadBalancing": {"enabled": false}},
            "logging": {"clusterLogging": [{"types": ["api", "audit", "authenticator", "controllerManager", "scheduler"], "enabled": false}]},
            "identity": {"oidc": {"issuer": "https://kubernetes.default.svc"}}, "status": if is_updating { "UPDATING" } else { "ACTIVE" },
            "certificateAuthority": {"data": STANDARD.encode(&setting.authority)}, "platformVersion": "eks.12",
            "tags": self.eks.tags.get(&arn).cloned().unwrap_or_default(), "health": {"issues": []},
            "accessConfig": {"authenticationMode": "API_AND_CONFIG_MAP"}, "upgradePolicy": {"supportType": "EXTENDED"}, "deletionProtection": false,
        })
    }

    pub(crate) fn update_cluster_version(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let to = input.text("version").ok_or_else(|| invalid("version can't be blank"))?;
        if self.eks.updates.iter().any(|update| {
            update.nodegroup.is_none() && update.addon.is_none() && update.status == "InProgress"
        }) {
            return Err(Fault::new(409, "ResourceInUseException", "Cluster has an update in progress")
                .with("clusterName", self.names.cluster()));
        }
        let position = |version: &str| VERSIONS.iter().position(|(known, _)| *known == version);
        let from = self.eks.version.clone();
        let Some(at) = position(to) else {
            return Err(invalid(format!("unsupported Kubernetes version {to}")));
        };
        if to == from {
            return Err(invalid(format!(
                "Cluster is already at the desired configuration with version: {to}"
            )));
        }
        if position(&from).is_none_or(|now| at != now + 1) {
            return Err(invalid(format!("Unsupported Kubernetes minor version update from {from} to {to}")));
        }
        let minor = |version: &str| {
            minor_of(version).split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(0)
        };
        let behind: Vec<String> = region
            .groups()
            .iter()
            .filter(|group| minor(to) > minor(&group.profile().kubelet_version) + 3)
            .map(|group| group.name.to_string())
            .collect();
        if !behind.is_empty() && !input.flag("force")?.unwrap_or(false) {
            return Err(Fault::bad(
                "InvalidStateException",
                format!(
                    "Kubelet versions of node groups {} are more than three minor versions behind {to}",
                    behind.join(", ")
                ),
            ));
        }
        let update =
            self.new_update("VersionUpdate", &[("Version", to), ("PlatformVersion", "eks.1")], region.now());
        let update = Update { ends: Some(region.now() + self.names.setting.takes.control_plane), ..update };
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    pub(crate) fn describe_cluster_versions(&mut self, input: Input<'_>) -> Reply {
        let asked = input.texts("clusterVersions");
        let last = VERSIONS.len() - 1;
        let found = VERSIONS
            .iter()
            .enumerate()
            .filter(|(_, (version, _))| asked.is_empty() || asked.iter().any(|one| one == version));
        let shown: Vec<Value> = found
            .rev()
            .map(|(at, (version, patch))| {
                let is_standard = at + 4 > last;
                json!({"clusterVersion": version, "clusterType": "eks", "defaultPlatformVersion": "eks.12", "defaultVersion": at == last,
                    "kubernetesPatchVersion": format!("{version}.{patch}"),
                    "status": if is_standard { "standard-support" } else { "extended-support" },
                    "versionStatus": if is_standard { "STANDARD_SUPPORT" } else { "EXTENDED_SUPPORT" }})
            })
            .collect();
        Ok(json!({"clusterVersions": shown}))
    }
}
