//! The cluster: its control plane, and the versions that there are.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use replank_model::time::{Span, Time};
use serde_json::{Value, json};

use super::eks::invalid;
use super::kept::Update;
use super::members::zones;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{VERSIONS, dates, minor_of};
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::epoch;

/// How long EKS takes a control plane back.
const ROLLBACK_WITHIN: Span = Span::from_minutes(7 * 24 * 60);

impl Account {
    pub(crate) fn shown_cluster(&self, region: &dyn Region) -> Value {
        let is_updating = self.eks.updates.iter().any(|update| {
            update.nodegroup.is_none() && update.addon.is_none() && update.status == "InProgress"
        });
        let setting = &self.names.setting;
        let subnets: Vec<String> = zones(self, region).iter().map(|zone| self.names.subnet(zone)).collect();
        let arn = self.names.cluster_arn();
        let mut shown = json!({
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
        });
        for (member, value) in &self.eks.config {
            shown[member] = value.clone();
        }
        shown
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
        if position(&from).is_some_and(|now| at + 1 == now) {
            return self.roll_back(region, input, (&from, to));
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

    /// When the control plane came to its version, where EKS takes it back from there: it was upgraded in place, within seven days.
    pub(crate) fn upgraded_from(&self, now: Time) -> Option<Time> {
        let own = self.eks.updates.iter().rev().find(|update| {
            update.nodegroup.is_none()
                && update.addon.is_none()
                && update.status == "Successful"
                && update.kind.starts_with("Version")
        })?;
        let is_to = own.params.iter().any(|(kind, value)| kind == "Version" && *value == self.eks.version);
        (own.kind == "VersionUpdate" && is_to && now - own.created <= ROLLBACK_WITHIN).then_some(own.created)
    }

    /// Back to the version before ("Rollback cluster" in the user guide).
    fn roll_back(&mut self, region: &dyn Region, input: Input<'_>, (from, to): (&str, &str)) -> Reply {
        if self.upgraded_from(region.now()).is_none() {
            return Err(Fault::bad(
                "InvalidRequestException",
                format!(
                    "Cluster cannot be rolled back from {from} to {to}: it was not upgraded to {from} within the last 7 days"
                ),
            ));
        }
        let minor = |version: &str| {
            minor_of(version).split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok()).unwrap_or(0)
        };
        let newer: Vec<String> = region
            .groups()
            .iter()
            .filter(|group| minor(&group.profile().kubelet_version) > minor(to))
            .map(|group| group.name.to_string())
            .collect();
        if !newer.is_empty() && !input.flag("force")?.unwrap_or(false) {
            return Err(Fault::bad(
                "InvalidStateException",
                format!(
                    "Insights of category ROLLBACK_READINESS report errors: kubelets of {} are newer than {to}",
                    newer.join(", ")
                ),
            ));
        }
        let params = [("Version", to), ("PlatformVersion", "eks.12")];
        let update = self.new_update("VersionRollback", &params, region.now());
        let update = Update { ends: Some(region.now() + self.names.setting.takes.control_plane), ..update };
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    pub(crate) fn describe_cluster_versions(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let asked = input.texts("clusterVersions");
        let last = VERSIONS.len() - 1;
        let now = region.now();
        let found = VERSIONS
            .iter()
            .enumerate()
            .filter(|(_, (version, _))| asked.is_empty() || asked.iter().any(|one| one == version));
        let shown: Vec<(String, Value)> = found
            .map(|(at, (version, patch))| {
                let [release, standard, extended] = dates(version).map(epoch);
                let status = if epoch(now) < standard {
                    "STANDARD_SUPPORT"
                } else if epoch(now) < extended {
                    "EXTENDED_SUPPORT"
                } else {
                    "UNSUPPORTED"
                };
                let shown = json!({"clusterVersion": version, "clusterType": "eks", "defaultPlatformVersion": "eks.12", "defaultVersion": at == last,
                    "kubernetesPatchVersion": format!("{version}.{patch}"), "releaseDate": release,
                    "endOfStandardSupportDate": standard, "endOfExtendedSupportDate": extended,
                    "status": status.to_lowercase().replace('_', "-"), "versionStatus": status});
                // The newest first.
                (format!("{:04}", last - at), shown)
            })
            .collect();
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let (versions, next) = page(shown, size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
        Ok(json!({"clusterVersions": versions, "nextToken": next}))
    }
}
