//! The calls of EventBridge.

use std::collections::BTreeMap;

use replank_model::time::Time;
use serde_json::{Value, json};

use super::own::Account;
use super::pattern;
use super::rules::Rule;
use super::unknown::unknown;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::service::Service;
use crate::text::uuid;

impl Account {
    pub(crate) fn events(&mut self, now: Time, action: &str, input: Input<'_>) -> Reply {
        let bus = input.text("EventBusName").unwrap_or("default");
        if bus != "default" && !bus.ends_with("event-bus/default") {
            return Err(Fault::bad("ResourceNotFoundException", format!("Event bus {bus} does not exist.")));
        }
        match action {
            "PutRule" => self.put_rule(input),
            "DescribeRule" => {
                let name = input.text("Name").unwrap_or_default();
                let rule = self.rule(name)?;
                Ok(self.shown_rule(name, rule))
            }
            "ListRules" => {
                let prefix = input.text("NamePrefix").unwrap_or_default();
                let all = self.rules.by_name.iter().filter(|(name, _)| name.starts_with(prefix));
                let all = all.map(|(name, rule)| (name.clone(), self.shown_rule(name, rule))).collect();
                listed("Rules", all, input)
            }
            "DeleteRule" => {
                let name = input.text("Name").unwrap_or_default();
                if self.rules.by_name.get(name).is_some_and(|rule| !rule.targets.is_empty()) {
                    return Err(Fault::bad(
                        "ValidationException",
                        "Rule can't be deleted since it has targets.",
                    ));
                }
                self.rules.by_name.remove(name);
                Ok(Value::Null)
            }
            "EnableRule" | "DisableRule" => {
                let rule = self.rule_mut(input.text("Name").unwrap_or_default())?;
                rule.is_enabled = action == "EnableRule";
                Ok(Value::Null)
            }
            "PutTargets" => self.put_targets(input),
            "RemoveTargets" => {
                let rule = self.rule_mut(input.text("Rule").unwrap_or_default())?;
                for id in input.texts("Ids") {
                    rule.targets.remove(&id);
                }
                Ok(json!({"FailedEntryCount": 0, "FailedEntries": []}))
            }
            "ListTargetsByRule" => {
                let rule = self.rule(input.text("Rule").unwrap_or_default())?;
                listed(
                    "Targets",
                    rule.targets.iter().map(|(id, target)| (id.clone(), target.clone())).collect(),
                    input,
                )
            }
            "ListRuleNamesByTarget" => {
                let arn = input.text("TargetArn").unwrap_or_default();
                let leads =
                    |rule: &Rule| rule.targets.values().any(|target| target["Arn"].as_str() == Some(arn));
                let all = self.rules.by_name.iter().filter(|(_, rule)| leads(rule));
                listed("RuleNames", all.map(|(name, _)| (name.clone(), json!(name))).collect(), input)
            }
            "PutEvents" => self.put_events(now, input),
            "TestEventPattern" => {
                let parsed = |name: &str| {
                    serde_json::from_str::<Value>(input.text(name).unwrap_or_default()).map_err(|error| {
                        Fault::bad(
                            "InvalidEventPatternException",
                            format!("{name} is not valid. Reason: {error}"),
                        )
                    })
                };
                Ok(json!({"Result": pattern::matches(&parsed("EventPattern")?, &parsed("Event")?)}))
            }
            "ListEventBuses" | "DescribeEventBus" => {
                let bus = json!({"Name": "default", "Arn": self.names.arn("events", "event-bus/default")});
                Ok(if action == "DescribeEventBus" { bus } else { json!({"EventBuses": [bus]}) })
            }
            "ListTagsForResource" => {
                let rule = self.tagged_rule(input)?;
                let tags: Vec<Value> =
                    rule.tags.iter().map(|(key, value)| json!({"Key": key, "Value": value})).collect();
                Ok(json!({"Tags": tags}))
            }
            "TagResource" => {
                let tags = tags_of(input)?;
                self.tagged_rule(input)?.tags.extend(tags);
                Ok(json!({}))
            }
            "UntagResource" => {
                let keys = input.texts("TagKeys");
                self.tagged_rule(input)?.tags.retain(|key, _| !keys.contains(key));
                Ok(json!({}))
            }
            _ => Err(unknown(Service::Events, action)),
        }
    }

