//! What messages say, in words.

use replank_core::interrupt::body::Body;
use replank_core::interrupt::notice::{HealthStatus, News, Notice, Taken};
use replank_model::text::InstanceId;

/// What a message says.
pub(super) fn of(body: &Body) -> String {
    match body {
        Body::Notice(notice) => of_notice(notice),
        Body::Test => "a test notification".to_owned(),
        Body::Foreign { what } => format!("about something else ({what})"),
        Body::Poison(why) => format!("it cannot be read: {why}"),
    }
}

fn of_notice(Notice { news, .. }: &Notice) -> String {
    match news {
        News::Terminating(action) => {
            format!(
                "hook {} of {} holds {}, which is terminating",
                action.hook, action.group, action.instance
            )
        }
        News::Retreating(action) => {
            format!(
                "hook {} of {} holds {}, which goes to the warm pool",
                action.hook, action.group, action.instance
            )
        }
        News::Launching(action) => {
            format!("hook {} of {} holds {}, which was launched", action.hook, action.group, action.instance)
        }
        News::Spot { instance, then } => {
            format!("spot interruption of {instance}, which will be {}", becomes(*then))
        }
        News::Reclaimed { instance, then, until } => {
            let at = until.map(|until| format!(" at {until}")).unwrap_or_default();
            format!("capacity reservation takes {instance} back, which is {}{at}", becomes(*then))
        }
        News::Rebalance { instance } => format!("rebalance recommendation for {instance}"),
        News::State { instance, state } => format!("{instance} is {state}"),
        News::Health(health) => {
            let word = match health.status {
                HealthStatus::Upcoming => "is scheduled",
                HealthStatus::Open => "has begun",
                HealthStatus::Closed => "is over or cancelled",
            };
            let from = health.start.map(|start| format!(" for {start}")).unwrap_or_default();
            format!("{} {word}{from}: {}", health.code, listed(&health.instances))
        }
    }
}

fn becomes(then: Taken) -> &'static str {
    match then {
        Taken::Terminate => "terminated",
        Taken::Stop => "stopped",
        Taken::Hibernate => "hibernated",
    }
}

fn listed(instances: &[InstanceId]) -> String {
    instances.iter().map(InstanceId::as_str).collect::<Vec<_>>().join(", ")
}
