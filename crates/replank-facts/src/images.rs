//! Releases of EKS's images: which were published, which one a node runs, and which somebody does not want.
//!
//! Nodes do not name their release. What they show (kubelet, operating system, kernel) fits one release of the table, or several that differ in nothing
//! that a node shows.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use replank_model::object::cloud::AmiType;
use replank_model::object::node::{LABEL_EKS_IMAGE, Node};
use serde::{Deserialize, Serialize};

use crate::release::ReleaseVersion;

/// The day of the built-in table.
pub const IMAGES_DATE: &str = "2026-07-21";
/// Amazon Linux 2023, x86_64, standard; of the changelog of awslabs/amazon-eks-ami.
const TABLE: &str = include_str!("../data/eks-images.tsv");

/// A release of the image for one minor version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// Such as `1.36.2-20260714`: what EKS calls `releaseVersion`.
    #[serde(rename = "releaseVersion")]
    pub version: Cow<'static, str>,
    /// Whether it was abandoned for the next one.
    #[serde(default)]
    pub abandoned: bool,
    /// Version of Amazon Linux, such as `2023.12.20260710`.
    #[serde(rename = "amazonLinux")]
    pub system: Cow<'static, str>,
    /// Kernel, without what says that it is Amazon's, where the table has it.
    #[serde(default)]
    kernel: Option<Cow<'static, str>>,
    /// Version of containerd.
    pub containerd: Cow<'static, str>,
}

impl Release {
    fn read(line: &'static str) -> Option<Self> {
        let mut fields = line.split('\t').map(Cow::Borrowed);
        let mut next = || fields.next();
        Some(Self {
            version: next()?,
            abandoned: next()? == "abandoned",
            system: next()?,
            kernel: next().map(|kernel| (kernel != "-").then_some(kernel))?,
            containerd: next()?,
        })
    }

    /// Its kubelet, such as `1.36.2`.
    #[must_use]
    pub fn kubelet(&self) -> &str {
        self.version.split_once('-').map_or(&*self.version, |(kubelet, _)| kubelet)
    }

    /// Its day, such as `20260714`.
    #[must_use]
    pub fn day(&self) -> &str {
        self.version.split_once('-').map_or("", |(_, day)| day)
    }

    /// Its minor version, such as `1.36`.
    #[must_use]
    pub fn minor(&self) -> &str {
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
        let has_kernel =
            kernel.is_empty() || self.kernel.as_ref().is_none_or(|own| kernel.starts_with(&**own));
        info.os_image.strip_prefix("Amazon Linux ") == Some(&*self.system)
            && kubelet == self.kubelet()
            && has_kernel
    }
}

/// Releases, the newest first, and the day as of which they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Releases {
    rows: Vec<Release>,
    date: String,
}

/// Why a table of releases cannot be taken in.
#[derive(Debug, thiserror::Error)]
pub enum NotReleases {
    /// It is of another form.
    #[error(transparent)]
    Form(#[from] serde_json::Error),
    /// A row names no release.
    #[error("{0:?} is not a release such as 1.36.2-20260714")]
    Version(String),
}

impl Releases {
    /// The built-in table.
    #[must_use]
    pub fn embedded() -> Self {
        let rows = TABLE.lines().filter(|line| !line.starts_with('#')).filter_map(Release::read).collect();
        Self { rows, date: IMAGES_DATE.to_owned() }
    }

    /// Rows that replace those of the same release, and more of them: in JSON, as `replank data --table images -o json` prints them. Of two rows for one release the last
    /// counts. What is known is as new as the newest row. How many were taken in.
    ///
    /// # Errors
    /// Where the text is of another form; nothing is taken in then.
    pub fn overlay(&mut self, text: &str) -> Result<usize, NotReleases> {
        let more: Vec<Release> = serde_json::from_str(text)?;
        if let Some(wrong) = more.iter().find(|one| one.version.parse::<ReleaseVersion>().is_err()) {
            return Err(NotReleases::Version(wrong.version.to_string()));
        }
        // Of two for one release, the last counts.
        let versions = more.iter().enumerate().map(|(at, one)| (one.version.clone(), at));
        let last: BTreeMap<Cow<'static, str>, usize> = versions.collect();
        self.rows.retain(|row| !last.contains_key(&row.version));
        let more = more.into_iter().enumerate().filter(|(at, one)| last.get(&one.version) == Some(at));
        self.rows.extend(more.map(|(_, one)| one));
        let count = last.len();
        self.rows.sort_by(|a, b| b.day().cmp(a.day()));
        if let Some(newest) = self.rows.first().map(Release::day).filter(|day| day.len() == 8) {
            let date = format!("{}-{}-{}", &newest[..4], &newest[4..6], &newest[6..]);
            if date > self.date {
                self.date = date;
            }
        }
        Ok(count)
    }

