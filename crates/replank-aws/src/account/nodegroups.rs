//! Managed node groups of EKS.

use std::collections::BTreeMap;

use replank_model::object::affinity::TaintEffect;
use replank_model::object::cloud::{GroupSize, Market, NodeGroup, ScalingProcess, UpdateStrategy};
use replank_model::text::{GroupName, Text, Zone};
use replank_model::time::Span;
use replank_protocol::command::Refusal;
use serde_json::{Value, json};

use super::eks::invalid;
use super::kept::{Nodegroup, Update};
use super::launch::{Wish, ami_type_of, image_of, made, taint};
use super::members::{members, zones};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{image, images, minor_of, newest};
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::{epoch, uuid};

/// How long nodes of a new group have to become Ready; EKS gives up later than this, and does not say when.
const CREATION_MAX: Span = Span::from_minutes(20);

impl Account {
    pub(crate) fn list_nodegroups(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let managed = region
            .groups()
            .into_iter()
            .filter(|group| group.kind == replank_model::object::cloud::GroupKind::EksManaged);
        let all = managed.map(|group| (group.name.to_string(), group.name.to_string())).collect();
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let (names, next) = page(all, size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
        Ok(json!({"nodegroups": names, "nextToken": next}))
    }

    pub(crate) fn shown_nodegroup(&mut self, region: &dyn Region, group: &NodeGroup) -> Value {
        let name = group.name.as_str();
        let own = self.eks.nodegroups.entry(name.to_owned()).or_default();
        let instances = members(region, group);
        let ready = instances.iter().filter(|one| region.machine(one).is_ready).count();
        let begun = own.created;
        let is_early = begun.is_some_and(|begun| region.now() < begun + self.names.setting.takes.nodegroup);
        own.was_ready |= begun.is_none() || !is_early && ready >= group.size.desired as usize;
        let own = own.clone();
        let is_late = begun.is_some_and(|begun| region.now() > begun + CREATION_MAX);
        let is_going = self.groups.get(&*group.auto_scaling_group).is_some_and(|extra| extra.is_going);
        let status = match (is_going, own.was_ready, is_late) {
            (true, ..) => "DELETING",
            (false, false, false) => "CREATING",
            (false, false, true) => "CREATE_FAILED",
            (false, true, _) if group.update_in_progress().is_some() => "UPDATING",
            (false, true, _) => "ACTIVE",
        };
        let template = group.template();
        let labels = own.labels.clone().unwrap_or_else(|| shown_labels(group));
        let taints = own.taints.clone().unwrap_or_else(|| shown_taints(group));
        let types: Vec<&str> = group.profile().shapes.iter().map(|shape| &*shape.instance_type).collect();
        let arn = self.names.nodegroup_arn(name);
        let capacity = if Market::of(&group.profile().labels) == Market::Spot { "SPOT" } else { "ON_DEMAND" };
        let version = minor_of(&template.profile.kubelet_version);
        let release = image(&image_of(template)).map_or_else(
            || {
                format!(
                    "{}-20261023",
                    template
                        .profile
                        .kubelet_version
                        .trim_start_matches('v')
                        .split('-')
                        .next()
                        .unwrap_or_default()
                )
            },
            |image| image.release,
        );
        let subnets: Vec<String> = group.zones.iter().map(|zone| self.names.subnet(zone)).collect();
        let mut issues = Vec::new();
        if status == "CREATE_FAILED" {
            let ids: Vec<&str> = instances
                .iter()
                .filter(|one| !region.machine(one).is_ready)
                .map(|one| one.id.as_str())
                .collect();
            issues.push(json!({"code": "NodeCreationFailure", "message": "Instances failed to join the kubernetes cluster", "resourceIds": ids}));
        }
        if let Some(failure) = group.failures.last() {
            issues.push(json!({"code": "AsgInstanceLaunchFailures", "message": failure.to_string(), "resourceIds": [&*group.auto_scaling_group]}));
        }
        let has_own_template = own.asked.get("launchTemplate").is_some();
        let mut shown = json!({
            "nodegroupName": name, "nodegroupArn": arn, "clusterName": self.names.cluster(), "version": version, "releaseVersion": release,
            "createdAt": begun.or(self.eks.created).map(epoch), "modifiedAt": epoch(region.now()), "status": status, "capacityType": capacity,
            "scalingConfig": {"minSize": group.size.min, "maxSize": group.size.max, "desiredSize": group.size.desired},
            "subnets": subnets, "amiType": ami_type_of(template), "nodeRole": own.asked["nodeRole"].as_str().map_or_else(|| self.names.role_arn("rehearsal-node"), str::to_owned),
            "labels": labels, "taints": taints, "resources": {"autoScalingGroups": [{"name": &*group.auto_scaling_group}]},
            "health": {"issues": issues},
            "updateConfig": own.update_config.unwrap_or_else(|| json!({"maxUnavailable": 1})),
            "tags": self.eks.tags.get(&arn).cloned().unwrap_or_default(),
        });
        // What a launch template says of disks and types is not shown again.
        if !has_own_template {
            shown["diskSize"] = json!(own.asked["diskSize"].as_i64().unwrap_or(20));
        }
        let data = self.templates.data(&group.current).filter(|_| has_own_template);
        if data.is_none_or(|data| data["InstanceType"].is_null()) {
            shown["instanceTypes"] = json!(types);
        }
        for (member, value) in
            [("remoteAccess", own.asked.get("remoteAccess")), ("nodeRepairConfig", own.repair.as_ref())]
        {
            if let Some(value) = value {
                shown[member] = value.clone();
            }
        }
        if has_own_template {
            shown["launchTemplate"] = json!({"id": &*group.current.id, "name": self.templates.by_id.get(&*group.current.id).map(|one| one.name.clone()), "version": group.current.version.to_string()});
        }
        shown
    }

    pub(crate) fn create_nodegroup(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input
            .text("nodegroupName")
            .filter(|name| !name.is_empty())
            .ok_or_else(|| invalid("nodegroupName can't be blank"))?
            .to_owned();
        if name.len() > 63
            || !name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
        {
            return Err(invalid("The nodegroup name parameter contains invalid characters."));
        }
        if region.groups().iter().any(|group| group.name == *name) {
            return Err(Fault::new(
                409,
                "ResourceInUseException",
                "NodeGroup already exists with name ".to_owned()
                    + &name
                    + " and cluster name "
                    + self.names.cluster(),
            )
            .with("clusterName", self.names.cluster())
            .with("nodegroupName", &*name));
        }
        no_warm_pool(input)?;
        let size = size_of(input.inner("scalingConfig"), GroupSize { min: 1, max: 2, desired: 2 })?;
        let update_config = input.get("updateConfig").cloned();
        let at_once = update_config.as_ref().map(|config| unavailable(config, size.desired)).transpose()?;
        let known = zones(self, region);
        let mut chosen: Vec<Zone> = Vec::new();
        for subnet in input.texts("subnets") {
            let zone = known.iter().find(|zone| self.names.subnet(zone) == subnet);
            chosen.push(
                zone.cloned().ok_or_else(|| invalid(format!("The subnet ID '{subnet}' does not exist")))?,
            );
        }
        chosen.sort();
        chosen.dedup();
        if chosen.is_empty() {
            return Err(invalid("subnets can't be blank"));
        }
        let labels = labels_of(input.inner("labels").0)?;
        let taints: Vec<Value> = input.list("taints").into_iter().cloned().collect();
        let read = taints.iter().map(|one| {
            taint(
                one["key"].as_str().unwrap_or_default(),
                one["value"].as_str().unwrap_or_default(),
                one["effect"].as_str().unwrap_or_default(),
            )
            .ok_or_else(|| invalid("The effect of a taint is NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE"))
        });
        let taints_read = read.collect::<Result<Vec<_>, _>>()?;
        let is_spot = input.text("capacityType") == Some("SPOT");
        let own_template = input.get("launchTemplate").is_some();
        let mut data = json!({});
        let mut reference = None;
        if own_template {
            of_template(input)?;
            let named = self
                .templates
                .named(input.inner("launchTemplate"))
                .map_err(|fault| invalid(fault.message))?;
            data = self.templates.data(&named.version).cloned().unwrap_or_default();
            reference = Some(named.version);
        }
        let has_image = data["ImageId"].is_string();
        let instance_types = input.texts("instanceTypes");
        if data["InstanceType"].is_string() && !instance_types.is_empty() {
            // https://github.com/terraform-aws-modules/terraform-aws-eks/issues/1386
            return Err(Fault::bad(
                "InvalidRequestException",
                "Cannot specify instance types in launch template and API Request",
            ));
        }
        if has_image
            && (input.has("amiType") && input.text("amiType") != Some("CUSTOM")
                || input.has("version")
                || input.has("releaseVersion"))
        {
            return Err(invalid(
                "You cannot specify amiType, version or releaseVersion when your launch template names an image.",
            ));
        }
        let first = instance_types.first().map_or("t3.medium", String::as_str);
        let is_arm = region.instance_types().iter().any(|one| one.arch == "arm64" && *one.name == *first);
        let default_type = if is_arm { "AL2023_ARM_64_STANDARD" } else { "AL2023_x86_64_STANDARD" };
        let ami_type = input.text("amiType").unwrap_or(default_type);
        let minor = input.text("version").unwrap_or(&self.eks.version).to_owned();
        let chosen_image = match (has_image, input.text("releaseVersion")) {
            (true, _) => None,
            (false, Some(release)) => Some(
                images()
                    .find(|image| {
                        image.release == release && image.ami_type == ami_type && image.minor == minor
                    })
                    .ok_or_else(|| {
                        invalid(format!(
                            "Requested release version {release} is not valid for kubernetes version {minor}."
                        ))
                    })?,
            ),
            (false, None) => Some(newest(ami_type, &minor).ok_or_else(|| {
                invalid(format!("The AMI type {ami_type} is not available for kubernetes version {minor}."))
            })?),
        };
        let wish = Wish {
            nodegroup: Some(&name),
            instance_types: if instance_types.is_empty() && !data["InstanceType"].is_string() {
                vec!["t3.medium".to_owned()]
            } else {
                instance_types
            },
            labels: labels.clone().into_iter().collect(),
            taints: taints_read,
            is_spot,
            zones: chosen.clone(),
            image: chosen_image.map(|image| image.id),
        };
        let template =
            made(&self.names, region, &data, None, &wish).map_err(|fault| invalid(fault.message))?;
        let mut group =
            NodeGroup::new(GroupName::from(&*name), size, chosen, template.clone()).managed_by_eks();
        group.auto_scaling_group =
            Text::from(format!("eks-{name}-{}", uuid(&format!("{name} {}", region.now().as_millis()))));
        let current = reference.unwrap_or_else(|| {
            // EKS makes a launch template of its own.
            let eks_data = json!({"ImageId": &*template.image, "InstanceType": template.profile.shapes.first().map(|shape| shape.instance_type.to_string())});
            let made = self.templates.create(&group.auto_scaling_group, eks_data, None, region.now());
            replank_model::object::cloud::LaunchTemplateRef { id: Text::from(made.id), version: 1 }
        });
        group.templates = [(current.clone(), template)].into();
        group.current = current;
        group.ways = group.ways.without(ScalingProcess::AzRebalance);
        let now = region.now();
        let arn = self.names.nodegroup_arn(&name);
        let tags = input.get("tags").and_then(Value::as_object).cloned().unwrap_or_default();
        self.eks.tags.insert(
            arn,
            tags.into_iter()
                .map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned()))
                .collect(),
        );
        self.eks.nodegroups.insert(
            name.clone(),
            Nodegroup {
                created: Some(now),
                asked: input.0.clone(),
                labels: Some(labels),
                taints: Some(taints),
                update_config,
                repair: input.get("nodeRepairConfig").cloned(),
                was_ready: false,
            },
        );
        let strategy = input.inner("updateConfig").text("updateStrategy");
        group.update_strategy = strategy.and_then(UpdateStrategy::of_word).unwrap_or_default();
        region.put_group(group);
        if let Some(nodes) = at_once {
            region.set_max_unavailable(&GroupName::from(&*name), nodes);
        }
        let group = self.nodegroup(region, &name)?;
        Ok(json!({"nodegroup": self.shown_nodegroup(region, &group)}))
    }

    pub(crate) fn delete_nodegroup(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = self.nodegroup(region, input.text("nodegroupName").unwrap_or_default())?;
        if let Some(update) = group.update_in_progress() {
            return Err(in_use(&group, &update.id));
        }
        self.empty(region, &group);
        let group = self.nodegroup(region, group.name.as_str())?;
        Ok(json!({"nodegroup": self.shown_nodegroup(region, &group)}))
    }

    pub(crate) fn update_nodegroup_config(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = self.nodegroup(region, input.text("nodegroupName").unwrap_or_default())?;
        if let Some(update) = group.update_in_progress() {
            return Err(in_use(&group, &update.id));
        }
        no_warm_pool(input)?;
        let name = group.name.to_string();
        let mut params: Vec<(String, String)> = Vec::new();
        let mut changed = NodeGroup::clone(&group);
        let mut own = self.eks.nodegroups.get(&name).cloned().unwrap_or_default();
        let labels = input.inner("labels");
        if !labels.0.is_null() {
            let mut known = own.labels.clone().unwrap_or_else(|| shown_labels(&group));
            let add = labels_of(labels.inner("addOrUpdateLabels").0)?;
            let remove = labels.texts("removeLabels");
            params.push(("LabelsToAdd".to_owned(), json!(add).to_string()));
            params.push(("LabelsToRemove".to_owned(), json!(remove).to_string()));
            known.extend(add.clone());
            known.retain(|key, _| !remove.contains(key));
            own.labels = Some(known);
            if let Some(template) = changed.templates.get_mut(&changed.current) {
                for (key, value) in add {
                    template.profile.labels = template.profile.labels.with(key, value);
                }
                for key in remove {
                    template.profile.labels = template.profile.labels.without(&key);
                }
            }
        }
        let taints = input.inner("taints");
        if !taints.0.is_null() {
            let mut known = own.taints.clone().unwrap_or_else(|| shown_taints(&group));
            let same =
                |one: &Value, other: &Value| one["key"] == other["key"] && one["effect"] == other["effect"];
            let add: Vec<Value> = taints.list("addOrUpdateTaints").into_iter().cloned().collect();
            let remove: Vec<Value> = taints.list("removeTaints").into_iter().cloned().collect();
            params.push(("TaintsToAdd".to_owned(), json!(add).to_string()));
            params.push(("TaintsToRemove".to_owned(), json!(remove).to_string()));
            known.retain(|one| !add.iter().chain(&remove).any(|other| same(one, other)));
            known.extend(add);
            if let Some(template) = changed.templates.get_mut(&changed.current) {
                let read = known.iter().map(|one| {
                    taint(
                        one["key"].as_str().unwrap_or_default(),
                        one["value"].as_str().unwrap_or_default(),
                        one["effect"].as_str().unwrap_or_default(),
                    )
                });
                template.profile.taints = read.collect::<Option<Vec<_>>>().ok_or_else(|| {
                    invalid("The effect of a taint is NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE")
                })?;
            }
            own.taints = Some(known);
        }
        if let Some(config) = input.get("updateConfig") {
            let known = own.update_config.take().unwrap_or_else(|| json!({"maxUnavailable": 1}));
            let config = with_number(config, &known);
            region.set_max_unavailable(&group.name, unavailable(&config, group.size.desired)?);
            if let Some(strategy) = Input(&config).text("updateStrategy") {
                changed.update_strategy = UpdateStrategy::of_word(strategy).unwrap_or_default();
                params.push(("UpdateStrategy".to_owned(), strategy.to_owned()));
            }
            for (key, kind) in [
                ("maxUnavailable", "MaxUnavailable"),
                ("maxUnavailablePercentage", "MaxUnavailablePercentage"),
            ] {
                if let Some(value) = Input(&config).number(key)? {
                    params.push((kind.to_owned(), value.to_string()));
                }
            }
            own.update_config = Some(config);
        }
        if let Some(repair) = input.get("nodeRepairConfig") {
            own.repair = Some(repair.clone());
            let is_on = Input(repair).flag("enabled")?.unwrap_or(false);
            params.push(("NodeRepairEnabled".to_owned(), is_on.to_string()));
        }
        let sizes = input.inner("scalingConfig");
        let size = if sizes.0.is_null() { None } else { Some(size_of(sizes, group.size)?) };
        if size.is_none() && params.is_empty() {
            return Err(invalid("No changes needed for the node group"));
        }
        self.eks.nodegroups.insert(name.clone(), own);
        if changed != *group {
            region.put_group(changed);
        }
        let kept = |params: &[(String, String)]| {
            params.iter().map(|(a, b)| (a.clone(), b.clone())).collect::<Vec<_>>()
        };
        let update = match size {
            Some(to) => {
                let token = self.token(input, region);
                region
                    .update_nodegroup_config(&group.name, &token, to)
                    .map_err(|refusal| refused(&group, refusal))?;
                for (kind, value) in [("MinSize", to.min), ("MaxSize", to.max), ("DesiredSize", to.desired)] {
                    params.push((kind.to_owned(), value.to_string()));
                }
                self.begun(region, &name, "ConfigUpdate", kept(&params))?
            }
            None => {
                let update = self.new_update("ConfigUpdate", &[], region.now());
                Update {
                    params: kept(&params),
                    nodegroup: Some(name),
                    ends: Some(region.now() + Span::from_secs(5)),
                    ..update
                }
            }
        };
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    pub(crate) fn update_nodegroup_version(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let group = self.nodegroup(region, input.text("nodegroupName").unwrap_or_default())?;
        if let Some(update) = group.update_in_progress() {
            return Err(in_use(&group, &update.id));
        }
        let name = group.name.to_string();
        let own = self.eks.nodegroups.get(&name).cloned().unwrap_or_default();
        let present = group.template();
        let spec = input.inner("launchTemplate");
        let mut data = json!({});
        let mut params: Vec<(String, String)> = Vec::new();
        if !spec.0.is_null() {
            if own.asked.get("launchTemplate").is_none() {
                return Err(invalid(
                    "You cannot specify a launch template for a node group that was not created with one.",
                ));
            }
            one_name(spec)?;
            let named = self.templates.named(spec).map_err(|fault| invalid(fault.message))?;
            if named.version.id != group.current.id {
                return Err(invalid(
                    "You cannot change the launch template of a node group, only its version.",
                ));
            }
            data = self.templates.data(&named.version).cloned().unwrap_or_default();
            params.push(("LaunchTemplateVersion".to_owned(), named.version.version.to_string()));
        }
        let has_image = data["ImageId"].is_string();
        if has_image && (input.has("version") || input.has("releaseVersion")) {
            return Err(invalid(
                "You cannot specify version or releaseVersion when your launch template names an image.",
            ));
        }
        let ami_type = ami_type_of(present);
        let minor = input.text("version").unwrap_or(&self.eks.version).to_owned();
        let number = |version: &str| version.split('.').nth(1).and_then(|minor| minor.parse::<u32>().ok());
        if number(&minor) > number(&self.eks.version) {
            return Err(invalid(format!(
                "Requested Nodegroup version {minor} is greater than cluster version {}",
                self.eks.version
            )));
        }
        if !has_image {
            let chosen = match input.text("releaseVersion") {
                Some(release) => images()
                    .find(|image| {
                        image.release == release && image.ami_type == ami_type && image.minor == minor
                    })
                    .ok_or_else(|| {
                        invalid(format!(
                            "Requested release version {release} is not valid for kubernetes version {minor}."
                        ))
                    })?,
                None => newest(&ami_type, &minor).ok_or_else(|| {
                    invalid(format!(
                        "The AMI type {ami_type} is not available for kubernetes version {minor}."
                    ))
                })?,
            };
            if spec.0.is_null() && chosen.id == image_of(present) {
                return Err(invalid("NodeGroup is already using the requested version"));
            }
            params.insert(0, ("ReleaseVersion".to_owned(), chosen.release.clone()));
            params.insert(0, ("Version".to_owned(), minor));
            data["ImageId"] = json!(chosen.id);
        }
        let wish = Wish { nodegroup: Some(&name), zones: group.zones.clone(), ..Wish::default() };
        let mut template =
            made(&self.names, region, &data, Some(present), &wish).map_err(|fault| invalid(fault.message))?;
        template.profile.labels =
            template.profile.labels.with("eks.amazonaws.com/nodegroup-image", &*template.image.clone());
        let token = self.token(input, region);
        let force = input.flag("force")?.unwrap_or(false);
        region
            .update_nodegroup_version(&group.name, &token, &template, force)
            .map_err(|refusal| refused(&group, refusal))?;
        self.adopt(region);
        let update = self.begun(region, &name, "VersionUpdate", params)?;
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }

    fn token(&mut self, input: Input<'_>, region: &dyn Region) -> Text {
        self.eks.count += 1;
        let drawn = format!("{}-{}", self.eks.count, region.now().as_millis());
        Text::from(input.text("clientRequestToken").map_or(drawn, str::to_owned))
    }

    /// The update that the region has just begun.
    fn begun(
        &mut self,
        region: &dyn Region,
        name: &str,
        kind: &str,
        params: Vec<(String, String)>,
    ) -> Result<Update, Fault> {
        let group = self.nodegroup(region, name)?;
        let update = self.new_update(kind, &[], region.now());
        let id = group.update.as_ref().map_or_else(|| update.id.clone(), |one| one.id.to_string());
        Ok(Update { id, params, nodegroup: Some(name.to_owned()), ..update })
    }
}

