//! A cluster on a port of its own, and requests as bytes.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use replank_api::{Authorization, Listen, Newest, Owner, Pace, Server, TokenSigner};
use replank_apiserver::Serving;
use replank_cluster::{Begin, Fleet, Start, Trust, begin, nodes};
use replank_sim::{CloudTimings, KubeletModel};
use tokio::runtime::Runtime;
use tokio::sync::watch;

/// A cluster that is served in plain text.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) owner: Owner,
    runtime: Runtime,
    stop: watch::Sender<bool>,
    world: JoinHandle<io::Result<()>>,
}

impl Served {
    pub(crate) fn begin(count: u32) -> Self {
        Self::begin_with(count, |server| server)
    }

    /// One whose server is made in a certain way.
    pub(crate) fn begin_with(count: u32, how: impl FnOnce(Server) -> Server) -> Self {
        let view = nodes(Fleet { nodes: count, zones: 3 }, "v1.36.2", Pace::outside());
        let signer = TokenSigner::generate().expect("there is chance");
        let (owner, world) = begin(Begin {
            address: ([127, 0, 0, 1], 6443).into(),
            start: Start::Objects(Box::new(view)),
            seed: 1,
            kubelet: KubeletModel::Served { speed: 1.0 },
            cloud: CloudTimings::default(),
            pace: Pace::Real,
            trust: Trust {
                authority: String::new(),
                signer: Arc::new(signer),
                certificates: None,
                authorization: Authorization::AlwaysAllow,
            },
            serving: Serving { accounts: false, addresses: true, traces: true },
            files: None,
            aws: None,
            upgraded: Arc::default(),
        })
        .expect("nothing is written");
        let runtime = Runtime::new().expect("there are threads");
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = listener.local_addr().expect("it has one");
        let (stop, stopped) = watch::channel(false);
        let of = owner.clone();
        runtime.block_on(async {
            let server =
                Server::begin(listener, Listen::Plain, of, Arc::new(Newest), stopped).expect("it is free");
            tokio::spawn(how(server).run());
        });
        Self { address, owner, runtime, stop, world }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("it listens");
        // Seconds where the machine is not busy with other tests.
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("it can be set");
        stream
    }

    pub(crate) fn end(self) {
        self.stop.send_replace(true);
        self.owner.stop();
        self.world.join().expect("the world's thread has not panicked").expect("nothing is written");
        self.runtime.shutdown_timeout(Duration::from_secs(1));
    }
}

/// A request as it goes over the wire.
pub(crate) fn request(method: &str, path: &str, content_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Sends bytes; the code, the media type and the body of the answer, or nothing where the connection is closed.
pub(crate) fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> Option<(u16, String, Vec<u8>)> {
    stream.write_all(bytes).ok()?;
    let mut got = Vec::new();
    let end = loop {
        if let Some(end) = got.windows(4).position(|four| four == b"\r\n\r\n") {
            break end + 4;
        }
        more(stream, &mut got)?;
    };
    let head = String::from_utf8_lossy(&got[..end]).to_ascii_lowercase();
    let code = head.split(' ').nth(1)?.parse().ok()?;
    let header = |name: &str| {
        let line = head.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim_start_matches(':').trim().to_owned())
    };
    let media_type = header("content-type").unwrap_or_default();
    let mut body = got.split_off(end);
    if let Some(len) = header("content-length") {
        let len: usize = len.parse().ok()?;
        while body.len() < len {
            more(stream, &mut body)?;
        }
    } else if header("transfer-encoding").is_some() {
        while !body.ends_with(b"0\r\n\r\n") {
            more(stream, &mut body)?;
        }
    }
    Some((code, media_type, body))
}

fn more(stream: &mut TcpStream, into: &mut Vec<u8>) -> Option<()> {
    let mut piece = [0; 16 * 1024];
    match stream.read(&mut piece) {
        Ok(0) => None,
        Ok(len) => {
            into.extend_from_slice(&piece[..len]);
            Some(())
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
            panic!("no answer within two minutes")
        }
        Err(_) => None,
    }
}
