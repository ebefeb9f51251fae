//! Launch templates and their versions, as EC2 answers for them.

use std::collections::BTreeMap;

use replank_model::object::cloud::{LaunchTemplateRef, NodeGroup, VersionWord};
use serde_json::{Map, Value, json};

use super::filter::{Known, Pages, listed};
use super::launch::Wish;
use super::own::Account;
use super::templates::{Template, Version};
use crate::call::Reply;
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::text::moment;

const PAGES: Pages = Pages { min: 1, max: 200, default: 200 };
const TEMPLATES: Known = &[("create-time", "createTime"), ("launch-template-name", "launchTemplateName")];
const VERSIONS: Known = &[
    ("create-time", "createTime"),
    ("ebs-optimized", "launchTemplateData.ebsOptimized"),
    ("http-endpoint", "launchTemplateData.metadataOptions.httpEndpoint"),
    ("http-tokens", "launchTemplateData.metadataOptions.httpTokens"),
    ("iam-instance-profile", "launchTemplateData.iamInstanceProfile.arn"),
    ("image-id", "launchTemplateData.imageId"),
    ("instance-type", "launchTemplateData.instanceType"),
    ("is-default-version", "defaultVersion"),
    ("kernel-id", "launchTemplateData.kernelId"),
    ("ram-disk-id", "launchTemplateData.ramDiskId"),
];

impl Account {
    fn shown_template(&self, template: &Template) -> Value {
        let tags = self.tagged(&template.id, template.tags.clone().into_iter().collect());
        json!({"launchTemplateId": template.id, "launchTemplateName": template.name, "createTime": moment(template.created),
            "createdBy": format!("arn:aws:iam::{}:user/rehearsal", self.names.account()), "defaultVersionNumber": template.default,
            "latestVersionNumber": template.latest(), "tagSet": tags})
    }

    fn shown_version(&self, template: &Template, number: u64, version: &Version) -> Value {
        json!({"launchTemplateId": template.id, "launchTemplateName": template.name, "versionNumber": number,
            "versionDescription": version.description, "createTime": moment(version.created),
            "createdBy": format!("arn:aws:iam::{}:user/rehearsal", self.names.account()), "defaultVersion": number == template.default,
            "launchTemplateData": wire(&version.data)})
    }

    pub(crate) fn create_template(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let name = input.text("LaunchTemplateName").ok_or_else(|| {
            Fault::bad("MissingParameter", "The request must contain the parameter LaunchTemplateName")
        })?;
        if self.templates.by_id.values().any(|template| template.name == name) {
            return Err(Fault::bad(
                "InvalidLaunchTemplateName.AlreadyExistsException",
                "Launch template name already in use.",
            ));
        }
        let data = data_of(input)?;
        let description = input.text("VersionDescription").map(str::to_owned);
        let mut template = self.templates.create(name, data, description, region.now());
        let specs = input
            .inputs("TagSpecification")
            .filter(|spec| spec.text("ResourceType") == Some("launch-template"));
        for tag in specs.flat_map(|spec| spec.list("Tag")).map(Input) {
            template.tags.insert(
                tag.text("Key").unwrap_or_default().to_owned(),
                tag.text("Value").unwrap_or_default().to_owned(),
            );
        }
        self.templates.by_id.insert(template.id.clone(), template.clone());
        Ok(json!({"launchTemplate": self.shown_template(&template)}))
    }

    pub(crate) fn create_version(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let template = self.templates.find(input)?.clone();
        let given = data_of(input)?;
        let data = match input.text("SourceVersion") {
            None => given,
            Some(word) => {
                let source = json!({"LaunchTemplateId": template.id, "Version": word});
                let named = self.templates.named(Input(&source))?;
                let mut data = self.templates.data(&named.version).cloned().unwrap_or_default();
                if let (Some(all), Some(given)) = (data.as_object_mut(), given.as_object()) {
                    all.extend(given.clone());
                }
                data
            }
        };
        let number = template.latest() + 1;
        let version = Version {
            data,
            description: input.text("VersionDescription").map(str::to_owned),
            created: region.now(),
        };
        if let Some(own) = self.templates.by_id.get_mut(&template.id) {
            own.versions.insert(number, version.clone());
        }
        self.follow_template(region, &template.id)?;
        let template = self.templates.find(input)?;
        Ok(json!({"launchTemplateVersion": self.shown_version(template, number, &version)}))
    }