/// What a launch template says is not said besides.
fn of_template(input: Input<'_>) -> Result<(), Fault> {
    one_name(input.inner("launchTemplate"))?;
    if input.has("diskSize") {
        // https://github.com/crossplane-contrib/provider-upjet-aws/issues/866
        return Err(invalid("Disk size must be specified within the launch template."));
    }
    if input.has("remoteAccess") {
        // https://github.com/terraform-aws-modules/terraform-aws-eks/issues/2219
        return Err(invalid("Remote access configuration cannot be specified with a launch template."));
    }
    Ok(())
}

/// A launch template is named by one of its two names; the words are those that Terraform's provider tells of (`node_group.go`).
fn one_name(spec: Input<'_>) -> Result<(), Fault> {
    match spec.has("id") && spec.has("name") {
        true => Err(invalid("Either provide launch template ID or launch template name in the request.")),
        false => Ok(()),
    }
}

fn no_warm_pool(input: Input<'_>) -> Result<(), Fault> {
    match input.inner("warmPoolConfig").flag("enabled")?.unwrap_or(false) {
        true => Err(invalid("warmPoolConfig is not valid: the simulated cloud has no warm pools.")),
        false => Ok(()),
    }
}

/// An update's configuration, with the number that it was where another one says none.
fn with_number(config: &Value, known: &Value) -> Value {
    let mut config = config.clone();
    let numbers = ["maxUnavailable", "maxUnavailablePercentage"];
    if numbers.iter().all(|member| !Input(&config).has(member)) {
        for member in numbers {
            if let Some(number) = known.get(member) {
                config[member] = number.clone();
            }
        }
    }
    config
}

