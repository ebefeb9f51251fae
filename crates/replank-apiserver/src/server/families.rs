//! Families and addresses of a Service, which have to fit each other before any is given (`ValidateServiceClusterIPsRelatedFields`).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde_json::Value;

use super::error::Cause;

const IP: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

/// What is wrong with an address of a field that was once read loosely (`IsValidIPForLegacyField`).
pub(crate) fn address_problems(text: &str) -> Vec<&'static str> {
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        let is_mapped = address.to_ipv4_mapped().is_some();
        return is_mapped.then_some("must not be an IPv4-mapped IPv6 address").into_iter().collect();
    }
    if text.parse::<Ipv4Addr>().is_ok() {
        return Vec::new();
    }
    // Once these zeros were skipped.
    let parts: Vec<&str> = text.split('.').map(|part| part.trim_start_matches('0')).collect();
    let shortened: Vec<&str> = parts.iter().map(|part| if part.is_empty() { "0" } else { *part }).collect();
    let is_loose = !text.split('.').any(str::is_empty) && shortened.join(".").parse::<Ipv4Addr>().is_ok();
    vec![if is_loose { "must not have leading 0s" } else { IP }]
}

/// What is wrong with the families and addresses of a Service's spec.
pub(crate) fn related(spec: &Value) -> Vec<Cause> {
    let mut causes = Vec::new();
    if spec["type"] == "ExternalName" {
        return causes;
    }
    let texts = |name: &str| -> Vec<&str> {
        spec[name].as_array().into_iter().flatten().map(|one| one.as_str().unwrap_or_default()).collect()
    };
    let at = "spec.clusterIPs";
    let (first, all, families) =
        (spec["clusterIP"].as_str().unwrap_or_default(), texts("clusterIPs"), texts("ipFamilies"));
    let shown = Value::from(all.clone()).to_string();
    match (first.is_empty(), all.first()) {
        (false, None) => causes.push(Cause::required(at, "")),
        (false, Some(one)) if *one != first => {
            causes.push(Cause::invalid(at, &shown, "first value must match `clusterIP`"));
        }
        (true, Some(_)) => {
            causes.push(Cause::invalid(at, &shown, "must be empty when `clusterIP` is not specified"));
        }
        (false, Some(_)) | (true, None) => {}
    }
    for (index, family) in families.iter().enumerate() {
        let at = format!("spec.ipFamilies[{index}]");
        if !matches!(*family, "IPv4" | "IPv6") {
            causes.push(Cause::not_supported(at.clone(), family, &["IPv4", "IPv6"]));
        }
        if families[..index].contains(family) {
            causes.push(Cause::duplicate(at, &format!("{family:?}")));
        }
    }
    if let Some(policy) = spec["ipFamilyPolicy"].as_str() {
        const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];
        if !POLICIES.contains(&policy) {
            causes.push(Cause::not_supported("spec.ipFamilyPolicy", policy, &POLICIES));
        }
    }
    let mut has_invalid = false;
    for (index, address) in all.iter().enumerate() {
        if index == 0 && *address == "None" {
            if all.len() > 1 {
                has_invalid = true;
                causes.push(Cause::invalid(at, &shown, "'None' must be the first and only value"));
            }
            continue;
        }
        for why in address_problems(address) {
            has_invalid = true;
            causes.push(Cause::invalid(format!("{at}[{index}]"), &format!("{address:?}"), why));
        }
    }
    if all.len() > 2 {
        causes.push(Cause::invalid(at, &shown, "may only hold up to 2 values"));
    }
    if has_invalid {
        return causes;
    }
    let is_six = |text: &str| matches!(text.parse::<IpAddr>(), Ok(IpAddr::V6(_)));
    if all.len() > 1 {
        let six = all.iter().filter(|one| is_six(one)).count();
        if six == 0 || six == all.len() {
            let why = "may specify no more than one IP for each IP family";
            causes.push(Cause::invalid(at, &shown, why));
        }
    }
    if first != "None" {
        for (index, (address, family)) in all.iter().zip(&families).enumerate() {
            let other = match (*family, is_six(address)) {
                ("IPv4", true) => "IPv4",
                ("IPv6", false) => "IPv6",
                _ => continue,
            };
            let why = format!("expected an {other} value as indicated by `ipFamilies[{index}]`");
            causes.push(Cause::invalid(format!("{at}[{index}]"), &format!("{address:?}"), &why));
        }
    }
    causes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_and_families_fit_each_other() {
        let told = |spec: Value| -> Vec<String> {
            related(&spec).into_iter().map(|cause| cause.field.unwrap_or_default()).collect()
        };
        assert!(told(json!({"type": "ClusterIP", "clusterIP": "None", "clusterIPs": ["None"]})).is_empty());
        assert_eq!(told(json!({"clusterIP": "10.0.0.1"})), ["spec.clusterIPs"]);
        assert_eq!(
            told(json!({"ipFamilies": ["IPv4", "IPv4", "x"]})),
            ["spec.ipFamilies[1]", "spec.ipFamilies[2]"]
        );
        let wrong = json!({"clusterIP": "::1", "clusterIPs": ["::1"], "ipFamilies": ["IPv4"]});
        assert_eq!(told(wrong), ["spec.clusterIPs[0]"]);
        assert_eq!(address_problems("010.1.2.3"), ["must not have leading 0s"]);
        assert_eq!(address_problems("1.2.3"), [IP]);
    }
}
