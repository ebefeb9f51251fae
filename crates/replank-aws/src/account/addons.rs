//! Add-ons of EKS.

use serde_json::{Value, json};

use super::eks::invalid;
use super::kept::{Addon, Update};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::VERSIONS;
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::{epoch, uuid};

/// Add-ons that there are: type, and the line of versions that goes with Kubernetes 1.30; each minor version has the next patch.
const KNOWN: &[(&str, &str, &str)] = &[
    ("vpc-cni", "networking", "1.20"),
    ("coredns", "networking", "1.11"),
    ("kube-proxy", "networking", ""),
    ("aws-ebs-csi-driver", "storage", "1.48"),
    ("eks-pod-identity-agent", "security", "1.3"),
    ("metrics-server", "observability", "0.8"),
];

/// Versions of an add-on that go with a version of Kubernetes, the newest first; the default is the second where there are two.
fn versions(addon: &str, minor: &str) -> Vec<String> {
    let Some((_, _, line)) = KNOWN.iter().find(|(name, ..)| *name == addon) else { return Vec::new() };
    let Some(at) = VERSIONS.iter().position(|(known, _)| *known == minor) else { return Vec::new() };
    if line.is_empty() {
        let patch = VERSIONS[at].1;
        return vec![
            format!("v{minor}.{patch}-eksbuild.2"),
            format!("v{minor}.{}-eksbuild.1", patch.saturating_sub(1)),
        ];
    }
    vec![format!("v{line}.{}-eksbuild.1", at + 1), format!("v{line}.{at}-eksbuild.2")]
}

impl Account {
    pub(crate) fn describe_addon_versions(&mut self, input: Input<'_>) -> Reply {
        let (name, version) = (input.text("addonName"), input.text("kubernetesVersion"));
        let found = KNOWN.iter().filter(|(known, ..)| name.is_none_or(|name| name == *known));
        let shown = found.map(|(addon, kind, _)| {
            let mut all: Vec<Value> = Vec::new();
            for (minor, _) in VERSIONS.iter().rev().filter(|(minor, _)| version.is_none_or(|version| version == *minor)) {
                for (at, addon_version) in versions(addon, minor).into_iter().enumerate() {
                    let compatible = json!({"clusterVersion": minor, "platformVersions": ["*"], "defaultVersion": at == 1});
                    match all.iter_mut().find(|one| one["addonVersion"] == *addon_version) {
                        Some(one) => {
                            if let Some(list) = one["compatibilities"].as_array_mut() {
                                list.push(compatible);
                            }
                        }
                        None => all.push(json!({"addonVersion": addon_version, "architecture": ["amd64", "arm64"], "compatibilities": [compatible],
                            "requiresConfiguration": false, "requiresIamPermissions": false})),
                    }
                }
            }
            ((*addon).to_owned(), json!({"addonName": addon, "type": kind, "addonVersions": all, "publisher": "eks", "owner": "aws"}))
        });
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let (addons, next) =
            page(shown.collect(), size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
        Ok(json!({"addons": addons, "nextToken": next}))
    }

    fn addon(&self, input: Input<'_>) -> Result<(String, Addon), Fault> {
        let name = input.text("addonName").unwrap_or_default();
        let missing = || {
            Fault::new(
                404,
                "ResourceNotFoundException",
                format!("No addon: {name} found in cluster: {}", self.names.cluster()),
            )
            .with("addonName", name)
        };
        Ok((name.to_owned(), self.eks.addons.get(name).cloned().ok_or_else(missing)?))
    }

    fn shown_addon(&self, region: &dyn Region, name: &str, addon: &Addon) -> Value {
        let is_busy = addon.until.is_some_and(|until| until > region.now());
        let status = match (is_busy, addon.created + self.names.setting.takes.addon > region.now()) {
            (true, true) => "CREATING",
            (true, false) => "UPDATING",
            (false, _) => "ACTIVE",
        };
        let arn = self.names.arn("eks", &format!("addon/{}/{name}/{}", self.names.cluster(), uuid(name)));
        json!({"addonName": name, "clusterName": self.names.cluster(), "status": status, "addonVersion": addon.version, "health": {"issues": []},
            "addonArn": arn, "createdAt": epoch(addon.created), "modifiedAt": epoch(addon.until.unwrap_or(addon.created)), "serviceAccountRoleArn": addon.role,
            "tags": self.eks.tags.get(&arn).cloned().unwrap_or_default(), "configurationValues": addon.values})
    }

    /// The version that is asked for, or the default.
    fn addon_version(&self, name: &str, asked: Option<&str>) -> Result<String, Fault> {
        let known = versions(name, &self.eks.version);
        if known.is_empty() {
            return Err(invalid(format!("Addon {name} specified is not supported")));
        }
        match asked {
            None => Ok(known.get(1).or(known.first()).cloned().unwrap_or_default()),
            Some(version) if known.iter().any(|one| one == version) => Ok(version.to_owned()),
            Some(version) => Err(invalid(format!(
                "Addon version specified is not supported: {version} with Kubernetes {}",
                self.eks.version
            ))),
        }
    }

    pub(crate) fn create_addon(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.text("addonName").unwrap_or_default().to_owned();
        if self.eks.addons.contains_key(&name) {
            return Err(
                Fault::new(409, "ResourceInUseException", "Addon already exists.").with("addonName", &*name)
            );
        }
        let version = self.addon_version(&name, input.text("addonVersion"))?;
        let text = |member: &str| input.text(member).map(str::to_owned);
        let now = region.now();
        let addon = Addon {
            version,
            until: Some(now + self.names.setting.takes.addon),
            created: now,
            values: text("configurationValues"),
            role: text("serviceAccountRoleArn"),
        };
        let shown = self.shown_addon(region, &name, &addon);
        self.eks.addons.insert(name, addon);
        Ok(json!({"addon": shown}))
    }

    pub(crate) fn describe_addon(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let (name, addon) = self.addon(input)?;
        Ok(json!({"addon": self.shown_addon(region, &name, &addon)}))
    }

    pub(crate) fn update_addon(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let (name, mut addon) = self.addon(input)?;
        let now = region.now();
        if addon.until.is_some_and(|until| until > now) {
            return Err(Fault::new(409, "ResourceInUseException", "Addon has an update in progress")
                .with("addonName", &*name));
        }
        let mut params = Vec::new();
        if input.has("addonVersion") {
            addon.version = self.addon_version(&name, input.text("addonVersion"))?;
            params.push(("AddonVersion".to_owned(), addon.version.clone()));
        }
        for (member, kind, slot) in [
            ("configurationValues", "ConfigurationValues", &mut addon.values),
            ("serviceAccountRoleArn", "ServiceAccountRoleArn", &mut addon.role),
        ] {
            if let Some(value) = input.text(member) {
                *slot = Some(value.to_owned());
                params.push((kind.to_owned(), value.to_owned()));
            }
        }
        if let Some(conflicts) = input.text("resolveConflicts") {
            params.push(("ResolveConflicts".to_owned(), conflicts.to_owned()));
        }
        addon.until = Some(now + self.names.setting.takes.addon);
        self.eks.addons.insert(name.clone(), addon);
        let update = self.new_update("AddonUpdate", &[], now);
        let update = Update { params, addon: Some(name), ends: Some(now + self.names.setting.takes.addon), ..update };
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    pub(crate) fn delete_addon(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let (name, addon) = self.addon(input)?;
        let mut shown = self.shown_addon(region, &name, &addon);
        shown["status"] = json!("DELETING");
        self.eks.addons.remove(&name);
        Ok(json!({"addon": shown}))
    }
}
