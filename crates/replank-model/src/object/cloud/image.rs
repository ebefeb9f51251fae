//! Machine images: of which kind they are, and which one goes with a Kubernetes version.

use std::fmt;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::object::node::Node;
use crate::text::Text;

/// The kind of a machine image in EKS's word (`amiType` of DescribeNodegroup), such as `AL2023_x86_64_STANDARD`; empty where it is not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AmiType(Text);

/// How a text begins that stands for the image of a release.
const OF_RELEASE: &str = "<image of release ";

impl AmiType {
    /// The kind that EKS calls so.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(Text::from(name))
    }

    /// As EKS writes it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is not known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a node shows of it: its operating system, its architecture, and the devices that some images have drivers for.
    #[must_use]
    pub fn of_node(node: &Node) -> Self {
        let info = &node.status.node_info;
        let arch = match &*info.architecture {
            "amd64" => "x86_64",
            "arm64" => "ARM_64",
            _ => return Self::default(),
        };
        let has = |device: &str| node.status.capacity.get(device).is_some();
        let device = if has("nvidia.com/gpu") {
            Some("NVIDIA")
        } else if has("aws.amazon.com/neuron") || has("aws.amazon.com/neuroncore") {
            Some("NEURON")
        } else {
            None
        };
        let system = &*info.os_image;
        if system.starts_with("Amazon Linux 2023") {
            return Self(Text::from(format!("AL2023_{arch}_{}", device.unwrap_or("STANDARD"))));
        }
        // `Bottlerocket OS 1.50.0 (aws-k8s-1.34-nvidia)`
        match system.strip_prefix("Bottlerocket OS ") {
            Some(rest) => {
                let variant: String = ["nvidia", "fips"]
                    .iter()
                    .filter(|word| rest.trim_end_matches(')').split('-').any(|part| part == **word))
                    .map(|word| format!("_{}", word.to_uppercase()))
                    .collect();
                Self(Text::from(format!("BOTTLEROCKET_{arch}{variant}")))
            }
            None => Self::default(),
        }
    }

    /// The operating system and the architecture that a node of the kind shows; `None` if it is not known.
    #[must_use]
    pub fn shown(&self) -> Option<(String, &'static str)> {
        let (family, rest) = self.0.split_once('_')?;
        let (arch, variant) = match rest.strip_prefix("x86_64") {
            Some(variant) => ("amd64", variant),
            None => ("arm64", rest.strip_prefix("ARM_64")?),
        };
        let system = match family {
            "AL2023" => "Amazon Linux 2023".to_owned(),
            "BOTTLEROCKET" => {
                format!("Bottlerocket OS (aws-k8s{})", variant.to_lowercase().replace('_', "-"))
            }
            _ => return None,
        };
        Some((system, arch))
    }

    /// What stands for the image of a Kubernetes version, whose id nobody has said: the SSM parameter of the image that AWS recommends, or a text that says
    /// no more than the version. A version with a patch is told by the latter: AWS recommends one patch at a time.
    ///
    /// Parameters: "Retrieve recommended Amazon Linux AMI IDs" and "Retrieve recommended Bottlerocket AMI IDs" in the EKS user guide.
    #[must_use]
    pub fn image(&self, version: &str) -> Text {
        let is_minor = version.split('.').count() == 2;
        let known = if is_minor { self.parameter(version) } else { None };
        Text::from(known.unwrap_or_else(|| format!("<image of Kubernetes {version}>")))
    }

    /// What stands for the image of a release, such as `1.36.1-20260610`.
    #[must_use]
    pub fn of_release(release: &str) -> Text {
        Text::from(format!("{OF_RELEASE}{release}>"))
    }

    /// The release that such a text names.
    #[must_use]
    pub fn release_of(image: &str) -> Option<&str> {
        image.strip_prefix(OF_RELEASE)?.strip_suffix('>')
    }

    /// Whether a text is a day as releases of images are called by: `20260610`.
    #[must_use]
    pub fn is_day(text: &str) -> bool {
        let is_digits = text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_digits && format!("{}-{}-{}", &text[..4], &text[4..6], &text[6..]).parse::<Date>().is_ok()
    }

    fn parameter(&self, minor: &str) -> Option<String> {
        let (family, rest) = self.0.split_once('_')?;
        let (arch, variant) = match rest.strip_prefix("x86_64") {
            Some(variant) => ("x86_64", variant),
            None => ("arm64", rest.strip_prefix("ARM_64")?),
        };
        let variant = variant.to_lowercase().replace('_', "-");
        match (family, &*variant) {
            ("AL2023", "-standard" | "-nvidia" | "-neuron") => Some(format!(
                "/aws/service/eks/optimized-ami/{minor}/amazon-linux-2023/{arch}/{}/recommended/image_id",
                &variant[1..]
            )),
            ("BOTTLEROCKET", "" | "-nvidia" | "-fips") => {
                Some(format!("/aws/service/bottlerocket/aws-k8s-{minor}{variant}/{arch}/latest/image_id"))
            }
            _ => None,
        }
    }

    /// Whether a text is an image's id, and nothing that stands for one.
    #[must_use]
    pub fn is_id(image: &str) -> bool {
        !image.is_empty() && !image.starts_with(['/', '<'])
    }
}

