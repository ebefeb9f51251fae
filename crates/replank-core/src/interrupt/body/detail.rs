//! One event, by its detail.

use replank_model::text::{GroupName, InstanceId, Text};
use replank_protocol::lifecycle::Action;
use replank_protocol::lifecycle::Place;
use serde_json::Value;

use super::fields::{self, Fields};
use super::{Body, Poison};
use crate::interrupt::notice::{Health, HealthStatus, News, Notice, Reached, Taken};

/// An event in the envelope of EventBridge.
pub(super) fn of_rule(envelope: Fields<'_>) -> Result<Body, Poison> {
    let (source, kind) = (envelope.text("source")?, envelope.text("detail-type")?);
    let detail = || envelope.detail();
    let news = match (source, kind) {
        (
            "aws.autoscaling",
            "EC2 Instance-terminate Lifecycle Action" | "EC2 Instance-launch Lifecycle Action",
        ) => action(detail()?)?,
        ("aws.ec2", "EC2 Spot Instance Interruption Warning") => {
            News::Spot { instance: detail()?.instance("instance-id")?, then: taken(detail()?) }
        }
        ("aws.ec2", "EC2 Interruptible Capacity Reservation Instance Interruption Warning") => {
            let detail = detail()?;
            let until = detail.time("instance-termination-time");
            News::Reclaimed { instance: detail.instance("instance-id")?, then: taken(detail), until }
        }
        ("aws.ec2", "EC2 Instance Rebalance Recommendation") => {
            News::Rebalance { instance: detail()?.instance("instance-id")? }
        }
        ("aws.ec2", "EC2 Instance State-change Notification") => state(detail()?)?,
        ("aws.health", "AWS Health Event") => match health(detail()?)? {
            Some(health) => News::Health(health),
            None => {
                let code = detail()?.text("eventTypeCode").unwrap_or("AWS Health Event");
                return Ok(Body::Foreign { what: fields::shown(code) });
            }
        },
        (_, _) => return Ok(Body::Foreign { what: fields::shown(&format!("{source}: {kind}")) }),
    };
    Ok(Body::Notice(Notice { at: envelope.time("time"), news }))
}

/// What a lifecycle hook sends to a queue itself.
pub(super) fn of_hook(body: Fields<'_>) -> Result<Body, Poison> {
    Ok(Body::Notice(Notice { at: body.time("Time"), news: action(body)? }))
}

fn action(detail: Fields<'_>) -> Result<News, Poison> {
    let transition = detail.text("LifecycleTransition")?;
    let is_launch = match transition {
        "autoscaling:EC2_INSTANCE_LAUNCHING" => true,
        "autoscaling:EC2_INSTANCE_TERMINATING" => false,
        _ => {
            let found = Value::from(transition);
            return Err(detail.wrong("LifecycleTransition", &found, "a known transition"));
        }
    };
    let to = match detail.text("Destination") {
        Ok("WarmPool") => Place::WarmPool,
        Ok("AutoScalingGroup") => Place::Group,
        Ok("EC2") => Place::Ec2,
        // Events did not say it before there were warm pools.
        Ok(_) | Err(_) => {
            if is_launch {
                Place::Group
            } else {
                Place::Ec2
            }
        }
    };
    let action = Action {
        group: GroupName::from(detail.text("AutoScalingGroupName")?),
        hook: Text::from(detail.text("LifecycleHookName")?),
        instance: detail.instance("EC2InstanceId")?,
        token: detail.text("LifecycleActionToken").ok().map(Text::from),
        to,
    };
    Ok(match (is_launch, to) {
        (true, Place::Ec2 | Place::Group | Place::WarmPool) => News::Launching(action),
        (false, Place::WarmPool) => News::Retreating(action),
        (false, Place::Ec2 | Place::Group) => News::Terminating(action),
    })
}

/// What is missing or unknown counts as the worst.
fn taken(detail: Fields<'_>) -> Taken {
    match detail.text("instance-action") {
        Ok("stop") => Taken::Stop,
        Ok("hibernate") => Taken::Hibernate,
        Ok(_) | Err(_) => Taken::Terminate,
    }
}

fn state(detail: Fields<'_>) -> Result<News, Poison> {
    let name = detail.text("state")?;
    let state =
        Reached::of(name).ok_or_else(|| detail.wrong("state", &Value::from(name), "an instance state"))?;
    Ok(News::State { instance: detail.instance("instance-id")?, state })
}

/// An event of AWS Health, with every instance that it is about; `None` if it is about none, or about no change that is
/// scheduled for them.
fn health(detail: Fields<'_>) -> Result<Option<Health>, Poison> {
    let is_scheduled = detail.text("eventTypeCategory")? == "scheduledChange";
    if detail.text("service")? != "EC2" || !is_scheduled {
        return Ok(None);
    }
    let mut instances: Vec<InstanceId> = Vec::new();
    for entity in detail.list("affectedEntities")? {
        let value = Fields::of(entity).text("entityValue").map_err(|_| {
            let found = Value::from(fields::shown(&entity.to_string()).to_string());
            detail.wrong("affectedEntities", &found, "a list of entities with an entityValue")
        })?;
        instances.extend(fields::entity(value));
    }
    instances.sort();
    instances.dedup();
    if instances.is_empty() {
        return Ok(None);
    }
    let status = match detail.text("statusCode") {
        Ok("closed") => HealthStatus::Closed,
        Ok("open") => HealthStatus::Open,
        Ok(_) | Err(_) => HealthStatus::Upcoming,
    };
    let code = Text::from(detail.text("eventTypeCode")?);
    Ok(Some(Health { code, instances, start: detail.time("startTime"), status }))
}
