//! What EKS makes of an instance type: how many pods, and how much is reserved for the node itself.
//!
//! A group that has nodes shows what they offer. Of one that has none yet, EKS's own defaults tell it: pods by network interfaces and
//! addresses, kubelet's reservations by cores and pods (awslabs/amazon-eks-ami nodeadm/internal/kubelet/config.go and
//! instance-info.jsonl; aws/amazon-vpc-cni-k8s misc/eni-max-pods.txt; August 2026). Prefix delegation and own settings give other
//! numbers: what a group really offers is believed before this.

use std::collections::BTreeMap;

use replank_model::object::resources::{CPU, MEMORY, PODS, Resources};
use replank_model::quantity::{Format, Quantity};
use replank_model::text::Text;
use serde_json::Value;

/// Instruction set of a machine, as label `kubernetes.io/arch` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arch {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// The label's value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        }
    }
}

/// An instance type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceType {
    /// Name, such as `m6i.xlarge`.
    pub name: &'static str,
    /// Instruction set.
    pub arch: Arch,
    /// Cores.
    pub vcpu: i64,
    /// Nominal memory; a node reports less as its capacity.
    pub memory_mib: i64,
    /// Pods by interfaces and addresses, without prefix delegation.
    pub pods_max: i64,
}

/// What EC2 says of an instance type (`aws ec2 describe-instance-types`), of those that are not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Described {
    /// What EKS makes of it, without a name.
    pub offers: InstanceType,
    /// How many GPUs it has.
    pub gpus: i64,
}

/// What EC2 says of instance types, by their names. Pods are counted as EKS counts them: for each network interface of the default network card one address is its own; two pods
/// use the node's network.
#[must_use]
pub fn described(answer: &Value) -> BTreeMap<Text, Described> {
    let all = answer["InstanceTypes"].as_array().into_iter().flatten();
    all.filter_map(|one| Some((Text::from(one["InstanceType"].as_str()?), describes(one)?))).collect()
}

fn describes(one: &Value) -> Option<Described> {
    let mut archs = one["ProcessorInfo"]["SupportedArchitectures"].as_array()?.iter();
    let arch = archs.find_map(|arch| match arch.as_str()? {
        "x86_64" => Some(Arch::Amd64),
        "arm64" => Some(Arch::Arm64),
        _ => None,
    })?;
    let network = &one["NetworkInfo"];
    let cards = network["NetworkCards"].as_array().into_iter().flatten();
    let default = network["DefaultNetworkCardIndex"].as_i64().unwrap_or(0);
    let of_card = cards.filter(|card| card["NetworkCardIndex"].as_i64() == Some(default));
    let interfaces = of_card.filter_map(|card| card["MaximumNetworkInterfaces"].as_i64()).next();
    let interfaces = interfaces.or_else(|| network["MaximumNetworkInterfaces"].as_i64());
    let pods = interfaces
        .zip(network["Ipv4AddressesPerInterface"].as_i64())
        .map(|(interfaces, addresses)| interfaces * (addresses - 1) + 2);
    let gpus = one["GpuInfo"]["Gpus"].as_array().into_iter().flatten();
    // Those of other makers have another name on a node.
    let gpus = gpus.filter(|gpu| gpu["Manufacturer"] == "NVIDIA").filter_map(|gpu| gpu["Count"].as_i64());
    let offers = InstanceType {
        name: "",
        arch,
        vcpu: one["VCpuInfo"]["DefaultVCpus"].as_i64()?,
        memory_mib: one["MemoryInfo"]["SizeInMiB"].as_i64()?,
        pods_max: pods.unwrap_or(PODS_UNKNOWN),
    };
    Some(Described { offers, gpus: gpus.sum() })
}

/// Pods of a node of whose network nothing is known: kubelet's default.
const PODS_UNKNOWN: i64 = 110;

/// All instance types that are known.
#[must_use]
pub fn all() -> &'static [InstanceType] {
    TYPES
}

