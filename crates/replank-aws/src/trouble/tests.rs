//! Words, and which calls they hit.

use crate::caller::Caller;
use serde_json::Value;

use super::*;
use crate::service::Service;
use crate::trouble::{FORMS, ending, read};

fn call(service: Service, action: &str) -> Call {
    Call {
        service,
        action: action.to_owned(),
        input: Value::Null,
        caller: Caller::default(),
        is_again: false,
    }
}

fn begun(words: &str) -> Troubles {
    let mut troubles = Troubles::default();
    troubles.begin(&read(words).expect("it is about an account").expect("it means something"));
    troubles
}

fn code(fate: &Fate) -> (u16, &str) {
    match fate {
        Fate::Refused(fault) => (fault.status, &fault.code),
        Fate::Answered | Fate::AnswerLost | Fate::RequestLost => (0, ""),
    }
}

#[test]
fn each_form_means_something_and_what_ends_it_does_too() {
    for (form, _) in FORMS {
        let words = form.replace("COUNT", "3").replace("CALLS", "writes").replace("DURATION", "10s");
        let trouble = read(&words).expect("it is about an account").expect("it means something");
        let over = ending(&words).unwrap_or_else(|| panic!("{words}: nothing ends it"));
        let mut troubles = begun(&words);
        assert_ne!((troubles.of_calls.len(), troubles.is_expired, troubles.unseen), (0, false, Span::ZERO));
        troubles.begin(&read(&over).expect("it is about an account").expect("it means something"));
        assert_eq!(
            (troubles.of_calls.len(), troubles.is_expired, troubles.unseen),
            (0, false, Span::ZERO),
            "{trouble:?}"
        );
    }
    assert_eq!(read("node node-1 falls silent"), None);
    for wrong in ["aws throttles", "aws fails one call in x of any", "aws loses the next 1 answers of s3"] {
        assert!(read(wrong).is_some_and(|read| read.is_err()), "{wrong}");
    }
}

#[test]
fn calls_that_come_next_are_hit_and_no_others() {
    let mut troubles = begun("aws throttles the next 2 calls of autoscaling:UpdateAutoScalingGroup");
    let mut of = |action| code(&troubles.fate(&call(Service::AutoScaling, action))).0;
    assert_eq!(of("DescribeAutoScalingGroups"), 0);
    assert_eq!(of("UpdateAutoScalingGroup"), 400);
    assert_eq!(of("UpdateAutoScalingGroup"), 400);
    assert_eq!(of("UpdateAutoScalingGroup"), 0);
}

#[test]
fn each_service_has_its_own_codes() {
    let of = |words: &str| {
        Service::ALL.map(|service| {
            let fate = begun(words).fate(&call(service, "Describe"));
            format!("{} {}", code(&fate).0, code(&fate).1)
        })
    };
    assert_eq!(
        of("aws throttles one call in 1 of any"),
        [
            "429 TooManyRequestsException",
            "400 Throttling",
            "503 RequestLimitExceeded",
            "400 RequestThrottled",
            "400 ThrottlingException",
            "400 ThrottlingException",
            "400 Throttling",
            "400 ThrottlingException"
        ]
    );
    assert_eq!(
        of("aws credentials expire"),
        [
            "403 ExpiredTokenException",
            "403 ExpiredToken",
            "400 RequestExpired",
            "403 ExpiredToken",
            "400 ExpiredTokenException",
            "400 ExpiredTokenException",
            "403 ExpiredToken",
            "403 ExpiredToken"
        ]
    );
    assert!(of("aws fails one call in 1 of any").iter().all(|code| code.starts_with("50")));
}

#[test]
fn about_as_many_are_hit_as_is_said_and_by_another_seed_others() {
    let hits = |seed: u64| {
        let mut troubles = begun("aws loses one answer in 10 of writes");
        troubles.seeded(seed);
        let one = call(Service::Sqs, "DeleteMessage");
        (0..1_000).filter(|_| troubles.fate(&one) == Fate::AnswerLost).collect::<Vec<u32>>()
    };
    assert!((70..130).contains(&hits(1).len()), "{}", hits(1).len());
    assert_ne!(hits(1), hits(2));
    assert_eq!(hits(1), hits(1));
}
