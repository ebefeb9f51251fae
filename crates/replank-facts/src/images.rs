//! Releases of EKS' images: which were published, which one a node runs, and which somebody does not want.
//!
//! Nodes do not name their release. What they show (kubelet, operating system, kernel) fits one release of the table, or several that differ in nothing
//! that a node shows.

use std::fmt;

use replank_model::object::node::{LABEL_EKS_IMAGE, Node};

/// The day of the table.
pub const IMAGES_DATE: &str = "2026-07-21";
/// Amazon Linux 2023, x86_64, standard; of the changelog of awslabs/amazon-eks-ami.
const TABLE: &str = include_str!("../data/eks-images.tsv");

/// A release of the image for one minor version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Release {
    /// Such as `1.36.2-20260714`: what EKS calls `releaseVersion`.
    pub version: &'static str,
    /// Whether it was abandoned for the next one.
    pub abandoned: bool,
    /// Version of Amazon Linux, such as `2023.12.20260710`.
    pub system: &'static str,
    /// Kernel, without what says that it is Amazon's; `-` where the table has none.
    kernel: &'static str,
    /// Version of containerd.
    pub containerd: &'static str,
}

impl Release {
    fn read(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t');
        let mut next = || fields.next();
        Some(Self {
            version: next()?,
            abandoned: next()? == "abandoned",
            system: next()?,
            kernel: next()?,
            containerd: next()?,
        })
    }

    /// Its kubelet, such as `1.36.2`.
    #[must_use]
    pub fn kubelet(&self) -> &'static str {
        self.version.split_once('-').map_or(self.version, |(kubelet, _)| kubelet)
    }

    /// Its day, such as `20260714`.
    #[must_use]
    pub fn day(&self) -> &'static str {
        self.version.split_once('-').map_or("", |(_, day)| day)
    }

    /// Its minor version, such as `1.36`.
    #[must_use]
    pub fn minor(&self) -> &'static str {
        let kubelet = self.kubelet();
        kubelet.rsplit_once('.').map_or(kubelet, |(minor, _)| minor)
    }

    /// Whether a node shows what this release has.
    #[must_use]
    pub fn fits(&self, node: &Node) -> bool {
        let info = &node.status.node_info;
        let kubelet = info.kubelet_version.trim_start_matches('v');
        let kubelet = kubelet.split('-').next().unwrap_or(kubelet);
        let kernel = &*info.kernel_version;
        let has_kernel = self.kernel == "-" || kernel.is_empty() || kernel.starts_with(self.kernel);
        info.os_image.strip_prefix("Amazon Linux ") == Some(self.system)
            && kubelet == self.kubelet()
            && has_kernel
    }
}

/// All releases of the table, the newest first.
#[must_use]
pub fn releases() -> Vec<Release> {
    TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(Release::read).collect()
}

/// An image that is not to be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadImage {
    /// Which.
    pub which: Which,
    /// Why.
    pub reason: String,
}

/// How a list names an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// By its id.
    Image(String),
    /// A release for one minor version: `1.36.2-20260714`.
    Release(String),
    /// A release for all minor versions, by its day: `20260714`.
    Day(String),
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(id) => f.write_str(id),
            Self::Release(version) => f.write_str(version),
            Self::Day(day) => write!(f, "v{day}"),
        }
    }
}

impl Which {
    /// Whether a release is meant.
    #[must_use]
    pub fn is(&self, release: &Release) -> bool {
        match self {
            Self::Image(_) => false,
            Self::Release(version) => release.version == version,
            Self::Day(day) => release.day() == day,
        }
    }

    /// Whether a node names the image that is meant.
    #[must_use]
    pub fn is_of(&self, node: &Node) -> bool {
        match self {
            Self::Image(id) => node.meta.labels.value(LABEL_EKS_IMAGE) == Some(id),
            Self::Release(_) | Self::Day(_) => false,
        }
    }
}

/// Why a line of such a list cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number}: {flaw}")]
pub struct BadLine {
    /// Which, from 1.
    pub number: usize,
    /// What is wrong with it.
    pub flaw: String,
}

