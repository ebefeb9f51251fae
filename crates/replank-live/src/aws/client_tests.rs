//! What is sent again, and what is not: held by a server that counts what it is asked.

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use serde_json::json;

use super::super::act::is_lost;
use super::super::stand_in::StandIn;
use super::*;

const READ: (Service, &str) = (Service::AutoScaling, "DescribeAutoScalingGroups");
const WRITE: (Service, &str) = (Service::AutoScaling, "UpdateAutoScalingGroup");

/// A server that refuses so often, so, before it answers.
fn refuses(times: usize, with: &'static str) -> StandIn {
    let left = AtomicUsize::new(times);
    StandIn::new(move |_, body| {
        if left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
            return with.to_owned();
        }
        let action = body.split('&').find_map(|pair| pair.strip_prefix("Action=")).unwrap_or_default();
        format!("<{action}Response><{action}Result/></{action}Response>")
    })
}

async fn read(caller: &Caller) -> Result<Value, AwsError> {
    caller.query(READ, &json!({}), Manner::Read).await
}

async fn write(caller: &Caller) -> Result<Value, AwsError> {
    caller.query(WRITE, &json!({}), Manner::Write(&|| true)).await
}

#[tokio::test]
async fn a_read_is_sent_again_until_it_passes() {
    for with in ["500 InternalFailure x", "503 ServiceUnavailable x", "400 Throttling x", "502 x <html/>"] {
        let server = refuses(2, with);
        assert_eq!(read(&server.caller()).await.expect("it passes at last"), json!({}), "{with}");
        assert_eq!(server.asked(), [READ.1; 3], "{with}");
    }
}

#[tokio::test]
async fn a_read_that_never_passes_is_an_error_that_names_its_action() {
    let server = refuses(usize::MAX, "500 InternalFailure out of order");
    let error = read(&server.caller()).await.expect_err("it never passes");
    let words = "autoscaling:DescribeAutoScalingGroups: InternalFailure: out of order";
    assert_eq!(error.to_string(), words);
    assert_eq!(server.asked(), [READ.1; 6]);
}

#[tokio::test]
async fn a_read_that_is_refused_is_not_sent_again() {
    for with in ["400 ValidationError x", "403 AccessDenied x"] {
        let server = refuses(1, with);
        read(&server.caller()).await.expect_err("it is refused");
        assert_eq!(server.asked(), [READ.1], "{with}");
    }
}

#[tokio::test]
async fn of_a_write_that_a_server_failed_at_nothing_is_known_and_it_is_not_sent_again() {
    for with in ["500 InternalFailure x", "503 ServiceUnavailable x", "504 x <html/>"] {
        let server = refuses(1, with);
        let error = write(&server.caller()).await.expect_err("it failed");
        assert!(is_lost(&error), "{with}: {error}");
        assert_eq!(server.asked(), [WRITE.1], "{with}");
    }
}

#[tokio::test]
async fn a_write_that_is_throttled_was_not_carried_out_and_is_sent_again() {
    for with in ["400 Throttling x", "503 RequestLimitExceeded x", "429 TooManyRequestsException x"] {
        let server = refuses(3, with);
        write(&server.caller()).await.expect("it passes at last");
        assert_eq!(server.asked(), [WRITE.1; 4], "{with}");
    }
    // Not after its time, however.
    let (server, sent) = (refuses(usize::MAX, "400 Throttling x"), AtomicUsize::new(0));
    let in_time = || sent.fetch_add(1, SeqCst) < 2;
    let error = server.caller().query(WRITE, &json!({}), Manner::Write(&in_time)).await;
    let error = error.expect_err("its time is over");
    assert_eq!(error.to_string(), "autoscaling:UpdateAutoScalingGroup: Late: its time is over");
    assert_eq!(server.asked(), [WRITE.1; 2]);
}

/// A way to such an address, with short pauses.
fn to(address: &str) -> Caller {
    let (region, endpoint) = (Some("eu-west-1".to_owned()), Some(format!("http://{address}")));
    let asked = AwsAsked { region, profile: None, endpoint };
    Caller::with(&asked, StandIn::found()).expect("it has a region")
}

#[tokio::test]
async fn a_write_that_cannot_have_arrived_is_sent_again_for_as_long_as_it_may() {
    let closed = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = closed.local_addr().expect("it has an address").to_string();
    drop(closed);
    let tries = AtomicUsize::new(0);
    let in_time = || tries.fetch_add(1, SeqCst) < 3;
    let error = to(&address).query(WRITE, &json!({}), Manner::Write(&in_time)).await;
    let error = error.expect_err("its time is over");
    assert!(matches!(&error, AwsError::Refused { code, .. } if code == LATE), "{error}");
    assert_eq!(tries.into_inner(), 4);
}

#[tokio::test]
async fn a_write_whose_answer_is_lost_is_not_sent_again() {
    let server = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let address = server.local_addr().expect("it has an address").to_string();
    let heard = std::sync::Arc::new(AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&heard);
    std::thread::spawn(move || {
        for mut stream in server.incoming().flatten() {
            // It hears the request, and hangs up.
            let mut some = [0; 4096];
            if stream.read(&mut some).is_ok_and(|length| length > 0) {
                count.fetch_add(1, SeqCst);
            }
        }
    });
    let caller = to(&address);
    let error = write(&caller).await.expect_err("no answer comes");
    assert!(is_lost(&error), "{error}");
    assert_eq!(heard.load(SeqCst), 1);
    // A read is sent again; twice where nobody has ever answered.
    read(&caller).await.expect_err("no answer comes");
    assert_eq!(heard.load(SeqCst), 3);
}

#[tokio::test]
async fn after_throttling_calls_of_that_kind_wait_and_no_others() {
    let server = refuses(1, "400 Throttling x");
    let mut caller = server.caller();
    caller.wire.pause = Duration::from_secs(1);
    let is_open = |service, access| caller.wire.bucket(service, access).take().is_ok();
    let look = async {
        while is_open(Service::AutoScaling, Access::Write) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(is_open(Service::AutoScaling, Access::Read) && is_open(Service::Ec2, Access::Write));
    };
    let (written, ()) = tokio::join!(write(&caller), look);
    written.expect("it passes at last");
    assert!(is_open(Service::AutoScaling, Access::Write), "it opens again");
}
