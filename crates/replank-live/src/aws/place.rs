//! Where AWS's services are: the region, and the address of each service, looked for as AWS's CLI does.

use std::collections::BTreeMap;

use super::error::AwsError;
use super::partition::{Hosts, endpoint};
use super::profile::Profiles;
use super::service::Service;

/// Which account and region are meant; without anything, those that AWS's CLI would take.
#[derive(Clone, Debug, Default)]
pub struct AwsAsked {
    /// A region, instead of `AWS_REGION` and the profile's.
    pub region: Option<String>,
    /// A profile, instead of the environment's credentials and of `AWS_PROFILE`.
    pub profile: Option<String>,
    /// Where all services are, instead of AWS's own endpoints.
    pub endpoint: Option<String>,
}

/// Where the services are.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) region: String,
    pub(super) endpoints: BTreeMap<Service, String>,
}

impl Place {
    /// By what is asked for, else the environment (`variable`), else the profile.
    pub(super) fn find(
        asked: &AwsAsked,
        variable: &dyn Fn(&str) -> Option<String>,
        profiles: &Profiles,
    ) -> Result<Self, AwsError> {
        let profile = asked.profile.clone().or_else(|| variable("AWS_PROFILE"));
        let profile = profile.as_deref().unwrap_or("default");
        let of_profile = |key: &str| profiles.get(profile, key).map(str::to_owned);
        let region = asked
            .region
            .clone()
            .or_else(|| variable("AWS_REGION"))
            .or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.or_else(|| of_profile("region")).ok_or(AwsError::NoRegion)?;
        let is_set = |name: &str, key: &str| {
            let said = variable(name).or_else(|| of_profile(key));
            said.is_some_and(|said| said.eq_ignore_ascii_case("true"))
        };
        let fips = is_set("AWS_USE_FIPS_ENDPOINT", "use_fips_endpoint");
        let hosts = match (fips, is_set("AWS_USE_DUALSTACK_ENDPOINT", "use_dualstack_endpoint")) {
            (false, false) => Hosts::Usual,
            (true, false) => Hosts::Fips,
            (false, true) => Hosts::DualStack,
            (true, true) => Hosts::FipsDualStack,
        };
        let address = |service: Service| {
            let own = || variable(service.variable()).or_else(|| variable("AWS_ENDPOINT_URL"));
            let said = asked.endpoint.clone().or_else(own).or_else(|| of_profile("endpoint_url"));
            said.unwrap_or_else(|| endpoint(service, &region, hosts))
        };
        let endpoints = Service::ALL.map(|service| (service, address(service))).into();
        Ok(Self { region, endpoints })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion = eu-west-1\n[profile ops]\nregion = us-east-1\nendpoint_url = http://ops\n\
        [profile gov]\nregion = us-gov-west-1\nuse_fips_endpoint = true\n[profile six]\nregion = eu-west-1\nuse_dualstack_endpoint = True\n[profile none]\n";

    /// The region and where EC2 is, for a profile and with variables.
    fn find(profile: Option<&str>, variables: &[(&str, &str)]) -> Result<(String, String), AwsError> {
        let asked = AwsAsked { profile: profile.map(str::to_owned), ..AwsAsked::default() };
        of(&asked, variables)
    }

    fn of(asked: &AwsAsked, variables: &[(&str, &str)]) -> Result<(String, String), AwsError> {
        let variable = |name: &str| {
            let own = variables.iter().find(|(known, _)| *known == name);
            own.map(|(_, value)| (*value).to_owned())
        };
        let found = Place::find(asked, &variable, &Profiles::of_config(CONFIG))?;
        Ok((found.region, found.endpoints[&Service::Ec2].clone()))
    }

    fn is(found: Result<(String, String), AwsError>, region: &str, address: &str) {
        let found = found.expect("it has a region");
        assert_eq!((found.0.as_str(), found.1.as_str()), (region, address));
    }

    #[test]
    fn region_and_address_are_looked_for_as_aws_s_cli_does() {
        let ireland = "https://ec2.eu-west-1.amazonaws.com";
        is(find(None, &[]), "eu-west-1", ireland);
        is(find(Some("ops"), &[]), "us-east-1", "http://ops");
        is(find(None, &[("AWS_PROFILE", "ops")]), "us-east-1", "http://ops");
        is(find(Some("none"), &[("AWS_DEFAULT_REGION", "eu-west-1")]), "eu-west-1", ireland);
        let two = [("AWS_REGION", "eu-west-1"), ("AWS_DEFAULT_REGION", "eu-west-2")];
        is(find(Some("ops"), &two), "eu-west-1", "http://ops");
        let all = [("AWS_ENDPOINT_URL", "http://all"), ("AWS_ENDPOINT_URL_EC2", "http://ec2")];
        is(find(Some("ops"), &all), "us-east-1", "http://ec2");
        is(find(Some("ops"), &all[..1]), "us-east-1", "http://all");
        let (region, endpoint) = (Some("ca-west-1".to_owned()), Some("http://asked".to_owned()));
        let asked = AwsAsked { region, profile: None, endpoint };
        is(of(&asked, &all), "ca-west-1", "http://asked");
        assert!(matches!(find(Some("none"), &[]), Err(AwsError::NoRegion)));
    }

    #[test]
    fn hosts_of_fips_and_of_dual_stack_are_used_where_they_are_asked_for() {
        is(find(Some("gov"), &[]), "us-gov-west-1", "https://ec2.us-gov-west-1.amazonaws.com");
        is(find(Some("six"), &[]), "eu-west-1", "https://ec2.eu-west-1.api.aws");
        let fips = ("AWS_USE_FIPS_ENDPOINT", "true");
        is(find(None, &[fips]), "eu-west-1", "https://ec2-fips.eu-west-1.amazonaws.com");
        is(find(Some("six"), &[fips]), "eu-west-1", "https://ec2-fips.eu-west-1.api.aws");
        is(
            find(None, &[("AWS_USE_DUALSTACK_ENDPOINT", "true")]),
            "eu-west-1",
            "https://ec2.eu-west-1.api.aws",
        );
        let off = [("AWS_USE_DUALSTACK_ENDPOINT", "false")];
        is(find(Some("six"), &off), "eu-west-1", "https://ec2.eu-west-1.amazonaws.com");
        // An address that is given is used as it is.
        is(find(Some("ops"), &[fips]), "us-east-1", "http://ops");
    }
}
