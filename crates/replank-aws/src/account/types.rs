//! Instance types, and machine images.

use serde_json::{Value, json};

use super::filter::{Known, Pages, bad_token, listed};
use super::members::zones;
use super::network::zone_id;
use super::own::Account;
use crate::call::Reply;
use crate::fault::Fault;
use crate::image::{Image, images};
use crate::input::Input;
use crate::page::page;
use crate::region::{InstanceType, Region};

/// The account that publishes EKS's images.
const OWNER: &str = "602401143452";
const IMAGES: Known = &[
    ("architecture", "architecture"),
    ("block-device-mapping.delete-on-termination", "blockDeviceMapping.ebs.deleteOnTermination"),
    ("block-device-mapping.device-name", "blockDeviceMapping.deviceName"),
    ("block-device-mapping.encrypted", "blockDeviceMapping.ebs.encrypted"),
    ("block-device-mapping.volume-size", "blockDeviceMapping.ebs.volumeSize"),
    ("block-device-mapping.volume-type", "blockDeviceMapping.ebs.volumeType"),
    ("creation-date", "creationDate"),
    ("description", "description"),
    ("ena-support", "enaSupport"),
    ("hypervisor", "hypervisor"),
    ("image-id", "imageId"),
    ("image-type", "imageType"),
    ("is-public", "isPublic"),
    ("manifest-location", "imageLocation"),
    ("name", "name"),
    ("owner-alias", "imageOwnerAlias"),
    ("owner-id", "imageOwnerId"),
    ("root-device-name", "rootDeviceName"),
    ("root-device-type", "rootDeviceType"),
    ("state", "imageState"),
    ("virtualization-type", "virtualizationType"),
];
const OFFERINGS: Known = &[("instance-type", "instanceType"), ("location", "location")];
const TYPES: Known = &[
    ("auto-recovery-supported", "autoRecoverySupported"),
    ("bare-metal", "bareMetal"),
    ("burstable-performance-supported", "burstablePerformanceSupported"),
    ("current-generation", "currentGeneration"),
    ("dedicated-hosts-supported", "dedicatedHostsSupported"),
    ("ebs-info.ebs-optimized-support", "ebsInfo.ebsOptimizedSupport"),
    ("ebs-info.encryption-support", "ebsInfo.encryptionSupport"),
    ("ebs-info.nvme-support", "ebsInfo.nvmeSupport"),
    ("free-tier-eligible", "freeTierEligible"),
    ("hypervisor", "hypervisor"),
    ("instance-storage-supported", "instanceStorageSupported"),
    ("instance-type", "instanceType"),
    ("memory-info.size-in-mib", "memoryInfo.sizeInMiB"),
    ("processor-info.supported-architecture", "processorInfo.supportedArchitectures"),
    ("supported-root-device-type", "supportedRootDeviceTypes"),
    ("supported-usage-class", "supportedUsageClasses"),
    ("supported-virtualization-type", "supportedVirtualizationTypes"),
    ("vcpu-info.default-cores", "vCpuInfo.defaultCores"),
    ("vcpu-info.default-threads-per-core", "vCpuInfo.defaultThreadsPerCore"),
    ("vcpu-info.default-vcpus", "vCpuInfo.defaultVCpus"),
];

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
    listed(input, "instanceTypeSet", shown, TYPES, Pages { max: 100, default: 100, ..Pages::MANY })
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
    let kind = input.text("LocationType").unwrap_or("region");
    let of_zones = || zones(account, region).into_iter().map(|zone| zone.to_string());
    let places: Vec<String> = match kind {
        "region" => vec![account.names.region().to_owned()],
        "availability-zone" => of_zones().collect(),
        "availability-zone-id" => of_zones().map(|zone| zone_id(&zone)).collect(),
        other => {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!("Value ({other}) for parameter locationType is invalid."),
            ));
        }
    };
    let mut all = Vec::new();
    for place in places {
        for one in region.instance_types() {
            all.push((
                format!("{place}/{}", one.name),
                json!({"instanceType": &*one.name, "locationType": kind, "location": place}),
            ));
        }
    }
    listed(input, "instanceTypeOfferingSet", all, OFFERINGS, Pages::MANY)
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
        if let Some(wrong) = ids.iter().find(|id| crate::image::image(id).is_none()) {
            return Err(Fault::bad(
                "InvalidAMIID.NotFound",
                format!("The image id '[{wrong}]' does not exist"),
            ));
        }
        // All of them are Amazon's, and public.
        let owners = input.texts("Owner");
        let is_owned = owners.is_empty() || owners.iter().any(|one| one == "amazon" || one == OWNER);
        let users = input.texts("ExecutableBy");
        let is_shared = users.is_empty() || users.iter().any(|one| one == "all");
        let found = images()
            .filter(|image| is_owned && is_shared && (ids.is_empty() || ids.contains(&image.id)))
            .map(|image| (image.id.clone(), shown_image(&image)));
        listed(input, "imagesSet", found.collect(), IMAGES, Pages { min: 1, ..Pages::MANY })
    }
}

fn shown_image(image: &Image) -> Value {
    json!({"imageId": image.id, "imageLocation": format!("amazon/{}", image.name()), "imageState": "available", "imageOwnerId": OWNER, "isPublic": true,
        "architecture": image.arch(), "imageType": "machine", "name": image.name(), "description": format!("EKS-optimized Kubernetes node {} ({})", image.version, image.release),
        "rootDeviceType": "ebs", "rootDeviceName": "/dev/xvda", "virtualizationType": "hvm", "hypervisor": "xen", "enaSupport": true, "platformDetails": "Linux/UNIX", "usageOperation": "RunInstances", "imageOwnerAlias": "amazon", "creationDate": image.created(),
        "blockDeviceMapping": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": 20, "volumeType": "gp3", "deleteOnTermination": true, "encrypted": false}}]})
}
