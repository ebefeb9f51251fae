//! Access entries of EKS: who may come to the cluster, and with which policies. They are kept and shown; the Kubernetes API does not ask them.

use std::collections::BTreeMap;

use replank_model::time::Time;
use serde_json::{Value, json};

use super::eks::invalid;
use super::entries::{Entry, KINDS, policy};
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::page::page;
use crate::text::{epoch, uuid};

/// Policies that there are ("Review access policy permissions" in the user guide).
const POLICIES: &[&str] = &[
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
];
impl Account {
    pub(crate) fn access(&mut self, now: Time, action: &str, input: Input<'_>) -> Reply {
        let arn = input.text("principalArn").unwrap_or_default().to_owned();
        match action {
            "ListAccessPolicies" => {
                let all = POLICIES
                    .iter()
                    .map(|name| ((*name).to_owned(), json!({"name": name, "arn": policy(name)})));
                listed("accessPolicies", all.collect(), input)
            }
            "ListAccessEntries" => {
                let wanted = input.text("associatedPolicyArn");
                let is_asked =
                    |entry: &Entry| wanted.is_none_or(|wanted| entry.policies.contains_key(wanted));
                let all = self.eks.access.0.iter().filter(|(_, entry)| is_asked(entry));
                listed("accessEntries", all.map(|(arn, _)| (arn.clone(), json!(arn))).collect(), input)
            }
            "CreateAccessEntry" => self.create_entry(now, &arn, input),
            "DescribeAccessEntry" => Ok(json!({"accessEntry": self.shown_entry(&arn)?})),
            "UpdateAccessEntry" => {
                let entry = self.entry_mut(&arn)?;
                if input.has("kubernetesGroups") {
                    entry.groups = groups(input)?;
                }
                if let Some(name) = input.text("username") {
                    entry.username = name.to_owned();
                }
                entry.modified = Some(now);
                Ok(json!({"accessEntry": self.shown_entry(&arn)?}))
            }
            "DeleteAccessEntry" => {
                self.entry_mut(&arn)?;
                self.eks.access.0.remove(&arn);
                Ok(json!({}))
            }
            "ListAssociatedAccessPolicies" => {
                let entry = self.entry_mut(&arn)?.clone();
                let all = entry
                    .policies
                    .iter()
                    .map(|(own, (scope, at))| (own.clone(), self.shown_policy(own, scope, *at)));
                let mut shown = listed("associatedAccessPolicies", all.collect(), input)?;
                shown["clusterName"] = json!(self.names.cluster());
                shown["principalArn"] = json!(arn);
                Ok(shown)
            }
            "AssociateAccessPolicy" => {
                let own = known_policy(input)?;
                let scope = input.get("accessScope").cloned().unwrap_or_default();
                let kind = scope["type"].as_str().unwrap_or_default();
                if !["cluster", "namespace"].contains(&kind) {
                    return Err(invalid("The access scope has the type cluster or namespace"));
                }
                if (kind == "namespace") != scope["namespaces"].as_array().is_some_and(|all| !all.is_empty())
                {
                    return Err(invalid(
                        "Namespaces are named for the access scope namespace, and for no other",
                    ));
                }
                let entry = self.entry_mut(&arn)?;
                if entry.kind != KINDS[0] {
                    return Err(Fault::bad(
                        "InvalidRequestException",
                        format!(
                            "Access policies cannot be associated with an access entry of type {}",
                            entry.kind
                        ),
                    ));
                }
                entry.policies.insert(own.clone(), (scope.clone(), Some(now)));
                let shown = self.shown_policy(&own, &scope, Some(now));
                Ok(
                    json!({"clusterName": self.names.cluster(), "principalArn": arn, "associatedAccessPolicy": shown}),
                )
            }
            _ => {
                let own = known_policy(input)?;
                let entry = self.entry_mut(&arn)?;
                entry.policies.remove(&own).ok_or_else(|| {
                    missing(&format!("The access policy {own} is not associated with {arn}"))
                })?;
                Ok(json!({}))
            }
        }
    }

