//! Which versions of EKS add-ons go with which version of the control plane, and so when each is updated.
//!
//! EKS never updates an add-on by itself (EKS user guide "Update an Amazon EKS add-on"), and asks for one minor version at a time (of
//! the Amazon VPC CNI: "Update the Amazon VPC CNI"). What goes together only `describe-addon-versions` says. Where nobody
//! has asked it, the answer is that it is not known.

use replank_model::text::Text;

use super::addon_version::AddonVersion;
use super::facts::{IsDefault, Offered};
use super::minor::Minor;

/// What is done about an add-on for one version of the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Advice {
    /// Nothing: it goes with it.
    Stays,
    /// It is updated while the control plane still runs the version before, one version after the other: each goes with both.
    Before(Vec<AddonVersion>),
    /// It is updated as soon as the control plane runs it: no version goes with both.
    After(Vec<AddonVersion>),
    /// EKS offers no version that goes with it.
    Nothing,
    /// Nobody has said which versions go with it.
    Unknown,
}

/// What is done about an add-on for a step of the control plane.
#[must_use]
pub fn for_hop(current: &AddonVersion, offered: Option<&[Offered]>, from: Minor, to: Minor) -> Advice {
    let Some(offered) = offered.filter(|offered| says_of(offered, to)) else { return Advice::Unknown };
    if goes(offered, current, to) {
        return Advice::Stays;
    }
    let both = |one: &&Offered| one.goes_with.contains_key(&from) && one.goes_with.contains_key(&to);
    let newer = |one: &&Offered| one.version > *current;
    // The smallest step that is enough: what is not needed is left to the end.
    if let Some(goal) = offered.iter().filter(both).filter(newer).map(|one| &one.version).min() {
        return Advice::Before(ladder(current, newest_of_minor(offered, goal, &[from, to]), offered, from));
    }
    match best(offered, to).filter(|goal| **goal > *current) {
        Some(goal) => Advice::After(ladder(current, goal, offered, to)),
        None => Advice::Nothing,
    }
}

/// What is done at the end, on the version that was wanted: the default of EKS, where that is newer.
#[must_use]
pub fn at_the_end(current: &AddonVersion, offered: Option<&[Offered]>, at: Minor) -> Advice {
    let Some(offered) = offered.filter(|offered| says_of(offered, at)) else { return Advice::Unknown };
    match best(offered, at) {
        Some(goal) if goal > current => Advice::After(ladder(current, goal, offered, at)),
        Some(_) if goes(offered, current, at) => Advice::Stays,
        Some(_) | None => Advice::Nothing,
    }
}

/// Whether the answers say anything of a version: those of another version do not.
fn says_of(offered: &[Offered], at: Minor) -> bool {
    offered.iter().any(|one| one.goes_with.keys().any(|known| *known >= at)) || offered.is_empty()
}

fn goes(offered: &[Offered], version: &AddonVersion, with: Minor) -> bool {
    offered.iter().any(|one| one.version == *version && one.goes_with.contains_key(&with))
}

/// The default of a version, or else the newest that goes with it.
fn best(offered: &[Offered], with: Minor) -> Option<&AddonVersion> {
    let going = || offered.iter().filter(move |one| one.goes_with.contains_key(&with));
    let default = going().find(|one| one.goes_with.get(&with) == Some(&IsDefault::Default));
    default.map(|one| &one.version).or_else(|| going().map(|one| &one.version).max())
}

/// The newest build of the same minor version that goes with all of these.
fn newest_of_minor<'o>(offered: &'o [Offered], goal: &'o AddonVersion, with: &[Minor]) -> &'o AddonVersion {
    let same = offered.iter().filter(|one| one.version.minor() == goal.minor());
    let going = same.filter(|one| with.iter().all(|minor| one.goes_with.contains_key(minor)));
    going.map(|one| &one.version).max().unwrap_or(goal)
}

/// From one version to another, by the newest of every minor version between that goes with the control plane as it is.
fn ladder(current: &AddonVersion, goal: &AddonVersion, offered: &[Offered], at: Minor) -> Vec<AddonVersion> {
    let mut steps: Vec<AddonVersion> = Vec::new();
    let mut between: Vec<&AddonVersion> = offered
        .iter()
        .filter(|one| one.goes_with.contains_key(&at))
        .map(|one| &one.version)
        .filter(|version| version.minor() > current.minor() && version.minor() < goal.minor())
        .collect();
    between.sort();
    for version in between {
        match steps.last_mut() {
            Some(last) if last.minor() == version.minor() => *last = version.clone(),
            Some(_) | None => steps.push(version.clone()),
        }
    }
    steps.push(goal.clone());
    steps
}

/// Names of the add-ons that EKS puts into every cluster, and the DaemonSets and Deployments in kube-system that they are.
pub const CORE: &[(&str, &str, &str)] = &[
    ("vpc-cni", "DaemonSet", "aws-node"),
    ("kube-proxy", "DaemonSet", "kube-proxy"),
    ("coredns", "Deployment", "coredns"),
];