impl fmt::Display for AmiType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(system: &str, architecture: &str) -> Node {
        let mut node = Node::default();
        node.status.node_info.os_image = system.into();
        node.status.node_info.architecture = architecture.into();
        node
    }

    #[test]
    fn a_node_shows_its_kind() {
        let of = |system, architecture| AmiType::of_node(&node(system, architecture)).as_str().to_owned();
        assert_eq!(of("Amazon Linux 2023.9.20251117", "amd64"), "AL2023_x86_64_STANDARD");
        assert_eq!(of("Amazon Linux 2023.9.20251117", "arm64"), "AL2023_ARM_64_STANDARD");
        assert_eq!(of("Bottlerocket OS 1.50.0 (aws-k8s-1.34)", "arm64"), "BOTTLEROCKET_ARM_64");
        assert_eq!(of("Bottlerocket OS 1.50.0 (aws-k8s-1.34-nvidia)", "amd64"), "BOTTLEROCKET_x86_64_NVIDIA");
        assert_eq!(of("Amazon Linux 2", "amd64"), "", "there are no images of it for new versions");
        assert_eq!(of("Amazon Linux 2023.9.20251117", ""), "");
        for kind in ["AL2023_ARM_64_STANDARD", "BOTTLEROCKET_x86_64_NVIDIA", "BOTTLEROCKET_ARM_64_FIPS"] {
            let (system, architecture) = AmiType::new(kind).shown().expect("it is known");
            assert_eq!(AmiType::of_node(&node(&system, architecture)).as_str(), kind);
        }
        assert_eq!(AmiType::new("WINDOWS_CORE_2022_x86_64").shown(), None);
        let mut gpu = node("Amazon Linux 2023.9.20251117", "amd64");
        gpu.status.capacity.set("nvidia.com/gpu", "1".parse().expect("a quantity"));
        assert_eq!(AmiType::of_node(&gpu).as_str(), "AL2023_x86_64_NVIDIA");
    }

    #[test]
    fn an_image_is_named_by_its_parameter_or_by_its_version() {
        let of = |kind: &str, version: &str| AmiType::new(kind).image(version).to_string();
        assert_eq!(
            of("AL2023_x86_64_STANDARD", "1.36"),
            "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id"
        );
        assert_eq!(
            of("BOTTLEROCKET_ARM_64_NVIDIA", "1.36"),
            "/aws/service/bottlerocket/aws-k8s-1.36-nvidia/arm64/latest/image_id"
        );
        for (kind, version) in
            [("", "1.36"), ("CUSTOM", "1.36"), ("AL2_x86_64", "1.36"), ("WINDOWS_CORE_2022_x86_64", "1.36")]
        {
            assert_eq!(of(kind, version), "<image of Kubernetes 1.36>", "{kind}");
        }
        assert_eq!(of("AL2023_x86_64_STANDARD", "1.36.2"), "<image of Kubernetes 1.36.2>");
        assert!(AmiType::is_id("ami-0def") && !AmiType::is_id(&of("", "1.36")) && !AmiType::is_id(""));
        assert!(!AmiType::is_id(&of("AL2023_x86_64_STANDARD", "1.36")));
    }
}
