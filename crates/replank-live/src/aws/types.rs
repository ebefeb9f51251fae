//! Instance types: what EC2 says of them, and which of them meet what a group requires.

use std::collections::BTreeSet;

use replank_model::text::Text;
use serde_json::{Map, Value, json};

use super::account::Aws;
use super::answer::{list, taken, template_of, text};
use super::client::Manner;
use super::error::AwsError;
use super::service::Service;

/// Types in a call: EC2 takes 200 values of a filter, and shows 100 types on a page.
const TYPES_MAX: usize = 100;

impl Aws {
    /// What EC2 says of instance types, as `aws ec2 describe-instance-types` prints it. One that does not exist is absent.
    ///
    /// # Errors
    /// Where not everything can be read.
    pub async fn instance_types(&self, names: &BTreeSet<Text>) -> Result<Value, AwsError> {
        let names: Vec<&str> = names.iter().map(|name| &**name).collect();
        let mut all = Vec::new();
        for names in names.chunks(TYPES_MAX) {
            // By a filter: a name that EC2 does not know would make it refuse the whole call.
            let params =
                json!({"Filter": [{"Name": "instance-type", "Value": names}], "MaxResults": TYPES_MAX});
            let call = (Service::Ec2, "DescribeInstanceTypes");
            let found = self.pages(call, &params, ("instanceTypeSet", "nextToken")).await?;
            let is_asked = |one: &&Value| names.contains(&text(one, "instanceType").unwrap_or_default());
            all.extend(found.iter().filter(is_asked).map(as_printed));
        }
        Ok(json!({ "InstanceTypes": all }))
    }

    /// The types that a group without instances may launch, where its overrides name none: those that meet its requirements, or the one that its launch template names.
    pub(super) async fn types_of(&self, group: &Value) -> Result<Vec<Text>, AwsError> {
        let data = self.template_data(template_of(group)).await?;
        let overrides = list(&group["MixedInstancesPolicy"]["LaunchTemplate"]["Overrides"]);
        let mut required: Vec<&Value> = overrides.iter().map(|one| &one["InstanceRequirements"]).collect();
        required.push(&data["instanceRequirements"]);
        required.retain(|one| one.is_object());
        if required.is_empty() {
            return Ok(text(&data, "instanceType").map(Text::from).into_iter().collect());
        }
        let archs = self.architectures(&data).await?;
        let mut all = BTreeSet::new();
        for required in required {
            let params = json!({"ArchitectureType": archs, "VirtualizationType": ["hvm"],
                "InstanceRequirements": as_asked(required), "MaxResults": 1000});
            let call = (Service::Ec2, "GetInstanceTypesFromInstanceRequirements");
            let found = self.pages(call, &params, ("instanceTypeSet", "nextToken")).await?;
            all.extend(found.iter().filter_map(|one| text(one, "instanceType")).map(Text::from));
        }
        Ok(all.into_iter().collect())
    }

    /// What a launch template version says of its instances; nothing where there is none.
    async fn template_data(&self, spec: &Value) -> Result<Value, AwsError> {
        let Some(id) = text(spec, "LaunchTemplateId") else { return Ok(Value::Null) };
        let version = text(spec, "Version").unwrap_or("$Default");
        let params = json!({"LaunchTemplateId": id, "LaunchTemplateVersion": [version]});
        let call = (Service::Ec2, "DescribeLaunchTemplateVersions");
        let mut answer = self.caller.query(call, &params, Manner::Read).await?;
        let found = taken(&mut answer, call, "launchTemplateVersionSet")?.into_iter().next();
        Ok(found.map_or(Value::Null, |mut version| version["launchTemplateData"].take()))
    }

    /// On which instruction sets a launch template's image runs; all where nobody says.
    async fn architectures(&self, data: &Value) -> Result<Vec<String>, AwsError> {
        let image = text(data, "imageId").filter(|id| id.starts_with("ami-"));
        let mut found = None;
        if let Some(id) = image {
            let params = json!({"Filter": [{"Name": "image-id", "Value": [id]}], "MaxResults": 200});
            let call = (Service::Ec2, "DescribeImages");
            let images = self.pages(call, &params, ("imagesSet", "nextToken")).await?;
            found = images.iter().find_map(|one| text(one, "architecture")).map(str::to_owned);
        }
        Ok(found.map_or_else(|| ["x86_64", "arm64"].map(str::to_owned).to_vec(), |arch| vec![arch]))
    }
}

/// Requirements as EC2 takes them. Auto Scaling names its lists in the plural (`CpuManufacturers`), EC2 has them as sets in answers (`cpuManufacturerSet`), and takes them in the
/// singular (`CpuManufacturer`).
fn as_asked(required: &Value) -> Value {
    match required {
        Value::Object(all) => {
            let named = |(name, value): (&String, &Value)| {
                let name = match value {
                    Value::Array(_) => name.strip_suffix("Set").or(name.strip_suffix('s')).unwrap_or(name),
                    Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                        name
                    }
                };
                let mut letters = name.chars();
                let first = letters.next().map(|first| first.to_ascii_uppercase());
                (format!("{}{}", first.into_iter().collect::<String>(), letters.as_str()), as_asked(value))
            };
            Value::Object(all.iter().map(named).collect::<Map<String, Value>>())
        }
        Value::Array(all) => all.iter().map(as_asked).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => required.clone(),
    }
}

fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