    /// All of them, the newest first.
    #[must_use]
    pub fn rows(&self) -> &[Release] {
        &self.rows
    }

    /// As of which day they are known: `2026-07-21`.
    #[must_use]
    pub fn date(&self) -> &str {
        &self.date
    }
}

/// The day of the release that a node shows, where what it shows fits one release of the built-in table only.
#[must_use]
pub fn day_shown(node: &Node) -> Option<String> {
    let all = Releases::embedded();
    let mut fitting = all.rows().iter().filter(|release| release.fits(node));
    let only = fitting.next()?;
    fitting.next().is_none().then(|| only.day().to_owned())
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
            Self::Release(version) => release.version == *version,
            Self::Day(day) => release.day() == day,
        }
    }

    /// Whether a release is meant that a plan or a launch template names. The patch is not looked at: there is one release a day for a minor version.
    #[must_use]
    pub fn is_release(&self, release: &ReleaseVersion) -> bool {
        match self {
            Self::Image(_) => false,
            Self::Release(version) => version.parse().is_ok_and(|own: ReleaseVersion| own.is_same(release)),
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

/// Why a word names no image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no image: expected ami-…, a release version such as 1.36.2-20260714, or the day of a release such as v20260714"
)]
pub struct NotImage;

impl FromStr for Which {
    type Err = NotImage;

    fn from_str(word: &str) -> Result<Self, NotImage> {
        if word.starts_with("ami-") {
            return Ok(Self::Image(word.to_owned()));
        }
        if word.contains('-') {
            return word
                .parse::<ReleaseVersion>()
                .map(|_| Self::Release(word.to_owned()))
                .map_err(|_| NotImage);
        }
        let day = word.strip_prefix('v').unwrap_or(word);
        if AmiType::is_day(day) { Ok(Self::Day(day.to_owned())) } else { Err(NotImage) }
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

/// Reads a list: on each line an image (`ami-…`, `1.36.2-20260714`, `v20260714`) and why. A line that begins with `#` is a comment; a reason may begin with it, too.
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
        let (word, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let reason = uncommented(reason.trim());
        if reason.is_empty() {
            return Err(wrong(format!("{word:?} has no reason: write why after it")));
        }
        let which = word.parse().map_err(|NotImage| {
            wrong(format!(
                "{word:?} is no image: write ami-…, a release version such as 1.36.2-20260714, or the day of a release such as v20260714"
            ))
        })?;
        all.push(BadImage { which, reason: reason.to_owned() });
    }
    Ok(all)
}

/// Who writes the reason as a comment means it all the same. A `#` that a word follows at once is part of it, as in a ticket's number.
fn uncommented(reason: &str) -> &str {
    let rest = reason.trim_start_matches('#');
    if rest.is_empty() || rest.starts_with(char::is_whitespace) { rest.trim_start() } else { reason }
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
        let table = Releases::embedded();
        let all = table.rows();
        assert_eq!(all.len(), TABLE.lines().count() - 2);
        assert!(all.iter().all(|one| one.day().len() == 8
            && one.system.starts_with("2023.")
            && !one.containerd.is_empty()));
        assert!(all.is_sorted_by(|a, b| a.day() >= b.day()));
        assert_eq!((&*all[0].version, all[0].minor()), ("1.36.2-20260714", "1.36"));
        let abandoned: Vec<&str> = all
            .iter()
            .filter(|one| one.abandoned && one.minor() == "1.35")
            .map(|one| &*one.version)
            .collect();
        assert_eq!(abandoned, ["1.35.2-20260311", "1.35.0-20260128"]);
    }

    #[test]
    fn a_node_is_known_by_what_it_shows() {
        let of = |kubelet: &str, system: &str, kernel: &str| {
            let node = node(kubelet, system, kernel);
            let table = Releases::embedded();
            let fitting = table.rows().iter().filter(|one| one.fits(&node)).map(|one| one.version.clone());
            fitting.collect::<Vec<_>>()
        };
        let kernel = "6.12.94-123.180.amzn2023.x86_64";
        assert_eq!(of("v1.35.6-eks-0123456", "Amazon Linux 2023.12.20260710", kernel), ["1.35.6-20260714"]);
        assert_eq!(of("v1.35.5-eks-0123456", "Amazon Linux 2023.12.20260710", kernel), [""; 0]);
        assert_eq!(of("v1.35.6-eks-0123456", "Amazon Linux 2023.12.20260710", "6.1.1"), [""; 0]);
        assert_eq!(of("v1.35.6-eks-0123456", "Bottlerocket OS 1.50.0", kernel), [""; 0]);
        let shown =
            |kubelet: &str, kernel: &str| day_shown(&node(kubelet, "Amazon Linux 2023.12.20260710", kernel));
        assert_eq!(shown("v1.35.6-eks-0123456", kernel).as_deref(), Some("20260714"));
        assert_eq!(shown("v1.35.5-eks-0123456", kernel), None);
    }

