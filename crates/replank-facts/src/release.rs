//! Releases of EKS's images, as EKS calls them: `1.36.1-20260610`.

use std::fmt;
use std::str::FromStr;

use replank_model::object::cloud::{AmiType, LaunchTemplate};
use replank_model::text::Text;
use replank_model::version::Version;
use replank_protocol::record::MadeOf;

/// A release of EKS's image for Amazon Linux (`releaseVersion` of UpdateNodegroupVersion): the kubelet in it, and the day on which it was made.
///
/// There is at most one release of a minor version a day: the names of images have the minor version and the day, and no patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseVersion {
    numbers: [u64; 3],
    day: String,
}

/// Why a text is not a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a release such as 1.36.1-20260610")]
pub struct NotRelease;

impl FromStr for ReleaseVersion {
    type Err = NotRelease;

    fn from_str(text: &str) -> Result<Self, NotRelease> {
        let (version, day) = text.split_once('-').ok_or(NotRelease)?;
        let number = |part: &str| {
            let is_plain =
                part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
            part.parse().ok().filter(|_| is_plain).ok_or(NotRelease)
        };
        let numbers: Vec<u64> = version.split('.').map(number).collect::<Result<_, _>>()?;
        let numbers = <[u64; 3]>::try_from(numbers).map_err(|_| NotRelease)?;
        AmiType::is_day(day).then(|| Self { numbers, day: day.to_owned() }).ok_or(NotRelease)
    }
}

impl ReleaseVersion {
    /// The release that a launch template's image is of, where its day is known.
    #[must_use]
    pub fn of(template: &LaunchTemplate) -> Option<Self> {
        let kubelet = template.profile.kubelet_version.trim_start_matches('v');
        let version = kubelet.split(['-', '+']).next().unwrap_or(kubelet);
        format!("{version}-{}", template.released).parse().ok()
    }

    /// What a node of it reports, without what EKS adds: `v1.36.1`.
    #[must_use]
    pub fn kubelet_version(&self) -> String {
        format!("v{}", self.version())
    }

    /// Its kubelet's version: `1.36.1`.
    #[must_use]
    pub fn version(&self) -> String {
        let [major, minor, patch] = self.numbers;
        format!("{major}.{minor}.{patch}")
    }

    /// Its Kubernetes version, such as `1.36`: EKS takes no patch.
    #[must_use]
    pub fn minor(&self) -> String {
        format!("{}.{}", self.numbers[0], self.numbers[1])
    }

    /// Its day, such as `20260610`.
    #[must_use]
    pub fn day(&self) -> &str {
        &self.day
    }

    /// Whether both are the same release: what a launch template shows of its patch may be a guess.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.minor() == other.minor() && self.day == other.day
    }

    /// Whether it came before another one: of an earlier minor version, or of the same and an earlier day.
    #[must_use]
    pub fn is_before(&self, other: &Self) -> bool {
        (&self.numbers[..2], &self.day) < (&other.numbers[..2], &other.day)
    }

    /// Whether a node's kubelet is that of the release.
    #[must_use]
    pub fn has_kubelet(&self, kubelet: &str) -> bool {
        let found = Version::parse_generic(kubelet);
        found.is_ok_and(|found| [found.major(), found.minor(), found.patch()] == self.numbers)
    }

    /// What stands for its image in a launch template.
    #[must_use]
    pub fn image(&self) -> Text {
        AmiType::of_release(&self.to_string())
    }
}

impl fmt::Display for ReleaseVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.version(), self.day)
    }
}

/// What a launch template's nodes are made of; `None` where neither the release nor the image is known.
#[must_use]
pub fn made_of(template: &LaunchTemplate) -> Option<MadeOf> {
    let release = ReleaseVersion::of(template).map(|release| Text::from(release.to_string()));
    let image = Some(template.image.clone()).filter(|image| AmiType::is_id(image));
    (release.is_some() || image.is_some()).then_some(MadeOf { release, image })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_release_has_three_numbers_and_a_day() {
        let release: ReleaseVersion = "1.36.1-20260610".parse().expect("a release");
        assert_eq!(release.to_string(), "1.36.1-20260610");
        assert_eq!(
            (&*release.minor(), release.day(), &*release.kubelet_version()),
            ("1.36", "20260610", "v1.36.1")
        );
        assert_eq!(AmiType::release_of(&release.image()), Some("1.36.1-20260610"));
        assert_eq!(AmiType::release_of("<image of Kubernetes 1.36>"), None);
        assert!(release.has_kubelet("v1.36.1-eks-113cf36") && !release.has_kubelet("v1.36.11-eks-113cf36"));
        let is_before = |one: &str, other: &str| {
            let of = |text: &str| text.parse::<ReleaseVersion>().expect("a release");
            of(one).is_before(&of(other))
        };
        assert!(
            is_before("1.36.2-20260610", "1.36.1-20260611")
                && is_before("1.35.6-20260714", "1.36.1-20260610")
        );
        assert!(
            !is_before("1.36.1-20260610", "1.36.2-20260610")
                && !is_before("1.36.1-20260610", "1.35.6-20260714")
        );
        for text in [
            "1.36-20260610",
            "1.36.1",
            "v1.36.1-20260610",
            "1.36.1-2026061",
            "1.36.1-20261301",
            "1.36.1-20260610-x",
            "1.036.1-20260610",
            "1.50.0-abc",
        ] {
            assert_eq!(text.parse::<ReleaseVersion>(), Err(NotRelease), "{text}");
        }
    }

    #[test]
    fn a_launch_template_tells_its_release_where_its_day_is_known() {
        let mut template = LaunchTemplate::default();
        template.profile.kubelet_version = "v1.36.2-eks-1".into();
        assert_eq!(ReleaseVersion::of(&template), None);
        template.released = "20261120".into();
        let found = ReleaseVersion::of(&template).expect("it is known");
        assert_eq!(found.to_string(), "1.36.2-20261120");
        assert!(found.is_same(&"1.36.0-20261120".parse().expect("a release")));
        assert!(!found.is_same(&"1.36.2-20261023".parse().expect("a release")));
    }

    #[test]
    fn nodes_are_made_of_a_release_or_of_an_image() {
        let told = |kubelet: &str, released: &str, image: &str| {
            let mut template = LaunchTemplate::default();
            template.profile.kubelet_version = kubelet.into();
            (template.released, template.image) = (released.into(), image.into());
            made_of(&template).map(|found| found.to_string())
        };
        assert_eq!(told("v1.35.4", "", ""), None);
        assert_eq!(told("v1.35.4", "", "<image of Kubernetes 1.35>"), None);
        assert_eq!(
            told("v1.35.4-eks-1", "20260901", "ami-1").as_deref(),
            Some("release 1.35.4-20260901 (ami-1)")
        );
        assert_eq!(told("v1.35.4", "", "ami-1").as_deref(), Some("image ami-1"));
    }
}
