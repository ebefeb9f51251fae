//! AWS's partitions: sets of regions with accounts, ARNs and host names of their own.
//!
//! Source: `partitions.json` and the endpoint rule sets of botocore 1.43.

use super::service::Service;

/// A partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Partition {
    /// `aws`
    Commercial,
    /// `aws-cn`
    China,
    /// `aws-us-gov`
    UsGov,
    /// `aws-iso`
    Iso,
    /// `aws-iso-b`
    IsoB,
    /// `aws-iso-e`
    IsoE,
    /// `aws-iso-f`
    IsoF,
    /// `aws-eusc`
    EuSovereign,
}

/// Which of a service's host names are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hosts {
    /// The usual ones.
    Usual,
    /// Those with cryptography that FIPS 140 validates.
    Fips,
    /// Those that have IPv6 addresses, too.
    DualStack,
    /// Both.
    FipsDualStack,
}

impl Partition {
    fn of(region: &str) -> Self {
        match region.split_once('-') {
            Some(("cn", _)) => Self::China,
            Some(("eusc", _)) => Self::EuSovereign,
            Some(("us", rest)) if rest.starts_with("gov-") => Self::UsGov,
            Some(("us", rest)) if rest.starts_with("iso-") => Self::Iso,
            Some(("us", rest)) if rest.starts_with("isob-") => Self::IsoB,
            Some(("us", rest)) if rest.starts_with("isof-") => Self::IsoF,
            Some(("eu", rest)) if rest.starts_with("isoe-") => Self::IsoE,
            // A region that is newer than this is a commercial one, as AWS's SDKs take it.
            Some(_) | None => Self::Commercial,
        }
    }

    /// How the usual host names end.
    fn suffix(self) -> &'static str {
        match self {
            Self::Commercial | Self::UsGov => "amazonaws.com",
            Self::China => "amazonaws.com.cn",
            Self::Iso => "c2s.ic.gov",
            Self::IsoB => "sc2s.sgov.gov",
            Self::IsoE => "cloud.adc-e.uk",
            Self::IsoF => "csp.hci.ic.gov",
            Self::EuSovereign => "amazonaws.eu",
        }
    }

    /// How those with IPv6 end.
    fn dual_stack_suffix(self) -> &'static str {
        match self {
            Self::Commercial | Self::UsGov => "api.aws",
            Self::China => "api.amazonwebservices.com.cn",
            Self::Iso => "api.aws.ic.gov",
            Self::IsoB => "api.aws.scloud",
            Self::IsoE => "api.cloud-aws.adc-e.uk",
            Self::IsoF => "api.aws.hci.ic.gov",
            Self::EuSovereign => "api.amazonwebservices.eu",
        }
    }
}

/// Where a service is in a region.
pub(super) fn endpoint(service: Service, region: &str, hosts: Hosts) -> String {
    let (partition, name) = (Partition::of(region), service.name());
    let host = match (hosts, partition, service) {
        (Hosts::Usual | Hosts::DualStack, ..) => name.to_owned(),
        // All endpoints of GovCloud are FIPS's.
        (Hosts::Fips, Partition::UsGov, _) => name.to_owned(),
        (Hosts::Fips, Partition::Commercial, Service::Eks) => format!("fips.{name}"),
        (Hosts::Fips | Hosts::FipsDualStack, ..) => format!("{name}-fips"),
    };
    let suffix = match hosts {
        Hosts::Usual | Hosts::Fips => partition.suffix(),
        Hosts::DualStack | Hosts::FipsDualStack => partition.dual_stack_suffix(),
    };
    format!("https://{host}.{region}.{suffix}")
}

/// The region in a host name of SQS, where it is one: `eu-west-1` of `sqs.eu-west-1.amazonaws.com`.
pub(super) fn region_of_sqs(host: &str) -> Option<&str> {
    let (_, rest) = host.split_once('.').filter(|(head, _)| ["sqs", "sqs-fips"].contains(head))?;
    let (region, suffix) = rest.split_once('.')?;
    let partition = Partition::of(region);
    (suffix == partition.suffix() || suffix == partition.dual_stack_suffix()).then_some(region)
}

#[cfg(test)]
#[path = "partition_tests.rs"]
mod tests;