fn in_use(group: &NodeGroup, update: &str) -> Fault {
    Fault::new(409, "ResourceInUseException", format!("Nodegroup cannot be updated as it is currently not in Active State (update {update} is in progress)")).with("nodegroupName", group.name.as_str())
}

fn refused(group: &NodeGroup, refusal: Refusal) -> Fault {
    match refusal {
        Refusal::Failed { code: 409, message } => {
            Fault::new(409, "ResourceInUseException", &*message).with("nodegroupName", group.name.as_str())
        }
        Refusal::Gone { message } => {
            Fault::new(404, "ResourceNotFoundException", &*message).with("nodegroupName", group.name.as_str())
        }
        other @ (Refusal::Budget { .. }
        | Refusal::Conflict { .. }
        | Refusal::Denied { .. }
        | Refusal::Mismatch { .. }
        | Refusal::Late
        | Refusal::Failed { .. }) => invalid(other.to_string()),
    }
}

fn size_of(input: Input<'_>, default: GroupSize) -> Result<GroupSize, Fault> {
    let read = |name: &str, default: u32| {
        Ok::<_, Fault>(input.count(name).map_err(|fault| invalid(fault.message))?.unwrap_or(default))
    };
    let size = GroupSize {
        min: read("minSize", default.min)?,
        max: read("maxSize", default.max)?,
        desired: read("desiredSize", default.desired)?,
    };
    if size.max == 0 {
        return Err(invalid("maxSize must be at least 1"));
    }
    if size.min > size.max {
        return Err(invalid(format!(
            "Minimum capacity {} can't be greater than maximum size {}",
            size.min, size.max
        )));
    }
    if size.desired > size.max {
        return Err(invalid(format!(
            "desired capacity {} can't be greater than max size {}",
            size.desired, size.max
        )));
    }
    if size.desired < size.min {
        return Err(invalid(format!(
            "Minimum capacity {} can't be greater than desired size {}",
            size.min, size.desired
        )));
    }
    Ok(size)
}

