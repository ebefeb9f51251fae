//! Machine images that EKS publishes: their ids, releases and parameters. Ids follow from the release.

use replank_model::object::cloud::AmiType;
use replank_model::time::Time;

use crate::text::ec2_id;

/// Minor versions that EKS has images of, with the patch that the newest has.
pub(crate) const VERSIONS: &[(&str, u32)] =
    &[("1.30", 14), ("1.31", 13), ("1.32", 9), ("1.33", 8), ("1.34", 4), ("1.35", 6), ("1.36", 2)];
/// When EKS offers a version first, and when standard and extended support end: seconds since 1970, by the user guide's page on the lifecycle of versions.
const DATES: &[(&str, [i64; 3])] = &[
    ("1.30", [1_716_422_400, 1_753_228_800, 1_784_764_800]), // 2024-05-23 2025-07-23 2026-07-23
    ("1.31", [1_727_308_800, 1_764_115_200, 1_795_651_200]), // 2024-09-26 2025-11-26 2026-11-26
    ("1.32", [1_737_590_400, 1_774_224_000, 1_805_760_000]), // 2025-01-23 2026-03-23 2027-03-23
    ("1.33", [1_748_476_800, 1_785_283_200, 1_816_819_200]), // 2025-05-29 2026-07-29 2027-07-29
    ("1.34", [1_759_363_200, 1_796_169_600, 1_827_705_600]), // 2025-10-02 2026-12-02 2027-12-02
    ("1.35", [1_769_472_000, 1_806_105_600, 1_837_728_000]), // 2026-01-27 2027-03-27 2028-03-27
    ("1.36", [1_780_358_400, 1_817_164_800, 1_848_787_200]), // 2026-06-02 2027-08-02 2028-08-02
];

/// Of a version: its release, the end of standard support, the end of extended support.
pub(crate) fn dates(minor: &str) -> [Time; 3] {
    let found = DATES.iter().find(|(known, _)| *known == minor);
    found.map_or([0; 3], |(_, dates)| *dates).map(|seconds| Time::from_millis(seconds * 1_000))
}

/// Days of releases, the newest last.
const DAYS: [&str; 3] = ["20260918", "20261023", "20261120"];
/// Kinds of images.
const TYPES: &[&str] = &[
    "AL2023_x86_64_STANDARD",
    "AL2023_ARM_64_STANDARD",
    "AL2023_x86_64_NVIDIA",
    "BOTTLEROCKET_x86_64",
    "BOTTLEROCKET_ARM_64",
];

/// One image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// Its id.
    pub(crate) id: String,
    /// Its kind.
    pub(crate) ami_type: &'static str,
    /// The minor version, such as `1.36`.
    pub(crate) minor: &'static str,
    /// The version of its kubelet, such as `1.36.2`.
    pub(crate) version: String,
    /// Its release, such as `1.36.2-20261120`.
    pub(crate) release: String,
    /// Whether it is the newest of its minor version.
    pub(crate) is_newest: bool,
    /// The day of the release, such as `20261120`.
    pub(crate) day: &'static str,
}

impl Image {
    /// When it was made.
    pub(crate) fn created(&self) -> String {
        format!("{}-{}-{}T00:00:00.000Z", &self.day[..4], &self.day[4..6], &self.day[6..])
    }

    /// `arm64` or `x86_64`.
    pub(crate) fn arch(&self) -> &'static str {
        if self.ami_type.contains("ARM") { "arm64" } else { "x86_64" }
    }

    /// Its name.
    pub(crate) fn name(&self) -> String {
        let Self { minor, day, .. } = self;
        match self.ami_type.starts_with("AL2023") {
            true => format!("amazon-eks-node-al2023-{}-standard-{minor}-v{day}", self.arch()),
            false => format!("bottlerocket-aws-k8s-{minor}-{}-v1.50.0-{day}", self.arch()),
        }
    }
}

/// All images.
pub(crate) fn images() -> impl Iterator<Item = Image> {
    VERSIONS.iter().flat_map(|(minor, patch)| {
        TYPES.iter().flat_map(move |ami_type| {
            DAYS.iter().enumerate().map(move |(at, day)| {
                let back = u32::try_from(DAYS.len() - 1 - at).unwrap_or(0).min(*patch);
                let version = format!("{minor}.{}", patch - back.min(1));
                let release = format!("{version}-{day}");
                let id = ec2_id("ami", &format!("{ami_type} {release}"));
                Image { id, ami_type, minor, version, release, is_newest: at + 1 == DAYS.len(), day }
            })
        })
    })
}

/// The image of an id.
pub(crate) fn image(id: &str) -> Option<Image> {
    images().find(|image| image.id == id)
}

/// The newest image of a kind and a minor version.
pub(crate) fn newest(ami_type: &str, minor: &str) -> Option<Image> {
    images().find(|image| image.is_newest && image.ami_type == ami_type && image.minor == minor)
}

/// The image that an SSM parameter is about, and what the parameter says of it.
pub(crate) fn parameter(name: &str) -> Option<(Image, String)> {
    images().filter(|image| image.is_newest).find_map(|image| {
        let path = AmiType::new(image.ami_type).image(image.minor);
        let base = path.strip_suffix("/image_id")?;
        match name.strip_prefix(base)?.strip_prefix('/')? {
            "image_id" => Some((image.clone(), image.id.clone())),
            "release_version" => Some((image.clone(), image.release.clone())),
            "image_version" => Some((image.clone(), image.release.clone())),
            "image_name" => Some((image.clone(), image.name())),
            _ => None,
        }
    })
}

/// The names of all parameters.
pub(crate) fn parameters() -> Vec<String> {
    let newest = images().filter(|image| image.is_newest);
    let paths = newest.flat_map(|image| {
        let path = AmiType::new(image.ami_type).image(image.minor).to_string();
        let base = path.trim_end_matches("/image_id").to_owned();
        let second = if image.ami_type.starts_with("AL2023") { "release_version" } else { "image_version" };
        [path, format!("{base}/{second}")]
    });
    paths.filter(|path| path.starts_with('/')).collect()
}

/// The minor version in a kubelet's: `1.36` of `v1.36.2-eks-1234`.
pub(crate) fn minor_of(version: &str) -> String {
    let mut parts = version.trim_start_matches('v').split('.');
    format!("{}.{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_lead_to_images_and_back() {
        let name =
            "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/recommended/image_id";
        let (found, id) = parameter(name).expect("it is published");
        assert_eq!(image(&id), Some(found.clone()));
        assert_eq!((&*found.release, found.is_newest), ("1.36.2-20261120", true));
        for name in parameters() {
            assert!(parameter(&name).is_some(), "{name}");
        }
        assert_eq!(parameter("/aws/service/eks/optimized-ami/1.1/x"), None);
        for (minor, _) in VERSIONS {
            let [release, standard, extended] = dates(minor);
            assert!(Time::from_millis(0) < release && release < standard && standard < extended, "{minor}");
        }
        let mut ids: Vec<String> = images().map(|image| image.id).collect();
        ids.sort();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }
}
