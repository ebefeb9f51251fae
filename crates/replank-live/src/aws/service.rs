//! AWS's services, as far as they are called.

/// Whether a call changes something. AWS counts both apart, so what is read often does not delay what has to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    Read,
    Write,
}

impl Access {
    pub(super) const ALL: [Self; 2] = [Self::Read, Self::Write];
}

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Service {
    AutoScaling,
    Ec2,
    Eks,
    Elb,
    Sqs,
    Ssm,
    Sts,
}

impl Service {
    pub(super) const ALL: [Self; 7] =
        [Self::AutoScaling, Self::Ec2, Self::Eks, Self::Elb, Self::Sqs, Self::Ssm, Self::Sts];

    /// In signatures, in names of hosts, and in IAM actions: one word for all of them.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::AutoScaling => "autoscaling",
            Self::Ec2 => "ec2",
            Self::Eks => "eks",
            Self::Elb => "elasticloadbalancing",
            Self::Sqs => "sqs",
            Self::Ssm => "ssm",
            Self::Sts => "sts",
        }
    }

    /// In `AWS_ENDPOINT_URL_…`.
    pub(super) fn variable(self) -> &'static str {
        match self {
            Self::AutoScaling => "AWS_ENDPOINT_URL_AUTO_SCALING",
            Self::Ec2 => "AWS_ENDPOINT_URL_EC2",
            Self::Eks => "AWS_ENDPOINT_URL_EKS",
            Self::Elb => "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2",
            Self::Sqs => "AWS_ENDPOINT_URL_SQS",
            Self::Ssm => "AWS_ENDPOINT_URL_SSM",
            Self::Sts => "AWS_ENDPOINT_URL_STS",
        }
    }

    /// Whether it answers in XML (the query protocols); the others do so in JSON.
    pub(super) fn is_xml(self) -> bool {
        match self {
            Self::AutoScaling | Self::Ec2 | Self::Elb | Self::Sts => true,
            Self::Eks | Self::Sqs | Self::Ssm => false,
        }
    }

    /// The version of its query protocol; the others have none.
    pub(super) fn version(self) -> &'static str {
        match self {
            Self::AutoScaling => "2011-01-01",
            Self::Ec2 => "2016-11-15",
            Self::Elb => "2015-12-01",
            Self::Sts => "2011-06-15",
            Self::Eks | Self::Sqs | Self::Ssm => "",
        }
    }

    /// Requests in a second: below the rates at which accounts are throttled, which others in the account need, too.
    ///
    /// EC2 documents 20 for an action that only describes ("Request throttling for the Amazon EC2 API"), Elastic Load Balancing 10. The others are chosen: for what changes little is
    /// enough, since a run has few groups; of Auto Scaling, EKS, SSM and STS no rates were found in AWS's documentation.
    pub(super) fn per_second(self, access: Access) -> u32 {
        match (self, access) {
            (Self::Ec2, Access::Read) => 10,
            (Self::Ec2, Access::Write) => 2,
            (Self::AutoScaling | Self::Elb, Access::Read | Access::Write) => 5,
            (Self::Eks | Self::Ssm | Self::Sts, Access::Read) => 3,
            (Self::Eks | Self::Ssm | Self::Sts, Access::Write) => 2,
            // Standard queues take nearly any number.
            (Self::Sqs, Access::Read | Access::Write) => 50,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/aws.md");

    #[test]
    fn the_page_tells_each_service_s_budget() {
        let (_, table) = PAGE.split_once("| requests per second |").expect("it has the table");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(2)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
            .collect();
        for service in Service::ALL {
            let name = match service {
                Service::AutoScaling => "EC2 Auto Scaling",
                Service::Ec2 => "EC2",
                Service::Eks => "EKS",
                Service::Elb => "Elastic Load Balancing",
                Service::Sqs => "SQS",
                Service::Ssm => "SSM",
                Service::Sts => "STS",
            };
            let row = rows.iter().find(|row| row[0].split(", ").any(|own| own == name));
            let row = row.unwrap_or_else(|| panic!("no row for {name}"));
            let own = Access::ALL.map(|access| service.per_second(access).to_string());
            assert_eq!(row[1..3], own, "{name}");
        }
    }
}
