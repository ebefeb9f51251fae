//! Updates of EKS: how they are listed, and how far they are.

use replank_model::object::cloud::{NodeGroup, NodegroupChange, NodegroupUpdate, UpdateStatus};
use replank_model::time::Time;
use serde_json::{Value, json};

use super::kept::Update;
use super::launch::image_of;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{image, minor_of};
use crate::input::Input;
use crate::page::page;
use crate::region::Region;
use crate::text::{epoch, uuid};

/// Updates that are remembered.
const UPDATES_MAX: usize = 500;

impl Account {
    /// An update that begins.
    pub(crate) fn new_update(&mut self, kind: &str, params: &[(&str, &str)], now: Time) -> Update {
        self.eks.count += 1;
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Update {
            id: uuid(&format!("update {} {}", self.eks.count, now.as_millis())),
            kind: kind.to_owned(),
            params: params.iter().map(own).collect(),
            created: now,
            nodegroup: None,
            addon: None,
            ends: None,
            status: "InProgress".to_owned(),
            errors: Vec::new(),
        }
    }

    /// Learns from the region and from the clock how far updates are.
    pub(crate) fn follow_updates(&mut self, region: &mut dyn Region) {
        let now = region.now();
        let is_due =
            |update: &&Update| update.status == "InProgress" && update.ends.is_some_and(|ends| ends <= now);
        let due: Vec<Update> = self.eks.updates.iter().filter(is_due).cloned().collect();
        for one in due {
            let errors = self.ended(region, &one);
            self.touched += 1;
            if let Some(update) = self.eks.updates.iter_mut().find(|update| update.id == one.id) {
                let word = if errors.is_empty() { "Successful" } else { "Failed" };
                update.status = word.to_owned();
                update.errors = errors;
            }
        }
        let groups = region.groups();
        let open = |update: &&mut Update| update.status == "InProgress" && update.ends.is_none();
        for update in self.eks.updates.iter_mut().filter(open) {
            let group = groups.iter().find(|group| update.nodegroup.as_deref() == Some(group.name.as_str()));
            let of_group = group.and_then(|group| group.update.clone()).filter(|one| *one.id == *update.id);
            let Some(one) = of_group else {
                // The group went away meanwhile, or another update has taken this one's place.
                update.status = "Failed".to_owned();
                self.touched += 1;
                continue;
            };
            let status = word(one.status);
            if status != update.status {
                update.status = status.to_owned();
                update.errors = one.errors.iter().map(|error| json!({"errorCode": &*error.code, "errorMessage": &*error.message, "resourceIds": error.resources})).collect();
                self.touched += 1;
            }
        }
        let excess = self.eks.updates.len().saturating_sub(UPDATES_MAX);
        self.eks.updates.drain(..excess);
    }

    /// What follows from the end of an update that does not depend on nodes; the errors, where it fails.
    fn ended(&mut self, region: &mut dyn Region, update: &Update) -> Vec<Value> {
        if update.addon.is_some() {
            return self.updated_addon(region, update);
        }
        if matches!(&*update.kind, "VersionUpdate" | "VersionRollback") {
            let to = update.params.iter().find(|(name, _)| name == "Version").map(|(_, value)| value.clone());
            self.eks.version = to.unwrap_or_else(|| self.eks.version.clone());
        }
        Vec::new()
    }

    /// Updates of what is asked about: of the cluster, of a node group, of an add-on.
    fn updates_of(&mut self, region: &dyn Region, input: Input<'_>) -> Result<Vec<Update>, Fault> {
        let (nodegroup, addon) = (input.text("nodegroupName"), input.text("addonName"));
        if let Some(name) = nodegroup {
            let group = self.nodegroup(region, name)?;
            // An update that the region began with.
            if let Some(one) =
                group.update.as_ref().filter(|one| !self.eks.updates.iter().any(|known| *known.id == *one.id))
            {
                let (kind, params) = params_of(&group, one);
                self.eks.updates.push(Update {
                    id: one.id.to_string(),
                    kind: kind.to_owned(),
                    params,
                    created: one.created,
                    nodegroup: Some(name.to_owned()),
                    addon: None,
                    ends: None,
                    status: word(one.status).to_owned(),
                    errors: one.errors.iter().map(|error| json!({"errorCode": &*error.code, "errorMessage": &*error.message, "resourceIds": error.resources})).collect(),
                });
            }
        }
        let is_of =
            |update: &&Update| update.nodegroup.as_deref() == nodegroup && update.addon.as_deref() == addon;
        Ok(self.eks.updates.iter().filter(is_of).cloned().collect())
    }

    pub(crate) fn list_updates(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let all = self
            .updates_of(region, input)?
            .into_iter()
            .map(|update| (format!("{:020}{}", i64::MAX - update.created.as_millis(), update.id), update.id));
        let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
        let (ids, next) =
            page(all.collect(), size, input.text("nextToken"), &super::eks::invalid("Invalid nextToken"))?;
        Ok(json!({"updateIds": ids, "nextToken": next}))
    }

    pub(crate) fn describe_update(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let id = input.text("updateId").unwrap_or_default();
        let all = self.updates_of(region, input)?;
        let found = all.iter().find(|update| update.id == id);
        let missing = || {
            Fault::new(404, "ResourceNotFoundException", format!("No update found for ID: {id}"))
                .with("clusterName", self.names.cluster())
        };
        Ok(json!({"update": shown(found.ok_or_else(missing)?)}))
    }
}

fn word(status: UpdateStatus) -> &'static str {
    match status {
        UpdateStatus::InProgress => "InProgress",
        UpdateStatus::Failed => "Failed",
        UpdateStatus::Cancelled => "Cancelled",
        UpdateStatus::Successful => "Successful",
    }
}

/// An update, as it is answered.
pub(crate) fn shown(update: &Update) -> Value {
    let params: Vec<Value> =
        update.params.iter().map(|(name, value)| json!({"type": name, "value": value})).collect();
    json!({"id": update.id, "status": update.status, "type": update.kind, "params": params, "createdAt": epoch(update.created), "errors": update.errors})
}

/// What an update of the region changes, in EKS's terms.
fn params_of(group: &NodeGroup, update: &NodegroupUpdate) -> (&'static str, Vec<(String, String)>) {
    match &update.change {
        NodegroupChange::Version { to } => {
            let template = group.templates.get(to);
            let version =
                template.map(|template| minor_of(&template.profile.kubelet_version)).unwrap_or_default();
            let release = template
                .and_then(|template| image(&image_of(template)))
                .map(|image| image.release)
                .unwrap_or_default();
            ("VersionUpdate", vec![("Version".to_owned(), version), ("ReleaseVersion".to_owned(), release)])
        }
        NodegroupChange::Config { to } => (
            "ConfigUpdate",
            [("MinSize", to.min), ("MaxSize", to.max), ("DesiredSize", to.desired)]
                .map(|(kind, value)| (kind.to_owned(), value.to_string()))
                .to_vec(),
        ),
    }
}