    fn create_entry(&mut self, now: Time, arn: &str, input: Input<'_>) -> Reply {
        let kind = input.text("type").unwrap_or(KINDS[0]);
        if !KINDS.contains(&kind) {
            return Err(invalid(format!("The type {kind} of an access entry is not known")));
        }
        let is_role = super::sts::role_of(arn).is_some();
        let is_principal = is_role || (arn.starts_with("arn:aws:iam::") && arn.contains(":user/"));
        if !is_principal {
            return Err(invalid(format!("The specified principalArn is invalid: invalid principal {arn}")));
        }
        if self.eks.access.0.contains_key(arn) {
            return Err(Fault::new(
                409,
                "ResourceInUseException",
                "The specified access entry resource is already in use on this cluster.",
            )
            .with("clusterName", self.names.cluster()));
        }
        // A role's sessions are told apart by their names.
        let role = super::sts::role_of(arn).map(|role| {
            let account = self.names.account();
            format!("arn:aws:sts::{account}:assumed-role/{role}/{{{{SessionName}}}}")
        });
        let own = role.unwrap_or_else(|| arn.to_owned());
        let entry = Entry {
            groups: groups(input)?,
            username: input.text("username").map_or(own, str::to_owned),
            kind: kind.to_owned(),
            created: Some(now),
            modified: Some(now),
            policies: BTreeMap::new(),
        };
        let tags = input.get("tags").and_then(Value::as_object).cloned().unwrap_or_default();
        let tags = tags.into_iter().map(|(key, value)| (key, value.as_str().unwrap_or_default().to_owned()));
        self.eks.tags.insert(self.entry_arn(arn), tags.collect());
        self.eks.access.0.insert(arn.to_owned(), entry);
        Ok(json!({"accessEntry": self.shown_entry(arn)?}))
    }

    fn entry_arn(&self, arn: &str) -> String {
        let kind = if arn.contains(":role/") { "role" } else { "user" };
        let name = arn.rsplit('/').next().unwrap_or_default();
        let (cluster, account) = (self.names.cluster(), self.names.account());
        self.names.arn("eks", &format!("access-entry/{cluster}/{kind}/{account}/{name}/{}", uuid(arn)))
    }

    /// Whether an ARN is that of an access entry.
    pub(crate) fn is_entry(&self, asked: &str) -> bool {
        self.eks.access.0.keys().any(|arn| self.entry_arn(arn) == asked)
    }

    fn entry_mut(&mut self, arn: &str) -> Result<&mut Entry, Fault> {
        self.eks.access.0.get_mut(arn).ok_or_else(|| {
            missing(&format!("The specified principalArn could not be found. You can view your available access entries with 'list-access-entries'. ({arn})"))
        })
    }

    fn shown_entry(&mut self, arn: &str) -> Result<Value, Fault> {
        let entry = self.entry_mut(arn)?.clone();
        let own = self.entry_arn(arn);
        let (created, modified) = (entry.created.or(self.eks.created), entry.modified.or(self.eks.created));
        Ok(
            json!({"clusterName": self.names.cluster(), "principalArn": arn, "kubernetesGroups": entry.groups, "accessEntryArn": own, "username": entry.username,
            "type": entry.kind, "createdAt": created.map(epoch), "modifiedAt": modified.map(epoch), "tags": self.eks.tags.get(&own).cloned().unwrap_or_default()}),
        )
    }

    fn shown_policy(&self, own: &str, scope: &Value, at: Option<Time>) -> Value {
        let at = at.or(self.eks.created).map(epoch);
        json!({"policyArn": own, "accessScope": scope, "associatedAt": at, "modifiedAt": at})
    }
}

fn groups(input: Input<'_>) -> Result<Vec<String>, Fault> {
    let groups = input.texts("kubernetesGroups");
    match groups.iter().find(|group| group.starts_with("system:")) {
        None => Ok(groups),
        Some(group) => Err(invalid(format!(
            "The kubernetes group name {group} is invalid, it cannot start with system:"
        ))),
    }
}

fn known_policy(input: Input<'_>) -> Result<String, Fault> {
    let own = input.text("policyArn").unwrap_or_default();
    let is_known = POLICIES.iter().any(|name| policy(name) == own);
    is_known
        .then(|| own.to_owned())
        .ok_or_else(|| invalid(format!("The policyArn parameter format is not valid: {own}")))
}

fn missing(words: &str) -> Fault {
    Fault::new(404, "ResourceNotFoundException", words)
}

/// A page of EKS.
pub(crate) fn listed(member: &str, all: Vec<(String, Value)>, input: Input<'_>) -> Reply {
    let size = usize::try_from(input.number("maxResults")?.unwrap_or(100).clamp(1, 100)).unwrap_or(100);
    let (found, next) = page(all, size, input.text("nextToken"), &invalid("Invalid nextToken"))?;
    Ok(json!({member: found, "nextToken": next}))
}