/// An add-on of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addon {
    /// Name, as EKS calls it.
    pub name: Text,
    /// What runs, where it is known.
    pub version: Option<AddonVersion>,
    /// Whether EKS keeps it (`describe-addon`), or it was only seen among the workloads.
    pub kept: Kept,
}

/// Who keeps an add-on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// EKS, as a managed add-on.
    ByEks,
    /// Applied from manifests; or unknown.
    BySomebody,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> AddonVersion {
        AddonVersion::of(text).expect("a version")
    }

    /// `(version, the control planes it goes with, the one of which it is the default)`
    fn offered(rows: &[(&str, &[u64], u64)]) -> Vec<Offered> {
        let row = |(text, with, default): &(&str, &[u64], u64)| Offered {
            version: version(text),
            goes_with: with
                .iter()
                .map(|minor| {
                    (Minor(*minor), if minor == default { IsDefault::Default } else { IsDefault::Other })
                })
                .collect(),
        };
        rows.iter().map(row).collect()
    }

    fn told(advice: &Advice) -> String {
        let all = |versions: &[AddonVersion]| {
            versions.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        };
        match advice {
            Advice::Stays => "stays".to_owned(),
            Advice::Before(versions) => format!("before: {}", all(versions)),
            Advice::After(versions) => format!("after: {}", all(versions)),
            Advice::Nothing => "nothing".to_owned(),
            Advice::Unknown => "unknown".to_owned(),
        }
    }

    #[test]
    fn a_version_that_goes_with_both_is_taken_before_the_step() {
        let all = offered(&[
            ("v1.17.1-eksbuild.1", &[31, 32], 31),
            ("v1.18.0-eksbuild.1", &[32, 33], 0),
            ("v1.18.3-eksbuild.2", &[32, 33], 32),
            ("v1.19.2-eksbuild.1", &[33, 34], 33),
            ("v1.21.0-eksbuild.1", &[34, 35], 34),
        ]);
        let at =
            |current: &str, from, to| told(&for_hop(&version(current), Some(&all), Minor(from), Minor(to)));
        assert_eq!(at("v1.18.3-eksbuild.2", 32, 33), "stays");
        assert_eq!(
            at("v1.17.1-eksbuild.1", 32, 33),
            "before: v1.18.3-eksbuild.2",
            "the newest build of the nearest minor version"
        );
        assert_eq!(at("v1.18.3-eksbuild.2", 33, 34), "before: v1.19.2-eksbuild.1");
        assert_eq!(at("v1.19.2-eksbuild.1", 34, 35), "before: v1.21.0-eksbuild.1");
        assert_eq!(at("v1.21.0-eksbuild.1", 35, 36), "unknown", "the file says nothing of 1.36");
        assert_eq!(told(&for_hop(&version("v1.21.0-eksbuild.1"), None, Minor(35), Minor(36))), "unknown");
    }

    #[test]
    fn one_that_goes_with_the_next_only_is_taken_right_after_it() {
        let all = offered(&[
            ("v1.32.0-eksbuild.2", &[32], 32),
            ("v1.33.0-eksbuild.2", &[33], 33),
            ("v1.33.3-eksbuild.4", &[33], 0),
        ]);
        let hop = for_hop(&version("v1.32.0-eksbuild.2"), Some(&all), Minor(32), Minor(33));
        assert_eq!(told(&hop), "after: v1.33.0-eksbuild.2", "the default");
    }

    #[test]
    fn minor_versions_are_gone_one_at_a_time() {
        let all = offered(&[
            ("v1.15.0-eksbuild.1", &[29], 29),
            ("v1.16.0-eksbuild.1", &[29, 30], 0),
            ("v1.16.4-eksbuild.2", &[29, 30], 0),
            ("v1.17.1-eksbuild.1", &[29, 30], 30),
            ("v1.18.1-eksbuild.1", &[30], 0),
        ]);
        let end = at_the_end(&version("v1.15.0-eksbuild.1"), Some(&all), Minor(30));
        assert_eq!(told(&end), "after: v1.16.4-eksbuild.2, v1.17.1-eksbuild.1");
        assert_eq!(told(&at_the_end(&version("v1.17.1-eksbuild.1"), Some(&all), Minor(30))), "stays");
        assert_eq!(
            told(&at_the_end(&version("v1.18.1-eksbuild.1"), Some(&all), Minor(30))),
            "stays",
            "it is newer than the default"
        );
    }

    #[test]
    fn nothing_that_goes_is_said_and_not_guessed() {
        let all = offered(&[("v1.15.0-eksbuild.1", &[29, 31], 29)]);
        assert_eq!(
            told(&for_hop(&version("v1.14.0-eksbuild.1"), Some(&all), Minor(29), Minor(30))),
            "nothing"
        );
        assert_eq!(
            told(&for_hop(&version("v1.15.0-eksbuild.1"), Some(&[]), Minor(29), Minor(30))),
            "nothing"
        );
    }
}
