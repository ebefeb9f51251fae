//! Certificates of clients: asked for, approved, signed, and shown.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rcgen::{CertificateParams, DnType, KeyPair};
use replank_api::{Authorization, Identity, Listen, Newest, Pace, Secrets, Server};
use replank_apiserver::Serving;
use replank_cluster::{Begin, Fleet, Start, Trust, begin, nodes};
use replank_sim::{CloudTimings, KubeletModel};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::sync::watch;

use super::ask::{Answered, ask};

const REQUESTS: &str = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const MERGE: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

/// A client's certificate and its key.
struct Shown {
    certificate: String,
    key: String,
}

struct Secured {
    address: SocketAddr,
    authority: String,
    token: String,
}

impl Secured {
    fn connect(&self, shown: Option<&Shown>) -> impl Read + Write + use<> {
        let mut roots = RootCertStore::empty();
        roots
            .add(CertificateDer::from_pem_slice(self.authority.as_bytes()).expect("it is one"))
            .expect("it is one");
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("there are some")
            .with_root_certificates(roots);
        let config = match shown {
            None => config.with_no_client_auth(),
            Some(shown) => {
                let chain =
                    vec![CertificateDer::from_pem_slice(shown.certificate.as_bytes()).expect("it is one")];
                let key = PrivateKeyDer::from_pem_slice(shown.key.as_bytes()).expect("it is one");
                config.with_client_auth_cert(chain, key).expect("they fit")
            }
        };
        let name = ServerName::try_from("localhost").expect("it is a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("it can be made");
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
        StreamOwned::new(connection, stream)
    }

    #[expect(clippy::needless_pass_by_value, reason = "what a test hands over is made for it")]
    fn admin(&self, method: &str, path: &str, content_type: &str, body: Value) -> Answered {
        let token = format!("Authorization: Bearer {}", self.token);
        ask(self.connect(None), (method, path, content_type), &[&token], &body)
    }

    /// Who a client is that shows a certificate.
    fn whoami(&self, shown: &Shown) -> Answered {
        let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
        ask(
            self.connect(Some(shown)),
            ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", JSON),
            &[],
            &review,
        )
    }

    /// The certificate that a request is answered with.
    fn certificate(&self, name: &str) -> String {
        for _ in 0..200 {
            let read = self.admin("GET", &format!("{REQUESTS}/{name}"), JSON, Value::Null);
            if let Some(certificate) = read.body["status"]["certificate"].as_str() {
                return String::from_utf8(STANDARD.decode(certificate).expect("it is base64"))
                    .expect("it is PEM");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("{name} is not signed")
    }
}

fn request(name: &str, groups: &[&str], key: &KeyPair) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    groups.iter().for_each(|group| params.distinguished_name.push(DnType::OrganizationName, *group));
    STANDARD
        .encode(params.serialize_request(key).and_then(|request| request.pem()).expect("it can be asked for"))
}

#[test]
fn a_certificate_is_asked_for_approved_signed_and_shown() {
    let identity = Identity::new(vec!["localhost".to_owned()], Secrets::generate().expect("there is chance"))
        .expect("the name is fine");
    let trust = Trust {
        authority: identity.authority.clone(),
        signer: identity.signer.clone(),
        certificates: Some(identity.certificates.clone()),
        authorization: Authorization::Rbac,
    };
    let (owner, world) = begin(Begin {
        address: ([127, 0, 0, 1], 6443).into(),
        start: Start::Objects(Box::new(nodes(Fleet { nodes: 1, zones: 1 }, "v1.36.2", Pace::outside()))),
        seed: 1,
        kubelet: KubeletModel::Served { speed: 1.0 },
        cloud: CloudTimings::default(),
        pace: Pace::Real,
        trust,
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
    let (authority, token, of) = (identity.authority.clone(), identity.token.clone(), owner.clone());
    runtime.block_on(async {
        let how = Listen::Tls(identity, Authorization::Rbac);
        let server = Server::begin(listener, how, of, Arc::new(Newest), stopped).expect("it is free");
        tokio::spawn(server.run());
    });
    let cluster = Secured { address, authority, token };

    let key = KeyPair::generate().expect("there is chance");
    let asked = |name: &str, request: &str, signer: &str, usages: &[&str]| json!({"metadata": {"name": name}, "spec": {"request": request, "signerName": signer, "usages": usages, "username": "somebody"}});
    let client = "kubernetes.io/kube-apiserver-client";
    let made = cluster.admin(
        "POST",
        REQUESTS,
        JSON,
        asked("jane", &request("jane", &["devs"], &key), client, &["client auth"]),
    );
    assert_eq!(
        (made.code, &made.body["spec"]["username"], &made.body["status"]),
        (201, &json!("admin"), &json!({}))
    );
    let approve = |name: &str| {
        let condition = json!({"type": "Approved", "status": "True", "reason": "r", "message": "m"});
        cluster.admin(
            "PATCH",
            &format!("{REQUESTS}/{name}/approval"),
            MERGE,
            json!({"status": {"conditions": [condition]}}),
        )
    };
    let approved = approve("jane");
    assert!(approved.body["status"]["conditions"][0]["lastUpdateTime"].is_string(), "{approved:?}");
    let shown = Shown { certificate: cluster.certificate("jane"), key: key.serialize_pem() };
    let who = cluster.whoami(&shown);
    let user = &who.body["status"]["userInfo"];
    assert_eq!(
        (&user["username"], &user["groups"]),
        (&json!("jane"), &json!(["devs", "system:authenticated"]))
    );
    assert!(
        user["extra"]["authentication.kubernetes.io/credential-id"][0]
            .as_str()
            .is_some_and(|id| id.starts_with("X509SHA256="))
    );
    let refused = ask(cluster.connect(Some(&shown)), ("GET", "/api/v1/nodes", JSON), &[], &Value::Null);
    let why = "nodes is forbidden: User \"jane\" cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    assert_eq!((refused.code, refused.message()), (403, why));

    // Somebody else's certificate is worth nothing.
    let own = CertificateParams::default().self_signed(&key).expect("it can be signed").pem();
    assert_eq!(cluster.whoami(&Shown { certificate: own, key: key.serialize_pem() }).code, 401);

    // A kubelet's is approved by itself, if who asks may have one.
    let node = request("system:node:node-1", &["system:nodes"], &key);
    let kubelet = "kubernetes.io/kube-apiserver-client-kubelet";
    let usages = ["client auth", "digital signature"];
    assert_eq!(cluster.admin("POST", REQUESTS, JSON, asked("node", &node, kubelet, &usages)).code, 201);
    let shown = Shown { certificate: cluster.certificate("node"), key: key.serialize_pem() };
    assert_eq!(cluster.whoami(&shown).body["status"]["userInfo"]["username"], "system:node:node-1");

    // What no signer signs, and what nobody may have.
    let master = asked("root", &request("root", &["system:masters"], &key), client, &["client auth"]);
    let refused = cluster.admin("POST", REQUESTS, JSON, master);
    let why = "certificatesigningrequests.certificates.k8s.io \"root\" is forbidden: use of kubernetes.io/kube-apiserver-client signer \
               with system:masters group is not allowed";
    assert_eq!((refused.code, refused.message()), (403, why));
    let broken = cluster.admin("POST", REQUESTS, JSON, asked("broken", "aGVsbG8=", client, &["client auth"]));
    let why = "CertificateSigningRequest.certificates.k8s.io \"broken\" is invalid: spec.request: Invalid value: \"aGVsbG8=\": \
               PEM block type must be CERTIFICATE REQUEST";
    assert_eq!((broken.code, broken.message()), (422, why));

    // Acting as somebody else, for one verb alone.
    let rules = json!([
        {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "resourceNames": ["joe"], "verbs": ["impersonate:user-info"]},
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["impersonate-on:user-info:list"]}]);
    let roles = "/apis/rbac.authorization.k8s.io/v1";
    let role = json!({"metadata": {"name": "act"}, "rules": rules});
    assert_eq!(cluster.admin("POST", &format!("{roles}/clusterroles"), JSON, role).code, 201);
    let subject = json!([{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "jane"}]);
    let binding = json!({"metadata": {"name": "act"}, "subjects": subject,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "act"}});
    assert_eq!(cluster.admin("POST", &format!("{roles}/clusterrolebindings"), JSON, binding).code, 201);
    let jane = Shown { certificate: cluster.certificate("jane"), key: key.serialize_pem() };
    let act = |path: &str, user: &str| {
        ask(
            cluster.connect(Some(&jane)),
            ("GET", path, JSON),
            &[&format!("Impersonate-User: {user}")],
            &Value::Null,
        )
    };
    let listed = act("/api/v1/nodes", "joe");
    assert!(listed.message().contains("User \"joe\" cannot list resource \"nodes\""), "{listed:?}");
    let other = act("/api/v1/pods", "joe");
    assert!(
        other.message().contains("User \"jane\" cannot impersonate-on:user-info:list resource \"pods\""),
        "{other:?}"
    );
    let whom = act("/api/v1/nodes", "jim");
    assert!(
        whom.message().contains("User \"jane\" cannot impersonate:user-info resource \"users\""),
        "{whom:?}"
    );

    stop.send_replace(true);
    owner.stop();
    world.join().expect("the world's thread has not panicked").expect("nothing is written");
    runtime.shutdown_timeout(Duration::from_secs(1));
}
