//! Host names, held against what botocore says of them.

use std::process::Command;

use super::*;
use crate::aws::stand_in::python_with_botocore;

/// A region of each partition, and how its host names end.
const REGIONS: [(&str, &str, &str); 9] = [
    ("eu-west-1", "amazonaws.com", "api.aws"),
    ("us-east-1", "amazonaws.com", "api.aws"),
    ("cn-north-1", "amazonaws.com.cn", "api.amazonwebservices.com.cn"),
    ("us-gov-west-1", "amazonaws.com", "api.aws"),
    ("us-iso-east-1", "c2s.ic.gov", "api.aws.ic.gov"),
    ("us-isob-east-1", "sc2s.sgov.gov", "api.aws.scloud"),
    ("us-isof-south-1", "csp.hci.ic.gov", "api.aws.hci.ic.gov"),
    ("eu-isoe-west-1", "cloud.adc-e.uk", "api.cloud-aws.adc-e.uk"),
    ("eusc-de-east-1", "amazonaws.eu", "api.amazonwebservices.eu"),
];
const HOSTS: [Hosts; 4] = [Hosts::Usual, Hosts::Fips, Hosts::DualStack, Hosts::FipsDualStack];

/// Asks the rule sets of botocore, and prints a line for each region, kind of host and service.
const SCRIPT: &str = r#"
import sys
from botocore.endpoint_provider import EndpointProvider
from botocore.loaders import Loader
loader = Loader()
partitions = loader.load_data("partitions")
rules = [loader.load_service_model(name, "endpoint-rule-set-1") for name in ["autoscaling", "ec2", "eks", "elbv2", "sqs", "ssm", "sts"]]
for region in sys.argv[1:]:
    for fips, dual in [(False, False), (True, False), (False, True), (True, True)]:
        for rule in rules:
            own = {"UseGlobalEndpoint": False} if "UseGlobalEndpoint" in rule["parameters"] else {}
            print(EndpointProvider(rule, partitions).resolve_endpoint(Region=region, UseFIPS=fips, UseDualStack=dual, **own).url)
"#;

#[test]
fn each_partition_has_host_names_of_its_own() {
    for (region, suffix, dual) in REGIONS {
        for service in Service::ALL {
            let name = service.name();
            let of = |hosts| endpoint(service, region, hosts);
            assert_eq!(of(Hosts::Usual), format!("https://{name}.{region}.{suffix}"));
            assert_eq!(of(Hosts::DualStack), format!("https://{name}.{region}.{dual}"));
            assert_eq!(of(Hosts::FipsDualStack), format!("https://{name}-fips.{region}.{dual}"));
        }
    }
    let fips = |service, region| endpoint(service, region, Hosts::Fips);
    for (service, region, expected) in [
        (Service::Ec2, "us-east-1", "https://ec2-fips.us-east-1.amazonaws.com"),
        (Service::Eks, "us-east-1", "https://fips.eks.us-east-1.amazonaws.com"),
        (Service::Ec2, "us-gov-west-1", "https://ec2.us-gov-west-1.amazonaws.com"),
        (Service::Eks, "us-gov-west-1", "https://eks.us-gov-west-1.amazonaws.com"),
        (Service::Eks, "us-iso-east-1", "https://eks-fips.us-iso-east-1.c2s.ic.gov"),
        (Service::Sqs, "cn-north-1", "https://sqs-fips.cn-north-1.amazonaws.com.cn"),
    ] {
        assert_eq!(fips(service, region), expected);
    }
    assert_eq!(
        endpoint(Service::Ec2, "xx-new-1", Hosts::Usual),
        "https://ec2.xx-new-1.amazonaws.com",
        "a region that is not known"
    );
}

#[test]
fn botocore_names_the_same_hosts() {
    let Some(python) = python_with_botocore() else { return };
    let regions = REGIONS.map(|(region, ..)| region);
    let ran = Command::new(&python).args(["-c", SCRIPT]).args(regions).output().expect("Python runs");
    let theirs = String::from_utf8(ran.stdout).expect("it is text");
    let hosts = regions.iter().flat_map(|region| HOSTS.map(|hosts| (*region, hosts)));
    let ours: Vec<String> = hosts
        .flat_map(|(region, hosts)| Service::ALL.map(|service| endpoint(service, region, hosts)))
        .collect();
    assert_eq!(theirs.lines().collect::<Vec<_>>(), ours, "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn a_queue_s_host_tells_its_region_in_each_partition() {
    for (region, ..) in REGIONS {
        for hosts in HOSTS {
            let url = endpoint(Service::Sqs, region, hosts);
            assert_eq!(region_of_sqs(url.trim_start_matches("https://")), Some(region), "{url}");
        }
    }
    for other in ["127.0.0.1:4566", "sqs.eu-west-1.example.org", "ec2.eu-west-1.amazonaws.com", "localhost"] {
        assert_eq!(region_of_sqs(other), None, "{other}");
    }
}
