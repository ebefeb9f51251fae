use crate::interrupt::notice::Notice;
use proptest::prelude::*;
use replank_model::time::Time;
use replank_protocol::lifecycle::Action;
use replank_protocol::lifecycle::Place;
use serde_json::json;

use super::*;
use crate::interrupt::notice::{HealthStatus, News, Reached, Taken};

const ID: &str = "i-0a1b2c3d4e5f60718";
const OTHER: &str = "i-0f9e8d7c6b5a49382";
const GROUP: &str = "eks-ng-web-9ec41a02-1d7e-4f0b-8a2e-3f7f6f0f5b11";

macro_rules! samples {
    ($($name:ident = $file:literal;)*) => {
        $( const $name: &str = include_str!(concat!("../../../../../testdata/aws-events/", $file, ".json")); )*
        const ALL: &[&str] = &[$($name),*];
    };
}

samples! {
    LAUNCH = "asg-launch-lifecycle-action";
    TO_WARM_POOL = "asg-terminate-lifecycle-action-to-warmpool";
    TERMINATE = "asg-terminate-lifecycle-action";
    REBOOT = "aws-health-ec2-reboot-maintenance-scheduled";
    RETIREMENT = "aws-health-ec2-retirement-scheduled";
    DIRECT = "direct-sqs-asg-terminate-lifecycle";
    DIRECT_TEST = "direct-sqs-asg-test-notification";
    STATE = "ec2-instance-state-change";
    RECLAIMED = "ec2-interruptible-capacity-reservation-warning";
    REBALANCE = "ec2-rebalance-recommendation";
    SPOT = "ec2-spot-interruption-warning";
    SNS_DIRECT = "sns-asg-terminate-lifecycle";
    SNS_SPOT = "sns-eventbridge-spot-interruption-warning";
}

fn time(text: &str) -> Time {
    text.parse().expect("a time")
}

fn notice(text: &str) -> Notice {
    match read(text) {
        Body::Notice(notice) => notice,
        other @ (Body::Test | Body::Foreign { .. } | Body::Poison(_)) => panic!("{other:?}"),
    }
}

fn news(text: &str) -> News {
    notice(text).news
}

fn action(hook: &str, token: &str, to: Place) -> Action {
    let token = Some(token.into());
    Action { group: GROUP.into(), hook: hook.into(), instance: ID.into(), token, to }
}

/// A sample with some members changed, or taken away with null.
fn changed(sample: &str, changes: Value) -> String {
    fn lay(into: &mut Value, from: Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    if value.is_null() {
                        into.remove(&key);
                    } else {
                        lay(into.entry(key).or_insert(Value::Null), value);
                    }
                }
            }
            (into, from) => *into = from,
        }
    }
    let mut value: Value = serde_json::from_str(sample).expect("a sample");
    lay(&mut value, changes);
    value.to_string()
}

fn poison(text: &str) -> String {
    match read(text) {
        Body::Poison(poison) => poison.to_string(),
        other @ (Body::Notice(_) | Body::Test | Body::Foreign { .. }) => panic!("{other:?}"),
    }
}

#[test]
fn lifecycle_actions_come_enveloped_direct_and_wrapped() {
    let token = "7a7c2c1e-5b58-4a39-9d0e-0d8f1a2b3c4d";
    let told = notice(TERMINATE);
    assert_eq!(told.at, Some(time("2026-11-20T09:15:42Z")));
    assert_eq!(told.news, News::Terminating(action("replank-drain", token, Place::Ec2)));
    let token = "7a7c2c1e-5b58-4a39-9d0e-0d8f1a2b3c51";
    let told = notice(DIRECT);
    assert_eq!(told.at, Some(time("2026-11-20T09:15:42.872Z")));
    assert_eq!(told.news, News::Terminating(action("replank-drain", token, Place::Ec2)));
    assert_eq!(notice(SNS_DIRECT), told);
    let token = "7a7c2c1e-5b58-4a39-9d0e-0d8f1a2b3c4f";
    assert_eq!(news(LAUNCH), News::Launching(action("replank-launch", token, Place::Group)));
}

#[test]
fn an_instance_that_goes_to_the_warm_pool_is_not_terminated() {
    let token = "7a7c2c1e-5b58-4a39-9d0e-0d8f1a2b3c4e";
    let to_pool = News::Retreating(action("replank-drain", token, Place::WarmPool));
    assert_eq!(news(TO_WARM_POOL), to_pool);
}