    fn rule(&self, name: &str) -> Result<&Rule, Fault> {
        self.rules.by_name.get(name).ok_or_else(|| no_rule(name))
    }

    fn rule_mut(&mut self, name: &str) -> Result<&mut Rule, Fault> {
        self.rules.by_name.get_mut(name).ok_or_else(|| no_rule(name))
    }

    /// The rule of an ARN.
    fn tagged_rule(&mut self, input: Input<'_>) -> Result<&mut Rule, Fault> {
        let arn = input.text("ResourceARN").unwrap_or_default();
        let name = arn.strip_prefix(&self.names.arn("events", "rule/")).unwrap_or(arn).to_owned();
        self.rule_mut(name.strip_prefix("default/").unwrap_or(&name))
    }

    fn put_rule(&mut self, input: Input<'_>) -> Reply {
        let name = input.text("Name").unwrap_or_default();
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        if name.is_empty() || name.len() > 64 || !name.chars().all(is_name) {
            return Err(Fault::bad(
                "ValidationException",
                format!(
                    "1 validation error detected: Value '{name}' at 'name' failed to satisfy constraint: Member must satisfy regular expression pattern: [\\.\\-_A-Za-z0-9]+"
                ),
            ));
        }
        let text = |member: &str| input.text(member).map(str::to_owned);
        let (pattern, schedule) = (text("EventPattern"), text("ScheduleExpression"));
        if pattern.is_none() && schedule.is_none() {
            return Err(Fault::bad(
                "ValidationException",
                "Parameter(s) EventPattern or ScheduleExpression must be specified.",
            ));
        }
        if schedule.is_some() {
            return Err(Fault::bad(
                "ValidationException",
                "Parameter ScheduleExpression is not valid: the simulated cloud has rules with patterns only.",
            ));
        }
        if let Some(text) = &pattern {
            let parsed: Result<Value, _> = serde_json::from_str(text);
            let parsed = parsed.map_err(|error| {
                Fault::bad(
                    "InvalidEventPatternException",
                    format!("Event pattern is not valid. Reason: {error}"),
                )
            })?;
            pattern::check(&parsed).map_err(|why| {
                Fault::bad(
                    "InvalidEventPatternException",
                    format!("Event pattern is not valid. Reason: {why}"),
                )
            })?;
        }
        let known = self.rules.by_name.get(name);
        let targets = known.map(|rule| rule.targets.clone()).unwrap_or_default();
        // A rule that is there keeps its tags ("PutRule": tags of an update are ignored).
        let tags = known.map_or_else(|| tags_of(input), |rule| Ok(rule.tags.clone()))?;
        let is_enabled = input.text("State") != Some("DISABLED");
        let rule = Rule {
            pattern,
            schedule,
            description: text("Description"),
            role: text("RoleArn"),
            is_enabled,
            targets,
            tags,
        };
        self.rules.by_name.insert(name.to_owned(), rule);
        Ok(json!({"RuleArn": self.names.arn("events", &format!("rule/{name}"))}))
    }

    fn put_targets(&mut self, input: Input<'_>) -> Reply {
        let own = self.names.arn("sqs", "");
        let name = input.text("Rule").unwrap_or_default().to_owned();
        let rule = self.rule_mut(&name)?;
        let mut failed = Vec::new();
        for target in input.inputs("Targets") {
            let (id, arn) = (target.text("Id").unwrap_or_default(), target.text("Arn").unwrap_or_default());
            if !arn.starts_with(&own) {
                failed.push(json!({"TargetId": id, "ErrorCode": "ValidationException", "ErrorMessage": format!("{arn} is no queue of this account and region: the simulated cloud has no other targets.")}));
            } else if target.has("InputTransformer") {
                failed.push(json!({"TargetId": id, "ErrorCode": "ValidationException", "ErrorMessage": "The simulated cloud has no input transformers."}));
            } else {
                rule.targets.insert(id.to_owned(), target.0.clone());
            }
        }
        if rule.targets.len() > 5 {
            return Err(Fault::bad(
                "LimitExceededException",
                "The requested resource exceeds the maximum number allowed.",
            ));
        }
        Ok(json!({"FailedEntryCount": failed.len(), "FailedEntries": failed}))
    }