/// A type as the CLI prints it, as far as it is read.
fn as_printed(one: &Value) -> Value {
    let network = &one["networkInfo"];
    let cards = list(&network["networkCards"]).iter().map(|card| {
        json!({"NetworkCardIndex": number(&card["networkCardIndex"]),
            "MaximumNetworkInterfaces": number(&card["maximumNetworkInterfaces"])})
    });
    let gpus = list(&one["gpuInfo"]["gpus"])
        .iter()
        .map(|gpu| json!({"Manufacturer": gpu["manufacturer"], "Count": number(&gpu["count"])}));
    json!({"InstanceType": one["instanceType"],
        "ProcessorInfo": {"SupportedArchitectures": one["processorInfo"]["supportedArchitectures"]},
        "VCpuInfo": {"DefaultVCpus": number(&one["vCpuInfo"]["defaultVCpus"])},
        "MemoryInfo": {"SizeInMiB": number(&one["memoryInfo"]["sizeInMiB"])},
        "NetworkInfo": {"MaximumNetworkInterfaces": number(&network["maximumNetworkInterfaces"]),
            "Ipv4AddressesPerInterface": number(&network["ipv4AddressesPerInterface"]),
            "DefaultNetworkCardIndex": number(&network["defaultNetworkCardIndex"]), "NetworkCards": cards.collect::<Vec<_>>()},
        "GpuInfo": {"Gpus": gpus.collect::<Vec<_>>()}})
}

#[cfg(test)]
mod tests {
    use super::super::stand_in::StandIn;
    use super::*;

    const TYPES: &str = "<DescribeInstanceTypesResponse><instanceTypeSet><item><instanceType>x9.large</instanceType>\
        <processorInfo><supportedArchitectures><item>arm64</item></supportedArchitectures></processorInfo>\
        <vCpuInfo><defaultVCpus>2</defaultVCpus></vCpuInfo><memoryInfo><sizeInMiB>8192</sizeInMiB></memoryInfo>\
        <networkInfo><maximumNetworkInterfaces>3</maximumNetworkInterfaces><ipv4AddressesPerInterface>10</ipv4AddressesPerInterface></networkInfo>\
        <gpuInfo><gpus><item><manufacturer>NVIDIA</manufacturer><count>1</count></item></gpus></gpuInfo></item>\
        <item><instanceType>m6i.large</instanceType></item></instanceTypeSet></DescribeInstanceTypesResponse>";

    #[tokio::test]
    async fn what_ec2_says_of_a_type_is_as_the_cli_prints_it() {
        let ec2 = StandIn::new(|_, body| {
            assert!(body.contains("Filter.1.Name=instance-type&Filter.1.Value.1=x9.large"), "{body}");
            TYPES.to_owned()
        });
        let asked = [Text::from("x9.large")].into();
        let answer = ec2.account().instance_types(&asked).await.expect("it answers");
        let only = &answer["InstanceTypes"];
        assert_eq!(only.as_array().map(Vec::len), Some(1), "what was not asked for is left out: {only}");
        assert_eq!(only[0]["MemoryInfo"]["SizeInMiB"], 8192);
        assert_eq!(only[0]["ProcessorInfo"]["SupportedArchitectures"], json!(["arm64"]));
        assert_eq!(only[0]["NetworkInfo"]["Ipv4AddressesPerInterface"], 10);
        assert_eq!(only[0]["GpuInfo"]["Gpus"], json!([{"Manufacturer": "NVIDIA", "Count": 1}]));
        assert_eq!(ec2.asked(), ["DescribeInstanceTypes"]);
    }

    #[tokio::test]
    async fn types_are_asked_for_by_what_a_group_requires_and_the_image_runs_on() {
        let ec2 = StandIn::new(|_, body| {
            let of = |action: &str| body.starts_with(&format!("Action={action}&"));
            if of("DescribeLaunchTemplateVersions") {
                return "<DescribeLaunchTemplateVersionsResponse><launchTemplateVersionSet><item><launchTemplateData><imageId>ami-1</imageId></launchTemplateData></item></launchTemplateVersionSet></DescribeLaunchTemplateVersionsResponse>".to_owned();
            }
            if of("DescribeImages") {
                return "<DescribeImagesResponse><imagesSet><item><imageId>ami-1</imageId><architecture>arm64</architecture></item></imagesSet></DescribeImagesResponse>".to_owned();
            }
            for part in [
                "ArchitectureType.1=arm64&",
                "InstanceRequirements.VCpuCount.Min=2",
                "InstanceRequirements.CpuManufacturer.1=amazon-web-services",
                "VirtualizationType.1=hvm",
            ] {
                assert!(body.contains(part), "{part}: {body}");
            }
            "<GetInstanceTypesFromInstanceRequirementsResponse><instanceTypeSet><item><instanceType>m7g.large</instanceType></item><item><instanceType>c7g.large</instanceType></item></instanceTypeSet></GetInstanceTypesFromInstanceRequirementsResponse>".to_owned()
        });
        let required = json!({"VCpuCount": {"Min": "2", "Max": "4"}, "MemoryMiB": {"Min": "4096"},
            "CpuManufacturers": ["amazon-web-services"], "ExcludedInstanceTypes": null});
        let group = json!({"MixedInstancesPolicy": {"LaunchTemplate": {
            "LaunchTemplateSpecification": {"LaunchTemplateId": "lt-1", "Version": "3"},
            "Overrides": [{ "InstanceRequirements": required }]}}});
        let types = ec2.account().types_of(&group).await.expect("it answers");
        assert_eq!(types, ["c7g.large", "m7g.large"].map(Text::from));
        // What a launch template requires is written in another way.
        let of_template = json!({"vCpuCount": {"min": "2"}, "cpuManufacturerSet": ["intel"]});
        assert_eq!(as_asked(&of_template), json!({"VCpuCount": {"Min": "2"}, "CpuManufacturer": ["intel"]}));
    }
}
