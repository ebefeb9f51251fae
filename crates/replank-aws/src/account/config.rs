//! UpdateClusterConfig: what of the cluster's configuration is kept and shown. Nothing of the simulated cluster goes by it.

use serde_json::{Value, json};

use super::eks::invalid;
use super::kept::Update;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;

/// Members of the request that can be changed: the kind of update, and the member's parameter.
const KNOWN: &[(&str, &str, &str)] = &[
    ("accessConfig", "AccessConfigUpdate", "AuthenticationMode"),
    ("deletionProtection", "DeletionProtectionUpdate", "DeletionProtection"),
    ("logging", "LoggingUpdate", "ClusterLogging"),
    ("resourcesVpcConfig", "EndpointAccessUpdate", ""),
    ("upgradePolicy", "UpgradePolicyUpdate", "UpgradePolicy"),
    ("zonalShiftConfig", "ZonalShiftConfigUpdate", "ZonalShiftConfig"),
];
/// Members of the request that are none of these.
const OTHERS: &[&str] = &["name", "clusterName", "clientRequestToken"];
/// What of the VPC's configuration can be changed, and its parameters. A cluster stays in the subnets that it has.
const ENDPOINT: &[(&str, &str)] = &[
    ("endpointPrivateAccess", "EndpointPrivateAccess"),
    ("endpointPublicAccess", "EndpointPublicAccess"),
    ("publicAccessCidrs", "PublicAccessCidrs"),
];

impl Account {
    pub(crate) fn update_cluster_config(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let given: Vec<&String> =
            input.0.as_object().into_iter().flat_map(|members| members.keys()).collect();
        let mut asked = given.iter().filter(|name| !OTHERS.contains(&name.as_str()) && input.has(name));
        let (Some(member), None) = (asked.next(), asked.next()) else {
            return Err(invalid("Exactly one kind of configuration has to be updated at a time"));
        };
        let found = KNOWN.iter().find(|(name, ..)| name == member);
        let (_, kind, param) = found.ok_or_else(|| {
            invalid(format!("{member} cannot be updated: the simulated cloud does not have it"))
        })?;
        let is_updating = |update: &Update| {
            update.nodegroup.is_none() && update.addon.is_none() && update.status == "InProgress"
        };
        if self.eks.updates.iter().any(is_updating) {
            return Err(Fault::new(409, "ResourceInUseException", "Cluster has an update in progress")
                .with("clusterName", self.names.cluster()));
        }
        let known = self.shown_cluster(region)[member.as_str()].clone();
        let wanted = input.get(member).cloned().unwrap_or_default();
        let mut changed = known.clone();
        let mut params = Vec::new();
        match member.as_str() {
            "resourcesVpcConfig" => {
                for (name, value) in wanted.as_object().into_iter().flatten() {
                    let (_, param) = ENDPOINT.iter().find(|(known, _)| known == name).ok_or_else(|| {
                        invalid(format!(
                            "{name} cannot be updated: the simulated cluster stays in its network"
                        ))
                    })?;
                    changed[name] = value.clone();
                    params.push((*param, told(value)));
                }
                if changed["endpointPublicAccess"] == false && changed["endpointPrivateAccess"] == false {
                    return Err(invalid("Private and public endpoint access cannot be false"));
                }
            }
            "accessConfig" => {
                let mode = wanted["authenticationMode"].as_str().unwrap_or_default();
                let modes = ["CONFIG_MAP", "API_AND_CONFIG_MAP", "API"];
                let at = |mode: &str| modes.iter().position(|one| *one == mode);
                let to = at(mode)
                    .ok_or_else(|| invalid(format!("The authentication mode {mode} is not known")))?;
                if at(known["authenticationMode"].as_str().unwrap_or_default()).is_some_and(|from| to < from)
                {
                    return Err(invalid(format!(
                        "Unsupported authentication mode update from {} to {mode}",
                        told(&known["authenticationMode"])
                    )));
                }
                changed["authenticationMode"] = json!(mode);
                params.push((*param, mode.to_owned()));
            }
            "logging" => {
                changed = json!({"clusterLogging": logged(&known, &wanted)?});
                params.push((*param, changed.to_string()));
            }
            "upgradePolicy" => {
                let support = wanted["supportType"].as_str().unwrap_or_default();
                if !["STANDARD", "EXTENDED"].contains(&support) {
                    return Err(invalid(format!("The support type {support} is not known")));
                }
                changed = wanted;
                params.push((*param, changed.to_string()));
            }
            _ => {
                changed = wanted;
                params.push((*param, told(&changed)));
            }
        }
        if changed == known {
            return Err(invalid("Cluster is already at the desired configuration"));
        }
        let now = region.now();
        let params: Vec<(&str, &str)> = params.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let update = self.new_update(kind, &params, now);
        let update = Update { ends: Some(now + self.names.setting.takes.addon), ..update };
        self.eks.config.insert(member.to_string(), changed);
        self.eks.updates.push(update.clone());
        Ok(json!({"update": super::updates::shown(&update)}))
    }
}

fn told(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Which logs are written, where some are switched on or off: those that are, and those that are not.
fn logged(known: &Value, wanted: &Value) -> Result<Value, Fault> {
    let all = ["api", "audit", "authenticator", "controllerManager", "scheduler"];
    let mut enabled: Vec<&str> = Vec::new();
    for setup in [known, wanted] {
        for one in setup["clusterLogging"].as_array().into_iter().flatten() {
            for kind in one["types"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                let kind = all
                    .iter()
                    .find(|known| **known == kind)
                    .ok_or_else(|| invalid(format!("Logs of the type {kind} are not known")))?;
                enabled.retain(|known| known != kind);
                if one["enabled"] == true {
                    enabled.push(kind);
                }
            }
        }
    }
    let of = |is_on: bool| all.into_iter().filter(|kind| enabled.contains(kind) == is_on).collect::<Vec<_>>();
    let setups = [true, false].map(|is_on| (of(is_on), is_on));
    let shown = setups.into_iter().filter(|(types, _)| !types.is_empty());
    Ok(shown.map(|(types, is_on)| json!({"types": types, "enabled": is_on})).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_switched_one_by_one() {
        let known = json!({"clusterLogging": [{"types": ["api", "audit", "authenticator", "controllerManager", "scheduler"], "enabled": false}]});
        let on = json!({"clusterLogging": [{"types": ["audit"], "enabled": true}]});
        let shown = logged(&known, &on).expect("they are known");
        assert_eq!(
            shown,
            json!([{"types": ["audit"], "enabled": true}, {"types": ["api", "authenticator", "controllerManager", "scheduler"], "enabled": false}])
        );
        let off = json!({"clusterLogging": [{"types": ["audit"], "enabled": false}]});
        assert_eq!(
            logged(&json!({"clusterLogging": shown}), &off).expect("they are known"),
            known["clusterLogging"]
        );
        assert!(logged(&known, &json!({"clusterLogging": [{"types": ["x"], "enabled": true}]})).is_err());
    }
}