#[test]
fn an_event_from_before_warm_pools_names_no_destination() {
    let old = changed(TERMINATE, json!({"detail": {"Destination": null, "Origin": null}}));
    assert!(matches!(news(&old), News::Terminating(action) if action.to == Place::Ec2));
    let old = changed(LAUNCH, json!({"detail": {"Destination": null, "Origin": null}}));
    assert!(matches!(news(&old), News::Launching(action) if action.to == Place::Group));
}

#[test]
fn spot_and_reservation_warnings() {
    let spot = |then| News::Spot { instance: ID.into(), then };
    assert_eq!(news(SPOT), spot(Taken::Terminate));
    assert_eq!(notice(SNS_SPOT), notice(SPOT));
    for (word, then) in [("stop", Taken::Stop), ("hibernate", Taken::Hibernate)] {
        assert_eq!(news(&changed(SPOT, json!({"detail": {"instance-action": word}}))), spot(then));
    }
    let silent = changed(SPOT, json!({"detail": {"instance-action": null}}));
    assert_eq!(news(&silent), spot(Taken::Terminate), "the worst");
    let until = Some(time("2026-11-20T09:17:42Z"));
    assert_eq!(news(RECLAIMED), News::Reclaimed { instance: ID.into(), then: Taken::Terminate, until });
    assert_eq!(news(REBALANCE), News::Rebalance { instance: ID.into() });
}

#[test]
fn states() {
    assert_eq!(news(STATE), News::State { instance: ID.into(), state: Reached::ShuttingDown });
    for (name, is_down) in [
        ("pending", false),
        ("running", false),
        ("stopping", true),
        ("stopped", true),
        ("shutting-down", true),
        ("terminated", true),
    ] {
        let News::State { state, .. } = news(&changed(STATE, json!({"detail": {"state": name}}))) else {
            panic!("{name}")
        };
        assert_eq!((state.to_string().as_str(), state.is_down()), (name, is_down));
    }
}

#[test]
fn a_health_event_is_about_all_of_its_entities() {
    let News::Health(health) = news(REBOOT) else { panic!("health") };
    assert_eq!(health.instances, [ID, OTHER], "all of them");
    assert_eq!(&*health.code, "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED");
    assert_eq!(health.start, Some(time("2026-12-04T06:00:00Z")), "its dates are those of RFC 1123");
    let News::Health(health) = news(RETIREMENT) else { panic!("health") };
    assert_eq!(health.instances, [ID], "an entity may be an ARN");
    assert_eq!(health.status, HealthStatus::Upcoming);
    let over = changed(RETIREMENT, json!({"detail": {"statusCode": "closed"}}));
    assert!(matches!(news(&over), News::Health(health) if health.status == HealthStatus::Closed));
}

#[test]
fn a_health_event_about_other_things_is_foreign() {
    for change in [
        json!({"service": "RDS"}),
        json!({"eventTypeCategory": "issue"}),
        json!({"affectedEntities": [{"entityValue": "vol-0a1b2c3d4e5f60718"}]}),
        json!({"affectedEntities": []}),
    ] {
        let body = read(&changed(REBOOT, json!({"detail": change})));
        assert_eq!(body, Body::Foreign { what: "AWS_EC2_INSTANCE_REBOOT_MAINTENANCE_SCHEDULED".into() });
    }
}

#[test]
fn a_queue_that_is_tried_out_is_told_nothing() {
    assert_eq!(read(DIRECT_TEST), Body::Test);
    let confirmation =
        json!({"Type": "SubscriptionConfirmation", "Token": "t", "Message": "You have chosen"});
    assert_eq!(read(&confirmation.to_string()), Body::Test);
    let wrapped = json!({"Type": "Notification", "Message": DIRECT_TEST});
    assert_eq!(read(&wrapped.to_string()), Body::Test);
}