/// The instance type of a name, if it is known.
#[must_use]
pub fn instance_type(name: &str) -> Option<&'static InstanceType> {
    TYPES.iter().find(|known| known.name == name)
}

/// kubelet's `evictionHard` for memory in EKS's images.
const EVICTION_MIB: i64 = 100;

impl InstanceType {
    /// Milli-cores that are kept for the node: 6% of the first core, 1% of the second, 0.5% of the third and fourth, 0.25% of all
    /// others.
    #[must_use]
    pub fn reserved_cpu_milli(&self) -> i64 {
        let tenths = 600
            + 100 * (self.vcpu.min(2) - 1)
            + 50 * (self.vcpu.min(4) - 2).max(0)
            + 25 * (self.vcpu - 4).max(0);
        tenths / 10
    }

    /// Memory that is kept for the node and never given to pods.
    #[must_use]
    pub fn reserved_memory_mib(&self) -> i64 {
        255 + 11 * self.pods_max
    }

    /// What pods may use of a node with such a capacity.
    #[must_use]
    pub fn allocatable(&self, capacity: &Resources) -> Resources {
        const MIB: i64 = 1 << 20;
        let mut all = Resources::default();
        let memory = capacity.get(MEMORY).map_or(self.memory_mib * MIB, Quantity::value);
        let memory = memory - (self.reserved_memory_mib() + EVICTION_MIB) * MIB;
        all.set(CPU, Quantity::from_milli(self.vcpu * 1_000 - self.reserved_cpu_milli(), Format::DecimalSi));
        all.set(MEMORY, Quantity::from_units(memory, Format::BinarySi));
        all.set(PODS, Quantity::from_units(self.pods_max, Format::DecimalSi));
        all
    }
}

const fn row(name: &'static str, arch: Arch, vcpu: i64, memory_mib: i64, pods_max: i64) -> InstanceType {
    InstanceType { name, arch, vcpu, memory_mib, pods_max }
}

