//! Launch templates: how their versions are numbered, and what is in them.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::image::AmiType;
use super::profile::NodeProfile;
use crate::text::{GroupName, Text};

/// One version of an EC2 launch template.
///
/// EC2 numbers the versions of a template from 1 on, and a number never comes back: versions that are deleted leave gaps
/// (CreateLaunchTemplateVersion, DeleteLaunchTemplateVersions). So a number is a name, and no position in a list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchTemplateRef {
    /// The template's id, such as `lt-0123456789abcdef0`.
    pub id: Text,
    /// The version's number.
    pub version: u64,
}

impl LaunchTemplateRef {
    /// The number of a template's first version.
    pub const FIRST: u64 = 1;

    /// What stands for the template of a group of which only nodes are known: an id that follows from the group's name, as EC2 would write one.
    #[must_use]
    pub fn invented(group: &GroupName) -> Self {
        Self { id: Text::from(format!("lt-0{:016x}", fnv1a(group.as_str()))), version: Self::FIRST }
    }

    /// Another version of the template.
    #[must_use]
    pub fn at(&self, version: u64) -> Self {
        Self { id: self.id.clone(), version }
    }
}

/// FNV-1a, 64 bits: a name that follows from another name has to be the same on every machine, and nothing else.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `lt-0123456789abcdef0 v3`
impl fmt::Display for LaunchTemplateRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} v{}", self.id, self.version)
    }
}

/// A version that is named by a word: Auto Scaling looks up which one it is whenever it launches (LaunchTemplateSpecification).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum VersionWord {
    /// The version with the highest number.
    #[serde(rename = "$Latest")]
    Latest,
    /// The version that the template's owner has made the default (ModifyLaunchTemplate).
    #[serde(rename = "$Default")]
    Default,
}

impl VersionWord {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Latest, Self::Default];

    /// As Auto Scaling writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Latest => "$Latest",
            Self::Default => "$Default",
        }
    }

    /// The word that is written so.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == word)
    }
}

impl fmt::Display for VersionWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A launch template's version that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a launch template's id and a version, such as `lt-0123456789abcdef0 v3`, and found `{0}`")]
pub struct BadLaunchTemplateRef(pub String);

impl FromStr for LaunchTemplateRef {
    type Err = BadLaunchTemplateRef;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadLaunchTemplateRef(text.to_owned());
        let (id, version) = text.split_once(" v").ok_or_else(bad)?;
        let is_number = version.bytes().all(|byte| byte.is_ascii_digit());
        let version =
            version.parse().ok().filter(|version| is_number && *version >= Self::FIRST).ok_or_else(bad)?;
        let is_id = id.strip_prefix("lt-").is_some_and(|rest| !rest.is_empty() && !rest.contains(' '));
        is_id.then(|| Self { id: Text::from(id), version }).ok_or_else(bad)
    }
}

/// The versions of launch templates that a group has used, or may go back to.
pub type LaunchTemplates = BTreeMap<LaunchTemplateRef, LaunchTemplate>;

/// What instances of a group are made from, and what nodes are expected to become of them.
///
/// Replank changes the image, or the version: a launch template contains nothing else that determines a node's properties. The properties are
/// a prediction, including the kubelet's version, which is the image's. So two versions with one image have one kubelet
/// ([`LaunchTemplate::contradiction`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchTemplate {
    /// Machine image: its id, or what stands for an id that is not known ([`AmiType::image`]). Empty where nothing is known of it.
    pub image: Text,
    /// What kind of image that is.
    pub ami_type: AmiType,
    /// Day of the release that the image is of, such as `20260714`; empty where it is not known, or the image is not EKS's.
    #[serde(default, skip_serializing_if = "str::is_empty")]
    pub released: Text,
    /// What nodes are expected to look like.
    pub profile: NodeProfile,
}

impl LaunchTemplate {
    /// The first two versions that have the same image and nodes of different kubelet versions, which no image makes.
    #[must_use]
    pub fn contradiction(versions: &LaunchTemplates) -> Option<[&LaunchTemplateRef; 2]> {
        let mut kubelets: BTreeMap<&Text, (&LaunchTemplateRef, &Text)> = BTreeMap::new();
        versions.iter().find_map(|(version, template)| {
            let kubelet = &template.profile.kubelet_version;
            let (first, known) = *kubelets.entry(&template.image).or_insert((version, kubelet));
            (known != kubelet).then_some([first, version])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_as_it_is_written() {
        let version = LaunchTemplateRef { id: "lt-0123456789abcdef0".into(), version: 12 };
        assert_eq!(version.to_string(), "lt-0123456789abcdef0 v12");
        assert_eq!(version.to_string().parse(), Ok(version));
        for bad in
            ["", "1", "lt-1", "lt-1 v", "lt-1 v0", "lt-1 v+1", "lt-1 v1 ", "lt- v1", "ami-1 v1", "lt-1 x v1"]
        {
            assert_eq!(bad.parse::<LaunchTemplateRef>(), Err(BadLaunchTemplateRef(bad.to_owned())), "{bad}");
        }
    }

    #[test]
    fn an_invented_id_looks_like_one_and_follows_from_the_name() {
        let web = LaunchTemplateRef::invented(&"web".into());
        assert_eq!(web, LaunchTemplateRef::invented(&"web".into()));
        assert_ne!(web, LaunchTemplateRef::invented(&"batch".into()));
        assert_eq!((web.id.len(), web.version), ("lt-0123456789abcdef0".len(), 1));
        assert_eq!(web.to_string().parse(), Ok(web));
    }

    #[test]
    fn one_image_has_one_kubelet() {
        let version = |version| LaunchTemplateRef { id: "lt-1".into(), version };
        let of = |image: &str, kubelet: &str| LaunchTemplate {
            image: image.into(),
            profile: NodeProfile { kubelet_version: kubelet.into(), ..NodeProfile::default() },
            ..LaunchTemplate::default()
        };
        let mut all: LaunchTemplates =
            [(version(1), of("ami-1", "v1.34.2")), (version(2), of("ami-2", "v1.36.0"))].into();
        assert_eq!(LaunchTemplate::contradiction(&all), None);
        all.insert(version(3), of("ami-2", "v1.36.0"));
        assert_eq!(LaunchTemplate::contradiction(&all), None, "the same image once more");
        all.insert(version(4), of("ami-1", "v1.36.0"));
        assert_eq!(LaunchTemplate::contradiction(&all), Some([&version(1), &version(4)]));
    }
}
