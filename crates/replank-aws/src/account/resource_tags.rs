//! Tags of EC2's resources: those that they come with, and what somebody has changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::filter::{Known, Pages, listed};
use super::network::interface_id;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;

const TAGS: Known =
    &[("key", "key"), ("resource-id", "resourceId"), ("resource-type", "resourceType"), ("value", "value")];
/// Tags of a resource at the most, those of AWS' own aside.
const TAGS_MAX: usize = 50;

impl Account {
    /// The tags of a resource that comes with some.
    pub(crate) fn tagged(&self, id: &str, own: Vec<(String, String)>) -> Value {
        let mut all: BTreeMap<String, String> = own.into_iter().collect();
        for (key, value) in self.resource_tags.get(id).into_iter().flatten() {
            match value {
                Some(value) => all.insert(key.clone(), value.clone()),
                None => all.remove(key),
            };
        }
        Value::Array(all.iter().map(|(key, value)| json!({"key": key, "value": value})).collect())
    }

    /// Everything that has tags: its id, its kind, its tags.
    fn resources(&self, region: &dyn Region) -> Vec<(String, &'static str, Value)> {
        let all = json!({});
        let of = |reply: Reply, member: &str| {
            let mut reply = reply.unwrap_or_default();
            reply[member].as_array_mut().map(std::mem::take).unwrap_or_default()
        };
        let text = |one: &Value, id: &str| one[id].as_str().unwrap_or_default().to_owned();
        let mut found = Vec::new();
        for (reply, member, id, kind) in [
            (self.describe_vpcs(Input(&all)), "vpcSet", "vpcId", "vpc"),
            (self.describe_subnets(region, Input(&all)), "subnetSet", "subnetId", "subnet"),
            (self.describe_security_groups(Input(&all)), "securityGroupInfo", "groupId", "security-group"),
            (self.describe_route_tables(region, Input(&all)), "routeTableSet", "routeTableId", "route-table"),
        ] {
            let shown = of(reply, member);
            found.extend(shown.iter().map(|one| (text(one, id), kind, one["tagSet"].clone())));
        }
        for template in self.templates.by_id.values() {
            let own = template.tags.clone().into_iter().collect();
            found.push((template.id.clone(), "launch-template", self.tagged(&template.id, own)));
        }
        for instance in self.seen_instances(region) {
            let shown = self.shown_instance(region, &instance);
            found.push((instance.id.to_string(), "instance", shown["tagSet"].clone()));
            if instance.state.is_alive() {
                let id = interface_id(instance.id.as_str());
                let tags = self.tagged(&id, Vec::new());
                found.push((id, "network-interface", tags));
            }
        }
        found
    }

    pub(crate) fn describe_resource_tags(&self, region: &dyn Region, input: Input<'_>) -> Reply {
        let mut all = Vec::new();
        for (id, kind, tags) in self.resources(region) {
            for tag in tags.as_array().into_iter().flatten() {
                let key = tag["key"].as_str().unwrap_or_default();
                // The tag itself is there for filters such as `tag:KEY`.
                let shown = json!({"key": key, "value": tag["value"], "resourceId": id, "resourceType": kind, "tagSet": [tag]});
                all.push((format!("{id}/{key}"), shown));
            }
        }
        let pages = Pages { min: 5, max: 1000, default: 1000 };
        let mut found = listed(input, "tagSet", all, TAGS, pages)?;
        for one in found["tagSet"].as_array_mut().into_iter().flatten() {
            if let Some(members) = one.as_object_mut() {
                members.remove("tagSet");
            }
        }
        Ok(found)
    }

    /// The resources that a call names, which have to be there.
    fn named_resources(&self, region: &dyn Region, input: Input<'_>) -> Result<Vec<String>, Fault> {
        let ids = input.texts("ResourceId");
        if ids.is_empty() {
            return Err(Fault::bad(
                "MissingParameter",
                "The request must contain the parameter resourceIdSet",
            ));
        }
        let known = self.resources(region);
        if let Some(wrong) = ids.iter().find(|id| !known.iter().any(|(known, ..)| known == *id)) {
            return Err(match wrong.starts_with("i-") {
                true => super::ec2::missing(wrong),
                false => Fault::bad("InvalidID", format!("The ID '{wrong}' is not valid")),
            });
        }
        Ok(ids)
    }

    pub(crate) fn create_resource_tags(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = self.named_resources(region, input)?;
        let tags: Vec<Input<'_>> = input.inputs("Tag").collect();
        if tags.is_empty() {
            return Err(Fault::bad("MissingParameter", "The request must contain the parameter tagSet"));
        }
        for tag in &tags {
            let (key, value) = (tag.text("Key").unwrap_or_default(), tag.text("Value").unwrap_or_default());
            if key.starts_with("aws:") {
                return Err(Fault::bad(
                    "InvalidParameterValue",
                    "Tag keys starting with 'aws:' are reserved for internal use",
                ));
            }
            if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
                return Err(Fault::bad(
                    "InvalidParameterValue",
                    "The key of a tag has 1 to 128 characters, its value up to 256.",
                ));
            }
        }
        for id in &ids {
            let own = self.resource_tags.get(id).cloned().unwrap_or_default();
            let mut changed = own;
            for tag in &tags {
                let value = tag.text("Value").unwrap_or_default().to_owned();
                changed.insert(tag.text("Key").unwrap_or_default().to_owned(), Some(value));
            }
            if changed.values().flatten().count() > TAGS_MAX {
                return Err(Fault::bad(
                    "TagLimitExceeded",
                    format!("The maximum number of tags for a resource has been reached: {TAGS_MAX}."),
                ));
            }
            self.resource_tags.insert(id.clone(), changed);
        }
        Ok(json!({"return": true}))
    }

    /// Tags that are named go, with a value only where they have it; all but AWS' own go where none is named.
    pub(crate) fn delete_resource_tags(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let ids = self.named_resources(region, input)?;
        let asked: Vec<Input<'_>> = input.inputs("Tag").collect();
        let known = self.resources(region);
        for id in ids {
            let tags = known.iter().find(|(known, ..)| *known == id).map(|(_, _, tags)| tags);
            for tag in tags.and_then(Value::as_array).into_iter().flatten() {
                let key = tag["key"].as_str().unwrap_or_default();
                let is_asked = asked.iter().any(|one| {
                    one.text("Key") == Some(key)
                        && one.text("Value").is_none_or(|value| value == tag["value"])
                });
                if key.starts_with("aws:") || !(is_asked || asked.is_empty()) {
                    continue;
                }
                self.resource_tags.entry(id.clone()).or_default().insert(key.to_owned(), None);
            }
        }
        Ok(json!({"return": true}))
    }
}