#[rustfmt::skip]
const TYPES: &[InstanceType] = &[
    row("t3.medium", Arch::Amd64, 2, 4096, 17),
    row("t3.large", Arch::Amd64, 2, 8192, 35),
    row("t3.xlarge", Arch::Amd64, 4, 16384, 58),
    row("t3a.large", Arch::Amd64, 2, 8192, 35),
    row("t4g.medium", Arch::Arm64, 2, 4096, 17),
    row("t4g.large", Arch::Arm64, 2, 8192, 35),
    row("t4g.xlarge", Arch::Arm64, 4, 16384, 58),
    row("m5.large", Arch::Amd64, 2, 8192, 29),
    row("m5.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m5.2xlarge", Arch::Amd64, 8, 32768, 58),
    row("m5.4xlarge", Arch::Amd64, 16, 65536, 234),
    row("m5a.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m6i.large", Arch::Amd64, 2, 8192, 29),
    row("m6i.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m6i.2xlarge", Arch::Amd64, 8, 32768, 58),
    row("m6i.4xlarge", Arch::Amd64, 16, 65536, 234),
    row("m6a.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m6g.large", Arch::Arm64, 2, 8192, 29),
    row("m6g.xlarge", Arch::Arm64, 4, 16384, 58),
    row("m7i.large", Arch::Amd64, 2, 8192, 29),
    row("m7i.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m7i.2xlarge", Arch::Amd64, 8, 32768, 58),
    row("m7i-flex.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m7g.large", Arch::Arm64, 2, 8192, 29),
    row("m7g.xlarge", Arch::Arm64, 4, 16384, 58),
    row("m7g.2xlarge", Arch::Arm64, 8, 32768, 58),
    row("m7a.xlarge", Arch::Amd64, 4, 16384, 58),
    row("m8g.xlarge", Arch::Arm64, 4, 16384, 58),
    row("m8i.xlarge", Arch::Amd64, 4, 16384, 118),
    row("c5.large", Arch::Amd64, 2, 4096, 29),
    row("c5.xlarge", Arch::Amd64, 4, 8192, 58),
    row("c5.2xlarge", Arch::Amd64, 8, 16384, 58),
    row("c5.4xlarge", Arch::Amd64, 16, 32768, 234),
    row("c6i.xlarge", Arch::Amd64, 4, 8192, 58),
    row("c6i.2xlarge", Arch::Amd64, 8, 16384, 58),
    row("c6g.xlarge", Arch::Arm64, 4, 8192, 58),
    row("c7i.xlarge", Arch::Amd64, 4, 8192, 58),
    row("c7g.xlarge", Arch::Arm64, 4, 8192, 58),
    row("c8g.xlarge", Arch::Arm64, 4, 8192, 58),
    row("r5.large", Arch::Amd64, 2, 16384, 29),
    row("r5.xlarge", Arch::Amd64, 4, 32768, 58),
    row("r6i.xlarge", Arch::Amd64, 4, 32768, 58),
    row("r6g.xlarge", Arch::Arm64, 4, 32768, 58),
    row("r7g.xlarge", Arch::Arm64, 4, 32768, 58),
    row("r7i.2xlarge", Arch::Amd64, 8, 65536, 58),
    row("r8g.xlarge", Arch::Arm64, 4, 32768, 58),
    row("i4i.xlarge", Arch::Amd64, 4, 32768, 58),
    row("g4dn.xlarge", Arch::Amd64, 4, 16384, 29),
    row("g5.xlarge", Arch::Amd64, 4, 16384, 58),
    row("g6.xlarge", Arch::Amd64, 4, 16384, 58),
    row("p4d.24xlarge", Arch::Amd64, 96, 1179648, 737),
    row("p5.48xlarge", Arch::Amd64, 192, 2097152, 100),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ec2_says_of_a_type_is_what_the_table_has() {
        let m6i = serde_json::json!({"InstanceTypes": [{"InstanceType": "m6i.xlarge", "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
            "VCpuInfo": {"DefaultVCpus": 4}, "MemoryInfo": {"SizeInMiB": 16384},
            "NetworkInfo": {"MaximumNetworkInterfaces": 8, "Ipv4AddressesPerInterface": 15, "DefaultNetworkCardIndex": 0,
                "NetworkCards": [{"NetworkCardIndex": 0, "MaximumNetworkInterfaces": 4}, {"NetworkCardIndex": 1, "MaximumNetworkInterfaces": 4}]}},
            {"InstanceType": "mac2.metal", "ProcessorInfo": {"SupportedArchitectures": ["arm64_mac"]}}]});
        let all = described(&m6i);
        assert_eq!(all.len(), 1, "{all:?}");
        let of_table = *instance_type("m6i.xlarge").expect("it is known");
        assert_eq!(all["m6i.xlarge"], Described { offers: InstanceType { name: "", ..of_table }, gpus: 0 });
    }

    #[test]
    fn reservations_follow_the_formula() {
        let of = |name| {
            instance_type(name).map(|one| (one.pods_max, one.reserved_cpu_milli(), one.reserved_memory_mib()))
        };
        assert_eq!(of("t3.medium"), Some((17, 70, 442)));
        assert_eq!(of("m6i.xlarge"), Some((58, 80, 893)));
        assert_eq!(of("m6i.2xlarge"), Some((58, 90, 893)));
        assert_eq!(of("m99.huge"), None);
    }

    #[test]
    fn what_pods_may_use_is_the_capacity_less_what_is_reserved() {
        let mut capacity = Resources::default();
        capacity.set(MEMORY, Quantity::from_units(15 << 30, Format::BinarySi));
        let offered = instance_type("m6i.xlarge").expect("it is known").allocatable(&capacity);
        assert_eq!(offered.get(CPU).map(Quantity::milli_value), Some(3_920));
        assert_eq!(offered.get(MEMORY).map(Quantity::value), Some((15 << 30) - (993 << 20)));
        assert_eq!(offered.get(PODS).map(Quantity::value), Some(58));
    }
}