    fn put_events(&mut self, now: Time, input: Input<'_>) -> Reply {
        let entries: Vec<Input<'_>> = input.inputs("Entries").collect();
        if entries.is_empty() || entries.len() > 10 {
            return Err(Fault::bad(
                "ValidationException",
                format!(
                    "1 validation error detected: Value at 'entries' failed to satisfy constraint: Member must have length between 1 and 10, and has {}",
                    entries.len()
                ),
            ));
        }
        let (mut answers, mut failed) = (Vec::new(), 0);
        for entry in entries {
            match self.event_of(now, entry) {
                Ok(event) => {
                    answers.push(json!({"EventId": event["id"]}));
                    self.deliver(&event, now);
                }
                Err((code, message)) => {
                    failed += 1;
                    answers.push(json!({"ErrorCode": code, "ErrorMessage": message}));
                }
            }
        }
        Ok(json!({"FailedEntryCount": failed, "Entries": answers}))
    }

    /// An event as it is delivered. AWS keeps sources that begin with `aws.` to itself; here they are taken, so that a warning can be played.
    fn event_of(&mut self, now: Time, entry: Input<'_>) -> Result<Value, (&'static str, String)> {
        let missing = |member: &str| {
            (
                "InvalidArgument",
                format!("Parameter {member} is not valid. Reason: {member} is a required argument."),
            )
        };
        let source = entry.text("Source").ok_or_else(|| missing("Source"))?;
        let kind = entry.text("DetailType").ok_or_else(|| missing("DetailType"))?;
        let detail = entry.text("Detail").ok_or_else(|| missing("Detail"))?;
        let detail: Value = serde_json::from_str(detail)
            .ok()
            .filter(Value::is_object)
            .ok_or(("MalformedDetail", "Detail is malformed.".to_owned()))?;
        // When it happened, as the sender says: seconds since 1970.
        let time = entry
            .get("Time")
            .and_then(Value::as_f64)
            .map_or(now, |seconds| Time::from_millis((seconds * 1000.0) as i64));
        self.rules.count += 1;
        let id = uuid(&format!("event {} {}", self.rules.count, now.as_millis()));
        Ok(
            json!({"version": "0", "id": id, "detail-type": kind, "source": source, "account": self.names.account(),
            "time": time.floor_seconds().to_string(), "region": self.names.region(), "resources": entry.texts("Resources"), "detail": detail}),
        )
    }

    fn shown_rule(&self, name: &str, rule: &Rule) -> Value {
        let mut shown = json!({"Name": name, "Arn": self.names.arn("events", &format!("rule/{name}")),
            "State": if rule.is_enabled { "ENABLED" } else { "DISABLED" }, "EventBusName": "default"});
        for (member, value) in [
            ("EventPattern", &rule.pattern),
            ("ScheduleExpression", &rule.schedule),
            ("Description", &rule.description),
            ("RoleArn", &rule.role),
        ] {
            if let Some(value) = value {
                shown[member] = json!(value);
            }
        }
        shown
    }
}

fn tags_of(input: Input<'_>) -> Result<BTreeMap<String, String>, Fault> {
    let own = |tag: Input<'_>| {
        let (key, value) = (tag.text("Key").unwrap_or_default(), tag.text("Value").unwrap_or_default());
        if key.is_empty() || key.starts_with("aws:") {
            return Err(Fault::bad("ValidationException", format!("The tag key '{key}' is not valid.")));
        }
        Ok((key.to_owned(), value.to_owned()))
    };
    input.inputs("Tags").map(own).collect()
}

fn no_rule(name: &str) -> Fault {
    Fault::bad("ResourceNotFoundException", format!("Rule {name} does not exist on EventBus default."))
}

fn listed(member: &str, all: Vec<(String, Value)>, input: Input<'_>) -> Reply {
    let size = usize::try_from(input.number("Limit")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
    let (found, next) =
        page(all, size, input.text("NextToken"), &Fault::bad("ValidationException", "Invalid next token."))?;
    let mut answer = json!({member: found});
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    Ok(answer)
}