    pub(crate) fn modify_template(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let id = self.templates.find(input)?.id.clone();
        if let Some(word) = input.text("SetDefaultVersion").or(input.text("DefaultVersion")) {
            let asked = json!({"LaunchTemplateId": id, "Version": word});
            let number = self.templates.named(Input(&asked))?.version.version;
            if let Some(own) = self.templates.by_id.get_mut(&id) {
                own.default = number;
            }
            self.follow_template(region, &id)?;
        }
        Ok(json!({"launchTemplate": self.shown_template(self.templates.find(input)?)}))
    }

    /// Groups that name a template's version by a word launch the one that it means.
    fn follow_template(&mut self, region: &mut dyn Region, id: &str) -> Result<(), Fault> {
        let following =
            region.groups().into_iter().filter(|group| group.follows.is_some() && *group.current.id == *id);
        for group in following.collect::<Vec<_>>() {
            let mut changed = NodeGroup::clone(&group);
            let word = group.follows.map_or("$Default", VersionWord::as_str);
            let spec = json!({"LaunchTemplateId": id, "Version": word});
            let wish = Wish { zones: group.zones.clone(), ..Wish::default() };
            self.with_template(region, &mut changed, Input(&spec), &wish)?;
            region.put_group(changed);
        }
        Ok(())
    }

    pub(crate) fn delete_template(&mut self, region: &mut dyn Region, input: Input<'_>) -> Reply {
        let template = self.templates.find(input)?.clone();
        if region.groups().iter().any(|group| *group.current.id == *template.id) {
            return Err(Fault::bad(
                "InvalidParameterValue",
                format!(
                    "The launch template {} is used by an Auto Scaling group: the simulated cloud keeps it.",
                    template.id
                ),
            ));
        }
        self.templates.by_id.remove(&template.id);
        Ok(json!({"launchTemplate": self.shown_template(&template)}))
    }

    pub(crate) fn describe_templates(&mut self, input: Input<'_>) -> Reply {
        let (ids, names) = (input.texts("LaunchTemplateId"), input.texts("LaunchTemplateName"));
        for id in &ids {
            self.templates.find(Input(&json!({"LaunchTemplateId": id})))?;
        }
        for name in &names {
            self.templates.find(Input(&json!({"LaunchTemplateName": name})))?;
        }
        let all = self.templates.by_id.values().filter(|one| {
            (ids.is_empty() && names.is_empty()) || ids.contains(&one.id) || names.contains(&one.name)
        });
        let all = all.map(|one| (one.id.clone(), self.shown_template(one))).collect();
        listed(input, "launchTemplates", all, TEMPLATES, PAGES)
    }

    pub(crate) fn describe_versions(&mut self, input: Input<'_>) -> Reply {
        let words = input.texts("LaunchTemplateVersion");
        let templates: Vec<&Template> = if input.has("LaunchTemplateId") || input.has("LaunchTemplateName") {
            vec![self.templates.find(input)?]
        } else {
            // Versions of all templates are found by words alone.
            self.templates.by_id.values().collect()
        };
        let bound = |member: &str, template: &Template| -> Result<Option<u64>, Fault> {
            let Some(word) = input.text(member) else { return Ok(None) };
            let wrong = || Fault::bad("InvalidParameterValue", format!("{member} is no number: {word}"));
            match VersionWord::of(word) {
                Some(VersionWord::Latest) => Ok(Some(template.latest())),
                Some(VersionWord::Default) => Ok(Some(template.default)),
                None => word.parse().map(Some).map_err(|_| wrong()),
            }
        };
        let mut found: BTreeMap<String, Value> = BTreeMap::new();
        for template in templates {
            let mut numbers = Vec::new();
            for word in &words {
                let asked = json!({"LaunchTemplateId": template.id, "Version": word});
                numbers.push(self.templates.named(Input(&asked))?.version.version);
            }
            let (min, max) = (bound("MinVersion", template)?, bound("MaxVersion", template)?);
            for (number, version) in &template.versions {
                let is_within = min.is_none_or(|min| min <= *number) && max.is_none_or(|max| *number <= max);
                if is_within && (words.is_empty() || numbers.contains(number)) {
                    found.insert(
                        format!("{}/{:020}", template.id, u64::MAX - number),
                        self.shown_version(template, *number, version),
                    );
                }
            }
        }
        listed(input, "launchTemplateVersionSet", found.into_iter().collect(), VERSIONS, PAGES)
    }

