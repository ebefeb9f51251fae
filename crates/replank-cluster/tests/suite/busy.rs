//! Readers do not wait for the world.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::wire::{Served, exchange, request};

/// Says that it is over when this is dropped, also by a panic: whoever waits for it does not wait for ever.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[test]
fn reads_are_answered_while_the_world_is_busy() {
    let served = Served::begin(3);
    let is_over = AtomicBool::new(false);
    let slowest = std::thread::scope(|scope| {
        // A deployment of thousands of pods keeps the world busy for seconds.
        scope.spawn(|| {
            let _over = Over(&is_over);
            let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
                "spec": {"replicas": 3_000, "selector": {"matchLabels": {"app": "d"}},
                    "template": {"metadata": {"labels": {"app": "d"}}, "spec": {"containers": [{"name": "a", "image": "a"}]}}}});
            let path = "/apis/apps/v1/namespaces/default/deployments";
            let made = exchange(&mut served.connect(), &request("POST", path, "application/json", deployment.to_string().as_bytes()));
            assert_eq!(made.map(|(code, ..)| code), Some(201));
            let patch = |number: u64| request("PATCH", &format!("{path}/d"), "application/merge-patch+json",
                json!({"metadata": {"annotations": {"number": number.to_string()}}}).to_string().as_bytes());
            let mut stream = served.connect();
            let began = Instant::now();
            let mut number = 0;
            while began.elapsed() < Duration::from_secs(3) {
                number += 1;
                assert_eq!(exchange(&mut stream, &patch(number)).map(|(code, ..)| code), Some(200));
            }
        });
        let mut stream = served.connect();
        let mut slowest = Duration::ZERO;
        while !is_over.load(Ordering::SeqCst) {
            let began = Instant::now();
            let (code, ..) =
                exchange(&mut stream, &request("GET", "/api/v1/nodes/node-1", "", b"")).expect("it answers");
            assert_eq!(code, 200);
            slowest = slowest.max(began.elapsed());
            std::thread::sleep(Duration::from_millis(5));
        }
        slowest
    });
    // A reader that waited for the world would have waited for thousands of pods at once.
    assert!(slowest < Duration::from_secs(1), "a read took {slowest:?}");
    served.end();
}

#[test]
fn a_watcher_that_reads_nothing_holds_nobody_up() {
    use std::io::Write;
    let served = Served::begin(1);
    let path = "/api/v1/namespaces/default/configmaps";
    let mut sleeper = served.connect();
    sleeper.write_all(&request("GET", &format!("{path}?watch=1"), "", b"")).expect("it is taken");
    let mut stream = served.connect();
    let began = Instant::now();
    for number in 0..400 {
        let object =
            json!({"metadata": {"name": format!("c-{number}")}, "data": {"a": "b".repeat(64 * 1024)}});
        let made =
            exchange(&mut stream, &request("POST", path, "application/json", object.to_string().as_bytes()));
        assert_eq!(made.map(|(code, ..)| code), Some(201));
    }
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    served.end();
}
