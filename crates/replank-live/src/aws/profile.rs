//! Profiles: `~/.aws/config` and `~/.aws/credentials`, or the files of `AWS_CONFIG_FILE` and `AWS_SHARED_CREDENTIALS_FILE`.

use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is said of each profile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Profiles(BTreeMap<String, BTreeMap<String, String>>);

impl Profiles {
    /// Reads both files; one that is not there says nothing.
    pub(super) fn read() -> Self {
        let mut all = Self::default();
        for (variable, name, is_config) in
            [("AWS_CONFIG_FILE", "config", true), ("AWS_SHARED_CREDENTIALS_FILE", "credentials", false)]
        {
            let file = std::env::var_os(variable).filter(|file| !file.is_empty()).map(PathBuf::from);
            let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".aws").join(name));
            let text = file.or_else(home).and_then(|file| std::fs::read_to_string(file).ok());
            all.add(&text.unwrap_or_default(), is_config);
        }
        all
    }

    /// Sections are `[profile NAME]` in the one file and `[NAME]` in the other; `[default]` in both. What is indented belongs to the line before it.
    fn add(&mut self, text: &str, is_config: bool) {
        let mut present: Option<String> = None;
        for line in text.lines() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) || line.starts_with([' ', '\t']) {
                continue;
            }
            if let Some(section) = trimmed.strip_prefix('[').and_then(|rest| rest.split(']').next()) {
                let section = section.trim();
                let name = match section.strip_prefix("profile ") {
                    Some(name) if is_config => Some(name.trim()),
                    Some(_) => None,
                    None => Some(section).filter(|section| !is_config || *section == "default"),
                };
                present = name.map(|name| name.trim_matches('"').to_owned());
                if let Some(name) = &present {
                    self.0.entry(name.clone()).or_default();
                }
                continue;
            }
            if let (Some(name), Some((key, value))) = (&present, trimmed.split_once('=')) {
                let value = value.split(" #").next().unwrap_or_default().trim();
                let section = self.0.entry(name.clone()).or_default();
                section.insert(key.trim().to_ascii_lowercase(), value.to_owned());
            }
        }
    }

    pub(super) fn has(&self, profile: &str) -> bool {
        self.0.contains_key(profile)
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// What a profile says under a key.
    pub(super) fn get(&self, profile: &str, key: &str) -> Option<&str> {
        self.0.get(profile)?.get(key).map(String::as_str).filter(|value| !value.is_empty())
    }
}

#[cfg(test)]
impl Profiles {
    /// Those of a configuration.
    pub(super) fn of_config(text: &str) -> Self {
        let mut all = Self::default();
        all.add(text, true);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_files_are_read_as_the_cli_reads_them() {
        let mut all = Profiles::default();
        all.add("# x\n[default]\nregion = eu-west-1\n\n[profile \"ops\"]\nrole_arn=arn:aws:iam::1:role/ops\nsource_profile = default\ns3 =\n  max = 3\n[other]\nregion=x\n", true);
        all.add("[default]\naws_access_key_id = AK\naws_secret_access_key = s=c/r # mine\n[raw]\naws_access_key_id=B\n", false);
        assert_eq!(all.names(), ["default", "ops", "raw"]);
        assert_eq!(all.get("default", "region"), Some("eu-west-1"));
        assert_eq!(all.get("default", "aws_secret_access_key"), Some("s=c/r"));
        assert_eq!(all.get("ops", "source_profile"), Some("default"));
        assert_eq!((all.get("ops", "max"), all.get("other", "region")), (None, None));
        assert!(all.has("raw") && !all.has("other"));
    }
}
