//! EventBridge: how events reach queues.

use serde_json::{Value, json};

use super::own::Account;
use super::pattern;
use super::rules::token_of;
use crate::region::Region;
use crate::text::uuid;

impl Account {
    /// Takes in what the region has told, with what it does not say of itself: account, region, id, resources.
    pub(crate) fn event_of_region(&mut self, region: &dyn Region, body: &str) {
        let Ok(mut event) = serde_json::from_str::<Value>(body) else { return };
        let Some(detail) = event.get("detail").cloned() else { return };
        let mut resources = Vec::new();
        if let Some(group) = detail["AutoScalingGroupName"].as_str().map(str::to_owned) {
            // The region knows its groups by their own names; Auto Scaling by that of the Auto Scaling group.
            let name = region
                .groups()
                .iter()
                .find(|known| known.name == *group)
                .map_or(group, |known| known.auto_scaling_group.to_string());
            event["detail"]["AutoScalingGroupName"] = json!(name);
            resources.push(self.names.group_arn(&name));
            if let Some(hook) = detail["LifecycleHookName"].as_str() {
                let metadata = self
                    .groups
                    .get(&name)
                    .and_then(|extra| extra.hooks.get(hook))
                    .and_then(|hook| hook.metadata.clone());
                if let Some(metadata) = metadata {
                    event["detail"]["NotificationMetadata"] = json!(metadata);
                }
                let instance = detail["EC2InstanceId"].as_str().unwrap_or_default();
                event["detail"]["LifecycleActionToken"] = json!(token_of(hook, instance));
                self.notify_hook_target(&name, hook, &event, region.now());
            }
            if let Some(instance) = detail["EC2InstanceId"].as_str()
                && detail.get("LifecycleHookName").is_none()
            {
                resources.push(self.names.arn("ec2", &format!("instance/{instance}")));
            }
        }
        if let Some(instance) = detail["instance-id"].as_str() {
            let zone = region.instances().iter().find(|one| one.id == *instance).map(|one| one.zone.clone());
            let is_spot = event["detail-type"].as_str().is_some_and(|kind| kind.contains("Spot"));
            resources.push(match zone.filter(|_| is_spot) {
                // EC2 names the zone, and no account, in warnings about spot instances.
                Some(zone) => format!("arn:aws:ec2:{zone}:instance/{instance}"),
                None => self.names.arn("ec2", &format!("instance/{instance}")),
            });
        }
        if event["source"] == json!("aws.health") {
            let entities = detail["affectedEntities"].as_array().cloned().unwrap_or_default();
            resources.extend(entities.iter().filter_map(|entity| {
                entity["entityValue"]
                    .as_str()
                    .map(|value| value.rsplit('/').next().unwrap_or(value).to_owned())
            }));
        }
        self.rules.count += 1;
        event["id"] = json!(uuid(&format!("event {} {}", self.rules.count, region.now().as_millis())));
        event["account"] = json!(self.names.account());
        event["region"] = json!(self.names.region());
        event["resources"] = json!(resources);
        self.deliver(&event, region.now());
    }

    /// Leads an event to the targets of all rules that it matches.
    pub(crate) fn deliver(&mut self, event: &Value, now: replank_model::time::Time) {
        let mut sent = Vec::new();
        for rule in self.rules.by_name.values().filter(|rule| rule.is_enabled) {
            let pattern = rule.pattern.as_deref().and_then(|text| serde_json::from_str::<Value>(text).ok());
            if !pattern.is_some_and(|pattern| pattern::matches(&pattern, event)) {
                continue;
            }
            for target in rule.targets.values() {
                let name = target["Arn"].as_str().unwrap_or_default().rsplit(':').next().unwrap_or_default();
                sent.push((name.to_owned(), body_for(target, event)));
            }
        }
        for (name, body) in sent {
            // A target that is not there any more gets nothing, as in AWS without a dead-letter queue of the rule.
            self.queues.send(&name, body, Value::Null, None, (now, &mut self.troubles.deliveries));
        }
    }

    /// A hook can send to a queue itself: without an envelope.
    fn notify_hook_target(&mut self, group: &str, hook: &str, event: &Value, now: replank_model::time::Time) {
        let target = self
            .groups
            .get(group)
            .and_then(|extra| extra.hooks.get(hook))
            .and_then(|hook| hook.target.clone());
        let Some(target) = target.filter(|target| target.contains(":sqs:")) else { return };
        let mut body = event["detail"].clone();
        body["AccountId"] = json!(self.names.account());
        body["RequestId"] = json!(uuid(&format!("{hook} {}", event["detail"]["EC2InstanceId"])));
        body["Service"] = json!("AWS Auto Scaling");
        body["Time"] = json!(crate::text::moment(now));
        let name = target.rsplit(':').next().unwrap_or_default();
        self.queues.send(name, body.to_string(), Value::Null, None, (now, &mut self.troubles.deliveries));
    }
}

/// What a target gets of an event.
fn body_for(target: &Value, event: &Value) -> String {
    if let Some(input) = target["Input"].as_str() {
        return input.to_owned();
    }
    if let Some(path) = target["InputPath"].as_str() {
        let pointer = path.trim_start_matches('$').replace('.', "/");
        return event.pointer(&pointer).unwrap_or(&Value::Null).to_string();
    }
    event.to_string()
}
