//! An account of AWS: what its services keep beside the machines, and their answers. Time and machines are the region's.

mod access;
mod activities;
mod addons;
mod associations;
mod autoscaling;
mod changes;
mod cluster;
mod config;
mod deliver;
mod ec2;
mod eks;
mod elb;
mod entries;
mod events;
mod extra;
mod filter;
mod groups;
mod hooks;
mod insights;
mod instances;
mod kept;
mod launch;
mod md5;
mod members;
mod names;
mod network;
mod nodegroups;
mod own;
mod pattern;
mod pod_identity;
mod queues;
mod resource_tags;
mod rules;
mod settings;
mod sqs;
mod ssm;
pub(crate) mod sts;
mod templates;
mod traffic;
mod types;
mod unknown;
mod updates;
mod versions;

use crate::call::{Answered, Call, FOR_POD, Reply};
use crate::fault::Fault;
use crate::input::Input;
use crate::region::Region;
use crate::service::Service;
use crate::trouble::Fate;
pub use names::{Setting, Takes};
pub use own::Account;

/// Tokens of requests that are remembered.
const TOKENS_MAX: usize = 2_000;

/// What whoever hands a role to a service has to be allowed to do.
const PASS_ROLE: &str = "iam:PassRole";

impl Account {
    /// Answers a call, unless something goes wrong with it.
    pub fn answer(&mut self, region: &mut dyn Region, call: &Call) -> Answered {
        let fate = if call.is_again { Fate::Answered } else { self.troubles.fate(call) };
        match fate {
            Fate::Answered => Answered::With(self.handle(region, call)),
            Fate::Refused(fault) => Answered::With(Err(fault)),
            Fate::AnswerLost => {
                drop(self.handle(region, call));
                Answered::Lost
            }
            Fate::RequestLost => Answered::Lost,
        }
    }

    /// Answers a call.
    ///
    /// # Errors
    /// As the service refuses it.
    pub fn handle(&mut self, region: &mut dyn Region, call: &Call) -> Reply {
        self.settle(region);
        if let Some(fault) = self.denied(call) {
            return Err(fault);
        }
        let key = self.token_key(call);
        if let Some(key) = &key
            && let Some((_, asked, answered)) = self.tokens.iter().find(|(known, ..)| known == key)
        {
            return if *asked == call.input {
                Ok(answered.clone())
            } else {
                Err(other_request(call.service))
            };
        }
        let input = Input(&call.input);
        let reply = match call.service {
            Service::AutoScaling => self.autoscaling(region, &call.action, input),
            Service::Ec2 => self.ec2(region, &call.action, input),
            Service::Eks if call.action == FOR_POD => self.assume_for_pod(&call.caller),
            Service::Eks => self.eks(region, &call.action, input),
            Service::Sqs => self.sqs(region.now(), &call.action, input),
            Service::Events => self.events(region.now(), &call.action, input),
            Service::Ssm => ssm::answer(&self.names, &call.action, input),
            Service::Sts => sts::answer(&self.names, call),
            Service::Elb => self.elb(region, &call.action, input),
        };
        if !call.is_read() {
            self.touched += 1;
        }
        if let (Some(key), Ok(answer)) = (key, &reply) {
            self.tokens.push((key, call.input.clone(), answer.clone()));
            if self.tokens.len() > TOKENS_MAX {
                self.tokens.remove(0);
            }
        }
        self.settle(region);
        reply
    }

    /// The refusal of an action that nobody may do, in each service's words.
    fn denied(&self, call: &Call) -> Option<Fault> {
        let mut action = format!("{}:{}", call.service.signing_name(), call.action);
        let mut on = String::new();
        let is_denied = |action: &str| self.names.setting.denied.iter().any(|denied| denied == action);
        if !is_denied(&action) {
            // Whoever makes a node group hands its role to EKS.
            if action != "eks:CreateNodegroup" || !is_denied(PASS_ROLE) {
                return None;
            }
            PASS_ROLE.clone_into(&mut action);
            on = format!(" on resource: {}", Input(&call.input).text("nodeRole").unwrap_or_default());
        }
        let user = call.caller.arn(self.names.account());
        let message = format!(
            "User: {user} is not authorized to perform: {action}{on} because no identity-based policy allows the {action} action"
        );
        let (status, code) = match call.service {
            Service::Eks => (403, "AccessDeniedException"),
            Service::Ec2 => (403, "UnauthorizedOperation"),
            Service::AutoScaling | Service::Sts | Service::Elb => (403, "AccessDenied"),
            Service::Sqs | Service::Events | Service::Ssm => (400, "AccessDeniedException"),
        };
        Some(Fault::new(status, code, message))
    }

    /// Does what follows from what has happened in the region.
    pub fn settle(&mut self, region: &mut dyn Region) {
        self.adopt(region);
        self.follow_deletions(region);
        self.follow_updates(region);
    }

    /// Takes in events of the region, as EventBridge bodies: rules lead them to queues.
    pub fn hear(&mut self, region: &dyn Region, bodies: Vec<String>) {
        for body in bodies {
            self.touched += 1;
            self.event_of_region(region, &body);
        }
    }

    /// The token of a request that is carried out once, whatever it is sent.
    fn token_key(&self, call: &Call) -> Option<String> {
        let input = Input(&call.input);
        let token = match call.service {
            Service::Eks => input.text("clientRequestToken"),
            Service::Ec2 => input.text("ClientToken"),
            Service::AutoScaling
            | Service::Sqs
            | Service::Events
            | Service::Ssm
            | Service::Sts
            | Service::Elb => None,
        };
        token
            .filter(|token| !token.is_empty())
            .map(|token| format!("{}/{}/{token}", call.service.signing_name(), call.action))
    }
}

fn other_request(service: Service) -> Fault {
    match service {
        Service::Eks => Fault::bad(
            "InvalidParameterException",
            "A client request token was used for two requests with different parameters",
        ),
        Service::Ec2
        | Service::AutoScaling
        | Service::Sqs
        | Service::Events
        | Service::Ssm
        | Service::Sts
        | Service::Elb => Fault::bad(
            "IdempotentParameterMismatch",
            "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
        ),
    }
}