/// Reads a list: on each line an image (`ami-…`, `1.36.2-20260714`, `v20260714`) and why; `#` begins a comment.
///
/// # Errors
/// The first line that is of another form.
pub fn read(text: &str) -> Result<Vec<BadImage>, BadLine> {
    let mut all = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let wrong = |flaw: String| BadLine { number: at + 1, flaw };
        let (word, reason) = line
            .split_once(char::is_whitespace)
            .ok_or_else(|| wrong(format!("{line:?} has no reason: write why after it")))?;
        let which = which(word).ok_or_else(|| {
            wrong(format!(
                "{word:?} is no image: write ami-…, a release version such as 1.36.2-20260714, or the day of a release such as v20260714"
            ))
        })?;
        all.push(BadImage { which, reason: reason.trim().to_owned() });
    }
    Ok(all)
}

fn which(word: &str) -> Option<Which> {
    let is_day = |text: &str| text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit());
    if word.starts_with("ami-") {
        return Some(Which::Image(word.to_owned()));
    }
    if let Some((kubelet, day)) = word.split_once('-') {
        let is_version = kubelet.split('.').count() == 3
            && kubelet
                .split('.')
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
        return (is_version && is_day(day)).then(|| Which::Release(word.to_owned()));
    }
    let day = word.strip_prefix('v').unwrap_or(word);
    is_day(day).then(|| Which::Day(day.to_owned()))
}

#[cfg(test)]
mod tests {
    use replank_model::object::Object;
    use serde_json::json;

    use super::*;

    fn node(kubelet: &str, system: &str, kernel: &str) -> Node {
        let value = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"},
            "status": {"nodeInfo": {"kubeletVersion": kubelet, "osImage": system, "kernelVersion": kernel}}});
        let Object::Node(node) = Object::from_json(value).expect("valid") else { unreachable!("a node") };
        Node::clone(&node)
    }

    #[test]
    fn every_row_of_the_table_is_whole_and_the_newest_comes_first() {
        let all = releases();
        assert_eq!(all.len(), TABLE.lines().count() - 2);
        assert!(all.iter().all(|one| one.day().len() == 8
            && one.system.starts_with("2023.")
            && !one.containerd.is_empty()));
        assert!(all.is_sorted_by(|a, b| a.day() >= b.day()));
        assert_eq!((all[0].version, all[0].minor()), ("1.36.2-20260714", "1.36"));
        let abandoned: Vec<&str> =
            all.iter().filter(|one| one.abandoned && one.minor() == "1.35").map(|one| one.version).collect();
        assert_eq!(abandoned, ["1.35.2-20260311", "1.35.0-20260128"]);
    }

    #[test]
    fn a_node_is_known_by_what_it_shows() {
        let of = |kubelet: &str, system: &str, kernel: &str| {
            let node = node(kubelet, system, kernel);
            let fitting: Vec<&str> =
                releases().iter().filter(|one| one.fits(&node)).map(|one| one.version).collect();
            fitting
        };
        let kernel = "6.12.94-123.180.amzn2023.x86_64";
        assert_eq!(of("v1.35.6-eks-0123456", "Amazon Linux 2023.12.20260710", kernel), ["1.35.6-20260714"]);
        assert_eq!(of("v1.35.5-eks-0123456", "Amazon Linux 2023.12.20260710", kernel), [""; 0]);
        assert_eq!(of("v1.35.6-eks-0123456", "Amazon Linux 2023.12.20260710", "6.1.1"), [""; 0]);
        assert_eq!(of("v1.35.6-eks-0123456", "Bottlerocket OS 1.50.0", kernel), [""; 0]);
    }

    #[test]
    fn a_list_has_an_image_and_a_reason_on_each_line() {
        let list =
            read("# ours\n\nami-1 no proxy certificate\n1.35.6-20260714  pods hang\nv20260625\tslow\n")
                .expect("right");
        let words: Vec<String> = list.iter().map(|bad| format!("{}: {}", bad.which, bad.reason)).collect();
        assert_eq!(words, ["ami-1: no proxy certificate", "1.35.6-20260714: pods hang", "v20260625: slow"]);
        assert_eq!(
            read("ami-1").unwrap_err().to_string(),
            "line 1: \"ami-1\" has no reason: write why after it"
        );
        assert!(
            read("\n1.35-20260714 x")
                .unwrap_err()
                .to_string()
                .starts_with("line 2: \"1.35-20260714\" is no image")
        );
    }
}
