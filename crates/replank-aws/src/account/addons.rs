//! Add-ons of EKS.

use replank_model::time::Time;
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

/// Parameters of updates.
const VERSION: &str = "AddonVersion";
const CONFLICTS: &str = "ResolveConflicts";

/// The pod template runs an add-on's version: the tag of its first container's image.
fn with_tag(template: &mut Value, version: &str) {
    let image = &mut template["spec"]["containers"][0]["image"];
    if let Some(known) = image.as_str() {
        let base = known.rsplit_once(':').map_or(known, |(base, _)| base);
        *image = json!(format!("{base}:{version}"));
    }
}

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
    /// What can be configured of an add-on: whatever it is, the simulated one takes it.
    pub(crate) fn describe_addon_configuration(&self, input: Input<'_>) -> Reply {
        let (name, version) =
            (input.text("addonName").unwrap_or_default(), input.text("addonVersion").unwrap_or_default());
        if !KNOWN.iter().any(|(known, ..)| *known == name) {
            return Err(Fault::new(404, "ResourceNotFoundException", format!("Addon {name} not found"))
                .with("addonName", name));
        }
        if !VERSIONS.iter().any(|(minor, _)| versions(name, minor).iter().any(|known| known == version)) {
            return Err(invalid(format!("Addon version specified is not supported: {version}")));
        }
        let schema =
            json!({"$schema": "http://json-schema.org/draft-06/schema#", "title": name, "type": "object"});
        Ok(
            json!({"addonName": name, "addonVersion": version, "configurationSchema": schema.to_string(), "podIdentityConfiguration": []}),
        )
    }

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

    pub(crate) fn list_addons(&self, input: Input<'_>) -> Reply {
        let all = self.eks.addons.keys().map(|name| (name.clone(), name.clone())).collect();
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let (addons, next) = page(all, size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
        Ok(json!({"addons": addons, "nextToken": next}))
    }

    /// Installed add-ons whose versions do not go with a version of Kubernetes: names and versions.
    pub(crate) fn unfit_addons(&self, minor: &str) -> Vec<(String, String)> {
        let installed = self.eks.addons.iter();
        let unfit = installed.filter(|(name, addon)| !versions(name, minor).contains(&addon.version));
        unfit.map(|(name, addon)| (name.clone(), addon.version.clone())).collect()
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
        let is_made = addon.created + self.names.setting.takes.addon <= region.now();
        let is_updated = self
            .eks
            .updates
            .iter()
            .any(|update| update.addon.as_deref() == Some(name) && update.status == "InProgress");
        let status = match (is_updated, is_made, addon.issues.is_empty()) {
            (true, _, _) => "UPDATING",
            (false, false, _) => "CREATING",
            (false, true, true) => "ACTIVE",
            (false, true, false) => "UPDATE_FAILED",
        };
        let arn = self.addon_arn(name);
        let own = self.eks.pods.0.iter().filter(|(_, one)| one.owner.as_ref() == Some(&arn));
        let associations: Vec<String> = own.map(|(id, _)| self.association_arn(id)).collect();
        json!({"addonName": name, "clusterName": self.names.cluster(), "status": status, "addonVersion": addon.version, "health": {"issues": addon.issues},
            "addonArn": arn, "createdAt": epoch(addon.created), "modifiedAt": epoch(addon.until.unwrap_or(addon.created)), "serviceAccountRoleArn": addon.role,
            "tags": self.eks.tags.get(&arn).cloned().unwrap_or_default(), "configurationValues": addon.values,
            "podIdentityAssociations": associations})
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
            installed: region.workload(&name),
            issues: Vec::new(),
            values: text("configurationValues"),
            role: text("serviceAccountRoleArn"),
        };
        self.associate_addon(now, &name, input)?;
        let tags = input.get("tags").and_then(Value::as_object).into_iter().flatten();
        let tags = tags.map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()));
        self.eks.tags.insert(self.addon_arn(&name), tags.collect());
        self.eks.addons.insert(name.clone(), addon.clone());
        Ok(json!({"addon": self.shown_addon(region, &name, &addon)}))
    }

    fn addon_arn(&self, name: &str) -> String {
        self.names.arn("eks", &format!("addon/{}/{name}/{}", self.names.cluster(), uuid(name)))
    }

    /// The roles that an add-on's pods get, as associations that it owns: those that are named take the place of those that it had.
    fn associate_addon(&mut self, now: Time, name: &str, input: Input<'_>) -> Result<(), Fault> {
        if !input.has("podIdentityAssociations") {
            return Ok(());
        }
        let owner = self.addon_arn(name);
        let before = self.eks.pods.clone();
        self.eks.pods.0.retain(|_, one| one.owner.as_ref() != Some(&owner));
        for asked in input.inputs("podIdentityAssociations") {
            let asked = json!({"namespace": "kube-system", "serviceAccount": asked.0["serviceAccount"], "roleArn": asked.0["roleArn"]});
            if let Err(fault) = self.associate(now, Input(&asked), Some(&owner)) {
                self.eks.pods = before;
                return Err(fault);
            }
        }
        Ok(())
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
            let version = self.addon_version(&name, input.text("addonVersion"))?;
            params.push((VERSION.to_owned(), version));
        }
        for (member, kind, slot) in [
            ("configurationValues", "ConfigurationValues", &mut addon.values),
            ("serviceAccountRoleArn", "ServiceAccountRoleArn", &mut addon.role),
        ] {
            if let Some(value) = input.text(member) {
                // An empty one takes it away.
                *slot = Some(value.to_owned()).filter(|value| !value.is_empty());
                params.push((kind.to_owned(), value.to_owned()));
            }
        }
        if let Some(conflicts) = input.text("resolveConflicts") {
            if !["NONE", "OVERWRITE", "PRESERVE"].contains(&conflicts) {
                return Err(invalid(format!(
                    "1 validation error detected: Value '{conflicts}' at 'resolveConflicts' failed to satisfy constraint: \
                     Member must satisfy enum value set: [OVERWRITE, NONE, PRESERVE]"
                )));
            }
            params.push((CONFLICTS.to_owned(), conflicts.to_owned()));
        }
        self.associate_addon(now, &name, input)?;
        let ends = now + self.names.setting.takes.addon;
        addon.until = Some(ends);
        addon.issues = Vec::new();
        self.eks.addons.insert(name.clone(), addon);
        let update = self.new_update("AddonUpdate", &[], now);
        let update = Update { params, addon: Some(name), ends: Some(ends), ..update };
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    /// The end of an add-on's update: its workload gets the version, unless somebody has changed it and nothing is said about that. The errors, where it fails.
    pub(crate) fn updated_addon(&mut self, region: &mut dyn Region, update: &Update) -> Vec<Value> {
        let Some((name, addon)) =
            update.addon.as_ref().and_then(|name| Some((name.clone(), self.eks.addons.get_mut(name)?)))
        else {
            return Vec::new();
        };
        let param = |kind: &str| update.params.iter().find(|(own, _)| own == kind).map(|(_, value)| &**value);
        let (version, conflicts) = (param(VERSION), param(CONFLICTS).unwrap_or("NONE"));
        let present = region.workload(&name);
        let is_changed = match (&addon.installed, &present) {
            (Some(installed), Some(present)) => installed != present,
            (Some(_) | None, Some(_) | None) => false,
        };
        if is_changed && conflicts == "NONE" {
            let message = format!(
                "Conflicts found when trying to apply. Will not continue due to resolve conflicts mode. Conflicts: the pod template of {name} was changed"
            );
            addon.issues =
                vec![json!({"code": "ConfigurationConflict", "message": message, "resourceIds": []})];
            return vec![
                json!({"errorCode": "ConfigurationConflict", "errorMessage": message, "resourceIds": []}),
            ];
        }
        let kept = if conflicts == "OVERWRITE" { addon.installed.clone().or(present) } else { present };
        if let Some(version) = version {
            addon.version = version.to_owned();
            if let Some(mut template) = kept {
                with_tag(&mut template, version);
                region.put_workload(&name, &template);
                addon.installed = region.workload(&name);
            }
        }
        Vec::new()
    }

    pub(crate) fn delete_addon(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let (name, addon) = self.addon(input)?;
        let mut shown = self.shown_addon(region, &name, &addon);
        shown["status"] = json!("DELETING");
        self.eks.addons.remove(&name);
        let arn = self.addon_arn(&name);
        self.eks.tags.remove(&arn);
        self.eks.pods.0.retain(|_, one| one.owner.as_ref() != Some(&arn));
        Ok(json!({"addon": shown}))
    }
}