    /// Deletes versions, one by one: each is told of alone. The default version stays, and so do those that a group has instances of, or launches.
    pub(crate) fn delete_versions(&mut self, region: &dyn Region, input: Input<'_>) -> Reply {
        let template = self.templates.find(input)?.clone();
        let words = input.texts("LaunchTemplateVersion");
        if words.is_empty() {
            return Err(Fault::bad(
                "MissingParameter",
                "The request must contain the parameter LaunchTemplateVersion",
            ));
        }
        let is_used = |number: u64| {
            let version = LaunchTemplateRef { id: template.id.as_str().into(), version: number };
            region.groups().iter().any(|group| group.templates.contains_key(&version))
        };
        let (mut done, mut failed) = (Vec::new(), Vec::new());
        for word in words {
            let number = word.parse().ok().filter(|number| template.versions.contains_key(number));
            let why = match number {
                None => Some((
                    "launchTemplateVersionDoesNotExist",
                    format!("The specified launch template version {word} does not exist"),
                )),
                Some(number) if number == template.default => Some((
                    "unexpectedError",
                    "The default version of a launch template cannot be deleted".to_owned(),
                )),
                Some(number) if is_used(number) => Some((
                    "unexpectedError",
                    "An Auto Scaling group has launched instances from the version: the simulated cloud keeps it"
                        .to_owned(),
                )),
                Some(_) => None,
            };
            let mut shown = json!({"launchTemplateId": template.id, "launchTemplateName": template.name, "versionNumber": number});
            match why {
                Some((code, message)) => {
                    shown["responseError"] = json!({"code": code, "message": message});
                    failed.push(shown);
                }
                None => {
                    if let (Some(own), Some(number)) = (self.templates.by_id.get_mut(&template.id), number) {
                        own.versions.remove(&number);
                    }
                    done.push(shown);
                }
            }
        }
        Ok(
            json!({"successfullyDeletedLaunchTemplateVersionSet": done, "unsuccessfullyDeletedLaunchTemplateVersionSet": failed}),
        )
    }
}

fn data_of(input: Input<'_>) -> Result<Value, Fault> {
    let data = input
        .get("LaunchTemplateData")
        .filter(|data| data.as_object().is_some_and(|members| !members.is_empty()));
    data.cloned().ok_or_else(|| {
        Fault::bad("MissingParameter", "The request must contain the parameter LaunchTemplateData")
    })
}

/// Data as it is answered: names begin small, and those of lists end in `Set`.
fn wire(data: &Value) -> Value {
    wire_in("", data)
}

/// The same, of what lies in a member.
fn wire_in(parent: &str, data: &Value) -> Value {
    match data {
        Value::Object(members) => {
            let one = |(name, value): (&String, &Value)| {
                let mut letters = name.chars();
                let small: String =
                    letters.next().into_iter().flat_map(char::to_lowercase).chain(letters).collect();
                let elements = wire_in(&small, value);
                match (&*small, parent, value.is_array()) {
                    (_, _, false) => (small, elements),
                    // The one list whose elements have a name of their own.
                    ("securityGroupId", "networkInterface", true) => {
                        ("groupSet".to_owned(), json!({"*groupId": elements}))
                    }
                    ("licenseSpecification", _, true) => ("licenseSet".to_owned(), elements),
                    (_, _, true) => (format!("{small}Set"), elements),
                }
            };
            Value::Object(members.iter().map(one).collect::<Map<_, _>>())
        }
        Value::Array(all) => Value::Array(all.iter().map(|one| wire_in(parent, one)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => data.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_a_launch_template_have_the_names_that_clients_look_for() {
        let interface = json!({"DeviceIndex": "0", "SecurityGroupId": ["sg-1"], "Ipv4Prefix": [{"Ipv4Prefix": "10.0.0.0/28"}]});
        let asked = json!({"SecurityGroupId": ["sg-2"], "NetworkInterface": [interface], "LicenseSpecification": [{"LicenseConfigurationArn": "arn"}],
            "InstanceRequirements": {"CpuManufacturer": ["intel"], "VCpuCount": {"Min": "2"}}});
        let shown = json!({"deviceIndex": "0", "groupSet": {"*groupId": ["sg-1"]}, "ipv4PrefixSet": [{"ipv4Prefix": "10.0.0.0/28"}]});
        assert_eq!(
            wire(&asked),
            json!({"securityGroupIdSet": ["sg-2"], "networkInterfaceSet": [shown], "licenseSet": [{"licenseConfigurationArn": "arn"}],
                "instanceRequirements": {"cpuManufacturerSet": ["intel"], "vCpuCount": {"min": "2"}}})
        );
    }
}