fn labels_of(value: &Value) -> Result<BTreeMap<String, String>, Fault> {
    let all = value.as_object().cloned().unwrap_or_default();
    let forbidden = all.keys().find(|key| {
        ["kubernetes.io/", "k8s.io/", "eks.amazonaws.com/"].iter().any(|part| key.starts_with(part))
    });
    match forbidden {
        Some(key) => Err(invalid(format!(
            "Label cannot contain reserved prefixes [kubernetes.io/, k8s.io/, eks.amazonaws.com/]: {key}"
        ))),
        None => Ok(all
            .into_iter()
            .map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned()))
            .collect()),
    }
}

/// Labels of a group that the region began with: those that no component of the cluster writes.
fn shown_labels(group: &NodeGroup) -> BTreeMap<String, String> {
    let reserved = ["kubernetes.io", "k8s.io", "eks.amazonaws.com", "k8s.aws"];
    let labels = group.profile().labels.iter().filter(|(key, _)| {
        !reserved.iter().any(|part| {
            key.split('/').next().is_some_and(|prefix| prefix.ends_with(part) && key.contains('/'))
        })
    });
    labels.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// How many nodes an update replaces at once, by its configuration.
fn unavailable(config: &Value, desired: u32) -> Result<u32, Fault> {
    let number = Input(config).count("maxUnavailable")?;
    let percent = Input(config).count("maxUnavailablePercentage")?;
    let nodes = match (number, percent) {
        (Some(_), Some(_)) => {
            return Err(invalid("maxUnavailable and maxUnavailablePercentage cannot both be specified"));
        }
        (Some(number), None) => number,
        (None, Some(percent)) => desired.saturating_mul(percent.min(100)).div_euclid(100).max(1),
        (None, None) => 1,
    };
    match (1..=100).contains(&nodes) {
        true => Ok(nodes),
        false => Err(invalid("maxUnavailable must be from 1 to 100")),
    }
}

fn shown_taints(group: &NodeGroup) -> Vec<Value> {
    let effect = |effect: TaintEffect| match effect {
        TaintEffect::NoSchedule => "NO_SCHEDULE",
        TaintEffect::NoExecute => "NO_EXECUTE",
        TaintEffect::PreferNoSchedule => "PREFER_NO_SCHEDULE",
    };
    group
        .profile()
        .taints
        .iter()
        .map(|taint| json!({"key": &*taint.key, "value": &*taint.value, "effect": effect(taint.effect)}))
        .collect()
}