    #[test]
    fn rows_replace_those_of_the_same_release_and_make_the_table_newer() {
        let mut table = Releases::embedded();
        let count = table.rows().len();
        let rows = r#"[{"releaseVersion": "1.35.6-20260714", "abandoned": true, "amazonLinux": "2023.12.20260710", "kernel": "6.12.94-123.180", "containerd": "2.2.4"},
            {"releaseVersion": "1.36.9-20261101", "amazonLinux": "2023.14.20261020", "containerd": "2.2.9"}]"#;
        assert_eq!(table.overlay(rows).expect("it is of the form"), 2);
        assert_eq!((table.rows().len(), table.date()), (count + 1, "2026-11-01"));
        assert_eq!(&*table.rows()[0].version, "1.36.9-20261101");
        let july = table.rows().iter().filter(|one| one.version == "1.35.6-20260714").collect::<Vec<_>>();
        assert!(july.len() == 1 && july[0].abandoned);
        let before = table.clone();
        let wrong = r#"[{"releaseVersion": "20261101", "amazonLinux": "x", "containerd": "y"}]"#;
        assert_eq!(
            table.overlay(wrong).unwrap_err().to_string(),
            "\"20261101\" is not a release such as 1.36.2-20260714"
        );
        assert_eq!(table, before);
    }

    #[test]
    fn of_two_rows_for_one_release_the_last_counts() {
        let mut table = Releases::embedded();
        let count = table.rows().len();
        let row = |containerd: &str, version: &str| {
            format!(
                r#"{{"releaseVersion": "{version}", "amazonLinux": "2023.14.20261020", "containerd": "{containerd}"}}"#
            )
        };
        let [first, other, last] =
            [("1", "1.36.9-20261101"), ("2", "1.35.9-20261101"), ("3", "1.36.9-20261101")]
                .map(|(containerd, version)| row(containerd, version));
        assert_eq!(table.overlay(&format!("[{first}, {other}, {last}]")).expect("it is of the form"), 2);
        assert_eq!(table.rows().len(), count + 2);
        let new: Vec<&str> = table.rows()[..2].iter().map(|one| &*one.containerd).collect();
        assert_eq!(new, ["2", "3"]);
    }

    #[test]
    fn what_is_printed_can_be_taken_in_again() {
        let table = Releases::embedded();
        let mut again = Releases { rows: Vec::new(), date: IMAGES_DATE.to_owned() };
        again.overlay(&serde_json::to_string(table.rows()).expect("plain data")).expect("it is of the form");
        assert_eq!(again, table);
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
        let commented =
            read("ami-1  # bad\nami-2 hangs, see #17\nami-3 ##  slow # from time to time\nami-4 #1234 hangs\nami-5 # #17\n")
                .expect("right");
        let reasons: Vec<&str> = commented.iter().map(|bad| &*bad.reason).collect();
        assert_eq!(reasons, ["bad", "hangs, see #17", "slow # from time to time", "#1234 hangs", "#17"]);
        assert_eq!(
            read("ami-1 no\nami-2 #").unwrap_err().to_string(),
            "line 2: \"ami-2\" has no reason: write why after it"
        );
        for word in ["v20261301", "1.35.6-2026071", "1.35.6-20260714-x", "x", ""] {
            assert_eq!(word.parse::<Which>(), Err(NotImage), "{word}");
        }
    }

    #[test]
    fn a_list_means_a_release_for_one_minor_version_or_for_all() {
        let is = |word: &str, release: &str| {
            let which: Which = word.parse().expect("it names an image");
            which.is_release(&release.parse().expect("a release"))
        };
        assert!(is("1.36.2-20260714", "1.36.2-20260714") && is("v20260714", "1.35.6-20260714"));
        assert!(is("1.36.2-20260714", "1.36.1-20260714"), "one release a day: the patch may be a guess");
        assert!(!is("1.36.2-20260714", "1.35.6-20260714") && !is("v20260714", "1.36.2-20260625"));
        assert!(!is("ami-1", "1.36.2-20260714"));
    }
}