#[test]
fn what_is_whole_and_not_ours_is_foreign_and_says_what_it_is() {
    let foreign = |text: &str| match read(text) {
        Body::Foreign { what } => what.to_string(),
        other @ (Body::Notice(_) | Body::Test | Body::Poison(_)) => panic!("{other:?}"),
    };
    let other = changed(SPOT, json!({"detail-type": "EC2 Spot Instance Request Fulfillment"}));
    assert_eq!(foreign(&other), "aws.ec2: EC2 Spot Instance Request Fulfillment");
    let imitated = changed(SPOT, json!({"source": "my.app"}));
    assert_eq!(foreign(&imitated), "my.app: EC2 Spot Instance Interruption Warning");
    let activity = json!({"Event": "autoscaling:EC2_INSTANCE_TERMINATE", "EC2InstanceId": ID});
    assert_eq!(foreign(&activity.to_string()), "autoscaling:EC2_INSTANCE_TERMINATE", "no hook waits for it");
    assert_eq!(foreign(r#"{"Records": []}"#), "unknown event type");
}

#[test]
fn an_event_is_known_by_its_detail_alone() {
    for sample in [SPOT, REBALANCE, STATE, RECLAIMED, TERMINATE, REBOOT] {
        let bare = changed(sample, json!({"resources": null, "id": null, "account": null}));
        assert_eq!(notice(&bare), notice(sample));
    }
}

#[test]
fn poison_says_what_is_wrong_and_where() {
    let without = |sample, member: &str| poison(&changed(sample, json!({"detail": {member: null}})));
    assert_eq!(without(SPOT, "instance-id"), "detail.instance-id is missing");
    assert_eq!(without(TERMINATE, "LifecycleHookName"), "detail.LifecycleHookName is missing");
    assert_eq!(without(REBOOT, "affectedEntities"), "detail.affectedEntities is missing");
    assert_eq!(poison(&changed(SPOT, json!({"detail": null}))), "detail is missing");
    assert_eq!(poison(&changed(SPOT, json!({"detail": [1]}))), "detail is [1], expected an object");
    let odd = changed(STATE, json!({"detail": {"state": "purple"}}));
    assert_eq!(poison(&odd), "detail.state is \"purple\", expected an instance state");
    let odd = changed(SPOT, json!({"detail": {"instance-id": "two words"}}));
    assert_eq!(poison(&odd), "detail.instance-id is \"two words\", expected an instance's id");
    let odd = changed(REBOOT, json!({"detail": {"affectedEntities": [{"entityValue": ID}, 7]}}));
    assert_eq!(
        poison(&odd),
        "detail.affectedEntities is \"7\", expected a list of entities with an entityValue",
        "one entity must not be lost for another"
    );
    assert_eq!(poison("[]"), "invalid JSON: it contains no object, after 2 bytes");
    assert!(poison("").starts_with("invalid JSON: EOF while parsing"), "{}", poison(""));
    let cut = json!({"Type": "Notification", "Message": &DIRECT[..40]});
    assert!(poison(&cut.to_string()).contains("after 40 bytes"), "what is wrapped is cut");
}

#[test]
fn a_body_cut_at_any_byte_is_poison_and_never_something_else() {
    for sample in ALL {
        let whole = sample.trim_end();
        for end in (0..whole.len()).filter(|end| whole.is_char_boundary(*end)) {
            assert!(matches!(read(&whole[..end]), Body::Poison(Poison::Json { .. })), "{}", &whole[..end]);
        }
        assert!(!matches!(read(whole), Body::Poison(_)));
    }
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_read(text in ".{0,200}") {
        let _body = read(&text);
    }

    #[test]
    fn one_byte_changed_is_read_all_the_same(sample in 0..ALL.len(), at in any::<prop::sample::Index>(), byte in 32_u8..127) {
        let mut bytes = ALL[sample].as_bytes().to_vec();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let text = String::from_utf8(bytes).expect("samples are ASCII");
        let _body = read(&text);
    }

    #[test]
    fn every_member_may_be_any_value(sample in 0..ALL.len(), at in any::<prop::sample::Index>(), odd in 0..5_usize) {
        let odd = [json!(null), json!(7), json!(""), json!({"a": []}), json!([["x"]])][odd].clone();
        let mut value: Value = serde_json::from_str(ALL[sample]).expect("a sample");
        let inner = if value["detail"].is_object() { &mut value["detail"] } else { &mut value };
        let members = inner.as_object_mut().expect("an object");
        let key = members.keys().nth(at.index(members.len())).expect("a member").clone();
        members.insert(key, odd);
        let _body = read(&value.to_string());
    }
}
