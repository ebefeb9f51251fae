//! Instance types, and machine images.

use serde_json::{Value, json};

use super::members::zones;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{Image, images};
use crate::input::Input;
use crate::page::page;
use crate::region::{InstanceType, Region};

/// The refusal of a token of EC2's pages.
pub(crate) fn bad_token() -> Fault {
    Fault::bad(
        "InvalidParameterValue",
        "Value for parameter NextToken is invalid. Reason: it is none of ours.",
    )
}

pub(crate) fn describe(region: &dyn Region, input: Input<'_>) -> Reply {
    let asked = input.texts("InstanceType");
    let all = region.instance_types();
    if let Some(wrong) = asked.iter().find(|name| !all.iter().any(|one| *one.name == ***name)) {
        return Err(Fault::bad(
            "InvalidInstanceType",
            format!("The following supplied instance types do not exist: [{wrong}]"),
        ));
    }
    let found = all.iter().filter(|one| asked.is_empty() || asked.iter().any(|name| **name == *one.name));
    let shown = found.map(|one| (one.name.to_string(), shown(one))).collect();
    let size = usize::try_from(input.number("MaxResults")?.unwrap_or(100).clamp(5, 100)).unwrap_or(100);
    let (found, next) = page(shown, size, input.text("NextToken"), &bad_token())?;
    Ok(json!({"instanceTypeSet": found, "nextToken": next}))
}

fn shown(one: &InstanceType) -> Value {
    json!({
        "instanceType": &*one.name, "currentGeneration": true, "freeTierEligible": false, "supportedUsageClasses": ["on-demand", "spot"],
        "supportedRootDeviceTypes": ["ebs"], "supportedVirtualizationTypes": ["hvm"], "bareMetal": false, "hypervisor": "nitro",
        "processorInfo": {"supportedArchitectures": [one.arch]},
        "vCpuInfo": {"defaultVCpus": one.vcpu, "defaultCores": (one.vcpu / 2).max(1), "defaultThreadsPerCore": 2},
        "memoryInfo": {"sizeInMiB": one.memory_mib}, "instanceStorageSupported": false,
        "ebsInfo": {"ebsOptimizedSupport": "default", "encryptionSupport": "supported", "nvmeSupport": "required"},
        "burstablePerformanceSupported": one.name.starts_with('t'), "dedicatedHostsSupported": false, "autoRecoverySupported": true,
    })
}

pub(crate) fn offerings(account: &Account, region: &dyn Region, input: Input<'_>) -> Reply {
    let by_zone = input.text("LocationType") == Some("availability-zone");
    let places = if by_zone {
        zones(account, region).iter().map(ToString::to_string).collect()
    } else {
        vec![account.names.region().to_owned()]
    };
    let filters: Vec<Input<'_>> = input.inputs("Filter").collect();
    let mut all = Vec::new();
    for place in places {
        for one in region.instance_types() {
            let is_asked = filters.iter().all(|filter| {
                let wanted = match filter.text("Name") {
                    Some("location") => &*place,
                    _ => &*one.name,
                };
                filter.texts("Value").iter().any(|value| super::pattern::is_like(wanted, value))
            });
            if is_asked {
                let kind = if by_zone { "availability-zone" } else { "region" };
                all.push((
                    format!("{place}/{}", one.name),
                    json!({"instanceType": &*one.name, "locationType": kind, "location": place}),
                ));
            }
        }
    }
    let (found, next) = page(all, 1000, input.text("NextToken"), &bad_token())?;
    Ok(json!({"instanceTypeOfferingSet": found, "nextToken": next}))
}

/// Types that have as many cores and as much memory as is asked for.
pub(crate) fn by_requirements(region: &dyn Region, input: Input<'_>) -> Reply {
    let arch = input.texts("ArchitectureType");
    let wanted = input.inner("InstanceRequirements");
    let range = |name: &str| -> Result<(i64, i64), Fault> {
        let range = wanted.inner(name);
        Ok((range.number("Min")?.unwrap_or(0), range.number("Max")?.unwrap_or(i64::MAX)))
    };
    let (cores, memory) = (range("VCpuCount")?, range("MemoryMiB")?);
    let within = |(low, high): (i64, i64), value: i64| low <= value && value <= high;
    let found = region.instance_types().into_iter().filter(|one| {
        within(cores, one.vcpu)
            && within(memory, one.memory_mib)
            && (arch.is_empty() || arch.iter().any(|name| name == one.arch))
    });
    let shown = found.map(|one| (one.name.to_string(), json!({"instanceType": &*one.name}))).collect();
    let (found, next) = page(shown, 1000, input.text("NextToken"), &bad_token())?;
    Ok(json!({"instanceTypeSet": found, "nextToken": next}))
}

impl Account {
    pub(crate) fn describe_images(&mut self, input: Input<'_>) -> Reply {
        let ids = input.texts("ImageId");
        let filters: Vec<Input<'_>> = input.inputs("Filter").collect();
        if let Some(wrong) = ids.iter().find(|id| crate::image::image(id).is_none()) {
            return Err(Fault::bad(
                "InvalidAMIID.NotFound",
                format!("The image id '[{wrong}]' does not exist"),
            ));
        }
        let found = images().filter(|image| {
            (ids.is_empty() || ids.contains(&image.id))
                && filters.iter().all(|filter| {
                    let values = filter.texts("Value");
                    let is_one = |text: &str| values.iter().any(|value| super::pattern::is_like(text, value));
                    match filter.text("Name").unwrap_or_default() {
                        "name" => is_one(&image.name()),
                        "image-id" => is_one(&image.id),
                        "architecture" => is_one(image.arch()),
                        "state" => is_one("available"),
                        _ => true,
                    }
                })
        });
        let shown: Vec<Value> = found.map(|image| shown_image(&image)).collect();
        Ok(json!({"imagesSet": shown}))
    }
}

fn shown_image(image: &Image) -> Value {
    json!({"imageId": image.id, "imageLocation": format!("amazon/{}", image.name()), "imageState": "available", "imageOwnerId": "602401143452", "isPublic": true,
        "architecture": image.arch(), "imageType": "machine", "name": image.name(), "description": format!("EKS-optimized Kubernetes node {} ({})", image.version, image.release),
        "rootDeviceType": "ebs", "rootDeviceName": "/dev/xvda", "virtualizationType": "hvm", "hypervisor": "xen", "imageOwnerAlias": "amazon", "creationDate": image.created(),
        "blockDeviceMapping": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 20, "volumeType": "gp3", "deleteOnTermination": true, "encrypted": false}}]})
}
