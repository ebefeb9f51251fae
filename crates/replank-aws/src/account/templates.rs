//! Launch templates, as they are kept.

use std::collections::BTreeMap;

use replank_model::object::cloud::{LaunchTemplateRef, VersionWord};
use replank_model::text::Text;
use replank_model::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fault::Fault;
use crate::input::Input;
use crate::text::ec2_id;

/// All launch templates, by their ids.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Templates {
    pub(crate) by_id: BTreeMap<String, Template>,
    pub(crate) count: u64,
}

/// A launch template.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Template {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) created: Time,
    pub(crate) default: u64,
    pub(crate) versions: BTreeMap<u64, Version>,
    pub(crate) tags: BTreeMap<String, String>,
}

/// A version of one: its data as EC2 answers it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Version {
    pub(crate) data: Value,
    pub(crate) description: Option<String>,
    pub(crate) created: Time,
}

impl Template {
    pub(crate) fn latest(&self) -> u64 {
        self.versions.keys().next_back().copied().unwrap_or(1)
    }
}

/// A version of a launch template that a group names, and the word that it is named by.
pub(crate) struct Named {
    pub(crate) version: LaunchTemplateRef,
    pub(crate) word: Option<VersionWord>,
}

impl Templates {
    /// The template of an id or a name.
    pub(crate) fn find(&self, input: Input<'_>) -> Result<&Template, Fault> {
        if let Some(id) = input.text("LaunchTemplateId").or(input.text("id")) {
            return self.by_id.get(id).ok_or_else(|| {
                Fault::bad(
                    "InvalidLaunchTemplateId.NotFound",
                    format!("The specified launch template, with template ID {id}, does not exist."),
                )
            });
        }
        let name = input.text("LaunchTemplateName").or(input.text("name"));
        let Some(name) = name else {
            return Err(Fault::bad(
                "MissingParameter",
                "Either the launch template ID or the launch template name has to be named.",
            ));
        };
        let found = self.by_id.values().find(|template| template.name == name);
        found.ok_or_else(|| {
            Fault::bad(
                "InvalidLaunchTemplateName.NotFoundException",
                format!("The specified launch template, with template name {name}, does not exist."),
            )
        })
    }

    /// The version that a specification names: `$Default` where it names none.
    pub(crate) fn named(&self, spec: Input<'_>) -> Result<Named, Fault> {
        let template = self.find(spec)?;
        let word = spec.text("Version").or(spec.text("version")).unwrap_or(VersionWord::Default.as_str());
        let known = VersionWord::of(word);
        let number = match known {
            Some(VersionWord::Latest) => template.latest(),
            Some(VersionWord::Default) => template.default,
            None => word.parse().ok().filter(|number| template.versions.contains_key(number)).ok_or_else(
                || {
                    Fault::bad(
                        "InvalidLaunchTemplateId.VersionNotFound",
                        format!("Could not find launch template version {word}"),
                    )
                },
            )?,
        };
        Ok(Named {
            version: LaunchTemplateRef { id: Text::from(&*template.id), version: number },
            word: known,
        })
    }

    pub(crate) fn data(&self, version: &LaunchTemplateRef) -> Option<&Value> {
        Some(&self.by_id.get(&*version.id)?.versions.get(&version.version)?.data)
    }

    /// Makes a template with a first version.
    pub(crate) fn create(
        &mut self,
        name: &str,
        data: Value,
        description: Option<String>,
        now: Time,
    ) -> Template {
        self.count += 1;
        let id = ec2_id("lt", &format!("{name}/{}/{}", self.count, now.as_millis()));
        let template = Template {
            id: id.clone(),
            name: name.to_owned(),
            created: now,
            default: 1,
            versions: [(1, Version { data, description, created: now })].into(),
            tags: BTreeMap::new(),
        };
        self.by_id.insert(id, template.clone());
        template
    }
}
