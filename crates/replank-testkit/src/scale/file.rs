//! A story's file: a title, what is shown and where the rule comes from, sections, the expected decision last.

use anyhow::{Context, bail};

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(super) struct Story {
    pub(super) cluster: String,
    pub(super) objects: String,
    groups: Vec<(usize, String)>,
    flags: Vec<(usize, String)>,
    memory: Vec<(usize, String)>,
    pub(super) prices: String,
    pub(super) expected: String,
    head: String,
}

const SECTIONS: [&str; 7] = ["cluster", "objects", "groups", "flags", "memory", "prices", "expect"];
/// A line in the head that says where a rule or a complaint comes from.
const SOURCE: &str = "Source: ";

impl Story {
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let mut story = Self::default();
        let mut section = "";
        let mut has_source = false;
        for (at, line) in text.lines().enumerate() {
            let number = at + 1;
            if section == "expect" {
                story.expected.push_str(line);
                story.expected.push('\n');
                continue;
            }
            if let Some(name) = line.strip_prefix("-- ").and_then(|line| line.strip_suffix(" --")) {
                section = SECTIONS.into_iter().find(|known| *known == name).with_context(|| {
                    format!(
                        "line {number}: unknown section {name:?}: expected one of {}",
                        SECTIONS.join(", ")
                    )
                })?;
                if section != "expect" {
                    story.head.push_str(line);
                    story.head.push('\n');
                }
                continue;
            }
            story.head.push_str(line);
            story.head.push('\n');
            let is_meant = !line.trim().is_empty() && !line.starts_with('#');
            match section {
                "" => has_source |= line.starts_with(SOURCE),
                "cluster" => story.cluster.push_str(&format!("{line}\n")),
                "objects" => story.objects.push_str(&format!("{line}\n")),
                "prices" => story.prices.push_str(&format!("{line}\n")),
                "groups" if is_meant => story.groups.push((number, line.trim().to_owned())),
                "flags" if is_meant => story.flags.push((number, line.trim().to_owned())),
                "memory" if is_meant => story.memory.push((number, line.trim().to_owned())),
                _ => {}
            }
        }
        if !text.starts_with("# ") {
            bail!("line 1: expected a title, `# Like this`");
        }
        if !has_source {
            bail!(
                "expected a line `{SOURCE}…` above the first section: where the rule or the complaint comes from"
            );
        }
        Ok(story)
    }

    pub(super) fn renewed(&self, found: &str) -> String {
        format!("{}-- expect --\n{found}", self.head)
    }

    pub(super) fn groups(&self) -> Vec<(usize, &str)> {
        self.groups.iter().map(|(number, line)| (*number, line.as_str())).collect()
    }

    pub(super) fn memory(&self) -> Vec<(usize, &str)> {
        self.memory.iter().map(|(number, line)| (*number, line.as_str())).collect()
    }

    pub(super) fn flags(&self) -> impl Iterator<Item = String> {
        // A blank within a flag is written as `_`.
        self.flags.iter().flat_map(|(_, line)| line.split(' ').map(|flag| flag.replace('_', " ")))
    }
}
